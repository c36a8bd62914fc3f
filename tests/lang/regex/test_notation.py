"""Tests of `+` and `.` between two operands, which other tools read in two ways. They are refused with both
spellings until the header chooses, and then compared with Python's `re`."""

import re
from itertools import product

import pytest

from hardsim.lang.canonical import canonical_regex
from hardsim.lang.regex.regex_parser import RegexFile
from tests.support.language import SourceError, parse_regex

WORDS = ["".join(word) for n in range(1, 6) for word in product("abc", repeat=n)]


def read(expression: str, *header: str, alphabet: str = "a b c") -> RegexFile:
    """Read a file with an expression."""
    return parse_regex("\n".join([f"alphabet: {alphabet}", *header, expression]), "x.re")


def accepted(file: RegexFile) -> set[str]:
    """Return the words of its language."""
    return {word for word in WORDS if file.automaton.accepts(word)}


def matched(pattern: str) -> set[str]:
    """Return the words that Python's `re` matches."""
    return {word for word in WORDS if re.fullmatch(pattern, word)}


def refused(expression: str, *header: str, alphabet: str = "a b c") -> SourceError:
    """Return the error for a file with an expression."""
    with pytest.raises(SourceError) as caught:
        read(expression, *header, alphabet=alphabet)
    return caught.value


# ---- + ----


@pytest.mark.parametrize(
    ("expression", "union", "repeat"),
    [
        ("a+b", "a|b", "(a+)b"),
        ("(a+b)*", "a|b", "(a+)b"),
        ("a+b+c", "a|b|c", "(a+)(b+)c"),
        ("a+(b+c)", "a|(b|c)", "(a+)((b+)c)"),
        ("ab+ba", "ab|ba", "a(b+)ba"),
        ("(ab)+c", "(ab)|c", "((ab)+)c"),
        ("a+(bc)", "a|(bc)", "(a+)(bc)"),
        ("[ab]+c", "[ab]|c", "([ab]+)c"),
        ("a+[bc]", "a|[bc]", "(a+)[bc]"),
        ("a+.", "a|.", "(a+)."),
        (".+a", ".|a", "(.+)a"),
        ("a+'b'", "a|'b'", "(a+)'b'"),
        ("a+()", "a|()", "(a+)()"),
        ("a+!(b)", "a|!(b)", "(a+)!(b)"),
        ("a*+b", "a*|b", "((a*)+)b"),
        ("a*+b*", "a*|b*", "((a*)+)b*"),
        ("a{2}+b", "a{2}|b", "((a{2})+)b"),
        ("a + b", "a | b", "(a+) b"),
        ("a+ b", "a| b", "(a+) b"),
        ("a +b", "a |b", "(a+)b"),
        ("a+\n  b", "a| b", "(a+) b"),
        ("a+ // or\n  b", "a| b", "(a+) b"),
        ("c|a+b", "c|a|b", "c|(a+)b"),
        ("a++b", "a+|b", "((a+)+)b"),
    ],
)
def test_a_plus_before_an_operand_is_refused_with_both_spellings(expression: str, union: str, repeat: str) -> None:
    error = refused(expression)
    assert error.message == "this + is union in formal-language papers, and one or more in programming"
    assert error.source.text[error.span.start : error.span.end] == "+"
    assert error.hint == (
        f"write `{union}` for union or `{repeat}` for one or more, or choose in the header: plus: union or plus: repeat"
    )
    if expression != "a++b":  # its union is a repeated + between two operands
        for spelled in (union, repeat):
            read(spelled)


def test_both_spellings_mean_what_the_camps_mean() -> None:
    assert accepted(read("a|b")) == accepted(read("a+b", "plus: union")) == {"a", "b"}
    assert accepted(read("(a+)b")) == accepted(read("a+b", "plus: repeat")) == matched("a+b")


@pytest.mark.parametrize("expression", ["a+", "(a+)b", "(a+|b)c", "a+|b", "a+&a*", "(ab)+", "[ab]+", "b(a+)", ".+"])
def test_a_plus_before_no_operand_is_a_repetition(expression: str) -> None:
    if "&" in expression:
        assert accepted(read(expression)) == matched("a+")
    else:
        assert accepted(read(expression)) == matched(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "a+b",
        "(a+b)*",
        "(a+b)*c",
        "ab+c",
        "a*+b*c",
        "a + b",
        "(a+b+c){2}",
        "a+(b+c)*",
        "[ab]+c",
        "a+b|c",
        "()+a",
        "a?+b",
    ],
)
def test_plus_is_union_where_the_header_says_so(expression: str) -> None:
    python = expression.replace(" ", "").replace("+", "|")
    assert accepted(read(expression, "plus: union")) == matched(python)


@pytest.mark.parametrize("expression", ["a+b", "(ab)+c", "a+b+c", "(a|b)+c", "[ab]+[bc]", "a+", "a +b", "a + b"])
def test_plus_is_a_repetition_where_the_header_says_so(expression: str) -> None:
    assert accepted(read(expression, "plus: repeat")) == matched(expression.replace(" ", ""))


@pytest.mark.parametrize("expression", ["a+", "(a+b)+", "(a+)b", "a+*", "a+{2}", "a+|b", "a++b"])
def test_a_union_needs_both_operands(expression: str) -> None:
    error = refused(expression, "plus: union")
    assert error.message == "a + without a second operand, although the header says plus: union"
    assert error.hint == "one or more times is written {1,}"
    assert accepted(read("(a+b){1,}", "plus: union")) == matched("[ab]+")


def test_what_stands_in_a_set_is_no_union() -> None:
    assert refused("[a+b]", "plus: union").message == "+ in a set"


def test_symbols_of_several_characters() -> None:
    error = refused("request+ response", alphabet="request response")
    assert "write `request| response` for union or `(request+) response` for one or more" in error.hint
    assert read("request+response", "plus: union", alphabet="request response").automaton.count(1) == 2


def test_a_symbol_that_is_a_plus_is_named() -> None:
    assert refused("1+1", alphabet="1 +").hint.startswith("the symbol + is written '+'; write `1|1` for union")


def test_sets_of_propositions() -> None:
    text = "props: p q\n{header}{{p}}+{{q}}\n"
    with pytest.raises(SourceError, match=re.escape("write `{p}|{q}` for union or `({p}+){q}`")):
        parse_regex(text.format(header=""), "x.re")
    union = parse_regex(text.format(header="plus: union\n"), "x.re").automaton
    assert list(union.words(1)) == [("{p}",), ("{q}",)]
    many = parse_regex(text.format(header="plus: repeat\n"), "x.re").automaton
    assert [many.count(n) for n in (1, 2, 3)] == [0, 1, 1]
    numbered = "props: 2 3\n{header}{{2}}+{{3}}\n"
    with pytest.raises(SourceError, match="this \\+ is union"):
        parse_regex(numbered.format(header=""), "x.re")
    assert list(parse_regex(numbered.format(header="plus: union\n"), "x.re").automaton.words(1)) == [("{2}",), ("{3}",)]


def test_a_long_expression_is_shown_in_part() -> None:
    inner = "abc" * 30
    assert "write `a|b` for union or `(a+)b` for one or more" in refused(f"{inner}a+b{inner}").hint
    assert "write `e|f` for union or `(e+)f` for one or more" in refused(f"({inner}{inner})+b").hint


# ---- . ----


@pytest.mark.parametrize(
    ("expression", "any_symbol", "joined"),
    [
        ("a.b", "a(.)b", "ab"),
        ("a . b", "a (.) b", "a b"),
        ("a.b.c", "a(.)b(.)c", "abc"),
        ("(a|b).c", "(a|b)(.)c", "(a|b)c"),
        ("a*.b", "a*(.)b", "a*b"),
        ("a.(b|c)", "a(.)(b|c)", "a(b|c)"),
        ("[ab].[bc]", "[ab](.)[bc]", "[ab][bc]"),
    ],
)
def test_a_dot_between_operands_is_refused_with_both_spellings(expression: str, any_symbol: str, joined: str) -> None:
    error = refused(expression)
    assert error.message == "this . is any symbol in programming, and concatenation in formal-language papers"
    assert error.hint == (
        f"write `{any_symbol}` for any symbol or `{joined}` for concatenation, or choose in the header: "
        "dot: any or dot: concatenation"
    )
    python = expression.replace(" ", "")
    assert accepted(read(any_symbol)) == accepted(read(expression, "dot: any")) == matched(python)
    assert (
        accepted(read(joined)) == accepted(read(expression, "dot: concatenation")) == matched(python.replace(".", ""))
    )


@pytest.mark.parametrize(
    "expression", ["a.*b", "a.+|b", "a.?b", "a.{2}b", "a..b", ".a", "a.", "(.)a", "a(.)b", "a|.|b", ".*a.b", "a.b.*"]
)
def test_a_dot_that_joins_nothing_is_any_symbol(expression: str) -> None:
    """Every other dot beside it is any symbol too, since nobody mixes both meanings."""
    assert accepted(read(expression)) == accepted(read(expression, "dot: any")) == matched(expression)


@pytest.mark.parametrize("expression", ["a.*b", "a..b", ".a", "a.", "(.)", "a.b.*"])
def test_a_concatenation_needs_both_operands(expression: str) -> None:
    error = refused(expression, "dot: concatenation")
    assert error.message == "a . that does not join two operands, although the header says dot: concatenation"


def test_concatenation_of_symbols_of_several_characters() -> None:
    error = refused("ask.reply", alphabet="ask reply")
    assert "write `ask(.)reply` for any symbol or `ask reply` for concatenation" in error.hint
    made = read("ask.(reply+ask)*", "plus: union", "dot: concatenation", alphabet="ask reply").automaton
    assert [made.count(n) for n in (1, 2, 3)] == [1, 2, 4]


# ---- headers ----


@pytest.mark.parametrize(
    ("line", "message", "expected"),
    [
        ("plus: or", "plus: cannot be 'or'", "union or repeat"),
        ("plus:", "plus: has no value", "union or repeat"),
        ("dot: all", "dot: cannot be 'all'", "any or concatenation"),
        ("plus: union\nplus: union", "duplicate header line plus:", "one plus: line"),
    ],
)
def test_a_header_that_chooses_nothing_is_refused(line: str, message: str, expected: str) -> None:
    error = refused("ab", *line.split("\n"))
    assert (error.message, error.expected) == (message, expected)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("plus:  union\n(a +b)*  a", "plus: union\n(a | b)* a"),
        ("plus: repeat\n(a +b)", "plus: repeat\n(a+b)"),
        ("plus: union\n(a+b){1,}", "plus: union\n(a | b){1,}"),
        ("(a{1,}b)", "(a{1,}b)"),
        ("(ab)+", "(ab)+"),
        ("dot: concatenation\na.(b|c)", "dot: concatenation\na (b | c)"),
        ("dot: any\na.b", "dot: any\na.b"),
    ],
)
def test_the_canonical_text_is_read_back_as_the_same_language(text: str, canonical: str) -> None:
    head = "alphabet: a b c\n"
    found = canonical_regex(f"{head}{text}\n", "x.re").text
    assert found == f"{head}{canonical}\n"
    assert accepted(parse_regex(found)) == accepted(parse_regex(f"{head}{text}\n"))


# ---- an expression on each line ----


@pytest.mark.parametrize(
    "lines", [("a|b", "b|a"), ("a", "b"), ("a*", "(b)"), ("[ab]", "!(c)"), ("()", "[a]"), ("a{2}", ".")]
)
def test_a_second_expression_is_not_read_as_the_end_of_the_first(lines: tuple[str, str]) -> None:
    """Side by side the two would be a sequence, and a list of expressions one long one."""
    error = refused("\n".join(lines))
    assert error.message == "a second expression begins here"
    assert error.source.line_of(error.span.start)[:2] == (3, 1)
    assert "|" in error.hint
    assert "indent" in error.hint


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("a|b\n  b|a", "a|bb|a"),
        ("a\n|b", "a|b"),
        ("a|\nb", "a|b"),
        ("(a\nb)", "ab"),
        ("[a\nb]", "[ab]"),
        ("a // x\n b", "ab"),
    ],
)
def test_a_line_that_goes_on_is_part_of_the_expression(text: str, joined: str) -> None:
    assert accepted(read(text)) == matched(joined)


# ---- notation of papers ----


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("ab∗", "*"),
        ("a⋆", "*"),
        ("a⋃b", "|"),
        ("a⋁b", "|"),
        ("a⋂b", "&"),
        ("a⁺b", "{1,}"),
        ("a²b", "a{2}"),
        ("{a,b}*", "[ab]"),
        ("{0,1}*", "[ab]"),
    ],
)
def test_signs_of_papers_are_refused_with_what_to_write(expression: str, hint: str) -> None:
    assert hint in refused(expression).hint
