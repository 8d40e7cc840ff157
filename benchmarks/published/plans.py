#!/usr/bin/env python3
"""Plans the published configurations of Megatron-LM with parplan itself and compares its step times with theirs.

    benchmarks/published/plans.py --data FOLDER_OF_PUBLISHED --parplan build/release/bin/parplan [--stack parplan]

Every row is a model written for it, the preset of its machines with the stack of its source (or --stack for all), and
`--force` with its configuration. Kendall's tau is that of predicted and measured TFLOP/s over all rows."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from gpt_model import write_gpt
from runs import get_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from kendall import get_tau


def write_cluster(path, preset, stack):
    presets = json.loads((ROOT / "lib/Cluster/presets.json").read_text())["clusters"]
    cluster = next(entry for entry in presets if entry["name"] == preset)
    cluster["stack"] = stack
    path.write_text(json.dumps(cluster))


def get_force(run):
    """What of the configuration is said to parplan; it orders stages, ranks and passes as Megatron-LM does."""
    force = [f"dp={run['replicas']}", f"tp1d={run['tensor']}", f"micro-batches={run['micro_batches']}",
             f"recompute={run['recompute']}", f"zero={run['zero_stage']}"]
    if run["tensor"] > 1:
        force.append(f"sp={'on' if run['splits_sequence'] else 'off'}")
    if run["positions"] > 1:
        schedule = f"interleaved:{run['chunks']}" if run["chunks"] > 1 else "1f1b"
        force += [f"pp={run['positions']}", f"schedule={schedule}"]
    return ",".join(force)


def plan(parplan, run, stack, folder, budget):
    model, cluster, output = folder / "model.onnx", folder / "cluster.json", folder / "plan"
    write_gpt(model, layers=run["layers"], hidden=run["hidden"], heads=run["heads"], ffn=run["ffn"],
              vocabulary=run["vocabulary"], length=run["length"])
    preset, own = run["cluster"].split(" ")
    write_cluster(cluster, preset, stack or own)
    batch = run["micro_batch"] * run["micro_batches"] * run["replicas"]
    command = [parplan, "plan", str(model), "--gpus", str(run["gpus"]), "--cluster", str(cluster), "--train",
               "--precision", run["precision"], "--global-batch", str(batch), "--force", get_force(run),
               "--memory-limit", "1T", "--time-budget", str(budget), "-o", str(output), "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
    document = json.loads((output / "plan.json").read_text())
    return document["predicted"]["step_time_s"], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--parplan", required=True)
    parser.add_argument("--stack")
    parser.add_argument("--match", default="", help="only rows whose name has this text")
    parser.add_argument("--budget", type=int, default=120)
    options = parser.parse_args()
    pairs = []
    for row in get_rows(options.data):
        if row.source not in ("SC21", "MLSys22") or options.match not in row.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            seconds, fault = plan(options.parplan, row.run, options.stack, pathlib.Path(folder), options.budget)
        if seconds is None:
            print(f"{row.source:8} {row.name:45} {row.seconds:9.3f}  {fault}", flush=True)
            continue
        run = row.run
        tokens = run["micro_batch"] * run["micro_batches"] * run["replicas"] * run["length"]
        work = tokens * run["layers"] * 24 * run["hidden"] ** 2 / run["gpus"]
        pairs.append((work / seconds, work / row.seconds))
        print(f"{row.source:8} {row.name:45} {row.seconds:9.3f} {seconds:9.3f} {100 * (seconds / row.seconds - 1):+6.1f} %",
              flush=True)
    if len(pairs) > 1:
        print(f"Kendall's tau of rates {get_tau(pairs):.2f} over {len(pairs)} rows")


if __name__ == "__main__":
    main()
