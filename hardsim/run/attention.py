"""Soft attention of one head over one word: softmax, or another weighting.

A key whose logit is more than `negligible` nats below that of another key is left out, and `widened` accounts for it.
Theorem 26's temperatures make logits of millions of nats, so that among the n exponentials of a row only one or two
are above anything that the arithmetic can tell from 0. These keys are found in float64 for all pairs at once: every
logit l = b sum_c q_c k_c is enclosed, and a key is left out only if it is certainly negligible.

The enclosure. Let q_c = a_c +- r_c (scaled by 1/tau), k_c = b_c +- s_c with floats a, b, and k terms. The float64
value of sum a_c b_c is off by at most k u/(1 - k u) times sum |a_c b_c| (k products, k - 1 sums in any order), and
the enclosed numbers move the sum by sum (r_c |b_c| + |a_c| s_c + r_c s_c). Both are computed in float64 and doubled,
which covers their own rounding; LEAST covers underflow. A number that is no finite float64 makes comparisons false,
and then nothing is left out.

Logits of exact inputs are rationals that several heads share: each exponential is computed once. They are formed from
integers over common denominators, which is several times as fast as with fractions.

Sparsemax and softmax with rounded exponentials have rational weights if the logits are rationals, and are computed in
rationals alone: all values of such a network are then exact. Geometric attention has rational weights where e^logit is
rational (`geometric`), and numbers of the arithmetic elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import compress
from math import gcd, lcm
from operator import mul
from typing import Any, Generic

import numpy as np

from hardsim.errors import InputError
from hardsim.lang.reals import Real, RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational, plain
from hardsim.network.transformer import AttentionHead, SoftWeighting
from hardsim.run.arithmetic import Arithmetic, Column, T, Value, is_exact, lift, linear
from hardsim.run.enclosure import Booleans, Floats, U, rounded
from hardsim.run.float_rows import Views
from hardsim.run.geometric import Gate, gates, nearest_first, soft_gate, times
from hardsim.run.rounded_softmax import rounded_softmax
from hardsim.run.sparsemax import sparsemax

LEAST = 2.0**-500
FEW = 8
"""At words of at most this many positions no key is left out: the search would take longer than the exponentials."""
MEMO_LENGTH, MOST_ROWS = 32, 256
"""The greatest length at which the outputs of heads and hidden units, and the weights of heads, are kept by their
inputs, since short words share most of these; and the greatest number of inputs for which a head keeps its weights."""

Whole = tuple[tuple[int, ...], int]
"""A vector of rationals: numerators, and their least common denominator."""


def whole(values: Sequence[Rational]) -> Whole:
    """Return a vector over its least common denominator."""
    unit = lcm(*(value.denominator for value in values))
    return tuple(value.numerator * (unit // value.denominator) for value in values), unit


def exponentials(arithmetic: Arithmetic[T]) -> Callable[[Whole, Whole], T]:
    """Return the function e^(q . k) of two vectors of the same length, which computes each exponential once."""

    @lru_cache(100_000)
    def power(numerator: int, unit: int) -> T:
        return arithmetic.exp(numerator if unit == 1 else Fraction(numerator, unit))

    @lru_cache(100_000)
    def product(query: Whole, key: Whole) -> T:
        numerator, unit = sum(map(mul, query[0], key[0])), query[1] * key[1]
        common = gcd(numerator, unit)
        return power(numerator // common, unit // common)

    return product


@dataclass(frozen=True)
class Forms(Generic[T]):
    """The vectors W_Q x_i / tau_i or W_K x_j at every position: as `wholes` (rationals) if all values are exact, and
    otherwise as `numbers` of the arithmetic."""

    arithmetic: Arithmetic[T]
    values: list[tuple[Value, ...]]

    @cached_property
    def exact(self) -> bool:
        """True if every value is a rational."""
        return all(is_exact(value) for row in self.values for value in row)

    @cached_property
    def wholes(self) -> list[Whole]:
        """The values at each position over a common denominator."""
        return [whole(row) for row in self.values]

    @cached_property
    def numbers(self) -> list[list[T]]:
        """The values at each position as numbers of the arithmetic."""
        return [[lift(self.arithmetic, value) for value in row] for row in self.values]

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """Float64 midpoints and radii of the values, each of shape (positions, k)."""
        ends = np.array([[enclosed(self.arithmetic, value) for value in row] for row in self.values])
        return ends[:, :, 0], ends[:, :, 1]


@dataclass(frozen=True, slots=True)
class KeyWeights(Generic[T]):
    """The keys that matter to one query.

    `keys` are their indices, `weights` their weights before division by the sum `total` (empty and None for a single
    key), and `dropped` is the number of visible keys that were left out.
    """

    keys: list[int]
    weights: list[T]
    total: T | None
    dropped: int


class WordHead(Generic[T]):
    """One head at one length. `inverse` is 1/tau by query position; `product` computes e^(q . k) of exact vectors."""

    def __init__(
        self,
        head: AttentionHead,
        arithmetic: Arithmetic[T],
        product: Callable[[Whole, Whole], T],
        inverse: Sequence[RealNumber],
        views: Views,
        weighting: SoftWeighting = SoftWeighting.SOFTMAX,
    ) -> None:
        self.weighting = weighting
        self.head, self.arithmetic, self.product, self.inverse = head, arithmetic, product, inverse
        self.seen = views.visible(np.arange(views.size))
        self._static: dict[int, Forms[T]] = {}
        self._reads = sorted({index for pair in head.scores for form in pair for index, _ in form})
        self._rows: dict[tuple[int | None, ...], list[KeyWeights[T]]] = {}
        """The keys and weights of all queries, by the serial numbers of the columns that scores depend on."""

    def attend(self, columns: Sequence[Column], values: Sequence[Column]) -> list[Column]:
        """Return what the head reads: for each column of `values`, which has a value for each key position, the column
        of their weighted means, which has one for each query position. The weights follow from the scores of
        `columns`, the word's coordinates by position. Means with equal weights of exact values are exact."""
        if not self.head.scores:
            seen = [np.flatnonzero(row).tolist() for row in self.seen]
            return [
                Column([self._average([column.values[key] for key in keys]) for keys in seen], column.exact)
                for column in values
            ]
        if self.weighting.cutoff is not None:
            weights = self._exact_shares(columns)
            return [Column([_weighted(row, column) for row in weights], column.exact) for column in values]
        if self.weighting is SoftWeighting.GEOMETRIC:
            found = self._geometric(columns)
            sums = [[self._sum(row, column) for row in found] for column in values]
            return [Column(column, all(map(is_exact, column))) for column in sums]
        many = len(self.seen) > FEW
        reaches = [spread(self.arithmetic, column.values) if many else None for column in values]
        rows = self._known_rows(columns, screened=None not in reaches)
        numbers = [[lift(self.arithmetic, value) for value in column.values] for column in values]
        return [
            Column([self._mean(row, part, reach) for row in rows], exact=False)
            for part, reach in zip(numbers, reaches, strict=True)
        ]

    def shares(self, columns: Sequence[Column]) -> list[list[Value]]:
        """Return the weight of every key by query: 0 if the key is not visible, and a rational where the weight is
        known exactly."""
        if not self.head.scores:
            counts = self.seen.sum(axis=1).tolist()
            return [
                [Fraction(seen, count) for seen in row] for row, count in zip(self.seen.tolist(), counts, strict=True)
            ]
        found: list[list[Value]] = []
        if self.weighting is not SoftWeighting.SOFTMAX:
            exact = self.weighting.cutoff is not None
            for row_of_pairs in self._exact_shares(columns) if exact else self._geometric(columns):
                known = dict(row_of_pairs)
                found.append([known.get(key, 0) for key in range(len(self.seen))])
            return found
        for row in self.rows(columns, screened=False):
            shares: list[Value] = [0] * len(self.seen)
            if not row.weights:
                shares[row.keys[0]] = 1
            else:
                for key, weight in zip(row.keys, row.weights, strict=True):
                    shares[key] = weight / row.total
            found.append(shares)
        return found

    def _exact_shares(self, columns: Sequence[Column]) -> list[list[tuple[int, Rational]]]:
        """Return the keys that have weight under a weighting with rational weights, each with its weight, by query."""
        queries, keys = self._forms(0, columns), self._forms(1, columns)
        if not (queries.exact and keys.exact):
            raise InputError(
                f"head {self.head.name}: {self.weighting} is computed in rationals, "
                "and a score over the temperature is none",
                "Use encodings and a temperature without log, sqrt and exp, or softmax.",
            )
        numbers, below = whole([value for row in keys.values for value in row])
        rows = [numbers[start : start + len(keys.values[0])] for start in range(0, len(numbers), len(keys.values[0]))]
        found: list[list[tuple[int, Rational]]] = []
        form = self.weighting.exponentials
        for (query, over), seen in zip(queries.wholes, self.seen.tolist(), strict=True):
            visible = list(compress(range(len(seen)), seen))
            scores, one = [sum(map(mul, query, rows[key])) for key in visible], over * below
            weights = sparsemax(scores, one) if form is None else rounded_softmax(scores, one, form)
            found.append([(key, weight) for key, weight in zip(visible, weights, strict=True) if weight])
        return found

    def _geometric(self, columns: Sequence[Column]) -> list[list[tuple[int, Value]]]:
        """Return the visible keys with their weights in geometric attention, the nearest first, by query."""
        forms = [[linear(self.arithmetic, form, columns).values for form in pair] for pair in self.head.scores]
        back = self.head.mask in (Mask.FUTURE, Mask.STRICT_FUTURE)
        gate, found = self._gate, list[list[tuple[int, Value]]]()
        for i, (seen, inverse) in enumerate(zip(self.seen.tolist(), self.inverse, strict=True)):
            keys = reversed(range(i + 1)) if back else range(i, len(seen))
            near = [key for key in keys if seen[key]]
            shares = []
            for key in near:
                terms = [times(self.arithmetic, query[i], own[key]) for query, own in forms]
                score = terms[0] if len(terms) == 1 else self._total(terms)
                soft = None if is_exact(score) else self._times(score, inverse)
                shares.append(gate(inverse * score) if soft is None else soft_gate(self.arithmetic, soft))
            found.append(list(zip(near, nearest_first(self.arithmetic, shares), strict=True)))
        return found

    @cached_property
    def _gate(self) -> Callable[[RealNumber], Gate]:
        return gates(self.arithmetic)

    def _total(self, values: Sequence[Value]) -> Value:
        """Return the sum of values, exact if all of them are."""
        exact: Value = sum(value for value in values if is_exact(value))
        soft = [value for value in values if not is_exact(value)]
        if not soft:
            return exact
        return self.arithmetic.total([*soft, self.arithmetic.number(exact)] if exact else soft)

    def _sum(self, row: Sequence[tuple[int, Value]], column: Column) -> Value:
        """Return the sum of a column's values times the weights of keys, exact if all of its terms are."""
        found = self._total([times(self.arithmetic, weight, column.values[key]) for key, weight in row])
        return plain(found) if is_exact(found) else found

    def _known_rows(self, columns: Sequence[Column], screened: bool) -> list[KeyWeights[T]]:
        """Return `rows`, which are kept: words share the inputs of scores more often than values."""
        inputs = [columns[index].serial for index in self._reads if not columns[index].static]
        if None in inputs or len(self.seen) > MEMO_LENGTH:
            return self.rows(columns, screened)
        key = (screened, *inputs)
        if key not in self._rows:
            if len(self._rows) >= MOST_ROWS:
                self._rows.clear()
            self._rows[key] = self.rows(columns, screened)
        return self._rows[key]

    def rows(self, columns: Sequence[Column], screened: bool = True) -> list[KeyWeights[T]]:
        """Return the keys and weights of all queries. If not `screened`, no key is left out."""
        queries, keys = self._forms(0, columns), self._forms(1, columns)
        exact = queries.exact and keys.exact
        left: Sequence[Any] = queries.wholes if exact else queries.numbers
        right: Sequence[Any] = keys.wholes if exact else keys.numbers
        weigh: Callable[[Any, Any], T] = self.product if exact else self._exponential
        kept = self.matter(queries, keys) if screened else self.seen
        found: list[KeyWeights[T]] = []
        for query, row, count in zip(left, kept.tolist(), self.seen.sum(axis=1).tolist(), strict=True):
            near = list(compress(range(len(row)), row))
            # A single key has all of the weight, whatever its logit.
            weights = [weigh(query, right[key]) for key in near] if len(near) > 1 else []
            found.append(
                KeyWeights(near, weights, self.arithmetic.total(weights) if weights else None, count - len(near))
            )
        return found

    def matter(self, queries: Forms[T], keys: Forms[T]) -> Booleans:
        """Return the keys (columns) whose weight may be distinguishable from 0 in the arithmetic, by query (row)."""
        (query, query_rad), (key, key_rad) = queries.ends, keys.ends
        # An overflow gives infinity or NaN; `far` is then False, and the key is kept.
        with np.errstate(all="ignore"):
            logit, size, other = query @ key.T, np.abs(query), np.abs(key)
            off = query_rad @ (other + key_rad).T + size @ (key_rad + (key.shape[1] + 4) * U * other).T
            off = 2 * off + LEAST
            best = np.max(np.where(self.seen, logit - off, -np.inf), axis=1, keepdims=True)
            # The difference is rounded once more, which is far less than the nat that is added.
            far = (best - (logit + off)) * (1 - 4 * U) > self.arithmetic.negligible + 1
        kept: Booleans = self.seen & ~far
        return kept

    def _forms(self, side: int, columns: Sequence[Column]) -> Forms[T]:
        """Return the queries' forms divided by tau (side 0) or the keys' forms (side 1). They are kept if they are
        the same for every word."""
        if side in self._static:
            return self._static[side]
        forms = [pair[side] for pair in self.head.scores]
        rows: Iterable[tuple[Value, ...]] = zip(
            *(linear(self.arithmetic, form, columns).values for form in forms), strict=True
        )
        if side == 0:
            rows = (tuple(self._times(x, beta) for x in row) for row, beta in zip(rows, self.inverse, strict=True))
        made = Forms(self.arithmetic, list(rows))
        if all(columns[index].static for form in forms for index, _ in form):
            self._static[side] = made
        return made

    def _times(self, value: Value, beta: RealNumber) -> Value:
        """Return the product, exact if both factors are."""
        if is_exact(value) and not isinstance(beta, Real):
            return value * beta
        return lift(self.arithmetic, value) * self.arithmetic.number(beta)

    def _exponential(self, query: Sequence[T], key: Sequence[T]) -> T:
        """Return e^(q . k) of vectors of numbers."""
        return self.arithmetic.exp(self.arithmetic.total(list(map(mul, query, key))))

    def _average(self, values: list[Value]) -> Value:
        """Return the mean of some values, exact if all of them are."""
        if all(is_exact(value) for value in values):
            return Fraction(sum(values), len(values))
        total = self.arithmetic.total([lift(self.arithmetic, value) for value in values])
        return total / self.arithmetic.number(len(values))

    def _mean(self, row: KeyWeights[T], values: Sequence[T], reach: Rational | None) -> T:
        """Return the weighted mean of values at most `reach` apart. `reach` is never None if a key was left out."""
        mean = values[row.keys[0]]
        if row.weights:
            products = [weight * values[key] for weight, key in zip(row.weights, row.keys, strict=True)]
            mean = self.arithmetic.total(products) / row.total
        return self.arithmetic.widened(mean, row.dropped, reach) if row.dropped and reach else mean


def _weighted(weights: Sequence[tuple[int, Rational]], column: Column) -> Value:
    """Return the sum of a column's values times the weights of keys."""
    return plain(sum((weight * column.values[key] for key, weight in weights), Fraction(0)))


def enclosed(arithmetic: Arithmetic[T], value: Value) -> tuple[float, float]:
    """Return a float64 midpoint and radius of a value; the radius is infinite if the value is beyond float64."""
    return rounded(value) if is_exact(value) else arithmetic.approximate(value)


def spread(arithmetic: Arithmetic[T], values: Sequence[Value]) -> Rational | None:
    """Return a bound of the distance between any two of the values; None if no bound is known."""
    if all(is_exact(value) for value in values):
        reach: Rational = max(values) - min(values)
        return reach
    ends = [enclosed(arithmetic, value) for value in values]
    apart = max(middle + radius for middle, radius in ends) - min(middle - radius for middle, radius in ends)
    # Four roundings, each of at most 2^-53 of one of the numbers.
    largest = max(abs(middle) + radius for middle, radius in ends)
    return Fraction(apart) + Fraction(largest) * Fraction(8, 2**53) if np.isfinite([apart, largest]).all() else None
