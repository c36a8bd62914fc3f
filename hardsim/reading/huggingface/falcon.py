"""Falcon: rotary positions or ALiBi, one key and value for all heads or groups of them, and parallel steps.

Source: transformers, `models/falcon/modeling_falcon.py` (Almazrouei et al. 2023, arXiv 2311.16867). Its ALiBi biases
are divided by sqrt(d / heads) too. The library rounds the slopes to bfloat16; here they are exact.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from hardsim.network.blocks import DistanceBias, standard_slopes
from hardsim.network.dense import NetworkLayer, Norm, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    AttentionShape,
    Projections,
    ScoreRules,
    StoredModel,
    attention_heads,
    by_head,
    joint_projections,
)


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("hidden_size", "n_embed"), model.size("num_hidden_layers", "n_layer", least=0)
    shape = model.shape(width, "num_attention_heads", "n_head", grouped=False)
    vocabulary = model.size("vocab_size")
    hidden = settings.integer("ffn_hidden_size", 4 * width)
    activation = settings.choice("activation", ACTIVATIONS, "gelu")
    epsilon = settings.epsilon("layer_norm_epsilon")
    biased = settings.truth("bias", False)
    shape, new = _groups(model, shape)
    parallel, two = _norms(model, new)
    slopes = _slopes(model, shape)
    rotary = None if slopes else model.whole_rotary(shape.key)
    settings.neutral("apply_residual_connection_post_layernorm", False)
    model.settled("max_position_embeddings", "rope_theta", "rope_scaling", "rope_parameters")

    def norm(name: str) -> Norm:
        return model.layer_norm(name, width, epsilon)

    rules, layers = ScoreRules(RootScale(root=shape.key), rotary), []
    for layer in range(count):
        name = f"h.{layer}."
        maps = _projections(model, f"{name}self_attention.", width, shape, biased)
        heads = attention_heads(layer, shape, maps, rules, slopes)
        mlp = model.mlp(f"{name}mlp.dense_h_to_4h", f"{name}mlp.dense_4h_to_h", activation, (width, hidden), biased)
        norm_1 = norm(f"{name}ln_attn" if two else f"{name}input_layernorm")
        norm_2 = norm(f"{name}ln_mlp") if two else norm_1 if parallel else norm(f"{name}post_attention_layernorm")
        layers.append(NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2, parallel=parallel))
    embedding = model.take("word_embeddings.weight", vocabulary, width, why="vocab_size, hidden_size")
    return CausalBody(embedding, tuple(layers), norm("ln_f"))


def _groups(model: StoredModel, shape: AttentionShape) -> tuple[AttentionShape, bool]:
    """Return the heads with the number of keys that they share, and True for the new architecture."""
    settings = model.settings
    new, one = settings.truth("new_decoder_architecture", False), settings.truth("multi_query", True)
    groups = model.size("num_kv_heads", "n_head_kv", default=shape.heads)
    # The old architecture has one key, or as many as heads, whatever `num_kv_heads` says.
    groups = groups if new else 1 if one else shape.heads
    if shape.heads % groups:
        raise settings.at("num_kv_heads").error(f"a divisor of num_attention_heads, {shape.heads}")
    return replace(shape, groups=groups), new


def _norms(model: StoredModel, new: bool) -> tuple[bool, bool]:
    """Return True if the steps are parallel, and True if they then have a norm each."""
    settings = model.settings
    parallel = settings.truth("parallel_attn", True)
    norms = settings.integer("num_ln_in_parallel_attn", 2 if new else 1)
    if new and not parallel:
        raise settings.at("parallel_attn").error("true, because new_decoder_architecture is true")
    if norms > 2 or (norms == 2 and not new):
        raise settings.at("num_ln_in_parallel_attn").error("1, or 2 with new_decoder_architecture")
    return parallel, norms == 2


def _slopes(model: StoredModel, shape: AttentionShape) -> tuple[DistanceBias, ...]:
    """Return the biases of ALiBi, divided by the square root of the width of a head; empty without ALiBi."""
    settings = model.settings
    if not settings.truth("alibi", False):
        return ()
    if shape.key & (shape.key - 1):
        hint = "With ALiBi, only heads whose width is a power of 2 are supported."
        raise settings.at("alibi").error(f"false, for heads of width {shape.key}", hint)
    half = Fraction(shape.key.bit_length() - 1, 2)
    found = standard_slopes(shape.heads)
    if any(bias.exponent.denominator > 1 for bias in found):
        settings.remarks.append("the ALiBi slopes of this number of heads are exact here, and rounded in the library")
    return tuple(DistanceBias(bias.exponent + half) for bias in found)


def _projections(model: StoredModel, name: str, width: int, shape: AttentionShape, biased: bool) -> Projections:
    """Return the maps of attention. The joint matrix has, for each group, the queries, then the key and the value."""
    joint = model.linear(f"{name}query_key_value", width, (shape.heads + 2 * shape.groups) * shape.key, biased)
    out = model.linear(f"{name}dense", width, width, biased)
    if shape.groups == shape.heads:
        return joint_projections(joint, by_head(shape), out)
    each = shape.heads // shape.groups
    places = np.arange(shape.groups * (each + 2) * shape.key).reshape(shape.groups, each + 2, shape.key)
    return Projections(
        joint.columns(places[:, :each]), joint.columns(places[:, each]), joint.columns(places[:, each + 1]), out
    )


FALCON = CausalFamily("falcon", "Falcon", "Falcon", "transformer.", _body, "word_embeddings.weight")
