"""Irrational numbers: enclosures compared with mpmath, exact cases, undecided comparisons, and where they are
refused.
"""

import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardsim.lang.predicate import user_predicates
from hardsim.lang.reals import LARGEST_ARGUMENT, Function, Real, RealNumber, SignUnknown, apply, bounds, compare, sign
from tests.support.language import Arith, SourceError, parse_arith, parse_text
from tests.support.mistakes import raised
from tests.support.reals import between, context, mp_value

F = Fraction
THREE = apply("log", 3)


def grown(op: str, left: RealNumber, right: RealNumber) -> RealNumber | None:
    """Return the node of an operator over two numbers; None if it has no value, or too large a one."""
    try:
        match op:
            case "+":
                return left + right
            case "*":
                return left * right
            case "-":
                return left - right
            case "/":
                return left / right if isinstance(left, Real) else F(left) / right
            case "^":
                return left**2
            case "log" | "sqrt" | "exp" as name:
                small = abs(float(mp_value(left))) < 50
                return apply(name, left) if small else None
    except (ValueError, ZeroDivisionError, SignUnknown):
        return None
    raise AssertionError(op)


OPS = st.sampled_from(["+", "*", "-", "/", "^", "log", "sqrt", "exp"])
NUMBERS: st.SearchStrategy[RealNumber] = st.fractions(min_value=-20, max_value=20, max_denominator=30)


@st.composite
def expressions(draw: st.DrawFn) -> RealNumber:
    """Draw an expression of a few steps."""
    known: list[RealNumber] = [draw(NUMBERS), draw(NUMBERS), THREE]
    for _ in range(draw(st.integers(1, 6))):
        found = grown(draw(OPS), draw(st.sampled_from(known)), draw(st.sampled_from(known)))
        if found is not None and abs(mp_value(found)) < 10**9:
            known.append(found)
    return known[-1]


@settings(deadline=None)
@given(expressions(), st.sampled_from([10, 64, 96, 150]))
def test_enclosures_contain_what_mpmath_finds(value: RealNumber, bits: int) -> None:
    low, high = bounds(value, bits)
    assert low <= high
    assert between(low, mp_value(value), high)
    if isinstance(value, Real) and abs(mp_value(value)) > F(1, 10**6):
        assert (high - low) * 2 ** (bits - 2) <= max(abs(low), abs(high))


@settings(deadline=None)
@given(expressions(), expressions())
def test_comparisons_are_those_of_mpmath(left: RealNumber, right: RealNumber) -> None:
    apart = mp_value(left) - mp_value(right)
    assume(abs(apart) > context.mpf(10) ** -40)
    assert compare(left, right) == (1 if apart > 0 else -1)


@pytest.mark.parametrize(
    ("function", "argument", "value"),
    [
        ("log", 1, 0),
        ("exp", 0, 1),
        ("sqrt", 0, 0),
        ("sqrt", 4, 2),
        ("sqrt", F(9, 49), F(3, 7)),
        ("sqrt", 10**40, 10**20),
    ],
)
def test_what_is_rational_is_exact(function: Function, argument: RealNumber, value: RealNumber) -> None:
    assert apply(function, argument) == value
    assert not isinstance(apply(function, argument), Real)


@pytest.mark.parametrize(("function", "argument"), [("log", 2), ("exp", 1), ("sqrt", 2), ("sqrt", 10**40 + 1)])
def test_what_is_irrational_is_no_rational(function: Function, argument: int) -> None:
    low, high = bounds(apply(function, argument))
    assert low < high
    # The square of an enclosure of a root is on both sides of what the root is of.
    assert function != "sqrt" or low**2 < argument < high**2


@pytest.mark.parametrize(
    "take", [Fraction, float, int, operator.index, lambda x: x < 1, lambda x: x >= 1, lambda x: x + 0.5]
)
def test_nothing_takes_it_for_a_rational(take: Callable[[Any], Any]) -> None:
    raised(TypeError, take, THREE)
    assert not hasattr(THREE, "numerator")


def test_zero_that_does_not_say_so_stays_open() -> None:
    hidden = parse_arith("log(6)-log(2)-log(3)").real()
    raised(SignUnknown, sign, hidden)
    raised(SignUnknown, lambda: 1 / hidden)
    low, high = bounds(hidden)
    assert low <= 0 <= high
    assert high - low < F(1, 2**1000)
    for text in ("[log(6) = log(2)+log(3)]", "sqrt(log(6)-log(2)-log(3))", "1/(log(4)-2*log(2))"):
        assert "the sign of a number is unknown" in raised(SourceError, parse_arith(text).real).message


def test_equal_expressions_are_one_number_also_as_keys() -> None:
    first, again = parse_arith("log(n+1)/n", name="a").real(n=4), parse_arith("log( n + 1 )/n", name="b").real(n=4)
    assert first == again
    assert hash(first) == hash(again)
    assert first != parse_arith("log(n+1)/n").real(n=5)
    assert compare(first, again) == 0
    assert len({first, again, first * 1, first + 0}) == 1
    assert pickle.loads(pickle.dumps(first)) == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("log(i-3)", "the logarithm of a number that is not positive: log(0), at i = 3"),
        ("1+log(-n)", "the logarithm of a number that is not positive: log(-3), at n = 3"),
        ("sqrt(1-i)", "the square root of a negative number: sqrt(-2), at i = 3"),
        ("log(log(1/2))", "the logarithm of a number that is not positive: log(about -0.693147)"),
        (f"exp({LARGEST_ARGUMENT}+i)", f"an argument beyond 65,536 in exp({LARGEST_ARGUMENT + 3}), at i = 3"),
        ("2^log(n)", "an exponent that is not an integer in 2 ^ (about 1.09861), at n = 3"),
        ("log(n) mod 2", "a number that is not rational in (about 1.09861) mod 2, at n = 3"),
        ("5 div sqrt(2)", "a number that is not rational in 5 div (about 1.41421)"),
        ("exp(60000)^(10^9)", "a power of more than 100000 bits in (about"),
    ],
)
def test_what_has_no_value_says_where(text: str, message: str) -> None:
    assert message in raised(SourceError, parse_arith(text).real, i=3, n=3).message


def test_exact_values_refuse_functions_by_name() -> None:
    error = raised(SourceError, parse_arith("n*log(n)", name="model: encodings[0]").evaluate, n=2)
    assert error.message == "log makes this value irrational, and an exact number is needed here, at n = 2"
    assert parse_arith("n*log(n)").evaluate(n=1) == 0
    assert parse_arith("sqrt(n^2)").evaluate(n=7) == 7


@pytest.mark.parametrize("text", ["log(k) < n", "k < sqrt(n)", "exp(k) == n"])
def test_predicates_are_of_integers(text: str) -> None:
    file = f"alphabet: a\npred P(k, n) = {text}\nP\n"
    error = raised(SourceError, lambda: user_predicates(parse_text(file)))
    assert "unknown name" in error.message
    assert "a condition is of integers" in (error.hint or "")


@pytest.mark.parametrize(
    "text", ["log(n + 1)", "sqrt(i)^2*n", "1/exp(-i)", "-log(n)", "log(sqrt(exp(i/n)))", "2*(-sqrt(2))", "exp(i)^-2"]
)
def test_round_trips(text: str) -> None:
    arith = parse_arith(text)
    assert parse_arith(str(arith)) == arith
    assert parse_arith(str(arith)).real(i=2, n=5) == arith.real(i=2, n=5)
    assert arith.irrational
    assert Arith(arith.tree).irrational
