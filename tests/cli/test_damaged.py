"""Tests of damaged and crafted files: each has a verdict or a clear refusal, never an internal error."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.campaign.checkpoint import Known, to_json
from tests.cli.conftest import Cli
from tests.support.check import Tally
from tests.support.damage import damaged, text_of

VERSION1 = Path(__file__).parents[1] / "version1"
SMALL = settings(suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
COMMANDS = (
    ("check", "--max-n", "2", "--workers", "1"),
    ("prove", "--max-n", "2"),
    ("prove", "--all-n", "--max-n", "2"),
    ("bound", "--max-n", "2", "--workers", "1"),
    ("words", "--max-n", "1", "--by", "soft"),
    ("show",),
)


def document(name: str) -> Any:
    return json.loads((VERSION1 / name).read_text(encoding="utf-8"))


def judged(hardsim: Cli, command: tuple[str, ...], path: Path) -> int:
    """Run a command on a file, require an exit code of a verdict or a refusal, and return it."""
    done = hardsim(command[0], path, *command[1:]).unsaid("Traceback", "internal error")
    assert done.code in (0, 1, 2, 3), (command, done.code, done.err)
    if done.code == 2:
        assert "error" in done.err
    return done.code


MODELS = st.sampled_from([document("since.model.json"), document("odd_lookup.model.json")]).flatmap(damaged)
ATTENTION = st.sampled_from(
    [document("hard_ties.ahat.json"), document("ties_soft.ahat.json"), document("since.ahat.json")]
).flatmap(damaged)


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(("name", "damage"), [("m.model.json", MODELS), ("m.ahat.json", ATTENTION)])
@SMALL
@given(draw=st.data(), command=st.sampled_from(COMMANDS))
def test_a_damaged_model(
    name: str, damage: Any, draw: st.DataObject, command: tuple[str, ...], hardsim: Cli, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text_of(draw.draw(damage)))
    judged(hardsim, command, tmp_path / name)


@pytest.mark.slow
@LONG
@given(data=st.one_of(MODELS, ATTENTION))
def test_damaged_files_under_every_command(data: Any, hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(text_of(data))
    for command in COMMANDS:
        if judged(hardsim, command, path) == 2 and command[0] == "check":
            break  # an unreadable file has the same error in all commands


INPUTS = (VERSION1 / "since.model.json", VERSION1 / "hard_ties.ahat.json")
KEPT: dict[bool, Any] = {}
MADE: list[bytes] = []


def kept(hardsim: Cli, path: Path, half: bool) -> Any:
    """Return the rows of a --resume file by kind and name, with results or (`half`) with unfinished runs."""
    if not KEPT:
        assert hardsim("check", *INPUTS, "--max-n", "2", "--workers", "1", "--resume", path).code == 0
        MADE.append(path.read_bytes())
        whole: dict[str, dict[str, Any]] = {"request": {}, "input": {}, "run": {}, "complete": {}}
        with closing(sqlite3.connect(path)) as database:
            for kind, name, value in database.execute("SELECT kind, name, value FROM kept"):
                whole[kind][name] = json.loads(value) if kind in ("input", "run") else value
        formula, model = whole["run"]
        runs = {
            formula: json.loads(to_json(Known([Tally(1, words=3, accepted=1)], 3))),
            model: json.loads(to_json(Known([Tally(1, words=2, accepted=1)], 2))),
        }
        KEPT[False], KEPT[True] = whole, whole | {"run": runs, "complete": {}}
    return KEPT[half]


def craft(path: Path, data: Any) -> None:
    """Write a --resume file with other rows, each with its correct digest."""
    path.write_bytes(MADE[0])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM kept")
        for kind, rows in data.items() if isinstance(data, dict) else ():
            for name, value in rows.items() if isinstance(rows, dict) else ():
                text = str(value) if kind in ("request", "complete") else text_of(value).decode()
                row = [one.encode("utf-8", "replace").decode() for one in (kind, name, text)]
                digest = hashlib.sha256(json.dumps(row).encode()).hexdigest()
                database.execute("REPLACE INTO kept VALUES (?, ?, ?, ?)", (*row, digest))


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("half", [False, True])
@SMALL
@given(draw=st.data())
def test_a_crafted_resume_file(half: bool, draw: st.DataObject, hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.unlink(missing_ok=True)
    found = kept(hardsim, path, half)
    runs_alone = draw.draw(st.booleans())
    craft(path, found | {"run": draw.draw(damaged(found["run"]))} if runs_alone else draw.draw(damaged(found)))
    done = hardsim("check", *INPUTS, "--max-n", "2", "--workers", "1", "--resume", path).unsaid("internal error")
    assert done.code in (0, 1, 2, 3), done.err
