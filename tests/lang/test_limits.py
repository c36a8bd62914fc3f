"""Nesting, unreadable files, foreign symbols in words, and texts that are noise: one clear error each, quickly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.lang.ast import FormulaFile
from hardsim.lang.parse import load, parse_expression, parse_text, parse_word
from hardsim.lang.pretty import format_file
from hardsim.lang.vocabulary import RESERVED, SIGN_OPERATORS

DOUBLING = ["alphabet: a b", "let x0 = a", *(f"let x{k + 1} = x{k} & x{k}" for k in range(250))]


# ---- nesting ----


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("!" * 201 + "a", 201, "nesting beyond 200 levels"),
        ("!" * 100_000 + "a", 201, "nesting beyond 200 levels"),
        ("! " * 201 + "(a)", 401, "nesting beyond 200 levels"),
        ("a & " + "!" * 200 + "a", 204, "nesting beyond 200 levels"),
        ("(" * 201 + "a" + ")" * 201, 201, "brackets nested beyond 200 levels"),
        ("(" * 100_000, 201, "brackets nested beyond 200 levels"),
        ("#[" * 1000, 401, "brackets nested beyond 200 levels"),
        ("F(" * 1000 + "a" + ")" * 1000, 402, "brackets nested beyond 200 levels"),
        ("a U " * 201 + "a", 803, "nesting beyond 200 levels"),
        ("a -> " * 201 + "a", 1003, "nesting beyond 200 levels"),
        # sums group to the left: the deepest operator, one too deep, is the first; comparing adds a level
        ("1" + "+1" * 200 + " = pos", 2, "nesting beyond 200 levels"),
        ("-" * 10_000 + "1 = pos", 200, "nesting beyond 200 levels"),
    ],
)
def test_nesting(text: str, column: int, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_expression(text, "a b", "x")
    lines = str(caught.value).split("\n")
    assert lines[0] == f"x:1:{column}: error: {message}"
    assert lines[2].strip("^ ") == ""
    assert len(lines[1]) < 180


def test_nesting_after_expansion() -> None:
    parse_text("\n".join([*DOUBLING[:202], "x200"]))
    with pytest.raises(SourceError) as caught:
        parse_text("\n".join([*DOUBLING, "x0"]), "f")
    assert str(caught.value).startswith(
        "f:203:12: error: nesting beyond 200 levels: x200 has 200 levels, and 1 more are around it\n"
        "  let x201 = x200 & x200\n"
        "             ^^^^\n"
    )


def test_nesting_of_an_expanded_name_in_the_formula() -> None:
    with pytest.raises(SourceError) as caught:
        parse_text("\n".join([*DOUBLING[:152], "a | " + "!" * 50 + "x150"]), "f")
    first = str(caught.value).split("\n")[0]
    assert first == "f:153:55: error: nesting beyond 200 levels: x150 has 150 levels, and 51 more are around it"


# ---- files that cannot be read ----


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.ltl: no such file") as missing:
        load(tmp_path / "nowhere.ltl")
    assert missing.value.exit_code == 2
    with pytest.raises(InputError, match="is a directory, not a file"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"cannot be read: .*null"):
        load("a\0b")
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        load("a" * 5000)


def test_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "empty.ltl"
    for content in (b"", b"\xef\xbb\xbf", b" \r\n"):
        path.write_bytes(content)
        with pytest.raises(SourceError, match="the file is empty"):
            load(path)


def test_files_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.ltl"
    path.write_bytes("alphabet: a é\r\nF é\r\n".encode("latin-1"))
    with pytest.raises(SourceError) as caught:
        load(path)
    assert str(caught.value) == (
        f"{path}:1:13: error: not UTF-8: byte 0xe9 at offset 12\n"
        "  alphabet: a \ufffd\n"
        "              ^\n"
        "  expected: text in UTF-8\n"
        "  save the file as UTF-8"
    )
    path.write_bytes("\ufeffalphabet: a\nF é".encode() + b"\xc3")
    with pytest.raises(SourceError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2:4: error: not UTF-8: byte 0xc3 at offset 19\n  F é\ufffd\n     ^\n")
    path.write_bytes("alphabet: a\nF a".encode("utf-16"))
    with pytest.raises(SourceError) as caught:
        load(path)
    assert caught.value.hint == "save the file as UTF-8 (it looks like UTF-16)"


# ---- words ----


@pytest.mark.parametrize(
    ("text", "alphabet", "column", "carets", "message", "hint"),
    [
        ("abca", "a b", 3, 1, "'c' is not a symbol of the alphabet", ""),
        ("ab  ax", "a b", 6, 1, "'x' is not a symbol of the alphabet", ""),
        ("a,b", "a b", 2, 1, "',' is not a symbol of the alphabet", "words are separated by spaces alone"),
        ("", "a b", 1, 1, "the empty word is not allowed", "words are non-empty: positions are 1 to n"),
        (" ", "ab", 1, 1, "the empty word is not allowed", "words are non-empty: positions are 1 to n"),
        ("if iffi", "if fi", 4, 4, "'iffi' is not a symbol of the alphabet", "separate symbols by spaces: if fi"),
        ("if of", "if fi", 4, 2, "'of' is not a symbol of the alphabet", "separate symbols by spaces"),
    ],
)
def test_words_of_the_command_line(text: str, alphabet: str, column: int, carets: int, message: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_word(text, alphabet.split())
    lines = str(caught.value).split("\n")
    assert lines[0] == f"<word>:1:{column}: error: {message}"
    assert lines[2] == " " * (column + 1) + "^" * carets
    assert caught.value.hint == hint


# ---- how errors are shown ----


def test_long_lines_are_shown_in_part() -> None:
    text = "x" * 1000 + "?" + "y" * 1000
    lines = str(SourceError(Source("f", text), Span(1000, 1001), "m")).split("\n")
    assert lines[0] == "f:1:1001: error: m"
    assert lines[1] == f"  ...{'x' * 80}?{'y' * 79}..."
    assert lines[2] == " " * (2 + 3 + 80) + "^"


def test_both_ends_of_a_long_line() -> None:
    text = "?" + "y" * 200 + "!"
    first = str(SourceError(Source("f", text), Span(0, 1), "m")).split("\n")
    assert first[1:] == [f"  ?{'y' * 159}...", "  ^"]
    last = str(SourceError(Source("f", text), Span(201, 202), "m")).split("\n")
    assert last[1:] == [f"  ...{'y' * 159}!", " " * (2 + 3 + 159) + "^"]


def test_control_characters_are_not_printed() -> None:
    shown = str(SourceError(Source("f", "a\x1b[2J\tb\x00"), Span(6, 7), "m")).split("\n")[1:]
    assert shown == [r"  a\x1b[2J b\x00", " " * 11 + "^"]


# ---- noise ----

PIECES = st.sampled_from(
    [
        *sorted(RESERVED),
        *SIGN_OPERATORS,
        "a",
        "b",
        "x",
        "'a'",
        "'",
        "0",
        "12",
        "#L[",
        "#[",
        "[",
        "//",
        "\n",
        "\n  ",
        ":",
    ]
)


def error_of(parse: Callable[[], FormulaFile]) -> SourceError | None:
    """The error of a text, None if it has a meaning; then its printed form has the same."""
    try:
        file = parse()
    except SourceError as error:
        return error
    assert parse_text(format_file(file)) == file
    return None


@given(st.lists(st.one_of(PIECES, st.characters()), max_size=12).map(" ".join))
def test_noise_in_a_formula(text: str) -> None:
    error = error_of(lambda: parse_expression(text, "a b 0"))
    if error:
        assert 0 <= error.span.start < error.span.end
        assert error.span.start <= len(error.source.text)
        assert str(error)


KEYS = st.sampled_from(
    ["alphabet: a b\n", "at: last\n", "accept: ab\n", "let x = ", "pred P(i, n) = ", "// c\n", "let "]
)


@given(st.lists(st.one_of(KEYS, PIECES), max_size=14).map("".join))
def test_noise_in_a_file(text: str) -> None:
    error = error_of(lambda: parse_text(text))
    if error:
        assert 0 <= error.span.start < error.span.end
        assert error.span.start <= len(error.source.text)
        assert str(error)
