"""Reports of checks of external networks, from handmade results, in text and JSON."""

from dataclasses import replace
from fractions import Fraction

import pytest

from hardsim.campaign.result import JudgedLength
from hardsim.report.check import Listing, print_check, print_verdict
from hardsim.report.screen import Screen
from hardsim.targets.result import ModelFacts
from tests.report.screens import printed
from tests.support.check import CheckResult, Mismatch, Verdict
from tests.support.documents import valid

ALPHABET = ("a", "b")
LONG = ("a",) * 90


def judged(n: int, margin: str | None, word: tuple[str, ...] | None = None) -> JudgedLength:
    """Return the result of all words of a length; by default a^n has the least margin."""
    found = None if margin is None else Fraction(margin)
    message = None if found is None else ("a",) * n if word is None else word
    return JudgedLength(n, 2**n, 0, 2**n, 0, 2**n, True, 0, 0, 15, found, message)


LENGTHS = (judged(0, "1/2"), judged(1, "1/4"), judged(2, None))
RIGHT = CheckResult(
    input="net", sha256="0" * 64, kind="network", formula=None, title=None, model=ModelFacts(1, 1, 2, 5, "1"),
    engine="auto", seed=0, max_n=8, exhaustive_limit=1024, samples=None, lengths=(), verdict=Verdict.CERTIFIED,
    reach="all 7 words up to length 2", mismatch=None, against="D2.spec", judged=LENGTHS,
)  # fmt: skip
EMPTY_WRONG = replace(
    RIGHT, verdict=Verdict.REFUTED, reach="the network is wrong on the empty word",
    mismatch=Mismatch((), ("{a}",), None, ("{b}",), direct=True),
)  # fmt: skip


def lines_of(result: CheckResult, every: bool = False) -> list[str]:
    """Return the lines of a block, with runs of blanks as one."""
    return [" ".join(line.split()) for line in printed(print_check, result, ALPHABET, True, every).splitlines()]


def test_the_block_says_the_least_margin() -> None:
    lines = lines_of(RIGHT)
    assert "margin the least is 0.25, at length 1, on a" in lines
    assert not any(line.startswith("wrong ") for line in lines)
    found = valid(RIGHT)
    assert found["least_margin"] == {"margin": 0.25, "n": 1, "word": ["a"]}
    assert found["first_wrong"] is None


@pytest.mark.parametrize("every", [False, True])
def test_the_row_of_length_0_shows_the_empty_word(every: bool) -> None:
    lines = lines_of(RIGHT, every)
    assert lines[lines.index("0 all 1 0 0 0.5 (empty)") :][:3] == [
        "0 all 1 0 0 0.5 (empty)",
        "1 all 2 0 0 0.25 a",
        "2 all 4 0 0 – –",
    ]
    alone = lines_of(replace(RIGHT, judged=LENGTHS[:1]), every)
    assert alone[-2:] == ["0 all 1 0 0 0.5 (empty)", ""]
    assert "margin the least is 0.5, at length 0, on (empty)" in alone
    assert valid(RIGHT)["judged"][0]["margin_word"] == []


def test_the_least_margin_is_not_that_of_undecided_words() -> None:
    lines = lines_of(replace(RIGHT, judged=(*LENGTHS[:2], replace(LENGTHS[2], undecided=1))))
    assert "margin the least of the words decided is 0.25, at length 1, on a" in lines


def test_a_long_word_of_the_least_margin_stands_alone() -> None:
    lines = lines_of(replace(RIGHT, judged=(judged(90, "1/4"),)))
    start = lines.index("margin the least is 0.25, at length 90, on the word")
    assert lines[start + 1] == "".join(LONG)


def test_margins_are_omitted_where_none_is_known() -> None:
    lines = lines_of(replace(RIGHT, judged=LENGTHS[2:]))
    assert not any(line.startswith(("margin ", "wrong ")) for line in lines)


def test_a_mismatch_on_the_empty_word_is_reported_as_one() -> None:
    lines = lines_of(EMPTY_WRONG)
    assert lines[:4] == [
        "REFUTED net",
        "the network is wrong on the empty word",
        "The shortest mismatching word is the empty word.",
        "expected: {a}; network: {b}",
    ]
    assert "wrong the first wrong length found is 0" in lines
    assert [line for line in lines if "hardsim trace" in line] == ["hardsim trace net '' --against D2.spec"]
    assert EMPTY_WRONG.summary == "REFUTED net: the network is wrong on the empty word: (empty)"
    found = valid(EMPTY_WRONG)
    assert (found["first_wrong"], found["mismatch"]["word"]) == (0, [])


def test_a_mismatch_ends_with_the_command_that_shows_more() -> None:
    wrong = replace(EMPTY_WRONG, mismatch=Mismatch(("a", "b"), ("{a}",), None, ("{b}",), direct=True))
    assert "hardsim trace net ab --against D2.spec" in lines_of(wrong)
    assert "hardsim trace net ab --engine ball" in lines_of(replace(wrong, against="net", engine="ball"))
    dash = replace(wrong, mismatch=Mismatch(("-", "b"), ("{a}",), None, ("{b}",), direct=True))
    assert "hardsim trace --against D2.spec -- net -b" in printed(print_check, dash, ("-", "b"), True).splitlines()


def test_a_table_of_twelve_lengths_has_a_row_for_each() -> None:
    def rows(longest: int) -> list[str]:
        some = tuple(judged(n, "1/2") for n in range(1, longest + 1))
        return [line.split()[0] for line in lines_of(replace(RIGHT, judged=some)) if line.split()[1:2] == ["all"]]

    assert rows(12) == [str(n) for n in range(1, 13)]
    assert rows(13)[-2:] == ["8", "9-13"]


def test_mpmath_gets_the_hint_to_certify_the_empty_word_too() -> None:
    seen = replace(EMPTY_WRONG, engine="mpmath", verdict=Verdict.OBSERVED)
    assert "--engine ball certifies it" in " ".join(printed(print_verdict, seen, ALPHABET).split())


def test_an_undecided_empty_word_is_reported_as_one() -> None:
    stuck = replace(RIGHT, verdict=Verdict.UNDECIDED, undecided_word=())
    assert "The first of these words is the empty word." in lines_of(stuck)
    assert valid(stuck)["undecided_word"] == []


def test_json_has_the_word_that_was_found_first() -> None:
    shrunk = Mismatch(("a", "b"), True, None, False, direct=True, shrunk_from=LONG)
    found = valid(replace(EMPTY_WRONG, mismatch=shrunk))
    assert (found["first_wrong"], found["mismatch"]["word"]) == (2, ["a", "b"])
    assert found["mismatch"]["shrunk_from"] == ["a"] * 90


def test_a_listing_tells_a_failure_on_the_empty_word() -> None:
    def both(screen: Screen) -> None:
        listing = Listing(screen, ["net", "other"])
        listing.add(EMPTY_WRONG, ALPHABET)
        listing.add(replace(RIGHT, input="other"), ALPHABET)
        listing.end()

    def alone(screen: Screen) -> None:
        Listing(screen, ["other"], networks=True).add(replace(RIGHT, input="other"), ALPHABET)

    assert [line.split() for line in printed(alone).splitlines()] == [
        ["verdict", "input", "words", "margin"], ["CERTIFIED", "other", "7", "0.25"],
    ]  # fmt: skip
    rows, failure = printed(both).split("\n\n")
    assert "The shortest mismatching word is the empty word." in failure
    assert rows.splitlines()[-1].split() == ["CERTIFIED", "other", "7", "–", "–"]
