"""The oracle of programs for many words at once, by arrays over all pairs of positions.

The definitions are those of `interpreter`, evaluated by other means: the values of an expression at all words,
positions i and positions j are one array, and symbols are numbers. This oracle shares no code with the oracle of single
words, so that each checks the other, and none with the networks and proofs that are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lang import ast
from hardsim.lang.batch_oracle import COMPARE, difference, kind_for, product, total
from hardsim.lang.srasp.padding import padded_word

Table: TypeAlias = NDArray[Any]
"""Values at (word, i, j); an axis on which they do not depend has length 1."""
Function: TypeAlias = Callable[["_Batch"], Table]

PAIRS = 2**22
"""Greatest number of pairs of positions, over all words of a batch; a longer word is a batch of its own."""
_NARY: Final[Mapping[ast.NaryOp, Callable[[Table, Table], Table]]] = {
    "&": np.logical_and,
    "|": np.logical_or,
    "^": np.logical_xor,
}


class _Batch:
    """Padded words of one length as rows of symbol numbers, and the vectors computed so far, shape (words or 1, n
    or 1)."""

    def __init__(self, word: Table) -> None:
        self.word = word
        self.n = word.shape[1]
        self.vectors: dict[str, Table] = {}


@lru_cache(256)
def _positions(n: int) -> Table:
    return np.arange(1, n + 1)[None, :]


@lru_cache(64)
def _allowed(mask: ast.Mask, n: int) -> Table:
    """Return the truth values of "the mask allows j at i", shape (1, n, n)."""
    i, j = _at(_positions(n), "i"), _at(_positions(n), "j")
    allowed = {"1": j > 0, "j<i": j < i, "j<=i": j <= i, "j>i": j > i, "j>=i": j >= i}[mask]
    return np.broadcast_to(allowed, (1, n, n))


def _at(vector: Table, index: ast.Index) -> Table:
    return vector[:, :, None] if index == "i" else vector[:, None, :]


class BatchProgram:
    """Runs a (checked) program on batches of words. Statements are turned into functions once; time and memory are
    O(n^2) for each word and expression."""

    def __init__(self, program: ast.SraspProgram) -> None:
        self.program = program
        self._codes: dict[str, int] = {}
        for symbol in (*program.alphabet, ast.BLANK):
            self._code(symbol)
        self._relations = {relation.name: relation.tuples for relation in program.relations}
        self._steps = [(statement.name, self._statement(statement.right)) for statement in program.statements]
        # after the statements, which may add symbols of their own
        self._names = list(self._codes)

    def accepts(self, words: Sequence[Sequence[str]]) -> list[bool]:
        """Return the value of the Boolean output at position n, for each word of one length; the program must be an
        acceptor. Raises InputError for the empty word, symbols outside the alphabet, and bad padded lengths (see
        `padded_word`)."""
        return list(chain.from_iterable(output[:, -1].tolist() for output in self._vectors(words, self.program.output)))

    def outputs(self, words: Sequence[Sequence[str]]) -> list[tuple[str | int, ...]]:
        """Return the integers of the output vector, or its symbols without the blanks if the program has padding, for
        each word of one length; the program must not be an acceptor. Raises InputError as `accepts` does."""
        rows = self.values(words, self.program.output)
        if self.program.pad is None:
            return rows
        return [tuple(value for value in row if value != ast.BLANK) for row in rows]

    def values(self, words: Sequence[Sequence[str]], name: str) -> list[tuple[Any, ...]]:
        """Return a vector at the positions of the padded word, for each word of one length, as Booleans, integers,
        symbols or Fractions. Raises InputError as `accepts` does."""
        rows = chain.from_iterable(found.tolist() for found in self._vectors(words, name))
        if self.program.vectors[name].sort is ast.Sort.SYMBOL:
            return [tuple(self._names[symbol] for symbol in row) for row in rows]
        return list(map(tuple, rows))

    def _vectors(self, words: Sequence[Sequence[str]], name: str) -> list[Table]:
        """Return a vector for all words as one table for each batch, shape (words of the batch, padded length)."""
        codes = np.array([[self._codes[symbol] for symbol in padded_word(self.program, word)] for word in words])
        # memory is n^2 for each word, so long words run in smaller batches
        size, found = max(1, PAIRS // codes.shape[1] ** 2), list[Table]()
        for start in range(0, len(codes), size):
            batch = _Batch(codes[start : start + size])
            for vector, step in self._steps:
                batch.vectors[vector] = step(batch)
            found.append(np.broadcast_to(batch.vectors[name], (len(batch.word), batch.n)))
        return found

    def _code(self, symbol: str) -> int:
        return self._codes.setdefault(symbol, len(self._codes))

    # ---- statements: vectors, (words or 1, n) ----

    def _statement(self, node: ast.RightHandSide) -> Function:
        match node:
            case ast.PositionWise(expr):
                value = self._function(expr)
                return lambda batch: _vector(value(batch))
            case ast.PrefixSum(value):
                term = self._function(value)
                return lambda batch: _prefix_sums(term(batch), batch.n)
            case ast.MatchMean(mask, score, value, default):
                selects, term, other = (self._function(expr) for expr in (score, value, default))
                return lambda batch: _means(
                    term(batch), _allowed(mask, batch.n) & selects(batch), _vector(other(batch))
                )
            case ast.MatchCount(mask, score):
                selects = self._function(score)
                return lambda batch: np.count_nonzero(_allowed(mask, batch.n) & selects(batch), axis=2)
            case ast.Attention():
                return self._attention(node)
            case _:
                raise TypeError(f"not a right-hand side: {type(node).__name__}")

    def _attention(self, node: ast.Attention) -> Function:
        mask, leftmost = node.mask, node.side == "leftmost"
        score, value, default = (self._function(expr) for expr in (node.score, node.value, node.default))

        def attend(batch: _Batch) -> Table:
            # argmax finds the first True along j; reversed, the last one
            seen = _allowed(mask, batch.n) & score(batch)
            chosen = seen.argmax(axis=2) if leftmost else batch.n - 1 - seen[:, :, ::-1].argmax(axis=2)
            return np.where(seen.any(axis=2), _chosen(value(batch), chosen), _vector(default(batch)))

        return attend

    # ---- expressions ----

    def _function(self, node: ast.Expression) -> Function:
        match node:
            case ast.Truth(value):
                truth = np.array([[[value]]])
                return lambda batch: truth
            case ast.Integer(value):
                constant: Table = np.array([[[value]]], dtype=kind_for(abs(value)))
                return lambda batch: constant
            case ast.Position(index):
                return lambda batch: _at(_positions(batch.n), index)
            case ast.RationalConstant(value):
                rational = np.array([[[value]]], dtype=object)
                return lambda batch: rational
            case ast.Length():
                return lambda batch: np.array([[[batch.n]]])
            case ast.Ref(name, index):
                return lambda batch: _at(batch.vectors[name], index)
            case ast.AsInteger(arg):
                inner = self._function(arg)
                return lambda batch: inner(batch).astype(np.int64)
            case ast.Scale(factor, arg):
                times: Table = np.array([[[factor]]], dtype=kind_for(abs(factor)))
                number = self._function(arg)
                return lambda batch: product(times, number(batch))
            case ast.Sum(op, left, right):
                first, second, combine = self._function(left), self._function(right), total if op == "+" else difference
                return lambda batch: combine(first(batch), second(batch))
            case ast.Conditional(test, then, otherwise):
                holds, yes, no = (self._function(part) for part in (test, then, otherwise))
                return lambda batch: np.where(holds(batch), yes(batch), no(batch))
            case _:
                return self._truth(node)

    def _truth(self, node: ast.Expression) -> Function:
        match node:
            case ast.Not(arg):
                inner = self._function(arg)
                return lambda batch: np.logical_not(inner(batch))
            case ast.Nary(op, args):
                combine, parts = _NARY[op], [self._function(arg) for arg in args]
                return lambda batch: reduce(combine, [part(batch) for part in parts])
            case ast.Arrow(op, left, right):
                first, second = self._function(left), self._function(right)
                if op == "->":
                    return lambda batch: ~first(batch) | second(batch)
                return lambda batch: np.equal(first(batch), second(batch))
            case ast.Compare(op, left, right):
                compare, first, second = COMPARE[op], self._function(left), self._function(right)
                return lambda batch: compare(first(batch), second(batch)).astype(np.bool_, copy=False)
            case _:
                return self._symbol(node)

    def _symbol(self, node: ast.Expression) -> Function:
        match node:
            case ast.SymbolLiteral(name):
                literal = np.array([[[self._code(name)]]])
                return lambda batch: literal
            case ast.InputSymbol(index):
                return lambda batch: _at(batch.word, index)
            case ast.HasSymbol(symbol, index):
                code = self._code(symbol)
                return lambda batch: _at(batch.word, index) == code
            case ast.Member(arg, symbols):
                element, codes = self._function(arg), [self._code(symbol) for symbol in symbols]
                return lambda batch: np.isin(element(batch), codes)
            case ast.Related(name, args):
                parts = [self._function(arg) for arg in args]
                rows = [[self._code(symbol) for symbol in row] for row in self._relations[name]]
                return lambda batch: _related([part(batch) for part in parts], rows)
            case _:
                raise TypeError(f"not an expression: {type(node).__name__}")


def _vector(table: Table) -> Table:
    """Return the values of an expression of i alone at every position, shape (words or 1, n or 1)."""
    found: Table = table[:, :, 0]
    return found


def _chosen(table: Table, chosen: Table) -> Table:
    """Return the values at (word, i, chosen j), shape (words or 1, n or 1); `chosen` has the index of j, from 0, at
    (word, i)."""
    if table.shape[1:] == (1, 1):
        found: Table = table[:, 0]
        return found
    if len(table) == table.shape[1] == 1:  # equal for all words and i: only j matters
        picked: Table = table[0, 0][chosen]
        return picked
    words, n = max(len(table), len(chosen)), chosen.shape[1]
    spread = np.broadcast_to(table, (words, table.shape[1], n))
    rows = np.arange(n)[None, :] if table.shape[1] > 1 else 0
    result: Table = spread[np.arange(words)[:, None], rows, np.broadcast_to(chosen, (words, n))]
    return result


def _prefix_sums(table: Table, n: int) -> Table:
    """Return, at every i, the sum over j <= i of an expression's values, shape (words or 1, n)."""
    if table.dtype == np.bool_:
        table = table.astype(np.int64)
    table = np.broadcast_to(table, (len(table), table.shape[1], n))
    largest = max(abs(int(table.max())), abs(int(table.min())))
    sums: Table = np.cumsum(table.astype(kind_for(largest * n)), axis=2)
    return sums[:, 0] if sums.shape[1] == 1 else np.diagonal(sums, axis1=1, axis2=2)


def _means(table: Table, selected: Table, default: Table) -> Table:
    """Return, at every i, the mean of an expression of j over the selected j, as a rational number; the default
    where no j is selected. Shape (words or 1, n)."""
    n = selected.shape[2]
    largest = max(abs(int(table.max())), abs(int(table.min())))
    spread: Table = np.broadcast_to(table.astype(kind_for(largest * n)), (len(table), n, n))
    sums, counts = np.where(selected, spread, 0).sum(axis=2), selected.sum(axis=2)

    def mean(total: Any, count: Any, other: Any) -> Fraction:
        return Fraction(int(total), int(count)) if count else Fraction(other)

    means: Table = np.frompyfunc(mean, 3, 1)(sums, counts, default.astype(object))
    return means


def _related(tables: Sequence[Table], rows: Sequence[Sequence[int]]) -> Table:
    """Return the truth values of "the numbers in `tables` are one of the rows"."""
    none = np.zeros((1, 1, 1), dtype=np.bool_)
    return reduce(np.logical_or, (reduce(np.logical_and, map(np.equal, tables, row)) for row in rows), none)
