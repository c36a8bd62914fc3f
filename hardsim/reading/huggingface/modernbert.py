"""ModernBERT: norms before each step, gated MLPs, and rotary positions; two of three layers see a window.

Source: transformers, `models/modernbert/modeling_modernbert.py` (Warner et al. 2024, arXiv 2412.13663). The first
layer has no norm before attention. Layers with a window, of `local_attention // 2` positions on each side, have rotary
positions of their own.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from hardsim.network.dense import Activation, Dense, Mlp, NetworkLayer, Norm, Readout, RootScale, Transform
from hardsim.network.numbers import Mask
from hardsim.reading.huggingface.bert import EACH, MASKED, SEQUENCES
from hardsim.reading.huggingface.encoder import (
    EncoderBody,
    EncoderFamily,
    EncoderOutputs,
    Tokens,
    encoder_unembedding,
    labelled,
)
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    AttentionShape,
    ScoreRules,
    StoredModel,
    attention_heads,
    is_null,
    joint_projections,
)
from hardsim.reading.huggingface.rotary import FULL, SLIDING, RotaryNames, read_rotary

GLOBAL = RotaryNames(Fraction(160_000), others={"rope_theta": "global_rope_theta"}, whole=True, shared=False)
LOCAL = RotaryNames(Fraction(10_000), others={"rope_theta": "local_rope_theta"}, whole=True, shared=False)
HARMLESS = (
    "max_position_embeddings", "initializer_cutoff_factor", "mlp_dropout", "cls_token_id", "reference_compile",
    "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index", "repad_logits_with_grad",
    "layer_norm_eps", "classifier_pooling", "classifier_bias", "classifier_activation", "decoder_bias",
)  # fmt: skip
"""Settings that change nothing, or that a head reads."""


def _body(model: StoredModel) -> EncoderBody:
    settings, width = model.settings, model.size("hidden_size")
    count, shape = model.size("num_hidden_layers", least=0), model.shape(width, grouped=False)
    vocabulary, hidden = model.size("vocab_size"), model.size("intermediate_size")
    activation = settings.choice("hidden_activation", ACTIVATIONS, "gelu")
    epsilon = settings.epsilon("norm_eps")
    biased, mlp_biased = settings.truth("attention_bias", False), settings.truth("mlp_bias", False)
    rules = _rules(model, shape, count)
    settings.neutral("position_embedding_type", "absolute", "sans_pos")
    model.settled("norm_bias", *HARMLESS)

    def layer(number: int) -> NetworkLayer:
        name = f"layers.{number}."
        joint = model.linear(f"{name}attn.Wqkv", width, 3 * width, biased)
        places = np.arange(3 * width).reshape(3, shape.heads, shape.key).swapaxes(0, 1)
        maps = joint_projections(joint, places, model.linear(f"{name}attn.Wo", width, width, biased))
        heads = (replace(head, mask=Mask.NONE) for head in attention_heads(number, shape, maps, rules[number]))
        norm_1 = _norm(model, f"{model.start}{name}attn_norm", width, epsilon) if number else None
        mlp = _mlp(model, f"{name}mlp.", activation, (width, hidden), mlp_biased)
        norm_2 = _norm(model, f"{model.start}{name}mlp_norm", width, epsilon)
        return NetworkLayer(tuple(heads), mlp, maps.o.bias, norm_1, norm_2)

    embedding = model.take("embeddings.tok_embeddings.weight", vocabulary, width, why="vocab_size, hidden_size")
    entered = _norm(model, f"{model.start}embeddings.norm", width, epsilon)
    layers, final = tuple(map(layer, range(count))), _norm(model, f"{model.start}final_norm", width, epsilon)
    return EncoderBody(embedding, (), entered, layers, epsilon, activation, final=final)


def _rules(model: StoredModel, shape: AttentionShape, layers: int) -> list[ScoreRules]:
    """Return the rules of each layer."""
    settings = model.settings
    every, width = settings.integer("global_attn_every_n_layers", 3), settings.integer("local_attention", 128)
    if is_null(settings, "local_rope_theta"):
        raise settings.at("local_rope_theta").error("a number: versions of transformers differ in what null means")
    windows = model.windows(layers, (layer % every != 0 for layer in range(layers)), width // 2 + 1)
    far, near = (read_rotary(settings, shape.key, *one) for one in ((GLOBAL, FULL), (LOCAL, SLIDING)))
    return [ScoreRules(RootScale(root=shape.key), far if one is None else near, one) for one in windows]


def _mlp(model: StoredModel, name: str, activation: Activation, sizes: tuple[int, int], biased: bool) -> Mlp:
    """Return an MLP whose first matrix has the gate, then the hidden units."""
    width, hidden = sizes
    joint, out = model.linear(f"{name}Wi", width, 2 * hidden, biased), model.linear(f"{name}Wo", hidden, width, biased)
    gate, into = (joint.columns(part) for part in np.split(np.arange(2 * hidden), 2))
    return Mlp(activation, into.weight, out.weight, into.bias, out.bias, gate.weight, gate.bias)


def _norm(model: StoredModel, name: str, width: int, epsilon: Fraction) -> Norm:
    """Return a norm, of the body or of a head."""
    biased, weights = model.settings.truth("norm_bias", False), model.weights
    bias = weights.take(f"{name}.bias", width) if biased else None
    return Norm("layer", epsilon, weights.take(f"{name}.weight", width), bias)


def _transform(model: StoredModel, body: EncoderBody) -> Transform:
    """Return the step that all heads begin with."""
    settings, weights, width = model.settings, model.weights, body.width
    activation = settings.choice("classifier_activation", ACTIVATIONS, "gelu")
    weight = weights.take("head.dense.weight", width, width)
    bias = weights.take("head.dense.bias", width) if settings.truth("classifier_bias", False) else None
    return Transform(weight.T, bias, activation, _norm(model, "head.norm", width, body.epsilon))


def _predicts(model: StoredModel, body: EncoderBody, tokens: Tokens) -> EncoderOutputs:
    transform, tied = _transform(model, body), model.settings.truth("tie_word_embeddings", True)
    bias = model.weights.take("decoder.bias", len(tokens)) if model.settings.truth("decoder_bias", True) else None
    unembedding = encoder_unembedding(model, "decoder.weight", body.embedding, tied)
    return EncoderOutputs(unembedding, bias, tokens, Readout(at="each", decide="argmax"), transform)


def _labels(model: StoredModel, body: EncoderBody) -> tuple[Transform, Dense, Dense]:
    weight = model.weights.take("classifier.weight", None, body.width)
    return _transform(model, body), weight, model.weights.take("classifier.bias", len(weight))


def _classifies_sequences(model: StoredModel, body: EncoderBody, _: Tokens) -> EncoderOutputs:
    transform, weight, bias = _labels(model, body)
    labels, decide = labelled(model, len(weight))
    start = model.settings.choice("classifier_pooling", {"cls": True, "mean": False}, "cls")
    readout = Readout(decide=decide, pooled="start" if start else "mean")
    return EncoderOutputs(weight, bias, labels, readout, transform)


def _classifies_tokens(model: StoredModel, body: EncoderBody, _: Tokens) -> EncoderOutputs:
    transform, weight, bias = _labels(model, body)
    labels, decide = labelled(model, len(weight))
    return EncoderOutputs(weight, bias, labels, Readout(at="each", decide=decide), transform)


MODERNBERT = EncoderFamily(
    "modernbert",
    "ModernBERT",
    "ModernBert",
    "model.",
    _body,
    {MASKED: _predicts, SEQUENCES: _classifies_sequences, EACH: _classifies_tokens},
    # The two classifiers have the same tensors.
    {MASKED: "decoder.bias"},
)
