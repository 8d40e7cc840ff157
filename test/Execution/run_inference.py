#!/usr/bin/env python3
"""Plans, compiles and runs models on host ranks, and compares with what PyTorch computed and with what the plan predicts.

Every model of --models runs in every configuration below. A run passes when
  * each output differs from PyTorch's by at most 2e-5 of the largest expected value, more in a short type;
  * calls, bytes and order of communication and the peak of memory, on every rank, are the predicted ones, exactly;
  * no arena is more than 2.5 % above the most bytes in it that are in use at once;
  * the plan does what --force asked for, and so does its communication.
Ends with 1 when a run failed.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy

from forced import Difference, Forced, expect

CONFIGURATIONS = [(1, ""), (2, "dp=2"), (2, "tp1d=2"), (4, "dp=2,tp1d=2"), (4, "tp1d=4"), (2, "pp=2,micro-batches=2"), (4, ""),
                  (3, "")]
# Several micro-batches, on single models. A third entry is the number of times that the samples of the case are given.
MICRO_BATCHES = {
    "convnet": [(2, "dp=2", 3)],
    "gpt2-dynamic": [(1, "micro-batches=4"), (2, "pp=2,micro-batches=4,schedule=forward-only:2", 2)],
    "mixtral": [(4, "pp=2,ep=2,micro-batches=2")],
    "vit": [(4, "pp=2,tp1d=2,micro-batches=4")],
}
# The same in short types: the weights take half the memory.
SHORT = {"llama": [(2, "tp1d=2", 1, "bf16")], "resnet": [(2, "pp=2,micro-batches=2", 1, "fp16")]}
ARENA_GAP = 0.025
TOLERANCES = {"fp32": 2e-5, "fp16": 1e-2, "bf16": 6e-2}
TIME_LIMIT = 300


def execute(command):
    """Runs a command in a process group of its own, so that no rank outlives it."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            raise Difference(f"{os.path.basename(command[0])} did not end within {TIME_LIMIT} s") from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    last_lines = "\n    ".join(output.strip().splitlines()[-5:])
    expect(process.returncode == 0, f"{os.path.basename(command[0])} ended with {process.returncode}:\n    {last_lines}")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def repeat(array, count):
    """The samples of a case `count` times, each time in another order, which no two micro-batches share."""
    return numpy.concatenate([numpy.roll(array, turn, axis=0) for turn in range(count)])


def check_outputs(case, folder, results, count=1, precision="fp32"):
    """Returns the largest relative difference of any output."""
    largest, tolerance = 0.0, TOLERANCES[precision]
    for name, file in case["outputs"].items():
        expected = repeat(numpy.load(os.path.join(folder, file)), count).astype(numpy.float64)
        result = numpy.load(os.path.join(results, f"{name}.npy")).astype(numpy.float64)
        expect(result.shape == expected.shape, f"output {name} has shape {result.shape}, expected {expected.shape}")
        difference = numpy.abs(result - expected).max() / numpy.abs(expected).max()
        expect(difference <= tolerance, f"output {name} differs by {difference:.2e}, at most {tolerance:.0e}")
        largest = max(largest, difference)
    return largest


def calls_and_bytes(rank):
    """The kinds of communication that occur. A kind that does not may be absent or there with zeros."""
    return {kind: (row["calls"], row["bytes"]) for kind, row in rank.items() if row["calls"] or row["bytes"]}


def check_arenas(plan):
    """Every arena is close to the most bytes that are in use at once."""
    for tier in ("peak_memory_bytes", "host_peak_memory_bytes", "nvme_peak_bytes"):
        gap = plan["predicted"].get(tier, {}).get("gap", 0)
        expect(gap <= ARENA_GAP, f"{tier}: {100 * gap:.2f} % above its lower bound, at most {100 * ARENA_GAP} %")


def check_prediction(plan, metrics, ranks):
    predicted = plan["predicted"]
    check_arenas(plan)
    expect(metrics["ranks"] == ranks, f"{metrics['ranks']} ranks ran, expected {ranks}")
    for kind in ("peak_memory_bytes", "communication"):
        for document in (predicted, metrics):
            expect(len(document[kind]["per_rank"]) == ranks, f"{kind} is not there for every rank")
    for rank in range(ranks):
        want = calls_and_bytes(predicted["communication"]["per_rank"][rank])
        have = calls_and_bytes(metrics["communication"]["per_rank"][rank])
        expect(want == have, f"rank {rank}: communication (calls, bytes) {want} was predicted, {have} measured")
        want, have = (document["peak_memory_bytes"]["per_rank"][rank] for document in (predicted, metrics))
        expect(want == have, f"rank {rank}: a peak of {want} B was predicted, {have} B measured")
        for tier in ("host_peak_memory_bytes", "nvme_peak_bytes"):
            want, have = (document[tier]["per_rank"][rank] if tier in document else 0 for document in (predicted, metrics))
            expect(want == have, f"rank {rank}: {tier} {want} was predicted, {have} measured")
        want, have = (document["offload"]["per_rank"][rank] for document in (predicted, metrics))
        expect(want == have, f"rank {rank}: offload {want} was predicted, {have} measured")
        want, have = (document["communication"]["order_sha256"][rank] for document in (predicted, metrics))
        expect(want == have, f"rank {rank}: the order of communication is not the predicted one")


def get_batch(case, folder):
    """The samples of a case: the first dimension of its inputs."""
    return numpy.load(os.path.join(folder, next(iter(case["inputs"].values())))).shape[0]


def run(parplan, folder, case, ranks, specification, work, count=1, precision="fp32"):
    forced = Forced(specification)
    out, results, metrics_file = (os.path.join(work, name) for name in ("out", "results", "metrics.json"))

    command = [parplan, os.path.join(folder, "model.onnx"), "--gpus", str(ranks), "--target", "host", "--precision", precision, "-o",
               out]
    for name, value in case["dims"].items():
        if count == 1 or name != "batch":
            command += ["--dim", f"{name}={value}"]
    if count > 1:
        command += ["--global-batch", str(count * get_batch(case, folder))]
    if specification:
        command += ["--force", specification]
    started = time.monotonic()
    execute(command)
    compiled = time.monotonic() - started
    plan = read_json(os.path.join(out, "plan.json"))
    forced.check_plan(plan, ranks)

    command = [os.path.join(out, "program"), "--ranks", str(ranks), "--output-dir", results, "--metrics", metrics_file]
    for name, file in case["inputs"].items():
        given = os.path.join(folder, file)
        if count > 1:
            samples, given = numpy.load(given), os.path.join(work, f"{name}.npy")
            numpy.save(given, repeat(samples, count))
        command += ["--input", f"{name}={given}"]
    execute(command)
    metrics = read_json(metrics_file)
    difference = check_outputs(case, folder, results, count, precision)
    check_prediction(plan, metrics, ranks)
    forced.check_communication(metrics)
    peak = max(metrics["peak_memory_bytes"]["per_rank"])
    return f"differs by {difference:.1e}, peak {peak} B, compiled in {compiled:.1f} s"


def parse_configuration(text):
    """RANKS:FORCE[/TIMES[/PRECISION]]"""
    ranks, specification = text.split(":", 1)
    specification, *others = specification.split("/")
    return (int(ranks), specification, *[int(times) for times in others[:1]], *others[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--models", required=True, help="folder with one folder per model")
    parser.add_argument("--case", action="append", help="only this model; repeatable")
    parser.add_argument("--configuration", action="append",
                        help="only this one, e.g. '4:dp=2,tp1d=2', '3:', '2:dp=2/3' for three times the samples or '2:dp=2/1/bf16'; "
                             "repeatable")
    options = parser.parse_args()
    parplan = os.path.abspath(options.parplan)
    names = options.case or sorted(name for name in os.listdir(options.models)
                                   if os.path.exists(os.path.join(options.models, name, "case.json")))
    only = [parse_configuration(text) for text in options.configuration or []]
    runs = failures = 0
    for name in names:
        folder = os.path.join(options.models, name)
        case = read_json(os.path.join(folder, "case.json"))
        for ranks, specification, *others in only or CONFIGURATIONS + MICRO_BATCHES.get(name, []) + SHORT.get(name, []):
            runs += 1
            with tempfile.TemporaryDirectory(prefix="parplan-") as work:
                try:
                    verdict = "ok: " + run(parplan, folder, case, ranks, specification, work, *others)
                except (Difference, OSError, KeyError, ValueError) as problem:
                    failures += 1
                    verdict = f"FAILED: {problem if isinstance(problem, Difference) else repr(problem)}"
            given = "".join(f", {text}" for text in (f"{others[0]} times the samples" if others else "", *others[1:]) if text)
            print(f"{name}, {ranks} ranks, {specification or 'nothing forced'}{given}: {verdict}", flush=True)
    print(f"{runs - failures} passed, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
