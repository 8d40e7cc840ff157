#!/usr/bin/env python3
"""Runs the block solver on instances of the ASPLOS/EuroSys 2025 contest and compares with the best known costs.
   benchmarks/contest.py --data FOLDER [--solver build/release/bin/parplan-iopddl] [--seconds 60] [--only A,B]

FOLDER has asplos-2025-iopddl-*.json.gz and best_known.json ({"A": {"best_known": .., "lower_bound": ..}, ..}).
Prints a table, recomputes every cost from the JSON, and ends with 1 if an answer is wrong: above the limit, not of the
cost it claims, or with a bound above a known cost.
"""
import argparse
import collections
import gzip
import json
import os
import subprocess
import sys
import time

FORBIDDEN = 10**18


def get_cost(problem, strategies):
    """The contest's rules, apart from all code of parplan. None if the strategies are not allowed."""
    nodes, edges = problem["nodes"], problem["edges"]
    costs = [row[choice] for row, choice in zip(nodes["costs"], strategies, strict=True)]
    for (first, second), row in zip(edges["nodes"], edges["costs"]):
        costs.append(row[strategies[first] * len(nodes["costs"][second]) + strategies[second]])
    changes = collections.Counter()
    for (begin, end), row, choice in zip(nodes["intervals"], nodes["usages"], strategies):
        if begin < end:
            changes[begin] += row[choice]
            changes[end] -= row[choice]
    usage = 0
    for when in sorted(changes):
        usage += changes[when]
        if usage > problem["usage_limit"]:
            return None
    return None if max(costs) >= FORBIDDEN else sum(costs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--solver", default="build/release/bin/parplan-iopddl")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    with open(os.path.join(arguments.data, "best_known.json"), encoding="utf-8") as file:
        known = json.load(file)
    names = arguments.only.split(",") if arguments.only else sorted(known)
    near = below = bounds = wrong = 0
    print("| instance | cost | against best known | lower bound | against published | gap | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        path = os.path.join(arguments.data, f"asplos-2025-iopddl-{name}.json.gz")
        start = time.monotonic()
        run = subprocess.run([arguments.solver, path, str(arguments.seconds)], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
        if run.returncode != 0:
            print(f"| {name} | {run.stderr.strip()} |")
            wrong += 1
            continue
        answer = json.loads(run.stdout.splitlines()[-1])
        with gzip.open(path) as file:
            problem = json.load(file)["problem"]
        cost, bound = answer["cost"], answer["lower_bound"]
        best, published = known[name]["best_known"], known[name]["lower_bound"]
        # Known figures have six digits.
        is_wrong = get_cost(problem, answer["strategies"]) != cost or bound > min(cost, best * (1 + 1e-5))
        wrong += is_wrong
        near += cost <= best * 1.001
        below += cost < best * (1 - 1e-5)
        bounds += bound > published * (1 + 1e-5)
        print(f"| {name} | {cost} | {cost / best - 1:+.4%} | {bound} | {bound / published - 1:+.3%} | "
              f"{(cost - bound) / cost:.4%} | {seconds:.1f} |{' WRONG' if is_wrong else ''}", flush=True)
    print(f"\n{near} of {len(names)} at most 0.1 % above the best known cost, {below} below it; "
          f"{bounds} bounds above the published ones; {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
