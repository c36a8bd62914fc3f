"""Proofs of external networks by running every word: those that the prover of prefixes does not take."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hardsim.proving import external_words
from hardsim.proving.external_words import affordable_length, run_every_word
from hardsim.targets.external import External, judging
from hardsim.targets.inputs.network import of_network
from tests.support.external import falling, mean_of_a
from tests.support.language import InputError
from tests.support.model import Mask, Network, Readout

ABOVE = Fraction(-1, 2) + Fraction(1, 1000)
"""A bias with which a tie, a share of 1/2, is above 0; no smaller share is, up to 499 symbols."""


def subject_of(network: Network, reference: Any) -> External:
    """Return a network with a function as its reference."""
    return judging(of_network(network, "net", "0" * 64, "by hand").external, reference, "the function", accepts=True)


def half_are_a(word: tuple[Any, ...]) -> bool:
    """Return True if at least half of the symbols are a."""
    return 2 * Counter(word)["a"] >= len(word)


@pytest.mark.parametrize("mask", [Mask.FUTURE, Mask.NONE])
def test_a_function_is_proved_by_running_every_word(mask: Mask) -> None:
    """The least distance of a share of n symbols from 1/2 - 1/1000 is 1/1000 for even n, else 1/(2n) - 1/1000."""
    proof = run_every_word(subject_of(mean_of_a(ABOVE, rows=9, mask=mask), half_are_a), 9)
    assert (proof.proved, proof.longest, proof.prefixes) == (9, 9, sum(2**n for n in range(1, 10)))
    assert (proof.wrong, proof.opened, proof.reason) == (None, (), None)
    for n in range(1, 10):
        least = Fraction(1, 1000) if n % 2 == 0 else Fraction(1, 2 * n) - Fraction(1, 1000)
        margins = proof.margins[n]
        assert margins.low <= least <= margins.high
        assert margins.high - margins.low < 1e-12


def test_the_shortest_wrong_word_has_the_least_margin() -> None:
    """On four symbols without an a the share is 0, further from what is expected than with one a."""
    subject = subject_of(mean_of_a(ABOVE, rows=9), lambda word: half_are_a(word) or len(word) > 3)
    proof = run_every_word(subject, 9)
    assert proof.wrong is not None
    assert (proof.wrong.word, proof.proved, proof.shortest) == (("b",) * 4, 3, True)
    assert -0.5 <= proof.wrong.margin < -0.498
    assert proof.prefixes == 2 + 4 + 8


def test_a_network_that_is_read_at_the_first_symbol() -> None:
    network = mean_of_a(ABOVE, rows=6, mask=Mask.NONE, readout=Readout(at="first"))
    assert run_every_word(subject_of(network, half_are_a), 6).proved == 6


def test_words_without_an_expected_answer_are_not_counted() -> None:
    subject = subject_of(mean_of_a(rows=5), lambda word: None if 2 * word.count("a") == len(word) else half_are_a(word))
    proof = run_every_word(subject, 4)
    assert (proof.proved, proof.prefixes) == (4, 2 + 2 + 8 + 10)


def test_a_tie_stays_open() -> None:
    """Two outputs that are equal decide no argmax."""
    network = replace(mean_of_a(rows=5, outputs=("no", "yes")), readout=Readout(decide="argmax"))
    network = replace(network, unembedding=np.zeros((2, 2)), unembedding_bias=np.zeros(2))
    proof = run_every_word(subject_of(network, lambda word: "yes"), 5)
    assert (proof.proved, proof.wrong) == (0, None)
    assert [one.length for one in proof.opened] == [1]


def test_the_number_of_words_and_the_work_bound_the_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 2^n words of n symbols; 16,384 of 14 symbols are below the limit of 20,000."""
    subject = subject_of(mean_of_a(ABOVE, rows=400), half_are_a)
    assert affordable_length(subject, 400) == 14
    assert affordable_length(subject, 9) == 9
    monkeypatch.setattr(external_words, "EVERY", 16)
    assert affordable_length(subject, 400) == 4
    monkeypatch.setattr(external_words, "WORK", 1.0)
    assert affordable_length(subject, 400) == 0


def test_a_reference_that_fails_is_an_error() -> None:
    def failing(word: tuple[Any, ...]) -> bool:
        if len(word) == 3:
            raise InputError("no answer", "")
        return half_are_a(word)

    with pytest.raises(InputError, match="no answer"):
        run_every_word(subject_of(mean_of_a(ABOVE, rows=5), failing), 5)
    assert run_every_word(subject_of(mean_of_a(ABOVE, rows=5), failing), 2).proved == 2


def test_progress_is_told_by_length() -> None:
    seen: list[tuple[int, int]] = []
    run_every_word(subject_of(mean_of_a(ABOVE, rows=4), half_are_a), 4, report=lambda *pair: seen.append(pair))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_number_that_falls_with_the_length_is_wrong_at_a_known_length() -> None:
    """On b alone the output 0.45 - 0.1 n is above 0 to the length 4."""
    network = falling(Fraction(45, 100), Fraction(1, 10), 12)
    subject = subject_of(network, lambda word: True)
    proof = run_every_word(subject, 12)
    assert proof.wrong is not None
    assert (proof.proved, proof.wrong.word) == (4, ("b",) * 5)
