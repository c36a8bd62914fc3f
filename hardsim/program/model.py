"""Hard attention declared whole: named coordinates, heads, hidden units, layers.

A program is what the theory talks about, wherever it came from: a formula, an S-RASP program, or a file of weights.
Each head attends to the maxima of an exact rational score (or uniformly to every visible position), each hidden unit is
a relu or a clip of an affine combination. Indices appear only when `net.assemble` makes matrices of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from hardsim.errors import InputError
from hardsim.lang.arith import Arith
from hardsim.lang.valuations import Alphabet, Symbols
from hardsim.network.columns import PositionFunction
from hardsim.network.model import Placed
from hardsim.network.numbers import ONE, Mask, Rational, plain


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
    """A coordinate of the word embedding: `value` on these symbols, 0 on the others. `BOS` is position 0. Over sets of
    propositions it is that of a proposition (or of none)."""

    name: str
    symbols: Symbols
    value: Rational = 1


@dataclass(frozen=True, slots=True)
class Encoding:
    """A coordinate of the position encoding: an expression in i and n."""

    name: str
    value: PositionFunction


@dataclass(frozen=True, slots=True)
class Head:
    """One attention head of some kind.

    The score of key j for query i is `sum of query(x_i) * key(x_j)` over the pairs of `score` (none: every score is 0),
    and the head adds the attended form of x_j to each coordinate of `values`.

    The other fields are claims, which a compiler makes of its own heads: `select` is the Boolean that a rightmost or
    leftmost head looks for, `decay` the promise `s_j <= s_j* - decay |j - j*|` (in i and n, in units of the score, per
    position), so that the score gap of every row is at least `decay`.
    """

    name: str
    mask: Mask
    weighting: Weighting
    values: tuple[tuple[str, Affine], ...]
    score: tuple[tuple[Affine, Affine], ...] = ()
    select: Affine | None = None
    decay: Arith | None = None
    gap: Arith | None = None
    """The declared score gap of a row, the largest score minus the next smaller one, where there is no decay."""
    shares: bool = False
    """Whether several keys of a row may have the largest score and share its weight; of heads that claim a gap and not
    this, compilers promise one."""
    kind: Kind | None = None
    """What the head is for; None for heads of which nothing is claimed but perhaps a gap."""
    weight: int = 1
    """The largest sum of |coefficients| of a comparison that reads this head: its error counts so many times."""
    purpose: str = ""
    """For readers: what the head computes, in the user's terms."""
    theorem: str = ""

    @property
    def uniform(self) -> bool:
        """Whether the head takes the mean over every visible position: softmax does exactly the same."""
        return not self.score and self.weighting is Weighting.AVERAGE

    @property
    def out(self) -> str:
        """The coordinate that a head with a single value writes."""
        ((out, _),) = self.values
        return out

    @property
    def value(self) -> Affine:
        """What a head with a single value reads."""
        ((_, value),) = self.values
        return value

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the coordinates in the head's scores and values."""
        forms = [*(form for _, form in self.values), *(form for pair in self.score for form in pair)]
        return tuple(dict.fromkeys(name for form in forms for name, _ in form.terms))

    @property
    def promise(self) -> Arith | None:
        """The declared score gap of a row, in i and n."""
        return self.decay or self.gap

    def promised(self, n: int, first: int = 1) -> list[Fraction] | None:
        """The declared score gap at positions `first` to n; None where nothing is declared.

        Raises:
            InputError: if it is not positive somewhere: of equal scores none would be the largest.
        """
        promise = self.promise
        if promise is None:
            return None
        some = range(first, n + 1) if "i" in promise.variables else range(first, first + 1)
        found = [promise.evaluate(i=i, n=n) for i in some]
        for i, value in zip(some, found, strict=True):
            if value <= 0:
                raise InputError(
                    f"head {self.name}: the declared gap {promise} is {value} at i = {i}, n = {n}",
                    hint="A score gap is positive.",
                )
        return found if len(found) == n + 1 - first else found * (n + 1 - first)


@dataclass(frozen=True, slots=True)
class Unit:
    """Adds `weight * f(pre)` to each coordinate of `outs`, f = clip to [0, 1] or relu; `counts` says that pre is
    `2 (sum of looked-up counts + 1) - 1/2`, whose error is worth reporting."""

    outs: tuple[tuple[str, Rational], ...]
    pre: Affine
    clip: bool = True
    counts: bool = False

    @property
    def out(self) -> str:
        """The coordinate that a unit with a single output writes."""
        ((out, _),) = self.outs
        return out

    @property
    def weight(self) -> Rational:
        """What a unit with a single output multiplies by."""
        ((_, weight),) = self.outs
        return weight


@dataclass(frozen=True, slots=True)
class ProgramLayer:
    """Heads that work in parallel, then hidden units, which may read the heads' outputs; the `biases` are added to
    coordinates, so that a clip of weight -1 and a bias of 1 write a negation."""

    heads: tuple[Head, ...] = ()
    units: tuple[Unit, ...] = ()
    biases: tuple[tuple[str, Rational], ...] = ()

    @property
    def written(self) -> tuple[str, ...]:
        """The coordinates that the layer adds to, in the order of heads, units and biases."""
        heads = [out for head in self.heads for out, _ in head.values]
        units = [out for unit in self.units for out, _ in unit.outs]
        return tuple(dict.fromkeys([*heads, *units, *(out for out, _ in self.biases)]))


@dataclass(frozen=True)
class Program(Placed):
    """Hard attention over exact rational coordinates, positions 1..n, and 0 with a beginning of sequence (`bos`).

    It accepts a word iff coordinate `output` at the reading position is 1 (without a `threshold`: anything but 0 and 1
    is no answer), or above the threshold. With `outputs` it maps words to words: the symbol of a position is the one
    whose coordinate is above the threshold. With `integers` it maps words to lists of integers: that of a position is
    the one nearest to n times coordinate `output`.
    """

    alphabet: Alphabet
    letters: tuple[Letter, ...]
    encodings: tuple[Encoding, ...]
    layers: tuple[ProgramLayer, ...]
    output: str
    coordinates: tuple[str, ...] = ()
    """All coordinates in a fixed order; by default the constant, letters, encodings, then each layer's outputs."""
    bos: bool = False
    threshold: Rational | None = None
    reading: Literal["first", "last"] = "last"
    outputs: tuple[tuple[str, str], ...] = ()
    """The symbols of a transduction, with their coordinates."""
    integers: bool = False
    """Whether the output is an integer at every position."""
    regime: str = ""
    """The regime that it was compiled for, if any."""
    meanings: dict[str, str] = field(default_factory=dict)
    """For readers: the subformula that a coordinate holds."""

    def __post_init__(self) -> None:
        if not self.coordinates:
            names = [ONE, *(letter.name for letter in self.letters), *(encoding.name for encoding in self.encodings)]
            names += [name for layer in self.layers for name in layer.written]
            object.__setattr__(self, "coordinates", tuple(dict.fromkeys(names)))

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads in order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @property
    def maps(self) -> bool:
        """Whether the answer is read at every position, and not whether a word is accepted."""
        return self.integers or bool(self.outputs)

    @property
    def answers(self) -> tuple[str, ...]:
        """The coordinates that the answer is read from."""
        return tuple(dict.fromkeys(name for _, name in self.outputs)) or (self.output,)

    def last_heads(self, output: str) -> tuple[str, ...]:
        """The last heads on which a coordinate depends at the end, directly or through hidden units: those of the last
        layer that has such heads.
        """
        needed = {output}
        for layer in reversed(self.layers):
            for unit in layer.units:
                if any(out in needed for out, _ in unit.outs):
                    needed.update(name for name, _ in unit.pre.terms)
            found = tuple(head.name for head in layer.heads if any(out in needed for out, _ in head.values))
            if found:
                return found
        return ()

    @property
    def unlabelled(self) -> Program:
        """Return the program without labels that only human readers need."""
        layers = tuple(
            replace(layer, heads=tuple(replace(head, purpose="", theorem="") for head in layer.heads))
            for layer in self.layers
        )
        return replace(self, layers=layers, meanings={}, regime="")

    def clearance(self, value: Rational, n: int) -> Fraction:
        """How far an output is from where it would mean something else; of integers k/n that is 1/(2n)."""
        if self.integers:
            return Fraction(1, 2 * n) - abs(value - Fraction(round(value * n), n))
        return abs(value - Fraction(1, 2) if self.threshold is None else Fraction(value) - self.threshold)

    def verdict(self, output: Rational) -> bool | None:
        """Whether an output means accepted; None where it is neither above nor below the threshold (or 0 or 1)."""
        if self.threshold is None:
            return bool(output) if output in (0, 1) else None
        return None if output == self.threshold else output > self.threshold
