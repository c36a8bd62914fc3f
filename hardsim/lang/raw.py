"""What the grammar produces: trees in which formulas and terms are not yet told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hardsim.errors import Source, Span
from hardsim.lang.vocabulary import TokenKind

RawKind: TypeAlias = Literal[
    "word", "number", "quoted", "constant", "predicate",
    "unary", "binary", "nary", "arrow", "compare", "mod", "sum", "sign", "product", "count",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token: its terminal, its canonical spelling (for a quoted symbol: the symbol) and its place."""

    kind: TokenKind
    value: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A node of the grammar.

    `text` is the canonical operator, the word, or the side of a count; `at` the place of that operator or word;
    `whole` the place of the node with its operands. A predicate or word that was written with brackets is `called`.
    """

    kind: RawKind
    text: str
    at: Span
    whole: Span
    args: tuple[Raw, ...] = ()
    called: bool = False


class MisreadError(Exception):
    """A mistake found while the tree is built; parse.py turns it into a SourceError."""

    def __init__(self, span: Span, message: str, expected: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.span = span
        self.message = message
        self.expected = expected
        self.hint = hint


def excerpt(source: Source, span: Span, limit: int = 40) -> str:
    """The text of a span on one line, shortened in the middle, for use in messages."""
    text = " ".join(source.text[span.start : min(span.end, span.start + 10 * limit)].split())
    return text if len(text) <= limit else f"{text[: limit - 11]} ... {text[-6:]}"
