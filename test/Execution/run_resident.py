#!/usr/bin/env python3
"""Compares the memory that ranks have, by the operating system's own figures, with the arenas of their plan.

A model of 128 MiB is built, planned and run in every configuration below, and so is a model of a few KiB of the same form,
whose ranks need what the program itself, its libraries and its threads need. While ranks run their memory is read
every few milliseconds: what is anonymous and what is shared, of /proc/PID/smaps_rollup, without pages of files, which
the system takes back when it needs them. A run passes when, for every rank, less what the small model's rank has besides its
arenas,
  * the median of all steps but the first one (the steady state: arenas are in use from end to end after one step), and
  * the largest value seen (the peak: also while weights are loaded and files are written)
differ from the rank's arenas on the device and the host by at most 3 %, or 32 MiB; and when VmHWM, which the system keeps
without gaps but with pages of files, is not above the arenas by more than that and the largest weight.
Ends with 1 when a run failed.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

from forced import Difference, expect
from run_inference import execute, read_json

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks"))
from onnx_file import Model  # noqa: E402

MEBIBYTE = 1 << 20
SHARE, LEAST = 0.03, 32 * MEBIBYTE
LAYERS, SAMPLES, POSITIONS = 4, 8, 32
WIDTH, EMPTY_WIDTH = 1024, 16
# A small model's steps are short. Where memory was read less than READINGS times in them a run is made again, with eight times as many.
STEPS, EMPTY_STEPS, READINGS = 4, 200, 8
TIME_LIMIT = 300
# (whether it trains, ranks, --force)
CONFIGURATIONS = [
    (False, 1, ""), (False, 2, "tp1d=2"), (False, 2, "pp=2"), (True, 1, ""), (True, 2, "dp=2,zero=0"), (True, 2, "dp=2,zero=3"),
    (True, 2, "pp=2,micro-batches=2,schedule=1f1b"), (True, 1, "offload=optimizer:cpu"), (True, 1, "offload=parameters:cpu"),
    (True, 2, "dp=2,offload=activations:cpu"), (True, 1, "offload=optimizer:nvme"), (True, 1, "offload=parameters:nvme")]


def write_model(folder, width):
    """Blocks of two products between norms, and one batch of samples. Returns the bytes of the largest weight."""
    os.makedirs(os.path.join(folder, "data"))
    generator = numpy.random.default_rng(width)
    model = Model("blocks")

    def add_weight(name, *shape):
        return model.add_weight(name, (generator.standard_normal(shape) * shape[0] ** -0.5).astype(numpy.float32))

    shape = [SAMPLES, POSITIONS, width]
    value = model.add_input("x", shape)
    for layer in range(LAYERS):
        norm = [add_weight(f"{layer}.norm.{part}", width) for part in ("weight", "bias")]
        normed = model.add_node("LayerNormalization", [value, *norm], f"{layer}/norm", axis=-1, epsilon=1e-5)
        up = model.add_node("MatMul", [normed, add_weight(f"{layer}.up", width, 4 * width)], f"{layer}/up")
        wide = model.add_node("Gelu", [up], f"{layer}/gelu")
        down = model.add_node("MatMul", [wide, add_weight(f"{layer}.down", 4 * width, width)], f"{layer}/down")
        value = model.add_node("Add", [down, value], f"{layer}/sum")
    model.add_output(value, shape)
    model.write(os.path.join(folder, "model.onnx"))
    for path in ("x.npy", "data/x.npy", "data/labels.npy"):
        numpy.save(os.path.join(folder, path), generator.standard_normal(shape).astype(numpy.float32))
    return 16 * width * width


def find_ranks(program, ranks):
    """Process ids of the ranks that run, by rank. With several, the process that starts them is none."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") != program:
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
        except OSError:
            continue
        if ranks == 1:
            found[0] = pid
        elif b"OMPI_COMM_WORLD_RANK" in variables:
            found[int(variables[b"OMPI_COMM_WORLD_RANK"])] = pid
    return found


def read_figures(path, names):
    """Figures of a file of /proc, in bytes. None when the process has ended."""
    figures = {}
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in names:
                    figures[name] = int(value.split()[0]) * 1024
    except OSError:
        return None
    return figures if len(figures) == len(names) else None


def watch(command, ranks, written):
    """Runs a program that writes into the folder `written` behind its last step. Returns (steady, peak, high-water mark) of each
    rank, in bytes; None when its steps were too short to say."""
    os.makedirs(written)
    metrics = os.path.join(os.path.dirname(written), "metrics.json")
    command = [*command, "--metrics", metrics]
    program = os.path.realpath(command[0])
    pids, seen, high = {}, {rank: [] for rank in range(ranks)}, [0] * ranks
    end = None
    deadline = time.monotonic() + TIME_LIMIT
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.terminate()
                raise Difference(f"the program did not end within {TIME_LIMIT} s")
            now = time.monotonic()
            # A file that is made only to see whether it can be goes again.
            end = (end or now) if os.listdir(written) else None
            if len(pids) < ranks:
                pids = find_ranks(program, ranks)
            for rank, pid in pids.items():
                rollup = read_figures(f"/proc/{pid}/smaps_rollup", ("Anonymous", "Pss_Shmem"))
                status = read_figures(f"/proc/{pid}/status", ("VmHWM",))
                if rollup and status:
                    seen[rank].append((now, sum(rollup.values())))
                    high[rank] = status["VmHWM"]
            time.sleep(0.01)
    expect(process.returncode == 0, f"the program ended with {process.returncode}")
    end = end or time.monotonic()
    begin = end - sum(read_json(metrics)["step_time_s"][1:])
    steady = [[value for at, value in seen[rank] if begin <= at < end] for rank in range(ranks)]
    if any(len(readings) < READINGS for readings in steady):
        return None
    return [(statistics.median(steady[rank]), max(value for _, value in seen[rank]), high[rank]) for rank in range(ranks)]


def measure(parplan, folder, trains, ranks, specification, steps, work):
    """Returns, for every rank, the bytes of its arenas in memory and what `watch` saw."""
    out = os.path.join(work, "out")
    command = [parplan, os.path.join(folder, "model.onnx"), "--gpus", str(ranks), "--target", "host", "-o", out]
    if trains:
        command += ["--train", "--loss", "mse", "--optimizer", "adamw:lr=0.001", "--global-batch", str(SAMPLES)]
    if specification:
        command += ["--force", specification]
    execute(command)
    predicted = read_json(os.path.join(out, "plan.json"))["predicted"]
    tiers = [predicted[name]["per_rank"] for name in ("peak_memory_bytes", "host_peak_memory_bytes") if name in predicted]
    command, written = [os.path.join(out, "program"), "--ranks", str(ranks)], os.path.join(work, "written")
    if trains:
        command += ["--data", os.path.join(folder, "data"), "--save", os.path.join(written, "trained.safetensors")]
    else:
        command += ["--input", f"x={os.path.join(folder, 'x.npy')}", "--output-dir", written]
    seen = None
    while seen is None:
        shutil.rmtree(written, ignore_errors=True)
        seen, steps = watch([*command, "--steps", str(steps)], ranks, written), 8 * steps
    return [(sum(tier[rank] for tier in tiers), seen[rank]) for rank in range(ranks)]


def check(parplan, models, trains, ranks, specification, work):
    def run(name, steps):
        folder = os.path.join(work, f"run-{name}")
        os.makedirs(folder)
        return measure(parplan, os.path.join(work, name), trains, ranks, specification, steps, folder)

    empty, full = run("empty", EMPTY_STEPS), run("full", STEPS)
    worst = {}
    for rank in range(ranks):
        arenas, seen = full[rank]
        least_arenas, least = empty[rank]
        allowed = max(SHARE * arenas, LEAST)
        for index, name in enumerate(("steady state", "peak", "high-water mark")):
            over = seen[index] - (least[index] - least_arenas) - arenas
            isHigh = name == "high-water mark"
            expect(over <= allowed + (models["full"] if isHigh else 0) and (isHigh or over >= -allowed),
                   f"rank {rank}: {name} is {over / MEBIBYTE:+.1f} MiB off the arenas of {arenas / MEBIBYTE:.1f} MiB, "
                   f"at most {allowed / MEBIBYTE:.1f}")
            worst[name] = max(worst.get(name, over), over, key=abs)
    return (f"arenas of {max(arenas for arenas, _ in full) / MEBIBYTE:.0f} MiB; off by at most "
            + ", ".join(f"{value / MEBIBYTE:+.1f} MiB ({name})" for name, value in worst.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--configuration", action="append", type=int, help="only this one of CONFIGURATIONS; repeatable")
    options = parser.parse_args()
    parplan = os.path.abspath(options.parplan)

    failures = count = 0
    with tempfile.TemporaryDirectory(prefix="parplan-") as work:
        models = {name: write_model(os.path.join(work, name), width) for name, width in (("empty", EMPTY_WIDTH), ("full", WIDTH))}
        for index, (trains, ranks, specification) in enumerate(CONFIGURATIONS):
            if options.configuration and index not in options.configuration:
                continue
            count += 1
            with tempfile.TemporaryDirectory(prefix="parplan-", dir=work) as folder:
                for name in models:
                    os.symlink(os.path.join(work, name), os.path.join(folder, name))
                try:
                    verdict = "ok: " + check(parplan, models, trains, ranks, specification, folder)
                except (Difference, OSError, KeyError, ValueError) as problem:
                    failures += 1
                    verdict = f"FAILED: {problem if isinstance(problem, Difference) else repr(problem)}"
            print(f"{'training' if trains else 'inference'}, {ranks} ranks, {specification or 'nothing forced'}: {verdict}",
                  flush=True)
    print(f"{count - failures} passed, {failures} failed")
    sys.exit(1 if failures or not count else 0)


if __name__ == "__main__":
    main()
