"""Write SARIF 2.1.0, the format of static analysis results: a result for each outcome that did not pass."""

from __future__ import annotations

import json
import os
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from hardsim.report.outcome import Ending, Finished, Outcome
from hardsim.version import __version__
from hardsim.visible import visible_json

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RULES = {
    "mismatch": "Two answers differ on a word, a claim does not hold, or a certificate is invalid.",
    "required": "The verdict is less than was required.",
    "undecided": "No verdict was reached.",
    "observed": "No mismatch was found, in mpmath arithmetic without error bounds.",
    "not-run": "The input was not run, or its run did not finish.",
    "bad-input": "The input cannot be read or used.",
    "internal-error": "hardsim failed. This is a defect of hardsim.",
}
"""Description of each rule, by its identifier."""
LEVELS = {Ending.FAILED: "error", Ending.ERROR: "error"}


def render(finished: Finished) -> str:
    """Return the SARIF document of a run."""
    found = [one for one in finished.outcomes if one.ending is not Ending.PASSED]
    used = [name for name in RULES if name in {rule_of(one) for one in found}]
    rules = [{"id": name, "shortDescription": {"text": RULES[name]}} for name in used]
    driver = {"name": "hardsim", "version": __version__, "semanticVersion": __version__, "rules": rules}
    notes = [{"level": "warning", "message": {"text": text}} for text in finished.remarks]
    notes += [{"level": "note", "message": {"text": text}} for text in finished.notes]
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                # Codes 2, 4 and 130 mean that the tool did not do its work; a mismatch is a successful run.
                "executionSuccessful": finished.code in (0, 1, 3),
                "exitCode": finished.code,
                "toolExecutionNotifications": notes,
            }
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {"command": finished.command} | ({"summary": finished.summary} if finished.summary else {}),
        "results": [result(one, used) for one in found],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return visible_json(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def rule_of(one: Outcome) -> str:
    """Return the identifier of the rule for an outcome that did not pass."""
    if one.ending is Ending.ERROR:
        return "internal-error" if one.code == 4 else "bad-input"
    if one.ending is Ending.FAILED:
        return "mismatch" if one.code == 1 else "required"
    if one.code == 130 or not one.verdict:
        return "undecided" if one.code == 3 else "not-run"
    return "undecided" if one.code == 3 else "observed"


def result(one: Outcome, rules: list[str]) -> dict[str, Any]:
    """Return the SARIF result of an outcome that did not pass; `rules` are the identifiers in use, in order."""
    rule = rule_of(one)
    level = LEVELS.get(one.ending) or ("warning" if one.code else "note")
    facts = {key: value for key in ("regime", "verdict", "reach", "word") if (value := getattr(one, key))}
    found: dict[str, Any] = {"ruleId": rule, "ruleIndex": rules.index(rule), "level": level}
    found |= {"message": {"text": one.text}, "properties": {**facts, "seconds": round(one.seconds, 3)}}
    if one.path is not None:
        place: dict[str, Any] = {"artifactLocation": {"uri": uri(one.path)}}
        if one.place is not None:
            place["region"] = {"startLine": one.place[0], "startColumn": one.place[1]}
        found["locations"] = [{"physicalLocation": place}]
    return found


def uri(name: str) -> str:
    """Return a file as a URI reference: relative to the working directory, or a file: URI if an absolute path is
    not below it."""
    path = PurePath(name)
    if path.is_absolute():
        here = PurePath(os.getcwd())
        if not path.is_relative_to(here):
            return "file://" + quote(os.fsencode(path.as_posix()))
        path = path.relative_to(here)
    return quote(os.fsencode(path.as_posix()))
