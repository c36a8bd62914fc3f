"""Expressions in certificates: position encodings, temperatures, and the conditions of predicates.

They have the syntax of Python, but this module parses and evaluates them itself, with exact arithmetic. Operators from
loosest to tightest: `or`; `and`; `not`; comparisons, which chain (`1 < i <= n`); `+ -`; `* / // %`; signs; `**`, which
groups to the right (`-2**2` is -4). Operands are integers, the names `i`, `n`, `j` and `x`, predicates of a number,
brackets, and conditions as numbers: `[i == 1]` is 1 if the condition holds, else 0. Temperatures may also have
`log(x)`, `sqrt(x)` and `exp(x)`; these are known by a lower and an upper bound (`enclosures`).

All other numbers are exact: `/` divides, `//` and `%` round down, exponents are integers. Numbers and truth values are
apart: there is no sum of truth values, and no `and` of numbers. `and`, `or` and chains evaluate an operand only if the
ones before do not decide. An expression has no value, and is rejected, if it divides by zero, asks a predicate of a
fraction, or becomes too large.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

from hardsim.verify.arithmetic import Rejected, bits, require
from hardsim.verify.enclosures import CLOSE, FUNCTIONS, PRECISIONS, Blurred, Enclosure, RealValue, contexts, ends, short

LONGEST = 1 << 14
"""Most characters of an expression."""
DIGITS = 2000
"""Most digits of an integer in an expression."""
NESTING = 100
"""Most brackets and exponents inside each other."""
LEVELS = 250
"""Most operators, brackets and exponents inside each other. Functions that walk a tree call themselves at most some
three times for each, so Python's limit of 1000 nested calls is not reached."""
POWER_BITS = 1 << 14
"""Most bits of a numerator or denominator of an intermediate value."""
LARGEST_PRIME = 3_317_044_064_679_887_385_961_981
"""Bound below which the Miller-Rabin test with the first 13 primes as bases is exact (Sorenson and Webster 2015)."""
BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)

FEW = 38
"""Decimal digits of the bounds of an inverse temperature, which have less than 128 bits then."""
MOST_POWER = 1000
"""Largest exponent of a number that is not rational."""

Names = dict[str, int]
"""Values by name. Besides, "" counts the work for large numbers, and "digits" is the precision of enclosures."""
Spend = Callable[[int], None]
"""A function that is called with the number of steps done."""
Tree = int | str | tuple[Any, ...]
Run = Callable[[Names], RealValue]
"""A function from the values of the names to the value of the expression, a bool for a truth value."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression or a part of one. Only a whole one has `names`, the names that occur, and `size`, its number
    of tokens."""

    truth: bool
    run: Run
    tree: Tree
    """An integer, a name, or a tuple of an operator and its operands. A chain of operators of one level is ("chain",
    first, (operator, operand), ...)."""
    names: frozenset[str] = frozenset()
    size: int = 0


@lru_cache(maxsize=1024)
def expression(text: str, names: str = "inx", functions: bool = False) -> Expression:
    """Parse an expression in some of the names `i`, `n`, `j` and `x`, each one letter of `names`; `functions` allows
    log, sqrt and exp. Raises Rejected if the text is not such an expression, or is too long or too deep."""
    require(len(text) <= LONGEST, f"too large: an expression of {len(text)} characters")
    reader = _Reader(text, names, functions)
    part = reader.expression(0)
    reader.take("")
    return Expression(part.truth, part.run, part.tree, frozenset(reader.used), len(reader.tokens))


def evaluate(what: Expression, spend: Spend = lambda work: None, **names: int) -> Fraction:
    """Return the exact value of an expression, 0 or 1 for a truth value. `spend` is called with the work done. Raises
    Rejected if the expression has no value, or none that is rational."""
    low, high = enclosure(what, spend, **names)
    require(low == high, "the value of an expression is not rational")
    return low


def inverse_of(what: Expression, spend: Spend = lambda work: None, **names: int) -> tuple[Fraction, Fraction] | None:
    """Return a and s such that one over the value of an expression is from a to s a. If the value is rational s is 1,
    else a and s have few digits. Return None if the value is not known to be positive. Raises Rejected if the
    expression has no value."""
    low, high = enclosure(what, spend, **names)
    if low <= 0:
        return None
    if low == high:
        return 1 / low, Fraction(1)
    below, above = contexts(FEW)
    found = short(1 / high, below)
    return found, short(1 / low / found, above)


def enclosure(what: Expression, spend: Spend = lambda work: None, **names: int) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of the value of an expression; both are the value if the expression has no
    functions. `spend` is called with the work done. Raises Rejected if the expression has no value, or is not known to
    have one."""
    # Few digits first: most temperatures need no more.
    for digits in PRECISIONS:
        values = {**names, "": what.size, "digits": digits}
        try:
            low, high = map(Fraction, ends(what.run(values)))
        except ZeroDivisionError:
            raise Rejected("an expression divides by zero") from None
        except Blurred:
            if digits == PRECISIONS[-1]:
                raise
            continue
        # Work counts even if it ends in an exception.
        finally:
            spend(values[""])
        if low == high or high - low <= CLOSE * abs(low):
            break
    return low, high


# ---- reading ----

_TOKEN = re.compile(r"[ \t\r\n]*(?:([0-9]+|[A-Za-z_][A-Za-z0-9_]*|\*\*|//|[<>=!]=|[-+*/%<>()[\]])|$|(.))")
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER = range(8)
_LEVELS = {"or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT}
_LEVELS |= {"**": _POWER} | dict.fromkeys(("<", "<=", "==", "!=", ">=", ">"), _COMPARE)


class _Reader:
    """A parser by precedence climbing. Operators of one level make one chain, so that long sums are not deep."""

    def __init__(self, text: str, names: str, functions: bool) -> None:
        self.text, self.names, self.used, self.depth, self.next = text, names, set[str](), 0, 0
        self.levels = 0
        self.functions = functions
        self.tokens: list[str] = []
        # The last group matches any other character, so that nothing is skipped.
        for token, other in _TOKEN.findall(text):
            require(not other, self.wrong())
            self.tokens.append(token)

    def wrong(self) -> str:
        shown = self.text if len(self.text) <= 200 else f"{self.text[:200]}..."
        return f"the expression {shown!a} is not understood"

    @property
    def token(self) -> str:
        return self.tokens[self.next] if self.next < len(self.tokens) else ""

    def take(self, token: str | None = None) -> str:
        """Return the next token and go on. Raises Rejected if another one was expected; "" stands for the end."""
        found = self.token
        require(token is None or found == token, self.wrong())
        self.next += 1
        return found

    def several(self, *tokens: str) -> list[str]:
        """Return all tokens from here on that are among the given ones."""
        found = list[str]()
        while self.token in tokens:
            found.append(self.take())
        return found

    def expression(self, level: int) -> Expression:
        """Parse an expression whose operators outside brackets have at least this level."""
        self.levels += 1
        require(self.levels <= LEVELS, f"too large: more than {LEVELS} operators inside each other in an expression")
        left = self.operand(level)
        while (own := _LEVELS.get(self.token, -1)) >= level:
            # A power is no chain: its exponent may have a sign, and groups to the right.
            if own == _POWER:
                self.take()
                left = _power(self.number(left), self.number(self.inside(_SIGN)))
                continue
            chain = list[tuple[str, Expression]]()
            while _LEVELS.get(self.token, -1) == own:
                # The right operand takes tighter operators only, so that a - b - c is (a - b) - c.
                chain.append((self.take(), self.expression(own + 1)))
            logical = own in (_OR, _AND)
            for part in (left, *(part for _, part in chain)):
                require(part.truth == logical, f"{self.wrong()}: a truth value stands where a number is expected")
            make = _logical if logical else _comparison if own == _COMPARE else _arithmetic
            run = make(left.run, tuple((op, part.run) for op, part in chain))
            tree = ("chain", left.tree, *((op, part.tree) for op, part in chain))
            left = Expression(own <= _COMPARE, run, tree)
        self.levels -= 1
        return left

    def operand(self, level: int) -> Expression:
        """Parse an operand: signs or `not` before an operand, brackets, a function, a predicate, an integer or
        a name."""
        if signs := self.several("+", "-"):
            number = self.number(self.expression(_POWER))
            run = number.run
            return Expression(False, lambda names: -run(names), ("-", number.tree)) if signs.count("-") % 2 else number
        if level <= _NOT and (nots := self.several("not")):
            part = self.expression(_COMPARE)
            require(part.truth, f"{self.wrong()}: a number stands where a truth value is expected")
            turned = len(nots) % 2
            return Expression(
                True, lambda names: bool(part.run(names)) != turned, ("not", part.tree) if turned else part.tree
            )
        token = self.take()
        if token == "(":
            part = self.inside(_OR)
            self.take(")")
            return part
        if token == "[":
            part = self.inside(_OR)
            self.take("]")
            require(part.truth, f"{self.wrong()}: a number stands where a truth value is expected")
            return Expression(False, lambda names: int(bool(part.run(names))), ("[", part.tree))
        if token in PREDICATES:
            self.take("(")
            query, predicate = self.number(self.inside(_OR)), PREDICATES[token]
            self.take(")")
            return Expression(True, lambda names: predicate(_whole(query.run(names))), (token, query.tree))
        if token in FUNCTIONS:
            require(self.functions, f"{self.wrong()}: {token} has no exact value and may stand in temperatures only")
            self.take("(")
            arg = self.number(self.inside(_OR))
            self.take(")")
            return _application(token, arg)
        if token.isdigit():
            require(len(token) <= DIGITS, f"too large: an integer of {len(token)} digits")
            value = int(token)
            return Expression(False, lambda names: value, value)
        require(token and token in self.names and len(token) == 1, self.wrong())
        self.used.add(token)
        return Expression(False, lambda names: names[token], token)

    def inside(self, level: int) -> Expression:
        """Parse an expression inside brackets or an exponent. Raises Rejected if they are nested too deeply."""
        self.depth += 1
        require(self.depth <= NESTING, f"too large: more than {NESTING} brackets and exponents inside each other")
        part = self.expression(level)
        self.depth -= 1
        return part

    def number(self, part: Expression) -> Expression:
        require(not part.truth, f"{self.wrong()}: a truth value stands where a number is expected")
        return part


# ---- meaning ----

Chain = tuple[tuple[str, Run], ...]

OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: (Fraction(a) if isinstance(a, int) else a) / b,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def _fit(x: RealValue, names: Names) -> RealValue:
    """Return a number and count the work for its size. Raises Rejected if it has too many bits."""
    if isinstance(x, Enclosure):
        names[""] += 10 + (bits(x.low) + bits(x.high) >> 6)
        return x
    size = bits(x)
    if size > 64:
        require(size <= POWER_BITS, f"too large: a number of more than {POWER_BITS} bits in an expression")
        names[""] += size >> 6
    return x


def _whole(x: RealValue) -> int:
    if isinstance(x, Enclosure) or x.denominator != 1:
        raise Rejected("an expression has a fraction where it needs an integer")
    return x.numerator


def _application(function: str, arg: Expression) -> Expression:
    def run(names: Names) -> RealValue:
        names[""] += 4 * names["digits"]
        return _fit(FUNCTIONS[function](arg.run(names), names["digits"]), names)

    return Expression(False, run, (function, arg.tree))


def _arithmetic(first: Run, chain: Chain) -> Run:
    steps = tuple((OPERATIONS[op], run) for op, run in chain)

    def run(names: Names) -> RealValue:
        total = first(names)
        for operation, other in steps:
            total = _fit(operation(total, other(names)), names)
        return total

    return run


def _comparison(first: Run, chain: Chain) -> Run:
    steps = tuple((OPERATIONS[op], run) for op, run in chain)

    def run(names: Names) -> bool:
        left = first(names)
        for compare, other in steps:
            right = other(names)
            if not compare(left, right):
                return False
            left = right
        return True

    return run


def _logical(first: Run, chain: Chain) -> Run:
    """Return the truth of `and` or `or` of several conditions: the first one that is false (for `or`: true) decides."""
    runs, decides = (first, *(run for _, run in chain)), chain[0][0] == "or"
    return lambda names: next((decides for run in runs if run(names) == decides), not decides)


def _power(base: Expression, exponent: Expression) -> Expression:
    def run(names: Names) -> RealValue:
        b, e = base.run(names), _whole(exponent.run(names))
        if isinstance(b, Enclosure):
            require(abs(e) <= MOST_POWER, f"too large: an exponent above {MOST_POWER} of a number that is not rational")
            names[""] += abs(e) * (10 + (bits(b.low) + bits(b.high) >> 6))
            # Enclosures are multiplied one by one, each time rounded.
            return b**e
        # Powers of 1 and -1 have any exponent: (-1)**i is common.
        if abs(b) == 1:
            return b if e % 2 else 1
        require(not b or bits(b) * abs(e) <= 2 * POWER_BITS, f"too large: a power of more than {POWER_BITS} bits")
        return _fit(b**e if e >= 0 else Fraction(1, b**-e), names)

    return Expression(False, run, ("**", base.tree, exponent.tree))


def is_prime(x: int) -> bool:
    """Return True if an integer is a prime, by the Miller-Rabin test with bases for which it is exact. Raises Rejected
    if the integer is too large for these bases."""
    require(x < LARGEST_PRIME, f"too large: PRIME is decided below {LARGEST_PRIME}")
    if x < 2 or any(x % base == 0 for base in BASES):
        return x in BASES
    # The exponent of 2 in x - 1: the lowest bit that is set.
    twos = (x - 1 & 1 - x).bit_length() - 1
    for base in BASES:
        powers = [pow(base, (x - 1 >> twos) << k, x) for k in range(twos)]
        if powers[0] != 1 and x - 1 not in powers:
            return False
    return True


PREDICATES: Mapping[str, Callable[[int], bool]] = {
    "PRIME": is_prime,
    "SQUARE": lambda x: x >= 0 and isqrt(x) ** 2 == x,
    "POW2": lambda x: x > 0 and x & (x - 1) == 0,
}
