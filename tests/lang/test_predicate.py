"""Conditions of `pred` lines: their meaning, compared with Python's, their limits, and every mistake with its
place.
"""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import Source
from hardsim.lang.ast import Predicate, UserPredicate
from hardsim.lang.lexer import MAX_INTEGER
from hardsim.lang.predicate import OwnPredicate, compile_predicate, user_predicates
from tests.support.language import FormulaFile, Oracle, SourceError, Span, format_file, parse_text
from tests.support.mistakes import raised, read_or_refused

HEAD = "// A title\nalphabet: a b\npred P(i, n) = "
COLUMN = 16
"""The column of the first character of the condition, in line 3."""


def file_of(condition: str, formula: str = "P") -> FormulaFile:
    return parse_text(f"{HEAD}{condition}\n{formula}", "f.ltl")


def predicate(condition: str) -> OwnPredicate:
    return user_predicates(file_of(condition))["P"]


def error_of(condition: str, value: int = 3, n: int = 7) -> SourceError:
    return raised(SourceError, lambda: predicate(condition)(value, n))


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
        ("10**18 - i*i == 10**18 - 1", {-1, 1}),
    ],
)
def test_what_a_condition_means(condition: str, members: set[int]) -> None:
    holds = predicate(condition)
    assert {value for value in range(-3, 8) if holds(value, 7)} == members
    assert all(type(holds(value, 7)) is bool for value in range(-3, 8))


# ---- mistakes ----

SYNTAX = [
    # condition, offset of the caret in it, what the carets are under, message
    ("i", 0, "i", "i is a number, and a condition is needed here"),
    ("n + 2 * i", 0, "n + 2 * i", "n + 2 * i is a number, and a condition is needed here"),
    ("not i", 4, "i", "i is a number, and a condition is needed here"),
    ("i == 1 and (n)", 11, "(n)", "(n) is a number, and a condition is needed here"),
    ("i or n == 1", 0, "i", "i is a number, and a condition is needed here"),
    ("(i == 1) + 1 == 2", 0, "(i == 1)", "(i == 1) is a condition, and a number is needed here"),
    ("1 + (i == 1) == 2", 4, "(i == 1)", "(i == 1) is a condition, and a number is needed here"),
    ("-(i == 1) == 2", 1, "(i == 1)", "(i == 1) is a condition, and a number is needed here"),
    ("i == not n == 1", 5, "not n == 1", "not n == 1 is a condition, and a number is needed here"),
    ("i < n < 3", 6, "<", "comparisons do not chain"),
    ("i + 1 mod 2 == 0", 6, "mod", "mod beside + without brackets"),
    ("i mod 2 - 1 == 0", 2, "mod", "mod beside - without brackets"),
    ("i mod 2 * 3 == 0", 2, "mod", "mod beside * without brackets"),
    ("i mod 2 div 3 == 0", 2, "mod", "mod beside div without brackets"),
    ("2i == n", 1, "i", "missing operator before i"),
    ("i == 1 n", 7, "n", "missing operator before n"),
    ("(i == 1", 0, "(", "this bracket is never closed: ("),
    ("i == 1)", 6, ")", "this bracket closes nothing: )"),
    ("i == ()", 6, ")", "nothing between the brackets"),
    ("i ==", 4, " ", "missing operand after =="),
    ("i == * 2", 5, "*", "missing operand after =="),
    ("== i", 0, "==", "missing operand before =="),
    ("i = and n", 4, "and", "missing operand after ="),
    ("j == 1", 0, "j", "unknown name 'j'"),
    ("EVEN(i)", 0, "EVEN", "unknown name 'EVEN'"),
    ("i == true", 5, "true", "unknown name 'true'"),
    ("i == 1.5", 5, "1.5", "not an integer"),
    ("i == 1000000000000000001", 5, "1000000000000000001", "a number larger than 10^18"),
    ("i % 2 == 0", 2, "%", "unknown operator %"),
    ("i/2 == 0", 1, "/", "unknown operator /"),
    ("i == 0 && n == 1", 7, "&", "unknown operator &"),
    ("i ^ 2 == 0", 2, "^", "unknown operator ^"),
    ("i == ²", 5, "²", "unknown name '²'"),
    ("i == ٣", 5, "٣", "unknown operator ٣"),
    ("#[a] == 1", 0, "#", "unknown operator #"),
    ("i == __import__", 5, "__import__", "unknown name '__import__'"),
    ("i.real == 1", 1, ".", "unknown operator ."),
    ("i == 1; n", 6, ";", "unknown operator ;"),
]


@pytest.mark.parametrize(("condition", "offset", "under", "message"), SYNTAX)
def test_mistakes_are_reported_when_the_file_is_read(condition: str, offset: int, under: str, message: str) -> None:
    caught = raised(SourceError, file_of, condition)
    lines = str(caught).split("\n")
    assert lines[0] == f"f.ltl:3:{COLUMN + offset}: error: {message}"
    assert lines[2] == " " * (2 + COLUMN - 1 + offset) + "^" * len(under)
    span = caught.span
    assert (HEAD + condition + " ")[span.start : span.end].replace("\n", " ") == under


@pytest.mark.parametrize(
    ("condition", "offset", "under", "message"),
    [
        ("n mod (i - 3) == 0", 2, "mod", "P: division by zero in 7 mod 0, at i = 3, n = 7"),
        ("i == n div 0", 7, "div", "P: division by zero in 7 div 0, at i = 3, n = 7"),
        ("2 ** (i - 5) == 1", 2, "**", "P: negative exponent in 2 ** (-2), at i = 3, n = 7"),
        ("1 ** -1 == 1", 2, "**", "P: negative exponent in 1 ** (-1), at i = 3, n = 7"),
        ("9**9**9**9 == i", 4, "**", "P: 9 ** 387420489 is larger than 10^18 in absolute value, at i = 3, n = 7"),
        ("10**18 < 10**18 + i", 16, "+", f"P: {10**18} + 3 is larger than 10^18 in absolute value, at i = 3, n = 7"),
        ("-10**18 - i < 0", 8, "-", f"P: (-{10**18}) - 3 is larger than 10^18 in absolute value, at i = 3, n = 7"),
        ("10**9 * 10**10 == i", 6, "*", f"P: {10**9} * {10**10} is larger than 10^18 in absolute value, at i = 3, n"),
        ("(-2) ** 61 == i", 5, "**", "P: (-2) ** 61 is larger than 10^18 in absolute value, at i = 3, n = 7"),
    ],
)
def test_conditions_without_a_value(condition: str, offset: int, under: str, message: str) -> None:
    lines = str(error_of(condition)).split("\n")
    assert lines[0].startswith(f"f.ltl:3:{COLUMN + offset}: error: {message}")
    assert lines[2] == " " * (2 + COLUMN - 1 + offset) + "^" * len(under)


def test_the_arguments_have_the_same_bound() -> None:
    holds = predicate("n > i")
    assert not holds(MAX_INTEGER, 1)
    assert holds(-MAX_INTEGER, 1)
    larger = r"the argument is larger than 10\^18 in absolute value, at i = -1000000"
    error = raised(SourceError, holds, -MAX_INTEGER - 1, 1, match=larger)
    assert error.span == Span(len(HEAD) + 4, len(HEAD) + 5)


def test_the_largest_values() -> None:
    assert predicate("2 ** 59 < 10 ** 18 and -10 ** 18 < i")(0, 1)
    assert predicate("1000000000000000000 * 1 == 10 ** 18")(0, 1)
    assert predicate("00000000000000000000000000001 == i")(1, 1)
    assert predicate("i ** 1 == i")(MAX_INTEGER, 1)


def test_mistakes_on_later_lines_and_after_comments() -> None:
    text = "alphabet: a\npred P(i, n) = i == 1 // one\n  // more\n  or i ==\n    // two\n  m\nP"
    caught = raised(SourceError, parse_text, text, "f.ltl")
    assert str(caught).startswith("f.ltl:6:3: error: unknown name 'm'\n    m\n    ^\n")
    fixed = parse_text(text.replace("  m\n", "  n\n"), "f.ltl")
    assert Oracle(fixed).truth("aaa") == [True, False, True]
    assert parse_text(format_file(fixed)) == fixed
    ends = parse_text("alphabet: a\npred P(i, n) = i == 1 // 2 ==\nP")
    assert Oracle(ends).truth("aa") == [True, False]


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("i % 2 == 0", "the remainder is written mod"),
        ("i //2 == 0", "// begins a comment; integer division is written div"),
        ("i//2 == 0", "integer division, rounded down, is written div"),
        ("2(i) == 0", "a product is written *: 2*("),
        ("I == 1", "did you mean i?"),
        ("i == 1 AND n == 1", ""),
        ("AND == 1", "did you mean and?"),
        ("MIDDLE(i)", "a condition cannot call functions or other predicates"),
        ("1 < i < n", "join two comparisons with and, as in 1 < i and i < n"),
        ("i mod 2", "compare it with something, as in i mod 2 == 0"),
        ("i + 1 mod 2 == 0", "write i + (k mod m) or (i + k) mod m"),
    ],
)
def test_hints(condition: str, hint: str) -> None:
    assert error_of(condition).hint == hint


def test_an_argument_cannot_be_an_operator() -> None:
    caught = raised(SourceError, parse_text, "alphabet: a\npred andP(i, and) = i == 1\nandP", "f.ltl")
    assert str(caught).startswith("f.ltl:2:14: error: and is an operator: it cannot be an argument\n")
    assert caught.span == Span(25, 28)


def test_arguments_have_any_other_name() -> None:
    file = parse_text("alphabet: a\npred P(U, émile_2) = U == émile_2\nP")
    assert Oracle(file).truth("aaa") == [False, False, True]


# ---- limits ----


@pytest.mark.parametrize(
    ("before", "inner", "after", "offset"),
    [
        ("(", "i == 1", ")", 0),
        ("not ", "i == 1", "", 0),
        ("-", "i == 1", "", 0),
        ("2**", "1 == i", "", 1),
        ("1 + 2*(", "i", ")", 6),
    ],
)
def test_nesting_up_to_the_limit(before: str, inner: str, after: str, offset: int) -> None:
    tail = " == i" if inner == "i" else ""
    predicate(before * 200 + inner + after * 200 + tail)
    error = error_of(before * 201 + inner + after * 201 + tail)
    assert error.message == "nesting beyond 200 levels"
    assert error.span.start == len(HEAD) + 200 * len(before) + offset


def test_the_deepest_conditions_have_values() -> None:
    assert predicate("1 + 1*(" * 200 + "i" + ")" * 200 + " == i + 200")(3, 1)
    assert predicate("i < 0 or i > 0 and (" * 200 + "i == 3" + ")" * 200)(3, 1)
    assert predicate("not " * 200 + "i == 3")(3, 1)
    assert predicate("-" * 200 + "i == 3")(3, 1)
    assert predicate("1**" * 200 + "i == 1")(3, 1)


@pytest.mark.slow
def test_long_chains_cost_no_nesting_and_huge_powers_no_time() -> None:
    assert predicate(" + ".join(["i"] * 5000) + " == 5000 * i")(2, 3)
    assert predicate(" and ".join(["i == 2"] * 2000))(2, 3)
    long = pickle.loads(pickle.dumps(predicate(" + ".join(["i"] * 5000) + " == 5000 * i")))
    assert (long(2, 3), hash(long)) == (True, hash(predicate(" + ".join(["i"] * 5000) + " == 5000 * i")))
    for condition in ("9**9**9**9 == 1", "(-9)**(9**18) == 1", "2**10**18 == 1", "10**18**18 == i"):
        assert "larger than 10^18" in error_of(condition).message
    assert predicate("1**10**18 == 1")(1, 1)
    assert "a number larger" in error_of("9" * 100_000 + " == i").message


# ---- in files ----


def test_a_predicate_can_be_pickled() -> None:
    holds = predicate("i != 0 and n mod i == 0")
    again = pickle.loads(pickle.dumps(holds))
    assert again == holds
    assert [again(value, 6) for value in range(5)] == [False, True, True, True, False]
    raises = pickle.loads(pickle.dumps(predicate("n mod i == 0")))
    caught = raised(SourceError, raises, 0, 6, match="at i = 0, n = 6")
    assert str(caught).startswith("f.ltl:3:18: ")


def test_the_oracle_uses_the_predicates_of_the_file() -> None:
    middle = parse_text("alphabet: a b\npred MIDDLE(i, n) = 2*i == n + 1\nO(MIDDLE & b)")
    accepted = [word for word in ("b", "aba", "bab", "bb", "aabaa") if Oracle(middle).accepts(word)]
    assert accepted == ["b", "aba", "aabaa"]
    given = {"MIDDLE": lambda value, n: value == 1}
    assert not Oracle(middle, given).accepts("aba")
    assert Oracle(middle, given).accepts("bab")


def test_a_term_is_passed_by_its_value_with_zero_and_negative_ones() -> None:
    file = file_of("i == -2 or i == 0", "P(#L[a] - #L[b])")
    assert Oracle(file).truth("abbbaaa") == [False, True, False, True, False, True, False]


def test_a_predicate_that_has_no_value_at_some_counts_only() -> None:
    file = file_of("n mod i == 0", "P(#L[a])")
    oracle = Oracle(file)
    assert oracle.truth("abaa") == [True, True, True, False]  # counts 1 1 2 3 of length 4
    caught = raised(SourceError, oracle.truth, "baa", match="division by zero in 3 mod 0, at i = 0, n = 3")
    assert file.source.text[caught.span.start : caught.span.end] == "mod"
    assert oracle.truth("abaa") == [True, True, True, False]


def test_a_predicate_without_a_place_is_cited_by_its_own_text() -> None:
    own = UserPredicate("Q", ("i", "n"), "i ==\n n div 0")
    file = FormulaFile(("a",), Predicate("Q", (), None), predicates=(own,))
    caught = raised(SourceError, Oracle(file).accepts, "a")
    assert str(caught).startswith("<pred Q>:2:4: error: Q: division by zero in 1 div 0, at i = 1, n = 1\n")
    empty = Source("x", ""), UserPredicate("Q", ("i", "n"), " ")
    assert raised(SourceError, compile_predicate, *empty, match="the expression is empty").span == Span(0, 1)


@given(st.text(st.sampled_from("in12 ()+-*=<>!&|/%^.,#'\n\t²٣") | st.characters(), max_size=20))
def test_noise_is_a_condition_or_one_clear_error(text: str) -> None:
    source = Source("noise", "# " + text)
    own = UserPredicate("P", ("i", "n"), text, span=Span(2, 2 + len(text)))
    error = read_or_refused(lambda: compile_predicate(source, own)(1, 2))
    if isinstance(error, SourceError):
        assert 2 <= error.span.start < error.span.end <= len(source.text) + 1
        assert str(error)


# ---- Python's own evaluation of the same text ----


@dataclass(frozen=True)
class Text:
    """A condition in the notation of `pred` lines and in Python's."""

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
    """Draw numbers without brackets: chains of one precedence level above the next, with brackets as leaves."""
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
    """Error: Python's value is beyond the limits of `pred` lines, or does not exist."""


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
    """Return Python's own value of a generated text; None where the text must be refused."""
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
        raised(SourceError, holds, value, n, match=f"at i = {value}, n = {n}(\n|$)")
    else:
        assert holds(value, n) is expected
