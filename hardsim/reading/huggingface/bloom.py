"""BLOOM: ALiBi, and a norm of the embeddings.

Source: transformers, `models/bloom/modeling_bloom.py` (BigScience Workshop 2022, arXiv 2211.05100). Its gelu is the
tanh form; the constant sqrt(2 / pi) is meant, which the library writes with 8 digits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hardsim.network.blocks import standard_slopes
from hardsim.network.dense import Activation, NetworkLayer, Norm, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, attention_heads, by_head, joint_projections

HARMLESS = (
    "masked_softmax_fusion", "bias_dropout_fusion", "skip_bias_add", "skip_bias_add_qkv", "attention_softmax_in_fp32",
    "pretraining_tp", "slow_but_exact", "seq_length", "offset_alibi",
)  # fmt: skip


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("hidden_size", "n_embed"), model.size("n_layer", "num_hidden_layers", least=0)
    shape = model.shape(width, "n_head", "num_attention_heads", grouped=False)
    vocabulary, hidden = model.size("vocab_size"), 4 * width
    settings.neutral("n_inner", hidden)
    epsilon = settings.epsilon("layer_norm_epsilon")
    after = settings.truth("apply_residual_connection_post_layernorm", False)
    model.settled(*HARMLESS)
    slopes, rules, layers = standard_slopes(shape.heads), ScoreRules(RootScale(root=shape.key)), []
    for layer in range(count):
        name = f"h.{layer}."
        joint = model.linear(f"{name}self_attention.query_key_value", width, 3 * width)
        maps = joint_projections(joint, by_head(shape), model.linear(f"{name}self_attention.dense", width, width))
        heads = attention_heads(layer, shape, maps, rules, slopes)
        first, second = f"{name}mlp.dense_h_to_4h", f"{name}mlp.dense_4h_to_h"
        mlp = model.mlp(first, second, Activation.GELU_NEW, (width, hidden))
        norm_1 = model.layer_norm(f"{name}input_layernorm", width, epsilon)
        norm_2 = model.layer_norm(f"{name}post_attention_layernorm", width, epsilon)
        layers.append(NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2))
    embedding = model.take("word_embeddings.weight", vocabulary, width, why="vocab_size, hidden_size")
    embedding_norm = model.layer_norm("word_embeddings_layernorm", width, epsilon)
    final: Norm | None = model.layer_norm("ln_f", width, epsilon)
    if after and layers:
        layers, final = _after_norms(layers, final), None
    return CausalBody(embedding, tuple(layers), final, embedding_norm=embedding_norm)


def _after_norms(layers: list[NetworkLayer], final: Norm | None) -> list[NetworkLayer]:
    """Return layers whose sums begin from the norms' results: norms follow the sums, each of them that of the next
    step. Before the first step comes a layer that is its norm alone."""
    first = layers[0].norm_1
    b_o = np.zeros(layers[0].mlp.w_out.shape[1]) if layers[0].mlp is not None else None
    nexts = [*(layer.norm_1 for layer in layers[1:]), final]
    return [
        NetworkLayer((), None, b_o, first, post=True),
        *(
            replace(layer, norm_1=layer.norm_2, norm_2=following, post=True)
            for layer, following in zip(layers, nexts, strict=True)
        ),
    ]


BLOOM = CausalFamily("bloom", "BLOOM", "Bloom", "transformer.", _body, "word_embeddings.weight")
