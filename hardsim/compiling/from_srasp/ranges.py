"""Prove that an integer of a program stays in [-n, n] at every position of every word (ours).

An integer is a linear form over quantities at i (see `local`). Its bound is the sum of bounds of its parts:

- All sums in the form are treated as one sum, over the j < i, the j > i, and i itself, of the total weight of the
  terms that contain j. The weight at i follows from the type of i, and joins the rest of the form before anything is
  bounded. The c other positions weigh at most c times the largest weight of a type, or, if the weight depends on j, a
  sum of powers. Inside the word are min(i, L) of 1..i, and the padding has one symbol, `#`. Types that depend on
  their neighbours: `walks`.
- The value that attention reads is its value at one of the j that the mask allows and the score does not exclude, or
  the default. It is bounded alone, or together with the rest of the form, where the sums over 1..i and over 1..j
  cancel.
- If a comparison is known to hold, a multiple of it may be added, so that a quantity cancels.

A bound is the largest of some polynomials in i and L (`lengths`); there may be several bounds, and each of them
holds. Positions inside the word and in the padding are bounded separately. A form that cannot be bounded has no
bound, and a program with too many types has none at all: nothing is claimed then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Final, NamedTuple, TypeAlias

from flint import fmpq_mpoly

from hardsim.compiling.from_srasp.local import (
    AFTER,
    BEFORE,
    HERE,
    LENGTH,
    SIDES,
    Feature,
    LocalReader,
    Quantity,
    TooManyTypes,
    Type,
    Values,
    known_at,
    moved,
    quantities,
)
from hardsim.compiling.from_srasp.polynomials import (
    POSITION,
    SECOND,
    THIRD,
    WORD,
    ZERO,
    Lengths,
    Where,
    constant,
    controls,
    put,
    summed_up,
)
from hardsim.compiling.from_srasp.scores import folded
from hardsim.compiling.from_srasp.walks import Cells, LocalNode, Walks
from hardsim.lang import ast
from hardsim.network.numbers import ONE, Rational
from hardsim.program.hard_attention import Affine

MOST_TYPES: Final = 3000
"""The greatest number of types of one program that are tried."""
DEEPEST_SUM: Final = 20
"""The greatest depth of nested sums and vectors by attention."""
MOST_BOUNDS: Final = 6
"""The greatest number of bounds of one form that are kept."""
MOST_PIECES: Final = 24
"""The greatest number of polynomials of one bound."""

PLACES: Final = ("i", "j", "k")
"""The names of the places of a chain, in the order in which they are added."""
_VARIABLES: Final[Mapping[str, fmpq_mpoly]] = {"i": POSITION, "j": SECOND, "k": THIRD}

Pieces: TypeAlias = tuple[fmpq_mpoly, ...]
"""An upper bound: the largest of these polynomials. An empty tuple means that no word has a position of the type."""
Weights: TypeAlias = Mapping[tuple[str, str], Rational]
"""The weights of a sum over some positions: a factor for each term, by place and number of the expression."""


class Chain(NamedTuple):
    """Places in the order of their positions. The first `inside` of them are inside the word, the others in the
    padding."""

    places: tuple[str, ...]
    inside: int

    def is_inside(self, place: str) -> bool:
        """Return True if a place is inside the word."""
        return self.places.index(place) < self.inside


class Ranges:
    """Bounds of the integers of one program, and whether these are proved to stay in [-n, n]."""

    def __init__(self, program: ast.SraspProgram) -> None:
        self.program = program
        self.lengths = Lengths(program.pad)
        self._reader = LocalReader(program, MOST_TYPES)
        self._cells = Cells(self._reader)
        self._hulls: dict[tuple[str, int, bool], list[Pieces]] = {}
        self._terms: dict[tuple[Affine, frozenset[tuple[Feature, Values]], bool], list[Pieces]] = {}
        self._depth = 0

    def require(self, node: ast.Expression) -> bool:
        """Return True if an integer expression over i is proved to be in [-n, n] at every position of every word."""
        try:
            return all(self._below_length(node, sign, inside) for inside in self.lengths.sides for sign in (1, -1))
        except TooManyTypes:
            return False

    def _below_length(self, node: ast.Expression, sign: int, inside: bool) -> bool:
        """Return True if `sign` times an integer is proved to be at most n at every position inside the word (or in
        the padding)."""

        def below(pieces: Pieces) -> bool:
            return all(self.lengths.never_negative(self.lengths.length - one, Where(inside)) for one in pieces)

        return all(found and below(found[-1]) for found in self.bounds(node, sign, inside, below))

    def bounds(
        self, node: ast.Expression, sign: int, inside: bool, enough: Callable[[Pieces], bool]
    ) -> Iterator[list[Pieces]]:
        """Yield upper bounds of `sign` times an integer expression over i, at positions inside the word (or in the
        padding).

        Each item belongs to one type, and lists bounds up to the first that is `enough`. All of them hold. Raises
        TooManyTypes if there are too many types."""

        def bounded(known: Type) -> list[Pieces]:
            form = self._reader.integer(node, {"i": "i"}, known).scaled(sign)
            found: list[Pieces] = []
            for pieces in self._bounds(form, known, Chain(("i",), int(inside))):
                found.append(pieces)
                if enough(pieces):
                    break
            return found

        return (found for _, found in self._reader.cases(self._start("i", inside), bounded))

    def _start(self, place: str, inside: bool, known: Type | None = None) -> Type:
        """Return a type extended by the symbols that are possible at a place."""
        symbols = self.program.alphabet if inside else (ast.BLANK,)
        return {**(known or {}), Feature("symbol", (place,)): frozenset(symbols)}

    # ---- forms ----

    def _bounds(self, form: Affine, known: Type, chain: Chain) -> Iterator[Pieces]:
        """Yield bounds of a form over the places of a chain, for all words with these types there. Raises Split."""
        yield from self._parts(form, known, chain)
        factors = dict(form.terms)
        for fact in _facts(known, chain):
            for name, factor in fact.terms:
                if name != ONE and factors.get(name, 0) * factor < 0:
                    yield from self._parts(form + fact.scaled(-factors[name] / Fraction(factor)), known, chain)
        if len(chain.places) < len(PLACES):
            yield from self._together(form, known, chain)

    def _together(self, form: Affine, known: Type, chain: Chain) -> Iterator[Pieces]:
        """Yield bounds of a form of several quantities, with the values that attention at i reads from one j written
        in terms of j: sums over 1..i and over 1..j have a part in common, and so do vectors that read the same j."""
        groups: dict[tuple[ast.Side, ast.Mask, ast.Expression], list[Quantity]] = {}
        several = sum(quantity.kind != "position" for quantity, _ in quantities(form)) > 1
        for quantity, _ in quantities(form):
            if several and quantity.kind == "vector" and quantity.place == "i":
                attention = self._attention(quantity)
                groups.setdefault((attention.side, attention.mask, attention.score), []).append(quantity)
        for vectors in groups.values():
            yield from self._read(form, vectors, known, chain)

    def _parts(self, form: Affine, known: Type, chain: Chain) -> list[Pieces]:
        """Return bounds of a form from bounds of its sums, of the values that attention reads, and of positions and
        lengths. Raises Split by features of the places; TooManyTypes also if sums and vectors are nested too deeply."""
        self._depth += 1
        try:
            if self._depth > DEEPEST_SUM:
                raise TooManyTypes
            return self._added_parts(form, known, chain)
        finally:
            self._depth -= 1

    def _added_parts(self, form: Affine, known: Type, chain: Chain) -> list[Pieces]:
        # Segment number k holds the positions between place k - 1 and place k of the chain.
        segments: list[dict[tuple[str, str], Rational]] = [{} for _ in range(len(chain.places) + 1)]
        while sums := [(quantity, factor) for quantity, factor in quantities(form) if quantity.kind == "sum"]:
            self._reader.spend(len(sums) // 2)
            terms = [(name, factor) for name, factor in form.terms if not name.startswith("sum ")]
            for quantity, factor in sums:
                terms += self._own(quantity, known, chain).scaled(factor).terms
                for segment in _covered(quantity, chain):
                    key = quantity.place, quantity.which
                    segments[segment][key] = segments[segment].get(key, 0) + factor
            form = Affine.of(terms)
        options: list[list[Pieces]] = []
        for number, weights in enumerate(segments):
            if any(weights.values()):
                options.append(self._segment(weights, number, known, chain))
        rest = ZERO
        for name, factor in form.terms:
            rest += constant(factor) * (constant(1) if name == ONE else self.lengths.length if name == LENGTH else ZERO)
        for quantity, factor in quantities(form):
            if quantity.kind == "position":
                rest += constant(factor) * _VARIABLES[quantity.place]
            else:
                sign = 1 if factor > 0 else -1
                hull = self._hull(quantity.which, sign, chain.is_inside(quantity.place))
                place, size = {"i": _VARIABLES[quantity.place]}, constant(sign * factor)
                options.append([tuple(put(piece, place) * size for piece in pieces) for pieces in hull])
        return _added([*options, [(rest,)]])

    def _own(self, quantity: Quantity, known: Type, chain: Chain) -> Affine:
        """Return the terms of a sum at those places of the chain that the sum contains."""
        term, at = self._reader.terms[int(quantity.which)], chain.places.index(quantity.place)
        total = Affine()
        for number, place in enumerate(chain.places):
            if quantity.side == (HERE if number == at else BEFORE if number < at else AFTER):
                total = total + self._reader.integer(term, {"i": quantity.place, "j": place}, known)
        return total

    # ---- sums ----

    def _segment(self, weights: Weights, number: int, known: Type, chain: Chain) -> list[Pieces]:
        """Return bounds of a sum over the positions after place number `number` - 1 of a chain and before the next
        place."""
        before, after = chain.places[:number][-1:], chain.places[number:][:1]
        first = _VARIABLES[before[0]] + 1 if before else constant(1)
        last = _VARIABLES[after[0]] - 1 if after else self.lengths.length
        parts = [(number <= chain.inside, first, last)]
        if number == chain.inside and False in self.lengths.sides:
            parts = [(True, first, WORD), (False, WORD + 1, last)]

        def weight(types: Type) -> Affine:
            terms = (
                self._reader.integer(self._reader.terms[int(which)], {"i": place, "j": "x"}, types).scaled(factor)
                for (place, which), factor in weights.items()
            )
            return sum(terms, Affine())

        options: list[list[Pieces]] = []
        nodes: list[LocalNode] = []
        fixed = True
        for inside, start, end in parts:
            found = list(self._reader.cases(self._start("x", inside, known), weight, "x"))
            fixed = fixed and all(name == ONE for _, form in found for name, _ in form.terms)
            if fixed:
                nodes += [LocalNode(types, Fraction(dict(form.terms).get(ONE, 0)), inside) for types, form in found]
            heaviest = self._joined(
                [self._term(form, types, inside) for types, form in found], Chain(("i",), int(inside))
            )
            options.append([_over(pieces, start, end) for pieces in heaviest])
        bounds = _added(options)
        if fixed and self._cells.among(nodes):
            bounds = [*self._walked(nodes, parts, known, chain, number), *bounds]
        return bounds[:MOST_BOUNDS]

    def _term(self, form: Affine, known: Type, inside: bool) -> list[Pieces]:
        """Return bounds of a weight at x, as polynomials in i in place of x; [] if the weight depends on another place
        too."""
        if all(name == ONE for name, _ in form.terms):
            return [(constant(dict(form.terms).get(ONE, 0)),)]
        if any(quantity.place != "x" for quantity, _ in quantities(form)):
            return []
        form, start = moved(form, {"x": "i"}), known_at(known, "x", "i")
        key = form, frozenset(start.items()), inside
        if key not in self._terms:
            chain = Chain(("i",), int(inside))
            found = self._reader.cases(start, lambda types: list(self._bounds(form, types, chain)))
            self._terms[key] = self._joined([bounds for _, bounds in found], chain)
        return self._terms[key]

    def _walked(
        self,
        nodes: Sequence[LocalNode],
        parts: Sequence[tuple[bool, fmpq_mpoly, fmpq_mpoly]],
        known: Type,
        chain: Chain,
        number: int,
    ) -> Iterator[Pieces]:
        """Yield bounds of a sum of constant weights by walks along the graph of types."""
        walks = Walks(self._cells, nodes)

        def at(number: int) -> list[int]:
            place = chain.places[number]
            return walks.at(known, place, chain.is_inside(place))

        sources = walks.after(at(number - 1)) if number else walks.first
        targets = at(number) if number < len(chain.places) else None
        for rates in walks.rates():
            heaviest = walks.heaviest(sources, targets, rates)
            if heaviest is not None:
                total = sum((constant(rates[inside]) * (end - start + 1) for inside, start, end in parts), ZERO)
                yield tuple(total + constant(one) for one in heaviest)

    # ---- attention ----

    def _attention(self, vector: Quantity) -> ast.Attention:
        right = self.program.vectors[vector.which].right
        assert isinstance(right, ast.Attention)
        return right

    def _hull(self, vector: str, sign: int, inside: bool) -> list[Pieces]:
        """Return bounds of `sign` times the integer that attention reads at a position i inside the word (or, if
        `inside` is False, in the padding)."""
        key = vector, sign, inside
        if key not in self._hulls:
            chain, read = Chain(("i",), int(inside)), Quantity("vector", "i", vector)
            form = Affine.of([(read.name, sign)])
            found = self._reader.cases(self._start("i", inside), lambda known: self._read(form, [read], known, chain))
            self._hulls[key] = self._joined([bounds for _, bounds in found], chain)
        return self._hulls[key]

    def _read(self, form: Affine, vectors: Sequence[Quantity], known: Type, chain: Chain) -> list[Pieces]:
        """Return bounds of a form in which some vectors at i read the same j: bounds that hold with their values at
        every possible j, and with their defaults."""
        attention, at = self._attention(vectors[0]), chain.places.index("i")
        score, sides = folded(attention.score, self._reader.tuples), SIDES[attention.mask]
        options: list[list[Pieces]] = []
        if not (score == ast.Truth(True) and HERE in sides):
            options.append(list(self._bounds(self._filled(form, vectors, "i", known, default=True), known, chain)))
        for number, place in enumerate(chain.places):
            side = HERE if number == at else BEFORE if number < at else AFTER
            if side in sides and self._reader.value(score, {"i": "i", "j": place}, known):
                options.append(list(self._bounds(self._filled(form, vectors, place, known), known, chain)))
        for gap in range(len(chain.places) + 1):
            if (BEFORE if gap <= at else AFTER) in sides:
                for inside in self.lengths.sides:
                    if not (gap > chain.inside if inside else gap < chain.inside):
                        options += self._read_in(form, vectors, known, chain, (gap, inside))
        return self._joined(options, chain)

    def _filled(
        self, form: Affine, vectors: Collection[Quantity], place: str, known: Type, default: bool = False
    ) -> Affine:
        """Return a form with the vectors at i replaced by their values at a place, or by their defaults."""
        result = form
        for vector, factor in quantities(form):
            if vector in vectors:
                part = self._attention(vector).default if default else self._attention(vector).value
                read = self._reader.integer(part, {"i": "i", "j": place}, known)
                result = result + (read - Affine.coordinate(vector.name)).scaled(factor)
        return result

    def _read_in(
        self, form: Affine, vectors: Sequence[Quantity], known: Type, chain: Chain, where: tuple[int, bool]
    ) -> list[list[Pieces]]:
        """Return bounds of a form with vectors read at the j in one gap between the places of a chain (before place
        number `where[0]`), inside the word or in the padding (`where[1]`), one list for each type of j."""
        gap, inside = where
        before, after = chain.places[:gap], chain.places[gap:]
        place = PLACES[len(chain.places)]
        longer = Chain((*before, place, *after), chain.inside + inside)
        first, last = self.lengths.ends(inside)
        some = Where(chain.inside > 0, padded=not inside)
        if before and longer.is_inside(before[-1]) == inside:
            first, some = _VARIABLES[before[-1]] + 1, Where(inside, right=1)
        if after and longer.is_inside(after[0]) == inside:
            last, some = _VARIABLES[after[0]] - 1, Where(inside, left=1)
        score = folded(self._attention(vectors[0]).score, self._reader.tuples)

        def bounds(types: Type) -> list[Pieces] | None:
            if not self._reader.value(score, {"i": "i", "j": place}, types):
                return None
            found = [
                tuple(one for piece in pieces for one in controls(piece, place, first, last))
                for pieces in self._bounds(self._filled(form, vectors, place, types), types, longer)
            ]
            return [self._pruned(pieces, some) for pieces in found] if len(chain.places) == 1 else found

        found = self._reader.cases(self._start(place, inside, known), bounds, place)
        return [one for _, one in found if one is not None]

    # ---- bounds ----

    def _joined(self, options: Sequence[list[Pieces]], chain: Chain) -> list[Pieces]:
        """Return bounds of a number that equals one of several, each with its own bounds; [] if one has none."""
        most = min(MOST_BOUNDS, max((len(bounds) for bounds in options), default=1))
        if not all(options):
            return []
        joined = [
            tuple(piece for bounds in options for piece in bounds[min(number, len(bounds) - 1)])
            for number in range(most)
        ]
        if len(chain.places) == 1:
            joined = [self._pruned(pieces, Where(chain.inside > 0)) for pieces in joined]
        return list({tuple(map(str, pieces)): pieces for pieces in joined if len(pieces) <= MOST_PIECES}.values())

    def _pruned(self, pieces: Sequence[fmpq_mpoly], where: Where) -> Pieces:
        """Return the polynomials without those that are at most another one at all these positions."""
        self._reader.spend(len(pieces) ** 2 // 16)
        kept: list[fmpq_mpoly] = []
        for piece in pieces:
            if not any(self.lengths.never_negative(one - piece, where) for one in kept):
                kept = [one for one in kept if not self.lengths.never_negative(piece - one, where)]
                kept.append(piece)
        return tuple(kept)


def _facts(known: Type, chain: Chain) -> Iterator[Affine]:
    """Yield forms that are >= 0 because the type contains the result of a comparison."""
    for feature, values in known.items():
        if isinstance(feature.what, Affine) and set(feature.places) <= set(chain.places):
            for sign in (1, -1):
                if -sign not in values:
                    yield feature.what.scaled(sign) - Affine.constant(0 if 0 in values else 1)


def _covered(quantity: Quantity, chain: Chain) -> range:
    """Return the numbers of the chain's segments that a sum contains; segment k is before place number k."""
    at = chain.places.index(quantity.place)
    return {BEFORE: range(at + 1), HERE: range(0), AFTER: range(at + 1, len(chain.places) + 1)}[quantity.side]


def _over(pieces: Pieces, first: fmpq_mpoly, last: fmpq_mpoly) -> Pieces:
    """Return a bound of a sum over the positions first..last of numbers with a bound; 0 if no such position is
    possible.

    For a single polynomial, it is the polynomial's sum; for several, the number of positions times the largest value.
    """
    if not pieces:
        return (ZERO,)
    if len(pieces) == 1:
        total = summed_up(pieces[0], first, last)
        if total is not None:
            return (total,)
    return tuple(one * (last - first + 1) for piece in pieces for one in controls(piece, "i", first, last))


def _added(options: Sequence[list[Pieces]]) -> list[Pieces]:
    """Return at most MOST_BOUNDS bounds of a sum of numbers, given bounds of each: one for each choice of these, unless
    it has more than MOST_PIECES polynomials."""
    found: list[Pieces] = []
    for choice in product(*options):
        if len(found) < MOST_BOUNDS and prod(map(len, choice)) <= MOST_PIECES:
            found.append(tuple(sum(parts, ZERO) for parts in product(*choice)))
    return found
