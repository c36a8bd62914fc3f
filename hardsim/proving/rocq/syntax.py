"""Text of Rocq: numbers, lists, literals of the library, and comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from textwrap import wrap

from hardsim.errors import InputError
from hardsim.network.numbers import Rational
from hardsim.visible import visible

WIDTH = 120
"""Largest number of characters of a line."""


def not_covered(what: str) -> InputError:
    """Return the error for a part of an input about which no theorem can be written; `what` names the part."""
    hint = "Leave out --rocq; --certificate writes a proof that `hardsim verify` checks."
    return InputError(f"--rocq does not cover {what}", hint)


def listed(items: Iterable[str]) -> str:
    """Return the Rocq text of a list."""
    return f"[{'; '.join(items)}]"


def truth(value: bool) -> str:
    """Return the Rocq text of a Boolean."""
    return "true" if value else "false"


def integer(value: int) -> str:
    """Return the Rocq text of an integer."""
    return f"({value})%Z" if value < 0 else f"{value}%Z"


def rational(value: Rational) -> str:
    """Return the Rocq text of a rational number."""
    exact = Fraction(value)
    return f"({exact.numerator} # {exact.denominator})"


def literal(node: int, negated: bool) -> str:
    """Return a literal of the table of nodes: a number and whether the node is negated."""
    return f"({node}, {truth(negated)})"


def matrix(entries: Iterable[tuple[int, int, Rational]]) -> str:
    """Return the Rocq text of a matrix: the list of its entries that are not 0, each with its row and column."""
    return listed(f"({row}, {column}, {rational(value)})" for row, column, value in entries)


def comment(text: str, margin: str = "") -> str:
    """Return a comment of one or more lines with this text, which may contain anything. Rocq reads comments: they nest,
    and a string in one must end. So brackets of comments are torn apart, and quotes become apostrophes."""
    lines = []
    for line in text.split("\n"):
        plain = visible(line).replace('"', "''")
        # Between two characters, so that a star with brackets on both sides is torn on both.
        plain = re.sub(r"\((?=\*)|\*(?=\))", r"\g<0> ", plain)
        lines += wrap(plain, WIDTH - 6 - len(margin), break_on_hyphens=False) or [""]
    return f"{margin}(* {lines[0]}" + "".join(f"\n{margin}   {line}" if line else "\n" for line in lines[1:]) + " *)"


def folded(text: str) -> str:
    """Return definitions with their long lines broken at spaces. Lines of comments are never long."""
    lines = []
    for line in text.split("\n"):
        margin = " " * (len(line) - len(line.lstrip()) + 2)
        broken = wrap(line, WIDTH, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)
        lines += broken if len(line) > WIDTH else [line]
    return "\n".join(lines)


def definition(name: str, kind: str, body: str) -> str:
    """Return the definition of a name of a type."""
    return f"Definition {name} : {kind} := {body}."


def applied(function: str, *arguments: str) -> str:
    """Return a function applied to arguments, in brackets; the function alone if there are none."""
    return f"({' '.join([function, *arguments])})" if arguments else function


def column_of(rows: Sequence[str]) -> str:
    """Return a list with a line for each item."""
    return "[" + ";".join(f"\n   {row}" for row in rows) + "]"
