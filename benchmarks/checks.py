"""The main job: `hardsim check` and `eval` as a user runs them, and long words."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
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
GOOD = ("CERTIFIED", "PROVED")
LONG_WORDS, LONG_LENGTH = 8, 2048
PATIENCE = 60.0, 4
"""Seconds, and multiples of its target, after whose sum a command is ended."""


@dataclass(frozen=True, slots=True)
class Check:
    """A run of `hardsim check` that must try at least `words` words and find nothing wrong or undecided. It has a
    target in seconds, and is run `rounds` times.
    """

    file: str
    options: tuple[str, ...]
    words: int
    target: float = 0.0
    rounds: int = 1

    def run(self, memory: bool = False, limit: float | None = None) -> tuple[Finished, str]:
        """Run the command; return how it finished, and what is wrong with the outcome (empty if nothing is)."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "result.json"
            command = [*HARDSIM, "check", self.file, *self.options, "--require", "certified", "--json", str(path)]
            done = run(command, memory=memory, limit=limit)
            results = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
        return done, self.complaint(done, results)

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


ROWS = (
    Check(FLIPFLOP, ("--max-n", "64"), 2211, 3),
    Check("formulas/induction_head_3hop.ltl", ("--max-n", "64"), 3097, 4),
    Check("formulas/dyck2.srasp", ("--max-n", "64"), 2718, 6),
    Check(FLIPFLOP, ("--max-n", "128"), 3354, 7),
    Check(FLIPFLOP, ("--max-n", "256"), 5642, 25),
    Check(SINCE, (), 1194, 0.6, rounds=5),
    Check("formulas", ("--max-n", "8"), 62_984, 20),
)
"""The checks of the group. The least number of words of each is the number that it tried when the targets were set."""
LONG = Check(FLIPFLOP, ("--max-n", "1024", "--samples", "4"), 16 * 1024, 180)
"""A check of at least 16 words of each length."""
EVAL = (*HARDSIM, "eval", SINCE, "cba", "bac")


def measure() -> Results:
    """Measure all rows but the longest."""
    return Results(figures=[*map(checked, ROWS), evaluated(), long_words()])


def measure_long() -> Results:
    """Measure the row that takes minutes."""
    return Results(figures=[checked(LONG, LONG_GROUP)])


def checked(check: Check, group: str = GROUP) -> Figure:
    """Return the median seconds of a check."""
    what, seconds, wrong = " ".join(("check", *check.options)), list[float](), ""
    while len(seconds) < check.rounds and not wrong:
        done, wrong = check.run(limit=PATIENCE[0] + PATIENCE[1] * check.target)
        seconds.append(done.seconds)
    return Figure(group, what, check.file, None if wrong else median(seconds), "s", Target(check.target), wrong)


def evaluated(rounds: int = 5) -> Figure:
    """Return the median seconds of `hardsim eval` on two short words."""
    runs = [run(EVAL) for _ in range(rounds)]
    wrong = next((f"failed: {done.complaint}" for done in runs if done.code), "")
    value = None if wrong else median(done.seconds for done in runs)
    return Figure(GROUP, "eval of two words", SINCE, value, "s", Target(0.5), wrong)


def long_words(count: int = LONG_WORDS, n: int = LONG_LENGTH) -> Figure:
    """Return the seconds that exact hard attention and certified float64 take on long words, tables included.

    Raises:
        RuntimeError: if an answer is wrong.
    """
    what, work = f"{count} words of length {n:,}, certified and exact", CASES[0].work(n, count)
    began = perf_counter()
    answers = work.checked()()
    seconds, undecided = perf_counter() - began, answers.count(None)
    if not undecided and answers != work.truth:
        raise RuntimeError(f"{what}: another answer than the definition's")
    note = f"{undecided} words undecided" * bool(undecided)
    return Figure(GROUP, what, FLIPFLOP, None if undecided else seconds, "s", Target(10), note)
