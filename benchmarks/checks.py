"""The main job: `hardsim check` and `eval` as a user runs them, compared with a proof about every word of the same
file; and long words.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.cases import CASES
from benchmarks.commands import HARDSIM, Finished, run
from benchmarks.results import Figure, Results, Target

GROUP = "checks"
LONG_GROUP = "long"
FLIPFLOP, SINCE = "formulas/flipflop.ltl", "formulas/since.ltl"
PROOF = ("--max-n", "64", "--no-tables")
"""Options of the proof that each time is compared with."""
GOOD = ("CERTIFIED", "PROVED")
LONG_WORDS, LONG_LENGTH = 8, 2048
PATIENCE = 60.0, 4
"""Seconds, and multiples of its target, after whose sum a command is interrupted."""


@dataclass(frozen=True, slots=True)
class Check:
    """A run of `hardsim check` that must try at least `words` words and find nothing wrong or undecided."""

    file: str
    options: tuple[str, ...]
    words: int

    def run(self, memory: bool = False, limit: float | None = None) -> tuple[Finished, list[dict[str, Any]]]:
        """Run the command; return how it finished, and the results that it wrote (none if it failed before)."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "result.json"
            command = [*HARDSIM, "check", self.file, *self.options, "--require", "certified", "--json", str(path)]
            done = run(command, memory=memory, limit=limit)
            results = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
        return done, results

    def complaint(self, done: Finished, results: list[dict[str, Any]]) -> str:
        """Describe what is wrong with the outcome; empty if the words were tried and certified, and all agree."""
        if done.code or not results:
            return f"failed: {done.complaint}"
        words = sum(result["words"] for result in results)
        undecided = sum(length["undecided"] for result in results for length in result["lengths"])
        verdicts = sorted({result["verdict"] for result in results})
        if words < self.words or undecided or not set(verdicts) <= set(GOOD):
            return f"{words:,} words, {undecided:,} undecided, {', '.join(verdicts)}"
        return ""


@dataclass(frozen=True, slots=True)
class Row:
    """A check with its target in seconds, and the seconds that it took when the target was set (None: not measured).

    `rounds` is how often it is run; `proof`, whether a proof is timed between the runs.
    """

    check: Check
    target: float
    before: float | None
    rounds: int = 1
    proof: bool = True


ROWS = (
    Row(Check(FLIPFLOP, ("--max-n", "64"), 2211), 3, 10.1),
    Row(Check("formulas/induction_head_3hop.ltl", ("--max-n", "64"), 3097), 4, 18.1),
    Row(Check("formulas/dyck2.srasp", ("--max-n", "64"), 2718), 6, 24.3),
    Row(Check(FLIPFLOP, ("--max-n", "128"), 3354), 7, 25.6),
    Row(Check(FLIPFLOP, ("--max-n", "256"), 5642), 25, 95),
    Row(Check(SINCE, (), 1194), 0.6, 0.9, rounds=5),
    Row(Check("formulas", ("--max-n", "8"), 62_984), 20, 44, proof=False),
)
"""The checks of the group. The least number of words of each is the number that it tried when the targets were set."""
LONG = Row(Check(FLIPFLOP, ("--max-n", "1024", "--samples", "4"), 16 * 1024), 180, None)
"""A check of at least 16 words of each length."""
EVAL = (*HARDSIM, "eval", SINCE, "cba", "bac")


def measure() -> Results:
    """Measure all rows but the longest."""
    return Results(figures=[*map(checked, ROWS), evaluated(), long_words()])


def measure_long() -> Results:
    """Measure the row that takes minutes."""
    return Results(figures=[replace(checked(LONG), group=LONG_GROUP)])


def checked(row: Row) -> Figure:
    """Return the median seconds of a check; a proof is timed before each run of the check."""
    check, times, limit = row.check, Times(), PATIENCE[0] + PATIENCE[1] * row.target
    figure = Figure(
        GROUP, " ".join(("check", *check.options)), check.file, None, "s", Target(row.target), before=row.before
    )
    # Runs and proofs alternate, so that a change of the machine's speed affects both.
    for _ in range(row.rounds):
        if row.proof:
            times.proof(check.file)
        done, results = check.run(limit=limit)
        if wrong := check.complaint(done, results):
            return replace(figure, note=wrong)
        times.seconds.append(done.seconds)
    return times.figure_of(figure)


def evaluated(rounds: int = 5) -> Figure:
    """Return the median seconds of `hardsim eval` on two short words."""
    figure, times = Figure(GROUP, "eval of two words", SINCE, None, "s", Target(0.5), before=0.9), Times()
    for _ in range(rounds):
        times.proof(SINCE)
        done = run(EVAL)
        if done.code:
            return replace(figure, note=f"failed: {done.complaint}")
        times.seconds.append(done.seconds)
    return times.figure_of(figure)


def long_words(count: int = LONG_WORDS, n: int = LONG_LENGTH) -> Figure:
    """Return the seconds that exact hard attention and certified float64 take on long words, tables included.

    Raises:
        RuntimeError: if an answer is wrong.
    """
    what = f"{count} words of length {n:,}, certified and exact"
    figure, times = Figure(GROUP, what, FLIPFLOP, None, "s", Target(10), before=40), Times()
    work = CASES[0].work(n, count)
    times.proof(FLIPFLOP)
    began = perf_counter()
    answers = work.checked()()
    times.seconds.append(perf_counter() - began)
    if undecided := answers.count(None):
        return replace(figure, note=f"{undecided} words undecided")
    if answers != work.truth:
        raise RuntimeError(f"{what}: another answer than the definition's")
    return times.figure_of(figure)


class Times:
    """Seconds of the runs of a command, and of the proofs about the same file."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.proofs: list[float] = []

    def proof(self, file: str) -> None:
        """Time `hardsim prove`; exit code 3 (no proof found) is no failure.

        Raises:
            RuntimeError: if the command fails.
        """
        done = run((*HARDSIM, "prove", file, *PROOF))
        if done.code not in (0, 3):
            raise RuntimeError(f"hardsim prove {file} failed: {done.complaint}")
        self.proofs.append(done.seconds)

    def figure_of(self, figure: Figure) -> Figure:
        """Return the figure with the median seconds, and with their ratio to the median seconds of the proofs."""
        seconds = median(self.seconds)
        return replace(figure, value=seconds, proofs=seconds / median(self.proofs) if self.proofs else None)
