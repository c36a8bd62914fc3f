"""Numbers and words as text: short for tables, lossless or with 20 significant digits for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from hardsim.checking.result import Answer
from hardsim.checking.result import count as count
from hardsim.checking.result import plural as plural

SHORT_DIGITS = 3
LONG_DIGITS = 20
KEPT_BITS = 4096
"""Leading bits of a numerator and a denominator that decide what is shown."""
NOTHING = "–"
"""What a table shows where there is no number."""


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


def short(value: Fraction | float | None) -> str:
    """A number for a table: three significant digits, `–` for none."""
    if not value:
        return NOTHING if value is None else "0"
    number = rounded(Fraction(value), SHORT_DIGITS)
    if -4 <= number.adjusted() <= 4:
        return f"{number:f}"
    return f"{number:e}".replace("e+", "e")


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


def word_text(word: Sequence[str], alphabet: Sequence[str]) -> str:
    """A word as users write it: symbols side by side, or separated by spaces if a symbol of the alphabet is longer."""
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word)


def answer_text(answer: Answer, alphabet: Sequence[str]) -> str:
    """An answer for a table: accept or reject, or the output word; `undecided`, or `?` in a word, is what is left
    undecided."""
    if isinstance(answer, tuple):
        return word_text(["?" if symbol is None else symbol for symbol in answer], alphabet) or "(empty)"
    return "undecided" if answer is None else "accept" if answer else "reject"


def tried_text(words: int, possible: int, exhaustive: bool) -> str:
    """How many words of a length were tried; `all` where it is every one."""
    return f"all {count(words)}" if exhaustive else f"{count(words)} of {count(possible)}"
