"""Describe the result of comparing a Rocq instance with a compiled model."""

from __future__ import annotations

from hardsim.proving.rocq_comparison import RocqResult
from hardsim.targets.result import plural
from hardsim.verify.sections import printable

LONGEST_FORMULA = 200
"""Most characters of a formula that are printed."""


def compared_reach(result: RocqResult) -> str:
    """Return what a valid instance states, or the first difference of an invalid one."""
    return result.reason or "the Rocq instance states this network and this formula"


def compared_lines(result: RocqResult) -> list[str]:
    """Return lines that say what was compared with a valid instance, and how its proof is checked."""
    formula = result.formula or ""
    if len(formula) > LONGEST_FORMULA:
        formula = f"{formula[:LONGEST_FORMULA]}..."
    definitions = f", with {plural(result.definitions, 'definition')}" if result.definitions else ""
    parts = ((result.layers, "layer"), (result.heads, "head"), (result.atoms, "atom"), (result.numbers, "number"))
    lines = [
        f"  instance  {result.instance}, sha256 {result.digests[result.instance]}",
        f"  theorem   {result.theorem}.",
        f"  formula   F is {formula}{definitions}",
        f"  network   N is that of the model: {', '.join(plural(count or 0, name) for count, name in parts)}",
        f"  library   {plural(len(result.digests) - 1, 'file')}, byte for byte those that hardsim has",
        "  not checked here: the proof and comments",
        f"  to check the proof: {result.command}",
    ]
    return list(map(printable, lines))
