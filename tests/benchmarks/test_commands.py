"""Tests of commands as the benchmarks run them: the memory of all processes, and outcomes that do not count."""

import sys
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from benchmarks import checks, exhaustive, prover
from benchmarks.checks import Check
from benchmarks.commands import HARDSIM, Finished, run
from benchmarks.exhaustive import every
from benchmarks.results import Target
from hardsim import version

HOLD = """
import pathlib, time
held = bytearray({size} << 20)
pathlib.Path("{ready}").touch()
while not pathlib.Path("{seen}").exists():
    time.sleep(0.01)
"""
"""The code of a process that allocates memory, and ends once the memory has been measured."""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_and_exit_code() -> None:
    done = run(python("import sys; print(input()); print('one\\ntwo', file=sys.stderr); sys.exit(5)"), "given\n")
    assert (done.code, done.out, done.complaint, done.peak) == (5, "given\n", "two", None)
    assert done.seconds > 0
    assert run(python("import sys; sys.exit(4)")).complaint == "exit code 4"
    assert Finished(2, "", "note: x\n\nerror: no such option\n  hint\n", 0.1, None).complaint == "error: no such option"


def test_memory_is_that_of_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready, seen = tmp_path / "ready", tmp_path / "seen"
    looks: list[float] = []

    def pause(seconds: float) -> None:
        """Replace the pause between two measurements: let the processes end after the second one that finds them
        ready.
        """
        if ready.exists():
            looks.append(seconds)
        if len(looks) == 2:
            seen.touch()
        sleep(seconds)

    def peak(code: str) -> float | None:
        looks.clear()
        ready.unlink(missing_ok=True)
        seen.unlink(missing_ok=True)
        return run(python(code), memory=True).peak

    monkeypatch.setattr("benchmarks.commands.sleep", pause)
    small, large = (HOLD.format(size=size, ready=ready, seen=seen) for size in (1, 150))
    alone, held = peak(small), peak(large)
    both = peak(f"import subprocess, sys; held = bytearray(100 << 20); subprocess.run({python(large)!r})")
    assert alone is not None
    assert held is not None
    assert both is not None
    assert 140 <= held - alone <= 165
    assert 95 <= both - held <= 145  # the other 100 MiB, and another interpreter


def test_a_command_of_this_checkout_is_run() -> None:
    assert version.__version__ in run((*HARDSIM, "--version")).out


def outcome(**changes: Any) -> dict[str, Any]:
    return {"words": 30, "verdict": "CERTIFIED", "lengths": [{"undecided": 0}, {"undecided": 0}]} | changes


@pytest.mark.parametrize(
    ("code", "results", "complaint"),
    [
        (0, [outcome()], ""),
        (0, [outcome(verdict="PROVED")], ""),
        (0, [outcome(words=20), outcome(words=10, verdict="PROVED")], ""),
        (0, [outcome(words=31)], ""),
        (3, [outcome()], "failed: why"),
        (0, [], "failed: why"),
        (0, [outcome(words=29)], "29 words, 0 undecided, CERTIFIED"),
        (0, [outcome(lengths=[{"undecided": 2}])], "30 words, 2 undecided, CERTIFIED"),
        (0, [outcome(verdict="OBSERVED")], "30 words, 0 undecided, OBSERVED"),
        (0, [outcome(), outcome(verdict="OBSERVED")], "60 words, 0 undecided, CERTIFIED, OBSERVED"),
    ],
)
def test_only_all_words_certified_count(code: int, results: list[dict[str, Any]], complaint: str) -> None:
    assert Check("file", (), 30).complaint(Finished(code, "", "why", 1.0, 5.0), results) == complaint


@pytest.mark.slow
def test_an_exhaustive_check_is_measured() -> None:
    # 2 + 4 + 8 + 16 words
    seconds, memory = exhaustive.exhaustive(every(exhaustive.BINARY, 4, 30, workers=1), 4, Target(600))
    assert (seconds.note, seconds.reached) == ("", True)
    assert memory.value is not None
    assert 20 < memory.value < 1024
    # and four longer examples of the file
    few, none = exhaustive.exhaustive(every(exhaustive.BINARY, 4, 35, workers=1), 4, Target(600))
    assert (few.value, few.reached, none.value) == (None, False, None)
    assert few.note.startswith("34 words")


def test_a_command_that_takes_too_long_is_ended() -> None:
    done = run(python("import time; print('begun', flush=True); time.sleep(600)"), limit=1.0)
    assert done.seconds < 300
    assert done.code != 0
    assert done.complaint == "not done after 1 seconds"
    assert run(python("print(1)"), limit=300.0).out == "1\n"


@pytest.mark.slow
def test_a_check_is_timed() -> None:
    # Every word of the lengths 1 to 4 over two symbols, and four longer examples of the file.
    found = checks.checked(Check(exhaustive.BINARY, ("--max-n", "4"), 30, 600))
    assert (found.what, found.case, found.note, found.reached) == ("check --max-n 4", exhaustive.BINARY, "", True)
    assert found.value is not None
    more = checks.checked(Check(exhaustive.BINARY, ("--max-n", "4"), 35, 600))
    assert (more.value, more.reached) == (None, False)
    assert more.note.startswith("34 words")


def test_times_are_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([9.0, 3.0, 4.0])
    monkeypatch.setattr(Check, "run", lambda self, limit: (Finished(0, "", "", next(times), None), ""))
    assert checks.checked(Check("file", (), 30, 5, rounds=3)).value == 4.0
    monkeypatch.setattr(checks, "run", lambda command: Finished(2, "", "why", 2.0, None))
    assert (checks.evaluated().value, checks.evaluated().note) == (None, "failed: why")


@pytest.mark.slow
def test_long_words_are_answered() -> None:
    found = checks.long_words(2, 40)
    assert found.what == "2 words of length 40, certified and exact"
    assert (found.reached, found.note) == (True, "")


def test_the_main_job_is_measured_as_requested() -> None:
    rows = [*checks.ROWS, checks.LONG]
    requested = {(row.file.removeprefix("formulas/"), *row.options[1::2]): row.target for row in rows}
    assert requested == {
        ("flipflop.ltl", "64"): 3,
        ("induction_head_3hop.ltl", "64"): 4,
        ("dyck2.srasp", "64"): 6,
        ("flipflop.ltl", "128"): 7,
        ("flipflop.ltl", "256"): 25,
        ("since.ltl",): 0.6,
        ("formulas", "8"): 20,
        ("flipflop.ltl", "1024", "4"): 180,
    }
    assert all(row.words > 0 for row in rows)


def test_rates_are_compared_with_the_definition() -> None:
    words = [tuple("10") * 8, tuple("11") * 8, tuple("01") * 8]
    right = exhaustive.rate("right", lambda: [True, True, False], words)
    assert right.value is not None
    with pytest.raises(RuntimeError, match="wrong: wrong on 1 words"):
        exhaustive.rate("wrong", lambda: [True, True, True], words)
    with pytest.raises(RuntimeError, match="4 answers on 3 words"):
        exhaustive.rate("long", lambda: [True, True, False, True], words)


def test_all_binary_words_are_as_many_as_stated() -> None:
    assert exhaustive.WORDS == 131_070 == sum(2**n for n in range(1, 17))


def test_a_proof_that_fails_is_no_time() -> None:
    failed = prover._proof("p", Finished(2, "", "Error: no", 0.1, None), Target(1))
    assert (failed.value, failed.reached, failed.note) == (None, False, "failed: Error: no")
    silent = prover._proof("p", Finished(0, "UNDECIDED: nothing", "", 0.1, None), Target(1))
    assert silent.reached is False
    assert prover._proof("p", Finished(0, "PROVED: all", "", 0.5, None), Target(1)).reached is True
