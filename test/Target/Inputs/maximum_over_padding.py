"""Prepares the inputs of maximum_over_padding.mlir, and compares what its program wrote with NumPy.

usage: maximum_over_padding.py prepare|compare FOLDER
"""
import os
import sys

import numpy as np


def inputs():
    rows = np.array([[-9, -7, -3], [-8, -6, -128], [-5, -100, -30], [-4, -70, -90], [-90, -128, -2]])
    types = {"words": np.int32, "bytes": np.int8, "longs": np.int64, "shorts": np.int16, "unsigned": np.uint32}
    return {name: rows.astype(dtype) for name, dtype in types.items()}


def prepare(folder):
    for name, value in inputs().items():
        np.save(os.path.join(folder, f"{name}.npy"), value)


def compare(folder):
    for name, value in inputs().items():
        actual = np.load(os.path.join(folder, "out", f"greatest_{name}.npy"))
        equal = actual.dtype == value.dtype and np.array_equal(actual, value.max(axis=0))
        print(f"{name}: {'equal' if equal else f'{actual} and not {value.max(axis=0)}'}")


if __name__ == "__main__":
    {"prepare": prepare, "compare": compare}[sys.argv[1]](sys.argv[2])
