"""Read and write networks as hand-written JSON with `"format": "hardsim-network"`, whose numbers are exact.

A number is a JSON integer, a decimal, read exactly as written (0.1 is 1/10), or a rational as text ("1/3"). A matrix
is an array of rows, or `{"shape": [rows, columns], "entries": [[row, column, number], ...]}`; its shape is the one
that `hardsim.network.dense` states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from hardsim.lang.words import unprintable
from hardsim.network import dense
from hardsim.network.blocks import MOST_EXPONENT, DistanceBias
from hardsim.network.numbers import Mask, Rational
from hardsim.network.reader import Reader, exact_number
from hardsim.network.store import encoding_json, read_encoding, require_encoding
from hardsim.reading.readout import at_text, decide_text, input_text, listed_names, read_readout, require_tokens
from hardsim.reading.rotary_json import number_json, positive, read_rotary, rotary_json, without_nulls

FORMAT = "hardsim-network"
SCHEMA_VERSION = 1
LARGEST = 2**24
"""The greatest number of entries of one sparse matrix, zeros included."""
LARGEST_SUM = 2 * LARGEST
"""The greatest number of entries, zeros included, of all sparse matrices together: a short file could otherwise
request any memory."""
KEYS = (
    "format", "schema_version", "title", "tokens", "embedding", "embedding_scale", "positions", "layers", "final_norm",
    "unembedding", "unembedding_bias", "outputs", "alphabet", "input", "at", "decide", "embedding_bias",
    "embedding_norm", "projection", "projection_bias", "positions_at", "transform", "output_cap", "padding", "excluded",
)  # fmt: skip
MASKS = {mask.value: mask for mask in (Mask.NONE, Mask.FUTURE, Mask.PAST)}
KINDS: dict[str, Literal["layer", "rms"]] = {"layer": "layer", "rms": "rms"}
PLACES = {"before": False, "after": True}
POSITIONS_AT: dict[str, Literal["stream", "scores"]] = {"stream": "stream", "scores": "scores"}


def read_network_json(document: Reader) -> dense.Network:
    """Return the network that a document describes.

    Unless `at` and `decide` state it otherwise, a network with one output answers at the last position, and any other
    with the largest output at each position. Raises InputError naming the place inside the document, what was expected
    and what was found."""
    document = replace(document, advice="Correct the file.")
    document.field("format").choice({FORMAT: FORMAT}.__getitem__, FORMAT)
    document.field("schema_version").integer(1, SCHEMA_VERSION)
    document.only(*KEYS)
    _require_sizes(document)
    if document.has("title"):
        document.field("title").text()
    embedding = _matrix(document.field("embedding"), None, None)
    count, entered = embedding.shape
    projection = _matrix(document.field("projection"), entered, None) if document.has("projection") else None
    width = entered if projection is None else projection.shape[1]
    tokens = _names(document.field("tokens"), count, "token")
    layers = tuple(_layer(item, number, width) for number, item in enumerate(document.field("layers").items()))
    _require_names(document)
    transform = _transform(document.field("transform"), width) if document.has("transform") else None
    unembedding = _matrix(
        document.field("unembedding"), width if transform is None else transform.weight.shape[1], None
    )
    size = unembedding.shape[1]
    outputs = tokens if size == count else tuple(map(str, range(size)))
    if document.has("outputs"):
        listed = _names(document.field("outputs"), size, "output")
        outputs = tokens if list(map(repr, listed)) == list(map(repr, tokens)) else listed
    readout = read_readout(document, tokens, outputs)
    return dense.Network(
        tokens=tokens,
        embedding=embedding,
        positions=_positions(document, entered, readout),
        layers=layers,
        final=_norm(document, "final_norm", width),
        unembedding=unembedding,
        unembedding_bias=_vector(document, "unembedding_bias", size),
        outputs=outputs,
        readout=readout,
        embedding_scale=_scale(document.field("embedding_scale"), "what embeddings are multiplied by")
        if document.has("embedding_scale")
        else dense.RootScale(),
        embedding_bias=_vector(document, "embedding_bias", entered),
        embedding_norm=_norm(document, "embedding_norm", entered),
        projection=projection,
        projection_bias=_projection_bias(document, projection),
        positions_at=_positions_at(document, projection),
        transform=transform,
        output_cap=_positive(document, "output_cap"),
    )


def _projection_bias(document: Reader, projection: dense.Dense | None) -> dense.Dense | None:
    if projection is not None:
        return _vector(document, "projection_bias", projection.shape[1])
    if document.has("projection_bias"):
        raise document.field("projection_bias").error("a projection, which this belongs to")
    return None


def _positions_at(document: Reader, projection: dense.Dense | None) -> Literal["stream", "scores"]:
    if not document.has("positions_at"):
        return "stream"
    found = document.field("positions_at").choice(POSITIONS_AT.__getitem__, ", ".join(POSITIONS_AT))
    if found == "scores" and projection is not None:
        raise document.field("positions_at").error("stream, since embeddings have another width than scores read")
    return found


def _require_sizes(document: Reader) -> None:
    """Raise InputError if the sparse matrices together have more than LARGEST_SUM entries, zeros included."""
    total, waiting = 0, [document.value]
    while waiting:
        match waiting.pop():
            case {"shape": [int(rows), int(columns)], "entries": _}:
                total += max(rows, 0) * max(columns, 0)
            case dict(members):
                waiting.extend(members.values())
            case list(items):
                waiting.extend(item for item in items if isinstance(item, dict | list))
    if total > LARGEST_SUM:
        raise document.refusal(f"matrices of more than {LARGEST_SUM:,} entries together")


# ---- numbers ----


def _dense(values: Sequence[Rational], *shape: int) -> dense.Dense:
    """Return an exact array: of float64 if that holds every number exactly, and otherwise of Fractions."""
    if all(map(_is_float, values)):
        return np.array([float(value) for value in values], dtype=np.float64).reshape(shape)
    found = np.empty(len(values), dtype=object)
    found[:] = [Fraction(value) for value in values]
    return found.reshape(shape)


def _is_float(value: Rational) -> bool:
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def _numbers(data: Reader, count: int | None) -> list[Rational]:
    """Read the numbers of an array, which must be `count` numbers (None: any number of them)."""
    given = data.value
    found = [exact_number(value) for value in given] if isinstance(given, list) else []
    if not isinstance(given, list) or (count is not None and len(given) != count) or None in found:
        return [item.number() for item in data.items(count)]  # reports the first wrong item and its place
    return [number for number in found if number is not None]


def _vector(data: Reader, key: str, count: int) -> dense.Dense | None:
    return _dense(_numbers(data.field(key), count), count) if data.has(key) else None


def _matrix(data: Reader, rows: int | None, columns: int | None) -> dense.Dense:
    """Read a matrix in either form, with at least one row and one column; None allows any number of rows or columns."""
    if isinstance(data.value, dict):
        return _sparse(data, rows, columns)
    lines = list(data.items(rows))
    if not lines:
        raise data.error("an array of rows, at least one")
    width = columns
    found: list[Rational] = []
    for line in lines:
        numbers = _numbers(line, width)
        width = len(numbers)
        if not width:
            raise line.error("a row with at least one number")
        found += numbers
    return _dense(found, len(lines), width or 0)


def _sparse(data: Reader, rows: int | None, columns: int | None) -> dense.Dense:
    data.only("shape", "entries")
    shape = data.field("shape")
    height, width = (item.integer(1, LARGEST) for item in shape.items(2))
    if rows not in (None, height) or columns not in (None, width):
        raise shape.error(f"[{'any' if rows is None else rows}, {'any' if columns is None else columns}]")
    if height * width > LARGEST:
        raise shape.error(f"a matrix of at most {LARGEST} entries")
    found: dict[int, Rational] = {}
    for item in data.field("entries").items():
        row, column, value = item.items(3)
        place = row.integer(0, height - 1) * width + column.integer(0, width - 1)
        if place in found:
            raise item.error("each entry once")
        found[place] = value.number()
    given = _dense(list(found.values()), len(found))
    flat = np.full(height * width, Fraction(0) if given.dtype == object else 0.0, dtype=given.dtype)
    flat[list(found)] = given
    return flat.reshape(height, width)


# ---- parts ----


def _layer(data: Reader, number: int, width: int) -> dense.NetworkLayer:
    data.only("heads", "b_o", "mlp", "norm_1", "norm_2", "norms", "parallel", "out_1", "out_2")
    given = data.field("heads").items() if data.has("heads") else ()
    heads = tuple(_head(item, f"L{number}H{place}", width) for place, item in enumerate(given))
    b_o = _vector(data, "b_o", width)
    mlp = _mlp(data.field("mlp"), width) if data.has("mlp") else None
    norm_1, norm_2 = _norm(data, "norm_1", width), _norm(data, "norm_2", width)
    out_1, out_2 = _norm(data, "out_1", width), _norm(data, "out_2", width)
    for key, norm in (("norm_1", norm_1), ("out_1", out_1)):
        if norm is not None and not heads and b_o is None:
            raise data.field(key).error("null, since this layer has no attention")
    for key, norm in (("norm_2", norm_2), ("out_2", out_2)):
        if norm is not None and mlp is None:
            raise data.field(key).error("null, since this layer has no mlp")
    post = False
    if norm_1 is not None or norm_2 is not None or data.has("norms"):
        post = data.field("norms").choice(PLACES.__getitem__, ", ".join(PLACES))
    parallel = data.has("parallel") and data.field("parallel").value is not False
    if parallel and (post or data.field("parallel").value is not True):
        raise data.field("parallel").error('false, since "norms" is "after"' if post else "true or false")
    return dense.NetworkLayer(heads, mlp, b_o, norm_1, norm_2, post, parallel, out_1, out_2)


def _head(data: Reader, name: str, width: int) -> dense.NetworkHead:
    data.only(
        "name", "mask", "scale", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "norm_q", "norm_k", "rotary", "cap",
        "distance", "window",
    )  # fmt: skip
    w_q, w_v = _matrix(data.field("w_q"), width, None), _matrix(data.field("w_v"), width, None)
    k, v = w_q.shape[1], w_v.shape[1]
    return dense.NetworkHead(
        name=data.field("name").text() if data.has("name") else name,
        mask=data.field("mask").choice(MASKS.__getitem__, ", ".join(MASKS)),
        scale=_scale(data.field("scale"), "what scores are multiplied by"),
        w_q=w_q,
        w_k=_matrix(data.field("w_k"), width, k),
        w_v=w_v,
        w_o=_matrix(data.field("w_o"), v, width),
        b_q=_vector(data, "b_q", k),
        b_k=_vector(data, "b_k", k),
        b_v=_vector(data, "b_v", v),
        norm_q=_norm(data, "norm_q", k),
        norm_k=_norm(data, "norm_k", k),
        rotary=read_rotary(data.field("rotary"), k) if data.has("rotary") else None,
        cap=_positive(data, "cap"),
        distance=_distance(data.field("distance")) if data.has("distance") else None,
        window=data.field("window").integer(1, LARGEST) if data.has("window") else None,
    )


def _distance(data: Reader) -> DistanceBias:
    data.only("exponent")
    exponent = Fraction(data.field("exponent").number())
    if abs(exponent) > MOST_EXPONENT:
        raise data.field("exponent").error(f"a number from -{MOST_EXPONENT} to {MOST_EXPONENT}")
    return DistanceBias(exponent)


def _positive(data: Reader, key: str) -> Fraction | None:
    """Read a number above 0; None if the key is absent."""
    return positive(data, key) if data.has(key) else None


def _transform(data: Reader, width: int) -> dense.Transform:
    data.only("weight", "bias", "activation", "norm")
    weight = _matrix(data.field("weight"), width, None)
    size = weight.shape[1]
    activation = None
    if data.has("activation"):
        activation = data.field("activation").choice(dense.Activation, ", ".join(dense.Activation))
    return dense.Transform(weight, _vector(data, "bias", size), activation, _norm(data, "norm", size))


def _require_names(document: Reader) -> None:
    """Raise InputError unless each head has a name of its own that can be printed on one line; reports refer to heads
    by name."""
    seen: set[str] = set()
    for number, layer in enumerate(document.field("layers").items()):
        for place, head in enumerate(layer.field("heads").items() if layer.has("heads") else ()):
            at = head.field("name") if head.has("name") else head
            name = at.text() if head.has("name") else f"L{number}H{place}"
            if name in seen or not name.strip() or unprintable(name):
                raise at.refusal(f"the name {name!r} is empty, not printable, or the name of another head")
            seen.add(name)


def _scale(data: Reader, what: str) -> dense.RootScale:
    """Read a positive number, or one divided by the square root of an integer."""
    if isinstance(data.value, str) and (found := dense.parse_scale(data.value)):
        return found
    number = exact_number(data.value)
    if number is None or number <= 0:
        raise data.error(f'{what}, a positive number such as 1, "3/2", "sqrt(8)" or "1/sqrt(8)"')
    return dense.RootScale(Fraction(number))


def _mlp(data: Reader, width: int) -> dense.Mlp:
    data.only("activation", "w_in", "b_in", "w_out", "b_out", "w_gate", "b_gate")
    w_in = _matrix(data.field("w_in"), width, None)
    hidden = w_in.shape[1]
    return dense.Mlp(
        activation=data.field("activation").choice(dense.Activation, ", ".join(dense.Activation)),
        w_in=w_in,
        w_out=_matrix(data.field("w_out"), hidden, width),
        b_in=_vector(data, "b_in", hidden),
        b_out=_vector(data, "b_out", width),
        w_gate=_matrix(data.field("w_gate"), width, hidden) if data.has("w_gate") else None,
        b_gate=_gate_bias(data, hidden),
    )


def _gate_bias(data: Reader, hidden: int) -> dense.Dense | None:
    bias = _vector(data, "b_gate", hidden)
    if bias is not None and not data.has("w_gate"):
        raise data.field("b_gate").error("null, since this mlp has no w_gate")
    return bias


def _norm(data: Reader, key: str, width: int) -> dense.Norm | None:
    if not data.has(key):
        return None
    norm = data.field(key).only("kind", "epsilon", "weight", "bias")
    epsilon = norm.field("epsilon").number()
    if epsilon < 0:
        raise norm.field("epsilon").error("a number that is at least 0")
    kind = norm.field("kind").choice(KINDS.__getitem__, ", ".join(KINDS))
    return dense.Norm(kind, Fraction(epsilon), _vector(norm, "weight", width), _vector(norm, "bias", width))


def _positions(document: Reader, width: int, readout: dense.Readout) -> Any:
    """Read the position encoding: a table, or functions of i and n by coordinate."""
    if not document.has("positions"):
        return ()
    data = document.field("positions")
    if isinstance(data.value, dict) or (
        isinstance(data.value, list) and data.value and isinstance(data.value[0], list)
    ):
        return _matrix(data, None, width)
    found = []
    for item in data.items():
        item.only("coordinate", "value")
        coordinate, place = item.field("coordinate").integer(0, width - 1), item.field("value")
        value = read_encoding(place)
        require_encoding(place, value, len(readout.before), len(readout.after), real=True)
        found.append((coordinate, value))
    return tuple(found)


def _names(data: Reader, count: int, what: str) -> tuple[dense.Token, ...]:
    return require_tokens(listed_names(data), count, data.refusal, what)


# ---- writing ----


def network_json(network: dense.Network) -> dict[str, Any]:
    """Return the document of a network, from which the same network is read."""
    readout, positions = network.readout, network.positions
    message: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "tokens": list(network.tokens),
        "embedding": _written(network.embedding),
        "embedding_scale": None if network.embedding_scale == dense.RootScale() else str(network.embedding_scale),
        "positions": _written(positions)
        if isinstance(positions, np.ndarray)
        else [{"coordinate": place, "value": encoding_json(value)} for place, value in positions] or None,
        "layers": list(map(_layer_json, network.layers)),
        "final_norm": _norm_json(network.final),
        "unembedding": _written(network.unembedding),
        "unembedding_bias": _written(network.unembedding_bias),
        "outputs": list(network.outputs),
        "alphabet": None if readout.alphabet is None else list(readout.alphabet),
        "input": input_text(readout),
        "at": at_text(readout),
        "decide": decide_text(readout),
        "embedding_bias": _written(network.embedding_bias),
        "embedding_norm": _norm_json(network.embedding_norm),
        "projection": _written(network.projection),
        "projection_bias": _written(network.projection_bias),
        "positions_at": None if network.positions_at == "stream" else network.positions_at,
        "transform": _transform_json(network.transform),
        "output_cap": _optional_json(network.output_cap),
        "padding": readout.padding,
        "excluded": list(readout.excluded) or None,
    }
    return without_nulls(message)


def _optional_json(value: Fraction | None) -> int | str | None:
    return None if value is None else number_json(value)


def _transform_json(transform: dense.Transform | None) -> dict[str, Any] | None:
    if transform is None:
        return None
    description = {
        "weight": _written(transform.weight),
        "bias": _written(transform.bias),
        "activation": None if transform.activation is None else transform.activation.value,
        "norm": _norm_json(transform.norm),
    }
    return without_nulls(description)


def _head_json(head: dense.NetworkHead) -> dict[str, Any]:
    matrices = "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v"
    description = {
        "name": head.name,
        "mask": head.mask.value,
        "scale": str(head.scale),
        **{key: _written(getattr(head, key)) for key in matrices},
        "norm_q": _norm_json(head.norm_q),
        "norm_k": _norm_json(head.norm_k),
        "rotary": rotary_json(head.rotary),
        "cap": _optional_json(head.cap),
        "distance": None if head.distance is None else {"exponent": number_json(head.distance.exponent)},
        "window": head.window,
    }
    return without_nulls(description)


def _written(array: dense.Dense | None) -> Any:
    """Return an array as JSON; a matrix of which less than a quarter is non-zero in the sparse form; null for None."""
    if array is None:
        return None
    if array.ndim == 2 and 4 * dense.entries(array) < array.size:
        places = zip(*np.nonzero(array), strict=True)
        numbers = [[int(row), int(column), number_json(array[row, column])] for row, column in places]
        return {"shape": list(array.shape), "entries": numbers}
    return [_written(row) if array.ndim > 1 else number_json(row) for row in array]


def _norm_json(norm: dense.Norm | None) -> dict[str, Any] | None:
    if norm is None:
        return None
    description = {"kind": norm.kind, "epsilon": number_json(norm.epsilon)}
    return without_nulls({**description, "weight": _written(norm.weight), "bias": _written(norm.bias)})


def _layer_json(layer: dense.NetworkLayer) -> dict[str, Any]:
    mlp, parts = layer.mlp, ("w_in", "b_in", "w_out", "b_out", "w_gate", "b_gate")
    message = (
        None if mlp is None else {"activation": mlp.activation.value, **{k: _written(getattr(mlp, k)) for k in parts}}
    )
    return without_nulls(
        {
            "heads": list(map(_head_json, layer.heads)),
            "b_o": _written(layer.b_o),
            "mlp": None if message is None else without_nulls(message),
            "norm_1": _norm_json(layer.norm_1) if layer.attends else None,
            "norm_2": _norm_json(layer.norm_2) if layer.mlp is not None else None,
            "norms": "after" if layer.post else "before",
            "parallel": True if layer.parallel else None,
            "out_1": _norm_json(layer.out_1) if layer.attends else None,
            "out_2": _norm_json(layer.out_2) if layer.mlp is not None else None,
        }
    )
