"""Temperatures with log, sqrt and exp: proofs for some lengths by enclosures, for every length by one-sided bounds."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.lang.reals import Real, bounds, lower
from hardsim.proof.formulas.arrays import next_to
from hardsim.proof.formulas.head_argument import number_error, number_errors_apart, wrong_sign
from hardsim.proof.formulas.sites import Classes
from hardsim.proof.shared.monotone import colder, hotter
from hardsim.proof.shared.ratios import LOG, NAMES, NoRatio, Ratio, chain
from tests.support.check import FormulaTarget, NotProved
from tests.support.language import Arith, parse_arith
from tests.support.mistakes import raised
from tests.support.model import Rational
from tests.support.networks import number
from tests.support.reals import context, mp_value
from tests.support.subjects import agree, compiled, general_proof, known, proof_of, with_network

DOMAIN = chain(("i", "n"), [0, 0])
SHARP = ["1/(4*n*log(n+1))", "sqrt(n)/(4*n^2)", "exp(-n)/8", "1/(n*(1+log(n)))", "1/(n*log(n+1))^2", "1/(exp(1)*n)"]


def no_sign(exponent: object) -> int:
    raise NoRatio("no powers of -1 here")


def at(value: object, i: int, n: int) -> Fraction:
    """Evaluate a rational function at position i of length n."""
    found = Ratio.of(value).at({"i": i, "n": n}).simplest  # type: ignore[arg-type]  # a value of `ratios`
    assert not isinstance(found, Ratio)
    return Fraction(found)


TAUS = st.sampled_from(
    [*SHARP, "1/log(i+1)", "1/(log(n+1)+sqrt(i))", "1/(2-exp(-n))", "1/log(2+1/n)", "(2-1/n)/log(n+1)", "1/sqrt(n*i)"]
)


@given(TAUS, st.integers(1, 60), st.integers(0, 60))
@settings(deadline=None)
def test_a_hotter_temperature_is_nowhere_colder(text: str, i: int, more: int) -> None:
    tau = parse_arith(text)
    found, true = hotter(tau, no_sign, DOMAIN), mp_value(tau.real(i=i, n=i + more))
    assert mp_value(at(found, i, i + more)) >= true
    try:
        found = colder(tau, no_sign, DOMAIN)
    except NoRatio:
        assert text == "exp(-n)/8"  # it tends to 0
        return
    assert 0 < mp_value(at(found, i, i + more)) <= true


LENGTHS = chain(("n",), [1]) | {LOG: Ratio.variable("b") + Fraction(1098, 1000)}
"""Lengths from 2 on, with their logarithms."""
IN_LOGARITHMS = ["1/(3*log(n+1))", "1/(n*log(2*n))", "1/log(n^3+n)", "log(n/2+9)/n^2", "1/(n+log(5*n^2-1))",
                 "1/log(n+3/2)^2", "(2-1/n)/log(n+1)", "1/log(3)", "1/(log(n+1)*sqrt(n))"]  # fmt: skip


@pytest.mark.parametrize("text", IN_LOGARITHMS)
def test_functions_of_the_logarithm_are_above_too(text: str) -> None:
    tau = parse_arith(text)
    found = Ratio.of(hotter(tau, no_sign, LENGTHS))
    for n in (*range(2, 60), 1000, 10**6):
        here = found.at({"n": n})
        parts = [sum(number(Fraction(int(c.p), int(c.q))) * context.log(n + 1) ** int(powers[NAMES.index(LOG)])
                     for powers, c in part.to_dict().items()) for part in (here.top, here.bottom)]  # fmt: skip
        assert parts[0] / parts[1] >= mp_value(tau.real(n=n)) * (1 - context.mpf(10) ** -50)


def test_a_logarithm_of_the_next_length_is_itself() -> None:
    assert str(hotter(parse_arith("1/(3*log(n+1))"), no_sign, LENGTHS)) == "(1/3)/(log(n + 1))"
    assert str(hotter(parse_arith("1/log(4*n^2+8*n+4)"), no_sign, LENGTHS)) == "(1/2)/(log(n + 1) + 693/1000)"


def test_above_log_and_sqrt_are_lines() -> None:
    assert at(hotter(parse_arith("log(n+1)/n"), no_sign, DOMAIN), 1, 7) == 1
    assert at(hotter(parse_arith("sqrt(n)/n"), no_sign, DOMAIN), 1, 7) == Fraction(4, 7)
    assert at(colder(parse_arith("1/log(n+2)"), no_sign, DOMAIN), 1, 7) == Fraction(1, 8)


def test_the_side_is_sharp_at_the_shortest_length() -> None:
    """For 1/(4 n log(n + 1)) at n = 1: log 2 = 0.6931..., rounded down to thousandths."""
    assert at(hotter(parse_arith("1/(4*n*log(n+1))"), no_sign, DOMAIN), 1, 1) == Fraction(1000, 4 * 693)
    assert at(hotter(parse_arith("1/log(n+1)^2"), no_sign, DOMAIN), 3, 9) == Fraction(1000, 693) ** 2
    assert at(hotter(parse_arith("exp(-n)"), no_sign, DOMAIN), 1, 1) == Fraction(368, 1000)  # 0.36787...


@pytest.mark.parametrize(
    "text",
    [
        "exp(n)/n",  # no bound is above exp
        "1/log(n)",  # log(1) = 0
        "1/(n*log(n-1/2))",  # negative at n = 1
        "5-log(2-n)",  # no value beyond n = 1
        "1/(3-log(n))",  # negative from n = 21 on
        "sqrt(2-n)+1",
        "1/(log(n+1)-log(n))",
        "[log(n) > 1]+1",
        "1/log(n+1)^(-2)",
        "exp(100000*n)",
    ],
)
def test_what_no_side_is_known_of(text: str) -> None:
    raised(NoRatio, hotter, parse_arith(text), no_sign, DOMAIN)
    model = replace(compiled("a S b").model, temperature=parse_arith(text))
    reason = str(raised(NotProved, Classes().inverse, model).reason)
    assert reason.startswith(f"the temperature {parse_arith(text)} is not a rational function, and ")
    assert "\n" not in reason


def at_tau(text: str, tau: str, regime: str = "temperature", **options: Any) -> FormulaTarget:
    return compiled(text, regime, tau=parse_arith(tau), **options)


FORMULAS = [("a S b", {}), ("Y a | first", {}), ("#L[a] >= #L[b]", {}), ("#L[a] >= #L[b]", {"counting": "sign"}),
            ("PRIME(#[a])", {}), ("X a & b U a", {})]  # fmt: skip


@pytest.mark.parametrize(("text", "options"), FORMULAS)
def test_short_and_all_lengths_are_proved_and_words_agree(text: str, options: dict[str, Any]) -> None:
    subject = at_tau(text, "1/(4*n*log(n+1))", **options)
    assert proof_of(subject, 12).proved
    proof = general_proof(subject)
    assert proof.proved
    assert proof.temperatures == ("tau <= (250/693)/(n) where i = n = 1", "tau <= (125/549)/(n) else")
    agree(subject, [tuple(word) for n in range(1, 6) for word in product("ab", repeat=n)])


@pytest.mark.parametrize(("text", "proved"), [("a S b", True), ("#L[a] >= #L[b]", True), ("Y a", True)])
def test_the_causal_regime_has_temperatures_of_the_query(text: str, proved: bool) -> None:
    subject = at_tau(text, "1/(i^2*log(i+2))", "causal-temperature")
    assert proof_of(subject, 8).proved is proved
    assert general_proof(subject).proved is proved
    agree(subject, [tuple(word) for n in range(1, 6) for word in product("ab", repeat=n)])


def test_a_temperature_that_is_too_hot_is_proved_of_no_length_beyond_its_own() -> None:
    """With 1/tau = beta log(n + 1) and scores 1/(2n) apart a position the logits approach each other as n grows."""
    subject = at_tau("a S b", "1/log(n+1)", beta=Fraction(4), letters="abc")
    proof = general_proof(subject)
    assert not proof.proved
    assert "comparing coefficients gives no positive rate" in known(proof.reason)
    assert not proof_of(subject, 12).proved


def test_rational_temperatures_are_taken_as_they_are() -> None:
    assert general_proof(compiled("a S b")).temperatures == ()


@given(st.fractions(Fraction(1, 20), 30), st.fractions(0, 5), st.integers(2, 12))
@settings(deadline=None)
def test_errors_fall_as_the_rates_grow(rate: Fraction, more: Fraction, size: int) -> None:
    """This allows a rational below a rate to take its place."""
    assert number_error(rate + more, size) <= number_error(rate, size) * (1 + 2.0**-40)
    keys: dict[Rational, int] = {Fraction(k * (-1) ** k): 1 + k % 3 for k in range(1, size + 1)}
    for bit in (0, 1):
        assert wrong_sign(keys, bit, rate + more) <= wrong_sign(keys, bit, rate) * (1 + 2.0**-40) + 1e-40


def test_errors_apart_at_a_rate_that_is_no_rational() -> None:
    """Compare with all pairs of winners d apart, from the definition, also at rational rates below and above this
    one.
    """
    rate = parse_arith("log(3)/2").real()
    k, visible = mp_value(rate), 7

    def error(winner: int) -> Any:
        weights = {j: context.exp(-k * (j - winner) ** 2) for j in range(1, visible + 1)}
        return sum(j * w for j, w in weights.items()) / sum(weights.values()) - winner

    zero = {j: context.exp(-k * (j * j - 1)) for j in range(1, visible + 1)}  # a count of 0, whose winner is 1
    first = [error(1), sum(j * w for j, w in zero.items()) / sum(zero.values()) - 1]
    for d in (1, 2, 5):
        pairs = [(error(p), error(p + d)) for p in range(2, visible + 1 - d)] + [(one, error(1 + d)) for one in first]
        true = max(abs(other - one) for one, other in pairs)
        found = number_errors_apart(rate, visible, d)
        assert true <= found <= true * (1 + 2.0**-40)
        low, high = bounds(rate)
        assert found >= max(number_errors_apart(end, visible, d) for end in (low, high)) * (1 - 2.0**-40)


def test_comparisons_of_look_ups_at_temperatures_at_which_errors_cancel() -> None:
    """At beta 1 the errors of the two look-ups are too large by themselves, also where 1/tau is irrational."""
    subject = at_tau("#L[a] >= #L[b]", "1/(2*n*log(3))", beta=Fraction(1), letters="ab")
    assert proof_of(subject, 6).proved
    agree(subject, [tuple(word) for n in range(1, 7) for word in product("ab", repeat=n)])


def test_proofs_compare_exact_encodings_alone() -> None:
    subject = compiled("a S b")
    (place, _), *rest = [pair for pair in subject.model.encodings if str(pair[1]) == "i/n"]
    assert not rest
    others = tuple(pair for pair in subject.model.encodings if pair[0] != place)
    model = replace(subject.model, encodings=(*others, (place, parse_arith("log(i)/n"))))
    proof = proof_of(with_network(subject, model), 3)
    assert not proof.proved
    assert "the encoding log(i)/n is not a rational number at position 2 of 2" in known(proof.reason)
    assert "it has the function log" in known(general_proof(subject, model).reason)


def test_the_float_next_to_a_number() -> None:
    value = parse_arith("log(3)").real()
    assert abs(mp_value(Fraction(next_to(value))) - mp_value(value)) <= 2.0**-53 * 1.2
    assert next_to(Fraction(1, 3)) == 1 / 3
    hidden = Arith(parse_arith("log(6)-log(2)-log(3)").tree).real()
    assert isinstance(hidden, Real)
    assert lower(hidden) <= 0
    raised(NotProved, next_to, hidden)
