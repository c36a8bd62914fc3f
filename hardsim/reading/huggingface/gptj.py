"""GPT-J and CodeGen: rotary positions on neighbouring coordinates, one norm, and parallel steps.

Sources: transformers, `models/gptj/modeling_gptj.py` and `models/codegen/modeling_codegen.py`. CodeGen has one matrix
`qkv_proj`: four blocks, each with the queries, values and keys of a quarter of the heads.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from hardsim.network.blocks import Rotary
from hardsim.network.dense import NetworkLayer, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    AttentionShape,
    Projections,
    ScoreRules,
    StoredModel,
    attention_heads,
    is_null,
    joint_projections,
)
from hardsim.reading.huggingface.rotary import THETA

BLOCKS = 4
"""The number of blocks of CodeGen's joint matrix."""


def _body(model: StoredModel, joint: bool) -> CausalBody:
    settings = model.settings
    width, count = model.size("n_embd", "hidden_size"), model.size("n_layer", "num_hidden_layers", least=0)
    shape = model.shape(width, "n_head", "num_attention_heads", of="n_embd", grouped=False)
    rows = model.size("n_positions", "max_position_embeddings", default=2048)
    vocabulary, hidden = model.size("vocab_size"), settings.integer("n_inner", 4 * width)
    activation = settings.choice("activation_function", ACTIVATIONS, "gelu_new")
    epsilon = settings.epsilon("layer_norm_epsilon")
    # Without `rotary_dim` the library makes angles for the whole width: right for one head alone.
    turned = width if is_null(settings, "rotary_dim") else settings.integer("rotary_dim", 64)
    if turned > shape.key or turned % 2:
        raise settings.at("rotary_dim").error(f"an even number of at most the width of a head, {shape.key}")
    for key in ("scale_attn_weights", "rotary"):
        settings.neutral(key, True)
    model.settled("rotary_dim", "n_ctx")
    rules, layers = ScoreRules(RootScale(root=shape.key), Rotary(THETA, turned, True)), []
    for layer in range(count):
        name = f"h.{layer}."
        if joint:
            maps = _joint(model, f"{name}attn.", width, shape)
        else:
            maps = model.projections(f"{name}attn.", width, shape, False, out="out_proj", out_bias=False)
        model.masks(f"{name}attn.", rows)
        mlp = model.mlp(f"{name}mlp.fc_in", f"{name}mlp.fc_out", activation, (width, hidden))
        norm = model.layer_norm(f"{name}ln_1", width, epsilon)
        layers.append(NetworkLayer(attention_heads(layer, shape, maps, rules), mlp, None, norm, norm, parallel=True))
    embedding = model.take("wte.weight", vocabulary, width, why="vocab_size, n_embd")
    return CausalBody(embedding, tuple(layers), model.layer_norm("ln_f", width, epsilon))


def _joint(model: StoredModel, name: str, width: int, shape: AttentionShape) -> Projections:
    if shape.heads % BLOCKS:
        raise model.settings.at("n_head").error(f"a multiple of {BLOCKS}, the number of blocks of qkv_proj")
    joint = model.linear(f"{name}qkv_proj", width, 3 * width, bias=False)
    places = np.arange(3 * width).reshape(BLOCKS, 3, shape.heads // BLOCKS, shape.key)
    in_order = places[:, [0, 2, 1]].swapaxes(1, 2).reshape(shape.heads, 3, shape.key)
    return joint_projections(joint, in_order, model.linear(f"{name}out_proj", width, width, bias=False))


GPTJ = CausalFamily(
    "gptj", "GPT-J", "GPTJ", "transformer.", partial(_body, joint=False), "wte.weight", biased=True, tied=False
)
CODEGEN = replace(GPTJ, model_type="codegen", title="CodeGen", classes="CodeGen", body=partial(_body, joint=True))
