"""Timing of passes that run alternately, so that other load on the machine affects all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import process_time

from benchmarks.results import PassCost

Answers = list[bool | None]
"""The answers of a pass, one for each word; None where the pass is undecided."""


class WrongAnswerError(Exception):
    """A pass gave another answer than the definition: its cost would mean nothing."""


@dataclass(frozen=True)
class Pass:
    """A way to run a network. `start` prepares it and returns a function that answers the first `words` words of the
    case.

    With `warm` the words are run once before they are timed, and the additional time of this first run counts as
    set-up; otherwise each repetition starts anew, and the set-up is part of the words' cost. `exact` passes must be
    right or undecided.
    """

    name: str
    words: int
    repeats: int
    start: Callable[[], Callable[[], Answers]]
    warm: bool = False
    exact: bool = True


@dataclass
class _Running:
    """A pass under way, with the processor seconds of each repetition."""

    given: Pass
    run: Callable[[], Answers] | None = None
    answers: Answers | None = None
    setup: float = 0.0
    seconds: list[float] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """The median of the repetitions."""
        return median(self.seconds)

    def warm_up(self) -> None:
        """Run what is not timed: the preparation of a warm pass, and its first run."""
        if self.given.warm:
            began = process_time()
            self.run = self.given.start()
            self.answers = self.run()
            self.setup = process_time() - began

    def repeat(self) -> None:
        """Time one repetition."""
        began = process_time()
        run = self.run or self.given.start()
        self.answers = run()
        self.seconds.append(process_time() - began)


def measure(group: str, case: str, n: int, passes: Sequence[Pass], truth: Sequence[bool]) -> list[PassCost]:
    """Return the cost of each pass on the words of a case of a group; `truth` has the expected answers.

    Raises:
        WrongAnswerError: if an exact pass gives a wrong answer.
    """
    running = [_Running(given) for given in passes]
    for one in running:
        one.warm_up()
    # All passes take turns; those with fewer repetitions end earlier.
    for turn in range(max(given.repeats for given in passes)):
        for one in running:
            if turn < one.given.repeats:
                one.repeat()
    return [_cost(group, case, n, one, truth[: one.given.words]) for one in running]


def _cost(group: str, case: str, n: int, one: _Running, truth: Sequence[bool]) -> PassCost:
    given, answers = one.given, one.answers or []
    if len(answers) != len(truth):
        raise WrongAnswerError(f"{case}, n = {n}: {given.name} gave {len(answers)} answers on {len(truth)} words")
    agreed = sum(found is right for found, right in zip(answers, truth, strict=True))
    undecided = sum(found is None for found in answers)
    if given.exact and agreed + undecided < len(truth):
        raise WrongAnswerError(f"{case}, n = {n}: {given.name} is wrong on {len(truth) - agreed - undecided} words")
    return PassCost(
        group=group,
        case=case,
        n=n,
        name=given.name,
        words=len(truth),
        repeats=given.repeats,
        seconds=one.middle / len(truth),
        agreed=agreed,
        undecided=undecided,
        setup=max(0.0, one.setup - one.middle) if given.warm else 0.0,
    )
