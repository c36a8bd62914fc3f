"""An evaluator of certificates, written from the definitions: it reads the JSON alone and shares no code with the
checker.

Expressions are read by Python's own parser and evaluated in Fractions (log, sqrt and exp to the digits of the
context); the network runs in decimals of 60 digits.
"""

import ast
import operator
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
}
PREDICATES: dict[str, Callable[[int], bool]] = {
    "PRIME": lambda x: x > 1 and all(x % d for d in range(2, min(x, 10**4)) if d * d <= x),
    "SQUARE": lambda x: any(k * k == x for k in range(10**3)),
    "POW2": lambda x: any(2**k == x for k in range(99)),
}

FUNCTIONS: dict[str, Callable[[Decimal], Decimal]] = {"log": Decimal.ln, "sqrt": Decimal.sqrt, "exp": Decimal.exp}


class NoValueError(Exception):
    """Error: the expression has no exact value."""


def value_of(text: str, **names: int) -> Fraction | bool:
    """Return the exact value of an expression: a Fraction, or a bool.

    Raises:
        NoValueError: if the expression has no exact value, or mixes numbers and truth values.
    """
    return _value(_parsed(text), {name: Fraction(value) for name, value in names.items()})


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError) as error:
        raise NoValueError(text) from error


def _number(node: ast.expr, names: dict[str, Fraction]) -> Fraction:
    value = _value(node, names)
    if isinstance(value, bool):
        raise NoValueError("a truth")
    return value


def _truth(node: ast.expr, names: dict[str, Fraction]) -> bool:
    value = _value(node, names)
    if not isinstance(value, bool):
        raise NoValueError("a number")
    return value


def _value(node: ast.expr, names: dict[str, Fraction]) -> Fraction | bool:
    match node:
        case ast.Constant(value) if type(value) is int:
            return Fraction(value)
        case ast.Name(name) if name in names:
            return names[name]
        case ast.UnaryOp(ast.Not(), arg):
            return not _truth(arg, names)
        case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, arg):
            return -_number(arg, names) if isinstance(sign, ast.USub) else _number(arg, names)
        case ast.BinOp(left, ast.Pow(), right):
            return _power(_number(left, names), _number(right, names))
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            a, b = _number(left, names), _number(right, names)
            if b == 0 and isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
                raise NoValueError("a division by zero")
            return Fraction(OPERATORS[type(op)](a, b))
        case ast.BoolOp(op, args):
            decides = isinstance(op, ast.Or)
            for arg in args:
                if _truth(arg, names) == decides:
                    return decides
            return not decides
        case ast.Compare(left, ops, others):
            here = _number(left, names)
            for compare, other in zip(ops, others, strict=True):
                if type(compare) not in OPERATORS:
                    raise NoValueError("another comparison")
                there = _number(other, names)
                if not OPERATORS[type(compare)](here, there):
                    return False
                here = there
            return True
        case ast.Call(ast.Name(name), [arg], []) if name in FUNCTIONS:
            x = _number(arg, names)
            return Fraction(FUNCTIONS[name](Decimal(x.numerator) / x.denominator))
        case ast.Call(ast.Name(name), [arg], []) if name in PREDICATES:
            x = _number(arg, names)
            if x.denominator != 1:
                raise NoValueError("a predicate of a fraction")
            return PREDICATES[name](int(x))
    raise NoValueError(ast.dump(node))


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or (base == 0 and exponent < 0) or (abs(base) not in (0, 1) and abs(exponent) > 10**4):
        raise NoValueError("a power")
    return Fraction(base ** int(exponent))


Symbol = str | frozenset[str]
"""A symbol, or the set of propositions that are true at a position."""


def holds(formula: dict[str, Any], word: tuple[Symbol, ...]) -> bool:
    """Return True if the root of the formula is true at the last position of the word, by the definitions."""
    n, columns = len(word), list[list[bool]]()

    def value(lit: list[Any], i: int) -> bool:
        return bool(columns[lit[0]][i - 1] != lit[1])

    def count(lit: list[Any], side: str, i: int) -> int:
        return sum(value(lit, j) for j in range(i if side == "R" else 1, (i if side == "L" else n) + 1))

    def truth(op: str, args: list[Any], rest: list[Any], i: int) -> bool:
        if op == "letters":
            return word[i - 1] in rest
        if op in ("true", "holds"):
            return op == "true" or rest[0] in word[i - 1]
        if op in ("and", "xor"):
            bits = [value(lit, i) for lit in args]
            return all(bits) if op == "and" else sum(bits) == 1
        if op in ("Y", "X"):
            j = i - 1 if op == "Y" else i + 1
            return 1 <= j <= n and value(args[0], j)
        if op in ("S", "U"):
            ways = (
                [range(j, i + 1) for j in range(1, i + 1)] if op == "S" else [range(i, j + 1) for j in range(i, n + 1)]
            )
            return any(
                value(args[1], way[0] if op == "S" else way[-1])
                and all(value(args[0], k) for k in (way[1:] if op == "S" else way[:-1]))
                for way in ways
            )
        total = sum(a * count(lit, side, i) for (a, side), lit in zip(rest[-2], args, strict=True)) + rest[-1]
        return total >= 0 if op == "at least" else value_of(rest[0], x=total, n=n) is True

    for op, args, *rest in formula["nodes"]:
        columns.append([truth(op, args, rest, i) for i in range(1, n + 1)])
    return value(formula["root"], n)


def output(model: dict[str, Any], word: tuple[Symbol, ...]) -> Decimal:
    """Return the network's output at the last position, to about 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return _output(model, word)


def real(value: Any) -> Decimal:
    """Convert a rational to a Decimal in the precision of the context."""
    exact = Fraction(value)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _output(model: dict[str, Any], word: tuple[Symbol, ...]) -> Decimal:
    n, zero = len(word), Decimal(0)
    x: list[dict[str, Decimal]] = []
    for i, symbol in enumerate(word, start=1):
        here = {k: embedded(model, column, symbol) for k, column in model["embedding"].items()}
        for k, text in model["encodings"].items():
            here[k] = here.get(k, zero) + real(int(v) if isinstance(v := value_of(text, i=i, n=n), bool) else v)
        x.append(here)

    def form(row: dict[str, Decimal], i: int) -> Decimal:
        return sum((a * x[i - 1][k] for k, a in row.items() if k in x[i - 1]), zero)

    def clipped(clip: list[Any], i: int) -> Decimal:
        bias, parts = clip
        total = real(bias)
        for w, b, row, *cap in parts:
            z, most = form(reals(row), i) + real(b), form(reals(cap[1]), i) + real(cap[0]) if cap else Decimal(1)
            total += real(w) * (max(z, zero) - max(z - most, zero))
        return total

    for layer in model["layers"]:
        new = [{head["out"]: _attended(head, model, form, i, n) for head in layer["heads"]} for i in range(1, n + 1)]
        _add(x, new)
        _add(x, [{k: clipped(clip, i) for k, clip in layer["clips"].items()} for i in range(1, n + 1)])
    return x[-1].get(model["output"], zero)


def embedded(model: dict[str, Any], column: Any, symbol: Symbol) -> Decimal:
    """Return the embedding of a symbol in one coordinate."""
    if isinstance(symbol, str):
        return real(column[model["alphabet"].index(symbol)])
    return sum((real(value) for name, value in column.items() if not name or name in symbol), Decimal(0))


def reals(row: dict[str, str]) -> dict[str, Decimal]:
    """Convert the numbers of a matrix row to Decimals."""
    return {k: real(a) for k, a in row.items()}


def _add(x: list[dict[str, Decimal]], more: list[dict[str, Decimal]]) -> None:
    for own, new in zip(x, more, strict=True):
        for k, value in new.items():
            own[k] = own.get(k, Decimal(0)) + value


def _attended(head: dict[str, Any], model: dict[str, Any], form: Any, i: int, n: int) -> Decimal:
    tau = real(value_of(model["temperature"], i=i, n=n))
    seen = {
        "future": range(1, i + 1), "past": range(i, n + 1), "none": range(1, n + 1), "strict-future": range(1, i),
        "strict-past": range(i + 1, n + 1),
    }[head["mask"]]  # fmt: skip
    queries = [form(reals(row), i) for row in head["query"]]
    keys, value = [reals(row) for row in head["key"]], reals(head["value"])
    logits = [sum((a * form(row, j) for a, row in zip(queries, keys, strict=True)), Decimal(0)) / tau for j in seen]
    if model.get("weighting") == "geometric":
        total, left, pairs = Decimal(0), Decimal(1), list(zip(logits, seen, strict=True))
        for logit, j in pairs if "past" in head["mask"] else reversed(pairs):
            share = 1 / (1 + (-logit).exp())
            total, left = total + left * share * form(value, j), left * (1 - share)
        return total
    weights = [(logit - max(logits)).exp() for logit in logits]
    return sum((w * form(value, j) for w, j in zip(weights, seen, strict=True)), Decimal(0)) / sum(weights)


def false_on(document: dict[str, Any], longest: int = 4) -> list[str]:
    """Return the words, of the certificate's lengths up to `longest`, on which its claim is false."""
    formula = document["formula"]
    alphabet: list[Symbol] = formula.get("alphabet", [])
    for size in range(3 if "props" in formula else 0):
        alphabet = alphabet + [frozenset(chosen) for chosen in combinations(formula["props"], size)]
    most = longest if len(alphabet) < 4 else 3
    lengths = range(document["min_n"], min(document["max_n"] or most, most) + 1)
    words = [word for n in lengths for word in product(alphabet, repeat=n)]
    return [
        " ".join(map(str, word))
        for word in words
        if abs(output(document["model"], word) - int(holds(document["formula"], word))) > Decimal("1e-40")
    ]
