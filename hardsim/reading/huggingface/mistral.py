"""Mistral: as Llama, with windows: a window of w positions holds the query's own and the w - 1 before it.

Source: transformers, `models/mistral/modeling_mistral.py` (Jiang et al. 2023, arXiv 2310.06825).
"""

from __future__ import annotations

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, ScoreRules, StoredModel, optional_size


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=8)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    window = optional_size(settings, "sliding_window", 4096)
    rules = ScoreRules(RootScale(root=sizes.shape.key), model.whole_rotary(sizes.shape.key), window)
    model.settled("max_position_embeddings")
    plan = DecoderPlan(lambda layer: rules, rms(model, sizes, epsilon), gated(model, sizes, activation))
    return read_decoder(model, sizes, plan)


MISTRAL = CausalFamily("mistral", "Mistral", "Mistral", "model.", _body, "embed_tokens.weight", tied=False)
