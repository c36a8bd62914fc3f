"""Timing of passes that run alternately, so that other load on the machine affects all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


def measure(group: str, case: str, n: int, passes: Sequence[Pass], truth: Sequence[bool]) -> list[PassCost]:
    """Return the cost of each pass on the words of a case of a group; `truth` has the expected answers.

    Raises:
        WrongAnswerError: if an exact pass gives a wrong answer.
    """
    started: dict[str, Callable[[], Answers]] = {}
    answers: dict[str, Answers] = {}
    setups: dict[str, float] = {}
    for one in passes:
        if one.warm:
            began = process_time()
            started[one.name] = one.start()
            answers[one.name] = started[one.name]()
            setups[one.name] = process_time() - began
    seconds: dict[str, list[float]] = {one.name: [] for one in passes}
    # All passes take turns; those with fewer repetitions end earlier.
    for turn in range(max(one.repeats for one in passes)):
        for one in passes:
            if turn < one.repeats:
                began = process_time()
                answers[one.name] = (started.get(one.name) or one.start())()
                seconds[one.name].append(process_time() - began)
    costs = []
    for one in passes:
        expected, middle = truth[: one.words], median(seconds[one.name])
        agreed, undecided = _right(f"{case}, n = {n}: {one.name}", one, answers[one.name], expected)
        setup, words = max(0.0, setups.get(one.name, 0.0) - middle), len(expected)
        costs.append(PassCost(group, case, n, one.name, words, one.repeats, middle / words, agreed, undecided, setup))
    return costs


def _right(where: str, one: Pass, answers: Answers, truth: Sequence[bool]) -> tuple[int, int]:
    """Return the numbers of right answers and of words without an answer."""
    if len(answers) != len(truth):
        raise WrongAnswerError(f"{where} gave {len(answers)} answers on {len(truth)} words")
    agreed = sum(found is right for found, right in zip(answers, truth, strict=True))
    wrong = len(truth) - agreed - answers.count(None)
    if one.exact and wrong:
        raise WrongAnswerError(f"{where} is wrong on {wrong} words")
    return agreed, answers.count(None)
