"""Certificates of every length: valid ones are accepted, and no false one is, by words up to a length; and the
arithmetic of rational functions with which they are checked.
"""

import copy
import json
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.proving.formula_certificate import certificate
from hardsim.proving.verify import check_formula, check_model
from hardsim.verify import digests, verify
from hardsim.verify.arithmetic import GRID, Rejected
from hardsim.verify.every_length import ALTERNATING, CLASSES, NUMBER, TABLE, of_x, ramp
from hardsim.verify.ratios import NAMES, ONE, VARIABLE, Polynomial, Ratio, Value, line, lower, of, positive, upper
from tests.support.certificate_definitions import false_on
from tests.support.check import ModelOptions, compile_formula, read_input
from tests.support.hostile_certificates import CASES, TRUE, handmade, made, sealed
from tests.support.language import InputError, Undecided, parse_text
from tests.support.mistakes import raised
from tests.support.model import PROVEN
from tests.verify.test_hostile_certificates import PLACES, altered

FORMULAS = Path(__file__).resolve().parents[2] / "formulas"
FEW = [
    ("since", "causal-temperature"),
    ("majority", "causal-position"),
    ("first_half", "temperature"),
    ("square_length", "position"),
    ("mod3", "temperature"),
]
MORE = [*(case for case in CASES if case not in FEW), ("tomita_5", "causal-temperature"), ("last", "temperature")]
CERTIFIED = [*FEW, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE)]
"""Shipped formulas and regimes; the first few have heads of each kind except number look-ups."""


# ---- certificates ----


@pytest.mark.parametrize(("name", "regime"), CERTIFIED)
def test_certificates_of_every_length_are_accepted_and_true(name: str, regime: str) -> None:
    document = made(name, regime, None)
    assert document["max_n"] is None
    assert verify(document) is None
    assert false_on(document, 3) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FORMULAS.glob("*.ltl")), ids=lambda path: str(path.stem))
def test_every_shipped_formula_has_a_certificate_of_every_length(path: Path) -> None:
    for regime, counting in product(PROVEN, (None, "sign")):
        try:
            subject = read_input(str(path)).compile(ModelOptions(regime, counting=cast(Any, counting)))
        except InputError:
            continue
        document = certificate(subject, None)
        assert verify(document) is None
        check_formula(document, read_input(str(path)).file, "file")
        check_model(document, subject, "model")


@pytest.mark.parametrize(
    "text",
    [
        "#L[a] > #L[b] & O b",
        "#L[a] > #L[b] | O b",
        "#R[a] > 1 & !F a",
        "#[a] > #[b] & O b",
        "ODD(#L[a]) & O a",
        "#L[a] > #L[b] & #L[b] <= 5 & Y a & O b & EVEN & !first",
    ],
)
def test_that_a_count_is_positive_is_said_in_one_way(text: str) -> None:
    """One head finds that `O b` holds and that the count of b is positive; the certificate has one node for both."""
    document = certificate(compile_formula(parse_text(f"alphabet: a b\n{text}", "shared"), ModelOptions()), None)
    assert verify(document) is None
    assert false_on(document, 4) == []


def test_a_wide_formula_over_propositions_has_one() -> None:
    names = " ".join(f"p{k}" for k in range(58))
    formula = " & ".join(f"G (p{k} -> F p{(7 * k + 3) % 58})" for k in range(0, 58, 6))
    subject = compile_formula(parse_text(f"props: {names}\n{formula}", "wide"), ModelOptions())
    assert verify(certificate(subject, None)) is None


def test_bounds_are_the_closed_forms() -> None:
    """For `a S b` at beta 4 positions lose 2 nats each, so that x = e^-2; at beta 1 this does not settle a clip."""
    (rate, series, zero, one) = made("since", "temperature", None)["bounds"]["S4.read"]
    assert (rate, series, zero) == ("2", "x", one)
    assert 0 <= Fraction(zero, GRID) - Fraction(exp(-2)) < Fraction(2, GRID)
    subject = read_input(str(FORMULAS / "since.ltl")).compile(ModelOptions(beta=Fraction(1)))
    raised(Undecided, certificate, subject, None, match="the error bounds do not decide")


@pytest.mark.parametrize(("name", "regime"), CERTIFIED)
@pytest.mark.slow
def test_each_number_of_the_bounds_is_checked(name: str, regime: str) -> None:
    document = made(name, regime, None)
    changed = 0
    of_heads = [rows for rows in document["bounds"].values() if rows][:3]
    for rows in of_heads:
        for place, value in enumerate(rows):
            others: list[Any] = ["1/7", "x/(1 - x)"] if isinstance(value, str) else [None if value else 1, 0, 10**11]
            for other in others:
                if other != value:
                    rows[place] = other
                    document["digests"] = digests(document)
                    assert "bounds of head" in (verify(document) or "")
                    changed += 1
            rows[place] = value
    document["digests"] = digests(document)
    assert verify(document) is None
    assert bool(changed) == bool(of_heads) == (name not in ("square_length", "last"))  # these have no heads


def test_what_is_claimed_is_named() -> None:
    document = made("since", "temperature", None)
    assert "every length" in document["claim"]
    for key, value, wrong in (
        ("claim", made("since", "temperature", 3)["claim"], "it is not the one that is checked"),
        ("max_n", 9, "claim: it is not the one"),
        ("min_n", 2, "min_n, max_n"),
        ("schema_version", 2, "a certificate of version 2: schema_version should be 3, 7 or 8 for formulas"),
    ):
        before, document[key] = document[key], value
        document["digests"] = digests(document)
        assert wrong in (verify(document) or ""), key
        document[key] = before


@pytest.mark.parametrize(
    ("tries", "seed"), [(8, ""), *(pytest.param(400, str(seed), marks=pytest.mark.slow) for seed in range(3))]
)
@pytest.mark.parametrize(("name", "regime"), CERTIFIED)
def test_what_is_altered_and_sealed_anew_is_rejected_or_true(name: str, regime: str, tries: int, seed: str) -> None:
    document, rng, rejected = made(name, regime, None), Random(f"{name} {regime} {seed}"), 0
    before = json.dumps([document[key] for key in PLACES], sort_keys=True)
    for _ in range(tries):
        changed = copy.deepcopy(document)
        where = [altered(changed, rng) for _ in range(rng.randint(1, 3)) if changed]
        if json.dumps([changed[key] for key in PLACES], sort_keys=True) == before:
            continue
        assert verify(changed) is not None, where
        if sealed(changed) is None:
            assert false_on(changed, 4 if seed else 3) == [], where
        else:
            rejected += 1
    assert rejected > tries // 8


# ---- false claims ----


def clipped(nodes: list[Any], root: list[Any], row: dict[str, str], bias: str, **encodings: str) -> dict[str, Any]:
    """Return the certificate of a network without heads whose one clip is claimed to be the root."""
    layers = [{"heads": [], "clips": {"out": ["0", [["1", bias, row]]]}}]
    return handmade(nodes, root, None, encodings=encodings, layers=layers, coordinates={"out": root})


EVEN: list[Any] = ["predicate", [[0, False]], "x % 2 == 0", [[1, "L"]], 0]


@pytest.mark.parametrize(("bias", "right"), [("-3", True), ("-4", False), ("-2", False)])
def test_a_line_with_halves_is_no_line_of_integers(bias: str, right: bool) -> None:
    """Two of the first i positions are even from i = 4 on, where i - 3 is 1 at least."""
    some: list[Any] = ["at least", [[1, False]], [[1, "L"]], -2]
    document = clipped([TRUE, EVEN, some], [2, False], {"e": "1"}, bias, e="i")
    assert (false_on(document, 6) == []) == right
    assert sealed(document) is None if right else sealed(document) is not None


@pytest.mark.parametrize(("text", "right"), [("2*x == n + 1", True), ("2*x == n", False), ("2*x == n + 3", False)])
def test_facts_of_positions_are_distinguished(text: str, right: bool) -> None:
    middle: list[Any] = ["predicate", [[0, False]], text, [[1, "L"]], 0]
    document = clipped([TRUE, middle], [1, False], {"e": "1"}, "0", e="2*i == n + 1")
    assert (false_on(document, 6) == []) == right
    assert sealed(document) is None if right else sealed(document) is not None


@pytest.mark.parametrize(
    ("encoding", "wrong"),
    [
        ("1/(i - 3)", "a divisor in an expression may be 0"),
        ("i/(2*i - n)", "a divisor in an expression may be 0"),
        ("1/(i - 3) > n", "a divisor in an expression may be 0"),
        ("n % (i - 3) == 0", "a divisor in an expression may be 0"),
        ("2**n", "an exponent is not an integer"),
        ("(-1)**(i/2)", "is not an integer"),
        ("PRIME(i/2)", "applied to a number that may not be an integer"),
        ("i // 2", "not a rational function"),
        ("i**65", "an exponent is not an integer"),
        ("i**30", "too large"),
        ("((i + n)**24 - 1)**1 * (i - n)", "too large"),
    ],
)
def test_encodings_have_a_value_everywhere(encoding: str, wrong: str) -> None:
    document = clipped([TRUE], [0, False], {"one": "1"}, "0", e=encoding, one="1")
    assert wrong in (sealed(document) or "")


@pytest.mark.parametrize("temperature", ["n - 1", "1 - 1/n", "n - 100", "-1/n", "i - n", "(-1)**i", "2 - i", "0"])
def test_a_temperature_is_positive_everywhere(temperature: str) -> None:
    document = made("since", "temperature", None)
    document["model"]["temperature"] = temperature
    assert "not known to be positive" in (sealed(document) or "")


@pytest.mark.parametrize(
    ("temperature", "accepted"),
    [("1/n", True), ("1/(2*n)", True), ("1/(n + 1)", True), ("1/n**2", True), ("2/n", False)],
)
def test_a_schedule_is_sharp_enough_at_every_length(temperature: str, accepted: bool) -> None:
    """At 2/n the rate is 1, and e^-1 is more than the 1/4 that is rounded away."""
    document = made("since", "temperature", None)
    document["model"]["temperature"] = temperature
    assert (sealed(document) is None) == accepted


def test_keys_that_read_facts_are_no_keys_of_counts() -> None:
    """A look-up, or a test of a sign, must depend on positions alone: an unknown fact may have any value."""
    for name, regime in (("equal", "temperature"), ("majority", "causal-position")):
        document = made(name, regime, None)
        document["model"]["encodings"]["odd one"] = "PRIME(i)"
        changed = 0
        for layer in document["model"]["layers"]:
            for head in layer["heads"]:
                if document["meaning"]["heads"].get(head["name"], {}).get("kind") in ("number", "table", "sign"):
                    for k in range(len(head["key"])):
                        head["key"][k]["odd one"] = "1"
                        assert sealed(document) is not None
                        del head["key"][k]["odd one"]
                        changed += 1
        del document["model"]["encodings"]["odd one"]
        assert changed
        assert sealed(document) is None


# ---- rational functions ----


def _left(i: int, n: int) -> int:
    return n - i + 1


@st.composite
def functions(draw: st.DrawFn) -> tuple[Value, Any]:
    """Draw a function of i and n, and the same function in Python."""
    i, n, *_ = VARIABLE
    number: Value = draw(st.integers(-3, 3))
    own = [lambda i, n, c=number: Fraction(c)]
    for _ in range(draw(st.integers(1, 4))):
        (other, value) = draw(st.sampled_from([(i, lambda i, n: i), (n, lambda i, n: n), (n - i + 1, _left),
                                               (Fraction(2, 3), lambda i, n: Fraction(2, 3))]))  # fmt: skip
        op, last = draw(st.sampled_from("+-*/")), own[-1]
        if op == "+":
            number, step = number + other, lambda i, n, f=last, g=value: f(i, n) + g(i, n)
        elif op == "-":
            number, step = other - number, lambda i, n, f=last, g=value: g(i, n) - f(i, n)
        elif op == "*":
            number, step = number * other, lambda i, n, f=last, g=value: f(i, n) * g(i, n)
        else:
            number, step = number * Fraction(1) / other, lambda i, n, f=last, g=value: f(i, n) / g(i, n)
        own.append(step)
    return number, own[-1]


def value_at(number: Value, i: int, n: int) -> Fraction:
    """Evaluate a number at a position."""
    if not isinstance(number, Ratio):
        return Fraction(number)
    top, bottom = (sum((c * Fraction(i) ** p[0] * Fraction(n) ** p[1] for p, c in poly.terms.items()), Fraction(0))
                   for poly in (number.top, number.bottom))  # fmt: skip
    return top / bottom


@given(functions())
def test_functions_have_the_values_of_their_definition(made_of: tuple[Value, Any]) -> None:
    number, define = made_of
    for n in range(1, 6):
        for i in range(1, n + 1):
            assert value_at(number, i, n) == define(i, n)


@given(functions())
def test_bounds_of_functions_hold_in_every_class(made_of: tuple[Value, Any]) -> None:
    number, define = made_of
    for one in CLASSES:
        low, high, above = (ask(number, one.places) for ask in (lower, upper, positive))
        for n in range(1, 8):
            for i in range(1, n + 1):
                if (i == 1, i == n, i % 2 == 0, n % 2 == 0) == (one.first, one.last, one.even_i, one.even_n):
                    assert low is None or low <= define(i, n)
                    assert high is None or define(i, n) <= high
                    assert not above or define(i, n) > 0


@given(functions(), functions())
def test_equal_functions_are_equal(first: tuple[Value, Any], second: tuple[Value, Any]) -> None:
    (a, _), (b, _) = first, second
    assert a + b == b + a
    assert (a + b) - b == a
    assert a * b == b * a
    assert not isinstance(a - a, Ratio)


def test_every_site_is_in_one_class() -> None:
    for n in range(1, 9):
        for i in range(1, n + 1):
            kind = (i == 1, i == n, i % 2 == 0, n % 2 == 0)
            assert sum((one.first, one.last, one.even_i, one.even_n) == kind for one in CLASSES) == 1


def test_lines_are_distinguished_from_other_functions() -> None:
    i, n, *_ = VARIABLE
    assert line(2 * i - n + Fraction(1, 2)) == (Fraction(2), Fraction(-1), Fraction(1, 2))
    assert line(3) == (Fraction(0), Fraction(0), Fraction(3))
    assert line(i * n) is None
    assert line(i / n) is None


def test_division_by_zero_is_refused() -> None:
    i = VARIABLE[0]
    raised(Rejected, lambda: i / 0, match="a division by zero")
    raised(Rejected, lambda: lower(of(1) / (i - 2), (ONE.plus(ONE), *NAMES[1:])), match="by zero")


def test_polynomials_are_bounded() -> None:
    large = Polynomial({(k, j, 0, 0): 1 for k in range(12) for j in range(12)})
    raised(Rejected, lambda: large.times(large).times(large), match="too large")
    raised(Rejected, lambda: Polynomial({(0, 0, 0, 0): 2**40000}), match="too large")


@pytest.mark.parametrize("rate", ["1/10", "1/2", "1", "2", "7/2", "40"])
def test_series_are_not_below_their_sums(rate: str) -> None:
    g = Fraction(rate)
    x, many = exp(-g), range(1, 400)
    behind, spread = sum(x**m for m in many), sum(x ** (m * m) for m in many)
    odd, zero = sum(x ** (m * m) for m in many[::2]), [(m, x ** (m * m + 2 * m)) for m in many]
    first = sum(w for _, w in zero)
    numbers = {
        "x": x,
        "2x/(1 + x)": 2 * behind / (1 + 2 * behind),
        TABLE: 2 * spread / (1 + 2 * spread),
        ALTERNATING: 2 * odd / (1 + 2 * odd),
        NUMBER: max(sum(m * x ** (m * m) for m in many) / (1 + spread), sum(m * w for m, w in zero) / (1 + first)),
    }
    for series, value in numbers.items():
        assert value * (1 - 1e-12) <= float(of_x(g, series))
        assert float(of_x(g, series)) <= value * 1.01 or g < 1
    right = [((i + 1) / 2) * exp(-float(g) * ((i - 1) ** 2 + 1) / i) for i in range(2, 400)]
    assert ramp(g) >= max(r / (1 + r) for r in right) * GRID * (1 - 1e-12)
