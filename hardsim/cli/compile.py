"""`hardsim compile`: the network as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardsim.cli import options as opt
from hardsim.cli.estimate import announce, attention_cost
from hardsim.cli.options import ALL, Request
from hardsim.cli.session import check_source, session
from hardsim.cli.sink import STDOUT, Sink
from hardsim.errors import InputError
from hardsim.files import is_directory

if TYPE_CHECKING:
    from hardsim.checking.attention_open import AttentionInput

HELP = """Write the compiled transformer as JSON with exact rationals.

FILE is a formula file (.ltl), an S-RASP program (.srasp) or a hard-attention model (.ahat.json).

What is written holds the matrices, position encodings and temperature, the formula, and what each head is for.
`check`, `eval`, `words` and `show` take it in place of the formula and give the same results. It appears whole or not
at all. Call it NAME.model.json if directories that hold it are to be checked.

With --hard the hard-attention model is written, in the format of .ahat.json. Of a program or a hard-attention model the
softmax model is written in the same format, with Theorem 26's temperature for each length up to --max-n (its gaps are
measured on the words that `check` would try), or with --tau for all. Call such files NAME.ahat.json.

\b
Examples:
  hardsim compile flipflop.ltl -o flipflop.model.json
  hardsim compile flipflop.ltl --regime position --beta 7/2 -o -
  hardsim compile flipflop.ltl --hard -o flipflop.ahat.json
  hardsim compile dyck2.srasp --max-n 6 -o dyck2_soft.ahat.json
"""

Hard = Annotated[
    bool, typer.Option("--hard", help="Write the hard-attention model (.ahat.json) instead of the softmax network.")
]
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
    epsilon: opt.Epsilon = None,
    hard: Hard = False,
    max_n: opt.MaxLength = 8,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    from hardsim.checking.attention_open import AttentionInput, store_hard
    from hardsim.checking.open import store_text
    from hardsim.checking.subject import digest
    from hardsim.report.check import model_line
    from hardsim.report.json import compile_json, model_json

    request = Request(regime, beta, tau, at, single_head, counting, epsilon)
    request.options()
    if request.regime == ALL:
        raise InputError("one file holds one network: --regime all is several", hint="Name one regime.")
    if output is None:
        _readable(file, expression, alphabet)
        raise InputError("nowhere to write the network", hint="Add -o model.json, or -o - for standard output.")
    if output == STDOUT == json:
        raise InputError("-o - and --json - both want standard output", hint="Give one of them a file.")
    if file and is_directory(file):
        raise InputError(f"{file} is a directory, and one file holds one network", hint="Name one formula file.")
    target = Sink(output, "-o")
    try:
        with session("compile", json, quiet=output == STDOUT) as current:
            if current.sink is not None and current.sink.same(target):
                raise InputError(f"-o and --json both write {output}", hint="Give one of them another name.")
            current.outputs.append(target)
            for one in current.read(None if file is None else [file], expression, alphabet, at):
                with current.guard(one.name):
                    model = isinstance(one, AttentionInput)
                    idle = request.foreign() if model else None if hard else request.foreign_to_formulas()
                    for remark in (idle, request.softening() if hard else None):
                        if remark:
                            current.remark(one.name, None, remark)
                    if isinstance(one, AttentionInput):
                        text, line, facts = _attention(one, request, hard, max_n)
                    else:
                        subject = one.compile(request.options()[0])
                        text = store_hard(subject) if hard else store_text(subject)
                        line, facts = model_line(subject.facts), model_json(subject.facts)
                    target.write(text)
                    sha256 = digest(text.encode("utf-8", "backslashreplace"))
                    current.results.append(compile_json(one.name, facts, output, sha256))
                    current.screen.line(f"{one.name} -> {output}: {line}")
    finally:
        target.discard()


def _readable(file: str | None, expression: str | None, alphabet: str | None) -> None:
    """Hold that there is something to compile, which comes before where to write it.

    Raises:
        InputError: if there is nothing, or it cannot be read.
    """
    from hardsim.checking.open import read_expression, read_input

    check_source([] if file is None else [file], expression, alphabet)
    if expression is not None:
        read_expression(expression, alphabet or "")
    elif file is not None and not is_directory(file):
        read_input(file)


def _attention(given: AttentionInput, request: Request, hard: bool, max_n: int) -> tuple[str, str, dict[str, Any]]:
    """The text of a hard-attention model or of its softmax model, a line about it, and the same for JSON."""
    from hardsim.checking.attention_campaign import summary
    from hardsim.checking.attention_open import store_model
    from hardsim.checking.campaign import CheckOptions

    options, choice = CheckOptions(max_n=max_n), request.attention()
    if not hard and choice.tau is None:
        announce(given.name, attention_cost(given.subject, options, choice), 1)
    text = store_model(given.subject, options, choice, hard)
    line = summary(given.subject, None)
    return text, line, {"kind": given.subject.kind, "summary": line}
