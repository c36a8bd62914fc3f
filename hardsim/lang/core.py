"""The core language: a formula after all derived operators have been replaced.

A core is a table of nodes in topological order, hash-consed, so that equal subformulas are one node and no function in
this module recurses. Operands are literals: a node and a sign, so negation costs nothing. Every Boolean function of the
symbol at a position folds into one `Letters` node. Over sets of propositions a `Letters` node is one proposition, and
nothing is folded: with k propositions a function of them may need as many symbols as there are sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from math import gcd
from typing import Literal, TypeAlias, assert_never

from hardsim.errors import Source, Span
from hardsim.lang import ast
from hardsim.lang.valuations import Alphabet, Symbols, Valuations, everything
from hardsim.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Lit:
    """A literal: the node with number `node` in the table, or the negation of that node."""

    node: int
    negated: bool = False

    def __invert__(self) -> Lit:
        return Lit(self.node, not self.negated)


@dataclass(frozen=True, slots=True)
class Letters:
    """True where the word's symbol is one of `symbols`; with the whole alphabet this node is `true`."""

    symbols: Symbols


@dataclass(frozen=True, slots=True)
class Edge:
    """True at position 1 (`first`) or at position n (`last`) only."""

    which: Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of literals. A disjunction is a negated conjunction of negations."""

    args: tuple[Lit, ...]


@dataclass(frozen=True, slots=True)
class Xor:
    """Exclusive or of two nodes, given by number; signs of operands are moved to the literal of the result."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Step:
    """Strong yesterday (`Y`: the position before exists and satisfies `arg`) or strong next (`X`: the position
    after does)."""

    op: Literal["Y", "X"]
    arg: Lit


@dataclass(frozen=True, slots=True)
class Reach:
    """Reflexive since (`S`) or until (`U`): `right` holds at some position on that side, and `left` at every position
    from there to here. `where` is `!left | right`: the value of `right` at the nearest position where `where` is true
    is the value here (if there is no such position, `right` is false everywhere on that side)."""

    op: Literal["S", "U"]
    left: Lit
    right: Lit
    where: Lit


@dataclass(frozen=True, slots=True, order=True)
class CountOf:
    """The number of positions on a side that satisfy `arg`: `L` j <= i, `R` j >= i, empty all. `pos` is `#L[true]`,
    `len` is `#[true]`."""

    side: Literal["L", "R", ""]
    arg: Lit


@dataclass(frozen=True, slots=True)
class AtLeast:
    """An integer linear inequality between counts: `sum of coefficient * count + constant >= 0`."""

    terms: tuple[tuple[int, CountOf], ...]
    constant: int

    @property
    def positive(self) -> CountOf | None:
        """The count c if the inequality is `c - 1 >= 0`, so that one head decides it; None for all others."""
        match self.terms, self.constant:
            case ((1, count),), -1:
                return count
        return None


@dataclass(frozen=True, slots=True)
class Numeric:
    """A numerical predicate of `scale * count + offset`: EVEN, ODD, MOD (params m, r; all others have none), PRIME,
    SQUARE, POW2 or one that the file defines."""

    name: str
    params: tuple[int, ...]
    scale: int
    count: CountOf
    offset: int


Node: TypeAlias = Letters | Edge | And | Xor | Step | Reach | AtLeast | Numeric


@dataclass(frozen=True, slots=True)
class Mention:
    """The user's operator that first produced a core node: its text, its place, and its whole subformula."""

    operator: str
    span: Span
    node: ast.Node | None = None


@dataclass(frozen=True)
class Core:
    """A formula in core form; a word satisfies the formula iff `root` is true at position n.

    `nodes[k]` refers to nodes with smaller numbers only. `mentions` maps a node number to the operator in `source` that
    produced the node, `counts` maps a count to the user's term. `file` is the parsed file from which the core was made,
    read at the position of its own `at`; proofs about the core are proofs about that file.
    """

    alphabet: Alphabet
    nodes: tuple[Node, ...]
    root: Lit
    mentions: dict[int, Mention]
    source: Source
    file: ast.FormulaFile
    counts: dict[CountOf, ast.Node] = field(default_factory=dict)

    @property
    def live(self) -> tuple[int, ...]:
        """The numbers of the root's node and of all nodes that it depends on, in increasing order."""
        live_text = {self.root.node}
        # operands have smaller numbers, so one pass downwards reaches all of them
        for number in range(len(self.nodes) - 1, -1, -1):
            if number in live_text:
                live_text.update(operands(self.nodes[number]))
        return tuple(sorted(live_text))


def operands(node: Node) -> tuple[int, ...]:
    """Return the numbers of the nodes whose values determine a node (for `Reach`, `left` matters only through
    `where`)."""
    match node:
        case And(args):
            return tuple(lit.node for lit in args)
        case Xor(left, right):
            return (left, right)
        case Step(_, arg):
            return (arg.node,)
        case Reach(_, _, right, where):
            return (right.node, where.node)
        case AtLeast(terms):
            return tuple(count.arg.node for _, count in terms)
        case Numeric(_, _, _, count):
            return (count.arg.node,)
        case Letters() | Edge():
            return ()
        case _:
            assert_never(node)


def positive_counts(core: Core) -> dict[Reach, CountOf]:
    """Return the nodes `O a` and `F a` of which the core counts `a` on the same side, with that count: they say that it
    is at least 1."""
    counted = set[CountOf]()
    for node in core.nodes:
        match node:
            case AtLeast(terms):
                counted |= {count for _, count in terms}
            case Numeric(_, _, _, count):
                counted.add(count)
    true = Lit(core.nodes.index(Letters(everything(core.alphabet))))
    found = dict[Reach, CountOf]()
    for node in core.nodes:
        if isinstance(node, Reach) and node.left == true:
            count = CountOf("L" if node.op == "S" else "R", node.right)
            found |= {node: count} if count in counted else {}
    return found


def looks_ahead(node: Node) -> bool:
    """Return whether a node's value depends on positions after the one where it is read."""
    match node:
        case Letters() | And() | Xor():
            return False
        case Edge(which):
            return which == "last"
        case Step(op):
            return op == "X"
        case Reach(op):
            return op == "U"
        case AtLeast(terms):
            return any(count.side != "L" for _, count in terms)
        case Numeric(_, _, _, count):
            return count.side != "L"
        case _:
            assert_never(node)


class CoreBuilder:
    """Builds a core bottom-up; every method returns the literal of an existing or new node. The methods fold
    constants, merge functions of the symbol, flatten conjunctions and drop repeated members; each rule is an
    equivalence of reflexive LTL on finite words."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.nodes: list[Node] = []
        self.mentions: dict[int, Mention] = {}
        self._numbers: dict[Node, int] = {}
        self.true = self.lit(Letters(everything(alphabet)))
        self.false = ~self.true

    def lit(self, node: Node) -> Lit:
        """Return the literal of a node, which is added to the table if no equal node is there; no simplification."""
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return Lit(number)

    def mention(self, lit: Lit, operator: str, span: Span, node: ast.Node) -> Lit:
        """Record the user's operator (for error messages) and subformula (to name heads) for a literal's node; the
        first record of a node stays. Return the literal unchanged."""
        self.mentions.setdefault(lit.node, Mention(operator, span, node))
        return lit

    def letters(self, symbols: Iterable[str]) -> Lit:
        """Return a literal that is true on these symbols; symbols outside the alphabet are ignored, the empty set
        gives `false`."""
        chosen = frozenset(symbols).intersection(self.alphabet)
        return self.lit(Letters(chosen)) if chosen else self.false

    def atom(self, name: str) -> Lit:
        """Return a literal that is true where the given symbol stands or, over sets, where the given proposition
        holds."""
        if isinstance(self.alphabet, Valuations):
            return self.lit(Letters(self.alphabet.holding(name)))
        return self.letters([name])

    def _symbols(self, lit: Lit) -> frozenset[str] | None:
        """Return the symbols on which a literal is true; None unless the literal is a function of the symbol that
        can be folded."""
        node = self.nodes[lit.node]
        if not isinstance(node, Letters) or not isinstance(node.symbols, frozenset):
            return None
        return frozenset(self.alphabet) - node.symbols if lit.negated else node.symbols

    def both(self, lits: Iterable[Lit]) -> Lit:
        """Return the conjunction of any number of literals; of none, `true`."""
        letters: frozenset[str] | None = None
        members: dict[Lit, None] = {}
        for lit in lits:
            node = self.nodes[lit.node]
            for part in node.args if isinstance(node, And) and not lit.negated else (lit,):
                symbols = self._symbols(part)
                if symbols is not None:
                    letters = symbols if letters is None else letters & symbols
                elif part != self.true:
                    members[part] = None
        if letters is not None and self.letters(letters) != self.true:
            # all functions of the symbol are merged into one node
            members[self.letters(letters)] = None
        # fewer nodes than literals: a literal and its negation are both members
        if self.false in members or len({lit.node for lit in members}) < len(members):
            return self.false
        if len(members) < 2:
            return next(iter(members), self.true)
        return self.lit(And(tuple(sorted(members, key=lambda lit: (lit.node, lit.negated)))))

    def either(self, lits: Iterable[Lit]) -> Lit:
        """Return the disjunction of any number of literals; of none, `false`."""
        # De Morgan; a negated `Letters` node is replaced by the positive node of the complement
        negated = ~self.both(~lit for lit in lits)
        symbols = self._symbols(negated)
        return negated if symbols is None else self.letters(symbols)

    def differ(self, left: Lit, right: Lit) -> Lit:
        """Return the exclusive or of two literals."""
        first, second = self._symbols(left), self._symbols(right)
        if first is not None and second is not None:
            return self.letters(first ^ second)
        sign = left.negated != right.negated
        # xor is symmetric: one order of operands makes equal nodes equal
        low, high = sorted((left.node, right.node))
        if low == high:
            return self.true if sign else self.false
        for constant, other in ((left, right), (right, left)):
            if constant in (self.true, self.false):
                return ~other if constant == self.true else other
        found = self.lit(Xor(low, high))
        return ~found if sign else found

    def step(self, op: Literal["Y", "X"], arg: Lit) -> Lit:
        """Return strong yesterday or next of a literal; of `true`, the result says that such a position exists."""
        if arg == self.false:
            return self.false
        if arg == self.true:
            return ~self.lit(Edge("first" if op == "Y" else "last"))
        return self.lit(Step(op, arg))

    def reach(self, op: Literal["S", "U"], left: Lit, right: Lit) -> Lit:
        """Return the reflexive `left S right` or `left U right`, in which the current position counts."""
        if right in (self.true, self.false) or left in (self.false, right):
            return right
        node = self.nodes[right.node]
        # left S (left S right) is left S right, and likewise for U
        if not right.negated and isinstance(node, Reach) and node.op == op and node.left == left:
            return right
        return self.lit(Reach(op, left, right, self.either([~left, right])))

    def at_least(self, terms: Mapping[CountOf, int], constant: int) -> Lit:
        """Return `sum of coefficient * count + constant >= 0`, divided by the greatest common divisor of the
        coefficients, with the constant rounded down. Counts of `false` are 0. An inequality with one truth value for
        all words, because no count is negative and every side has a position, becomes a constant. That a count is 0
        becomes the negation of the node that says that it is positive."""
        kept = {count: value for count, value in terms.items() if value and count.arg != self.false}
        divisor = gcd(*kept.values())
        if divisor:
            constant //= divisor  # k c + k0 >= 0 iff (k/g) c >= -k0/g iff (k/g) c + floor(k0/g) >= 0
        low = all(value > 0 for value in kept.values()) and constant >= 0
        high = all(value < 0 for value in kept.values()) and constant < 0
        if low or high:
            return self.true if low else self.false
        found = AtLeast(tuple(sorted((v // divisor, c) for c, v in kept.items())), constant)
        zero = AtLeast(tuple((-value, count) for value, count in found.terms), -constant - 1)  # the negation
        some = found.positive or zero.positive
        if some is None:
            return self.lit(found)
        positive = self.true if some.arg == self.true else self.lit(AtLeast(((1, some),), -1))
        return positive if found.positive else ~positive

    def congruent(self, terms: Mapping[CountOf, int], constant: int, modulus: int, residue: int) -> Lit:
        """Return `(sum of coefficient * count + constant) mod modulus = residue`, reduced to MODs of single counts. The
        first count's residue s is split off: for some s, `count mod m = s` and the rest is congruent. Equal rests are
        one node, so there are at most `modulus` nodes for each count."""
        left = sorted((count, v % modulus) for count, v in terms.items() if v % modulus and count.arg != self.false)
        target = (residue - constant) % modulus
        if not left:
            return self.true if target == 0 else self.false
        last, factor = left.pop()
        if not left:  # one node, whatever the modulus
            return self.lit(Numeric("MOD", (modulus, target), factor, last, 0))
        # From the last count backwards: level[t] is true iff the counts from here on add up to t modulo m.
        level = {live: self.lit(Numeric("MOD", (modulus, live), factor, last, 0)) for live in range(modulus)}
        for count, coefficient in reversed(left):
            residues = [self.lit(Numeric("MOD", (modulus, value), 1, count, 0)) for value in range(modulus)]
            level = {
                live: self.either(
                    self.both([residues[value], level[(live - coefficient * value) % modulus]])
                    for value in range(modulus)
                )
                for live in range(modulus)
            }
        return level[target]
