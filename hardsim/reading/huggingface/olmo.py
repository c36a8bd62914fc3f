"""OLMo, whose norms have no parameters, and OLMo 2, with norms of what each step adds, and of all queries together.
OLMo 3 also has windows in three of four layers, which have rotary positions of their own.

Sources: transformers, `models/olmo/modeling_olmo.py`, `models/olmo2/modeling_olmo2.py` and
`models/olmo3/modeling_olmo3.py` (Groeneveld et al. 2024, arXiv 2402.00838, and OLMo Team 2025, arXiv 2501.00656 and
2512.13961).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from hardsim.network.blocks import Rotary
from hardsim.network.dense import Dense, NetworkHead, Norm, RootScale
from hardsim.reading.attention import Projection
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import (
    DecoderPlan,
    DecoderSizes,
    NormNames,
    gated,
    read_decoder,
    read_sizes,
    rms,
)
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    EPSILON_LAYER,
    AttentionShape,
    Projections,
    ScoreRules,
    StoredModel,
    optional_size,
)
from hardsim.reading.huggingface.rotary import FULL, SLIDING, RotaryNames, read_rotary

THETA_OLMO3 = 500_000
"""The base that OLMo 3 has for layers with a window."""


def _body(model: StoredModel, number: int) -> CausalBody:
    settings, sizes, second = model.settings, read_sizes(model), number > 1
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps") if second else EPSILON_LAYER
    if number == 3:
        rules = _windowed(model, sizes)
    else:
        rules = [_rules(sizes, model.whole_rotary(sizes.shape.key))] * sizes.layers
    biased = settings.truth("attention_bias", False)
    settings.neutral("clip_qkv", None)
    model.settled("max_position_embeddings")
    made = gated(model, sizes, activation)
    plan = DecoderPlan(rules.__getitem__, lambda name: Norm("layer", epsilon), made, bias=biased, out_bias=biased)
    if second:
        names = NormNames(None, None, "post_attention_layernorm", "post_feedforward_layernorm")
        plan = replace(plan, norm=rms(model, sizes, epsilon), names=names)
        plan = replace(plan, refined=partial(_joined, model, sizes, epsilon))
    return read_decoder(model, sizes, plan)


def _rules(sizes: DecoderSizes, rotary: Rotary | None, window: int | None = None) -> ScoreRules:
    return ScoreRules(RootScale(root=sizes.shape.key), rotary, window)


def _windowed(model: StoredModel, sizes: DecoderSizes) -> list[ScoreRules]:
    """Return the rules of the layers of OLMo 3. A scaling in `rope_scaling` is about layers without a window."""
    settings, key = model.settings, sizes.shape.key
    window = optional_size(settings, "sliding_window", 4096)
    windows = model.windows(sizes.layers, [(layer + 1) % 4 != 0 for layer in range(sizes.layers)], window)
    whole, local = RotaryNames(None, whole=True), RotaryNames(None, whole=True, scaled=False, shared=False)
    full, near = (read_rotary(settings, key, names, kind) for names, kind in ((whole, FULL), (local, SLIDING)))
    # Without `rope_parameters`, transformers 5 takes its default for layers with a window, and 4 takes `rope_theta`.
    if near is not None and near.base != THETA_OLMO3 and not settings.has("rope_parameters") and any(windows):
        message = f"{THETA_OLMO3}: versions of transformers differ in the base of layers with a window"
        raise settings.at("rope_theta").error(message, "State the base of both kinds of layers in rope_parameters.")
    return [_rules(sizes, full if one is None else near, one) for one in windows]


def _joined(
    model: StoredModel,
    sizes: DecoderSizes,
    epsilon: Fraction,
    name: str,
    heads: tuple[NetworkHead, ...],
    maps: Projections,
) -> tuple[NetworkHead, ...]:
    """Return heads whose queries and keys are normed over the coordinates of all heads.

    Each head has the coordinates of all, its own first, and the norm multiplies those of the others by 0. Fewer keys
    get coordinates that are 0: then their mean square, and with it epsilon, is less by the factor groups / heads, and
    the scale makes up for it.
    """
    shape, found = sizes.shape, []
    each = shape.heads // shape.groups
    counts = ("q", shape.heads), ("k", shape.groups)
    norms = [model.rms_norm(f"{name}{part}_norm", count * shape.key, epsilon) for part, count in counts]
    for number, head in enumerate(heads):
        w_q, b_q, norm_q = _whole(maps.q, norms[0], number, shape, 1)
        w_k, b_k, norm_k = _whole(maps.k, norms[1], number // each, shape, each)
        scale = RootScale(root=shape.key * each)
        made = replace(head, scale=scale, w_q=w_q, w_k=w_k, b_q=b_q, b_k=b_k, norm_q=norm_q, norm_k=norm_k)
        found.append(made)
    return tuple(found)


def _whole(
    linear: Projection, norm: Norm, own: int, shape: AttentionShape, each: int
) -> tuple[Dense, Dense | None, Norm]:
    """Return the weight, bias and norm by which one head computes the queries or keys of all heads, its own coordinates
    first: OLMo norms all heads together. If `each` heads share a key, zeros fill the width of all queries."""
    size = linear.weight.shape[1]
    places = np.roll(np.arange(size), -own * shape.key)
    more = [(0, 0), (0, size * (each - 1))]
    turned = linear.columns(places)
    bias = None if turned.bias is None else np.pad(turned.bias, more[1])
    weight = np.zeros(size * each)
    assert norm.weight is not None
    weight[: shape.key] = norm.weight[places[: shape.key]]
    return np.pad(turned.weight, more), bias, Norm("rms", norm.epsilon / each, weight)


def _family(number: int) -> CausalFamily:
    kind, body = "" if number == 1 else str(number), partial(_body, number=number)
    name, title = f"Olmo{kind}", f"OLMo {number}"
    return CausalFamily(f"olmo{kind}", title, name, "model.", body, "embed_tokens.weight", tied=False, padding=1)


OLMO, OLMO2, OLMO3 = map(_family, (1, 2, 3))
