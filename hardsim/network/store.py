"""Write transformers as JSON, with exact rationals as strings, and read them.

A matrix is either sparse, `{"shape": [rows, columns], "entries": [[row, column, "p/q"], ...]}`, or written by hand:
rows by name (or in order), each an object from coordinate names to rationals or an array of rationals. Reading checks
every shape, index, rational and name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from hardsim.errors import HardsimError, InputError, OutOfRange
from hardsim.lang.arith import Arith
from hardsim.lang.ast import BOS
from hardsim.lang.valuations import Alphabet, ConstraintKey, Exclusion, Valuations
from hardsim.lang.vocabulary import is_name
from hardsim.lang.words import check_propositions, unprintable
from hardsim.network.columns import PositionFunction, UserPredicate, parse_column, real_value
from hardsim.network.numbers import Mask, Rational
from hardsim.network.reader import Reader, shown
from hardsim.network.rounding import Rounding, RoundingMode
from hardsim.network.transformer import (
    AttentionHead,
    FeedForward,
    HiddenUnit,
    Layer,
    LengthTable,
    Matrix,
    PositionTable,
    SoftWeighting,
    Transformer,
    rows_of,
)

LARGEST = 1_000_000
LARGEST_START = 10**9
MASKS = ", ".join(mask.value for mask in Mask)
NORMS = ("norms", "norm_1", "norm_2")
"""The members of a layer that state its norms: their place, the norm after attention, the norm after the units."""
PROBED = (1, 2, 3, 4)
"""The lengths at which position encodings are tried when a model is read."""

Names = Mapping[str, int]
"""The indices of rows or columns, by name and in order."""
Users = Mapping[str, tuple[str, UserPredicate]]
"""The user's predicates that a file defines: definition and Python function, by name."""


def _places(names: Iterable[str]) -> Names:
    return {name: place for place, name in enumerate(names)}


def matrix_json(matrix: Matrix) -> dict[str, Any]:
    """Return the matrix as JSON in the sparse form."""
    return {
        "shape": list(matrix.shape),
        "entries": [[row, column, str(value)] for row, column, value in matrix.entries],
    }


def read_matrix(data: Reader, rows: Names | int | None, columns: Names | int) -> Matrix:
    """Read a matrix in any of its forms. `rows` and `columns` are names or a number; `rows` of None allows any number.
    Raises InputError, naming the place, what was expected and what was found."""
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
    """Return the index and the reader of each item of an array of `count` items, or of each member of an object with
    keys among `names`. `named` and `unnamed` say in errors what was expected if there are names and if there are
    none."""
    if not isinstance(data.value, dict):
        return list(enumerate(data.items(count)))
    if not isinstance(names, Mapping):
        raise data.error(unnamed)
    for name in data.value:
        if name not in names:
            raise data.error(f"{named} (not {shown(name)})")
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
    """Return a position encoding as JSON: an expression or a predicate as text, a table of positions as an object, a
    table of lengths as an array."""
    if isinstance(value, PositionTable):
        return {
            "start": value.start,
            "values": [str(entry) for entry in value.values],
            "otherwise": str(value.otherwise),
        }
    return schedule_json(value)


def read_encoding(data: Reader, users: Users | None = None) -> PositionFunction:
    """Read a position encoding: an expression in i and n, a predicate such as `PRIME(2*i + 1)`, or a table. `users`
    are the predicates that the file defines.

    A table of lengths is an array with a value for each length from 1. Compiled models have such a table where ties
    were broken by gaps that were measured. Raises InputError, naming the place, what was expected and what was
    found."""
    if isinstance(data.value, dict):
        data.only("start", "values", "otherwise")
        start = data.field("start").integer(-LARGEST_START, LARGEST_START) if data.has("start") else 1
        values = tuple(item.rational() for item in data.field("values").items())
        return PositionTable(start, values, data.field("otherwise").rational() if data.has("otherwise") else 0)
    if isinstance(data.value, list):
        return replace(_lengths(data), what="position encoding")
    return parse_column(data.text(), users or {}, f"{data.name}: {data.path}") or data.arith()


def schedule_json(value: PositionFunction) -> Any:
    """Return a temperature as JSON: an expression as text, or a table as the array of its values at lengths 1, 2,
    ..."""
    return [str(entry) for entry in value.values] if isinstance(value, LengthTable) else str(value)


def read_schedule(data: Reader) -> Arith | LengthTable:
    """Read a temperature: an expression in i and n, or an array with a value for each length from 1."""
    return _lengths(data) if isinstance(data.value, list) else data.arith()


def _lengths(data: Reader) -> LengthTable:
    return LengthTable(tuple(Fraction(item.rational()) for item in data.items()))


def transformer_json(model: Transformer) -> dict[str, Any]:
    """Return the network as JSON data."""
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
                "ffn": _ffn_json(layer.ffn, model.dimension),
            }
            | norms_json(layer)
            for layer in model.layers
        ],
        "output": names[model.output],
        "weighting": model.weighting.value,
        "temperature": schedule_json(model.temperature),
    }
    if model.rounding is not None:
        data["rounding"] = str(model.rounding)
    if model.threshold is not None:
        data |= {"threshold": str(model.threshold), "reading": model.reading}
    return data


def read_transformer(data: Reader, users: Users | None = None, hard: bool = False) -> Transformer:
    """Read a network. If its heads may be `hard`, `program.file` reads their weightings. Raises InputError, naming the
    place, what was expected and what was found."""
    alphabet, bos = read_alphabet(data), read_bos(data)
    weighting = SoftWeighting.SOFTMAX if hard else read_weighting(data)
    coordinates = read_names(data.field("coordinates"))
    names = _places(coordinates)
    rows = _places(rows_of(alphabet, bos))
    strict = bos or weighting is SoftWeighting.GEOMETRIC
    layers = tuple(_read_layer(item, names, strict) for item in data.field("layers").items())
    encodings = data.field("encodings").items() if data.has("encodings") else ()
    model = Transformer(
        alphabet=alphabet,
        coordinates=coordinates,
        embedding=read_matrix(data.field("embedding"), rows, names),
        encodings=tuple(_read_encoding(item, names, users, bos) for item in encodings),
        layers=layers,
        temperature=read_schedule(data.field("temperature")) if data.has("temperature") else Arith.of(1),
        output=data.field("output").choice(names.__getitem__, "the coordinates"),
        bos=bos,
        threshold=data.field("threshold").rational() if data.has("threshold") else None,
        reading=read_reading(data),
        weighting=weighting,
        rounding=read_rounding(data),
    )
    # Reports refer to heads by name, so each needs a name of its own.
    names_of_heads = [head.name for head in model.heads]
    places = [head.field("name") for layer in data.field("layers").items() for head in layer.field("heads").items()]
    for number, place in enumerate(places):
        if place.value in names_of_heads[:number]:
            raise place.error("a name that no other head has")
    return model


def alphabet_json(alphabet: Alphabet) -> list[str] | dict[str, Any]:
    """Return as JSON the symbols, or the propositions whose sets are the symbols, with their constraints."""
    if not isinstance(alphabet, Valuations):
        return list(alphabet)
    found: dict[str, Any] = {"props": list(alphabet.props)}
    if alphabet.constraints:
        found["constraints"] = [{"key": one.key, "names": list(one.names)} for one in alphabet.constraints]
    return found


def _read_valuations(place: Reader) -> Valuations:
    """Read an alphabet of sets of propositions."""
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
    """Read the alphabet of a network or program."""
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
    """Return True if the document has a beginning of sequence; its name then must not be a symbol."""
    bos = data.has("bos") and data.field("bos").boolean()
    if bos and BOS in data.field("alphabet").value:
        raise data.field("alphabet").error(f"symbols other than {BOS}, which names the row of position 0")
    return bos


def read_weighting(data: Reader) -> SoftWeighting:
    """Read the weighting of a network that has scores and a temperature: softmax unless another one is given."""
    if not data.has("weighting"):
        return SoftWeighting.SOFTMAX
    return data.field("weighting").choice(SoftWeighting, ", ".join(one.value for one in SoftWeighting))


def read_rounding(data: Reader) -> Rounding | None:
    """Read the rounding of a network or program, such as floor:8; None where there is none."""
    if not data.has("rounding"):
        return None
    mode, _, bits = data.field("rounding").text().partition(":")
    if mode not in [one.value for one in RoundingMode] or not re.fullmatch("[0-9]{1,3}", bits):
        raise data.field("rounding").error("floor:P or nearest:P, for multiples of 2^-P (P of at most 3 digits)")
    return Rounding(RoundingMode(mode), int(bits))


def read_names(data: Reader) -> tuple[str, ...]:
    """Read the distinct names of the coordinates."""
    names = tuple(item.text() for item in data.items())
    if len(set(names)) != len(names) or not all(names) or not names:
        raise data.error("distinct names")
    return names


def read_reading(data: Reader) -> Literal["first", "last"]:
    """Read the position at which the output is read: `last` unless given."""
    options: dict[str, Literal["first", "last"]] = {"first": "first", "last": "last"}
    return data.field("reading").choice(options.__getitem__, "first, last") if data.has("reading") else "last"


def _read_encoding(data: Reader, names: Names, users: Users | None, bos: bool) -> tuple[int, PositionFunction]:
    data.only("coordinate", "value")
    index = data.field("coordinate").choice(names.__getitem__, "the coordinates")
    value = read_encoding(data.field("value"), users)
    require_encoding(data.field("value"), value, bos, real=True)
    return index, value


def require_encoding(data: Reader, value: PositionFunction, before: int, after: int = 0, real: bool = False) -> None:
    """Raise InputError unless the position encoding has a value at all positions of short words: a rational, or with
    `real` any real number. Divisions by zero are found here, before anything runs.

    `before` and `after` are the numbers of tokens around a word; their positions are tried too.
    """
    for n in PROBED:
        for i in range(1 - before, n + after + 1):
            try:
                real_value(value, i, n) if real else value.evaluate(i=i, n=n)
            except OutOfRange:
                continue  # a table of lengths may end here; `evaluate` raises later if a longer word is run
            except (HardsimError, TypeError) as error:
                message = error.message if isinstance(error, InputError) else str(error)
                raise data.error(
                    f"an expression with a value at every position (at i = {i}, n = {n}: {message})"
                ) from None


def _read_layer(data: Reader, names: Names, strict: bool) -> Layer:
    data.only("heads", "ffn", *NORMS)
    heads = tuple(_read_head(item, names, strict) for item in data.field("heads").items())
    ffn = _read_ffn(data.field("ffn"), names) if data.has("ffn") else FeedForward()
    return Layer(heads, ffn, *read_norms(data))


def norms_json(layer: Any) -> dict[str, Any]:
    """Return the norms of a layer as members of its JSON, as in the files of external networks."""
    pairs = ((key, getattr(layer, key)) for key in NORMS[1:])
    found = {key: {"kind": "layer", "epsilon": str(epsilon)} for key, epsilon in pairs if epsilon is not None}
    return {"norms": "after", **found} if found else {}


def read_norms(data: Reader) -> tuple[Fraction | None, Fraction | None]:
    """Read the epsilons of a layer's norms after attention and after the feed-forward layer; None where there is none.
    Raises InputError for other kinds of norms than LayerNorm after the sums, without weight and bias."""
    norms = tuple(_read_norm(data.field(key)) if data.has(key) else None for key in NORMS[1:])
    if data.has("norms") or norms != (None, None):
        data.field("norms").choice({"after": "after"}.__getitem__, "after (norms before the sums have no place here)")
    return norms[0], norms[1]


def _read_norm(data: Reader) -> Fraction:
    data.only("kind", "epsilon")  # no weight and no bias
    data.field("kind").choice({"layer": "layer"}.__getitem__, "layer")
    epsilon = Fraction(data.field("epsilon").rational())
    if epsilon < 0:
        raise data.field("epsilon").error("a rational that is at least 0")
    return epsilon


def _read_head(data: Reader, names: Names, strict: bool) -> AttentionHead:
    # `program.file` reads weighting, hardmax and gap.
    data.only("name", "mask", "weighting", "hardmax", "gap", "w_q", "w_k", "w_v")
    w_q = read_matrix(data.field("w_q"), None, names)
    return AttentionHead(
        name=data.field("name").text(),
        mask=read_mask(data, strict),
        w_q=w_q,
        w_k=read_matrix(data.field("w_k"), w_q.shape[0], names),
        w_v=read_matrix(data.field("w_v"), names, names),
    )


def read_mask(data: Reader, strict: bool) -> Mask:
    """Read the mask of a head. `strict` is True if it may be strict: there is a beginning of sequence, which every
    query then sees, or the weighting is geometric, so that a query that sees nothing reads 0."""
    mask = data.field("mask").choice(Mask, MASKS)
    if mask.strict and not strict:
        raise data.field("mask").error(
            'a mask under which every query sees something (strict masks need "bos": true, or "weighting": "geometric" '
            "as a key of the whole network, not of the head)"
        )
    return mask


class Relus(NamedTuple):
    """The feed-forward layer `y = c + w2 relu(w1 c + b1) + b2`, as files state it: with m relus, w1 is m x d and w2 is
    d x m, and a clip is two relus."""

    w1: Matrix
    b1: tuple[Rational, ...]
    w2: Matrix
    b2: tuple[Rational, ...]

    @staticmethod
    def of(ffn: FeedForward, d: int) -> Relus:
        """Return a layer of d coordinates by its relus, with those of a clip one after the other."""
        relus = [relu for unit in ffn.units for relu in unit.relus]
        w1 = {(row, column): value for row, relu in enumerate(relus) for column, value in relu.form}
        w2 = {(row, column): value for column, relu in enumerate(relus) for row, value in relu.outs}
        biases, m = dict(ffn.biases), len(relus)
        b1, b2 = tuple(relu.bias for relu in relus), tuple(biases.get(index, 0) for index in range(d))
        return Relus(Matrix.of(m, d, w1), b1, Matrix.of(d, m, w2), b2)

    def layer(self) -> FeedForward:
        """Return the layer. A pair of relus that adds `relu(z) - relu(z - 1)` times output weights is a clip of it, and
        so is one relu after the other with `relu(z) - relu(z - cap)`, where the cap is a coordinate or 1 minus one;
        relus that write nothing are left out."""
        columns: list[dict[int, Rational]] = [{} for _ in self.b1]
        for row, column, value in self.w2.entries:
            columns[column][row] = value
        relus = [
            HiddenUnit(tuple(sorted(form.items())), bias, tuple(sorted(column.items())), clip=False)
            for form, bias, column in zip(self.w1.rows(), self.b1, columns, strict=True)
            if column
        ]
        # The numbers of the relus that belong to no pair so far: each may be the second one, -relu(z - 1), of one pair.
        waiting: dict[HiddenUnit, dict[int, None]] = {}
        for number, relu in enumerate(relus):
            waiting.setdefault(relu, {})[number] = None
        clips, seconds = set[int](), set[int]()
        for number, relu in enumerate(relus):
            others = waiting.get(replace(relu, clip=True).relus[1])
            if others and number in waiting[relu]:
                second = next(iter(others))
                del others[second], waiting[relu][number]
                clips.add(number)
                seconds.add(second)
        units: list[HiddenUnit] = []
        for number, relu in enumerate(relus):
            if number in seconds:
                continue
            capped = _capped(units[-1], relu) if units and number not in clips else None
            units[-1 if capped else len(units) :] = [capped or replace(relu, clip=number in clips)]
        return FeedForward(tuple(units), tuple((index, bias) for index, bias in enumerate(self.b2) if bias))


def _capped(first: HiddenUnit, second: HiddenUnit) -> HiddenUnit | None:
    """Return the clip that two units are, if they are relus and the cap is a coordinate or 1 minus one; else None."""
    if first.clip:
        return None
    apart = dict(first.form)
    for place, value in second.form:
        apart[place] = apart.get(place, 0) - value
    cap = tuple(sorted((place, value) for place, value in apart.items() if value))
    found = replace(first, clip=True, cap=cap, cap_bias=first.bias - second.bias)
    literal = len(cap) == 1 and (cap[0][1], found.cap_bias) in ((1, 0), (-1, 1))
    return found if literal and found.relus[1] == second else None


def _ffn_json(ffn: FeedForward, d: int) -> dict[str, Any]:
    w1, b1, w2, b2 = Relus.of(ffn, d)
    return {"w1": matrix_json(w1), "b1": list(map(str, b1)), "w2": matrix_json(w2), "b2": list(map(str, b2))}


def _read_ffn(data: Reader, names: Names) -> FeedForward:
    data.only("w1", "b1", "w2", "b2")
    w1 = read_matrix(data.field("w1"), None, names)
    units, d = w1.shape[0], len(names)
    b1 = tuple(item.rational() for item in data.field("b1").items(units)) if data.has("b1") else (0,) * units
    w2 = read_matrix(data.field("w2"), names, units)
    b2 = tuple(item.rational() for item in data.field("b2").items(d)) if data.has("b2") else ()
    return Relus(w1, b1, w2, b2).layer()
