"""The rigorous engines: balls, certified float64, and both of them in turn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from hardsim.checking.result import AUTO, BALL, FLOAT64, Word
from hardsim.checking.soft import (
    Bounds,
    Decision,
    Engine,
    MpEngine,
    SoftAnswer,
    Watched,
    attended,
    distance,
    exact,
    hard_sum,
    undecided,
)
from hardsim.checking.subject import Subject
from hardsim.errors import Undecided
from hardsim.run.arithmetic import Column
from hardsim.run.ball import BallForward, BallTrace, lower, upper
from hardsim.run.enclosure import Block, Floats, Integers, U, outward
from hardsim.run.float64 import BatchTrace, FloatForward
from hardsim.run.mp import MpArithmetic
from hardsim.run.plan import Plan
from hardsim.run.unrounded import unrounded_output
from hardsim.spec.hard import HardTrace
from hardsim.spec.ir import Head, Rational

FLOAT_DIGITS = 15
"""Decimal digits that float64 has."""
LOG_2 = Fraction(30103, 100_000)


class BallEngine:
    """Ball arithmetic: rigorous bounds, with as many bits as each word needs."""

    def __init__(self, subject: Subject, plan: Plan, dps: int | None) -> None:
        self.watched = Watched.of(subject)
        bits = None if dps is None else int(dps / LOG_2) + 1
        self.balls = BallForward(subject.model, plan, bits)
        if bits is not None:
            self.balls.limit = max(self.balls.limit, 4 * bits)

    def answers(self, words: Sequence[Word], hards: Sequence[HardTrace]) -> list[SoftAnswer]:
        """One word after the other."""
        return [self._answer(word, hard) for word, hard in zip(words, hards, strict=True)]

    def decisions(self, words: Sequence[Word]) -> list[Decision]:
        """One word after the other."""
        result: list[Decision] = []
        for word in words:
            try:
                result.append((True, self.balls.run(word).verdict()))
            except Undecided:
                result.append((False, None))
        return result

    def _answer(self, word: Word, hard: HardTrace) -> SoftAnswer:
        try:
            found = self.balls.run(word)
        except Undecided:
            return undecided(BALL, int(self.balls.limit * LOG_2))
        with found.arithmetic.precision():
            unrounded = unrounded_output(found.forward, found.trace)
            try:
                return SoftAnswer(
                    decided=True,
                    answer=found.verdict(),
                    output=_ends(found.output),
                    unrounded=None if unrounded is None else _ends(unrounded),
                    margin=None if found.trace.least_margin is None else _ends(found.trace.least_margin),
                    errors={head.name: self._error(head, out, hard, found) for head, out in self.watched.heads},
                    sum_error=self._sum_error(hard, found),
                    engine=BALL,
                    digits=int(found.bits * LOG_2),
                )
            except Undecided:  # some number has no bound at all
                return undecided(BALL, int(found.bits * LOG_2))

    def _error(self, head: Head, out: int, hard: HardTrace, found: BallTrace) -> Bounds:
        wanted = hard.columns[head.out]
        return self._distance(attended(found.trace, head, out, len(wanted)), wanted, found)

    def _sum_error(self, hard: HardTrace, found: BallTrace) -> Bounds | None:
        columns = found.trace.columns
        sums = [
            self._distance(found.forward.combine(terms, 0, columns, len(wanted)), wanted, found)
            for terms, pairs in self.watched.sums
            for wanted in [hard_sum(pairs, hard)]
        ]
        return (max(low for low, _ in sums) / 2, max(high for _, high in sums) / 2) if sums else None

    def _distance(self, column: Column, wanted: Sequence[Rational], found: BallTrace) -> Bounds:
        """Bounds of the largest distance over all positions."""
        if column.exact:
            known = distance(column.values, wanted)
            return known, known
        number = found.arithmetic.number
        largest = number(0)
        for a, b in zip(column.values, wanted, strict=True):
            apart = number(abs(Fraction(a) - b)) if isinstance(a, int | Fraction) else abs(a - number(b))
            largest = largest.max(apart)
        return max(lower(largest), Fraction(0)), upper(largest)


class FloatEngine:
    """Certified float64, a batch at a time. What has no finite bound is undecided."""

    def __init__(self, subject: Subject, plan: Plan) -> None:
        self.watched = Watched.of(subject)
        self.floats = FloatForward(subject.model, plan)

    def answers(self, words: Sequence[Word], hards: Sequence[HardTrace]) -> list[SoftAnswer]:
        """All words at once."""
        found: list[SoftAnswer] = [undecided(FLOAT64, FLOAT_DIGITS)] * len(words)
        for trace, rows in self.floats.passes(words):
            kept = rows[trace.decided[rows[:, 0]]]
            if len(kept):
                chosen = [hards[place] for place in kept[:, 1]]
                with np.errstate(all="ignore"):
                    answers = self._measure(trace, kept[:, 0], chosen)
                for place, answer in zip(kept[:, 1], answers, strict=True):
                    found[place] = answer
        return found

    def decisions(self, words: Sequence[Word]) -> list[Decision]:
        """All words at once."""
        result: list[Decision] = [(False, None)] * len(words)
        for trace, rows in self.floats.passes(words):
            for row, place in rows.tolist():
                if trace.decided[row]:
                    result[place] = (True, _answer_of(trace, row))
        return result

    def _measure(self, trace: BatchTrace, rows: Integers, hards: Sequence[HardTrace]) -> list[SoftAnswer]:
        errors = {head.name: self._error(trace, rows, head, out, hards) for head, out in self.watched.heads}
        sums = [
            _far(trace.combine(terms), rows, [hard_sum(pairs, hard) for hard in hards])
            for terms, pairs in self.watched.sums
        ]
        low = np.max([one[0] for one in sums], axis=0) / 2 if sums else None
        high = np.max([one[1] for one in sums], axis=0) / 2 if sums else None
        result: list[SoftAnswer] = []
        for place, row in enumerate(rows.tolist()):
            one = SoftAnswer(
                decided=True,
                answer=_answer_of(trace, row),
                output=_pair(trace.output, row),
                unrounded=None if trace.unrounded is None else _pair(trace.unrounded, row),
                margin=None if trace.margin is None else _pair(trace.margin, row),
                errors={name: _pair(bounds, place) for name, bounds in errors.items()},
                sum_error=None if low is None or high is None else _pair((low, high), place),
                engine=FLOAT64,
                digits=FLOAT_DIGITS,
            )
            measured = [one.output, one.unrounded, one.margin, one.sum_error, *one.errors.values()]
            finite = all(np.isfinite(bounds).all() for bounds in measured if bounds is not None)
            result.append(one if finite else undecided(FLOAT64, FLOAT_DIGITS))
        return result

    def _error(
        self, trace: BatchTrace, rows: Integers, head: Head, out: int, hards: Sequence[HardTrace]
    ) -> tuple[Floats, Floats]:
        """Bounds of a head's error on each word."""
        wanted = [hard.columns[head.out] for hard in hards]
        block = trace.attended[head.name].get(out)
        if block is None:
            block = trace.combine(())
        if head.uniform and _same(block, rows, wanted):
            return np.zeros(len(rows)), np.zeros(len(rows))
        return _far(block, rows, wanted)


class AutoEngine:
    """Certified float64, and balls for the words that it cannot decide, or whose errors it cannot hold against what
    theory allows."""

    def __init__(self, subject: Subject, plan: Plan, dps: int | None) -> None:
        self.subject = subject
        self.floats = FloatEngine(subject, plan)
        self.balls = BallEngine(subject, plan, dps)
        self.mp = MpEngine(subject, plan, dps)
        self._bounds: dict[int, dict[str, Fraction]] = {}

    def answers(self, words: Sequence[Word], hards: Sequence[HardTrace]) -> list[SoftAnswer]:
        """Floats first."""
        found = self.floats.answers(words, hards)
        for place, answer in enumerate(found):
            if not self._resolved(answer, len(words[place])):
                found[place] = self.balls.answers([words[place]], [hards[place]])[0]
        return found

    def decisions(self, words: Sequence[Word]) -> list[Decision]:
        """Floats first."""
        found = self.floats.decisions(words)
        return [one if one[0] else self.balls.decisions([word])[0] for one, word in zip(found, words, strict=True)]

    def _resolved(self, answer: SoftAnswer, n: int) -> bool:
        """Whether it is certain what the network answers, and for each head whether its error is within theory's
        bound."""
        if not answer.decided:
            return False
        bounds = self._bounds.get(n)
        if bounds is None:
            bounds = self._bounds[n] = self._allowed(n)
        return all(high <= bounds[name] or low > bounds[name] for name, (low, high) in answer.errors.items())

    def _allowed(self, n: int) -> dict[str, Fraction]:
        context = MpArithmetic(self.mp.digits(n)).context
        return {
            head.name: exact(self.subject.budget.error_bound(head, n, context)) for head in self.subject.program.heads
        }


def make_engine(name: str, subject: Subject, plan: Plan, dps: int | None) -> Engine:
    """The engine of that name, one of `ENGINES`."""
    if name == AUTO:
        return AutoEngine(subject, plan, dps)
    if name == FLOAT64:
        return FloatEngine(subject, plan)
    return BallEngine(subject, plan, dps) if name == BALL else MpEngine(subject, plan, dps)


def _ends(value: Rational | arb) -> Bounds:
    return lower(value), upper(value)


def _pair(bounds: tuple[Floats, Floats], row: int) -> Bounds:
    return float(bounds[0][row]), float(bounds[1][row])


def _answer_of(trace: BatchTrace, row: int) -> bool | None:
    return True if trace.accepted[row] else False if trace.rejected[row] else None


def _same(block: Block, rows: Integers, wanted: Sequence[Sequence[Rational]]) -> bool:
    """Whether a mean is known to be exactly the hard one, on every word."""
    if block.static is not None:
        return all(tuple(column) == block.static for column in wanted)
    if block.ratio is None:
        return False
    totals, counts = block.ratio
    whole = [int(count) for count in counts]
    places = rows if totals.shape[0] > 1 else np.zeros_like(rows)
    return all(
        [count * value for count, value in zip(whole, column, strict=True)] == [int(x) for x in totals[place]]
        for place, column in zip(places.tolist(), wanted, strict=True)
    )


def _far(block: Block, rows: Integers, wanted: Sequence[Sequence[Rational]]) -> tuple[Floats, Floats]:
    """Bounds of the largest distance between a block and hard values over all positions, word by word."""
    try:
        hard = np.array([[float(value) for value in column] for column in wanted])
    except OverflowError:
        return np.zeros(len(rows)), np.full(len(rows), np.inf)
    whole = all(value.denominator == 1 and -(2**52) < value < 2**52 for column in wanted for value in column)
    places = rows if block.mid.shape[0] > 1 else np.zeros_like(rows)
    distance = np.abs(block.mid[places] - hard)
    radius = block.radius[places]
    if not whole or block.rad is not None:
        exact_entry = (radius == 0) & (distance == 0) & whole
        radius = np.where(exact_entry, 0.0, outward(radius + 2 * U * (np.abs(hard) + distance)))
    return np.max(np.maximum(distance - radius, 0.0), axis=1), np.max(distance + radius, axis=1)
