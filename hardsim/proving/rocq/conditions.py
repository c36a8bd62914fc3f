"""Numerical predicates as conditions of the Rocq library: on an integer and the length of the word."""

from __future__ import annotations

from collections.abc import Mapping

from hardsim.lang.arith import Complement, Constant, Expression, Negation, Operation, Variable
from hardsim.lang.predicate import OwnPredicate
from hardsim.lazy_dataclass import dataclass
from hardsim.proving.rocq.syntax import applied, integer, not_covered

BUILT_IN = {"PRIME": "Prime", "SQUARE": "Square", "POW2": "PowerOf2"}
"""The constructors of predicates without parameters, by hardsim's names."""
PARITIES = {"EVEN": (2, 0), "ODD": (2, 1)}
"""The predicates that are congruences: modulus and remainder."""
OPERATIONS = {"+": "Add", "-": "Sub", "*": "Mul", "div": "Div", "mod": "Mod"}


@dataclass(frozen=True, slots=True)
class IntegerText:
    """An integer of a condition as text, and its value if it is a constant."""

    text: str
    value: int | None = None

    @staticmethod
    def of(value: int) -> IntegerText:
        """Return a constant."""
        return IntegerText(applied("Const", integer(value)), value)


VALUE, LENGTH = IntegerText("X"), IntegerText("Len")
"""The integer that the condition is about, and the length of the word."""


def operation(op: str, left: IntegerText, right: IntegerText) -> IntegerText:
    """Return a sum, difference or product, computed if both sides are constants; or a quotient or remainder. The
    checker folds constants in the same way where a count is known to be 0, and compares texts."""
    if left.value is not None and right.value is not None and op in ("+", "-", "*"):
        a, b = left.value, right.value
        return IntegerText.of(a + b if op == "+" else a - b if op == "-" else a * b)
    return IntegerText(applied(OPERATIONS[op], left.text, right.text))


def multiple(factor: int, of: IntegerText, offset: int) -> IntegerText:
    """Return `factor * of + offset`, without the parts that change nothing."""
    if factor == 0:
        return IntegerText.of(offset)
    product = of if factor == 1 else operation("*", IntegerText.of(factor), of)
    return product if offset == 0 else operation("+", product, IntegerText.of(offset))


def condition(name: str, params: tuple[int, ...], of: IntegerText, users: Mapping[str, OwnPredicate]) -> str:
    """Return the condition that a predicate holds for an argument; `users` are the predicates that the file defines.
    Raises InputError if a definition has an operator that the library does not know."""
    if name in BUILT_IN:
        return applied(BUILT_IN[name], of.text)
    if name in users:
        own = users[name]
        values = dict(zip(own.definition.params, (of, LENGTH), strict=True))
        return _condition(own.condition, values, name)
    modulus, remainder = PARITIES.get(name) or params
    left = operation("mod", of, IntegerText.of(modulus))
    return applied("Eq", left.text, IntegerText.of(remainder).text)


# An expression of a predicate is shallow: `lang.arith` limits its nesting, and long chains of sums are refused below.
LONGEST_CHAIN = 200
"""Greatest depth of the tree of a definition."""


def _condition(tree: Expression, values: Mapping[str, IntegerText], name: str, depth: int = 0) -> str:
    if depth > LONGEST_CHAIN:
        raise not_covered(f"the predicate {name}, whose definition has more than {LONGEST_CHAIN} nested operators")
    match tree:
        case Complement(arg):
            return applied("Negated", _condition(arg, values, name, depth + 1))
        case Operation("and" | "or" as op, left, right):
            sides = [_condition(side, values, name, depth + 1) for side in (left, right)]
            return applied("Both" if op == "and" else "Either", *sides)
        case Operation(op, left, right) if op in ("<", "<=", "=", "!=", ">=", ">"):
            a, b = (_integer(side, values, name, depth + 1).text for side in (left, right))
            return comparison(op, a, b)
    raise not_covered(f"the condition of the predicate {name}")


def comparison(op: str, a: str, b: str) -> str:
    """Return the comparison of two integers."""
    if op in ("=", "!="):
        equal = applied("Eq", a, b)
        return equal if op == "=" else applied("Negated", equal)
    least, most = (a, b) if op in ("<=", ">") else (b, a)
    below = applied("Le", least, most)
    return below if op in ("<=", ">=") else applied("Negated", below)


def _integer(tree: Expression, values: Mapping[str, IntegerText], name: str, depth: int) -> IntegerText:
    if depth > LONGEST_CHAIN:
        raise not_covered(f"the predicate {name}, whose definition has more than {LONGEST_CHAIN} nested operators")
    match tree:
        case Constant(value):
            return IntegerText.of(value)
        case Variable(variable):
            return values[variable]
        case Negation(arg):
            return operation("-", IntegerText.of(0), _integer(arg, values, name, depth + 1))
        case Operation(op, left, right) if op in OPERATIONS:
            sides = [_integer(side, values, name, depth + 1) for side in (left, right)]
            return operation(op, *sides)
    raise not_covered(f"an operator in the definition of the predicate {name}")
