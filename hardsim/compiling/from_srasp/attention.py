"""Compile expressions and attention: from the plan of a score to heads, and from their outputs to a vector's value.

A score cannot express the order or the inequality of integers directly: a score that is exactly the truth value of
`v(j) >= u(i)` would have rank n. Two other constructions work: prefix maxima, which turn order into an interval that
u lies in, and the places where v changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Final, TypeAlias, TypeVar

from hardsim.compiling.from_srasp.network import (
    CONSTANT,
    NATURAL,
    POSITION,
    Average,
    Boolean,
    Interval,
    NetworkBuilder,
    Pair,
    ScaledInteger,
    Selection,
    Symbols,
    Value,
)
from hardsim.compiling.from_srasp.scores import MIRRORED, Case, Comparison, Terms
from hardsim.lang import ast
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask
from hardsim.program.hard_attention import Affine

MASKS: Final[dict[ast.Mask, Mask]] = {
    "1": Mask.NONE,
    "j<i": Mask.STRICT_FUTURE,
    "j<=i": Mask.FUTURE,
    "j>i": Mask.STRICT_PAST,
    "j>=i": Mask.PAST,
}
HALF: Final = Fraction(1, 2)
Score: TypeAlias = tuple[list[Pair], str]
"""A score, as pairs of query and key forms, and the declared gap of its rows."""
Sides: TypeAlias = tuple[ScaledInteger, ScaledInteger]
"""The integers that a comparison in a score compares: the one at i and the one at j, both written over i."""
V = TypeVar("V", Boolean, ScaledInteger, Symbols, Average)
BACK: Final[tuple[ast.Side, Mask]] = ("rightmost", Mask.STRICT_FUTURE)
"""Attention to the position before i."""
ONWARD: Final[tuple[ast.Side, Mask]] = ("leftmost", Mask.STRICT_PAST)
"""Attention to the position after i."""


@dataclass(frozen=True)
class Attended:
    """The values that attention reads (0 if there is no j), and a function that makes the Boolean "there is no j".
    The Boolean is only compiled if that function is called."""

    values: tuple[Value, ...]
    missing: Callable[[], Boolean]


class Evaluator(NetworkBuilder):
    """Compiles expressions at i over the vectors compiled so far. Equal expressions are compiled once.

    `known` is the value of every vector by name; `input` holds the one-hot coordinates of the input symbol.
    """

    def __init__(self, program: ast.SraspProgram) -> None:
        super().__init__(program.symbols)
        self.source = program.source
        self.tuples = {relation.name: frozenset(relation.tuples) for relation in program.relations}
        self.known: dict[str, Value] = {}
        letters = {symbol: Boolean(self.letter(f"in = {symbol}", [symbol])) for symbol in program.symbols}
        self.input = Symbols(letters)
        self._done: dict[ast.Expression, Value] = {}

    def value(self, node: ast.Expression, name: str) -> Value:
        """Compile an expression that does not read j. Its coordinates are named after `name`."""
        if node not in self._done:
            self._done[node] = self._made(node, name)
        return self._done[node]

    def of(self, sort: type[V], node: ast.Expression, name: str) -> V:
        """Compile an expression of a known sort."""
        value = self.value(node, name)
        assert isinstance(value, sort)
        return value

    def _made(self, node: ast.Expression, name: str) -> Value:
        match node:
            case ast.Ref(vector):
                return self.known[vector]
            case ast.Conditional(test, then, otherwise):
                holds = self.of(Boolean, test, f"{name}.0" if node.sort is ast.Sort.BOOL else f"{name}?")
                return self.selected(holds, self.value(then, f"{name}.1"), self.value(otherwise, f"{name}.2"), name)
            case ast.Truth(truth):
                return self.true if truth else self.false
            case ast.HasSymbol(symbol):
                return self.is_symbol(self.input, symbol)
            case ast.Not(arg):
                return self.negation(self.of(Boolean, arg, name))
            case ast.Nary(op, args):
                parts = [self.of(Boolean, arg, f"{name}.{number}") for number, arg in enumerate(args, 1)]
                combine = {"&": self.conjunction, "|": self.disjunction, "^": self.parity}[op]
                return combine(parts, name)
            case ast.Arrow(op, left, right):
                return self._arrow(op, left, right, name)
            case ast.Member(arg, symbols):
                value = self.of(Symbols, arg, name)
                return self.disjoint([(self.is_symbol(value, symbol),) for symbol in symbols], name)
            case ast.Related(relation, args):
                return self._related(relation, args, name)
            case ast.Compare(op, left, right):
                return self._compare(op, left, right, name)
            case ast.SymbolLiteral(symbol):
                return Symbols({symbol: self.true})
            case ast.InputSymbol():
                return self.input
            case ast.Integer(number):
                return self.constant(number)
            case ast.Position():
                return self.position
            case ast.Length():
                return self.length
            case ast.AsInteger(arg):
                return self.counted(self.of(Boolean, arg, name), name)
            case ast.Sum(op, left, right):
                other = self.of(ScaledInteger, right, f"{name}.2")
                return self.of(ScaledInteger, left, f"{name}.1") + (other if op == "+" else other.scaled(-1))
            case ast.Scale(factor, arg):
                return self.of(ScaledInteger, arg, name).scaled(factor)
            case _:
                raise AssertionError(f"{node} reads more than one position")

    def _arrow(self, op: ast.ArrowOp, left: ast.Expression, right: ast.Expression, name: str) -> Boolean:
        one, two = self.of(Boolean, left, f"{name}.1"), self.of(Boolean, right, f"{name}.2")
        if op == "->":
            return self.disjunction([self.negation(one), two], name)
        return self.negation(self.parity([one, two], name))

    def _compare(self, op: ast.CompareOp, left: ast.Expression, right: ast.Expression, name: str) -> Boolean:
        if op == "!=":
            return self.negation(self._compare("=", left, right, name))
        if left.sort is ast.Sort.BOOL:
            return self._arrow("<->", left, right, name)
        if left.sort is ast.Sort.RATIONAL:
            return self._compare_means(op, left, right, name)
        if left.sort is ast.Sort.SYMBOL:
            one, two = self.of(Symbols, left, f"{name}.1").forms, self.of(Symbols, right, f"{name}.2").forms
            return self.disjoint([(one[symbol], two[symbol]) for symbol in one if symbol in two], name)
        first, second = self.of(ScaledInteger, left, f"{name}.1"), self.of(ScaledInteger, right, f"{name}.2")
        if op == "=":
            return self.equal(first, second, name)
        if op in (">", ">="):
            first, second = second, first
        return self.at_most(first + self.constant(1) if op in ("<", ">") else first, second, name)

    def _compare_means(self, op: ast.CompareOp, left: ast.Expression, right: ast.Expression, name: str) -> Boolean:
        """Return the Boolean of a comparison between a mean and another mean or a constant."""
        if isinstance(left, ast.RationalConstant):
            return self._compare_means(MIRRORED[op], right, left, name)
        mean = self.of(Average, left, name)
        other = right.value if isinstance(right, ast.RationalConstant) else self.of(Average, right, name)
        if op == "=":
            above = self.mean_at_least(mean, other, False, f"{name} >=")
            beyond = self.mean_at_least(mean, other, True, f"{name} >")
            return Boolean(above.form - beyond.form, raw=True)
        if op in ("<", "<="):
            return self.negation(self.mean_at_least(mean, other, op == "<=", name))
        return self.mean_at_least(mean, other, op == ">", name)

    def _related(self, relation: str, args: Sequence[ast.Expression], name: str) -> Boolean:
        """Return the Boolean that a tuple of symbols is in a relation. The tuples are disjoint cases; tuples that
        differ only in the last symbol are one case."""
        values = [self.of(Symbols, arg, f"{name}.{number}") for number, arg in enumerate(args, 1)]
        lasts: dict[tuple[str, ...], list[str]] = {}
        for entry in sorted(self.tuples[relation]):
            lasts.setdefault(entry[:-1], []).append(entry[-1])
        cases: list[tuple[Boolean, ...]] = []
        for start, ends in lasts.items():
            firsts = [self.is_symbol(value, symbol) for value, symbol in zip(values, start, strict=False)]
            last = self.disjoint([(self.is_symbol(values[-1], symbol),) for symbol in ends], name)
            cases.append((*firsts, last))
        return self.disjoint(cases, name)

    # ---- scores ----

    def total(self, terms: Terms, name: str) -> ScaledInteger:
        """Return a linear combination of integer expressions."""
        parts = (self.of(ScaledInteger, node, name).scaled(factor) for factor, node in terms)
        return reduce(lambda total, part: total + part, parts, self.constant(0))

    def sides(self, comparison: Comparison, name: str) -> Sides:
        """Return the two integers of a comparison: the one at i and the one at j, both written over i."""
        return self.total(comparison.here, f"{name}.u"), self.total(comparison.there, f"{name}.v")

    def boolean_terms(self, cases: Sequence[Case], name: str) -> list[Pair]:
        """Return the score `sum_t A_t(i) B_t(j)`, which is 1 where it is true and 0 elsewhere. Cases with the same
        B_t share one term."""
        wheres: dict[ast.Expression, list[list[Boolean]]] = {}
        for case in cases:
            literals = [self._literal(node, value, name) for node, value in case.where]
            wheres.setdefault(case.then, []).append(literals)
        terms: list[Pair] = []
        for number, (then, where) in enumerate(wheres.items(), 1):
            here = self.rounded(self.disjoint(where, f"{name}: case {number}"), f"{name}: case {number}")
            there = self.of(Boolean, then, f"{name}: key {number}")
            terms.append((here.form, self.rounded(there, f"{name}: key {number}").form))
        return terms

    def _literal(self, node: ast.Expression, value: bool | str, name: str) -> Boolean:
        if isinstance(value, str):
            return self.is_symbol(self.of(Symbols, node, name), value)
        truth = self.of(Boolean, node, name)
        return truth if value else self.negation(truth)

    def boolean_score(self, side: ast.Side, terms: Sequence[Pair]) -> Score:
        """Return the score that finds the leftmost or rightmost j at which a Boolean score is 1.

        The score is 1 or 0 at j >= 1 and 1/2 at BOS, minus (leftmost) or plus j/(4n). A match has 3/4 or more, BOS
        1/2, and a position that does not match at most 1/4. Between matches the gap is 1/(4n) or more, otherwise it
        is 1/4 or more.
        """
        position = self.encoding(POSITION)
        key = self.begin.scaled(HALF) + position.scaled(Fraction(1, 4) * (1 if side == "rightmost" else -1))
        return [*terms, (CONSTANT, key)], "1/(4*n)"

    def equality_score(self, side: ast.Side, terms: Sequence[Pair], pairs: Sequence[Sides], name: str) -> Score:
        """Return the score that finds the leftmost or rightmost j at which a Boolean score is 1 and integers u(i) and
        v(j) are equal.

        The score is `5 Bool - sum (u - v_j)^2 / n^2` at j >= 1 and `5 - 1/(2n^2)` at BOS, minus or plus
        `(1/n^2)(j/n)/8`. A match has at least 5 - 1/(8n^2); an integer that differs costs 1/n^2, a false Boolean 5.
        So between matches the gap is 1/(8n^3) or more, otherwise 3/(8n^2) or more. The square of u is the same for
        all j >= 1: instead, BOS has it with the opposite sign.
        """
        square = self.encoding("1/n^2")
        tie = Fraction(1, 8) * (1 if side == "rightmost" else -1)
        score = self._equalities(terms, pairs, name)
        score.append((self.inverse, self.begin_inverse.scaled(-HALF)))
        score.append((square, self.encoding(POSITION).scaled(tie)))
        return score, "1/(8*n^3)"

    def _equalities(self, terms: Sequence[Pair], pairs: Sequence[Sides], name: str) -> list[Pair]:
        """Return terms of the score `5 Bool - sum (u - v_j)^2 / n^2` at j >= 1 and 5 at BOS."""
        score: list[Pair] = [(here.scaled(5), there) for here, there in terms]
        score.append((CONSTANT, self.begin.scaled(5)))
        for number, (u, v) in enumerate(pairs, 1):
            score += self._difference(u, v, f"{name}: u{number}", f"{name}: v{number}")
        return score

    def _difference(self, u: ScaledInteger, v: ScaledInteger, here_name: str, there_name: str) -> list[Pair]:
        """Return terms of `-(u - v)^2/n^2` relative to BOS, and of the penalty for an integer out of range.

        A square that is looked up stops at 1, so with |u| <= B n, |v| <= C n the terms could reach 2BC. An integer
        that may be out of range has a Boolean that says so. Where it is true, 2BC + 2 is added to BOS (u) or
        subtracted from j (v), and the integer matches nothing: BOS is ahead by 2 - 1/2 - 1/8 or more.
        """
        here, there = self.settled(u, here_name), self.settled(v, there_name)
        penalty = 2 * u.interval.size * v.interval.size + 2
        return [
            (here.scaled(2), there),
            (CONSTANT, self.square(v, there_name).scaled(-1)),
            (self.square(u, here_name), self.begin),
            (self.outside(u, here_name).form.scaled(penalty), self.begin),
            (CONSTANT, self.outside(v, there_name).form.scaled(-penalty)),
        ]

    def outside(self, value: ScaledInteger, name: str) -> Boolean:
        """Return the Boolean that an integer is outside [-n, n]. It is false if the integer's square is exact without
        a look-up, since then the range does not matter."""
        if self.exact_square(value) is not None:
            return self.false
        limit = self.length + self.constant(1)
        sides = [
            self.at_least_zero(value.scaled(sign) + limit.scaled(-1), f"{name} out of range {mark}")
            for sign, mark in ((1, "+"), (-1, "-"))
        ]
        label = f"{name} out of range"
        return self.rounded(self.disjoint([(part,) for part in sides], label), label)

    # ---- reading ----

    def read(self, mask: Mask, score: Sequence[Pair], gap: str, values: Sequence[Value], name: str) -> Attended:
        """Read values at the maximum of a score. If there is no j, the maximum is BOS, where each value is 0."""

        def attended(form: Affine, label: str) -> Affine:
            return self.attend(label, mask, score, gap, form) if form.terms else form

        def fetched(value: Value, label: str) -> Value:
            match value:
                case Boolean():
                    form = attended(self.rounded(value, f"{label} rounded").form, label)
                    return Boolean(form, raw=bool(form.terms))
                case ScaledInteger():
                    bounds = value.interval.hull(Interval.constant(0))
                    return ScaledInteger(attended(self.settled(value, label), label), bounds)
                case Symbols(forms):
                    parts = {symbol: fetched(form, f"{label} = {symbol}") for symbol, form in forms.items()}
                    return Symbols({symbol: part for symbol, part in parts.items() if isinstance(part, Boolean)})
                case Average():
                    raise AssertionError(f"{label} is a mean, which is only compared")

        def missing() -> Boolean:
            # BOS sees itself, and its own query prefers it: the flag is 1 there, and must be 0.
            return Boolean(attended(self.begin, f"{name}: none") - self.begin, raw=True)

        labels = [name if len(values) == 1 else f"{name}: read {number}" for number in range(1, len(values) + 1)]
        return Attended(tuple(fetched(value, label) for value, label in zip(values, labels, strict=True)), missing)

    def nearest(self, side: ast.Side, mask: Mask, key: Affine, values: Sequence[Value], name: str) -> Attended:
        """Read values at the leftmost or rightmost j at which a Boolean of j (`key`) is true."""
        return self.read(mask, *self.boolean_score(side, [(self.real, key)]), values, name)

    # ---- counts and means ----

    def selection(self, mask: Mask, terms: Sequence[Pair], pairs: Sequence[Sides], name: str) -> Selection:
        """Return the selection of all j with a Boolean score of 1 and equal integers u(i) and v(j), or of BOS alone
        if there is none.

        Without integers this is `boolean_selection`. With integers a match scores 5. A false Boolean scores 5 less,
        and an unequal integer at least 1/n^2 less. BOS scores 5 - 1/(2n^2), so the gap is 1/(2n^2). An integer out of
        range matches nothing (`_difference`).
        """
        if not pairs:
            return self.boolean_selection(mask, terms)
        below = (self.inverse, self.begin_inverse.scaled(-HALF))
        return Selection(mask, (*self._equalities(terms, pairs, name), below), "1/(2*n^2)")

    def unmatched(self, mask: Mask, terms: Sequence[Pair], pairs: Sequence[Sides], name: str) -> Boolean:
        """Return the Boolean that no j has a Boolean score of 1 and equal integers u(i) and v(j)."""
        score = self.equality_score("leftmost", terms, pairs, name) if pairs else self.boolean_score("leftmost", terms)
        return self.read(mask, *score, [], name).missing()

    def matches(self, mask: Mask, terms: Sequence[Pair], pairs: Sequence[Sides], name: str) -> ScaledInteger:
        """Return the number of j that have a Boolean score of 1 and equal integers u(i) and v(j).

        Every match has the same score as BOS. Without integers this is 1, against 1 or 0 at j >= 1. With integers it
        is 5; a false Boolean scores 5 less, and an integer that differs 1/n^2 or more less. An integer out of range
        matches nothing (`_difference`).
        """
        if pairs:
            return self.count(mask, self._equalities(terms, pairs, name), "1/n^2", name)
        return self.count(mask, [*terms, (CONSTANT, self.begin)], "1", name)

    def at_most_many(self, key: Boolean, u: ScaledInteger, v: ScaledInteger, name: str) -> ScaledInteger:
        """Return the number of all j whose key is true and `v(j) <= u(i)`, for u and v in [-n, n].

        Position k holds h(k), the number of such j with v(j) = k, and g(k), the number with v(j) = 1 - k. Their
        prefix sums H(k) and G(k) count 1 <= v(j) <= k and 1 - k <= v(j) <= 0, so they are in [0, n]. With N, the
        number of j with v(j) <= 0, the result is N + H(u) for u >= 1 and N - G(-u) for u <= 0: H is fetched at
        position u, which gives 0 for u <= 0, and G at position -u, which gives 0 for u >= 0. (Ours.)
        """
        low = self.conjunction([key, self.at_most(v, self.constant(0), f"{name}: v <= 0")], f"{name}: key, v <= 0")
        total = self.constant(0)
        if low != self.false:
            low = self.rounded(low, f"{name}: key, v <= 0")
            total = self.matches(Mask.NONE, [(self.real, low.form)], [], f"{name}: all v <= 0")
        every: list[Pair] = [(self.real, self.real)]
        for sign, place in ((1, self.position), (-1, self.constant(1) + self.position.scaled(-1))):
            if sign in u.interval.signs:
                label = f"{name}: v = {'k' if sign > 0 else '1-k'}"
                here = self.matches(Mask.NONE, [(self.real, key.form)], [(place, v)], label)
                upto = self.prefix_sum(here, self.mean(here, f"{label}, so far"), f"{label}, so far")
                label += ", fetched"
                score = self.equality_score("leftmost", every, [(u.scaled(sign), self.position)], label)
                (found,) = self.read(Mask.NONE, *score, [upto], label).values
                assert isinstance(found, ScaledInteger)
                total = total + found.scaled(sign)
        return total.within(NATURAL)

    # ---- order ----

    def order_score(self, side: ast.Side, op: ast.CompareOp, u: ScaledInteger, v: ScaledInteger, name: str) -> Score:
        """Return the score that finds the leftmost (or rightmost) j with `u(i) op v(j)`, for u and v in [-n, n].

        Suppose the leftmost j with v >= u is sought (for <= both are negated). m_j, the maximum of v up to j, and
        m'_j = m_(j-1) (-n-1 for j = 1) never fall, so with U = u - 1/2 (u + 1/2 if v > u is sought) there is at most
        one j with m'_j < U < m_j, and it is the first with v_j >= u. The score `-(U - m'_j)(U - m_j) / n^2` is at
        least 1/(4n^2) there and at most -1/(4n^2) elsewhere, since U is no integer. BOS has 0, so it is ahead if
        there is no such j, and behind by 1/(4n^2) or more otherwise, under every mask that cuts positions off on the
        right only. The score is bilinear: `-(1/n^2)(U^2 - U (m + m') + m m')`, with the square of U moved to BOS. The
        rightmost j is the mirror image.

        The tie-breaking term `(1/n^2)(j/n)/8` at j >= 1 changes no winner, and it makes the maximum unique by itself:
        the products are multiples of 1/(2n^2), from which BOS is 1/(4n^2) away, so all scores of a row differ, by
        1/(8n^3) or more.
        """
        if op in (">", ">="):
            u, v = u.scaled(-1), v.scaled(-1)
        query = self.settled(u, f"{name}.u")
        shift = HALF if op in ("<=", ">=") else -HALF
        top = self._extreme(side, v, f"{name}: max")
        before, product = self._before(side, top, f"{name}: max before")
        begin, inverse = self.begin, self.begin_inverse
        score: list[Pair] = [
            (query - self.inverse.scaled(shift), self.settled(top, name) + before),
            *product,
            (self.square(u, f"{name}.u"), begin),
            (query.scaled(-2 * shift), inverse),
            (self.inverse, inverse.scaled(Fraction(1, 4))),
            (self.encoding("1/n^2"), self.encoding(POSITION).scaled(Fraction(1, 8))),
            # At the query BOS, BOS itself wins: no product above exceeds (n + 1/2)^2 / n^2 <= 9/4.
            (begin, begin.scaled(4)),
        ]
        return score, "1/(8*n^3)"

    def _extreme(self, side: ast.Side, value: ScaledInteger, name: str) -> ScaledInteger:
        """Return m: the maximum of v over j <= i (leftmost) or j >= i (rightmost).

        The score is `v_j/n + j/(4n^2)`, and -2 at BOS, where v is at least -n: maxima that differ are 1/n apart,
        equal ones are 1/(4n^2) apart. The query of BOS gives 4 to BOS, more than 2 + 1 + 1/4, so that m is 0 there.
        """
        form = self.settled(value, name)
        score: list[Pair] = [
            (CONSTANT, form - self.begin.scaled(2)),
            (self.inverse, self.encoding(POSITION).scaled(Fraction(1, 4))),
            (self.begin, self.begin.scaled(4)),
        ]
        mask = Mask.FUTURE if side == "leftmost" else Mask.PAST
        return ScaledInteger(self.attend(name, mask, score, "1/(4*n^2)", form), value.interval)

    def _before(self, side: ast.Side, top: ScaledInteger, name: str) -> tuple[Affine, list[Pair]]:
        """Return m'/n, and terms of the score `-m m' / n^2`.

        m' is m at the neighbour, and -n-1 if there is no neighbour: at the edge, h = [edge]/n. With d = m - m' in [0,
        2n+1], m m' = (m^2 + m'^2 - d^2)/2. Look-ups give squares up to n^2 only; above, (over n) e = relu(d - 1) and
        f = relu(d - 2) continue them: d^2 = L(d) + 2e + L(e) + 2f + f/n, where f is 0 or 1/n, and m'^2 = L(m') + 2h +
        h/n.
        """
        beside = BACK if side == "leftmost" else ONWARD
        found = self.nearest(*beside, self.real, [top], f"{name} (fetched)")
        neighbour = found.values[0]
        assert isinstance(neighbour, ScaledInteger)
        edge = self.encoding("[i = 1]" if side == "leftmost" else "[i = n]")
        share = self.hidden(f"{name} / n", [(1, self.inverse - CONSTANT + edge)])
        before = neighbour.form - edge - share
        difference = top.form - before
        over = self.hidden(f"{name}: over", [(1, difference - CONSTANT)])
        twice = self.hidden(f"{name}: over twice", [(1, difference - CONSTANT.scaled(2))])

        def square(form: Affine, bounds: Interval, what: str) -> Affine:
            return self.square(ScaledInteger(form, bounds), f"{name}: {what}")

        natural = Interval((0, 0), (2, 1))
        sentinel = Interval((-1, -1), (-1, -1))
        squares = (
            square(top.form, top.interval, "m")
            + square(before, top.interval.hull(sentinel), "m'")
            + share.scaled(2)
            - square(difference, natural, "m - m'")
            - over.scaled(2)
            - square(over, natural, "over")
            - twice.scaled(2)
        )
        return before, [(CONSTANT, squares.scaled(-HALF)), (self.inverse, (share - twice).scaled(-HALF))]

    # ---- inequality ----

    def read_unequal(
        self, attention: ast.Attention, here: ScaledInteger, there: ScaledInteger, values: Sequence[Value], name: str
    ) -> Attended:
        """Read values at the leftmost or rightmost j with `v(j) != u(i)`.

        Let j0 be the first candidate that the mask allows: i, a neighbour of i, 1 or n. If v(j0) != u, j0 is the
        answer. Otherwise it is the next j, away from j0, with v(j) != v(j0). All positions between have the same v as
        j0, so it is the next j whose v differs from that of the position one step nearer to j0. The Boolean "v
        differs from the position one step to the left (right)" does not depend on i.

        If j0 is i or its neighbour, a strict mask must not find a change before j0. Therefore the change is written
        at the position k one step nearer, which reads its neighbour j = k -+ 1; the mask is then the attention's own.
        """
        near = (attention.side == "rightmost") == (attention.mask in ("j<i", "j<=i"))
        near = near and attention.mask != "1"
        leftwards = attention.side == "rightmost"
        # the position one step further from j0 (near), or nearer to it (far), in the direction of the search
        step = BACK if leftwards == near else ONWARD
        edge = Boolean(self.encoding("[i = 1]" if step is BACK else "[i = n]"))
        beside = self.nearest(*step, self.real, [there, *values], f"{name}: beside").values
        other = beside[0]
        assert isinstance(other, ScaledInteger)
        change = self._apart(there, other, edge, f"{name}: change")
        strict = attention.mask in ("j<i", "j>i")
        if near:
            start: Sequence[Value] = beside if strict else (there, *values)
            further: Sequence[Value] = beside[1:]
        else:
            end = self.nearest(attention.side, Mask.NONE, self.real, [there, *values], f"{name}: end")
            start, further = end.values, values
        first = start[0]
        assert isinstance(first, ScaledInteger)
        hit = self._apart(first, here, edge if strict else self.false, f"{name}: first")
        rest = self.nearest(attention.side, MASKS[attention.mask], change.form, further, f"{name}: next")
        chosen = [
            self.selected(hit, yes, no, f"{name}: read {number}")
            for number, (yes, no) in enumerate(zip(start[1:], rest.values, strict=True), 1)
        ]
        return Attended(tuple(chosen), lambda: self.conjunction([self.negation(hit), rest.missing()], f"{name}: none"))

    def _apart(self, left: ScaledInteger, right: ScaledInteger, edge: Boolean, name: str) -> Boolean:
        """Return the Boolean that two integers differ; it is false at an edge."""
        same = self.equal(left, right, name)
        return self.rounded(self.conjunction([self.negation(same), self.negation(edge)], name), name)
