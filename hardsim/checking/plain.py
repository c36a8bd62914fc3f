"""Results and tallies as JSON and back, without loss: every number exactly, nothing executed.

None, Booleans, texts and small integers stand for themselves, lists for lists; anything else is an object with one
field, whose name says what it is: `fraction` and `integer` (as text), `float` (in hexadecimal), `tuple`, `dict` (its
pairs), or one of CLASSES (its fields by name).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

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


def from_plain(data: Any, place: str = "") -> Any:
    """The value that JSON stands for; `place` is where it is in its document.

    Raises:
        ValueError: if it stands for none, naming the place.
    """
    if data is None or isinstance(data, bool | str | int):
        return data
    if isinstance(data, list):
        return [from_plain(one, f"{place}[{index}]") for index, one in enumerate(data)]
    if not isinstance(data, dict) or len(data) != 1:
        raise ValueError(f"an object without a name{_at(place)}")
    ((name, content),) = data.items()
    try:
        return _named(name, content, f"{place}.{name}" if place else name)
    except (TypeError, KeyError, AttributeError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"no {name}{_at(place)}: {error}") from None


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _named(name: str, content: Any, place: str) -> Any:
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
        return tuple(from_plain(one, f"{place}[{index}]") for index, one in enumerate(_list(content)))
    if name == "dict":
        pairs = [(from_plain(key, place), from_plain(one, place)) for key, one in _list(content)]
        return dict(pairs)
    wanted, hints = CLASSES[name], _hints(name)
    if content.keys() != {one.name for one in fields(wanted)}:
        raise ValueError(f"other fields than those of a {name}{_at(place)}")
    found = {key: from_plain(one, f"{place}.{key}") for key, one in content.items()}
    for key, value in found.items():
        if not fits(value, hints[key]):
            raise ValueError(f"a {type(value).__name__} at {place}.{key}, where a {name} has something else")
    return wanted(**found)


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise TypeError("no list")
    return content


@cache
def _hints(name: str) -> dict[str, Any]:
    return get_type_hints(CLASSES[name])


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type as a field states it; where it states none (Any) it is a number."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is tuple and parts[-1] is Ellipsis:
        return isinstance(value, tuple) and all(fits(one, parts[0]) for one in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(fits, value, parts))
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())
    return value is None if hint is NoneType else type(value) is hint


def _text(number: int) -> str:
    """Decimal where it is short: long numbers are read and written faster (and without a limit) in hexadecimal."""
    return str(number) if number.bit_length() < 256 else hex(number)
