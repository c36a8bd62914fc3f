"""What is checked: hard attention, the softmax network made of it, and the semantics that judges both if there is one.

Formulas, S-RASP programs and files of weights are subjects alike. `checking.open` makes them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeVar

from hardsim.checking.result import (
    Answer,
    FormulaText,
    InputKind,
    InputName,
    Mismatch,
    ModelFacts,
    NoOutput,
    Opened,
    Title,
    Word,
    settled,
)
from hardsim.compiling.from_ltl.lower import Method
from hardsim.errors import InputError, InvariantError
from hardsim.hard.exact import HardTrace as HardTrace
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.ast import FormulaFile
from hardsim.lang.parse import parse_text
from hardsim.lang.predicate import user_predicates
from hardsim.lang.valuations import Alphabet
from hardsim.network.columns import Defined, UserPredicate
from hardsim.network.model import Schedule, Transformer
from hardsim.program.assemble import assemble
from hardsim.program.model import Kind, Program, Weighting
from hardsim.program.sharpness import Budget
from hardsim.proof.decay import DecayClaim, ProgramArgument, argue
from hardsim.proof.program import ProgramLaw, law_of
from hardsim.proof.result import NotProved
from hardsim.records import Record, Unwritten, written
from hardsim.run.forward import Trace
from hardsim.run.soft import nearest, output_settled, rounded, side

At = Literal["first", "last"]

T = TypeVar("T")
HALF = Fraction(1, 2)
SIDES = (Weighting.LEFTMOST, Weighting.RIGHTMOST)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How an input becomes a network; None stands for the default (regime, beta, temperature) or the file's own choice
    (at, and all that a compiled network has).

    `epsilon` is the error for which Theorem 26 gives the temperature of what has no regime of its own.
    """

    regime: str | None = None
    beta: Fraction | None = None
    tau: Arith | None = None
    at: At | None = None
    single_head: bool = False
    counting: Method | None = None
    """How comparisons of counts are decided: `lookup` (the default where the regime has it) or `sign`."""
    epsilon: Fraction | None = None

    @property
    def sharpening(self) -> tuple[str, ...]:
        """The names of the options that were given out of beta, tau and epsilon, which set how sharp attention is."""
        values = {"beta": self.beta, "tau": self.tau, "epsilon": self.epsilon}
        return tuple(name for name, value in values.items() if value is not None)


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """One thing to check, whatever it is. `sha256` is that of the input (a file's bytes, an expression's text),
    `alphabet` that of the words that are tried."""

    name: str
    sha256: str
    kind: Opened
    alphabet: Alphabet
    examples: tuple[tuple[Word, Any], ...] = ()
    pins: bool = False
    """Whether it was read as a formula or program, whose examples are run whatever the longest length is."""
    title: str = ""
    oracle: Callable[[Word], Any] | None = None
    """The semantics; None for what is its own specification."""
    against: str | None = None
    """The name of the file whose semantics `oracle` is, where that is not its own."""
    by_function: bool = False
    """True if `oracle` is a Python function, which may leave words and positions open."""

    @property
    def held(self) -> str:
        """The words of a verdict that say what it is held against, where that is not its own."""
        return f"held against {self.against}"

    @property
    def formula_text(self) -> str | None:
        """The formula, as written; None for anything else."""
        return self.title if self.kind == "ltl" else None

    @property
    def file_title(self) -> str | None:
        """What anything but a formula says of itself."""
        return None if self.kind == "ltl" else self.title

    @property
    @abstractmethod
    def facts(self) -> ModelFacts:
        """The network in numbers."""

    @property
    @abstractmethod
    def acceptor(self) -> bool:
        """Whether it accepts or rejects; otherwise it maps words to words, or to lists of integers."""

    @property
    @abstractmethod
    def one_network(self) -> bool:
        """Whether there is one network for every length."""

    @property
    def regime(self) -> str | None:
        """The regime, if it has one."""
        return None

    @abstractmethod
    def positions(self, n: int) -> int:
        """How many positions are run for a word of n symbols."""

    @abstractmethod
    def oracles(self, words: Sequence[Word]) -> list[Any] | None:
        """What the semantics says of words of one length, all at once if it can; None where there is none."""


@dataclass(frozen=True, kw_only=True)
class Subject(Target):
    """Hard attention, and the softmax network made of it.

    `prepared` makes of a word the one that is run (a program pads it). With a `sharpness`, the budget of a regime,
    there is one network for every length, `stored`; else the temperature is a function of the length for which all are
    proved, where there is one, or else Theorem 26's for `epsilon` at each length, or the
    `schedule` that was given or came with a softmax model.
    """

    program: Program
    prepared: Callable[[Word], Word] = tuple
    guard: Callable[[Sequence[Word], HardTrace], None] | None = None
    """Raises where the exact run of some words leaves the range that the construction covers."""
    blank: str | None = None
    """The symbol that is dropped from the output of a padded transduction."""
    predicates: tuple[str, ...] = ()
    """Definitions of predicates that the position encodings name."""
    structural: bool = False
    """Whether gaps and ranges are known for all words from how the program was built."""
    sharpness: Budget | None = None
    stored: Transformer | None = None
    schedule: Schedule | None = None
    epsilon: Fraction | None = None
    softmax: bool = False
    """Whether the schedule came with the weights of a softmax model, which are taken as they are, ties or not."""
    formula: FormulaFile | None = None
    """What a formula's network was compiled from; its `at` is the position at which this subject is read."""
    origin: FormulaFile | None = None
    """What a hard-attention model was compiled from, construction by construction; no semantics that it is held to."""
    single_head: bool = False
    counting: str | None = None
    """How comparisons of counts are decided (None where there are none)."""
    given: tuple[str, ...] = ()
    """The options that were given of those that decide how sharp attention is, for advice."""
    confirmed: bool = True
    """True if purposes, theorems and declared gaps are hardsim's own; else they are claims of a file."""

    # ---- what only some subjects have: InvariantError is raised by any other ----

    @property
    def file(self) -> FormulaFile:
        """The formula that it was compiled from."""
        return self._there(self.formula, "no formula")

    @property
    def meant(self) -> FormulaFile:
        """The formula that its network computes if that is proved: that it was compiled from, also as a hard-attention
        model."""
        return self._there(self.formula or self.origin, "no formula")

    @property
    def budget(self) -> Budget:
        """The sharpness of the regime."""
        return self._there(self.sharpness, "no regime")

    @property
    def model(self) -> Transformer:
        """The one network for every length."""
        return self._there(self.stored, "another network for every length")

    def _there(self, value: T | None, otherwise: str) -> T:
        if value is None:
            raise InvariantError(f"{self.name} has {otherwise}")
        return value

    # ---- what it is ----

    @property
    def acceptor(self) -> bool:
        """Whether it accepts or rejects; otherwise it maps words to words, or to lists of integers."""
        return not self.program.maps

    @property
    def one_network(self) -> bool:
        """Whether a regime's sharpness makes one network for every length."""
        return self.sharpness is not None

    def positions(self, n: int) -> int:
        """Those of the word as it is run, and a beginning of sequence."""
        return len(self.prepared((self.alphabet[0],) * n)) + self.program.bos

    @property
    def exact(self) -> bool:
        """Whether the output must be exactly 1 or exactly 0; otherwise it is read against a threshold."""
        return self.program.threshold is None

    @property
    def threshold(self) -> Fraction:
        """What an output is compared with."""
        return HALF if self.program.threshold is None else Fraction(self.program.threshold)

    @cached_property
    def law(self) -> ProgramLaw | str:
        """The facts of the program on every word of every length, from its weights; or why they are not enough to hold
        softmax against it."""
        try:
            found = law_of(self.program)
        except NotProved as failure:
            return failure.reason
        doubt = found.more.doubt or found.one.doubt
        if not self.exact and doubt:
            return doubt
        tied = next((head for head in self.program.heads if head.weighting in SIDES and found.may_tie(head)), None)
        return found if tied is None else f"head {tied.name} may have ties, which softmax does not break"

    @cached_property
    def argument(self) -> ProgramArgument:
        """The argument for every length, at the temperature that was given or else at one that is found for it; or why
        there is none."""
        claim, tau = self.decay_claim, self.schedule
        if isinstance(claim, str):
            return ProgramArgument(None, reason=claim)
        if tau is not None and not isinstance(tau, Arith):
            return ProgramArgument(str(tau), reason=f"its temperature is a {tau}, which says nothing of longer words")
        return argue(claim, tau)

    @property
    def decay_claim(self) -> DecayClaim | str:
        """The claim to prove for every length, or the reason why there is none. It is computed at each use: a process
        cannot send it.
        """
        if not self.structural and self.kind == "srasp":
            return "its integers may leave their range on some words"
        if isinstance(self.law, str):
            return self.law

        def lengths(end: int) -> list[int]:
            found: set[int] = set()
            for n in range(1, end):  # a padded word is no shorter
                with suppress(InputError):  # no word of this length can be padded
                    found.add(self.positions(n) - self.program.bos)
            return sorted(n for n in found if n < end)

        return DecayClaim(self.program, self.law, self.exact, lengths)

    @cached_property
    def temperature(self) -> Schedule | None:
        """The temperature of what has no regime: the given one, or a function of the length at which every length is
        proved. None: Theorem 26's at each length, which an error of one's own (`epsilon`) asks for, too."""
        if self.schedule is not None or self.sharpness is not None or self.epsilon is not None:
            return self.schedule
        found = self.argument
        return parse_arith(found.temperature) if found.proved and found.temperature is not None else None

    @property
    def by_structure(self) -> bool:
        """Whether enough is known of every word without running it: of a program that its integers stay in range,
        too, since only then hard attention is what it says."""
        return (self.structural or self.kind != "srasp") and not isinstance(self.law, str)

    @property
    def regime(self) -> str | None:
        """The regime, if it has one."""
        return self.program.regime or None if self.sharpness is not None else None

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each coordinate in the softmax network."""
        names = self.program.coordinates if self.stored is None else self.stored.coordinates
        return {name: number for number, name in enumerate(names)}

    @property
    def output(self) -> int:
        """The coordinate of the softmax network that an acceptor answers by: the network's own, whatever the program
        that it is held against names."""
        return self.index[self.program.output] if self.stored is None else self.stored.output

    @cached_property
    def specified(self) -> bool:
        """Whether the network is the one that the program makes: what is compiled here is, a file may differ."""
        return self.stored is None or assemble(self.program, self.budget) == self.stored

    @property
    def own(self) -> bool:
        """Return whether hardsim made the network itself and finds it unedited: only then is a false claim a mistake of
        hardsim.

        Programs and formulas are compiled here. A file was compared with what its formula is compiled into when it was
        read.
        """
        if self.formula is None:
            return self.kind == "srasp" or self.origin is not None
        return self.confirmed and self.specified

    def hold_specified(self, what: str) -> None:
        """Refuse what is worked out from the specification, where the network is another one.

        Raises:
            InputError: naming `what`.
        """
        if not self.specified:
            raise InputError(
                f"{self.name}: the network is not the one that its specification makes at its beta, and {what} would "
                "speak of the specification",
                hint="Compile the formula again; check, prove, eval and words speak of the network itself.",
            )

    @property
    def facts(self) -> ModelFacts:
        """The network in numbers."""
        budget, program = self.sharpness, self.program
        network = self.stored or assemble(program, parse_arith("1"))
        temperature = ""
        if budget is None:
            found = self.temperature
            temperature = "that of Theorem 26 at each length" if found is None else str(found)
        return ModelFacts(
            layers=len(network.layers),
            heads=len(network.heads),
            dimension=network.dimension,
            parameters=network.parameters,
            temperature=temperature if budget is None else str(budget.temperature),
            at=self.formula.at if self.formula is not None else program.reading,
            regime=self.regime,
            beta=None if budget is None else budget.beta,
            single_head=self.single_head,
            counting=self.counting,
            bos=program.bos,
            specified=self.specified,
            given=self.given,
        )

    # ---- answers ----

    def oracles(self, words: Sequence[Word]) -> list[Answer] | None:
        """What the semantics says of words of one length, all at once if it can; None where there is none."""
        if self.oracle is None:
            return None
        many: Callable[[Sequence[Word]], list[Answer]] | None = getattr(self.oracle, "many", None)
        return [self.oracle(word) for word in words] if many is None else many(words)

    def soft_answer(self, trace: Trace[Any]) -> Answer:
        """The answer of a softmax run: what each output coordinate certainly is."""
        if self.acceptor:
            value = trace.columns[self.output].values[trace.index]
            return rounded(value) if self.exact else side(value, self.threshold)
        first = 1 - self.program.first
        if self.program.integers:
            column = trace.columns[self.output].values[first:]
            return tuple(nearest(value, len(column)) for value in column)
        columns = [(symbol, trace.columns[self.index[name]].values[first:]) for symbol, name in self.program.outputs]
        sides = [(symbol, [side(value, self.threshold) for value in column]) for symbol, column in columns]
        return self.symbols(sides)

    def is_settled(self, trace: Trace[Any]) -> bool:
        """Whether more precision would not change the answer of a run."""
        if not self.acceptor:
            outs = [trace.columns[self.index[name]].values for name in self.program.answers]
            known = all(isinstance(value, int | Fraction) for column in outs for value in column)
            return known or settled(self.soft_answer(trace))
        value = trace.columns[self.output].values[trace.index]
        if self.exact or isinstance(value, int | Fraction):
            return output_settled(value)
        return side(value, self.threshold) is not None

    def symbols(self, sides: Sequence[tuple[str, Sequence[bool | None]]]) -> tuple[str | None, ...]:
        """The symbols of a one-hot output, without blanks; None where it is not certain which one it is.

        `sides` says of each symbol and position whether its coordinate is above the threshold.
        """
        found: list[str | None] = []
        for place in range(len(sides[0][1])):
            here = [(symbol, column[place]) for symbol, column in sides]
            chosen = [symbol for symbol, above in here if above]
            certain = len(chosen) == 1 and all(above is not None for _, above in here)
            found.append(chosen[0] if certain else None)
        return tuple(symbol for symbol in found if symbol is None or symbol != self.blank)


@dataclass(frozen=True, slots=True, repr=False)
class SubjectRecord(Record):
    """What was found of a subject."""

    subject: Unwritten[Subject]
    """What it is about."""

    @property
    @written
    def input(self) -> InputName:
        """Path as given, or <expression>."""
        return self.subject.name

    @property
    @written
    def kind(self) -> InputKind:
        """A formula, a program or a hard-attention model."""
        return self.subject.kind

    @property
    @written
    def formula(self) -> FormulaText:
        """A formula's text; null for anything else."""
        return self.subject.formula_text

    @property
    @written
    def title(self) -> Title:
        """What anything else says of itself; null for a formula."""
        return self.subject.file_title

    @property
    @written
    def model(self) -> ModelFacts:
        """The network in numbers."""
        return self.subject.facts


def no_output_of(subject: Subject, mismatch: Mismatch) -> NoOutput | None:
    """Return the first value of a reference that no output of a transduction has; None if there is no such value, or
    if words are accepted or rejected."""
    program, oracle = subject.program, mismatch.oracle
    if not isinstance(oracle, tuple):
        return None
    symbols = tuple(symbol for symbol, _ in program.outputs if symbol != subject.blank)
    for position, value in enumerate(oracle, start=1):
        if value is not None and (isinstance(value, str) if program.integers else value not in symbols):
            return NoOutput.of(str(value), position, () if program.integers else symbols)
    return None


def counting_of(program: Program) -> str | None:
    """How the heads of a program count; None where they do not."""
    kinds = {head.kind for head in program.heads}
    if kinds & {Kind.SIGN, Kind.SIGN_RAMP}:
        return "sign"
    return "lookup" if Kind.LOOKUP in kinds else None


def own_predicates(file: FormulaFile) -> dict[str, tuple[str, UserPredicate]]:
    """The predicates that a file defines: text and meaning by name."""
    meanings = user_predicates(file)
    return {item.name: (item.text, meanings[item.name]) for item in file.predicates}


def predicates_of(subject: Subject) -> Defined:
    """The predicates that the position encodings of a subject may name, by name."""
    if subject.formula is not None:
        return {item.name: item for item in subject.formula.predicates}
    definitions = "".join(f"pred {' '.join(text.split())}\n" for text in subject.predicates)
    return {item.name: item for item in parse_text(f"alphabet: a\n{definitions}true\n", subject.name).predicates}


def digest(data: bytes) -> str:
    """SHA-256 as hex."""
    return hashlib.sha256(data).hexdigest()
