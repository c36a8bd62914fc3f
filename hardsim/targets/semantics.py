"""The semantics of formulas, programs and regular expressions, without a network, as references for targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from hardsim.errors import InputError, SourceError
from hardsim.lang import ast
from hardsim.lang.ast import FormulaFile
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.of_formula import NoAutomaton, automaton_of_formula
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.lang.semantics import Oracle, check_examples
from hardsim.lang.spec.meaning import accepting_name
from hardsim.lang.srasp.batch_program import BatchProgram
from hardsim.lang.srasp.interpreter import ProgramOracle
from hardsim.lang.valuations import (
    MENTIONED,
    Alphabet,
    Numbering,
    Valuations,
    alphabet_text,
    same_spelling,
    same_symbols,
)
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.targets.base import At
from hardsim.targets.external import External, judging
from hardsim.targets.program_reference import ProgramReference
from hardsim.targets.result import Answer, Opened, Word
from hardsim.targets.subject import Subject
from hardsim.writing.specification import predicts_tokens


@dataclass(frozen=True)
class Members:
    """The language of an automaton as a semantics: True for the words that it accepts."""

    automaton: Automaton

    def __call__(self, word: Word) -> bool:
        return self.automaton.accepts(word)

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        return [self.automaton.accepts(word) for word in words]


@dataclass(frozen=True)
class Respelled:
    """A semantics for words whose sets of propositions may be spelled in another order than in its own alphabet."""

    oracle: Accepts | Runs
    alphabet: Alphabet
    """The alphabet of the semantics itself."""

    @cached_property
    def _own(self) -> Callable[[str], str]:
        return Numbering(self.alphabet).own

    def __call__(self, word: Word) -> Answer:
        return self.oracle(tuple(map(self._own, word)))

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        return self.oracle.many([tuple(map(self._own, word)) for word in words])

    def __reduce__(self) -> tuple[type[Respelled], tuple[Accepts | Runs, Alphabet]]:
        # The cached numbering is left out when this is sent to a worker process.
        return Respelled, (self.oracle, self.alphabet)


@dataclass(frozen=True)
class Semantics:
    """The semantics of a file that accepts words, and the words of its examples."""

    name: str
    sha256: str
    kind: Opened
    alphabet: Alphabet
    oracle: Accepts | Runs | Members | Respelled
    examples: tuple[Word, ...] = ()

    def over(self, alphabet: Alphabet) -> Semantics:
        """Return this semantics for words written in another alphabet with the same symbols."""
        if same_spelling(alphabet, self.alphabet):
            return self
        oracle = self.oracle
        if isinstance(oracle, Members):
            oracle = Members(oracle.automaton.over(alphabet))
        elif not isinstance(oracle, Respelled):
            oracle = Respelled(oracle, self.alphabet)
        own = Numbering(alphabet).own
        examples = tuple(tuple(map(own, word)) for word in self.examples)
        return replace(self, alphabet=alphabet, oracle=oracle, examples=examples)

    @property
    def automaton(self) -> Automaton:
        """The minimal automaton of the language. Raises NoAutomaton if there is none here."""
        return automaton_of(self.oracle, self.alphabet, self.name)

    def require_alphabet(self, name: str, alphabet: Alphabet) -> None:
        """Raise an InputError that shows both alphabets unless words have the same symbols here as in `name`, in
        any order."""
        if not same_symbols(alphabet, self.alphabet):
            message = f"{name} and {self.name} have different alphabets: {_shown(alphabet)}; {_shown(self.alphabet)}"
            raise InputError(message, "Give both the same symbols; their order does not matter.")

    def judging(self, subject: Subject) -> Subject:
        """Return a subject with this semantics as its oracle. Raises InputError if the subject maps words to words, or
        its alphabet is another one."""
        if not subject.acceptor:
            made = "integers" if subject.program.integers else "words"
            message = f"{subject.name} maps words to {made}, and {self.name} says which words are accepted"
            raise InputError(message, "Name what accepts words, or leave out --against.")
        self.require_alphabet(subject.name, subject.alphabet)
        semantics = self.over(subject.alphabet)
        examples = (*subject.examples, *((word, None) for word in semantics.examples))
        return replace(subject, oracle=semantics.oracle, against=self.name, examples=examples, pins=True)

    def deciding(self, external: External) -> External:
        """Return an external network with this semantics as its reference: its single output should be above its level
        where the semantics accepts; or of its two outputs the one whose name says so should win there. Raises
        InputError if it has other outputs, or no token for a symbol."""
        network = external.network
        if isinstance(self.oracle, Runs) and not _accepts(network):
            return ProgramReference(self.name, self.sha256, self.oracle.program).deciding(external)
        require_accepting(external, self.name)
        readout, labels = network.readout, _labels(network)
        symbols = list(listed_symbols(self.alphabet))
        unknown = [symbol for symbol in symbols if symbol not in network.ids]
        if unknown:
            message = f"{external.name} has no token {unknown[0]}, which is a symbol of {self.name}"
            hint = f"Its tokens are: {' '.join(list(network.ids)[:20])}"
            raise InputError(message, hint)
        # One answer is expected for each word, so a network read at each position is read at the last.
        at: At = "first" if readout.at == "first" else "last"
        read = replace(readout, at=at, alphabet=tuple(symbols))
        made = replace(external, network=replace(network, readout=read), alphabet=self.alphabet)
        longest = network.longest
        examples = tuple((word, None) for word in self.examples if longest is None or len(word) <= longest)
        if labels is not None:
            return replace(judging(made, Winner(self.oracle, *labels), self.name), examples=examples, pins=True)
        return replace(judging(made, self.oracle, self.name, accepts=True), examples=examples, pins=True)


def require_accepting(external: External, reference: str) -> None:
    """Raise InputError unless the outputs of a network say which words are accepted, as the file `reference` does."""
    network = external.network
    if _accepts(network):
        return
    what = "gives one number" if len(network.outputs) == 1 else f"has {len(network.outputs)} outputs"
    message = f"{external.name} {what}, and {reference} says only which words are accepted"
    lines = "the line next: says which tokens may come next" if predicts_tokens(network) else ""
    hint = (
        f"`hardsim new {external.name}` writes a .spec file, in which "
        f"{lines or '`accept: NAME` and `language: @FILE` say which output is right'}; in Python: "
        "hardsim.load(DIR, decide=..., at=...).check(against=FUNCTION)."
    )
    raise InputError(message, hint)


def _accepts(network: Network) -> bool:
    """Return True if a network has one output above a level, or two of which one is named as accepting."""
    return _labels(network) is not None or (len(network.outputs) == 1 and network.readout.decide == "above")


def _labels(network: Network) -> tuple[str, str] | None:
    """Return the outputs that say yes and no, of a network whose answer is the larger of two outputs and whose names
    tell which is which; None of any other network."""
    readout = network.readout
    outputs = list(map(str, network.outputs if readout.among is None else readout.among))
    yes = accepting_name(outputs) if readout.decide == "argmax" and len(outputs) == 2 else None
    return None if yes is None else (yes, next(name for name in outputs if name != yes))


@dataclass(frozen=True)
class Winner:
    """The output that should win an argmax of two: one for the words that a semantics accepts, and the other."""

    oracle: Accepts | Runs | Members | Respelled
    yes: str
    no: str

    def __call__(self, word: Word) -> str:
        return self.yes if self.oracle(word) else self.no

    def many(self, words: Sequence[Word]) -> list[str]:
        """Return the outputs for words of one length."""
        return [self.yes if answer else self.no for answer in self.oracle.many(words)]


def automaton_of(oracle: Any, alphabet: Alphabet, name: str) -> Automaton:
    """Return the minimal automaton of the words over an alphabet that a semantics accepts. Raises NoAutomaton if there
    is none here; `name` is the file in its message."""
    if isinstance(oracle, Respelled):
        oracle = oracle.oracle
    match oracle:
        case Members(automaton):
            return automaton
        case AcceptsProgram():
            raise NoAutomaton(f"{name} is a program that no formula is equal to")
        case Accepts(file):
            found = automaton_of_formula(file)
            return found if same_spelling(alphabet, file.alphabet) else found.over(alphabet)
        case _:
            raise NoAutomaton(f"{name} is a program, and only formulas have automata here")


def listed_symbols(alphabet: Alphabet) -> Sequence[str]:
    """Return all symbols of an alphabet. Raises InputError if they are sets of propositions, which no token of a
    network is."""
    if isinstance(alphabet, Valuations):
        message = "words are over sets of propositions here, and the tokens of a network are symbols"
        raise InputError(message, "Give a file with an alphabet: of symbols.")
    return alphabet


def _shown(alphabet: Alphabet) -> str:
    """Return an alphabet as text, for messages that compare two alphabets."""
    more = f" ({len(alphabet):,} symbols)" if not isinstance(alphabet, Valuations) and len(alphabet) > 20 else ""
    return alphabet_text(alphabet, 20) + more


@dataclass(frozen=True)
class Accepts:
    """The semantics of a formula: True for the words that satisfy it. It is pickled as the formula, without what
    was computed."""

    file: FormulaFile

    @cached_property
    def _oracle(self) -> Oracle:
        return self.file.oracle or Oracle(self.file)

    def __call__(self, word: Word) -> bool:
        return self._oracle.accepts(word, self.file.at)

    @cached_property
    def _parallel(self) -> BatchOracle:
        return BatchOracle(self.file)

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        if self.file.oracle is not None:
            return list(map(self, words))
        return list(self._parallel.accepts(self._parallel.symbols(words)).tolist())

    @property
    def numbered(self) -> Callable[[Sequence[bytes]], list[bool]] | None:
        """Return the function that decides words of one length, as symbol numbers; None if the alphabet is not a list
        of at most 256 symbols, or the file has a semantics of its own."""
        alphabet = self.file.alphabet
        few = not isinstance(alphabet, Valuations) and len(alphabet) <= 256
        return self._parallel.accepts_numbered if few and self.file.oracle is None else None

    def __reduce__(self) -> tuple[type[Accepts], tuple[FormulaFile]]:
        return type(self), (self.file,)


class AcceptsProgram(Accepts):
    """The semantics of a C-RASP program that no formula is equal to: True for the words that it accepts."""


@contextmanager
def about_alphabet(file: FormulaFile | None) -> Iterator[None]:
    """Explain in the hint of an error where the alphabet comes from, if a word uses a symbol outside it: a formula may
    have supplied the symbols or names. Raises InputError: the one that was raised inside, with this explanation in its
    hint."""
    try:
        yield
    except InputError as error:
        option, value = (file and file.supplied) or ("", "")
        hints = {
            ("alphabet", ""): "the alphabet was taken from the formula: --alphabet gives all symbols",
            ("props", MENTIONED): "the propositions are those of the formula: --props gives all of them",
        }
        if error.outside:
            error.hint = "; ".join(filter(None, (hints.get((option, value)), error.hint)))
        raise


def examples_apply(file: FormulaFile, at: str | None) -> bool:
    """Return True if a file's examples apply at the position `at` (None: the file's own). A file that names no
    position leaves it to the user, unless its examples are right at the default position and not at `at`."""

    def require(read_at: At) -> bool:
        try:
            check_examples(file, at=read_at)
        except SourceError:
            return False
        return True

    if at is None or at == file.at:
        return True
    return not file.placed and (require("first" if file.at == "last" else "last") or not require(file.at))


@dataclass(frozen=True)
class Runs:
    """The semantics of an S-RASP program: its answer for a word. It is pickled as the program, without what was
    computed."""

    program: ast.SraspProgram

    @cached_property
    def _oracle(self) -> ProgramOracle:
        return ProgramOracle(self.program)

    @cached_property
    def _parallel(self) -> BatchProgram:
        return BatchProgram(self.program)

    def __call__(self, word: Word) -> Answer:
        return self._oracle.accepts(word) if self.program.is_acceptor else self._oracle.output(word)

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        found = self._parallel.accepts(words) if self.program.is_acceptor else self._parallel.outputs(words)
        return list(found)

    def __reduce__(self) -> tuple[type[Runs], tuple[ast.SraspProgram]]:
        return Runs, (self.program,)
