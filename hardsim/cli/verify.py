"""`hardsim verify`: check certificates."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hardsim.cli import failures
from hardsim.cli import options as opt
from hardsim.cli.session import session
from hardsim.errors import InputError
from hardsim.files import read_bytes

HELP = """Check a certificate that `hardsim prove --certificate` wrote.

FILE is a certificate; there may be several.

The checker is small and shares no code with the compiler or the prover: exact rational arithmetic, its own bounds of
the exponential function, its own evaluation of the position encodings. From the weights in the certificate it finds
the bounds of every head again, and holds that every clip turns whatever lies within them into what is claimed.

ACCEPTED says: on every word of the lengths that are named the output of the network in the certificate is exactly 1
if the formula in it (its table of nodes) holds at the last position, and exactly 0 if not. REJECTED says why it does
not follow; then something was altered, since `prove` writes no certificate that is not accepted. The text of the
formula and the names in a certificate are labels: they are held by a digest, and not read.

\b
Examples:
  hardsim prove flipflop.ltl --max-n 16 --certificate flipflop.cert.json
  hardsim verify flipflop.cert.json
"""

MAKE_ONE = "Make one with: hardsim prove FILE --certificate NAME.cert.json"
"""What to do about a file that is no certificate."""

Files = Annotated[list[str], typer.Argument(metavar="FILE...", show_default=False)]


def verify(files: Files, json: opt.JsonPath = None) -> None:
    """The command; its manual is `HELP`."""
    with session("verify", json) as current:
        for name in files:
            for output in current.outputs:
                output.spare(name)
            with current.guard(name):
                result = check(name)
                current.results.append(result)
                told = f"every word of {lengths_text(result)}" if result["accepted"] else result["reason"]
                current.screen.line(f"{name}")
                if result["accepted"]:
                    current.screen.line(f"  formula  {result['formula']}")
                    current.screen.line(f"  model    regime {result['regime']}, sha256 {result['digests']['model']}")
                current.screen.line((result["verdict"], "green" if result["accepted"] else "red"), f": {told}")
                current.screen.flush()
                if not result["accepted"]:
                    current.codes.append(failures.MISMATCH)


def lengths_text(result: dict[str, Any]) -> str:
    """The lengths that an accepted certificate speaks of."""
    first, last = result["min_n"], result["max_n"]
    return f"length {first}" + (f" to {last}" if last > first else "")


def check(path: str) -> dict[str, Any]:
    """The result for one file, as JSON data.

    Raises:
        InputError: if it is no certificate.
    """
    from hardsim.verify import verify as verify_document

    document = read_certificate(read_bytes(path), path)
    reason = verify_document(document)
    labels = document["labels"] if reason is None else {}
    return {
        "input": path,
        "verdict": "ACCEPTED" if reason is None else "REJECTED",
        "accepted": reason is None,
        "reason": reason,
        "claim": document["claim"] if reason is None else None,
        "min_n": document["min_n"] if reason is None else None,
        "max_n": document["max_n"] if reason is None else None,
        "formula": labels.get("formula"),
        "regime": labels.get("regime"),
        "digests": document["digests"] if reason is None else None,
    }


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
        document = json.loads(data, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON that can be read: {error}", hint=MAKE_ONE) from None
    known = isinstance(document, dict) and (document.get("format"), document.get("schema_version"))
    if known != (FORMAT, SCHEMA_VERSION):
        raise InputError(f"{name}: no certificate of version {SCHEMA_VERSION}", hint=MAKE_ONE)
    return dict(document)
