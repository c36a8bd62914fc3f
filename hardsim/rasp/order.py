"""Order and inequality of integers inside scores, where the score itself cannot say them.

An exactly flat score of the truth value of `v(j) >= u(i)` would have rank n. What works instead: prefix maxima, which
turn order into an interval that u lies in, and the places where v changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from hardsim.lang.srasp import ast
from hardsim.rasp.attention import HALF, MASKS, Attender, Found
from hardsim.rasp.builder import Pair
from hardsim.rasp.network import CONSTANT, POSITION, Network
from hardsim.rasp.values import Boolean, Interval, Letters, Number, Value
from hardsim.spec.ir import Affine, Mask

ORDER_GAP: Final = "1/(4*n^2)"


class Orderer:
    """Heads for order and inequality, on top of those for Booleans."""

    def __init__(self, attender: Attender) -> None:
        self.attender = attender
        self.network: Network = attender.network

    # ---- order ----

    def read_ordered(
        self,
        attention: ast.Attention,
        op: ast.CompareOp,
        here: Number,
        there: Number,
        values: Sequence[Value],
        name: str,
    ) -> Found:
        """The leftmost j with `u(i) op v(j)`, or the rightmost, both in [-n, n].

        Let v >= u be wanted (for <= both are negated), leftmost. m_j, the maximum of v up to j, and m'_j = m_(j-1)
        (-n-1 for j = 1) never fall, so with U = u - 1/2 (u + 1/2 if v > u is wanted) there is at most one j with
        m'_j < U < m_j, and it is the first with v_j >= u. The score `-(U - m'_j)(U - m_j) / n^2` is at least 1/(4n^2)
        there and at most -1/(4n^2) elsewhere, since U is no integer; BOS has 0, so the gap is 1/(4n^2) or more under
        every mask that cuts positions off on the right only. It is bilinear: `-(1/n^2)(U^2 - U (m + m') + m m')`, with
        the square of U moved to BOS. The rightmost j is the mirror image.
        """
        network = self.network
        if op in (">", ">="):
            here, there = here.scaled(-1), there.scaled(-1)
        u, v = here, there
        side = attention.side
        query = network.settled(u, f"{name}.u")
        shift = HALF if op in ("<=", ">=") else -HALF
        top = self._extreme(side, v, f"{name}: max")
        before, product = self._before(side, top, f"{name}: max before")
        begin, inverse = network.begin, network.begin_inverse
        score: list[Pair] = [
            (query - network.inverse.scaled(shift), network.settled(top, name) + before),
            *product,
            (network.square(u, f"{name}.u"), begin),
            (query.scaled(-2 * shift), inverse),
            (network.inverse, inverse.scaled(Fraction(1, 4))),
            # the query of BOS itself: no product above exceeds (n + 1/2)^2 / n^2 <= 9/4
            (begin, begin.scaled(4)),
        ]
        return self.attender.read(MASKS[attention.mask], score, ORDER_GAP, values, name)

    def _extreme(self, side: ast.Side, value: Number, name: str) -> Number:
        """m: the maximum of v over j <= i (leftmost) or j >= i (rightmost).

        Score `v_j/n + j/(4n^2)`, -2 at BOS, where v is at least -n: maxima that differ are 1/n apart, equal ones are
        1/(4n^2) apart. The query of BOS gives 4 to BOS, more than 2 + 1 + 1/4, so that m is 0 there.
        """
        network = self.network
        builder = network.builder
        form = network.settled(value, name)
        score: list[Pair] = [
            (CONSTANT, form - network.begin.scaled(2)),
            (network.inverse, builder.encoding(POSITION).scaled(Fraction(1, 4))),
            (network.begin, network.begin.scaled(4)),
        ]
        mask = Mask.FUTURE if side == "leftmost" else Mask.PAST
        return Number(builder.attend(name, mask, score, ORDER_GAP, form), value.interval)

    def _before(self, side: ast.Side, top: Number, name: str) -> tuple[Affine, list[Pair]]:
        """m' over n, and terms of the score `-m m' / n^2`.

        m' is m at the neighbour, and -n-1 where there is none: at the edge, h = [edge]/n. With d = m - m' in
        [0, 2n+1], m m' = (m^2 + m'^2 - d^2)/2. Look-ups give squares up to n^2 only; above, (over n) e = relu(d - 1)
        and f = relu(d - 2) continue them: d^2 = L(d) + 2e + L(e) + 2f + f/n, where f is 0 or 1/n, and
        m'^2 = L(m') + 2h + h/n.
        """
        network = self.network
        builder = network.builder
        found = self.attender.read_boolean(
            *self._neighbour(side), [(network.real, network.real)], [top], f"{name} (fetched)"
        )
        neighbour = found.values[0]
        assert isinstance(neighbour, Number)
        edge = builder.encoding("[i = 1]" if side == "leftmost" else "[i = n]")
        share = builder.hidden(f"{name} / n", [(1, network.inverse - CONSTANT + edge)])
        before = neighbour.form - edge - share
        difference = top.form - before
        over = builder.hidden(f"{name}: over", [(1, difference - CONSTANT)])
        twice = builder.hidden(f"{name}: over twice", [(1, difference - CONSTANT.scaled(2))])

        def square(form: Affine, bounds: Interval, what: str) -> Affine:
            return network.square(Number(form, bounds), f"{name}: {what}")

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
        return before, [(CONSTANT, squares.scaled(-HALF)), (network.inverse, (share - twice).scaled(-HALF))]

    @staticmethod
    def _neighbour(side: ast.Side) -> tuple[ast.Side, Mask]:
        """Attention to the position before (the leftmost's neighbour) or after."""
        return ("rightmost", Mask.STRICT_FUTURE) if side == "leftmost" else ("leftmost", Mask.STRICT_PAST)

    # ---- inequality ----

    def read_unequal(
        self, attention: ast.Attention, here: Number, there: Number, values: Sequence[Value], name: str
    ) -> Found:
        """The leftmost or rightmost j with `v(j) != u(i)`.

        The first candidate j0 that the mask allows is i, a neighbour of i, 1 or n. If v(j0) != u, that is it. Else the
        answer is the next j, away from j0, with v(j) != v(j0); all positions between have the same v as j0, so it is
        the next j whose v differs from that of the position one step nearer to j0. "Differs from the position one step
        to the left (right)" does not depend on i.

        Where j0 is at i or beside it, a strict mask must not find a change before j0: with the change written at the
        position k one step nearer, i.e. reading what is at j = k -+ 1, the mask is the attention's own.
        """
        network = self.network
        near = (attention.side == "rightmost") == (attention.mask in ("j<i", "j<=i"))
        near = near and attention.mask != "1"
        leftwards = attention.side == "rightmost"
        back: tuple[ast.Side, Mask] = ("rightmost", Mask.STRICT_FUTURE)
        onward: tuple[ast.Side, Mask] = ("leftmost", Mask.STRICT_PAST)
        # the position one step further from j0 (near), or nearer to it (far), in the direction of the search
        step = back if leftwards == near else onward
        edge = Boolean(network.builder.encoding("[i = 1]" if step is back else "[i = n]"))
        always: list[Pair] = [(network.real, network.real)]
        beside = self.attender.read_boolean(*step, always, [there, *values], f"{name}: beside").values
        other = beside[0]
        assert isinstance(other, Number)
        change = self._apart(there, other, edge, f"{name}: change")
        strict = attention.mask in ("j<i", "j>i")
        if near:
            start: Sequence[Value] = beside if strict else (there, *values)
            further: Sequence[Value] = beside[1:]
        else:
            everything = [there, *values]
            end = self.attender.read_boolean(attention.side, Mask.NONE, always, everything, f"{name}: end")
            start, further = end.values, values
        first = start[0]
        assert isinstance(first, Number)
        hit = self._apart(first, here, edge if strict else network.false, f"{name}: first")
        rest = self.attender.read_boolean(
            attention.side, MASKS[attention.mask], [(network.real, change.form)], further, f"{name}: next"
        )
        chosen = [
            self._selected(hit, yes, no, f"{name}: read {number}")
            for number, (yes, no) in enumerate(zip(start[1:], rest.values, strict=True), 1)
        ]
        return Found(
            tuple(chosen), lambda: network.conjunction([network.negation(hit), rest.missing()], f"{name}: none")
        )

    def _apart(self, left: Number, right: Number, edge: Boolean, name: str) -> Boolean:
        """Whether two integers differ, false at an edge."""
        network = self.network
        same = network.equal(left, right, name)
        return network.rounded(network.conjunction([network.negation(same), network.negation(edge)], name), name)

    def _selected(self, test: Boolean, then: Value, otherwise: Value, name: str) -> Value:
        network = self.network
        match then, otherwise:
            case Boolean(), Boolean():
                return network.choice(test, then, otherwise, name)
            case Number(), Number():
                return network.selected(test, then, otherwise, name)
            case Letters(), Letters():
                return self.attender.evaluator.selected(test, then, otherwise, name)
            case _:
                raise AssertionError(f"{then} and {otherwise} are of different sorts")
