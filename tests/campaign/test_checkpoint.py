"""Tests of checkpoints: the file keeps everything, and a check that was stopped anywhere has the same final result."""

import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hardsim.campaign import checkpoint
from hardsim.campaign.checkpoint import Checkpoint
from hardsim.campaign.workers import LocalCrew
from hardsim.targets.result import ModelFacts
from tests.support.check import CheckOptions, CheckResult, Progress, Subject, Tally, Verdict, check_subject
from tests.support.language import InputError
from tests.support.subjects import shipped

REQUEST = {"--max-n": 8, "--seed": 0, "--beta": None}
INPUTS = [("since.ltl", "12ab", ("a", "b"))]
RESULT = CheckResult(
    input="since.ltl",
    sha256="12ab",
    kind="ltl",
    formula="a S b",
    title=None,
    model=ModelFacts(1, 1, 5, 30, "1/n", beta=Fraction(1, 7)),
    engine="auto",
    seed=0,
    max_n=8,
    exhaustive_limit=1024,
    samples=None,
    lengths=(),
    verdict=Verdict.PROVED,
    reach="all words",
    mismatch=None,
)


def since(regime: str = "temperature", beta: Fraction | None = None) -> Subject:
    return shipped("since.ltl", regime=regime, beta=beta)


def opened(path: Path) -> Checkpoint:
    return Checkpoint(str(path), REQUEST, INPUTS)


def refused(path: Path, message: str, request: dict[str, Any] = REQUEST, inputs: Any = INPUTS) -> str:
    """Return the error for a file that must be refused, and left unchanged."""
    before = path.read_bytes()
    with pytest.raises(InputError, match=message) as caught:
        Checkpoint(str(path), request, inputs)
    assert path.read_bytes() == before
    return str(caught.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new, empty checkpoint."""
    opened(tmp_path / "run")
    return tmp_path / "run"


def craft(path: Path, *rows: tuple[Any, Any, Any]) -> None:
    """Put rows into a file, each with its correct digest."""
    with closing(sqlite3.connect(path)) as database, database:
        for row in rows:
            digest = hashlib.sha256(json.dumps(row).encode()).hexdigest()
            database.execute("REPLACE INTO kept VALUES (?, ?, ?, ?)", (*row, digest))


@pytest.mark.parametrize(
    "program",
    [
        "CREATE TRIGGER later AFTER INSERT ON kept BEGIN DELETE FROM kept; END",
        "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE INDEX other ON kept (abs(value))",
    ],
)
def test_a_file_with_a_program_in_it_is_refused(program: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(program)
    refused(path, r"the checkpoint is damaged \(it has other tables\)")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("later", "a", "b"), "it has a row of unknown kind 'later'"),
        (("run", "a", 3), "a digest does not match its row"),
        (("run", None, "{}"), "a digest does not match its row"),
        (("run", "a", "{"), "Expecting property name"),
        (("run", "a", "[" * 10**5), "while decoding a JSON array"),
        (("run", "a", "[]"), "a: Expected `object`, got `array`"),
        (("run", "a", '{"state": null, "words": -1, "result": null}'), "a negative number of words"),
        (
            ("run", "a", '{"state": null, "words": true, "result": null}'),
            "a: Expected `int`, got `bool` - at `$.words`",
        ),
        (("run", "a", '{"later": 1}'), "a: other fields than those that were written"),
        (
            ("run", "a", '{"state": [{}], "words": 1, "result": null}'),
            "a: Object missing required field `n` - at `$.state[0]`",
        ),
    ],
)
def test_a_crafted_file_is_refused_with_its_place(row: tuple[Any, Any, Any], message: str, path: Path) -> None:
    craft(path, row)
    assert message in refused(path, "the checkpoint is damaged")


# ---- the file ----


def test_a_new_file_holds_the_request_and_a_finished_one_the_results(tmp_path: Path) -> None:
    path = tmp_path / "run"
    made = opened(path)
    assert (made.complete, made.runs) == (False, {})
    made.memory("since.ltl", "position").finish(RESULT)
    made.close()
    again = opened(path)
    assert again.memory("since.ltl", "position").result == RESULT
    assert again.memory("since.ltl", "temperature").result is None
    assert not again.complete
    again.finish()
    again.close()
    assert opened(path).complete
    assert [one.name for one in tmp_path.iterdir()] == ["run"], "a half-written file is left"


def test_a_state_is_written_at_most_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("hardsim.campaign.checkpoint.time.monotonic", lambda: now[0])
    path = tmp_path / "run"
    memory = opened(path).memory("since.ltl", None)
    requested: list[float] = []

    def state() -> list[Tally]:
        requested.append(now[0])
        return [Tally(len(requested))]

    for tenth in range(35):
        now[0] = 100 + tenth / 10
        memory.keep(state, tenth)
    assert requested == [101.0, 102.0, 103.0]
    del memory
    found = opened(path).memory("since.ltl", None)
    assert (found.state, found.words, found.result) == ([Tally(3)], 30, None)


@pytest.mark.parametrize(
    ("request_", "inputs", "difference"),
    [
        (REQUEST | {"--seed": 1}, INPUTS, "--seed 0 there, 1 here"),
        (REQUEST | {"--beta": "7/2"}, INPUTS, "--beta none there, 7/2 here"),
        (REQUEST, [("since.ltl", "99", ("a", "b"))], "the input since.ltl was changed since"),
        (REQUEST, [("since.ltl", "12ab", ("a", "c"))], "the input since.ltl was changed since"),
        (REQUEST, [("other.ltl", "12ab", ("a", "b"))], "the input other.ltl is new"),
        (REQUEST, [], "the input since.ltl is no longer given"),
    ],
)
def test_a_file_of_another_request_is_refused_and_left_alone(
    path: Path, request_: dict[str, Any], inputs: Any, difference: str
) -> None:
    refused(path, f"belongs to another request: {difference}", request_, inputs)


def test_a_file_of_another_version_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "__version__", "9.9.9")
        refused(path, r"version of hardsim .* there, 9\.9\.9 here")
    monkeypatch.setattr(checkpoint, "SCHEMA_VERSION", 13)
    refused(path, "schema_version 12 there, 13 here")


def test_a_file_of_the_first_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text('{"format": "hardsim-checkpoint", "schema_version": 1, "runs": {}}\n', encoding="ascii")
    refused(path, "belongs to another request: schema_version 1 there, 12 here")


def test_a_damaged_file_is_refused_wherever_it_ends(path: Path) -> None:
    opened(path).memory("since.ltl", None).finish(RESULT)
    whole = path.read_bytes()
    for end in (*range(120), *range(120, len(whole), 97), len(whole) - 1):
        path.write_bytes(whole[:end])
        refused(path, r"damaged|no checkpoint")
    for there, here in (
        (b'"numerator": "0x1"', b'"numerator": "0x2"'),
        (b'"12ab"', b'"12ac"'),
        (b"run[", b"rum["),
        (b"kept", b"left"),
    ):
        assert there in whole
        path.write_bytes(whole.replace(there, here))
        refused(path, "damaged")


@given(place=st.integers(0, 2**14 - 1), bit=st.integers(0, 7))
@example(place=16348, bit=7)  # SQLite's error message for this bit is no UTF-8
@settings(suppress_health_check=list(HealthCheck))
def test_a_changed_bit_is_refused_or_changes_nothing(place: int, bit: int, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.unlink(missing_ok=True)
    opened(path).memory("since.ltl", None).finish(RESULT)
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 1 << bit
    path.write_bytes(data)
    try:
        found = opened(path)
    except InputError as error:
        assert re.search(r"damaged|not a checkpoint|schema_version|cannot be used", error.message)  # noqa: PT017
        assert path.read_bytes() == data
    else:
        assert found.memory("since.ltl", None).result == RESULT
    for left in tmp_path.glob("run-*"):
        left.unlink()


@pytest.mark.parametrize(
    "content", ["", "a S b\n", "{}", "[1]", '{"format": "hardsim-model"}', "\x00\xff", "SQLite format 3\0" + "\0" * 84]
)
def test_another_file_is_no_checkpoint_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other"
    path.write_text(content, encoding="latin-1")
    refused(path, "this file is not a checkpoint of hardsim, and was not changed")


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        opened(tmp_path / "missing" / "run")
    with pytest.raises(InputError, match="it is a directory"):
        opened(tmp_path)


def test_a_write_that_fails_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, before, real = opened(path), path.read_bytes(), Checkpoint._open

    def full(self: Checkpoint) -> sqlite3.Connection:
        found = real(self)
        found.execute("PRAGMA max_page_count = 1")
        return found

    monkeypatch.setattr(Checkpoint, "_open", full)
    with pytest.raises(InputError, match=r"cannot be written \(database or disk is full\)"):
        made.memory("since.ltl", None).finish(replace(RESULT, reach="long" * 10**4))
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["run"]


def test_a_write_that_fails_is_reported_once_and_the_file_is_not_complete(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, message = opened(path), list[InputError]()
    made.lost = message.append
    monkeypatch.setattr(Checkpoint, "_open", lambda _: sqlite3.connect("file:nowhere/x?mode=rw", uri=True))
    made.memory("since.ltl", None).finish(RESULT)
    made.memory("since.ltl", "position").finish(RESULT)
    assert [error.message for error in message] == [
        f"--resume {path}: cannot be written (unable to open database file)"
    ]
    monkeypatch.undo()
    made.memory("since.ltl", "position").finish(RESULT)  # a later row may be written again
    made.finish()
    made.close()
    found = opened(path)
    assert [found.memory("since.ltl", regime).result for regime in (None, "position")] == [None, RESULT]
    assert not found.complete


def test_one_process_has_the_file_at_a_time(path: Path) -> None:
    first = opened(path)
    refused(path, "--resume .*: another process is using this file")
    first.memory("since.ltl", None).finish(RESULT)  # the first process goes on
    first.close()
    second = opened(path)
    assert second.memory("since.ltl", None).result == RESULT
    second.finish()
    # A complete file is not written any more, so any number of processes may read it.
    second.close()
    third, fourth = opened(path), opened(path)
    assert third.complete
    assert fourth.complete


def test_of_two_that_make_the_file_at_once_one_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, others = tmp_path / "run", list[Checkpoint]()
    real = Checkpoint._make

    def late(self: Checkpoint, rows: Any) -> bool:
        monkeypatch.setattr(Checkpoint, "_make", real)
        others.append(opened(path))  # after this process has seen that there is no file
        return real(self, rows)

    monkeypatch.setattr(Checkpoint, "_make", late)
    with pytest.raises(InputError, match="another process is using this file"):
        opened(path)
    others[0].memory("since.ltl", None).finish(RESULT)
    others[0].close()
    assert opened(path).memory("since.ltl", None).result == RESULT
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


def test_a_disk_without_links_and_locks_has_checkpoints_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("hardsim.files.os.link", unknown)
    monkeypatch.setattr("hardsim.files.flock", unknown)
    opened(tmp_path / "run").memory("since.ltl", None).finish(RESULT)
    assert opened(tmp_path / "run").memory("since.ltl", None).result == RESULT
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


KILLED = """
import os, signal, sqlite3, sys
from hardsim.campaign.checkpoint import Checkpoint
from hardsim.campaign.tally import Tally
from tests.campaign.test_checkpoint import INPUTS, REQUEST
made = Checkpoint(sys.argv[1], REQUEST, INPUTS)
made._next = 0
made.memory("since.ltl", None).keep(lambda: [Tally(1, stuck=("kept",) * 10**5)], 7)
opened = made._open
def killed():
    found = opened()
    found.execute("PRAGMA cache_spill = 1")
    found.execute("PRAGMA cache_size = 1")
    return found
made._open = killed
made._next = 0
class Dying(sqlite3.Connection):
    def commit(self):
        os.kill(os.getpid(), signal.SIGKILL)
    def __exit__(self, *_):
        self.commit()
real = sqlite3.connect
sqlite3.connect = lambda *a, **k: real(*a, factory=Dying, **k)
made.memory("since.ltl", None).keep(lambda: [Tally(1, stuck=("lost",) * 10**5)], 9)
"""


def test_a_kill_in_the_middle_of_a_transaction_leaves_what_was_kept_before(tmp_path: Path) -> None:
    path = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == -9, done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run", "run-journal"], "it was half-way"
    found = opened(path).memory("since.ltl", None)
    assert (found.state, found.words) == ([Tally(1, stuck=("kept",) * 10**5)], 7)
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


# ---- stopped anywhere, resumed ----


def stopping(after: int) -> Callable[[Progress], None]:
    """Return a progress function that interrupts the check after this many words."""

    def progress(state: Progress) -> None:
        if state.done > after:
            raise KeyboardInterrupt

    return progress


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints that are written after every shard."""
    monkeypatch.setattr(Checkpoint, "due", property(lambda self: True))


@pytest.mark.sweep
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("engine", "beta"), [("auto", None), ("ball", None), ("mpmath", Fraction(1, 2)), ("float64", None)]
)
def test_a_check_stopped_anywhere_ends_the_same(engine: str, beta: Fraction | None, tmp_path: Path) -> None:
    options = CheckOptions(max_n=7, exhaustive=100, samples=20, seed=5, engine=engine)
    seen = stopped_and_resumed(since(beta=beta), options, (0, 2, 13, 50, 119, 121), str(tmp_path / "run"))
    assert seen[0].before > 121, "finished work was repeated"


@pytest.mark.sweep
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", ["dyck1.srasp", "ties.ahat.json", "ab_plus.srasp"])
def test_a_check_of_a_model_stopped_anywhere_ends_the_same(name: str, tmp_path: Path) -> None:
    options = CheckOptions(max_n=7, exhaustive=200, samples=70)
    stopped_and_resumed(shipped(name), options, (0, 5, 30, 126, 200), str(tmp_path / "run"))
    assert memory(str(tmp_path / "run")).words > 200


def stopped_and_resumed(subject: Subject, options: CheckOptions, stops: Sequence[int], path: str) -> Sequence[Progress]:
    """Stop a check after each number of words, resume it, and require the result of an uninterrupted check.

    Return the progress of the last run.
    """
    whole = check_subject(subject, options)
    for after in stops:
        words = memory(path).words
        partial = check_subject(subject, options, stopping(after), None, memory(path))
        assert partial.partial
        assert memory(path).words == max(partial.words, words)
        assert not subject.one_network or partial.words > after
    assert memory(path).words > 0
    seen: list[Progress] = []
    assert check_subject(subject, options, seen.append, None, memory(path)) == whole
    assert seen[0].before == seen[-1].before > 0
    assert seen[-1].done == whole.words
    return seen


def memory(path: str) -> checkpoint.Memory:
    return opened(Path(path)).memory("since.ltl", "temperature")


@pytest.mark.usefixtures("always")
@pytest.mark.slow
def test_the_number_of_processes_may_change(tmp_path: Path) -> None:
    options = CheckOptions(max_n=7, exhaustive=100, samples=80, engine="ball")
    whole, path = check_subject(since(), options), str(tmp_path / "run")
    with LocalCrew(2) as crew:
        assert check_subject(since(), options, stopping(60), None, memory(path)).partial
        assert check_subject(since(), options, stopping(200), crew, memory(path)).partial
        assert check_subject(since(), replace(options, workers=1), None, None, memory(path)) == whole


@pytest.mark.usefixtures("always")
def test_what_is_stopped_while_a_shard_is_added_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, options, path = since(), CheckOptions(max_n=5, exhaustive=300), str(tmp_path / "run")
    whole = check_subject(subject, options)
    merge = Tally.merge

    def interrupted(self: Tally, other: Tally, order: Any) -> None:
        merge(self, other, order)
        if other.n == 4:
            self.extremes.clear()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Tally, "merge", interrupted)
        assert check_subject(subject, options, None, None, memory(path)).partial
    assert memory(path).words == 3 + 9 + 27
    assert check_subject(subject, options, None, None, memory(path)) == whole
