"""Meanings of formulas, terms and conditions, as numbers: equal numbers have equal meanings.

A formula in Rocq and one in hardsim's syntax become numbers in one table. An operator is a node with its operands.
Integers are polynomials, so that `a < b` and `a + 1 <= b` are one comparison: `b - a - 1 >= 0`. Polynomials with
equal coefficients have equal values, and over the integers `not p >= 0` is `-p - 1 >= 0`; nothing else is simplified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

MOST_TERMS = 2000
"""Most terms of a product of polynomials."""
MOST_SHOWN = 160
"""Most characters of a formula in a message."""
_DEEPEST = 6

Monomial: TypeAlias = tuple[int, ...]
"""The numbers of the factors in order; () is the constant 1."""


class NotStated(Exception):
    """No instance can state this; the message says what."""


class Meanings:
    """A table of meanings. Methods return the numbers of nodes: `op`, plain values, and the numbers of operands."""

    def __init__(self) -> None:
        """Begin with an empty table."""
        self.nodes: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = []
        self._numbers: dict[tuple[str, tuple[Any, ...], tuple[int, ...]], int] = {}

    def node(self, op: str, *parts: int, values: tuple[Any, ...] = ()) -> int:
        """Return the number of a node."""
        key = op, values, parts
        number = self._numbers.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(key)
        return number

    # ---- integers ----

    def polynomial(self, terms: Mapping[Monomial, int]) -> int:
        """Return the number of the polynomial with these coefficients."""
        kept = sorted((one, value) for one, value in terms.items() if value)
        atoms = sorted({atom for one, _ in kept for atom in one})
        place = {atom: k for k, atom in enumerate(atoms)}
        values = tuple((tuple(place[atom] for atom in one), value) for one, value in kept)
        return self.node("sum", *atoms, values=values)

    def terms(self, number: int) -> dict[Monomial, int]:
        """Return the coefficients of a polynomial."""
        _, values, atoms = self.nodes[number]
        return {tuple(atoms[k] for k in places): value for places, value in values}

    def constant(self, value: int) -> int:
        """Return a constant polynomial."""
        return self.polynomial({(): value})

    def value(self, op: str, *parts: int, values: tuple[Any, ...] = ()) -> int:
        """Return the polynomial of a single node: a variable, a count, a quotient or a remainder."""
        return self.polynomial({(self.node(op, *parts, values=values),): 1})

    def combine(self, one: int, factor: int, other: int) -> int:
        """Return one + factor * other."""
        found = self.terms(one)
        for monomial, value in self.terms(other).items():
            found[monomial] = found.get(monomial, 0) + factor * value
        return self.polynomial(found)

    def product(self, one: int, other: int) -> int:
        """Return the product of two polynomials. Raises NotStated if it has too many terms."""
        left, right = self.terms(one), self.terms(other)
        if len(left) * len(right) > MOST_TERMS:
            raise NotStated(f"a product of more than {MOST_TERMS:,} terms")
        found: dict[Monomial, int] = {}
        for a, x in left.items():
            for b, y in right.items():
                monomial = tuple(sorted(a + b))
                found[monomial] = found.get(monomial, 0) + x * y
        return self.polynomial(found)

    # ---- truth values ----

    def at_least(self, one: int, other: int) -> int:
        """Return the comparison one >= other of two polynomials."""
        return self.node(">= 0", self.combine(one, -1, other))

    def equal(self, one: int, other: int) -> int:
        """Return the equation of two polynomials; that of their negatives is the same."""
        found = self.terms(self.combine(one, -1, other))
        leading = next((value for _, value in sorted(found.items(), reverse=True)), 1)
        return self.node(
            "= 0", self.polynomial(found if leading > 0 else {key: -value for key, value in found.items()})
        )

    def negation(self, number: int) -> int:
        """Return the negation of a formula or condition."""
        op, _, parts = self.nodes[number]
        if op == ">= 0":  # p < 0 is -p - 1 >= 0
            return self.at_least(self.constant(-1), parts[0])
        return self.node("!", number)

    def truth(self, value: bool) -> int:
        """Return a constant truth value."""
        return self.node("truth", values=(value,))

    def predicate(self, name: str, params: Sequence[int], argument: int) -> int | None:
        """Return the condition that a built-in predicate holds for an integer; None if no predicate has this name."""
        if name in ("EVEN", "ODD"):
            name, params = "MOD", (2, int(name == "ODD"))
        if name == "MOD":
            modulus, residue = params
            return self.equal(self.value("mod", argument, self.constant(modulus)), self.constant(residue))
        return self.node(name, argument) if name in ("PRIME", "SQUARE", "POW2") else None

    # ---- differences ----

    def difference(self, one: int, other: int) -> tuple[int, int]:
        """Return the deepest first operands in which two meanings differ: the same operators lead to both."""
        while True:
            (op, values, parts), (op_there, values_there, parts_there) = self.nodes[one], self.nodes[other]
            pairs = [pair for pair in zip(parts, parts_there, strict=False) if pair[0] != pair[1]]
            if op != op_there or values != values_there or len(parts) != len(parts_there) or not pairs:
                return one, other
            one, other = pairs[0]

    def text(self, number: int, names: Sequence[str]) -> str:
        """Return a meaning for a message; `names` are those of the atoms."""
        found = self._text(number, names, _DEEPEST)
        return found if len(found) <= MOST_SHOWN else f"{found[:MOST_SHOWN]}..."

    def _text(self, number: int, names: Sequence[str], depth: int) -> str:
        op, values, parts = self.nodes[number]
        if depth == 0:
            return "..."
        if op == "atom":
            return names[values[0]] if values[0] < len(names) else f"atom {values[0]}"
        if op == "truth":
            return "true" if values[0] else "false"
        inner = [self._text(part, names, depth - 1) for part in parts]
        if op == "sum":
            return " + ".join(_product(value, [inner[k] for k in places]) for places, value in values) or "0"
        if op == "count":
            return f"#{values[0]}[{inner[0]}]"
        if op in (">= 0", "= 0"):
            return f"{inner[0]} {op}"
        if op == "at":
            return f"({inner[0]}, x = {inner[1]})"
        return f"({inner[0]} {op} {inner[1]})" if len(inner) == 2 else f"{op} {inner[0]}" if inner else op


def _product(value: int, factors: list[str]) -> str:
    number = str(value) if value.bit_length() < 200 else "..."
    return "*".join(([number] if value != 1 or not factors else []) + factors)
