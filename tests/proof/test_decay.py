"""Every length of programs: what the functions bound is held against the recursion at many lengths, and against the
soft network on words; temperatures at which there is no argument are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import exp
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.checking.prove import confirmed, prove_every_length
from hardsim.checking.result import Verdict
from hardsim.checking.subject import Subject
from hardsim.lang.arith import parse_arith
from hardsim.program.model import Affine
from hardsim.proof.decay import DecayClaim, above, argue, below
from hardsim.proof.program import law_of, number
from hardsim.proof.ratios import Ratio, Value
from hardsim.sharpening.recursion import error_bounds
from tests.subjects import FORMULAS, known, program_of, shipped

QUICK = ("dyck2", "sort", "ab_plus", "parity", "flipflop")
PROGRAMS = [
    pytest.param(path.name, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted(FORMULAS.glob("*.srasp"))
]
program = cache(shipped)
"""What is known of a program is found once."""
LENGTH = Ratio.variable("n")
FUNCTIONS: list[Value] = [
    Fraction(3, 4), 1 / LENGTH, (LENGTH - 1) / LENGTH, LENGTH * LENGTH / (LENGTH + 1), 1 / (8 * LENGTH * LENGTH),
    (LENGTH - 2) / LENGTH, Fraction(-1), 1 - LENGTH,
]  # fmt: skip


@pytest.mark.parametrize("value", FUNCTIONS)
def test_functions_of_the_length_lie_between_powers_of_it(value: Value) -> None:
    factor, power = above(value)
    lowest = below(value)
    for n in range(2, 40):
        assert number(value, 0, n) <= factor * n**power
        if lowest is not None:
            assert number(value, 0, n) >= lowest[0] / n ** lowest[1] > 0
    assert (lowest is None) == (min(number(value, 0, n) for n in range(2, 40)) <= 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_shipped_program_is_proved_for_every_length(name: str) -> None:
    argument = program(name).argument
    assert argument.proved, argument.reason
    for check in argument.checks:
        # by hand: the left side at the start, and that it falls from there on
        start = known(argument.start)
        value = float(check.factor) * start**check.power * exp(-float(check.rate) * start)
        assert value <= float(check.value) * (1 + 1e-9) <= float(check.limit) * (1 + 1e-9)
        assert check.rate * start >= check.power


@pytest.mark.parametrize(
    "name", ["dyck2.srasp", "ab_plus.srasp", pytest.param("map_duplicate.srasp", marks=pytest.mark.slow)]
)
def test_the_functions_bound_what_the_recursion_finds(name: str) -> None:
    """At each length from the start on, after each layer."""
    subject = program(name)
    argument = subject.argument
    tau, law = parse_arith(known(argument.temperature)), law_of(subject.program)
    start = known(argument.start)
    for n in (start, start + 1, start + 5, 30):
        facts = law.facts(n)
        gaps = {head: found.gaps for head, found in facts.heads.items()}
        inverse = [1 / tau.evaluate(n=n)] * (n + 1)
        bounds = error_bounds(subject.program, facts, inverse, gaps)
        for layer, found in zip(argument.layers, bounds.layers, strict=True):
            limit = 0.0
            if layer.rate is not None:
                limit = float(layer.factor) * n**layer.power * exp(-float(layer.rate) * n)
            assert float(max(found.final.values())) <= limit * (1 + 1e-9)
        assert all(bounds.layers[-1].final[out] == 0 for out in subject.program.answers)


def claim_of(subject: Subject) -> DecayClaim:
    def lengths(end: int) -> Sequence[int]:
        return range(1, end)

    return DecayClaim(subject.program, law_of(subject.program), subject.exact, lengths)


@pytest.mark.parametrize(
    ("tau", "reason"),
    [
        ("1", "the gap"),  # gap/tau falls
        ("1/n", "the gap"),
        ("1/(n^3)", "the gap"),  # it is constant
        ("1/(n+i)", "no rational function of n alone"),
        ("-1/n^4", "not known to be positive"),
        ("(n-1)/n^6/64", "not known to be positive"),  # it is 0 at length 1
        ("(-1)^n/n^4", "no rational function of n alone"),
        ("1/log(n)", "log(n) is not known to be positive"),  # nor is it, at length 1
        ("exp(-n)/n^4", "no rational function of n alone"),  # no positive one is below it
        ("1/(7*n^4*log(3))", "at length 2"),  # 7 log 3 < 8
        ("1/(8*n^4)", "at length 2"),  # by the recursion; the least of the grid is 12
    ],
)
def test_temperatures_without_an_argument(tau: str, reason: str) -> None:
    argument = argue(claim_of(program("dyck2.srasp")), parse_arith(tau))
    assert not argument.proved
    assert reason in known(argument.reason)


@pytest.mark.parametrize("tau", ["1/(16*n^4)", "1/(32*n^4+n)", "1/(100*n^5)", "1/(n+1)^6", "1/(16*n^4*log(n+2))",
                                 "exp(-3)/n^4", "1/(8*n^4*sqrt(n))", "1/(64*n^3*log(n+1))", "1/(64*n^3*log(2*n^2))",
                                 "1/(64*n^3*(log(n+5)-1/9))"])  # fmt: skip
def test_temperatures_with_one(tau: str) -> None:
    assert argue(claim_of(program("dyck2.srasp")), parse_arith(tau)).proved


def test_a_program_without_scores_is_exact_at_every_temperature() -> None:
    argument = shipped("dyck1_uniform.ahat.json").argument
    assert argument.proved
    assert argument.temperature == "1"


def test_the_proof_for_every_length_is_confirmed_by_words() -> None:
    result = prove_every_length(program("parity.srasp"), 8)
    assert result.every_length
    assert result.reach.startswith("every word of every length: softmax answers as hard attention does")
    found = confirmed(result)
    assert found.verdict is Verdict.PROVED
    assert known(found.confirmed).words > 0


def test_an_integer_that_may_leave_its_range_has_no_proof(tmp_path: Path) -> None:
    text = "alphabet: a b\ns(i) := psum_j[j<=i] (Q_a(j) ? 2 : 0)\nY(i) := s(i) > 1\n"
    result = prove_every_length(program_of(tmp_path, text), 8)
    assert result.verdict is Verdict.UNDECIDED
    assert "its integers may leave their range" in result.reach


def test_a_weaker_gap_needs_a_lower_temperature() -> None:
    """A tie-break that is ten times weaker: the argument at the old temperature fails, and another is found."""
    subject = program("ab_plus.srasp")
    old = known(subject.argument.temperature)
    layers, tenth = [], Fraction(1, 10)
    for layer in subject.program.layers:
        heads = []
        for head in layer.heads:
            score = [
                (query, Affine.of([(name, value * (tenth if name == "i/n" else 1)) for name, value in key.terms]))
                for query, key in head.score
            ]
            heads.append(replace(head, score=tuple(score)))
        layers.append(replace(layer, heads=tuple(heads)))
    weaker = replace(subject, program=replace(subject.program, layers=tuple(layers)))
    assert not argue(claim_of(weaker), parse_arith(old)).proved
    found = argue(claim_of(weaker))
    assert found.proved
    at = [1 / parse_arith(tau).evaluate(n=10) for tau in (old, known(found.temperature))]
    assert at[1] > 2 * at[0]


@given(st.fractions(Fraction(1, 8), 8, max_denominator=8), st.integers(0, 6), st.integers(2, 12))
def test_a_function_of_that_form_falls_from_power_over_rate_on(rate: Fraction, power: int, start: int) -> None:
    if rate * start >= power:
        values = [n**power * exp(-float(rate) * n) for n in range(start, start + 30)]
        assert all(one >= other for one, other in pairwise(values))


def test_a_hidden_unit_may_write_several_coordinates() -> None:
    found = program("dyck1.srasp").program
    layers = [
        replace(layer, units=tuple(replace(unit, outs=(*unit.outs, ("C", 1))) for unit in layer.units))
        for layer in found.layers
    ]
    changed = replace(found, coordinates=(*found.coordinates, "C"), layers=tuple(layers))
    claim = DecayClaim(changed, law_of(changed), exact=False, lengths=lambda end: list(range(1, end)))
    argument = argue(claim)
    assert argument.proved, argument.reason
    assert "the clip of low (2) and C in layer 3" in [check.what for check in argument.checks]


def test_a_program_without_layers_has_no_error(tmp_path: Path) -> None:
    argument = program_of(tmp_path, "alphabet: a b\npad: len + 1\nY(i) := in(i)\n").argument
    assert (argument.proved, argument.temperature, argument.layers) == (True, "1", ())
