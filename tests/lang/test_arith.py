"""Exact rational expressions: values against Python's own Fractions, printing, errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import SourceError
from hardsim.lang.arith import (
    MAX_OPERATIONS,
    Arith,
    Constant,
    Expression,
    Negation,
    Operation,
    Operator,
    Variable,
    parse_arith,
)
from tests.mistakes import raised

F = Fraction


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/(2*n)", lambda i, n: F(1, 2 * n)),
        ("(-1)^i", lambda i, n: F(-1) if i % 2 else F(1)),
        ("i/n", lambda i, n: F(i, n)),
        ("n*i", lambda i, n: F(n * i)),
        ("1/i^2", lambda i, n: F(1, i * i)),
        ("-i^2", lambda i, n: F(-(i * i))),
        ("-i**2", lambda i, n: F(-(i * i))),
        ("2^-n", lambda i, n: F(1, 2**n)),
        ("2^3^2", lambda i, n: F(512)),
        ("n-i-1", lambda i, n: F(n - i - 1)),
        ("n-(i-1)", lambda i, n: F(n - i + 1)),
        ("n/i/2", lambda i, n: F(n, 2 * i)),
        ("n/(i/2)", lambda i, n: F(2 * n, i)),
        ("2*-i + +3", lambda i, n: F(3 - 2 * i)),
        (" 1 +\u00a0\t2 * i ", lambda i, n: F(1 + 2 * i)),
        ("(2/3)^-2", lambda i, n: F(9, 4)),
        ("0^0", lambda i, n: F(1)),
    ],
)
def test_values(text: str, value: Callable[[int, int], Fraction]) -> None:
    arith = parse_arith(text)
    for n in range(1, 6):
        for i in range(1, n + 1):
            got = arith.evaluate(i=i, n=n)
            assert got == value(i, n)
            assert isinstance(got, Fraction)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" 1 / ( 2 * n ) ", "1/(2*n)"),
        ("(-1)**i", "(-1)^i"),
        ("((i))/n", "i/n"),
        ("1-(2-3)", "1-(2-3)"),
        ("(1-2)-3", "1-2-3"),
        ("i^(2^n)", "i^2^n"),
        ("(i^2)^n", "(i^2)^n"),
        ("2*-i", "2*(-i)"),
        ("--i", "-(-i)"),
        ("-(i*n)", "-(i*n)"),
        ("(-i)*n", "-i*n"),
        ("-(i^2)", "-i^2"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(parse_arith(text)) == canonical
    assert parse_arith(canonical) == parse_arith(text)


def test_structure_not_value_decides_equality() -> None:
    assert parse_arith("i/n") == parse_arith(" i / n")
    assert hash(parse_arith("i/n")) == hash(parse_arith(" i / n"))
    assert parse_arith("i+n") != parse_arith("n+i")
    assert parse_arith("i**2").tree == Operation("^", Variable("i"), Constant(2))


def test_variables_are_those_that_occur() -> None:
    assert parse_arith("i*i+1").variables == {"i"}
    assert parse_arith("3/4").variables == set()
    assert parse_arith("beta*k", {"beta", "k", "n"}).variables == {"beta", "k"}


def test_values_not_needed_are_ignored_and_missing_ones_are_a_defect() -> None:
    assert parse_arith("i+1").evaluate(i=F(1, 2), n=9) == F(3, 2)
    raised(TypeError, parse_arith("i/n").evaluate, i=1, match="no value for the variable 'n' of i/n")


def test_pickled_after_use() -> None:
    arith = parse_arith("(-1)^i/n", name="model")
    arith.evaluate(i=1, n=2)
    again = pickle.loads(pickle.dumps(arith))
    assert again == arith
    assert again.source == arith.source
    assert again.evaluate(i=3, n=4) == F(-1, 4)


OPERATORS: list[Operator] = ["+", "-", "*", "/", "^"]
TREES: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.builds(Constant, st.integers(0, 30)), st.builds(Variable, st.sampled_from(["i", "n"]))),
    lambda inner: st.one_of(st.builds(Negation, inner), st.builds(Operation, st.sampled_from(OPERATORS), inner, inner)),
    max_leaves=12,
)


@given(TREES)
def test_text_parses_to_the_same_tree(tree: Expression) -> None:
    assert parse_arith(str(Arith(tree))).tree == tree


def error_of(text: str) -> SourceError:
    return raised(SourceError, lambda: parse_arith(text, ("i", "n"), "--tau").evaluate(i=3, n=3))


@pytest.mark.parametrize(
    ("text", "column", "carets", "message"),
    [
        ("", 1, 1, "the expression is empty"),
        ("  ", 1, 1, "the expression is empty"),
        ("1/", 3, 1, "missing operand after '/'"),
        ("*2", 1, 1, "missing operand before '*'"),
        ("1/*2", 3, 1, "missing operand after '/'"),
        ("()", 2, 1, "missing operand after '('"),
        ("2n", 2, 1, "missing operator before 'n'"),
        ("(1 2)", 4, 1, "missing operator before '2'"),
        ("(1+(2)", 1, 1, "this bracket is never closed"),
        ("1)", 2, 1, "this bracket closes nothing"),
        ("1/xyz", 3, 3, "unknown name 'xyz'"),
        ("1 % 2", 3, 1, "unknown operator '%'"),
        ("0.25*n", 1, 4, "numbers are exact: integers and quotients of integers"),
        ("1.2.3", 1, 5, "numbers are exact: integers and quotients of integers"),
        # a long line is cut after 160 characters, and carets go on under the "..."
        ("1" * 1001, 1, 163, "an integer of more than 1000 digits"),
        ("1" + "+1" * 101, 202, 1, "more than 100 operators and brackets in one expression"),
        ("(" * 100_000, 101, 1, "more than 100 operators and brackets in one expression"),
        ("1/(n-i)", 2, 1, "division by zero at i = 3, n = 3"),
        ("1/0", 2, 1, "division by zero"),
        ("i^(1/2)", 2, 1, "the exponent 1/2 is not an integer at i = 3"),
        ("0^(-i)", 2, 1, "division by zero (a negative power of 0) at i = 3"),
        ("n^10^10", 2, 1, "a power of more than 100000 bits at n = 3"),
        ("(1/n)^(10^9)", 6, 1, "a power of more than 100000 bits at n = 3"),
    ],
)
def test_errors(text: str, column: int, carets: int, message: str) -> None:
    lines = str(error_of(text)).split("\n")
    assert lines[0] == f"--tau:1:{column}: error: {message}"
    assert lines[2].count("^") == carets
    if column <= 80:
        assert lines[2].index("^") == column + 1


def test_hints() -> None:
    assert error_of("0.25*n").hint == "write 1/4"
    assert error_of("2n").hint == "a product is written with *: 2*n"
    assert error_of("1/x").expected == "an integer, a variable or an opening bracket (variables: i, n)"


def test_powers_of_units_are_never_huge() -> None:
    assert parse_arith("(-1)^(10^30)").evaluate() == 1
    assert parse_arith("(-1)^-(10^30+1)").evaluate() == -1


def test_the_deepest_expression() -> None:
    text = "(" * (MAX_OPERATIONS // 2) + "1" + "+1)" * (MAX_OPERATIONS // 2)
    arith = parse_arith(text)
    assert arith.evaluate() == MAX_OPERATIONS // 2 + 1
    assert pickle.loads(pickle.dumps(arith)) == arith
    negations = parse_arith("-" * MAX_OPERATIONS + "n")
    assert negations.evaluate(n=5) == 5
