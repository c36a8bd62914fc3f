"""What is known of every coordinate of the residual stream, at every site, for all words.

A coordinate is one of
 - exact: a function of the symbol at the position, of the site, and of Booleans that attention decided there. It is
   kept twice, as the network computes it (`soft`) and as the specification does (`hard`); a Boolean that was proved
   to be the same in both is one variable;
 - a mean over visible positions of an exact Boolean (uniform attention): a count over the number of positions, the
   same in both;
 - an attended value, known up to an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hardsim.net.model import Transformer
from hardsim.proof.diagrams import Diagrams, clip
from hardsim.proof.reading import Extremes, NearestReading
from hardsim.proof.result import Case, NotProved
from hardsim.proof.running import NOTHING, Columns
from hardsim.proof.sites import Sites
from hardsim.run.plan import Terms
from hardsim.spec.ir import ONE, Affine, HardProgram, Mask, Rational

if TYPE_CHECKING:
    from hardsim.proof.outward import Array

SYMBOL = ("symbol",)
"""The variable of the symbol at the position."""


@dataclass(frozen=True)
class Exact:
    """A coordinate as a diagram per site, in the network and in the specification."""

    soft: list[int]
    hard: list[int]


@dataclass(frozen=True)
class Mean:
    """`count / size` by site, where count is how many visible positions satisfy an exact Boolean."""

    mask: Mask
    sizes: list[Any]


@dataclass
class BooleanHead:
    """An attended Boolean. `bits` is the specified value as a diagram per site (a variable, unless it is always the
    same there). Where that is b, the network's value is `values[0] + (values[1] - values[0]) x` with x within
    `wrong[b]` of b.

    `reading` and `extremes` tell how the worst case comes about, where the head looks for the nearest position.
    """

    name: str
    layer: int
    bits: list[int]
    values: tuple[Rational, Rational]
    wrong: tuple[Array, Array]
    reading: NearestReading | None = None
    extremes: tuple[Extremes, Extremes] | None = None
    worst: Case | None = None

    def __post_init__(self) -> None:
        if not all(isinstance(value, int | Fraction) for value in self.values):
            raise NotProved(f"head {self.name} reads values that depend on the position", self.name)

    def deviation(self, bit: int, sites: Sequence[int]) -> float:
        """How far x is at most from a bit at some sites: a share of weights, whatever was not found."""
        import numpy as np

        found = float(np.max(self.wrong[bit][sites]))
        return 0.0 if found < 0 else found if found < 1 else 1.0


@dataclass
class CountHead:
    """A looked-up number: `base + slope p` where p is the position that should win, 1 to `largest` by site; the
    network's value is off by at most `error`."""

    name: str
    layer: int
    base: Rational
    slope: Rational
    largest: list[Any]
    error: Array
    worst: Case | None = None

    def __post_init__(self) -> None:
        import numpy as np

        if not np.all(np.isfinite(self.error)):
            raise NotProved(f"no bound is found for the number that head {self.name} looks up", self.name)


Attended = BooleanHead | CountHead


@dataclass
class State:
    """All coordinates at some point of the network."""

    model: Transformer
    program: HardProgram
    sites: Sites
    diagrams: Diagrams = field(default_factory=Diagrams)
    exact: dict[int, Exact] = field(default_factory=dict)
    means: dict[int, Mean] = field(default_factory=dict)
    attended: dict[int, Attended] = field(default_factory=dict)
    heads: dict[str, Attended | None] = field(default_factory=dict)
    known: dict[object, tuple[Extremes, Extremes]] = field(default_factory=dict)
    """Worst cases by what they depend on: heads that read alike share them."""
    rates: dict[object, list[Fraction]] = field(default_factory=dict)
    tables: dict[object, Array] = field(default_factory=dict)
    """The same of look-ups: how sharp they are, and the worst weights for a column of values."""
    queries: dict[Terms, tuple[Rational, ...]] = field(default_factory=dict)
    """Query forms over the temperature, of what is the same for every word (it never changes)."""
    forms: dict[tuple[Terms, Rational], list[int]] = field(default_factory=dict)
    """Forms of the network at every site."""
    keys: dict[Terms, tuple[Rational, ...]] = field(default_factory=dict)
    """The parts of keys that are the same for every word."""
    columns: Columns = field(default_factory=Columns)
    """Queries and keys as arrays."""
    pending: dict[int, tuple[Exact | None, Mean | None, Attended | None]] = field(default_factory=dict)
    """What the heads of the layer under way write: none of them reads it."""

    def __post_init__(self) -> None:
        hold_names(self.program)
        names = [head.name for head in self.model.heads], self.model.coordinates
        if any(len(set(some)) != len(some) for some in names):
            raise NotProved("two heads or two coordinates of the network have one name")
        self._embed()

    @cached_property
    def index(self) -> dict[str, int]:
        """The coordinate of each name."""
        return {name: number for number, name in enumerate(self.model.coordinates)}

    @cached_property
    def inverse(self) -> list[Any]:
        """The inverse temperature at every site."""
        return self.sites.tabulate(self.model.temperature.variables, self.model.inverse_temperature)

    # ---- the embedding ----

    def _embed(self) -> None:
        """The word embedding plus the position encoding, and what the specification says they are."""
        rows = self.model.embedding.rows()
        soft: dict[int, list[int]] = {}
        for coordinate in range(self.model.dimension):
            values = tuple(row.get(coordinate, 0) for row in rows)
            parts = [
                (1, self.column(self.sites.evaluate(value)))
                for index, value in self.model.encodings
                if index == coordinate
            ]
            parts.append((1, [self._symbols(values)] * len(self.sites)))
            soft[coordinate] = self.combine(parts, 0)
        hard = {self.place(ONE): [self.diagrams.one] * len(self.sites)}
        for letter in self.program.letters:
            values = tuple(int(symbol in letter.symbols) for symbol in self.model.alphabet)
            hard[self.place(letter.name)] = [self._symbols(values)] * len(self.sites)
        for encoding in self.program.encodings:
            hard[self.place(encoding.name)] = self.column(self.sites.evaluate(encoding.value))
        zero = [self.diagrams.zero] * len(self.sites)
        for coordinate, column in soft.items():
            if coordinate in hard or set(column) != {self.diagrams.zero}:
                self.exact[coordinate] = Exact(column, hard.get(coordinate, zero))

    def place(self, name: str) -> int:
        """The network's coordinate of a name of the specification; NotProved if there is none."""
        if name not in self.index:
            raise NotProved(f"the specification speaks of a coordinate '{name}' that the network does not have")
        return self.index[name]

    def _symbols(self, values: tuple[Rational, ...]) -> int:
        if len(set(values)) == 1:
            return self.diagrams.terminal(values[0])
        # One variable, whose branches are the symbols, under any values.
        number = self.diagrams.variable(SYMBOL, tuple(range(len(values))))
        return self.diagrams.map(("symbols", values), lambda branch: values[branch], number)

    def column(self, values: Sequence[Any]) -> list[int]:
        """An encoding by site as diagrams."""
        return [self.diagrams.terminal(value) for value in values]

    def clipped(self, column: list[int]) -> list[int]:
        """The clip of an exact number at every site."""
        known = {number: self.diagrams.map("clip", clip, number) for number in dict.fromkeys(column)}
        return [known[number] for number in column]

    def specified(self, head: str, wrong: Array) -> list[int]:
        """What a head should read at every site, from the bounds for 0 and 1: a Boolean of its own, unless no word
        leads to one of the two (minus infinity)."""
        variable, one, zero = self.diagrams.variable(("head", head)), self.diagrams.one, self.diagrams.zero
        return [variable if off and on else one if on else zero for off, on in (wrong != NOTHING).T.tolist()]

    # ---- forms ----

    def combine(self, parts: Sequence[tuple[Rational, list[int]]], constant: Rational) -> list[int]:
        """A linear combination of columns of diagrams."""
        if not parts:
            return [self.diagrams.terminal(constant)] * len(self.sites)
        if len(parts) == 1 and parts[0][0] == 1 and not constant:
            return parts[0][1]
        coefficients = [coefficient for coefficient, _ in parts]
        rows = list(zip(*(column for _, column in parts), strict=True))
        linear = self.diagrams.linear
        # In the order of the sites, so that variables are.
        known = {row: linear(zip(coefficients, row, strict=True), constant) for row in dict.fromkeys(rows)}
        return [known[row] for row in rows]

    def soft_terms(self, form: Affine) -> Terms:
        """A form of the specification over the network's coordinates (the constant has one too)."""
        return tuple((self.place(name), coefficient) for name, coefficient in form.terms)

    def soft(self, terms: Terms, constant: Rational, what: str) -> list[int]:
        """A form of the network at every site; every coordinate must be exact. What is exact never changes."""
        known = self.forms.get((terms, constant))
        if known is None:
            known = self.combine([(c, self.exact_of(k, what).soft) for k, c in terms], constant)
            self.forms[terms, constant] = known
        return known

    def hard(self, form: Affine, what: str) -> list[int]:
        """A form of the specification at every site."""
        return self.combine([(c, self.exact_of(k, what).hard) for k, c in self.soft_terms(form)], 0)

    def exact_of(self, coordinate: int, what: str) -> Exact:
        """An exact coordinate; NotProved if it is none."""
        if coordinate not in self.exact:
            name = self.model.coordinates[coordinate]
            reason = "holds an attended value that is not rounded" if self.written(coordinate) else "is not written"
            raise NotProved(f"{what} reads the coordinate '{name}', which {reason}")
        return self.exact[coordinate]

    def written(self, coordinate: int) -> bool:
        """Whether something has written a coordinate."""
        return any(coordinate in place for place in (self.exact, self.means, self.attended, self.pending))

    def commit(self) -> None:
        """What the heads wrote becomes readable."""
        for coordinate, (exact, mean, attended) in self.pending.items():
            if exact is not None:
                self.exact[coordinate] = exact
            if mean is not None:
                self.means[coordinate] = mean
            if attended is not None:
                self.attended[coordinate] = attended
        self.pending.clear()

    def static(self, column: list[int]) -> bool:
        """Whether a column is the same for every word."""
        constant = self.diagrams.constant
        return all(constant(number) for number in set(column))

    def numbers(self, column: list[int]) -> list[Any]:
        """The values of a static column."""
        value = self.diagrams.value
        return [value(number) for number in column]


def hold_names(program: HardProgram) -> None:
    """Hold that every name of a specification means one thing: the constant, a letter, an encoding, or what is written.

    Raises:
        NotProved: naming the one that does not.
    """
    given = [ONE, *(letter.name for letter in program.letters), *(encoding.name for encoding in program.encodings)]
    heads = [head.out for head in program.heads]
    clips = [name for layer in program.layers
             for name in dict.fromkeys([*(item.out for item in layer.clips), *layer.ones])]  # fmt: skip
    found: set[str] = set()
    for name in (*given, *heads, *clips):
        if name in found:
            raise NotProved(f"the specification has two meanings for the coordinate '{name}'")
        found.add(name)
