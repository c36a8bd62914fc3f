"""The trees that the grammars (`*.lark`) make of tokens; sorts and names are not told apart yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib import resources
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from hardsim.errors import SourceError, Span
from hardsim.lang.lexer import Cited, Lexeme

_Children: TypeAlias = "Sequence[Raw | Token]"

if TYPE_CHECKING:  # lark takes a while to import: it is imported when there is something to parse
    from lark import Lark, Token
    from lark.lexer import LexerState

RawKind: TypeAlias = Literal[
    "word", "number", "quoted", "nary", "arrow", "compare", "sum", "sign", "product",
    "constant", "predicate", "unary", "binary", "mod", "count",
    "symbol", "truth", "not", "member", "conditional", "attention", "psum", "count_j", "mean_j", "fraction",
    "sequence", "repeat", "any", "empty", "set",
    "extreme",
    "quotient",
]  # fmt: skip
"""Of several languages; of formulas alone; of S-RASP programs (C-RASP too: conditional, psum); of regular expressions
alone; of C-RASP alone; of specifications alone."""


Grammar: TypeAlias = Literal["ltl.lark", "srasp.lark", "re.lark", "crasp.lark"]


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A node of the grammar: `text` is the canonical operator, the word, the symbol, or the side of a count; `at` the
    place of that operator or word; `whole` that of the node with its operands, brackets around it included. A predicate
    or word that was written with arguments in brackets is `called`. The operands of `member` are the element and then
    the members of the set; those of `attention` mask, score, value and default, and so of `mean_j`
    with a score; those of `psum` and of `mean_j` without one mask and value, of `count_j` mask and score."""

    kind: RawKind
    text: str
    at: Span
    whole: Span
    args: tuple[Raw, ...] = ()
    called: bool = False


def levels(root: Raw) -> Iterator[tuple[Raw, int]]:
    """Every node of a tree, each before its operands, with how many are above it; `(t) mod m = r` is one
    node, as `MOD(m, r, t)` is. No recursion."""
    stack = [(root, 0)]
    while stack:
        node, above = stack.pop()
        yield node, above
        stack.extend((arg, above + (node.kind != "mod")) for arg in reversed(node.args))


def mixed(node: Raw, outer: str, inner: str) -> Raw | None:
    """Return the first operand that another operator of the same kind forms without brackets."""
    inside = (arg for arg in node.args if (node.text, arg.kind, arg.text) == (outer, node.kind, inner))
    return next((arg for arg in inside if arg.whole.start == arg.args[0].whole.start), None)


def mixes_arrows(node: Raw) -> bool:
    """Whether a node is an equivalence between implications that have no brackets of their own."""
    return node.kind == "arrow" and mixed(node, "<->", "->") is not None


_CHAINED = "two {0} in a row need brackets: tools disagree on how they group"


class _MisreadError(Exception):
    """A mistake found while the tree is built: place, message, what is expected, hint."""


def build(
    grammar: Grammar,
    text: Cited,
    tokens: Sequence[Lexeme],
    misfit: Callable[[int], SourceError],
) -> Raw:
    """The tree of a list of tokens. No recursion, whatever the depth. Raises SourceError for chains of operators that
    do not chain, and what `misfit` makes of the index of the first token that does not fit (the number of tokens is the
    end)."""
    parser = _parser(grammar)
    from lark import UnexpectedToken

    try:
        return cast("Raw", parser.parse(cast("str", tokens)))  # what the builder makes of the first rule
    except UnexpectedToken as error:
        raise misfit(len(tokens) if error.token.type == "$END" else error.token.line or 0) from None
    except _MisreadError as error:
        raise text.error(*error.args) from None


@cache
def _parser(grammar: str) -> Lark:
    from lark import Lark, Token
    from lark.lexer import Lexer

    class Replay(Lexer):
        """Hands lark the tokens that a lexer of ours made; a token's `line` is its index."""

        def __init__(self, lexer_conf: object) -> None:
            """Lark passes its configuration of terminals, which is not needed here."""

        __future_interface__ = 2  # lark calls `lex` with its state, whose `text` is the input as it was given

        def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
            for index, token in enumerate(cast("Sequence[Lexeme]", lexer_state.text)):
                yield Token(token.kind, token.value, token.span.start, line=index, end_pos=token.span.end)

    text = resources.files("hardsim.lang").joinpath(grammar).read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=Replay, transformer=_Builder(), maybe_placeholders=False)


def _split(children: _Children) -> tuple[list[Raw], list[Token]]:
    """The operands and the tokens between and around them, in order."""
    return [c for c in children if isinstance(c, Raw)], [c for c in children if not isinstance(c, Raw)]


def _place(child: Raw | Token) -> Span:
    return child.whole if isinstance(child, Raw) else Span(child.start_pos or 0, child.end_pos or 0)


def _node(kind: RawKind, *children: Raw | Token) -> Raw:
    operands, tokens = _split(children)
    whole = Span(_place(children[0]).start, _place(children[-1]).end)
    return Raw(kind, str(tokens[0]), _place(tokens[0]), whole, tuple(operands))


def _grouped_right(kind: RawKind, children: _Children) -> Raw:
    """`a op (b op (c ...))`."""
    operands, tokens = _split(children)
    pairs = zip(reversed(operands[:-1]), reversed(tokens), strict=True)
    return reduce(lambda tree, pair: _node(kind, *pair, tree), pairs, operands[-1])


def _arrows_of_one_kind(children: _Children) -> Raw:
    """Build a chain of `<->`, whose grouping makes no difference, or one `->`."""
    tokens = _split(children)[1]
    if len(tokens) > 1 and tokens[0] == "->":
        hint = "write ... -> (... -> ...), as Spot and NuSMV read it, or (... -> ...) -> ..., as SPIN does"
        raise _MisreadError(_place(tokens[1]), _CHAINED.format("->"), "", hint)
    return _grouped_right("arrow", children)


class _Builder:
    """One method per rule of the grammars; lark calls it when the rule is complete, with its children."""

    def node(self, children: _Children) -> Raw:
        """What its first token says: a leaf, or an operator or opening bracket with what belongs to it."""
        return _node(cast("RawKind", _split(children)[1][0].type.lower()), *children)

    def call(self, children: _Children) -> Raw:
        """A name with arguments in brackets."""
        return replace(self.node(children), called=True)

    def bracket(self, children: _Children) -> Raw:
        """What is inside; its place includes the brackets."""
        return replace(_split(children)[0][0], whole=Span(_place(children[0]).start, _place(children[-1]).end))

    def nary(self, children: _Children) -> Raw:
        """`& ^ |`, flat: an operand that is a chain of the same operator is opened."""
        chain = _node("nary", *children)
        if inner := mixed(chain, "|", "^"):
            hint = "write (... ^ ...) | ... or ... ^ (... | ...)"
            message = "^ beside | needs brackets: tools disagree on which binds tighter"
            raise _MisreadError(inner.at, message, "", hint)
        flat: list[Raw] = []
        for operand in chain.args:
            flat.extend(operand.args if (operand.kind, operand.text) == ("nary", chain.text) else (operand,))
        return replace(chain, args=tuple(flat))

    def sequence(self, children: _Children) -> Raw:
        """Operands side by side."""
        operands = _split(children)[0]
        whole = Span(operands[0].whole.start, operands[-1].whole.end)
        return Raw("sequence", "", whole, whole, tuple(operands))

    def arrow(self, children: _Children) -> Raw:
        """Build `->` or `<->`, which may not be mixed without brackets."""
        tokens = _split(children)[1]
        other = next((token for token in tokens if token != tokens[0]), None)
        if other is not None:
            hint = f"write (... {tokens[0]} ...) {other} ... or ... {tokens[0]} (... {other} ...)"
            raise _MisreadError(_place(other), f"{tokens[0]} beside {other} needs brackets", "", hint)
        return _arrows_of_one_kind(children)

    def arrows(self, children: _Children) -> Raw:
        """Build `->` and `<->`, of which `->` binds tighter."""
        parts: list[list[Raw | Token]] = [[]]
        tokens: list[Raw | Token] = []
        for child in children:
            if isinstance(child, Raw) or child != "<->":
                parts[-1].append(child)
            else:
                tokens.append(child)
                parts.append([])
        first, *rest = [_arrows_of_one_kind(part) for part in parts]
        return _grouped_right("arrow", [first, *(one for pair in zip(tokens, rest, strict=True) for one in pair)])

    def binary(self, children: _Children) -> Raw:
        """Build a single temporal operator with two operands."""
        operands, tokens = _split(children)
        if len(tokens) > 1:
            before, token = tokens[:2]
            message = f"two different temporal operators in a row, {before} and {token}, need brackets"
            if before == token:
                message = _CHAINED.format(token)
            hint = f"write (... {before} ...) {token} ... or ... {before} (... {token} ...)"
            raise _MisreadError(_place(token), message, "", hint)
        return _node("binary", *children) if tokens else operands[0]

    def comparison(self, children: _Children) -> Raw:
        tokens = _split(children)[1]
        if len(tokens) > 1:
            expected = "an operator that is no comparison"
            hint = f"write ... {tokens[0]} ... & ... {tokens[1]} ..."
            raise _MisreadError(_place(tokens[1]), "comparisons cannot be chained", expected, hint)
        return _node("compare", *children)

    def modulo(self, children: _Children) -> Raw:
        tokens = _split(children)[1]
        if len(tokens) > 1:
            hint = "write (t) mod m = r"
            raise _MisreadError(_place(tokens[1]), "mod cannot be chained", "= and a remainder", hint)
        return _node("mod", *children)

    def left_chain(self, children: _Children) -> Raw:
        """`+ - * /` group to the left."""
        kinds: dict[str, RawKind] = {"SIGN": "sum", "STAR": "product", "SLASH": "quotient"}
        operands, tokens = _split(children)
        tree = operands[0]
        for operand, token in zip(operands[1:], tokens, strict=True):
            tree = _node(kinds[token.type], tree, token, operand)
        return tree
