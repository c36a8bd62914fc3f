"""Certificates of external networks of every kind: what is written is accepted, and says what was proved."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hardsim.errors import Undecided
from hardsim.lang.arith import parse_arith
from hardsim.network.dense import Network
from hardsim.proof.external.result import EVERY_WORD, PrefixProof
from hardsim.proving.external import prefix_proof
from hardsim.proving.external_certificate import external_certificate, external_text, network_section, numbers
from hardsim.targets.external import External
from hardsim.verify import read, verify
from hardsim.verify.arithmetic import Rejected
from tests.proof.external.test_prove import COUNTING, MOST, NEXT, by_kind, levelled, network_of, oracle_of
from tests.support.model import Mask

LONGEST = 6


def certified(network: Network, oracle: Any) -> tuple[dict[str, Any], PrefixProof]:
    """Return the certificate of a network with its specification, and the proof that it states."""
    subject = External(name="here", sha256="0" * 64, alphabet=network.symbols, network=network, oracle=oracle)
    proof = prefix_proof(subject, LONGEST)
    return external_certificate(subject, proof), proof


def require_sound(network: Network, oracle: Any) -> PrefixProof:
    """Require that a certificate is read back as it was written, is accepted, and states the proof; return that."""
    document, proof = certified(network, oracle)
    again = read(external_text(document).encode())
    assert again == document
    assert verify(again) is None
    assert document["max_n"] == (document["min_n"] - 1 if proof.proved_to is None else proof.proved_to)
    assert document["wrong"] == (None if proof.wrong is None else {"word": [*proof.wrong]})
    return proof


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("heads", [0, 1, 2])
@pytest.mark.parametrize("number", range(24))
def test_networks_of_all_kinds(number: int, heads: int) -> None:
    network = by_kind(number, heads, size=0.5)
    oracle = oracle_of(network, MOST.format(assume=("t0 | Y t1", "t1 S t0", "!(Y Y t0)")[number % 3]))
    require_sound(levelled(network, oracle, 0.02), oracle)


@pytest.mark.parametrize("seed", range(6))
def test_counters_and_next_symbols(seed: int) -> None:
    mask = (Mask.FUTURE, Mask.NONE)[seed % 2]
    network = network_of(seed, 2, "before after", heads=1 + seed % 2, k=3, size=0.5, mask=mask)
    network = replace(network, readout=replace(network.readout, decide="argmax"))
    assert require_sound(network, oracle_of(network, COUNTING)).wrong is not None
    network = network_of(seed, 4, size=0.5, heads=1 + seed % 2)
    assert require_sound(network, oracle_of(network, NEXT)).wrong is not None


def test_a_wrong_word_alone() -> None:
    network = by_kind(0, 1, size=0.5)
    oracle = oracle_of(network, "output t0: true")
    wrong = replace(network, readout=replace(network.readout, level=Fraction(100)))
    document, proof = certified(wrong, oracle)
    assert proof.proved_to in (None, 0)
    assert document["groups"] == []
    assert verify(document) is None


def test_numbers_are_exact() -> None:
    third, large = Fraction(1, 3), Fraction(10**400)
    assert numbers(np.array([[0.1, -0.0]])) == [[0.1, -0.0]]
    assert numbers(np.array([third, Fraction(1, 4), large], dtype=object)) == ["1/3", 0.25, str(10**400)]
    assert numbers(None) is None
    network = by_kind(0, 1)
    positions = ((0, parse_arith("i/3", ("i", "n"), "here")), (1, parse_arith("i*i", ("i", "n"), "here")))
    found = network_section(replace(network, positions=positions), 3)["positions"]
    assert [row[:3] for row in found] == [[0.0, 0.0, 0.0], ["1/3", 1.0, 0.0], ["2/3", 4.0, 0.0], [1.0, 9.0, 0.0]]
    with pytest.raises(Rejected, match="irrational"):
        network_section(replace(network, positions=((0, parse_arith("sqrt(i + 2)", ("i", "n"), "here")),)), 3)


def test_a_proof_without_a_certificate() -> None:
    network = by_kind(0, 1, size=0.5)
    oracle = oracle_of(network, MOST.format(assume="t0 | Y t1"))
    network = levelled(network, oracle, 0.5)
    subject = External(name="here", sha256="", alphabet=network.symbols, network=network, oracle=oracle)
    proof = prefix_proof(subject, 3)
    with pytest.raises(Undecided, match="by running every word"):
        external_certificate(subject, replace(proof, proved_by=EVERY_WORD))
    with pytest.raises(Undecided, match="nothing is proved"):
        external_certificate(subject, replace(proof, proved_to=None, wrong=None))
    with pytest.raises(Undecided, match=r"the checker cannot follow the proof \(wrong.word: the network is not known"):
        external_certificate(subject, replace(proof, wrong=("t0",) * 4))
