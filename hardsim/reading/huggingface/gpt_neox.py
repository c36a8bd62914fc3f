"""GPT-NeoX, and Pythia, which is the same: rotary positions on a part of each head, and parallel steps.

Source: transformers, `models/gpt_neox/modeling_gpt_neox.py` (Black et al. 2022, arXiv 2204.06745). The joint matrix
`query_key_value` has the query, key and value of each head side by side.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.network.dense import NetworkLayer, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, attention_heads, by_head, joint_projections

NAMES = {"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"}
"""The family's own names of settings of rotary positions."""


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("hidden_size"), model.size("num_hidden_layers", least=0)
    shape = model.shape(width, grouped=False)
    vocabulary, hidden = model.size("vocab_size"), model.size("intermediate_size")
    rows = model.size("max_position_embeddings", default=2048)
    activation = settings.choice("hidden_act", ACTIVATIONS, "gelu")
    epsilon = settings.epsilon("layer_norm_eps")
    rotary = model.rotary(shape.key, part=Fraction(1, 4), names=NAMES)
    biased = settings.truth("attention_bias", True)
    parallel = settings.truth("use_parallel_residual", True)
    model.settled()
    rules, layers = ScoreRules(RootScale(root=shape.key), rotary), []
    for layer in range(count):
        name = f"layers.{layer}."
        joint = model.linear(f"{name}attention.query_key_value", width, 3 * width, biased)
        out = model.linear(f"{name}attention.dense", width, width, biased)
        model.masks(f"{name}attention.", rows)
        model.frequencies(f"{name}attention.", rotary)
        heads = attention_heads(layer, shape, joint_projections(joint, by_head(shape), out), rules)
        first, second = f"{name}mlp.dense_h_to_4h", f"{name}mlp.dense_4h_to_h"
        mlp = model.mlp(first, second, activation, (width, hidden))
        norm_1 = model.layer_norm(f"{name}input_layernorm", width, epsilon)
        norm_2 = model.layer_norm(f"{name}post_attention_layernorm", width, epsilon)
        layers.append(NetworkLayer(heads, mlp, out.bias, norm_1, norm_2, parallel=parallel))
    embedding = model.take("embed_in.weight", vocabulary, width, why="vocab_size, hidden_size")
    return CausalBody(embedding, tuple(layers), model.layer_norm("final_layer_norm", width, epsilon))


GPT_NEOX = CausalFamily(
    "gpt_neox", "GPT-NeoX", "GPTNeoX", "gpt_neox.", _body, "embed_in.weight", unembedding="embed_out", tied=False
)
