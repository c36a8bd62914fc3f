"""One run of a command: its inputs, what went wrong with which of them, its JSON document, its exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from hardsim.checking.interrupts import held, interruptible, settle_signals
from hardsim.cli import failures
from hardsim.cli.estimate import patient
from hardsim.cli.options import ALL, Request
from hardsim.cli.sink import STDOUT, Sink
from hardsim.cli.streams import lost_stream, note, say
from hardsim.errors import Contradiction, InputError, InvariantError

if TYPE_CHECKING:
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.open import Input
    from hardsim.checking.subject import ModelOptions, Subject
    from hardsim.report.screen import Screen

EXPRESSION = "<expression>"

Given = TypeVar("Given", bound="Input | AttentionInput")


class Session:
    """Collects results and failures; every input is tried, whatever happened to the others.

    Raises:
        InputError: if the JSON document cannot be written where it is wanted.
    """

    def __init__(self, command: str, json_path: str | None, seed: int | None = None, quiet: bool = False) -> None:
        from hardsim.report.screen import Screen

        self.command = command
        self.seed = seed
        self.sink = None if json_path is None else Sink(json_path, "--json")
        self.screen: Screen = Screen(enabled=json_path != STDOUT and not quiet)
        self.codes: list[int] = []
        self.inputs: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []
        self.interrupted = False
        self.outputs: list[Sink] = [] if self.sink is None else [self.sink]
        """The files that will be written: none of them may be an input."""

    # ---- failures ----

    def fail(self, name: str | None, error: Exception) -> None:
        """Report an error of one input and go on."""
        from hardsim.report.json import error_json

        self.screen.flush()
        code = failures.report(error, name)
        self.codes.append(code)
        self.errors.append(error_json(name, error, code))

    @contextmanager
    def guard(self, name: str | None) -> Iterator[None]:
        """Keep an error of one input from stopping the others; a lost standard output stops everything."""
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError) and lost_stream(error):
                raise
            self.fail(name, error)

    def remark(self, name: str, regime: str | None, message: str) -> None:
        """A note on standard error, also in the JSON document."""
        from hardsim.report.json import note_json

        note(f"{name}: {message}" if regime is None else f"{name}: regime {regime}: {message}")
        self.notes.append(note_json(name, regime, message))

    def precision(self, subject: Subject, max_n: int, dps: int | None, engine: str) -> None:
        """A remark on digits that were asked for, where they are fewer than mpmath needs."""
        from hardsim.checking.soft import few_digits

        remark = few_digits(subject, max_n, dps, engine)
        if remark is not None:
            self.remark(subject.name, subject.facts.regime, remark)

    def without(self, options: dict[str, bool], reason: str) -> None:
        """A remark on options that were given and have no use here, if there are any."""
        from hardsim.report.json import note_json

        named = ", ".join(name for name, given in options.items() if given)
        if named:
            note(f"{named}: not used by `hardsim {self.command}`; {reason}")
            self.notes.append(note_json(None, None, f"{named}: not used; {reason}"))

    # ---- inputs ----

    def read(
        self, files: list[str] | None, expression: str | None, alphabet: str | None, at: str | None = None
    ) -> Iterator[Input | AttentionInput]:
        """The inputs that can be read, one after the other; the others are reported. `at` is where formulas are read,
        if that was asked for.

        Raises:
            InputError: if it is not clear what to read, or a result would be written over what is read.
        """
        from hardsim.checking.open import expand_paths, read_expression, read_input

        paths = files or []
        check_source(paths, expression, alphabet)
        if expression is not None:
            with self.guard(EXPRESSION):
                yield self._welcome(read_expression(expression, alphabet or ""), at)
            return
        for path in paths:
            expanded: list[str] = []
            with self.guard(path):
                expanded = expand_paths([path])
            for name in expanded:
                for output in self.outputs:
                    output.spare(name)
                given = None
                with self.guard(name):
                    with patient(f"{name}: reading it takes long, its examples being judged"):
                        found = read_input(name)
                    given = self._welcome(found, at)
                if given is not None:
                    yield given

    def _welcome(self, given: Given, at: str | None) -> Given:
        from hardsim.checking.open import Input
        from hardsim.report.json import input_json

        self.inputs.append(input_json(given))
        for remark in given.remarks(at) if isinstance(given, Input) else given.notes:
            self.remark(given.name, None, remark)
        return given

    # ---- subjects ----

    def each(
        self,
        given: Input | AttentionInput,
        request: Request,
        action: Callable[[Subject], None],
        on_model: Callable[[AttentionInput], None],
    ) -> None:
        """Compile a formula in every regime meant and act on it; act once on a hard-attention model.

        Under `all` a regime that refuses the input is a note, unless every regime does.
        """
        from hardsim.checking.attention_open import AttentionInput

        options = request.options()
        if isinstance(given, AttentionInput):
            foreign = request.foreign()
            if foreign:
                self.remark(given.name, None, foreign)
            with self.guard(given.name):
                on_model(given)
            return
        foreign = request.foreign_to_formulas()
        if foreign and self.command != "bound":
            self.remark(given.name, None, foreign)
        if request.regime != ALL:
            with self.guard(given.name):
                _act(given, options[0], action)
            return
        if given.stored is not None:
            regime = given.stored.facts.regime
            self.remark(given.name, None, f"already compiled, in regime {regime}; --regime {ALL} does not apply to it")
            with self.guard(given.name):
                _act(given, replace(options[0], regime=regime), action)
            return
        self._every_regime(given, options, action)

    def _every_regime(self, given: Input, options: list[ModelOptions], action: Callable[[Subject], None]) -> None:
        refusals: list[tuple[str, InputError]] = []
        for option in options:
            with self.guard(given.name):
                try:
                    action(given.compile(option))
                except InputError as error:
                    refusals.append((option.regime, error))
        if len(refusals) < len(options):
            for regime, refusal in refusals:
                self.remark(given.name, regime, refusal.message)
            return
        for different in {str(refusal): refusal for _, refusal in refusals}.values():
            self.fail(given.name, different)

    # ---- the end ----

    def finish(self) -> None:
        """Write the JSON document and leave with the exit code of the run."""
        from hardsim.report.json import document, encode, note_json
        from hardsim.run.float_trust import reasons

        for reason in reasons():
            note(reason)
            self.notes.append(note_json(None, None, reason))
        code = failures.INTERRUPTED if self.interrupted else failures.worst(self.codes)
        settle_signals()
        self.screen.flush()
        if self.sink is not None:
            self.sink.write(
                encode(document(self.command, self.seed, self.inputs, self.results, self.notes, self.errors, code))
            )
        raise typer.Exit(code)

    def close(self) -> None:
        """Remove a half-made JSON file."""
        if self.sink is not None:
            self.sink.discard()


@contextmanager
def session(command: str, json_path: str | None, seed: int | None = None, quiet: bool = False) -> Iterator[Session]:
    """A session that finishes when its block ends or is interrupted, and leaves no half-made file."""
    with held():
        current = Session(command, json_path, seed, quiet)
        try:
            try:
                with interruptible():
                    yield current
            except KeyboardInterrupt:
                current.interrupted = True
                say("interrupted: what was finished until now has been printed")
            current.finish()
        finally:
            current.close()


def _act(given: Input, options: ModelOptions, action: Callable[[Subject], None]) -> None:
    """Compile and act; what is false about a network that was read from a file is a matter of that file.

    Raises:
        InputError: if the claims in a compiled model do not hold of its own network.
        Contradiction: if a proof is contradicted, which no file may bring about.
    """
    try:
        action(given.compile(options))
    except InvariantError as error:
        if given.stored is None or isinstance(error, Contradiction):
            raise
        raise InputError(
            f"{given.name}: the specification in this model does not hold: {error}",
            hint="The file was changed after it was written. Compile the formula again, and report it if that is no "
            "better.",
        ) from None


def check_source(paths: list[str], expression: str | None, alphabet: str | None, needed: bool = True) -> None:
    """Hold that there is something to read (if that is needed), and only one kind of it.

    Raises:
        InputError: saying what to type.
    """
    if expression is not None and paths:
        raise InputError(
            f"-e gives a formula, so no file can be given with it ({paths[0]})", hint="Leave out -e or the files."
        )
    if expression is not None and alphabet is None:
        raise InputError(
            "-e needs --alphabet: a formula alone does not say which symbols words have",
            hint="For example: -e 'a S b' --alphabet 'a b c'",
        )
    if expression is None and alphabet is not None:
        raise InputError(
            "--alphabet goes with -e: a file says its own alphabet",
            hint="Leave out --alphabet, or give a formula with -e.",
        )
    if "" in paths:
        raise InputError("a file name is empty", hint="Give the name of a file, or '.' for this directory.")
    if needed and expression is None and not paths:
        raise InputError(
            "nothing to read: give a formula file, or a formula with -e and --alphabet",
            hint="`hardsim examples` lists formulas to start from: hardsim examples flipflop > flipflop.ltl",
        )
