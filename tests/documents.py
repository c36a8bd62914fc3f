"""The schema of the documents that commands write, as it is committed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from hardsim.records import Record

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)


def validator_of(name: str) -> Draft202012Validator:
    """What holds a part of a document against its definition, which is named as its class is."""
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


def valid(record: Record) -> Any:
    """A record as a reader has it, after it was held against the schema."""
    found = record.to_dict()
    validator_of(type(record).__name__).validate(found)
    return found


def exact(number: Any) -> Fraction:
    """An exact number, which its rounded value is close to."""
    found = Fraction(number["exact"])
    assert number.keys() == {"value", "exact"}
    assert abs(Fraction(number["value"]) - found) <= abs(found) / 10**15
    return found
