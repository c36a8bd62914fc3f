"""Truth values of formulas along a word, computed from left to right with a memory of what was read.

An `Online` reads a formula in core form whose operators look back only. Its memory after a prefix has an entry for each
operator: the operand's last value for yesterday, the last value for since, a sum of counts for a comparison. Sums may
grow with the word: then the states are finitely many at each length, polynomially many in it, and no finite automaton
has them all. At the last position of a word, operators that look ahead see nothing but that position, so a formula that
is read there may have them outside its other operators; counts over the whole word then count what was read.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Protocol, TypeAlias

from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.core import And, AtLeast, Core, CountOf, Edge, Letters, Lit, Numeric, Reach, Step, Xor
from hardsim.lang.predicate import BUILT_IN
from hardsim.lazy_dataclass import dataclass

State: TypeAlias = Any


class WordReader(Protocol):
    """A machine that reads a word from left to right, and knows after each symbol the truth at it."""

    @property
    def first(self) -> State:
        """The state before the first symbol."""
        ...

    def step(self, state: State, symbol: int) -> State:
        """Return the state after one more symbol, given by its number in the alphabet."""
        ...

    def truth(self, state: State) -> bool:
        """Return the truth at the last symbol read."""
        ...


class NotOnline(Exception):
    """A formula whose truth at a position depends on later positions, or on what is not known while reading. The text
    says why."""


@dataclass(frozen=True)
class AutomatonReader:
    """The truth of "what was read is in the language of an automaton"."""

    automaton: Automaton
    letters: tuple[int, ...]
    """The letter of each symbol."""
    first: State = 0

    @classmethod
    def of(cls, automaton: Automaton, symbols: tuple[str, ...]) -> AutomatonReader:
        """Return the reader of words over some symbols."""
        return cls(automaton, tuple(automaton.letters[symbol] for symbol in symbols))

    def step(self, state: State, symbol: int) -> State:
        """Return the state after one more symbol."""
        return self.automaton.moves[state][self.letters[symbol]]

    def truth(self, state: State) -> bool:
        """Return whether what was read is in the language."""
        return state in self.automaton.accepting


@dataclass(frozen=True)
class NegatedReader:
    """The opposite of the truth of another reader."""

    reader: WordReader

    @property
    def first(self) -> State:
        """The state before the first symbol."""
        return self.reader.first

    def step(self, state: State, symbol: int) -> State:
        """Return the state after one more symbol."""
        return self.reader.step(state, symbol)

    def truth(self, state: State) -> bool:
        """Return whether the other reader's truth is false."""
        return not self.reader.truth(state)


@dataclass
class Online:
    """The reader of a formula in core form. `ending`: the truth is asked at the last position of the word, else at each
    position. Raises NotOnline if it depends on more than what was read."""

    core: Core
    symbols: tuple[str, ...]
    ending: bool
    first: State = field(init=False)

    def __post_init__(self) -> None:
        inner: set[int] = set()
        self._sums: dict[tuple[int, bool], AtLeast | Numeric] = {}
        """The counting nodes with their number, and whether they are asked at the last position."""
        self._ends: set[int] = set()
        if self.ending:
            self._at_the_end(self.core.root.node, inner)
        else:
            inner.add(self.core.root.node)
        self._order = self._closed(inner)
        self._steps = [n for n in self._order if isinstance(self.core.nodes[n], Step | Reach | Edge)]
        for number in self._order:
            node = self.core.nodes[number]
            if isinstance(node, AtLeast | Numeric):
                self._sums[number, False] = node
        self._keys = list(self._sums)
        steps = tuple(isinstance(self.core.nodes[n], Edge) for n in self._steps)
        self.first = (steps, tuple(0 for _ in self._keys), False)

    def _at_the_end(self, number: int, inner: set[int]) -> None:
        """Collect what a node at the last position depends on: `inner` are nodes that are needed at every position."""
        if number in self._ends:
            return
        self._ends.add(number)
        node = self.core.nodes[number]
        match node:
            case And(args):
                for lit in args:
                    self._at_the_end(lit.node, inner)
            case Xor(left, right):
                self._at_the_end(left, inner)
                self._at_the_end(right, inner)
            case Reach("U", _, right):
                self._at_the_end(right.node, inner)
            case AtLeast() | Numeric():
                self._require_known(node)
                self._sums[number, True] = node
                for _, count in _terms(node):
                    inner.add(count.arg.node)
            case Step("Y") | Reach("S") | Edge("first"):
                inner.add(number)

    def _require_known(self, node: AtLeast | Numeric) -> None:
        if isinstance(node, Numeric) and node.name != "MOD" and node.name not in BUILT_IN:
            raise NotOnline(f"the predicate {node.name} may depend on the length of the word")

    def _closed(self, numbers: set[int]) -> list[int]:
        """Return the nodes that are needed at every position, in an order in which operands come first. Raises
        NotOnline if one of them looks ahead."""
        found, left = set(numbers), list(numbers)
        while left:
            node = self.core.nodes[left.pop()]
            needed: list[int] = []
            match node:
                case And(args):
                    needed = [lit.node for lit in args]
                case Xor(one, two):
                    needed = [one, two]
                case Step("Y", arg):
                    needed = [arg.node]
                case Reach("S", one, two):
                    needed = [one.node, two.node]
                case AtLeast() | Numeric():
                    self._require_known(node)
                    if any(count.side != "L" for _, count in _terms(node)):
                        raise NotOnline("it counts positions that are still to come")
                    needed = [count.arg.node for _, count in _terms(node)]
                case Letters() | Edge("first"):
                    pass
                case _:
                    raise NotOnline("an operator looks ahead")
            left += [number for number in needed if number not in found]
            found.update(needed)
        return sorted(found)

    def step(self, state: State, symbol: int) -> State:
        """Return the state after one more symbol: the memories of the operators, and the
        truth of the formula at this symbol."""
        memory = dict(zip(self._steps, state[0], strict=True))
        sums = dict(zip(self._keys, state[1], strict=True))
        name, values = self.symbols[symbol], dict[int, bool]()

        def value(lit: Lit) -> bool:
            return values[lit.node] != lit.negated

        for number in self._order:
            node = self.core.nodes[number]
            if isinstance(node, AtLeast | Numeric):
                sums[number, False] = self._grown(node, sums[number, False], value)
                values[number] = _holds(node, sums[number, False])
                continue
            values[number] = self._now(node, name, value, memory.get(number, False))
        for key, node in self._sums.items():
            if key[1]:
                sums[key] = self._grown(node, sums[key], value)
        after = tuple(self._kept(number, value, values) for number in self._steps)
        root = self.core.root
        truth = self._last(root, name, value, memory, sums) if self.ending else value(root)
        return after, tuple(sums[key] for key in self._keys), truth

    def truth(self, state: State) -> bool:
        """Return the truth at the last symbol read."""
        return bool(state[2])

    def _now(self, node: Any, name: str, value: Any, memory: bool) -> bool:
        """Return the value of a node, given those of its operands and its memory."""
        match node:
            case Letters(symbols):
                return name in symbols
            case Edge():
                return memory
            case And(args):
                return all(map(value, args))
            case Xor(left, right):
                return bool(value(Lit(left)) != value(Lit(right)))
            case Step():
                return memory
        return bool(value(node.right) or (value(node.left) and memory))

    def _kept(self, number: int, value: Any, values: dict[int, bool]) -> bool:
        node = self.core.nodes[number]
        match node:
            case Step(_, arg):
                return bool(value(arg))
            case Edge():
                return False
        return values[number]

    def _grown(self, node: AtLeast | Numeric, before: int, value: Any) -> int:
        """Return a sum of counts after one more position. It stops where it cannot make a difference any more."""
        terms = [(weight, count) for weight, count in _terms(node) if count.side != "R"]
        total = before + sum(weight for weight, count in terms if value(count.arg))
        if isinstance(node, Numeric):
            return total % node.params[0] if node.name == "MOD" else total
        if len(terms) == len(node.terms):
            if all(weight >= 0 for weight, _ in terms):
                return min(total, max(0, -node.constant))
            if all(weight <= 0 for weight, _ in terms):
                return max(total, min(0, -node.constant - 1))
        return total

    def _last(self, lit: Lit, name: str, value: Any, memory: dict[int, bool], sums: dict[Any, int]) -> bool:
        """Return the value of a literal at the last position."""

        def here(one: Lit) -> bool:
            return self._last(one, name, value, memory, sums)

        node, number = self.core.nodes[lit.node], lit.node
        found: bool
        match node:
            case And(args):
                found = all(map(here, args))
            case Xor(left, right):
                found = here(Lit(left)) != here(Lit(right))
            case Letters(symbols):
                found = name in symbols
            case Edge("last"):
                found = True
            case Step("X"):
                found = False
            case Reach("U", _, right):
                found = here(right)
            case AtLeast() | Numeric():
                extra = sum(w for w, count in _terms(node) if count.side == "R" and value(count.arg))
                found = _holds(node, sums[number, True] + extra)
            case _:
                found = value(Lit(number))
        return found != lit.negated


def _terms(node: AtLeast | Numeric) -> tuple[tuple[int, CountOf], ...]:
    return node.terms if isinstance(node, AtLeast) else ((1, node.count),)


def _holds(node: AtLeast | Numeric, total: int) -> bool:
    """Return the truth of a comparison, or of a predicate, of a sum of counts."""
    if isinstance(node, AtLeast):
        return total + node.constant >= 0
    argument = node.scale * total + node.offset
    if node.name == "MOD":
        return (argument - node.params[1]) % node.params[0] == 0
    return bool(BUILT_IN[node.name](argument, 0))  # these do not depend on the length
