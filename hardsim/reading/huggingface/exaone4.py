"""EXAONE 4: norms of what each step adds and of queries and keys; with windows, layers without one have no positions.

Source: transformers, `models/exaone4/modeling_exaone4.py` (LG AI Research 2025, arXiv 2507.11407).
"""

from __future__ import annotations

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import (
    DecoderPlan,
    NormNames,
    gated,
    read_decoder,
    read_sizes,
    rms,
    shared_norms,
)
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_LAYER, ScoreRules, StoredModel, optional_size

AFTER = NormNames(None, None, "post_attention_layernorm", "post_feedforward_layernorm")


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=32)
    shape = sizes.shape
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_LAYER)
    rotary, window = model.whole_rotary(shape.key, theta=None), optional_size(settings, "sliding_window", 4096)
    slides = model.pattern(sizes.layers, 4) if window is not None else [False] * sizes.layers
    windows = model.windows(sizes.layers, slides, window)
    model.settled("max_position_embeddings", "sliding_window_pattern")
    plan = DecoderPlan(
        lambda layer: ScoreRules(
            RootScale(root=shape.key), rotary if window is None or windows[layer] else None, windows[layer]
        ),
        rms(model, sizes, epsilon),
        gated(model, sizes, activation),
        names=AFTER,
        head_norms=shared_norms(shape, lambda name: model.rms_norm(name, shape.key, epsilon)),
    )
    return read_decoder(model, sizes, plan)


EXAONE4 = CausalFamily("exaone4", "EXAONE 4", "Exaone4", "model.", _body, "embed_tokens.weight", tied=False)
