"""OPT: the first token has position 2 of the table; words may be embedded in fewer coordinates.

Source: transformers, `models/opt/modeling_opt.py` (Zhang et al. 2022, arXiv 2205.01068). With `do_layer_norm_before`
false, norms follow the sums, and there is no final norm.
"""

from __future__ import annotations

from hardsim.network.dense import NetworkLayer, Norm, RootScale, Transform
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    EPSILON_LAYER,
    ScoreRules,
    StoredModel,
    attention_heads,
    exact_product,
)

OFFSET = 2
"""The row of the position table that belongs to the first token."""


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("hidden_size", "d_model"), model.size("num_hidden_layers", least=0)
    shape = model.shape(width, grouped=False)
    vocabulary, hidden = model.size("vocab_size"), model.size("ffn_dim")
    rows, words = model.size("max_position_embeddings"), model.size("word_embed_proj_dim", default=width)
    activation = settings.choice("activation_function", ACTIVATIONS, "relu")
    before = settings.truth("do_layer_norm_before", True)
    ends = before and not settings.truth("_remove_final_layer_norm", False)
    biased = settings.truth("enable_bias", True)
    weighted = settings.truth("layer_norm_elementwise_affine", True)
    model.settled()

    def norm(name: str) -> Norm:
        return model.layer_norm(name, width, EPSILON_LAYER) if weighted else Norm("layer", EPSILON_LAYER)

    rules, layers = ScoreRules(RootScale(root=shape.key)), []
    for layer in range(count):
        name = f"layers.{layer}."
        maps = model.projections(f"{name}self_attn.", width, shape, biased, out="out_proj", out_bias=biased)
        mlp = model.mlp(f"{name}fc1", f"{name}fc2", activation, (width, hidden), biased)
        norm_1, norm_2 = norm(f"{name}self_attn_layer_norm"), norm(f"{name}final_layer_norm")
        heads = attention_heads(layer, shape, maps, rules)
        layers.append(NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2, post=not before))
    embedding = model.take("embed_tokens.weight", vocabulary, words, why="vocab_size, word_embed_proj_dim")
    table = model.take("embed_positions.weight", rows + OFFSET, width, why="max_position_embeddings + 2")
    final = norm("final_layer_norm") if ends else None
    if words == width:
        return CausalBody(embedding, tuple(layers), final, table[OFFSET:])
    into, out = model.linear("project_in", words, width, bias=False), model.linear("project_out", width, words, False)
    embedded = exact_product(embedding, into.weight)
    return CausalBody(embedded, tuple(layers), final, table[OFFSET:], transform=Transform(out.weight), words=embedding)


OPT = CausalFamily("opt", "OPT", "OPT", "model.decoder.", _body, "embed_tokens.weight", padding=1)
