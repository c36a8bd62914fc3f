"""Evaluate a program's expressions symbolically at a place, under a *local type*: what is known of the symbols and
vectors there.

An integer is a linear form (`Affine`) over quantities: 1, n, positions, values that attention reads, and sums of an
expression over the positions before, at or after a place. So a prefix sum is the sum of its term over j < i plus its
term at i, a count is a sum of 0s and 1s, and equal quantities cancel. A type restricts the values of features: the
symbol at a place, the value that attention found there, the sign of an integer that is compared. If an expression
depends on more than the type tells, the type is split.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final, NamedTuple, TypeAlias, TypeVar

from hardsim.compiling.from_srasp.scores import folded, indices
from hardsim.lang import ast
from hardsim.lang.arith import COMPARISONS
from hardsim.network.numbers import ONE, Rational
from hardsim.program.hard_attention import Affine

LENGTH: Final = "n"
"""The name of the quantity n."""
BEFORE, HERE, AFTER = "<", "=", ">"
SIDES: Final[Mapping[ast.Mask, str]] = {"1": "<=>", "j<i": "<", "j<=i": "<=", "j>i": ">", "j>=i": "=>"}
"""The sides of i on which each mask allows j."""
DEEPEST: Final = 80
"""The greatest depth of nested expressions, with the vectors that they refer to counted."""
MOST_TUPLES: Final = 256
"""The greatest number of tuples of symbols that are tried to see whether all of them, or none, are in a relation."""

Values: TypeAlias = frozenset[Hashable]
LocalValue: TypeAlias = "bool | str | Affine | Feature"
"""The value of an expression: a Boolean, a symbol (or the feature that it equals), or an integer as a linear form."""
Places: TypeAlias = Mapping[ast.Index, str]
"""The places that i and j stand for."""
T = TypeVar("T")


class Quantity(NamedTuple):
    """An integer at a place.

    `kind` is `position`: the place itself; `vector`: the integer that attention reads into the vector `which`; or
    `sum`: expression number `which`, a function of i, the place, and j, summed over the j on one `side` of the place.
    """

    kind: str
    place: str
    which: str = ""
    side: str = ""

    @property
    def name(self) -> str:
        """The variable that stands for this quantity in a linear form."""
        return " ".join(self)


def quantities(form: Affine) -> Iterator[tuple[Quantity, Rational]]:
    """Yield the quantities of a form other than 1 and n, with their coefficients."""
    for name, coefficient in form.terms:
        if name not in (ONE, LENGTH):
            yield Quantity(*name.split(" ")), coefficient


class Feature(NamedTuple):
    """A property with finitely many values: the `symbol` at a place, a `vector` that attention writes, the `sign` of
    a linear form, or the truth of another `test`."""

    kind: str
    places: tuple[str, ...]
    what: Hashable = ""


Type: TypeAlias = Mapping[Feature, Values]
"""A local type: the values that features may have. A feature that is not mentioned may have any of its values."""


def moved(form: Affine, places: Mapping[str, str]) -> Affine:
    """Return a form with places replaced."""
    terms = [(name, factor) for name, factor in form.terms if name in (ONE, LENGTH)]
    for quantity, factor in quantities(form):
        place = places.get(quantity.place, quantity.place)
        terms.append((quantity._replace(place=place).name, factor))
    return Affine.of(terms)


def known_at(known: Type, place: str, new: str) -> dict[Feature, Values]:
    """Return what a type says about `place` alone, restated for the place `new`."""
    result: dict[Feature, Values] = {}
    for feature, values in known.items():
        if feature.places == (place,):
            what = moved(feature.what, {place: new}) if isinstance(feature.what, Affine) else feature.what
            result[Feature(feature.kind, (new,), what)] = values
    return result


class TooManyTypes(Exception):
    """The program has too many types, or is nested too deeply."""


class Split(Exception):
    """Raised when a type does not decide an expression: names a feature, and the parts of its values that decide it."""

    def __init__(self, feature: Feature, parts: Sequence[Values]) -> None:
        super().__init__(feature)
        self.feature, self.parts = feature, parts


class LocalReader:
    """Evaluates a program's expressions under local types, at most `most` of them in all."""

    def __init__(self, program: ast.SraspProgram, most: int) -> None:
        self.program = program
        self.tuples = {relation.name: frozenset(relation.tuples) for relation in program.relations}
        self.terms: list[ast.Expression] = []
        """The expressions that are summed up, and the tests, by number."""
        first: dict[ast.RightHandSide, str] = {}
        self._same = {one.name: first.setdefault(one.right, one.name) for one in program.statements}
        self._left, self._depth = most, 0
        self._numbers: dict[ast.Expression, str] = {}
        self._elsewhere: dict[str, Affine | None] = {}
        self._vectors: tuple[Type, dict[tuple[str, str], LocalValue]] = ({}, {})

    # ---- types ----

    def cases(self, start: Type, found: Callable[[Type], T], place: str | None = None) -> Iterator[tuple[Type, T]]:
        """Yield `found` of types that together refine `start`, with these types. A type is split whenever `found`
        raises Split.

        If a place is given, types are split only by features of that place; other splits are left to the caller. Raises
        TooManyTypes if there are too many types; Split by features of other places."""
        waiting: list[Type] = [start]
        while waiting:
            self.spend(1)
            known = waiting.pop()
            try:
                result = found(known)
            except Split as split:
                if place is not None and place not in split.feature.places:
                    raise
                waiting += [{**known, split.feature: part} for part in split.parts]
            else:
                yield known, result

    def spend(self, types: int) -> None:
        """Count types, or other work that costs as much; raise TooManyTypes if the limit is passed."""
        self._left -= types
        if self._left < 0:
            raise TooManyTypes

    def values(self, feature: Feature, known: Type) -> Values:
        """Return the values that a feature may have under a type."""
        if feature in known:
            return known[feature]
        if feature.kind == "sign":
            return frozenset((-1, 0, 1))
        vectors = self.program.vectors
        is_vector = feature.kind == "vector"
        if feature.kind == "symbol" or (is_vector and vectors[str(feature.what)].sort is ast.Sort.SYMBOL):
            return frozenset(self.program.symbols)
        return frozenset((False, True))

    def decide_feature(self, feature: Feature, allowed: Values, known: Type) -> bool:
        """Return True if a feature has one of the `allowed` values. Raises Split if the type does not decide it."""
        values = self.values(feature, known)
        inside = values & allowed
        if inside and inside != values:
            raise Split(feature, (inside, values - allowed))
        return bool(inside)

    # ---- expressions ----

    def number(self, node: ast.Expression) -> str:
        """Return the number of an expression among `terms`, as text. A new expression is added there."""
        if node not in self._numbers:
            self._numbers[node] = str(len(self.terms))
            self.terms.append(node)
        return self._numbers[node]

    def integer(self, node: ast.Expression, places: Places, known: Type) -> Affine:
        """Evaluate an integer expression. Raises Split and TooManyTypes."""
        found = self.value(node, places, known)
        assert isinstance(found, Affine)
        return found

    def value(self, node: ast.Expression, places: Places, known: Type) -> LocalValue:
        """Evaluate an expression. Raises Split and TooManyTypes."""
        if self._depth > DEEPEST:
            raise TooManyTypes
        self._depth += 1
        try:
            return self._value(node, places, known)
        finally:
            self._depth -= 1

    def _value(self, node: ast.Expression, places: Places, known: Type) -> LocalValue:
        match node:
            case ast.Truth(constant) | ast.SymbolLiteral(constant):
                return constant
            case ast.Integer(constant):
                return Affine.constant(constant)
            case ast.Position(index):
                return Affine.coordinate(Quantity("position", places[index]).name)
            case ast.Length():
                return Affine.coordinate(LENGTH)
            case ast.InputSymbol(index):
                return Feature("symbol", (places[index],))
            case ast.HasSymbol(symbol, index):
                return self.decide_feature(Feature("symbol", (places[index],)), frozenset((symbol,)), known)
            case ast.Ref(name, index):
                return self._vector(name, places[index], known)
            case ast.Conditional(test, then, otherwise):
                return self.value(then if self.value(test, places, known) else otherwise, places, known)
            case ast.AsInteger(arg):
                return Affine.constant(1 if self.value(arg, places, known) else 0)
            case ast.Scale(factor, arg):
                return self.integer(arg, places, known).scaled(factor)
            case ast.Sum(op, left, right):
                first, second = self.integer(left, places, known), self.integer(right, places, known)
                return first + second if op == "+" else first - second
            case _:
                return self._truth(node, places, known)

    def _truth(self, node: ast.Expression, places: Places, known: Type) -> bool:
        match node:
            case ast.Not(arg):
                return not self.value(arg, places, known)
            case ast.Nary("^", args):
                return sum(bool(self.value(arg, places, known)) for arg in args) % 2 == 1
            case ast.Nary(op, args):
                return self._joined(op == "|", args, places, known)
            case ast.Arrow("->", left, right):
                return self._joined(True, (ast.Not(left), right), places, known)
            case ast.Arrow(_, left, right):
                return self.value(left, places, known) == self.value(right, places, known)
            case ast.Member(arg, symbols):
                return self._related((arg,), lambda values: values[0] in symbols, places, known)
            case ast.Related(name, args):
                return self._related(args, lambda values: values in self.tuples[name], places, known)
            case ast.Compare():
                return self._compared(node, places, known)
            case _:
                raise AssertionError(f"{type(node).__name__} is no expression")

    def _joined(self, absorbing: bool, args: Sequence[ast.Expression], places: Places, known: Type) -> bool:
        """Evaluate a disjunction (`absorbing` is True) or a conjunction (False). The type is split only if no operand
        decides."""
        undecided: Split | None = None
        for arg in args:
            try:
                if self.value(arg, places, known) is absorbing:
                    return absorbing
            except Split as split:
                undecided = undecided or split
        if undecided is not None:
            raise undecided
        return not absorbing

    def _compared(self, node: ast.Compare, places: Places, known: Type) -> bool:
        op, left, right = node.op, node.left, node.right
        match left.sort:
            case ast.Sort.INT:
                difference = self.integer(left, places, known) - self.integer(right, places, known)
                return self._signed(op, difference, known)
            case ast.Sort.SYMBOL:
                same = self._related((left, right), lambda values: values[0] == values[1], places, known)
            case ast.Sort.BOOL:
                same = self.value(left, places, known) == self.value(right, places, known)
            case ast.Sort.RATIONAL:
                where = tuple(places[index] for index in sorted(indices(node)))
                return self.decide_feature(Feature("test", where, self.number(node)), frozenset((True,)), known)
        return same is (op == "=")

    def _signed(self, op: ast.CompareOp, form: Affine, known: Type) -> bool:
        """Return the truth of `form op 0`. A form and its negation share one feature, the one whose first coefficient
        is positive."""
        if all(name == ONE for name, _ in form.terms):
            return COMPARISONS[op](dict(form.terms).get(ONE, 0), 0)
        sign = next(1 if coefficient > 0 else -1 for name, coefficient in form.terms if name != ONE)
        allowed = frozenset(value for value in (-1, 0, 1) if COMPARISONS[op](sign * value, 0))
        where = tuple(sorted({quantity.place for quantity, _ in quantities(form)}))
        return self.decide_feature(Feature("sign", where, form.scaled(sign)), allowed, known)

    def _related(
        self, args: Sequence[ast.Expression], holds: Callable[[tuple[Hashable, ...]], bool], places: Places, known: Type
    ) -> bool:
        """Return the truth of a relation of symbols. If one symbol is open, its values are split in two parts; if
        several are, one of them is split into single values."""
        found = [self.value(arg, places, known) for arg in args]
        options = [self.values(one, known) if isinstance(one, Feature) else frozenset((one,)) for one in found]
        free = {one: values for one, values in zip(found, options, strict=True) if isinstance(one, Feature)}
        open_ones = [feature for feature, values in free.items() if len(values) > 1]
        if len(open_ones) == 1:
            (feature,) = open_ones

            def whole(value: Hashable) -> tuple[Hashable, ...]:
                return tuple(
                    value if one == feature else min(some, key=str) for one, some in zip(found, options, strict=True)
                )

            return self.decide_feature(
                feature, frozenset(value for value in free[feature] if holds(whole(value))), known
            )
        few = prod(map(len, options)) <= MOST_TUPLES
        outcomes = {holds(values) for values in product(*options)} if few else {True, False}
        if len(outcomes) == 2:
            raise Split(open_ones[0], [frozenset((value,)) for value in sorted(free[open_ones[0]], key=str)])
        return outcomes.pop()

    # ---- vectors ----

    def _vector(self, name: str, place: str, known: Type) -> LocalValue:
        if self._vectors[0] is not known:
            self._vectors = known, {}
        made = self._vectors[1]
        if (name, place) not in made:
            made[name, place] = self._defined(self._same[name], place, known)
        return made[name, place]

    def _defined(self, name: str, place: str, known: Type) -> LocalValue:
        match self.program.vectors[name].right:
            case ast.PositionWise(expr):
                return self.value(expr, {"i": place}, known)
            case ast.PrefixSum(term):
                return self._sum(term, SIDES["j<=i"], place)
            case ast.MatchCount(mask, score):
                return self._sum(ast.AsInteger(score), SIDES[mask], place)
            case ast.Attention() as attention:
                if attention.sort is ast.Sort.INT:
                    elsewhere = self._read_elsewhere(name, attention)
                    alone = Affine.coordinate(Quantity("vector", place, name).name)
                    return alone if elsewhere is None else moved(elsewhere, {"i": place})
                feature = Feature("vector", (place,), name)
                return (
                    feature
                    if attention.sort is ast.Sort.SYMBOL
                    else self.decide_feature(feature, frozenset((True,)), known)
                )
            case _:
                raise AssertionError(f"{name} is a mean, which is only compared")

    def _sum(self, term: ast.Expression, sides: str, place: str) -> Affine:
        number = self.number(term)
        return Affine.of([(Quantity("sum", place, number, side).name, 1) for side in sides])

    def _read_elsewhere(self, name: str, attention: ast.Attention) -> Affine | None:
        """Return the integer that attention reads at the last position, or at the one before i, in terms of i; None
        if it reads at another place, or has no such form."""
        if name not in self._elsewhere:
            self._elsewhere[name] = None
            if folded(attention.score, self.tuples) == ast.Truth(True) and "i" not in indices(attention.value):
                try:
                    value = self.integer(attention.value, {"j": "i"}, {})
                    default = self.integer(attention.default, {"i": "i"}, {})
                except Split:
                    return None
                self._elsewhere[name] = self._moved_sums(attention, value, default)
        return self._elsewhere[name]

    def _moved_sums(self, attention: ast.Attention, value: Affine, default: Affine) -> Affine | None:
        """Rewrite a linear form in sums over 1..j as one in sums in terms of i, for j = n or j = i - 1; None if that
        is impossible.

        At n, the sum over 1..n is the sum over the j < i, i itself, and the j > i. At i - 1, the sum over 1..i-1 is
        the sum over the j < i; for i = 1 it is 0 and the position is 0, so the default must equal these.
        """
        last = attention.side == "rightmost" and attention.mask in ("1", "j>=i")
        if not last and (attention.side, attention.mask) != ("rightmost", "j<i"):
            return None
        fixed = Affine.of([(name, c) for name, c in value.terms if name in (ONE, LENGTH)])
        terms, sums = list(fixed.terms), dict[str, dict[str, Rational]]()
        for quantity, factor in quantities(value):
            if quantity.kind == "vector":
                return None
            if quantity.kind == "sum":
                sums.setdefault(quantity.which, {})[quantity.side] = factor
            else:
                terms += [(LENGTH, factor)] if last else [(quantity.name, factor), (ONE, -factor)]
        for number, factors in sums.items():
            upto = factors.get(BEFORE, 0)
            if upto != factors.get(HERE, 0) or "i" in indices(self.terms[int(number)]):
                return None
            if not last and AFTER in factors:
                return None
            terms += [(Quantity("sum", "i", number, side).name, upto) for side in (SIDES["1"] if last else BEFORE)]
        return Affine.of(terms) if last or default == fixed else None
