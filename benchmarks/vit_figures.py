#!/usr/bin/env python3
"""Predicts how large batches and models of vision transformers may be under tensor parallelism of one to three dimensions
over 64 A100 with 40 GB, and how fast they train.

Plans of models of one and two layers give the figures of deeper ones: every further layer adds the same bytes and seconds.
--check plans one model in full and compares. Results are kept in --output as they come, so that a run can be resumed;
vit-figures.md beside it gets the tables.
"""
import argparse
import json
import os
import tempfile
import time
from typing import NamedTuple

from communicators import count_pairs
from programs import Failure, describe_tree, execute, read_json, report, write_json
from vit_model import Shape, write_vit

RANKS = 64
CLUSTER = "dgx-a100-40g"
STRATEGIES = {
    "1D": f"tp1d={RANKS},sp=off",
    "1D, sequence parallel": f"tp1d={RANKS},sp=on",
    "2D": "tp2d=8x8",
    "2.5D": "tp2.5d=4x4x4",
    "3D": "tp3d=4x4x4",
}
# Divided by the rows of all grids.
BATCH_STEP = 64
WIDTH_STEP = 1024
# The loss and what belongs to it: such communicators are left out of the pairs.
SCALAR_BYTES = 64


class Prediction(NamedTuple):
    memory_bytes: float
    step_time_s: float
    communication_bytes: float


class Planner:
    """Predictions by strategy, shape and batch. `results` maps descriptions of plans to what was found."""

    def __init__(self, parplan, output):
        self.parplan, self.output = parplan, output
        self.results = read_json(output)["plans"] if os.path.exists(output) else {}

    def plan(self, strategy, shape, batch):
        """The figures of one plan, as found now or in an earlier run. None where no plan fits."""
        key = f"{STRATEGIES[strategy]} layers={shape.layers} hidden={shape.hidden} batch={batch}"
        if key not in self.results:
            started = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                self.results[key] = self.plan_anew(folder, STRATEGIES[strategy], shape, batch)
            self.results[key]["planning_s"] = round(time.monotonic() - started, 1)
            report(f"{key}: {self.results[key]}")
            write_json(self.output, {"tree": describe_tree(), "plans": self.results})
        result = self.results[key]
        return None if "refusal" in result else result

    def plan_anew(self, folder, force, shape, batch):
        model, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "out")
        parameters = write_vit(model, shape)
        command = [self.parplan, "plan", model, "--gpus", str(RANKS), "--cluster", CLUSTER, "--target", "cuda", "--train",
                   "--precision", "bf16", "--global-batch", str(batch), "--force", force, "-q", "-o", out]
        try:
            execute(command)
        except Failure as failure:
            return {"refusal": str(failure).splitlines()[-1]}
        plan = read_json(os.path.join(out, "plan.json"))
        predicted = plan["predicted"]
        sent = predicted["communication"]["per_rank"][0].values()
        return {"parameters": parameters, "memory_bytes": predicted["peak_memory_bytes"]["max"],
                "step_time_s": predicted["step_time_s"], "communication_bytes": sum(row["bytes"] for row in sent),
                "pairs": count_pairs(plan, SCALAR_BYTES)}

    def predict(self, strategy, shape, batch):
        """Of a model of any depth, from those of one and two layers. None where these do not fit."""
        one, two = (self.plan(strategy, shape._replace(layers=layers), batch) for layers in (1, 2))
        if one is None or two is None:
            return None
        return Prediction(*(one[key] + (two[key] - one[key]) * (shape.layers - 1) for key in Prediction._fields))


def find_largest(fits, first, step):
    """The largest multiple of `step` that fits, by doubling and halving; 0 if `first` does not. `fits` returns the used
    share of the memory, so that guesses aim at what is left."""
    low, high = 0, None
    candidate = first
    while high is None or high - low > step:
        share = fits(candidate)
        if share <= 1:
            low = candidate
        else:
            high = candidate
        guess = candidate / share if share < 100 else low
        candidate = int(guess // step) * step
        if high is None:
            candidate = max(candidate, low + step)
        elif not low < candidate < high:
            candidate = low + step if candidate <= low else high - step
    return low


def get_share(prediction, limit):
    return prediction.memory_bytes / limit if prediction else float("inf")


def find_batch(planner, strategy, shape, limit):
    return find_largest(lambda batch: get_share(planner.predict(strategy, shape, batch), limit), BATCH_STEP, BATCH_STEP)


def find_depth(planner, strategy, batch, limit):
    """Layers of width 1024: every one adds the same bytes."""
    first, second = (planner.predict(strategy, Shape(layers), batch) for layers in (1, 2))
    return 1 + int((limit - first.memory_bytes) // (second.memory_bytes - first.memory_bytes)) if second else 0


def find_width(planner, strategy, batch, limit):
    """At 24 layers. Parameters grow with the square of the width, so shares are compared by their roots."""
    def fits(hidden):
        return get_share(planner.predict(strategy, Shape(hidden=hidden), batch), limit) ** 0.5
    return find_largest(fits, WIDTH_STEP, WIDTH_STEP)


def count_parameters(shape):
    with tempfile.TemporaryDirectory() as folder:
        return write_vit(os.path.join(folder, "model.onnx"), shape)


def format_table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def check(planner, strategy, batch):
    """Plans ViT-L/16 in full."""
    predicted, full = planner.predict(strategy, Shape(), batch), planner.plan(strategy, Shape(), batch)
    report(f"{strategy}, batch {batch}: from one and two layers {predicted}, in full {full}")


def tabulate(planner, strategies, limit):
    shape = Shape()
    batches = {strategy: find_batch(planner, strategy, shape, limit) for strategy in strategies}
    common = min(batch for batch in batches.values() if batch)
    rows = []
    for strategy in strategies:
        largest, same = batches[strategy], planner.predict(strategy, shape, common)
        at_largest = planner.predict(strategy, shape, largest) if largest else None
        rows.append([strategy, f"`{STRATEGIES[strategy]}`", f"{largest:,}",
                     f"{largest / at_largest.step_time_s:,.0f}" if at_largest else "-",
                     f"{same.memory_bytes / 1e9:.2f}" if same else "-",
                     f"{common / same.step_time_s:,.0f}" if same else "-",
                     f"{same.communication_bytes / 1e9:.2f}" if same else "-",
                     f"{planner.plan(strategy, Shape(2), common)['pairs']:,}" if same else "-"])
    batch_table = format_table(
        ["strategy", "`--force`", "largest batch", "images/s there", f"GB at batch {common}", f"images/s at batch {common}",
         f"GB sent at batch {common}", "pairs"], rows)
    rows = []
    for strategy in strategies:
        row = [strategy]
        for batch in (BATCH_STEP, common):
            layers = find_depth(planner, strategy, batch, limit)
            row += [f"{layers:,}", f"{count_parameters(Shape(layers)) / 1e9:.1f}" if layers else "-"]
        hidden = find_width(planner, strategy, BATCH_STEP, limit)
        rows.append(row + [f"{hidden:,}", f"{count_parameters(Shape(hidden=hidden)) / 1e9:.1f}" if hidden else "-"])
    model_table = format_table(
        ["strategy", f"layers at batch {BATCH_STEP}", "10^9 parameters", f"layers at batch {common}", "10^9 parameters",
         f"width of 24 layers at batch {BATCH_STEP}", "10^9 parameters"], rows)
    return batch_table + "\n" + model_table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--output", required=True, help="the file vit-figures.json")
    parser.add_argument("--strategy", action="append", choices=STRATEGIES, help="only this one; repeatable")
    parser.add_argument("--check", metavar="BATCH", type=int, help="plan 24 layers at this batch, instead of the tables")
    options = parser.parse_args()
    planner = Planner(os.path.abspath(options.parplan), options.output)
    strategies = options.strategy or list(STRATEGIES)
    if options.check:
        for strategy in strategies:
            check(planner, strategy, options.check)
        return
    cluster = json.loads(execute([planner.parplan, "clusters", CLUSTER, "--json"]))
    tables = tabulate(planner, strategies, cluster["device"]["memory_bytes"])
    with open(os.path.splitext(options.output)[0] + ".md", "w", encoding="utf-8") as file:
        file.write(tables)


if __name__ == "__main__":
    main()
