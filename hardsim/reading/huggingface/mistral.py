"""Mistral: as Llama, with windows: a window of w positions holds the query's own and the w - 1 before it.

Sources: transformers, `models/mistral/modeling_mistral.py` (Jiang et al. 2023, arXiv 2310.06825) and
`models/ministral/modeling_ministral.py`. Ministral says by layer which ones have the window.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, ScoreRules, StoredModel, optional_size


def _body(model: StoredModel, by_layer: bool) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=8)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    window = optional_size(settings, "sliding_window", 4096)
    rules = ScoreRules(RootScale(root=sizes.shape.key), model.whole_rotary(sizes.shape.key))
    windows = (window,) * sizes.layers
    if by_layer:
        windows = model.windows(sizes.layers, [window is not None] * sizes.layers, window)
    model.settled("max_position_embeddings")
    plan = DecoderPlan(
        lambda layer: replace(rules, window=windows[layer]),
        rms(model, sizes, epsilon),
        gated(model, sizes, activation),
    )
    return read_decoder(model, sizes, plan)


def _family(name: str) -> CausalFamily:
    body = partial(_body, by_layer=name == "Ministral")
    return CausalFamily(name.lower(), name, name, "model.", body, "embed_tokens.weight", tied=False)


MISTRAL, MINISTRAL = _family("Mistral"), _family("Ministral")
