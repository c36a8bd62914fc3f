"""Tests of faults in handmade networks: the search finds what random words miss."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from benchmarks import faults, handmade
from benchmarks.faults import Change, Planter, Pool, Sampler, margins
from benchmarks.handmade import DECAY, DEPTH, ROWS, cases
from benchmarks.planted import PAGE, WAYS, Outcome, first_wrong, proved_part, render, summary
from hardsim.campaign.given import GivenWords
from hardsim.network.dense import arrays_of
from tests.support.check import CheckOptions, External, Verdict, check_subject

SUBJECTS = {case.name: case.subject for case in cases()}
BLANK = DECAY * ROWS + 20
"""Difference between the scores of another symbol and of a blank."""
FAULTS = {
    # At row r the depth k is k / (r + 1), compared with (DEPTH - 1/2) times a share that is now 2 % too large: only the
    # full depth is below it.
    "position": ("depth", Change("position", 0, 38 * 3 + 1, 1.0), 0.02 / 39),
    # A blank now scores only 20 less. Scores grow by 1 a position, so about 20 blanks outweigh the symbol before them.
    "embedding": ("latest", Change("embedding", 0, 2 * 4 + 1, -1.0), 1 - 20 / BLANK),
    "attention": ("latest", Change("attention", 1, 1, 1.0), BLANK - 20),
    # The pair at position i counts 1 - 0.016 i: a single pair does not reach 1/2 beyond i = 31.
    "mlp": ("factor", Change("mlp", 0, 1 * 2, -1.0), 0.16),
}
LONGEST, SAMPLES = 40, 30


def faulty(kind: str) -> External:
    name, change, size = FAULTS[kind]
    subject = SUBJECTS[name]
    return replace(subject, network=change.made(subject.network, size))


@pytest.mark.sweep
@pytest.mark.parametrize("kind", FAULTS)
def test_the_search_finds_what_random_words_miss(kind: str) -> None:
    subject = faulty(kind)
    found = check_subject(subject, CheckOptions(LONGEST, SAMPLES, SAMPLES))
    assert found.verdict is Verdict.REFUTED
    assert found.mismatch is not None
    assert len(found.mismatch.word) >= faults.SHORTEST
    tried = {length.n: length.words for length in found.judged if length.n}
    assert [first_wrong(subject, tried, way, 0) for way in WAYS] == [None, None]


def test_random_words_find_what_is_common() -> None:
    """Without the lower score of blanks, a blank at the end counts as a."""
    subject = SUBJECTS["latest"]
    blind = replace(subject, network=Change("attention", 1, 1, 1.0).made(subject.network, BLANK))
    assert first_wrong(blind, {20: 50}, "letters", 0) is not None


def test_networks_made_by_hand_are_right() -> None:
    for subject in SUBJECTS.values():
        assert check_subject(subject, CheckOptions(8, 256, 20)).verdict is Verdict.CERTIFIED
    deepest, pair = ("a",) * DEPTH + ("b",) * 9, ("a",) * (ROWS - 3) + ("b", "b")
    for name, word in (("depth", deepest), ("factor", pair), ("latest", (*pair[::-1],))):
        assert check_subject(SUBJECTS[name], CheckOptions(words=GivenWords.of([word]))).verdict is Verdict.CERTIFIED


def test_a_change_is_of_one_weight() -> None:
    network = SUBJECTS["factor"].network
    changed = Change("mlp", 0, 3, -1.0).made(network, 0.25)
    before, after = (np.concatenate([np.ravel(array) for array in arrays_of(one)]) for one in (network, changed))
    assert sorted(np.abs(after - before).tolist())[-2:] == [0, 0.25]


def test_faults_leave_short_words_right(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"POOL": 200, "PART": 50, "SPREAD": 400, "TOLD": 400, "MANY": 20, "MOST": 200}.items():
        monkeypatch.setattr(faults, name, value)
    monkeypatch.setattr(handmade, "TRIES", 100)
    case = next(case for case in cases() if case.name == "latest")
    planter = Planter(case, 0)
    for shaped in (False, True):
        fault = planter.fault("attention", shaped, Random(0))
        assert fault is not None
        assert len(fault.word) >= faults.SHORTEST
        assert (fault.wrong == 0) if shaped else (fault.wrong <= faults.WRONG)
        network = fault.subject.network
        assert check_subject(fault.subject, CheckOptions(words=GivenWords.of([fault.word]))).verdict is Verdict.REFUTED
        assert not (margins(case.subject, network, planter.short) < 0).any()


@pytest.mark.parametrize("each", WAYS)
def test_random_words_are_those_of_the_language(each: str) -> None:
    """Brackets have 6 prefixes of 4 symbols. With equally likely letters, each branch has half of its parent's
    chance."""
    words = Sampler(SUBJECTS["depth"], each).words(4, 6000, np.random.default_rng(0))
    shares = {word: Fraction(1, 6) for word in ("aaaa", "aaab", "aaba", "aabb", "abaa", "abab")}
    if each == "letters":
        shares = {word: Fraction(1, 4) if word.startswith("ab") else Fraction(1, 8) for word in shares}
    counts = Counter(map("".join, words))
    assert counts.keys() == shares.keys()
    for word, share in shares.items():
        assert abs(counts[word] - 6000 * share) < 5 * (6000 * share * (1 - share)) ** 0.5


def test_words_that_are_not_judged_are_left_out() -> None:
    pool = Pool.of(SUBJECTS["depth"], [("a", "b"), ("b", "a"), ("a",)])
    assert pool.words == [("a",), ("a", "b")]
    assert pool.places.tolist() == [1, 2]


def outcome(**changes: Any) -> Outcome:
    return replace(Outcome("depth", "position", "position", "a", 1, 10, 2e-5, 100, 30, 24, (None, 7)), **changes)


def test_a_row_for_each_kind() -> None:
    text = render([outcome(proved=23, least=24), outcome(kind="mlp", found=None, shrunk=None, rarity=0.0)])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line]
    assert ["position", "1", "20", "1", "0", "1", "30", "24", "1"] in rows
    assert ["mlp", "1", "0", "0", "0", "1", "", "", "0"] in rows
    assert rows.count(["all", "2", "10", "1", "0", "2", "30", "24", "1"]) == 1


@pytest.mark.slow
def test_the_rest_of_a_faulty_network_is_proved() -> None:
    """Only a word of 38 symbols ends at the row of the fault, and 37 a's and a b have the full depth there. A single
    pair counts too little beyond position 31."""
    assert proved_part(faulty("position")) == (37, 38)
    proved, least = proved_part(faulty("mlp"))
    assert proved is not None
    assert 12 <= proved <= 31
    assert least in (None, 32)


def test_what_is_proved_of_faults_that_are_not_found() -> None:
    missed = outcome(found=None, shrunk=None, proved=20, least=21)
    unknown = outcome(found=None, shrunk=None)
    found = [outcome(proved=23), outcome(proved=20, least=21), outcome(proved=20), outcome()]  # of 24 symbols
    assert [one.exact for one in (*found, missed, unknown)] == [True, True, False, False, True, False]
    text = " ".join(summary(found).split())
    assert text.startswith(
        "The search finds 4 of 4 faults. All words shorter than the shortest wrong one are proved right"
    )
    assert "proved right for 2 of these; for 1 of them the search has a word of that length" in text
    assert text.endswith("It misses 0; for 0 of these all shorter words are proved right.")
    assert "The search finds 1 of 3 faults." in summary([outcome(), missed, unknown])
    assert "It misses 2; for 1 of these all shorter words are proved right." in " ".join(
        summary([outcome(), missed, unknown]).split()
    )


def test_there_are_many_faults() -> None:
    assert len(PAGE.read(Outcome)) >= 50
