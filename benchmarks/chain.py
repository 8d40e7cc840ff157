#!/usr/bin/env python3
"""Measures what a rank sends and holds in a chain of matrix products under tensor parallelism in 1, 2, 2.5 and 3
dimensions, beside the formulas of theory.py.

Every strategy is forced, compiled for the host and run, as a forward pass and as a training step. Writes chain.json (all
figures), chain.md (a table of the training steps) and chain.svg (a plot of them) into --output. Ends with 1 when a program
did otherwise than its plan says, or losses differ; deviations from theory are in the table.
"""
import argparse
import os
import sys
import tempfile

from chain_model import INPUT, PRODUCTS, get_product_name, write_chain
from plot import Panel, Series, write_svg
from programs import Failure, describe_tree, execute, read_json, report, write_json
from theory import (STRATEGIES, get_resting_elements, get_ring_elements, get_ring_factor, get_transfers, sum_by_kind)

ELEMENT_BYTES = 4
# Divided by all of 4, 8, 9 and 16.
SIZES = [144, 288, 576, 1152]
# The loss and what belongs to it: a few numbers.
SCALAR_BYTES = 64
LOSS_TOLERANCE = 1e-5


def without_zeros(row):
    return {kind: count for kind, count in row.items() if count["calls"]}


def get_mesh_width(plan, axes):
    sizes = {axis["name"]: axis["size"] for axis in plan["mesh"]["axes"]}
    width = 1
    for axis in axes:
        width *= sizes[axis]
    return width


def list_collectives(plan):
    """Kind, number of ranks, and counted bytes of every collective of a step, operator by operator."""
    for operator in plan["operators"]:
        for row in operator["collectives"]:
            yield row["kind"], get_mesh_width(plan, row["axes"]), row["bytes"], row["count"]


def get_ring_bytes(plan):
    """What a rank sends in one step when collectives run as rings, scalars left out."""
    return sum(get_ring_factor(kind, ranks) * size * count for kind, ranks, size, count in list_collectives(plan)
               if size > SCALAR_BYTES)


def expect(condition, text):
    if not condition:
        raise Failure(text)


def measure(parplan, folder, strategy, is_training, work):
    """Plans, compiles and runs one step. Figures are of rank 0: where the sizes divide, all ranks are equal."""
    out, metrics_file = os.path.join(work, "out"), os.path.join(work, "metrics.json")
    names = [get_product_name(index) for index in range(PRODUCTS)]
    command = [parplan, os.path.join(folder, "model.onnx"), "--gpus", str(strategy.ranks), "--target", "host", "-q",
               "--force", strategy.get_force(names), "-o", out]
    run = [os.path.join(out, "program"), "--metrics", metrics_file, "--steps", "1"]
    if is_training:
        command += ["--train", "--loss", "mse", "--optimizer", "sgd:lr=0.01"]
        run += ["--data", os.path.join(folder, "data")]
    else:
        run += ["--input", f"{INPUT}={os.path.join(folder, INPUT)}.npy", "--output-dir", work]
    execute(command)
    execute(run)

    plan, metrics = read_json(os.path.join(out, "plan.json")), read_json(metrics_file)
    ranks = [without_zeros(row) for row in metrics["communication"]["per_rank"]]
    predicted = plan["predicted"]
    expect(ranks == [without_zeros(row) for row in predicted["communication"]["per_rank"]]
           and metrics["communication"]["order_sha256"] == predicted["communication"]["order_sha256"]
           and metrics["peak_memory_bytes"] == {"per_rank": predicted["peak_memory_bytes"]["per_rank"]},
           "the program did otherwise than its plan says")
    listed = [(kind, size, count) for kind, _, size, count in list_collectives(plan)]
    expect(sum_by_kind((kind, size * count) for kind, size, count in listed)
           == sum_by_kind((kind, count["bytes"]) for kind, count in ranks[0].items()),
           "the operators of the plan do not list all of its communication")
    measured = {"communication": ranks[0], "ring_bytes": get_ring_bytes(plan),
                "counted_bytes": sum_by_kind((kind, size * count) for kind, size, count in listed if size > SCALAR_BYTES),
                "peak_memory_bytes": max(metrics["peak_memory_bytes"]["per_rank"])}
    if is_training:
        measured["loss"] = metrics["loss"][0]
    return measured


def compute_theory(strategy, size, is_training):
    transfers, elements = get_transfers(strategy, PRODUCTS, is_training), size * size
    counted = sum_by_kind((kind, share * elements * ELEMENT_BYTES) for kind, _, share in transfers)
    theory = {"counted_bytes": {kind: round(count) for kind, count in counted.items()},
              "ring_bytes": get_ring_elements(transfers, elements) * ELEMENT_BYTES}
    if is_training:
        theory["resting_bytes"] = get_resting_elements(strategy, PRODUCTS, elements) * ELEMENT_BYTES
    return theory


def format_bytes(count):
    return f"{count / 1e6:,.3f}" if count < 1e6 else f"{count / 1e6:,.2f}"


def format_kinds(row):
    return ", ".join(f"{kind} {format_bytes(count)}" for kind, count in sorted(row.items())) or "none"


def is_as_theory(row):
    """By kind of collective, and in what rings send."""
    theory, measured = row["theory"], row["measured"]
    return theory["counted_bytes"] == measured["counted_bytes"] and abs(theory["ring_bytes"] - measured["ring_bytes"]) < 1


def write_table(path, rows, size):
    """The training steps of one size; sizes in MB of 10^6 bytes."""
    lines = ["| ranks | strategy | `--force` | sent, theory | sent, measured | of it, as docs/cli.md counts | at rest, theory "
             "| peak, measured |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        if row["mode"] != "train" or row["size"] != size:
            continue
        theory, measured = row["theory"], row["measured"]
        sent = "the same" if is_as_theory(row) else format_bytes(measured["ring_bytes"])
        lines.append(f"| {row['ranks']} | {row['strategy']} | `{row['force'].split(',')[0]}` | "
                     f"{format_bytes(theory['ring_bytes'])} | {sent} | {format_kinds(measured['counted_bytes'])} | "
                     f"{format_bytes(theory['resting_bytes'])} | {format_bytes(measured['peak_memory_bytes'])} |")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def count_wrong_losses(rows):
    """All strategies train the same step."""
    expected = {}
    wrong = 0
    for row in rows:
        if row["mode"] == "train":
            loss = row["measured"]["loss"]
            wrong += abs(loss / expected.setdefault(row["size"], loss) - 1) > LOSS_TOLERANCE
    return wrong


def draw(path, rows):
    """Above what a rank sends, below what it holds; from left to right by ranks."""
    panels = []
    for title, theory_key, measured_key in (("sent in a training step", "ring_bytes", "ring_bytes"),
                                            ("memory", "resting_bytes", "peak_memory_bytes")):
        for ranks in sorted({row["ranks"] for row in rows}):
            series = {}
            for row in rows:
                if row["mode"] == "train" and row["ranks"] == ranks:
                    one = series.setdefault(row["strategy"], Series(row["strategy"], [], []))
                    one.line.append((row["size"], row["theory"][theory_key]))
                    one.marks.append((row["size"], row["measured"][measured_key]))
            panels.append(Panel(f"{ranks} ranks: {title}", list(series.values())))
    write_svg(path, panels, columns=len(panels) // 2, x_label="size of the square matrices", y_label="bytes",
              caption="lines: theory (below: what rests between the passes); marks: measured (below: the peak)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--output", required=True, help="folder of the three files")
    parser.add_argument("--size", type=int, action="append", help=f"of the matrices; repeatable; default {SIZES}")
    parser.add_argument("--ranks", type=int, action="append", help="only strategies of so many ranks; repeatable")
    options = parser.parse_args()
    parplan = os.path.abspath(options.parplan)
    os.makedirs(options.output, exist_ok=True)

    rows, failures = [], 0
    for size in options.size or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            write_chain(folder, size)
            for strategy in STRATEGIES:
                if options.ranks and strategy.ranks not in options.ranks:
                    continue
                for mode in ("inference", "train"):
                    is_training = mode == "train"
                    row = {"mode": mode, "ranks": strategy.ranks, "strategy": strategy.label, "size": size,
                           "force": strategy.force, "theory": compute_theory(strategy, size, is_training)}
                    with tempfile.TemporaryDirectory() as work:
                        try:
                            row["measured"] = measure(parplan, folder, strategy, is_training, work)
                        except Failure as failure:
                            report(f"{strategy.ranks} ranks, {strategy.label}, size {size}, {mode}: {failure}")
                            failures += 1
                            continue
                    rows.append(row)
                    report(f"{strategy.ranks} ranks, {strategy.label}, size {size}, {mode}: "
                           f"{'as theory says' if is_as_theory(row) else 'NOT as theory says'}, "
                           f"sends {row['measured']['ring_bytes']:,.0f}, peak {row['measured']['peak_memory_bytes']:,}")
    if rows:
        write_json(os.path.join(options.output, "chain.json"), {"tree": describe_tree(), "products": PRODUCTS, "rows": rows})
        write_table(os.path.join(options.output, "chain.md"), rows, max(row["size"] for row in rows))
        draw(os.path.join(options.output, "chain.svg"), rows)
    wrong, others = count_wrong_losses(rows), sum(not is_as_theory(row) for row in rows)
    report(f"{len(rows)} programs, {others} not as theory says, {wrong} with another loss, {failures} failed")
    sys.exit(1 if failures or wrong else 0)


if __name__ == "__main__":
    main()
