"""Expected outputs of a network at the positions where a word is judged, and their comparison with the actual
outputs.

To judge an output is to compare it with the expected one. Every output is known between two ends, floats or
rationals. All decisions follow from comparisons of these ends alone, so they are valid for the number between them:
an output is above a level if its lower end is, the winner of an argmax has its lower end above every other upper end
(a tie decides nothing), a number is right if neither end is further from the expected number than allowed. The margin
of a word is the least distance of a judged output from a wrong answer (negative: it is wrong), in units of the
outputs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isinf
from numbers import Number, Rational, Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, did_you_mean
from hardsim.lang.words import written_word
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Readout, Token
from hardsim.records import rounded, short
from hardsim.run.enclosure import Booleans, floats, nearest_float
from hardsim.targets.result import LONGEST_TOLD, Word

Ends: TypeAlias = NDArray[Any]
"""Ends of enclosures, (words, places, outputs): float64, or objects that are Fractions."""
Judged: TypeAlias = NDArray[np.int8]
"""Codes of expected outputs. Compared with a level: 1 above, 0 not above. Argmax: 1 may win, 0 may not. A number: 1.
In all cases -1 is not judged, or takes no part; 2 is an unknown expected answer; 3, at every output of a place, is an
expected value that no output has, so that every answer there is wrong."""
NOT_JUDGED, NOT_KNOWN, NEVER = -1, 2, 3
MOST_LISTED = 20
"""Largest number of outputs of the network that an error message lists."""
SHOWN_DIGITS = 6
NAN_HINT = "Give None where nothing is judged; in Python unjudged=float('nan') gives NaN that meaning."
MOST_KNOWN = 10_000
"""Largest number of expected values of a place that are cached."""


class Unknown(Enum):
    """The expected answer where there is one, but it is not known."""

    UNKNOWN = "not known"

    def __str__(self) -> str:
        return self.value


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True)
class ExpectedOutputs:
    """The expected outputs of some words of one length, as arrays (words, places, outputs)."""

    judged: Judged
    numbers: NDArray[Any]
    """The expected numbers, as Fractions; 0 where no number is expected."""

    @property
    def unknown(self) -> Booleans:
        """True for each word whose expected answer is not known at some position."""
        found: Booleans = (self.judged == NOT_KNOWN).any(axis=(1, 2))
        return found

    @property
    def never(self) -> Booleans:
        """True for each word with an expected value that no output has."""
        found: Booleans = (self.judged == NEVER).any(axis=(1, 2))
        return found

    @staticmethod
    def of_values(raws: Sequence[Any], place: Callable[[Any], tuple[Judged, Sequence[Fraction]]]) -> ExpectedOutputs:
        """Return the expected outputs at some places, (places, 1, outputs), from their raw values. `place` is asked
        once for each object: most places have the same one, as an oracle gives equal values as one object."""
        different = {id(raw): raw for raw in raws}
        order = {key: number for number, key in enumerate(different)}
        index = np.fromiter(map(order.__getitem__, map(id, raws)), dtype=np.int64, count=len(raws))
        found = [place(raw) for raw in different.values()]
        judged = np.array([one for one, _ in found])
        numbers = np.array([list(one) for _, one in found], dtype=object)
        return ExpectedOutputs(judged[index][:, None], numbers[index][:, None])

    def shaped(self, words: int) -> ExpectedOutputs:
        """Return the same outputs, in order, as those of so many words of one length."""
        shape = words, -1, self.judged.shape[2]
        return ExpectedOutputs(self.judged.reshape(shape), self.numbers.reshape(shape))

    def of(self, words: Sequence[int]) -> ExpectedOutputs:
        """Return the expected outputs of some of the words, given by index."""
        return ExpectedOutputs(self.judged[list(words)], self.numbers[list(words)])


@dataclass(frozen=True)
class Judgement:
    """The judgement of each word, as arrays by word: True if everything that is judged is certainly right, True if
    something is certainly wrong, and lower and upper bounds of the margin."""

    right: Booleans
    wrong: Booleans
    low: NDArray[Any]
    high: NDArray[Any]


@dataclass(frozen=True)
class Rule:
    """The rule that judges the outputs of a network."""

    outputs: tuple[Token, ...]
    readout: Readout

    @cached_property
    def _among(self) -> Booleans:
        """True for each output that takes part in the argmax; all of them if the readout names none."""
        among = self.readout.among
        names = None if among is None else set(map(str, among))  # 1 and True are equal, and two outputs
        return np.array([names is None or str(output) in names for output in self.outputs], dtype=np.bool_)

    @cached_property
    def _known(self) -> dict[Any, tuple[Judged, Sequence[Fraction]]]:
        """A cache of expected outputs by their raw value: most places of most words have the same."""
        return {}

    @cached_property
    def _sets(self) -> dict[frozenset[str], tuple[Judged, Sequence[Fraction]]]:
        """A cache for sets of texts, which need no other key: an oracle returns equal sets again and again, and a set
        computes its hash once."""
        return {}

    # ---- expected outputs ----

    def place(self, raw: Any) -> tuple[Judged, Sequence[Fraction]]:
        """Return what is expected of each output at a position: the codes (see `Judged`) and the numbers, in the order
        of the outputs.

        Args:
            raw: a truth, a token, a set of tokens, a number, or a mapping from outputs to truths or numbers; None
                where nothing is judged. A token that no output has is a value that the network never gives: NEVER.

        Raises InputError if the raw value has a type that cannot be expected there."""
        if type(raw) is not frozenset:
            return self._remembered(raw)
        found = self._sets.get(raw)
        if found is None:
            found = self._remembered(raw)
            if len(self._sets) < MOST_KNOWN and all(type(one) is str for one in raw):
                self._sets[raw] = found
        return found

    def _remembered(self, raw: Any) -> tuple[Judged, Sequence[Fraction]]:
        # 1, 1.0 and True are equal keys, so the types are part of the key.
        key: Any = (type(raw), frozenset((type(one), one) for one in raw) if isinstance(raw, Set) else raw)
        try:
            return self._known[key]
        except KeyError:
            found = self._place(raw)
            if len(self._known) < MOST_KNOWN:
                self._known[key] = found
            return found
        except Exception:  # a mapping is no key, and the hash of a caller's class may fail in any way
            return self._place(raw)

    def _place(self, raw: Any) -> tuple[Judged, Sequence[Fraction]]:
        count = len(self.outputs)
        judged, numbers = np.full(count, NOT_JUDGED, dtype=np.int8), [Fraction(0)] * count
        if raw is None:
            return judged, numbers
        if raw is UNKNOWN:
            judged[:] = NOT_KNOWN
            return judged, numbers
        if self.never(raw):
            judged[:] = NEVER
            return judged, numbers
        if self.readout.decide == "argmax":
            judged[self._among] = 0
            judged[[index for index in map(self._found, self._winners(raw)) if index is not None]] = 1
            return judged, numbers
        for index, value in self._each(raw):
            if value is None:
                continue
            judged[index] = 1
            if self.readout.decide == "value":
                numbers[index] = _number(value)
            else:
                judged[index] = _truth(value)
        return judged, numbers

    def never(self, raw: Any) -> tuple[Any, ...]:
        """Return the expected values that no output has, if they make every answer at a position wrong; else none.

        A set under argmax is judged by those of its members that can win. A set of the outputs that are above a level
        is exact, so that one unknown member is enough. Raises InputError if the raw value has a type that cannot be
        expected there."""
        if self.readout.decide == "argmax":
            winners = self._winners(raw)
            return winners if all(self._found(token) is None for token in winners) else ()
        if self.readout.decide == "above" and isinstance(raw, Set):
            return tuple(token for token in map(_scalar, raw) if self._found(token) is None)
        return ()

    def possible(self) -> tuple[str, ...]:
        """Return the names of the outputs that the network can give at a position."""
        among = self._among if self.readout.decide == "argmax" else [True] * len(self.outputs)
        return tuple(str(output) for output, part in zip(self.outputs, among, strict=True) if part)

    def _winners(self, raw: Any) -> tuple[Any, ...]:
        """Return the tokens that may win an argmax; none where nothing is judged or the expected answer is not
        known."""
        if raw is None or raw is UNKNOWN:
            return ()
        found = tuple(map(_scalar, raw)) if isinstance(raw, Set) else (_scalar(raw),)
        if not found:
            raise InputError("no output may win", "Name one token or more, or None where nothing is judged.")
        return found

    def _each(self, raw: Any) -> list[tuple[int, Any]]:
        """Return the outputs that are judged, as pairs of an output's index and its expected value."""
        if isinstance(raw, Mapping):
            return [(self._output(token), value) for token, value in raw.items()]
        if isinstance(raw, Set) and self.readout.decide == "above":
            chosen = {self._output(token) for token in raw}
            return [(index, index in chosen) for index in range(len(self.outputs))]
        if len(self.outputs) == 1:
            return [(0, raw)]
        kind = "number" if self.readout.decide == "value" else "truth"
        message = f"the network has {len(self.outputs)} outputs, and {described(raw)} does not say for which"
        hint = f"Give a mapping from an output to a {kind}" + " or the set of the outputs that are above" * (
            kind == "truth"
        )
        raise InputError(message, f"{hint}; or decide by argmax.")

    def _output(self, token: Any) -> int:
        """Return the index of a named output. Raises InputError if there is none."""
        index = self._found(_scalar(token))
        if index is None:
            names = [str(output) for output in self.outputs]
            near = did_you_mean(str(token), names)
            message = f"{described(token)} is no output of the network{near and f'; {near}'}"
            raise InputError(message, f"It has: {' '.join(names[:MOST_LISTED])}")
        return index

    def _found(self, token: Any) -> int | None:
        """Return the index of the output that a value names: by type and value, else by value, else by its text.
        Return None if no output has the value, or if that output takes no part in the argmax."""
        same = [i for i, output in enumerate(self.outputs) if type(token) is type(output) and token == output]
        equal = same or [i for i, output in enumerate(self.outputs) if _equal(token, output)]
        text = value_text(token)
        named = equal or [i for i, output in enumerate(self.outputs) if str(output) == text]
        part = self.readout.decide != "argmax" or (bool(named) and bool(self._among[named[0]]))
        return named[0] if named and part else None

    # ---- outputs of the network ----

    def compare(self, low: Ends, high: Ends, expected: ExpectedOutputs) -> Judgement:
        """Compare enclosures (lower and upper ends) of the outputs with the expected outputs. The margin of a word is
        the least of its places, and -inf where an expected value is one that no output has."""
        exact = low.dtype == object
        if self.readout.decide == "argmax":
            found = _argmax(low, high, expected.judged, exact)
        else:
            by = _value if self.readout.decide == "value" else _above
            found = by(low, high, expected, self.readout.level, exact)
        right, wrong, least, most = (part.reshape(len(low), -1) for part in found)
        never = expected.never  # these are wrong whatever the outputs are, and have no margin
        return Judgement(
            right.all(axis=1) & ~expected.unknown & ~never,
            wrong.any(axis=1) | never,
            np.where(never, -inf, least.min(axis=1)),
            np.where(never, -inf, most.min(axis=1)),
        )

    def certain_answer(self, low: Sequence[Any], high: Sequence[Any]) -> Any:
        """Return the answer that the outputs at one place certainly give: True or False if there is one output (above
        the level or not), else the names of the outputs above it, or the winner. Return None if it is uncertain, or
        if outputs are numbers."""
        names, level = [str(output) for output in self.outputs], self.readout.level
        if self.readout.decide == "argmax":
            rivals = [index for index, part in enumerate(self._among) if part]
            best = max(rivals, key=lambda index: low[index])
            return names[best] if all(low[best] > high[other] for other in rivals if other != best) else None
        if self.readout.decide == "value" or not all(a > level or b <= level for a, b in zip(low, high, strict=True)):
            return None
        above = [name for name, end in zip(names, low, strict=True) if end > level]
        return bool(above) if len(names) == 1 else frozenset(above)

    def answer(self, low: Sequence[Any], high: Sequence[Any]) -> str | None:
        """Return the answer that the outputs at one place certainly give, as text; None if it is uncertain. Numbers are
        given as the middles of their enclosures."""
        names = [str(output) for output in self.outputs]
        if self.readout.decide == "value":
            shown = [_middle(*ends, self.readout.level) for ends in zip(low, high, strict=True)]
            several = [f"{name}={text}" for name, text in zip(names, shown, strict=True)]
            return shown[0] if len(shown) == 1 else f"{{{' '.join(several)}}}"
        said = self.certain_answer(low, high)
        if isinstance(said, frozenset):
            return f"{{{' '.join(name for name in names if name in said)}}}"
        return None if said is None else str(said)

    def text_of(self, raw: Any) -> str | None:
        """Return the expected answer at one place as text, with outputs in their order and numbers as `answer` writes
        them; None where nothing is expected."""
        if isinstance(raw, Mapping):
            return f"{{{' '.join(f'{key}={self.text_of(value)}' for key, value in raw.items())}}}"
        if isinstance(raw, Set):
            places = {str(output): place for place, output in enumerate(self.outputs)}
            return f"{{{' '.join(sorted(map(str, raw), key=lambda name: (places.get(name, len(places)), name)))}}}"
        if isinstance(raw, float | Fraction) and -inf < raw < inf:
            return _middle(raw, raw, self.readout.level if self.readout.decide == "value" else None)
        return None if raw is None else str(raw)


def by_position(raw: Any) -> TypeGuard[Sequence[Any]]:
    """Return True if the expected answer is a list by position: a list, a tuple, or an array with an axis."""
    return isinstance(raw, (list, tuple)) or (isinstance(raw, np.ndarray) and raw.ndim > 0)


def ended(raw: Any) -> Any:
    """Return the expected output at the end of a word: the last entry of a list by position, or the single value
    itself."""
    return raw[-1] if by_position(raw) else raw


def unjudged(raw: Any) -> bool:
    """Return True if a word has no expected answer: None, or a list by position of nothing but None."""
    return raw is None or (by_position(raw) and len(raw) > 0 and raw[-1] is None and all(one is None for one in raw))


def require_positions(raw: Sequence[Any], word: Word, shortest: int = 1) -> None:
    """Raise InputError unless a list by position has an entry for each symbol, and one before them where the empty
    word is judged too (`shortest` is 0)."""
    if len(raw) != len(word) + 1 - shortest:
        message = (
            f"for the word {written_word(word, word)} of {len(word)} symbols the reference gives a list of {len(raw)}"
        )
        raise InputError(message, "A list by position has an entry for each symbol, None where nothing is judged.")


# ---- comparisons, by what is decided: right and wrong, and bounds of the margin ----


def _above(low: Ends, high: Ends, expected: ExpectedOutputs, level: Fraction, exact: bool) -> tuple[Any, Any, Any, Any]:
    """Compare outputs with a level. Return right, wrong, and lower and upper bounds of the margin, as arrays (words,
    places, outputs). An output that is not judged is right, with the margin inf."""
    # A float level is enclosed between two floats, since it need not be one.
    least, most = (level, level) if exact else _ends_of([level])
    over, under = expected.judged == 1, expected.judged == 0
    above, below = low > most, high <= least
    right = np.where(over, above, np.where(under, below, True)).astype(np.bool_)
    wrong = np.where(over, below, under & above).astype(np.bool_)
    small = np.where(over, _down(low - most, exact), np.where(under, _down(least - high, exact), inf))
    large = np.where(over, _up(high - least, exact), np.where(under, _up(most - low, exact), inf))
    return right, wrong, small, large


def _argmax(low: Ends, high: Ends, judged: Judged, exact: bool) -> tuple[Any, Any, Any, Any]:
    """Compare the outputs that may win with those that may not. Return right, wrong, and lower and upper bounds of the
    margin, as arrays (words, places). A place where nothing is judged is right, with the margin inf."""
    may, others = judged == 1, judged == 0
    requested = may.any(axis=2) & others.any(axis=2)

    def largest(ends: Ends, among: Booleans) -> Any:
        found: Any = np.where(among, ends, -inf).max(axis=2)
        # Where nothing is asked the number has no part, and a large Fraction less -inf would overflow.
        zero: Any = Fraction(0)
        return np.where(requested, found, zero) if exact else found

    low_may, high_may, low_other, high_other = (
        largest(low, may), largest(high, may), largest(low, others), largest(high, others)
    )  # fmt: skip
    right, wrong = ~requested | (low_may > high_other), requested & (low_other > high_may)
    with np.errstate(invalid="ignore"):
        small = np.where(requested, _down(low_may - high_other, exact), inf)
        large = np.where(requested, _up(high_may - low_other, exact), inf)
    return right.astype(np.bool_), wrong.astype(np.bool_), small, large


def _value(
    low: Ends, high: Ends, expected: ExpectedOutputs, within: Fraction, exact: bool
) -> tuple[Any, Any, Any, Any]:
    """Compare outputs with expected numbers, from which they may differ by `within` at most. Return right, wrong, and
    lower and upper bounds of the margin, as arrays (words, places, outputs). An output that is not judged is right,
    with the margin inf."""
    requested, shape = expected.judged == 1, expected.numbers.shape
    least, most = expected.numbers, expected.numbers
    small_bound, large_bound = within, within
    if not exact:
        least, most = (ends.reshape(shape) for ends in _ends_of(expected.numbers.ravel().tolist()))
        small_bound, large_bound = (ends[0] for ends in _ends_of([within]))
    far = np.maximum(_up(high - least, exact), _up(most - low, exact))
    zero: Any = Fraction(0) if exact else 0.0
    near = np.maximum(np.maximum(_down(low - most, exact), _down(least - high, exact)), zero)
    right, wrong = ~requested | (far <= small_bound), requested & (near > large_bound)
    small = np.where(requested, _down(small_bound - far, exact), inf)
    large = np.where(requested, _up(large_bound - near, exact), inf)
    return right.astype(np.bool_), wrong.astype(np.bool_), small, large


def _ends_of(values: Sequence[Fraction]) -> tuple[Any, Any]:
    """Return two arrays of floats near some rationals: one below or equal to each, and one above or equal to each."""
    near, off = floats(values)
    same = off == 0
    return np.where(same, near, _down(near - off, False)), np.where(same, near, _up(near + off, False))


def _down(value: Any, exact: bool) -> Any:
    return value if exact else np.nextafter(value, -np.inf)


def _up(value: Any, exact: bool) -> Any:
    return value if exact else np.nextafter(value, np.inf)


# ---- single values ----


def _equal(token: Any, output: Token) -> bool:
    """Return True if two values are equal in Python; the comparison of a caller's type may return any object."""
    found = token == output
    return isinstance(found, bool | np.bool_) and bool(found)


def value_text(value: Any) -> str:
    """Return a value as outputs are named. Any number that is an integer, except a truth, is written as an integer."""
    if not isinstance(value, bool | str):
        with suppress(OverflowError, TypeError, ValueError):  # an infinity, a complex number
            whole = int(value)
            return str(whole if whole == value else value)
    return str(value)


def _scalar(value: Any) -> Any:
    """Convert a token to a plain value. Raises InputError if it is no text and no number, or is not a number (NaN):
    these are no values of outputs."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | Number):
        message = f"a value of type {type(value).__name__} is no output: {described(value)}"
        raise InputError(message, "Give a token, a set of tokens or None; or a list of these, one for each symbol.")
    if is_nan(value):
        raise InputError("NaN is no output", NAN_HINT)
    return value


def is_nan(value: Any) -> bool:
    """Return whether a number is NaN: only NaN differs from itself; comparing a signalling NaN raises an error."""
    try:
        return bool(value != value)
    except Exception:  # of the decimal module, or of the caller's class
        return True


def _truth(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(
            f"a truth is expected of an output with a level, not {described(value)}", "Give True or False."
        )
    return bool(value)


def _number(value: Any) -> Fraction:
    plain = value.item() if isinstance(value, np.generic) else value
    with suppress(Exception):  # OverflowError of what is beyond float64, or whatever the caller's class raises
        if isinstance(plain, Real | Decimal) and isfinite(plain):
            return Fraction(plain) if isinstance(plain, Rational | Decimal) else Fraction(float(plain))
    hint = (
        NAN_HINT
        if isinstance(plain, Real) and is_nan(plain)
        else "Give a finite number within the range of float64, or None."
    )
    raise InputError(f"a number is expected, not {described(value)}", hint)


def described(value: Any) -> str:
    """Return an expected value for a message: its repr, cut after LONGEST_TOLD characters."""
    try:
        text = repr(value)
    except Exception:  # of the caller's class, or an integer of more digits than Python writes
        return "it cannot be printed"
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}..."


def _middle(low: Any, high: Any, within: Fraction | None = None) -> str:
    """Format the middle of two ends with enough digits that a number further than `within` from it reads differently,
    or with six digits without `within`. Return "?" if an end is infinite."""
    if not (low > -inf and high < inf):
        return "?"
    value = nearest_float((Fraction(low) + Fraction(high)) / 2)
    if isinf(value):
        return short((Fraction(low) + Fraction(high)) / 2)
    if within is None:
        return f"{value:.{SHOWN_DIGITS}g}"
    digits = _decimals(Fraction(value)) - _decimals(within) + 3 if value and within else SHOWN_DIGITS if within else inf
    return (
        repr(value).removesuffix(".0") if digits > sys.float_info.dig else f"{value:.{max(SHOWN_DIGITS, int(digits))}g}"
    )


def _decimals(value: Fraction) -> int:
    """Return the power of ten of a number's first decimal digit: 0 for 2.5, -1 for 0.25."""
    return rounded(value, 1).adjusted()
