"""The oracle compared with the definitions, which are written a second time as literal quantifiers over positions."""

from dataclasses import replace
from typing import Literal, get_args
from unittest.mock import Mock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import Source
from hardsim.lang import ast
from hardsim.lang.predicate import is_prime
from hardsim.lang.semantics import check_examples
from tests.support.conformance import FILE, ROWS, Row, formula_of
from tests.support.counting_strategies import counting_formulas
from tests.support.definitions import formula_holds
from tests.support.language import InputError, Oracle, OutOfRange, SourceError, Span
from tests.support.mistakes import raised
from tests.support.strategies import all_words, formulas

Word = tuple[str, ...]

A, B, C = ast.Symbol("a"), ast.Symbol("b"), ast.Symbol("c")
WORDS = all_words("abc", 5)


def wrap(formula: ast.Formula, *lets: ast.Let, at: str = "last", alphabet: str = "abc") -> ast.FormulaFile:
    return ast.FormulaFile(tuple(alphabet), formula, lets, at="first" if at == "first" else "last")


def expected(formula: ast.Formula, word: Word) -> list[bool]:
    return [formula_holds(formula, word, i) for i in range(1, len(word) + 1)]


def same(formula: ast.Formula) -> None:
    """Assert that the oracle and the literal definition agree at every position of every short word."""
    oracle = Oracle(wrap(formula))
    for word in WORDS:
        assert oracle.truth(word) == expected(formula, word), word


@pytest.mark.parametrize("op", get_args(ast.UnaryOp))
def test_unary_operators(op: ast.UnaryOp) -> None:
    same(ast.Unary(op, A))
    same(ast.Unary(op, ast.Unary(op, ast.Nary("|", (A, B)))))


@pytest.mark.parametrize("op", get_args(ast.BinaryOp))
def test_binary_operators(op: ast.BinaryOp) -> None:
    same(ast.Binary(op, A, B))
    same(ast.Binary(op, ast.Nary("|", (A, B)), ast.Nary("|", (A, C))))
    same(ast.Binary(op, ast.Not(A), ast.Not(B)))
    same(ast.Binary(op, ast.Truth(False), ast.Binary(op, A, ast.Truth(True))))


def test_boolean_operators_and_constants() -> None:
    first_two = (ast.Unary("O", A), ast.Unary("F", B))
    for op in ("&", "|", "^"):
        same(ast.Nary(op, first_two))
        same(ast.Nary(op, (*first_two, ast.Unary("Y", C))))
    same(ast.Arrow("->", *first_two))
    same(ast.Arrow("<->", ast.Arrow("<->", *first_two), C))
    for leaf in (A, ast.Truth(True), ast.Truth(False), ast.Marker("first"), ast.Marker("last")):
        same(leaf)
        same(ast.Not(leaf))


@pytest.mark.sweep
@pytest.mark.parametrize("side", ["L", "R", ""])
@pytest.mark.parametrize("op", ["<", "<=", "=", "!=", ">=", ">"])
def test_counts_and_comparisons(side: ast.CountSide, op: ast.CompareOp) -> None:
    same(ast.Compare(op, ast.Count(side, A), ast.Count("L", B)))
    twice = ast.Product(ast.Integer(2), ast.Count(side, ast.Unary("Y", A)))
    same(ast.Compare(op, ast.Sum("-", twice, ast.Position()), ast.Signed("-", ast.Count("R", B))))
    same(ast.Compare(op, ast.Sum("+", ast.Length(), ast.Integer(-3)), ast.Signed("+", twice)))


@pytest.mark.parametrize("modulus", [1, 2, 3, 5])
def test_congruences_of_negative_terms_are_mathematical(modulus: int) -> None:
    term = ast.Sum("-", ast.Count("L", A), ast.Product(ast.Count("", B), ast.Integer(2)))
    for residue in range(modulus):
        same(ast.Congruent(term, modulus, residue))


@given(
    formulas("abc", 3) | counting_formulas("abc", predicates=False),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=6),
)
def test_random_formulas(formula: ast.Formula, symbols: list[str]) -> None:
    assert Oracle(wrap(formula)).truth(symbols) == expected(formula, tuple(symbols))


# Handwritten tables from the definitions of the predicates, for -2 to 17.
PREDICATES = {
    "EVEN": {-2, 0, 2, 4, 6, 8, 10, 12, 14, 16},
    "ODD": {-1, 1, 3, 5, 7, 9, 11, 13, 15, 17},
    "PRIME": {2, 3, 5, 7, 11, 13, 17},
    "SQUARE": {0, 1, 4, 9, 16},
    "POW2": {1, 2, 4, 8, 16},
}


@pytest.mark.parametrize("name", PREDICATES)
def test_numerical_predicates_of_positions_and_terms(name: str) -> None:
    word = ("a",) * 20
    of_position = Oracle(wrap(ast.Predicate(name, (), None))).truth(word)
    assert {i for i, value in enumerate(of_position, 1) if value and i <= 17} == {i for i in PREDICATES[name] if i >= 1}
    shifted = ast.Sum("-", ast.Count("L", A), ast.Integer(3))  # -2 at position 1, 0 at position 3
    of_term = Oracle(wrap(ast.Predicate(name, (), shifted))).truth(word)
    assert {i - 3 for i, value in enumerate(of_term, 1) if value} == PREDICATES[name]


@pytest.mark.parametrize(("modulus", "residue"), [(3, 0), (3, 1), (4, 3), (1, 0)])
def test_mod_of_positions_and_terms(modulus: int, residue: int) -> None:
    word = ("a",) * 12
    of_position = Oracle(wrap(ast.Predicate("MOD", (modulus, residue), None))).truth(word)
    multiples = {k * modulus + residue for k in range(-20, 20)}
    assert of_position == [i in multiples for i in range(1, 13)]
    shifted = ast.Sum("-", ast.Position(), ast.Integer(6))
    of_term = Oracle(wrap(ast.Predicate("MOD", (modulus, residue), shifted))).truth(word)
    assert of_term == [i - 6 in multiples for i in range(1, 13)]


def test_own_predicates_see_the_value_and_the_length() -> None:
    middle = {"MIDDLE": lambda i, n: 2 * i == n + 1}
    file = wrap(ast.Predicate("MIDDLE", (), None))
    assert Oracle(file, middle).truth("aaa") == [False, True, False]
    assert Oracle(file, middle).truth("aaaa") == [False] * 4
    of_term = wrap(ast.Predicate("MIDDLE", (), ast.Sum("-", ast.Position(), ast.Integer(1))))
    assert Oracle(of_term, middle).truth("aaa") == [False, False, True]
    watched = Mock(return_value=False)
    assert not Oracle(of_term, {"MIDDLE": watched}).accepts("ab")
    assert watched.mock_calls == [call(0, 2), call(1, 2)]


def test_primes_against_a_sieve_and_known_large_ones() -> None:
    sieve = [True] * 30_000
    sieve[0] = sieve[1] = False
    for k in range(2, 174):
        sieve[2 * k :: k] = [False] * len(sieve[2 * k :: k])
    assert [is_prime(value) for value in range(30_000)] == sieve
    assert is_prime(2**61 - 1)  # a Mersenne prime
    assert not is_prime(2**67 - 1)  # 193707721 * 761838257287 (Cole 1903)
    assert not is_prime(3_215_031_751)  # a strong pseudoprime to the bases 2, 3, 5 and 7
    assert not is_prime(-7)
    raised(OutOfRange, is_prime, 2**89 - 1, match="PRIME")


def test_a_let_is_evaluated_once_however_often_it_is_used() -> None:
    watched = Mock(return_value=True)
    lets = [ast.Let("L0", ast.Predicate("SEEN", (), None))]
    lets += [ast.Let(f"L{k + 1}", ast.Binary("S", ast.Ref(f"L{k}"), ast.Ref(f"L{k}"))) for k in range(60)]
    oracle = Oracle(wrap(ast.Ref("L60"), *lets), {"SEEN": watched})
    assert oracle.truth("abc") == [True, True, True]  # 2^60 leaves if it were expanded
    assert watched.mock_calls == [call(1, 3), call(2, 3), call(3, 3)]


def test_a_let_may_name_a_term() -> None:
    file = wrap(ast.Compare("=", ast.Ref("K"), ast.Integer(2)), ast.Let("K", ast.Count("L", A)))
    assert Oracle(file).truth("abab") == [False, False, True, True]


def test_reading_position() -> None:
    first, last = Oracle(wrap(A, at="first")), Oracle(wrap(A))
    assert [first.accepts("ab"), first.accepts("ab", "last")] == [True, False]
    assert [last.accepts("ab"), last.accepts("ab", "first")] == [False, True]


def test_the_empty_word_and_unknown_symbols_are_refused() -> None:
    raised(InputError, Oracle(wrap(A)).truth, "", match="empty word")
    raised(InputError, Oracle(wrap(A)).accepts, "abd", match="'d' is not in the alphabet")


def test_names_without_a_definition_are_refused_where_they_stand() -> None:
    unknown = raised(SourceError, Oracle, wrap(ast.Predicate("MIDDLE", (), None, span=Span(4, 10))))
    assert "MIDDLE" in unknown.message
    assert unknown.span == Span(4, 10)
    with pytest.raises(SourceError, match="'later' has no definition"):
        Oracle(wrap(A, ast.Let("early", ast.Ref("later")), ast.Let("later", A)))


def with_examples(text: str, *examples: ast.Example, at: str = "last") -> ast.FormulaFile:
    return replace(wrap(A, at=at, alphabet="ab"), examples=examples, source=Source("test.ltl", text))


def test_examples_that_hold_pass_silently() -> None:
    examples = (
        ast.Example(("b", "a"), True, span=Span(8, 10)),
        ast.Example(("a",), True, span=Span(11, 12)),
        ast.Example(("a", "b"), False, span=Span(21, 23)),
    )
    check_examples(with_examples("accept: ba a\nreject: ab\n", *examples))


def test_the_first_contradicted_example_is_named() -> None:
    text = "accept: ba ab\nreject: aa\n"
    examples = (
        ast.Example(("a", "a"), False, span=Span(22, 24)),
        ast.Example(("a", "b"), True, span=Span(11, 13)),
        ast.Example(("b", "a"), True, span=Span(8, 10)),
    )
    wrong = raised(SourceError, check_examples, with_examples(text, *examples))
    assert wrong.span == Span(11, 13)
    assert str(wrong).startswith("test.ltl:1:12: error: the formula rejects 'ab', which is listed under 'accept:'")
    assert "false at position 2, the last" in wrong.message
    wrong = raised(SourceError, check_examples, with_examples(text, *examples, at="first"))
    assert wrong.span == Span(8, 10)
    assert "false at position 1, the first" in wrong.message
    with pytest.raises(SourceError, match="accepts 'aa', which is listed under 'reject:'"):
        check_examples(with_examples(text, examples[0]))


def test_words_over_long_symbols_are_shown_with_spaces() -> None:
    file = ast.FormulaFile(("up", "down"), ast.Symbol("up"), examples=(ast.Example(("up", "down"), True),))
    raised(SourceError, check_examples, file, match="'up down'")


# ---- formulas with known answers, if the file exists ----


def test_the_conformance_file_is_whole_or_absent() -> None:
    """Without the file no row is collected, so nothing is claimed; with the file, all of its formulas must be
    collected.
    """
    assert len(ROWS) == (294 if FILE.exists() else 0)


if ROWS:

    @pytest.mark.sweep
    @pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
    @pytest.mark.parametrize("at", ["first", "last"])
    @pytest.mark.parametrize("longest", [4, pytest.param(None, marks=pytest.mark.slow)])
    def test_known_answers(row: Row, at: Literal["first", "last"], longest: int | None) -> None:
        oracle, answers = Oracle(row.file()), row.answers(at, longest)
        assert {word: oracle.accepts(word, at) for word in answers} == answers

    @pytest.mark.sweep
    @pytest.mark.parametrize("at", ["first", "last"])
    def test_as_many_words_are_accepted_as_the_file_says(at: Literal["first", "last"]) -> None:
        assert [row.name for row in ROWS if sum(row.answers(at).values()) != row.data[f"accepted_{at}"]] == []

    def test_the_parser_reads_the_known_trees() -> None:
        assert [row.name for row in ROWS if row.file().formula != formula_of(row.data["ast"])] == []
