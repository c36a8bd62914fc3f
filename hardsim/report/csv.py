"""Write CSV: a header, then a row for each input and regime.

The header is `input,regime,outcome,exit_code,verdict,word,message,line,column`, and rows are in the order of the
inputs. Fields are quoted as RFC 4180 says, lines end with a line feed. What does not apply is empty. Names of files,
words and messages come from others, and spreadsheets compute a cell that begins like a formula: such a text has an
apostrophe before it.
"""

from __future__ import annotations

import csv
import io

from hardsim.report.outcome import Finished
from hardsim.visible import visible

HEADER = ("input", "regime", "outcome", "exit_code", "verdict", "word", "message", "line", "column")
"""The columns. `outcome` is passed, failed, skipped or error; `message` is the verdict with its reach, or the error;
`line` and `column` are those of a mistake in the file, from 1, in characters."""

FORMULA = ("=", "+", "-", "@")
"""The first characters of a cell that a spreadsheet takes for a formula."""


def render(finished: Finished) -> str:
    """Return the table of a run. Remarks on the whole run are left out: they are on standard error."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEADER)
    for one in finished.outcomes:
        facts = one.input, one.regime, one.ending.value, one.code, one.verdict, one.word, one.message
        table.writerow([_cell(fact) for fact in [*facts, *(one.place or ("", ""))]])
    return text.getvalue()


def _cell(fact: str | int | None) -> str:
    text = "" if fact is None else visible(str(fact))
    return f"'{text}" if isinstance(fact, str) and text.startswith(FORMULA) else text
