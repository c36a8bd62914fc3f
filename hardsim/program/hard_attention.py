"""Hard-attention programs: named coordinates, heads, hidden units, layers.

A program is the object that the theory is about, whatever its source: a formula, an S-RASP program, or a file of
weights. Each head attends to the maxima of an exact rational score (or uniformly to every visible position); each
hidden unit is a relu or a clip of an affine combination. Coordinates have names here; `program.assemble` replaces
them by indices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from hardsim.errors import InputError
from hardsim.kept import Keeping
from hardsim.lang.arith import Arith
from hardsim.lang.valuations import Alphabet, Symbols
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction
from hardsim.network.numbers import ONE, Mask, Rational, plain
from hardsim.network.rounding import Rounding
from hardsim.network.transformer import Placed, SoftWeighting, require_rational


class Kind(StrEnum):
    """The purpose of a head. It decides how beta is chosen and which error bound applies."""

    UNIFORM = "uniform"
    """Takes the mean over the visible positions, which is exact."""
    NEAREST = "nearest"
    """Attends to the nearest position on one side that satisfies `select` (Lemma 8)."""
    LOOKUP = "lookup"
    """Attends to position c, where c is a count, and reads the position number j there (Lemma 7)."""
    TABLE = "table"
    """Attends to position c and reads a Boolean there."""
    SIGN = "sign"
    """Attends to the even positions if a number is positive, and to the odd ones otherwise."""
    SIGN_RAMP = "sign-ramp"
    """A sign test, as SIGN, with keys that grow as j^2."""


class Weighting(StrEnum):
    """The rule by which a head's scores become attention weights: softmax, the mean over all maxima, or the leftmost
    or rightmost maximum."""

    SOFTMAX = "softmax"
    AVERAGE = "average"
    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"


@dataclass(frozen=True, slots=True)
class Affine:
    """A linear form over coordinates. The coordinate `1` carries the constant term."""

    terms: tuple[tuple[str, Rational], ...] = ()

    @staticmethod
    def of(terms: Mapping[str, Rational] | Iterable[tuple[str, Rational]]) -> Affine:
        """Return the form with these coefficients: repeated coordinates are added up, zeros dropped, and terms
        sorted."""
        total: dict[str, Rational] = {}
        for name, coefficient in terms.items() if isinstance(terms, Mapping) else terms:
            total[name] = total.get(name, 0) + coefficient
        return Affine(tuple((name, plain(value)) for name, value in sorted(total.items()) if value))

    @staticmethod
    def constant(value: Rational) -> Affine:
        """Return a constant form, carried by the coordinate `1`."""
        return Affine.of({ONE: value})

    @staticmethod
    def coordinate(name: str) -> Affine:
        """Return the form that is one coordinate."""
        return Affine(((name, 1),))

    def __add__(self, other: Affine) -> Affine:
        return Affine.of([*self.terms, *other.terms])

    def __sub__(self, other: Affine) -> Affine:
        return self + other.scaled(-1)

    def scaled(self, factor: Rational) -> Affine:
        """Return the form times a factor."""
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
    """A coordinate of the word embedding: `value` on these symbols, 0 on the others. The symbol `BOS` is position 0.
    Over sets of propositions, `symbols` are the sets that contain one proposition, or all sets."""

    name: str
    symbols: Symbols
    value: Rational = 1


@dataclass(frozen=True, slots=True)
class Encoding:
    """A coordinate of the position encoding: a function of i and n."""

    name: str
    value: PositionFunction


@dataclass(frozen=True, slots=True)
class Head:
    """One attention head.

    The score of key j for query i is `sum of query(x_i) * key(x_j)` over the pairs of `score` (no pairs: every score
    is 0). The head adds the attended form of x_j to each coordinate of `values`.

    The other fields are claims, which a compiler makes about its own heads. `select` is the Boolean that a rightmost
    or leftmost head looks for. `decay` promises `s_j <= s_j* - decay |j - j*|` (in i and n, in units of the score,
    per position), so that the score gap of every row is at least `decay`.
    """

    name: str
    mask: Mask
    weighting: Weighting
    values: tuple[tuple[str, Affine], ...]
    score: tuple[tuple[Affine, Affine], ...] = ()
    select: Affine | None = None
    decay: Arith | None = None
    gap: Arith | None = None
    """The declared score gap of a row where there is no decay: the largest score minus the next smaller one."""
    shares: bool = False
    """True if several keys of a row may have the largest score and share its weight. Where a head claims a gap
    without `shares`, the compiler promises that a single key has it."""
    kind: Kind | None = None
    """The purpose of the head; None for heads without claims other than a gap."""
    weight: int = 1
    """The largest sum of |coefficients| of a comparison that reads this head: the factor by which its error counts."""
    purpose: str = ""
    """A description for readers: what the head computes, in the user's terms."""
    theorem: str = ""

    @property
    def uniform(self) -> bool:
        """True if the head takes the mean over all visible positions: softmax then gives exactly the same."""
        return not self.score and self.weighting is Weighting.AVERAGE

    @property
    def out(self) -> str:
        """The coordinate that a head with a single value writes."""
        ((out, _),) = self.values
        return out

    @property
    def value(self) -> Affine:
        """The form that a head with a single value reads."""
        ((_, value),) = self.values
        return value

    @property
    def reads(self) -> tuple[str, ...]:
        """The coordinates in the head's scores and values."""
        forms = [*(form for _, form in self.values), *(form for pair in self.score for form in pair)]
        return tuple(dict.fromkeys(name for form in forms for name, _ in form.terms))

    @property
    def promise(self) -> Arith | None:
        """The declared score gap of a row, in i and n; None if nothing is declared."""
        return self.decay or self.gap

    def promised(self, n: int, first: int = 1) -> list[Fraction] | None:
        """Return the declared score gap at positions `first` to n; None if nothing is declared. Raises InputError if
        the gap is not positive at some position. With a gap of 0, no score would be the largest."""
        found = self._promised(n, first)
        return found and (found if len(found) == n + 1 - first else found * (n + 1 - first))

    def least_promised(self, n: int, first: int = 1) -> Fraction | None:
        """Return the least declared score gap at positions `first` to n; None if nothing is declared. Raises InputError
        as `promised` does."""
        return min(self._promised(n, first) or (), default=None)

    def _promised(self, n: int, first: int) -> list[Fraction] | None:
        """Return the declared score gap at each position, or a single one if it is the same everywhere; None if nothing
        is declared."""
        promise = self.promise
        if promise is None:
            return None
        some = range(first, n + 1) if "i" in promise.variables else range(first, first + 1)
        found = [promise.evaluate(i=i, n=n) for i in some]
        for i, value in zip(some, found, strict=True):
            if value <= 0:
                raise InputError(
                    f"head {self.name}: the declared gap {promise} is {value} at i = {i}, n = {n}",
                    hint="A score gap must be positive.",
                )
        return found


@dataclass(frozen=True, slots=True)
class Unit:
    """A hidden unit that adds `weight * f(pre)` to each coordinate of `outs`; f is a clip to [0, 1], or relu.

    `counts` is True if pre is `2 (sum of looked-up counts + 1) - 1/2`, whose error reports show. With a `cap`, a
    clip is `relu(pre) - relu(pre - cap)`: the conjunction with a Boolean, where pre is at most 0 or at least 1.
    """

    outs: tuple[tuple[str, Rational], ...]
    pre: Affine
    clip: bool = True
    counts: bool = False
    cap: Affine | None = None

    @property
    def reads(self) -> tuple[tuple[str, Rational], ...]:
        """The terms of the forms that the unit reads: its input and its cap."""
        return self.pre.terms if self.cap is None else self.pre.terms + self.cap.terms

    @property
    def out(self) -> str:
        """The coordinate that a unit with a single output writes."""
        ((out, _),) = self.outs
        return out

    @property
    def weight(self) -> Rational:
        """The factor by which a unit with a single output multiplies."""
        ((_, weight),) = self.outs
        return weight


@dataclass(frozen=True, slots=True)
class ProgramLayer:
    """Heads that work in parallel, then hidden units, which may read the heads' outputs. The `biases` are added to
    coordinates: a clip of weight -1 and a bias of 1 write a negation. `norm_1` and `norm_2` are the epsilons of the
    norms of all coordinates after the heads and after the units; None where there is no norm."""

    heads: tuple[Head, ...] = ()
    units: tuple[Unit, ...] = ()
    biases: tuple[tuple[str, Rational], ...] = ()
    norm_1: Fraction | None = None
    norm_2: Fraction | None = None

    @property
    def written(self) -> tuple[str, ...]:
        """The coordinates that the layer adds to, in the order of heads, units and biases."""
        heads = [out for head in self.heads for out, _ in head.values]
        units = [out for unit in self.units for out, _ in unit.outs]
        return tuple(dict.fromkeys([*heads, *units, *(out for out, _ in self.biases)]))

    @property
    def read(self) -> frozenset[str]:
        """The coordinates that heads and units read."""
        heads = [name for head in self.heads for name in head.reads]
        return frozenset([*heads, *(name for unit in self.units for name, _ in unit.reads)])


@dataclass(frozen=True)
class Program(Placed, Keeping):
    """A hard-attention program over exact rational coordinates, at positions 1..n, and 0 with a beginning of sequence
    (`bos`).

    Without a `threshold`, the program accepts a word iff coordinate `output` at the reading position is 1 and rejects
    it iff it is 0; any other output is no answer. With a threshold it accepts iff the output is above it. With
    `outputs` it maps words to words: the symbol at a position is the one whose coordinate is above the threshold.
    With `integers` it maps words to lists of integers: the integer at a position is the one nearest to n times
    coordinate `output`.
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
    """The output symbols of a program that maps words to words, with their coordinates."""
    integers: bool = False
    """True if the output is an integer at every position."""
    regime: str = ""
    """The regime that the program was compiled for; empty if none."""
    meanings: dict[str, str] = field(default_factory=dict)
    """Descriptions for readers: the subformula whose value a coordinate holds."""
    weighting: SoftWeighting = SoftWeighting.SOFTMAX
    """The weighting of the network that is compared with hard attention."""
    rounding: Rounding | None = None

    def __post_init__(self) -> None:
        if not self.coordinates:
            names = [ONE, *(letter.name for letter in self.letters), *(encoding.name for encoding in self.encodings)]
            names += [name for layer in self.layers for name in layer.written]
            # The class is frozen.
            object.__setattr__(self, "coordinates", tuple(dict.fromkeys(names)))
        if self.normed and ONE in self.coordinates:
            message = "a program with layer norms has a coordinate named 1, which norms would change"
            raise InputError(message, "Give that coordinate another name; only the bias of a hidden unit is called 1.")
        scored = [head.name for head in self.heads if not head.uniform]
        require_rational(self.rounding, self.normed, scored, self.encodings)

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads, in the order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @property
    def maps(self) -> bool:
        """True if the program answers at every position; False if it only accepts or rejects a word."""
        return self.integers or bool(self.outputs)

    @property
    def answers(self) -> tuple[str, ...]:
        """The coordinates from which the answer is read."""
        return tuple(dict.fromkeys(name for _, name in self.outputs)) or (self.output,)

    def last_heads(self, output: str) -> tuple[str, ...]:
        """Return the names of the last heads that determine a coordinate, directly or through hidden units: all such
        heads of the last layer that has any."""
        needed = {output}
        for layer in reversed(self.layers):
            # Units come after the heads of their layer, so their inputs are added first.
            for unit in layer.units:
                if any(out in needed for out, _ in unit.outs):
                    needed.update(name for name, _ in unit.reads)
            found = tuple(head.name for head in layer.heads if any(out in needed for out, _ in head.values))
            if found:
                return found
        return ()

    @property
    def longest_path(self) -> dict[int, str]:
        """Coordinates by the number of the layer that writes them, each read by the next one and the last one by the
        answer: the output cannot be computed in fewer layers as long as each of them needs the one before it."""
        last = {name: number for number, layer in enumerate(self.layers, start=1) for name in layer.written}
        path: dict[int, str] = {}
        needed = {name for name in self.answers if name in last}
        while needed:
            # Of several coordinates in one layer, the first by name: the path does not depend on the order of a set.
            name = max(sorted(needed), key=lambda one: last[one])
            path[last[name]] = name
            layer = self.layers[last[name] - 1]
            reads = {head.out if len(head.values) == 1 else head.name: head.reads for head in layer.heads}
            own = [term for unit in layer.units if name in dict(unit.outs) for term, _ in unit.reads] or [name]
            read = {below for term in own for below in reads.get(term, (term,))}
            needed = {below for below in read if last.get(below, len(self.layers)) < last[name]}
        return dict(sorted(path.items()))

    @property
    def unlabelled(self) -> Program:
        """The program without the labels that are only for human readers."""
        layers = tuple(
            replace(layer, heads=tuple(replace(head, purpose="", theorem="") for head in layer.heads))
            for layer in self.layers
        )
        return replace(self, layers=layers, meanings={}, regime="")

    def clearance(self, value: Rational, n: int) -> Fraction:
        """Return the distance of an output from the nearest number at which the answer changes. Integers k/n are at
        most 1/(2n) from it."""
        if self.integers:
            return Fraction(1, 2 * n) - abs(value - Fraction(round(value * n), n))
        return abs(value - Fraction(1, 2) if self.threshold is None else Fraction(value) - self.threshold)

    def verdict(self, output: Rational) -> bool | None:
        """Return True for an output that means accepted, False for rejected, and None for an output equal to the
        threshold (or, without a threshold, other than 0 and 1)."""
        if self.threshold is None:
            return bool(output) if output in (0, 1) else None
        return None if output == self.threshold else output > self.threshold
