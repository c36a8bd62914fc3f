"""The options of all commands, on the command line and in Python: their defaults and their possible values.

A `Request` stores the options of one command or method. Text from the command line goes through `PARSERS`; a Python
value goes through `of_python`, which ends in the same parsers, so that both are refused alike and before
anything runs.
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

from hardsim.campaign.result import ENGINES
from hardsim.errors import InputError, did_you_mean, nearest
from hardsim.lang.arith import parse_arith
from hardsim.program.regimes import PROVEN, REGIMES

if TYPE_CHECKING:
    from hardsim.targets.open import Input
    from hardsim.targets.subject import ModelOptions

ALL = "all"
LARGEST_LENGTH = 100_000
LARGEST_COUNT = 10**9
LARGEST_SAMPLE = 10**6
"""Largest number of random words of a length. They are kept in memory, so that none is drawn twice."""
LARGEST_DIGITS = 100_000
"""Largest number of decimal digits. With more digits, a single exponential takes seconds."""
LARGEST_BETA = 1_000_000
"""Largest beta. Errors shrink like exp(-beta/2), so beyond this they have more digits than can be computed with."""
LARGEST_WORKERS = 256
LONGEST_NUMBER = 1000
MOST_BITS = int(LONGEST_NUMBER * log2(10))
"""Largest number of characters of a number that a user gives, and of bits of an integer with that many characters."""

MODEL = "regime beta tau at single_head counting"
TRIED = "max_n exhaustive samples seed"
DECIDING = f"{TRIED} engine dps {MODEL} epsilon against dialect"
"""The fields of a network's options, of the words that are tried, and of everything that decides the result of a
check. A check can be resumed only with the same values of the last group.
"""

COMPILED = "regime beta tau single_head counting epsilon"
"""The fields of compilation options, which do not apply to an external network."""

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON, "junit", "github", "sarif")
"""Formats of standard output: tables, the JSON document, or a format that other programs read."""

Judge: TypeAlias = Literal["oracle", "hard", "soft"]
"""The source of the answers: the oracle, hard attention or softmax."""

_RATIONAL = re.compile("[0-9]+([.][0-9]+|/0*[1-9][0-9]*)?")
_BROKEN = re.compile("(?<![0-9./'])[0-9]+[./][0-9]+")
"""A pattern of decimals and fractions that Python would evaluate to a float; in a hint they are quoted."""
NUMBER = "a number, or text such as '7/2'"
"""The description of a Python value for a rational option."""


# ---- texts of options ----


def parse_beta(text: str) -> Fraction:
    """Return a positive rational, at most LARGEST_BETA, such as 4, 7/2 or 3.9. Raise InputError for any other text."""
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
    """Return a rational between 0 and 1, both excluded, such as 1/4. Raise InputError for any other text."""
    value = Fraction(text) if len(text) <= LONGEST_NUMBER and _RATIONAL.fullmatch(text) else Fraction(0)
    if not 0 < value < 1:
        raise InputError(
            f"{text[:40]!r} is no error between 0 and 1", "Write a number between 0 and 1 such as 1/4 or 0.01."
        )
    return value


def parse_by(text: str) -> Judge:
    """Return the source of the answers. Raise InputError unless the text is one of the three names."""
    judges = get_args(Judge)
    if text not in judges:
        near = nearest(text, judges)
        message = f"{text!r} is not one of {', '.join(map(repr, judges))}"
        raise InputError(message, f"Did you mean {near}?" if near else "Write one of them.")
    return cast(Judge, text)


def parse_format(text: str) -> str:
    """Return the format of standard output. Raise InputError unless the text names a format."""
    if text not in FORMATS:
        raise InputError(f"{text!r} is not one of {', '.join(map(repr, FORMATS))}", "Write one of them.")
    return text


def integer(low: int | None, high: int | None) -> Callable[[str | int], int]:
    """Return a parser of integers from `low` to `high`, both included (None: no limit). Its InputError names the
    range in one sentence.
    """

    def parse(given: str | int) -> int:
        text = str(given)  # typer parses defaults too
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
"""The parser of each field's text. A field without a parser is text or a flag."""


# ---- requests ----


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one command. A command takes some of them; the others have their defaults.

    `written` are the names of the fields that were given on the command line.
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
        """Return the model options, one for each regime that the request covers.

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
        from hardsim.targets.subject import ModelOptions  # and with it what does the work

        at, method = cast(Any, self.at), cast(Any, self.counting)
        regimes = PROVEN if self.regime == ALL else (self.regime,)
        return [ModelOptions(regime, self.beta, tau, at, self.single_head, method, self.epsilon) for regime in regimes]

    def given(self, options: str) -> str:
        """Return those of the named options (field names separated by spaces) that differ from their defaults, as
        text; "" if none does.
        """
        return ", ".join(f"--{name}" for name in options.split() if getattr(self, name) != DEFAULTS[name])

    def idle(self, given: Input) -> str | None:
        """Return a remark on options that have no effect on an input, or None if all have (a hard-attention model may
        have its own beta).
        """
        formula = given.formula if given.made is None else None
        if given.kind == "re":
            named = self.given(f"{MODEL} epsilon engine dps dialect").replace("_", "-")
            return f"{named}: for networks and formulas; a regular expression is an oracle alone" if named else None
        if self.dialect is not None and (formula is None or formula.oracle is not None):
            return "--dialect: not used; it is for formulas given as text"
        if given.formula is not None:
            message = "a formula's temperature is its regime's, or yours"
            return None if self.epsilon is None else f"--epsilon: for hard-attention models and programs; {message}"
        given_options = {
            f"--regime {self.regime}": self.regime not in (ALL, None),
            "--beta": self.beta is not None and (given.made is None or given.made.sharpness is None),
            "--at": self.at is not None,
            "--single-head": self.single_head,
            "--counting": self.counting is not None,
        }
        named = ", ".join(name for name, applies in given_options.items() if applies)
        message = "the temperature of a hard-attention model is that of Theorem 26 (--epsilon), or yours (--tau)"
        return f"{named}: for formulas; {message}" if named else None

    def require_stored(self, given: Input) -> None:
        """Refuse compilation options for an external network, whose weights are used unchanged.

        Raises:
            InputError: naming these options.
        """
        named = self.given(COMPILED).replace("_", "-")
        if named:
            message = f"{given.name} is an external network, which is used unchanged: {named} does not apply"
            raise InputError(message, f"Leave out {named}.")

    def softening(self) -> str | None:
        """Return a remark on options that set how sharp softmax attention is, for a target without softmax. Return
        None if no such option was given.
        """
        given = {"--beta": self.beta, "--tau": self.tau, "--epsilon": self.epsilon}
        named = [name for name, value in given.items() if value is not None]
        return f"{', '.join(named)}: for softmax; hard attention has no temperature" if named else None


def unknown(
    what: str, given: str, known: Sequence[str], more: str = "", called: Mapping[str, str] | None = None
) -> InputError:
    """Return the error for a value that is none of the `known` ones. `called` maps names that other tools use, in
    lower case, to the names used here.
    """
    other = (called or {}).get(given.lower())
    near = f"did you mean {other}?" if other is not None else did_you_mean(given, known)
    return InputError(f"unknown {what} {given!r}{near and f': {near}'}", f"The {what}s are: {', '.join(known)}{more}.")


def require_one_regime(request: Request, why: str) -> None:
    """Refuse `--regime all` where only one regime is possible; `why` gives the reason.

    Raises:
        InputError: if the request is for all regimes.
    """
    if request.regime == ALL:
        raise InputError(f"{why}: --regime {ALL} names several", "Name one regime.")


DEFAULTS: dict[str, Any] = {one.name: one.default for one in fields(Request)}


# ---- values of Python ----


def of_python(name: str, value: object) -> Any:
    """Convert a Python value into the value of the field `name`.

    Integers may be of any integer type. Rationals may be integers, fractions, decimals, text, and floats of any
    precision whose printed decimals are their exact value. A temperature may be a number or an expression, a file
    text or a path.

    Raises:
        TypeError: if the value has a type that the option does not accept.
        InputError: if the option cannot have this value.
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


def _integer(value: object) -> int:
    # bool is a subclass of int, but True is no count.
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _other("an integer", value)
    return _short(int(value))


def _short(value: int) -> int:
    """Return an integer unchanged. Raise InputError if it has more than LONGEST_NUMBER characters."""
    if value.bit_length() > MOST_BITS:
        raise InputError(f"a number of more than {LONGEST_NUMBER} characters", "Write a shorter one.")
    return value


def _rational(value: object) -> str:
    """Return a number as it would be typed on the command line."""
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
    exact value.
    """
    try:
        near = float(value)
        same = bool(value == near)
        if not isfinite(near) and (same or isnan(near)):
            return repr(near)
        if not same and near in (0, inf, -inf):  # far too small or large, and perhaps for the memory too
            raise OverflowError
        text = repr(near) if same else str(value)
        above, below = (near if same else value).as_integer_ratio()
        exact, applies = Fraction(_short(int(above)), _short(int(below))), Fraction(text)
    except (ArithmeticError, AttributeError, TypeError, ValueError):  # an interval, say
        raise _other(NUMBER, value) from None
    if exact != applies:
        raise InputError(f"the {type(value).__name__} {text} is not exactly {text}", f"Write '{applies}', which is.")
    return str(exact)
