"""The oracle of C-RASP programs: it extends the oracle of formulas, and predicates count positions from 0."""

from __future__ import annotations

from collections.abc import Callable

from hardsim.lang import ast
from hardsim.lang.crasp.crasp_parser import CountWhere, Extremum, conditions
from hardsim.lang.deep import Walk, each
from hardsim.lang.semantics import Oracle


class CraspOracle(Oracle):
    """Decides words by the definition of a program. It is pickled as the program."""

    def __init__(self, file: ast.FormulaFile) -> None:
        super().__init__(file, conditions(file))

    def __reduce__(self) -> tuple[type[CraspOracle], tuple[ast.FormulaFile]]:
        return CraspOracle, (self.file,)

    def _column(self, node: ast.Node) -> Walk[int]:
        match node:
            # a predicate of i alone takes the length as its second argument (see `conditions`)
            case ast.Predicate(name):
                holds = self._predicates[name]
                return self._emit(
                    ("predicate", name), lambda word, columns: [holds(i, len(word)) for i in range(len(word))]
                )
            case CountWhere(name, arg):
                # a direct sum over j for each i: slow, and as close to the definition as possible
                related, inner = self._predicates[name], (yield self._column(arg))
                return self._emit(
                    ("#[]", name, inner),
                    lambda word, columns: [
                        sum(columns[inner][j] and related(i, j) for j in range(i + 1)) for i in range(len(word))
                    ],
                )
            case Extremum(op, left, right):
                choose: Callable[[int, int], int] = min if op == "min" else max
                return self._pointwise(op, choose, (yield self._column(left)), (yield self._column(right)))
            case ast.Conditional(test, then, otherwise):
                parts = yield each(map(self._column, (then, test, otherwise)))
                return self._emit(
                    ("if", *parts),
                    lambda word, columns: [a if x else b for a, x, b in zip(*(columns[k] for k in parts), strict=True)],
                )
            case _:
                return super()._column(node)
