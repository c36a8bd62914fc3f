"""Where a word is judged: the answer of a network is compared with the expected one.

Targets with hard attention and external networks have a judge each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from hardsim.campaign.engines import (
    MARGIN,
    OUTPUT,
    UNROUNDED,
    Bounds,
    Hard,
    HardRunner,
    Place,
    SoftAnswer,
    SoftEngine,
)
from hardsim.campaign.failures import tallied
from hardsim.campaign.obstacles import hard_undecided
from hardsim.campaign.preparation import (
    LengthPlan,
    refuted_gap,
    unpacked,
)
from hardsim.campaign.result import Evaluation, Mismatch, OutputEnds, PlaceOutputs
from hardsim.campaign.rows import theorem_length
from hardsim.campaign.tally import UNJUDGED, WRONG, Extreme, Tally, extreme, first_of, settle_answer
from hardsim.campaign.workers import Shard
from hardsim.hard.exact import HardTrace
from hardsim.network.dense import Token
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Program
from hardsim.run.dense_pass import Step, unwatched
from hardsim.run.enclosure import Integers, nearest_float
from hardsim.run.float_trust import FLOAT_DIGITS
from hardsim.sharpening.measure import measure
from hardsim.targets.expected import Ends, ExpectedOutputs, by_position, ended, unjudged
from hardsim.targets.external import External
from hardsim.targets.network_outputs import NetworkEngine, OutputBounds, unbounded
from hardsim.targets.result import AUTO, BALL, FLOAT64, Answer, NoOutput, Word, apart, settled
from hardsim.targets.subject import Subject

RESOLVED = Fraction(1, 2**32)
"""Largest width of an enclosure whose middle is shown: relative to the sum of its ends, or absolute where that is below
1."""
CELLS = 2**20
"""Most numbers (outputs at all positions of some words) that are compared with the expected outputs at once."""


class Judge(ABC):
    """The comparison of the answers of a target with the expected ones. Called with a shard, it returns the tally of
    its words."""

    def __call__(self, shard: Shard) -> Tally:
        return self.tally(shard.words, shard.known)

    @abstractmethod
    def tally(self, words: Sequence[Word], known: Sequence[bytes] | None = None) -> Tally:
        """Return the tally of words of one length; `known` are their exact runs, packed, if there are any."""

    @abstractmethod
    def evaluations(self, words: Sequence[Word]) -> list[Evaluation]:
        """Return all answers on each of some words of one length."""


class HardJudge(Judge):
    """The judge of a target with hard attention: it compares semantics, hard attention and softmax, at the length of a
    `plan` or, without a plan, by the one network that the target has for every length. If `shared`, softmax runs on a
    share of the words where the plan's bounds decide the others (`LengthPlan.share`)."""

    def __init__(
        self,
        subject: Subject,
        program: Program,
        plan: LengthPlan | None = None,
        dps: int | None = None,
        engine: str = AUTO,
        shared: bool = False,
    ) -> None:
        self.subject, self.program, self.plan, self.shared = subject, program, plan, shared
        self.hard = HardRunner(subject, program)
        network = subject.model if plan is None else assemble(program, plan.schedule)
        self.soft = SoftEngine(subject, network, program, engine, dps, subject.budget if plan is None else None)

    def tally(self, words: Sequence[Word], known: Sequence[bytes] | None = None) -> Tally:
        """Return the tally of words of one length; `known` are their exact runs, packed, if there are any."""
        whole = len(words)

        def tally(some: Sequence[Word]) -> Tally:
            return self._tally(some, known if len(some) == whole else None)

        return tallied(words, tally, self.subject.alphabet)

    def _tally(self, words: Sequence[Word], known: Sequence[bytes] | None) -> Tally:
        total = Tally(len(words[0]))
        prepared = [self.subject.prepared(word) for word in words]
        start = 0
        for hard in self.runs(prepared, known):
            some = slice(start, start + len(hard.answers))
            start = some.stop
            oracles = self.subject.answers(words[some])
            found = self.soft.batch(prepared[some], hard, self._share(hard.answers, oracles))
            part = Tally.of(words[some], oracles, hard.answers, found, self.subject.alphabet)
            part.note_gaps(hard.gaps)
            if self.plan is None and isinstance(hard.trace, HardTrace):
                # With a plan, declared gaps were compared when the plan was made.
                part.violation = refuted_gap(self.program, measure(self.program, prepared[some], hard.trace))
            total.merge(part, self.subject.alphabet)
        return total

    def _share(self, answers: Sequence[Answer], oracles: Sequence[Answer] | None) -> Integers | None:
        """Return the numbers of the words of a batch on which softmax runs: the plan's share, and each word on which
        hard attention is wrong; None for all words."""
        if self.plan is None or not self.shared or not self.plan.invisible:
            return None
        share = self.plan.share(len(answers))
        if oracles is not None:
            share[[expected != answer for expected, answer in zip(oracles, answers, strict=True)]] = True
        return np.flatnonzero(share)

    def answer(self, word: Word) -> SoftAnswer:
        """Return the answer and the measured numbers of the network on one word, in the arithmetic of single words."""
        prepared = self.subject.prepared(word)
        (hard,) = self.runs([prepared])
        return self.soft.words.answer(prepared, hard, 0)

    def evaluations(self, words: Sequence[Word]) -> list[Evaluation]:
        """Return the answers of semantics, hard attention and softmax on each of some words of one length."""
        subject, engine = self.subject, self.soft.engine
        prepared = [subject.prepared(word) for word in words]
        hard, oracles = self.hard.run(prepared), subject.answers(words)
        batch = self.soft.batch(prepared, hard)
        result: list[Evaluation] = []
        for place, word in enumerate(words):
            found, row = batch.one(place), None
            oracle, answer = None if oracles is None else oracles[place], hard.answers[place]
            if self.plan is not None:
                tally = Tally.of([word], oracles and [oracle], [answer], batch.part(place), subject.alphabet)
                row = theorem_length(subject, self.plan, tally)
            elif engine == AUTO and found.engine == FLOAT64 and not all(map(_resolved, found.numbers.values())):
                found = settle_answer(word, found, self.soft.words.answer(prepared[place], hard, place))
            # Where hard attention decides nothing, there is no answer to compare that of softmax with.
            decided = found.decided or not settled(answer)
            output, unrounded, margin = (
                _shown(found, what) if decided else None for what in (OUTPUT, UNROUNDED, MARGIN)
            )
            result.append(
                Evaluation(
                    word=word,
                    oracle=oracle,
                    hard=answer,
                    soft=found.answer if decided else None,
                    digits=found.digits,
                    decided=decided,
                    output=output,
                    unrounded=unrounded,
                    margin=margin,
                    error=row.error if row is not None and decided else None,
                    bound=None if row is None else row.bound,
                    hard_undecided=None if settled(answer) else hard_undecided(subject, word),
                )
            )
        return result

    def runs(self, prepared: Sequence[Word], known: Sequence[bytes] | None = None) -> Iterator[Hard]:
        """Yield the exact runs of words of one length: those that are `known`, unpacked, or new ones."""
        if known is not None:
            return (Hard.of(self.subject, self.program, unpacked(data)) for data in known)
        size = len(prepared[0]) + self.program.bos
        return map(self.hard.run, self.hard.batches(prepared, size))


def _resolved(bounds: Bounds) -> bool:
    """Return True if an enclosure determines a number to more digits than are shown. A number that it cannot tell from
    0 is shown as 0."""
    low, high = (Fraction(end) for end in bounds)
    return high - low <= RESOLVED * max(Fraction(1), abs(low + high))


def _shown(found: SoftAnswer, what: Place) -> Fraction | None:
    if found.engine == FLOAT64 and what in found.numbers and found.numbers[what][0] <= 0 <= found.numbers[what][1]:
        return Fraction(0)
    return found.middle(what)


class NetworkJudge(Judge):
    """The judge of an external network: it compares the outputs on words with the expected ones, and tallies the
    results. `step` is called as by `NetworkEngine`."""

    def __init__(self, subject: External, dps: int | None = None, engine: str = AUTO, step: Step = unwatched) -> None:
        self.subject, self.rule = subject, subject.rule
        self.engine = NetworkEngine(subject.network, engine, dps, step)
        self._answered: dict[Word, Any] = {}
        """The expected outputs that are known of words to be searched."""

    def tally(self, words: Sequence[Word], known: Sequence[bytes] | None = None) -> Tally:
        """Return the tally of words of one length."""
        return tallied(words, self._tally, self.subject.alphabet)

    def _tally(self, words: Sequence[Word]) -> Tally:
        raws, order = self._raws(words), self.subject.alphabet
        if self.subject.prefixes:
            raws = [ended(raw) for raw in raws]
        total = Tally(len(words[0]))
        for listed in (False, True):
            chosen = [place for place, raw in enumerate(raws) if not unjudged(raw) and by_position(raw) is listed]
            size = self._size(len(words[0]) if listed else 0)
            for start in range(0, len(chosen), size):
                part = chosen[start : start + size]
                found, _ = self._judged([words[place] for place in part], [raws[place] for place in part], listed)
                total.merge(found, order)
        total.note(UNJUDGED, words, np.array([unjudged(raw) for raw in raws], dtype=np.bool_))
        # Until here `words` counts only the judged ones.
        total.unjudged = len(words) - total.words
        total.words = len(words)
        for raw in raws:
            if unjudged(raw):  # the judged ones are counted where they are judged
                total.positions_unjudged += sum(self.subject.positions_of(len(words[0]), raw))
        return total

    def _raws(self, words: Sequence[Word]) -> list[Any]:
        if self._answered.keys() >= set(words):
            return [self._answered[word] for word in words]
        return self.subject.answers(words) or [None] * len(words)

    def judged(self, words: Sequence[Word]) -> Sequence[Word]:
        """Return the words, of one length, that have expected outputs; with a domain, all words given. The outputs are
        kept for `searched`."""
        if self.subject.domain is not None or not words:
            return words
        # Words on which the reference fails stay: judging them reports the failure.
        parts, _ = apart(words, lambda some: list(zip(some, self.subject.answers(some) or [], strict=True)))
        found = dict(chain.from_iterable(parts))
        left = {word for word, raw in found.items() if unjudged(raw)}
        self._answered |= found
        return [word for word in words if word not in left]

    def searched(self, words: Sequence[Word]) -> tuple[Tally, list[float], list[tuple[Word, float]]]:
        """Return the results for words that are all judged: a tally, for each word a lower bound of its margin, and for
        each word the prefix (or the word itself) of least margin.

        If prefixes are words of their own, every prefix is judged too: a wrong prefix is a mismatch, even if the whole
        word is right. A word on which the reference fails has an infinite margin.
        """
        known: dict[Word, tuple[float, tuple[Word, float]]] = {word: (inf, (word, inf)) for word in words}

        def tally(some: Sequence[Word]) -> Tally:
            total, margins, least = self._searched(some)
            known.update(zip(some, zip(margins, least, strict=True), strict=True))
            return total

        total = tallied(words, tally, self.subject.alphabet)
        self._answered.clear()
        return total, [known[word][0] for word in words], [known[word][1] for word in words]

    def _searched(self, words: Sequence[Word]) -> tuple[Tally, list[float], list[tuple[Word, float]]]:
        raws, total, subject = self._raws(words), Tally(len(words[0])), self.subject
        margins = [inf] * len(words)
        least: list[tuple[Word, float]] = []
        for start in range(0, len(words), self._size(len(words[0]))):
            some = slice(start, start + self._size(len(words[0])))
            if subject.prefixes:
                ends = self.engine.enclosures(words[some], subject.places(len(words[0]), True))
                last = None if ends is None else (ends[0][:, -1:], ends[1][:, -1:])
                part, margins[some] = self._judged(words[some], [ended(raw) for raw in raws[some]], False, last)
                least += self._prefixes(part, margins[some], words[some], raws[some], ends)
                total.merge(part, subject.alphabet)
                continue
            for listed in (False, True):  # a reference may give lists for some words and single values for others
                chosen = [place for place in range(len(words))[some] if by_position(raws[place]) is listed]
                if chosen:
                    part, low = self._judged([words[i] for i in chosen], [raws[i] for i in chosen], listed)
                    total.merge(part, subject.alphabet)
                    for place, margin in zip(chosen, low, strict=True):
                        margins[place] = margin
            least += zip(words[some], margins[some], strict=True)
        return total, margins, least

    def _size(self, places: int) -> int:
        """Return the number of words that are judged at once, with this many positions each."""
        return max(1, CELLS // (len(self.rule.outputs) * (places + 1)))

    def _prefixes(
        self,
        tally: Tally,
        margins: Sequence[float],
        words: Sequence[Word],
        raws: Sequence[Any],
        ends: tuple[Ends, Ends] | None,
    ) -> list[tuple[Word, float]]:
        """Add the first wrong prefix to the tally, as a mismatch: it is not a word of this length, and not counted as
        one. Return for each word the prefix, or the word itself, of least margin."""
        subject, before, whole = self.subject, [raw[:-1] for raw in raws], list(zip(words, margins, strict=True))
        if ends is None or not before[0]:
            return whole
        low, high = ends
        shape = (-1, 1, low.shape[2])
        expected = subject.expected([word[:-1] for word in words], before, True)
        flat = expected.shaped(len(words) * (low.shape[1] - 1))
        found = self.rule.compare(low[:, :-1].reshape(shape), high[:, :-1].reshape(shape), flat)
        least = found.low.reshape(len(words), -1)
        wrong = found.wrong.reshape(len(words), -1)
        for place in np.flatnonzero(wrong.any(axis=1)).tolist():
            first = int(np.flatnonzero(wrong[place])[0])
            prefix = words[place][: first + subject.shortest]
            part = OutputBounds(
                low[[place], first : first + 1], high[[place], first : first + 1], FLOAT64, FLOAT_DIGITS
            )
            one = self._mismatch(prefix, raws[place][first], part, False)
            tally.mismatch = first_of(tally.mismatch, one, subject.alphabet)
        firsts = least.argmin(axis=1)
        prefixes = [
            (word[: int(first) + subject.shortest], float(row[first]))
            for word, row, first in zip(words, least, firsts, strict=True)
        ]
        return [min(pair, key=lambda one: one[1]) for pair in zip(whole, prefixes, strict=True)]

    def _judged(
        self, words: Sequence[Word], raws: Sequence[Any], listed: bool, ends: tuple[Ends, Ends] | None = None
    ) -> tuple[Tally, list[float]]:
        """Return the tally of words that are all judged, and a lower bound of each word's margin (of no meaning where
        the word stays undecided); `ends` are the lower and upper bounds of their outputs, None if they are not known
        yet."""
        subject, order = self.subject, self.subject.alphabet
        places = subject.places(len(words[0]), listed)
        expected = subject.expected(words, raws, listed)
        tally = Tally(len(words[0]), len(words))
        for raw in raws:
            known, open_ = subject.positions_of(len(words[0]), raw)
            tally.positions_judged += known
            tally.positions_unjudged += open_
        left: Sequence[int] = range(len(words))
        ends = ends or self.engine.enclosures(words, places)
        margins = [-inf] * len(words)
        if ends is not None:
            found = self.rule.compare(*ends, expected)
            margins = found.low.tolist()
            sure = found.right | found.wrong
            tally.digits = FLOAT_DIGITS
            least = extreme(1, (found.low, found.high), words, sure & np.isfinite(found.low))
            if least is not None:
                tally.extremes[MARGIN] = least
            tally.soft_mismatches = int(found.wrong.sum())
            tally.note(WRONG, words, found.wrong)
            for place in np.flatnonzero(found.wrong).tolist():
                part = OutputBounds(ends[0][[place]], ends[1][[place]], FLOAT64, FLOAT_DIGITS)
                tally.note_mismatch(self._mismatch(words[place], raws[place], part, listed), order)
            left = np.flatnonzero(~sure).tolist()
        # With --engine float64 no other arithmetic may decide the rest.
        if self.engine.engine == FLOAT64:
            for place in left:
                tally.note_undecided(words[place])
            return tally, margins
        unknown = expected.unknown
        for place in left:
            # More digits do not help where the reference itself is uncertain.
            if unknown[place]:
                tally.note_undecided(words[place])
                continue
            margins[place] = self._alone(tally, words[place], raws[place], expected.of([place]), listed)
        return tally, margins

    def _alone(self, tally: Tally, word: Word, raw: Any, expected: ExpectedOutputs, listed: bool) -> float:
        """Add one word to the tally, in the arithmetic of single words, and return a lower bound of its margin, or 0 if
        the word stays undecided."""

        def settled(low: Ends, high: Ends) -> bool:
            found = self.rule.compare(low, high, expected)
            return bool(found.right[0] or found.wrong[0])

        places = self.subject.places(len(word), listed)
        found = self.engine.alone(word, places, settled)
        if found is None and expected.never.any():  # wrong whatever the outputs are
            found = unbounded(expected.judged.shape[1], len(self.rule.outputs))
        if found is None or not settled(found.low, found.high):
            tally.note_undecided(word)
            return 0.0
        tally.digits = max(tally.digits, found.digits)
        tally.escalated += found.engine == BALL
        compared = self.rule.compare(found.low, found.high, expected)
        low, high = compared.low[0], compared.high[0]
        if -inf < low < inf:  # where nothing can be wrong there is no margin
            margin = Extreme.of(1, (low, high), word)
            before = tally.extremes.get(MARGIN)
            tally.extremes[MARGIN] = margin if before is None else before.join(margin)
        if compared.wrong[0]:
            tally.soft_mismatches += 1
            tally.note(WRONG, [word], compared.wrong[:1])
            tally.note_mismatch(self._mismatch(word, raw, found, listed), self.subject.alphabet)
        return low if isinstance(low, float) else nearest_float(low)

    def _mismatch(self, word: Word, raw: Any, found: OutputBounds, listed: bool) -> Mismatch:
        said = [self.rule.answer(low, high) for low, high in zip(found.low[0], found.high[0], strict=True)]
        wishes = [self.rule.text_of(one) for one in (raw if listed else [raw])]
        # An output at a position that is not judged is no part of the mismatch.
        kept = [said[place] if wish is not None else None for place, wish in enumerate(wishes)]
        return Mismatch(
            word,
            _answer(raw, wishes, listed),
            None,
            _answer(raw, kept, listed),
            direct=True,
            no_output=self._no_output(word, raw, listed),
        )

    def _no_output(self, word: Word, raw: Any, listed: bool) -> NoOutput | None:
        """Return the first expected value that no output has, with its position; None if there is no such value."""
        if not listed:
            position = 1 if self.subject.network.readout.at == "first" else len(word)
            return self._unsaid(raw, position)
        found = (self._unsaid(one, place) for place, one in enumerate(raw, start=self.subject.shortest))
        return next(filter(None, found), None)

    def _unsaid(self, raw: Any, position: int) -> NoOutput | None:
        never = self.rule.never(raw)
        if not never:
            return None
        message = self.rule.text_of(frozenset(never) if len(never) > 1 else never[0])
        return NoOutput.of(str(message), position, self.rule.possible())

    # ---- single words ----

    def evaluations(self, words: Sequence[Word]) -> list[Evaluation]:
        """Return the outputs on each of some words."""
        return list(map(self.evaluation, words))

    def evaluation(self, word: Word) -> Evaluation:
        """Return everything about one word: its outputs at every symbol, or where the network is read."""
        subject, readout = self.subject, self.subject.network.readout
        # The empty word is answered even where the reference says nothing about it.
        raws = None if len(word) < subject.shortest else subject.answers([word])
        raw = None if raws is None else raws[0]
        listed = by_position(raw) or (raw is None and readout.at == "each" and bool(word))
        places = subject.places(len(word), listed)
        # One value for the word is shown at each position.
        shown = places[-1:] if readout.pooled == "mean" else places
        wishes = list(raw) if by_position(raw) else [raw] * len(shown)
        expected = subject.expected([word], [wishes if listed else raw], listed)

        def settled(low: Ends, high: Ends) -> bool:
            compared = self.rule.compare(low, high, expected)
            said = [self.rule.answer(a, b) for a, b in zip(low[0], high[0], strict=True)]
            return bool(compared.wrong[0]) or (bool(compared.right[0]) and None not in said)

        ends, found = self.engine.enclosures([word], places), None
        if ends is not None:
            found = OutputBounds(*ends, FLOAT64, FLOAT_DIGITS)
        if found is None or (not settled(found.low, found.high) and self.engine.engine == AUTO):
            found = self.engine.alone(word, places, settled) or found
        if found is None:
            return Evaluation(word, None, None, None, 0, decided=False)
        compared = self.rule.compare(found.low, found.high, expected)
        named = [str(token) for token in (*readout.before, *word, *readout.after)]
        rows = [
            PlaceOutputs(
                place,
                named[place],
                self.rule.answer(low, high),
                subject.rule.text_of(wish),
                tuple(map(self._ends, subject.network.outputs, low, high)),
            )
            for place, wish, low, high in zip(shown, wishes, found.low[0], found.high[0], strict=True)
        ]
        judged = not unjudged(raw)
        right = True if compared.right[0] else False if compared.wrong[0] else None
        said = [row.answer for row in rows]
        return Evaluation(
            word=word,
            oracle=_answer(raw, [row.expected for row in rows], listed) if judged else None,
            hard=None,
            soft=_answer(raw, said, listed),
            digits=found.digits,
            decided=right is not None if judged else None not in said,
            margin=Fraction(compared.low[0]) if judged and -inf < compared.low[0] < inf else None,
            places=tuple(rows),
            right=right if judged else None,
            no_output=self._no_output(word, raw, listed) if right is False else None,
            arithmetic=found.arithmetic,
        )

    def _ends(self, output: Token, low: Any, high: Any) -> OutputEnds:
        return OutputEnds(str(output), *(Fraction(end) if -inf < end < inf else None for end in (low, high)))


def _answer(raw: Any, texts: Sequence[str | None], listed: bool) -> Answer:
    """Return the texts of the outputs at some positions (None: uncertain) as one answer, a tuple by position. A single
    truth value stays a truth value. (Where a number is read, a truth value may be expected as 0 or 1, but is never the
    answer.)"""
    if not listed and isinstance(raw, bool | np.bool_) and texts[0] in (None, "True", "False"):
        return {"True": True, "False": False}.get(str(texts[0]))
    return tuple(texts)
