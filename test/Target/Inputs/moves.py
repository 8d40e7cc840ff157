"""Prepares the inputs of moves.mlir, and compares what its program wrote.

usage: moves.py prepare|compare FOLDER
"""
import json
import os
import sys

import numpy as np


def prepare(folder):
    np.save(os.path.join(folder, "a.npy"), np.arange(1, 26, dtype=np.float32).reshape(5, 5))
    np.save(os.path.join(folder, "b.npy"), np.arange(1, 9, dtype=np.float32))


def load(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def compare(folder):
    for name in sorted(os.listdir(os.path.join(folder, "out"))):
        actual = np.load(os.path.join(folder, "out", name))
        expected = np.load(os.path.join(folder, "b.npy" if name == "sent.npy" else "a.npy"))
        print(f"{name[:-4]}: {'equal' if np.array_equal(actual, expected) else actual}")
    metrics, prediction = load(folder, "metrics.json"), load(folder, "prediction.json")
    if (metrics["communication"] == prediction["communication"]
            and metrics["peak_memory_bytes"]["per_rank"] == prediction["peak_memory_bytes"]["per_rank"]):
        print("communication, order and memory are as predicted")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
