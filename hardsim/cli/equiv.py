"""The command `hardsim equiv`: compare two files, or several files with the first one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from functools import partial

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.result import Verdict
from hardsim.campaign.workers import Crews, crews
from hardsim.cli.activity import still
from hardsim.cli.ahead import ONE_PROCESS, Ahead
from hardsim.cli.estimate import bar
from hardsim.cli.session import ResultText, Session, session
from hardsim.cli.streams import note
from hardsim.errors import InputError
from hardsim.files import Sink
from hardsim.measuring.equiv import EquivResult, compare
from hardsim.options.table import Request
from hardsim.report import grades
from hardsim.report.equiv import line_reach, print_equiv, print_equiv_line, print_equiv_verdict
from hardsim.report.outcome import Finished
from hardsim.report.unused_options import equiv_unused
from hardsim.targets.inputs.base import Input
from hardsim.targets.paths import left_out_of
from hardsim.targets.semantics import Semantics


def command(request: Request) -> None:
    """Run `hardsim equiv` as requested, and print its results."""
    with (
        nullcontext() if request.html is None else Sink(request.html, "--html") as target,
        crews(request, note, still) as staff,
        session("equiv", request, request.seed, [] if target is None else [target]) as current,
    ):
        current.page = None if target is None else partial(_page, current, target)
        current.remark(None, None, left_out_of(request.files or []), tell=note)
        if not current.names:
            raise InputError("nothing to read: give two files", "For example: hardsim equiv mine.ltl mine.re")
        if current.expressions:
            _require_two(len(current.names))
        reading = current.read()
        given = [one for one in [next(reading, None)] if one is not None]
        # The names of all files are known once the first one is read.
        total = max(current.named + len(current.expressions), len(current.names))
        current.joint = total <= 2
        if not current.joint and _reference(current) in {one.input for one in current.errors}:
            return
        given += reading
        if current.joint:
            current.without(*ONE_PROCESS)
            _two(current, given)
        else:
            _several(current, given, staff)


def _page(current: Session, target: Sink, finished: Finished) -> None:
    """Write the page of --html, if there was a file to compare with."""
    if current.reference is None:
        note("no page was written: there is nothing to compare with")
        return
    target.write(grades.render(current.reference, finished, current.results, current.notes))
    note(f"the page is in {target.path}")


def _require_two(given: int) -> None:
    if given < 2:
        message = f"equiv needs at least two files, but {given or 'none'} is given"
        raise InputError(message, "For example: hardsim equiv mine.ltl mine.re")


def _reference(current: Session) -> str:
    """Return the name of the file with which the others are compared; a name that stands for no file is returned as
    given."""
    first = (current.request.files or current.names)[0]
    return first if first in {one.input for one in current.errors} else current.names[0]


def _two(current: Session, given: Sequence[Input]) -> None:
    """Compare two files, and print all of the result."""
    if current.errors:
        return
    _require_two(len(given))
    sides = _semantics(current, given)
    if len(sides) < len(given):
        return
    left, right = sides.values()
    current.reference = left.name
    result = _compared(current, left, right)
    message = ResultText(
        result=result,
        full=partial(print_equiv, result=result, alphabet=left.alphabet),
        brief=partial(print_equiv_verdict, result=result, alphabet=left.alphabet),
        word=result.word,
        alphabet=left.alphabet,
        # The outcome is about the second file, as with several. An expression has no place in a file.
        name=left.name if current.expressions else right.name,
    )
    _conclude(current, result, message)


def _several(current: Session, given: Sequence[Input], staff: Crews) -> None:
    """Compare files with the first one, and print a line for each. An error of one file does not stop the others."""
    sides = _semantics(current, given)
    if 0 not in sides:
        return
    left = sides.pop(0)
    current.reference = left.name
    if left.name not in (current.request.files or current.names):
        current.remark(None, None, f"the other files are compared with {left.name}, the first file of its directory")
    tasks = [(given[0], given[number]) for number in sides]
    with closing(Ahead(staff, current.request, compared, tasks, shares=False)) as ahead:
        _each(current, left, list(sides.values()), ahead)


def _each(current: Session, left: Semantics, others: Sequence[Semantics], ahead: Ahead) -> None:
    for right in others:
        if current.over:
            break
        current.task += 1
        with current.guard(right.name):
            result = _compared(current, left, right, ahead)
            line = partial(print_equiv_line, result=result, alphabet=left.alphabet)
            message = ResultText(
                result=result,
                full=line,
                brief=line,
                word=result.word,
                alphabet=left.alphabet,
                reach=line_reach(result),
                name=right.name,
            )
            _conclude(current, result, message)


def _semantics(current: Session, given: Sequence[Input]) -> dict[int, Semantics]:
    """Return the semantics of files by their numbers, without those that have none; errors and remarks are
    reported."""
    request = current.request
    at = request.options()[0].at
    for remark in equiv_unused(request, *given):
        current.remark(None, None, remark, tell=note)
    sides: dict[int, Semantics] = {}
    for number, one in enumerate(given):
        with current.guard(one.name):
            sides[number] = one.semantics(at)
    return sides


def _choice(request: Request) -> CheckOptions:
    return CheckOptions(request.max_n, request.exhaustive, request.samples, request.seed)


def compared(request: Request, left: Input, right: Input) -> EquivResult:
    """Compare two files in this process, without a word on its progress."""
    at = request.options()[0].at
    return compare(left.semantics(at), right.semantics(at), _choice(request), None, request.included)


def _compared(current: Session, left: Semantics, right: Semantics, ahead: Ahead | None = None) -> EquivResult:
    result: EquivResult | None = None if ahead is None else current.known(ahead)
    if result is None:
        with bar(f"{left.name}, {right.name}") as shown:
            result = compare(left, right, _choice(current.request), shown.at_length, current.request.included)
    current.remark(None, None, result.remark)
    return result


def _conclude(current: Session, result: EquivResult, message: ResultText) -> None:
    left_out = "the comparison is partial: it covers the words tried so far" if result.partial else ""
    current.conclude(result.same, result.verdict is Verdict.UNDECIDED, left_out, message)
