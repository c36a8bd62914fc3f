"""GPT-2, with or without position embeddings.

Source: transformers, `models/gpt2/modeling_gpt2.py` (Radford et al. 2019, "Language models are unsupervised multitask
learners"): pre-norm blocks, `Conv1D` layers (y = x W + b, W of shape [in, out]), q, k and v side by side in `c_attn`,
causal masks, scores divided by sqrt(d / heads), a final norm, and an unembedding that is the embedding or separate.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hardsim.network.dense import Activation, Dense, Mlp, NetworkLayer, RootScale
from hardsim.reading.attention import Projection
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    AttentionShape,
    Projections,
    ScoreRules,
    StoredModel,
    attention_heads,
    joint_projections,
)


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width = model.size("n_embd", "hidden_size")
    shape = model.shape(width, "n_head", "num_attention_heads", of="n_embd", grouped=False)
    rows = model.size("n_positions", "max_position_embeddings")
    settings.neutral("n_ctx", rows)
    vocabulary, hidden = settings.integer("vocab_size"), settings.integer("n_inner", 4 * width)
    count = model.size("n_layer", "num_hidden_layers", least=0)
    epsilon = settings.epsilon("layer_norm_epsilon")
    activation = settings.choice("activation_function", ACTIVATIONS, "gelu_new")
    scaled = settings.truth("scale_attn_weights", True)
    by_layer = settings.truth("scale_attn_by_inverse_layer_idx", False)
    model.settled()
    layers = []
    for layer in range(count):
        name = f"h.{layer}."
        factor = Fraction(1, layer + 1) if by_layer else Fraction(1)
        rules = ScoreRules(RootScale(factor, shape.key if scaled else 1))
        maps = conv_projections(model, f"{name}attn.", width, shape)
        model.masks(f"{name}attn.", rows)
        norm_1, norm_2 = (model.layer_norm(f"{name}{norm}", width, epsilon) for norm in ("ln_1", "ln_2"))
        heads = attention_heads(layer, shape, maps, rules)
        mlp = conv_mlp(model, f"{name}mlp.", activation, width, hidden)
        layers.append(NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2))
    embedding = model.take("wte.weight", vocabulary, width, why="vocab_size, n_embd")
    final = model.layer_norm("ln_f", width, epsilon)
    return CausalBody(embedding, tuple(layers), final, _positions(model, rows, width))


def _conv(model: StoredModel, name: str, into: int, out: int, why: str = "") -> Projection:
    """Return a `Conv1D` layer, whose weight is [in, out]."""
    return Projection(model.take(f"{name}.weight", into, out, why=why), model.take(f"{name}.bias", out))


def conv_projections(model: StoredModel, name: str, width: int, shape: AttentionShape) -> Projections:
    """Return the maps of an attention layer of `Conv1D`, with all queries, all keys and all values side by side."""
    joint = _conv(model, f"{name}c_attn", width, 3 * width, "n_embd, 3 n_embd")
    places = np.arange(3 * width).reshape(3, shape.heads, shape.key).swapaxes(0, 1)
    return joint_projections(joint, places, _conv(model, f"{name}c_proj", width, width))


def conv_mlp(model: StoredModel, name: str, activation: Activation, width: int, hidden: int) -> Mlp:
    """Return an MLP of two `Conv1D` layers."""
    why = "n_inner, or 4 n_embd"
    into = _conv(model, f"{name}c_fc", width, hidden, why)
    out = _conv(model, f"{name}c_proj", hidden, width, why)
    return Mlp(activation, into.weight, out.weight, into.bias, out.bias)


def _positions(model: StoredModel, rows: int, width: int) -> Dense | tuple[()]:
    """Return the table of positions. A class of the user's own may leave it out; the library's has it."""
    stated = model.settings.value("architectures")
    names = [str(name).removeprefix("TF").removeprefix("Flax") for name in stated] if isinstance(stated, list) else []
    own = bool(names) and not GPT2.heads.keys() & set(names)
    if own and not model.has("wpe.weight"):
        model.settings.remarks.append("there is no tensor wpe.weight: this network has no position embeddings")
        return ()
    if not model.has("wpe.weight"):
        hint = 'A network without position embeddings has a class of its own: name it as "architectures".'
        raise model.weights.error(f"the tensor {model.start}wpe.weight is missing", hint)
    return model.take("wpe.weight", rows, width, why="n_positions, n_embd")


GPT2 = CausalFamily("gpt2", "GPT-2", "GPT2", "transformer.", _body, "wte.weight", language_model="LMHeadModel")
