"""Tests of all commands on C-RASP programs: these are like formulas, with an optional alphabet."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

import hardsim as python
from hardsim.errors import Contradiction, Remark
from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.crasp.formula import as_formula
from hardsim.lang.crasp.oracle import CraspOracle
from hardsim.program.regimes import EVERY
from hardsim.proving.prove import confirmed
from hardsim.targets.inputs.formula import of_formula
from tests.cli.conftest import Cli, unfolded
from tests.support.check import CheckOptions, ModelOptions, check_with_proof, compile_formula, prove_subject, read_input
from tests.support.crasp_definitions import Tree, programs
from tests.support.language import InputError, Unsupported, parse_text
from tests.support.model import PROVEN
from tests.support.strategies import all_words
from tests.support.subjects import agree

SAMPLES = Path(__file__).parents[3] / "shared" / "crasp"
COUNTING = {"count3_yc24", "dyck1_yc24"}
"""The public programs whose heads only count. The others read the parity of a position or earlier symbols, for which
the regimes without positions have no construction."""
BALANCED = """// Balanced brackets
Opened = # "("
V = Opened < #")"   // somewhere more are closed
D = (!(# V > 0)) && Opened == #")"
"""
REFUSED = 'pred P(i, j) = j * j == i\nL = #[P] "a" == 2\n'


@pytest.fixture
def balanced(tmp_path: Path) -> Path:
    path = tmp_path / "balanced.cr"
    path.write_text(BALANCED)
    return path


# ---- networks against the definitions ----


@pytest.mark.sweep
@pytest.mark.parametrize("regime", PROVEN)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(2))
def test_networks_answer_as_the_oracle_on_all_short_words(regime: str, made: tuple[str, Tree]) -> None:
    program = parse_crasp(made[0], "program.cr", "a b")
    try:
        file = replace(as_formula(program), oracle=CraspOracle(program))
        subject = compile_formula(file, ModelOptions(regime))
    except Unsupported:
        assume(False)
        raise
    agree(subject, all_words("ab", 5))


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the public programs lie beside the project, in ../shared")
@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.cr")), ids=lambda path: path.stem)
@pytest.mark.slow
def test_public_programs_are_proved_in_every_regime(hardsim: Cli, path: Path) -> None:
    done = hardsim("check", path, "--max-n", "4", "--regime", "all", "--json", "-").exits(0)
    regimes = EVERY if path.stem in COUNTING else PROVEN
    verdicts = {result["model"]["regime"]: result["verdict"] for result in done.json["results"]}
    assert verdicts == dict.fromkeys(regimes, "PROVED")
    done = hardsim("prove", path, "--max-n", "4", "--all-n", "--json", "-").exits(0)
    assert done.result["reach"].startswith("every word of every length")


# ---- commands ----


def test_what_the_public_interpreter_reads_otherwise_is_noted(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "x.cr"
    path.write_text('A = "a"\nL = !A && #"b" == 0\n')
    assert "note: " in hardsim("words", path, "--max-n", "1").err
    assert "line 2: !A && ... is read as (!A) && ..." in hardsim("words", path, "--max-n", "1").err
    with pytest.warns(Remark, match="add brackets to choose"):
        python.load(path)


@pytest.mark.slow
def test_what_is_compiled_is_read_back(hardsim: Cli, balanced: Path, tmp_path: Path) -> None:
    model, hard, proof = (tmp_path / name for name in ("balanced.model.json", "balanced.ahat.json", "proof.json"))
    assert hardsim("compile", balanced, "-o", model).code == 0
    assert hardsim("compile", "--hard", balanced, "-o", hard).code == 0
    assert hardsim("check", model, hard, "--max-n", "5").out.endswith("2 results: 2 PROVED\n")
    assert hardsim("prove", balanced, "--max-n", "5", "--certificate", proof).code == 0
    assert "VALID" in hardsim("verify", proof, "--formula", balanced, "--model", model).exits(0).out
    other = tmp_path / "other.cr"
    other.write_text(BALANCED.replace("> 0", "> 1"))
    assert hardsim("verify", proof, "--formula", other).code == 1


def test_the_alphabet_can_be_given(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.cr"
    path.write_text('A = "a"\n')
    assert hardsim("words", path, "--max-n", "2").out == "a\naa\n"
    assert hardsim("words", path, "--max-n", "2", "--alphabet", "b a").out == "a\nba\naa\n"
    done = hardsim("check", path, "--alphabet", "b").exits(2)
    assert "a.cr:1:5: error: unknown symbol 'a'" in done.err
    (tmp_path / "a.ltl").write_text("alphabet: a\na\n")
    hardsim("check", path, tmp_path / "a.ltl", "--alphabet", "a").exits(0)
    done = hardsim("check", path, tmp_path / "a.ltl", "--alphabet", "a b").exits(2)
    assert "a.ltl:1:11: error: the alphabet is also given as a b" in done.err
    assert "nothing to read" in hardsim("check", "--alphabet", "a").exits(2).err
    model = python.load(path, alphabet="b a")
    assert (model.alphabet, model.kind) == (("b", "a"), "ltl")
    assert [one.soft for one in model.eval("ba", "ab").words] == [True, False]
    assert model.check(max_n=3).verdict == "PROVED"
    with pytest.raises(InputError, match="unknown symbol 'a'"):
        python.load(path, alphabet=["b"])


def test_it_is_read_at_the_last_position_or_at_the_first(hardsim: Cli, balanced: Path) -> None:
    done = hardsim("check", balanced, "--at", "first", "--max-n", "3", "--json", "-").exits(0)
    assert (done.result["verdict"], done.result["model"]["at"]) == ("PROVED", "first")
    formula = python.load(balanced)
    assert [(one.oracle, one.soft) for one in formula.eval("()", ")(").words] == [(True, True), (False, False)]
    assert [one.soft for one in formula.compile().eval("(())").words] == [True]
    assert [one.oracle for one in formula.eval("()", at="first").words] == [False]


def test_what_is_refused_still_has_a_meaning(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "refused.cr"
    path.write_text(REFUSED)
    done = hardsim("check", path).exits(2)
    assert done.out == ""
    assert "refused.cr:2:5: error: #[P] has no construction" in done.err
    assert "  L = #[P]" in done.err
    # j*j = i holds for j = 0 and 1 at i = 0 and 1, and never for both at the last position i.
    assert hardsim("words", path, "--max-n", "4").exits(0).out == ""
    assert "semantics alone" in hardsim("eval", path, "aaa").exits(2).out


def test_mistakes_exit_with_2_and_show_their_place(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "wrong.cr"
    path.write_text('#import prev\nL = #[prev] "a" > 0\n')
    done = hardsim("check", path).exits(2)
    assert "wrong.cr:1:9: error: prev cannot be imported: there is no such predicate" in done.err
    assert "did you mean pred?" in done.err.lower()
    path.write_text('L = "a" & "b"\n')
    assert "and is written &&" in hardsim("check", path).exits(2).err


# ---- examples ----


def test_examples_are_checked_against_the_program(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "b.cr"
    path.write_text('alphabet: a b\naccept: ab ba\nL = "b"\n')
    done = hardsim("check", path).exits(2)
    assert "b.cr:2:12: error: the program rejects 'ba', which is listed under 'accept:'" in done.err
    # a program without a construction has examples, too
    path.write_text(f"accept: aa\n{REFUSED}")
    assert "the program rejects 'aa'" in hardsim("words", path).exits(2).err


@pytest.mark.parametrize("head", ["", "// counts\n", "alphabet: a b\n", "accept: a\n"])
def test_a_word_that_fails_becomes_an_example(hardsim: Cli, tmp_path: Path, head: str) -> None:
    path = tmp_path / "more.cr"
    path.write_text(f'{head}L = #"a" > #"b" // more\n')
    done = hardsim("check", path, "--pin", "--regime", "none", "--max-n", "6").exits(1)
    assert "pinned as an example: " in done.err
    assert ("--alphabet 'a b'" in unfolded(done.out)) is ("alphabet" not in head)
    pinned = parse_crasp(path.read_text()).examples
    assert len(pinned) == 1 + head.startswith("accept")
    assert all(one.accept == (one.word.count("a") > one.word.count("b")) for one in pinned)
    assert path.read_text().endswith('L = #"a" > #"b" // more\n')


def test_programs_are_checked_against_other_files(hardsim: Cli, balanced: Path, tmp_path: Path) -> None:
    # ")(" is the first word with equal numbers of brackets that is not balanced
    formula = tmp_path / "equal.ltl"
    formula.write_text("alphabet: ) (\n#L['('] = #L[')']\n")
    for first, second in ((balanced, formula), (formula, balanced)):
        assert ") (" in unfolded(hardsim("equiv", first, second).exits(1).out).replace(")(", ") (")
        done = hardsim("check", first, "--against", second, "--max-n", "3").exits(1)
        assert f"checked against {second.name}" in unfolded(done.out).replace(f"{tmp_path}/", "")
    hardsim("check", balanced, "--against", balanced, "--props", "auto", "--max-n", "4").exits(0)


def test_what_has_no_construction_can_be_a_reference(hardsim: Cli, tmp_path: Path) -> None:
    program, expression = tmp_path / "square.cr", tmp_path / "square.re"
    # at most one j has j*j == i, so the program accepts no word; the files differ on a word longer than --max-n
    program.write_text(f"alphabet: a b\nreject: {'a' * 12}\n{REFUSED}")
    expression.write_text("alphabet: a b\na{12}\n")
    done = hardsim("equiv", program, expression, "--max-n", "3").exits(1)
    assert "a" * 12 in unfolded(done.out).replace(" ", "")


def test_its_own_semantics_judges_the_formula(balanced: Path) -> None:
    given = read_input(str(balanced))
    other = replace(parse_text("alphabet: ( )\n#L['('] = #L[')']\n"), oracle=given.file.oracle)
    wrong = of_formula(other, given.sha256, given.name).compile(ModelOptions())
    with pytest.raises(Contradiction, match=r"the word \) \( contradicts it: hard/oracle disagree"):
        check_with_proof(wrong, CheckOptions(max_n=3))
    with pytest.raises(Contradiction, match=r"the word \) \( contradicts it: oracle: reject"):
        confirmed(prove_subject(wrong, 4))
