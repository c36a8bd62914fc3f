"""Run the benchmarks: print one table with the targets and what was reached, and write it as JSON.

    python -m benchmarks                      run all groups but `long`, about twelve minutes on two idle cores
    python -m benchmarks --all                run `long` too, some minutes more
    python -m benchmarks --only prover        run one group
    python -m benchmarks --docs               write docs/benchmarks.md from results.json; nothing is run

The exit code is 0 if every target was reached, 1 if one was missed, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import alternatives, checks, exhaustive, external, prover, startup, throughput
from benchmarks.results import Results, describe, read_results
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that the command line requests and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help=f"run {', '.join(ON_DEMAND)} too")
    what.add_argument("--only", action="append", choices=list(GROUPS), metavar="GROUP", help=", ".join(GROUPS))
    what.add_argument("--docs", action="store_true", help=f"render {REFERENCE.name} into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the results to PATH")
    given = parser.parse_args(arguments)
    if given.docs:
        into_page(PAGE, summary(read_results(REFERENCE)))
        return 0
    results = Results(about=describe())
    for name in given.only or [name for name in GROUPS if given.all or name not in ON_DEMAND]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        results.add(GROUPS[name]())
    print(render(results))
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(results.to_json(), encoding="utf-8")
    for figure in results.missed:
        print(f"missed: {figure.what}, {figure.case}", file=sys.stderr)
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
