"""The arithmetic of a number format: of one evaluation, `Emulated`, or of enclosures of every evaluation, `Enclosed`.

`Emulated` rounds the result of every operation, with sums from the left: it is one evaluation of model.py in that
format, and finds words that are wrong. `Enclosed` covers every evaluation under the assumptions that `precision`
prints: a correctly rounded operation maps [a, b] to [fl(a), fl(b)]; a sum of k terms that are not 0, in any order, its
products rounded or fused, is off by at most k u/(1 - k u) times the sum of their sizes, unless all partial sums are
numbers of the format, where it is exact; exp is within two units in the last place at its rounded argument, 1 at 0, at
most 1 below, and 0 where it is below e^-2 times the least number of the format. A product of k factors of [0, 1] that
are not 1, in any order, is off by at most a factor (1 + u)^k, and by k times the least number: later factors make
neither larger.
With `in_order` it covers sums from the left alone, each product and each partial sum rounded, as in `Emulated`: they
lie between those of the ends, since rounding is monotone.

With `accumulate` sums are accumulated in that wider format, and rounded once more at their end. Without it `Enclosed`
covers sums that are accumulated in the format, and sums that are accumulated in float32.

A number that is infinite or NaN stays so when it is multiplied by 0: nothing is known of a value that reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import combinations, starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.precision.evaluated import Values
from hardsim.precision.formats import FORMATS, Floats, NumberFormat

ROOT = math.sqrt(0.5)
_erf = np.vectorize(math.erf, otypes=[np.float64])
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "gelu": lambda z: z * (1 + _erf(z * ROOT)) / 2,
    "gelu_new": lambda z: z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2,
    "quick_gelu": lambda z: z / (1 + np.exp(-1.702 * z)),
    "silu": lambda z: z / (1 + np.exp(-z)),
    "tanh": np.tanh,
}
MINIMA = {
    "gelu": (-0.7517916, -0.16998), "gelu_new": (-0.7524614, -0.17005), "quick_gelu": (-0.7511542, -0.16362),
    "silu": (-1.2784645, -0.27847),
}  # fmt: skip
"""The arguments where the activations are least, and numbers below their values there. The remaining error is less
than the slack of `activated` in every format but float32, where it widens the enclosure by less than 10^-5."""
MOST_ORDERED = 3
"""Largest number of terms of a sum of which every order is examined."""
MOST_SORTED = 2**23
"""Largest number of terms of sums that are sorted by size together."""
DOUBLE = 2.0**-52
"""The largest relative error of an operation of float64."""
WIDE = FORMATS["float32"]
"""The format in which libraries accumulate."""
SLACK = 1 + 2.0**-40
"""A factor for bounds that are computed in float64: it covers the rounding of a few thousand operations."""


@dataclass(frozen=True)
class Enclosures:
    """Arrays of lower and upper ends of enclosures, with axes (words, rows, columns) or fewer; NaN: nothing is known.
    Of numbers that are known, both ends are one array, with which operations compute once."""

    low: Floats
    high: Floats

    @staticmethod
    def of(exact: Floats) -> Enclosures:
        """Return the enclosures of known numbers."""
        return Enclosures(exact, exact)

    @staticmethod
    def stacked(parts: Sequence[Enclosures], axis: int) -> Enclosures:
        """Return enclosures of the same shape along a new axis."""
        return Enclosures(*(np.stack(ends, axis) for ends in zip(*((one.low, one.high) for one in parts), strict=True)))

    @staticmethod
    def joined(parts: Sequence[Enclosures]) -> Enclosures:
        """Return enclosures one after another along the first axis."""
        if all(one.low is one.high for one in parts):
            return Enclosures.of(np.concatenate([one.low for one in parts]))
        return Enclosures(np.concatenate([one.low for one in parts]), np.concatenate([one.high for one in parts]))

    def each(self, function: Callable[[Floats], Floats]) -> Enclosures:
        """Apply a function that does not decrease to both ends."""
        low = function(self.low)
        return Enclosures(low, low if self.high is self.low else function(self.high))

    def rows(self, index: Any) -> Enclosures:
        """Return a part, selected by a NumPy index."""
        return self.each(lambda ends: ends[index])

    @property
    def size(self) -> Floats:
        """The largest absolute value of each enclosure."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def known(self) -> bool:
        """True if all ends are known, and finite."""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())


@dataclass(frozen=True)
class Enclosed:
    """The arithmetic of enclosures of every evaluation under the assumptions of the module. A number beyond the
    format is unknown."""

    form: NumberFormat
    accumulate: NumberFormat | None = None
    in_order: bool = False
    """True if sums are taken from the left only; False: in any order."""

    @property
    def inner(self) -> NumberFormat:
        """The format in which sums are accumulated."""
        return self.accumulate or self.form

    def _ends(self, low: Floats, high: Floats) -> Enclosures:
        """Round both ends to the format, which is monotone; unknown (NaN) where one is beyond it."""
        low, high = self.form.round(low), self.form.round(high)
        lost = ~(np.isfinite(low) & np.isfinite(high))
        return Enclosures(np.where(lost, np.nan, low), np.where(lost, np.nan, high))

    def number(self, exact: Floats) -> Enclosures:
        """Round float64 numbers to the format, once."""
        return self._ends(exact, exact)

    def computed(self, values: Values) -> Enclosures:
        """Round numbers that model.py computes in float64 on any machine to the format, once."""
        return self._ends(values.low, values.high)

    def scalar(self, exact: float) -> Enclosures:
        """Return a Python number, which is rounded with the number that it is added to, or before."""
        ends = np.array([exact]), self.form.round(np.array([exact]))
        return Enclosures(np.minimum(*ends), np.maximum(*ends))

    def add(self, x: Enclosures, y: Enclosures) -> Enclosures:
        """Return the sum x + y, rounded."""
        return self._ends(x.low + y.low, x.high + y.high)

    def multiply(self, x: Enclosures, y: Enclosures) -> Enclosures:
        """Return the product of x and y, element by element, rounded."""
        return self._ends(*_corners(x, y))

    def divide(self, x: Enclosures, y: Enclosures) -> Enclosures:
        """Return the quotient x / y, rounded; known only where y is positive."""
        corners = np.broadcast_arrays(x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high)
        found = self._ends(np.minimum.reduce(corners), np.maximum.reduce(corners))
        known = y.low > 0
        return Enclosures(np.where(known, found.low, np.nan), np.where(known, found.high, np.nan))

    def matmul(self, x: Enclosures, y: Enclosures) -> Enclosures:
        """Return the product of matrices, rounded."""
        shape = (*np.broadcast_shapes(x.low.shape[:-2], y.low.shape[:-2]), x.low.shape[-2], y.low.shape[-1])
        terms = (
            (x.rows((..., slice(None), k, None)), y.rows((..., None, k, slice(None)))) for k in range(x.low.shape[-1])
        )
        # A zero term adds nothing, unless its other factor is unknown.
        some = (
            (one, other)
            for one, other in terms
            if (other.size.any() and one.size.any()) or not (one.known and other.known)
        )
        return self._from_left(starmap(_corners, some), shape) if self.in_order else self._in_any_order(some, shape)

    def _from_left(self, terms: Iterable[tuple[Floats, Floats]], shape: tuple[int, ...]) -> Enclosures:
        """Return sums from the left of terms between two ends, each term rounded first."""
        inner = self.inner
        low = high = np.zeros(shape)
        for least, most in terms:
            same = low is high and least is most
            low = inner.round(low + inner.round(least))
            high = low if same else inner.round(high + inner.round(most))
        return self._ends(low, high)

    def _in_any_order(self, terms: Iterable[tuple[Enclosures, Enclosures]], shape: tuple[int, ...]) -> Enclosures:
        """Return sums of products in any order, the products rounded or not."""
        low, high, inner = np.zeros(shape), np.zeros(shape), self.inner
        quantum, rounds = np.full(shape, np.inf), np.zeros(shape, dtype=np.bool_)
        tiny, parts, products = np.zeros(shape), list[Floats](), list[tuple[Floats, Floats]]()
        for one, other in terms:
            least, most = _corners(one, other)
            low, high = low + least, high + most
            size = np.maximum(np.abs(least), np.abs(most))
            parts.append(size)
            products.append((least, most))
            fixed = (one.low == one.high) & (other.low == other.high)
            unit = np.where(size == 0, np.inf, np.where(fixed, _quantum(most), 0.0))
            quantum = np.minimum(quantum, unit)
            held = (size <= unit * 2.0**inner.digits) & (unit >= inner.least)
            power = _power(one) | _power(other)
            rounds |= ~(held | power)
            # A product with a power of two below 1 can lose digits if it is near the least number of the format.
            tiny = tiny + (power & ~held & (size > 0))
        found = self._summed(low, high, parts, quantum, rounds, tiny)
        if not 3 <= len(products) <= MOST_ORDERED:
            return found
        # For few exact products, examine each order: rounding is monotone, and so is a sum in each of its terms.
        least, most = self._ordered([one for one, _ in products], [one for _, one in products])
        exact = ~rounds & (tiny == 0) & ~np.isnan(found.low)
        least, most = np.maximum(least, found.low), np.minimum(most, found.high)
        return Enclosures(np.where(exact, least, found.low), np.where(exact, most, found.high))

    def _ordered(self, low: list[Floats], high: list[Floats]) -> tuple[Floats, Floats]:
        """Return the least and the largest of sums of a few terms, over all orders: each addition rounded to the
        format, or to the wider one in which sums are accumulated, and their end then to the format."""
        ways = [self.accumulate] if self.accumulate is not None else list(dict.fromkeys([self.form, WIDE]))
        ends = []
        for terms, join in ((low, np.minimum), (high, np.maximum)):
            sums = [self.form.round(total) for inner in ways for total in _trees(terms, inner)]
            ends.append(join.reduce(np.broadcast_arrays(*sums)))
        return ends[0], ends[1]

    def total(self, x: Enclosures) -> Enclosures:
        """Return the sum over the last axis."""
        if self.in_order:
            each = (x.rows((..., k, None)) for k in range(x.low.shape[-1]))
            return self._from_left(((one.low, one.high) for one in each), (*x.low.shape[:-1], 1))
        size = x.size
        exact = x.low == x.high
        quantum = np.where(size == 0, np.inf, np.where(exact, _quantum(x.high), 0.0)).min(axis=-1, keepdims=True)
        low, high = (part.sum(axis=-1, keepdims=True) for part in (x.low, x.high))
        parts, nothing = [size[..., k, None] for k in range(size.shape[-1])], np.zeros(low.shape)
        found = self._summed(low, high, parts, quantum, nothing.astype(np.bool_), nothing)
        # Adding terms that are not negative does not make a sum smaller.
        least = np.where((x.low >= 0).all(axis=-1, keepdims=True), x.low.max(axis=-1, keepdims=True), -np.inf)
        return Enclosures(np.maximum(found.low, least), found.high)

    def partial_sums(self, x: Enclosures) -> Enclosures:
        """Return the sums of the first 1, 2, ... numbers of the last axis, each in an order of its own."""
        if not self.in_order:
            sums = [self.total(x.rows((..., slice(k + 1)))) for k in range(x.low.shape[-1])]
            return Enclosures(*(np.concatenate([getattr(one, end) for one in sums], -1) for end in ("low", "high")))
        low, high, inner = np.zeros_like(x.low), np.zeros_like(x.low), self.inner
        least = most = np.zeros(x.low.shape[:-1])
        for k in range(x.low.shape[-1]):
            least, most = inner.round(least + x.low[..., k]), inner.round(most + x.high[..., k])
            low[..., k], high[..., k] = least, most
        return self._ends(low, high)

    def partial_products(self, x: Enclosures) -> Enclosures:
        """Return the products of the first 1, 2, ... numbers of the last axis, all in [0, 1]."""
        inner, low, high = self.inner, np.ones_like(x.low), np.ones_like(x.low)
        if self.in_order:
            least = most = np.ones(x.low.shape[:-1])
            for k in range(x.low.shape[-1]):
                least, most = inner.round(least * x.low[..., k]), inner.round(most * x.high[..., k])
                low[..., k], high[..., k] = least, most
            return self._ends(low, high)
        count = np.cumsum(~((x.low == 1) & (x.high == 1)), axis=-1)
        # One factor is not rounded. The last step covers the rounding of a wider format, and slack that of float64.
        rounds: Floats = np.where(count > 1, count, 0).astype(np.float64)
        slack, lost = rounds * (DOUBLE + inner.unit), rounds * inner.least
        low = np.cumprod(x.low, axis=-1) * (1 - np.minimum(slack, 1.0)) - lost
        high = (np.cumprod(x.high, axis=-1) + lost) * np.exp(slack * SLACK) * (1 + DOUBLE) ** rounds
        high = np.where(np.maximum.accumulate(x.high == 0, axis=-1), 0.0, high)
        return self._ends(np.maximum(low, 0.0), np.minimum(high, 1.0))

    def above(self, x: Enclosures, y: Enclosures) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where x > y certainly, and where possibly."""
        return x.low > y.high, ~(x.high <= y.low)

    def _summed(
        self,
        low: Floats,
        high: Floats,
        parts: Sequence[Floats],
        quantum: Floats,
        rounds: NDArray[np.bool_],
        tiny: Floats,
    ) -> Enclosures:
        """Return sums of terms of these sizes (`parts`), all of which are multiples of a quantum. `rounds` is True
        where one of the products may have to be rounded, `tiny` counts the products that may lose digits only next to
        the least number.

        One term, and two whose products are exact, are rounded once. Where the terms are multiples of a power of two
        of which the format represents the sum of their sizes, every partial sum in every order is a number of the
        format. Where the sum of their sizes is beyond the format some order may be beyond it too, whatever the sum.
        """
        inner = self.inner
        sizes: Floats = sum(parts, np.zeros(low.shape))
        terms: Floats = sum(((part > 0).astype(np.float64) for part in parts), np.zeros(low.shape))
        whole = (sizes <= quantum * 2.0**inner.digits) & (sizes <= inner.largest) & (quantum >= inner.least)
        once = (terms <= 1) | ((terms <= 2) & ~rounds)
        steps = np.maximum(terms - 1, 0) + rounds
        gamma = steps * inner.unit / np.where(steps * inner.unit < 1, 1 - steps * inner.unit, np.nan)
        # The last part covers the rounding of this computation itself, in float64.
        off = (
            np.fmin(gamma * sizes, self._apart(parts, sizes, terms, rounds)) + 2 * terms * inner.least
        ) * SLACK + sizes * (terms + 2) * DOUBLE
        off = np.where(once, np.where((tiny > 0) & (terms > 1), tiny * inner.least + 4 * sizes * DOUBLE, 0.0), off)
        off = np.where(whole, 0.0, off)
        beyond = ~(sizes * (1 + np.where(once | whole, 0.0, gamma)) <= inner.largest) & (terms > 1)
        low, high = np.where(beyond, np.nan, low - off), np.where(beyond, np.nan, high + off)
        if inner.digits >= WIDE.digits and self.accumulate is None:
            return self._ends(low, high)
        # Rounded twice where sums are accumulated in a wider format: next to the middle of two numbers that differs.
        twice = self._ends(WIDE.round(low), WIDE.round(high))
        if self.accumulate is not None:
            return twice
        direct = self._ends(low, high)
        return Enclosures(np.minimum(direct.low, twice.low), np.maximum(direct.high, twice.high))

    def _apart(self, parts: Sequence[Floats], sizes: Floats, terms: Floats, rounds: NDArray[np.bool_]) -> Floats:
        """Bound the error of sums of which few terms are large: see `bounds`, whose argument applies to terms of both
        signs, since it is about the sizes of partial sums. Take the least bound over the number of large terms."""
        inner = self.inner
        if len(parts) * sizes.size > MOST_SORTED or not parts:
            return np.full(sizes.shape, np.nan)
        stacked = -np.sort(-np.stack(np.broadcast_arrays(*parts)), axis=0)
        left = np.maximum(sizes - np.cumsum(stacked, axis=0), 0.0) + sizes * (SLACK - 1)
        grown = left * np.exp(np.minimum((terms + rounds) * inner.unit * 1.01, 700.0))
        large = np.arange(len(parts)).reshape(-1, *[1] * sizes.ndim) * inner.unit
        found = (large * sizes + grown) / np.where(large < 1, 1 - large, np.nan)
        # Products that may be rounded are off by that besides, and larger.
        least: Floats = np.fmin.reduce(found) * np.where(rounds, 1 + inner.unit, 1.0) + rounds * inner.unit * sizes
        return least

    def monotone(self, function: Callable[[Floats], Floats], x: Enclosures, units: int) -> Enclosures:
        """Apply an increasing function, computed to `units` units in the last place."""
        low, high = function(x.low), function(x.high)
        return self._ends(low - units * self.form.spacing(low), high + units * self.form.spacing(high))

    def largest(self, x: Enclosures) -> Enclosures:
        """Return the maximum over the last axis."""
        return x.each(lambda ends: ends.max(axis=-1, keepdims=True))

    def below(self, x: Enclosures, top: Enclosures) -> Enclosures:
        """Return x - top, minus infinity where x is; the difference of a row's largest entry and itself is certainly
        0."""
        left_out = np.isneginf(x.high)
        low = np.where(left_out, -np.inf, self.form.round(np.where(left_out, 0.0, x.low) - top.high))
        high = np.where(left_out, -np.inf, np.minimum(self.form.round(np.where(left_out, 0.0, x.high) - top.low), 0.0))
        # Where one entry alone can be the largest, it is.
        others = np.where(x.high >= top.low, 1, 0).sum(axis=-1, keepdims=True)
        low = np.where((others == 1) & (x.high >= top.low), 0.0, low)
        unknown = np.isnan(low) | np.isnan(high) | ~np.isfinite(np.where(left_out, 0.0, low))
        return Enclosures(np.where(unknown, np.nan, low), np.where(unknown, np.nan, high))

    def powers(self, x: Enclosures, top: Enclosures) -> Enclosures:
        """Return exp(x - top)."""
        less = self.below(x, top)
        low, high = less.low, less.high
        first, last = np.exp(low), np.exp(high)
        least = self._less(first, last, 2)
        first = np.where(low >= 0, 1.0, np.maximum(least, 0.0))
        last = np.where(high >= 0, 1.0, np.minimum(last + 2 * self.form.spacing(last), 1.0))
        gone = self.form.vanishing
        first = np.where(low < gone, 0.0, self.form.round(first))
        last = np.where(high < gone, 0.0, self.form.round(last))
        unknown = np.isnan(low) | np.isnan(high)
        return Enclosures(np.where(unknown, np.nan, first), np.where(unknown, np.nan, last))

    def _less(self, first: Floats, last: Floats, units: int) -> Floats:
        """Return the least of the numbers some units in the last place less than those from `first` to `last`: at
        `first`, or at the next power of two, where units are twice as large."""
        step, above = self.form.spacing(first), np.ldexp(1.0, np.frexp(first)[1])
        found: Floats = np.minimum(first - units * step, np.where(above <= last, above - 2 * units * step, first))
        return found

    def sigmoid(self, z: Enclosures) -> Enclosures:
        """Return 1/(1 + e^-z), within four units in the last place and at most 1. It is 0 at minus infinity, and may be
        0 below the least normal number; it is 1 where e^-z is at most u/4."""
        low, high, form = _sigmoid(z.low), _sigmoid(z.high), self.form
        first, last = self._less(low, high, 4), np.minimum(high + 4 * form.spacing(high), 1.0)
        first = np.where(first < 2.0**form.least_exponent, 0.0, np.where(np.exp(-z.low) <= form.unit / 4, 1.0, first))
        return self._ends(np.where(np.isneginf(z.low), 0.0, first), np.where(np.isneginf(z.high), 0.0, last))

    def hidden(self, z: Enclosures, cap: Enclosures) -> Enclosures:
        """Return min(max(z, 0), cap)."""
        low = np.minimum(np.maximum(z.low, 0), cap.low)
        known = z.high is z.low and cap.high is cap.low
        return Enclosures(low, low if known else np.minimum(np.maximum(z.high, 0), cap.high))

    def activated(self, kind: str, z: Enclosures) -> Enclosures:
        """Apply an activation that decreases to a minimum below 0 (tanh: there is none) and increases from there on,
        computed to 4u |z|."""
        f, (place, least) = ACTIVATIONS[kind], MINIMA.get(kind, (-math.inf, -1.0))
        low, high = f(z.low), f(z.high)
        first = np.where((z.low <= place) & (z.high >= place), least, np.minimum(low, high))
        off = 4 * self.form.unit * z.size + self.form.least
        return self._ends(first - off, np.maximum(low, high) + off)

    def square(self, x: Enclosures) -> Enclosures:
        """Return the square of x, rounded."""
        low, high = x.low * x.low, x.high * x.high
        crosses = (x.low <= 0) & (x.high >= 0)
        return self._ends(np.where(crosses, 0.0, np.minimum(low, high)), np.maximum(low, high))

    def masked(self, x: Enclosures, seen: NDArray[np.bool_]) -> Enclosures:
        """Return x where a key is visible (`seen`), and minus infinity elsewhere."""
        return x.each(lambda ends: np.where(seen, ends, -np.inf))


@dataclass(frozen=True)
class Emulated(Enclosed):
    """The arithmetic of one evaluation: each operation is rounded once, to nearest, with sums from the left. The two
    ends of its numbers are the same."""

    in_order: bool = field(default=True, init=False)

    def _ends(self, low: Floats, high: Floats) -> Enclosures:
        return Enclosures.of(self.form.round(low))

    def computed(self, values: Values) -> Enclosures:
        """Round numbers that model.py computes in float64 on this machine to the format, once."""
        return self.number(values.found)

    def scalar(self, exact: float) -> Enclosures:
        """Return a Python number, not rounded before it is added."""
        return Enclosures.of(np.array([exact]))

    def divide(self, x: Enclosures, y: Enclosures) -> Enclosures:
        """Return the quotient x / y, rounded."""
        return self.number(x.low / y.low)

    def monotone(self, function: Callable[[Floats], Floats], x: Enclosures, units: int) -> Enclosures:
        """Apply a function and round to nearest."""
        return self.number(function(x.low))

    def above(self, x: Enclosures, y: Enclosures) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where x > y, twice; nothing is above NaN."""
        return (found := x.low > y.low), found

    def below(self, x: Enclosures, top: Enclosures) -> Enclosures:
        """Return x - top, rounded."""
        left_out = np.isneginf(x.low)
        less = self.form.round(np.where(left_out, 0.0, x.low) - top.low)
        return Enclosures.of(np.where(left_out, x.low, less))

    def powers(self, x: Enclosures, top: Enclosures) -> Enclosures:
        """Return exp(x - top), difference and exponential rounded."""
        return self.number(np.exp(self.below(x, top).low))

    def sigmoid(self, z: Enclosures) -> Enclosures:
        """Return 1/(1 + e^-z), rounded once."""
        return self.number(_sigmoid(z.low))

    def activated(self, kind: str, z: Enclosures) -> Enclosures:
        """Apply an activation, rounded to nearest."""
        return self.number(ACTIVATIONS[kind](z.low))


def _sigmoid(z: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-z))
    return found


def _corners(x: Enclosures, y: Enclosures) -> tuple[Floats, Floats]:
    """Return the least and the largest product, not rounded."""
    if x.low is x.high and y.low is y.high:
        return (found := x.low * y.low), found
    corners = np.broadcast_arrays(x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high)
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _trees(terms: list[Floats], form: NumberFormat) -> Iterator[Floats]:
    """Yield the sums of some terms in every order, each addition rounded."""
    if len(terms) == 1:
        yield terms[0]
    for one, other in combinations(range(len(terms)), 2):
        rest = [term for place, term in enumerate(terms) if place not in (one, other)]
        yield from _trees([form.round(terms[one] + terms[other]), *rest], form)


def _power(x: Enclosures) -> NDArray[np.bool_]:
    """Return True where a number certainly is a power of two from 1/8 to 2, or its negative: products with it are
    exact."""
    mantissa, exponent = np.frexp(x.low)
    found: NDArray[np.bool_] = (x.low == x.high) & (np.abs(mantissa) == 0.5) & (np.abs(exponent) <= 2)
    return found


def _quantum(x: Floats) -> Floats:
    """Return the largest power of two of which a number is a multiple; infinity for 0."""
    mantissa, exponent = np.frexp(x)
    whole = np.abs(np.nan_to_num(mantissa) * 2.0**53).astype(np.int64)
    odd = (whole & -whole).astype(np.float64)
    found: Floats = np.where(whole == 0, np.inf, np.ldexp(odd, exponent - 53))
    return found
