"""The cost of certainty: ratios of the times of five passes over the same words."""

from __future__ import annotations

from benchmarks.cases import BALLS, CASES, CERTIFIED, DENSE, EFFORTS, NAIVE
from benchmarks.results import Figure, PassCost, Results, Target
from benchmarks.timing import measure
from hardsim.targets.result import MPMATH

GROUP = "throughput"
LIMITS_AT = 64
"""The length at which the ratios to plain numpy have targets."""
RATIOS = (
    (CERTIFIED, DENSE, Target(3)),
    (BALLS, DENSE, Target(40)),
    (NAIVE, MPMATH, Target(10, at_least=True)),
)
"""The ratios that are reported: numerator, denominator, target."""


def measure_all() -> Results:
    """Measure every case at every length."""
    found = Results()
    for case in CASES:
        for n, effort in EFFORTS.items():
            passes, truth = case.passes(n, effort)
            costs = measure(GROUP, case.name, n, passes, truth)
            found.add(Results(figures=ratios(costs), passes=costs))
    return found


def ratios(costs: list[PassCost]) -> list[Figure]:
    """Return the ratios of the costs of the passes of one case at one length."""
    by_name, one = {cost.name: cost.seconds for cost in costs}, costs[0]
    return [
        Figure(
            GROUP,
            f"{above} / {below}",
            f"{one.case}, n = {one.n}",
            by_name[above] / by_name[below],
            "x",
            target if one.n == LIMITS_AT or above == NAIVE else None,
        )
        for above, below, target in RATIOS
    ]
