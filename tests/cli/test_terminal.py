"""Tests with hostile text in every place where a file, a file name or an option has text.

It never controls the terminal (the fixture checks that in every run), begins a line of the output, or causes a
defect.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import SINCE, Cli, Outcome, written
from tests.support.damage import Path as Place
from tests.support.damage import at, places, replaced

FORGED = "PROVED  forged"
OBEYED = "\x00\x07\x08\t\r\x0b\x1b\x7f\x85\x9b\u061c\u200f\u2028\u2029\u202e\u2066"
HOSTILE = st.sampled_from([f"\n{FORGED}", f"\r\x1b[2K{FORGED}", f"\u202e\u2028{FORGED}\u2029", "\x1b]0;t\x07", *OBEYED])
PROGRAM = "// the title\nalphabet: a b\naccept: ab\n#pad 1\nP := Q_a\nY := P\n"
COMMANDS = ("check", "prove", "show", "words", "bound", "compile", "eval", "verify")
FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


def require(hardsim: Cli, command: str, path: Path, *arguments: str) -> Outcome:
    """Run one command on short words, and require that it prints no forged line and has no defect."""
    needed: dict[str, tuple[str, ...]] = dict.fromkeys(("check", "prove", "words", "bound"), ("--max-n", "2"))
    needed |= {"compile": ("-o", "-"), "eval": ("ab",)}
    outcome = hardsim(command, path, *needed.get(command, ()), *arguments)
    assert outcome.code in (0, 1, 2, 3)
    assert not any(line.startswith(FORGED) for line in (outcome.out + outcome.err).splitlines())
    return outcome


def changed(document: Any, place: Place, hostile: str, whole: bool) -> Any:
    """Return the document with hostile text appended to one of its strings, or in place of it (`whole`)."""
    return replaced(document, place, hostile if whole else at(document, place) + hostile)


@pytest.fixture
def documents(hardsim: Cli, since: Path, tmp_path: Path) -> dict[str, Any]:
    """Return a document of every kind, by the suffix of its name."""
    made = {"model.json": ("compile", "-o"), "hard.ahat.json": ("compile", "--hard", "-o")}
    made["cert.json"] = ("prove", "--max-n", "2", "--certificate")
    found = {}
    for name, (command, *options) in made.items():
        hardsim(command, since, *options, tmp_path / name)
        found[name] = json.loads((tmp_path / name).read_text(encoding="utf-8"))
    return found


def test_a_hostile_string_of_a_json_file(hardsim: Cli, documents: dict[str, Any], tmp_path: Path) -> None:
    kinds = {
        (name, tuple("" if isinstance(step, int) else step for step in place)): (name, place)
        for name, document in documents.items()
        for place in places(document)
        if isinstance(at(document, place), str)
    }

    @FEW
    @given(st.sampled_from(list(kinds.values())), HOSTILE, st.booleans(), st.sampled_from(COMMANDS), st.booleans())
    def attack(at: tuple[str, Place], hostile: str, whole: bool, command: str, as_json: bool) -> None:
        name, place = at
        path = written(tmp_path / name, json.dumps(changed(documents[name], place, hostile, whole)))
        require(hardsim, "verify" if name == "cert.json" else command, path, *["--json", "-"] * as_json)

    attack()


@FEW
@given(st.data(), st.sampled_from(COMMANDS), HOSTILE)
def test_hostile_text_in_a_formula_or_a_program(
    hardsim: Cli, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, command: str, hostile: str
) -> None:
    name, text = data.draw(st.sampled_from([("x.ltl", SINCE), ("x.srasp", PROGRAM)]))
    at = data.draw(st.integers(0, len(text)))
    path = tmp_path_factory.getbasetemp() / name
    path.write_text(text[:at] + hostile + text[at:], encoding="utf-8", newline="")
    require(hardsim, command, path)


@FEW
@given(HOSTILE.filter(lambda text: "\x00" not in text), st.sampled_from(COMMANDS), st.booleans(), st.booleans())
def test_a_hostile_file_name(
    hardsim: Cli, tmp_path_factory: pytest.TempPathFactory, hostile: str, command: str, there: bool, as_json: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / f"x{hostile}.ltl"
    if there:
        path.write_text(SINCE, encoding="utf-8")
    require(hardsim, command, path, *["--json", "-"] * as_json)
    path.unlink(missing_ok=True)


OPTIONS = ("--tau", "--regime", "--at", "--engine", "--beta", "--epsilon", "--counting", "--json", "-e", "--alphabet")


@FEW
@given(st.sampled_from(OPTIONS), st.sampled_from(["", "a", "1", "("]), HOSTILE, st.sampled_from(COMMANDS))
def test_a_hostile_option(hardsim: Cli, since: Path, option: str, before: str, hostile: str, command: str) -> None:
    # As a file to write, the name is in a directory that does not exist.
    given_text = f"nowhere/{hostile}/x" if option == "--json" else before + hostile
    outcome = hardsim(command, since, option, given_text)
    # White space after a temperature is ignored.
    assert outcome.code == 2 or (option == "--tau" and hostile.isspace())
    assert not any(line.startswith(FORGED) for line in outcome.err.splitlines())
    for arguments in ((f"--{hostile}",), ("-e", "a", "--alphabet", f"a {hostile}")):
        assert FORGED not in hardsim(command, *arguments).err.splitlines()


@FEW
@given(HOSTILE, st.booleans())
def test_a_hostile_word(hardsim: Cli, since: Path, hostile: str, piped: bool) -> None:
    outcome = hardsim("eval", since, "-", stdin=f"ab{hostile}\n".encode()) if piped else hardsim("eval", since, hostile)
    assert outcome.code in (0, 2)
    assert FORGED not in outcome.err.splitlines()


def test_a_name_is_shown_escaped_and_is_the_same_in_json(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "x\x1b\u202e\n.ltl", SINCE)
    assert hardsim("check", path, "--max-n", "1", "--json", "-").json["inputs"][0]["name"] == str(path)
    assert hardsim("check", path, "--max-n", "1").out.splitlines()[0] == "PROVED  " + str(
        tmp_path / r"x\x1b\u202e\n.ltl"
    )
