"""A second evaluation of S-RASP programs, by arrays over all pairs of positions, to compare with the oracle."""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lang import ast

Table: TypeAlias = NDArray[Any]
"""Values at pairs (i, j), or an array that broadcasts to them: shape (n, n), (n, 1), (1, n) or (1, 1)."""


def run_by_tables(program: ast.SraspProgram, word: Sequence[str]) -> dict[str, list[bool | int | str | Fraction]]:
    """Return every vector of a program as a list of length n, on a word that is padded already."""
    tables = _Tables(program, np.array(word, dtype=object))
    for statement in program.statements:
        tables.vectors[statement.name] = tables.statement(statement.right)
    return {name: vector.tolist() for name, vector in tables.vectors.items()}


class _Tables:
    def __init__(self, program: ast.SraspProgram, word: Table) -> None:
        self.word = word
        self.positions = np.arange(1, len(word) + 1)
        self.relations = {relation.name: relation.tuples for relation in program.relations}
        self.vectors: dict[str, Table] = {}

    def statement(self, right: ast.RightHandSide) -> Table:
        n = len(self.word)
        if isinstance(right, ast.PositionWise):
            column: Table = np.broadcast_to(self.table(right.expr), (n, 1))[:, 0]
            return column
        if isinstance(right, ast.PrefixSum):
            sums: Table = np.tril(np.broadcast_to(self.table(right.value), (n, n))).sum(axis=1)
            return sums
        i, j = self.positions[:, None], self.positions[None, :]
        if isinstance(right, ast.MatchCount | ast.MatchMean):  # distances from j to i that the mask allows
            allowed = {"1": range(-n, n), "j<i": range(1, n), "j<=i": range(n), "j>i": range(-n, 0),
                       "j>=i": range(-n, 1)}[right.mask]  # fmt: skip
            selected = np.broadcast_to(self.table(right.score), (n, n))
            found = [[b for b in range(n) if a - b in allowed and selected[a, b]] for a in range(n)]
            if isinstance(right, ast.MatchCount):
                return np.array([len(places) for places in found])
            table, other = (np.broadcast_to(self.table(one), (n, n)).tolist() for one in (right.value, right.default))
            rows = [
                [Fraction(table[a][b]) for b in places] or [Fraction(other[a][a])] for a, places in enumerate(found)
            ]
            return np.array([sum(row, Fraction(0)) / len(row) for row in rows])
        mask = {"1": j > 0, "j<i": j < i, "j<=i": j <= i, "j>i": j > i, "j>=i": j >= i}[right.mask]
        seen = np.broadcast_to(mask & self.table(right.score), (n, n))
        chosen = seen.argmax(axis=1) if right.side == "leftmost" else n - 1 - seen[:, ::-1].argmax(axis=1)
        values = np.broadcast_to(self.table(right.value), (n, n))[np.arange(n), chosen]
        default = np.broadcast_to(self.table(right.default), (n, 1))[:, 0]
        return np.where(seen.any(axis=1), values, default)

    def _at(self, vector: Table, index: ast.Index) -> Table:
        table: Table = vector[:, None] if index == "i" else vector[None, :]
        return table

    def table(self, node: ast.Expression) -> Table:
        match node:
            case ast.Truth(constant) | ast.Integer(constant) | ast.RationalConstant(constant):
                return np.array([[constant]])
            case ast.SymbolLiteral(name):
                return np.array([[name]], dtype=object)
            case ast.HasSymbol(symbol, index):
                return np.equal(self._at(self.word, index), symbol)
            case ast.InputSymbol(index):
                return self._at(self.word, index)
            case ast.Position(index):
                return self._at(self.positions, index)
            case ast.Length():
                return np.array([[len(self.word)]])
            case ast.Ref(name, index):
                return self._at(self.vectors[name], index)
            case ast.Conditional(test, then, otherwise):
                return np.where(self.table(test), self.table(then), self.table(otherwise))
            case ast.AsInteger(arg):
                return self.table(arg).astype(int)
            case ast.Sum("+", left, right):
                return self.table(left) + self.table(right)
            case ast.Sum(_, left, right):
                return self.table(left) - self.table(right)
            case ast.Scale(factor, arg):
                return factor * self.table(arg)
            case _:
                return self._truth(node)

    def _truth(self, node: ast.Expression) -> Table:
        match node:
            case ast.Not(arg):
                return np.logical_not(self.table(arg))
            case ast.Nary(op, args):
                function = {"&": np.logical_and, "|": np.logical_or, "^": np.logical_xor}[op]
                return reduce(function, map(self.table, args))
            case ast.Arrow(op, left, right):
                first, second = self.table(left), self.table(right)
                return ~first | second if op == "->" else ~(first ^ second)
            case ast.Compare(compare, left, right):
                first, second = self.table(left), self.table(right)
                if compare in ("=", "!="):
                    return np.equal(first, second) if compare == "=" else np.not_equal(first, second)
                difference: Table = first - second
                if compare in ("<", "<="):
                    difference = -difference
                return np.greater(difference, 0) if compare in ("<", ">") else np.greater_equal(difference, 0)
            case ast.Member(arg, symbols):
                return np.isin(self.table(arg).astype(str), np.array(symbols, dtype=str))
            case ast.Related(name, args):
                tables = [self.table(arg) for arg in args]
                found = [reduce(np.logical_and, map(np.equal, tables, row)) for row in self.relations[name]]
                return reduce(np.logical_or, found)
            case _:
                raise TypeError(f"not an expression: {node!r}")
