"""Tests of void error bounds: they are compared with a run of every word, position by position."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest

from hardsim.campaign.result import FirstFailure
from hardsim.measuring.bound import BoundOptions, bound_report, bound_subject
from hardsim.measuring.trace import trace_of
from hardsim.program.budget import Budget
from hardsim.targets.sharpness import OneNetwork
from tests.support.check import CheckOptions, ModelOptions, Subject, check_subject, read_expression, read_input
from tests.support.language import formulas_directory
from tests.support.subjects import compiled, with_network

MAX_N = 3
CASES = (
    ("tomita_3", "none", "4"),
    ("tomita_3", "temperature", "1"),
    ("Y Y a", "none", "4"),
    ("Y Y a", "none", "1/2"),
    ("Y (a S b)", "causal-temperature", "1/8"),
    ("a S (b S Y a)", "position", "1"),
    ("O (#L[Y a] > #L[b])", "temperature", "1"),
    ("O (#L[O a] >= 2)", "temperature", "3/2"),
    ("equal", "none", "3"),
)
"""Formulas, or names of shipped ones, with regimes and betas; some betas are too small."""


def made(text: str, regime: str, beta: str) -> Subject:
    shipped = formulas_directory() / f"{text}.ltl"
    given = read_input(str(shipped)) if shipped.exists() else read_expression(text, "a b")
    return given.compile(ModelOptions(regime=regime, beta=Fraction(beta)))


@cache
def voids(text: str, regime: str, beta: str, n: int) -> frozenset[str]:
    """Return the heads with a void bound at a length."""
    return frozenset(wrong_reads(made(text, regime, beta), n))


def wrong_reads(subject: Subject, n: int) -> set[str]:
    """Return the heads that read another value than hard attention on some word of a length.

    After rounding, a value is off either by 0 or by more than 10^-20.
    """
    found: set[str] = set()
    for word in product(subject.alphabet, repeat=n):
        traced = trace_of(subject, word)
        latest = {value.coordinate: max(value.error) > Fraction(1, 10**20) for value in traced.values}
        found |= {head.name for head in subject.program.heads if any(latest.get(name) for name in head.reads)}
    return found


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("text", "regime", "beta"), CASES)
def test_a_bound_is_void_where_a_head_reads_something_wrong(text: str, regime: str, beta: str) -> None:
    subject = made(text, regime, beta)
    checked = check_subject(subject, CheckOptions(max_n=MAX_N))
    bounds = bound_report(bound_subject(subject), CheckOptions(max_n=MAX_N, exhaustive=256), BoundOptions(search=False))
    for n in range(1, MAX_N + 1):
        expected = voids(text, regime, beta, n)
        for length in (checked.lengths[n - 1], bounds.lengths[n - 1]):
            heads: tuple[Any, ...] = length.heads
            assert {head.name for head in heads if head.void} == expected
            assert all((head.void_after is not None) == head.void for head in heads)
            # A bound that is not void is never exceeded.
            assert all(head.void or head.error <= head.bound for head in heads)
            assert length.void or length.error <= length.bound
    assert checked.failed_first == bounds.failed_first
    assert bounds.violation is None
    assert checked.violation is None


@pytest.mark.parametrize(
    ("text", "regime", "beta"),
    [*CASES[:2], ("weak_yesterday", "temperature", "7/10"), ("weak_yesterday", "none", "7/5")],
)
def test_the_head_that_failed_first(text: str, regime: str, beta: str) -> None:
    """The head that failed first belongs to the shortest length with a void bound, to the first layer with a wrong
    clip, and to a word that shows the failure.
    """
    subject = made(text, regime, beta)
    first = check_subject(subject, CheckOptions(max_n=MAX_N)).failed_first
    assert first is not None
    shortest = next(n for n in range(1, MAX_N + 1) if voids(text, regime, beta, n))
    assert len(first.word) == first.n == shortest
    wrong = [value.layer for value in trace_of(subject, first.word).values if value.margin and max(value.error) > 0]
    assert min(wrong) == first.layer
    head = next(head for head in trace_of(subject, first.word).heads if head.name == first.head)
    # A clip rounds errors of up to 1/4 away.
    assert max(read.error or 0 for read in head.reads) > Fraction(1, 4)


def test_every_bound_is_in_force_where_every_head_is_sharp() -> None:
    subject = made("tomita_3", "temperature", "4")
    for engine in ("auto", "float64", "ball", "mpmath"):
        result = check_subject(subject, CheckOptions(max_n=3, engine=engine))
        assert result.failed_first is None
        assert not any(head.void for length in result.lengths for head in length.heads)


@pytest.mark.parametrize("engine", ["float64", "ball", "mpmath"])
def test_every_arithmetic_finds_the_same(engine: str) -> None:
    subject = made("tomita_3", "none", "4")
    usual = check_subject(subject, CheckOptions(max_n=3))
    other = check_subject(subject, CheckOptions(max_n=3, engine=engine))

    def void(result: Any) -> list[tuple[bool, str | None]]:
        return [(head.void, head.void_after) for length in result.lengths for head in length.heads]

    assert void(other) == void(usual)
    assert isinstance(usual.failed_first, FirstFailure)
    assert other.failed_first == usual.failed_first


def test_a_bound_in_force_that_is_exceeded_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "error_bound", lambda self, head, n, context: context.mpf(0))
    subject = made("tomita_3", "temperature", "4")
    result = check_subject(subject, CheckOptions(max_n=3))
    assert result.violation is not None
    # No head attends at a single position; S13 reads Booleans that are right, as all are at this beta.
    assert (result.violation.what, result.violation.n) == ("the error bound of head S13.read", 2)
    assert result.own is True
    assert subject.own


def test_a_network_that_is_not_what_its_specification_makes_has_no_bound() -> None:
    subject = made("tomita_3", "temperature", "4")
    other = with_network(subject, made("tomita_3", "temperature", "1").model)
    assert not other.own
    result = check_subject(other, CheckOptions(max_n=3))
    assert all(head.void for length in result.lengths for head in length.heads)
    assert (result.violation, result.failed_first, result.own) == (None, None, False)


@pytest.mark.parametrize("name", ["margin", "output", "unrounded"])
def test_a_head_may_have_the_name_of_another_number(name: str) -> None:
    subject = compiled("a S b", beta=Fraction(12), letters="abc")
    layer = subject.program.layers[0]
    renamed = replace(layer, heads=tuple(replace(head, name=name) for head in layer.heads))
    program = replace(subject.program, layers=(renamed,))
    other = replace(subject, program=program, sharpness=OneNetwork.of(program, subject.budget))
    one, two = (check_subject(each, CheckOptions(max_n=3)).lengths for each in (subject, other))
    assert [row.heads[0].name for row in two] == [name] * 3
    assert [row.heads[0].error for row in two] == [row.heads[0].error for row in one]
