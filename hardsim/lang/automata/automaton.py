"""Complete, minimal deterministic automata: deciding, counting and listing the words of a language, and comparing two
languages.

Symbols that no expression distinguishes share one letter, so that a large alphabet costs nothing. An automaton knows
whether the empty word is in its language, which complements and sequences need. Words of files are non-empty, so the
methods that count, list or compare words use lengths from 1 on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import gt, ne
from random import Random
from typing import TypeAlias, TypeVar

from hardsim.errors import Undecided
from hardsim.lang.automata.letters import Partition, below
from hardsim.lang.valuations import Alphabet

Word: TypeAlias = tuple[str, ...]
Row: TypeAlias = tuple[int, ...]
Moves: TypeAlias = tuple[Row, ...]
"""The next state, by state and letter; words begin in state 0."""
State = TypeVar("State", bound=Hashable)

MAX_STATES = 10_000
"""Greatest number of states of an automaton, including intermediate ones."""
MAX_PAIRS = 1_000_000
"""Greatest number of pairs of states that a comparison of two automata visits."""
LISTED = 100
"""Greatest number of symbols after a state that are kept as a list."""


class TooManyStates(Exception):
    """An automaton would have more than MAX_STATES states."""


class Automaton:
    """The complete, minimal automaton of a language, with states numbered in the order of discovery; `letters` maps
    symbols to letters."""

    def __init__(self, letters: Partition, moves: Moves, accepting: frozenset[int]) -> None:
        self.letters, self.moves, self.accepting = letters, moves, accepting
        # `_alive[n]`: the states from which a word of n symbols is accepted, extended on demand
        self._alive = [accepting]
        self._known: list[dict[int, list[int]]] = []
        self._symbols: dict[tuple[int, int], tuple[tuple[str, int], ...]] = {}

    def __reduce__(self) -> tuple[type[Automaton], tuple[Partition, Moves, frozenset[int]]]:
        return Automaton, (self.letters, self.moves, self.accepting)

    # ---- words ----

    def accepts(self, word: Iterable[str]) -> bool:
        """Return True if a word over the alphabet is in the language."""
        state, letters, moves = 0, self.letters, self.moves
        for symbol in word:
            state = moves[state][letters[symbol]]
        return state in self.accepting

    def counts(self) -> Iterator[int]:
        """Yield the number of words of length 1, 2, 3, ... in the language, exactly and without end."""
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
        """Return the number of words of length n >= 1 in the language."""
        return next(islice(self.counts(), n - 1, None))

    def words(self, n: int) -> Iterator[Word]:
        """Yield the words of length n >= 1 in the language, in the order of the alphabet, without listing any in
        advance."""
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
        """Return the letters that a state can read such that n more symbols can still lead to acceptance."""
        if (found := self._tables(n + 1)[n].get(state)) is None:
            alive = self._leading(n)
            found = [letter for letter, target in enumerate(self.moves[state]) if target in alive]
            self._known[n][state] = found
        return found

    def _tables(self, n: int) -> list[dict[int, list[int]]]:
        """Return what is known of `_living`: by number of symbols that follow, from 0 to n - 1 at least, and state."""
        while len(self._known) < n:
            self._known.append({})
        return self._known

    def _following(self, state: int, n: int) -> Iterator[tuple[str, int]]:
        """Return the symbols of the letters that `_living` returns, each with its letter. They are kept if they are no
        more than LISTED."""
        if (found := self._symbols.get((state, n))) is None:
            letters = frozenset(self._living(state, n))
            if sum(self.letters.sizes[letter] for letter in letters) > LISTED:
                return self.letters.symbols(letters)
            found = self._symbols[state, n] = tuple(self.letters.symbols(letters))
        return iter(found)

    def samples(self, n: int, count: int, rng: Random) -> list[Word]:
        """Return distinct words of length n in the language, at most `count`: those found by at most 2 * count
        draws. At each step every letter that can lead to a word has the same probability, and so has every symbol of
        a letter: a rare branch of an expression gets its share."""
        if 0 not in self._leading(n):
            return []
        found: dict[Word, None] = {}
        moves, known, drawn, bits = self.moves, self._tables(n), self.letters.drawn, rng.getrandbits
        for _ in range(2 * count):
            state, word = 0, list[str]()
            for left in reversed(range(n)):
                living = known[left].get(state) or self._living(state, left)
                letter = living[below(bits, len(living))]
                word.append(drawn(letter, rng))
                state = moves[state][letter]
            found[tuple(word)] = None
            if len(found) == count:
                break
        return list(found)

    def nearest_word(self, word: Word, n: int, rng: Random, order: Sequence[int] = ()) -> Word:
        """Return a word of length n in the language (there must be one), similar to another word. Its symbols are kept
        where they can lead to such a word; symbols that do not fit are skipped if `word` is long enough. Elsewhere the
        first possible letter of `order` is used, or a random one."""
        numbers = {symbol: self.letters[symbol] for symbol in dict.fromkeys(word)}
        read, size, moves, known = [numbers[symbol] for symbol in word], len(word), self.moves, self._tables(n)
        state, found, place = 0, list[str](), 0
        for left in reversed(range(n)):
            living = known[left].get(state) or self._living(state, left)
            while size - place > left + 1 and read[place] not in living:
                place += 1
            if place < size and (letter := read[place]) in living:
                found.append(word[place])
            else:
                letter = next((one for one in order if one in living), -1)
                letter = living[below(rng.getrandbits, len(living))] if letter < 0 else letter
                found.append(self.letters.drawn(letter, rng))
            place += 1
            state = moves[state][letter]
        return tuple(found)

    def _leading(self, n: int) -> frozenset[int]:
        """Return the states from which some word of exactly n symbols is accepted."""
        while len(self._alive) <= n:
            after = self._alive[-1]
            self._alive.append(frozenset(state for state, row in enumerate(self.moves) if not after.isdisjoint(row)))
        return self._alive[n]

    @property
    def empty(self) -> bool:
        """True if the automaton accepts no word of length 1 or more."""
        return not any(target in self.accepting for row in self.moves for target in row)

    # ---- other automata ----

    def complement(self) -> Automaton:
        """Return the automaton of the words over the alphabet that are not in the language."""
        return Automaton(self.letters, self.moves, frozenset(range(len(self.moves))) - self.accepting)

    def over(self, alphabet: Alphabet) -> Automaton:
        """Return the automaton of the same language over an alphabet with the same symbols, perhaps in another order
        or, for sets, in another spelling."""
        letters, old = self.letters.over(alphabet)
        return explored(
            letters, 0, lambda state: [self.moves[state][letter] for letter in old], self.accepting.__contains__
        )

    def intersection(self, other: Automaton) -> Automaton:
        """Return the automaton of the words in both of two languages over the same symbols. Raises TooManyStates if the
        automaton is too large before minimisation."""
        letters, both = self.letters.common(other.letters)
        return explored(
            letters,
            (0, 0),
            lambda pair: [(self.moves[pair[0]][one], other.moves[pair[1]][two]) for one, two in both],
            lambda pair: pair[0] in self.accepting and pair[1] in other.accepting,
        )

    def difference(self, other: Automaton) -> Word | None:
        """Return the shortest non-empty word that is in exactly one of two languages over the same symbols, the first
        such word in the order of the alphabet; None if the languages are equal. Raises Undecided if the comparison
        would visit more than MAX_PAIRS pairs of states."""
        return self._shortest(other, ne, "the languages agree")

    def excess(self, other: Automaton) -> Word | None:
        """Return the shortest non-empty word that is in this language and not in another one over the same symbols, the
        first such word in the order of the alphabet; None if this language is within the other. Raises Undecided if the
        comparison would visit more than MAX_PAIRS pairs of states."""
        return self._shortest(other, gt, "the first language is within the second")

    def _shortest(self, other: Automaton, sought: Callable[[bool, bool], bool], so_far: str) -> Word | None:
        """Return the shortest word on which the answers of two automata are as sought."""
        letters, both = self.letters.common(other.letters)
        symbols = [letters.alphabet[number] for number in letters.firsts]
        before: dict[tuple[int, int], tuple[tuple[int, int], str] | None] = {(0, 0): None}
        waiting = deque(before)
        while waiting:
            pair = waiting.popleft()
            for symbol, (one, two) in zip(symbols, both, strict=True):
                after = self.moves[pair[0]][one], other.moves[pair[1]][two]
                if sought(after[0] in self.accepting, after[1] in other.accepting):
                    return _path(before, pair, symbol)
                if after not in before:
                    before[after] = pair, symbol
                    waiting.append(after)
            if len(before) > MAX_PAIRS:
                least = len(_path(before, waiting[0], ""))  # breadth-first: all shorter words were compared
                message = f"{so_far} up to length {least - 1}, after which more than {MAX_PAIRS:,} pairs of states"
                raise Undecided(f"{message} would have to be compared")
        return None


def _path(
    before: Mapping[tuple[int, int], tuple[tuple[int, int], str] | None], pair: tuple[int, int], last: str
) -> Word:
    """Return the word that leads to a pair of states, followed by one more symbol."""
    word = [last]
    while (step := before[pair]) is not None:
        pair = step[0]
        word.append(step[1])
    return tuple(reversed(word))


# ---- construction ----


def explored(
    letters: Partition,
    first: State,
    following: Callable[[State], Sequence[State]],
    accepted: Callable[[State], bool],
) -> Automaton:
    """Return the minimal automaton of the states reachable from a first state, given the successors of a state by
    letter and whether it accepts. Raises TooManyStates if more than MAX_STATES states are reachable."""
    numbers, moves = _reached(first, following)
    accepting = {number for state, number in numbers.items() if accepted(state)}
    of = _refined(moves, accepting, len(letters.firsts))
    # the states of the result are the classes of states; any state of a class shows its moves
    one = {number: state for state, number in enumerate(of)}
    order, rows = _reached(of[0], lambda number: [of[target] for target in moves[one[number]]])
    return Automaton(letters, tuple(rows), frozenset(order[of[state]] for state in accepting))


def _reached(first: State, following: Callable[[State], Sequence[State]]) -> tuple[dict[State, int], list[Row]]:
    """Number the states reachable from a first one in the order of discovery, and return the numbers of the successors
    of each."""
    numbers: dict[State, int] = {first: 0}
    moves: list[Row] = []
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
    return numbers, moves


def _refined(moves: Sequence[tuple[int, ...]], accepting: set[int], size: int) -> list[int]:
    """Return the equivalence class of each state; states of one class accept the same words. Hopcroft, An n log n
    algorithm for minimizing states in a finite automaton (1971)."""
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
                # If the block was waiting, its larger half still is; otherwise the smaller half suffices.
                waiting.add(len(blocks))
                blocks.append(small)
    return of
