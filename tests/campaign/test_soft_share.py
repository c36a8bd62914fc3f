"""Softmax on a share of the words, where an error bound decides its answers on the others."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from hardsim.campaign.check import CheckOptions, check_subject
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.preparation import INVISIBLE, LEAST_RUN, SHARE, LengthPlan, plan_length, prepare_words
from hardsim.campaign.result import CheckResult
from hardsim.targets.result import Word
from hardsim.targets.subject import Subject
from tests.support.subjects import at_temperature, shipped

OPTIONS = CheckOptions(max_n=6, exhaustive=30, samples=8)
N = 6
EVERY: tuple[Word, ...] = tuple(product("()", repeat=N))


def checked(subject: Subject, share: str = "share") -> CheckResult:
    return check_subject(subject, replace(OPTIONS, soft_words=share))


@cache
def dyck() -> tuple[Subject, LengthPlan]:
    """Return Dyck-1 with its plan for all words of length N, as if they were a sample."""
    subject = shipped("dyck1.srasp")
    prepared = prepare_words(subject, {N: EVERY}, {N: False}, keep=False)[0]
    return subject, plan_length(prepared, subject, N)


def test_no_measured_error_on_any_word_exceeds_the_bound_that_replaces_its_run() -> None:
    subject, plan = dyck()
    assert plan.invisible
    every = HardJudge(subject, plan.program, plan).tally(EVERY)
    share = HardJudge(subject, plan.program, plan, shared=True).tally(EVERY)
    assert (every.bounded, share.bounded) == (0, len(EVERY) - len(EVERY) // SHARE)
    assert every.errors
    for place, error in every.errors.items():
        assert error.reached <= plan.bounds.final
        assert share.errors[place].bound <= error.bound
    # Hard attention, the semantics and the answers of softmax are those of all words.
    names = ("words", "accepted", "soft_mismatches", "hard_mismatches", "undecided", "gaps", "mismatch", "stuck")
    assert [getattr(share, name) for name in names] == [getattr(every, name) for name in names]


def test_lengths_that_are_tried_in_full_and_few_words_are_run_in_full() -> None:
    _, plan = dyck()
    whole = replace(plan, facts=replace(plan.facts, exhaustive=True))
    assert whole.share(50).all()
    for words in range(1, 200):
        run = int(plan.share(words).sum())
        assert run >= min(words, LEAST_RUN)
        assert run >= words // SHARE
        assert run == words or words > LEAST_RUN


def test_the_report_counts_the_words_that_softmax_was_not_run_on() -> None:
    subject = shipped("dyck1.srasp")
    shared, every = checked(subject), checked(subject, "all")
    assert not any(one.bounded for one in every.lengths)
    assert [one.bounded for one in shared.lengths if one.exhaustive] == [0] * 4
    assert all(one.bounded for one in shared.lengths if not one.exhaustive and one.n <= 6)
    bounded, words = (sum(getattr(one, name) for one in shared.lengths) for name in ("bounded", "words"))
    assert f"; softmax was run on {words - bounded} of these {words} words, in float64" in shared.reach
    assert f"; on the other {bounded} (lengths 5 to 6) an error bound shows that it answers as hard" in shared.reach
    assert "softmax was run on" not in every.reach
    for one, other in zip(shared.lengths, every.lengths, strict=True):
        assert (one.words, one.accepted, one.bound, one.score_gap) == (
            other.words,
            other.accepted,
            other.bound,
            other.score_gap,
        )
        assert one.error <= other.error


@pytest.mark.parametrize("wrong", ["()()()", ")()()("])
def test_a_word_that_hard_attention_gets_wrong_is_found_with_the_same_answers(wrong: str) -> None:
    """The semantics is changed on a word of the sample, be it of the share or not: softmax runs on it."""
    subject = shipped("dyck1.srasp")
    oracle = subject.oracle
    assert oracle is not None
    planted = replace(subject, oracle=lambda word: oracle(word) is not (word == tuple(wrong)))
    shared, every = checked(planted), checked(planted, "all")
    assert every.mismatch is not None
    assert every.mismatch.word == tuple(wrong)
    assert shared.mismatch == every.mismatch
    assert shared.verdict == every.verdict


def test_softmax_that_is_wrong_is_run_on_every_word() -> None:
    """At temperature 2 the bound claims nothing, so no word is left out, and the same word is wrong."""
    hot = at_temperature(shipped("dyck1.srasp"), "2")
    shared, every = checked(hot), checked(hot, "all")
    assert every.mismatch is not None
    assert shared.mismatch == every.mismatch
    assert shared.lengths == every.lengths
    assert not any(one.bounded for one in shared.lengths)


def test_a_plan_without_a_distance_or_with_a_larger_bound_shows_everything() -> None:
    _, plan = dyck()
    distance = plan.facts.distance
    assert distance is not None
    just = plan.bounds.final / INVISIBLE
    for other, invisible in ((distance, True), (just, True), (just * Fraction(99, 100), False), (Fraction(0), False)):
        assert replace(plan, facts=replace(plan.facts, distance=other)).invisible is invisible
    assert not replace(plan, facts=replace(plan.facts, distance=None)).invisible
