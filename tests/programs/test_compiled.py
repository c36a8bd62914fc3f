"""The shipped programs as hard attention and as softmax at Theorem 26's temperature, against the independent functions.

Softmax runs in certified float64 (in balls where that does not settle an answer), on all words of each length or on a
seeded choice where there are more than the limit.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from hardsim.checking.attention import Answer, AttentionOptions, AttentionSubject
from hardsim.checking.attention_plan import plan_length, prepare
from hardsim.checking.attention_tally import ErrorTally
from hardsim.checking.attention_words import SoftJudge
from hardsim.checking.sources import program_subject
from tests.programs.reference import ACCEPTORS
from tests.programs.shipped import NAMES, expected, program_of, words_of

pytestmark = pytest.mark.sweep

MOST = 20_000
Word = tuple[str, ...]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def judged_by_function(name: str) -> AttentionSubject:
    """A program whose semantics is the independent function."""
    subject, _ = program_subject(program_of(name), name, "")

    def answer(word: Word) -> Answer:
        wanted = expected(name, word)
        return wanted if isinstance(wanted, bool) else tuple(wanted)

    return replace(subject, oracle=answer)


def compare(subject: AttentionSubject, words: Iterable[Word]) -> Iterator[ErrorTally]:
    """Length by length, all answers and all errors beside their bounds."""
    lengths: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        lengths[len(word)].append(word)
    for n, some in sorted(lengths.items()):
        found = prepare(subject, {n: some}, {n: len(some) == len(subject.alphabet) ** n})
        plan = plan_length(found, subject, AttentionOptions(), n)
        assert plan.violation is None, "a declared gap does not hold"
        assert not found.ties
        tally = SoftJudge(subject, plan.model, found.hard, "auto").tally(some)
        assert tally.mismatch is None
        assert tally.words == len(some)
        for (number, stage, coordinate), (low, _) in tally.errors.items():
            layer = plan.bounds.layers[number]
            assert low <= (layer.attended, layer.final)[stage][coordinate]
        assert plan.bounds.final <= plan.epsilon <= Fraction(1, 4)
        yield tally


def test_all_short_words(name: str) -> None:
    words = list(words_of(program_of(name), 5, MOST))
    assert sum(tally.words for tally in compare(judged_by_function(name), words)) == len(words)


@pytest.mark.slow
def test_all_words(name: str) -> None:
    words = list(words_of(program_of(name), 7 if name in ACCEPTORS else 6, MOST))
    assert sum(tally.words for tally in compare(judged_by_function(name), words)) == len(words)


def balanced(n: int, draw: random.Random) -> list[str]:
    """A balanced word of n symbols (n even) over two kinds of brackets."""
    word: list[str] = []
    waiting: list[str] = []
    while len(word) < n:
        if waiting and (len(waiting) >= n - len(word) or draw.random() < 0.5):
            word.append(waiting.pop())
        else:
            opening = draw.choice("([")
            waiting.append({"(": ")", "[": "]"}[opening])
            word.append(opening)
    return word


def dyck_words(n: int, count: int) -> list[Word]:
    """Balanced words and, every other one, balanced words with one or two symbols changed or exchanged."""
    draw = random.Random(64)
    found: list[Word] = []
    for number in range(count):
        word = balanced(n, draw)
        if number % 2:
            first, second = draw.sample(range(n), 2)
            if number % 4 == 1:
                word[first] = draw.choice("()[]")
            else:
                word[first], word[second] = word[second], word[first]
        found.append(tuple(word))
    return found


def test_dyck2_at_64_on_balanced_and_nearly_balanced_words() -> None:
    (tally,) = compare(judged_by_function("dyck2"), dyck_words(64, 200))
    assert tally.words == 200
    assert 100 <= tally.accepted < 200
