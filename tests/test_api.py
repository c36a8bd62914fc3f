"""The Python interface: every method on everything that can be opened, beside the command of its name."""

import inspect
import json
import pickle
import re
import shutil
import signal
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import gmpy2  # type: ignore[import-untyped]  # it has no types
import mpmath
import numpy as np
import pytest

import hardsim
from hardsim import api
from hardsim.api import Model, spoken
from hardsim.campaign.result import Evaluation
from hardsim.cli.app import run
from hardsim.cli.typer_options import options_of
from hardsim.errors import Interrupted, Remark
from hardsim.network.dense import JudgedAt
from hardsim.options.table import OPTIONS
from tests.cli.conftest import interrupt, written
from tests.reading.folders import DATA
from tests.support.check import CheckResult
from tests.support.language import InputError, InvariantError, SourceError, Undecided, Unsupported, formulas_directory
from tests.support.mistakes import marked, raised
from tests.support.strategies import all_words

SHIPPED = formulas_directory()
METHODS = ("check", "prove", "eval", "words", "bound", "compile")
LEFT_OUT = {
    "files": "what is asked has been opened",
    "file": "what is asked has been opened",
    "words": "of eval: they are its arguments",
    "expression": "hardsim.load takes the text of a formula",
    "dialect": "hardsim.load takes it",
    "alphabet": "hardsim.load takes it",
    "props": "hardsim.load takes them",
    "lines": "hardsim.load_lines",
    "json": "results are data already",
    **dict.fromkeys(("tables", "all_lengths", "quiet", "format"), "of what is printed"),
    "fail_fast": "of several inputs: a method has one",
    "pin": "of the file that was read: text can be written by whoever has it",
    "plot": "of what is drawn beside what is printed",
    "require": "of the exit code: a verdict can be asked what it reaches",
    "output": "Model.save",
}
"""Options that only a command has, each with the reason."""


@pytest.fixture
def since() -> Model:
    return hardsim.parse("alphabet: a b c\naccept: b cba\nreject: a bc\na S b\n")


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    """Write a file of each of the four kinds; return the paths by kind."""
    for name in ("since.ltl", "dyck1.srasp", "flipflop.ahat.json"):
        shutil.copy(SHIPPED / name, tmp_path)
    network = tmp_path / "since.model.json"
    hardsim.load(tmp_path / "since.ltl").compile(regime="causal-temperature").save(network)
    return {"formula": tmp_path / "since.ltl", "program": tmp_path / "dyck1.srasp",
            "model": tmp_path / "flipflop.ahat.json", "network": network}  # fmt: skip


Command = Callable[..., Any]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs a command and returns the only result in its JSON document."""

    def result(*arguments: object) -> Any:
        capsys.readouterr()
        run([*map(str, arguments), "--json", "-"])
        (found,) = json.loads(capsys.readouterr().out)["results"]
        return found

    return result


EACH = pytest.mark.parametrize("kind", ["formula", "program", "model", "network"])


# ---- the same results as on the command line ----


@EACH
def test_check_is_the_command(inputs: dict[str, Path], command: Command, kind: str) -> None:
    result = hardsim.load(inputs[kind]).check(max_n=4, seed=7, exhaustive=10)
    requested = "check", inputs[kind], "--max-n", 4, "--seed", 7, "--exhaustive", 10
    assert result.to_dict() == command(*requested)
    assert result.agreed


@EACH
def test_prove_is_the_command(inputs: dict[str, Path], command: Command, kind: str) -> None:
    result = hardsim.load(inputs[kind]).prove(max_n=4, min_n=2)
    assert result.to_dict() == command("prove", inputs[kind], "--max-n", 4, "--min-n", 2)
    assert result.verdict is hardsim.Verdict.PROVED


@EACH
def test_eval_is_the_command(inputs: dict[str, Path], command: Command, kind: str) -> None:
    given = hardsim.load(inputs[kind])
    one, two = given.alphabet[:2]
    found = given.eval(f"{one} {two}", [two], engine="ball")
    there = command("eval", inputs[kind], "--engine", "ball", f"{one} {two}", two)
    assert found.to_dict() == there
    assert [evaluation.word for evaluation in found] == [(one, two), (two,)]


@pytest.mark.sweep
@EACH
@pytest.mark.parametrize("by", ["oracle", "hard", "soft"])
def test_words_are_the_command(inputs: dict[str, Path], command: Command, kind: str, by: Any) -> None:
    found = hardsim.load(inputs[kind]).words(max_n=3, by=by)
    assert found.to_dict() == command("words", inputs[kind], "--max-n", 3, "--by", by)
    assert len(found) == len(list(found)) > 0


@pytest.mark.slow
@EACH
def test_bound_is_the_command(inputs: dict[str, Path], command: Command, kind: str) -> None:
    given = hardsim.load(inputs[kind])
    assert given.bound(max_n=3).to_dict() == command("bound", inputs[kind], "--max-n", 3)
    assert given.bound(gap=True, max_n=3).to_dict() == command("bound", inputs[kind], "--gap", "--max-n", 3)


@pytest.mark.slow
def test_a_critical_beta_is_the_command(inputs: dict[str, Path], command: Command) -> None:
    for kind in ("formula", "network"):
        found = hardsim.load(inputs[kind]).bound(critical=True, max_n=1)
        assert found.to_dict() == command("bound", inputs[kind], "--critical", "--max-n", 1)


@EACH
@pytest.mark.parametrize("hard", [False, True])
def test_compile_is_the_command(
    inputs: dict[str, Path], command: Command, tmp_path: Path, kind: str, hard: bool
) -> None:
    target = tmp_path / "there.json"
    document = command("compile", inputs[kind], "-o", target, *["--hard"] * hard)
    network = hardsim.load(inputs[kind]).compile(hard=hard)
    assert network.to_json() == target.read_text(encoding="utf-8")
    assert network.sha256 == document["sha256"]


@EACH
@pytest.mark.slow
def test_a_compiled_network_is_the_file_that_is_written(inputs: dict[str, Path], tmp_path: Path, kind: str) -> None:
    here, target = hardsim.load(inputs[kind]).compile(), tmp_path / "there.json"
    here.save(target)
    there = hardsim.load(target)
    assert there.to_json() == here.to_json()
    word = here.alphabet[:2]
    assert here.eval(word).words == there.eval(word).words
    assert replace(here.check(max_n=3), input="") == replace(there.check(max_n=3), input="")
    assert here.prove(max_n=3).verdict is there.prove(max_n=3).verdict is hardsim.Verdict.PROVED
    assert list(here.words(max_n=2)) == list(there.words(max_n=2))
    assert here.bound(max_n=2).lengths == there.bound(max_n=2).lengths
    assert here.compile().check(max_n=2).agreed


def test_a_network_answers_as_its_formula(since: Model) -> None:
    options: Any = {"regime": "position", "beta": "7/2", "single_head": True, "at": "first"}
    with pytest.warns(Remark, match='accept: and reject: words were written for at: last, so with at="first"'):
        network = since.compile(**options)
    facts = network.network
    assert facts is not None
    assert (facts.regime, facts.beta, facts.single_head, facts.at) == ("position", Fraction(7, 2), True, "first")
    assert [found.oracle for found in network.eval("bc", "cb")] == [True, False]
    with pytest.warns(Remark, match='so with at="first"'):
        expected = since.check(max_n=3, **options)
    found = network.check(max_n=3)
    assert (found.lengths, found.verdict) == (expected.lengths, expected.verdict)


def test_the_results_are_right(since: Model) -> None:
    # The formula accepts words that end in b, ba, baa, ...
    expected = [word for word in all_words("abc", 3) if "".join(word).rstrip("a").endswith("b")]
    assert list(since.words(max_n=3)) == list(since.words(max_n=3, by="soft", regime="position")) == expected
    accepted, rejected = since.eval("cba", ["b", "c"])
    assert (accepted.oracle, accepted.hard, accepted.soft) == (True, True, True)
    assert (rejected.oracle, rejected.hard, rejected.soft) == (False, False, False)
    (undecided,) = since.eval("ba", beta="1/2")
    assert undecided.soft is None
    result = since.check(max_n=5)
    assert (result.verdict, result.agreed, result.words) == (
        hardsim.Verdict.PROVED,
        True,
        sum(3**n for n in range(1, 6)),
    )
    assert since.check(max_n=3, beta="1/2").verdict is hardsim.Verdict.REFUTED


def test_a_mapping_of_words_has_outputs() -> None:
    reverse = hardsim.load(SHIPPED / "reverse.srasp")
    word = reverse.alphabet[:2]
    assert reverse.eval(word)[0].soft == word[::-1]
    for by in ("oracle", "soft"):
        raised(InputError, reverse.words, max_n=2, by=by, match="maps words to words")


def test_every_length_and_a_certificate(since: Model, tmp_path: Path) -> None:
    assert since.prove(all_n=True).every_length
    target = tmp_path / "since.cert.json"
    with pytest.warns(Remark, match=r"^engine: not used; a proof is one process"):
        since.prove(max_n=4, certificate=target, engine="ball")
    assert run(["verify", str(target)]) == 0


def test_a_certificate_is_a_file(since: Model, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("-", Path("-")):
        raised(InputError, since.prove, max_n=4, certificate=name, match="^certificate -: not a file name")
    error = raised(InputError, since.prove, max_n=4, certificate=tmp_path, match="certificate .*it is a directory")
    assert "standard output" not in error.hint
    assert capfd.readouterr() == ("", "")


def test_a_check_is_resumed_from_its_file(inputs: dict[str, Path], tmp_path: Path, command: Command) -> None:
    kept = tmp_path / "since.run"
    given = hardsim.load(str(inputs["formula"]))
    first = given.check(max_n=4, resume=kept)
    assert given.check(max_n=4, resume=str(kept)) == first
    # The Python method writes the same file as the command.
    assert first.to_dict() == command("check", inputs["formula"], "--max-n", 4, "--resume", kept)
    raised(InputError, given.check, max_n=5, resume=kept, match="another request: max_n=4 there, 5 here")
    raised(InputError, given.check, resume=inputs["formula"], match="would overwrite the input")


# ---- propositions ----


def test_words_over_propositions_are_sequences_of_sets(tmp_path: Path) -> None:
    model = hardsim.load("H(p -> O q)", props=["p", "q"])
    assert model.alphabet == ("{}", "{p}", "{q}", "{p,q}")
    found = model.eval([{"q"}, set(), frozenset({"q", "p"})], "{p}{q}", ["{q,p}"]).words
    assert [one.word for one in found] == [("{q}", "{}", "{p,q}"), ("{p}", "{q}"), ("{p,q}",)]
    assert [one.oracle for one in found] == [True, False, True]
    raised(InputError, model.eval, [{"x"}], match="unknown proposition 'x'")
    raised(InputError, model.eval, [{"p,q"}], match="'p,q' is not a proposition")
    raised(TypeError, model.eval, [{1}], match="text, or sets of propositions")
    path = tmp_path / "bare.ltl"
    path.write_text("H(p -> O q)\n", encoding="utf-8")
    assert hardsim.load(path, props="auto").alphabet == model.alphabet
    assert hardsim.parse("H(p -> O q)", props="auto").alphabet == model.alphabet
    assert hardsim.parse("H(p -> O q)", props="q p").alphabet == ("{}", "{q}", "{p}", "{q,p}")
    raised(InputError, hardsim.load, "H p", alphabet="p", props="p", match="both given")
    raised(InputError, hardsim.load, path, match="missing alphabet")


def test_text_alphabet_and_position_go_together(tmp_path: Path) -> None:
    text = "G(a -> X b)"
    first = hardsim.load(text, props="a b", at="first")
    assert first.check(max_n=3).verdict == "PROVED"
    # G(a -> X b) at the first position: each a is followed by b. At the last position: the last symbol is no a.
    words = [({"a"}, {"b"}), ({"a"}, set())]
    assert [one.oracle for one in first.eval(*words).words] == [True, False]
    assert [one.oracle for one in first.eval(*words, at="last").words] == [True, True]
    path = tmp_path / "bare.ltl"
    path.write_text(text, encoding="utf-8")
    for model in (
        hardsim.load(path, props="a b", at="first"),
        hardsim.load(str(path), props=["a", "b"], at="first"),
        hardsim.load(path, props="auto", at="first"),
        hardsim.load(text, props="auto", at="first"),
        hardsim.parse(text, props="a b", at="first"),
        first.compile(),
    ):
        assert [one.oracle for one in model.eval(*words).words] == [True, False]
    assert [one.oracle for one in hardsim.load(path, alphabet="a b", at="first").eval("ab", "aa").words] == [
        True,
        False,
    ]
    assert first.equiv(hardsim.load("!F(a & !X b)", props="a b", at="first"), max_n=3).same
    last = hardsim.load(text, props="a b", at="last")
    assert not first.equiv(last, max_n=3).same
    assert first.equiv(last, max_n=3, at="last").same
    assert first.check(against=last, max_n=2).verdict == "REFUTED"
    raised(InputError, hardsim.load, text, props="a b", at="middle", match="at must be")
    raised(InputError, hardsim.parse, text, props="a b", at="each", match="at must be")
    first.compile().save(tmp_path / "f.model.json")
    raised(InputError, hardsim.load, tmp_path / "f.model.json", at="last", match="is already compiled")
    assert hardsim.load(tmp_path / "f.model.json", at="first").kind == "ltl"
    with pytest.warns(hardsim.Remark, match="applies to formulas"):
        hardsim.load("dyck2", at="first")


def test_the_text_of_a_formula_is_over_its_own_symbols() -> None:
    with pytest.warns(hardsim.Remark, match='the symbols of the formula: a b; alphabet sets another one, props="?auto'):
        model = hardsim.load("a S b")
    assert model.alphabet == ("a", "b")
    raised(InputError, model.eval, "abc", match="the alphabet was taken from the formula: alphabet gives all")


# ---- the options ----


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_the_options_of_its_command(name: str) -> None:
    options = [option for option in options_of(name) if option not in LEFT_OUT]
    expected = {option: OPTIONS[option].default_of(name) for option in options}
    if name == "check":  # the command has no option for words
        expected["words"] = None
    if "against" in expected:  # nor a function, which may return `unjudged`
        expected["unjudged"] = None
    method = getattr(Model, name)
    assert defaults(method) == expected
    listed = method.__doc__.partition("Options:")[2]
    assert all(f" {option}: " in listed for option in options if OPTIONS[option].is_keyword(name))


def defaults(method: Callable[..., object]) -> dict[str, Any]:
    """Return the defaults of a method's options."""
    found = inspect.signature(method).parameters.values()
    return {one.name: one.default for one in found if one.kind is one.KEYWORD_ONLY and one.name != "progress"}


def test_checkers_of_types_know_the_keywords(since: Model) -> None:
    """A comment that ignores no error of mypy is an error of `make lint`."""
    for call in (
        lambda: since.check(maxn=3),  # type: ignore[call-arg]
        lambda: since.check(max_n="3"),  # type: ignore[arg-type]
        lambda: since.words(by="guess"),  # type: ignore[arg-type]
        lambda: since.bound(critical=True, beta=3),  # type: ignore[call-overload]
        lambda: since.export("x", all_n=True),  # type: ignore[call-arg]
    ):
        with pytest.raises((TypeError, InputError)):
            call()
    raised(
        TypeError, since.check, maxn=3, match=r"check\(\) got an unexpected keyword argument 'maxn'; did you mean max_n"
    )
    raised(TypeError, since.check, zzz=3, match=r"check\(\) got an unexpected keyword argument 'zzz'$")


def test_nothing_is_left_out_that_is_no_option() -> None:
    options = {option for name in METHODS for option in options_of(name)}
    assert LEFT_OUT.keys() <= options


@pytest.mark.parametrize("beta", [4, 4.0, "4", "4.00", Fraction(4), Decimal(4), np.int64(4), np.float32(4)])
def test_a_number_may_be_of_any_type(since: Model, beta: Any) -> None:
    facts = since.compile(beta=beta).network
    assert facts is not None
    assert facts.beta == 4
    assert type(facts.beta) is Fraction


@pytest.mark.parametrize(("beta", "exact"), [(0.5, "1/2"), (2.75, "11/4"), (Decimal("0.1"), "1/10"), ("0.1", "1/10")])
def test_a_number_is_exact(since: Model, beta: Any, exact: str) -> None:
    assert since.check(max_n=1, beta=beta).model.beta == Fraction(exact)


def test_temperature_and_error_are_numbers_too(since: Model) -> None:
    texts: list[Any] = ["1/(2*n)", "1/2", 0.5, Fraction(1, 2), 1]
    found = [since.compile(tau=tau, beta=100).network for tau in texts]
    assert [facts and facts.temperature for facts in found] == ["1/(2*n)", "1/2", "1/2", "1/2", "1"]
    report = hardsim.load(SHIPPED / "flipflop.ahat.json").bound(max_n=2, epsilon=0.125)
    assert {row.epsilon for row in report.lengths} == {Fraction(1, 8)}


def test_integers_may_be_of_numpy(since: Model) -> None:
    result = since.check(max_n=np.int64(3), seed=np.uint8(7), exhaustive=8)  # type: ignore[arg-type]  # numpy's, too
    assert result == since.check(max_n=3, seed=7, exhaustive=8)
    assert (type(result.max_n), type(result.seed)) == (int, int)


@pytest.mark.parametrize(
    ("method", "options", "typed", "message"),
    [
        ("check", {"max_n": 0}, "--max-n 0", "0 is out of range"),
        ("check", {"max_n": -1}, "--max-n=-1", "-1 is out of range"),
        ("check", {"max_n": np.int64(-1)}, "--max-n=-1", "-1 is out of range"),
        ("check", {"workers": 257}, "--workers 257", "257 is out of range"),
        ("check", {"samples": -1}, "--samples=-1", "-1 is out of range"),
        ("check", {"beta": 0}, "--beta 0", "beta must be positive and at most 1000000, not 0"),
        ("check", {"beta": -1}, "--beta=-1", "'-1' is not a positive rational number"),
        ("check", {"beta": "7/0"}, "--beta 7/0", "'7/0' divides by zero"),
        ("check", {"beta": float("nan")}, "--beta nan", "'nan' is not a positive rational number"),
        ("check", {"beta": float("inf")}, "--beta inf", "'inf' is not a positive rational number"),
        ("check", {"epsilon": Fraction(3, 2)}, "--epsilon 3/2", "'3/2' is no error between 0 and 1"),
        ("check", {"regime": "cold"}, "--regime cold", "unknown regime 'cold'"),
        ("check", {"at": "middle"}, "--at middle", "at must be first or last, not 'middle'"),
        ("check", {"counting": "up"}, "--counting up", "counting must be lookup or sign, not 'up'"),
        ("check", {"engine": "abacus"}, "--engine abacus", "unknown engine 'abacus'"),
        ("check", {"backend": "cloud"}, "--backend cloud", "unknown backend 'cloud'"),
        ("check", {"backend": "dask"}, "--backend dask", 'backend="dask" needs scheduler'),
        ("check", {"scheduler": "tcp://x:1"}, "--scheduler tcp://x:1", 'scheduler goes with backend="dask"'),
        ("check", {"tau": "1/m"}, "--tau 1/m", "unknown name 'm'"),
        ("check", {"tau": "1/i"}, "--tau 1/i", "depends on i"),
        ("check", {"resume": "-"}, "--resume -", "resume -: not a file that a run can be resumed from"),
        ("check", {"resume": "/nowhere/x"}, "--resume /nowhere/x", "resume /nowhere/x: cannot be written"),
        ("prove", {"min_n": 9, "max_n": 4}, "--min-n 9 --max-n 4", "min_n=9 is larger than max_n=4"),
        ("prove", {"min_n": 65}, "--min-n 65", "min_n=65 is larger than the largest, 64 unless max_n says otherwise"),
        ("words", {"by": "guess"}, "--by guess", "'guess' is not one of 'oracle', 'hard', 'soft'"),
        ("words", {"max_n": 11, "by": "hard"}, "--max-n 11 --by hard", "are 265,719 words, and at most"),
        ("words", {"max_n": 9, "exhaustive": 9, "by": "hard"}, "--max-n 9 --exhaustive 9 --by hard", "e=29523"),
        ("bound", {"critical": True, "beta": 3}, "--critical --beta 3", "so beta does not apply"),
        ("bound", {"critical": True, "gap": True}, "--critical --gap", "so gap does not apply"),
        ("compile", {"single_head": True, "counting": "sign", "regime": "none", "tau": "0"}, None, "tau"),
    ],
)  # fmt: skip
def test_what_the_command_refuses_is_refused(
    capsys: pytest.CaptureFixture[str], method: str, options: dict[str, Any], typed: str | None, message: str
) -> None:
    path = SHIPPED / "since.ltl"
    error = raised(InputError, getattr(hardsim.load(path), method), **options)
    assert message in str(error)
    if typed is not None:
        assert run([method, str(path), *typed.split()]) == error.exit_code
        said = spoken(" ".join(capsys.readouterr().err.split())).replace("'", "")  # in Python numbers are quoted
        name = f"{next(iter(options))}: "
        assert " ".join(error.message.removeprefix(name).split()).replace("'", "") in said
        assert " ".join(error.hint.split()).replace("'", "") in said


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("check", {"max_n": True}, "max_n must be an integer, not True (bool)"),
        ("check", {"max_n": 8.0}, "max_n must be an integer, not 8.0 (float)"),
        ("check", {"max_n": "8"}, "max_n must be an integer, not '8' (str)"),
        ("check", {"max_n": None}, "max_n must be an integer, not None (NoneType)"),
        ("check", {"max_n": Fraction(8)}, "max_n must be an integer, not Fraction(8, 1) (Fraction)"),
        ("check", {"max_n": [8] * 99}, "max_n must be an integer, not [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, ... (list)"),
        ("check", {"beta": True}, "beta must be a number, or text such as '7/2', not True (bool)"),
        ("check", {"beta": 4j}, "beta must be a number, or text such as '7/2', not 4j (complex)"),
        ("check", {"tau": [1]}, "tau must be a number, or text such as '7/2', not [1] (list)"),
        ("check", {"engine": None}, "engine must be text, not None (NoneType)"),
        ("check", {"single_head": 1}, "single_head must be True or False, not 1 (int)"),
        ("check", {"resume": b"x"}, "resume must be a path, not b'x' (bytes)"),
        ("words", {"by": 1}, "by must be text, not 1 (int)"),
        ("check", {"nothing": 1}, "unexpected keyword argument 'nothing'"),
        ("check", {"json": "-"}, "unexpected keyword argument 'json'"),
    ],
)
def test_what_is_of_no_such_type_is_refused(since: Model, method: str, options: dict[str, Any], message: str) -> None:
    raised(TypeError, getattr(since, method), match=re.escape(message), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0.1}, "beta: the float 0.1 is not exactly 0.1\n  Write '1/10', which is."),
        ({"epsilon": 1e-5}, "epsilon: the float 1e-05 is not exactly 1e-05\n  Write '1/100000', which is."),
        ({"beta": np.float32(0.1)}, "beta: the float32 0.10000000149011612 is not exactly 0.10000000149011612"),
        ({"tau": 1 / 3}, "Write '3333333333333333/10000000000000000', which is."),
        ({"seed": 10**1001}, "seed: a number of more than 1000 characters"),
        ({"beta": 10**5000}, "beta: a number of more than 1000 characters"),
        ({"beta": Fraction(1, 10**5000)}, "beta: a number of more than 1000 characters"),
        ({"beta": Decimal("1e999999999")}, "beta: 1e+999999999 has more than 1000 digits"),
        ({"beta": Decimal("1." + "1" * 5000)}, "beta: a number of more than 1000 characters"),
        ({"beta": Decimal("1" * 1001)}, "beta: 1.11111111e+1000 has more than 1000 digits"),
        ({"epsilon": Decimal("0." + "1" * 4500)}, "epsilon: a number of more than 1000 characters"),
        ({"beta": mpmath.mpf("0.1")}, "beta: the mpf 0.1 is not exactly 0.1\n  Write '1/10', which is."),
        ({"beta": "0"}, "Write a positive number such as 4, '7/2' or '3.9'."),
        ({"epsilon": 2}, "Write a number between 0 and 1 such as '1/4' or '0.01'."),
        ({"at": "middle"}, 'at must be first or last, not \'middle\'\n  Write at="first" or at="last".'),
        ({"resume": "-"}, "resume -: not a file that a run can be resumed from\n  Name a file."),
        ({"resume": Path("-")}, "resume -: not a file that a run can be resumed from\n  Name a file."),
        ({"regime": "all"}, 'a result is about one network: regime="all" names several\n  Name one regime.'),
    ],
)
def test_what_only_python_can_say_is_refused_with_advice(since: Model, options: dict[str, Any], message: str) -> None:
    assert message in str(raised(InputError, since.check, **options))


HIGH = mpmath.MPContext()
HIGH.dps = 60
NEARLY = HIGH.mpf(7) / 2 + HIGH.mpf(10) ** -30
"""A number of high precision that is not 7/2; only its binary value is near 7/2 + 10^-30."""


@pytest.mark.parametrize("option", ["beta", "tau", "epsilon"])
@pytest.mark.parametrize(
    "number",
    [NEARLY / 16, gmpy2.mpfr(str(NEARLY / 16), 200), np.longdouble("0.1"), HIGH.mpf(1) / 3],
    ids=["mpf", "mpfr", "longdouble", "third"],
)
def test_more_digits_than_those_of_a_float_are_not_lost(since: Model, option: str, number: Any) -> None:
    error = raised(InputError, since.check, max_n=1, **{option: number}, match="is not exactly")
    assert f"{option}: the {type(number).__name__} {number!s} is not exactly {number!s}" in str(error)
    assert f"Write '{Fraction(str(number))}', which is." in str(error)


def test_exact_numbers_of_more_digits_are_taken(since: Model) -> None:
    eighth = HIGH.mpf(7) / 8
    numbers: list[Any] = [eighth, gmpy2.mpfr("0.875"), np.longdouble("0.875"), gmpy2.mpq(7, 8), np.float16(0.875)]
    for number in numbers:
        assert since.check(max_n=1, beta=number).model.beta == Fraction(7, 8)
    fine = 1 + HIGH.mpf(2) ** -55  # no float64; it has 56 decimal digits
    assert since.check(max_n=1, beta=fine).model.beta == 1 + Fraction(1, 2**55)


class Unequal(str):
    """A string that is equal to no other."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def __str__(self) -> str:
        return "other"


class Silent:
    """An object whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("nothing to see")


@pytest.mark.parametrize("value", [Silent(), [10**5000], 1j * 10**300], ids=["silent", "long", "complex"])
@pytest.mark.parametrize("option", sorted(OPTIONS.keys() & inspect.signature(Model.check).parameters.keys()))
def test_what_cannot_be_shown_is_refused_all_the_same(since: Model, option: str, value: object) -> None:
    error = raised(TypeError, since.check, **{option: value}, match=f"^{option} must be ")
    assert type(value).__name__ in str(error)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"regime": 10**5000}, "int"),
        ({"max_n": Fraction(1, 10**5000)}, "Fraction"),
        ({"beta": mpmath.mpi(1, 2)}, "ivmpf"),
        ({"beta": HIGH.mpf("1e400")}, "mpf"),
        ({"epsilon": HIGH.mpf("1e-4000000000000")}, "mpf"),
        ({"tau": np.longdouble("1e4000")}, "longdouble"),
    ],
)
def test_numbers_that_are_none_here_are_refused(since: Model, options: dict[str, Any], kind: str) -> None:
    (name,) = options
    assert kind in str(raised(TypeError, since.check, **options, match=f"^{name} must be "))


def test_text_is_what_it_says(since: Model) -> None:
    given = hardsim.load(Unequal("a S b"), [Unequal("a"), Unequal("b"), Unequal("c")])
    assert {type(symbol) for symbol in given.alphabet} == {str}
    result, expected = (one.check(max_n=3, regime=Unequal("position")) for one in (given, since))
    assert (result.model.regime, result.lengths) == ("position", expected.lengths)
    assert given.eval([Unequal("b")], Unequal("b")).words == since.eval("b", "b").words
    assert type(hardsim.parse(since.text, Unequal("mine")).name) is str


@pytest.mark.parametrize("name", [123, 10**5000, None, b"mine"], ids=["number", "long", "none", "bytes"])
def test_a_name_is_text(since: Model, name: Any) -> None:
    raised(TypeError, hardsim.parse, since.text, name, match="the name of what is parsed is text, not ")


@pytest.mark.parametrize("method", METHODS)
def test_all_regimes_at_once_are_refused(since: Model, method: str) -> None:
    words = ["a"] if method == "eval" else []
    raised(InputError, getattr(since, method), *words, regime="all", match="a result is about one network")


def test_the_name_of_an_option_is_that_of_its_parameter() -> None:
    text = "Use --max-n 64 or less, --single-head, or -o -; --max-nonsense, a--beta and /--tau/ are none"
    assert spoken(text) == "Use max_n=64 or less, single_head, or -o -; --max-nonsense, a--beta and /--tau/ are none"


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("Write --at first or --at last.", 'Write at="first" or at="last".'),
        ("--max-n 8.", "max_n=8."),
        ("--beta 7/2, --epsilon 0.1", 'beta="7/2", epsilon="0.1"'),
        ("so --tau 1/(2*n) does not", 'so tau="1/(2*n)" does not'),
        ("(--tau 1/n)", '(tau="1/n")'),
        ("--min-n 2 --max-n 5 is proved", "min_n=2, max_n=5 is proved"),
        ("--backend dask --scheduler tcp://host:8786", 'backend="dask", scheduler="tcp://host:8786"'),
        ("--scheduler tcp://x:1: nothing", 'scheduler="tcp://x:1": nothing'),
        ("--regime causal-position or --regime positional", 'regime="causal-position" or regime positional'),
        ("--counting sign, --engine auto asks", 'counting="sign", engine="auto" asks'),
        ("with --resume FILE goes on", "with resume=FILE goes on"),
        ("--all-n with --certificate c and --search", "all_n with certificate c and search"),
    ],
)
def test_an_option_with_a_value_is_what_python_takes(typed: str, written: str) -> None:
    assert spoken(typed) == written


def test_what_is_undecided_names_options_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.sharpening.theorem26.HALVINGS", 0)
    model = hardsim.load(SHIPPED / "flipflop.ahat.json")
    raised(Undecided, model.compile, max_n=3, epsilon="0.0001", match="allow a larger error with epsilon$")


def test_a_network_has_its_own_options(since: Model) -> None:
    network = since.compile(regime="position")
    raised(InputError, network.check, beta=3, match="is already compiled .* so beta=3 does not apply")
    assert network.check(max_n=2, regime="position", beta=4).agreed


def test_a_label_that_masks_is_distinguished_from_a_token() -> None:
    """An unknown output is a mismatch. If it is the usual mask, a remark shows how to declare it."""
    mirror = hardsim.load("reverse")
    with pytest.warns(Remark, match="give unjudged=-100"):
        assert mirror.check(against=lambda word: ["-100"] * len(word), max_n=1).verdict == "REFUTED"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mirror.check(against=lambda word: ["z"] * len(word), max_n=1).verdict == "REFUTED"


# ---- opening inputs ----


def test_text_is_a_formula_with_its_alphabet(since: Model) -> None:
    for alphabet in ("a b c", ["a", "b", "c"], ("a", "b", "c")):
        given = hardsim.load("a S b", alphabet=alphabet)
        assert (given.alphabet, given.kind, given.name) == (("a", "b", "c"), "ltl", "<expression>")
        assert given.check(max_n=4).lengths == since.check(max_n=4).lengths
    assert hardsim.load("O go", alphabet=["go", "stop"]).eval(["stop", "go"], "go stop")[0].oracle is True
    assert hardsim.load("a", "ab a").alphabet == ("ab", "a")


def test_a_network_that_exists_is_opened_over_another_alphabet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an alphabet the text is a formula, unless it is a path of folders."""
    shutil.copytree(formulas_directory() / "networks" / "majority", tmp_path / "net")
    monkeypatch.chdir(tmp_path)
    for path in ("net", "./net", str(tmp_path / "net"), tmp_path / "net"):
        assert hardsim.load(path, alphabet="0 1").alphabet == ("0", "1")


@pytest.mark.parametrize(
    ("source", "alphabet", "kind", "message"),
    [
        ("sicne", None, InputError, "'sicne' is neither a file that hardsim opens"),
        ("sicne", None, InputError, "did you mean since?"),
        ("sicne", None, InputError, r"hardsim.load\('a S b', alphabet='a b c'\)"),
        ("O a", None, InputError, "it names the one symbol 'a'"),
        ("G(a S b", None, SourceError, "<expression>:1:"),
        ("notes.txt", None, InputError, r"neither a file that hardsim opens \(\*.ltl, \*.srasp"),
        ("gone.ltl", None, InputError, "gone.ltl: no such file"),
        ("", None, InputError, "'' is neither a file"),
        ("a\0b.ltl", None, InputError, "cannot be read"),
        (str(SHIPPED), None, InputError, "is a directory, not a file"),
        (SHIPPED, None, InputError, "is a directory, not a file"),
        (b"since.ltl", None, TypeError, "load takes a path, .* not bytes"),
        (None, None, TypeError, "not NoneType"),
        (7, None, TypeError, "not int"),
        (Path("gone.ltl"), "a b", InputError, "gone.ltl: no such file"),
        ("since", "a b", InputError, "unknown operator|missing operand"),
        ("a S b", "", InputError, "the alphabet is empty"),
        ("a S b", [], InputError, "the alphabet is empty"),
        ("a S b", ["a", "a"], InputError, "the symbol a is in the alphabet twice"),
        ("a S b", [1, 2], TypeError, "an alphabet is text, or a sequence of symbols, not list"),
        ("a S b", {"a", "b"}, TypeError, "not set"),
        ("a S b", b"a b", TypeError, "not bytes"),
        ("a S", "a b", SourceError, "<expression>:1:"),
        ("", "a b", SourceError, "missing formula"),
        ("a \ud800", "a b", SourceError, "<expression>:1:3"),
    ],
)
def test_what_cannot_be_opened_is_refused(source: Any, alphabet: Any, kind: type[Exception], message: str) -> None:
    raised(kind, hardsim.load, source, alphabet, match=message)


def test_an_error_in_a_file_has_its_place(tmp_path: Path) -> None:
    error = raised(SourceError, hardsim.load, written(tmp_path / "wrong.ltl", "alphabet: a b\na S q\n"))
    assert marked(error) == "q"
    raised(SourceError, hardsim.parse, "alphabet: a b\na S q\n", "mine", match="mine:2:5")
    raised(TypeError, hardsim.parse, b"alphabet: a b", match="not bytes")
    raised(InputError, hardsim.load, written(tmp_path / "model.json", "{}"), match="format")


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("abx", SourceError, "'x' is not a symbol of the alphabet"),
        ("", SourceError, "the empty word is not allowed"),
        ([], InputError, "the empty word is not allowed"),
        (["ab"], InputError, "'ab' is not a symbol of the alphabet"),
        (b"ab", TypeError, "a word is text, or a sequence of symbols, not bytes"),
        (3, TypeError, "not int"),
        ([1], TypeError, "the symbols of a word are text, or sets of propositions"),
    ],
)
def test_what_is_no_word_is_refused(since: Model, word: Any, kind: type[Exception], message: str) -> None:
    raised(kind, since.eval, word, match=message)
    raised(kind, since.eval, "a", word, match=message)


def test_there_must_be_a_word(since: Model) -> None:
    raised(InputError, since.eval, match="no word to evaluate")


def test_a_program_without_a_construction_has_its_semantics(tmp_path: Path, command: Command) -> None:
    lines = ["alphabet: a b", "c(i) := psum_j[j<=i] Q_a(j)", "x(i) := leftmost_j[j>i, c(j) < pos(i)] 1 : 0"]
    path = written(tmp_path / "refused.srasp", "\n".join([*lines, "Y(i) := x(i) = 1", ""]))
    program = hardsim.load(path)
    assert program.network is None
    found = [list(word) for word in program.words(max_n=2)]
    assert found == command("words", path, "--max-n", 2)["accepted"]
    raised(Unsupported, program.words, by="soft", match="has no construction")
    raised(Unsupported, program.check, match="has no construction")


# ---- display and saving ----


def test_it_says_what_it_is(since: Model) -> None:
    assert repr(since) == "<hardsim.Model <text>: formula, a S b, over a b c>"
    network = since.compile(regime="position")
    shown = "network of a formula, a S b, over a b c, 1 layer, 1 head, regime position, beta 4"
    assert repr(network) == f"<hardsim.Model <text>: {shown}>"
    assert since.network is None
    assert since.text.endswith("a S b\n")
    assert since.notes == ()
    program = hardsim.load(SHIPPED / "dyck1.srasp")
    assert (program.kind, program.title) == ("srasp", "Dyck-1: balanced brackets of one kind")
    assert len(repr(hardsim.load(" | ".join(["a"] * 99), alphabet="a"))) < 200


def test_a_notebook_shows_a_table_of_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "<b>\u202e&.ltl"
    given = hardsim.load(written(path, "alphabet: < b\nO b\n"))
    html = given._repr_html_()
    assert "&lt;b&gt;\\u202e&amp;.ltl" in html
    assert "over &lt; b" in html
    assert set(re.findall("<(/?[a-z]+)", html)) == {"table", "tr", "th", "td", "/table", "/tr", "/th", "/td"}
    assert "\\u202e" in repr(given)


def test_only_a_network_is_written(since: Model, tmp_path: Path) -> None:
    raised(InputError, since.to_json, match="<text> is not compiled, so it has no JSON")
    raised(InputError, since.save, tmp_path / "x.json", match=r"Compile it first: .compile\(\).")
    assert list(tmp_path.iterdir()) == []
    network = since.compile()
    raised(InputError, network.save, tmp_path / "none" / "x.json", match="save .*cannot be written")
    raised(InputError, network.save, tmp_path, match="it is a directory")
    raised(InputError, network.save, "-", match="save -: not a file name")
    raised(TypeError, network.save, None, match="save takes a path, not NoneType")
    path = written(tmp_path / "since.ltl", since.text)
    raised(InputError, hardsim.load(path).compile().save, path, match="would overwrite the input")
    assert path.read_text(encoding="utf-8") == since.text


def test_it_travels(since: Model) -> None:
    for given in (since, since.compile(), hardsim.load(SHIPPED / "dyck1.srasp")):
        assert pickle.loads(pickle.dumps(given)).check(max_n=2) == given.check(max_n=2)


# ---- warnings, progress, interruptions ----


def test_what_a_command_notes_is_a_warning(since: Model, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(Remark, match="^epsilon: for hard-attention models and programs") as caught:
        since.check(max_n=2, epsilon="1/8")
    assert [one.filename for one in caught] == [__file__]
    with pytest.warns(Remark, match=r'OBSERVED: mpmath gives no enclosures; engine="ball" certifies'):
        list(since.words(max_n=2, by="soft", engine="mpmath"))
    with pytest.warns(Remark, match="2 decimal digits are fewer than"):
        since.check(max_n=2, engine="mpmath", dps=2)
    with pytest.warns(Remark, match="dps: not used; a bound report finds the number of bits"):
        since.bound(max_n=2, dps=9)
    with pytest.warns(Remark, match="tau: for softmax; hard attention has no temperature"):
        hardsim.load(SHIPPED / "flipflop.ahat.json").compile(hard=True, tau=3)
    with pytest.warns(Remark, match='regime="position": not used; it is for formulas. Set the temperature with '):
        hardsim.load(SHIPPED / "flipflop.ahat.json").check(max_n=2, regime="position")
    with pytest.warns(Remark, match="this length and longer ones have no proof"):
        hardsim.load(SHIPPED / "tieless_until_7.ahat.json").prove(max_n=15, search=0)
    with pytest.warns(Remark):
        hardsim.parse("alphabet: a b\nF a\n")  # looks forward, read at the last position
    assert capfd.readouterr() == ("", "")


def test_nothing_is_printed_where_there_is_nothing_to_print(since: Model, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        since.check(max_n=3)
        since.prove(max_n=3)
        since.eval("ab")
        since.compile().bound(max_n=2)
    assert capfd.readouterr() == ("", "")


def test_progress_is_reported(since: Model) -> None:
    message: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        message.append((done, total))

    since.check(max_n=3, progress=progress)
    assert message[-1] == (39, 39)  # 3 + 9 + 27
    message.clear()
    since.prove(max_n=3, progress=progress)
    assert message[-1] == (1, 1)  # its one head
    for options in ({}, {"critical": True}):
        message.clear()
        since.bound(max_n=2, progress=progress, **options)  # type: ignore[call-overload]  # options of any overload
        assert message
        assert message[-1][0] == message[-1][1]


def test_an_error_of_the_callers_own_is_the_callers(inputs: dict[str, Path], tmp_path: Path) -> None:
    given, kept = hardsim.load(inputs["formula"]), tmp_path / "since.run"

    def progress(done: int, total: int) -> None:
        raise ValueError(f"{done} of {total}")

    # 3 + 9 + 27 words, and three examples that are longer.
    raised(ValueError, given.check, max_n=3, progress=progress, resume=kept, match="of 42")
    raised(ValueError, given.check, max_n=3, progress=progress, resume=kept, match="of 42")
    raised(ValueError, given.bound, max_n=3, progress=progress, match="of 39")
    assert given.check(max_n=3, resume=kept) == given.check(max_n=3)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("kind", "method", "options"),
    [
        ("formula", "check", {}),
        ("formula", "prove", {}),
        ("formula", "prove", {"all_n": True}),
        ("formula", "bound", {}),
        ("formula", "bound", {"critical": True}),
        ("model", "prove", {}),
        ("program", "prove", {}),
        ("network", "check", {}),
        ("network", "prove", {}),
    ],
)
def test_whatever_the_caller_raises_comes_out_as_it_is(
    inputs: dict[str, Path], kind: str, method: str, options: dict[str, Any]
) -> None:
    given, raising = hardsim.load(inputs[kind]), list[Exception]()

    def progress(done: int, total: int) -> None:
        raise raising[-1] from ZeroDivisionError()

    for mine in (OverflowError, RecursionError, StopIteration, KeyError, MemoryError, InputError, InvariantError):
        raising.append(mine("--max-n 7"))
        with pytest.raises(mine) as caught:
            getattr(given, method)(max_n=2, progress=progress, **options)
        assert caught.value is raising[-1]
        assert caught.value.args == ("--max-n 7",)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("method", ["check", "prove", "bound"])
def test_methods_may_be_called_while_progress_is_reported(since: Model, method: str) -> None:
    alone, other, found = getattr(since, method)(max_n=3), since.check(max_n=2, regime="position"), list[Any]()

    def progress(done: int, total: int) -> None:
        found.append(since.check(max_n=2, regime="position"))

    assert getattr(since, method)(max_n=3, progress=progress) == alone
    assert found
    assert all(one == other for one in found)


def free() -> bool:
    """Return True if another thread could compute now."""
    found: list[bool] = []

    def enter() -> None:
        found.append(api.TURN.acquire(blocking=False))
        if found[0]:
            api.TURN.release()

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("name", METHODS)
def test_threads_take_turns(since: Model, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, during = api._MethodCall.subject, list[bool]()

    def subject(requested: Any, *options: bool) -> Any:
        during.append(free())
        return compiled(requested, *options)

    monkeypatch.setattr(api._MethodCall, "subject", subject)
    options = {"eval": {}, "compile": {}}.get(name, {"max_n": 2})
    getattr(since, name)(*["a"] * (name == "eval"), **options)
    assert during == [False]
    assert free()
    raised(InputError, getattr(since, name), *["a"] * (name == "eval"), regime="cold")
    assert free()


def test_ctrl_c_is_raised_with_what_was_found(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        interrupt(patched, "hardsim.campaign.judges.Judge.__call__", 2)
        result = raised(Interrupted, since.check, max_n=5).result
    assert isinstance(result, CheckResult)
    assert (result.partial, result.words, result.verdict) == (True, 3 + 9, hardsim.Verdict.CERTIFIED)
    with monkeypatch.context() as patched:
        interrupt(patched, "hardsim.measuring.bound.Reporter.__call__", 1)
        report = raised(Interrupted, since.bound, max_n=3).result
    assert (report.partial, [row.n for row in report.lengths]) == (True, [1])
    with monkeypatch.context() as patched:
        interrupt(patched, "hardsim.proving.prove.prove_subject")
        raised(KeyboardInterrupt, since.prove)
    with monkeypatch.context() as patched:
        interrupt(patched, "hardsim.targets.base.Target.answers", 1)
        found = raised(Interrupted, since.words).result
    # Lengths run one after the other; of the words a, b, c the second is accepted.
    assert (found.partial, list(found), found.tried) == (True, [("b",)], 2)
    assert issubclass(Interrupted, KeyboardInterrupt)

    def progress(done: int, total: int) -> None:
        if done > 3:
            signal.raise_signal(signal.SIGINT)

    result = raised(Interrupted, since.check, max_n=5, progress=progress).result
    assert (result.partial, result.words) == (True, 3 + 9)
    assert since.check(max_n=3).verdict is hardsim.Verdict.PROVED


def test_another_thread_is_as_good(since: Model) -> None:
    def handlers() -> list[Any]:
        return [signal.getsignal(number) for number in sorted(signal.valid_signals())]

    before, found = handlers(), list[Any]()
    thread = threading.Thread(target=lambda: found.extend([since.check(max_n=4, workers=2), handlers()]))
    thread.start()
    thread.join()
    assert found == [since.check(max_n=4), before]
    assert handlers() == before


def test_a_false_specification_is_the_files_fault_if_the_file_was_edited(
    inputs: dict[str, Path], since: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise InvariantError("a claim is false")

    document = json.loads(inputs["network"].read_text("utf-8"))
    document["specification"]["layers"][0]["heads"][0]["decay"] = "1/(3*n)"
    edited = tmp_path / "edited.model.json"
    edited.write_text(json.dumps(document), "utf-8")
    with pytest.warns(hardsim.Remark, match="the labels of heads and coordinates in this file are not confirmed"):
        read = hardsim.load(edited)
    unedited, made = hardsim.load(inputs["network"]), since.compile()
    monkeypatch.setattr(api, "check_with_proof", broken)
    raised(InputError, read.check, match="the specification in this model does not hold: a claim is false")
    for own in (unedited, made):
        raised(InvariantError, own.check, match="^a claim is false$")


def test_a_certificate_of_a_hard_attention_model_is_of_its_formula(since: Model, tmp_path: Path) -> None:
    hard, target = since.compile(hard=True), tmp_path / "c.json"
    path = tmp_path / "hard.ahat.json"
    hard.save(path)
    raised(InputError, hard.prove, smt=tmp_path / "q.smt2", all_n=True, match="is no formula, and smt writes queries")
    assert hard.prove(certificate=target, max_n=2).claim == "heads"
    assert (
        run(["verify", str(target), "--model", str(path), "--formula", str(Path("formulas/since.ltl").resolve())]) == 0
    )
    since.compile(hard=True, beta=5).save(path)
    assert run(["verify", str(target), "--model", str(path)]) == 1
    since.compile().save(path)
    assert run(["verify", str(target), "--model", str(path)]) == 0


# ---- languages ----


def test_an_automaton_is_that_of_the_language(tmp_path: Path) -> None:
    """Words over 0 and 1 without three 0s in a row: of length 3 all 8 but one, of length 4 those but 0000, 0001 and
    1000. The states are the numbers of 0s at the end, and three of them in a row. The letters of `since` over a, b, c
    and d are three, as c and d are never told apart."""
    found = hardsim.load("tomita_4").automaton()
    assert [found.count(n) for n in (1, 2, 3, 4)] == [2, 4, 7, 13]
    assert [(one.state, one.accepting, one.after) for one in found.states] == [
        (1, True, (2, 1)), (2, True, (3, 1)), (3, True, (4, 1)), (4, False, (4, 4)),
    ]  # fmt: skip
    assert (found.accepts("0010"), found.accepts(["0", "0", "0"])) == (True, False)
    assert ["".join(word) for word in found.words(3)] == ["001", "010", "011", "100", "101", "110", "111"]
    assert repr(found) == "<hardsim.LanguageAutomaton: 4 states, 2 letters, over 0 1>"
    drawn = found.to_dot()
    assert "init -> 1;" in drawn
    assert '3 -> 4 [label="0"];' in drawn
    assert drawn.count("doublecircle") == 3
    assert hardsim.load("a S b", alphabet="a b c d").automaton().letters == ("a", "b", "any other")
    sets = hardsim.load("F p", props="p q", at="first").automaton()
    assert (sets.accepts([set(), {"p", "q"}]), sets.accepts("{q}"), sets.count(2)) == (True, False, 12)
    for number, (automaton, source) in enumerate(
        [(found, hardsim.load("tomita_4")), (sets, hardsim.load("O p", props="p q"))]
    ):
        path = written(tmp_path / f"{number}.dot", automaton.to_dot())
        assert hardsim.equivalent(path, source).proved
    assert hardsim.load("O a", alphabet="a b", at="first").automaton().count(2) == 2
    assert hardsim.load("O a", alphabet="a b").automaton(at="first").count(2) == 2
    assert hardsim.load("flipflop.re").automaton().accepts("w0r0")


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda: hardsim.load("majority").automaton(), hardsim.NoAutomaton, "compares counts"),
        (lambda: hardsim.load("dyck1.cr").classify(), hardsim.NoAutomaton, "compares counts"),
        (lambda: hardsim.load("sort.srasp").automaton(), InputError, "against=FILE"),
        (lambda: hardsim.load("since").automaton(at="middle"), InputError, "at must be first or last"),  # type: ignore[arg-type]
        (lambda: hardsim.load("since").automaton().count(0), InputError, "n: 0 is out of range"),
        (lambda: hardsim.load("since").automaton().words("x"), TypeError, "n must be an integer"),  # type: ignore[arg-type]
        (lambda: hardsim.load("since").automaton().accepts("d"), SourceError, "not a symbol of the alphabet"),
        (lambda: hardsim.load("since").automaton().accepts(""), SourceError, "empty word"),
        (lambda: hardsim.load("since").classify(against="last"), InputError, "itself says which words"),
        (lambda: hardsim.equivalent("since", "last"), InputError, "different alphabets"),
        (lambda: hardsim.equivalent("since", "nosuch.ltl"), InputError, "nosuch.ltl"),
    ],
)
def test_languages_that_are_refused(wrong: Callable[[], Any], kind: type[Exception], message: str) -> None:
    raised(kind, wrong, match=message)


def test_too_large_an_automaton_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.lang.automata.of_formula.MAX_STATES", 3)
    formula = hardsim.load("O(a & Y(b & Y(a & Y(b & Y a))))", alphabet="a b")
    raised(hardsim.NoAutomaton, formula.automaton, match="too large")
    raised(hardsim.NoAutomaton, formula.classify, match="too large")


def test_classify_is_the_command(command: Command) -> None:
    found = hardsim.load("tomita_4").classify()
    assert found.to_dict() == command("classify", "tomita_4")
    assert (found["star-free"].holds, found["DA"].holds) == (True, False)
    assert "arXiv:2310.13897" in found["star-free"].citation
    witness = found["DA"].witness
    assert witness is not None
    assert "".join(witness.word(2)) == "0101"
    assert repr(found) == "<ClassifyResult tomita_4: star-free>"
    program = hardsim.load("flipflop.srasp").classify(against="flipflop.re")
    assert program.to_dict() == command("classify", "flipflop.srasp", "--against", "flipflop.re")
    at_first = hardsim.load("O a", alphabet="a b").classify(at="first")
    assert [one.name for one in at_first.smallest] == ["R-trivial"]


def test_equivalent_compares_whatever_can_be_opened() -> None:
    found = hardsim.equivalent("since", "b | a & Y(a S b)")
    assert (found.same, found.proved, found.word) == (True, True, None)
    different = hardsim.equivalent(hardsim.load("since"), "O b")
    assert (different.same, different.proved, different.word) == (False, False, ("b", "c"))
    assert hardsim.equivalent("O b", SHIPPED / "since.ltl").word == ("b", "c")
    assert hardsim.equivalent("O a", "H a", alphabet="a b").word == ("a", "b")
    assert hardsim.equivalent("O p", "p | Y O p", props="p q").proved
    assert hardsim.equivalent("tomita_4", "tomita_4.re").proved
    counting = hardsim.equivalent("majority", "majority", max_n=3)
    assert (counting.same, counting.proved) == (True, False)


# ---- the package ----


def test_everything_is_in_the_package(since: Model) -> None:
    names: dict[str, Any] = {}
    exec("from hardsim import *", names)
    assert names.keys() - {"__builtins__"} == set(hardsim.__all__) == {*api.__all__, "__version__"}
    assert set(hardsim.__all__) == set(dir(hardsim))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hardsim.nothing  # type: ignore[attr-defined]  # noqa: B018  (there is none: that is asked)


@pytest.mark.slow
def test_types_are_known(since: Model) -> None:
    assert_type(since.check(max_n=1).verdict, hardsim.Verdict)
    assert_type(since.prove(max_n=1), hardsim.ProofResult)
    assert_type(since.eval("a")[0], Evaluation)
    assert_type(since.bound(max_n=1), hardsim.BoundResult)
    assert_type(since.bound(max_n=1, critical=True), hardsim.CriticalResult)
    assert_type(since.words()[0], tuple[str, ...])
    assert_type(since.compile(), Model)


def test_the_tour_of_the_module_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SHIPPED, tmp_path / "formulas")
    monkeypatch.chdir(tmp_path)
    tour = "".join(line[4:] + "\n" for line in (api.__doc__ or "").splitlines() if line.startswith("    "))
    exec(compile(tour, "hardsim/api.py", "exec"), {})
    page = (SHIPPED.parent / "docs" / "python.md").read_text("utf-8")
    assert all(f".{method}(" in tour and f".{method}(" in page for method in METHODS)


@pytest.mark.parametrize("name", ["torch-layer", "gpt2"])
def test_a_network_that_is_read_anew_is_saved_as_it_is_read(tmp_path: Path, name: str) -> None:
    """A folder cannot store this readout, and must not silently become another network; network JSON stores it, also
    when saved again.
    """
    model = hardsim.load(DATA / name).read_as(at="first")
    error = raised(
        hardsim.InputError, model.save, tmp_path / "folder", match="read differently from its folder's settings"
    )
    assert ".json" in error.hint
    assert not (tmp_path / "folder").exists()
    places: tuple[JudgedAt, ...] = "last", "each", "first"
    for number, at in enumerate(places):
        model = model.read_as(at=at)
        model.save(tmp_path / f"{number}.json")
        model = hardsim.load(tmp_path / f"{number}.json")
        assert json.loads(model.to_json())["at"] == at
    hardsim.load(DATA / name).save(tmp_path / "folder")
