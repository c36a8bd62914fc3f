"""Analyse a predicate of two positions i and j by its parts, to find its value at each distance from j to i.

Positions count from 0. An *atom* is a comparison of both arguments: of the distance `d = i - j` (`c*d + k` with 0, for
integers c and k), or of both modulo constants; or any condition of i alone or of j alone, so that an `and` inside such
a condition still guards its right side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import lcm
from typing import Final

from hardsim.lang import arith
from hardsim.lang.predicate import OwnPredicate

HERE: Final = arith.Variable("i")
"""The position i at which a predicate is evaluated, whatever the predicate's own name for it."""
THERE: Final = arith.Variable("j")
"""The position j that a predicate relates to i, whatever the predicate's own name for it."""
# The expression language has no truth constants, so comparisons of 0 with 0 stand for them.
TRUE: Final = arith.Operation("=", arith.Constant(0), arith.Constant(0))
FALSE: Final = arith.Operation("!=", arith.Constant(0), arith.Constant(0))


def tree_of(predicate: OwnPredicate) -> arith.Expression:
    """Return the condition of a predicate, with HERE and THERE as its variables."""
    return _replaced(predicate.condition, dict(zip(predicate.definition.params, (HERE, THERE), strict=True)))


def _replaced(tree: arith.Expression, by: dict[str, arith.Variable] | dict[str, arith.Constant]) -> arith.Expression:
    """Return the tree with some variables replaced by other variables or constants."""
    if isinstance(tree, arith.Variable):
        return by.get(tree.name, tree)
    return _changed(tree, lambda part: _replaced(part, by))


def _changed(tree: arith.Expression, change: Callable[[arith.Expression], arith.Expression]) -> arith.Expression:
    """Return the tree with each operand replaced by its image under `change`."""
    match tree:
        case arith.Negation(arg) | arith.Complement(arg):
            return type(tree)(change(arg))
        case arith.Operation(_, left, right):
            return replace(tree, left=change(left), right=change(right))
    return tree


def _atomic(tree: arith.Expression) -> bool:
    return (isinstance(tree, arith.Operation) and tree.op in arith.COMPARISONS) or len(arith.names_in(tree)) < 2


def atoms(tree: arith.Expression) -> Iterator[arith.Expression]:
    """Yield the atoms of a condition: its largest parts that are comparisons, or that have at most one variable."""
    if _atomic(tree):
        yield tree
    else:
        for part in arith.operands(tree):
            yield from atoms(part)


def rebuilt(tree: arith.Expression, change: Callable[[arith.Expression], arith.Expression]) -> arith.Expression:
    """Return the tree with each atom replaced by its image under `change`; parts that TRUE or FALSE decides are
    simplified."""
    if _atomic(tree):
        return change(tree)
    changed = _changed(tree, lambda part: rebuilt(part, change))
    match changed:
        case arith.Complement(arg) if arg in (TRUE, FALSE):
            return FALSE if arg == TRUE else TRUE
        case arith.Operation("and" | "or" as op, left, right):
            neutral, deciding = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
            if deciding in (left, right):
                return deciding
            return right if left == neutral else left if right == neutral else changed
    return changed


def decided(tree: arith.Expression, atom: arith.Expression, value: bool) -> arith.Expression:
    """Return the tree with an atom replaced by its truth value."""
    return rebuilt(tree, lambda one: (TRUE if value else FALSE) if one == atom else one)


def distance(atom: arith.Expression) -> tuple[int, int] | None:
    """Return (c, k), with c not 0, if an atom compares c*(i - j) + k with 0; None for any other atom."""
    if not isinstance(atom, arith.Operation) or atom.op not in arith.COMPARISONS:
        return None
    form = arith.linear_form(arith.Operation("-", atom.left, atom.right), (HERE.name, THERE.name))
    # c*i - c*j + k is c*(i - j) + k
    return (form[0], form[2]) if form and form[0] == -form[1] != 0 else None


def settles(tree: arith.Expression) -> int:
    """Return a distance such that, at this and every greater i - j, each atom that compares i - j with a constant
    has the same truth value; 0 if there is no such atom."""
    forms = filter(None, map(distance, atoms(tree)))
    # c*d + k has one sign for all d > |k|/|c|
    return max((abs(k) // abs(c) + 1 for c, k in forms), default=0)


def at_distance(tree: arith.Expression, d: int) -> arith.Expression:
    """Return the condition that remains of a tree at j = i - d."""

    def change(atom: arith.Expression) -> arith.Expression:
        form = distance(atom)
        if form is None or not isinstance(atom, arith.Operation):
            return atom
        return TRUE if arith.COMPARISONS[atom.op](form[0] * d + form[1], 0) else FALSE

    return rebuilt(tree, change)


def period(tree: arith.Expression) -> int | None:
    """Return an m such that replacing i by i mod m does not change the condition (1 if it does not mention i); None
    if no such m is found."""
    if HERE.name not in arith.names_in(tree):
        return 1
    match tree:
        case arith.Variable():
            return None
        case arith.Operation("mod", left, right) if _polynomial(left):
            # a polynomial of i modulo m depends on i modulo m only
            return abs(_constant(right) or 0) or None
    parts = [period(part) for part in arith.operands(tree)]
    known = [part for part in parts if part is not None]
    # one part without a period leaves the whole without one
    return lcm(*known) if len(known) == len(parts) else None


def _polynomial(tree: arith.Expression) -> bool:
    if isinstance(tree, arith.Operation) and tree.op not in ("+", "-", "*"):
        return False
    return not isinstance(tree, arith.Complement) and all(map(_polynomial, arith.operands(tree)))


def _constant(tree: arith.Expression) -> int | None:
    """Return the value of an expression that is linear and has no variables; None for any other."""
    form = arith.linear_form(tree, ())
    return form[0] if form else None


def at_residue(tree: arith.Expression, residue: int) -> arith.Expression:
    """Return the tree with i replaced by a residue, except in atoms that compare distances."""
    return rebuilt(tree, lambda atom: atom if distance(atom) else _replaced(atom, {HERE.name: arith.Constant(residue)}))


def congruence(atom: arith.Expression) -> tuple[int, int] | None:
    """Return (m, r) if an atom states that its one argument is r modulo m; None for any other atom."""
    match atom:
        case arith.Operation("=", arith.Operation("mod", term, divisor), right):
            expected, modulus = _constant(right), _constant(divisor)
            forms = (arith.linear_form(term, (name,)) for name in (HERE.name, THERE.name))
            form = next((form for form in forms if form and form[0] == 1), None)
            if expected is not None and modulus and form and 0 <= expected < modulus:
                return modulus, (expected - form[1]) % modulus
    return None


def written(tree: arith.Expression, argument: str) -> str:
    """Return the text of a condition of one argument, with the text `argument` for it."""
    match tree:
        case arith.Constant(value):
            return str(value)
        case arith.Negation(arg) | arith.Complement(arg):
            return f"({'-' if isinstance(tree, arith.Negation) else 'not'} {written(arg, argument)})"
        case arith.Operation(op, left, right):
            return f"({written(left, argument)} {'**' if op == '^' else op} {written(right, argument)})"
    return argument
