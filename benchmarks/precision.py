"""The lengths up to which every shipped formula is right in each number format, in every regime.

    python -m benchmarks.precision --processes 2    find all entries; some hours on two processors
    python -m benchmarks.precision --go-on          find the entries that are missing
    python -m benchmarks.precision --docs           write docs/precision.md from precision.json; nothing is run

Each entry is the result of `hardsim precision FILE --regime REGIME --dtype FORMAT` with the default options.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median_high
from textwrap import fill

from benchmarks.page import ROOT, Page, each, grid
from hardsim.errors import HardsimError
from hardsim.measuring.export import export_of
from hardsim.precision.safe_lengths import ARITHS, precision_of
from hardsim.program.regimes import PROVEN
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_input

FORMULAS = ROOT / "formulas"
PAGE = Page("precision", "precision.md", "precision.json")
MAX_N, EXHAUSTIVE = 4096, 65536
"""The defaults of the command."""


@dataclass(frozen=True)
class InFormat:
    """The result for a formula in a regime and a number format.

    `safe_to` is the length up to which the network is right for sums in any order, `safe_by` how that is known;
    `safe_in_order` is that length for sums from the left. `fails_at` is the least length with a wrong word that was
    found, `word` that word as symbols with the number of their repetitions; `open` is the reason for a gap between
    `safe_in_order` and `fails_at`."""

    formula: str
    regime: str
    arith: str
    safe_to: int
    safe_by: str
    safe_in_order: int
    fails_at: int | None
    word: tuple[tuple[str, int], ...]
    layer: int | None
    head: str | None
    open: str | None

    @property
    def key(self) -> tuple[str, str, str]:
        """The formula, regime and number format."""
        return self.formula, self.regime, self.arith

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the wrong word."""
        return tuple(symbol for symbol, many in self.word for _ in range(many))

    @property
    def whole(self) -> bool:
        """True if all lengths up to `MAX_N` are safe with sums from the left."""
        return self.safe_in_order >= MAX_N

    @property
    def closed(self) -> bool:
        """True if the length that fails follows the last safe length."""
        return self.fails_at == self.safe_in_order + 1


def cases() -> Iterator[tuple[str, str]]:
    """Yield the shipped formulas, each with the regimes that have a construction for it."""
    for path in sorted([*FORMULAS.glob("*.ltl"), *FORMULAS.glob("*.cr")]):
        given = read_input(str(path))
        for regime in PROVEN:
            try:
                given.compile(ModelOptions(regime=regime))
            except HardsimError:
                continue
            yield path.name, regime


def find(formula: str, regime: str, ariths: Sequence[str]) -> list[InFormat]:
    """Find the entries of one formula in one regime, one for each number format."""
    made = export_of(read_input(str(FORMULAS / formula)), ModelOptions(regime=regime), MAX_N)
    found = []
    for row in precision_of(made, formula, ariths, MAX_N, EXHAUSTIVE, False).rows:
        word = tuple((symbol, len(list(run))) for symbol, run in groupby(row.word or ()))
        safe = row.arith, row.safe_to, row.safe_by, row.safe_in_order, row.fails_at
        found.append(InFormat(formula, regime, *safe, word, row.layer, row.head, row.open))
    return found


# ---- the page ----


def render(found: Sequence[InFormat]) -> str:
    """Return the numbers of brackets by format, and the median of safe lengths by regime."""
    _, total, whole, closed, left, _ = _counts("", found)
    message = (
        f"{whole} of {total} cases are safe to {MAX_N:,}. Of the other {closed + left}, {closed} "
        f"({100 * closed // max(1, closed + left)} %) have a closed bracket: the first wrong length follows the last "
        "safe one."
    )
    heads = ("format", "cases", f"safe to {MAX_N:,}", "closed", "open", "no wrong word found")
    counts = [_counts(arith, [one for one in found if one.arith == arith]) for arith in ARITHS]
    summary = grid(heads, [list(map(str, row)) for row in counts], right=range(1, 6))
    medians = []
    for regime in PROVEN:
        safe = [[one.safe_in_order for one in found if one.key[1:] == (regime, arith)] for arith in ARITHS]
        medians.append([regime, *(str(median_high(one)) if one else "–" for one in safe)])
    return "\n\n".join([fill(message, 120), summary, grid(("median", *ARITHS), medians, range(1, 1 + len(ARITHS)))])


def _counts(name: str, found: Sequence[InFormat]) -> tuple[str, int, int, int, int, int]:
    """Return a name with the numbers of cases: all, whole, with a closed and an open bracket, without a wrong word."""
    below = [one for one in found if not one.whole]
    closed = sum(one.closed for one in below)
    silent = sum(one.fails_at is None for one in below)
    return name, len(found), len(found) - len(below), closed, len(below) - closed, silent


def main() -> None:
    """Find the entries that the command line requests, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--docs", action="store_true", help="write the page from the stored results")
    parser.add_argument("--go-on", action="store_true", help="find only the missing entries")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    PAGE.parts()  # raise now if a mark is missing, not after hours
    found = PAGE.read(InFormat) if given.docs or given.go_on else []
    known = {one.key for one in found}
    missing = [
        (*case, [one for one in ARITHS if (*case, one) not in known]) for case in ([] if given.docs else cases())
    ]
    for done in each(find, (task for task in missing if task[2]), given.processes):
        found += done
        for one in done:
            print(*one.key, one.safe_in_order, one.fails_at, flush=True)
        found.sort(key=lambda one: (one.formula, PROVEN.index(one.regime), ARITHS.index(one.arith)))
        PAGE.store(found)
    PAGE.write(render(found))


if __name__ == "__main__":
    main()
