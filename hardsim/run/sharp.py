"""The weights of a head whose temperature is so low that a query attends to a few keys only.

Theorem 26's temperatures make logits of millions of nats, so of a row of n exponentials all but one or two are below
anything that the arithmetic can tell from 0. Which ones is found in float64 for all pairs at once: every logit l = b
sum_c q_c k_c is enclosed, and a key is left out where its logit is certainly more than `negligible` nats below that of
another key. Only the weights that are kept are computed in the arithmetic, and `widened` accounts for the others.

The enclosure. Let q_c = a_c +- r_c, k_c = b_c +- s_c with floats a, b, and k terms. The float64 value of b sum a_c b_c
is off by at most (k + 3) u/(1 - (k + 3) u) times b sum |a_c b_c| (k products, k - 1 sums in any order, the rounding of
b and one product), and the enclosed numbers move the sum by b sum (r_c |b_c| + |a_c| s_c + r_c s_c). Both are computed
in float64 and doubled, which covers their own rounding; LEAST covers underflow, since b < LARGEST. A number that is no
finite float64 makes comparisons false, and then nothing is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from hardsim.run.arithmetic import Arithmetic, Column, T, Value
from hardsim.run.enclosure import rounded
from hardsim.run.exponentials import Exponentials, Whole, whole
from hardsim.run.plan import HeadPlan, Terms
from hardsim.spec.ir import Rational

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]

SHARP = 1000
"""A network is sharp at a length where its largest logit may be so many times what is negligible."""
LARGEST = 2**200
"""Inverse temperatures above this, or below its inverse, are not screened."""
LEAST = 2.0**-500
UNIT = 2.0**-53


@dataclass(frozen=True, slots=True)
class Forms:
    """W_Q x_i or W_K x_j at every position: values, and float64 midpoints and radii of shape (positions, k)."""

    values: list[tuple[Value, ...]]
    mid: Floats
    rad: Floats
    exact: bool
    made: dict[int, list[Any]] = field(default_factory=dict)
    wholes: dict[int, Whole] = field(default_factory=dict)

    def whole(self, position: int) -> Whole:
        """The values at one position over a common denominator, where they are exact."""
        known = self.wholes.get(position)
        if known is None:
            known = self.wholes[position] = whole(self.values[position])
        return known

    def numbers(self, position: int, arithmetic: Arithmetic[T]) -> list[Any]:
        """The values at one position as numbers of the arithmetic, made once; None for those that are exactly 0."""
        known = self.made.get(position)
        if known is None:
            known = self.made[position] = [
                (arithmetic.number(value) if value else None) if isinstance(value, int | Fraction) else value
                for value in self.values[position]
            ]
        return known


@dataclass(frozen=True, slots=True)
class KeptRow(Generic[T]):
    """The keys that matter to a query, by index, their weights before they are divided by their sum, and how many
    visible keys were left out."""

    keys: list[int]
    weights: list[T]
    dropped: int


class SharpHead(Generic[T]):
    """One head at one length; `visible` says what each query (row) sees, by index."""

    def __init__(
        self, head: HeadPlan, exponentials: Exponentials[T], inverse: Sequence[Fraction], visible: Booleans
    ) -> None:
        self.head = head
        self.exponentials = exponentials
        self.arithmetic = exponentials.arithmetic
        self.inverse = inverse
        self.visible = visible
        self.scale = np.array([[float(value)] if 1 / LARGEST < value < LARGEST else [np.inf] for value in inverse])
        self._static: dict[str, Forms] = {}

    def rows(self, columns: Sequence[Column], wanted: Sequence[int]) -> list[KeptRow[T]]:
        """The rows of these queries."""
        queries = self._forms("query", [query for query, _ in self.head.scores], self.head.query_inputs, columns)
        keys = self._forms("key", [key for _, key in self.head.scores], self.head.key_inputs, columns)
        rows = np.array(wanted, dtype=np.int64)
        kept = self.matter(queries, keys, rows)
        counts = self.visible[rows].sum(axis=1).tolist()
        weigh = self._exact_weights if queries.exact and keys.exact else self._weights
        found: list[KeptRow[T]] = []
        for place, i in enumerate(wanted):
            near: list[int] = np.flatnonzero(kept[place]).tolist()
            # One key alone has all of the weight, whatever its logit.
            weights = weigh(i, queries, keys, near) if len(near) > 1 else []
            found.append(KeptRow(near, weights, counts[place] - len(near)))
        return found

    def matter(self, queries: Forms, keys: Forms, rows: Integers) -> Booleans:
        """Which keys (columns) may have a weight that the arithmetic can tell from 0, for these queries (rows)."""
        cutoff, seen, scale = self.arithmetic.negligible, self.visible[rows], self.scale[rows]
        if cutoff is None:
            return seen
        query, query_rad = queries.mid[rows], queries.rad[rows]
        terms = query.shape[1]
        with np.errstate(all="ignore"):
            logit = (query @ keys.mid.T) * scale
            size, other = np.abs(query), np.abs(keys.mid)
            off = query_rad @ (other + keys.rad).T + size @ keys.rad.T + (terms + 4) * UNIT * (size @ other.T)
            off = 2 * off * scale + LEAST
            best = np.max(np.where(seen, logit - off, -np.inf), axis=1, keepdims=True)
            # The difference is rounded once more, which is far less than the nat that is added.
            far = (best - (logit + off)) * (1 - 4 * UNIT) > cutoff + 1
        kept: Booleans = seen & ~far
        return kept

    def _exact_weights(self, i: int, queries: Forms, keys: Forms, near: Sequence[int]) -> list[T]:
        """e^l of some keys, l rounded once."""
        query = whole([value * self.inverse[i] for value in queries.values[i]])
        return [self.exponentials.product(query, keys.whole(j)) for j in near]

    def _weights(self, i: int, queries: Forms, keys: Forms, near: Sequence[int]) -> list[T]:
        """The same where something is not exact."""
        arithmetic = self.arithmetic
        query, inverse = queries.numbers(i, arithmetic), arithmetic.number(self.inverse[i])
        found: list[T] = []
        for j in near:
            key = keys.numbers(j, arithmetic)
            products = [q * k for q, k in zip(query, key, strict=True) if q is not None and k is not None]
            score = arithmetic.total(products) if products else arithmetic.number(0)
            found.append(arithmetic.exp(score * inverse))
        return found

    def _forms(self, side: str, forms: list[Terms], inputs: tuple[int, ...], columns: Sequence[Column]) -> Forms:
        """The forms of one side; those that are the same for every word are kept."""
        if inputs:
            return self._evaluate(forms, columns)
        known = self._static.get(side)
        if known is None:
            known = self._static[side] = self._evaluate(forms, columns)
        return known

    def _evaluate(self, forms: list[Terms], columns: Sequence[Column]) -> Forms:
        parts = [linear(self.arithmetic, form, columns) for form in forms]
        ends = [[enclosed(self.arithmetic, value) for value in part] for part in parts]
        array = np.array(ends, dtype=np.float64)
        exact = all(isinstance(value, int | Fraction) for part in parts for value in part)
        return Forms(list(zip(*parts, strict=True)), array[:, :, 0].T, array[:, :, 1].T, exact)


def linear(arithmetic: Arithmetic[T], form: Terms, columns: Sequence[Column]) -> list[Value]:
    """A linear form at every position: exact where everything that it reads is."""
    total: list[Value] = [0] * len(columns[0].values)
    for index, coefficient in form:
        values = columns[index].values
        total = [
            _plus(arithmetic, old, _times(arithmetic, coefficient, value))
            for old, value in zip(total, values, strict=True)
        ]
    return total


def _times(arithmetic: Arithmetic[T], coefficient: Rational, value: Value) -> Value:
    if coefficient == 1:
        return value
    if isinstance(value, int | Fraction):
        return coefficient * value
    return arithmetic.number(coefficient) * value


def _plus(arithmetic: Arithmetic[T], left: Value, right: Value) -> Value:
    if isinstance(left, int | Fraction):
        if not left:
            return right
        return left + right if isinstance(right, int | Fraction) else arithmetic.number(left) + right
    return (
        left
        if isinstance(right, int | Fraction) and not right
        else (left + (arithmetic.number(right) if isinstance(right, int | Fraction) else right))
    )


def enclosed(arithmetic: Arithmetic[T], value: Value) -> tuple[float, float]:
    """A float64 midpoint and radius of a value; an infinite radius where it is beyond float64."""
    return rounded(value) if isinstance(value, int | Fraction) else arithmetic.approximate(value)


def spread(arithmetic: Arithmetic[T], values: Sequence[Value]) -> Rational | None:
    """A bound on how far any two of some values are apart; None where there is none."""
    if all(isinstance(value, int | Fraction) for value in values):
        reach: Rational = max(values) - min(values)
        return reach
    ends = [enclosed(arithmetic, value) for value in values]
    apart = max(middle + radius for middle, radius in ends) - min(middle - radius for middle, radius in ends)
    # Four roundings, each of at most 2^-53 of one of the numbers.
    largest = max(abs(middle) + radius for middle, radius in ends)
    return Fraction(apart) + Fraction(largest) * Fraction(8, 2**53) if np.isfinite([apart, largest]).all() else None
