"""Encoders: what is common to all their families. Norms stand after each step, and every position sees all others.

A body maps tokens to the vectors after its last layer. Upon it stands the head of a classifier of sequences, which
reads the first token, of a classifier of tokens, or of a model that predicts hidden tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction
from hardsim.network.dense import (
    Activation,
    Dense,
    Network,
    NetworkLayer,
    Norm,
    Readout,
    Token,
    Transform,
)
from hardsim.reading.attention import Projection
from hardsim.reading.huggingface.causal import read_labels
from hardsim.reading.huggingface.parts import StoredModel
from hardsim.reading.tensors import Stored

Tokens: TypeAlias = tuple[Token, ...]
ENCODER_EPSILON = Fraction(1, 10**12)
"""The default epsilon of LayerNorm in these families."""


@dataclass(frozen=True)
class EncoderBody:
    """The body of a network: the fields of `Network` that it defines, and what its heads need."""

    embedding: Dense
    positions: Dense | tuple[tuple[int, PositionFunction], ...]
    embedding_norm: Norm
    layers: tuple[NetworkLayer, ...]
    epsilon: Fraction
    activation: Activation
    embedding_bias: Dense | None = None
    padding: int | None = None
    """The id of a token whose position is not counted; None if all positions are counted."""
    final: Norm | None = None
    projection: Projection | None = None
    """The map from embeddings of another width to the residual stream."""

    @property
    def embedded(self) -> int:
        """The width of embeddings."""
        return int(self.embedding.shape[1])

    @property
    def width(self) -> int:
        """d, the width of the residual stream."""
        return self.embedded if self.projection is None else int(self.projection.weight.shape[1])


@dataclass(frozen=True)
class EncoderOutputs:
    """The last part of a network: an unembedding (O, e) of the vectors of the body, with its bias, and the readout."""

    unembedding: Dense
    bias: Dense | None
    names: Tokens
    readout: Readout
    transform: Transform | None = None


EncoderHead: TypeAlias = Callable[[StoredModel, EncoderBody, Tokens], EncoderOutputs]


@dataclass(frozen=True)
class EncoderFamily:
    """A family of encoders."""

    model_type: str
    """The value of `model_type` in config.json."""
    title: str
    classes: str
    """The beginning of the names of its classes in transformers."""
    prefix: str
    """The beginning of the names of the body's tensors."""
    body: Callable[[StoredModel], EncoderBody]
    heads: Mapping[str, EncoderHead]
    """The supported heads, by the ends of the names of their classes."""
    telling: Mapping[str, str]
    """For each of these heads a tensor that no head before it has."""

    @property
    def library(self) -> str:
        """The name of the configuration class."""
        return f"{self.classes}Config"


def read_encoder(family: EncoderFamily, stored: Stored) -> Network:
    """Read the network in a folder of a family: a classifier of sequences or tokens, or a model that predicts hidden
    tokens. A base model has no outputs, and is refused.

    A classifier of sequences answers at the first token that is read, the others at each symbol. Raises InputError if a
    tensor or a setting is missing, wrong or not understood."""
    model = StoredModel(stored, family.prefix, family.library)
    model.settings.choice("model_type", {family.model_type: family.model_type})
    model.settings.neutral("is_causal", False)
    head = _head(family, model)
    body = family.body(model)
    tokens = stored.tokens(len(body.embedding))
    found = family.heads[head](model, body, tokens)
    readout = _without_padding(model, found.readout, body.padding, tokens)
    model.weights.done()
    return Network(
        tokens,
        body.embedding,
        body.positions,
        body.layers,
        body.final,
        found.unembedding.T,
        found.bias,
        found.names,
        readout,
        embedding_bias=body.embedding_bias,
        embedding_norm=body.embedding_norm,
        projection=None if body.projection is None else body.projection.weight,
        projection_bias=None if body.projection is None else body.projection.bias,
        transform=found.transform,
    )


def _head(family: EncoderFamily, model: StoredModel) -> str:
    """Return which of the family's heads the network has: as `architectures` states, else as its tensors show."""
    settings, key, stated = model.settings, "architectures", model.settings.value("architectures")
    names = stated if isinstance(stated, list) else [] if stated is None else [stated]
    # The TensorFlow and Flax classes store the same networks.
    known = {str(name).removeprefix("TF").removeprefix("Flax") for name in names}
    if len(known) > 1:
        raise settings.at(key).error("one architecture")
    name, classes = next(iter(known), ""), [family.classes + head for head in family.heads]
    if found := next((head for head in family.heads if name.endswith(head)), None):
        settings.take(key, family.classes + found, None if name in classes else f"{settings.source}: {name}")
        return found
    hint = f"Save the model with its head, such as {classes[0]}: a base model ends in hidden states, without outputs."
    if name.startswith(family.classes):
        raise settings.at(key).error(f"one of {', '.join(classes)}", hint)
    found = next((head for head, tensor in family.telling.items() if model.weights.has(tensor)), None)
    if found is None:
        stated_text = f"{key} is {name}" if name else f"no {key}"
        raise settings.at(key).refusal(f"no tensor of a head that is supported, and {stated_text}", hint)
    settings.take(key, family.classes + found, "the weights: the names of tensors")
    if name:
        message = f"{key} is {name}, which is not a class of transformers: read as {family.classes + found}"
        settings.remarks.append(message)
    return found


def _without_padding(model: StoredModel, readout: Readout, padding: int | None, tokens: Tokens) -> Readout:
    """Return the readout of a network whose positions are counted without padding: words have no padding."""
    if padding is None or not 0 <= padding < len(tokens):
        return readout
    pad = tokens[padding]
    model.settings.remarks.append(f"positions are counted without the padding {pad}: words cannot contain it")
    return Readout(
        at=readout.at,
        decide=readout.decide,
        pooled=readout.pooled,
        excluded=(pad,),
    )


# ---- heads ----


def labelled(model: StoredModel, count: int) -> tuple[Tokens, Literal["argmax", "above"]]:
    """Return the names of a classifier's outputs, and how they give an answer."""
    settings = model.settings
    labels, problem = read_labels(settings, count), settings.value("problem_type")
    settings.take("problem_type", "none" if problem is None else problem)
    several = len(labels) > 1 and problem != "multi_label_classification"
    return labels, "argmax" if several else "above"


def _outer(model: StoredModel, name: str, rows: int | None, columns: int) -> tuple[Dense, Dense]:
    """Return the weight (rows, columns) and the bias of a linear layer outside the body."""
    weight = model.weights.take(f"{name}.weight", rows, columns)
    return weight, model.weights.take(f"{name}.bias", len(weight))


def classifies_sequences(dense: str, out: str, activation: Activation, inside: bool = False) -> EncoderHead:
    """Return the head that reads the first token through the linear layer `dense`, an activation, and the layer
    `out`. With `inside`, the first layer belongs to the body."""

    def head(model: StoredModel, body: EncoderBody, _: Tokens) -> EncoderOutputs:
        weight, bias = _outer(model, f"{model.start if inside else ''}{dense}", body.width, body.width)
        unembedding, out_bias = _outer(model, out, None, body.width)
        labels, decide = labelled(model, len(unembedding))
        readout = Readout(decide=decide, pooled="start")
        return EncoderOutputs(unembedding, out_bias, labels, readout, Transform(weight.T, bias, activation))

    return head


def classifies_tokens(name: str = "classifier", unused: tuple[str, ...] = ()) -> EncoderHead:
    """Return the head with one linear layer at each token. `unused` are linear layers of the body that older versions
    stored with this head."""

    def head(model: StoredModel, body: EncoderBody, _: Tokens) -> EncoderOutputs:
        weight, bias = _outer(model, name, None, body.width)
        _leave(model, unused, body.width)
        labels, decide = labelled(model, len(weight))
        return EncoderOutputs(weight, bias, labels, Readout(at="each", decide=decide))

    return head


def detects_tokens(dense: str, out: str, name: str) -> EncoderHead:
    """Return the head with one output, called `name`, at each token: the linear layer `dense`, the activation of the
    body, and the layer `out`."""

    def head(model: StoredModel, body: EncoderBody, _: Tokens) -> EncoderOutputs:
        weight, bias = _outer(model, dense, body.width, body.width)
        unembedding, out_bias = _outer(model, out, 1, body.width)
        transform = Transform(weight.T, bias, body.activation)
        return EncoderOutputs(unembedding, out_bias, (name,), Readout(at="each"), transform)

    return head


@dataclass(frozen=True)
class PredictionNames:
    """The names of the tensors of a head that predicts hidden tokens."""

    dense: str
    norm: str
    out: str
    """The unembedding, whose weight is missing if it is the embedding."""
    bias: str
    """Another name of its bias."""


def predicts_tokens(
    names: PredictionNames, activation: Activation | None = None, unused: tuple[str, ...] = (), second: str = ""
) -> EncoderHead:
    """Return the head that predicts a token at each position through a linear layer, an activation (None: that of the
    body) and a norm. `second` is the linear layer of a second head, about pairs of sentences, which is not read."""

    def head(model: StoredModel, body: EncoderBody, tokens: Tokens) -> EncoderOutputs:
        weights, width, size = model.weights, body.width, body.embedded
        weight, bias = _outer(model, names.dense, size, width)
        norm = Norm("layer", body.epsilon, *(weights.take(f"{names.norm}.{part}", size) for part in ("weight", "bias")))
        _leave(model, unused, width)
        tied = model.settings.truth("tie_word_embeddings", True)
        out_bias = _out_bias(model, names, len(tokens), tied)
        unembedding = encoder_unembedding(model, f"{names.out}.weight", body.embedding, tied)
        transform = Transform(weight.T, bias, activation or body.activation, norm)
        if second:
            _outer(model, second, None, width)
            model.settings.remarks.append(f"{second} is a second head, about pairs of sentences: it is not read")
        return EncoderOutputs(unembedding, out_bias, tokens, Readout(at="each", decide="argmax"), transform)

    return head


def encoder_unembedding(model: StoredModel, name: str, embedding: Dense, tied: bool) -> Dense:
    """Return the unembedding (V, e): its own, or the embedding."""
    own = model.weights.maybe(name, *embedding.shape)
    if own is None and not tied:
        hint = "Save the whole model, or set tie_word_embeddings to true in config.json if both are one table."
        raise model.weights.error(f"{name} is missing, and tie_word_embeddings is false", hint)
    if own is not None and tied and not np.array_equal(own, embedding):
        hint = "Set tie_word_embeddings to false if the network has a separate unembedding."
        raise model.weights.error(f"{name} differs from the embedding, but tie_word_embeddings is true", hint)
    return embedding if own is None else own


def _out_bias(model: StoredModel, names: PredictionNames, count: int, tied: bool) -> Dense:
    """Return the bias of the unembedding. It may be stored under either of two names, or under both.

    They are one tensor, but for networks of version 5 that are not tied: there the first has no part."""
    own = f"{names.out}.bias"
    found = [model.weights.take(name, count) for name in dict.fromkeys((names.bias, own)) if model.weights.has(name)]
    if len(found) == 2 and not np.array_equal(found[0], found[1]):
        if tied:
            hint = "They are one tensor if tie_word_embeddings is true: save the model again."
            raise model.weights.error(f"{names.bias} differs from {own}", hint)
        model.settings.remarks.append(f"{names.bias} has no part in this network, whose tie_word_embeddings is false")
    return found[-1] if found else model.weights.take(names.bias, count)


def _leave(model: StoredModel, names: tuple[str, ...], width: int) -> None:
    """Take linear layers of the body that the network does not use, if they are stored."""
    for name in names:
        if model.has(f"{name}.weight"):
            _outer(model, f"{model.start}{name}", width, width)
            model.settings.remarks.append(f"{model.start}{name} has no part in this network")
