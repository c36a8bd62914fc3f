"""A small language of exact rational expressions, for position encodings and temperatures: `1/(2*n)`, `(-1)^i`.

Grammar, loosest first: `+ -` (left), `* / mod` (left), unary `+ -`, `^` or `**` (right; `-i^2` is `-(i^2)`), then
non-negative integers, variables, brackets, and indicators `[a < b]` (one of `< <= = != >= >`), which are 1 or 0. An
exponent is any expression whose value is an integer; `a mod b` is `a - b floor(a/b)`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

from hardsim.errors import Source, SourceError, Span

Rational: TypeAlias = int | Fraction
Operator: TypeAlias = Literal["+", "-", "*", "/", "^", "mod"]
Comparison: TypeAlias = Literal["<", "<=", "=", "!=", ">=", ">"]

MAX_OPERATIONS = 100
"""Operators and brackets in one expression; it bounds the depth of the tree, so no walk over it can overflow."""
MAX_DIGITS = 1000
"""Digits of one integer in the text."""
MAX_POWER_BITS = 100_000
"""Bits of the numerator or denominator of a power."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A non-negative integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A name, such as i or n."""

    name: str


@dataclass(frozen=True, slots=True)
class Negation:
    """Unary minus."""

    arg: Expression


@dataclass(frozen=True, slots=True)
class Operation:
    """`left op right`; `span` is that of the operator, for errors during evaluation."""

    op: Operator
    left: Expression
    right: Expression
    span: Span = field(default=Span(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Indicator:
    """`[left comparison right]`: 1 where it holds, else 0."""

    comparison: Comparison
    left: Expression
    right: Expression


Expression: TypeAlias = Constant | Variable | Negation | Operation | Indicator
_Function: TypeAlias = Callable[[Mapping[str, Rational]], Rational]


@dataclass(frozen=True)
class Arith:
    """An expression over rational variables. Equality and hashing look at the tree only, not at the text."""

    tree: Expression
    source: Source = field(default=Source("<expression>", ""), compare=False, repr=False)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that occur in the expression."""
        return frozenset(_names(self.tree))

    @cached_property
    def _function(self) -> _Function:
        return _compile(self.tree, self.source)

    def evaluate(self, **values: Rational) -> Fraction:
        """The exact value; every variable that occurs must be given (others are ignored).

        Raises SourceError, with the caret at the operator, for a division by zero, an exponent that is not an
        integer, and a power of more than MAX_POWER_BITS bits; TypeError if a variable is not given.
        """
        try:
            return Fraction(self._function(values))
        except KeyError as missing:
            raise TypeError(f"no value for the variable {missing} of {self}") from None

    def __str__(self) -> str:
        return _show(self.tree, 0)

    def __getstate__(self) -> dict[str, object]:
        """The tree and the text: the compiled function cannot be pickled and is rebuilt on demand."""
        return {"tree": self.tree, "source": self.source}


def parse_arith(text: str, variables: Collection[str] = ("i", "n"), name: str = "<expression>") -> Arith:
    """Parse an expression whose variables are among `variables`; `name` is what errors cite as the file.

    Raises SourceError, with a caret, for anything that is not such an expression.
    """
    parser = _Parser(Source(name, text), frozenset(variables))
    return Arith(parser.parse(), parser.source)


# ---- parsing ----

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][0-9.]*)|(?P<name>[^\W\d]\w*)|(?P<op>\*\*|[<>!=]=|[-+*/^()<>=]|\[|\])|(?P<other>\S))"
)
_LEVEL: dict[str, int] = {"+": 1, "-": 1, "*": 2, "/": 2, "mod": 2, "^": 4}
_UNARY_LEVEL = 3
_OPERATORS: dict[str, Operator] = {"+": "+", "-": "-", "*": "*", "/": "/", "^": "^", "mod": "mod"}
_COMPARISONS: dict[str, Comparison] = {"<": "<", "<=": "<=", "=": "=", "==": "=", "!=": "!=", ">=": ">=", ">": ">"}
_MEANINGS: dict[Comparison, Callable[[Rational, Rational], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
_OPERAND = "an integer, a variable or an opening bracket"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    span: Span


class _Parser:
    """Precedence climbing over the list of tokens; the last token is `end`."""

    def __init__(self, source: Source, variables: frozenset[str]) -> None:
        self.source = source
        self.variables = variables
        self.operand = f"{_OPERAND} (variables: {', '.join(sorted(variables)) or 'none'})"
        self.tokens = self._tokens()
        self.next = 0

    def _error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.source, span, message, expected, hint)

    def _tokens(self) -> list[_Token]:
        text = self.source.text
        tokens = []
        operations = 0
        for match in _TOKEN.finditer(text):
            kind = "op" if match["name"] == "mod" and "mod" not in self.variables else match.lastgroup or "other"
            span = Span(*match.span(match.lastgroup or "other"))
            text_here = match[match.lastgroup or "other"]
            word = "^" if text_here == "**" else text_here
            if kind == "other":
                raise self._error(span, f"unknown operator {word!r}", "+ - * / mod ^ or brackets")
            operations += kind == "op" and word not in (")", "]")
            if operations > MAX_OPERATIONS:
                raise self._error(span, f"more than {MAX_OPERATIONS} operators and brackets in one expression")
            tokens.append(_Token(kind, word, span))
        end = len(text.rstrip())
        return [*tokens, _Token("end", "", Span(end, end + 1))]

    def parse(self) -> Expression:
        if len(self.tokens) == 1:
            raise self._error(Span(0, 1), "the expression is empty", self.operand)
        tree = self._expression(1)
        token = self.tokens[self.next]
        if token.text in (")", "]"):
            raise self._error(token.span, "this bracket closes nothing", "an operator or the end")
        if token.text in _COMPARISONS:
            hint = "write [i = n] for 1 where i is n and 0 elsewhere"
            raise self._error(token.span, "a comparison outside square brackets", "an operator or the end", hint)
        if token.kind != "end":
            previous = self.tokens[self.next - 1]
            hint = f"a product is written with *: {previous.text}*{token.text}"
            raise self._error(token.span, f"missing operator before {token.text!r}", "an operator or the end", hint)
        return tree

    def _expression(self, level: int) -> Expression:
        """An expression whose operators all bind at least as tightly as `level`."""
        left = self._operand()
        while True:
            token = self.tokens[self.next]
            op = _OPERATORS.get(token.text) if token.kind == "op" else None
            if op is None or _LEVEL[op] < level:
                return left
            self.next += 1
            # `^` groups to the right, and its exponent may carry a sign
            right = self._expression(_UNARY_LEVEL if op == "^" else _LEVEL[op] + 1)
            left = Operation(op, left, right, token.span)

    def _operand(self) -> Expression:
        token = self.tokens[self.next]
        self.next += 1
        if token.kind == "number":
            return Constant(self._integer(token))
        if token.kind == "name":
            if token.text not in self.variables:
                raise self._error(token.span, f"unknown name {token.text!r}", self.operand)
            return Variable(token.text)
        if token.text in ("-", "+"):
            arg = self._expression(_UNARY_LEVEL)
            return Negation(arg) if token.text == "-" else arg
        if token.text == "(":
            return self._bracket(token, ")")
        if token.text == "[":
            return self._indicator(token)
        where = f"after {self.tokens[self.next - 2].text!r}" if self.next > 1 else f"before {token.text!r}"
        raise self._error(token.span, f"missing operand {where}", self.operand)

    def _bracket(self, opening: _Token, closing: str) -> Expression:
        inner = self._expression(1)
        token = self.tokens[self.next]
        if token.kind == "end":
            raise self._error(opening.span, "this bracket is never closed", "a closing bracket before the end")
        if token.text != closing:
            raise self._error(token.span, f"missing operator before {token.text!r}", f"an operator or {closing!r}")
        self.next += 1
        return inner

    def _indicator(self, opening: _Token) -> Expression:
        left = self._expression(1)
        token = self.tokens[self.next]
        comparison = _COMPARISONS.get(token.text) if token.kind == "op" else None
        if comparison is None:
            raise self._error(token.span, "square brackets hold a comparison", "one of < <= = != >= >", "as in [i = n]")
        self.next += 1
        return Indicator(comparison, left, self._bracket(opening, "]"))

    def _integer(self, token: _Token) -> int:
        if "." in token.text:
            try:
                hint = f"write {Fraction(token.text)}" if len(token.text) <= MAX_DIGITS else ""
            except ValueError:
                hint = ""
            raise self._error(token.span, "numbers are exact: integers and quotients of integers", "an integer", hint)
        if len(token.text) > MAX_DIGITS:
            raise self._error(token.span, f"an integer of more than {MAX_DIGITS} digits", "a smaller integer")
        return int(token.text)


# ---- evaluation ----


def _names(tree: Expression) -> set[str]:
    match tree:
        case Constant():
            return set()
        case Variable(name):
            return {name}
        case Negation(arg):
            return _names(arg)
        case Operation(_, left, right) | Indicator(_, left, right):
            return _names(left) | _names(right)


def _compile(tree: Expression, source: Source) -> _Function:
    """The tree as nested closures: integers stay integers until a division, which is what makes it fast."""
    match tree:
        case Constant(value):
            return lambda _: value
        case Variable(name):
            return lambda values: values[name]
        case Negation(arg):
            inner = _compile(arg, source)
            return lambda values: -inner(values)
        case Indicator(comparison, left, right):
            return _compile_indicator(_MEANINGS[comparison], _compile(left, source), _compile(right, source))
        case Operation(op, left, right, span):
            return _compile_operation(op, _compile(left, source), _compile(right, source), _Place(tree, source, span))


def _compile_indicator(holds: Callable[[Rational, Rational], bool], left: _Function, right: _Function) -> _Function:
    return lambda values: int(holds(left(values), right(values)))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an evaluation went wrong: the operation and its place in the text."""

    tree: Expression
    source: Source
    span: Span

    def error(self, message: str, values: Mapping[str, Rational], hint: str = "") -> SourceError:
        given = ", ".join(f"{name} = {values[name]}" for name in sorted(_names(self.tree)))
        return SourceError(self.source, self.span, f"{message}{' at ' if given else ''}{given}", hint=hint)


def _compile_operation(op: Operator, left: _Function, right: _Function, place: _Place) -> _Function:
    match op:
        case "+":
            return lambda values: left(values) + right(values)
        case "-":
            return lambda values: left(values) - right(values)
        case "*":
            return lambda values: left(values) * right(values)
        case "/":
            return lambda values: _divide(left(values), right(values), place, values)
        case "mod":
            return lambda values: _remainder(left(values), right(values), place, values)
        case "^":
            return lambda values: _power(left(values), right(values), place, values)


def _divide(left: Rational, right: Rational, place: _Place, values: Mapping[str, Rational]) -> Fraction:
    if right == 0:
        raise place.error("division by zero", values, "the divisor must not vanish at any position and length")
    return Fraction(left, right)


def _remainder(left: Rational, right: Rational, place: _Place, values: Mapping[str, Rational]) -> Rational:
    if right == 0:
        raise place.error("remainder of a division by zero", values, "the modulus must not vanish at any position")
    return left % right


def _power(base: Rational, exponent: Rational, place: _Place, values: Mapping[str, Rational]) -> Rational:
    if exponent.denominator != 1:
        raise place.error(f"the exponent {exponent} is not an integer", values, "only whole powers are exact")
    power = int(exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits > 1 and bits * abs(power) > MAX_POWER_BITS:
        raise place.error(f"a power of more than {MAX_POWER_BITS} bits", values, "use a smaller exponent")
    if power >= 0:
        return base**power
    if base == 0:
        raise place.error("division by zero (a negative power of 0)", values)
    return Fraction(1, base**-power)


# ---- printing ----


def _show(tree: Expression, level: int) -> str:
    """The text of `tree` where an operator of at least `level` is needed, with the fewest brackets.

    A negation gets brackets everywhere but at the left end, because `a--b` reads badly.
    """
    match tree:
        case Constant(value):
            return str(value)
        case Variable(name):
            return name
        case Negation(arg):
            inner = f"-{_show(arg, 4)}"
            own = _UNARY_LEVEL
        case Operation(op, left, right):
            own = _LEVEL[op]
            sign = f" {op} " if op == "mod" else op
            if op == "^":
                inner = f"{_show(left, 5)}^{_show(right, 4)}"
            else:
                after = f"({_show(right, 0)})" if isinstance(right, Negation) else _show(right, own + 1)
                inner = f"{_show(left, own)}{sign}{after}"
        case Indicator(comparison, left, right):
            inner = f"[{_show(left, 0)} {comparison} {_show(right, 0)}]"
            own = 5
    return f"({inner})" if own < level else inner
