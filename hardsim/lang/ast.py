"""The surface syntax of `.ltl` files, declared whole.

Formulas and terms are trees as the user wrote them: `let` names stay references, so a tree is never larger than
its text. Equality and hashing ignore spans; a span is the place of the operator (of a chain: the first one), of the
name or of the literal. `&`, `|` and `^` are n-ary and flat (an `&` directly below an `&`, written without brackets or
with, is one node).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hardsim.errors import Source, Span

NO_SPAN = Span(0, 0)

UnaryOp: TypeAlias = Literal["X", "WX", "Y", "WY", "O", "H", "F", "G"]
BinaryOp: TypeAlias = Literal["U", "R", "W", "M", "S", "T"]
NaryOp: TypeAlias = Literal["&", "|", "^"]
ArrowOp: TypeAlias = Literal["->", "<->"]
CompareOp: TypeAlias = Literal["<", "<=", "=", "!=", ">=", ">"]
Side: TypeAlias = Literal["L", "R", ""]
"""Which positions a count ranges over: `L` j <= i, `R` j >= i, the empty string all."""


def _span() -> Span:
    return field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


# ---- formulas (truth values at a position) ----


@dataclass(frozen=True, slots=True)
class Symbol:
    """True where the word has this symbol."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""

    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Marker:
    """`first` (true at position 1) or `last` (true at position n)."""

    which: Literal["first", "last"]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Ref:
    """A name defined by an earlier `let`; its sort is that of the definition."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    arg: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Nary:
    """Conjunction, disjunction or exclusive or of two or more formulas (`^`: an odd number of them is true)."""

    op: NaryOp
    args: tuple[Formula, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Arrow:
    """Implication or equivalence. `a <-> b <-> c`, like `a -> b -> c`, groups to the right."""

    op: ArrowOp
    left: Formula
    right: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Unary:
    """A unary temporal operator (strong and weak next and yesterday; once, historically, eventually, always)."""

    op: UnaryOp
    arg: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary temporal operator: until, release, weak until, strong release, since, trigger."""

    op: BinaryOp
    left: Formula
    right: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two integer linear terms."""

    op: CompareOp
    left: Term
    right: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Congruent:
    """`(term) mod modulus = residue`, modulus >= 1 and 0 <= residue < modulus. `MOD(m, r, t)` parses to this too."""

    term: Term
    modulus: int
    residue: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A numerical predicate: EVEN, ODD, MOD (with two parameters), PRIME, SQUARE, POW2 or one defined by `pred`.

    `term` is None when it is about the position itself (written without an argument); otherwise the term it is about.
    """

    name: str
    params: tuple[int, ...]
    term: Term | None
    span: Span = _span()


# ---- terms (integers at a position) ----


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant."""

    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Position:
    """`pos`, the position i (from 1)."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Length:
    """`len`, the length n of the word."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Count:
    """`#L[arg]`, `#R[arg]` or `#[arg]`: the number of positions of that side where the formula is true."""

    side: Side
    arg: Formula
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sum:
    """`left + right` or `left - right`."""

    op: Literal["+", "-"]
    left: Term
    right: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Signed:
    """Unary `-term` or `+term`."""

    op: Literal["+", "-"]
    arg: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Product:
    """A product; at least one side is an integer constant (has no position, length or count in it, also by `let`)."""

    left: Term
    right: Term
    span: Span = _span()


Formula: TypeAlias = (
    Symbol | Truth | Marker | Ref | Not | Nary | Arrow | Unary | Binary | Compare | Congruent | Predicate
)
Term: TypeAlias = Integer | Position | Length | Count | Sum | Signed | Product | Ref
Node: TypeAlias = Formula | Term


# ---- files ----


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = body`; the body is a formula or a term and may use earlier names."""

    name: str
    body: Node
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class UserPredicate:
    """`pred NAME(i, n) = expression`: `text` is the right-hand side as written, `params` the two argument names."""

    name: str
    params: tuple[str, ...]
    text: str
    span: Span = _span()
    """The span of the right-hand side."""


@dataclass(frozen=True, slots=True)
class Example:
    """A word of an `accept:` or `reject:` line."""

    word: tuple[str, ...]
    accept: bool
    span: Span = _span()


@dataclass(frozen=True)
class FormulaFile:
    """A parsed `.ltl` file: alphabet, definitions, one formula, and the examples that go with it.

    `at` is the position at which the formula is read; `notes` are remarks for the user (on stderr), such as
    a formula all of whose operators look forward being read at the last position.
    """

    alphabet: tuple[str, ...]
    formula: Formula
    lets: tuple[Let, ...] = ()
    predicates: tuple[UserPredicate, ...] = ()
    at: Literal["last", "first"] = "last"
    origin: str = ""
    """The value of `source:`."""
    title: str = ""
    """The text of the first comment line, if the file starts with one."""
    examples: tuple[Example, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    source: Source = field(default=Source("<formula>", ""), compare=False, repr=False)
    placed: bool = field(default=False, compare=False)
    """Whether the file itself says where it is read, and so for which position its examples were written."""

    @property
    def definitions(self) -> Mapping[str, Node]:
        """The bodies of the `let` definitions by name, in order of definition."""
        return {let.name: let.body for let in self.lets}
