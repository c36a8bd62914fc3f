"""Minimal automata whose transitions are decision diagrams."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.lang.automata.diagrams import DecisionDiagrams
from hardsim.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Transitions:
    """A deterministic automaton: words begin in state 0, and `moves` has for each state the diagram of the next
    state."""

    moves: tuple[int, ...]
    accepting: frozenset[int]


def minimised(diagrams: DecisionDiagrams, rows: Transitions) -> Transitions:
    """Return the automaton without states that are equivalent to others or not reached, numbered in the order in which
    they are reached.

    Blocks of states are split until the states of each have the same diagram of next blocks. After a split, only states
    that lead to a block with a new number are looked at again, and the largest part of a block keeps its number
    (Hopcroft 1971; Valmari, Fast brief practical DFA minimization, 2012).
    """
    block = [int(state in rows.accepting) for state in range(len(rows.moves))]
    members: list[set[int]] = [set(), set()]
    for state, number in enumerate(block):
        members[number].add(state)
    before = _sources(diagrams, rows)
    shown: dict[int, int] = {}
    """The diagram of next blocks that the states of a block had when they were last looked at."""
    left = set(range(len(rows.moves)))
    while left:
        memo: dict[tuple[int, ...], int] = {}
        parts: dict[int, dict[int, set[int]]] = {}
        for state in left:
            seen = diagrams.combined(block.__getitem__, rows.moves[state], memo=memo)
            parts.setdefault(block[state], {}).setdefault(seen, set()).add(state)
        moved: set[int] = set()
        for number, by_diagram in parts.items():
            moved |= _split(number, by_diagram, block, members, shown)
        left = set().union(*(before[state] for state in moved))
    return _numbered(diagrams, rows, block, 0)


def started_at(diagrams: DecisionDiagrams, rows: Transitions) -> Transitions:
    """Return a minimal automaton with the same non-empty words and at most as many states: if another state has the
    moves of the first one, words begin there."""
    same = [state for state, row in enumerate(rows.moves) if row == rows.moves[0]]
    return _numbered(diagrams, rows, range(len(rows.moves)), same[-1])


def _split(
    number: int, parts: dict[int, set[int]], block: list[int], members: list[set[int]], shown: dict[int, int]
) -> set[int]:
    """Split one block by the diagrams of those of its states that were looked at; return the states that get a new
    number."""
    same = members[number].difference(*parts.values())
    if same:  # their diagrams have not changed
        parts.setdefault(shown[number], set()).update(same)
    ordered = sorted(parts.items(), key=lambda one: len(one[1]), reverse=True)
    shown[number], members[number] = ordered[0]
    moved: set[int] = set()
    for diagram, states in ordered[1:]:
        shown[len(members)] = diagram
        for state in states:
            block[state] = len(members)
        members.append(states)
        moved |= states
    return moved


def _sources(diagrams: DecisionDiagrams, rows: Transitions) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in rows.moves]
    for state, diagram in enumerate(rows.moves):
        for target in diagrams.values(diagram):
            found[target].append(state)
    return found


def _numbered(diagrams: DecisionDiagrams, rows: Transitions, block: Sequence[int], first: int) -> Transitions:
    """Return the automaton of blocks, with those that are reached from the block of the first state."""
    places, order = {block[first]: 0}, [first]
    memo: dict[tuple[int, ...], int] = {}
    for state in order:  # which grows
        for target in diagrams.values(rows.moves[state]):
            if block[target] not in places:
                places[block[target]] = len(places)
                order.append(target)

    def renamed(state: int) -> int:
        return diagrams.combined(lambda target: places[block[target]], rows.moves[state], memo=memo)

    return Transitions(
        tuple(map(renamed, order)), frozenset(place for place, state in enumerate(order) if state in rows.accepting)
    )
