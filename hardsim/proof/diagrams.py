"""Decision diagrams: functions of a few finite variables, each stored once.

A diagram is a number. It stands for a function from assignments of the variables (the symbol at a position, Booleans
that attention decided there) to exact values: Booleans, rationals, tuples of them. Diagrams are reduced and ordered,
so two diagrams that stand for the same function are the same number, and the values at the leaves of a diagram are
exactly the values that the function takes (Bryant 1986; with values at the leaves, Bahar et al. 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from hardsim.spec.ir import Rational, plain

TERMINAL = 1 << 60
"""The level of a diagram that is a value."""

LIMIT = 400_000
"""Nodes that are no values; a formula that needs more is not proved."""


class TooLarge(Exception):
    """A function needs more nodes than there may be."""


class Diagrams:
    """A table of diagrams over variables that are ordered by their first use."""

    def __init__(self) -> None:
        self._levels: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._values: list[Any] = []
        self._terminals: dict[Hashable, int] = {}
        self._nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._variables: dict[Hashable, int] = {}
        self._names: list[Hashable] = []
        self._memo: dict[tuple[Hashable, int, int], int] = {}
        self._sums: dict[Hashable, int] = {}
        self._taken: dict[int, tuple[Any, ...]] = {}
        self.zero = self.terminal(0)
        self.one = self.terminal(1)

    # ---- making ----

    def terminal(self, value: Any) -> int:
        """The constant function."""
        number = self._terminals.get(value)
        if number is None:
            number = self._terminals[value] = self._new(TERMINAL, (), value)
        return number

    def variable(self, name: Hashable, values: Sequence[Any] = (0, 1)) -> int:
        """A variable with as many branches as values; branch k has value k."""
        level = self._variables.get(name)
        if level is None:
            level = self._variables[name] = len(self._names)
            self._names.append(name)
        return self._node(level, tuple(self.terminal(value) for value in values))

    def _new(self, level: int, children: tuple[int, ...], value: Any) -> int:
        if level != TERMINAL and len(self._nodes) >= LIMIT:
            raise TooLarge
        self._levels.append(level)
        self._children.append(children)
        self._values.append(value)
        return len(self._levels) - 1

    def _node(self, level: int, children: tuple[int, ...]) -> int:
        if all(child == children[0] for child in children):
            return children[0]
        key = (level, children)
        number = self._nodes.get(key)
        if number is None:
            number = self._nodes[key] = self._new(level, children, None)
        return number

    # ---- combining ----

    def apply(self, name: Hashable, function: Callable[[Any, Any], Any], left: int, right: int) -> int:
        """`function` of two diagrams' values; `name` stands for the function and must mean nothing else."""
        key = (name, left, right)
        known = self._memo.get(key)
        if known is not None:
            return known
        first, second = self._levels[left], self._levels[right]
        level = min(first, second)
        if level == TERMINAL:
            result = self.terminal(function(self._values[left], self._values[right]))
        else:
            lefts, rights = self._children[left], self._children[right]
            size = len(lefts) if first == level else len(rights)
            result = self._node(
                level,
                tuple(
                    self.apply(
                        name,
                        function,
                        lefts[branch] if first == level else left,
                        rights[branch] if second == level else right,
                    )
                    for branch in range(size)
                ),
            )
        self._memo[key] = result
        return result

    def map(self, name: Hashable, function: Callable[[Any], Any], diagram: int) -> int:
        """`function` of a diagram's values."""
        return self.apply(name, lambda value, _: function(value), diagram, self.zero)

    def linear(self, terms: Iterable[tuple[Rational, int]], constant: Rational = 0) -> int:
        """The sum of coefficient times diagram, plus a constant."""
        total = plain(constant)
        open_terms: list[tuple[Rational, int]] = []
        for coefficient, diagram in terms:
            if self._levels[diagram] == TERMINAL:
                total += coefficient * self._values[diagram]
            else:
                open_terms.append((coefficient, diagram))
        if not open_terms:
            return self.terminal(plain(total))
        key = (tuple(open_terms), total)
        known = self._sums.get(key)
        if known is None:
            known = self.terminal(plain(total))
            # The last variables first, so that the diagrams on the way stay small.
            for coefficient, diagram in sorted(open_terms, key=lambda term: -self._levels[term[1]]):
                known = self.apply(("add", coefficient), _adder(coefficient), known, diagram)
            self._sums[key] = known
        return known

    def join(self, diagrams: Sequence[int]) -> int:
        """The tuple of the diagrams' values."""
        result = self.terminal(())
        for diagram in diagrams:
            result = self.apply("join", lambda values, value: (*values, value), result, diagram)
        return result

    # ---- asking ----

    def constant(self, diagram: int) -> bool:
        """Whether a diagram has one value."""
        return self._levels[diagram] == TERMINAL

    def value(self, diagram: int) -> Any:
        """The value of a constant diagram."""
        return self._values[diagram]

    def values(self, diagram: int) -> tuple[Any, ...]:
        """All values that a diagram takes, each once."""
        known = self._taken.get(diagram)
        if known is None:
            seen, waiting, found = {diagram}, [diagram], []
            while waiting:
                last = waiting.pop()
                if self._levels[last] == TERMINAL:
                    found.append(self._values[last])
                for child in self._children[last]:
                    if child not in seen:
                        seen.add(child)
                        waiting.append(child)
            known = self._taken[diagram] = tuple(found)
        return known

    def example(self, diagram: int, value: Any) -> dict[Hashable, int]:
        """The branches of an assignment that gives a diagram this value (variables left out may have any)."""
        path: dict[Hashable, int] = {}
        goal = self._terminals[value]
        while self._levels[diagram] != TERMINAL:
            for branch, child in enumerate(self._children[diagram]):
                if child == goal or value in self.values(child):
                    path[self._names[self._levels[diagram]]] = branch
                    diagram = child
                    break
        return path


def _adder(coefficient: Rational) -> Callable[[Any, Any], Any]:
    if coefficient == 1:
        return lambda total, value: plain(total + value)
    return lambda total, value: plain(total + coefficient * value)


def clip(value: Rational) -> Rational:
    """`min(max(value, 0), 1)`."""
    return 0 if value <= 0 else 1 if value >= 1 else value
