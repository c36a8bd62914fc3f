"""The syntax trees of formulas (`.ltl` files) and of checked programs (`.srasp` files); most node classes serve
both.

Formulas are trees as the user wrote them: `let` names stay references, so a tree is never larger than its text. A
program is a list of vectors, each with one value for each position 1..n of the (padded) word, computed from the word
and from earlier vectors; every name is resolved. Expressions of programs are read at a position i and, inside attention
and psum, at a second position j. A Boolean operand in an integer context is wrapped in `AsInteger`.

Equality and hashing ignore spans. A node's span is the place of its operator (in a chain: the first operator), its
name or its literal. `&`, `|` and `^` are n-ary and flat: an `&` below an `&`, with or without brackets, is one
node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from operator import eq
from typing import Any, ClassVar, Final, Literal, TypeAlias, dataclass_transform

from hardsim.errors import Source, Span
from hardsim.kept import Keeping
from hardsim.lang.arith import Arith
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.valuations import Alphabet
from hardsim.lazy_dataclass import dataclass

NO_SPAN = Span(0, 0)
BOS: Final = "BOS"
"""Name of the beginning-of-sequence token, at position 0 of a program's network."""
BLANK: Final = "#"
"""Symbol that fills the input of a program with padding up to the padded length; the output omits blanks."""


class Sort(Enum):
    """Type of the values of a node or of a program's vector."""

    BOOL = "Boolean"
    INT = "integer"
    SYMBOL = "symbol"
    RATIONAL = "rational"
    """Means, the constants they are compared with, and (in specifications) quotients."""


UnaryOp: TypeAlias = Literal["X", "WX", "Y", "WY", "O", "H", "F", "G"]
BinaryOp: TypeAlias = Literal["U", "R", "W", "M", "S", "T"]
NaryOp: TypeAlias = Literal["&", "|", "^"]
ArrowOp: TypeAlias = Literal["->", "<->"]
CompareOp: TypeAlias = Literal["<", "<=", "=", "!=", ">=", ">"]
SumOp: TypeAlias = Literal["+", "-"]
CountSide: TypeAlias = Literal["L", "R", ""]
"""The positions over which a count ranges: `L` j <= i, `R` j >= i, the empty string all positions."""
Index: TypeAlias = Literal["i", "j"]
"""The position variable at which a value is read; formulas have only i."""
Side: TypeAlias = Literal["leftmost", "rightmost"]
Mask: TypeAlias = Literal["1", "j<i", "j<=i", "j>i", "j>=i"]
"""The positions j that attention from i may look at; `1` is all positions."""

_AHEAD = frozenset({"X", "WX", "U", "R", "W", "M", "F", "G"})


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Spanned:
    """A syntax element with a place in the text, which equality and hashing ignore; subclasses are frozen
    dataclasses."""

    span: Span = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class Node(Spanned):
    """A formula, a term, or an expression of a program. Trees of any depth can be compared, hashed, printed and
    pickled."""

    compared: ClassVar[tuple[str, ...]]
    """Names of the fields that decide whether two nodes are equal."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, repr=False)(cls)
        cls.compared = tuple(one.name for one in fields(cls) if one.compare)

    def __eq__(self, other: object) -> bool:
        # Recursion over a deep tree would overflow Python's stack: all special methods walk the tree by a loop.
        if not isinstance(other, Node):
            return NotImplemented
        return self is other or all(map(eq, map(_outline, walk(self)), map(_outline, walk(other))))

    def __hash__(self) -> int:
        return hash(tuple(map(_outline, walk(self))))

    def __repr__(self) -> str:
        return walked(_shown(self))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = [(type(node), {name: _marked(value) for name, value in _fields(node).items()}) for node in walk(self)]
        return _rebuilt, (parts, [node.span for node in walk(self)])

    @property
    def sort(self) -> Sort:
        """The type of the node's values: Boolean unless a subclass overrides this property."""
        return Sort.BOOL


class IntegerNode(Node):
    """A node whose values are integers."""

    sort = Sort.INT


class _SymbolNode(Node):
    """A node whose values are symbols."""

    sort = Sort.SYMBOL


class _RationalNode(Node):
    """A node whose values are rational numbers."""

    sort = Sort.RATIONAL


class _Whole(Node):
    """A node whose values have the type of its last operand."""

    @property
    def sort(self) -> Sort:
        return children(self)[-1].sort


# Three names of one class, to tell readers which sort of value is expected.
Formula: TypeAlias = Node
Term: TypeAlias = Node
Expression: TypeAlias = Node
"""Nodes whose values are Boolean (`Formula`), integers (`Term`), or of any sort (`Expression`, in programs)."""


# ---- of formulas and programs ----


class Truth(Node):
    """`true` or `false`."""

    value: bool


class Integer(IntegerNode):
    """A non-negative integer constant in formulas, where `Signed` makes negative numbers; any integer constant in
    programs."""

    value: int


class Position(IntegerNode):
    """`pos` or `pos(i)`, the position itself (from 1)."""

    index: Index = "i"


class Length(IntegerNode):
    """`len` or `len(i)`, the length n of the (padded) word, equal at every position."""

    index: Index = "i"


class Ref(Node):
    """A reference to a name that an earlier `let` or statement defines; its sort is that of the definition."""

    name: str
    index: Index = "i"
    sort: Sort = field(default=Sort.BOOL, compare=False)


class Not(Node):
    """Negation."""

    arg: Node


class Nary(Node):
    """Conjunction, disjunction or exclusive or of two or more operands (`^` is true if an odd number of operands
    is)."""

    op: NaryOp
    args: tuple[Node, ...]


class Arrow(Node):
    """Implication or equivalence. `a <-> b <-> c` groups to the right."""

    op: ArrowOp
    left: Node
    right: Node


class Compare(Node):
    """A comparison: of two integer linear terms, or in programs of two means, of a mean and a constant, or (`=` and
    `!=` only) of two symbols or Booleans."""

    op: CompareOp
    left: Node
    right: Node


class Sum(IntegerNode):
    """`left + right` or `left - right`."""

    op: SumOp
    left: Node
    right: Node


# ---- of formulas alone ----


class Symbol(Node):
    """True where the word has this symbol or, over sets of propositions, where this proposition holds."""

    name: str


class Marker(Node):
    """`first` (true at position 1) or `last` (true at position n)."""

    which: Literal["first", "last"]


class Unary(Node):
    """A unary temporal operator: X next, Y yesterday (weak: WX, WY), F eventually, G always, O once, H historically;
    `hardsim.lang.semantics` defines the meaning of each."""

    op: UnaryOp
    arg: Formula


class Binary(Node):
    """A binary temporal operator: U until, R release, W weak until, M strong release, S since, T trigger;
    `hardsim.lang.semantics` defines the meaning of each."""

    op: BinaryOp
    left: Formula
    right: Formula


class Bounded(Node):
    """A temporal operator with bounds: distances from the position i at which it is read, both included.
    `F[least,most]` and `U[least,most]` look for a witness at i + least .. i + most, `O` and `S` at i - most .. i -
    least; `G` and `H` are the duals of `F` and `O`. For `X WX Y WY` both bounds are the number of steps. `args` has one
    operand, or two."""

    op: UnaryOp | BinaryOp
    least: int
    most: int
    args: tuple[Formula, ...]


class Congruent(Node):
    """`(term) mod modulus = residue`, modulus >= 1 and 0 <= residue < modulus. `MOD(m, r, t)` parses to this node
    too."""

    term: Term
    modulus: int
    residue: int


class Predicate(Node):
    """A numerical predicate: EVEN, ODD, MOD (with two parameters), PRIME, SQUARE, POW2 or one that a `pred` line
    defines. The predicate applies to `term`, or to the position itself if `term` is None (written without an
    argument)."""

    name: str
    params: tuple[int, ...]
    term: Term | None


class Count(IntegerNode):
    """`#L[arg]`, `#R[arg]` or `#[arg]`: the number of positions on that side (see `CountSide`) where the formula
    is true."""

    side: CountSide
    arg: Formula


class Signed(IntegerNode):
    """Unary `-term` or `+term`."""

    op: SumOp
    arg: Term


class Product(IntegerNode):
    """A product; at least one side is an integer constant (it has no position, length or count, not even through a
    `let`)."""

    left: Term
    right: Term


# ---- of specifications alone ----


class Quotient(_RationalNode):
    """`left / right`, a rational number. In specifications a `Product` may multiply any two terms."""

    left: Term
    right: Term


# ---- of programs alone ----


class SymbolLiteral(_SymbolNode):
    """A symbol constant: a symbol of the alphabet, or the blank of a program with padding."""

    name: str


class HasSymbol(Node):
    """`Q_a(i)`: true where the (padded) input has the symbol."""

    symbol: str
    index: Index


class InputSymbol(_SymbolNode):
    """`in(i)`: the symbol of the (padded) input."""

    index: Index


class Member(Node):
    """`arg in { symbols }`: true if the symbol `arg` is in a finite set, which has no symbol twice and may be
    empty."""

    arg: Expression
    symbols: tuple[str, ...]


class Related(Node):
    """`relation(args)`: true if the symbols that `args` denote form a tuple of a relation that the program
    declares."""

    relation: str
    args: tuple[Expression, ...]


class AsInteger(IntegerNode):
    """A Boolean expression read as the integer 0 or 1."""

    arg: Expression


class Scale(IntegerNode):
    """An integer expression multiplied by a constant; `-x` is `Scale(-1, x)` unless x is a literal."""

    factor: int
    arg: Expression


class Conditional(_Whole):
    """`test ? then : otherwise`; both branches have the same sort (any but rational), which is the sort of the
    whole."""

    test: Expression
    then: Expression
    otherwise: Expression


class PositionWise(_Whole):
    """The right-hand side of a statement that computes each value from vectors at the same position i."""

    expr: Expression


class Attention(_Whole):
    """`side[mask, score] value : default`. At i: the value at (i, j) for the leftmost or rightmost j with `mask` and a
    true score at (i, j), or the default at i if there is no such j. The score (Boolean) and the value may read i and j,
    the default only i. Value and default have the same sort."""

    side: Side
    mask: Mask
    score: Expression
    value: Expression
    default: Expression


class PrefixSum(IntegerNode):
    """`psum_j[j <= i] value`: the sum of an integer expression over vectors at j, for j = 1..i."""

    value: Expression


class MatchCount(IntegerNode):
    """`count_j[mask, score]`: the number of positions j with `mask` and a true score (Boolean) at (i, j); RASP's
    `selector_width`."""

    mask: Mask
    score: Expression


class MatchMean(_RationalNode):
    """`mean_j[mask, score] value : default`: the mean of an integer expression over vectors at j, for the positions j
    with `mask` and a true score (Boolean) at (i, j); RASP's `aggregate` of a `select`. If there is no such j, the
    default: a rational constant, or an integer expression over vectors at i. `mean_j[mask] value` has the score `true`
    and the default 0, under masks that always allow a j."""

    mask: Mask
    score: Expression
    value: Expression
    default: Expression


class RationalConstant(_RationalNode):
    """A rational constant, which is compared with a mean or is the default of a mean."""

    value: Fraction


RightHandSide: TypeAlias = PositionWise | Attention | PrefixSum | MatchCount | MatchMean


# ---- walking ----


def children(node: Node) -> tuple[Node, ...]:
    """Return the operands of a node in the order of the text; a reference (`Ref`) has none."""
    parts = [part for value in _fields(node).values() for part in (value if isinstance(value, tuple) else (value,))]
    return tuple(part for part in parts if isinstance(part, Node))


def with_children(node: Node, parts: Sequence[Node]) -> Node:
    """Copy a node with `parts` as its operands in place of the present ones; there must be as many."""
    rest = iter(parts)
    changed: dict[str, Any] = {}
    for name, value in _fields(node).items():
        if isinstance(value, Node):
            changed[name] = next(rest)
        elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
            changed[name] = tuple(next(rest) for _ in value)
    return replace(node, **changed)


def _fields(node: Node) -> dict[str, Any]:
    names: tuple[str, ...] = node.__match_args__
    return {name: getattr(node, name) for name in names}


def _marked(value: Any) -> Any:
    """Replace each node in a field's value by the placeholder `...`."""
    if isinstance(value, tuple):
        # A literal `...` cannot occur as a field's value, so it is a safe mark.
        return tuple(map(_marked, value))
    return ... if isinstance(value, Node) else value


def _outline(node: Node) -> tuple[type[Node], tuple[Any, ...]]:
    """Return the type and the fields of a node, with operands replaced by placeholders. Two trees are equal iff the
    lists of their outlines in preorder are: an outline shows the number of operands, so neither list can be a proper
    prefix of the other."""
    return type(node), tuple(_marked(getattr(node, name)) for name in node.compared)


def _rebuilt(parts: Sequence[tuple[type[Node], Mapping[str, Any]]], spans: Sequence[Span]) -> Node:
    """Rebuild a tree from the list of its nodes in preorder. Going backwards, all operands of a node are ready
    before it."""
    made: list[Node] = []

    def filled(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(filled, value))
        return made.pop() if value is ... else value

    for (kind, values), span in zip(reversed(parts), reversed(spans), strict=True):
        made.append(kind(**{name: filled(value) for name, value in values.items()}, span=span))
    return made.pop()


def _shown(value: Any) -> Walk[str]:
    """Return the `repr` of a node, a tuple of nodes or a plain value, as a walk without recursion."""
    if isinstance(value, tuple):
        inside = yield each(map(_shown, value))
        return f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"
    if not isinstance(value, Node):
        return repr(value)
    known = _fields(value)
    inside = yield each(map(_shown, known.values()))
    return f"{type(value).__qualname__}({', '.join(map('='.join, zip(known, inside, strict=True)))})"


def walk(*roots: Node, lets: Sequence[Let] = ()) -> Iterator[Node]:
    """Yield every node of the given trees in preorder, and once each every definition among `lets` that they use,
    directly or through other definitions. No recursion."""
    bodies = {let.name: let.body for let in lets}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Ref) and node.name in bodies:
            # `pop`: the body of a definition is walked at its first use only
            stack.append(bodies.pop(node.name))
        stack.extend(reversed(children(node)))


FUTURE_NOTE: Final = (
    "every operator of this formula looks ahead, and it is read at the last position, where F a means a; "
    "for LTLf write at: first"
)


def looks_ahead_only(formula: Formula, lets: Sequence[Let]) -> bool:
    """Return True if the formula has a temporal operator (or a count) and each one looks at this and later
    positions only."""
    ahead = [
        node.side == "R" if isinstance(node, Count) else node.op in _AHEAD
        for node in walk(formula, lets=lets)
        if isinstance(node, Unary | Binary | Bounded | Count)
    ]
    return bool(ahead) and all(ahead)


# ---- files ----


class Let(Spanned):
    """`let name = body`; the body is a formula or a term and may use earlier names."""

    name: str
    body: Node


class UserPredicate(Spanned):
    """`pred NAME(i, n) = expression`: `text` is the right-hand side as written, `params` the two argument names; the
    span covers the right-hand side."""

    name: str
    params: tuple[str, ...]
    text: str


class Example(Spanned):
    """A word of an `accept:` line (`accept` is True) or of a `reject:` line."""

    word: tuple[str, ...]
    accept: bool


Supplied: TypeAlias = "tuple[Literal['alphabet', 'props'], str] | None"
"""The command-line option that gives the alphabet, and the option's value; None if the file has its own alphabet."""


@dataclass(frozen=True)
class FormulaFile(Keeping):
    """A parsed `.ltl` file: alphabet (`Valuations` if it declares propositions, which are then its atoms), definitions,
    one formula and examples.

    `at` is the position at which the formula is read, `placed` is True if the file itself states `at` (its examples
    were then written for that position). `origin` is the value of `source:`, `title` the first line if it is a comment.
    `notes` are remarks for the user (on stderr), for instance that a formula whose operators all look forward is read
    at the last position. `oracle` decides words in place of the formula, if the formula was derived from a program with
    an oracle. `dialect` is the dialect of the request, if it replaces that of the text; in the trees X is always
    strong. `supplied` is the option that gives the alphabet if the text does not, and its value ("" for an alphabet
    taken from the formula). `readings` are remarks on words that have a second reading, which the canonical text may no
    longer need.
    """

    alphabet: Alphabet
    formula: Formula
    lets: tuple[Let, ...] = ()
    predicates: tuple[UserPredicate, ...] = ()
    at: Literal["last", "first"] = "last"
    origin: str = ""
    title: str = ""
    examples: tuple[Example, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    source: Source = field(default=Source("<formula>", ""), compare=False, repr=False)
    placed: bool = field(default=False, compare=False)
    oracle: Any = field(default=None, compare=False, repr=False)
    dialect: str | None = field(default=None, compare=False)
    supplied: Supplied = field(default=None, compare=False)
    readings: tuple[str, ...] = field(default=(), compare=False)
    bare_next: bool = field(default=False, compare=False)
    """True if the text has a bare X, which one dialect reads as the strong next and the other as the weak next."""

    def read_at(self, at: Literal["last", "first"] | None) -> FormulaFile:
        """Return the file with its formula read at a position (None: the file's own)."""
        return self if at in (None, self.at) else self._read_elsewhere

    @cached_property
    def _read_elsewhere(self) -> FormulaFile:
        return replace(self, at="first" if self.at == "last" else "last")

    @cached_property
    def definitions(self) -> Mapping[str, Node]:
        """Map each `let` name to the body of its definition, in the order of the text."""
        return {let.name: let.body for let in self.lets}


class Statement(Spanned):
    """The definition of a vector, `name := right`; the span covers the name."""

    name: str
    right: RightHandSide

    @property
    def sort(self) -> Sort:
        """The sort of the vector."""
        return self.right.sort


class Relation(Spanned):
    """A finite relation of symbols, true for the listed tuples (at least one) and false for all others."""

    name: str
    tuples: tuple[tuple[str, ...], ...]

    @property
    def arity(self) -> int:
        """The number of symbols in a tuple (1 or more)."""
        return len(self.tuples[0])


class MapExample(Spanned):
    """A pair of a `map:` line: an input word and the output that the program must give for it (blanks dropped), as
    symbols or as integers."""

    word: tuple[str, ...]
    output: tuple[str | int, ...]


ProgramExample: TypeAlias = Example | MapExample


@dataclass(frozen=True)
class SraspProgram:
    """A parsed `.srasp` file: header, relations and vectors, in the order of the text.

    `output` names a Boolean vector (an acceptor: a word is accepted iff the vector is true at position n), a symbol
    vector (a transduction) or an integer vector (a word is mapped to a list of integers, one for each position). `pad`
    is the padded length as an expression in `len`, the length before padding; None means no padding. `alphabet` is that
    of the input, without the blank. `origin` is the header's `source:` line. Where the Boolean vector `assume` is false
    ("" if the output is specified everywhere) the output is unspecified, as in RASP where a selector selects nothing.
    """

    alphabet: tuple[str, ...]
    statements: tuple[Statement, ...]
    output: str
    relations: tuple[Relation, ...] = ()
    pad: Arith | None = None
    examples: tuple[ProgramExample, ...] = ()
    origin: str = ""
    title: str = ""
    assume: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)
    source: Source = field(default=Source("<text>", ""), compare=False, repr=False)

    @cached_property
    def vectors(self) -> Mapping[str, Statement]:
        """Map each vector name to the statement that defines the vector."""
        return {statement.name: statement for statement in self.statements}

    def needed(self, *names: str) -> frozenset[str]:
        """Return the given vector names and the names of all vectors from which these are computed."""
        found = {*names}
        # Statements use earlier vectors only, so one pass from the last statement to the first finds all of them.
        for statement in reversed(self.statements):
            if statement.name in found:
                found |= {node.name for node in walk(statement.right) if isinstance(node, Ref)}
        return frozenset(found)

    @property
    def is_acceptor(self) -> bool:
        """True if the output vector is Boolean; otherwise it is a vector of symbols or of integers."""
        return self.vectors[self.output].sort is Sort.BOOL

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that vectors can have as values: the alphabet, and the blank if the program has padding."""
        return self.alphabet if self.pad is None else (*self.alphabet, BLANK)
