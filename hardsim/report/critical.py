"""Print the brackets of beta that `bound --critical` finds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from hardsim.lang.words import written_word
from hardsim.measuring.critical import LARGEST, WIDTH, Bracket, CriticalResult, beta_text
from hardsim.measuring.hard_up_to import HardUpTo
from hardsim.network.transformer import SoftWeighting
from hardsim.proof.shared.result import HeadProof
from hardsim.records import NOTHING, at_most, short
from hardsim.report.check import model_line, named, titles
from hardsim.report.prove import PRODUCT
from hardsim.report.screen import Screen, columns
from hardsim.targets.result import Word, count

CRITICAL_COLUMNS = columns(
    "n", "wrong\nat beta", "right\nat beta", "temperature\nconstant", "<bracket", "words tried", "=wrong on",
)  # fmt: skip
EXACT_COLUMNS = columns(
    "n", "largest\ntemperature", "over the\nschedule", "words\ntried", "<proved\nright", "<row that decides"
)
CRITICALS_COLUMNS = columns("<input", "wrong\nat beta", "right at\nevery length", "<bracket", "beta\nused")
LONGEST = 40
"""Largest number of symbols of a word that a table shows in full; a longer word is shown as runs."""


def print_critical(screen: Screen, result: CriticalResult, alphabet: Sequence[str], tables: bool) -> None:
    """Print the block of one `bound --critical` result: brackets by length, then conclusions for every length."""
    screen.head(result.input, [*titles(result), ("model", model_line(result.model))])
    if tables:
        screen.raw()
        screen.table(CRITICAL_COLUMNS, [bracket_row(bracket, alphabet) for bracket in result.lengths])
        if result.hard_up_to:
            screen.raw()
            weighting = SoftWeighting(result.model.weighting)
            # The cutoff of a format is an integer: there the exact bound is a little higher.
            least = "the largest" if weighting is SoftWeighting.SPARSEMAX else "a"
            screen.line(f"  {least} temperature up to which {weighting.text} has all weights of hard attention:")
            screen.table(EXACT_COLUMNS, [exact_row(row, alphabet) for row in result.hard_up_to])
    screen.raw()
    print_conclusions(screen, result, alphabet)
    screen.raw()


def print_conclusions(screen: Screen, result: CriticalResult, alphabet: Sequence[str]) -> None:
    """Print the conclusions for every length, and the word that is wrong at the largest beta."""
    for text in conclusions(result):
        screen.line(f"  {text}")
    if result.every_length.word is not None:
        screen.word("The word that is wrong at the largest beta", result.every_length.word, alphabet)


def bracket_row(bracket: Bracket, alphabet: Sequence[str]) -> list[str]:
    """Return the table row of one length: the two ends of the bracket of beta, and the wrong word."""
    return [
        str(bracket.n),
        *map(beta_text, (bracket.wrong_at, bracket.right_at)),
        short(bracket.temperature_constant),
        "closed" if bracket.closed else "open",
        f"all {count(bracket.tried)}" if bracket.exhaustive else count(bracket.tried),
        NOTHING if bracket.word is None else brief(bracket.word, alphabet),
    ]


def exact_row(row: HardUpTo, alphabet: Sequence[str]) -> list[str]:
    """Return the table row of one length: the largest temperature at which all weights are exact."""
    exact = (NOTHING if number is None else str(number) for number in (row.temperature, row.constant))
    tried = f"all {count(row.words)}" if row.exhaustive else count(row.words)
    where = NOTHING if row.word is None else f"{row.head} at {row.query} of {brief(row.word, alphabet)}"
    return [str(row.n), *exact, tried, "all words" if row.proved else NOTHING, where]


def conclusions(result: CriticalResult) -> list[str]:
    """Return lines that state what is known for every length, how it was found, and the constants in use beside it."""
    every = result.every_length
    lines = []
    if result.partial:
        lines.append("every length: no proof was tried, because the search was interrupted")
    elif result.formula is None:
        lines.append(f"every length: no proof was tried: {result.reason}")
    elif every.right_at is None:
        lines.append(f"every length: not proved at any beta up to {beta_text(LARGEST)}: {result.reason}")
    else:
        lines.append(
            f"every length: right at beta {beta_text(every.right_at)}, temperature constant {short(1 / every.right_at)}"
        )
        lines += [] if result.deciding is None else [f"  decided by head {decided(result.deciding, every.right_at)}"]
    if every.wrong_at is None:
        lines.append("no wrong word was found at any beta tried")
    else:
        lines.append(f"wrong at beta {beta_text(every.wrong_at)} on a word of length {every.n}")
    if every.closed:
        lines.append(f"the bracket is closed: a wrong word was found within {beta_text(WIDTH)} of the proved beta")
    elif every.right_at is not None:
        lines.append(
            f"the bracket is open: none of the {count(every.tried)} words tried is wrong that close to the proved beta "
            "(there may be no such word)"
        )
        lines.append(f"  this would close it: {result.missing}")
        inside = result.inside
        if inside is not None:
            close = (
                "the bracket for the Booleans inside the network is closed" if inside.closed else
                "the Booleans inside the network come closer"
            )  # fmt: skip
            lines.append(
                f"  {close}: one is inexact at beta {beta_text(inside.wrong_at)} on a word of length {inside.n}"
            )
            lines.append("  but is rounded again where it is read, so the output is right on the words tried")
    paper = f"; Lemma 6 needs 2 ln 7 = {result.lemma_6:.4f}" if result.lemma_6 else ""
    # Programs have a temperature that beta divides; formulas have the regime's.
    over = "" if result.schedule is None else f", which divides the temperature {result.schedule}"
    lines.append(f"beta in use: {beta_text(result.beta_used)}{over}{paper}")
    if result.partial:
        lines.append("interrupted: some lengths are missing")
    return lines


def decided(head: HeadProof, beta: Fraction) -> str:
    """Return a text that names the head with the least margin in a proof for every length at `beta`, and bounds its
    error."""
    if head.argument is None:
        return head.name if head.worst is None else f"{head.name}, at {head.worst.summary}"
    argument = head.argument
    if argument.bound == PRODUCT:
        return f"{head.name}: its error is at most {argument.bound} = {at_most(argument.error)}"
    rate = "" if argument.g is None else f" with g = {argument.g / beta} beta, x = e^-g"
    return f"{head.name}: its error is at most {argument.bound}{rate}"


def brief(word: Word, alphabet: Sequence[str]) -> str:
    """Return a word as text; a long word is written as runs, such as `a*40 b`."""
    if len(word) <= LONGEST:
        return written_word(word, alphabet)
    runs = [(symbol, len(list(part))) for symbol, part in groupby(word)]
    return " ".join(symbol if size == 1 else f"{symbol}*{size}" for symbol, size in runs)


def print_criticals(screen: Screen, results: Sequence[CriticalResult]) -> None:
    """Print a table with a row for each `bound --critical` result."""
    rows = []
    for result in results:
        every = result.every_length
        bracket = [beta_text(every.wrong_at), beta_text(every.right_at), "closed" if every.closed else "open"]
        rows.append([named(result.input, result.model.regime), *bracket, beta_text(result.beta_used)])
    screen.table(CRITICALS_COLUMNS, rows)
