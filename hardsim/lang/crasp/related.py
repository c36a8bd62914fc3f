"""A predicate of i and j by its parts, for what can be told of it at every distance from j to i.

Positions are from 0. An *atom* is a comparison of both arguments: of the distance `d = i - j` (`c*d + k` with 0, c and
k integers), or of both modulo constants; or any condition of i alone or of j alone, so that `and` guards what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from math import lcm
from operator import add, sub

from hardsim.lang.arith import (
    COMPARISONS,
    Complement,
    Constant,
    Expression,
    Indicator,
    Negation,
    Operation,
    Variable,
)
from hardsim.lang.predicate import OwnPredicate


@dataclass(frozen=True)
class Part:
    """A constant, an argument (`value` is its index: 0 for i, 1 for j), a truth value, or an operator above others."""

    op: str
    args: tuple[Part, ...] = ()
    value: int = 0

    @property
    def reads(self) -> frozenset[int]:
        """The arguments in it."""
        return frozenset({self.value} if self.op == "argument" else ()).union(*(part.reads for part in self.args))

    @property
    def constant(self) -> int | None:
        """Its value if it is linear and reads nothing."""
        form = linear(self)
        return form[2] if form and form[:2] == (0, 0) else None


TRUE, FALSE = Part("truth", value=1), Part("truth")


def tree_of(predicate: OwnPredicate) -> Part:
    """The tree of a condition."""
    return _tree(predicate.condition, predicate.definition.params)


def _tree(tree: Expression, params: tuple[str, ...]) -> Part:
    match tree:
        case Constant(value):
            return Part("constant", value=value)
        case Variable(name):
            return Part("argument", value=params.index(name))
        case Negation(arg):
            return Part("negate", (_tree(arg, params),))
        case Complement(arg):
            return Part("not", (_tree(arg, params),))
        case Indicator():
            raise TypeError("a condition has no [ ]")
        case Operation(op, left, right):
            return Part(op, (_tree(left, params), _tree(right, params)))


def _atomic(part: Part) -> bool:
    return part.op in COMPARISONS or len(part.reads) < 2


def atoms(part: Part) -> Iterator[Part]:
    """The largest parts that are atoms."""
    if _atomic(part):
        yield part
    else:
        for one in part.args:
            yield from atoms(one)


def rebuilt(part: Part, change: Callable[[Part], Part]) -> Part:
    """The tree with other atoms; what a truth value decides is left out."""
    if _atomic(part):
        return change(part)
    args = [rebuilt(one, change) for one in part.args]
    match part.op:
        case "not":
            return {TRUE: FALSE, FALSE: TRUE}.get(args[0], Part("not", tuple(args)))
        case "and" | "or":
            neutral, deciding = (TRUE, FALSE) if part.op == "and" else (FALSE, TRUE)
            kept = [one for one in args if one != neutral]
            if deciding in kept:
                return deciding
            return reduce(lambda left, right: Part(part.op, (left, right)), kept) if kept else neutral
        case _:
            return part


def decided(part: Part, atom: Part, value: bool) -> Part:
    """The tree where an atom has a value."""
    return rebuilt(part, lambda one: (TRUE if value else FALSE) if one == atom else one)


def linear(part: Part) -> tuple[int, int, int] | None:
    """The coefficients of i and j, and the constant; None if it is not linear."""
    if part.op == "constant":
        return 0, 0, part.value
    if part.op == "argument":
        return (0, 1, 0) if part.value else (1, 0, 0)
    forms = [form for form in map(linear, part.args) if form]
    if len(forms) < len(part.args) or part.op not in ("+", "-", "*", "negate"):
        return None
    if part.op == "negate":
        return _scaled(forms[0], -1)
    left, right = forms
    if part.op == "*":
        number, other = (left, right) if left[:2] == (0, 0) else (right, left)
        return _scaled(other, number[2]) if number[:2] == (0, 0) else None
    a, b, c = map(add if part.op == "+" else sub, left, right)
    return a, b, c


def _scaled(form: tuple[int, int, int], by: int) -> tuple[int, int, int]:
    return by * form[0], by * form[1], by * form[2]


def distance(atom: Part) -> tuple[int, int] | None:
    """The c and k with which an atom compares c*(i - j) + k with 0; None if it compares something else."""
    form = linear(Part("-", atom.args)) if atom.op in COMPARISONS else None
    return (form[0], form[2]) if form and form[0] == -form[1] != 0 else None


def settles(part: Part) -> int:
    """A distance from which on every atom that compares distances is what it is for ever."""
    forms = filter(None, map(distance, atoms(part)))
    return max((abs(k) // abs(c) + 1 for c, k in forms), default=0)


def at_distance(part: Part, d: int) -> Part:
    """What remains of it at j = i - d."""

    def change(atom: Part) -> Part:
        form = distance(atom)
        if form is None:
            return atom
        return TRUE if COMPARISONS[atom.op](form[0] * d + form[1], 0) else FALSE

    return rebuilt(part, change)


def period(part: Part) -> int | None:
    """An m such that i mod m in place of i changes nothing; None if none is seen."""
    if 0 not in part.reads:
        return 1
    if part.op == "mod" and _polynomial(part.args[0]):
        return abs(part.args[1].constant or 0) or None
    if part.op == "argument":
        return None
    parts = [period(one) for one in part.args]
    known = [one for one in parts if one is not None]
    return lcm(*known) if len(known) == len(parts) else None


def _polynomial(part: Part) -> bool:
    return part.op in ("constant", "argument", "+", "-", "*", "negate") and all(map(_polynomial, part.args))


def at_residue(part: Part, residue: int) -> Part:
    """The tree where i is a residue wherever it is not a matter of distance."""
    return rebuilt(part, lambda atom: atom if distance(atom) else _with_residue(atom, residue))


def _with_residue(part: Part, residue: int) -> Part:
    if part == Part("argument"):
        return Part("constant", value=residue)
    return replace(part, args=tuple(_with_residue(one, residue) for one in part.args))


def congruence(atom: Part) -> tuple[int, int] | None:
    """The m and r of an atom that says that the argument in it is r modulo m; None if it says something else."""
    left, right = atom.args
    wanted = right.constant
    if (atom.op, left.op) != ("=", "mod") or wanted is None:
        return None
    form, modulus = linear(left.args[0]), left.args[1].constant
    if form is None or modulus is None or modulus < 1 or not 0 <= wanted < modulus or form[:2] not in ((1, 0), (0, 1)):
        return None
    return modulus, (wanted - form[2]) % modulus


def written(part: Part, argument: str) -> str:
    """The text of a condition of one argument, which is written so."""
    match part.op:
        case "constant":
            return str(part.value) if part.value >= 0 else f"({part.value})"
        case "argument":
            return argument
        case "not" | "negate":
            return f"({'not' if part.op == 'not' else '-'} {written(part.args[0], argument)})"
        case op:
            left, right = (written(one, argument) for one in part.args)
            return f"({left} {'**' if op == '^' else op} {right})"
