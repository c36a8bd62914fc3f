"""What the two expression grammars share: lark over tokens made elsewhere, and the trees of what both can say.

This module imports lark, which takes a while: import it only when there is something to parse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import ClassVar, cast

from lark import Lark, Token, Transformer, UnexpectedToken
from lark.lexer import Lexer, LexerState

from hardsim.errors import Span
from hardsim.lang.raw import Lexeme, MisreadError, Raw, RawKind

_CHAINS: dict[str, RawKind] = {"SIGN": "sum", "STAR": "product"}


class MisfitError(Exception):
    """The token of that index does not fit (an index of len(tokens) is the end)."""

    def __init__(self, index: int) -> None:
        super().__init__(f"token {index}")
        self.index = index


class _Replay(Lexer):
    """Hands lark the tokens that a lexer of ours made; a token's `line` is its index."""

    def __init__(self, lexer_conf: object) -> None:
        """Lark passes its configuration of terminals, which is not needed here."""

    __future_interface__ = 2  # lark calls `lex` with its state, whose `text` is the input as it was given

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
        tokens = cast("Sequence[Lexeme]", lexer_state.text)
        for index, token in enumerate(tokens):
            yield Token(token.kind, token.value, token.span.start, line=index, end_pos=token.span.end)


def make_parser(package: str, file: str, builder: TreeBuilder) -> Lark:
    """The parser of a grammar file in a package, whose rules call the methods of a builder."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=_Replay, transformer=builder, maybe_placeholders=False)


def build_with(parser: Lark, tokens: Sequence[Lexeme]) -> Raw:
    """The tree of a list of tokens. Raises MisfitError or MisreadError. No recursion, whatever the depth."""
    try:
        return cast("Raw", parser.parse(tokens))  # what the builder makes of the rule `start`
    except UnexpectedToken as error:
        raise MisfitError(len(tokens) if error.token.type == "$END" else error.token.line or 0) from None


def place(token: Token) -> Span:
    """Where a token stands."""
    return Span(token.start_pos or 0, token.end_pos or 0)


def join(first: Span, last: Span) -> Span:
    """From the beginning of one place to the end of another."""
    return Span(first.start, last.end)


def split(children: list[Raw | Token]) -> tuple[list[Raw], list[Token]]:
    """The operands and the tokens between and around them, in order."""
    return [c for c in children if isinstance(c, Raw)], [c for c in children if isinstance(c, Token)]


def grouped_right(kind: RawKind, operands: list[Raw], operators: list[Token]) -> Raw:
    """`a op (b op (c ...))`."""
    tree = operands[-1]
    for operand, token in zip(reversed(operands[:-1]), reversed(operators), strict=True):
        tree = Raw(kind, str(token), place(token), join(operand.whole, tree.whole), (operand, tree))
    return tree


class TreeBuilder(Transformer[Token, Raw]):
    """One method per rule that both grammars have; lark calls it when the rule is complete, with its children."""

    LEAVES: ClassVar[Mapping[str, RawKind]]

    def leaf(self, children: list[Token]) -> Raw:
        """A word, a number, a symbol."""
        (token,) = children
        return Raw(self.LEAVES[token.type], str(token), place(token), place(token))

    def call(self, children: list[Raw | Token]) -> Raw:
        """A name with arguments in brackets."""
        operands, tokens = split(children)
        name = tokens[0]
        whole = join(place(name), place(tokens[-1]))
        return Raw(self.LEAVES[name.type], str(name), place(name), whole, tuple(operands), called=True)

    def bracket(self, children: list[Raw | Token]) -> Raw:
        """What is inside; its place includes the brackets."""
        (inner,), (opening, closing) = split(children)
        return Raw(inner.kind, inner.text, inner.at, join(place(opening), place(closing)), inner.args, inner.called)

    def nary(self, children: list[Raw | Token]) -> Raw:
        """`& ^ |`, flat: an operand that is a chain of the same operator is opened."""
        operands, tokens = split(children)
        op = str(tokens[0])
        flat: list[Raw] = []
        for operand in operands:
            flat.extend(operand.args if (operand.kind, operand.text) == ("nary", op) else (operand,))
        return Raw("nary", op, place(tokens[0]), join(operands[0].whole, operands[-1].whole), tuple(flat))

    def arrow(self, children: list[Raw | Token]) -> Raw:
        """`-> <->` group to the right, and do not mix."""
        operands, tokens = split(children)
        for token in tokens:
            if token != tokens[0]:
                raise MisreadError(
                    place(token),
                    f"{tokens[0]} beside {token} needs brackets",
                    hint=f"write (... {tokens[0]} ...) {token} ... or ... {tokens[0]} (... {token} ...)",
                )
        return grouped_right("arrow", operands, tokens)

    def comparison(self, children: list[Raw | Token]) -> Raw:
        """One comparison; they are not chained."""
        operands, tokens = split(children)
        if len(tokens) > 1:
            hint = f"write ... {tokens[0]} ... & ... {tokens[1]} ..."
            raise MisreadError(
                place(tokens[1]), "comparisons cannot be chained", "an operator that is no comparison", hint
            )
        return grouped_right("compare", operands, tokens)

    def left_chain(self, children: list[Raw | Token]) -> Raw:
        """`+ - *` group to the left."""
        operands, tokens = split(children)
        tree = operands[0]
        for operand, token in zip(operands[1:], tokens, strict=True):
            kind = _CHAINS[token.type]
            tree = Raw(kind, str(token), place(token), join(tree.whole, operand.whole), (tree, operand))
        return tree

    def prefixed(self, kind: RawKind, children: list[Raw | Token]) -> Raw:
        """An operator before its operand."""
        (inner,), (token,) = split(children)
        return Raw(kind, str(token), place(token), join(place(token), inner.whole), (inner,))
