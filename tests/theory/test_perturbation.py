"""Lemmas 28 to 32 and 34: exact errors of random layers stay below the bounds, and some layers attain them."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from tests.theory.layer_errors import (
    activation_bound,
    attention_error,
    entry_norm,
    ffn_error,
    row_norm,
    score_error,
    total_norm,
    uniform_error,
)

Vector: TypeAlias = list[Fraction]
Matrix: TypeAlias = list[Vector]

# Distinct primes, so that no transposed matrix passes.
KEY, WIDTH, HIDDEN, LENGTH = 2, 3, 5, 7

ZERO, ONE = Fraction(0), Fraction(1)
IDENTITY = [[Fraction(j == k) for k in range(WIDTH)] for j in range(WIDTH)]
seeds = st.integers(0, 2**32)


class Draw:
    """Draws random rationals: entries within [-4, 4], sizes within [0, 5], shares within [-1, 1], often at the
    ends.
    """

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)

    def position(self) -> int:
        return self.source.randrange(LENGTH)

    def size(self) -> Fraction:
        return Fraction(self.source.randint(0, 5 * 7), 7)

    def vector(self, width: int) -> Vector:
        return [Fraction(self.source.randint(-20, 20), 5) for _ in range(width)]

    def matrix(self, rows: int, columns: int) -> Matrix:
        return [self.vector(columns) for _ in range(rows)]

    def moved(self, x: Vector, delta: Fraction) -> Vector:
        return moved(x, [self.source.choice([ONE, -ONE, Fraction(self.source.randint(-6, 6), 6)]) for _ in x], delta)

    def convex(self) -> Vector:
        """Draw weights that sum to 1, some of them 0."""
        return convex([Fraction(max(0, self.source.randint(-2, 6))) for _ in range(LENGTH)])


def dot(x: Vector, y: Vector) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), ZERO)


def apply(matrix: Matrix, x: Vector) -> Vector:
    return [dot(row, x) for row in matrix]


def add(*terms: Sequence[Fraction]) -> Vector:
    return [sum(parts, ZERO) for parts in zip(*terms, strict=True)]


def norm(x: Sequence[Fraction]) -> Fraction:
    return max(map(abs, x))


def apart(x: Vector, y: Vector) -> Fraction:
    return norm([a - b for a, b in zip(x, y, strict=True)])


def moved(x: Vector, share: Vector, delta: Fraction) -> Vector:
    """Move x by at most delta in each coordinate."""
    return [a + delta * s for a, s in zip(x, share, strict=True)]


def ffn(w2: Matrix, b2: Vector, w1: Matrix, b1: Vector, c: Vector) -> Vector:
    return add(apply(w2, [max(ZERO, value) for value in add(apply(w1, c), b1)]), b2, c)


def attention(alpha: Vector, heads: list[Matrix], activations: Matrix, i: int) -> Vector:
    """Return one position's output, residual connection included; all heads have the same weights."""
    mean = [dot(alpha, [x[k] for x in activations]) for k in range(WIDTH)]
    return add(activations[i], *(apply(value, mean) for value in heads))


# ---- Lemma 28 ----


@given(seeds)
def test_lemma_28_and_the_row_norm(seed: int) -> None:
    draw = Draw(seed)
    matrix, x, y = draw.matrix(HIDDEN, WIDTH), draw.vector(WIDTH), draw.vector(HIDDEN)
    assert norm(apply(matrix, x)) <= row_norm(matrix) * norm(x)
    assert row_norm(matrix) <= entry_norm(matrix) == WIDTH * max(norm(row) for row in matrix)
    assert abs(dot(y, apply(matrix, x))) <= total_norm(matrix) * norm(x) * norm(y)


@given(seeds)
def test_the_row_norm_is_attained_at_signs(seed: int) -> None:
    matrix = Draw(seed).matrix(HIDDEN, WIDTH)
    signs = [[ONE if entry >= 0 else -ONE for entry in row] for row in matrix]
    assert max(norm(apply(matrix, x)) for x in signs) == row_norm(matrix)


def test_lemma_28_is_attained_where_all_entries_are_as_large() -> None:
    matrix = [[Fraction(3), Fraction(-3), Fraction(3)], [ONE, ZERO, ZERO]]
    assert norm(apply(matrix, [ONE, -ONE, ONE])) == 9 == entry_norm(matrix) == row_norm(matrix)
    assert total_norm(matrix) == 10


def test_a_network_without_hidden_units_has_norms_too() -> None:
    assert entry_norm([]) == row_norm([]) == total_norm([]) == 0
    assert entry_norm([[], []]) == row_norm([[], []]) == total_norm([[], []]) == 0


# ---- Lemma 29 ----


@given(seeds)
def test_lemma_29_bounds_the_activations_after_a_layer(seed: int) -> None:
    draw = Draw(seed)
    activations = draw.matrix(LENGTH, WIDTH)
    heads = [draw.matrix(WIDTH, WIDTH) for _ in range(2)]
    w1, w2 = draw.matrix(HIDDEN, WIDTH), draw.matrix(WIDTH, HIDDEN)
    b1, b2 = draw.vector(HIDDEN), draw.vector(WIDTH)
    alpha = draw.convex()
    size = max(map(norm, activations))
    value = sum(map(row_norm, heads), ZERO)
    bound = activation_bound(size, value, row_norm(w1), row_norm(w2), norm(b1), norm(b2))
    for i in range(LENGTH):
        assert norm(ffn(w2, b2, w1, b1, attention(alpha, heads, activations, i))) <= bound


def test_lemma_29_is_attained() -> None:
    size = Fraction(3)
    value = [[ONE, ONE, ZERO], [ZERO, ZERO, Fraction(2)], [ZERO, Fraction(2), ZERO]]
    w1, w2 = [[Fraction(4), ZERO, ONE]] * HIDDEN, [[ONE] * HIDDEN] * WIDTH
    b1, b2 = [Fraction(7)] * HIDDEN, [Fraction(11)] * WIDTH
    c = attention(convex([ONE] * LENGTH), [value], [[size] * WIDTH] * LENGTH, 0)
    # c = 3 (1 + 2) = 9; 5 hidden units of 5 * 9 + 7 = 52 each; 260 + 11 + 9.
    assert ffn(w2, b2, w1, b1, c) == [280] * WIDTH
    assert activation_bound(size, row_norm(value), row_norm(w1), row_norm(w2), Fraction(7), Fraction(11)) == 280


# ---- Lemma 30 ----


@given(seeds)
def test_lemma_30(seed: int) -> None:
    draw = Draw(seed)
    w1, w2 = draw.matrix(HIDDEN, WIDTH), draw.matrix(WIDTH, HIDDEN)
    b1, b2 = draw.vector(HIDDEN), draw.vector(WIDTH)
    c, delta = draw.vector(WIDTH), draw.size()
    other = draw.moved(c, delta)
    error = apart(ffn(w2, b2, w1, b1, c), ffn(w2, b2, w1, b1, other))
    assert error <= ffn_error(row_norm(w2), row_norm(w1), delta)


def test_lemma_30_is_attained_while_all_units_are_active_and_not_where_they_rest() -> None:
    w1, w2 = [[Fraction(4), ZERO, ONE]] * HIDDEN, [[ONE, ONE, ZERO, ZERO, ONE]] * WIDTH
    c, b2, delta = [ONE] * WIDTH, [ZERO] * WIDTH, Fraction(2, 7)
    other = moved(c, [ONE] * WIDTH, delta)
    active, resting = [ZERO] * HIDDEN, [Fraction(-100)] * HIDDEN
    bound = ffn_error(row_norm(w2), row_norm(w1), delta)
    assert bound == delta * 16
    assert apart(ffn(w2, b2, w1, active, c), ffn(w2, b2, w1, active, other)) == bound
    assert apart(ffn(w2, b2, w1, resting, c), ffn(w2, b2, w1, resting, other)) == delta


# ---- Lemma 31 ----


@given(seeds)
def test_lemma_31(seed: int) -> None:
    """Uniform attention over the positions of a mask has the same weights on both sides."""
    draw = Draw(seed)
    activations, heads = draw.matrix(LENGTH, WIDTH), [draw.matrix(WIDTH, WIDTH) for _ in range(2)]
    delta, i = draw.size(), draw.position()
    others = [draw.moved(x, delta) for x in activations]
    visible = convex([Fraction(j <= i) for j in range(LENGTH)])
    error = apart(attention(visible, heads, activations, i), attention(visible, heads, others, i))
    bound = uniform_error(sum(map(row_norm, heads), ZERO), delta)
    assert error <= bound == attention_error(sum(map(row_norm, heads), ZERO), Fraction(100), delta, ZERO)


def test_lemma_31_is_attained() -> None:
    activations, delta = [[Fraction(j)] * WIDTH for j in range(LENGTH)], Fraction(3, 5)
    others = [moved(x, [ONE] * WIDTH, delta) for x in activations]
    alpha = convex([ONE] * LENGTH)
    error = apart(attention(alpha, [IDENTITY], activations, 2), attention(alpha, [IDENTITY], others, 2))
    assert error == uniform_error(row_norm(IDENTITY), delta) == 2 * delta


# ---- Lemma 32 ----


@given(seeds)
def test_lemma_32(seed: int) -> None:
    draw = Draw(seed)
    query, key = draw.matrix(KEY, WIDTH), draw.matrix(KEY, WIDTH)
    x, y, delta = draw.vector(WIDTH), draw.vector(WIDTH), draw.size()
    x1, y1 = (draw.moved(z, delta) for z in (x, y))
    form = [[sum((query[t][k] * key[t][m] for t in range(KEY)), ZERO) for m in range(WIDTH)] for k in range(WIDTH)]
    score = dot(apply(query, x), apply(key, y))
    assert score == dot(x, apply(form, y))
    error = abs(dot(apply(query, x1), apply(key, y1)) - score)
    assert error <= score_error(total_norm(form), max(norm(x), norm(y)), delta)


def test_lemma_32_is_attained() -> None:
    form = [[ONE, Fraction(2), ZERO], [ONE, ZERO, Fraction(1, 2)], [ZERO, ZERO, Fraction(3)]]
    size, delta = Fraction(5), Fraction(1, 4)
    x, x1 = [size] * WIDTH, [size + delta] * WIDTH
    error = dot(x1, apply(form, x1)) - dot(x, apply(form, x))
    # 15/2 (2 * 5/4 + 1/16)
    assert error == score_error(total_norm(form), size, delta) == Fraction(15, 2) * Fraction(41, 16)


# ---- Lemma 34 ----


def convex(weights: Vector) -> Vector:
    """Return weights that sum to 1, in proportion to the given ones."""
    total = sum(weights, ZERO)
    return [w / total for w in weights] if total else [ONE, *[ZERO] * (len(weights) - 1)]


@given(seeds)
def test_lemma_34(seed: int) -> None:
    draw = Draw(seed)
    activations, value = draw.matrix(LENGTH, WIDTH), draw.matrix(WIDTH, WIDTH)
    delta, i = draw.size(), draw.position()
    others = [draw.moved(x, delta) for x in activations]
    hard, soft = draw.convex(), draw.convex()
    distance = sum((abs(a - b) for a, b in zip(hard, soft, strict=True)), ZERO)
    size = max(map(norm, activations))
    error = apart(attention(hard, [value], activations, i), attention(soft, [value], others, i))
    assert error <= attention_error(row_norm(value), size, delta, distance)


def test_lemma_34_is_attained() -> None:
    size, delta, lost = Fraction(2), Fraction(1, 9), Fraction(1, 5)
    activations = [[size if j == 3 else -size] * WIDTH for j in range(LENGTH)]
    others = [moved(x, [-ONE] * WIDTH, delta) for x in activations]
    hard = [Fraction(j == 3) for j in range(LENGTH)]
    soft = [1 - lost if j == 3 else lost / (LENGTH - 1) for j in range(LENGTH)]
    error = apart(attention(hard, [IDENTITY], activations, 3), attention(soft, [IDENTITY], others, 3))
    # 1/9 + (1/9 + 2 * 2/5)
    assert error == attention_error(ONE, size, delta, 2 * lost) == Fraction(2, 9) + Fraction(4, 5)
