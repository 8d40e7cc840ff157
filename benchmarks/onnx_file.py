"""Writes small ONNX models without the onnx package: just the messages of onnx.proto that the benchmarks need.

A model is built node by node. Weights are either arrays, which go into the file, or absent: then the file only says where
they would lie in `weights.bin`, which is enough for planning.
"""
import struct

OPSET = 23
FLOAT, INT64 = 1, 7
ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_INTS = 1, 2, 7
EXTERNAL = 1


def encode_varint(value):
    value &= (1 << 64) - 1  # negative numbers have ten bytes
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_field(number, value):
    """One field of a message: int, float, str, bytes (also an encoded message), or a list of these."""
    if isinstance(value, (list, tuple)):
        return b"".join(encode_field(number, item) for item in value)
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value)
    if isinstance(value, float):
        return encode_varint(number << 3 | 5) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return encode_varint(number << 3 | 2) + encode_varint(len(content)) + content


def encode_message(fields):
    return b"".join(encode_field(number, value) for number, value in fields.items())


def encode_attribute(name, value):
    if isinstance(value, float):
        return encode_message({1: name, 2: value, 20: ATTRIBUTE_FLOAT})
    if isinstance(value, int):
        return encode_message({1: name, 3: value, 20: ATTRIBUTE_INT})
    return encode_message({1: name, 8: value, 20: ATTRIBUTE_INTS})


def encode_value(name, shape, element=FLOAT):
    """The type of an input or output, with symbolic dimensions where the shape has names."""
    dims = [encode_message({2: size} if isinstance(size, str) else {1: size}) for size in shape]
    tensor = encode_message({1: element, 2: encode_message({1: dims})})
    return encode_message({1: name, 2: encode_message({1: tensor})})


class Model:
    """A graph under construction. Methods that add something return its name."""

    def __init__(self, name):
        self.name = name
        self.nodes, self.inputs, self.outputs, self.initializers = [], [], [], []
        self.parameters = 0
        self.offset = 0

    def add_input(self, name, shape, element=FLOAT):
        self.inputs.append(encode_value(name, shape, element))
        return name

    def add_output(self, name, shape):
        self.outputs.append(encode_value(name, shape))
        return name

    def add_weight(self, name, array):
        """Weights that lie in the file: an array of float32."""
        self.parameters += array.size
        self.initializers.append(encode_message(
            {1: list(array.shape), 2: FLOAT, 8: name, 9: array.astype("<f4").tobytes()}))
        return name

    def add_absent_weight(self, name, shape):
        """Weights of float32 that no file holds."""
        elements = 1
        for size in shape:
            elements *= size
        place = [encode_message({1: key, 2: value}) for key, value in
                 (("location", "weights.bin"), ("offset", str(self.offset)), ("length", str(4 * elements)))]
        self.initializers.append(encode_message({1: list(shape), 2: FLOAT, 8: name, 13: place, 14: EXTERNAL}))
        self.parameters += elements
        self.offset += 4 * elements
        return name

    def add_integers(self, name, values):
        """A constant: the list of integers that operators such as Reshape take."""
        self.initializers.append(encode_message(
            {1: [len(values)], 2: INT64, 8: name, 9: struct.pack(f"<{len(values)}q", *values)}))
        return name

    def add_node(self, operator, inputs, name, **attributes):
        """A node with one output, which has its name."""
        encoded = [encode_attribute(key, value) for key, value in attributes.items()]
        self.nodes.append(encode_message({1: list(inputs), 2: name, 3: name, 4: operator, 5: encoded}))
        return name

    def write(self, path):
        graph = encode_message({1: self.nodes, 2: self.name, 5: self.initializers, 11: self.inputs, 12: self.outputs})
        with open(path, "wb") as file:
            file.write(encode_message({1: 11, 2: "parplan benchmarks", 7: graph, 8: encode_message({2: OPSET})}))
