"""Check certificates with the standard library alone and with nothing of the rest of hardsim.

A certificate holds a network, a claim about it, and hints that a prover left. `verify` proves the claim again from the
network or returns the reason why it cannot. Certificates of formulas are checked length by length by `formulas`, for
every length by `every_length`, and for networks with layer norms or rounding by `normed` and `rounded`; certificates of
programs are checked by `programs`, and those of external networks by `external`. All but `normed` and `rounded` are
imported on first use. `docs/checker.md` is a guide to this package.

A certificate is accepted only if all of this code ran to its end. What is wrong with a certificate raises `Rejected`.
Any other exception is a bug of the checker: the functions here let it pass, so that no bug is taken for a bad
certificate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any

from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.external.sections import (
    EXTERNAL_CERTIFICATE,
    EXTERNAL_SECTIONS,
    EXTERNAL_VERSION,
    LAYERS_CERTIFICATE,
    LAYERS_SECTIONS,
    LAYERS_VERSION,
)
from hardsim.verify.normed import NORMED_CERTIFICATE, NORMED_SECTIONS, NORMED_VERSION, NormedChecker
from hardsim.verify.program_sections import (
    PROGRAM_CERTIFICATE,
    PROGRAM_SECTIONS,
    PROGRAM_VERSIONS,
    as_written_now,
    program_claim,
)
from hardsim.verify.rounded import ROUNDED_CERTIFICATE, ROUNDED_SECTIONS, ROUNDED_VERSION, RoundedChecker
from hardsim.verify.sections import (
    CERTIFICATE,
    CLAIM,
    EVERY_LENGTH,
    FORMAT,
    SCHEMA_VERSION,
    SECTIONS,
    Shape,
    printable,
)

if TYPE_CHECKING:
    from hardsim.verify.external.prefixes import ExternalFacts
    from hardsim.verify.formulas import FormulaChecker
    from hardsim.verify.programs import ProgramChecker

KNOWN = (SCHEMA_VERSION, *PROGRAM_VERSIONS, EXTERNAL_VERSION, LAYERS_VERSION, NORMED_VERSION, ROUNDED_VERSION)
VERSIONS = (
    f"{SCHEMA_VERSION}, {NORMED_VERSION} or {ROUNDED_VERSION} for formulas, {PROGRAM_VERSIONS[0]} or "
    f"{PROGRAM_VERSIONS[1]} for programs, "
    f"{EXTERNAL_VERSION} or {LAYERS_VERSION} for external networks"
)
"""The values of schema_version that are read, for messages."""
Shown = Callable[[int, int], None]
"""A function that is called with the steps that are done, and their number."""
LARGEST_FILE = 20 * 2**20
"""The most bytes of a certificate."""
DEEPEST = 300
"""The most levels of nested values in a certificate; a tree of cells has at most 100 splits."""
MAKE_ONE = "Make a certificate with: hardsim prove FILE --certificate NAME.cert.json"
"""Advice for a file that is not a certificate, or is one of an old version."""


class Unreadable(Exception):
    """A file is not a certificate, or not one of a version that is read. The message says why."""


class NotJson(Unreadable):
    """A file is not JSON, or has numbers or keys that a certificate cannot have. The message says why."""


def read(data: bytes) -> dict[str, Any]:
    """Return the certificate in the bytes of a file. Its sections are not looked at yet. Raises NotJson if the bytes
    are not JSON, or a key occurs twice; Unreadable if it is not a certificate of a known version."""
    try:
        document = json.loads(
            data, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_no_number
        )
    except UnicodeDecodeError as error:
        raise NotJson(f"not valid JSON: not {error.encoding.upper()} at byte {error.start}") from None
    except RecursionError:
        raise NotJson("not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        raise NotJson(f"not valid JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Unreadable("not a certificate of hardsim")
    version = document.get("schema_version")
    # `type`, not isinstance: true and 3.0 are not versions, although Python takes them for integers.
    if type(version) is not int or version not in KNOWN:
        raise Unreadable(f"a certificate of {_shown(version)}: schema_version should be {VERSIONS}")
    return document


def _shown(version: Any) -> str:
    # What else stands there is not quoted: it may be of any size.
    return f"version {version}" if type(version) is int and 0 <= version < 1000 else "no known version"


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _float(text: str) -> float:
    found = float(text)
    if not isfinite(found):
        raise ValueError(f"a number of {len(text)} characters that is too large")
    return found


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # the message of Python is advice for programs
        raise ValueError(f"an integer of {len(text)} characters") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of two equal keys Python keeps the last one, other readers the first: they would read two documents.
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def of_program(document: Mapping[str, Any]) -> bool:
    """Return True for a certificate of a program or a model."""
    return "facts" in document


def of_network(document: Mapping[str, Any]) -> bool:
    """Return True for a certificate of an external network."""
    return "network" in document


def require_shallow(document: dict[str, Any]) -> None:
    """Raise Rejected if values are nested deeper than in any certificate, which no function here could follow."""
    layer: list[Any] = [document]
    for _ in range(DEEPEST):
        layer = [
            part
            for value in layer
            if isinstance(value, dict | list)
            for part in (value.values() if isinstance(value, dict) else value)
            if isinstance(part, dict | list)
        ]
        if not layer:
            return
    require(False, f"too large: values are nested more than {DEEPEST} deep")


def digests(document: dict[str, Any]) -> dict[str, str]:
    """Return the SHA-256 digest of each section, as JSON in ASCII without white space and with sorted keys."""
    texts = {key: json.dumps(document[key], sort_keys=True, separators=(",", ":")) for key in _kind(document).sections}
    return {key: sha256(text.encode()).hexdigest() for key, text in texts.items()}


@dataclass(frozen=True)
class _Kind:
    """A kind of certificates: the versions that are read, the shape of the whole, and the sections that have
    digests."""

    versions: tuple[int, ...]
    form: Shape
    sections: tuple[str, ...]


_FORMULA = _Kind((SCHEMA_VERSION,), CERTIFICATE, SECTIONS)
_NORMED = _Kind((NORMED_VERSION,), NORMED_CERTIFICATE, NORMED_SECTIONS)
_ROUNDED = _Kind((ROUNDED_VERSION,), ROUNDED_CERTIFICATE, ROUNDED_SECTIONS)
_PROGRAM = _Kind(PROGRAM_VERSIONS, PROGRAM_CERTIFICATE, PROGRAM_SECTIONS)
_NETWORK = _Kind((EXTERNAL_VERSION,), EXTERNAL_CERTIFICATE, EXTERNAL_SECTIONS)
_LAYERS = _Kind((LAYERS_VERSION,), LAYERS_CERTIFICATE, LAYERS_SECTIONS)


def _kind(document: Mapping[str, Any]) -> _Kind:
    if of_network(document):
        return _LAYERS if "part" in document else _NETWORK
    if of_program(document):
        return _PROGRAM
    if document.get("schema_version") == ROUNDED_VERSION:
        return _ROUNDED
    return _NORMED if document.get("schema_version") == NORMED_VERSION else _FORMULA


def verify(document: dict[str, Any]) -> str | None:
    """Return None if a certificate proves its claim, else the reason why it does not, in printable characters. Raises
    an exception of any kind if the checker has a bug; nothing is known of the certificate then."""
    return rejection(lambda: accept(document))


def rejection(check: Callable[[], object]) -> str | None:
    """Return None if a check succeeds, else the reason why it does not, in printable characters.

    Other exceptions than Rejected and MemoryError are bugs of the checker and pass.
    """
    try:
        check()
    except Rejected as error:
        return printable(str(error))
    except MemoryError:  # limits on work and values hold for any certificate, but a machine may have even less memory
        return "too large: it needs more memory than there is"
    return None


def accept(
    document: dict[str, Any], shown: Shown | None = None
) -> FormulaChecker | NormedChecker | RoundedChecker | ProgramChecker | ExternalFacts:
    """Return the checker that proved the claim of a certificate, with what it found. `shown` is called with the
    progress where that may take long. Raises Rejected if the certificate does not prove its claim."""
    require(type(document) is dict, "the certificate: this should be an object")
    kind, version = _kind(document), document.get("schema_version")
    fine = type(version) is int and version in kind.versions
    require(fine, f"a certificate of {_shown(version)}: schema_version should be {VERSIONS}")
    now = as_written_now(document) if of_program(document) else document
    require_shallow(document)
    # From here on each value has the type that is expected of it; sections of networks are read later.
    kind.form(now, "")
    for key, digest in digests(document).items():
        require(document["digests"][key] == digest, f"{key} was altered: its SHA-256 digest is another")
    if of_network(document):
        from hardsim.verify.external.check import check_external
        from hardsim.verify.external.layers import check_layers

        return (check_layers if kind is _LAYERS else check_external)(document, shown)
    if of_program(document):
        claim = program_claim(document["model"].get("weighting", "softmax"))
        require(document["claim"] == claim, "claim: it is not the one that is checked")
        from hardsim.verify.programs import ProgramChecker

        return ProgramChecker(now)
    if kind is _NORMED:
        return NormedChecker(document)
    if kind is _ROUNDED:
        return RoundedChecker(document)
    claim = EVERY_LENGTH if document["max_n"] is None else CLAIM
    require(document["claim"] == claim, "claim: it is not the one that is checked")
    return checker_of(document)(document, document["bounds"])


def checker_of(document: dict[str, Any]) -> type[FormulaChecker]:
    """Return the class that checks a certificate of a formula: of every length if `max_n` is None."""
    from hardsim.verify.every_length import EveryLengthChecker
    from hardsim.verify.formulas import FormulaChecker

    return EveryLengthChecker if document.get("max_n", 0) is None else FormulaChecker
