"""The command `hardsim verify`: check certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from hardsim.cli.estimate import bar
from hardsim.cli.session import ResultText, Session, check_source, session
from hardsim.errors import LONGEST_MESSAGE, InputError, limited
from hardsim.options.table import Request
from hardsim.proving.rocq_comparison import RocqResult, compare_folder
from hardsim.proving.verify import CertifiedTarget, VerifyResult, verified
from hardsim.report.rocq_comparison import compared_lines, compared_reach
from hardsim.report.verify import certificate_lines, print_result, print_validity, reach
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_expression, read_input


def command(request: Request) -> None:
    """Run `hardsim verify` as requested, and print its results."""
    with session("verify", request) as current:
        if request.rocq is not None:
            _compare(request, request.rocq, current)
            return
        for name in (*request.certificates, request.formula, request.model, request.specification):
            if name is not None:
                current.spare(name)
        target = _target_of(request)
        for name in current.expand(request.certificates, lambda path: [path]):
            if current.over:
                break
            current.started = perf_counter()
            with current.guard(name):
                with bar(name, "parts", f"{name}: parts checked") as progress:
                    result = verified(name, target, progress.show)
                shown = _result_text(result, reach(result), certificate_lines(result) if result.valid else ())
                current.conclude(result.valid, undecided=False, shown=shown)


def _compare(request: Request, folder: str, current: Session) -> None:
    """Compare the Rocq instance in a folder with the compiled model that is named."""
    unread = "formula model specification expression at alphabet props dialect"
    if others := request.given(unread, "verify"):
        message = f"{others} and --rocq do not go together"
        raise InputError(message, "--rocq compares with the formula and the network of MODEL.json.")
    if len(request.certificates) != 1:
        message = "--rocq needs one compiled model"
        raise InputError(message, "Write: hardsim verify MODEL.json --rocq DIR")
    (name,) = request.certificates
    current.spare(name)
    current.spare_folder(folder, "--rocq")
    current.expand([name], lambda path: [path])
    with current.guard(name):
        result = compare_folder(name, folder)
        shown = _result_text(result, compared_reach(result), compared_lines(result) if result.valid else ())
        current.conclude(result.valid, undecided=False, shown=shown)


def _result_text(result: VerifyResult | RocqResult, reach: str, lines: Sequence[str]) -> ResultText:
    """Return how to print a result, with lines below its verdict."""
    shown = reach if result.valid else limited(reach, LONGEST_MESSAGE)
    full, brief = (partial(print_result, result=result, reach=shown, lines=below) for below in (lines, ()))
    return ResultText(result, full, brief, reach=reach, details=partial(print_validity, result=result, reach=reach))


def _target_of(request: Request) -> CertifiedTarget:
    """Return the formula, the network and the specification that the options name."""
    target = _network_of(request)
    formula, at, expression = request.formula, request.at, request.expression
    check_source(replace(request, files=None if formula is None else [formula]), needed=False)
    reading = {"--at": at, "--dialect": request.dialect, "--alphabet": request.alphabet, "--props": request.props}
    if formula is None and expression is None:
        if alone := next((option for option, value in reading.items() if value is not None), ""):
            raise InputError(f"{alone} needs --formula or -e", f"Leave out {alone}, or name the formula.")
        return target
    (options,) = request.options()
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
    return replace(target, formula=(file, given.name))


def _network_of(request: Request) -> CertifiedTarget:
    """Return the network and the specification that --model and --spec name."""
    model, name = request.model, request.specification
    if model is None and name is None:
        return CertifiedTarget()
    first = model or name or ""
    given = read_input(first)
    if not given.is_network and name is None:
        return CertifiedTarget(model=(given.as_read(), first))
    if not given.is_network:
        message = f"{given.name} is {given.what}, and --spec is for certificates of external networks"
        raise InputError(message, "Name the network with --model: a folder, a file of weights, or network JSON.")
    external = given.network(ModelOptions())
    if name is None:
        return CertifiedTarget(network=(external, first))
    if model is not None:
        if external.oracle is not None:
            hint = "Name its network with --model, or leave out --model."
            raise InputError(f"{model} is a specification itself", hint)
        reference = read_input(name, alone=True, beside=given.alphabet).reference()
        external = replace(given, against=reference).network(ModelOptions())
    return CertifiedTarget(network=(external, first), specification=(external, name))
