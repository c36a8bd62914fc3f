"""The oracle for many words at once: every truth value is a bit, 64 words to a lane.

The same definitions as `semantics`, evaluated by other means: the temporal operators by their one-step recurrences on
finite words, such as `phi S psi` at i = psi at i, or phi at i and `phi S psi` at i - 1; counts as arrays of integers.
It shares no code with the oracle of single words, so that one checks the other, and none with anything they judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, SourceError
from hardsim.lang import ast
from hardsim.lang.lanes import Booleans, Lanes, Symbols, constant, count_lanes, pack, unpack
from hardsim.lang.predicate import BUILT_IN, NumericalPredicate, user_predicates

Numbers: TypeAlias = NDArray[Any]
"""The values of a term, shape (words, n): machine integers where they fit, Python's (dtype object) otherwise."""
Column: TypeAlias = Any
"""Lanes by position, (n, lanes), of a formula; Numbers of a term."""

LARGEST_TERM = 2**62
"""Terms that may reach this absolute value are kept in Python's integers."""

WIDEST = 2**16
"""The range of the values of a term up to which a predicate's truth is kept in a table."""


def _shifted(phi: Lanes, by: Literal[1, -1], edge: bool) -> Lanes:
    """The truth at the next position (1) or the one before (-1), `edge` where there is none."""
    result = np.roll(phi, -by, axis=0)
    result[-1 if by == 1 else 0] = constant(edge, 1, phi.shape[1])[0]
    return result


def _once(phi: Lanes) -> Lanes:
    return np.bitwise_or.accumulate(phi, axis=0)


def _historically(phi: Lanes) -> Lanes:
    return np.bitwise_and.accumulate(phi, axis=0)


def _since(phi: Lanes, psi: Lanes) -> Lanes:
    truth = np.empty_like(psi)
    before = np.zeros_like(psi[0])
    for i in range(len(psi)):
        before = truth[i] = psi[i] | (phi[i] & before)
    return truth


def _mirrored(function: Callable[..., Lanes]) -> Callable[..., Lanes]:
    """The same read from right to left."""

    def mirror(*columns: Lanes) -> Lanes:
        return function(*(column[::-1] for column in columns))[::-1]

    return mirror


_until = _mirrored(_since)
_always = _mirrored(_historically)

_UNARY: Final[Mapping[ast.UnaryOp, Callable[[Lanes], Lanes]]] = {
    "X": lambda phi: _shifted(phi, 1, False),
    "WX": lambda phi: _shifted(phi, 1, True),
    "Y": lambda phi: _shifted(phi, -1, False),
    "WY": lambda phi: _shifted(phi, -1, True),
    "O": _once,
    "H": _historically,
    "F": _mirrored(_once),
    "G": _always,
}
_BINARY: Final[Mapping[ast.BinaryOp, Callable[[Lanes, Lanes], Lanes]]] = {
    "U": _until,
    "S": _since,
    "R": lambda phi, psi: ~_until(~phi, ~psi),
    "T": lambda phi, psi: ~_since(~phi, ~psi),
    "W": lambda phi, psi: _until(phi, psi) | _always(phi),
    "M": lambda phi, psi: _until(psi, phi & psi),
}
_NARY: Final[Mapping[ast.NaryOp, Callable[[Lanes, Lanes], Lanes]]] = {
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
_ARROW: Final[Mapping[ast.ArrowOp, Callable[[Lanes, Lanes], Lanes]]] = {
    "->": lambda left, right: ~left | right,
    "<->": lambda left, right: ~(left ^ right),
}
_COMPARE: Final[Mapping[ast.CompareOp, Callable[[Numbers, Numbers], Booleans]]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}


class ParallelOracle:
    """Decides batches of words of one length by the definition of the formula of a file. Raises SourceError at a name
    that has no definition, or a predicate that the file does not define."""

    def __init__(self, file: ast.FormulaFile) -> None:
        self.file = file
        self.predicates: Mapping[str, NumericalPredicate] = {**BUILT_IN, **user_predicates(file)}
        self._numbers = {symbol: number for number, symbol in enumerate(file.alphabet)}

    def symbols(self, words: Sequence[Sequence[str]]) -> Symbols:
        """Words of one length as rows of symbol numbers, in the order of the alphabet. Raises InputError for a symbol
        that is not in the alphabet."""
        try:
            return np.array([[self._numbers[symbol] for symbol in word] for word in words], dtype=np.int64)
        except KeyError as error:
            known = " ".join(self.file.alphabet)
            raise InputError(f"the symbol {error} is not in the alphabet", f"The alphabet is: {known}") from None

    def truth(self, symbols: Symbols) -> Booleans:
        """The truth value of the formula at every position of every word, shape (words, n). Raises InputError if the
        words are empty."""
        return unpack(_Batch(self, symbols).truth(), len(symbols))

    def accepts(self, symbols: Symbols, at: Literal["first", "last"] | None = None) -> Booleans:
        """The truth value at position 1 (`first`) or n (`last`) of every word, shape (words,)."""
        place = 0 if (at or self.file.at) == "first" else symbols.shape[1] - 1
        lanes = _Batch(self, symbols).truth()[place : place + 1]
        return unpack(lanes, len(symbols))[:, 0]


class _Batch:
    """One batch of words; the columns of subformulas and definitions are made once."""

    def __init__(self, oracle: ParallelOracle, symbols: Symbols) -> None:
        self.oracle = oracle
        self.symbols = symbols
        self.words, self.n = symbols.shape
        if not self.words or not self.n:
            raise InputError("the empty word has no position to read the formula at", "Words have one symbol or more.")
        self.lanes = count_lanes(self.words)
        self._names: dict[str, Column] = {}
        self._symbols: dict[str, Lanes] = {}
        self._known: dict[int, Column] = {}

    def truth(self) -> Lanes:
        """The formula's column."""
        file = self.oracle.file
        for let in file.lets:
            self._names[let.name] = self.column(let.body)
        found: Lanes = self.column(file.formula)
        return found

    def column(self, node: ast.Node) -> Column:
        """The column of a formula or term."""
        if isinstance(node, ast.Ref):
            if node.name not in self._names:
                source = self.oracle.file.source
                raise SourceError(source, node.span, f"the name '{node.name}' has no definition before it")
            return self._names[node.name]
        if id(node) not in self._known:
            self._known[id(node)] = self._formula(node)
        return self._known[id(node)]

    def _formula(self, node: ast.Node) -> Column:
        match node:
            case ast.Symbol(name):
                if name not in self._symbols:
                    self._symbols[name] = pack(self.symbols == self.oracle.file.alphabet.index(name))
                return self._symbols[name]
            case ast.Truth(value):
                return constant(value, self.n, self.lanes)
            case ast.Marker(which):
                found = constant(False, self.n, self.lanes)
                found[0 if which == "first" else -1] = constant(True, 1, self.lanes)[0]
                return found
            case ast.Not(arg):
                return ~self.column(arg)
            case ast.Nary(op, args):
                result = self.column(args[0])
                for arg in args[1:]:
                    result = _NARY[op](result, self.column(arg))
                return result
            case ast.Arrow(op, left, right):
                return _ARROW[op](self.column(left), self.column(right))
            case ast.Unary(op, arg):
                return _UNARY[op](self.column(arg))
            case ast.Binary(op, left, right):
                return _BINARY[op](self.column(left), self.column(right))
            case ast.Compare(op, left, right):
                return pack(_COMPARE[op](self.column(left), self.column(right)).astype(np.bool_))
            case ast.Congruent(term, modulus, residue):
                return pack((self.column(term) % modulus == residue).astype(np.bool_))
            case ast.Predicate():
                return self._predicate(node)
            case _:
                return self._term(node)

    def _predicate(self, node: ast.Predicate) -> Lanes:
        """A numerical predicate of the position, or of a term: asked once for each value that occurs."""
        terms: Numbers = self._term(ast.Position()) if node.term is None else self.column(node.term)
        if node.name == "MOD":
            modulus, residue = node.params
            return pack((terms % modulus == residue).astype(np.bool_))
        holds = self.oracle.predicates.get(node.name)
        if holds is None:
            known = "EVEN, ODD, MOD(m, r), PRIME, SQUARE, POW2, or a name defined by a `pred` line"
            message = f"unknown numerical predicate '{node.name}'"
            raise SourceError(self.oracle.file.source, node.span, message, known)
        if node.term is None:
            rows = [constant(bool(holds(i, self.n)), 1, self.lanes) for i in range(1, self.n + 1)]
            return np.concatenate(rows)
        low, high = int(terms.min()), int(terms.max())
        if high - low >= WIDEST:
            values, places = np.unique(terms, return_inverse=True)
            truth = np.array([bool(holds(int(value), self.n)) for value in values], dtype=np.bool_)
            return pack(truth[places.reshape(terms.shape)])
        places = (terms - low).astype(np.int64)
        occurring = np.zeros(high - low + 1, dtype=np.bool_)
        occurring[places] = True
        truth = np.zeros_like(occurring)
        for value in np.flatnonzero(occurring).tolist():
            truth[value] = holds(value + low, self.n)
        return pack(truth[places])

    def _term(self, node: ast.Node) -> Numbers:
        match node:
            case ast.Integer(value):
                return np.full((self.words, self.n), value, dtype=_type_for(abs(value)))
            case ast.Position():
                return np.broadcast_to(np.arange(1, self.n + 1, dtype=np.int64), (self.words, self.n))
            case ast.Length():
                return np.full((self.words, self.n), self.n, dtype=np.int64)
            case ast.Count(side, arg):
                return self._count(side, unpack(self.column(arg), self.words).astype(np.int64))
            case ast.Sum(op, left, right):
                first, second = self.column(left), self.column(right)
                kind = _type_for(_size(first) + _size(second))
                total: Numbers = first.astype(kind) + second if op == "+" else first.astype(kind) - second
                return total
            case ast.Signed(op, arg):
                term: Numbers = self.column(arg)
                return -term if op == "-" else term
            case ast.Product(left, right):
                first, second = self.column(left), self.column(right)
                product: Numbers = first.astype(_type_for(_size(first) * _size(second))) * second
                return product
            case _:
                raise TypeError(f"not a formula or term: {type(node).__name__}")

    def _count(self, side: ast.CountSide, ones: Numbers) -> Numbers:
        if side == "L":
            return np.cumsum(ones, axis=1)
        if side == "R":
            return np.cumsum(ones[:, ::-1], axis=1)[:, ::-1]
        return np.broadcast_to(ones.sum(axis=1, keepdims=True), ones.shape)


def _size(values: Numbers) -> int:
    return max(abs(int(values.max())), abs(int(values.min())))


def _type_for(size: int) -> type:
    return object if size >= LARGEST_TERM else np.int64
