"""Decision diagrams: functions of a symbol, and of truth values at a position, to any values.

A diagram is an integer, the number of a node. Equal diagrams are one node, so that equality costs nothing (Bryant,
Graph-based algorithms for Boolean function manipulation, 1986; with several children a node, and with leaves of any
value, as in MONA: Henriksen et al., Mona: Monadic second-order logic in practice, 1995). Variables are integers, tested
from the least to the greatest. A negative variable is a truth value; the others are the digits of a symbol (see
`letters`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final

LEAF: Final = 1 << 62
"""The variable of leaves, after all others."""
MOST_STEPS: Final = 1_000_000
"""Greatest number of nodes that are combined for one automaton: about ten seconds, and at most 1 GB."""


class TooManySteps(Exception):
    """More nodes would have to be combined than a table of diagrams allows."""


class DecisionDiagrams:
    """A table of diagrams. `sizes` has the number of values of each digit; a truth value has the values 0 and 1.
    At most `most` nodes are combined."""

    def __init__(self, sizes: Sequence[int], most: int = MOST_STEPS) -> None:
        self.sizes, self.most = tuple(sizes), most
        self.variables: list[int] = []
        self.contents: list[Any] = []
        """The value of each leaf; of other nodes, the tuple of the children, one for each value of the variable."""
        self._numbers: dict[tuple[int, Any, type], int] = {}
        self._steps = 0

    def leaf(self, value: Hashable) -> int:
        """Return the diagram of a constant function."""
        # True and 1 are equal in Python, and different values here.
        return self._numbered(LEAF, value, type(value))

    def node(self, variable: int, children: tuple[int, ...]) -> int:
        """Return the diagram that tests a variable first, with a child for each of its values. All variables of the
        children must come later."""
        first = children[0]
        return first if all(child == first for child in children) else self._numbered(variable, children)

    def truth(self, variable: int) -> int:
        """Return the diagram of the value of a variable with two values."""
        return self.node(variable, (self.leaf(False), self.leaf(True)))

    def _numbered(self, variable: int, content: Any, kind: type = tuple) -> int:
        number = self._numbers.setdefault((variable, content, kind), len(self.variables))
        if number == len(self.variables):
            self.variables.append(variable)
            self.contents.append(content)
        return number

    def children(self, diagram: int, variable: int) -> tuple[int, ...]:
        """Return the diagrams for each value of a variable that no variable of the diagram precedes."""
        if self.variables[diagram] == variable:
            found: tuple[int, ...] = self.contents[diagram]
            return found
        return (diagram,) * (2 if variable < 0 else self.sizes[variable])

    def combined(
        self, function: Callable[..., Hashable], *operands: int, memo: dict[tuple[int, ...], int] | None = None
    ) -> int:
        """Return the diagram of a function of the values of some diagrams. Calls with one `memo` share their work; they
        must have the same function."""
        memo = {} if memo is None else memo
        waiting, known = [operands], len(memo)
        while waiting:
            parts = waiting[-1]
            if parts in memo:
                waiting.pop()
                continue
            variable = min(self.variables[part] for part in parts)
            if variable == LEAF:
                memo[parts] = self.leaf(function(*(self.contents[part] for part in parts)))
                waiting.pop()
                continue
            below = list(zip(*(self.children(part, variable) for part in parts), strict=True))
            missing = [some for some in dict.fromkeys(below) if some not in memo]
            if missing:
                waiting += missing
                continue
            memo[parts] = self.node(variable, tuple(memo[some] for some in below))
            waiting.pop()
        self._steps += len(memo) - known
        if self._steps > self.most:
            raise TooManySteps
        return memo[operands]

    def values(self, diagram: int) -> Iterator[Any]:
        """Yield the values of a diagram, each once, in an order that depends on the diagram alone."""
        seen, waiting = {diagram}, [diagram]
        while waiting:
            one = waiting.pop()
            if self.variables[one] == LEAF:
                yield self.contents[one]
                continue
            for child in reversed(self.contents[one]):
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        self._steps += len(seen) // 8  # a visit costs about an eighth of a combination

    def value(self, diagram: int, digits: Sequence[int]) -> Any:
        """Return the value of a diagram without truth values at the digits of a symbol."""
        while (variable := self.variables[diagram]) != LEAF:
            diagram = self.contents[diagram][digits[variable]]
        return self.contents[diagram]
