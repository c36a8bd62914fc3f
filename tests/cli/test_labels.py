"""Tests that no command repeats a label that the weights contradict, in text, in JSON or in Python."""

import json
from pathlib import Path
from typing import Any

import pytest

import hardsim

COMMANDS = [
    ["show", "FILE"],
    ["check", "FILE", "--max-n", "3"],
    ["prove", "FILE", "--max-n", "3"],
    ["bound", "FILE", "--max-n", "3"],
    ["trace", "FILE", "a b"],
    ["precision", "FILE", "--max-n", "3"],
]


def edited(hardsim: Any, since: Path, path: Path, change: Any, *options: str) -> Path:
    hardsim("compile", since, "-o", path, *options)
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), "utf-8")
    return path


def labels(document: dict[str, Any]) -> None:
    """Change every label to another text."""
    program = document.get("program") or document["specification"]
    program["regime"] = "causal-position"
    program["meanings"]["S4"] = "FALSE LABEL"
    for head in program["layers"][0]["heads"]:
        head |= {"purpose": "FALSE LABEL", "theorem": "FALSE LABEL"}
    if "options" in document:
        document["options"]["beta"] = "123457"


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_no_command_repeats_a_false_label(
    hardsim: Any, since: Path, tmp_path: Path, command: list[str], hard: bool
) -> None:
    path = edited(hardsim, since, tmp_path / "x.json", labels, *["--hard"] * hard)
    arguments = [str(path) if one == "FILE" else one for one in command]
    outcome = hardsim(*arguments)
    assert outcome.code == 0
    assert not any(label in outcome.out for label in ("causal", "FALSE LABEL", "123457"))
    assert "the file says regime causal-position, the weights are those of regime temperature" in outcome.err
    assert "the file says that head S4.read is for 'FALSE LABEL', the weights are those of 'a S b" in outcome.err
    assert ("the file says beta 123457, the weights are those of beta 4" in outcome.err) == (not hard)
    document = hardsim(*arguments, "--json", "-").json
    assert not any(label in json.dumps(document["results"]) for label in ("causal", "FALSE LABEL", "123457"))
    message = [note["message"] for note in document["notes"]]
    assert "the file says regime causal-position, the weights are those of regime temperature" in message


def test_python_does_not_repeat_a_false_label(hardsim: Any, since: Path, tmp_path: Path) -> None:
    import hardsim as python

    path = edited(hardsim, since, tmp_path / "x.model.json", labels)
    with pytest.warns(python.Remark) as caught:
        model = python.load(path)
    message = [str(one.message) for one in caught]
    assert "the file says regime causal-position, the weights are those of regime temperature" in message
    assert "regime temperature, beta 4" in repr(model)
    assert "causal" not in repr(model)


def test_a_title_is_what_the_file_says(hardsim: Any, since: Path, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["title"] = "computes PARITY"

    path = edited(hardsim, since, tmp_path / "x.ahat.json", change, "--hard")
    for command in COMMANDS[:3]:
        out = hardsim(*[str(path) if one == "FILE" else one for one in command]).out
        assert [line.split()[:2] for line in out.splitlines() if "PARITY" in line] == [["file", "says"]]
    assert "the file says: computes PARITY" in repr(python_model(path))


def python_model(path: Path) -> Any:
    return hardsim.load(path)


def test_edited_weights_have_no_labels_of_their_own(hardsim: Any, since: Path, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["model"]["layers"][0]["heads"][0]["w_k"]["entries"][0][2] = "1/9"

    path = edited(hardsim, since, tmp_path / "x.model.json", change)
    outcome = hardsim("show", path).exits(0)
    assert "regime       the file says: temperature" in outcome.out
    assert "beta         the file says: 4" in outcome.out
    assert "the file says: error at most" in outcome.out
    network = hardsim("check", path, "--max-n", "2").told_text
    assert "network temperature 1/n, the file says regime temperature and beta 4" in network


def test_a_network_of_no_regime_is_proved_written_and_read(hardsim: Any, since: Path, tmp_path: Path) -> None:
    """No regime has a temperature of n and i; at 1/(n i) softmax is still sharp enough."""

    def change(document: dict[str, Any]) -> None:
        document["model"]["temperature"] = "1/(n*i)"

    path = edited(hardsim, since, tmp_path / "x.model.json", change)
    certificate, again = tmp_path / "p.cert.json", tmp_path / "again.model.json"
    outcome = hardsim("prove", path, "--max-n", "4", "--certificate", certificate)
    assert outcome.code == 0
    assert "network temperature 1/(n*i), beta 4, not a hardsim regime" in outcome.told_text
    assert hardsim("verify", certificate, "--model", path).code == 0
    assert hardsim("compile", path, "-o", again).code == 0
    assert "not a hardsim regime" in hardsim("check", again, "--max-n", "3").told_text
    hardsim("check", path, "--regime", "position").refused("already compiled (no regime of hardsim, beta 4", "--regime")
