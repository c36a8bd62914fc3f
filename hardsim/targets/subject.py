"""The targets of commands. A subject is hard attention, the softmax network made of it, and the semantics that gives
the expected answers, if there is one.

Formulas, S-RASP programs and files of weights all become subjects. `targets.open` makes them.
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

from hardsim.campaign.result import (
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
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.predicate import user_predicates
from hardsim.lang.valuations import Alphabet
from hardsim.network.columns import Defined, UserPredicate
from hardsim.network.transformer import Schedule, Transformer
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Kind, Program, Weighting
from hardsim.program.sharpness import Budget
from hardsim.proof.programs.decay import DecayClaim, ProgramArgument, argue
from hardsim.proof.programs.law import ProgramLaw, law_of
from hardsim.proof.shared.result import NoProof, NotProved
from hardsim.records import Record, Unwritten, written
from hardsim.run.forward import Trace
from hardsim.run.soft import nearest, output_settled, rounded, side

At = Literal["first", "last"]

T = TypeVar("T")
HALF = Fraction(1, 2)
SIDES = (Weighting.LEFTMOST, Weighting.RIGHTMOST)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The options that turn an input into a network. None stands for the default (regime, beta, temperature) or for
    the file's own choice (at, and everything that a compiled network states).

    `epsilon` is the error for which Theorem 26 gives the temperature of an input without a regime of its own.
    """

    regime: str | None = None
    beta: Fraction | None = None
    tau: Arith | None = None
    at: At | None = None
    single_head: bool = False
    counting: Method | None = None
    """The method that decides comparisons of counts: `lookup` (the default where the regime has it) or `sign`."""
    epsilon: Fraction | None = None

    @property
    def sharpening(self) -> tuple[str, ...]:
        """The names of the options that were given out of beta, tau and epsilon, which set how sharp attention is."""
        values = {"beta": self.beta, "tau": self.tau, "epsilon": self.epsilon}
        return tuple(name for name, value in values.items() if value is not None)


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """One target to check. `sha256` is the digest of the input (a file's bytes, an expression's text), `alphabet`
    that of the words that are tried.
    """

    name: str
    sha256: str
    kind: Opened
    alphabet: Alphabet
    examples: tuple[tuple[Word, Any], ...] = ()
    pins: bool = False
    """True if the input was read as a formula or program, whose examples are run even beyond the longest length."""
    title: str = ""
    oracle: Callable[[Word], Any] | None = None
    """The semantics; None for a target that is its own specification."""
    against: str | None = None
    """The name of the file that `oracle` comes from, if it is not the target's own."""
    by_function: bool = False
    """True if `oracle` is a Python function, which may leave words and positions open."""

    @property
    def reference_text(self) -> str:
        """The part of a verdict that names the reference, for a target checked against another file."""
        return f"checked against {self.against}"

    @property
    def formula_text(self) -> str | None:
        """The formula's text; None for any other input."""
        return self.title if self.kind == "ltl" else None

    @property
    def file_title(self) -> str | None:
        """The title that a file other than a formula gives itself; None for a formula."""
        return None if self.kind == "ltl" else self.title

    @property
    @abstractmethod
    def facts(self) -> ModelFacts:
        """The size of the network and how it was compiled."""

    @property
    @abstractmethod
    def acceptor(self) -> bool:
        """True if the target accepts or rejects words; False if it maps words to words, or to lists of integers."""

    @property
    @abstractmethod
    def one_network(self) -> bool:
        """True if one network serves every length."""

    @property
    def regime(self) -> str | None:
        """The name of the regime; None without a regime."""
        return None

    @abstractmethod
    def positions(self, n: int) -> int:
        """Return the number of positions that are run for a word of n symbols."""

    @abstractmethod
    def oracles(self, words: Sequence[Word]) -> list[Any] | None:
        """Return the answers of the semantics for words of one length, computed together if possible; None without
        a semantics.
        """


@dataclass(frozen=True, kw_only=True)
class Subject(Target):
    """Hard attention, and the softmax network made of it.

    `prepared` turns a word into the word that is run (a program pads it). A regime's budget, `sharpness`, makes one
    network for every length, `stored`. Without a budget, the temperature is a function of the length for which every
    length is proved, if there is one, else Theorem 26's for `epsilon` at each length, or the `schedule` that was
    given or came with a softmax model.
    """

    program: Program
    prepared: Callable[[Word], Word] = tuple
    guard: Callable[[Sequence[Word], HardTrace], None] | None = None
    """A function that raises if the exact run of some words leaves the range that the construction covers."""
    blank: str | None = None
    """The symbol that is dropped from the output of a padded transduction."""
    predicates: tuple[str, ...] = ()
    """Definitions of predicates that the position encodings name."""
    structural: bool = False
    """True if gaps and ranges are known for all words from how the program was built."""
    sharpness: Budget | None = None
    stored: Transformer | None = None
    schedule: Schedule | None = None
    epsilon: Fraction | None = None
    softmax: bool = False
    """True if the schedule came with the weights of a softmax model, whose weights are never changed, with or
    without ties.
    """
    formula: FormulaFile | None = None
    """The formula that the network was compiled from; its `at` is the position at which this subject is read."""
    origin: FormulaFile | None = None
    """The formula that a hard-attention model was compiled from, construction by construction. The model is not
    checked against its semantics.
    """
    single_head: bool = False
    counting: str | None = None
    """The method that decides comparisons of counts; None where there are none."""
    given: tuple[str, ...] = ()
    """The options out of beta, tau and epsilon that were given, for advice."""
    confirmed: bool = True
    """True if purposes, theorems and declared gaps are hardsim's own; False if they are claims of a file."""

    # ---- data of some subjects only: InvariantError for any other subject ----

    @property
    def file(self) -> FormulaFile:
        """The formula that the subject was compiled from."""
        return self._there(self.formula, "no formula")

    @property
    def source_formula(self) -> FormulaFile:
        """The formula that the network computes if that is proved: the one that the subject was compiled from, also
        as a hard-attention model.
        """
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

    # ---- properties ----

    @property
    def acceptor(self) -> bool:
        """True if the subject accepts or rejects words; False if it maps words to words, or to lists of integers."""
        return not self.program.maps

    @property
    def one_network(self) -> bool:
        """True if a regime's sharpness makes one network for every length."""
        return self.sharpness is not None

    def positions(self, n: int) -> int:
        """Return the number of positions of a word of n symbols as it is run, with a beginning of sequence if
        there is one.
        """
        return len(self.prepared((self.alphabet[0],) * n)) + self.program.bos

    @property
    def exact(self) -> bool:
        """True if the output must be exactly 1 or exactly 0; False if it is compared with a threshold."""
        return self.program.threshold is None

    @property
    def threshold(self) -> Fraction:
        """The number that an output is compared with; 1/2 where outputs must be exactly 0 or 1."""
        return HALF if self.program.threshold is None else Fraction(self.program.threshold)

    @cached_property
    def law(self) -> ProgramLaw | NoProof:
        """The facts of the program on every word of every length, from its weights; or the reason why they do not
        suffice to compare softmax with it.
        """
        try:
            found = law_of(self.program)
        except NotProved as failure:
            return NoProof(failure.reason)
        doubt = found.more.doubt or found.one.doubt
        if not self.exact and doubt:
            return NoProof(doubt)
        tied = next((head for head in self.program.heads if head.weighting in SIDES and found.may_tie(head)), None)
        return found if tied is None else NoProof(f"head {tied.name} may have ties, which softmax does not break")

    @cached_property
    def argument(self) -> ProgramArgument:
        """The argument for every length, at the given temperature or else at one that is found for it; or the reason
        why there is none.
        """
        claim, tau = self.decay_claim, self.schedule
        if isinstance(claim, NoProof):
            return ProgramArgument(None, reason=claim.reason)
        if tau is not None and not isinstance(tau, Arith):
            return ProgramArgument(
                str(tau), reason=f"its temperature is a {tau}, which is not defined for longer words"
            )
        return argue(claim, tau)

    @property
    def decay_claim(self) -> DecayClaim | NoProof:
        """The claim to prove for every length, or the reason why there is none. It is computed at each use: a process
        cannot send it.
        """
        if not self.structural and self.kind == "srasp":
            return NoProof("its integers may leave their range on some words")
        if isinstance(self.law, NoProof):
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
        """The temperature of a subject without a regime: the given one, or a function of the length at which every
        length is proved. None: Theorem 26's at each length, which is also used if the user asks for an error
        (`epsilon`).
        """
        if self.schedule is not None or self.sharpness is not None or self.epsilon is not None:
            return self.schedule
        found = self.argument
        return parse_arith(found.temperature) if found.proved and found.temperature is not None else None

    @property
    def by_structure(self) -> bool:
        """True if enough is known of every word without running it. For a program this includes that its integers
        stay in range: only then hard attention computes what the program does.
        """
        return (self.structural or self.kind != "srasp") and not isinstance(self.law, NoProof)

    @property
    def regime(self) -> str | None:
        """The name of the regime; None without a regime."""
        return self.program.regime or None if self.sharpness is not None else None

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each coordinate in the softmax network."""
        # A stored network may have other coordinates than its specification, in another order.
        names = self.program.coordinates if self.stored is None else self.stored.coordinates
        return {name: number for number, name in enumerate(names)}

    @property
    def output(self) -> int:
        """The coordinate of the softmax network that an acceptor answers by: the stored network's own, even if the
        program names another.
        """
        return self.index[self.program.output] if self.stored is None else self.stored.output

    @cached_property
    def specified(self) -> bool:
        """True if the network equals the one that the program compiles to. A network compiled here does; a file
        may differ.
        """
        return self.stored is None or assemble(self.program, self.budget) == self.stored

    @property
    def own(self) -> bool:
        """True if hardsim made the network itself and it is unedited: only then is a false claim a mistake of
        hardsim.

        Programs and formulas are compiled here. A file was compared with what its formula compiles to when it
        was read.
        """
        if self.formula is None:
            return self.kind == "srasp" or self.origin is not None
        return self.confirmed and self.specified

    def require_specified(self, what: str) -> None:
        """Refuse a computation from the specification if the network is another one.

        Raises:
            InputError: with `what`, the name of that computation.
        """
        if not self.specified:
            raise InputError(
                f"{self.name}: the network differs from the one that its specification compiles to at its beta, and "
                f"{what} would be about the specification",
                hint="Compile the formula again; check, prove, eval and words use the network itself.",
            )

    @property
    def facts(self) -> ModelFacts:
        """The size of the network and how it was compiled."""
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
        """Return the answers of the semantics for words of one length, computed together if possible; None without
        a semantics.
        """
        if self.oracle is None:
            return None
        many: Callable[[Sequence[Word]], list[Answer]] | None = getattr(self.oracle, "many", None)
        return [self.oracle(word) for word in words] if many is None else many(words)

    def soft_answer(self, trace: Trace[Any]) -> Answer:
        """Return the answer of a softmax run: True or False for an acceptor, otherwise the symbols or integers of
        the output; None where it is uncertain.
        """
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
        """Return True if more precision would not change the answer of a run."""
        if not self.acceptor:
            outs = [trace.columns[self.index[name]].values for name in self.program.answers]
            # Exact outputs cannot change, even where no answer is certain.
            known = all(isinstance(value, int | Fraction) for column in outs for value in column)
            return known or settled(self.soft_answer(trace))
        value = trace.columns[self.output].values[trace.index]
        if self.exact or isinstance(value, int | Fraction):
            return output_settled(value)
        return side(value, self.threshold) is not None

    def symbols(self, sides: Sequence[tuple[str, Sequence[bool | None]]]) -> tuple[str | None, ...]:
        """Return the symbols of a one-hot output, without blanks; None at positions where the symbol is uncertain.

        `sides` gives for each symbol and position True if its coordinate is above the threshold, None if uncertain.
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
    """A result about a subject."""

    subject: Unwritten[Subject]
    """The subject that the result is about."""

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
        """A formula's text; null for any other input."""
        return self.subject.formula_text

    @property
    @written
    def title(self) -> Title:
        """The title that a file gives itself, which is not verified; null for a formula."""
        return self.subject.file_title

    @property
    @written
    def model(self) -> ModelFacts:
        """The size of the network and how it was compiled."""
        return self.subject.facts


def no_output_of(subject: Subject, mismatch: Mismatch) -> NoOutput | None:
    """Return the first value of a reference that no output of a transduction has; None if there is no such value, or
    if words are accepted or rejected.
    """
    program, oracle = subject.program, mismatch.oracle
    if not isinstance(oracle, tuple):
        return None
    symbols = tuple(symbol for symbol, _ in program.outputs if symbol != subject.blank)
    for position, value in enumerate(oracle, start=1):
        if value is not None and (isinstance(value, str) if program.integers else value not in symbols):
            return NoOutput.of(str(value), position, () if program.integers else symbols)
    return None


def counting_of(program: Program) -> str | None:
    """Return the method by which the heads of a program count, `sign` or `lookup`; None where they do not count."""
    kinds = {head.kind for head in program.heads}
    if kinds & {Kind.SIGN, Kind.SIGN_RAMP}:
        return "sign"
    return "lookup" if Kind.LOOKUP in kinds else None


def own_predicates(file: FormulaFile) -> dict[str, tuple[str, UserPredicate]]:
    """Return the predicates that a file defines: text and meaning by name."""
    meanings = user_predicates(file)
    return {item.name: (item.text, meanings[item.name]) for item in file.predicates}


def predicates_of(subject: Subject) -> Defined:
    """Return the predicates that the position encodings of a subject may name, by name."""
    if subject.formula is not None:
        return {item.name: item for item in subject.formula.predicates}
    # Definitions are parsed as part of a formula file; `alphabet: a` and `true` only complete it.
    definitions = "".join(f"pred {' '.join(text.split())}\n" for text in subject.predicates)
    return {item.name: item for item in parse_text(f"alphabet: a\n{definitions}true\n", subject.name).predicates}


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes as hex."""
    return hashlib.sha256(data).hexdigest()
