"""The rigorous engines: balls, certified float64, and both of them in turn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from hardsim.checking.batch import BatchAnswers, FloatEngine, float_at_most
from hardsim.checking.result import AUTO, BALL, FLOAT64, Word
from hardsim.checking.soft import (
    Bounds,
    Decision,
    Engine,
    MpEngine,
    SoftAnswer,
    Watched,
    allowed_error,
    attended,
    distance,
    hard_sum,
    undecided,
)
from hardsim.checking.subject import Subject
from hardsim.errors import Undecided
from hardsim.run.arithmetic import Column
from hardsim.run.ball import BallForward, BallTrace, lower, upper
from hardsim.run.enclosure import Booleans
from hardsim.run.plan import Plan
from hardsim.run.unrounded import unrounded_output
from hardsim.spec.hard import HardInterpreter, HardTrace
from hardsim.spec.ir import Head, Rational
from hardsim.spec.parallel import ParallelTrace

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


class AutoEngine:
    """Certified float64, and balls for the words that it cannot decide, or whose errors it cannot hold against what
    theory allows."""

    def __init__(self, subject: Subject, plan: Plan, dps: int | None) -> None:
        self.subject = subject
        self.hard = HardInterpreter(subject.program)
        self.floats = FloatEngine(subject, plan)
        self.balls = BallEngine(subject, plan, dps)
        self._bounds: dict[int, dict[str, float]] = {}

    def batch(self, words: Sequence[Word], hard: ParallelTrace) -> BatchAnswers:
        """Floats first."""
        found = self.floats.batch(words, hard)
        for place in np.flatnonzero(~self._resolved(found, len(words[0]))).tolist():
            word = words[place]
            found.settle(place, self.balls.answers([word], [self.hard.run(word)])[0])
        return found

    def decisions(self, words: Sequence[Word]) -> list[Decision]:
        """Floats first."""
        found = self.floats.decisions(words)
        return [one if one[0] else self.balls.decisions([word])[0] for one, word in zip(found, words, strict=True)]

    def _resolved(self, found: BatchAnswers, n: int) -> Booleans:
        """Of which words it is certain what the network answers, and for each head whether its error is within
        theory's bound."""
        if n not in self._bounds:
            self._bounds[n] = self._allowed(n)
        resolved = found.decided.copy()
        for name, (low, high) in found.errors.items():
            bound = self._bounds[n][name]
            resolved &= (high <= bound) | (low > bound)
        return resolved

    def _allowed(self, n: int) -> dict[str, float]:
        """Theory's bounds, rounded down: a float is at most the bound exactly if it is at most that."""
        heads = self.subject.program.heads
        return {head.name: float_at_most(allowed_error(self.subject.budget, head, n)) for head in heads}


BatchEngine = FloatEngine | AutoEngine
"""Arithmetics that run all words of a batch at once."""


def make_engine(name: str, subject: Subject, plan: Plan, dps: int | None) -> Engine | BatchEngine:
    """The engine of that name, one of `ENGINES`."""
    if name == AUTO:
        return AutoEngine(subject, plan, dps)
    if name == FLOAT64:
        return FloatEngine(subject, plan)
    return BallEngine(subject, plan, dps) if name == BALL else MpEngine(subject, plan, dps)


def _ends(value: Rational | arb) -> Bounds:
    return lower(value), upper(value)
