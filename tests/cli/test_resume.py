"""Tests of `check --resume`: killed at any moment, the next run ends with the report of an uninterrupted one."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest

from hardsim.campaign.checkpoint import Checkpoint
from tests.cli.conftest import COMMAND, Cli, ended, interrupt
from tests.support.clusters import words_done


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.slow
def test_killed_at_random_moments_it_ends_the_same(inputs: list[Path], tmp_path: Path, workers: int) -> None:
    options = ["--max-n", "6", "--exhaustive", "300", "--samples", "500", "--seed", "7"]
    arguments = [*COMMAND, "check", *map(str, inputs), *options]
    whole, path, report = tmp_path / "whole.json", tmp_path / "run", tmp_path / "resumed.json"
    started = time.monotonic()
    subprocess.run([*arguments, "--json", str(whole)], check=True, capture_output=True, timeout=120)
    lasted = time.monotonic() - started
    rng, reached = Random(workers), []
    resumed = [*arguments, "--resume", str(path), "--workers", str(workers), "--json", str(report)]
    for part in (0.4, 0.65):
        process = subprocess.Popen(resumed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(lasted * part * rng.uniform(0.8, 1.2))
        process.kill()
        process.wait(30)
        reached.append(words_done(path))
    assert reached == sorted(reached), "a later run has fewer words"
    done = subprocess.run(resumed, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(report.read_text()) == json.loads(whole.read_text())
    assert f"note: {path} is complete" in subprocess.run(resumed, capture_output=True, text=True, timeout=120).stderr


KILLED = """
import os, signal
from hardsim.campaign.checkpoint import Checkpoint, Memory
from hardsim.cli.app import main
Checkpoint.due = True
keep, times = Memory.keep, iter(range(3))
def killed(self, state, words):
    keep(self, state, words)
    if next(times, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
Memory.keep = killed
main()
"""
"""A run that kills itself when it stores its state for the fourth time."""


def test_a_state_in_the_middle_is_gone_on_from(since: Path, tmp_path: Path, hardsim: Cli) -> None:
    path = tmp_path / "run"
    arguments = ("check", since, "--exhaustive", "200", "--samples", "30", "--max-n", "6", "--engine", "ball")
    assert ended(sys.executable, "-c", KILLED, *arguments, "--resume", path).code == -signal.SIGKILL
    # The first three lengths are one shard each; length 4 is several, which are not all done.
    assert 3 + 9 + 27 < words_done(path) < 3 + 9 + 27 + 81
    first = hardsim(*arguments, "--resume", path, "--json", "-")
    first.says(f"note: continuing from {path}")
    again = hardsim(*arguments, "--resume", path, "--json", "-")
    again.says(f"note: {path} is complete: nothing is run again")
    assert first.json == again.json == hardsim(*arguments, "--json", "-").json


def test_a_complete_file_gives_the_same_report_at_once(
    since: Path, tmp_path: Path, hardsim: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    first = hardsim("check", since, "--regime", "all", "--resume", path)

    never = Mock(side_effect=AssertionError("nothing is to be run"))
    monkeypatch.setattr("hardsim.proving.proof_before_words.check_subject", never)
    monkeypatch.setattr("hardsim.proving.prove.prove_subject", never)
    again = hardsim("check", since, "--regime", "all", "--resume", path, "--workers", "3")
    assert (again.code, again.out) == (first.code, first.out)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-n", "5"),
        ("--seed", "9"),
        ("--samples", "3"),
        ("--exhaustive", "10"),
        ("--engine", "ball"),
        ("--dps", "90"),
        ("--soft-words", "all"),
        ("--regime", "all"),
        ("--beta", "5"),
        ("--tau", "1/(3*n)"),
        ("--at", "first"),
        ("--counting", "sign"),
        ("--epsilon", "1/9"),
    ],
)
def test_another_request_is_refused_by_name(since: Path, tmp_path: Path, hardsim: Cli, option: str, value: str) -> None:
    path = tmp_path / "run"
    assert hardsim("check", since, "--max-n", "2", "--resume", path).code == 0
    before = path.read_bytes()
    refused = hardsim("check", since, "--max-n", "2", option, value, "--resume", path)
    refused.refused(f"belongs to another request: {option} ")
    assert path.read_bytes() == before


@pytest.mark.parametrize("given", [("--rounding", "biased:3"), ("--exponential", "fp16"), ("--beta", "37/2")])
def test_each_option_of_the_network_is_kept(tmp_path: Path, hardsim: Cli, given: tuple[str, str]) -> None:
    asked = ("check", "-e", "O a", "--alphabet", "a b", "--max-n", "3", "--resume", tmp_path / "run")
    first = hardsim(*asked, *given).exits(0)
    assert hardsim(*asked, *given).exits(0).out == first.out
    hardsim(*asked).exits(2).says(given[0])


def test_what_is_shown_and_who_runs_it_may_differ(since: Path, tmp_path: Path, hardsim: Cli) -> None:
    path = tmp_path / "run"
    first = hardsim("check", since, "--max-n", "2", "--resume", path, "--no-tables")
    again = hardsim(
        "check", since, "--max-n", "2", "--resume", path, "--tables", "--workers", "2", "--require", "proved"
    )
    assert first.code == again.code == 0
    assert len(again.out) > len(first.out)


def test_only_check_is_resumed(since: Path, hardsim: Cli) -> None:
    for command in ("bound", "prove", "words"):
        assert hardsim(command, since, "--resume", "run").code == 2
    assert not Path("run").exists()


def test_an_input_that_fails_does_not_keep_the_others_from_being_kept(
    since: Path, future: Path, tmp_path: Path, hardsim: Cli
) -> None:
    arguments = ("check", since, future, "--regime", "causal-position", "--max-n", "3", "--json", "-")
    plain = hardsim(*arguments)
    kept = hardsim(*arguments, "--resume", tmp_path / "run")
    again = hardsim(*arguments, "--resume", tmp_path / "run")
    assert plain.code == kept.code == again.code == 2
    assert plain.json == kept.json == again.json


HOLDING = """
import sqlite3, sys
from hardsim.files import FileLock
from pathlib import Path
path, how = sys.argv[1:]
held = FileLock(Path(path)) if how == "lock" else sqlite3.connect(path, isolation_level=None)
if how == "transaction":
    held.execute("BEGIN EXCLUSIVE")
print("ready", flush=True)
sys.stdin.read()
"""
"""A process that locks the file until its standard input ends: as hardsim does, or as any SQLite program does."""


@pytest.fixture
def begun(since: Path, tmp_path: Path, hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of an interrupted check."""
    interrupt(monkeypatch, "hardsim.campaign.judges.HardJudge.tally", 1)
    hardsim("check", since, "--max-n", "3", "--resume", tmp_path / "run").exits(130)
    monkeypatch.undo()
    return tmp_path / "run"


@pytest.mark.parametrize("how", ["lock", "transaction"])
def test_a_file_that_another_process_holds_stops_this_run_alone(
    since: Path, begun: Path, hardsim: Cli, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    before, arguments = begun.read_bytes(), ("check", since, "--max-n", "3", "--resume", begun)
    command = [sys.executable, "-c", HOLDING, str(begun), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        monkeypatch.setattr("hardsim.campaign.checkpoint.PATIENCE", 0.1)
        held = f"--resume {begun}: another process is using this file"
        for more in ([], ["--quiet"]):
            hardsim(*arguments, *more).refused(held, "Wait until")
        (error,) = hardsim(*arguments, "--json", "-").exits(2).says(held).json["errors"]
        assert held in error["message"]
        assert begun.read_bytes() == before
        assert holder.poll() is None
        holder.kill()  # a lock ends with its process
    hardsim(*arguments).exits(0).prints("PROVED")


@pytest.mark.parametrize("code", [1, 2])
def test_what_was_found_is_not_lost_with_the_file(
    since: Path, future: Path, tmp_path: Path, hardsim: Cli, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def gone(self: Checkpoint) -> sqlite3.Connection:
        return sqlite3.connect("file:nowhere/x?mode=rw", uri=True)

    requested = ("check", since, future, "--max-n", "3", *(["--beta", "1/2"] if code == 1 else []))
    plain = hardsim(*requested)
    monkeypatch.setattr(Checkpoint, "_open", gone)
    outcome = hardsim(*requested, "--resume", tmp_path / "run", "--json", tmp_path / "report.json").exits(code)
    assert outcome.out == plain.out
    assert outcome.err.count("cannot be written (unable to open database file)") == 1
    document = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert document["exit_code"] == code
    assert len(document["results"]) == 2
    monkeypatch.undo()
    assert hardsim(*requested, "--resume", tmp_path / "run").out == plain.out
