"""Prepares the weights and inputs of the program with values in every tier, and compares what it wrote.

usage: tiers.py prepare|compare FOLDER
"""
import json
import os
import sys

import numpy as np


def tensors():
    random = np.random.default_rng(13)
    shapes = [(600, 600), (600, 8), (6, 600)]
    return [(random.standard_normal(shape) / 25).astype(np.float32) for shape in shapes] + [np.float32(0.5)]


def prepare(folder):
    stored, hosted, x, scale = tensors()
    with open(os.path.join(folder, "model.weights"), "wb") as file:
        file.write(stored.tobytes())
        file.write(hosted.tobytes())
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "scale.npy"), np.array(scale))


def load(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def compare(folder):
    stored, hosted, x, scale = (tensor.astype(np.float64) for tensor in tensors())
    y = x @ stored @ hosted
    for name, expected in (("e", np.tanh(y * scale)), ("t", softmax(y * scale)), ("z", softmax(y))):
        result = np.load(os.path.join(folder, "out", name + ".npy"))
        print(name, "equal" if np.allclose(result, expected, atol=1e-5) else "differs")
    metrics, prediction = load(folder, "metrics.json"), load(folder, "prediction.json")
    if metrics["offload"]["per_rank"] == prediction["offload"]["per_rank"]:
        print("bytes between tiers are as predicted:", *prediction["offload"]["per_rank"][1].values())
    for key in ("peak_memory_bytes", "host_peak_memory_bytes", "nvme_peak_bytes"):
        if metrics[key]["per_rank"] == prediction[key]["per_rank"]:
            print(key, "is as predicted")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
