"""Matching of a compiled program with its formula: the subformula that each coordinate of the program holds.

The matching is computed once, from the program's linear forms (`ProgramMeaning`) and the nodes of the formula's
core. The prover and the certificate use it; the checker reads the certificate and repeats the computation with its
own arithmetic. Labels in the program are neither trusted nor read: a coordinate holds a node if both are the same
function of the node's operands.
"""

from __future__ import annotations

from typing import assert_never

from hardsim.lang.core import And, AtLeast, Core, CountOf, Edge, Letters, Lit, Numeric, Reach, Step, Xor, operands
from hardsim.lang.valuations import everything
from hardsim.network.numbers import ONE
from hardsim.program.hard_attention import Program
from hardsim.proof.formulas.cuts import Cuts
from hardsim.proof.formulas.facts import Column, Count, CountPredicate, Facts, TooLarge
from hardsim.proof.formulas.meaning import ProgramMeaning
from hardsim.proof.formulas.surface import SurfaceColumns
from hardsim.proof.shared.result import NotProved


class CoreColumns:
    """Columns of the nodes of a formula's core. A column is a node's truth at every site, as diagrams. Each node
    that the root depends on is abbreviated by a variable (a cut, see `cuts`); with `whole` there are no cuts."""

    def __init__(self, facts: Facts, core: Core, whole: bool = False) -> None:
        self.facts, self.core, self.cuts = facts, core, Cuts(facts)
        self.known: dict[int, Column] = {}
        self.counts: dict[Count, CountOf] = {}
        live = {*core.live}
        for number in self._needed(live):
            column = self._node(number)
            # Cutting nodes that are needed but not live would only forget facts.
            self.cuts.nodes.add(column)
            if not whole and number in live:
                column = self.cuts.cut(number, column, isinstance(core.nodes[number], And))
            self.known[number] = column

    def _needed(self, live: set[int]) -> list[int]:
        """Return the numbers, in increasing order, of the live nodes and of the nodes that the left operands of
        since and until need."""
        live_text = {*live}
        for number in range(len(self.core.nodes) - 1, -1, -1):
            node = self.core.nodes[number]
            if number in live_text:
                live_text.update(operands(node))
                live_text.update({node.left.node} if isinstance(node, Reach) else ())
        return sorted(live_text)

    def of(self, lit: Lit) -> Column:
        """Return the column of a literal: the column of its node, or the negation of that column."""
        column = self.known[lit.node]
        return self.facts.negated(column) if lit.negated else column

    def _node(self, number: int) -> Column:
        facts, cuts, node = self.facts, self.cuts, self.core.nodes[number]
        match node:
            case Letters(symbols):
                return facts.letter(symbols)
            case Edge(which):
                return facts.edge(which)
            case And(args):
                return facts.both([self.of(arg) for arg in args])
            case Xor(left, right):
                return cuts.differ(self.known[left], self.known[right])
            case Step(op, arg):
                return facts.step(op, self.of(arg))
            case Reach(op, left, right, _):
                where, what = cuts.either([self.of(~left), self.of(right)]), self.of(right)
                return facts.nearest(op, where, what)
            case AtLeast(terms, constant):
                counts: dict[Count, int] = {}
                for coefficient, count in terms:
                    counts[self._count(count)] = counts.get(self._count(count), 0) + coefficient
                return cuts.at_least(counts, constant)
            case Numeric(name, params, scale, count, offset):
                true = self.core.nodes[count.arg.node] == Letters(everything(self.core.alphabet))
                count_predicate = CountPredicate(name, params, scale, offset)
                return facts.predicate(count_predicate, self._count(count), true and not count.arg.negated)
            case _:
                assert_never(node)

    def _count(self, count: CountOf) -> Count:
        key = (str(count.side), self.of(count.arg))
        self.counts.setdefault(key, count)
        return key


class Account:
    """Coordinates and heads of a program (`program`) and the formula as written (`formula`), both in terms of the
    nodes of a core. Raises NotProved or TooLarge where the program or the formula cannot be read at all."""

    def __init__(self, facts: Facts, program: Program, core: Core, whole: bool = False) -> None:
        if program.alphabet != core.alphabet:
            raise NotProved("the specification and the formula have different alphabets")
        self.facts = facts
        self.core = CoreColumns(facts, core, whole)
        self.formula = SurfaceColumns(self.core.cuts, core.file, self.core.counts)
        self.root = self.formula.read()
        self.program = ProgramMeaning(facts, program, self.core.cuts)
        self._nodes: dict[Column, list[int]] = {}
        for number in core.live:
            self._nodes.setdefault(self.core.known[number], []).append(number)

    def literals(self) -> dict[str, Lit]:
        """Return the literals that equal coordinates of the program, encodings and clips, at every site, by name."""
        program = self.program.program
        units = [unit.out for layer in program.layers for unit in layer.units]
        names = dict.fromkeys([*(encoding.name for encoding in program.encodings), *units])
        found = {name: self.literal(name) for name in names if name != ONE}
        return {name: lit for name, lit in found.items() if lit is not None}

    def literal(self, name: str) -> Lit | None:
        """Return the literal (a live node of the core or its negation) that equals a coordinate; None if no node does,
        or the coordinate is no known Boolean. Nodes come before negations. Among several nodes, prefer the largest
        number that ends the coordinate's name, then the first."""
        column = self.program.columns.get(name)
        if column is None or not self.facts.boolean(column):
            return None
        for negated in (False, True):
            found = self._nodes.get(self.facts.negated(column) if negated else column, [])
            if found:
                named = [number for number in found if name.endswith(str(number))]
                return Lit(max(named, default=found[0]), negated)
        return None

    def require_output(self) -> None:
        """Raise NotProved unless the output coordinate equals the formula's truth at every site where it is read.
        The reason names an operator of the formula that matches no node of the core, if there is one."""
        output, sites = self.program.program.output, self.facts.sites
        found = self.program.of(output)
        for site in sites.read_at():
            if found[site] != self.root[site]:
                missing = self.formula.missing({*self.core.known.values()})
                why = "" if missing is None else f": no compiled subformula is known to be {missing}"
                where = f"{sites.AT} {sites.place(site)}"
                raise NotProved(f"the output '{output}' is not proved to be the formula {where}{why}")


def account_of(facts: Facts, program: Program, core: Core) -> Account:
    """Return the matching of a program and a core, after a proof that the output equals the formula, for all words.

    The first attempt uses cuts, which keep diagrams small but forget how operands depend on each other. If it fails,
    the second attempt works without cuts. Raises NotProved if the output is not proved to equal the formula; TooLarge
    if the second attempt needs too many diagram nodes; its argument is the failure of the first attempt."""
    try:
        found = Account(facts, program, core)
        found.require_output()
    except (NotProved, TooLarge) as failure:
        try:
            # Fresh facts: the diagrams of the first attempt would count towards the limit.
            found = Account(type(facts)(facts.sites, facts.alphabet, facts.users), program, core, whole=True)
            found.require_output()
        except TooLarge:
            raise TooLarge(*failure.args[:1]) from None
    return found
