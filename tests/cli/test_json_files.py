"""A mistake in JSON has its place, a caret, what was expected and what to do next, in every kind of file."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, written
from tests.support.language import formulas_directory

ROOT = Path(__file__).parents[2]
FORMULAS = formulas_directory()
VERSION1 = Path(__file__).parents[1] / "version1"
NETWORK = FORMULAS / "networks" / "dyck1_depth3"

MISTAKES = {
    "a value": ('{"a": 1,\n "b": x}', 2, 7, "this is not JSON", "a value: "),
    "a key": ('{\n"a": 1,\n}', 3, 1, "this is not JSON", "a key in double quotes"),
    "a colon": ('{\n"a" 1}', 2, 5, "this is not JSON", "a colon after the key"),
    "a comma": ('{"a": [1 2]}', 1, 10, "this is not JSON", "a comma, or the end of"),
    "an end": ('{"a": 1}\n}', 2, 1, "this is not JSON", "nothing after the first value"),
    "cut off": ('{"a": [1, 2\n', 1, 12, "this is not JSON: it ends too early", "a comma, or the end of"),
    "no white space of JSON": ('{"a": 1}\n\u00a0', 2, 1, "this is not JSON", "nothing after the first value"),
    "a quote": ('{"a": 1,\r\n "bc}', 2, 2, "this is not JSON", "a double quote at the end"),
    "a line break": ('{"a": "b\n"}', 1, 9, "this is not JSON", "no control character inside a text"),
    "a control character": ('{"a": "b\x01"}', 1, 9, "this is not JSON", "no control character inside a text"),
    "an escape": (r'{"a": "\x"}', 1, 8, "this is not JSON", r"one of \" \\ "),
    "hexadecimal digits": (r'{"a": "\u12"}', 1, 9, "this is not JSON", r"one of \" \\ "),
    "brackets": ('{"[": \n' + "[" * 100_000, 2, 300, "the brackets of this JSON are nested too deeply", "fewer levels"),
    "digits": (
        '{"' + "7" * 5_000 + '": 0.' + "7" * 5_000 + ',\n"b": -' + "9" * 5_000 + "}",
        2,
        6,
        "an integer of this JSON is too long",
        "an integer of at most 4,300 digits",
    ),
}
"""A text, the line and the column of its mistake, the message, and how the line of what was expected begins."""
EVERYWHERE = ("a colon", "cut off", "brackets", "digits")
"""Mistakes that are tried in every kind of file: one of each of the ways in which the parser ends."""


def _document(name: str, command: str, *more: str) -> Callable[[Path, str], tuple[list[str], Path]]:
    """Return a function that writes a file of this name and returns a command about it."""

    def make(folder: Path, text: str) -> tuple[list[str], Path]:
        path = written(folder / name, text)
        return [command, str(path), *more], path

    return make


def _in_network(name: str) -> Callable[[Path, str], tuple[list[str], Path]]:
    """Return a function that writes a file into the folder of a network."""

    def make(folder: Path, text: str) -> tuple[list[str], Path]:
        shutil.copytree(NETWORK, folder / "net", copy_function=shutil.copy)
        return ["show", str(folder / "net")], written(folder / "net" / name, text)

    return make


def _index(folder: Path, text: str) -> tuple[list[str], Path]:
    command, path = _in_network("model.safetensors.index.json")(folder, text)
    (folder / "net" / "model.safetensors").unlink()
    return command, path


def _named_by_a_specification(folder: Path, text: str) -> tuple[list[str], Path]:
    path = written(folder / "n.json", text)
    return ["check", str(written(folder / "n.spec", "network: n.json\nlanguage: a*\n"))], path


def _compared(folder: Path, text: str) -> tuple[list[str], Path]:
    path = written(folder / "m.model.json", text)
    return ["check", str(FORMULAS / "since.ltl"), "--against", str(path)], path


def _of_a_theorem(folder: Path, text: str) -> tuple[list[str], Path]:
    (folder / "th").mkdir()
    path = written(folder / "m.model.json", text)
    return ["verify", str(path), "--rocq", str(folder / "th")], path


def _of_a_certificate(folder: Path, text: str) -> tuple[list[str], Path]:
    path = written(folder / "m.model.json", text)
    return ["verify", str(written(folder / "c.cert.json", "{}")), "--model", str(path)], path


def _of_a_report(name: str) -> Callable[[Path, str], tuple[list[str], Path]]:
    def make(folder: Path, text: str) -> tuple[list[str], Path]:
        report = folder / "report"
        (report / "inputs").mkdir(parents=True)
        written(report / "inputs" / "a.ltl", "alphabet: a b\na\n")
        request = {"schema_version": 1, "arguments": ["report", "inputs/a.ltl"], "versions": {}, "sha256": {}}
        written(report / "command.json", json.dumps(request))
        return ["replay", str(report)], written(report / name, text)

    return make


FILES = {
    "certificate": _document("c.cert.json", "verify"),
    "model": _document("m.model.json", "show"),
    "hard attention": _document("m.ahat.json", "check"),
    "network": _document("n.json", "check"),
    "automaton": _document("a.json", "classify"),
    "configuration": _in_network("config.json"),
    "vocabulary": _in_network("vocab.json"),
    "tokenizer": _in_network("tokenizer.json"),
    "index of weights": _index,
    "network of a specification": _named_by_a_specification,
    "reference": _compared,
    "model of a theorem": _of_a_theorem,
    "model of a certificate": _of_a_certificate,
    "command of a report": _of_a_report("command.json"),
    "results of a report": _of_a_report("results.json"),
}


@pytest.mark.parametrize(
    ("kind", "mistake"),
    [(kind, mistake) for kind in FILES for mistake in (MISTAKES if kind == "certificate" else EVERYWHERE)],
)
def test_a_mistake_has_its_place(hardsim: Cli, tmp_path: Path, kind: str, mistake: str) -> None:
    text, line, column, message, expected = MISTAKES[mistake]
    command, path = FILES[kind](tmp_path, text)
    first, shown, carets, wanted, hint = hardsim(*command).refused().err.rstrip("\n").split("\n")
    assert first.removeprefix("error: ") == f"{path}:{line}:{column}: error: {message}"
    assert {*carets.strip()} == {"^"}  # below all that a control character is shown as
    if len(text) < 100 and mistake != "a control character":
        assert (shown[2:], len(carets) - 2) == (text.splitlines()[line - 1], column)
    assert wanted.startswith(f"  expected: {expected}")
    assert hint[:3].strip()
    assert "char " not in first + wanted + hint


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    ("data", "place", "message", "expected"),
    [
        (b'{"a":\n "\xff"}', "2:3", "not UTF-8: byte 0xff at offset 8", "text in UTF-8"),
        (b" \n", "1:1", "the file is empty", "JSON"),
    ],
)
def test_what_is_no_text_has_its_place(
    hardsim: Cli, tmp_path: Path, kind: str, data: bytes, place: str, message: str, expected: str
) -> None:
    command, path = FILES[kind](tmp_path, "")
    path.write_bytes(data)
    if kind == "model of a theorem" and not data.strip():
        hardsim(*command).refused(f"{path}: not the compiled model of a formula")
        return
    lines = hardsim(*command).refused(f"{path}:{place}: error: {message}\n").err.splitlines()
    assert lines[3] == f"  expected: {expected}"
    assert len(lines) == 5


@pytest.mark.parametrize("kind", FILES)
def test_a_byte_order_mark_is_no_mistake(hardsim: Cli, tmp_path: Path, kind: str) -> None:
    command, path = FILES[kind](tmp_path, '\ufeff{"a" 1}')
    hardsim(*command).refused(f"{path}:1:6: error: this is not JSON\n")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_lines_of_labelled_data_has_its_place(hardsim: Cli, tmp_path: Path, mistake: str) -> None:
    text, _, _, message, expected = MISTAKES[mistake]
    if mistake == "digits":  # these stay text
        return
    text = text.replace("\r\n", "\n").split("\n")[-1] if mistake in ("brackets", "a quote") else text.replace("\n", " ")
    if mistake == "a line break":
        text = text.replace("b ", "b\t")
    path = written(tmp_path / "d.jsonl", f'["a", 1]\n\n{text}\n["b", 0]\n')
    lines = hardsim("check", FORMULAS / "since.ltl", "--data", path).refused().err.splitlines()
    assert re.fullmatch(rf".*{re.escape(str(path))}:3:\d+: error: {re.escape(message)}", lines[0])
    assert {*lines[2].strip()} == {"^"}
    assert lines[3].startswith(f"  expected: {expected}")
    assert lines[4].startswith("  Each line is an object such as")


def test_no_other_function_reads_json_of_a_user() -> None:
    """Each other use of the parser is listed with its reason."""
    others = {
        "lang/json_text.py": "the function itself",
        "verify/__init__.py": "the checker runs on the standard library alone; proving/verify.py names the place",
        "proving/rocq_comparison.py": "beside read_json, which names the place",
        "proving/rocq/theorem.py": "text that was just written",
        "measuring/export.py": "text that was just written",
        "targets/exported.py": "text that was just written",
        "report/schema.py": "parts of the schema in the program",
        "program/file.py": "the schema that is shipped",
        "records.py": "text that was just written",
        "campaign/checkpoint.py": "rows of a database, each with a digest",
        "reading/training.py": "the name of a format is guessed",
        "lang/unread_files.py": "the name of a format is guessed",
        "writing/torch_model.py": "written into exports, where there is no hardsim",
        "writing/running.py": "written into exports, where there is no hardsim",
    }
    found = {
        str(path.relative_to(ROOT / "hardsim"))
        for path in (ROOT / "hardsim").rglob("*.py")
        if re.search(r"\bjson\.(loads?|JSONDecoder)\b", path.read_text(encoding="utf-8"))
    }
    assert found == others.keys()
