"""Tests of the length to which a constant temperature is right, and of formulas that no constant makes right for every
length.
"""

from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import pytest

from hardsim.campaign.result import ConstantReach
from hardsim.proving.constant import hahn_limited
from tests.support.check import CheckOptions, CheckResult, ModelOptions, Verdict, check_with_proof, read_expression
from tests.support.language import Oracle, desugar, parse_arith
from tests.support.subjects import known


def checked(text: str, max_n: int, letters: str = "a b", **options: Any) -> CheckResult:
    given = read_expression(text, letters)
    return check_with_proof(given.compile(ModelOptions(**options)), CheckOptions(max_n=max_n))


def reach(text: str, max_n: int, letters: str = "a b", **options: Any) -> ConstantReach:
    return known(checked(text, max_n, letters, **options).constant)


def reached(beta: float) -> int:
    """Return the largest length at which `O a` is right: at a b ... b the first position has weight 1/(1 + the sum of
    e^(beta (j/(2n) - 1/(2n) - 1)), j = 2 ... n), which must be at least 3/4.
    """
    n = 1
    while sum(exp(beta * ((j - 1) / (2 * (n + 1)) - 1)) for j in range(2, n + 2)) <= 1 / 3:
        n += 1
    return n


@pytest.mark.parametrize("beta", [1, 2, 3, 4, "9/2"])
@pytest.mark.parametrize("options", [{"regime": "none"}, {"tau": "1"}])
def test_the_length_that_a_beta_reaches(beta: int | str, options: dict[str, Any]) -> None:
    given: dict[str, Any] = {key: parse_arith(value) if key == "tau" else value for key, value in options.items()}
    found, expected = reach("O a", 12, "a b", beta=Fraction(beta), **given), reached(float(Fraction(beta)))
    assert (found.right_to, found.wrong_at, found.limited) == (expected, expected + 1, True)
    farther = known(found.farther_beta)
    assert (found.farther_n, reached(float(farther)) >= 2 * (expected + 1)) == (2 * (expected + 1), True)
    # A beta smaller by a sixteenth, or by 1/4, does not reach so far.
    assert reached(float(farther - max(Fraction(1, 4), farther / 16))) < 2 * (expected + 1)


def test_a_large_beta_is_proved_to_the_longest_requested_length() -> None:
    result = checked("O a", 64, regime="none", beta=Fraction(40))
    assert result.verdict is Verdict.PROVED
    found = known(result.constant)
    assert (found.right_to, found.proved, found.wrong_at, found.limited) == (64, True, None, True)
    assert "No constant beta reaches every length" in found.summary


def test_what_is_not_tried_in_full_is_left_to_the_prover() -> None:
    """With at most 4 words of a length, lengths from 3 on are only sampled. The prover still finds the wrong word at
    length 7.
    """
    given = read_expression("O a", "a b").compile(ModelOptions(regime="none", beta=Fraction(4)))
    result = check_with_proof(given, CheckOptions(max_n=8, exhaustive=4))
    found = known(result.constant)
    assert (found.right_to, found.proved, found.wrong_at) == (6, True, len(known(result.mismatch).word))


@pytest.mark.parametrize(("text", "options"), [
    ("a", {"regime": "none"}),
    ("first", {"regime": "none"}),
    ("O a", {"regime": "position"}),
    ("O a", {}),
    ("O (#L[a] > 2)", {"regime": "temperature"}),
])  # fmt: skip
def test_what_has_no_such_limit_says_nothing_of_one(text: str, options: dict[str, Any]) -> None:
    assert checked(text, 3, **options).constant is None


LIMITED = ("O a", "H a", "Y a", "Y Y a", "a S b", "O (first & a)", "O (a & Y b)", "first | Y a")
UNLIMITED = ("a", "first", "O first", "Y Y Y true", "O a & H !a", "(O b | H !b) & a", "Y Y (a & first)")


def apart(text: str, n: int) -> bool:
    """Return whether exactly one of two words is accepted that differ in one symbol before the last, for some such
    pair of a length.
    """
    oracle = Oracle(read_expression(text, "a b").file)
    accepted = {word: oracle.accepts(word) for word in product("ab", repeat=n)}
    return any(
        accepted[word] != accepted[(*word[:place], "b", *word[place + 1 :])]
        for word in accepted
        for place in range(n - 1)
        if word[place] == "a"
    )


@pytest.mark.parametrize("text", LIMITED + UNLIMITED)
def test_hahns_limit_is_claimed_where_one_symbol_decides_at_every_length(text: str) -> None:
    assert hahn_limited(desugar(read_expression(text, "a b").file)) is (text in LIMITED)
    assert all(apart(text, n) for n in (6, 7, 8)) is (text in LIMITED)


@pytest.mark.parametrize("text", ["F a", "#L[a] > 2", "EVEN(#L[a])", "last & a", "X a"])
def test_what_is_not_decided_is_not_claimed(text: str) -> None:
    assert not hahn_limited(desugar(read_expression(text, "a b").file))


def test_a_condition_is_stated_where_the_limit_is_not_decided() -> None:
    found = reach("#L[a] > #L[b]", 4, regime="none")
    assert found.limited is None
    assert "If an earlier symbol can decide the answer at every length, no constant beta reaches" in found.summary


def test_the_regime_of_counts_is_named_where_it_applies() -> None:
    assert reach("#L[a] > #L[b] & #L[a] > 2", 3, regime="none").layer_norm
    assert "--regime layer-norm" in reach("#L[a] > #L[b] & #L[a] > 2", 3, regime="none").summary
    assert not reach("b S a", 3, regime="none").layer_norm
    assert "layer-norm" not in reach("b S a", 3, regime="none").summary
