"""Functions of positions and lengths as model.py evaluates them, with bounds that hold on every machine.

model.py evaluates the texts in config.json with Python's numbers. Rationals stay exact until log, exp or sqrt gives a
float64, or two results of `//` are divided. From there on every operation is one of float64, and a difference such as
1 + 1/n^20 is rounded before its logarithm is taken: the value can be far from the exact one.

The same tree is walked twice, in Python's order: once with Python's own numbers, as model.py does on this machine, and
once with two floats around each float. The second walk rests on the assumptions of `COMPUTED`. An operation that is
rounded once is monotone, so that it maps ends to ends. A function that is within two units in the last place moves the
ends of its exact values by four: the unit doubles at a power of two, and two larger units are four smaller ones.

Where Python raises an error, model.py has no answer: the number is not a number. Where it may raise one, or it is not
known which way a comparison goes, the ends are not numbers.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias, cast

import numpy as np

from hardsim.errors import OutOfRange
from hardsim.lang.reals import RealNumber, apply, bounds
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import BUILT_IN
from hardsim.precision.formats import Floats
from hardsim.writing.layout import ExportLayout, nearest_float

COMPUTED: Final = (
    "step by step in float64: + - * / and sqrt are rounded once; log, exp and powers of floats are within 2 units in "
    "the last place, log(1) is 0, exp(0) and x^0 are 1; the error of a difference is not corrected"
)
"""The report's description of how model.py computes with floats."""
UNITS: Final = 4
FAR: Final = 800
"""An exponent of e above which a float64 is infinite; below minus this one it is 0 or one of the least numbers."""
_FLOATING: Final = re.compile(r"\b(?:log|exp|sqrt)\(|//.*(?:(?<!/)/(?!/)|\*\*)|(?:(?<!/)/(?!/)|\*\*).*//")
"""A pattern of the expressions that may give floats: a function, or a quotient or power beside `//`."""


@dataclass(frozen=True, slots=True)
class FloatEnds:
    """Two floats that bound a float64 of model.py on every machine; NaN if nothing is known."""

    low: float
    high: float

    @staticmethod
    def of(value: Any) -> FloatEnds:
        """Convert a number to a float as Python does, rounded once. Raise OverflowError beyond float64."""
        return value if isinstance(value, FloatEnds) else FloatEnds(float(value), float(value))

    @property
    def point(self) -> bool:
        """True if the two bounds are equal, so that the float is known."""
        return self.low == self.high

    def __neg__(self) -> FloatEnds:
        return FloatEnds(-self.high, -self.low)

    @property
    def nonzero(self) -> bool:
        """True if the number is certainly not 0."""
        return self.low > 0 or self.high < 0


UNKNOWN: Final = FloatEnds(math.nan, math.nan)
Number: TypeAlias = Fraction | int | float | FloatEnds


class _Unknown(Exception):
    """An error raised if the direction of a comparison is not known."""


Function: TypeAlias = "str | tuple[str, ...] | tuple[int, tuple[str, ...], str]"
"""A function of config.json: an expression, the values at lengths 1, 2, ..., or a table of positions (the first
position, the values from there on, the value elsewhere)."""


@lru_cache(maxsize=256)
def _tree(text: str) -> ast.expr:
    plain = re.sub(r"\b\d+\b", lambda digits: str(int(digits[0])), text)  # Python refuses 007
    return ast.parse(plain, mode="eval").body


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
}
_FUNCTIONS: Final[Mapping[str, Callable[[Any], float]]] = {"log": math.log, "exp": math.exp, "sqrt": math.sqrt}


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """An evaluation of expressions as model.py computes them, with Python's own numbers: on this machine, or `bounded`
    on every machine under the assumptions of the module, where floats are `FloatEnds`."""

    names: Mapping[str, Fraction]
    bounded: bool

    def sum(self, functions: Sequence[Function]) -> Number:
        """Return the sum of functions, added from the left."""
        total: Number = 0
        for function in functions:
            total = self.operation(operator.add, total, self.value(function))
        return total

    def value(self, function: Function) -> Number:
        """Return the value of a function; a condition gives 1 or 0."""
        if isinstance(function, str):
            node = _tree(function)
            condition = isinstance(node, ast.Compare | ast.BoolOp) or isinstance(getattr(node, "op", None), ast.Not)
            predicate = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILT_IN
            return Fraction(self.truth(node)) if condition or predicate else self.number(node)
        if isinstance(function[0], int):
            start, values, otherwise = function
            place = int(self.names["i"]) - start
            return Fraction(values[place] if 0 <= place < len(values) else otherwise)
        return Fraction(function[int(self.names["n"]) - 1])

    def number(self, node: ast.expr) -> Number:
        """Return the value of a numerical expression."""
        match node:
            case ast.Constant(value):
                return Fraction(str(value))
            case ast.Name(name):
                return self.names[name]
            case ast.UnaryOp(ast.USub(), arg):
                return -self.number(arg)
            case ast.BinOp(left, op, right):
                return self.operation(_OPERATORS[type(op)], self.number(left), self.number(right))
            case ast.List([condition]):
                return Fraction(self.truth(condition))
            case ast.Call(ast.Name(name), [arg]):
                return _function(name, self.number(arg)) if self.bounded else _FUNCTIONS[name](self.number(arg))
        raise TypeError(f"no expression of model.py: {ast.unparse(node)}")

    def truth(self, node: ast.expr) -> bool:
        """Return True if a condition is true."""
        match node:
            case ast.BoolOp(ast.And(), parts):
                return all(map(self.truth, parts))
            case ast.BoolOp(ast.Or(), parts):
                return any(map(self.truth, parts))
            case ast.UnaryOp(ast.Not(), arg):
                return not self.truth(arg)
            case ast.Compare(left, [op], [right]):
                compare, pair = _COMPARISONS[type(op)], (self.number(left), self.number(right))
                return _comparison(compare, *pair) if self.bounded else compare(*pair)
            case ast.Call(ast.Name(name), [arg]):
                return BUILT_IN[name](int(cast(Fraction, self.number(arg))), ())
        raise TypeError(f"no condition of model.py: {ast.unparse(node)}")

    def operation(self, operate: Callable[[Any, Any], Any], left: Number, right: Number) -> Number:
        """Apply an arithmetic operation: to rationals exactly, to floats, if `bounded`, by their bounds."""
        if not isinstance(left, FloatEnds) and not isinstance(right, FloatEnds):
            found: Number = operate(left, right)
            if not (self.bounded and isinstance(found, float)):
                return found
            # Integers that `//` gave: a quotient is rounded once, a negative power is one of floats.
            return (
                FloatEnds.of(found) if operate is operator.truediv else _power(FloatEnds.of(left), FloatEnds.of(right))
            )
        x, y = FloatEnds.of(left), FloatEnds.of(right)
        if operate is operator.pow:
            return _power(x, y)
        if operate in (operator.floordiv, operator.mod):  # not monotone
            return FloatEnds.of(operate(x.low, y.low)) if x.point and y.point else UNKNOWN
        if operate is operator.truediv and not y.nonzero:
            return UNKNOWN
        return _between(operate(a, b) for a in (x.low, x.high) for b in (y.low, y.high))


def _function(name: str, value: Number) -> Number:
    """Bound log, exp or sqrt by its values at both bounds."""
    x = FloatEnds.of(value)
    least = {"log": x.low > 0, "sqrt": x.low >= 0, "exp": math.isfinite(x.low)}[name]
    if not least or not math.isfinite(x.high):
        return UNKNOWN
    if name == "sqrt":
        return FloatEnds(math.sqrt(x.low), math.sqrt(x.high))
    if x.point and (name, x.low) in (("log", 1.0), ("exp", 0.0)):
        return FloatEnds.of(x.low == 0)
    ends = [Fraction(x.low), Fraction(x.high)]
    return _between(map(float, (*_near(name, ends[0]), *_near(name, ends[1]))))


def _comparison(compare: Callable[[Any, Any], bool], left: Number, right: Number) -> bool:
    """Compare two numbers. Raises _Unknown if the result depends on the machine."""
    ends = [(x.low, x.high) if isinstance(x, FloatEnds) else (x, x) for x in (left, right)]
    if any(isinstance(end, float) and math.isnan(end) for pair in ends for end in pair):
        raise _Unknown
    (a, b), (c, d) = ends
    inside = compare in (operator.eq, operator.ne) and not (b < c or d < a) and not a == b == c == d
    ways = {compare(x, y) for x in (a, b) for y in (c, d)}
    if inside or len(ways) > 1:
        raise _Unknown
    return ways.pop()


def _between(ends: Any) -> FloatEnds:
    """Return the least and the largest of some floats; unknown if one is NaN."""
    found = list(ends)
    return UNKNOWN if any(map(math.isnan, found)) else FloatEnds(min(found), max(found))


def _power(x: FloatEnds, y: FloatEnds) -> FloatEnds:
    """Return x^y of floats: for x > 0 the exponential of y log x, monotone in both."""
    whole = y.point and y.low.is_integer()
    if whole and y.low == 0:
        return FloatEnds.of(1)
    if not all(map(math.isfinite, (x.low, x.high, y.low, y.high))) or not (x.low > 0 or (x.high < 0 and whole)):
        return UNKNOWN
    sign = -1.0 if x.high < 0 and y.low % 2 else 1.0
    exponents = [apply("log", abs(Fraction(a))) * Fraction(b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return _between(sign * end for one in exponents for end in _near("exp", one))


def _near(name: str, value: RealNumber) -> tuple[float, float]:
    """Bound log or exp of an exact number, if the computed value is within two units in the last place."""
    if name == "exp":
        least, most = bounds(value)
        value = Fraction(-FAR) if most < -FAR else Fraction(FAR) if least > FAR else value
    try:
        low, high = map(float, bounds(apply("exp" if name == "exp" else "log", value)))
    except OverflowError:
        return math.nan, math.nan
    low = math.nextafter(low - UNITS * math.ulp(low), -math.inf)
    high = math.nextafter(high + UNITS * math.ulp(high), math.inf)
    # Python raises an error where exp is infinite.
    return (max(low, 0.0), high if high < math.inf else math.nan) if name == "exp" else (low, high)


# ---- layouts ----


@dataclass(frozen=True)
class Values:
    """Numbers that model.py computes in float64: the values on this machine, and bounds for every machine."""

    found: Floats
    low: Floats
    high: Floats

    @property
    def column(self) -> Values:
        """These values as a column."""
        return Values(self.found[:, None], self.low[:, None], self.high[:, None])


def floating(function: Any) -> bool:
    """Return True if model.py may compute a function of config.json in floats."""
    return isinstance(function, str) and _FLOATING.search(function) is not None


def evaluated(functions: Sequence[Function], places: Sequence[int], n: int) -> Values:
    """Return the sums of functions at some positions, for words of n symbols."""
    texts = " ".join(function for function in functions if isinstance(function, str))
    tables = any(not isinstance(function, str) for function in functions)
    # The cache is shared between positions and lengths that the functions do not depend on.
    by_i, by_n = (tables or re.search(rf"\b{name}\b", texts) is not None for name in "in")
    rows = [_at(tuple(functions), i if by_i else places[0], n if by_n else 0) for i in places]
    return Values(*np.array(rows, dtype=np.float64).reshape(-1, 3).T)


@lru_cache(maxsize=2**16)
def _at(functions: tuple[Function, ...], i: int, n: int) -> tuple[float, float, float]:
    """Return the values on this machine, and bounds for every machine."""
    names, ends = {"i": Fraction(i), "n": Fraction(n)}, UNKNOWN
    try:
        found = float(cast(Any, _Evaluation(names, False).sum(functions)))
    except (ArithmeticError, ValueError, TypeError):  # TypeError: a root of a negative number is complex
        return math.nan, math.nan, math.nan
    with suppress(ArithmeticError, ValueError, TypeError, _Unknown):
        ends = FloatEnds.of(_Evaluation(names, True).sum(functions))
    return found, ends.low, ends.high


def nearest(values: Sequence[RealNumber]) -> Values:
    """Round exact numbers once to float64; NaN beyond float64, since model.py raises an error there."""
    found = np.array([_nearest(value) for value in values], dtype=np.float64)
    return Values(found, found, found)


def _nearest(value: RealNumber) -> float:
    try:
        return nearest_float(value)
    except OutOfRange:
        return math.nan


@dataclass(frozen=True)
class LayoutValues:
    """The position encodings and scales of a layout, as model.py computes them."""

    layout: ExportLayout

    @cached_property
    def floating(self) -> tuple[str, ...]:
        """The expressions that model.py may compute in floats."""
        description = self.layout.description
        functions = [function for _, several in description["positions"] for function in several]
        functions += [head["scale"] for layer in description["layers"] for head in layer["heads"]]
        return tuple(dict.fromkeys(function for function in functions if floating(function)))

    def encodings(self, n: int) -> list[tuple[int, Values]]:
        """Return the position encoding's addend for words of n symbols: by coordinate, row by row."""
        exact = dict(self.layout.encoded(n))
        return [
            (place, self._computed(functions, exact[place], n))
            for place, functions in self.layout.description["positions"]
        ]

    def scales(self, n: int) -> list[Values]:
        """Return the factors of the scores for words of n symbols: by head, row by row, or one number for all rows."""
        heads = [head for layer in self.layout.description["layers"] for head in layer["heads"]]
        known: dict[str, Values] = {}
        exact = self.layout.scaled(n)
        for head, values in zip(heads, exact, strict=True):
            key = repr(head["scale"])
            if key not in known:
                known[key] = self._computed([head["scale"]], values, n)
        return [known[repr(head["scale"])] for head in heads]

    def _computed(self, functions: Sequence[Any], exact: Sequence[RealNumber], n: int) -> Values:
        """Return the sums of functions at as many positions as there are exact numbers, from the first position on."""
        if not any(map(floating, functions)):
            return nearest(exact)
        first = self.layout.description["first"]
        return evaluated(list(map(_hashable, functions)), range(first, first + len(exact)), n)


def _hashable(function: Any) -> Function:
    if isinstance(function, dict):
        return int(function["start"]), tuple(function["values"]), str(function["otherwise"])
    return tuple(function) if isinstance(function, list) else str(function)
