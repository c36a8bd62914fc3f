"""The command `hardsim bound`: score gaps, temperatures and errors beside what theory allows."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial

from hardsim.campaign.check import CheckOptions, default_workers
from hardsim.campaign.interrupts import uninterrupted
from hardsim.campaign.result import Verdict
from hardsim.campaign.workers import Crews, LocalCrew, crews
from hardsim.cli.activity import still
from hardsim.cli.ahead import Ahead, OnTarget
from hardsim.cli.estimate import bound_bars
from hardsim.cli.session import ResultText, Session, session
from hardsim.cli.streams import note
from hardsim.examples import formulas_directory
from hardsim.files import Sink
from hardsim.measuring import bound as bounds
from hardsim.measuring.bound import BoundOptions, BoundResult, bound_report, bound_subject
from hardsim.options.table import Request
from hardsim.report.bound import (
    gaps_counted,
    print_bound,
    print_bound_verdict,
    print_gaps,
    print_summary,
)
from hardsim.report.plot import draw, format_of, require_drawable
from hardsim.report.screen import Screen
from hardsim.targets.subject import Subject


def command(request: Request) -> None:
    """Run `hardsim bound` as requested, and print its results."""
    searched = request.critical or request.norm_epsilon is not None
    if searched:
        # Imported here, since other reports do without these searches and the provers that they need.
        from hardsim.cli.brackets import require_critical, search

        require_critical(request)
    # With --gap alone the shipped files are checked.
    if request.gap and not request.files and request.expression is None:
        request = replace(request, files=[str(formulas_directory())])
    with (
        nullcontext() if request.plot is None else _target(request.plot) as target,
        crews(request, note, still) as staff,
        session("bound", request, request.seed, [] if target is None else [target]) as current,
    ):
        if searched:
            search(current)
        else:
            _reports(current, staff)
        if target is not None:
            with current.guard(None):
                # A picture that cannot be written is an error of the run, but keeps the results.
                target.write(draw(current.results, format_of(target.path)))
                note(f"the picture is in {target.path}")


def _target(path: str) -> Sink:
    """Return the destination of a picture. Raises InputError, before anything is computed, if the picture cannot be
    drawn."""
    format_of(path)
    require_drawable()
    return Sink(path, "--plot")


def _reports(current: Session, staff: Crews) -> None:
    """Report on all inputs, then print a row for each if there are several, or the table of gaps for `--gap`."""
    gap = current.request.gap
    current.without(*bounds.UNUSED)
    if gap:
        current.without(*bounds.UNUSED_FOR_GAPS)
    given = list(current.read())
    staff.join()
    with closing(Ahead(staff, current.request, OnTarget(reported), current.tasks(given), networks=False)) as ahead:
        current.all(given, partial(_report, current, staff, current.tables(given) and not gap, ahead))
    if current.request.quiet:
        return
    if gap:
        print_gaps(current.screen, current.results)
        current.counted = gaps_counted(current.results)
    elif len(current.results) > 1:
        print_summary(current.screen, current.results)


def _choice(request: Request) -> CheckOptions:
    return CheckOptions(request.max_n, request.exhaustive, request.samples, request.seed, engine=request.engine)


def reported(request: Request, subject: Subject) -> BoundResult:
    """Report on one subject in this process, without a word on its progress."""
    target = bound_subject(subject, request.gap, request.epsilon)
    return bound_report(target, _choice(request), BoundOptions(gap=request.gap), None, LocalCrew(1))


def _report(current: Session, staff: Crews, tables: bool, ahead: Ahead, subject: Subject) -> None:
    """Report on one subject."""
    request, gap, name, alphabet = current.request, current.request.gap, subject.name, subject.alphabet
    options, expected = _choice(request), BoundOptions(gap=gap)
    with uninterrupted():
        result = current.known(ahead)
        if result is None:
            target = bound_subject(subject, gap, request.epsilon)
            alone = ahead.workers > 1  # the other processes have work
            default = partial(default_workers, target.subject, options)
            crew = LocalCrew(1) if alone else staff.crew((lambda: 1) if gap else default)
            with bound_bars(subject, options) as shown:
                result = bound_report(target, options, expected, shown.update, crew, shown.trials)

        def full(screen: Screen) -> None:
            if not (gap and result.agreed):  # else it is only a row of the table at the end
                print_bound(screen, result, alphabet, tables, request.all_lengths)

        message = ResultText(
            result=result,
            regime=result.regime,
            full=full,
            brief=partial(print_bound_verdict, result=result, alphabet=alphabet),
            word=result.refuted if result.violation is None else result.violation.word,
            alphabet=alphabet,
        )
        left = f"the report on {name} is partial" if result.partial else ""
        current.conclude(result.agreed, result.verdict is Verdict.UNDECIDED, left, message)
