"""What the network answers on all words of a batch, by certified float64, as arrays with one entry for each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isinf, nextafter
from sys import float_info
from typing import TypeAlias

import numpy as np

from hardsim.checking.result import FLOAT64, Word
from hardsim.checking.soft import Bounds, Decision, SoftAnswer, Watched, undecided
from hardsim.checking.subject import Subject
from hardsim.run.enclosure import Block, Booleans, Floats, Integers, U, outward, quotients, rounded
from hardsim.run.float64 import BatchTrace, FloatForward
from hardsim.run.plan import Plan
from hardsim.spec.integers import Exact, largest, widened
from hardsim.spec.ir import Head
from hardsim.spec.parallel import ParallelTrace

FLOAT_DIGITS = 15
"""Decimal digits that float64 has."""
WHOLE = 2**52
"""Integers below it are floats, and so are their differences."""

Span: TypeAlias = tuple[Floats, Floats]
"""Lower and upper bounds, one for each word."""


@dataclass
class BatchAnswers:
    """What the network does on words of one length; see `SoftAnswer` for the numbers.

    Where `decided` holds `accepted` says that the output is exactly 1, `rejected` that it is exactly 0. `alone` holds
    the answers of words that were run one by one in another arithmetic; they stand instead of the arrays' entries.
    """

    decided: Booleans
    accepted: Booleans
    rejected: Booleans
    output: Span
    unrounded: Span | None
    margin: Span | None
    errors: dict[str, Span]
    sum_error: Span | None
    alone: dict[int, SoftAnswer] = field(default_factory=dict)

    @property
    def spans(self) -> list[Span]:
        """Everything measured."""
        return [
            span
            for span in (self.output, self.unrounded, self.margin, self.sum_error, *self.errors.values())
            if span is not None
        ]

    def one(self, place: int) -> SoftAnswer:
        """The answer on one word."""
        if place in self.alone:
            return self.alone[place]
        if not self.decided[place]:
            return undecided(FLOAT64, FLOAT_DIGITS)
        return SoftAnswer(
            decided=True,
            answer=True if self.accepted[place] else False if self.rejected[place] else None,
            output=_pair(self.output, place),
            unrounded=None if self.unrounded is None else _pair(self.unrounded, place),
            margin=None if self.margin is None else _pair(self.margin, place),
            errors={name: _pair(span, place) for name, span in self.errors.items()},
            sum_error=None if self.sum_error is None else _pair(self.sum_error, place),
            engine=FLOAT64,
            digits=FLOAT_DIGITS,
        )

    def settle(self, place: int, answer: SoftAnswer) -> None:
        """Put another arithmetic's answer in the place of this one."""
        self.alone[place] = answer
        self.decided[place] = answer.decided
        self.accepted[place] = answer.decided and answer.answer is True
        self.rejected[place] = answer.decided and answer.answer is False


def _pair(span: Span, place: int) -> Bounds:
    return float(span[0][place]), float(span[1][place])


class FloatEngine:
    """Certified float64, a batch at a time. What has no finite bound is undecided."""

    def __init__(self, subject: Subject, plan: Plan) -> None:
        self.watched = Watched.of(subject)
        self.floats = FloatForward(subject.model, plan)

    def batch(self, words: Sequence[Word], hard: ParallelTrace) -> BatchAnswers:
        """What the network does on words of one length, measured against exact hard attention on the same words."""
        found = _nothing(len(words))
        with np.errstate(all="ignore"):
            for trace, rows in self.floats.passes(words):
                kept = rows[trace.decided[rows[:, 0]]]
                if len(kept):
                    self._measure(trace, kept[:, 0], kept[:, 1], hard, found)
        for low, high in found.spans:
            found.decided &= np.isfinite(low) & np.isfinite(high)
        found.accepted &= found.decided
        found.rejected &= found.decided
        return found

    def decisions(self, words: Sequence[Word]) -> list[Decision]:
        """What the network answers, and nothing else."""
        result: list[Decision] = [(False, None)] * len(words)
        for trace, rows in self.floats.passes(words):
            for row, place in rows.tolist():
                if trace.decided[row]:
                    answer = True if trace.accepted[row] else False if trace.rejected[row] else None
                    result[place] = (True, answer)
        return result

    def _measure(
        self, trace: BatchTrace, rows: Integers, places: Integers, hard: ParallelTrace, found: BatchAnswers
    ) -> None:
        """Fill in the words at these places, which are these rows of the trace."""
        size = len(found.decided)
        found.decided[places] = True
        found.accepted[places], found.rejected[places] = trace.accepted[rows], trace.rejected[rows]
        found.output = _filled(found.output, places, trace.output, rows, size)
        if trace.unrounded is not None:
            found.unrounded = _filled(found.unrounded, places, trace.unrounded, rows, size)
        if trace.margin is not None:
            found.margin = _filled(found.margin, places, trace.margin, rows, size)
        every = np.arange(len(rows))
        for head, out in self.watched.heads:
            error = self._error(trace, rows, places, head, out, hard)
            found.errors[head.name] = _filled(found.errors.get(head.name), places, error, every, size)
        sums = [_far(trace.combine(terms), rows, hard.sum(pairs), places) for terms, pairs in self.watched.sums]
        if sums:
            low, high = (np.max([one[side] for one in sums], axis=0) / 2 for side in (0, 1))
            found.sum_error = _filled(found.sum_error, places, (low, high), every, size)

    def _error(
        self, trace: BatchTrace, rows: Integers, places: Integers, head: Head, out: int, hard: ParallelTrace
    ) -> Span:
        """Bounds of a head's error on each word."""
        block = trace.attended[head.name].get(out)
        if block is None:
            block = trace.combine(())
        wanted = hard.numbers(head.out)
        if head.uniform and _same(block, rows, wanted, places):
            return np.zeros(len(rows)), np.zeros(len(rows))
        return _far(block, rows, wanted, places)


def _nothing(words: int) -> BatchAnswers:
    """No answer on any word."""
    no = np.zeros(words, dtype=np.bool_)
    return BatchAnswers(no, no.copy(), no.copy(), (np.zeros(words), np.ones(words)), None, None, {}, None)


def _filled(old: Span | None, places: Integers, new: Span, rows: Integers, size: int) -> Span:
    """A span with the entries at some places taken from rows of another."""
    low, high = (np.full(size, 0.0), np.full(size, 0.0)) if old is None else old
    low[places], high[places] = new[0][rows], new[1][rows]
    return low, high


def _rows_of(shared: int, rows: Integers) -> Integers:
    """Which rows of an array to take that may have one row for all."""
    return rows if shared > 1 else np.zeros_like(rows)


def _same(block: Block, rows: Integers, wanted: Exact, places: Integers) -> bool:
    """Whether a mean is known to be exactly the hard one, on every word."""
    hard = wanted.whole[_rows_of(wanted.whole.shape[0], places)]
    if block.static is not None:
        known = Exact.row(block.static, 1)
        bound = max(wanted.size * known.unit, known.size * wanted.unit, known.unit, wanted.unit)
        return bool((widened(hard, bound) * known.unit == widened(known.whole, bound) * wanted.unit).all())
    if block.ratio is None:
        return False
    totals, counts = (part.astype(np.int64) for part in block.ratio)
    mine = totals[_rows_of(totals.shape[0], rows)]
    bound = max(wanted.size * int(counts.max()), largest(mine) * wanted.unit, wanted.unit)
    return bool((widened(hard, bound) * counts == widened(mine, bound) * wanted.unit).all())


def _far(block: Block, rows: Integers, wanted: Exact, places: Integers) -> Span:
    """Bounds of the largest distance between a block and hard values over all positions, word by word."""
    hard, off = quotients(wanted.whole[places] if wanted.whole.shape[0] > 1 else wanted.whole, wanted.unit)
    some = _rows_of(block.mid.shape[0], rows)
    distance = np.abs(block.mid[some] - hard)
    if block.rad is None and not block.places and not off.any() and wanted.size < WHOLE * wanted.unit:
        return np.max(distance, axis=1), np.max(distance, axis=1)  # differences of integers
    radius = block.radius[some]
    exact = (radius == 0) & (off == 0) & (distance == 0)
    radius = np.where(exact, 0.0, outward(radius + off + 2 * U * (np.abs(hard) + distance)))
    return np.max(np.maximum(distance - radius, 0.0), axis=1), np.max(distance + radius, axis=1)


def float_at_most(value: Fraction) -> float:
    """The largest float that is not above a number."""
    near, off = rounded(value)
    if isinf(off):
        return -inf if value < 0 else float_info.max
    return near if Fraction(near) <= value else nextafter(near, -inf)
