"""Models of many Declare constraints, as formulas; process mining finds hundreds of such constraints in logs."""

from __future__ import annotations

import re
from random import Random

from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.semantics import Oracle

UNARY = ("#[{a}] >= {k}", "#[{a}] < {k}", "#[{a}] = {k}", "G !{a}", "F {a}", "{a}", "F(last & {a})")
"""Templates of one activity: existence, absence, exactly, never, participation, init, end (see docs/declare.md)."""
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
"""Templates of two activities."""

TOKEN = re.compile(r"[A-Za-z]\w*|\d+|<->|->|[<>]=|\S")
"""A name, number, operator or bracket."""
MOST_SINGLE = 800
"""The largest number of constraints that stand alone in a model; this many give about a thousand heads."""


def mined(number: int, names: list[str], rng: Random) -> list[str]:
    """Return `number` random constraints over some activities, each of which holds in three random traces.

    One constraint in six has a single activity."""
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


def model(number: int, symbols: int, seed: int = 0, props: bool = False) -> str:
    """Return the text of a formula: the conjunction of `number` constraints over `symbols` activities.

    With `props` the activities are propositions, exactly one of which holds at each position; else they are symbols.
    Only the first `MOST_SINGLE` constraints stand alone; each further conjunct is a disjunction of two of those."""
    names = [chr(ord("a") + k % 26) + (str(k // 26) if k >= 26 else "") for k in range(symbols)]  # a, ..., z, a1, ...
    rng = Random(seed)
    listed = " ".join(names)
    header = f"props: {listed}\none-of: {listed}" if props else f"alphabet: {listed}"
    parts = [f"({one})" for one in mined(min(number, MOST_SINGLE), names, rng)]
    parts += ["({} | {})".format(*rng.sample(parts[:MOST_SINGLE], 2)) for _ in range(number - len(parts))]
    return f"{header}\nat: first\n{' & '.join(parts)}\n"


def tokens(text: str) -> int:
    """Count the tokens of the formula in a text, which is the text's last line."""
    return len(TOKEN.findall(text.rstrip().rpartition("\n")[2]))
