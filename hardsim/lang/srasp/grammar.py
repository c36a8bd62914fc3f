"""The grammar srasp.lark and the building of its trees.

This module imports lark, which takes a while: import it only when there is something to parse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import cast

from lark import Lark, Token, Transformer, UnexpectedToken
from lark.lexer import Lexer, LexerState

from hardsim.errors import Span
from hardsim.lang.raw import MisreadError
from hardsim.lang.srasp.raw import Lexeme, Raw, RawKind

_LEAVES: dict[str, RawKind] = {
    "WORD": "word",
    "SYMBOL": "symbol",
    "NUMBER": "number",
    "QUOTED": "quoted",
    "TRUTH": "truth",
}
_CHAINS: dict[str, RawKind] = {"SIGN": "sum", "STAR": "product"}


class MisfitError(Exception):
    """The token of that index does not fit (an index of len(tokens) is the end)."""

    def __init__(self, index: int) -> None:
        super().__init__(f"token {index}")
        self.index = index


def build(tokens: Sequence[Lexeme]) -> Raw:
    """The tree of the tokens of a right-hand side. Raises MisfitError or MisreadError. No recursion."""
    try:
        return cast("Raw", _parser().parse(tokens))  # what _Builder makes of the rule `start`
    except UnexpectedToken as error:
        raise MisfitError(len(tokens) if error.token.type == "$END" else error.token.line or 0) from None


class _Replay(Lexer):
    """Hands lark the tokens that lexer.py made; a token's `line` is its index."""

    def __init__(self, lexer_conf: object) -> None:
        """Lark passes its configuration of terminals, which is not needed here."""

    __future_interface__ = 2  # lark calls `lex` with its state, whose `text` is the input as it was given

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
        tokens = cast("Sequence[Lexeme]", lexer_state.text)
        for index, token in enumerate(tokens):
            yield Token(token.kind, token.value, token.span.start, line=index, end_pos=token.span.end)


@cache
def _parser() -> Lark:
    text = resources.files("hardsim.lang.srasp").joinpath("srasp.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=_Replay, transformer=_Builder(), maybe_placeholders=False)


def _place(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0)


def _join(first: Span, last: Span) -> Span:
    return Span(first.start, last.end)


def _split(children: list[Raw | Token]) -> tuple[list[Raw], list[Token]]:
    """The operands and the tokens between and around them, in order."""
    return [c for c in children if isinstance(c, Raw)], [c for c in children if isinstance(c, Token)]


class _Builder(Transformer[Token, Raw]):
    """One method per rule of the grammar; lark calls it when the rule is complete, with its children."""

    def pointwise(self, children: list[Raw]) -> Raw:
        return children[0]

    def attention(self, children: list[Raw | Token]) -> Raw:
        return self._statement("attention", children)

    def psum(self, children: list[Raw | Token]) -> Raw:
        return self._statement("psum", children)

    def _statement(self, kind: RawKind, children: list[Raw | Token]) -> Raw:
        operands, tokens = _split(children)
        place = _place(tokens[0])
        return Raw(kind, str(tokens[0]), place, _join(place, operands[-1].whole), tuple(operands))

    def leaf(self, children: list[Token]) -> Raw:
        (token,) = children
        return Raw(_LEAVES[token.type], str(token), _place(token), _place(token))

    def call(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = _split(children)
        name = tokens[0]
        whole = _join(_place(name), _place(tokens[-1]))
        return Raw(_LEAVES[name.type], str(name), _place(name), whole, tuple(operands), called=True)

    def bracket(self, children: list[Raw | Token]) -> Raw:
        (inner,), (opening, closing) = _split(children)
        return Raw(inner.kind, inner.text, inner.at, _join(_place(opening), _place(closing)), inner.args, inner.called)

    def conditional(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = _split(children)
        whole = _join(operands[0].whole, operands[-1].whole)
        return Raw("conditional", "?", _place(tokens[0]), whole, tuple(operands))

    def negated(self, children: list[Raw | Token]) -> Raw:
        return self._prefix("not", children)

    def signed(self, children: list[Raw | Token]) -> Raw:
        return self._prefix("sign", children)

    def _prefix(self, kind: RawKind, children: list[Raw | Token]) -> Raw:
        (inner,), (token,) = _split(children)
        return Raw(kind, str(token), _place(token), _join(_place(token), inner.whole), (inner,))

    def nary(self, children: list[Raw | Token]) -> Raw:
        """`& ^ |`, flat: an operand that is a chain of the same operator is opened."""
        operands, tokens = _split(children)
        op = str(tokens[0])
        flat: list[Raw] = []
        for operand in operands:
            flat.extend(operand.args if (operand.kind, operand.text) == ("nary", op) else (operand,))
        return Raw("nary", op, _place(tokens[0]), _join(operands[0].whole, operands[-1].whole), tuple(flat))

    def arrow(self, children: list[Raw | Token]) -> Raw:
        """`a op (b op (c ...))`."""
        operands, tokens = _split(children)
        for token in tokens:
            if token != tokens[0]:
                message = f"{tokens[0]} beside {token} needs brackets"
                hint = f"write (... {tokens[0]} ...) {token} ... or ... {tokens[0]} (... {token} ...)"
                raise MisreadError(_place(token), message, hint=hint)
        tree = operands[-1]
        for operand, token in zip(reversed(operands[:-1]), reversed(tokens), strict=True):
            tree = Raw("arrow", str(token), _place(token), _join(operand.whole, tree.whole), (operand, tree))
        return tree

    def comparison(self, children: list[Raw | Token]) -> Raw:
        (left, right, *_), tokens = _split(children)
        if len(tokens) > 1:
            hint = f"write ... {tokens[0]} ... & ... {tokens[1]} ..."
            raise MisreadError(
                _place(tokens[1]), "comparisons cannot be chained", "an operator that is no comparison", hint
            )
        return Raw("compare", str(tokens[0]), _place(tokens[0]), _join(left.whole, right.whole), (left, right))

    def member(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = _split(children)
        whole = _join(operands[0].whole, _place(tokens[-1]))
        return Raw("member", "in", _place(tokens[0]), whole, tuple(operands))

    def left_chain(self, children: list[Raw | Token]) -> Raw:
        """`+ - *` group to the left."""
        operands, tokens = _split(children)
        tree = operands[0]
        for operand, token in zip(operands[1:], tokens, strict=True):
            kind = _CHAINS[token.type]
            tree = Raw(kind, str(token), _place(token), _join(tree.whole, operand.whole), (tree, operand))
        return tree
