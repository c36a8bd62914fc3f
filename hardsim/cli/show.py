"""`hardsim show`: what a formula was compiled into."""

from __future__ import annotations

from functools import partial

from hardsim.checking.open import Input
from hardsim.checking.options import Request
from hardsim.checking.subject import Subject
from hardsim.cli.session import Session, session
from hardsim.report.model import describe, print_model

SHORT_LENGTH = 8
"""Bounds and precision are shown at this length and at --max-n."""


def command(request: Request) -> None:
    """The command."""
    with session("show", request) as current:
        for given in current.read():
            current.each(given, partial(_show, current, given))


def _show(current: Session, given: Input, subject: Subject) -> None:
    max_n = current.request.max_n
    report = describe(subject, sorted({min(SHORT_LENGTH, max_n), max_n}), given.warnings)
    current.found.append(report)
    print_model(current.screen, report)
