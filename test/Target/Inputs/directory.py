"""Prepares the weights and inputs of the tensor-parallel perceptron, and compares what its program wrote.

usage: directory.py prepare|compare FOLDER
"""
import hashlib
import math
import os
import sys

import numpy as np

from program_files import draw, load, write


def tensors():
    return draw(7, [(8, 15), (15,), (15, 8), (8,), (6, 8)])


def prepare(folder):
    *weights, x = tensors()
    write(folder, weights, x)


def compare(folder):
    w1, b1, w2, b2, x = (tensor.astype(np.float64) for tensor in tensors())
    hidden = x @ w1 + b1
    hidden *= 0.5 * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
    y = np.load(os.path.join(folder, "out", "y.npy"))
    if np.allclose(y, hidden @ w2 + b2 + x, atol=1e-5):
        print("outputs are equal")
    metrics, prediction = load(folder, "metrics.json"), load(folder, "prediction.json")
    if (metrics["communication"] == prediction["communication"]
            and metrics["peak_memory_bytes"]["per_rank"] == prediction["peak_memory_bytes"]["per_rank"]):
        print("communication, order and memory are as predicted")
    for entry in load(folder, "manifest.json")["files"]:
        with open(os.path.join(folder, entry["name"]), "rb") as file:
            content = file.read()
        assert len(content) == entry["bytes"] and hashlib.sha256(content).hexdigest() == entry["sha256"], entry
    print("the manifest describes the files")
    with open(os.path.join(folder, "program.cu")) as file:
        lines = file.read().splitlines()
    for entry in load(folder, "source_map.json")["lines"]:
        if "Kernel0" in lines[entry["line"] - 1]:
            print("line", entry["line"], "does the work of", [node["name"] for node in entry["nodes"]])


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
