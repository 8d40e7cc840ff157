#!/usr/bin/env python3
"""Tells what a plan says, what its program measured, and how far its result is from an expected one."""
import argparse
import array
import ast
import json
import struct
import sys

TOLERANCE = 2e-5


def read_npy(path):
    """Shape and values of a .npy file of float32 in C order."""
    with open(path, "rb") as file:
        magic, major = file.read(6), file.read(2)[0]
        length, = struct.unpack("<H" if major == 1 else "<I", file.read(2 if major == 1 else 4))
        header = ast.literal_eval(file.read(length).decode("latin1"))
        if magic != b"\x93NUMPY" or header["descr"] != "<f4" or header["fortran_order"]:
            sys.exit(f"{path} is not a .npy file of float32 in C order")
        values = array.array("f")
        values.frombytes(file.read())
    return header["shape"], values


def relative_difference(result, expected):
    """The largest difference over the largest expected value."""
    (shape, values), (expected_shape, expected_values) = read_npy(result), read_npy(expected)
    if shape != expected_shape:
        sys.exit(f"the result has shape {shape}, expected {expected_shape}")
    if any(value != value for value in values):
        sys.exit("the result has values that are not numbers")
    largest = max(abs(value) for value in expected_values)
    return max(abs(value - other) for value, other in zip(values, expected_values)) / largest


def without_zeros(per_rank):
    """Kinds that never occur may be left out of a document or be there with zeros."""
    return [{kind: row for kind, row in rank.items() if row["calls"]} for rank in per_rank]


def transfers(per_rank):
    """'all_reduce 3 calls, 1.0 KiB' and so on, of one rank."""
    parts = [f"{kind} {row['calls']} calls, {row['bytes'] / 1024:.1f} KiB" for kind, row in sorted(per_rank.items())]
    return "; ".join(parts) or "none"


def without_steps(per_rank, steps):
    """The communication of one step of a run: all steps are equal."""
    return [{kind: {key: value // steps for key, value in row.items()} for kind, row in rank.items()} for rank in per_rank]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("plan", "metrics"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--result", help="an output, and")
    parser.add_argument("--expected", help="what it should be")
    options = parser.parse_args()
    if bool(options.result) != bool(options.expected):
        parser.error("--result and --expected go together")
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    with open(options.metrics, encoding="utf-8") as file:
        metrics = json.load(file)

    model, predicted = plan["model"], plan["predicted"]
    axes = ", ".join(f"{axis['name']}={axis['size']} ({axis['role']})" for axis in plan["mesh"]["axes"]) or "one rank"
    algorithms = {}
    for operator in plan["operators"]:
        if operator["op"] in ("MatMul", "Gemm", "Conv") and operator["role"] == "forward":
            algorithms[operator["algorithm"]] = algorithms.get(operator["algorithm"], 0) + 1
    print(f"model          {model['nodes']} nodes, {model['parameters']} parameters")
    print(f"mesh           {axes}")
    print("products       " + ", ".join(f"{count} {name}" for name, count in sorted(algorithms.items())))
    communication = {}
    for title, document in (("predicted", predicted), ("measured", metrics)):
        memory = document["peak_memory_bytes"]["per_rank"]
        steps = metrics["steps"] if title == "measured" else 1
        communication[title] = without_steps(without_zeros(document["communication"]["per_rank"]), steps)
        print(f"{title:14} peak memory {max(memory) / 1024:.1f} KiB a rank, "
              f"communication of rank 0: {transfers(communication[title][0])}")

    same = predicted["peak_memory_bytes"]["per_rank"] == metrics["peak_memory_bytes"]["per_rank"] \
        and communication["predicted"] == communication["measured"] \
        and predicted["communication"]["order_sha256"] == metrics["communication"]["order_sha256"]
    print(f"prediction     {'confirmed to the byte on every rank' if same else 'NOT confirmed'}")
    if metrics["mode"] == "train":
        losses = metrics["loss"]
        print(f"loss           {losses[0]:.3f} in the first step, {losses[-1]:.3f} in the last of {len(losses)}")
    good = same
    if options.result:
        difference = relative_difference(options.result, options.expected)
        print(f"result         differs from the expected one by {difference:.1e} of its largest value (at most {TOLERANCE:.0e})")
        good = good and difference <= TOLERANCE
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
