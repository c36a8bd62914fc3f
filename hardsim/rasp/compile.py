"""S-RASP programs as average-hard attention (ours; the language is that of Strobl et al. 2024).

A beginning of sequence at position 0 is the default of every attention and the source of zero. An integer v is stored
as v/n, a Boolean as 0 or 1, a symbol one-hot. Every head is uniform or has a unique maximum, by at least its declared
gap; the weights are rationals that do not depend on n, all activations are bounded, and the smallest gap is 1/(8n^3),
so Theorem 26 gives an inverse temperature of O(n^3 log n). The constructions are in `network.py` (Booleans, gates,
comparisons, squares, prefix sums), `attention.py` (scores of Booleans and equalities) and `order.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardsim.lang.srasp import ast
from hardsim.rasp.attention import MASKS, Attender, Equality, Found
from hardsim.rasp.builder import Builder
from hardsim.rasp.compiled import Compiled, Readout
from hardsim.rasp.expressions import Evaluator
from hardsim.rasp.network import ZERO, Network
from hardsim.rasp.order import Orderer
from hardsim.rasp.ranges import Guard, Measure
from hardsim.rasp.rewrite import at_i, folded, indices, replaced
from hardsim.rasp.scores import Matching, Ordered, Planner
from hardsim.rasp.values import Boolean, Interval, Letters, Number, Value
from hardsim.spec.ir import Affine


def compile_program(program: ast.Program) -> Compiled:
    """The hard-attention transformer of a program.

    Raises:
        Unsupported: with the place, for a score that has no construction.
    """
    return _Compiler(program).compile()


@dataclass(frozen=True, slots=True)
class _Named:
    """A measure by the names of coordinates."""

    whole: Affine
    bits: Affine = ZERO
    mean: bool = False

    def at(self, index: Mapping[str, int]) -> Measure:
        """The same by their indices."""
        whole, bits = (tuple((index[name], c) for name, c in form.terms) for form in (self.whole, self.bits))
        return Measure(whole, bits, self.mean)


class _Compiler:
    """One program on its way to a transformer: vectors are added in program order."""

    def __init__(self, program: ast.Program) -> None:
        self.program = program
        self.builder = Builder(program.symbols)
        self.network = Network(self.builder)
        self.tuples = {relation.name: frozenset(relation.tuples) for relation in program.relations}
        self.known: dict[str, Value] = {}
        letters = {symbol: Boolean(self.builder.letter(f"in = {symbol}", [symbol])) for symbol in program.symbols}
        self.evaluator = Evaluator(self.network, program.symbols, self.tuples, self.known, Letters(letters))
        self.attender = Attender(self.network, self.evaluator)
        self.orderer = Orderer(self.attender)
        self.planner = Planner(program.source, program.symbols, self.tuples)
        self.guards: list[tuple[str, str, _Named]] = []
        self.warnings: list[str] = []

    def compile(self) -> Compiled:
        """The whole program."""
        vectors: dict[str, Mapping[str, _Named]] = {}
        for statement in self.program.statements:
            value = self._statement(statement)
            self.known[statement.name] = value
            vectors[statement.name] = self._readout(value, statement.name)
        output = self.known[self.program.output]
        forms = output.forms if isinstance(output, Letters) else {"": output}
        outputs = {
            symbol: self._coordinate(form, f"output = {symbol}" if symbol else "output")
            for symbol, form in forms.items()
            if isinstance(form, Boolean)
        }
        named = [form for forms in vectors.values() for form in forms.values()]
        named += [measure for _, _, measure in self.guards]
        used = {name for measure in named for form in (measure.whole, measure.bits) for name, _ in form.terms}
        self.builder.prune([*used, *outputs.values()])
        index = self.builder.index
        return Compiled(
            program=self.program,
            model=self.builder.build(next(iter(outputs.values()))),
            outputs=tuple((symbol, index[name]) for symbol, name in outputs.items() if symbol),
            vectors={
                name: Readout(self.program.vectors[name].sort, {key: named.at(index) for key, named in forms.items()})
                for name, forms in vectors.items()
            },
            guards=tuple(Guard(vector, what, measure.at(index)) for vector, what, measure in self.guards),
            warnings=tuple(self.warnings),
        )

    def _readout(self, value: Value, name: str) -> Mapping[str, _Named]:
        """What the columns show of a vector; Booleans that attention wrote are rounded."""
        match value:
            case Boolean():
                return {"": _Named(ZERO, self.network.rounded(value, name).form)}
            case Number(form, _, bits):
                return {"": _Named(form, Affine.of([(one, c * k) for c, bit in bits for one, k in bit.terms]))}
            case Letters(forms):
                return {
                    symbol: _Named(ZERO, self.network.rounded(form, f"{name} = {symbol}").form)
                    for symbol, form in forms.items()
                }

    def _coordinate(self, value: Boolean, name: str) -> str:
        """The name of a coordinate that holds a Boolean."""
        form = self.network.rounded(value, name).form
        if len(form.terms) != 1 or form.terms[0][1] != 1:
            form = self.builder.thresholds(name, [(1, form)])
        return form.terms[0][0]

    # ---- statements ----

    def _statement(self, statement: ast.Statement) -> Value:
        match statement.right:
            case ast.PositionWise(expr):
                return self.evaluator.value(folded(expr, self.tuples), statement.name)
            case ast.PrefixSum(value):
                return self._prefix_sum(at_i(folded(value, self.tuples)), statement.name)
            case ast.Attention() as attention:
                return self._attention(attention, statement.name)

    def _prefix_sum(self, value: ast.Expression, name: str) -> Number:
        number = self.evaluator.number(value, f"{name}: term")
        means = self.network.mean(number, name)
        if not _sums_in_range(number.interval):
            self._watch(name, "the prefix sum", _Named(*means, mean=True))
        return self.network.prefix_sum(number, means, name)

    # ---- attention ----

    def _attention(self, attention: ast.Attention, name: str) -> Value:
        plan = self.planner.plan(attention)
        value, parts = self._parts(attention.value, name)
        read = [self.evaluator.value(part, f"{name}: value {number}") for number, part in enumerate(parts, 1)]
        if isinstance(plan, Matching):
            terms = self.attender.boolean_terms(plan.cases, name)
            mask = MASKS[attention.mask]
            if plan.equalities:
                sides = [
                    Equality(*self.attender.sides(comparison, f"{name}: {number}"))
                    for number, comparison in enumerate(plan.equalities, 1)
                ]
                for number, side in enumerate(sides, 1):
                    self._watch_sides([side.here, side.there], name, f"{name}: {number}")
                found = self.attender.read_equal(attention.side, mask, terms, sides, read, name)
            else:
                found = self.attender.read_boolean(attention.side, mask, terms, read, name)
        else:
            comparison = plan.comparison
            here, there = self.attender.sides(comparison, name)
            self._watch_sides([here, there], name, name)
            if isinstance(plan, Ordered):
                found = self.orderer.read_ordered(attention, comparison.op, here, there, read, name)
            else:
                found = self.orderer.read_unequal(attention, here, there, read, name)
        return self._combined(found, value, folded(attention.default, self.tuples), name)

    def _parts(self, value: ast.Expression, name: str) -> tuple[ast.Expression, list[ast.Expression]]:
        """A value with its largest parts that read j only as vectors of their own, and these parts, over i."""
        parts: dict[ast.Expression, str] = {}

        def taken(node: ast.Expression) -> ast.Expression | None:
            reads = indices(node)
            if "j" not in reads:
                return node
            if "i" in reads:
                return None
            fresh = parts.setdefault(at_i(node), f"{name}@{len(parts) + 1}")
            return ast.Ref(fresh, "i", node.sort, span=node.span)

        rewritten = replaced(folded(value, self.tuples), taken)
        return rewritten, list(parts)

    def _combined(self, found: Found, value: ast.Expression, default: ast.Expression, name: str) -> Value:
        """The value where something was found, the default elsewhere."""
        network = self.network
        self.known |= {f"{name}@{number}": part for number, part in enumerate(found.values, 1)}
        there = self.evaluator.value(value, f"{name}: value")
        # what was read is 0 where there is no j; anything else has to be shut off there
        zero = isinstance(value, ast.Ref) and value.name == f"{name}@1"
        other = self.evaluator.value(default, f"{name}: default")
        match there, other:
            case Boolean(), Boolean():
                return self._either(found, there, other, zero, name)
            case Letters(), Letters():
                forms = {
                    symbol: self._either(found, yes, no, zero, f"{name} = {symbol}")
                    for symbol in self.program.symbols
                    for yes, no in [(network.letters(there, symbol), network.letters(other, symbol))]
                }
                return Letters({symbol: form for symbol, form in forms.items() if form != network.false})
            case Number(), Number():
                return self._either_number(found, there, other, zero, name)
            case _:
                raise AssertionError(f"{name} has a value and a default of different sorts")

    def _either(self, found: Found, there: Boolean, other: Boolean, zero: bool, name: str) -> Boolean:
        network = self.network
        if zero and other == network.false:
            return there
        missing = found.missing()
        first = (there,) if zero else (there, network.negation(missing))
        return network.disjoint([first, (missing, other)], name)

    def _either_number(self, found: Found, there: Number, other: Number, zero: bool, name: str) -> Number:
        network = self.network
        bounds = there.interval.hull(other.interval)
        if zero and other == network.constant(0):
            return there.within(bounds)
        missing = found.missing()
        first = there if zero else network.gated(network.negation(missing), there, name)
        return (first + network.gated(missing, other, f"{name}: default")).within(bounds)

    # ---- ranges ----

    def _watch_sides(self, sides: Sequence[Number], name: str, place: str) -> None:
        """Each of two integers that a score compares must be in range."""
        for value, label in zip(sides, "uv", strict=True):
            if not value.interval.in_range:
                form = self.network.settled(value, f"{place}.{label}")
                self._watch(name, "an integer compared in the score", _Named(form))

    def _watch(self, name: str, what: str, measure: _Named) -> None:
        self.guards.append((name, what, measure))
        warning = f"{what} of the vector {name} may leave [-n, n] on some words, which is then an error"
        if warning not in self.warnings:
            self.warnings.append(warning)


def _sums_in_range(term: Interval) -> bool:
    """Whether sums of up to n terms are always in [-n, n]: terms in [-1, 1] (times n, those in [-n, n] are no help)."""
    constant = Interval.constant
    return (term + constant(-1)).negative and (term + constant(1)).natural
