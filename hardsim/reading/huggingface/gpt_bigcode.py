"""GPT-BigCode (StarCoder): GPT-2 with one key and value for all heads, and `nn.Linear` layers.

Source: transformers, `models/gpt_bigcode/modeling_gpt_bigcode.py` (Ben Allal et al. 2023, arXiv 2301.03988).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hardsim.network.dense import NetworkLayer, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    AttentionShape,
    Projections,
    ScoreRules,
    StoredModel,
    attention_heads,
    by_head,
    joint_projections,
)

HARMLESS = (
    "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner", "validate_runner_input",
    "max_sequence_length", "max_batch_size", "pad_key_length", "pre_allocate_kv_cache",
)  # fmt: skip


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("n_embd", "hidden_size"), model.size("n_layer", "num_hidden_layers", least=0)
    shape = model.shape(width, "n_head", "num_attention_heads", of="n_embd", grouped=False)
    rows = model.size("n_positions", "max_position_embeddings")
    vocabulary, hidden = model.size("vocab_size"), settings.integer("n_inner", 4 * width)
    activation = settings.choice("activation_function", ACTIVATIONS, "gelu_pytorch_tanh")
    epsilon = settings.epsilon("layer_norm_epsilon")
    scaled = settings.truth("scale_attn_weights", True)
    if settings.truth("multi_query", True):
        shape = replace(shape, groups=1)
    settings.neutral("num_key_value_heads", shape.groups)
    model.settled(*HARMLESS)
    rules, layers = ScoreRules(RootScale(root=shape.key if scaled else 1)), []
    for layer in range(count):
        name = f"h.{layer}."
        maps = _projections(model, f"{name}attn.", width, shape)
        mlp = model.mlp(f"{name}mlp.c_fc", f"{name}mlp.c_proj", activation, (width, hidden))
        norm_1, norm_2 = (model.layer_norm(f"{name}{norm}", width, epsilon) for norm in ("ln_1", "ln_2"))
        heads = attention_heads(layer, shape, maps, rules)
        layers.append(NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2))
    embedding = model.take("wte.weight", vocabulary, width, why="vocab_size, n_embd")
    positions = model.take("wpe.weight", rows, width, why="n_positions, n_embd")
    return CausalBody(embedding, tuple(layers), model.layer_norm("ln_f", width, epsilon), positions)


def _projections(model: StoredModel, name: str, width: int, shape: AttentionShape) -> Projections:
    keys = shape.groups * shape.key
    joint = model.linear(f"{name}c_attn", width, width + 2 * keys)
    out = model.linear(f"{name}c_proj", width, width)
    if shape.groups == shape.heads:
        return joint_projections(joint, by_head(shape), out)
    q, k, v = map(joint.columns, np.split(np.arange(width + 2 * keys), [width, width + keys]))
    return Projections(q, k, v, out)


GPT_BIGCODE = CausalFamily("gpt_bigcode", "GPT-BigCode", "GPTBigCode", "transformer.", _body, "wte.weight")
