"""MPT: ALiBi, and no biases.

Source: transformers, `models/mpt/modeling_mpt.py` (MosaicML NLP Team 2023). The settings of `attn_config` that its code
does not read must have their defaults.
"""

from __future__ import annotations

import numpy as np

from hardsim.network.blocks import standard_slopes
from hardsim.network.dense import Activation, NetworkLayer, RootScale
from hardsim.reading.huggingface import known
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, attention_heads, joint_projections

HARMLESS = "max_seq_len", "learned_pos_emb", "init_device", "verbose", "embedding_fraction", "norm_type", "init_config"


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("d_model", "hidden_size"), model.size("n_layers", "num_hidden_layers", least=0)
    shape = model.shape(width, "n_heads", "num_attention_heads", of="d_model", grouped=False)
    vocabulary, hidden = model.size("vocab_size"), 4 * width
    epsilon = settings.epsilon("layer_norm_epsilon")
    settings.neutral("expansion_ratio", 4)
    settings.neutral("no_bias", True)
    settings.neutral("logit_scale")
    if settings.value("max_seq_len") == 1:
        raise settings.at("max_seq_len").error("a length from 2 on: the library has no ALiBi with 1")
    scale = _scale(model, shape.key)
    model.settled(*HARMLESS)
    slopes, rules, layers = standard_slopes(shape.heads), ScoreRules(scale), []
    places = np.arange(3 * width).reshape(3, shape.heads, shape.key).swapaxes(0, 1)
    for layer in range(count):
        name = f"blocks.{layer}."
        joint = model.linear(f"{name}attn.Wqkv", width, 3 * width, bias=False)
        out = model.linear(f"{name}attn.out_proj", width, width, bias=False)
        heads = attention_heads(layer, shape, joint_projections(joint, places, out), rules, slopes)
        first, second = f"{name}ffn.up_proj", f"{name}ffn.down_proj"
        mlp = model.mlp(first, second, Activation.GELU, (width, hidden), bias=False)
        norm_1, norm_2 = (model.layer_norm(f"{name}norm_{n}", width, epsilon, bias=False) for n in (1, 2))
        layers.append(NetworkLayer(heads, mlp, None, norm_1, norm_2))
    embedding = model.take("wte.weight", vocabulary, width, why="vocab_size, d_model")
    return CausalBody(embedding, tuple(layers), model.layer_norm("norm_f", width, epsilon, bias=False))


def _scale(model: StoredModel, key: int) -> RootScale:
    """Return the scale of scores, and check the other settings of attention."""
    if not model.settings.has("attn_config"):
        return RootScale(root=key)
    inside = model.settings.part("attn_config")
    scale = RootScale(inside.number("softmax_scale")) if inside.has("softmax_scale") else RootScale(root=key)
    for name, value in (
        ("attn_type", "multihead_attention"), ("alibi", True), ("alibi_bias_max", 8), ("prefix_lm", False),
        ("qk_ln", False), ("attn_uses_sequence_id", False), ("clip_qkv", None),
    ):  # fmt: skip
        inside.neutral(name, value)
    inside.harmless("attn_impl", "model_type", "softmax_scale", *known.TRAINING, *known.RUNNING, *known.GENERATING)
    inside.harmless(*known.READ_LATER)
    inside.done()
    return scale


MPT = CausalFamily("mpt", "MPT", "Mpt", "transformer.", _body, "wte.weight")
