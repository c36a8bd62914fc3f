"""The expression grammar ltl.lark and the building of its trees.

This module imports lark, which takes a while: import it only when there is something to parse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import cast

from lark import Lark, Token, Transformer, UnexpectedToken
from lark.lexer import Lexer, LexerState

from hardsim.errors import Span
from hardsim.lang.raw import Lexeme, MisreadError, Raw, RawKind

_LEAVES: dict[str, RawKind] = {
    "WORD": "word",
    "NUMBER": "number",
    "QUOTED": "quoted",
    "CONSTANT": "constant",
    "PREDICATE": "predicate",
}
_CHAINS: dict[str, RawKind] = {"SIGN": "sum", "STAR": "product"}


class MisfitError(Exception):
    """The token of that index does not fit (an index of len(tokens) is the end)."""

    def __init__(self, index: int) -> None:
        super().__init__(f"token {index}")
        self.index = index


def build(tokens: Sequence[Lexeme]) -> Raw:
    """The tree of a list of tokens. Raises MisfitError or MisreadError. No recursion, whatever the depth."""
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
    text = resources.files("hardsim.lang").joinpath("ltl.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=_Replay, transformer=_Builder(), maybe_placeholders=False)


def _place(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0)


def _join(first: Span, last: Span) -> Span:
    return Span(first.start, last.end)


def _split(children: list[Raw | Token]) -> tuple[list[Raw], list[Token]]:
    """The operands and the operators of a chain, in order."""
    return [c for c in children if isinstance(c, Raw)], [c for c in children if isinstance(c, Token)]


def _right(kind: RawKind, operands: list[Raw], operators: list[Token]) -> Raw:
    """`a op (b op (c ...))`."""
    tree = operands[-1]
    for operand, token in zip(reversed(operands[:-1]), reversed(operators), strict=True):
        tree = Raw(kind, str(token), _place(token), _join(operand.whole, tree.whole), (operand, tree))
    return tree


class _Builder(Transformer[Token, Raw]):
    """One method per rule of the grammar; lark calls it when the rule is complete, with its children."""

    def start(self, children: list[Raw]) -> Raw:
        return children[0]

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

    def count(self, children: list[Raw | Token]) -> Raw:
        (inner,), (opening, closing) = _split(children)
        return Raw("count", str(opening), _place(opening), _join(_place(opening), _place(closing)), (inner,))

    def prefix(self, children: list[Raw | Token]) -> Raw:
        (inner,), (token,) = _split(children)
        kind: RawKind = "sign" if token.type == "SIGN" else "unary"
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
        operands, tokens = _split(children)
        for token in tokens:
            if token != tokens[0]:
                raise MisreadError(
                    _place(token),
                    f"{tokens[0]} beside {token} needs brackets",
                    hint=f"write (... {tokens[0]} ...) {token} ... or ... {tokens[0]} (... {token} ...)",
                )
        return _right("arrow", operands, tokens)

    def binary(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = _split(children)
        for before, token in pairwise(tokens):
            if token != before:
                raise MisreadError(
                    _place(token),
                    f"two different temporal operators in a row, {before} and {token}, need brackets",
                    hint=f"write (... {before} ...) {token} ... or ... {before} (... {token} ...)",
                )
        return _right("binary", operands, tokens)

    def comparison(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = _split(children)
        if len(tokens) > 1:
            hint = f"write ... {tokens[0]} ... & ... {tokens[1]} ..."
            raise MisreadError(
                _place(tokens[1]), "comparisons cannot be chained", "an operator that is no comparison", hint
            )
        return _right("compare", operands, tokens)

    def modulo(self, children: list[Raw | Token]) -> Raw:
        operands, tokens = _split(children)
        if len(tokens) > 1:
            raise MisreadError(_place(tokens[1]), "mod cannot be chained", "= and a remainder", "write (t) mod m = r")
        return _right("mod", operands, tokens)

    def left_chain(self, children: list[Raw | Token]) -> Raw:
        """`+ - *` group to the left."""
        operands, tokens = _split(children)
        tree = operands[0]
        for operand, token in zip(operands[1:], tokens, strict=True):
            kind = _CHAINS[token.type]
            tree = Raw(kind, str(token), _place(token), _join(tree.whole, operand.whole), (tree, operand))
        return tree
