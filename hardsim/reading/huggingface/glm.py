"""GLM and GLM-4: rotary positions on neighbouring coordinates of a part of each head, and joint matrices of gate and
hidden units. GLM-4 also has norms of what each step adds.

Sources: transformers, `models/glm/modeling_glm.py` and `models/glm4/modeling_glm4.py` (GLM Team 2024, arXiv
2406.12793).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, NormNames, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel

EPSILON = Fraction(15_625, 10**11)
"""The default epsilon, 1.5625e-07."""
AROUND = NormNames("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm")


def _body(model: StoredModel, fourth: bool) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=2, key=128)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON)
    rotary = model.rotary(sizes.shape.key, part=Fraction(1, 2))
    rules = ScoreRules(RootScale(root=sizes.shape.key), rotary and replace(rotary, interleaved=True))
    biased = settings.truth("attention_bias", True)
    model.settled("max_position_embeddings")
    plan = DecoderPlan(
        lambda layer: rules,
        rms(model, sizes, epsilon),
        lambda name: model.joint_mlp(name, activation, (sizes.width, sizes.hidden)),
        bias=biased,
        names=AROUND if fourth else NormNames(),
    )
    return read_decoder(model, sizes, plan)


def _family(number: str, title: str) -> CausalFamily:
    body, name = partial(_body, fourth=number == "4"), f"Glm{number}"
    return CausalFamily(f"glm{number}", title, name, "model.", body, "embed_tokens.weight", tied=False, padding=151_329)


GLM, GLM4 = _family("", "GLM"), _family("4", "GLM-4")
