"""The command `hardsim show`: print a compiled network, the automaton of a regular expression, or an external
network.
"""

from __future__ import annotations

from functools import partial
from typing import cast, get_args

from hardsim.cli.estimate import patient
from hardsim.cli.session import Session, session
from hardsim.errors import InputError
from hardsim.files import STDOUT, Sink
from hardsim.options.table import Request, unknown
from hardsim.report.automaton import WrittenAutomaton, automaton_size, describe_automaton, print_automaton
from hardsim.report.model_report import describe, print_model
from hardsim.report.network import describe_network, print_network
from hardsim.targets.base import At, digest
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import plural
from hardsim.targets.subject import Subject
from hardsim.writing.automata import AutomatonFormat, automaton_text

FORMATS = get_args(AutomatonFormat)
SHORT_LENGTH = 8
"""Length at which bounds and precision are shown, besides --max-n; no length above --max-n is shown."""


def command(request: Request) -> None:
    """Run `hardsim show` as requested, and print its results."""
    if request.automaton is not None:
        _write(request, request.automaton)
        return
    if request.output is not None:
        raise InputError("-o is for the automaton that --automaton writes", "Add --automaton dot, or leave out -o.")
    with session("show", request) as current:
        for given in current.read():
            automaton = describe_automaton(given, request.max_n)
            if automaton is None:
                current.each(given, partial(_show, current, given), partial(_show_network, current, given))
                continue
            current.results.append(automaton)
            print_automaton(current.screen, given, automaton)


def _write(request: Request, form: str) -> None:
    """Write the minimal automaton of one input to a file, or to standard output."""
    if form not in FORMATS:
        hoa = "; HOA speaks of infinite words, and words are finite here" if form == "hoa" else ""
        raise unknown("automaton format", form, FORMATS, hoa)
    output = STDOUT if request.output is None else request.output
    with Sink(output, "-o") as target, session("show", request, targets=[target]) as current:
        given = list(current.read())
        if len(given) > 1:
            raise InputError("one file holds one automaton, and several inputs are given", "Name one of them.")
        for one in given:
            with current.guard(one.name):
                with patient(f"{one.name}: building its automaton takes long"):
                    automaton = one.semantics(cast("At | None", request.at)).automaton
                text = automaton_text(automaton, cast("AutomatonFormat", form), one.name)
                target.write(text)
                states, sha256 = len(automaton.moves), digest(text.encode())
                current.results.append(WrittenAutomaton(one.name, one.kind, form, states, output, sha256))
                current.screen.line(f"{one.name} -> {output}: minimal automaton of {plural(states, 'state')}")


def _show(current: Session, given: Input, subject: Subject) -> None:
    max_n = current.request.max_n
    size = automaton_size(given, cast("At | None", current.request.at))
    report = describe(subject, sorted({min(SHORT_LENGTH, max_n), max_n}), given.warnings, size)
    current.results.append(report)
    print_model(current.screen, report)


def _show_network(current: Session, given: Input, subject: External) -> None:
    report = describe_network(subject, *given.how_read(subject, current.request.at))
    current.results.append(report)
    print_network(current.screen, report)
