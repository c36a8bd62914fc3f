"""Expressions of certificates have the values of exact arithmetic, and no other text is accepted."""

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import TypeVar

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hardsim.verify.arithmetic import Rejected
from hardsim.verify.expressions import evaluate, expression, is_prime
from tests.support.certificate_definitions import NoValueError, value_of
from tests.support.mistakes import raised

WORDS = ["10", "//", "**", "<=", "==", "!=", ">=", "and", "or", "not", "PRIME(", "SQUARE(", "POW2("]
TOKENS = [*"01237inx+-*/%<>()", *WORDS]
Test = TypeVar("Test", bound=Callable[..., None])


def also(*cases: tuple[object, ...]) -> Callable[[Test], Test]:
    """Return a decorator with examples that are always tried."""
    return lambda test: reduce(lambda found, case: example(*case)(found), cases, test)


def numbers(depth: int) -> st.SearchStrategy[str]:
    """Draw texts of numbers, with brackets only where a random choice puts them."""
    atom = st.sampled_from(["0", "1", "2", "3", "12", "i", "n", "x", "007" if depth < 0 else "5"])
    if depth == 0:
        return atom
    inner = numbers(depth - 1)
    return st.one_of(
        atom,
        st.builds("{}{}{}".format, inner, st.sampled_from([*"+-*/%", " // ", "//", " - "]), inner),
        st.builds("{}**{}".format, inner, st.sampled_from(["2", "3", "-1", "i", "(1)", "-i", "2**2"])),
        st.builds("{}{}".format, st.sampled_from(["-", "+", "--", "- "]), inner),
        st.builds("({})".format, inner),
    )


def truths(depth: int) -> st.SearchStrategy[str]:
    """Draw texts of truth values."""
    compared = st.sampled_from(["<", "<=", "==", "!=", ">=", ">"])
    number = numbers(2)
    atom = st.one_of(
        st.builds("{} {} {}".format, number, compared, number),
        st.builds("{}{}{}{}{}".format, number, compared, number, compared, number),
        st.builds("{}({})".format, st.sampled_from(["PRIME", "SQUARE", "POW2"]), number),
    )
    if depth == 0:
        return atom
    inner = truths(depth - 1)
    return st.one_of(
        atom,
        st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("not {}".format, inner),
        st.builds("({})".format, inner),
    )


def found(text: str, **names: int) -> Fraction | bool | None:
    """Return the checker's value of a text; None if it rejects the text."""
    try:
        what = expression(text)
        value = evaluate(what, lambda work: None, **names)
    except Rejected as error:
        assume("too large" not in str(error))
        return None
    return bool(value) if what.truth else value


def expected(text: str, **names: int) -> Fraction | bool | None:
    try:
        return value_of(text, **names)
    except NoValueError:
        return None


@given(st.one_of(numbers(3), truths(2)), st.integers(1, 9), st.integers(1, 9), st.integers(-3, 5))
@also(("-2**2", 1, 1, 1), ("2**-1", 1, 1, 1), ("1 < 2 == 2", 1, 1, 1), ("not 1 < 2 and 3 < 2 or 1 == 1", 1, 1, 1))
@also(("x != 0 and n % x == 0", 1, 4, 0), ("-7 // 2 * 2 % 5", 1, 1, 1), ("(-1)**i*i**2/(3*n)", 3, 5, 1))
@also(
    ("0**3**i", 9, 1, 1),
    ("1**2**2**i", 4, 1, 0),
    ("n % 3 == 2 and not i > 4", 4, 5, 1),
    ("i - 49*((i//1)/(49//1))", 1, 1, 1),
)
def test_values_are_those_of_exact_arithmetic(text: str, i: int, n: int, x: int) -> None:
    assert found(text, i=i, n=n, x=x) == expected(text, i=i, n=n, x=x)
    assert type(found(text, i=i, n=n, x=x)) is type(expected(text, i=i, n=n, x=x))


@given(st.lists(st.sampled_from(TOKENS), max_size=9).map(" ".join), st.integers(1, 5), st.integers(1, 5))
def test_whatever_has_a_value_has_the_exact_one(text: str, i: int, n: int) -> None:
    value = found(text, i=i, n=n, x=2)
    # A branch that is never evaluated may mix Booleans and numbers in Python, but not in the checker.
    assert value is None or value == expected(text, i=i, n=n, x=2)


@given(st.text(max_size=12))
@also(("i\u0661",), ("\u0661",), ("\uff49",), ("1.5",), ("1e9",), ("0x10",), ("1_0",), ("True",), ("",), ("PRIME",))
@also(("i if n else 1",), ("(i for i in n)",), ("[i]",), ("__import__('os')",), ("i;n",), ("i := 3",), ("0**-1",))
@also(("PRIME(1, 2)",), ("1 == not i < 2",), ("(i < n) + 1",), ("(i < n) == (n < i)",), ("i and n",), ("not i",))
@also(("-(i < n)",), ("PRIME(i < n)",), ("2**(1/2)",), ("SQUARE(1/4)",))
def test_other_texts_are_rejected_or_mean_the_same(text: str) -> None:
    value = found(text, i=2, n=3, x=4)
    assert value is None or value == expected(text, i=2, n=3, x=4)


@pytest.mark.parametrize(
    "text",
    [
        "2**(10**9)",
        "(((9**999)**999)**999)",
        "9**9**9**9",
        "2**-(10**9)",
        "n**n**n**n**n",
        "*".join(["9**999"] * 9),
        "(" * 101 + "1" + ")" * 101,
        "2**" * 101 + "1",
        "9" * 2001,
        "PRIME(10**30)",
        "i + " * 5000 + "i",
    ],
)
def test_what_would_take_long_is_rejected_at_once(text: str) -> None:
    raised(Rejected, lambda: evaluate(expression(text), i=200, n=256, x=3), match="too large")


def test_long_flat_expressions_are_no_problem() -> None:
    assert evaluate(expression("+".join(["i"] * 3000)), i=2) == 6000
    assert evaluate(expression("not " * 3000 + "i == 2"), i=2) == 1
    assert evaluate(expression("-" * 3001 + "i"), i=2) == -2
    assert evaluate(expression("(-1)**(10**999 + i)"), i=1) == -1


def test_large_numbers_count_as_work() -> None:
    work = list[int]()
    evaluate(expression("3**i"), work.append, i=200)
    evaluate(expression("i + 1"), work.append, i=200)
    assert work[0] - work[1] == (3**200).bit_length() // 64


def test_primes() -> None:
    sieve = [x for x in range(3000) if x > 1 and all(x % d for d in range(2, int(x**0.5) + 1))]
    assert [x for x in range(-5, 3000) if is_prime(x)] == sieve
    # Strong pseudoprimes to the first bases (Jaeschke 1993), a Mersenne prime, a product of two primes.
    assert not any(map(is_prime, (2047, 1373653, 25326001, 3215031751, 3825123056546413051, (2**31 - 1) ** 2)))
    assert is_prime(2**61 - 1)
