"""Columns and supports of the checker of external networks, against every word in plain float64."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, nextafter
from random import Random
from typing import Any

import numpy as np
import pytest

from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.columns import ClassWeights, Columns
from hardsim.verify.external.machine import read_machine
from hardsim.verify.external.network import read_network
from hardsim.verify.external.supports import HeadSupports, MachinePaths, gained
from tests.support.external_certificates import NEXT_MACHINE, Json, Reference, Word, axes_of, network

LONGEST = 6
CLOSE = 1e-7
SHAPES: list[dict[str, Any]] = [
    {},
    {"norm": "rms", "heads": 2},
    {"norm": None, "k": 1},
    {"post": True, "template": "before after"},
    {"template": "after", "norm": "rms"},
    {"factor": "20"},
    {"factor": "150", "heads": 2},
]


def quiet(steps: int) -> None:
    """Allow any number of steps."""


def parts(data: Json, axes: list[Any]) -> tuple[Columns, MachinePaths]:
    """Return the columns of a network and the paths of NEXT_MACHINE."""
    columns = Columns(read_network(data), LONGEST, axes, quiet)
    return columns, MachinePaths(read_machine(NEXT_MACHINE, 2, 3), LONGEST, quiet)


def classes(free: bool) -> Iterator[tuple[int, int, int, list[Word]]]:
    """Yield the classes of NEXT_MACHINE: length, symbol, state before it, and all words."""
    found: dict[tuple[int, int, int], list[Word]] = {}
    for n in range(1, LONGEST + 1):
        for word in product((0, 1), repeat=n):
            states = [0]
            for symbol in word:
                states.append(NEXT_MACHINE["moves"][states[-1]][symbol] if states[-1] >= 0 else -1)
            if states[-1] >= 0:
                key = (n, -1, states[-1]) if free else (n, word[-1], states[-2])
                found.setdefault(key, []).append(word)
    for (n, symbol, state), words in found.items():
        yield n, symbol, state, words


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_boxes_are_those_of_all_words(number: int) -> None:
    data = network(number, outputs=3, **SHAPES[number])
    axes, reference = axes_of(data, number), Reference(data)
    columns, paths = parts(data, axes)
    for head, rows in enumerate(axes):
        support = HeadSupports(columns, head, paths)
        for length, symbol, state, words in classes(not columns.symbol_last):
            points = np.array([reference.heads(reference.tokens(word))[head] for word in words]) @ np.array(rows).T
            low, high = points.min(axis=0), points.max(axis=0)
            assert support.box(length, symbol, [state], (low - CLOSE).tolist(), (high + CLOSE).tolist())
            for k in range(len(rows)):
                raised, lowered = (low - CLOSE).tolist(), (high + CLOSE).tolist()
                raised[k] += 2 * CLOSE
                lowered[k] -= 2 * CLOSE
                assert not support.box(length, symbol, [state], raised, (high + CLOSE).tolist())
                assert not support.box(length, symbol, [state], (low - CLOSE).tolist(), lowered)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_directions_are_bounded_by_all_words(number: int) -> None:
    data = network(number + 50, outputs=3, **SHAPES[number])
    rng, axes, reference = np.random.default_rng(number), axes_of(data, number), Reference(data)
    columns, paths = parts(data, axes)
    for head, rows in enumerate(axes):
        support = HeadSupports(columns, head, paths)
        for length, symbol, state, words in classes(not columns.symbol_last):
            points = np.array([reference.heads(reference.tokens(word))[head] for word in words]) @ np.array(rows).T
            directions = rng.standard_normal((3, len(rows)))
            most = (points @ directions.T).max(axis=0)
            assert support.bounded(length, symbol, [state], directions.tolist(), (most + CLOSE).tolist())
            for k in range(3):
                levels = (most + CLOSE).tolist()
                levels[k] -= 2 * CLOSE
                assert not support.bounded(length, symbol, [state], directions.tolist(), levels)


def test_states_are_bounded_together() -> None:
    data = network(3, outputs=3)
    axes, reference = axes_of(data), Reference(data)
    columns, paths = parts(data, axes)
    support = HeadSupports(columns, 0, paths)
    most: dict[tuple[int, int], dict[int, float]] = {}
    for length, symbol, state, words in classes(False):
        found = max(float(np.array(axes[0][0]) @ reference.heads(reference.tokens(word))[0]) for word in words)
        most.setdefault((length, symbol), {})[state] = found
    direction = [1.0, 0.0, 0.0]
    for (length, symbol), own in most.items():
        for states in ([*own], [*own][:1]):
            level = max(own[state] for state in states)
            assert support.bounded(length, symbol, states, [direction], [level + CLOSE])
            assert not support.bounded(length, symbol, states, [direction], [level - CLOSE])


@pytest.mark.parametrize("number", range(4))
def test_what_coordinates_leave_out_is_bounded(number: int) -> None:
    data = network(number, outputs=3, heads=2, v=4)
    reference = Reference(data)
    axes = [rows[: number + 1] for rows in axes_of(data, number)]
    axes[1][0] = [2 * one for one in axes[1][0]]
    columns, _ = parts(data, axes)
    for *_, words in classes(False):
        for word in words:
            tokens = reference.tokens(word)
            for head, rows, one in zip(columns.heads, axes, reference.heads(tokens), strict=True):
                own = np.array(rows)
                left = np.abs(one - own.T @ (own @ one))
                assert (left <= np.array(head.remainder) + 1e-12).all()
    if number == 3:
        assert max(columns.heads[0].remainder) < 1e-12


def test_weights_enclose_the_true_ones() -> None:
    data = network(8, outputs=3)
    columns, _ = parts(data, axes_of(data))
    reference = Reference(data)
    for word in product((0, 1), repeat=4):
        found = columns.weights(0, 4, word[-1], [[0, 1]] * 4)
        y = np.array([columns.entered(token, place)[0] for place, token in enumerate(reference.tokens(word))])
        head = data["layers"][0]["heads"][0]
        q, k = (y @ np.array(head[f"w_{one}"]) + np.array(head[f"b_{one}"]) for one in "qk")
        true = np.exp(k @ q[-1] / np.sqrt(3.0))
        pairs = [found.fixed[0][:2], *((found.low[j][u], found.high[j][u]) for j, u in enumerate(word[:-1]))]
        pairs.append(found.fixed[1][:2])
        factors = [one / math_mean for one, math_mean in zip(true, (sum(pair) / 2 for pair in pairs), strict=True)]
        assert max(factors) / min(factors) - 1 < 1e-12
        assert all(0 < low < high < low * (1 + 1e-11) for low, high in pairs)


def test_scores_beyond_what_is_known_are_refused() -> None:
    data = network(1, outputs=3)
    head = data["layers"][0]["heads"][0]
    head["scale"] = {"factor": str(2**50), "root": 1}
    columns, paths = parts(data, axes_of(data))
    with pytest.raises(Rejected, match="scores"):
        HeadSupports(columns, 0, paths).bounded(3, 0, [0], [[1.0, 0.0, 0.0]], [1e9])


def test_axes_that_are_too_large_are_refused() -> None:
    data = network(1, outputs=3, v=1)
    data["layers"][0]["heads"][0]["w_v"] = [[2.0**64]] * 4
    data["layers"][0]["norm_1"]["weight"] = [2.0**64] * 4
    with pytest.raises(Rejected, match="too large"):
        parts(data, [[[2.0**64]]])


# ---- the error of a pass, in exact arithmetic ----


def exact(weights: ClassWeights, values: list[list[float]], fixed: list[float], words: list[Word], level: float) -> Any:
    """Return V(L) in exact arithmetic: over the words, the greatest sum of the greatest gains."""

    def gain(z: float, low: float, high: float) -> Fraction:
        x = Fraction(z) - Fraction(level)
        return max(x * Fraction(low), x * Fraction(high))

    first = sum(gain(z, low, high) for z, (low, high, _) in zip(fixed, weights.fixed, strict=True))
    free = len(values)
    table = [[gain(values[j][u], weights.low[j][u], weights.high[j][u]) for u in (0, 1)] for j in range(free)]
    return first + max(sum((table[j][u] for j, u in enumerate(word[:free])), Fraction(0)) for word in words)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("number", range(60))
def test_a_level_below_the_root_is_never_a_bound(number: int, careful: bool) -> None:
    rng = Random(number)
    data = network(number, outputs=3)
    columns, paths = parts(data, axes_of(data))
    support = HeadSupports(columns, 0, paths)
    length, symbol, state, words = rng.choice([one for one in classes(False) if one[0] > 2])
    free, size = length - 1, 10.0 ** rng.randint(-3, 3)
    values = [[rng.gauss(0, size) for _ in (0, 1)] for _ in range(free)]
    low = [[10.0 ** rng.uniform(-6, 0) for _ in (0, 1)] for _ in range(free)]
    spread = 1 + rng.choice((0.0, 1e-12, 0.1))
    fixed = [rng.gauss(0, size) for _ in (0, 1)]
    kept = [(one, one * spread, [0.0]) for one in (10.0 ** rng.uniform(-6, 0) for _ in fixed)]
    high = [[one * spread for one in row] for row in low]
    # greatest weights that are far too great leave the decision to the second pass
    weights = ClassWeights(low, high, kept, [1e12 if careful else max(row) for row in high])
    support._key, support._weights = (length, symbol), weights
    most = max(abs(z) for row in [*values, fixed] for z in row)
    below, above = -2 * most, 2 * most
    while nextafter(below, inf) < above:
        middle = (below + above) / 2
        below, above = (middle, above) if exact(weights, values, fixed, words, middle) > 0 else (below, middle)
    table = [[[z] for z in row] for row in values]

    def holds(level: float, slip: float = 0.0) -> bool:
        given = [level], [slip], [most]
        return support._holds(length, symbol, [state], table, [[z] for z in fixed], *given)

    assert not holds(below)
    assert not holds(below - 1e-3 * most)
    assert holds(above + 1e-12 * most * (1e4 if spread > 1.01 else 1e3))
    assert holds(above + most)
    # values that are off by a slip may all be greater by as much
    assert not holds(below + 0.1 * most * (1 - 1e-12), 0.1 * most)
    assert holds(above + 0.11 * most, 0.1 * most)


def test_gains_are_the_greatest_for_weights_between_bounds() -> None:
    assert gained([3.0, -1.0, 1.0], [1.0, 1.0, 1.0], 0.5, 2.0) == [4.0, -1.0, 0.0]


def test_what_is_not_known_of_values_widens_directions() -> None:
    data = network(4, outputs=3)
    axes, reference = axes_of(data), Reference(data)
    columns, paths = parts(data, axes)
    support = HeadSupports(columns, 0, paths)
    length, symbol, state, words = max(classes(False), key=lambda one: len(one[3]))
    points = np.array([reference.heads(reference.tokens(word))[0] for word in words]) @ np.array(axes[0]).T
    direction = np.array([0.5, -2.0, 1.0])
    most = float((points @ direction).max())
    support.head = replace(support.head, off=[0.01, 0.02, 0.04])
    off = 0.5 * 0.01 + 2 * 0.02 + 0.04
    for by, fine in ((off + 1e-6, True), (off - 1e-9, False)):
        assert support.bounded(length, symbol, [state], [direction.tolist()], [most + by]) == fine
    low, high = (points.min(axis=0) - 0.05).tolist(), (points.max(axis=0) + 0.05).tolist()
    support.most = [inf] * 6
    for by, fine in ((0.01 + 1e-6, True), (0.01 - 1e-9, False)):
        assert support.box(length, symbol, [state], low, [float(points[:, 0].max()) + by, *high[1:]]) == fine
        assert support.box(length, symbol, [state], [float(points[:, 0].min()) - by, *low[1:]], high) == fine


def test_what_is_not_known_of_scores_widens_weights() -> None:
    data = network(8, outputs=3)
    columns, _ = parts(data, axes_of(data))
    head = columns.heads[0]
    q = np.abs(columns.heads[0].data.q(*columns.entered(columns.symbols[1], 4))[0]) / np.sqrt(3)
    for key_off, query_off in ((1e-4, 0.0), (0.0, 1e-4)):
        columns.heads[0] = replace(head, key_off=[key_off] * 3, data=Widened(head.data, query_off))  # type: ignore[arg-type]  # a head
        found = columns.weights(0, 4, 1, [[0, 1]] * 4)
        size = float(sum(q) * key_off + sum(head.key_size) * query_off / np.sqrt(3))
        pairs = [*zip(found.low[0], found.high[0], strict=True), *(one[:2] for one in found.fixed)]
        for low, high in pairs:
            assert 2 * size <= np.log(high / low) <= 2.1 * size + 1e-9


@dataclass(frozen=True)
class Widened:
    """A head whose queries are off by a number more."""

    data: Any
    more: float

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def query(self, y: tuple[list[float], list[float]], place: int) -> tuple[list[float], list[float]]:
        """Return the query at a place."""
        found, bounds = self.data.query(y, place)
        return found, [one + self.more for one in bounds]
