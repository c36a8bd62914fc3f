"""The network of a certificate: layers of attention and an MLP, read into floats, with the maps of single vectors.

With d coordinates in the residual stream and x the rows of the tokens read,

    x = scale W_E[tokens] + W_P[places]
    pre-norm:   x += attention(norm_1(x)), then x += mlp(norm_2(x));   post-norm: the norms follow the sums
    attention(y) = b_O + sum over heads of softmax(scale (y W_Q + b_Q)(y W_K + b_K)^T) (y W_V + b_V) W_O
    mlp(y) = f(y W_in + b_in) W_out + b_out;   outputs = final(x) W_U + b_U

A network of one layer may have further parts:

    embeddings:  x = norm_e(scale W_E[tokens] + W_P[places] + b_E)
    positions that scores read:  W_P is added to the y of W_Q and W_K, in place of x
    queries and keys:  turned(norm(y W + b)), by the place, see `parts`; scores have a cap, a slope, a window
    gates:       mlp(y) = (f(y W_gate + b_gate) * (y W_in + b_in)) W_out + b_out
    parallel:    x += attention(norm_1(x)) + mlp(norm_2(x));   out_1, out_2: norms of what attention and MLP add
    outputs:     norm_t(f_t(final(x) W_T + b_T)) W_U + b_U;  with a cap C, C tanh(. / C) of that

The claim is about the real numbers that the certificate writes, as a float or as a text "p/q". Each is stored as the
nearest float, so the true number is within u (and 2^-1074) of it, relative to its size; a scale within 4 u. The maps
here take a vector between bounds, `mid` and `off` with |true - mid| <= off in each coordinate, to such a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any

from hardsim.verify.arithmetic import RATIONAL, require
from hardsim.verify.external.numbers import ACTIVATIONS, ETA, GROW, LARGEST, U, dot, gamma
from hardsim.verify.external.parts import LARGE_POWER, RotaryData, ScoreData, power_of
from hardsim.verify.sections import text, truth

MOST = 1 << 16
"""The most coordinates, units, tokens, places or heads of anything."""
LEAST_SQUARE = 2.0**-128
"""A norm whose mean square may be below this is rejected."""
Bounded = tuple[list[float], list[float]]
"""A vector between bounds: midpoints, and bounds of the distance from them."""


class LinearData:
    """A map x W + b of vectors with `inputs` coordinates: the rows and the columns of W, the absolute values of the
    columns (`sizes`), and b. Numbers are within u of the true ones."""

    def __init__(self, rows: list[list[float]], bias: list[float]) -> None:
        self.rows, self.bias, self.inputs = rows, bias, len(rows)
        self.columns = [[*column] for column in zip(*rows, strict=True)] if rows else [[] for _ in bias]
        self.sizes = [[*map(abs, column)] for column in self.columns]

    def __call__(self, mid: Sequence[float], off: Sequence[float]) -> Bounded:
        """Return the value of the map at a vector between bounds.

        With true inputs x + e and true weights w (1 + t), |t| <= u, a sum of n products and b is off by at most |e| |w|
        (1 + u) + gamma_(n + 3) (|x| |w| + |b|).
        """
        g = gamma(self.inputs + 4)
        loose = [e + g * (abs(x) + e) for x, e in zip(mid, off, strict=True)]
        found = [dot(mid, column) + b for column, b in zip(self.columns, self.bias, strict=True)]
        bounds = zip(self.sizes, self.bias, strict=True)
        return found, [(dot(loose, size) + g * abs(b)) * GROW + ETA for size, b in bounds]


@dataclass(frozen=True, slots=True)
class NormData:
    """A norm: `x / sqrt(mean of x^2 + epsilon) * weight + bias`; `centring` subtracts the mean of x first."""

    centring: bool
    epsilon: float
    weight: list[float]
    bias: list[float]

    def entering(self, mid: Sequence[float], off: Sequence[float]) -> Bounded:
        """Return the vector that is divided by the root of its mean square: x, or x less its mean.

        A mean of d numbers is off by the mean of their errors and gamma_(d + 1) times the mean of their sizes.
        """
        if not self.centring:
            return [*mid], [*off]
        d = len(mid)
        g, mean = gamma(d + 4), sum(mid) / d
        loose = sum(off) / d + g * sum(map(abs, mid)) / d
        return [x - mean for x in mid], [(e + loose + g * abs(x)) * GROW + ETA for x, e in zip(mid, off, strict=True)]

    def __call__(self, mid: Sequence[float], off: Sequence[float]) -> Bounded:
        """Return the value of the norm at a vector between bounds. Raises Rejected if it may divide by almost 0.

        Let y be the vector that is divided, between bounds e, and S its mean square and epsilon. S is off by at most
        the mean of 2 |y| e + e^2, and gamma_(d + 4) S. With r the computed S^(-1/2) and R, r' the greatest value and
        the greatest distance from r of the true one, y r w + b is off by (|y| r' + e R) |w| and a few roundings.
        """
        y, e = self.entering(mid, off)
        d = len(y)
        square = dot(y, y) / d + self.epsilon
        slack = (sum((2 * abs(a) + b) * b for a, b in zip(y, e, strict=True)) / d + gamma(d + 8) * square) * GROW + ETA
        least, most = (square - slack) * (1 - 4 * U), (square + slack) * (1 + 4 * U)
        require(least > LEAST_SQUARE, "a norm divides by a number that may be 0")
        r, greatest = 1 / sqrt(square), 1 / sqrt(least) * (1 + 4 * U)
        apart = max(greatest - r, r - 1 / sqrt(most) * (1 - 4 * U)) * GROW + 4 * U * greatest
        g = gamma(8)
        near, bounds = [], []
        for a, b, w, c in zip(y, e, self.weight, self.bias, strict=True):
            part = a * r * w
            near.append(part + c)
            spread = (abs(a) * apart + b * greatest) * abs(w)
            bounds.append((spread * (1 + g) + g * (abs(part) + abs(c))) * GROW + ETA)
        return near, bounds


@dataclass(frozen=True, slots=True)
class HeadData:
    """A head: its mask ("future": a query sees the keys up to itself; "none": all; "past"), the scale of the scores
    (within 4 u), and the maps to queries, keys, values and outputs."""

    mask: str
    scale: float
    q: LinearData
    k: LinearData
    v: LinearData
    o: LinearData
    norm_q: NormData | None = None
    norm_k: NormData | None = None
    rotary: RotaryData | None = None
    scores: ScoreData = field(default_factory=ScoreData)

    def query(self, y: Bounded, place: int) -> Bounded:
        """Return the query, without its scale, of what is read at a place."""
        return self._turned(self.q(*y), self.norm_q, place)

    def key(self, y: Bounded, place: int) -> Bounded:
        """Return the key of what is read at a place."""
        return self._turned(self.k(*y), self.norm_k, place)

    def _turned(self, x: Bounded, norm: NormData | None, place: int) -> Bounded:
        x = x if norm is None else norm(*x)
        return x if self.rotary is None else self.rotary.turned(*x, place)


@dataclass(frozen=True, slots=True)
class MlpData:
    """An MLP: the name of its function of hidden units, the map to them, and the map from them. With a gate, the
    function is that of the gate's values, and multiplies those of the map `enter`."""

    activation: str
    enter: LinearData
    leave: LinearData
    gate: LinearData | None = None


@dataclass(frozen=True, slots=True)
class TransformData:
    """The step before the outputs: a map, the name of a function (None: none), and a norm."""

    map: LinearData
    activation: str | None
    norm: NormData | None


@dataclass(frozen=True, slots=True)
class ReadoutData:
    """The rules by which a word becomes tokens and outputs become an answer. `before` and `after` are numbers of
    tokens, `among` numbers of outputs (all that take part in an argmax), `level` is within u."""

    before: list[int]
    after: list[int]
    at: str
    decide: str
    level: float
    among: list[int]


@dataclass(frozen=True, slots=True)
class NetworkData:
    """A network of one layer (see the module), or one layer of several, where `final` is that of the last layer, and
    None in the others. `symbols` are the numbers of the tokens that words are made of, in the
    order of `alphabet`; `positions` is None if there is no table of positions."""

    tokens: list[str]
    outputs: list[str]
    alphabet: list[str]
    symbols: list[int]
    embedding: list[list[float]]
    scale: float
    positions: list[list[float]] | None
    heads: list[HeadData]
    b_o: list[float]
    mlp: MlpData | None
    norm_1: NormData | None
    norm_2: NormData | None
    post: bool
    final: NormData | None
    unembedding: LinearData
    readout: ReadoutData
    embedding_bias: list[float] | None = None
    embedding_norm: NormData | None = None
    beside: bool = False
    """True if positions are added to what queries and keys read alone."""
    parallel: bool = False
    out_1: NormData | None = None
    out_2: NormData | None = None
    transform: TransformData | None = None
    output_cap: float | None = None

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream."""
        return len(self.embedding[0])

    def embedded(self, token: int, place: int) -> Bounded:
        """Return the row of a token at a place, counted from 0, as it enters the layer. Raises Rejected if the table of
        positions has no such row.

        The scale is within 4 u and each number within u, so the sum of product, position and bias is off by at most
        gamma_8 of their sizes.
        """
        parts = [[self.scale * x for x in self.embedding[token]]]
        if self.positions is not None and not self.beside:
            parts.append(self._position(place))
        if self.embedding_bias is not None:
            parts.append(self.embedding_bias)
        columns = [*zip(*parts, strict=True)]
        x = [sum(column, 0.0) for column in columns], [gamma(8) * sum(map(abs, column)) + ETA for column in columns]
        return x if self.embedding_norm is None else self.embedding_norm(*x)

    def read(self, y: Bounded, place: int) -> Bounded:
        """Return what queries and keys read at a place, for vectors that enter the heads: with positions within u, the
        sum is off by at most gamma_4 of the sizes besides."""
        if not self.beside or self.positions is None:
            return y
        parts = [*zip(*y, self._position(place), strict=True)]
        return [a + b for a, _, b in parts], [(e + gamma(4) * (abs(a) + abs(b))) * GROW + ETA for a, e, b in parts]

    def _position(self, place: int) -> list[float]:
        assert self.positions is not None
        require(0 <= place < len(self.positions), "the table of positions has too few rows")
        return self.positions[place]


# ---- reading ----


def read_network(data: Any) -> NetworkData:
    """Read the network of one layer of a certificate. Raises Rejected as `read_layers`."""
    (network,) = read_layers(data, 1)
    return network


def read_layers(data: Any, count: int) -> list[NetworkData]:
    """Read the network of a certificate, and return its `count` layers. Raises Rejected if it has another number of
    layers, a key is missing or not known, a value has another type or size than the rest of the network asks for, or a
    number is no float or greater than LARGEST."""
    keys = (
        "tokens", "embedding", "embedding_scale", "positions", "layers", "final", "unembedding", "unembedding_bias",
        "outputs", "readout",
    )  # fmt: skip
    parts = _object(data, "network", keys, MORE["network"] if count == 1 else ())
    tokens, outputs = _names(parts["tokens"], "network.tokens"), _names(parts["outputs"], "network.outputs")
    embedding = _matrix(parts["embedding"], "network.embedding", len(tokens), None)
    d = len(embedding[0])
    positions, layers = parts["positions"], parts["layers"]
    if positions is not None:
        positions = _matrix(positions, "network.positions", None, d)
    what = "one layer" if count == 1 else f"{count} layers"
    require(type(layers) is list and len(layers) == count, f"network.layers: this should be an array of {what}")
    # the unembedding reads what the transform makes
    transform = _transform(parts.get("transform"), "network.transform", d)
    last = d if transform is None else len(transform.map.columns)
    unembedding = _linear(parts, "network", "unembedding", "unembedding_bias", (last, len(outputs)))
    readout, alphabet = _readout(parts["readout"], tokens, outputs)
    symbols = _numbers(alphabet, tokens, "network.readout.alphabet")
    final = _norm(parts["final"], "network.final", d)
    scale = _scale(parts["embedding_scale"], "network.embedding_scale")
    bias = parts.get("embedding_bias")
    at = parts.get("positions_at")
    require(at in (None, "scores"), 'network.positions_at: this should be "scores"')
    return [
        NetworkData(
            tokens=tokens,
            outputs=outputs,
            alphabet=alphabet,
            symbols=symbols,
            embedding=embedding,
            scale=scale,
            positions=positions,
            **_layer(layer, f"network.layers[{number}]", d, count == 1),
            final=final if number == count - 1 else None,
            unembedding=unembedding,
            readout=readout,
            embedding_bias=None if bias is None else vector(bias, "network.embedding_bias", d),
            embedding_norm=_norm(parts.get("embedding_norm"), "network.embedding_norm", d),
            beside=at == "scores",
            transform=transform,
            output_cap=_cap(parts.get("output_cap"), "network.output_cap"),
        )
        for number, layer in enumerate(layers)
    ]


MORE: dict[str, tuple[str, ...]] = {
    "network": ("embedding_bias", "embedding_norm", "positions_at", "transform", "output_cap"),
    "layer": ("parallel", "out_1", "out_2"),
    "head": ("norm_q", "norm_k", "rotary", "cap", "distance", "window"),
    "mlp": ("w_gate", "b_gate"),
}
"""The keys that a network of one layer may have besides."""
STEEPEST_EXPONENT = 64


def _object(data: Any, place: str, keys: Sequence[str], more: Sequence[str] = ()) -> dict[str, Any]:
    require(type(data) is dict, f"{place}: this should be an object")
    for key in keys:
        require(key in data, f"{place}: the key {key!a} is missing")
    for key in data:
        require(key in keys or key in more, f"{place}: the key {key!a} is not known")
    found: dict[str, Any] = data
    return found


def _list(data: Any, place: str, length: int | None = None) -> list[Any]:
    what = f"1 to {MOST}" if length is None else str(length)
    least, most = (1, MOST) if length is None else (length, length)
    require(type(data) is list and least <= len(data) <= most, f"{place}: this should be an array of {what} entries")
    found: list[Any] = data
    return found


def _names(data: Any, place: str) -> list[str]:
    """Return an array of different texts."""
    for name in _list(data, place):
        text(name, place)
    require(len({*data}) == len(data), f"{place}: a name occurs twice")
    found: list[str] = data
    return found


def _numbers(data: Any, names: Sequence[str], place: str) -> list[int]:
    """Return the numbers of some names, which may be none."""
    require(type(data) is list and len(data) <= MOST, f"{place}: this should be an array")
    numbers = {name: k for k, name in enumerate(names)}
    for name in data:
        require(type(name) is str and name in numbers, f"{place}: an entry is not one of the names")
    return [numbers[name] for name in data]


def rational(data: Any, place: str) -> Fraction:
    """Return a rational that is written as a text "p" or "p/q", of at most LARGEST in size."""
    require(type(data) is str and RATIONAL.fullmatch(data), f'{place}: this should be a rational such as "-1/2"')
    found = Fraction(data)
    require(abs(found) <= LARGEST, f"{place}: too large: a number above {LARGEST}")
    return found


def number(data: Any, place: str) -> float:
    """Return a number, a float or a text "p/q", as the nearest float. Raises Rejected for anything else, and for a
    number that is not finite or greater than LARGEST in size."""
    if type(data) is not float:
        require(type(data) is str, f'{place}: this should be a number with a decimal point, or a text "p/q"')
        return float(rational(data, place))
    # The comparison is false for NaN.
    require(-LARGEST <= data <= LARGEST, f"{place}: too large: a number above {LARGEST}")
    return data


def vector(data: Any, place: str, length: int | None = None) -> list[float]:
    """Return an array of numbers, of a given length or of any from 1 to MOST."""
    return [number(part, place) for part in _list(data, place, length)]


def _matrix(data: Any, place: str, rows: int | None, columns: int | None) -> list[list[float]]:
    """Return an array of rows of one length."""
    width, found = columns, list[list[float]]()
    for k, row in enumerate(_list(data, place, rows)):
        found.append(vector(row, f"{place}[{k}]", width))
        width = len(found[0])
    return found


def _linear(parts: dict[str, Any], place: str, matrix: str, bias: str | None, shape: tuple[int, int]) -> LinearData:
    """Return a map of a given shape, from two keys."""
    rows = _matrix(parts[matrix], f"{place}.{matrix}", *shape)
    return LinearData(rows, _vector_or(parts[bias] if bias else None, f"{place}.{bias}", shape[1], 0.0))


def _vector_or(data: Any, place: str, length: int, other: float) -> list[float]:
    """Return an array of numbers, or one number everywhere in its place if it is null."""
    return [other] * length if data is None else vector(data, place, length)


def _scale(data: Any, place: str) -> float:
    """Return a positive number factor / sqrt(root), within 4 u: u for the factor and the quotient, u / 2 for the root,
    and u for the square root."""
    parts = _object(data, place, ("factor", "root"))
    factor, root = rational(parts["factor"], f"{place}.factor"), parts["root"]
    require(factor > 1 / LARGEST, f"{place}.factor: this should be positive, and above {1 / LARGEST}")
    require(type(root) is int and 0 < root <= LARGEST, f"{place}.root: this should be a positive integer")
    return float(factor) / sqrt(float(root))


def _norm(data: Any, place: str, d: int) -> NormData | None:
    if data is None:
        return None
    parts = _object(data, place, ("kind", "epsilon", "weight", "bias"))
    require(parts["kind"] in ("layer", "rms"), f'{place}.kind: this should be "layer" or "rms"')
    epsilon = rational(parts["epsilon"], f"{place}.epsilon")
    require(epsilon >= 0, f"{place}.epsilon: this should not be negative")
    weight, bias = (_vector_or(parts[key], f"{place}.{key}", d, 1.0 - k) for k, key in enumerate(("weight", "bias")))
    return NormData(parts["kind"] == "layer", float(epsilon), weight, bias)


def _transform(data: Any, place: str, d: int) -> TransformData | None:
    if data is None:
        return None
    parts = _object(data, place, ("weight", "bias", "activation", "norm"))
    width = len(_list(_list(parts["weight"], f"{place}.weight", d)[0], f"{place}.weight[0]"))
    found, activation = _linear(parts, place, "weight", "bias", (d, width)), parts["activation"]
    return TransformData(
        found,
        None if activation is None else _activation(activation, f"{place}.activation"),
        _norm(parts["norm"], f"{place}.norm", width),
    )


def _cap(data: Any, place: str) -> float | None:
    if data is None:
        return None
    cap = rational(data, place)
    require(cap > 1 / LARGEST, f"{place}: this should be positive, and above {1 / LARGEST}")
    return float(cap)


def _small(data: Any, place: str) -> Fraction:
    """Return a rational whose numerator and denominator are not too large for powers."""
    found = rational(data, place)
    require(max(abs(found.numerator), found.denominator) < LARGE_POWER, f"{place}: too large: many digits")
    return found


def _rotary(data: Any, place: str, width: int) -> RotaryData | None:
    if data is None:
        return None
    parts = _object(data, place, ("base", "size", "interleaved", "divisor"))
    base, divisor = (_small(parts[key], f"{place}.{key}") for key in ("base", "divisor"))
    require(base > 0 and divisor > 0, f"{place}: the base and the divisor should be positive")
    size = parts["size"]
    fine = type(size) is int and 2 <= size <= min(width, 512) and size % 2 == 0
    require(fine, f"{place}.size: this should be an even number from 2 to {min(width, 512)}")
    truth(parts["interleaved"], f"{place}.interleaved")
    return RotaryData.of(base, size, parts["interleaved"], divisor)


def _scores(parts: dict[str, Any], place: str) -> ScoreData:
    """Return the steps to the scores of a head. A slope is within u of 2^-exponent."""
    window, slope = parts.get("window"), 0.0
    require(window is None or (type(window) is int and window > 0), f"{place}.window: this should be above 0, or null")
    if parts.get("distance") is not None:
        exponent = _small(parts["distance"], f"{place}.distance")
        fine = abs(exponent) <= STEEPEST_EXPONENT and exponent.denominator <= STEEPEST_EXPONENT
        require(fine, f"{place}.distance: too large: an exponent beyond {STEEPEST_EXPONENT}")
        # both are integers in the same units, and their quotient is rounded once
        slope = power_of(Fraction(2), -exponent) / power_of(Fraction(2), Fraction(0))
    return ScoreData(_cap(parts.get("cap"), f"{place}.cap"), slope, window)


def _layer(data: Any, place: str, d: int, one: bool) -> dict[str, Any]:
    """Return the fields of a network that describe its layer; `one`: it has no other."""
    parts = _object(data, place, ("heads", "b_o", "mlp", "norm_1", "norm_2", "post"), MORE["layer"] if one else ())
    heads, mlp, post = parts["heads"], parts["mlp"], parts["post"]
    require(type(heads) is list and len(heads) <= MOST, f"{place}.heads: this should be an array")
    truth(post, f"{place}.post")
    norm_1, norm_2 = (_norm(parts[key], f"{place}.{key}", d) for key in ("norm_1", "norm_2"))
    attends = heads or parts["b_o"] is not None
    require(norm_1 is None or attends, f"{place}.norm_1: this should be null in a layer without attention")
    require(norm_2 is None or mlp is not None, f"{place}.norm_2: this should be null in a layer without an MLP")
    out_1, out_2 = (_norm(parts.get(key), f"{place}.{key}", d) for key in ("out_1", "out_2"))
    require(out_1 is None or attends, f"{place}.out_1: this should be null in a layer without attention")
    require(out_2 is None or mlp is not None, f"{place}.out_2: this should be null in a layer without an MLP")
    parallel = parts.get("parallel", False)
    truth(parallel, f"{place}.parallel")
    require(not (parallel and post), f"{place}.parallel: this should be false where norms follow the sums")
    return {
        "parallel": parallel,
        "out_1": out_1,
        "out_2": out_2,
        "heads": [_head(head, f"{place}.heads[{k}]", d, one) for k, head in enumerate(heads)],
        "b_o": _vector_or(parts["b_o"], f"{place}.b_o", d, 0.0),
        "mlp": None if mlp is None else _mlp(mlp, f"{place}.mlp", d, one),
        "norm_1": norm_1,
        "norm_2": norm_2,
        "post": post,
    }


def _head(data: Any, place: str, d: int, one: bool) -> HeadData:
    keys = "mask", "scale", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v"
    parts = _object(data, place, keys, MORE["head"] if one else ())
    require(parts["mask"] in ("future", "past", "none"), f"{place}.mask: this should be future, past or none")
    key_width, value_width = (
        len(_list(_list(parts[key], f"{place}.{key}", d)[0], f"{place}.{key}[0]")) for key in ("w_q", "w_v")
    )
    return HeadData(
        mask=parts["mask"],
        scale=_scale(parts["scale"], f"{place}.scale"),
        q=_linear(parts, place, "w_q", "b_q", (d, key_width)),
        k=_linear(parts, place, "w_k", "b_k", (d, key_width)),
        v=_linear(parts, place, "w_v", "b_v", (d, value_width)),
        o=_linear(parts, place, "w_o", None, (value_width, d)),
        norm_q=_norm(parts.get("norm_q"), f"{place}.norm_q", key_width),
        norm_k=_norm(parts.get("norm_k"), f"{place}.norm_k", key_width),
        rotary=_rotary(parts.get("rotary"), f"{place}.rotary", key_width),
        scores=_scores(parts, place),
    )


def _activation(data: Any, place: str) -> str:
    require(type(data) is str and data in ACTIVATIONS, f"{place}: this should be one of {', '.join(ACTIVATIONS)}")
    return str(data)


def _mlp(data: Any, place: str, d: int, one: bool) -> MlpData:
    parts = _object(data, place, ("activation", "w_in", "w_out", "b_in", "b_out"), MORE["mlp"] if one else ())
    activation, gate = _activation(parts["activation"], f"{place}.activation"), parts.get("w_gate")
    require(gate is not None or parts.get("b_gate") is None, f"{place}.b_gate: this should be null without a gate")
    width = len(_list(parts["w_out"], f"{place}.w_out"))
    enter = _linear(parts, place, "w_in", "b_in", (d, width))
    leave = _linear(parts, place, "w_out", "b_out", (width, d))
    parts = {"b_gate": None, **parts}
    return MlpData(
        activation, enter, leave, None if gate is None else _linear(parts, place, "w_gate", "b_gate", (d, width))
    )


def _readout(data: Any, tokens: list[str], outputs: list[str]) -> tuple[ReadoutData, list[str]]:
    """Return the readout, and the texts of the tokens that words are made of."""
    place = "network.readout"
    parts = _object(data, place, ("before", "after", "at", "decide", "level", "among", "alphabet"))
    require(parts["at"] in ("last", "each"), f'{place}.at: this should be "last" or "each"')
    require(parts["decide"] in ("above", "argmax"), f'{place}.decide: this should be "above" or "argmax"')
    before, after = (_numbers(parts[key], tokens, f"{place}.{key}") for key in ("before", "after"))
    among = parts["among"]
    chosen = [*range(len(outputs))] if among is None else _numbers(among, outputs, f"{place}.among")
    require(chosen and len({*chosen}) == len(chosen), f"{place}.among: this should name some outputs, each once")
    alphabet = parts["alphabet"]
    if alphabet is None:
        fixed = {*before, *after}
        alphabet = [name for k, name in enumerate(tokens) if k not in fixed]
    level = number(parts["level"], f"{place}.level")
    return ReadoutData(before, after, parts["at"], parts["decide"], level, chosen), _names(
        alphabet, f"{place}.alphabet"
    )
