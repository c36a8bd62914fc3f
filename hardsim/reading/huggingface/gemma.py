"""Gemma and Gemma 2: weights of norms are 1 more than stored, and embeddings are multiplied by sqrt(d).

Sources: transformers, `models/gemma/modeling_gemma.py` and `models/gemma2/modeling_gemma2.py` (Gemma Team 2024, arXiv
2403.08295 and 2408.00118). Gemma 2 has norms before and after each step, soft caps of scores and outputs, and a window
in the layers 0, 2, 4 and so on.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from hardsim.network.dense import Activation, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, NormNames, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, ScoreRules, StoredModel, optional_number, optional_size
from hardsim.reading.tensors import Settings

AROUND = NormNames(
    "input_layernorm", "pre_feedforward_layernorm", "post_attention_layernorm", "post_feedforward_layernorm"
)


def _body(model: StoredModel, second: bool) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=4 if second else 16, key=256)
    shape = sizes.shape
    activation = _activation(settings, second)
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    rotary, scale, window, cap, output_cap = model.whole_rotary(shape.key), RootScale(root=shape.key), None, None, None
    if second:
        scale = inverse_root(settings, "query_pre_attn_scalar", 256)
        window = optional_size(settings, "sliding_window", 4096)
        cap = optional_number(settings, "attn_logit_softcapping", Fraction(50))
        output_cap = optional_number(settings, "final_logit_softcapping", Fraction(30))
    windows = model.windows(sizes.layers, (second and layer % 2 == 0 for layer in range(sizes.layers)), window)
    biased = settings.truth("attention_bias", False)
    model.settled("max_position_embeddings", *(() if second else ("hidden_act",)))
    plan = DecoderPlan(
        lambda layer: ScoreRules(scale, rotary, windows[layer], cap),
        rms(model, sizes, epsilon, plus=1),
        gated(model, sizes, activation),
        bias=biased,
        out_bias=biased,
        names=AROUND if second else NormNames(),
    )
    body = read_decoder(model, sizes, plan)
    embedding_scale = RootScale(Fraction(sizes.width), sizes.width)
    return CausalBody(body.embedding, body.layers, body.final, embedding_scale=embedding_scale, output_cap=output_cap)


def _activation(settings: Settings, second: bool) -> Activation:
    """Return the activation: in Gemma it is `hidden_act`, in Gemma 2 `hidden_activation`. If a file has the other one,
    too, it must say the same, since versions of the library differ in whether they read it."""
    name, other = ("hidden_activation", "hidden_act") if second else ("hidden_act", "hidden_activation")
    # The library takes gelu for the tanh form in Gemma, since the first files said so.
    functions = ACTIVATIONS if second else {**ACTIVATIONS, "gelu": Activation.GELU_NEW}
    found = settings.choice(name, functions, "gelu_pytorch_tanh")
    if settings.has(other) and settings.choice(other, functions) is not found:
        hint = f"transformers reads {name} in this family, and some versions {other}: state the right one in both."
        raise settings.at(other).error(f"the function of {name}", hint)
    return found


def inverse_root(settings: Settings, key: str, default: int) -> RootScale:
    """Return 1 divided by the square root of a number above 0."""
    found = settings.number(key, Fraction(default))
    if found <= 0:
        raise settings.at(key).error("a number above 0")
    # 1 / sqrt(p / q) = q / sqrt(p q)
    return RootScale(Fraction(found.denominator), found.numerator * found.denominator)


def _family(number: int) -> CausalFamily:
    kind = "" if number == 1 else str(number)
    body = partial(_body, second=number == 2)
    name = f"Gemma{kind}"
    return CausalFamily(f"gemma{kind}", f"Gemma {number}", name, "model.", body, "embed_tokens.weight", padding=0)


GEMMA, GEMMA2 = _family(1), _family(2)
