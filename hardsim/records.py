"""Results as documents: what a result class says of itself in JSON, on one line and in a notebook.

The keys of a `Record` in its document are the properties that are marked `@written` and its fields, rows of other
records behind the rest.
The type of a field alone decides how it is written: words are arrays of symbols, integers and measured numbers JSON
numbers, exact ones (`Exact`, `Count`) objects `{"value": 0.119, "exact": "25/210"}`, infinities the strings "inf" and
"-inf". There are no timestamps: the same result gives the same text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache
from html import escape
from math import isfinite, isinf
from textwrap import shorten
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from hardsim.visible import OBEYED, visible

T = TypeVar("T")

LONG_DIGITS = 20
"""Significant digits of the numbers in a document."""
KEPT_BITS = 4096
"""Leading bits of a numerator and a denominator that decide what is shown."""
ESCAPE = "\x7f"
"""Stands for the beginning of an escape until the document is whole. Itself escaped, it occurs in no text."""
WIDEST = 2**63
"""Integers from here on are written as their digits."""


# ---- what a field may say of its type ----


@dataclass(frozen=True, slots=True)
class Written:
    """How a number is written: with its exact value beside it, or rounded to `LONG_DIGITS` in one direction."""

    exact: bool = False
    rounding: str = ROUND_HALF_EVEN


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds of every value of a type, by the keywords that msgspec has for it (`ge`, `pattern`, `min_length`)."""

    keywords: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """The values that a field may have."""

    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """JSON as a file holds it, taken over as it is; `schema` is the JSON Schema of it, as text."""

    schema: str


def limits(**keywords: Any) -> Limits:
    """Limits by keywords."""
    return Limits(tuple(keywords.items()))


def one_of(*values: str | int) -> OneOf:
    """One of some texts or integers."""
    return OneOf(values)


UNWRITTEN = "not written"
Unwritten: TypeAlias = Annotated[T, UNWRITTEN]
"""A field that is no part of the document: what a result was made of."""
Exact: TypeAlias = Annotated[Fraction, Written(exact=True)]
"""An exact rational: beta, score gaps, temperatures."""
Count: TypeAlias = Annotated[int, Written(exact=True)]
"""A count that may exceed 2^53, which many readers do not hold exactly."""
Measured: TypeAlias = Annotated[Fraction, Written()]
"""A measured number, or a computed bound: a JSON number of at most 20 significant digits."""
Upper: TypeAlias = Annotated[Fraction, Written(rounding=ROUND_CEILING)]
"""An upper bound, which stays one when it is rounded."""
Lower: TypeAlias = Annotated[Fraction, Written(rounding=ROUND_FLOOR)]
"""A lower bound, which stays one when it is rounded."""
Natural: TypeAlias = Annotated[int, limits(ge=0)]
Positive: TypeAlias = Annotated[int, limits(ge=1)]
Digest: TypeAlias = Annotated[str, limits(pattern="^[0-9a-f]{64}$")]


def written(method: Callable[[Any], T]) -> Callable[[Any], T]:
    """Mark what a property computes as part of the document: `@property` above `@written`."""
    method.is_written = True  # type: ignore[attr-defined]  # functions take attributes
    return method


# ---- numbers ----


def rounded(value: Fraction, digits: int, rounding: str = ROUND_HALF_EVEN) -> Decimal:
    """The value to that many significant decimal digits, of whatever size it is."""
    context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    numerator, denominator = value.numerator, value.denominator
    up, down = (max(0, number.bit_length() - KEPT_BITS) for number in (numerator, denominator))
    if not up and not down:
        return context.divide(Decimal(numerator), Decimal(denominator)).normalize(context)
    # Decimal arithmetic on millions of digits takes minutes: divide the leading bits, then scale by the power of two.
    wide = Context(prec=digits + 40, Emin=MIN_EMIN, Emax=MAX_EMAX)
    leading = wide.divide(Decimal(numerator >> up), Decimal(denominator >> down))
    found = wide.multiply(leading, wide.power(Decimal(2), up - down))
    # What was left out is far less than this, by which a bound is moved to stay one.
    beyond = {ROUND_CEILING: 1, ROUND_FLOOR: -1}.get(rounding, 0) * abs(found).scaleb(-digits - 30, wide)
    return context.plus(wide.add(found, beyond)).normalize(context)


def number_text(value: Fraction | float, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number as JSON with at most 20 significant digits: it is not 0 unless the value is; infinities are strings.

    Raises:
        ValueError: for what is no number.
    """
    if isinstance(value, float) and isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    number = rounded(Fraction(value), LONG_DIGITS, rounding)
    return f"{number:f}" if -7 < number.adjusted() <= LONG_DIGITS else f"{number}"


def digits(value: int) -> str:
    """All digits of an integer, however many (`str` stops at 4300)."""
    return f"{Decimal(value):f}"


def exact_text(value: Fraction | int) -> str:
    """An exact number: `p/q` in lowest terms, or `p`."""
    value = Fraction(value)
    return digits(value.numerator) + ("" if value.denominator == 1 else f"/{digits(value.denominator)}")


# ---- records ----


class Record:
    """A result class, a frozen dataclass without a repr of its own, that gives its own document."""

    __slots__ = ()

    def to_json(self) -> str:
        """The document as text, with nothing in it that drives a terminal; names of files that are not UTF-8 keep their
        bytes as escapes."""
        import msgspec

        found = msgspec.json.format(msgspec.json.encode(_plain(self, type(self))), indent=2)
        return found.decode("utf-8").replace(ESCAPE, "\\u") + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The document as plain Python data, as a reader of `to_json` has it."""
        return dict(json.loads(self.to_json()))

    def __repr__(self) -> str:
        """One line: the verdict, the input and how far it reaches, or the first facts."""
        keys = [key for key in kinds(type(self)) if not isinstance(getattr(self, key), Record | tuple)]
        parts = [str(getattr(self, key)) for key in ("verdict", "input") if key in keys and getattr(self, key)]
        if "reach" in keys:
            parts[-1] += f": {self.reach}"  # type: ignore[attr-defined]  # it is one of its keys
        else:
            known = [(key, getattr(self, key)) for key in keys if key not in ("verdict", "input")]
            parts += [f"{key}={_brief(value)}" for key, value in known if value not in (None, "", False)]
        text = " ".join(" ".join(parts).split())
        return f"<{type(self).__name__} {visible(shorten(text, 160, placeholder=' ...'))}>"

    def _repr_html_(self) -> str:
        """The document as tables, for a notebook."""
        found = json.loads(self.to_json(), parse_float=Decimal)
        return f"<div><strong>{escape(type(self).__name__)}</strong>{_html(found, whole=True)}</div>"


def _brief(value: Any) -> str:
    return f"{rounded(value, 4)}" if isinstance(value, Fraction) else str(value)


def computed(kind: type) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """The properties of a class that are part of its document, by name, with the functions that compute them."""
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, property) and getattr(value.fget, "is_written", False):
                assert value.fget is not None
                yield name, value.fget


def kinds(kind: type) -> dict[str, Any]:
    """The keys of a record's document, with the type of each."""
    return _kinds(kind)


@cache
def _kinds(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    own = {field.name: hints[field.name] for field in fields(kind)}
    found = {name: get_type_hints(get, include_extras=True)["return"] for name, get in computed(kind)}
    found |= {name: hint for name, hint in own.items() if UNWRITTEN not in get_args(hint)[1:]}
    return dict(sorted(found.items(), key=lambda item: _is_long(item[1])))


def _is_long(kind: Any) -> bool:
    """Whether a key stands behind those that are read at a glance: rows of records, and what a file holds."""
    parts = get_args(kind)
    if get_origin(kind) is Annotated:
        return any(isinstance(mark, Embedded) for mark in parts) or _is_long(parts[0])
    rows = (parts[0], *get_args(parts[0])) if get_origin(kind) is tuple else ()
    return any(isinstance(row, type) and issubclass(row, Record) for row in rows)


def _plain(value: Any, kind: Any) -> Any:
    """What msgspec writes for a value of a type."""
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case Record():
            return {key: _plain(getattr(value, key), one) for key, one in kinds(type(value)).items()}
    if get_origin(kind) in (Union, UnionType):
        parts = [part for part in get_args(kind) if part is not NoneType]
        kind = next(part for part in parts if len(parts) == 1 or _base(part) is type(value))
    base, *marks = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    for mark in marks:
        if isinstance(mark, Written):
            return _number(value, mark)
        if isinstance(mark, Embedded):
            return _escaped(value)
    match value:
        case tuple():
            return [_plain(one, get_args(base)[0]) for one in value]
        case int():
            return value if -WIDEST < value < WIDEST else _raw(digits(value))
        case float():
            return value if isfinite(value) else _raw(number_text(value))
    raise TypeError(f"a {type(value).__name__} in a field whose type, {kind}, does not say how it is written")


def _base(kind: Any) -> Any:
    """The type itself, without what is said of it."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_origin(kind) or kind


def _number(value: Fraction | int, how: Written) -> Any:
    found = _raw(number_text(Fraction(value), how.rounding))
    return {"value": found, "exact": exact_text(value)} if how.exact else found


def _text(text: str) -> Any:
    """Text; where a terminal would obey it, with escapes."""
    return text if OBEYED.search(text) is None else _escaped(text)


def _escaped(data: Any) -> Any:
    """JSON in which nothing drives a terminal. Lone surrogates, which stand for the stray bytes of names of files, are
    no JSON to msgspec, not even escaped: they wait behind ESCAPE, which is nowhere else."""
    text = OBEYED.sub(lambda match: f"{ESCAPE}{ord(match[0]):04x}", json.dumps(data, ensure_ascii=False))
    return _raw(text)


def _raw(text: str) -> Any:
    from msgspec import Raw

    return Raw(text.encode("utf-8"))


# ---- in a notebook ----


def _html(data: Any, whole: bool = False) -> str:
    """A document, or a part of it: an object as a table of its keys, an array of objects as one with a row for each,
    which is open in the whole document."""
    match data:
        case {"value": value, "exact": exact, **others} if not others:
            return f'<span title="{escape(visible(exact))}">{_html(value)}</span>'
        case dict():
            cells = [(escape(visible(key)), _html(one, whole)) for key, one in data.items()]
            return f"<table>{''.join(f'<tr><th>{key}</th><td>{cell}</td></tr>' for key, cell in cells)}</table>"
        case [dict() as first, *_]:
            head = "".join(f"<th>{escape(visible(key))}</th>" for key in first)
            rows = "".join(f"<tr>{''.join(f'<td>{_html(one)}</td>' for one in row.values())}</tr>" for row in data)
            more = f"<details{' open' * whole}><summary>{len(data)}</summary>"
            return f"{more}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>"
        case list():
            return " ".join(map(_html, data))
        case Decimal():
            return f'<span title="{data}">{data:.4}</span>'
        case None:
            return "–"
    return escape(visible(str(data)))
