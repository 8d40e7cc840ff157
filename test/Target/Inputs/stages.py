"""Prepares the weights and inputs of the pipeline of two positions, and compares what its program wrote.

usage: stages.py prepare|compare FOLDER
"""
import math
import os
import sys

import numpy as np

from program_files import draw, load, write


def tensors():
    return draw(11, [(8, 8), (8, 16), (16, 8), (6, 8)])


def prepare(folder):
    *weights, x = tensors()
    write(folder, weights, x)


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def compare(folder):
    w1, w2, w3, x = (tensor.astype(np.float64) for tensor in tensors())
    y = gelu(gelu(gelu(x @ w1) @ w1) @ w2) @ w3
    for name, expected in (("a", y + x), ("y", y)):
        result = np.load(os.path.join(folder, "out", name + ".npy"))
        print(name, "equal" if np.allclose(result, expected, atol=1e-5 * abs(expected).max()) else "differs")
    metrics, prediction = load(folder, "metrics.json"), load(folder, "prediction.json")
    if metrics["communication"] == prediction["communication"]:
        print("communication and order are as predicted")
    if metrics["peak_memory_bytes"]["per_rank"] == prediction["peak_memory_bytes"]["per_rank"]:
        print("memory is as predicted")
    for rank in prediction["communication"]["per_rank"]:
        print(" ".join(f"{kind}={count['calls']}" for kind, count in sorted(rank.items())))
    print("weights:", os.path.getsize(os.path.join(folder, "weights.bin")))


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
