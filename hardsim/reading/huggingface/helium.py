"""Helium: as Llama, with rotary positions on neighbouring coordinates.

Source: transformers, `models/helium/modeling_helium.py` (Kyutai 2025).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=20, key=128)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", Fraction(1, 10**8))
    rotary = model.whole_rotary(sizes.shape.key, theta=Fraction(100_000))
    rules = ScoreRules(RootScale(root=sizes.shape.key), replace(rotary, interleaved=True))
    biased, mlp_biased = settings.truth("attention_bias", False), settings.truth("mlp_bias", False)
    model.settled("max_position_embeddings")
    made = gated(model, sizes, activation, mlp_biased)
    return read_decoder(model, sizes, DecoderPlan(lambda layer: rules, rms(model, sizes, epsilon), made, bias=biased))


HELIUM = CausalFamily("helium", "Helium", "Helium", "model.", _body, "embed_tokens.weight", tied=False, padding=3)
