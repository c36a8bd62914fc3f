"""Formulas of Rocq instances, evaluated from the definitions of the Rocq library: `holds` and `value` of Definitions.v,
with its quantifiers over positions. They read trees, not meanings.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from typing import Any

from hardsim.verify.rocq.text import RocqTree, TermReader, tokens_of

Truths = Callable[[int], bool]


def tree_of(text: str) -> RocqTree:
    """Return the tree of a Rocq term."""
    return TermReader(tokens_of(f"{text} ."), 0).read()[0]


def some(first: int, last: int, holds: Truths) -> bool:
    """Return True if some position from first to last has the property."""
    return any(map(holds, range(first, last + 1)))


def every(first: int, last: int, holds: Truths) -> bool:
    """Return True if every position from first to last has the property."""
    return all(map(holds, range(first, last + 1)))


def integer(tree: RocqTree, x: int, n: int) -> int:
    """Return `integer_value x n`, with `/` and `mod` of Z: by 0 they are 0 and the dividend."""
    if tree.value == "Const":
        return int(tree.parts[0].value)
    if not tree.parts:
        return {"X": x, "Len": n}[str(tree.value)]
    a, b = (integer(part, x, n) for part in tree.parts)
    match tree.value:
        case "Add":
            return a + b
        case "Sub":
            return a - b
        case "Mul":
            return a * b
        case "Div":
            return a // b if b else 0
        case "Mod":
            return a % b if b else a
    raise AssertionError(tree.value)


def condition(tree: RocqTree, x: int, n: int) -> bool:
    """Return `condition_holds x n`."""
    name = str(tree.value)
    if name in ("Both", "Either", "Negated"):
        truths = [condition(part, x, n) for part in tree.parts]
        return {"Both": all(truths), "Either": any(truths), "Negated": not truths[0]}[name]
    values = [integer(part, x, n) for part in tree.parts]
    v = values[0]
    match name:
        case "Le":
            return v <= values[1]
        case "Eq":
            return v == values[1]
        case "Square":
            return v >= 0 and isqrt(v) ** 2 == v
        case "Prime":
            return v >= 2 and all(v % d for d in range(2, v))
        case "PowerOf2":
            return any(2**k == v for k in range(max(v, 0) + 1))
    raise AssertionError(name)


def _weak_until(f: Truths, g: Truths, i: int, n: int) -> bool:
    return every(i, n, f) or some(i, n, lambda j: g(j) and every(i, j - 1, f))


TEMPORAL: Mapping[str, Callable[..., bool]] = {
    "Yesterday": lambda i, n, f: i > 1 and f(i - 1),
    "WeakYesterday": lambda i, n, f: i == 1 or f(i - 1),
    "Next": lambda i, n, f: i < n and f(i + 1),
    "WeakNext": lambda i, n, f: i == n or f(i + 1),
    "Once": lambda i, n, f: some(1, i, f),
    "Historically": lambda i, n, f: every(1, i, f),
    "Eventually": lambda i, n, f: some(i, n, f),
    "Always": lambda i, n, f: every(i, n, f),
    "Since": lambda i, n, f, g: some(1, i, lambda j: g(j) and every(j + 1, i, f)),
    "Trigger": lambda i, n, f, g: every(1, i, lambda j: g(j) or some(j + 1, i, f)),
    "Until": lambda i, n, f, g: some(i, n, lambda j: g(j) and every(i, j - 1, f)),
    "Release": lambda i, n, f, g: every(i, n, lambda j: g(j) or some(i, j - 1, f)),
    "WeakUntil": lambda i, n, f, g: _weak_until(f, g, i, n),
    "StrongRelease": lambda i, n, f, g: some(i, n, lambda j: f(j) and every(i, j, g)),
    "Not": lambda i, n, f: not f(i),
    "And": lambda i, n, f, g: f(i) and g(i),
    "Or": lambda i, n, f, g: f(i) or g(i),
    "Xor": lambda i, n, f, g: f(i) != g(i),
    "Implies": lambda i, n, f, g: not f(i) or g(i),
    "Equivalent": lambda i, n, f, g: f(i) == g(i),
    "First": lambda i, n: i == 1,
    "Last": lambda i, n: i == n,
}


def holds(tree: RocqTree, word: Sequence[Any], i: int, lets: Mapping[str, RocqTree]) -> bool:
    """Return `holds n w f i`. A word is the sequence of what holds at its positions: containers of numbers of atoms."""
    n, name = len(word), str(tree.value)
    if name in lets:
        return holds(lets[name], word, i, lets)
    match name:
        case "Truth":
            return tree.parts[0].value == "true"
        case "Atom":
            return tree.parts[0].value in word[i - 1]
        case "Holds":
            return condition(tree.parts[0], value(tree.parts[1], word, i, lets), n)
        case "AtMost" | "Equal":
            s, t = (value(part, word, i, lets) for part in tree.parts)
            return s <= t if name == "AtMost" else s == t
    return TEMPORAL[name](i, n, *(lambda j, part=part: holds(part, word, j, lets) for part in tree.parts))


def value(tree: RocqTree, word: Sequence[Any], i: int, lets: Mapping[str, RocqTree]) -> int:
    """Return `value n w t i`."""
    n, name = len(word), str(tree.value)
    if name in lets:
        return value(lets[name], word, i, lets)
    match name:
        case "Constant":
            return int(tree.parts[0].value)
        case "Position" | "Length":
            return i if name == "Position" else n
        case "Plus":
            return sum(value(part, word, i, lets) for part in tree.parts)
        case "Times":
            return int(tree.parts[0].value) * value(tree.parts[1], word, i, lets)
    first, last = {"CountLeft": (1, i), "CountRight": (i, n), "CountAll": (1, n)}[name]
    return sum(holds(tree.parts[0], word, j, lets) for j in range(first, last + 1))
