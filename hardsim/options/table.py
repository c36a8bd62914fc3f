"""The table of options. From it come the command line with its help and completion, the page docs/options.md, and the
keywords of the Python methods (`make docs` writes the last two).

An option is a field of `Request`, and its entry names the commands that take it. To add an option, add a field. This
module imports nothing that takes long, so that help and mistakes in a command line are printed at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from fractions import Fraction
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast, get_args

from hardsim.errors import InputError, did_you_mean
from hardsim.lazy_dataclass import dataclass
from hardsim.options import values as kinds
from hardsim.options.values import LARGEST_LENGTH, ValueKind, one_of

if TYPE_CHECKING:
    from hardsim.targets.base import ModelOptions
    from hardsim.targets.inputs.base import Input

F = TypeVar("F", bound=Callable[..., Any])
ALL, SHARE = "all", "share"
ENGINES = ("auto", "float64", "ball", "mpmath")
WEIGHTINGS = ("softmax", "sparsemax", "geometric")
"""The weightings of attention, as `network.transformer.SoftWeighting` has them, with its rounded exponentials below."""
EXPONENTIALS = ("fixed:8", "fp16", "bf16", "fp32", "fp64")
"""The formats of rounded exponentials, as `network.rounding.EXPONENTIALS` has them."""
REGIMES = (
    "temperature", "position", "causal-temperature", "causal-position", "none", "layer-norm", "rounded", "geometric",
    ALL,
)  # fmt: skip
"""The ways to make attention sharp, as `program.regimes.NAMED` has them, and the word for all of them."""
TEXT, JSON = "text", "json"
DIALECTS = ("strong-next", "weak-next")
FORMATS = (TEXT, JSON, "junit", "github", "sarif", "csv")
"""Formats of standard output: tables, the JSON document, or a format that other programs read."""
LANGUAGE_CLASSES = (
    "J-trivial", "R-trivial", "R-trivial before the last symbol", "L-trivial", "DA", "star-free", "quasi-aperiodic",
)  # fmt: skip
"""Names of the classes of regular languages, as `lang.automata.classes` has them."""
CLASS_SYNONYMS = {
    "piecewise testable": "J-trivial", "pt": "J-trivial", "partially ordered": "R-trivial", "fo2": "DA", "fo2[<]": "DA",
    "two-variable": "DA", "aperiodic": "star-free", "ltl": "star-free", "fo": "star-free", "fo[<]": "star-free",
    "counter-free": "star-free", "fo[<,mod]": "quasi-aperiodic",
}  # fmt: skip
"""Other names of these classes, in lower case."""
DEFAULT_PORT = 8417
"""Port of the page of `hardsim serve`."""
UNIFORM_LENGTH, UNIFORM, POSITIVE = DISTRIBUTIONS = ("uniform-length", "uniform", "positive")
"""The distributions of independent random words, as `campaign.draws` has them."""
Judge: TypeAlias = Literal["oracle", "hard", "soft"]
"""The source of the answers: the oracle, hard attention or softmax."""

# ---- groups of commands and of fields ----

MODEL = "regime beta tau weighting exponential rounding at single_head counting"
TRIED = "max_n exhaustive samples seed"
DECIDING = f"{TRIED} draws distribution data engine dps soft_words {MODEL} epsilon against dialect"
"""The fields of a network's options, of the words that are tried, and of everything that decides the result of a
check. A check can be resumed only with the same values of the last group."""
COMPILED = "regime beta tau weighting exponential rounding single_head counting epsilon"
"""The fields of compilation options, which do not apply to an external network."""
ALIKE: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "watch": (
        "check",
        {
            "expression": "`watch` checks files when they are saved; `hardsim check -e TEXT` checks a formula.",
            "pin": "`watch` changes no file; `hardsim check FILE --pin` writes the failing word into it.",
            "resume": "Every check of `watch` begins anew; `hardsim check FILE --resume PATH` goes on.",
        },
    )
}
"""The commands that take the options of another one: that command, and the fields that are left out, each with what to
do instead."""
WRITTEN = {"certificate": "one certificate", "smt": "one file of queries"}
"""The options that name a file with a proof, each with a description of the file."""

ASKING = "check prove eval words show trace compile export precision bound report"
"""The commands to which the options of a model apply."""
LISTING = "check prove words show precision bound report"
"""The commands that take several inputs, of which each may be a line of a file."""
JUDGING = "check prove verify bound fmt"
"""The commands that print verdicts on several inputs in one of several formats."""
COMPUTING = "check prove eval words trace bound report"
"""The commands for which the arithmetic of the softmax network can be chosen."""
TRYING = "check heads bound report"
"""The commands that try words, all of a length or a sample."""
SOURCE = "check prove verify show compile export precision bound report"
"""The commands that take a formula instead of a file, or symbols of a file, among many other options."""


@dataclass(frozen=True)
class Option:
    """An option of the command line, or an argument, which has no name."""

    spelled: str
    """Its names, the short one first, and what stands for its value in help (nothing for a flag)."""
    help: str
    """Its help; the first sentence is its help on one screen."""
    default: Any = None
    brief: str = ""
    """The commands whose help of one screen lists it."""
    also: str = ""
    """The other commands that take it."""
    kind: ValueKind = kinds.TEXT
    """The kind of its values."""
    own: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    """The default of each command that has its own, and what its help says after it: the reason."""
    values: Sequence[str] = ()
    """All its values, if there are only a few (and `spelled` does not list them)."""
    aliases: str = ""
    """Earlier names of it, which help does not list."""
    keyword: str | None = None
    """The commands whose Python methods take it as a keyword; None: all of its commands that are methods."""
    omitted: str = ""
    """The commands for whose Python methods None stands for the default, although the default is no None."""
    type: str = ""
    """The type of its field, as it is written; the table adds it."""

    @property
    def names(self) -> list[str]:
        """Its names as they are typed."""
        return [word for word in self.spelled.split() if word.startswith("-")]

    @property
    def spellings(self) -> list[str]:
        """Its names as they are typed, with those that turn it off, and earlier ones."""
        return [*"/".join(self.names).split("/"), *self.aliases.split()]

    @property
    def flag(self) -> str:
        """Its name as it is typed; of several the long one. Empty for an argument."""
        return self.names[-1].partition("/")[0] if self.names else ""

    @property
    def metavar(self) -> str:
        """The word that stands for its value; empty for a flag."""
        last = self.spelled.split()[-1]
        return "" if last.startswith("-") else last

    @property
    def commands(self) -> list[str]:
        """All commands that take this option."""
        return f"{self.brief} {self.also}".split()

    def is_keyword(self, command: str) -> bool:
        """Return True if the Python method of a command takes it as a keyword."""
        return command in (self.commands if self.keyword is None else self.keyword.split())

    @property
    def choices(self) -> Sequence[str]:
        """All its values, if there are only a few."""
        return self.values or (self.metavar.split("|") if "|" in self.metavar else ())

    def of_python(self, name: str, value: object) -> Any:
        """Convert a Python value of this option, whose field is `name` (see `ValueKind.of_python`)."""
        if value is None and self.default is None:
            return None
        return self.kind.of_python(name, value)

    def default_of(self, command: str) -> Any:
        """Return the default that a command has."""
        return self.own[command][0] if command in self.own else self.default

    def help_of(self, command: str, brief: bool) -> str:
        """Return the help of a command, with the reason for a default of its own; if `brief`, only a sentence."""
        first, *rest = re.split(r"(?<=[.?]) ", self.help)
        if command in self.own:
            value, reason = self.own[command]
            first = f"{first[:-1]} (default: {value}{reason})."
        return first if brief else " ".join([first, *rest])


def option(spelled: str, **settings: Any) -> Callable[[str], Any]:
    """Return the function that takes the help of an option and returns its field, which holds the entry
    `Option(spelled, help, **settings)`."""
    of_flags: dict[str, Any] = {"default": False, "kind": kinds.FLAG}
    one = Option(spelled, "", **(of_flags if spelled.split()[-1].startswith("-") else {}) | settings)
    return lambda help: field(default=one.default, metadata={"option": replace(one, help=" ".join(help.split()))})


def console(spelled: str, **settings: Any) -> Callable[[str], Any]:
    """Return the same for an option that only the command line has."""
    return option(spelled, keyword="", **settings)


def argument(spelled: str, brief: str, default: Any = None) -> Any:
    """Return the field of an argument, which the text of the command describes."""
    return console(spelled, brief=brief, default=default)("")


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one command. A command takes some of them; the others have their defaults.

    `written` are the names of the fields that were given on the command line.
    """

    files: list[str] | None = argument("FILE", brief=f"{LISTING} equiv classify heads fmt")
    file: str | None = argument("FILE", brief="compile export new")
    words: list[str] | None = argument("WORD", brief="eval trace")
    name: str | None = argument("NAME", brief="examples")
    folder: str | None = argument("DIR", brief="replay")
    certificates: Sequence[str] = argument("FILE...", default=(), brief="verify")
    to: str | None = console(
        "--to NAME", brief="export", values=("torch", "onnx", "safetensors", "transformer-lens")
    )("""
        The format to write. torch is a folder with model.safetensors, config.json and a model.py that runs them;
        safetensors is the folder without model.py; onnx is one file; transformer-lens is a folder with the state dict
        of a HookedTransformer.""")
    automaton: str | None = console("--automaton FORMAT", brief="show", values=("dot", "json", "jff"))("""
        Write the minimal automaton instead: dot, json, jff. It goes to -o or standard output, as a DOT graph, as
        automata-lib's JSON, or as a file of JFLAP.""")
    output: str | None = console("-o --output PATH", brief="compile export report new", also="show")("""
        The file or directory to write. `compile`, `show` and `new` write a file ('-' is standard output), `report` a
        directory, `export` a directory, or for onnx a file. A directory is new or empty.""")
    expression: str | None = console("-e TEXT", brief="eval words trace classify", also=SOURCE)("""
        A formula instead of a file. Without --alphabet and --props its symbols are the alphabet, if there are two or
        more.""")
    expressions: list[str] | None = console("-e TEXT", brief="equiv")("""
        A formula instead of a file; twice: of both. Without --alphabet and --props it is over the alphabet of the file,
        or, if no file declares one, over the symbols of both.""")
    alphabet: str | None = console("--alphabet SYMBOLS", brief="eval words classify", also=f"{SOURCE} trace equiv")("""
        The symbols, such as 'a b'. Separate them by spaces; quote a symbol that has blanks. For -e, and for formulas,
        C-RASP programs and regular expressions that declare none.""")
    props: str | None = console("--props NAMES|auto", brief="eval words classify", also=f"{SOURCE} trace equiv")("""
        The propositions, such as 'p q', or auto. A position has a set of them. For -e, and for formulas and regular
        expressions that declare neither propositions nor symbols. With auto they are those that the text mentions.""")
    dialect: str | None = console("--dialect NAME", also=f"{ASKING} verify equiv classify", values=DIALECTS)("""
        Meaning of a bare X in a formula: strong-next (the default) or weak-next, as in Spot, pylogics, lydia and
        TLSF.""")
    lines: bool = console("--lines", also=f"{LISTING} classify")("""
        Read each line of a file as a formula. Each is an input of its own, FILE:LINE; header lines at the top hold for
        all of them.""")
    at: str | None = option("--at first|last", also=f"{ASKING} verify equiv classify", kind=kinds.AT)(
        "Position at which the formula is read (default: the file's own, or last)."
    )
    regime: str | None = option(
        "--regime R",
        brief="check prove eval show trace compile export precision report",
        also="words bound",
        values=REGIMES,
    )("""
        How softmax is made sharp; all means every way. The ways are temperature (the default), position,
        causal-temperature, causal-position, and for counts layer-norm and rounded, which need none; none is plain
        softmax, right up to a length that grows with beta; geometric is no softmax (see --weighting).""")
    beta: Fraction | None = option("--beta B", also=ASKING, kind=kinds.BETA)("""
        Inverse-temperature constant: a positive number such as 4, 7/2 or 3.9 (default: 4, or more if a comparison adds
        up many look-ups; proved sharp enough).""")
    tau: str | None = option("--tau EXPR", also=ASKING, kind=kinds.TAU)(
        "Temperature in n, or in i in regime causal-temperature, such as '1/(2*n)' (default: the regime's own)."
    )
    weighting: str | None = option("--weighting NAME", also=ASKING, values=WEIGHTINGS, kind=one_of(WEIGHTINGS))("""
        How scores become weights: softmax (the default); sparsemax, which is hard attention up to a temperature; or
        geometric: the nearest position first, without position encodings (a regime of its own).""")
    exponential: str | None = option(
        "--exponential FORMAT", also=ASKING, values=EXPONENTIALS, kind=one_of(EXPONENTIALS)
    )("""
        Format to which softmax rounds exponentials: fixed:8, fp16, bf16, fp32 or fp64 (regime rounded).""")
    rounding: Any = option("--rounding MODE:P", also=ASKING, kind=kinds.ROUNDING)("""
        Rounding to multiples of 2^-P after each sublayer, in regime rounded: floor:P (down; the default is floor:8),
        nearest:P, or biased:P (to the nearest, with half a unit subtracted before).""")
    epsilon: Fraction | None = option("--epsilon E", also=ASKING, kind=kinds.EPSILON)("""
        For hard-attention models and programs: the error for which Theorem 26 gives the temperature (default: half the
        least distance of an output from the threshold, at most 1/4).""")
    single_head: bool = option("--single-head", also=ASKING)(
        "One head per layer, as in the paper, instead of heads that share layers."
    )
    counting: str | None = option("--counting lookup|sign", also=ASKING, kind=kinds.METHOD)("""
        How comparisons of counts are decided: lookup looks up each count; sign tests the sign of the sum, which needs
        counts of one kind (default: lookup, or sign in the regimes without look-ups).""")
    hard: bool = option("--hard", brief="compile")(
        "Write the hard-attention model instead. Its format is that of .ahat.json."
    )
    engine: str = option("--engine NAME", default="auto", also=COMPUTING, values=ENGINES)("""
        The arithmetic of the softmax network: auto (float64 with rigorous error bounds, ball arithmetic where that is
        not enough), float64, ball, or mpmath, which has no error bounds.""")
    dps: int | None = option("--dps D", also=COMPUTING, kind=kinds.DIGITS)(
        "Decimal digits of mpmath, or digits with which balls begin (default: as many as are needed)."
    )
    soft_words: str = option(
        "--soft-words share|all", default=SHARE, also="check", values=(SHARE, ALL), kind=one_of((SHARE, ALL))
    )("""
        Words of a sample that softmax runs on: all, or a share (a quarter) where Theorem 26's error bound is far too
        small to change an answer.""")
    by: Judge = option("--by oracle|hard|soft", default="oracle", brief="words", kind=one_of(get_args(Judge), "Judge"))(
        "Whose answer counts."
    )
    max_n: int = option(
        "--max-n N",
        default=8,
        brief=f"{LISTING} export equiv heads",
        also="compile",
        kind=kinds.LENGTH,
        omitted="prove heads",
        own={
            "prove": (64, ", as a proof tries no words"),
            "show": (64, ", as no words are tried"),
            "export": (64, ", as no words are tried"),
            "precision": (4096, ", as most need no words"),
        },
    )(f"Largest length. It is from 1 to {LARGEST_LENGTH}.")
    min_n: int = option("--min-n N", default=1, brief="prove", kind=kinds.LENGTH)(
        "Smallest length. For a single length, give --max-n the same number."
    )
    all_n: bool = option("--all-n", brief="prove report")("""
        Prove every length. The argument can be checked by hand; the lengths up to --max-n are proved by other means,
        too.""")
    heads_only: bool = option("--heads-only", also="prove")(
        "Prove only that the network does what its heads' specification says, without a formula."
    )
    exhaustive: int = option(
        "--exhaustive M",
        default=1024,
        also=f"{TRYING} equiv precision words",
        kind=kinds.COUNT,
        own={
            "bound": (256, ", as each word is run at many temperatures"),
            "equiv": (2**16, ", as no network is run"),
            "precision": (2**16, ", as other lengths have no sample"),
            "words": (100000, " in all lengths together, as more are refused"),
        },
    )("Try every word of a length that has at most M words; of other lengths a sample.")
    search: int = option("--search M", default=2000, also="prove", kind=kinds.COUNT)(
        "If there is no proof, try every word of the short lengths that have at most M words together."
    )
    samples: int | None = option("--samples K", also=f"{TRYING} equiv", kind=kinds.SAMPLE)("""
        Random words per length that is not tried in full, besides structured ones (default: 20 up to length 16, 4
        beyond); for external networks all words that a search of the length tries (default: 400).""")
    seed: int = option("--seed S", default=0, also=f"{TRYING} equiv precision export", kind=kinds.SEED)(
        "Seed of the random words: any integer."
    )
    data: list[str] | None = console("--data FILE", brief="check")("""
        Judge the words of a labelled file alone. It has a word and a label on each line (.tsv, .csv, .jsonl); there
        may be several files.""")
    draws: int | None = option("--draws N", also="check", kind=kinds.DRAWS)("""
        Run N independent random words alone. The report then bounds the share of right answers, with confidence
        97.5 %.""")
    distribution: str = option(
        "--distribution NAME", default=UNIFORM_LENGTH, also="check", kind=one_of(DISTRIBUTIONS), values=DISTRIBUTIONS
    )("""
        The distribution of --draws. Up to --max-n: uniform-length (every length is equally likely, and every word of
        it), uniform (every word), positive (as the first, but words that the reference accepts).""")
    workers: int | None = option(
        "--workers W",
        also="check prove bound precision equiv report replay",
        keyword="check prove bound",
        kind=kinds.WORKERS,
    )("""
        Processes that share the words, or the inputs if there are many; the result does not depend on their number
        (default: one for a quick check, otherwise one per processor; on a cluster all).""")
    backend: str = option("--backend NAME", default="local", also="check bound", values=("local", "dask", "ray"))("""
        Where the processes run: local (this machine), dask (with --scheduler), or ray (the cluster of RAY_ADDRESS, or
        one that is started here); the result does not depend on it.""")
    scheduler: str | None = option("--scheduler ADDRESS", also="check bound")(
        "The dask scheduler of --backend dask, such as tcp://host:8786."
    )
    gap: bool = option("--gap", brief="bound")(
        "Report score gaps only. The report is short, for continuous integration."
    )
    critical: bool = console("--critical", brief="bound")("""
        Report how small beta may be. For all words of a length, and for every length; for programs with --tau, length
        by length.""")
    norm_epsilon: Fraction | None = console("--norm-epsilon E", also="bound", kind=kinds.EPSILON)("""
        Report how far norms of epsilon E are right. For regime layer-norm: a proved length, and the shortest
        wrong word that a search finds.""")
    require: str | None = console("--require proved|certified", brief="check")("Exit with code 3 for a weaker verdict.")
    tables: bool | None = console("--tables/--no-tables", default=None, also="check prove bound classify")(
        "Print the tables, such as the rows for lengths and heads (default: for a single input)."
    )
    all_lengths: bool = console("--all-lengths", also="check bound")(
        "Print a row for every length, instead of one for several lengths."
    )
    resume: str | None = option("--resume FILE", also="check", kind=kinds.PATH)("""
        Keep results in FILE, and continue from there if it exists: the same command, stopped at any moment, ends with
        the same report.""")
    plot: str | None = option("--plot PATH", brief="trace bound", kind=kinds.PATH, keyword="trace")("""
        Draw a picture: .svg, .png or .pdf, for `trace` also .html. Of `bound` it shows the results against n; of
        `trace` attention maps, hard beside soft, and the .html is a page to step through. All but the .svg and .html
        of `trace` need matplotlib, the extra plot.""")
    head: list[str] | None = console("--head NAME", brief="trace")(
        "Show one head only, position by position. There may be several."
    )
    certificate: str | None = option("--certificate PATH", brief="prove", kind=kinds.PATH)(
        "Write the proof for `hardsim verify`. '-' is standard output. The certificate is checked first."
    )
    smt: str | None = option("--smt PATH", also="prove", kind=kinds.PATH)("""
        Write the steps of --all-n for an SMT solver. Each query denies one of them, so every answer must be unsat.
        Needs --all-n. '-' is standard output.""")
    rocq: str | None = option("--rocq DIR", brief="verify", also="prove", kind=kinds.PATH, keyword="prove")("""
        The folder of a theorem for Rocq (Coq). `prove` writes it, about a formula's network; this needs --all-n, and if
        coqc or rocq is on the path, it is run at once. `verify` compares the theorem with MODEL.json, a compiled model
        in place of FILE. `make -C DIR` checks the proof.""")
    dtype: str | None = option(
        "--dtype NAME",
        brief="precision",
        also="export",
        values=("float64", "float32", "bfloat16", "float16", "float8_e4m3"),
        aliases="--arith",
        keyword="export",
    )("""
        The number format to check, or of an ONNX file. `precision` checks it alone: float32, bfloat16, float16 or
        float8_e4m3 (default: all); its exit code is then 1 if a word is wrong, and 3 if not all lengths are safe. An
        ONNX file computes in it: float64 (the default) or float32.""")
    accumulate: str | None = option("--accumulate float32", brief="precision")(
        "Accumulate sums in float32. They are rounded at their end."
    )
    length: int | None = option("--length N", also="export", kind=kinds.LENGTH)(
        "Write an ONNX file for words of N symbols alone."
    )
    formula: str | None = console("--formula FILE", brief="verify")(
        "The .ltl file of the formula that it must be about."
    )
    model: str | None = console("--model PATH", brief="verify")(
        "The network that it must be about. PATH is a compiled model, or an external network."
    )
    specification: str | None = console("--spec FILE", brief="verify")("""
        The specification that it must be about. It is for external networks: anything that --against takes. A .spec
        names its network itself, unless --model does.""")
    included: bool = option("--included", brief="equiv")(
        "Compare by inclusion. The other files should accept every word that the first one accepts."
    )
    html: str | None = console("--html PATH", brief="equiv", kind=kinds.PATH)("""
        Also write a web page with all results. It has a table of the files, the differing word of each, and the
        mistakes of files that cannot be read.""")
    against: str | None = console("--against FILE", also="check prove eval trace classify", kind=kinds.PATH)("""
        Use FILE as the reference instead of the input's own formula or program. FILE is a formula (.ltl), a program
        (.srasp, .cr), a regular expression (.re) or a specification (.spec) over the same symbols; it is read at the
        position that it names itself, whatever --at says, and nothing is proved about it.""")
    json: str | None = console(
        "--json PATH",
        brief="check prove verify eval equiv classify show heads trace precision bound examples fmt serve",
        also="words compile export new report",
    )("Also write everything as JSON. '-' is standard output, which then has nothing else.")
    format: str = console(
        "--format NAME", default="text", also=f"{JUDGING} equiv classify", kind=one_of(FORMATS), values=FORMATS
    )("""
        Print text, json, junit, github, sarif or csv. json is --json -; for other programs there are JUnit XML,
        annotations of GitHub Actions, SARIF 2.1.0, and CSV with a row for each input.""")
    quiet: bool = console("-q --quiet", also=f"{JUDGING} equiv classify report replay")(
        "Print verdicts and failures only."
    )
    within: str | None = console(
        "--within CLASS",
        brief="classify",
        kind=one_of(LANGUAGE_CLASSES, synonyms=CLASS_SYNONYMS),
        values=LANGUAGE_CLASSES,
    )("Exit with code 1 unless the language is in this class. The exit code is then about this class alone.")
    explain: bool = console("--explain", brief="classify")("Explain every class, with transformers and source.")
    fail_fast: bool = console("--fail-fast", also=f"{JUDGING} equiv classify")("""
        Stop after the first failure. A failure is a mismatch, bad input, or a verdict that is weaker than --require
        asks for.""")
    pin: bool = console("--pin", also="check prove")(
        "Write a failing word into the file. It becomes an example of one .ltl, .srasp or .cr file."
    )
    port: int = console("--port N", default=DEFAULT_PORT, brief="serve", kind=kinds.PORT)(
        "Port of the page. 0 takes one that is free."
    )
    check: bool = console("--check", brief="fmt")(
        "Only show what would change. The exit code is 1 if a file is not in its canonical form."
    )
    write: bool = console("-w --write", brief="fmt")("""
        Rewrite the files. Each is replaced as a whole; a file that has a mistake, or would not change, is left
        alone.""")
    written: frozenset[str] = frozenset()

    def options(self) -> list[ModelOptions]:
        """Return the model options, one for each regime that the request covers. Raises InputError if the regime, the
        position, the counting or the engine is unknown; SourceError if the temperature is no expression."""
        from hardsim.lang.arith import parse_arith
        from hardsim.network.transformer import SoftWeighting
        from hardsim.program.regimes import EVERY, GEOMETRIC, NAMED, ROUNDED
        from hardsim.targets.base import ModelOptions

        if self.regime is not None and self.regime not in (ALL, *NAMED):
            raise unknown("regime", self.regime, (*NAMED, ALL), f"; '{ALL}' means {', '.join(EVERY)}")
        for name in ("at", "counting", "dialect"):
            value, (one, other) = getattr(self, name), OPTIONS[name].choices
            if value not in (None, one, other):
                near = did_you_mean(value, (one, other))
                if name == "at" and value in ("each", "start", "mean"):
                    near = f"at: {value} in a specification (.spec) reads an external network there."
                hint = f"Write --{name} {one} or --{name} {other}{'; ' * bool(near)}{near or '.'}"
                raise InputError(f"--{name} must be {one} or {other}, not {value!r}", hint)
        tau = None if self.tau is None else parse_arith(self.tau, ("i", "n"), "--tau")
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        at, method = cast(Any, self.at), cast(Any, self.counting)
        regimes = EVERY if self.regime == ALL else (self.regime,)
        if self.regime == ALL and self.weighting == GEOMETRIC.name:
            regimes = (GEOMETRIC.name,)
        weighting = None if self.weighting is None else SoftWeighting(self.weighting)
        if self.exponential is not None and self.weighting not in (None, SoftWeighting.SOFTMAX):
            message = f"--exponential {self.exponential} rounds the exponentials of softmax, not {self.weighting}"
            raise InputError(message, "Leave out one of --exponential and --weighting.")
        if self.exponential is not None:
            weighting = SoftWeighting(f"{SoftWeighting.SOFTMAX}:{self.exponential}")

        def of(regime: str | None) -> ModelOptions:
            rounding = self.rounding if self.regime != ALL or regime == ROUNDED.name else None
            return ModelOptions(regime, self.beta, tau, at, self.single_head, method, self.epsilon, weighting, rounding)

        return [of(regime) for regime in regimes]

    def typed(self, names: Iterable[str]) -> list[str]:
        """Return those options, of the fields with these names, that were given, as they are typed."""
        found = list[str]()
        for name in names:
            one, value = OPTIONS[name], getattr(self, name)
            if name in self.written and isinstance(value, bool):
                found.append(one.flag if value else one.names[-1].partition("/")[2])
            elif name in self.written:
                found += [
                    text for each in (value if isinstance(value, list) else [value]) for text in (one.flag, str(each))
                ]
        return found

    def given(self, options: str, command: str = "") -> str:
        """Return those of the named options (field names separated by spaces) that differ from the defaults of a
        command, as they are typed; "" if none does. The largest length counts as given even if it is the default: it
        then decides the reach of a proof."""
        entries = {name: OPTIONS[name] for name in options.split()}
        differ = {name for name, one in entries.items() if getattr(self, name) != one.default_of(command)}
        found = differ - {"max_n"} | self.written & {"max_n"}
        return ", ".join(one.flag for name, one in entries.items() if name in found)

    def idle(self, given: Input) -> str | None:
        """Return a remark on options that have no effect on an input, or None if all have (a hard-attention model may
        have its own beta)."""
        if given.oracle_alone:
            named = self.given(f"{MODEL} epsilon engine dps dialect")
            return f"{named}: for networks and formulas; {given.what} has no network" if named else None
        if self.dialect is not None and not given.in_dialects:
            return "--dialect: not used; it is for formulas given as text"
        if given.has_formula:
            message = "a formula's temperature is its regime's, or yours"
            return None if self.epsilon is None else f"--epsilon: for hard-attention models and programs; {message}"
        given_options = {
            f"--regime {self.regime}": self.regime not in (ALL, None),
            "--beta": self.beta is not None and not given.has_beta,
            "--at": self.at is not None,
            "--single-head": self.single_head,
            "--counting": self.counting is not None,
            "--rounding": self.rounding is not None,
        }
        named = ", ".join(name for name, applies in given_options.items() if applies)
        verb = "they are" if "," in named else "it is"
        message = f"not used; {verb} for formulas. Set the temperature with --tau or --epsilon"
        return f"{named}: {message}" if named else None

    def require_stored(self, given: Input) -> None:
        """Refuse compilation options for an external network, whose weights are used unchanged. Raises InputError,
        naming these options."""
        named = self.given(COMPILED)
        if named:
            apply = "do not apply" if "," in named else "does not apply"
            message = f"{given.name} is an external network, which is used unchanged: {named} {apply}"
            raise InputError(message, f"Leave out {named}.")

    def softening(self) -> str | None:
        """Return a remark on options that set how sharp softmax attention is, for a target without softmax. Return
        None if no such option was given."""
        given = {"--beta": self.beta, "--tau": self.tau, "--epsilon": self.epsilon}
        named = [name for name, value in given.items() if value is not None]
        return f"{', '.join(named)}: for softmax; hard attention has no temperature" if named else None


def unknown(
    what: str, given: str, known: Sequence[str], more: str = "", called: Mapping[str, str] | None = None
) -> InputError:
    """Return the error for a value that is none of the `known` ones. `called` maps names that other tools use, in
    lower case, to the names used here."""
    other = (called or {}).get(given.lower())
    near = f"did you mean {other}?" if other is not None else did_you_mean(given, known)
    return InputError(f"unknown {what} {given!r}{near and f': {near}'}", f"The {what}s are: {', '.join(known)}{more}.")


def require_one_regime(request: Request, why: str) -> None:
    """Refuse `--regime all` where only one regime is possible; `why` gives the reason. Raises InputError if the request
    is for all regimes."""
    if request.regime == ALL:
        raise InputError(f"{why}: --regime {ALL} names several", "Name one regime.")


def table(request: type[Request]) -> dict[str, Option]:
    """Return the option of each field of a request, by the name of the field."""
    return {one.name: replace(one.metadata["option"], type=one.type) for one in fields(request) if one.metadata}


def signed(function: F, parameters: Sequence[Parameter]) -> F:
    """Give a function the signature with these parameters, which help and typer read. Return the function."""
    function.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]  # functions take attributes
    return function


OPTIONS = table(Request)
