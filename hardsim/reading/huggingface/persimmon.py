"""Persimmon: norms of queries and keys, rotary positions on a part of each head, and squares of relu.

Source: transformers, `models/persimmon/modeling_persimmon.py` (Elsen et al. 2023).
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, DecoderSizes, no_norms, read_decoder, shared_norms
from hardsim.reading.huggingface.known import SQUARED
from hardsim.reading.huggingface.parts import Projections, ScoreRules, StoredModel, by_head, joint_projections


def _body(model: StoredModel) -> CausalBody:
    settings, width = model.settings, model.size("hidden_size")
    shape = model.shape(width, grouped=False)
    hidden = model.size("intermediate_size")
    layers = model.size("num_hidden_layers", least=0)
    sizes = DecoderSizes(model.size("vocab_size"), width, hidden, layers, shape)
    activation = settings.choice("hidden_act", SQUARED, "relu2")
    epsilon = settings.epsilon("layer_norm_eps")
    # The default base changed from 25 000 to 10 000 in transformers 5.
    rules = ScoreRules(RootScale(root=shape.key), model.rotary(shape.key, theta=None, part=Fraction(1, 2)))
    normed = settings.truth("qk_layernorm", True)
    model.settled("max_position_embeddings")
    norms = shared_norms(shape, lambda name: model.layer_norm(name, shape.key, epsilon), "layernorm")

    def maps(name: str) -> Projections:
        joint, out = (
            model.linear(f"{name}query_key_value", width, 3 * width),
            model.linear(f"{name}dense", width, width),
        )
        return joint_projections(joint, by_head(shape), out)

    plan = DecoderPlan(
        lambda layer: rules,
        lambda name: model.layer_norm(name, width, epsilon),
        lambda name: model.mlp(f"{name}dense_h_to_4h", f"{name}dense_4h_to_h", activation, (width, hidden)),
        head_norms=norms if normed else no_norms,
        maps=maps,
        final="final_layernorm",
    )
    return read_decoder(model, sizes, plan)


PERSIMMON = CausalFamily("persimmon", "Persimmon", "Persimmon", "model.", _body, "embed_tokens.weight", tied=False)
