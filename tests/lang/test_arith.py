"""Exact rational expressions: values compared with Python's Fractions, printing, errors."""

import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hardsim.errors import Source
from hardsim.lang.arith import (
    MAX_OPERATIONS,
    Application,
    Complement,
    Constant,
    Expression,
    Indicator,
    Negation,
    Operation,
    Operator,
    Rational,
    Variable,
    linear_form,
    read_tree,
)
from hardsim.lang.reals import FUNCTIONS
from tests.support.language import Arith, SourceError, parse_arith
from tests.support.mistakes import raised

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
        ("i div 2", lambda i, n: F(i // 2)),
        ("-i/2 div 1", lambda i, n: F(-((i + 1) // 2))),
        ("i + 1 mod 2", lambda i, n: F(i + 1)),
        ("(i/2) mod (1/3)", lambda i, n: F(i, 2) - F(1, 3) * (3 * i // 2)),
        ("[i = n]", lambda i, n: F(i == n)),
        ("[i ≤ 2] + [i ≠ 3]/2", lambda i, n: F(i <= 2) + F(i != 3) / 2),
        ("[i = 1 or not i < n and n mod 2 == 0]", lambda i, n: F(i == 1 or (i >= n and n % 2 == 0))),
        ("[i > 1 and 1/(i-1) >= 1/2]", lambda i, n: F(2 <= i <= 3)),
        ("[not (i = 1 or i = n)]*[[i = 2] = 1]", lambda i, n: F(i == 2 and n != 2)),
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
        ("[i==-1]", "[i = -1]"),
        ("1 div(i mod 2)", "1 div (i mod 2)"),
        ("[((i≤1)and(n>1 or i=2))]", "[i <= 1 and (n > 1 or i = 2)]"),
        ("[not((not i=1)and n=1)]", "[not (not i = 1 and n = 1)]"),
        ("[(i = 1 or n = 1) or (i = 2 or n = 2)]", "[i = 1 or n = 1 or (i = 2 or n = 2)]"),
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


@pytest.mark.parametrize(
    "text", ["i/n", "(i/n)^2", "i/n^2", "1/(6*n^2)", "3 - 2*i", "-(i - n)*i/-4", "(i*n)^0", "i^(2*2)"]
)
def test_polynomials_have_rows(text: str) -> None:
    arith = parse_arith(text)
    for positions in (range(9), range(1, 4)):
        assert arith.row(positions, 5) == [arith.evaluate(i=i, n=5) for i in positions]


@pytest.mark.parametrize(
    "text", ["(-1)^i", "1/(i+1)", "[i > 0]/n", "i/(n-5)", "2^-1", "i^5", "(2^64)^2*i", "sqrt(i)", "i mod n", "i + k"]
)
def test_other_expressions_have_no_rows(text: str) -> None:
    assert parse_arith(text, variables="ink").row(range(1, 4), 5) is None


OPERATORS: list[Operator] = ["+", "-", "*", "/", "div", "mod", "^"]
COMPARED: list[Operator] = ["<", "<=", "=", "!=", ">=", ">"]
LOGICAL: list[Operator] = ["and", "or"]


def conditions(numbers: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    compared = st.builds(Operation, st.sampled_from(COMPARED), numbers, numbers)
    either = st.one_of(compared, st.builds(Complement, compared))
    joined = st.builds(Operation, st.sampled_from(LOGICAL), either, either)
    return st.one_of(
        either, joined, st.builds(Complement, joined), st.builds(Operation, st.just("and"), joined, joined)
    )


TREES: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.builds(Constant, st.integers(0, 30)), st.builds(Variable, st.sampled_from(["i", "n"]))),
    lambda inner: st.one_of(
        st.builds(Negation, inner),
        st.builds(Application, st.sampled_from(FUNCTIONS), inner),
        st.builds(Operation, st.sampled_from(OPERATORS), inner, inner),
        st.builds(Indicator, conditions(inner)),
    ),
    max_leaves=6,
)


@given(TREES, st.integers(1, 9))
def test_rows_are_the_values_at_their_positions(tree: Expression, n: int) -> None:
    arith = Arith(tree)
    row = arith.row(range(n + 1), n)
    assert row is None or row == [arith.evaluate(i=i, n=n) for i in range(n + 1)]


@given(TREES)
def test_text_parses_to_the_same_tree(tree: Expression) -> None:
    text = str(Arith(tree))
    assume(len(text) <= MAX_OPERATIONS)  # so it has no more operators and brackets either
    assert parse_arith(text).tree == tree


NUMBERS = st.one_of(st.integers(-20, 20), st.fractions(-3, 3, max_denominator=20))


@given(NUMBERS)
def test_a_number_is_the_expression_that_its_text_is(number: Rational) -> None:
    assert Arith.of(number) == parse_arith(str(number))
    assert Arith.of(number).evaluate() == number


@pytest.mark.parametrize(
    ("op", "operation"), [("*", operator.mul), ("/", operator.truediv), ("^", operator.pow)], ids=["*", "/", "^"]
)
@given(TREES, st.one_of(NUMBERS, TREES))
def test_arithmetic_gives_the_tree_of_the_text(
    op: str, operation: Callable[[Any, Any], Any], tree: Expression, other: Rational | Expression
) -> None:
    """Both orders of the operands, except that a power has no number as its base; the result is printed and read
    again, and its value is that of the operation on the values."""
    left, right = Arith(tree), other if isinstance(other, int | F) else Arith(other)
    for one, two in [(left, right), (right, left)][: 1 if op == "^" else 2]:
        found, text = operation(one, two), f"({one}){op}({two})"
        assume(len(text) <= MAX_OPERATIONS)
        assert found == parse_arith(text) == parse_arith(str(found))
    if op == "^" or found.irrational:
        return
    try:
        values = [Arith.of(part).evaluate(i=2, n=3) for part in (one, two)]
        expected = operation(*values)
    except (SourceError, ZeroDivisionError):
        return
    assert found.evaluate(i=2, n=3) == expected


def test_errors_cite_the_operand_that_was_written() -> None:
    error = raised(SourceError, (F(1, 2) * parse_arith("1/(n-3)", name="--tau")).evaluate, n=3)
    assert str(error) == str(raised(SourceError, parse_arith("1/(n-3)", name="--tau").evaluate, n=3))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("7", (0, 0, 7)),
        ("i", (1, 0, 0)),
        ("-n", (0, -1, 0)),
        ("2*i - n + 1", (2, -1, 1)),
        ("3*(n - (i - 1)*2) - -i", (-5, 3, 6)),
        ("(1 - 3)*-2*(i + 1)", (4, 0, 4)),
        ("i*0*n", (0, 0, 0)),
        ("i*n", None),
        ("i/2", None),
        ("i mod 2 + n", None),
        ("i^1", None),
        ("[i = n]", None),
        ("m + i", None),
    ],
)
def test_linear_forms(text: str, form: tuple[int, ...] | None) -> None:
    assert linear_form(parse_arith(text, ("i", "n", "m")).tree, ("i", "n")) == form


def error_of(text: str) -> SourceError:
    return raised(SourceError, lambda: parse_arith(text, ("i", "n"), "--tau").evaluate(i=3, n=3))


@pytest.mark.parametrize(
    ("text", "column", "carets", "message"),
    [
        ("", 1, 1, "the expression is empty"),
        ("  ", 1, 1, "the expression is empty"),
        ("1/", 3, 1, "missing operand after /"),
        ("*2", 1, 1, "missing operand before *"),
        ("1/*2", 3, 1, "missing operand after /"),
        ("()", 2, 1, "nothing between the brackets"),
        ("2*[ ]", 5, 1, "nothing between the brackets"),
        ("2n", 2, 1, "missing operator before n"),
        ("(1 2)", 4, 1, "missing operator before 2"),
        ("(1+(2)", 1, 1, "this bracket is never closed: ("),
        ("1)", 2, 1, "this bracket closes nothing: )"),
        ("[i = n)", 7, 1, ") does not close ["),
        ("(i]", 3, 1, "] does not close ("),
        ("1 + [i", 5, 1, "this bracket is never closed: ["),
        ("1/xyz", 3, 3, "unknown name 'xyz'"),
        ("1/log n", 3, 3, "log without brackets"),
        ("sqrt()", 6, 1, "nothing between the brackets"),
        ("sqrt[i]", 1, 4, "sqrt without brackets"),
        ("log(1, 2)", 6, 1, "unknown operator ,"),
        ("log(i = n)", 4, 7, "(i = n) is a condition, and a number is needed here"),
        ("1 % 2", 3, 1, "unknown operator %"),
        ("0.25*n", 1, 4, "not an integer"),
        ("1.2.3", 1, 5, "not an integer"),
        # a long line is cut after 160 characters, and carets go on under the "..."
        ("1" * 1001, 1, 163, "an integer of more than 1000 digits"),
        ("1" + "+1" * 101, 202, 1, "more than 100 operators and brackets in one expression"),
        ("(" * 100_000, 101, 1, "more than 100 operators and brackets in one expression"),
        ("1/(n-i)", 2, 1, "division by zero in 1 / 0, at i = 3, n = 3"),
        ("1/0", 2, 1, "division by zero in 1 / 0"),
        ("1 div (i-3)", 3, 3, "division by zero in 1 div 0, at i = 3"),
        ("(1/2) mod (i-3)", 7, 3, "division by zero in (1/2) mod 0, at i = 3"),
        ("i^(1/2)", 2, 1, "an exponent that is not an integer in 3 ^ (1/2), at i = 3"),
        ("0^(-i)", 2, 1, "division by zero in 0 ^ (-3), at i = 3"),
        ("n^10^10", 2, 1, "a power of more than 100000 bits in 3 ^ 10000000000, at n = 3"),
        ("2^(1/10^9999)", 2, 1, "an exponent that is not an integer in 2 ^ ..."),
        ("(1/n)^(10^9)", 6, 1, "a power of more than 100000 bits in (1/3) ^ 1000000000, at n = 3"),
    ],
)
def test_errors(text: str, column: int, carets: int, message: str) -> None:
    lines = str(error_of(text)).split("\n")
    assert lines[0] == f"--tau:1:{column}: error: {message}"
    assert lines[2].count("^") == carets
    if column <= 80:
        assert lines[2].index("^") == column + 1


def test_hints() -> None:
    assert error_of("0.25*n").hint == "numbers are exact: write 1/4"
    assert error_of("1.2.3").hint == "numbers are exact: integers and their quotients"
    assert error_of("2n").hint == "a product is written *: 2*n"
    assert error_of("1 % i").hint == "the remainder is written mod"
    assert error_of("PRIME(i)/2").hint == "the functions are log, sqrt, exp; each takes one number"
    assert error_of("logs(i)/2").hint == "did you mean log?"
    assert error_of("2*(i < n)").hint == "write [(i < n)] for 1 where it holds and 0 elsewhere"
    assert error_of("[i]").hint == "compare it with something, as in i mod 2 == 0"


@pytest.mark.parametrize("text", ["", "1/x", "(1 + )", "2*()", "foo"])
@pytest.mark.parametrize("names", [("i", "n"), ("len",), (), ("log", "n")])
def test_everything_is_expected_that_an_operand_begins_with(text: str, names: tuple[str, ...]) -> None:
    """An operand begins with what is listed, and with nothing else."""
    expected = raised(SourceError, parse_arith, text, names).expected.replace(" or ", ", ").split(", ")
    functions = [name for name in ("log", "sqrt", "exp") if name not in names]
    assert expected == ["an integer", *sorted(names), *functions, "a sign", "an opening bracket"]
    for start in ("2", *names, *(f"{name}(4)" for name in functions), "-1", "+1", "(1)", "[1 = 2]"):
        parse_arith(f"3*({start})", names)
    for start in ("*1", "div 1", "^1", "=1", ")", "]", "% 1", "not 1"):
        raised(SourceError, parse_arith, start, names)


def test_everything_is_expected_that_an_operand_of_a_condition_begins_with() -> None:
    for text in ("", "i < ", "() < 1"):
        error = raised(SourceError, read_tree, Source("f", text), 0, text, ("i", "n"), "condition")
        assert error.expected == "an integer, i, n, a sign, not or an opening bracket"
    for text in ("2 = 2", "i < n", "-1 < i", "+1 < i", "not i < n", "(i) < (n)"):
        read_tree(Source("f", text), 0, text, ("i", "n"), "condition")


def test_powers_of_units_are_never_huge() -> None:
    assert parse_arith("(-1)^(10^30)").evaluate() == 1
    assert parse_arith("(-1)^-(10^30+1)").evaluate() == -1


def test_the_deepest_expression() -> None:
    text = "(" * (MAX_OPERATIONS // 2) + "1" + "+1)" * (MAX_OPERATIONS // 2)
    arith = parse_arith(text)
    assert arith.evaluate() == MAX_OPERATIONS // 2 + 1
    assert pickle.loads(pickle.dumps(arith)) == arith
    assert parse_arith("-" * MAX_OPERATIONS + "n").evaluate(n=5) == 5
