"""The options of the command line: the names of each option, its help, and the parameter that typer makes of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any, get_type_hints

import typer

from hardsim.campaign.options import DEFAULTS, LARGEST_LENGTH, PARSERS, Request
from hardsim.cli import streams
from hardsim.cli.completion import Completion
from hardsim.cli.manual import Manual
from hardsim.errors import InputError

MANUAL = f"""
expression   -e TEXT                     A formula instead of a file. Without --alphabet and --props its symbols are the
                                         alphabet, if there are two or more.
alphabet     --alphabet SYMBOLS          The symbols, such as 'a b'. Separate them by spaces; quote a symbol that has
                                         blanks. For -e, and for formulas, C-RASP programs and regular expressions that
                                         declare none.
props        --props NAMES|auto          The propositions, such as 'p q', or auto. A position has a set of them. For -e,
                                         and for formulas and regular expressions that declare neither propositions
                                         nor symbols. With auto they are those that the text mentions.
lines        --lines                     Read each line of a file as a formula. Each is an input of its own, FILE:LINE;
                                         header lines at the top hold for all of them.
at           --at first|last             Position at which the formula is read (default: the file's own, or last).
dialect      --dialect NAME              Meaning of a bare X in a formula: strong-next (the default) or weak-next, as in
                                         Spot, pylogics, lydia and TLSF.
regime       --regime R                  How softmax is made sharp; all means every way. The ways are temperature (the
                                         default), position, causal-temperature and causal-position; none is plain
                                         softmax, right up to a length that grows with beta.
beta         --beta B                    Inverse-temperature constant: a positive number such as 4, 7/2 or 3.9 (default:
                                         4, or more if a comparison adds up many look-ups; proved sharp enough).
tau          --tau EXPR                  Temperature in n, or in i in regime causal-temperature, such as '1/(2*n)'
                                         (default: the regime's own).
epsilon      --epsilon E                 For hard-attention models and programs: the error for which Theorem 26 gives
                                         the temperature (default: half the least distance of an output from the
                                         threshold, at most 1/4).
single_head  --single-head               One head per layer, as in the paper, instead of heads that share layers.
counting     --counting lookup|sign      How comparisons of counts are decided: lookup looks up each count; sign tests
                                         the sign of the sum, which needs counts of one kind (default: lookup, or sign
                                         in the regimes without look-ups).
hard         --hard                      Write the hard-attention model instead. Its format is that of .ahat.json.
engine       --engine NAME               The arithmetic of the softmax network: auto (float64 with rigorous error
                                         bounds, ball arithmetic where that is not enough), float64, ball, or mpmath,
                                         which has no error bounds.
dps          --dps D                     Decimal digits of mpmath, or digits with which balls begin (default: as many as
                                         are needed).
by           --by oracle|hard|soft       Whose answer counts.
max_n        --max-n N                   Largest length, from 1 to {LARGEST_LENGTH}.
min_n        --min-n N                   Smallest length. For a single length, give --max-n the same number.
all_n        --all-n                     Prove every length. The argument can be checked by hand; the lengths up to
                                         --max-n are proved by other means, too.
heads_only   --heads-only                Prove only that the network does what its heads' specification says, without a
                                         formula.
exhaustive   --exhaustive M              Try every word of a length that has at most M words; of other lengths a sample.
budget       --exhaustive M              Refuse a request that would try more than M words.
search       --search M                  If there is no proof, try every word of the short lengths that have at most M
                                         words together.
samples      --samples K                 Random words per length that is not tried in full, besides structured ones
                                         (default: 20 up to length 16, 4 beyond); for external networks all words that
                                         a search of the length tries (default: 400).
seed         --seed S                    Seed of the random words: any integer.
workers      --workers W                 Processes that share the words; the result does not depend on their number
                                         (default: one for a quick check, otherwise one per processor; on a cluster
                                         all).
backend      --backend NAME              Where the processes run: local (this machine), dask (with --scheduler), or ray
                                         (the cluster of RAY_ADDRESS, or one that is started here); the result does not
                                         depend on it.
scheduler    --scheduler ADDRESS         The dask scheduler of --backend dask, such as tcp://host:8786.
gap          --gap                       Report score gaps only. The report is short, for continuous integration.
critical     --critical                  Report how small beta may be. For all words of a length, and for every length;
                                         for programs with --tau, length by length.
require      --require proved|certified  Exit with code 3 for a weaker verdict.
tables       --tables/--no-tables        Print the rows for lengths and heads (default: for a single input).
all_lengths  --all-lengths               Print a row for every length, instead of one for several lengths.
resume       --resume FILE               Keep results in FILE, and continue from there if it exists: the same command,
                                         stopped at any moment, ends with the same report.
plot         --plot OUT                  Draw a picture: .svg, .png or .pdf, for `trace` also .html. Of `bound` it shows
                                         the results against n; of `trace` attention maps, hard beside soft, and the
                                         .html is a page to step through. All but .html need matplotlib, the extra plot.
head         --head NAME                 Show one head only, position by position. There may be several.
certificate  --certificate PATH          Write the proof for `hardsim verify`. '-' is standard output. The certificate
                                         is checked first.
smt          --smt OUT.smt2              Write the steps of --all-n for an SMT solver. Each query denies one of them, so
                                         every answer must be unsat. Needs --all-n. '-' is standard output.
to           --to NAME                   The format to write: torch, onnx or safetensors. torch is a folder with
                                         model.safetensors, config.json and a model.py that runs them; safetensors is
                                         the folder without model.py; onnx is one file.
dtype        --dtype NAME                The numbers in which an ONNX file computes, float64 or float32.
arith        --arith NAME                Check one number format alone. float32, bfloat16, float16 or float8_e4m3; the
                                         exit code is then 1 if a word is wrong, and 3 if not all lengths are safe.
accumulate   --accumulate float32        Accumulate sums in float32. They are rounded at their end.
length       --length N                  Write an ONNX file for words of N symbols alone.
output       -o --output PATH            The file to write; '-' is standard output.
directory    -o --output DIR             The directory to write, new or empty.
place        -o --output PATH            The folder to write, new or empty; for onnx the file.
formula      --formula FILE              The .ltl file of the formula that it must be about.
model        --model FILE                The compiled model that it must be about.
against      --against FILE              Compare with FILE instead of the input's own formula or program. FILE is a
                                         formula (.ltl), a program (.srasp, .cr), a regular expression (.re) or a
                                         specification (.spec) over the same symbols; it is read at the position that
                                         it names itself, whatever --at says, and nothing is proved about it.
json         --json PATH                 Also write everything as JSON. '-' is standard output, which then has nothing
                                         else.
format       --format NAME               Print text, json, junit, github or sarif. json is --json -; for other programs
                                         there are JUnit XML, annotations of GitHub Actions, and SARIF 2.1.0.
quiet        -q --quiet                  Print verdicts and failures only.
fail_fast    --fail-fast                 Stop after the first failure. A failure is a mismatch, bad input, or a verdict
                                         that is weaker than --require asks for.
pin          --pin                       Write a failing word into the file. It becomes an example of one .ltl, .srasp
                                         or .cr file.
check        --check                     Only show what would change. The exit code is 1 if a file is not in its
                                         canonical form.
write        -w --write                  Rewrite the files. Each is replaced as a whole; a file that has a mistake, or
                                         would not change, is left alone.
"""
"""The options, one entry each: field, names with the name of the value (none for a flag), and help. Columns are
separated by two spaces or more.
"""
ENTRIES = [re.split(r"\s{2,}", entry) for entry in re.split(r"\n(?=\S)", MANUAL.strip())]
OPTIONS = {name: (names.split(), " ".join(help)) for name, names, *help in ENTRIES}
ARGUMENTS = {"files": "FILE", "file": "FILE", "words": "WORD", "name": "NAME", "folder": "DIR"}
GIVEN = DEFAULTS | {"certificates": ...}
TYPES = get_type_hints(Request) | {"certificates": list[str], "by": str}
"""The default that typer gets for each field, and the type of each field."""


def typed(name: str) -> Callable[[str], object] | None:
    """Return the function that reads the text of an option, or None if typer's own reading is enough. A text that the
    function refuses is a usage error.
    """
    read = PARSERS.get(name)
    if read is None:
        return None

    def parse(text: str) -> object:
        try:
            return read(text)
        except InputError as error:
            raise typer.BadParameter(f"{error.message}. {error.hint}") from None

    return parse


def parameter(name: str, default: Any, brief: bool, common: bool) -> Parameter:
    """Return the parameter that typer needs for a field, on a brief or a whole help page. Arguments are hidden, because
    typer would list their Python types; the text of the command describes them.
    """
    if name == "certificates":
        info = typer.Argument(default, metavar="FILE...", show_default=False, hidden=brief)
    elif name in ARGUMENTS:
        info = typer.Argument(default, metavar=ARGUMENTS[name], hidden=True, autocompletion=Completion(name))
    else:
        named, help = OPTIONS[name]
        flags = [part for part in named if part.startswith("-")]
        metavar = next((part for part in named if part not in flags), None)
        info = typer.Option(
            default,
            *flags,
            metavar=metavar,
            help=first_sentence(help) if brief else help,
            parser=typed(name),
            # The default of --tables depends on the number of inputs, as its help says.
            show_default=name != "tables",
            hidden=brief and not common,
            autocompletion=Completion(name, metavar or ""),
        )
    return Parameter(name, Parameter.KEYWORD_ONLY, default=info, annotation=TYPES[name])


def first_sentence(text: str) -> str:
    """Return a text up to the first period or question mark that a space follows."""
    return re.split(r"(?<=[.?]) ", text)[0]


HELP_ALL = "help_all"


def flag(name: str, *flags: str, **settings: Any) -> Parameter:
    """Return a flag that is handled before anything else is read, such as --version."""
    info = typer.Option(*flags, is_eager=True, **settings)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, info])


def all_options(show: Callable[[Any], str]) -> Parameter:
    """Return the option --help-all, which prints the page that `show` makes from a context."""

    def callback(context: typer.Context, value: bool) -> None:
        if value:
            sys.stdout.write(f"{show(context)}\n")
            raise typer.Exit

    return flag(HELP_ALL, "--help-all", callback=callback, help="Show everything, and exit.")


def plainly(options: list[Any]) -> list[Any]:
    """Make options return the typed text, or the value that `typed` reads from it, and return these options. typer's
    own way to read values imports pydantic, which takes as long as all other imports of the command line.
    """
    for one in options:
        if "process_value" not in vars(one):
            one.process_value = partial(_value, one, one.process_value)
    return options


def _value(option: Any, typers: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of an option; if the value is missing, typer reports that."""
    read = typed(option.name) if isinstance(value, str) else None
    if option.required and option.value_is_missing(value):
        return typers(context, value)
    found = value if read is None else read(value)
    return found if option.callback is None else option.callback(context, option, found)


def signed(function: Callable[..., None], taken: list[Parameter]) -> Callable[..., None]:
    """Give a function the signature with these parameters, which inspect, and so typer, reads. Return the function."""
    function.__signature__ = Signature(taken)  # type: ignore[attr-defined]  # functions take attributes
    function.__annotations__ = {one.name: one.annotation for one in taken}
    return function


def taking(
    manual: Manual, command: Callable[[Request], None], brief: bool, show: Callable[[Any], str]
) -> Callable[..., None]:
    """Return a function for typer that takes the options of a manual and runs `command`; a brief page shows only the
    common options.
    """

    def run(context: typer.Context, **values: Any) -> None:
        del values[HELP_ALL]
        sources = {name: context.get_parameter_source(name) for name in values}
        written = frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
        request = Request(**values, written=written)
        streams.hush(request.quiet)
        # A regime that does not exist is reported before anything is read.
        if "regime" in values:
            request.options()
        command(request)

    taken = [
        parameter(name, manual.defaults.get(name, GIVEN[name]), brief, name in manual.common) for name in manual.fields
    ]
    taken.append(all_options(show))
    taken.append(Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context))
    return signed(run, taken)
