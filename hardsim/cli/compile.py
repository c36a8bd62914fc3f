"""`hardsim compile`: the network as a file."""

from __future__ import annotations

from dataclasses import replace

from hardsim.checking.campaign import CheckOptions
from hardsim.checking.evaluate import preparation, temperatures
from hardsim.checking.open import read_expression, read_input, store_program, store_text
from hardsim.checking.result import CompileResult
from hardsim.checking.subject import Subject, digest
from hardsim.cli.estimate import announce, check_cost
from hardsim.cli.options import ALL, Request
from hardsim.cli.session import check_source, session
from hardsim.errors import InputError
from hardsim.files import STDOUT, Sink, is_directory
from hardsim.report.check import model_line


def command(request: Request) -> None:
    """The command."""
    file, output = request.file, request.output
    request = replace(request, files=None if file is None else [file])
    if request.regime == ALL:
        raise InputError("one file holds one network: --regime all is several", "Name one regime.")
    if output is None:
        _readable(request)
        raise InputError("nowhere to write the network", "Add -o model.json, or -o - for standard output.")
    if output == STDOUT == request.json:
        raise InputError("-o - and --json - both want standard output", "Give one of them a file.")
    if file and is_directory(file):
        raise InputError(f"{file} is a directory, and one file holds one network", "Name one formula file.")
    with Sink(output, "-o") as target, session("compile", request, target=target) as current:
        if current.sink is not None and current.sink.same(target):
            raise InputError(f"-o and --json both write {output}", "Give one of them another name.")

        def write(subject: Subject) -> None:
            if request.hard and subject.formula is None:
                current.remark(subject.name, None, request.softening())
            text = _text(subject, request)
            target.write(text)
            sha256 = digest(text.encode("utf-8", "backslashreplace"))
            current.found.append(CompileResult(subject.name, subject.kind, subject.facts, output, sha256))
            current.screen.line(f"{subject.name} -> {output}: {model_line(subject.facts)}")

        current.all(current.read(), write)


def _readable(request: Request) -> None:
    """Hold that there is something to compile, and that it can be read, which comes before where to write it."""
    check_source(request)
    if request.expression is not None:
        read_expression(request.expression, request.alphabet or "")
    elif request.file is not None and not is_directory(request.file):
        read_input(request.file)


def _text(subject: Subject, request: Request) -> str:
    """The document of a subject: hard attention, or the softmax network, of a program or model with Theorem 26's
    temperature at each length up to --max-n unless it has another (Undecided if none gives the wanted error)."""
    if request.hard or (subject.sharpness is not None and subject.formula is None):
        return store_program(subject)
    if subject.formula is not None:
        return store_text(subject)
    options = CheckOptions(max_n=request.max_n)
    if subject.schedule is None:
        announce(subject.name, check_cost(subject, options), 1)
    prepared = preparation(subject, options, range(1, request.max_n + 1))
    schedule = subject.schedule or temperatures(prepared, subject)
    return store_program(subject, schedule, prepared.program)
