"""What a network of Booleans and integers is made of, one function per construction, each with its derivation.

Booleans are computed by clip pairs, integers by sums and gates; comparisons, squares and prefix sums take heads. Every
value is 0 at the beginning of the sequence (BOS, position 0): constants are multiples of `REAL`, which is 1 at 1..n and
0 at BOS, the negation of b is `REAL - b`, and a key that is missing there cannot win.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from hardsim.rasp.builder import Builder, Pair
from hardsim.rasp.values import FULL, NATURAL, POSITIONS, Boolean, Interval, Letters, Number
from hardsim.spec.ir import ONE, Affine, Mask

POSITION: Final = "i/n"
SQUARE: Final = "(i/n)^2"
BEGIN: Final = "[i = 0]"
LOOK_UP_GAP: Final = "1/(n^2*(i+1))"
"""Of the head that finds a prefix sum."""
SQUARE_GAP: Final = "1/n^2"
SIGN_GAP: Final = "1/(2*n)"

MAX_JOINED: Final = 16
"""Cases that a conjunction joins, each of which costs two hidden units."""

CONSTANT: Final = Affine.constant(1)
ZERO: Final = Affine()


class Network:
    """Values and the operations on them, on top of a builder."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.begin = builder.encoding(BEGIN)
        self.real = CONSTANT - self.begin
        self.true = Boolean(self.real)
        self.false = Boolean(ZERO)
        self._cases: dict[Affine, list[list[Boolean]]] = {}

    # ---- encodings ----

    @property
    def position(self) -> Number:
        """i."""
        return Number(self.builder.encoding(POSITION), POSITIONS)

    @property
    def length(self) -> Number:
        """n."""
        return Number(self.real, Interval((1, 0), (1, 0)))

    @property
    def unit(self) -> Affine:
        """1/n at 1..n, 0 at BOS."""
        return self.builder.encoding("[i > 0]/n")

    @property
    def inverse(self) -> Affine:
        """1/n everywhere: for queries, and for hidden units."""
        return self.builder.encoding("1/n")

    @property
    def begin_inverse(self) -> Affine:
        """1/n at BOS, 0 elsewhere."""
        return self.builder.encoding("[i = 0]/n")

    # ---- Booleans ----

    def negation(self, value: Boolean) -> Boolean:
        """Not."""
        return Boolean(self.real - value.form, value.raw)

    def rounded(self, value: Boolean, name: str = "rounded") -> Boolean:
        """The value as an exact 0 or 1, whatever small error attention left."""
        return Boolean(self.builder.thresholds(name, [(1, value.form)])) if value.raw else value

    def conjunction(self, values: Iterable[Boolean], name: str) -> Boolean:
        """And: k Booleans are all true iff their sum minus k - 1 is at least 1.

        If the latest of them is an or of disjoint cases, the others join each case where that is a layer earlier.
        """
        parts = list(dict.fromkeys(values))
        if not parts:
            return self.true
        last = max(parts, key=lambda value: self._layer(value))
        others = [value for value in parts if value != last]
        cases = [[*others, *case] for case in self._cases.get(last.form, [])]
        if cases and max(self._layer(value) for case in cases for value in case) < self._layer(last):
            return self.disjoint(cases, name)
        return self.disjoint([parts], name)

    def _layer(self, value: Boolean) -> int:
        """The first layer whose feed-forward network can read a Boolean."""
        return self.builder.time(value.form) // 2 + 1

    def disjunction(self, values: Iterable[Boolean], name: str) -> Boolean:
        """Or: the sum is at least 1."""
        kept = self._settle_early(value for value in dict.fromkeys(values) if value != self.false)
        if self.true in kept:
            return self.true
        if len(kept) < 2:
            return kept[0] if kept else self.false
        return Boolean(self.builder.thresholds(name, [(1, _total(kept))]))

    def parity(self, values: Iterable[Boolean], name: str) -> Boolean:
        """Exclusive or: whether s of k Booleans is odd, `[s >= 1] - 2 [s >= 2] + ...` in the sense that adding and
        subtracting 1 in turn at each threshold gives 1 for odd s and 0 for even s."""
        kept = [value for value in values if value != self.false]
        odd = sum(value == self.true for value in kept) % 2 == 1
        rest = self._settle_early(value for value in kept if value != self.true)
        result = rest[0] if len(rest) == 1 else self.false
        if len(rest) > 1:
            total = _total(rest)
            steps = [((-1) ** k, total - Affine.constant(k)) for k in range(len(rest))]
            result = Boolean(self.builder.thresholds(name, steps))
        return self.negation(result) if odd else result

    def disjoint(self, cases: Iterable[Sequence[Boolean]], name: str) -> Boolean:
        """The or of conjunctions of which at most one is true: a sum of thresholds, in one feed-forward network."""
        kept = [
            [value for value in dict.fromkeys(case) if value != self.true] or [self.true]
            for case in cases
            if self.false not in case
        ]
        if all(len(case) == 1 for case in kept):
            single = [value for (value,) in kept]
            return Boolean(_total(single), any(value.raw for value in single))
        settled = iter(self._settle_early(value for case in kept for value in case))
        forms = [_total([next(settled) for _ in case]) - Affine.constant(len(case) - 1) for case in kept]
        result = Boolean(self.builder.thresholds(name, [(1, form) for form in forms]))
        if len(kept) <= MAX_JOINED:
            self._cases.setdefault(result.form, kept)
        return result

    def _settle_early(self, values: Iterable[Boolean]) -> list[Boolean]:
        """The operands of one feed-forward network, rounded where an earlier one can do so."""
        operands = list(values)
        layers = [self._layer(value) for value in operands]
        last = max(layers, default=0)
        return [self.rounded(value) if layer < last else value for value, layer in zip(operands, layers, strict=True)]

    def choice(self, test: Boolean, then: Boolean, otherwise: Boolean, name: str) -> Boolean:
        """`test ? then : otherwise` of Booleans."""
        return self.disjoint([(test, then), (self.negation(test), otherwise)], name)

    def letters(self, value: Letters, symbol: str) -> Boolean:
        """Whether a symbol vector has this value."""
        return value.forms.get(symbol, self.false)

    # ---- integers ----

    def constant(self, value: int) -> Number:
        """An integer constant."""
        return Number(ZERO, Interval.constant(value), ((value, self.real),) if value else ())

    def counted(self, value: Boolean, name: str) -> Number:
        """A Boolean as 0 or 1."""
        return Number(ZERO, Interval((0, 0), (0, 1)), ((1, self.rounded(value, name).form),))

    def settled(self, value: Number, name: str) -> Affine:
        """The form of v/n. A bit b becomes b/n by one hidden unit, `relu(1/n - 1 + b)`, since 1/n <= 1."""
        form = value.form
        for count, bit in value.bits:
            divided = self.unit if bit == self.real else self._divided(bit, name)
            form = form + divided.scaled(count)
        return form

    def _divided(self, bit: Affine, name: str) -> Affine:
        return self.builder.hidden(f"{name} / n", [(1, self.inverse - CONSTANT + bit)])

    def gated(self, test: Boolean, value: Number, name: str) -> Number:
        """v where the test holds and 0 elsewhere.

        A constant c is the Boolean c times. Else, for |v| <= B n, `relu(v/n - 2B (1 - P)) - relu(-v/n - 2B (1 - P))`:
        for P = 0 both are at most relu(B - 2B) = 0. A number of known sign needs one of the two.
        """
        bounds = value.interval.hull(Interval.constant(0))
        test = self.rounded(test, name)
        if test in (self.true, self.false):
            return value if test == self.true else self.constant(0)
        if not value.form.terms and all(bit == self.real for _, bit in value.bits):
            return Number(ZERO, bounds, tuple((count, test.form) for count, _ in value.bits))
        form = self.settled(value, name)
        shut = (CONSTANT - test.form).scaled(2 * value.interval.size)
        signs = [1] * (not value.interval.negative) + [-1] * (not value.interval.natural)
        return Number(self.builder.hidden(name, [(sign, form.scaled(sign) - shut) for sign in signs]), bounds)

    def selected(self, test: Boolean, then: Number, otherwise: Number, name: str) -> Number:
        """`test ? then : otherwise` of integers."""
        result = self.gated(test, then, name) + self.gated(self.negation(test), otherwise, name)
        return result.within(then.interval.hull(otherwise.interval))

    # ---- comparisons ----

    def at_least_zero(self, value: Number, name: str) -> Boolean:
        """`u >= 0`: query u/n + 1/(2n), keys [j = 1] - [j = 0], value [j = 1].

        The query is at least 1/(2n) in size, and its sign says whether position 1 or BOS wins; the others score 0.
        At BOS the query is 1/(2n), so the head reads 1 there, which is taken away again.
        """
        if value.interval.natural:
            return self.true
        if (value.interval + Interval.constant(1)).negative:
            return self.false
        first = self.builder.encoding("[i = 1]")
        query = self.settled(value, name) + self.inverse.scaled(Fraction(1, 2))
        out = self.builder.attend(name, Mask.NONE, [(query, first - self.begin)], SIGN_GAP, first)
        return Boolean(out - self.begin, raw=True)

    def at_most(self, left: Number, right: Number, name: str) -> Boolean:
        """`left <= right`."""
        return self.at_least_zero(right + left.scaled(-1), name)

    def equal(self, left: Number, right: Number, name: str) -> Boolean:
        """`left = right`: one of `<=` and `>=` always holds, so that both hold is their sum minus 1."""
        difference = left + right.scaled(-1)
        above = self.at_least_zero(difference, f"{name} >=")
        below = self.at_least_zero(difference.scaled(-1), f"{name} <=")
        return Boolean(above.form + below.form - self.real, above.raw or below.raw)

    # ---- squares and prefix sums ----

    def square(self, value: Number, name: str) -> Affine:
        """(v/n)^2 for v in [-n, n]; outside, it is 1.

        Query v/n, keys (2j/n, -(j/n)^2), value (j/n)^2: the score is -(v - j)^2/n^2 plus what does not depend on j, so
        the nearest j of 0..n wins by at least 1/n^2. It is 0 for negative v; a second head looks up -v. Positions,
        lengths and constants have their squares by linear combination (`exact_square`), without heads.
        """
        exact = self.exact_square(value)
        if exact is not None:
            return exact
        form = self.settled(value, name)
        signs = [1] * (not value.interval.negative) + [-1] * (not value.interval.natural)
        result = ZERO
        for sign in signs:
            label = f"({name})^2" + ("-" if sign < 0 else "")
            square = self.builder.encoding(SQUARE)
            score = self._nearest(form.scaled(sign), CONSTANT)
            result = result + self.builder.attend(label, Mask.NONE, score, SQUARE_GAP, square)
        return result

    def _nearest(self, query: Affine, weight: Affine) -> list[Pair]:
        """Terms of `-weight (j/n)^2 + 2 query j/n`."""
        position, square = self.builder.encoding(POSITION), self.builder.encoding(SQUARE)
        return [(query, position.scaled(2)), (weight, square.scaled(-1))]

    def exact_square(self, value: Number) -> Affine | None:
        """The square, over n^2, of a i + b n + c at every position, whatever its size; None for other integers.

        It is `a^2 (i/n)^2 + 2ab i/n + b^2 + 2ac i/n^2 + 2bc/n + c^2/n^2` (ours: it spares the look-up).
        """
        parts = dict(value.form.terms)
        a, b = parts.pop(POSITION, 0), parts.get(ONE, 0)
        if any(bit != self.real for _, bit in value.bits) or Affine.of(parts) != self.real.scaled(b):
            return None
        c = sum(count for count, _ in value.bits)
        terms = [(a * a, SQUARE), (2 * a * b, POSITION), (2 * a * c, "i/n^2"), (c * c, "[i > 0]/n^2")]
        result = self.real.scaled(b * b)
        if b * c:
            result = result + self.unit.scaled(2 * b * c)
        for factor, text in terms:
            if factor:
                result = result + self.builder.encoding(text).scaled(factor)
        return result

    def mean(self, value: Number, name: str) -> tuple[Affine, Affine]:
        """The means over BOS and 1..i of v/n without its bits, and of its bits: together s / (n (i + 1)) if the second
        is divided by n, where s is the sum of v over 1..i."""
        bits = ZERO
        for count, bit in value.bits:
            bits = bits + bit.scaled(count)
        means = [
            self.builder.attend(f"{name}: {what}", Mask.FUTURE, [], "", form) if form.terms else ZERO
            for what, form in (("mean", value.form), ("mean of bits", bits))
        ]
        return means[0], means[1]

    def prefix_sum(self, value: Number, means: tuple[Affine, Affine], name: str) -> Number:
        """s, the sum of v over 1..i, from its means, for s in [-n, n].

        L(s) is the head with query (s/(n(i+1)), 1/(i+1)), keys (2j/n, -(j/n)^2), value j/n: the score is
        -(s - j)^2 / (n^2 (i+1)) plus what does not depend on j, so the nearest j of 0..n wins by 1/(n^2 (i+1)), and
        s = L(s) - L(-s). Bits have the mean s/(i+1), and the key 2j/n^2 instead of 2j/n (ours: it spares the layer
        that would divide them by n).
        """
        whole, bits = means
        share = self.builder.encoding("1/(i+1)")
        result = ZERO
        signs = [1] * (not value.interval.negative) + [-1] * (not value.interval.natural)
        for sign in signs:
            score = self._nearest(whole.scaled(sign), share)
            if bits.terms:
                score.append((bits.scaled(sign), self.builder.encoding("i/n^2").scaled(2)))
            position = self.builder.encoding(POSITION)
            found = self.builder.attend(name if sign > 0 else f"-{name}", Mask.NONE, score, LOOK_UP_GAP, position)
            result = result + found.scaled(sign)
        bounds = NATURAL if value.interval.natural else FULL
        return Number(result, bounds)


def _total(values: Iterable[Boolean]) -> Affine:
    return Affine.of([term for value in values for term in value.form.terms])
