"""Every proof has a certificate, except proofs by running every word."""

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import exp as e_to
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hardsim.api import Model, load
from hardsim.campaign.evaluate import compiled_text
from hardsim.options.table import Request
from hardsim.proving.formula_certificate import certificate, certificate_text
from hardsim.proving.program_certificate import program_certificate
from hardsim.proving.proof_files import written_down
from hardsim.proving.prove import plan_proof
from hardsim.proving.verify import check_network
from hardsim.targets.opening import of_document
from hardsim.verify import digests, verify
from hardsim.verify.arithmetic import GRID, ONE, Rejected, above, falls, worst, worst_of_all
from tests.support.certificate_definitions import false_on
from tests.support.check import ModelOptions, Subject, Verdict, prove_attention
from tests.support.hostile_certificates import sealed
from tests.support.language import InputError, SourceError, Undecided
from tests.support.mistakes import raised
from tests.support.model import REGIMES
from tests.support.program_certificates import sealed as program_sealed
from tests.support.subjects import compiled, shipped

FORMULAS = Path(__file__).resolve().parents[2] / "formulas"


def made(subject: Subject, max_n: int | None, min_n: int = 1) -> dict[str, Any]:
    """Return a certificate, read back from its text."""
    document: dict[str, Any] = json.loads(certificate_text(certificate(subject, max_n, min_n)))
    return document


# ---- bounds of the checker ----


def test_a_bound_of_all_positions_is_one_of_each() -> None:
    random = Random(7)
    for _ in range(300):
        order = [
            [(selected, value, Decimal(low), Decimal(low + 1)) for selected in (0, 1) for value in (0, 1)
             if random.random() < 0.6 for low in [random.randint(1, 50)]] or [(0, 0, ONE, ONE)]
            for _ in range(random.randint(1, 5))
        ]  # fmt: skip
        for goal in (0, 1):
            together = worst_of_all(order, goal)
            for seen in range(1, len(order) + 1):
                # The checker needs both cases: some position is selected, or none is.
                alone = [[kind for kind in types if not kind[0]] for types in order[:seen]]
                alone[-1:] = [[(1, *kind[1:]) for kind in alone[-1]]]
                for case in (order[:seen], alone) if all(alone) else (order[:seen],):
                    found = worst(case, goal)
                    assert found is None or (together is not None and found <= together)


def test_what_is_read_is_above_or_below_the_goal() -> None:
    logits, values = [0, -3, -1, -700], [2, 1, 5, 9]
    weights = [e_to(logit / 2) for logit in logits]
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    for goal in (1, 2, 4, 9):
        high = above(logits, 2, values, goal, 1)
        low = -above(logits, 2, [-value for value in values], -goal, 1)
        assert low <= (mean - goal) * GRID + 1
        assert high >= (mean - goal) * GRID - 1
        assert 0 <= high - low <= 3


def test_scores_of_a_look_up_are_recognised() -> None:
    fixed, slope = [-3 * j * j + 5 for j in range(1, 7)], [6 * j - 1 for j in range(1, 7)]
    assert falls(fixed, slope) == 6
    assert falls([*fixed[:-1], 0], slope) == falls(fixed, [*slope[:-1], 0]) == falls(fixed[:1], slope[:1]) == 0
    assert falls([-a for a in fixed], [-a for a in slope]) == 0


# ---- two look-ups together ----


@pytest.mark.parametrize("text", ["#L[a or b] > #L[b or c]", "#L[a] = #L[b]"])
def test_two_numbers_that_are_looked_up_alike_are_off_together(text: str) -> None:
    # Below beta 1.952 the error of each look-up may exceed 1/8 (tests/proof/formulas/test_look_ups.py).
    document = made(compiled(text, beta=Fraction(19, 10), letters="abc", counting="lookup"), 6, 5)
    assert verify(document) is None
    assert false_on({**document, "min_n": 1}, 0) == []
    for temperature in ("2/n", "6/(5*n)"):
        changed = json.loads(json.dumps(document))
        changed["model"]["temperature"] = temperature
        assert (sealed(changed) is None) is (temperature != "2/n")
    # Other combinations have no such bound.
    other = compiled("#L[a] + #L[b] > #L[c] + 1", beta=Fraction(19, 10), letters="abc", counting="lookup")
    raised(Undecided, certificate, other, 6, 5, match="do not decide a clip")


# ---- one length for all ----


def test_one_length_stands_for_all_where_nothing_depends_on_it() -> None:
    document = made(compiled("a S b", "causal-temperature", letters="abc"), 5)
    assert {len(rows) for rows in document["bounds"].values()} == {1}
    assert verify(document) is None
    assert false_on(document) == []
    other = made(compiled("a S b", "temperature", letters="abc"), 5)
    assert {len(rows) for rows in other["bounds"].values()} == {5}


def test_one_length_does_not_stand_for_all_where_something_depends_on_it() -> None:
    def rejected(change: Any) -> str:
        document = made(compiled("a S b", "causal-temperature", letters="abc"), 4)
        change(document)
        return sealed(document) or ""

    # The network accepts words of four symbols, so it computes the formula at length 4 alone.
    def only_four(document: dict[str, Any]) -> None:
        document["formula"]["nodes"].append(["at least", [[0, False]], [[1, ""]], -4])
        at = len(document["formula"]["nodes"])
        document["formula"]["nodes"].append(["and", [document["formula"]["root"], [at - 1, False]]])
        document["formula"]["nodes"][at - 1][1] = [[everything(document), False]]
        document["formula"]["root"] = [at, False]

    def everything(document: dict[str, Any]) -> int:
        nodes = document["formula"]["nodes"]
        return next(k for k, node in enumerate(nodes) if sorted(node[2:]) == ["a", "b", "c"])

    assert "not the truth of formula.root at length 1" in rejected(only_four)
    assert rejected(lambda document: document["model"].update(temperature="1/i**2 + (4 - n)**2"))
    assert "bounds" in (verify(tampered()) or "")


def tampered() -> dict[str, Any]:
    """Return a certificate of lengths to 4 whose text claims lengths to 5."""
    document = made(compiled("a S b", "causal-temperature", letters="abc"), 4)
    document["max_n"] = 5
    document["bounds"] = {name: [[0, 0]] for name in document["bounds"]}
    document["digests"] = digests(document)
    return document


@pytest.mark.slow
def test_long_lengths_have_certificates() -> None:
    assert verify(made(compiled("a S b", "causal-temperature", letters="abc"), 300)) is None


# ---- constant formulas ----


@pytest.mark.parametrize("text", ["(F X F false) <-> !b", "!(true U Y false) & b", "(H true) & b", "(a R true) & b"])
@pytest.mark.parametrize("max_n", [3, None])
def test_what_no_word_changes_is_seen(text: str, max_n: int | None) -> None:
    document = made(compiled(text), max_n)
    assert verify(document) is None
    assert false_on(document) == []
    document["formula"]["root"][1] ^= True
    assert "is not the truth of formula.root" in (sealed(document) or "")


# ---- models ----


def hard(name: str, regime: str = "temperature", **options: Any) -> Subject:
    """Return the hard-attention model of a shipped formula."""
    text = compiled_text(shipped(name, regime=regime), True, 8)
    return of_document(text.encode(), name).compile(ModelOptions(**options))


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["since.ltl", "majority.ltl", "mod3.ltl", "first_half.ltl"])
def test_a_hard_attention_model_has_the_certificate_of_its_formula(name: str) -> None:
    model, formula = hard(name), shipped(name)
    document = made(model, None)
    assert document["formula"] == made(formula, None)["formula"]
    assert verify(document) is None
    document["formula"]["root"][1] ^= True
    assert sealed(document) is not None


@pytest.mark.parametrize(("name", "wrong"), [("even_length.ltl", "i % (i - 1) == 0"), ("middle_one.ltl", "PRIME(i/2)")])
def test_predicates_of_positions_are_encodings_of_programs(name: str, wrong: str) -> None:
    model = hard(name, epsilon=Fraction(1, 100))
    document = program_certificate(prove_attention(model, 4, search=0))
    assert verify(document) is None
    check_network(document, (), model, "model")
    (own,) = (text for text in document["model"]["encodings"].values() if "==" in text)
    for place, text in document["model"]["encodings"].items():
        if text == own:
            document["model"]["encodings"][place] = wrong
    assert "may be 0" in (program_sealed(document) or "") or "not be an integer" in (program_sealed(document) or "")
    raised(Rejected, check_network, document, (), model, "model")


# ---- everything that ships ----


def cases() -> Iterator[tuple[Model, dict[str, Any], Subject]]:
    """Yield all shipped inputs in every regime, down to betas at which nothing is proved, also as hard-attention
    models.
    """
    for path in sorted(FORMULAS.iterdir()):
        if path.suffix not in (".ltl", ".cr", ".srasp") and not path.name.endswith(".ahat.json"):
            continue
        given = load(str(path))
        if path.suffix not in (".ltl", ".cr"):
            yield given, {}, given._input.compile(ModelOptions())
            continue
        for regime in REGIMES:
            for beta in (None, Fraction(2), Fraction(1)):
                try:
                    subject = given._input.compile(ModelOptions(regime, beta))
                except (InputError, SourceError):
                    continue
                yield given, {"regime": regime, "beta": beta}, subject
                if beta is None:
                    document = compiled_text(subject, True, 8)
                    yield given, {"hard": regime}, of_document(document.encode(), path.name).compile(ModelOptions())


@pytest.mark.slow
@pytest.mark.parametrize("request_", [Request(max_n=6, written=frozenset({"max_n"})), Request(max_n=6, all_n=True)])
def test_whatever_is_proved_has_a_certificate(request_: Request) -> None:
    proved = 0
    for number, (given, options, subject) in enumerate(cases()):
        if number % 12:
            continue
        result = plan_proof(subject, request_).prove(None)
        if result.verdict is not Verdict.PROVED or any(one.proved_by == "every word" for one in result.lengths):
            continue
        proved += 1
        text, _ = written_down("certificate", subject, request_, result)
        assert verify(json.loads(text)) is None, (given.name, options)
        assert len(text) < 5_000_000
    assert proved > 20
