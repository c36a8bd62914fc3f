"""The command `hardsim compile`: write a compiled network to a file."""

from __future__ import annotations

from dataclasses import replace

from hardsim.campaign.check import CheckOptions, require_affordable
from hardsim.campaign.evaluate import compiled_document
from hardsim.campaign.result import CompileResult
from hardsim.cli.estimate import patient
from hardsim.cli.session import check_source, session
from hardsim.errors import InputError
from hardsim.files import Sink, is_directory
from hardsim.options.table import Request, require_one_regime
from hardsim.reading.tensors import is_network_folder
from hardsim.report.check import model_line
from hardsim.targets.base import digest
from hardsim.targets.opening import read_expression, read_input
from hardsim.targets.subject import Subject


def command(request: Request) -> None:
    """Run `hardsim compile` as requested: write the network, and print its size."""
    file, output = request.file, request.output
    request = replace(request, files=None if file is None else [file])
    require_one_regime(request, "one file holds one network")
    if output is None:
        _readable(request)
        raise InputError("nowhere to write the network", "Add -o model.json, or -o - for standard output.")
    if file and is_directory(file):
        if not is_network_folder(file):
            raise InputError(f"{file} is a directory, but one file holds one network", "Name one formula file.")
        if read_input(file).is_network:  # else it was exported
            message = "is an external network, but compile needs a formula, a program or a model"
            raise InputError(f"{file} {message}", "In Python, hardsim.load(...).save(FILE) writes an external network.")
    with Sink(output, "-o") as target, session("compile", request, targets=[target]) as current:

        def write(subject: Subject) -> None:
            if request.hard and not subject.of_formula:
                current.remark(subject.name, None, request.softening())
            if not request.hard and subject.by_theorem:
                require_affordable(subject, CheckOptions(max_n=request.max_n), range(1, request.max_n + 1))
            with patient(f"{subject.name}: measuring words to length {request.max_n:,} takes long"):
                text, ties = compiled_document(subject, request.hard, request.max_n)
            target.write(text)
            sha256 = digest(text.encode("utf-8", "backslashreplace"))
            broken = tuple(tie.head for tie in ties if tie.simulated == "weights added")
            facts = replace(subject.facts, ties_broken=broken)
            current.results.append(CompileResult(subject.name, subject.kind, facts, output, sha256, ties))
            current.screen.line(f"{subject.name} -> {output}: {model_line(facts)}")
            for note in filter(None, (tie.note for tie in ties)):
                current.screen.line(f"  {note}", hang=2)

        current.all(current.read(), write)


def _readable(request: Request) -> None:
    """Require one input that can be read. This check comes before the check of `-o`, because a bad input is the more
    important message."""
    check_source(request)
    if request.expression is not None:
        read_expression(request.expression, request.alphabet, props=request.props, dialect=request.dialect)
    elif request.file is not None and not is_directory(request.file):
        read_input(request.file, props=request.props, alphabet=request.alphabet, dialect=request.dialect)
