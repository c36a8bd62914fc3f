"""The `.ahat.json` format: a hard-attention transformer as data, read with every value checked, and written.

The JSON Schema `ahat.schema.json` beside this file describes it. A softmax model of the same network is written in the
same format, with `softmax` heads and a temperature.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from hardsim.ahat.harden import with_softmax
from hardsim.errors import InputError, SourceError
from hardsim.lang.ast import FormulaFile
from hardsim.lang.parse import parse_text
from hardsim.lang.predicate import user_predicates
from hardsim.lang.words import parse_word
from hardsim.net.encodings import Users
from hardsim.net.model import Schedule, Transformer
from hardsim.net.reader import Reader, Refused, shown
from hardsim.net.store import read_transformer, transformer_json
from hardsim.spec.columns import PredicateColumn
from hardsim.spec.ir import Weighting

FORMAT = "hardsim-ahat"
SCHEMA_VERSION = 1
REWRITE = "Write the model as JSON in UTF-8; `hardsim compile` writes such files."
KEYS = (
    "$schema", "format", "schema_version", "version", "title", "source", "notes", "predicates", "examples", "alphabet",
    "bos", "coordinates", "embedding", "encodings", "layers", "output", "threshold", "reading", "weighting",
    "temperature", "outputs", "blank",
)  # fmt: skip


@dataclass(frozen=True)
class AhatFile:
    """A hard-attention model with what its file says about it. `examples` are words with whether they are accepted.

    In a softmax file every head says by "hardmax" which hard attention it stands for (average, if nothing), and
    `temperature` is the softmax model's. `outputs` are the coordinates of the symbols of a transduction.
    """

    model: Transformer
    title: str = ""
    source: str = ""
    predicates: tuple[str, ...] = ()
    """Definitions such as `MIDDLE(i, n) = 2*i == n + 1`, which encodings may name."""
    examples: tuple[tuple[tuple[str, ...], bool], ...] = ()
    temperature: Schedule | None = None
    outputs: tuple[tuple[str, int], ...] = ()
    blank: str | None = None


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the format."""
    text = files("hardsim.ahat").joinpath("ahat.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def read_json(data: bytes, path: str) -> Reader:
    """A JSON document, ready to be read.

    Raises:
        InputError: if it is not UTF-8 or not JSON (NaN and Infinity are not), or an object has a key twice or an empty
            one.
    """
    refused: list[Refused] = []

    def refuse(reason: str) -> Refused:
        refused.append(Refused(reason))
        return refused[-1]

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Refused:
        found = dict(pairs)
        if "" in found:
            return refuse("a key is empty")
        if len(found) == len(pairs):
            return found
        return refuse(f"the key {shown(_twice(pairs))} occurs twice in one object")

    try:
        text = data.decode("utf-8-sig")
        value = json.loads(
            text, object_pairs_hook=members, parse_constant=lambda found: refuse(f"{found} is no number of JSON")
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}", hint=REWRITE) from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}", hint=REWRITE) from None
    except (RecursionError, ValueError):
        raise InputError(
            f"{path}: not JSON that hardsim can read (nested too deeply, or a number too long)", hint=REWRITE
        ) from None
    document = Reader(value, path)
    if refused:
        raise next(document.refusals())
    return document


def _twice(pairs: list[tuple[str, Any]]) -> str:
    """The first key of which one value would be lost."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return key


def read_ahat(document: Reader) -> AhatFile:
    """The model that a document describes.

    Raises:
        InputError: naming the place inside the document, what was expected and what was found.
    """
    document.field("format").choice({FORMAT: FORMAT}.__getitem__, FORMAT)
    document.field("schema_version").integer(SCHEMA_VERSION, SCHEMA_VERSION)
    document.only(*KEYS)
    users, predicates = _read_predicates(document)
    model = read_transformer(document, users)
    soft = model.soft and bool(model.heads)
    hard = all(head.weighting is not Weighting.SOFTMAX for head in model.heads)
    if model.heads and hard and document.has("temperature"):
        raise document.field("temperature").error("no temperature: hard attention has none")
    if model.threshold is None:
        raise document.error("an object with the key 'threshold'")
    blank = document.field("blank").text() if document.has("blank") else None
    if model.alphabet == (blank,):
        raise document.field("blank").error("a symbol beside which the alphabet has others")
    return AhatFile(
        model=_hard_model(document, model),
        title=document.field("title").text() if document.has("title") else "",
        source=document.field("source").text() if document.has("source") else "",
        predicates=predicates,
        examples=_read_examples(document.field("examples"), model.alphabet) if document.has("examples") else (),
        temperature=model.temperature if soft else None,
        outputs=_read_outputs(document, model),
        blank=blank,
    )


def _hard_model(document: Reader, model: Transformer) -> Transformer:
    """The hard-attention model that a softmax file stands for; a hard one is its own.

    Raises:
        InputError: if heads of both kinds are mixed: they have no hard attention to be compared with.
    """
    kinds = {head.weighting is Weighting.SOFTMAX for head in model.heads}
    if len(kinds) == 2:
        raise document.field("layers").error("heads that are all softmax, or all average, leftmost or rightmost")
    if kinds != {True}:
        for place in document.field("layers").items():
            for part in place.field("heads").items():
                if part.has("hardmax"):
                    raise part.field("hardmax").error("a softmax head (a hard one is what its weighting says)")
        return model
    layers = []
    for layer, item in zip(model.layers, document.field("layers").items(), strict=True):
        heads = [
            replace(head, weighting=_hardmax(part))
            for head, part in zip(layer.heads, item.field("heads").items(), strict=True)
        ]
        layers.append(replace(layer, heads=tuple(heads)))
    return replace(model, layers=tuple(layers))


def _hardmax(data: Reader) -> Weighting:
    options = {weighting.value: weighting for weighting in Weighting if weighting is not Weighting.SOFTMAX}
    if not data.has("hardmax"):
        return Weighting.AVERAGE
    return data.field("hardmax").choice(options.__getitem__, ", ".join(options))


def _read_outputs(document: Reader, model: Transformer) -> tuple[tuple[str, int], ...]:
    if not document.has("outputs"):
        return ()
    data = document.field("outputs")
    if not isinstance(data.value, dict) or not data.value:
        raise data.error("an object from output symbols to coordinates")
    index = {name: number for number, name in enumerate(model.coordinates)}
    return tuple((symbol, data.field(symbol).choice(index.__getitem__, "the coordinates")) for symbol in data.value)


def _read_predicates(document: Reader) -> tuple[Users, tuple[str, ...]]:
    if not document.has("predicates"):
        return {}, ()
    definitions = tuple(item.text() for item in document.field("predicates").items())
    text = "alphabet: a\n" + "".join(f"pred {' '.join(definition.split())}\n" for definition in definitions) + "true\n"
    try:
        file = parse_text(text, f"{document.name}: predicates")
    except SourceError as error:
        raise document.field("predicates").error(f"definitions of predicates ({error.message})") from None
    meanings = user_predicates(file)
    return {item.name: (item.text, meanings[item.name]) for item in file.predicates}, definitions


def _read_examples(data: Reader, alphabet: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], bool], ...]:
    data.only("accept", "reject")
    found: list[tuple[tuple[str, ...], bool]] = []
    for key, accepted in (("accept", True), ("reject", False)):
        if not data.has(key):
            continue
        for item in data.field(key).items():
            try:
                found.append((parse_word(item.text(), alphabet), accepted))
            except SourceError as error:
                raise item.error(f"a word over the alphabet ({error.message})") from None
    return tuple(found)


def ahat_json(file: AhatFile) -> dict[str, Any]:
    """The document of a model."""
    data: dict[str, Any] = {"format": FORMAT, "schema_version": SCHEMA_VERSION}
    data |= {key: value for key, value in (("title", file.title), ("source", file.source)) if value}
    if file.predicates:
        data["predicates"] = list(file.predicates)
    if file.examples:
        separator = "" if all(len(symbol) == 1 for symbol in file.model.alphabet) else " "
        data["examples"] = {
            key: [separator.join(word) for word, wanted in file.examples if wanted is accepted]
            for key, accepted in (("accept", True), ("reject", False))
        }
    if file.outputs:
        data["outputs"] = {symbol: file.model.coordinates[index] for symbol, index in file.outputs}
    if file.blank is not None:
        data["blank"] = file.blank
    if file.temperature is None:
        return data | transformer_json(file.model)
    soft = transformer_json(with_softmax(file.model, file.temperature))
    for layer, source in zip(soft["layers"], file.model.layers, strict=True):
        for head, declared in zip(layer["heads"], source.heads, strict=True):
            head["hardmax"] = declared.weighting.value
    return data | soft


def named_predicates(model: Transformer, formula: FormulaFile) -> tuple[str, ...]:
    """The definitions of those of a formula's own predicates that the encodings name."""
    used = {value.name for _, value in model.encodings if isinstance(value, PredicateColumn)}
    return tuple(
        f"{predicate.name}({', '.join(predicate.params)}) = {' '.join(predicate.text.split())}"
        for predicate in formula.predicates
        if predicate.name in used
    )
