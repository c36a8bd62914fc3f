"""The Python interface: open any file or network that hardsim reads, and run on it what the commands run.

    import hardsim

    since = hardsim.load("formulas/since.ltl")      # or .srasp, .re, .ahat.json, model.json
    since.check(max_n=6).verdict                    # every word up to length 6, tried and proved
    since.prove(all_n=True).reach                   # every word of every length
    since.eval("cba", "bc")                         # formula, hard attention and softmax on two words
    list(since.words(max_n=3, by="soft"))           # the language of the network
    since.bound(max_n=4).lengths                    # gaps, temperatures and errors beside the theory
    since.compile(regime="position").save("since.model.json")

    hardsim.load("since")                           # a shipped file, by its name
    hardsim.load("ab_plus").equiv("ab_plus.srasp")  # compare two files: the first word on which they differ, if any
    hardsim.load("a S b", alphabet="a b c")         # the text of a formula, as with `-e` and `--alphabet`

An external network is opened by its folder, as in `hardsim.load("gpt2/")`, or made by `from_torch` or `from_tracr`, and
compared with a function of words: `check(against=function, words=...)`.

A method takes the options of the command with the same name, with the same defaults. It raises
`hardsim.errors.InputError` where the command refuses its input. Messages that a command prints on standard error become
warnings (`hardsim.errors.Remark`). Ctrl-C raises `hardsim.errors.Interrupted`, a KeyboardInterrupt with the results
found so far.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial, wraps
from html import escape
from inspect import Parameter, signature
from itertools import combinations
from pathlib import Path
from threading import RLock
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, Unpack, overload

from hardsim.campaign.check import (
    CheckOptions,
    Progress,
    check_subject,
    default_workers,
    given,
    require_one_choice,
    tried_of,
)
from hardsim.campaign.check import check_options_of as requested_of
from hardsim.campaign.checkpoint import Checkpoint, checkpoint_of, remembering
from hardsim.campaign.evaluate import compiled_text, evaluate
from hardsim.campaign.failures import evaluated_apart
from hardsim.campaign.given import GivenWords
from hardsim.campaign.judges import NetworkJudge
from hardsim.campaign.result import CheckResult, EvalResult, Verdict, WordsResult
from hardsim.campaign.workers import crews
from hardsim.errors import (
    HardsimError,
    InputError,
    Interrupted,
    Remark,
    SourceError,
    WorkerFailure,
    did_you_mean,
)
from hardsim.examples import example_names, located
from hardsim.files import STDOUT, Folder, Sink, refusing
from hardsim.keywords import (
    BoundKeywords,
    CheckKeywords,
    ClassifyKeywords,
    CompileKeywords,
    CriticalKeywords,
    EquivKeywords,
    EvalKeywords,
    ExportKeywords,
    HeadsKeywords,
    Number,
    PrecisionKeywords,
    ProveKeywords,
    TraceKeywords,
    WordsKeywords,
)
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.of_formula import NoAutomaton
from hardsim.lang.corpus import line_of
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.pretty import format_formula
from hardsim.lang.unread_files import naming
from hardsim.lang.valuations import MENTIONED, Alphabet, is_proposition, listed, written_set
from hardsim.lang.vocabulary import brief
from hardsim.lang.words import check_word, parse_word
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring import bound as bounds
from hardsim.measuring import critical as criticals
from hardsim.measuring import norm_reach as norm_reaches
from hardsim.measuring.bound import BoundOptions, BoundResult, bound_report, bound_subject
from hardsim.measuring.classify import ClassifyResult, classify_input
from hardsim.measuring.critical import CriticalResult
from hardsim.measuring.equiv import EquivResult, compare
from hardsim.measuring.export import GOALS, ExportResult, export_of, fill_file, fill_folder
from hardsim.measuring.head_patterns import HeadsResult, heads_of, network_alone
from hardsim.measuring.language import accepted_language, language, observed_words, require_affordable, words_result
from hardsim.measuring.norm_reach import NormReach
from hardsim.measuring.trace import TraceResult, trace_target
from hardsim.options.table import OPTIONS, WRITTEN, Request, require_one_regime, signed, unknown
from hardsim.options.values import plain_text
from hardsim.precision.safe_lengths import PrecisionResult, ariths_of, precision_of
from hardsim.proof.shared.result import NotProved
from hardsim.proving import prove as proving
from hardsim.proving.external import NetworkProof, prove_network
from hardsim.proving.proof_before_words import check_with_proof
from hardsim.proving.proof_files import external_file, written_down
from hardsim.proving.prove import ProofResult
from hardsim.proving.rocq.coqc import find_prover
from hardsim.proving.rocq.theorem import TheoremPlan, plan_theorem
from hardsim.reading.readout import ReadAt
from hardsim.reading.tensors import Stored, is_network_folder
from hardsim.reading.torch_modules import NAME as TORCH
from hardsim.reading.torch_modules import from_torch as taken_from_torch
from hardsim.reading.tracr import from_tracr as taken_from_tracr
from hardsim.reading.writing import save
from hardsim.report.automaton import AutomatonState, states_of
from hardsim.report.maps import drawn, require_map
from hardsim.report.unused_options import equiv_unused, require_file_made, unused, unused_by
from hardsim.run.float_trust import reasons
from hardsim.targets.base import At, ModelOptions, Target, digest
from hardsim.targets.data import LabelledData, data_of, read_data
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.inputs.formula import of_formula
from hardsim.targets.labels import SAYS
from hardsim.targets.opening import of_document, of_stored, read_expression, read_input
from hardsim.targets.paths import REGEX, SUFFIXES, expand_paths, read_with
from hardsim.targets.python_reference import PythonReference
from hardsim.targets.regular_language import language_of
from hardsim.targets.result import ModelFacts, Opened, Word
from hardsim.targets.specification import SPEC
from hardsim.targets.subject import Subject
from hardsim.visible import visible
from hardsim.writing.automata import automaton_text

__all__ = [
    "BoundResult",
    "CheckResult",
    "ClassifyResult",
    "CriticalResult",
    "EquivResult",
    "EvalResult",
    "HeadsResult",
    "InputError",
    "Interrupted",
    "LanguageAutomaton",
    "Model",
    "NetworkProof",
    "NoAutomaton",
    "ProofResult",
    "Remark",
    "TraceResult",
    "Verdict",
    "WordsResult",
    "check",
    "equivalent",
    "from_torch",
    "from_tracr",
    "load",
    "load_lines",
    "parse",
]

Against: TypeAlias = "str | os.PathLike[str] | Model | Callable[[tuple[Any, ...]], Any]"
"""A reference to compare with: the path of a file, an opened model, or a function of words."""
Data: TypeAlias = "str | os.PathLike[str] | Mapping[Any, Any] | Iterable[tuple[Any, Any]]"
"""Labelled data: the path of a file, or words with their labels."""
ProgressCallback: TypeAlias = Callable[[int, int], None]
"""A callback for progress: it gets the number of words, heads or lengths that are done, and their total."""

OPENED = (*SUFFIXES, REGEX, ".dot", ".gv", ".jff", ".json")
"""Suffixes of files that can be opened; a file of any other name may be a network."""
LONGEST_SHOWN = 60
"""Largest number of characters of a formula, title or alphabet in a repr."""
IGNORED = "-100"
"""The label that loss functions of PyTorch ignore."""
INSIDE = (str(Path(__file__).parent) + os.sep, contextmanager.__code__.co_filename)
"""Path prefixes of files whose lines are not the caller's, for the place that a warning names."""
TURN = RLock()
"""Lock of all computation: the precision of ball arithmetic is one setting of the whole process (see `run.ball`)."""
P = ParamSpec("P")
T = TypeVar("T")
_VALUES = {value for one in OPTIONS.values() for value in one.choices}
_VALUE = rf"[0-9]+(?:[./](?:\w+|\([^()\s]+\)))?(?!\S*\w)|tcp://\S*\w|FILE\b|'[^'\n]*'|(?:{'|'.join(_VALUES)})(?![\w-])"
_NAME = "|".join(one.flag[2:] for one in OPTIONS.values() if len(one.flag) > 2)
_OPTION = re.compile(rf"(?<![\w/-])--({_NAME})(?![\w-])(?: ({_VALUE})( (?=--))?)?")
"""Pattern of an option of the command line in a message, with its value if the value is recognisable."""


def spoken(text: str) -> str:
    """Translate the options in a message to Python: `--max-n` becomes `max_n`, `--max-n 8` becomes `max_n=8`, and `--at
    last` becomes `at="last"`.
    """

    def parameter(found: re.Match[str]) -> str:
        name, value, more = found.groups()
        name = name.replace("-", "_")
        if value is None:
            return name
        # Numbers and quoted values are Python already; names need quotes.
        literal = value if re.fullmatch("[0-9]+|FILE|'.*'", value) else f'"{value}"'
        return f"{name}={literal}{', ' if more else ''}"

    return _OPTION.sub(parameter, text)


@contextmanager
def _spoken_errors() -> Iterator[None]:
    """Name options in errors as Python does."""
    try:
        yield
    except HardsimError as error:
        if isinstance(error, InputError | WorkerFailure):
            error.message, error.hint = spoken(error.message), spoken(error.hint)
        else:
            error.args = tuple(map(spoken, error.args))
        if isinstance(error, SourceError):
            error.source = replace(error.source, name=spoken(error.source.name))
        raise


class _Failed(BaseException):
    """Carries an error of the caller's own `progress` or function past hardsim's error handling."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def _answering(method: Callable[P, T]) -> Callable[P, T]:
    """Return the method so that only one thread at a time runs such a method, errors of the caller's own functions are
    raised unchanged, and a partial result is raised. Its signature and documentation list the keywords of its command.
    """
    command = method.__name__
    own = [one for one in signature(method).parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    types = globals()[method.__annotations__["keywords"][len("Unpack[") : -1]].__annotations__
    keyword = partial(Parameter, kind=Parameter.KEYWORD_ONLY)
    added = [
        keyword(name, default=OPTIONS[name].default_of(command), annotation=one.__forward_arg__)
        for name, one in types.items()
    ]
    known = {one.name for one in (*own, *added)}

    @wraps(method)
    def answer(*args: P.args, **options: P.kwargs) -> T:
        for name in options.keys() - known:
            near = did_you_mean(name, list(known))
            raise TypeError(f"{command}() got an unexpected keyword argument {name!r}{near and f'; {near}'}")
        # Errors of the caller leave the lock before they are raised again.
        with TURN:
            try:
                result = method(*args, **options)
            except _Failed as failed:
                error: BaseException = failed.error
            else:
                # A proof is partial if the words after it are, or the check of its Rocq theorem.
                parts = getattr(result, "confirmed", None) or result, getattr(result, "rocq", None)
                if not any(getattr(one, "partial", False) for one in parts):
                    return result
                error = Interrupted(result)  # so that loops around the call end, too
        raise error

    lines = [f"{name}: {spoken(OPTIONS[name].help_of(command, brief=True))}" for name in types]
    answer.__doc__ = "\n            ".join([f"{method.__doc__}\n        Options:", *lines])
    return signed(answer, [*own, *added])


@dataclass(frozen=True, repr=False, eq=False)
class Model:
    """An opened formula, program, regular expression, hard-attention model or network.

    Models are made by `load`, `parse` and `compile`. The methods take the options of the commands with the same names
    (`hardsim check --help-all` explains each option), and compile anew with the options of a model: `regime`, `beta`,
    `tau`, `at`, `single_head`, `counting`, `epsilon`. Numbers are exact (see `Number`); words are text, or sequences of
    symbols.

    Raises (all methods):
        hardsim.errors.InputError: if an option is out of range or does not apply, if the formula has no construction in
            the regime (Unsupported), or if a word leaves the range of a program's construction (OutOfRange).
        TypeError: if an option has a type that it cannot have.
    """

    _input: Input
    _read: bool = True
    """True if the input was read from a file. If it was compiled here, an inconsistency is a defect of hardsim, not of
    a file.
    """
    _at: At | None = None
    """Position at which methods without an `at` of their own read the formula; None: the position that the file
    names.
    """

    # ---- properties ----

    @property
    def name(self) -> str:
        """Path of the file, or `<expression>`; a compiled network has the name of its source."""
        return self._input.name

    @property
    def kind(self) -> Opened:
        """Kind of the input: formula (or its network), program, hard-attention model, regular expression or external
        network.
        """
        return self._input.kind

    @property
    def alphabet(self) -> Alphabet:
        """Symbols of words, in order."""
        return self._input.alphabet

    @property
    def text(self) -> str:
        """Text of the formula or program; for a hard-attention model, its JSON."""
        return self._input.text

    @property
    def title(self) -> str:
        """Title that the file gives itself."""
        return self._input.title

    @property
    def sha256(self) -> str:
        """SHA-256 digest of the file, or of the JSON document of the network."""
        return self._input.sha256

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the file, which `load` gives as warnings."""
        return self._input.notes

    @cached_property
    def network(self) -> ModelFacts | None:
        """Size of the network; None for a formula, which each method compiles, and for a program without a
        construction.
        """
        return self._input.facts

    def __repr__(self) -> str:
        return visible(f"<hardsim.Model {self.name}: {', '.join(text for _, text in self._shown())}>")

    def _repr_html_(self) -> str:
        rows = [("name", self.name), *self._shown()]
        cells = (f"<tr><th>{escape(key)}</th><td>{escape(visible(text))}</td></tr>" for key, text in rows)
        return f"<table>{''.join(cells)}</table>"

    def _shown(self) -> Iterator[tuple[str, str]]:
        """Yield labelled short facts about the input: kind, formula or title, alphabet and network."""
        given, facts = self._input, self.network
        yield "kind", f"network of a {given.noun}" if given.has_formula and facts is not None else given.noun
        if given.has_formula:
            yield "formula", _shortened(format_formula(given.file.formula))
        elif self.title:
            yield "title", _shortened(f"{SAYS}{self.title}")
        yield "alphabet", _shortened(f"over {listed(self.alphabet, LONGEST_SHOWN)}")
        if facts is not None:
            yield "network", facts.summary

    # ---- questions about the model ----

    @_answering
    def check(
        self,
        *,
        against: Against | None = None,
        unjudged: Any = None,
        words: Iterable[str | Iterable[Any]] | None = None,
        data: Data | None = None,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> CheckResult:
        """Check word by word that the network answers right: compare semantics, hard attention and softmax.

        The words have length 1 to `max_n` (by default at most the length of the network's table of positions) or are
        longer examples of the file; if `words` is given, only these are tried. `progress` gets the number of words done
        and of all words. `against` replaces the semantics by a reference: an opened formula, program, regular
        expression, specification or network, the path of one, or a function. The function gets a word (a tuple of
        symbols) and returns the expected output (see `docs/python.md`), or None or `unjudged` for "not judged". Its
        exceptions are raised unchanged, unless another word is a mismatch. `data` is labelled data in place of both:
        the path of a file, or pairs of a word and its label; `accuracy` of the result counts its rows.

        Raises:
            hardsim.errors.Interrupted: at Ctrl-C, with a partial result.
            hardsim.errors.WorkerFailure: if workers are lost again and again.
        """
        with self._call("check", keywords, against, unjudged, _labelled(data, against)) as call:
            request, given, other = call.request, call.given, call.given.against
            function = isinstance(other, PythonReference)
            _require_here(request, function, words is not None)
            require_one_choice(request)
            if words is not None and (data is not None or request.draws is not None):
                raise InputError("words, data and --draws each choose the words", "Give one of them.")
            read = [(one.name, one.sha256, one.alphabet) for one in (given, other) if one is not None]
            with call.keeping(read) as kept, crews(request, call.remark) as staff:
                if kept is None or not kept.complete:
                    staff.join()
                subject = call.target()
                call.precision(subject, request.max_n)
                options, update = _tried(requested_of(request, subject), words, subject), _update(progress)
                with remembering(kept, subject.name, subject.regime) as memory:
                    result = memory.result
                    if result is None:
                        crew = staff.crew(lambda: 1 if function else default_workers(subject, options))
                        result = check_with_proof(subject, replace(options, workers=crew.workers), update, crew, memory)
                        if not result.partial:
                            memory.finish(result)
                if kept is not None and not result.partial:
                    kept.finish()
            call.failed(result)
        return result

    @overload
    def prove(
        self,
        *,
        against: None = None,
        unjudged: None = None,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[ProveKeywords],
    ) -> ProofResult: ...

    @overload
    def prove(
        self,
        *,
        against: Against,
        unjudged: Any = None,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[ProveKeywords],
    ) -> NetworkProof | CheckResult: ...

    @_answering
    def prove(
        self,
        *,
        against: Against | None = None,
        unjudged: Any = None,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[ProveKeywords],
    ) -> ProofResult | NetworkProof | CheckResult:
        """Prove that the network is right on every word of length `min_n` to `max_n` (None: 64, or as far as a proof
        reaches), or, with `all_n`, of every length. `progress` gets the number of heads or lengths proved, and of all.

        An external network is proved `against` its reference, after every judged prefix of at most `max_n` symbols
        (None: to the end of its table of positions); the result is a NetworkProof. Where no proof is attempted, words
        are checked, with a warning that says why. For all other inputs there is no `against`. `engine`, `dps` and
        `workers` have no effect, as on the command line.

        Raises:
            hardsim.errors.Undecided: if there is a proof, but the checker of certificates cannot follow it.
            KeyboardInterrupt: at Ctrl-C before there is a verdict; Interrupted, with a result, after.
        """

        with self._call("prove", keywords, against, unjudged) as call:
            request = call.request
            proving.require_provable(request)
            if call.given.is_network:
                return _proved_network(call, progress)
            call.unused(*proving.UNUSED)
            if (other := call.given.against) is not None:
                message = (
                    f"{self.name} was compiled here, and a proof is about what was compiled, not about {other.name}"
                )
                raise InputError(message, "Leave out against; check compares the words.")
            with ExitStack() as stack:
                targets = {option: stack.enter_context(_sink(path, option, "Name a file."))
                           for option in WRITTEN if (path := getattr(request, option)) is not None}  # fmt: skip
                _require_apart(targets, located(self.name))
                subject = call.subject()
                plan = proving.plan_proof(subject, request)
                theorem = None if request.rocq is None else plan_theorem(subject, request.rocq, "rocq")
                call.remark(plan.remark)
                result = proving.confirmed(plan.prove(_passing(progress)))
                if theorem is not None and result.verdict is Verdict.PROVED:
                    result = _with_theorem(result, theorem)
                for option, target in targets.items():
                    if result.verdict is Verdict.PROVED:
                        target.write(written_down(option, subject, request, result)[0])
        return result

    @_answering
    def eval(
        self,
        *words: str | Iterable[Any],
        against: Against | None = None,
        unjudged: Any = None,
        **keywords: Unpack[EvalKeywords],
    ) -> EvalResult:
        """Return the answers on each of the given words: of the semantics, of hard attention and of softmax; for an
        external network, its outputs at each position.
        """
        with self._call("eval", keywords, against, unjudged) as call:
            if not words:
                raise InputError("no word to evaluate", "Give words: text, or sequences of symbols.")
            dps, engine = call.request.dps, call.request.engine
            if call.given.is_network:
                network = call.given.network(call.options)
                judge, given = NetworkJudge(network, dps, engine), [_word_of(word, network) for word in words]
                found, bad = evaluated_apart(given, lambda some: [judge.evaluation(word) for word in some])
                result = EvalResult.of(network, engine, found, bad)
            else:
                with self._input.about_alphabet():
                    given = [_word(word, self.alphabet) for word in words]
                subject, longest = call.subject(), max(map(len, given))
                call.precision(subject, longest)
                options = CheckOptions(max_n=longest, dps=dps, engine=engine)
                # One bad word must not lose the answers on the others.
                found, bad = evaluated_apart(given, lambda some: list(evaluate(subject, some, options)))
                result = EvalResult.of(subject, engine, found, bad)
            call.failed(result)
        return result

    @_answering
    def words(self, **keywords: Unpack[WordsKeywords]) -> WordsResult:
        """Return the accepted words of length 1 to `max_n`, shortest first, then in the order of the alphabet. A
        request that would try, or list from an automaton, more than `exhaustive` words is refused.

        Raises:
            hardsim.errors.Undecided: if softmax reaches no answer on a word.
            hardsim.errors.Interrupted: at Ctrl-C, with the words that were found.
        """
        with self._call("words", keywords) as call:
            request, given = call.request, self._input
            automaton = require_affordable(given, request)
            if not given.compilable and request.by == "oracle":
                facts, found = None, accepted_language(given, request, automaton)
            else:
                subject = call.subject()
                facts, found = subject.facts, language(subject, request, automaton)
                if request.by == "soft":
                    call.precision(subject, request.max_n)
                    call.remark(observed_words(request))
            kept, whole = list[Word](), False
            # An interruption keeps the words found so far.
            with suppress(KeyboardInterrupt):
                kept.extend(found)
                whole = True
        return words_result(given, facts, request, kept, not whole, automaton)

    @_answering
    def equiv(
        self,
        other: Model | str | os.PathLike[str],
        *,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[EquivKeywords],
    ) -> EquivResult:
        """Compare two files: whether they give the same answer on every word; or, if `included`, whether the other one
        accepts every word that this one accepts. `other` is a model or the path of a file.

        Files that have an automaton are compared at every length, others (such as comparisons of two counts) on the
        words of length 1 to `max_n` and on longer examples. Formulas are read at the position that their files name, or
        both at `at`. `progress` gets the number of words done and of all words.

        Raises:
            hardsim.errors.Interrupted: at Ctrl-C, with a partial result.
        """
        with self._call("equiv", keywords) as call:
            request, report_progress, where = call.request, _passing(progress), call.options.at
            expected = "equiv takes a model, or a path,"
            given = other._input if isinstance(other, Model) else read_input(_path(other, expected))
            beside = where if keywords.get("at") is not None else other._at if isinstance(other, Model) else None
            for text in () if isinstance(other, Model) else given.notes:
                call.remark(text)
            for text in equiv_unused(request, self._input, given):
                call.remark(text)
            options = CheckOptions(request.max_n, request.exhaustive, request.samples, request.seed)
            update = None if report_progress is None else lambda n, done, total: report_progress(done, total)
            sides = self._input.semantics(where), given.semantics(beside)
            result = compare(*sides, options, update, request.included)
            call.remark(result.remark)
            return result

    @overload
    def bound(
        self, *, critical: Literal[True], progress: ProgressCallback | None = None, **keywords: Unpack[CriticalKeywords]
    ) -> CriticalResult: ...

    @overload
    def bound(
        self, *, norm_epsilon: Number, progress: ProgressCallback | None = None, **keywords: Unpack[CriticalKeywords]
    ) -> NormReach: ...

    @overload
    def bound(
        self,
        *,
        critical: Literal[False] = False,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[BoundKeywords],
    ) -> BoundResult: ...

    @_answering
    def bound(
        self,
        *,
        critical: bool = False,
        norm_epsilon: Number | None = None,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[BoundKeywords],
    ) -> BoundResult | CriticalResult | NormReach:
        """Report gaps, temperatures and errors by length, beside what theory allows; with `critical`, how small beta
        may be instead; with `norm_epsilon`, how far a network of regime `layer-norm` is right if its norms have this
        epsilon. `progress` gets the number of words or lengths done, and their total.

        Raises:
            hardsim.errors.Interrupted: at Ctrl-C, with a partial result.
            hardsim.errors.Undecided: if no temperature gives the error asked for.
            hardsim.errors.WorkerFailure: if workers are lost again and again.
        """
        given: dict[str, object] = dict(keywords)
        if norm_epsilon is not None:
            given["norm_epsilon"] = norm_epsilon
        with self._call("bound", given, critical=critical) as call:
            request = call.request
            criticals.require_critical(request)
            if request.norm_epsilon is not None:
                call.unused(*norm_reaches.UNUSED)
                return norm_reaches.norm_reach(call.subject(), request.norm_epsilon, _passing(progress))
            call.unused(*(criticals.UNUSED if request.critical else bounds.UNUSED))
            if request.gap:
                call.unused(*bounds.UNUSED_FOR_GAPS)
            with crews(request, call.remark) as staff:
                if request.critical:
                    return criticals.critical(call.subject(), request.max_n, _passing(progress))
                staff.join()
                target = bound_subject(call.subject(), request.gap, request.epsilon)
                options = tried_of(request, target.subject)
                crew = staff.crew(lambda: 1 if request.gap else default_workers(target.subject, options))
                expected = BoundOptions(gap=request.gap)
                return bound_report(target, options, expected, _update(progress), crew)

    @_answering
    def compile(self, **keywords: Unpack[CompileKeywords]) -> Model:
        """Return the softmax network, as if `hardsim compile` had written it and it had been read again; with `hard`,
        the hard-attention model. A program or a hard-attention model becomes a softmax model for lengths up to `max_n`.

        Raises:
            hardsim.errors.Undecided: if no temperature gives the error asked for.
        """
        with self._call("compile", keywords) as call:
            subject = call.subject()
            if call.request.hard and not subject.of_formula:
                call.remark(call.request.softening())
            text = compiled_text(subject, call.request.hard, call.request.max_n)
            return Model(of_document(text.encode("utf-8", "backslashreplace"), self.name), _read=False)

    # ---- elsewhere, and in number formats ----

    @_answering
    def export(
        self, path: str | os.PathLike[str], to: str = "torch", **keywords: Unpack[ExportKeywords]
    ) -> ExportResult:
        """Write the network for another framework: with `to` "torch" or "safetensors" a folder, new or empty; with `to`
        "onnx" a file for words of up to `max_n` symbols, or of exactly `length` symbols, that computes in `dtype`.

        If torch or onnxruntime is installed, what was written is run on random words, and the result contains the
        largest difference from the exact outputs. `load` opens the folder.

        Raises:
            hardsim.errors.InputError: if the files cannot be written, if the folder is not empty, or if the library
                onnx is needed and not installed.
        """
        name = _path(path, "export takes a path,")
        with self._call("export", keywords, to=to) as call:
            request = call.request
            if to not in GOALS:
                raise unknown("target", str(to), GOALS)
            made = export_of(call.given, call.options, request.max_n)
            made.require_room(request.length or 1)
            if to == "onnx":
                with _sink(name, "export", "Name a file.") as target:
                    target.spare(located(self.name))
                    data, result = fill_file(made, name, request)
                    target.write(data)
                return result
            with refusing(name, "export", "folder"):
                # The folder appears only when it is complete.
                folder = Folder(Path(os.path.abspath(name)), "export")
            try:
                with refusing(name, "export", "folder"):
                    result = fill_folder(made, to, folder.path, name, request)
                    folder.commit()
            finally:
                folder.close()
            return result

    @_answering
    def precision(self, arith: str | None = None, **keywords: Unpack[PrecisionKeywords]) -> PrecisionResult:
        """Find the length, up to `max_n`, to which every evaluation of the exported network is right in float32,
        bfloat16, float16 and float8_e4m3 (or only in the format `arith`), and a word that is wrong.

        Sums are accumulated in the format, or, if `accumulate` is "float32", in float32. If nothing is known for all
        words of a length at once, every word is enclosed, at lengths with at most `exhaustive` words.

        Raises:
            hardsim.errors.InputError: if there is no such format, or no network.
            hardsim.errors.Interrupted: at Ctrl-C, with a partial result.
        """
        with self._call("precision", keywords, dtype=OPTIONS["dtype"].of_python("arith", arith)) as call:
            request = call.request
            made = export_of(call.given, call.options, request.max_n)
            return precision_of(
                made, self.name, ariths_of(request), request.max_n, request.exhaustive,
                request.accumulate is not None, request.seed,
            )  # fmt: skip

    # ---- the language ----

    def automaton(self, *, at: At | None = None) -> LanguageAutomaton:
        """Return the minimal automaton of a regular language: of a formula, read at `at` (None: at the position that it
        was opened for, or its own), a C-RASP program, or a regular expression; for a specification, of what it states.

        Raises:
            NoAutomaton: if the language is not known to be regular, or a limit of size is exceeded.
            hardsim.errors.InputError: if the input is a program, a model or a network, without a specification.
        """
        with _in_python():
            where = self._at if at is None else at
            Request(at=where).options()  # for its error
            return LanguageAutomaton(language_of(self._input, where).semantics.automaton)

    @_answering
    def classify(
        self, *, against: str | os.PathLike[str] | Model | None = None, **keywords: Unpack[ClassifyKeywords]
    ) -> ClassifyResult:
        """Return the published classes that the language is in, each with a Boolean (None: not decided), a witness and
        its citation, as `result["star-free"]`. For programs, models and networks, the language is that of `against`:
        nothing is claimed about the weights.

        Raises:
            NoAutomaton: if the language is not known to be regular, or its automaton is too large.
            hardsim.errors.InputError: if there is no language, or an input with a language is given `against`.
        """
        with self._call("classify", keywords, against) as call:
            return classify_input(call.given, call.options.at)

    # ---- external networks ----

    @_answering
    def heads(
        self,
        *,
        words: Iterable[str | Iterable[Any]] | None = None,
        progress: ProgressCallback | None = None,
        **keywords: Unpack[HeadsKeywords],
    ) -> HeadsResult:
        """Report where each head of an external network attends, and how hard, in certified float64.

        The words are those of length 1 to `max_n` (None: 8, or the number of rows of the table of positions if that is
        less), or only the given `words`. `progress` gets the number of words done and of all words.

        Raises:
            hardsim.errors.InputError: if the input is not an external network.
            hardsim.errors.Interrupted: at Ctrl-C, with a partial result.
            hardsim.errors.Undecided: if float64 cannot be trusted in this process.
        """
        with self._call("heads", keywords) as call:
            subject = network_alone(call.given, call.request)
            return heads_of(subject, _tried(tried_of(call.request, subject), words, subject), _update(progress))

    @_answering
    def trace(
        self,
        word: str | Iterable[Any],
        *,
        head: Iterable[str] = (),
        against: Against | None = None,
        unjudged: Any = None,
        **keywords: Unpack[TraceKeywords],
    ) -> TraceResult:
        """Trace one word position by position: the value of each coordinate and where each head looks, hard beside
        soft. `plot` is a file (.svg, .png, .pdf, .html) for attention maps of all heads, or of the heads that `head`
        names.

        Raises:
            hardsim.errors.Undecided: if a number has no bounds.
        """
        # A single name is a common slip; without this it would be read letter by letter.
        names = [head] if isinstance(head, str) else list(head)
        with self._call("trace", keywords, against, unjudged) as call:
            request, subject = call.request, call.target()
            with self._input.about_alphabet():
                given = _word_of(word, subject)
            with ExitStack() as stack:
                target = None
                if request.plot is not None:
                    require_map(request.plot)
                    target = stack.enter_context(_sink(request.plot, "plot", "Name a file."))
                    target.spare(located(self.name))
                result = trace_target(subject, given, request.engine, request.dps)
                chosen = result.chosen(names)
                if target is not None:
                    target.write(drawn(result, chosen, target.path))
        return result

    def read_as(
        self,
        *,
        tokens: str | Sequence[Any] | None = None,
        alphabet: str | Sequence[Any] | None = None,
        input: str | None = None,
        at: ReadAt | None = None,
        decide: str | None = None,
    ) -> Model:
        """Return an external network that is read in another way; arguments that are not given keep their setting.

        Args:
            tokens: names of the tokens, in order of their ids.
            alphabet: the tokens of which words are made.
            input: the tokens read around a word: in `"<bos> *"` the word is `*`.
            at: where the answer is read: at the "last" token, the "first" symbol, "each" symbol, the token at the
                "start" (before the word, if `input` has one there), or from the "mean" over all tokens.
            decide: how outputs give the answer: `"above 0"`, `"argmax"`, `"argmax of a b"` or `"value within
            1/100"`.

        Raises:
            hardsim.errors.InputError: if the input is not an external network, or has no such token.
        """
        with _in_python():
            if not self._input.is_network:
                raise InputError(f"read_as is for external networks, but {self.name} is {self._input.what}")
            names, symbols = _names(tokens, "tokens"), _names(alphabet, "an alphabet")
            for what, how in (("input", input), ("at", at), ("decide", decide)):
                if how is not None:
                    _text(how, f"{what} is text,")
            return Model(self._input.read_as(tokens=names, alphabet=symbols, input=input, at=at, decide=decide))

    # ---- as a file ----

    def to_json(self) -> str:
        """Return the text of the `model.json` or `.ahat.json` file, with exact rationals; for an external network, the
        text of `hardsim-network` JSON.

        Raises:
            hardsim.errors.InputError: if the input is a formula or program, which is not compiled yet.
        """
        return self._input.to_json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a file, which appears whole or not at all; `load` opens it if its name ends in `.json`.
        A network that was read from a folder, or taken from a library, becomes a folder, or JSON if the name ends in
        `.json`.

        Raises:
            hardsim.errors.InputError: if the input is not compiled, or if the file or folder cannot be written, or is
                the one that was read.
        """
        name = _path(path, "save takes a path,")
        # Weights of a folder or a library are kept in their own format.
        if not name.endswith(".json"):
            with _in_python():
                if (stored := self._input.folder()) is not None:
                    save(stored, name)
                    return
        text = self.to_json()
        with _sink(name, "save", "For its text: print(model.to_json()).") as target:
            for read in read_with(self.name):
                target.spare(read)
            target.write(text)

    # ---- requests ----

    @contextmanager
    def _call(
        self,
        command: str,
        keywords: Mapping[str, object],
        against: object = None,
        unjudged: Any = None,
        data: Callable[[], LabelledData] | None = None,
        **more: object,
    ) -> Iterator[_MethodCall]:
        """Yield the request that the options of a method make, and handle the errors of answering it.

        Errors and remarks name options as Python does. If the network of a file contradicts itself, the error blames
        the file.
        """
        with _in_python() as remark, self._input.answering() if self._read else nullcontext():
            named = {**keywords, **more}
            # A model or a function is no option of a command, so it stays out of the request.
            if isinstance(against, str | os.PathLike):
                named["against"] = against
            for name in [one for one, value in named.items() if value is None and command in OPTIONS[one].omitted]:
                del named[name]
            # The position with which the model was opened counts if the method gives none.
            if named.get("at") is None and command in OPTIONS["at"].commands:
                named["at"] = self._at
            values = {name: OPTIONS[name].of_python(name, value) for name, value in named.items()}
            defaults = {name: one.default_of(command) for name, one in OPTIONS.items() if command in one.own}
            request = Request(**{**defaults, **values}, written=frozenset(values))
            require_one_regime(request, "a result is about one network")
            given, options = self._input, request.options()[0]
            if data is not None:
                labelled = data()
                given = replace(given, against=labelled)
                request = replace(request, data=[name for name, _ in labelled.files])
            if unjudged is not None and (not callable(against) or isinstance(against, Model)):
                message = "unjudged is a value that a function may return, but against is not a function"
                raise InputError(message, "Leave out unjudged, or give against=function.")
            if against is not None:
                given, notes = _limited(given, against, unjudged)
                for text in notes:
                    remark(text)
            if given.is_network:
                request.require_stored(given)
            # Options that have no effect are remarks, as on the command line, and not errors.
            for text in unused(command, request, given):
                remark(text)
            try:
                yield _MethodCall(command, given, request, options, remark)
            except InputError as error:
                # An exception of the caller's function was wrapped on its way; the original is raised.
                own = given.against.raised(error) if isinstance(given.against, PythonReference) else None
                if own is None:
                    raise
                raise _Failed(own) from None


@dataclass(frozen=True)
class _MethodCall:
    """The request of a method call, with its input and the function that takes remarks."""

    command: str
    given: Input
    request: Request
    options: ModelOptions
    report_remark: Callable[[str], None]

    def remark(self, text: str | None) -> None:
        """Add a remark, unless it is None."""
        if text is not None:
            self.report_remark(text)

    @contextmanager
    def keeping(self, read: Sequence[tuple[str, str, Alphabet]]) -> Iterator[Checkpoint | None]:
        """Open the file of `resume`, if there is one. If results cannot be written there, a remark says so, and they
        are returned anyway."""
        kept = checkpoint_of(self.request, read)
        if kept is None:
            yield None
            return
        kept.lost = lambda error: self.remark(str(error))
        with closing(kept):
            yield kept

    def failed(self, result: CheckResult | EvalResult) -> None:
        """Add a remark for each word that has no result because of an error."""
        for one in result.errors:
            self.remark(one.summary)
        missing = result.mismatch.no_output if isinstance(result, CheckResult) and result.mismatch else None
        if missing is not None and missing.expected == IGNORED and isinstance(self.given.against, PythonReference):
            self.remark(f"no output is {IGNORED}; if it marks what is not to be judged, give unjudged={IGNORED}")

    def unused(self, options: str, reason: str) -> None:
        """Add a remark on options that were given but have no effect, if there are any."""
        named = self.request.given(options, self.command)
        self.remark(f"{named}: not used; {reason}" if named else None)

    def subject(self) -> Subject:
        """Return the input compiled with the options of a model, and add remarks on options that do not apply."""
        one, request = self.given, self.request
        for text in one.remarks(request.at):
            if text not in one.notes:  # which were told when it was read
                self.remark(text)
        made = one.compile(self.options)
        for text in unused_by(self.command, request, made):
            self.remark(text)
        return made

    def target(self) -> Subject | External:
        """Return the compiled input, or the external network."""
        return self.given.network(self.options) if self.given.is_network else self.subject()

    def precision(self, subject: Target, max_n: int) -> None:
        """Add a remark if the digits asked for are fewer than mpmath needs."""
        self.remark(subject.few_digits(max_n, self.request.dps, self.request.engine))


def _limited(given: Input, against: object, unjudged: object = None) -> tuple[Input, tuple[str, ...]]:
    """Return an input with its reference, and the remarks on that reference."""
    if isinstance(against, Model):
        return replace(given, against=against._input.reference(against._at)), ()
    if isinstance(against, str | os.PathLike):
        other = read_input(_path(against, "against is a path,"), beside=given.alphabet, alone=True)
        return replace(given, against=other.reference()), other.notes
    if not callable(against):
        kind = type(against).__name__
        raise TypeError(f"against must be a path, an opened model, or a function of words, not {kind}")
    return replace(given, against=PythonReference(against, given.alphabet, unjudged)), ()


def _labelled(data: object, against: object) -> Callable[[], LabelledData] | None:
    """Return the function that reads labelled data, from a file or from pairs of a word and its label; None without
    data. Raises TypeError for any other value."""
    if data is None:
        return None
    if against is not None:
        raise InputError("data and against both give the expected answers", "Leave out one of them.")
    if isinstance(data, str | os.PathLike):
        path = _path(data, "data is a path,")
        return lambda: read_data(path)
    pairs: list[Any] = [None]
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        pairs = list(data.items() if isinstance(data, Mapping) else data)
    if not all(isinstance(one, tuple | list) and len(one) == 2 for one in pairs):
        raise TypeError(f"data must be a path, or pairs of a word and its label, not {type(data).__name__}")
    return lambda: data_of(((word, label) for word, label in pairs), "data")


def _require_here(request: Request, function: bool, words: bool) -> None:
    """Require that a function, or a choice of words, is not used where it is unknown: in a later run (`resume`) or
    another process.

    Raises:
        InputError: naming the option.
    """
    if request.resume is not None and (function or words):
        what = "a function" if function else "a choice of words"
        raise InputError(f"--resume cannot be used with {what}: a later run does not know it", "Leave out --resume.")
    if function and (request.backend != "local" or (request.workers or 1) > 1):
        given = ["--backend"] * (request.backend != "local") + ["--workers"] * ((request.workers or 1) > 1)
        message = "a function can be called only in this process, by one worker"
        raise InputError(message, f"Leave out {' and '.join(given)}.")


def _tried(options: CheckOptions, words: Iterable[str | Iterable[Any]] | None, subject: Target) -> CheckOptions:
    """Return which words are tried, and how: the given words, each once, or those that the options choose.

    Raises:
        InputError: if the list is empty, or a word is too long.
    """
    if words is None:
        return options
    kind = type(words).__name__
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise TypeError(f"words must be a list of words, not a value of type {kind}")
    try:
        found = tuple(dict.fromkeys(_word_of(word, subject) for word in words))
    except TypeError as error:
        raise TypeError(f"words must be a list of words: in this {kind} {error}") from None
    if not found:
        raise InputError("words is empty", "Give words: text, or sequences of symbols.")
    return given(options, GivenWords.of(found))


def _word_of(word: object, subject: Target) -> Word:
    """Return a word as a tuple of tokens; a word for an external network may contain any Python values, named by their
    text, and may be empty if tokens around it are read.
    """
    if subject.any_values and not isinstance(word, str | bytes) and isinstance(word, Iterable):
        return check_word(tuple(map(str, word)), subject.alphabet, subject.reads_empty)
    return _word(word, subject.alphabet, subject.reads_empty)


# ---- languages ----


@dataclass(frozen=True, repr=False, eq=False)
class LanguageAutomaton:
    """The complete, minimal automaton of a regular language of non-empty words, made by `Model.automaton`. A word
    begins in state 1.
    """

    _automaton: Automaton

    @property
    def alphabet(self) -> Alphabet:
        """Symbols of words, in order."""
        return self._automaton.letters.alphabet

    @property
    def letters(self) -> tuple[str, ...]:
        """Names of the letters. A letter stands for all symbols that the language never tells apart."""
        letters = self._automaton.letters
        return tuple(map(letters.name, range(len(letters.firsts))))

    @property
    def states(self) -> tuple[AutomatonState, ...]:
        """States with their number, whether they accept, and the next state for each letter."""
        return states_of(self._automaton)

    def __repr__(self) -> str:
        sizes = f"{len(self._automaton.moves)} states, {len(self.letters)} letters"
        return visible(f"<hardsim.LanguageAutomaton: {sizes}, over {listed(self.alphabet, LONGEST_SHOWN)}>")

    @_spoken_errors()
    def accepts(self, word: str | Iterable[Any]) -> bool:
        """Return True if a word, text or a sequence of symbols, is in the language."""
        return self._automaton.accepts(_word(word, self.alphabet))

    @_spoken_errors()
    def words(self, n: int) -> Iterator[Word]:
        """Return an iterator over the words of length n in the language, in the order of the alphabet."""
        return self._automaton.words(_length(n))

    @_spoken_errors()
    def count(self, n: int) -> int:
        """Return the exact number of words of length n in the language."""
        return self._automaton.count(_length(n))

    @_spoken_errors()
    def to_dot(self) -> str:
        """Return a drawing in the DOT language of Graphviz, which `load` reads as a language.

        Raises:
            hardsim.errors.InputError: if the label of an edge would be too long.
        """
        return automaton_text(self._automaton, "dot", "to_dot")


def _length(n: int) -> int:
    return int(OPTIONS["max_n"].of_python("n", n))


def equivalent(
    a: Model | str | os.PathLike[str],
    b: Model | str | os.PathLike[str],
    *,
    alphabet: str | Sequence[str] | None = None,
    props: str | Sequence[str] | None = None,
    **options: Any,
) -> EquivResult:
    """Compare two models, files or texts of formulas as `Model.equiv` does. `alphabet` or `props` are for texts and
    files that declare neither; without them a text is over the alphabet of the other side, if that is no text. The
    result has `same`, the shortest `word` on which they differ, and `proved`: True if they are the same on every word
    of every length.
    """
    opened = [_opened_side(one, alphabet, props) for one in (a, b)]
    known = next((one.alphabet for one in opened if one is not None), None)
    with _in_python():
        first, second = (
            side or (load(text) if known is None else _opened(read_expression(text, known)))
            for side, text in zip(opened, (str(a), str(b)), strict=True)
        )
    return first.equiv(second, **options)


def _opened_side(
    source: Model | str | os.PathLike[str], alphabet: str | Sequence[str] | None, props: str | Sequence[str] | None
) -> Model | None:
    """Return one side of a comparison, opened; None for the text of a formula for which no alphabet is given."""
    if isinstance(source, Model):
        return source
    if alphabet is None and props is None and not _is_path(source, None, None):
        return None
    return load(source, alphabet, props)


# ---- opening ----


@_spoken_errors()
def load(
    source: str | os.PathLike[str],
    alphabet: str | Sequence[str] | None = None,
    props: str | Sequence[str] | None = None,
    dialect: str | None = None,
    *,
    tokens: str | Sequence[Any] | None = None,
    input: str | None = None,
    at: ReadAt | None = None,
    decide: str | None = None,
) -> Model:
    """Open a formula (`.ltl`), an S-RASP or C-RASP program (`.srasp`, `.cr`), a regular expression (`.re`), a
    hard-attention model (`.ahat.json`), a compiled network (`model.json`), or an external network, by its path.
    `source` may also be a shipped name such as `since` (a path of that name wins), or the text of a formula, as with
    `-e`.

    An external network is a folder, `hardsim-network` JSON, or a specification (`.spec`) that names one. It is read
    with `tokens`, `alphabet`, `input`, `at` and `decide` as in `Model.read_as`.

    `source` is a path if it is an `os.PathLike`, ends with one of the suffixes above, or is the name of a file that
    exists or is shipped. Any other text is a formula if `alphabet` or `props` is given, or if it contains a blank, a
    bracket or an operator sign; otherwise it is a path that does not exist. (With symbols or names as `alphabet` or
    `props`, the text of a formula comes before a file that has the same name and no suffix.)

    `alphabet` (symbols, or one text of symbols separated by spaces) or `props` (propositions, or "auto" for those that
    the text mentions) are for formulas, C-RASP programs and regular expressions that declare neither. The text of a
    formula without both is over its own symbols, if there are two. `dialect`, "strong-next" or "weak-next", is the
    meaning of a bare X in a formula. `at` ("last" or "first") is the position at which methods without an `at` of their
    own read a formula. For the text of a whole `.ltl` file use `parse`.

    Raises:
        hardsim.errors.InputError: if the source cannot be opened, or is wrong (SourceError, with the place).
        TypeError: if the source is neither a path nor text.
    """
    how: dict[str, Any] = {"tokens": tokens, "input": input, "decide": decide}
    symbols = None if alphabet is None else _alphabet(alphabet)
    own = None if props is None else _alphabet(props, "propositions are")
    dialect = None if dialect is None else _text(dialect, "a dialect is text,")
    where = None if at is None else _text(at, "at is text,")
    network = any(value is not None for value in how.values())
    if not network and not _is_path(source, symbols, own):
        text = _text(source, "load takes a path, or the text of a formula,")
        return _placed(read_expression(text, symbols, props=own, dialect=dialect), where)
    name = _path(source, "load takes a path, or the text of a formula,")
    _require_openable(name)
    # Networks are read without options of formulas; if these were given, the error comes below.
    stored = network or _is_folder(name) or name.endswith((SPEC, ".json"))
    given = read_input(name) if stored else read_input(name, props=own, alphabet=symbols, dialect=dialect)
    if not given.is_network and not network:
        if stored and (symbols, own, dialect) != (None, None, None):
            read_input(name, props=own, alphabet=symbols, dialect=dialect)  # for its error
        return _placed(given, where)
    if own is not None or dialect is not None:
        named = " and ".join(["props"] * (own is not None) + ["dialect"] * (dialect is not None))
        raise InputError(f"{brief(name)} is not a formula, so {named} cannot be given", f"Leave out {named}.")
    found, how = _opened(given), {**how, "alphabet": alphabet, "at": at}
    return found.read_as(**how) if any(value is not None for value in how.values()) else found


def load_lines(
    path: str | os.PathLike[str],
    alphabet: str | Sequence[str] | None = None,
    props: str | Sequence[str] | None = None,
    dialect: str | None = None,
    *,
    at: At | None = None,
) -> list[Model]:
    """Open a file with a formula on each line, as with `--lines`, and return a model for each, named FILE:LINE.

    Raises:
        hardsim.errors.InputError: if the file cannot be opened, or a line is wrong (SourceError, with the place).
    """
    names = expand_paths([_path(path, "load_lines takes a path,")], lines=True)
    return [load(name, alphabet, props, dialect, at=at) for name in names]


_SIGNED = re.compile(r"[\s()\[\]{}!&|^<>=~#'\"¬∧∨→↔○◯◇□⊤⊥⊕]")
"""Pattern of characters that are common in formulas and rare in file names."""


def _is_path(source: object, alphabet: object, props: object) -> bool:
    """Return True if `load` takes a source as a path, and not as the text of a formula."""
    if not isinstance(source, str):
        return True
    if source.endswith(OPENED) or line_of(source) is not None:
        return True
    named = alphabet is None and props in (None, MENTIONED)
    with suppress(ValueError, OSError):  # the text of a formula need not be a path that there can be
        # With an alphabet the text of a formula comes first, and no formula has a slash in it.
        if (named or "/" in source or os.sep in source) and os.path.lexists(located(source)):
            return True
        if os.path.isdir(source) and is_network_folder(source):
            return True
    if not named:
        return False
    return _SIGNED.search(source) is None


def _require_openable(name: str) -> None:
    """Raise an error for a path that does not exist, and for an unknown name of a shipped file.

    Raises:
        InputError: with the nearest name.
    """
    if name.endswith(OPENED) or os.path.lexists(located(name)) or line_of(name) is not None:
        return
    near = did_you_mean(name, example_names())
    raise InputError(
        f"{brief(name)} is neither a file that hardsim opens (*{', *'.join(OPENED)}) nor a shipped name",
        f"{near} " * bool(near)
        + "To open the text of a formula, give its alphabet: hardsim.load('a S b', alphabet='a b c').",
    )


def _placed(given: Input, at: str | None) -> Model:
    """Return the opened file, set to be read at a position if it is a formula."""
    with _in_python() as remark:
        (options,) = Request(at=at).options()
        if options.at is not None and not given.regimes:
            if given.has_formula:
                given.compile(options)  # for its error, if it was compiled for another position
            else:
                remark(f"--at {at} applies to formulas, but {given.name} is {given.what}")
            return _opened(given)
    return _opened(given, options.at)


def _is_folder(name: str) -> bool:
    """Return True if the name is the path of a folder that contains a network."""
    with suppress(ValueError, OSError):  # the text of a formula need not be a path that there can be
        return is_network_folder(located(name))
    return False


def check(network: Model | str | os.PathLike[str], **options: Any) -> CheckResult:
    """Check a model, or the file of this path, as `Model.check` does."""
    return (network if isinstance(network, Model) else load(network)).check(**options)


def from_tracr(model: Any, program: Any) -> Model:
    """Return a network that Tracr compiled from a RASP program.

    Args:
        model: Tracr's `AssembledTransformerModel`.
        program: the RASP program, whose label names the output.

    Words are read after Tracr's beginning of sequence, and an answer is read at each symbol.

    Raises:
        hardsim.errors.InputError: naming what is missing or not understood.
    """
    with _in_python():
        return _opened(of_stored(taken_from_tracr(model, program), "<tracr>"))


def _reading(read: Callable[P, Stored]) -> Callable[P, Model]:
    """Return the function that opens what `read` reads, with the same arguments and docstring."""

    @wraps(read)
    def opened(*args: P.args, **kwargs: P.kwargs) -> Model:
        with _in_python():
            return _opened(of_stored(read(*args, **kwargs), TORCH))

    opened.__module__ = __name__
    opened.__signature__ = signature(read).replace(return_annotation=Model)  # type: ignore[attr-defined]  # functions take attributes
    return opened


from_torch = _reading(taken_from_torch)


def parse(
    text: str,
    name: str = "<text>",
    props: str | Sequence[str] | None = None,
    dialect: str | None = None,
    *,
    alphabet: str | Sequence[str] | None = None,
    at: At | None = None,
) -> Model:
    """Read the text of a `.ltl` file, to which errors refer as `name`. `props` are its propositions, or `alphabet` its
    symbols, if the text declares neither; `props="auto"` takes those that it mentions. `dialect` and `at` are as in
    `load`.

    Raises:
        hardsim.errors.SourceError: if the text is wrong.
        TypeError: if an argument is not text.
    """
    given = _text(text, "parse takes the text of a formula file,")
    own = None if props is None else _alphabet(props, "propositions are")
    dialect = None if dialect is None else _text(dialect, "a dialect is text,")
    symbols = None if alphabet is None else _alphabet(alphabet)
    where = None if at is None else _text(at, "at is text,")
    called, data = _text(name, "the name of what is parsed is text,"), given.encode("utf-8", "surrogatepass")
    with _spoken_errors(), naming(called, "", data):
        file = parse_text(given, called, symbols, own, dialect)
    return _placed(of_formula(file, digest(data)), where)


def _opened(given: Input, at: At | None = None) -> Model:
    for text in given.remarks(at):
        _warn(spoken(text))
    return Model(given, _at=at)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def _names(given: str | Iterable[Any] | None, what: str) -> tuple[Any, ...] | None:
    """Return names given as a sequence, or as one text with spaces, as a tuple; None if none are given."""
    if given is not None and not isinstance(given, Iterable):
        raise TypeError(f"{what} must be text, or a sequence of names, not {type(given).__name__}")
    return None if given is None else tuple(given.split() if isinstance(given, str) else given)


def _text(value: object, expected: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{expected} not {type(value).__name__}")
    return plain_text(value)


def _path(value: object, expected: str) -> str:
    return _text(os.fspath(value) if isinstance(value, os.PathLike) else value, expected)


def _sink(path: str, option: str, otherwise: str) -> Sink:
    """Return the destination of a file; "-" is refused, because a method prints nothing."""
    if path == STDOUT:
        raise InputError(f"{option} {path}: not a file name", otherwise)
    return Sink(path, option)


def _with_theorem(result: ProofResult, theorem: TheoremPlan) -> ProofResult:
    """Write the Rocq theorem about a proved formula, run Rocq if it is there, and return the result with it."""
    files = theorem.files(result.all_n)
    written, prover = theorem.written(files), find_prover()
    if prover is not None:
        written = theorem.checked(written, files, prover, lambda done, total: None)
    return replace(result, rocq=written)


def _require_apart(targets: Mapping[str, Sink], read: str) -> None:
    """Require that no file is written over the file that was read, and that no two results are written to one file."""
    for (option, target), (other, second) in combinations(targets.items(), 2):
        if target.same(second):
            raise InputError(f"{option} and {other} both write {target.path}", "Name two files.")
    for target in targets.values():
        target.spare(read)


def _alphabet(given: object, what: str = "an alphabet is") -> str | tuple[str, ...]:
    if isinstance(given, str):
        return plain_text(given)
    if not isinstance(given, Sequence) or not all(isinstance(symbol, str) for symbol in given):
        raise TypeError(f"{what} text, or a sequence of symbols, not {type(given).__name__}")
    return tuple(map(plain_text, given))


def _word(given: object, alphabet: Alphabet, empty: bool = False) -> Word:
    if isinstance(given, str):
        return parse_word(plain_text(given), alphabet, empty)
    # Bytes are iterable, but their items would be integers.
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise TypeError(f"a word is text, or a sequence of symbols, not {type(given).__name__}")
    return check_word(tuple(map(_symbol, given)), alphabet, empty)


def _symbol(given: object) -> str:
    """Return a symbol of a word as text; a set of propositions becomes the symbol of that set."""
    if isinstance(given, Set) and all(isinstance(name, str) for name in given):
        # Sets have no order, and equal sets must give equal symbols.
        names = sorted(map(plain_text, given))
        for name in names:
            if not is_proposition(name):
                raise InputError(
                    f"{brief(name)} is not a proposition", "A name has no comma, no brace, and no space at its ends."
                )
        return written_set(names, names)
    if not isinstance(given, str):
        raise TypeError("the symbols of a word are text, or sets of propositions")
    return plain_text(given)


# ---- errors and warnings ----


def _proved_network(call: _MethodCall, progress: ProgressCallback | None) -> NetworkProof | CheckResult:
    """Return the proof of an external network, whose certificate is written if it was asked for; or the result of
    trying words, where no proof is attempted."""
    request = call.request
    require_file_made(request, call.given)
    network = call.given.network(call.options)
    call.unused(*proving.UNUSED)
    with ExitStack() as stack:
        path = request.certificate
        target = None if path is None else stack.enter_context(_sink(path, "certificate", "Name a file."))
        try:
            result = prove_network(network, request, _passing(progress))
        except NotProved as error:
            call.remark(f"no proof: {error.reason}; so its words are tried")
        else:
            if target is not None:
                target.write(external_file(network, result.prefix_proof)[0])
            return result
    found = check_subject(network, requested_of(request, network), _update(progress))
    call.failed(found)
    return found


def _passing(progress: ProgressCallback | None) -> ProgressCallback | None:
    """Return a caller's `progress` whose exceptions are raised unchanged (see `_Failed`)."""
    if progress is None:
        return None

    def report_remark(done: int, total: int) -> None:
        try:
            progress(done, total)
        except Exception as error:
            raise _Failed(error) from None

    return report_remark


def _update(progress: ProgressCallback | None) -> Callable[[Progress], None] | None:
    """Return a function that reports the progress of words to a caller's `progress`, or None if there is no
    `progress`.
    """
    report_progress = _passing(progress)
    return None if report_progress is None else lambda at: report_progress(at.done, at.total)


@contextmanager
def _in_python() -> Iterator[Callable[[str], None]]:
    """Name options in errors as Python does, and give remarks as warnings when the block ends. A finding that float64
    cannot be trusted in this process is added to the remarks.
    """
    remarks: list[str] = []
    try:
        with _spoken_errors():
            yield remarks.append
    finally:
        # Each remark once, also if the block failed: it may explain the error.
        for text in dict.fromkeys([*remarks, *reasons()]):
            _warn(spoken(text))


def _warn(text: str) -> None:
    """Give a warning at the line of the caller that called hardsim."""
    level, frame = 1, sys._getframe()
    # Skip hardsim's own frames, so that the warning names the user's line.
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, Remark, stacklevel=level)
