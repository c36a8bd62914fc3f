"""Tests of `prove`: proofs, refutations by a word, and neither."""

from dataclasses import replace
from fractions import Fraction

from hardsim.proof.shared.result import WorstCase
from hardsim.proving.prove import words_of
from tests.support.check import FormulaTarget, Verdict, prove_subject
from tests.support.subjects import compiled, evaluations, known, stated_to_be


def subject_of(text: str, beta: str = "4", alphabet: str = "abc", regime: str = "temperature") -> FormulaTarget:
    return compiled(text, regime, Fraction(beta), alphabet)


def test_a_long_refutation_comes_from_the_worst_case() -> None:
    # With q = e^(-2.77/2) = 0.25031 the series of k b's reaches 1/3 only at k = 5: no word of length 3 refutes.
    result = prove_subject(subject_of("a S b", "2.77"), 20, search=50)
    assert result.verdict is Verdict.REFUTED
    assert "".join(known(result.mismatch).word) in ("bbbbbc", "cccccb")  # either side of the threshold
    (found,) = evaluations(subject_of("a S b", "2.77"), [known(result.mismatch).word])
    assert found.mismatch is not None


def test_heads_only_claims_nothing_about_the_formula() -> None:
    lie = stated_to_be(subject_of("a S b"), "b S a")
    assert prove_subject(lie, 6, heads_only=True).verdict is Verdict.PROVED
    found = prove_subject(lie, 6)
    assert (found.verdict, known(found.mismatch).kind) == (Verdict.REFUTED, "hard/oracle")
    proof = known(found.proof)
    assert proof.network.proved
    assert not known(proof.meaning).proved


def test_words_that_a_worst_case_suggests() -> None:
    case = WorstCase(4, 3, Fraction(0), Fraction(1), None, 1, (), ("b", "", "c", ""))
    assert [("".join(word)) for word in words_of(case, ("a", "b", "c"))] == ["baca", "bac", "ca"]
    assert words_of(replace(case, symbols=None), ("a",)) == []
