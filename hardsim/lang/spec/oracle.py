"""What a specification wants of words, many of one length at once.

What is wanted at a place is one of: a truth or a number (of the only output), `Said` (of outputs by name), the name of
the output that should win, the set of the names of those that may come next; None where nothing is judged. A word has
one of these where it is judged once, and a list of them by position where it is judged at each symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

from hardsim.errors import InputError
from hardsim.lang import ast
from hardsim.lang.parallel import ParallelOracle
from hardsim.lang.regex.automaton import Automaton, Word
from hardsim.lang.regex.parallel import ParallelAutomaton
from hardsim.lang.spec.domain import leading
from hardsim.lang.srasp.parallel import ParallelProgram
from hardsim.lang.words import written_word

JudgedAt: TypeAlias = Literal["last", "first", "each"]
Decide: TypeAlias = Literal["above", "argmax", "value"]
Rows: TypeAlias = list[list[Any]]
"""By word, what is at the places where it is judged."""


@dataclass(frozen=True)
class Said(Mapping[str, Any]):
    """Truths or numbers by the name of an output; what is equal is wanted alike, so that it can be remembered."""

    pairs: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


def judged(row: Sequence[Any], at: JudgedAt, n: int) -> list[Any]:
    """Of what is at the positions of a word of n symbols (of a padded one more), that at those that are judged."""
    if at == "each":
        return list(row[:n])
    return [row[0] if at == "first" else row[-1]]


class _Sent:
    """Something that travels to other processes as its fields, without what was made of them."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self))  # type: ignore[arg-type]  # a mixin


# ---- what holds at positions ----


@dataclass(frozen=True)
class Holds(_Sent):
    """Whether a formula holds at positions."""

    file: ast.FormulaFile

    @cached_property
    def _oracle(self) -> ParallelOracle:
        return ParallelOracle(self.file)

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """Of words of one length, at the places where they are judged."""
        truth = self._oracle.truth(self._oracle.symbols(words)).tolist()
        return [judged(row, at, len(words[0])) for row in truth]


@dataclass(frozen=True)
class Matches(_Sent):
    """Whether the prefixes that end at positions are in the language of an automaton."""

    automaton: Automaton

    @cached_property
    def _parallel(self) -> ParallelAutomaton:
        return ParallelAutomaton(self.automaton)

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """As `Holds.rows`."""
        states, accepting = self._parallel.states(words)[:, 1:].tolist(), self.automaton.accepting
        return [[state in accepting for state in judged(row, at, len(words[0]))] for row in states]


@dataclass(frozen=True)
class Vector(_Sent):
    """The values of a vector of a program; at the last position of a padded word where the word is judged at last."""

    program: ast.SraspProgram
    name: str

    @cached_property
    def _parallel(self) -> ParallelProgram:
        return ParallelProgram(self.program)

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """As `Holds.rows`."""
        return [judged(row, at, len(words[0])) for row in self._parallel.values(words, self.name)]


@dataclass(frozen=True)
class Value(_Sent):
    """The values of a rational term, exactly. `file` has the alphabet and the text; its formula is the term."""

    file: ast.FormulaFile

    @cached_property
    def _parts(self) -> tuple[ast.Node, ...]:
        """The largest parts without a division, whose values are integers."""
        return tuple(_whole_parts(self.file.formula))

    @cached_property
    def _oracles(self) -> list[ParallelOracle]:
        alphabet, source = self.file.alphabet, self.file.source
        return [ParallelOracle(ast.FormulaFile(alphabet, part, source=source)) for part in self._parts]

    @cached_property
    def _known(self) -> dict[tuple[int, ...], Fraction | None]:
        """Values by those of the parts: most positions of most words have the same."""
        return {}

    def rows(self, words: Sequence[Word], at: JudgedAt) -> Rows:
        """As `Holds.rows`; None for what is divided by 0."""
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
    """The value of a part of a term; `numbers` are those of its parts without a division, in order."""
    if not _divides(node):
        return Fraction(next(numbers))
    if isinstance(node, ast.Signed):
        value = _fraction(node.arg, numbers)
        return -value if node.op == "-" else value
    assert isinstance(node, ast.Sum | ast.Product | ast.Quotient)  # nothing else has a division in it
    left, right = _fraction(node.left, numbers), _fraction(node.right, numbers)
    if isinstance(node, ast.Sum):
        return left + right if node.op == "+" else left - right
    return left * right if isinstance(node, ast.Product) else left / right


def _divides(node: ast.Node) -> bool:
    """Whether there is a division in a term; what is inside counts has none."""
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


Column: TypeAlias = Holds | Matches | Vector | Value


# ---- what is wanted ----


@dataclass(frozen=True)
class Lines(_Sent):
    """What lines say of outputs, each of its own: a name, or None for the only output (under argmax: the name of the
    winner is what is said); where `assume` does not hold nothing is judged. `place` is the file that errors name."""

    at: JudgedAt
    decide: Decide
    assume: Column | None
    lines: tuple[tuple[str | None, Column], ...]
    place: str

    @property
    def mean(self) -> str | None:
        """The mean of a program that is wanted of the only output; None if it is something else."""
        name, column = self.lines[0]
        if name is not None or not isinstance(column, Vector):
            return None
        return column.name if column.program.vectors[column.name].sort is ast.Sort.RATIONAL else None

    def __call__(self, word: Word) -> Any:
        return self.many([word])[0]

    def many(self, words: Sequence[Word]) -> list[Any]:
        """Of words of one length."""
        rows, known = self._rows(words), dict[tuple[Any, ...], Any]()
        found = [
            [self._raw(said, word, place, known) for place, said in enumerate(row)]
            for word, row in zip(words, rows, strict=True)
        ]
        return found if self.at == "each" else [row[0] for row in found]

    def _rows(self, words: Sequence[Word]) -> list[list[tuple[Any, ...] | None]]:
        """By word and place, what each line says; None where nothing is judged."""
        held = None if self.assume is None else self.assume.rows(words, self.at)
        chosen = words if held is None else [word for word, row in zip(words, held, strict=True) if any(row)]
        columns = [column.rows(chosen, self.at) for _, column in self.lines] if chosen else []
        said = iter([list(zip(*places, strict=True)) for places in zip(*columns, strict=True)])
        if held is None:
            return [list(row) for row in said]
        found: list[list[tuple[Any, ...] | None]] = []
        for row in held:
            here = next(said) if any(row) else [()] * len(row)
            found.append([one if judge else None for one, judge in zip(here, row, strict=True)])
        return found

    def _raw(self, said: tuple[Any, ...] | None, word: Word, place: int, known: dict[tuple[Any, ...], Any]) -> Any:
        if said is None:
            return None
        if self.decide == "value":  # to remember it takes longer than to make it
            return self._wanted(said, word, place)
        if said not in known:
            known[said] = self._wanted(said, word, place)
        return known[said]

    def _wanted(self, said: tuple[Any, ...], word: Word, place: int) -> Any:
        names = self._names
        if self.decide == "value" and any(value is None for value in said):
            told = f"the value {names[said.index(None)] or 'of the output'} is a division by 0"
            raise self._error(word, place, told, "With assume: places where it has no value are not judged.")
        if names == [None]:
            return str(said[0]) if self.decide == "argmax" else said[0]
        if self.decide != "argmax":
            return Said(tuple((str(name), value) for name, value in zip(names, said, strict=True)))
        holding = [str(name) for name, holds in zip(names, said, strict=True) if holds]
        if len(holding) == 1:
            return holding[0]
        some = " and ".join(f"output {name}" for name in holding[:3]) + " ..." * (len(holding) > 3)
        hint = "Under argmax exactly one of them must hold wherever something is judged (assume: says where)."
        raise self._error(word, place, f"{some} hold" if holding else "no line output holds", hint)

    @cached_property
    def _names(self) -> list[str | None]:
        return [name for name, _ in self.lines]

    def _error(self, word: Word, place: int, told: str, hint: str) -> InputError:
        position = {"first": 1, "last": len(word), "each": place + 1}[self.at]
        shown = written_word(word, tuple(dict.fromkeys(word)))
        return InputError(f"{self.place}: on the word {shown}, position {position}, {told}", hint)


@dataclass(frozen=True)
class NextSymbols(_Sent):
    """Which symbols may come next, after the prefixes of words of a language, and `end` after its words; None after
    anything else. With `empty` the empty prefix is judged as well, before the first symbol. Of a word that is no prefix
    nothing is wanted at any position, unless that is `causal`, about what ends there alone."""

    automaton: Automaton
    at: JudgedAt
    end: str
    empty: bool
    causal: bool = False

    def __call__(self, word: Word) -> Any:
        return self.many([word])[0]

    @cached_property
    def _parallel(self) -> ParallelAutomaton:
        return ParallelAutomaton(self.automaton)

    @cached_property
    def _allowed(self) -> list[frozenset[str] | None]:
        """By state."""
        automaton, live = self.automaton, leading(self.automaton)
        found: list[frozenset[str] | None] = []
        for state, row in enumerate(automaton.moves):
            letters = frozenset(letter for letter, target in enumerate(row) if target in live)
            symbols = {symbol for symbol, _ in automaton.letters.symbols(letters)}
            ends = {self.end} if state in automaton.accepting else set()
            found.append(frozenset(symbols | ends) if state in live else None)
        return found

    @property
    def tokens(self) -> frozenset[str]:
        """All that may come next after some prefix."""
        return frozenset[str]().union(*filter(None, self._allowed))

    def many(self, words: Sequence[Word]) -> list[Any]:
        """Of words of one length, which may be 0 where the empty prefix is judged."""
        allowed: Callable[[int], Any] = self._allowed.__getitem__
        states = self._parallel.states(words)
        first = 1 if self.at == "first" or not self.empty else 0
        if self.at == "last":
            return list(map(allowed, states[:, -1].tolist()))
        rows = [list(map(allowed, row)) for row in states[:, first:].tolist()]
        if not self.causal:
            rows = [row if row[-1] is not None else [None] * len(row) for row in rows]
        return rows if self.at == "each" else [row[0] for row in rows]
