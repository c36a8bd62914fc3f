"""The alternatives to hardsim: batched PyTorch on one thread, and plain numpy, on the same words and network.

hardsim does what a check does with words: exact hard attention, certified float64 compared with it, the answers and the
errors of all heads. PyTorch and numpy only give an output for each word, without an error bound or hard attention.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec

from benchmarks.cases import CASES as SHARED
from benchmarks.cases import DENSE, EFFORTS, Case, Run, Work
from benchmarks.results import EXTRA, Figure, PassCost, Results, Target
from benchmarks.timing import Pass, measure

GROUP = "alternatives"
CHECKED = "certified + exact"
FLOAT32, FLOAT64 = "torch float32", "torch float64"
CASES = (*SHARED, Case("flip-flop program", "formulas/flipflop.srasp", None))
LENGTHS = (64, 256)
MANY = 512
"""Number of words in an additional batch of the shorter length. In the smaller batches a third of the time or more is
overhead that does not depend on the number of words.
"""
REPEATS = 9
TARGET = Target(0.5)


def measure_all() -> Results:
    """Measure every case at both lengths on a batch of the usual size, and at the shorter length on `MANY` words."""
    found = Results()
    for case in CASES:
        for n in LENGTHS:
            found.add(one(case, n, EFFORTS[n].batch, REPEATS, TARGET))
        found.add(one(replace(case, name=f"{case.name}, {MANY} words"), LENGTHS[0], MANY, REPEATS, TARGET))
    return found


def one(case: Case, n: int, count: int, repeats: int, target: Target | None) -> Results:
    """Measure one case on `count` words of length n; return the costs of its passes, and the ratio to PyTorch."""
    work = case.work(n, count)
    costs = measure(GROUP, case.name, n, passes(work, repeats), work.truth)
    return Results(figures=ratios(costs, target), passes=costs)


def passes(work: Work, repeats: int) -> list[Pass]:
    """List the passes to time: hardsim's, numpy's, and PyTorch's where it is installed."""
    count = len(work.words)
    found = [
        Pass(CHECKED, count, repeats, work.checked, warm=True),
        Pass(DENSE, count, repeats, work.dense, warm=True, exact=False),
    ]
    if find_spec(EXTRA) is None:
        print(f"{EXTRA} is not installed: its rows are left out (pip install '.[bench]')", file=sys.stderr)
        return found
    return [
        *found,
        Pass(FLOAT32, count, repeats, lambda: batched(work, "float32"), warm=True, exact=False),
        Pass(FLOAT64, count, repeats, lambda: batched(work, "float64"), warm=True, exact=False),
    ]


def batched(work: Work, dtype: str) -> Run:
    """Prepare a run of the words in PyTorch with numbers of type `dtype`."""
    from benchmarks.batched import BatchedPass  # which needs PyTorch

    network = BatchedPass(work.network, work.n, dtype)
    symbols = network.numbers(work.words)
    return lambda: [bool(value > float(work.threshold)) for value in network.run(symbols)]


def ratios(costs: list[PassCost], target: Target | None) -> list[Figure]:
    """Divide the time of hardsim's check of words by that of PyTorch in float32; return no figure without PyTorch.

    The figure's note gives the ratios to the other passes, and how many words each pass got wrong.
    """
    by_name = {cost.name: cost for cost in costs}
    if FLOAT32 not in by_name:
        return []
    ours, theirs = by_name[CHECKED], by_name[FLOAT32]
    others = [f"{ours.seconds / by_name[name].seconds:.2f} of {name}" for name in (FLOAT64, DENSE)]
    wrong = [
        f"{name} wrong on {cost.words - cost.agreed} of {cost.words}"
        for name, cost in by_name.items()
        if cost.agreed + cost.undecided < cost.words
    ]
    case, note = f"{ours.case}, n = {ours.n}", "; ".join([*others, *wrong])
    return [Figure(GROUP, f"{CHECKED} / {FLOAT32}", case, ours.seconds / theirs.seconds, "x", target, note)]
