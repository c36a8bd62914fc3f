"""Tests of the margins and the words of external networks; the margins are known by construction."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from hardsim.campaign.given import GivenWords
from hardsim.campaign.result import JudgedLength, LeastMargin
from hardsim.campaign.verdict import judge, shortest, words_tried
from hardsim.lang.automata.automaton import Automaton
from hardsim.targets.external import judging
from hardsim.targets.inputs.network import of_network
from tests.support.check import CheckOptions, CheckResult, External, Mismatch, Verdict, check_subject
from tests.support.external import falling, mean_of_a, model_of
from tests.support.language import parse_regex
from tests.support.model import Network
from tests.support.subjects import known

PART = Fraction(1, 10**9)


def judged(n: int, margin: Fraction | int | None, **other: Any) -> JudgedLength:
    """Return the result for all words over two symbols of a length, of which a^n has the least margin."""
    value = None if margin is None else Fraction(margin)
    word = None if value is None else ("a",) * n
    found = JudgedLength(
        n=n, words=2**n, unjudged=0, positions_judged=2**n, positions_unjudged=0,
        possible=2**n, exhaustive=True, mismatches=0, undecided=0, digits=15,
        margin=value, margin_word=word,
    )  # fmt: skip
    return replace(found, **other)


def some_a(word: tuple[str, ...]) -> bool | None:
    """Return True if the word contains an a, else None."""
    return True if "a" in word else None


# ---- the least margin ----


def test_the_least_margin_is_that_of_the_shortest_length_that_has_it() -> None:
    result = model_of(mean_of_a(Fraction(0))).check(against=some_a, max_n=4)
    assert result.first_wrong is None
    least = known(result.least_margin)
    assert (least.n, sorted(least.word)) == (4, ["a", "b", "b", "b"])
    assert Fraction(1, 4) - PART < least.margin <= Fraction(1, 4)
    lengths = (judged(0, 3), judged(1, None), judged(2, 2), judged(3, 2))
    assert replace(result, judged=lengths).least_margin == LeastMargin(Fraction(2), 2, ("a", "a"))
    assert replace(result, judged=lengths[:2]).least_margin == LeastMargin(Fraction(3), 0, ())
    assert replace(result, judged=lengths[1:2]).least_margin is None


# ---- words of a language ----


def language(expression: str) -> Automaton:
    return parse_regex(f"alphabet: a b\n{expression}\n", "<language>").automaton


def held(network: Network, domain: Automaton, **other: Any) -> External:
    """Combine a network with the requirement that outputs on the words of a language are above 0."""
    external = of_network(network, "net", "0" * 64, "by hand").external
    subject = judging(external, lambda word: True if domain.accepts(word) else None, "a language")
    return replace(subject, domain=domain, **other)


def test_words_of_a_language_are_counted_along_it() -> None:
    even = language("((a|b)(a|b))*")
    of_language = held(mean_of_a(Fraction(0)), even)
    for n in (5, 3, 1, 2, 4):
        words = [word for word in product("ab", repeat=n) if even.accepts(word)]
        assert of_language.possible(n) == len(words)
        assert replace(of_language, domain=None).possible(n) == 2**n
    assert of_language.possible(0) == replace(of_language, domain=None).possible(0) == 1


def test_all_words_of_a_language_are_all_words() -> None:
    """The words are one a and b's: n words of length n, whose share of a's is 1/n."""
    found = check_subject(held(mean_of_a(Fraction(0)), language("b*ab*")), CheckOptions(max_n=6))
    assert [(one.n, one.words, one.possible, one.exhaustive) for one in found.judged] == [
        (n, n, n, True) for n in range(1, 7)
    ]
    assert found.reach.startswith("checked against a language: all 21 judged words up to length 6, in float64")


def test_some_words_of_a_language_are_not_all() -> None:
    subject = held(mean_of_a(Fraction(0)), language("b*ab*"))
    words = (("a",), ("a", "b"), ("b", "a"), ("b", "b"), ("a", "b", "b"))
    found = check_subject(subject, CheckOptions(words=GivenWords.of(words)))
    assert [(one.words, one.unjudged, one.exhaustive) for one in found.judged] == [
        (1, 0, True),
        (2, 1, True),
        (1, 0, False),
    ]
    assert "all 3 judged words up to length 2 and 1 of 3 judged words of length 3, " in found.reach


def test_lengths_without_words_leave_nothing_out() -> None:
    """The second word is wrong, and all shorter words of the language were tried: only even lengths have words."""
    subject = held(falling(Fraction(7, 2), Fraction(1), 8), language("(bb)*"))
    words = tuple(tuple("b" * n) for n in (2, 4))
    found = check_subject(subject, CheckOptions(words=GivenWords.of(words)))
    assert [(one.n, one.possible, one.words, one.exhaustive) for one in found.judged] == [
        (1, 0, 0, True),
        (2, 1, 1, True),
        (3, 0, 0, True),
        (4, 1, 1, True),
    ]
    assert found.reach.endswith("wrong on a word of length 4, the shortest: all shorter words were tried")
    right = check_subject(replace(subject, network=mean_of_a(Fraction(1))), CheckOptions(words=GivenWords.of(words)))
    assert "all 2 judged words up to length 4, " in right.reach


def test_where_nobody_counts_the_judged_words_they_are_not_reported_as_all() -> None:
    subject = replace(held(mean_of_a(Fraction(0)), language("b*ab*")), domain=None)
    reach = check_subject(subject, CheckOptions(max_n=6, exhaustive=8, samples=10)).reach
    assert "all 6 judged words up to length 3 and " in reach
    assert " judged words among the 112 words of lengths 4 to 6, " in reach


# ---- the empty word ----


def wrong(word: str, first: str | None = None) -> Mismatch:
    """Return a mismatch that was shrunk from another word (`first`)."""
    source = None if first is None else tuple(first)
    return Mismatch(tuple(word), True, None, False, direct=True, shrunk_from=source)


def test_the_empty_word_is_counted_where_it_is_judged() -> None:
    lengths = [judged(n, 1) for n in range(3)]
    assert words_tried(lengths, 2, least=0) == "all 7 words up to length 2"
    assert words_tried(lengths[1:], 2) == "all 6 words up to length 2"
    # Without the empty word the lengths are not all tried.
    assert words_tried(lengths[1:], 2, least=0) == "6 of 6 words of lengths 1 to 2"
    # Possible words need not have an expected answer.
    message = words_tried(lengths[1:], 2, "judged word", 0, counted=False)
    assert message == "6 judged words among the 6 words of lengths 1 to 2"
    given = [judged(n, 1, words=1, exhaustive=False) for n in (4, 16, 17)]
    assert words_tried(given[:2], 17) == "2 of 65,552 words of lengths 4 and 16"
    assert words_tried(given, 17) == "3 of 196,624 words of 3 lengths from 4 to 17"
    assert judge(lengths, None, None, "ball", judged=True, max_n=2, least=0) == (
        Verdict.CERTIFIED,
        "all 7 judged words up to length 2, in ball arithmetic",
    )


def test_a_word_is_the_shortest_if_the_empty_one_was_tried_too() -> None:
    lengths = [judged(n, 1) for n in range(3)]
    assert shortest(lengths, 2, 0) == shortest(lengths[1:], 2) == "the shortest: all shorter words were tried"
    assert shortest(lengths[1:], 2, 0) == "the shortest found"
    assert shortest([replace(lengths[0], undecided=1), *lengths[1:]], 2, 0) == "the shortest found"


@pytest.mark.parametrize(
    ("mismatch", "reach"),
    [
        (wrong(""), "the network is wrong on the empty word"),
        (wrong("", "ab"), "the network is wrong on the empty word"),
        (wrong("ab"), "the network is wrong on a word of length 2, the shortest: all shorter words were tried"),
        (
            wrong("abab", "abababa"),
            "the network is wrong on a word of length 4, shrunk from a word of 7 symbols, the shortest found",
        ),
        (
            wrong("abab", "baba"),
            "the network is wrong on a word of length 4, shrunk from another word with as many symbols, "
            "the shortest found",
        ),
    ],
)
def test_the_reach_says_what_a_word_was_shrunk_from(mismatch: Mismatch, reach: str) -> None:
    lengths = [judged(0, 1), judged(1, 1), judged(2, -1, exhaustive=False)]
    assert judge(lengths, mismatch, None, "ball", max_n=8, least=0) == (Verdict.REFUTED, reach)


def test_summaries_tell_the_empty_word() -> None:
    assert wrong("").summary == "soft/oracle on (empty): expected accept, the network gives reject"
    assert wrong("ab", "abababa").summary.startswith("soft/oracle on ab (shrunk from 7 symbols): ")
    assert LeastMargin(Fraction(1, 8), 0, ()).summary == "0.125 at length 0, on (empty)"


def test_a_notebook_shows_the_least_margin() -> None:
    found: CheckResult = model_of(mean_of_a(Fraction(0))).check(against=some_a, max_n=4)
    assert "<summary><b>least margin</b>: 0.25 at length 4, on " in found._repr_html_()
