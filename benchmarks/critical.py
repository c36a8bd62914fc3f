"""The critical beta of every operator in every regime: how small the inverse-temperature constant may be.

    python -m benchmarks.critical           find all brackets; a quarter of an hour on an idle processor
    python -m benchmarks.critical --docs    write docs/critical.md from critical.json; nothing is run

Each row is the smallest formula that exercises an operator. Its bracket is that of `hardsim bound --critical`: at the
upper end every word of every length is proved right, at the lower end a word is certainly wrong. The closed forms
derived in docs/critical.md are not used to find it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

from benchmarks.page import Page, grid
from hardsim.errors import Unsupported
from hardsim.lang.ltl_parser import parse_text
from hardsim.measuring.critical import beta_text, critical
from hardsim.program.regimes import PROVEN
from hardsim.report.critical import brief
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula

PAGE = Page("critical", "critical.md", "critical.json")
MAX_N = 1
"""The longest length with a bracket of its own, except for multiples of it."""


@dataclass(frozen=True)
class Row:
    """A formula that exercises an operator over some symbols, and whether it is read at the first position."""

    formula: str
    letters: str = "ab"
    first: bool = False
    counting: Literal["lookup", "sign"] | None = None

    @property
    def settings(self) -> tuple[str, str, bool, Literal["lookup", "sign"] | None]:
        """The four fields of a row."""
        return self.formula, self.letters, self.first, self.counting

    @property
    def title(self) -> str:
        """The formula with those of its settings that are not the usual ones."""
        notes = [self.letters] if self.letters != "ab" else []
        notes += [self.counting] if self.counting else []
        notes += ["first"] if self.first else []
        return f"`{self.formula}`" + (f" ({', '.join(notes)})" if notes else "")


ROWS = (
    Row("first"),
    Row("last"),
    Row("PRIME"),
    Row("2 * pos > 5"),
    Row("Y a"),
    Row("WY a"),
    Row("X a", first=True),
    Row("WX a", first=True),
    Row("O a"),
    Row("H a"),
    Row("F a", first=True),
    Row("G a", first=True),
    Row("a S b", "abc"),
    Row("a S b", "ab"),
    Row("(a or b) T (b or c)", "abc"),
    Row("a T b", "ab"),
    Row("a U b", "abc", True),
    Row("a U b", "ab", True),
    Row("(a or b) R (b or c)", "abc", True),
    Row("a R b", "ab", True),
    Row("a W b", "abc", True),
    Row("(a or b) M (b or c)", "abc", True),
    Row("#L[a] >= 2", counting="sign"),
    Row("#R[a] >= 2", first=True, counting="sign"),
    Row("#[a] >= 2", counting="sign"),
    Row("#L[a] > #L[b]", counting="sign"),
    Row("#L[a] = #L[b]", "abc", counting="sign"),
    Row("#L[a] >= 2", counting="lookup"),
    Row("#R[a] >= 2", first=True, counting="lookup"),
    Row("#[a] >= 2", counting="lookup"),
    Row("#L[a] > #L[b]", counting="lookup"),
    Row("#L[a or b] > #L[b or c]", "abc", counting="lookup"),
    Row("#L[a] = #L[b]", counting="lookup"),
    Row("#L[a] > #R[b]"),
    Row("2 * #L[a] >= len"),
    Row("ODD(#L[a])"),
    Row("ODD(#R[a])", first=True),
    Row("ODD(#[a])"),
    Row("MOD(3, 0, #L[a])"),
    Row("PRIME(#L[a])"),
)


@dataclass(frozen=True)
class CriticalRow(Row):
    """The bracket of a formula in a regime, or the reason why there is no construction (`refused`).

    The ends are texts (None: no end). `n` and `word` are the length of the wrong word and the word with its runs. If
    the bracket is open, the `inside` fields are the same for a Boolean inside the network, and `missing` says what
    would close the bracket."""

    regime: str = ""
    refused: str | None = None
    right: str | None = None
    wrong: str | None = None
    n: int | None = None
    word: str = ""
    inside: str | None = None
    inside_n: int | None = None
    inside_word: str = ""
    missing: str | None = None

    def of(self, row: Row) -> bool:
        """Return True if this bracket is of the row's formula."""
        return self.settings == row.settings

    @property
    def closed(self) -> bool:
        """Return True if a word with a wrong output is within the width of the proved end."""
        return self.right is not None and self.missing is None


def bracket_of(row: Row, regime: str, max_n: int = MAX_N) -> CriticalRow:
    """Find the bracket of one formula in one regime."""
    about = (*row.settings, regime)
    lines = [f"alphabet: {' '.join(row.letters)}", *["at: first"] * row.first, row.formula]
    try:
        subject = compile_formula(parse_text("\n".join(lines) + "\n"), ModelOptions(regime, counting=row.counting))
    except Unsupported as refusal:
        return CriticalRow(*about, refused=refusal.message)
    result = critical(subject, max_n)
    every, inside = result.every_length, result.inside
    return CriticalRow(
        *about,
        right=_text(every.right_at),
        wrong=_text(every.wrong_at),
        n=every.n,
        word=brief(every.word or (), subject.alphabet),
        inside=None if inside is None else _text(inside.wrong_at),
        inside_n=None if inside is None else inside.n,
        inside_word="" if inside is None else brief(inside.word or (), subject.alphabet),
        missing=result.reason if every.right_at is None else result.missing,
    )


def _text(beta: Fraction | None) -> str | None:
    return None if beta is None else beta_text(beta)


# ---- the table ----

ANY = "any"
"""The cell of a formula in which no head attends by score: every beta tried is right."""


def render(found: Sequence[CriticalRow], rows: Sequence[Row] = ROWS) -> str:
    """Return a table with a row for formulas with equal brackets, and a column for each regime.

    Regimes whose brackets are all equal share a column."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        by = {one.regime: one for one in found if one.of(row)}
        alike.setdefault(tuple(_cell(by[regime]) for regime in PROVEN), []).append(row.title)
    columns: dict[tuple[str, ...], list[str]] = {}
    for place, regime in enumerate(PROVEN):
        columns.setdefault(tuple(cell[place] for cell in alike), []).append(regime)
    cells = [("; ".join(titles), *(column[place] for column in columns)) for place, titles in enumerate(alike.values())]
    return grid(("formulas", *map(", ".join, columns.values())), cells, range(1, 1 + len(columns)))


def _cell(one: CriticalRow) -> str:
    """Return the proved beta, after the beta of the wrong word if the bracket is open; the JSON file has the words."""
    if one.refused is not None:
        return "–"
    if one.wrong is None:
        return ANY
    if one.closed:
        return str(one.right)
    inside = Fraction(one.inside or 0)
    closed_inside = one.inside is not None and Fraction(one.right or 0) - inside <= Fraction(1, 1000)
    return f"{one.wrong}–{one.right}{' inside' if closed_inside else ''}"


def main() -> None:
    """Find all brackets, or read those that are stored, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--docs", action="store_true", help=f"render {PAGE.results} into docs/{PAGE.page}")
    if parser.parse_args().docs:
        found = PAGE.read(CriticalRow)
    else:
        found = []
        for row, regime in product(ROWS, PROVEN):
            found.append(bracket_of(row, regime))
            print(row.title, regime, found[-1].refused or (found[-1].wrong, found[-1].right), flush=True)
        PAGE.store(found)
    PAGE.write(render(found))


if __name__ == "__main__":
    main()
