"""A chain of products Y = X W0 W1 ... of square matrices, and the arrays that its programs read."""
import os

import numpy

from onnx_file import Model

# Even, so that 1D ends as it begins and that in 3D the last result lies as the first operand.
PRODUCTS = 4
INPUT = "x"


def get_product_name(index):
    return f"product{index}"


def write_chain(folder, size):
    """Writes `model.onnx`, `x.npy` and, for training, a folder `data` with one batch. X is as large as a weight."""
    data = os.path.join(folder, "data")
    os.makedirs(data, exist_ok=True)
    generator = numpy.random.default_rng(size)

    def draw(scale=1.0):
        return (generator.standard_normal((size, size)) * scale).astype(numpy.float32)

    model = Model("chain")
    value = model.add_input(INPUT, [size, size])
    for index in range(PRODUCTS):
        weight = model.add_weight(f"weight{index}", draw(size ** -0.5))
        value = model.add_node("MatMul", [value, weight], get_product_name(index))
    model.add_output(value, [size, size])
    model.write(os.path.join(folder, "model.onnx"))
    for path in (os.path.join(folder, f"{INPUT}.npy"), os.path.join(data, f"{INPUT}.npy"), os.path.join(data, "labels.npy")):
        numpy.save(path, draw())
