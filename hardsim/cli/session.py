"""One run of a command: its inputs, the errors of each input, its JSON document and its exit code."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from itertools import chain, combinations
from time import perf_counter
from typing import Any, cast

import typer

from hardsim.campaign.interrupts import interruptible, settle_signals, uninterrupted
from hardsim.campaign.result import Verdict
from hardsim.cli import activity, exit_codes, streams
from hardsim.cli.ahead import Ahead
from hardsim.cli.estimate import patient
from hardsim.cli.start import next_input
from hardsim.cli.streams import LostOutput, note, say, warn
from hardsim.errors import HardsimError, InputError, SourceError, enumerated
from hardsim.examples import located
from hardsim.files import EMPTY_NAME, STDOUT, Sink, is_directory
from hardsim.lang.corpus import line_of
from hardsim.lang.ltl_parser import TAKEN_HINT
from hardsim.lang.valuations import MENTIONED, Alphabet, Valuations
from hardsim.lang.vocabulary import joined_names
from hardsim.lang.words import shown_word
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import ALL, JSON, TEXT, Request
from hardsim.report.notices import Failure, InputRead, Note, NotRun
from hardsim.report.outcome import Ending, Finished, Format, Outcome
from hardsim.report.screen import Screen
from hardsim.report.summary import RunSummary, counted
from hardsim.report.unused_options import unused, unused_by
from hardsim.run.float_trust import reasons
from hardsim.targets.base import ModelOptions
from hardsim.targets.data import LabelledData, joined, read_data
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.opening import declares, read_expression, read_input, require_no_specification
from hardsim.targets.paths import expand_paths, links_out_of, read_with
from hardsim.targets.reference import Reference
from hardsim.targets.result import Word, plural
from hardsim.targets.subject import Subject

EXPRESSION = "<expression>"
ABOUT_LANGUAGES = ("equiv", "classify")
"""The commands for which a directory stands for its regular expressions and automata, too."""
ENDINGS = {
    exit_codes.AGREED: Ending.PASSED,
    exit_codes.MISMATCH: Ending.FAILED,
    exit_codes.BAD_INPUT: Ending.ERROR,
    exit_codes.UNDECIDED: Ending.SKIPPED,
    exit_codes.INTERNAL: Ending.ERROR,
}
"""Ending of an outcome, by the exit code of the input."""
MOST_REMARKS = 40
"""Greatest number of remarks that are printed; the others are counted."""
TAKEN_OF_ALL = "no alphabet was given, so it consists of the symbols of"
NOT_RUN = {True: "not run: --fail-fast ended the run", False: "no verdict: interrupted"}

Print = Callable[[Screen], None]


class Names:
    """The names that printed text has for copied files: those that the user gave."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        """Take the given name of each copy."""
        self._given = given or {}
        longest = sorted(map(re.escape, self._given), key=len, reverse=True)
        self._copies = re.compile(rf"(?<![\w./-])(?:{'|'.join(longest)})(?!\w)")

    def of(self, text: str) -> str:
        """Return a text in which the copies have the names of their originals."""
        return self._copies.sub(lambda found: self._given[found[0]], text) if self._given else text


@dataclass(frozen=True)
class ResultText:
    """A result ready to be printed: the functions that print all of it (`full`) or only the verdict (`brief`), and the
    word that shows a failure."""

    result: Any
    full: Print
    brief: Print
    regime: str | None = None
    word: Word | None = None
    alphabet: Sequence[str] = ()
    reach: str = ""
    """How far the result reaches, if it has no `reach` of its own."""
    place: tuple[int, int] | None = None
    """Line and column of the file that the result concerns, from 1."""
    details: Print | None = None
    """Function that prints the result in JUnit and GitHub reports (None: `brief`)."""
    name: str | None = None
    """Name of the input that the outcome is about (None: `result.input`)."""


class Session:
    """Collects the results and errors of a run; an error of one input does not stop the others.

    `targets` are the files that are written besides the JSON document: none may be an input, and no two may be one
    file. Raises InputError if two results would be written to standard output."""

    def __init__(self, command: str, request: Request, seed: int | None, targets: Sequence[Sink]) -> None:
        self.command, self.request, self.seed = command, request, seed
        self.sink = _json(request)
        self.outputs = [sink for sink in (*targets, self.sink) if sink is not None]
        require_one_output(request, [f"{sink.option} {STDOUT}" for sink in self.outputs if sink.path == STDOUT])
        self.screen = Screen(enabled=request.format == TEXT and STDOUT not in [sink.path for sink in self.outputs])
        self.called = Names()
        """The names of the inputs in messages."""
        self.codes: list[int] = []
        self.outcomes: list[Outcome] = []
        texts = request.expressions or ([] if request.expression is None else [request.expression])
        names = [EXPRESSION] if len(texts) == 1 else [f"<expression {number}>" for number in range(1, len(texts) + 1)]
        self.expressions = dict(zip(names, texts, strict=True))
        """Texts of formulas that were given on the command line, by the names of these inputs."""
        self.names: list[str] = [*(request.files or []), *self.expressions]
        """Names of all inputs, in order."""
        self.order: list[str] = self.names
        """Names of all inputs and, in their places, of paths that stand for no input."""
        self._outside = dict[str, str]()
        """The inputs that are links out of a directory, each with the directory."""
        self.named = 0
        """Number of inputs, including names without a file; 0 until it is known."""
        self.reference: str | None = None
        """Name of the input with which `equiv` compares the others: it has no outcome of its own."""
        self.counted: str | None = None
        """Text of the last line about the results; None: a count of each verdict."""
        self.started = perf_counter()
        self.task = -1
        """Number of the present task: an input, in one of its variants."""
        """Time at which the work for the next outcome began."""
        self.stopped = False
        """True if a failure ended the run (--fail-fast)."""
        self.slow = False
        """True if some input took long, which is noted once."""
        self.page: Callable[[Finished], None] | None = None
        """Function that writes a page of the finished run."""
        self.joint = False
        """True if all inputs together have one result."""
        self.missed: list[NotRun] = []
        """Inputs in a regime that were not run."""
        self.results: list[Any] = []
        """Results, in order."""
        self.inputs: list[InputRead] = []
        self.notes: list[Note] = []
        self.errors: list[Failure] = []
        self.unreadable: Mapping[str, Exception] = {}
        """Errors of inputs that are known before the run: reading such an input raises its error."""
        self.understood = set[str]()
        """Names of inputs that were read to their end and have an error all the same, such as a wrong example."""
        self.printed, self.unprinted = 0, list[str]()
        """Number of lines of the errors that were printed, and of errors that were not."""
        self.remarks = 0
        self.interrupted = False
        self.lost: LostOutput | None = None
        """The error of standard output after which nothing more can be printed; None while it works."""

    # ---- failures and remarks ----

    def fail(self, name: str | None, error: Exception) -> None:
        """Report an error of one input, and keep it for the JSON document."""
        self.screen.flush()
        code, lines = streams.explained(error, name)
        # Lines are kept for the number of the others, and for two remarks at the end.
        if self.printed and self.printed + len(lines) > streams.MOST_LINES - 3:
            self.unprinted.append(name or "the command")
        else:
            self.printed += len(lines)
            quoted = 2 if isinstance(error, SourceError) else 0
            # An error from before the run is about the file that the user named.
            called = Names() if name in self.unreadable else self.called
            say(*(line if 0 < k <= quoted else called.of(line) for k, line in enumerate(lines)))
        self.codes.append(code)
        message = str(error) if isinstance(error, HardsimError) else f"{type(error).__name__}: {error}"
        self.errors.append(Failure(name, code, message))
        if name is not None and getattr(error, "understood", False):
            self.understood.add(name)
        ending = Ending.FAILED if code == exit_codes.UNDECIDED and self.request.require else ENDINGS[code]
        # The one-line message has no hint; the details have.
        text, place = error.message if isinstance(error, InputError) else message, None
        if isinstance(error, SourceError) and error.source.name in (name, name and path_of(name)):
            place = error.source.line_of(error.span.start)[:2]
        one = Outcome(name, None, ending, code, text, self._seconds(), details=message, place=place)
        self._keep(replace(one, file=is_file(name)))

    def _keep(self, one: Outcome) -> None:
        line = None if one.input is None else line_of(one.input)
        if line is not None:
            one = replace(one, whole=line[0], place=one.place or (line[1], 1))
        self.outcomes.append(one)
        # A weaker verdict than required counts, an undecided one does not.
        if self.request.fail_fast and one.ending in (Ending.FAILED, Ending.ERROR):
            self.stopped = True

    def _seconds(self) -> float:
        """Return the seconds since the last outcome."""
        before, self.started = self.started, perf_counter()
        return self.started - before

    @property
    def over(self) -> bool:
        """Return True if no more inputs are to be run."""
        return self.interrupted or self.stopped

    @contextmanager
    def guard(self, name: str | None) -> Iterator[None]:
        """Keep an error of one input from stopping the others; a lost standard output stops everything."""
        try:
            yield
        except LostOutput:
            raise
        except Exception as error:
            self.fail(name, error)

    def remark(
        self,
        name: str | None,
        regime: str | None,
        message: str | None,
        printed: str | None = None,
        tell: Callable[[str], None] = warn,
    ) -> None:
        """Print a remark on standard error (in the form `printed`, if given) and add it to the JSON document; do
        nothing if `message` is None. `tell` prints it: `note` for remarks on which no verdict depends, `warn` for
        others."""
        if message is None:
            return
        self.screen.flush()
        self.remarks += 1
        if self.remarks <= MOST_REMARKS:
            parts = (name, regime and f"regime {regime}", message)
            tell(self.called.of(printed or ": ".join(part for part in parts if part is not None)))
        self.notes.append(Note(name, regime, message))

    def precision(self, subject: Subject, max_n: int) -> None:
        """Remark on a number of digits that is smaller than mpmath needs."""
        remark = subject.few_digits(max_n, self.request.dps, self.request.engine)
        self.remark(subject.name, subject.regime, remark)

    def without(self, options: str, reason: str) -> None:
        """Remark on options that were given but have no effect here, if there are any."""
        named, command = self.request.given(options, self.command), f"`hardsim {self.command}`"
        if named:
            self.remark(None, None, f"{named}: not used; {reason}", f"{named}: not used by {command}; {reason}", note)

    # ---- inputs ----

    def read(self) -> Iterator[Input]:
        """Yield the inputs that can be read, one after the other, and report the others; yield none if the reference
        cannot be read. Raises InputError if there is nothing to read, or a result would be written over an input."""
        request = self.request
        check_source(request)
        against, lost = self._reference()
        if lost and self.stopped:
            return
        if request.files:
            self.names = [*self.expand(request.files, self._files_of), *self.expressions]
        for name in self.names:
            if self.stopped:
                break
            if name not in self.expressions and name not in self.unreadable:
                self.spare(name)
            self.started = perf_counter()
            activity.doing(f"{name}: reading")
            with self.guard(name):
                with patient(_slow(name)):
                    found = self._read(name, request.props, request.alphabet, self._compared(name))
                if lost:  # read only so that its errors are reported, too
                    continue
                found = self._welcome(self._limited(found, against))
                activity.doing(f"{name}: at work")
                yield found

    def _reference(self) -> tuple[Reference | None, bool]:
        """Return the reference of --data or --against, and True if it cannot be read, which is reported. A file of
        --against that declares no alphabet is read later, over that of an input."""
        request = self.request
        if request.data:
            data = self._data(request.data)
            return data, data is None
        if request.against is None:
            return None, False
        self.spare(request.against)
        against: Reference | None = None
        declared = True
        with self.guard(request.against):
            declared = declares(request.against)
            against = self._semantics(request.against) if declared else None
        return against, declared and against is None

    def _files_of(self, path: str) -> Sequence[str]:
        """Return the files that a path stands for. Of directories with the work of others, links that lead out of them
        are noted as such."""
        if path in self.unreadable:
            return [path]
        languages = self.command in ABOUT_LANGUAGES
        found = expand_paths([path], self.request.lines, languages)
        if languages and is_directory(path):
            self._outside |= dict.fromkeys(links_out_of(path, found), path)
        return found

    def _read(self, name: str, props: str | None, alphabet: str | None = None, beside: Alphabet | None = None) -> Input:
        """Read a file, or a formula of the command line; `beside` is the alphabet of an input that has none."""
        dialect = self.request.dialect
        if name in self.unreadable:
            raise self.unreadable[name]
        if name in self._outside:
            message = f"{name} is a link to a file outside of {self._outside[name]}, so it was not read"
            raise InputError(message, "To follow it, name the link itself instead of the directory.")
        if self.command == "equiv":
            require_no_specification(name, self.command)
        if name not in self.expressions:
            return read_input(name, props, alphabet, dialect, beside, labelled=bool(self.request.data))
        if beside is not None:
            return read_expression(self.expressions[name], beside, None, dialect, name)
        return read_expression(self.expressions[name], alphabet, props, dialect, name)

    def _declares(self, name: str) -> bool:
        return name not in self.expressions and name not in self._outside and declares(name)

    def expand(self, paths: Sequence[str], files_of: Callable[[str], Sequence[str]]) -> list[str]:
        """Return the names of all inputs, with directories replaced by their files; a path that stands for no input
        is reported as an error."""
        names, order = list[str](), list[str]()
        for path in paths:
            found, before = list[str](), len(self.errors)
            with self.guard(path):
                found = [*files_of(path)]
            names += found
            order += found if len(self.errors) == before else [path]
        self.names, self.named, self.order = names, len(order), [*order, *self.expressions]
        return names

    def _compared(self, name: str) -> Alphabet | None:
        """Return the alphabet over which `equiv` reads an input that declares none: that of the first input that
        declares one; else, with --props auto, the propositions of all; else the symbols of all, if one of them is an
        expression. Return None if there is no such alphabet, or if an option gives one."""
        request = self.request
        if self.command != "equiv" or len({*self.names}) < 2 or self._declares(name):
            return None
        if request.alphabet is not None or request.props not in (None, MENTIONED):
            return None
        return self._of_all if self._declared is None else self._declared

    @cached_property
    def _declared(self) -> Alphabet | None:
        """The alphabet of the first input that can be read and declares one."""
        for name in self.names:
            with suppress(HardsimError):  # reported when that input is read itself
                if self._declares(name):
                    return self._read(name, self.request.props).alphabet
        return None

    @cached_property
    def _of_all(self) -> Alphabet | None:
        """The propositions or symbols that the inputs mention, if none of them declares an alphabet."""
        auto = self.request.props is not None
        found: list[tuple[str, ...]] = []
        for name in self.names if auto or self.expressions else ():
            with suppress(HardsimError):  # reported when that input is read itself
                alphabet = self._read(name, MENTIONED).alphabet
                found += [alphabet.props] if isinstance(alphabet, Valuations) else []
        mentioned = tuple(dict.fromkeys(chain.from_iterable(found)))
        if len(found) < 2 or not (auto or len(mentioned) > 1):
            return None
        if auto:
            return Valuations(mentioned)
        which = "both" if len(self.names) == 2 else "all"
        self.remark(None, None, f"{TAKEN_OF_ALL} {which}: {joined_names(mentioned)}; {TAKEN_HINT}")
        return mentioned

    def _limited(self, given: Input, against: Reference | None) -> Input:
        """Return an input with the reference that --against gives; the reference may take the alphabet of the input."""
        if against is None and self.request.against is not None:
            # Files that declare no alphabet say which words are accepted: that goes first, then their symbols.
            given.require_accepting(self.request.against)
            against = self._semantics(self.request.against, given.alphabet)
        return replace(given, against=against)

    def _data(self, paths: Sequence[str]) -> LabelledData | None:
        """Return the labelled data of --data; report the errors of files that cannot be read, and return None then."""
        parts = list[LabelledData]()
        for path in paths:
            self.spare(path)
            with self.guard(path):
                parts.append(read_data(path))
        if len(parts) < len(paths):
            return None
        found = joined(parts)
        self.inputs += [InputRead.of(name, sha256, ()) for name, sha256 in found.files]
        return found

    def _semantics(self, name: str, beside: Alphabet | None = None) -> Reference:
        """Return the meaning of the file of --against, over the alphabet `beside` if the file declares none."""
        with patient(_slow(name)):
            found = read_input(name, beside=beside, alone=True)
            reference = found.reference()
        read = InputRead.of(found.name, found.sha256, found.alphabet)
        if read in self.inputs:  # and its remarks made
            return reference
        self.inputs.append(read)
        own = "--dialect does not apply to this file; a line dialect: in the file does"
        for remark in (*found.notes, *([own] if self.request.dialect and found.has_formula else [])):
            self.remark(found.name, None, remark, tell=note)
        return reference

    def spare(self, name: str) -> None:
        """Require that no result is written over an input. Raises InputError, naming the option that would write
        there."""
        paths = read_with(name) if self.outputs else []
        for output in self.outputs:
            for path in paths:
                output.spare(path)

    def spare_folder(self, folder: str, option: str) -> None:
        """Require that no result is written into a folder that an option names. Raises InputError, naming the option
        that would write there."""
        for output in self.outputs:
            output.spare_folder(folder, option)

    def _welcome(self, given: Input) -> Input:
        self.inputs.append(InputRead.of(given.name, given.sha256, given.alphabet))
        summed = given.warnings if self.command == "check" and len(self.names) > 1 else ()
        for remark in given.remarks(self.request.at):
            if self.command == "equiv" and remark in given.warnings:
                continue  # they are about networks
            if remark in summed:  # the end of the report says it of all
                self.notes.append(Note(given.name, None, remark))
            else:
                # only a program's limits have more lines: the place in its text
                first, *place = remark.split("\n") if remark in given.warnings else [remark]
                # A verdict depends on the alphabet that was taken and on how a word was read: --quiet hides neither.
                silent = remark in given.remarked and remark not in given.readings
                tell = partial(_remark_at, note if silent else warn, place)
                self.remark(given.name, None, remark, f"{given.name}: {first}", tell)
        for remark in unused(self.command, self.request, given, len(self.names) > 1):
            self._once(given.name, remark)
        return given

    def _once(self, name: str | None, remark: str, tell: Callable[[str], None] = note) -> None:
        """Add a remark on an input, unless another regime of the input already has it."""
        if Note(name, None, remark) not in self.notes:
            self.remark(name, None, remark, tell=tell)

    def several(self, given: Sequence[Input]) -> bool:
        """Return True if there is more than one input, counting those that could not be read."""
        return len(given) + len(self.errors) > 1

    def tables(self, given: Sequence[Input]) -> bool:
        """Return whether rows are printed: as requested, and by default only for a single input. Add a remark if an
        option asks for more rows where fewer are printed."""
        printed = not self.several(given) if self.request.tables is None else self.request.tables
        if self.request.quiet or not self.screen.enabled:
            reason = "--quiet prints verdicts alone" if self.request.quiet else "standard output has no tables"
            self.without("tables all_lengths" if self.request.tables else "all_lengths", reason)
        elif not printed:
            self.without("all_lengths", "no rows are printed; --tables prints them")
        return printed

    # ---- subjects ----

    def each(
        self, given: Input, action: Callable[[Subject], None], other: Callable[[External], None] | None = None
    ) -> None:
        """Act on an input: on a formula once in each requested regime, on any other input once. An external network is
        given to the action `other`.

        With --regime all, a regime that refuses the input is only a remark, unless every regime does.
        """
        options = self.variants(given)
        if given.is_network and other is not None:
            self.task += 1
            self.started = perf_counter()
            with self.guard(given.name):
                if len(self.names) == 1:
                    self.request.require_stored(given)
                activity.doing(f"{given.name}: at work")
                other(given.network(options[0]))
            return
        if self._already_compiled(given):
            message = f"already compiled, in regime {given.regime}; --regime {ALL} does not apply to it"
            self.remark(given.name, None, message, tell=note)
        refusals: list[tuple[str | None, InputError]] = []
        for option in options:
            self.task += 1
            if self.over:
                self.missed.append(NotRun(given.name, option.regime))
                continue
            self.started = perf_counter()
            with self.guard(given.name):
                try:
                    with given.answering():
                        activity.doing(f"{given.name}: compiling")
                        subject = given.compile(option)
                        activity.doing(f"{given.name}: at work")
                        for remark in unused_by(self.command, self.request, subject):
                            self._once(given.name, remark)
                        action(subject)
                except InputError as error:
                    refusals.append((option.regime, error))
        self.refused(given.name, refusals, len(options))

    def variants(self, given: Input) -> list[ModelOptions]:
        """Return the options of each task of an input: those of a formula in each requested regime, of any other input
        once."""
        options = self.request.options()
        if given.is_network or not given.has_formula:
            return options[:1]
        return [replace(options[0], regime=given.regime)] if self._already_compiled(given) else options

    def tasks(self, given: Sequence[Input]) -> list[tuple[Input, ModelOptions]]:
        """Return the tasks of some inputs, in order."""
        return [(one, option) for one in given for option in self.variants(one)]

    def _already_compiled(self, given: Input) -> bool:
        return given.has_formula and self.request.regime == ALL and not given.regimes

    def known(self, ahead: Ahead) -> Any:
        """Return the result of the present task if another process computed it, else None."""
        found = ahead.take(self.task)
        if found is None:
            return None
        self.started = perf_counter() - found[1]  # the time that it took there
        return found[0]

    def refused(self, name: str, refusals: Sequence[tuple[str | None, InputError]], regimes: int) -> None:
        """Report the regimes, of a number of them, that refused an input: as remarks, or as errors if all did."""
        if len(refusals) < regimes:
            for regime, refusal in refusals:
                self.remark(name, regime, refusal.message, tell=note)
            return
        for different in {str(refusal): refusal for _, refusal in refusals}.values():
            self.fail(name, different)

    def all(
        self,
        inputs: Iterable[Input],
        action: Callable[[Subject], None],
        other: Callable[[External], None] | None = None,
    ) -> None:
        """Act on one input after the other, until an interruption, or a failure that ends the run."""
        for given in inputs:
            if self.over:
                break
            self.each(given, action, other)
            if len(self.names) > 1:
                next_input()

    # ---- the end ----

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Keep a failure of standard output in `lost` and go on, because files are still to be written and an exit code
        is due."""
        try:
            yield
        except LostOutput as lost:
            self.lost = lost

    def conclude(
        self, agreed: bool, undecided: bool, left: str = "", shown: ResultText | None = None, weaker: str = ""
    ) -> None:
        """Note the exit code of one result. If `shown` is given, keep the result and print it before, with --quiet only
        its verdict. `left` describes what an interruption left of it (empty: no interruption); `weaker` explains that
        its verdict is weaker than required."""
        if shown is not None:
            self.results.append(shown.result)
        with self.printing():
            if shown is not None:
                (shown.brief if self.request.quiet else shown.full)(self.screen)
            self.screen.flush()
        code = exit_codes.MISMATCH if not agreed else exit_codes.UNDECIDED if undecided or weaker else exit_codes.AGREED
        if code:
            self.codes.append(code)
        if left:
            self.interrupted = True
            say(f"interrupted: {self.called.of(left)}")
        if shown is not None:
            self._note(shown, agreed, code, left, weaker)
        if self.lost is not None:
            raise self.lost

    def _note(self, shown: ResultText, agreed: bool, code: int, left: str, weaker: str) -> None:
        """Record an outcome for the JSON document, JUnit and other machine-readable output."""
        name, verdict = shown.name or shown.result.input, getattr(shown.result, "verdict", "")
        reach = shown.reach or getattr(shown.result, "reach", "")
        if weaker:
            self.remark(name, shown.regime, weaker)
        ending, reasons = ENDINGS[code], [weaker] * bool(weaker) + [f"interrupted: {left}"] * bool(left)
        if weaker:
            ending = Ending.FAILED
        # An interrupted result without a mismatch is no verdict on its input.
        elif left and agreed:
            ending, code = Ending.SKIPPED, exit_codes.INTERRUPTED
        elif verdict == Verdict.OBSERVED and agreed:
            ending = Ending.SKIPPED
        message = "; ".join([": ".join(filter(None, (verdict, reach))), *reasons])
        self._keep(
            Outcome(
                name, shown.regime, ending, code, message, self._seconds(), verdict, reach,
                word="" if shown.word is None else shown_word(shown.word, shown.alphabet),
                details="\n".join([_printed(shown.details or shown.brief), *reasons]), place=shown.place,
                file=is_file(name),
            )
        )  # fmt: skip

    def finish(self) -> None:
        """Write the JSON document and the report for other programs, and leave with the exit code."""
        for reason in reasons():
            self.remark(None, None, reason)
        # From here on a second Ctrl-C must not lose the document.
        settle_signals()
        missed = self._missed()
        summary = self._summary(missed)
        self._summarise(summary)
        if self.screen.enabled:
            self._slowest()
        self.screen.flush()
        if self.page is not None:
            with self.guard(None):  # as for the document below
                self.page(self._finished(missed, summary))
        if self.sink is not None:
            inputs, found, notes, errors = map(tuple, (self.inputs, self.results, self.notes, self.errors))
            parts = inputs, found, notes, errors, tuple(missed)
            from hardsim.report.document import Document  # and with it the results of every command

            document = Document(self.command, self.seed, self.code, *parts, stopped=self.stopped, counts=summary)
            with self.guard(None):  # what was found keeps its exit code
                self.sink.write(document.to_json())
        if self.request.format not in (TEXT, JSON):
            form = cast(Format, import_module(f"hardsim.report.{self.request.format}"))
            Sink(STDOUT, "--format").write(form.render(self._finished(missed, summary)))
        if self.remarks > MOST_REMARKS:
            note(f"{plural(self.remarks - MOST_REMARKS, 'more note')} not printed: {self._written_out}")
        if self.unprinted:
            some, about = plural(len(self.unprinted), "more error"), enumerated(self.unprinted)
            paged = self.page is not None and self.reference is not None
            where = "the page has all of them" if paged else self._written_out
            say(f"{some} not printed, on {self.called.of(about)}: {where}")
        raise typer.Exit(self.code)

    @property
    def _written_out(self) -> str:
        """Say where all errors and remarks are written. `report` writes its JSON document in any case."""
        kept = f"{os.path.basename(self.request.json or '')} has" if self.command == "report" else "--json PATH writes"
        return f"{kept} all of them"

    @property
    def code(self) -> int:
        """Return the exit code of the outcomes so far."""
        return exit_codes.INTERRUPTED if self.interrupted else exit_codes.worst(self.codes)

    def _summary(self, missed: Sequence[NotRun]) -> RunSummary:
        """Count the inputs by outcome."""
        # An input may have both a result and an error, if one of its regimes failed.
        read = {one.name for one in self.inputs} | self.understood
        answered = {getattr(one, "input", None) for one in self.results}
        references = {self.request.against, *(self.request.data or ())}
        failed = [one for one in self.errors if one.input is not None and one.input not in references]
        refused = {
            one.input for one in failed if one.exit_code == exit_codes.BAD_INPUT and one.input in read - answered
        }
        left_out = {one.input for one in missed} - answered - {one.input for one in failed}
        return RunSummary(
            inputs=self.named or len(self.names),
            results=len(self.results),
            unread=sum(one.exit_code == exit_codes.BAD_INPUT and one.input not in read for one in failed),
            refused=len(refused),
            undecided=sum(one.exit_code == exit_codes.UNDECIDED for one in failed),
            internal=sum(one.exit_code == exit_codes.INTERNAL for one in failed),
            not_run=len(left_out),
        )

    def _summarise(self, summary: RunSummary) -> None:
        """Print a summary of several inputs, below their verdicts. Where words or texts are the output, print it on
        standard error, and only if some inputs have no result."""
        if self.request.quiet or not self.screen.enabled or not (self.named or self.results):
            return
        verdicts = counted((one.verdict for one in self.outcomes), Verdict) if self.counted is None else self.counted
        if self.joint or not (summary.several or (self.counted is not None and self.results)):
            return
        if self.results and verdicts and self.command != "report":
            self.screen.raw()
            self.screen.line(summary.text(verdicts))
        elif summary.missing:
            self.screen.flush()
            say(summary.text(""))

    def _finished(self, missed: Sequence[NotRun], summary: RunSummary) -> Finished:
        """Return the run as a record for reports that other programs read."""
        outcomes, reason = list(self.outcomes), NOT_RUN[self.stopped]
        for one in missed:
            left = self.code if self.interrupted else exit_codes.AGREED
            outcomes.append(Outcome(one.input, one.regime, Ending.SKIPPED, left, reason, 0.0, file=is_file(one.input)))
        places = {name: place for place, name in reversed(list(enumerate(self.order)))}
        # Errors outside the inputs come first: without the file of --against, for example, nothing is run.
        outcomes.sort(key=lambda one: places.get(one.input or "", -1))
        message = [": ".join(filter(None, (one.input, one.regime, one.message))) for one in self.notes]
        remarks = ["interrupted: only what was finished before is listed"] if self.interrupted else []
        several = summary.several and not self.joint
        verdicts = counted((one.verdict for one in outcomes), Verdict) if self.counted is None else self.counted
        alphabet_lines = summary.text(verdicts) if several else ""
        return Finished(self.command, self.code, outcomes, message, remarks, alphabet_lines)

    def _missed(self) -> list[NotRun]:
        """Return the inputs and regimes that were not run, if the run ended early, and print their number."""
        if not self.over or self.joint:
            return []
        known = {self.reference, *(one.input for one in (*self.outcomes, *self.missed, *self.results))}
        names = [name for name in dict.fromkeys(self.names) if name not in known]
        if self.stopped:
            parts = [f"{plural(len(self.missed), 'regime')} of {self.missed[0].input}"] if self.missed else []
            parts += [plural(len(names), "input")] if names else []
            say(f"stopped at the first failure (--fail-fast); not run: {' and '.join(parts) or 'nothing'}")
        return [*self.missed, *(NotRun(name, None) for name in names)]

    def _slowest(self) -> None:
        """Remark on the input that took longest, if several were run."""
        # The seconds of a bad input are those that reading took: it was not run.
        ran = [one for one in self.outcomes if one.code != exit_codes.BAD_INPUT]
        if self.results and self.command not in ("fmt", "equiv", "report") and len({one.input for one in ran}) > 1:
            slowest, total = max(ran, key=lambda one: one.seconds), sum(one.seconds for one in ran)
            note(f"slowest: {slowest.title}, {slowest.seconds:.1f} of {total:.1f} seconds of work")


def path_of(name: str) -> str:
    """Return the file of an input that is one of its lines, or else the input's name."""
    line = line_of(name)
    return name if line is None else line[0]


def is_file(name: str | None) -> bool:
    """Return True if the input of this name is a file, and not an expression or a shipped name."""
    return name is not None and not name.startswith("<expression") and located(name) == name


def _json(request: Request) -> Sink | None:
    """Return the destination of the JSON document, or None if no document is asked for."""
    if request.format != JSON:
        return None if request.json is None else Sink(request.json, "--json")
    if request.json is not None:
        message = f"--format {JSON} means --json {STDOUT}, but --json {request.json} is given too"
        raise InputError(message, "Leave out one of them.")
    return Sink(STDOUT, "--json")


def _printed(brief: Print) -> str:
    """Return the printed text, with lines that do not fold: whoever shows the text chooses the width."""
    text = io.StringIO()
    brief(Screen(text, folds=False))
    return text.getvalue().rstrip("\n")


@contextmanager
def session(command: str, request: Request, seed: int | None = None, targets: Sequence[Sink] = ()) -> Iterator[Session]:
    """Yield a session that is finished when the block ends or is interrupted, and leaves no incomplete file."""
    with uninterrupted():
        current = Session(command, request, seed, targets)
        with current.sink or nullcontext():
            for one, other in combinations(current.outputs, 2):
                if other.same(one):
                    raise InputError(f"{one.option} and {other.option} both write {one.path}", "Name two files.")
            try:
                try:
                    with interruptible():
                        if current.sink is not None:
                            # Now, and not when results are to be written: then memory may be short, or time.
                            import_module("hardsim.report.document")
                        yield current
                except KeyboardInterrupt:
                    current.interrupted = True
                    say(f"interrupted{': what was finished before has been printed' * bool(current.outcomes)}")
                except HardsimError as error:
                    # What was found is kept, and a report for another program says what was wrong.
                    if not current.results and request.format in (TEXT, JSON):
                        raise
                    current.fail(None, error)
                current.finish()
            except LostOutput as lost:
                lost.codes = current.codes
                if not lost.unread:
                    for found in current.outcomes:
                        if found.code == exit_codes.MISMATCH:  # which nobody may have seen
                            say(*found.details.split("\n"))
                raise


def require_one_output(request: Request, taking: Sequence[str]) -> None:
    """Require that one result at most goes to standard output; `taking` are the options that send one there, as they
    are typed. Raises InputError, naming two options."""
    taken = [*taking, *[f"--format {request.format}"] * ("format" in request.written)]
    # --format json and --json - are one output, listed twice.
    if len(taken) > (2 if request.format == JSON else 1):
        message = f"{taken[0]} and {taken[-1]} both write to standard output"
        raise InputError(message, "Give one of them a file, or leave it out.")


def check_source(request: Request, needed: bool = True) -> None:
    """Require an input (if `needed`), and only one kind of input. Raises InputError with advice on what to type."""
    paths, expression, alphabet = request.files or [], request.expression, request.alphabet
    if expression is not None and request.lines:
        raise InputError("-e gives a formula, but --lines is for files", "Leave out one of them.")
    if expression is not None and paths:
        message = f"-e gives a formula, so no file can be given with it ({paths[0]})"
        raise InputError(message, "Leave out -e or the files.")
    if alphabet is not None and request.props is not None:
        message = "--alphabet gives symbols, --props gives propositions: a formula has only one of the two"
        raise InputError(message, "Leave out one of them.")
    if "" in paths:
        raise InputError("a file name is empty", EMPTY_NAME)
    if needed and not (expression is not None or request.expressions or paths):
        message = "nothing to read: give a formula file, or a formula with -e"
        hint = "`hardsim examples` lists formulas to start from: hardsim examples flipflop > flipflop.ltl"
        raise InputError(message, hint)


def _remark_at(tell: Callable[..., None], place: Sequence[str], text: str) -> None:
    """Print a remark, with the lines of text that it concerns."""
    tell(text, *place)


def _slow(name: str) -> str:
    """Return a message that reading an input takes long: a network may be large and may load torch, other files run
    examples."""
    network = is_directory(name) or name.endswith((".json", ".spec"))
    return f"{name}: reading it takes long" + ("" if network else ", because its examples are checked")
