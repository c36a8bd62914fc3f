"""The answers and errors of a softmax model on words of one length, beside the exact hard run of the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.exact import Trace as HardTrace
from hardsim.ahat.measure import LengthFacts, measure
from hardsim.checking.attention import Answer, AttentionSubject, certain, settled
from hardsim.checking.attention_floats import FLOAT_BITS, float_answers, float_errors, float_margins
from hardsim.checking.attention_result import AttentionMismatch
from hardsim.checking.attention_tally import ErrorTally
from hardsim.checking.result import Word
from hardsim.errors import Undecided
from hardsim.net.model import Transformer
from hardsim.run.arithmetic import Column, Value
from hardsim.run.float_model import FloatModel, FloatTrace
from hardsim.run.float_trust import distrust
from hardsim.run.forward import Trace
from hardsim.run.mp import MpArithmetic
from hardsim.run.soft import Engine, SoftModel, SoftTrace, bounds
from hardsim.spec.integers import Exact

ROUNDING = Fraction(1, 2**64)
"""What mpmath, which has no enclosures, is allowed to be off by before an error of its counts as beyond a bound; the
precision is chosen for far less."""
CELLS = 1 << 20
"""Scores that a batch of the exact run may hold per head."""
BATCH = 4096


def batches(words: Iterable[Word], size: int) -> Iterator[list[Word]]:
    """The words of one length in batches whose scores fit into memory; `size` is the number of positions."""
    source = iter(words)
    while batch := list(islice(source, max(1, min(BATCH, CELLS // (size * size))))):
        yield batch


def measure_words(subject: AttentionSubject, exact: ExactModel, words: Sequence[Word]) -> LengthFacts:
    """The facts of the hard model on words of one length (at least one word).

    Raises:
        OutOfRange: if a program leaves the range that its construction covers.
    """
    facts: LengthFacts | None = None
    prepared = [subject.prepared(word) for word in words]
    for batch in batches(prepared, len(prepared[0]) + subject.hard.bos):
        trace = exact.run(batch)
        if subject.guard is not None:
            subject.guard(batch, trace)
        found = measure(subject.hard, batch, trace, exact.outputs(trace))
        if facts is None:
            facts = found
        else:
            facts.merge(found)
    assert facts is not None
    return facts


class SoftJudge:
    """One softmax model of a subject, ready to be held against the hard one."""

    def __init__(self, subject: AttentionSubject, model: Transformer, hard: Transformer, engine: Engine) -> None:
        self.subject = subject
        self.exact = ExactModel(hard)
        self.soft = SoftModel(model, engine)
        self.distrust = distrust() if engine in ("auto", "float64") else None
        self.floats = FloatModel(model) if engine in ("auto", "float64") and self.distrust is None else None

    def run(self, word: Word) -> SoftTrace:
        """The softmax model on a word of the subject, at a precision that settles the answer."""
        return self.soft.run(self.subject.prepared(word), self.is_settled)

    def answer(self, word: Word) -> Answer:
        """The softmax model's answer alone."""
        return self.subject.soft_answer(self.run(word).trace)

    def answers(self, words: Sequence[Word]) -> tuple[list[Answer], list[bool], list[float]]:
        """The answers on a batch, in certified float64 with balls where that does not settle them, whether one was
        reached, and about how far each word is from another answer."""
        prepared = [self.subject.prepared(word) for word in words]
        n = len(prepared[0])
        soft = None if self.floats is None else self.floats.run(prepared)
        found: list[Answer] = [None] * len(words) if soft is None else float_answers(self.subject, soft, n)
        decided = [True] * len(words)
        for index, answer in enumerate(found):
            if not settled(answer):
                found[index], _, decided[index] = self._in_balls(prepared[index])
        return found, decided, [0.0] * len(words) if soft is None else float_margins(self.subject, soft, n)

    def tally(self, words: Sequence[Word]) -> ErrorTally:
        """All that is asked about words of one length; those whose answer is not settled at the limit of the precision
        are counted as undecided.

        Raises:
            Undecided: if float64 alone is asked for, and is not what its bounds assume.
        """
        if self.distrust is not None and self.soft.engine == "float64":
            raise Undecided(self.distrust)
        total = ErrorTally()
        prepared = [self.subject.prepared(word) for word in words]
        place = 0
        for batch in batches(prepared, len(prepared[0]) + self.subject.hard.bos):
            trace = self.exact.run(batch)
            part = words[place : place + len(batch)]
            answers = self.subject.hard_answers(self.exact, trace)
            if self.floats is not None:
                total.merge(self._batch(part, batch, trace, answers))
            else:
                for index, answer in enumerate(answers):
                    total.merge(self._word(part[index], batch[index], index, trace, answer))
            place += len(batch)
        return total

    def is_settled(self, trace: Trace[Any]) -> bool:
        """Whether more precision would not change the answer: it is settled, or exact."""
        subject = self.subject
        if subject.rounded:
            return certain(trace.columns[subject.hard.output].values[trace.index])
        if settled(subject.soft_answer(trace)):
            return True
        outs = [subject.hard.output] if subject.acceptor else [index for _, index in subject.outputs]
        if subject.acceptor:
            return isinstance(trace.columns[outs[0]].values[trace.index], int | Fraction)
        return all(isinstance(value, int | Fraction) for out in outs for value in trace.columns[out].values)

    def _batch(self, words: Sequence[Word], batch: list[Word], hard: HardTrace, answers: list[Answer]) -> ErrorTally:
        """A whole batch in certified float64; answers and errors that it does not settle are asked of the balls."""
        assert self.floats is not None
        soft = self.floats.run(batch)
        total, left = self._float_errors(soft, hard)
        found = float_answers(self.subject, soft, hard.n)
        for index, (word, prepared, answer, seen) in enumerate(zip(words, batch, answers, found, strict=True)):
            bits, decided = FLOAT_BITS, True
            open_answer = settled(answer) and (not settled(seen) or (self.subject.rounded and seen != answer))
            if index in left and self.soft.engine != "float64":
                total.merge(self._word(word, prepared, index, hard, answer))
                continue
            if open_answer or index in left:
                seen, bits, decided = self._in_balls(prepared)
            total.merge(self._answered(word, answer, seen, bits, decided))
        return total

    def _float_errors(self, soft: FloatTrace, hard: HardTrace) -> tuple[ErrorTally, frozenset[int]]:
        """The errors of a batch, and the words (by index) that are left out since float64 has no bounds for them."""
        try:
            return float_errors(soft, hard), frozenset()
        except Undecided:
            bounded = soft.bounded()
        if bounded.any():
            try:
                left = frozenset(np.flatnonzero(~bounded).tolist())
                return float_errors(soft, hard, np.flatnonzero(bounded)), left
            except Undecided:  # two finite numbers may have an infinite distance
                pass
        return ErrorTally(bits=FLOAT_BITS), frozenset(range(len(bounded)))

    def _in_balls(self, prepared: Word) -> tuple[Answer, int, bool]:
        """What balls answer where float64 does not: the answer, the bits, and whether one was reached."""
        if self.soft.engine == "float64":
            return None, FLOAT_BITS, False
        try:
            run = self.soft.run(prepared, self.is_settled)
        except Undecided:
            return None, self.soft.limit, False
        return self.subject.soft_answer(run.trace), run.bits, True

    def _answered(self, word: Word, hard: Answer, soft: Answer, bits: int, decided: bool = True) -> ErrorTally:
        """The answers on one word beside each other."""
        oracle = self.subject.oracle(word) if self.subject.oracle is not None else None
        found = ErrorTally(words=1, accepted=hard is True, bits=bits)
        found.soft_mismatches = int(decided and settled(hard) and soft != hard)
        found.hard_mismatches = int(oracle is not None and oracle != hard)
        if not decided:
            found.undecided, found.stuck = 1, word
        if (decided and soft != hard) or found.hard_mismatches or not settled(hard):
            found.mismatch = AttentionMismatch(word, oracle, hard, soft, decided)
        return found

    def _word(self, word: Word, prepared: Word, index: int, hard: HardTrace, answer: Answer) -> ErrorTally:
        # Where hard attention decides nothing no precision would make softmax agree with it.
        try:
            run = self.soft.run(prepared, self.is_settled if settled(answer) else lambda trace: True)
            found = self._answered(word, answer, self.subject.soft_answer(run.trace), run.bits)
            with run.precision():
                self._errors(run, index, hard, found)
        except Undecided:  # no answer, or some number has no bound at all
            return self._answered(word, answer, None, self.soft.limit, decided=False)
        return found

    def _errors(self, run: SoftTrace, index: int, hard: HardTrace, found: ErrorTally) -> None:
        before: list[Column] = []
        for number, (stages, layer) in enumerate(zip(run.trace.layers, hard.layers, strict=True)):
            for stage, (soft, exact) in enumerate(zip(stages, (layer.attended, layer.columns), strict=True)):
                for coordinate, column in enumerate(soft):
                    if not before or column is not before[coordinate]:
                        found.errors[number, stage, coordinate] = _error(run, column, exact[coordinate], index)
                before = soft
            for name, values in layer.results.items():
                for out, result in values.items():
                    column = run.trace.attended[name][out]
                    found.values[name, out] = _error(run, column, result, index)


def _error(run: SoftTrace, column: Column, hard: Exact, index: int) -> tuple[Fraction, Fraction]:
    """An enclosure of the largest distance of a soft column from the hard one."""
    number, ranked = run.arithmetic.number, run.arithmetic.ranked
    exact = Fraction(0)
    soft: list[Value] = []
    unit = hard.unit
    for value, whole in zip(column.values, hard.whole[index], strict=True):
        wanted = Fraction(int(whole), unit)
        if isinstance(value, int | Fraction):
            exact = max(exact, abs(value - wanted))
        else:
            soft.append(abs(value - number(wanted)))
    if not soft:
        return exact, exact
    low, high = bounds(ranked(soft, 1))
    if isinstance(run.arithmetic, MpArithmetic):
        low = max(low - ROUNDING, Fraction(0))
    return max(low, exact), max(high, exact)
