"""Numbers and words as text: short for tables, lossless or with 20 significant digits for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

SHORT_DIGITS = 3
LONG_DIGITS = 20
KEPT_BITS = 4096
"""Leading bits of a numerator and a denominator that decide what is shown."""
NOTHING = "–"
"""What a table shows where there is no number."""

LARGEST_SHOWN = 10**9
"""Counts from here on are shown as a power of ten."""


def rounded(value: Fraction, digits: int) -> Decimal:
    """The value to that many significant decimal digits (half to even), of whatever size it is."""
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)
    numerator, denominator = value.numerator, value.denominator
    up, down = (max(0, number.bit_length() - KEPT_BITS) for number in (numerator, denominator))
    if not up and not down:
        return context.divide(Decimal(numerator), Decimal(denominator)).normalize(context)
    # Decimal arithmetic on millions of digits takes minutes: divide the leading bits, then scale by the power of two.
    wide = Context(prec=digits + 40, Emin=MIN_EMIN, Emax=MAX_EMAX)
    leading = wide.divide(Decimal(numerator >> up), Decimal(denominator >> down))
    return context.plus(wide.multiply(leading, wide.power(Decimal(2), up - down))).normalize(context)


def short(value: Fraction | None) -> str:
    """A number for a table: three significant digits, `–` for none."""
    if value is None:
        return NOTHING
    number = rounded(value, SHORT_DIGITS)
    if not value:
        return "0"
    if -4 <= number.adjusted() <= 4:
        return f"{number:f}"
    sign, figures, _ = number.as_tuple()
    text = "".join(map(str, figures))
    mantissa = text[0] + ("." + text[1:] if text[1:] else "")
    return f"{'-' if sign else ''}{mantissa}e{number.adjusted()}"


def output_text(value: Fraction) -> str:
    """A network's output; one that is close to 0 or 1 but not exactly there never looks as if it were."""
    if value != 1 and abs(1 - value) < Fraction(1, 1000):
        return f"1 {'-' if value < 1 else '+'} {short(abs(1 - value))}"
    return short(value)


def decimal(value: Fraction | None) -> str | None:
    """A measured number for JSON: a decimal string with at most 20 significant digits; None stays None."""
    if value is None:
        return None
    return f"{rounded(value, LONG_DIGITS)}" if value else "0"


def rational(value: Fraction | int | None) -> str | None:
    """An exact number for JSON: `p/q` in lowest terms, or `p`; None stays None."""
    return None if value is None else str(Fraction(value))


def digits(value: int) -> str:
    """All digits of a count, however many (`str` stops at 4300)."""
    return f"{Decimal(value):f}"


def count(value: int) -> str:
    """A count with thousands separators; beyond a thousand million as a power of ten, rounded down."""
    if abs(value) < LARGEST_SHOWN:
        return f"{value:,}"
    return f"about 10^{Decimal(value).adjusted()}"


def plural(value: int, noun: str, nouns: str = "") -> str:
    """`1 word`, `2 words`."""
    return f"{count(value)} {noun if value == 1 else nouns or noun + 's'}"


def word_text(word: Sequence[str], alphabet: Sequence[str]) -> str:
    """A word as users write it: symbols side by side, or separated by spaces if a symbol of the alphabet is longer."""
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word)


def yes(accepted: bool | None) -> str:
    """An answer as a word for a table; None is an output between 0 and 1."""
    return "undecided" if accepted is None else "accept" if accepted else "reject"
