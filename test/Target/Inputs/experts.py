"""Prepares the inputs of experts.mlir, and compares what its program wrote.

usage: experts.py prepare|compare FOLDER
"""
import json
import os
import sys

import numpy as np

RANKS, EXPERTS, TOKENS = 3, 7, 10
NAMES = ("x", "i", "s", "w", "g")


def prepare(folder):
    random = np.random.default_rng(5)
    number = lambda *shape: random.integers(-4, 5, shape).astype(np.float32)
    choices = np.stack([random.permutation(EXPERTS)[:2] for _ in range(TOKENS)])
    values = number(TOKENS, 8), choices, number(TOKENS, 2), number(EXPERTS, 8, 6), number(TOKENS, 6)
    for name, value in zip(NAMES, values):
        np.save(os.path.join(folder, name + ".npy"), value)


def load(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def compare(folder):
    x, i, s, w, g = (np.load(os.path.join(folder, name + ".npy")) for name in NAMES)
    answers = np.einsum("td,tjdn->tjn", x, w[i])
    expected = {
        "y": np.einsum("tjn,tj->tn", answers, s),
        "dx": np.einsum("tn,tj,tjdn->td", g, s, w[i]),
        "dw": np.zeros_like(w),
        "ds": np.einsum("tjn,tn->tj", answers, g),
        "z": x * s.sum(1, keepdims=True),
        "dz": s * (x * x).sum(1, keepdims=True),
    }
    np.add.at(expected["dw"], i, np.einsum("td,tn,tj->tjdn", x, g, s))
    for name, value in expected.items():
        actual = np.load(os.path.join(folder, "out", name + ".npy"))
        print(f"{name}: {'equal' if np.array_equal(actual, value) else actual}")
    metrics, prediction = load(folder, "metrics.json"), load(folder, "prediction.json")
    if (metrics["communication"] == prediction["communication"]
            and metrics["peak_memory_bytes"]["per_rank"] == prediction["peak_memory_bytes"]["per_rank"]):
        print("communication, order and memory are as predicted")
    # Of every pair of ranks: a row for each token of the one and each expert of the other.
    capacity = -(-TOKENS // RANKS) * -(-EXPERTS // RANKS)
    moved = 4 * RANKS * capacity * (8 + 6 + 6 + 8)
    counted = {rank["all_to_all"]["bytes"] for rank in metrics["communication"]["per_rank"]}
    print(f"all_to_all: {'as the formula' if counted == {moved} else (counted, moved)}")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
