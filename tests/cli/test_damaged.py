"""Files that were damaged anywhere, by whomever: a verdict or a clear refusal, never an internal error."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.checking.attention_tally import ErrorTally
from hardsim.checking.plain import from_plain, to_plain
from hardsim.checking.tally import Tally
from tests.cli.conftest import Cli
from tests.damage import damaged, text_of

VERSION1 = Path(__file__).parents[1] / "version1"
SMALL = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
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
    """The exit code of a command on a file, which is one that a verdict or a refusal has."""
    done = hardsim(command[0], path, *command[1:])
    assert done.code in (0, 1, 2, 3), (command, done.code, done.err)
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    if done.code == 2:
        assert "error" in done.err
    return done.code


MODELS = st.sampled_from([document("since.model.json"), document("odd_lookup.model.json")]).flatmap(damaged)
ATTENTION = st.sampled_from(
    [document("hard_ties.ahat.json"), document("ties_soft.ahat.json"), document("since.ahat.json")]
).flatmap(damaged)


@SMALL
@given(data=MODELS, command=st.sampled_from(COMMANDS))
def test_a_damaged_model(data: Any, command: tuple[str, ...], hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "m.model.json"
    path.write_bytes(text_of(data))
    judged(hardsim, command, path)


@SMALL
@given(data=ATTENTION, command=st.sampled_from(COMMANDS))
def test_a_damaged_hard_attention_model(data: Any, command: tuple[str, ...], hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "m.ahat.json"
    path.write_bytes(text_of(data))
    judged(hardsim, command, path)


@pytest.mark.slow
@LONG
@given(data=st.one_of(MODELS, ATTENTION))
def test_damaged_files_under_every_command(data: Any, hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(text_of(data))
    for command in COMMANDS:
        if judged(hardsim, command, path) == 2 and command[0] == "check":
            break  # what cannot be read is told so by all


def signed(data: Any) -> bytes:
    """A resume file with the digest that its content has."""
    if not isinstance(data, dict):
        return text_of(data)
    content = {key: value for key, value in data.items() if key != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return text_of(content | {"sha256": hashlib.sha256(text.encode("ascii")).hexdigest()})


INPUTS = (VERSION1 / "since.model.json", VERSION1 / "hard_ties.ahat.json")
KEPT: dict[bool, Any] = {}


def kept(hardsim: Cli, path: Path, half: bool) -> Any:
    """What is in a file of --resume: results, or what was reached half-way."""
    if not KEPT:
        assert hardsim("check", *INPUTS, "--max-n", "2", "--workers", "1", "--resume", path).code == 0
        whole = KEPT[False] = json.loads(path.read_text(encoding="ascii"))
        formula, model = whole["runs"]
        known = from_plain(whole["runs"][model]["result"]).lengths[:1]
        state = {"lengths": list(known), "mismatch": None, "violation": None, "tally": ErrorTally(words=1)}
        runs = {
            formula: {"state": to_plain([Tally(1, words=3, accepted=1)]), "words": 3},
            model: {"state": to_plain(state), "words": 3},
        }
        KEPT[True] = whole | {"complete": False, "runs": runs}
    return KEPT[half]


@pytest.mark.parametrize("half", [False, True])
@SMALL
@given(draw=st.data())
def test_a_crafted_resume_file(half: bool, draw: st.DataObject, hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.unlink(missing_ok=True)
    found = kept(hardsim, path, half)
    if draw.draw(st.booleans()):
        data = found | {"runs": draw.draw(damaged(found["runs"]))}
    else:
        data = draw.draw(damaged(found))
    path.write_bytes(signed(data))
    done = hardsim("check", *INPUTS, "--max-n", "2", "--workers", "1", "--resume", path)
    assert done.code in (0, 1, 2, 3), done.err
    assert "internal error" not in done.err
