"""Geometric attention in certificates: how far a head is from the value at the nearest selected position.

A position with the logit l takes the share P = 1/(1 + e^-l) of what nearer positions left, and the head adds up the
values times these shares. Let selected positions have a logit of at least l > 0, others of at most -l, and x =
1/(1 + e^l). Selected positions take at least 1 - x of what is left, and others at most x. Let the value be 1 at
selected positions only. Of m visible positions:

 - If the nearest selected one has the value 1, behind d < m others, it has at least (1 - x)^d (1 - x) of the weight.
   The head reads at least (1 - x)^m, and at most 1. If every position is selected, d is 0.
 - If it has the value 0, nothing nearer has the value 1, and what is beyond it shares at most x.
 - If none is selected, or none is visible, the head reads exactly 0. No value there is 1.

(1 - x)^m >= 1 - m x. So if 1 + e^l >= g m, the head is off by at most 1/g.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from hardsim.verify.arithmetic import BITS, DOWN, GRID, ONE, Rejected, bits, exp, require
from hardsim.verify.expressions import OPERATIONS, Tree
from hardsim.verify.monotone import has_function, parted

WAYS = (("L", False), ("<", False), ("R", True), (">", True))
"""The pairs of a side and a direction (True: backwards) in which the nearest selected position is the last one."""
SERIES = "1/g"
ENOUGH = Fraction(1000)
"""Largest logit of which the exponential is computed: e^1000 is far beyond every number of positions."""
MOST_POWER = 64
"""Largest power of an expression of which e^(score/temperature) is one."""


def kinds_of(name: str, types: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return local types (selected or not, value, keys), each once. Raises Rejected if one has the value 1 without
    being selected."""
    found = list(dict.fromkeys(types))
    fine = all(selected or not value for selected, value, *_ in found)
    require(fine, f"head {name} may read 1 where nothing is selected, and geometric attention reads 0 there")
    return found


def least_score(name: str, query: tuple[Any, ...], kinds: Iterable[tuple[Any, ...]]) -> Fraction:
    """Return a number s > 0 such that selected positions have a score of at least s, and others of at most -s. Raises
    Rejected if there is none, or the scores depend on the position."""
    scores = [(selected, sum((a * b for a, b in zip(query, key, strict=True)), 0)) for selected, _, *key in kinds]
    fixed = all(isinstance(score, int | Fraction) for _, score in scores)
    require(fixed, f"the scores of head {name} depend on the position")
    least = min((score if selected else -score for selected, score in scores), default=1)
    require(least > 0, f"head {name}: selected positions need scores above 0, and others below")
    return Fraction(least)


def power_of(tree: Tree) -> tuple[Fraction, Tree] | None:
    """Return c and E if a temperature is c/log(E) with a number c, so that e^(score/temperature) = E^(score/c); else
    None."""
    found = _product(tree) if has_function(tree) else None
    return None if found is None or found[2] else found[:2]


def _product(tree: Tree) -> tuple[Fraction, Tree, bool] | None:
    """Return a number c, E, and True if an expression with functions is c log(E), or False if it is c/log(E); None for
    any other."""
    op, first, *rest = parted(tree)
    if op == "log" and not has_function(first):
        return Fraction(1), first, True
    if op not in ("*", "/") or not rest or has_function(first) == has_function(rest[0]):
        return None
    left = has_function(first)
    known, found = number(rest[0] if left else first), _product(first if left else rest[0])
    if not known or found is None:
        return None
    factor, base, above = found
    if op == "*":
        return known * factor, base, above
    return (factor / known, base, above) if left else (known / factor, base, not above)


def number(tree: Tree, names: Mapping[str, int] | None = None) -> Fraction | None:
    """Return the value of an expression without functions and conditions; None if it is none, or a name in it has no
    value in `names`. Raises Rejected for a number of too many bits."""
    if isinstance(tree, int | str):
        value = tree if isinstance(tree, int) else (names or {}).get(tree)
        return None if value is None else Fraction(value)
    op, *parts = tree
    if op == "-":
        only = number(parts[0], names)
        return None if only is None else -only
    if op == "**":
        base, exponent = number(parts[0], names), number(parts[1], names)
        if base is None or exponent is None or exponent.denominator != 1 or not 0 <= exponent <= MOST_POWER:
            return None
        return fitting(base ** int(exponent))
    total = number(parts[0], names) if op == "chain" else None
    for name, part in parts[1:] if op == "chain" else ():
        other = number(part, names)
        if total is None or other is None or name not in ("+", "-", "*", "/") or (name == "/" and not other):
            return None
        total = fitting(Fraction(OPERATIONS[name](total, other)))
    return total


def fitting(value: Fraction) -> Fraction:
    """Return a number; raise Rejected if it has too many bits."""
    if bits(value) > BITS:
        raise Rejected(f"too large: a number of more than {BITS} bits")
    return value


def exponential(logit: Fraction) -> Fraction:
    """Return a lower bound of e^logit, at most e^ENOUGH."""
    return Fraction(exp(min(logit, ENOUGH))[0])


def off_by(power: Fraction, m: int) -> int:
    """Return an upper bound of 1 - (1 - x)^m with x = 1/(1 + power), in units of 1/GRID."""
    if m == 1:
        return ceil(GRID / (1 + power))
    share, total = DOWN.divide(Decimal(power.numerator), Decimal(power.numerator + power.denominator)), ONE
    for _ in range(m):
        total = DOWN.multiply(total, share)
    return ceil(GRID * (1 - Fraction(total)))
