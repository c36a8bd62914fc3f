"""One run of a command: its inputs, what went wrong with which of them, its JSON document, its exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import typer

from hardsim.checking.engines import few_digits
from hardsim.checking.interrupts import held, interruptible, settle_signals
from hardsim.checking.open import Input, expand_paths, read_expression, read_input
from hardsim.checking.options import ALL, Request
from hardsim.checking.subject import Subject
from hardsim.cli import streams
from hardsim.cli.estimate import patient
from hardsim.cli.streams import LostOutput, note, say
from hardsim.errors import HardsimError, InputError
from hardsim.examples import located
from hardsim.files import STDOUT, Sink
from hardsim.report.document import Document, Failure, InputRead, Note
from hardsim.report.screen import Screen
from hardsim.run.float_trust import reasons

EXPRESSION = "<expression>"


class Session:
    """Collects results and failures; every input is tried, whatever happened to the others. `target` is what is written
    besides the JSON document: neither may be an input.

    Raises:
        InputError: if the JSON document cannot be written where it is wanted.
    """

    def __init__(self, command: str, request: Request, seed: int | None, target: Sink | None) -> None:
        self.command, self.request, self.seed = command, request, seed
        self.sink = None if request.json is None else Sink(request.json, "--json")
        self.outputs = [sink for sink in (self.sink, target) if sink is not None]
        self.screen = Screen(enabled=STDOUT not in [sink.path for sink in self.outputs])
        self.codes: list[int] = []
        self.found: list[Any] = []
        """The results."""
        self.inputs: list[InputRead] = []
        self.notes: list[Note] = []
        self.errors: list[Failure] = []
        self.interrupted = False

    # ---- failures and remarks ----

    def fail(self, name: str | None, error: Exception) -> None:
        """Report an error of one input and go on."""
        self.screen.flush()
        code = streams.report(error, name)
        self.codes.append(code)
        message = str(error) if isinstance(error, HardsimError) else f"{type(error).__name__}: {error}"
        self.errors.append(Failure(name, code, message))

    @contextmanager
    def guard(self, name: str | None) -> Iterator[None]:
        """Keep an error of one input from stopping the others; a lost standard output stops everything."""
        try:
            yield
        except LostOutput:
            raise
        except Exception as error:
            self.fail(name, error)

    def remark(self, name: str | None, regime: str | None, message: str | None, said: str | None = None) -> None:
        """A note on standard error (in other words: `said`), also in the JSON document, if there is anything to say."""
        if message is None:
            return
        self.screen.flush()
        note(said or ": ".join(part for part in (name, regime and f"regime {regime}", message) if part is not None))
        self.notes.append(Note(name, regime, message))

    def precision(self, subject: Subject, max_n: int) -> None:
        """A remark on digits that were asked for, where they are fewer than mpmath needs."""
        if subject.stored is not None:
            remark = few_digits(subject.stored, max_n, self.request.dps, self.request.engine)
            self.remark(subject.name, subject.regime, remark)

    def without(self, options: str, reason: str) -> None:
        """A remark on those of the options that were given and have no use here, if there are any."""
        named, command = self.request.given(options), f"`hardsim {self.command}`"
        if named:
            self.remark(None, None, f"{named}: not used; {reason}", f"{named}: not used by {command}; {reason}")

    # ---- inputs ----

    def read(self) -> Iterator[Input]:
        """The inputs that can be read, one after the other; the others are reported.

        Raises:
            InputError: if it is not clear what to read, or a result would be written over what is read.
        """
        request = self.request
        check_source(request)
        if request.expression is not None:
            with self.guard(EXPRESSION):
                yield self._welcome(read_expression(request.expression, request.alphabet or ""))
            return
        for path in request.files or []:
            expanded: list[str] = []
            with self.guard(path):
                expanded = expand_paths([path])
            for name in expanded:
                self.spare(name)
                with self.guard(name):
                    with patient(f"{name}: reading it takes long, its examples being judged"):
                        found = read_input(name)
                    yield self._welcome(found)

    def spare(self, name: str) -> None:
        """Hold that nothing is written over a file that is read; an InputError otherwise."""
        for output in self.outputs:
            output.spare(located(name))

    def _welcome(self, given: Input) -> Input:
        self.inputs.append(InputRead(given.name, given.sha256, given.alphabet))
        for remark in given.remarks(self.request.at):
            self.remark(given.name, None, remark)
        return given

    def several(self, given: Sequence[Input]) -> bool:
        """Whether there are several inputs, with those that could not be read."""
        return len(given) + len(self.errors) > 1

    def tables(self, given: Sequence[Input]) -> bool:
        """Whether rows are printed: as was asked for, else for a single input."""
        return not self.several(given) if self.request.tables is None else self.request.tables

    # ---- subjects ----

    def each(self, given: Input, action: Callable[[Subject], None]) -> None:
        """Act on an input: on a formula in every regime meant, once on anything else.

        Under `all` a regime that refuses the input is a note, unless every regime does.
        """
        options, made = self.request.options(), given.made
        if given.formula is None or self.command != "bound":
            self.remark(given.name, None, self.request.idle(given))
        if given.formula is None:
            options = options[:1]
        elif self.request.regime == ALL and made is not None:
            regime = made.facts.regime or ""
            self.remark(given.name, None, f"already compiled, in regime {regime}; --regime {ALL} does not apply to it")
            options = [replace(options[0], regime=regime)]
        refusals: list[tuple[str | None, InputError]] = []
        for option in options:
            if self.interrupted:
                break
            with self.guard(given.name):
                try:
                    with given.answering():
                        action(given.compile(option))
                except InputError as error:
                    refusals.append((option.regime, error))
        if len(refusals) < len(options):
            for tried, refusal in refusals:
                self.remark(given.name, tried, refusal.message)
            return
        for different in {str(refusal): refusal for _, refusal in refusals}.values():
            self.fail(given.name, different)

    def all(self, inputs: Iterable[Input], action: Callable[[Subject], None]) -> None:
        """Act on one input after the other; after an interruption the others are left alone."""
        for given in inputs:
            self.each(given, action)
            if self.interrupted:
                break

    # ---- the end ----

    def conclude(self, agreed: bool, undecided: bool, left: str = "") -> None:
        """The exit code of one result; `left` says what an interruption left of it, if there was one."""
        self.screen.flush()
        if not agreed or undecided:
            self.codes.append(streams.UNDECIDED if agreed else streams.MISMATCH)
        if left:
            self.interrupted = True
            say(f"interrupted: {left}")

    def finish(self) -> None:
        """Write the JSON document and leave with the exit code of the run."""
        for reason in reasons():
            self.remark(None, None, reason)
        worst = min(self.codes, key=streams.WORST_FIRST.index, default=streams.AGREED)
        code = streams.INTERRUPTED if self.interrupted else worst
        settle_signals()
        self.screen.flush()
        if self.sink is not None:
            parts = map(tuple, (self.inputs, self.found, self.notes, self.errors))
            self.sink.write(Document(self.command, self.seed, code, *parts).to_json())
        raise typer.Exit(code)


@contextmanager
def session(command: str, request: Request, seed: int | None = None, target: Sink | None = None) -> Iterator[Session]:
    """A session that finishes when its block ends or is interrupted, and leaves no half-made file."""
    with held():
        current = Session(command, request, seed, target)
        with current.sink or nullcontext():
            if target is not None and current.sink is not None and current.sink.same(target):
                raise InputError(f"{target.option} and --json both write {target.path}", "Name two files.")
            try:
                with interruptible():
                    yield current
            except KeyboardInterrupt:
                current.interrupted = True
                say("interrupted: what was finished until now has been printed")
            current.finish()


def check_source(request: Request, needed: bool = True) -> None:
    """Hold that there is something to read (if that is needed), and only one kind of it.

    Raises:
        InputError: saying what to type.
    """
    paths, expression, alphabet = request.files or [], request.expression, request.alphabet
    if expression is not None and paths:
        told = f"-e gives a formula, so no file can be given with it ({paths[0]})"
        raise InputError(told, "Leave out -e or the files.")
    if expression is not None and alphabet is None:
        told = "-e needs --alphabet: a formula alone does not say which symbols words have"
        raise InputError(told, "For example: -e 'a S b' --alphabet 'a b c'")
    if expression is None and alphabet is not None:
        told = "--alphabet goes with -e: a file says its own alphabet"
        raise InputError(told, "Leave out --alphabet, or give a formula with -e.")
    if "" in paths:
        raise InputError("a file name is empty", "Give the name of a file, or '.' for this directory.")
    if needed and expression is None and not paths:
        told = "nothing to read: give a formula file, or a formula with -e and --alphabet"
        hint = "`hardsim examples` lists formulas to start from: hardsim examples flipflop > flipflop.ltl"
        raise InputError(told, hint)
