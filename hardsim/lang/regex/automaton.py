"""Deterministic automata that are complete and minimal: the words that they accept, one by one, counted, listed in
order, and compared.

Symbols that no expression tells apart are one letter, so that a large alphabet costs nothing. An automaton knows
whether the empty word is in its language, which complements and sequences need; words of files are non-empty, and what
counts, lists or compares speaks of lengths from 1 on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from random import Random
from typing import TypeAlias, TypeVar

from hardsim.errors import Undecided
from hardsim.lang.valuations import Alphabet, Numbering

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


@dataclass(frozen=True)
class SymbolClasses:
    """A letter for each of some symbols, and one for all others: letters are numbered in the order in which their first
    symbols stand in the alphabet, of which nothing else is listed."""

    alphabet: Alphabet
    named: tuple[int, ...]
    """The numbers of the symbols that are a letter each, in order."""

    @classmethod
    def of(cls, alphabet: Alphabet, symbols: Iterable[str]) -> SymbolClasses:
        """The letters that tell these symbols apart, each of which is in the alphabet."""
        numbers = Numbering(alphabet)
        return cls(alphabet, tuple(sorted({numbers[symbol] for symbol in symbols})))

    @cached_property
    def rest(self) -> int | None:
        """The letter of all other symbols, if there are such."""
        if len(self.named) == len(self.alphabet):
            return None
        return next(letter for letter in count() if letter == len(self.named) or self.named[letter] != letter)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The number of the first symbol of each letter."""
        # Before the first of the others all symbols are named, so that its number is its letter.
        return self.named if self.rest is None else (*self.named[: self.rest], self.rest, *self.named[self.rest :])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many symbols each letter stands for."""
        others = len(self.alphabet) - len(self.named)
        return tuple(others if letter == self.rest else 1 for letter in range(len(self.firsts)))

    @cached_property
    def _numbers(self) -> Numbering:
        return Numbering(self.alphabet)

    @cached_property
    def _known(self) -> dict[int, int]:
        """The letter of each named symbol, by number."""
        return {number: letter for letter, number in enumerate(self.firsts) if letter != self.rest}

    def letter(self, number: int) -> int:
        """The letter of the symbol of a number."""
        found = self._known.get(number, self.rest)
        assert found is not None  # if there are no others, every symbol is known
        return found

    def __getitem__(self, symbol: str) -> int:
        """The letter of a symbol, which is in the alphabet; a set may name its propositions in any order."""
        return self.letter(self._numbers[symbol])

    def symbols(self, letters: Collection[int]) -> Iterator[tuple[str, int]]:
        """The symbols of some letters, in the order of the alphabet, each with its letter."""
        if self.rest in letters:
            numbers: Iterable[int] = range(len(self.alphabet))
        else:
            numbers = (self.firsts[letter] for letter in sorted(letters))
        for number in numbers:
            letter = self.letter(number)
            if letter in letters:
                yield self.alphabet[number], letter

    def drawn(self, letter: int, rng: Random) -> str:
        """A symbol of a letter, each with the same chance."""
        number = rng.randrange(self.sizes[letter])
        if letter != self.rest:
            return self.alphabet[self.firsts[letter]]
        # The place among the others, and as many named symbols as stand before it.
        before = bisect_left(range(len(self.named)), 1, key=lambda k: int(self.named[k] - k > number))
        return self.alphabet[number + before]

    def common(self, other: SymbolClasses) -> tuple[SymbolClasses, list[tuple[int, int]]]:
        """Letters that tell apart what either does, over this alphabet, and what each is in the two; the alphabets have
        the same symbols, in whatever order."""
        theirs = (other.alphabet[number] for number in other.named)
        both = SymbolClasses(self.alphabet, tuple(sorted({*self.named, *(self._numbers[symbol] for symbol in theirs)})))
        return both, [(self.letter(number), other[self.alphabet[number]]) for number in both.firsts]


class Automaton:
    """The complete, minimal automaton of a language, with its states in the order in which they are reached; `letters`
    says of each symbol which letter it is."""

    def __init__(self, letters: SymbolClasses, moves: Moves, accepting: frozenset[int]) -> None:
        self.letters, self.moves, self.accepting = letters, moves, accepting
        self._alive = [accepting]
        self._known: dict[tuple[int, int], list[int]] = {}

    def __reduce__(self) -> tuple[type[Automaton], tuple[SymbolClasses, Moves, frozenset[int]]]:
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
        sizes = self.letters.sizes
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
        """The words of length n of the language, in the order of the alphabet, of which nothing is listed ahead."""
        states, word, left = [0], list[str](), [self._following(0, n - 1)]
        while left:
            found = next(left[-1], None)
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
                left.append(self._following(states[-1], n - len(word) - 1))

    def _living(self, state: int, n: int) -> list[int]:
        """The letters from a state after which n more symbols can be accepted."""
        if (found := self._known.get((state, n))) is None:
            alive = self._leading(n)
            found = [letter for letter, target in enumerate(self.moves[state]) if target in alive]
            self._known[state, n] = found
        return found

    def _following(self, state: int, n: int) -> Iterator[tuple[str, int]]:
        """The symbols of these letters."""
        return self.letters.symbols(frozenset(self._living(state, n)))

    def samples(self, n: int, count: int, rng: Random) -> list[Word]:
        """Distinct words of length n of the language, at most `count`. Each letter that still leads to one has the same
        chance, and so have the symbols of a letter: a rare branch of an expression gets its share."""
        if 0 not in self._leading(n):
            return []
        found: dict[Word, None] = {}
        for _ in range(2 * count):
            state, word = 0, list[str]()
            for left in reversed(range(n)):
                letter = rng.choice(self._living(state, left))
                word.append(self.letters.drawn(letter, rng))
                state = self.moves[state][letter]
            found[tuple(word)] = None
            if len(found) == count:
                break
        return list(found)

    def nearest_word(self, word: Word, n: int, rng: Random, order: Sequence[int] = ()) -> Word:
        """A word of length n of the language, of which there must be one, made of another: its symbols are kept as far
        as they lead to one, else the first letter of an `order` that does is taken, or any. Symbols that do not fit are
        passed over where a later one does."""
        numbers = {symbol: self.letters[symbol] for symbol in dict.fromkeys(word)}
        state, found, place = 0, list[str](), 0
        for left in reversed(range(n)):
            living = self._living(state, left)
            while len(word) - place > left + 1 and numbers[word[place]] not in living:
                place += 1
            symbol = word[place] if place < len(word) else None
            place += 1
            letter = -1 if symbol is None else numbers[symbol]
            if symbol is None or letter not in living:
                letter = next((one for one in order if one in living), -1)
                letter = rng.choice(living) if letter < 0 else letter
                symbol = self.letters.drawn(letter, rng)
            found.append(symbol)
            state = self.moves[state][letter]
        return tuple(found)

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

    def over(self, alphabet: Alphabet) -> Automaton:
        """The automaton of the same language over an alphabet with the same symbols, which may be in another order and,
        if they are sets, written in another one."""
        numbers = Numbering(alphabet)
        named = sorted(numbers[self.letters.alphabet[number]] for number in self.letters.named)
        letters = SymbolClasses(alphabet, tuple(named))
        old = [self.letters[alphabet[number]] for number in letters.firsts]
        return explored(
            letters, 0, lambda state: [self.moves[state][letter] for letter in old], self.accepting.__contains__
        )

    def intersection(self, other: Automaton) -> Automaton:
        """The automaton of the words of both languages, which are over the same symbols.

        Raises:
            TooManyStates: if it is too large before it is made minimal.
        """
        letters, both = self.letters.common(other.letters)
        return explored(
            letters,
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
        letters, both = self.letters.common(other.letters)
        symbols = [letters.alphabet[number] for number in letters.firsts]
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
    letters: SymbolClasses,
    first: State,
    following: Callable[[State], Sequence[State]],
    accepted: Callable[[State], bool],
) -> Automaton:
    """The minimal automaton of what is reached from a first state.

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
    return _quotient(letters, moves, accepting, _refined(moves, accepting, len(letters.firsts)))


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
    letters: SymbolClasses, moves: Sequence[tuple[int, ...]], accepting: set[int], of: Sequence[int]
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
