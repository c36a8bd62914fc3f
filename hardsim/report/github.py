"""Write workflow commands of GitHub Actions: one line for each annotation of a file."""

from __future__ import annotations

from hardsim.report.outcome import Ending, Finished, Outcome
from hardsim.visible import visible

DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
"""Escapes of characters in the message of a command."""
PROPERTY = DATA | {":": "%3A", ",": "%2C"}
"""Escapes of characters in a property of a command."""


def render(finished: Finished) -> str:
    """Return a command for each outcome that did not pass, and for each remark on the whole run."""
    lines = [_annotation(finished.command, one) for one in finished.outcomes if one.ending is not Ending.PASSED]
    lines += [_command("warning", {"title": f"hardsim {finished.command}"}, remark) for remark in finished.remarks]
    return "".join(line + "\n" for line in lines)


def _annotation(command: str, one: Outcome) -> str:
    level = "error"
    # A result that is only OBSERVED has exit code 0, and is no reason to warn.
    if one.ending is Ending.SKIPPED:
        level = "warning" if one.code else "notice"
    found = {} if one.path is None else {"file": one.path}
    if one.place is not None:
        found |= {"line": str(one.place[0]), "col": str(one.place[1])}
    regime = "" if one.regime is None else f" (regime {one.regime})"
    found["title"] = f"hardsim {command}: {one.verdict or one.ending}{regime}"
    return _command(level, found, one.text)


def _command(level: str, properties: dict[str, str], message: str) -> str:
    shown = ",".join(f"{name}={_escaped(value, PROPERTY)}" for name, value in properties.items())
    return f"::{level} {shown}::{_escaped(message, DATA)}"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    """Return a text with GitHub's escapes. Control characters, which a terminal would obey, are made visible."""
    return "".join(escapes.get(char) or visible(char) for char in text)
