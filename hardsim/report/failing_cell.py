"""Find in a trace where an answer goes wrong: a query, a head, and what hard attention reads there.

Nothing is guessed. The first layer with a negative margin is the first in which a value is not rounded for certain to
that of hard attention. Of its heads the one whose reading is furthest off is named. Where
nothing is rounded, the head is the first one that gives less than half of its softmax weight to what hard attention
reads. External networks have no hard run to compare with, so only the position of their wrong output is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.trace import TraceHead, TraceRead, TraceResult, TraceValue
from hardsim.records import short
from hardsim.visible import visible

HALF = Fraction(1, 2)
SAME = Fraction(1, 10**9)
"""Largest distance between the output of a word and the value of the coordinate that holds it."""


@dataclass(frozen=True, slots=True)
class FailingCell:
    """The place where an answer goes wrong. Places count the positions of the trace from 0."""

    query: int
    head: TraceHead | None
    """The head; None if only the query is known."""
    key: int | None
    """The only key that hard attention reads there; None if there are several or none, or if there is no head."""
    text: str
    """One sentence for the user."""


def failing_cell(result: TraceResult) -> FailingCell | None:
    """Return where the answer goes wrong, or stays undecided; None if it is right, or nothing in the trace tells."""
    answers = result.answers
    if answers.agree is True or (answers.agree is None and answers.decided):
        return None
    wrong = wrong_places(result)
    if answers.places:
        what = "is wrong" if answers.decided else "is not decided"
        return FailingCell(wrong[0], None, None, f"the output at {_place(result, wrong[0])} {what}") if wrong else None
    rounded = _rounded_wrongly(result, wrong)
    if rounded is not None:
        value, place, margin = rounded
        reason = f"{visible(value.coordinate)} has margin {short(margin)} there"
        head = _furthest_off(result, value.layer, place)
        if head is None:
            return FailingCell(place, None, None, f"{_place(result, place)}: {reason}")
        return _cell(result, head, place, f"; {reason}")
    left = _left_alone(result, wrong)
    return None if left is None else _cell(result, *left, "")


def wrong_places(result: TraceResult) -> list[int]:
    """Return the places at which the answer is read and is wrong or undecided; for an acceptor the place at which it
    is read, if it is known."""
    answers = result.answers
    if answers.places:
        compared = [one for one in answers.places if one.expected is not None and one.answer != one.expected]
        return [one.position - result.first for one in compared]
    if isinstance(answers.soft, tuple) and len(answers.soft) == len(result.word):
        shift = len(result.symbols) - len(result.word)
        others = [one for one in (answers.oracle, answers.hard) if isinstance(one, tuple)]
        return [k + shift for k, one in enumerate(answers.soft) if any(one != other[k] for other in others)]
    if isinstance(answers.hard, tuple):  # softmax decides nothing
        return list(range(len(result.symbols) - len(result.word), len(result.symbols)))
    place = read_place(result)
    return [] if place is None else [place]


def read_place(result: TraceResult) -> int | None:
    """Return the place at which a compiled acceptor's answer is read; None if there is none or if it is not known."""
    several = isinstance(result.answers.hard, tuple) or isinstance(result.answers.soft, tuple)
    if result.answers.places or several:
        return None
    if result.model.at in ("start", "mean"):  # the mean is read at no one place
        return 0 if result.model.at == "start" else None
    if result.model.at == "last":
        return len(result.symbols) - 1
    return None if result.model.bos else 0


def output_value(result: TraceResult) -> TraceValue | None:
    """Return the coordinate of the last layer that holds an acceptor's output: the one that is its output and its
    hard answer at the place that is read. None if there is none."""
    place, answers = read_place(result), result.answers
    if place is None or answers.output is None or not isinstance(answers.hard, bool):
        return None
    output = Fraction(answers.output)
    last = max((value.layer for value in result.values), default=0)
    for value in reversed(result.values):
        same = abs(value.soft[place] - output) <= SAME and value.hard[place] == answers.hard
        if value.layer == last and same:
            return value
    return None


def _rounded_wrongly(result: TraceResult, wrong: list[int]) -> tuple[TraceValue, int, Fraction] | None:
    """Return the coordinate, the place and the margin where the margin is least, in the first layer that has a negative
    one: at a place of a wrong answer if one of them is negative there."""
    found = [
        (value, place, Fraction(margin))
        for value in result.values
        for place, margin in enumerate(value.margin or ())
        if margin < 0
    ]
    if not found:
        return None
    first = min(value.layer for value, _, _ in found)
    found = [one for one in found if one[0].layer == first]
    return min([one for one in found if one[1] in wrong] or found, key=lambda one: one[2])


def _furthest_off(result: TraceResult, layer: int, place: int) -> TraceHead | None:
    """Return the head of a layer whose reading at a place is furthest off; None if all are exact."""
    heads = [head for head in result.heads if head.layer == layer and head.reads[place].error]
    return max(heads, key=lambda head: head.reads[place].error or 0, default=None)


def _left_alone(result: TraceResult, wrong: list[int]) -> tuple[TraceHead, int] | None:
    """Return the first head, by layers, that gives less than half of its weight to what hard attention reads, and the
    place: one of a wrong answer if there is one."""
    found = list(_little_weight(result))
    if not found:
        return None
    first = [one for one in found if one[0].layer == found[0][0].layer]
    return next((one for one in first if one[1] in wrong), first[0])


def _little_weight(result: TraceResult) -> Iterator[tuple[TraceHead, int]]:
    for head in sorted(result.heads, key=lambda head: head.layer):
        for place, read in enumerate(head.reads):
            if read.keys and read.weight < HALF:
                yield head, place


def _cell(result: TraceResult, head: TraceHead, place: int, reason: str) -> FailingCell:
    read: TraceRead = head.reads[place]
    keys = [key - result.first for key in read.keys]
    about = f"layer {head.layer}, {visible(head.name)}, {_place(result, place)}"
    if not keys:
        return FailingCell(place, head, None, f"{about}: hard attention reads nothing{reason}")
    where = _place(result, keys[0]) if len(keys) == 1 else f"positions {read.looks}"
    text = f"{about}: hard attention reads {where}, to which softmax gives a weight of at least {read.at_least}{reason}"
    return FailingCell(place, head, keys[0] if len(keys) == 1 else None, text)


def _place(result: TraceResult, place: int) -> str:
    return f"position {place + result.first} ({visible(result.symbols[place])})"
