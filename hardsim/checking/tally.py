"""Running extremes over the words of one length; tallies of disjoint sets of words merge.

Of each extreme a tally keeps the bound that holds of all words (the least lower bound of a margin, the largest upper
bound of an error), and a word that attains it as far as the bounds of single words can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from hardsim.checking.batch import FLOAT_DIGITS, BatchAnswers, Span
from hardsim.checking.result import BALL, HeadResult, LengthResult, Mismatch, Word
from hardsim.checking.soft import Bounds, Measured, SoftAnswer
from hardsim.run.enclosure import Booleans


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least (`sign` 1) or largest (-1) of a measured number: `bound` holds of every word, `bounds` are those of
    `word`."""

    sign: int
    bound: Measured
    bounds: Bounds
    word: Word

    @staticmethod
    def of(sign: int, bounds: Bounds, word: Word) -> Extreme:
        """One word alone."""
        return Extreme(sign, bounds[0 if sign > 0 else 1], bounds, word)

    def join(self, other: Extreme) -> Extreme:
        """Of all words of both, of which the ones of `other` come later."""
        bound = min(self.bound, other.bound) if self.sign > 0 else max(self.bound, other.bound)
        first = other if self._beaten(other) else self
        return first if first.bound == bound else replace(first, bound=bound)

    def _beaten(self, other: Extreme) -> bool:
        """Whether another word is certainly more extreme; if the bounds cannot tell, the first word stands for both."""
        if self.sign > 0:
            return bool(other.bounds[1] < self.bounds[0])
        return bool(other.bounds[0] > self.bounds[1])


def extreme(sign: int, span: Span | None, words: Sequence[Word], among: Booleans) -> Extreme | None:
    """The extreme of some words of a batch: the first word of which no other is certainly more extreme."""
    places = np.flatnonzero(among)
    if span is None or not len(places):
        return None
    low, high = span[0][places], span[1][places]
    bound = low.min() if sign > 0 else high.max()
    standing = low <= high.min() if sign > 0 else high >= low.max()
    first = int(np.flatnonzero(standing)[0])
    return Extreme(sign, float(bound), (float(low[first]), float(high[first])), words[int(places[first])])


def join(left: Extreme | None, right: Extreme | None) -> Extreme | None:
    """The more extreme of two optional extremes."""
    return right if left is None else left if right is None else left.join(right)


@dataclass
class Tally:
    """What is known after some words of length n.

    `undecided` counts the words of which no answer was reached, `stuck` is the first of them; `escalated` counts those
    that were run in balls.
    """

    n: int
    words: int = 0
    accepted: int = 0
    soft_mismatches: int = 0
    hard_mismatches: int = 0
    undecided: int = 0
    escalated: int = 0
    digits: int = 0
    least_accepted: Extreme | None = None
    largest_rejected: Extreme | None = None
    margin: Extreme | None = None
    gaps: dict[str, Fraction] = field(default_factory=dict)
    errors: dict[str, Extreme] = field(default_factory=dict)
    sum_error: Extreme | None = None
    mismatch: Mismatch | None = None
    stuck: Word | None = None

    def note(self, word: Word, oracle: bool, found: SoftAnswer) -> None:
        """Count a word and keep what is extreme about it."""
        self.words += 1
        self.accepted += oracle
        self.digits = max(self.digits, found.digits)
        self.escalated += found.engine == BALL
        if not found.decided:
            self.undecided += 1
            self.stuck = self.stuck or word
            return
        if found.unrounded is not None and oracle:
            self.least_accepted = join(self.least_accepted, Extreme.of(1, found.unrounded, word))
        elif found.unrounded is not None:
            self.largest_rejected = join(self.largest_rejected, Extreme.of(-1, found.unrounded, word))
        if found.margin is not None:
            self.margin = join(self.margin, Extreme.of(1, found.margin, word))
        if found.sum_error is not None:
            self.sum_error = join(self.sum_error, Extreme.of(-1, found.sum_error, word))
        for head, bounds in found.errors.items():
            self._note_error(head, Extreme.of(-1, bounds, word))

    def note_batch(self, words: Sequence[Word], oracle: Booleans, found: BatchAnswers) -> None:
        """Count the words of a batch and keep what is extreme about them."""
        alone = np.zeros(len(words), dtype=np.bool_)
        alone[list(found.alone)] = True
        together = ~alone & found.decided
        self.words += int((~alone).sum())
        self.accepted += int((oracle & ~alone).sum())
        self.digits = max(self.digits, FLOAT_DIGITS)
        stuck = np.flatnonzero(~alone & ~found.decided)
        self.undecided += len(stuck)
        if len(stuck):
            self.stuck = self.stuck or words[int(stuck[0])]
        self.least_accepted = join(self.least_accepted, extreme(1, found.unrounded, words, together & oracle))
        self.largest_rejected = join(self.largest_rejected, extreme(-1, found.unrounded, words, together & ~oracle))
        self.margin = join(self.margin, extreme(1, found.margin, words, together))
        self.sum_error = join(self.sum_error, extreme(-1, found.sum_error, words, together))
        for head, span in found.errors.items():
            error = extreme(-1, span, words, together)
            if error is not None:
                self._note_error(head, error)
        for place, answer in sorted(found.alone.items()):
            self.note(words[place], bool(oracle[place]), answer)

    def note_gap(self, head: str, gap: Fraction) -> None:
        """Keep a head's least score gap."""
        self.gaps[head] = min(gap, self.gaps.get(head, gap))

    def _note_error(self, head: str, error: Extreme) -> None:
        known = self.errors.get(head)
        self.errors[head] = error if known is None else known.join(error)

    def note_mismatch(self, found: Mismatch, order: Sequence[str]) -> None:
        """Keep the first mismatch in the order of length, then alphabet."""
        self.mismatch = first_of(self.mismatch, found, order)

    def merge(self, other: Tally, order: Sequence[str]) -> None:
        """Add the words of another tally of the same length, which come after those of this one."""
        self.words += other.words
        self.accepted += other.accepted
        self.soft_mismatches += other.soft_mismatches
        self.hard_mismatches += other.hard_mismatches
        self.undecided += other.undecided
        self.escalated += other.escalated
        self.digits = max(self.digits, other.digits)
        self.least_accepted = join(self.least_accepted, other.least_accepted)
        self.largest_rejected = join(self.largest_rejected, other.largest_rejected)
        self.margin = join(self.margin, other.margin)
        self.sum_error = join(self.sum_error, other.sum_error)
        for head, gap in other.gaps.items():
            self.note_gap(head, gap)
        for head, error in other.errors.items():
            self._note_error(head, error)
        self.mismatch = first_of(self.mismatch, other.mismatch, order)
        self.stuck = self.stuck or other.stuck

    @property
    def mismatches(self) -> int:
        """Mismatches of both kinds."""
        return self.soft_mismatches + self.hard_mismatches


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers that a report shows of a tally, settled by its engine."""

    acceptance_gap: Fraction | None
    margin: Fraction | None
    errors: dict[str, Fraction]
    sum_error: Fraction | None
    digits: int


def finish(tally: Tally, figures: Figures, possible: int, heads: tuple[HeadResult, ...]) -> LengthResult:
    """The result of a length of which there are `possible` words."""
    gaps = [head.gap for head in heads if head.gap is not None]
    return LengthResult(
        n=tally.n,
        words=tally.words,
        possible=possible,
        exhaustive=tally.words == possible,
        accepted=tally.accepted,
        soft_mismatches=tally.soft_mismatches,
        hard_mismatches=tally.hard_mismatches,
        undecided=tally.undecided,
        acceptance_gap=figures.acceptance_gap,
        margin=figures.margin,
        score_gap=min(gaps, default=None),
        error=max((head.error for head in heads), default=Fraction(0)),
        bound=max((head.bound for head in heads), default=Fraction(0)),
        digits=figures.digits,
        heads=heads,
        sum_error=figures.sum_error,
    )


def first_of(left: Mismatch | None, right: Mismatch | None, order: Sequence[str]) -> Mismatch | None:
    """The mismatch with the shorter word, or the earlier one in the order of the alphabet."""
    if left is None or right is None:
        return left or right
    rank = {symbol: index for index, symbol in enumerate(order)}

    def key(found: Mismatch) -> tuple[int, list[int]]:
        return len(found.word), [rank[symbol] for symbol in found.word]

    return min(left, right, key=key)
