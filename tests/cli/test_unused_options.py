"""Tests of remarks that name each option that changes nothing, with the reason, before any work begins."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import hardsim as package
from hardsim.errors import Remark
from tests.cli.conftest import Cli, written
from tests.support.language import formulas_directory

NETWORK = formulas_directory() / "networks" / "majority.spec"
FILES = {
    "formula": "alphabet: a b c\na S b\n",
    "regex": "alphabet: a b c\n(a|b)*b\n",
    "other regex": "alphabet: a b c\n(b|a)*b\n",
}
SHIPPED = {"program": "dyck1.srasp", "model": "flipflop.ahat.json", "network": str(NETWORK)}
DRAWN = "none is drawn at random"
NO_PROOF = "covers all shorter prefixes, and tries no words"
SEMANTICS = "--by oracle asks the semantics, not a network"
CASES: list[tuple[str, str, Sequence[str], Sequence[str], str]] = [
    # command, input, other options, the options that change nothing, the reason
    ("check", "formula", ("--max-n", "3"), ("--seed", "7"), DRAWN),
    ("check", "formula", ("--max-n", "3"), ("--samples", "7"), DRAWN),
    ("check", "formula", ("--max-n", "2"), ("--counting", "sign"), "compares no counts"),
    ("check", "formula", ("--max-n", "2", "--engine", "float64"), ("--dps", "40"), "fixed number of digits"),
    ("check", "formula", ("--max-n", "2", "--quiet", "--json", "-"), ("--tables",), "--quiet prints verdicts alone"),
    ("check", "formula", ("--max-n", "2", "--format", "junit"), ("--tables",), "standard output has no tables"),
    ("check", "formula", ("--max-n", "2", "--no-tables"), ("--all-lengths",), "no rows are printed"),
    ("check", "formula", ("--max-n", "2"), ("--props", "auto"), "the file declares its own symbols"),
    ("check", "formula", ("--max-n", "2"), ("--epsilon", "1/9"), "for hard-attention models and programs"),
    ("check", "formula", ("--max-n", "2"), ("--dialect", "weak-next"), "no bare X"),
    ("check", "formula", ("--max-n", "2"), ("--soft-words", "all"), "softmax runs on every word"),
    ("check", "program", ("--max-n", "2"), ("--beta", "5"), "for formulas"),
    ("check", "model", ("--max-n", "2"), ("--regime", "position"), "for formulas"),
    ("check", "model", ("--max-n", "2"), ("--single-head",), "for formulas"),
    ("check", "network", ("--max-n", "3"), ("--seed", "5"), DRAWN),
    ("prove", "formula", ("--max-n", "2"), ("--engine", "ball"), "a proof is one process"),
    ("prove", "formula", ("--max-n", "2"), ("--workers", "2"), "a proof is one process"),
    ("prove", "program", ("--max-n", "2"), ("--heads-only",), "no formula is compared"),
    ("prove", "network", ("--max-n", "3"), ("--min-n", "2"), NO_PROOF),
    ("prove", "network", ("--max-n", "2"), ("--search", "5"), NO_PROOF),
    ("prove", "network", ("--max-n", "2"), ("--workers", "2"), "unless the network has several layers"),
    ("words", "formula", ("--max-n", "2"), ("--beta", "5"), SEMANTICS),
    ("words", "formula", ("--max-n", "2"), ("--regime", "none"), SEMANTICS),
    ("words", "formula", ("--max-n", "2"), ("--engine", "ball"), SEMANTICS),
    ("words", "formula", ("--max-n", "2", "--by", "hard"), ("--beta", "5"), "hard attention has no temperature"),
    ("words", "program", ("--max-n", "2"), ("--tau", "1/(9*n)"), SEMANTICS),
    ("words", "regex", ("--max-n", "2"), ("--beta", "5"), "for networks and formulas"),
    ("show", "program", (), ("--max-n", "5"), "no part of the output depends on a length"),
    ("show", "network", (), ("--max-n", "5"), "no part of the output depends on a length"),
    ("compile", "formula", ("-o", "{}/made.json"), ("--max-n", "5"), "of every length"),
    ("compile", "program", ("-o", "{}/made.json", "--hard"), ("--max-n", "5"), "of every length"),
    ("bound", "formula", ("--max-n", "2"), ("--dps", "40"), "the number of bits"),
    ("bound", "formula", ("--max-n", "2"), ("--seed", "4"), DRAWN),
    ("bound", "formula", ("--max-n", "2", "--gap"), ("--beta", "5"), "score gaps depend on no temperature"),
    ("bound", "formula", ("--max-n", "1", "--critical"), ("--exhaustive", "9"), "found by the prover"),
    ("heads", "network", ("--max-n", "2"), ("--seed", "4"), DRAWN),
]


def place(kind: str, tmp_path: Path) -> str:
    """Return a file of a given kind."""
    if kind in SHIPPED:
        return SHIPPED[kind]
    return str(written(tmp_path / f"{kind.replace(' ', '_')}.{'re' if 'regex' in kind else 'ltl'}", FILES[kind]))


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize(("command", "kind", "rest", "option", "reason"), CASES)
def test_an_option_that_changes_nothing_is_named(
    hardsim: Cli, tmp_path: Path, command: str, kind: str, rest: Sequence[str], option: Sequence[str], reason: str
) -> None:
    arguments = [command, place(kind, tmp_path), *(one.format(tmp_path) for one in rest)]
    plain, found = hardsim(*arguments), hardsim(*arguments, *option)
    quiet = "--quiet" in rest  # --quiet prints no such remark; the document has it
    message = found.out if quiet else found.err
    lines = [line for line in message.splitlines() if f"{' '.join(option)}: " in line or f"{option[0]}: " in line]
    assert any(reason in line for line in lines), message
    assert found.code == plain.code
    assert f"{option[0]}: not used" not in plain.err
    if not {"--json", "junit"} & {*rest}:
        assert found.out == plain.out  # the option changes nothing


@pytest.mark.parametrize("command", ["check", "prove", "show", "bound", "words", "compile"])
@pytest.mark.parametrize("option", [("--exponential", "fp16"), ("--weighting", "sparsemax")], ids=" ".join)
def test_heads_without_scores_have_plain_means(
    hardsim: Cli, tmp_path: Path, command: str, option: tuple[str, str]
) -> None:
    path, made = written(tmp_path / "some.ltl", "alphabet: a b\nO a\n"), tmp_path / "made.json"
    more = {"compile": ["-o", str(made)], "words": ["--by", "soft", "--max-n", "2"], "show": []}.get(
        command, ["--max-n", "2"]
    )
    remark = f"{option[0]}: not used; heads of regime 'layer-norm' have no scores, and take plain means"
    plain = hardsim(command, path, *more, "--regime", "layer-norm").exits(0).unsaid("not used")
    written_then = made.read_bytes() if command == "compile" else b""
    found = hardsim(command, path, *more, "--regime", "layer-norm", *option).exits(0).says(remark)
    assert found.out == plain.out
    assert command != "compile" or made.read_bytes() == written_then
    # Regime rounded has scores if exponentials are rounded.
    other = hardsim(command, path, *more, "--regime", "rounded", *option).exits(0)
    assert ("regime 'rounded' have no scores" in other.err) is (option[0] == "--weighting")
    hardsim(command, path, *more, "--regime", "causal-temperature", *option).exits(0).unsaid("have no scores")
    if command == "check":
        hardsim(command, path, *more, "--regime", "all", *option).exits(0).says(remark)


@pytest.mark.parametrize(
    ("command", "rest", "option"),
    [
        ("check", ("--max-n", "7", "--exhaustive", "20"), ("--seed", "7")),  # 3^7 words are more than 20
        ("check", ("--max-n", "7", "--exhaustive", "20"), ("--samples", "7")),
        ("check", ("--max-n", "2", "--engine", "mpmath"), ("--dps", "40")),
        ("check", ("--max-n", "2"), ("--tables",)),
        ("words", ("--max-n", "2", "--by", "soft"), ("--beta", "5")),
        ("words", ("--max-n", "2", "--by", "hard"), ("--regime", "position")),
        ("prove", ("--max-n", "2"), ("--heads-only",)),
        ("show", (), ("--max-n", "5")),
    ],
)
def test_an_option_that_is_used_is_not(
    hardsim: Cli, tmp_path: Path, command: str, rest: Sequence[str], option: Sequence[str]
) -> None:
    hardsim(command, place("formula", tmp_path), *rest, *option).exits(0).unsaid("not used")


def test_remarks_come_before_any_work(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remarks on all inputs come before work on the first input."""

    def never(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hardsim.cli.check.check_with_proof", never)
    formula = place("formula", tmp_path)
    found = hardsim("check", formula, "dyck1.srasp", str(NETWORK), "--beta", "5", "--max-n", "2").exits(130)
    found.says(
        "note: dyck1.srasp: --beta: not used; it is for formulas",
        f"note: {NETWORK}: --beta: not used; the option is for",
    )
    found.unsaid(f"note: {formula}: --beta")


def test_queries_of_a_proof_that_has_none_are_refused(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be proved")

    monkeypatch.setattr("hardsim.cli.prove.prove_network", never)
    found = hardsim("prove", NETWORK, "--smt", tmp_path / "proof", "--max-n", "2", "--all-n")
    found.refused(f"{NETWORK} is an external network: there are no queries of its proof", "Leave out --smt")
    assert list(tmp_path.iterdir()) == []


def test_two_regular_expressions_need_no_words(hardsim: Cli, tmp_path: Path) -> None:
    one, other = place("regex", tmp_path), place("other regex", tmp_path)
    for option in (("--max-n", "3"), ("--seed", "4"), ("--samples", "4"), ("--exhaustive", "9")):
        hardsim("equiv", one, other, *option).exits(0, "PROVED").says(f"{option[0]}: not used; the automata")
    hardsim("equiv", one, other, "--at", "first").exits(0).says("--at: not used; neither file is a formula")
    formula = place("formula", tmp_path)
    hardsim("equiv", formula, formula, "--seed", "4").says("--seed: not used; every word").exits(0)
    hardsim("equiv", formula, formula, "--max-n", "4").exits(0).unsaid("not used")


def test_python_warns_of_the_same(tmp_path: Path) -> None:
    since = package.load(place("formula", tmp_path))
    with pytest.warns(Remark, match="seed: not used; every word of these lengths is tried"):
        since.check(max_n=2, seed=7)
    with pytest.warns(Remark, match="counting: not used; the formula compares no counts"):
        since.prove(max_n=2, counting="sign")
    with pytest.warns(Remark, match='beta: not used; by="oracle" asks the semantics'):
        list(since.words(max_n=2, beta=5))
    with pytest.warns(Remark, match="heads_only: not used; no formula is compared"):
        package.load("dyck1.srasp").prove(max_n=2, heads_only=True)


def test_a_dialect_is_used_where_a_bare_next_stands(hardsim: Cli) -> None:
    given = ("check", "-e", "X a", "--alphabet", "a b", "--max-n", "2")
    assert "not used" not in hardsim(*given, "--dialect", "weak-next").err
