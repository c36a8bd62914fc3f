"""Tests of excessive numbers and sizes: each is refused at once with the limit, or announced before it takes long."""

import io
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.campaign.words import count_words_upto
from hardsim.cli import estimate, eval
from hardsim.lang.desugar import MOST_OPERATORS
from hardsim.lang.words import LARGEST_ALPHABET, count_words
from tests.cli.conftest import written
from tests.support.language import desugar, formulas_directory
from tests.support.sources import load


@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 10**12))
def test_numbers_of_words_up_to_a_limit(k: int, n: int, most: int) -> None:
    assert count_words_upto(k, n, most) == min(k**n, most) == min(count_words(k, n), most)


def test_words_of_a_line_each_take_memory_of_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """If each word's text contained the lines before it, 10,000 lines would take 50 MB, and ten times as many 5 GB."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n" * 10_000)))
    tracemalloc.start()
    words = eval._texts(["-"], ["x.ltl"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(words) == 10_000
    assert peak < 5_000_000


@pytest.mark.parametrize("number", [1, 7, 500])
def test_a_wrong_word_is_cited_with_its_line(hardsim: Any, since: Path, number: int) -> None:
    outcome = hardsim("eval", since, "-", stdin=b"ab\n" * (number - 1) + b"a x\nab\n").refused()
    assert outcome.err.startswith(f"<stdin>:{number}:3: error: 'x' is not a symbol of the alphabet\n  a x\n    ^\n")


@pytest.mark.parametrize("formula", ["MOD(1000000000, 1) & a", "#[a] mod 1000000000 = 1", "EVEN & MOD(999999937, 3)"])
def test_a_large_modulus_is_one_node(hardsim: Any, tmp_path: Path, formula: str) -> None:
    path = written(tmp_path / "large.ltl", f"alphabet: a b\n{formula}\n")
    assert len(desugar(load(path)).nodes) <= 6
    codes = [hardsim(command, path, "--max-n", "2").code for command in ("check", "prove", "words", "bound")]
    codes += [hardsim("show", path).code, hardsim("eval", path, "ab").code]
    assert codes == [0] * 6


def test_a_formula_may_be_too_large(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.ltl"
    for number, code in ((MOST_OPERATORS // 50, 0), (MOST_OPERATORS + 1, 2)):
        text = " & ".join(f"(#[a] >= {k})" for k in range(2, number + 2))
        path.write_text(f"alphabet: a b\n{text}\n", encoding="utf-8")
        outcome = hardsim("show", path).exits(code)
    assert f"this formula has {MOST_OPERATORS + 1:,} distinct" in outcome.err
    assert outcome.err.startswith(f"{path}:2:")


def test_an_alphabet_may_be_too_large(hardsim: Any, tmp_path: Path) -> None:
    symbols = [f"s{k}" for k in range(LARGEST_ALPHABET + 1)]
    for suffix, rest in ((".ltl", "F s1"), (".srasp", "x(i) := Q_s1(i)")):
        path = written(tmp_path / f"large{suffix}", f"alphabet: {' '.join(symbols)}\n{rest}\n")
        hardsim("show", path).exits(2).says("the alphabet has more than 10,000 symbols")
    outcome = hardsim("words", "-e", "F s1", "--alphabet", " ".join(symbols), "--max-n", "1")
    outcome.exits(2).says("the alphabet has 10,001 symbols")


@pytest.mark.parametrize("command", ["check", "bound"])
@pytest.mark.parametrize(
    "options",
    [("--max-n", "100000"), ("--max-n", "20", "--samples", "1000000"), ("--exhaustive", "1000000000", "--max-n", "30")],
)
def test_a_model_is_not_measured_on_more_words_than_there_is_room_for(
    hardsim: Any, command: str, options: tuple[str, ...]
) -> None:
    outcome = hardsim(command, formulas_directory() / "flipflop.ahat.json", *options)
    outcome.refused("symbols in all: no run keeps more")


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", ["flipflop.srasp", "flipflop.ahat.json", "since.ltl"])
@pytest.mark.parametrize("tau", ["1/n^400", "1/" + "7" * 999])
def test_very_small_temperatures_have_a_verdict(hardsim: Any, name: str, tau: str) -> None:
    for command in ("check",) if name == "since.ltl" else ("check", "prove"):
        assert hardsim(command, formulas_directory() / name, "--max-n", "2", "--tau", tau).code in (0, 2, 3)


def _with_example(directory: Path, word: str) -> Path:
    document = json.loads((formulas_directory() / "dyck1_uniform.ahat.json").read_text(encoding="utf-8"))
    return written(directory / "long.ahat.json", json.dumps(document | {"examples": {"accept": [word]}}))


def test_an_example_beyond_memory_is_refused_before_it_is_judged(hardsim: Any, tmp_path: Path) -> None:
    """Exact means over 1 to n have the denominator lcm(1..n) of n log2(e) bits at each of n positions: 2 GB here."""
    hardsim("show", _with_example(tmp_path, "()" * 50_000)).refused("MiB for each coordinate\n  Give shorter words.\n")


def test_a_wrong_example_is_not_repeated_without_end(hardsim: Any, tmp_path: Path) -> None:
    outcome = hardsim("show", _with_example(tmp_path, "(" * 500))
    outcome.refused("(500 characters), which is listed as accepted").unsaid("(" * 100)


def test_reading_that_takes_long_is_announced(hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _with_example(tmp_path, "()" * 500)

    class Late:
        """A timer that fires at once."""

        def __init__(self, _seconds: float, say: Callable[[str], None], what: list[str]) -> None:
            self.start = lambda: say(*what)

        def cancel(self) -> None: ...

    monkeypatch.setattr(estimate, "threading", SimpleNamespace(Timer=Late))
    hardsim("show", path).exits(0).says("note: ", "reading it takes long")


@pytest.mark.parametrize(
    ("tau", "where"), [("1/n^5000", "is less than 2^-4096 at i = "), ("2^1024", "is more than 2^1023 at i = ")]
)
@pytest.mark.parametrize("name", ["flipflop.srasp", "flipflop.ahat.json", "parity.ltl"])
def test_temperatures_out_of_range(hardsim: Any, name: str, tau: str, where: str) -> None:
    for command in ("check", "prove"):
        hardsim(command, formulas_directory() / name, "--max-n", "3", "--tau", tau).exits(2).says(where)


# ---- deep formulas ----


@pytest.mark.slow
def test_a_deep_formula_is_used_by_every_command(hardsim: Any, tmp_path: Path) -> None:
    """5,000 negations of a are a: half of all words end in it."""
    path = written(tmp_path / "deep.ltl", "alphabet: a b\n" + "!" * 5000 + "a\n")
    plain = written(tmp_path / "plain.ltl", "alphabet: a b\na\n")
    assert hardsim("words", path, "--max-n", "2").clean().out.split() == ["a", "aa", "ba"]
    hardsim("equiv", path, plain, "--max-n", "4").exits(0)
    hardsim("eval", path, "ba", "ab", "--json", tmp_path / "found.json").exits(0)
    document = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [word["oracle"] for word in document["results"][0]["words"]] == [True, False]
    for command in (("check", path, "--max-n", "3"), ("prove", path, "--max-n", "3"), ("show", path)):
        hardsim(*command).exits(0)
    hardsim("compile", path, "-o", tmp_path / "deep.model.json").exits(0)
    hardsim("check", tmp_path / "deep.model.json", "--max-n", "3").exits(0)


def test_what_is_too_deep_is_refused_with_its_place(hardsim: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "deep.ltl", "alphabet: a b\n" + "!" * 5001 + "a\n")
    hardsim("eval", path, "ab").refused("deep.ltl:2:5001: error: nesting beyond 5000 levels")


@pytest.mark.slow
def test_of_what_is_too_large_the_semantics_answers(hardsim: Any, tmp_path: Path) -> None:
    """1,500 strong nexts require as many later positions, which no word here has, so only `first` can hold.

    The last position is first in words of one symbol; with --at first the requested position counts.
    """
    path = written(tmp_path / "deep.ltl", "alphabet: a b\n" + "(a & X" * 1500 + " a" + ")" * 1500 + " | first\n")
    for options, answer in ((), "reject"), (("--at", "first"), "accept"):
        outcome = hardsim("eval", path, "ab", *options)
        outcome.exits(2, "semantics alone", f"{answer}").says("at most 1,000 are compiled")
    assert hardsim("words", path, "--max-n", "2", "--by", "oracle").exits(0).out.split() == ["a", "b"]
    hardsim("check", path).refused("at most 1,000 are compiled")
