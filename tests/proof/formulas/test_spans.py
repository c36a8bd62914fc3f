"""Proofs for some lengths: the lengths that they visit, and their agreement with each other."""

import pytest

from hardsim.proof.formulas.network import LARGEST, positions, require_size, sites_up_to
from tests.support.check import prove
from tests.support.language import InputError, desugar
from tests.support.model import PROVEN
from tests.support.sources import load
from tests.support.subjects import FORMULAS, compiled, in_regimes, proof_of, shipped, shipped_formula


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["since", "flipflop", "mod3", "majority", "parity_no_predicate", "ones_divide_length"])
def test_lengths_together_are_the_lengths_one_by_one(name: str) -> None:
    for subject in in_regimes(load(FORMULAS / f"{name}.ltl")):
        together, *apart = (proof_of(subject, max_n, min_n) for min_n, max_n in ((7, 9), (7, 7), (8, 8), (9, 9)))
        assert all(proof.proved for proof in (together, *apart))
        assert together.span == (7, 9)
        margins = [proof.margin for proof in apart if proof.margin is not None]
        assert len(margins) in (0, 3)
        assert (together.margin is None) == (not margins)
        if together.margin is not None:
            # The bounds of one head differ only by the number of terms of a series, far below a billionth.
            assert abs(float(together.margin) - float(min(margins))) < 1e-9


def test_what_is_read_where() -> None:
    subject = compiled("a S b", letters="abc")
    core = desugar(subject.formula)
    sites, prefix = sites_up_to(subject.model, subject.program, 6, core, 4)
    assert (sites.lengths, prefix) == ((4, 5, 6), False)
    assert [(sites.i[site], sites.n[site]) for site in sites.read_at()] == [(4, 4), (5, 5), (6, 6)]
    alone, _ = sites_up_to(subject.model, subject.program, 6, core, 6)
    assert [(alone.i[site], alone.n[site]) for site in alone.read_at()] == [(6, 6)]
    # Where one length represents all, the output is read at the last position of every prefix.
    causal = compiled("a S b", "causal-position", letters="abc")
    sites, prefix = sites_up_to(causal.model, causal.program, 6, core, 4)
    assert (sites.lengths, prefix) == ((6,), True)
    assert [(sites.i[site], sites.n[site]) for site in sites.read_at()] == [(4, 6), (5, 6), (6, 6)]


def test_too_many_positions_are_refused_before_any_work() -> None:
    # 1 + ... + 1413 = 1413 * 1414 / 2 = 998,991; the next length is beyond a million.
    assert positions(1, 1413) == 998_991 <= LARGEST < positions(1, 1414)
    assert positions(4096, 4096) == 4096
    require_size(1, 1413)
    with pytest.raises(InputError, match="1,000,405 positions"):
        require_size(1, 1414)
    with pytest.raises(InputError, match="the lengths from 2 to 90,000"):
        proof_of(compiled("a S b", letters="abc"), 90_000, 2)
    # One length represents all lengths here.
    assert proof_of(compiled("a S b", "causal-position", letters="abc"), 1500).proved


def test_progress_counts_the_heads() -> None:
    subject = shipped("flipflop.ltl", regime="position")
    message: list[tuple[int, int]] = []
    prove(subject.model, subject.program, 3, report=lambda done, total: message.append((done, total)))
    heads = len(subject.program.heads)
    assert message == [(done, heads) for done in range(1, heads + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("regime", PROVEN)
def test_flipflop_at_great_lengths(regime: str) -> None:
    # benchmarks/ measures the time.
    subject = shipped_formula("flipflop.ltl", regime=regime)
    for min_n, max_n in ((1, 256), (4096, 4096)):
        assert proof_of(subject, max_n, min_n).proved
