#!/usr/bin/env python3
"""Plans training steps within falling limits of memory: with more of it, no plan may be slower.

A search that is not exhaustive may miss at one limit what it finds at a tighter one. From 1.15 times what the best plan
takes without a limit, limits fall until nothing fits. Products are slow on the cluster, and nothing else costs time: so
what is made again, or cut smaller, shows. Prints a row per plan, then how many are slower by more than --tolerance than
one with less memory, and ends with 1 where any is.
"""
import argparse
import json
import os
import re
import sys
import tempfile

from programs import Failure, execute, read_json, write_json

PRODUCTS_PER_SECOND = 3e10
CALL_SECONDS = 1e-9


def write_slow_cluster(parplan, preset, path):
    """The preset with slow products and calls that take no time."""
    text = execute([parplan, "clusters", preset])
    text = re.sub(r'("(?:fp32|tf32|bf16)": )[0-9.e+]+', rf"\g<1>{PRODUCTS_PER_SECOND}", text)
    text = re.sub(r'("(?:kernel_gap_s|latency_s)": )[0-9.e+-]+', rf"\g<1>{CALL_SECONDS}", text)
    write_json(path, json.loads(text))


def find_plan(options, model, devices, cluster, limit, folder):
    """Seconds of a step, gap, peak memory, and whether something rests off the devices; None where nothing fits."""
    command = [options.parplan, "plan", model, "--gpus", str(devices), "--cluster", cluster, "--train",
               "--time-budget", str(options.time_budget), "-o", folder]
    if limit:
        command += ["--memory-limit", str(limit)]
    try:
        execute(command)
    except Failure as failure:
        if "ended with 69:" in str(failure):
            return None
        raise
    plan = read_json(os.path.join(folder, "plan.json"))
    text = json.dumps(plan)
    return {"seconds": plan["certificate"]["upper_bound_s"], "gap": plan["certificate"]["gap"],
            "peak": plan["predicted"]["peak_memory_bytes"]["max"],
            "off": '"tier": "cpu"' in text or '"tier": "nvme"' in text}


def sweep(options, model, devices, cluster, folder):
    """Plans by limits that fall, and how many are slower than one below them."""
    free = find_plan(options, model, devices, cluster, None, folder)
    limit = int(free["peak"] * 1.15)
    plans = []
    for _ in range(options.steps):
        plan = find_plan(options, model, devices, cluster, limit, folder)
        if not plan:
            break
        plans.append((limit, plan))
        limit = int(limit * options.factor)
    least, slower = float("inf"), 0
    for limit, plan in reversed(plans):
        is_slower = plan["seconds"] > least * (1 + options.tolerance)
        slower += is_slower
        least = min(least, plan["seconds"])
        print(f"{limit:>14} {plan['seconds'] * 1e3:10.2f} ms, gap {plan['gap']:6.1%}, peak {plan['peak']:>12}"
              f"{', off the devices' if plan['off'] else ''}{', SLOWER than with less' if is_slower else ''}", flush=True)
    return len(plans), slower


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="ONNX files")
    parser.add_argument("--parplan", required=True)
    parser.add_argument("--cluster", default="dgx-h100", help="a preset")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 4, 6])
    parser.add_argument("--steps", type=int, default=12, help="limits per model and number of devices")
    parser.add_argument("--factor", type=float, default=0.87, help="of one limit to the one before")
    parser.add_argument("--time-budget", type=float, default=10, help="seconds of a search")
    parser.add_argument("--tolerance", type=float, default=0.005, help="what searches leave out")
    options = parser.parse_args()
    count = slower = 0
    with tempfile.TemporaryDirectory() as folder:
        cluster = os.path.join(folder, "cluster.json")
        write_slow_cluster(options.parplan, options.cluster, cluster)
        for model in options.models:
            for devices in options.devices:
                print(f"{model} on {devices}")
                plans, more = sweep(options, model, devices, cluster, os.path.join(folder, "plan"))
                count, slower = count + plans, slower + more
    print(f"{slower} of {count} plans are slower than one with less memory")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
