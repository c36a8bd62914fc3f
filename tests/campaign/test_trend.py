"""Tests of the trend of margins of external networks; the margins of these networks are known by construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from hardsim.api import Model
from hardsim.campaign.check import CheckOptions, check_subject, judge, shortest, words_tried
from hardsim.campaign.options import LARGEST_LENGTH
from hardsim.campaign.result import CheckResult, JudgedLength, LeastMargin, MarginTrend, Mismatch, Verdict
from hardsim.campaign.trend import margin_trend
from hardsim.lang.regex.automaton import Automaton
from hardsim.lang.regex.regex_parser import parse_regex
from hardsim.network.dense import Network
from hardsim.targets.external import External, judging
from hardsim.targets.open import of_network
from tests.support.external import falling, mean_of_a, model_of
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


def trend_of(model: Model, expected: Callable[..., Any], max_n: int = 8) -> MarginTrend:
    """Return the trend of the margin of a network, as a check finds it."""
    return known(model.check(against=expected, max_n=max_n).trend)


# ---- the law ----


def test_a_margin_of_one_over_n_is_a_power_law() -> None:
    """The output is the share of a's, expected above 0: a word with one a has the least margin, exactly 1/n."""
    found = trend_of(model_of(mean_of_a(Fraction(0))), some_a)
    assert (found.law, found.rate, found.from_n, found.to_n) == ("power", -1, 1, 8)
    assert found.constant == pytest.approx(1, rel=1e-5)
    # A tenth of the least margin, 1/8, is reached where 1/n = 1/80.
    assert abs(known(found.level) - Fraction(1, 80)) < PART
    assert found.at_n == 80
    assert found.summary == (
        "margin ~ 1 n^-1.00 (fitted to lengths 1 to 8; an extrapolation, not a bound): falls to 0.0125, a tenth of the "
        "least, near n = 80 if the trend continues"
    )


def test_a_margin_that_falls_by_an_eighth_is_a_line() -> None:
    """The output is 10 - n/8 plus the share of a's, expected above 0: b^n has the least margin, exactly 10 - n/8."""
    found = trend_of(model_of(falling(Fraction(10), Fraction(1, 8), 8)), lambda word: True)
    assert (found.law, found.level, found.at_n) == ("line", Fraction(0), 80)
    assert found.constant == pytest.approx(10, rel=1e-5)
    assert found.rate == pytest.approx(-1 / 8, rel=1e-5)
    assert found.summary == (
        "margin ~ 10 - 0.125 n (fitted to lengths 1 to 8; an extrapolation, not a bound): reaches 0 near n = 80 if the "
        "trend continues"
    )


def test_margins_that_stay_are_a_power_law_that_does_not_fall() -> None:
    """The share of a's less 1/2 on words of b alone is -1/2, not above 0, at every length; both laws are then the
    same.
    """
    expected = trend_of(model_of(mean_of_a(Fraction(-1, 2))), lambda word: None if "a" in word else False)
    assert (expected.law, expected.rate, expected.level, expected.at_n) == ("power", 0, None, None)
    assert expected.constant == pytest.approx(1 / 2, rel=1e-5)
    assert expected.summary.endswith("an extrapolation, not a bound): it does not fall")


def test_what_is_wrong_is_not_fitted_and_the_end_of_a_line_is_not_reported() -> None:
    """1 - n/8 is 0 at length 8, and not above 0 from there on."""
    result = model_of(falling(Fraction(1), Fraction(1, 8), 10)).check(against=lambda word: True, max_n=10)
    found = known(result.trend)
    assert (found.law, found.from_n, found.to_n, found.level, found.at_n) == ("line", 1, 7, None, None)
    assert result.first_wrong == 8
    assert result.least_margin == LeastMargin(known(result.least_margin).margin, 10, ("b",) * 10)
    assert abs(known(result.least_margin).margin - (1 - Fraction(10, 8))) < PART


@pytest.mark.parametrize(
    "margins",
    [
        [1, Fraction(1, 2)],
        [1, Fraction(1, 2), None],
        [1, Fraction(1, 2), 0],
        [1, Fraction(1, 2), -1],
        [10**400, 10**399, 10**398],
        [Fraction(1, 10**400), Fraction(1, 10**399), Fraction(1, 10**398)],
    ],
)
def test_fewer_than_three_margins_or_numbers_beyond_float64_have_no_law(margins: list[Any]) -> None:
    lengths = [judged(n, margin) for n, margin in enumerate(margins, start=1)]
    assert margin_trend(lengths) is None
    assert margin_trend([*lengths, judged(9, Fraction(1, 9), undecided=1)]) is None


def test_the_empty_word_is_no_length_of_a_law() -> None:
    margins = [judged(0, 1000), *(judged(n, Fraction(1, n)) for n in (1, 2, 4))]
    found = known(margin_trend(margins))
    assert (found.law, found.rate, found.from_n, found.to_n, found.at_n) == ("power", -1, 1, 4, 40)
    assert margin_trend(margins[:3]) is None


def test_a_length_that_nobody_tries_is_not_reported() -> None:
    """On the line 1 - n/10^6 a margin of 0 is far beyond the longest words that can be requested."""
    slow = known(margin_trend([judged(n, 1 - Fraction(n, 10**6)) for n in range(1, 5)]))
    assert (slow.law, slow.level, slow.at_n) == ("line", None, None)
    assert slow.rate < 0
    almost = known(margin_trend([judged(n, 1 - Fraction(n, LARGEST_LENGTH)) for n in range(1, 5)]))
    assert almost.at_n == LARGEST_LENGTH
    # The exponent -1/100 leads to a tenth at 4 times 10^100.
    power = known(margin_trend([judged(4**n, Fraction(2 ** (100 - n), 2**100), words=1) for n in range(1, 5)]))
    assert (power.law, power.rate) == ("power", -0.5)
    assert power.at_n == 4**4 * 100
    flat = known(margin_trend([judged(n, Fraction(n**-0.01)) for n in range(1, 5)]))
    assert (flat.law, flat.rate, flat.at_n) == ("power", -0.01, None)


def test_what_stays_before_it_falls_is_on_no_law_with_it() -> None:
    """The margin is 1 to length 6, then falls by 3/10 with each symbol: the falling part is on a line that ends at 6 +
    10/3.
    """
    margins = [Fraction(1)] * 6 + [Fraction(7, 10), Fraction(4, 10)]
    lengths = [judged(n, margin) for n, margin in enumerate(margins, start=1)]
    found = known(margin_trend(lengths))
    assert (found.law, found.from_n, found.to_n, found.at_n) == ("line", 6, 8, 9)
    assert known(margin_trend(lengths[:7])).from_n == 1  # a law needs three margins
    wrong = known(margin_trend([*lengths, judged(9, -1, mismatches=512)]))
    assert (wrong.from_n, wrong.to_n, wrong.at_n, wrong.level) == (6, 8, None, None)


def test_where_something_is_wrong_no_law_says_that_it_comes_later() -> None:
    lengths = [judged(n, 10 - n) for n in range(1, 5)]
    assert known(margin_trend(lengths)).at_n == 10
    found = known(margin_trend([*lengths, judged(5, -1, mismatches=1)]))
    assert (found.rate, found.at_n, found.level) == (-1, None, None)


def test_a_law_that_says_the_same_at_all_lengths_is_a_number() -> None:
    message = "margin ~ 0.005 (fitted to lengths 1 to 3; an extrapolation, not a bound)"
    assert MarginTrend("line", 0.005, 5e-11, 1, 3).summary == f"{message}: it does not fall"
    assert MarginTrend("power", 0.005, 0.0, 1, 3).summary == f"{message}: it does not fall"
    assert MarginTrend("line", 0.005, -5e-11, 1, 3).summary == message
    assert "n^-0.01" in MarginTrend("power", 0.005, -0.01, 1, 3).summary


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


def test_the_trend_is_of_all_lengths_of_given_words_and_of_no_pinned_one() -> None:
    model = model_of(mean_of_a(Fraction(0)))
    given = model.check(against=some_a, words=["a", "ab", "a" + "b" * 19])
    assert (known(given.trend).from_n, known(given.trend).to_n, known(given.trend).at_n) == (1, 20, 200)


# ---- words of a language ----


def language(expression: str) -> Automaton:
    return parse_regex(f"alphabet: a b\n{expression}\n", "<language>").automaton


def held(network: Network, domain: Automaton, **other: Any) -> External:
    """Combine a network with the requirement that outputs on the words of a language are above 0."""
    external = known(of_network(network, "net", "0" * 64, "by hand").external)
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
    found = check_subject(subject, CheckOptions(words=words))
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
    found = check_subject(subject, CheckOptions(words=words))
    assert [(one.n, one.possible, one.words, one.exhaustive) for one in found.judged] == [
        (1, 0, 0, True),
        (2, 1, 1, True),
        (3, 0, 0, True),
        (4, 1, 1, True),
    ]
    assert found.reach.endswith("wrong on a word of length 4, the shortest: all shorter words were tried")
    right = check_subject(replace(subject, network=mean_of_a(Fraction(1))), CheckOptions(words=words))
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


def test_a_notebook_shows_the_least_margin_and_where_it_goes() -> None:
    found: CheckResult = model_of(mean_of_a(Fraction(0))).check(against=some_a, max_n=4)
    page = found._repr_html_()
    assert "<summary><b>least margin</b>: 0.25 at length 4, on " in page
    assert (
        "<summary><b>trend</b>: margin ~ 1 n^-1.00 (fitted to lengths 1 to 4; an extrapolation, not a bound): falls"
        in page
    )
