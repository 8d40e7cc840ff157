"""docs/cost-model.md from the results of calibrate.py."""

from runs import SOURCES

# What PublishedRuns itself leaves out; the rest is left out by its cluster.
OMISSIONS = {"attention", "accumulation", "bubble", "data", "elementwise", "head", "imbalance", "messages",
             "optimizer", "tensor", "tiles"}
TERMS = {
    "elementwise": "element-wise traffic (with it the softmax of unfused attention is left)",
    "attention": "all of unfused attention",
    "tensor": "collectives of tensor parallelism",
    "tiles": "tiles and waves of products",
    "head": "head, loss and embedding",
    "bubble": "bubble",
    "stragglers": "stragglers",
    "accumulation": "accumulation of weight gradients",
    "optimizer": "optimizer",
    "imbalance": "imbalance (head on the last stage)",
    "data": "reduction of gradients, gathers of ZeRO-3",
    "messages": "messages between stages",
    "shared NICs": "NICs shared by the groups of a node",
    "gaps": "gaps between kernels",
    "overlap": "overlap (everything exposed)",
}
COLUMNS = ("SC21", "MLSys22", "2020", "MPT")
CONSTANTS = {
    "matrix_share": ("large products, share of the best rate measured on the device (0.869 of the peak of an A100)",
                     "fitted"),
    "memory_efficiency": ("element-wise loops, share of the memory bandwidth", "fitted"),
    "tile_overhead": ("prologue and epilogue of a tile, contracted elements", "fitted, weakly"),
    "optimizer_bytes": ("read and written per parameter in an update of these stacks", "fitted"),
    "interference": ("share of hidden communication that is paid all the same", "fitted"),
    "attention_efficiency": ("fused attention, share of the peak", "fitted (FSDP rows only)"),
    "attention_gradient_efficiency": ("its gradient", "fitted (FSDP rows only)"),
    "straggler_deviation": ("of the time of a device", "set by hand: rows of one replica against many"),
    "norm_traffic": ("norms before late 2021, over one pass", "set by hand: SC21 against MLSys 2022"),
    "zero_network": ("NICs under ZeRO-3 on Azure, share of their rate", "fitted to these rows alone"),
}


def print_errors(results):
    print("  ".join(f"{name} {value:.4g}" for name, value in results["constants"].items()))
    for source, errors in results["in_sample"].items():
        print(f"{source:10} {errors['count']:3} mean {errors['mean']:5.1f} bias {errors['bias']:+5.1f} "
              f"median {errors['median']:4.1f} most {errors['most']:+5.1f}")


def make_table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def describe_errors(results):
    rows = []
    for source, errors in results["in_sample"].items():
        left = results["left_out"].get(source)
        rate = results["rate"].get(source)
        rows.append([SOURCES[source].name, str(errors["count"]), f"{errors['mean']:.1f}", f"{errors['bias']:+.1f}",
                     f"{errors['median']:.1f}", f"{errors['most']:+.1f}",
                     f"{left['mean']:.1f} ({left['bias']:+.1f}, {left['most']:+.1f})" if left else "not fitted",
                     f"{rate[0]:.1f}, {rate[1]:.1f}" if rate and source != "Table 4" else ""])
    return make_table(["source", "rows", "mean", "bias", "median", "most", "left out: mean (bias, most)",
                       "one rate: of the source, of all"], rows)


def describe_constants(results):
    rows = [[f"`{name}`", f"{results['constants'][name]:.3g}", origin, what,
             f"{results['sensitivity'][name]:+.2f} %"] for name, (what, origin) in CONSTANTS.items()]
    return make_table(["constant", "value", "from", "what", "steps change with +10 %"], rows)


def describe_terms(results):
    rows = []
    for term, what in TERMS.items():
        cells = [what]
        for source in COLUMNS:
            without, again = results["terms"][term][source]
            cells.append(f"{without['mean']:.1f} ({without['bias']:+.1f}) · {again['mean']:.1f}")
        rows.append(cells)
    nothing = ["nothing"] + [f"{results['in_sample'][source]['mean']:.1f} ({results['in_sample'][source]['bias']:+.1f})"
                             for source in COLUMNS]
    return make_table(["left out"] + [SOURCES[source].name.split(",")[0] for source in COLUMNS], [nothing] + rows)


def describe_collectives(results):
    rows = []
    mebi = 1 << 20
    for name, entries in results["collectives"].items():
        cells = [name]
        for least, most in ((0, mebi), (mebi, 16 * mebi), (16 * mebi, 256 * mebi), (256 * mebi, 1 << 60)):
            errors = [error for size, error in entries if least <= size < most]
            cells.append(f"{sum(map(abs, errors)) / len(errors):.1f} ({max(errors, key=abs):+.0f})" if errors else "")
        rows.append(cells)
    return make_table(["all-reduce", "below 1 MiB", "to 16 MiB", "to 256 MiB", "above"], rows)


def describe_rows(results):
    rows = [[row.source, row.name, f"{row.seconds:.4g}", f"{seconds:.4g}",
             f"{100 * (seconds / row.seconds - 1):+.1f}", "left out of all fits" if row.note else ""]
            for row, seconds in results["rows"]]
    return make_table(["source", "run", "measured s", "predicted s", "error %", ""], rows)


def describe_ranks(results):
    rows = [[", ".join(sources) if len(sources) < len(COLUMNS) else "all", f"{own:.2f}", f"{default:.2f}"]
            for sources, (own, default) in results["tau"].items()]
    return make_table(["rows", "with the stack of the source", "with parplan's for all"], rows)


def describe_simulation(results):
    changes = [change for _, change in results["simulated"]]
    most = max(results["simulated"], key=lambda entry: abs(entry[1]))
    return [f"With the schedule simulated as plans are, messages delay only who waits for them: the {len(changes)} steps with a "
            f"pipeline", f"then take {sum(changes) / len(changes):+.1f} % on average, {most[1]:+.1f} % at most "
            f"({most[0].source}, {most[0].name}), against the closed form of the table."]


def write(results):
    return "\n".join(
        ["""# The cost model against published runs

Every table here is written by

    cmake --build --preset release --target PublishedRuns
    benchmarks/published/calibrate.py --data FOLDER --program build/release/bin/PublishedRuns --output docs/cost-model.md

with the figures of FOLDER: step times that papers and repositories give for their configurations, and measured
collectives. `PublishedRuns` lists the kernels, collectives and messages of such a step; their seconds come from
`lib/CostModel`, which prices every plan. One set of constants holds for all rows; none belongs to a row, a model or a
source. What the software of a source did (which kernels, what runs beside what) is its *stack*, a part of a cluster file
(`docs/schema/cluster.schema.json`): it is read in the source, not fitted. Errors are predicted / measured − 1 in percent; *mean*
is of their absolute values.

## Errors
"""] + describe_errors(results) + ["""
*Left out*: the constants are fitted to the other sources (Table 4 is left out with MLSys 2022, which it is a part of). *One rate*: the
mean error of one rate of hardware operations, fitted to the source alone or to all. The three rows marked in the last
table are in no fit and no mean.

## Constants
"""] + describe_constants(results) + ["""
The last column says which constants these rows can tell: gaps between kernels and latencies of messages are not among them, they
keep nominal values until they are measured (`parplan calibrate`).

## What each term is worth

Mean error (bias) without the term, and after the dot the mean error after fitting all constants again.
"""] + describe_terms(results) + ["""
Published rows are tuned configurations: bubbles are short in them, tensor parallelism stays in a node. What a fit can make up for here, it
cannot where configurations are compared, so these terms are kept for their physics and not for this table.

## Collectives

1.08 times the time of NCCL's tuner plus 25 µs, and across nodes a factor by size; mean (largest) error:
"""] + describe_collectives(results) + ["""
## Ranks

Kendall's tau between predicted and measured rates of operations, over pairs of rows:
"""] + describe_ranks(results) + ["""
## Pipelines
"""] + describe_simulation(results) + ["""
## All rows
"""] + describe_rows(results) + [""])
