"""Print the results of `precision`: the lengths up to which number formats give right answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from hardsim.precision.safe_lengths import FormatRow, PrecisionResult
from hardsim.records import NOTHING
from hardsim.report.check import model_line
from hardsim.report.screen import Screen, columns
from hardsim.targets.result import count, plural

FORMAT_COLUMNS = columns("<format", "safe\nup to", "in\norder", "fails\nat", "<reference", "~fails first", "~fixed by")
RIGHT = {
    "formula": "the answer of the formula",
    "specification": "the answer of the specification, at the positions that it judges",
    "exact network": "the answer of the exact network, in real arithmetic",
}
"""Meaning of each reference, by its name."""
LONG, LONGEST = 60, 2000
"""A word of more than LONG symbols is also printed as runs. One of more than LONGEST symbols is printed only as
runs, if these have at most LONG characters."""


def print_precision(screen: Screen, result: PrecisionResult, alphabet: Sequence[str]) -> None:
    """Print a row for each format, then the wrong words, the reasons for lengths that are not decided, and the
    assumptions."""
    title = result.input if result.regime is None else f"{result.input}, regime {result.regime}"
    summed = f", sums in {result.accumulate}" if result.accumulate else ""
    judged = " that the specification judges" * (result.reference == "specification")
    reach = f"every word of length 1 to {count(result.max_n)}{judged}"
    lines = [
        ("network", model_line(result.model)),
        ("scope", f"{reach}, computed in the order of model.py, which export --to torch writes{summed}"),
    ]
    screen.head(title, [*lines, ("right", RIGHT[result.reference])])
    screen.block(FORMAT_COLUMNS, [_row(row, result.max_n) for row in result.rows])
    for row in result.rows:
        _print_word(screen, row, alphabet)
        _print_judged(screen, row)
        if row.open is not None:
            screen.raw()
            message = f": {'' if row.closed else 'between the last two nothing is known: '}{row.open}"
            screen.line((f"  {row.arith}", "bold"), message)
    screen.raw()
    screen.line("assuming")
    for assumption in result.assumptions:
        screen.line(f"  - {assumption}", hang=4)
    screen.raw()


def _row(row: FormatRow, max_n: int) -> list[str | None]:
    first = f"layer {row.layer}" + (f", head {row.head}" if row.head else "")
    return [
        row.arith,
        count(row.safe_to) + ("+" if row.safe_to >= max_n else ""),
        count(row.safe_in_order) + ("+" if row.safe_in_order >= max_n else ""),
        NOTHING if row.fails_at is None else count(row.fails_at),
        row.reference,
        None if row.layer is None or row.word is None else first,
        ", ".join(row.mends) or None,
    ]


def _print_word(screen: Screen, row: FormatRow, alphabet: Sequence[str]) -> None:
    if row.word is None:
        return
    screen.raw()
    runs = f", {runs_of(row.word)}" if len(row.word) > LONG else ""
    says = f"the {row.reference} says {row.expected}, and {row.arith} says {row.found}"
    message = f"wrong at length {count(len(row.word))}{runs}: {says}"
    if row.exactly:
        message += "; the exact network is wrong there, too, as `hardsim check` shows"
        if row.reference == "specification":
            message += " (to compare with the exact network, name the network instead of the specification)"
    # A very long word of few runs is readable only as runs; other words are also printed to be copied.
    if len(row.word) > LONGEST and len(runs) <= LONG:
        screen.line((f"  {row.arith}", "bold"), f" is {message}")
        return
    screen.word(f"  {row.arith} is {message}", row.word, alphabet)


def _print_judged(screen: Screen, row: FormatRow) -> None:
    """Print the number of words of the safe lengths for which the specification has an expected answer."""
    if row.reference != "specification" or row.words is None or not row.safe_to:
        return
    lengths = f"length 1 to {count(row.safe_to)}" if row.safe_to > 1 else "length 1"
    many = f"{plural(row.words, 'word')} of {lengths} {'is' if row.words == 1 else 'are'} judged"
    message = many if row.words else f"no word of {lengths} is judged, so nothing is known"
    screen.raw()
    screen.line((f"  {row.arith}", "bold"), f": {message} (the specification names the words to judge)")


def runs_of(word: Sequence[str]) -> str:
    """Return a word as runs of symbols, such as `a^40 b a^3`."""
    parts = [(symbol, len(list(run))) for symbol, run in groupby(word)]
    return " ".join(symbol if size == 1 else f"{symbol}^{size}" for symbol, size in parts)
