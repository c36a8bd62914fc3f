"""Deterministic automata that are complete and minimal: the words that they accept, one by one, counted, listed in
order, and compared.

Symbols that no expression tells apart are one letter, so that a large alphabet costs nothing. An automaton knows
whether the empty word is in its language, which complements and sequences need; words of files are non-empty, and what
counts, lists or compares speaks of lengths from 1 on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import TypeAlias, TypeVar

from hardsim.errors import Undecided

Word: TypeAlias = tuple[str, ...]
Moves: TypeAlias = tuple[tuple[int, ...], ...]
"""The next state by state and letter; the first state is where words begin."""
State = TypeVar("State", bound=Hashable)

MAX_STATES = 10_000
"""States of an automaton, also of one that is made on the way to another."""
MAX_PAIRS = 1_000_000
"""Pairs of states that a comparison looks at."""


class TooManyStates(Exception):
    """An automaton would have more than MAX_STATES states."""


class Automaton:
    """The complete, minimal automaton of a language, with its states in the order in which they are reached; `letters`
    says of each symbol, in the order of the alphabet, which letter it is."""

    def __init__(self, letters: Mapping[str, int], moves: Moves, accepting: frozenset[int]) -> None:
        self.letters, self.moves, self.accepting = dict(letters), moves, accepting
        self._alive = [accepting]

    def __reduce__(self) -> tuple[type[Automaton], tuple[dict[str, int], Moves, frozenset[int]]]:
        return Automaton, (self.letters, self.moves, self.accepting)

    # ---- words ----

    def accepts(self, word: Iterable[str]) -> bool:
        """Whether a word over the alphabet is in the language."""
        state, letters, moves = 0, self.letters, self.moves
        for symbol in word:
            state = moves[state][letters[symbol]]
        return state in self.accepting

    def counts(self) -> Iterator[int]:
        """How many words of length 1, 2, 3, ... the language has; exact, and without end."""
        sizes = [0] * len(self.moves[0])
        for letter in self.letters.values():
            sizes[letter] += 1
        reached = {0: 1}
        while True:
            after: dict[int, int] = {}
            for state, words in reached.items():
                for target, size in zip(self.moves[state], sizes, strict=True):
                    after[target] = after.get(target, 0) + words * size
            reached = after
            yield sum(words for state, words in reached.items() if state in self.accepting)

    def count(self, n: int) -> int:
        """How many words of length n >= 1 the language has."""
        return next(islice(self.counts(), n - 1, None))

    def words(self, n: int) -> Iterator[Word]:
        """The words of length n of the language, in the order of the alphabet; as many steps as symbols are listed."""
        if 0 not in self._leading(n):
            return
        states, word, left = [0], list[str](), [iter(self.letters.items())]
        while left:
            alive = self._leading(n - len(word) - 1) if len(word) < n else frozenset()
            found = next(
                ((symbol, letter) for symbol, letter in left[-1] if self.moves[states[-1]][letter] in alive), None
            )
            if found is None:
                left.pop()
                states.pop()
                del word[-1:]
                continue
            word.append(found[0])
            if len(word) == n:
                yield tuple(word)
                word.pop()
            else:
                states.append(self.moves[states[-1]][found[1]])
                left.append(iter(self.letters.items()))

    def samples(self, n: int, count: int, rng: Random) -> list[Word]:
        """Distinct words of length n of the language, at most `count`. Each letter that still leads to one has the same
        chance, and so have the symbols of a letter: a rare branch of an expression gets its share."""
        if 0 not in self._leading(n):
            return []
        symbols: dict[int, list[str]] = {}
        for symbol, letter in self.letters.items():
            symbols.setdefault(letter, []).append(symbol)
        found: dict[Word, None] = {}
        for _ in range(2 * count):
            state, word = 0, list[str]()
            for left in reversed(range(n)):
                alive = self._leading(left)
                letter = rng.choice([each for each, target in enumerate(self.moves[state]) if target in alive])
                word.append(rng.choice(symbols[letter]))
                state = self.moves[state][letter]
            found[tuple(word)] = None
            if len(found) == count:
                break
        return list(found)

    def _leading(self, n: int) -> frozenset[int]:
        """The states from which some word of exactly n symbols is accepted."""
        while len(self._alive) <= n:
            after = self._alive[-1]
            self._alive.append(frozenset(state for state, row in enumerate(self.moves) if not after.isdisjoint(row)))
        return self._alive[n]

    @property
    def empty(self) -> bool:
        """Whether it accepts no word of any length from 1 on."""
        return not any(target in self.accepting for row in self.moves for target in row)

    # ---- other automata ----

    def complement(self) -> Automaton:
        """The automaton of the words over the alphabet that are not in the language."""
        return Automaton(self.letters, self.moves, frozenset(range(len(self.moves))) - self.accepting)

    def intersection(self, other: Automaton) -> Automaton:
        """The automaton of the words of both languages, which are over the same symbols.

        Raises:
            TooManyStates: if it is too large before it is made minimal.
        """
        letters, both = self._common(other)
        return explored(
            letters,
            len(both),
            (0, 0),
            lambda pair: [(self.moves[pair[0]][one], other.moves[pair[1]][two]) for one, two in both],
            lambda pair: pair[0] in self.accepting and pair[1] in other.accepting,
        )

    def difference(self, other: Automaton) -> Word | None:
        """The shortest non-empty word that is in one of two languages over the same symbols alone, the first in the
        order of the alphabet among the shortest; None if they are the same.

        Raises:
            Undecided: if more than MAX_PAIRS pairs of states would have to be looked at.
        """
        letters, both = self._common(other)
        symbols = [next(symbol for symbol, each in letters.items() if each == letter) for letter in range(len(both))]
        before: dict[tuple[int, int], tuple[tuple[int, int], str] | None] = {(0, 0): None}
        waiting = deque(before)
        while waiting:
            pair = waiting.popleft()
            for symbol, (one, two) in zip(symbols, both, strict=True):
                after = self.moves[pair[0]][one], other.moves[pair[1]][two]
                if (after[0] in self.accepting) != (after[1] in other.accepting):
                    return _path(before, pair, symbol)
                if after not in before:
                    before[after] = pair, symbol
                    waiting.append(after)
            if len(before) > MAX_PAIRS:
                least = len(_path(before, waiting[0], ""))  # no longer word was compared
                told = (
                    f"they are the same up to length {least - 1}, after which more than {MAX_PAIRS:,} pairs of states"
                )
                raise Undecided(f"{told} would have to be looked at")
        return None

    def _common(self, other: Automaton) -> tuple[dict[str, int], list[tuple[int, int]]]:
        """Letters that both automata tell apart, in the order in which their first symbols stand in the alphabet, and
        what each is to the two."""
        pairs = {symbol: (letter, other.letters[symbol]) for symbol, letter in self.letters.items()}
        both = list(dict.fromkeys(pairs.values()))
        places = {pair: place for place, pair in enumerate(both)}
        return {symbol: places[pair] for symbol, pair in pairs.items()}, both


def _path(
    before: Mapping[tuple[int, int], tuple[tuple[int, int], str] | None], pair: tuple[int, int], last: str
) -> Word:
    """The symbols that lead to a pair of states, and one more."""
    word = [last]
    while (step := before[pair]) is not None:
        pair = step[0]
        word.append(step[1])
    return tuple(reversed(word))


# ---- making them ----


def explored(
    letters: Mapping[str, int],
    size: int,
    first: State,
    following: Callable[[State], Sequence[State]],
    accepted: Callable[[State], bool],
) -> Automaton:
    """The minimal automaton of what is reached from a first state, over so many letters.

    Raises:
        TooManyStates: if that is too much.
    """
    numbers: dict[State, int] = {first: 0}
    moves: list[tuple[int, ...]] = []
    waiting = deque([first])
    while waiting:
        row = []
        for state in following(waiting.popleft()):
            if state not in numbers:
                if len(numbers) == MAX_STATES:
                    raise TooManyStates
                numbers[state] = len(numbers)
                waiting.append(state)
            row.append(numbers[state])
        moves.append(tuple(row))
    accepting = {number for state, number in numbers.items() if accepted(state)}
    return _quotient(letters, moves, accepting, _refined(moves, accepting, size))


def _refined(moves: Sequence[tuple[int, ...]], accepting: set[int], size: int) -> list[int]:
    """The class of each state: those of one class accept the same words. Hopcroft, An n log n algorithm for minimizing
    states in a finite automaton (1971)."""
    sources: list[list[list[int]]] = [[[] for _ in moves] for _ in range(size)]
    for state, row in enumerate(moves):
        for letter, target in enumerate(row):
            sources[letter][target].append(state)
    blocks = [block for block in (set(accepting), set(range(len(moves))) - accepting) if block]
    of = [0] * len(moves)
    for number, block in enumerate(blocks):
        for state in block:
            of[state] = number
    waiting = set(range(len(blocks)))
    while waiting:
        splitter = list(blocks[waiting.pop()])
        for letter in range(size):
            hit: dict[int, set[int]] = {}
            for target in splitter:
                for state in sources[letter][target]:
                    hit.setdefault(of[state], set()).add(state)
            for number, part in hit.items():
                if len(part) == len(blocks[number]):
                    continue
                blocks[number] -= part
                small, blocks[number] = sorted((part, blocks[number]), key=len)
                for state in small:
                    of[state] = len(blocks)
                # Whichever half was to split others still does, and otherwise the smaller one is enough.
                waiting.add(len(blocks))
                blocks.append(small)
    return of


def _quotient(
    letters: Mapping[str, int], moves: Sequence[tuple[int, ...]], accepting: set[int], of: Sequence[int]
) -> Automaton:
    """The automaton of the classes of states, in the order in which they are reached."""
    one = {number: state for state, number in enumerate(of)}
    order: dict[int, int] = {of[0]: 0}
    rows: list[list[int]] = []
    waiting = deque([of[0]])
    while waiting:
        row = [of[target] for target in moves[one[waiting.popleft()]]]
        for number in row:
            if number not in order:
                order[number] = len(order)
                waiting.append(number)
        rows.append([order[number] for number in row])
    kept = frozenset(order[of[state]] for state in accepting)
    return Automaton(letters, tuple(map(tuple, rows)), kept)
