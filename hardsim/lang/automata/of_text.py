"""The language of a formula read from the text as written, symbol by symbol, for comparison with an automaton.

Nothing is reduced to the core language (`desugar`) here: each operator of the text has the recursion of its definition.

    O a  = a or what it was before            F a  = a or what it will be next
    H a  = a and what it was before           G a  = a and what it will be next
    a S b = b or (a and what it was before)   a U b = b or (a and what it will be next)
    a T b = b and (a or what it was before)   a R b = b and (a or what it will be next)

W has the recursion of U, and M that of R. Beyond the ends of the word H, T, G, R, W and the weak steps are true, and
the other operators are false.

So each operator needs one truth value of the neighbouring position. That of the position that was read before is
remembered; that of the position to come is guessed, and checked there. A formula with more than MOST_GUESSED operators
of either direction is refused, and so are counts, whose values are not finite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import lcm
from typing import Final, TypeAlias

from hardsim.lang import ast
from hardsim.lang.ast import FormulaFile
from hardsim.lang.automata.compared import Memory, Move, NotCompared, divided
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.valuations import Symbols, Valuations
from hardsim.lazy_dataclass import dataclass

MOST_GUESSED = 6
"""Greatest number of truth values that are guessed."""
MOST_PARTS = 400
"""Greatest number of parts of a formula."""
LONGEST_PERIOD = 24
"""Greatest period of the predicates of positions and lengths together."""
Truth: TypeAlias = bool | None
"""The truth of a part of the formula at a neighbouring position; None: there is no such position, or, of a position
that nothing was guessed about, no demand."""
Form: TypeAlias = tuple[int, int, int]
"""A linear form: the factors of the position and of the length, and the constant."""

READ: Final = frozenset({"X", "WX", "F", "G", "U", "R", "W", "M", "Y", "WY", "O", "H", "S", "T"})
"""The operators that are read here; a formula with another one has no second proof."""
PAST: Final = frozenset({"Y", "WY", "O", "H", "S", "T"})
WEAK: Final = frozenset({"WX", "WY", "H", "G", "T", "R", "W"})
"""The operators that are true where they look beyond an end of the word."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a formula, computed from parts before it: `kind` is all, any, odd, not, letter, first, last, mod or
    beside. `numbers` are the parts, or for a letter its number, for `mod` the linear form, the modulus and the
    remainder, and for `beside` the number of a neighbour. `default` is the truth of `beside` beyond the ends."""

    kind: str
    numbers: tuple[int, ...] = ()
    default: bool = False


@dataclass(frozen=True, slots=True)
class _State:
    """Memory of a reader between two positions, as in `by_automata`: `beside` has the truths of neighbours at the
    position before, where they are remembered, and what was guessed of them for this position, where they are
    guessed."""

    phase: int
    length: int
    begun: bool
    beside: tuple[Truth, ...]


class TextReader:
    """The language of a formula as written, symbol by symbol (see the module)."""

    def __init__(self, file: FormulaFile) -> None:
        """Prepare a formula. Raises NotCompared if it has parts that are not read here, or too many."""
        self.file = file
        self.parts: list[_Part] = []
        self.mentioned: dict[str, int] = {}
        self.neighbours: list[tuple[int, bool]] = []
        """For each neighbour the part that it has the truth of, and True if the position before is meant."""
        self.names: dict[str, int] = {}
        self.period, self.by_length = 1, False
        self.root = walked(self._part(file.formula))
        before = sum(past for _, past in self.neighbours)
        self.backward = 2 * before < len(self.neighbours)
        self.guessed = [past is self.backward for _, past in self.neighbours]
        if sum(self.guessed) > MOST_GUESSED:
            raise NotCompared(f"more than {MOST_GUESSED} truth values would be guessed")
        self.letters, self.members = divided(file.alphabet, [self._symbols(name) for name in self.mentioned])
        self.known: dict[tuple[_State, int], Sequence[Move]] = {}

    def _symbols(self, name: str) -> Symbols:
        alphabet = self.file.alphabet
        return alphabet.holding(name) if isinstance(alphabet, Valuations) else frozenset({name})

    # ---- the parts of a formula ----

    def _add(self, kind: str, *numbers: int, default: bool = False) -> int:
        self.parts.append(_Part(kind, numbers, default))
        if len(self.parts) > MOST_PARTS:
            raise NotCompared(f"the formula has more than {MOST_PARTS} parts")
        return len(self.parts) - 1

    def _part(self, node: ast.Node) -> Walk[int]:
        match node:
            case ast.Symbol(name):
                return self._add("letter", self.mentioned.setdefault(name, len(self.mentioned)))
            case ast.Truth(value):
                return self._add("all" if value else "any")
            case ast.Marker(which):
                return self._add(which)
            case ast.Ref(name):
                if name not in self.names:
                    self.names[name] = yield self._part(self.file.definitions[name])
                return self.names[name]
            case ast.Not(arg):
                return self._add("not", (yield self._part(arg)))
            case ast.Nary(op, args):
                return self._add({"&": "all", "|": "any", "^": "odd"}[op], *(yield each(map(self._part, args))))
            case ast.Arrow(op, left, right):
                first, second = (yield self._part(left)), (yield self._part(right))
                if op == "->":
                    return self._add("any", self._add("not", first), second)
                return self._add("not", self._add("odd", first, second))
            case ast.Unary(op, arg):
                return self._temporal(op, self._add("all"), (yield self._part(arg)))
            case ast.Binary(op, left, right):
                return self._temporal(op, (yield self._part(left)), (yield self._part(right)))
            case ast.Bounded():
                return self._bounded(node, (yield each(map(self._part, node.args))))
            case ast.Congruent(term, modulus, residue):
                return self._congruence((yield self._form(term)), modulus, residue)
            case ast.Predicate(name, params, term) if name in ("EVEN", "ODD", "MOD"):
                form = (1, 0, 0) if term is None else (yield self._form(term))
                return self._congruence(form, *(params if name == "MOD" else (2, int(name == "ODD"))))
            case _:
                raise NotCompared("the formula compares counts, or has a predicate that is no congruence")

    def _beside(self, part: int, past: bool, weak: bool) -> int:
        """Add the truth of a part at a neighbouring position."""
        self.neighbours.append((part, past))
        return self._add("beside", len(self.neighbours) - 1, default=weak)

    def _temporal(self, op: str, left: int, right: int) -> int:
        """Add an operator; for one of a single operand, that is `right` and `left` is true."""
        if op not in READ:
            raise NotCompared(f"the operator {op} is not among those that are read a second time")
        past, weak = op in PAST, op in WEAK
        if op in ("X", "WX", "Y", "WY"):
            return self._beside(right, past, weak)
        # The operator itself at the neighbouring position: its number is not known yet.
        beside = self._beside(-1, past, weak)
        if op in ("H", "G"):
            found = self._add("all", right, beside)
        elif op in ("T", "R", "M"):
            found = self._add("all", right, self._add("any", left, beside))
        else:
            found = self._add("any", right, self._add("all", left, beside))
        self.neighbours[self.parts[beside].numbers[0]] = found, past
        return found

    def _bounded(self, node: ast.Bounded, args: Sequence[int]) -> int:
        """Add an operator with bounds, from the farthest distance to the nearest: a witness there or beyond it."""
        past, weak = node.op in PAST, node.op in WEAK
        if node.most > MOST_PARTS:
            raise NotCompared(f"the formula has more than {MOST_PARTS} parts")
        left, right = (args[0], args[1]) if len(args) > 1 else (self._add("all"), args[0])
        found = right
        for distance in reversed(range(node.most)):
            beside = self._beside(found, past, weak)
            if node.op in ("G", "H", "WX", "WY"):
                found = self._add("all", beside, right) if distance >= node.least else beside
            else:
                further = self._add("all", left, beside)
                found = self._add("any", right, further) if distance >= node.least else further
        return found

    def _congruence(self, form: Form, modulus: int, residue: int) -> int:
        self.period = lcm(self.period, modulus)
        if self.period > LONGEST_PERIOD:
            raise NotCompared(f"the period of the predicates of positions is above {LONGEST_PERIOD}")
        self.by_length |= form[1] % modulus != 0
        return self._add("mod", *form, modulus, residue)

    def _form(self, node: ast.Node) -> Walk[Form]:
        """Return a term as a linear form of the position and the length."""
        match node:
            case ast.Integer(value):
                return 0, 0, value
            case ast.Position():
                return 1, 0, 0
            case ast.Length():
                return 0, 1, 0
            case ast.Ref(name):
                return self._form(self.file.definitions[name])
            case ast.Sum(op, left, right):
                first, second = (yield self._form(left)), (yield self._form(right))
                return _added(first, second, 1 if op == "+" else -1)
            case ast.Signed(op, arg):
                return _added((0, 0, 0), (yield self._form(arg)), 1 if op == "+" else -1)
            case ast.Product(left, right):
                first, second = (yield self._form(left)), (yield self._form(right))
                number, other = (first, second) if first[:2] == (0, 0) else (second, first)
                return _added((0, 0, 0), other, number[2])
            case _:
                raise NotCompared("the formula counts")

    # ---- reading ----

    def first(self) -> Iterable[Memory]:
        """Return the memories before any symbol is read."""
        phases = range(self.period) if self.backward else [1 % self.period]
        lengths = range(self.period) if self.by_length else [0]
        for phase, length in product(phases, lengths):
            if not self.backward or not self.by_length or phase == length:
                yield _State(phase, length, False, (None,) * len(self.neighbours))

    def moves(self, memory: Memory, letter: int) -> Sequence[Move]:
        """Return the ways on from a memory at a symbol with the given letter."""
        assert isinstance(memory, _State)
        found = self.known.get((memory, letter))
        if found is None:
            found = self.known[memory, letter] = [
                *self._moves(memory, letter, False),
                *self._moves(memory, letter, True),
            ]
        return found

    def _moves(self, state: _State, letter: int, ends: bool) -> Iterable[Move]:
        """Yield the ways on, where `ends` says that no further symbol is read."""
        first, last = (ends, not state.begun) if self.backward else (not state.begun, ends)
        if first and state.phase != 1 % self.period:
            return
        if last and self.by_length and state.phase != state.length:
            return
        free: tuple[Truth, ...] = (None,) if ends else (False, True)
        options = [free if guessed else (kept,) for kept, guessed in zip(state.beside, self.guessed, strict=True)]
        for beside in product(*options):
            truths = self._truths(state, letter, (first, last), beside)
            kept = tuple(
                guess if guessed else truths[part]
                for guess, guessed, (part, _) in zip(beside, self.guessed, self.neighbours, strict=True)
            )
            demands = zip(state.beside, self.guessed, self.neighbours, strict=True)
            if any(guessed and demand is not None and truths[part] != demand for demand, guessed, (part, _) in demands):
                continue
            answer = truths[self.root] if (first if self.file.at == "first" else last) else None
            phase = (state.phase + (-1 if self.backward else 1)) % self.period
            yield Move(None if ends else _State(phase, state.length, True, kept), answer)

    def _truths(self, state: _State, letter: int, edges: tuple[bool, bool], beside: Sequence[Truth]) -> list[bool]:
        """Return the truth of each part at a position."""
        members, truths = self.members[letter], list[bool]()
        for part in self.parts:
            match part.kind:
                case "all":
                    truth = all(truths[number] for number in part.numbers)
                case "any":
                    truth = any(truths[number] for number in part.numbers)
                case "odd":
                    truth = sum(truths[number] for number in part.numbers) % 2 == 1
                case "not":
                    truth = not truths[part.numbers[0]]
                case "letter":
                    truth = members[part.numbers[0]]
                case "first" | "last":
                    truth = edges[part.kind == "last"]
                case "mod":
                    of_i, of_n, constant, modulus, residue = part.numbers
                    truth = (of_i * state.phase + of_n * state.length + constant - residue) % modulus == 0
                case _:
                    found = beside[part.numbers[0]]
                    truth = part.default if found is None else found
            truths.append(truth)
        return truths


def _added(first: Form, second: Form, factor: int) -> Form:
    one, two, three = (a + factor * b for a, b in zip(first, second, strict=True))
    return one, two, three
