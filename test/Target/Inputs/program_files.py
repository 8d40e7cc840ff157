"""What scripts that prepare and compare the folder of a program share."""
import json
import os

import numpy as np


def draw(seed, shapes):
    """Random tensors of these shapes."""
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def write(folder, weights, x):
    """The weights of the model, one behind the other, and the input."""
    with open(os.path.join(folder, "model.weights"), "wb") as file:
        for weight in weights:
            file.write(weight.tobytes())
    np.save(os.path.join(folder, "x.npy"), x)


def load(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)
