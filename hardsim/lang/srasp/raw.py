"""What the grammar produces: right-hand sides in which sorts and names are not yet known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hardsim.errors import Span
from hardsim.lang.srasp.vocabulary import TokenKind

RawKind: TypeAlias = Literal[
    "word", "symbol", "number", "quoted", "truth",
    "not", "nary", "arrow", "compare", "member", "sum", "sign", "product", "conditional",
    "attention", "psum",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token: its terminal, its canonical spelling (for `Q_a` and quoted symbols: the symbol) and its place."""

    kind: TokenKind
    value: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A node of the grammar.

    `text` is the canonical operator, the word or the symbol; `at` the place of that operator or word; `whole` the place
    of the node with its operands, brackets around it included. A word with arguments in brackets is `called`.

    The operands of `member` are the element and then the members of the set; those of `attention` are mask, score,
    value and default; those of `psum` mask and value.
    """

    kind: RawKind
    text: str
    at: Span
    whole: Span
    args: tuple[Raw, ...] = ()
    called: bool = False
