"""Networks built from Booleans and integers: one function per construction, each with its derivation.

A vector is represented by linear forms over coordinates: a Boolean by a form with values 0 and 1, a symbol by one
such form for each symbol it can be, an integer v by the form of v/n. Clips compute Booleans; sums and gates compute
integers; comparisons, squares and prefix sums need heads. Every value is 0 at the beginning of the sequence (BOS,
position 0). For this, constants are multiples of `REAL`, which is 1 at 1..n and 0 at BOS, and the negation of b is
`REAL - b`. A key that is 0 at BOS cannot win there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import chain
from math import ceil, lcm
from typing import Final, TypeAlias

from hardsim.lang.arith import parse_arith
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.program.hard_attention import Affine, Encoding, Head, Letter, Program, ProgramLayer, Unit, Weighting

Pair: TypeAlias = tuple[Affine, Affine]
"""One term of a score: a form of the query's coordinates times a form of the key's."""
Parts: TypeAlias = tuple[tuple[Rational, Affine], ...]
"""A weighted sum of hidden units: pairs of weight and form."""

HALF = Fraction(1, 2)


Line: TypeAlias = tuple[int, int]
"""The function a n + b of the length, as (a, b)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of an integer, valid at every position of every word; `low` and `high` are functions of n >= 1."""

    low: Line
    high: Line

    @staticmethod
    def constant(value: int) -> Interval:
        """Return the interval of a single number."""
        return Interval((0, value), (0, value))

    def __add__(self, other: Interval) -> Interval:
        (a, b), (c, d) = self.low, self.high
        return Interval((a + other.low[0], b + other.low[1]), (c + other.high[0], d + other.high[1]))

    def scaled(self, factor: int) -> Interval:
        """Return the bounds of a multiple."""
        low, high = (factor * self.low[0], factor * self.low[1]), (factor * self.high[0], factor * self.high[1])
        return Interval(low, high) if factor >= 0 else Interval(high, low)

    def hull(self, other: Interval) -> Interval:
        """Return bounds of a number that has either these bounds or the other ones."""
        below = _upper(_negative(self.low), _negative(other.low))
        return Interval(_negative(below), _upper(self.high, other.high))

    @property
    def values(self) -> range | None:
        """All integers within the bounds, if the bounds do not depend on n; otherwise None."""
        return range(self.low[1], self.high[1] + 1) if self.low[0] == self.high[0] == 0 else None

    @property
    def size(self) -> int:
        """An integer B >= 1 with |v| <= B n."""
        return max(1, *(abs(a) + abs(b) for a, b in (self.low, self.high)))

    @property
    def natural(self) -> bool:
        """True if the bounds show that the number is never negative."""
        return _dominates(self.low, (0, 0))

    @property
    def negative(self) -> bool:
        """True if the bounds show that the number is never positive."""
        return _dominates((0, 0), self.high)

    @property
    def signs(self) -> list[int]:
        """The signs that the number can have by its bounds; empty for a constant 0."""
        return [1] * (not self.negative) + [-1] * (not self.natural)

    @property
    def in_range(self) -> bool:
        """True if the bounds show that the number is always in [-n, n]."""
        return _dominates(self.low, (-1, 0)) and _dominates((1, 0), self.high)


def _negative(line: Line) -> Line:
    return -line[0], -line[1]


def _dominates(upper: Line, lower: Line) -> bool:
    """Return True if `upper >= lower` for all n >= 1: this is so at n = 1, and the difference does not fall."""
    return upper[0] >= lower[0] and sum(upper) >= sum(lower)


def _upper(left: Line, right: Line) -> Line:
    """Return a line that is at least both lines for all n >= 1."""
    if _dominates(left, right):
        return left
    return right if _dominates(right, left) else (max(left[0], right[0]), max(left[1], right[1]))


FULL: Final = Interval((-1, 0), (1, 0))
"""The integers of [-n, n]."""
NATURAL: Final = Interval((0, 0), (1, 0))
"""The integers of [0, n]."""
OTHERS: Final = Interval((0, 0), (1, -1))
"""The integers of [0, n - 1]."""
POSITIONS: Final = Interval((0, 1), (1, 0))
"""The integers of [1, n]."""
LENGTH: Final = Interval((1, 0), (1, 0))
"""The integer n."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """A Boolean. It is `raw` if attention wrote part of the form and nothing has rounded it yet."""

    form: Affine
    raw: bool = False


@dataclass(frozen=True, slots=True)
class ScaledInteger:
    """An integer v with `v/n = form + (sum of c b)/n` over the pairs (c, b) of `bits`, where b is a rounded Boolean's
    form.

    Bits are integers that no hidden unit has divided by n yet; some uses (the mean of a prefix sum) do not need that.
    """

    form: Affine
    interval: Interval
    bits: tuple[tuple[int, Affine], ...] = ()

    def __add__(self, other: ScaledInteger) -> ScaledInteger:
        total: dict[Affine, int] = {}
        for count, bit in (*self.bits, *other.bits):
            total[bit] = total.get(bit, 0) + count
        bits = tuple((count, bit) for bit, count in total.items() if count)
        return ScaledInteger(self.form + other.form, self.interval + other.interval, bits)

    def scaled(self, factor: int) -> ScaledInteger:
        """Return a multiple of the integer."""
        bits = tuple((factor * count, bit) for count, bit in self.bits if factor)
        return ScaledInteger(self.form.scaled(factor), self.interval.scaled(factor), bits)

    def within(self, interval: Interval) -> ScaledInteger:
        """Return the same integer with other bounds."""
        return ScaledInteger(self.form, interval, self.bits)


@dataclass(frozen=True, slots=True)
class Symbols:
    """A symbol: one Boolean for each symbol that it can be."""

    forms: Mapping[str, Boolean]


@dataclass(frozen=True, slots=True)
class Selection:
    """The positions over which a mean is taken: those that the mask allows and that have the largest score, by the
    declared gap. If no position matches, only BOS has the largest score. Without a score: all positions that the mask
    allows, and BOS."""

    mask: Mask
    score: tuple[Pair, ...] = ()
    gap: str = ""


@dataclass(frozen=True, slots=True)
class Average:
    """A mean m of an integer, `term`, over a selection. If nothing is selected, m is `default + other`; elsewhere
    `other` is 0. At positions 1..n, `m/n` is `whole + bits/n`. Over a selection without a score it is `(whole +
    bits/n) (c + 1)/c`, where the mask allows c positions."""

    over: Selection
    term: ScaledInteger
    default: Fraction
    other: ScaledInteger
    whole: Affine
    bits: Affine

    @property
    def size(self) -> int:
        """A number B such that |m| <= B n."""
        return max(self.term.interval.size, ceil(abs(self.default)) + self.other.interval.size)


Value: TypeAlias = Boolean | ScaledInteger | Symbols | Average


POSITION: Final = "i/n"
SQUARE: Final = "(i/n)^2"

MAX_JOINED: Final = 16
"""The greatest number of cases that a conjunction joins (each costs two hidden units), and the largest sum of
multiples of bits whose sign one hidden unit decides."""

CONSTANT: Final = Affine.constant(1)
ZERO: Final = Affine()


@dataclass
class _Layer:
    """A layer under construction; `units` are the hidden units of each output coordinate."""

    heads: dict[tuple[Mask, tuple[Pair, ...]], Head] = field(default_factory=dict)
    units: dict[str, tuple[Unit, ...]] = field(default_factory=dict)


class Builder:
    """Builds a hard-attention program from named coordinates, over an alphabet and the beginning of the sequence.

    Every coordinate is written once: by the embedding or the position encoding, by one head, or by hidden units. It
    is known from a time on: 0 for the embedding, 2l - 1 for the attention of layer l, 2l for the feed-forward layer
    l. A head or unit goes into the first layer that can read all its inputs, so independent work shares a layer.
    Heads with the same mask and score in one layer become one head with several values.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = tuple(symbols)
        self._times: dict[str, int] = {ONE: 0}
        self._letters: dict[str, Letter] = {}
        self._encodings: dict[str, Encoding] = {}
        self._layers: list[_Layer] = []
        self._units: dict[tuple[Parts, bool], str] = {}
        self._reads: dict[tuple[Mask, tuple[Pair, ...], Affine], str] = {}
        self.purpose = ""
        """The purpose of the heads that are added now. A head that several program lines use keeps the purpose of the
        first one."""

    # ---- coordinates ----

    def letter(self, name: str, symbols: Iterable[str]) -> Affine:
        """Add a coordinate of the word embedding: 1 on these symbols; 0 on the others and at the beginning."""
        self._times[name] = 0
        self._letters[name] = Letter(name, frozenset(symbols))
        return Affine.coordinate(name)

    def encoding(self, text: str) -> Affine:
        """Add a coordinate of the position encoding: an expression in i and n, which is also its name."""
        self._times[text] = 0
        self._encodings[text] = Encoding(text, parse_arith(text))
        return Affine.coordinate(text)

    def time(self, *forms: Affine) -> int:
        """Return the time from which all coordinates of these forms are known."""
        return max((self._times[name] for form in forms for name, _ in form.terms), default=0)

    def _fresh(self, name: str, time: int) -> str:
        """Add a new coordinate, with a number after its name if the name is taken."""
        number, free = 1, name
        while free in self._times:
            number += 1
            free = f"{name} ({number})"
        self._times[free] = time
        return free

    def _layer(self, number: int) -> _Layer:
        """Return layer number 1, 2, ..., and create it if it does not exist."""
        while len(self._layers) < number:
            self._layers.append(_Layer())
        return self._layers[number - 1]

    # ---- heads and hidden units ----

    def attend(
        self, name: str, mask: Mask, score: Iterable[Pair], gap: str, value: Affine, shares: bool = False
    ) -> Affine:
        """Add a head and return the coordinate that holds the attended value.

        Without a score, the head reads the mean over all positions that the mask allows, and needs no `gap`. With
        `shares`, several positions may have the largest score, and their mean is read.
        """
        terms = _canonical(score)
        if (mask, terms, value) in self._reads:
            return Affine.coordinate(self._reads[mask, terms, value])
        known = self.time(value, *(form for pair in terms for form in pair))
        # The first layer whose attention can read coordinates known at this time: layer l reads what is known by 2l -
        # 2.
        number = (known + 1) // 2 + 1
        out = self._fresh(name, 2 * number - 1)
        heads = self._layer(number).heads
        declared = parse_arith(gap) if terms else None
        head = heads.get((mask, terms)) or Head(
            out, mask, Weighting.AVERAGE, (), terms, gap=declared, shares=shares, purpose=self.purpose
        )
        heads[mask, terms] = replace(head, values=(*head.values, (out, value)))
        self._reads[mask, terms, value] = out
        return Affine.coordinate(out)

    def hidden(self, name: str, parts: Iterable[tuple[Rational, Affine]], clip: bool = False) -> Affine:
        """Add a hidden unit, a relu or with `clip` a clip, for each pair of a weight and a form; return the coordinate
        that holds the sum of weight times unit."""
        needed = tuple(parts), clip
        if needed not in self._units:
            number = self.time(*(form for _, form in needed[0])) // 2 + 1
            out = self._fresh(name, 2 * number)
            self._layer(number).units[out] = tuple(Unit(((out, weight),), form, clip) for weight, form in needed[0])
            self._units[needed] = out
        return Affine.coordinate(self._units[needed])

    def thresholds(self, name: str, terms: Iterable[tuple[int, Affine]]) -> Affine:
        """Return a coordinate with the sum of `weight * [form >= 1]` over forms with integer values. Each term is a
        clip of 2x - 1/2, which removes an error of less than 1/4 in x (Lemma 9)."""
        parts = [(weight, form.scaled(2) - Affine.constant(HALF)) for weight, form in terms]
        return self.hidden(name, parts, clip=True)

    # ---- assembly ----

    def prune(self, needed: Iterable[str]) -> None:
        """Drop every coordinate on which no wanted one depends, with the heads and units that write it."""
        live = {ONE, *needed}
        for layer in reversed(self._layers):
            layer.units = {out: units for out, units in layer.units.items() if out in live}
            live |= {name for units in layer.units.values() for unit in units for name, _ in unit.reads}
            kept = {
                key: replace(head, values=tuple((out, form) for out, form in head.values if out in live))
                for key, head in layer.heads.items()
            }
            layer.heads = {key: head for key, head in kept.items() if head.values}
            forms = [form for head in layer.heads.values() for pair in head.score for form in pair]
            forms += [form for head in layer.heads.values() for _, form in head.values]
            live |= {name for form in forms for name, _ in form.terms}
        while self._layers and not self._layers[-1].heads and not self._layers[-1].units:
            self._layers.pop()
        self._times = {name: time for name, time in self._times.items() if name in live}
        self._letters = {name: letter for name, letter in self._letters.items() if name in live}
        self._encodings = {name: encoding for name, encoding in self._encodings.items() if name in live}

    def build(self, output: str, outputs: tuple[tuple[str, str], ...] = (), integers: bool = False) -> Program:
        """Return the program. It accepts if coordinate `output` is above 1/2 at the last position."""
        return Program(
            alphabet=self.symbols,
            letters=tuple(self._letters.values()),
            encodings=tuple(self._encodings.values()),
            layers=tuple(
                ProgramLayer(tuple(layer.heads.values()), tuple(chain.from_iterable(layer.units.values())))
                for layer in self._layers
            ),
            output=output,
            # Embedding and encodings first, then the outputs of each layer.
            coordinates=tuple(sorted(self._times, key=lambda name: self._times[name])),
            bos=True,
            threshold=HALF,
            outputs=outputs,
            integers=integers,
        )


def _canonical(score: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the score with one term for each form of the query, and without terms that are zero."""
    total: dict[Affine, Affine] = {}
    for query, key in score:
        total[query] = total.get(query, Affine()) + key
    return tuple((query, key) for query, key in total.items() if query.terms and key.terms)


class NetworkBuilder(Builder):
    """A builder with values (Booleans, integers, symbols, means) and the operations on them."""

    def __init__(self, symbols: Sequence[str]) -> None:
        super().__init__(symbols)
        self.begin = self.encoding("[i = 0]")
        self.real = CONSTANT - self.begin
        self.true = Boolean(self.real)
        self.false = Boolean(ZERO)
        self._cases: dict[Affine, list[list[Boolean]]] = {}

    # ---- encodings ----

    @property
    def position(self) -> ScaledInteger:
        """The position i."""
        return ScaledInteger(self.encoding(POSITION), POSITIONS)

    @property
    def length(self) -> ScaledInteger:
        """The length n."""
        return ScaledInteger(self.real, LENGTH)

    @property
    def unit(self) -> Affine:
        """1/n at 1..n, and 0 at BOS."""
        return self.encoding("[i > 0]/n")

    @property
    def inverse(self) -> Affine:
        """1/n everywhere: for queries, and for hidden units."""
        return self.encoding("1/n")

    @property
    def begin_inverse(self) -> Affine:
        """1/n at BOS, and 0 elsewhere."""
        return self.encoding("[i = 0]/n")

    # ---- Booleans ----

    def negation(self, value: Boolean) -> Boolean:
        """Return the negation."""
        return Boolean(self.real - value.form, value.raw)

    def rounded(self, value: Boolean, name: str = "rounded") -> Boolean:
        """Return the Boolean as an exact 0 or 1, without the small error that attention left."""
        return Boolean(self.thresholds(name, [(1, value.form)])) if value.raw else value

    def conjunction(self, values: Iterable[Boolean], name: str) -> Boolean:
        """Return the conjunction: k Booleans are all true iff their sum minus k - 1 is at least 1.

        If the latest operand is an or of disjoint cases, the other operands join each of these cases if that saves a
        layer.
        """
        parts = list(dict.fromkeys(values))
        if not parts:
            return self.true
        last = max(parts, key=self._ready)
        others = [value for value in parts if value != last]
        cases = [[*others, *case] for case in self._cases.get(last.form, [])]
        if cases and max(self._ready(value) for case in cases for value in case) < self._ready(last):
            return self.disjoint(cases, name)
        return self.disjoint([parts], name)

    def _ready(self, value: Boolean) -> int:
        """Return the first layer whose feed-forward layer can read a Boolean."""
        return self.time(value.form) // 2 + 1

    def disjunction(self, values: Iterable[Boolean], name: str) -> Boolean:
        """Return the disjunction: the sum of the Booleans is at least 1."""
        kept = self._settle_early(value for value in dict.fromkeys(values) if value != self.false)
        if self.true in kept:
            return self.true
        if len(kept) < 2:
            return kept[0] if kept else self.false
        return Boolean(self.thresholds(name, [(1, _total(kept))]))

    def parity(self, values: Iterable[Boolean], name: str) -> Boolean:
        """Return the exclusive or: adding and subtracting 1 in turn at each threshold s >= 1, s >= 2, ... gives 1 for
        odd s."""
        kept = [value for value in values if value != self.false]
        odd = sum(value == self.true for value in kept) % 2 == 1
        rest = self._settle_early(value for value in kept if value != self.true)
        result = rest[0] if len(rest) == 1 else self.false
        if len(rest) > 1:
            total = _total(rest)
            steps = [((-1) ** k, total - Affine.constant(k)) for k in range(len(rest))]
            result = Boolean(self.thresholds(name, steps))
        return self.negation(result) if odd else result

    def disjoint(self, cases: Iterable[Sequence[Boolean]], name: str) -> Boolean:
        """Return the or of conjunctions of which at most one is true: a sum of thresholds in one feed-forward layer."""
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
        result = Boolean(self.thresholds(name, [(1, form) for form in forms]))
        if len(kept) <= MAX_JOINED:
            self._cases.setdefault(result.form, kept)
        return result

    def _settle_early(self, values: Iterable[Boolean]) -> list[Boolean]:
        """Return the operands of one feed-forward layer, rounded if an earlier layer can do that."""
        operands = list(values)
        layers = [self._ready(value) for value in operands]
        last = max(layers, default=0)
        return [self.rounded(value) if layer < last else value for value, layer in zip(operands, layers, strict=True)]

    def is_symbol(self, value: Symbols, symbol: str) -> Boolean:
        """Return the Boolean that a symbol vector has this value."""
        return value.forms.get(symbol, self.false)

    # ---- integers ----

    def constant(self, value: int) -> ScaledInteger:
        """Return an integer constant."""
        return ScaledInteger(ZERO, Interval.constant(value), ((value, self.real),) if value else ())

    def counted(self, value: Boolean, name: str) -> ScaledInteger:
        """Return a Boolean as the integer 0 or 1."""
        return ScaledInteger(ZERO, Interval((0, 0), (0, 1)), ((1, self.rounded(value, name).form),))

    def settled(self, value: ScaledInteger, name: str) -> Affine:
        """Return the form of v/n. One hidden unit turns a bit b into b/n: `relu(1/n - 1 + b)`, since 1/n <= 1."""
        form = value.form
        for count, bit in value.bits:
            if bit == self.real:
                divided = self.unit
            else:
                divided = self.hidden(f"{name} / n", [(1, self.inverse - CONSTANT + bit)])
            form = form + divided.scaled(count)
        return form

    def gated(self, test: Boolean, value: ScaledInteger, name: str) -> ScaledInteger:
        """Return v where the test holds, and 0 elsewhere.

        A constant c becomes c times the Boolean, and an integer of a few bits one conjunction per bit. Otherwise, for
        |v| <= B n, it is `relu(v/n - 2B (1 - P)) - relu(-v/n - 2B (1 - P))`: for P = 0 both terms are at most
        relu(B - 2B) = 0. A number of known sign needs one term.
        """
        bounds = value.interval.hull(Interval.constant(0))
        test = self.rounded(test, name)
        if test in (self.true, self.false):
            return value if test == self.true else self.constant(0)
        if _few_bits(value) or (not value.form.terms and all(bit == self.real for _, bit in value.bits)):
            both = (self.conjunction([test, Boolean(bit)], name) for _, bit in value.bits)
            forms = [self.rounded(one, name).form for one in both]
            return ScaledInteger(ZERO, bounds, tuple((c, form) for (c, _), form in zip(value.bits, forms, strict=True)))
        form = self.settled(value, name)
        shut = (CONSTANT - test.form).scaled(2 * value.interval.size)
        parts = [(sign, form.scaled(sign) - shut) for sign in value.interval.signs]
        return ScaledInteger(self.hidden(name, parts), bounds)

    # ---- conditionals ----

    def selected(
        self, test: Boolean, then: Value, otherwise: Value, name: str, zero: bool = False, other: str = ""
    ) -> Value:
        """Return `test ? then : otherwise` for values of one sort. `zero` says that `then` is already 0 where the
        test fails.

        The coordinates of the second of two integers are named after `other` (by default, after `name`).
        """
        match then, otherwise:
            case Boolean(), Boolean():
                return self.disjoint([(then,) if zero else (test, then), (self.negation(test), otherwise)], name)
            case Symbols(some), Symbols(others):
                forms: dict[str, Boolean] = {}
                for symbol in (symbol for symbol in self.symbols if symbol in some or symbol in others):
                    yes, no = self.is_symbol(then, symbol), self.is_symbol(otherwise, symbol)
                    form = self.selected(test, yes, no, f"{name} = {symbol}", zero)
                    if isinstance(form, Boolean) and form != self.false:
                        forms[symbol] = form
                return Symbols(forms)
            case ScaledInteger(), ScaledInteger():
                first = then if zero else self.gated(test, then, name)
                result = first + self.gated(self.negation(test), otherwise, other or name)
                return result.within(then.interval.hull(otherwise.interval))
            case _:
                raise AssertionError(f"{name} is made of values of different sorts")

    # ---- comparisons ----

    def at_least_zero(self, value: ScaledInteger, name: str) -> Boolean:
        """Return `u >= 0`, by a head with query u/n + 1/(2n), keys [j = 1] - [j = 0] and value [j = 1].

        The query is at least 1/(2n) in size. Its sign decides whether position 1 or BOS has the largest score; all
        others score 0. At BOS the query is 1/(2n), so the head reads 1 there, which is subtracted again. An integer
        made of bits needs no head: u + 1 >= 1 is one threshold (0 at BOS, where u is 0).
        """
        if value.interval.natural:
            return self.true
        if (value.interval + Interval.constant(1)).negative:
            return self.false
        if _few_bits(value):
            return Boolean(self.thresholds(name, [(1, _bits(value) + self.real)]))
        first = self.encoding("[i = 1]")
        query = self.settled(value, name) + self.inverse.scaled(Fraction(1, 2))
        out = self.attend(name, Mask.NONE, [(query, first - self.begin)], "1/(2*n)", first)
        return Boolean(out - self.begin, raw=True)

    def at_most(self, left: ScaledInteger, right: ScaledInteger, name: str) -> Boolean:
        """Return `left <= right`."""
        return self.at_least_zero(right + left.scaled(-1), name)

    def equal(self, left: ScaledInteger, right: ScaledInteger, name: str) -> Boolean:
        """Return `left = right`: at least one of `<=` and `>=` always holds, so their sum minus 1 says that both do."""
        difference = left + right.scaled(-1)
        above = self.at_least_zero(difference, f"{name} >=")
        below = self.at_least_zero(difference.scaled(-1), f"{name} <=")
        return Boolean(above.form + below.form - self.real, above.raw or below.raw)

    # ---- squares and prefix sums ----

    def square(self, value: ScaledInteger, name: str) -> Affine:
        """Return (v/n)^2 for v in [-n, n]; outside this range the result is 1.

        Query v/n, keys (2j/n, -(j/n)^2), value (j/n)^2: the score is -(v - j)^2/n^2 plus a term that does not depend
        on j, so the nearest j of 0..n wins by at least 1/n^2. It is 0 for negative v; a second head looks up -v.
        Positions, lengths and constants have their squares by linear combination (`exact_square`), without heads.
        """
        exact = self.exact_square(value)
        if exact is not None:
            return exact
        form = self.settled(value, name)
        result = ZERO
        for sign in value.interval.signs:
            label = f"({name})^2" + ("-" if sign < 0 else "")
            square = self.encoding(SQUARE)
            score = self._nearest(form.scaled(sign), CONSTANT)
            result = result + self.attend(label, Mask.NONE, score, "1/n^2", square)
        return result

    def _nearest(self, query: Affine, weight: Affine) -> list[Pair]:
        """Return terms of the score `-weight (j/n)^2 + 2 query j/n`."""
        position, square = self.encoding(POSITION), self.encoding(SQUARE)
        return [(query, position.scaled(2)), (weight, square.scaled(-1))]

    def exact_square(self, value: ScaledInteger) -> Affine | None:
        """Return the square, divided by n^2, of an integer a i + b n + c, whatever its size; None for other integers.

        It is `a^2 (i/n)^2 + 2ab i/n + b^2 + 2ac i/n^2 + 2bc/n + c^2/n^2` (ours: it saves the look-up).
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
                result = result + self.encoding(text).scaled(factor)
        return result

    def mean(self, value: ScaledInteger, name: str, mask: Mask = Mask.FUTURE) -> tuple[Affine, Affine]:
        """Return two means over BOS and the positions that the mask allows (by default 1..i): of v/n without its
        bits, and of its bits. With the second divided by n, their sum is s / (n (i + 1)), where s is the sum of v
        over 1..i."""
        means = [
            self.attend(f"{name}: {what}", mask, [], "", form) if form.terms else ZERO
            for what, form in (("mean", value.form), ("mean of bits", _bits(value)))
        ]
        return means[0], means[1]

    def prefix_sum(self, value: ScaledInteger, means: tuple[Affine, Affine], name: str) -> ScaledInteger:
        """Return s, the sum of v over 1..i, from its means, for s in [-n, n].

        L(s) is the head with query (s/(n(i+1)), 1/(i+1)), keys (2j/n, -(j/n)^2), value j/n: the score is -(s - j)^2 /
        (n^2 (i+1)) plus a term that does not depend on j, so the nearest j of 0..n wins by 1/(n^2 (i+1)), and s =
        L(s) - L(-s). Bits have the mean s/(i+1), and the key 2j/n^2 instead of 2j/n (ours: it saves the layer that
        would divide them by n).
        """
        whole, bits = means
        share = self.encoding("1/(i+1)")
        result = ZERO
        for sign in value.interval.signs:
            score = self._nearest(whole.scaled(sign), share)
            if bits.terms:
                score.append((bits.scaled(sign), self.encoding("i/n^2").scaled(2)))
            label, position = name if sign > 0 else f"-{name}", self.encoding(POSITION)
            found = self.attend(label, Mask.NONE, score, "1/(n^2*(i+1))", position)
            result = result + found.scaled(sign)
        return ScaledInteger(result, NATURAL if value.interval.natural else FULL)

    # ---- means ----

    def average(self, mask: Mask, value: ScaledInteger, name: str) -> Average:
        """Return the mean over all positions that a mask allows."""
        means = self.mean(value, name, mask)
        return Average(Selection(mask), value, Fraction(0), self.constant(0), *means)

    def selected_average(
        self,
        over: Selection,
        value: ScaledInteger,
        default: Fraction,
        other: ScaledInteger,
        name: str,
        whole: bool = False,
    ) -> Average:
        """Return the mean over the positions with the largest score. An integer made of bits is not divided by n,
        unless `whole` requests it.

        If nothing is selected, only BOS is attended; a constant default is its value there.
        """
        whole = whole or bool(value.form.terms or other.form.terms)
        form, begin = (self.settled(value, name), self.begin_inverse) if whole else (_bits(value), self.begin)
        form = form + begin.scaled(default)
        mean = self.attend(name, over.mask, over.score, over.gap, form, shares=True) if form.terms else ZERO
        mean = mean + (self.settled(other, f"{name}: default") if whole else _bits(other))
        return Average(over, value, default, other, *((mean, ZERO) if whole else (ZERO, mean)))

    def boolean_selection(self, mask: Mask, terms: Sequence[Pair]) -> Selection:
        """Return the selection of the j with a Boolean score of 1. Others score 0 and BOS 1/2, so the gap is 1/2."""
        return Selection(mask, (*terms, (CONSTANT, self.begin.scaled(HALF))), "1/2")

    def mean_at_least(self, left: Average, right: Average | Fraction, strict: bool, name: str) -> Boolean:
        """Return `left >= right`, or `>` if `strict`, for two means, or a mean and a constant.

        Means over one selection without a score: see `_uniform_at_least`. Otherwise (ours) let x be the difference,
        or q m - p for a constant p/q. It is a multiple of 1/N: N = L k for k selected positions (BOS alone counts as
        one) and the common denominator L of the defaults; N = L k l for two selections of k and l positions. Counts
        are at most n. So with w = 1/(2 L (n + 1)), or 1/(2 L (n + 1)^2) for two selections, |x + w| and |x - w| are
        at least w: the sign of x + w says whether x >= 0, and that of x - w whether x > 0. Integers that are not bits
        are divided by n, and so are x and w. The sign is read as for integers (`at_least_zero`), so the size of x is
        not limited. w has n + 1, which also counts BOS, because the prover derives that bound from the weights.
        """
        one = isinstance(right, Fraction) or right.over == left.over
        if one and not left.over.score:
            return self._uniform_at_least(left, right, strict, name)
        if isinstance(right, Fraction):
            whole, count, factor = _divided(left), "(n+1)", right.denominator
            unit = self.inverse if whole else CONSTANT
            difference = (left.whole + left.bits).scaled(factor) - unit.scaled(right.numerator)
            size, step = factor * left.size + abs(right.numerator), (left.default * factor).denominator
        elif one:
            # One mean of the difference: two means in two layers would count as two selections in a proof.
            term, other = left.term + right.term.scaled(-1), left.other + right.other.scaled(-1)
            mean = self.selected_average(left.over, term, left.default - right.default, other, f"{name}: difference")
            whole, count, difference = _divided(mean), "(n+1)", mean.whole + mean.bits
            size, step = mean.size, mean.default.denominator
        else:
            whole = _divided(left) or _divided(right)
            sides = [self._scored(mean, whole, f"{name}: {at}") for mean, at in ((left, "left"), (right, "right"))]
            count, difference = "(n+1)^2", sides[0] - sides[1]
            size, step = left.size + right.size, lcm(left.default.denominator, right.default.denominator)
        half = f"1/({2 * step}*{'n*' if whole else ''}{count})"
        first, shift = self.encoding("[i = 1]"), self.encoding(half).scaled(-1 if strict else 1)
        # At BOS the query is made positive, so that the head reads 1 there, which is subtracted again.
        query = difference + shift + self.begin.scaled(2 * size + 2)
        out = self.attend(name, Mask.NONE, [(query, first - self.begin)], half, first)
        return Boolean(out - self.begin, raw=True)

    def _scored(self, mean: Average, whole: bool, name: str) -> Affine:
        """Return the form of m/n (`whole`), or of m. A selection without a score is treated as one where every
        position that the mask allows scores 1."""
        over = mean.over
        if not over.score:
            over = self.boolean_selection(over.mask, [(self.real, self.real)])
        found = self.selected_average(over, mean.term, mean.default, mean.other, name, whole)
        return found.whole + found.bits

    def _uniform_at_least(self, left: Average, right: Average | Fraction, strict: bool, name: str) -> Boolean:
        """Return `left >= right`, or `>` if `strict`, for means over all positions that one mask allows, or a mean
        and a constant p/q.

        The mask allows c positions. The head also reads BOS, so the difference is s/(q (c + 1)) for an integer s: the
        sum over the positions of q V(j) - p, or of the differences. Its sign is read as for other integers
        (`at_least_zero`), so its size is not limited. The query is s/(n(c+1)) plus half of the least step,
        1/(2n(c+1)), or minus that for `>`. The part of s that is made of bits is divided by n in the key and not in
        the query. At BOS, which may see every position, the query is made positive, so that the head reads 1 there,
        which is subtracted again.
        """
        count = {Mask.FUTURE: "i", Mask.PAST: "(n-i+1)", Mask.NONE: "n"}[left.over.mask]
        if isinstance(right, Average):
            whole, bits, size = left.whole - right.whole, left.bits - right.bits, left.size + right.size
        else:
            shift = self.encoding(f"{count}/({count}+1)").scaled(right.numerator) if right else ZERO
            factor = right.denominator
            whole, bits = left.whole.scaled(factor), left.bits.scaled(factor) - shift
            size = factor * left.size + abs(right.numerator)
        half = self.encoding(f"1/(2*n*({count}+1))").scaled(-1 if strict else 1)
        first = self.encoding("[i = 1]")
        score: list[Pair] = [
            (whole + half + self.begin.scaled(2 * size + 2), first - self.begin),
            (bits, self.encoding("[i = 1]/n") - self.begin_inverse),
        ]
        out = self.attend(name, Mask.NONE, score, f"1/(2*n*({count}+1))", first)
        return Boolean(out - self.begin, raw=True)

    # ---- counts ----

    def count(self, mask: Mask, score: Sequence[Pair], gap: str, name: str) -> ScaledInteger:
        """Return the number of positions with the largest score besides BOS, which must have it in every row.

        All of them share the attention, so with k others BOS gets exactly r = 1/(k + 1). The look-up has query (1/n,
        r), keys (2j/n, -(j^2 + 2j)/n^2), value j/n: its score is `(2 (j + 1) - r (j + 1)^2) / n^2` plus a term that
        does not depend on j, i.e. `-r (j + 1 - 1/r)^2 / n^2`, so j = k wins by r/n^2, which is 1/(n^2 (i + 1)) or
        more if at most i others are seen, else 1/(n^2 (n + 1)). At BOS k is 0. (Ours; *Tracr*, Lindner et al. 2023,
        also compiles `selector_width` from 1/(k + 1), by a feed-forward table.)
        """
        share = self.attend(f"{name}: share", mask, score, gap, self.begin, shares=True)
        position, seen = self.encoding(POSITION), "i" if mask in (Mask.FUTURE, Mask.STRICT_FUTURE) else "n"
        keys = self.encoding(SQUARE).scaled(-1) - self.encoding("i/n^2").scaled(2)
        look_up: list[Pair] = [(self.inverse, position.scaled(2)), (share, keys)]
        found = self.attend(name, Mask.NONE, look_up, f"1/(n^2*({seen}+1))", position)
        return ScaledInteger(found, OTHERS if mask.strict else NATURAL)


def _bits(value: ScaledInteger) -> Affine:
    """Return the form of v itself, for an integer v that is made of bits."""
    return Affine.of([(name, count * factor) for count, bit in value.bits for name, factor in bit.terms])


def _few_bits(value: ScaledInteger) -> bool:
    """Return True if an integer is made of bits alone, and of at most MAX_JOINED of them."""
    return not value.form.terms and sum(abs(count) for count, _ in value.bits) <= MAX_JOINED


def _divided(mean: Average) -> bool:
    """Return True if a mean involves integers that are not bits, and so is divided by n."""
    return bool(mean.term.form.terms or mean.other.form.terms)


def _total(values: Iterable[Boolean]) -> Affine:
    return Affine.of([term for value in values for term in value.form.terms])
