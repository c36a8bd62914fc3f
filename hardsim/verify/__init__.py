"""Check certificates, with the standard library alone and with nothing of the rest of hardsim.

`verify` says why a certificate does not prove its claim. Certificates of formulas are checked for each length by
`formulas`, for every length by `every_length`; those of programs by `programs`. These modules are imported on first
use.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.program_sections import (
    PROGRAM_CERTIFICATE,
    PROGRAM_CLAIM,
    PROGRAM_SECTIONS,
    PROGRAM_VERSIONS,
    as_written_now,
)
from hardsim.verify.sections import CERTIFICATE, CLAIM, EVERY_LENGTH, SCHEMA_VERSION, SECTIONS, VERSIONS, printable

if TYPE_CHECKING:
    from hardsim.verify.formulas import FormulaChecker


def digests(document: dict[str, Any]) -> dict[str, str]:
    """SHA-256 of each section, as JSON in ASCII without white space, keys in order."""
    sections = PROGRAM_SECTIONS if "facts" in document else SECTIONS
    texts = {key: json.dumps(document[key], sort_keys=True, separators=(",", ":")) for key in sections}
    return {key: sha256(text.encode()).hexdigest() for key, text in texts.items()}


def verify(document: dict[str, Any]) -> str | None:
    """Why a certificate does not prove its claim, in printable characters; None if it does."""
    return rejection(lambda: _verify(document))


def rejection(check: Callable[[], object]) -> str | None:
    """Why a check does not succeed, in printable characters; None if it does."""
    try:
        check()
    except Rejected as error:
        return printable(str(error))
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        return printable(f"malformed: {type(error).__name__}: {error}")
    except (RecursionError, MemoryError):
        return "too large: it is nested too deeply, or needs too much memory"
    return None


def _verify(document: dict[str, Any]) -> None:
    of_program = "facts" in document
    now = as_written_now(document) if of_program else document
    (PROGRAM_CERTIFICATE if of_program else CERTIFICATE)(now, "")
    version = document["schema_version"]
    for key, digest in digests(document).items():
        require(document["digests"][key] == digest, f"{key} was altered: its SHA-256 digest is another")
    if of_program:
        first, last = PROGRAM_VERSIONS
        require(
            version in PROGRAM_VERSIONS, f"schema_version: programs have certificates since version {first}, to {last}"
        )
        require(document["claim"] == PROGRAM_CLAIM, "claim: it is not the one that is checked")
        from hardsim.verify.programs import ProgramChecker

        ProgramChecker(now)
        return
    require(version in VERSIONS, f"schema_version: it is none of {VERSIONS}")
    old, every = document["schema_version"] < SCHEMA_VERSION, document["max_n"] is None
    require(not old or "alphabet" in document["formula"], "formula: certificates of version 2 have no propositions")
    require(not old or not every, "max_n: certificates of version 2 are not of every length")
    require(document["claim"] == (EVERY_LENGTH if every else CLAIM), "claim: it is not the one that is checked")
    checker_of(document)(document, document["bounds"])


def checker_of(document: dict[str, Any]) -> type[FormulaChecker]:
    """What checks a document."""
    from hardsim.verify.every_length import EveryLengthChecker
    from hardsim.verify.formulas import FormulaChecker

    return EveryLengthChecker if document.get("max_n", 0) is None else FormulaChecker
