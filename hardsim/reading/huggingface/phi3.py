"""Phi-3: as Mistral, with the matrices of queries, keys and values in one, and those of gate and hidden units.

Source: transformers, `models/phi3/modeling_phi3.py` (Abdin et al. 2024, arXiv 2404.14219).
"""

from __future__ import annotations

import numpy as np

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_LAYER, Projections, ScoreRules, StoredModel, optional_size


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model)
    shape, width, hidden = sizes.shape, sizes.width, sizes.hidden
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_LAYER)
    window = optional_size(settings, "sliding_window", None)
    rules = ScoreRules(RootScale(root=shape.key), model.rotary(shape.key), window)
    model.settled("max_position_embeddings", "original_max_position_embeddings")
    queries, keys = shape.heads * shape.key, shape.groups * shape.key

    def maps(name: str) -> Projections:
        joint = model.linear(f"{name}qkv_proj", width, queries + 2 * keys, bias=False)
        q, k, v = map(joint.columns, np.split(np.arange(queries + 2 * keys), [queries, queries + keys]))
        return Projections(q, k, v, model.linear(f"{name}o_proj", queries, width, bias=False))

    plan = DecoderPlan(
        lambda layer: rules,
        rms(model, sizes, epsilon),
        lambda name: model.joint_mlp(name, activation, (width, hidden)),
        maps=maps,
    )
    return read_decoder(model, sizes, plan)


PHI3 = CausalFamily("phi3", "Phi-3", "Phi3", "model.", _body, "embed_tokens.weight", tied=False, padding=32000)
