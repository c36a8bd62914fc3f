"""Proofs of some lengths: what they look at, and that they agree with each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardsim.checking.open import read_expression, read_input
from hardsim.checking.subject import ModelOptions, Subject, own_predicates
from hardsim.errors import InputError, Unsupported
from hardsim.lang.desugar import desugar
from hardsim.program.regimes import PROVEN
from hardsim.proof.network import LARGEST, hold_size, positions, prove, sites_up_to
from hardsim.proof.result import Proof

FORMULAS = Path(__file__).resolve().parents[2] / "formulas"


def proof_of(subject: Subject, min_n: int, max_n: int) -> Proof:
    """The proof of a subject for some lengths."""
    return prove(subject.model, subject.program, max_n, desugar(subject.file), own_predicates(subject.file), min_n)


@pytest.mark.parametrize("name", ["since", "flipflop", "mod3", "majority", "parity_no_predicate", "ones_divide_length"])
def test_lengths_together_are_the_lengths_one_by_one(name: str) -> None:
    formula = read_input(str(FORMULAS / f"{name}.ltl"))
    for regime in PROVEN:
        try:
            subject = formula.compile(ModelOptions(regime))
        except Unsupported:
            continue
        together = proof_of(subject, 7, 9)
        apart = [proof_of(subject, n, n) for n in (7, 8, 9)]
        assert together.proved
        assert all(proof.proved for proof in apart)
        assert together.span == (7, 9)
        margins = [proof.margin for proof in apart if proof.margin is not None]
        assert len(margins) in (0, 3)
        assert (together.margin is None) == (not margins)
        if together.margin is not None:
            # The bounds of one head differ by how many terms are allowed for, far below a billionth.
            assert abs(float(together.margin) - float(min(margins))) < 1e-9


def test_what_is_read_where() -> None:
    since = read_expression("a S b", "a b c")
    subject = since.compile(ModelOptions("temperature"))
    core = desugar(subject.file)
    sites, prefix = sites_up_to(subject.model, subject.program, 6, core, 4)
    assert (sites.lengths, prefix) == ((4, 5, 6), False)
    assert [(sites.i[site], sites.n[site]) for site in sites.read_at()] == [(4, 4), (5, 5), (6, 6)]
    alone, _ = sites_up_to(subject.model, subject.program, 6, core, 6)
    assert [(alone.i[site], alone.n[site]) for site in alone.read_at()] == [(6, 6)]
    # Where one length stands for all, the output is read at the last position of every prefix that is meant.
    causal = since.compile(ModelOptions("causal-position"))
    sites, prefix = sites_up_to(causal.model, causal.program, 6, core, 4)
    assert (sites.lengths, prefix) == ((6,), True)
    assert [(sites.i[site], sites.n[site]) for site in sites.read_at()] == [(4, 6), (5, 6), (6, 6)]


def test_too_many_positions_are_refused_before_any_work() -> None:
    # 1 + ... + 1413 = 1413 * 1414 / 2 = 998,991; the next length is beyond a million.
    assert positions(1, 1413) == 998_991 <= LARGEST < positions(1, 1414)
    assert positions(4096, 4096) == 4096
    hold_size(1, 1413)
    with pytest.raises(InputError, match="1,000,405 positions"):
        hold_size(1, 1414)
    subject = read_expression("a S b", "a b c").compile(ModelOptions("temperature"))
    with pytest.raises(InputError, match="every length from 2 to 90,000"):
        proof_of(subject, 2, 90_000)
    # One length stands for all of them here.
    assert proof_of(read_expression("a S b", "a b c").compile(ModelOptions("causal-position")), 1, 1500).proved


def test_progress_counts_the_heads() -> None:
    subject = read_input(str(FORMULAS / "flipflop.ltl")).compile(ModelOptions("position"))
    told: list[tuple[int, int]] = []
    prove(subject.model, subject.program, 3, report=lambda done, total: told.append((done, total)))
    heads = len(subject.program.heads)
    assert told == [(done, heads) for done in range(1, heads + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("regime", PROVEN)
def test_flipflop_at_great_lengths(regime: str) -> None:
    # What it takes is measured in benchmarks/.
    subject = read_input(str(FORMULAS / "flipflop.ltl")).compile(ModelOptions(regime))
    for min_n, max_n in ((1, 256), (4096, 4096)):
        assert proof_of(subject, min_n, max_n).proved
