"""Gemma 3 (text): as Gemma 2, with norms of queries and keys, and rotary positions of two kinds.

Source: transformers, `models/gemma3/modeling_gemma3.py` (Gemma Team 2025, arXiv 2503.19786). Layers with a window have
rotary positions of their own, with another base; every sixth layer has no window.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import (
    DecoderPlan,
    gated,
    read_decoder,
    read_sizes,
    rms,
    shared_norms,
)
from hardsim.reading.huggingface.gemma import AROUND, inverse_root
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, ScoreRules, StoredModel, optional_number, optional_size
from hardsim.reading.huggingface.rotary import FULL, SLIDING, RotaryNames, read_rotary

THETA_GLOBAL, THETA_LOCAL = Fraction(1_000_000), Fraction(10_000)
LOCAL = RotaryNames(THETA_LOCAL, others={"rope_theta": "rope_local_base_freq"}, whole=True, scaled=False, shared=False)


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=4, key=256)
    shape = sizes.shape
    activation = settings.choice("hidden_activation", ACTIVATIONS, "gelu_pytorch_tanh")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    windows = model.windows(
        sizes.layers, model.pattern(sizes.layers, 6), optional_size(settings, "sliding_window", 4096)
    )
    scale = inverse_root(settings, "query_pre_attn_scalar", 256)
    rotary = read_rotary(settings, shape.key, RotaryNames(THETA_GLOBAL, whole=True), FULL)
    local = read_rotary(settings, shape.key, LOCAL, SLIDING)
    biased = settings.truth("attention_bias", False)
    output_cap = optional_number(settings, "final_logit_softcapping", None)
    # The library has this setting, and applies no cap to scores.
    settings.neutral("attn_logit_softcapping", None)
    settings.neutral("use_bidirectional_attention", False)
    model.settled("max_position_embeddings")
    plan = DecoderPlan(
        lambda layer: ScoreRules(scale, rotary if windows[layer] is None else local, windows[layer]),
        rms(model, sizes, epsilon, plus=1),
        gated(model, sizes, activation),
        bias=biased,
        out_bias=biased,
        names=AROUND,
        head_norms=shared_norms(shape, lambda name: model.rms_norm(name, shape.key, epsilon, 1)),
    )
    body = read_decoder(model, sizes, plan)
    return replace(body, embedding_scale=RootScale(Fraction(sizes.width), sizes.width), output_cap=output_cap)


GEMMA3 = CausalFamily("gemma3_text", "Gemma 3", "Gemma3", "model.", _body, "embed_tokens.weight", padding=0)
