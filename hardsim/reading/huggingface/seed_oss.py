"""Seed-OSS and ERNIE 4.5: as Llama, with biases of their own; ERNIE 4.5 turns neighbouring coordinates.

Sources: transformers, `models/seed_oss/modeling_seed_oss.py` and `models/ernie4_5/modeling_ernie4_5.py` (2025).
"""

from __future__ import annotations

from dataclasses import replace

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_LAYER, EPSILON_RMS, ScoreRules, StoredModel


def _seed(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=8, key=128)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    rules = ScoreRules(RootScale(root=sizes.shape.key), model.whole_rotary(sizes.shape.key, theta=None))
    biased, out_biased = settings.truth("attention_bias", True), settings.truth("attention_out_bias", False)
    made = gated(model, sizes, activation, settings.truth("mlp_bias", False))
    model.settled("max_position_embeddings", "pretraining_tp")
    plan = DecoderPlan(lambda layer: rules, rms(model, sizes, epsilon), made, bias=biased, out_bias=out_biased)
    return read_decoder(model, sizes, plan)


def _ernie(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=2, key=128)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_LAYER)
    rotary = replace(model.whole_rotary(sizes.shape.key, theta=None), interleaved=True)
    rules, biased = ScoreRules(RootScale(root=sizes.shape.key), rotary), settings.truth("use_bias", False)
    made = gated(model, sizes, activation, biased)
    model.settled("max_position_embeddings")
    plan = DecoderPlan(lambda layer: rules, rms(model, sizes, epsilon), made, bias=biased, out_bias=biased)
    return read_decoder(model, sizes, plan)


SEED_OSS = CausalFamily(
    "seed_oss", "Seed-OSS", "SeedOss", "model.", _seed, "embed_tokens.weight", tied=False, padding=1
)
ERNIE = CausalFamily("ernie4_5", "ERNIE 4.5", "Ernie4_5", "model.", _ernie, "embed_tokens.weight", padding=0)
