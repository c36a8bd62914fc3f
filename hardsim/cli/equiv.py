"""The command `hardsim equiv`: compare two files word by word."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.result import Verdict
from hardsim.cli.estimate import bar
from hardsim.cli.session import ResultText, Session, session
from hardsim.cli.streams import note
from hardsim.errors import InputError
from hardsim.measuring.equiv import compare
from hardsim.options.table import Request
from hardsim.report.equiv import print_equiv, print_equiv_verdict
from hardsim.report.unused_options import equiv_unused
from hardsim.targets.semantics import Semantics


def command(request: Request) -> None:
    """Run `hardsim equiv` as requested, and print its results."""
    with session("equiv", request, request.seed) as current:
        if not current.names:
            raise InputError("nothing to read: give two files", "For example: hardsim equiv mine.ltl mine.re")
        at = request.options()[0].at
        if current.expressions:
            _require_two(current.names)
        given = list(current.read())
        if current.errors:
            return
        _require_two(given)
        for remark in equiv_unused(request, *given):
            current.remark(None, None, remark, tell=note)
        sides: list[Semantics] = []
        for one in given:
            with current.guard(one.name):
                sides.append(one.semantics(at))
        if len(sides) == len(given):
            _compare(current, *sides)


def _require_two(given: Sequence[object]) -> None:
    if len(given) != 2:
        message = f"equiv compares two files, but {len(given) or 'none'} {'is' if len(given) == 1 else 'are'} given"
        raise InputError(message, "For example: hardsim equiv mine.ltl mine.re")


def _compare(current: Session, left: Semantics, right: Semantics) -> None:
    request = current.request
    options = CheckOptions(request.max_n, request.exhaustive, request.samples, request.seed)
    with bar(f"{left.name}, {right.name}") as shown:
        result = compare(left, right, options, shown.at_length)
    message = ResultText(
        result=result,
        full=partial(print_equiv, result=result, alphabet=left.alphabet),
        brief=partial(print_equiv_verdict, result=result, alphabet=left.alphabet),
        word=result.word,
        alphabet=left.alphabet,
    )
    left_out = "the comparison is partial: it covers the words tried so far" if result.partial else ""
    current.conclude(result.same, result.verdict is Verdict.UNDECIDED, left_out, message)
