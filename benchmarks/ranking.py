#!/usr/bin/env python3
"""Whether parplan's predictions rank plans as CPU ranks run them.

    benchmarks/ranking.py --parplan build/release/bin/parplan [--model MODEL.onnx] [--ranks 4]

Calibrates a cluster file of this machine (or takes --cluster), plans and compiles the model with every configuration of
--force that is below and fits, and as the planner likes it, and runs each program several times, in turns, so that what
disturbs the machine disturbs all. A program's time is the median over its runs of the median of a run's steps; plans
that have the same program are one.
Prints predicted and measured step times, Kendall's tau between them, and how far the planner's choice is from the best
measured. Nothing else may run on the machine."""

import argparse
import pathlib
import random
import statistics
import tempfile

import numpy

from kendall import get_tau
from programs import Failure, execute, read_json, report

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Of four ranks; parts that others cannot have are left out where a model refuses them.
CONFIGURATIONS = [
    "dp=4", "dp=4,zero=1", "dp=4,zero=2", "dp=4,zero=3", "dp=4,recompute=full",
    "dp=2,tp1d=2", "dp=2,tp1d=2,sp=on", "dp=2,tp1d=2,zero=3", "tp1d=4", "tp1d=4,sp=on", "tp2d=2x2",
    "dp=2,cp=2", "cp=4", "tp1d=2,cp=2",
    "pp=2,dp=2,micro-batches=4,schedule=1f1b", "pp=2,dp=2,micro-batches=2,schedule=gpipe",
    "pp=2,tp1d=2,micro-batches=4,schedule=1f1b", "pp=2,dp=2,micro-batches=4,schedule=interleaved:2",
    "pp=4,micro-batches=4,schedule=1f1b", "pp=4,micro-batches=8,schedule=1f1b", "pp=4,micro-batches=8,schedule=gpipe",
    "pp=4,micro-batches=8,schedule=zb-h1", "pp=2,dp=2,micro-batches=4,schedule=zb-v",
    "pp=2,dp=2,micro-batches=4,schedule=1f1b,recompute=selective",
]


class Program:
    """Plans of the same source."""

    def __init__(self, name, folder, predicted):
        self.names, self.folder, self.predicted = [name], folder, predicted
        self.runs = []

    def run(self, options):
        metrics = self.folder / "metrics.json"
        execute([str(self.folder / "program"), "--ranks", str(options.ranks), "--data", str(options.data), "--tokens", "uint16",
                 "--sequence-length", str(options.sequence), "--steps", str(options.steps), "--metrics", str(metrics)])
        # The first step brings pages in.
        self.runs.append(statistics.median(read_json(metrics)["step_time_s"][1:]))

    @property
    def measured(self):
        return statistics.median(self.runs)


def compile_program(options, name, force):
    folder = options.folder / name.replace(",", "_").replace(":", "-")
    command = [options.parplan, str(options.model), "--gpus", str(options.ranks), "--target", "host", "--cluster",
               str(options.cluster), "--dim", f"sequence={options.sequence}", "--train", "--global-batch", str(options.batch),
               "--optimizer", "adamw:lr=1e-4", "--time-budget", "60", "-q", "-o", str(folder)]
    execute(command + (["--force", force] if force else []))
    return Program(name, folder, read_json(folder / "plan.json")["predicted"]["step_time_s"])


def compile_all(options):
    """All programs, the chosen one last or among those of forced plans; and the chosen one."""
    programs = {}
    for name, force in [*((force, force) for force in CONFIGURATIONS), ("chosen", None)]:
        try:
            program = compile_program(options, name, force)
        except Failure as failure:
            if force is None:
                raise
            report(f"{force}: left out: {str(failure).splitlines()[-1]}")
            continue
        known = programs.setdefault((program.folder / "program.cu").read_bytes(), program)
        if known is not program:
            known.names.append(name)
    return list(programs.values()), known


def print_ranking(programs, chosen):
    print("| plan | predicted ms | measured ms |\n|---|---|---|")
    for program in sorted(programs, key=lambda one: one.measured):
        print(f"| {'; '.join(program.names)} | {program.predicted * 1e3:.2f} | {program.measured * 1e3:.2f} |")
    forced = [one for one in programs if one.names != ["chosen"]]
    tau = get_tau([(one.predicted, one.measured) for one in forced])
    best = min(one.measured for one in programs)
    print(f"\nKendall's tau {tau:.2f} over {len(forced)} programs of forced plans; "
          f"the chosen plan takes {chosen.measured / best:.3f} of the best measured")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "examples/gpt2/model.onnx")
    parser.add_argument("--cluster", type=pathlib.Path, help="a calibrated cluster file; without: calibrate now")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.folder = pathlib.Path(folder)
        options.data = options.folder / "data"
        options.data.mkdir()
        numpy.random.default_rng(1).integers(0, 256, 1 << 18, dtype=numpy.uint16).tofile(options.data / "tokens.bin")
        if options.cluster is None:
            options.cluster = options.folder / "cluster.json"
            execute([options.parplan, "calibrate", "-o", str(options.cluster), "--gpus", str(options.ranks)])
        programs, chosen = compile_all(options)
        order = random.Random(1)
        for _ in range(options.runs):
            for program in order.sample(programs, len(programs)):
                program.run(options)
        print_ranking(programs, chosen)


if __name__ == "__main__":
    main()
