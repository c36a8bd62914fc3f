"""Compile S-RASP programs to average-hard attention (ours; the language is that of Strobl et al. 2024).

Every head is uniform, or its maximum is ahead of all other scores by at least the declared gap; the maximum is unique
except in heads of counts and means, where several positions share it. The weights are rationals that do not depend on
n, all activations are bounded, and the smallest gap is c/n^3, so Theorem 26 gives an inverse temperature of O(n^3 log
n). Integers must stay in [-n, n]: a look-up finds a position, so it cannot give a prefix sum above n, nor the square
of an integer above n. Ranges are checked on the columns before the look-up, where the integer has not been cut off
yet. A mean has no range to keep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.compiling.from_srasp import scores
from hardsim.compiling.from_srasp.attention import MASKS, Attended, Evaluator, Sides
from hardsim.compiling.from_srasp.network import (
    NATURAL,
    ZERO,
    Average,
    Boolean,
    Interval,
    ScaledInteger,
    Symbols,
    Value,
)
from hardsim.compiling.from_srasp.ranges import Ranges
from hardsim.errors import InputError, OutOfRange, Source, Span, marked
from hardsim.hard.exact import ExactModel, HardTrace
from hardsim.lang import ast
from hardsim.lang.pretty import shortened
from hardsim.lang.srasp.padding import padded_word
from hardsim.lang.words import written_word
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact, widened
from hardsim.network.numbers import Mask
from hardsim.program.hard_attention import Affine, Program

SHORT, TRIED = 8, 300
"""The greatest length of the words that are tried to find an integer out of range, and their greatest number, that of
all lengths together."""
LONGEST_LINE = 100
"""The greatest number of characters of the program line that names a head."""
_COMMENT = re.compile(" //.*$")


@dataclass(frozen=True, slots=True)
class Measure:
    """The way to compute an integer from the columns: `n * whole + bits` at position i. If both are means over BOS
    and the c positions that the mask `mean` allows, this is multiplied by c + 1."""

    whole: Affine
    bits: Affine = ZERO
    mean: Mask | None = None

    def column(self, trace: HardTrace) -> Exact:
        """Return the integer at every index of every word of a batch, without the factor c + 1; shape (words,
        positions)."""
        return trace.sum((self.whole.scaled(trace.n) + self.bits).terms)

    def seen(self, i: int, n: int) -> int:
        """Return c at position i of a word of length n."""
        return {Mask.FUTURE: i, Mask.PAST: n - i + 1, Mask.NONE: n}[self.mean] if self.mean is not None else 0

    def outside(self, trace: HardTrace) -> NDArray[np.bool_]:
        """Return where the integer is outside [-n, n]; shape (words, n), positions from 1."""
        column, n = self.column(trace), trace.n
        factors = np.array([self.seen(i, n) + 1 for i in range(1, n + 1)], dtype=np.int64)
        sizes = np.abs(widened(column.whole[:, 1:], column.size * (n + 1)) * factors)
        result: NDArray[np.bool_] = sizes > n * column.unit
        return result


@dataclass(frozen=True, slots=True)
class Guard:
    """An integer in one vector's definition that must stay in [-n, n]."""

    vector: str
    what: str
    measure: Measure
    span: Span = ast.NO_SPAN

    @property
    def warning(self) -> str:
        """The warning that the integer may leave [-n, n]."""
        return f"{self.what} of the vector {self.vector} may leave [-n, n] on some words, which is then an error"


@dataclass(frozen=True, slots=True)
class VectorForms:
    """The way to read a vector at the end of a run. A Boolean is `measures[""]`, true above 1/2. An integer or a mean
    is `measures[""]`. A symbol is the one with the largest measure (1; the others have 0)."""

    sort: ast.Sort
    measures: Mapping[str, Measure]

    def values(self, trace: HardTrace, word: int) -> list[bool | int | str | Fraction]:
        """Return the vector at positions 1..n of one word of the batch."""
        columns = {key: measure.column(trace) for key, measure in self.measures.items()}
        positions = range(1, trace.n + 1)
        if self.sort is ast.Sort.SYMBOL:
            return [max(columns, key=lambda symbol: columns[symbol].at(word, i)) for i in positions]
        values = [columns[""].at(word, i) for i in positions]
        if self.sort is ast.Sort.RATIONAL:
            seen = [self.measures[""].seen(i, trace.n) for i in positions]
            return [value * Fraction(count + 1, count or 1) for value, count in zip(values, seen, strict=True)]
        if self.sort is ast.Sort.BOOL:
            return [2 * value > 1 for value in values]
        return [round(value) for value in values]


@dataclass(frozen=True)
class Compiled:
    """A program compiled to a transformer. An acceptor's answer is `model.output` at position n; a transduction is
    read from `model.outputs` at 1..n."""

    program: ast.SraspProgram
    model: Program
    vectors: Mapping[str, VectorForms]
    guards: tuple[Guard, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all guards, each once."""
        return tuple(dict.fromkeys(guard.warning for guard in self.guards))

    def limits(self) -> tuple[str, ...]:
        """Return the warnings with their places in the text. Each names the first short word on which its integer
        leaves the range, if there is one."""
        outside, longest, masked = self._outside() if self.guards else ({}, 0, False)
        names: dict[str, str] = {}
        for number, guard in sorted(enumerate(self.guards), key=lambda one: len(outside.get(one[0], ())) or SHORT + 1):
            found = "" if masked or not longest else f"; on no word up to length {longest}"
            if number in outside:
                word = outside[number]
                found = f"; first at length {len(word)}, on the word '{written_word(word, self.program.alphabet)}'"
            line, carets = marked(self.program.source, guard.span)
            place = f"line {self.program.source.line_of(guard.span.start)[0]}"
            names.setdefault(guard.warning, f"{place}: {guard.warning}{found}\n  {line}\n  {carets}")
        return tuple(names[warning] for warning in self.warnings)

    def _outside(self) -> tuple[dict[int, tuple[str, ...]], int, bool]:
        """Try all short words, and return three facts: by number of the guard (from 0), the first word on which its
        integer leaves the range while no earlier guard's does; the greatest length of which all words were tried; and
        True if a word was passed over because of an earlier guard."""
        found: dict[int, tuple[str, ...]] = {}
        model, tried, masked = ExactModel(self.model), 0, False
        for n in range(1, SHORT + 1):
            tried += len(self.program.alphabet) ** n
            if tried > TRIED or len(found) == len(self.guards):
                return found, n - 1, masked
            words = list(product(self.program.alphabet, repeat=n))
            try:
                trace = model.run([padded_word(self.program, word) for word in words])
            except InputError:  # the `pad:` line has no padded length for this n
                return found, n - 1, masked
            before = np.zeros(len(words), dtype=np.bool_)
            for number, guard in enumerate(self.guards):
                outside = guard.measure.outside(trace).any(axis=1)
                first = outside & ~before
                if number not in found and first.any():
                    found[number] = words[int(first.argmax())]
                # What leaves the range after an earlier guard's integer did may only be its consequence.
                masked = masked or bool((outside & before).any() and number not in found)
                before |= outside
        return found, SHORT, masked

    def check_ranges(self, words: Sequence[Sequence[str]], trace: HardTrace) -> None:
        """Raise OutOfRange if an integer of a run leaves [-n, n]: for the first word with such an integer, the first
        vector in program order (integers that this one puts out of range come later), and the first position; the error
        names all three. `words` are the words of the batch as the error shows them."""
        outside = [guard.measure.outside(trace).any(axis=1) for guard in self.guards]
        found = [(int(some.argmax()), number) for number, some in enumerate(outside) if some.any()]
        if not found:
            return
        word, number = min(found)
        guard = self.guards[number]
        i = int(guard.measure.outside(trace)[word].argmax()) + 1
        value = guard.measure.column(trace).at(word, i) * (guard.measure.seen(i, trace.n) + 1)
        shown = ("" if all(len(symbol) == 1 for symbol in words[word]) else " ").join(words[word])
        raise OutOfRange(
            f"word '{shown}': {guard.what} of the vector {guard.vector} is {value} at position {i}, outside "
            f"[-{trace.n}, {trace.n}]",
            "The network can only hold integers from -n to n there, n being the (padded) length: bring the number into "
            "range, or pad the word.",
        )


_Compared: TypeAlias = tuple[scores.Comparison, Sides]
"""A comparison in a score, with its two integers."""


def compile_program(program: ast.SraspProgram) -> Compiled:
    """Compile a program to a hard-attention transformer. Raises Unsupported with the place, for a score that has no
    construction."""
    return _Compiler(program).compile()


class _Compiler(Evaluator):
    """The compiler of one program. Vectors are compiled in program order."""

    def __init__(self, program: ast.SraspProgram) -> None:
        super().__init__(program)
        self.program = program
        self.planner = scores.Planner(program.source, program.symbols, self.tuples)
        self.ranges = Ranges(program)
        self.guards: list[Guard] = []

    def compile(self) -> Compiled:
        """Compile the whole program."""
        vectors: dict[str, Mapping[str, Measure]] = {}
        for statement in self.program.statements:
            self.purpose = written_line(self.program.source, statement.span)
            value = self._statement(statement)
            self.known[statement.name] = value
            vectors[statement.name] = self._readout(value, statement.name)
        output = self.known[self.program.output]
        forms = output.forms if isinstance(output, Symbols) else {"": output}
        outputs = {
            symbol: self._coordinate(form, f"output = {symbol}" if symbol else "output")
            for symbol, form in forms.items()
            if isinstance(form, Boolean | ScaledInteger)
        }
        measures = [measure for forms in vectors.values() for measure in forms.values()]
        measures += [guard.measure for guard in self.guards]
        used = {name for some in measures for name, _ in (*some.whole.terms, *some.bits.terms)}
        self.prune([*used, *outputs.values()])
        symbols = tuple((symbol, name) for symbol, name in outputs.items() if symbol)
        return Compiled(
            program=self.program,
            model=self.build(next(iter(outputs.values())), symbols, isinstance(output, ScaledInteger)),
            vectors={name: VectorForms(self.program.vectors[name].sort, forms) for name, forms in vectors.items()},
            guards=tuple(self.guards),
        )

    def _readout(self, value: Value, name: str) -> Mapping[str, Measure]:
        """Return how to read a vector from the columns. Booleans that attention wrote are rounded first."""
        match value:
            case Boolean():
                return {"": Measure(ZERO, self.rounded(value, name).form)}
            case Average(over=over, whole=whole, bits=bits):
                return {"": Measure(whole, bits, mean=None if over.score else over.mask)}
            case ScaledInteger(form, _, bits):
                return {"": Measure(form, Affine.of([(one, c * k) for c, bit in bits for one, k in bit.terms]))}
            case Symbols(forms):
                return {
                    symbol: Measure(ZERO, self.rounded(form, f"{name} = {symbol}").form)
                    for symbol, form in forms.items()
                }

    def _coordinate(self, value: Boolean | ScaledInteger, name: str) -> str:
        """Return the name of a coordinate that holds a Boolean, or an integer divided by n."""
        if isinstance(value, ScaledInteger):
            form = self.settled(value, name)
            if len(form.terms) != 1 or form.terms[0][1] != 1:
                form = self.hidden(name, [(sign, form.scaled(sign)) for sign in (1, -1)])
            return form.terms[0][0]
        form = self.rounded(value, name).form
        if len(form.terms) != 1 or form.terms[0][1] != 1:
            form = self.thresholds(name, [(1, form)])
        return form.terms[0][0]

    # ---- statements ----

    def _statement(self, statement: ast.Statement) -> Value:
        match statement.right:
            case ast.PositionWise(expr):
                return self.value(scores.folded(expr, self.tuples), statement.name)
            case ast.PrefixSum(value):
                return self._prefix_sum(
                    scores.at_i(scores.folded(value, self.tuples)), statement.name, statement.right.span
                )
            case ast.Attention() as attention:
                return self._attention(attention, statement.name)
            case ast.MatchCount() as count:
                return self._count(count, statement.name)
            case ast.MatchMean() as mean:
                return self._mean(mean, statement.name)

    def _prefix_sum(self, value: ast.Expression, name: str, span: Span) -> ScaledInteger:
        number = self.of(ScaledInteger, value, f"{name}: term")
        means = self.mean(number, name)
        if not _sums_in_range(number.interval) and not self.ranges.require(ast.Ref(name, "i", ast.Sort.INT)):
            self._watch(name, "the prefix sum", Measure(*means, mean=Mask.FUTURE), span)
        return self.prefix_sum(number, means, name)

    # ---- attention ----

    def _attention(self, attention: ast.Attention, name: str) -> Value:
        plan = self.planner.plan(attention)
        value, parts = self._parts(attention.value, name)
        read = [self.value(part, f"{name}: value {number}") for number, part in enumerate(parts, 1)]
        side, mask = attention.side, MASKS[attention.mask]
        if isinstance(plan, scores.Matching):
            terms = self.boolean_terms(plan.cases, name)
            pairs = [
                self.sides(comparison, f"{name}: {number}") for number, comparison in enumerate(plan.equalities, 1)
            ]
            for number, (pair, comparison) in enumerate(zip(pairs, plan.equalities, strict=True), 1):
                self._watch_sides(comparison, pair, name, f"{name}: {number}")
            score = self.equality_score(side, terms, pairs, name) if pairs else self.boolean_score(side, terms)
            found = self.read(mask, *score, read, name)
        else:
            here, there = self.sides(plan, name)
            self._watch_sides(plan, (here, there), name, name)
            if plan.op == "!=":
                found = self.read_unequal(attention, here, there, read, name)
            else:
                found = self.read(mask, *self.order_score(side, plan.op, here, there, name), read, name)
        return self._combined(found, value, scores.folded(attention.default, self.tuples), name)

    # ---- counts and means ----

    def _selected(
        self, node: ast.MatchCount | ast.MatchMean, name: str
    ) -> tuple[Sequence[scores.Case], list[_Compared]]:
        """Return the cases of the score of a count or a mean, and the comparisons of integers that no case absorbs."""
        cases, comparisons = self.planner.selecting(node)
        left: list[_Compared] = []
        for number, comparison in enumerate(comparisons, 1):
            pair = self.sides(comparison, f"{name}: {number}")
            names = _distinguished(cases, comparison, pair)
            if names is None:
                left.append((comparison, pair))
            else:
                cases = names
        return cases, left

    def _mean(self, mean: ast.MatchMean, name: str) -> Average:
        mask = MASKS[mean.mask]
        term = self.of(ScaledInteger, scores.at_i(scores.folded(mean.value, self.tuples)), f"{name}: term")
        if scores.folded(mean.score, self.tuples) == ast.Truth(True) and not mask.strict:
            return self.average(mask, term, name)
        cases, left = self._selected(mean, name)
        refused = next((comparison for comparison, _ in left if comparison.op != "="), None)
        if refused is not None:
            raise self.planner.refused_mean(mean, refused)
        for number, (comparison, pair) in enumerate(left, 1):
            self._watch_sides(comparison, pair, name, f"{name}: {number}")
        terms, pairs = self.boolean_terms(cases, name), [pair for _, pair in left]
        over, default, other = self.selection(mask, terms, pairs, name), Fraction(0), self.constant(0)
        node = scores.folded(mean.default, self.tuples)
        if isinstance(node, ast.RationalConstant):
            default = node.value
        else:
            value = self.of(ScaledInteger, node, f"{name}: default")
            other = self.gated(self.unmatched(mask, terms, pairs, name), value, f"{name}: default")
        return self.selected_average(over, term, default, other, name)

    def _count(self, count: ast.MatchCount, name: str) -> ScaledInteger:
        mask = MASKS[count.mask]
        cases, left = self._selected(count, name)
        if not cases:
            return self.constant(0)
        other = next((comparison for comparison, _ in left if comparison.op != "="), None)
        ordered = other is not None and other.op != "!="
        if other is not None and ordered and (len(left) > 1 or mask is not Mask.NONE):
            raise self.planner.refused_order(count, other, alone=len(left) == 1)
        for number, (comparison, pair) in enumerate(left, 1):
            self._watch_sides(comparison, pair, name, f"{name}: {number}")
        if other is not None and ordered:
            return self._count_ordered(cases, other.op, left[0][1], name)
        terms, pairs = self.boolean_terms(cases, name), [pair for comparison, pair in left if comparison.op == "="]
        found = self.matches(mask, terms, pairs, name)
        if other is not None:
            same = self.matches(mask, terms, [pair for _, pair in left], f"{name}: equal")
            found = (found + same.scaled(-1)).within(found.interval)
        return found

    def _count_ordered(self, cases: Sequence[scores.Case], op: ast.CompareOp, pair: Sides, name: str) -> ScaledInteger:
        """Return the number of all j that are in one of the cases and have `u(i) op v(j)`.

        For u <= v these are the j with -v <= -u; for < and >, the rest of all j.
        """
        u, v = (side.scaled(-1 if op in ("<=", ">") else 1) for side in pair)
        total = self.constant(0)
        for number, case in enumerate(cases, 1):
            label = name if len(cases) == 1 else f"{name}: case {number}"
            ((here, key),) = self.boolean_terms([case], label)
            some = self.at_most_many(Boolean(key), u, v, label)
            if op in ("<", ">"):
                every = self.matches(Mask.NONE, [(self.real, key)], [], f"{label}: all")
                some = (every + some.scaled(-1)).within(some.interval)
            total = total + self.gated(Boolean(here), some, label)
        return total.within(NATURAL)

    def _parts(self, value: ast.Expression, name: str) -> tuple[ast.Expression, list[ast.Expression]]:
        """Split a value into an expression over i and vectors. Its largest parts that read only j become vectors of
        their own, which are returned as expressions over i."""
        parts: dict[ast.Expression, str] = {}

        def taken(node: ast.Expression) -> ast.Expression | None:
            reads = scores.indices(node)
            if "j" not in reads:
                return node
            if "i" in reads:
                return None
            fresh = parts.setdefault(scores.at_i(node), f"{name}@{len(parts) + 1}")
            return ast.Ref(fresh, "i", node.sort, span=node.span)

        rewritten = scores.replaced(scores.folded(value, self.tuples), taken)
        return rewritten, list(parts)

    def _combined(self, found: Attended, value: ast.Expression, default: ast.Expression, name: str) -> Value:
        """Return the value if a position was found, and the default otherwise."""
        self.known |= {f"{name}@{number}": part for number, part in enumerate(found.values, 1)}
        there = self.value(value, f"{name}: value")
        # A value read is 0 where there is no j; a computed value must be set to 0 there.
        zero = isinstance(value, ast.Ref) and value.name == f"{name}@1"
        other = self.value(default, f"{name}: default")
        if zero and other == self.false:
            return there
        if zero and isinstance(there, ScaledInteger) and other == self.constant(0):
            return there.within(there.interval.hull(self.constant(0).interval))
        return self.selected(self.negation(found.missing()), there, other, name, zero, f"{name}: default")

    # ---- ranges ----

    def _watch_sides(self, comparison: scores.Comparison, sides: Sides, name: str, place: str) -> None:
        """Guard each of two integers that a score compares, unless it is known to stay in range."""
        for terms, value, label in zip((comparison.here, comparison.there), sides, "uv", strict=True):
            if not value.interval.in_range and not self.ranges.require(scores.summed(terms)):
                form = self.settled(value, f"{place}.{label}")
                self._watch(name, "an integer compared in the score", Measure(form), comparison.span)

    def _watch(self, name: str, what: str, measure: Measure, span: Span) -> None:
        self.guards.append(Guard(name, what, measure, span))


def written_line(source: Source, span: Span) -> str:
    """Return the program line at a place, with its number and without comments."""
    number, _, line = source.line_of(span.start)
    return shortened(f"line {number}: {_COMMENT.sub('', ' '.join(line.split()))}", LONGEST_LINE)


def _distinguished(
    cases: Sequence[scores.Case], comparison: scores.Comparison, sides: Sides
) -> list[scores.Case] | None:
    """Split the cases by the values of that side of a comparison that has fewer; return None if there are too many
    values or cases."""
    several = [(len(side.interval.values or range(scores.MAX_RANGE + 1)), at) for at, side in enumerate(sides)]
    count, at = min(several)
    values = sides[at].interval.values
    if values is None or count > scores.MAX_RANGE or count * len(cases) > scores.MAX_CASES:
        return None
    return [scores.by_value(case, comparison, value, of_i=at == 0) for case in cases for value in values]


def _sums_in_range(term: Interval) -> bool:
    """Return True if sums of up to n terms are always in [-n, n]: terms in [-1, 1] are enough (terms that grow with n
    are not)."""
    constant = Interval.constant
    return (term + constant(-1)).negative and (term + constant(1)).natural
