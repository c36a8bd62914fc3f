"""Rational functions of positions: arithmetic and bounds compared with evaluation, classes of sites with their
sites.
"""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.proof.formulas.sites import Classes, Free, SiteClass
from hardsim.proof.shared.ratios import NoRatio, Ratio, chain, line, lower, positive, ratio_of, upper
from tests.support.check import ModelOptions, NotProved, Sites, compile_formula
from tests.support.language import parse_arith, parse_expression
from tests.support.model import Mask, PredicateColumn, Rational

LENGTHS = 9
TEXTS = (
    "i/n", "1/i", "n*i^2", "(-1)^i", "n*(-1)^i", "(-1)^i*i^2", "(-1)^(n-i)/(i+1)", "(2*i-n)/(3*n+i)", "-i^2+4",
    "1/(n-i+1)", "(-1)^(2*i+1)",
)  # fmt: skip


def class_of(classes: Classes, i: int, n: int) -> int:
    """Return the number of the class that contains a site."""
    (found,) = [
        site
        for site, one in enumerate(classes.classes)
        if (one.first, one.last) == (i == 1, i == n) and (one.even_i, one.even_n) == (i % 2 == 0, n % 2 == 0)
    ]
    return found


def number(value: object, i: int, n: int) -> Fraction:
    """Evaluate a rational function at a site."""
    if isinstance(value, Ratio):
        value = value.at({"i": i, "n": n}).simplest
    assert isinstance(value, int | Fraction)
    return Fraction(value)


def sites() -> list[tuple[int, int]]:
    return [(i, n) for n in range(1, LENGTHS + 1) for i in range(1, n + 1)]


@pytest.mark.parametrize("text", TEXTS)
def test_an_encoding_in_its_class_is_the_encoding(text: str) -> None:
    classes, function = Classes(), parse_arith(text)
    values = classes.evaluate(function)
    for i, n in sites():
        assert number(values[class_of(classes, i, n)], i, n) == function.evaluate(i=i, n=n)


def test_the_classes_have_every_site_once_in_their_domains() -> None:
    classes = Classes()
    assert {class_of(classes, i, n) for i, n in sites()} == set(range(9))
    for i, n in sites():
        one: SiteClass = classes.classes[class_of(classes, i, n)]
        # The domain has i = p + a and n = q + a + b or the like: bounds on i, n and n - i must let the site in.
        for value, here in ((one.domain["i"], i), (one.domain["n"], n), (one.domain["n"] - one.domain["i"], n - i)):
            low, high = lower(value, one.domain), upper(value, one.domain)
            assert low is None or low <= here
            assert high is None or here <= high


@given(
    st.lists(st.fractions(-3, 3, max_denominator=4), min_size=9, max_size=9),
    st.sampled_from([mask for mask in Mask if not mask.strict]),
)
def test_means_over_classes_are_means_over_positions(values: list[Fraction], mask: Mask) -> None:
    classes, plain = Classes(), Sites(tuple(range(1, LENGTHS + 1)))
    column: list[Rational] = [values[class_of(classes, i, n)] for i, n in sites()]
    means = classes.means(values, mask)
    for (i, n), expected in zip(sites(), plain.means(column, mask), strict=True):
        assert number(means[class_of(classes, i, n)], i, n) == expected


def test_neighbours_are_the_classes_next_door() -> None:
    classes = Classes()
    for way in (-1, 1):
        seen: dict[int, set[int]] = {site: set() for site in range(9)}
        for i, n in sites():
            if 1 <= i + way <= n:
                seen[class_of(classes, i, n)].add(class_of(classes, i + way, n))
        assert {site: set(classes.neighbours(site, way)) for site in range(9)} == seen


POLYNOMIALS = st.lists(st.integers(-4, 6), min_size=6, max_size=6)


@given(POLYNOMIALS, st.lists(st.integers(0, 6), min_size=6, max_size=6))
def test_bounds_hold_at_every_point(top: list[int], bottom: list[int]) -> None:
    j, w = Ratio.variable("j"), Ratio.variable("w")
    terms = [Ratio.of(1), j, w, j * w, w * w, j * j]
    value = sum((t * c for t, c in zip(terms, top, strict=True)), Ratio.of(0)) / sum(
        (t * c for t, c in zip(terms, bottom, strict=True)), Ratio.of(1)
    )
    domain = chain(["j", "w"], [0, 1])
    low, high, sure = lower(value, domain), upper(value, domain), positive(value, domain)
    for first in range(1, 6):
        for second in range(first + 1, 9):
            here = value.at({"j": first, "w": second}).simplest
            assert isinstance(here, int | Fraction)
            assert low is None or low <= here
            assert high is None or here <= high
            assert not sure or here > 0


def test_the_rate_of_the_tie_in_causal_temperature_is_half_of_beta() -> None:
    # (beta/2) i^2 (1/j - 1/w) over w - j is (beta/2) i^2/(j w), which tends to beta/2 for long words.
    i, j, w = (Ratio.variable(name) for name in "ijw")
    value = i * i * 2 * (1 / j - 1 / w) / (w - j)
    assert lower(value, chain(["j", "w", "i"], [0, 1, 0])) == 2
    # With j > w the tie-break has the wrong sign, and no bound is found.
    assert lower(value * -1, chain(["w", "j", "i"], [0, 1, 0])) is None


def test_lines_and_what_is_no_rational_function() -> None:
    i, n = Ratio.variable("i"), Ratio.variable("n")
    found = line(3 * i - n * Fraction(1, 2) + 7)
    assert found is not None
    assert [found.constant, found.of_i, found.of_n] == [7, 3, Fraction(-1, 2)]
    assert line(i * n) is None
    assert line(1 / i) is None
    one = Classes().classes[-1]
    for text in ("2^i", "i^n", "1/(i-4)", "(-1)^(i/2)", "i^17"):
        with pytest.raises(NoRatio):
            ratio_of(parse_arith(text), one.sign, one.domain)
    with pytest.raises(NotProved, match="not recognised"):
        Classes().evaluate(parse_arith("2^(-n)"))
    model = compile_formula(parse_expression("a", ["a"]), ModelOptions()).model
    with pytest.raises(NotProved, match="positive"):
        Classes().inverse(replace(model, temperature=parse_arith("n-2")))


def test_predicates_are_booleans_and_those_of_numbers_are_decided() -> None:
    classes = Classes()
    assert set(classes.evaluate(PredicateColumn("PRIME", (), 1, 0, 0))) == {Free(PredicateColumn("PRIME", (), 1, 0, 0))}
    assert set(classes.evaluate(PredicateColumn("PRIME", (), 0, 0, 7))) == {1}
    # Two definitions with one text are not the same Boolean.
    own = [PredicateColumn("P", (), 1, 0, 0, text, lambda value, n: True) for text in ("k > 3", "k > 4")]
    assert classes.evaluate(own[0]) != classes.evaluate(own[1])
    assert classes.predicates[0] == "P(i), defined as k > 3"
