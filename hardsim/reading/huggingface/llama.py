"""Llama: RMSNorm, rotary positions, gated MLPs, and keys that several heads may share.

Source: transformers, `models/llama/modeling_llama.py` (Touvron et al. 2023, arXiv 2302.13971).
"""

from __future__ import annotations

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, ScoreRules, StoredModel


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    rules = ScoreRules(RootScale(root=sizes.shape.key), model.whole_rotary(sizes.shape.key))
    biased, mlp_biased = settings.truth("attention_bias", False), settings.truth("mlp_bias", False)
    model.settled("max_position_embeddings", "pretraining_tp")
    plan = DecoderPlan(
        lambda layer: rules,
        rms(model, sizes, epsilon),
        gated(model, sizes, activation, mlp_biased),
        bias=biased,
        out_bias=biased,
    )
    return read_decoder(model, sizes, plan)


LLAMA = CausalFamily("llama", "Llama", "Llama", "model.", _body, "embed_tokens.weight", tied=False)
