"""Words that rounding makes a network answer wrongly, found from the length that follows from the format."""

from fractions import Fraction
from itertools import product

import pytest

from hardsim.lang.arith import parse_arith
from hardsim.lang.semantics import Oracle
from hardsim.network.transformer import SoftWeighting
from hardsim.proving.rounded_words import limit_of, wrong_when_rounded
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.formula import FormulaTarget
from tests.compiling.from_ltl.test_rounded import target_of
from tests.compiling.from_ltl.test_rounded_exponentials import answers_of, exponential_target
from tests.support.language import parse_text
from tests.support.model import ExactModel


def length(target: FormulaTarget) -> int | None:
    limit = limit_of(target)
    return None if limit is None else limit.n


@pytest.mark.parametrize("text", ["#L[a] >= 1", "#L[a] >= #L[b]", "!(#[a] <= 2*#[b])", "#L[#L[a] >= #L[b]] >= #L[b]"])
def test_words_are_found_at_the_computed_length(text: str) -> None:
    target = target_of(text, "nearest:5")
    assert length(target) == 31
    word = next(wrong_when_rounded(target, 64))
    assert 31 <= len(word) <= 33
    assert target.formula is not None
    column = ExactModel(target.program).run([word]).columns[target.program.output]
    assert column.values(0)[-1] != Oracle(target.formula).accepts(word)
    assert not list(wrong_when_rounded(target, 30))


def test_other_roundings_have_no_such_words() -> None:
    for rounding in ("floor:2", "biased:2"):
        target = target_of("#L[a] >= 1", rounding)
        assert not list(wrong_when_rounded(target, 16))
    assert length(target_of("#L[a] >= 1", "floor:2")) is None


@pytest.mark.parametrize(("text", "first"), [("a S b", 3), ("Y a", 6)])
def test_the_computed_length_is_that_of_the_shortest_wrong_word(text: str, first: int) -> None:
    """All words of all shorter lengths are right, and one of that length is wrong: beta is 7."""
    target = exponential_target(text, "fixed:8")
    assert length(target) == first
    assert target.formula is not None
    oracle = Oracle(target.formula)
    for n in range(1, first + 1):
        words = list(product("abc", repeat=n))
        wrong = [
            word for word, one in zip(words, answers_of(target, words), strict=True) if one != oracle.accepts(word)
        ]
        assert bool(wrong) == (n == first)
    word = next(wrong_when_rounded(target, 64))
    assert len(word) == first
    assert answers_of(target, [word]) != [oracle.accepts(word)]


def test_the_computed_length_grows_with_beta() -> None:
    """The k-th position from the nearest one weighs e^-(beta k/(2 n)): 1/3 together from n = beta/(2 log 4) on."""
    found = [length(exponential_target("a S b", form)) for form in ("fp16", "bf16", "fp32", "fp64")]
    assert found == [7, 34, 38, 270]
    assert length(exponential_target("a S b", "fp64", Fraction(1000))) == 361
    assert length(exponential_target("a S b", "fp64", Fraction(64))) == 24
    assert length(exponential_target("a S b", "fixed:8", Fraction(1000))) == 363


def test_a_gap_that_is_too_small_is_wrong_from_a_length_that_no_short_word_reaches() -> None:
    """n - 1 positions of weight 2^-24 are 1/3 at n = 2^24/3 + 1."""
    assert length(exponential_target("O a", "fp16", Fraction(17))) == 2**24 // 3 + 2
    assert length(exponential_target("O a", "fp16")) is None


@pytest.mark.parametrize(
    ("tau", "first"),
    [
        ("1", 7),  # weights e^-(18 k/(2 n)): 0.28 together at n = 6, 0.38 at n = 7
        ("n/2", 4),  # weights e^-(18 k/n^2): 0.15 together at n = 3, 0.46 at n = 4
        ("1/n", None),
        ("1 + 99*[n mod 5 = 0]", None),
        ("98*[n mod 2 = 0] + 1/(2*n)", None),
        ("10 - n/100", None),
    ],
)
def test_a_length_is_stated_only_where_longer_words_are_worse(tau: str, first: int | None) -> None:
    options = ModelOptions("temperature", Fraction(18), parse_arith(tau), weighting=SoftWeighting("softmax:fp16"))
    assert length(compile_formula(parse_text("alphabet: a b c\na S b\n", "f"), options)) == first
