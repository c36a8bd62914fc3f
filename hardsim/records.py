"""Result classes as documents: the JSON of a result, its text on one line, and its HTML in a notebook.

The keys of a `Record` in its JSON document are its properties that are marked `@written` and its fields; tuples of
other records come last. The type of a field alone decides how its value is written: words are arrays of symbols;
integers and measured numbers are JSON numbers; exact numbers (`Exact`, `Count`) are objects `{"value": 0.119, "exact":
"25/210"}`; infinities are the strings "inf" and "-inf". There are no timestamps: the same result gives the same text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache
from html import escape
from math import isfinite, isinf
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from hardsim.lazy_dataclass import dataclass
from hardsim.visible import OBEYED, visible

T = TypeVar("T")

LONG_DIGITS = 20
"""Number of significant digits of the numbers in a document."""
KEPT_BITS = 4096
"""Number of leading bits of a numerator and a denominator that are used for a rounded number."""
ESCAPE = "\x7f"
"""Character that stands for the beginning of an escape until the document is complete. It is itself escaped in every
text, so it occurs nowhere else."""
SHORT_DIGITS = 3
"""Number of significant digits of the numbers in a table."""
EMPTY = "(empty)"
"""Text in place of a word, or an output, without symbols."""
NOTHING = "–"
"""Table cell without a number."""
EXACT_DIGITS = 6
"""Largest number of digits with which an exact number is shown in full in a notebook, because the ends of a bracket of
beta may differ only there."""
LONGEST_REPR = 158
"""Largest number of characters between the brackets of a repr."""
LARGEST_PLAIN = 10**9
"""Least integer that a notebook shows in short form."""
MOST_WORDS = 100
"""Largest number of words of a list that a notebook shows."""
WIDEST = 2**63
"""Integers of this absolute value or more are passed to msgspec as their digits (it refuses more than 4,300 digits),
and lists of facts show them in short form."""


# ---- annotations of the types of fields ----


@dataclass(frozen=True, slots=True)
class Written:
    """Mark of a number's type: whether its exact value is written beside it, and the direction in which it is rounded
    to `LONG_DIGITS` digits."""

    exact: bool = False
    rounding: str = ROUND_HALF_EVEN


@dataclass(frozen=True, slots=True)
class Limits:
    """Mark of a type: limits of its values, by msgspec's keywords (`ge`, `pattern`, `min_length`)."""

    keywords: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Mark of a type: the values that a field may have."""

    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Mark of a value that is JSON of another file format, written unchanged; `schema` is its JSON Schema, as text."""

    schema: str


def limits(**keywords: Any) -> Limits:
    """Return the mark of a type whose values have these limits, given as msgspec keywords."""
    return Limits(tuple(keywords.items()))


def one_of(*values: str | int) -> OneOf:
    """Return the mark of a type whose values are the given texts or integers."""
    return OneOf(values)


UNWRITTEN = "not written"
Unwritten: TypeAlias = Annotated[T, UNWRITTEN]
"""Type of a field that is not part of the document, such as the input from which a result was made."""
Exact: TypeAlias = Annotated[Fraction, Written(exact=True)]
"""Type of an exact rational, such as beta, a score gap or a temperature."""
Count: TypeAlias = Annotated[int, Written(exact=True)]
"""Type of a count that may exceed 2^53, which many JSON readers do not read exactly."""
Measured: TypeAlias = Annotated[Fraction, Written()]
"""Type of a measured number or a computed bound: a JSON number with at most 20 significant digits."""
Upper: TypeAlias = Annotated[Fraction, Written(rounding=ROUND_CEILING)]
"""Type of an upper bound, which is rounded up."""
Lower: TypeAlias = Annotated[Fraction, Written(rounding=ROUND_FLOOR)]
"""Type of a lower bound, which is rounded down."""
Natural: TypeAlias = Annotated[int, limits(ge=0)]
Positive: TypeAlias = Annotated[int, limits(ge=1)]
Digest: TypeAlias = Annotated[str, limits(pattern="^[0-9a-f]{64}$")]


def written(method: Callable[[Any], T]) -> Callable[[Any], T]:
    """Mark the value of a property as part of the document; write `@property` above `@written`."""
    method.is_written = True  # type: ignore[attr-defined]  # functions take attributes
    return method


# ---- numbers ----


def rounded(value: Fraction, digits: int, rounding: str = ROUND_HALF_EVEN) -> Decimal:
    """Return a number rounded to a number of significant decimal digits; the number may be of any size."""
    # The widest exponents that decimal has: a value may be far outside the range of floats.
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
    """Return a number as JSON with at most 20 significant digits. Only 0 itself becomes 0; infinities become strings.
    Raises ValueError if the value is not a number."""
    if isinstance(value, float) and isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    number = rounded(Fraction(value), LONG_DIGITS, rounding)
    return f"{number:f}" if -7 < number.adjusted() <= LONG_DIGITS else f"{number}"


def digits(value: int) -> str:
    """Return all digits of an integer of any size (`str` stops at 4300 digits)."""
    return f"{Decimal(value):f}"


def exact_text(value: Fraction | int) -> str:
    """Return an exact number as text: `p/q` in lowest terms, or `p`."""
    value = Fraction(value)
    return digits(value.numerator) + ("" if value.denominator == 1 else f"/{digits(value.denominator)}")


def short(value: Fraction | float | None, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number for a table with three significant digits; `–` for None."""
    if not value:
        return NOTHING if value is None else "0"
    if isinstance(value, float) and isinf(value):
        return str(value)
    number = rounded(Fraction(value), SHORT_DIGITS, rounding)
    if -4 <= number.adjusted() <= 4:
        return f"{number:f}"
    return f"{number:e}".replace("e+", "e")


def about(value: int) -> str:
    """Return a positive integer as text: from 10^12 on `about` with two significant digits."""
    return f"{value:,}" if value < 10**12 else f"about {rounded(Fraction(value), 2):e}".replace("e+", "e")


def at_most(bound: Fraction | float | None) -> str:
    """Return an upper bound for a table, rounded up."""
    return short(bound, ROUND_CEILING)


def at_least(bound: Fraction | float | None) -> str:
    """Return a lower bound for a table, rounded down."""
    return short(bound, ROUND_FLOOR)


# ---- records ----


class Record:
    """Base of all result classes, which are frozen dataclasses without a repr of their own and can write themselves as
    JSON."""

    __slots__ = ()

    def to_json(self) -> str:
        """Return the JSON document as text without control characters. A file name that is not UTF-8 keeps its bytes as
        escapes."""
        # Imported late: the command line's help does not need it.
        import msgspec

        found = msgspec.json.format(msgspec.json.encode(_plain(self, type(self))), indent=2)
        return found.decode("utf-8").replace(ESCAPE, "\\u") + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document as plain Python data, as `json.loads` reads it: numbers become the nearest floats,
        so a bound may lie on the other side. Attributes of results are exact, and the text of `to_json` is rounded
        outward."""
        return dict(json.loads(self.to_json()))

    @property
    def summary(self) -> str:
        """Short facts about the result on one line; fields with their default value are left out."""
        keys = [key for key, kind in kinds(type(self)).items() if not _is_long(kind)]
        facts = [(key, getattr(self, key)) for key in keys if not _is_left_out(self, key)]
        plain_facts = [(key, one) for key, one in facts if not isinstance(one, Record | dict) and not _is_rows(one)]
        return " ".join(f"{key}={_fact_text(one)}" for key, one in plain_facts)

    def __repr__(self) -> str:
        text = visible(f"{type(self).__name__} {_one_line(self.summary)}".rstrip())
        if len(text) > LONGEST_REPR:
            # Cut at a space, so that no number is cut in two.
            end = text.rfind(" ", LONGEST_REPR // 2, LONGEST_REPR - 3)
            text = f"{text[: end if end >= 0 else LONGEST_REPR - 4]} ..."
        return f"<{text}>"

    def _repr_html_(self) -> str:
        """Return the result as HTML for a notebook: the summary, then tables, and all other facts folded."""
        return f"<div><p><strong>{_summary_first(self)}</strong></p>{_body(self, whole=True)}</div>"


def _is_left_out(record: Record, key: str) -> bool:
    """Return True if a field has its default value, and so tells nothing. (False and 0 are different values.)"""
    kind: type = type(record)
    value, default = getattr(record, key), _defaults(kind).get(key, MISSING)
    # In Python False == 0 and True == 1, so types are compared first.
    return type(value) is type(default) and bool(value == default)


@cache
def _defaults(kind: type) -> dict[str, Any]:
    return {field.name: field.default for field in fields(kind)}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _fact_text(value: Any) -> str:
    """Return a value as text in a list of facts."""
    match value:
        case str():
            return repr(str(value))
        case tuple():
            return repr(" ".join(map(str, value)))
        case None | bool():
            return str(value)
    return short(value) if not isinstance(value, int) or abs(value) >= WIDEST else str(value)


def computed(kind: type) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the properties of a class that are part of its document: name and function."""
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, property) and getattr(value.fget, "is_written", False):
                assert value.fget is not None
                yield name, value.fget


def kinds(kind: type) -> dict[str, Any]:
    """Return the keys of a record's document, with the type of each."""
    return _kinds(kind)


@cache
def _kinds(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    own = {field.name: hints[field.name] for field in fields(kind)}
    found = {name: get_type_hints(get, include_extras=True)["return"] for name, get in computed(kind)}
    found |= {name: hint for name, hint in own.items() if UNWRITTEN not in get_args(hint)[1:]}
    # Sorting is stable: within the short and the long keys the order of the class stays.
    return dict(sorted(found.items(), key=lambda item: _is_long(item[1])))


def _is_long(kind: Any) -> bool:
    """Return True if a key comes after the short ones: tuples of records, and embedded JSON."""
    parts = get_args(kind)
    if get_origin(kind) is Annotated:
        return any(isinstance(mark, Embedded) for mark in parts) or _is_long(parts[0])
    rows = (parts[0], *get_args(parts[0])) if get_origin(kind) is tuple else ()
    return any(isinstance(row, type) and issubclass(row, Record) for row in rows)


def _plain(value: Any, kind: Any) -> Any:
    """Return a value of a type as data that msgspec can write."""
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case Record():
            return {key: _plain(getattr(value, key), one) for key, one in kinds(type(value)).items()}
    if get_origin(kind) in (Union, UnionType):
        parts = [part for part in get_args(kind) if part is not NoneType]
        # Of a union, the member whose type the value has decides how it is written.
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
            # msgspec refuses integers of more than 4,300 digits.
            return value if -WIDEST < value < WIDEST else _raw(digits(value))
        case float():
            return value if isfinite(value) else _raw(number_text(value))
    raise TypeError(f"a {type(value).__name__} in a field whose type, {kind}, does not say how it is written")


def _base(kind: Any) -> Any:
    """Return a type without its annotations and type arguments."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_origin(kind) or kind


def _number(value: Fraction | int, how: Written) -> Any:
    found = _raw(number_text(Fraction(value), how.rounding))
    return {"value": found, "exact": exact_text(value)} if how.exact else found


def _text(text: str) -> Any:
    """Return a text, with escapes if it contains control characters that a terminal would obey."""
    return text if OBEYED.search(text) is None else _escaped(text)


def _escaped(data: Any) -> Any:
    """Return JSON without characters that a terminal would obey. msgspec refuses lone surrogates, which stand for stray
    bytes of file names, even when they are escaped; so escapes begin with ESCAPE until the document is complete."""
    text = OBEYED.sub(lambda match: f"{ESCAPE}{ord(match[0]):04x}", json.dumps(data, ensure_ascii=False))
    return _raw(text)


def _raw(text: str) -> Any:
    from msgspec import Raw

    return Raw(text.encode("utf-8"))


# ---- in a notebook ----


def _body(record: Record, whole: bool = False) -> str:
    """Return the HTML of a record without its summary: contained records folded, tuples of records as tables, other
    facts in a table. `whole`: at the top level the other facts are folded and complete, and the tables are open; in
    contained records facts with default values are left out."""
    values = [(key, kind, getattr(record, key)) for key, kind in kinds(type(record)).items()]
    rows = [(key, value) for key, _, value in values if _is_rows(value)]
    facts = [(key, kind, value) for key, kind, value in values if not isinstance(value, Record) and not _is_rows(value)]
    plain_facts = [
        (f"<b>{_heading(key)}</b>: {_summary_first(one)}", one) for key, _, one in values if isinstance(one, Record)
    ]
    parts = [_folded(head, _body(one)) for head, one in plain_facts]
    parts += [_folded(f"{_heading(key)}: {len(value):,}", _rows(value), is_open=whole) for key, value in rows]
    table = _table((key, _cell(one, kind)) for key, kind, one in facts if whole or not _is_left_out(record, key))
    return "".join([*parts, _folded("all facts", table)] if whole else [table, *parts])


def _is_rows(value: Any) -> bool:
    """Return True if a value is a non-empty tuple of records or of words."""
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Record | tuple)


def _rows(value: tuple[Any, ...]) -> str:
    """Return a tuple as HTML: for records of one class a table without columns that have only default values, with
    computed values after the fields; for records of several classes one after the other; for words the first ones."""
    if not isinstance(value[0], Record):
        more = f", ... ({len(value) - MOST_WORDS:,} more)" if len(value) > MOST_WORDS else ""
        return f"<p>{', '.join(_cell(word) for word in value[:MOST_WORDS])}{more}</p>"
    kind: type = type(value[0])
    if any(type(one) is not kind for one in value):
        return "".join(map(_cell, value))
    own, keys = _defaults(kind), kinds(kind)
    expected = [key for key in keys if not all(_is_left_out(one, key) for one in value)]
    columns = {key: keys[key] for key in sorted(expected, key=lambda key: key not in own)}
    head = "".join(f"<th>{_heading(key)}</th>" for key in columns)
    rows = ("".join(f"<td>{_cell(getattr(one, key), kind)}</td>" for key, kind in columns.items()) for one in value)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any, kind: Any = None) -> str:
    """Return a value as HTML in a table cell; a number is short, and its title has the digits of the document."""
    if _is_rows(value):
        return _folded(f"{len(value):,}", _rows(value))
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case str():
            return _shown(value)
        case tuple():
            apart = "; " if any(isinstance(one, str) and " " in one for one in value) else " "
            return apart.join("?" if one is None else _cell(one) for one in value) or EMPTY
        case Record():
            return _folded(_summary_first(value), _body(value))
        case dict():
            return _folded(f"{len(value):,}", f"<pre>{_shown(json.dumps(value))}</pre>")
        case int() if abs(value) < LARGEST_PLAIN:
            return str(value)
    how = _how(kind)
    plain = isinstance(value, Fraction) and value.denominator <= 10**EXACT_DIGITS and abs(value) < LARGEST_PLAIN
    # Shown in full only if no digit is lost.
    if how.exact and plain and rounded(value, EXACT_DIGITS) == value:
        return f"{rounded(value, EXACT_DIGITS):f}"
    title = exact_text(value) if how.exact and not isinstance(value, float) else number_text(value, how.rounding)
    return f'<span title="{escape(title)}">{short(value)}</span>'


def _how(kind: Any) -> Written:
    """Return how a number of a type is written."""
    parts = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return next((_how(part) for part in parts if part is not NoneType), Written())
    return next((mark for mark in parts[1:] if isinstance(mark, Written)), Written())


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of keys and cells as HTML; empty if there are none."""
    found = "".join(f"<tr><th>{_heading(key)}</th><td>{cell}</td></tr>" for key, cell in rows)
    return f"<table>{found}</table>" if found else ""


def _folded(message: str, inside: str, is_open: bool = False) -> str:
    return f"<details{' open' * is_open}><summary>{message}</summary>{inside}</details>"


def _summary_first(record: Record) -> str:
    return _shown(_one_line(record.summary))


def _heading(key: str) -> str:
    return _shown(key.replace("_", " "))


def _shown(text: str) -> str:
    return escape(visible(text))
