"""Oracle, hard attention and softmax on the same words, word by word.

The three share nothing: the oracle reads the formula, the hard interpreter the named program, the forward pass the
matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hardsim.checking.result import HeadResult, Mismatch, Word
from hardsim.checking.subject import Subject
from hardsim.checking.tally import Tally, higher_of
from hardsim.lang.semantics import Oracle
from hardsim.run.arithmetic import Column
from hardsim.run.forward import Forward, Trace
from hardsim.run.mp import MpArithmetic, choose_digits
from hardsim.run.plan import make_plan
from hardsim.run.unrounded import unrounded_output
from hardsim.spec.hard import HardInterpreter, HardTrace
from hardsim.spec.ir import ONE, Clip, Head, Rational


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One word, three answers. `soft` is None where `value`, the network's output, is neither exactly 0 nor exactly 1.

    `unrounded` is the output before the clips (None if no attention decides it), `margin` the least distance of an
    attended value from its threshold, `digits` the precision in decimal digits.
    """

    word: Word
    oracle: bool
    hard: bool
    soft: bool | None
    value: Fraction
    unrounded: Fraction | None
    margin: Fraction | None
    digits: int

    @property
    def mismatch(self) -> Mismatch | None:
        """The mismatch, if the three do not agree."""
        if self.soft is self.hard is self.oracle:
            return None
        return Mismatch(self.word, self.oracle, self.hard, self.soft, self.value)


class Judge:
    """A subject ready to be asked about words, one length at a time."""

    def __init__(self, subject: Subject, dps: int | None = None) -> None:
        self.subject = subject
        self.dps = dps
        self.oracle = Oracle(subject.file)
        self.hard = HardInterpreter(subject.program)
        self.plan = make_plan(subject.model)
        self._sums = [clip for layer in subject.program.layers for clip in layer.clips if clip.counts]
        self._n = 0
        self._digits = 0
        self._forward: Forward[Any] | None = None

    def digits(self, n: int) -> int:
        """The decimal digits used at length n.

        Raises:
            InputError: if fewer were asked for than are needed.
        """
        return choose_digits(self.plan, n, self.dps)

    def forward(self, n: int) -> Forward[Any]:
        """The forward pass at the precision of length n."""
        if self._forward is None or n != self._n:
            self._n, self._digits = n, self.digits(n)
            self._forward = Forward(self.subject.model, MpArithmetic(self._digits), self.plan)
        return self._forward

    def evaluate(self, word: Word) -> Evaluation:
        """All three answers on one word."""
        return self._evaluate(word)[0]

    def _evaluate(self, word: Word) -> tuple[Evaluation, HardTrace, Trace[Any]]:
        forward = self.forward(len(word))
        hard, soft = self.hard.run(word), forward.run(word)
        evaluation = Evaluation(
            word=word,
            oracle=self.oracle.accepts(word),
            hard=hard.accepted,
            soft=soft.verdict(self.subject.model),
            value=exact(soft.output(self.subject.model)),
            unrounded=exact_or_none(unrounded_output(forward, soft)),
            margin=exact_or_none(soft.least_margin),
            digits=self._digits,
        )
        return evaluation, hard, soft

    def tally(self, word: Word, tally: Tally) -> None:
        """Add one word to a tally of its length."""
        found, hard, soft = self._evaluate(word)
        tally.note_output(found.oracle, found.unrounded)
        tally.soft_mismatches += found.soft is not found.hard
        tally.hard_mismatches += found.hard is not found.oracle
        if found.margin is not None:
            tally.margin = found.margin if tally.margin is None else min(tally.margin, found.margin)
        for name, gap in hard.gaps.items():
            tally.note_gap(name, gap)
        for head in self.subject.program.heads:
            tally.note_error(head.name, self._error(head, hard, soft))
        for clip in self._sums:
            tally.sum_error = higher_of(tally.sum_error, self._sum_error(clip, hard, soft))
        mismatch = found.mismatch
        if mismatch is not None:
            tally.note_mismatch(mismatch, self.subject.file.alphabet)

    def _sum_error(self, clip: Clip, hard: HardTrace, soft: Trace[Any]) -> Fraction:
        """The largest error of the sum of counts in a clip `2 (sum + 1) - 1/2`, over all positions."""
        n = len(hard.columns[clip.pre.terms[0][0]])
        index = self.subject.model.coordinates.index
        terms = tuple((index(name), value) for name, value in clip.pre.terms if name != ONE)
        wanted: list[Rational] = [0] * n
        for name, value in clip.pre.terms:
            if name != ONE:
                wanted = [old + value * entry for old, entry in zip(wanted, hard.columns[name], strict=True)]
        found = self.forward(n).combine(terms, 0, soft.columns, n)
        return max(abs(exact(a) - b) for a, b in zip(found.values, wanted, strict=True)) / 2

    def _error(self, head: Head, hard: HardTrace, soft: Trace[Any]) -> Fraction:
        """The largest distance between the soft and the hard attended value of a head, over all positions."""
        wanted = hard.columns[head.out]
        out = self.subject.model.coordinates.index(head.out)
        column = soft.attended[head.name].get(out, Column([0] * len(wanted)))
        if column.exact:
            return max(abs(Fraction(a) - b) for a, b in zip(column.values, wanted, strict=True))
        number = self.forward(len(wanted)).arithmetic.number
        groups: dict[Any, list[Any]] = {}
        for a, b in zip(column.values, wanted, strict=True):
            groups.setdefault(b, []).append(number(a) if isinstance(a, int | Fraction) else a)
        return max(exact(max(max(values) - number(b), number(b) - min(values))) for b, values in groups.items())

    def head_results(self, n: int, tally: Tally) -> tuple[HeadResult, ...]:
        """Every head's extremes beside what theory allows and the program declares."""
        context = MpArithmetic(self.digits(n)).context
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
                        error=tally.errors.get(head.name, Fraction(0)),
                        bound=exact(budget.error_bound(head, n, context)),
                        gap=tally.gaps.get(head.name),
                        declared_gap=declared,
                        paper_bound=exact_or_none(budget.paper_bound(head, n, context)),
                    )
                )
        return tuple(results)


TINY = 20_000


def exact(value: Any) -> Fraction:
    """The rational that a number is (an mpmath number is a dyadic rational).

    Numbers below 2^-TINY in size become 0: their denominators would take longer to write than to compute.
    """
    if isinstance(value, int | Fraction):
        return Fraction(value)
    mantissa, exponent = (int(part) for part in value.man_exp)  # without the sign
    if exponent + mantissa.bit_length() < -TINY:
        return Fraction(0)
    size = mantissa * Fraction(2) ** exponent
    return -size if value < 0 else size


def exact_or_none(value: Any) -> Fraction | None:
    """`exact`, keeping None."""
    return None if value is None else exact(value)


def evaluate(subject: Subject, words: Iterable[Word], dps: int | None = None) -> Iterator[Evaluation]:
    """All three answers for each word in turn."""
    judge = Judge(subject, dps)
    for word in words:
        yield judge.evaluate(word)


def accepted_words(
    subject: Subject, words: Iterable[Word], by: Literal["oracle", "hard", "soft"], dps: int | None = None
) -> Iterator[Word]:
    """The words that one of the three accepts (for `soft`: exactly 1; undecided outputs are not accepted)."""
    judge = Judge(subject, dps)
    for word in words:
        if by == "oracle":
            accepted = judge.oracle.accepts(word)
        elif by == "hard":
            accepted = judge.hard.run(word).accepted
        else:
            accepted = judge.forward(len(word)).run(word).verdict(subject.model) is True
        if accepted:
            yield word
