"""The automaton of a drawn graph: states, edges with guards, and any number of start states.

The automaton is made deterministic by sets of states (Rabin and Scott, Finite automata and their decision problems,
1959), complete, and minimal. A state without an edge for a symbol rejects every word that goes on with this symbol.
Over symbols, edges are tables of letters. Over propositions they are decision diagrams, so that no sets are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeAlias, TypeVar

from hardsim.errors import Span
from hardsim.lang.automata.automaton import MAX_STATES, Automaton, TooManyStates, explored
from hardsim.lang.automata.diagrams import DecisionDiagrams, TooManySteps
from hardsim.lang.automata.lettered import MOST_ENTRIES, AutomatonTooLarge, lettered
from hardsim.lang.automata.letters import Digits, SymbolClasses
from hardsim.lang.automata.minimal import Transitions, minimised
from hardsim.lang.valuations import Alphabet, Valuations
from hardsim.lazy_dataclass import dataclass

V = TypeVar("V")
_NOWHERE = Span(0, 1)
Places: TypeAlias = frozenset[int]
"""The states in which a nondeterministic automaton can be at the same time."""
Edge: TypeAlias = tuple[int, int | None, int]
"""The source, the number of the guard (None: the edge reads nothing), and the target."""

MOST_HELD = 3_000_000
"""Greatest total size of the sets of states that the states of a deterministic automaton stand for."""
CONNECTIVES: dict[str, Callable[..., bool]] = {
    "!": lambda one: not one,
    "&": lambda one, two: bool(one and two),
    "|": lambda one, two: bool(one or two),
    "^": lambda one, two: one != two,
    "->": lambda one, two: bool(not one or two),
    "<->": lambda one, two: one == two,
}
"""The truth of each connective of a guard."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the symbol that an edge reads. `sign` is one of CONNECTIVES, or "" for a name (the symbol itself,
    or a proposition that holds) and for a constant."""

    sign: str = ""
    args: tuple[Condition, ...] = ()
    name: str = ""
    """The name; empty for a constant and for a connective."""
    truth: bool = False
    """The value of a constant."""
    span: Span = _NOWHERE
    """The place of a name in the file."""

    def evaluated(self, leaf: Callable[[Condition], V], joined: Callable[..., V]) -> V:
        """Return the value of this guard, given those of names and constants, and the function of a connective's sign
        and the values of its operands."""
        if not self.sign:
            return leaf(self)
        values = [one.evaluated(leaf, joined) for one in self.args]
        return (
            reduce(lambda one, two: joined(self.sign, one, two), values[1:], values[0])
            if values[1:]
            else joined(self.sign, *values)
        )

    def names(self) -> list[Condition]:
        """Return the names of this guard, from left to right."""
        if self.sign:
            return [name for one in self.args for name in one.names()]
        return [self] if self.name else []


@dataclass(frozen=True, slots=True)
class StateGraph:
    """A drawn automaton: its number of states, the start states, the accepting states, the guards, and the edges."""

    states: int
    starts: Places
    accepting: Places
    guards: tuple[Condition, ...]
    edges: tuple[Edge, ...]

    def automaton(self, alphabet: Alphabet) -> Automaton:
        """Return the minimal automaton over an alphabet that has all names of the guards. Raises AutomatonTooLarge
        beyond MAX_STATES states or another limit on the way."""
        try:
            return _OfSymbols(self, alphabet).automaton() if isinstance(alphabet, tuple) else _of_sets(self, alphabet)
        except TooManyStates:
            raise AutomatonTooLarge(f"it has more than {MAX_STATES:,} states when it is deterministic") from None
        except TooManySteps:
            raise AutomatonTooLarge("it takes too many steps to make it deterministic") from None


class _Closure:
    """The states that are reached from others by edges that read nothing."""

    def __init__(self, graph: StateGraph) -> None:
        self._silent: dict[int, list[int]] = {}
        for source, guard, target in graph.edges:
            if guard is None:
                self._silent.setdefault(source, []).append(target)
        self._known: dict[Places, Places] = {}
        self._held = 0

    def closed(self, places: Iterable[int]) -> Places:
        """Return some states and all that are reached without reading. Raises AutomatonTooLarge if all results
        together have more than MOST_HELD states."""
        begun = frozenset(places)
        if begun not in self._known:
            found, left = set(begun), [*begun]
            while left:
                for target in self._silent.get(left.pop(), ()):
                    if target not in found:
                        found.add(target)
                        left.append(target)
            self._known[begun] = frozenset(found)
            self._held += len(found) + len(begun)
            if self._held > MOST_HELD:
                raise AutomatonTooLarge(f"its deterministic states stand for over {MOST_HELD:,} states in total")
        return self._known[begun]


class _OfSymbols:
    """The construction over symbols that are listed."""

    def __init__(self, graph: StateGraph, alphabet: tuple[str, ...]) -> None:
        self.graph = graph
        self.letters = SymbolClasses.of(alphabet, {one.name for guard in graph.guards for one in guard.names()})
        self.size = len(self.letters.firsts)
        self.closure = _Closure(graph)
        reads = [guard.evaluated(self._leaf, self._joined) for guard in graph.guards]
        self.edges: list[list[tuple[Places, int]]] = [[] for _ in range(graph.states)]
        for source, number, target in graph.edges:
            if number is not None:
                self.edges[source].append((reads[number], target))
        self._entries = 0

    def _leaf(self, guard: Condition) -> Places:
        if guard.name:
            return frozenset({self.letters[guard.name]})
        return frozenset(range(self.size) if guard.truth else ())

    def _joined(self, sign: str, *reads: Places) -> Places:
        if sign == "|":
            return reads[0] | reads[1]
        truth = CONNECTIVES[sign]
        return frozenset(letter for letter in range(self.size) if truth(*(letter in some for some in reads)))

    def automaton(self) -> Automaton:
        """Return the minimal automaton."""
        accepting = self.graph.accepting
        first = self.closure.closed(self.graph.starts)
        return explored(self.letters, first, self._following, lambda places: not places.isdisjoint(accepting))

    def _following(self, places: Places) -> list[Places]:
        self._entries += self.size
        if self._entries > MOST_ENTRIES:
            raise AutomatonTooLarge(f"it has more than {MOST_ENTRIES:,} transitions when it is deterministic")
        targets: list[set[int]] = [set() for _ in range(self.size)]
        for state in places:
            for reads, target in self.edges[state]:
                for letter in reads:
                    targets[letter].add(target)
        return [self.closure.closed(some) for some in targets]


def _of_sets(graph: StateGraph, alphabet: Valuations) -> Automaton:
    """Return the minimal automaton over sets of propositions, with decision diagrams in the place of tables."""
    digits = Digits(alphabet, ())
    diagrams, closure = DecisionDiagrams(digits.sizes), _Closure(graph)

    def leaf(guard: Condition) -> int:
        if guard.name:
            return digits.diagram(diagrams, alphabet.holding(guard.name))
        return diagrams.leaf(guard.truth)

    guards = [
        guard.evaluated(leaf, lambda sign, *some: diagrams.combined(CONNECTIVES[sign], *some)) for guard in graph.guards
    ]
    rows = [diagrams.leaf(frozenset[int]()) for _ in range(graph.states)]
    for source, number, target in graph.edges:
        if number is not None:
            more = frozenset({target})
            rows[source] = diagrams.combined(
                lambda before, holds, more=more: before | more if holds else before, rows[source], guards[number]
            )
    memo: dict[tuple[int, ...], int] = {}
    of_closed: dict[tuple[int, ...], int] = {}

    def following(places: Places) -> int:
        parts = [rows[state] for state in sorted(places)] or [diagrams.leaf(frozenset[int]())]
        joined = reduce(lambda one, two: diagrams.combined(frozenset.union, one, two, memo=memo), parts)
        return diagrams.combined(closure.closed, joined, memo=of_closed)

    order = [closure.closed(graph.starts)]
    numbers, moves = {order[0]: 0}, list[int]()
    for places in order:  # which grows
        row = following(places)
        for target in diagrams.values(row):
            if target not in numbers:
                if len(numbers) == MAX_STATES:
                    raise TooManyStates
                numbers[target] = len(numbers)
                order.append(target)
        moves.append(row)
    states = tuple(diagrams.combined(numbers.__getitem__, row) for row in moves)
    accepting = frozenset(number for places, number in numbers.items() if not places.isdisjoint(graph.accepting))
    return lettered(digits, diagrams, minimised(diagrams, Transitions(states, accepting)))
