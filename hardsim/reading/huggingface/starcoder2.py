"""Starcoder2: as Mistral, with LayerNorm, an MLP without a gate, and biases.

Source: transformers, `models/starcoder2/modeling_starcoder2.py` (Lozhkov et al. 2024, arXiv 2402.19173).
"""

from __future__ import annotations

from hardsim.network.dense import RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.decoder import DecoderPlan, read_decoder, read_sizes
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, optional_size


def _body(model: StoredModel) -> CausalBody:
    settings, sizes = model.settings, read_sizes(model, groups=2)
    activation = settings.choice("hidden_act", ACTIVATIONS, "gelu_pytorch_tanh")
    epsilon = settings.epsilon("norm_epsilon")
    window = optional_size(settings, "sliding_window", None)
    rules = ScoreRules(RootScale(root=sizes.shape.key), model.whole_rotary(sizes.shape.key), window)
    biased = settings.truth("use_bias", True)
    model.settled("max_position_embeddings")
    plan = DecoderPlan(
        lambda layer: rules,
        lambda name: model.layer_norm(name, sizes.width, epsilon),
        lambda name: model.mlp(f"{name}c_fc", f"{name}c_proj", activation, (sizes.width, sizes.hidden), biased),
        bias=biased,
        out_bias=biased,
    )
    return read_decoder(model, sizes, plan)


STARCODER2 = CausalFamily("starcoder2", "Starcoder2", "Starcoder2", "model.", _body, "embed_tokens.weight")
