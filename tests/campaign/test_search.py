"""Tests of the search for words on which a network is wrong, and of how these words are shrunk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.campaign import search as search_module
from hardsim.campaign.checkpoint import Checkpoint
from hardsim.campaign.given import GivenWords
from hardsim.campaign.judges import NetworkJudge
from hardsim.campaign.search import OPERATIONS, PAIRS, SEEDS, LengthSearch, Start, leads_at, nearest, waves
from hardsim.campaign.shrink import shrunk
from hardsim.campaign.workers import LocalCrew
from hardsim.lang.automata.automaton import Automaton
from hardsim.targets.external import judging
from hardsim.targets.opening import read_input
from tests.support.check import (
    CheckOptions,
    CheckResult,
    External,
    ModelOptions,
    Progress,
    Verdict,
    Word,
    check_subject,
)
from tests.support.external import mean_of_a, model_of
from tests.support.language import parse_regex
from tests.support.subjects import known

LONG = 40


@dataclass(frozen=True)
class Rare:
    """The answers of a network for more than 37/41 a's, except that words with b at `place` are rejected.

    No word of up to 40 symbols has the share 37/41, which would be a tie.
    """

    place: int

    def __call__(self, word: Word) -> bool:
        return 41 * word.count("a") > 37 * len(word) and word[self.place : self.place + 1] != ("b",)


@dataclass(frozen=True)
class Fewer:
    """A reference that accepts words with fewer than `most` a's."""

    most: int

    def __call__(self, word: Word) -> bool:
        return word.count("a") < self.most


def external(oracle: Any, bias: str = "-37/41", **how: Any) -> External:
    made = model_of(mean_of_a(Fraction(bias), **how))._input.network(ModelOptions())
    return judging(made, oracle, "what is wanted", accepts=True)


def checked(subject: External, **options: Any) -> CheckResult:
    return check_subject(subject, CheckOptions(**{"max_n": LONG, "exhaustive": 64, **options}))


def language(expression: str, alphabet: str = "a b") -> Automaton:
    return parse_regex(f"alphabet: {alphabet}\n{expression}\n").automaton


# ---- which lengths, in which order ----


@given(st.sets(st.integers(1, 60)))
def test_every_length_is_in_one_wave_and_the_longest_first(lengths: set[int]) -> None:
    found = waves(sorted(lengths))
    assert sorted(n for wave in found for n in wave) == sorted(lengths)
    assert all(wave for wave in found)
    assert not lengths or found[0] == [max(lengths)]


def test_waves_lie_halfway_between_those_before() -> None:
    assert waves([1, 2, 3, 4, 5, 6, 7, 8]) == [[8], [4], [2, 6], [1, 3, 5, 7]]


def test_a_search_begins_with_the_worst_words_and_those_of_lengths_nearby() -> None:
    found = nearest(5, [(("a",) * n, 100.0 - n) for n in range(1, 51)])
    assert len(found) == SEEDS
    assert {len(word) for word in found} == {3, 4, 5, 6, 7, 8, 45, 46, 47, 48, 49, 50}


# ---- the words of one length ----


@pytest.mark.parametrize("expression", ["(ab)*", "(a|b)*", "a*b", "(a(ab)*b)*"])
def test_words_are_led_back_into_a_language(expression: str) -> None:
    automaton, rng = language(expression), Random(0)
    for n in (2, 6, 10):
        for word in ("ab" * 5, "b" * 10, "", "aabb"):
            found = automaton.nearest_word(tuple(word), n, rng)
            assert len(found) == n
            assert automaton.accepts(found)
            assert automaton.nearest_word(found, n, rng) == found


def test_letters_are_taken_in_the_order_that_is_wished() -> None:
    automaton = language("(a(ab)*b)*")
    order = [automaton.letters[symbol] for symbol in "ab"]
    assert "".join(automaton.nearest_word((), 8, Random(0), order)) == "aabababb"
    assert "".join(automaton.nearest_word((), 8, Random(0), order[::-1])) == "abababab"


def test_a_search_tries_its_words_once_and_the_same_again() -> None:
    tried: list[Word] = []

    class Watched(NetworkJudge):
        def searched(self, words: Sequence[Word]) -> Any:
            tried.extend(words)
            return super().searched(words)

    subject = external(Rare(7))
    tallies = [LengthSearch(subject, Watched(subject), LONG, Start(300, 1)).run() for _ in range(2)]
    assert tallies[0] == tallies[1]
    assert tallies[0].words == 300
    assert len(set(tried[:300])) == 300
    assert tried[:300] == tried[300:]
    assert all(len(word) == LONG for word in tried)
    assert tallies[0].searched is not None


def faulty_brackets() -> External:
    """Return the shipped network of brackets, which is proved right to length 50, with a wrong weight in the table of
    positions. Up to 40 symbols it is wrong on few words, all of 38 symbols; 40,000 random words are right."""
    subject = read_input("formulas/networks/dyck1_depth3.spec").network(ModelOptions())
    assert isinstance(subject.network.positions, np.ndarray)
    positions = subject.network.positions[:41].copy()
    positions[38, 5] += 0.6405276002175515
    return replace(subject, network=replace(subject.network, positions=positions))


def test_leads_find_a_fault_that_climbing_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without leads a hundred words of the length do not find it, with leads twenty do."""
    subject = faulty_brackets()
    tally = LengthSearch(subject, NetworkJudge(subject), 38, Start(20, 0)).run()
    assert tally.words == 20
    assert tally.mismatch is not None
    assert len(tally.mismatch.word) == 38
    monkeypatch.setattr(search_module, "leads_at", lambda subject, n: None)
    alone = [LengthSearch(subject, NetworkJudge(subject), 38, Start(100, seed)).run() for seed in range(3)]
    assert [one.mismatch for one in alone] == [None] * 3
    assert [one.words for one in alone] == [100] * 3


def test_leads_are_judged_like_other_words() -> None:
    """Leads of a network that is right are tried first, and words to which judged words lead come later; all are
    counted."""
    tried: list[Word] = []

    class Watched(NetworkJudge):
        def searched(self, words: Sequence[Word]) -> Any:
            tried.extend(words)
            return super().searched(words)

    subject = read_input("formulas/networks/majority.spec").network(ModelOptions())
    tally = LengthSearch(subject, Watched(subject), 40, Start(100, 0)).run()
    leads = leads_at(subject, 40)
    assert leads is not None
    first = leads.first()
    assert tried[: len(first)] == first
    assert {*leads.after(tried[:40])} & {*tried[40:]}
    assert len(tried) == len({*tried}) == tally.words == 100
    assert tally.mismatch is None


def test_without_a_specification_there_are_no_leads() -> None:
    assert leads_at(external(Rare(7)), LONG) is None
    assert leads_at(read_input("formulas/networks/flipflop.spec").network(ModelOptions()), 20) is None


def test_the_reference_of_a_searched_word_is_asked_once() -> None:
    asked: list[Word] = []

    def oracle(word: Word) -> bool:
        asked.append(word)
        return word[6] == "b"

    subject = replace(external(Rare(7)), oracle=oracle)
    LengthSearch(subject, NetworkJudge(subject), LONG, Start(300, 1)).run()
    # The search asks for some words alone, to make pairs of them.
    assert len(asked) - len({*asked}) <= 4 * PAIRS


@pytest.mark.parametrize("operation", OPERATIONS)
def test_changes_take_any_word(operation: Any) -> None:
    subject = external(Rare(7))
    for n in (1, 2, 3, 30):
        search = LengthSearch(subject, NetworkJudge(subject), n, Start(1, 0))
        search.run()
        for _ in range(20):
            word = tuple(operation(search, search.best[0][0]))
            assert set(word) <= {"a", "b"}
            assert len(search.fitted(word)) == n


# ---- what it finds ----


def test_what_is_wrong_on_rare_words_is_found_and_shrunk() -> None:
    # Words with b at place 7 and more than 37/41 a's are wrong: of length 40 those with at most two more b's among the
    # other 39 symbols, 781 of 2^40.
    result = checked(external(Rare(7)), max_n=LONG)
    assert result.verdict is Verdict.REFUTED
    assert result.mismatch is not None
    # One of n symbols is b, less than 4/41 of them: n is at least 11.
    assert result.mismatch.word == tuple("aaaaaaabaaa")
    assert sum(length.mismatches for length in result.judged) > 20


def test_words_that_are_judged_are_found_where_few_are() -> None:
    # One word of each length divisible by 3, a power of aab, must be accepted; the network computes 2/3 for it.
    def expected(word: Word) -> bool | None:
        return True if "".join(word) == "aab" * (len(word) // 3) else None

    result = checked(external(expected, "-1/2"), max_n=30, exhaustive=64, samples=40)
    assert [length.n for length in result.judged if length.words] == [*range(3, 31, 3)]
    assert result.verdict is Verdict.CERTIFIED
    assert {length.words for length in result.judged} == {0, 1}


def test_random_words_of_the_same_number_are_right() -> None:
    subject, rng = external(Rare(7)), Random(0)
    words = [tuple(rng.choices("ab", k=n)) for n in range(7, LONG + 1) for _ in range(400)]
    result = check_subject(subject, CheckOptions(max_n=LONG, words=GivenWords.of(words)))
    assert result.verdict is Verdict.CERTIFIED


def test_the_result_does_not_depend_on_processes() -> None:
    subject = external(Rare(7))
    options = CheckOptions(max_n=20, exhaustive=64, samples=60)
    alone = check_subject(subject, options)
    assert check_subject(subject, options, crew=LocalCrew(2)) == alone


def test_another_seed_tries_other_words() -> None:
    found = [checked(external(Fewer(99)), max_n=14, samples=50, seed=seed) for seed in (0, 1)]
    assert found[0].judged[-1].words == found[1].judged[-1].words == 50
    assert found[0].judged[-1] != found[1].judged[-1]


def test_an_interrupted_search_goes_on_where_it_was(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.campaign.checkpoint.INTERVAL", 0.0)
    monkeypatch.setattr("hardsim.campaign.checkpoint.SHARE", 0)
    subject, options = external(Rare(7)), CheckOptions(max_n=20, exhaustive=64, samples=60)
    inputs = [("net", "0" * 64, ("a", "b"))]

    def stop(progress: Progress) -> None:
        if progress.done > 600:
            raise KeyboardInterrupt

    first = Checkpoint(str(tmp_path / "kept"), {}, inputs).memory("net", None)
    assert check_subject(subject, options, stop, memory=first).partial
    del first  # releases the lock
    again = Checkpoint(str(tmp_path / "kept"), {}, inputs).memory("net", None)
    assert again.words > 600
    message: list[Progress] = []
    assert check_subject(subject, options, message.append, memory=again) == check_subject(subject, options)
    assert message[0].before == again.words


# ---- prefixes are words of their own ----


def prefixed(oracle: Any) -> External:
    # A b is read before every word: of these n + 1 symbols more than 20/41 must be a.
    made = external(oracle, "-20/41")
    readout = replace(made.network.readout, before=("b",), at="each", alphabet=("a", "b"))
    network = replace(made.network, readout=readout)
    return replace(made, network=network, domain=language("(a|b)*"), prefixes=True, shortest=0, alphabet=("a", "b"))


def enough(word: Word) -> list[bool]:
    return [41 * word[:n].count("a") > 20 * (n + 1) for n in range(len(word) + 1)]


def test_words_are_judged_at_their_end_from_the_empty_one_on() -> None:
    result = checked(prefixed(enough), max_n=6)
    assert result.verdict is Verdict.CERTIFIED
    assert [length.words for length in result.judged] == [1, 2, 4, 8, 16, 32, 64]
    assert result.judged[0].margin_word == ()
    # The least distances of the share of a's from 20/41: at 0 of 1; 1 of 2; 1 of 3; 2 of 4.
    least = [20 / 41, 1 / 2 - 20 / 41, 20 / 41 - 1 / 3, 1 / 2 - 20 / 41]
    assert [float(length.margin or 0) for length in result.judged[:4]] == pytest.approx(least, abs=1e-9)


def test_a_wrong_prefix_of_a_searched_word_is_the_mismatch() -> None:
    def expected(word: Word) -> list[bool]:
        return [one != (n > 8 and word[n - 1] == "b") for n, one in enumerate(enough(word))]

    subject = prefixed(expected)
    tally = LengthSearch(subject, NetworkJudge(subject), 30, Start(40, 0)).run()
    assert tally.words == 40
    assert tally.mismatch is not None
    assert tally.mismatch.word[-1] == "b"
    assert 9 <= len(tally.mismatch.word) < 30


def test_a_wrong_prefix_is_no_wrong_word_of_the_length_of_the_whole() -> None:
    subject = prefixed(lambda word: [one != (n == 9) for n, one in enumerate(enough(word))])
    tally = LengthSearch(subject, NetworkJudge(subject), 30, Start(40, 0)).run()
    assert tally.mismatch is not None
    assert len(tally.mismatch.word) == 9
    assert tally.soft_mismatches == 0


def test_prefixes_that_are_worse_than_what_was_tried_of_their_length_are_tried_too() -> None:
    # The distance of the share from 20/41 is least where the share is nearly a half, as for some prefix of most words.
    subject = prefixed(enough)
    result = check_subject(subject, CheckOptions(max_n=24, exhaustive=16, samples=20))
    assert result.verdict is Verdict.CERTIFIED
    for length in result.judged[6:]:
        # The least distance over all numbers of a's among the n + 1 symbols.
        share = min(abs(Fraction(count, length.n + 1) - Fraction(20, 41)) for count in range(length.n + 2))
        assert length.margin is not None
        assert share - Fraction(1, 10**9) <= length.margin
        word = length.margin_word or ()
        assert len(word) == length.n
        assert abs(Fraction(word.count("a"), length.n + 1) - Fraction(20, 41)) - length.margin < Fraction(1, 10**9)
    alone = [LengthSearch(subject, NetworkJudge(subject), 24, Start(20, 0)).run() for _ in range(2)]
    assert alone[0] == alone[1]
    longer = replace(subject, oracle=lambda word: [one and n != 9 for n, one in enumerate(enough(word))])
    deep = LengthSearch(longer, NetworkJudge(longer), 24, Start(20, 0)).run().searched
    assert any(len(word) == 9 and margin < 0 for word, margin in deep)


# ---- shrinking ----


def test_a_mismatch_is_shrunk_as_far_as_it_goes() -> None:
    # Words with five a's or more and a b are wrong: the network rejects everything.
    def expected(word: Word) -> bool:
        return word.count("a") >= 5 and "b" in word

    subject = external(expected, "-2")
    judge = NetworkJudge(subject)
    word = tuple("abbbabbabbbbabababbbab")
    found = judge.tally([word]).mismatch
    assert found is not None
    simple = shrunk(subject, found)
    assert simple.word == tuple("aaaaab")
    assert simple.shrunk_from == word
    assert simple.oracle is True
    assert simple.soft is False


def test_the_simplest_word_stays_what_it_was() -> None:
    subject = external(Fewer(0), "1/10")
    found = NetworkJudge(subject).tally([("a",)]).mismatch
    assert found is not None
    assert shrunk(subject, found) == found


def test_nothing_shorter_than_one_symbol_is_searched() -> None:
    subject = prefixed(lambda word: [one != (n > 0) for n, one in enumerate(enough(word))])
    result = checked(subject, max_n=3)
    assert result.mismatch is not None
    assert result.mismatch.word == ("a",)
    assert result.reach.endswith("a word of length 1, the shortest: all shorter words were tried")


def test_a_word_of_a_language_is_shrunk_within_it() -> None:
    def expected(word: Word) -> bool:
        return len(word) >= 6

    subject = replace(external(expected), domain=language("(ab)*"))
    found = NetworkJudge(subject).tally([tuple("ab" * 20)]).mismatch
    assert found is not None
    assert shrunk(subject, found).word == tuple("ababab")


def test_a_mismatch_of_one_symbol_is_shrunk_to_the_empty_word_or_stays() -> None:
    for wrong, simplest in ((1, ("a",)), (0, ())):
        subject = prefixed(lambda word, n=wrong: [one != (at >= n) for at, one in enumerate(enough(word))])
        found = NetworkJudge(subject).tally([("a", "a")]).mismatch
        assert found is not None
        assert shrunk(subject, found).word == simplest
        assert known(checked(subject, max_n=2).mismatch).word == simplest
