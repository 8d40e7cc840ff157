"""Prepares the inputs of panels.mlir, and compares what its program wrote.

usage: panels.py prepare|compare FOLDER
"""
import json
import os
import sys

import numpy as np

SHAPES = {"x": (2, 5, 13), "w": (13, 7), "g": (2, 5, 7), "v": (13, 7)}
# Panels of 13 elements: boundaries 7 of two blocks, and 5 and 10 of three. Of 7 elements: 4; 3 and 6.
ROWS, COLUMNS = 2 * 3, 3


def prepare(folder):
    random = np.random.default_rng(5)
    for name, shape in SHAPES.items():
        np.save(os.path.join(folder, name + ".npy"), random.integers(-4, 5, shape).astype(np.float32))


def load(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def compare(folder):
    x, w, g, v = (np.load(os.path.join(folder, name + ".npy")) for name in SHAPES)
    expected = {
        "product": np.einsum("bsk,kn->bsn", x, w),
        "input_gradient": np.einsum("bsn,kn->bsk", g, w),
        "weight_gradient": np.einsum("bsk,bsn->kn", x, g),
        "stationary": np.einsum("bsk,kn->bsn", x, v),
        "turned": np.einsum("bsk,kn->nsb", x, w),
    }
    for name, value in expected.items():
        actual = np.load(os.path.join(folder, "out", name + ".npy"))
        print(f"{name}: {'equal' if np.array_equal(actual, value) else actual}")
    metrics, prediction = load(folder, "metrics.json"), load(folder, "prediction.json")
    if (metrics["communication"] == prediction["communication"]
            and metrics["peak_memory_bytes"]["per_rank"] == prediction["peak_memory_bytes"]["per_rank"]):
        print("communication, order and memory are as predicted")
    # Whatever the panels are, together they are the rows or columns of one rank: of X six rows of k, of W k by three
    # columns; the stationary form moves W (five rows of k by n) and the result.
    moved = {"broadcast": 4 * (13 * (3 * ROWS + 3 * COLUMNS) + 5 * 7), "reduce": 4 * (13 * (ROWS + COLUMNS) + ROWS * 7)}
    for kind, bytes_of_rank in moved.items():
        counted = {rank[kind]["bytes"] for rank in metrics["communication"]["per_rank"]}
        print(f"{kind}: {'as the formula' if counted == {bytes_of_rank} else (counted, bytes_of_rank)}")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
