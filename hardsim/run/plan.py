"""What a forward pass needs to know about a network, read once from its matrices.

Structural zeros are dropped, pairs of hidden units that form a clip are recognised, and coordinates that are the
same for every word (constants and position encodings) are told from those that are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hardsim.net.model import AttentionHead, FeedForward, Transformer
from hardsim.spec.ir import Mask, Rational

Terms = tuple[tuple[int, Rational], ...]
"""A linear form: (coordinate, coefficient) pairs."""


@dataclass(frozen=True, slots=True)
class HeadPlan:
    """One head: `scores` pairs the rows of W_Q and W_K (as linear forms), `values` the rows of W_V by output
    coordinate.

    `key_only` says that the query form and the temperature are the same at every position, so that the logit depends on
    the key alone.
    """

    name: str
    mask: Mask
    scores: tuple[tuple[Terms, Terms], ...]
    values: tuple[tuple[int, Terms], ...]
    static_values: frozenset[int]
    """The output coordinates whose values are the same for every word, where the keys are too: a row then depends on
    its query alone."""
    query_inputs: tuple[int, ...]
    key_inputs: tuple[int, ...]
    key_only: bool
    placeless: bool
    """Every query sees every position, and its query form and temperature depend on its position through
    `query_inputs` alone: rows with the same inputs are the same row."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Adds `weight * f(form + bias)` to each coordinate of `outs`, f = clip to [0, 1] or relu.

    `decides` says that the form reads a coordinate that attention wrote: this is where a soft value is rounded.
    """

    form: Terms
    bias: Rational
    outs: tuple[tuple[int, Rational], ...]
    clip: bool
    decides: bool


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """One layer: its heads, its hidden units, and the entries of b_2 by coordinate."""

    heads: tuple[HeadPlan, ...]
    units: tuple[Unit, ...]
    biases: tuple[tuple[int, Rational], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole network."""

    model: Transformer
    layers: tuple[LayerPlan, ...]
    static: frozenset[int]
    """Coordinates whose value at (i, n) is the same for every word."""


def make_plan(model: Transformer) -> Plan:
    """Read a network's matrices."""
    written = {row for layer in model.layers for head in layer.heads for row, _, _ in head.w_v.entries}
    attended = set(written)
    for layer in model.layers:
        written.update(row for row, _, _ in layer.ffn.w2.entries)
        written.update(index for index, bias in enumerate(layer.ffn.b2) if bias)
    columns: dict[int, set[Rational]] = {}
    rows = model.embedding.rows()
    for coordinate in {column for _, column, _ in model.embedding.entries}:
        columns[coordinate] = {row.get(coordinate, 0) for row in rows}
    static = frozenset(
        index for index in range(model.dimension) if index not in written and len(columns.get(index, {0})) == 1
    )
    level = frozenset(
        index
        for index in static
        if all(coordinate != index or "i" not in value.variables for coordinate, value in model.encodings)
    )
    steady = "i" not in model.temperature.variables
    layers = tuple(
        LayerPlan(
            tuple(_head(head, static, level if steady else None) for head in layer.heads),
            _units(layer.ffn, attended),
            tuple((index, bias) for index, bias in enumerate(layer.ffn.b2) if bias),
        )
        for layer in model.layers
    )
    return Plan(model, layers, static)


def _head(head: AttentionHead, static: frozenset[int], level: frozenset[int] | None) -> HeadPlan:
    """`level` are the static coordinates that are the same at every position; None where the temperature is not."""
    pairs = [
        (tuple(query.items()), tuple(key.items()))
        for query, key in zip(head.w_q.rows(), head.w_k.rows(), strict=True)
        if query and key
    ]
    queries = {coordinate for query, _ in pairs for coordinate, _ in query}
    keys = {coordinate for _, key in pairs for coordinate, _ in key}
    values = [(row, tuple(form.items())) for row, form in enumerate(head.w_v.rows()) if form]
    return HeadPlan(
        name=head.name,
        mask=head.mask,
        scores=tuple(pairs),
        values=tuple(values),
        static_values=frozenset(
            row for row, form in values if keys <= static and all(coordinate in static for coordinate, _ in form)
        ),
        query_inputs=tuple(sorted(queries - static)),
        key_inputs=tuple(sorted(keys - static)),
        key_only=queries <= (level or frozenset()),
        placeless=head.mask is Mask.NONE and level is not None and queries & static <= level,
    )


def _units(ffn: FeedForward, attended: set[int]) -> tuple[Unit, ...]:
    """The hidden units, with `relu(z) - relu(z - 1)` pairs fused into clips."""
    forms = [tuple(sorted(row.items())) for row in ffn.w1.rows()]
    outs: list[dict[int, Rational]] = [{} for _ in forms]
    for row, column, value in ffn.w2.entries:
        outs[column][row] = value
    waiting: dict[tuple[Terms, Rational, Terms], list[int]] = {}
    for index, form in enumerate(forms):
        mirrored = tuple(sorted((row, -value) for row, value in outs[index].items()))
        waiting.setdefault((form, ffn.b1[index] + 1, mirrored), []).append(index)
    units: list[Unit] = []
    used: set[int] = set()
    for index, form in enumerate(forms):
        if index in used or not outs[index]:
            continue
        used.add(index)
        target = tuple(sorted(outs[index].items()))
        partners = [other for other in waiting.get((form, ffn.b1[index], target), []) if other not in used]
        if partners:
            used.add(partners[0])
        decides = any(coordinate in attended for coordinate, _ in form)
        units.append(Unit(form, ffn.b1[index], target, bool(partners), decides))
    return tuple(units)


def magnitudes(plan: Plan, n: int) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
    """Bounds on every coordinate, over all positions and words of length n: layer by layer before and after attention.

    Magnitudes are propagated coordinate by coordinate: attention is a convex combination, a clip is at most 1.
    """
    model = plan.model
    size: list[Fraction] = [Fraction(0)] * model.dimension
    for _, column, value in model.embedding.entries:
        size[column] = max(size[column], _size(value))
    for column, encoding in model.encodings:
        size[column] += max(_size(encoding.evaluate(i=i, n=n)) for i in range(model.first, n + 1))
    for layer in plan.layers:
        grown = list(size)
        for head in layer.heads:
            for out, form in head.values:
                grown[out] += reach(form, size)
        yield size, grown
        added = [Fraction(0)] * model.dimension
        for unit in layer.units:
            top = Fraction(1) if unit.clip else reach(unit.form, grown) + _size(unit.bias)
            for out, weight in unit.outs:
                added[out] += _size(weight) * top
        for out, bias in layer.biases:
            added[out] += _size(bias)
        size = [old + new for old, new in zip(grown, added, strict=True)]


def reach(form: Terms, size: Sequence[Fraction]) -> Fraction:
    """A bound on a linear form of coordinates of these sizes."""
    return sum((_size(value) * size[column] for column, value in form), Fraction(0))


def largest_inverse(plan: Plan, n: int) -> Fraction:
    """The largest 1/tau over the positions of words of length n."""
    model = plan.model
    positions = range(model.first, n + 1) if "i" in model.temperature.variables else (n,)
    return max(model.inverse_temperature(i, n) for i in positions)


def largest_logit(plan: Plan, n: int) -> Fraction:
    """A bound on |s_ij / tau| over all heads, positions and words of length n, in nats."""
    scores = (
        sum((reach(q, size) * reach(k, size) for q, k in head.scores), Fraction(0))
        for layer, (size, _) in zip(plan.layers, magnitudes(plan, n), strict=True)
        for head in layer.heads
    )
    return max(scores, default=Fraction(0)) * largest_inverse(plan, n)


def _size(value: Rational) -> Fraction:
    return abs(Fraction(value))
