"""Translate a C-RASP program into an equivalent formula. A comparison is made once for each case of the `A if X else B`
in it; `min(A, B)` is `A if A <= B else B`.

`#[P] X` is decomposed by the comparisons in P. Comparisons of i become choices, and so do the residues of i where i
and j are compared modulo constants. Consecutive distances d = i - j with the same remaining condition Q of j are
counted together:

    a <= d <= b    #L[Y^a (Q & X)] - #L[Y^(b+1) (Q & X)]; for a = b: 1 if Y^a (Q & X) else 0
    a <= d         #L[Y^a (Q & X)]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from itertools import groupby
from math import lcm

from hardsim.errors import SourceError, Span, Unsupported
from hardsim.lang import ast
from hardsim.lang.arith import Expression, names_in
from hardsim.lang.ast import Conditional
from hardsim.lang.crasp import related
from hardsim.lang.crasp.crasp_parser import CountWhere, Extremum, conditions
from hardsim.lang.crasp.related import HERE, atoms, distance, period
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.pretty import format_file
from hardsim.lang.vocabulary import RESERVED

MOST_CASES, FARTHEST = 64, 64
"""Greatest number of cases of one comparison, and of i in a predicate (MOST_CASES); greatest distance i - j, in
positions, from which on a predicate no longer depends on the distance (FARTHEST)."""
SHORT, MOST_NODES = 6, 1_000
"""A formula of fewer than SHORT nodes gets no name although it may be repeated; a count with choices cannot have a
name, so it may have at most MOST_NODES nodes."""


def as_formula(program: ast.FormulaFile) -> ast.FormulaFile:
    """Return the equivalent formula file, with the spans of the program. Raises Unsupported for a predicate in a count
    that has no construction, for too many cases, and for nesting that is too deep."""
    made = _Translator(program)
    for let in program.lets:
        made.names[let.name] = made.named(made.of(let.body), let.name)
    formula = made.of(program.formula)
    file = replace(program, formula=formula, lets=tuple(made.lets), predicates=tuple(made.own.values()))
    # only to raise its errors: the formula may exceed the limits of formula files
    try:
        parse_text(format_file(file))
    except SourceError as error:
        raise Unsupported(
            program.source, formula.span, f"translated to a formula: {error.message}", hint=error.hint
        ) from None
    return file


def _joined(op: ast.NaryOp, parts: Iterable[ast.Node]) -> ast.Node:
    """Return a chain of `&`, `|` or `^` over the parts (one or more; of one, the part itself), in which chains of
    the same operator are merged."""
    flat = [one for part in parts for one in (part.args if isinstance(part, ast.Nary) and part.op == op else (part,))]
    return ast.Nary(op, tuple(flat), span=flat[0].span) if len(flat) > 1 else flat[0]


def _choice(node: ast.Node) -> Conditional | None:
    return next((part for part in ast.walk(node) if isinstance(part, Conditional)), None)


def _decided(node: ast.Node, test: ast.Node, value: bool) -> ast.Node:
    """Return the term or comparison with each choice by this test replaced by its branch for the given truth value."""
    if isinstance(node, Conditional) and node.test == test:
        return _decided(node.then if value else node.otherwise, test, value)
    return ast.with_children(node, [_decided(part, test, value) for part in ast.children(node)])


class _Translator:
    """Translates one program. `names` maps each line to the formula or term for it, `own` maps the text of each
    predicate that the formula needs to the predicate."""

    def __init__(self, program: ast.FormulaFile) -> None:
        self.source, self.holds = program.source, conditions(program)
        self.taken = {*RESERVED, *program.alphabet}
        self.names: dict[str, ast.Node] = {}
        self.lets: list[ast.Let] = []
        self.own: dict[str, ast.UserPredicate] = {}

    def fresh(self, name: str) -> str:
        """Return an unused name that a formula may define, similar to a name of the program."""
        # a formula has more reserved words than a program, and `Q_` begins symbols there
        while name in self.taken or name.startswith("Q_"):
            name = f"_{name}"
        self.taken.add(name)
        return name

    def named(self, node: ast.Node, name: str = "") -> ast.Node:
        """Return a form of a node that may be repeated: a reference to a new definition, or the node itself if it is
        a single node, a count with choices, or (without a given name) of fewer than SHORT nodes."""
        size, choice = sum(1 for _ in ast.walk(node)), _choice(node)
        if choice and size > MOST_NODES:
            raise Unsupported(self.source, node.span, f"a count with choices that has more than {MOST_NODES} nodes")
        if choice or size == 1 or (size < SHORT and not name):
            return node
        self.lets.append(ast.Let(self.fresh(name or f"part_{len(self.lets)}"), node, span=node.span))
        return ast.Ref(self.lets[-1].name, sort=node.sort, span=node.span)

    def of(self, node: ast.Node) -> ast.Node:
        """Return the formula for a Boolean, or the term for a count, with the choices in it."""
        parts = [self.of(part) for part in ast.children(node)]
        match node:
            case ast.Ref(name):
                return self.names[name]
            case ast.Predicate(name):
                return self.positional(node, related.tree_of(self.holds[name]), name)
            case ast.Nary(op):
                return _joined(op, parts)
            case ast.Count():
                return replace(node, arg=self.named(parts[0]))
            case CountWhere():
                return self.where(node, self.named(parts[0]))
            case Conditional():
                return Conditional(self.named(parts[0]), *parts[1:], span=node.span)
            case Extremum(op):
                test = self.compared(ast.Compare("<=" if op == "min" else ">=", *parts, span=node.span))
                return Conditional(self.named(test), *parts, span=node.span)
            case ast.Compare():
                return self.compared(ast.with_children(node, parts))
            case _:
                return ast.with_children(node, parts)

    # ---- comparisons ----

    def compared(self, node: ast.Node) -> ast.Node:
        """Return a comparison, made once in each case of the choices below it."""
        cases = _cases(node) or _cases(_summed(node))
        if cases is None:
            message = f"more than {MOST_CASES} cases of if, min, max and #[...] in one comparison"
            raise Unsupported(self.source, node.span, message, hint="Compare its parts one by one.")
        return _joined("|", cases)

    # ---- predicates ----

    def positional(self, node: ast.Node, part: Expression, name: str) -> ast.Node:
        """Return the formula for a condition of one argument at the current position; formulas count positions
        from 1."""
        if known := related.congruence(part):
            return _residue(node, *known)
        text = related.written(part, "(i - 1)")
        if text not in self.own:
            self.own[text] = ast.UserPredicate(self.fresh(name), ("i", "n"), text)
        return ast.Predicate(self.own[text].name, (), None, span=node.span)

    def where(self, node: CountWhere, arg: ast.Node) -> ast.Node:
        """Return the term for `#[predicate] arg`, by cases of i."""
        part = related.tree_of(self.holds[node.predicate])
        both = [atom for atom in atoms(part) if len(names_in(atom)) == 2 and distance(atom) is None]
        if None in map(period, both):
            raise self.refusal(node, "it compares i and j in another way than by distance or modulo a constant")
        if related.settles(part) > FARTHEST:
            raise self.refusal(node, f"it depends on distances i - j greater than {FARTHEST}")
        modulus = lcm(*(period(atom) or 1 for atom in both))
        if modulus * 2 ** len({atom for atom in atoms(part) if names_in(atom) == {HERE.name}}) > MOST_CASES:
            raise self.refusal(node, f"it has more than {MOST_CASES} cases of i")
        return self.by_position(node, part, modulus, arg)

    def refusal(self, node: CountWhere, why: str) -> Unsupported:
        """Return the error for a predicate in a count that has no construction."""
        hint = (
            "Comparisons of i alone, of j alone, of i - j with a constant, and of both modulo constants can be "
            "compiled, also joined by and, or, not."
        )
        return Unsupported(self.source, node.span, f"#[{node.predicate}] has no construction: {why}", hint=hint)

    def by_position(self, node: CountWhere, part: Expression, modulus: int, arg: ast.Node) -> ast.Node:
        """Return the term with one case for each truth value of a comparison of i, and for each residue of i."""
        atom = next((one for one in atoms(part) if names_in(one) == {HERE.name}), None)
        if atom is not None:
            sides = [
                self.by_position(node, related.decided(part, atom, value), modulus, arg) for value in (True, False)
            ]
            return Conditional(self.positional(node, atom, node.predicate), *sides, span=node.span)
        term, *others = [self.by_distance(node, related.at_residue(part, r), arg) for r in range(modulus)]
        for residue, one in enumerate(others, start=1):
            term = Conditional(_residue(node, modulus, residue), one, term, span=node.span)
        return term

    def by_distance(self, node: CountWhere, part: Expression, arg: ast.Node) -> ast.Node:
        """Return the sum of counts over ranges of distances; in each range the remaining condition of j is the
        same."""
        far, span, terms = related.settles(part), node.span, list[ast.Node]()
        for remains, several in groupby(range(far + 1), lambda d: related.at_distance(part, d)):
            if remains == related.FALSE:
                continue
            ranged, counted = list(several), arg
            if remains != related.TRUE:
                counted = self.named(_joined("&", [self.positional(node, remains, node.predicate), arg]))
            nearest = self.named(_back(counted, ranged[0], span))
            count: ast.Node = ast.Count("L", nearest, span=span)
            # a single distance needs one test instead of the difference of two counts
            if ranged[-1] < far and len(ranged) == 1:
                count = Conditional(nearest, ast.Integer(1, span=span), ast.Integer(0, span=span), span=span)
            elif ranged[-1] < far:
                beyond = self.named(_back(counted, ranged[-1] + 1, span))
                count = ast.Sum("-", count, ast.Count("L", beyond, span=span), span=span)
            terms.append(count)
        return reduce(lambda left, right: ast.Sum("+", left, right, span=span), terms or [ast.Integer(0, span=span)])


def _cases(node: ast.Node) -> list[ast.Node] | None:
    """Return, for each case of the choices in a comparison, a formula that says that the case applies and the
    comparison holds; None if there are too many cases."""
    todo: list[tuple[ast.Node, tuple[ast.Node, ...]]] = [(node, ())]
    done: list[ast.Node] = []
    while todo:
        one, guards = todo.pop()
        choice = _choice(one)
        if choice is None:
            done.append(_joined("&", [*guards, one]))
            continue
        if len(todo) + len(done) + 2 > MOST_CASES:
            return None
        # the case where the test is true is on top of the stack, so it comes first in the disjunction
        sides = ((ast.Not(choice.test, span=choice.span), False), (choice.test, True))
        todo += [(_decided(one, choice.test, value), (*guards, on)) for on, value in sides]
    return done


def _summed(node: ast.Node) -> ast.Node:
    """Return the comparison with each choice `k if X else m` of integers replaced by m + (k - m) * (#L[X] - #L[Y X]),
    which needs no cases."""
    node = ast.with_children(node, [_summed(part) for part in ast.children(node)])
    match node:
        case Conditional(test, ast.Integer(k), ast.Integer(m)):
            span = node.span
            # L[X] - #L[Y X] is 1 where X is true, else 0
            here, before = (ast.Count("L", _back(test, steps, span), span=span) for steps in (0, 1))
            factor: ast.Node = ast.Integer(abs(k - m), span=span)
            if k < m:
                factor = ast.Signed("-", factor, span=span)
            change = ast.Product(factor, ast.Sum("-", here, before, span=span), span=span)
            return ast.Sum("+", ast.Integer(m, span=span), change, span=span)
    return node


def _back(node: ast.Node, steps: int, span: Span) -> ast.Node:
    """Return a formula that is true where `node` was true `steps` positions before; it is false at the first `steps`
    positions. `span` is the place of the user's operator that asks for it."""
    return reduce(lambda past, _: ast.Unary("Y", past, span=span), range(steps), node)


def _residue(node: ast.Node, modulus: int, residue: int) -> ast.Node:
    """Return a formula that is true where the position, counted from 0, has a residue."""
    return ast.Predicate("MOD", (modulus, (residue + 1) % modulus), None, span=node.span)
