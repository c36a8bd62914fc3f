"""Tests of the words that are run after a proof: which words these are, and that a wrong answer on one is a defect."""

from dataclasses import replace
from fractions import Fraction
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.campaign.engines import FloatEngine
from hardsim.errors import Contradiction
from hardsim.proving import confirmation as confirming
from hardsim.proving.confirmation import Confirmation, affordable, confirm, first_lengths
from hardsim.proving.prove import confirmed
from tests.support.attention_models import critical, some_a
from tests.support.check import FormulaTarget, Verdict, prove_attention
from tests.support.language import parse_arith
from tests.support.model import assemble
from tests.support.subjects import compiled, known, program_of, stated_to_be, subject_of

SOME_A = "alphabet: a b\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0\n"
CRITICAL = 2 * log(3)
"""From this beta on the two positions of bc are distinguished: the weight 1/(1 + e^(beta/2)) is 1/4 there."""


def since(beta: Fraction = Fraction(4), tau: str | None = None) -> FormulaTarget:
    return compiled("a S b", beta=beta, letters="abc", tau=None if tau is None else parse_arith(tau))


def confirmation(*arguments: Any, **named: Any) -> Confirmation:
    """Run the words for a subject whose hard attention agrees with its semantics."""
    found, wrong = confirm(*arguments, **named)
    assert wrong is None
    return found


# ---- which words ----


def test_the_first_lengths_are_those_with_few_words_together() -> None:
    # 3 + 9 + 27 + 81 + 243 = 363, and 729 more are too many for 600.
    assert first_lengths(3, 1, 64) == [1, 2, 3, 4, 5]
    assert first_lengths(3, 4, 64) == [4, 5]
    assert first_lengths(3, 1, 2) == [1, 2]
    assert first_lengths(3, 6, 64) == []
    assert first_lengths(1000, 1, 4) == []
    assert len(first_lengths(1, 1, 10_000)) == 600


def test_lengths_are_paid_for_in_the_order_of_their_worth() -> None:
    # 5,000 for 50 heads: 19 + 82 are 5,050, and 19 + 20 are not.
    assert affordable([1, 64, 2], 50) == [1, 2]
    assert affordable([1, 64, 2], 1) == [1, 2, 64]
    assert affordable([64, 1], 1000) == [64]  # at least one length


def test_every_short_word_and_some_long_ones_are_run() -> None:
    found = confirmation(since(), 1, 64)
    assert (found.every_word_to, found.longest, found.undecided, found.partial) == (5, 64, 0, False)
    assert 363 < found.words <= confirming.MOST
    assert confirmation(since(), 1, 3) == Confirmation(3 + 9 + 27, 3, 3)
    assert confirmation(since(), 1, 64, every_length=True).longest == 128
    assert confirmation(since(), 1, 64, heads_only=True) == found
    longer = confirmation(since(), 7, 7)  # 3^7 words are too many
    assert (longer.every_word_to, longer.longest) == (0, 7)
    assert longer.words > 20
    assert confirmation(since(), 5000, 5000) == Confirmation()


def test_suggested_words_are_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []
    real = FloatEngine.decisions

    def watched(self: FloatEngine, words: list[tuple[str, ...]]) -> object:
        seen.extend(words)
        return real(self, words)

    monkeypatch.setattr(FloatEngine, "decisions", watched)
    word = tuple("cbacbacbaab")
    found = confirmation(since(), 1, 64, [word])
    assert word in seen
    assert len(seen) == found.words == len(set(seen))


# ---- what contradicts ----


@given(st.fractions(min_value=Fraction(1, 60), max_value=Fraction(9, 2), max_denominator=60))
def test_a_network_that_is_wrong_on_short_words_contradicts_any_proof(beta: Fraction) -> None:
    """From beta 2 ln 4 on every word is right; below 2 ln 3 a word of length 2 is wrong."""
    for heads_only in (False, True):
        if float(beta) < CRITICAL:
            with pytest.raises(Contradiction, match=f"was proved for words of length 2.*beta {beta}, read"):
                confirmation(since(beta), 1, 8, heads_only=heads_only)
        elif float(beta) > 2 * log(4):
            assert confirmation(since(beta), 1, 8, heads_only=heads_only).words > 363


@pytest.mark.parametrize("modulus", [17, 33, 65, 128])
def test_a_schedule_that_fails_at_one_length_is_found_out(modulus: int) -> None:
    """At lengths that the modulus divides the temperature is 2/n, as for beta 2, which is too flat; elsewhere it is at
    most 1/n.
    """
    wrong = since(tau=f"2/(n*(n mod {modulus} + 1))")
    with pytest.raises(Contradiction, match=f"words of length {modulus}"):
        confirm(wrong, 1, modulus if modulus < 64 else 64, every_length=modulus > 64)


def test_the_formula_counts_and_with_heads_only_the_heads() -> None:
    lie = stated_to_be(since(), "b S a")
    with pytest.raises(Contradiction, match="the word a contradicts it: oracle: accept; softmax: reject"):
        confirm(lie, 1, 4)
    assert confirmation(lie, 1, 4, heads_only=True).words == 3 + 9 + 27 + 81


# ---- what decides nothing ----


def test_what_float64_leaves_open_is_tried_in_balls_and_else_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        FloatEngine, "decisions", lambda self, words: ([(False, None)] * len(words), np.zeros(len(words)))
    )
    monkeypatch.setattr(confirming, "IN_BALLS", 3 + 2 * 4)
    # All three words of one symbol, and four of the nine with two symbols.
    assert confirmation(since(), 1, 2) == Confirmation(12, 2, 2, 5)
    monkeypatch.setattr(confirming, "IN_BALLS", 100)
    with pytest.raises(Contradiction, match="words of length 2"):
        confirm(since(Fraction(1)), 1, 2)


def test_an_interruption_keeps_what_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FloatEngine.decisions

    def interrupted(self: FloatEngine, words: list[tuple[str, ...]]) -> object:
        if len(words[0]) == 3:
            raise KeyboardInterrupt
        return real(self, words)

    monkeypatch.setattr(FloatEngine, "decisions", interrupted)
    assert confirmation(since(), 1, 64) == Confirmation(3 + 9, 2, 2, partial=True)


# ---- programs and models ----


@settings(max_examples=15)
@given(tenths=st.integers(1, 12))
def test_softmax_at_too_high_a_temperature_contradicts_any_proof(
    tmp_path_factory: pytest.TempPathFactory, tenths: int
) -> None:
    subject = subject_of(tmp_path_factory.mktemp("model"), some_a())
    networks = dict.fromkeys((1, 2, 3), assemble(subject.program, parse_arith(f"{tenths}/10")))
    if tenths / 10 > critical(3):
        with pytest.raises(Contradiction, match="hard attention: accept; softmax: reject"):
            confirm(subject, 1, 3, networks=networks)
    else:
        assert confirm(subject, 1, 3, networks=networks) == (Confirmation(14, 3, 3), None)


def test_the_networks_that_were_proved_are_run(tmp_path: Path) -> None:
    for subject in (subject_of(tmp_path, some_a()), program_of(tmp_path, SOME_A)):
        proof = prove_attention(subject, 4)
        assert confirmed(proof).confirmed == Confirmation(2 + 4 + 8 + 16, 4, 4)
        warm = assemble(subject.program, parse_arith("100"))
        wrong = replace(proof, lengths=tuple(replace(length, network=warm) for length in proof.lengths))
        with pytest.raises(Contradiction, match="temperature 100"):
            confirmed(wrong)


def test_hard_attention_that_is_not_the_program_refutes(tmp_path: Path) -> None:
    """A proof by structure does not claim that hard attention is the program."""
    subject = replace(program_of(tmp_path, SOME_A), oracle=lambda word: word[0] == "a")
    proof = prove_attention(subject, 4)
    assert proof.verdict is Verdict.PROVED
    result = confirmed(proof)
    assert (result.verdict, result.reach) == (Verdict.REFUTED, "hard/oracle disagree on a word of length 2")
    assert known(result.mismatch).word == ("b", "a")
    every = tuple(replace(length, proved_by="every word") for length in proof.lengths)
    with pytest.raises(Contradiction, match="hard attention was found to be the program on b a"):
        confirmed(replace(proof, lengths=every))
