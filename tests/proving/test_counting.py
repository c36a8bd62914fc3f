"""Tests of counting: the error of a sum of counts, and the bound of Lemma 7, which is twice the bound used here."""

from collections.abc import Callable
from fractions import Fraction
from math import exp
from typing import Any

import pytest

from hardsim.campaign.result import HeadResult
from tests.support.check import CheckOptions, CheckResult, Subject, Tally, Verdict, check_subject
from tests.support.model import Kind
from tests.support.strategies import all_words
from tests.support.subjects import compiled, judge_of, known

SUM = "2*#L[a] - #L[b] >= 1"


def checked(text: str, regime: str = "temperature", **options: Any) -> CheckResult:
    return check_subject(compiled(text, regime, **options), CheckOptions(max_n=6))


def read_at(count: int, visible: int, rate: float) -> float:
    """Return the position that the look-up reads: the softmax mean of j at logits -rate (j - c)^2."""
    weights = [exp(-rate * (j - count) ** 2) for j in range(1, visible + 1)]
    return sum(j * weight for j, weight in enumerate(weights, start=1)) / sum(weights)


RATES: dict[str, Callable[[int, int], float]] = {
    "temperature": lambda i, n: 4 * n / i,
    "position": lambda i, n: 4 * n / i,
    "causal-temperature": lambda i, n: 4 * i,
}


@pytest.mark.parametrize("regime", RATES)
def test_the_error_of_a_sum_is_that_of_its_look_ups(regime: str) -> None:
    """For every word to length 6 and every position, the error is 2 e_a - e_b, where e is the distance from the count
    (from 1 for count 0).
    """
    result = checked(SUM, regime)
    assert result.agreed
    for length in result.lengths:
        n = length.n
        worst = {"sum": 0.0, "a": 0.0, "b": 0.0}
        for word in all_words("ab", n):
            if len(word) < n:
                continue
            for i in range(1, n + 1):
                visible = i if regime == "causal-temperature" else n
                error = {}
                for symbol in "ab":
                    count = word[:i].count(symbol)
                    error[symbol] = read_at(count, visible, RATES[regime](i, n)) - max(count, 1)
                    worst[symbol] = max(worst[symbol], abs(error[symbol]))
                worst["sum"] = max(worst["sum"], abs(2 * error["a"] - error["b"]))
        assert float(known(length.sum_error)) == pytest.approx(worst["sum"], rel=1e-9, abs=1e-12)
        for head in look_ups(compiled(SUM, regime), length.heads):
            symbol = "a" if "[a]" in head.name or "#L[a]" in head.name else "b"
            assert float(head.error) == pytest.approx(worst[symbol], rel=1e-9, abs=1e-12)


def look_ups(subject: Subject, heads: tuple[HeadResult, ...]) -> list[HeadResult]:
    names = {head.name for head in subject.program.heads if head.kind is Kind.LOOKUP}
    return [head for head in heads if head.name in names]


@pytest.mark.parametrize("regime", RATES)
@pytest.mark.parametrize("text", [SUM, "5*#L[a] - 4*#L[b] > 3 | PRIME(#L[a])", "O (#L[a] = #L[b]) & ODD(#L[b])"])
def test_errors_stay_within_the_theory(text: str, regime: str) -> None:
    subject = compiled(text, regime)
    for length in check_subject(subject, CheckOptions(max_n=6)).lengths:
        assert known(length.sum_error) <= Fraction(1, 4)
        mine = look_ups(subject, length.heads)
        assert mine
        for head in length.heads:
            assert head.error <= head.bound
            if head in mine:
                assert abs(known(head.paper_bound) - 2 * head.bound) <= head.bound / 2**100  # both are rounded up
            else:
                assert head.paper_bound is None


def test_a_small_beta_lets_the_error_of_a_sum_beyond_a_quarter() -> None:
    result = checked("5*#L[a] - 5*#L[b] >= 3*#L[Y a]", beta=Fraction(1, 2))
    assert max(length.sum_error or 0 for length in result.lengths) > Fraction(1, 4)
    assert result.verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("text", "options"), [("a S b", {}), ("PRIME(#L[a])", {}), ("pos > 2", {}), (SUM, {"counting": "sign"})]
)
def test_without_sums_of_looked_up_counts_there_is_no_such_error(text: str, options: dict[str, Any]) -> None:
    result = checked(text, **options)
    assert {length.sum_error for length in result.lengths} == {None}
    assert all(head.paper_bound is None for length in result.lengths for head in length.heads)


@pytest.mark.parametrize(("regime", "kind"), [("temperature", "sign"), ("causal-position", "sign-ramp")])
def test_the_sign_test_stays_within_its_bound(regime: str, kind: str) -> None:
    subject = compiled(SUM, regime, counting="sign")
    assert kind in {str(head.kind) for head in subject.program.heads}
    for length in check_subject(subject, CheckOptions(max_n=7)).lengths:
        assert all(head.error <= head.bound for head in length.heads)
        assert length.margin is None or length.margin > 0


def test_tallies_of_disjoint_words_merge_to_that_of_all() -> None:
    judge = judge_of(compiled(SUM), "mpmath")
    words = [word for word in all_words("ab", 5) if len(word) == 5]
    whole, left, right = Tally(5), Tally(5), Tally(5)
    for place, word in enumerate(words):
        for tally in (whole, left if place < 20 else right):
            tally.merge(judge.tally([word]), "ab")
    assert left.extremes["sum",] != right.extremes["sum",]
    left.merge(right, "ab")
    assert left == whole
