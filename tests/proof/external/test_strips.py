"""Strips of classes, against every prefix, and networks with several heads that are proved by them."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hardsim.proof.external.demands import demands_of
from hardsim.proof.external.prove import ClassProver, WorkLimits, prove_external
from hardsim.proof.external.strips import ClassStrips
from tests.proof.external.test_prove import MOST, compare, levelled, network_of, oracle_of
from tests.proof.external.test_sweep import Faults, planted

TEXT = MOST.format(assume="t0 | Y t1")


class StripCase:
    """A class with 32 prefixes of a random network with several heads: its strips, and the heads' outputs on every
    prefix."""

    def __init__(self, heads: int, seed: int) -> None:
        network = network_of(seed, 1, heads=heads, d=6, k=2, mlp=8, cold=1 + 5 * (seed % 2))
        self.prover = ClassProver(network, demands_of(oracle_of(network, TEXT), network, 7), WorkLimits())
        classes, search = self.prover.classes, self.prover.search
        self.place = max(range(len(classes)), key=lambda one: search.count(classes, one))
        one = classes.at(np.array([self.place]))
        words = np.array(search.every(one))[:, : int(one.free[0])]
        self.points, _ = search.attended(one.at(np.zeros(len(words), dtype=np.int64)), words)
        first = self.prover.rest.first_mlp
        assert first is not None
        self.functions = first.functions
        some = search.extremes(one, self.points[:1], self.functions)
        reached = self.prover.reaches(self.place)
        self.strips = ClassStrips(some, self.functions, self.functions[:, 6:], self.prover.reach, reached)

    def inside(self, low: Any, high: Any) -> Any:
        """Return for each prefix whether it is in a strip."""
        along = self.points @ self.strips.axes.T
        return ((along >= low - 1e-12) & (along <= high + 1e-12)).all(axis=1)


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_ranges_in_strips(heads: int, seed: int) -> None:
    """Functions of every prefix of a strip are in their ranges, which are no wider in a part of a strip."""
    case = StripCase(heads, seed)
    low, high = case.strips.low[None], case.strips.high[None]
    rates = np.random.default_rng(seed).normal(size=(1, len(case.functions)))
    narrowed = 0.0
    for _ in range(4):
        ends, alone = case.strips.ranges(low, high), case.strips.of_each(np.repeat(rates, len(low), 0), low, high)
        covered = np.zeros(len(case.points), dtype=np.bool_)
        for row in range(len(low)):
            inside = case.inside(low[row], high[row])
            covered |= inside
            values = case.points[inside] @ case.functions
            assert (values >= ends[0][row] - 1e-11).all()
            assert (values <= ends[1][row] + 1e-11).all()
            assert (case.points[inside] @ rates[0] >= alone[0][row] - 1e-11).all()
            assert (case.points[inside] @ rates[0] <= alone[1][row] + 1e-11).all()
        assert covered.all()
        low, high = case.strips.halves(low, high)
        parts = case.strips.ranges(low, high)
        for part in np.split(np.arange(len(low)), 2):
            assert (parts[0][part] >= ends[0] - 1e-11).all()
            assert (parts[1][part] <= ends[1] + 1e-11).all()
            narrowed += float((ends[1] - ends[0] - np.maximum(parts[1][part] - parts[0][part], 0.0)).sum())
    assert narrowed > 1.0


def test_points_that_do_not_vary_have_no_strips() -> None:
    case = StripCase(2, 0)
    for points in (np.repeat(case.points[:1], 5, axis=0), case.points * np.inf):
        with (
            pytest.raises((ValueError, np.linalg.LinAlgError)),
            np.errstate(all="ignore"),
        ):
            ClassStrips(
                points, case.functions, case.functions[:, 6:], case.prover.reach, case.prover.reaches(case.place)
            )


ALONE = WorkLimits(rounds=0, words=0, more_words=0)
"""Limits with which nothing but ranges and strips proves what boxes leave open."""


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(("heads", "share", "size"), [(1, 0.3, 1.0), (4, 0.1, 0.7), (4, 0.3, 1.0)])
def test_more_strips_prove_more(heads: int, share: float, size: float) -> None:
    """Against every word: with more strips the proved lengths grow, and what is proved is right."""
    grown = 0
    for number in (2, 3):
        network = network_of(number, 1, heads=heads, d=8, k=2, mlp=12, size=size, cold=1 + 3 * (number % 2))
        oracle = oracle_of(network, TEXT)
        network = levelled(network, oracle, share)
        proved = [compare(network, oracle, limits=replace(ALONE, strips=most)).proved for most in (0, 4, 64)]
        assert all(before <= after for before, after in pairwise(proved))
        grown += proved[-1] > proved[0]
    assert grown


def test_more_positions_prove_more() -> None:
    """Against every word: dividing a class by the symbols at some positions proves more, and rightly."""
    grown = 0
    for number in (1, 2, 3):
        network = network_of(number, 1, heads=4, d=8, k=2, mlp=12, size=1.0, cold=1 + 3 * (number % 2))
        oracle = oracle_of(network, TEXT)
        network = levelled(network, oracle, 0.1)
        limits = [replace(ALONE, strips=2, splits=most) for most in (0, 1, 3)]
        proved = [compare(network, oracle, limits=one).proved for one in limits]
        assert all(before <= after for before, after in pairwise(proved))
        grown += proved[-1] > proved[0]
    assert grown


def test_paths_with_a_symbol() -> None:
    """A prefix with a symbol at a position exists exactly if the paths say so, and supports are the greatest values
    over such prefixes alone."""
    case = StripCase(2, 1)
    prover, one = case.prover, case.prover.classes.at(np.array([case.place]))
    free, state = int(one.free[0]), int(one.state[0])
    words = np.array(prover.search.every(one))[:, :free]
    directions = np.random.default_rng(0).normal(size=(1, 3, prover.heads[0].width))
    for position in range(free):
        for symbol in (0, 1):
            some = np.flatnonzero(words[:, position] == symbol)
            part = prover.with_symbol(position, symbol)
            assert part.paths.lead_to(free, state) == bool(len(some))
            if not len(some):
                continue
            start = 0
            for head, basis in zip(part.heads, prover.bases, strict=True):
                values = case.points[some, start : start + len(basis.axes)] @ basis.axes @ directions[0].T
                start += len(basis.axes)
                found = head.bounds(one, directions)[0]
                assert (np.abs(found - values.max(axis=0)) < 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dyck-next-4-32-pre-1", "dyck-accept-4-32-pre-1", "dyck-next-2-16-pre-1"])
def test_trained_heads_are_proved(name: str) -> None:
    """Networks that are trained here are proved to the end of their table, or refuted by a shortest word."""
    from formulas.networks.heads import HeadsPlan, trained

    plan = HeadsPlan.named(name)
    network = plan.network(trained(plan))
    oracle = oracle_of(network, plan.specification, ("a", "b"))
    proof = prove_external(network, oracle)
    print(f"{name}: proved to {proof.proved}, {proof.cells} cells")
    assert proof.proved == 64 or proof.shortest


@pytest.mark.slow
def test_wrong_weights_of_trained_heads() -> None:
    from formulas.networks.heads import HeadsPlan, trained

    plan = HeadsPlan.named("dyck-next-4-16-pre-1")
    network = plan.network(trained(plan))

    external = SimpleNamespace(network=network, oracle=oracle_of(network, plan.specification, ("a", "b")))
    assert planted(Faults(external, 12), 40, 1)[0] >= 36
