"""Lemma 9 and Lemma 27; linear pieces are counted exactly in small networks."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hardsim.theory.rounding import least_width, pieces, pieces_for_rounding
from tests.support.language import InputError
from tests.support.mistakes import raised

QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)

# ---- Lemma 9 ----


def round_boolean(x: Fraction) -> Fraction:
    """Round by Lemma 9: `relu(2x - 1/2) - relu(2x - 3/2)` is 0 for x <= 1/4, 1 for x >= 3/4, a line of slope 2
    between.
    """
    zero = Fraction(0)
    return max(zero, 2 * x - Fraction(1, 2)) - max(zero, 2 * x - Fraction(3, 2))


@given(st.fractions(-3, 3))
@example(QUARTER)
@example(3 * QUARTER)
@example(HALF)
def test_rounding_is_exact_on_approximate_booleans_and_rises_between(x: Fraction) -> None:
    if x <= QUARTER:
        assert round_boolean(x) == 0
    elif x >= 3 * QUARTER:
        assert round_boolean(x) == 1
    else:
        assert 0 < round_boolean(x) < 1
        # The line through (1/4, 0) and (3/4, 1).
        assert round_boolean(x) == (x - QUARTER) / HALF
    assert round_boolean(1 - x) == 1 - round_boolean(x)


@given(st.fractions(0, 2), st.fractions(-1, 1), st.sampled_from([0, 1]))
def test_the_rounded_error_holds_and_is_attained(error: Fraction, share: Fraction, boolean: int) -> None:
    """A Boolean that is off by at most `error` is off by `round_boolean(error)` afterwards: the largest value that can
    come out of 0, since rounding is monotone, and the same for 1 by the symmetry `round(1 - x) = 1 - round(x)`."""
    assert abs(round_boolean(boolean + share * error) - boolean) <= round_boolean(error)
    inwards = 1 - 2 * boolean
    assert abs(round_boolean(boolean + inwards * error) - boolean) == round_boolean(error)


def test_a_quarter_is_the_largest_error_that_vanishes() -> None:
    assert round_boolean(QUARTER) == 0 < round_boolean(QUARTER + Fraction(1, 10**9))
    assert round_boolean(Fraction(1, 3)) == Fraction(1, 6)  # 2/3 - 1/2
    assert round_boolean(Fraction(5)) == 1


# ---- Lemma 27: pieces ----

Line = tuple[Fraction, Fraction]
"""Slope and intercept."""
Layer = list[tuple[list[Fraction], Fraction]]
"""One unit a row: its weights of the units before, and its bias."""
Region = tuple[Fraction | None, Fraction | None, list[Line]]
"""Left end, right end (None: unbounded), and the line that every unit computes between them."""


def affine(layer: Layer, lines: list[Line]) -> list[Line]:
    slopes, intercepts = zip(*lines, strict=True)
    return [(dot(row, slopes), dot(row, intercepts) + bias) for row, bias in layer]


def relu(region: Region) -> list[Region]:
    """Cut the region where a unit changes sign, and apply relu to the lines."""
    left, right, lines = region
    zeros = {-b / a for a, b in lines if a}
    inner = sorted(z for z in zeros if (left is None or z > left) and (right is None or z < right))
    ends = [left, *inner, right]
    cut = []
    for low, high in pairwise(ends):
        if low is not None and high is not None:
            inside = (low + high) / 2
        elif low is not None:
            inside = low + 1
        else:
            inside = high - 1 if high is not None else Fraction(0)
        cut.append((low, high, [(a, b) if a * inside + b > 0 else (Fraction(0), Fraction(0)) for a, b in lines]))
    return cut


def lines_of(hidden: list[Layer], output: Layer) -> list[Line]:
    """Return the output's line on each of its pieces, from left to right."""
    regions: list[Region] = [(None, None, [(Fraction(1), Fraction(0))])]
    for layer in hidden:
        regions = [part for left, right, lines in regions for part in relu((left, right, affine(layer, lines)))]
    found = [affine(output, lines)[0] for _, _, lines in regions]
    return [line for k, line in enumerate(found) if k == 0 or line != found[k - 1]]


def evaluate(hidden: list[Layer], output: Layer, x: Fraction) -> Fraction:
    values = [x]
    for layer in hidden:
        values = [max(Fraction(0), dot(row, values) + bias) for row, bias in layer]
    row, bias = output[0]
    return dot(row, values) + bias


def dot(row: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(row, values, strict=True)), Fraction(0))


def random_layer(source: random.Random, width: int, inputs: int) -> Layer:
    def unit() -> tuple[list[Fraction], Fraction]:
        weights = [Fraction(source.randint(-9, 9), source.randint(1, 4)) for _ in range(inputs)]
        return weights, Fraction(source.randint(-9, 9), 4)

    return [unit() for _ in range(width)]


@pytest.mark.parametrize(
    ("depth", "width"), [(1, 1), (1, 2), (1, 7), (2, 2), (2, 3), (2, 5), (3, 1), (3, 2), (3, 3), (5, 2)]
)
def test_random_networks_have_no_more_pieces(depth: int, width: int) -> None:
    source = random.Random(100 * depth + width)
    most = 0
    for _ in range(40):
        widths = [1, *[width] * depth]
        hidden = [random_layer(source, after, before) for before, after in pairwise(widths)]
        most = max(most, len(lines_of(hidden, random_layer(source, 1, width))))
    assert 1 < most <= pieces(depth, width) == (2 * width) ** depth


def zigzag(teeth: int) -> Layer:
    """Return the pre-activations of a map of [0, 1] onto itself that runs up and down `teeth` times in all."""
    return [([Fraction(1)], -Fraction(k, teeth)) for k in range(teeth)]


@pytest.mark.parametrize(("depth", "width"), [(1, 2), (1, 5), (2, 2), (2, 3), (4, 2), (6, 2), (3, 3)])
def test_composed_zigzags_have_width_to_the_depth_pieces(depth: int, width: int) -> None:
    """So the growth with depth is real: at least width^depth, at most (2 width)^depth."""
    slopes = [Fraction(width), *[Fraction(2 * width * (-1) ** k) for k in range(1, width)]]
    # The zigzag is the sum of slopes[k] relu(x - k/width); the next layer takes x from it.
    following: Layer = [(slopes, bias) for _, bias in zigzag(width)]
    hidden, output = [zigzag(width), *[following] * (depth - 1)], [(slopes, Fraction(0))]
    teeth = width**depth
    for k in range(teeth + 1):
        assert evaluate(hidden, output, Fraction(k, teeth)) == k % 2
    assert teeth <= len(lines_of(hidden, output)) <= pieces(depth, width)


def test_the_counter_counts() -> None:
    # |x - 1| has two pieces; relu(x) - relu(x) one; relu(x) - relu(x - 1) three.
    one, zero = Fraction(1), Fraction(0)
    assert lines_of([[([one], -one), ([-one], one)]], [([one, one], zero)]) == [(-one, one), (one, -one)]
    assert lines_of([[([one], zero), ([one], zero)]], [([one, -one], zero)]) == [(zero, zero)]
    three = [(zero, zero), (one, zero), (zero, one)]
    assert lines_of([[([one], zero), ([one], -one)]], [([one, -one], zero)]) == three


# ---- Lemma 27: rounding ----


def staircase(bits: int, finer: int) -> tuple[list[Layer], Layer]:
    """Return one hidden layer and an output that round numbers k 2^-finer from [0, 1) down to multiples of 2^-bits;
    each step rises between two neighbouring numbers.
    """
    steps = range(1, 2**bits)
    grain, step = Fraction(1, 2**finer), Fraction(1, 2**bits)
    units: Layer = []
    weights = []
    for k in steps:
        units += [([Fraction(1)], grain - k * step), ([Fraction(1)], -k * step)]
        weights += [step / grain, -step / grain]
    return [units], [(weights, Fraction(0))]


@pytest.mark.parametrize(("bits", "finer"), [(1, 2), (2, 3), (2, 5), (3, 4), (4, 6)])
def test_a_network_that_rounds_obeys_the_lemma(bits: int, finer: int) -> None:
    hidden, output = staircase(bits, finer)
    for k in range(2**finer):
        x = Fraction(k, 2**finer)
        assert evaluate(hidden, output, x) == Fraction(int(x * 2**bits), 2**bits)
    (units,) = hidden
    assert len(lines_of(hidden, output)) == 2 ** (bits + 1) - 1 >= pieces_for_rounding(bits)
    assert len(units) >= least_width(bits, 1)


def fewest_runs(points: list[tuple[int, int]]) -> int:
    """Return the smallest number of runs of neighbouring points such that each run lies on a line: runs as long as
    possible.
    """
    count, start = 0, 0
    while start < len(points):
        end = start + 2
        while end < len(points) and collinear(points[start], points[start + 1], points[end]):
            end += 1
        count, start = count + 1, end
    return count


def collinear(p: tuple[int, int], q: tuple[int, int], r: tuple[int, int]) -> bool:
    return (q[0] - p[0]) * (r[1] - p[1]) == (r[0] - p[0]) * (q[1] - p[1])


@pytest.mark.parametrize("nearest", [False, True], ids=["down", "to nearest, ties to even"])
def test_no_piecewise_affine_function_rounds_with_fewer_pieces(nearest: bool) -> None:
    """By brute force over the numbers themselves; rounding down shows that this argument cannot give more than
    2^bits.
    """
    for bits in range(1, 7):
        for finer in range(bits + 1, bits + 5):
            grain = 2 ** (finer - bits)
            top = 2**bits - 1
            results = [min(top, round(Fraction(k, grain)) if nearest else k // grain) for k in range(2**finer)]
            runs = fewest_runs(list(enumerate(results)))
            assert runs >= pieces_for_rounding(bits)
            if not nearest:
                assert runs == pieces_for_rounding(bits)


# ---- Lemma 27: widths ----


def test_the_least_width_is_the_least() -> None:
    for bits in range(1, 40):
        for depth in range(1, 45):
            width = least_width(bits, depth)
            assert (2 * width) ** depth >= 2**bits
            assert width == 1 or (2 * (width - 1)) ** depth < 2**bits


def test_known_values() -> None:
    # Depth 1: 2m >= 2^a. 6^3 = 216 < 256 <= 8^3.
    assert least_width(200, 1) == 2**199
    assert least_width(8, 3) == 4
    assert least_width(5, 5) == least_width(5, 9) == 1


@pytest.mark.parametrize("function", [pieces, least_width])
@pytest.mark.parametrize("arguments", [(0, 1), (1, 0), (-1, 3)])
def test_nothing_below_1_makes_sense(function: Callable[[int, int], int], arguments: tuple[int, int]) -> None:
    raised(InputError, function, *arguments, match="needs a positive")
    raised(InputError, pieces_for_rounding, min(arguments), match="needs a positive bits")
