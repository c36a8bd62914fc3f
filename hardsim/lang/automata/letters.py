"""Letters: classes of symbols that no part of a language tells apart, so that large alphabets cost nothing.

`SymbolClasses` has a letter for each named symbol, and one for all others. `SetClasses` divides the sets of an alphabet
of propositions by a decision diagram; no sets are listed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from math import prod
from random import Random
from typing import Any, TypeAlias

from hardsim.errors import Undecided
from hardsim.lang.automata.diagrams import LEAF, DecisionDiagrams
from hardsim.lang.valuations import MOST_LISTED, Alphabet, Numbering, PropositionSymbols, Symbols, Valuations
from hardsim.lazy_dataclass import dataclass

Node: TypeAlias = tuple[int, tuple[int, ...]]
"""A node of a diagram of letters: the number of a part of the alphabet, and the next node for each of its choices; -1 -
k stands for the letter k."""


def below(bits: Callable[[int], int], size: int) -> int:
    """Return a uniformly random integer from 0 to `size` - 1, from random bits. (`Random.randrange` and `Random.choice`
    draw the same bits in the same way, and take several times as long.)"""
    count = size.bit_length()
    found = bits(count)
    while found >= size:
        found = bits(count)
    return found


@dataclass(frozen=True)
class Partition(ABC):
    """A partition of an alphabet into letters, numbered in the order in which their first symbols occur in the
    alphabet."""

    alphabet: Alphabet

    @property
    @abstractmethod
    def firsts(self) -> tuple[int, ...]:
        """The alphabet number of the first symbol of each letter."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """The number of symbols of each letter."""

    @abstractmethod
    def letter(self, number: int) -> int:
        """Return the letter of the symbol that has the given number in the alphabet."""

    @abstractmethod
    def name(self, letter: int) -> str:
        """Return a text for a letter, for tables and drawings."""

    @abstractmethod
    def drawn(self, letter: int, rng: Random) -> str:
        """Draw a symbol of a letter, uniformly at random."""

    @abstractmethod
    def common(self, other: Partition) -> tuple[Partition, list[tuple[int, int]]]:
        """Return the coarsest letters over this alphabet that distinguish all symbols that either partition
        distinguishes, and for each the pair of its letters in the two. The alphabets must have the same symbols, in any
        order. Raises Undecided if that would need a list of too many sets."""

    @abstractmethod
    def over(self, alphabet: Alphabet) -> tuple[Partition, list[int]]:
        """Return letters over an alphabet with the same symbols, perhaps in another order or, for sets, in another
        spelling; and for each its letter here."""

    @cached_property
    def _numbers(self) -> Numbering:
        return Numbering(self.alphabet)

    def __getitem__(self, symbol: str) -> int:
        """Return the letter of a symbol of the alphabet; a set may have its propositions in any order."""
        return self.letter(self._numbers[symbol])

    def symbols(self, letters: Collection[int]) -> Iterator[tuple[str, int]]:
        """Yield the symbols of some letters, in the order of the alphabet, each with its letter."""
        if any(self.sizes[letter] > 1 for letter in letters):
            numbers: Iterable[int] = range(len(self.alphabet))
        else:
            numbers = (self.firsts[letter] for letter in sorted(letters))
        for number in numbers:
            letter = self.letter(number)
            if letter in letters:
                yield self.alphabet[number], letter


OTHERS = "any other"
"""The name of the letter of all symbols that are not mentioned."""


@dataclass(frozen=True)
class SymbolClasses(Partition):
    """A partition with a letter for each named symbol, and one for all others, which are never listed."""

    named: tuple[int, ...]
    """Alphabet numbers of the symbols that have a letter of their own, in order."""

    @classmethod
    def of(cls, alphabet: Alphabet, symbols: Iterable[str]) -> SymbolClasses:
        """Return the letters that distinguish the given symbols of an alphabet from each other and from all others."""
        numbers = Numbering(alphabet)
        return cls(alphabet, tuple(sorted({numbers[symbol] for symbol in symbols})))

    @cached_property
    def rest(self) -> int | None:
        """The letter of all other symbols; None if every symbol is named."""
        if len(self.named) == len(self.alphabet):
            return None
        return next(letter for letter in count() if letter == len(self.named) or self.named[letter] != letter)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The alphabet number of the first symbol of each letter."""
        # All symbols before the first other one are named, so the number of that one equals its letter.
        return self.named if self.rest is None else (*self.named[: self.rest], self.rest, *self.named[self.rest :])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of symbols of each letter: 1 for a named symbol, and that of all other symbols for `rest`."""
        others = len(self.alphabet) - len(self.named)
        return tuple(others if letter == self.rest else 1 for letter in range(len(self.firsts)))

    @cached_property
    def _known(self) -> dict[int, int]:
        """Maps the alphabet number of each named symbol to its letter."""
        return {number: letter for letter, number in enumerate(self.firsts) if letter != self.rest}

    def letter(self, number: int) -> int:
        """Return the letter of the symbol that has the given number in the alphabet."""
        found = self._known.get(number, self.rest)
        assert found is not None  # if there is no letter for the others, every symbol is named
        return found

    def name(self, letter: int) -> str:
        """Return the symbol of a letter; a class of one symbol is named by that symbol, even if it is not named."""
        return OTHERS if self.sizes[letter] > 1 else self.alphabet[self.firsts[letter]]

    def drawn(self, letter: int, rng: Random) -> str:
        """Draw a symbol of a letter, uniformly at random."""
        number = below(rng.getrandbits, self.sizes[letter])
        if letter != self.rest:
            return self.alphabet[self.firsts[letter]]
        # The place among the other symbols, plus the number of named symbols before it.
        before = bisect_left(range(len(self.named)), 1, key=lambda k: int(self.named[k] - k > number))
        return self.alphabet[number + before]

    def common(self, other: Partition) -> tuple[Partition, list[tuple[int, int]]]:
        """Return the common refinement of two partitions."""
        if not isinstance(other, SymbolClasses):
            return (
                SetClasses.naming(self).common(other)
                if isinstance(self.alphabet, Valuations)
                else _one_by_one(self, other)
            )
        theirs = (other.alphabet[number] for number in other.named)
        both = SymbolClasses(self.alphabet, tuple(sorted({*self.named, *(self._numbers[symbol] for symbol in theirs)})))
        return both, [(self.letter(number), other[self.alphabet[number]]) for number in both.firsts]

    def over(self, alphabet: Alphabet) -> tuple[Partition, list[int]]:
        """Return these letters over an alphabet with the same symbols."""
        letters = SymbolClasses.of(alphabet, (self.alphabet[number] for number in self.named))
        return letters, [self[alphabet[number]] for number in letters.firsts]


@dataclass(frozen=True)
class SetClasses(Partition):
    """A partition of the sets of an alphabet by the propositions that hold, as a decision diagram."""

    nodes: tuple[Node, ...]
    """The nodes, each after those that it leads to; the last one is the first to ask. None: there is one letter."""

    @property
    def _sets(self) -> Valuations:
        assert isinstance(self.alphabet, Valuations)
        return self.alphabet

    @classmethod
    def of(cls, alphabet: Valuations, diagrams: DecisionDiagrams, diagram: int) -> tuple[SetClasses, list[Any]]:
        """Return the letters on which a diagram is constant, and its value on each. The digits of the diagram are the
        choices of the parts of the alphabet."""
        values = list(diagrams.values(diagram))
        found = cls(alphabet, _frozen(diagrams, diagram, {value: number for number, value in enumerate(values)}))
        # Letters are numbered anew, in the order of their first symbols.
        order = sorted(range(len(values)), key=found.firsts.__getitem__)
        place = {values[old]: new for new, old in enumerate(order)}
        return cls(alphabet, _frozen(diagrams, diagram, place)), [values[old] for old in order]

    @classmethod
    def naming(cls, classes: SymbolClasses) -> SetClasses:
        """Return the letters of a partition that names sets."""
        alphabet = classes.alphabet
        assert isinstance(alphabet, Valuations)
        diagrams = DecisionDiagrams([len(choices) for choices in alphabet.choices])
        diagram = diagrams.leaf(-1)
        for number in classes.named:
            here = diagrams.leaf(True)
            for part, (stride, size) in reversed(list(enumerate(zip(alphabet.strides, diagrams.sizes, strict=True)))):
                digit, never = number // stride % size, diagrams.leaf(False)
                here = diagrams.node(part, tuple(here if choice == digit else never for choice in range(size)))
            diagram = diagrams.combined(lambda old, new, name=number: name if new else old, diagram, here)
        return cls.of(alphabet, diagrams, diagram)[0]

    @cached_property
    def _least(self) -> list[dict[int, int]]:
        """For each node, the least sum of place values of the digits that lead to each letter."""
        found: list[dict[int, int]] = []
        for part, children in self.nodes:
            best: dict[int, int] = {}
            for choice, child in enumerate(children):
                for letter, number in (found[child] if child >= 0 else {-1 - child: 0}).items():
                    sum_here = number + choice * self._sets.strides[part]
                    best[letter] = min(best.get(letter, sum_here), sum_here)
            found.append(best)
        return found

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The alphabet number of the first set of each letter."""
        least = self._least[-1] if self.nodes else {0: 0}
        return tuple(least[letter] for letter in range(len(least)))

    @cached_property
    def _shares(self) -> list[dict[int, int]]:
        """For each node, how many combinations of choices of the parts that it asks about, or that nodes after it ask
        about or skip, lead to each letter."""
        found: list[dict[int, int]] = []
        for part, children in self.nodes:
            total: dict[int, int] = {}
            for child in children:
                below = found[child] if child >= 0 else {-1 - child: 1}
                skipped = self._skipped(part, child)
                for letter, number in below.items():
                    total[letter] = total.get(letter, 0) + number * skipped
            found.append(total)
        return found

    def _skipped(self, part: int, child: int) -> int:
        """Return the number of combinations of choices of the parts between a part and the one that a child asks
        about."""
        until = self.nodes[child][0] if child >= 0 else len(self._sets.choices)
        return prod(len(choices) for choices in self._sets.choices[part + 1 : until])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of sets of each letter."""
        if not self.nodes:
            return (len(self.alphabet),)
        before, shares = self._skipped(-1, len(self.nodes) - 1), self._shares[-1]
        return tuple(shares[letter] * before for letter in range(len(shares)))

    def letter(self, number: int) -> int:
        """Return the letter of the set that has the given number in the alphabet."""
        node = len(self.nodes) - 1
        while node >= 0:
            part, children = self.nodes[node]
            node = children[number // self._sets.strides[part] % len(children)]
        return -1 - node if self.nodes else 0

    def drawn(self, letter: int, rng: Random) -> str:
        """Draw a set of a letter, uniformly at random."""
        node, number = len(self.nodes) - 1, 0
        for part, (stride, choices) in enumerate(zip(self._sets.strides, self._sets.choices, strict=True)):
            choice = rng.randrange(len(choices))
            if node >= 0 and self.nodes[node][0] == part:
                children = self.nodes[node][1]
                weights = [self._shares[child].get(letter, 0) if child >= 0 else int(-1 - child == letter)
                           for child in children]  # fmt: skip
                ways = [weight * self._skipped(part, child) for weight, child in zip(weights, children, strict=True)]
                drawn = rng.randrange(sum(ways))
                choice = next(k for k in range(len(ways)) if sum(ways[: k + 1]) > drawn)
                node = children[choice]
            number += choice * stride
        return self.alphabet[number]

    def name(self, letter: int) -> str:
        """Return the propositions of the first set of a letter, and how many sets the letter has."""
        first, size = self.alphabet[self.firsts[letter]], self.sizes[letter]
        return first if size == 1 else f"{first} and {size - 1:,} more"

    def common(self, other: Partition) -> tuple[Partition, list[tuple[int, int]]]:
        """Return the common refinement of two partitions."""
        alphabet, theirs = self._sets, other.alphabet
        diagrams = DecisionDiagrams([len(choices) for choices in alphabet.choices])
        mine = _thawed(diagrams, self.nodes, alphabet, alphabet)
        if isinstance(other, SymbolClasses) and isinstance(theirs, Valuations):
            other = SetClasses.naming(other)
        if isinstance(other, SetClasses) and isinstance(theirs, Valuations) and _same_parts(alphabet, theirs):
            their = _thawed(diagrams, other.nodes, theirs, alphabet)
        elif len(alphabet) <= MOST_LISTED:
            return _one_by_one(self, other)
        else:
            raise _too_many()
        return SetClasses.of(alphabet, diagrams, diagrams.combined(lambda one, two: (one, two), mine, their))

    def over(self, alphabet: Alphabet) -> tuple[Partition, list[int]]:
        """Return letters over an alphabet with the same sets."""
        if isinstance(alphabet, Valuations) and _same_parts(alphabet, self._sets):
            diagrams = DecisionDiagrams([len(choices) for choices in alphabet.choices])
            return SetClasses.of(alphabet, diagrams, _thawed(diagrams, self.nodes, self._sets, alphabet))
        if len(alphabet) > MOST_LISTED:
            raise _too_many()
        return SymbolClasses(alphabet, tuple(range(len(alphabet)))), [self[symbol] for symbol in alphabet]


def _one_by_one(one: Partition, other: Partition) -> tuple[Partition, list[tuple[int, int]]]:
    """Return a letter for each symbol of the first partition's alphabet, with the pair of its letters in the two."""
    listed = SymbolClasses(one.alphabet, tuple(range(len(one.alphabet))))
    return listed, [(one.letter(number), other[symbol]) for number, symbol in enumerate(one.alphabet)]


def _too_many() -> Undecided:
    return Undecided(
        "the two files state different constraints on their propositions, and there are more than "
        f"{MOST_LISTED:,} sets to compare one by one"
    )


def _same_parts(some: Valuations, others: Valuations) -> bool:
    return {*map(frozenset, some.parts)} == {*map(frozenset, others.parts)}


def _frozen(diagrams: DecisionDiagrams, diagram: int, letters: Mapping[Any, int]) -> tuple[Node, ...]:
    """Return the nodes of a diagram whose values are replaced by numbers of letters."""
    places: dict[int, int] = {}
    nodes: list[Node] = []
    waiting = [diagram]
    while waiting:
        one = waiting[-1]
        if one in places:
            waiting.pop()
        elif diagrams.variables[one] == LEAF:
            places[one] = -1 - letters[diagrams.contents[one]]
        elif left := [child for child in diagrams.contents[one] if child not in places]:
            waiting += left
        else:
            places[one] = len(nodes)
            nodes.append((diagrams.variables[one], tuple(places[child] for child in diagrams.contents[one])))
    return tuple(nodes)


def _thawed(diagrams: DecisionDiagrams, nodes: Sequence[Node], old: Valuations, new: Valuations) -> int:
    """Return the diagram of some letters, with the digits of another alphabet of the same sets."""
    numbers: list[int] = []
    place = {frozenset(part): k for k, part in enumerate(new.parts)}
    for part, children in nodes:
        mine = place[frozenset(old.parts[part])]
        below = [numbers[child] if child >= 0 else diagrams.leaf(-1 - child) for child in children]
        choice = {some: k for k, some in enumerate(old.choices[part])}
        # Thousands of choices have few different children: only these are combined.
        different = {child: k for k, child in enumerate(dict.fromkeys(below))}
        which = tuple(diagrams.leaf(different[below[choice[some]]]) for some in new.choices[mine])
        numbers.append(
            diagrams.combined(lambda chosen, *values: values[chosen], diagrams.node(mine, which), *different)
        )
    return numbers[-1] if nodes else diagrams.leaf(0)


class Digits:
    """How decision diagrams see the symbols of an alphabet: by digits, of which `sizes` has the numbers of values.

    A symbol of a listed alphabet is one digit: its letter among the symbols that are mentioned. A set of propositions
    has one digit for each part of its alphabet: the choice of the part.
    """

    def __init__(self, alphabet: Alphabet, mentioned: Iterable[Symbols]) -> None:
        self.alphabet = alphabet
        if isinstance(alphabet, Valuations):
            self.sizes = tuple(len(choices) for choices in alphabet.choices)
        else:
            named = {symbol for symbols in mentioned for symbol in _fewer(symbols, alphabet)}
            self.letters = SymbolClasses.of(alphabet, named)
            self.sizes = (len(self.letters.firsts),)

    def diagram(self, diagrams: DecisionDiagrams, symbols: Symbols) -> int:
        """Return the diagram that is true at the given symbols."""
        if not isinstance(self.alphabet, Valuations):
            listed = (self.alphabet[number] in symbols for number in self.letters.firsts)
            return diagrams.node(0, tuple(map(diagrams.leaf, listed)))
        assert isinstance(symbols, PropositionSymbols)
        if symbols.name is None:
            return diagrams.leaf(True)
        part = next(k for k, names in enumerate(self.alphabet.parts) if symbols.name in names)
        return diagrams.node(part, tuple(diagrams.leaf(symbols.name in some) for some in self.alphabet.choices[part]))

    def classes(self, diagrams: DecisionDiagrams, joint: int) -> tuple[Partition, list[Any]]:
        """Return letters on which a diagram is constant, with its value on each."""
        if isinstance(self.alphabet, Valuations):
            return SetClasses.of(self.alphabet, diagrams, joint)
        return self.letters, [diagrams.value(joint, [letter]) for letter in range(*self.sizes)]


def _fewer(symbols: Symbols, alphabet: Sequence[str]) -> Iterable[str]:
    """Return the symbols of a set, or those outside it if they are fewer: either tells the two apart."""
    assert isinstance(symbols, frozenset)
    return symbols if 2 * len(symbols) <= len(alphabet) else (one for one in alphabet if one not in symbols)
