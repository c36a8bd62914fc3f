"""Tallies: running extremes and counts over the words of one length. Tallies of disjoint sets of words merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from hardsim.campaign.distances import Span
from hardsim.campaign.engines import (
    MARGIN,
    OUTPUT,
    UNROUNDED,
    BatchAnswers,
    Bounds,
    Measured,
    Place,
    SoftAnswer,
)
from hardsim.campaign.result import Mismatch, Violation, judged_part
from hardsim.errors import InvariantError
from hardsim.lang.valuations import Numbering
from hardsim.lazy_dataclass import dataclass
from hardsim.run.enclosure import Booleans
from hardsim.run.float_trust import FLOAT_DIGITS
from hardsim.targets.result import AUTO, BALL, FLOAT64, MPMATH, RATIONAL, Answer, AnyWord, Word, WordError, settled


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least (`sign` 1) or largest (-1) value of a measured number over some words. It lies between `bound`, which
    is valid for every word, and `reached`, which some word is known to attain or pass; `bounds` are the number's
    bounds on `word`."""

    sign: int
    bound: Measured
    bounds: Bounds
    word: Word
    reached: Measured

    @staticmethod
    def of(sign: int, bounds: Bounds, word: Word) -> Extreme:
        """Return the extreme of a single word."""
        inner, outer = (bounds[1], bounds[0]) if sign > 0 else bounds
        return Extreme(sign, outer, bounds, word, inner)

    def join(self, other: Extreme) -> Extreme:
        """Return the extreme over the words of both extremes, where the words of `other` come later. The first word
        stands for both, unless the other is certainly more extreme."""
        pick, (low, high), (other_low, other_high) = min if self.sign > 0 else max, self.bounds, other.bounds
        first = other if (other_high < low if self.sign > 0 else other_low > high) else self
        return replace(first, bound=pick(self.bound, other.bound), reached=pick(self.reached, other.reached))

    def resolved(self, claim: Fraction) -> Fraction:
        """Return the bound for all words; or the proved `claim`, if it is tighter and no word is known to pass it."""
        return claim if self.sign < 0 and self.reached <= claim < self.bound else Fraction(self.bound)


def extremes(signs: Sequence[int], spans: Sequence[Span], words: Sequence[Word], among: Booleans) -> list[Extreme]:
    """Return the extremes of some numbers over the words of a batch that are `among` the relevant ones, each at the
    first word that no other certainly exceeds; nothing if there are no such words."""
    places = np.flatnonzero(among)
    if not len(places) or not spans:
        return []
    lows, highs = (np.array([span[side] for span in spans])[:, places] for side in (0, 1))
    # Times minus the sign, every extreme is a largest number: `outer` is the end that bounds it, `inner` is reached.
    turn = -np.array(signs)[:, None]
    outer, inner = turn * np.where(turn < 0, lows, highs), turn * np.where(turn < 0, highs, lows)
    reached = inner.max(axis=1, keepdims=True)
    first, rows = (outer >= reached).argmax(axis=1), np.arange(len(spans))
    parts = turn[:, 0] * outer.max(axis=1), lows[rows, first], highs[rows, first], (turn * reached)[:, 0], places[first]
    return [
        Extreme(sign, bound, (low, high), words[place], known)
        for sign, bound, low, high, known, place in zip(signs, *(part.tolist() for part in parts), strict=True)
    ]


def extreme(sign: int, span: Span, words: Sequence[Word], among: Booleans) -> Extreme | None:
    """Return `extremes` of one number; None if there are no such words."""
    found = extremes([sign], [span], words, among)
    return found[0] if found else None


LEAST, LARGEST = ("least accepted",), ("largest rejected",)
"""The keys of the extremes of the unrounded outputs: the least among accepted words, and the largest among
rejected ones."""
COUNTS = ("words", "accepted", "soft_mismatches", "hard_mismatches", "undecided")
REFERENCE_COUNTS = ("unjudged", "failed", "positions_judged", "positions_unjudged")
WRONG, UNDECIDED, UNJUDGED = "wrong", "undecided", "unjudged"
"""The outcomes of words that are not right."""
MOST_WRONG = 10
"""The largest number of wrong words to remember with their answers."""
MOST_FAILURES = 10
"""The largest number of failing words to remember: words on which the reference or the program failed."""


@dataclass
class Tally:
    """The results for some words of length n.

    `extremes` contains the least value of LEAST and MARGIN and the largest of every other number. `undecided` counts
    the words without an answer, `stuck` is the first of them; `escalated` counts those that were run in balls.
    `violation` is a declared gap that some row breaks.
    """

    n: int
    words: int = 0
    accepted: int = 0
    soft_mismatches: int = 0
    hard_mismatches: int = 0
    undecided: int = 0
    unjudged: int = 0
    """Number of words without an expected answer, which are counted in `words` too."""
    failed: int = 0
    """Number of words on which the reference or the program failed, which are counted in `words` too."""
    failures: tuple[WordError, ...] = ()
    """The first failing words, at most MOST_FAILURES, each with its error."""
    positions_judged: int = 0
    """Number of positions that the reference judges, over all words."""
    positions_unjudged: int = 0
    """Number of positions that the reference leaves open, over all words."""
    escalated: int = 0
    bounded: int = 0
    """Number of words on which softmax was not run, since an error bound decides its answer."""
    digits: int = 0
    extremes: dict[Any, Extreme] = field(default_factory=dict)
    """The extremes by `Place`."""
    gaps: dict[str, Fraction] = field(default_factory=dict)
    """The least score gap of each head, by the head's name."""
    mismatch: Mismatch | None = None
    stuck: Word | None = None
    violation: Violation | None = None
    outcomes: dict[str, list[AnyWord]] = field(default_factory=dict)
    """The words that are not right, by outcome; a check of words that it chose itself does not keep them."""
    wrong_words: tuple[Mismatch, ...] = ()
    """The first wrong words, at most MOST_WRONG."""
    searched: tuple[tuple[Word, float], ...] = ()
    """The words with the least margins that a search found, of this length, and prefixes of other lengths. Searches
    of other lengths begin with them."""

    @staticmethod
    def of(
        words: Sequence[Word],
        oracles: Sequence[Answer] | None,
        hards: Sequence[Answer],
        found: BatchAnswers,
        order: Sequence[str],
    ) -> Tally:
        """Return the tally of some words of one length; `order` is the order of the symbols.

        Without an oracle, hard attention gives the accepted words.
        """
        tally = Tally(len(words[0]), len(words), digits=FLOAT_DIGITS if len(found.alone) < len(words) else 0)
        expected = hards if oracles is None else oracles
        accepted = np.array([answer is True for answer in expected], dtype=np.bool_)
        tally.accepted = int(accepted.sum())
        if oracles is not None:
            tally._count_positions(oracles, len(words[0]) if isinstance(hards[0], tuple) else 1)
        # A word, or a position of a word, that the reference leaves open cannot be wrong.
        judged = np.array([oracles is None or answer is not None for answer in expected], dtype=np.bool_)
        wishes, exact, softs = expected, hards, found.answers
        if tally.positions_unjudged:
            wishes, exact, softs = (list(map(judged_part, some, expected)) for some in (expected, hards, found.answers))
        known = np.array([settled(answer) for answer in exact], dtype=np.bool_)
        wrong_soft = np.array([soft != hard for soft, hard in zip(softs, exact, strict=True)], dtype=np.bool_)
        wrong_soft &= found.decided & known & judged
        wrong_hard = np.array([wish != hard for wish, hard in zip(wishes, exact, strict=True)], dtype=np.bool_) & judged
        tally.soft_mismatches, tally.hard_mismatches = int(wrong_soft.sum()), int(wrong_hard.sum())
        wrong = (wrong_soft | wrong_hard) & known
        tally.note(WRONG, words, wrong)
        tally.note(UNDECIDED, words, judged & ~wrong & ~(known & found.decided))
        tally.note(UNJUDGED, words, ~judged)
        # A word that hard attention leaves undecided cannot be answered wrongly: it is reported if nothing else is.
        for place in np.flatnonzero(wrong_soft | wrong_hard | ~known & judged).tolist():
            answer = found.one(place)
            oracle, value = None if oracles is None else oracles[place], answer.middle(OUTPUT)
            decided = answer.decided
            one = Mismatch(words[place], oracle, hards[place], answer.answer, value if decided else None, decided)
            tally.note_mismatch(one, order, bool(wrong[place]))
        stuck = np.flatnonzero(~found.decided & known & judged)
        tally.undecided, tally.stuck = len(stuck), words[int(stuck[0])] if len(stuck) else None
        tally._measure(words, accepted, found)
        return tally

    def _count_positions(self, oracles: Sequence[Answer], size: int) -> None:
        """Count the words and positions that a reference judges and leaves open; a word has `size` positions."""
        for answer in oracles:
            row = answer if isinstance(answer, tuple) else (answer,) * (size if answer is None else 1)
            left = sum(one is None for one in row)
            self.positions_unjudged += left
            self.positions_judged += len(row) - left
            self.unjudged += answer is None

    def _measure(self, words: Sequence[Word], accepted: Booleans, found: BatchAnswers) -> None:
        """Update the extremes with the words of a batch."""
        # Words that were run alone have their own arithmetic; the batch's numbers are void for them.
        together = found.decided.copy()
        together[list(found.alone)] = False
        if found.bounded is not None:
            self.bounded = int(found.bounded.sum())
            together &= ~found.bounded
        among = {LEAST: accepted, LARGEST: ~accepted}
        spans = {what: span for place, span in found.numbers.items() for what in _extremes(place)}
        shared = [what for what in spans if what not in among]
        some = extremes(list(map(_sign, shared)), [spans[what] for what in shared], words, together)
        parts = {
            what: extreme(_sign(what), spans[what], words, together & among[what]) for what in spans if what in among
        }
        for what, one in (*zip(shared, some, strict=False), *parts.items()):
            self._keep(what, one)
        for index, answer in sorted(found.alone.items()):
            self.digits = max(self.digits, answer.digits)
            self.escalated += answer.engine == BALL
            for place, bounds in answer.numbers.items():
                for what in _extremes(place):
                    if what not in among or among[what][index]:
                        self._keep(what, Extreme.of(_sign(what), bounds, words[index]))

    def _keep(self, what: Place, found: Extreme | None) -> None:
        if found is not None:
            self.extremes[what] = self.extremes[what].join(found) if what in self.extremes else found

    def note(self, outcome: str, words: Sequence[Word], among: Booleans) -> None:
        """Keep the words with an outcome, those that are `among` it."""
        if found := [words[place] for place in np.flatnonzero(among).tolist()]:
            self.outcomes.setdefault(outcome, []).extend(found)

    def note_undecided(self, word: Word) -> None:
        """Count a word that is left undecided."""
        self.undecided += 1
        self.stuck = word if self.stuck is None else self.stuck
        self.outcomes.setdefault(UNDECIDED, []).append(word)

    def note_mismatch(self, found: Mismatch, order: Sequence[str], wrong: bool = True) -> None:
        """Keep the mismatch of a word if it is the first, and the word if it is one of the first `wrong` ones."""
        self.mismatch = first_of(self.mismatch, found, order)
        if wrong and len(self.wrong_words) < MOST_WRONG:
            self.wrong_words += (found,)

    def note_gaps(self, gaps: Mapping[str, Fraction]) -> None:
        """Keep the least score gap of each head."""
        for head, gap in gaps.items():
            self.gaps[head] = min(gap, self.gaps.get(head, gap))

    def merge(self, other: Tally, order: Sequence[str]) -> None:
        """Add the words of another tally of the same length, which come after those of this one."""
        for name in (*COUNTS, *REFERENCE_COUNTS, "escalated", "bounded"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures = (*self.failures, *other.failures)[:MOST_FAILURES]
        for what, found in other.extremes.items():
            self._keep(what, found)
        self.digits = max(self.digits, other.digits)
        self.note_gaps(other.gaps)
        self.mismatch = first_of(self.mismatch, other.mismatch, order)
        self.stuck = self.stuck or other.stuck
        self.violation = self.violation or other.violation
        self.searched += other.searched
        self.wrong_words = (*self.wrong_words, *other.wrong_words)[:MOST_WRONG]
        for outcome, words in other.outcomes.items():
            self.outcomes.setdefault(outcome, []).extend(words)

    @property
    def errors(self) -> dict[Place, Extreme]:
        """The largest errors: of what heads write, by (head, coordinate), and of coordinates in a layer, by
        (layer, 0 or 1, coordinate)."""
        return {place: found for place, found in self.extremes.items() if len(place) > 1}

    @property
    def reached(self) -> dict[str, Measured]:
        """The largest error of what each head writes that some word is known to attain or pass, by the head's name."""
        found: dict[str, Measured] = {}
        for place, error in self.errors.items():
            if len(place) == 2:
                found[place[0]] = max(found.get(place[0], 0), error.reached)
        return found


def _extremes(place: Place) -> list[Place]:
    """Return the keys of the extremes to which a measured number contributes: the unrounded output that among the
    accepted (LEAST) and that among the rejected words (LARGEST), the rounded output none."""
    return [LEAST, LARGEST] if place == UNROUNDED else [] if place == OUTPUT else [place]


def _sign(place: Place) -> int:
    return 1 if place in (LEAST, MARGIN) else -1


def first_of(left: Mismatch | None, right: Mismatch | None, order: Sequence[str]) -> Mismatch | None:
    """Return the first of two mismatches: one that refutes a claim comes before one that does not, then the
    shorter word comes first, then the word that is earlier in the order of the alphabet. Return None if both
    are None."""
    if left is None or right is None:
        return left or right
    rank = Numbering(order)

    def key(found: Mismatch) -> tuple[bool, int, list[int]]:
        return not found.refutes, len(found.word), [rank[symbol] for symbol in found.word]

    return min(left, right, key=key)


# ---- the numbers that a report shows ----
# With mpmath, the numbers found. Otherwise bounds over all words, rounded outwards: a gap and a margin are at least the
# shown number, an error at most. Float64 has 15 digits, the last few of which differ between lengths even where the
# number itself does not, so fewer are shown.


DIGITS = {AUTO: 12, FLOAT64: 12, BALL: 20}
"""Number of significant decimal digits shown, by engine; the numbers of mpmath, and rationals, are not rounded."""

Recompute = Callable[[Word], SoftAnswer]
"""A function that runs softmax on a word in balls and returns its answer."""


def settle(tally: Tally, engine: str) -> tuple[Fraction | None, dict[Place, Fraction]]:
    """Return the numbers of a tally that a report shows: the acceptance gap (None unless unrounded outputs of
    accepted and of rejected words are known), and the others by place."""
    known = tally.extremes

    def shown(bound: Fraction, sign: int) -> Fraction:
        return bound if engine in (MPMATH, RATIONAL) else rounded_outwards(bound, sign, DIGITS[engine])

    gap = None
    if LEAST in known and LARGEST in known:
        gap = shown(Fraction(known[LEAST].bound) - Fraction(known[LARGEST].bound), 1)
    numbers = {
        what: shown(Fraction(found.bound), found.sign) for what, found in known.items() if what not in (LEAST, LARGEST)
    }
    return gap, numbers


def settle_mismatch(found: Mismatch, recompute: Recompute) -> Mismatch:
    """Return a mismatch with the digits of balls, if balls reach an answer. Raise InvariantError if the answers
    differ."""
    again = recompute(found.word)
    if not again.decided:
        return found
    if found.decided and again.answer != found.soft:
        raise InvariantError(f"on the word {' '.join(found.word)} float64 and balls answer differently")
    return replace(found, soft=again.answer, output=again.middle(OUTPUT), decided=True)


def settle_answer(word: Word, found: SoftAnswer, again: SoftAnswer) -> SoftAnswer:
    """Return the answer of one word with the digits of balls, if balls reach an answer. Raises InvariantError if the
    enclosures of two rigorous arithmetics do not meet."""
    if not again.decided:
        return found
    if found.decided:
        pairs = [(found.numbers.get(what), again.numbers.get(what)) for what in (OUTPUT, UNROUNDED, MARGIN)]
        if found.answer != again.answer or any(_apart(*pair) for pair in pairs):
            raise InvariantError(f"on the word {' '.join(word)} float64 and balls answer differently")
    return again


def _apart(one: Bounds | None, other: Bounds | None) -> bool:
    """Return True if two enclosures of one number certainly do not meet."""
    return one is not None and other is not None and bool(one[1] < other[0] or other[1] < one[0])


def rounded_outwards(value: Fraction, sign: int, digits: int) -> Fraction:
    """Round a bound to a number of significant decimal digits: not above the value for `sign` 1, not below for -1."""
    rounding = ROUND_FLOOR if sign > 0 else ROUND_CEILING
    context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
