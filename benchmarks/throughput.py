"""The cost of certainty: ratios of the times of six passes over the same words."""

from __future__ import annotations

from benchmarks.cases import BALLS, CASES, CERTIFIED, DENSE, EFFORTS, FLOAT, NAIVE, QUICK, Case, Effort
from benchmarks.results import Figure, PassCost, Results, Target
from benchmarks.timing import measure
from hardsim.campaign.result import MPMATH

GROUP = "throughput"
LIMITS_AT = 64
"""The length at which the ratios to plain numpy have targets."""
RATIOS = (
    (FLOAT, DENSE, None),
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
            found.add(_one(case, n, effort, targets=True))
    return found


def quick() -> Results:
    """Measure every case at the shortest length, on few words, without targets."""
    found = Results()
    for case in CASES:
        found.add(_one(case, min(EFFORTS), QUICK, targets=False))
    return found


def _one(case: Case, n: int, effort: Effort, targets: bool) -> Results:
    passes, truth = case.passes(n, effort)
    costs = measure(GROUP, case.name, n, passes, truth)
    return Results(figures=ratios(costs, targets), passes=costs)


def ratios(costs: list[PassCost], targets: bool) -> list[Figure]:
    """Return the ratios of the costs of the passes of one case at one length."""
    by_name = {cost.name: cost for cost in costs}
    figures: list[Figure] = []
    for above, below, target in RATIOS:
        top, bottom = by_name[above], by_name[below]
        figures.append(
            Figure(
                group=GROUP,
                what=f"{above} / {below}",
                case=f"{top.case}, n = {top.n}",
                value=top.seconds / bottom.seconds,
                unit="x",
                target=target if targets and (top.n == LIMITS_AT or above == NAIVE) else None,
            )
        )
    return figures
