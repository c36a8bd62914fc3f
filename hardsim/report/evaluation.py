"""What `hardsim eval` prints: one row per word, the word last, so that it is never cut."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.checking.compare import Evaluation
from hardsim.report.check import AGREE, NOT_DECIDED
from hardsim.report.numbers import NOTHING, output_text, short, word_text, yes
from hardsim.report.screen import Column, Screen

COLUMNS = (
    Column("agree", "left"),
    Column("oracle", "left"),
    Column("hard", "left"),
    Column("soft", "left"),
    Column("output"),
    Column("unrounded"),
    Column("margin"),
    Column("digits"),
    Column("word", "left"),
)


def print_evaluations(screen: Screen, evaluations: Sequence[Evaluation], alphabet: Sequence[str]) -> None:
    """The table of one model's words."""
    screen.table(COLUMNS, [row(found, alphabet) for found in evaluations])


def row(found: Evaluation, alphabet: Sequence[str]) -> list[str]:
    """One word: whether the three agree, what each says, the output, before its clips, least margin, precision."""
    if not found.decided:
        answers = [AGREE[found.agree], yes(found.oracle), yes(found.hard), NOT_DECIDED]
        return [*answers, NOTHING, NOTHING, NOTHING, str(found.digits), word_text(found.word, alphabet)]
    return [
        AGREE[found.agree],
        yes(found.oracle),
        yes(found.hard),
        yes(found.soft),
        output_text(found.value),
        short(found.unrounded),
        short(found.margin),
        str(found.digits),
        word_text(found.word, alphabet),
    ]
