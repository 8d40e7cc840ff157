"""Prepares the inputs of integers.mlir, and compares what its program wrote with NumPy.

usage: integers.py prepare|compare FOLDER
"""
import os
import sys

import numpy as np


def inputs():
    random = np.random.default_rng(3)
    return {
        "x": random.uniform(-1.9, 1.9, (3, 7)).astype(np.float32), "y": random.uniform(-1.4, 1.4, (3, 7)),
        "a": np.array([2**64 - 1, 2**63, 7, 2**63 + 2**40, 0], np.uint64), "b": np.array([3, 2**64 - 1, 2, 2**40, 5], np.uint64),
        "c": np.array([2**32 - 1, 2**31, 1, 1078530011, 77], np.uint32), "d": np.array([65535, 32768, 1, 0, 513], np.uint16),
        "i": np.array([-2**31, -1, 0, 5, 2**31 - 1], np.int32)
    }


def prepare(folder):
    for name, value in inputs().items():
        np.save(os.path.join(folder, f"{name}.npy"), value)


def reference():
    values = inputs()
    x, y, a, b, c = (values[name] for name in "xyabc")
    x = x.astype(np.float64)
    numbers = a.astype(np.float32)
    return {
        "single": np.arcsin(x / 2) * np.arccos(x / 2) + np.arctan(x) + np.arctanh(x / 2),
        "double": np.tan(y) * np.sinh(y) + np.arcsinh(y) * np.arccosh(np.cosh(y)),
        "quotients": np.maximum(a // b, a % b), "wrapped": b - np.uint64(2**64 - 1), "less": a < b, "greatest": a.max(),
        "bits": (~c & c**np.uint32(3)) ^ c, "numbers": numbers,
        # What is too large becomes the greatest number.
        "whole": np.array([min(int(number), 2**64 - 1) for number in numbers], np.uint64),
        "read": values["d"][[4, 1]], "flipped": ~values["i"] | values["i"], "floats": c.view(np.float32)
    }


def compare(folder):
    for name, expected in sorted(reference().items()):
        actual = np.load(os.path.join(folder, "out", f"{name}.npy"))
        if actual.dtype.kind == "f":
            equal = np.allclose(actual, expected, rtol=1e-6, atol=1e-7, equal_nan=True)
        else:
            equal = actual.dtype == expected.dtype and np.array_equal(actual, expected)
        print(f"{name}: {'equal' if equal else f'{actual} and not {expected}'}")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
