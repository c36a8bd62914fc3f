"""Proofs of programs for every length: the bounding functions are compared with the recursion at many lengths and with
the soft network on words; temperatures without an argument are refused.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import exp, log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.proof.programs.every_length import GRID, DecayClaim, Fading, above, argue, below
from hardsim.proof.programs.law import number
from hardsim.proof.shared.ratios import Ratio, Value
from hardsim.proving.prove import confirmed, prove_every_length
from hardsim.sharpening.theorem26 import error_bounds
from tests.support.check import NotProved, Subject, Verdict, law_of
from tests.support.language import parse_arith
from tests.support.model import Affine, Encoding, Head, Letter, Mask, Program, ProgramLayer, Weighting
from tests.support.subjects import FORMULAS, known, program_of, shipped, tau_of

QUICK = ("dyck2", "sort", "ab_plus", "parity", "flipflop")
PROGRAMS = [
    pytest.param(path.name, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted(FORMULAS.glob("*.srasp"))
]
program = cache(shipped)
"""Return a shipped program; its law is derived once."""
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
        # by hand: the left side at the start, and its decrease from there on
        start = known(argument.start)
        value = float(check.factor) * float(start) ** check.power * exp(-float(check.rate) * start)
        assert value <= float(check.value) * (1 + 1e-9) <= float(check.limit) * (1 + 1e-9)
        assert check.rate * start >= check.power


def two_tied_layers() -> Program:
    """Return a program of two layers of ties. A mean over the tied a and b decides which letter the next head reads;
    that head ties again: a letter is at odd positions more often than not. Its gap is 1/(4n), and its scores have
    errors.
    """
    one, letters = (
        Affine.constant(1),
        [Letter("a", frozenset("a")), Letter("b", frozenset("b")), Letter("ab", frozenset("ab"))],
    )
    encodings = {"odd": "[i mod 2 = 1]", "y": "1/(4*n)-1/2", "out": "-1/(4*n)"}
    share = Head("share", Mask.NONE, Weighting.AVERAGE, (("y", Affine.coordinate("a")),),
                 ((one, Affine.coordinate("ab")),))  # fmt: skip
    read = Head("read", Mask.NONE, Weighting.AVERAGE, (("out", Affine.coordinate("odd")),),
                ((Affine.coordinate("y"), Affine.of({"a": 1, "b": -1})),))  # fmt: skip
    return Program(
        alphabet=("a", "b", "c"),
        letters=tuple(letters),
        encodings=tuple(Encoding(name, parse_arith(text)) for name, text in encodings.items()),
        layers=(ProgramLayer((share,)), ProgramLayer((read,))),
        output="out",
        coordinates=("1", "a", "b", "ab", "odd", "y", "out"),
        threshold=Fraction(1, 2),
    )


def latest_or_b() -> Program:
    """Return a program whose head at an a reads the latest position, by the score 1 - 1/(j + 1); the neighbouring
    score is 1/(i (i + 1)) lower. At other letters it reads the mean over all b, whose scores are 1/20 above the
    others.
    """
    score = (
        (Affine.coordinate("a"), Affine.coordinate("late")),
        (Affine.of({"b": Fraction(1, 20)}), Affine.coordinate("b")),
    )
    head = Head("head", Mask.FUTURE, Weighting.AVERAGE, (("out", Affine.coordinate("b")),), score)
    return Program(
        alphabet=("a", "b"),
        letters=(Letter("a", frozenset("a")), Letter("b", frozenset("b"))),
        encodings=(Encoding("late", parse_arith("1-1/(i+1)")), Encoding("out", parse_arith("-1/(4*n)"))),
        layers=(ProgramLayer((head,)),),
        output="out",
        coordinates=("1", "a", "b", "late", "out"),
        threshold=Fraction(1, 2),
    )


def claim_of(subject: Subject) -> DecayClaim:
    def lengths(end: int) -> Sequence[int]:
        return range(1, end)

    return DecayClaim(subject.program, law_of(subject.program), subject.exact, lengths)


def claimed(program: Program) -> DecayClaim:
    """Return the claim that softmax answers as the given program does."""
    return DecayClaim(program, law_of(program), exact=False, lengths=lambda end: list(range(1, end)))


BOUNDED = [
    ("dyck2.srasp", None), ("ab_plus.srasp", None), pytest.param("map_duplicate.srasp", None, marks=pytest.mark.slow),
    ("dyck2.srasp", "1/(64*n^3*log(n+1))"), ("majority_ties.ahat.json", "1/(3*log(n+1))"),
    ("ties.ahat.json", "1/(7/2*log(2*n))"), ("two tied layers", None), ("two tied layers", "1/(16*n*log(n+1))"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "temperature"), BOUNDED)
def test_the_functions_bound_what_the_recursion_finds(name: str, temperature: str | None) -> None:
    """At each length from the start on, after each layer."""
    claim = claimed(two_tied_layers()) if name == "two tied layers" else claim_of(program(name))
    argument = argue(claim, None if temperature is None else parse_arith(temperature))
    tau, start, exact = tau_of(argument), known(argument.start), True
    for n in (start, start + 1, start + 5, 30, 200)[: 5 if name.endswith("json") else 4]:
        facts = claim.law.facts(n)
        gaps = {head: found.gaps for head, found in facts.heads.items()}
        inverse = [1 / tau.real(n=n)] * (n + 1 - claim.program.first)
        bounds = error_bounds(claim.program, facts, inverse, gaps)
        for layer, found in zip(argument.layers, bounds.layers, strict=True):
            limit = 0.0
            if layer.rate is not None:
                limit = float(layer.factor) * float(n) ** layer.power * exp(-float(layer.rate) * n)
            assert float(max(found.final.values())) <= limit * (1 + 1e-9)
        off = max(bounds.layers[-1].final[out] for out in claim.program.answers)
        exact = exact and off == 0
        assert not off or off < known(facts.distance)
    assert exact == (name not in ("majority_ties.ahat.json", "two tied layers"))


@pytest.mark.parametrize(
    ("tau", "reason"),
    [
        ("1", "the gap"),  # gap/tau falls
        ("1/n", "the gap"),
        ("1/(n^3)", "the gap"),  # gap/tau is constant
        ("1/(n+i)", "not a function of n alone"),
        ("-1/n^4", "not known to be positive"),
        ("(n-1)/n^6/64", "not known to be positive"),  # tau is 0 at length 1
        ("(-1)^n/n^4", "has no bounds at every length"),
        ("1/log(n)", "log(n) is not known to be positive"),  # log(n) is 0 at length 1
        ("exp(-n)/n^4", "has no bounds at every length"),  # no positive bound is below it
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
    """With a tie-break ten times weaker the argument at the old temperature fails, and another one is found."""
    subject = program("ab_plus.srasp")
    old = tau_of(subject.argument)
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
    assert not argue(claim_of(weaker), old).proved
    found = argue(claim_of(weaker))
    assert found.proved
    at = [1 / tau.evaluate(n=10) for tau in (old, tau_of(found))]
    assert at[1] > 2 * at[0]


@pytest.mark.parametrize(("name", "constant", "k"), [
    ("majority_ties.ahat.json", "5/4", 1), ("ties.ahat.json", "1", 1), ("two tied layers", "6", 2),
    ("dyck2.srasp", "12", 4), ("sort.srasp", "6", 4),
])  # fmt: skip
def test_the_constant_is_the_least_of_the_grid(name: str, constant: str, k: int) -> None:
    claim = claimed(two_tied_layers()) if name == "two tied layers" else claim_of(program(name))
    found, least = argue(claim), Fraction(constant)
    assert 1 / tau_of(found).evaluate(n=7) == least * 7**k
    assert found.temperature in (f"1/({constant}*n{f'^{k}' if k > 1 else ''})", "1/n")
    for less in GRID[: GRID.index(least)]:
        assert not argue(claim, parse_arith(f"1/({less}*n^{k})")).proved
    assert list(GRID[:12]) == [1, Fraction(5, 4), Fraction(3, 2), Fraction(7, 4), 2, 3, 4, 6, 8, 12, 16, 24]
    assert 2**47 in GRID


@pytest.mark.parametrize(("name", "tau", "reason"), [
    ("majority_ties.ahat.json", "1/(2*log(n+1))", "the error of the output"),  # both are of order 1/n
    ("majority_ties.ahat.json", "1/log(n+1)", "the error of the output"),  # everything leaks
    ("majority_ties.ahat.json", "1/(3*log(3))", "does not grow"),
    ("two tied layers", "1/(9*log(n+1))", "the gap (1/4)/(n)"),
    ("two tied layers", "1/(7*n*log(n+1))", "the error of the output"),
    ("dyck2.srasp", "1/(16*n^3*log(n+1))", "at length 3"),
])  # fmt: skip
def test_logarithms_that_do_not_do(name: str, tau: str, reason: str) -> None:
    claim = claimed(two_tied_layers()) if name == "two tied layers" else claim_of(program(name))
    argument = argue(claim, parse_arith(tau))
    assert not argument.proved
    assert reason in known(argument.reason)


@pytest.mark.parametrize(("tau", "gaps"), [("1/(4*n^3)", 2), ("1/(80*n^2*log(n+1))", 1)])
def test_the_least_of_the_functions_shown_is_a_gap(tau: str, gaps: int) -> None:
    """A constant may be the worst row of all lengths by its rate, and another row may have the smaller gap: both
    count.
    """
    argument = argue(claimed(latest_or_b()), parse_arith(tau))
    assert argument.proved
    (head,) = argument.heads
    assert len(head.gap) == gaps
    for n in (5, 9, 40):
        shown = min(parse_arith(text).evaluate(n=n) for text in head.gap)
        assert shown <= min(Fraction(1, 20), Fraction(1, n * (n + 1)))


FADINGS = st.builds(Fading, st.integers(-6, 6), st.just(Fraction(0)) | st.fractions(0, 8, max_denominator=8))


@given(FADINGS, st.integers(2, 12))
def test_what_falls_does_so_from_there_on(fading: Fading, start: int) -> None:
    values = [float(n) ** fading.power * exp(-float(fading.rate) * n) for n in range(start, start + 30)]
    assert values[0] <= float(fading.at(start)) * (1 + 1e-9) <= values[0] * (1 + 1e-8)
    if fading.falls(start):
        assert all(one >= other * (1 - 1e-9) for one, other in pairwise(values))


@given(st.lists(FADINGS, min_size=1, max_size=4), st.integers(2, 20))
def test_the_slowest_is_a_bound_of_all(some: list[Fading], start: int) -> None:
    """At many lengths, in floats: each is at most its share of the slowest, unless no share is known."""
    slow = known(Fading.slowest(some))
    for one in some:
        try:
            share = float(one.over(slow, start))
        except NotProved:
            assert one.power > slow.power  # it still rises at the start, relative to the slowest
            continue
        for n in (start, start + 1, start + 2, 3 * start, 100):
            left = one.power * log(n) - float(one.rate) * n
            right = slow.power * log(n) - float(slow.rate) * n
            assert left <= right + log(share) + 1e-9


def test_a_hidden_unit_may_write_several_coordinates() -> None:
    found = program("dyck1.srasp").program
    layers = [
        replace(layer, units=tuple(replace(unit, outs=(*unit.outs, ("C", 1))) for unit in layer.units))
        for layer in found.layers
    ]
    changed = replace(found, coordinates=(*found.coordinates, "C"), layers=tuple(layers))
    argument = argue(claimed(changed))
    assert argument.proved, argument.reason
    assert "the clip of low (2) and C in layer 3" in [check.what for check in argument.checks]


def test_a_program_without_layers_has_no_error(tmp_path: Path) -> None:
    argument = program_of(tmp_path, "alphabet: a b\npad: len + 1\nY(i) := in(i)\n").argument
    assert (argument.proved, argument.temperature, argument.layers) == (True, "1", ())
