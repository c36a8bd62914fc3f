"""GPT-NeoX-Japanese: as a sequential GPT-NeoX without biases, but for one of the last attention layer.

Source: transformers, `models/gpt_neox_japanese/modeling_gpt_neox_japanese.py` (Zhao and Sawada 2022, ABEJA).
"""

from __future__ import annotations

from dataclasses import replace

from hardsim.network.dense import NetworkLayer, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.gpt_neox import NAMES
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, attention_heads, by_head, joint_projections


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("hidden_size"), model.size("num_hidden_layers", least=0)
    shape = model.shape(width, grouped=False)
    vocabulary, hidden = model.size("vocab_size"), settings.integer("intermediate_multiple_size", 4) * width
    activation = settings.choice("hidden_act", ACTIVATIONS, "gelu")
    epsilon = settings.epsilon("layer_norm_eps")
    for ignored, read in NAMES.items():
        if settings.has(ignored):
            hint = "transformers does not read this name in this family, outside rope_parameters."
            raise settings.at(ignored).error(f"nothing here, and the number as {read}", hint)
    rotary = model.rotary(shape.key, names=NAMES)
    model.settled("max_position_embeddings")
    rules, layers = ScoreRules(RootScale(root=shape.key), rotary), list[NetworkLayer]()
    for layer in range(count):
        name = f"layers.{layer}."
        joint = model.linear(f"{name}attention.query_key_value", width, 3 * width, bias=False)
        out = model.linear(f"{name}attention.dense", width, width, bias=False)
        model.frequencies(f"{name}attention.", rotary)
        heads = attention_heads(layer, shape, joint_projections(joint, by_head(shape), out), rules)
        first, second = f"{name}mlp.dense_h_to_4h", f"{name}mlp.dense_4h_to_h"
        mlp = model.mlp(first, second, activation, (width, hidden), bias=False)
        norm_1 = model.layer_norm(f"{name}input_layernorm", width, epsilon)
        norm_2 = model.layer_norm(f"{name}post_attention_layernorm", width, epsilon)
        layers.append(NetworkLayer(heads, mlp, None, norm_1, norm_2))
    if layers:
        layers[-1] = replace(layers[-1], b_o=model.take(f"layers.{count - 1}.attention.dense_bias", width))
    embedding = model.take("embed_in.weight", vocabulary, width, why="vocab_size, hidden_size")
    return CausalBody(embedding, tuple(layers), model.layer_norm("final_layer_norm", width, epsilon))


GPT_NEOX_JAPANESE = CausalFamily(
    "gpt_neox_japanese",
    "GPT-NeoX-Japanese",
    "GPTNeoXJapanese",
    "gpt_neox_japanese.",
    _body,
    "embed_in.weight",
    unembedding="embed_out",
)
