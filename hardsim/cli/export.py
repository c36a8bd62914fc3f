"""The command `hardsim export`: write a network as files that other frameworks run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from hardsim.campaign.check import CheckOptions, require_affordable
from hardsim.campaign.interrupts import uninterrupted
from hardsim.cli.estimate import layers_bar, patient
from hardsim.cli.folders import draft_of, free_directory, refusing_at, require_apart
from hardsim.cli.session import Session, check_source, session
from hardsim.cli.streams import note
from hardsim.errors import InputError
from hardsim.files import LARGEST_FILE, STDOUT, Sink, is_directory
from hardsim.measuring.export import (
    EXACT,
    GOALS,
    Export,
    ExportResult,
    Goal,
    Watched,
    export_of,
    fill_file,
    fill_folder,
)
from hardsim.options.table import Request, require_one_regime, unknown
from hardsim.reading.tensors import CONFIGS, WHOLE, is_network_folder
from hardsim.records import at_most
from hardsim.report.check import model_line
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import plural
from hardsim.writing.onnx import DTYPES, require_onnx
from hardsim.writing.running import ONNXRUNTIME, TORCH, installed

ONNX: Goal = "onnx"


def command(request: Request) -> None:
    """Run `hardsim export` as requested, and print its results."""
    file = request.file
    request = replace(request, files=None if file is None else [file])
    goal = _goal(request)
    require_one_regime(request, "one export holds one network")
    check_source(request)
    if file and is_directory(file) and not is_network_folder(file):
        raise InputError(f"{file} is a directory, but one export holds one network", "Name one file.")
    if goal == ONNX:
        _to_file(request)
    else:
        _to_folder(request, goal)


def _goal(request: Request) -> Goal:
    """Return the target format of the export, after options that do not fit it were refused."""
    if request.to is None:
        raise InputError("--to is required", f"Add --to {', --to '.join(GOALS[:-1])} or --to {GOALS[-1]}.")
    if request.to not in GOALS:
        raise unknown("target", request.to, GOALS)
    if request.dtype is not None and request.dtype not in DTYPES:
        raise unknown("dtype", request.dtype, tuple(DTYPES))
    if request.to != ONNX:
        given = [name for name in ("dtype", "length") if name in request.written]
        if given:
            message = f"--{given[0]} is for --to onnx: model.py takes words of any length, and load() the dtype"
            raise InputError(message, f"Leave out --{given[0]}.")
    return request.to


def _to_file(request: Request) -> None:
    """Write one ONNX file."""
    output, length = request.output, request.length
    if length is not None and "max_n" in request.written:
        message = f"--length {length} makes a file for one length, and --max-n one for all lengths up to it"
        raise InputError(message, "Leave out one of them.")
    if not output or output == STDOUT:
        raise InputError("an ONNX file needs a name", "Add -o model.onnx.")
    require_onnx()
    with _file(output) as target, session("export", request, request.seed, targets=[target]) as current:
        for given in current.read():
            with current.guard(given.name):
                made = _made(current, given)
                data, result = fill_file(made, output, request, _watched(made))
                with _no_stream():
                    target.write(data)
                _keep_and_print(current, result)


def _file(output: str) -> Sink:
    """Return the destination of the file."""
    with _no_stream():
        return Sink(output, "-o")


@contextmanager
def _no_stream() -> Iterator[None]:
    """Remove the advice to write to standard output from errors: a binary file does not belong there."""
    try:
        yield
    except InputError as error:
        hint = (error.hint or "").replace(", or '-' for standard output", "")
        raise InputError(error.message, hint) from None


def _to_folder(request: Request, goal: Goal) -> None:
    """Write a folder with weights and configuration, and for torch the module that runs them."""
    if request.output and request.output.endswith(".safetensors"):
        message = f"--to {goal} writes a folder that contains {WHOLE}, not one file"
        raise InputError(message, f"Name a folder: -o {Path(request.output).with_suffix('')}")
    if request.output == STDOUT:
        raise InputError(f"--to {goal} writes a folder, not to standard output", "Name a directory: -o exported")
    target = free_directory(request.output, "the export", "exported")
    # Checked before the folder is made, where the document would be in its way.
    require_apart(request.json, target, "the network")
    with draft_of(target) as folder, session("export", request, request.seed) as current:
        for given in current.read():
            with current.guard(given.name):
                made = _made(current, given)
                with refusing_at(target):
                    result = fill_folder(made, goal, folder.path, str(request.output), request, _watched(made))
                # The folder is still complete for PyTorch, so this is only a remark.
                if made.document is None:
                    message = f"{CONFIGS[0]} has no exact copy of so many weights, so hardsim does not read it again"
                    current.remark(given.name, None, message)
                elif (folder.path / CONFIGS[0]).stat().st_size > LARGEST_FILE:
                    message = (
                        f"{CONFIGS[0]} is larger than {LARGEST_FILE // 2**20} MiB, so hardsim does not read it again"
                    )
                    current.remark(given.name, None, message)
                with uninterrupted(), refusing_at(target):
                    folder.commit()
                _keep_and_print(current, result)


def _made(current: Session, given: Input) -> Export:
    request = current.request
    if given.is_network:
        request.require_stored(given)
    else:
        subject = given.compile(request.options()[0])
        if subject.blank is not None:
            message = f"the files written do not pad words with {subject.blank}: pad them as the program does"
            current.remark(given.name, None, message, tell=note)
        if subject.by_theorem:
            require_affordable(subject, CheckOptions(max_n=request.max_n), range(1, request.max_n + 1))
    with patient(f"{given.name}: measuring words to length {request.max_n:,} takes long"):
        made = export_of(given, request.options()[0], request.max_n)
    made.require_room(request.length or 1)
    return made


def _watched(made: Export) -> Watched:
    """Return the bar of the random words on which the exact network runs: nearly all the time of a large export."""
    return partial(layers_bar, made.target, what="random words")


def _keep_and_print(current: Session, result: ExportResult) -> None:
    """Add an export to the results, and print what was written and how it ran."""
    current.results.append(result)
    name, runs, screen, reach = result.input, result.runs, current.screen, ""
    if result.max_n is not None:
        reach = f", for words of {'' if current.request.length else 'up to '}{plural(result.max_n, 'symbol')}"
    written = f"{result.output} ({result.to}: {', '.join(result.files)}){reach}"
    screen.line(f"{name} -> {written}: {model_line(result.model)}")
    library = {TORCH: TORCH, ONNX: ONNXRUNTIME}.get(result.to)
    if library is not None and not runs and installed(library):
        message = "the files written were not run: no random word has an exact output that is certain"
        current.remark(name, None, message, tell=note)
    elif library is not None and not runs:
        note(f"{library} is not installed, so the files written were not run")
    for run in runs:
        off = "an output is not a number" if run.difference is None else f"largest difference {at_most(run.difference)}"
        tried = f"{run.words} random words of up to {plural(run.longest, 'symbol')}"
        screen.line(f"  run by {run.library} {run.version} in {run.dtype} on {tried}: {off}")
        # A large difference in float32 is expected, and no sign of a fault.
        if run.dtype == "float64" and (run.difference is None or run.difference > EXACT):
            message = "float64 is too narrow for this network at these lengths: its outputs differ from the exact ones"
            current.remark(name, None, message)
