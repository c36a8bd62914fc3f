"""The forward pass in mpmath: a stated working precision and no enclosures, so its results are not certified.

Precision. The effect of rounding is bounded before anything is computed, from the weights, encodings and temperature
(see `theory.rounding`). It depends on the largest logit, and on the largest coefficients, whose terms may cancel.
`digits_needed` makes every activation and every input of a clip right to 10^-20, provided that rounded numbers decide
every clip correctly. Weights below 10^-(dps + 5) of the largest are left out in look-ups of counts, and in networks
with logits of many thousands of nats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hardsim.errors import InputError
from hardsim.lang.reals import Real, RealNumber, bounds
from hardsim.network.columns import real_value
from hardsim.network.numbers import Rational
from hardsim.network.transformer import Terms, Transformer
from hardsim.run.arithmetic import is_exact
from hardsim.run.ball import LARGEST_EXPONENT, dyadic
from hardsim.run.sizes import largest_inverse, magnitudes
from hardsim.theory.rounding import Rounded, rounded_attention, rounded_logit, rounded_mean, rounded_sum

ACCURATE_DIGITS = 20
"""The number of decimal digits after the point to which activations are computed."""
NORMED_DIGITS = 100
"""The number of digits for networks with layer norms. No number is known to suffice: a norm may divide by a number that
is as small as a word makes it."""
MOST_DIGITS = 10_000
"""The greatest number of digits that is used; the balls stop at some 32,000 bits, which is similar."""


def exact(value: Any) -> Fraction:
    """Return the rational that equals a number (an mpmath number is a dyadic rational); below 2^-TINY in size it counts
    as 0. Raises Undecided if the number is not finite, or beyond 2^LARGEST_EXPONENT."""
    if is_exact(value):
        return Fraction(value)
    # Infinity and NaN have no mantissa. Their difference from themselves is NaN, not 0.
    mantissa, exponent = map(int, value.man_exp) if value - value == 0 else (1, LARGEST_EXPONENT)  # without the sign
    return dyadic(-mantissa if value < 0 else mantissa, exponent, 0, "a number of mpmath grew without limit")


class MpArithmetic:
    """mpmath numbers of one private context with `dps` decimal digits (round to nearest)."""

    def __init__(self, dps: int) -> None:
        from mpmath import MPContext  # imported late: it is slow to load, and most commands do not need it

        self.context = MPContext()
        self.context.dps = dps
        self.dps = dps
        self._zero = self.context.mpf(0)
        self._one = self.context.mpf(1)
        self.number: Callable[[RealNumber], Any] = lru_cache(10_000)(self._nearest)

    def _nearest(self, value: RealNumber) -> Any:
        """Return the nearest number, or one next to it."""
        if isinstance(value, Real):
            value = sum(bounds(value, 4 * self.dps), Fraction(0)) / 2  # 10 < 2^4
        return self.context.mpf(value.numerator) / value.denominator

    def precision(self) -> AbstractContextManager[None]:
        """Return a context that does nothing: the precision belongs to this arithmetic's own mpmath context."""
        return nullcontext()

    @property
    def negligible(self) -> int:
        """The distance in nats from which a weight is less than 10^-(dps + 5) of the largest: e^2.31 > 10."""
        return 231 * (self.dps + 5) // 100 + 1

    def approximate(self, value: Any) -> tuple[float, float]:
        """Return the number as a float64, rounded once, and a bound of the rounding."""
        middle = float(value)
        return middle, abs(middle) * 2.0**-52 + 2.0**-1000

    def exp(self, logit: Any) -> Any:
        """Return e^logit."""
        return self.context.exp(self.number(logit) if is_exact(logit) else logit)

    def sqrt(self, value: Any) -> Any:
        """Return the square root of a number that is not negative."""
        return self.context.sqrt(value)

    def erf(self, value: Any) -> Any:
        """Return the error function of the value."""
        return self.context.erf(value)

    def tanh(self, value: Any) -> Any:
        """Return the hyperbolic tangent of the value."""
        return self.context.tanh(value)

    def sin(self, value: Any) -> Any:
        """Return the sine of the value."""
        return self.context.sin(value)

    def cos(self, value: Any) -> Any:
        """Return the cosine of the value."""
        return self.context.cos(value)

    def pi(self) -> Any:
        """Return pi."""
        return self.context.mpf(self.context.pi)

    def matrix(self, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return a matrix for `product`, with at least one row and one column of numbers, integers or floats."""
        return [[self.context.mpf(value) for value in row] for row in rows]

    def product(self, left: list[list[Any]], right: list[list[Any]]) -> list[list[Any]]:
        """Return the rows of the product of two matrices, each entry rounded once."""
        columns = list(zip(*right, strict=True))
        return [[self.context.fdot(row, column) for column in columns] for row in left]

    def total(self, numbers: Sequence[Any]) -> Any:
        """Return the correctly rounded sum."""
        return self.context.fsum(numbers)

    def clip(self, value: Any) -> Any:
        """Return `min(max(value, 0), 1)`; saturated values are the integers 0 and 1."""
        if value <= self._zero:
            return 0
        return 1 if value >= self._one else value

    def relu(self, value: Any) -> Any:
        """Return `max(value, 0)`."""
        return value if value > self._zero else 0

    def ranked(self, values: Sequence[Any], rank: int) -> Any:
        """Return the `rank`-th largest value (1: the largest)."""
        return sorted(values, reverse=True)[rank - 1]

    def widened(self, mean: Any, dropped: int, spread: Rational) -> Any:
        """Return the mean unchanged: the weights left out are below the working precision (see above)."""
        return mean


def amplification(model: Transformer, n: int) -> Fraction:
    """Return a bound, in units of rounding, of the error of every activation, clip input and logit of a word of
    length n."""
    inverse, size = largest_inverse(model, n), n + model.bos
    places = range(model.first, n + 1)
    error = [Fraction(0)] * model.dimension
    # Irrational numbers are rounded once when they enter; with such a tau, queries are rounded once more.
    rounded_tau = any(isinstance(one, Real) for one in model.inverse_temperatures(n))
    for coordinate, encoding in model.encodings:
        reals = [found for i in places if isinstance(found := real_value(encoding, i, n), Real)]
        error[coordinate] += max((max(map(abs, bounds(found))) + 1 for found in reals), default=Fraction(0))
    # Sums over all positions alone may round this often.
    largest = Fraction(size)
    for layer, (entering, grown) in zip(model.layers, magnitudes(model, n), strict=True):
        columns = list(map(Rounded, entering, error))
        written: defaultdict[int, list[tuple[Fraction, Rounded]]] = defaultdict(list)
        for head in layer.heads:
            pairs = [(_form(q, columns), _form(k, columns)) for q, k in head.scores]
            if rounded_tau:
                pairs = [(Rounded(q.size, q.error + 4 * q.size + 1), k) for q, k in pairs]
            logit = rounded_logit(pairs, inverse)
            largest = max(largest, logit.error)
            for out, form in head.values:
                value = _form(form, columns)
                mean = rounded_attention(logit, value, size) if head.scores else rounded_mean(value, size)
                written[out].append((Fraction(1), mean))
        error = [_added(old, written[index]) for index, old in enumerate(columns)]
        columns = list(map(Rounded, grown, error))
        written.clear()
        for unit in layer.ffn.units:
            entered = _form(unit.form, columns, unit.bias)
            largest = max(largest, entered.error)
            activated = entered
            if unit.clip and not unit.cap:
                activated = Rounded(min(entered.size, Fraction(1)), entered.error)
            elif unit.clip:
                cap, (plus, minus) = _form(unit.cap, columns, unit.cap_bias), (Fraction(1), Fraction(-1))
                above = rounded_sum([(plus, entered), (minus, cap)], Fraction(0))
                apart = rounded_sum([(plus, entered), (minus, above)], Fraction(0))
                activated = Rounded(min(entered.size, cap.size), apart.error)
            for out, weight in unit.outs:
                written[out].append((Fraction(weight), activated))
        biases = dict(layer.ffn.biases)
        error = [_added(old, written[index], biases.get(index, 0)) for index, old in enumerate(columns)]
        largest = max(largest, *error)
    return largest


def _form(form: Terms, columns: Sequence[Rounded], bias: Rational = 0) -> Rounded:
    return rounded_sum([(Fraction(value), columns[index]) for index, value in form], Fraction(bias))


def _added(old: Rounded, parts: Sequence[tuple[Fraction, Rounded]], bias: Rational = 0) -> Fraction:
    """Return the error of a coordinate after these parts are added."""
    return rounded_sum([(Fraction(1), old), *parts], Fraction(bias)).error if parts or bias else old.error


def digits_needed(model: Transformer, n: int) -> int:
    """Return the number of decimal digits that makes every activation of a word of length n right to 10^-20."""
    model.require_plain("the number of digits that mpmath needs")
    # A number of b bits has at most b log 2 + 1 digits; log 2 = 0.30102...
    return ACCURATE_DIGITS + int(amplification(model, n)).bit_length() * 30103 // 100_000 + 2


def choose_digits(model: Transformer, n: int, digits_wanted: int | None) -> int:
    """Return the precision for words of length n, in decimal digits: `digits_wanted` unless it is None, otherwise the
    number needed, or NORMED_DIGITS for a network with norms. Raises InputError if more than MOST_DIGITS are needed."""
    if digits_wanted is not None:
        return digits_wanted
    if model.normed or model.rounding is not None:
        return NORMED_DIGITS
    needed = digits_needed(model, n)
    if needed > MOST_DIGITS:
        raise InputError(
            f"mpmath would need {needed:,} decimal digits at length {n}, since terms as large as that may cancel; at "
            f"most {MOST_DIGITS:,} are supported",
            hint="Use --engine ball, which uses as many as an answer needs, or set the number with --dps.",
        )
    return needed
