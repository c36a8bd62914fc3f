"""Attention: from the plan of a score to heads, and from what they read to the value of the vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Final

from hardsim.lang.srasp import ast
from hardsim.rasp.builder import Pair
from hardsim.rasp.expressions import Evaluator
from hardsim.rasp.network import CONSTANT, POSITION, Network
from hardsim.rasp.scores import Case, Comparison, Terms
from hardsim.rasp.values import Boolean, Interval, Letters, Number, Value
from hardsim.spec.ir import Affine, Mask

MASKS: Final[dict[ast.Mask, Mask]] = {
    "1": Mask.NONE,
    "j<i": Mask.STRICT_FUTURE,
    "j<=i": Mask.FUTURE,
    "j>i": Mask.STRICT_PAST,
    "j>=i": Mask.PAST,
}
BOOLEAN_GAP: Final = "1/(4*n)"
EQUALITY_GAP: Final = "1/(8*n^3)"
HALF: Final = Fraction(1, 2)


@dataclass(frozen=True)
class Found:
    """What attention reads: values that are 0 where there is no j, and whether that is so (made when asked for)."""

    values: tuple[Value, ...]
    missing: Callable[[], Boolean]


@dataclass(frozen=True, slots=True)
class Equality:
    """`u(i) = v(j)` as numbers, u and v."""

    here: Number
    there: Number


class Attender:
    """Makes heads from cases and equalities.

    Args:
        network, evaluator: what the values are made with.
    """

    def __init__(self, network: Network, evaluator: Evaluator) -> None:
        self.network = network
        self.evaluator = evaluator

    def number(self, terms: Terms, name: str) -> Number:
        """A sum of integer expressions."""
        parts = (self.evaluator.number(node, name).scaled(factor) for factor, node in terms)
        return reduce(lambda total, part: total + part, parts, self.network.constant(0))

    def sides(self, comparison: Comparison, name: str) -> tuple[Number, Number]:
        """The two numbers of a comparison."""
        return self.number(comparison.here, f"{name}.u"), self.number(comparison.there, f"{name}.v")

    # ---- scores ----

    def boolean_terms(self, cases: Sequence[Case], name: str) -> list[Pair]:
        """`sum_t A_t(i) B_t(j)`, 1 where the score is true and 0 elsewhere; cases with the same B_t are one term."""
        network, evaluator = self.network, self.evaluator
        wheres: dict[ast.Expression, list[list[Boolean]]] = {}
        for case in cases:
            literals = [self._literal(node, value, name) for node, value in case.where]
            wheres.setdefault(case.then, []).append(literals)
        terms: list[Pair] = []
        for number, (then, where) in enumerate(wheres.items(), 1):
            here = network.rounded(network.disjoint(where, f"{name}: case {number}"), f"{name}: case {number}")
            there = evaluator.boolean(then, f"{name}: key {number}")
            terms.append((here.form, network.rounded(there, f"{name}: key {number}").form))
        return terms

    def _literal(self, node: ast.Expression, value: bool | str, name: str) -> Boolean:
        network = self.network
        if isinstance(value, str):
            return network.letters(self.evaluator.letters(node, name), value)
        truth = self.evaluator.boolean(node, name)
        return truth if value else network.negation(truth)

    def read_boolean(
        self, side: ast.Side, mask: Mask, terms: Sequence[Pair], values: Sequence[Value], name: str
    ) -> Found:
        """The leftmost or rightmost j at which a Boolean score is 1.

        Score: 1 or 0 at j >= 1 and 1/2 at BOS, minus (leftmost) or plus j/(4n). A match has 3/4 or more, BOS 1/2, what
        does not match at most 1/4; between matches the gap is 1/(4n) or more, else it is 1/4 or more.
        """
        network = self.network
        position = network.builder.encoding(POSITION)
        key = network.begin.scaled(HALF) + position.scaled(Fraction(1, 4) * (1 if side == "rightmost" else -1))
        return self.read(mask, [*terms, (CONSTANT, key)], BOOLEAN_GAP, values, name)

    def read_equal(
        self,
        side: ast.Side,
        mask: Mask,
        terms: Sequence[Pair],
        equalities: Sequence[Equality],
        values: Sequence[Value],
        name: str,
    ) -> Found:
        """The leftmost or rightmost j at which a Boolean score is 1 and integers are equal.

        Score: `5 Bool - sum (u - v_j)^2 / n^2` at j >= 1, `5 - 1/(2n^2)` at BOS, minus or plus `(1/n^2)(j/n)/8`. A
        match has at least 5 - 1/(8n^2); an integer that differs costs 1/n^2, a false Boolean 5. So between matches the
        gap is 1/(8n^3) or more, else 3/(8n^2) or more. The square of u is the same for all j >= 1: BOS has it with the
        other sign instead.
        """
        network = self.network
        builder = network.builder
        square = builder.encoding("1/n^2")
        tie = Fraction(1, 8) * (1 if side == "rightmost" else -1)
        score: list[Pair] = [(here.scaled(5), there) for here, there in terms]
        score.append((CONSTANT, network.begin.scaled(5)))
        score.append((network.inverse, network.begin_inverse.scaled(-HALF)))
        score.append((square, builder.encoding(POSITION).scaled(tie)))
        for number, equality in enumerate(equalities, 1):
            score += self._difference(equality, f"{name}: u{number}", f"{name}: v{number}")
        return self.read(mask, score, EQUALITY_GAP, values, name)

    def _difference(self, equality: Equality, here_name: str, there_name: str) -> list[Pair]:
        """Terms of `-(u - v)^2/n^2` against BOS, and of the penalty for a number out of range.

        A square that is looked up stops at 1, so with |u| <= B n, |v| <= C n the terms could reach 2BC. A number that
        may be out of range has a Boolean that says so; where it is true, 2BC + 2 goes to BOS (u) or is taken from j
        (v), and the number matches nothing: BOS is ahead by 2 - 1/2 - 1/8 or more.
        """
        network = self.network
        u, v = equality.here, equality.there
        here, there = network.settled(u, here_name), network.settled(v, there_name)
        penalty = 2 * u.interval.size * v.interval.size + 2
        return [
            (here.scaled(2), there),
            (CONSTANT, network.square(v, there_name).scaled(-1)),
            (network.square(u, here_name), network.begin),
            (self.outside(u, here_name).form.scaled(penalty), network.begin),
            (CONSTANT, self.outside(v, there_name).form.scaled(-penalty)),
        ]

    def outside(self, value: Number, name: str) -> Boolean:
        """Whether an integer has left [-n, n], as far as its square depends on it."""
        network = self.network
        if network.exact_square(value) is not None:
            return network.false
        limit = network.length + network.constant(1)
        sides = [
            network.at_least_zero(value.scaled(sign) + limit.scaled(-1), f"{name} out of range {mark}")
            for sign, mark in ((1, "+"), (-1, "-"))
        ]
        label = f"{name} out of range"
        return network.rounded(network.disjoint([(part,) for part in sides], label), label)

    # ---- reading ----

    def read(self, mask: Mask, score: Sequence[Pair], gap: str, values: Sequence[Value], name: str) -> Found:
        """The values at the maximum of a score, which is BOS where there is no j; each is 0 there."""
        network = self.network
        builder = network.builder

        def attended(form: Affine, label: str) -> Affine:
            return builder.attend(label, mask, score, gap, form) if form.terms else form

        def fetched(value: Value, label: str) -> Value:
            match value:
                case Boolean():
                    form = attended(network.rounded(value, f"{label} rounded").form, label)
                    return Boolean(form, raw=bool(form.terms))
                case Number():
                    bounds = value.interval.hull(Interval.constant(0))
                    return Number(attended(network.settled(value, label), label), bounds)
                case Letters(forms):
                    parts = {symbol: fetched(form, f"{label} = {symbol}") for symbol, form in forms.items()}
                    return Letters({symbol: part for symbol, part in parts.items() if isinstance(part, Boolean)})

        def missing() -> Boolean:
            # BOS sees itself, and its own query prefers it: the flag is 1 there, and must be 0.
            return Boolean(attended(network.begin, f"{name}: none") - network.begin, raw=True)

        labels = [name if len(values) == 1 else f"{name}: read {number}" for number in range(1, len(values) + 1)]
        return Found(tuple(fetched(value, label) for value, label in zip(values, labels, strict=True)), missing)
