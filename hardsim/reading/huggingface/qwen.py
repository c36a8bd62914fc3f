"""Qwen2, with biases of queries, keys and values, and Qwen3, with norms of queries and keys.

Sources: transformers, `models/qwen2/modeling_qwen2.py` and `models/qwen3/modeling_qwen3.py` (Yang et al. 2024, arXiv
2407.10671, and 2025, arXiv 2505.09388). With `use_sliding_window`, layers from `max_window_layers` on see a window.
"""

from __future__ import annotations

from functools import partial

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import (
    DecoderPlan,
    gated,
    no_norms,
    read_decoder,
    read_sizes,
    rms,
    shared_norms,
)
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, ScoreRules, StoredModel, optional_size


def _body(model: StoredModel, third: bool) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=32, key=128 if third else None)
    shape = sizes.shape
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    rotary = model.whole_rotary(shape.key)
    slides = settings.truth("use_sliding_window", False)
    window = optional_size(settings, "sliding_window", 4096) if slides else None
    first = settings.integer("max_window_layers", 28, least=0) if slides else sizes.layers
    windows = model.windows(sizes.layers, (layer >= first for layer in range(sizes.layers)), window)
    biased = settings.truth("attention_bias", False) if third else False
    model.settled("max_position_embeddings", "sliding_window", "max_window_layers")
    norms = shared_norms(shape, lambda name: model.rms_norm(name, shape.key, epsilon))
    plan = DecoderPlan(
        lambda layer: ScoreRules(RootScale(root=shape.key), rotary, windows[layer]),
        rms(model, sizes, epsilon),
        gated(model, sizes, activation),
        bias=biased if third else True,
        out_bias=biased,
        head_norms=norms if third else no_norms,
    )
    return read_decoder(model, sizes, plan)


def _family(number: int) -> CausalFamily:
    name, body = f"Qwen{number}", partial(_body, third=number == 3)
    return CausalFamily(f"qwen{number}", name, name, "model.", body, "embed_tokens.weight", tied=False)


QWEN2, QWEN3 = _family(2), _family(3)
