"""The meaning of a formula file, in the table in which the meaning of a Rocq instance is (see
`hardsim.verify.rocq.meanings`).

The file was parsed by hardsim's own parser. Nothing here reads or writes Rocq text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

from hardsim.lang import arith, ast
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.predicate import OwnPredicate, user_predicates
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.verify.rocq.meanings import Meanings, NotStated

HIGHEST_POWER = 64
"""Highest power in a condition."""


@dataclass(frozen=True, slots=True)
class FormulaMeaning:
    """The meanings of a file's definitions, in order, and of its formula."""

    lets: tuple[int, ...]
    formula: int


def atoms_of(file: ast.FormulaFile) -> tuple[str, ...]:
    """Return the names of the atoms of a file: its propositions, or else its symbols."""
    return file.alphabet.props if isinstance(file.alphabet, Valuations) else file.alphabet


def predicates_of(file: ast.FormulaFile, table: Meanings) -> Mapping[str, Callable[[int], int]]:
    """Return, for each predicate that the file defines, the function from the meaning of its first argument to that of
    its condition. The function raises NotStated for a condition that no instance states."""
    return {name: partial(_condition, table, own) for name, own in user_predicates(file).items()}


def meaning_of_file(file: ast.FormulaFile, table: Meanings) -> FormulaMeaning:
    """Return the meaning of a formula and its definitions. Raises NotStated if no instance states it."""
    reader = _Formulas(file, table)
    for let in file.lets:
        reader.lets[let.name] = walked(reader.of(let.body))
    return FormulaMeaning(tuple(reader.lets.values()), walked(reader.of(file.formula)))


class _Formulas:
    """Turns trees of one file into meanings; a definition has the meaning of its body."""

    def __init__(self, file: ast.FormulaFile, table: Meanings) -> None:
        self.table = table
        self.atoms = {name: number for number, name in enumerate(atoms_of(file))}
        self.own = predicates_of(file, table)
        self.lets: dict[str, int] = {}

    def of(self, node: ast.Node) -> Walk[int]:
        """Return the meaning of a formula; that of a term is a polynomial."""
        table = self.table
        match node:
            case ast.Truth(value):
                return table.truth(value)
            case ast.Symbol(name):
                known = name in self.atoms
                return table.node("atom", values=(self.atoms[name],)) if known else table.truth(False)
            case ast.Marker(which):
                return table.node(which)
            case ast.Ref(name):
                return self.lets[name]
            case ast.Not(arg):
                return table.negation((yield self.of(arg)))
            case ast.Nary(op, args):
                parts: list[int] = yield each(map(self.of, args))
                return reduce(partial(table.node, op), parts)
            case ast.Arrow(op, left, right) | ast.Binary(op, left, right):
                return table.node(op, (yield self.of(left)), (yield self.of(right)))
            case ast.Unary(op, arg):
                return table.node(op, (yield self.of(arg)))
            case ast.Compare(op, left, right):
                return compared(table, op, (yield self.of(left)), (yield self.of(right)))
            case ast.Congruent(term, modulus, residue):
                return self._holds("MOD", (modulus, residue), (yield self.of(term)))
            case ast.Predicate(name, params, term):
                return self._holds(name, params, (yield self.of(term or ast.Position())))
            case ast.Bounded(op, least, most):
                raise NotStated(f"the operator {op}[{least},{most}]")
            case _:
                return self._term(node)

    def _term(self, node: ast.Node) -> Walk[int]:
        table = self.table
        match node:
            case ast.Integer(value):
                return table.constant(value)
            case ast.Position():
                return table.value("pos")
            case ast.Length():
                return table.value("len")
            case ast.Count(side, arg):
                return table.value("count", (yield self.of(arg)), values=(side,))
            case ast.Sum(op, left, right):
                return table.combine((yield self.of(left)), 1 if op == "+" else -1, (yield self.of(right)))
            case ast.Signed(op, arg):
                return table.combine(table.constant(0), 1 if op == "+" else -1, (yield self.of(arg)))
            case ast.Product(left, right):
                return table.product((yield self.of(left)), (yield self.of(right)))
        raise NotStated(f"an expression of kind {type(node).__name__}")

    def _holds(self, name: str, params: tuple[int, ...], term: int) -> int:
        own, x = self.own.get(name), self.table.value("x")
        condition = self.table.predicate(name, params, x) if own is None else own(x)
        if condition is None:
            raise NotStated(f"the predicate {name}")
        return self.table.node("at", condition, term)


def compared(table: Meanings, op: str, left: int, right: int) -> int:
    """Return the meaning of a comparison of two polynomials, by one of `<= >= < > = !=`."""
    match op:
        case "<=":
            return table.at_least(right, left)
        case ">=":
            return table.at_least(left, right)
        case "<":
            return table.at_least(right, table.combine(left, 1, table.constant(1)))
        case ">":
            return table.at_least(left, table.combine(right, 1, table.constant(1)))
        case "=":
            return table.equal(left, right)
        case "!=":
            return table.negation(table.equal(left, right))
    raise NotStated(f"the comparison {op}")


def _condition(table: Meanings, own: OwnPredicate, argument: int) -> int:
    """Return the meaning of a predicate's condition for an integer, with the length as its second argument."""
    values = dict(zip(own.definition.params, (argument, table.value("n")), strict=True))
    return walked(_value(table, own.condition, values))


def _value(table: Meanings, tree: arith.Expression, values: Mapping[str, int]) -> Walk[int]:
    """Return the meaning of an expression: a condition, or a polynomial."""
    match tree:
        case arith.Constant(value):
            return table.constant(value)
        case arith.Variable(name):
            return values[name]
        case arith.Negation(arg):
            return table.combine(table.constant(0), -1, (yield _value(table, arg, values)))
        case arith.Complement(arg):
            return table.negation((yield _value(table, arg, values)))
        case arith.Operation(op, left, right):
            one, other = (yield _value(table, left, values)), (yield _value(table, right, values))
            return _operation(table, op, one, other)
    raise NotStated(f"an expression of kind {type(tree).__name__} in a condition")


def _operation(table: Meanings, op: str, left: int, right: int) -> int:
    match op:
        case "and" | "or":
            return table.node(op, left, right)
        case "+" | "-":
            return table.combine(left, 1 if op == "+" else -1, right)
        case "*":
            return table.product(left, right)
        case "div" | "mod":
            return table.value(op, left, right)
        case "^":
            terms = table.terms(right)
            exponent = terms.get((), 0)
            if {*terms} - {()} or not 0 <= exponent <= HIGHEST_POWER:
                raise NotStated("a power whose exponent is no small constant")
            return reduce(table.product, [left] * exponent, table.constant(1))
    return compared(table, op, left, right)
