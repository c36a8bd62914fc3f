"""The time of a proof, and its growth with the length and with the formula."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import log
from statistics import linear_regression
from time import perf_counter, process_time

from benchmarks.commands import FLIPFLOP
from benchmarks.declare import model, tokens
from benchmarks.runner import HARDSIM, ROOT, Case, FailedError, run
from hardsim.campaign.result import Verdict
from hardsim.errors import Unsupported
from hardsim.lang.desugar import desugar
from hardsim.lang.ltl_parser import parse_text
from hardsim.program.regimes import PROVEN
from hardsim.proving.prove import prove_subject
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.opening import read_input
from hardsim.targets.subject import Subject

SHIPPED_TO = 64
SPANS = {"every length to 256": (1, 256), "the length 4,096 alone": (4096, 4096)}
GROWTH = (256, 512, 1024, 2048)
EXPONENT = "time exponent"
LARGE = (85, 170, 430, 800, 1250)
"""Numbers of constraints in the large formulas of one to twenty thousand tokens."""
ACTIVITIES = 58


def proved(subject: Subject) -> None:
    """Prove every length up to `SHIPPED_TO`; raise FailedError if that fails."""
    verdict = prove_subject(subject, SHIPPED_TO).verdict
    if verdict is not Verdict.PROVED:
        raise FailedError(f"{subject.name} is {verdict}")


def slowest_shipped(what: str) -> tuple[Mapping[str, float], str]:
    """Measure the most processor time that one shipped formula takes in one regime to compile and to prove."""
    times = []
    for path in sorted((ROOT / "formulas").glob("*.ltl")):
        given = read_input(str(path))
        for regime in PROVEN:
            began = process_time()
            try:
                proved(given.compile(ModelOptions(regime)))
            except Unsupported:
                continue
            times.append((process_time() - began, f"{path.name}, {regime}"))
    worst, case = max(times)
    return {what: worst}, case


def large(number: int, compiling: str, proving: str) -> tuple[Mapping[str, float], str]:
    """Measure the processor time to compile a formula of `number` constraints, and to prove it; the note names the size
    of the formula and of its network."""
    text = model(number, ACTIVITIES, props=True)
    file = parse_text(text)
    began = process_time()
    subject = compile_formula(file, ModelOptions())
    compiled = process_time()
    proved(subject)
    seconds = {compiling: compiled - began, proving: process_time() - compiled}
    network = subject.model
    return seconds, (
        f"{tokens(text):,} tokens, {len(desugar(file).live):,} nodes: {len(network.layers)} layers, "
        f"{network.dimension:,} coordinates, {network.parameters:,} parameters"
    )


def span(low: int, high: int) -> float:
    """Return the seconds in which `hardsim prove` proves the lengths `low` to `high`."""
    began = perf_counter()
    found = run((*HARDSIM, "prove", FLIPFLOP, "--min-n", str(low), "--max-n", str(high), "--no-tables"))
    if "PROVED" not in found:
        raise FailedError(found.strip())
    return perf_counter() - began


def growing() -> tuple[Mapping[str, float], str]:
    """Measure proofs of single lengths, and the exponent of the growth of their time."""
    start, seconds = span(1, 1), {n: span(n, n) for n in GROWTH}
    exponent = growth({n: one - start for n, one in seconds.items()})
    found = {f"the length {n:,} alone": one for n, one in seconds.items()}
    return {**found, EXPONENT: exponent}, "without start-up; quadratic growth is 2"


def growth(seconds: Mapping[int, float]) -> float:
    """Return the slope of log time over log length, by least squares; `seconds` without start-up, by length."""
    if min(seconds.values()) <= 0:
        raise FailedError("a proof takes no longer than start-up")
    return linear_regression([*map(log, seconds)], [*map(log, seconds.values())]).slope


SLOWEST = f"every length to {SHIPPED_TO}, the slowest regime"
COMPILE, PROVE = "compile a large formula", f"every length to {SHIPPED_TO} of a large formula"
CASES = (
    Case("prover", "formulas/*.ltl", [(SLOWEST, "s", ("≤", 2))], partial(slowest_shipped, SLOWEST)),
    *(
        Case(
            "prover",
            f"{number:,} constraints",
            [(COMPILE, "s", None), (PROVE, "s", ("≤", 60))],
            partial(large, number, COMPILE, PROVE),
        )
        for number in LARGE
    ),
    *(
        Case("prover", FLIPFLOP, [(what, "s", ("≤", target))], lambda what=what: ({what: span(*SPANS[what])}, ""))  # type: ignore[misc]  # mypy infers no lambdas with defaults
        for what, target in zip(SPANS, (20, 60), strict=True)
    ),
    # The limit is n^2, and 5 % for the error of a fit to four measured times.
    Case("prover", f"{FLIPFLOP}, n = {GROWTH[0]} to {GROWTH[-1]:,}", [(EXPONENT, "", ("≤", 2.1))], growing),
)
