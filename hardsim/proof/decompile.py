"""What a hard-attention program means: every coordinate as a column of facts, read from its forms alone.

The other side of the comparison in `meaning`. A coordinate whose meaning is not recognised stays without one; only
what reads it is then not proved.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

from hardsim.proof.counts import common, looked_up
from hardsim.proof.diagrams import clip
from hardsim.proof.found import Compared, Found, Nearest, Number, Sign, Table, back_to_last, threshold
from hardsim.proof.meaning import Column, Count, Facts
from hardsim.proof.result import NotProved
from hardsim.proof.state import hold_names
from hardsim.spec.ir import ONE, Affine, Clip, HardProgram, Head, Kind, Mask, ProgramLayer, Rational, Weighting

NEAREST = {
    (Weighting.RIGHTMOST, Mask.FUTURE): "S",
    (Weighting.LEFTMOST, Mask.PAST): "U",
    (Weighting.RIGHTMOST, Mask.NONE): "E",
}
SIDES = {Mask.FUTURE: "L", Mask.PAST: "R", Mask.NONE: ""}
SOME = {"L": "S", "R": "U", "": "E"}
"""The fact that some visible position satisfies something: the nearest such position does."""


class ProgramMeaning:
    """The columns of a program's coordinates. `why` says of those without one what was not recognised."""

    def __init__(self, facts: Facts, program: HardProgram) -> None:
        self.facts, self.program = facts, program
        self.columns: dict[str, Column] = {ONE: facts.everywhere(facts.diagrams.one)}
        self.means: dict[str, Count] = {}
        self.reads: dict[str, Found] = {}
        self.why: dict[str, str] = {}
        hold_names(program)
        if any(head.mask.strict for head in program.heads):
            raise NotProved("the specification has a head that does not see its own position")
        for letter in program.letters:
            values = tuple(int(symbol in letter.symbols) for symbol in facts.alphabet)
            self.columns[letter.name] = facts.everywhere(facts.symbols(values))
        for encoding in program.encodings:
            self.columns[encoding.name] = facts.encoded(facts.sites.evaluate(encoding.value))
        for layer in program.layers:
            self._layer(layer)

    def of(self, name: str) -> Column:
        """The column of a coordinate; NotProved if its meaning is not known."""
        if name not in self.columns:
            raise NotProved(self.why.get(name, f"nothing rounds what is read of '{name}'"))
        return self.columns[name]

    def form(self, form: Affine) -> Column:
        """The column of a linear form."""
        constant = dict(form.terms).get(ONE, 0)
        return self.facts.combine([(c, self.of(name)) for name, c in form.terms if name != ONE], constant)

    def _layer(self, layer: ProgramLayer) -> None:
        found: dict[str, Found | tuple[Column | None, Count | None]] = {}
        for head in layer.heads:
            try:
                found[head.out] = self._uniform(head) if head.uniform else self._head(head)
            except NotProved as failure:
                self.why[head.out] = failure.reason
        for out, read in found.items():
            if isinstance(read, tuple):
                column, count = read
                self.columns.update({out: column} if column is not None else {})
                self.means.update({out: count} if count is not None else {})
            else:
                self.reads[out] = read
        outs = dict.fromkeys([*layer.ones, *(item.out for item in layer.clips)])
        written: dict[str, Column] = {}
        for out in outs:
            clips = [item for item in layer.clips if item.out == out]
            try:
                written[out] = self._clips(clips, int(out in layer.ones))
            except NotProved as failure:
                self.why[out] = failure.reason
        self.columns.update(written)

    # ---- heads ----

    def _numbers(self, column: Column, what: str) -> list[Any]:
        if not self.facts.constant(column):
            raise NotProved(f"{what} depends on the word")
        return [self.facts.diagrams.value(number) for number in column]

    def _boolean(self, column: Column, what: str) -> Column:
        values = {value for number in set(column) for value in self.facts.diagrams.values(number)}
        if not values <= {0, 1}:
            raise NotProved(f"{what} is not a Boolean")
        return column

    def _uniform(self, head: Head) -> tuple[Column | None, Count | None]:
        """A mean: its values where it is the same for every word, and what it counts where that is a Boolean."""
        value = self.form(head.value)
        column = None
        if self.facts.constant(value):
            means = self.facts.sites.means(self._numbers(value, head.name), head.mask)
            column = tuple(self.facts.diagrams.terminal(mean) for mean in means)
        values = {item for number in set(value) for item in self.facts.diagrams.values(number)}
        if values <= {0, 1}:
            return column, (SIDES[head.mask], value)
        if column is None:
            raise NotProved(f"head {head.name} averages other values than 0 and 1")
        return column, None

    def _head(self, head: Head) -> Found:
        what = f"what head {head.name} reads"
        if head.kind is Kind.NEAREST:
            op = NEAREST.get((head.weighting, head.mask))
            if op is None or head.select is None:
                raise NotProved(f"head {head.name} does not look for the nearest position on a side")
            where = self._boolean(self.form(head.select), f"what head {head.name} looks for")
            return Nearest(op, where, self._boolean(self.form(head.value), what))
        values = self._numbers(self.form(head.value), what)
        if head.kind is Kind.LOOKUP:
            if values != self.facts.sites.i:
                raise NotProved(f"head {head.name} does not read the number of the position")
            return Number(self._looked_up(head))
        if head.kind is Kind.TABLE:
            if not set(values) <= {0, 1}:
                raise NotProved(f"{what} is not a Boolean")
            columns = [tuple(int(value) for value in values[start:end]) for _, start, end in self.facts.sites.words()]
            return Table(self._looked_up(head), columns)
        return self._sign(head, values)

    def _looked_up(self, head: Head) -> Count:
        """What is counted by the mean that the score multiplies with a multiple of j."""
        name = looked_up(self.program, head, self.facts.sites,
                         lambda key: self._numbers(self.form(key), f"a key of head {head.name}"))  # fmt: skip
        if name not in self.means:
            raise NotProved(f"head {head.name} looks up '{name}', which is not known to be a count")
        return self.means[name]

    def _sign(self, head: Head, values: list[Rational]) -> Sign:
        if len(head.score) != 1:
            raise NotProved(f"head {head.name} does not test a sign")
        query, key = head.score[0]
        keys = self._numbers(self.form(key), f"the key of head {head.name}")
        self._alternating(head, keys, values)
        means, rest = self._means(query)
        return Sign(SIDES[head.mask], means, self._numbers(rest, f"the query of head {head.name}"))

    def _alternating(self, head: Head, keys: list[Rational], values: list[Rational]) -> None:
        """Hold that a head reads which keys are positive, and that neighbours differ in that."""
        if any(not k or value not in (0, 1) or (k > 0) != (value == 1) for k, value in zip(keys, values, strict=True)):
            raise NotProved(f"head {head.name} does not read which keys are positive")
        for site, i in enumerate(self.facts.sites.i):
            # Neighbouring positions differ: who sees two or more sees both values.
            if i > 1 and values[site] == values[site - 1]:
                raise NotProved(f"head {head.name} does not read alternating values")

    def _means(self, form: Affine) -> tuple[dict[Count, Rational], Column]:
        """A form as multiples of means that depend on the word, and the rest."""
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

    def _clips(self, clips: list[Clip], bias: int) -> Column:
        """The column of a coordinate that clips write."""
        if bias == 1 and clips and all(item.weight == -1 for item in clips):
            inner = self._clips([replace(item, weight=1) for item in clips], 0)
            return self.facts.combine([(-1, inner)], 1)
        reads = {name: self.reads[name] for item in clips for name, _ in item.pre.terms if name in self.reads}
        if any(name in self.means and name not in self.columns for item in clips for name, _ in item.pre.terms):
            return self._signed(clips, bias, reads)
        if any(isinstance(read, Number) for read in reads.values()):
            return self._compared(clips, bias, reads)
        if any(isinstance(read, Sign) for read in reads.values()):
            return self._signed(clips, bias, reads)
        variables = {name: self.facts.everywhere(self.facts.fact("read", name)) for name in reads}
        parts: list[tuple[Rational, Column]] = []
        for item in clips:
            constant = dict(item.pre.terms).get(ONE, 0)
            terms = [(c, variables[name] if name in variables else self.of(name))
                     for name, c in item.pre.terms if name != ONE]  # fmt: skip
            parts.append((item.weight, self._clipped(self.facts.combine(terms, constant))))
        total = self.facts.combine(parts, bias)
        if not reads:
            return total
        tables = [(name, read) for name, read in reads.items() if isinstance(read, Table)]
        if tables:
            return self._tabled(total, tables[0][0], tables[0][1], clips[0].out)
        return self._read(total, {name: read for name, read in reads.items() if isinstance(read, Nearest)},
                          clips[0].out)  # fmt: skip

    def _clipped(self, column: Column) -> Column:
        known = {number: self.facts.diagrams.map("clip", clip, number) for number in set(column)}
        return tuple([known[number] for number in column])

    def _read(self, total: Column, reads: dict[str, Nearest], out: str) -> Column:
        """A coordinate that is what one head read, at every site."""
        facts = self.facts
        own = {facts.fact("read", name): name for name in reads}
        if len(set(total)) == 1 and total[0] in own:
            read = reads[own[total[0]]]
            return facts.everywhere(facts.fact(read.op, read.where, read.what))
        known = {name: self.known_distances(read) for name, read in reads.items()}
        steps = {name: [facts.fact(op, read.what) for op in ("Y", "X")] for name, read in reads.items()}
        result = []
        for site, number in enumerate(total):
            if facts.diagrams.constant(number):
                result.append(number)
                continue
            if number not in own:
                raise NotProved(f"the coordinate '{out}' is not what one head reads")
            name = own[number]
            distance = known[name][site]
            if abs(distance) > 1:
                raise NotProved(f"the coordinate '{out}' reads neither this position nor a neighbour")
            result.append(reads[name].what[site] if not distance else steps[name][distance > 0])
        return tuple(result)

    def known_distances(self, read: Nearest) -> list[int]:
        """How far from every site a head reads, where what it looks for is the same for every word."""
        selected = self._numbers(read.where, "what a head looks for")
        distances: list[int] = []
        for n, start, end in self.facts.sites.words():
            part = selected[start:end]
            if read.op == "U":
                # The mirror image: the last selected position so far, from the end on.
                distances += [-distance for distance in back_to_last(part[::-1])[::-1]]
            elif read.op == "S":
                distances += back_to_last(part)
            else:
                last = n + back_to_last(part)[-1]
                distances += [last - i for i in range(1, n + 1)]
        return distances

    def _tabled(self, total: Column, name: str, table: Table, out: str) -> Column:
        """A predicate of a count: what was read if the count is positive, else a value that depends on the site."""
        facts = self.facts
        side, what = table.count
        some, variable = facts.fact(SOME[side], what, what), facts.fact("read", name)
        read = facts.diagrams.apply("and", lambda a, b: int(a and b), some, variable)
        choices = {read: 0, facts.diagrams.linear([(1, read), (-1, some)], 1): 1}
        if any(number not in choices for number in total):
            raise NotProved(f"the coordinate '{out}' is not a predicate of a count")
        return facts.table(table.count, [choices[number] for number in total], table.columns)

    def _compared(self, clips: list[Clip], bias: int, reads: dict[str, Found]) -> Column:
        """A comparison of looked-up counts: each is what was read, plus whether there is any, minus 1."""
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
            elif isinstance(read, Number):
                side, what = read.count
                counts[read.count] = counts.get(read.count, 0) + coefficient
                rest.append((-coefficient, facts.everywhere(facts.fact(SOME[side], what, what))))
                constant += coefficient
            else:
                rest.append((coefficient, self.of(name)))
        offsets = self._numbers(facts.combine(rest, constant), f"what '{out}' adds to counts")
        return self._weighted(self._thresholds(counts, offsets, out), clips[0].weight, bias)

    def _thresholds(self, counts: dict[Count, Rational], offsets: list[Rational], out: str) -> Column:
        """`clip(sum of coefficient * count + offset)`, which must be 0 or 1 for all integers."""
        terms, step, totals = self.facts.lowest(counts, offsets)
        thresholds = []
        for total in totals:
            if not terms:
                if clip(total) not in (0, 1):
                    raise NotProved(f"the coordinate '{out}' is neither 0 nor 1 somewhere")
                continue
            least = threshold(step, total)
            if least is None:
                raise NotProved(f"the coordinate '{out}' is neither 0 nor 1 for some counts")
            thresholds.append(least)
        if not terms:
            return tuple(self.facts.diagrams.terminal(clip(total)) for total in totals)
        return self.facts.compared(terms, thresholds)

    def _weighted(self, column: Column, weight: int, bias: int) -> Column:
        return self.facts.combine([(weight, column)], bias)

    def _signed(self, clips: list[Clip], bias: int, reads: dict[str, Found]) -> Column:
        """A comparison by the sign of a sum: a head where several positions are visible, the sum itself where one
        is."""
        out = clips[0].out
        found = [(name, read) for name, read in reads.items() if isinstance(read, Sign)]
        if len(found) != 1 or len(reads) != 1 or len(clips) != 2 or clips[0].weight != clips[1].weight:
            raise NotProved(f"the coordinate '{out}' is not one test of a sign")
        name, read = found[0]
        tests, sums = ([item for item in clips if (name in dict(item.pre.terms)) is own] for own in (True, False))
        if len(tests) != 1 or len(sums) != 1:
            raise NotProved(f"the coordinate '{out}' is not one test of a sign")
        variable = self.facts.fact("read", name)
        pre = Affine.of((key, value) for key, value in tests[0].pre.terms if key != name)
        factor = dict(tests[0].pre.terms)[name]
        test = self._clipped(self.facts.combine([(factor, self.facts.everywhere(variable)), (1, self.form(pre))], 0))
        means, rest = self._means(sums[0].pre)
        offsets = self._numbers(rest, f"what '{out}' adds to means")
        largest = sum(max(value, 0) for value in means.values())
        sides = {side for side, _ in (*means, *read.means)}
        positive, single = self._positive(read.means, out), self._single(means, out)
        result = []
        for site in range(len(self.facts.sites)):
            size = self.facts.extent(read.side, site)
            if any(self.facts.extent(side, site) != size for side in sides):
                raise NotProved(f"the coordinate '{out}' mixes counts of several kinds")
            if self.facts.several(read.side, site):
                if test[site] != variable or not self.facts.at_most_zero(offsets[site] + largest, site):
                    raise NotProved(f"the coordinate '{out}' is not one test of a sign")
                result.append(positive(read.rest[site] * size, site))
            else:
                if test[site] != self.facts.diagrams.zero:
                    raise NotProved(f"the coordinate '{out}' reads a sign where one position is visible")
                result.append(single(offsets[site], site))
        return self._weighted(tuple(result), clips[0].weight, bias)

    def _positive(self, counts: dict[Count, Rational], out: str) -> Compared:
        """`sum of coefficient * count + offset > 0` for an offset at a site, never 0."""
        terms, step = self._lowest(counts)

        def compare(offset: Rational, site: int) -> int:
            if not step:
                return self.facts.diagrams.terminal(int(offset > 0))
            edge = -Fraction(offset) / step
            if edge.denominator == 1:
                raise NotProved(f"the number that '{out}' tests can be 0")
            return self.facts.fact("at least", terms, floor(edge) + 1)

        return compare

    def _single(self, counts: dict[Count, Rational], out: str) -> Compared:
        """`clip(sum of coefficient * count + offset)` for an offset at a site."""
        terms, step = self._lowest(counts)

        def compare(offset: Rational, site: int) -> int:
            if not step and clip(offset) in (0, 1):
                return self.facts.diagrams.terminal(clip(offset))
            least = threshold(step, offset) if step else None
            if least is None:
                raise NotProved(f"the coordinate '{out}' is neither 0 nor 1 for some counts")
            return self.facts.fact("at least", terms, least)

        return compare

    def _lowest(self, counts: dict[Count, Rational]) -> tuple[int, Fraction]:
        """A combination of counts in lowest terms, as the number of these, and what they are multiplied by (0: there
        are none)."""
        step = common([Fraction(value) for value in counts.values()])
        return self.facts.number(
            tuple(sorted((int(value / step), count) for count, value in counts.items() if value))
        ), step
