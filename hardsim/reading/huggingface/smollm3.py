"""SmolLM3: as Llama, with layers without rotary positions, which may have windows.

Source: transformers, `models/smollm3/modeling_smollm3.py` (Bakouch et al. 2025). By default every fourth layer has no
rotary positions.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, gated, read_decoder, read_sizes, rms
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import EPSILON_RMS, ScoreRules, StoredModel, optional_size


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=4)
    activation = settings.choice("hidden_act", ACTIVATIONS, "silu")
    epsilon = settings.epsilon("rms_norm_eps", EPSILON_RMS)
    rotary = model.whole_rotary(sizes.shape.key, theta=Fraction(2_000_000))
    turned = _turned(model, sizes.layers)
    window, slides = optional_size(settings, "sliding_window", None), settings.truth("use_sliding_window", False)
    windows = model.windows(sizes.layers, (slides and window is not None and not one for one in turned), window)
    biased, mlp_biased = settings.truth("attention_bias", False), settings.truth("mlp_bias", False)
    model.settled("max_position_embeddings", "pretraining_tp")
    scale = RootScale(root=sizes.shape.key)
    plan = DecoderPlan(
        lambda layer: ScoreRules(scale, rotary if turned[layer] else None, windows[layer]),
        rms(model, sizes, epsilon),
        gated(model, sizes, activation, mlp_biased),
        bias=biased,
        out_bias=biased,
    )
    return read_decoder(model, sizes, plan)


def _turned(model: StoredModel, layers: int) -> list[bool]:
    """Return which layers have rotary positions: `no_rope_layers` has 1 for each of them."""
    settings, key = model.settings, "no_rope_layers"
    every = settings.integer("no_rope_layer_interval", 4)
    if not settings.has(key):
        return [(layer + 1) % every != 0 for layer in range(layers)]
    found = settings.value(key)
    if not isinstance(found, list) or len(found) < layers or not all(one in (0, 1) for one in found):
        raise settings.at(key).error(f"an array of {layers} numbers, 1 for a layer with rotary positions and 0 without")
    settings.take(key, " ".join(map(str, map(int, found))))
    return [bool(one) for one in found[:layers]]


SMOLLM3 = CausalFamily("smollm3", "SmolLM3", "SmolLM3", "model.", _body, "embed_tokens.weight", padding=128_004)
