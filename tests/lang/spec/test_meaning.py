"""The demands of specifications on words: by definition, one word at a time and in batches; and what is refused."""

import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang.spec.domain import extensions_of, first_in, leading, prefixes_of
from hardsim.lang.spec.layout import read_spec
from hardsim.lang.spec.meaning import Demands, Question, remarks
from hardsim.lang.spec.oracle import OutputValues
from tests.lang.spec.words import Word, words_up_to
from tests.support.language import InputError, Oracle, SourceError, parse_expression, parse_program, parse_regex

PROGRAM = """alphabet: a b
ones(i) := psum_j[j <= i] (Q_a(j) ? 1 : 0)
half(i) := mean_j[j <= i] (Q_a(j) ? 1 : 0)
more(i) := ones(i) > 2
letter(i) := more(i) ? 'a' : 'b'
output: {output}
"""


def demands(
    text: str, at: Any = "last", decide: Any = "above", outputs: tuple[str, ...] = ("x",), **more: Any
) -> Demands:
    program = parse_program(more["program"]) if "program" in more else None
    alphabet, before, causal = more.get("alphabet", ("a", "b")), more.get("before", False), more.get("causal", False)
    return Question(read_spec(text, "x.spec"), program, alphabet, at, decide, outputs, before, causal).demands()


def agree(found: Demands, expected: Callable[[Word], Any], longest: int = 4, shortest: int = 1) -> None:
    """Compare demands with the definition on all short words: one at a time, in batches, and after pickling."""
    again = pickle.loads(pickle.dumps(found.oracle))
    for n in range(shortest, longest + 1):
        words = list(product("ab", repeat=n))
        many = found.oracle.many(words)
        assert many == again.many(words) == [found.oracle(word) for word in words]
        assert [dict(raw) if isinstance(raw, OutputValues) else raw for raw in many] == list(map(expected, words))


def holds(formula: str, word: Word, place: int) -> bool:
    return Oracle(parse_expression(formula, "a b")).truth(word)[place]


# ---- lines ----


@pytest.mark.parametrize("at", ["last", "first", "each"])
def test_a_formula_is_read_where_the_network_is_judged(at: str) -> None:
    formula = "(#L[a] > #R[b]) | X b"

    def expected(word: Word) -> Any:
        row = [holds(formula, word, place) for place in range(len(word))]
        return {"last": row[-1], "first": row[0], "each": row}[at]

    agree(demands(f"output x: {formula}\n", at), expected)


def test_several_outputs_are_listed_by_name() -> None:
    found = demands("output x: a\noutput z: Y a\n", outputs=("x", "y", "z"))
    agree(found, lambda word: {"x": word[-1] == "a", "z": len(word) > 1 and word[-2] == "a"})
    one, two = found.oracle(("a", "b")), found.oracle(("a", "a", "b"))
    assert (one == two, hash(one) == hash(two)) == (True, True)  # equal demands share a cache entry


def test_one_line_of_several_outputs_keeps_its_name() -> None:
    agree(demands("output y: a\n", outputs=("x", "y")), lambda word: {"y": word[-1] == "a"})


def test_argmax_wants_the_output_whose_line_holds() -> None:
    found = demands("output x: a\noutput y: b & !O a\noutput z: b & O a\n", "each", "argmax", ("x", "y", "z"))
    agree(found, lambda word: [
        "x" if word[i] == "a" else "z" if "a" in word[:i] else "y" for i in range(len(word))
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("output x: a\noutput y: b & Y b\n", "x.spec:1:11: error: on the word ab, position 2, no output line is true"),
        (
            "output x: a\noutput y: a | b\n",
            "x.spec:2:11: error: on the word ab, position 1, output x and output y are both true",
        ),
        ("output x: a\n", "x.spec:1:11: error: on the word ab, position 2, no output line is true"),
    ],
)
def test_argmax_needs_exactly_one_line(lines: str, message: str) -> None:
    found = demands(lines, "each", "argmax", ("x", "y"))
    with pytest.raises(SourceError) as caught:
        found.oracle(("a", "b"))
    first, _, caret, hint = str(caught.value).splitlines()
    assert (first, caret.lstrip().startswith("^")) == (message, True)
    assert "assume:" in hint
    assert demands(f"{lines}assume: false\n", "each", "argmax", ("x", "y")).oracle(("a", "b")) == [None, None]


def test_values_are_exact_fractions() -> None:
    found = demands("value x: 2 * #L[a] / pos - (len - 1) / 3 * #R[b]\n", "each", "value")

    def expected(word: Word) -> list[Fraction]:
        n = len(word)
        return [
            Fraction(2 * word[: i + 1].count("a"), i + 1) - Fraction(n - 1, 3) * word[i:].count("b") for i in range(n)
        ]

    agree(found, expected)
    assert demands("value x: 1 / 3 / 2 - -1 / (1 / 4)\n", decide="value").oracle(("a",)) == Fraction(1, 6) + 4
    assert demands("value x: pos * #[a] * len\n", decide="value").oracle(tuple("aba")) == 18


def test_a_division_by_0_is_reported_only_where_something_is_judged() -> None:
    line = "value x: 1 / #L[b]\n"
    with pytest.raises(
        InputError, match=r"x\.spec:1:10: .* word ab, position 1, the value of the output is a division"
    ):
        demands(line, "each", "value").oracle(("a", "b"))
    assert demands(f"{line}assume: O b\n", "each", "value").oracle(("a", "b")) == [None, 1]


# ---- assume ----


def test_assume_with_a_formula_is_about_the_whole_word() -> None:
    found = demands("assume: #[a] = #[b]\noutput x: a\n", "each")
    assert found.domain is None
    agree(found, lambda word: [
        symbol == "a" if word.count("a") == word.count("b") else None for symbol in word
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "at"),
    [("a+", "first"), ("(a|b)b", "last"), *product(["(ab)*", "a+", "a(a|b)b*", "()|bb"], ["last", "each"])],
)
def test_assume_with_an_expression_is_about_the_prefix(expression: str, at: str) -> None:
    found = demands(f"assume: /{expression}/\noutput x: b\n", at)

    def expected(word: Word) -> Any:
        text = "".join(word)
        row = [
            text[end - 1] == "b" if re.fullmatch(expression, text[:end]) else None for end in range(1, len(text) + 1)
        ]
        return {"last": row[-1], "first": row[0], "each": row}[at]

    agree(found, expected)
    assert found.domain is not None
    for word in words_up_to(4):
        raw = expected(word)
        assert found.domain.accepts(word) == (raw is not None and (at != "each" or any(one is not None for one in raw)))


# ---- programs ----


def test_the_output_of_a_program() -> None:
    def ones(word: Word) -> int:
        return word.count("a")

    text = "program: p.srasp\n"
    agree(demands(text, program=PROGRAM.format(output="more")), lambda word: ones(word) > 2)
    agree(
        demands(text, "each", "value", program=PROGRAM.format(output="ones")),
        lambda word: [ones(word[:end]) for end in range(1, len(word) + 1)],
    )
    letters = demands(text, "last", "argmax", ("a", "b", "c"), program=PROGRAM.format(output="letter"))
    agree(letters, lambda word: "a" if ones(word) > 2 else "b")
    numbers = demands(text, "first", "argmax", ("0", "1"), program=PROGRAM.format(output="ones"))
    agree(numbers, lambda word: str(ones(word[:1])))


def test_lines_name_vectors_of_a_program() -> None:
    program = PROGRAM.format(output="more")
    text = "program: p.srasp\nvalue x: half\nvalue y: #L[a] / pos\n"
    share = demands(text, "each", "value", ("x", "y"), program=program)
    for word in words_up_to(4):
        assert all(one["x"] == one["y"] for one in share.oracle(word))
    several = demands("program: p.srasp\noutput x: more\noutput y: a\n", outputs=("x", "y"), program=program)
    agree(several, lambda word: {"x": word.count("a") > 2, "y": word[-1] == "a"})


# ---- next ----


def brute(expression: str, word: Word, end: str = "<eos>") -> frozenset[str] | None:
    """Return, by definition, the tokens that may come next after a prefix, from all words that are a little longer."""
    longer = [word + more for n in range(7) for more in product("ab", repeat=n)]
    members = [one for one in longer if re.fullmatch(expression, "".join(one))]
    if not members:
        return None
    return frozenset(
        {one[len(word)] for one in members if len(one) > len(word)} | ({end} if word in members else set())
    )


TOKENS = ("a", "b", "<bos>", "<eos>")


@pytest.mark.parametrize("expression", ["(ab)*", "(a(ab)*b)*", "aab|b", "a*", "a(a|b)?"])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_next_is_what_may_come(expression: str, before: bool, causal: bool) -> None:
    found = demands(f"next: /{expression}/\n", "each", outputs=TOKENS, before=before, causal=causal)

    def expected(word: Word) -> list[Any]:
        # The language has no word with such a prefix, so no output has an expected answer there.
        known = causal or brute(expression, word) is not None
        return [brute(expression, word[:end]) if known else None for end in range(0 if before else 1, len(word) + 1)]

    agree(found, expected, 3, shortest=0 if before else 1)
    assert found.shortest == (0 if before else 1)
    assert found.domain is not None
    for word in words_up_to(3):
        assert found.domain.accepts(word) == (brute(expression, word) is not None)


@pytest.mark.parametrize(("at", "end", "shortest"), [("last", None, 0), ("first", 1, 1)])
def test_next_at_one_place(at: str, end: int | None, shortest: int) -> None:
    found = demands("next: /(ab)*/\n", at, "argmax", TOKENS, before=True)
    agree(found, lambda word: brute("(ab)*", word[:end]) if brute("(ab)*", word) is not None else None, 3, shortest)
    assert found.shortest == shortest


@pytest.mark.parametrize("line", ["next: /{}/\n", "assume: /{}/\noutput a: a\n"])
def test_a_plus_in_an_expression_means_what_the_header_says(line: str) -> None:
    """The header decides for every line with an expression, as for an expression in a file of its own."""
    domains = []
    for spelled, header in (
        ("a+b", ""),
        ("a+b", "plus: union\n"),
        ("a|b", ""),
        ("a+b", "plus: repeat\n"),
        ("(a+)b", ""),
    ):
        text, outputs = header + line.format(spelled), TOKENS if line.startswith("next") else ("a", "b")
        if spelled == "a+b" and not header:
            with pytest.raises(SourceError, match="this \\+ is union in formal-language papers") as caught:
                demands(text, "each", outputs=outputs)
            assert caught.value.hint.endswith("plus: union or plus: repeat")
            continue
        found = demands(text, "each", outputs=outputs).domain
        assert found is not None
        domains.append({word for word in words_up_to(4) if found.accepts(word)})
    assert domains[0] == domains[1] != domains[2] == domains[3]


@pytest.mark.parametrize(
    ("text", "alphabet", "message"),
    [
        ("next: /(1{0,1})*/\n", "01", ["{0,1} repeats the operand before it; the set is written [0 1]"]),
        ("assume: /(()|a)*/\noutput x: a\n", "a()", ["( is a bracket", ") is a bracket"]),
        ("assume: a -> b <-> a\noutput x: a\n", "ab", ["-> binds tighter than <->"]),
        ("output x: a\noutput y: a -> b <-> a\n", "ab", ["-> binds tighter than <->"]),
        ("assume: /(ab)*/\noutput x: a <-> b\n", "ab", []),
    ],
)
def test_lines_with_two_readings_get_a_note(text: str, alphabet: str, message: list[str]) -> None:
    notes = remarks(read_spec(text, "x.spec"), None, tuple(alphabet))
    assert [note.startswith(one) for note, one in zip(notes, message, strict=True)] == [True] * len(message)


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "()"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        inner.map(lambda one: f"({one})?"),
    ),
    max_leaves=5,
)
"""Regular expressions whose words have at most 5 symbols."""


@given(EXPRESSIONS)
def test_next_agrees_with_its_definition(expression: str) -> None:
    found = demands(f"next: /{expression}/\n", "each", outputs=TOKENS, before=True, causal=True)
    agree(found, lambda word: [brute(expression, word[:end]) for end in range(len(word) + 1)], 3, shortest=0)


# ---- domains ----


@given(EXPRESSIONS)
def test_domains(expression: str) -> None:
    automaton = parse_regex(f"alphabet: a b\n{expression}\n").automaton
    members = {word for word in words_up_to(6) if automaton.accepts(word)} | ({()} if automaton.accepts(()) else set())
    prefixes, extensions, first = prefixes_of(automaton), extensions_of(automaton), first_in(automaton)
    for word in words_up_to(3):
        assert prefixes.accepts(word) == any(one[: len(word)] == word for one in members)
        assert extensions.accepts(word) == any(word[:end] in members for end in range(1, len(word) + 1))
        assert first.accepts(word) == (word[:1] in members)
    assert (0 in leading(automaton)) == bool(members)


# ---- refusals ----


@pytest.mark.parametrize(
    ("text", "how", "message"),
    [
        (
            "output x: a b\n",
            {},
            "x.spec:1:13: error: missing operator before b\n  output x: a b\n              ^\n"
            "  expected: an operator or the end of the formula\n  write a name with blanks in quotes: 'a b'",
        ),
        (
            "assume: #L[a] / 2 > 1\noutput x: a\n",
            {},
            "x.spec:1:15: error: unknown operator /\n  assume: #L[a] / 2 > 1\n                ^\n"
            "  expected: an operator or an operand\n  there is no division: multiply both sides",
        ),
        (
            "output x: X a & X[!] b\n",
            {},
            "x.spec:1:17: error: X[!] and a bare X in one file: without a dialect, X could be strong or "
            "weak\n  output x: X a & X[!] b\n                  ^^^^\n  expected: X[!] or WX alone\n"
            "  strong-next: X a is false at the last position, as X[!] a is; weak-next: X a is true there, as WX a is",
        ),
        (
            "value x: #L[#L[a] / 2 > 1]\n",
            {"decide": "value"},
            "x.spec:1:19: error: there is no division inside a formula\n  value x: #L[#L[a] / 2 > 1]\n"
            "                    ^\n  multiply both sides",
        ),
        (
            "value x: 1 + a\n",
            {"decide": "value"},
            "x.spec:1:14: error: a is a formula, and a number is needed here\n  value x: 1 + a\n               ^\n"
            "  expected: a number\n  #L[phi] counts the positions where phi holds",
        ),
        (
            "value x: 1 /\n",
            {"decide": "value"},
            "x.spec:1:13: error: missing operand after /\n  value x: 1 /\n              ^\n"
            "  expected: a symbol, a name, a constant, a unary operator, a count or an opening bracket",
        ),
        (
            "value x: 1\n",
            {},
            "x.spec:1:7: error: a line value does not fit decide: above, which compares truth values\n"
            "  value x: 1\n        ^\n"
            "  expected: decide: value within 1/100, or output NAME: FORMULA",
        ),
        (
            "output x: a\n",
            {"decide": "value"},
            "x.spec:1:8: error: a line output does not fit decide: value, which compares numbers\n"
            "  output x: a\n         ^\n"
            "  expected: decide: above 0, or value NAME: TERM",
        ),
        (
            "assume: /a(b/\noutput x: a\n",
            {},
            "x.spec:1:11: error: this bracket is never closed: (\n  assume: /a(b/\n            ^\n"
            "  expected: ) further on",
        ),
        (
            "assume: /ab\noutput x: a\n",
            {},
            "x.spec:1:9: error: assume: is not followed by a regular expression\n  assume: /ab\n          ^^^\n"
            "  expected: such as /(ab)*/\n  write a regular expression between slashes, and nothing after it",
        ),
        (
            "assume: /a & b/\noutput x: a\n",
            {},
            "x.spec:1:9: error: no position of any word would be checked\n  assume: /a & b/\n          ^^^^^^^\n"
            "  expected: an expression that a word matches",
        ),
        (
            "assume: /ab/\noutput x: a\n",
            {"at": "first"},
            "x.spec:1:9: error: no position of any word would be checked\n  assume: /ab/\n          ^^^^\n"
            "  expected: an expression that a word matches",
        ),
        (
            "next: (ab)*\n",
            {"outputs": TOKENS},
            "x.spec:1:7: error: next: is not followed by a regular expression\n  next: (ab)*\n        ^^^^^\n"
            "  expected: such as /(ab)*/\n  write a regular expression between slashes, and nothing after it",
        ),
        (
            "next: / /\n",
            {"outputs": TOKENS},
            "x.spec:1:7: error: nothing is between the slashes\n  next: / /\n        ^^^\n"
            "  the empty word is written ()",
        ),
        (
            "next: /ac/\n",
            {"outputs": TOKENS},
            "x.spec:1:9: error: 'c' is not a symbol of the alphabet\n  next: /ac/\n          ^\n"
            "  expected: symbols of the alphabet: a b",
        ),
        (
            "next: /!(.*)/\n",
            {"outputs": TOKENS},
            "x.spec:1:7: error: no word matches, so no output would be checked\n  next: /!(.*)/\n        ^^^^^^^\n"
            "  expected: an expression that a word matches",
        ),
        (
            "next: /()/\n",
            {"outputs": TOKENS},
            "x.spec:1:7: error: only the empty word matches, and the network reads nothing before words, so "
            "no output would be checked\n  next: /()/\n        ^^^^\n  expected: an expression that a word matches",
        ),
        (
            "next: /a/\n",
            {"decide": "value"},
            "x.spec:1:1: error: next: states which tokens may come next, but decide: value compares numbers\n"
            "  next: /a/\n  ^^^^\n  expected: decide: above X or decide: argmax",
        ),
        (
            "next: /a/\n",
            {"outputs": ("a", "b")},
            "x.spec:1:7: error: after some word no symbol may come next, and the network has no output <eos>\n"
            "  next: /a/\n        ^^^\n"
            "  expected: an expression such as /(ab)*/, whose words all have longer ones; or a token <eos> in tokens:",
        ),
        (
            "next: /a/\n",
            {"outputs": TOKENS, "alphabet": ("a", "<eos>")},
            "x.spec:1:1: error: <eos> stands for the end of a word, and cannot be a symbol\n"
            "  next: /a/\n  ^^^^\n"
            "  list the symbols of words: alphabet: a",
        ),
        (
            "program: p.srasp\n",
            {"program": PROGRAM.format(output="ones")},
            "x.spec:1:10: error: ones is a vector of integer values, which does not fit decide: above\n"
            "  program: p.srasp\n           ^^^^^^^\n  expected: Boolean values",
        ),
        (
            "program: p.srasp\n",
            {"program": PROGRAM.format(output="more"), "outputs": ("x", "y")},
            "x.spec:1:10: error: the network has 2 outputs, and the program has one\n  program: p.srasp\n"
            "           ^^^^^^^\n  choose one in a specification (a .spec file), with a line output NAME: more "
            "(the outputs are x y)",
        ),
        (
            "program: p.srasp\noutput x: a\n",
            {"program": PROGRAM.format(output="more")},
            "x.spec:1:10: error: no line names a vector of this program, so the program has no effect\n"
            "  program: p.srasp\n           ^^^^^^^\n  expected: output NAME: more, say, or no program:",
        ),
        (
            "program: p.srasp\nvalue x: more\n",
            {"program": PROGRAM.format(output="more"), "decide": "value"},
            "x.spec:2:10: error: more is a vector of Boolean values, which does not fit decide: value\n"
            "  value x: more\n           ^^^^\n  expected: integer or rational values",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_place(text: str, how: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError) as caught:
        demands(text, **how)
    assert str(caught.value) == message


@pytest.mark.parametrize("line", ["language", "output x"])
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("(ab)*", "a regular expression stands between slashes: {}: /(ab)*/"),
        ("[ab]*b", "a regular expression stands between slashes: {}: /[ab]*b/"),
        ("ab?", "a regular expression stands between slashes: {}: /ab?/"),
        ("good.ltl", "a file stands after @: {}: @good.ltl"),
        ("../up/words.re", "a file stands after @: {}: @../up/words.re"),
    ],
)
def test_what_looks_like_an_expression_or_a_file_says_how_these_are_written(line: str, text: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        demands(f"{line}: {text}\n", outputs=("x",))
    assert caught.value.hint == hint.format(line)
