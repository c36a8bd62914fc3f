"""Hard-attention programs, declared whole: named coordinates, heads, clips, layers.

A program is what the theory talks about. Each head attends to the unique maximum of an exact rational score
(or uniformly to every visible position), each clip turns affine combinations into exact Booleans. Indices appear
only when `net.soften` assembles matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from hardsim.errors import InputError
from hardsim.lang.arith import Arith
from hardsim.spec.columns import PositionFunction

ONE = "1"
"""The constant coordinate."""

Rational: TypeAlias = int | Fraction


def plain(value: Rational) -> Rational:
    """The same number as an int where it is one (ints are faster than Fractions)."""
    return value.numerator if value.denominator == 1 else value


class Mask(StrEnum):
    """Which positions j a query at i may attend to."""

    NONE = "none"
    FUTURE = "future"
    """Future-masked: j <= i."""
    PAST = "past"
    """Past-masked: j >= i."""
    STRICT_FUTURE = "strict-future"
    """j < i, and the beginning-of-sequence position."""
    STRICT_PAST = "strict-past"
    """j > i, and the beginning-of-sequence position."""

    @property
    def strict(self) -> bool:
        """Whether a query does not see its own position."""
        return self in (Mask.STRICT_FUTURE, Mask.STRICT_PAST)

    def visible(self, i: int, n: int) -> range:
        """The visible positions (1-based) of a query at position i of n, without the beginning of the sequence."""
        low = {Mask.PAST: i, Mask.STRICT_PAST: i + 1}.get(self, 1)
        high = {Mask.FUTURE: i, Mask.STRICT_FUTURE: i - 1}.get(self, n)
        return range(low, high + 1)


class Kind(StrEnum):
    """What a head is for; it decides how beta is chosen and which bound holds."""

    UNIFORM = "uniform"
    """The mean over the visible positions: exact."""
    NEAREST = "nearest"
    """The nearest position on one side that satisfies `select` (Lemma 8)."""
    LOOKUP = "lookup"
    """The position number c, where c is a count, reading j (Lemma 7)."""
    TABLE = "table"
    """The position number c, reading a Boolean there."""
    SIGN = "sign"
    """The even positions if a number is positive, else the odd ones."""
    SIGN_RAMP = "sign-ramp"
    """The same with keys that grow as j^2."""


class Weighting(StrEnum):
    """How scores become weights in the hard program."""

    SOFTMAX = "softmax"
    AVERAGE = "average"
    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"


@dataclass(frozen=True, slots=True)
class Affine:
    """A linear form over coordinates; the constant coordinate `1` carries the constant term."""

    terms: tuple[tuple[str, Rational], ...] = ()

    @staticmethod
    def of(terms: Mapping[str, Rational] | Iterable[tuple[str, Rational]]) -> Affine:
        """The form with these coefficients, repeated coordinates added up, zeros dropped, in a fixed order."""
        total: dict[str, Rational] = {}
        for name, coefficient in terms.items() if isinstance(terms, Mapping) else terms:
            total[name] = total.get(name, 0) + coefficient
        return Affine(tuple((name, plain(value)) for name, value in sorted(total.items()) if value))

    @staticmethod
    def constant(value: Rational) -> Affine:
        """A constant, carried by the coordinate `1`."""
        return Affine.of({ONE: value})

    @staticmethod
    def coordinate(name: str) -> Affine:
        """One coordinate."""
        return Affine(((name, 1),))

    def __add__(self, other: Affine) -> Affine:
        return Affine.of([*self.terms, *other.terms])

    def __sub__(self, other: Affine) -> Affine:
        return self + other.scaled(-1)

    def scaled(self, factor: Rational) -> Affine:
        """The form times a factor."""
        return Affine.of([(name, value * factor) for name, value in self.terms])

    def __str__(self) -> str:
        parts: list[str] = []
        for name, value in sorted(self.terms, key=lambda term: term[0] == ONE):
            size = abs(value)
            text = str(size) if name == ONE else name if size == 1 else f"{size} {name}"
            parts.append(("- " if value < 0 else "+ " if parts else "") + text)
        return " ".join(parts) or "0"


@dataclass(frozen=True, slots=True)
class Letter:
    """A coordinate of the word embedding: 1 on these symbols, 0 on the others."""

    name: str
    symbols: frozenset[str]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A coordinate of the position encoding: an expression in i and n."""

    name: str
    value: PositionFunction


@dataclass(frozen=True, slots=True)
class Head:
    """One attention head of some kind.

    The score of key j for query i is `sum of query(x_i) * key(x_j)` over the pairs of `score` (none: uniform
    attention), and the head writes the attended `value(x_j)` to the coordinate `out`. For a rightmost or leftmost
    head `select` is the Boolean that it looks for, `decay` the promise `s_j <= s_j* - decay |j - j*|` (in i and n,
    in units of the score, per position), so that the score gap of every row is at least `decay`.
    """

    name: str
    mask: Mask
    weighting: Weighting
    value: Affine
    out: str
    score: tuple[tuple[Affine, Affine], ...] = ()
    select: Affine | None = None
    decay: Arith | None = None
    gap: Arith | None = None
    """The declared score gap of a row, where there is no decay (ties between equal values are allowed then)."""
    kind: Kind = Kind.NEAREST
    weight: int = 1
    """The largest sum of |coefficients| of a comparison that reads this head: its error counts so many times."""
    purpose: str = ""
    """For readers: what the head computes, in the user's terms."""
    theorem: str = ""

    @property
    def uniform(self) -> bool:
        """Whether the head attends uniformly to every visible position."""
        return self.kind is Kind.UNIFORM

    @property
    def promise(self) -> Arith | None:
        """The declared score gap of a row, in i and n."""
        return self.decay or self.gap

    def promised(self, n: int) -> list[Fraction] | None:
        """The declared score gap at positions 1 to n; None where nothing is declared.

        Raises:
            InputError: if it is not positive somewhere: of equal scores none would be the largest.
        """
        promise = self.promise
        if promise is None:
            return None
        found = [promise.evaluate(i=i, n=n) for i in range(1, n + 1)]
        wrong = next((i for i, value in enumerate(found, start=1) if value <= 0), None)
        if wrong is not None:
            raise InputError(
                f"head {self.name}: the declared gap {promise} is {found[wrong - 1]} at i = {wrong}, n = {n}",
                hint="A score gap is positive.",
            )
        return found


@dataclass(frozen=True, slots=True)
class Clip:
    """Adds `weight * min(max(pre, 0), 1)` to the coordinate `out`.

    `counts` says that pre is `2 (sum of looked-up counts + 1) - 1/2`, whose error is worth reporting.
    """

    out: str
    pre: Affine
    weight: int = 1
    counts: bool = False


@dataclass(frozen=True, slots=True)
class ProgramLayer:
    """Heads that work in parallel, then clips; every clip may read the heads' outputs.

    The coordinates of `ones` have 1 added to them (a bias), so that a clip of weight -1 writes a negation.
    """

    heads: tuple[Head, ...] = ()
    clips: tuple[Clip, ...] = ()
    ones: tuple[str, ...] = ()


@dataclass(frozen=True)
class HardProgram:
    """A hard-attention program with exact rational coordinates.

    It accepts a word iff coordinate `output` is 1 at the last position.
    """

    alphabet: tuple[str, ...]
    regime: str
    temperature: Arith
    """The temperature of the regime, in n or (causal) in i; the soft network uses it, hard attention ignores it."""
    letters: tuple[Letter, ...]
    encodings: tuple[Encoding, ...]
    layers: tuple[ProgramLayer, ...]
    output: str
    meanings: dict[str, str] = field(default_factory=dict)
    """For readers: the subformula that a coordinate holds."""

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads in order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """All coordinates in a fixed order: constant, letters, encodings, then each layer's outputs."""
        names = {ONE: None} | {letter.name: None for letter in self.letters}
        names |= {encoding.name: None for encoding in self.encodings}
        for layer in self.layers:
            names |= {head.out: None for head in layer.heads} | {clip.out: None for clip in layer.clips}
        return tuple(names)
