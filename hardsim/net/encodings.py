"""Position encodings and temperatures as JSON: expressions in i and n, predicates, tables."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hardsim.lang.arith import Arith
from hardsim.net.reader import Reader
from hardsim.net.tables import LengthTable, PositionTable
from hardsim.spec.columns import PositionFunction, UserPredicate, parse_column

Users = Mapping[str, tuple[str, UserPredicate]]
"""A file's own predicates: text and meaning by name."""

LARGEST_START = 10**9


def encoding_json(value: PositionFunction) -> Any:
    """An expression or a predicate as text, a table of positions as an object, one of lengths as an array."""
    if isinstance(value, PositionTable):
        return {
            "start": value.start,
            "values": [str(entry) for entry in value.values],
            "otherwise": str(value.otherwise),
        }
    if isinstance(value, LengthTable):
        return [str(entry) for entry in value.values]
    return str(value)


def read_encoding(data: Reader, users: Users | None = None) -> PositionFunction:
    """An expression in i and n, a predicate such as `PRIME(2*i + 1)`, or a table; `users` are the file's own.

    A table of lengths, an array, has a value for each length from 1 on: compiled models have one where the gaps that
    their ties were broken with were measured.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    if isinstance(data.value, dict):
        data.only("start", "values", "otherwise")
        start = data.field("start").integer(-LARGEST_START, LARGEST_START) if data.has("start") else 1
        values = tuple(item.rational() for item in data.field("values").items())
        return PositionTable(start, values, data.field("otherwise").rational() if data.has("otherwise") else 0)
    if isinstance(data.value, list):
        return LengthTable(tuple(Fraction(item.rational()) for item in data.items()), "position encoding")
    return parse_column(data.text(), users or {}) or data.arith()


def schedule_json(value: Arith | LengthTable) -> Any:
    """A temperature: an expression, or its values at lengths 1, 2, ..."""
    return [str(entry) for entry in value.values] if isinstance(value, LengthTable) else str(value)


def read_schedule(data: Reader) -> Arith | LengthTable:
    """A temperature from JSON: an expression in i and n, or an array with a value for each length from 1 on."""
    if isinstance(data.value, list):
        return LengthTable(tuple(Fraction(item.rational()) for item in data.items()))
    return data.arith()
