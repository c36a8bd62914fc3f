"""The lengths up to which every shipped formula is right in each number format, in every regime.

    python -m benchmarks.precision --processes 2    find all entries; some hours on two processors
    python -m benchmarks.precision --go-on          find the entries that are missing
    python -m benchmarks.precision --docs           write docs/precision.md from precision.json; nothing is run

Each entry is the result of `hardsim precision FILE --regime REGIME --dtype FORMAT` with the default options.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from statistics import median_high
from textwrap import fill

from benchmarks.table import BEGIN, around, grid, into_page
from hardsim.errors import HardsimError
from hardsim.measuring.export import export_of
from hardsim.precision.safe_lengths import ARITHS, precision_of
from hardsim.program.regimes import PROVEN
from hardsim.report.precision import runs_of
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_input

ROOT = Path(__file__).resolve().parents[1]
FORMULAS = ROOT / "formulas"
RESULTS = ROOT / "benchmarks" / "precision.json"
PAGE = ROOT / "docs" / "precision.md"
MARK = BEGIN.replace("bench-docs", "precision")
MAX_N, EXHAUSTIVE = 4096, 65536
"""The defaults of the command."""
SHOWN = 40
"""Number of characters of a word that the table shows."""


@dataclass(frozen=True)
class InFormat:
    """The result for a formula in a regime and a number format.

    `safe_to` is the length up to which the network is right for sums in any order, `safe_by` how that is known;
    `safe_in_order` is that length for sums from the left. `fails_at` is the least length with a wrong word that was
    found, `word` that word; `open` is the reason for a gap between `safe_in_order` and `fails_at`.
    """

    formula: str
    regime: str
    arith: str
    safe_to: int
    safe_by: str
    safe_in_order: int
    fails_at: int | None
    word: tuple[str, ...]
    layer: int | None
    head: str | None
    open: str | None

    @property
    def whole(self) -> bool:
        """True if all lengths up to `MAX_N` are safe with sums from the left."""
        return self.safe_in_order >= MAX_N

    @property
    def closed(self) -> bool:
        """True if the length that fails follows the last safe length."""
        return self.fails_at == self.safe_in_order + 1


def cases() -> list[tuple[str, str]]:
    """List the shipped formulas, each with the regimes that have a construction for it."""
    found = []
    for path in sorted([*FORMULAS.glob("*.ltl"), *FORMULAS.glob("*.cr")]):
        given = read_input(str(path))
        for regime in PROVEN:
            try:
                given.compile(ModelOptions(regime=regime))
            except HardsimError:
                continue
            found.append((path.name, regime))
    return found


def find(formula: str, regime: str, ariths: Sequence[str]) -> list[InFormat]:
    """Find the entries of one formula in one regime, one for each number format."""
    made = export_of(read_input(str(FORMULAS / formula)), ModelOptions(regime=regime), MAX_N)
    rows = precision_of(made, formula, ariths, MAX_N, EXHAUSTIVE, False).rows
    return [
        InFormat(
            formula,
            regime,
            row.arith,
            row.safe_to,
            row.safe_by,
            row.safe_in_order,
            row.fails_at,
            row.word or (),
            row.layer,
            row.head,
            row.open,
        )
        for row in rows
    ]


def read_found(text: str) -> list[InFormat]:
    """Read the entries of a results file."""
    return [
        InFormat(**(one | {"word": tuple(symbol for symbol, many in one["word"] for _ in range(many))}))
        for one in json.loads(text)
    ]


def written(found: Sequence[InFormat]) -> str:
    """Return the text of a results file: an entry a line, words as runs of symbols."""
    rows = [
        json.dumps(asdict(one) | {"word": [(symbol, len(list(run))) for symbol, run in groupby(one.word)]})
        for one in found
    ]
    return "[\n" + ",\n".join(rows) + "\n]\n"


# ---- the page ----


def render(found: Sequence[InFormat]) -> str:
    """Return the numbers of brackets by format, and the median of safe lengths by regime."""
    below = [one for one in found if not one.whole]
    closed = sum(one.closed for one in below)
    share = 100 * closed // max(1, len(below))
    message = (
        f"{len(found) - len(below)} of {len(found)} cases are safe to {MAX_N:,}. Of the other {len(below)}, {closed} "
        f"({share} %) have a closed bracket: the first wrong length follows the last safe one."
    )
    heads = ("format", "cases", f"safe to {MAX_N:,}", "closed", "open", "no wrong word found")
    summary = grid(heads, list(_summary(found)), right=range(1, 6))
    medians = grid(("median", *ARITHS), list(_medians(found)), right=range(1, 1 + len(ARITHS)))
    return "\n\n".join([fill(message, 120), summary, medians]) + "\n"


def _summary(found: Sequence[InFormat]) -> Iterator[tuple[str, ...]]:
    for arith in ARITHS:
        own = [one for one in found if one.arith == arith]
        below = [one for one in own if not one.whole]
        closed = sum(one.closed for one in below)
        silent = sum(one.fails_at is None for one in below)
        counts = len(own), len(own) - len(below), closed, len(below) - closed, silent
        yield arith, *map(str, counts)


def _medians(found: Sequence[InFormat]) -> Iterator[tuple[str, ...]]:
    """Yield, for each regime, the median over the formulas of the length that is safe with sums from the left."""
    for regime in PROVEN:
        safe = [[one.safe_in_order for one in found if (one.arith, one.regime) == (arith, regime)] for arith in ARITHS]
        yield regime, *(str(median_high(one)) if one else "–" for one in safe)


def _cell(one: InFormat) -> str:
    safe = str(one.safe_in_order) if one.safe_to == one.safe_in_order else f"{one.safe_to}/{one.safe_in_order}"
    if one.whole:
        return f"{safe}+"
    return safe if one.closed else f"{safe} ... {'?' if one.fails_at is None else one.fails_at}"


def main() -> int:
    """Find the entries that the command line requests, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--docs", action="store_true", help="write the page from the stored results")
    parser.add_argument("--go-on", action="store_true", help="find only the missing entries")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    around(PAGE, MARK)  # raise now if a mark is missing, not after hours
    kept = RESULTS.exists() and (given.docs or given.go_on)
    found = read_found(RESULTS.read_text(encoding="utf-8")) if kept else []
    if not given.docs:
        known = {(one.formula, one.regime, one.arith) for one in found}
        requested = [
            (formula, regime, missing)
            for formula, regime in cases()
            if (missing := [arith for arith in ARITHS if (formula, regime, arith) not in known])
        ]
        with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
            for done in as_completed([pool.submit(find, *one) for one in requested]):
                found += done.result()
                for one in done.result():
                    print(one.formula, one.regime, one.arith, _cell(one), runs_of(one.word)[:SHOWN], flush=True)
                found.sort(key=lambda one: (one.formula, PROVEN.index(one.regime), ARITHS.index(one.arith)))
                RESULTS.write_text(written(found), encoding="utf-8")
    into_page(PAGE, render(found), MARK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
