"""Rotary positions in network JSON: how they are read and written."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hardsim.network.blocks import Rotary
from hardsim.network.reader import Reader
from hardsim.network.rotary_scaling import Llama3Scaling, LongScaling, RotaryScaling, YarnScaling

LARGEST = 1_000_000
"""The greatest length."""
PAIRS = {"neighbours": True, "halves": False}
KINDS = "llama3", "yarn", "longrope"


def read_rotary(data: Reader, width: int) -> Rotary:
    """Read the rotary positions of a head with keys of a width. Raises InputError at what is wrong."""
    data.only("base", "size", "pairs", "divisor", "scaling", "longest")
    size = data.field("size")
    turned = size.integer(2, width)
    if turned % 2:
        raise size.error("an even number")
    interleaved = data.field("pairs").choice(PAIRS.__getitem__, ", ".join(PAIRS))
    scaling = _read_scaling(data.field("scaling"), turned) if data.has("scaling") else None
    longest = _length(data, "longest") if data.has("longest") else None
    divisor = positive(data, "divisor") if data.has("divisor") else Fraction(1)
    return Rotary(positive(data, "base"), turned, interleaved, divisor, scaling, longest)


def positive(data: Reader, key: str) -> Fraction:
    """Read a number above 0."""
    number = Fraction(data.field(key).number())
    if number <= 0:
        raise data.field(key).error("a number above 0")
    return number


def _read_scaling(data: Reader, size: int) -> RotaryScaling:
    kind = data.field("kind").choice({one: one for one in KINDS}.__getitem__, ", ".join(KINDS))
    stated = positive(data, "amplitude") if data.has("amplitude") else None
    if kind == "llama3":
        data.only("kind", "factor", "low", "high", "length")
        low, high = positive(data, "low"), positive(data, "high")
        if low >= high:
            raise data.field("low").error(f"a number below high, {high}")
        return Llama3Scaling(positive(data, "factor"), low, high, _length(data, "length"))
    if kind == "yarn":
        data.only("kind", "factor", "fast", "slow", "length", "truncate", "weights", "amplitude")
        numbers = [Fraction(one.number()) for one in data.field("weights").items(2)]
        if min(numbers) < 0:
            raise data.field("weights").error("two numbers from 0 on")
        factor, fast, slow = (positive(data, key) for key in ("factor", "fast", "slow"))
        truncate = data.field("truncate").boolean()
        return YarnScaling(factor, fast, slow, _length(data, "length"), truncate, stated, (numbers[0], numbers[1]))
    data.only("kind", "divisors", "factor", "length", "amplitude")
    divisors = tuple(Fraction(one.number()) for one in data.field("divisors").items(size // 2))
    if min(divisors) <= 0:
        raise data.field("divisors").error("numbers above 0")
    return LongScaling(divisors, positive(data, "factor"), _length(data, "length", 2), stated)


def _length(data: Reader, key: str, least: int = 1) -> int:
    return data.field(key).integer(least, LARGEST)


def rotary_json(rotary: Rotary | None) -> dict[str, Any] | None:
    """Return the description of rotary positions; null for None."""
    if rotary is None:
        return None
    description = {
        "base": number_json(rotary.base),
        "size": rotary.size,
        "pairs": "neighbours" if rotary.interleaved else "halves",
        "divisor": number_json(rotary.divisor),
        "scaling": None if rotary.scaling is None else _scaling_json(rotary.scaling),
        "longest": rotary.longest,
    }
    return without_nulls(description)


def _scaling_json(scaling: RotaryScaling) -> dict[str, Any]:
    match scaling:
        case Llama3Scaling(factor, low, high, length):
            numbers = {"factor": factor, "low": low, "high": high, "length": length}
            return {"kind": "llama3"} | {key: number_json(value) for key, value in numbers.items()}
        case YarnScaling(factor, fast, slow, length, truncate, stated, weights):
            numbers = {"factor": factor, "fast": fast, "slow": slow, "length": length}
            found: dict[str, Any] = {key: number_json(value) for key, value in numbers.items()}
            found |= {"kind": "yarn", "truncate": truncate, "weights": list(map(number_json, weights))}
        case LongScaling(divisors, factor, length, stated):
            found = {"kind": "longrope", "divisors": list(map(number_json, divisors)), "length": length}
            found["factor"] = number_json(factor)
    return found if stated is None else found | {"amplitude": number_json(stated)}


def without_nulls(description: dict[str, Any]) -> dict[str, Any]:
    """Return a description without the keys whose value is null."""
    return {key: value for key, value in description.items() if value is not None}


def number_json(value: Any) -> int | str:
    """Return a rational as JSON: an integer, or a text."""
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else str(exact)
