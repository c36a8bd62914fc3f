"""Transformers as JSON, with exact rationals as strings, and back.

A matrix is `{"shape": [rows, columns], "entries": [[row, column, "p/q"], ...]}`, or, as a person would write it, rows
by name (or in order) that are objects from coordinate names to rationals or arrays of rationals. Reading checks every
shape, index, rational and name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from hardsim.errors import HardsimError, InputError, OutOfRange
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.ast import BOS
from hardsim.lang.valuations import Alphabet, ConstraintKey, Exclusion, Valuations
from hardsim.lang.vocabulary import is_name
from hardsim.lang.words import check_propositions, unprintable
from hardsim.network.columns import PositionFunction, UserPredicate, parse_column, real_value
from hardsim.network.model import (
    AttentionHead,
    FeedForward,
    Layer,
    LengthTable,
    Matrix,
    PositionTable,
    Transformer,
    rows_of,
)
from hardsim.network.numbers import Mask, Rational
from hardsim.network.reader import Reader

LARGEST = 1_000_000
LARGEST_START = 10**9
MASKS = ", ".join(mask.value for mask in Mask)
PROBED = (1, 2, 3, 4)
"""Lengths at which encodings are tried when a model is read."""

Names = Mapping[str, int]
"""The places of rows or columns by name, in order."""
Users = Mapping[str, tuple[str, UserPredicate]]
"""A file's own predicates: text and meaning by name."""


def _places(names: Iterable[str]) -> Names:
    return {name: place for place, name in enumerate(names)}


def matrix_json(matrix: Matrix) -> dict[str, Any]:
    """The sparse form."""
    return {
        "shape": list(matrix.shape),
        "entries": [[row, column, str(value)] for row, column, value in matrix.entries],
    }


def read_matrix(data: Reader, rows: Names | int | None, columns: Names | int) -> Matrix:
    """A matrix in any of the forms; `rows` may be left open.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    height = len(rows) if isinstance(rows, Mapping) else rows
    width = len(columns) if isinstance(columns, Mapping) else columns
    if isinstance(data.value, dict) and "entries" in data.value and "shape" in data.value:
        return _sparse(data, height, width)
    named = f"rows named {', '.join(rows)}" if isinstance(rows, Mapping) else ""
    lines = _members(data, rows, height, named, "an array of rows, or an object with shape and entries")
    entries = {
        (row, column): item.rational()
        for row, line in lines
        for column, item in _members(line, columns, width, "coordinates of the model", f"an array of {width} rationals")
    }
    return Matrix.of(len(lines) if height is None else height, width, entries)


def _members(
    data: Reader, names: Names | int | None, count: int | None, named: str, unnamed: str
) -> list[tuple[int, Reader]]:
    """The members of an array, or of an object if there are names, by their places; what else is expected is `named`
    or `unnamed`."""
    if not isinstance(data.value, dict):
        return list(enumerate(data.items(count)))
    if not isinstance(names, Mapping):
        raise data.error(unnamed)
    for name in data.value:
        if name not in names:
            raise data.error(f"{named} (not {name!r})")
    return [(names[name], item) for name, item in data.members()]


def _sparse(data: Reader, height: int | None, width: int) -> Matrix:
    data.only("shape", "entries")
    rows, columns = (item.integer(0, LARGEST) for item in data.field("shape").items(2))
    if columns != width or (height is not None and rows != height):
        raise data.field("shape").error(f"[{'any' if height is None else height}, {width}]")
    entries: dict[tuple[int, int], Rational] = {}
    for item in data.field("entries").items():
        row, column, value = item.items(3)
        place = row.integer(0, rows - 1), column.integer(0, columns - 1)
        if place in entries:
            raise item.error("each entry once")
        entries[place] = value.rational()
    return Matrix.of(rows, columns, entries)


def encoding_json(value: PositionFunction) -> Any:
    """An expression or a predicate as text, a table of positions as an object, one of lengths as an array."""
    if isinstance(value, PositionTable):
        return {
            "start": value.start,
            "values": [str(entry) for entry in value.values],
            "otherwise": str(value.otherwise),
        }
    return schedule_json(value)


def read_encoding(data: Reader, users: Users | None = None) -> PositionFunction:
    """An expression in i and n, a predicate such as `PRIME(2*i + 1)`, or a table; `users` are the file's own.

    A table of lengths, an array, has a value for each length from 1 on: compiled models have one where the gaps that
    their ties were broken with were measured.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    if isinstance(data.value, dict):
        data.only("start", "values", "otherwise")
        start = data.field("start").integer(-LARGEST_START, LARGEST_START) if data.has("start") else 1
        values = tuple(item.rational() for item in data.field("values").items())
        return PositionTable(start, values, data.field("otherwise").rational() if data.has("otherwise") else 0)
    if isinstance(data.value, list):
        return replace(_lengths(data), what="position encoding")
    return parse_column(data.text(), users or {}, f"{data.name}: {data.path}") or data.arith()


def schedule_json(value: PositionFunction) -> Any:
    """A temperature: an expression, or its values at lengths 1, 2, ..."""
    return [str(entry) for entry in value.values] if isinstance(value, LengthTable) else str(value)


def read_schedule(data: Reader) -> Arith | LengthTable:
    """A temperature from JSON: an expression in i and n, or an array with a value for each length from 1 on."""
    return _lengths(data) if isinstance(data.value, list) else data.arith()


def _lengths(data: Reader) -> LengthTable:
    return LengthTable(tuple(Fraction(item.rational()) for item in data.items()))


def transformer_json(model: Transformer) -> dict[str, Any]:
    """The network as JSON data."""
    names = model.coordinates
    data: dict[str, Any] = {"alphabet": alphabet_json(model.alphabet)} | ({"bos": True} if model.bos else {})
    data |= {
        "coordinates": list(names),
        "embedding": matrix_json(model.embedding),
        "encodings": [{"coordinate": names[index], "value": encoding_json(value)} for index, value in model.encodings],
        "layers": [
            {
                "heads": [
                    {"name": head.name, "mask": head.mask.value}
                    | {"w_q": matrix_json(head.w_q), "w_k": matrix_json(head.w_k), "w_v": matrix_json(head.w_v)}
                    for head in layer.heads
                ],
                "ffn": {
                    "w1": matrix_json(layer.ffn.w1),
                    "b1": [str(value) for value in layer.ffn.b1],
                    "w2": matrix_json(layer.ffn.w2),
                    "b2": [str(value) for value in layer.ffn.b2],
                },
            }
            for layer in model.layers
        ],
        "output": names[model.output],
        "weighting": "softmax",
        "temperature": schedule_json(model.temperature),
    }
    if model.threshold is not None:
        data |= {"threshold": str(model.threshold), "reading": model.reading}
    return data


def read_transformer(data: Reader, users: Users | None = None) -> Transformer:
    """The network that JSON data describes, with softmax in every head: what else its weightings say is for
    `ahat.file`.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    alphabet, bos = read_alphabet(data), read_bos(data)
    coordinates = read_names(data.field("coordinates"))
    names = _places(coordinates)
    rows = _places(rows_of(alphabet, bos))
    layers = tuple(_read_layer(item, names, bos) for item in data.field("layers").items())
    encodings = data.field("encodings").items() if data.has("encodings") else ()
    model = Transformer(
        alphabet=alphabet,
        coordinates=coordinates,
        embedding=read_matrix(data.field("embedding"), rows, names),
        encodings=tuple(_read_encoding(item, names, users, bos) for item in encodings),
        layers=layers,
        temperature=read_schedule(data.field("temperature")) if data.has("temperature") else parse_arith("1"),
        output=data.field("output").choice(names.__getitem__, "the coordinates"),
        bos=bos,
        threshold=data.field("threshold").rational() if data.has("threshold") else None,
        reading=read_reading(data),
    )
    # Reports name heads, so each needs a name of its own.
    names_of_heads = [head.name for head in model.heads]
    places = [head.field("name") for layer in data.field("layers").items() for head in layer.field("heads").items()]
    for number, place in enumerate(places):
        if place.value in names_of_heads[:number]:
            raise place.error("a name that no other head has")
    return model


def alphabet_json(alphabet: Alphabet) -> list[str] | dict[str, Any]:
    """The symbols, or the propositions whose sets are the symbols, with their constraints."""
    if not isinstance(alphabet, Valuations):
        return list(alphabet)
    found: dict[str, Any] = {"props": list(alphabet.props)}
    if alphabet.constraints:
        found["constraints"] = [{"key": one.key, "names": list(one.names)} for one in alphabet.constraints]
    return found


def _read_valuations(place: Reader) -> Valuations:
    """The sets of some propositions."""
    place.only("props", "constraints")
    names = tuple(item.text() for item in place.field("props").items())
    keys: dict[str, ConstraintKey] = {"one-of": "one-of", "at-most-one": "at-most-one"}
    constraints = []
    for item in place.field("constraints").items() if place.has("constraints") else ():
        item.only("key", "names")
        some = tuple(each.text() for each in item.field("names").items())
        if not some or len(set(some)) < len(some) or not set(some) <= set(names):
            raise item.field("names").error("propositions of the alphabet, each once")
        constraints.append(Exclusion(item.field("key").choice(keys.__getitem__, ", ".join(keys)), some))
    try:
        return check_propositions(names, constraints)
    except InputError as error:
        raise place.error(f"propositions ({error.message})") from None


def read_alphabet(data: Reader) -> Alphabet:
    """The symbols of a network or program."""
    place = data.field("alphabet")
    if isinstance(place.value, dict):
        return _read_valuations(place)
    alphabet = tuple(item.text() for item in place.items())
    if not alphabet or len(set(alphabet)) != len(alphabet):
        raise place.error("distinct symbols, at least one")
    for symbol, item in zip(alphabet, place.items(), strict=True):
        if not is_name(symbol) or unprintable(symbol):
            raise item.error("a symbol, which is not empty, has no control characters, and spaces only inside")
    return alphabet


def read_bos(data: Reader) -> bool:
    """Whether there is a beginning of sequence, whose name is then no symbol."""
    bos = data.has("bos") and data.field("bos").boolean()
    if bos and BOS in data.field("alphabet").value:
        raise data.field("alphabet").error(f"symbols other than {BOS}, which names the row of position 0")
    return bos


def read_names(data: Reader) -> tuple[str, ...]:
    """The names of the coordinates."""
    names = tuple(item.text() for item in data.items())
    if len(set(names)) != len(names) or not all(names) or not names:
        raise data.error("distinct names")
    return names


def read_reading(data: Reader) -> Literal["first", "last"]:
    """Where the output is read."""
    options: dict[str, Literal["first", "last"]] = {"first": "first", "last": "last"}
    return data.field("reading").choice(options.__getitem__, "first, last") if data.has("reading") else "last"


def _read_encoding(data: Reader, names: Names, users: Users | None, bos: bool) -> tuple[int, PositionFunction]:
    data.only("coordinate", "value")
    index = data.field("coordinate").choice(names.__getitem__, "the coordinates")
    value = read_encoding(data.field("value"), users)
    hold_encoding(data.field("value"), value, bos, real=True)
    return index, value


def hold_encoding(data: Reader, value: PositionFunction, before: int, after: int = 0, real: bool = False) -> None:
    """Try a position encoding at short lengths, also where so many tokens stand before and after a word: a division by
    zero shows before anything runs, and what is no rational, unless it may be any `real` number."""
    for n in PROBED:
        for i in range(1 - before, n + after + 1):
            try:
                real_value(value, i, n) if real else value.evaluate(i=i, n=n)
            except OutOfRange:
                continue  # a table of lengths ends somewhere, and says so when it is asked for more
            except (HardsimError, TypeError) as error:
                message = error.message if isinstance(error, InputError) else str(error)
                raise data.error(
                    f"an expression with a value at every position (at i = {i}, n = {n}: {message})"
                ) from None


def _read_layer(data: Reader, names: Names, bos: bool) -> Layer:
    data.only("heads", "ffn")
    heads = tuple(_read_head(item, names, bos) for item in data.field("heads").items())
    return Layer(heads, _read_ffn(data.field("ffn"), names) if data.has("ffn") else no_ffn(len(names)))


def _read_head(data: Reader, names: Names, bos: bool) -> AttentionHead:
    data.only("name", "mask", "weighting", "hardmax", "gap", "w_q", "w_k", "w_v")
    w_q = read_matrix(data.field("w_q"), None, names)
    return AttentionHead(
        name=data.field("name").text(),
        mask=read_mask(data, bos),
        w_q=w_q,
        w_k=read_matrix(data.field("w_k"), w_q.shape[0], names),
        w_v=read_matrix(data.field("w_v"), names, names),
    )


def read_mask(data: Reader, bos: bool) -> Mask:
    """The mask of a head: strict ones need a beginning of sequence, which every query sees."""
    mask = data.field("mask").choice(Mask, MASKS)
    if mask.strict and not bos:
        raise data.field("mask").error('a mask under which every query sees something (strict masks need "bos": true)')
    return mask


def no_ffn(d: int) -> FeedForward:
    """A feed-forward network without hidden units, which adds nothing."""
    return FeedForward(Matrix((0, d)), (), Matrix((d, 0)), (0,) * d)


def _read_ffn(data: Reader, names: Names) -> FeedForward:
    data.only("w1", "b1", "w2", "b2")
    w1 = read_matrix(data.field("w1"), None, names)
    units = w1.shape[0]
    b1 = tuple(item.rational() for item in data.field("b1").items(units)) if data.has("b1") else (0,) * units
    d = len(names)
    return FeedForward(
        w1=w1,
        b1=b1,
        w2=read_matrix(data.field("w2"), names, units),
        b2=tuple(item.rational() for item in data.field("b2").items(d)) if data.has("b2") else (0,) * d,
    )
