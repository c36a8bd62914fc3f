"""Read JSON that a user may have edited: check every value, and name the place inside the document in every error."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeVar

from hardsim.errors import InputError, Span, did_you_mean
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.frontend import source_of
from hardsim.lang.json_text import parse_json
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational, plain
from hardsim.visible import visible

V = TypeVar("V")

RATIONAL = re.compile(r"-?\d{1,2000}(/(?=\d{1,2000}$)0*[1-9]\d*)?", re.ASCII)
SHOWN = 80
"""The greatest number of characters of a value that an error shows."""
LARGEST_POWER = 400
"""The greatest number of digits of a decimal that is read exactly, and the greatest power of ten in it."""
ADVICE = "Correct the file, or make it again with `hardsim compile`."
REWRITE = "Write the model as JSON in UTF-8; `hardsim compile` writes such files."


class Decimal(float):
    """A number of JSON with a point or a power of ten, together with its text. A reader of exact numbers takes 0.1 as
    1/10."""

    text: str

    def __new__(cls, text: str) -> Decimal:
        """Make the number from its text."""
        found = super().__new__(cls, text)
        found.text = text
        return found


def exact_number(value: Any) -> Rational | None:
    """Return the exact number that an integer, a decimal, or a rational as text stands for; None for any other
    value."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return plain(Fraction(value))
    if isinstance(value, str) and RATIONAL.fullmatch(value):
        return plain(Fraction(value))
    if not isinstance(value, Decimal):
        return None
    # The power is limited before the number is made: 1e999999999 as a Fraction would fill the memory.
    power = value.text.lower().partition("e")[2]
    small = len(value.text) <= LARGEST_POWER and (not power or abs(int(power)) <= LARGEST_POWER)
    return plain(Fraction(value.text)) if small else None


@dataclass(frozen=True, slots=True)
class Refused:
    """A placeholder in a parsed document for an invalid value. The error is raised later, when its place is known."""

    reason: str


ABSENT = Refused("nothing")
"""The value at the place of a member that an object lacks."""


def shown(value: Any) -> str:
    """Return the text by which errors show a value: as JSON, a Fraction as a float, and only the beginning of a long
    text."""
    if isinstance(value, Refused):
        return value.reason
    if isinstance(value, Fraction):
        return repr(float(value)) if abs(value) < 10**300 else "a very large number"
    try:
        # `dumps` recurses, and refuses integers of thousands of digits.
        text = json.dumps(value, default=str, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "a value that is nested too deeply to be shown, or a number too long"
    return visible(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


def read_json(data: bytes, name: str, advice: str = "", settings: bool = False) -> Reader:
    """Parse a JSON document into a reader. `advice` replaces the usual hint of errors; give it if the document is not a
    model. In a document of `settings` decimals are Fractions, and keys may be empty. Raises SourceError, with a place,
    if the data is not UTF-8 or not JSON; InputError for NaN and Infinity, and if an object has the same key twice."""
    # The parser's hooks do not know the place of a value. They leave `Refused` there, and `refusals` finds the places
    # later.
    refused: list[Refused] = []

    def refuse(reason: str) -> Refused:
        refused.append(Refused(reason))
        return refused[-1]

    def decimal(text: str) -> Any:
        found = Decimal(text)
        if settings and exact_number(found) is None:
            return refuse(f"a number of more than {LARGEST_POWER} digits")
        return Fraction(text) if settings else found

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Refused:
        found = dict(pairs)
        if "" in found and not settings:
            return refuse("a key is empty")
        # `dict` silently keeps only the last value of a key.
        twice = next((key for key, count in Counter(key for key, _ in pairs).items() if count > 1), None)
        return found if twice is None else refuse(f"the key {shown(twice)} occurs twice in one object")

    source = source_of(data, name, "JSON", advice or REWRITE)
    value = parse_json(
        source,
        Span(0, len(source.text)),
        advice or REWRITE,
        object_pairs_hook=members,
        parse_float=decimal,
        parse_constant=lambda found: refuse(f"{found} is not a JSON number"),
    )
    document = Reader(value, name, advice=advice or ADVICE)
    if refused:
        raise next(document.refusals())
    return document


@dataclass(frozen=True, slots=True)
class Reader:
    """A value inside a document. `path` is its place, such as `layers[2].heads[0].w_q`; `name` is the document's
    name."""

    value: Any
    name: str
    path: str = ""
    advice: str = ADVICE
    """The hint of every error: how to correct the document."""

    def error(self, expected: str, question: str = "") -> InputError:
        """Return the error "expected ..., found ..." for this place. `question` is a hint that suggests a
        correction."""
        return self.refusal(f"expected {expected}, found {shown(self.value)}", question)

    def refusal(self, reason: str, question: str = "") -> InputError:
        """Return the error with this reason for this place. `question` is a hint that suggests a correction."""
        place = self.path or "the top level"
        if question and question[-1] not in ".?":
            question += "."
        return InputError(f"{self.name}: at {place}: {reason}", f"{question} {self.advice}".strip())

    def refusals(self) -> Iterator[InputError]:
        """Yield an error for each placeholder of an invalid value (`Refused`) in the document, in the order of the
        text."""
        waiting = [self]
        while waiting:
            place = waiting.pop()
            if isinstance(place.value, Refused):
                yield place.refusal(place.value.reason)
            elif isinstance(place.value, dict):
                # A stack: reversed, so that places come out in the order of the text.
                waiting.extend(reversed([place.field(key) for key in place.value]))
            elif isinstance(place.value, list):
                waiting.extend(reversed(list(place.items())))

    def object(self) -> dict[str, Any]:
        """Return the value, which must be an object."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return self.value

    def field(self, key: str) -> Reader:
        """Return the required member `key` of an object. Raises InputError if this is not an object, or has no such
        member."""
        if key not in self.object():
            raise self.error(f"an object with the key {shown(key)}")
        return self.at(key)

    def at(self, key: str) -> Reader:
        """Return the member `key` of an object; its value is ABSENT if the object has no such member."""
        found = self.object().get(key, ABSENT)
        return Reader(found, self.name, f"{self.path}{_step(key, bool(self.path))}", self.advice)

    def has(self, key: str) -> bool:
        """Return True if the object has the member `key` and its value is not null."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def only(self, *keys: str) -> Reader:
        """Return the same reader if the object has no members other than `keys`. A misspelt key would otherwise be
        ignored. Raises InputError if this is not an object, or has a member that is not among `keys` (the error names
        the first)."""
        for key in self.object():
            if key not in keys:
                raise self.error(
                    f"keys among {', '.join(keys)} (not {shown(key)})", did_you_mean(str(key), keys, shown)
                )
        return self

    def members(self) -> Iterator[tuple[str, Reader]]:
        """Yield the key and the value of every member of an object."""
        for key in self.object():
            yield key, self.field(key)

    def items(self, length: int | None = None) -> Iterator[Reader]:
        """Yield the items of an array. If `length` is given, the array must have that length."""
        if not isinstance(self.value, list) or (length is not None and len(self.value) != length):
            raise self.error("an array" if length is None else f"an array of {length}")
        for index, value in enumerate(self.value):
            yield Reader(value, self.name, f"{self.path}[{index}]", self.advice)

    def text(self) -> str:
        """Return the value, which must be a string."""
        if not isinstance(self.value, str):
            raise self.error("a string")
        return self.value

    def choice(self, make: Callable[[str], V], options: str) -> V:
        """Return `make` of the string here. `make` raises ValueError or KeyError for a string that is not one of
        `options`."""
        if isinstance(self.value, str):
            with suppress(ValueError, KeyError):
                return make(self.value)
        raise self.error(f"one of {options}")

    def boolean(self) -> bool:
        """Return the value, which must be `true` or `false`."""
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def integer(self, low: int, high: int) -> int:
        """Return the value, which must be an integer in [low, high]."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not low <= self.value <= high:
            raise self.error(f"an integer from {low} to {high}")
        return self.value

    def rational(self) -> Rational:
        """Return the rational that is written here as a string: `"p"` or `"p/q"`."""
        if not isinstance(self.value, str) or not RATIONAL.fullmatch(self.value):
            raise self.error('a rational as a string such as "3" or "-1/2"')
        return plain(Fraction(self.value))

    def number(self) -> Rational:
        """Return the number here: an integer, a decimal (read exactly as written), or a rational as a string."""
        found = exact_number(self.value)
        if found is None:
            raise self.error(f'a number: 3, 0.1 or "1/3", of at most {LARGEST_POWER} digits')
        return found

    def arith(self, variables: tuple[str, ...] = ("i", "n")) -> Arith:
        """Return the expression in the given variables that is written here as a string."""
        return parse_arith(self.text(), variables, f"{self.name}: {self.path}")


def _step(key: str, inside: bool) -> str:
    """Return a key as a step of a path, quoted if it is not one printable word."""
    if not key.isprintable() or key.split() != [key] or len(key) > SHOWN:
        return f"[{shown(key)}]"
    return f".{key}" if inside else key
