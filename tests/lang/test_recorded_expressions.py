"""Expressions keep the meaning that they had when encodings and `pred` lines had a language each.

Each line of `expressions.jsonl` has a random text and its result in the two languages: for a number its canonical text
and its values; for a condition its values; for a mistake its place, and for a condition the whole error. A null place
moved from a comparison, or from the content of square brackets, to the whole operand.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hardsim.errors import Source
from hardsim.lang.arith import in_python
from hardsim.lang.ast import UserPredicate
from hardsim.lang.predicate import compile_predicate
from hardsim.verify.expressions import evaluate, expression
from tests.support.language import Arith, SourceError, Span, parse_arith

RECORDS = [json.loads(line) for line in Path(__file__).with_name("expressions.jsonl").read_text("utf-8").splitlines()]
NUMBERED = ((1, 1), (2, 5), (0, 3), (4, 4))
ASKED = ((1, 1), (2, 5), (0, 3), (-4, 4), (10**18, 2), (-(10**18) - 1, 2))
"""Positions and lengths, or counts and lengths, at which values were recorded."""
PREFIX = "# "
"""Text before a condition in its source."""


def outcome(words: bool, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call, or the place of its error, with the whole message if `words`."""
    try:
        return call(*arguments)
    except SourceError as error:
        place = {"at": [error.span.start, error.span.end]}
        return {**place, "message": error.message, "expected": error.expected, "hint": error.hint} if words else place


def value(arith: Arith, i: int, n: int) -> str:
    return str(arith.evaluate(i=i, n=n))


def number(text: str) -> dict[str, Any]:
    arith = parse_arith(text)
    return {"text": str(arith), "values": [outcome(False, value, arith, *place) for place in NUMBERED]}


def condition(text: str) -> dict[str, Any]:
    span = Span(len(PREFIX), len(PREFIX) + len(text))
    holds = compile_predicate(Source("f", PREFIX + text), UserPredicate("P", ("i", "n"), text, span=span))
    values = [outcome(True, holds, *place) for place in ASKED]
    return {
        "values": [{key: each[key] for key in ("at", "message")} if type(each) is dict else each for each in values]
    }


@pytest.mark.parametrize(("sort", "read"), [("number", number), ("condition", condition)])
def test_expressions_mean_what_they_did(sort: str, read: Callable[[str], dict[str, Any]]) -> None:
    records = [(text, expected) for recorded, text, expected in RECORDS if recorded == sort]
    assert len(records) > 250
    for text, expected in records:
        found = outcome(sort == "condition", read, text)
        if expected.get("at", ()) is None:
            assert "at" in found, text
        else:
            assert found == expected, text


def test_the_checker_of_certificates_reads_them_alike() -> None:
    """The checker reads them as Python would, by code of its own."""
    compared = 0
    for sort, text, expected in RECORDS:
        if "values" in expected and "[" not in text:
            meaning = expression(in_python(text, {"i": "x"}))
            for (x, n), known in zip(NUMBERED if sort == "number" else ASKED, expected["values"], strict=True):
                if type(known) is not dict:
                    assert evaluate(meaning, x=x, n=n) == Fraction(known), text
                    compared += 1
    assert compared > 1000


def test_an_expression_as_python_writes_it() -> None:
    assert (
        in_python("2*i ≠ n div 3 and i=1 or n == i mod 2", {"i": "(x)"}) == "2*(x) != n // 3 and (x)==1 or n == (x) % 2"
    )
    assert in_python("(-1)^i <= in", {"i": "x"}) == "(-1)**x <= in"
