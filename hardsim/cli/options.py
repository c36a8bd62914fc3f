"""The vocabulary of the command line: every option is defined here once, with its range and its help.

Values are checked while they are parsed, so that a wrong one is a usage error (exit code 2) before anything runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from hardsim.errors import InputError

if TYPE_CHECKING:
    from hardsim.checking.attention import AttentionOptions
    from hardsim.checking.result import Verdict
    from hardsim.checking.subject import At, ModelOptions
    from hardsim.spec.refuse import Method

ALL = "all"
LARGEST_LENGTH = 100_000
LARGEST_COUNT = 10**9
LARGEST_DIGITS = 1_000_000
LARGEST_BETA = 1_000_000
"""Errors shrink like exp(-beta/2), so that beyond it they have more digits than can be worked with."""
LARGEST_WORKERS = 256
LONGEST_NUMBER = 1000
"""Characters of a rational on the command line."""

_RATIONAL = re.compile(r"[0-9]+(\.[0-9]+|/[0-9]+)?")


def parse_beta(text: str) -> Fraction:
    """A positive rational such as 4, 7/2 or 3.9; raises BadParameter for anything else."""
    if len(text) > LONGEST_NUMBER:
        raise typer.BadParameter(f"a number of more than {LONGEST_NUMBER} characters. Write a shorter one.")
    wanted = "Write a positive number such as 4, 7/2 or 3.9."
    if not _RATIONAL.fullmatch(text):
        raise typer.BadParameter(f"{text!r} is not a positive rational number. {wanted}")
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        raise typer.BadParameter(f"{text!r} divides by zero. {wanted}") from None
    if not 0 < value <= LARGEST_BETA:
        raise typer.BadParameter(f"beta must be positive and at most {LARGEST_BETA}, not {text}. {wanted}")
    return value


def parse_epsilon(text: str) -> Fraction:
    """A rational between 0 and 1, such as 1/4; raises BadParameter for anything else."""
    wanted = "Write a number between 0 and 1 such as 1/4 or 0.01."
    try:
        value = Fraction(text) if len(text) <= LONGEST_NUMBER and _RATIONAL.fullmatch(text) else Fraction(0)
    except ZeroDivisionError:
        value = Fraction(0)
    if not 0 < value < 1:
        raise typer.BadParameter(f"{text[:40]!r} is no such error. {wanted}")
    return value


def integer(low: int | None, high: int | None) -> Any:
    """A parser of integers in a range that says what it wants in one sentence."""

    def parse(given: str | int) -> int:
        text = str(given)  # typer parses defaults too
        if not re.fullmatch(r"[+-]?[0-9]+", text) or len(text) > LONGEST_NUMBER:
            shown = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
            raise typer.BadParameter(f"{shown!r} is not an integer that can be used here. {wanted}")
        value = int(text)
        if (low is not None and value < low) or (high is not None and value > high):
            shown = text if len(text) <= 40 else f"a number of {len(text)} digits"
            raise typer.BadParameter(f"{shown} is out of range. {wanted}")
        return value

    wanted = "Write any integer." if low is None else f"Write an integer from {low} to {high}."
    return parse


# typer would list arguments with their Python types: the text of each command says what they are instead.
Files = Annotated[list[str] | None, typer.Argument(metavar="FILE", hidden=True)]
Expression = Annotated[
    str | None,
    typer.Option("-e", metavar="TEXT", help="A formula instead of a file; needs --alphabet."),
]
Alphabet = Annotated[
    str | None,
    typer.Option("--alphabet", metavar="SYMBOLS", help="The alphabet of -e: symbols separated by spaces, as 'a b'."),
]
Regime = Annotated[
    str,
    typer.Option(
        "--regime",
        metavar="R",
        help="How softmax is made sharp: temperature, position, causal-temperature, causal-position; "
        "none (plain softmax, which must fail); or all (the first four).",
    ),
]
Beta = Annotated[
    Fraction | None,
    typer.Option(
        "--beta",
        metavar="B",
        parser=parse_beta,
        help="Inverse-temperature constant: a positive number such as 4, 7/2 or 3.9 (default: 4, "
        "and more for look-ups of which a comparison adds many up: proven sharp enough).",
    ),
]
Tau = Annotated[
    str | None,
    typer.Option(
        "--tau",
        metavar="EXPR",
        help="Temperature in n, or in i in regime causal-temperature, such as '1/(2*n)' (default: the regime's own).",
    ),
]
Epsilon = Annotated[
    Fraction | None,
    typer.Option(
        "--epsilon",
        metavar="E",
        parser=parse_epsilon,
        help="For hard-attention models and programs: the error that Theorem 26's temperature is for (default: half "
        "the least distance of an output from the threshold, at most 1/4).",
    ),
]
Position = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="first|last", help="Where the formula is read (default: what the file says, or last)."
    ),
]
SingleHead = Annotated[
    bool,
    typer.Option("--single-head", help="One head per layer, as in the paper, instead of heads that share layers."),
]
Counting = Annotated[
    str | None,
    typer.Option(
        "--counting",
        metavar="lookup|sign",
        help="How comparisons of counts are decided: each count looked up, or the sign of the sum tested, which needs "
        "counts of one kind (default: lookup, or sign in the regimes without look-ups).",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="The arithmetic of the softmax network: auto (float64 with rigorous error bounds, ball arithmetic where "
        "that is not enough), float64, ball, or mpmath, which encloses nothing.",
    ),
]
Require = Annotated[
    str | None,
    typer.Option(
        "--require",
        metavar="proved|certified",
        help="Exit with code 3 unless the verdict reaches that far.",
    ),
]
Digits = Annotated[
    int | None,
    typer.Option(
        "--dps",
        metavar="D",
        parser=integer(1, LARGEST_DIGITS),
        help="Decimal digits: those of mpmath, or those that balls begin with (default: as many as are needed).",
    ),
]
MaxLength = Annotated[
    int,
    typer.Option(
        "--max-n", metavar="N", parser=integer(1, LARGEST_LENGTH), help=f"Largest length, from 1 to {LARGEST_LENGTH}."
    ),
]
MinLength = Annotated[
    int,
    typer.Option(
        "--min-n",
        metavar="N",
        parser=integer(1, LARGEST_LENGTH),
        help="Smallest length; the same as --max-n for a single length.",
    ),
]
Exhaustive = Annotated[
    int,
    typer.Option(
        "--exhaustive",
        metavar="M",
        parser=integer(0, LARGEST_COUNT),
        help="Try every word of a length that has at most M words; of the others a sample.",
    ),
]
WordBudget = Annotated[
    int,
    typer.Option(
        "--exhaustive",
        metavar="M",
        parser=integer(0, LARGEST_COUNT),
        help="Refuse a request that means trying more than M words.",
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="K",
        parser=integer(0, LARGEST_COUNT),
        help="Random words per length that is not tried in full, besides structured ones "
        "(default: 20 up to length 16, 4 beyond).",
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="S", parser=integer(None, None), help="Seed of the random words: any integer."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="W",
        parser=integer(1, LARGEST_WORKERS),
        help="Processes that share the words; the result does not depend on it "
        "(default: one for a quick check, otherwise as many as there are processors; of a cluster all).",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="What runs the processes: local (this machine), dask (with --scheduler), or ray (the cluster of "
        "RAY_ADDRESS, or one that is started here); the result does not depend on it.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="The dask scheduler of --backend dask, as tcp://host:8786."),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="FILE",
        help="Keep in FILE what was found, and go on from there if it exists: the same command, stopped at any moment, "
        "ends with the same report.",
    ),
]
Tables = Annotated[
    bool | None,
    typer.Option(
        "--tables/--no-tables",
        help="Print the rows for lengths and heads (default: for a single input).",
        show_default=False,
    ),
]
JsonPath = Annotated[
    str | None,
    typer.Option("--json", metavar="PATH", help="Write everything as JSON too; '-' is standard output, alone."),
]


@dataclass(frozen=True, slots=True)
class Request:
    """The model options as given: `regime` may be `all`."""

    regime: str = "temperature"
    beta: Fraction | None = None
    tau: str | None = None
    at: str | None = None
    single_head: bool = False
    counting: str | None = None
    epsilon: Fraction | None = None
    dps: int | None = None

    def attention(self) -> AttentionOptions:
        """What applies to a hard-attention model.

        Raises:
            SourceError: if the temperature is no expression.
        """
        from hardsim.checking.attention import AttentionOptions
        from hardsim.lang.arith import parse_arith

        tau = None if self.tau is None else parse_arith(self.tau, ("i", "n"), "--tau")
        return AttentionOptions(tau, self.epsilon)

    def foreign(self) -> str | None:
        """A remark on what was asked for and does not apply to a hard-attention model; None if all does."""
        given = {
            f"--regime {self.regime}": self.regime not in (ALL, "temperature"),
            "--beta": self.beta is not None,
            "--at": self.at is not None,
            "--single-head": self.single_head,
            "--counting": self.counting is not None,
            "--dps": self.dps is not None,
        }
        named = [name for name, meant in given.items() if meant]
        if not named:
            return None
        return (
            f"{', '.join(named)}: for formulas; the temperature of a hard-attention model is that of Theorem 26 "
            "(--epsilon), or yours (--tau)"
        )

    def foreign_to_formulas(self) -> str | None:
        """The same for a formula; a bound report alone has a use for an error of formulas."""
        if self.epsilon is None:
            return None
        return "--epsilon: for hard-attention models and programs; a formula's temperature is its regime's, or yours"

    def tried(self) -> dict[str, str | bool | None]:
        """What decides which networks are meant, by option, as text."""
        return {
            "--regime": self.regime,
            "--beta": None if self.beta is None else str(self.beta),
            "--tau": self.tau,
            "--at": self.at,
            "--single-head": self.single_head,
            "--counting": self.counting,
            "--epsilon": None if self.epsilon is None else str(self.epsilon),
        }

    def softening(self) -> str | None:
        """A remark on options that say how softmax is made sharp, where none is made; None if there are none."""
        given = {"--beta": self.beta, "--tau": self.tau, "--epsilon": self.epsilon}
        named = [name for name, value in given.items() if value is not None]
        return f"{', '.join(named)}: for softmax; hard attention has no temperature" if named else None

    def options(self) -> list[ModelOptions]:
        """The model options of each regime meant.

        Raises:
            InputError: if the regime or the position is unknown.
            SourceError: if the temperature is no expression.
        """
        from hardsim.checking.subject import ModelOptions
        from hardsim.lang.arith import parse_arith
        from hardsim.spec.regimes import PROVEN, REGIMES

        if self.regime != ALL and self.regime not in REGIMES:
            names = ", ".join(REGIMES)
            raise InputError(
                f"unknown regime {self.regime!r}", hint=f"The regimes are: {names}; '{ALL}' means {', '.join(PROVEN)}."
            )
        if self.at not in (None, "first", "last"):
            raise InputError(f"--at must be first or last, not {self.at!r}", hint="Write --at first or --at last.")
        if self.counting not in (None, "lookup", "sign"):
            raise InputError(
                f"--counting must be lookup or sign, not {self.counting!r}",
                hint="Write --counting lookup or --counting sign.",
            )
        tau = None if self.tau is None else parse_arith(self.tau, ("i", "n"), "--tau")
        regimes = PROVEN if self.regime == ALL else (self.regime,)
        at = cast("At | None", self.at)
        method = cast("Method | None", self.counting)
        return [ModelOptions(regime, self.beta, tau, at, self.single_head, method) for regime in regimes]


class By(StrEnum):
    """Whose answer counts."""

    ORACLE = "oracle"
    HARD = "hard"
    SOFT = "soft"


def check_engine(engine: str) -> None:
    """Refuse an engine that does not exist, before anything is read.

    Raises:
        InputError: naming those that do.
    """
    from hardsim.checking.result import ENGINES

    if engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}", hint=f"The engines are: {', '.join(ENGINES)}.")


def required(text: str | None) -> Verdict | None:
    """The verdict that `--require` names.

    Raises:
        InputError: if it names none.
    """
    from hardsim.checking.result import Verdict

    wanted = {None: None, "proved": Verdict.PROVED, "certified": Verdict.CERTIFIED}
    if text not in wanted:
        raise InputError(
            f"--require must be proved or certified, not {text!r}",
            hint="Write --require certified or --require proved.",
        )
    return wanted[text]
