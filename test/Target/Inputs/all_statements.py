"""Prepares the inputs of all_statements.mlir, and compares what its program wrote with NumPy.

usage: all_statements.py prepare|compare FOLDER
"""
import os
import sys

import numpy as np


def inputs():
    random = np.random.default_rng(3)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    return {
        "x": normal(2, 3, 8, 8), "ids": random.integers(0, 5, (2, 5)), "q": normal(1, 5, 2, 4),
        "mask": np.tril(np.ones((5, 5), bool)), "block": normal(8), "weight": normal(4, 3, 3, 3)
    }


def prepare(folder):
    values = inputs()
    with open(os.path.join(folder, "model.weights"), "wb") as file:
        file.write(values.pop("weight").tobytes())
    for name, value in values.items():
        np.save(os.path.join(folder, f"{name}.npy"), value)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def reference():
    values = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in inputs().items()}
    padded = np.pad(values["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    conv = np.einsum("bcijuv,ocuv->boij", windows, values["weight"]) + np.arange(1, 5).reshape(1, 4, 1, 1)
    pooled = conv.reshape(2, 4, 4, 2, 4, 2).max((3, 5))

    q = values["q"]
    scores = np.where(values["mask"], np.einsum("bshe,bthe->bhst", q, q) * 0.5, -np.inf)
    context = np.einsum("bhst,bthe->bshe", softmax(scores, -1), q)

    rows = np.log(softmax(softmax(pooled.reshape(16, 8), 1), 0))
    scale = np.arange(1, 9)
    rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5) * scale + scale
    rows = rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-6) * scale
    rows = rows[values["ids"]]
    running = np.einsum("bie,bje->bij", rows, rows).sum(2).cumsum(1)
    elements = np.take_along_axis(running, values["ids"], 1)
    best = np.argsort(-elements, axis=1, kind="stable")[:, :3]
    numbers = np.take_along_axis(elements, np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]), 1)
    return {
        "pooled": pooled.mean((2, 3), keepdims=True), "context": context, "rows": rows, "chosen": rows[:, [0, 3]],
        "numbers": numbers, "best": best, "joined": -values["block"]
    }


def compare(folder):
    for name, expected in sorted(reference().items()):
        actual = np.load(os.path.join(folder, "out", f"{name}.npy"))
        equal = actual.shape == expected.shape and np.allclose(actual, expected, rtol=1e-4, atol=1e-4)
        print(f"{name}: {'equal' if equal else (actual, expected)}")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
