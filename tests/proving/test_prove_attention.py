"""Tests of proofs of hard-attention models and programs: by structure, by every word, none, and words that refute."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardsim
from hardsim.proving.prove import ProofResult, prove_every_length
from hardsim.targets.result import Answer
from tests.campaign.test_preparation import check
from tests.support.attention_models import HEAD, Document, critical, majority, sided, some_a, some_a_by_words, with_head
from tests.support.check import Subject, Verdict, Word, prove_attention
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.subjects import at_temperature, known, program_of, shipped, subject_of

HALF = Fraction(1, 2)
REVERSE = "alphabet: a b\nm(i) := len(i) + 1 - pos(i)\nY(i) := leftmost_j[1, pos(j) = m(i)] in(j) : in(i)\n"
SECOND = (
    "alphabet: a b\ntwo(i) := Q_a(i) & pos(i) = 2 ? 2 : 0\ntotal(i) := psum_j[j <= i] two(j)\nY(i) := total(i) > 1\n"
)
"""A program that accepts if an a is second. No sum leaves the range, as there are then two positions; the program's
analysis does not know that.
"""


def prove(subject: Subject, max_n: int, tau: str | None = None, **given: Any) -> ProofResult:
    return prove_attention(subject if tau is None else at_temperature(subject, tau), max_n, **given)


def reasons(proof: ProofResult) -> list[str | None]:
    return [length.reason for length in proof.lengths]


# ---- proved ----


def test_the_distance_and_the_temperature(tmp_path: Path) -> None:
    """Outputs 0 and 1 are 1/4 from 3/4; the bound (n - 1) e^(-1/tau) must be at most half of that."""
    two = prove(subject_of(tmp_path, some_a_by_words()), 3).lengths[1]
    assert two.distance == Fraction(1, 4)
    assert known(two.bound) <= Fraction(1, 8)
    assert known(two.temperature) < critical(2)
    (one,) = prove(subject_of(tmp_path, some_a()), 1).lengths
    # A single position is attended to exactly.
    assert one.temperature == 1
    assert one.bound == 0
    assert prove(subject_of(tmp_path, some_a()), 1).reach.startswith("every word of length 1:")


def test_what_is_proved_holds_of_every_word(tmp_path: Path) -> None:
    """Temperatures on both sides of the critical one: above it there is no proof, below it only what a check
    confirms.
    """
    subject = subject_of(tmp_path, some_a())
    for k in range(1, 12):
        tau = f"{k}/10"
        proof, result = prove(subject, 3, tau), check(at_temperature(subject, tau), 3)
        assert (proof.verdict is Verdict.REFUTED) is (result.verdict is Verdict.REFUTED) is (k / 10 > critical(3))
        if proof.verdict is Verdict.PROVED:
            assert result.verdict is Verdict.CERTIFIED
    # (n - 1) e^(-1/tau) < 1/4 at n = 3: tau < 1/ln 8 = 0.48.
    assert prove(subject, 3, "47/100").verdict is Verdict.PROVED
    assert prove(subject, 3, "49/100").verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
def test_ties_of_one_side_are_broken(tmp_path: Path, weighting: str) -> None:
    subject = subject_of(tmp_path, sided(weighting))
    assert prove(subject, 3).verdict is Verdict.PROVED
    # With unbroken ties, softmax at ab is exactly on the threshold, which no precision decides.
    found = prove(subject, 2, "1/4")
    assert (found.verdict, found.proved_to, found.mismatch) == (Verdict.UNDECIDED, 1, None)
    assert found.tried == 9
    assert check(at_temperature(subject, "1/4"), 2).verdict is Verdict.CERTIFIED


@given(
    weighting=st.sampled_from(["leftmost", "rightmost"]),
    tau=st.sampled_from(["1/1000", "1/7", "1/3", "1", "2"]),
    threshold=st.integers(1, 100).map(lambda above: Fraction(above, 101)),
)
def test_a_softmax_file_is_judged_with_the_weights_that_it_has(
    weighting: str, tau: str, threshold: Fraction, tmp_path_factory: pytest.TempPathFactory
) -> None:
    document = with_head(sided(weighting), weighting="softmax", hardmax=weighting)
    document |= {"temperature": tau, "threshold": str(threshold)}
    subject = subject_of(tmp_path_factory.mktemp("soft"), document)
    sharp = exp(min(float(1 / Fraction(tau)), 700.0))

    def soft(word: tuple[str, ...]) -> bool:
        a, b, c = (word.count(symbol) for symbol in "abc")
        return a * sharp / (a * sharp + b * sharp + c) > threshold

    def hard(word: tuple[str, ...]) -> bool:
        letters = [symbol for symbol in word if symbol != "c"] or ["c"]
        return letters[0 if weighting == "leftmost" else -1] == "a"

    wrong = [word for n in (1, 2, 3) for word in product("abc", repeat=n) if soft(word) != hard(word)]
    found = prove(subject, 3)
    assert (found.verdict is Verdict.REFUTED) == bool(wrong)
    assert found.mismatch is None or found.mismatch.word in wrong
    checked = check(subject, 3)
    assert (checked.verdict is Verdict.REFUTED) == bool(wrong)
    assert sum(length.soft_mismatches for length in checked.lengths) == len(wrong)


def test_an_epsilon_beyond_the_distance_proves_nothing(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    proof = prove_attention(at_temperature(subject, epsilon=Fraction(1, 2)), 2)
    assert (proof.verdict, proof.proved_to, proof.tried) == (Verdict.UNDECIDED, 1, 0)
    assert "not smaller than its distance from the threshold" in proof.reach
    assert "tried" not in proof.reach


# ---- not proved ----


def test_a_false_gap_proves_nothing(tmp_path: Path) -> None:
    proof = prove(subject_of(tmp_path, with_head(some_a_by_words(), gap="2")), 3)
    assert (proof.verdict, proof.proved_to) == (Verdict.UNDECIDED, 1)  # length 1 has no two scores
    assert reasons(proof)[1:] == [f"the declared gap of head {HEAD} at position 1 does not hold"] * 2
    assert prove(subject_of(tmp_path, with_head(gap="1")), 3).verdict is Verdict.PROVED


def test_a_threshold_on_an_output_is_undecided(tmp_path: Path) -> None:
    proof = prove(subject_of(tmp_path, majority()), 4)
    assert (proof.verdict, proof.proved_to, len(proof.lengths)) == (Verdict.UNDECIDED, 1, 2)
    assert (known(proof.mismatch).word, known(proof.mismatch).refutes) == (("a", "b"), False)
    assert proof.reach == (
        "proved to length 1; not at length 2: hard attention itself decides nothing on `ab`: its output (read by head "
        "some a) is exactly the threshold 1/2, so softmax has no answer to agree with"
    )


def test_a_word_on_the_threshold_is_the_reason_why_there_is_no_proof_for_every_length(tmp_path: Path) -> None:
    reach = prove_every_length(subject_of(tmp_path, majority()), 4).reach
    assert "on `ab`: its output (read by head some a) is exactly the threshold 1/2" in reach
    assert reach.endswith("Next: move the threshold, or add an offset to the output, so that no word lies on it")


def near(directory: Path) -> Subject:
    """A transduction whose outputs 3/5 and 2/5 are 1/10 from the threshold: words become xxx... if there is an a,
    else yyy...
    """
    document: Document = with_head(
        some_a(threshold="1/2"), w_v={"x": {"a": "3/5", "b": "2/5"}, "y": {"a": "2/5", "b": "3/5"}}
    ) | {
        "coordinates": ["1", "a", "b", "x", "y"],
        "embedding": {"a": {"1": "1", "a": "1"}, "b": {"1": "1", "b": "1"}},
        "output": "x",
        "outputs": {"x": "x", "y": "y"},
    }
    return subject_of(directory, document)


def test_outputs_of_a_transduction_are_as_near_to_the_threshold_as_they_are(tmp_path: Path) -> None:
    subject = near(tmp_path)
    assert prove(subject, 3).verdict is Verdict.PROVED
    assert {length.distance for length in prove(subject, 3).lengths} == {Fraction(1, 10)}
    # At abb softmax is on the side of b where 2 e^(-1/tau) > 1.
    wrong = prove(subject, 3, "2")
    assert wrong.verdict is Verdict.REFUTED
    mismatch = known(wrong.mismatch)
    assert (len(mismatch.word), mismatch.word.count("a")) == (3, 1)
    assert (mismatch.hard, mismatch.soft) == (("x",) * 3, ("y",) * 3)


def test_too_many_words(tmp_path: Path) -> None:
    model = prove(subject_of(tmp_path, some_a_by_words()), 4, every=8)
    assert (model.verdict, model.proved_to) == (Verdict.UNDECIDED, 3)
    assert reasons(model)[3] == (
        "a gap that is measured, or declared by the file, does not cover words that were not tried, and 16 words are "
        "too many"
    )
    subject = program_of(tmp_path, SECOND)
    assert not subject.in_range
    assert reasons(prove(subject, 3, every=4))[2] == (
        "its integers may leave their range on some of the 8 words, which are too many to be tried"
    )
    # A proof by structure needs no words.
    assert prove(program_of(tmp_path, REVERSE), 3, every=0).verdict is Verdict.PROVED


# ---- refuted ----


def test_a_structural_program_is_refuted_at_too_high_a_temperature() -> None:
    proof = prove(shipped("ab_plus.srasp"), 3, "100")
    assert (proof.verdict, proof.reach) == (Verdict.REFUTED, "soft/hard disagree on a word of length 2")
    mismatch = known(proof.mismatch)
    # The only word of its length in the language: every possible output of softmax is too low.
    assert (mismatch.word, mismatch.oracle, mismatch.soft) == (("a", "b"), True, False)


def test_hard_attention_that_is_not_the_program_is_refuted(tmp_path: Path) -> None:
    subject = program_of(tmp_path, SECOND)
    assert not subject.in_range
    real = subject.oracle

    def wrong(word: Word) -> Answer:
        return False if word == ("b", "a") else known(real)(word)

    proof = prove(replace(subject, oracle=wrong), 3)
    assert (proof.verdict, proof.reach) == (Verdict.REFUTED, "hard/oracle disagree on a word of length 2")
    assert known(proof.mismatch).word == ("b", "a")
    assert reasons(proof) == [None, "hard attention differs from the program"]


def test_a_broken_network_is_refuted(tmp_path: Path) -> None:
    """Without its last layer's hidden units the network loses its output."""
    subject = program_of(tmp_path, SECOND)
    last = subject.program.layers[-1]
    broken = replace(subject.program, layers=(*subject.program.layers[:-1], replace(last, units=(), biases=())))
    proof = prove(replace(subject, program=broken), 2)
    assert (proof.verdict, known(proof.mismatch).kind) == (Verdict.REFUTED, "hard/oracle")
    assert known(proof.mismatch).word in (("a", "a"), ("b", "a"))  # the output is 0 now


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        ("0", "is 0 at i = 0, n = 1"),
        ("1/(n-3)", "is -1/2 at i = 0, n = 1"),
        ("(n-20)^2/n^6", "is 0 at i = 0, n = 20"),
        ("n/(n-1)", "division by zero in 1 / 0, at n = 1"),
    ],
)
def test_a_temperature_that_is_none_is_refused_before_every_length_is_proved(tau: str, message: str) -> None:
    model = hardsim.load("formulas/reverse.srasp")
    assert message in str(raised(InputError, model.prove, all_n=True, tau=tau))


def test_words_are_tried_where_a_given_temperature_has_no_proof_for_every_length() -> None:
    model = hardsim.load("formulas/same_ends.ahat.json")
    found = model.prove(all_n=True, tau="1")
    assert found.verdict == "REFUTED"
    assert found.mismatch is not None
    assert found.tried >= 2
    assert not model.check(max_n=len(found.mismatch.word), tau="1").agreed
