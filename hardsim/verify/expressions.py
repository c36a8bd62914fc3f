"""The expressions of certificates: position encodings, temperatures, and the conditions of predicates.

They are written as Python writes them, and mean what exact arithmetic makes of them; nothing of Python runs them.
Loosest first: `or`; `and`; `not`; comparisons, which chain (`1 < i <= n`); `+ -`; `* / // %`; signs; `**`, which groups
to the right (`-2**2` is -4). Operands are integers, the names `i`, `n`, `j` and `x`, predicates of a number, brackets,
and conditions as numbers: `[i == 1]` is 1 where it holds, and else 0. In temperatures alone also `log(x)`, `sqrt(x)`
and `exp(x)`, whose values are known by rationals on both sides (`enclosures`).

Other numbers are exact: `/` divides, `//` and `%` round down, a power has a whole exponent. Numbers and truths are kept
apart: there is no sum of truths, and no `and` of numbers. `and`, `or` and chains look at what follows only if it
matters. What divides by zero, asks a predicate of a fraction, or becomes too large has no value, and is rejected.
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
"""Characters of an expression."""
DIGITS = 2000
"""Digits of an integer in it."""
NESTING = 100
"""Brackets and exponents inside each other."""
LEVELS = 250
"""Operators, brackets and exponents inside each other. Whatever walks a tree calls itself at most some three times for
each, so that Python's limit of 1000 calls is not met."""
POWER_BITS = 1 << 14
"""Bits of a numerator or denominator on the way to a value."""
LARGEST_PRIME = 3_317_044_064_679_887_385_961_981
"""Below it the Miller-Rabin test with the first 13 primes as bases is exact (Sorenson and Webster 2015)."""
BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)

FEW = 38
"""Digits of one over a number; they have less than 128 bits."""
MOST_POWER = 1000
"""The largest exponent of what is no rational number."""

Names = dict[str, int]
"""What the names stand for; "" counts the work that large numbers make, "digits" are those of enclosures."""
Tree = int | str | tuple[Any, ...]
Run = Callable[[Names], RealValue]
"""The value, given the names; a truth is a bool."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, or a part of one, that was understood: whether it is a truth, and what it means; of a whole one
    also the names in it and how many operators it has."""

    truth: bool
    run: Run
    tree: Tree
    """An integer, a name, or an operator and what it is about."""
    names: frozenset[str] = frozenset()
    size: int = 0


@lru_cache(maxsize=1024)
def expression(text: str, names: str = "inx", functions: bool = False) -> Expression:
    """Read an expression in some of the names `i`, `n`, `x`, with log, sqrt and exp if `functions` may be there. Raises
    Rejected if it is none."""
    require(len(text) <= LONGEST, f"too large: an expression of {len(text)} characters")
    reader = _Reader(text, names, functions)
    part = reader.expression(0)
    reader.take("")
    return Expression(part.truth, part.run, part.tree, frozenset(reader.used), len(reader.tokens))


def evaluate(what: Expression, spend: Callable[[int], None] = lambda work: None, **names: int) -> Fraction:
    """The exact value of an expression, 0 or 1 if it is a truth; `spend` is told how much work that was. Raises
    Rejected if it has none."""
    low, high = enclosure(what, spend, **names)
    require(low == high, "an expression is no rational number")
    return low


def inverse_of(
    what: Expression, spend: Callable[[int], None] = lambda work: None, **names: int
) -> tuple[Fraction, Fraction] | None:
    """Numbers a and s such that one over the value of an expression is between a and s a; s is 1 where that is a
    rational, else both are short. None if the value is not seen to be positive. Raises as `enclosure`."""
    low, high = enclosure(what, spend, **names)
    if low <= 0:
        return None
    if low == high:
        return 1 / low, Fraction(1)
    below, above = contexts(FEW)
    found = short(1 / high, below)
    return found, short(1 / low / found, above)


def enclosure(
    what: Expression, spend: Callable[[int], None] = lambda work: None, **names: int
) -> tuple[Fraction, Fraction]:
    """Rationals on both sides of the value of an expression, both of them the value itself where it has no functions.
    Raises Rejected if it has none, or that is not seen."""
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
    """Precedence climbing; operators of one level make one chain, so that long sums are not deep."""

    def __init__(self, text: str, names: str, functions: bool) -> None:
        self.text, self.names, self.used, self.depth, self.next = text, names, set[str](), 0, 0
        self.levels = 0
        self.functions = functions
        self.tokens: list[str] = []
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
        """The next token, which should be this one; "" is the end."""
        found = self.token
        require(token is None or found == token, self.wrong())
        self.next += 1
        return found

    def several(self, *tokens: str) -> list[str]:
        """All that follow of some tokens."""
        found = list[str]()
        while self.token in tokens:
            found.append(self.take())
        return found

    def expression(self, level: int) -> Expression:
        """What operators of at least this level make."""
        self.levels += 1
        require(self.levels <= LEVELS, f"too large: an expression that is nested beyond {LEVELS} operators")
        left = self.operand(level)
        while (own := _LEVELS.get(self.token, -1)) >= level:
            if own == _POWER:
                self.take()
                left = _power(self.number(left), self.number(self.inside(_SIGN)))
                continue
            chain = list[tuple[str, Expression]]()
            while _LEVELS.get(self.token, -1) == own:
                chain.append((self.take(), self.expression(own + 1)))
            logical = own in (_OR, _AND)
            for part in (left, *(part for _, part in chain)):
                require(part.truth == logical, f"{self.wrong()}: a truth is no number")
            make = _logical if logical else _comparison if own == _COMPARE else _arithmetic
            run = make(left.run, tuple((op, part.run) for op, part in chain))
            tree = ("chain", left.tree, *((op, part.tree) for op, part in chain))
            left = Expression(own <= _COMPARE, run, tree)
        self.levels -= 1
        return left

    def operand(self, level: int) -> Expression:
        """What an operator can stand before or after."""
        if signs := self.several("+", "-"):
            number = self.number(self.expression(_POWER))
            run = number.run
            return Expression(False, lambda names: -run(names), ("-", number.tree)) if signs.count("-") % 2 else number
        if level <= _NOT and (nots := self.several("not")):
            part = self.expression(_COMPARE)
            require(part.truth, f"{self.wrong()}: a number is no truth")
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
            require(part.truth, f"{self.wrong()}: a number is no truth")
            return Expression(False, lambda names: int(bool(part.run(names))), ("[", part.tree))
        if token in PREDICATES:
            self.take("(")
            query, predicate = self.number(self.inside(_OR)), PREDICATES[token]
            self.take(")")
            return Expression(True, lambda names: predicate(_whole(query.run(names))), (token, query.tree))
        if token in FUNCTIONS:
            require(self.functions, f"{self.wrong()}: {token} is no exact number, which only a temperature need not be")
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
        """What is inside brackets or an exponent."""
        self.depth += 1
        require(self.depth <= NESTING, f"too large: an expression that is nested beyond {NESTING} levels")
        part = self.expression(level)
        self.depth -= 1
        return part

    def number(self, part: Expression) -> Expression:
        require(not part.truth, f"{self.wrong()}: a truth is no number")
        return part


# ---- meaning ----

Chain = tuple[tuple[str, Run], ...]

OPERATIONS: Mapping[str, Callable[[Any, Any], RealValue]] = {
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
    """A number that is not too large; what a large one costs is noted."""
    if isinstance(x, Enclosure):
        names[""] += 10 + (bits(x.low) + bits(x.high) >> 6)
        return x
    size = bits(x)
    if size > 64:
        require(size <= POWER_BITS, f"too large: an expression with a number of more than {POWER_BITS} bits")
        names[""] += size >> 6
    return x


def _whole(x: RealValue) -> int:
    if isinstance(x, Enclosure) or x.denominator != 1:
        raise Rejected("an expression needs an integer where it has a fraction")
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
    """`and` or `or` of several: the first that is false, or true, decides."""
    runs, decides = (first, *(run for _, run in chain)), chain[0][0] == "or"
    return lambda names: next((decides for run in runs if run(names) == decides), not decides)


def _power(base: Expression, exponent: Expression) -> Expression:
    def run(names: Names) -> RealValue:
        b, e = base.run(names), _whole(exponent.run(names))
        if isinstance(b, Enclosure):
            require(abs(e) <= MOST_POWER, f"too large: an exponent beyond {MOST_POWER} of what is no rational number")
            names[""] += abs(e) * (10 + (bits(b.low) + bits(b.high) >> 6))
            return b**e
        if abs(b) == 1:
            return b if e % 2 else 1
        require(not b or bits(b) * abs(e) <= 2 * POWER_BITS, f"too large: a power of more than {POWER_BITS} bits")
        return _fit(b**e if e >= 0 else Fraction(1, b**-e), names)

    return Expression(False, run, ("**", base.tree, exponent.tree))


def is_prime(x: int) -> bool:
    """Whether an integer is a prime, by the Miller-Rabin test with bases for which it is exact."""
    require(x < LARGEST_PRIME, f"too large: PRIME is decided below {LARGEST_PRIME}")
    if x < 2 or any(x % base == 0 for base in BASES):
        return x in BASES
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
