"""The command `hardsim new`: write a specification for a network, with one line to complete."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

from hardsim.campaign.result import NewResult
from hardsim.cli.session import session
from hardsim.errors import InputError
from hardsim.files import STDOUT, Sink, is_directory
from hardsim.options.table import Request
from hardsim.targets.base import digest
from hardsim.targets.paths import require_network_folder
from hardsim.targets.specification import SPEC


def command(request: Request) -> None:
    """Run `hardsim new` as requested: write the specification, and say what to do with it."""
    file = request.file
    if file is None:
        raise InputError("nothing to read: name a network", "For example: hardsim new my_gpt2/")
    require_network_folder(file)
    own = f"{Path(os.path.abspath(file)).name.split('.')[0]}{SPEC}"
    output = request.output or own
    if is_directory(output):
        output = os.path.join(output, own)
    if output != STDOUT:
        if not output.endswith(SPEC):
            raise InputError(f"-o {output} does not end in {SPEC}", f"Name the specification {output}{SPEC}.")
        if os.path.lexists(output):
            raise InputError(f"{output} exists already", "Give another name with -o.")
    request = replace(request, files=[file])
    with Sink(output, "-o") as target, session("new", request, targets=[target]) as current:
        for one in current.read():
            with current.guard(one.name):
                folder = os.path.dirname(os.path.abspath(output)) if output != STDOUT else os.getcwd()
                draft = one.draft(os.path.relpath(os.path.abspath(file), folder))
                target.write(draft.text)
                sha256 = digest(draft.text.encode())
                current.results.append(NewResult(one.name, one.kind, output, sha256, draft.line, draft.key))
                if output != STDOUT:
                    # Commands stand alone on lines that do not fold, so that they can be copied.
                    then = f"  hardsim check {shlex.quote(output)}"
                    current.screen.line(f"{output}: complete line {draft.line} ({draft.key}:), then run:")
                    current.screen.line(then, folds=False)
                    current.screen.line("or leave it, and judge labelled words:")
                    current.screen.line(f"{then} --data FILE.tsv", folds=False)
