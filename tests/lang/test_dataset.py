"""Files of labelled words: their cells with their places, and each mistake with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import InputError, SourceError
from hardsim.lang.dataset import read_rows, rows_of

ROWS = [(("a", "b"), "1"), (("b",), "0"), ((), "1")]


def read(text: str, name: str, alphabet: tuple[str, ...] = ("a", "b")) -> list[tuple[tuple[str, ...], str]]:
    found = read_rows(text.encode(), name)
    return [(row.word.word(alphabet), row.label.text) for row in found]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.tsv", "ab\t1\nb\t0\n\t1\n"),
        ("d.TSV", "word\tlabel\nab\t1\nb\t0\n\t1"),
        ("d.txt", "\ufeffab\t1\r\n\r\nb\t 0 \r\n\t1\r\n"),
        ("d.tsv", "id\tlabel\ttext\n1\t1\tab\n2\t0\tb\n3\t1\t\n"),
        ("d.csv", 'Text,Label\nab,1\n"b",0\n"",1\n'),
        ("d.csv", 'ab,"1"\nb,0\n,1\n'),
        ("d.jsonl", '{"word": "ab", "label": 1}\n\n["b", "0"]\n{"tokens": [], "label": 1, "id": 7}\n'),
        ("d.ndjson", '[["a", "b"], 1]\n[["b"], 0]\n["", 1]\n'),
    ],
)
def test_the_same_rows_in_every_format(name: str, text: str) -> None:
    assert read(text, name) == ROWS


def test_symbols_of_several_characters() -> None:
    names = ("up", "down", "big one")
    expected = [(("up", "down", "up"), "1")]
    assert read("up down up\t1\n", "d.tsv", names) == expected
    assert read('{"word": "up down up", "label": 1}\n', "d.jsonl", names) == expected
    assert read('{"word": ["up", "down", "up"], "label": 1}\n', "d.jsonl", names) == expected
    assert read("'big one' up\t0\n", "d.tsv", names) == [(("big one", "up"), "0")]
    assert read("a b a\t0\n", "d.tsv") == [(("a", "b", "a"), "0")]


def test_cells_in_quotes() -> None:
    comma, quote = (",", "a"), ('"', "a")
    assert read('",a",0\n', "d.csv", comma) == [((",", "a"), "0")]
    assert read('"""a",0\n', "d.csv", quote) == [(('"', "a"), "0")]
    assert read('"a\t1\n', "d.tsv", quote) == [(('"', "a"), "1")]  # text separated by tabs has no quotes


def test_labels_of_json() -> None:
    text = '{"word": "a", "label": true}\n["b", 0.25]\n{"prefix": "ab", "allowed": ["a", "b"]}\n'
    found = read_rows(text.encode(), "d.jsonl")
    assert [(row.label.text, row.label.items) for row in found] == [
        ("true", None),
        ("0.25", None),
        ("a b", ("a", "b")),
    ]


@given(st.lists(st.tuples(st.text("ab", max_size=4), st.sampled_from(["0", "1", "x,y", 'q"'])), min_size=1))
def test_written_rows_are_read_again(pairs: list[tuple[str, str]]) -> None:
    import csv
    import io

    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(pairs)
    expected = [(tuple(word), label) for word, label in pairs]
    assert read(table.getvalue(), "d.csv") == expected
    assert (
        read("".join(json.dumps({"word": word, "label": label}) + "\n" for word, label in pairs), "d.jsonl") == expected
    )
    plain = [(row.word.word(("a", "b")), row.label.text) for row in rows_of(pairs, "data")]
    assert plain == expected


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("d.tsv", "ab\t1\nb\n", "d.tsv:2:1", "this row has 1 cell\n"),
        ("d.tsv", "ab\t1\t2\n", "d.tsv:1:1", "this row has 3 cells"),
        ("d.tsv", "word\tlabel\n", "d.tsv:1:1", "there is no row below the names of the columns"),
        ("d.tsv", "id\tword\tlabel\n1\tab\n", "d.tsv:2:1", "this row has only 2 cells"),
        ("d.tsv", "\n \n", "d.tsv:1:1", "the file is empty"),
        ("d.csv", 'ab,1\n"b,1\n', "d.csv:2:1", "no quote closes this cell"),
        ("d.csv", '"b"c,1\n', "d.csv:1:4", "text after a quoted cell"),
        ("d.jsonl", '["a", 1]\n{"word": "a"\n', "d.jsonl:2:13", "this is not JSON"),
        *(
            ("d.jsonl", line, "d.jsonl:1:1", "this line has no word with a label")
            for line in ('[{"word": "a", "label": 1}]\n', '[["a", 1]]\n', '["a", ["b"], 3]\n', '"a"\n', "3\n", "null\n")
        ),
        ("d.csv", "a\t1\n", "d.csv:1:1", "this row has 1 cell\n"),
        ("d.tsv", "a,1\n", "d.tsv:1:1", "this row has 1 cell\n"),
        ("d.jsonl", '{"word": "a"}\n', "d.jsonl:1:1", "this line has no word with a label"),
        ("d.jsonl", '{"word": "a", "text": "b", "label": 1}\n', "d.jsonl:1:1", "this line has no word with a label"),
        ("d.jsonl", '{"word": "a", "label": 1, "label": 0}\n', "d.jsonl:1:1", "the key 'label' occurs twice"),
        ("d.jsonl", '["a", {"x": 1, "x": 2}]\n', "d.jsonl:1:1", "the key 'x' occurs twice"),
        ("d.jsonl", "7\n", "d.jsonl:1:1", "this line has no word with a label"),
        ("d.jsonl", "{}\n", "d.jsonl:1:1", "this line has no word with a label"),
        ("d.jsonl", '["a", null]\n', "d.jsonl:1:1", "a value of this row is null"),
        ("d.jsonl", '["a", {}]\n', "d.jsonl:1:1", "a value of this row is an object"),
        ("d.jsonl", '["a", [[1]]]\n', "d.jsonl:1:1", "a value of this row is a list of other values"),
        ("d.jsonl", '["a", NaN]\n', "d.jsonl:1:1", "a value of this row is not a finite number"),
        ("d.jsonl", "[" * 100_000 + "\n", "d.jsonl:1:301", "the brackets of this JSON are nested too deeply"),
    ],
)
def test_mistakes_have_their_place(name: str, text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_rows(text.encode(), name)
    assert str(caught.value).startswith(f"{place}: error: {message}")


def test_numbers_of_tokens_are_no_words() -> None:
    with pytest.raises(SourceError, match="numbers of tokens: give symbols by name"):
        read_rows(b'{"input_ids": [2, 0, 3], "label": 1}\n', "d.jsonl")
    (row,) = read_rows(b'{"text": "a", "input_ids": [2, 0, 3], "label": 1}\n', "d.jsonl")
    assert row.word.text == "a"


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("d.tsv", "ab\t1\nabx\t1\n", "d.tsv:2:3"),
        ("d.csv", 'ab,1\n1,"bx"\n', "d.csv:2:1"),
        ("d.jsonl", '{"label": 1, "word": "abx"}\n', "d.jsonl:1:25"),
        ("d.jsonl", '{"label": 1, "word": ["x"]}\n', "d.jsonl:1:1"),
    ],
)
def test_unknown_symbols_have_their_place(name: str, text: str, place: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(text, name)
    assert str(caught.value).startswith(f"{place}: error: ")
    assert "is not a symbol of the alphabet" in str(caught.value)


def test_text_that_is_not_utf8() -> None:
    with pytest.raises(SourceError, match=r"d\.tsv:2:1: error: not UTF-8"):
        read_rows(b"ab\t1\n\xff\t1\n", "d.tsv")


def test_other_formats() -> None:
    with pytest.raises(InputError, match=r"d\.json: labelled data is a file of words and labels"):
        read_rows(b"[]", "d.json")
