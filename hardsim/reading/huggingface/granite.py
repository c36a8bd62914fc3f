"""Granite: as Llama, with multipliers of embeddings, scores, what each step adds, and outputs.

Source: transformers, `models/granite/modeling_granite.py` (IBM 2024). The multipliers of steps become part of their
last matrices.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hardsim.network.dense import Mlp, RootScale
from hardsim.reading.attention import Projection
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily, scaled
from hardsim.reading.huggingface.decoder import DecoderPlan, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, Projections, ScoreRules, StoredModel

ONE = Fraction(1)


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model)
    shape = sizes.shape
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    biased, mlp_biased = settings.truth("attention_bias", False), settings.truth("mlp_bias", False)
    entered, added = (settings.number(f"{name}_multiplier", ONE) for name in ("embedding", "residual"))
    rules = ScoreRules(RootScale(settings.number("attention_multiplier", ONE)), model.whole_rotary(shape.key))
    divisor = settings.number("logits_scaling", ONE)
    if divisor == 0:
        raise settings.at("logits_scaling").error("a number other than 0")
    model.settled("max_position_embeddings", "pretraining_tp")
    made = gated(model, sizes, activation, mlp_biased)

    def maps(name: str) -> Projections:
        found = model.projections(name, sizes.width, shape, biased, out_bias=biased)
        return replace(found, o=_times(found.o, added))

    def mlp(name: str) -> Mlp:
        found = made(name)
        out = _times(Projection(found.w_out, found.b_out), added)
        return replace(found, w_out=out.weight, b_out=out.bias)

    body = read_decoder(model, sizes, DecoderPlan(lambda layer: rules, rms(model, sizes, epsilon), mlp, maps=maps))
    return replace(body, embedding_scale=RootScale(entered), logit_scale=1 / divisor)


def _times(linear: Projection, factor: Fraction) -> Projection:
    """Return a multiple of a linear map."""
    if factor == 1:
        return linear
    return Projection(scaled(linear.weight, factor), None if linear.bias is None else scaled(linear.bias, factor))


GRANITE = CausalFamily("granite", "Granite", "Granite", "model.", _body, "embed_tokens.weight", tied=False)
