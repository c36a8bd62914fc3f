"""What the grammars produce: trees in which formulas and terms, sorts and names are not yet told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hardsim.errors import Source, Span

RawKind: TypeAlias = Literal[
    "word", "number", "quoted", "nary", "arrow", "compare", "sum", "sign", "product",
    "constant", "predicate", "unary", "binary", "mod", "count",
    "symbol", "truth", "not", "member", "conditional", "attention", "psum",
]  # fmt: skip
"""Of both languages; of formulas alone; of S-RASP programs alone."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token: its terminal, its canonical spelling (for `Q_a` and quoted symbols: the symbol) and its place."""

    kind: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A node of the grammar.

    `text` is the canonical operator, the word, the symbol, or the side of a count; `at` the place of that operator or
    word; `whole` the place of the node with its operands, brackets around it included. A predicate or word that was
    written with arguments in brackets is `called`.

    The operands of `member` are the element and then the members of the set; those of `attention` are mask, score,
    value and default; those of `psum` mask and value.
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
