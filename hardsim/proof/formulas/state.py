"""Facts about every coordinate of the residual stream, at every site, for all words.

A coordinate is one of
 - exact: a function of the symbol at the position, of the site, and of Booleans that attention decided there. There
   are two columns, one as the network computes it (`soft`) and one as the specification does (`hard`); a Boolean that
   was proved equal in both is one variable;
 - a mean over visible positions of an exact Boolean (uniform attention): a count over the number of positions, the
   same in both;
 - an attended value, known up to an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.network.transformer import AttentionHead, Terms, Transformer
from hardsim.program.hard_attention import Affine, Head, Program
from hardsim.proof.formulas.arrays import NOTHING, Array
from hardsim.proof.formulas.facts import Column, Diagrams, Facts
from hardsim.proof.formulas.nearest import Extremes, NearestReading
from hardsim.proof.formulas.sites import Sites
from hardsim.proof.shared.result import HeadArgument, NotProved, WorstCase

T = TypeVar("T")


@dataclass(frozen=True)
class ExactColumn:
    """Exact coordinate: one diagram per site, in the network (`soft`) and in the specification (`hard`)."""

    soft: Column
    hard: Column


@dataclass(frozen=True)
class Mean:
    """Mean `count / size` at each site, where count is the number of visible positions that satisfy an exact
    Boolean and size is the number of visible positions."""

    mask: Mask
    sizes: list[Any]

    def span(self, factor: Fraction, site: int) -> tuple[Fraction, Fraction, Fraction]:
        """Return the least value, the greatest value and the step of the mean times a factor, at a site."""
        return min(factor, Fraction(0)), max(factor, Fraction(0)), abs(factor) / self.sizes[site]


@dataclass
class BooleanHead:
    """Boolean that a head reads. `bits` is the specified value as a diagram per site: a variable, unless the value
    is constant there. Where that value is b, the network reads `values[0] + (values[1] - values[0]) x` with x
    within `wrong[b]`, an array by site, of b. If the head looks for the nearest selected position, `reading`
    and `extremes` (by b) describe its worst case."""

    name: str
    bits: Column
    values: tuple[Rational, Rational]
    wrong: tuple[Array, Array]
    reading: NearestReading | None = None
    extremes: tuple[Extremes, Extremes] | None = None
    worst: WorstCase | None = None
    argument: HeadArgument | None = None

    def __post_init__(self) -> None:
        if not all(isinstance(value, int | Fraction) for value in self.values):
            raise NotProved(f"head {self.name} reads values that depend on the position", self.name)

    def deviation(self, bit: int, sites: Sequence[int]) -> float:
        """Return a bound of the distance between x and a bit, the largest over some sites; 0 where no word leads
        to the bit. The distance is at most 1, since x is a total of attention weights."""
        found = float(np.max(self.wrong[bit][sites]))
        # Minus infinity means that no word leads to this bit; a rounded share may exceed 1.
        return 0.0 if found < 0 else found if found < 1 else 1.0


@dataclass
class CountHead:
    """Number that a head looks up: `base + slope p`, where p, from 1 to `sizes` of the site, is the position that
    should have the greatest logit. The network's value is off by at most `error`, an array by site. Heads with
    equal `like` look up counts of one kind with equal scores. If two of them should find positions d apart,
    their errors differ by at most `apart(site, d)`."""

    name: str
    base: Rational
    slope: Rational
    sizes: list[Any]
    error: Array
    like: object
    apart: Callable[[int, int], float]
    worst: WorstCase | None = None
    argument: HeadArgument | None = None

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.error)):
            raise NotProved(f"no bound is found for the number that head {self.name} looks up", self.name)

    def span(self, factor: Fraction, site: int) -> tuple[Fraction, Fraction, Fraction]:
        """Return the least value, the greatest value and the step of the looked-up number times a factor, at a
        site."""
        low, high = sorted(factor * (self.base + self.slope * position) for position in (1, self.sizes[site]))
        return low, high, abs(factor * self.slope)


Attended = BooleanHead | CountHead

Counted = Mean | CountHead

Margins = Callable[["State", Sequence[tuple[Fraction, Counted]], int, str], Callable[[Any], dict[int, Rational]]]
"""Function that bounds a clip of multiples of counts at a site. It returns a function of a constant, which returns
for each side (0 and 1) that the sum of multiples and constant can be on its least distance from the threshold.
Raises NotProved, with the clip's name, if the sum can lie between the thresholds."""


@dataclass
class State:
    """All coordinates at one point of the computation of a network."""

    model: Transformer
    program: Program
    facts: Facts
    exact: dict[int, ExactColumn] = field(default_factory=dict)
    means: dict[int, Mean] = field(default_factory=dict)
    attended: dict[int, Attended] = field(default_factory=dict)
    heads: dict[str, Attended | None] = field(default_factory=dict)
    cache: dict[object, Any] = field(default_factory=dict)
    """Results that never change, by the arguments that they depend on (see `once`)."""
    pending: list[tuple[dict[int, Any], int, Any]] = field(default_factory=list)
    """Values that the heads of the present layer write, as triples: the table for the value (`exact`, `means` or
    `attended`), the coordinate, the value. No head of the layer reads them."""

    def __post_init__(self) -> None:
        require_names(self.program)
        # Variables and facts are named after heads and coordinates, so a name must be unique.
        names = [head.name for head in self.model.heads], self.model.coordinates
        if any(len(set(some)) != len(some) for some in names):
            raise NotProved("two heads or two coordinates of the network have the same name")
        self._embed()

    @property
    def sites(self) -> Sites:
        """Sites of the proof."""
        return self.facts.sites

    @property
    def diagrams(self) -> Diagrams:
        """Diagrams that columns consist of."""
        return self.facts.diagrams

    @cached_property
    def inverse(self) -> list[Any]:
        """Inverse temperature at every site."""
        return self.sites.inverse(self.model)

    def once(self, what: str, key: object, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once for all callers with equal `what` and `key`: heads with equal
        scores share work."""
        if (what, key) not in self.cache:
            self.cache[what, key] = make()
        found: T = self.cache[what, key]
        return found

    # ---- the embedding ----

    def _embed(self) -> None:
        """Set the columns of the word embedding plus the position encoding, as in the network and as in the
        specification."""
        rows, facts = self.model.embedding.rows(), self.facts
        soft: dict[int, Column] = {}
        for coordinate in range(self.model.dimension):
            parts: list[tuple[Rational, Column]] = [(1, facts.encoded(self.sites.evaluate(value)))
                     for index, value in self.model.encodings if index == coordinate]  # fmt: skip
            values = tuple(row.get(coordinate, 0) for row in rows)
            if isinstance(facts.alphabet, Valuations):
                # Rows of the embedding: one for each proposition, and one that every position gets.
                *held, always = values
                parts += [(value, facts.everywhere(facts.proposition(name)))
                          for name, value in zip(facts.alphabet.props, held, strict=True) if value]  # fmt: skip
                soft[coordinate] = facts.combine(parts, always)
            else:
                soft[coordinate] = facts.combine([*parts, (1, facts.everywhere(facts.symbols(values)))], 0)
        hard = {self.place(name): column for name, column in facts.given(self.program).items()}
        # A coordinate that is 0 throughout stays unwritten, so that a layer may still write to it.
        zero = facts.everywhere(self.diagrams.zero)
        for coordinate, column in soft.items():
            if coordinate in hard or column != zero:
                self.exact[coordinate] = ExactColumn(column, hard.get(coordinate, zero))

    def place(self, name: str) -> int:
        """Return the network's coordinate with a name of the specification. Raises NotProved if there is none."""
        if name not in self._places:
            raise NotProved(f"the specification has a coordinate '{name}' that the network does not have")
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.model.coordinates)}

    # ---- forms ----

    def terms(self, form: Affine) -> Terms:
        """Return a form of the specification as pairs of the number of a network's coordinate and a coefficient;
        the constant 1 is a coordinate, too."""
        return tuple((self.place(name), coefficient) for name, coefficient in form.terms)

    def soft(self, terms: Terms, constant: Rational, what: str) -> Column:
        """Return the column of a linear form of the network. Raises NotProved unless every coordinate is exact. The
        result is cached, since exact coordinates never change."""
        return self.once("form", (terms, constant), lambda: self.facts.combine(
            [(c, self.exact_of(k, what).soft) for k, c in terms], constant))  # fmt: skip

    def hard(self, terms: Terms, what: str) -> Column:
        """Return the column of a linear form, without its constant, as the specification has it."""
        return self.facts.combine([(c, self.exact_of(k, what).hard) for k, c in terms], 0)

    def bit(self, coordinate: int) -> int:
        """Return the diagram of the variable of a Boolean coordinate that was proved equal in network and
        specification."""
        return self.diagrams.variable(("bit", self.model.coordinates[coordinate]))

    def exact_of(self, coordinate: int, what: str) -> ExactColumn:
        """Return an exact coordinate. Raises NotProved if the coordinate is not exact; `what` names its reader."""
        if coordinate not in self.exact:
            name = self.model.coordinates[coordinate]
            reason = "holds an attended value that is not rounded" if self.written(coordinate) else "is not written"
            raise NotProved(f"{what} reads the coordinate '{name}', which {reason}")
        return self.exact[coordinate]

    def written(self, coordinate: int) -> bool:
        """Return True if the embedding, a head or a feed-forward layer has written the coordinate."""
        written = self.exact, self.means, self.attended
        return any(coordinate in place for place in written) or any(coordinate == k for _, k, _ in self.pending)


@dataclass(frozen=True)
class HeadTask:
    """Head to be bounded: its weights in the network, its specification, and the column it reads in both."""

    state: State
    plan: AttentionHead
    head: Head
    soft: Column
    hard: Column

    def fixed(self, column: Column) -> list[Any]:
        """Return the values of a column by site. Raises NotProved unless they are the same for every word."""
        if not self.state.facts.constant(column):
            raise NotProved(
                f"head {self.head.name} counts, but its keys or values also depend on the word", self.head.name
            )
        return self.state.facts.numbers(column)

    def values(self, terms: Terms, soft: bool) -> list[Any]:
        """Return the values of a linear form by site, as the network (`soft`) or the specification has it. Raises
        NotProved unless they are the same for every word."""
        what = f"head {self.head.name}"
        return self.fixed(self.state.soft(terms, 0, what) if soft else self.state.hard(terms, what))

    def boolean(
        self, values: tuple[Rational, Rational], wrong: Array | float, argument: HeadArgument | None = None
    ) -> BooleanHead:
        """Return the Boolean that this head reads. It is a new variable at every site, except where `wrong` of a
        bit is minus infinity: no word leads to that bit there, so the Boolean is constant."""
        state, name = self.state, self.head.name
        diagrams, wrong = state.diagrams, np.broadcast_to(wrong, (2, len(state.sites)))
        variable = diagrams.variable(("head", name))
        bits = [variable if off and on else diagrams.one if on else diagrams.zero
                for off, on in (wrong != NOTHING).T.tolist()]  # fmt: skip
        return BooleanHead(name, tuple(bits), values, (wrong[0], wrong[1]), argument=argument)


def require_names(program: Program) -> None:
    """Raise NotProved unless every name of a specification (the constant, letters, encodings, outputs of heads and
    units) has one meaning, and all parts are of the form that compiled formulas have: letters of value 1, heads
    of a known kind with one value, clips with one output, one bias for each coordinate."""
    odd = [letter.name for letter in program.letters if letter.value != 1]
    odd += [head.name for head in program.heads if head.kind is None or len(head.values) != 1]
    units = [unit for layer in program.layers for unit in layer.units]
    odd += [out for unit in units if not unit.clip or len(unit.outs) != 1 for out, _ in unit.outs]
    odd += [out for layer in program.layers for out, _ in layer.biases[len(dict(layer.biases)) :]]
    if odd:
        raise NotProved(f"the specification of '{odd[0]}' is not of the form that compiled formulas have")
    names = [ONE, *(letter.name for letter in program.letters), *(encoding.name for encoding in program.encodings)]
    names += [head.out for head in program.heads]
    for layer in program.layers:
        # Several units and a bias of one layer may write one coordinate.
        names += dict.fromkeys([*(unit.out for unit in layer.units), *(out for out, _ in layer.biases)])
    for name, times in Counter(names).items():
        if times > 1:
            raise NotProved(f"the specification has two meanings for the coordinate '{name}'")
