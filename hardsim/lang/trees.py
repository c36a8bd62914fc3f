"""Syntax trees as the grammars (`*.lark`) define them, built from tokens; sorts and names are resolved later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce
from importlib import resources
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from hardsim.errors import SourceError, Span
from hardsim.lang.lexer import Cited, Lexeme
from hardsim.lazy_dataclass import dataclass

_Children: TypeAlias = "Sequence[Raw | Token]"

if TYPE_CHECKING:  # lark is slow to import: `_parser` imports it at the first use
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
"""The kinds of `Raw` nodes, line by line: shared by several languages; formulas only; S-RASP programs (`conditional`
and `psum` in C-RASP too); regular expressions only; C-RASP only; specifications only."""


Grammar: TypeAlias = Literal["ltl.lark", "srasp.lark", "re.lark", "crasp.lark"]


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A node of a grammar's tree. `text` is the canonical operator, the word, the symbol, or the side of a count; `at`
    the place of that operator or word; `whole` the place of the node with its operands, including brackets around it.
    `called` is True for a predicate or word that has arguments in brackets. Operands (`args`) by kind: `member`: the
    element and then the members of the set; `attention`: mask, score, value, default; `mean_j` with a score: the same
    four; `psum` and `mean_j` without a score: mask, value; `count_j`: mask, score."""

    kind: RawKind
    text: str
    at: Span
    whole: Span
    args: tuple[Raw, ...] = ()
    called: bool = False


def levels(root: Raw) -> Iterator[tuple[Raw, int]]:
    """Yield every node of a tree in preorder, with the number of nodes above it; `(t) mod m = r` counts as one node, as
    `MOD(m, r, t)` does. No recursion."""
    stack = [(root, 0)]
    while stack:
        node, above = stack.pop()
        yield node, above
        # `mod` is the left operand of the comparison `=`, so it adds no level of its own
        stack.extend((arg, above + (node.kind != "mod")) for arg in reversed(node.args))


def mixed(node: Raw, outer: str, inner: str) -> Raw | None:
    """Return the first operand of an `outer` chain that is an `inner` operation of the same kind without brackets,
    or None."""
    inside = (arg for arg in node.args if (node.text, arg.kind, arg.text) == (outer, node.kind, inner))
    # a bracketed operand starts at its bracket, one without brackets at its first operand
    return next((arg for arg in inside if arg.whole.start == arg.args[0].whole.start), None)


def mixes_arrows(node: Raw) -> bool:
    """Return True if a node is an equivalence with an operand that is an implication without brackets."""
    return node.kind == "arrow" and mixed(node, "<->", "->") is not None


CHAINED = "two {0} in a row need brackets: tools disagree on how they group"
"""The message for an operator that is repeated without brackets."""
MIXED = "^ beside | needs brackets: tools disagree on which binds tighter"
MIXED_HINT = "write (... ^ ...) | ... or ... ^ (... | ...)"


class _MisreadError(Exception):
    """A syntax mistake found while the tree is built; its arguments are place, message, expected text and hint."""


def build(grammar: Grammar, text: Cited, tokens: Sequence[Lexeme], misfit: Callable[[int], SourceError]) -> Raw:
    """Build the tree of a list of tokens. No recursion, whatever the depth. Raises SourceError for chains of operators
    that do not chain. For the first token that does not fit, raises the error that `misfit` returns for the token's
    index (the number of tokens stands for the end)."""
    parser = _parser(grammar)
    from lark import UnexpectedToken

    try:
        return cast("Raw", parser.parse(cast("str", tokens)))  # the result for the start rule
    except UnexpectedToken as error:
        raise misfit(len(tokens) if error.token.type == "$END" else error.token.line or 0) from None
    except _MisreadError as error:
        raise text.error(*error.args) from None


@cache
def _parser(grammar: Grammar) -> Lark:
    from lark import Lark, Token
    from lark.lexer import Lexer

    class Replay(Lexer):
        """Gives lark the tokens that our lexer made; a token's `line` is its index in the list."""

        def __init__(self, lexer_conf: object) -> None:
            """Accept and ignore lark's configuration of terminals."""

        __future_interface__ = 2  # makes lark call `lex` with a state whose `text` is our list of tokens

        def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
            for index, token in enumerate(cast("Sequence[Lexeme]", lexer_state.text)):
                yield Token(token.kind, token.value, token.span.start, line=index, end_pos=token.span.end)

    # LALR needs no recursion in Python; the tokens come from our own lexers
    text = resources.files("hardsim.lang").joinpath(grammar).read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=Replay, transformer=_Builder(grammar), maybe_placeholders=False)


def _split(children: _Children) -> tuple[list[Raw], list[Token]]:
    """Split the children of a rule into operands (trees) and tokens, each in order."""
    return [c for c in children if isinstance(c, Raw)], [c for c in children if not isinstance(c, Raw)]


def _place(child: Raw | Token) -> Span:
    return child.whole if isinstance(child, Raw) else Span(child.start_pos or 0, child.end_pos or 0)


def _node(kind: RawKind, *children: Raw | Token) -> Raw:
    operands, tokens = _split(children)
    whole = Span(_place(children[0]).start, _place(children[-1]).end)
    return Raw(kind, str(tokens[0]), _place(tokens[0]), whole, tuple(operands))


def _grouped_right(kind: RawKind, children: _Children) -> Raw:
    """Build a chain of a binary operator as `a op (b op (c ...))`."""
    operands, tokens = _split(children)
    pairs = zip(reversed(operands[:-1]), reversed(tokens), strict=True)
    return reduce(lambda tree, pair: _node(kind, *pair, tree), pairs, operands[-1])


def _arrows_of_one_kind(children: _Children) -> Raw:
    """Build a chain of `<->`, where grouping makes no difference, or a single `->`; a chain of `->` is an error."""
    tokens = _split(children)[1]
    if len(tokens) > 1 and tokens[0] == "->":
        hint = "write ... -> (... -> ...), as Spot and NuSMV read it, or (... -> ...) -> ..., as SPIN does"
        raise _MisreadError(_place(tokens[1]), CHAINED.format("->"), "", hint)
    return _grouped_right("arrow", children)


class _Builder:
    """Builds the tree: lark calls the method named after a grammar rule with the rule's children once the rule is
    complete."""

    def __init__(self, grammar: Grammar) -> None:
        self.conjunction = "&&" if grammar == "crasp.lark" else "&"
        """Spelling of `and` in hints."""

    def node(self, children: _Children) -> Raw:
        """Build a node from its first token: a leaf, or an operator or opening bracket with its operands."""
        return _node(cast("RawKind", _split(children)[1][0].type.lower()), *children)

    def call(self, children: _Children) -> Raw:
        """Build a name with arguments in brackets."""
        return replace(self.node(children), called=True)

    def bracket(self, children: _Children) -> Raw:
        """Return the tree between two brackets; its place is widened to include the brackets."""
        return replace(_split(children)[0][0], whole=Span(_place(children[0]).start, _place(children[-1]).end))

    def nary(self, children: _Children) -> Raw:
        """Build a chain of `&`, `^` or `|` as one flat node: an operand that is a chain of the same operator is
        merged."""
        chain = _node("nary", *children)
        if inner := mixed(chain, "|", "^"):
            raise _MisreadError(inner.at, MIXED, "", MIXED_HINT)
        flat: list[Raw] = []
        for operand in chain.args:
            flat.extend(operand.args if (operand.kind, operand.text) == ("nary", chain.text) else (operand,))
        return replace(chain, args=tuple(flat))

    def sequence(self, children: _Children) -> Raw:
        """Build a sequence of operands side by side."""
        operands = _split(children)[0]
        whole = Span(operands[0].whole.start, operands[-1].whole.end)
        return Raw("sequence", "", whole, whole, tuple(operands))

    def arrow(self, children: _Children) -> Raw:
        """Build a chain of `->` or `<->`; the two operators may not be mixed without brackets."""
        tokens = _split(children)[1]
        other = next((token for token in tokens if token != tokens[0]), None)
        if other is not None:
            hint = f"write (... {tokens[0]} ...) {other} ... or ... {tokens[0]} (... {other} ...)"
            raise _MisreadError(_place(other), f"{tokens[0]} beside {other} needs brackets", "", hint)
        return _arrows_of_one_kind(children)

    def arrows(self, children: _Children) -> Raw:
        """Build a chain of `->` and `<->` in which `->` binds tighter."""
        # split at each `<->`: `parts` are the operands of the equivalences, each perhaps an implication
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
        """Build a temporal operator with two operands; two such operators in a row need brackets."""
        operands, tokens = _split(children)
        if len(tokens) > 1:
            before, token = tokens[:2]
            message = f"two different temporal operators in a row, {before} and {token}, need brackets"
            if before == token:
                message = CHAINED.format(token)
            hint = f"write (... {before} ...) {token} ... or ... {before} (... {token} ...)"
            raise _MisreadError(_place(token), message, "", hint)
        return _node("binary", *children) if tokens else operands[0]

    def comparison(self, children: _Children) -> Raw:
        tokens = _split(children)[1]
        if len(tokens) > 1:
            expected = "an operator other than a comparison"
            hint = f"write ... {tokens[0]} ... {self.conjunction} ... {tokens[1]} ..."
            raise _MisreadError(_place(tokens[1]), "comparisons cannot be chained", expected, hint)
        return _node("compare", *children)

    def modulo(self, children: _Children) -> Raw:
        tokens = _split(children)[1]
        if len(tokens) > 1:
            hint = "write (t) mod m = r"
            raise _MisreadError(_place(tokens[1]), "mod cannot be chained", "= and a remainder", hint)
        return _node("mod", *children)

    def left_chain(self, children: _Children) -> Raw:
        """Build a chain of `+ - * /`, which group to the left."""
        kinds: dict[str, RawKind] = {"SIGN": "sum", "STAR": "product", "SLASH": "quotient"}
        operands, tokens = _split(children)
        tree = operands[0]
        for operand, token in zip(operands[1:], tokens, strict=True):
            tree = _node(kinds[token.type], tree, token, operand)
        return tree
