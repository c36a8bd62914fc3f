"""Valid certificates are accepted, and false ones are rejected: altered ones, also with recomputed digests and
bounds.
"""

import copy
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mpmath import MPContext

from hardsim.lang import ast
from hardsim.proving.formula_certificate import certificate, certificate_text
from hardsim.proving.verify import check_formula, check_labels, check_model
from hardsim.verify import digests, verify
from hardsim.verify.arithmetic import GRID, Rejected, exp
from hardsim.verify.expressions import evaluate, expression
from tests.support.certificate_definitions import false_on
from tests.support.check import ModelOptions, compile_formula, prove_subject, read_expression, read_input
from tests.support.counting_strategies import counting_formulas
from tests.support.hostile_certificates import CASES, made, sealed
from tests.support.language import Undecided, Unsupported, format_file, parse_arith, parse_text
from tests.support.mistakes import raised
from tests.support.strategies import formulas
from tests.support.subjects import with_network

FORMULAS = Path(__file__).resolve().parents[2] / "formulas"


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "regime"), CASES)
def test_certificates_are_accepted_and_true(name: str, regime: str) -> None:
    document = made(name, regime, 4)
    assert verify(document) is None
    assert false_on(document) == []


def test_every_kind_of_field_is_named() -> None:
    document = made("flipflop", "temperature", 3)
    model, head = document["model"], document["model"]["layers"][1]["heads"][0]
    places: dict[str, tuple[Any, Any, Any]] = {
        "claim was altered": (document, "claim", "it is right"),
        "max_n was altered": (document, "max_n", 4),
        "labels was altered": (document["labels"], "beta", "5"),
        "formula was altered": (document["formula"]["root"], 1, True),
        "model was altered": (model, "temperature", "2/n"),
        "meaning was altered": (document["meaning"]["heads"][head["name"]], "backwards", True),
        "bounds was altered": (document["bounds"][head["name"]][0], 0, 5),
    }
    for reason, (place, key, value) in places.items():
        before = place[key]
        place[key] = value
        assert (verify(document) or "").startswith(reason)
        place[key] = before
    for section in digests(document):
        before = document["digests"][section]
        document["digests"][section] = before[:-1] + ("0" if before[-1] != "0" else "1")
        assert (verify(document) or "").startswith(f"{section} was altered")
        document["digests"][section] = before
    assert verify(document) is None


def test_sealed_alterations_are_named() -> None:
    document = made("since", "temperature", 3)
    head = document["model"]["layers"][0]["heads"][0]

    def reason(place: Any, key: Any, value: Any) -> str:
        before = place[key]
        place[key] = value
        document["digests"] = digests(document)
        found = verify(document) or ""
        place[key] = before
        return found

    assert "temperature is not positive" in reason(document["model"], "temperature", "-1/n")
    assert "bounds of head S4.read" in reason(document["model"], "temperature", "1/(2*n)")
    assert "do not decide a clip of 'S4'" in reason(document["model"], "temperature", "9/n")
    assert "'S4' is not the truth of the claimed node (S)" in reason(head, "mask", "past")
    assert "do not decide" in reason(head["query"][0], "1", "1")
    assert "bounds of head" in reason(document["bounds"]["S4.read"][1], 0, document["bounds"]["S4.read"][1][0] + 1)
    assert "not the truth of formula.root" in reason(document["formula"]["root"], 1, True)
    assert "is not the truth of the claimed node" in reason(document["meaning"]["heads"]["S4.read"], "backwards", True)
    assert all("max_n" in reason(document, "max_n", n) for n in (0, 10**6))
    assert "claim" in reason(document, "claim", "anything")
    assert "model.alphabet" in reason(document["model"], "alphabet", ["a", "b"])
    assert "the key 'alphabet' is missing" in reason(document, "model", {})
    assert "not understood" in reason(document["model"], "temperature", "__import__('os')")
    assert "too large" in reason(document["model"], "temperature", "9**9**9**9")


@pytest.mark.parametrize("x", ["0", "1", "-1", "1/3", "-7/2", "40", "-999", "12345/7", "1/1000000007"])
def test_exponentials_are_enclosed_closely(x: str) -> None:
    mp = MPContext()
    mp.dps = 60
    low, high = exp(Fraction(x))
    true = mp.exp(mp.mpf(Fraction(x).numerator) / Fraction(x).denominator)
    assert mp.mpf(str(low)) <= true <= mp.mpf(str(high))
    assert (high - low) / low < Decimal("1e-24")


@pytest.mark.parametrize(
    "text", ["i.real", "'a'", "i[0]", "lambda", "(i > 0)/3", "2**(1/2)", "10**i**99", "1_0", "open(i)"]
)
def test_expressions_have_nothing_but_exact_arithmetic(text: str) -> None:
    raised(Rejected, lambda: evaluate(expression(text), i=2, n=3))


@pytest.mark.parametrize(("name", "regime"), [("since", "temperature"), ("flipflop", "position"), ("mod3", "position")])
def test_prover_and_checker_find_the_same_worst_cases(name: str, regime: str) -> None:
    subject = read_input(str(FORMULAS / f"{name}.ltl")).compile(ModelOptions(regime=regime))
    proof = prove_subject(subject, 9).proof
    assert proof is not None
    bounds = certificate(subject, 9)["bounds"]
    compared = 0
    for head in proof.heads:
        if head.worst is not None and head.worst.value is not None:
            found = bounds[head.name][head.worst.n - 1][int(head.worst.value)]
            # The checker takes the worst query of the length, the prover the query with the least margin.
            assert Fraction(found, GRID) >= head.worst.error - Fraction(1, 10**9)
            compared += 1
    assert compared


@pytest.mark.parametrize("place", [0, 1, 2])
def test_position_encodings_that_add_up_are_not_one_of_them(place: int) -> None:
    subject = read_input(str(FORMULAS / "since.ltl")).compile(ModelOptions())
    document, encodings = certificate(subject, 3), subject.model.encodings
    for k, _ in encodings:
        doubled = (*encodings[:place], (k, parse_arith("-5*i")), *encodings[place:])
        other = with_network(subject, replace(subject.model, encodings=doubled))
        raised(Rejected, check_model, document, other, "model", match="several position encodings")


def test_what_the_checker_cannot_follow_has_no_certificate() -> None:
    subject = read_expression("a S b", "a b c").compile(ModelOptions(beta=Fraction(1)))
    raised(Undecided, certificate, subject, 4, match="the error bounds do not decide")


def test_since_at_the_critical_temperature() -> None:
    """The least beta for all words tends to 2 ln 4 = 2.7726 from below: 14/5 is enough, 27/10 is not at length 24."""
    assert verify(made("since", "temperature", 12, beta=Fraction(14, 5))) is None
    raised(Undecided, made, "since", "temperature", 24, beta=Fraction(27, 10))


def test_a_proposition_is_turned_by_a_clip() -> None:
    """A proposition has one coordinate; `!p` reads it negated. The opposite claim is false."""
    subject = compile_formula(parse_text("props: p q\nat-most-one: p q\n!p", "turned"), ModelOptions())
    document: dict[str, Any] = json.loads(certificate_text(certificate(subject, 3)))
    assert verify(document) is None
    assert false_on(document) == []
    output, (clips,) = document["model"]["output"], [one["clips"] for one in document["model"]["layers"]]
    assert set(clips) == {output}
    for place, key, value in [
        (document["meaning"]["coordinates"], output, [document["formula"]["root"][0], False]),
        (clips[output][1][0], 2, {"[p]": "1/2"}),
        (clips[output][1][0], 0, "1"),
        (clips[output], 0, "1/2"),
    ]:
        before = place[key]
        assert before != value
        place[key] = value
        assert sealed(document) is not None
        place[key] = before
    assert sealed(document) is None


def test_any_set_of_many_propositions_is_a_symbol() -> None:
    """58 propositions make 2^58 sets, which are never listed."""
    names = [f"p{k}" for k in range(58)]
    formula = " & ".join(f"G (p{k} -> F p{(7 * k + 3) % 58})" for k in range(0, 58, 3))
    subject = compile_formula(parse_text(f"props: {' '.join(names)}\n{formula}", "many"), ModelOptions())
    text = certificate_text(certificate(subject, 4))
    assert len(text) < 5_000_000
    document: dict[str, Any] = json.loads(text)
    assert verify(document) is None
    check_formula(document, subject.formula, "file")
    check_model(document, subject, "model")
    other = compile_formula(parse_text("alphabet: a b\nG (a -> F b)", "other"), ModelOptions())
    raised(
        Rejected,
        check_formula,
        document,
        other.formula,
        "other",
        match="formula.alphabet: differs from that of other, a b",
    )


def test_sets_are_read_as_propositions_hold() -> None:
    subject = compile_formula(parse_text("props: p q\nG (p -> F q) & (p S !q)", "sets"), ModelOptions())
    document: dict[str, Any] = json.loads(certificate_text(certificate(subject, 3)))
    assert document["formula"]["props"] == ["p", "q"]
    assert verify(document) is None
    assert false_on(document) == []
    embedding, nodes = document["model"]["embedding"], document["formula"]["nodes"]
    of_p = next(node for node in nodes if node[0] == "holds" and node[2] == "p")
    changes: list[tuple[Any, Any, Any]] = [
        (embedding["[p]"], "p", "2"),
        (embedding["[p]"], "", "1"),
        (embedding, "[p]", {"q": "1"}),
        (of_p, 2, "q"),
        (document["formula"], "props", ["q", "p"]),
        (document["formula"], "props", ["p", "q", "r"]),
        (document["model"], "props", ["p"]),
    ]
    for place, key, value in changes:
        before = copy.deepcopy(place[key]) if key in place or isinstance(place, list) else ...
        place[key] = value
        assert sealed(document) is not None, (key, value)
        if before is ...:
            del place[key]
        else:
            place[key] = before
    assert sealed(document) is None


def test_a_wide_conjunction_is_followed() -> None:
    parts = " & ".join(f"G (a{k} -> F a{(7 * k + 3) % 40})" for k in range(40))
    symbols = " ".join(f"a{k}" for k in range(40))
    document = certificate(compile_formula(parse_text(f"alphabet: {symbols}\n{parts}", "wide"), ModelOptions()), 3)
    assert verify(document) is None


OPTIONS = st.builds(
    ModelOptions,
    regime=st.sampled_from(["temperature", "position"]),
    at=st.sampled_from(["first", "last"]),
    single_head=st.booleans(),
    counting=st.sampled_from([None, "sign"]),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(formulas("ab", 4), counting_formulas("ab")), OPTIONS)
@example(ast.Not(ast.Truth(True)), ModelOptions())
@example(ast.Truth(True), ModelOptions())
def test_certificates_of_random_formulas_are_valid_and_true(formula: ast.Formula, options: ModelOptions) -> None:
    """The certificate of a formula is valid, true, and about that formula and network."""
    written = ast.FormulaFile(("a", "b"), formula, at=options.at or "last")
    try:
        subject = compile_formula(parse_text(format_file(written), "random"), options)
        document = json.loads(certificate_text(certificate(subject, 3)))
    except (Undecided, Unsupported):
        return
    assert verify(document) is None
    check_labels(document)
    check_formula(document, subject.formula, "file")
    check_model(document, subject, "model")
    assert false_on(document, 3) == []
