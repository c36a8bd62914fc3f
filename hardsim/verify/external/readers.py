"""Readers of the columns of a specification: what is true of a prefix, computed from its symbols from left to right.

A column is the language of an automaton, or a formula as a table of nodes (`hardsim.verify.sections`). What a column
says after a prefix must depend on the prefix alone. So a formula that is read within words (`ending` false) has only
operators that look back. A formula that is read at the end of a word sees the prefix as the whole word: at its last
position X is false, `l U r` is r, a count from there on counts that position alone, and a count over the word counts
what was read; operators inside of others are evaluated at every position, and must look back.

The state of a formula's reader holds, for each operator that needs it, the last value of its operand (Y) or of itself
(S), or a sum of counts. A sum stops growing where it cannot change a comparison any more, and is reduced where only its
remainder matters, so that many formulas have finitely many states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import lcm
from typing import Any, Protocol

from hardsim.verify.arithmetic import require
from hardsim.verify.expressions import Expression, Tree, evaluate, expression
from hardsim.verify.sections import Lit


class PrefixReader(Protocol):
    """A machine that reads a word from left to right and knows what is true of the prefix."""

    first: Any
    """The state before the first symbol."""
    cost: int
    """The number of steps, of about a microsecond, for one symbol."""
    size: int
    """The number of values in a state."""

    def step(self, state: Any, symbol: int) -> Any:
        """Return the state after one more symbol, given by its number in the alphabet of the network."""
        ...

    def truth(self, state: Any) -> bool:
        """Return what is true of the prefix, which is not empty."""
        ...


class AutomatonTruth:
    """The truth of "the prefix is in the language of an automaton". Words begin in state 0. The constructor raises
    Rejected unless the automaton is complete and knows all symbols."""

    first, cost, size = 0, 1, 1

    def __init__(self, data: dict[str, Any], symbols: Sequence[str], place: str) -> None:
        names, moves = data["symbols"], data["moves"]
        numbers = {name: number for number, name in enumerate(names)}
        require(len(numbers) == len(names), f"{place}.symbols: symbols must differ")
        require(numbers.keys() >= {*symbols}, f"{place}.symbols: a symbol of the network is missing")
        require(moves, f"{place}.moves: an automaton has a state")
        for number, row in enumerate(moves):
            fine = len(row) == len(names) and all(0 <= target < len(moves) for target in row)
            require(fine, f"{place}.moves[{number}]: this should be a state for each symbol")
        self.accepting = {*data["accepting"]}
        require(
            all(0 <= one < len(moves) for one in self.accepting),
            f"{place}.accepting: these are no states",
        )
        self.names: list[str] = names
        self.whole: list[list[int]] = moves
        """The next state by state and symbol of the automaton."""
        places = [numbers[symbol] for symbol in symbols]
        self.moves: list[list[int]] = [[row[one] for one in places] for row in moves]

    def step(self, state: int, symbol: int) -> int:
        """Return the state after one more symbol."""
        return self.moves[state][symbol]

    def truth(self, state: int) -> bool:
        """Return whether the prefix is in the language."""
        return state in self.accepting

    def followers(self) -> list[list[str] | None]:
        """Return by state the symbols that may come next in a word of the language; None where no word can be
        completed."""
        sources: list[set[int]] = [set() for _ in self.whole]
        for state, row in enumerate(self.whole):
            for target in row:
                sources[target].add(state)
        live, left = {*self.accepting}, [*self.accepting]
        while left:
            new = sources[left.pop()] - live
            live |= new
            left += new
        return [
            [name for name, target in zip(self.names, row, strict=True) if target in live] if state in live else None
            for state, row in enumerate(self.whole)
        ]


class FormulaReader:
    """The truth of a formula after each prefix. The constructor raises Rejected if that depends on more than the
    prefix. A state is the values that are remembered, the sums, and the truth after the last symbol. `spend` is called
    with the steps done for large numbers."""

    def __init__(
        self, data: dict[str, Any], symbols: Sequence[str], ending: bool, place: str, spend: Callable[[int], None]
    ) -> None:
        self.spend, self.place, self.symbols, self.nodes = spend, place, symbols, data["nodes"]
        alphabet = {*data["alphabet"]}
        require(len(alphabet) == len(data["alphabet"]), f"{place}.alphabet: symbols must differ")
        require(alphabet >= {*symbols}, f"{place}.alphabet: a symbol of the network is missing")
        self.lits: list[list[Lit]] = []
        self.letters: list[frozenset[str]] = []
        self.conditions: dict[int, Expression] = {}
        for number, node in enumerate(self.nodes):
            self._read(number, node, alphabet)
        self.root = self._lit(data["root"], len(self.nodes))
        self._divide(ending)
        self.memories = [k for k in self.inner if self.nodes[k][0] in ("Y", "S")]
        self.limits = [self._limits(k, end) for k, end in self.sums]
        sizes = [4 * self.conditions[k].size for k, _ in self.sums if k in self.conditions]
        self.cost = 1 + sum(1 + len(self.lits[k]) for k in (*self.inner, *self.ends)) + sum(sizes)
        self.size = 1 + len(self.memories) + len(self.sums)
        self.first: Any = ((False,) * len(self.memories), (0,) * len(self.sums), False)

    def _lit(self, data: list[Any], below: int) -> Lit:
        number, negated = data
        require(0 <= number < below, f"{self.place}: {number} is not the number of one of the first {below} nodes")
        return number, negated

    def _read(self, number: int, node: list[Any], alphabet: set[str]) -> None:
        """Read one node. Operands stand before it, so there are no circles."""
        op, lits, *rest = node
        here = f"{self.place}.nodes[{number}]"
        require(op not in ("true", "holds"), f"{here}: there are no propositions")
        self.lits.append([self._lit(lit, number) for lit in lits])
        self.letters.append(frozenset(rest if op == "letters" else ()))
        fine = op != "letters" or (self.letters[-1] <= alphabet and len(self.letters[-1]) == len(rest))
        require(fine, f"{here}: symbols must be of the alphabet, and differ")
        if op == "predicate":
            self.conditions[number] = expression(rest[0], "x")
            require(self.conditions[number].truth, f"{here}: the predicate is a number, not a truth value")

    def _divide(self, ending: bool) -> None:
        """Find the nodes that are needed at every position (`inner`) and at the last one (`ends`), in an order in which
        operands come first, and the sums of counts: the number of the node, and True if its value is asked at the last
        position alone, so that it may count positions on any side."""
        inner, ends, self.sums = set[int](), set[int](), list[tuple[int, bool]]()
        (ends if ending else inner).add(self.root[0])
        for k in range(len(self.nodes) - 1, -1, -1):
            op, operands = self.nodes[k][0], [number for number, _ in self.lits[k]]
            counts = op in ("at least", "predicate")
            back = all(side == "L" for _, side in self.nodes[k][-2]) if counts else op in ("Y", "S", "letters")
            if k in ends:
                if back:
                    inner.add(k)
                elif counts:
                    inner.update(operands)
                    self.sums.append((k, True))
                elif op in ("and", "xor", "U"):  # of `l U r` the value of r
                    ends.update(operands[1:] if op == "U" else operands)
            if k in inner:
                why = f"{self.place}.nodes[{k}]: its truth within the prefix depends on what follows"
                require(back or op in ("and", "xor"), why)
                inner.update(operands)
                self.sums += [(k, False)] if counts else []
        self.inner, self.ends = sorted(inner), sorted(ends)

    def _limits(self, number: int, end: bool) -> tuple[int | None, int | None, int]:
        """Return the least and the greatest value that a sum needs to be known to, and the number modulo which it
        needs to be known, 0 if that is not enough."""
        node = self.nodes[number]
        if node[0] == "predicate":
            return None, None, period(self.conditions[number].tree)
        factors, constant = [factor for factor, _ in node[-2]], node[-1]
        if end:
            return None, None, 0
        # All steps have one sign, so a sum that has passed 0 stays there.
        least = min(0, -constant - 1) if all(factor <= 0 for factor in factors) else None
        most = max(0, -constant) if all(factor >= 0 for factor in factors) else None
        return least, most, 0

    def step(self, state: Any, symbol: int) -> Any:
        """Return the state after one more symbol."""
        memory, name = dict(zip(self.memories, state[0], strict=True)), self.symbols[symbol]
        sums, values = dict(zip(self.sums, state[1], strict=True)), dict[int, bool]()
        kept: list[bool] = []
        for k in self.inner:
            op, found = self.nodes[k][0], [values[number] != negated for number, negated in self.lits[k]]
            if op == "letters":
                values[k] = name in self.letters[k]
            elif op == "Y":
                values[k] = memory[k]
                kept.append(found[0])
            elif op == "S":
                values[k] = found[1] or (found[0] and memory[k])
                kept.append(values[k])
            elif op in ("and", "xor"):
                values[k] = all(found) if op == "and" else found[0] != found[1]
            else:
                sums[k, False] += self._added(k, found, "L")
                values[k] = self._holds(k, sums[k, False])
        lasts = dict[int, bool]()
        for k in self.ends:
            lasts[k] = self._last(k, values, lasts, sums)
        number, negated = self.root
        truth = (lasts if self.ends else values)[number] != negated
        bounded = tuple(_bounded(sums[key], limits) for key, limits in zip(self.sums, self.limits, strict=True))
        return tuple(kept), bounded, truth

    def _last(self, k: int, values: dict[int, bool], lasts: dict[int, bool], sums: dict[Any, int]) -> bool:
        """Return the value of a node at the last position, and add to its sum."""
        op = self.nodes[k][0]
        if k in values:
            return values[k]
        if (k, True) in sums:
            found = [values[number] != negated for number, negated in self.lits[k]]
            sums[k, True] += self._added(k, found, "L", "")
            return self._holds(k, sums[k, True] + self._added(k, found, "R"))
        if op == "X":
            return False
        here = [lasts[number] != negated for number, negated in self.lits[k] if number in lasts]
        return here[-1] if op == "U" else all(here) if op == "and" else here[0] != here[1]

    def _added(self, k: int, found: Sequence[bool], *sides: str) -> int:
        """Return what a position adds to the counts on some sides."""
        return sum(
            factor for (factor, side), true in zip(self.nodes[k][-2], found, strict=True) if true and side in sides
        )

    def _holds(self, k: int, total: int) -> bool:
        argument = total + self.nodes[k][-1]
        return bool(evaluate(self.conditions[k], self.spend, x=argument)) if k in self.conditions else argument >= 0

    def truth(self, state: Any) -> bool:
        """Return the truth after the last symbol."""
        return bool(state[2])


def _bounded(total: int, limits: tuple[int | None, int | None, int]) -> int:
    """Return what has to be known of a sum."""
    least, most, modulus = limits
    if modulus:
        return total % modulus
    total = total if least is None else max(total, least)
    return total if most is None else min(total, most)


def period(tree: Tree) -> int:
    """Return a number m > 0 such that the value of an expression for an integer x depends on x modulo m alone, or 0 if
    none is known. That is so for a remainder of a linear expression, and for what is computed from such remainders."""
    if isinstance(tree, int):
        return 1
    if isinstance(tree, str):
        return 0
    op, *parts = tree
    if op != "chain":
        return _together(map(period, parts))
    found, degree = period(parts[0]), _degree(parts[0])
    for operator, operand in parts[1:]:
        if operator == "%" and degree <= 1 and type(operand) is int and operand > 0:
            found = operand
        else:
            found = _together((found, period(operand)))
        degree = _joined(operator, degree, _degree(operand))
    return found


def _together(periods: Iterable[int]) -> int:
    """Return a period of what has parts with these periods."""
    found = [*periods]
    most = lcm(*found) if all(found) else 0
    return most if most < 2**30 else 0


def _degree(tree: Tree) -> int:
    """Return 0 or 1 for a polynomial in x with integer coefficients of at most that degree, and more for anything
    else."""
    if isinstance(tree, int | str):
        return int(isinstance(tree, str))
    op, *parts = tree
    if op != "chain":
        return _degree(parts[0]) if op == "-" else 2
    found = _degree(parts[0])
    for operator, operand in parts[1:]:
        found = _joined(operator, found, _degree(operand))
    return found


def _joined(operator: str, left: int, right: int) -> int:
    if operator in ("+", "-"):
        return max(left, right)
    return left + right if operator == "*" else 2
