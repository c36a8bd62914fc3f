"""Cohere (Command R): LayerNorm without bias, parallel steps of one norm, and outputs that are multiplied by a number.

Sources: transformers, `models/cohere/modeling_cohere.py` and `models/cohere2/modeling_cohere2.py`. Rotary positions
turn neighbouring coordinates. In Cohere 2, layers with a window have them, and every fourth layer has neither.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from hardsim.network.dense import Norm, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, HeadNorms, NormNames, gated, read_decoder, read_sizes
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, optional_size
from hardsim.reading.huggingface.rotary import THETA


def _body(model: StoredModel, second: bool) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model)
    shape = sizes.shape
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("layer_norm_eps")
    # The default base of Cohere changed from 10 000 to 500 000 in transformers 5.
    rotary = model.whole_rotary(shape.key, theta=THETA if second else None)
    rules = ScoreRules(RootScale(root=shape.key), replace(rotary, interleaved=True))
    local = [rules] * sizes.layers
    if second:
        window = optional_size(settings, "sliding_window", 4096)
        windows = model.windows(sizes.layers, model.pattern(sizes.layers, 4), window)
        local = [replace(rules, window=one) if one else ScoreRules(rules.scale) for one in windows]
    biased, normed = settings.truth("attention_bias", False), not second and settings.truth("use_qk_norm", False)
    logit_scale = settings.number("logit_scale", Fraction(1, 16))
    model.settled("max_position_embeddings")

    def head_norms(name: str) -> HeadNorms:
        if not normed:
            return (), ()
        counts = ("q", shape.heads), ("k", shape.groups)
        weights = (model.take(f"{name}{part}_norm.weight", count, shape.key) for part, count in counts)
        norms_q, norms_k = ([Norm("layer", epsilon, row) for row in weight] for weight in weights)
        return norms_q, norms_k

    plan = DecoderPlan(
        lambda layer: local[layer],
        lambda name: model.layer_norm(name, sizes.width, epsilon, bias=False),
        gated(model, sizes, activation),
        bias=biased,
        out_bias=biased,
        names=NormNames(norm_2="input_layernorm"),
        parallel=True,
        head_norms=head_norms,
    )
    return replace(read_decoder(model, sizes, plan), logit_scale=logit_scale)


def _family(number: str) -> CausalFamily:
    body, name = partial(_body, second=number == "2"), f"Cohere{number}"
    title = f"Cohere {number}".strip()
    return CausalFamily(f"cohere{number}", title, name, "model.", body, "embed_tokens.weight", padding=0)


COHERE, COHERE2 = _family(""), _family("2")
