"""Nothing is cut, wrapped or read as markup."""

from __future__ import annotations

import io

import pytest

from hardsim.report.screen import Column, Screen


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
    screen.table((Column(text), Column("fold", "left", fold=True)), [(text, text)])
    assert target.getvalue().count(text) == 5


def test_a_table_is_as_wide_as_it_needs() -> None:
    target = io.StringIO()
    word = "ab" * 300
    Screen(target).table((Column("n"), Column("word", "left"), Column("why", "left", fold=True)), [("1", word, "x y")])
    assert target.getvalue().splitlines()[-1] == f"1   {word}   x y"


def test_on_a_narrow_terminal_only_folding_columns_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    target = Terminal()
    Screen(target).table((Column("word"), Column("why", "left", fold=True)), [("a" * 50, "some words that fold")])
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
    screen.table((Column("c"),), [("d",)])
    screen.flush()
    assert target.getvalue() == ""
