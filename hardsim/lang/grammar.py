"""The expression grammar ltl.lark and the building of its trees.

This module imports lark, which takes a while: import it only when there is something to parse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import ClassVar

from lark import Lark, Token

from hardsim.lang.raw import Lexeme, MisreadError, Raw, RawKind
from hardsim.lang.trees import TreeBuilder, build_with, grouped_right, join, make_parser, place, split


def build(tokens: Sequence[Lexeme]) -> Raw:
    """The tree of a list of tokens. Raises MisfitError or MisreadError. No recursion, whatever the depth."""
    return build_with(_parser(), tokens)


@cache
def _parser() -> Lark:
    return make_parser("hardsim.lang", "ltl.lark", _Builder())


class _Builder(TreeBuilder):
    """The rules that this grammar has alone."""

    LEAVES: ClassVar[Mapping[str, RawKind]] = {
        "WORD": "word",
        "NUMBER": "number",
        "QUOTED": "quoted",
        "CONSTANT": "constant",
        "PREDICATE": "predicate",
    }

    def start(self, children: list[Raw]) -> Raw:
        return children[0]

    def count(self, children: list[Raw | Token]) -> Raw:
        (inner,), (opening, closing) = split(children)
        return Raw("count", str(opening), place(opening), join(place(opening), place(closing)), (inner,))

    def prefix(self, children: list[Raw | Token]) -> Raw:
        _, (token,) = split(children)
        return self.prefixed("sign" if token.type == "SIGN" else "unary", children)

    def binary(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = split(children)
        for before, token in pairwise(tokens):
            if token != before:
                raise MisreadError(
                    place(token),
                    f"two different temporal operators in a row, {before} and {token}, need brackets",
                    hint=f"write (... {before} ...) {token} ... or ... {before} (... {token} ...)",
                )
        return grouped_right("binary", operands, tokens)

    def modulo(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = split(children)
        if len(tokens) > 1:
            raise MisreadError(place(tokens[1]), "mod cannot be chained", "= and a remainder", "write (t) mod m = r")
        return grouped_right("mod", operands, tokens)
