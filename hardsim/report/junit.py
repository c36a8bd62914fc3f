"""Write JUnit XML: one test suite for a run, with a test case for each input and regime."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from hardsim.report.outcome import Ending, Finished, Outcome
from hardsim.visible import visible, visible_lines

NO_CHARACTER = re.compile("[\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, besides control characters and surrogates."""
ELEMENTS = {Ending.FAILED: "failure", Ending.ERROR: "error", Ending.SKIPPED: "skipped"}
"""Name of the XML element inside a test case that did not pass, by its ending."""
_TYPES = {1: "mismatch", 4: "internal error"}
"""Type of a failure without a verdict, by its exit code."""


def render(finished: Finished) -> str:
    """Return the XML document of a run."""
    cases, counted = finished.outcomes, {"tests": str(len(finished.outcomes))}
    for ending, name in (("failures", Ending.FAILED), ("errors", Ending.ERROR), ("skipped", Ending.SKIPPED)):
        counted[ending] = str(finished.count(name))
    counted["time"] = _seconds(sum(case.seconds for case in cases))
    root = Element("testsuites", {"name": "hardsim", **counted})
    suite = SubElement(root, "testsuite", {"name": f"hardsim {finished.command}", **counted})
    facts = [("exit_code", str(finished.code))] + [("summary", finished.summary)] * bool(finished.summary)
    facts += [("remark", remark) for remark in finished.remarks]
    _properties(suite, facts)
    for case in cases:
        _case(suite, finished.command, case)
    if finished.notes:
        SubElement(suite, "system-err").text = _lines("\n".join(map(visible, finished.notes)))
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _case(suite: Element, command: str, one: Outcome) -> None:
    named = {"classname": f"hardsim.{command}", "name": _line(one.title)}
    if one.path is not None:
        named["file"] = _line(one.path)
    if one.place is not None:
        named["line"] = str(one.place[0])
    case = SubElement(suite, "testcase", {**named, "time": _seconds(one.seconds)})
    _properties(case, [(key, value) for key in ("verdict", "reach", "word") if (value := getattr(one, key))])
    if one.ending in ELEMENTS:
        description = {"message": _line(one.message)}
        # Readers of JUnit know no type of a skipped test.
        if one.ending is not Ending.SKIPPED:
            description["type"] = one.verdict or _TYPES.get(one.code, "bad input")
        SubElement(case, ELEMENTS[one.ending], description).text = _lines(one.details) or None


def _properties(parent: Element, facts: list[tuple[str, str]]) -> None:
    if facts:
        properties = SubElement(parent, "properties")
        for name, value in facts:
            SubElement(properties, "property", {"name": name, "value": _line(value)})


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _line(text: str) -> str:
    return NO_CHARACTER.sub(_escaped, visible(text))


def _lines(text: str) -> str:
    return NO_CHARACTER.sub(_escaped, visible_lines(text))


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
