"""Bounds of rows on cells of random networks hold at random points of the cells."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.affine import (
    AfterHeads,
    CellForm,
    MeanSquare,
    centred,
    linear,
    mean_square,
    normed,
    root_of,
)
from hardsim.verify.external.bends import FAR_OUT, NEARLY_STRAIGHT, THIRD, _second, line_of
from hardsim.verify.external.network import LinearData, NormData, read_network
from hardsim.verify.external.numbers import ACTIVATIONS
from tests.support import network_sections
from tests.support.network_sections import (
    REAL,
    activated,
    after_heads,
    divisor,
    embedded,
    last_vector,
    network_section,
    real,
)
from tests.support.network_sections import normed as normed_vector

KINDS = [*product(["relu", "gelu", "gelu_new", "silu", None], ["layer", "rms", None], [False, True])]
READOUT: dict[str, Any] = {
    "before": [],
    "after": [],
    "at": "last",
    "decide": "above",
    "level": "0",
    "among": None,
    "alphabet": None,
}
CHOICE = [(0, -1), (-1, 1), (0, 2)]


def random_axes(source: random.Random, width: int) -> tuple[list[list[float]], list[float]]:
    """Return some axes for values of a width, and a remainder."""
    axes = [[source.gauss(0, 0.6) for _ in range(width)] for _ in range(source.randint(0, width + 1))]
    return axes, [source.choice([0.0, abs(source.gauss(0, 1e-3))]) for _ in range(width)]


def random_box(source: random.Random, size: int, wide: float) -> tuple[list[float], list[float]]:
    low = [source.gauss(0, 0.5) for _ in range(size)]
    return low, [a + source.choice([0.0, wide * source.random(), wide * source.random(), 1e-70]) for a in low]


def point_of(source: random.Random, low: list[float], high: list[float]) -> list[Any]:
    shares = [source.choice([0, 1, source.random()]) for _ in low]
    return [REAL.mpf(a) + (REAL.mpf(b) - a) * share for a, b, share in zip(low, high, shares, strict=True)]


def means_of(source: random.Random, heads: list[Any], z: list[Any]) -> list[list[Any]]:
    """Return means of the heads with coordinates z, and random remainders."""
    found, left = [], [*z]
    for axes, remainder in heads:
        here, left = left[: len(axes)], left[len(axes) :]
        mean = [REAL.mpf(bound) * source.choice([-1, 1, source.uniform(-1, 1)]) for bound in remainder]
        for factor, axis in zip(here, axes, strict=True):
            mean = [a + factor * b for a, b in zip(mean, axis, strict=True)]
        found.append(mean)
    return found


def check(source: random.Random, data: dict[str, Any], wide: float, points: int) -> None:
    network = read_network(data)
    heads = [random_axes(source, len(head.o.rows)) for head in network.heads]
    rest = AfterHeads(network, heads)
    low, high = random_box(source, sum(len(axes) for axes, _ in heads), wide)
    token, place = source.randrange(3), source.randrange(12)
    try:
        bounds = rest.rows(token, place, low, high, CHOICE)
    except Rejected:
        # on a wide box the vector that a norm divides may be 0
        assert wide > 1e-3
        return
    assert all(math.isfinite(x) for g, factors, e in bounds for x in (g, *factors, e))
    for _ in range(points):
        z = point_of(source, low, high)
        x, means = embedded(data, token, place), means_of(source, heads, z)
        outputs, sigma = [*after_heads(data, x, means), real("1/3")], divisor(*last_vector(data, x, means))
        for (above, below), (g, factors, e) in zip(CHOICE, bounds, strict=True):
            true = (outputs[above] - outputs[below]) * sigma
            moved = [(a - (b + c) / 2) * f for a, b, c, f in zip(z, low, high, factors, strict=True)]
            assert abs(true - g - REAL.fsum(moved)) <= e


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize(("activation", "kind", "post"), KINDS)
@pytest.mark.parametrize("heads", [0, 1, 2, 3])
def test_rows(activation: str | None, kind: str | None, post: bool, heads: int) -> None:
    for seed in range(2):
        source = random.Random(f"{activation} {kind} {post} {heads} {seed}")
        data = network_section(source, activation, kind, post, heads)
        for wide in (0.0, 1e-3, 0.1, 1.0):
            check(source, data, wide, 2)


def test_too_many_axes() -> None:
    network = read_network(network_section(random.Random(1), "gelu", "layer", False, 1))
    width = len(network.heads[0].o.rows)
    with pytest.raises(Rejected, match="too large"):
        AfterHeads(network, [([[1.0] * width] * 4096, [0.0] * width)])


def test_bounds_of_points_are_close() -> None:
    """On a single point the bound is that of rounding alone."""
    for activation, kind, post in KINDS:
        source = random.Random(3)
        data = network_section(source, activation, kind, post, 2)
        network = read_network(data)
        heads: list[Any] = [([[1.0] * len(head.o.rows)], [0.0] * len(head.o.rows)) for head in network.heads]
        rows = AfterHeads(network, heads).rows(1, 1, [0.5, 0.25], [0.5, 0.25], CHOICE)
        assert all(e < 1e-9 for _, _, e in rows), (activation, kind, post)


def test_bounds_shrink_with_the_square_of_the_cell() -> None:
    for activation, kind, post in KINDS:
        if activation == "relu":
            continue
        source = random.Random(4)
        network = read_network(network_section(source, activation, kind, post, 1))
        width = len(network.heads[0].o.rows)
        rest = AfterHeads(network, [([[1.0] * width], [0.0] * width)])
        errors = [[e for _, _, e in rest.rows(1, 1, [0.5 - t], [0.5 + t], CHOICE)] for t in (0.01, 0.001)]
        for large, small in zip(*errors, strict=True):
            assert small < large / 50 + 1e-9, (activation, kind, post)


def test_a_last_norm_that_may_divide_by_zero() -> None:
    source = random.Random(1)
    data = network_section(source, None, None, False, 1, embedding=[[0.0] * 5] * 3, positions=None)
    data["layers"][0]["b_o"] = None
    data["final"] = {"kind": "rms", "epsilon": "0", "weight": None, "bias": [1.0] * 5}
    network = read_network(data)
    width = len(network.heads[0].o.rows)
    rest = AfterHeads(network, [([[1.0] * width], [0.0] * width)])
    with pytest.raises(Rejected, match="may be 0"):
        rest.rows(1, 1, [-1.0], [1.0], CHOICE)
    for low, high in ((-math.inf, 1.0), (math.nan, 1.0), (-1e300, 1e300)):
        with pytest.raises(Rejected):
            rest.rows(1, 1, [low], [high], CHOICE)


lines = st.tuples(
    st.floats(-30, 30) | st.floats(-3, 3) | st.floats(-1e9, 1e9),
    st.floats(0, 1) | st.floats(0, 1e-6) | st.floats(0, 40) | st.floats(0, 1e12),
)


@pytest.mark.parametrize("name", ACTIVATIONS)
@given(lines, st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_lines(name: str, interval: tuple[float, float], shares: list[float]) -> None:
    low, width = interval
    high = low + width
    slope, middle, off = line_of(name, low, high)
    for share in (*shares, 0, 1, 0.5):
        x = min(max(REAL.mpf(low) + REAL.mpf(width) * share, low), high)
        assert abs(activated(name, x) - slope * x - middle) <= off


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_lines_are_close(name: str) -> None:
    """On a grid of intervals the greatest distance from the line is nearly the bound: a quarter less would be wrong
    somewhere."""
    closest = dict.fromkeys((0.03, 0.18, 0.2, 0.6, 2.0), 0.0)
    for width in closest:
        for k in range(-40, 40):
            low = k / 10 - 0.01
            slope, middle, off = line_of(name, low, low + width)
            points = [low + width * part / 8 for part in range(9)] + [min(max(0.0, low), low + width)]
            apart = [abs(activated(name, REAL.mpf(x)) - slope * x - middle) for x in points]
            assert max(apart) <= off
            # one-sided: the function is above and below the line
            closest[width] = max(closest[width], float(max(apart) / off) if off > 1e-6 else 0.0)
    assert min(closest.values()) > 0.85


@pytest.mark.parametrize("inverse", [True, False])
def test_roots_on_ranges(inverse: bool) -> None:
    """At the ends and where the distance from the chord is greatest, the root is within its bounds, and nearly as far
    from the line as they say."""
    source = random.Random(8)
    for _ in range(300):
        low = 10 ** source.uniform(-4, 4)
        high = low * (1 + 10 ** source.uniform(-6, 2))
        mid = low + (high - low) * source.random()
        middle, (slope,), off, upper = root_of(MeanSquare(mid, [1.0], 0.0, low, high), inverse)
        apart = []
        for part in range(65):
            x = REAL.mpf(low) + (REAL.mpf(high) - low) * (part / 64) ** (1 + 2 * inverse)
            true = 1 / REAL.sqrt(x) if inverse else REAL.sqrt(x)
            apart.append(abs(true - middle - slope * (x - mid)))
            assert true <= upper
        assert max(apart) <= off
        assert off < 1.1 * max(apart) + 1e-12 * upper
        # the uncertainty of S itself counts with the slope
        more = root_of(MeanSquare(mid, [1.0], 0.25 * (high - low), low, high), inverse)[2]
        assert more >= off + abs(slope) * 0.25 * (high - low) * (1 - 1e-12)


def small_form(source: random.Random, d: int, size: float, count: int) -> CellForm:
    c = [source.gauss(0, 1) for _ in range(d)]
    return CellForm(c, [[source.gauss(0, size) for _ in range(d)] for _ in range(count)], [0.0] * d)


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("size", [0.001, 0.05])
def test_norms_at_corners(kind: str, size: float) -> None:
    """With few coordinates the corners of a cell come close to the bounds."""
    source, closest = random.Random(kind), 0.0
    for _ in range(300):
        d = source.choice([2, 3, 5])
        data = {"kind": kind, "epsilon": "1/1000", "weight": [1.0] * d, "bias": [0.0] * d}
        norm = NormData(kind == "layer", 1 / 1000, [1.0] * d, [0.0] * d)
        x = small_form(source, d, size, source.choice([1, 2]))
        try:
            found = normed(x, norm)
        except Rejected:
            continue
        own = len(x.slopes)
        loose = [sum(abs(slope[j]) for slope in found.slopes[own:]) + found.e[j] for j in range(d)]
        for signs in product((-1, 0, 1), repeat=own):
            vector = [
                REAL.mpf(a) + sum(s * z[j] for s, z in zip(signs, x.slopes, strict=True)) for j, a in enumerate(x.c)
            ]
            for j, true in enumerate(normed_vector(vector, data)):
                line = found.c[j] + sum(s * z[j] for s, z in zip(signs, found.slopes[:own], strict=True))
                assert abs(true - line) <= loose[j]
                closest = max(closest, float(abs(true - line) / loose[j]))
    assert closest > 0.8


@pytest.mark.parametrize("kind", ["layer", "rms", None])
@pytest.mark.parametrize("seed", range(12))
def test_rows_at_the_worst_errors(kind: str | None, seed: int) -> None:
    """The errors of the last vector that are worst for a row, to first order, come close to the bound."""
    source = random.Random(f"{kind} {seed}")
    last: Any = None
    if kind is not None:
        weight, bias = ([source.gauss(0, 1) for _ in range(5)] for _ in range(2))
        last = {"kind": kind, "epsilon": "1/1000", "weight": weight, "bias": bias}
    data = network_section(source, "gelu", "rms", False, 0, final=last, readout=READOUT)
    network = read_network(data)
    assert network.mlp is not None
    leave, c = network.mlp.leave, [source.gauss(0, 1) for _ in range(5)]
    errors = [abs(source.gauss(0, 1e-7)) for _ in range(12)]

    def value(moves: list[float]) -> Any:
        """Return the row after errors of the 5 coordinates and of the 7 hidden units."""
        inner = [REAL.fsum(a * b for a, b in zip(moves[5:], column, strict=True)) for column in leave.columns]
        x = [REAL.mpf(a) + b + m for a, b, m in zip(c, moves[:5], inner, strict=True)]
        outputs = network_sections.linear(normed_vector(x, last), data["unembedding"], data["unembedding_bias"])
        return (outputs[0] - outputs[2]) * divisor(x, last)

    form = CellForm(c, [], errors[:5], errors[5:], leave)
    ((g, _, bound),) = AfterHeads(network, [])._required(form, ((0, 2),))
    zero = value([0.0] * 12)
    signs = [1 if value([1e-9 * (k == j) for k in range(12)]) > zero else -1 for j in range(12)]
    for way in (1, -1):
        worst = value([way * sign * a for sign, a in zip(signs, errors, strict=True)])
        assert 0.3 * bound < abs(worst - g) <= bound
    # errors of hidden units alone enter the bound with their signs
    ((g, _, bound),) = AfterHeads(network, [])._required(CellForm(c, [], [0.0] * 5, errors[5:], leave), ((0, 2),))
    worst = value([0.0] * 5 + [sign * a for sign, a in zip(signs[5:], errors[5:], strict=True)])
    assert 0.99 * bound < abs(worst - g) <= bound
    # without errors what is left is rounding
    ((g, _, bound),) = AfterHeads(network, [])._required(CellForm(c, [], [0.0] * 5, [0.0] * 7, leave), ((0, 2),))
    assert abs(zero - g) <= bound < 1e-11


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("wide", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("centring", [False, True])
def test_mean_squares_at_corners(wide: float, centring: bool) -> None:
    """The mean square at the corners of a cell, of its errors and of those of hidden units is within its bounds."""
    source, closest = random.Random(9), 0.0
    for _ in range(150):
        d, count, units = 3, source.choice([0, 1, 9]), source.choice([1, 4])
        leave = LinearData([[source.gauss(0, 1) for _ in range(d)] for _ in range(units)], [0.0] * d)
        x = small_form(source, d, source.choice([0.0, wide]), count)
        e, h = ([source.choice([0.0, wide * source.random()]) for _ in range(size)] for size in (d, units))
        x = CellForm(x.c, x.slopes, e, h, leave)
        try:
            found = mean_square(centred(x) if centring else x, 1 / 1000)
        except Rejected:
            continue
        for _ in range(30):
            signs = [source.choice([-1, 1]) for _ in range(count + units)]
            vector = [REAL.mpf(a) + source.choice([-1, 1]) * b for a, b in zip(x.c, e, strict=True)]
            every = [*x.slopes, *([a * b for a in row] for row, b in zip(leave.rows, h, strict=True))]
            vector = [a + REAL.fsum(s * z[j] for s, z in zip(signs, every, strict=True)) for j, a in enumerate(vector)]
            mean = REAL.fsum(vector) / d if centring else 0
            true = REAL.fsum((a - mean) ** 2 for a in vector) / d + REAL.mpf(1 / 1000)
            assert found.low <= true <= found.high
            line = found.mid + REAL.fsum(s * a for s, a in zip(signs, found.slopes, strict=True))
            assert abs(true - line) <= found.off
            closest = max(closest, float(abs(true - line) / found.off))
    assert closest > (0.9 if wide else 0.0)


def test_linear_maps_are_rounded() -> None:
    source = random.Random(2)
    for _ in range(100):
        rows = [[source.gauss(0, 1) for _ in range(3)] for _ in range(6)]
        slopes = [[source.gauss(0, 1) for _ in range(6)] for _ in range(2)]
        part = LinearData(rows, [source.gauss(0, 1) for _ in range(3)])
        form = CellForm([source.gauss(0, 1) for _ in range(6)], slopes, [0.0] * 6)
        found = linear(form, part)
        for j in range(3):
            missed = [_exact(form.c, rows, j) + Fraction(part.bias[j]) - Fraction(found.c[j])]
            missed += [_exact(a, rows, j) - Fraction(b[j]) for a, b in zip(slopes, found.slopes, strict=True)]
            assert sum(map(abs, missed)) <= Fraction(found.e[j]) < 1e-13


def _exact(x: list[float], rows: list[list[float]], column: int) -> Fraction:
    return sum((Fraction(a) * Fraction(row[column]) for a, row in zip(x, rows, strict=True)), Fraction(0))


@pytest.mark.parametrize("name", THIRD)
def test_second_derivatives(name: str) -> None:
    for k in range(-300, 301):
        x = k / 10
        true = REAL.diff(lambda y: activated(name, y), REAL.mpf(x), 2)
        assert abs(_second(name, x) - true) <= NEARLY_STRAIGHT / 2


def third(name: str, x: Any) -> Any:
    """Return an interval enclosure of the third derivative."""
    iv = mpmath.iv
    if name == "gelu":
        return iv.exp(-x * x / 2) / iv.sqrt(2 * iv.pi) * (x**3 - 4 * x)
    if name == "tanh":
        t = 1 - 2 / (iv.exp(2 * x) + 1)
        return -2 * (1 - t * t) * (1 - 3 * t * t)
    a = 2 * iv.sqrt(2 / iv.pi) if name == "gelu_new" else iv.mpf(1702) / 1000 if name == "quick_gelu" else iv.mpf(1)
    b = a * iv.mpf("0.044715") if name == "gelu_new" else iv.mpf(0)
    z = a * x + b * x**3
    one, two, three = a + 3 * b * x * x, 6 * b * x, 6 * b
    s = 1 / (1 + iv.exp(-z))
    ds = s * (1 - s)
    dds = ds * (1 - 2 * s)
    ddds = ds * (1 - 6 * ds)
    inner = dds * one**2 + ds * two
    return 3 * inner + x * (ddds * one**3 + 3 * dds * one * two + ds * three)


def proved(name: str, low: float, high: float, depth: int = 0) -> bool:
    found = third(name, mpmath.iv.mpf([low, high]))
    if max(abs(float(found.a)), abs(float(found.b))) < THIRD[name]:
        return True
    middle = (low + high) / 2
    return depth < 24 and proved(name, low, middle, depth + 1) and proved(name, middle, high, depth + 1)


@pytest.mark.parametrize("name", THIRD)
def test_bounds_of_third_derivatives(name: str) -> None:
    assert proved(name, -64.0, 64.0)
    assert not proved(name, -1.0, 1.0, 24)
    assert abs(_second(name, FAR_OUT)) < NEARLY_STRAIGHT
