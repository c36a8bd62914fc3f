"""The command `hardsim verify`: check certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from hardsim.campaign.options import Request
from hardsim.cli.session import ResultText, check_source, session
from hardsim.cli.streams import say
from hardsim.errors import InputError
from hardsim.files import read_bytes
from hardsim.lang.ast import FormulaFile
from hardsim.lang.unread_files import naming
from hardsim.proving.formula_certificate import (
    Compared,
    VerifyResult,
    check_formula,
    check_labels,
    check_model,
    lengths_of,
    literal_text,
    node_lines,
    span_of,
)
from hardsim.proving.program_certificate import check_network
from hardsim.report.check import print_headline
from hardsim.report.screen import Screen
from hardsim.targets.opening import read_expression, read_input
from hardsim.targets.subject import Subject
from hardsim.verify import LARGEST_FILE, MAKE_ONE, Unreadable, read, rejection
from hardsim.verify import verify as verify_document
from hardsim.verify.arithmetic import require
from hardsim.verify.sections import printable

MOST_LINES = 20
"""Largest number of nodes of a formula to print."""


@dataclass(frozen=True, slots=True)
class CertifiedTarget:
    """The formula and the network that certificates must be about, each with its name; None if not given."""

    formula: tuple[FormulaFile, str] | None = None
    model: tuple[Subject, str] | None = None


def command(request: Request) -> None:
    """Run `hardsim verify` as requested, and print its results."""
    with session("verify", request) as current:
        for name in (*request.certificates, request.formula, request.model):
            if name is not None:
                current.spare(name)
        target = _target_of(request)
        for name in current.expand(request.certificates, lambda path: [path]):
            if current.over:
                break
            current.started = perf_counter()
            with current.guard(name):
                result = check(name, target)
                if not result.valid:
                    # Not on standard output, where whoever looks for VALID would find it.
                    say(f"{name}: INVALID: {result.reason}")
                current.conclude(result.valid, undecided=False, shown=_result_text(result))


def _result_text(result: VerifyResult) -> ResultText:
    """Return how to print a result; an invalid certificate is printed in reports for other programs only."""
    facts = result.reason or ""
    if result.lengths is not None:
        facts = f"every word of {span_of(result.lengths)}"

    def headline(screen: Screen) -> None:
        print_headline(screen, result.verdict, "bold green" if result.valid else "bold red", result.input, facts)

    def brief(screen: Screen) -> None:
        if result.valid:
            headline(screen)

    def full(screen: Screen) -> None:
        brief(screen)
        for line in text_lines(result) if result.valid else ():
            screen.line(line)

    return ResultText(result, full, brief, reach=facts, details=headline)


def _target_of(request: Request) -> CertifiedTarget:
    """Return the formula and the network that the options name."""
    formula, model, at, expression = request.formula, request.model, request.at, request.expression
    check_source(replace(request, files=None if formula is None else [formula]), needed=False)
    reading = {"--at": at, "--dialect": request.dialect, "--alphabet": request.alphabet, "--props": request.props}
    if (formula, model, expression) == (None,) * 3 and all(value is None for value in reading.values()):
        return CertifiedTarget()
    (options,) = request.options()
    target = CertifiedTarget()
    if formula is not None or expression is not None:
        props, symbols, dialect = request.props, request.alphabet, request.dialect
        if formula is None and symbols is None and props is None:
            # The certificate names an alphabet; one that is taken from the formula could only contradict it by chance.
            message = "-e needs --alphabet or --props here: the certificate is about words over an alphabet"
            raise InputError(message, "For example: -e 'a S b' --alphabet 'a b c'")
        if formula is None:
            given = read_expression(expression or "", symbols, props=props, dialect=dialect)
        else:
            given = read_input(formula, props=props, alphabet=symbols, dialect=dialect)
        file = given.file.read_at(options.at)
        if not given.regimes:
            raise InputError(f"{given.name} is a compiled model, not a formula", "Name it with --model.")
        target = CertifiedTarget((file, given.name))
    elif alone := next((option for option, value in reading.items() if value is not None), ""):
        raise InputError(f"{alone} needs --formula or -e", f"Leave out {alone}, or name the formula.")
    if model is None:
        return target
    return replace(target, model=(read_input(model).as_read(), model))


def text_lines(result: VerifyResult) -> list[str]:
    """Return lines that state what a valid certificate is about and with what it was compared, in printable
    characters."""
    lines, compared = list[str](), result.compared
    assert result.digests is not None
    parts = ["formula", "model"]
    if result.formula is None:
        lines.append("  claim     softmax answers as hard attention with the same weights; lengths count padding")
        lines.append(printable(f"  at        temperature {temperature_text(result)}"))
        parts = ["model"]
    elif compared.formula is not None:
        lines.append(f"  formula   that of {compared.formula}")
    else:
        nodes = node_lines(result.formula, MOST_LINES)
        lines.append(f"  formula   node {literal_text(result.formula['root'])} at the last position, of")
        lines += [printable(f"              {line}") for line in nodes]
    message = f"that of {compared.model}, " if compared.model is not None else ""
    lines.append(f"  model     {message}sha256 {result.digests['model']}")
    missing = [key for key in parts if getattr(compared, key) is None]
    if missing:
        named = " and ".join(f"--{key}" for key in missing)
        lines.append(f"  not compared with a file: the {' and the '.join(missing)} ({named})")
    return lines


def temperature_text(result: VerifyResult) -> str:
    """Return the temperature of a certificate as text, or the temperatures of its lengths in order."""
    given = result.temperature
    if not isinstance(given, tuple):
        return given or ""
    return given[0] if len({*given}) == 1 else f"{', '.join(given)}, of these lengths in order"


def check(path: str, target: CertifiedTarget) -> VerifyResult:
    """Return the result of checking one file. Raises InputError if the file is not a certificate."""
    with naming(path, path):
        try:
            document = read(
                read_bytes(path, LARGEST_FILE, missing=f"check the path; {MAKE_ONE[0].lower()}{MAKE_ONE[1:]}")
            )
        except Unreadable as error:
            raise InputError(f"{path}: {error}", MAKE_ONE) from None

    of_program = "facts" in document

    def compare() -> None:
        if of_program:
            require(target.formula is None, "the certificate is about a program or a model, not about a formula")
            if target.model is not None:
                check_network(document, *target.model)
            return
        check_labels(document)
        if target.formula is not None:
            check_formula(document, *target.formula)
        if target.model is not None:
            check_model(document, *target.model)

    reason = verify_document(document) or rejection(compare)
    compared = Compared(target.formula and target.formula[1], target.model and target.model[1])
    expected = ("claim", "min_n", "max_n", "lengths", "temperature", "formula", "digests")
    facts: dict[str, Any] = dict.fromkeys(expected)
    if reason is None:
        # Only the text of a certificate that was found valid is shown.
        lengths = lengths_of(document)
        given = (document if of_program else document["model"])["temperature"]
        facts = {key: document.get(key) for key in expected} | {"lengths": tuple(map(tuple, lengths))}
        facts |= {"min_n": lengths[0][0], "max_n": lengths[0][1]}
        facts["temperature"] = tuple(given) if isinstance(given, list) else given
    return VerifyResult(path, "VALID" if reason is None else "INVALID", reason, compared=compared, **facts)
