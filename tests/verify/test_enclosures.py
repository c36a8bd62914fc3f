"""Temperatures with log, sqrt and exp in certificates: enclosures contain the values of mpmath, certificates are true,
and nothing follows at another temperature.
"""

import json
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import MPContext

from hardsim.lang.arith import in_python
from hardsim.proving.formula_certificate import certificate, certificate_text
from hardsim.proving.program_certificate import program_certificate
from hardsim.proving.prove import prove_every_length
from hardsim.proving.verify import check_model
from hardsim.verify import digests, verify
from hardsim.verify.arithmetic import FAR, GRID, Rejected, distance, exp_up_to, too_large, worst
from hardsim.verify.decay import Law, Recursion
from hardsim.verify.enclosures import CLOSE, FUNCTIONS, PRECISIONS, Blurred, Enclosure, enclosed, ends
from hardsim.verify.expressions import enclosure, evaluate, expression, inverse_of
from hardsim.verify.ratios import of
from hardsim.verify.sections import LARGEST
from hardsim.verify.spans import Functions, Signs
from tests.support.certificate_definitions import false_on
from tests.support.check import Subject, prove_attention, prove_subject
from tests.support.hostile_certificates import sealed
from tests.support.language import Undecided, parse_arith
from tests.support.mistakes import raised
from tests.support.networks import number
from tests.support.program_certificates import sealed as sealed_program
from tests.support.reals import mp_value
from tests.support.subjects import at_temperature, compiled, shipped

MP = MPContext()
MP.dps = 60


def true_of(x: Fraction, mp: MPContext = MP) -> Any:
    """Return a rational in mpmath."""
    return mp.mpf(x.numerator) / x.denominator


def held(low: Any, true: Any, high: Any, digits: int = 57) -> bool:
    """Return True if rationals enclose a number, as far as mpmath's digits show."""
    slack = abs(true) * MP.mpf(10) ** -digits
    return bool(true_of(Fraction(low)) <= true + slack and true - slack <= true_of(Fraction(high)))


# ---- enclosures ----

POSITIVE = st.fractions(Fraction(1, 10**9), 10**6, max_denominator=10**9)


@settings(deadline=None)
@given(POSITIVE, st.sampled_from(["log", "sqrt", "exp"]))
def test_functions_are_enclosed_closely(x: Fraction, name: str) -> None:
    mp = MPContext()
    mp.dps = 100  # near 1 the logarithm has fewer digits than its argument
    for arg in (x, 1 / x, 1 + x / 10**9) if name != "exp" else (x / 200, -x / 200):
        low, high = map(Fraction, ends(FUNCTIONS[name](arg, PRECISIONS[0])))
        true = getattr(mp, name)(true_of(arg, mp))
        slack = abs(true) * mp.mpf(10) ** -80
        assert true_of(low, mp) <= true + slack
        assert true - slack <= true_of(high, mp)
        assert 0 <= high - low <= Fraction(1, 10**42) * (abs(low) + int(name == "log"))


def test_many_digits_are_enclosed() -> None:
    mp = MPContext()
    mp.dps = 550
    for name, arg in (("log", Fraction(7, 3)), ("log", Fraction(2, 99)), ("sqrt", Fraction(2)), ("exp", Fraction(-50))):
        low, high = (true_of(Fraction(end), mp) for end in ends(FUNCTIONS[name](arg, PRECISIONS[1])))
        assert low < getattr(mp, name)(true_of(arg, mp)) < high
        assert high - low < mp.mpf(10) ** -490


@pytest.mark.parametrize(
    ("text", "value"),
    [("log(1)", 0), ("sqrt(4*n**2)", 10), ("exp(log(1))", 1), ("sqrt(1/9)", Fraction(1, 3)), ("log(2)*0 + 2", 2),
     ("2**log(1)", 1), ("[log(n) > 1] + 1", 2), ("[sqrt(n) == 2]", 0), ("log(2)**0", 1), ("[exp(n) <= 1]", 0)],
)  # fmt: skip
def test_rational_values_are_exact(text: str, value: Fraction) -> None:
    assert evaluate(expression(text, "n", functions=True), n=5) == value


TERMS = st.sampled_from(["log(n+1)", "sqrt(n)", "exp(-n)", "n", "1/3", "log(1/(n+1))", "(sqrt(2)-2)", "2"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("+-*/"), TERMS), min_size=1, max_size=5), st.integers(0, 3),
       st.integers(1, 40))  # fmt: skip
def test_arithmetic_encloses_what_the_compiler_reads(parts: list[tuple[str, str]], power: int, n: int) -> None:
    text = f"({'1' + ''.join(op + term for op, term in parts)})^{power}"
    low, high = enclosure(expression(in_python(text), "n", functions=True), n=n)
    assert held(low, mp_value(parse_arith(text).real(n=n)), high, 45)
    assert high - low <= max(CLOSE * abs(low), Fraction(1, 10**400))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("log(n - 5)", "an expression takes the logarithm of a number that may not be positive"),
        ("log(n - 6)", "the logarithm"),
        ("sqrt(n - 6)", "the square root"),
        ("sqrt(0 - log(n))", "the square root"),
        ("log(log(6) - log(2) - log(3))", "the logarithm"),
        ("1/(log(6) - log(2) - log(3))", "divides by a number that may be 0"),
        ("1/log(1)", "divides by zero"),
        ("[log(6) == log(2) + log(3)]", "may be equal"),
        ("log(n) // 1", "applies // or % to a number"),
        ("1 % log(n)", "applies // or % to a number"),
        ("2**log(n)", "needs an integer"),
        ("PRIME(sqrt(2))", "needs an integer"),
        ("exp(n**7)", "too large"),
        ("exp(exp(exp(n)))", "too large"),
        ("(1 + exp(-n))**10**9", "too large"),
        ("exp(8000)**9", "too large"),
        ("log", "not understood"),
        ("log n", "not understood"),
        ("log(n < 2)", "a truth value stands where a number is expected"),
    ],
)
def test_what_has_no_value_is_refused(text: str, message: str) -> None:
    raised(Rejected, lambda: enclosure(expression(text, "n", functions=True), n=5), match=message)


def test_they_stand_in_temperatures_alone() -> None:
    for text in ("log(n)", "1/sqrt(i)", "exp(1)"):
        raised(
            Rejected, expression, text, match="is not understood: .* has no exact value and may stand in temperatures"
        )
    document = made("1/(4*n*log(n+1))", 3)
    document["model"]["encodings"][next(iter(document["model"]["encodings"]))] = "log(i)"
    assert "has no exact value" in (sealed(document) or "")


def test_work_is_reported() -> None:
    work = list[int]()
    for text in ("n", "log(n)", "log(n)**100"):
        enclosure(expression(text, "n", functions=True), work.append, n=5)
    assert work[0] < 100 < work[1] < work[2]


@settings(deadline=None)
@given(st.lists(st.fractions(-9, 9), min_size=4, max_size=4))
def test_wide_enclosures_hold_every_number_in_them(four: list[Fraction]) -> None:
    (a, b), (c, d) = sorted(four[:2]), sorted(four[2:])
    x, y = enclosed(a, b, 50), enclosed(c, d, 50)

    def holds(found: Any, value: Fraction) -> bool:
        low, high = ends(found)
        return low <= value <= high

    for s, t in ((a, c), (a, d), (b, c), (b, d), ((a + b) / 2, (c + d) / 2)):
        assert holds(x + y, s + t)
        assert holds(x - y, s - t)
        assert holds(x * y, s * t)
        assert holds(x**3, s**3)
        assert holds(x**2, s**2)
        if c > 0 or d < 0:
            assert holds(x / y, s / t)
        elif isinstance(y, Enclosure):
            raised(Blurred, lambda: x / y)
        if isinstance(x, Enclosure) and a != d and b != c:
            try:
                assert (x < y) == (s < t)
            except Blurred:
                assert a < d
                assert c < b


@pytest.mark.parametrize("stretch", [Fraction(1), Fraction(11, 10), 1 + Fraction(1, 10**30)])
def test_every_weight_up_to_a_stretch_is_enclosed(stretch: Fraction) -> None:
    for x in map(Fraction, ("0", "-3", "5/2", "-40", "17")):
        low, high = exp_up_to(x, stretch)
        for s in (Fraction(1), (1 + stretch) / 2, stretch):
            assert Fraction(low) <= Fraction(high)
            assert held(Fraction(low), MP.exp(true_of(x * s)), Fraction(high), 40)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-300, 0), st.integers(0, 4)), min_size=1, max_size=5), st.integers(0, 4))
def test_a_number_attended_to_is_as_near_at_every_stretch(keys: list[tuple[int, int]], goal: int) -> None:
    logits, values = [logit for logit, _ in keys], [value for _, value in keys]
    stretch = Fraction(13, 10)
    found = distance(logits, 2, values, goal, stretch)
    assert distance(logits, 2, values, goal, Fraction(1)) <= found
    for s in (Fraction(1), Fraction(6, 5), stretch):
        weights = [MP.exp(true_of(s * (logit - max(logits)) / 2)) for logit in logits]
        true = abs(sum(w * (value - goal) for w, value in zip(weights, values, strict=True))) / sum(weights)
        assert true * GRID <= found + len(keys) * GRID * MP.exp(-FAR)


# ---- logits that are too large ----

KINDS = st.lists(st.tuples(st.booleans(), st.integers(0, 1), st.integers(0, 12)), min_size=1, max_size=2, unique=True)


@given(st.lists(KINDS, min_size=1, max_size=4), st.integers(0, 1), st.sampled_from([1, 2, 5, 40]))
def test_what_bounds_a_hotter_temperature_bounds_a_colder_one(types: list[Any], goal: int, factor: int) -> None:
    def weights(times: int) -> list[Any]:
        return [[(won, value, *map(Decimal, ends_of(times * x))) for won, value, x in kinds] for kinds in types]

    def ends_of(x: int) -> tuple[Decimal, Decimal]:
        return exp_up_to(Fraction(x), 1)

    try:
        found = worst(weights(1), goal, True)
    except Rejected:
        return
    exact = worst(weights(factor), goal)
    assert (found is None) == (exact is None)
    assert exact is None or found is None or exact <= found


def test_a_winner_that_is_not_ahead_is_refused() -> None:
    tied = [[(1, 0, Decimal(1), Decimal(1))], [(1, 1, Decimal(1), Decimal(1))]]
    raised(Rejected, worst, tied, 1, True, match="too large: a logit beyond")
    assert worst(tied, 1) == GRID // 2


@pytest.mark.parametrize(("tau", "n"), [("exp(-n)/4", 44), pytest.param("2^(-n)", 64, marks=pytest.mark.slow)])
def test_a_temperature_that_falls_exponentially_has_a_certificate(tau: str, n: int) -> None:
    """The logits are beyond 2^59 there, where e^x cannot be represented."""
    assert too_large([Fraction(2**59)], 1)
    assert verify(certificate(compiled("a S b", tau=parse_arith(tau), letters="ab"), n, n)) is None


# ---- formulas ----

LOG = "1/(4*n*log(n+1))"
TAUS = [LOG, "1/(n*sqrt(n+1))", "exp(-1)/n", "1/(n*(1+log(n)))", "log(n+1)/n^2"]


@cache
def _text(tau: str, max_n: int | None, formula: str) -> str:
    return certificate_text(certificate(compiled(formula, tau=parse_arith(tau), letters="abc"), max_n))


def made(tau: str, max_n: int | None, formula: str = "a S b") -> dict[str, Any]:
    """Return the certificate of a formula at a temperature, read back from its text."""
    document: dict[str, Any] = json.loads(_text(tau, max_n, formula))
    return document


@pytest.mark.parametrize("tau", TAUS)
def test_formulas_have_certificates_that_are_true(tau: str) -> None:
    for max_n in (3, None):
        document = made(tau, max_n)
        assert document["model"]["temperature"] == in_python(str(parse_arith(tau)))
        assert verify(document) is None
        assert false_on(document, 3) == []
        check_model(document, compiled("a S b", tau=parse_arith(tau), letters="abc"), "model")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("text", "options"),
    [("#L[a] >= #L[b]", {}), ("#L[a] >= #L[b]", {"counting": "sign"}), ("PRIME(#[a])", {}), ("X a | first", {})],
)
def test_heads_of_every_kind_are_bounded(text: str, options: dict[str, Any]) -> None:
    subject = compiled(text, tau=parse_arith(LOG), **options)
    for max_n in (3, None):
        document = certificate(subject, max_n)
        assert verify(document) is None
        assert false_on(document, 3) == []


def test_temperatures_of_the_query_have_certificates() -> None:
    subject = compiled("a S b", "causal-temperature", tau=parse_arith("1/(i^2*log(i+2))"))
    for max_n in (5, None):
        assert verify(certificate(subject, max_n)) is None


def test_bounds_lie_between_those_of_rationals_beside_the_temperature() -> None:
    """Compare with the temperature moved up and down by 10^-20, where errors move by less than 10^-12."""
    found = made(LOG, 5)["bounds"]
    for times in (1 - Fraction(1, 10**20), 1 + Fraction(1, 10**20)):
        document = made(LOG, 5)
        terms = [inverse_of(expression(in_python(LOG), "n", functions=True), n=n) for n in range(1, 6)]
        known = [one[0] * times for one in terms if one is not None]
        document["model"]["temperature"] = "+".join(
            f"[n == {n}]*{(1 / one).numerator}/{(1 / one).denominator}" for n, one in enumerate(known, 1)
        )
        assert sealed(document) is None
        for name, rows in document["bounds"].items():
            for own, other in zip(rows, found[name], strict=True):
                assert all(abs(a - b) <= 1 for a, b in zip(own, other, strict=True) if a is not None)


def test_prover_and_checker_find_the_same_worst_case() -> None:
    proof = prove_subject(compiled("a S b", tau=parse_arith(LOG), letters="abc"), 9).proof
    assert proof is not None
    (head,) = (one for one in proof.heads if one.worst is not None)
    assert head.worst is not None
    found = made(LOG, 9)["bounds"][head.name][head.worst.n - 1][int(head.worst.value or 0)]
    assert abs(Fraction(found, GRID) - head.worst.error) < Fraction(1, 10**9)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("max_n", [3, None])
def test_another_temperature_has_other_bounds(tau: str, max_n: int | None) -> None:
    for changed in ("99/100*({})", "101/100*({})", "({})*exp(1/100)", "({})/sqrt(102/100)"):
        document = made(tau, max_n)
        document["model"]["temperature"] = changed.format(in_python(tau))
        document["digests"] = digests(document)
        assert "bounds of head" in (verify(document) or "")


@pytest.mark.parametrize(
    ("tau", "short", "every"),
    [
        ("-log(n+1)/n**2", "is not positive", "not known to be positive"),
        ("log(n)/n**2", "is not positive", "not known to be positive"),
        ("log(n-2)", "the logarithm", "log may have no value"),
        ("sqrt(2-n)/n**2", "is not positive", "sqrt may have no value"),
        ("(1+sqrt(2-n))/n**2", "the square root", "sqrt may have no value"),
        ("1/log(n)", "divides by zero", "not known to be positive"),
        ("1/(99*n*(3-log(n*9)))", "not positive", "not known to be positive"),
        ("log(2*n)-log(n)-log(2)", "is not positive", "not known to be positive"),
        ("1/(4*n*log(1/2))", "is not positive", "not known to be positive"),
        ("100/log(n+1)", "do not decide a clip", "are not known to fall behind the winner"),
        ("exp(n)/n", "do not decide a clip", "no number is known above exp"),
        ("[log(n+1) > 0]/(4*n)", None, "with log, sqrt or exp"),
        ("log(n+1) > 0", "a truth", "a truth"),
    ],
)
def test_a_temperature_that_will_not_do(tau: str, short: str | None, every: str) -> None:
    for max_n, message in ((3, short), (None, every)):
        document = made(LOG, max_n)
        document["model"]["temperature"] = tau
        found = sealed(document)
        assert found is None if message is None else message in (found or ""), found


# ---- functions on both sides ----

SIDED = ["1/(16*n^4*log(n+2))", "sqrt(n)/(4*n^2)", "1/(n+log(n))", "exp(-3)/n", "1/(2-exp(-n))", "log(2+1/n)^3/n",
         "log(n+1)+sqrt(2*n+1)", "1/(5*n-log(n+1))", "sqrt(log(n+1))"]  # fmt: skip


def functions() -> Functions:
    """Return functions, with work for all of these."""
    signs = Signs(10**6, [])
    signs._signs, signs._multiples = {}, {}
    return Functions(signs)


@pytest.mark.parametrize("text", SIDED)
def test_rational_functions_lie_on_their_sides(text: str) -> None:
    message = functions()
    below, above = (message.of_length(in_python(text), side) for side in (-1, 1))
    at = Recursion(message.signs, Law((), (), (), (), (), False), 2, lambda i: (Fraction(1), Fraction(1)))
    for n in (*range(2, 30), 100, 1000):
        at.n = n
        assert held(at.number(below, 1), mp_value(parse_arith(text).real(n=n)), at.number(above, 1))


LOGARITHMIC = ["1/(3*log(n+1))", "1/(n*log(2*n))", "1/log(n**3+n)", "log(n/2+9)/n**2", "1/(n+log(5*n**2-1))",
               "1/log(n+3/2)**2", "(2-1/n)/log(n+1)", "1/log(3)", "1/(log(n+1)*sqrt(n))"]  # fmt: skip


@pytest.mark.parametrize("text", LOGARITHMIC)
def test_functions_of_the_logarithm_lie_above(text: str) -> None:
    found = of(functions().in_logarithms(text) or 0)
    for n in (*range(2, 60), 1000, 10**6):
        parts = [sum(number(Fraction(c)) * n ** powers[1] * MP.log(n + 1) ** powers[3]
                     for powers, c in part.terms.items()) for part in (found.top, found.bottom)]  # fmt: skip
        true = mp_value(parse_arith(text.replace("**", "^")).real(n=n))
        assert parts[0] / parts[1] >= true * (1 - MP.mpf(10) ** -50)


def test_there_may_be_no_function_of_the_logarithm() -> None:
    assert functions().in_logarithms("exp(n)") is None
    assert functions().in_logarithms("1/log(n-1)") is None
    assert str(of(functions().in_logarithms("1/(2*log(n+1))") or 0).bottom.terms) == "{(0, 0, 0, 1): 1}"


@pytest.mark.parametrize(
    "text",
    ["exp(n)", "1/log(n-1)", "log(n)*(n-3)", "log(n+1)**n", "log(n+1)**(-1)", "2**sqrt(4)", "log(n+1)**40", "exp(9999)",
     "[log(n) > 0]"],
)  # fmt: skip
def test_no_function_is_seen_above(text: str) -> None:
    raised(Rejected, functions().of_length, text, 1)


# ---- programs ----

FALLING = "1/(16*n^4*log(n+2))"


@cache
def _of_program(name: str, tau: str, max_n: int | None) -> str:
    subject: Subject = at_temperature(shipped(name), tau)
    result = prove_every_length(subject, 0) if max_n is None else prove_attention(subject, max_n, search=0)
    return certificate_text(program_certificate(result))


def made_of(name: str, tau: str, max_n: int | None = None) -> dict[str, Any]:
    """Return the certificate of a shipped program at a temperature, read back from its text."""
    document: dict[str, Any] = json.loads(_of_program(name, tau, max_n))
    return document


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["sort.srasp", "same_ends.ahat.json"])
@pytest.mark.parametrize("tau", [FALLING, "1/(64*n^3*log(n+1))", pytest.param("exp(-3)/n^5", marks=pytest.mark.slow)])
def test_programs_have_certificates(name: str, tau: str) -> None:
    document = made_of(name, tau, 4)
    assert document["temperature"] == in_python(str(parse_arith(tau)))
    assert verify(document) is None
    result = prove_every_length(at_temperature(shipped(name), tau), 0)
    if result.every_length:
        assert verify(made_of(name, tau)) is None
    else:  # here gaps fall with the third power of n, in the other program with the second
        assert (name, tau) == ("sort.srasp", "1/(64*n^3*log(n+1))")
        assert "over the temperature does not grow as n does" in result.reach


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        ("1/(99*n**4*log(3-n))", "log may have no value"),
        ("log(n)/n**5", "not positive"),
        ("-sqrt(n)/n**5", "not positive"),
        ("1/log(n+2)", "the error of an output may exceed"),
        ("1/(64*n**3*sqrt(log(n+1)))", "not known to grow like n or log(n + 1)"),
        ("1/(4*n**3*log(n+1))", "the error of an output may exceed"),
        ("1/(n**3*log(n**9+2))", "the error of an output may exceed"),
        ("exp(n)/(99*n**5*exp(2*n))", "no number is known above exp"),
        ("1/(16*n**4*log(n + i + 1))", "not understood"),
    ],
)
def test_a_temperature_of_programs_that_will_not_do(tau: str, message: str) -> None:
    document = made_of("sort.srasp", FALLING)
    document["temperature"] = tau
    found = sealed_program(document) or ""
    assert message in found, found


def test_lengths_have_temperatures_of_their_own() -> None:
    document = made_of("same_ends.ahat.json", FALLING, 3)
    for temperatures, message in (
        (["exp(-3)", "exp(-4)/2", "1/(200*sqrt(2))"], None),
        (["exp(-3)", "log(1/2)", "1/(200*sqrt(2))"], "not positive at length 2"),
        (["exp(-3)", "exp(-3)", "exp(3)"], "at length 3 the error of an output may exceed"),
    ):
        document["temperature"] = temperatures
        found = sealed_program(document)
        assert found is None if message is None else message in (found or "")


def test_each_end_of_one_over_the_temperature_counts_where_it_is_worse() -> None:
    """As 1/tau grows, the weight of keys below the maximum falls and the drift grows: each formula takes its worse
    end.
    """
    signs = Signs(10**6, [])
    signs._signs, signs._multiples = {}, {}
    at = Recursion(signs, Law((), (), (), (), (), False), 4, lambda i: (Fraction(1), Fraction(1)))
    low, high, gap, eta = Fraction(5), Fraction(6), Fraction(2), Fraction(1, 100)
    found = at._row(4, None, (low, high), gap, Decimal("0.01"))
    true = 2 * MP.exp(true_of(-(gap - 2 * eta) * low)) + 2 * MP.tanh(true_of(eta * high / 2))
    assert abs(true_of(Fraction(found)) - true) < MP.mpf(10) ** -25
    assert all(found > at._row(4, None, (end, end), gap, Decimal("0.01")) for end in (low, high))


def test_what_every_word_was_run_for_has_no_certificate_at_such_a_temperature_either() -> None:
    result = prove_attention(at_temperature(shipped("tieless_until_7.ahat.json"), "1/(64*n^3*log(n+1))"), 2, search=0)
    assert {length.proved_by for length in result.lengths} == {"every word"}
    raised(Undecided, program_certificate, result, match="proved by running every word")


@pytest.mark.slow
@pytest.mark.parametrize("tau", TAUS)
def test_the_longest_length_is_checked(tau: str) -> None:
    assert verify(certificate(compiled("a S b", tau=parse_arith(tau)), LARGEST, LARGEST)) is None
