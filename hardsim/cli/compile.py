"""`hardsim compile`: the network as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardsim.cli import options as opt
from hardsim.cli.options import ALL, Request
from hardsim.cli.session import session
from hardsim.cli.sink import STDOUT, Sink
from hardsim.errors import InputError

HELP = """Write the compiled transformer as JSON with exact rationals.

FILE is a formula file (.ltl).

What is written holds the matrices, position encodings and temperature, the formula, and what each head is for.
`check`, `eval`, `words` and `show` take it in place of the formula and give the same results. It appears whole or not
at all. Call it NAME.model.json if directories that hold it are to be checked.

\b
Examples:
  hardsim compile flipflop.ltl -o flipflop.model.json
  hardsim compile flipflop.ltl --regime position --beta 7/2 -o -
"""

Source = Annotated[str | None, typer.Argument(metavar="FILE", hidden=True)]
Target = Annotated[
    str | None, typer.Option("-o", "--output", metavar="PATH", help="The file to write; '-' is standard output.")
]


def compile_model(
    file: Source = None,
    output: Target = None,
    regime: opt.Regime = "temperature",
    beta: opt.Beta = None,
    tau: opt.Tau = None,
    at: opt.Position = None,
    single_head: opt.SingleHead = False,
    counting: opt.Counting = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    from hardsim.checking.open import store_text
    from hardsim.checking.subject import digest
    from hardsim.report.check import model_line
    from hardsim.report.json import compile_json

    request = Request(regime, beta, tau, at, single_head, counting)
    request.options()
    if request.regime == ALL:
        raise InputError("one file holds one network: --regime all is several", hint="Name one regime.")
    if output is None:
        raise InputError("nowhere to write the network", hint="Add -o model.json, or -o - for standard output.")
    if output == STDOUT == json:
        raise InputError("-o - and --json - both want standard output", hint="Give one of them a file.")
    if file and Path(file).is_dir():
        raise InputError(f"{file} is a directory, and one file holds one network", hint="Name one formula file.")
    target = Sink(output, "-o")
    try:
        with session("compile", json, quiet=output == STDOUT) as current:
            if current.sink is not None and current.sink.same(target):
                raise InputError(f"-o and --json both write {output}", hint="Give one of them another name.")
            current.outputs.append(target)
            for one in current.read(None if file is None else [file], expression, alphabet):
                with current.guard(one.name):
                    subject = one.compile(request.options()[0])
                    text = store_text(subject)
                    target.write(text)
                    sha256 = digest(text.encode("utf-8", "backslashreplace"))
                    current.results.append(compile_json(one.name, subject.facts, output, sha256))
                    current.screen.line(f"{one.name} -> {output}: {model_line(subject.facts)}")
    finally:
        target.discard()
