"""Regular expressions: the automaton compared with Python's `re`, and counts, lists and comparisons with brute
force.
"""

import pickle
import re
from itertools import islice, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang.automata import automaton as automata
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.regex.regex_parser import RegexFile
from tests.support.language import SourceError, Undecided, parse_regex

LONGEST = 5
WORDS = ["".join(word) for n in range(1, LONGEST + 1) for word in product("abc", repeat=n)]

leaves = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "[^abc]", "()"])
bounds = st.tuples(st.integers(0, 2), st.integers(0, 2))
repeats = st.one_of(
    st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,}"]), bounds.map(lambda two: f"{{{two[0]},{sum(two)}}}")
)
patterns = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda some: "".join(f"({one})" for one in some)),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(inner, repeats).map(lambda two: f"({two[0]}){two[1]}"),
    ),
    max_leaves=8,
)


def read(expression: str, alphabet: str = "a b c", *header: str) -> RegexFile:
    """Read a file with an expression."""
    return parse_regex("\n".join([f"alphabet: {alphabet}", *header, expression]), "x.re")


def automaton(expression: str, alphabet: str = "a b c") -> Automaton:
    """Return the automaton of an expression."""
    return read(expression, alphabet).automaton


def matched(pattern: str) -> set[str]:
    """Return the words that Python matches; the empty set and the empty word are translated to its notation."""
    python = re.compile(pattern.replace("[^abc]", "(?!)"))
    return {word for word in WORDS if python.fullmatch(word)}


def accepted(made: Automaton) -> set[str]:
    """Return the words up to the tested length that an automaton accepts."""
    return {word for word in WORDS if made.accepts(word)}


# ---- the language ----


@given(patterns)
def test_the_automaton_matches_what_python_matches(pattern: str) -> None:
    assert accepted(automaton(pattern)) == matched(pattern)


@given(patterns, patterns)
def test_intersection_and_complement_are_those_of_sets(one: str, other: str) -> None:
    left, right = matched(one), matched(other)
    assert accepted(automaton(f"({one}) & ({other})")) == left & right
    assert accepted(automaton(f"!({one})")) == set(WORDS) - left
    assert accepted(automaton(f"!({one}) & !({other})")) == set(WORDS) - left - right
    assert accepted(automaton(f"(({one}) & ! ({other})) | c")) == left - right | {"c"}


@given(patterns, patterns)
def test_a_complement_has_the_empty_word_unless_what_it_is_of_has_it(one: str, other: str) -> None:
    """In a sequence with a complement some split of the word must fit; either part may be empty."""
    inside, before = re.compile(one.replace("[^abc]", "(?!)")), re.compile(other.replace("[^abc]", "(?!)"))
    expected = {
        word for word in WORDS
        if any(before.fullmatch(word[:k]) and not inside.fullmatch(word[k:]) for k in range(len(word) + 1))
    }  # fmt: skip
    assert accepted(automaton(f"({other})!({one})")) == expected


@given(patterns)
def test_words_are_counted_and_listed_in_order(pattern: str) -> None:
    made, found = automaton(pattern), matched(pattern)
    for n in range(1, LONGEST + 1):
        expected = sorted(tuple(word) for word in found if len(word) == n)
        assert list(made.words(n)) == expected
        assert made.count(n) == len(expected)
    assert list(islice(made.counts(), LONGEST)) == [
        sum(len(word) == n for word in found) for n in range(1, LONGEST + 1)
    ]


@given(patterns, st.integers(0, 99))
def test_samples_are_distinct_words_of_the_language(pattern: str, seed: int) -> None:
    found = automaton(pattern).samples(4, 6, Random(seed))
    assert len(set(found)) == len(found) <= 6
    assert {"".join(word) for word in found} <= {word for word in matched(pattern) if len(word) == 4}
    assert bool(found) == any(len(word) == 4 for word in matched(pattern))


@given(patterns, patterns)
def test_the_difference_is_the_first_word_of_one_alone(one: str, other: str) -> None:
    left, right = automaton(one), automaton(other)
    found = left.difference(right)
    expected = [word for word in WORDS if word in matched(one) ^ matched(other)]
    if expected:
        assert found == tuple(expected[0])
    elif found is not None:
        assert len(found) > LONGEST
        assert left.accepts(found) != right.accepts(found)
    assert (found is None) == (right.difference(left) is None)


@given(patterns)
def test_no_two_states_are_the_same(pattern: str) -> None:
    """The automaton is minimal: for each pair of states some word is accepted from only one (refinement by Moore)."""
    made = automaton(pattern)
    classes = [state in made.accepting for state in range(len(made.moves))]
    for _ in made.moves:
        rows = [(classes[state], *(classes[target] for target in row)) for state, row in enumerate(made.moves)]
        classes = [rows.index(row) for row in rows]  # type: ignore[misc]  # numbers after the first round
    assert len(set(classes)) == len(made.moves)


def test_the_minimal_automata_of_the_books() -> None:
    """Divisibility of a binary number by 3 has a state for each remainder; `n`-th symbol from the end 2^n (Holzer)."""
    assert len(automaton("(0 | 1 (0 1* 0)* 1)*", "0 1").moves) == 3
    for n in range(1, 8):
        assert len(automaton(f"(a|b)*a(a|b){{{n - 1}}}", "a b").moves) == 2**n


def test_counts_are_exact_beyond_floats() -> None:
    assert automaton(".*", "a b c").count(200) == 3**200
    fibonacci = [1, 2]
    while len(fibonacci) < 301:
        fibonacci.append(sum(fibonacci[-2:]))
    assert automaton("!(.*bb.*)", "a b").count(300) == fibonacci[300]


def test_a_rare_branch_is_sampled() -> None:
    """One of 2^30 words begins with b."""
    assert ("b", *"a" * 29) in automaton("a(a|b)* | ba*", "a b").samples(30, 8, Random(0))


def test_symbols_that_nobody_tells_apart_are_one_letter() -> None:
    made = automaton("s7 (.) [^ s8 s9 ]", " ".join(f"s{k}" for k in range(5000)))
    assert len(made.moves[0]) == 4
    assert made.count(3) == 5000 * 4998
    assert next(made.words(3)) == ("s7", "s0", "s0")


def test_it_travels_as_its_tables() -> None:
    made = automaton("(" * 3000 + "ab" + ")" * 3000)
    again = pickle.loads(pickle.dumps(made))
    assert (again.letters, again.moves, again.accepting) == (made.letters, made.moves, made.accepting)


@pytest.mark.parametrize(
    ("text", "states"),
    [("(" * 20_000 + "a" + ")*" * 20_000, 2), ("!(" * 2000 + "a" + ")" * 2000, 3), ("a{5000}", 5002)],
    ids=["brackets", "complements", "repetitions"],
)
@pytest.mark.slow
def test_depth_and_length_are_no_limit(text: str, states: int) -> None:
    assert len(automaton(text).moves) == states


# ---- notation ----


def test_symbols_of_several_characters_stand_apart() -> None:
    made = automaton("(req [^req]* 'ack')+ // to the end", "req ack idle")
    assert made.accepts(["req", "idle", "ack", "req", "ack"])
    assert not made.accepts(["req", "req", "ack"])


def test_signs_are_quoted() -> None:
    made = automaton("'(' ( '''' | ['*' '-' a])* ')'", "( ) * - ' a")
    assert made.accepts("('*-a)")
    assert not made.accepts("((")


def test_a_complement_in_brackets_stands_beside_others() -> None:
    """The expression: any word except `a`, the empty word included, and then `b`."""
    assert accepted(automaton("(!a)b")) == {word for word in WORDS if word.endswith("b") and word[:-1] != "a"}


def test_an_expression_may_go_on() -> None:
    assert accepted(read("ab\n// or\n  | c").automaton) == {"ab", "c"}


def test_what_a_file_says() -> None:
    found = parse_regex(
        "\ufeff// Tomita 1\r\nalphabet: a b\r\nsource: Tomita 1982\r\naccept: a aa\r\nreject: b\r\na*\r\n"
    )
    assert (found.title, found.origin, found.alphabet, found.notes) == ("Tomita 1", "Tomita 1982", ("a", "b"), ())
    assert [(example.word, example.accept) for example in found.examples] == [
        (("a",), True), (("a", "a"), True), (("b",), False)
    ]  # fmt: skip


def test_notes() -> None:
    assert read(".* a", ". a").notes == (". is an operator; the symbol is written '.'",)
    assert read("a & b").notes == ("the expression matches no word (words are non-empty)",)
    assert read("()").notes == ("the expression matches no word (words are non-empty)",)
    assert read("'.' a", ". a").notes == ()
    assert read("(()|a)*", "( ) a").notes == (
        "( is a bracket; the symbol is written '('",
        ") is a bracket; the symbol is written ')'",
    )
    assert read("('(' ')'|a)*", "( ) a").notes == ()
    assert read("1{0,1}", "0 1").notes == ("{0,1} repeats the operand before it; the set is written [0 1]",)
    assert read("1{2}1{0,}", "0 1").notes == ()
    assert read("aε", "a ε").notes == ("ε is a symbol of the alphabet here; the empty word is written ()",)
    assert read("a'ε'", "a ε").notes == ()


# ---- refusals ----


@pytest.mark.parametrize(
    ("expression", "place", "message", "advice"),
    [
        ("a**", "3", "two repetitions in a row need brackets", "( ... *)*"),
        ("a+?", "3", "two repetitions in a row need brackets", "no lazy or possessive repetitions"),
        ("!a*", "3", "! beside * needs brackets", "write !( ... *) or (! ...)*"),
        ("!ab", "1", "!a before another operand needs brackets", "(!a) for the complement of this operand"),
        ("!!a", "2", "! cannot stand after !", "write !(!( ... ))"),
        ("*a", "1", "* repeats nothing", "a symbol"),
        ("(?:a)", "2", "? repeats nothing", "write a group in plain brackets"),
        ("a |", "4", "an operand is missing after |", "the empty word is written ()"),
        ("|a", "1", "| cannot stand at the beginning", "the empty word is written ()"),
        ("(a|)b", "4", ") cannot stand after |", "the empty word is written ()"),
        ("a && b", "4", "& cannot stand after &", "write & once"),
        ("!", "2", "an operand is missing after !", "an opening bracket"),
        ("a{2,1}", "2", "1 repetitions are fewer than 2", "{1,2}"),
        ("a{,3}", "2", "a repetition without its least number", "write {0,3}"),
        ("a{3", "2", "these braces are not a repetition", "{m}, {m,} or {m,n}"),
        ("a{1 2}", "2", "a comma is missing", "write {1,2}"),
        ("a{p}", "2", "these braces are not a repetition", "sets of propositions need a line props:"),
        ("a{,}", "2", "these braces are not a repetition", "{m}, {m,} or {m,n}"),
        ("a{1000000}", "2", "more than 100,000 repetitions", "a smaller number"),
        ("a{9999999999999999999}", "2", "a number larger than 10^18", "a smaller integer"),
        ("[ab", "1", "this bracket is never closed: [", "] further on"),
        ("(a]", "3", "] does not close (", ")"),
        ("a)", "2", "this bracket closes nothing: )", ""),
        ("a}", "2", "this bracket closes nothing: }", ""),
        ("[]", "2", "a set without symbols", "the empty language !(.*)"),
        ("[^]", "3", "a set without symbols", "any symbol is written ."),
        ("[a-c]", "3", "there are no ranges of symbols", "list all of its symbols"),
        ("[a*]", "3", "* in a set", "the symbol is written '*'"),
        ("a + | b", "3", "a blank before +", "union is written |"),
        ("a ?b", "3", "a blank before ?", "any symbol (? in xfst) is written ."),
        ("a & b | c", "3", "& beside | needs brackets", "write (e & f) | g or e & (f | g)"),
        ("a | b & c", "7", "& beside | needs brackets", "write (e & f) | g or e & (f | g)"),
        ("(a | !)", "7", ") cannot stand after !", "the empty word is written ()"),
        ("a^3", "2", "'^' is not a symbol of the alphabet", "a power such as a^3 is written a{3}"),
        ("a - b", "3", "'-' is not a symbol of the alphabet", "e & !(f)"),
        ("a·b", "2", "is not a symbol of the alphabet", "write operands side by side"),
        ("(a|eps)b", "4", "'e' is not a symbol of the alphabet", "the empty word is written ()"),
        ("@empty_set", "1", "'@' is not a symbol of the alphabet", "the empty language is written !(.*)"),
        ("(a|1)b", "4", "'1' is not a symbol of the alphabet", "the empty word is written ()"),
        ("0|a", "1", "'0' is not a symbol of the alphabet", "the empty language is written !(.*)"),
        ("∅", "1", "is not a symbol of the alphabet", "the empty language is written !(.*)"),
        ("a\\e", "2", "is not a symbol of the alphabet", "the empty word is written ()"),
        ("d", "1", "'d' is not a symbol of the alphabet", "symbols of the alphabet: a b c"),
        ("'d'", "1", "'d' is not a symbol of the alphabet", "symbols of the alphabet: a b c"),
        ("a'b", "2", "this quote is never closed", "a closing quote"),
        ("\\d", "1", "is not a symbol of the alphabet", "there are no escapes"),
        ("^ab$", "1", "'^' is not a symbol of the alphabet", "leave out ^ and $"),
        ("ε", "1", "is not a symbol of the alphabet", "the empty word is written ()"),
        ("(a|b)*a(a|b){20}", "1", "more than 10,000 states", "remembers less of a word"),
        ("!(.*a.{20})b", "2", "more than 10,000 states", "remembers less of a word"),
        pytest.param(
            "(a?){9000}",
            "1",
            "stand for more than 10,000,000 parts in total",
            "remembers less of a word",
            marks=pytest.mark.slow,
        ),
        ("(.{99}a)* & (.{100}b)* & (.{101}c)*", "1", "more than 10,000 states", "remembers less of a word"),
        ("((a{1000}){1000}){1000}", "1", "more than 100,000 parts", "repeat less often"),
    ],
)
def test_a_mistake_is_reported_with_its_place(expression: str, place: str, message: str, advice: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(expression)
    first, *rest = str(caught.value).split("\n")
    assert first.startswith(f"x.re:2:{place}: error: ")
    assert message in first
    assert advice in "\n".join(rest)


@pytest.mark.parametrize(
    ("text", "message", "advice"),
    [
        ("a*", "x.re:1:1: error: missing alphabet", "add it at the top of the file"),
        ("alphabet: a", "x.re:1:12: error: missing expression", "such as (ab)*"),
        ("", "x.re:1:1: error: the file is empty", "alphabet: a b, then (ab)*"),
        ("alphabet: a\nat: last\na", "x.re:2:1: error: unknown header key 'at'", "at: belongs to formulas"),
        ("alphabet: a\na\nreject: aa", "x.re:3:1: error: header lines must come before the expression", "line 2"),
        ("alphabet = a\na", "x.re:1:10: error: a header line has a colon", "write alphabet: a"),
        ("alphabet: a\n a", "x.re:2:1: error: an indented line after a header line", "repeat its key"),
        ("alphabet: a\naccept: aa\na", "x.re:2:9: error: the expression does not match 'aa'", "Correct"),
        ("alphabet: a\nreject: aa\na*", "x.re:2:9: error: the expression matches 'aa'", "Correct"),
        ("alphabet: a\n# no\na*", "x.re:2:1: error: # does not begin a comment here", "//"),
        ("alphabet: ab c\nabc", "x.re:2:1: error: 'abc' is not a symbol", "separate symbols by blanks: ab c"),
        ("alphabet: a - z\n[a-z]", "x.re:2:3: error: there are no ranges", "the symbol - is quoted"),
    ],
)  # fmt: skip
def test_a_mistake_of_a_file_is_reported(text: str, message: str, advice: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_regex(text, "x.re")
    assert str(caught.value).startswith(message)
    assert advice in str(caught.value)


def test_a_comparison_has_a_limit_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automata, "MAX_PAIRS", 10)
    with pytest.raises(Undecided, match="agree up to length 10, after which more than 10 pairs"):
        automaton("a{40}", "a").difference(automaton("a{41}", "a"))
