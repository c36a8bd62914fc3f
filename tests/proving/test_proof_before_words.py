"""Tests of checks that run the prover first: when they do, the verdict, and words that contradict a proof."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hardsim.errors import Contradiction
from hardsim.proving import proof_before_words
from hardsim.proving import prove as proving
from hardsim.proving.proof_before_words import LONGEST, MOST_POSITIONS
from hardsim.proving.prove import ProofResult
from tests.support.attention_models import some_a_by_words
from tests.support.check import (
    CheckOptions,
    CheckResult,
    Mismatch,
    Progress,
    Subject,
    Verdict,
    check_subject,
    check_with_proof,
    prove_attention,
    prove_subject,
)
from tests.support.model import Mask
from tests.support.networks import edited_head
from tests.support.subjects import at_temperature, compiled, known, program_of, shipped, subject_of, with_network

SOME_A = "alphabet: a b\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0\n"


def since(regime: str = "temperature", beta: str = "4") -> Subject:
    return compiled("a S b", regime, Fraction(beta), "abc")


def unproved() -> Subject:
    """Return a subject that is right but not provable: the mask of its head is not the specified one."""
    subject = compiled("a S b")
    return with_network(subject, edited_head(subject.model, 0, mask=Mask.NONE))


@pytest.fixture
def lengths_proved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths for which one of the provers was called."""
    found: list[int] = []

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def prover(subject: Any, max_n: int, *rest: Any, **named: Any) -> Any:
            found.append(max_n)
            return real(subject, max_n, *rest, **named)

        return prover

    monkeypatch.setattr(proving, "prove_subject", watched(prove_subject))
    monkeypatch.setattr(proving, "prove_attention", watched(prove_attention))
    return found


# ---- formulas ----


def test_a_proof_makes_the_verdict_and_the_words_the_numbers(lengths_proved: list[int]) -> None:
    options = CheckOptions(max_n=5)
    result, words = check_with_proof(since(), options), check_subject(since(), options)
    assert lengths_proved == [5]
    assert (result.verdict, words.verdict) == (Verdict.PROVED, Verdict.CERTIFIED)
    assert result.proof == (
        "every word of length 1 to 5, from the weights: the network accepts exactly what the formula says"
    )
    assert result.reach == f"{result.proof}; and on {words.reach}"
    assert result.second is not None
    assert result.second.made
    assert replace(result, verdict=words.verdict, reach=words.reach, proof=None, second=None, shown=None) == words


@pytest.mark.parametrize("engine", ["float64", "ball", "mpmath"])
def test_other_engines_stand_for_themselves(lengths_proved: list[int], engine: str) -> None:
    result = check_with_proof(since(), CheckOptions(max_n=2, engine=engine))
    assert (lengths_proved, result.proof) == ([], "not asked: a check asks the prover only with --engine auto")
    assert result.verdict is (Verdict.OBSERVED if engine == "mpmath" else Verdict.CERTIFIED)


def test_the_prover_runs_for_plain_softmax_as_well(lengths_proved: list[int]) -> None:
    result = check_with_proof(since("none"), CheckOptions(max_n=3))
    assert (result.verdict, lengths_proved) == (Verdict.REFUTED, [3])


def test_the_prover_runs_up_to_a_length(lengths_proved: list[int]) -> None:
    options = [CheckOptions(max_n=max_n, exhaustive=0, samples=0) for max_n in (LONGEST, LONGEST + 1)]
    assert [check_with_proof(since(), one).verdict for one in options] == [Verdict.PROVED, Verdict.CERTIFIED]
    assert lengths_proved == [LONGEST] == [64]


def test_without_a_proof_the_words_decide(lengths_proved: list[int]) -> None:
    result = check_with_proof(unproved(), CheckOptions(max_n=4))
    reason = known(prove_subject(unproved(), 4).unproved).reason
    assert (result.verdict, result.proof) == (Verdict.CERTIFIED, f"not proved: {reason}")
    assert result.reach == check_subject(unproved(), CheckOptions(max_n=4)).reach
    wrong = check_with_proof(since(beta="1"), CheckOptions(max_n=4))
    assert (wrong.verdict, lengths_proved) == (Verdict.REFUTED, [4, 4])
    assert wrong.mismatch is not None


def test_an_interrupted_check_keeps_the_verdict_of_its_words() -> None:
    def interrupt(state: Progress) -> None:
        if state.n == 2:
            raise KeyboardInterrupt

    result = check_with_proof(since(), CheckOptions(max_n=6), interrupt)
    assert (result.partial, result.verdict) == (True, Verdict.CERTIFIED)
    assert known(result.proof).startswith("every word of length 1 to 6")
    assert "every word" not in result.reach


@pytest.mark.parametrize("program", [False, True])
def test_a_word_that_contradicts_a_proof_is_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: bool
) -> None:
    subject = program_of(tmp_path, SOME_A) if program else since()
    mismatch = Mismatch(("a",) if program else ("b", "a"), True, True, False, None if program else Fraction(0))

    def lying(*arguments: Any) -> CheckResult:
        return replace(check_subject(*arguments), verdict=Verdict.REFUTED, mismatch=mismatch)

    monkeypatch.setattr(proof_before_words, "check_subject", lying)
    word = " ".join(mismatch.word)
    with pytest.raises(Contradiction, match=f"was proved for every word up to 3, but the word {word} contradicts it"):
        check_with_proof(subject, CheckOptions(max_n=3))
    # Without a proof it is a mismatch like any other.
    assert check_with_proof(subject, CheckOptions(max_n=3, engine="ball")).verdict is Verdict.REFUTED


# ---- programs and models ----


def test_a_structural_program_is_proved(tmp_path: Path, lengths_proved: list[int]) -> None:
    subject = program_of(tmp_path, SOME_A)
    result = check_with_proof(subject, CheckOptions(max_n=3))
    words = check_subject(subject, CheckOptions(max_n=3))
    assert (lengths_proved, result.verdict, words.verdict) == ([3], Verdict.PROVED, Verdict.CERTIFIED)
    assert result.reach.startswith("every word of length 1 to 3: softmax answers as hard attention does")
    assert result.reach.endswith(f"; and {words.reach}")
    assert result.lengths == words.lengths


def test_models_and_temperatures_without_a_prover(tmp_path: Path, lengths_proved: list[int]) -> None:
    subject = program_of(tmp_path, SOME_A)
    sparse = CheckOptions(max_n=1)
    assert check_with_proof(subject, replace(sparse, engine="ball")).verdict is Verdict.CERTIFIED
    assert check_with_proof(at_temperature(subject, "1/1000"), sparse).verdict is Verdict.CERTIFIED
    model = subject_of(tmp_path, some_a_by_words())
    assert check_with_proof(model, sparse).verdict is Verdict.CERTIFIED
    padded = program_of(tmp_path, SOME_A.replace("a b\n", f"a b\npad: len + {MOST_POSITIONS}\n"))
    assert len(padded.prepared(("a",))) == MOST_POSITIONS + 1
    assert check_with_proof(padded, sparse).verdict is Verdict.CERTIFIED
    long = CheckOptions(max_n=LONGEST + 1, exhaustive=0, samples=0)
    assert check_with_proof(subject, long).verdict is Verdict.CERTIFIED
    assert lengths_proved == []


def test_a_program_that_pads_is_proved_as_far_as_its_checks_go(lengths_proved: list[int]) -> None:
    """The prover needs no words for marked_square, which takes the square of a length."""
    result = check_with_proof(shipped("marked_square.srasp"), CheckOptions(max_n=5, exhaustive=0, samples=0))
    assert (result.verdict, lengths_proved) == (Verdict.PROVED, [5])


def test_a_program_whose_hard_attention_is_wrong_is_refuted_not_a_defect(tmp_path: Path) -> None:
    """A proof by structure does not claim that hard attention is the program."""
    subject = replace(program_of(tmp_path, SOME_A), oracle=lambda word: word[0] == "a")
    result = check_with_proof(subject, CheckOptions(max_n=2))
    assert result.verdict is Verdict.REFUTED
    assert (known(result.mismatch).word, known(result.mismatch).kind) == (("b", "a"), "hard/oracle")


def test_no_stronger_than_the_words_where_these_are_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        proof_before_words,
        "check_subject",
        lambda *arguments: replace(check_subject(*arguments), verdict=Verdict.UNDECIDED, reach="some words"),
    )
    result = check_with_proof(program_of(tmp_path, SOME_A), CheckOptions(max_n=2))
    assert (result.verdict, result.reach) == (Verdict.UNDECIDED, "some words")


def test_without_a_proof_of_a_program_the_words_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any, **named: Any) -> ProofResult:
        return replace(prove_attention(*arguments, **named), verdict=Verdict.UNDECIDED)

    monkeypatch.setattr(proving, "prove_attention", failing)
    result = check_with_proof(program_of(tmp_path, SOME_A), CheckOptions(max_n=2))
    assert result.verdict is Verdict.CERTIFIED
