"""Tests of names with blanks: where they are quoted, what they mean, and that the printed text reads back."""

import shlex
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardsim as python
from hardsim.lang.canonical import FORMATTERS, canonical_formula
from hardsim.lang.ltl_parser import parse_word
from hardsim.lang.valuations import MENTIONED, Valuations
from hardsim.lang.vocabulary import joined_names, split_names
from hardsim.lang.words import check_alphabet, check_propositions, written_word
from tests.support.language import InputError, Oracle, SourceError, format_file, parse_expression, parse_text

LOG = ("register request", "pay", "it's done")
WRITTEN = "'register request' pay 'it''s done'"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (WRITTEN, LOG),
        ('"register request"  pay\t"it\'s done"', LOG),
        ("'a' \"b\" c", ("a", "b", "c")),
        ("' ( ) \"", ("'", "(", ")", '"')),
        ("'' '''' 's", ("''", "'", "'s")),
        ("'a  b'", ("a  b",)),
    ],
)
def test_names_are_split_at_blanks_outside_quotes(text: str, names: tuple[str, ...]) -> None:
    assert tuple(split_names(text)) == names
    assert check_alphabet(text) == names
    assert parse_text(f"alphabet: {text}\ntrue\n").alphabet == names


@given(st.lists(st.text("ab' \"(", min_size=1).filter(lambda name: name == name.strip()), min_size=1, unique=True))
def test_joined_names_are_split_again(names: list[str]) -> None:
    assert split_names(joined_names(names)) == names


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("'a b','c d'", 10),
        ("'a b c'd", 10),
        ('x "send by"post', 12),
        ("' a' b", 10),
        ("' it's 's", None),
        ("it's 's 't 're", None),
        ("b 'it's", None),
    ],
)
def test_a_quote_that_is_closed_wrongly_is_refused(text: str, at: int | None) -> None:
    if at is None:  # valid: single quotes may be parts of symbols
        assert check_alphabet(text) == tuple(text.split())
        return
    with pytest.raises(InputError, match="no quote before a blank closes"):
        check_alphabet(text)
    with pytest.raises(SourceError, match="begins with a quote, and no quote before a blank closes it") as raised:
        parse_text(f"alphabet: {text}\ntrue\n")
    assert raised.value.span.start == at


@pytest.mark.parametrize("name", [" a", "a ", "a\tb", "a\nb", "a\u2003b", " "])
def test_other_white_space_is_in_no_name(name: str) -> None:
    with pytest.raises(InputError, match="is not a symbol"):
        check_alphabet([name, "b"])
    with pytest.raises(InputError, match="is not a proposition"):
        check_propositions([name, "b"])


def test_words_read_back_as_they_are_written() -> None:
    alphabet = check_alphabet(WRITTEN)
    for word in product(alphabet, repeat=3):
        assert parse_word(written_word(word, alphabet), alphabet) == word
    assert parse_word('"register request" pay', alphabet) == ("register request", "pay")
    assert parse_word("'pay'", alphabet) == ("pay",)
    with pytest.raises(SourceError) as raised:
        parse_word("pay register request", alphabet)
    assert raised.value.hint == "write a symbol with blanks in quotes: 'register request'"


def test_names_in_sets_may_be_quoted() -> None:
    alphabet = check_propositions(WRITTEN)
    assert alphabet == Valuations(LOG)
    for symbol in alphabet:
        assert parse_word(symbol, alphabet) == (symbol,)
    expected = ("{register request,pay}", "{}", "{it's done}")
    assert parse_word("{pay, 'register request'}{}{'it''s done'}", alphabet) == expected
    assert parse_word("{register request,pay} { } {it's done}", alphabet) == expected


FILE = f"""props: {WRITTEN}
one-of: 'register request' pay
at: first
accept: {{register request}}{{pay}}
reject: {{'register request'}}
G('register request' -> F "pay") & !F 'it''s done'
"""


def test_a_formula_over_activities_means_what_it_says() -> None:
    file = parse_text(FILE)
    oracle = Oracle(file)
    assert oracle.accepts(("{register request}", "{pay}"), "first")
    assert not oracle.accepts(("{pay}", "{register request}"), "first")
    assert parse_text(format_file(file)) == file
    text = canonical_formula(FILE, "f.ltl").text
    assert text.splitlines()[0] == f"props: {WRITTEN}"
    assert text.splitlines()[4] == "reject: {register request}"
    assert text.splitlines()[-1] == "G('register request' -> F pay) & !F 'it''s done'"
    assert canonical_formula(text, "f.ltl").text == text
    assert parse_text(text) == file


def test_quoted_names_are_mentioned() -> None:
    found = parse_expression("G('register request' -> F \"Send Invoice by Post\")", None, props=MENTIONED)
    assert found.alphabet == Valuations(["register request", "Send Invoice by Post"])
    assert parse_expression("'a b' S 'c d'", None).alphabet == ("a b", "c d")


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".re", "alphabet: 'register request' pay\naccept: 'register request' pay\n('register request' pay)*\n"),
        (".cr", 'alphabet: "register request" pay\naccept: \'register request\'\nA = "register request"\n'),
        (
            ".srasp",
            "alphabet: 'register request' pay\nmap: 'register request' pay -> pay 'register request'\n"
            "Y(i) := in(i) = 'pay' ? 'register request' : 'pay'\n",
        ),
    ],
)
def test_other_languages_have_names_with_blanks(hardsim: Any, tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"f{suffix}"
    for _ in range(2):
        path.write_text(text, encoding="utf-8")
        assert hardsim("eval", path, "'register request' pay").code == 0
        text = FORMATTERS[suffix](text, path.name).text
    assert FORMATTERS[suffix](text, path.name).text == text


@pytest.mark.parametrize(
    "header", ["alphabet: 'register request' pay", "props: 'register request' pay\none-of: 'register request' pay"]
)
def test_what_the_commands_print_reads_back(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.ltl").write_text(f"{header}\nO 'register request'\n", encoding="utf-8")
    # All words but those of pay alone are accepted: 1 of 2, 3 of 4.
    words = hardsim("words", "log.ltl", "--max-n", "2").out.splitlines()
    assert len(words) == 4
    assert hardsim("eval", "log.ltl", *words, "--json", "-").result["words"][0]["word"][0] in (
        "register request", "{register request}"
    )  # fmt: skip
    refused = hardsim("check", "log.ltl", "--regime", "none", "--max-n", "12", "--pin")
    assert refused.code == 1
    (line,) = [line for line in refused.out.splitlines() if line.startswith("hardsim trace")]
    assert hardsim(*shlex.split(line)[1:]).code == 1
    assert hardsim("check", "log.ltl", "--max-n", "3").code == 0  # with the pinned word
    assert hardsim("fmt", "--check", "log.ltl").code == 0
    assert hardsim("prove", "log.ltl", "--max-n", "3", "--certificate", "p.cert.json").code == 0
    assert hardsim("verify", "p.cert.json", "--formula", "log.ltl").code == 0
    for name, *hard in (("l.model.json",), ("l.ahat.json", "--hard")):
        assert hardsim("compile", "log.ltl", "-o", name, *hard).code == 0
        assert hardsim("eval", name, *words).code == 0
    alone = hardsim("check", "-e", "O 'a b'", "--props", "'a b' c", "--regime", "none", "--max-n", "12")
    (line,) = [line for line in alone.out.splitlines() if line.startswith("hardsim trace")]
    assert hardsim(*shlex.split(line)[1:]).code == 1


def test_sets_of_python_have_names_with_blanks() -> None:
    model = python.load("G('register request' -> F pay)", props="'register request' pay", at="first")
    found = model.eval([{"register request"}, {"pay"}], "{'register request'}").words
    assert [(one.word, one.oracle) for one in found] == [
        (("{register request}", "{pay}"), True), (("{register request}",), False)
    ]  # fmt: skip
