#!/usr/bin/env python3
"""Predicts every published run with lib/CostModel, fits its constants, and writes docs/cost-model.md.

    cmake --build --preset release --target PublishedRuns parplan
    benchmarks/published/calibrate.py --data FOLDER_OF_PUBLISHED --program build/release/bin/PublishedRuns \\
        --output docs/cost-model.md

PublishedRuns has the model; this only chooses constants and prints. --quick fits once and prints the errors."""

import argparse
import copy
import json
import math
import pathlib
import statistics
import subprocess
import sys

import report
from fit import fit
from runs import SOURCES, get_all_reduces, get_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Best rate that any product reached on the device, over its peak.
REACHABLE = {"dgx-a100-80g": 271.2 / 312, "dgx-a100-40g": 271.2 / 312, "azure": 271.2 / 312, "dgx-2": 0.87}

START = {"matrix_share": 0.98, "memory_efficiency": 0.75, "tile_overhead": 100.0, "optimizer_bytes": 50.0,
         "interference": 0.25, "attention_efficiency": 0.5, "attention_gradient_efficiency": 0.3,
         "straggler_deviation": 0.012, "norm_traffic": 1.5, "zero_network": 1.0}
# Width of the logarithm of a fitted constant; the others stay.
PRIORS = {"matrix_share": 0.06, "memory_efficiency": 0.15, "tile_overhead": 0.4, "optimizer_bytes": 0.3,
          "interference": 0.5, "attention_efficiency": 0.5, "attention_gradient_efficiency": 0.5}
LIMITS = {"matrix_share": 1.0, "memory_efficiency": 1.0, "interference": 1.0, "attention_efficiency": 1.0,
          "attention_gradient_efficiency": 1.0}


class Program:
    """PublishedRuns, line by line."""

    def __init__(self, path, rows):
        self.rows = rows
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.send([row.run for row in rows])
        self.presets = {entry["name"]: entry for entry in
                        json.loads((ROOT / "lib/Cluster/presets.json").read_text())["clusters"]}
        self.stacks = {entry["name"]: entry for entry in
                       json.loads((ROOT / "lib/Cluster/stacks.json").read_text())["stacks"]}

    def send(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def ask(self, request):
        self.send(request)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("PublishedRuns ended")
        return json.loads(line)

    def make_cluster(self, name, constants, without):
        preset, stack = name.split(" ") if " " in name else (name, "parplan")
        cluster = copy.deepcopy(self.presets["dgx-a100-80g" if preset == "azure" else preset])
        device = cluster["device"]
        device["matrix_efficiency"] = min(1, constants["matrix_share"] * REACHABLE[preset])
        for key in ("memory_efficiency", "tile_overhead", "attention_efficiency", "attention_gradient_efficiency"):
            device[key] = constants[key]
        cluster["collectives"]["interference"] = constants["interference"]
        cluster["straggler_deviation"] = 0 if "stragglers" in without else constants["straggler_deviation"]
        cluster["stack"] = copy.deepcopy(self.stacks[stack])
        if "norm_traffic" in cluster["stack"]:
            cluster["stack"]["norm_traffic"] = constants["norm_traffic"]
        if "gaps" in without:
            device["kernel_gap_s"] = 0
        if "tiles" in without:
            device["tile_overhead"] = 0
        if "shared NICs" in without:
            cluster["network"]["nics"] *= cluster["node"]["devices"]
        if "overlap" in without:
            for key in list(cluster["stack"]):
                if key.startswith("overlap"):
                    cluster["stack"][key] = False
        if preset == "azure":
            cluster["network"]["bytes_per_s"] *= constants["zero_network"]
        return cluster

    def predict(self, constants, without=(), stack=None, simulate=False):
        """Seconds of every row; `stack`: in place of that of its source."""
        clusters = {row.run["cluster"]: row.run["cluster"] for row in self.rows}
        if stack:
            clusters = {name: f"{name.split(' ')[0]} {stack}" for name in clusters}
        answer = self.ask({"clusters": {name: self.make_cluster(used, constants, without)
                                        for name, used in clusters.items()},
                           "optimizer_bytes": constants["optimizer_bytes"], "simulate": simulate,
                           "without": sorted(set(without) & report.OMISSIONS)})
        return [answer["simulated" if simulate else row.quantity][index] for index, row in enumerate(self.rows)]

    def price(self, clusters, calls):
        return self.ask({"clusters": clusters, "collectives": calls})["seconds"]


def calibrate(program, rows, start=START, priors=PRIORS, without=(), left_out=None):
    weights = [0.0 if row.source == left_out else row.weight for row in rows]
    return fit(start, priors, LIMITS, weights, [row.seconds for row in rows],
               lambda constants: program.predict(constants, without))


def get_errors(program, rows, constants, source, without=()):
    predicted = program.predict(constants, without)
    return [100 * (seconds / row.seconds - 1) for row, seconds in zip(rows, predicted)
            if row.source == source and row.note != "odd"]


def summarise(errors):
    return {"mean": statistics.mean(map(abs, errors)), "bias": statistics.mean(errors),
            "median": statistics.median(map(abs, errors)), "most": max(errors, key=abs), "count": len(errors)}


def get_tau(rows, predicted, sources):
    """Kendall's tau between predicted and measured tokens per device and second, times the size of a layer stack."""
    pairs = []
    for row, seconds in zip(rows, predicted):
        run = row.run
        if row.source in sources and not row.note:
            work = run["micro_batch"] * run["micro_batches"] * run["length"] * run["layers"] * run["hidden"] ** 2
            work /= run["tensor"] * run["positions"]
            pairs.append((work / seconds, work / row.seconds))
    agree = 0
    for place, (one, measured) in enumerate(pairs):
        for other, other_measured in pairs[:place]:
            product = (one - other) * (measured - other_measured)
            agree += (product > 0) - (product < 0)
    return 2 * agree / (len(pairs) * (len(pairs) - 1))


def fit_rate(program, rows, source=None):
    """What one rate of hardware operations for all rows would do: the line that a model has to beat."""
    counted = [row for row in rows if row.weight > 0 and row.quantity == "step"]
    logs = []
    for row in counted:
        run = row.run
        per_layer = 2 * run["hidden"] * (4 * run["hidden"] + 2 * run["ffn"]) + 4 * run["length"] * run["hidden"]
        passes = {"full": 4, "selective": 3, "none": 3}[run["recompute"]]
        tokens = run["micro_batch"] * run["micro_batches"] * run["length"]
        flops = tokens * (run["layers"] * per_layer * passes + 6 * run["hidden"] * run["vocabulary"])
        logs.append(math.log(row.seconds * run["tensor"] * run["positions"] / flops))
    centre = {name: statistics.mean(log for log, row in zip(logs, counted) if row.source == name)
              for name in {row.source for row in counted}}
    everywhere = statistics.mean(logs)
    result = {}
    for name in centre:
        own = [log for log, row in zip(logs, counted) if row.source == name]
        result[name] = (100 * statistics.mean(abs(math.exp(centre[name] - log) - 1) for log in own),
                        100 * statistics.mean(abs(math.exp(everywhere - log) - 1) for log in own))
    return result


def compare_collectives(program, folder):
    found = get_all_reduces(folder)
    clusters = {name: program.presets[name] for name in {entry[1] for entry in found}}
    predicted = program.price(clusters, [[cluster, "all_reduce", ranks, per_node, int(size)]
                                         for _, cluster, ranks, per_node, size, _ in found])
    tables = {}
    for (name, _, _, _, size, seconds), guess in zip(found, predicted):
        tables.setdefault(name, []).append((size, 100 * (guess / seconds - 1)))
    return tables


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--output")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows = get_rows(options.data)
    program = Program(options.program, rows)
    constants = calibrate(program, rows)
    # Rates of NICs are steps of a list to NCCL: no slope to follow.
    constants["zero_network"] = min((share / 20 for share in range(3, 21)), key=lambda share: summarise(
        get_errors(program, rows, {**constants, "zero_network": share}, "Azure"))["mean"])
    results = {"constants": constants, "in_sample": {}, "left_out": {}}
    for source in SOURCES:
        results["in_sample"][source] = summarise(get_errors(program, rows, constants, source))
    report.print_errors(results)
    if options.quick:
        predicted = program.predict(constants)
        for row, seconds in zip(rows, predicted):
            print(f"{row.source:10} {row.name:40} {row.seconds:9.4f} {seconds:9.4f} "
                  f"{100 * (seconds / row.seconds - 1):+6.1f} {row.note}")
        return
    for source in SOURCES:
        if SOURCES[source].weight == 0:
            continue
        names = {"MLSys22": ("MLSys22", "Table 4"), "Table 4": ("Table 4",)}.get(source, (source,))
        weights = [0.0 if row.source in names else row.weight for row in rows]
        others = fit(START, PRIORS, LIMITS, weights, [row.seconds for row in rows], program.predict)
        results["left_out"][source] = summarise(get_errors(program, rows, others, source))
    results["rate"] = fit_rate(program, rows)
    results["terms"] = {}
    for term in report.TERMS:
        again = calibrate(program, rows, start=constants, without=(term,))
        results["terms"][term] = {
            source: (summarise(get_errors(program, rows, constants, source, (term,))),
                     summarise(get_errors(program, rows, again, source, (term,)))) for source in report.COLUMNS}
    results["sensitivity"] = {}
    base = program.predict(constants)
    for name in START:
        moved = program.predict({**constants, name: constants[name] * 1.1})
        changes = [100 * (new / old - 1) for row, new, old in zip(rows, moved, base) if row.source in report.COLUMNS]
        results["sensitivity"][name] = statistics.mean(changes)
    results["tau"] = {sources: [get_tau(rows, program.predict(constants, stack=stack), sources)
                                for stack in (None, "parplan")]
                      for sources in [(name,) for name in report.COLUMNS] + [report.COLUMNS]}
    simulated = program.predict(constants, simulate=True)
    results["simulated"] = [(row, 100 * (new / old - 1)) for row, new, old in zip(rows, simulated, base)
                            if row.run["positions"] > 1]
    results["collectives"] = compare_collectives(program, options.data)
    results["rows"] = [(row, seconds) for row, seconds in zip(rows, base)]
    if options.output:
        pathlib.Path(options.output).write_text(report.write(results))


if __name__ == "__main__":
    main()
