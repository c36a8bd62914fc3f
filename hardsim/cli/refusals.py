"""The JSON document of a run that was refused, or that failed, as a whole: before its session, or without any result;
and its report in a format of `report.outcome`.

Whoever reads the document then finds the error, and not an older document or no file; and another program that reads
JUnit, say, finds the error and not an empty text. Nothing is written over a file
that the command names, and nothing if the error is about the document itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import typer

from hardsim.cli import exit_codes
from hardsim.cli.streams import LostOutput
from hardsim.errors import HardsimError, InputError
from hardsim.files import STDOUT, Sink, is_directory, names_in
from hardsim.options.table import FORMATS, JSON, TEXT, Request

REPORTED = {"watch": "check"}
"""The commands whose documents are those of another command, which they run."""
ABOUT_DOCUMENT = ("--json", "--format", "standard output")
"""Parts of messages about the document itself."""
REPORTS = tuple(form for form in FORMATS if form not in (TEXT, JSON))
"""The formats of reports for other programs."""

ENDLESS = ("watch", "serve")
"""Commands that only an interruption ends: they write a document for each run, or none."""


@contextmanager
def documented(command: str, request: Request) -> Iterator[None]:
    """Write the document that a request asks for, if the command raises an error or is interrupted."""
    try:
        yield
    except (LostOutput, typer.Exit):
        raise
    except KeyboardInterrupt:
        if command not in ENDLESS:
            _write(command, _values(request), _names(_values(request).values()), exit_codes.INTERRUPTED, "")
        raise
    except Exception as error:
        deliberate = isinstance(error, HardsimError)
        code = error.exit_code if isinstance(error, HardsimError) else exit_codes.INTERNAL
        message = str(error) if deliberate else f"{type(error).__name__}: {error}"
        if not any(part in message.partition("\n")[0] for part in ABOUT_DOCUMENT):
            _write(command, _values(request), _names(_values(request).values()), code, message)
        raise


def document_usage_error(error: Any, arguments: Sequence[str], read: Any) -> None:
    """Write the document that an unreadable command line asks for. `error` is typer's, `arguments` are those after the
    name of the command, and `read` is the command, which reads the options that it can read."""
    unknown = getattr(error, "option_name", None) if hasattr(error, "possibilities") else None
    known = [text for text in arguments if unknown is None or not text.startswith(unknown)]
    with suppress(Exception):  # what cannot be read at all asks for nothing
        values = read.make_context(str(read.name), known, resilient_parsing=True).params
        _write(str(read.name), values, arguments, exit_codes.BAD_INPUT, error.format_message())


def _values(request: Request) -> dict[str, Any]:
    """Return the values of the options of a request, by the names of their fields."""
    return {one.name: getattr(request, one.name) for one in fields(request)}


def _names(values: Iterable[object]) -> list[str]:
    """Return all texts among the values of options: files that the command may read are among them."""
    several = [[value] if isinstance(value, str) else value for value in values]
    return [one for some in several if isinstance(some, list | tuple) for one in some if isinstance(one, str)]


def _value(text: str) -> str:
    """Return the value in an argument: of `--option=VALUE` and `-oVALUE` what follows the option, else the argument."""
    if text.startswith("--"):
        return text.partition("=")[2]
    return text[2:] if text.startswith("-") else text


def _within(name: str) -> list[str]:
    """Return the files of a directory but for those that may be earlier documents; none of anything else."""
    if not is_directory(name):
        return []
    return [str(Path(name, one)) for one in names_in(name) if not one.endswith(".json") or one.endswith(".ahat.json")]


def _write(command: str, values: Mapping[str, Any], named: Sequence[str], code: int, message: str) -> None:
    """Write a document, and a report to standard output, with one error (no message: an interruption): as they were
    asked for, and if the document overwrites none of the named files."""
    form = values.get("format")
    place = STDOUT if form == JSON else values.get("json")
    if form in REPORTS and message and command not in REPORTED and place != STDOUT:
        from hardsim.report.outcome import Ending, Finished, Format, Outcome

        one = Outcome(None, None, Ending.ERROR, code, message.partition("\n")[0], 0.0, details=message, file=False)
        text = cast(Format, import_module(f"hardsim.report.{form}")).render(Finished(command, code, [one], [], []))
        Sink(STDOUT, "--format").write(text)
    if place is None:
        return
    from hardsim.report.document import RANDOM, RESULTS, Document
    from hardsim.report.notices import Failure
    from hardsim.targets.paths import read_with  # imports every reader

    reported = REPORTED.get(command, command)
    if reported not in RESULTS:
        return
    seed = values.get("seed") if reported in RANDOM else None
    with suppress(InputError), Sink(place, "--json") as sink:
        every = [*map(_value, named)]
        for name in every:
            # The document's own name is among them once; a second time it is an input.
            if name and (name != place or every.count(name) > 1):
                for path in (*read_with(name), *_within(name)):
                    sink.spare(path)
        text = Document(reported, seed, code, errors=(Failure(None, code, message),) if message else ()).to_json()
        if command in REPORTED and place == STDOUT:  # such a command writes a document a line
            from msgspec.json import format

            text = format(text, indent=-1) + "\n"
        sink.write(text)
