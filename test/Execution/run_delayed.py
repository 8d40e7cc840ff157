#!/usr/bin/env python3
"""Runs training programs with random delays, and under every schedule, and compares bits.

Each group of configurations below must train the same model: every program is run as it is and with PARPLAN_CHAOS, which
delays every launch, call and copy at random on every stream of every rank. A group passes when losses, gradient norms, the
saved weights and the order of communication are those of its first run, bit for bit, whatever was delayed and whatever the
schedule; the order is compared per program. Ends with 1 when a group failed.
"""
import argparse
import os
import tempfile

from forced import expect
from run_inference import read_json
from run_training import compile_step, train
from verdicts import Verdicts

SCHEDULES = ["gpipe", "1f1b", "1f1b-eager", "interleaved:2", "zb-h1", "zb-h2", "zb-v", "v-half", "v-min"]
SEEDS = 2
STEPS = 3
# Lists of (ranks, --force, other options); the programs of a list agree. Where memory is limited, what waits for gradients of
# weights is.
GROUPS = [
    [(4, "dp=2,tp1d=2,micro-batches=2")],
    [(2, "dp=2,zero=3,micro-batches=2")],
    # Servers sum in the order of the workers, and update as these do.
    [(2, "dp=2"), (3, "parameter-server=sync"), (4, "parameter-server=sync,servers=2")],
    # As many micro-batches as positions need, one too many, and fewer than positions.
    *([(2, f"pp=2,micro-batches={count},schedule={schedule}") for schedule in SCHEDULES] for count in (4, 1)),
    [(2, "pp=2,micro-batches=4,schedule=1f1b"), (2, "pp=2,micro-batches=4,schedule=zb-h1", "--memory-limit", "120K")],
    # Gradients in pieces have the norm of their buckets, and these are those of a stage.
    [(4, f"pp=2,dp=2,zero=0,micro-batches=2,schedule={schedule}") for schedule in ("1f1b", "interleaved:2", "zb-v")],
    [(4, f"pp=2,tp1d=2,micro-batches=4,schedule={schedule}") for schedule in ("1f1b", "zb-h1")],
]


def run_with(seed, *arguments):
    """One run with delays of that seed; 0: without."""
    os.environ["PARPLAN_CHAOS"] = str(seed)
    try:
        return train(*arguments)
    finally:
        del os.environ["PARPLAN_CHAOS"]


def check_group(parplan, folder, case, task, precision, group, seeds):
    first = None
    for ranks, specification, *others in group:
        with tempfile.TemporaryDirectory(prefix="parplan-") as work:
            out, saved = os.path.join(work, "out"), os.path.join(work, "trained.safetensors")
            plan = compile_step(parplan, folder, case, task, ranks, specification, precision, out, *others)
            expect("--memory-limit" not in others or "waiting_room_bytes" in plan["config"], f"{specification}: nothing limits what waits")
            order = None
            for seed in [0, *seeds]:
                what = " ".join([specification, *others]) + ", " + (f"delays {seed}" if seed else "no delays")
                metrics = run_with(seed, folder, task, ranks, STEPS, out, saved)
                with open(saved, "rb") as file:
                    weights = file.read()
                os.remove(saved)
                if first is None:
                    first = (what, metrics["loss"], weights, metrics["gradient_norm"])
                expect(metrics["loss"] == first[1], f"{what}: losses {metrics['loss']}, those of {first[0]} are {first[1]}")
                expect(metrics["gradient_norm"] == first[3], f"{what}: norms {metrics['gradient_norm']}, those of {first[0]} are {first[3]}")
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
    parser.add_argument("--schedules", help="in place of GROUPS one of these, on two positions with four micro-batches")
    parser.add_argument("--task", type=int, default=0, help="which of the model's training runs")
    parser.add_argument("--precision", default="fp32", help="as parplan's option")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many runs with delays")
    options = parser.parse_args()
    parplan = os.path.abspath(options.parplan)

    groups = GROUPS
    if options.schedules:
        groups = [[(2, f"pp=2,micro-batches=4,schedule={schedule}") for schedule in options.schedules.split(",")]]
    verdicts = Verdicts()
    for name in options.case:
        folder = os.path.join(options.models, name)
        case = read_json(os.path.join(folder, "case.json"))
        for index, group in enumerate(groups):
            if options.group and index not in options.group:
                continue

            def run(group=group):
                runs = check_group(parplan, folder, case, case["train"][options.task], options.precision, group, range(1, options.seeds + 1))
                return f"{runs} runs of {len(group)} programs, the same bits"

            verdicts.check(f"{name}, group {index} ({group[0][1]})", run)
    verdicts.end()


if __name__ == "__main__":
    main()
