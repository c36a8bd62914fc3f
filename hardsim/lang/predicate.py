"""Numerical predicates: those that are built in, as the oracles decide them, and the conditions of `pred` lines.

A small language, such as in `pred MIDDLE(i, n) = 2*i == n + 1`, without surprises. Loosest first: `or`; `and`; `not`;
the comparisons `== = != < <= > >=`, which do not chain; `+ -`; `* div mod`; unary `+ -`; `**`, which groups to the
right. Operands are integers, the two arguments, and brackets.

- `div` and `mod` round down, as `//` and `%` of Python do. In formulas `mod` binds less tightly than `+ -`, here more
  tightly: where the two readings differ, as in `i + 1 mod 2`, brackets are required.
- `and` and `or` look at their right side only if the left one does not decide, so `c != 0 and n mod c == 0` is safe.
- `0 ** 0` is 1; `-2 ** 2` is -4.
- No value may be larger than `MAX_INTEGER` in absolute value, the first argument included; a power that would be is
  refused without computing it. That, a negative exponent and a division by zero are errors at the operator.

A predicate is asked at every position of a word, whether or not the rest of the formula needs its value there. The
value it is asked about is the position, or that of a term: this may be 0, negative, or larger than the length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from operator import add, floordiv, mod, mul, sub
from typing import Final, Literal, TypeAlias

from hardsim.errors import OutOfRange, Source, SourceError, Span, did_you_mean
from hardsim.lang import ast
from hardsim.lang.arith import ARITHMETIC, COMPARISONS, END_OR_OPERATOR, Infix, Level, NoValueError, Pending
from hardsim.lang.lexer import MAX_INTEGER, Lexeme

MAX_NESTING = 200
"""Brackets, signs, `not` and right sides of `**` inside each other."""
WORD_OPERATORS: Final = frozenset({"and", "or", "not", "div", "mod"})
"""Words that cannot be the names of arguments."""
NumericalPredicate: TypeAlias = Callable[[int, int], bool]
"""A predicate of an integer (a position, or the value of a term: any integer) and the length n of the word."""

_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
_LIMIT = 3_317_044_064_679_887_385_961_981
"""Below it the Miller-Rabin test with the first 13 primes as bases is exact (Sorenson and Webster 2015)."""


@lru_cache(maxsize=65536)
def is_prime(value: int) -> bool:
    """Whether an integer is prime (2, 3, 5, ...); 0, 1 and negative numbers are not. Raises OutOfRange from
    3317044064679887385961981 (about 3e24) on, where no exact answer is at hand."""
    if value >= _LIMIT:
        raise OutOfRange(f"PRIME of {value} is not decided", f"It is decided below {_LIMIT}; use smaller factors.")
    if value < 2 or any(value % base == 0 for base in _BASES):
        return value in _BASES
    return all(_passes(value, base) for base in _BASES)


def _passes(value: int, base: int) -> bool:
    """The Miller-Rabin test of an odd value to one base."""
    twos = ((value - 1) & -(value - 1)).bit_length() - 1
    powers = [pow(base, ((value - 1) >> twos) << doubled, value) for doubled in range(twos)]
    return powers[0] == 1 or value - 1 in powers


BUILT_IN: Final[Mapping[str, NumericalPredicate]] = {
    "EVEN": lambda value, n: value % 2 == 0,
    "ODD": lambda value, n: value % 2 == 1,
    "PRIME": lambda value, n: is_prime(value),
    "SQUARE": lambda value, n: value >= 0 and isqrt(value) ** 2 == value,
    "POW2": lambda value, n: value >= 1 and value & (value - 1) == 0,
}
"""The predicates without parameters (0 and 1 are squares, 1 is a power of two); `MOD(m, r)` is the congruence of the
value to r modulo m."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a program: push a constant or an argument, jump (`and`, `or`), or apply an operator to the top.
    `operand` is the constant, the index of the argument, or the step to jump to."""

    op: str
    span: Span
    operand: int = 0


@dataclass(frozen=True, slots=True)
class OwnPredicate:
    """A predicate that a file defines, ready to be called; it can be pickled. `program` is for a stack machine, so a
    long condition costs no recursion."""

    name: str
    params: tuple[str, ...]
    program: tuple[Instruction, ...]
    source: Source

    def __call__(self, value: int, n: int) -> bool:
        """Whether the predicate holds of an integer (a position or the value of a term) and the length n of the word.
        Raises SourceError at the operator that has no value for these two, or one beyond MAX_INTEGER."""
        arguments = (int(value), int(n))  # a count of the oracle may be a bool, which would be shown as one
        stack: list[int] = []
        at = 0
        while at < len(self.program):
            step = self.program[at]
            at += 1
            try:
                match step.op:
                    case "constant":
                        stack.append(step.operand)
                    case "argument":
                        stack.append(_held(arguments[step.operand], "the argument"))
                    case "and" | "or":
                        # what is on top is the result if it decides; if not it makes room for the right side
                        if bool(stack[-1]) == (step.op == "or"):
                            at = step.operand
                        else:
                            stack.pop()
                    case "not":
                        stack[-1] = not stack[-1]
                    case "negate":
                        stack[-1] = -stack[-1]
                    case op:
                        right = stack.pop()
                        stack[-1] = _binary(op, stack[-1], right)
            except NoValueError as error:
                message, hint = error.args
                given = ", ".join(f"{name} = {value}" for name, value in zip(self.params, arguments, strict=True))
                raise SourceError(self.source, step.span, f"{self.name}: {message}, at {given}", hint=hint) from None
        return bool(stack[0])


def _held(value: int, what: str) -> int:
    """A value that is not too large."""
    if abs(value) > MAX_INTEGER:
        raise NoValueError(f"{what} is larger than 10^18 in absolute value", "")
    return value


def _binary(op: str, left: int, right: int) -> int:
    if op in COMPARISONS:
        return COMPARISONS[op](left, right)
    written = " ".join((_shown(left), op, _shown(right)))
    if op in ("div", "mod") and right == 0:
        hint = f"guard it, as in `x != 0 and n {op} x == 1`: the right side of `and` is then left out"
        raise NoValueError(f"division by zero in {written}", hint)
    if op == "**" and right < 0:
        raise NoValueError(f"negative exponent in {written}", "values are integers")
    return _held(_ARITHMETIC[op](left, right), written)


def _power(base: int, exponent: int) -> int:
    """The power, or some number beyond MAX_INTEGER if it is beyond; both arguments are within, the exponent is >= 0."""
    if abs(base) <= 1 or exponent <= MAX_INTEGER.bit_length():
        return int(base**exponent)
    return 2 * MAX_INTEGER  # |base| >= 2, so the power has more bits than MAX_INTEGER


_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "div": floordiv,
    "mod": mod,
    "**": _power,
}


def _shown(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def compile_predicate(source: Source, predicate: ast.UserPredicate) -> OwnPredicate:
    """A `pred` line of a file as a function of a value and the length of the word; made without a span, it is cited by
    its own text. Raises SourceError for a right-hand side that is not a condition of the language above, at its first
    mistake."""
    start = predicate.span.start
    if predicate.span == ast.NO_SPAN:
        source, start = Source(f"<pred {predicate.name}>", predicate.text), 0
    reader = _Reader(source, start, predicate.text, predicate.params)
    reader.need(reader.whole("condition"), "condition")
    return OwnPredicate(predicate.name, predicate.params, tuple(reader.program), source)


def user_predicates(file: ast.FormulaFile) -> dict[str, OwnPredicate]:
    """The predicates that a file defines, by name. Raises SourceError at the first mistake in one of them."""
    return {predicate.name: compile_predicate(file.source, predicate) for predicate in file.predicates}


# ---- reading ----

_Sort: TypeAlias = Literal["number", "condition"]

_LEVELS = {"or": Level.OR, "and": Level.AND, **ARITHMETIC, "div": Level.PRODUCT, "**": Level.POWER}
_LEVELS |= dict.fromkeys(COMPARISONS, Level.COMPARE)
_SPELLINGS: Final[Mapping[str, str]] = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}
_HINTS: Final[Mapping[str, str]] = {
    "/": "integer division, rounded down, is written div",
    "%": "the remainder is written mod",
    "^": "a power is written **",
    **dict.fromkeys("&∧", "and is written and"),
    **dict.fromkeys("|∨", "or is written or"),
    **dict.fromkeys("!~¬", "not is written not"),
    **dict.fromkeys("×·", "a product is written *"),
    "−": "minus is written -",
    **dict.fromkeys("[]", "brackets are round: ( )"),
    "#": "a condition has no counts: apply the predicate to one, as in NAME(#L[a])",
    ",": "a condition has no calls and no other predicates",
}


@dataclass(frozen=True, slots=True)
class _Part:
    """What has been read of a condition: `op` is the operator at its top, unless it is an atom or in brackets."""

    sort: _Sort
    whole: Span
    op: Lexeme | None = None


class _Reader(Infix[_Part]):
    """The steps of the program are in the order of evaluation, so there is no tree."""

    pattern = re.compile(
        r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?)|(?P<word>[^\W\d]\w*)|(?P<sign>\*\*|[<>=!]=|[-+*<>=()≤≥≠])|(?P<other>\S))"
    )
    levels = _LEVELS

    def __init__(self, source: Source, start: int, text: str, arguments: tuple[str, ...]) -> None:
        super().__init__(source, start, text, f"an integer, {' or '.join(arguments)}, or an opening bracket")
        self.arguments = arguments
        self.program: list[Instruction] = []
        self.jumps: list[int] = []

    def lexeme(self, kind: str, text: str, span: Span) -> Lexeme:
        if kind == "other":
            shown = text if text.isprintable() else f"U+{ord(text):04X}"
            raise self.error(span, f"unknown operator {shown}", "an operator or an operand", _HINTS.get(text, ""))
        return Lexeme("sign" if text in WORD_OPERATORS else kind, _SPELLINGS.get(text, text), span)

    def shown(self, span: Span) -> str:
        """The text of a place as the user wrote it, in one line and not too long."""
        text = " ".join(self.text[span.start - self.start : span.end - self.start].split())
        return text if len(text) <= 40 else f"{text[:37]}..."

    def leaf(self, token: Lexeme) -> _Part:
        if token.kind == "number" and "." in token.value:
            raise self.error(token.span, "not an integer", "an integer", "multiply both sides of the comparison")
        if token.kind == "number":
            self._step("constant", token, self.integer(token.value, token.span))
        elif token.kind != "word":
            message = "nothing between the brackets"
            if self.before is None:
                message = f"missing operand before {self.shown(token.span)}"
            elif self.before.value != "(" or token.value != ")":
                message = f"missing operand after {self.shown(self.before.span)}"
            raise self.error(token.span, message, self.operand)
        elif token.value in self.arguments:
            self._step("argument", token, self.arguments.index(token.value))
        else:
            names = sorted([*WORD_OPERATORS, *self.arguments])
            hint = did_you_mean(token.value, names)
            if self.tokens[self.tokens.index(token) + 1].value == "(":
                hint = _HINTS[","]
            raise self.error(token.span, f"unknown name {token.value!r}", self.operand, hint)
        return _Part("number", token.span)

    def _step(self, op: str, token: Lexeme, operand: int = 0) -> None:
        self.program.append(Instruction(op, token.span, operand))

    def push(self, token: Lexeme, level: int, prefix: bool = False) -> None:
        if not prefix:
            left = self.parts[-1]
            if level == Level.COMPARE and left.op is not None and self.levels.get(left.op.value) == Level.COMPARE:
                hint = "join two comparisons with and, as in 1 < i and i < n"
                raise self.error(token.span, "comparisons do not chain", "and, or, or the end", hint)
            self.need(left, "condition" if level <= Level.AND else "number")
        super().push(token, level, prefix)
        if not prefix and level <= Level.AND:
            self.jumps.append(len(self.program))
            self._step(token.value, token)  # the place to jump to is not known yet
        nesting = [each for each in self.pending if each.prefix or each.level == Level.POWER]
        if (prefix or level == Level.POWER) and len(nesting) > MAX_NESTING:
            hint = "leave out brackets and signs that are not needed"
            raise self.error(token.span, f"nesting beyond {MAX_NESTING} levels", hint=hint)

    def applied(self, pending: Pending, right: _Part) -> _Part:
        token, logical = pending.token, pending.level <= Level.NOT
        self.need(right, "condition" if logical else "number")
        if pending.prefix:
            if token.value != "+":
                self._step("not" if logical else "negate", token)
            return _Part(right.sort, Span(token.span.start, right.whole.end))
        left = self.parts.pop()
        if logical:
            self.program[self.jumps.pop()] = Instruction(token.value, token.span, len(self.program))
        else:
            self._check_mod(left, token, right)
            self._step(token.value, token)
        sort: _Sort = "condition" if pending.level <= Level.COMPARE else "number"
        return _Part(sort, Span(left.whole.start, right.whole.end), token)

    def _check_mod(self, left: _Part, token: Lexeme, right: _Part) -> None:
        """In formulas `mod` binds less tightly than `+ - *`: no condition may mean something else there."""
        op = token.value
        for part, ops, ways in (
            (left, ("+", "-", "*", "div"), f"(i mod m) {op} k or i mod (m {op} k)"),
            (right, ("+", "-"), f"i {op} (k mod m) or (i {op} k) mod m"),
        ):
            if op in ops and part.op is not None and part.op.value == "mod":
                raise self.error(part.op.span, f"mod beside {op} without brackets", "brackets", f"write {ways}")

    def after_operand(self, token: Lexeme) -> bool:
        """A closing bracket or the end."""
        if token.value != ")" and token.kind != "end":
            shown, before = self.shown(token.span), self.before
            touches = before is not None and before.span.end == token.span.start
            hint = f"a product is written *: {self.shown(before.span)}*{shown}" if before and touches else ""
            raise self.error(token.span, f"missing operator before {shown}", END_OR_OPERATOR, hint)
        self.reduce(Level.OR)
        if token.kind == "end":
            if self.pending:
                raise self.error(self.pending[-1].token.span, "this bracket is never closed: (", ") further on")
            return True
        if not self.pending:
            raise self.error(token.span, "this bracket closes nothing: )", END_OR_OPERATOR)
        part = self.parts.pop()
        self.parts.append(_Part(part.sort, Span(self.pending.pop().token.span.start, token.span.end)))
        return True

    def need(self, part: _Part, sort: _Sort) -> None:
        """Hold an operand to a sort."""
        if part.sort == sort:
            return
        hint = "compare it with something, as in i mod 2 == 0" if sort == "condition" else ""
        if sort == "condition" and re.compile(r"[^\S\n]+//").match(self.source.text, part.whole.end):
            hint = "// begins a comment; integer division is written div"
        message = f"{self.shown(part.whole)} is a {part.sort}, and a {sort} is needed here"
        raise self.error(part.whole, message, f"a {sort}", hint)
