"""Models of many Declare constraints, as formulas: what process mining finds in logs has hundreds of them."""

from __future__ import annotations

from random import Random

from hardsim.lang.parse import parse_text
from hardsim.lang.semantics import Oracle

UNARY = (
    "#[{a}] >= {k}",
    "#[{a}] < {k}",
    "#[{a}] = {k}",
    "G !{a}",
    "F {a}",
    "{a}",
    "F(last & {a})",
)
"""Existence, absence, exactly, never, participation, init, end (see docs/declare.md)."""
BINARY = (
    "(F {a} | F {b})",
    "(F {a} ^ F {b})",
    "(F {a} -> F {b})",
    "(F {a} <-> F {b})",
    "G({a} -> F {b})",
    "(!{b} W {a})",
    "G({a} -> F {b}) & (!{b} W {a})",
    "G({a} -> X(!{a} U {b}))",
    "(!{b} W {a}) & G({b} -> WX(!{b} W {a}))",
    "G({a} -> X(!{a} U {b})) & (!{b} W {a}) & G({b} -> WX(!{b} W {a}))",
    "G({a} -> X {b})",
    "G({b} -> Y {a})",
    "G({a} -> X {b}) & G({b} -> Y {a})",
    "!(F {a} & F {b})",
    "G({a} -> !F {b})",
    "G({a} -> !X {b})",
)
"""The templates of two activities."""


def mined(number: int, names: list[str], rng: Random) -> list[str]:
    """So many random constraints over some activities that hold in three random traces, one in six of a single one."""
    traces = [tuple(rng.choice(names) for _ in range(rng.randint(2, len(names)))) for _ in range(3)]
    found = dict[str, None]()
    while len(found) < number:
        first, second = rng.sample(names, 2)
        template = rng.choice(UNARY if rng.random() < 1 / 6 else BINARY)
        one = template.format(a=first, b=second, k=rng.randint(1, 4))
        oracle = Oracle(parse_text(f"alphabet: {' '.join(names)}\nat: first\n{one}\n"))
        if all(map(oracle.accepts, traces)):
            found[one] = None
    return list(found)


def activities(number: int) -> list[str]:
    """Names of activities: a, b, ..., z, a1, ..."""
    return [chr(ord("a") + k % 26) + (str(k // 26) if k >= 26 else "") for k in range(number)]


def model(number: int, symbols: int, seed: int = 0, props: bool = False) -> str:
    """The text of a formula that is the conjunction of so many constraints over so many activities, as symbols or as
    propositions of which one holds at each position."""
    names = activities(symbols)
    listed = " ".join(names)
    header = f"props: {listed}\none-of: {listed}" if props else f"alphabet: {listed}"
    joined = " & ".join(f"({one})" for one in mined(number, names, Random(seed)))
    return f"{header}\nat: first\n{joined}\n"
