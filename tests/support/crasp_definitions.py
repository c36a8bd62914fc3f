"""Random C-RASP programs and their evaluation from the definitions, without hardsim's readers and oracles.

A program is a tree of tuples. Its text is made from the tree, and its value at a position (from 0) by recursion.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from hypothesis import strategies as st

Tree: TypeAlias = tuple[Any, ...]
Trees: TypeAlias = st.SearchStrategy[Tree]

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
OF_TWO: Mapping[str, tuple[str, Callable[[int, int], bool]]] = {
    "pred": ("", lambda i, j: j == i - 1),
    "pred4": ("", lambda i, j: j == i - 4),
    "window": ("i - j <= 2", lambda i, j: i - j in (0, 1, 2)),
    "before": ("j < i", lambda i, j: i - j > 0),
    "twice": ("2*j - 2*i + 3 > 0", lambda i, j: i - j < 2),
    "elsewhere": ("not (j == i)", lambda i, j: i != j),
    "even_apart": ("(i - j) mod 2 == 0", lambda i, j: (i - j) % 2 == 0),
    "thirds": ("(i + 2*j) mod 3 == 1", lambda i, j: (i + 2 * j) % 3 == 1),
    "odd": ("j mod 2 == 1", lambda i, j: j % 2 == 1),
    "late": ("i >= 2", lambda i, j: i >= 2),
    "parts": ("i >= 2 and j < i - 1 or j == 0", lambda i, j: (i >= 2 and j < i - 1) or j == 0),
    "some": ("i - j == 1 or i - j == 3 and j mod 2 == 0", lambda i, j: i - j == 1 or (i - j == 3 and j % 2 == 0)),
}
OF_ONE: Mapping[str, tuple[str, Callable[[int], bool]]] = {
    "pos_even": ("", lambda i: i % 2 == 0),
    "third": ("(i + 1) mod 3 == 2", lambda i: i % 3 == 1),
    "beyond": ("i * i > 5", lambda i: i * i > 5),
}


def value(tree: Tree, word: Sequence[str], i: int) -> int:
    """Return the value of a Boolean (0 or 1) or of a count at position i (from 0)."""
    kind, *parts = tree
    match kind:
        case "symbol":
            return bool(word[i] == parts[0])
        case "true" | "false":
            return bool(kind == "true")
        case "is":
            return OF_ONE[parts[0]][1](i)
        case "named":
            return value(parts[1], word, i)
        case "!":
            return 1 - value(parts[0], word, i)
        case "&&":
            return min(value(part, word, i) for part in parts)
        case "||":
            return max(value(part, word, i) for part in parts)
        case "compare":
            return COMPARISONS[parts[0]](value(parts[1], word, i), value(parts[2], word, i))
        case "integer":
            return int(parts[0])
        case "#":
            related = OF_TWO[parts[0]][1] if parts[0] else lambda i, j: True
            return sum(1 for j in range(i + 1) if related(i, j) and value(parts[1], word, j))
        case "+":
            return value(parts[0], word, i) + value(parts[1], word, i)
        case "-":
            return value(parts[0], word, i) - value(parts[1], word, i)
        case "*":
            return int(parts[0]) * value(parts[1], word, i)
        case "if":
            return value(parts[1] if value(parts[0], word, i) else parts[2], word, i)
        case "min" | "max":
            return (min if kind == "min" else max)(value(part, word, i) for part in parts)
    raise TypeError(kind)


def text_of(tree: Tree) -> str:
    """Return the text of an expression with all its brackets."""
    kind, *parts = tree
    match kind:
        case "symbol":
            return f'"{parts[0]}"'
        case "true" | "false":
            return str(kind)
        case "is" | "named" | "integer":
            return str(parts[0])
        case "!":
            return f"(!{text_of(parts[0])})"
        case "compare":
            return f"({text_of(parts[1])} {parts[0]} {text_of(parts[2])})"
        case "#":
            return f"#{f'[{parts[0]}] ' * bool(parts[0])}{text_of(parts[1])}"
        case "*":
            return f"({parts[0]} * {text_of(parts[1])})"
        case "if":
            return f"({text_of(parts[1])} if {text_of(parts[0])} else {text_of(parts[2])})"
        case "min" | "max":
            return f"{kind}({text_of(parts[0])}, {text_of(parts[1])})"
        case _:
            return f"({f' {kind} '.join(map(text_of, parts))})"


HEAD = "\n".join(
    f"pred {name}({arguments}) = {text}" if text else f"#import {name}"
    for several, arguments in ((OF_TWO, "i, j"), (OF_ONE, "i"))
    for name, (text, _) in several.items()
)


def booleans(depth: int, names: Sequence[Tree] = ()) -> Trees:
    """Draw Booleans; `names` are those of earlier lines."""
    leaves = st.sampled_from(
        [("symbol", "a"), ("symbol", "b"), ("true",), ("false",), *(("is", name) for name in OF_ONE), *names]
    )
    if depth == 0:
        return leaves
    inner, number = booleans(depth - 1, names), counts(depth - 1)
    compared = st.tuples(st.just("compare"), st.sampled_from(sorted(COMPARISONS)), number, number)
    return st.one_of(
        leaves,
        st.tuples(st.just("!"), inner),
        st.tuples(st.sampled_from(["&&", "||"]), inner, inner),
        compared,
        compared,
        compared,
    )


def counts(depth: int) -> Trees:
    """Draw counts."""
    leaves = st.sampled_from([("integer", "0"), ("integer", "1"), ("integer", "3"), ("#", "", ("symbol", "a"))])
    if depth == 0:
        return leaves
    inner, test = counts(depth - 1), booleans(depth - 1)
    return st.one_of(
        leaves,
        st.tuples(st.just("#"), st.sampled_from(["", "", *OF_TWO]), test),
        st.tuples(st.sampled_from(["+", "-", "min", "max"]), inner, inner),
        st.tuples(st.just("*"), st.sampled_from(["2", "3"]), inner),
        st.tuples(st.just("if"), test, inner, inner),
    )


@st.composite
def programs(draw: st.DrawFn, depth: int = 3) -> tuple[str, Tree]:
    """Draw a program over a and b of three lines, the last of which reads the others; return its text and its tree."""
    first, number = draw(booleans(depth)), draw(counts(depth))
    names = [("named", "A", first), ("compare", ">=", ("named", "C", number), ("#", "", ("named", "A", first)))]
    answer = draw(booleans(depth, names))
    lines = [HEAD, f"A = {text_of(first)}", f"C = {text_of(number)}", f"L = {text_of(answer)}"]
    return "\n".join(lines), answer


def conditions() -> st.SearchStrategy[str]:
    """Draw conditions of i and j that have a construction, in the notation of `pred` lines."""
    number, modulus = st.integers(-4, 4), st.integers(1, 3)
    comparison = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    atoms = st.one_of(
        st.builds("i - j {} {}".format, comparison, number),
        st.builds("{} * j {} {} * i + {}".format, st.just(2), comparison, st.just(2), number),
        st.builds("{} {} {}".format, st.sampled_from("ij"), comparison, number),
        st.builds("({} * i - j) mod {} {} {}".format, number, modulus, comparison, st.integers(0, 2)),
        st.builds("i mod {} == (j + {}) mod 2".format, modulus, number),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds("({}) and ({})".format, inner, inner),
            st.builds("({}) or ({})".format, inner, inner),
            st.builds("not ({})".format, inner),
        ),
        max_leaves=4,
    )
