"""Expressions whose symbols are sets of propositions: compared with Python's `re` on words in which each set is a
letter, and over alphabets too large to list.
"""

import pickle
import re
from itertools import combinations, islice, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang.automata.letters import SymbolClasses
from hardsim.lang.regex.regex_parser import RegexFile
from hardsim.lang.valuations import Valuations
from tests.support.language import SourceError, parse_regex

LONGEST = 4
NAMES = ("p", "q")
SETS = {"a": "{}", "b": "{p}", "c": "{q}", "d": "{p,q}"}
WORDS = ["".join(word) for n in range(1, LONGEST + 1) for word in product(SETS, repeat=n)]
MANY = tuple(f"p{k}" for k in range(58))

leaves = st.sampled_from(["a", "b", "c", "d", ".", "[ab]", "[^a]", "[^bd]", "()"])
repeats = st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,}", "{1,2}"])
patterns = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda some: "".join(f"({one})" for one in some)),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(inner, repeats).map(lambda two: f"({two[0]}){two[1]}"),
    ),
    max_leaves=8,
)


def read(expression: str, *header: str) -> RegexFile:
    """Read a file with an expression."""
    return parse_regex("\n".join([*header, expression]), "x.re")


def over_sets(pattern: str, backwards: bool) -> str:
    """Return a pattern with its letters written as sets; `backwards` reverses the order of the propositions."""
    return re.sub("[a-d]", lambda found: "{q,p}" if backwards and found[0] == "d" else SETS[found[0]], pattern)


def word_of(letters: str, names: tuple[str, ...] = NAMES) -> tuple[str, ...]:
    """Return a word as its sets, with the propositions in the order of `names`."""
    return tuple("{q,p}" if letter == "d" and names == ("q", "p") else SETS[letter] for letter in letters)


@given(patterns, st.booleans(), st.permutations(NAMES))
def test_the_automaton_matches_what_python_matches(pattern: str, backwards: bool, names: list[str]) -> None:
    python, order = re.compile(pattern), tuple(names)
    made = read(over_sets(pattern, backwards), f"props: {' '.join(names)}").automaton
    found = [word for word in WORDS if python.fullmatch(word)]
    for way in (NAMES, ("q", "p")):
        assert [word for word in WORDS if made.accepts(word_of(word, way))] == found
    alphabet = Valuations(order)
    for n in range(1, LONGEST + 1):
        expected = [word_of(word, order) for word in found if len(word) == n]
        assert made.count(n) == len(expected)
        listed = list(made.words(n))
        assert listed == sorted(expected, key=lambda word: [alphabet.index(symbol) for symbol in word])
        samples = made.samples(n, 5, Random(n))
        assert set(samples) <= set(expected)
        assert bool(samples) == bool(expected)


@given(patterns, patterns, st.permutations(NAMES))
def test_two_automata_over_propositions_in_other_orders(one: str, other: str, names: list[str]) -> None:
    """Differences and intersections of automata whose alphabets have the same propositions in another order."""
    left = read(over_sets(one, False), "props: p q").automaton
    right = read(over_sets(other, True), f"props: {' '.join(names)}").automaton
    first, second = re.compile(one), re.compile(other)
    both = [word for word in WORDS if first.fullmatch(word) and second.fullmatch(word)]
    meet = left.intersection(right)
    assert [word for word in WORDS if meet.accepts(word_of(word))] == both
    apart = [word for word in WORDS if bool(first.fullmatch(word)) != bool(second.fullmatch(word))]
    found = left.difference(right)
    if apart:
        shortest = [word_of(word) for word in apart if len(word) == len(apart[0])]
        alphabet = Valuations(NAMES)
        assert found == min(shortest, key=lambda word: [alphabet.index(symbol) for symbol in word])
    else:
        assert found is None or len(found) > LONGEST


@given(patterns, st.sampled_from(["one-of", "at-most-one"]))
def test_constraints_leave_sets_out(pattern: str, key: str) -> None:
    """`.` and `[^...]` match only sets that the constraint allows."""
    left = "bc" if key == "one-of" else "abc"
    if "d" in pattern or (key == "one-of" and "a" in pattern):
        with pytest.raises(SourceError, match=f"violates {key}: p q"):
            read(over_sets(pattern, False), "props: p q", f"{key}: p q")
        return
    python = re.compile(pattern.replace(".", f"[{left}]"))
    made = read(over_sets(pattern, False), "props: p q", f"{key}: p q").automaton
    words = [word for word in WORDS if set(word) <= set(left)]
    assert [made.accepts(word_of(word)) for word in words] == [bool(python.fullmatch(word)) for word in words]
    for n in range(1, LONGEST + 1):
        assert made.count(n) == sum(len(word) == n and bool(python.fullmatch(word)) for word in words)


@given(st.integers(1, 3), st.sets(st.integers(0, 7)), st.sets(st.integers(0, 7)))
def test_letters_are_those_of_the_list_of_symbols(props: int, one: set[int], other: set[int]) -> None:
    """Compare SymbolClasses, their first symbols, sizes and order with a list of all symbols."""
    alphabet = Valuations(MANY[:props])
    named, others = ({number for number in some if number < len(alphabet)} for some in (one, other))
    letters = SymbolClasses.of(alphabet, [alphabet[number] for number in named])
    listed = [letters[symbol] for symbol in alphabet]
    assert list(dict.fromkeys(listed)) == list(range(len(letters.sizes)))
    assert letters.sizes == tuple(map(listed.count, range(len(letters.sizes))))
    assert letters.firsts == tuple(map(listed.index, range(len(letters.sizes))))
    for left in (set(), {0}, {len(letters.sizes) - 1}, set(range(len(letters.sizes)))):
        expected = [(symbol, letter) for symbol, letter in zip(alphabet, listed, strict=True) if letter in left]
        assert list(letters.symbols(left)) == expected
    for letter in range(len(letters.sizes)):
        drawn = {letters.drawn(letter, Random(seed)) for seed in range(200)}
        assert drawn == {symbol for symbol in alphabet if letters[symbol] == letter}
    second = SymbolClasses.of(alphabet, [alphabet[number] for number in others])
    both, pairs = letters.common(second)
    assert [pairs[both[symbol]] for symbol in alphabet] == [(letters[symbol], second[symbol]) for symbol in alphabet]


def test_nothing_is_listed_of_many_sets() -> None:
    made = read(".*{p1,p3}[^{p0}]", f"props: {' '.join(MANY)}").automaton
    assert [made.count(n) for n in (1, 2, 3)] == [0, 2**58 - 1, 2**58 * (2**58 - 1)]
    assert made.complement().count(2) == 2**116 - (2**58 - 1)
    assert list(islice(made.words(3), 2)) == [("{}", "{p1,p3}", "{}"), ("{}", "{p1,p3}", "{p1}")]
    assert made.accepts(["{p57,p2}", "{p3,p1}", "{p1,p0}"])
    assert not made.accepts(["{p57,p2}", "{p3,p1}", "{p0}"])
    other = read(".*{p3,p1}([^{p0}{p57}]|{p57})", f"props: {' '.join(reversed(MANY))}").automaton
    assert made.difference(other) is None
    assert made.intersection(other.complement()).empty
    fewer = read(".*{p3,p1}[^{p0}{p57}]", f"props: {' '.join(reversed(MANY))}").automaton
    assert made.difference(fewer) == ("{p1,p3}", "{p57}")
    assert all(word[-2] == "{p1,p3}" and word[-1] != "{p0}" for word in made.samples(5, 4, Random(0)))
    again = pickle.loads(pickle.dumps(made))
    assert (again.letters, again.moves, again.accepting) == (made.letters, made.moves, made.accepting)


def test_symbols_that_are_sets_by_their_spelling_need_no_quotes() -> None:
    made = read("{q,p}{2} [{} {p}] '{p,q}'", "alphabet: {} {p} {p,q}").automaton
    assert list(made.words(4)) == [("{p,q}", "{p,q}", last, "{p,q}") for last in ("{}", "{p}")]


def test_braces_after_an_operand_are_a_repetition_only_if_numeric() -> None:
    for text, word in (
        ("{p}{2}{q}{}", ["{p}", "{p}", "{q}", "{}"]),
        ("({p}{q}){2,2}", ["{p}", "{q}", "{p}", "{q}"]),
        ("{ q , p }{1,1}{ }", ["{p,q}", "{}"]),
        ("[{p}{q}]{2}", ["{p}", "{q}"]),
    ):
        made = read(text, "props: p q").automaton
        assert made.accepts(word)
        assert not made.accepts(word[:-1])
    named = read("{2}{2}'{2}'[{2}]", "props: 2 3")
    assert [named.automaton.count(n) for n in range(1, 6)] == [0, 0, 0, 1, 0]
    assert named.notes == ("{2} is a repetition after what it repeats; the symbol is written '{2}'",)


def test_every_set_is_read() -> None:
    """A set of propositions alone is a word of one symbol, in whatever order they are written."""
    names = ("p", "q", "r")
    for size in range(4):
        for some in combinations(names, size):
            written = "{" + ",".join(reversed(some)) + "}"
            assert list(read(written, "props: p q r").automaton.words(1)) == [("{" + ",".join(some) + "}",)]


def test_propositions_that_are_mentioned() -> None:
    found = parse_regex("{q}{2}({p,q}|{ })* // {s}", "x.re", props="auto")
    assert found.alphabet == Valuations(("q", "p"))
    assert found.automaton.accepts(["{q}", "{q}", "{q,p}", "{}"])
    with pytest.raises(SourceError, match="no proposition is mentioned here"):
        parse_regex("{}{2}", "x.re", props="auto")
    with pytest.raises(SourceError, match="missing alphabet"):
        parse_regex("{p}", "x.re")


@pytest.mark.parametrize(
    ("expression", "place", "message", "advice"),
    [
        (".*{p,x}", "6", "unknown proposition 'x'", "a proposition (p q r)"),
        ("{p,}", "4", "a proposition is missing here", "leave out the comma"),
        ("{p}{,}", "5", "a proposition is missing here", "leave out the comma"),
        ("{p}{,2}", "4", "a repetition without its least number", "write {0,2}"),
        ("{p}{1 2}", "4", "a comma is missing", "write {1,2}"),
        ("{p}*{2}", "5", "two repetitions in a row need brackets", "( ... *){2}"),
        ("{p,p}", "4", "p is in this set twice", "leave one out"),
        (".*{q,p}", "3", "{p,q} violates at-most-one: p q", "at most one of p, q holds"),
        ("'{q,p}'", "2", "{p,q} violates at-most-one: p q", "at most one of p, q holds"),
        ("{p", "1", "this brace is never closed", "} further on"),
        ("{p}}", "4", "this bracket closes nothing: }", ""),
        ("p", "1", "'p' is not a symbol of the alphabet", "{p} is the set of p alone"),
        ("[^p]", "3", "'p' is not a symbol of the alphabet", "{p} is the set of p alone"),
        ("{r}x", "4", "'x' is not a symbol of the alphabet", "sets are written {p,q}"),
    ],
)
def test_a_mistake_is_reported_with_its_place(expression: str, place: str, message: str, advice: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(expression, "props: p q r", "at-most-one: p q")
    assert f"x.re:3:{place}: error: {message}" in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (["props: p q", "alphabet: a b"], "both props: and alphabet:"),
        (["one-of: p q"], "one-of: without props:"),
        (["props: p q", "one-of: p x"], "unknown proposition 'x'"),
        (["props: p,q"], "'p,q' is not a proposition"),
    ],
)
def test_a_header_that_says_nothing_clear_is_refused(header: list[str], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(".*", *header)
