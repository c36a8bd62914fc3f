"""Every mistake in expressions and files, and every text beyond a limit, has one error with its place and carets."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import Source
from hardsim.lang import ast
from hardsim.lang.ltl_parser import parse_word
from hardsim.lang.vocabulary import FORMULAS, RESERVED
from tests.support.language import FormulaFile, InputError, SourceError, Span, format_file, parse_expression, parse_text
from tests.support.mistakes import marked, raised, read_or_refused
from tests.support.sources import load

AB = "alphabet: a b\n"


def caught(text: str, alphabet: str = "a b") -> SourceError:
    return raised(SourceError, parse_expression, text, alphabet, "x")


def caught_in_file(text: str) -> SourceError:
    return raised(SourceError, parse_text, text, "f.ltl")


def test_the_whole_text_of_an_error() -> None:
    assert str(caught_in_file("alphabet: a b\n\nlet x = a\nF\tx & (aUb\n  | b)")) == (
        "f.ltl:4:8: error: unknown symbol or name 'aUb'\n"
        "  F x & (aUb\n"
        "         ^^^\n"
        "  expected: a symbol of the alphabet (a b) or a name (x)\n"
        "  an operator needs a space before a letter or digit: a U b"
    )


# text, alphabet, column, marked text, message
EXPRESSIONS = [
    ("a & c", "a b", 5, "c", "unknown symbol or name 'c'"),
    ("a & 'c'", "a b", 5, "'c'", "unknown symbol 'c'"),
    ("Q_c", "a b", 1, "Q_c", "unknown symbol or name 'Q_c'"),
    ("F 0", "a b", 3, "0", "unknown symbol '0'"),
    ("Q_a", "a Q_a", 1, "Q_a", "Q_a is a symbol of the alphabet, and could also mean the symbol a"),
    ("a & (b | a", "a b", 5, "(", "this bracket is never closed: ("),
    ("((a) & (b)", "a b", 1, "(", "this bracket is never closed: ("),
    ("#L[a > 1", "a b", 1, "#L[", "this bracket is never closed: #L["),
    ("a) & b", "a b", 2, ")", "this bracket closes nothing: )"),
    ("a]", "a b", 2, "]", "this bracket closes nothing: ]"),
    ("(a]", "a b", 3, "]", "] does not close ("),
    ("#L[a) > 1", "a b", 5, ")", ") does not close #L["),
    ("a &", "a b", 4, " ", "missing operand after &"),
    ("F", "a b", 2, " ", "missing operand after F"),
    ("a & | b", "a b", 5, "|", "missing operand before |"),
    ("& a", "a b", 1, "&", "missing operand before &"),
    ("(a &) | b", "a b", 5, ")", "missing operand after &"),
    ("()", "a b", 2, ")", "nothing between the brackets"),
    ("a b", "a b", 3, "b", "missing operator before b"),
    ("a (b)", "a b", 1, "a", "a takes no argument"),
    ("'a' (b)", "a b", 5, "(", "missing operator before ("),
    ("f a", "a b", 1, "f", "unknown symbol or name 'f'"),
    ("a % b", "a b", 3, "%", "unknown operator %"),
    ("a//b", "a b", 2, "//", "unknown operator //"),
    ("a \x1b b", "a b", 3, r"\x1b", "unknown operator U+001B"),
    ("a <> b", "a b", 3, "<>", "missing operator before <>"),
    ("a And b", "a b", 3, "And", "unknown operator And"),
    ("a, b", "a b", 2, ",", "a comma is allowed only between the arguments of a predicate"),
    ("let x = a", "a b", 1, "let", "'let' is reserved"),
    ("'a & b", "a b", 1, "'", "this quote is never closed"),
    ("a U b S a", "a b", 7, "S", "two different temporal operators in a row, U and S, need brackets"),
    ("a U b R a U b", "a b", 7, "R", "two different temporal operators in a row, U and R, need brackets"),
    ("a U b U a", "a b", 7, "U", "two U in a row need brackets: tools disagree on how they group"),
    ("a since b S a S b", "a b", 11, "S", "two S in a row need brackets: tools disagree on how they group"),
    ("a R b V a", "a b", 7, "V", "two R in a row need brackets: tools disagree on how they group"),
    ("a U[1,2] b U[1,2] a", "a b", 12, "U[1,2]", "two U[1,2] in a row need brackets: tools disagree on how they group"),
    ("a -> b -> a", "a b", 8, "->", "two -> in a row need brackets: tools disagree on how they group"),
    ("a => b implies a", "a b", 8, "implies", "two -> in a row need brackets: tools disagree on how they group"),
    ("b <-> a -> b -> a", "a b", 14, "->", "two -> in a row need brackets: tools disagree on how they group"),
    ("a ^ b | a", "a b", 3, "^", "^ beside | needs brackets: tools disagree on which binds tighter"),
    ("a or b xor a & b", "a b", 8, "xor", "^ beside | needs brackets: tools disagree on which binds tighter"),
    ("1 < pos < 3", "a b", 9, "<", "comparisons cannot be chained"),
    ("pos mod 2 mod 2 = 1", "a b", 11, "mod", "mod cannot be chained"),
    ("2 * #L[a] * #R[b] = 1", "a b", 11, "*", "a product of two terms, neither of them an integer: 2 * #L[a] * #R[b]"),
    ("MOD(0, 0)", "a b", 5, "0", "the modulus is 0"),
    ("MOD(-2, 0)", "a b", 5, "-2", "the modulus is -2"),
    ("MOD(3, 3)", "a b", 8, "3", "the remainder 3 never occurs"),
    ("MOD(3, -1)", "a b", 8, "-1", "the remainder -1 never occurs"),
    ("#L[a] mod 2 = 2", "a b", 15, "2", "the remainder 2 never occurs"),
    ("#L[a] mod 0 = 0", "a b", 11, "0", "the modulus is 0"),
    ("MOD(len, 0)", "a b", 5, "len", "the modulus is not a constant: len"),
    ("pos mod 2 = pos", "a b", 13, "pos", "the remainder is not a constant: pos"),
    ("pos mod 2", "a b", 5, "mod", "mod without a remainder"),
    ("pos mod 2 < 1", "a b", 11, "<", "< after mod"),
    ("1 = pos mod 2", "a b", 9, "mod", "mod can be used only with = and a remainder"),
    ("EVEN(1, 2)", "a b", 1, "EVEN(1, 2)", "wrong number of arguments: EVEN with 2 arguments"),
    ("F MOD", "a b", 3, "MOD", "wrong number of arguments: MOD with 0 arguments"),
    ("MOD(2)", "a b", 1, "MOD(2)", "wrong number of arguments: MOD with 1 argument"),
    ("MOD(2, 1, pos, 3)", "a b", 1, "MOD(2, 1, pos, 3)", "wrong number of arguments: MOD with 4 arguments"),
    ("EVEN()", "a b", 6, ")", "nothing between the brackets"),
    ("MIDDLE(1)", "a b", 1, "MIDDLE", "unknown predicate or operator 'MIDDLE'"),
    ("EVEN(a)", "a b", 6, "a", "a is a formula, and a number is needed here"),
    ("a + 1 = 2", "a b", 1, "a", "a is a formula, and a number is needed here"),
    ("F a = F b", "a b", 7, "F", "F makes a formula, and a number is needed after ="),
    ("(F a) = 1", "a b", 1, "(F a)", "(F a) is a formula, and a number is needed here"),
    ("x + 1 = 2", "a b", 1, "x", "unknown symbol or name 'x'"),
    ("#L[a] & b", "a b", 1, "#L[a]", "#L[a] is a number, and a formula is needed here"),
    ("F(pos + 1)", "a b", 2, "(pos + 1)", "(pos + 1) is a number, and a formula is needed here"),
    ("-1", "a b", 1, "-1", "-1 is a number, and a formula is needed here"),
    ("pos < X a", "a b", 7, "X", "X makes a formula, and a number is needed after <"),
    ("pos < 1.5", "a b", 7, "1.5", "not an integer"),
    ("pos < 1000000000000000001", "a b", 7, "1000000000000000001", "a number larger than 10^18"),
    ("1000000000000 * 1000000000000 = 1", "a b", 15, "*", "a number larger than 10^18"),
    ("", "a b", 1, " ", "missing formula"),
    ("// a", "a b", 1, "/", "missing formula"),
]


@pytest.mark.parametrize(("text", "alphabet", "column", "under", "message"), EXPRESSIONS)
def test_mistakes_in_expressions(text: str, alphabet: str, column: int, under: str, message: str) -> None:
    error = caught(text, alphabet)
    assert str(error).split("\n")[0] == f"x:1:{column}: error: {message}"
    assert marked(error) == under
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("text", "alphabet", "hint"),
    [
        ("aUb", "a b", "an operator needs a space before a letter or digit: a U b"),
        ("aUGb", "a b", "an operator needs a space before a letter or digit: a U G b"),
        ("F X", "X a", "the symbol X is written 'X'"),
        ("X & a", "X a", "the symbol X is written 'X'"),
        ("( & a", "( a", "the symbol ( is written '('"),
        ("a & )", ") a", "the symbol ) is written ')'"),
        ("[ & a", "[ a", "the symbol [ is written '['"),
        ("' & a", "' a", "the quote symbol is written ''''"),
        ("let", "let a", "the symbol let is written 'let'"),
        ("a", "ab", "ab is one symbol: separate symbols by spaces, as in alphabet: a b"),
        ("a", "a, b", "the symbol of the alphabet is a,: separate symbols by spaces alone"),
        ("a And b", "a b", "did you mean and?"),
        ("a Ub", "a b", "an operator needs a space before a letter or digit: U b"),
        ("opne", "open close", "did you mean open?"),
        ("A", "a b", "did you mean a?"),
        ("f a", "a b", "did you mean F?"),
        ("1 & a", "a b", "1 is not a truth value: write true"),
        ("0 & a", "a b", "0 is not a truth value: write false"),
        ("a = 1", "a b", "= compares numbers; equivalence is written <->, p=1 is written p, and p=0 is written !p"),
        ("a <= b", "a b", "<= compares numbers; implication is written ->"),
        ("EVEN(a)", "a b", "#L[phi] counts the positions where phi holds"),
        ("#L[a]", "a b", "compare it with a number, as in #L[a] > 0"),
        ("pos mod 2 != 1", "a b", "write !(pos mod 2 = 1)"),
        ("a U b S a", "a b", "write (... U ...) S ... or ... U (... S ...)"),
    ],
)
def test_hints(text: str, alphabet: str, hint: str) -> None:
    assert caught(text, alphabet).hint == hint


def test_the_alphabet_is_named() -> None:
    assert caught("c").expected == "a symbol of the alphabet (a b)"
    long = " ".join(f"s{k}" for k in range(20))
    first = " ".join(f"s{k}" for k in range(12))
    assert caught("c", long).expected == f"a symbol of the alphabet ({first} ...)"


OPERATORS = "is reserved: operators, constants and predicates are never names"
ARGUMENTS = "a predicate has two different arguments, the position and the length"

# text of a file, line, column, marked text, message
FILES = [
    ("", 1, 1, " ", "the file is empty"),
    (" \n\n", 1, 1, " ", "the file is empty"),
    ("F a", 1, 1, "F a", "missing alphabet"),
    ("// c\n\naccept: ab\nF a", 3, 1, "accept: ab", "missing alphabet"),
    (AB, 1, 14, " ", "missing formula"),
    (AB + "let x = a\n\n", 2, 10, " ", "missing formula"),
    (AB + "F a\nF b", 3, 1, "F", "a second formula begins here"),
    (AB + "F a\n\n'b'", 4, 1, "'b'", "a second formula begins here"),
    (AB + "F a\n  b", 3, 3, "b", "missing operator before b"),
    ("alphabet: a\nalphabet: b\na", 2, 1, "alphabet", "duplicate header line alphabet:"),
    ("alphabet: a\nat: last\nat: last\na", 3, 1, "at", "duplicate header line at:"),
    ("alphabet: a b a\na", 1, 15, "a", "duplicate symbol a"),
    ("alphabet:  \na", 1, 10, " ", "the alphabet is empty"),
    ("alphabt: a\na", 1, 1, "alphabt", "unknown header key 'alphabt'"),
    ("map: a -> b\na", 1, 1, "map", "unknown header key 'map'"),
    (AB + "accept: ab abc\na", 2, 14, "c", "'c' is not a symbol of the alphabet"),
    (AB + "reject: a // b\na", 2, 11, "/", "'/' is not a symbol of the alphabet"),
    ("alphabet: ab\naccept: abab\nab", 2, 9, "abab", "'abab' is not a symbol of the alphabet"),
    (AB + "accept:\na", 2, 8, " ", "there is no word here, and the empty word is not allowed"),
    (AB + "at: middle\na", 2, 5, "middle", "at: cannot be 'middle'"),
    (AB + "at:\na", 2, 4, " ", "at: has no value"),
    (AB + "accept: a\n  b\na", 3, 1, "  b", "an indented line after a header line"),
    (AB + "F a\naccept: a", 3, 1, "accept: a", "header lines must come before the formula"),
    (AB + "F a\nlet x = a", 3, 1, "let x = a", "definitions must come before the formula"),
    (AB + "let x = a\naccept: b\nx", 3, 1, "accept", "header lines must come before the definitions"),
    (AB + "accept a\na", 2, 1, "accept", "unknown symbol or name 'accept'"),
    (AB + "let x = b & x\nx", 2, 13, "x", "recursion of let: x -> x"),
    (AB + "let x = y\nlet y = a | z\nlet z = x\nx", 2, 9, "y", "recursion of let: x -> y -> z -> x"),
    (AB + "let x = y\nlet y = a // x\nx", 2, 9, "y", "'y' is defined later (line 3)"),
    (AB + "let x = y\nlet y = 'a x\nx", 2, 9, "y", "'y' is defined later (line 3)"),
    (AB + "let x = P\npred P(i, n) = i == n\nx", 2, 9, "P", "'P' is defined later (line 3)"),
    (AB + "let x = a\nlet x = b\nx", 3, 5, "x", "duplicate definition of x"),
    (AB + "let x = a\npred x(i, n) = 1\nx", 3, 6, "x", "duplicate definition of x"),
    (AB + "let a = b\na", 2, 5, "a", "a is a symbol of the alphabet"),
    (AB + "let U = b\na", 2, 5, "U", f"U {OPERATORS}"),
    (AB + "pred EVEN(i, n) = 1\na", 2, 6, "EVEN", f"EVEN {OPERATORS}"),
    (AB + "let Q_x = b\na", 2, 5, "Q_x", "Q_x is reserved: Q_ begins the name of a symbol"),
    (AB + "let 1x = b\na", 2, 5, "1x", "'1x' is not a name"),
    (AB + "let f(i) = b\na", 2, 5, "f(i)", "'f(i)' is not a name"),
    (AB + "let x a\na", 2, 7, "a", "missing = after let x"),
    (AB + "let x\na", 2, 6, " ", "missing = after let x"),
    (AB + "let x == a\na", 2, 7, "=", "missing = after let x"),
    (AB + "let\na", 2, 4, " ", "missing name"),
    (AB + "let x =  // later\na", 2, 8, " ", "nothing follows ="),
    (AB + "let x = (a\na", 2, 9, "(", "this bracket is never closed: ("),
    (AB + "let x = a &\n  // b\nx", 2, 12, " ", "missing operand after &"),
    (AB + "let x = #L[a]\nx", 3, 1, "x", "x is a number, and a formula is needed here"),
    (AB + "let x = a\nx = 1", 3, 1, "x", "x is a formula, and a number is needed here"),
    (AB + "let x = pos\nx * x = 1", 3, 3, "*", "a product of two terms, neither of them an integer: x * x"),
    ("alphabet: 0 1\nlet k = 1\nk < 2", 3, 1, "k", "k is a formula, and a number is needed here"),
    (AB + "pred P(i) = 1\na", 2, 7, "(i)", ARGUMENTS),
    (AB + "pred P(i, i) = 1\na", 2, 7, "(i, i)", ARGUMENTS),
    (AB + "pred P = 1\na", 2, 7, " ", ARGUMENTS),
    (AB + "pred P(i, n)\na", 2, 13, " ", "missing = after pred P(...)"),
    (AB + "pred P(i, n) =\na", 2, 15, " ", "nothing follows ="),
    (AB + "pred (i, n) = 1\na", 2, 6, "(", "missing name"),
    (AB + "pred 2(i, n) = 1\na", 2, 6, "2", "'2' is not a name"),
    (AB + "pred P(i, n) = i == n\nP(1, 2)", 3, 1, "P(1, 2)", "wrong number of arguments: P with 2 arguments"),
]


@pytest.mark.parametrize(("text", "line", "column", "under", "message"), FILES)
def test_mistakes_in_files(text: str, line: int, column: int, under: str, message: str) -> None:
    error = caught_in_file(text)
    assert str(error).split("\n")[0] == f"f.ltl:{line}:{column}: error: {message}"
    assert marked(error) == under


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("alphabt: a\na", "did you mean alphabet:?"),
        ("alphabett: a b\na", "did you mean alphabet:?"),
        ("alphabet = a b\na", "write alphabet: a b"),
        ("alphabet a b\na", "write alphabet: a b"),
        (AB + "accept = ab\na", "write accept: ab"),
        ("# a comment\nalphabet: a\na", "a comment begins with //, on each line"),
        (AB + "  # one\na", "a comment begins with //, on each line"),
        (AB + "; one\na", "a comment begins with //, on each line"),
        (AB + "a S b # one", "a count is written #L[a], #R[a] or #[a]; a comment begins with //"),
        ("alphabet: len a\nlen S a", "the symbol len is written 'len'"),
        ("alphabet: pos a\nO pos", "the symbol pos is written 'pos'"),
        ("alphabet: X a\na S X", "the symbol X is written 'X'"),
        ("alphabet: let a\nlet", "the symbol let is written 'let'"),
        ("Accept: a\na", "did you mean accept:?"),
        ("map: a -> b\na", "map: belongs to programs (.srasp files)"),
        ("alphabet: ab\naccept: abab\nab", "separate symbols by spaces: ab ab, or in the alphabet: a b"),
        ("alphabet: if fi\naccept: iffi\nif", "separate symbols by spaces: if fi"),
        (AB + "accept: ab, a\na", "separate words by spaces only"),
        (AB + "accept: a // b\na", "there are no comments in header lines: move it to a line of its own"),
        (AB + "accept a\na", "a header line has a colon: accept:"),
        (AB + "let x = y\nlet y = a\nx", "move the definition of y up, before this line"),
        (AB + "let x = a\n\nlet x = b\nx", "it is defined in line 2"),
        (AB + "F a\naccept: a", "move the line above the formula (line 2)"),
        (AB + "let f(i) = a\na", "functions of the position are defined with pred"),
        (
            "alphabet: 0 1\nlet k = 1\nk < 2",
            "let k names a symbol of the alphabet; for the integer write it with a sign, as in +1",
        ),
    ],
)
def test_hints_in_files(text: str, hint: str) -> None:
    assert caught_in_file(text).hint == hint


@pytest.mark.parametrize(
    "text", ["#[a] > 1 &\n# L [a] > 0 |\n#R[b] > 2", "let at = #[a]\nat = 1", "let at = a\nat => b"]
)
def test_texts_that_only_look_like_other_notations(text: str) -> None:
    assert parse_text(AB + text, "f.ltl").alphabet == ("a", "b")


def test_definitions_need_a_file() -> None:
    for text in ("let x = a\nx", "\nlet x = a\nx"):
        assert "a formula without a file (-e) has no definitions (let)" in caught(text).hint
    assert "definitions (let) come before the formula" in caught_in_file(AB + "a S let x = a").hint


@pytest.mark.parametrize(
    ("formula", "under", "hint"),
    [
        ("a Since b", "Since", "since is written S"),
        ("a Until b", "Until", "until is written U"),
        ("P a", "P", "P of other tools is written O (at this position or an earlier one) or Y (at the one before)"),
        ("P(a)", "P", "P of other tools is written O (at this position or an earlier one) or Y (at the one before)"),
        ("always a", "always", "always is written G"),
        ("a then b", "then", "then is written ->"),
        ("count(a) > 1", "count", "a count is written #L[a], #R[a] or #[a]"),
        (r"\Box a", r"\Box", r"\Box is written G"),
        (r"\Diamond a", r"\Diamond", r"\Diamond is written F"),
        (r"a \land b", r"\land", r"\land is written &"),
        (r"\lnot a", r"\lnot", r"\lnot is written !"),
        (r"a \rightarrow b", r"\rightarrow", r"\rightarrow is written ->"),
        (r"a \since b", r"\since", r"\since is written S"),
        (r"a \mathcal{U} b", r"\mathcal{U}", r"\mathcal{U} is written U"),
        (r"a \U b", r"\U", r"\U is written U"),
        (r"a \nonsense b", r"\nonsense", ""),
        ("a &&& b", "&&&", "and is written &"),
        ("a ||| b", "|||", "or is written |"),
        ("a --> b", "-->", "--> is written ->"),
        ("a <==> b", "<==>", "<==> is written <->"),
        ("#[a] === 1", "===", "=== is written ="),
        ("◻ a", "◻", "always is written G"),
        ("◆ a", "◆", "once is written O"),
        ("a;", ";", "a formula has no mark at its end"),
        ("F[a]", "[", "square brackets occur in counts, as in #L[a], in bounds, as in F[0,3], and in [] and X[!] only"),
    ],
)
def test_operators_of_other_tools_are_named(formula: str, under: str, hint: str) -> None:
    error = caught(formula)
    assert marked(error) == under
    assert error.hint == hint
    named = re.search("is written ([^ ]+)", hint)
    if named and "/" not in hint and not named[1].startswith("#"):  # the hint names an operator here
        assert named[1] in FORMULAS


@pytest.mark.parametrize(
    "formula", ["[] a", "<> a", "□ a", "◇ a", "~a", "not a and b", "a => b", "a || b", "#[a] == 1"]
)
def test_what_other_tools_write_and_is_read(formula: str) -> None:
    assert parse_expression(formula, "a b").alphabet == ("a", "b")


def test_a_name_of_ones_own_comes_before_that_of_another_tool() -> None:
    assert caught("until", "Until a").hint == "did you mean Until?"
    assert parse_expression("since S until", "since until").alphabet == ("since", "until")


def test_an_alphabet_given_twice() -> None:
    raised(SourceError, parse_text, AB + "a", alphabet="b a", match="the alphabet is also given as b a")


def test_a_long_name_is_not_repeated_in_full() -> None:
    error = raised(SourceError, parse_text, "alphabet: a b\n" + "x" * 100_000)
    assert "(100000 characters)" in str(error)
    assert len(str(error)) < 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":" * 1_000_000, "unknown operator :"),
        ("G" * 300_000 + "z", "unknown symbol or name 'G"),
        pytest.param("G" * 300_000 + "a", "nesting beyond 5000 levels", marks=pytest.mark.slow),
    ],
)
def test_long_runs_are_refused(text: str, message: str) -> None:
    assert caught(text).message.startswith(message)


@pytest.mark.parametrize("symbol", ["\0", "x\x1b[31m", "\x9b"])
def test_control_characters_are_no_symbols(symbol: str) -> None:
    error = raised(SourceError, parse_text, f"alphabet: a {symbol}\na", match="the control character")
    assert error.span.start == len("alphabet: a ")
    raised(InputError, parse_expression, "a", ["a", symbol], match="the control character")


def test_a_joined_emoji_is_a_symbol() -> None:
    family = "\U0001f468\u200d\U0001f469"
    assert parse_text(f"alphabet: a {family}\na").alphabet == ("a", family)


def test_a_device_without_an_end_is_refused() -> None:
    raised(InputError, load, "/dev/zero", match="is a device, not a file")


# ---- nesting ----

DOUBLING = ["alphabet: a b", "let x0 = a", *(f"let x{k + 1} = x{k} & x{k}" for k in range(5050))]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("!" * 5001 + "a", 5001, "nesting beyond 5000 levels"),
        pytest.param("!" * 100_000 + "a", 5001, "nesting beyond 5000 levels", marks=pytest.mark.slow),
        pytest.param("! " * 5001 + "(a)", 10001, "nesting beyond 5000 levels", marks=pytest.mark.slow),
        ("a & " + "!" * 5000 + "a", 5004, "nesting beyond 5000 levels"),
        pytest.param("(" * 100_000, 100_000, "this bracket is never closed: (", marks=pytest.mark.slow),
        ("#[" * 6000, 11_999, "this bracket is never closed: #["),
        ("! F(" * 3000 + "a" + ")" * 3000, 10001, "nesting beyond 5000 levels"),
        pytest.param("a U (" * 5001 + "a" + ")" * 5001, 25003, "nesting beyond 5000 levels", marks=pytest.mark.slow),
        ("a -> (" * 5001 + "a" + ")" * 5001, 30003, "nesting beyond 5000 levels"),
        pytest.param("a <-> " * 5001 + "a", 30003, "nesting beyond 5000 levels", marks=pytest.mark.slow),
        # sums group to the left: the deepest operator, one too deep, is the first; comparing adds a level
        ("1" + "+1" * 5000 + " = pos", 2, "nesting beyond 5000 levels"),
        ("-" * 10_000 + "1 = pos", 5000, "nesting beyond 5000 levels"),
    ],
)
def test_nesting(text: str, column: int, message: str) -> None:
    lines = str(raised(SourceError, parse_expression, text, "a b", "x")).split("\n")
    assert lines[0] == f"x:1:{column}: error: {message}"
    assert lines[2].strip("^ ") == ""
    assert len(lines[1]) < 180


@pytest.mark.slow
def test_brackets_to_the_limit() -> None:
    assert parse_expression("(" * 100_000 + "a" + ")" * 100_000, "a b").formula == ast.Symbol("a")
    # a chain is one level, however it is bracketed
    chain = parse_expression("(" * 4999 + "a" + " & b)" * 4999, "a b").formula
    assert chain == ast.Nary("&", (ast.Symbol("a"), *[ast.Symbol("b")] * 4999))


@pytest.mark.slow
def test_nesting_after_expansion() -> None:
    parse_text("\n".join([*DOUBLING[:5002], "x5000"]))
    caught = raised(SourceError, parse_text, "\n".join([*DOUBLING, "x0"]), "f")
    assert str(caught).startswith(
        "f:5003:13: error: nesting beyond 5000 levels: x5000 has 5000 levels, and 1 more are around it\n"
        "  let x5001 = x5000 & x5000\n"
        "              ^^^^^\n"
    )
    caught = raised(SourceError, parse_text, "\n".join([*DOUBLING[:4952], "a | " + "!" * 50 + "x4950"]), "f")
    first = str(caught).split("\n")[0]
    assert first == "f:4953:55: error: nesting beyond 5000 levels: x4950 has 4950 levels, and 51 more are around it"


# ---- files that cannot be read ----


def test_missing_files_and_directories(tmp_path: Path) -> None:
    missing = raised(InputError, load, tmp_path / "nowhere.ltl", match=r"nowhere\.ltl: no such file")
    assert missing.exit_code == 2
    raised(InputError, load, tmp_path, match="is a directory, not a file")
    raised(InputError, load, "a\0b", match=r"cannot be read: .*null")
    raised(InputError, load, "a" * 5000, match="cannot be read: File name too long")


def test_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "empty.ltl"
    for content in (b"", b"\xef\xbb\xbf", b" \r\n"):
        path.write_bytes(content)
        raised(SourceError, load, path, match="the file is empty")


def test_files_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.ltl"
    path.write_bytes("alphabet: a é\r\nF é\r\n".encode("latin-1"))
    caught = raised(SourceError, load, path)
    assert str(caught) == (
        f"{path}:1:13: error: not UTF-8: byte 0xe9 at offset 12\n"
        "  alphabet: a \ufffd\n"
        "              ^\n"
        "  expected: text in UTF-8\n"
        "  save the file as UTF-8"
    )
    path.write_bytes("\ufeffalphabet: a\nF é".encode() + b"\xc3")
    caught = raised(SourceError, load, path)
    assert str(caught).startswith(f"{path}:2:4: error: not UTF-8: byte 0xc3 at offset 19\n  F é\ufffd\n     ^\n")
    path.write_bytes("alphabet: a\nF a".encode("utf-16"))
    caught = raised(SourceError, load, path)
    assert caught.hint == "save the file as UTF-8 (it looks like UTF-16)"


# ---- words ----


@pytest.mark.parametrize(
    ("text", "alphabet", "column", "carets", "message", "hint"),
    [
        ("abca", "a b", 3, 1, "'c' is not a symbol of the alphabet", ""),
        ("ab  ax", "a b", 6, 1, "'x' is not a symbol of the alphabet", ""),
        ("a,b", "a b", 2, 1, "',' is not a symbol of the alphabet", "separate words by spaces only"),
        ("", "a b", 1, 1, "the empty word is not allowed", "Words are non-empty: positions are 1 to n."),
        (" ", "ab", 1, 1, "the empty word is not allowed", "Words are non-empty: positions are 1 to n."),
        ("if iffi", "if fi", 4, 4, "'iffi' is not a symbol of the alphabet", "separate symbols by spaces: if fi"),
        ("if of", "if fi", 4, 2, "'of' is not a symbol of the alphabet", "separate symbols by spaces"),
    ],
)
def test_words_of_the_command_line(text: str, alphabet: str, column: int, carets: int, message: str, hint: str) -> None:
    caught = raised(SourceError, parse_word, text, alphabet.split())
    lines = str(caught).split("\n")
    assert lines[0] == f"<word>:1:{column}: error: {message}"
    assert lines[2] == " " * (column + 1) + "^" * carets
    assert caught.hint == hint


# ---- how errors are shown ----


@pytest.mark.parametrize(
    ("text", "place", "shown", "before"),
    [
        ("x" * 1000 + "?" + "y" * 1000, 1000, f"...{'x' * 80}?{'y' * 79}...", 3 + 80),
        ("?" + "y" * 200 + "!", 0, f"?{'y' * 159}...", 0),
        ("?" + "y" * 200 + "!", 201, f"...{'y' * 159}!", 3 + 159),
        ("a\x1b[2J\tb\x00", 6, r"a\x1b[2J b\x00", 9),
    ],
    ids=["amid a long line", "its beginning", "its end", "control characters"],
)
def test_long_lines_are_shown_in_part_and_no_control_characters(text: str, place: int, shown: str, before: int) -> None:
    lines = str(SourceError(Source("f", text), Span(place, place + 1), "m")).split("\n")
    assert lines == [f"f:1:{place + 1}: error: m", f"  {shown}", "  " + " " * before + "^"]


# ---- noise ----

PIECES = st.sampled_from(
    [*sorted(RESERVED), *FORMULAS, "a", "b", "x", "'a'", "'", "0", "12", "#L[", "#[", "[", "//", "\n", "\n  ", ":"]
)


def require(parse: Callable[[], FormulaFile]) -> None:
    """Assert that a text either has a meaning that its printed form shares, or has one error with a place."""
    found = read_or_refused(parse)
    if isinstance(found, SourceError):
        assert 0 <= found.span.start < found.span.end
        assert found.span.start <= len(found.source.text)
        assert str(found)
    else:
        assert parse_text(format_file(found)) == found


@given(st.lists(st.one_of(PIECES, st.characters()), max_size=12).map(" ".join))
def test_noise_in_a_formula(text: str) -> None:
    require(lambda: parse_expression(text, "a b 0"))


KEYS = st.sampled_from(
    ["alphabet: a b\n", "at: last\n", "accept: ab\n", "let x = ", "pred P(i, n) = ", "// c\n", "let "]
)


@given(st.lists(st.one_of(KEYS, PIECES), max_size=14).map("".join))
def test_noise_in_a_file(text: str) -> None:
    require(lambda: parse_text(text))
