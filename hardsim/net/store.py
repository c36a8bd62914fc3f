"""Transformers as JSON, with exact rationals as strings, and back.

A matrix is `{"shape": [rows, columns], "entries": [[row, column, "p/q"], ...]}`, or, as a person would write it, rows
by name (or in order) that are objects from coordinate names to rationals or arrays of rationals. Reading checks
every shape, index, rational and name.
"""

from __future__ import annotations

from typing import Any, Literal

from hardsim.errors import HardsimError, InputError, OutOfRange
from hardsim.lang.arith import parse_arith
from hardsim.lang.words import unprintable
from hardsim.net.encodings import Users, encoding_json, read_encoding, read_schedule, schedule_json
from hardsim.net.matrices import Names, matrix_json, read_matrix
from hardsim.net.model import AttentionHead, FeedForward, Layer, Matrix, Schedule, Transformer
from hardsim.net.reader import Reader
from hardsim.spec.columns import PositionFunction
from hardsim.spec.ir import Mask, Weighting

MASKS = ", ".join(mask.value for mask in Mask)
WEIGHTINGS = ", ".join(weighting.value for weighting in Weighting)
BOS = "BOS"
"""What the row of the embedding for position 0 is called."""
PROBED = (1, 2, 3, 4)
"""Lengths at which encodings are tried when a model is read."""


def transformer_json(model: Transformer) -> dict[str, Any]:
    """The network as JSON data."""
    data: dict[str, Any] = {"alphabet": list(model.alphabet)}
    if model.bos:
        data["bos"] = True
    data |= {
        "coordinates": list(model.coordinates),
        "embedding": matrix_json(model.embedding),
        "encodings": [
            {"coordinate": model.coordinates[index], "value": encoding_json(value)} for index, value in model.encodings
        ],
        "layers": [
            {"heads": [_head_json(head) for head in layer.heads], "ffn": _ffn_json(layer.ffn)} for layer in model.layers
        ],
        "output": model.coordinates[model.output],
    }
    if model.soft:
        data |= {"weighting": "softmax", "temperature": schedule_json(model.temperature)}
    if model.threshold is not None:
        data |= {"threshold": str(model.threshold), "reading": model.reading}
    return data


def _head_json(head: AttentionHead) -> dict[str, Any]:
    data: dict[str, Any] = {"name": head.name, "mask": head.mask.value}
    if head.weighting is not Weighting.SOFTMAX:
        data["weighting"] = head.weighting.value
    if head.gap is not None:
        data["gap"] = str(head.gap)
    return data | {"w_q": matrix_json(head.w_q), "w_k": matrix_json(head.w_k), "w_v": matrix_json(head.w_v)}


def _ffn_json(ffn: FeedForward) -> dict[str, Any]:
    return {
        "w1": matrix_json(ffn.w1),
        "b1": [str(value) for value in ffn.b1],
        "w2": matrix_json(ffn.w2),
        "b2": [str(value) for value in ffn.b2],
    }


def read_transformer(data: Reader, users: Users | None = None) -> Transformer:
    """The network that JSON data describes.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    alphabet = tuple(item.text() for item in data.field("alphabet").items())
    if not alphabet or len(set(alphabet)) != len(alphabet):
        raise data.field("alphabet").error("distinct symbols, at least one")
    for symbol, item in zip(alphabet, data.field("alphabet").items(), strict=True):
        if symbol.split() != [symbol] or unprintable(symbol):
            raise item.error("a symbol, which is not empty and has no white space or control characters")
    coordinates = tuple(item.text() for item in data.field("coordinates").items())
    if len(set(coordinates)) != len(coordinates) or not all(coordinates) or not coordinates:
        raise data.field("coordinates").error("distinct names")
    bos = data.has("bos") and data.field("bos").boolean()
    names = Names(coordinates)
    default = data.field("weighting").choice(Weighting, WEIGHTINGS) if data.has("weighting") else None
    rows = Names((*alphabet, BOS) if bos else alphabet)
    if bos and BOS in alphabet:
        raise data.field("alphabet").error(f"symbols other than {BOS}, which names the row of position 0")
    layers = tuple(_read_layer(item, names, bos, default) for item in data.field("layers").items())
    model = Transformer(
        alphabet=alphabet,
        coordinates=coordinates,
        embedding=read_matrix(data.field("embedding"), rows, names),
        encodings=_read_encodings(data.field("encodings"), names, users, bos) if data.has("encodings") else (),
        layers=layers,
        temperature=_read_temperature(data, layers),
        output=data.field("output").choice(names.index.__getitem__, "the coordinates"),
        bos=bos,
        threshold=data.field("threshold").rational() if data.has("threshold") else None,
        reading=_read_reading(data),
    )
    _check_names(data, model)
    return model


def _read_reading(data: Reader) -> Literal["first", "last"]:
    options: dict[str, Literal["first", "last"]] = {"first": "first", "last": "last"}
    return data.field("reading").choice(options.__getitem__, "first, last") if data.has("reading") else "last"


def _read_temperature(data: Reader, layers: tuple[Layer, ...]) -> Schedule:
    """Softmax heads need one; hard attention has none."""
    soft = any(head.weighting is Weighting.SOFTMAX for layer in layers for head in layer.heads)
    return read_schedule(data.field("temperature")) if soft or data.has("temperature") else parse_arith("1")


def _check_names(data: Reader, model: Transformer) -> None:
    """Reports name heads, so each needs a name of its own."""
    seen: set[str] = set()
    for layer, item in zip(model.layers, data.field("layers").items(), strict=True):
        for head, part in zip(layer.heads, item.field("heads").items(), strict=True):
            if head.name in seen:
                raise part.field("name").error("a name that no other head has")
            seen.add(head.name)


def _read_encodings(
    data: Reader, names: Names, users: Users | None, bos: bool
) -> tuple[tuple[int, PositionFunction], ...]:
    """The position encodings, each tried at short lengths: a division by zero shows before anything runs."""
    found = []
    for item in data.items():
        item.only("coordinate", "value")
        index = item.field("coordinate").choice(names.index.__getitem__, "the coordinates")
        value = read_encoding(item.field("value"), users)
        for n in PROBED:
            for i in range(0 if bos else 1, n + 1):
                try:
                    value.evaluate(i=i, n=n)
                except OutOfRange:
                    continue  # a table of lengths ends somewhere, and says so when it is asked for more
                except (HardsimError, TypeError) as error:
                    message = error.message if isinstance(error, InputError) else str(error)
                    raise item.field("value").error(
                        f"an expression with a value at every position (at i = {i}, n = {n}: {message})"
                    ) from None
        found.append((index, value))
    return tuple(found)


def _read_layer(data: Reader, names: Names, bos: bool, default: Weighting | None) -> Layer:
    data.only("heads", "ffn")
    heads = tuple(_read_head(item, names, bos, default) for item in data.field("heads").items())
    return Layer(heads, _read_ffn(data.field("ffn"), names) if data.has("ffn") else no_ffn(len(names.names)))


def _read_head(data: Reader, names: Names, bos: bool, default: Weighting | None) -> AttentionHead:
    data.only("name", "mask", "weighting", "hardmax", "gap", "w_q", "w_k", "w_v")
    mask = data.field("mask").choice(Mask, MASKS)
    if mask.strict and not bos:
        raise data.field("mask").error('a mask under which every query sees something (strict masks need "bos": true)')
    weighting = default
    if data.has("weighting") or default is None:
        weighting = data.field("weighting").choice(Weighting, WEIGHTINGS)
    w_q = read_matrix(data.field("w_q"), None, names)
    return AttentionHead(
        name=data.field("name").text(),
        mask=mask,
        w_q=w_q,
        w_k=read_matrix(data.field("w_k"), w_q.shape[0], names),
        w_v=read_matrix(data.field("w_v"), names, names),
        weighting=weighting or Weighting.SOFTMAX,
        gap=data.field("gap").arith() if data.has("gap") else None,
    )


def no_ffn(d: int) -> FeedForward:
    """A feed-forward network without hidden units, which adds nothing."""
    return FeedForward(Matrix((0, d)), (), Matrix((d, 0)), (0,) * d)


def _read_ffn(data: Reader, names: Names) -> FeedForward:
    data.only("w1", "b1", "w2", "b2")
    w1 = read_matrix(data.field("w1"), None, names)
    units = w1.shape[0]
    b1 = tuple(item.rational() for item in data.field("b1").items(units)) if data.has("b1") else (0,) * units
    d = len(names.names)
    return FeedForward(
        w1=w1,
        b1=b1,
        w2=read_matrix(data.field("w2"), names, units),
        b2=tuple(item.rational() for item in data.field("b2").items(d)) if data.has("b2") else (0,) * d,
    )
