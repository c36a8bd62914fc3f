"""Conditions of `pred` lines: values against Python's own, limits, and every mistake with its place in the file."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.ast import FormulaFile, Predicate, UserPredicate
from hardsim.lang.parse import parse_text
from hardsim.lang.predicate import MAX_VALUE, OwnPredicate, compile_predicate, user_predicates
from hardsim.lang.pretty import format_file
from hardsim.lang.semantics import Oracle, accepts, truth

HEAD = "// A title\nalphabet: a b\npred P(i, n) = "
COLUMN = 16
"""The column of the first character of the condition, in line 3."""


def file_of(condition: str, formula: str = "P") -> FormulaFile:
    return parse_text(f"{HEAD}{condition}\n{formula}", "f.ltl")


def predicate(condition: str) -> OwnPredicate:
    return user_predicates(file_of(condition))["P"]


def error_of(condition: str, value: int = 3, n: int = 7) -> SourceError:
    with pytest.raises(SourceError) as caught:
        predicate(condition)(value, n)
    return caught.value


@pytest.mark.parametrize(
    ("condition", "members"),
    [
        ("2*i == n + 1", {4}),
        ("2*i = n + 1", {4}),
        ("2*i ≠ n + 1", {-3, -2, -1, 0, 1, 2, 3, 5, 6, 7}),
        ("i ≤ 2 or i ≥ n", {-3, -2, -1, 0, 1, 2, 7}),
        ("not (i < 0 or i > 2)", {0, 1, 2}),
        ("not i < 0 and not i > 2", {0, 1, 2}),
        ("i == 1 or i == 2 and i == 3", {1}),
        ("i mod 3 == 0", {-3, 0, 3, 6}),
        ("i mod -3 == -1", {-1, 2, 5}),
        ("i div 2 == -1", {-2, -1}),
        ("-i div 2 == -1", {1, 2}),
        ("i - 1 - 1 == 0", {2}),
        ("i - (1 - 1) == 0", {0}),
        ("n div 2 div 2 * i == 3", {3}),
        ("i ** 2 == 9", {-3, 3}),
        ("-i ** 2 == -9", {-3, 3}),
        ("2 ** 3 ** 2 == 512 and i == 0", {0}),
        ("0 ** 0 == 1 and i == 0", {0}),
        ("- -i == +5", {5}),
        ("i != 0 and n mod i == 0", {-1, 1, 7}),
        ("i == 0 or n mod i == 0", {-1, 0, 1, 7}),
        ("(-1) ** 10**18 == i", {1}),
        ("i != 0 and (-1) ** (10**18 - 1) == i", {-1}),
        ("((((i)))) == ((2))", {2}),
        ("i\u00a0==\t2", {2}),
        ("i*i - 10**18 == -1", {-1, 1}),
    ],
)
def test_what_a_condition_means(condition: str, members: set[int]) -> None:
    holds = predicate(condition)
    assert {value for value in range(-3, 8) if holds(value, 7)} == members
    assert all(type(holds(value, 7)) is bool for value in range(-3, 8))


# ---- against Python's own evaluation ----


@dataclass(frozen=True)
class Text:
    """A condition as it is written here and as Python writes it."""

    own: str
    python: str


def leaf() -> st.SearchStrategy[Text]:
    return st.one_of(
        st.sampled_from([Text("i", "i"), Text("n", "n")]),
        st.integers(0, 12).map(lambda value: Text(str(value), str(value))),
    )


def joined(left: Text, op: str, right: Text) -> Text:
    python = {"div": "//", "mod": "%", "=": "=="}.get(op, op)
    return Text(f"{left.own} {op} {right.own}", f"{left.python} {python} {right.python}")


def bracketed(inner: Text) -> Text:
    return Text(f"({inner.own})", f"({inner.python})")


def prefixed(op: str, inner: Text) -> Text:
    return Text(f"{op} {inner.own}", f"{op} {inner.python}")


def numbers() -> st.SearchStrategy[Text]:
    """Numbers without brackets: chains of one precedence level above the next, and brackets as leaves."""
    return st.recursive(
        leaf(),
        lambda inner: st.one_of(
            st.builds(joined, inner, st.sampled_from(["+", "-", "*", "div", "**"]), inner),
            st.builds(joined, inner.map(bracketed), st.just("mod"), inner.map(bracketed)).map(bracketed),
            st.builds(prefixed, st.sampled_from(["-", "+"]), inner),
            inner.map(bracketed),
        ),
        max_leaves=8,
    )


COMPARISONS = st.builds(joined, numbers(), st.sampled_from(["==", "=", "!=", "<", "<=", ">", ">="]), numbers())
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.builds(joined, inner, st.sampled_from(["and", "or"]), inner),
        inner.map(lambda text: prefixed("not", text)),
        inner.map(bracketed),
    ),
    max_leaves=4,
)


class Beyond(Exception):
    """Python's value is beyond the limits here, or it has none."""


class Bounded(int):
    """An integer that raises Beyond where a condition must be refused."""

    def _within(self, value: int) -> Bounded:
        if abs(value) > 10**18:
            raise Beyond
        return Bounded(value)

    def __add__(self, other: int) -> Bounded:
        return self._within(int(self) + int(other))

    def __sub__(self, other: int) -> Bounded:
        return self._within(int(self) - int(other))

    def __mul__(self, other: int) -> Bounded:
        return self._within(int(self) * int(other))

    def __floordiv__(self, other: int) -> Bounded:
        if other == 0:
            raise Beyond
        return self._within(int(self) // int(other))

    def __mod__(self, other: int) -> Bounded:
        if other == 0:
            raise Beyond
        return self._within(int(self) % int(other))

    def __pow__(self, other: int, modulus: int | None = None) -> Bounded:
        if other < 0 or (abs(self) >= 2 and other > 100):
            raise Beyond
        return self._within(int(int(self) ** int(other))) if abs(self) >= 2 else self._unit_power(int(other))

    def _unit_power(self, exponent: int) -> Bounded:
        if exponent == 0:
            return Bounded(1)
        return Bounded(self if exponent % 2 else abs(self))

    def __neg__(self) -> Bounded:
        return Bounded(-int(self))

    def __pos__(self) -> Bounded:
        return Bounded(self)


def by_python(text: str, value: int, n: int) -> bool | None:
    """The value of Python's own reading of a generated text; None where it must be refused."""
    source = "".join(f"B({part})" if part.isdigit() else part for part in _split(text))
    try:
        return bool(eval(source, {"B": Bounded, "i": Bounded(value), "n": Bounded(n)}))
    except Beyond:
        return None


def _split(text: str) -> list[str]:
    return text.replace("(", "( ").replace(")", " )").replace(" ", " \0").split("\0") if False else _tokens(text)


def _tokens(text: str) -> list[str]:
    parts: list[str] = []
    for char in text:
        if char.isdigit() and parts and parts[-1].isdigit():
            parts[-1] += char
        else:
            parts.append(char)
    return parts


@given(CONDITIONS, st.integers(-9, 9), st.integers(1, 9))
def test_conditions_agree_with_python(text: Text, value: int, n: int) -> None:
    expected = by_python(text.python, value, n)
    try:
        holds = predicate(text.own)
    except SourceError as error:
        assert error.message.startswith("mod beside")
        return
    if expected is None:
        with pytest.raises(SourceError, match=f"at i = {value}, n = {n}$"):
            holds(value, n)
    else:
        assert holds(value, n) is expected
