"""Text from files for a terminal: every character that a terminal would obey is shown instead, and no other."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import Source
from hardsim.visible import OBEYED, visible, visible_json, visible_lines
from tests.support.language import InputError, SourceError, Span

BIDIRECTIONAL = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
HOSTILE = st.text(st.characters(exclude_categories=()) | st.sampled_from("\n\r\t\x1b\x7f\x85\u202e\u2028\udcff\\P"))


def test_the_obeyed_are_what_unicode_calls_so() -> None:
    every = "".join(map(chr, range(0x110000)))
    categories = {char for char in every if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")}
    overrides = {char for char in every if unicodedata.bidirectional(char) in BIDIRECTIONAL}
    marks = {"\u061c", "\u200e", "\u200f"}
    deprecated = set(map(chr, range(0x206A, 0x2070)))
    # default-ignorable format characters (Unicode, DerivedCoreProperties), but the two joiners
    invisible = {"\u00ad", "\u180e", "\u200b", *map(chr, range(0x2060, 0x2065)), "\ufeff"}
    assert set(OBEYED.findall(every)) == categories | overrides | marks | deprecated | invisible


@given(HOSTILE)
def test_a_visible_text_is_one_line_that_says_nothing_to_a_terminal(text: str) -> None:
    shown = visible(text)
    assert OBEYED.search(shown) is None
    assert visible(shown) == shown
    assert len(shown.splitlines()) <= 1
    assert visible_lines(text) == "\n".join(map(visible, text.split("\n")))


@given(st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" ")))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(HOSTILE)
def test_a_visible_json_document_has_the_same_data(text: str) -> None:
    document = visible_json(json.dumps({text: [text]}, ensure_ascii=False, indent=1))
    assert OBEYED.search(document.replace("\n", "")) is None
    assert json.loads(document) == json.loads(json.dumps({text: [text]}))


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, st.integers(0, 40))
def test_what_errors_quote_begins_no_line(name: str, text: str, what: str, expected: str, hint: str, at: int) -> None:
    error = SourceError(Source(name, text), Span(at, at + 3), what, expected, hint)
    for shown, own in ((str(error), 3 + bool(expected) + bool(hint)), (str(InputError(what, hint)), 1 + bool(hint))):
        lines = shown.split("\n")
        assert len(lines) == own
        assert not any(OBEYED.search(line) for line in lines)
        assert all(line.startswith("  ") for line in lines[1:])
    assert set(str(error).split("\n")[2].strip()) == {"^"}
