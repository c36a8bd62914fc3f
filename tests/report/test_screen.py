"""Numbers and words as text; nothing is cut, wrapped or read as markup."""

from __future__ import annotations

import io
from fractions import Fraction

import pytest

from hardsim.report import numbers
from hardsim.report.screen import Field, Screen


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (Fraction(0), "0"),
        (Fraction(1), "1"),
        (Fraction(1, 3), "0.333"),
        (Fraction(-2, 3), "-0.667"),
        (Fraction(1, 4), "0.25"),
        (Fraction(12345), "12300"),
        (Fraction(123456), "1.23e5"),
        (Fraction(1, 10**4), "0.0001"),
        (Fraction(1, 10**5), "1e-5"),
        (Fraction(-25, 10**31), "-2.5e-30"),
        (Fraction(1, 10**20_000), "1e-20000"),
        (Fraction(-(10**5000), 3), "-3.33e4999"),
        (Fraction(1, 2**10_000_000), "1.1e-3010300"),  # 10^7 log10(2) = 3010300 - 0.0433602; 10^0.0433602 = 1.10499
    ],
)
def test_short(value: Fraction | None, text: str) -> None:
    assert numbers.short(value) == text


def test_an_output_next_to_0_or_1_never_looks_like_it() -> None:
    tiny = Fraction(1, 10**30)
    assert numbers.output_text(Fraction(1)) == "1"
    assert numbers.output_text(1 - tiny) == "1 - 1e-30"
    assert numbers.output_text(1 + tiny) == "1 + 1e-30"
    assert numbers.output_text(tiny) == "1e-30"
    assert numbers.output_text(Fraction(1, 2)) == "0.5"


def test_decimals_have_twenty_digits_and_rationals_are_exact() -> None:
    assert numbers.decimal(None) is None
    assert numbers.decimal(Fraction(0)) == "0"
    assert numbers.decimal(Fraction(2, 3)) == "0.66666666666666666667"
    assert numbers.decimal(Fraction(1, 3 * 10**30)) == "3.3333333333333333333E-31"
    assert numbers.rational(None) is None
    assert numbers.rational(Fraction(6, 4)) == "3/2"
    assert numbers.rational(4) == "4"


def test_counts() -> None:
    assert numbers.count(999_999_999) == "999,999,999"
    assert numbers.count(10**9) == "about 10^9"
    assert numbers.count(5**100_000) == "about 10^69897"  # 100000 log10(5) = 69897.0004
    assert numbers.digits(10**5000) == "1" + "0" * 5000
    assert numbers.plural(1, "word") == "1 word"
    assert numbers.plural(0, "word") == "0 words"


def test_words_and_answers() -> None:
    assert numbers.word_text(("a", "b"), ("a", "b")) == "ab"
    assert numbers.word_text(("a", "b"), ("a", "b", "cc")) == "a b"
    answers = [numbers.answer_text(answer, "ab") for answer in (True, False, None)]
    assert answers == ["accept", "reject", "undecided"]
    assert numbers.answer_text(("a", None, "b"), "ab") == "a?b"
    assert numbers.answer_text(("aa", "b"), ("aa", "b")) == "aa b"
    assert numbers.answer_text((), "ab") == "(empty)"


# ---- the screen ----


class Terminal(io.StringIO):
    """A stream on which somebody looks."""

    def isatty(self) -> bool:
        """Yes."""
        return True


TRICKY = ["#L[b] > 0", "[/b]", "[bold]a[/bold]", ":smile:", "https://example.org", "1.5e-7"]


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
@pytest.mark.parametrize("text", TRICKY)
def test_user_text_is_shown_as_it_is(stream: type[io.StringIO], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    target = stream()
    screen = Screen(target)
    screen.raw(text)
    screen.line(text)
    screen.table((Field(text), Field("fold", "left", fold=True)), [(text, text)])
    assert target.getvalue().count(text) == 5


def test_a_table_is_as_wide_as_it_needs() -> None:
    target = io.StringIO()
    word = "ab" * 300
    Screen(target).table((Field("n"), Field("word", "left"), Field("why", "left", fold=True)), [("1", word, "x y")])
    assert target.getvalue().splitlines()[-1] == f"1   {word}   x y"


def test_on_a_narrow_terminal_only_folding_columns_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    target = Terminal()
    Screen(target).table((Field("word"), Field("why", "left", fold=True)), [("a" * 50, "some words that fold")])
    lines = target.getvalue().splitlines()
    assert any("a" * 50 in line for line in lines)
    assert not any("some words that fold" in line for line in lines)
    assert "…" not in target.getvalue()


def test_lines_are_not_wrapped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    target = Terminal()
    Screen(target).line(("VERDICT", "bold green"), " word" * 40)
    assert target.getvalue().count("\n") == 1
    assert "\x1b[1;32mVERDICT" in target.getvalue()


def test_a_disabled_screen_is_silent() -> None:
    target = io.StringIO()
    screen = Screen(target, enabled=False)
    screen.raw("a")
    screen.line("b")
    screen.table((Field("c"),), [("d",)])
    screen.flush()
    assert target.getvalue() == ""
