"""What can be asked, on the command line and in Python: the options, what they are by default, and what they may be.

A `Request` holds what is asked of one command or method. What is typed goes through `PARSERS`, and a value of Python
through `of_python`, which ends in the same parsers, so that both are refused alike and before anything runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, isnan, log2
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from hardsim.checking.result import ENGINES
from hardsim.errors import InputError, did_you_mean, nearest
from hardsim.lang.arith import parse_arith
from hardsim.program.regimes import PROVEN, REGIMES

if TYPE_CHECKING:
    from hardsim.checking.open import Input
    from hardsim.checking.subject import ModelOptions

ALL = "all"
LARGEST_LENGTH = 100_000
LARGEST_COUNT = 10**9
LARGEST_SAMPLE = 10**6
"""Random words of a length are held in memory, so that none is drawn twice."""
LARGEST_DIGITS = 100_000
"""With more of them a single exponential takes seconds."""
LARGEST_BETA = 1_000_000
"""Errors shrink like exp(-beta/2), so that beyond it they have more digits than can be worked with."""
LARGEST_WORKERS = 256
LONGEST_NUMBER = 1000
MOST_BITS = int(LONGEST_NUMBER * log2(10))
"""Characters of a number that is asked for, and the bits of an integer that has no more."""

MODEL = "regime beta tau at single_head counting"
TRIED = "max_n exhaustive samples seed"
DECIDING = f"{TRIED} engine dps {MODEL} epsilon against dialect"
"""The options of a model, those of the words that are tried, and all that decide what a check finds: one can be gone on
from with the same ones alone."""

COMPILED = "regime beta tau single_head counting epsilon"
"""The options of what is compiled, which have no meaning for a network that others made."""

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON, "junit", "github", "sarif")
"""What standard output may be: tables, the JSON document, or what other programs read."""

Judge: TypeAlias = Literal["oracle", "hard", "soft"]
"""Whose answer counts."""

_RATIONAL = re.compile("[0-9]+([.][0-9]+|/0*[1-9][0-9]*)?")
_BROKEN = re.compile("(?<![0-9./'])[0-9]+[./][0-9]+")
"""Of these Python makes a float, unless they are quoted."""
NUMBER = "a number, or text such as '7/2'"
"""What a value of Python is, where it is to be a rational."""


# ---- what is typed ----


def parse_beta(text: str) -> Fraction:
    """A positive rational such as 4, 7/2 or 3.9; InputError for anything else."""
    if len(text) > LONGEST_NUMBER:
        raise InputError(f"a number of more than {LONGEST_NUMBER} characters", "Write a shorter one.")
    if re.fullmatch("[0-9]+/0+", text):
        wrong = f"{text!r} divides by zero"
    elif not _RATIONAL.fullmatch(text):
        wrong = f"{text!r} is not a positive rational number"
    elif not 0 < Fraction(text) <= LARGEST_BETA:
        wrong = f"beta must be positive and at most {LARGEST_BETA}, not {text}"
    else:
        return Fraction(text)
    raise InputError(wrong, "Write a positive number such as 4, 7/2 or 3.9.")


def parse_epsilon(text: str) -> Fraction:
    """A rational between 0 and 1, such as 1/4; InputError for anything else."""
    value = Fraction(text) if len(text) <= LONGEST_NUMBER and _RATIONAL.fullmatch(text) else Fraction(0)
    if not 0 < value < 1:
        raise InputError(f"{text[:40]!r} is no such error", "Write a number between 0 and 1 such as 1/4 or 0.01.")
    return value


def parse_by(text: str) -> Judge:
    """Whose answer counts; InputError for anybody else."""
    judges = get_args(Judge)
    if text not in judges:
        near = nearest(text, judges)
        told = f"{text!r} is not one of {', '.join(map(repr, judges))}"
        raise InputError(told, f"Did you mean {near}?" if near else "Write one of them.")
    return cast(Judge, text)


def parse_format(text: str) -> str:
    """What is on standard output; InputError for what cannot be."""
    if text not in FORMATS:
        raise InputError(f"{text!r} is not one of {', '.join(map(repr, FORMATS))}", "Write one of them.")
    return text


def integer(low: int | None, high: int | None) -> Callable[[str | int], int]:
    """A parser of integers in a range that says what it wants in one sentence."""

    def parse(given: str | int) -> int:
        text = str(given)  # typer parses defaults too
        if not re.fullmatch(r"[+-]?[0-9]+", text) or len(text) > LONGEST_NUMBER:
            shown = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
            raise InputError(f"{shown!r} is not an integer that can be used here", wanted)
        value = int(text)
        if (low is not None and value < low) or (high is not None and value > high):
            shown = text if len(text) <= 40 else f"a number of {len(text)} digits"
            raise InputError(f"{shown} is out of range", wanted)
        return value

    wanted = "Write any integer." if low is None else f"Write an integer from {low} to {high}."
    return parse


LENGTH, COUNT = integer(1, LARGEST_LENGTH), integer(0, LARGEST_COUNT)
RATIONALS: dict[str, Callable[[str], Fraction]] = {"beta": parse_beta, "epsilon": parse_epsilon}
INTEGERS: dict[str, Callable[[str | int], int]] = {
    "dps": integer(1, LARGEST_DIGITS),
    "max_n": LENGTH,
    "min_n": LENGTH,
    "length": LENGTH,
    "exhaustive": COUNT,
    "budget": COUNT,
    "search": COUNT,
    "samples": integer(0, LARGEST_SAMPLE),
    "seed": integer(None, None),
    "workers": integer(1, LARGEST_WORKERS),
}
PARSERS: dict[str, Callable[[str], object]] = {**RATIONALS, **INTEGERS, "by": parse_by, "format": parse_format}
"""By field; what is not here is text, or a flag."""


# ---- what is asked ----


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for; a command takes some of the options, and the others have their defaults.

    `written` are the fields that were given on the command line.
    """

    files: list[str] | None = None
    file: str | None = None
    words: list[str] | None = None
    name: str | None = None
    certificates: Sequence[str] = ()
    expression: str | None = None
    alphabet: str | None = None
    props: str | None = None
    at: str | None = None
    dialect: str | None = None
    lines: bool = False
    regime: str | None = None
    beta: Fraction | None = None
    tau: str | None = None
    epsilon: Fraction | None = None
    single_head: bool = False
    counting: str | None = None
    hard: bool = False
    engine: str = "auto"
    dps: int | None = None
    by: Judge = "oracle"
    max_n: int = 8
    min_n: int = 1
    all_n: bool = False
    heads_only: bool = False
    exhaustive: int = 1024
    budget: int = 100_000
    search: int = 2000
    samples: int | None = None
    seed: int = 0
    workers: int | None = None
    backend: str = "local"
    scheduler: str | None = None
    gap: bool = False
    critical: bool = False
    require: str | None = None
    tables: bool | None = None
    all_lengths: bool = False
    resume: str | None = None
    plot: str | None = None
    head: list[str] | None = None
    certificate: str | None = None
    smt: str | None = None
    to: str | None = None
    dtype: str = "float64"
    length: int | None = None
    arith: str | None = None
    accumulate: str | None = None
    output: str | None = None
    directory: str | None = None
    place: str | None = None
    folder: str | None = None
    formula: str | None = None
    model: str | None = None
    against: str | None = None
    json: str | None = None
    format: str = "text"
    quiet: bool = False
    fail_fast: bool = False
    pin: bool = False
    check: bool = False
    write: bool = False
    written: frozenset[str] = frozenset()

    def options(self) -> list[ModelOptions]:
        """The model options of each regime meant.

        Raises:
            InputError: if the regime, the position, the counting or the engine is unknown.
            SourceError: if the temperature is no expression.
        """
        if self.regime is not None and self.regime not in (ALL, *REGIMES):
            raise unknown("regime", self.regime, (*REGIMES, ALL), f"; '{ALL}' means {', '.join(PROVEN)}")
        for name, one, other in (
            ("at", "first", "last"),
            ("counting", "lookup", "sign"),
            ("dialect", "strong-next", "weak-next"),
        ):
            value = getattr(self, name)
            if value not in (None, one, other):
                near = did_you_mean(value, (one, other))
                hint = f"Write --{name} {one} or --{name} {other}{'; ' * bool(near)}{near or '.'}"
                raise InputError(f"--{name} must be {one} or {other}, not {value!r}", hint)
        tau = None if self.tau is None else parse_arith(self.tau, ("i", "n"), "--tau")
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        from hardsim.checking.subject import ModelOptions  # and with it what does the work

        at, method = cast(Any, self.at), cast(Any, self.counting)
        regimes = PROVEN if self.regime == ALL else (self.regime,)
        return [ModelOptions(regime, self.beta, tau, at, self.single_head, method, self.epsilon) for regime in regimes]

    def given(self, options: str) -> str:
        """Those of the options that are not as they are by default ("" if none)."""
        return ", ".join(f"--{name}" for name in options.split() if getattr(self, name) != DEFAULTS[name])

    def idle(self, given: Input) -> str | None:
        """A remark on what was asked for and does not apply to an input (a hard-attention model may have a beta of its
        own); None if all does."""
        formula = given.formula if given.made is None else None
        if given.kind == "re":
            named = self.given(f"{MODEL} epsilon engine dps dialect").replace("_", "-")
            return f"{named}: for networks and formulas; a regular expression is an oracle alone" if named else None
        if self.dialect is not None and (formula is None or formula.oracle is not None):
            return "--dialect: for formulas as text"
        if given.formula is not None:
            told = "a formula's temperature is its regime's, or yours"
            return None if self.epsilon is None else f"--epsilon: for hard-attention models and programs; {told}"
        asked = {
            f"--regime {self.regime}": self.regime not in (ALL, None),
            "--beta": self.beta is not None and (given.made is None or given.made.sharpness is None),
            "--at": self.at is not None,
            "--single-head": self.single_head,
            "--counting": self.counting is not None,
        }
        named = ", ".join(name for name, meant in asked.items() if meant)
        told = "the temperature of a hard-attention model is that of Theorem 26 (--epsilon), or yours (--tau)"
        return f"{named}: for formulas; {told}" if named else None

    def hold_stored(self, given: Input) -> None:
        """Refuse options of what is compiled for a network that others made, which is taken as it is.

        Raises:
            InputError: naming them.
        """
        named = self.given(COMPILED).replace("_", "-")
        if named:
            told = f"{given.name} is a network that others made, which is taken as it is: {named} does not apply"
            raise InputError(told, f"Leave out {named}.")

    def softening(self) -> str | None:
        """A remark on options that say how softmax is made sharp, where none is made; None if there are none."""
        given = {"--beta": self.beta, "--tau": self.tau, "--epsilon": self.epsilon}
        named = [name for name, value in given.items() if value is not None]
        return f"{', '.join(named)}: for softmax; hard attention has no temperature" if named else None


def unknown(
    what: str, given: str, known: Sequence[str], more: str = "", called: Mapping[str, str] | None = None
) -> InputError:
    """The error for a value that is none of a few, some of which may be `called` otherwise elsewhere."""
    other = (called or {}).get(given.lower())
    near = f"did you mean {other}?" if other is not None else did_you_mean(given, known)
    return InputError(f"unknown {what} {given!r}{near and f': {near}'}", f"The {what}s are: {', '.join(known)}{more}.")


def hold_one_regime(request: Request, why: str) -> None:
    """Refuse all regimes at once.

    Raises:
        InputError: saying why there can be only one.
    """
    if request.regime == ALL:
        raise InputError(f"{why}: --regime {ALL} is several", "Name one regime.")


DEFAULTS: dict[str, Any] = {one.name: one.default for one in fields(Request)}


# ---- values of Python ----


def of_python(name: str, value: object) -> Any:
    """A value of Python as that of a field.

    Integers may be of any integer type; rationals may be integers, fractions, decimals, text, and floats of any
    precision that are the very number that they print; a temperature may be a number or an expression; a file may be
    text or a path.

    Raises:
        TypeError: if it is of a type that the option does not have.
        InputError: if it is not what the option may be.
    """
    if value is None and DEFAULTS[name] is None:
        return None
    try:
        if name in INTEGERS:
            return INTEGERS[name](_integer(value))
        if name in RATIONALS or name == "tau":
            text = plain_text(value) if isinstance(value, str) else _rational(value)
            return RATIONALS[name](text) if name in RATIONALS else text
        if isinstance(DEFAULTS[name], bool):
            return _typed(value, bool, "True or False")
        if name in ("resume", "certificate", "smt", "against", "plot"):
            return _typed(os.fspath(value) if isinstance(value, os.PathLike) else value, str, "a path")
        return PARSERS.get(name, str)(_typed(value, str, "text"))
    except TypeError as error:
        raise TypeError(f"{name} must be {error}") from None
    except InputError as error:
        hint = _BROKEN.sub(r"'\g<0>'", error.hint) if name in RATIONALS else error.hint
        raise InputError(f"{name}: {error.message}", hint) from None


def plain_text(text: str) -> str:
    """Text as such: a type of the caller's own may compare, and print itself, as it likes."""
    return str.__str__(text)


def _typed(value: object, kind: type, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise _other(wanted, value)
    return plain_text(value) if isinstance(value, str) else value


def _other(wanted: str, value: object) -> TypeError:
    kind = type(value).__name__
    try:
        shown = repr(value)
    except Exception:  # of an integer with many digits, or of the caller's own making
        return TypeError(f"{wanted}, not a value of type {kind}")
    return TypeError(f"{wanted}, not {shown if len(shown) <= 40 else shown[:37] + '...'} ({kind})")


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _other("an integer", value)
    return _short(int(value))


def _short(value: int) -> int:
    """A number that can be written in so many characters."""
    if value.bit_length() > MOST_BITS:
        raise InputError(f"a number of more than {LONGEST_NUMBER} characters", "Write a shorter one.")
    return value


def _rational(value: object) -> str:
    """A number as it would be typed."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise _other(NUMBER, value)
    if isinstance(value, Rational):
        return _written(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        if not -LONGEST_NUMBER < value.adjusted() < LONGEST_NUMBER:
            raise InputError(f"{value:.9g} has more than {LONGEST_NUMBER} digits", "Write a shorter number.")
        return _written(Fraction(value))
    return _of_real(value)


def _written(value: Rational) -> str:
    return str(Fraction(_short(int(value.numerator)), _short(int(value.denominator))))


def _of_real(value: Any) -> str:
    """A binary number of any precision, if it is the very number that it prints."""
    try:
        near = float(value)
        same = bool(value == near)
        if not isfinite(near) and (same or isnan(near)):
            return repr(near)
        if not same and near in (0, inf, -inf):  # far too small or large, and perhaps for the memory too
            raise OverflowError
        text = repr(near) if same else str(value)
        above, below = (near if same else value).as_integer_ratio()
        exact, meant = Fraction(_short(int(above)), _short(int(below))), Fraction(text)
    except (ArithmeticError, AttributeError, TypeError, ValueError):  # an interval, say
        raise _other(NUMBER, value) from None
    if exact != meant:
        raise InputError(f"the {type(value).__name__} {text} is not exactly {text}", f"Write '{meant}', which is.")
    return str(exact)
