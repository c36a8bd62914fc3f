"""Oracle, hard attention and softmax on the same words, word by word.

The three share nothing: the oracle reads the formula, the hard interpreter the named program, the forward pass the
matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, islice
from typing import Literal

import numpy as np

from hardsim.checking.figures import settle, settle_answer, settle_mismatch
from hardsim.checking.result import AUTO, MPMATH, HeadResult, LengthResult, Mismatch, Word, undecided_word
from hardsim.checking.rigorous import AutoEngine, BatchEngine, make_engine
from hardsim.checking.soft import Bounds, SoftAnswer, allowed_error
from hardsim.checking.subject import Subject
from hardsim.checking.tally import Tally, finish
from hardsim.errors import Undecided
from hardsim.lang.parallel import ParallelOracle
from hardsim.lang.semantics import Oracle
from hardsim.run.ball import BallContext
from hardsim.run.plan import make_plan
from hardsim.spec.hard import HardInterpreter, HardTrace
from hardsim.spec.parallel import ParallelHard

BATCH = 256
"""Words that are asked about at a time where only their answers count."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One word, three answers. `soft` is None where `value`, the network's output, is neither exactly 0 nor exactly 1.

    `unrounded` is the output before the clips (None if no attention decides it), `margin` the least distance of an
    attended value from its threshold, `digits` the precision in decimal digits. Where `decided` is false the engine
    reached no answer, and `soft`, `value`, `unrounded` and `margin` mean nothing.
    """

    word: Word
    oracle: bool
    hard: bool
    soft: bool | None
    value: Fraction
    unrounded: Fraction | None
    margin: Fraction | None
    digits: int
    decided: bool = True

    @property
    def agree(self) -> bool | None:
        """Whether the three agree; None where the network's answer is missing and the others agree."""
        return False if self.mismatch is not None else True if self.decided else None

    @property
    def mismatch(self) -> Mismatch | None:
        """The mismatch, if the three do not agree."""
        if self.hard is self.oracle and (self.soft is self.hard or not self.decided):
            return None
        return Mismatch(self.word, self.oracle, self.hard, self.soft, self.value, self.decided)


class Judge:
    """A subject ready to be asked about words, one length at a time; `engine` is the arithmetic of the network."""

    def __init__(self, subject: Subject, dps: int | None = None, engine: str = MPMATH) -> None:
        self.subject = subject
        self.oracle = Oracle(subject.file)
        self.hard = HardInterpreter(subject.program)
        self.oracle_of_many = ParallelOracle(subject.file)
        self.hard_of_many = ParallelHard(subject.program)
        self.plan = make_plan(subject.model)
        self.name = engine
        self.engine = make_engine(engine, subject, self.plan, dps)

    def evaluate(self, word: Word) -> Evaluation:
        """All three answers on one word."""
        hard = self.hard.run(word)
        found = self._found(word, hard)
        shown = settle_answer(word, found, self._again(word)) if self.name == AUTO else found
        return Evaluation(
            word=word,
            oracle=self.oracle.accepts(word),
            hard=hard.accepted,
            soft=shown.answer,
            value=shown.value,
            unrounded=_middle(shown.unrounded),
            margin=_middle(shown.margin),
            digits=shown.digits,
            decided=shown.decided,
        )

    def tally(self, word: Word, tally: Tally) -> None:
        """Add one word to a tally of its length."""
        self.tally_all([word], tally)

    def tally_all(self, words: Sequence[Word], tally: Tally) -> None:
        """Add words to a tally of their length."""
        if isinstance(self.engine, BatchEngine):
            self._tally_batch(self.engine, words, tally)
            return
        hards = [self.hard.run(word) for word in words]
        for word, hard, found in zip(words, hards, self.engine.answers(words, hards), strict=True):
            oracle = self.oracle.accepts(word)
            tally.note(word, oracle, found)
            for name, gap in hard.gaps.items():
                tally.note_gap(name, gap)
            wrong_soft = found.decided and found.answer is not hard.accepted
            wrong_hard = hard.accepted is not oracle
            tally.soft_mismatches += wrong_soft
            tally.hard_mismatches += wrong_hard
            if wrong_soft or wrong_hard:
                self._note_mismatch(word, oracle, hard.accepted, found, tally)

    def _tally_batch(self, engine: BatchEngine, words: Sequence[Word], tally: Tally) -> None:
        """The same for all words at once."""
        symbols = self.hard_of_many.symbols(words)
        hard = self.hard_of_many.run(symbols)
        oracle = self.oracle_of_many.accepts(symbols)
        found = engine.batch(words, hard)
        tally.note_batch(words, oracle, found)
        for name, gap in hard.gaps.items():
            tally.note_gap(name, gap)
        wrong_soft = found.decided & ~np.where(hard.accepted, found.accepted, found.rejected)
        wrong_hard = hard.accepted != oracle
        tally.soft_mismatches += int(wrong_soft.sum())
        tally.hard_mismatches += int(wrong_hard.sum())
        wrong = np.flatnonzero(wrong_soft | wrong_hard)
        if len(wrong):
            first = int(wrong[np.lexsort(symbols[wrong].T[::-1])[0]])
            answers = bool(oracle[first]), bool(hard.accepted[first])
            self._note_mismatch(words[first], *answers, found.one(first), tally)

    def _note_mismatch(self, word: Word, oracle: bool, hard: bool, found: SoftAnswer, tally: Tally) -> None:
        mismatch = Mismatch(word, oracle, hard, found.answer, found.value, found.decided)
        tally.note_mismatch(mismatch, self.subject.file.alphabet)

    def _found(self, word: Word, hard: HardTrace) -> SoftAnswer:
        """What the engine finds on one word."""
        if isinstance(self.engine, BatchEngine):
            return self.engine.batch([word], self.hard_of_many.run(self.hard_of_many.symbols([word]))).one(0)
        return self.engine.answers([word], [hard])[0]

    def _again(self, word: Word) -> SoftAnswer:
        """What the balls of `auto` find on a word."""
        assert isinstance(self.engine, AutoEngine)
        return self.engine.balls.answers([word], [self.hard.run(word)])[0]

    def finish(self, tally: Tally, possible: int, bounds_alone: bool = False) -> tuple[LengthResult, Mismatch | None]:
        """The result of a length of which there are `possible` words, and its first mismatch; with `bounds_alone` no
        word is run again for its digits.

        Raises:
            InvariantError: if balls contradict the float64 enclosures of `auto` on a word that is shown.
        """
        known: dict[Word, SoftAnswer] = {}

        def again(word: Word) -> SoftAnswer:
            if word not in known:
                known[word] = self._again(word)
            return known[word]

        figures = settle(tally, self.name, None if bounds_alone else again)
        heads = self.head_results(tally.n, figures.errors, tally.gaps)
        mismatch = tally.mismatch
        if mismatch is not None and self.name == AUTO and not bounds_alone:
            mismatch = settle_mismatch(mismatch, again)
        return finish(tally, figures, possible, heads), mismatch

    def head_results(self, n: int, errors: dict[str, Fraction], gaps: dict[str, Fraction]) -> tuple[HeadResult, ...]:
        """Every head's extremes beside what theory allows and the program declares."""
        budget, program = self.subject.budget, self.subject.program
        results: list[HeadResult] = []
        for number, layer in enumerate(program.layers, start=1):
            for head in layer.heads:
                declared = None
                if head.promise is not None and n > 1:
                    declared = min(head.promise.evaluate(i=i, n=n) for i in range(1, n + 1))
                results.append(
                    HeadResult(
                        name=head.name,
                        layer=number,
                        purpose=head.purpose,
                        theorem=head.theorem,
                        error=errors.get(head.name, Fraction(0)),
                        bound=allowed_error(budget, head, n),
                        gap=gaps.get(head.name),
                        declared_gap=declared,
                        paper_bound=BallContext().above(budget.paper_bound, head, n),
                    )
                )
        return tuple(results)


def _middle(bounds: Bounds | None) -> Fraction | None:
    return None if bounds is None else (Fraction(bounds[0]) + Fraction(bounds[1])) / 2


def evaluate(
    subject: Subject, words: Iterable[Word], dps: int | None = None, engine: str = AUTO
) -> Iterator[Evaluation]:
    """All three answers for each word in turn."""
    judge = Judge(subject, dps, engine)
    for word in words:
        yield judge.evaluate(word)


def accepted_words(
    subject: Subject,
    words: Iterable[Word],
    by: Literal["oracle", "hard", "soft"],
    dps: int | None = None,
    engine: str = AUTO,
) -> Iterator[Word]:
    """The words that one of the three accepts (for `soft`: exactly 1; outputs in between are not accepted).

    Raises:
        Undecided: if the engine reaches no answer on a word.
    """
    judge = Judge(subject, dps, engine)
    for _, same_length in groupby(words, len):
        while batch := list(islice(same_length, BATCH)):
            if by == "oracle":
                accepted = judge.oracle_of_many.accepts(judge.oracle_of_many.symbols(batch)).tolist()
            elif by == "hard":
                accepted = judge.hard_of_many.run(judge.hard_of_many.symbols(batch)).accepted.tolist()
            else:
                accepted = [
                    _decided(word, *found) for word, found in zip(batch, judge.engine.decisions(batch), strict=True)
                ]
            yield from (word for word, wanted in zip(batch, accepted, strict=True) if wanted)


def _decided(word: Word, decided: bool, answer: bool | None) -> bool:
    if not decided:
        raise Undecided(undecided_word(word))
    return answer is True
