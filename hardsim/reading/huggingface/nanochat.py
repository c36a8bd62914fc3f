"""NanoChat: norms without parameters, also of embeddings, queries and keys; squares of relu; a soft cap of outputs.

Source: transformers, `models/nanochat/modeling_nanochat.py` (Karpathy 2025). Rotary positions turn the other way: with
the two coordinates of each pair exchanged, that is the usual turn. The norms of queries and keys follow the turns. As
these keep lengths, they are the same before.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from hardsim.network.dense import NetworkHead, Norm, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, read_decoder, read_sizes
from hardsim.reading.huggingface.known import SQUARED
from hardsim.reading.huggingface.parts import EPSILON_RMS, Projections, ScoreRules, StoredModel, optional_number


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model)
    shape = sizes.shape
    activation = settings.choice("hidden_act", SQUARED, "relu2")
    norm = Norm("rms", settings.epsilon("rms_norm_eps", EPSILON_RMS))
    rotary = model.whole_rotary(shape.key)
    if rotary.amplitude != 1:
        hint = "The norms of queries and keys follow the turns, and would not be the same before."
        raise settings.at("rope_parameters").error("a rotary scaling whose cosines and sines have the factor 1", hint)
    rules = ScoreRules(RootScale(root=shape.key), rotary)
    cap = optional_number(settings, "final_logit_softcapping", Fraction(15))
    biased = settings.truth("attention_bias", False)
    model.settled("max_position_embeddings")
    exchanged = np.roll(np.arange(shape.key), shape.key // 2)

    def refined(name: str, heads: tuple[NetworkHead, ...], maps: Projections) -> tuple[NetworkHead, ...]:
        return tuple(
            replace(
                head,
                w_q=head.w_q[:, exchanged],
                w_k=head.w_k[:, exchanged],
                b_q=None if head.b_q is None else head.b_q[exchanged],
                b_k=None if head.b_k is None else head.b_k[exchanged],
            )
            for head in heads
        )

    plan = DecoderPlan(
        lambda layer: rules,
        lambda name: norm,
        lambda name: model.mlp(f"{name}fc1", f"{name}fc2", activation, (sizes.width, sizes.hidden), False),
        bias=biased,
        out_bias=biased,
        head_norms=lambda name: ([norm] * shape.heads, [norm] * shape.groups),
        refined=refined,
    )
    return replace(read_decoder(model, sizes, plan), embedding_norm=norm, output_cap=cap)


NANOCHAT = CausalFamily(
    "nanochat", "NanoChat", "NanoChat", "model.", _body, "embed_tokens.weight", tied=False, padding=1
)
