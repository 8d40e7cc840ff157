"""GPT models of any size as ONNX files without weights: for planning only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from onnx_file import INT64, Model  # noqa: E402


class Builder:
    """Adds the parts of a GPT with learned positions and a head tied to the embedding."""

    def __init__(self, layers, hidden, heads, ffn, vocabulary, length):
        self.layers, self.hidden, self.heads, self.ffn = layers, hidden, heads, ffn
        self.vocabulary, self.length = vocabulary, length
        self.model = Model("gpt")

    def add_linear(self, name, value, inputs, outputs):
        weight = self.model.add_absent_weight(f"{name}.weight", [inputs, outputs])
        bias = self.model.add_absent_weight(f"{name}.bias", [outputs])
        return self.model.add_node("Add", [self.model.add_node("MatMul", [value, weight], f"{name}/MatMul"), bias], name)

    def add_norm(self, name, value):
        parameters = [self.model.add_absent_weight(f"{name}.{part}", [self.hidden]) for part in ("weight", "bias")]
        return self.model.add_node("LayerNormalization", [value, *parameters], name, axis=-1, epsilon=1e-5)

    def add_layer(self, name, value):
        model, hidden = self.model, self.hidden
        normed = self.add_norm(f"{name}/norm_before", value)
        parts = [self.add_linear(f"{name}/{part}", normed, hidden, hidden) for part in ("query", "key", "value")]
        attended = model.add_node("Attention", parts, f"{name}/attention", is_causal=1, q_num_heads=self.heads,
                                  kv_num_heads=self.heads)
        projected = self.add_linear(f"{name}/projection", attended, hidden, hidden)
        value = model.add_node("Add", [projected, value], f"{name}/attention_residual")
        normed = self.add_norm(f"{name}/norm_after", value)
        wide = model.add_node("Gelu", [self.add_linear(f"{name}/up", normed, hidden, self.ffn)], f"{name}/gelu")
        return model.add_node("Add", [self.add_linear(f"{name}/down", wide, self.ffn, hidden), value], name)

    def build(self):
        model = self.model
        tokens = model.add_input("input_ids", ["batch", self.length], INT64)
        words = model.add_absent_weight("words", [self.vocabulary, self.hidden])
        value = model.add_node("Gather", [words, tokens], "embedding/words", axis=0)
        value = model.add_node("Add", [value, model.add_absent_weight("positions", [1, self.length, self.hidden])],
                               "embedding")
        for layer in range(self.layers):
            value = self.add_layer(f"layer{layer}", value)
        value = self.add_norm("norm", value)
        turned = model.add_node("Transpose", [words], "head/words", perm=[1, 0])
        model.add_output(model.add_node("MatMul", [value, turned], "logits"), ["batch", self.length, self.vocabulary])
        return model


def write_gpt(path, **sizes):
    Builder(**sizes).build().write(path)
