"""The grammar srasp.lark and the building of its trees.

This module imports lark, which takes a while: import it only when there is something to parse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

from lark import Lark, Token

from hardsim.lang.raw import Lexeme, Raw, RawKind
from hardsim.lang.trees import TreeBuilder, build_with, join, make_parser, place, split


def build(tokens: Sequence[Lexeme]) -> Raw:
    """The tree of the tokens of a right-hand side. Raises MisfitError or MisreadError. No recursion."""
    return build_with(_parser(), tokens)


@cache
def _parser() -> Lark:
    return make_parser("hardsim.lang.srasp", "srasp.lark", _Builder())


class _Builder(TreeBuilder):
    """The rules that this grammar has alone."""

    LEAVES: ClassVar[Mapping[str, RawKind]] = {
        "WORD": "word",
        "SYMBOL": "symbol",
        "NUMBER": "number",
        "QUOTED": "quoted",
        "TRUTH": "truth",
    }

    def pointwise(self, children: list[Raw]) -> Raw:
        return children[0]

    def attention(self, children: list[Raw | Token]) -> Raw:
        return self._statement("attention", children)

    def psum(self, children: list[Raw | Token]) -> Raw:
        return self._statement("psum", children)

    def _statement(self, kind: RawKind, children: list[Raw | Token]) -> Raw:
        operands, tokens = split(children)
        start = place(tokens[0])
        return Raw(kind, str(tokens[0]), start, join(start, operands[-1].whole), tuple(operands))

    def conditional(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = split(children)
        whole = join(operands[0].whole, operands[-1].whole)
        return Raw("conditional", "?", place(tokens[0]), whole, tuple(operands))

    def negated(self, children: list[Raw | Token]) -> Raw:
        return self.prefixed("not", children)

    def signed(self, children: list[Raw | Token]) -> Raw:
        return self.prefixed("sign", children)

    def member(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = split(children)
        whole = join(operands[0].whole, place(tokens[-1]))
        return Raw("member", "in", place(tokens[0]), whole, tuple(operands))
