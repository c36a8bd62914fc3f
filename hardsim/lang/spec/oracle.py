"""The expected outputs of a specification, computed for many words of one length at once.

The expected output at a position has one of these forms: a truth value or a number (of the only output), `Said` (of
outputs by name), the name of the output that should be greatest, or the set of the names of those that may come next.
It is None at a position that is not judged, that is, where no output is compared with an expected one. A word has one
expected output if it is judged at one position, and a list of them by position if it is judged at each symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

from hardsim.errors import Source, SourceError, Span
from hardsim.lang import ast
from hardsim.lang.automata.automaton import Automaton, Word
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.lang.regex.batch_automaton import BatchAutomaton
from hardsim.lang.spec.domain import leading
from hardsim.lang.srasp.batch_program import BatchProgram
from hardsim.lang.words import written_word
from hardsim.lazy_dataclass import dataclass

JudgedAt: TypeAlias = Literal["last", "first", "each"]
Decide: TypeAlias = Literal["above", "argmax", "value"]
Rows: TypeAlias = list[list[Any]]
"""For each word, the values at the positions where it is judged."""


@dataclass(frozen=True)
class OutputValues(Mapping[str, Any]):
    """Expected truth values or numbers by the name of an output; hashable, so that results can be cached."""

    pairs: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


def judged(row: Sequence[Any], at: JudgedAt, n: int) -> list[Any]:
    """Return the values at the judged positions of a word of n symbols, given its values at all positions. A padded
    word has more than n values: `each` takes the first n, `last` the last one of all."""
    if at == "each":
        return list(row[:n])
    return [row[0] if at == "first" else row[-1]]


class _Sent:
    """A mixin for objects that are pickled as their fields, without cached results."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self))  # type: ignore[arg-type]  # only dataclasses inherit this


# ---- values at positions ----


class ExpectedColumn(Protocol):
    """The expected values of one output, or a condition."""

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Return the values at the judged positions of words of one length."""


@dataclass(frozen=True)
class FormulaTruth(_Sent):
    """The truth values of a formula at positions."""

    file: ast.FormulaFile

    @cached_property
    def _oracle(self) -> BatchOracle:
        return BatchOracle(self.file)

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Return the values at the judged positions of words of one length."""
        truth = self._oracle.truth(self._oracle.symbols(words))
        # Rows of positions that are not judged are never made into lists.
        rows: Rows = truth[:, {"each": slice(None), "first": slice(1), "last": slice(-1, None)}[at]].tolist()
        return rows


@dataclass(frozen=True)
class Matches(_Sent):
    """The truth value, at each position, of "the prefix that ends here is in the language of an automaton"."""

    automaton: Automaton

    @cached_property
    def _parallel(self) -> BatchAutomaton:
        return BatchAutomaton(self.automaton)

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Return the values at the judged positions of words of one length."""
        states, accepting = self._parallel.states(words)[:, 1:].tolist(), self.automaton.accepting
        return [[state in accepting for state in judged(row, at, len(words[0]))] for row in states]


@dataclass(frozen=True)
class InLanguage(_Sent):
    """The truth value of "the word is in the language of an automaton"; at `each`, of the prefix that ends at a
    position."""

    automaton: Automaton

    @cached_property
    def _parallel(self) -> BatchAutomaton:
        return BatchAutomaton(self.automaton)

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Return the values at the judged positions of words of one length."""
        states, accepting = self._parallel.states(words)[:, 1:].tolist(), self.automaton.accepting
        return [[state in accepting for state in (row if at == "each" else row[-1:])] for row in states]


@dataclass(frozen=True)
class Negated(_Sent):
    """The truth value of "a column is false"."""

    column: ExpectedColumn

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Return the values at the judged positions of words of one length."""
        return [[not value for value in row] for row in self.column.rows(words, at)]


@dataclass(frozen=True)
class Vector(_Sent):
    """The values of a vector of a program. If a padded word is judged at `last`, the value is that of its last
    padded position."""

    program: ast.SraspProgram
    name: str

    @cached_property
    def _parallel(self) -> BatchProgram:
        return BatchProgram(self.program)

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Return the values at the judged positions of words of one length."""
        return [judged(row, at, len(words[0])) for row in self._parallel.values(words, self.name)]


@dataclass(frozen=True)
class Value(_Sent):
    """The exact values of a rational term. `file` has the alphabet and the text; its formula is the term."""

    file: ast.FormulaFile

    @cached_property
    def _parts(self) -> tuple[ast.Node, ...]:
        """The largest parts of the term without a division, whose values are integers."""
        return tuple(_whole_parts(self.file.formula))

    @cached_property
    def _oracles(self) -> list[BatchOracle]:
        alphabet, source = self.file.alphabet, self.file.source
        return [BatchOracle(ast.FormulaFile(alphabet, part, source=source)) for part in self._parts]

    @cached_property
    def _known(self) -> dict[tuple[int, ...], Fraction | None]:
        """A cache from the values of the parts to the value of the term (None: it divides by 0): most positions of
        most words agree."""
        return {}

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Return the values at the judged positions of words of one length; None where the term divides by 0."""
        n = len(words[0])
        parts = [oracle.numbers(oracle.symbols(words)).tolist() for oracle in self._oracles]
        return [
            [self._at(numbers) for numbers in zip(*(judged(row, at, n) for row in rows), strict=True)]
            for rows in zip(*parts, strict=True)
        ]

    def _at(self, numbers: tuple[int, ...]) -> Fraction | None:
        if numbers not in self._known:
            try:
                self._known[numbers] = _fraction(self.file.formula, iter(numbers))
            except ZeroDivisionError:
                self._known[numbers] = None
        return self._known[numbers]


def _fraction(node: ast.Node, numbers: Iterator[int]) -> Fraction:
    """Return the value of a term; `numbers` yields the values of its parts without a division, in order."""
    if not _divides(node):
        return Fraction(next(numbers))
    if isinstance(node, ast.Signed):
        value = _fraction(node.arg, numbers)
        return -value if node.op == "-" else value
    assert isinstance(node, ast.Sum | ast.Product | ast.Quotient)  # other nodes contain no division
    left, right = _fraction(node.left, numbers), _fraction(node.right, numbers)
    if isinstance(node, ast.Sum):
        return left + right if node.op == "+" else left - right
    return left * right if isinstance(node, ast.Product) else left / right


def _divides(node: ast.Node) -> bool:
    """Return True if a term has a division; formulas inside counts have none."""
    match node:
        case ast.Quotient():
            return True
        case ast.Signed(_, arg):
            return _divides(arg)
        case ast.Sum(_, left, right) | ast.Product(left, right):
            return _divides(left) or _divides(right)
    return False


def _whole_parts(node: ast.Node) -> Iterator[ast.Node]:
    if not _divides(node):
        yield node
        return
    for part in ast.children(node):
        yield from _whole_parts(part)


# ---- expected outputs ----


@dataclass(frozen=True)
class Lines(_Sent):
    """The expected outputs given by lines, each about one output: its name, or None for the only output (under argmax
    the value itself is the name of the greatest output). Positions where `assume` does not hold are not judged.
    `places` are the places of the lines in their files, for errors; none for lines that are right on every word."""

    at: JudgedAt
    decide: Decide
    assume: ExpectedColumn | None
    lines: tuple[tuple[str | None, ExpectedColumn], ...]
    places: tuple[tuple[Source, Span], ...] = ()

    @property
    def mean(self) -> str | None:
        """Name of the program's mean that is the expected value of the only output; None for any other expected
        value, and for several outputs."""
        name, column = self.lines[0]
        if name is not None or not isinstance(column, Vector):
            return None
        return column.name if column.program.vectors[column.name].sort is ast.Sort.RATIONAL else None

    @property
    def accepting(self) -> ExpectedColumn | None:
        """The truth values of "the word is accepted" for one output above a level, and for two outputs of which one
        should win where the other should not; None for any other expected output."""
        (name, column), *others = self.lines
        if self.decide == "value":
            return None
        if not others:
            return column if name is None and self.decide == "above" else None
        match others:
            case [(_, Negated(negated))] if negated is column:
                return column
        return None

    def __call__(self, word: Word) -> Any:
        return self.many([word])[0]

    def many(self, words: Sequence[Word]) -> list[Any]:
        """Return the expected output of each of some words of one length; at `each`, a list by position."""
        rows, known = self._rows(words), dict[tuple[Any, ...], Any]()
        found = [
            [self._raw(values, word, place, known) for place, values in enumerate(row)]
            for word, row in zip(words, rows, strict=True)
        ]
        return found if self.at == "each" else [row[0] for row in found]

    def _rows(self, words: Sequence[Word]) -> list[list[tuple[Any, ...] | None]]:
        """Return, by word and position, the value of each line as a tuple; None where nothing is judged."""
        held = None if self.assume is None else self.assume.rows(words, self.at)
        # the lines are evaluated only on words with a judged position
        chosen = words if held is None else [word for word, row in zip(words, held, strict=True) if any(row)]
        columns = [column.rows(chosen, self.at) for _, column in self.lines] if chosen else []
        values = iter([list(zip(*places, strict=True)) for places in zip(*columns, strict=True)])
        if held is None:
            return [list(row) for row in values]
        found: list[list[tuple[Any, ...] | None]] = []
        for row in held:
            here = next(values) if any(row) else [()] * len(row)
            found.append([one if judge else None for one, judge in zip(here, row, strict=True)])
        return found

    def _raw(self, values: tuple[Any, ...] | None, word: Word, place: int, known: dict[tuple[Any, ...], Any]) -> Any:
        if values is None:
            return None
        if self.decide == "value":  # a look-up in the cache would take longer
            return self._expected(values, word, place)
        if values not in known:
            known[values] = self._expected(values, word, place)
        return known[values]

    def _expected(self, values: tuple[Any, ...], word: Word, place: int) -> Any:
        names = self._names
        if self.decide == "value" and any(value is None for value in values):
            line = values.index(None)
            message = f"the value {names[line] or 'of the output'} is a division by 0"
            raise self._error(word, place, line, message, "Use assume: to exclude the positions where it has no value.")
        if names == [None]:
            return str(values[0]) if self.decide == "argmax" else values[0]
        if self.decide != "argmax":
            return OutputValues(tuple((str(name), value) for name, value in zip(names, values, strict=True)))
        holding = [line for line, holds in enumerate(values) if holds]
        if len(holding) == 1:
            return str(names[holding[0]])
        hint = "Under argmax exactly one output line must be true at each judged position; assume: selects positions."
        if not holding:
            raise self._error(word, place, 0, "no output line is true", hint)
        some = " and ".join(f"output {names[line]}" for line in holding[:3]) + " ..." * (len(holding) > 3)
        message = f"{some} are {'both' if len(holding) == 2 else 'all'} true"
        raise self._error(word, place, holding[1], message, hint)

    @cached_property
    def _names(self) -> list[str | None]:
        return [name for name, _ in self.lines]

    def _error(self, word: Word, place: int, line: int, message: str, hint: str) -> SourceError:
        """Return an error about a line, on a word at a position from 0."""
        position = {"first": 1, "last": len(word), "each": place + 1}[self.at]
        shown = written_word(word, tuple(dict.fromkeys(word)))
        return SourceError(*self.places[line], f"on the word {shown}, position {position}, {message}", hint=hint)


@dataclass(frozen=True)
class NextSymbols(_Sent):
    """The symbols that may come next after prefixes of words of a language, and `end` after its words (None: no output
    stands for it); None after other prefixes. If `empty`, the empty prefix, before the first symbol, is judged as well.
    If a word is not a prefix of the language, none of its positions is judged, unless the network is `causal`: then
    each position is judged by the prefix that ends there."""

    automaton: Automaton
    at: JudgedAt
    end: str | None
    empty: bool
    causal: bool = False

    def __call__(self, word: Word) -> Any:
        return self.many([word])[0]

    @cached_property
    def _parallel(self) -> BatchAutomaton:
        return BatchAutomaton(self.automaton)

    @cached_property
    def _allowed(self) -> list[frozenset[str] | None]:
        """By state of the automaton, the names of the outputs that may come next; None for a state that no prefix
        reaches."""
        automaton, live = self.automaton, leading(self.automaton)
        found: list[frozenset[str] | None] = []
        for state, row in enumerate(automaton.moves):
            letters = frozenset(letter for letter, target in enumerate(row) if target in live)
            symbols = {symbol for symbol, _ in automaton.letters.symbols(letters)}
            ends = {self.end} if self.end is not None and state in automaton.accepting else set[str]()
            found.append(frozenset(symbols | ends) if state in live else None)
        return found

    @property
    def tokens(self) -> frozenset[str]:
        """The names of all outputs that may come next after some prefix."""
        return frozenset[str]().union(*filter(None, self._allowed))

    def many(self, words: Sequence[Word]) -> list[Any]:
        """Return the expected output of each of some words of one length, which may be 0 if the empty prefix is
        judged; at `each`, a list by position, which begins with that prefix if it is judged."""
        allowed: Callable[[int], Any] = self._allowed.__getitem__
        states = self._parallel.states(words)
        first = 1 if self.at == "first" or not self.empty else 0
        if self.at == "last":
            return list(map(allowed, states[:, -1].tolist()))
        rows = [list(map(allowed, row)) for row in states[:, first:].tolist()]
        if not self.causal:
            # A network that is not causal sees the whole word. If that is not a prefix of the language, the expected
            # outputs at its earlier positions are open.
            rows = [row if row[-1] is not None else [None] * len(row) for row in rows]
        return rows if self.at == "each" else [row[0] for row in rows]
