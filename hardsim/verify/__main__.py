"""Check certificates on their own: `python -m hardsim.verify FILE...`, with the standard library alone.

For each file it prints VALID with the claim that was proved, or INVALID with the reason. Exit codes are those of
`hardsim verify`, of several files the first that occurs of 4 (the checker has a bug), 1 (a file is invalid), 2 (a file
cannot be read), 0 (all are valid).
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from hardsim.verify import LARGEST_FILE, MAKE_ONE, Unreadable, of_network, of_program, read, verify
from hardsim.verify.sections import printable

VALID, INVALID, UNREADABLE, BUG = 0, 1, 2, 4
SHOWN = ("formula", "model", "network", "specification")
"""Sections whose digests are printed, to compare them with other files."""
USAGE = "usage: python -m hardsim.verify FILE..."


def main(names: Sequence[str]) -> int:
    """Check the files of these names, print the results, and return the exit code (the most serious one of a file)."""
    if not names or names[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return UNREADABLE
    codes = {check(name) for name in names}
    return next(code for code in (BUG, INVALID, UNREADABLE, VALID) if code in codes)


def check(name: str) -> int:
    """Check one file, print the result, and return its exit code."""
    try:
        with open(name, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise Unreadable(f"larger than {LARGEST_FILE} bytes")
        document = read(data)
    except OSError as error:
        return _failed(f"{name}: error: {error.strerror}", "", UNREADABLE)
    except Unreadable as error:
        return _failed(f"{name}: error: {error}", MAKE_ONE, UNREADABLE)
    try:
        reason = verify(document)
    except Exception:
        traceback.print_exc()
        message = (
            "This is a bug of the checker. Nothing is known of the certificate. Please report these lines and the file."
        )
        return _failed(f"{name}: internal error", message, BUG)
    if reason is not None:
        return _failed(f"{name}: INVALID: {reason}", "", INVALID)
    print(printable(f"VALID  {name}"), *(f"  {printable(line)}" for line in lines(document)), sep="\n")
    return VALID


def lines(document: dict[str, Any]) -> list[str]:
    """Return the lines that say what a valid certificate claims, and of which network."""
    claimed: tuple[str, ...] = ("min_n", "max_n", "formula")
    if of_program(document):
        claimed = ("lengths", "start", "temperature")
    elif of_network(document):
        claimed = ("min_n", "max_n", "wrong", "specification")
    digests = [f"sha256 of {key}: {digest}" for key, digest in document["digests"].items() if key in SHOWN]
    return [f"claim: {document['claim']}", *(f"{key}: {json.dumps(document[key])}" for key in claimed), *digests]


def _failed(message: str, more: str, code: int) -> int:
    # Not on standard output, where whoever looks for VALID would find it.
    print(printable(message), *([f"  {more}"] if more else []), sep="\n", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
