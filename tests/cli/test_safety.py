"""What a run must not do: overwrite its input, read a directory by accident, blame hardsim for a changed file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("command", [("compile", "-o"), ("compile", "-o", "-", "--json"), ("check", "--json")])
def test_an_input_is_never_overwritten(
    hardsim: Any, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    before = since.read_bytes()
    (tmp_path / "link.ltl").symlink_to(since)
    monkeypatch.chdir(tmp_path)
    for place in (since, "since.ltl", "./link.ltl"):
        outcome = hardsim(command[0], since, *command[1:], place)
        assert (outcome.code, outcome.out) == (2, "")
        assert f"would overwrite what is read, {since}" in outcome.err
        assert since.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.ltl", "since.ltl"]


def test_a_model_and_its_report_are_two_files(hardsim: Any, since: Path, tmp_path: Path) -> None:
    outcome = hardsim("compile", since, "-o", tmp_path / "one", "--json", tmp_path / "." / "one")
    assert (outcome.code, outcome.out) == (2, "")
    assert "-o and --json both write" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["since.ltl"]


def test_a_directory_is_not_compiled_into_one_file(hardsim: Any, since: Path, tmp_path: Path) -> None:
    outcome = hardsim("compile", since.parent, "-o", tmp_path / "model.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "one file holds one network" in outcome.err
    assert not (tmp_path / "model.json").exists()


def test_an_empty_name_is_not_the_current_directory(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(since.parent)
    outcome = hardsim("check", "", "--max-n", "1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "a file name is empty" in outcome.err


def test_a_model_changed_by_hand_is_bad_input_and_no_defect(hardsim: Any, since: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed.model.json"
    hardsim("compile", since, "-o", path)
    model = json.loads(path.read_text(encoding="utf-8"))
    # With one key for all positions they are equal: the head no longer has the gap that it declares.
    score = model["specification"]["layers"][0]["heads"][0]["score"]
    score[:] = [[query, {"1": "1"}] for query, _ in score]
    path.write_text(json.dumps(model), encoding="utf-8")
    outcome = hardsim("check", path, "--max-n", "3")
    assert (outcome.code, outcome.out) == (2, "")
    assert "the specification in this model does not hold" in outcome.err
    assert "Compile the formula again" in outcome.err


def test_what_looks_like_an_option_has_a_way_out(hardsim: Any, since: Path) -> None:
    outcome = hardsim("eval", since, "-ab")
    assert outcome.code == 2
    assert "follow '--'" in outcome.err
    assert "follow '--'" not in hardsim("check", since, "--max-n", "0").err


@pytest.mark.parametrize("arguments", [("check", "{}"), ("eval", "{}", "ab"), ("words", "{}")])
def test_options_after_the_end_of_options_have_a_way_back(
    hardsim: Any, since: Path, arguments: tuple[str, ...]
) -> None:
    given = [text.format(since) for text in arguments]
    outcome = hardsim(given[0], "--", *given[1:], "--regime", "none")
    assert (outcome.code, outcome.out) == (2, "") or arguments[0] != "eval"
    assert "--regime stands after '--'" in outcome.err
    assert "options stand before '--'" not in hardsim(given[0], *given[1:], "--regime", "never").err


def test_what_is_compiled_is_read_before_it_is_asked_where_to(hardsim: Any, since: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.ltl"
    broken.write_text("alphabet: a b\na S\n", encoding="utf-8")
    for arguments in ((broken,), ("-e", "a S", "--alphabet", "a b")):
        outcome = hardsim("compile", *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert "1:4" in outcome.err or "2:4" in outcome.err
        assert "nowhere to write" not in outcome.err
    assert "nothing to read" in hardsim("compile").err
    assert "nowhere to write the network" in hardsim("compile", since).err


@pytest.mark.parametrize("symbol", ["\x1b[31m", "\udcff"])
def test_symbols_that_cannot_be_printed_are_refused(hardsim: Any, symbol: str) -> None:
    outcome = hardsim("words", "-e", "true", "--alphabet", f"a {symbol}", "--max-n", "1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "is no symbol" in outcome.err
    assert "\x1b" not in outcome.err
