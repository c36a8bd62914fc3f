"""Phi: rotary positions on a part of each head, one norm, parallel steps, and biases everywhere.

Source: transformers, `models/phi/modeling_phi.py` (Li et al. 2023, arXiv 2309.05463).
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import (
    DecoderPlan,
    NormNames,
    no_norms,
    read_decoder,
    read_sizes,
    shared_norms,
)
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model)
    shape = sizes.shape
    activation = settings.choice("hidden_act", ACTIVATIONS, "gelu_new")
    epsilon = settings.epsilon("layer_norm_eps")
    rules = ScoreRules(RootScale(root=shape.key), model.rotary(shape.key, part=Fraction(1, 2)))
    normed = settings.truth("qk_layernorm", False)
    model.settled("max_position_embeddings")
    norms = shared_norms(shape, lambda name: model.layer_norm(name, shape.key, epsilon), "layernorm")
    plan = DecoderPlan(
        lambda layer: rules,
        lambda name: model.layer_norm(name, sizes.width, epsilon),
        lambda name: model.mlp(f"{name}fc1", f"{name}fc2", activation, (sizes.width, sizes.hidden)),
        bias=True,
        out_bias=True,
        out="dense",
        names=NormNames(norm_2="input_layernorm"),
        parallel=True,
        head_norms=norms if normed else no_norms,
        final="final_layernorm",
    )
    return read_decoder(model, sizes, plan)


PHI = CausalFamily("phi", "Phi", "Phi", "model.", _body, "embed_tokens.weight", biased=True, tied=False)
