"""Comparison of an automaton with another description of a language, which is never made deterministic.

A `LanguageReader` describes a language by a machine that may guess. On each word exactly one of its runs reaches the
end, and that run says whether the word is in the language. So a word on which the automaton and the reader differ
exists iff some path through the pairs of their states and memories ends with different answers. Paths are searched
breadth first, which gives the shortest such word. A reader may read words from the last symbol to the first; then the
search begins in every state of the automaton and must end in its first one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

from hardsim.lang.automata.automaton import Automaton, Word
from hardsim.lang.automata.diagrams import DecisionDiagrams
from hardsim.lang.automata.letters import Digits, Partition
from hardsim.lang.valuations import Alphabet, Symbols, Valuations
from hardsim.lazy_dataclass import dataclass

Memory: TypeAlias = Hashable
MOST_MOVES = 5_000
"""Greatest number of moves of a reader beside an automaton that are looked at, half a second's work."""
MOST_LETTERS = 64
"""Greatest number of letters of a reader."""
MOST_NAMED = 10
"""Greatest number of propositions that a reader mentions."""


class NotCompared(Exception):
    """There is no comparison. The text is the reason."""


@dataclass(frozen=True, slots=True)
class Move:
    """A way on from a memory at a symbol: the next memory, None if the symbol is the last one that is read, and the
    answer if it is given at this symbol, else None."""

    after: Memory | None
    answer: bool | None


class LanguageReader(Protocol):
    """A machine that reads words symbol by symbol, guesses, and answers once on each word. It reads from the last
    symbol to the first if `backward` is True."""

    letters: Partition
    backward: bool

    def first(self) -> Iterable[Memory]:
        """Return the memories before any symbol is read."""

    def moves(self, memory: Memory, letter: int) -> Sequence[Move]:
        """Return the ways on from a memory at a symbol with the given letter."""


@dataclass(frozen=True, slots=True)
class LanguageComparison:
    """The result of a comparison: the shortest word on which the answers differ, None if there is none, and the number
    of pairs of a state and a memory that were compared."""

    word: Word | None
    pairs: int


_Node: TypeAlias = tuple[int, Memory, bool | None]
"""A state, a memory, and what is known of the answers: the reader's answer, None before it is given. For a backward
reader instead the automaton's answer, None once the reader has given another one."""


def compared(automaton: Automaton, reader: LanguageReader) -> LanguageComparison:
    """Compare an automaton with a reader on every non-empty word. Raises NotCompared if there are more than
    MOST_MOVES moves or MOST_LETTERS letters."""
    letters, both = automaton.letters.common(reader.letters)
    if len(both) > MOST_LETTERS:
        raise NotCompared(f"there are more than {MOST_LETTERS} letters")
    symbols = [letters.alphabet[number] for number in letters.firsts]
    search = _Backward(automaton) if reader.backward else _Forward(automaton)
    before: dict[_Node, tuple[_Node, int] | None] = dict.fromkeys(
        (state, memory, known) for memory in reader.first() for state, known in search.starts()
    )
    waiting, left = list(before), MOST_MOVES
    for node in waiting:  # which grows
        state, memory, known = node
        for place, (own, other) in enumerate(both):
            moves = reader.moves(memory, other)
            left -= len(moves)
            if left < 0:
                raise NotCompared(f"the comparison needs more than {MOST_MOVES:,} steps")
            for move in moves:
                for after in search.following(state, own, known, move):
                    if after is None:
                        found = _path(before, node, place)
                        order = found if reader.backward else reversed(found)
                        return LanguageComparison(tuple(symbols[one] for one in order), len(waiting))
                    if after not in before:
                        before[after] = node, place
                        waiting.append(after)
    return LanguageComparison(None, len(waiting))


def _path(before: dict[_Node, tuple[_Node, int] | None], node: _Node, last: int) -> list[int]:
    """Return the letters that were read, the last one first."""
    path = [last]
    while (step := before[node]) is not None:
        node = step[0]
        path.append(step[1])
    return path


class _Forward:
    """Steps of an automaton beside a reader that reads from the first symbol on."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton

    def starts(self) -> Iterable[tuple[int, bool | None]]:
        """Return the states before any symbol is read, each with what is known of the answers."""
        return [(0, None)]

    def following(self, state: int, letter: int, known: bool | None, move: Move) -> Iterator[_Node | None]:
        """Yield the nodes after a symbol; None stands for the end of a word with different answers."""
        target = self.automaton.moves[state][letter]
        answer = known if move.answer is None else move.answer
        if move.after is not None:
            yield target, move.after, answer
        elif answer != (target in self.automaton.accepting):
            yield None


class _Backward:
    """Steps of an automaton beside a reader that reads from the last symbol on."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.sources: dict[tuple[int, int], list[int]] = {}
        for state, row in enumerate(automaton.moves):
            for letter, target in enumerate(row):
                self.sources.setdefault((target, letter), []).append(state)

    def starts(self) -> Iterable[tuple[int, bool | None]]:
        """Return the states in which words may end, each with the automaton's answer."""
        return [(state, state in self.automaton.accepting) for state in range(len(self.automaton.moves))]

    def following(self, state: int, letter: int, known: bool | None, move: Move) -> Iterator[_Node | None]:
        """Yield the nodes before a symbol; None stands for the beginning of a word with different answers."""
        if move.answer is not None and move.answer == known:
            return
        left = known if move.answer is None else None
        for source in self.sources.get((state, letter), ()):
            if move.after is not None:
                yield source, move.after, left
            elif source == 0:
                yield None


def divided(alphabet: Alphabet, mentioned: Sequence[Symbols]) -> tuple[Partition, list[tuple[bool, ...]]]:
    """Return letters that tell some sets of symbols apart, and for each letter whether it belongs to each of them.
    Raises NotCompared if there are too many letters."""
    if isinstance(alphabet, Valuations) and len(mentioned) > MOST_NAMED:
        raise NotCompared(f"more than {MOST_NAMED} propositions are mentioned")
    digits = Digits(alphabet, mentioned)
    diagrams = DecisionDiagrams(digits.sizes)
    joint = diagrams.leaf(())
    for symbols in mentioned:
        here = digits.diagram(diagrams, symbols)
        joint = diagrams.combined(lambda known, member: (*known, bool(member)), joint, here)
    letters, members = digits.classes(diagrams, joint)
    if len(members) > MOST_LETTERS:
        raise NotCompared(f"there are more than {MOST_LETTERS} letters")
    return letters, members
