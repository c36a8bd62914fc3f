"""The oracle for many words at once: one integer holds the truth values of a formula at all positions of all words.

The definitions are those of `semantics`, evaluated by other means. Counts are arrays of integers. Booleans are the bits
of one Python integer: each word takes n + 1 bits, position i of a word is its bit i - 1, its last bit is 0, and the
next word follows. Temporal operators follow their one-step recurrences on finite words. The recurrence of `S` (psi at
i, or phi at i and `phi S psi` at i - 1) is that of the carries when `phi | psi` and `psi` are added: a carry leaves a
bit if both bits are set, or if one is set and a carry comes in; the bits between words stop it. `U` is `S` read from
right to left. This oracle shares no code with the oracle of single words, so that each checks the other, and none with
the networks and proofs that are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from operator import add, and_, mul, or_, sub, xor
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, SourceError
from hardsim.lang import ast
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.predicate import BUILT_IN, NumericalPredicate, user_predicates
from hardsim.lang.valuations import Numbering, Valuations, listed

Booleans: TypeAlias = NDArray[np.bool_]
Symbols: TypeAlias = NDArray[np.integer[Any]]
"""Words of one length n as rows of symbol numbers, shape (words, n)."""
Numbers: TypeAlias = NDArray[Any]
"""The values of a term, shape (words or 1, n or 1): machine integers where they fit, else Python integers (dtype
object)."""
Column: TypeAlias = Any
"""The values of one subformula (an int whose bits are truth values, see `Bits`) or of one term (`Numbers`)."""

LARGEST_TERM = 2**62
"""Terms that may reach this absolute value are computed with Python integers."""

WIDEST = 2**16
"""The truth values of a predicate are kept in a table if the greatest value of its term minus the least is less than
this."""

BACKWARDS = bytes(int(f"{octet:08b}"[::-1], 2) for octet in range(256))
"""Maps every octet to the octet with its bits in the opposite order."""


class Bits:
    """Truth values at all positions of some words of length n, packed into integers as the module docstring
    describes."""

    def __init__(self, words: int, n: int) -> None:
        self.words, self.n = words, n
        self.size = words * (n + 1)
        self.octets = -(-self.size // 8)

    def pack(self, truth: Booleans) -> int:
        """Pack truth values, shape (words or 1, n), into an integer."""
        if self.words == 1 and truth.shape[1] == self.n:  # the gap bit after the only word is the highest
            return int.from_bytes(np.packbits(truth[0], bitorder="little").tobytes(), "little")
        padded = np.zeros((self.words, self.n + 1), dtype=np.bool_)
        padded[:, :-1] = truth
        return int.from_bytes(np.packbits(padded, bitorder="little").tobytes(), "little")

    def unpack(self, bits: int) -> Booleans:
        """Unpack an integer into truth values, shape (words, n); the inverse of `pack`."""
        octets = np.frombuffer(bits.to_bytes(self.octets, "little"), dtype=np.uint8)
        found = np.unpackbits(octets, count=self.size, bitorder="little").reshape(self.words, self.n + 1)
        return found[:, :-1].view(np.bool_)

    @cached_property
    def first(self) -> int:
        """Packed truth values that are true at the first position of every word only."""
        return self.pack(np.arange(self.n)[None] == 0)

    @cached_property
    def last(self) -> int:
        """Packed truth values that are true at the last position of every word only."""
        return self.pack(np.arange(self.n)[None] == self.n - 1)

    @cached_property
    def every(self) -> int:
        """Packed truth values that are true at every position of every word; the gap bits after words stay 0."""
        return self.pack(np.ones((1, self.n), dtype=np.bool_))

    def reverse(self, bits: int) -> int:
        """Reverse the positions in each word and the order of the words."""
        found = int.from_bytes(bits.to_bytes(self.octets, "little").translate(BACKWARDS), "big")
        # the last gap bit comes first now: the shift removes it, and the bits that fill up the last octet
        return found >> (8 * self.octets - self.size + 1)


bits_of = lru_cache(256)(Bits)
"""Return the `Bits` for a number of words and their length; cached, together with its constants."""


def _previous(bits: Bits, phi: int) -> int:
    return phi << 1 & bits.every


def _next(bits: Bits, phi: int) -> int:
    return phi >> 1 & bits.every


def _since(bits: Bits, phi: int, psi: int) -> int:
    either = phi | psi
    # the xor of a sum with its operands is the carries into each bit
    return ((either + psi) ^ either ^ psi) >> 1


def _until(bits: Bits, phi: int, psi: int) -> int:
    return bits.reverse(_since(bits, bits.reverse(phi), bits.reverse(psi)))


def _once(bits: Bits, phi: int) -> int:
    return _since(bits, bits.every, phi)


def _finally(bits: Bits, phi: int) -> int:
    return _until(bits, bits.every, phi)


def _dual(operator: Callable[..., int]) -> Callable[..., int]:
    """Return the dual of an operator: the negation of the operator applied to negated operands."""

    def dual(bits: Bits, *columns: int) -> int:
        return bits.every ^ operator(bits, *(bits.every ^ column for column in columns))

    return dual


_UNARY: Final[Mapping[ast.UnaryOp, Callable[[Bits, int], int]]] = {
    "X": _next,
    "WX": _dual(_next),
    "Y": _previous,
    "WY": _dual(_previous),
    "O": _once,
    "H": lambda bits, phi: bits.every ^ _since(bits, bits.every, bits.every ^ phi),
    "F": _finally,
    "G": _dual(_finally),
}
_BINARY: Final[Mapping[ast.BinaryOp, Callable[[Bits, int, int], int]]] = {
    "U": _until,
    "S": _since,
    "R": _dual(_until),
    "T": _dual(_since),
    "W": lambda bits, phi, psi: _until(bits, phi, psi) | _dual(_finally)(bits, phi),
    "M": lambda bits, phi, psi: _until(bits, psi, phi & psi),
}


def _bounded(bits: Bits, node: ast.Bounded, columns: Sequence[int]) -> int:
    """Return the bits of an operator with bounds, one step at a time from the farthest witness; a distance beyond the
    length of the words has no effect."""
    step = _next if node.op in ("X", "WX", "F", "G", "U") else _previous
    dual = bits.every if node.op in ("WX", "WY", "G", "H") else 0
    phi, psi = columns[0] if len(columns) > 1 else bits.every, columns[-1] ^ dual
    found = psi
    for _ in range(min(node.most - node.least, bits.n)):
        found = psi | phi & step(bits, found)
    for _ in range(min(node.least, bits.n)):
        found = phi & step(bits, found)
    return found ^ dual


_NARY: Final[Mapping[ast.NaryOp, Callable[[int, int], int]]] = {"&": and_, "|": or_, "^": xor}
COMPARE: Final[Mapping[ast.CompareOp, Callable[[Numbers, Numbers], Booleans]]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}


Step: TypeAlias = Callable[["_Batch"], Column]
"""Computes one column of a batch from the columns before it."""
Largest: TypeAlias = Callable[[int, Sequence[int]], int]
"""Computes a bound for the absolute values of a term in words of length n, from n and the bounds of the steps before
it (0 for formulas)."""


class _Batch:
    """A batch of words, and the columns computed for it so far, by number of the step. No term reaches LARGEST_TERM if
    `small` is true."""

    def __init__(self, symbols: Symbols, bits: Bits, small: bool) -> None:
        self.symbols, self.bits, self.small = symbols, bits, small
        self.words, self.n = symbols.shape
        self.columns: list[Column] = []


class BatchOracle:
    """Decides batches of words of one length by the definition of a file's formula, which is flattened once into
    steps. Raises SourceError for a name without a definition, or a predicate that the file does not define."""

    def __init__(self, file: ast.FormulaFile) -> None:
        self.file = file
        self.predicates: Mapping[str, NumericalPredicate] = {**BUILT_IN, **user_predicates(file)}
        self._numbers = Numbering(file.alphabet)
        self._steps: list[Step] = []
        self._largest: list[Largest] = []
        self._small: dict[int, bool] = {}
        """For each length met so far: whether no term can reach LARGEST_TERM in words of this length."""
        self._known: dict[int, tuple[ast.Node, int]] = {}
        """For each `id` of a node: the node (kept alive, so that no other node gets its id) and the number of its
        step."""
        self._symbols: dict[str, int] = {}
        self._names: dict[str, int] = {}
        for let in file.lets:
            self._names[let.name] = walked(self._column(let.body))
        self._root = walked(self._column(file.formula))

    def symbols(self, words: Sequence[Sequence[str]]) -> Symbols:
        """Return words of one length as rows of symbol numbers in the alphabet, shape (words, n). Raises InputError for
        a symbol that is not in the alphabet."""
        try:
            return self._numbers.rows(words)
        except KeyError as error:
            known = listed(self.file.alphabet)
            raise InputError(f"the symbol {error} is not in the alphabet", f"The alphabet is: {known}") from None

    def truth(self, symbols: Symbols) -> Booleans:
        """Return the truth value of the formula at every position of every word, shape (words, n). Raises InputError if
        the words are empty."""
        batch = self._run(symbols)
        return batch.bits.unpack(batch.columns[self._root])

    def numbers(self, symbols: Symbols) -> Numbers:
        """Return the values of a term, which the file has in place of the formula, at every position of every word,
        shape (words, n). Raises InputError as `truth` does."""
        batch = self._run(symbols)
        return np.broadcast_to(batch.columns[self._root], (batch.words, batch.n))

    def _run(self, symbols: Symbols) -> _Batch:
        """Run all steps on a batch of words."""
        words, n = symbols.shape
        if not words or not n:
            raise InputError("the empty word has no position to read the formula at", "Words have one symbol or more.")
        if n not in self._small:
            self._small[n] = self._terms_are_small(n)
        batch = _Batch(symbols, bits_of(words, n), self._small[n])
        for step in self._steps:
            batch.columns.append(step(batch))
        return batch

    def _terms_are_small(self, n: int) -> bool:
        """Return whether the bounds of all terms are below LARGEST_TERM in words of length n."""
        bounds: list[int] = []
        for largest in self._largest:
            bounds.append(largest(n, bounds))
            if bounds[-1] >= LARGEST_TERM:
                return False
        return True

    def accepts(self, symbols: Symbols, at: Literal["first", "last"] | None = None) -> Booleans:
        """Return the truth value at position 1 (`first`) or n (`last`) of every word, shape (words,); by default at the
        position that the file states."""
        place = 0 if (at or self.file.at) == "first" else symbols.shape[1] - 1
        return self.truth(symbols)[:, place]

    def accepts_numbered(self, words: Sequence[bytes]) -> list[bool]:
        """Return the truth value of every word, given as its symbol numbers in the alphabet (each below 256), at the
        position that the file states."""
        symbols = np.frombuffer(b"".join(words), dtype=np.uint8).reshape(len(words), -1)
        return list(self.accepts(symbols).tolist())

    # ---- the steps ----

    def _column(self, node: ast.Node) -> Walk[int]:
        """Return the number of the step that computes the column of a formula or term, adding steps as needed."""
        match node:
            case ast.Ref(name):
                if name not in self._names:
                    raise SourceError(self.file.source, node.span, f"the name '{name}' has no definition before it")
                return self._names[name]
            case ast.Symbol(name):
                if name not in self._symbols:
                    self._symbols[name] = self._emit(self._atom(name))
                return self._symbols[name]
            case _:
                if id(node) not in self._known:
                    self._known[id(node)] = node, (yield self._formula(node))
                return self._known[id(node)][1]

    def _atom(self, name: str) -> Step:
        """Return a step for the positions that have a symbol, or where a proposition holds."""
        alphabet = self.file.alphabet
        if isinstance(alphabet, Valuations):
            stride, table = alphabet.digit(name)
            holds = np.array(table, dtype=np.bool_)
            return lambda batch: batch.bits.pack(holds[batch.symbols // stride % len(holds)])
        number = alphabet.index(name)
        return lambda batch: batch.bits.pack(batch.symbols == number)

    def _emit(self, step: Step, largest: Largest = lambda n, bounds: 0) -> int:
        self._steps.append(step)
        self._largest.append(largest)
        return len(self._steps) - 1

    def _formula(self, node: ast.Node) -> Walk[int]:
        emit, column = self._emit, self._column
        match node:
            case ast.Truth(value):
                return emit(lambda batch: batch.bits.every if value else 0)
            case ast.Marker(which):
                return emit(lambda batch: batch.bits.first if which == "first" else batch.bits.last)
            case ast.Not(arg):
                k = yield column(arg)
                return emit(lambda batch: batch.bits.every ^ batch.columns[k])
            case ast.Nary(op, args):
                function, ks = _NARY[op], (yield each(map(column, args)))
                if len(ks) == 2:
                    i, j = ks
                    return emit(lambda batch: function(batch.columns[i], batch.columns[j]))
                return emit(lambda batch: reduce(function, [batch.columns[k] for k in ks]))
            case ast.Arrow(arrow, left, right):
                i, j = (yield column(left)), (yield column(right))
                if arrow == "<->":
                    return emit(lambda batch: batch.bits.every ^ batch.columns[i] ^ batch.columns[j])
                return emit(lambda batch: batch.bits.every ^ batch.columns[i] | batch.columns[j])
            case ast.Unary(one, arg):
                k = yield column(arg)
                unary = _UNARY[one]
                return emit(lambda batch: unary(batch.bits, batch.columns[k]))
            case ast.Binary(two, left, right):
                i, j = (yield column(left)), (yield column(right))
                binary = _BINARY[two]
                return emit(lambda batch: binary(batch.bits, batch.columns[i], batch.columns[j]))
            case ast.Bounded(_, _, _, args):
                ks = yield each(map(column, args))
                return emit(lambda batch: _bounded(batch.bits, node, [batch.columns[k] for k in ks]))
            case _:
                return self._comparison(node)

    def _comparison(self, node: ast.Node) -> Walk[int]:
        """Return the number of the step for a formula about integers, or for a term."""
        match node:
            case ast.Compare(op, left, right):
                compare, i, j = COMPARE[op], (yield self._column(left)), (yield self._column(right))
                return self._holds(lambda batch: compare(batch.columns[i], batch.columns[j]))
            case ast.Congruent(term, modulus, residue):
                k = yield self._column(term)
                return self._holds(lambda batch: batch.columns[k] % modulus == residue)
            case ast.Predicate("MOD", (modulus, residue), term):
                return self._column(ast.Congruent(term or ast.Position(), modulus, residue))
            case ast.Predicate(name, _, term):
                holds = self.predicates.get(name)
                if holds is None:
                    known = "EVEN, ODD, MOD(m, r), PRIME, SQUARE, POW2, or a name defined by a `pred` line"
                    message = f"unknown numerical predicate '{name}'"
                    raise SourceError(self.file.source, node.span, message, known)
                k = yield self._column(term or ast.Position())
                return self._holds(lambda batch: _table(holds, batch.columns[k], batch.n))
            case _:
                return self._term(node)

    def _holds(self, truth: Callable[[_Batch], Any]) -> int:
        return self._emit(lambda batch: batch.bits.pack(truth(batch)))

    def _term(self, node: ast.Node) -> Walk[int]:
        match node:
            case ast.Integer(value):
                constant: Numbers = np.array([[value]], dtype=kind_for(abs(value)))
                return self._emit(lambda batch: constant, lambda n, bounds: abs(value))
            case ast.Position():
                return self._emit(lambda batch: np.arange(1, batch.n + 1)[None, :], lambda n, bounds: n)
            case ast.Length():
                return self._emit(lambda batch: np.array([[batch.n]]), lambda n, bounds: n)
            case ast.Count(side, arg):
                k = yield self._column(arg)
                return self._emit(
                    lambda batch: _count(side, batch.bits.unpack(batch.columns[k]).astype(np.int64)),
                    lambda n, bounds: n,
                )
            case ast.Signed(op, arg):
                k, sign = (yield self._column(arg)), -1 if op == "-" else 1
                return self._emit(lambda batch: sign * batch.columns[k], lambda n, bounds: bounds[k])
            case ast.Sum(op, left, right):
                i, j = (yield self._column(left)), (yield self._column(right))
                return self._emit(_arithmetic(*_SUM[op], i, j), lambda n, bounds: bounds[i] + bounds[j])
            case ast.Product(left, right):
                i, j = (yield self._column(left)), (yield self._column(right))
                return self._emit(_arithmetic(mul, product, i, j), lambda n, bounds: bounds[i] * bounds[j])
            case _:
                raise TypeError(f"not a formula or term: {type(node).__name__}")


def _table(holds: NumericalPredicate, terms: Numbers, n: int) -> Booleans:
    """Return the truth values of a predicate at the values of a term; the predicate is called once for each value
    that occurs."""
    low, high = int(terms.min()), int(terms.max())
    # a table over a huge range would waste memory: look up distinct values instead
    if high - low >= WIDEST:
        values, places = np.unique(terms, return_inverse=True)
        truth = np.array([bool(holds(int(value), n)) for value in values], dtype=np.bool_)
        return truth[places.reshape(terms.shape)]
    places = (terms - low).astype(np.int64)
    occurring = np.zeros(high - low + 1, dtype=np.bool_)
    occurring[places] = True
    truth = np.zeros_like(occurring)
    for value in np.flatnonzero(occurring).tolist():
        truth[value] = holds(value + low, n)
    return truth[places]


def total(left: Numbers, right: Numbers) -> Numbers:
    """Return the sum, in Python integers where it might overflow machine integers."""
    found: Numbers = left.astype(kind_for(_size(left) + _size(right))) + right
    return found


def difference(left: Numbers, right: Numbers) -> Numbers:
    """Return the difference, in Python integers where it might overflow machine integers."""
    found: Numbers = left.astype(kind_for(_size(left) + _size(right))) - right
    return found


def product(left: Numbers, right: Numbers) -> Numbers:
    """Return the product, in Python integers where it might overflow machine integers."""
    found: Numbers = left.astype(kind_for(_size(left) * _size(right))) * right
    return found


Combine: TypeAlias = Callable[[Numbers, Numbers], Numbers]
_SUM: Final[Mapping[ast.SumOp, tuple[Combine, Combine]]] = {"+": (add, total), "-": (sub, difference)}
"""For each operator: how machine integers are combined that cannot overflow, and how others are."""


def _arithmetic(plain: Combine, careful: Combine, i: int, j: int) -> Step:
    """Return the step that combines two terms, in machine integers where the bounds of the batch allow it."""
    return lambda batch: (plain if batch.small else careful)(batch.columns[i], batch.columns[j])


def _count(side: ast.CountSide, ones: Numbers) -> Numbers:
    """Return the number of ones up to each position (`L`), from each position on (`R`), or in the whole word, shape
    (words, n or 1)."""
    if side == "L":
        return np.cumsum(ones, axis=1)
    if side == "R":
        return np.cumsum(ones[:, ::-1], axis=1)[:, ::-1]
    found: Numbers = ones.sum(axis=1, keepdims=True)
    return found


def _size(values: Numbers) -> int:
    return max(abs(int(values.max())), abs(int(values.min())))


def kind_for(size: int) -> type:
    """Return the dtype for integers of at most this absolute value: np.int64 below LARGEST_TERM, else object (Python
    integers)."""
    return object if size >= LARGEST_TERM else np.int64
