"""The answers and errors of a softmax model on words of one length, beside the exact hard run of the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.exact import Trace as HardTrace
from hardsim.ahat.integers import Exact
from hardsim.ahat.measure import LengthFacts, measure
from hardsim.checking.attention import Answer, AttentionSubject, certain, settled
from hardsim.checking.attention_result import AttentionMismatch, weightier
from hardsim.checking.result import Word
from hardsim.net.model import Transformer
from hardsim.run.arithmetic import Column, Value
from hardsim.run.forward import Trace
from hardsim.run.soft import Engine, SoftModel, SoftTrace, bounds

CELLS = 1 << 20
"""Scores that a batch of the exact run may hold per head."""
BATCH = 4096

Place = tuple[int, int, int]
"""Layer, 0 after attention or 1 after the layer, coordinate."""


def batches(words: Iterable[Word], size: int) -> Iterator[list[Word]]:
    """The words of one length in batches whose scores fit into memory; `size` is the number of positions."""
    source = iter(words)
    while batch := list(islice(source, max(1, min(BATCH, CELLS // (size * size))))):
        yield batch


@dataclass
class ErrorTally:
    """Errors of a softmax model over the words seen: enclosures of the largest, by place and by (head, coordinate)."""

    words: int = 0
    accepted: int = 0
    bits: int = 0
    soft_mismatches: int = 0
    hard_mismatches: int = 0
    mismatch: AttentionMismatch | None = None
    errors: dict[Place, tuple[Fraction, Fraction]] = field(default_factory=dict)
    values: dict[tuple[str, int], tuple[Fraction, Fraction]] = field(default_factory=dict)

    def merge(self, other: ErrorTally) -> None:
        """Take in what was found on later words; the first mismatch that refutes something stays."""
        self.words += other.words
        self.accepted += other.accepted
        self.bits = max(self.bits, other.bits)
        self.soft_mismatches += other.soft_mismatches
        self.hard_mismatches += other.hard_mismatches
        self.mismatch = weightier(self.mismatch, other.mismatch)
        for place, found in other.errors.items():
            self.errors[place] = _larger(self.errors.get(place), found)
        for name, found in other.values.items():
            self.values[name] = _larger(self.values.get(name), found)

    def final_error(self, layers: int) -> Fraction:
        """The largest error at the end (upper end): of each coordinate, since it was last written."""
        return self.error(layers - 1, 1)

    def error(self, layer: int, stage: int) -> Fraction:
        """The largest error after attention (stage 0) or after the layer: of each coordinate, since last written."""
        latest: dict[int, Fraction] = {}
        for (number, where, coordinate), (_, high) in sorted(self.errors.items(), key=lambda item: item[0]):
            if (number, where) <= (layer, stage):
                latest[coordinate] = high
        return max(latest.values(), default=Fraction(0))


def _larger(left: tuple[Fraction, Fraction] | None, right: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    """The enclosure of the larger of two numbers."""
    return right if left is None else (max(left[0], right[0]), max(left[1], right[1]))


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

    def run(self, word: Word) -> SoftTrace:
        """The softmax model on a word of the subject, at a precision that settles the answer."""
        return self.soft.run(self.subject.prepared(word), self.is_settled)

    def answer(self, word: Word) -> Answer:
        """The softmax model's answer alone."""
        return self.subject.soft_answer(self.run(word).trace)

    def tally(self, words: Sequence[Word]) -> ErrorTally:
        """All that is asked about words of one length."""
        total = ErrorTally()
        prepared = [self.subject.prepared(word) for word in words]
        place = 0
        for batch in batches(prepared, len(prepared[0]) + self.subject.hard.bos):
            trace = self.exact.run(batch)
            for index, answer in enumerate(self.subject.hard_answers(self.exact, trace)):
                total.merge(self._word(words[place + index], batch[index], index, trace, answer))
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

    def _word(self, word: Word, prepared: Word, index: int, hard: HardTrace, answer: Answer) -> ErrorTally:
        run = self.soft.run(prepared, self.is_settled)
        soft = self.subject.soft_answer(run.trace)
        oracle = self.subject.oracle(word) if self.subject.oracle is not None else None
        found = ErrorTally(words=1, accepted=answer is True, bits=run.bits)
        found.soft_mismatches = int(settled(answer) and soft != answer)
        found.hard_mismatches = int(oracle is not None and oracle != answer)
        if soft != answer or found.hard_mismatches or not settled(answer):
            found.mismatch = AttentionMismatch(word, oracle, answer, soft)
        with run.precision():
            self._errors(run, index, hard, found)
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
    return max(low, exact), max(high, exact)
