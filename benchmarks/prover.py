"""The time of a proof, and its growth with the length."""

from __future__ import annotations

import math
from dataclasses import replace
from time import process_time

from benchmarks.commands import HARDSIM, ROOT, Finished, run
from benchmarks.declare import model, tokens
from benchmarks.results import Figure, Results, Target
from hardsim.campaign.result import Verdict
from hardsim.errors import Unsupported
from hardsim.lang.desugar import desugar
from hardsim.lang.ltl_parser import parse_text
from hardsim.program.regimes import PROVEN
from hardsim.proving.prove import prove_subject
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.opening import read_input

GROUP = "prover"
FILE = "formulas/flipflop.ltl"
ALL_TO = 256
LONG = 4096
GROWTH = (256, 512, 1024, 2048)
EXPONENT = 2.1
"""The limit of the exponent: n^2, and 5 % for the error of a fit to four measured times."""


SHIPPED_TO = 64


def slowest_shipped() -> Figure:
    """Measure the most processor time that one shipped formula takes in one regime to compile and to prove."""
    worst, case, failed = 0.0, "", ""
    for path in sorted((ROOT / "formulas").glob("*.ltl")):
        given = read_input(str(path))
        for regime in PROVEN:
            began = process_time()
            try:
                subject = given.compile(ModelOptions(regime))
            except Unsupported:
                continue
            result = prove_subject(subject, SHIPPED_TO)
            took, one = process_time() - began, f"{path.name}, {regime}"
            if result.verdict is not Verdict.PROVED:
                failed = f"failed: {one} is {result.verdict}"
            worst, case = max((worst, case), (took, one))
    what = f"every length to {SHIPPED_TO}, the slowest of formulas/*.ltl"
    return Figure(GROUP, what, case, None if failed else worst, "s", Target(2), failed)


LARGE = (85, 170, 430, 800, 1250)
"""Numbers of constraints in the large formulas of one to twenty thousand tokens."""
ACTIVITIES = 58


def large() -> list[Figure]:
    """Measure the processor time to compile formulas of one to twenty thousand tokens, and to prove them to length
    64.

    Each row names the size of the formula and of its network.
    """
    found = []
    for number in LARGE:
        text = model(number, ACTIVITIES, props=True)
        file = parse_text(text)
        began = process_time()
        subject = compile_formula(file, ModelOptions())
        compiled = process_time()
        result = prove_subject(subject, SHIPPED_TO)
        proved = process_time()
        network = subject.model
        case = (
            f"{tokens(text):,} tokens, {len(desugar(file).live):,} nodes: {len(network.layers)} layers, "
            f"{network.dimension:,} coordinates, {network.parameters:,} parameters"
        )
        failed = "" if result.verdict is Verdict.PROVED else f"failed: {result.verdict}"
        found.append(Figure(GROUP, "compile a large formula", case, compiled - began, "s"))
        value = None if failed else proved - compiled
        found.append(
            Figure(GROUP, f"every length to {SHIPPED_TO} of a large formula", case, value, "s", Target(60), failed)
        )
    return found


def span(low: int, high: int) -> Finished:
    """Run `hardsim prove` on the lengths `low` to `high`."""
    return run((*HARDSIM, "prove", FILE, "--min-n", str(low), "--max-n", str(high), "--no-tables"))


def measure() -> Results:
    """Measure proofs of every length up to 256, of length 4,096 alone, and the growth of the time with the length."""
    found = Results()
    found.figures.append(slowest_shipped())
    found.figures.extend(large())
    found.figures.append(_proof(f"every length to {ALL_TO}", span(1, ALL_TO), Target(20)))
    found.figures.append(_proof(f"the length {LONG:,} alone", span(LONG, LONG), Target(60)))
    start, *done = span(1, 1), *(span(n, n) for n in GROWTH)
    for n, one in zip(GROWTH, done, strict=True):
        found.figures.append(_proof(f"the length {n:,} alone", one, None))
    slope = growth([(n, one.seconds - start.seconds) for n, one in zip(GROWTH, done, strict=True)])
    failed = next((f"failed: {one.complaint}" for one in (start, *done) if one.code), "")
    found.figures.append(replace(slope, value=None, note=failed) if failed else slope)
    return found


def growth(times: list[tuple[int, float]]) -> Figure:
    """Return the slope of log time over log length, by least squares; `times` are seconds without start-up."""
    what, case = "exponent of the growth", f"{FILE}, n = {times[0][0]} to {times[-1][0]:,}"
    if any(seconds <= 0 for _, seconds in times):
        return Figure(GROUP, what, case, None, "", Target(EXPONENT), "a proof takes no longer than start-up")
    points = [(math.log(n), math.log(seconds)) for n, seconds in times]
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope = sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
    return Figure(GROUP, what, case, slope, "", Target(EXPONENT), "without start-up; quadratic growth is 2")


def _proof(what: str, done: Finished, target: Target | None) -> Figure:
    if done.code or "PROVED" not in done.out:
        return Figure(GROUP, what, FILE, None, "s", target, f"failed: {done.complaint}")
    return Figure(GROUP, what, FILE, done.seconds, "s", target)
