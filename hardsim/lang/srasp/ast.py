"""Checked `.srasp` programs, declared whole: every name resolved, every expression with its sort.

A program is a list of vectors, one value for each position 1..n of the (padded) word; each vector is computed from the
word and from earlier vectors only. Equality and hashing ignore spans; a span is the place of the operator (of a chain:
the first one), of the name or of the literal. `&`, `|` and `^` are n-ary and flat.

Expressions are read at a position i and, inside attention and psum, at a second position j. Where integers are needed
a Boolean stands below an `AsInteger`; the literals 0 and 1 are `Truth` or `Integer`, whichever inference found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Final, Literal, TypeAlias

from hardsim.errors import Source, Span
from hardsim.lang.arith import Arith

NO_SPAN = Span(0, 0)
BLANK: Final = "#"
"""What a padded input is filled with; it is dropped from the output."""


class Sort(Enum):
    """What the values of a vector or expression are."""

    BOOL = "Boolean"
    INT = "integer"
    SYMBOL = "symbol"


Index: TypeAlias = Literal["i", "j"]
Side: TypeAlias = Literal["leftmost", "rightmost"]
Mask: TypeAlias = Literal["1", "j<i", "j<=i", "j>i", "j>=i"]
"""Which j attention may look at; `1` is all of them."""
NaryOp: TypeAlias = Literal["&", "|", "^"]
ArrowOp: TypeAlias = Literal["->", "<->"]
CompareOp: TypeAlias = Literal["<", "<=", "=", "!=", ">=", ">"]
SumOp: TypeAlias = Literal["+", "-"]


def _span() -> Span:
    return field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


class _Boolean:
    """A node whose sort is Boolean."""

    __slots__ = ()

    @property
    def sort(self) -> Sort:
        """Boolean."""
        return Sort.BOOL


class _Integer:
    """A node whose sort is integer."""

    __slots__ = ()

    @property
    def sort(self) -> Sort:
        """Integer."""
        return Sort.INT


class _Symbol:
    """A node whose sort is symbol."""

    __slots__ = ()

    @property
    def sort(self) -> Sort:
        """Symbol."""
        return Sort.SYMBOL


# ---- constants ----


@dataclass(frozen=True, slots=True)
class Truth(_Boolean):
    """A Boolean constant."""

    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Integer(_Integer):
    """An integer constant, of either sign."""

    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Letter(_Symbol):
    """A symbol constant: a symbol of the alphabet, or the blank of a padded program."""

    name: str
    span: Span = _span()


# ---- vectors at a position ----


@dataclass(frozen=True, slots=True)
class HasSymbol(_Boolean):
    """`Q_a(i)`: true where the (padded) input has the symbol."""

    symbol: str
    index: Index
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Input(_Symbol):
    """`in(i)`: the symbol of the (padded) input."""

    index: Index
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Position(_Integer):
    """`pos(i)`: the position itself, from 1."""

    index: Index
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Length(_Integer):
    """`len(i)`: the (padded) length n; the same at every position."""

    index: Index
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Ref:
    """A vector that an earlier statement defines, at a position."""

    name: str
    index: Index
    sort: Sort
    span: Span = _span()


# ---- operations ----


@dataclass(frozen=True, slots=True)
class Not(_Boolean):
    """Negation of a Boolean."""

    arg: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Nary(_Boolean):
    """Conjunction, disjunction or exclusive or of two or more Booleans (`^`: an odd number of them is true)."""

    op: NaryOp
    args: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Arrow(_Boolean):
    """Implication or equivalence of Booleans; both group to the right."""

    op: ArrowOp
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Compare(_Boolean):
    """A comparison of two expressions of one sort; symbols and Booleans are compared by `=` and `!=` only."""

    op: CompareOp
    left: Expression
    right: Expression
    span: Span = _span()

    @property
    def operands(self) -> Sort:
        """The sort of what is compared."""
        return self.left.sort


@dataclass(frozen=True, slots=True)
class Member(_Boolean):
    """Whether a symbol is in a finite set; the set has no symbol twice and may be empty."""

    arg: Expression
    symbols: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Related(_Boolean):
    """Whether the values of symbol expressions are a tuple of a relation of the program."""

    relation: str
    args: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AsInteger(_Integer):
    """A Boolean counted as 0 or 1."""

    arg: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sum(_Integer):
    """A sum or difference of two integers."""

    op: SumOp
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Scale(_Integer):
    """An integer multiplied by a constant; `-x` is `Scale(-1, x)` unless x is a literal."""

    factor: int
    arg: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Conditional:
    """`test ? then : otherwise`; both branches have one sort, any of the three."""

    test: Expression
    then: Expression
    otherwise: Expression
    span: Span = _span()

    @property
    def sort(self) -> Sort:
        """That of the branches."""
        return self.then.sort


Expression: TypeAlias = (
    Truth | Integer | Letter | HasSymbol | Input | Position | Length | Ref
    | Not | Nary | Arrow | Compare | Member | Related | AsInteger | Sum | Scale | Conditional
)  # fmt: skip


# ---- statements ----


@dataclass(frozen=True, slots=True)
class PositionWise:
    """The value of an expression over vectors at i."""

    expr: Expression

    @property
    def sort(self) -> Sort:
        """That of the expression."""
        return self.expr.sort


@dataclass(frozen=True, slots=True)
class Attention:
    """`side[mask, score] value : default`.

    At i: the value at (i, j) for the leftmost or rightmost j with `mask` and a true score at (i, j), or the default at
    i if there is no such j. Score (Boolean) and value read i and j, the default reads i. Value and default have one
    sort.
    """

    side: Side
    mask: Mask
    score: Expression
    value: Expression
    default: Expression
    span: Span = _span()

    @property
    def sort(self) -> Sort:
        """That of value and default."""
        return self.value.sort


@dataclass(frozen=True, slots=True)
class PrefixSum(_Integer):
    """`psum_j[j <= i] value`: the sum of an integer expression over vectors at j, for j = 1..i."""

    value: Expression
    span: Span = _span()


RightHandSide: TypeAlias = PositionWise | Attention | PrefixSum


@dataclass(frozen=True, slots=True)
class Statement:
    """The definition of a vector; the span is that of the name."""

    name: str
    right: RightHandSide
    span: Span = _span()

    @property
    def sort(self) -> Sort:
        """The sort of the vector."""
        return self.right.sort


@dataclass(frozen=True, slots=True)
class Relation:
    """A finite relation of symbols; tuples that are not listed are false. There is at least one tuple."""

    name: str
    tuples: tuple[tuple[str, ...], ...]
    span: Span = _span()

    @property
    def arity(self) -> int:
        """How many symbols a tuple has (1 or more)."""
        return len(self.tuples[0])


@dataclass(frozen=True, slots=True)
class WordExample:
    """A word of an `accept:` or `reject:` line."""

    word: tuple[str, ...]
    accept: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class MapExample:
    """A pair of a `map:` line: an input and the output that the program gives for it (blanks dropped)."""

    word: tuple[str, ...]
    output: tuple[str, ...]
    span: Span = _span()


Example: TypeAlias = WordExample | MapExample


@dataclass(frozen=True)
class Program:
    """A `.srasp` file: header, relations and vectors, in the order of the text.

    `output` names a Boolean vector (an acceptor: a word is accepted iff it is true at position n) or a symbol vector (a
    transduction). `pad` is the padded length as an expression in `len`, the length before padding; None leaves words as
    they are. `alphabet` is that of the input, without the blank. `origin` is the header's `source:` line.
    """

    alphabet: tuple[str, ...]
    statements: tuple[Statement, ...]
    output: str
    relations: tuple[Relation, ...] = ()
    pad: Arith | None = None
    examples: tuple[Example, ...] = ()
    origin: str = ""
    title: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)
    source: Source = field(default=Source("<text>", ""), compare=False, repr=False)

    @cached_property
    def vectors(self) -> Mapping[str, Statement]:
        """The statement that defines each name."""
        return {statement.name: statement for statement in self.statements}

    @property
    def is_acceptor(self) -> bool:
        """Whether the output is Boolean; otherwise it is a symbol vector."""
        return self.vectors[self.output].sort is Sort.BOOL

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that vectors can have as values: the alphabet, and the blank if the program pads."""
        return self.alphabet if self.pad is None else (*self.alphabet, BLANK)
