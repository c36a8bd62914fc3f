"""The constraint templates of docs/declare.md, compared with their meaning written in Python; all of them compile."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from hardsim.lang.semantics import check_examples
from tests.support.check import ModelOptions, compile_formula
from tests.support.language import FormulaFile, Oracle, parse_text
from tests.support.strategies import all_words
from tests.support.subjects import agree, general_proof

PAGE = (Path(__file__).parents[2] / "docs" / "declare.md").read_text(encoding="utf-8")
SETS = ("{}", "{a}", "{b}", "{a,b}")
Places = list[int]
"""The positions of an activity, from 1."""


def table() -> dict[str, str]:
    """Return the formulas of the page by the name of their template."""
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if re.match(r"\|\w", line)][1:]
    return {row[0]: unescape(re.sub("`|</?code>", "", row[1])) for row in rows}


def between(places: Places, low: int, high: int) -> Places:
    """Return the places strictly between two."""
    return [place for place in places if low < place < high]


def alternate_response(a: Places, b: Places, n: int) -> bool:
    return all(any(i < j and not between(a, i, j) for j in b) for i in a)


def alternate_precedence(a: Places, b: Places, n: int) -> bool:
    return all(any(i <= j and not any(i <= k < j for k in b) for i in a) for j in b)


def response(a: Places, b: Places, n: int) -> bool:
    return all(any(j >= i for j in b) for i in a)


def precedence(a: Places, b: Places, n: int) -> bool:
    return all(any(i <= j for i in a) for j in b)


MEANING: dict[str, Callable[[Places, Places, int], bool]] = {
    "existence": lambda a, b, n: len(a) >= 2,
    "absence": lambda a, b, n: len(a) < 2,
    "exactly": lambda a, b, n: len(a) == 2,
    "init": lambda a, b, n: 1 in a,
    "end": lambda a, b, n: n in a,
    "choice": lambda a, b, n: len(a) + len(b) > 0,
    "exclusive choice": lambda a, b, n: (not a) != (not b),
    "responded existence": lambda a, b, n: not a or len(b) > 0,
    "co-existence": lambda a, b, n: (not a) == (not b),
    "response": response,
    "precedence": precedence,
    "succession": lambda a, b, n: response(a, b, n) and precedence(a, b, n),
    "alternate response": alternate_response,
    "alternate precedence": alternate_precedence,
    "alternate succession": lambda a, b, n: alternate_response(a, b, n) and alternate_precedence(a, b, n),
    "chain response": lambda a, b, n: all(i + 1 in b for i in a),
    "chain precedence": lambda a, b, n: all(j - 1 in a for j in b),
    "chain succession": lambda a, b, n: {i + 1 for i in a} == set(b),
    "not co-existence": lambda a, b, n: not (a and b),
    "not succession": lambda a, b, n: not any(j >= i for i in a for j in b),
    "not chain succession": lambda a, b, n: not any(j == i + 1 for i in a for j in b),
}


def template(name: str, header: str = "props: a b") -> FormulaFile:
    """Return a template as a file."""
    return parse_text(f"{header}\nat: first\n{table()[name]}\n")


def test_every_template_has_a_meaning() -> None:
    assert list(table()) == list(MEANING)


@pytest.mark.parametrize("name", MEANING)
def test_a_template_means_what_the_page_says_of_sets(name: str) -> None:
    oracle = Oracle(template(name))
    for word in all_words(SETS, 5):
        a, b = ([i for i, held in enumerate(word, start=1) if letter in held] for letter in "ab")
        assert oracle.accepts(word) is MEANING[name](a, b, len(word)), word


@pytest.mark.parametrize("name", MEANING)
def test_a_template_means_it_of_single_activities_too(name: str) -> None:
    file = template(name, "props: a b c\none-of: a b c")
    oracle = Oracle(file)
    for word in all_words(file.alphabet, 5):
        a, b = ([i for i, held in enumerate(word, start=1) if held == f"{{{letter}}}"] for letter in "ab")
        assert oracle.accepts(word) is MEANING[name](a, b, len(word)), word


@pytest.mark.sweep
@pytest.mark.parametrize("name", MEANING)
def test_a_template_is_compiled_and_proved_for_every_length(name: str) -> None:
    file = template(name)
    subject = compile_formula(file, ModelOptions())
    agree(subject, all_words(SETS, 2))
    assert general_proof(subject).failing is None
    agree(compile_formula(file, ModelOptions("position")), all_words(SETS, 2))


def test_the_example_of_the_page_is_right() -> None:
    (text,) = re.findall(r"```\n(// .*?)```", PAGE, re.DOTALL)
    file = parse_text(text)
    check_examples(file)
    assert len(file.alphabet) == 4


def test_the_other_chain_precedence_lets_a_word_begin_with_b() -> None:
    other = Oracle(parse_text("props: a b\nat: first\nG(X b -> a)"))
    own = Oracle(template("chain precedence"))
    assert other.accepts(("{b}",))
    assert not own.accepts(("{b}",))
    assert all(other.accepts(word) == own.accepts(word) for word in all_words(SETS, 3) if "b" not in word[0])
