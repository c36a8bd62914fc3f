"""The user's formula, with its `let` names, as definitions of the Rocq library's type `formula`.

The operators of the text stay, so that a reader can compare it with the definitions. Only `!=`, `<`, `>`, `>=` and
minus are written with others, as the library does not have them: `Not`, `Equal`, `AtMost`, `Plus` and `Times (-1)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hardsim.lang import ast
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.predicate import OwnPredicate, user_predicates
from hardsim.lang.valuations import Alphabet, Valuations
from hardsim.proving.rocq.conditions import VALUE, condition
from hardsim.proving.rocq.syntax import applied, comment, definition, integer, not_covered, truth

UNARY: Mapping[ast.UnaryOp, str] = {
    "X": "Next", "WX": "WeakNext", "Y": "Yesterday", "WY": "WeakYesterday", "O": "Once", "H": "Historically",
    "F": "Eventually", "G": "Always",
}  # fmt: skip
BINARY: Mapping[ast.BinaryOp, str] = {
    "U": "Until", "R": "Release", "W": "WeakUntil", "M": "StrongRelease", "S": "Since", "T": "Trigger",
}  # fmt: skip
NARY: Mapping[ast.NaryOp, str] = {"&": "And", "|": "Or", "^": "Xor"}
ARROWS: Mapping[ast.ArrowOp, str] = {"->": "Implies", "<->": "Equivalent"}
COUNTS: Mapping[ast.CountSide, str] = {"L": "CountLeft", "R": "CountRight", "": "CountAll"}
ONE = "(Constant 1%Z)"
MOST_OPERATORS = 100_000
"""Largest number of operators of a formula whose `let` names are replaced by their definitions, as the checker does."""

TermText: TypeAlias = tuple[str, int | None]
"""A term as text, and its value if it is a constant."""


def atoms_of(alphabet: Alphabet) -> tuple[str, ...]:
    """Return the atoms of a formula, which have the numbers 0, 1, ...: the propositions, or the symbols."""
    return alphabet.props if isinstance(alphabet, Valuations) else tuple(alphabet)


def require_short(file: ast.FormulaFile) -> None:
    """Require that the formula has at most MOST_OPERATORS operators after all `let` names are replaced. Raises
    InputError, with the name of the first definition that has more."""
    sizes = dict[str, int]()
    for name, body in [*((let.name, let.body) for let in file.lets), ("", file.formula)]:
        # Only this tree is walked: a definition that it uses counts with its known size, as often as it is used.
        sizes[name] = sum(sizes[node.name] if isinstance(node, ast.Ref) else 1 for node in ast.walk(body))
        if sizes[name] > MOST_OPERATORS:
            what = f"let {name}, which" if name else "this formula, which"
            raise not_covered(f"{what} has more than {MOST_OPERATORS:,} operators with its let names replaced")


def formula_text(file: ast.FormulaFile) -> str:
    """Return the definitions of the formula `F` and, before it, of its `let` names. Raises InputError, naming the part,
    if the library does not have an operator, or the whole would be too large."""
    require_short(file)
    names = {let.name: f"let_{number}" for number, let in enumerate(file.lets)}
    writer = _Writer(atoms_of(file.alphabet), names, user_predicates(file))
    parts = list[str]()
    for let in file.lets:
        parts.append(comment(f"let {let.name}"))
        if let.body.sort is ast.Sort.INT:
            text, writer.constants[let.name] = walked(writer.term(let.body))
            parts.append(definition(names[let.name], "term", text))
        else:
            parts.append(definition(names[let.name], "formula", walked(writer.formula(let.body))))
    parts.append(definition("F", "formula", walked(writer.formula(file.formula))))
    return "\n".join(parts)


class _Writer:
    """Writes formulas and terms; `names` are the Rocq names of definitions."""

    def __init__(self, atoms: Sequence[str], names: Mapping[str, str], users: Mapping[str, OwnPredicate]) -> None:
        self.numbers = {name: number for number, name in enumerate(atoms)}
        self.names, self.users = names, users
        self.constants = dict[str, int | None]()
        """The values of definitions of terms: None unless they are constants."""

    def formula(self, node: ast.Node) -> Walk[str]:
        """Return a formula."""
        match node:
            case ast.Truth(value):
                return applied("Truth", truth(value))
            case ast.Symbol(name):
                # A symbol that is not in the alphabet occurs nowhere.
                number = self.numbers.get(name)
                return applied("Truth", "false") if number is None else applied("Atom", str(number))
            case ast.Marker(which):
                return which.capitalize()
            case ast.Ref(name):
                return self.names[name]
            case ast.Not(arg):
                return applied("Not", (yield self.formula(arg)))
            case ast.Unary(op, arg):
                return applied(UNARY[op], (yield self.formula(arg)))
            case ast.Binary(op, left, right):
                return applied(BINARY[op], *(yield each([self.formula(left), self.formula(right)])))
            case ast.Arrow(op, left, right):
                return applied(ARROWS[op], *(yield each([self.formula(left), self.formula(right)])))
            case ast.Nary(op, args):
                first, *others = yield each(map(self.formula, args))
                for other in others:
                    first = applied(NARY[op], first, other)
                return str(first)
            case ast.Bounded(op, least, most):
                raise not_covered(f"the operator {op}[{least},{most}], which has bounds")
            case _:
                return self.comparison(node)

    def comparison(self, node: ast.Node) -> Walk[str]:
        """Return a comparison, a congruence or a predicate."""
        match node:
            case ast.Compare(op, left, right):
                (a, _), (b, _) = yield each([self.term(left), self.term(right)])
                return compared(op, a, b)
            case ast.Congruent(term, modulus, residue):
                text, _ = yield self.term(term)
                return applied("Holds", condition("MOD", (modulus, residue), VALUE, {}), text)
            case ast.Predicate(name, params, term):
                text = "Position" if term is None else (yield self.term(term))[0]
                return applied("Holds", condition(name, params, VALUE, self.users), text)
        raise not_covered(f"a {type(node).__name__.lower()} in a formula")

    def term(self, node: ast.Node) -> Walk[TermText]:
        """Return a term, and its value if it is a constant."""
        match node:
            case ast.Integer(value):
                return applied("Constant", integer(value)), value
            case ast.Position():
                return "Position", None
            case ast.Length():
                return "Length", None
            case ast.Ref(name):
                return self.names[name], self.constants[name]
            case ast.Count(side, arg):
                return applied(COUNTS[side], (yield self.formula(arg))), None
            case ast.Signed(op, arg):
                text, value = yield self.term(arg)
                return (text, value) if op == "+" else _multiple(-1, text, value)
            case ast.Sum(op, left, right):
                (a, x), (b, y) = yield each([self.term(left), self.term(right)])
                b, y = (b, y) if op == "+" else _multiple(-1, b, y)
                return applied("Plus", a, b), None if x is None or y is None else x + y
            case ast.Product(left, right):
                (a, x), (b, y) = yield each([self.term(left), self.term(right)])
                if x is not None:
                    return _multiple(x, b, y)
                if y is not None:
                    return _multiple(y, a, x)
        raise not_covered(f"a {type(node).__name__.lower()} in a term")


def _multiple(factor: int, text: str, value: int | None) -> TermText:
    return applied("Times", integer(factor), text), None if value is None else factor * value


def compared(op: ast.CompareOp, a: str, b: str) -> str:
    """Return the comparison of two terms. Over the integers, a < b is a + 1 <= b."""
    match op:
        case "=":
            return applied("Equal", a, b)
        case "!=":
            return applied("Not", applied("Equal", a, b))
        case "<=":
            return applied("AtMost", a, b)
        case ">=":
            return applied("AtMost", b, a)
        case "<":
            return applied("AtMost", applied("Plus", a, ONE), b)
        case ">":
            return applied("AtMost", applied("Plus", b, ONE), a)
