"""The command `hardsim show`: print a compiled network, the automaton of a regular expression, or an external
network.
"""

from __future__ import annotations

from functools import partial

from hardsim.cli.session import Session, session
from hardsim.options.table import Request
from hardsim.report.automaton import describe_automaton, print_automaton
from hardsim.report.model_report import describe, print_model
from hardsim.report.network import describe_network, print_network
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.subject import Subject

SHORT_LENGTH = 8
"""Length at which bounds and precision are shown, besides --max-n; no length above --max-n is shown."""


def command(request: Request) -> None:
    """Run `hardsim show` as requested, and print its results."""
    with session("show", request) as current:
        for given in current.read():
            automaton = describe_automaton(given, request.max_n)
            if automaton is None:
                current.each(given, partial(_show, current, given), partial(_show_network, current, given))
                continue
            current.results.append(automaton)
            print_automaton(current.screen, given, automaton)


def _show(current: Session, given: Input, subject: Subject) -> None:
    max_n = current.request.max_n
    report = describe(subject, sorted({min(SHORT_LENGTH, max_n), max_n}), given.warnings)
    current.results.append(report)
    print_model(current.screen, report)


def _show_network(current: Session, given: Input, subject: External) -> None:
    report = describe_network(subject, *given.how_read(subject, current.request.at))
    current.results.append(report)
    print_network(current.screen, report)
