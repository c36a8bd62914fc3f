"""From the surface syntax to the core: derived operators reduced, `let` names resolved once each.

The reductions are the textbook ones for finite words, chosen so that every binary temporal operator costs one
attention head:

    WX a = !X !a        WY a = !Y !a
    F a = true U a      G a = !F !a         O a = true S a      H a = !O !a
    a R b = !(!a U !b)  a T b = !(!a S !b)
    a W b = b R (a | b) a M b = b U (a & b)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from hardsim.errors import Unsupported
from hardsim.lang import ast
from hardsim.lang.core import Core, CoreBuilder, Lit


def desugar(file: ast.FormulaFile, at: Literal["first", "last"] | None = None) -> Core:
    """The core of a formula file, read at `at` (the file's own choice by default).

    `at: first` compiles as `O(first & formula)` at the last position.

    Raises:
        Unsupported: for counting terms and numerical predicates.
    """
    desugarer = _Desugarer(file)
    root = desugarer.formula(file.formula)
    builder = desugarer.builder
    if (at or file.at) == "first":
        root = builder.reach("S", builder.true, builder.both([builder.edge("first"), root]))
    return builder.build(root, file.source)


class _Desugarer:
    """One walk over a file's trees; a tree is at most 200 levels deep, so recursion is safe."""

    def __init__(self, file: ast.FormulaFile) -> None:
        self.file = file
        self.builder = CoreBuilder(file.alphabet)
        self.definitions = file.definitions
        self.names: dict[str, Lit] = {}

    def formula(self, node: ast.Node) -> Lit:
        """The literal of a formula."""
        build = self.builder
        match node:
            case ast.Symbol(name):
                return build.letters([name])
            case ast.Truth(value):
                return build.true if value else build.false
            case ast.Marker(which):
                return build.mention(build.edge(which), which, node.span)
            case ast.Ref(name):
                if name not in self.names:
                    self.names[name] = self.formula(self.definitions[name])
                return self.names[name]
            case ast.Not(arg):
                return ~self.formula(arg)
            case ast.Nary(op, args):
                return self._nary(op, [self.formula(arg) for arg in args])
            case ast.Arrow(op, left, right):
                first, second = self.formula(left), self.formula(right)
                return build.either([~first, second]) if op == "->" else ~build.differ(first, second)
            case ast.Unary(op, arg):
                return self._mention(node, op, self._unary(op, self.formula(arg)))
            case ast.Binary(op, left, right):
                return self._mention(node, op, self._binary(op, self.formula(left), self.formula(right)))
            case _:
                raise self._refused(node)

    def _mention(self, node: ast.Unary | ast.Binary, operator: str, lit: Lit) -> Lit:
        return self.builder.mention(lit, operator, node.span)

    def _nary(self, op: ast.NaryOp, args: list[Lit]) -> Lit:
        if op == "&":
            return self.builder.both(args)
        if op == "|":
            return self.builder.either(args)
        result = self.builder.false
        for arg in args:
            result = self.builder.differ(result, arg)
        return result

    def _unary(self, op: ast.UnaryOp, arg: Lit) -> Lit:
        build = self.builder
        rules: dict[ast.UnaryOp, Callable[[], Lit]] = {
            "X": lambda: build.step("X", arg),
            "WX": lambda: ~build.step("X", ~arg),
            "Y": lambda: build.step("Y", arg),
            "WY": lambda: ~build.step("Y", ~arg),
            "F": lambda: build.reach("U", build.true, arg),
            "G": lambda: ~build.reach("U", build.true, ~arg),
            "O": lambda: build.reach("S", build.true, arg),
            "H": lambda: ~build.reach("S", build.true, ~arg),
        }
        return rules[op]()

    def _binary(self, op: ast.BinaryOp, left: Lit, right: Lit) -> Lit:
        build = self.builder
        rules: dict[ast.BinaryOp, Callable[[], Lit]] = {
            "U": lambda: build.reach("U", left, right),
            "S": lambda: build.reach("S", left, right),
            "R": lambda: ~build.reach("U", ~left, ~right),
            "T": lambda: ~build.reach("S", ~left, ~right),
            "W": lambda: ~build.reach("U", ~right, build.both([~left, ~right])),
            "M": lambda: build.reach("U", right, build.both([left, right])),
        }
        return rules[op]()

    def _refused(self, node: ast.Node) -> Unsupported:
        """Counting parses but has no construction yet: say so by the operator's name."""
        match node:
            case ast.Compare(op):
                name = f"the comparison '{op}' of counting terms"
            case ast.Congruent():
                name = "'mod' of a counting term"
            case ast.Predicate(word):
                name = f"the numerical predicate '{word}'"
            case _:
                name = "a counting term"
        return Unsupported(
            self.file.source,
            node.span,
            f"{name} is not supported by this version of hardsim",
            hint="Formulas of linear temporal logic can be compiled: X WX Y WY U R W M S T O H F G, "
            "Boolean operators, first, last.",
        )
