"""What users would take instead: batched PyTorch on one thread, and plain numpy, on the same words and network.

hardsim's side is what a check does with words: exact hard attention and certified float64 against it, answers and the
errors of all heads. The others give an output for each word, bounded by nothing, and no hard attention.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec

from benchmarks.cases import CASES as SHARED
from benchmarks.cases import DENSE, EFFORTS, QUICK, Case, Run, Work
from benchmarks.results import EXTRA, Figure, PassCost, Results, Target
from benchmarks.timing import Pass, measure

GROUP = "alternatives"
CHECKED = "certified + exact"
FLOAT32, FLOAT64 = "torch float32", "torch float64"
CASES = (*SHARED, Case("flip-flop program", "formulas/flipflop.srasp", None))
LENGTHS = (64, 256)
MANY = 512
"""Words of the shorter length that are run besides; of the others a third or more is what any batch costs."""
REPEATS = 9
TARGET = Target(0.5)
BEFORE = {
    ("flip-flop", 64): 1.70,
    ("flip-flop", 256): 1.88,
    ("flip-flop, causal", 64): 1.40,
    ("flip-flop, causal", 256): 1.86,
    ("PARITY", 64): 1.17,
    ("PARITY", 256): 1.34,
    ("Dyck-2", 64): 4.44,
    ("Dyck-2", 256): 6.41,
    ("flip-flop program", 64): 4.72,
    ("flip-flop program", 256): 5.21,
}
"""The ratio to torch float32 when the target was set, by case and length."""


def measure_all() -> Results:
    """Every case at both lengths, on as many words as the other passes over a batch have, and on many short ones."""
    found = Results()
    for case in CASES:
        for n in LENGTHS:
            found.add(one(case, n, EFFORTS[n].batch, REPEATS, TARGET))
        found.add(one(replace(case, name=f"{case.name}, {MANY} words"), LENGTHS[0], MANY, REPEATS, TARGET))
    return found


def quick() -> Results:
    """Every case at a short length, on few words, without targets."""
    found = Results()
    for case in CASES:
        found.add(one(case, min(EFFORTS), QUICK.batch, QUICK.repeats, None))
    return found


def one(case: Case, n: int, count: int, repeats: int, target: Target | None) -> Results:
    """The costs of one case at one length, and the ratio to PyTorch."""
    work = case.work(n, count)
    costs = measure(GROUP, case.name, n, passes(work, repeats), work.truth)
    return Results(figures=ratios(costs, target), passes=costs)


def passes(work: Work, repeats: int) -> list[Pass]:
    """hardsim's and numpy's, and PyTorch's where it is installed."""
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
    """PyTorch with numbers of a type."""
    from benchmarks.batched import BatchedPass  # which needs PyTorch

    network = BatchedPass(work.network, work.n, dtype)
    symbols = network.numbers(work.words)
    return lambda: [bool(value > float(work.threshold)) for value in network.run(symbols)]


def ratios(costs: list[PassCost], target: Target | None) -> list[Figure]:
    """What a check of words costs, relative to PyTorch in float32; the note says the rest. Nothing without PyTorch."""
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
    case = f"{ours.case}, n = {ours.n}"
    return [
        Figure(
            GROUP,
            f"{CHECKED} / {FLOAT32}",
            case,
            ours.seconds / theirs.seconds,
            "x",
            target,
            "; ".join([*others, *wrong]),
            before=None if target is None else BEFORE.get((ours.case, ours.n)),
        )
    ]
