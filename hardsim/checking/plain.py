"""Results and tallies as JSON and back, without loss: every number exactly, nothing executed.

None, Booleans, texts and small integers stand for themselves, lists for lists; anything else is an object with one
field, whose name says what it is: `fraction` and `integer` (as text), `float` (in hexadecimal), `tuple`, `dict` (its
pairs), or one of CLASSES (its fields by name).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from hardsim.checking.attention_result import (
    AttentionLength,
    AttentionMismatch,
    AttentionResult,
    Growth,
    HeadRow,
    LayerRow,
    Tie,
    Violation,
)
from hardsim.checking.attention_tally import ErrorTally
from hardsim.checking.result import CheckResult, HeadResult, LengthResult, Mismatch, ModelFacts, Verdict
from hardsim.checking.tally import Extreme, Tally

SMALL = 2**53
"""Integers up to here stand for themselves: every reader of JSON has them."""
CLASSES: dict[str, Any] = {
    one.__name__: one
    for one in (
        AttentionLength, AttentionMismatch, AttentionResult, Growth, HeadRow, LayerRow, Tie, Violation, ErrorTally,
        CheckResult, HeadResult, LengthResult, Mismatch, ModelFacts, Extreme, Tally,
    )
}  # fmt: skip


def to_plain(value: Any) -> Any:
    """A value as JSON.

    Raises:
        TypeError: if it holds anything of another type.
    """
    if isinstance(value, Verdict):
        return {"Verdict": value.value}
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= SMALL else {"integer": _text(value)}
    if isinstance(value, float):
        return {"float": float(value).hex()}
    if isinstance(value, Fraction):
        return {"fraction": f"{_text(value.numerator)}/{_text(value.denominator)}"}
    if isinstance(value, list):
        return [to_plain(one) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(one) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[to_plain(key), to_plain(one)] for key, one in value.items()]}
    if is_dataclass(value) and CLASSES.get(type(value).__name__) is type(value):
        return {type(value).__name__: {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}}
    raise TypeError(f"a {type(value).__name__} has no place in a checkpoint")


def from_plain(data: Any) -> Any:
    """The value that JSON stands for.

    Raises:
        ValueError: if it stands for none.
    """
    if data is None or isinstance(data, bool | str | int):
        return data
    if isinstance(data, list):
        return [from_plain(one) for one in data]
    if not isinstance(data, dict) or len(data) != 1:
        raise ValueError("an object without a name")
    ((name, content),) = data.items()
    try:
        return _named(name, content)
    except (TypeError, KeyError, AttributeError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"no {name}: {error}") from None


def _named(name: str, content: Any) -> Any:
    if name == "fraction":
        above, _, below = content.partition("/")
        return Fraction(int(above, 0), int(below, 0))
    if name == "integer":
        return int(content, 0)
    if name == "float":
        return float.fromhex(content)
    if name == "Verdict":
        return Verdict(content)
    if name == "tuple":
        return tuple(from_plain(one) for one in content)
    if name == "dict":
        return {from_plain(key): from_plain(one) for key, one in content}
    wanted = CLASSES[name]
    if content.keys() != {one.name for one in fields(wanted)}:
        raise ValueError(f"other fields than those of a {name}")
    return wanted(**{key: from_plain(one) for key, one in content.items()})


def _text(number: int) -> str:
    """Decimal where it is short: long numbers are read and written faster (and without a limit) in hexadecimal."""
    return str(number) if number.bit_length() < 256 else hex(number)
