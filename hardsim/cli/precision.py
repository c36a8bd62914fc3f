"""The command `hardsim precision`: find the length up to which a network is right in a number format."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from time import perf_counter

from hardsim.campaign.check import CheckOptions, require_affordable
from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.campaign.workers import crews
from hardsim.cli import estimate
from hardsim.cli.activity import still
from hardsim.cli.ahead import ONE_PROCESS, Ahead
from hardsim.cli.estimate import bar, patient
from hardsim.cli.session import Session, session
from hardsim.cli.streams import note
from hardsim.errors import Unsupported
from hardsim.measuring.export import Export, export_of
from hardsim.options.table import ALL, Request
from hardsim.precision.safe_lengths import PrecisionResult, Report, ariths_of, precision_of
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
    with crews(request, note, still) as staff, session("precision", request, request.seed) as current:
        given = list(current.read())
        tasks = [(one, options) for one in given for options in _options(request, one)]
        if len(tasks) < 2:
            current.without(*ONE_PROCESS)
        with closing(Ahead(staff, request, measured, tasks, shares=False)) as ahead:
            for one in given:
                if current.over:
                    break
                _each_regime(current, one, ahead)


def _each_regime(current: Session, given: Input, ahead: Ahead) -> None:
    """Report on an input in each requested regime. With --regime all, a regime that refuses the input is only a remark,
    unless every regime does."""
    refusals: list[tuple[str | None, Unsupported]] = []
    several = _options(current.request, given)
    for options in several:
        if current.over:
            return
        current.task += 1
        with current.guard(given.name):
            try:
                _show(current, given, options, ahead)
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


def _export(request: Request, given: Input, options: ModelOptions) -> tuple[Export, int]:
    """Return the network whose formats are examined, and the largest length."""
    max_n = request.max_n
    if not given.is_network:
        subject = given.compile(options)
        if subject.by_theorem:
            max_n = min(max_n, SHORT) if "max_n" in request.written else 8
            require_affordable(subject, CheckOptions(max_n=max_n), range(1, max_n + 1))
    return export_of(given, options, max_n), max_n


def _examined(request: Request, name: str, made: Export, max_n: int, report: Report | None = None) -> PrecisionResult:
    given = made, name, ariths_of(request), max_n, request.exhaustive, request.accumulate is not None, request.seed
    return precision_of(*given, report)


def measured(request: Request, given: Input, options: ModelOptions) -> tuple[PrecisionResult, Sequence[str]]:
    """Return the report on an input in one regime, made in this process without a word on its progress, and the
    alphabet."""
    made, max_n = _export(request, given, options)
    return _examined(request, given.name, made, max_n), made.alphabet


@uninterrupted()
def _show(current: Session, given: Input, options: ModelOptions, ahead: Ahead) -> None:
    request, known = current.request, current.known(ahead)
    if known is None:
        with interruptible():  # nothing is lost yet
            made, max_n = _export(request, given, options)
        begin, first = perf_counter(), not current.slow
        with (
            bar(given.name, "lengths") as shown,
            patient(f"{given.name}: {SLOW}") if shown.silent and first else nullcontext(),
        ):
            result = _examined(request, given.name, made, max_n, lambda arith, n, total: shown.at_length(n, n, total))
        current.slow |= perf_counter() - begin > estimate.LATE
        alphabet: Sequence[str] = made.alphabet
    else:
        result, alphabet = known
    current.results.append(result)
    print_precision(current.screen, result, alphabet)
    left = f"the report on {given.name} is partial: formats are missing"
    wrong = request.dtype is not None and any(row.fails_at is not None for row in result.rows)
    current.conclude(not wrong, request.dtype is not None and not _safe(result), left * result.partial)


def _safe(result: PrecisionResult) -> bool:
    """Return True if in every format every length up to max_n is safe, with at least one judged word."""
    return all(row.safe_to >= result.max_n and row.words != 0 for row in result.rows)
