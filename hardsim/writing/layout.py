"""The layout of an exported network: arrays of float64 and a description, in one form for compiled and external
networks.

With m rows (all tokens read), x in R^(m x d), and the array names of `ExportLayout.arrays`:

    x = embedding[tokens] + positions          (over sets of propositions: their rows added up, and the last row)
    layer by layer, where a step without arrays is left out, and norms are before or after the sums:
    x = x + sum over heads of softmax(scale ((x w_q + b_q)(x w_k + b_k)^T)) (x w_v + b_v) w_o + b_o
    x = x + f(x w_in + b_in) w_out + b_out
    outputs = x unembedding + unembedding_bias

with the further parts of `network.dense` where they exist.

`clip` is an f of its own: min(max(z, 0), cap) with a cap for each hidden unit, 1 for a clip and infinity for a relu. A
cap that is a Boolean is x w_cap + cap.
Values that depend on the length n and the position i are described by functions (see `function_json`): position
encodings, and the scale of a head, which for a compiled network is 1/tau. The embedding is stored times its scale.
Every number is rounded once, to float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import OutOfRange
from hardsim.lang.arith import in_python
from hardsim.lang.reals import Real, RealNumber, bounds
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import Defined, PositionFunction, PredicateColumn, column_text, real_value
from hardsim.network.dense import Activation, Dense, Network, NetworkHead, Norm
from hardsim.network.features import NetworkFeature, features
from hardsim.network.numbers import Mask
from hardsim.network.store import norms_json
from hardsim.network.transformer import (
    AttentionHead,
    FeedForward,
    LengthTable,
    Matrix,
    PositionTable,
    Schedule,
    SoftWeighting,
    Transformer,
    rows_of,
)

Array: TypeAlias = NDArray[np.float64]

CLIP = "clip"
EMBEDDING, POSITIONS, UNEMBEDDING, UNEMBEDDING_BIAS = "embedding", "positions", "unembedding", "unembedding_bias"
QUERY_SIDE = ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v")
MLP_SIDE = ("w_in", "b_in", "w_out", "b_out", "w_gate", "b_gate")
EMBEDDING_BIAS, TRANSFORM = "embedding_bias", "transform."
PROJECTION, PROJECTION_BIAS = "projection", "projection_bias"
BEYOND = "Scale the network, so that its numbers are between 10^-300 and 10^300."


@dataclass(frozen=True)
class ExportLayout:
    """A network to be written. `description` is JSON (see `docs/export.md`), and the arrays are named as there."""

    description: dict[str, Any]
    arrays: dict[str, Array]
    encoded: Callable[[int], list[tuple[int, list[RealNumber]]]]
    """Returns, for words of length n, the numbers that the position encoding adds to coordinates, row by row. (A
    table of positions is among the arrays instead.)"""
    encoded_by: Mapping[int, frozenset[str]]
    """The variables among i and n that the position encoding depends on, by coordinate."""
    scaled: Callable[[int], list[list[RealNumber]]]
    """Returns, for words of length n and by head, the factor of its scores: row by row, or one number for all rows."""
    scaled_by: frozenset[str]
    """The variables among i and n that the factors of the scores depend on."""
    features: tuple[NetworkFeature, ...] = ()
    """The parts of an external network that only some families have."""

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream; of embeddings, if these have another."""
        return int(self.arrays[EMBEDDING].shape[1])

    @property
    def fixed(self) -> int:
        """The number of tokens before and after every word."""
        return len(self.description["before"]) + len(self.description["after"])


def nearest_float(value: RealNumber) -> float:
    """Return the float64 nearest to an exact number; for an irrational number, the nearest or one next to it. Raises
    OutOfRange if the number is beyond float64."""
    exact = sum(bounds(value), Fraction(0)) / 2 if isinstance(value, Real) else Fraction(value)
    try:
        return float(exact)
    except OverflowError:
        raise OutOfRange(f"a number of the network is beyond float64 ({float_power(exact)})", BEYOND) from None


def float_power(value: Fraction) -> str:
    """Return the size of a large number as text for messages: "about 2^k"."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    return f"about 2^{bits}"


# ---- functions of positions and lengths ----


def function_json(function: PositionFunction, users: Defined) -> Any:
    """Return a function of i and n as JSON: an expression with Python's operators, in which a condition is 1 or 0; a
    table of positions `{"start", "values", "otherwise"}`; or an array with a value for each length from 1."""
    if isinstance(function, PositionTable):
        values = [str(value) for value in function.values]
        return {"start": function.start, "values": values, "otherwise": str(function.otherwise)}
    if isinstance(function, LengthTable):
        return [str(value) for value in function.values]
    if isinstance(function, PredicateColumn):
        return " ".join(column_text(function, users).split())  # a definition may take several lines
    return in_python(str(function))


def _positions(encodings: Sequence[tuple[int, PositionFunction]], users: Defined) -> list[Any]:
    """Return pairs of a coordinate and the list of functions that are added to it."""
    places = dict.fromkeys(place for place, _ in encodings)
    return [[at, [function_json(one, users) for place, one in encodings if place == at]] for at in places]


def _inverse_json(temperature: Schedule) -> Any:
    """Return 1/tau in the form of `function_json`."""
    if isinstance(temperature, LengthTable):
        return [str(1 / value) for value in temperature.values]
    text = in_python(str(temperature))
    return "1" if text == "1" else f"1/({text})"


# ---- compiled networks ----


@dataclass(frozen=True)
class Answer:
    """The readout of a compiled network: the names and coordinates of its outputs, the positions, and the rule of the
    answer."""

    outputs: tuple[tuple[str, int], ...]
    at: str
    rule: Mapping[str, Any]


def transformer_layout(model: Transformer, answer: Answer, users: Defined) -> ExportLayout:
    """Return the layout of a compiled network. Raises OutOfRange if a weight is beyond float64."""
    d, arrays = model.dimension, dict[str, Array]()
    sets = isinstance(model.alphabet, Valuations)
    names = list(rows_of(model.alphabet, model.bos))
    arrays[EMBEDDING] = _matrix(model.embedding)
    scale, layers = _inverse_json(model.temperature), []
    stated = {} if model.weighting is SoftWeighting.SOFTMAX else {"weighting": model.weighting.value}
    rounding = model.rounding
    # Every layer has it, so that `model.py` runs layers one by one.
    rounds = {} if rounding is None else {"rounding": [rounding.mode.value, rounding.bits]}
    for number, layer in enumerate(model.layers):
        heads = []
        for place, head in enumerate(layer.heads):
            _put(arrays, f"layers.{number}.heads.{place}.", _head_arrays(head, d))
            heads.append({"name": head.name, "mask": head.mask.value, "scale": scale} | stated)
        mlp = None
        if layer.ffn.units or layer.ffn.biases:
            mlp = CLIP
            _put(arrays, f"layers.{number}.mlp.", _mlp_arrays(layer.ffn, d))
        layers.append({"heads": heads, "mlp": mlp, **(norms_json(layer) or {"norms": "before"}), **rounds})
    selected = {(place, number): 1 for number, (_, place) in enumerate(answer.outputs)}
    arrays[UNEMBEDDING] = _matrix(Matrix.of(d, len(answer.outputs), dict(selected)))
    bos: list[Any] = [[] if sets else len(names) - 1] * model.bos
    description = {
        "propositions" if sets else "tokens": names[:-1] if sets else names,
        "before": bos,
        "after": [],
        "first": model.first,
        "bos": model.bos,
        "coordinates": list(model.coordinates),
        "positions": _positions(model.encodings, users),
        "layers": layers,
        **({} if (mask := _encoder_mask(model)) is None else {"encoder": mask.value}),
        "outputs": [name for name, _ in answer.outputs],
        "at": answer.at,
        "decide": dict(answer.rule),
    }

    def encoded(n: int) -> list[tuple[int, list[RealNumber]]]:
        return _encoded(model.encodings, model.first, n, n)

    def scaled(n: int) -> list[list[RealNumber]]:
        rows: list[RealNumber] = list(model.inverse_temperatures(n))
        return [rows if "i" in model.temperature.variables else rows[:1]] * len(model.heads)

    return ExportLayout(description, arrays, encoded, _variables(model.encodings), scaled, model.temperature.variables)


def _encoder_mask(model: Transformer) -> Mask | None:
    """Return the mask of a network whose layers are those of PyTorch's `nn.TransformerEncoder`: at most one head, a
    mean over the same positions in every layer, relus without biases, and a norm after both. None for any other."""
    if model.weighting is not SoftWeighting.SOFTMAX:
        return None
    for layer in model.layers:
        plain = not layer.ffn.biases and not any(unit.bias or unit.clip for unit in layer.ffn.units)
        means = len(layer.heads) <= 1 and not any(head.scores for head in layer.heads)
        if layer.norm_1 is not None or layer.norm_2 is None or not (plain and means):
            return None
    masks = {head.mask for head in model.heads}
    if len(masks) > 1 or not model.layers or masks & {Mask.STRICT_FUTURE, Mask.STRICT_PAST}:
        return None
    return next(iter(masks), Mask.NONE)


def _variables(encodings: Sequence[tuple[int, PositionFunction]]) -> dict[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    for place, function in encodings:
        found[place] = found.get(place, frozenset()) | function.variables
    return found


def _encoded(
    encodings: Sequence[tuple[int, PositionFunction]], first: int, last: int, n: int
) -> list[tuple[int, list[RealNumber]]]:
    """Return pairs of a coordinate and, at positions `first` to `last` (both included), the sums of its functions."""
    found: dict[int, list[RealNumber]] = {}
    for place, function in encodings:
        values: list[RealNumber] = [real_value(function, i, n) for i in range(first, last + 1)]
        found[place] = list(map(add, found[place], values)) if place in found else values
    return list(found.items())


def _matrix(matrix: Matrix) -> Array:
    found = np.zeros(matrix.shape)
    for row, column, value in matrix.entries:
        found[row, column] = nearest_float(value)
    return found


def _head_arrays(head: AttentionHead, d: int) -> dict[str, Array]:
    """Return the arrays of a head. W_Q and W_K have at least one column, so that a uniform head has scores, which are
    0. W_V computes the values, and W_O moves each to the coordinate that it is added to."""
    k, values = max(1, len(head.scores)), head.values
    w_q, w_k = np.zeros((d, k)), np.zeros((d, k))
    for column, (query, key) in enumerate(head.scores):
        for found, form in ((w_q, query), (w_k, key)):
            for place, value in form:
                found[place, column] = nearest_float(value)
    w_v, w_o = np.zeros((d, max(1, len(values)))), np.zeros((max(1, len(values)), d))
    for column, (out, form) in enumerate(values):
        w_o[column, out] = 1.0
        for place, value in form:
            w_v[place, column] = nearest_float(value)
    return {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}


def _mlp_arrays(ffn: FeedForward, d: int) -> dict[str, Array]:
    """Return the arrays of the hidden units."""
    m = max(1, len(ffn.units))
    found = {"w_in": np.zeros((d, m)), "b_in": np.zeros(m), "cap": np.ones(m), "w_out": np.zeros((m, d))}
    for number, unit in enumerate(ffn.units):
        for place, value in unit.form:
            found["w_in"][place, number] = nearest_float(value)
        found["b_in"][number] = nearest_float(unit.bias)
        found["cap"][number] = nearest_float(unit.cap_bias) if unit.clip else np.inf
        for place, value in unit.cap:
            found.setdefault("w_cap", np.zeros((d, m)))[place, number] = nearest_float(value)
        for out, weight in unit.outs:
            found["w_out"][number, out] = nearest_float(weight)
    if ffn.biases:
        found["b_out"] = np.zeros(d)
        for place, value in ffn.biases:
            found["b_out"][place] = nearest_float(value)
    return found


# ---- external networks ----


def network_layout(network: Network) -> ExportLayout:
    """Return the layout of an external network. Raises OutOfRange if a number is beyond float64."""
    arrays, layers, readout = dict[str, Array](), [], network.readout
    _put(arrays, "", {EMBEDDING: network.scaled_embedding, UNEMBEDDING: network.unembedding})
    _put(arrays, "", {UNEMBEDDING_BIAS: network.unembedding_bias, EMBEDDING_BIAS: network.embedding_bias})
    _put(arrays, "", {PROJECTION: network.projection, PROJECTION_BIAS: network.projection_bias})
    _put(arrays, "", {POSITIONS: network.positions if isinstance(network.positions, np.ndarray) else None})
    for number, layer in enumerate(network.layers):
        prefix = f"layers.{number}."
        for place, head in enumerate(layer.heads):
            _put(arrays, f"{prefix}heads.{place}.", {key: getattr(head, key) for key in QUERY_SIDE})
        _put(arrays, prefix, {"b_o": layer.b_o})
        if layer.mlp is not None:
            _put(arrays, f"{prefix}mlp.", {key: getattr(layer.mlp, key) for key in MLP_SIDE})
            # model.py computes a relu as a clip with an infinite cap.
            if layer.mlp.activation is Activation.RELU:
                arrays[f"{prefix}mlp.cap"] = np.full(layer.mlp.w_in.shape[1], np.inf)
        norms = {key: _norm(arrays, f"{prefix}{key}.", getattr(layer, key)) for key in ("norm_1", "norm_2")}
        added = {key: _norm(arrays, f"{prefix}{key}.", getattr(layer, key)) for key in ("out_1", "out_2")}
        heads = [_head(arrays, f"{prefix}heads.{place}.", head) for place, head in enumerate(layer.heads)]
        mlp = None if layer.mlp is None else layer.mlp.activation.value
        order = "after" if layer.post else "before"
        layers.append({"heads": heads, "mlp": mlp, **norms, "norms": order, **_present(**added)})
        if layer.parallel:
            layers[-1]["parallel"] = True
    ids, start = network.ids, 1 - len(readout.before)
    functions = () if isinstance(network.positions, np.ndarray) else network.positions
    description = {
        "tokens": [str(token) for token in network.tokens],
        "before": [ids[str(token)] for token in readout.before],
        "after": [ids[str(token)] for token in readout.after],
        "first": start,
        "bos": False,
        "positions": _positions(functions, {}),
        "layers": layers,
        "final_norm": _norm(arrays, "final_norm.", network.final),
        "outputs": [str(token) for token in network.outputs],
        "at": readout.at if readout.pooled == "last" else readout.pooled,
        "decide": _rule(network),
        **_around(arrays, network),
    }
    if network.longest is not None:
        description["longest"] = network.longest

    def encoded(n: int) -> list[tuple[int, list[RealNumber]]]:
        return _encoded(functions, start, start + readout.length(n) - 1, n)

    scales: list[list[RealNumber]] = [[head.scale.real] for head in network.heads]
    by, own = _variables(functions), features(network)
    return ExportLayout(description, arrays, encoded, by, lambda n: scales, frozenset(), own)


def _present(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def _head(arrays: dict[str, Array], prefix: str, head: NetworkHead) -> dict[str, Any]:
    """Return the description of a head, and add the arrays of its norms. Frequencies and slopes are texts of floats."""
    norms = {key: _norm(arrays, f"{prefix}{key}.", getattr(head, key)) for key in ("norm_q", "norm_k")}
    turns, slope = None, None if head.distance is None else repr(nearest_float(head.distance.slope))
    if (rotary := head.rotary) is not None:
        frequencies = [repr(nearest_float(frequency)) for frequency in rotary.frequencies]
        turns = {"frequencies": frequencies, "interleaved": rotary.interleaved}
        if rotary.amplitude != 1:
            turns["amplitude"] = repr(nearest_float(rotary.amplitude))
    cap = None if head.cap is None else str(head.cap)
    return {
        "name": head.name,
        "mask": head.mask.value,
        "scale": str(head.scale),
        **_present(window=head.window, **norms, turns=turns, cap=cap, slope=slope),
    }


def _around(arrays: dict[str, Array], network: Network) -> dict[str, Any]:
    """Return the description of what surrounds the layers besides norms, and add its arrays."""
    step = None
    if (transform := network.transform) is not None:
        _put(arrays, TRANSFORM, {"weight": transform.weight, "bias": transform.bias})
        activation = None if transform.activation is None else transform.activation.value
        step = {"activation": activation, "norm": _norm(arrays, f"{TRANSFORM}norm.", transform.norm)}
        if activation == Activation.RELU:
            arrays[f"{TRANSFORM}cap"] = np.full(transform.weight.shape[1], np.inf)
    return _present(
        embedding_norm=_norm(arrays, "embedding_norm.", network.embedding_norm),
        positions_at=None if network.positions_at == "stream" else network.positions_at,
        transform=step,
        output_cap=None if network.output_cap is None else str(network.output_cap),
    )


def _put(arrays: dict[str, Array], prefix: str, given: Mapping[str, Dense | None]) -> None:
    """Add the arrays that exist to `arrays`, as float64."""
    for name, array in given.items():
        if array is None:
            continue
        if array.dtype == object:
            array = np.array([nearest_float(value) for value in array.flat]).reshape(array.shape)
        arrays[prefix + name] = np.ascontiguousarray(array, dtype=np.float64)


def _norm(arrays: dict[str, Array], prefix: str, norm: Norm | None) -> dict[str, Any] | None:
    if norm is None:
        return None
    _put(arrays, prefix, {"weight": norm.weight, "bias": norm.bias})
    return {"kind": norm.kind, "epsilon": str(norm.epsilon)}


def _rule(network: Network) -> dict[str, Any]:
    readout = network.readout
    if readout.decide == "argmax":
        among = list(range(len(network.outputs)))
        if readout.among is not None:
            names = [str(token) for token in network.outputs]
            among = [names.index(str(token)) for token in readout.among]
        return {"rule": "argmax", "among": among}
    return {"rule": readout.decide, "level": str(readout.level)}
