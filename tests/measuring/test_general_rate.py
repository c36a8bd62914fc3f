"""Tests of the theorem's temperature in closed form."""

import pickle
from fractions import Fraction

import pytest

from hardsim.measuring.general_rate import function_text, general_rate
from hardsim.proof.programs.every_length import PowerBound
from hardsim.proof.programs.law import ProgramLaw
from tests.support.language import parse_arith
from tests.support.subjects import compiled, known, shipped


@pytest.mark.parametrize(
    ("factor", "power", "text"),
    [(1, 0, "1"), ("3/4", 0, "3/4"), (1, -1, "1/n"), ("1/4", -1, "1/(4*n)"), ("3/8", -2, "3/(8*n^2)"), (2, -3, "2/n^3"),
     (1, 1, "n"), ("5/2", 2, "5/2*n^2"), (0, 3, "0")],
)  # fmt: skip
def test_a_bound_is_written_as_an_expression(factor: int | str, power: int, text: str) -> None:
    assert function_text(PowerBound(Fraction(factor), power)) == text
    assert parse_arith(text).evaluate(n=3) == Fraction(factor) * Fraction(3) ** power


@pytest.mark.parametrize("name", ["dyck1.srasp", "ties.ahat.json", "flipflop.srasp"])
def test_the_gap_is_at_most_every_gap_of_every_row(name: str) -> None:
    subject = shipped(name)
    found, law = known(general_rate(subject)), subject.law
    assert isinstance(law, ProgramLaw)
    for n in (2, 3, 5, 12):
        gaps = [gap for head in law.facts(n).heads.values() for gap in head.gaps if gap is not None]
        assert 0 < parse_arith(known(found.gap)).evaluate(n=n) <= min(gaps)
        assert law.facts(n).largest <= parse_arith(known(found.size)).evaluate(n=n)


def test_a_subject_can_be_sent_to_another_process_afterwards() -> None:
    subject = shipped("flipflop.ahat.json")
    assert known(general_rate(subject)).proved == subject.argument.temperature
    assert pickle.loads(pickle.dumps(subject)).argument == subject.argument


def test_what_has_a_regime_has_rates_of_its_own() -> None:
    assert general_rate(compiled("O a")) is None
