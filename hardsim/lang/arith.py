"""A small language of exact rational expressions, for position encodings and temperatures: `1/(2*n)`, `(-1)^i`.

Grammar, loosest first: `+ -` (left), `* / mod` (left), unary `+ -`, `^` or `**` (right; `-i^2` is `-(i^2)`), then
non-negative integers, variables, brackets, and indicators `[a < b]` (one of `< <= = != >= >`), which are 1 or 0. An
exponent is any expression whose value is an integer; `a mod b` is `a - b floor(a/b)`.
"""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, cast

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.lexer import Cited, Lexeme

Rational: TypeAlias = int | Fraction
Operator: TypeAlias = Literal["+", "-", "*", "/", "^", "mod"]
Comparison: TypeAlias = Literal["<", "<=", "=", "!=", ">=", ">"]
COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}

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
        """The exact value; every variable that occurs must be given (others are ignored). Raises SourceError, with the
        caret at the operator, for a division by zero, an exponent that is not an integer, and a power of more than
        MAX_POWER_BITS bits; TypeError if a variable is not given."""
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
    """Parse an expression whose variables are among `variables`; `name` is what errors cite as the file. Raises
    SourceError, with a caret, for anything that is not such an expression."""
    source = Source(name, text)
    return Arith(_Reader(source, frozenset(variables)).whole("expression"), source)


# ---- operators between operands, here and in conditions (predicate.py) ----

Part = TypeVar("Part")
"""What has been read of an operand."""

Level = IntEnum("Level", "BRACKET OR AND NOT COMPARE SUM PRODUCT SIGN POWER", start=0)
"""How tightly an operator binds; all but powers group to the left."""
ARITHMETIC: Final[Mapping[str, int]] = {"+": Level.SUM, "-": Level.SUM, "*": Level.PRODUCT, "mod": Level.PRODUCT}
_BEFORE_OPERANDS = {**dict.fromkeys("([", Level.BRACKET), **dict.fromkeys("+-", Level.SIGN), "not": Level.NOT}
END_OR_OPERATOR: Final = "an operator or the end"


@dataclass(frozen=True, slots=True)
class Pending:
    """An operator, sign or bracket that still waits for what is right of it."""

    token: Lexeme
    level: int
    prefix: bool


class NoValueError(Exception):
    """An operation has no value for its operands; raised with a message and a hint."""


class Infix(Cited, ABC, Generic[Part]):
    """Operator precedence. `parts` are the operands so far that no operator has taken, `pending` what stands between
    and before them; `text` stands at `start` in the source, and `operand` says what is expected as one."""

    pattern: ClassVar[re.Pattern[str]]
    """The tokens, as the groups `number`, `word`, `sign` and, for what is none of them, `other`."""
    levels: ClassVar[Mapping[str, int]]
    """The operators between operands."""

    def __init__(self, source: Source, start: int, text: str, operand: str) -> None:
        super().__init__(source)
        self.start = start
        self.text = text
        self.operand = operand
        self.parts: list[Part] = []
        self.pending: list[Pending] = []
        self.tokens: list[Lexeme] = []
        """The last one is `end`."""
        self.before: Lexeme | None = None
        """The token before the one that is being taken."""

    def whole(self, what: str) -> Part:
        """The text as one operand; `what` it is called. Raises SourceError at the first mistake."""
        for match in self.pattern.finditer(self.text):
            kind = match.lastgroup or "other"
            span = Span(self.start + match.start(kind), self.start + match.end(kind))
            self.tokens.append(self.lexeme(kind, match[kind], span))
        end = self.start + len(self.text.rstrip())
        self.tokens.append(Lexeme("end", "", Span(end, end + 1)))
        if len(self.tokens) == 1:
            raise self.error(Span(end, end + 1), f"the {what} is empty", self.operand)
        complete = False
        for place, token in enumerate(self.tokens):
            self.before = self.tokens[place - 1] if place else None
            if complete and token.kind == "sign" and token.value in self.levels:
                level = self.levels[token.value]
                self.reduce(level + 1 if level == Level.POWER else level)
                self.push(token, level)
                complete = False
            elif complete:
                complete = self.after_operand(token)
            elif token.kind == "sign" and token.value in _BEFORE_OPERANDS:
                self.push(token, _BEFORE_OPERANDS[token.value], prefix=True)
            else:
                self.parts.append(self.leaf(token))
                complete = True
        return self.parts[0]

    def push(self, token: Lexeme, level: int, prefix: bool = False) -> None:
        """Let something wait for the operand that follows."""
        self.pending.append(Pending(token, level, prefix))

    def reduce(self, level: int) -> None:
        """Apply what is pending, back to the last open bracket, and binds at least as tightly as `level`."""
        while self.pending and self.pending[-1].level >= level:
            pending, right = self.pending.pop(), self.parts.pop()
            self.parts.append(self.applied(pending, right))

    @abstractmethod
    def lexeme(self, kind: str, text: str, span: Span) -> Lexeme:
        """A token, with its canonical spelling."""

    @abstractmethod
    def leaf(self, token: Lexeme) -> Part:
        """The operand that a token is. Raises SourceError if it is none."""

    @abstractmethod
    def applied(self, pending: Pending, right: Part) -> Part:
        """An operator above what is right of it and, unless it is a prefix, the last of `parts`, which it takes."""

    @abstractmethod
    def after_operand(self, token: Lexeme) -> bool:
        """Take what is no operator and stands after an operand; whether the operand is complete again."""


# ---- parsing ----

_LEVELS: Mapping[str, int] = {**ARITHMETIC, "/": Level.PRODUCT, "^": Level.POWER}


class _Reader(Infix[Expression]):
    pattern = re.compile(
        r"\s*(?:(?P<number>[0-9][0-9.]*)|(?P<word>[^\W\d]\w*)|(?P<sign>\*\*|[<>!=]=|[-+*/^()<>=\[\]])|(?P<other>\S))"
    )
    levels = _LEVELS

    def __init__(self, source: Source, variables: frozenset[str]) -> None:
        self.variables = variables
        self.operations = 0
        names = ", ".join(sorted(variables)) or "none"
        super().__init__(source, 0, source.text, f"an integer, a variable or an opening bracket (variables: {names})")

    def lexeme(self, kind: str, text: str, span: Span) -> Lexeme:
        word = text.replace("**", "^")
        if kind == "other":
            raise self.error(span, f"unknown operator {word!r}", "+ - * / mod ^ or brackets")
        if word == "mod" and word not in self.variables:
            kind = "sign"
        self.operations += kind == "sign" and word not in (")", "]")
        if self.operations > MAX_OPERATIONS:
            raise self.error(span, f"more than {MAX_OPERATIONS} operators and brackets in one expression")
        return Lexeme(kind, word, span)

    def leaf(self, token: Lexeme) -> Expression:
        if token.kind == "word":
            if token.value in self.variables:
                return Variable(token.value)
            raise self.error(token.span, f"unknown name {token.value!r}", self.operand)
        if token.kind != "number":
            where = f"after {self.before.value!r}" if self.before else f"before {token.value!r}"
            raise self.error(token.span, f"missing operand {where}", self.operand)
        if "." in token.value:
            hint = ""
            with suppress(ValueError):
                hint = f"write {Fraction(token.value)}" if len(token.value) <= MAX_DIGITS else ""
            raise self.error(token.span, "numbers are exact: integers and quotients of integers", "an integer", hint)
        if len(token.value) > MAX_DIGITS:
            raise self.error(token.span, f"an integer of more than {MAX_DIGITS} digits", "a smaller integer")
        return Constant(int(token.value))

    def applied(self, pending: Pending, right: Expression) -> Expression:
        op = pending.token.value
        if pending.prefix:
            return Negation(right) if op == "-" else right
        return Operation(cast(Operator, op), self.parts.pop(), right, pending.token.span)

    def after_operand(self, token: Lexeme) -> bool:
        """A closing bracket, the end, or a comparison, which waits like a bracket for what closes it."""
        self.reduce(Level.SUM)
        comparison = token.value.replace("==", "=")
        if not self.pending:
            if token.value in (")", "]"):
                raise self.error(token.span, "this bracket closes nothing", END_OR_OPERATOR)
            if comparison in COMPARISONS:
                hint = "write [i = n] for 1 where i is n and 0 elsewhere"
                raise self.error(token.span, "a comparison outside square brackets", END_OR_OPERATOR, hint)
            if self.before and token.kind != "end":
                hint = f"a product is written with *: {self.before.value}*{token.value}"
                raise self.error(token.span, f"missing operator before {token.value!r}", END_OR_OPERATOR, hint)
            return True
        opening = self.pending[-1].token
        if opening.value == "[":
            if comparison not in COMPARISONS:
                hint = "as in [i = n]"
                raise self.error(token.span, "square brackets hold a comparison", "one of < <= = != >= >", hint)
            self.push(Lexeme("sign", comparison, token.span), Level.BRACKET)
            return False
        closing = ")" if opening.value == "(" else "]"
        if token.kind == "end":
            place = opening.span if closing == ")" else self.pending[-2].token.span
            raise self.error(place, "this bracket is never closed", "a closing bracket before the end")
        if token.value != closing:
            raise self.error(token.span, f"missing operator before {token.value!r}", f"an operator or {closing!r}")
        self.pending.pop()
        if closing == "]":
            self.pending.pop()
            right, left = self.parts.pop(), self.parts.pop()
            self.parts.append(Indicator(cast(Comparison, opening.value), left, right))
        return True


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


def _divide(dividend: Rational, divisor: Rational) -> Rational:
    if divisor == 0:
        raise NoValueError("division by zero", "the divisor must not vanish at any position and length")
    return Fraction(dividend, divisor)


def _remainder(dividend: Rational, divisor: Rational) -> Rational:
    if divisor == 0:
        raise NoValueError("remainder of a division by zero", "the modulus must not vanish at any position")
    return dividend % divisor


def _power(base: Rational, exponent: Rational) -> Rational:
    if exponent.denominator != 1:
        raise NoValueError(f"the exponent {exponent} is not an integer", "only whole powers are exact")
    whole = int(exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits > 1 and bits * abs(whole) > MAX_POWER_BITS:
        raise NoValueError(f"a power of more than {MAX_POWER_BITS} bits", "use a smaller exponent")
    if whole < 0 and base == 0:
        raise NoValueError("division by zero (a negative power of 0)", "")
    return base**whole if whole >= 0 else Fraction(1, base**-whole)


_OPERATIONS: Mapping[Operator, Callable[[Rational, Rational], Rational]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "mod": _remainder,
    "^": _power,
}


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
            holds, first, second = COMPARISONS[comparison], _compile(left, source), _compile(right, source)
            return lambda values: int(holds(first(values), second(values)))
        case Operation(op, left, right):
            apply, one, other = _OPERATIONS[op], _compile(left, source), _compile(right, source)

            def operation(values: Mapping[str, Rational]) -> Rational:
                try:
                    return apply(one(values), other(values))
                except NoValueError as error:
                    message, hint = error.args
                    given = ", ".join(f"{name} = {values[name]}" for name in sorted(_names(tree)))
                    place = f" at {given}" if given else ""
                    raise SourceError(source, tree.span, f"{message}{place}", hint=hint) from None

            return operation


# ---- printing ----


def _show(tree: Expression, level: int) -> str:
    """The text of `tree` where an operator of at least `level` is needed, with the fewest brackets. A negation gets
    brackets everywhere but at the left end, because `a--b` reads badly."""
    own: int
    match tree:
        case Constant(value):
            return str(value)
        case Variable(name):
            return name
        case Negation(arg):
            own, inner = Level.SIGN, f"-{_show(arg, Level.POWER)}"
        case Operation("^", left, right):
            own, inner = Level.POWER, f"{_show(left, Level.POWER + 1)}^{_show(right, Level.POWER)}"
        case Operation(op, left, right):
            own, sign = _LEVELS[op], f" {op} " if op == "mod" else op
            after = f"({_show(right, 0)})" if isinstance(right, Negation) else _show(right, own + 1)
            inner = f"{_show(left, own)}{sign}{after}"
        case Indicator(comparison, left, right):
            return f"[{_show(left, 0)} {comparison} {_show(right, 0)}]"
    return f"({inner})" if own < level else inner
