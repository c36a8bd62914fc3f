"""Tests of schedules with log, sqrt and exp: checks, proofs, reports, brackets, files, and refusals."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardsim
from hardsim.campaign.evaluate import compiled_text
from hardsim.lang.reals import Real, bounds
from hardsim.measuring.bound import BoundOptions, bound_report, bound_subject
from hardsim.measuring.critical import WIDTH, critical
from hardsim.program.budget import Budget
from hardsim.sharpening.theorem26 import row_distance
from hardsim.theory.lemmas import attended_error
from hardsim.theory.perturbation import weight_distance
from tests.measuring.test_critical import derived, holds
from tests.support.attention_models import critical as critical_temperature
from tests.support.attention_models import majority, some_a
from tests.support.check import CheckOptions, ModelOptions, Subject, Verdict, check_subject, prove_attention, read_input
from tests.support.language import InputError, parse_arith
from tests.support.mistakes import raised
from tests.support.reals import context, mp_value
from tests.support.subjects import FORMULAS, at_temperature, compiled, known, shipped, subject_of

LOG = "1/(4*n*log(n+1))"
CUBIC = "1/(64*n^3*log(n+1))"


def check(subject: Subject, max_n: int, engine: str = "auto") -> Any:
    return check_subject(subject, CheckOptions(max_n=max_n, engine=engine))


@pytest.mark.parametrize("engine", ["auto", "ball"])
def test_formulas_are_certified_and_refuted(engine: str) -> None:
    assert check(compiled("a S b", letters="abc", tau=parse_arith(LOG)), 4, engine).verdict is Verdict.CERTIFIED
    # The logits fall by beta log(n + 1)/200 a position: all weights are nearly equal.
    hot = check(compiled("a S b", letters="abc", tau=parse_arith("100/(n*log(n+1))")), 4, engine)
    assert hot.verdict is Verdict.REFUTED


def test_programs_are_certified_and_proved() -> None:
    """The temperature lies between the rationals that the report gives."""
    program = replace(at_temperature(shipped("flipflop.srasp"), CUBIC), examples=())
    result = check(program, 2)
    assert result.verdict is Verdict.CERTIFIED
    for length in result.lengths:
        low, high = length.temperature.least, length.temperature.largest
        assert mp_value(low) < mp_value(parse_arith(CUBIC).real(n=length.n)) < mp_value(high)
        assert high / low < 1 + Fraction(1, 2**80)
    proof = prove_attention(program, 4)
    assert proof.verdict is Verdict.PROVED
    for one in proof.lengths:
        assert one.proved_by == "structure"
        # A rational just below the temperature.
        tau, low = mp_value(parse_arith(CUBIC).real(n=one.n)), known(one.temperature)
        assert mp_value(low) < tau < mp_value(low) * (1 + context.mpf(2) ** -80)
    assert prove_attention(at_temperature(program, "1/log(n+1)"), 2).verdict is not Verdict.PROVED


@pytest.mark.slow
def test_brackets_of_a_schedule_with_a_logarithm() -> None:
    """For `a S b` the logits fall by beta log(n + 1)/2 nats a position.

    At length 2 beta = 2 is on the threshold itself: the share of the wrong position is 1/4, which neither end can
    decide.
    """
    result = critical(compiled("a S b", letters="abc", tau=parse_arith("1/(n*log(n+1))")), 3)
    for row in result.lengths[1:3]:
        assert row.closed == (row.n != 2)
        assert holds(row, derived(known(row.n), 0.5 * log(known(row.n) + 1)))
    assert (result.lengths[1].wrong_at, result.lengths[1].right_at) == (2 - WIDTH, 2 + WIDTH)
    # log(n + 1) >= 1.098 from n = 2 on, and the closed form needs e^-g <= 1/4 at g = beta 1.098/2.
    assert float(known(result.every_length.right_at)) == pytest.approx(2 * log(4) / 1.098, abs=2e-3)
    assert 2 - WIDTH <= known(result.every_length.wrong_at) < 2


def test_brackets_of_models_and_programs(tmp_path: Path) -> None:
    """The model of some a is right below a known temperature T, so at the schedule over beta from 1/(log(n + 1) T)
    on.
    """
    result = critical(at_temperature(subject_of(tmp_path, some_a()), "1/log(n+1)"), 4)
    assert [row.n for row in result.lengths] == [1, 2, 3, 4]
    for row in result.lengths[1:]:
        n = known(row.n)
        truth = 1 / (critical_temperature(n) * log(n + 1))
        assert holds(row, truth), (row, truth)
        assert row.exhaustive
        assert known(row.word).count("a") == 1
    assert result.proved
    assert result.every_length.right_at is None
    assert "each length is treated by itself" in known(result.reason)
    assert result.beta_used == 1
    assert result.schedule == "1/log(n+1)"


def test_the_temperature_of_a_program_is_its_own_or_there_is_none(tmp_path: Path) -> None:
    subject = read_input(str(FORMULAS / "flipflop.ahat.json")).compile(ModelOptions())
    own = critical(subject, 3)
    assert own.schedule == subject.argument.temperature == subject.facts.temperature
    assert own.lengths == critical(at_temperature(subject, known(own.schedule)), 3).lengths
    # Its own temperature is proved to be right: at beta 1.
    assert all(known(row.right_at) <= 1 for row in own.lengths)
    assert critical(at_temperature(subject, epsilon=Fraction(1, 100)), 1).schedule == own.schedule
    error = raised(InputError, critical, subject_of(tmp_path, majority()), 3)
    assert "it has none of its own: the output found may be exactly the threshold 1/2" in error.message
    assert "--tau" in (error.hint or "")


def test_reports_speak_of_multiples_of_the_schedule() -> None:
    subject = compiled("a S b", letters="abc", tau=parse_arith("1/(n*log(n+1))"))
    result = bound_report(bound_subject(subject), CheckOptions(max_n=3), BoundOptions())
    assert result.verdict is Verdict.CERTIFIED
    assert result.schedule == "1/(n*log(n+1))"
    assert {length.temperature for length in result.lengths} == {1 / known(subject.facts.beta)}
    for length in result.lengths[1:]:
        # Theorem 26's temperature over the schedule, rounded down.
        assert known(length.right) >= known(length.theorem)
        assert 1 / known(length.wrong) <= known(length.n) * 64


def test_what_theory_allows_is_at_a_rate_below_the_true_one() -> None:
    subject = compiled("a S b", tau=parse_arith("1/(n*log(n+1))"))
    budget, (head,) = subject.budget, subject.program.heads
    assert isinstance(budget, Budget)
    rate = known(budget.rate(head, 3, 5))
    true = 2 * mp_value(parse_arith("log(6)").real())  # beta = 4, times 1/(2n), over 1/(n log 6)
    assert mp_value(rate) < true < mp_value(rate) * (1 + context.mpf(2) ** -80)
    x = context.exp(-true)
    assert attended_error(rate, context) >= 2 * x / (1 + x)


FRACTIONS = st.fractions(Fraction(1, 50), 3)


@given(FRACTIONS, st.fractions(0, Fraction(1, 10)), st.integers(1, 3), st.integers(0, 4), st.integers(1, 30))
def test_the_distance_of_weights_at_an_enclosed_temperature(
    gap: Fraction, eta: Fraction, maxima: int, others: int, n: int
) -> None:
    """The bound is at least the distance at both ends of the enclosure, and hardly more."""
    inverse, size = parse_arith("4*log(n+1)").real(n=n), maxima + others
    assert isinstance(inverse, Real)
    found = row_distance(size, maxima, maxima, gap if others else None, inverse, eta)
    low, high = bounds(inverse)
    at_ends = [row_distance(size, maxima, maxima, gap if others else None, end, eta) for end in (low, high)]
    assert max(at_ends) <= found <= max(at_ends) * (1 + Fraction(1, 2**60))


def test_the_coldest_temperature_counts_for_what_is_shared() -> None:
    """Two maxima off by eta give 2 tanh(eta/(2 tau)), which grows as tau falls; the rest falls."""
    wide = weight_distance(3, 2, Fraction(1), Fraction(1, 10), Fraction(1, 2), Fraction(1, 4))
    first = weight_distance(3, 2, Fraction(1), Fraction(1, 10), Fraction(1, 2))
    second = weight_distance(2, 2, None, Fraction(1, 10), Fraction(1, 4))
    assert wide == first - weight_distance(2, 2, None, Fraction(1, 10), Fraction(1, 2)) + second
    raised(InputError, weight_distance, 3, 2, Fraction(1), Fraction(0), Fraction(1, 2), Fraction(0))


# ---- files ----


def stored(directory: Path, subject: Subject, name: str = "model.json", **changes: Any) -> Path:
    """Write the compiled file of a subject, with some members replaced."""
    path = directory / name
    path.write_text(json.dumps({**json.loads(compiled_text(subject, False, 3)), **changes}), encoding="utf-8")
    return path


def opened(path: Path) -> Subject:
    return read_input(str(path)).compile(ModelOptions())


@pytest.mark.parametrize("text", ["1/(4*n*log(n+1))", "sqrt(2)/(8*n)", "exp(-1)/n/4"])
def test_files_keep_the_text(tmp_path: Path, text: str) -> None:
    subject = compiled("a S b", letters="abc", tau=parse_arith(text))
    again = opened(stored(tmp_path, subject))
    assert again.model == subject.model
    assert str(again.model.temperature) == text
    assert check(again, 3).verdict is Verdict.CERTIFIED
    program = at_temperature(shipped("flipflop.srasp"), CUBIC)
    other = opened(stored(tmp_path, program, "program.ahat.json"))
    assert str(other.schedule) == CUBIC
    assert check(other, 2).verdict is Verdict.CERTIFIED


def with_encoding(path: Path, value: str) -> Path:
    """Replace the encoding i/n in the network of a file by another expression."""
    document = json.loads(path.read_text(encoding="utf-8"))
    (place,) = [one for one in document["model"]["encodings"] if one["value"] == "i/n"]
    place["value"] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_the_encodings_of_a_network_need_not_be_rational(tmp_path: Path) -> None:
    """log(1 + i/n) grows with i as i/n does, by at least 1/(2n) a position: at twice beta it is as sharp."""
    path = with_encoding(stored(tmp_path, compiled("a S b", letters="abc", beta=Fraction(8))), "log(1+i/n)")
    subject = opened(path)
    assert not subject.specified
    assert check(subject, 4).verdict is Verdict.CERTIFIED
    flat = opened(with_encoding(stored(tmp_path, compiled("a S b", letters="abc")), "log(1+i/n^4)"))
    assert check(flat, 4).verdict is Verdict.REFUTED


def test_hard_attention_refuses_them_by_name(tmp_path: Path) -> None:
    document = json.loads(compiled_text(shipped("flipflop.srasp"), True, 2))
    document["program"]["encodings"][0]["value"] = "log(n+1)"
    path = tmp_path / "hard.ahat.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    error = raised(InputError, read_input, str(path))
    assert "encodings[0]" in error.message
    assert "log makes this value irrational, and an exact number is needed here, at n = 1" in error.message
    soft = some_a()
    soft["encodings"] = [{"coordinate": soft["coordinates"][0], "value": "sqrt(i+1)"}]
    path.write_text(json.dumps(soft), encoding="utf-8")
    assert "sqrt makes this value irrational" in raised(InputError, read_input, str(path)).message


def test_the_words_are_all_answered_alike_in_every_engine() -> None:
    subject = compiled("Y a | b", tau=parse_arith("exp(-1)/(n*sqrt(2))"))
    words = [tuple(word) for n in range(1, 4) for word in product("ab", repeat=n)]
    results = [check(subject, 3, engine) for engine in ("auto", "float64", "ball", "mpmath")]
    assert [result.verdict for result in results] == [Verdict.CERTIFIED] * 3 + [Verdict.OBSERVED]
    assert all(sum(length.words for length in result.lengths) == len(words) for result in results)


NETWORK = {
    "format": "hardsim-network",
    "schema_version": 1,
    "tokens": ["<bos>", "1", "0"],
    "embedding": [[0, 0], [1, 0], [-1, 0]],
    "positions": [{"coordinate": 1, "value": "-1/(sqrt(5)*n + exp(1))"}],
    "layers": [
        {"heads": [{"name": "balance", "mask": "none", "scale": "1", "w_q": [[1], [1]], "w_k": [[0], [1]],
                    "w_v": [[1], [0]], "w_o": [[0, 1]]}]}
    ],
    "unembedding": [[0], [1]],
    "outputs": ["more_1"],
    "input": "<bos> *",
    "at": "last",
    "decide": "above 0",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["auto", "ball"])
def test_encodings_of_external_networks(tmp_path: Path, engine: str) -> None:
    """The mean of 1s and -1s is at least 1/(n + 1), or at most 0; 1/(sqrt(5) n + e), which lies between, is
    subtracted.

    Each key has the same product with a query, so that the head computes the mean.
    """
    path = tmp_path / "network.json"
    path.write_text(json.dumps(NETWORK), encoding="utf-8")
    found = hardsim.load(path).check(against=str(FORMULAS / "majority.ltl"), max_n=4, engine=engine)
    assert found.verdict is Verdict.CERTIFIED
