"""Prepares the inputs of training_statements.mlir, and compares what its program wrote with NumPy.

usage: training_statements.py prepare|compare FOLDER
"""
import os
import sys

import numpy as np


def inputs():
    random = np.random.default_rng(5)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    scalar = lambda value: np.array(value, np.float32)
    return {
        "logits": normal(2, 5, 6), "labels": np.array([[0, 5, -100, 2, 2], [1, -100, 3, 4, 0]]),
        "ids": np.array([[0, 5, 1, 5, 5], [2, 2, 3, 0, 4]]), "rows": normal(2, 5, 8), "x": normal(2, 3, 8, 8),
        "gy": normal(2, 4, 8, 8), "gp": normal(2, 3, 4, 4), "lr": scalar(0.5), "step": scalar(0.01),
        "correction": scalar(0.7), "weight": normal(4, 3, 3, 3)
    }


def prepare(folder):
    values = inputs()
    with open(os.path.join(folder, "model.weights"), "wb") as file:
        file.write(values.pop("weight").tobytes())
    for name, value in values.items():
        np.save(os.path.join(folder, f"{name}.npy"), value)


def reference():
    values = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in inputs().items()}
    result = {}
    logits, labels = values["logits"], values["labels"]
    kept = labels != -100
    lse = np.log(np.exp(logits).sum(2))
    chosen = np.take_along_axis(logits, np.where(kept, labels, 0)[..., None], 2)[..., 0]
    result["loss"] = np.where(kept, lse - chosen, 0)
    onehot = (labels[..., None] == np.arange(6)).astype(float)
    result["d_logits"] = np.where(kept[..., None], np.exp(logits - lse[..., None]) - onehot, 0)
    rows, ids, x = values["rows"], values["ids"], values["x"]
    result["norm"] = (rows**2).sum() + (x**2).sum()

    result["d_table"] = np.zeros((6, 8))
    np.add.at(result["d_table"], ids, rows)
    result["d_gathered"] = np.zeros((2, 6, 8))
    np.add.at(result["d_gathered"], (slice(None), [0, 3, 5, 3, 0]), rows)
    result["d_elements"] = np.zeros((2, 6, 8))
    np.add.at(result["d_elements"], (np.arange(2)[:, None], ids), rows)
    result["d_tuples"] = result["d_elements"][:, :, :4]

    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    gy, w = values["gy"], values["weight"]
    dw = result["d_w"] = np.einsum("bcijuv,boij->ocuv", windows, gy)
    padded = np.pad(gy, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    result["d_x"] = np.einsum("boijuv,ocuv->bcij", windows, w[:, :, ::-1, ::-1])
    blocks = x.reshape(2, 3, 4, 2, 4, 2)
    spread = np.broadcast_to(values["gp"][:, :, :, None, :, None], blocks.shape)
    result["d_max"] = np.where(blocks == blocks.max((3, 5), keepdims=True), spread, 0).reshape(x.shape)
    result["d_mean"] = (spread / 4).reshape(x.shape)

    lr, step, correction = values["lr"], values["step"], values["correction"]
    g = dw * lr
    m = result["new_m"] = w * w + (g - w * w) * 0.1
    v = result["new_v"] = abs(w) * 0.99 + 0.01 * g * g
    result["new_w"] = w * (1 - lr * 0.1) - step * m / (np.sqrt(v) / correction + 1e-8)
    result["momentum_b"] = 0.9 * w * w + dw
    result["momentum_w"] = w - lr * result["momentum_b"]
    result["sgd_w"] = w - lr * (dw + 0.1 * w)
    return result


def compare(folder):
    for name, expected in sorted(reference().items()):
        actual = np.load(os.path.join(folder, "out", f"{name}.npy"))
        equal = actual.shape == expected.shape and np.allclose(actual, expected, rtol=1e-4, atol=1e-4)
        print(f"{name}: {'equal' if equal else (actual, expected)}")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
