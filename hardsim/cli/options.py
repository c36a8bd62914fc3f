"""The vocabulary of the command line: every option is a field of `Request`, with its range and its help.

Values are checked while they are parsed, so that a wrong one is a usage error (exit code 2) before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, cast, get_type_hints

import typer

from hardsim.checking.result import ENGINES
from hardsim.cli.manual import Manual
from hardsim.errors import InputError
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
"""Characters of a rational on the command line."""

_RATIONAL = re.compile("[0-9]+([.][0-9]+|/0*[1-9][0-9]*)?")


class By(StrEnum):
    """Whose answer counts."""

    ORACLE = "oracle"
    HARD = "hard"
    SOFT = "soft"


def parse_beta(text: str) -> Fraction:
    """A positive rational such as 4, 7/2 or 3.9; raises BadParameter for anything else."""
    if len(text) > LONGEST_NUMBER:
        raise typer.BadParameter(f"a number of more than {LONGEST_NUMBER} characters. Write a shorter one.")
    if re.fullmatch("[0-9]+/0+", text):
        wrong = f"{text!r} divides by zero"
    elif not _RATIONAL.fullmatch(text):
        wrong = f"{text!r} is not a positive rational number"
    elif not 0 < Fraction(text) <= LARGEST_BETA:
        wrong = f"beta must be positive and at most {LARGEST_BETA}, not {text}"
    else:
        return Fraction(text)
    raise typer.BadParameter(f"{wrong}. Write a positive number such as 4, 7/2 or 3.9.")


def parse_epsilon(text: str) -> Fraction:
    """A rational between 0 and 1, such as 1/4; raises BadParameter for anything else."""
    value = Fraction(text) if len(text) <= LONGEST_NUMBER and _RATIONAL.fullmatch(text) else Fraction(0)
    if not 0 < value < 1:
        wanted = "Write a number between 0 and 1 such as 1/4 or 0.01."
        raise typer.BadParameter(f"{text[:40]!r} is no such error. {wanted}")
    return value


def integer(low: int | None, high: int | None) -> Callable[[str | int], int]:
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
    at: str | None = None
    regime: str = "temperature"
    beta: Fraction | None = None
    tau: str | None = None
    epsilon: Fraction | None = None
    single_head: bool = False
    counting: str | None = None
    hard: bool = False
    engine: str = "auto"
    dps: int | None = None
    by: By = By.ORACLE
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
    resume: str | None = None
    plot: str | None = None
    certificate: str | None = None
    output: str | None = None
    formula: str | None = None
    model: str | None = None
    json: str | None = None
    written: frozenset[str] = frozenset()

    def options(self) -> list[ModelOptions]:
        """The model options of each regime meant.

        Raises:
            InputError: if the regime, the position, the counting or the engine is unknown.
            SourceError: if the temperature is no expression.
        """
        if self.regime != ALL and self.regime not in REGIMES:
            hint = f"The regimes are: {', '.join(REGIMES)}; '{ALL}' means {', '.join(PROVEN)}."
            raise InputError(f"unknown regime {self.regime!r}", hint)
        for name, one, other in (("at", "first", "last"), ("counting", "lookup", "sign")):
            value = getattr(self, name)
            if value not in (None, one, other):
                hint = f"Write --{name} {one} or --{name} {other}."
                raise InputError(f"--{name} must be {one} or {other}, not {value!r}", hint)
        tau = None if self.tau is None else parse_arith(self.tau, ("i", "n"), "--tau")
        if self.engine not in ENGINES:
            raise InputError(f"unknown engine {self.engine!r}", f"The engines are: {', '.join(ENGINES)}.")
        from hardsim.checking.subject import ModelOptions  # and with it what does the work

        at, method = cast(Any, self.at), cast(Any, self.counting)
        regimes = PROVEN if self.regime == ALL else (self.regime,)
        return [ModelOptions(regime, self.beta, tau, at, self.single_head, method, self.epsilon) for regime in regimes]

    def idle(self, given: Input) -> str | None:
        """A remark on what was asked for and does not apply to an input (a hard-attention model may have a beta of its
        own); None if all does."""
        if given.formula is not None:
            told = "a formula's temperature is its regime's, or yours"
            return None if self.epsilon is None else f"--epsilon: for hard-attention models and programs; {told}"
        asked = {
            f"--regime {self.regime}": self.regime not in (ALL, "temperature"),
            "--beta": self.beta is not None and (given.made is None or given.made.sharpness is None),
            "--at": self.at is not None,
            "--single-head": self.single_head,
            "--counting": self.counting is not None,
        }
        named = ", ".join(name for name, meant in asked.items() if meant)
        told = "the temperature of a hard-attention model is that of Theorem 26 (--epsilon), or yours (--tau)"
        return f"{named}: for formulas; {told}" if named else None

    def softening(self) -> str | None:
        """A remark on options that say how softmax is made sharp, where none is made; None if there are none."""
        given = {"--beta": self.beta, "--tau": self.tau, "--epsilon": self.epsilon}
        named = [name for name, value in given.items() if value is not None]
        return f"{', '.join(named)}: for softmax; hard attention has no temperature" if named else None


MANUAL = f"""
expression   -e TEXT                     A formula instead of a file; needs --alphabet.
alphabet     --alphabet SYMBOLS          The alphabet of -e: symbols separated by spaces, as 'a b'.
at           --at first|last             Where the formula is read (default: what the file says, or last).
regime       --regime R                  How softmax is made sharp: temperature, position, causal-temperature,
                                         causal-position; none (plain softmax, which must fail); or all (the first
                                         four).
beta         --beta B                    Inverse-temperature constant: a positive number such as 4, 7/2 or 3.9 (default:
                                         4, and more for look-ups of which a comparison adds many up: proven sharp
                                         enough).
tau          --tau EXPR                  Temperature in n, or in i in regime causal-temperature, such as '1/(2*n)'
                                         (default: the regime's own).
epsilon      --epsilon E                 For hard-attention models and programs: the error that Theorem 26's temperature
                                         is for (default: half the least distance of an output from the threshold, at
                                         most 1/4).
single_head  --single-head               One head per layer, as in the paper, instead of heads that share layers.
counting     --counting lookup|sign      How comparisons of counts are decided: each count looked up, or the sign of the
                                         sum tested, which needs counts of one kind (default: lookup, or sign in the
                                         regimes without look-ups).
hard         --hard                      Write the hard-attention model (.ahat.json) instead of the softmax network.
engine       --engine NAME               The arithmetic of the softmax network: auto (float64 with rigorous error
                                         bounds, ball arithmetic where that is not enough), float64, ball, or mpmath,
                                         which encloses nothing.
dps          --dps D                     Decimal digits: those of mpmath, or those that balls begin with (default: as
                                         many as are needed).
by           --by oracle|hard|soft       Whose answer counts.
max_n        --max-n N                   Largest length, from 1 to {LARGEST_LENGTH}.
min_n        --min-n N                   Smallest length; the same as --max-n for a single length.
all_n        --all-n                     Prove it for every length, with an argument that can be checked by hand; and to
                                         --max-n by other means.
heads_only   --heads-only                Prove only that the network does what its heads' specification says; no
                                         formula.
exhaustive   --exhaustive M              Try every word of a length that has at most M words; of the others a sample.
budget       --exhaustive M              Refuse a request that means trying more than M words.
search       --search M                  Where there is no proof, try every word of the short lengths that have at most
                                         M words together.
samples      --samples K                 Random words per length that is not tried in full, besides structured ones
                                         (default: 20 up to length 16, 4 beyond).
seed         --seed S                    Seed of the random words: any integer.
workers      --workers W                 Processes that share the words; the result does not depend on it (default: one
                                         for a quick check, otherwise as many as there are processors; of a cluster
                                         all).
backend      --backend NAME              What runs the processes: local (this machine), dask (with --scheduler), or ray
                                         (the cluster of RAY_ADDRESS, or one that is started here); the result does not
                                         depend on it.
scheduler    --scheduler ADDRESS         The dask scheduler of --backend dask, as tcp://host:8786.
gap          --gap                       Score gaps only: a short report for continuous integration.
critical     --critical                  How small beta may be for all words of a length, and of every length (formulas
                                         only).
require      --require proved|certified  Exit with code 3 unless the verdict reaches that far.
tables       --tables/--no-tables        Print the rows for lengths and heads (default: for a single input).
resume       --resume FILE               Keep in FILE what was found, and go on from there if it exists: the same
                                         command, stopped at any moment, ends with the same report.
plot         --plot OUT.svg              Draw gap, error and temperature against n (needs hardsim[plot]).
certificate  --certificate PATH          Write what `hardsim verify` needs to check the proof; '-' is standard output.
                                         It is checked first.
output       -o --output PATH            The file to write; '-' is standard output.
formula      --formula FILE              Hold that the certificate is about the formula of this .ltl file.
model        --model FILE                Hold that it is about the network of this compiled model (.json).
json         --json PATH                 Write everything as JSON too; '-' is standard output, alone.
"""
"""The options by field: the names of each, what its value is called (nothing for a flag), and its help."""
ENTRIES = [re.split(r"\s{2,}", entry) for entry in re.split(r"\n(?=\S)", MANUAL.strip())]
OPTIONS = {name: (names.split(), " ".join(help)) for name, names, *help in ENTRIES}
ARGUMENTS = {"files": "FILE", "file": "FILE", "words": "WORD", "name": "NAME"}
LENGTH, COUNT = integer(1, LARGEST_LENGTH), integer(0, LARGEST_COUNT)
PARSERS: dict[str, Callable[[str], object]] = {
    "beta": parse_beta,
    "epsilon": parse_epsilon,
    "dps": integer(1, LARGEST_DIGITS),
    "max_n": LENGTH,
    "min_n": LENGTH,
    "exhaustive": COUNT,
    "budget": COUNT,
    "search": COUNT,
    "samples": integer(0, LARGEST_SAMPLE),
    "seed": integer(None, None),
    "workers": integer(1, LARGEST_WORKERS),
}
DEFAULTS = {one.name: one.default for one in fields(Request)} | {"certificates": ...}
TYPES = get_type_hints(Request) | {"certificates": list[str]}


def parameter(name: str, default: Any) -> Parameter:
    """What typer should know of a field. Arguments are hidden: typer would list their Python types, and the text of a
    command says what they are."""
    if name == "certificates":
        info = typer.Argument(default, metavar="FILE...", show_default=False)
    elif name in ARGUMENTS:
        info = typer.Argument(default, metavar=ARGUMENTS[name], hidden=True)
    else:
        named, help = OPTIONS[name]
        flags = [part for part in named if part.startswith("-")]
        metavar = next((part for part in named if part not in flags), None)
        shown = name != "tables"
        info = typer.Option(default, *flags, metavar=metavar, help=help, parser=PARSERS.get(name), show_default=shown)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=info, annotation=TYPES[name])


def taking(manual: Manual, command: Callable[[Request], None]) -> Callable[..., None]:
    """A command of typer's, with the options of its manual."""

    def run(context: typer.Context, **values: Any) -> None:
        sources = {name: context.get_parameter_source(name) for name in values}
        written = frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
        request = Request(**values, written=written)
        if "regime" in values:
            request.options()
        command(request)

    taken = [parameter(name, manual.defaults.get(name, DEFAULTS[name])) for name in manual.options.split()]
    taken.append(Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context))
    # What inspect, and so typer, reads; the type of functions does not tell of it.
    run.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in taken}
    return run
