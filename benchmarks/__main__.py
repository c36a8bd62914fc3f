"""Run the benchmarks: print one table with the targets and what was reached, and write it as JSON.

    python -m benchmarks                      run all groups but two, a quarter of an hour on two idle cores
    python -m benchmarks --all                run `before` and `long` too, a quarter of an hour more
    python -m benchmarks --only prover        run one group
    python -m benchmarks --docs               write docs/benchmarks.md from results.json; nothing is run

The exit code is 0 if every target was reached, 1 if one was missed, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import before, commands, external, passes, prover
from benchmarks.page import Page, amount, grid
from benchmarks.runner import ROOT, Figure, Results, describe

PAGE = Page("bench-docs", "benchmarks.md", "results.json")
CASES = (*commands.CASES, *before.CASES, *passes.CASES, *external.CASES, *prover.CASES)
GROUPS = (
    "start-up",
    "checks",
    "workers",
    "memory",
    "before",
    "growth",
    "long",
    "alternatives",
    "throughput",
    "external",
    "exhaustive",
    "prover",
)
ON_DEMAND = ("before", "long")
"""Groups that run only with `--all` or `--only`."""
ONE_BY_ONE = ("before", "growth")
"""Groups whose figures each have a row of the page."""


def render(results: Results) -> str:
    """Render all figures with their targets."""
    rows = [
        (one.group, one.what, one.case, _value(one), one.limit + " (missed)" * one.missed, one.note)
        for one in results.figures
    ]
    return f"{results.about}\n\n{grid(('group', 'what', 'case', 'found', 'target', 'note'), rows, aligned=True)}\n"


def _value(figure: Figure) -> str:
    return "–" if figure.value is None else amount(figure.value, figure.unit)


def summary(results: Results) -> str:
    """Return the table of the page: a row for the figures of a group with the same name and target, from least to
    greatest; of the groups of `ONE_BY_ONE`, a row for each figure."""
    alike: dict[tuple[str, str, str, str], list[Figure]] = {}
    for figure in results.figures:
        if figure.target is not None:
            own = figure.case if figure.group in ONE_BY_ONE else ""
            alike.setdefault((figure.group, _subject(figure), figure.limit, own), []).append(figure)
    rows = []
    names = [what for _, what, _, _ in alike]
    for (_, what, limit, _), figures in alike.items():
        missed = sum(figure.missed for figure in figures)
        rows.append(
            (
                what,
                _cases(figures, names.count(what) > 1),
                _span(figures),
                f"{limit} ({missed} missed)" if missed else limit,
            )
        )
    return f"{results.about}\n\n{grid(('what', 'case', 'found', 'target'), rows)}\n"


def _subject(figure: Figure) -> str:
    """Return what the page calls a figure. Those of start-up share a name there, and those of the memory of a check."""
    if figure.group == "start-up":
        return figure.group
    return "memory of a check" if (figure.group, figure.unit) == ("exhaustive", "MiB") else figure.what


def _cases(figures: Sequence[Figure], named: bool) -> str:
    """Return the name of the case of a figure; of several, their range if their names begin with numbers, else how many
    there are and, if `named`, what their names begin with."""
    names = [figure.case for figure in figures]
    if len(names) == 1:
        return names[0]
    if all(name[0].isdigit() for name in names):
        return f"{names[0].partition(' ')[0]} to {names[-1]}"
    about = list(dict.fromkeys(name.partition(",")[0] for name in names))
    return f"{len(names)} cases" + f": {', '.join(about)}" * named


def _span(figures: Sequence[Figure]) -> str:
    """Return the least and the greatest value, and their unit once."""
    found = sorted(figure.value for figure in figures if figure.value is not None)
    ends = dict.fromkeys(amount(value, "") for value in (*found[:1], *found[-1:]))
    return f"{' to '.join(ends)} {figures[0].unit}".rstrip() if found else "–"


def read_results(path: Path) -> Results:
    """Read the results that `main` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that the command line requests and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help=f"run {', '.join(ON_DEMAND)} too")
    what.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=", ".join(GROUPS))
    what.add_argument("--docs", action="store_true", help=f"render {PAGE.results} into docs/{PAGE.page}")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the results to PATH")
    given = parser.parse_args(arguments)
    if given.json is not None and not given.json.parent.is_dir():
        parser.error(f"--json {given.json}: there is no folder {given.json.parent}. Make that folder first.")
    if given.docs:
        PAGE.write(summary(read_results(ROOT / "benchmarks" / PAGE.results)))
        return 0
    results = Results(describe(), [])
    for group in given.only or [name for name in GROUPS if given.all or name not in ON_DEMAND]:
        print(f"{group} ...", file=sys.stderr, flush=True)
        results.figures += [figure for case in CASES if case.group == group for figure in case.figures()]
    print(render(results))
    if given.json is not None:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
    missed = [figure for figure in results.figures if figure.missed]
    for figure in missed:
        print(f"missed: {figure.what}, {figure.case}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
