"""Soundness of proofs: a network with one number changed is never proved when a word refutes it."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random

import pytest

from hardsim.run.soft import rounded
from tests.proof.formulas.perturb import perturbed
from tests.support.check import FormulaTarget, prove
from tests.support.language import Oracle, Undecided, desugar, parse_expression
from tests.support.model import SoftModel, Transformer
from tests.support.subjects import in_regimes

FORMULAS = (
    "a S b", "Y a", "O(a & Y b)", "X a", "b U a", "#L[a] > #L[b]", "ODD(#L[a])", "!(a S Y b) & O a",
    "first | #[a] = #[b]", "H(a -> Y b) | last",
)  # fmt: skip


@cache
def subjects() -> tuple[FormulaTarget, ...]:
    """Return every formula in every regime that has a construction."""
    return tuple(subject for text in FORMULAS for subject in in_regimes(parse_expression(text, ["a", "b"])))


def perturbations(count: int, seed: int) -> Iterator[tuple[FormulaTarget, str, Transformer]]:
    """Yield subjects with a name of the change in their network, and the changed network."""
    rng = Random(seed)
    while count:
        subject = rng.choice(subjects())
        if (case := perturbed(subject.model, rng)) is not None:
            count -= 1
            yield subject, *case


def refuting_word(subject: FormulaTarget, model: Transformer, longest: int) -> tuple[str, ...] | None:
    """Return a shortest word on which the network certainly differs from the formula, by balls; None if there is
    none.
    """
    oracle, forward = Oracle(subject.formula), SoftModel(model, rounds=True)
    for n in range(1, longest + 1):
        for word in product(subject.formula.alphabet, repeat=n):
            try:
                answer = rounded(forward.run(word).output)
            except Undecided:
                continue  # on a threshold, as far as the limit of the balls can see: nothing certain
            if answer is not oracle.accepts(word):
                return word
    return None


def sweep(count: int, longest: int, seed: int) -> Counter[str]:
    """Count changed networks that were proved, refuted by a word, or neither; fail on one that is both."""
    found: Counter[str] = Counter()
    for subject, kind, model in perturbations(count, seed):
        proof = prove(model, subject.program, longest, desugar(subject.formula))
        word = refuting_word(subject, model, longest)
        assert not (proof.proved and word), (kind, subject.formula, subject.program.regime, word)
        if proof.proved:
            # The network is right on every word: the change was small enough, or harmless.
            found[f"proved, {kind} changed"] += 1
        elif word is not None:
            found["refuted by a word"] += 1
        else:
            assert proof.network.reason, "a failed proof must have a reason"
            found["right as far as tried, not proved"] += 1
    return found


@pytest.mark.slow
def test_no_changed_network_is_proved_and_refuted() -> None:
    found = sweep(120, 5, seed=1)
    print(found)
    # Each outcome must occur often enough for the test to be meaningful; for example, sharper temperatures are proved.
    assert found["refuted by a word"] >= 30
    assert sum(number for what, number in found.items() if what.startswith("proved")) >= 20
    assert {"proved, tau changed", "proved, beta changed", "proved, key changed"} <= found.keys()


@pytest.mark.slow
def test_no_changed_network_of_a_thousand_is_proved_and_refuted() -> None:
    found = sweep(1000, 8, seed=2)
    print(found)
    assert found["refuted by a word"] >= 300
