"""The nesting of operators in the text of a formula or C-RASP program."""

from __future__ import annotations

from hardsim.lang import ast
from hardsim.lang.ast import FormulaFile, Node
from hardsim.lang.deep import Walk, each, walked
from hardsim.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NestingDepth:
    """The nesting depth of a text: the greatest number of operators of one kind that stand above each other.

    Names that a `let`, or a line of a program, defines are replaced by their definitions. An operator with bounds, such
    as `F[1,2]`, counts once. A path from the whole formula down to a symbol may pass through operators of both kinds;
    each depth counts its own kind alone.
    """

    temporal: int
    """The depth of temporal operators: X WX Y WY F G O H U R W M S T."""
    counting: int
    """The depth of counts: #L, #R and #, or # and #[P] of a program. Positions and lengths are no counts."""


def nesting_depth(file: FormulaFile) -> NestingDepth:
    """Return the nesting depth of a formula as written. For a C-RASP program that was translated to a formula this is
    the depth of the program."""
    text = file if file.oracle is None else file.oracle.file
    return walked(_depth(text.formula, text, {}))


def _depth(node: Node, file: FormulaFile, known: dict[str, NestingDepth]) -> Walk[NestingDepth]:
    if isinstance(node, ast.Ref) and node.name in file.definitions:
        if node.name not in known:
            known[node.name] = yield _depth(file.definitions[node.name], file, known)
        return known[node.name]
    below: list[NestingDepth] = yield each(_depth(part, file, known) for part in ast.children(node))
    return NestingDepth(
        max((depth.temporal for depth in below), default=0) + isinstance(node, ast.Unary | ast.Binary | ast.Bounded),
        max((depth.counting for depth in below), default=0) + _counts(node),
    )


def _counts(node: Node) -> bool:
    """Return True for a count of the positions where an operand is true."""
    if isinstance(node, ast.Conditional):
        return False  # a choice between two numbers, which has a condition besides
    return node.sort is ast.Sort.INT and any(part.sort is ast.Sort.BOOL for part in ast.children(node))
