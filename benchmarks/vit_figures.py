#!/usr/bin/env python3
"""Predicts how large batches and models of vision transformers may be under tensor parallelism of one to three dimensions
over 64 A100 with 40 GB, and how fast they train.

Every figure is of the plan that is fastest if memory did not matter, and its memory is compared with the device's. What was
planned is kept in --output, so that a run can be resumed; beside it vit-figures.md gets the tables.
"""
import argparse
import json
import os
import tempfile
import time

from communicators import count_pairs, sum_by_communicator
from programs import Failure, describe_tree, execute, read_json, report, write_json
from vit_model import Shape, write_vit

RANKS = 64
CLUSTER = "dgx-a100-40g"
STRATEGIES = {
    "1D": f"tp1d={RANKS},sp=off",  # with sp=on it is the same plan
    "2D": "tp2d=8x8",
    "2D, gathered": 'tp2d=8x8,node:"*/MatMul":gather2d',
    "2.5D": "tp2.5d=4x4x4",
    "3D": "tp3d=4x4x4",
}
BATCH_STEP = 64  # divided by the rows of all grids
WIDTH_STEP = 2048
DEEPER = 48  # layers; every further layer adds the same bytes
# Communicators that carry less than this part of all bytes are left out of the pairs.
SMALL_SHARE = 0.001


class Planner:
    """Plans by strategy, shape and batch; `results` maps descriptions of them to what was found."""

    def __init__(self, parplan, output):
        self.parplan, self.output = parplan, output
        self.results = read_json(output)["plans"] if os.path.exists(output) else {}

    def plan(self, strategy, shape, batch):
        key = f"{STRATEGIES[strategy]} layers={shape.layers} hidden={shape.hidden} batch={batch}"
        if key not in self.results:
            started = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                self.results[key] = self.plan_anew(folder, STRATEGIES[strategy], shape, batch)
            self.results[key]["planning_s"] = round(time.monotonic() - started, 1)
            report(f"{key}: {self.results[key]['memory_bytes']:,} bytes, {self.results[key]['step_time_s']:.3f} s, planned in "
                   f"{self.results[key]['planning_s']} s")
            write_json(self.output, {"tree": describe_tree(), "plans": self.results})
        return self.results[key]

    def plan_anew(self, folder, force, shape, batch):
        model, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "out")
        parameters = write_vit(model, shape)
        execute([self.parplan, "plan", model, "--gpus", str(RANKS), "--cluster", CLUSTER, "--target", "cuda", "--train",
                 "--precision", "bf16", "--global-batch", str(batch), "--force", force, "--memory-limit", "64T", "-q",
                 "-o", out])
        plan = read_json(os.path.join(out, "plan.json"))
        predicted = plan["predicted"]
        memory = predicted["peak_memory_bytes"]
        return {"parameters": parameters, "memory_bytes": memory["max"], "memory_by_kind": memory["by_kind"],
                "step_time_s": predicted["step_time_s"], "breakdown_s": predicted["breakdown_s"],
                "communication": predicted["communication"]["per_rank"][0], "axes": plan["mesh"]["axes"],
                "communicators": sum_by_communicator(plan)}


def find_largest(get_size, first, step, limit):
    """The largest multiple of `step` whose size is at most `limit`. The next guess is on the line through the two sizes
    that are nearest to the limit, so that few are asked for."""
    known = {0: 0}
    low, high = 0, None
    candidate = first
    while high is None or high - low > step:
        known[candidate] = get_size(candidate)
        if known[candidate] <= limit:
            low = candidate
        else:
            high = candidate
        one, other = sorted(known, key=lambda value: abs(known[value] - limit))[:2]
        guess = one + (limit - known[one]) * (one - other) / (known[one] - known[other])
        candidate = max(int(guess // step) * step, low + step)
        if high is not None:
            candidate = min(candidate, high - step)
    return low


def find_batch(planner, strategy, limit):
    return find_largest(lambda batch: planner.plan(strategy, Shape(), batch)["memory_bytes"], 8 * BATCH_STEP, BATCH_STEP,
                        limit)


def find_width(planner, strategy, batch, limit):
    """Of 24 layers. Parameters grow with the square of the width, hence the roots."""
    return find_largest(lambda hidden: planner.plan(strategy, Shape(hidden=hidden), batch)["memory_bytes"] ** 0.5,
                        4 * WIDTH_STEP, WIDTH_STEP, limit ** 0.5)


def find_depth(planner, strategy, batch, limit):
    """Of width 1024."""
    usual, deeper = (planner.plan(strategy, Shape(layers), batch)["memory_bytes"] for layers in (Shape().layers, DEEPER))
    return Shape().layers + int((limit - usual) / ((deeper - usual) / (DEEPER - Shape().layers)))


def count_parameters(shape):
    with tempfile.TemporaryDirectory() as folder:
        return write_vit(os.path.join(folder, "model.onnx"), shape)


def format_table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def count_busy_pairs(result):
    communicators = result["communicators"]
    least = SMALL_SHARE * sum(communicators.values())
    return count_pairs(result["axes"], [name for name, count in communicators.items() if count >= least])


def tabulate_batches(planner, batches):
    common = min(batches.values())
    rows = []
    for strategy, largest in batches.items():
        same, at_largest = planner.plan(strategy, Shape(), common), planner.plan(strategy, Shape(), largest)
        sent = sum(row["bytes"] for row in same["communication"].values())
        rows.append([strategy, f"`{STRATEGIES[strategy]}`", f"{largest:,}", f"{largest / at_largest['step_time_s']:,.0f}",
                     f"{same['memory_bytes'] / 1e9:.2f}", f"{common / same['step_time_s']:,.0f}", f"{sent / 1e9:.2f}",
                     f"{count_busy_pairs(same):,}"])
    return format_table(
        ["strategy", "`--force`", "largest batch", "images/s there", f"GB at batch {common:,}",
         f"images/s at batch {common:,}", f"GB counted at batch {common:,}", "pairs"], rows)


def tabulate_models(planner, strategies, batch, limit):
    rows = []
    for strategy in strategies:
        layers, hidden = find_depth(planner, strategy, batch, limit), find_width(planner, strategy, batch, limit)
        rows.append([strategy, f"{layers:,}", f"{count_parameters(Shape(layers)) / 1e9:.1f}", f"{hidden:,}",
                     f"{count_parameters(Shape(hidden=hidden)) / 1e9:.1f}"])
    return format_table(["strategy", f"layers at batch {batch:,}", "10^9 parameters", "width of 24 layers",
                         "10^9 parameters"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--output", required=True, help="the file vit-figures.json")
    parser.add_argument("--strategy", action="append", choices=STRATEGIES, help="only this one; repeatable")
    parser.add_argument("--model-batch", type=int, default=8 * BATCH_STEP, help="of the largest models; default %(default)s")
    options = parser.parse_args()
    planner = Planner(os.path.abspath(options.parplan), options.output)
    strategies = options.strategy or list(STRATEGIES)
    cluster = json.loads(execute([planner.parplan, "clusters", CLUSTER, "--json"]))
    limit = cluster["device"]["memory_bytes"]
    try:
        tables = [tabulate_batches(planner, {strategy: find_batch(planner, strategy, limit) for strategy in strategies}),
                  tabulate_models(planner, strategies, options.model_batch, limit)]
    except Failure as failure:
        raise SystemExit(str(failure)) from None
    with open(os.path.splitext(options.output)[0] + ".md", "w", encoding="utf-8") as file:
        file.write("\n".join(tables))


if __name__ == "__main__":
    main()
