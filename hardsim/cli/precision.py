"""The command `hardsim precision`: find the length up to which a network is right in a number format."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from hardsim.campaign.check import CheckOptions, require_affordable
from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.cli.estimate import bar, patient
from hardsim.cli.session import Session, session
from hardsim.errors import Unsupported
from hardsim.measuring.export import export_of
from hardsim.options.table import ALL, Request
from hardsim.precision.safe_lengths import PrecisionResult, ariths_of, precision_of
from hardsim.program.regimes import EVERY
from hardsim.report.precision import print_precision
from hardsim.targets.base import ModelOptions
from hardsim.targets.inputs.base import Input

SLOW = "this takes long: lengths are checked one by one, format by format"
SHORT = 64
"""Largest length for which Theorem 26's temperatures are computed, for a network that has one temperature for each
length."""


def command(request: Request) -> None:
    """Run `hardsim precision` as requested, and print its results."""
    ariths_of(request)
    with session("precision", request, request.seed) as current:
        for given in current.read():
            if current.over:
                break
            _each_regime(current, given)


def _each_regime(current: Session, given: Input) -> None:
    """Report on an input in each requested regime. With --regime all, a regime that refuses the input is only a remark,
    unless every regime does."""
    refusals: list[tuple[str | None, Unsupported]] = []
    several = _options(current.request, given)
    for options in several:
        if current.over:
            return
        with current.guard(given.name):
            try:
                _show(current, given, options)
            except Unsupported as error:
                refusals.append((options.regime, error))
    current.refused(given.name, refusals, len(several))


def _options(request: Request, given: Input) -> list[ModelOptions]:
    if given.is_network:
        request.require_stored(given)
    found = request.options()
    if given.regimes and request.regime == ALL:
        return [replace(found[0], regime=name) for name in EVERY]
    return found[:1]


@uninterrupted()
def _show(current: Session, given: Input, options: ModelOptions) -> None:
    request, max_n = current.request, current.request.max_n
    with interruptible():  # nothing is lost yet
        if not given.is_network:
            subject = given.compile(options)
            if subject.by_theorem:
                max_n = min(max_n, SHORT) if "max_n" in request.written else 8
                require_affordable(subject, CheckOptions(max_n=max_n), range(1, max_n + 1))
        made = export_of(given, options, max_n)
    ariths = ariths_of(request)
    with bar(given.name, "lengths", cost=_cost) as shown, patient(SLOW) if shown.silent else nullcontext():
        result = precision_of(
            made, given.name, ariths, max_n, request.exhaustive, request.accumulate is not None, request.seed,
            lambda arith, n, total: shown.at_length(n, n, total),
        )  # fmt: skip
    current.results.append(result)
    print_precision(current.screen, result, made.alphabet)
    left = f"the report on {given.name} is partial: formats are missing"
    wrong = request.dtype is not None and any(row.fails_at is not None for row in result.rows)
    current.conclude(not wrong, request.dtype is not None and not _safe(result), left * result.partial)


def _cost(n: int) -> float:
    """Return the cost of the lengths up to n, up to a factor: one of 1,000 takes twice as long as a short one."""
    return n + n**2 / 2000


def _safe(result: PrecisionResult) -> bool:
    """Return True if in every format every length up to max_n is safe, with at least one judged word."""
    return all(row.safe_to >= result.max_n and row.words != 0 for row in result.rows)
