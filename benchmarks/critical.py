"""The critical beta of every operator in every regime: how small the inverse-temperature constant may be.

    python -m benchmarks.critical           find all brackets; a quarter of an hour on an idle processor
    python -m benchmarks.critical --docs    write docs/critical.md from critical.json; nothing is run

Each row is the smallest formula that exercises an operator. Its bracket is that of `hardsim bound --critical`: at the
upper end every word of every length is proved right, at the lower end a word is certainly wrong. The closed forms
derived in docs/critical.md are not used to find it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Literal

from benchmarks.table import BEGIN, grid, into_page
from hardsim.errors import Unsupported
from hardsim.lang.ltl_parser import parse_text
from hardsim.measuring.critical import beta_text, critical
from hardsim.program.regimes import PROVEN
from hardsim.report.bound import brief
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.subject import Subject

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "critical.json"
PAGE = ROOT / "docs" / "critical.md"
MARK = BEGIN.replace("bench-docs", "critical")
MAX_N = 1
"""The longest length with a bracket of its own, except for multiples of it."""


# ---- derived closed forms ----


@dataclass(frozen=True)
class Form:
    """A critical beta in closed form: the equation as text, and its solution as a number."""

    text: str
    value: float


def root(falling: Callable[[float], float], expected: float) -> float:
    """Find where a decreasing function of beta takes the value `expected`, between 0 and 8, by bisection."""
    low, high = 0.0, 8.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > expected else (low, middle)
    return low


def squares(x: float, power: int = 0) -> float:
    """Return the sum of m^power x^(m^2) over m >= 1."""
    return float(sum(m**power * x ** (m * m) for m in range(1, 40)))


TIE = Form("2 ln 4", 2 * log(4))
STEP = Form("2 ln 2", 2 * log(2))
ONCE = Form("x^4 + x^5 = 1/3, x = e^(-β/2)", root(lambda b: exp(-2 * b) + exp(-5 * b / 2), 1 / 3))
ONCE_EARLY = Form("(ln 3)/3", log(3) / 3)
SIGN = Form("ln 6", log(6))
SIGN_EARLY = Form("(ln 6)/3", log(6) / 3)
RAMP = Form("x^5 + x^13 = 1/3, x = e^(-β/6)", root(lambda b: exp(-5 * b / 6) + exp(-13 * b / 6), 1 / 3))
NUMBER = Form(
    "4 Σ m x^(m²) = 1 + Σ x^(m²), x = e^-β",
    root(lambda b: squares(exp(-b), 1) / (1 + squares(exp(-b))), 1 / 4),
)
TWICE = Form(
    "8 Σ m x^(m²) = 1 + Σ x^(m²), x = e^-β",
    root(lambda b: squares(exp(-b), 1) / (1 + squares(exp(-b))), 1 / 8),
)
NUMBER_EARLY = Form("(ln 3)/2", log(3) / 2)
PAIR, PAIR_EARLY = Form("ln 7", log(7)), Form("(ln 7)/2", log(7) / 2)
TABLE = Form("6 Σ x^(m²) = 1, x = e^-β", root(lambda b: squares(exp(-b)), 1 / 6))
THIRDS = Form("6 (x + x^4) = 1, x = e^-β", root(lambda b: exp(-b) + exp(-4 * b), 1 / 6))
THIRDS_EARLY = Form("6x + 3x^4 = 1, x = e^(-4β)", root(lambda b: 6 * exp(-4 * b) + 3 * exp(-16 * b), 1))

Forms = Mapping[str, Form]


def forms(affine: Form, early: Form | None = None, ramp: Form | None = None) -> Forms:
    """Return the closed form of each regime: `affine` for `temperature` and `position`, which have the same logits,
    `early` for `causal-temperature`, `ramp` for `causal-position`.
    """
    return dict(zip(PROVEN, (affine, affine, early or affine, ramp or affine), strict=True))


ALWAYS_TIED, ALWAYS_STEP, ONCE_FORMS = forms(TIE), forms(STEP), forms(ONCE, ONCE_EARLY)
SIGNS, ONE_NUMBER = forms(SIGN, SIGN_EARLY, RAMP), forms(NUMBER, NUMBER_EARLY)

# ---- the rows ----


@dataclass(frozen=True)
class Row:
    """A formula that exercises an operator over some symbols, read at an end of the word, and its derived closed
    forms.
    """

    operator: str
    formula: str
    letters: str = "ab"
    first: bool = False
    counting: Literal["lookup", "sign"] | None = None
    derived: Forms | None = None

    def compile(self, regime: str) -> Subject:
        """Compile the formula in a regime; raise Unsupported if the regime has no construction for it."""
        lines = [f"alphabet: {' '.join(self.letters)}", *(["at: first"] if self.first else []), self.formula]
        return compile_formula(parse_text("\n".join(lines) + "\n"), ModelOptions(regime, counting=self.counting))

    @property
    def title(self) -> str:
        """The formula with those of its settings that are not the usual ones."""
        notes = [self.letters] if self.letters != "ab" else []
        notes += [self.counting] if self.counting else []
        notes += ["first"] if self.first else []
        return f"`{self.formula}`" + (f" ({', '.join(notes)})" if notes else "")


ROWS = (
    Row("first", "first"),
    Row("last", "last"),
    Row("predicates of positions", "PRIME"),
    Row("comparisons of positions", "2 * pos > 5"),
    Row("Y", "Y a", derived=ALWAYS_STEP),
    Row("WY", "WY a", derived=ALWAYS_STEP),
    Row("X", "X a", first=True, derived=ALWAYS_STEP),
    Row("WX", "WX a", first=True, derived=ALWAYS_STEP),
    Row("O", "O a", derived=ONCE_FORMS),
    Row("H", "H a", derived=ONCE_FORMS),
    Row("F", "F a", first=True, derived=ONCE_FORMS),
    Row("G", "G a", first=True, derived=ONCE_FORMS),
    Row("S", "a S b", "abc", derived=ALWAYS_TIED),
    Row("S", "a S b", "ab", derived=ONCE_FORMS),
    Row("T", "(a or b) T (b or c)", "abc", derived=ALWAYS_TIED),
    Row("T", "a T b", "ab", derived=ONCE_FORMS),
    Row("U", "a U b", "abc", True, derived=ALWAYS_TIED),
    Row("U", "a U b", "ab", True, derived=ONCE_FORMS),
    Row("R", "(a or b) R (b or c)", "abc", True, derived=ALWAYS_TIED),
    Row("R", "a R b", "ab", True, derived=ONCE_FORMS),
    Row("W", "a W b", "abc", True, derived=ALWAYS_TIED),
    Row("M", "(a or b) M (b or c)", "abc", True, derived=ALWAYS_TIED),
    Row("#L, sign test", "#L[a] >= 2", counting="sign", derived=SIGNS),
    Row("#R, sign test", "#R[a] >= 2", first=True, counting="sign", derived=SIGNS),
    Row("#, sign test", "#[a] >= 2", counting="sign", derived=SIGNS),
    Row("two counts, sign test", "#L[a] > #L[b]", counting="sign", derived=SIGNS),
    Row("equality, sign test", "#L[a] = #L[b]", "abc", counting="sign", derived=SIGNS),
    Row("#L, look-up", "#L[a] >= 2", counting="lookup", derived=ONE_NUMBER),
    Row("#R, look-up", "#R[a] >= 2", first=True, counting="lookup", derived=ONE_NUMBER),
    Row("#, look-up", "#[a] >= 2", counting="lookup", derived=ONE_NUMBER),
    Row("two counts, look-up", "#L[a] > #L[b]", counting="lookup"),
    Row("two counts, look-up", "#L[a or b] > #L[b or c]", "abc", counting="lookup", derived=forms(PAIR, PAIR_EARLY)),
    Row("equality, look-up", "#L[a] = #L[b]", counting="lookup"),
    Row("counts of two kinds", "#L[a] > #R[b]"),
    Row("counts and lengths", "2 * #L[a] >= len", derived=forms(TWICE)),
    Row("ODD of a count", "ODD(#L[a])", derived=forms(SIGN, SIGN_EARLY)),
    Row("ODD of a count", "ODD(#R[a])", first=True, derived=forms(SIGN)),
    Row("ODD of a count", "ODD(#[a])", derived=forms(SIGN)),
    Row("MOD of a count", "MOD(3, 0, #L[a])", derived=forms(THIRDS, THIRDS_EARLY)),
    Row("PRIME of a count", "PRIME(#L[a])", derived=forms(TABLE, NUMBER_EARLY)),
)


@dataclass(frozen=True, slots=True)
class CriticalRow:
    """The bracket of a formula in a regime, or the reason why there is no construction (`refused`).

    The ends are texts (None: no end). `n` and `word` are the length of the wrong word and the word with its runs. If
    the bracket is open, the `inside` fields are the same for a Boolean inside the network, and `missing` says what
    would close the bracket.
    """

    formula: str
    letters: str
    first: bool
    counting: str | None
    regime: str
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
        own = (self.formula, self.letters, self.first, self.counting)
        return own == (row.formula, row.letters, row.first, row.counting)

    @property
    def closed(self) -> bool:
        """Return True if a word with a wrong output is within the width of the proved end."""
        return self.right is not None and self.missing is None


def bracket_of(row: Row, regime: str, max_n: int = MAX_N) -> CriticalRow:
    """Find the bracket of one formula in one regime."""
    about = (row.formula, row.letters, row.first, row.counting, regime)
    try:
        subject = row.compile(regime)
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

    Regimes whose brackets are all equal share a column.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        by = {one.regime: one for one in found if one.of(row)}
        alike.setdefault(tuple(_cell(by[regime]) for regime in PROVEN), []).append(row.title)
    columns: dict[tuple[str, ...], list[str]] = {}
    for place, regime in enumerate(PROVEN):
        columns.setdefault(tuple(cell[place] for cell in alike), []).append(regime)
    cells = [("; ".join(titles), *(column[place] for column in columns)) for place, titles in enumerate(alike.values())]
    return grid(("formulas", *map(", ".join, columns.values())), cells, range(1, 1 + len(columns))) + "\n"


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


# ---- the command ----


def read_results(text: str) -> list[CriticalRow]:
    """Return the brackets from the text of a file that `main` wrote."""
    return [CriticalRow(**one) for one in json.loads(text)]


def main() -> None:
    """Find all brackets, or read those that are stored, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--docs", action="store_true", help=f"render {RESULTS.name} into {PAGE.relative_to(ROOT)}")
    if parser.parse_args().docs:
        found = read_results(RESULTS.read_text(encoding="utf-8"))
    else:
        found = []
        for row, regime in product(ROWS, PROVEN):
            found.append(bracket_of(row, regime))
            print(row.title, regime, found[-1].refused or (found[-1].wrong, found[-1].right), flush=True)
        RESULTS.write_text(json.dumps(list(map(asdict, found)), indent=1) + "\n", encoding="utf-8")
    into_page(PAGE, render(found), MARK)


if __name__ == "__main__":
    main()
