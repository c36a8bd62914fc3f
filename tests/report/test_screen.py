"""Numbers and words as text: nothing is cut, broken inside a word or read as markup."""

import io
from collections.abc import Callable
from fractions import Fraction

import pytest

from hardsim.campaign.result import answer_text, output_text
from hardsim.lang.words import written_word
from hardsim.records import exact_text, number_text, short
from hardsim.report.screen import Field, Screen
from hardsim.targets.result import count, plural


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
    assert short(value) == text


def test_an_output_next_to_0_or_1_never_looks_like_it() -> None:
    tiny = Fraction(1, 10**30)
    found = [output_text(value) for value in (Fraction(1), 1 - tiny, 1 + tiny, tiny, Fraction(1, 2))]
    assert found == ["1", "1 - 1e-30", "1 + 1e-30", "1e-30", "0.5"]


def test_decimals_have_twenty_digits_and_rationals_are_exact() -> None:
    found = [number_text(value) for value in (Fraction(0), Fraction(2, 3), Fraction(1, 3 * 10**30))]
    assert found == ["0", "0.66666666666666666667", "3.3333333333333333333E-31"]
    assert [exact_text(value) for value in (Fraction(6, 4), 4, 10**5000)] == ["3/2", "4", "1" + "0" * 5000]


def test_counts() -> None:
    found = [count(value) for value in (999_999_999, 10**9, 5**100_000)]
    assert found == ["999,999,999", "about 10^9", "about 10^69897"]  # 100000 log10(5) = 69897.0004
    assert [plural(count, "word") for count in (1, 0)] == ["1 word", "0 words"]


def test_words_and_answers() -> None:
    assert written_word(("a", "b"), ("a", "b")) == "ab"
    assert written_word(("a", "b"), ("a", "b", "cc")) == "a b"
    answers = [answer_text(answer, "ab") for answer in (True, False, None, ("a", None, "b"), ())]
    assert answers == ["accept", "reject", "undecided", "a?b", "(empty)"]
    assert answer_text(("aa", "b"), ("aa", "b")) == "aa b"


# ---- the screen ----


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True."""
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


def lines_at(width: int, monkeypatch: pytest.MonkeyPatch, report: Callable[[Screen], None]) -> list[str]:
    """Return the lines that are printed on a terminal of a width."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    target = Terminal()
    report(Screen(target))
    return target.getvalue().splitlines()


NUMBERS = [Field("<name"[1:], "left"), *(Field(f"number\n{k}") for k in range(9)), Field("why", "left", fold=True)]
ROWS = [(f"row{k}", *[str(10**k)] * 9, "a text of several words that is long enough to fold") for k in range(6)]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_a_table_fits_and_no_word_or_cell_is_broken(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_at(width, monkeypatch, lambda screen: screen.table(NUMBERS, ROWS))
    assert max(map(len, lines)) <= width
    found = " ".join(lines).split()
    for row in ROWS:
        # No row is cut: each number stands in its nine columns, and each word of the text is present.
        assert row[0] in found
        assert found.count(row[1]) >= 9
    assert found.count("fold") == len(ROWS)


def test_a_narrow_table_goes_on_in_another_with_the_first_column(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (Field("n"), Field("one"), Field("two"), Field("why", "left", fold=True))
    rows = [("1", "2" * 10, "3" * 10, "so it is"), ("12", "4", "5", "–")]
    lines = lines_at(20, monkeypatch, lambda screen: screen.table(columns, rows))
    assert lines == [
        " n         one", "    why", "──────────────", " 1  2222222222", "    so it is", "12           4", "",
        " n         two", "──────────────", " 1  3333333333", "12           5",
    ]  # fmt: skip


def test_names_that_leave_numbers_no_room_keep_their_header(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (Field("layer 3", "left"), Field("1\na"), Field("2\nb"))
    rows = [("a name of 22 characters", "0.25", "0.125")]
    lines = lines_at(24, monkeypatch, lambda screen: screen.table(columns, rows))
    assert lines == ["layer 3", "   1      2", "   a      b", "───────────", "a name of 22 characters", "0.25  0.125"]


@pytest.mark.parametrize("copied", [True, False])
def test_what_is_to_be_copied_stands_alone_where_it_has_no_room(copied: bool) -> None:
    target, word = io.StringIO(), "a b " * 50 + "c"
    Screen(target).table((Field("n"), Field("word", "left", fold=not copied, copied=copied)), [("1", word), ("2", "a")])
    lines = target.getvalue().splitlines()
    assert (word in lines) is copied
    assert max(map(len, lines)) <= 80 or copied
    short = io.StringIO()
    Screen(short).table((Field("n"), Field("word", "left", copied=True)), [("1", "a b"), ("2", "a")])
    assert short.getvalue().splitlines()[-2:] == ["1  a b", "2  a"]


@pytest.mark.parametrize("width", [40, 80])
def test_a_line_folds_at_spaces_and_hangs(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    word, text = "x" * 100, "some words that follow each other " * 5
    lines = lines_at(width, monkeypatch, lambda screen: screen.line("  label  ", text, word, hang=9))
    assert lines[-1] == " " * 9 + word
    assert max(map(len, lines[:-1])) <= width
    assert all(line.startswith(" " * 9) for line in lines[1:])
    assert " ".join(lines).split() == ["label", *text.split(), word]


def test_styles_survive_folding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    target = Terminal()
    Screen(target).line(("VERDICT", "bold green"), " word" * 40)
    assert target.getvalue().count("\n") > 1
    assert "\x1b[1;32mVERDICT" in target.getvalue()


def test_columns_are_80_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert Screen(io.StringIO()).width == 80
    assert Screen(Terminal()).width == 200


def test_a_disabled_screen_is_silent() -> None:
    target = io.StringIO()
    screen = Screen(target, enabled=False)
    screen.raw("a")
    screen.line("b")
    screen.table((Field("c"),), [("d",)])
    screen.flush()
    assert target.getvalue() == ""
