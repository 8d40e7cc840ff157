"""Prepares the weights and gradients of the repeated updates, and compares what the third step found.

usage: repeated_updates.py prepare|compare FOLDER
"""
import os
import sys

import numpy as np

RATE, MOMENTUM = np.float32(0.1), np.float32(0.9)


def tensors():
    random = np.random.default_rng(3)
    shapes = [(8, 6), (400000,), (8, 6), (400000,)]
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def prepare(folder):
    hosted, stored, g0, g1 = tensors()
    with open(os.path.join(folder, "model.weights"), "wb") as file:
        file.write(hosted.tobytes())
        file.write(stored.tobytes())
    for name, value in (("g0", g0), ("g1", g1), ("rate", np.array(RATE))):
        np.save(os.path.join(folder, name + ".npy"), value)


def compare(folder):
    hosted, stored, g0, g1 = tensors()
    for name, weight, gradient in (("hosted", hosted, g0), ("stored", stored, g1)):
        velocity = np.zeros_like(weight)
        for _ in range(2):
            velocity = MOMENTUM * velocity + gradient
            weight = weight - RATE * velocity
        found = -np.load(os.path.join(folder, "out", name + "_before.npy"))
        print(name, "equal" if np.allclose(found, weight, atol=1e-5) else "differs")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
