"""The oracle for many words at once: the truth values of a formula at all positions of all words are one integer.

The same definitions as `semantics`, evaluated by other means: counts as arrays of integers, Booleans bit by bit in one
of Python's integers, in which position i of a word is bit i - 1 of n + 1 bits, the last of them 0, and the next word
follows. The temporal operators are their one-step recurrences on finite words. That of `S`, psi at i, or phi at i and
`phi S psi` at i - 1, is that of the carries when `phi | psi` and `psi` are added: both bits are set, or one of them is
and a carry comes in; the bits between words stop it. `U` is the same read from right to left. It shares no code with
the oracle of single words, so that one checks the other, and none with anything they judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import and_, or_, xor
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, SourceError
from hardsim.lang import ast
from hardsim.lang.predicate import BUILT_IN, NumericalPredicate, user_predicates

Booleans: TypeAlias = NDArray[np.bool_]
Symbols: TypeAlias = NDArray[np.integer[Any]]
"""Words of one length n as rows of symbol numbers, shape (words, n)."""
Numbers: TypeAlias = NDArray[Any]
"""The values of a term, shape (words, n): machine integers where they fit, Python's (dtype object) otherwise."""
Column: TypeAlias = Any
"""Bits (an int) of a formula; Numbers of a term."""

LARGEST_TERM = 2**62
"""Terms that may reach this absolute value are kept in Python's integers."""

WIDEST = 2**16
"""The range of the values of a term up to which a predicate's truth is kept in a table."""

BACKWARDS = bytes(int(f"{octet:08b}"[::-1], 2) for octet in range(256))
"""Every octet with its bits in the opposite order."""


class Bits:
    """Truth values of the positions of some words of length n, as integers; see above."""

    def __init__(self, words: int, n: int) -> None:
        self.words, self.n = words, n
        self.size = words * (n + 1)
        self.octets = -(-self.size // 8)

    def pack(self, truth: Booleans) -> int:
        """Truth values by word and position, (words or 1, n)."""
        padded = np.zeros((self.words, self.n + 1), dtype=np.bool_)
        padded[:, :-1] = truth
        return int.from_bytes(np.packbits(padded, bitorder="little").tobytes(), "little")

    def unpack(self, bits: int) -> Booleans:
        """The inverse."""
        octets = np.frombuffer(bits.to_bytes(self.octets, "little"), dtype=np.uint8)
        found = np.unpackbits(octets, count=self.size, bitorder="little").reshape(self.words, self.n + 1)
        return found[:, :-1].view(np.bool_)

    def edge(self, place: int) -> int:
        """True at one position, by index, of every word."""
        return self.pack(np.arange(self.n) == place % self.n)

    @cached_property
    def every(self) -> int:
        """True everywhere."""
        return self.pack(np.ones((1, self.n), dtype=np.bool_))

    def reverse(self, bits: int) -> int:
        """Every word, and the words, in the opposite order."""
        found = int.from_bytes(bits.to_bytes(self.octets, "little").translate(BACKWARDS), "big")
        return found >> (8 * self.octets - self.size + 1)

    def unary(self, op: ast.UnaryOp, phi: int) -> int:
        """X, Y and their weak forms, and the operators that look for one witness or one failure."""
        match op:
            case "X":
                return phi >> 1 & self.every
            case "Y":
                return phi << 1 & self.every
            case "WX":
                return self.every ^ self.unary("X", self.every ^ phi)
            case "WY":
                return self.every ^ self.unary("Y", self.every ^ phi)
            case "O":
                return self.binary("S", self.every, phi)
            case "F":
                return self.binary("U", self.every, phi)
            case "H":
                return self.every ^ self.unary("O", self.every ^ phi)
            case "G":
                return self.every ^ self.unary("F", self.every ^ phi)

    def binary(self, op: ast.BinaryOp, phi: int, psi: int) -> int:
        """Since, until, their duals, weak until and strong release."""
        match op:
            case "S":
                either = phi | psi
                return ((either + psi) ^ either ^ psi) >> 1
            case "U":
                return self.reverse(self.binary("S", self.reverse(phi), self.reverse(psi)))
            case "T":
                return self.every ^ self.binary("S", self.every ^ phi, self.every ^ psi)
            case "R":
                return self.every ^ self.binary("U", self.every ^ phi, self.every ^ psi)
            case "W":
                return self.binary("U", phi, psi) | self.unary("G", phi)
            case "M":
                return self.binary("U", psi, phi & psi)


_NARY: Final[Mapping[ast.NaryOp, Callable[[int, int], int]]] = {"&": and_, "|": or_, "^": xor}
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
        batch = _Batch(self, symbols)
        return batch.bits.unpack(batch.truth())

    def accepts(self, symbols: Symbols, at: Literal["first", "last"] | None = None) -> Booleans:
        """The truth value at position 1 (`first`) or n (`last`) of every word, shape (words,)."""
        place = 0 if (at or self.file.at) == "first" else symbols.shape[1] - 1
        return self.truth(symbols)[:, place]


class _Batch:
    """One batch of words; the columns of subformulas and definitions are made once."""

    def __init__(self, oracle: ParallelOracle, symbols: Symbols) -> None:
        self.oracle = oracle
        self.symbols = symbols
        self.words, self.n = symbols.shape
        if not self.words or not self.n:
            raise InputError("the empty word has no position to read the formula at", "Words have one symbol or more.")
        self.bits = Bits(self.words, self.n)
        self._names: dict[str, Column] = {}
        self._symbols: dict[str, int] = {}
        self._known: dict[int, Column] = {}

    def truth(self) -> int:
        """The formula's column."""
        file = self.oracle.file
        for let in file.lets:
            self._names[let.name] = self.column(let.body)
        found: int = self.column(file.formula)
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
        bits = self.bits
        match node:
            case ast.Symbol(name):
                if name not in self._symbols:
                    self._symbols[name] = bits.pack(self.symbols == self.oracle.file.alphabet.index(name))
                return self._symbols[name]
            case ast.Truth(value):
                return bits.every if value else 0
            case ast.Marker(which):
                return bits.edge(0 if which == "first" else -1)
            case ast.Not(arg):
                return bits.every ^ self.column(arg)
            case ast.Nary(op, args):
                result = self.column(args[0])
                for arg in args[1:]:
                    result = _NARY[op](result, self.column(arg))
                return result
            case ast.Arrow(op, left, right):
                differ = self.column(left) ^ self.column(right)
                return bits.every ^ (differ if op == "<->" else differ & self.column(left))
            case ast.Unary(op, arg):
                return bits.unary(op, self.column(arg))
            case ast.Binary(op, left, right):
                return bits.binary(op, self.column(left), self.column(right))
            case ast.Compare(op, left, right):
                return bits.pack(_COMPARE[op](self.column(left), self.column(right)).astype(np.bool_))
            case ast.Congruent(term, modulus, residue):
                return bits.pack((self.column(term) % modulus == residue).astype(np.bool_))
            case ast.Predicate():
                return self._predicate(node)
            case _:
                return self._term(node)

    def _predicate(self, node: ast.Predicate) -> int:
        """A numerical predicate of the position, or of a term: asked once for each value that occurs."""
        terms: Numbers = self._term(ast.Position()) if node.term is None else self.column(node.term)
        if node.name == "MOD":
            modulus, residue = node.params
            return self.bits.pack((terms % modulus == residue).astype(np.bool_))
        holds = self.oracle.predicates.get(node.name)
        if holds is None:
            known = "EVEN, ODD, MOD(m, r), PRIME, SQUARE, POW2, or a name defined by a `pred` line"
            message = f"unknown numerical predicate '{node.name}'"
            raise SourceError(self.oracle.file.source, node.span, message, known)
        if node.term is None:
            return self.bits.pack(np.array([[bool(holds(i, self.n)) for i in range(1, self.n + 1)]]))
        low, high = int(terms.min()), int(terms.max())
        if high - low >= WIDEST:
            values, places = np.unique(terms, return_inverse=True)
            truth = np.array([bool(holds(int(value), self.n)) for value in values], dtype=np.bool_)
            return self.bits.pack(truth[places.reshape(terms.shape)])
        places = (terms - low).astype(np.int64)
        occurring = np.zeros(high - low + 1, dtype=np.bool_)
        occurring[places] = True
        truth = np.zeros_like(occurring)
        for value in np.flatnonzero(occurring).tolist():
            truth[value] = holds(value + low, self.n)
        return self.bits.pack(truth[places])

    def _term(self, node: ast.Node) -> Numbers:
        match node:
            case ast.Integer(value):
                return np.full((self.words, self.n), value, dtype=_type_for(abs(value)))
            case ast.Position():
                return np.broadcast_to(np.arange(1, self.n + 1, dtype=np.int64), (self.words, self.n))
            case ast.Length():
                return np.full((self.words, self.n), self.n, dtype=np.int64)
            case ast.Count(side, arg):
                return self._count(side, self.bits.unpack(self.column(arg)).astype(np.int64))
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
