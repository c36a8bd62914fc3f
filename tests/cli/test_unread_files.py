"""Tests that every command names the format of another tool's file, and does not call it a hardsim file."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import hardsim
from hardsim.lang.unread_files import unread_format_error
from tests.support.language import InputError

HOA = 'HOA: v1\nStates: 2\nStart: 0\nAP: 1 "p"\nAcceptance: 1 Inf(0)\n--BODY--\nState: 0 {0}\n[t] 0\n--END--\n'
AUTOMATON = '{"states": ["0"], "alphabet": ["a"], "initial": "0", "accepting": [], "transitions": []}'
ADVICE = "HOA describes infinite words (Büchi acceptance and others), and the words of hardsim are finite"
FIELD = Path(__file__).parents[3] / "shared" / "field"


@pytest.fixture
def hoa(tmp_path: Path) -> Path:
    path = tmp_path / "always.hoa"
    path.write_text(HOA, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "FILE"],
        ["check", "FILE"],
        ["check", "FILE", "--props", "auto"],
        ["check", "FILE", "--at", "first"],
        ["prove", "FILE"],
        ["bound", "FILE"],
        ["eval", "FILE", "a"],
        ["words", "FILE"],
        ["trace", "FILE", "a"],
        ["compile", "FILE"],
        ["equiv", "FILE", "since"],
        ["equiv", "since", "FILE"],
        ["check", "since", "--against", "FILE"],
        ["fmt", "FILE"],
        ["fmt", "--check", "FILE"],
        ["verify", "FILE"],
    ],
)
def test_every_command_names_an_automaton(hardsim: Any, hoa: Path, arguments: list[str]) -> None:
    outcome = hardsim(*[str(hoa) if one == "FILE" else one for one in arguments])
    outcome.refused(f"{hoa}: this is an automaton in HOA format", ADVICE)
    assert not re.search("alphabet|header key|canonical form|certificate", outcome.err)


def test_a_certificate_is_verified_against_a_formula(hardsim: Any, hoa: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "p.cert.json"
    hardsim("prove", "since", "--max-n", "4", "--certificate", certificate)
    hardsim("verify", certificate, "--formula", hoa).refused("this is an automaton in HOA format")
    hardsim("show", certificate).refused("this is a certificate, not a model", f"hardsim verify {certificate}")


def test_the_other_files_are_checked(hardsim: Any, hoa: Path) -> None:
    outcome = hardsim("check", hoa, "since", "--max-n", "3")
    assert outcome.code == 2
    assert "this is an automaton in HOA format" in outcome.err
    assert "CERTIFIED" in outcome.out or "PROVED" in outcome.out


def test_json_that_is_not_a_model_is_not_to_be_made_again(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "ab.dfa.json"
    for text, name in (
        (AUTOMATON[:-1] + ', "stack_symbols": []}', "this is a pushdown automaton"),
        ('{"a": 1}', 'the "format" of this JSON must be'),
    ):
        path.write_text(text, encoding="utf-8")
        outcome = hardsim("show", path)
        outcome.refused(name)
        assert "again" not in outcome.err


def test_a_large_file_is_named_too(hardsim: Any, tmp_path: Path) -> None:
    """Five megabytes exceed the limit of a formula file."""
    path = tmp_path / "model.pkl"
    path.write_bytes(b"\x80\x04" + bytes(5 * 2**20))
    hardsim("show", path).refused("this is a pickle of Python", "docs/networks.md")


@pytest.mark.parametrize("start", ["", "digraph ", "never", "active ", "activity x"])
def test_a_text_of_blanks_takes_no_time(start: str) -> None:
    """With a quadratic pattern it would take hours."""
    for blank in (" ", "\n", "\t", "\r\n"):
        unread_format_error("x", "x", (start + blank * 2**18).encode())


def test_repetitions_in_long_lines_take_no_time() -> None:
    for part in ("select(", "def f(", "class x:", "):", "<!-- -->", "<!--", "<?", "/*", "(*", "activity x "):
        unread_format_error("x", "x", ("def f(" + part * 2**13).encode())
        unread_format_error("x", "x", (part * 2**13).encode())


def test_prefix_notation_is_named_in_files_and_expressions(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.ltl"
    path.write_text("i p0 F p1\n", encoding="utf-8")
    hardsim("show", path, "--props", "auto").refused("LTL in prefix notation", "hardsim writes p0 -> F p1.")
    hardsim("show", "-e", "U a b", "--alphabet", "a b").refused("LTL in prefix notation", "hardsim writes a U b.")


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [("c.txt", "& p0 p1\nG t\n", ["--lines"]), ("c.ltl", "G t\nU p0 F p1\n", ["--lines"]), ("c.lbt", "G t\n", [])],
)
def test_constants_of_prefix_notation_are_not_read_as_propositions(
    hardsim: Any, tmp_path: Path, name: str, text: str, arguments: list[str]
) -> None:
    """In LBT's notation `t` is true, but `G t` alone is also a formula of hardsim with a proposition t."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    hardsim("check", path, "--props", "auto", *arguments).refused(f"{path}: this is LTL in prefix notation")


def test_lines_of_an_automaton_are_no_formulas(hardsim: Any, hoa: Path) -> None:
    """The automaton is named once, and not for each line."""
    outcome = hardsim("check", hoa, "--lines", "--props", "auto")
    outcome.refused("this is an automaton in HOA format")
    assert outcome.err.count("error:") == 1


def test_lines_with_a_proposition_t_are_read(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.ltl"
    path.write_text("G t\nF t\n", encoding="utf-8")
    assert hardsim("check", path, "--lines", "--props", "t", "--max-n", "2").code == 0


def test_a_formula_whose_symbols_are_names_of_formats_is_read(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.dot"
    path.write_text("alphabet: digraph never HOA activity\ndigraph S never\n", encoding="utf-8")
    assert hardsim("show", path).code == 0
    path.write_text("alphabet: digraph never\ndigraph S never)\n", encoding="utf-8")
    outcome = hardsim("show", path)
    outcome.refused("x.dot:2:16: error:")
    assert "DOT" not in outcome.err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("net.dot", "digraph d { }", "net.dot: this is a DOT graph"),
        ("net.json", AUTOMATON, "net.json is an automaton"),
        ("net.npz", "PK\x03\x04" + "\0" * 26 + "w.npy", "net.npz: this is arrays of numpy"),
        ("net.txt", "nothing known", "net.txt is no network"),
    ],
)
def test_what_a_specification_names_is_named(hardsim: Any, tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    spec = tmp_path / "x.spec"
    spec.write_text(f"network: {name}\noutput y: a\n", encoding="utf-8")
    hardsim("check", spec).refused(f"{spec}:1:10: error: ", message)


def test_a_program_that_a_specification_names_is_named(hardsim: Any, tmp_path: Path) -> None:
    (tmp_path / "p.rasp").write_text('set example "a"\n', encoding="utf-8")
    spec = tmp_path / "x.spec"
    spec.write_text("network: net\nprogram: p.rasp\noutput y: a\n", encoding="utf-8")
    hardsim("check", spec).refused("program: names no S-RASP program", "this is a RASP program, in the language")


def test_a_directory_of_other_files_is_named_and_one_with_formulas_is_checked(hardsim: Any, hoa: Path) -> None:
    hardsim("check", hoa.parent).refused("has no *.ltl", "always.hoa: this is an automaton in HOA format")
    (hoa.parent / "a.ltl").write_text("alphabet: a b\nO a\n", encoding="utf-8")
    outcome = hardsim("check", hoa.parent, "--max-n", "3")
    assert (outcome.code, "HOA" in outcome.err) == (0, False)


def test_python_names_them_too(hoa: Path) -> None:
    expected = "this is an automaton in HOA format"
    with pytest.raises(InputError, match=expected):
        hardsim.load(hoa)
    with pytest.raises(InputError, match=f"<text>: {expected}"):
        hardsim.parse(HOA)
    with pytest.raises(InputError, match=expected):
        hardsim.load("since").check(against=str(hoa), max_n=2)
    with pytest.raises(InputError, match="prefix notation"):
        hardsim.load("U a b", alphabet="a b")


@pytest.mark.skipif(not FIELD.is_dir(), reason="the field cases are not here")
@pytest.mark.parametrize("case", ["hoa", "dot", "smv", "tlsf", "decl", "json-dfa"])
def test_field_cases(hardsim: Any, case: str) -> None:
    arguments, code, must, must_not = _cases(FIELD / "run.py")[case]
    outcome = hardsim(*[str(FIELD / one) if (FIELD / one).is_file() else one for one in arguments])
    text = outcome.out + outcome.err
    assert code in (None, outcome.code)
    assert re.search(must, text)
    assert not re.search(must_not, text)


def _cases(path: Path) -> dict[str, Any]:
    """Return the table of the field cases from the source, where it is a literal."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CASES":
            table = node.value
            assert isinstance(table, ast.List)
            rows = [row for row in table.elts if isinstance(row, ast.Tuple) and isinstance(row.elts[1], ast.List)]
            values = [[ast.literal_eval(one) for one in row.elts[:5]] for row in rows]
            return {name: rest for name, *rest in values}
    raise AssertionError("no table of cases")
