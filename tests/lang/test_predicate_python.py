"""Conditions of `pred` lines against Python's own evaluation of the same text."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import SourceError
from hardsim.lang.parse import parse_text
from hardsim.lang.predicate import OwnPredicate, user_predicates


def predicate(condition: str) -> OwnPredicate:
    return user_predicates(parse_text(f"alphabet: a\npred P(i, n) = {condition}\nP"))["P"]


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


class BeyondError(Exception):
    """Python's value is beyond the limits here, or it has none."""


@dataclass(frozen=True, order=True)
class Bounded:
    """An integer that raises BeyondError where a condition must be refused."""

    value: int

    def __post_init__(self) -> None:
        if abs(self.value) > 10**18:
            raise BeyondError

    def __add__(self, other: Bounded) -> Bounded:
        return Bounded(self.value + other.value)

    def __sub__(self, other: Bounded) -> Bounded:
        return Bounded(self.value - other.value)

    def __mul__(self, other: Bounded) -> Bounded:
        return Bounded(self.value * other.value)

    def __floordiv__(self, other: Bounded) -> Bounded:
        if other.value == 0:
            raise BeyondError
        return Bounded(self.value // other.value)

    def __mod__(self, other: Bounded) -> Bounded:
        if other.value == 0:
            raise BeyondError
        return Bounded(self.value % other.value)

    def __pow__(self, other: Bounded) -> Bounded:
        if other.value < 0 or (abs(self.value) >= 2 and other.value > 100):
            raise BeyondError
        return Bounded(self.value**other.value)

    def __neg__(self) -> Bounded:
        return Bounded(-self.value)

    def __pos__(self) -> Bounded:
        return self


def by_python(text: str, value: int, n: int) -> bool | None:
    """The value of Python's own reading of a generated text; None where it must be refused."""
    source = re.sub(r"[0-9]+", r"Bounded(\g<0>)", text)
    try:
        return bool(eval(source, {"Bounded": Bounded, "i": Bounded(value), "n": Bounded(n)}))
    except BeyondError:
        return None


@given(CONDITIONS, st.integers(-9, 9), st.integers(1, 9))
def test_conditions_agree_with_python(text: Text, value: int, n: int) -> None:
    expected = by_python(text.python, value, n)
    holds = predicate(text.own)
    if expected is None:
        with pytest.raises(SourceError, match=f"at i = {value}, n = {n}(\n|$)"):
            holds(value, n)
    else:
        assert holds(value, n) is expected
