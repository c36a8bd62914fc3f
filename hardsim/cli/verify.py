"""`hardsim verify`: check certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardsim.cli import failures
from hardsim.cli import options as opt
from hardsim.cli.options import Request
from hardsim.cli.session import check_source, session
from hardsim.cli.streams import say
from hardsim.errors import InputError
from hardsim.files import read_bytes

if TYPE_CHECKING:
    from hardsim.checking.subject import Subject
    from hardsim.lang.ast import FormulaFile

HELP = """Check a certificate that `hardsim prove --certificate` wrote.

FILE is a certificate; there may be several.

The checker is small and shares no code with the compiler or the prover: exact rational arithmetic, its own bounds of
the exponential function, its own evaluation of the position encodings. From the weights in the certificate it finds
the bounds of every head again, and holds that every clip turns whatever lies within them into what is claimed.

VALID says: on every word of the lengths that are named the output of the network in the certificate is exactly 1 if
the formula in it (its table of nodes, which is printed) holds at the last position, and exactly 0 if not. INVALID says
why that does not follow, with exit code 1; `prove` writes no certificate that is not valid.

Whether that formula and that network are the ones you mean is another question. With --formula (or -e) the certificate
is valid only if it is about the formula of that file, and with --model only if it is about the network in that file,
as `hardsim compile` wrote it. The version, the name and digest of the source, the regime and beta in a certificate are
labels that are neither checked nor printed.

\b
Examples:
  hardsim prove flipflop.ltl --max-n 16 --certificate flipflop.cert.json
  hardsim verify flipflop.cert.json
  hardsim verify flipflop.cert.json --formula flipflop.ltl --model flipflop.model.json
"""

LARGEST_FILE = 16 * 2**20
"""Bytes of a certificate."""
MOST_LINES = 20
"""Nodes of a formula that are printed."""
MAKE_ONE = "Make one with: hardsim prove FILE --certificate NAME.cert.json"
"""What to do about a file that is no certificate."""

Files = Annotated[list[str], typer.Argument(metavar="FILE...", show_default=False)]
Formula = Annotated[
    str | None,
    typer.Option("--formula", metavar="FILE", help="Hold that the certificate is about the formula of this .ltl file."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="FILE", help="Hold that it is about the network of this compiled model (.json)."),
]


@dataclass(frozen=True, slots=True)
class Meant:
    """What certificates should be about; None where nothing was named."""

    formula: FormulaFile | None = None
    formula_name: str | None = None
    model: Subject | None = None
    model_name: str | None = None


def verify(
    files: Files,
    formula: Formula = None,
    model: Model = None,
    at: opt.Position = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    with session("verify", json) as current:
        for name in [name for name in (*files, formula, model) if name is not None]:
            for output in current.outputs:
                output.spare(name)
        meant = _meant(formula, model, at, expression, alphabet)
        for name in files:
            with current.guard(name):
                result = check(name, meant)
                current.results.append(result)
                if result["valid"]:
                    for line in text_lines(result):
                        current.screen.line(line)
                    current.screen.line(("VALID", "green"), f": every word of {lengths_text(result)}")
                    current.screen.flush()
                else:
                    # Not on standard output, where whoever looks for VALID would find it.
                    say(f"{name}: INVALID: {result['reason']}")
                if not result["valid"]:
                    current.codes.append(failures.MISMATCH)


def _meant(
    formula: str | None, model: str | None, at: str | None, expression: str | None, alphabet: str | None
) -> Meant:
    """The formula and the network that were named.

    Raises:
        InputError: if a file cannot be read, is of another kind, or options do not go together.
    """
    check_source([] if formula is None else [formula], expression, alphabet, needed=False)
    if (formula, model, at, expression) == (None,) * 4:
        return Meant()
    from hardsim.checking.open import Input, read_expression, read_formula

    (options,) = Request(at=at).options()
    given: Input | None = None
    if formula is not None or expression is not None:
        given = read_formula(formula) if formula is not None else read_expression(expression or "", alphabet or "")
        if given.stored is not None:
            raise InputError(f"{given.name} is a compiled model, not a formula", hint="Name it with --model.")
    elif at is not None:
        raise InputError("--at goes with --formula or -e", hint="Leave it out, or name the formula.")
    stored = None if model is None else read_formula(model)
    if stored is not None and stored.stored is None:
        raise InputError(f"{model} is no compiled model", hint="Make one with: hardsim compile FILE -o NAME.model.json")
    subject = None if stored is None else stored.stored
    if given is None:
        return Meant(model=subject, model_name=model)
    return Meant(replace(given.file, at=options.at or given.file.at), given.name, subject, model)


def lengths_text(result: dict[str, Any]) -> str:
    """The lengths that a valid certificate speaks of."""
    first, last = result["min_n"], result["max_n"]
    return f"length {first}" + (f" to {last}" if last > first else "")


def text_lines(result: dict[str, Any]) -> list[str]:
    """What a valid certificate is about, and what it was compared with, in printable characters."""
    from hardsim.sections import printable

    lines, compared = [result["input"]], result["compared"]
    from hardsim.checking.certified import literal_text, node_lines

    if compared["formula"] is not None:
        lines.append(f"  formula  that of {compared['formula']}")
    else:
        nodes = node_lines(result["formula"], MOST_LINES)
        lines.append(f"  formula  node {literal_text(result['formula']['root'])} at the last position, of")
        lines += [printable(f"             {line}") for line in nodes]
    told = f"that of {compared['model']}, " if compared["model"] is not None else ""
    lines.append(f"  model    {told}sha256 {result['digests']['model']}")
    options = {"formula": "--formula", "model": "--model"}
    missing = [key for key, name in compared.items() if name is None]
    if missing:
        named = " and ".join(options[key] for key in missing)
        lines.append(f"  not compared with a file: the {' and the '.join(missing)} ({named})")
    return lines


def check(path: str, meant: Meant | None = None) -> dict[str, Any]:
    """The result for one file, as JSON data.

    Raises:
        InputError: if it is no certificate.
    """
    from hardsim.verify import rejection
    from hardsim.verify import verify as verify_document

    meant = meant or Meant()
    document = read_certificate(read_bytes(path, LARGEST_FILE), path)

    def compare() -> None:
        from hardsim.checking.certified import check_formula, check_labels, check_model

        check_labels(document)
        if meant.formula is not None:
            check_formula(document, meant.formula, meant.formula_name or "")
        if meant.model is not None:
            check_model(document, meant.model, meant.model_name or "")

    reason = verify_document(document) or rejection(compare)
    valid = reason is None
    return {
        "input": path,
        "verdict": "VALID" if valid else "INVALID",
        "valid": valid,
        "reason": reason,
        "claim": document["claim"] if valid else None,
        "min_n": document["min_n"] if valid else None,
        "max_n": document["max_n"] if valid else None,
        "formula": document["formula"] if valid else None,
        "compared": {"formula": meant.formula_name, "model": meant.model_name},
        "digests": document["digests"] if valid else None,
    }


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def read_certificate(data: bytes, name: str) -> dict[str, Any]:
    """A certificate as JSON.

    Raises:
        InputError: if it is none.
    """
    import json

    from hardsim.sections import FORMAT, SCHEMA_VERSION

    try:
        document = json.loads(data, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON that can be read: {error}", hint=MAKE_ONE) from None
    version = document.get("schema_version") if isinstance(document, dict) else None
    if type(version) is not int or (document.get("format"), version) != (FORMAT, SCHEMA_VERSION):
        raise InputError(f"{name}: no certificate of version {SCHEMA_VERSION}", hint=MAKE_ONE)
    return dict(document)
