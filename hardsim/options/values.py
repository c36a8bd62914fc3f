"""The values of options: how text of the command line becomes a value, and how a Python value becomes such a text, so
that both are refused alike and before anything runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, isnan, log2
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any

from hardsim.errors import InputError, nearest
from hardsim.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from hardsim.compiling.from_ltl.rounded import RoundedMeans

LARGEST_LENGTH = 100_000
LARGEST_COUNT = 10**9
LARGEST_SAMPLE = 10**6
"""Largest number of random words of a length. They are kept in memory, so that none is drawn twice."""
LARGEST_DIGITS = 100_000
"""Largest number of decimal digits. With more digits, a single exponential takes seconds."""
LARGEST_BETA = 1_000_000
"""Largest beta. Errors shrink like exp(-beta/2), so beyond this they have more digits than can be computed with."""
MOST_PLACES = 256
"""Largest number of binary places that values are rounded to. It is that of float64's exponents, and more, and keeps
integers small."""
LARGEST_WORKERS = 256
LONGEST_NUMBER = 1000
MOST_BITS = int(LONGEST_NUMBER * log2(10))
"""Largest number of characters of a number that a user gives, and of bits of an integer with that many characters."""

_RATIONAL = re.compile("[0-9]+([.][0-9]+|/0*[1-9][0-9]*)?")
_SCIENTIFIC = re.compile("[0-9]+([.][0-9]+)?[eE]-?[0-9]{1,3}")
_BROKEN = re.compile("(?<![0-9./'])[0-9]+[./][0-9]+")
"""A pattern of decimals and fractions that Python would evaluate to a float; in a hint they are quoted."""
NUMBER = "a number, or text such as '7/2'"
"""The description of a Python value for a rational option."""


@dataclass(frozen=True)
class ValueKind:
    """A kind of values: the function that writes a Python value as it is typed on the command line, whose TypeError
    says what is expected; the parser of that text (None: the text is the value), whose InputError says what is wrong;
    and the type of the Python values, as a signature writes it (empty: the type of the option)."""

    text_of: Callable[[object], Any]
    parse: Callable[[str], Any] | None = None
    python: str = ""

    def of_python(self, name: str, value: object) -> Any:
        """Convert a Python value into the value of the option `name`. Raises TypeError if the value has a type that the
        option does not accept; InputError if the option cannot have this value."""
        try:
            text = self.text_of(value)
            return text if self.parse is None else self.parse(text)
        except TypeError as error:
            raise TypeError(f"{name} must be {error}") from None
        except InputError as error:
            hint = _BROKEN.sub(r"'\g<0>'", error.hint) if self.python == "Number" else error.hint
            raise InputError(f"{name}: {error.message}", hint) from None


# ---- texts of options ----


def parse_beta(text: str) -> Fraction:
    """Return a positive rational, at most LARGEST_BETA, such as 4, 7/2 or 3.9. Raise InputError for any other text."""
    if len(text) > LONGEST_NUMBER:
        raise InputError(f"a number of more than {LONGEST_NUMBER} characters", "Write a shorter one.")
    if re.fullmatch("[0-9]+/0+", text):
        wrong = f"{text!r} divides by zero"
    elif not (_RATIONAL.fullmatch(text) or _SCIENTIFIC.fullmatch(text)):
        wrong = f"{text!r} is not a positive rational number"
    elif not 0 < Fraction(text) <= LARGEST_BETA:
        wrong = f"beta must be positive and at most {LARGEST_BETA}, not {text}"
    else:
        return Fraction(text)
    raise InputError(wrong, "Write a positive number such as 4, 7/2 or 3.9.")


def parse_rounding(text: str) -> RoundedMeans:
    """Return the rounding that a text such as floor:8 names. Raise InputError for any other text."""
    from hardsim.compiling.from_ltl.rounded import RoundedMeans
    from hardsim.network.rounding import Rounding, RoundingMode

    mode, _, bits = text.partition(":")
    biased = mode == "biased"
    if mode not in (*RoundingMode, "biased") or not (bits.isascii() and bits.isdigit()):
        raise InputError(f"{text[:40]!r} is no rounding", "Write floor:P, nearest:P or biased:P, such as floor:8.")
    if len(bits) > 4 or int(bits) > MOST_PLACES:
        raise InputError(f"{text[:40]!r} has more than {MOST_PLACES} binary places", f"Write at most {MOST_PLACES}.")
    return RoundedMeans(Rounding(RoundingMode.NEAREST if biased else RoundingMode(mode), int(bits)), biased)


def parse_epsilon(text: str) -> Fraction:
    """Return a rational between 0 and 1, both excluded, such as 1/4 or 1e-5. Raise InputError for any other text."""
    readable = len(text) <= LONGEST_NUMBER and (_RATIONAL.fullmatch(text) or _SCIENTIFIC.fullmatch(text))
    value = Fraction(text) if readable else Fraction(0)
    if not 0 < value < 1:
        raise InputError(
            f"{text[:40]!r} is no error between 0 and 1", "Write a number between 0 and 1 such as 1/4 or 0.01."
        )
    return value


def one_of(names: Sequence[str], python: str = "", synonyms: Mapping[str, str] | None = None) -> ValueKind:
    """Return the kind of some names, whose Python type is called `python`. Its InputError lists them, and hints at the
    one that another word means; `synonyms` has such words in lower case."""

    def parse(text: str) -> str:
        if text not in names:
            near = (synonyms or {}).get(text.casefold()) or nearest(text, names)
            message = f"{text!r} is not one of {', '.join(map(repr, names))}"
            raise InputError(message, f"Did you mean {near}?" if near else "Write one of them.")
        return text

    return ValueKind(_text, parse, python)


def integer(low: int | None, high: int | None) -> ValueKind:
    """Return the kind of integers from `low` to `high`, both included (None: no limit). Its InputError names the
    range in one sentence."""

    def parse(text: str) -> int:
        # The length is tested before int(), which refuses or takes long for very many digits.
        if not re.fullmatch(r"[+-]?[0-9]+", text) or len(text) > LONGEST_NUMBER:
            shown = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
            raise InputError(f"{shown!r} is not an integer that can be used here", expected)
        value = int(text)
        if (low is not None and value < low) or (high is not None and value > high):
            shown = text if len(text) <= 40 else f"a number of {len(text)} digits"
            raise InputError(f"{shown} is out of range", expected)
        return value

    expected = "Write any integer." if low is None else f"Write an integer from {low} to {high}."
    return ValueKind(_integer, parse)


# ---- values of Python ----


def plain_text(text: str) -> str:
    """Return text as a plain str: a subclass of the caller's may define its own comparison and printing."""
    return str.__str__(text)


def _typed(value: object, kind: type, expected: str) -> Any:
    if not isinstance(value, kind):
        raise _other(expected, value)
    return plain_text(value) if isinstance(value, str) else value


def _other(expected: str, value: object) -> TypeError:
    kind = type(value).__name__
    try:
        shown = repr(value)
    except Exception:  # of an integer with many digits, or of the caller's own making
        return TypeError(f"{expected}, not a value of type {kind}")
    return TypeError(f"{expected}, not {shown if len(shown) <= 40 else shown[:37] + '...'} ({kind})")


def _integer(value: object) -> str:
    # bool is a subclass of int, but True is no count.
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _other("an integer", value)
    return str(_short(int(value)))


def _short(value: int) -> int:
    """Return an integer unchanged. Raise InputError if it has more than LONGEST_NUMBER characters."""
    if value.bit_length() > MOST_BITS:
        raise InputError(f"a number of more than {LONGEST_NUMBER} characters", "Write a shorter one.")
    return value


def _rational(value: object) -> str:
    """Return a number as it would be typed on the command line."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise _other(NUMBER, value)
    if isinstance(value, Rational):
        return _written(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        # Fraction(value) would build 10**exponent, which may not fit into memory.
        if not -LONGEST_NUMBER < value.adjusted() < LONGEST_NUMBER:
            raise InputError(f"{value:.9g} has more than {LONGEST_NUMBER} digits", "Write a shorter number.")
        return _written(Fraction(value))
    return _of_real(value)


def _written(value: Rational) -> str:
    return str(Fraction(_short(int(value.numerator)), _short(int(value.denominator))))


def _of_real(value: Any) -> str:
    """Return a binary number of any precision as a rational. Raise InputError unless its printed decimals are its
    exact value."""
    try:
        near = float(value)
        same = bool(value == near)
        if not isfinite(near) and (same or isnan(near)):
            return repr(near)
        if not same and near in (0, inf, -inf):  # far too small or large, and perhaps for the memory too
            raise OverflowError
        text = repr(near) if same else str(value)
        above, below = _ratio(near if same else value)
        exact, applies = Fraction(_short(int(above)), _short(int(below))), Fraction(text)
    except (ArithmeticError, AttributeError, TypeError, ValueError):  # an interval, say
        raise _other(NUMBER, value) from None
    if exact != applies:
        raise InputError(f"the {type(value).__name__} {text} is not exactly {text}", f"Write '{applies}', which is.")
    return str(exact)


def _ratio(value: Any) -> tuple[Any, Any]:
    """Return the numerator and the denominator of a binary number. Raises AttributeError if it is none."""
    if hasattr(value, "as_integer_ratio"):
        ratio: tuple[Any, Any] = value.as_integer_ratio()
        return ratio
    from mpmath.libmp import to_rational  # its numbers before version 1.4 have no such method

    found: tuple[Any, Any] = to_rational(value._mpf_)
    return found


def _path(value: object) -> Any:
    return _typed(os.fspath(value) if isinstance(value, os.PathLike) else value, str, "a path")


def _text(value: object) -> Any:
    return _typed(value, str, "text")


def _flag(value: object) -> Any:
    return _typed(value, bool, "True or False")


TEXT, PATH, FLAG = ValueKind(_text), ValueKind(_path, python="str | os.PathLike[str]"), ValueKind(_flag)
LENGTH, COUNT, SAMPLE = (integer(*ends) for ends in ((1, LARGEST_LENGTH), (0, LARGEST_COUNT), (0, LARGEST_SAMPLE)))
DRAWS = integer(1, LARGEST_SAMPLE)
PORT = integer(0, 65_535)
SEED, DIGITS, WORKERS = integer(None, None), integer(1, LARGEST_DIGITS), integer(1, LARGEST_WORKERS)
BETA, EPSILON, TAU = (ValueKind(_rational, parse, "Number") for parse in (parse_beta, parse_epsilon, None))
ROUNDING = ValueKind(_text, parse_rounding, "str")
AT, METHOD = ValueKind(_text, python="At"), ValueKind(_text, python="Method")
