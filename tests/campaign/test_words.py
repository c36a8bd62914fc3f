"""Tests of the words that are tried: distinct, deterministic, as many as promised, and near the boundary of the
language.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import groupby, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.campaign.words import (
    AllWords,
    Effort,
    Word,
    WordPlan,
    boundary_pairs,
    changed_once,
    enumerate_words,
    members,
    plan_words,
    planned_count,
    sample_words,
    structured_words,
)
from hardsim.lang.words import count_words
from tests.support.language import InputError

ALPHABETS = st.sampled_from(["a", "ab", "abc", "abcdefghij"])


def distance(left: Word, right: Word) -> int:
    return sum(x != y for x, y in zip(left, right, strict=True))


def language(pattern: str) -> Callable[[Word], bool]:
    return lambda word: re.fullmatch(pattern, "".join(word)) is not None


LANGUAGES = {
    "ends in a": (language("[ab]*a"), "ab"),
    "(ab)+": (language("(ab)+"), "ab"),
    "only one word of a length": (language("a*"), "abc"),
    "all but one word of a length": (lambda word: set(word) != {"b"}, "ab"),
    "even number of a": (lambda word: word.count("a") % 2 == 0, "abc"),
    "balanced, depth 2": (language(r"(\((\(\))*\))+"), "()"),
}


def test_enumeration_is_complete_and_lexicographic() -> None:
    words = list(enumerate_words("ba", 3))
    assert ["".join(word) for word in words] == ["bbb", "bba", "bab", "baa", "abb", "aba", "aab", "aaa"]
    assert count_words(2, 3) == 8
    assert count_words(5, 64) == 5**64


def test_all_words_can_be_iterated_again_and_knows_its_members() -> None:
    words = AllWords(("a", "b"), 4)
    assert len(words) == len(list(words)) == len(set(words)) == 16
    assert ("a", "b", "a", "a") in words
    assert ("a", "b", "a") not in words
    assert ("a", "b", "a", "c") not in words
    text: object = "abaa"
    assert text not in words


def test_structured_words_of_two_symbols_are_these() -> None:
    shapes = ["aaaaa", "bbbbb", "ababa", "babab", "aaaab", "bbbba", "baaaa", "abbbb", "aabaa", "bbabb"]
    assert ["".join(word) for word in structured_words("ab", 5)] == shapes


@given(ALPHABETS, st.integers(1, 9))
def test_structured_words_have_the_promised_shapes(alphabet: str, n: int) -> None:
    words = structured_words(alphabet, n)
    assert len(words) == len(set(words))
    listed = set(words)
    for a, b in product(alphabet, repeat=2):
        assert tuple((a, b)[i % 2] for i in range(n)) in listed
        for place in {0, n // 2, n - 1}:
            assert tuple(b if i == place else a for i in range(n)) in listed
    k = len(alphabet)
    assert len(words) <= k + 4 * k * (k - 1)


def test_a_limit_keeps_every_symbol_in_play() -> None:
    alphabet = "abcdefghij"
    words = structured_words(alphabet, 6, limit=20)
    assert len(words) == 20
    assert words == structured_words(alphabet, 6)[:20]
    assert {word[0] for word in words if len(set(word)) == 1} == set(alphabet)
    assert {word[0] for word in words if len(set(word)) == 2} == set(alphabet)
    assert structured_words(alphabet, 6, limit=0) == []


@given(ALPHABETS, st.integers(1, 12), st.integers(0, 40), st.integers(0, 3))
def test_samples_are_distinct_and_as_many_as_there_are(alphabet: str, n: int, count: int, seed: int) -> None:
    excluded = structured_words(alphabet, n)
    words = sample_words(alphabet, n, count, seed, exclude=excluded)
    assert len(words) == min(count, len(alphabet) ** n - len(excluded))
    assert len(set(words)) == len(words)
    assert not set(words) & set(excluded)
    assert all(len(word) == n and set(word) <= set(alphabet) for word in words)
    assert words == sample_words(alphabet, n, count, seed, exclude=excluded)


def test_samples_exhaust_a_small_set_of_words() -> None:
    assert set(sample_words("ab", 5, 1000, seed=1)) == set(enumerate_words("ab", 5))


def test_seeds_and_lengths_give_different_words() -> None:
    first = sample_words("abc", 20, 30, seed=1)
    assert first != sample_words("abc", 20, 30, seed=2)
    assert [word[:20] for word in sample_words("abc", 21, 30, seed=1)] != first


def test_the_same_words_in_another_process() -> None:
    """String hashing is random per process; the choice of words must not depend on it."""
    program = (
        "from hardsim.campaign.words import Effort as E, plan_words as p;"
        "w = p('abc', 15, E(10, 40), 7, lambda w: w[-1] == w[0], [('a', 'b', 'a')]);"
        "print(' '.join(map(''.join, w.words)))"
    )
    command = [sys.executable, "-c", program]
    runs = [subprocess.check_output(command, env={"PYTHONHASHSEED": value}, text=True) for value in ("1", "2")]
    here = plan_words("abc", 15, Effort(10, 40), 7, lambda word: word[-1] == word[0], [("a", "b", "a")])
    assert runs[0] == runs[1] == " ".join(map("".join, here.words)) + "\n"


def test_samples_vary_in_density_and_in_run_length() -> None:
    """300 words of length 60 include even ones, strongly biased ones, and ones of few long runs."""
    words = sample_words("abcd", 60, 300, seed=5)
    shares = [max(word.count(symbol) for symbol in "abcd") / 60 for word in words]
    runs = [len(list(groupby(word))) for word in words]
    assert sum(share < 0.45 for share in shares) >= 60
    assert sum(share > 0.8 for share in shares) >= 30
    assert sum(count <= 6 for count in runs) >= 50


def test_samples_of_a_sparse_language_have_members_and_near_misses() -> None:
    """At length 40 (ab)+ has a single word; the sample finds it and its neighbours."""
    accepts, alphabet = LANGUAGES["(ab)+"]
    member = ("a", "b") * 20
    words = sample_words(alphabet, 40, 40, seed=3, pool=members(alphabet, 40, accepts, Random(3), [("a", "b")], 10))
    assert member in words
    assert sum(distance(word, member) == 1 for word in words) >= 8


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("n", [1, 2, 7, 20, 41])
def test_pairs_differ_in_one_symbol_and_in_acceptance(name: str, n: int) -> None:
    accepts, alphabet = LANGUAGES[name]
    words = [*structured_words(alphabet, n), *members(alphabet, n, accepts, Random(1), [], 3)]
    pairs = boundary_pairs(words, alphabet, accepts, Random(2), 6)
    assert len(pairs) == len(set(pairs)) <= 6
    for accepted, rejected in pairs:
        assert len(accepted) == n
        assert distance(accepted, rejected) == 1
        assert accepts(accepted)
        assert not accepts(rejected)
    if {accepts(word) for word in words} == {True, False}:
        assert pairs


class Together:
    """Acceptance of words one by one or many at once, and the words that were asked about one by one."""

    def __init__(self, accepts: Callable[[Word], bool]) -> None:
        self.accepts, self.alone = accepts, list[Word]()

    def __call__(self, word: Word) -> bool:
        self.alone.append(word)
        return self.accepts(word)

    def many(self, words: Sequence[Word]) -> list[bool]:
        assert len(set(map(len, words))) == 1
        return list(map(self.accepts, words))


@pytest.mark.parametrize("name", LANGUAGES)
def test_words_that_are_decided_together_give_the_same_pairs(name: str) -> None:
    accepts, alphabet = LANGUAGES[name]
    words = [word for n in (9, 5, 9) for word in structured_words(alphabet, n)]
    together = Together(accepts)
    found = boundary_pairs(words, alphabet, together, Random(4), 6)
    assert found == boundary_pairs(words, alphabet, accepts, Random(4), 6)
    assert not {*words} & {*together.alone}  # only words between two of them are asked about alone


@given(
    st.integers(2, 30).flatmap(lambda n: st.tuples(*[st.lists(st.sampled_from("abc"), min_size=n, max_size=n)] * 2)),
    st.integers(0, 5),
)
def test_a_pair_is_found_between_any_two_words_that_differ_in_acceptance(
    ends: tuple[list[str], list[str]], seed: int
) -> None:
    """A language with a single word is the hardest: that word is one end of every pair."""
    accepted, other = tuple(ends[0]), tuple(ends[1])
    pairs = boundary_pairs([other, accepted], "abc", lambda word: word == accepted, Random(seed), 3)
    if other != accepted:
        assert pairs
    assert all(left == accepted and distance(left, right) == 1 for left, right in pairs)


def test_no_pairs_where_there_are_none() -> None:
    assert boundary_pairs(structured_words("ab", 6), "ab", lambda word: True, Random(0), 4) == []
    assert boundary_pairs([], "ab", lambda word: True, Random(0), 4) == []
    # Words of different lengths are never compared with each other.
    assert boundary_pairs([("a",), ("a", "a")], "a", lambda word: len(word) == 2, Random(0), 4) == []


def test_the_oracle_is_called_a_bounded_number_of_times() -> None:
    requested: list[Word] = []

    def never(word: Word) -> bool:
        requested.append(word)
        return False

    plan_words("abcde", 200, Effort(10, 20), 0, never, [("a",) * 200])
    assert len(requested) <= 1000


def test_changed_once() -> None:
    for seed in range(20):
        assert distance(changed_once(("a", "b", "a"), "abc", Random(seed)), ("a", "b", "a")) == 1
    assert changed_once(("a", "a"), "a", Random(0)) == ("a", "a")


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("n", [12, 30])
def test_members_are_found_by_pumping(name: str, n: int) -> None:
    accepts, alphabet = LANGUAGES[name]
    found = members(alphabet, n, accepts, Random(4), [], 3)
    assert found
    assert len(found) == len(set(found)) <= 3
    assert all(len(word) == n and accepts(word) for word in found)


def test_members_shrink_longer_seeds_and_ignore_rejected_ones() -> None:
    accepts, alphabet = LANGUAGES["(ab)+"]
    seeds: list[Word] = [("b", "a"), (), ("a", "b") * 9]
    assert members(alphabet, 6, accepts, Random(0), seeds, 2) == [("a", "b") * 3]
    assert members(alphabet, 7, accepts, Random(0), seeds, 2) == []


class Numbered:
    """A language that also takes batches of words as symbol numbers, and keeps their sizes."""

    def __init__(self, name: str) -> None:
        accepts, self.alphabet = LANGUAGES[name]
        self.accepts: Callable[[Word], bool] = accepts
        self.asked: list[int] = []

    def __call__(self, word: Word) -> bool:
        return self.accepts(word)

    def numbered(self, words: Sequence[bytes]) -> list[bool]:
        self.asked.append(len(words))
        assert len({len(word) for word in words}) == 1
        return [self.accepts(tuple(self.alphabet[number] for number in word)) for word in words]


@pytest.mark.parametrize("name", LANGUAGES)
def test_words_given_as_numbers_change_no_choice(name: str) -> None:
    accepts, alphabet = LANGUAGES[name]
    numbered = Numbered(name)
    for n in (3, 12, 30):
        expected = members(alphabet, n, accepts, Random(7), [(alphabet[0],)], 4)
        assert members(alphabet, n, numbered, Random(7), [(alphabet[0],)], 4) == expected
    assert numbered.asked


@pytest.mark.parametrize("name", LANGUAGES)
def test_members_of_long_words_take_few_batches(name: str) -> None:
    """A family takes 13 steps that grow by half on average (ln 200 / ln 1.5), 8 that halve what is left at the end, and
    at most two tries for each where the length must be even; there are at most 4 families."""
    numbered = Numbered(name)
    assert members(numbered.alphabet, 400, numbered, Random(5), [], 4)
    assert len(numbered.asked) <= 4 * 2 * (13 + 8)


def test_short_lengths_are_exhaustive() -> None:
    plan = plan_words("ab", 6, Effort(64, 5), 0, lambda word: True)
    assert plan == WordPlan(6, 64, True, AllWords(("a", "b"), 6))
    assert set(plan.words) == set(product("ab", repeat=6))
    assert not plan_words("ab", 7, Effort(64, 5), 0, lambda word: True).exhaustive
    # As many samples as words: trying them all is cheaper.
    assert plan_words("ab", 6, Effort(0, 64), 0, lambda word: True).exhaustive


@given(st.sampled_from(sorted(LANGUAGES)), st.integers(1, 25), st.integers(0, 40), st.integers(0, 4))
def test_plans(name: str, n: int, samples: int, seed: int) -> None:
    accepts, alphabet = LANGUAGES[name]
    seeds = [tuple(alphabet[:2]), tuple(alphabet[:2]) * 4]
    plan = plan_words(alphabet, n, Effort(10, samples), seed, accepts, seeds)
    words = list(plan.words)
    assert (plan.n, plan.possible) == (n, len(alphabet) ** n)
    assert plan.exhaustive == (len(words) == plan.possible)
    assert len(words) == len(set(words))
    assert all(len(word) == n for word in words)
    assert len(words) <= planned_count(len(alphabet), n, Effort(10, samples), len(seeds))
    if len(alphabet) ** n <= max(10, samples):
        assert plan.exhaustive
    structured = structured_words(alphabet, n, limit=24)
    assert len(words) >= min(plan.possible, len(structured) + samples)
    assert set(structured) <= set(words)
    for pair in plan.pairs:
        assert set(pair) <= set(words)
        assert distance(*pair) == 1
        assert accepts(pair[0]) > accepts(pair[1])
    assert plan == plan_words(alphabet, n, Effort(10, samples), seed, accepts, seeds)


@pytest.mark.parametrize("name", LANGUAGES)
def test_plans_have_pairs_where_members_can_be_found(name: str) -> None:
    accepts, alphabet = LANGUAGES[name]
    plan = plan_words(alphabet, 24, Effort(100, 20), 0, accepts)
    assert plan.pairs
    assert {accepts(word) for word in plan.words} == {True, False}


def test_a_plan_takes_the_examples_of_its_length() -> None:
    seed: Word = tuple("abcabcaabbcc")
    plan = plan_words("abc", 12, Effort(10, 0, 0, 0), 0, lambda word: word == seed, [seed, ("a",)])
    assert plan.words == (seed,)
    assert plan.pairs == ()


def test_a_plan_may_turn_out_to_hold_every_word() -> None:
    """The 10 structured words and 8 more would be more than all 2^4 words: the plan is exhaustive, and says so."""
    plan = plan_words("ab", 4, Effort(0, 8), 0, lambda word: True)
    assert plan.exhaustive
    assert sorted(plan.words) == sorted(product("ab", repeat=4))


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(InputError, match="no words of length 0"):
        plan_words("ab", 0, Effort(10, 10), 0, lambda word: True)
    with pytest.raises(InputError, match="empty alphabet"):
        plan_words("", 3, Effort(10, 10), 0, lambda word: True)
