"""Proofs for every length: soundness on changed networks, numbers from the lemmas, and refusals with their reasons."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import exp, isclose

import pytest

from hardsim.program.budget import choose
from hardsim.proof.formulas import meaning
from hardsim.proof.formulas.every_length import prove_general
from hardsim.targets.subject import own_predicates
from tests.proof.formulas.test_perturbed import perturbations, refuting_word, subjects
from tests.support.check import FormulaTarget, ModelOptions, compile_formula, prove
from tests.support.language import desugar, parse_expression, parse_text
from tests.support.model import PROVEN, REGIMES, Head, Mask, Weighting, assemble
from tests.support.networks import edited_head
from tests.support.subjects import compiled, general_proof, known


def sweep(count: int, longest: int, seed: int) -> Counter[str]:
    """Count changed networks that were proved for every length, refuted by a word, or neither.

    Fail on a network that is both, or that is proved for every length while the finite prover finds no proof
    for a few.
    """
    found: Counter[str] = Counter()
    for subject, kind, model in perturbations(count, seed):
        proof = general_proof(subject, model)
        if proof.proved:
            found[f"proved, {kind} changed"] += 1
            assert refuting_word(subject, model, longest) is None, (kind, subject.formula, subject.program.regime)
            assert prove(model, subject.program, longest + 3, desugar(subject.formula)).proved
        elif refuting_word(subject, model, longest - 1) is not None:
            found["refuted by a word"] += 1
        else:
            assert proof.reason, "a failed proof must have a reason"
            found["right as far as tried, not proved"] += 1
    return found


@pytest.mark.slow
def test_no_changed_network_is_proved_for_every_length_and_refuted() -> None:
    found = sweep(120, 5, seed=3)
    print(found)
    assert found["refuted by a word"] >= 30
    assert sum(number for what, number in found.items() if what.startswith("proved")) >= 15
    assert {"proved, tau changed", "proved, beta changed", "proved, key changed"} <= found.keys()


@pytest.mark.slow
def test_no_changed_network_of_a_thousand_is_proved_for_every_length_and_refuted() -> None:
    found = sweep(1000, 7, seed=4)
    print(found)
    assert found["refuted by a word"] >= 300


def since(beta: Fraction, regime: str = "temperature", text: str = "a S b") -> FormulaTarget:
    return compiled(text, regime, beta, "abc")


@pytest.mark.parametrize("regime", PROVEN)
def test_since_is_right_at_every_length_from_two_ln_four_on(regime: str) -> None:
    # e^(-beta/2) <= 1/4 iff beta >= 2 ln 4 = 2.772588...; Lemma 6 alone, 2x/(1 + x) <= 1/4, needs 2 ln 7 = 3.89182...
    assert exp(-2.7726 / 2) < 0.25 < exp(-2.7725 / 2)
    assert general_proof(since(Fraction(27726, 10000), regime)).proved
    proof = general_proof(since(Fraction(4), regime))
    (head,) = proof.heads
    argument = known(head.argument)
    assert argument.g is not None
    if regime != "causal-temperature":
        assert not general_proof(since(Fraction(27725, 10000), regime)).proved
        assert argument.g == 2
    # A position without q falls behind at least as fast as a tied one.
    assert argument.g >= 2
    x = exp(-float(argument.g))
    assert isclose(argument.error, x, rel_tol=1e-12)
    assert argument.error >= x * (1 - 1e-15)
    assert isclose(known(argument.lemma_error), 2 * x / (1 + x), rel_tol=1e-9)
    assert isclose(float(known(proof.margin)), 0.5 - 2 * x, rel_tol=1e-9)


@pytest.mark.slow
def test_the_bound_for_every_length_covers_the_worst_cases_of_each() -> None:
    compared = 0
    for subject in subjects():
        proof = general_proof(subject)
        assert proof.proved, (subject.formula, subject.program.regime, proof.reason)
        finite = {head.name: head for head in prove(subject.model, subject.program, 12).heads}
        for head in proof.heads:
            case = finite[head.name].worst
            assert (head.argument is None) == finite[head.name].exact
            if head.argument is not None and case is not None and case.margin is not None:
                # The finite prover shows the worst margin; its error is the largest one up to the prover's own slack.
                assert float(case.error) <= head.argument.error * (1 + 1e-9) + 1e-12
                assert known(head.margin) <= case.margin + Fraction(1, 10**9)
                compared += 1
    assert compared > 40


def test_sums_of_look_ups_are_bounded_by_their_closed_forms() -> None:
    for subject, kind in ((since(Fraction(3), text="#L[a] > #L[b]"), "number"),
                          (since(Fraction(3), text="PRIME(#L[a])"), "table")):  # fmt: skip
        proof = general_proof(subject)
        heads = [head.argument for head in proof.heads if head.argument and "count" in head.argument.shape]
        assert heads
        x = exp(-3.0)
        terms = range(1, 40)
        weights = sum(x ** (m * m) for m in terms)
        least = (sum(m * x ** (m * m) for m in terms) / (1 + weights) if kind == "number"
                 else 2 * (t := sum(x ** (m * m) for m in terms)) / (1 + 2 * t))  # fmt: skip
        for argument in heads:
            assert argument.g == 3
            assert least <= argument.error <= least * 1.001


def long_words(text: str, beta: Fraction, beyond: int, regime: str = "temperature") -> bool:
    """Return True if the first link is proved for words of more than `beyond` symbols."""
    subject = compiled(text, regime, beta, "abc", counting="lookup" if "#" in text else None)
    return prove_general(subject.model, subject.program, beyond=beyond).network.proved


def test_of_long_words_only_what_is_near_the_winner_counts() -> None:
    # Y: x^2 + x^4 + ... = 1/3, x = e^(-beta/2), at beta = 2 ln 2 = 1.38629...; unselected positions lose beta n/2
    # more.
    for regime in PROVEN:
        assert long_words("Y a", Fraction(13864, 10000), 40, regime)
        assert not long_words("Y a", Fraction(13862, 10000), 40, regime)
        # Since, over symbols such that every wrong position may be selected: the same beta as at every length.
        assert long_words("a S b", Fraction(27726, 10000), 40, regime)
        assert not long_words("a S b", Fraction(27725, 10000), 40, regime)
        # If only unselected positions are wrong, a head over more symbols may be less sharp.
        assert long_words("O a", Fraction(1, 2), 40, regime)
        assert not long_words("O a", Fraction(1, 2), 0, regime)
    assert not long_words("O a", Fraction(1, 2), 4)


def test_predicates_of_period_two_are_wrong_at_odd_distances_alone() -> None:
    # ODD: 2x/(1 + 2x) = 1/4 at x = 1/6, beta = ln 6 = 1.79175...; all distances: x + x^4 = 1/6, beta = 1.79632...
    for text, least in (("ODD(#L[a])", 1.7918), ("PRIME(#L[a])", 1.7964), ("MOD(3, 0, #L[a])", 1.7964)):
        assert long_words(text, Fraction(round(least * 10000), 10000), 40)
        assert not long_words(text, Fraction(round(least * 10000) - 1, 10000), 40)


def test_the_errors_of_two_look_ups_of_one_kind_cancel() -> None:
    # Each alone is off by S/(1 + R) <= 1/4 from beta = 1.16703 on (S = sum m x^(m^2), R = sum x^(m^2), x = e^-beta).
    for text in ("#L[a] > #L[b]", "#L[a] = #L[b]", "#L[a] > #L[b] + 2"):
        assert long_words(text, Fraction(1168, 1000), 40), text
        assert not long_words(text, Fraction(1168, 1000), 0), text
    assert not long_words("#L[a] > #L[b]", Fraction(1166, 1000), 40)
    # Winners 7 positions apart may stand on the two sides of the middle of 13.
    refused = compiled("#L[a] > #L[b] + 6", beta=Fraction(3, 2), counting="lookup")
    assert prove_general(refused.model, refused.program, beyond=40).network.proved
    assert "can add up" in known(prove_general(refused.model, refused.program, beyond=12).reason)
    # Errors of one number taken twice, or of two kinds of counts, add up: 2 S/(1 + R) <= 1/4 from 1.9520 on.
    assert not long_words("#L[a] > #R[b]", Fraction(19, 10), 40)
    assert long_words("#L[a] > #R[b]", Fraction(1953, 1000), 40)


OWN = "alphabet: a b\npred third(k, n) = k * 3 == n\n{}\n"


@pytest.mark.parametrize("formula", ["#L[third(pos)] > #L[a]", "third(#L[a])", "a & third(pos)", "pos * 2 > len + 3"])
def test_own_predicates_count_as_booleans(formula: str) -> None:
    proof = general_proof(compile_formula(parse_text(OWN.format(formula)), ModelOptions()))
    assert proof.proved, proof.reason
    assert any("third" in text for text in proof.predicates) == ("third" in formula)


def test_a_predicate_with_another_definition_is_not_the_formulas() -> None:
    subject = compile_formula(file := parse_text(OWN.format("third(#L[a])")), ModelOptions())
    users = own_predicates(parse_text(OWN.format("third(#L[a])").replace("k * 3", "k * 2")))
    proof = prove_general(subject.model, subject.program, desugar(file), users)
    assert proof.network.proved
    assert not known(proof.meaning).proved


@pytest.mark.sweep
@pytest.mark.parametrize("regime", ["temperature", "position"])
@pytest.mark.parametrize("body", ["#L[first] <= 0", "#L[first] > 0", "a & !a", "true", "!first | #L[first] > 0"])
@pytest.mark.parametrize("side", ["L", "R", ""])
def test_predicates_of_counts_that_are_the_same_for_every_word(body: str, side: str, regime: str) -> None:
    for name in ("EVEN", "PRIME"):
        assert general_proof(compiled(f"{name}(#{side}[{body}])", regime)).reason is None


def test_another_formula_is_not_proved() -> None:
    subject = since(Fraction(4))
    for text in ("a S c", "b S b", "a U b", "Y(a S b)", "a S b & pos > 0 & len > 2"):
        other = desugar(parse_expression(text, list("abc")))
        proof = prove_general(subject.model, subject.program, other, {})
        assert proof.network.proved
        assert "not proved to be the formula" in known(proof.reason)


def test_what_is_not_proved_for_every_length_says_why() -> None:
    proof = general_proof(since(Fraction(4), "none"))
    assert "no positive rate" in known(proof.reason)
    assert proof.network.head == "S4.read"
    assert "can be so far off" in known(general_proof(since(Fraction(2))).reason)
    sums = since(Fraction(3), text="9 * #L[a] > 8 * #L[b]")
    assert "errors of the counts can add up" in known(general_proof(sums).reason)


def test_what_no_compiled_formula_has_is_refused() -> None:
    subject = since(Fraction(4))
    for model in (
        replace(subject.model, bos=True),
        replace(subject.model, threshold=0),
        replace(subject.model, reading="first"),
        edited_head(subject.model, 0, mask=Mask.STRICT_FUTURE),
    ):
        assert not general_proof(subject, model).network.proved
        assert not prove(model, subject.program, 3).network.proved


def test_a_kind_of_head_that_nobody_has_derived_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Yesterday's heads without a mask, mirrored, read the first even and the first odd position of the word. A row in
    `NEAREST` alone must not turn them into a proof of `Y a`.
    """
    monkeypatch.setitem(meaning.NEAREST, (Weighting.LEFTMOST, Mask.NONE), "I")
    program, core = compiled("Y a").program, desugar(parse_expression("Y a", ["a", "b"]))

    def turned(head: Head) -> Head:
        score = REGIMES["temperature"].score(known(head.select), "left")
        return replace(head, mask=Mask.NONE, weighting=Weighting.LEFTMOST, score=score)

    layers = [
        replace(layer, heads=tuple(turned(head) if head.select else head for head in layer.heads))
        for layer in program.layers
    ]
    other = replace(program, layers=tuple(layers))
    model = assemble(other, choose(other))
    assert prove(model, other, 6).network.proved
    with pytest.raises(AssertionError, match="'I'"):
        prove(model, other, 6, core)
    with pytest.raises(AssertionError, match="'I'"):
        prove_general(model, other, core)
