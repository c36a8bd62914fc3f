"""What `bound --critical` prints: how small beta may be at each length and at all, and its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from math import log

from hardsim.checking.critical import LARGEST, WIDTH, Bracket, CriticalResult
from hardsim.checking.result import Word
from hardsim.report.argument import head_json
from hardsim.report.check import model_line
from hardsim.report.json import Json, model_json
from hardsim.report.numbers import NOTHING, count, decimal, rational, rounded, short, word_text
from hardsim.report.screen import Column, Screen

COLUMNS = (
    Column("n"),
    Column("wrong\nat beta"),
    Column("right\nat beta"),
    Column("temperature\nconstant"),
    Column("bracket", "left"),
    Column("words tried"),
    Column("wrong on", "left"),
)
SUMMARY_COLUMNS = (
    Column("input", "left"),
    Column("regime", "left"),
    Column("wrong\nat beta"),
    Column("right at\nevery length"),
    Column("bracket", "left"),
    Column("beta\nused"),
)
LONGEST = 40
"""Symbols of a word that a table shows; a longer one is shown as runs."""


def print_critical(screen: Screen, result: CriticalResult, alphabet: Sequence[str], tables: bool) -> None:
    """The block of one result."""
    screen.line((result.name, "bold"))
    screen.line(f"  formula  {result.formula}")
    screen.line(f"  model    {model_line(result.model)}")
    if tables:
        screen.raw()
        screen.table(COLUMNS, [row(bracket, alphabet) for bracket in result.lengths])
    screen.raw()
    for text in conclusions(result):
        screen.line(f"  {text}")
    if result.every.word is not None:
        screen.line("The word that is wrong at the largest beta, on a line of its own:")
        screen.raw(word_text(result.every.word, alphabet))
    screen.raw()


def row(bracket: Bracket, alphabet: Sequence[str]) -> list[str]:
    """One length."""
    return [
        str(bracket.n),
        NOTHING if bracket.refuted is None else exact(bracket.refuted),
        NOTHING if bracket.proved is None else exact(bracket.proved),
        NOTHING if not bracket.proved else short(1 / bracket.proved),
        "closed" if bracket.closed else "open",
        f"all {count(bracket.tried)}" if bracket.exhaustive else count(bracket.tried),
        NOTHING if bracket.word is None else brief(bracket.word, alphabet),
    ]


def conclusions(result: CriticalResult) -> list[str]:
    """What holds at every length, from which argument, and beside which constants."""
    every = result.every
    lines = []
    if result.partial:
        lines.append("every length: not asked, since the search was interrupted")
    elif every.proved is None:
        lines.append(f"every length: not proved at any beta up to {exact(LARGEST)}: {result.reason}")
    else:
        lines.append(
            f"every length: right at beta {exact(every.proved)}, temperature constant {short(1 / every.proved)}"
        )
        if result.deciding is not None and result.deciding.argument is not None:
            argument = result.deciding.argument
            rate = "" if argument.rate is None else f" with g = {argument.rate / every.proved} beta, x = e^-g"
            lines.append(f"  decided by head {result.deciding.name}: its error is at most {argument.bound}{rate}")
    if every.refuted is None:
        lines.append("no word tried is wrong at any beta tried")
    else:
        lines.append(f"wrong at beta {exact(every.refuted)} on a word of length {every.n}")
    if every.closed:
        lines.append(f"the bracket is closed: words come within {exact(WIDTH)} of the proved end")
    elif every.proved is not None:
        lines.append(
            "the bracket is open: the proof gives positions their worst types at their least rate, and none of the "
            f"{count(every.tried)} words tried comes that far (no word may)"
        )
    paper = f"; Lemma 6 needs 2 ln 7 = {2 * log(7):.4f}" if result.nearest else ""
    lines.append(f"beta in use: {exact(result.used)}{paper}")
    if result.partial:
        lines.append("interrupted: not all lengths were done")
    return lines


def exact(value: Fraction) -> str:
    """A multiple of the width, with all its digits."""
    return f"{rounded(value, 12):f}"


def brief(word: Word, alphabet: Sequence[str]) -> str:
    """A word, as runs if it is long."""
    if len(word) <= LONGEST:
        return word_text(word, alphabet)
    runs = [(symbol, len(list(part))) for symbol, part in groupby(word)]
    return " ".join(symbol if size == 1 else f"{symbol}*{size}" for symbol, size in runs)


def print_criticals(screen: Screen, results: Sequence[CriticalResult]) -> None:
    """One row per result."""
    rows = [
        [
            result.name,
            result.model.regime,
            NOTHING if result.every.refuted is None else exact(result.every.refuted),
            NOTHING if result.every.proved is None else exact(result.every.proved),
            "closed" if result.every.closed else "open",
            exact(result.used),
        ]
        for result in results
    ]
    screen.table(SUMMARY_COLUMNS, rows)


# ---- JSON ----


def critical_json(result: CriticalResult) -> Json:
    """A whole result of `bound --critical`."""
    return {
        "input": result.name,
        "formula": result.formula,
        "model": model_json(result.model),
        "width": rational(WIDTH),
        "lengths": [bracket_json(bracket) for bracket in result.lengths],
        "every_length": bracket_json(result.every),
        "deciding": None if result.deciding is None else head_json(result.deciding),
        "reason": result.reason,
        "beta_used": rational(result.used),
        "lemma_6": decimal(Fraction(2 * log(7))) if result.nearest else None,
        "partial": result.partial,
    }


def bracket_json(bracket: Bracket) -> Json:
    """One bracket."""
    return {
        "n": bracket.n or None,
        "right_at": rational(bracket.proved),
        "wrong_at": rational(bracket.refuted),
        "temperature_constant": None if not bracket.proved else rational(1 / bracket.proved),
        "closed": bracket.closed,
        "word": None if bracket.word is None else list(bracket.word),
        "tried": bracket.tried,
        "exhaustive": bracket.exhaustive,
    }
