"""The language of expressions in positions and lengths: `1/(2*n)`, `(-1)^i`, `2*i == n + 1 or i mod 3 == 0`.

Operators, loosest first: `or`; `and`; `not`; the comparisons `< <= = == != >= > ≤ ≥ ≠`, which do not chain; `+ -`;
`* / div mod`; unary `+ -`; `^` or `**`. Powers group to the right, the others to the left, and `-i^2` is `-(i^2)`.
Operands are non-negative integers, names, brackets, `[condition]`, which is 1 where the condition holds and 0
elsewhere, and the functions `log(x)` (to the base e), `sqrt(x)` and `exp(x)`.

- `a div b` is floor(a/b) and `a mod b` is `a - b floor(a/b)`, so both round down, as in Python; `0^0` is 1.
- `and` and `or` evaluate their right side only if the left one does not decide, so `c != 0 and n mod c == 0` is
safe.
- Numbers and conditions are separate sorts: conditions cannot be added, and numbers cannot be joined by `and`.
- Values are exact. A function returns a rational where it can (`log(1)`, `sqrt(n^2)`, `exp(0)`), else a `Real`, of
  which the caller takes an enclosure (see `reals`) or which it refuses.

Where expressions occur, and what each place allows:

| place                                        | result    | names             | numbers   | refused
|
|----------------------------------------------|-----------|-------------------|-----------|------------------------|
| temperatures (`--tau`, weights), encodings   | number    | `i`, `n`          | reals     |
|
| encodings of hard attention, gaps            | number    | `i`, `n`          | rationals | irrational values
|
| `pad:` of a program                          | number    | `len`             | rationals | irrational values
|
| `pred` of a formula file                     | condition | its two arguments | integers  | `/ ^ [ ]`,
functions   |

- Rationals: an expression has at most MAX_OPERATIONS operators and brackets, an integer in it at most MAX_DIGITS
  digits. An exponent is any expression whose value is an integer; a power has at most MAX_POWER_BITS bits.
- Integers: no value may exceed `MAX_INTEGER` in absolute value, including the arguments; a power that would exceed it
  is refused without computing it, and so is a negative exponent. In formulas `mod` binds less tightly than `+ -`:
  where the two readings differ, as in `i + 1 mod 2`, `pred` requires brackets.

An operation without a value, such as a division by zero or the logarithm of 0, is an error at the operator.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from hardsim.errors import Source, SourceError, Span, did_you_mean
from hardsim.lang.lexer import MAX_INTEGER, Cited, Lexeme
from hardsim.lang.reals import FUNCTIONS, Real, RealNumber, SignUnknown, apply, compare
from hardsim.lang.reals import Function as FunctionName
from hardsim.lazy_dataclass import dataclass

Rational: TypeAlias = int | Fraction
Comparison: TypeAlias = Literal["<", "<=", "=", "!=", ">=", ">"]
Operator: TypeAlias = Literal["or", "and", "+", "-", "*", "/", "div", "mod", "^"] | Comparison
COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
WORD_OPERATORS: Final = frozenset({"and", "or", "not", "div", "mod"})
"""Words that cannot be names, because they are operators."""

MAX_OPERATIONS = 100
"""Greatest number of operators, signs, functions and opening brackets, counted together, in an expression of
rationals; it bounds the depth of the tree, so recursive functions on it cannot overflow the stack."""
MAX_NESTING = 200
"""Greatest nesting depth of brackets, signs, `not`, functions and right sides of powers, counted together."""
MAX_DIGITS = 1000
"""Greatest number of digits of one integer in the text."""
SMALL_POWER, SMALL_BASE = 4, 1 << 64
"""Greatest exponent of a power that is computed at many positions at once, and a number above its bases."""
MAX_POWER_BITS = 100_000
"""Greatest number of bits of the numerator or denominator of a power, estimated as those of the base times the
exponent."""


_Sort: TypeAlias = Literal["number", "condition"]
"""The sort of an expression: a number (rational or real), or a condition on bounded integers."""


# ---- trees ----


@dataclass(frozen=True, slots=True)
class Constant:
    """A non-negative integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A name, such as i or n; `span` is its place, for errors during evaluation."""

    name: str
    span: Span = field(default=Span(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """Unary minus."""

    arg: Expression


@dataclass(frozen=True, slots=True)
class Complement:
    """`not` of a condition."""

    arg: Expression


@dataclass(frozen=True, slots=True)
class Operation:
    """`left op right`; for `or`, `and` and comparisons a condition. `span` is the place of the operator, for errors
    during evaluation."""

    op: Operator
    left: Expression
    right: Expression
    span: Span = field(default=Span(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Indicator:
    """`[condition]`: 1 where the condition holds, else 0."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Application:
    """A function applied to a number; `span` is the place of the function's name, for errors during evaluation."""

    function: FunctionName
    arg: Expression
    span: Span = field(default=Span(0, 0), compare=False, repr=False)


Expression: TypeAlias = Constant | Variable | Negation | Complement | Operation | Indicator | Application
Function: TypeAlias = Callable[[Mapping[str, Rational]], RealNumber]
"""Computes the value of an expression from the values of its variables; a condition's value is a bool."""

Level = IntEnum("Level", "BRACKET OR AND NOT COMPARE SUM PRODUCT SIGN POWER FUNCTION", start=0)
"""Binding strengths of operators, from the loosest to the tightest."""
LEVELS: Final[Mapping[str, int]] = {
    "or": Level.OR,
    "and": Level.AND,
    **dict.fromkeys(COMPARISONS, Level.COMPARE),
    **dict.fromkeys(("+", "-"), Level.SUM),
    **dict.fromkeys(("*", "/", "div", "mod"), Level.PRODUCT),
    "^": Level.POWER,
}
"""The binding strength of each operator between operands."""


@dataclass(frozen=True)
class Arith:
    """An expression over rational variables. Equality and hashing use the tree only, not the text.

    `*`, `/` and `**` give the tree that is read from both operands in brackets with the operator between them. Errors
    in the new expression cite the text of its first operand with variables, so an error in both is cited wrongly.
    """

    tree: Expression
    source: Source = field(default=Source("<expression>", ""), compare=False, repr=False)

    @classmethod
    def of(cls, value: Rational | Arith) -> Arith:
        """Return a number as an expression without variables; an expression as it is."""
        if isinstance(value, Arith):
            return value
        tree: Expression = Constant(abs(value.numerator))
        tree = Negation(tree) if value < 0 else tree
        return cls(tree if value.denominator == 1 else Operation("/", tree, Constant(value.denominator)))

    def _with(self, op: Operator, other: Rational | Arith) -> Arith:
        right = Arith.of(other)
        source = self.source if self.variables or not right.variables else right.source
        return Arith(Operation(op, self.tree, right.tree), source)

    def __mul__(self, other: Rational | Arith) -> Arith:
        return self._with("*", other)

    def __rmul__(self, other: Rational) -> Arith:
        return Arith.of(other) * self

    def __truediv__(self, other: Rational | Arith) -> Arith:
        return self._with("/", other)

    def __rtruediv__(self, other: Rational) -> Arith:
        return Arith.of(other) / self

    def __pow__(self, other: Rational | Arith) -> Arith:
        return self._with("^", other)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that occur in the expression."""
        return frozenset(names_in(self.tree))

    @cached_property
    def _function(self) -> Function:
        return Valuing(self.source, "number", tuple(sorted(self.variables))).of(self.tree)

    def real(self, **values: Rational) -> Fraction | Real:
        """Return the value of the expression. Every variable that occurs must be given; others are ignored. Raises
        SourceError, with the caret at the operator, for a division by zero, an exponent that is not an integer, a power
        of more than MAX_POWER_BITS bits, and a function that has no value or may have none at the precision available;
        TypeError if a variable is not given."""
        try:
            found = self._function(values)
        except KeyError as missing:
            raise TypeError(f"no value for the variable {missing} of {self}") from None
        return found if isinstance(found, Real) else Fraction(found)

    def evaluate(self, **values: Rational) -> Fraction:
        """Return the value, which must be rational. Raises as `real` does, and SourceError at the first function if the
        value is not rational, or not known to be."""
        found = self.real(**values)
        if isinstance(found, Real):
            first = next(applications(self.tree))
            given = ", ".join(f"{name} = {values[name]}" for name in sorted(self.variables))
            what = f"{first.function} makes this value irrational, and an exact number is needed here"
            raise SourceError(self.source, first.span, f"{what}{f', at {given}' if given else ''}", hint=EXACT)
        return found

    def row(self, positions: Sequence[int], n: int) -> list[Fraction] | None:
        """Return the values at several positions i of a word of length n, if they are integer polynomials of i over one
        denominator that does not depend on i; None for other expressions, and where a value is missing."""
        found = _polynomial(self.tree, positions, n)
        if found is None:
            return None
        tops, under = found
        return [Fraction(top, under) for top in tops]

    @property
    def irrational(self) -> bool:
        """True if the expression contains a function, so that its values may be irrational."""
        return next(applications(self.tree), None) is not None

    def __str__(self) -> str:
        return _show(self.tree, 0)

    def __getstate__(self) -> dict[str, object]:
        """Pickle the tree and the text: the compiled function cannot be pickled and is rebuilt on demand."""
        return {"tree": self.tree, "source": self.source}


def _polynomial(tree: Expression, positions: Sequence[int], n: int) -> tuple[list[int], int] | None:
    """Return the value of an expression at several positions i, as integers over one positive denominator; None if a
    divisor or an exponent depends on i, for a division by 0, and for anything but arithmetic."""
    match tree:
        case Constant(value):
            return [value] * len(positions), 1
        case Variable("i"):
            return list(positions), 1
        case Variable("n"):
            return [n] * len(positions), 1
        case Negation(arg):
            inner = _polynomial(arg, positions, n)
            return None if inner is None else ([-top for top in inner[0]], inner[1])
        case Operation(("+" | "-" | "*" | "/" | "^") as op, left, right):
            first, second = _polynomial(left, positions, n), _polynomial(right, positions, n)
            if first is None or second is None:
                return None
            (tops, under), (others, beside) = first, second
            if op in ("/", "^"):
                return _scaled(op, tops, under, Fraction(others[0], beside)) if len(set(others)) == 1 else None
            if op == "*":
                return [one * two for one, two in zip(tops, others, strict=True)], under * beside
            sign = 1 if op == "+" else -1
            pairs = zip(tops, others, strict=True)
            return [one * beside + sign * two * under for one, two in pairs], under * beside
        case _:
            return None


def _scaled(op: Literal["/", "^"], tops: list[int], under: int, by: Fraction) -> tuple[list[int], int] | None:
    """Return integers over a denominator divided by a number, or raised to a small power, as such integers; None for
    other numbers."""
    if op == "^":
        small = by.denominator == 1 and 0 <= by <= SMALL_POWER and max(under, *map(abs, tops)) < SMALL_BASE
        return ([top ** int(by) for top in tops], under ** int(by)) if small else None
    if by == 0:
        return None
    sign = 1 if by > 0 else -1
    return [sign * top * by.denominator for top in tops], under * abs(by.numerator)


EXACT: Final = "log, sqrt and exp are allowed only in temperatures (--tau) and in the encodings of softmax networks"


def operands(tree: Expression) -> tuple[Expression, ...]:
    """Return the operands of an expression, from left to right."""
    match tree:
        case Negation(arg) | Complement(arg) | Indicator(arg) | Application(_, arg):
            return (arg,)
        case Operation(_, left, right):
            return left, right
        case Constant() | Variable():
            return ()


def applications(tree: Expression) -> Iterator[Application]:
    """Yield the function applications in an expression, from left to right, each before those in its argument."""
    if isinstance(tree, Application):
        yield tree
    for part in operands(tree):
        yield from applications(part)


def parse_arith(text: str, variables: Collection[str] = ("i", "n"), name: str = "<expression>") -> Arith:
    """Parse an expression whose variables are among `variables`; errors cite `name` as the file. Raises SourceError,
    with a caret, for text that is not such an expression."""
    source = Source(name, text)
    return Arith(read_tree(source, 0, text, sorted(variables), "number"), source)


def read_tree(source: Source, start: int, text: str, names: Iterable[str], sort: _Sort) -> Expression:
    """Parse a text at the offset `start` of a source to a tree of the given sort, with variables among `names`. Raises
    SourceError at the first mistake, with the expected text and a hint."""
    return _Reader(source, start, text, tuple(names), sort).whole()


# ---- reading ----

# A number may contain points here, so that `1.5` is one token and its error shows the decimal as a whole.
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][0-9.]*)|(?P<word>[^\W\d]\w*)|(?P<sign>\*\*|[<>=!]=|[-+*/^()<>=≤≥≠\[\]])|(?P<other>\S))"
)
_SPELLINGS: Final[Mapping[str, str]] = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!=", "**": "^"}
_PYTHON: Final[Mapping[str, str]] = {"=": "==", "≤": "<=", "≥": ">=", "≠": "!=", "^": "**", "div": "//", "mod": "%"}
_HINTS: Final[Mapping[str, str]] = {
    "%": "the remainder is written mod",
    **dict.fromkeys("&∧", "and is written and"),
    **dict.fromkeys("|∨", "or is written or"),
    **dict.fromkeys("!~¬", "not is written not"),
    **dict.fromkeys("×·", "a product is written *"),
    "−": "minus is written -",
    ",": f"the functions are {', '.join(FUNCTIONS)}; each takes one number",
}
_CONDITION_HINTS: Final[Mapping[str, str]] = {
    "/": "integer division, rounded down, is written div",
    "^": "a power is written **",
    **dict.fromkeys("[]", "use round brackets: ( )"),
    "#": "a condition has no counts: apply the predicate to one, as in NAME(#L[a])",
    ",": "a condition cannot call functions or other predicates",
}
"""Hints for characters that are no operators in conditions, although some are operators in other expressions."""
_CLOSING = {"(": ")", "[": "]"}
_PREFIXES: Final[Mapping[str, int]] = {
    **dict.fromkeys("([", Level.BRACKET),
    **dict.fromkeys("+-", Level.SIGN),
    "not": Level.NOT,
    **dict.fromkeys(FUNCTIONS, Level.FUNCTION),
}
_END_OR_OPERATOR: Final = "an operator or the end"


def in_python(text: str, names: Mapping[str, str] | None = None) -> str:
    """Return an expression in Python's syntax, with the variables in `names` renamed; white space stays."""

    def respelled(found: re.Match[str]) -> str:
        word = found[found.lastgroup or 0]
        return found[0].removesuffix(word) + _PYTHON.get(word, (names or {}).get(word, word))

    return _TOKEN.sub(respelled, text)


class _Part(NamedTuple):
    """A subexpression that has been read: its tree, its place, and its top operator `op` unless it is an operand
    or bracketed."""

    tree: Expression
    whole: Span
    op: Lexeme | None = None

    @property
    def sort(self) -> _Sort:
        logical = isinstance(self.tree, Operation) and LEVELS[self.tree.op] <= Level.COMPARE
        return "condition" if logical or isinstance(self.tree, Complement) else "number"


class _Pending(NamedTuple):
    """An operator, sign or opening bracket that waits for its right operand."""

    token: Lexeme
    level: int
    prefix: bool


class _Reader(Cited):
    """An operator-precedence parser. `parts` are the operands that no operator has taken yet, `pending` the operators
    and brackets between and before them; `text` begins at the offset `start` of the source."""

    def __init__(self, source: Source, start: int, text: str, names: tuple[str, ...], sort: _Sort) -> None:
        super().__init__(source)
        self.start, self.text, self.names, self.sort = start, text, names, sort
        self.bounded = sort == "condition"
        self.functions = () if self.bounded else tuple(name for name in FUNCTIONS if name not in names)
        first = ["an integer", *names, *self.functions, "a sign", *["not"] * self.bounded]
        self.operand = f"{', '.join(first)} or an opening bracket"
        self.parts: list[_Part] = []
        self.pending: list[_Pending] = []
        self.tokens: list[Lexeme] = []
        """The tokens of the text; the last one is `end`."""
        self.before: Lexeme | None = None
        """The token before the current one; None at the first."""

    def written(self, span: Span) -> str:
        """Return the text at a place, with comments blanked out."""
        return self.text[span.start - self.start : span.end - self.start]

    def whole(self) -> Expression:
        """Parse the whole text to one expression. Raises SourceError at the first mistake."""
        self._scan()
        end = self.tokens[-1].span
        if len(self.tokens) == 1:
            raise self.error(end, "the expression is empty", self.operand)
        # `complete`: the tokens so far form a complete operand, so an operator, a closing bracket or the end may
        # follow.
        complete = False
        for place, token in enumerate(self.tokens):
            self.before = self.tokens[place - 1] if place else None
            if complete and token.kind == "sign" and token.value in LEVELS:
                level = LEVELS[token.value]
                # `^` groups to the right: an earlier `^` of the same level keeps waiting.
                self._reduce(level + 1 if level == Level.POWER else level)
                self._push(token, level)
                complete = False
            elif complete:
                self._close(token)
            elif token.kind == "sign" and token.value in _PREFIXES:
                self._require_brackets(token, self.tokens[place + 1])
                self._push(token, _PREFIXES[token.value], prefix=True)
            else:
                self.parts.append(self._leaf(token, self.tokens[place + 1 : place + 2]))
                complete = True
        return self._need(self.parts[0], self.sort).tree

    def _scan(self) -> None:
        operations = 0
        for match in _TOKEN.finditer(self.text):
            kind = match.lastgroup or "other"
            text, span = match[kind], Span(self.start + match.start(kind), self.start + match.end(kind))
            if kind == "other" or (self.bounded and text in _CONDITION_HINTS):
                shown = text if text.isprintable() else f"U+{ord(text):04X}"
                hint = self._hint(text)
                raise self.error(span, f"unknown operator {shown}", "an operator or an operand", hint)
            kind = "sign" if text in WORD_OPERATORS or text in self.functions else kind
            operations += kind == "sign" and text not in _CLOSING.values()
            if operations > MAX_OPERATIONS and not self.bounded:
                raise self.error(span, f"more than {MAX_OPERATIONS} operators and brackets in one expression")
            self.tokens.append(Lexeme(kind, _SPELLINGS.get(text, text), span))
        end = self.start + len(self.text.rstrip())
        self.tokens.append(Lexeme("end", "", Span(end, end + 1)))

    def _hint(self, text: str) -> str:
        """Return the hint for a character that is no operator, or ""."""
        return (self.bounded and _CONDITION_HINTS.get(text)) or _HINTS.get(text, "")

    def _require_brackets(self, token: Lexeme, following: Lexeme) -> None:
        """Raise SourceError if a function is not followed by an opening bracket."""
        if token.value in self.functions and following.value != "(":
            name = token.value
            message = f"{name} without brackets"
            raise self.error(token.span, message, f"{name}(...)", "write the argument of a function in ( )")

    def _leaf(self, token: Lexeme, following: list[Lexeme]) -> _Part:
        """Return the operand that consists of the given token. Raises SourceError if the token is no operand."""
        if token.kind == "number":
            return _Part(Constant(self._integer(token)), token.span)
        if token.kind != "word":
            message = f"missing operand before {self.written(token.span)}"
            if self.before is not None:
                message = f"missing operand after {self.written(self.before.span)}"
                if _CLOSING.get(self.before.value) == token.value:
                    message = "nothing between the brackets"
            raise self.error(token.span, message, self.operand)
        # `n(i)` looks like a call: the hint lists the functions instead of similar names.
        if token.value not in self.names:
            hint = did_you_mean(token.value, sorted([*WORD_OPERATORS, *self.functions, *self.names]))
            if self.bounded and token.value in FUNCTIONS:
                hint = f"a condition is of integers, which {token.value} does not give"
            elif [each.value for each in following] == ["("]:
                hint = (not self.bounded and did_you_mean(token.value, self.functions)) or self._hint(",")
            raise self.error(token.span, f"unknown name {token.value!r}", self.operand, hint)
        return _Part(Variable(token.value, token.span), token.span)

    def _integer(self, token: Lexeme) -> int:
        digits = token.value
        if "." in digits:
            hint = "multiply both sides of the comparison"
            if not self.bounded:
                whole = len(digits) <= MAX_DIGITS and digits.count(".") == 1
                hint = f"numbers are exact: {f'write {Fraction(digits)}' if whole else 'integers and their quotients'}"
            raise self.error(token.span, "not an integer", "an integer", hint)
        if self.bounded:
            return self.integer(digits, token.span)
        if len(digits) > MAX_DIGITS:
            raise self.error(token.span, f"an integer of more than {MAX_DIGITS} digits", "a smaller integer")
        return int(digits)

    def _push(self, token: Lexeme, level: int, prefix: bool = False) -> None:
        """Add an operator, sign or opening bracket to those that wait for the operand that follows."""
        if not prefix:
            left = self.parts[-1]
            if level == Level.COMPARE and left.op is not None and LEVELS.get(left.op.value) == Level.COMPARE:
                hint = "join two comparisons with and, as in 1 < i and i < n"
                raise self.error(token.span, "comparisons do not chain", "and, or, or the end", hint)
            self._need(left, "condition" if level <= Level.AND else "number")
        self.pending.append(_Pending(token, level, prefix))
        nests = prefix or level == Level.POWER
        if nests and sum(each.prefix or each.level == Level.POWER for each in self.pending) > MAX_NESTING:
            hint = "leave out brackets and signs that are not needed"
            raise self.error(token.span, f"nesting beyond {MAX_NESTING} levels", hint=hint)

    def _reduce(self, level: int) -> None:
        """Apply the pending operators that bind at least as tightly as `level`, back to the last open bracket."""
        while self.pending and self.pending[-1].level >= level:
            pending, right = self.pending.pop(), self.parts.pop()
            self.parts.append(self._applied(pending, right))

    def _applied(self, pending: _Pending, right: _Part) -> _Part:
        """Apply an operator to its right operand and, unless the operator is a prefix, to the last of `parts`,
        which it removes."""
        token = pending.token
        self._need(right, "condition" if pending.level <= Level.NOT else "number")
        if pending.prefix:
            whole = Span(token.span.start, right.whole.end)
            match token.value:
                case "-":
                    return _Part(Negation(right.tree), whole)
                case "not":
                    return _Part(Complement(right.tree), whole)
                case "log" | "sqrt" | "exp" as name:
                    return _Part(Application(name, right.tree, token.span), whole)
            return _Part(right.tree, whole)
        left = self.parts.pop()
        if self.bounded:
            self._check_mod(left, token, right)
        tree = Operation(cast(Operator, token.value), left.tree, right.tree, token.span)
        return _Part(tree, Span(left.whole.start, right.whole.end), token)

    def _check_mod(self, left: _Part, token: Lexeme, right: _Part) -> None:
        """Raise SourceError for `mod` beside an operator without brackets: in formulas `mod` binds less tightly than `+
        - *`, and no condition may have two readings."""
        op = token.value
        for part, ops, ways in (
            (left, ("+", "-", "*", "div"), f"(i mod m) {op} k or i mod (m {op} k)"),
            (right, ("+", "-"), f"i {op} (k mod m) or (i {op} k) mod m"),
        ):
            if op in ops and part.op is not None and part.op.value == "mod":
                raise self.error(part.op.span, f"mod beside {op} without brackets", "brackets", f"write {ways}")

    def _close(self, token: Lexeme) -> None:
        """Process a token after an operand that is no operator: a closing bracket or the end."""
        if token.kind != "end" and token.value not in _CLOSING.values():
            shown, before = self.excerpt(token.span), self.before
            # Only operands without a space between them, as in `2n`, look like a product.
            touches = before is not None and before.span.end == token.span.start
            hint = f"a product is written *: {self.excerpt(before.span)}*{shown}" if before and touches else ""
            raise self.error(token.span, f"missing operator before {shown}", _END_OR_OPERATOR, hint)
        self._reduce(Level.OR)
        if token.kind == "end":
            if self.pending:
                opened = self.pending[-1].token
                message = f"this bracket is never closed: {opened.value}"
                raise self.error(opened.span, message, f"{_CLOSING[opened.value]} further on")
            return
        if not self.pending:
            raise self.error(token.span, f"this bracket closes nothing: {token.value}", _END_OR_OPERATOR)
        opened, part = self.pending.pop().token, self.parts.pop()
        if _CLOSING[opened.value] != token.value:
            message = f"{token.value} does not close {opened.value}"
            raise self.error(token.span, message, _CLOSING[opened.value])
        tree = part.tree if opened.value == "(" else Indicator(self._need(part, "condition").tree)
        self.parts.append(_Part(tree, Span(opened.span.start, token.span.end)))

    def _need(self, part: _Part, sort: _Sort) -> _Part:
        """Return an operand if it has the required sort, else raise SourceError."""
        if part.sort == sort:
            return part
        shown = self.excerpt(part.whole)
        hint = "compare it with something, as in i mod 2 == 0" if sort == "condition" else ""
        if sort == "condition" and re.compile(r"[^\S\n]+//").match(self.source.text, part.whole.end):
            hint = "// begins a comment; integer division is written div"
        elif sort == "number" and not self.bounded:
            hint = f"write [{shown}] for 1 where it holds and 0 elsewhere"
        message = f"{shown} is a {part.sort}, and a {sort} is needed here"
        raise self.error(part.whole, message, f"a {sort}", hint)


# ---- evaluation ----


class _NoValueError(Exception):
    """An operation has no value for its operands. Arguments: a message, in which {} stands for the operation, and
    a hint."""


def names_in(tree: Expression) -> set[str]:
    """Return the variable names in an expression."""
    return {tree.name} if isinstance(tree, Variable) else set[str]().union(*map(names_in, operands(tree)))


_Binary: TypeAlias = Callable[[Any, Any], Any]


def _by(divide: _Binary, hint: str) -> _Binary:
    """Wrap a division: a divisor of zero raises _NoValueError with `hint`."""

    def division(dividend: RealNumber, divisor: RealNumber) -> Any:
        if divisor == 0:
            raise _NoValueError("division by zero in {}", hint)
        return divide(dividend, divisor)

    return division


def _quotient(dividend: RealNumber, divisor: RealNumber) -> RealNumber:
    if isinstance(dividend, Real) or isinstance(divisor, Real):
        return dividend / divisor if isinstance(dividend, Real) else Fraction(dividend) / divisor
    return Fraction(dividend, divisor)


def _whole(divide: _Binary) -> _Binary:
    """Wrap a division with remainder (`div`, `mod`): operands that are not rational raise _NoValueError."""

    def division(dividend: RealNumber, divisor: RealNumber) -> Any:
        if isinstance(dividend, Real) or isinstance(divisor, Real):
            raise _NoValueError("a number that is not rational in {}", "div and mod take rational numbers only")
        return divide(dividend, divisor)

    return division


def _power(base: RealNumber, exponent: RealNumber) -> RealNumber:
    if isinstance(exponent, Real) or exponent.denominator != 1:
        raise _NoValueError("an exponent that is not an integer in {}", "write other powers of x > 0 as exp(y*log(x))")
    whole = int(exponent)
    if isinstance(base, Real):
        # the bit length of a real is that of the midpoint of an enclosure: mantissa bits plus exponent
        size = base.ball(64).mid().man_exp()
        bits = abs(int(size[1]) + int(size[0]).bit_length()) + 1
    else:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits > 1 and bits * abs(whole) > MAX_POWER_BITS:
        raise _NoValueError(f"a power of more than {MAX_POWER_BITS} bits in {{}}", "use a smaller exponent")
    if isinstance(base, Real):
        return base**whole
    if whole < 0 and base == 0:
        raise _NoValueError("division by zero in {}", "a negative power divides by its base")
    return base**whole if whole >= 0 else Fraction(1, base**-whole)


def _compared(comparison: Callable[[Any, Any], bool]) -> _Binary:
    """Turn a comparison of a number with 0 into one of two numbers, which may be irrational."""
    return lambda left, right: comparison(compare(left, right), 0)


def _bounded_power(base: int, exponent: int) -> int:
    """Return the power, or some number greater than MAX_INTEGER if its absolute value is; both arguments are within
    that limit. Raises _NoValueError for a negative exponent."""
    if exponent < 0:
        raise _NoValueError("negative exponent in {}", "values are integers")
    if abs(base) <= 1 or exponent <= MAX_INTEGER.bit_length():
        return int(base**exponent)
    return 2 * MAX_INTEGER  # |base| >= 2, so the power has more bits than MAX_INTEGER


def _limited(value: Rational, what: str = "{}") -> Rational:
    """Return a value, or raise _NoValueError if its absolute value exceeds MAX_INTEGER."""
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise _NoValueError(f"{what} is larger than 10^18 in absolute value", "")
    return value


def _bounded(operation: _Binary) -> _Binary:
    return lambda left, right: _limited(operation(left, right))


_RING: Final[Mapping[str, _Binary]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_NEVER = "the divisor must not be 0 at any position or length"
_GUARD = "guard it, as in `x != 0 and n {op} x == 1`: `and` skips its right side if the left side is false"
_REAL: Final[Mapping[str, _Binary]] = {
    **_RING,
    **{op: _compared(comparison) for op, comparison in COMPARISONS.items()},
    "/": _by(_quotient, _NEVER),
    "div": _by(_whole(operator.floordiv), _NEVER),
    "mod": _by(_whole(operator.mod), _NEVER),
    "^": _power,
}
_INTEGER: Final[Mapping[str, _Binary]] = {
    **{op: _bounded(operation) for op, operation in _RING.items()},
    **COMPARISONS,
    "div": _bounded(_by(operator.floordiv, _GUARD.format(op="div"))),
    "mod": _bounded(_by(operator.mod, _GUARD.format(op="mod"))),
    "^": _bounded(_bounded_power),
}


@dataclass(frozen=True, slots=True)
class Valuing:
    """Compiles expression trees to functions: rational or real arithmetic for a number, bounded integers for a
    condition. An operation without a value raises SourceError at its place in the source; the message begins with
    `prefix` and ends with the values of `names`."""

    source: Source
    sort: _Sort
    names: tuple[str, ...]
    prefix: str = ""

    def of(self, tree: Expression) -> Function:
        """Return a function that computes the value of a tree from the values of its variables (a bool for a
        condition). A chain of operators to the left, such as a long sum, is evaluated by one loop, so its length costs
        no recursion."""
        nodes: list[Operation] = []
        while isinstance(tree, Operation):
            nodes.append(tree)
            tree = tree.left
        first = self._operand(tree)
        operations = _INTEGER if self.sort == "condition" else _REAL
        steps: list[tuple[Operation, _Binary | None, Function]] = [
            (node, operations.get(node.op), self.of(node.right)) for node in reversed(nodes)
        ]

        def run(values: Mapping[str, Rational]) -> RealNumber:
            value = first(values)
            for node, operation, right in steps:
                if operation is not None:
                    other = right(values)
                    try:
                        value = operation(value, other)
                    except (_NoValueError, SignUnknown) as error:
                        op = self.source.text[node.span.start : node.span.end] or node.op
                        written = f"{_shown(value)} {op} {_shown(other)}"
                        raise self._refusal(error, node.span, written, values) from None
                elif bool(value) != (node.op == "or"):
                    value = right(values)
            return value

        return run if steps else first

    def _operand(self, tree: Expression) -> Function:
        match tree:
            case Constant(value):
                return lambda _: value
            case Variable(name, span) if self.sort == "condition":

                def argument(values: Mapping[str, Rational]) -> RealNumber:
                    try:
                        return _limited(values[name], "the argument")
                    except _NoValueError as error:
                        raise self._refusal(error, span, "", values) from None

                return argument
            case Variable(name):
                return lambda values: values[name]
            case Negation(arg):
                inner = self.of(arg)
                return lambda values: -inner(values)
            case Complement(arg):
                inner = self.of(arg)
                return lambda values: not inner(values)
            case Indicator(condition):
                inner = self.of(condition)
                return lambda values: int(bool(inner(values)))
            case Application(name, arg, span):
                inner = self.of(arg)

                def applied(values: Mapping[str, Rational]) -> RealNumber:
                    value = inner(values)
                    try:
                        return apply(name, value)
                    except (ValueError, SignUnknown) as wrong:
                        advice = "a function must have a value at every position and length"
                        error = wrong if isinstance(wrong, SignUnknown) else _NoValueError(str(wrong), advice)
                        raise self._refusal(error, span, _application(name, value), values) from None

                return applied
            case Operation():
                return self.of(tree)

    def _refusal(
        self, error: _NoValueError | SignUnknown, span: Span, written: str, values: Mapping[str, Rational]
    ) -> SourceError:
        unknown = (
            "the sign of a number is unknown, and {} depends on it",
            "it is 0, or too close to 0 to be told apart from it",
        )
        message, hint = unknown if isinstance(error, SignUnknown) else error.args
        given = ", ".join(f"{name} = {values[name]}" for name in self.names)
        place = f", at {given}" if given else ""
        return SourceError(self.source, span, f"{self.prefix}{message.format(written)}{place}", hint=hint)


def _application(name: FunctionName, value: RealNumber) -> str:
    shown = _shown(value)
    return f"{name}{shown}" if shown.startswith("(") else f"{name}({shown})"


def _shown(value: RealNumber) -> str:
    if isinstance(value, Real):
        return f"({value})"
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 256:
        return "..."
    return f"({value})" if value < 0 or value.denominator != 1 else str(value)


def linear_form(tree: Expression, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return integers c1, c2, ..., c such that the expression equals c1 name1 + c2 name2 + ... + c, for the names in
    `names`; None for an expression that is not linear, or has a division, a power, a function, a condition or
    another name."""
    match tree:
        case Constant(value):
            return (*(0 for _ in names), value)
        case Variable(name) if name in names:
            return (*(int(name == other) for other in names), 0)
        case Negation(arg):
            return linear_form(Operation("-", Constant(0), arg), names)
        case Operation("+" | "-" | "*" as op, left, right):
            one, other = linear_form(left, names), linear_form(right, names)
            if one is None or other is None:
                return None
            if op != "*":
                sign = 1 if op == "+" else -1
                return tuple(a + sign * b for a, b in zip(one, other, strict=True))
            number, form = (other, one) if any(one[:-1]) else (one, other)
            return None if any(number[:-1]) else tuple(number[-1] * a for a in form)
    return None


# ---- printing ----


def _show(tree: Expression, level: int) -> str:
    """Return the text of a tree with the fewest brackets, at a place that needs an operator of at least `level`. A
    negation gets brackets except at the left end and in comparisons, because `a--b` is hard to read."""
    own: int
    match tree:
        case Constant(value):
            return str(value)
        case Variable(name):
            return name
        case Negation(arg):
            own, inner = Level.SIGN, f"-{_show(arg, Level.POWER)}"
        case Complement(arg):
            own, inner = Level.NOT, f"not {_show(arg, Level.NOT)}"
        case Operation("^", left, right):
            own, inner = Level.POWER, f"{_show(left, Level.POWER + 1)}^{_show(right, Level.POWER)}"
        case Operation(op, left, right):
            own = LEVELS[op]
            sign = f" {op} " if op in WORD_OPERATORS or op in COMPARISONS else op
            bare = own <= Level.COMPARE or not isinstance(right, Negation)
            inner = f"{_show(left, own)}{sign}{_show(right, own + 1) if bare else f'({_show(right, 0)})'}"
        case Indicator(condition):
            return f"[{_show(condition, 0)}]"
        case Application(name, arg):
            return f"{name}({_show(arg, 0)})"
    return f"({inner})" if own < level else inner
