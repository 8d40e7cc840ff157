#!/usr/bin/env python3
"""Runs training programs with random delays, and under every schedule, and compares bits.

Each group of configurations below must train the same model: every program is run as it is and with PARPLAN_CHAOS, which
delays every launch, call and copy at random on every stream of every rank. A group passes when losses, the saved weights
and the order of communication are those of its first run, bit for bit, whatever was delayed and whatever the schedule; the
order is compared per program. Ends with 1 when a group failed.
"""
import argparse
import os
import sys
import tempfile

from forced import Difference, expect
from run_inference import read_json
from run_training import compile_step, train

SCHEDULES = ["gpipe", "1f1b", "1f1b-eager", "interleaved:2", "zb-h1", "zb-h2", "zb-v", "v-half", "v-min"]
SEEDS = 2
STEPS = 3
# Lists of (ranks, --force); the programs of a list agree.
GROUPS = [
    [(4, "dp=2,tp1d=2,micro-batches=2")],
    [(2, "dp=2,zero=3,micro-batches=2")],
    # As many micro-batches as positions need, one too many, and fewer than positions.
    *([(2, f"pp=2,micro-batches={count},schedule={schedule}") for schedule in SCHEDULES] for count in (4, 1)),
    [(4, f"pp=2,dp=2,micro-batches=2,schedule={schedule}") for schedule in ("1f1b", "interleaved:2", "zb-v")],
    [(4, f"pp=2,tp1d=2,micro-batches=4,schedule={schedule}") for schedule in ("1f1b", "zb-h1")],
]


def run_with(seed, *arguments):
    """One run with delays of that seed; 0: without."""
    os.environ["PARPLAN_CHAOS"] = str(seed)
    try:
        return train(*arguments)
    finally:
        del os.environ["PARPLAN_CHAOS"]


def check_group(parplan, folder, case, task, group, seeds):
    first = None
    for ranks, specification in group:
        with tempfile.TemporaryDirectory(prefix="parplan-") as work:
            out, saved = os.path.join(work, "out"), os.path.join(work, "trained.safetensors")
            compile_step(parplan, folder, case, task, ranks, specification, "fp32", out)
            order = None
            for seed in [0, *seeds]:
                what = f"{specification}, " + (f"delays {seed}" if seed else "no delays")
                metrics = run_with(seed, folder, task, ranks, STEPS, out, saved)
                with open(saved, "rb") as file:
                    weights = file.read()
                os.remove(saved)
                if first is None:
                    first = (what, metrics["loss"], weights)
                expect(metrics["loss"] == first[1], f"{what}: losses {metrics['loss']}, those of {first[0]} are {first[1]}")
                expect(weights == first[2], f"{what}: other weights than those of {first[0]}")
                order = order or metrics["communication"]
                expect(metrics["communication"] == order, f"{what}: other communication than without delays")
    return len(group) * (1 + len(seeds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--models", required=True, help="folder with one folder per model")
    parser.add_argument("--case", action="append", required=True, help="the model; repeatable")
    parser.add_argument("--group", action="append", type=int, help="only this group of GROUPS; repeatable")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many runs with delays")
    options = parser.parse_args()
    parplan = os.path.abspath(options.parplan)

    failures = count = 0
    for name in options.case:
        folder = os.path.join(options.models, name)
        case = read_json(os.path.join(folder, "case.json"))
        for index, group in enumerate(GROUPS):
            if options.group and index not in options.group:
                continue
            count += 1
            try:
                runs = check_group(parplan, folder, case, case["train"][0], group, range(1, options.seeds + 1))
                verdict = f"ok: {runs} runs of {len(group)} programs, the same bits"
            except (Difference, OSError, KeyError, ValueError) as problem:
                failures += 1
                verdict = f"FAILED: {problem if isinstance(problem, Difference) else repr(problem)}"
            print(f"{name}, group {index} ({group[0][1]}): {verdict}", flush=True)
    print(f"{count - failures} passed, {failures} failed")
    sys.exit(1 if failures or not count else 0)


if __name__ == "__main__":
    main()
