"""Reading JSON that a user may have edited: every value is checked, and an error names the place inside the
document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from hardsim.errors import InputError, did_you_mean
from hardsim.lang.arith import Arith, parse_arith
from hardsim.network.numbers import Rational, plain

V = TypeVar("V")

RATIONAL = re.compile(r"-?\d{1,2000}(/(?=\d{1,2000}$)0*[1-9]\d*)?", re.ASCII)
SHOWN = 60
"""Characters of a found value that an error shows."""
LARGEST_POWER = 400
"""Digits of a decimal that is read exactly, and the largest power of ten in it."""
ADVICE = "Correct the file, or make it again with `hardsim compile`."


class Decimal(float):
    """A number of JSON with a point or a power of ten, and the text that it is: 0.1 is 1/10 for who reads that."""

    text: str

    def __new__(cls, text: str) -> Decimal:
        """The number of a text."""
        found = super().__new__(cls, text)
        found.text = text
        return found


def exact_number(value: Any) -> Rational | None:
    """The number that an integer, a decimal, or a rational as text is; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and RATIONAL.fullmatch(value):
        return plain(Fraction(value))
    if not isinstance(value, Decimal):
        return None
    power = value.text.lower().partition("e")[2]
    small = len(value.text) <= LARGEST_POWER and (not power or abs(int(power)) <= LARGEST_POWER)
    return plain(Fraction(value.text)) if small else None


@dataclass(frozen=True, slots=True)
class Refused:
    """Stands in a document for what is no value there, until it is known where that is."""

    reason: str


def shown(value: Any) -> str:
    """A value as an error shows it: the beginning of it, if it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return "a value that is nested too deeply to be shown, or a number too long"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


@dataclass(frozen=True, slots=True)
class Reader:
    """A value inside a document: `path` is its place, such as `layers[2].heads[0].w_q`, `name` the document's."""

    value: Any
    name: str
    path: str = ""
    advice: str = ADVICE
    """What to do about whatever is wrong."""

    def error(self, expected: str, question: str = "") -> InputError:
        """What was expected here, and what was found; and whether something was meant, as a question."""
        return self.refusal(f"expected {expected}, found {shown(self.value)}", question)

    def refusal(self, reason: str, question: str = "") -> InputError:
        """What is wrong here."""
        place = self.path or "the top level"
        return InputError(f"{self.name}: at {place}: {reason}", f"{question} {self.advice}".strip())

    def refusals(self) -> Iterator[InputError]:
        """What is wrong with a document in which something stands that is no value, the first first."""
        waiting = [self]
        while waiting:
            place = waiting.pop()
            if isinstance(place.value, Refused):
                yield place.refusal(place.value.reason)
            elif isinstance(place.value, dict):
                waiting.extend(reversed([place.field(key) for key in place.value]))
            elif isinstance(place.value, list):
                waiting.extend(reversed(list(place.items())))

    def field(self, key: str) -> Reader:
        """A required member of an object."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        if key not in self.value:
            raise self.error(f"an object with the key '{key}'")
        return Reader(self.value[key], self.name, f"{self.path}{_step(key, bool(self.path))}", self.advice)

    def has(self, key: str) -> bool:
        """Whether a member is there and not null."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def only(self, *keys: str) -> Reader:
        """The same object, which may have no other members: a misspelt key would be lost.

        Raises:
            InputError: if it is not an object, or naming the first member that is not among `keys`.
        """
        if not isinstance(self.value, dict):
            raise self.error("an object")
        for key in self.value:
            if key not in keys:
                raise self.error(f"keys among {', '.join(keys)} (not {shown(key)})", did_you_mean(str(key), keys, repr))
        return self

    def members(self) -> Iterator[tuple[str, Reader]]:
        """The members of an object, by their keys."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        for key in self.value:
            yield key, self.field(key)

    def items(self, length: int | None = None) -> Iterator[Reader]:
        """The members of an array, of a given length if any."""
        if not isinstance(self.value, list) or (length is not None and len(self.value) != length):
            raise self.error("an array" if length is None else f"an array of {length}")
        for index, value in enumerate(self.value):
            yield Reader(value, self.name, f"{self.path}[{index}]", self.advice)

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self.error("a string")
        return self.value

    def choice(self, make: Callable[[str], V], options: str) -> V:
        """A string that `make` accepts (it raises ValueError or KeyError otherwise)."""
        try:
            return make(self.text())
        except (ValueError, KeyError):
            raise self.error(f"one of {options}") from None

    def boolean(self) -> bool:
        """`true` or `false`."""
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not low <= self.value <= high:
            raise self.error(f"an integer from {low} to {high}")
        return self.value

    def rational(self) -> Rational:
        """A rational written as a string: `"p"` or `"p/q"`."""
        if not isinstance(self.value, str) or not RATIONAL.fullmatch(self.value):
            raise self.error('a rational as a string such as "3" or "-1/2"')
        return plain(Fraction(self.value))

    def number(self) -> Rational:
        """A number: an integer, a decimal, taken as it is written, or a rational as a string."""
        found = exact_number(self.value)
        if found is None:
            raise self.error(f'a number: 3, 0.1 or "1/3", of at most {LARGEST_POWER} digits')
        return found

    def arith(self, variables: tuple[str, ...] = ("i", "n")) -> Arith:
        """An expression in i and n."""
        return parse_arith(self.text(), variables, f"{self.name}: {self.path}")


def _step(key: str, inside: bool) -> str:
    """A key in a path: quoted where it is not one printable word."""
    if not key.isprintable() or key.split() != [key] or len(key) > SHOWN:
        return f"[{shown(key)}]"
    return f".{key}" if inside else key
