"""The softmax side of a check: what the network answers on words, by one of several arithmetics.

Measured numbers come as bounds, a lower and an upper one: equal in mpmath, which encloses nothing, rigorous
otherwise. They may be floats, which compare exactly with rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from hardsim.checking.result import MPMATH, Word
from hardsim.checking.subject import Subject
from hardsim.net.model import Transformer
from hardsim.run.arithmetic import Column
from hardsim.run.ball import BallContext
from hardsim.run.forward import Forward, Trace
from hardsim.run.mp import ACCURATE_DIGITS, MpArithmetic, choose_digits, digits_needed, exact
from hardsim.run.plan import Plan, Terms, make_plan
from hardsim.run.unrounded import unrounded_output
from hardsim.spec.hard import HardTrace
from hardsim.spec.ir import ONE, Clip, Head, Rational
from hardsim.theory.budget import Budget

Measured: TypeAlias = Any
"""A Fraction or a float (they have no common base class)."""
Bounds: TypeAlias = tuple[Measured, Measured]
Decision: TypeAlias = tuple[bool, bool | None]
"""`decided` and `answer` of a `SoftAnswer`."""


@dataclass(frozen=True, slots=True)
class SoftAnswer:
    """What the network does on one word.

    `decided` says that `answer` holds: True for an output of exactly 1, False for 0, None where it is neither.
    `errors` bounds each head's largest distance from hard attention over all positions, `sum_error` that of sums of
    looked-up counts. `engine` is the arithmetic that found it, `digits` its decimal digits.
    """

    decided: bool
    answer: bool | None
    output: Bounds
    unrounded: Bounds | None
    margin: Bounds | None
    errors: dict[str, Bounds]
    sum_error: Bounds | None
    engine: str
    digits: int

    @property
    def value(self) -> Fraction:
        """The output, or the middle of its bounds."""
        return (Fraction(self.output[0]) + Fraction(self.output[1])) / 2


@dataclass(frozen=True)
class Watched:
    """Where errors are measured: heads with their output coordinates; forms that sum looked-up counts, with the
    names of what they read."""

    heads: tuple[tuple[Head, int], ...]
    sums: tuple[tuple[Terms, tuple[tuple[str, Rational], ...]], ...]

    @staticmethod
    def of(subject: Subject) -> Watched:
        """Every head of a subject, and every clip `2 (sum + 1) - 1/2` of counts."""
        index = subject.model.coordinates.index
        clips: list[Clip] = [clip for layer in subject.program.layers for clip in layer.clips if clip.counts]
        names = [tuple(pair for pair in clip.pre.terms if pair[0] != ONE) for clip in clips]
        return Watched(
            tuple((head, index(head.out)) for head in subject.program.heads),
            tuple((tuple((index(name), value) for name, value in pairs), pairs) for pairs in names),
        )


def hard_sum(pairs: Sequence[tuple[str, Rational]], hard: HardTrace) -> list[Rational]:
    """A sum of hard columns, by position."""
    total: list[Rational] = [0] * len(hard.columns[ONE])
    for name, value in pairs:
        total = [old + value * entry for old, entry in zip(total, hard.columns[name], strict=True)]
    return total


class Engine(Protocol):
    """An arithmetic that runs the network on one word after the other."""

    def answers(self, words: Sequence[Word], hards: Sequence[HardTrace]) -> list[SoftAnswer]:
        """What the network does on words of one length, measured against their hard traces."""

    def decisions(self, words: Sequence[Word]) -> list[Decision]:
        """What the network answers on words of one length, and nothing else."""


class MpEngine:
    """mpmath: no enclosures; both bounds are the number found."""

    def __init__(self, subject: Subject, plan: Plan, dps: int | None) -> None:
        self.model: Transformer = subject.model
        self.plan = plan
        self.dps = dps
        self.watched = Watched.of(subject)
        self._n = 0
        self._digits = 0
        self._forward: Forward[Any] | None = None

    def digits(self, n: int) -> int:
        """The decimal digits used at length n.

        Raises:
            InputError: if more are needed than are computed with.
        """
        return choose_digits(self.plan, n, self.dps)

    def forward(self, n: int) -> Forward[Any]:
        """The forward pass at the precision of length n."""
        if self._forward is None or n != self._n:
            self._n, self._digits = n, self.digits(n)
            self._forward = Forward(self.model, MpArithmetic(self._digits), self.plan)
        return self._forward

    def answers(self, words: Sequence[Word], hards: Sequence[HardTrace]) -> list[SoftAnswer]:
        """One word after the other."""
        return [self._answer(word, hard) for word, hard in zip(words, hards, strict=True)]

    def decisions(self, words: Sequence[Word]) -> list[Decision]:
        """One word after the other."""
        return [(True, self.forward(len(word)).run(word).verdict(self.model)) for word in words]

    def _answer(self, word: Word, hard: HardTrace) -> SoftAnswer:
        forward = self.forward(len(word))
        soft = forward.run(word)
        unrounded = unrounded_output(forward, soft)
        sums = [
            max(abs(exact(a) - b) for a, b in zip(found.values, hard_sum(pairs, hard), strict=True)) / 2
            for terms, pairs in self.watched.sums
            for found in [forward.combine(terms, 0, soft.columns, len(word))]
        ]
        return SoftAnswer(
            decided=True,
            answer=soft.verdict(self.model),
            output=_twice(exact(soft.output(self.model))),
            unrounded=None if unrounded is None else _twice(exact(unrounded)),
            margin=None if soft.least_margin is None else _twice(exact(soft.least_margin)),
            errors={head.name: _twice(self._error(head, out, hard, soft, forward)) for head, out in self.watched.heads},
            sum_error=_twice(max(sums)) if sums else None,
            engine=MPMATH,
            digits=self._digits,
        )

    def _error(self, head: Head, out: int, hard: HardTrace, soft: Trace[Any], forward: Forward[Any]) -> Fraction:
        """The largest distance between the soft and the hard attended value of a head, over all positions."""
        wanted = hard.columns[head.out]
        column = attended(soft, head, out, len(wanted))
        if column.exact:
            return distance(column.values, wanted)
        number = forward.arithmetic.number
        groups: dict[Any, list[Any]] = {}
        for a, b in zip(column.values, wanted, strict=True):
            groups.setdefault(b, []).append(number(a) if isinstance(a, int | Fraction) else a)
        return max(exact(max(max(values) - number(b), number(b) - min(values))) for b, values in groups.items())


def few_digits(subject: Subject, max_n: int, dps: int | None, engine: str) -> str | None:
    """What to say of digits that were asked for, if they are fewer than mpmath needs up to a length."""
    if engine != MPMATH or dps is None:
        return None
    needed = digits_needed(make_plan(subject.model), max_n)
    if dps >= needed:
        return None
    return (
        f"{dps} decimal digits are fewer than the {needed:,} that keep every activation right to 10^-{ACCURATE_DIGITS} "
        f"at length {max_n}: what mpmath finds may be its rounding"
    )


def undecided(engine: str, digits: int) -> SoftAnswer:
    """The answer of an engine that could not tell."""
    return SoftAnswer(False, None, (Fraction(0), Fraction(1)), None, None, {}, None, engine, digits)


def allowed_error(budget: Budget, head: Head, n: int) -> Fraction:
    """The largest attended error that theory allows a head, rounded up."""
    bound = BallContext().above(budget.error_bound, head, n)
    assert bound is not None
    return bound


def attended(trace: Trace[Any], head: Head, out: int, n: int) -> Column:
    """What a head wrote to its coordinate."""
    return trace.attended[head.name].get(out, Column([0] * n))


def distance(values: Sequence[Rational], wanted: Sequence[Rational]) -> Fraction:
    """The largest distance of two exact columns."""
    return max(abs(Fraction(a) - b) for a, b in zip(values, wanted, strict=True))


def _twice(value: Fraction) -> Bounds:
    return value, value
