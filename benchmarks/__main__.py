"""Run the benchmarks: print one table with the targets and what was reached, and write it as JSON.

    python -m benchmarks                      run all groups but `long`, about twelve minutes on two idle cores
    python -m benchmarks --all                run `long` too, some minutes more
    python -m benchmarks --only prover        run one group
    python -m benchmarks --quick              one length, few words, to see that the passes run and agree
    python -m benchmarks --docs               write docs/benchmarks.md from results.json; nothing is run

The exit code is 0 if every target was reached, 1 if one was missed, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import alternatives, checks, exhaustive, external, prover, startup, throughput
from benchmarks.results import Results, new_results
from benchmarks.table import into_page, render, summary

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"

GROUPS: dict[str, Callable[[], Results]] = {
    startup.GROUP: startup.measure,
    checks.GROUP: checks.measure,
    checks.LONG_GROUP: checks.measure_long,
    alternatives.GROUP: alternatives.measure_all,
    throughput.GROUP: throughput.measure_all,
    external.GROUP: external.measure,
    exhaustive.GROUP: exhaustive.measure,
    prover.GROUP: prover.measure,
}
"""The function that runs each group, by the group's name."""
ON_DEMAND = (checks.LONG_GROUP,)
"""Groups that run only with `--all` or `--only`."""
QUICK: dict[str, Callable[[], Results]] = {
    startup.GROUP: startup.quick,
    alternatives.GROUP: alternatives.quick,
    throughput.GROUP: throughput.quick,
    external.GROUP: external.quick,
}
"""The function that runs the quick form of a group, without targets; other groups have no quick form."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that the command line requests and return the exit code."""
    given = read_arguments(arguments)
    if given.docs:
        into_page(PAGE, summary(Results.from_json(REFERENCE.read_text(encoding="utf-8"))))
        return 0
    runs = QUICK if given.quick else GROUPS
    groups: list[str] = given.only or [name for name in runs if given.all or name not in ON_DEMAND]
    results = new_results(groups, given.quick)
    for name in groups:
        print(f"{name} ...", file=sys.stderr, flush=True)
        results.add(runs[name]())
    print(render(results))
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(results.to_json(), encoding="utf-8")
    for figure in results.missed:
        print(f"missed: {figure.what}, {figure.case}", file=sys.stderr)
    return 1 if results.missed else 0


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; exit with code 2 if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one length, few words, no targets")
    parser.add_argument("--all", action="store_true", help=f"run {', '.join(ON_DEMAND)} too")
    parser.add_argument("--only", action="append", choices=list(GROUPS), metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the results to PATH")
    parser.add_argument("--docs", action="store_true", help=f"render {REFERENCE.name} into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args(arguments)
    if given.docs and (given.quick or given.only or given.json or given.all):
        parser.error("--docs runs nothing: give it alone")
    if given.all and (given.quick or given.only):
        parser.error("--all is for full runs: leave out --quick and --only")
    if given.quick and set(given.only or ()) - QUICK.keys():
        parser.error(f"--quick runs only {', '.join(QUICK)}: leave out the other groups of {', '.join(given.only)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
