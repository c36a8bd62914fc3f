"""Tests of `eval`, `words`, `show`, `compile` and `examples`."""

import hashlib
import json
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hardsim.lang.automata.of_formula import automaton_of_formula
from tests.cli.conftest import written
from tests.support.documents import exact
from tests.support.language import InvariantError, parse_text

# ---- eval ----


def test_eval_with_a_mismatch_is_exit_code_1(hardsim: Any, since: Path) -> None:
    # Both positions of bc satisfy !a | b, the logits differ by beta/(2n) = 1, so b has weight 1/(1 + e) = 0.269 > 1/4.
    outcome = hardsim("eval", since, "b", "bc", "--regime", "none").exits(1).says("1 of 2 words mismatch")
    assert [line.split()[0] for line in outcome.out.splitlines()[-2:]] == ["yes", "NO"]


def test_eval_reads_words_from_standard_input(hardsim: Any, since: Path) -> None:
    outcome = hardsim("eval", since, "-", "--json", "-", stdin=b"\xef\xbb\xbfab\r\nbc\n")
    assert [word["word"] for word in outcome.result["words"]] == [["a", "b"], ["b", "c"]]


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (b"", "<stdin> has no word"),
        (b"ab\n\nb\n", "<stdin>:2:1: error: the empty word is not allowed"),
        (b"ab\nax\n", "<stdin>:2:2: error: 'x' is not a symbol of the alphabet"),
        (b"ab\n\xff\n", "<stdin>: not UTF-8 at byte 3"),
    ],
)
def test_eval_refuses_bad_standard_input(hardsim: Any, since: Path, stdin: bytes, message: str) -> None:
    hardsim("eval", since, "-", stdin=stdin).refused(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "no word to evaluate after"), ([""], "<word>:1:1: error: the empty word"), (["ab", "ad"], "<word 2>:1:2: ")],
)
def test_eval_refuses_bad_words(hardsim: Any, since: Path, words: list[str], message: str) -> None:
    hardsim("eval", since, *words).refused(message)


def test_eval_takes_words_that_start_with_a_minus(hardsim: Any) -> None:
    expression = ("eval", "-e", "'-'", "--alphabet", "- +")
    assert hardsim(*expression, "-+").code == 2
    outcome = hardsim(*expression, "--json", "-", "--", "-+", "+-").exits(0)
    assert [word["soft"] for word in outcome.result["words"]] == [False, True]


def test_eval_in_all_regimes(hardsim: Any, since: Path) -> None:
    assert len(hardsim("eval", since, "ab", "--regime", "all", "--json", "-").json["results"]) == 4


# ---- words ----


def test_words_by_soft_are_exactly_1(hardsim: Any, since: Path) -> None:
    outcome = hardsim("words", since, "--max-n", "2", "--by", "soft", "--regime", "none")
    assert "bc" not in outcome.out.split()  # neither 0 nor 1 there


def test_words_have_headings_where_there_are_several(hardsim: Any, since: Path, future: Path) -> None:
    outcome = hardsim("words", future, since, "--max-n", "1")
    assert outcome.out.splitlines() == [f"# {future}, temperature", "b", f"# {since}, temperature", "b"]


def test_words_are_not_lossy_in_json(hardsim: Any) -> None:
    expression = ("words", "-e", "bc", "--alphabet", "bc b", "--max-n", "2")
    assert hardsim(*expression).out.splitlines() == ["bc", "bc bc", "b bc"]
    result = hardsim(*expression, "--json", "-").result
    assert result["accepted"] == [["bc"], ["bc", "bc"], ["b", "bc"]]
    assert result["tried"] == 2 + 4


def test_words_refuses_more_than_its_budget(hardsim: Any, since: Path) -> None:
    # 3 + 9 + 27 + 81 = 120
    for arguments in ((since, "--by", "hard"), ("-e", "#L[a] = #L[b]", "--alphabet", "a b c")):
        outcome = hardsim("words", *arguments, "--max-n", "4", "--exhaustive", "119")
        outcome.refused("are 120 words, and at most 119 are tried", "--exhaustive 120")
        assert hardsim("words", *arguments, "--max-n", "4", "--exhaustive", "120").code == 0
    assert "since hardsim makes no automaton of '#L[a] = #L[b]'" in outcome.err
    # 100000 log10(3) + log10(3/2) = 47712.3
    hardsim("words", since, "--by", "hard", "--max-n", "100000").exits(2).says("about 10^47712 words")


def test_words_of_a_formula_are_listed_from_its_automaton(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a* b a*: n words of length n, 1 + 2 + ... + 40 = 820 together; the first of length 40 is a...ab.
    sparse = ("words", "-e", "O(b & WY H a) & H(b -> WY H a)", "--alphabet", "a b", "--max-n", "40")
    result = hardsim(*sparse, "--json", "-").exits(0).result
    assert (len(result["accepted"]), result["tried"]) == (820, 820)
    assert result["accepted"][780] == ["a"] * 39 + ["b"]
    # Where all words may be tried, they are, and the words are the same: 2 + 4 + 8 + 16 = 30.
    tried = hardsim(*sparse[:-1], "4", "--json", "-").result
    listed = hardsim(*sparse[:-1], "4", "--exhaustive", "10", "--json", "-").result
    assert tried["accepted"] == listed["accepted"]
    assert (tried["tried"], listed["tried"]) == (30, 10)
    hardsim(*sparse, "--exhaustive", "819").refused("820 words to length 40, and at most 819 are listed")
    # a S b accepts a third of all words, those that end in b, and more.
    hardsim("words", since, "--max-n", "100000").exits(2).says("are listed", "--max-n below")
    # An automaton that differs from the semantics answers nothing.
    wrong = automaton_of_formula(parse_text("alphabet: a b c\na T b\n", "<text>"))
    monkeypatch.setattr("hardsim.targets.semantics.automaton_of_formula", lambda file: wrong)
    hardsim("words", since, "--max-n", "40").exits(4).says("its automaton and its semantics differ on ab")


# ---- show ----


@pytest.mark.parametrize(
    ("formula", "meaning"),
    [
        ("O a", "true S [a]"),
        ("F a", "true U [a]"),
        ("H a", "not (true S ![a])"),
        ("(a & Y b) S a", "([a] & (Y [b])) S [a]"),
        ("(a & #L[b] > 1) S a", "([a] & (#L[b] - 2 >= 0)) S [a]"),
        ("(a & Y b) S (b | first)", "([a] & (Y [b])) S !and7"),
    ],
)
def test_a_meaning_has_both_operands(hardsim: Any, formula: str, meaning: str) -> None:
    core = hardsim("show", "-e", formula, "--alphabet", "a b c", "--json", "-").result["core"]
    assert meaning in [one["meaning"] for one in core]


def test_show_describes_the_network(hardsim: Any, since: Path) -> None:
    result = hardsim("show", since, "--max-n", "16", "--json", "-").result
    (head,) = result["layers"][0]["heads"]
    # The declared gap of this regime is 1/(2n).
    assert [(bound["n"], exact(bound["score_gap"])) for bound in head["bounds"]] == [
        (8, Fraction(1, 16)),
        (16, Fraction(1, 32)),
    ]
    assert result["model"]["layers"] == len(result["layers"])


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        ("[n=3]", "the temperature [n = 3] is 0 at i = 2, n = 2"),
        ("n-2", "the temperature n-2 is 0 at i = 2, n = 2"),
        ("1-n", "the temperature 1-n is -1 at i = 2, n = 2"),
        ("1/(n-2)", "division by zero in 1 / 0, at n = 2"),
        ("log(n/2)", "the temperature log(n/2) is 0 at i = 2, n = 2"),
    ],
)
def test_show_refuses_a_temperature_that_is_not_positive(hardsim: Any, since: Path, tau: str, message: str) -> None:
    assert message in hardsim("show", since, "--tau", tau, "--max-n", "2").exits(2).err


# ---- compile ----


def test_compile_writes_a_whole_file(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "since.model.json"
    target.parent.mkdir()
    hardsim("compile", since, "-o", target, "--json", tmp_path / "report.json").clean()
    assert [path.name for path in target.parent.iterdir()] == ["since.model.json"]
    assert stat.S_IMODE(target.stat().st_mode) & stat.S_IRUSR
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["results"][0]["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()
    assert hardsim("compile", since, "-o", "-").out == target.read_text(encoding="utf-8")
    assert hardsim("eval", target, "ab").code == 0


def test_a_failed_compile_leaves_the_old_file(
    hardsim: Any, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = written(tmp_path / "keep.model.json", "old")

    monkeypatch.setattr("hardsim.targets.stored.store_text", Mock(side_effect=InvariantError("no text")))
    assert hardsim("compile", since, "-o", target).code == 4
    assert target.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep.model.json", "since.ltl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nowhere to write the network"),
        (["-o", "-", "--json", "-"], "both write to standard output"),
        (["-o", "-", "--regime", "all"], "one file holds one network"),
    ],
)
def test_compile_refuses(hardsim: Any, since: Path, arguments: list[str], message: str) -> None:
    hardsim("compile", since, *arguments).refused(message)


# ---- examples ----


def test_examples_are_listed_and_printed(hardsim: Any, tmp_path: Path) -> None:
    listed = hardsim("examples").exits(0)
    names = [result["name"] for result in hardsim("examples", "--json", "-").json["results"]]
    assert {"since", "flipflop"} <= set(names)
    assert [line.split()[0] for line in listed.out.splitlines()[2:] if line[0] != " "] == names
    printed = hardsim("examples", "since")
    (tmp_path / "copy.ltl").write_text(printed.out, encoding="utf-8")
    assert hardsim("check", tmp_path / "copy.ltl", "--max-n", "2").code == 0
    assert hardsim("examples", "since.ltl", "--json", "-").result["text"] == printed.out


def test_an_unknown_example_is_bad_input(hardsim: Any) -> None:
    hardsim("examples", "flipflap").refused("did you mean flipflop?")
    (error,) = hardsim("examples", "flipflap", "--json", "-").json["errors"]
    assert (error["input"], error["exit_code"]) == ("flipflap", 2)


def test_show_names_the_temperature_that_the_network_has(hardsim: Any) -> None:
    assert "here at temperature" not in hardsim("show", "since").out
    assert "here at temperature 1/(2*n)" in " ".join(hardsim("show", "since", "--tau", "1/(2*n)").out.split())


@pytest.mark.parametrize(
    ("name", "temporal", "counting"),
    [
        ("since", 1, 0),
        ("dyck1.cr", 0, 2),  # a count of the positions where two counts compare
        ("bigrams.cr", 0, 2),  # a count of b after a count of a; the formula for it has Y instead
        ("majority.ltl", 0, 1),
    ],
)
def test_show_has_the_nesting_depth(hardsim: Any, name: str, temporal: int, counting: int) -> None:
    path = name if "." not in name else str(Path("formulas", name).absolute())
    outcome = hardsim("show", path).exits(0)
    outcome.prints(f"{temporal} of temporal operators, {counting} of counts; the network has ")
    result = hardsim("show", path, "--json", "-").result
    assert (result["temporal_depth"], result["counting_depth"]) == (temporal, counting)


def test_show_has_no_nesting_depth_of_a_network_without_a_formula(hardsim: Any, tmp_path: Path) -> None:
    path = Path("formulas", "flipflop.ahat.json").absolute()
    result = hardsim("show", path, "--json", "-").exits(0).result
    assert (result["temporal_depth"], result["counting_depth"]) == (None, None)
