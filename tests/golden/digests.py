"""Digests of the files that hardsim writes: certificates, compiled networks, and hard-attention models.

Each section of a document has its own digest, so that a difference names its section. A digest is the beginning of the
sha256 of the section's canonical JSON; a short value is its own digest. The version of hardsim is left out, and so are
the digests in a certificate, which depend on it.
"""

import json
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.golden.facts import FORMULAS, PROVEN, Case, Facts
from tests.golden.running import ran

RECORD = Path(__file__).with_name("digests.json")
DIGITS = 16
"""Hexadecimal digits of a digest."""
SHORT = 24
"""The length, in characters, up to which a value is its own digest."""
LEFT_OUT = ("version", "digests")
"""The sections that depend on the version of hardsim."""


def canonical(value: Any) -> str:
    """Return a JSON value as text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return a short value itself, and the digest of a longer one."""
    text = canonical(value)
    return text if len(text) <= SHORT else sha256(text.encode()).hexdigest()[:DIGITS]


def sections(path: Path) -> Facts:
    """Return the digest of each section of a document."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document.get("labels", {}).pop("version", None)
    return {key: digest(value) for key, value in document.items() if key not in LEFT_OUT}


def commands(case: Case) -> dict[str, tuple[str, ...]]:
    """Return the commands that write the files of a case: a certificate only in a regime that has proofs."""
    name, regime = case
    given = (name, *(("--regime", regime) if regime else ()))
    lengths = ("--all-n", "--max-n", "9") if name.endswith(FORMULAS) else ("--max-n", "3")
    found: dict[str, tuple[str, ...]] = {
        "compile": ("compile", *given, "-o"),
        "hard": ("compile", *given, "--hard", "-o"),
    }
    if regime in ("", *PROVEN):
        found["certificate"] = ("prove", *given, *lengths, "--certificate")
    return found


def digested(case: Case) -> Facts:
    """Return the digests of each file of a case, or the exit code of a command that writes none.

    Without a construction the other commands are not tried: the facts give the reason.
    """
    found: Facts = {}
    with TemporaryDirectory() as directory:
        for name, arguments in commands(case).items():
            path = Path(directory, f"{name}.json")
            code = ran(*arguments, path).code
            found[name] = sections(path) if path.exists() else {"code": code}
            if found["compile"] == {"code": 2}:
                break
    return found


@cache
def recorded() -> Mapping[str, Facts]:
    """Return the recorded digests, by label."""
    found: Mapping[str, Facts] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found
