"""Validation of JSON documents against `docs/schema.json`, as it is committed."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from hardsim.records import Record

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)


def validator_of(name: str) -> Draft202012Validator:
    """Return a validator for one part of a document; `name` is the name of its class."""
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


def valid(record: Record) -> Any:
    """Return the document of a record, after validating it against the schema."""
    found = record.to_dict()
    validator_of(type(record).__name__).validate(found)
    return found


def exact(number: Any) -> Fraction:
    """Return an exact number of a document, after checking that its rounded value is close to it."""
    found = Fraction(number["exact"])
    assert number.keys() == {"value", "exact"}
    assert abs(Fraction(number["value"]) - found) <= abs(found) / 10**15
    return found
