"""Causal language models and classifiers: what is common to all their families, whatever the body is.

A body maps tokens to the vectors after its final norm. Upon it stands the head of a language model, of a classifier of
sequences, which reads the last token that is not padding, or of a classifier of tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction
from hardsim.network.dense import Dense, Network, NetworkLayer, Norm, Readout, RootScale, Token, Transform
from hardsim.reading.huggingface.parts import StoredModel
from hardsim.reading.tensors import Settings, Stored

Tokens: TypeAlias = tuple[Token, ...]
Head: TypeAlias = tuple[Dense, Dense | None, Tokens, Readout]
"""The unembedding [outputs, d], its bias, the names of the outputs, and the readout."""


@dataclass(frozen=True)
class CausalBody:
    """The body of a network: the fields of `Network` that it defines, and the parts of a language model around them."""

    embedding: Dense
    layers: tuple[NetworkLayer, ...]
    final: Norm | None
    positions: Dense | tuple[tuple[int, PositionFunction], ...] = ()
    embedding_scale: RootScale = field(default_factory=RootScale)
    embedding_norm: Norm | None = None
    transform: Transform | None = None
    words: Dense | None = None
    """The matrix (V, e) that a tied unembedding is, if it is not the embedding."""
    logit_scale: Fraction = Fraction(1)
    """The factor of the outputs of a language model."""
    output_cap: Fraction | None = None
    """The soft cap of the outputs of a language model."""


@dataclass(frozen=True)
class CausalFamily:
    """A family of causal networks."""

    model_type: str
    """The value of `model_type` in config.json."""
    title: str
    classes: str
    """The beginning of the names of its classes in transformers."""
    prefix: str
    """The beginning of the names of the body's tensors, beside those of a head."""
    body: Callable[[StoredModel], CausalBody]
    embedding: str
    """The name of the embedding, without the prefix."""
    language_model: str = "ForCausalLM"
    """The end of the name of the class of language models."""
    unembedding: str = "lm_head"
    biased: bool = False
    """True if the unembedding of a language model has a bias."""
    tied: bool = True
    """The default of `tie_word_embeddings`."""
    padding: int | None = None
    """The default of `pad_token_id`."""
    score: str = "score"
    """The unembedding of a classifier of sequences."""

    @property
    def library(self) -> str:
        """The name of the configuration class."""
        return f"{self.classes}Config"

    @property
    def heads(self) -> dict[str, Callable[[CausalFamily, StoredModel, CausalBody, Tokens], Head]]:
        """The supported heads, by the names of their classes."""
        return {
            f"{self.classes}{self.language_model}": _language_model,
            f"{self.classes}ForSequenceClassification": _sequences,
            f"{self.classes}ForTokenClassification": _each_token,
        }

    @property
    def others(self) -> dict[str, str]:
        """Classes that are not supported, and why."""
        found = {
            "Model": "a base model without a head: it ends in hidden states, and has no outputs",
            "PreTrainedModel": "a class that does not name the head of the network",
            "DoubleHeadsModel": "a model with two heads, which is not supported",
            "ForQuestionAnswering": "a model that marks answers in a text, which is not supported",
        }
        return {self.classes + name: reason for name, reason in found.items()}


def read_causal(family: CausalFamily, stored: Stored) -> Network:
    """Read the network in a folder of a family: a language model, or a classifier of sequences or tokens. A base model
    has no outputs, and is refused.

    A language model answers with the largest of its outputs at each position, a classifier of sequences with that at
    the last position. With one label, or with several that do not exclude each other, the answer says which outputs are
    above 0. Raises InputError if a tensor or a setting is missing, wrong or not understood."""
    model = StoredModel(stored, family.prefix, family.library)
    model.settings.choice("model_type", {family.model_type: family.model_type})
    # False lets each position see those after it.
    model.settings.neutral("is_causal", True)
    head = _architecture(family, model)
    body = family.body(model)
    tokens = stored.tokens(len(body.embedding))
    unembedding, bias, outputs, readout = family.heads[head](family, model, body, tokens)
    model.weights.done()
    speaks = head == next(iter(family.heads))
    return Network(
        tokens,
        body.embedding,
        body.positions,
        body.layers,
        body.final,
        unembedding.T,
        bias,
        outputs,
        readout,
        body.embedding_scale,
        embedding_norm=body.embedding_norm,
        transform=body.transform,
        output_cap=body.output_cap if speaks else None,
    )


def _architecture(family: CausalFamily, model: StoredModel) -> str:
    """Return which of the family's heads the network has: as `architectures` states, else as its tensors show. Raises
    InputError if it has none (a base model), or one that is not supported."""
    settings, heads = model.settings, family.heads
    speaks, sequences, each = heads
    key, stated = "architectures", settings.value("architectures")
    names = stated if isinstance(stated, list) else [] if stated is None else [stated]
    # The TensorFlow and Flax classes store the same networks.
    known = [str(name).removeprefix("TF").removeprefix("Flax") for name in names]
    if len(set(known)) > 1:
        raise settings.at(key).error("one architecture")
    name = known[0] if known else ""
    if name in heads:
        settings.take(key, name)
        return name
    base = f"{family.classes}Model"
    headless = (
        f"Save the model with its head, such as {speaks}. If its outputs are those of a language model whose "
        f'unembedding is its embedding, state it: "architectures": ["{speaks}"] in config.json.'
    )
    if name in family.others:
        hint = f"{name} is {family.others[name]}. {headless if name == base else ''}".strip()
        raise settings.at(key).error(f"one of {', '.join(heads)}", hint)
    if like := next((head for head in heads if name.endswith(head.removeprefix(family.classes))), None):
        settings.take(key, like, f"{settings.source}: {name}")  # a user's own class, named after its head
        return like
    weights = model.weights
    if weights.has(f"{family.unembedding}.weight"):
        found = speaks
    elif weights.has("classifier.weight") or weights.has("score.bias"):
        found = each
    elif weights.has("score.weight"):
        found = sequences
    elif model.nested:
        found = speaks  # a head tied to the embedding has no tensor, but then the body's tensors have a prefix
    else:
        stated_text = f"{key} is {name}" if name else f"no {key}"
        message = f"no tensor of a head, and {stated_text}: this seems to be {base}, {family.others[base]}"
        raise settings.at(key).refusal(message, headless)
    settings.take(key, found, "the weights: the names of tensors")
    if name:
        settings.remarks.append(f"{key} is {name}, which is not a class of transformers: read as {found}")
    return found


def _width(body: CausalBody) -> int:
    """Return the width of the vectors that the unembedding reads."""
    return int(body.embedding.shape[1] if body.transform is None else body.transform.weight.shape[1])


def _language_model(family: CausalFamily, model: StoredModel, body: CausalBody, tokens: Tokens) -> Head:
    settings, weights, name = model.settings, model.weights, f"{family.unembedding}.weight"
    words = body.embedding if body.words is None else body.words
    tied, own = settings.truth("tie_word_embeddings", family.tied), weights.maybe(name, len(words), _width(body))
    if own is None and not tied:
        hint = "Save the whole language model, or set tie_word_embeddings to true in config.json if both are one table."
        raise weights.error(f"{name} is missing, and tie_word_embeddings is false", hint)
    if own is not None and tied and not np.array_equal(own, words):
        hint = "Set tie_word_embeddings to false if the network has a separate unembedding."
        raise weights.error(f"{name} differs from {family.embedding}, but tie_word_embeddings is true", hint)
    bias = weights.take(f"{family.unembedding}.bias", len(words)) if family.biased else None
    unembedding = words if own is None else own
    if body.logit_scale != 1:
        unembedding = scaled(unembedding, body.logit_scale)
    return unembedding, bias, tokens, Readout(at="each", decide="argmax")


def _sequences(family: CausalFamily, model: StoredModel, body: CausalBody, tokens: Tokens) -> Head:
    settings = model.settings
    found = model.weights.take(f"{family.score}.weight", None, _width(body))
    pad = family.padding if "pad_token_id" not in settings.document.value else settings.value("pad_token_id")
    labels, problem = read_labels(settings, len(found)), settings.value("problem_type")
    several = len(labels) > 1 and problem != "multi_label_classification"
    settings.take("problem_type", "none" if problem is None else problem)
    settings.take("pad_token_id", "none" if pad is None else pad)
    # The library takes the last token that is not padding, wherever it is.
    padded = isinstance(pad, int) and 0 <= pad < len(tokens)
    padding = tokens[pad] if isinstance(pad, int) and padded else None
    decide: Literal["argmax", "above"] = "argmax" if several else "above"
    return found, None, labels, Readout(decide=decide, padding=padding)


def _each_token(family: CausalFamily, model: StoredModel, body: CausalBody, tokens: Tokens) -> Head:
    weights = model.weights
    # Most families once had the first name, and now have the second.
    name = "score" if weights.has("score.bias") and not weights.has("classifier.weight") else "classifier"
    found = weights.take(f"{name}.weight", None, _width(body))
    labels, bias = read_labels(model.settings, len(found)), weights.take(f"{name}.bias", len(found))
    return found, bias, labels, Readout(at="each", decide="argmax" if len(labels) > 1 else "above")


def read_labels(settings: Settings, count: int) -> Tokens:
    """Return the names of a classifier's outputs."""
    named = settings.value("id2label")
    for key in ("num_labels", "_num_labels"):
        settings.neutral(key, count)
    if named is None:
        return tuple(map(str, range(count)))
    keys = list(map(str, range(count)))
    right = isinstance(named, dict) and named.keys() == set(keys) and all(isinstance(t, str) for t in named.values())
    if not right or len(set(named.values())) < count:
        raise settings.at("id2label").error(f"an object with {count} different labels, by the outputs 0 to {count - 1}")
    return tuple(named[key] for key in keys)


def scaled(array: Dense, factor: Fraction) -> Dense:
    """Return an array times a rational, exactly: of float64 if the factor is a power of 2 and no product underflows,
    else of Fractions."""
    found = np.empty(array.shape, dtype=object)
    found.ravel()[:] = [Fraction(value) * factor for value in array.ravel().tolist()]
    floats = found.astype(np.float64)
    same = all(Fraction(a) == b for a, b in zip(floats.ravel().tolist(), found.ravel().tolist(), strict=True))
    return floats if same else found
