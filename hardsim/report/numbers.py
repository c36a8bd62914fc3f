"""Numbers and words as text, short, for tables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hardsim.checking.result import Answer
from hardsim.checking.result import count as count
from hardsim.checking.result import plural as plural
from hardsim.records import rounded as rounded

SHORT_DIGITS = 3
NOTHING = "–"
"""What a table shows where there is no number."""


def short(value: Fraction | float | None) -> str:
    """A number for a table: three significant digits, `–` for none."""
    if not value:
        return NOTHING if value is None else "0"
    number = rounded(Fraction(value), SHORT_DIGITS)
    if -4 <= number.adjusted() <= 4:
        return f"{number:f}"
    return f"{number:e}".replace("e+", "e")


def output_text(value: Fraction) -> str:
    """A network's output; one that is close to 0 or 1 but not exactly there never looks as if it were."""
    if value != 1 and abs(1 - value) < Fraction(1, 1000):
        return f"1 {'-' if value < 1 else '+'} {short(abs(1 - value))}"
    return short(value)


def word_text(word: Sequence[str], alphabet: Sequence[str]) -> str:
    """A word as users write it: symbols side by side, or separated by spaces if a symbol of the alphabet is longer."""
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word)


def answer_text(answer: Answer, alphabet: Sequence[str]) -> str:
    """An answer for a table: accept or reject, or the output word; `undecided`, or `?` in a word, is what is left
    undecided."""
    if isinstance(answer, tuple):
        return word_text(["?" if symbol is None else symbol for symbol in answer], alphabet) or "(empty)"
    return "undecided" if answer is None else "accept" if answer else "reject"


def tried_text(words: int, possible: int, exhaustive: bool) -> str:
    """How many words of a length were tried; `all` where it is every one."""
    return f"all {count(words)}" if exhaustive else f"{count(words)} of {count(possible)}"
