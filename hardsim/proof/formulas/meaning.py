"""The second link of a proof: the hard heads compute the formula.

Program and formula are both translated to numbers of a common table. Each number is a Boolean function of the
symbol and of *facts*, where a fact is a lemma's statement about earlier numbers. Equal numbers mean equal truth at
every site.

 - ("S", where, what) at i: the rightmost j <= i with `where` satisfies `what`; if there is none, `what` holds at i. A
   head that looks for the rightmost selected position, rounded, is this by definition. `left S right` is this fact
   with where = !left | right and what = right (Theorems 15 and 16): at the rightmost such j either right holds, and
   left holds ever since, or left fails, and right since then; if there is none, right fails everywhere. ("U", ...) is
   the mirror image, ("E", ...) has no mask.
 - ("Y", what) at i > 1: `what` at i - 1. A head whose `select` is the same for every word reads a known position; two
   such heads, each restricted to one parity, read i - 1 (Theorems 12 and 13). At i = 1 the fact is false. ("X", ...)
   is the mirror image. A head with a strict mask reads at i what the head without it reads at i - 1, and 0 at i = 1;
   if it selects every position, that is the value at i - 1.
 - ("at least", counts, thresholds): an integer combination of counts is at least a threshold that depends on the site
   alone (Theorems 20 to 23). That a single count is positive is the fact that the nearest position where its argument
   holds satisfies it. A look-up reads max(c, 1), and c = max(c, 1) + [c > 0] - 1.
 - ("table", count, at zero, column): a predicate of a count, as the table of its values.

This module does not rely on how formulas are compiled. Positions and lengths, and markers and predicates of them,
are compared by their values at every site.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import ceil, floor
from typing import Any, Literal

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.program.hard_attention import Affine, Head, Kind, Program, ProgramLayer, Unit, Weighting
from hardsim.proof.formulas.cuts import Cuts
from hardsim.proof.formulas.facts import MASKS, Column, Count, Facts, Near
from hardsim.proof.formulas.head_argument import looked_up
from hardsim.proof.formulas.state import require_names
from hardsim.proof.shared.ratios import common
from hardsim.proof.shared.result import NotProved


@dataclass(frozen=True)
class Nearest:
    """Meaning of a head for the nearest position: it reads `what` at the nearest position where `where` holds."""

    op: Near
    where: Column
    what: Column
    beside: Literal["Y", "X"] | None = None
    """The operator that leads to the last position which a strict mask shows; None for other masks. A head that sees
    nothing reads 0."""


@dataclass(frozen=True)
class LookedUp:
    """Meaning of a look-up head: it reads the number max(count, 1), or the value of `columns` (one column for each
    length) at the position with that number."""

    count: Count
    columns: Sequence[Any] | None = None


@dataclass(frozen=True)
class Sign:
    """Meaning of a head that tests a sign: where more than one position is visible, it reads True if the sum of
    coefficient * mean over `means`, plus `rest` of the site, is positive."""

    side: str
    means: dict[Count, Rational]
    rest: list[Rational]


HeadMeaning = Nearest | LookedUp | Sign


def threshold(step: Fraction, offset: Rational) -> int | None:
    """Return the least integer t with `clip(step t + offset) = 1` if the clip is 0 for all smaller integers; else
    None."""
    least = ceil((1 - Fraction(offset)) / step)
    return least if floor(-Fraction(offset) / step) >= least - 1 else None


NEAREST: dict[tuple[Weighting, Mask], Near] = {
    (Weighting.RIGHTMOST, Mask.FUTURE): "S",
    (Weighting.LEFTMOST, Mask.PAST): "U",
    (Weighting.RIGHTMOST, Mask.NONE): "E",
}
STRICT: dict[tuple[Weighting, Mask], tuple[Near, Literal["Y", "X"]]] = {
    (Weighting.RIGHTMOST, Mask.STRICT_FUTURE): ("S", "Y"),
    (Weighting.LEFTMOST, Mask.STRICT_PAST): ("U", "X"),
}
"""The nearest position of heads with strict masks, as seen from the position beside the query (see `Nearest`)."""
STEPS: tuple[Literal["Y", "X"], ...] = ("Y", "X")
SIDES = {mask: side for side, mask in MASKS.items()}


class ProgramMeaning:
    """Meaning of a hard-attention program: the columns of its coordinates, derived from its linear forms alone. A
    coordinate whose meaning is not recognised has no column, and `why` has the reason; the proof fails only if that
    column is needed."""

    def __init__(self, facts: Facts, program: Program, cuts: Cuts) -> None:
        self.facts, self.program, self.cuts = facts, program, cuts
        self.means: dict[str, Count] = {}
        self.reads: dict[str, HeadMeaning] = {}
        self.why: dict[str, str] = {}
        require_names(program)
        if program.bos and any(head.mask.strict for head in program.heads):
            raise NotProved("the specification has a head that does not see its own position")
        self.columns = facts.given(program)
        for layer in program.layers:
            self._layer(layer)

    def of(self, name: str) -> Column:
        """Return the column of a coordinate. Raises NotProved, with the reason, if its meaning is not known."""
        if name not in self.columns:
            raise NotProved(self.why.get(name, f"the attended value '{name}' is read without being rounded"))
        return self.columns[name]

    def form(self, form: Affine) -> Column:
        """Return the column of a linear form of coordinates."""
        constant = dict(form.terms).get(ONE, 0)
        return self.facts.combine([(c, self.of(name)) for name, c in form.terms if name != ONE], constant)

    # A failure is kept with its coordinate: a coordinate that nothing reads needs no meaning.
    def _layer(self, layer: ProgramLayer) -> None:
        reads: dict[str, HeadMeaning] = {}
        means: dict[str, tuple[Column | None, Count | None]] = {}
        for head in layer.heads:
            try:
                if head.uniform:
                    means[head.out] = self._uniform(head)
                else:
                    reads[head.out] = self._head(head)
            except NotProved as failure:
                self.why[head.out] = failure.reason
        self.reads |= reads
        self.columns |= {out: column for out, (column, _) in means.items() if column is not None}
        self.means |= {out: count for out, (_, count) in means.items() if count is not None}
        biases, written, clips = dict(layer.biases), dict[str, Column](), dict[str, list[Unit]]()
        for item in layer.units:
            clips.setdefault(item.out, []).append(item)
        for out in dict.fromkeys([*biases, *clips]):
            try:
                column = self._clips(clips.get(out, []), biases.get(out, 0))
                written[out] = self.cuts.known(column) if self.facts.boolean(column) else column
            except NotProved as failure:
                self.why[out] = failure.reason
        self.columns |= written

    # ---- heads ----

    def _uniform(self, head: Head) -> tuple[Column | None, Count | None]:
        """Return the meaning of a uniform head: the column of its mean if the mean is the same for every word (else
        None), and the count behind the mean if the averaged value is a Boolean (else None)."""
        value = self.form(head.value)
        column = None
        if self.facts.constant(value):
            column = self.facts.encoded(self.facts.sites.means(self.facts.numbers(value), head.mask))
        if self.facts.boolean(value):
            return column, (SIDES[head.mask], value)
        if column is None:
            raise NotProved(f"head {head.name} averages values other than 0 and 1")
        return column, None

    def _head(self, head: Head) -> HeadMeaning:
        what = f"the value of head {head.name}"
        if head.kind is Kind.NEAREST:
            op, beside = NEAREST.get((head.weighting, head.mask)), None
            if head.mask.strict:
                op, beside = STRICT.get((head.weighting, head.mask), (None, None))
            if op is None or head.select is None:
                raise NotProved(f"head {head.name} does not look for the nearest position on one side")
            where = self.facts.truths(self.form(head.select), f"the condition of head {head.name}")
            return Nearest(op, where, self.facts.truths(self.form(head.value), what), beside)
        column = self.form(head.value)
        if head.kind is Kind.TABLE:
            columns = self.facts.read_table(column, what)
            return LookedUp(self._looked_up(head), columns)
        values = self.facts.fixed(column, what)
        if head.kind is not Kind.LOOKUP:
            return self._sign(head, values)
        # Only the position itself makes the value read the count.
        if values != self.facts.sites.i:
            raise NotProved(f"head {head.name} does not read the number of the position")
        return LookedUp(self._looked_up(head))

    def _looked_up(self, head: Head) -> Count:
        """Return the count that a look-up head looks up: the count of the mean that its score multiplies with a
        multiple of j."""
        name = looked_up(self.program, head, self.facts.sites,
                         lambda key: self.facts.fixed(self.form(key), f"a key of head {head.name}"))  # fmt: skip
        if name not in self.means:
            raise NotProved(f"head {head.name} looks up '{name}', which is not known to be a count")
        return self.means[name]

    def _sign(self, head: Head, values: list[Rational]) -> Sign:
        if len(head.score) != 1:
            raise NotProved(f"head {head.name} does not test a sign")
        query, key = head.score[0]
        keys = self.facts.fixed(self.form(key), f"the key of head {head.name}")
        self.facts.alternating(keys, values, head.name)
        means, rest = self._means(query)
        return Sign(SIDES[head.mask], means, self.facts.fixed(rest, f"the query of head {head.name}"))

    def _means(self, form: Affine) -> tuple[dict[Count, Rational], Column]:
        """Return a linear form as multiples of means that depend on the word, and the column of the other terms."""
        means: dict[Count, Rational] = {}
        rest: list[tuple[str, Rational]] = []
        for name, coefficient in form.terms:
            if name in self.means and name not in self.columns:
                count = self.means[name]
                means[count] = means.get(count, 0) + coefficient
            else:
                rest.append((name, coefficient))
        return means, self.form(Affine.of(rest))

    # ---- clips ----

    def _clips(self, clips: list[Unit], bias: Rational) -> Column:
        """Return the column of a coordinate that clips write. Raises NotProved if the clips match no lemma."""
        # The complement of a sum of clips: its meaning is the negation of theirs.
        if bias == 1 and clips and all(item.weight == -1 for item in clips):
            inner = self._clips([replace(item, outs=((item.out, 1),)) for item in clips], 0)
            return self.facts.combine([(-1, self.cuts.known(inner))], 1)
        names = [name for item in clips for name, _ in item.pre.terms]
        reads = {name: self.reads[name] for name in names if name in self.reads}
        means = (self.means.keys() - self.columns.keys()).intersection(names)
        if not means and any(isinstance(read, LookedUp) and read.columns is None for read in reads.values()):
            return self._compared(clips, bias, reads)
        if means or any(isinstance(read, Sign) for read in reads.values()):
            return self._signed(clips, bias, reads)
        total = self._total(clips, bias, {name: self.facts.everywhere(self._variable(name)) for name in reads})
        table = next(((name, read) for name, read in reads.items() if isinstance(read, LookedUp)), None)
        if table is not None:
            return self._tabled(total, table[0], table[1], clips)
        read = {name: self._read(name, read, total) for name, read in reads.items() if isinstance(read, Nearest)}
        return self._total(clips, bias, read)

    def _total(self, clips: list[Unit], bias: Rational, read: Mapping[str, Column]) -> Column:
        """Return the column of a sum of clips, with the columns of what the heads read."""
        parts: list[tuple[Rational, Column]] = []
        for item in clips:
            terms = [(c, read[name] if name in read else self.of(name)) for name, c in item.pre.terms if name != ONE]
            column = self.facts.clip(terms, dict(item.pre.terms).get(ONE, 0))
            parts.append((item.weight, self._capped(item, column)))
        return self.facts.combine(parts, bias)

    def _capped(self, item: Unit, column: Column) -> Column:
        """Return the column of a clip with its cap, from the column without. The difference `relu(z) - relu(z - b)` is
        the conjunction with a Boolean b, if the clip itself is 0 or 1."""
        if item.cap is None:
            return column
        parts = (column, f"the clip that writes '{item.out}'"), (self.form(item.cap), f"the cap of '{item.out}'")
        return self.facts.both([self.facts.truths(*part) for part in parts])

    def _variable(self, name: str) -> int:
        """Return the variable of what a head reads, where nothing is known of it."""
        return self.facts.fact("read", name)

    def _read(self, name: str, read: Nearest, total: Column) -> Column:
        """Return the column of what a head reads: the fact of its operator; or the value at the neighbour (Y and X), if
        its condition is the same for every word and the sum of clips `total`, over the variables of what heads read,
        depends on it only where a neighbour is read."""
        facts, variable = self.facts, self._variable(name)
        nearest = facts.nearest(read.op, read.where, read.what)
        if read.beside is not None:
            return facts.step(read.beside, nearest)
        if not facts.constant(read.where):
            return nearest
        try:
            distances = facts.distances(read.op, facts.numbers(read.where))
        except NotProved:  # for every length: at some position it reads neither the position itself nor a neighbour
            return nearest
        elsewhere = {number for number, distance in zip(total, distances, strict=True) if abs(distance) != 1}
        if any(facts.diagrams.depends(number, variable) for number in elsewhere):
            return nearest
        steps = [facts.beside(op, read.what) for op in STEPS]
        return tuple(steps[distance > 0] for distance in distances)

    def _tabled(self, total: Column, name: str, read: LookedUp, clips: list[Unit]) -> Column:
        """Return the column of a predicate of a count: the value that was looked up if the count is positive, else
        a value that depends on the site. Or the conjunction of that, or of its negation, with other Booleans."""
        facts, variable, diagrams = self.facts, self._variable(name), self.facts.diagrams
        # Candidates for the value at count 0: false, true, and predicates of the position.
        zeros = (diagrams.zero, diagrams.one, *facts.predicates)

        @cache
        def fitting(some: int, number: int) -> list[tuple[bool, int, int, bool | None]]:
            """Return all ways to write a sum of clips: if the predicate is negated, its value at count 0, the other
            Booleans, and whether they say that the count is positive or 0 (None: neither)."""
            # Where a value was looked up and makes the predicate true, the sum is that of the others.
            fixed = diagrams.constant(some)
            known = number if fixed else diagrams.restricted(number, some, 1)
            found = []
            for negated, zero, positive in product((False, True), zeros, (None, True, False)):
                others = diagrams.restricted(known, variable, int(not negated))
                if positive is not None:
                    # With count 0 no value was looked up.
                    others = others if positive or fixed else diagrams.restricted(number, some, 0)
                    others = diagrams.all_of((others, some if positive else diagrams.negated(some)))
                none = diagrams.all_of((diagrams.negated(some), zero))
                what = diagrams.linear([(1, diagrams.all_of((some, variable))), (1, none)])
                if number == diagrams.all_of((others, diagrams.negated(what) if negated else what)):
                    found.append((negated, zero, others, positive))
            return found

        ways = [fitting(*pair) for pair in zip(facts.positive(read.count), total, strict=True)]
        if not all(ways):
            what = f"the coordinate '{clips[0].out}'"
            raise NotProved(f"{what} is not a predicate of a count, or a conjunction with one")
        columns = []
        # The count is positive in a conjunction, too, if another coordinate says so.
        names = {name for item in clips for name, _ in item.pre.terms}
        again = sum(self.columns.get(name) == facts.positive(read.count) for name in names) > 1
        for choice in product((True, None, False) if again else (None, True, False), zeros):
            best = [max(found, key=lambda way: (way[3] == choice[0], way[1] == choice[1])) for found in ways]
            table = facts.table(read.count, [zero for _, zero, *_ in best], read.columns or ())
            columns.append(tuple([diagrams.all_of((diagrams.negated(value) if negated else value, others))
                                  for value, (negated, _, others, _) in zip(table, best, strict=True)]))  # fmt: skip
        # All are the same truth. One of them may be a node of the formula.
        return next((column for column in columns if column in self.cuts.nodes), columns[0])

    def _compared(self, clips: list[Unit], bias: Rational, reads: dict[str, HeadMeaning]) -> Column:
        """Return the column of a comparison of looked-up counts. Each count is the number that was read, plus 1 if
        any position is counted, minus 1."""
        facts, out = self.facts, clips[0].out
        if len(clips) != 1:
            raise NotProved(f"the coordinate '{out}' is not one comparison of counts")
        counts: dict[Count, Rational] = {}
        rest: list[tuple[Rational, Column]] = []
        constant: Rational = 0
        for name, coefficient in clips[0].pre.terms:
            read = reads.get(name)
            if name == ONE:
                constant += coefficient
            elif isinstance(read, LookedUp) and read.columns is None:
                counts[read.count] = counts.get(read.count, 0) + coefficient
                rest.append((-coefficient, facts.positive(read.count)))
                constant += coefficient
            else:
                rest.append((coefficient, self.of(name)))
        offsets = self.facts.fixed(facts.combine(rest, constant), f"the part of '{out}' besides its counts")
        compare = facts.comparison(counts, threshold, f"the coordinate '{out}'")
        column = tuple([compare(offset, site) for site, offset in enumerate(offsets)])
        return facts.combine([(clips[0].weight, self._capped(clips[0], column))], bias)

    def _signed(self, clips: list[Unit], bias: Rational, reads: dict[str, HeadMeaning]) -> Column:
        """Return the column of a sum of clips by the sign of a sum of counts: a head tests the sign where several
        positions are visible, and clips of the sum where only one is. The clips may read other Booleans, too."""
        facts, out = self.facts, clips[0].out
        odd = NotProved(f"the coordinate '{out}' is not one test of a sign, or a conjunction with one")
        ((name, read), *others) = reads.items() or [("", None)]
        if not isinstance(read, Sign) or others or any(item.cap is not None for item in clips):
            raise odd
        variable, sizes = facts.fact("read", name), facts.sites.sizes(MASKS[read.side])

        def above(step: Fraction, constant: Fraction) -> int:
            if (edge := -constant / step).denominator == 1:
                raise NotProved(f"the number that '{out}' tests can be 0")
            return ceil(edge)

        compare = facts.comparison(read.means, above, out)
        positive = tuple(
            [compare(rest * size, site) for site, (rest, size) in enumerate(zip(read.rest, sizes, strict=True))]
        )
        alone = facts.sites.alone(MASKS[read.side])
        # Where one position is visible, the head reads that position's value, which says nothing of the sum.
        test = tuple([variable if single else number for single, number in zip(alone, positive, strict=True)])
        parts: list[tuple[Rational, Column]] = []
        for item in clips:
            means, rest = self._means(item.pre) if name not in dict(item.pre.terms) else ({}, ())
            if any(facts.sites.sizes(MASKS[side]) != sizes for side, _ in (*means, *read.means)):
                raise NotProved(f"the coordinate '{out}' mixes counts of several kinds")
            if some := {of: value for of, value in means.items() if value}:
                column = self._single((name, read), some, rest, positive)
            elif means:  # counts that cancel
                column = facts.clipped(rest)
            else:
                column = self._total([replace(item, outs=((out, 1),))], 0, {name: test})
            parts.append((item.weight, column))
        found = facts.combine(parts, bias)
        if any(
            single and facts.diagrams.depends(number, variable) for single, number in zip(alone, found, strict=True)
        ):
            raise NotProved(f"the coordinate '{out}' reads the sign of a count that sees one position")
        return found

    def _single(
        self, test: tuple[str, Sign], means: Mapping[Count, Rational], rest: Column, positive: Column
    ) -> Column:
        """Return the column of a clip of means and exact numbers. Where several positions are visible, it must be 0
        whatever the means are. Where one is, means are counts: the clip must be the truth of the inequality `positive`
        that the head tests, or its negation, or 0 whatever the counts are."""
        facts, diagrams, (name, read) = self.facts, self.facts.diagrams, test
        own = {of: Fraction(value) for of, value in read.means.items() if value}
        factor = next((value / own[of] for of, value in means.items() if of in own), Fraction(0))
        alike = factor and {of: factor * value for of, value in own.items()} == means
        largest, result = sum(max(value, 0) for value in means.values()), list[int]()

        def open_clip(value: Any, site: int) -> int | None:
            """Return the truth that the clip is if no other Boolean closes it."""
            lines = [facts.sites.line(number, site) for number in (value, read.rest[site])]
            if not alike or any(line.of_i or line.of_n for line in lines):
                return None
            added, start = (line.constant for line in lines)
            step = common(own.values())
            # The least number above 0 and the greatest below 0 that can be tested, and what the clip reads then.
            least = start + step * ceil(-start / step)
            ends = [added + factor * (number - start) for number in (least - step, least)]
            if ends[0] <= 0 and ends[1] >= 1:
                return positive[site]
            return diagrams.negated(positive[site]) if ends[0] >= 1 and ends[1] <= 0 else None

        for site, alone in enumerate(facts.sites.alone(MASKS[read.side])):
            cases = []
            for value in diagrams.values(rest[site]):
                fact = open_clip(value, site) if alone else None
                if fact is None and not facts.sites.at_most_zero(value + largest, site):
                    raise NotProved(f"a clip of means beside head {name} is not the inequality that the head tests")
                here = diagrams.map(("equals", value), partial(_equals, value), rest[site])
                cases += [diagrams.all_of((here, fact))] if fact is not None else []
            result.append(diagrams.linear([(1, case) for case in cases]))
        return tuple(result)


def _equals(value: Rational, number: Rational) -> int:
    return int(number == value)
