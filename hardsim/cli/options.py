"""The options as the command line has them: the names of each, its help, and the parameter that typer makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, get_type_hints

import typer

from hardsim.checking.options import DEFAULTS, LARGEST_LENGTH, PARSERS, Request
from hardsim.cli import streams
from hardsim.cli.manual import Manual
from hardsim.errors import InputError

MANUAL = f"""
expression   -e TEXT                     A formula instead of a file; needs --alphabet.
alphabet     --alphabet SYMBOLS          The alphabet of -e: symbols separated by spaces, as 'a b'.
at           --at first|last             Where the formula is read (default: what the file says, or last).
regime       --regime R                  How softmax is made sharp: temperature (the default), position,
                                         causal-temperature, causal-position; none (plain softmax, which must fail);
                                         or all (all but none).
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
format       --format NAME               What standard output is: text; json (as --json -); or for other programs junit
                                         (XML), github (annotations of GitHub Actions) or sarif (version 2.1.0).
quiet        -q --quiet                  Print verdicts and failures only.
fail_fast    --fail-fast                 Stop after the first failure: a mismatch, bad input, or a verdict that is less
                                         than was required.
pin          --pin                       Write a word that fails into the file, as an example: one .ltl or .srasp file.
"""
"""The options by field: the names of each, what its value is called (nothing for a flag), and its help."""
ENTRIES = [re.split(r"\s{2,}", entry) for entry in re.split(r"\n(?=\S)", MANUAL.strip())]
OPTIONS = {name: (names.split(), " ".join(help)) for name, names, *help in ENTRIES}
ARGUMENTS = {"files": "FILE", "file": "FILE", "words": "WORD", "name": "NAME"}
GIVEN = DEFAULTS | {"certificates": ...}
TYPES = get_type_hints(Request) | {"certificates": list[str], "by": str}
"""What typer takes for a field that is not typed, and the types of all."""


def typed(name: str) -> Callable[[str], object] | None:
    """What reads the text of an option; what it refuses is a usage error."""
    read = PARSERS.get(name)
    if read is None:
        return None

    def parse(text: str) -> object:
        try:
            return read(text)
        except InputError as error:
            raise typer.BadParameter(f"{error.message}. {error.hint}") from None

    return parse


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
        info = typer.Option(default, *flags, metavar=metavar, help=help, parser=typed(name), show_default=shown)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=info, annotation=TYPES[name])


def taking(manual: Manual, command: Callable[[Request], None]) -> Callable[..., None]:
    """A command of typer's, with the options of its manual."""

    def run(context: typer.Context, **values: Any) -> None:
        sources = {name: context.get_parameter_source(name) for name in values}
        written = frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
        request = Request(**values, written=written)
        streams.hush(request.quiet)
        if "regime" in values:
            request.options()
        command(request)

    taken = [parameter(name, manual.defaults.get(name, GIVEN[name])) for name in manual.options.split()]
    taken.append(Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context))
    # What inspect, and so typer, reads; the type of functions does not tell of it.
    run.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in taken}
    return run
