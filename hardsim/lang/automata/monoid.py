"""Monoids of functions on the states of an automaton, and the strongly connected components of a graph.

An element of a monoid is the function of states that a word computes, stored as the row of its values: entry s is the
state that the word leads to from state s. The product `x y` reads x first. Elements are found breadth-first, so that
the word known for each is as short as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Functions: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Functions of states, one in each row, shape (functions, states)."""

MAX_ELEMENTS = 1_000_000
"""Greatest number of elements of a monoid."""
MAX_BYTES = 2**27
"""Greatest number of bytes of the rows of all elements of a monoid; they are stored twice."""
BATCH = 2**22
"""Greatest number of entries of the products that are computed at once."""


class TooManyElements(Exception):
    """A monoid has more elements than allowed; the message states the limit."""


class Monoid:
    """The monoid that some functions of states generate, with its multiplication by generators. Every call of `grow`
    adds the elements of the next length; the monoid is complete when it returns an empty range."""

    def __init__(self, generators: Functions, most: int = MAX_ELEMENTS) -> None:
        """Begin with the identity. `generators` has a row for each letter; `most` bounds the number of elements."""
        self.generators = generators
        self.limit = min(most, MAX_BYTES // max(1, generators.shape[1] * generators.itemsize))
        identity = np.arange(generators.shape[1], dtype=generators.dtype)
        self.rows = [identity[np.newaxis]]
        """The elements of each length."""
        self.right: list[NDArray[np.int32]] = []
        """For the elements of each length, the number of the product with each generator, shape (elements, letters)."""
        self.steps = [(-1, -1)]
        """For each element, the element and the letter whose product it was found as."""
        self.lengths = [0]
        """The length of the shortest word of each element."""
        self._numbers = {identity.tobytes(): 0}

    def __len__(self) -> int:
        return len(self.steps)

    def grow(self) -> range:
        """Add the elements whose shortest words are one symbol longer, and return their numbers. Raises
        TooManyElements if there are more than the limit."""
        before, begin = len(self) - len(self.rows[-1]), len(self)
        letters, states = self.generators.shape
        found: list[bytes] = []
        size = max(1, BATCH // max(1, letters * states))
        right = np.empty((len(self.rows[-1]), letters), dtype=np.int32)
        for start in range(0, len(self.rows[-1]), size):
            part = self.rows[-1][start : start + size]
            for letter, generator in enumerate(self.generators):
                right[start : start + size, letter] = self._numbered(generator[part], before + start, letter, found)
        self.right.append(right)
        self.rows.append(np.frombuffer(b"".join(found), dtype=self.generators.dtype).reshape(len(found), states))
        self.lengths += [len(self.rows) - 1] * len(found)
        return range(begin, len(self))

    def _numbered(self, products: Functions, first: int, letter: int, found: list[bytes]) -> list[int]:
        """Return the numbers of products of consecutive elements with a letter, and note those that are new."""
        numbers, steps, result = self._numbers, self.steps, list[int]()
        row_of = np.dtype((np.void, products.shape[1] * products.itemsize))
        contents: list[Any] = np.ascontiguousarray(products).view(row_of).ravel().tolist()  # one `bytes` for each row
        for element, row in enumerate(contents, first):
            number = numbers.setdefault(row, len(steps))
            if number == len(steps):
                if number >= self.limit:
                    raise TooManyElements(f"there are more than {self.limit:,} elements")
                steps.append((element, letter))
                found.append(row)
            result.append(number)
        return result

    def complete(self) -> None:
        """Add all elements. Raises TooManyElements if there are more than the limit."""
        while self.grow():
            pass

    def word(self, element: int) -> list[int]:
        """Return the letters of a shortest word of an element."""
        letters = []
        while element:
            element, letter = self.steps[element]
            letters.append(letter)
        return letters[::-1]

    def uncounted(self) -> list[int]:
        """Return elements of a complete monoid that lie in groups of the functions of all words of one length.

        The list is empty if and only if, for some s, the words whose length is a multiple of s compute no nontrivial
        group. Let e be an idempotent and P the greatest common divisor of the lengths of cycles in its R-class, a
        component of the graph of multiplications by generators. Words of e have lengths that are multiples of P, and
        all large multiples occur. All words of an element x of the group of e have the same length modulo P, because
        they all lead from e to x. So e and x have words of one length if and only if P divides the length of a word
        of x. The same congruence gives P as the greatest common divisor of `length(x) + 1 - length(y)` over the edges
        from x to y in the component.
        """
        elements, right, lengths = np.concatenate(self.rows), np.concatenate(self.right), np.array(self.lengths)
        component = np.array(components(right.tolist()))
        inner = component[right] == component[:, np.newaxis]
        excess = np.where(inner, lengths[:, np.newaxis] + 1 - lengths[right], 0)
        periods = np.zeros(component.max() + 1, dtype=np.int64)
        np.gcd.at(periods, component, np.gcd.reduce(excess, axis=1))
        found = []
        for number in np.flatnonzero(~_idempotent(elements)).tolist():
            row, period = elements[number], int(periods[component[number]])
            if period and not lengths[number] % period and len(np.unique(row)) == len(np.unique(row[row])):
                found.append(number)
        return found


def _idempotent(elements: Functions) -> NDArray[np.bool_]:
    """Tell for each function f whether f f = f."""
    result = np.empty(len(elements), dtype=np.bool_)
    for part in batches(elements):
        result[part] = (np.take_along_axis(elements[part], elements[part], axis=1) == elements[part]).all(axis=1)
    return result


def periodic(elements: Functions) -> NDArray[np.bool_]:
    """Tell for each function of states whether its powers do not become constant: it moves some states in a cycle."""
    result = np.empty(len(elements), dtype=np.bool_)
    for part in batches(elements):
        once = power = elements[part]
        for _ in range(elements.shape[1].bit_length()):  # after as many steps as there are states, only cycles are left
            power = np.take_along_axis(power, power, axis=1)
        result[part] = (np.take_along_axis(once, power, axis=1) != power).any(axis=1)
    return result


def batches(elements: Functions) -> list[slice]:
    """Divide rows into consecutive parts of at most BATCH entries."""
    size = max(1, BATCH // max(1, elements.shape[1]))
    return [slice(start, start + size) for start in range(0, len(elements), size)]


def smallest_type(states: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned integer type that can number this many states."""
    return np.uint8 if states <= 2**8 else np.uint16 if states <= 2**16 else np.uint32


def components(after: Sequence[Sequence[int]]) -> list[int]:
    """Return the strongly connected component of each node of a graph, given the successors of each. A component has a
    greater number than all components that it leads to. Tarjan, Depth-first search and linear graph algorithms
    (1972), without recursion."""
    count, found = 0, 0
    order, low, component = [0] * len(after), [0] * len(after), [-1] * len(after)
    stack: list[int] = []
    for root in range(len(after)):
        waiting = [] if order[root] else [(root, iter(after[root]))]
        while waiting:
            node, rest = waiting[-1]
            if not order[node]:
                count += 1
                order[node] = low[node] = count
                stack.append(node)
            for target in rest:
                if not order[target]:
                    waiting.append((target, iter(after[target])))
                    break
                if component[target] < 0:
                    low[node] = min(low[node], low[target])
            else:
                waiting.pop()
                if waiting:
                    low[waiting[-1][0]] = min(low[waiting[-1][0]], low[node])
                if low[node] == order[node]:
                    while component[node] < 0:
                        component[stack.pop()] = found
                    found += 1
    return component
