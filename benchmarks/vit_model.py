"""Vision transformers of any depth and width, as ONNX models without weights: for planning only.

At 24 layers of width 1024 it is ViT-L/16 as PyTorch exports it: the same parameters, the same mathematics.
"""
from typing import NamedTuple

from onnx_file import Model

IMAGE, PATCH, CHANNELS, CLASSES = 224, 16, 3, 1000
HEAD_SIZE = 64
TOKENS = (IMAGE // PATCH) ** 2 + 1


class Shape(NamedTuple):
    layers: int = 24
    hidden: int = 1024

    def get_heads(self):
        return self.hidden // HEAD_SIZE


class Builder:
    """Adds the parts of a vision transformer to a model."""

    def __init__(self, shape):
        self.shape = shape
        self.model = Model("vit")

    def add_linear(self, name, value, inputs, outputs):
        weight = self.model.add_absent_weight(f"{name}.weight", [inputs, outputs])
        bias = self.model.add_absent_weight(f"{name}.bias", [outputs])
        return self.model.add_node("Add", [self.model.add_node("MatMul", [value, weight], f"{name}/MatMul"), bias], name)

    def add_norm(self, name, value):
        parameters = [self.model.add_absent_weight(f"{name}.{part}", [self.shape.hidden]) for part in ("weight", "bias")]
        return self.model.add_node("LayerNormalization", [value, *parameters], name, axis=-1, epsilon=1e-12)

    def add_heads(self, name, value):
        """[batch, tokens, hidden] -> [batch, heads, tokens, HEAD_SIZE]"""
        shape = self.model.add_integers(f"{name}/shape", [0, 0, self.shape.get_heads(), HEAD_SIZE])
        split = self.model.add_node("Reshape", [value, shape], f"{name}/split")
        return self.model.add_node("Transpose", [split], f"{name}/heads", perm=[0, 2, 1, 3])

    def add_embedding(self):
        model, hidden = self.model, self.shape.hidden
        pixels = model.add_input("pixel_values", ["batch", CHANNELS, IMAGE, IMAGE])
        projection = [model.add_absent_weight("embedding.projection.weight", [hidden, CHANNELS, PATCH, PATCH]),
                      model.add_absent_weight("embedding.projection.bias", [hidden])]
        patches = model.add_node("Conv", [pixels, *projection], "embedding/patches", kernel_shape=[PATCH, PATCH],
                                 strides=[PATCH, PATCH])
        flat = model.add_node("Reshape", [patches, model.add_integers("embedding/flat_shape", [0, hidden, TOKENS - 1])],
                              "embedding/flat")
        tokens = model.add_node("Transpose", [flat], "embedding/tokens", perm=[0, 2, 1])
        batch = model.add_node("Shape", [pixels], "embedding/batch", start=0, end=1)
        class_shape = model.add_node("Concat", [batch, model.add_integers("embedding/class_dims", [1, hidden])],
                                     "embedding/class_shape", axis=0)
        class_token = model.add_absent_weight("embedding.class_token", [1, 1, hidden])
        class_tokens = model.add_node("Expand", [class_token, class_shape], "embedding/class")
        sequence = model.add_node("Concat", [class_tokens, tokens], "embedding/sequence", axis=1)
        return model.add_node("Add", [sequence, model.add_absent_weight("embedding.positions", [1, TOKENS, hidden])],
                              "embedding")

    def add_layer(self, name, value):
        model, hidden = self.model, self.shape.hidden
        normed = self.add_norm(f"{name}/norm_before", value)
        heads = [self.add_heads(f"{name}/{part}", self.add_linear(f"{name}/{part}_projection", normed, hidden, hidden))
                 for part in ("query", "key", "value")]
        attended = model.add_node("Attention", heads, f"{name}/attention")
        rows = model.add_node("Transpose", [attended], f"{name}/rows", perm=[0, 2, 1, 3])
        merged = model.add_node("Reshape", [rows, model.add_integers(f"{name}/merged_shape", [0, 0, hidden])],
                                f"{name}/merged")
        projected = self.add_linear(f"{name}/output_projection", merged, hidden, hidden)
        value = model.add_node("Add", [projected, value], f"{name}/attention_residual")
        normed = self.add_norm(f"{name}/norm_after", value)
        wide = model.add_node("Gelu", [self.add_linear(f"{name}/mlp_up", normed, hidden, 4 * hidden)], f"{name}/gelu")
        return model.add_node("Add", [self.add_linear(f"{name}/mlp_down", wide, 4 * hidden, hidden), value], name)

    def build(self):
        value = self.add_embedding()
        for layer in range(self.shape.layers):
            value = self.add_layer(f"layer{layer}", value)
        normed = self.add_norm("norm", value)
        first = self.model.add_node("Gather", [normed, self.model.add_integers("class_index", [0])], "class_rows", axis=1)
        row = self.model.add_node("Reshape", [first, self.model.add_integers("class_row_shape", [0, self.shape.hidden])],
                                  "class_row")
        logits = self.add_linear("classifier", row, self.shape.hidden, CLASSES)
        self.model.add_output(logits, ["batch", CLASSES])
        return self.model


def write_vit(path, shape):
    """Returns the number of parameters."""
    model = Builder(shape).build()
    model.write(path)
    return model.parameters
