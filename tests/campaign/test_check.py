"""Tests of whole checks: counts, extremes, verdicts, interruption, processes."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from typing import Literal

import pytest

from hardsim.campaign.by_target import judging_of
from hardsim.campaign.check import ChoosingJudge, Unchosen, count_requested, default_workers, effort, words_of
from hardsim.campaign.evaluate import accepted_words
from hardsim.campaign.words import PAIRS, STRUCTURED_LIMIT, Effort
from hardsim.campaign.workers import Shard
from hardsim.targets.result import ENGINES
from tests.support.check import CheckOptions, Progress, Subject, Verdict, check_subject
from tests.support.language import InputError, parse_arith
from tests.support.model import PROVEN, Affine
from tests.support.strategies import all_words
from tests.support.subjects import compiled, evaluations, known


def since(regime: str = "temperature", beta: Fraction | None = None, tau: str | None = None) -> Subject:
    schedule = None if tau is None else parse_arith(tau, ("i", "n"), "--tau")
    return compiled("a S b", regime, beta, "abc", tau=schedule)


def attended(word: str, beta: float, regime: str = "temperature") -> float:
    """Compute in floats the value that the head of `a S b` reads at the last position, from the table of regimes."""
    n = len(word)
    q = [symbol != "a" for symbol in word]
    by_regime: dict[str, Callable[[int], float]] = {
        "temperature": lambda j: n * beta * (q[j - 1] + j / (2 * n)),
        "position": lambda j: n * beta * q[j - 1] + beta / 2 * j,
        "causal-temperature": lambda j: n * n * beta * (q[j - 1] - 1 / (2 * j)),
        "causal-position": lambda j: n * beta * q[j - 1] + beta / 2 * j,
        "none": lambda j: beta * (q[j - 1] + j / (2 * n)),
    }
    logits = by_regime[regime]
    weights = [exp(logits(j) - logits(n)) for j in range(1, n + 1)]
    return sum(w for w, symbol in zip(weights, word, strict=True) if symbol == "b") / sum(weights)


def holds(word: str) -> bool:
    return word.rstrip("a").endswith("b")


@pytest.mark.parametrize("regime", [*PROVEN, "none"])
def test_extremes_of_a_length_are_those_of_the_formula(regime: str) -> None:
    beta = 4.0
    for length in check_subject(since(regime), CheckOptions(max_n=5)).lengths:
        words = ["".join(word) for word in product("abc", repeat=length.n)]
        accepted = [attended(word, beta, regime) for word in words if holds(word)]
        rejected = [attended(word, beta, regime) for word in words if not holds(word)]
        assert (length.words, length.possible, length.exhaustive) == (len(words), len(words), True)
        assert length.accepted == len(accepted)
        assert float(known(length.acceptance_gap)) == pytest.approx(min(accepted) - max(rejected), abs=1e-11)
        assert float(length.error) >= max(abs(attended(word, beta, regime) - holds(word)) for word in words) - 1e-12
        if regime != "none":
            assert length.error <= length.bound
            assert float(length.bound) == pytest.approx(2 * exp(-2) / (1 + exp(-2)), abs=1e-12)


@pytest.mark.parametrize(
    ("regime", "beta", "tau"),
    [
        *((regime, Fraction(1, 2), None) for regime in PROVEN),
        ("temperature", None, "1/1"),
        ("causal-temperature", None, "1/1"),
        ("none", None, None),
    ],
)
def test_too_flat_attention_is_refuted_by_the_shortest_word(
    regime: str, beta: Fraction | None, tau: str | None
) -> None:
    subject = since(regime, beta, tau)
    result = check_subject(subject, CheckOptions(max_n=6))
    assert result.verdict is Verdict.REFUTED
    assert result.mismatch is not None
    found = "".join(result.mismatch.word)
    assert result.mismatch.kind == "soft/hard"
    assert result.mismatch.oracle is result.mismatch.hard is holds(found)
    # The run tried all words, so no earlier word (by length, then alphabet) may mismatch.
    earlier = [word for word in all_words("abc", len(found)) if (len(word), word) < (len(found), tuple(found))]
    assert all(evaluation.mismatch is None for evaluation in evaluations(subject, earlier))
    if beta is not None and regime != "causal-temperature":
        value = 2 * attended(found, 0.5, regime) - 0.5
        assert float(known(result.mismatch.output)) == pytest.approx(min(max(value, 0), 1), abs=1e-12)


def test_an_output_in_between_is_a_mismatch_for_accepted_words_too() -> None:
    # At beta = 1/2 the value at ba is e^(3/4) / (1 + e^(3/4)) = 0.679: the right side of 1/2, but not above 3/4.
    (evaluation,) = evaluations(since(beta=Fraction(1, 2)), [("b", "a")])
    assert evaluation.oracle is evaluation.hard is True
    assert evaluation.soft is None
    assert evaluation.mismatch is not None
    assert float(known(evaluation.output)) == pytest.approx(2 * exp(0.75) / (1 + exp(0.75)) - 0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("engine", "verdict", "by"),
    [
        ("auto", Verdict.CERTIFIED, "in float64 with rigorous error bounds"),
        ("float64", Verdict.CERTIFIED, "in float64 with rigorous error bounds"),
        ("ball", Verdict.CERTIFIED, "in ball arithmetic"),
        ("mpmath", Verdict.OBSERVED, "in mpmath (no rigorous enclosure)"),
    ],
)
def test_the_verdict_is_as_strong_as_the_arithmetic(engine: str, verdict: Verdict, by: str) -> None:
    result = check_subject(since(), CheckOptions(max_n=4, engine=engine))
    assert (result.verdict, result.mismatch, result.engine) == (verdict, None, engine)
    assert result.reach == f"all 120 words up to length 4, {by}"
    assert result.words == 3 + 9 + 27 + 81


def test_beyond_the_limit_words_are_sampled_and_the_reach_says_so() -> None:
    options = CheckOptions(max_n=12, exhaustive=100, samples=5, seed=3)
    result = check_subject(since(), options)
    assert [length.exhaustive for length in result.lengths] == [True] * 4 + [False] * 8
    assert all(length.accepted not in (0, length.words) for length in result.lengths)
    assert "all 120 words up to length 4 and " in result.reach
    assert f" of {sum(3**n for n in range(5, 13)):,} words of lengths 5 to 12" in result.reach
    assert result == check_subject(since(), options)
    assert result != check_subject(since(), replace(options, seed=4))


@pytest.mark.parametrize("engine", ENGINES)
def test_several_processes_give_the_same_result(engine: str) -> None:
    options = CheckOptions(max_n=7, exhaustive=300, samples=9, engine=engine)
    assert check_subject(since(), replace(options, workers=2)) == check_subject(since(), options)


def test_count_requested_is_never_less_than_what_is_tried() -> None:
    for options in (CheckOptions(max_n=9), CheckOptions(max_n=20, exhaustive=30, samples=2)):
        seen: list[Progress] = []
        check_subject(since(), options, seen.append)
        assert seen[-1].done <= count_requested(since(), options)
        assert [progress.done for progress in seen] == sorted({progress.done for progress in seen})
        assert seen[-1].n == options.max_n


def test_default_effort_is_smaller_beyond_length_16() -> None:
    assert effort(since(), CheckOptions(), 16) == Effort(1024, 20, STRUCTURED_LIMIT, PAIRS)
    assert effort(since(), CheckOptions(), 17) == Effort(1024, 4, 12, 2)
    assert [effort(since(), CheckOptions(samples=50), n).samples for n in (16, 17)] == [50, 50]


def test_quick_checks_start_no_processes() -> None:
    assert default_workers(since(), CheckOptions(max_n=5)) == 1
    assert default_workers(since(), CheckOptions(max_n=500, samples=500)) >= 1


@pytest.mark.parametrize(
    ("engine", "after", "words", "verdict"),
    [
        ("mpmath", 0, 3, Verdict.OBSERVED),
        ("mpmath", 40, 3 + 9 + 27 + 64, Verdict.OBSERVED),  # at most 64 words, here of all lengths to 4
        ("ball", 40, 3 + 9 + 27 + 64, Verdict.CERTIFIED),
        ("auto", 0, 3, Verdict.CERTIFIED),  # a batch is all words of a length here
        ("auto", 40, 120, Verdict.CERTIFIED),
    ],
)
def test_an_interrupted_check_is_partial_and_says_what_it_did(
    engine: str, after: int, words: int, verdict: Verdict
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done > after:
            raise KeyboardInterrupt

    result = check_subject(since(), CheckOptions(max_n=6, engine=engine), interrupt)
    assert result.partial is True
    assert result.words == words
    assert result.verdict is verdict


@pytest.mark.parametrize(
    ("options", "message"),
    [(CheckOptions(max_n=0), "at least 1"), (CheckOptions(engine="abacus"), "unknown engine 'abacus'")],
)
def test_options_out_of_range_are_refused(options: CheckOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_subject(since(), options)


def test_more_digits_change_no_verdict() -> None:
    plain, precise = (check_subject(since(), CheckOptions(max_n=4, dps=dps, engine="ball")) for dps in (None, 80))
    assert [length.digits for length in precise.lengths] == [80] * 4
    for a, b in zip(plain.lengths, precise.lengths, strict=True):
        assert abs(a.error - b.error) < Fraction(1, 10**20)
        assert abs(known(a.acceptance_gap) - known(b.acceptance_gap)) < Fraction(1, 10**19)


def test_a_wrong_program_is_a_mismatch_between_hard_attention_and_the_oracle() -> None:
    subject = since()
    layer = subject.program.layers[0]
    clip = replace(layer.units[0], pre=Affine.constant(1))  # accepts everything
    wrong = replace(subject, program=replace(subject.program, layers=(replace(layer, units=(clip,)),)))
    result = check_subject(wrong, CheckOptions(max_n=3))
    mismatch = known(result.mismatch)
    assert result.verdict is Verdict.REFUTED
    assert (mismatch.word, mismatch.kind) == (("a",), "soft/hard and hard/oracle")
    # A word is accepted iff it ends in b a^k: (3^n - 1)/2 words of length n. All others are wrongly accepted.
    assert [length.hard_mismatches for length in result.lengths] == [(3**n + 1) // 2 for n in (1, 2, 3)]


def test_accepted_words_of_all_three() -> None:
    words = all_words("abc", 4)
    expected = [word for word in words if holds("".join(word))]
    judges: tuple[Literal["oracle", "hard", "soft"], ...] = ("oracle", "hard", "soft")
    for by in judges:
        assert list(accepted_words(since(), words, by, CheckOptions())) == expected
    flat = since(beta=Fraction(1, 2))
    assert len(list(accepted_words(flat, words, "soft", CheckOptions()))) < len(expected)


def test_no_attention_no_gap() -> None:
    result = check_subject(compiled("a | b", letters="abc"), CheckOptions(max_n=3))
    for length in result.lengths:
        assert (length.acceptance_gap, length.margin, length.score_gap, length.heads) == (None, None, None, ())
        assert length.error == 0
    assert result.verdict is Verdict.CERTIFIED


def test_conjunctions_take_the_least_and_disjunctions_the_largest_unrounded_value() -> None:
    texts = ("(a S b) & (O c)", "(a S b) | (O c)", "!((a S b) | (O c))", "a S b", "O c")
    words = all_words("abc", 4)
    parts = zip(*(evaluations(compiled(text, letters="abc"), words) for text in texts), strict=True)
    for all_of, any_of, none_of, first, second in parts:
        values = [value for value in (first.unrounded, second.unrounded) if value is not None]
        assert len(values) == 2
        assert all_of.unrounded == pytest.approx(min(values))
        assert any_of.unrounded == pytest.approx(max(values))
        assert none_of.unrounded == pytest.approx(1 - max(values))


@pytest.mark.parametrize("done", [0, 3, 40])
def test_words_chosen_where_they_are_judged_are_those_chosen_here(done: int) -> None:
    """Where an earlier run tallied some words of a length, the rest is tallied."""
    subject, options = since(), CheckOptions(max_n=9, exhaustive=10, samples=8)
    words = tuple(words_of(subject, options, 9).words)[done:]
    job = judging_of(subject, options.engine, None).job()
    plan, tally = ChoosingJudge(job, subject, options)(Shard(9, (), Unchosen(done)))
    assert plan is None
    assert tally.words == len(words)
    if words:
        assert tally == job.make(*job.parts)(Shard(9, words))[1]
