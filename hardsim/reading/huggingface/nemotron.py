"""Nemotron and Arcee: MLPs whose hidden units are squares of relu.

Sources: transformers, `models/nemotron/modeling_nemotron.py` (Parmar et al. 2024, arXiv 2402.16819) and
`models/arcee/modeling_arcee.py`. The weights of Nemotron's LayerNorms are 1 more than stored, and rotary positions turn
a part of each head. Arcee is otherwise as Llama.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hardsim.network.blocks import Rotary
from hardsim.network.dense import Norm, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, DecoderSizes, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import SQUARED
from hardsim.reading.huggingface.parts import EPSILON_LAYER, ScoreRules, StoredModel, exact_sum


def _plan(model: StoredModel, sizes: DecoderSizes, rotary: Rotary | None) -> DecoderPlan:
    """Return the plan that both families share, with RMSNorm."""
    settings = model.settings
    activation = settings.choice("hidden_act", SQUARED, "relu2")
    biased, mlp_biased = settings.truth("attention_bias", False), settings.truth("mlp_bias", False)
    rules = ScoreRules(RootScale(root=sizes.shape.key), rotary)
    return DecoderPlan(
        lambda layer: rules,
        rms(model, sizes, EPSILON_LAYER),
        lambda name: model.mlp(
            f"{name}up_proj", f"{name}down_proj", activation, (sizes.width, sizes.hidden), mlp_biased
        ),
        bias=biased,
        out_bias=biased,
    )


def _nemotron(model: StoredModel) -> CausalBody:
    sizes = read_sizes(model)
    epsilon = model.settings.epsilon("norm_eps")
    plan = _plan(model, sizes, model.rotary(sizes.shape.key, part=Fraction(1, 2)))
    model.settled("max_position_embeddings")

    def norm(name: str) -> Norm:
        found = model.layer_norm(name, sizes.width, epsilon)
        assert found.weight is not None
        return replace(found, weight=exact_sum(1, found.weight))

    return read_decoder(model, sizes, replace(plan, norm=norm))


def _arcee(model: StoredModel) -> CausalBody:
    sizes = read_sizes(model)
    epsilon = model.settings.epsilon("rms_norm_eps", EPSILON_LAYER)
    plan = _plan(model, sizes, model.whole_rotary(sizes.shape.key))
    model.settled("max_position_embeddings")
    return read_decoder(model, sizes, replace(plan, norm=rms(model, sizes, epsilon)))


NEMOTRON = CausalFamily("nemotron", "Nemotron", "Nemotron", "model.", _nemotron, "embed_tokens.weight", tied=False)
ARCEE = CausalFamily("arcee", "Arcee", "Arcee", "model.", _arcee, "embed_tokens.weight", tied=False)
