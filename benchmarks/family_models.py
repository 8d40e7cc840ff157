"""Small models with random weights of families that PyTorch users export; families.py exports and compares them."""
import math

import torch
import transformers as hf
from torch import nn

HIDDEN, HEADS, LAYERS, VOCABULARY = 32, 4, 2, 97
TEXT = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "vocab_size": VOCABULARY,
        "intermediate_size": 4 * HIDDEN, "max_position_embeddings": 64}


class Family:
    """A module, example inputs by name, and which fields of its result are outputs.

    Options: `dynamic` and `dims`, names of dimensions and their sizes; `spelled_out`, attention as single operators;
    `loss`, cross-entropy of the first output if absent, None where inputs are no samples.
    """

    def __init__(self, make, inputs, outputs=("logits",), **options):
        self.make, self.inputs, self.outputs, self.options = make, inputs, outputs, options


class Wrapped(nn.Module):
    """Tensors in, tensors out, around a model of transformers."""

    def __init__(self, model, inputs, outputs=("logits",), **keywords):
        super().__init__()
        self.model, self.inputs, self.outputs, self.keywords = model, inputs, outputs, keywords

    def forward(self, *tensors):
        result = self.model(**dict(zip(self.inputs, tensors)), **self.keywords)
        return tuple(getattr(result, output) for output in self.outputs)


def wrapped(model, inputs, outputs=("logits",), spelled_out=False, **keywords):
    """A family around a model of transformers."""
    return Family(lambda: Wrapped(model(), tuple(inputs), outputs, **keywords), inputs, outputs, spelled_out=spelled_out)


def ids(batch, length, vocabulary=VOCABULARY, dtype=torch.int64):
    return lambda: torch.randint(3, vocabulary, (batch, length)).to(dtype)


def image(batch=4, size=32):
    return lambda: torch.randn(batch, 3, size, size)


def padding_mask(batch, length):
    """The last row ends early."""
    def make():
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[-1, length - 3:] = 0
        return mask
    return make


# --- models of our own -------------------------------------------------------------------------------------------------

class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(4, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        hidden = self.conv1(nn.functional.silu(self.norm1(x)))
        hidden = hidden + self.time(nn.functional.silu(time))[:, :, None, None]
        return self.conv2(nn.functional.silu(self.norm2(hidden))) + self.skip(x)


class ImageAttention(nn.Module):
    def __init__(self, width, heads=2):
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(4, width), heads
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        batch, width, height, length = x.shape
        heads = self.qkv(self.norm(x)).reshape(batch, 3, self.heads, width // self.heads, height * length)
        query, key, value = heads.unbind(1)
        weights = torch.softmax(query.transpose(2, 3) @ key / math.sqrt(width // self.heads), -1)
        mixed = value @ weights.transpose(2, 3)
        return x + self.out(mixed.reshape(batch, width, height, length))


class UNet(nn.Module):
    """Of a diffusion model: residual blocks with group norm and a time embedding, attention, skips, upsampling."""

    def __init__(self, width=16, time=32):
        super().__init__()
        self.width, self.stem = width, nn.Conv2d(3, width, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.down1, self.shrink = ResidualBlock(width, width, time), nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.down2, self.attention = ResidualBlock(width, 2 * width, time), ImageAttention(2 * width)
        self.middle = ResidualBlock(2 * width, 2 * width, time)
        self.up2 = ResidualBlock(4 * width, 2 * width, time)
        self.grow = nn.Conv2d(2 * width, width, 3, padding=1)
        self.up1, self.head = ResidualBlock(2 * width, width, time), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x, step):
        frequencies = torch.exp(torch.arange(self.width // 2) * (-math.log(10000.0) / (self.width // 2)))
        angles = step[:, None].float() * frequencies[None]
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        first = self.down1(self.stem(x), time)
        second = self.attention(self.down2(self.shrink(first), time))
        middle = self.middle(second, time)
        wide = self.up2(torch.cat([middle, second], 1), time)
        wide = self.grow(nn.functional.interpolate(wide, scale_factor=2.0, mode="nearest"))
        return self.head(self.up1(torch.cat([wide, first], 1), time))


class GraphNetwork(nn.Module):
    """Message passing: endpoints are gathered, messages are added up at their targets."""

    def __init__(self, features=8, hidden=HIDDEN, layers=LAYERS):
        super().__init__()
        self.encode = nn.Linear(features, hidden)
        self.message = nn.ModuleList(nn.Linear(2 * hidden, hidden) for _ in range(layers))
        self.update = nn.ModuleList(nn.GRUCell(hidden, hidden) for _ in range(layers))
        self.head = nn.Linear(hidden, 3)

    def forward(self, nodes, edges):
        source, target = edges[0], edges[1]
        hidden = self.encode(nodes)
        for message, update in zip(self.message, self.update):
            sent = torch.relu(message(torch.cat([hidden[source], hidden[target]], 1)))
            index = target[:, None].expand(-1, sent.shape[1])
            hidden = update(torch.zeros_like(hidden).scatter_add(0, index, sent), hidden)
        return self.head(hidden)


class Recurrent(nn.Module):
    """Embedding, a bidirectional LSTM, a GRU, a head per position."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(2 * HIDDEN, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, 11)

    def forward(self, input_ids):
        hidden, _ = self.gru(self.lstm(self.embedding(input_ids))[0])
        return self.head(hidden)


class StateSpaceModel(nn.Module):
    """A selective state space (Mamba's recurrence, written out over time) with a causal depthwise convolution."""

    def __init__(self, width=HIDDEN, states=8):
        super().__init__()
        self.states, self.embedding = states, nn.Embedding(VOCABULARY, width)
        self.project, self.conv = nn.Linear(width, 2 * width), nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.select, self.step = nn.Linear(width, 2 * states), nn.Linear(width, width)
        self.decay = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(width, 1))
        self.direct, self.out = nn.Parameter(torch.ones(width)), nn.Linear(width, VOCABULARY)

    def forward(self, input_ids):
        length = input_ids.shape[1]
        x, gate = self.project(self.embedding(input_ids)).chunk(2, -1)
        x = nn.functional.silu(self.conv(x.transpose(1, 2))[..., :length]).transpose(1, 2)
        write, read = self.select(x).chunk(2, -1)
        step = nn.functional.softplus(self.step(x))
        kept = torch.exp(-step[..., None] * torch.exp(self.decay))
        written = (step * x)[..., None] * write[:, :, None, :]
        state, seen = torch.zeros_like(kept[:, 0]), []
        for time in range(length):
            state = kept[:, time] * state + written[:, time]
            seen.append((state * read[:, time, None, :]).sum(-1))
        x = torch.stack(seen, 1) + self.direct * x
        return self.out(x * nn.functional.silu(gate))


class ClassicBlock(nn.Module):
    """GPT-2's, as transformers had it before PyTorch had an operator for attention: the mask is cut out of a buffer."""

    def __init__(self, masks_by_product, width=HIDDEN, heads=HEADS):
        super().__init__()
        self.heads, self.masks_by_product = heads, masks_by_product
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.qkv_bias = nn.Parameter(torch.randn(width, 3 * width) * 0.1), nn.Parameter(torch.zeros(3 * width))
        self.out, self.up, self.down = nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("bias", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def split(self, x):
        return x.view(*x.size()[:-1], self.heads, x.size(-1) // self.heads)

    def forward(self, x):
        hidden = self.norm1(x)
        merged = torch.addmm(self.qkv_bias, hidden.view(-1, hidden.size(-1)), self.qkv)
        query, key, value = merged.view(*hidden.size()[:-1], self.qkv.size(1)).split(hidden.size(-1), dim=2)
        query, key, value = self.split(query), self.split(key).permute(0, 2, 3, 1), self.split(value).permute(0, 2, 1, 3)
        scores = query.permute(0, 2, 1, 3) @ key / math.sqrt(value.size(-1))
        queries, keys = scores.size(-2), scores.size(-1)
        mask = self.bias[:, :, keys - queries:keys, :keys]
        if self.masks_by_product:
            scores = scores * mask - 1e4 * (1 - mask)
        else:
            scores = torch.where(mask.bool(), scores, torch.tensor(-1e4))
        mixed = (torch.softmax(scores, -1) @ value).permute(0, 2, 1, 3).contiguous()
        x = x + self.out(mixed.view(*mixed.size()[:-2], -1))
        inner = self.up(self.norm2(x))
        inner = 0.5 * inner * (1 + torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * torch.pow(inner, 3))))
        return x + self.down(inner)


class ClassicGpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, HIDDEN), nn.Embedding(64, HIDDEN)
        self.blocks = nn.ModuleList(ClassicBlock(masks_by_product=layer % 2 == 0) for layer in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, input_ids):
        x = self.tokens(input_ids) + self.positions(torch.arange(input_ids.size(1)).unsqueeze(0))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.t()


def classic_gpt2():
    dynamic = {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "logits")}
    return Family(ClassicGpt2, {"input_ids": ids(4, 16)}, dynamic=dynamic, dims={"batch": 4, "sequence": 16})


class CachedGpt2(nn.Module):
    """One step of generation: ids, a mask over past and present, keys and values of the past; new ones come out."""

    def __init__(self):
        super().__init__()
        self.model = gpt2_model(attn_implementation="eager")

    def forward(self, input_ids, attention_mask, *past):
        cache = hf.DynamicCache(config=self.model.config)
        for layer in range(LAYERS):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        positions = attention_mask.cumsum(-1)[:, -input_ids.shape[1]:] - 1
        result = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=positions,
                            past_key_values=cache, use_cache=True)
        present = [tensor for layer in result.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (result.logits, *present)


def gpt2_model(**options):
    return hf.GPT2LMHeadModel(hf.GPT2Config(
        n_layer=LAYERS, n_embd=HIDDEN, n_head=HEADS, vocab_size=VOCABULARY, n_positions=64, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, bos_token_id=None, eos_token_id=None, **options))


def cached_gpt2():
    inputs = {"input_ids": ids(2, 3), "attention_mask": lambda: torch.ones(2, 8, dtype=torch.int64)}
    outputs = ["logits"]
    for layer in range(LAYERS):
        for kind in ("key", "value"):
            inputs[f"past_key_values.{layer}.{kind}"] = lambda: torch.randn(2, HEADS, 5, HIDDEN // HEADS)
            outputs.append(f"present.{layer}.{kind}")
    past = {0: "batch_size", 2: "past_sequence_length"}
    present = {0: "batch_size", 2: "past_sequence_length + sequence_length"}
    dynamic = {"input_ids": {0: "batch_size", 1: "sequence_length"},
               "attention_mask": {0: "batch_size", 1: "past_sequence_length + sequence_length"}}
    dynamic.update({name: past for name in inputs if name.startswith("past")})
    dynamic.update({name: present for name in outputs if name.startswith("present")})
    return Family(CachedGpt2, inputs, tuple(outputs), loss=None, dynamic=dynamic,
                  dims={"batch_size": 2, "sequence_length": 3, "past_sequence_length": 5})


# --- the table ---------------------------------------------------------------------------------------------------------

MASKED = {"input_ids": ids(4, 16), "attention_mask": padding_mask(4, 16)}
T5_SIZES = {"d_model": HIDDEN, "d_kv": 8, "d_ff": 64, "num_layers": LAYERS, "num_heads": HEADS, "vocab_size": VOCABULARY,
            "decoder_start_token_id": 0, "dropout_rate": 0}
SPEECH = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 64,
          "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 3), "num_conv_pos_embeddings": 16,
          "num_conv_pos_embedding_groups": 4, "vocab_size": 32, "num_feat_extract_layers": 3}

FAMILIES = {
    "t5": wrapped(lambda: hf.T5ForConditionalGeneration(hf.T5Config(**T5_SIZES)),
                  {"input_ids": ids(4, 16), "decoder_input_ids": ids(4, 8)}, spelled_out=True, use_cache=False),
    "bart": wrapped(lambda: hf.BartForConditionalGeneration(hf.BartConfig(
        d_model=HIDDEN, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=VOCABULARY,
        max_position_embeddings=64, dropout=0)),
        {"input_ids": ids(4, 16), "attention_mask": padding_mask(4, 16), "decoder_input_ids": ids(4, 8)}, use_cache=False),
    "whisper": wrapped(lambda: hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        d_model=HIDDEN, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=VOCABULARY, num_mel_bins=8,
        max_source_positions=32, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1, dropout=0)),
        {"input_features": lambda: torch.randn(4, 8, 64), "decoder_input_ids": ids(4, 8),
         "decoder_attention_mask": padding_mask(4, 8)}, use_cache=False),
    "clip": wrapped(lambda: hf.CLIPModel(hf.CLIPConfig(
        text_config=dict(TEXT, eos_token_id=2, bos_token_id=1, pad_token_id=0), projection_dim=24,
        vision_config=dict(hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=64,
                           image_size=32, patch_size=8))),
        {"input_ids": ids(4, 12), "pixel_values": image(), "attention_mask": padding_mask(4, 12)},
        ("logits_per_image", "text_embeds", "image_embeds")),
    "unet": Family(UNet, {"sample": image(4, 16), "timestep": lambda: torch.tensor([1, 20, 300, 999])}, ("noise",), loss="mse"),
    "efficientnet": wrapped(lambda: hf.EfficientNetForImageClassification(hf.EfficientNetConfig(
        image_size=32, width_coefficient=0.5, depth_coefficient=0.3, hidden_dim=640, num_labels=10, dropout_rate=0)),
        {"pixel_values": image(4, 64)}),
    "mobilenet": wrapped(lambda: hf.MobileNetV2ForImageClassification(hf.MobileNetV2Config(
        image_size=32, depth_multiplier=0.35, num_labels=10, classifier_dropout_prob=0)), {"pixel_values": image()}),
    "segformer": wrapped(lambda: hf.SegformerForSemanticSegmentation(hf.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 32, 32], num_attention_heads=[1, 2, 4, 4], decoder_hidden_size=32,
        num_labels=5)), {"pixel_values": image(2, 64)}),
    "convnext": wrapped(lambda: hf.ConvNextForImageClassification(hf.ConvNextConfig(
        hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 2, 1], num_labels=10, layer_scale_init_value=0.5)),
        {"pixel_values": image(4, 64)}),
    "swin": wrapped(lambda: hf.SwinForImageClassification(hf.SwinConfig(
        image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=10)),
        {"pixel_values": image()}, spelled_out=True),
    "detr": wrapped(lambda: hf.DetrForObjectDetection(hf.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                        out_features=["stage4"]),
        d_model=HIDDEN, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=64, decoder_ffn_dim=64, num_queries=7, num_labels=5, dropout=0)),
        {"pixel_values": image(2, 64)}, ("logits", "pred_boxes")),
    "electra": wrapped(lambda: hf.ElectraForPreTraining(hf.ElectraConfig(
        **TEXT, embedding_size=16, hidden_dropout_prob=0)), dict(MASKED, token_type_ids=lambda: torch.randint(0, 2, (4, 16)))),
    "deberta": wrapped(lambda: hf.DebertaV2ForMaskedLM(hf.DebertaV2Config(
        **TEXT, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm",
        share_att_key=True, hidden_dropout_prob=0, type_vocab_size=0, position_biased_input=False)), MASKED),
    "albert": wrapped(lambda: hf.AlbertForMaskedLM(hf.AlbertConfig(**TEXT, embedding_size=16)), MASKED),
    "falcon": wrapped(lambda: hf.FalconForCausalLM(hf.FalconConfig(
        hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, vocab_size=VOCABULARY, multi_query=True,
        parallel_attn=True, bias=False, alibi=False, attn_implementation="eager")), {"input_ids": ids(4, 16)}, use_cache=False),
    "bloom": wrapped(lambda: hf.BloomForCausalLM(hf.BloomConfig(
        hidden_size=HIDDEN, n_layer=LAYERS, n_head=HEADS, vocab_size=VOCABULARY)), MASKED, use_cache=False),
    "gpt-neox": wrapped(lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**TEXT)), MASKED, use_cache=False),
    "gemma": wrapped(lambda: hf.Gemma2ForCausalLM(hf.Gemma2Config(
        **TEXT, num_key_value_heads=2, head_dim=8, sliding_window=8, query_pre_attn_scalar=8)), MASKED, use_cache=False),
    "rwkv": wrapped(lambda: hf.RwkvForCausalLM(hf.RwkvConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=LAYERS, context_length=16)), {"input_ids": ids(4, 8)},
        use_cache=False),
    "mamba": wrapped(lambda: hf.MambaForCausalLM(hf.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=LAYERS, state_size=8)), {"input_ids": ids(4, 8)},
        use_cache=False),
    "state-space": Family(StateSpaceModel, {"input_ids": ids(4, 8)}),
    "wav2vec2": wrapped(lambda: hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(**SPEECH)), {"input_values": lambda: torch.randn(4, 800)}),
    "recurrent": Family(Recurrent, {"input_ids": ids(4, 8)}),
    "graph": Family(GraphNetwork, {"nodes": lambda: torch.randn(12, 8), "edges": lambda: torch.randint(0, 12, (2, 40))},
                    loss=None),
    "gpt2-cache": cached_gpt2(),
    "gpt2-classic": classic_gpt2(),
    "bert": wrapped(lambda: hf.BertForMaskedLM(hf.BertConfig(**TEXT, hidden_dropout_prob=0)), dict(
        MASKED, token_type_ids=lambda: torch.randint(0, 2, (4, 16)))),
    "gpt2": wrapped(gpt2_model, {"input_ids": ids(4, 16, dtype=torch.int32), "attention_mask": padding_mask(4, 16)},
                    use_cache=False),
}
