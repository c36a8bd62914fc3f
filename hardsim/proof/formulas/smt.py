"""SMT-LIB 2 queries for the numerical steps of a formula's proof for every length: one query a step; `unsat`
confirms it.

A solver is a second opinion. Each query denies one inequality that the argument of `general` uses. The inequality
is stated from the network's own numbers: temperature and encodings as written, the entries of W_Q, W_K, W_1 and
b_1, for all local types at once. Positions are real numbers in their order (integers where that matters). Of the
prover's results a query has only the claimed numbers: the rate g, the error, and the closed forms of coordinates
that attention computed. A closed form has queries of its own: a sum has the right value at one end, and grows from
position to position by the value that is read there.

Steps that are no inequalities have no queries: the two series (see `general`), that e^g is more than the first
terms of its series, and the truth tables of exact coordinates. So logits are derived for each local type, but the
list of local types is taken from the prover.

Names: `i` is the query, `w` the position that should be read (the winner), `j` another one, `n` the length; `si` is
(-1)^i, and so on; `cK` is coordinate K of the network where it does not depend on the word, and `tK_j` its value at
position j where it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

from hardsim.lang.arith import (
    Arith,
)
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational
from hardsim.network.transformer import AttentionHead, HiddenUnit, Terms, Transformer
from hardsim.program.hard_attention import Head, Kind, Program
from hardsim.proof.formulas.every_length import (
    ALTERNATING,
    EVERY_LENGTH,
    LEMMA_6,
    NUMBER,
    SHARP,
    TABLE,
    TWICE,
    GeneralFacts,
    last_of_ramp,
    least_distance,
)
from hardsim.proof.formulas.facts import Column
from hardsim.proof.formulas.head_argument import SIDES, multiple, reading_of, separate, sharpness
from hardsim.proof.formulas.network import by_coordinate, walk
from hardsim.proof.formulas.sites import Classes
from hardsim.proof.formulas.state import BooleanHead, Counted, CountHead, HeadTask, State
from hardsim.proof.shared.ratios import Ratio, common, line
from hardsim.proof.shared.result import HeadArgument, NotProved
from hardsim.proof.shared.smt import Query, both, either, expression, number, ratio, small, text_of, times, total
from hardsim.visible import visible

MOST_ROWS = 4096
"""Largest number of assignments that are listed. Beyond it, values at a position are declared independent, which
makes the query weaker to prove."""
SIZES = {Mask.FUTURE: "i", Mask.PAST: "(+ (- n i) 1.0)", Mask.NONE: "n"}
"""Number of visible positions, as a term, by mask."""
TWO = {Mask.FUTURE: "(<= 2.0 i)", Mask.PAST: "(<= (+ i 1.0) n)", Mask.NONE: "(<= 2.0 n)"}
"""Condition, as a formula, that more than one position is visible, by mask."""
PLACES = ("i", "n", "si", "sn")


def by_class(values: Sequence[Any]) -> str:
    """Return a term for a function of i, n and their parities that is given by class."""
    classes = Classes().classes
    found = {(one.first, one.last, one.even_i, one.even_n): ratio(value)
             for one, value in zip(classes, values, strict=True)}  # fmt: skip

    def split(test: str, yes: str, no: str) -> str:
        return yes if yes == no else f"(ite {test} {yes} {no})"

    def parity(first: bool, last: bool, even: bool | None) -> str:
        yes, no = (found[first, last, one if even is None else even, one] for one in (True, False))
        return split("(= sn 1.0)", yes, no)

    alone = found[True, True, False, False]
    begin = split("(= i n)", alone, parity(True, False, False))
    inner = split("(= si 1.0)", parity(False, False, True), parity(False, False, False))
    return split("(= i 1.0)", begin, split("(= i n)", parity(False, True, None), inner))


# ---- the network ----


@dataclass
class Writer:
    """Writer of the queries of a network whose first link is proved. `state` has the facts about its coordinates."""

    state: State
    defined: dict[str, str] = field(default_factory=dict)
    """Definitions by name, in the order in which they are needed."""

    def define(self, name: str, body: str) -> str:
        """Define a function of i, n and their parities, unless it is defined already; return its name."""
        arguments = " ".join(f"({place} Real)" for place in PLACES)
        self.defined.setdefault(name, f"(define-fun {name} ({arguments}) Real {body})")
        return name

    def at(self, name: str, place: str) -> str:
        """Return the value of a defined function at a position."""
        return f"({name} {place} n s{place} sn)"

    def fixed(self, coordinate: int) -> str | None:
        """Return the name of the function that a coordinate is: as its encoding is written, or by class. Return
        None if the coordinate depends on the word."""
        state, model = self.state, self.state.model
        column = state.exact[coordinate].soft
        if not state.facts.constant(column):
            return None
        name = f"c{coordinate}"
        if name not in self.defined:
            written = [value for k, value in model.encodings if k == coordinate]
            plain = written and all(isinstance(value, Arith) for value in written)
            same = {0} if not isinstance(model.alphabet, Valuations) else set[Rational]()
            embedded = same | {row.get(coordinate, 0) for row in model.embedding.rows()}
            # The symbol adds nothing here, so the encoding can be stated as it is written.
            if plain and embedded == {0}:
                body = total(expression(value) for value in written if isinstance(value, Arith))
            else:
                body = by_class(state.facts.numbers(column))
            self.define(name, body)
        return name

    def value(self, coordinate: int, place: str) -> str:
        """Return the term of a coordinate at a position."""
        name = self.fixed(coordinate)
        return f"t{coordinate}_{place}" if name is None else self.at(name, place)

    def form(self, terms: Terms, place: str) -> str:
        """Return the term of a linear form of coordinates at a position."""
        return total(times(c, self.value(k, place)) for k, c in terms)

    def temperature(self) -> str:
        """Return the term of the temperature at the query."""
        temperature = self.state.model.temperature
        if not isinstance(temperature, Arith):
            raise NotProved(f"the temperature {temperature} is not known for all lengths")
        return self.at(self.define("tau", expression(temperature)), "i")

    def logit(self, plan: AttentionHead, place: str, means: dict[int, str] | None = None) -> str:
        """Return the term of the logit of a position, in nats. `means` gives terms for coordinates of the query
        that are counts."""
        known = means or {}
        rows = []
        for query, key in plan.scores:
            counts, rest = separate(query, known)
            parts = [times(c, known[k]) for k, c in counts.items()] + ([self.form(rest, "i")] if rest else [])
            rows.append(f"(* {total(parts)} {self.form(key, place)})")
        return f"(/ {total(rows)} {self.temperature()})"

    def rows(self, columns: dict[str, Column]) -> Iterator[str]:
        """Yield declarations of names that depend on the word, and an assertion of the values that they can have
        together."""
        state, names = self.state, list(columns)
        diagrams, found = state.diagrams, dict[tuple[Any, ...], None]()
        sites = dict.fromkeys(zip(*columns.values(), strict=True))
        for name in names:
            yield f"(declare-const {name} Real)"
        # Joint values exclude impossible combinations; a long list of them would only slow the solver down.
        few = all(len(diagrams.values(number)) ** len(names) <= MOST_ROWS for site in sites for number in site)
        if few:
            for site in sites:
                found |= dict.fromkeys(diagrams.values(diagrams.join(site)))
            listed = [both(f"(= {name} {number(value)})" for name, value in zip(names, row, strict=True))
                      for row in found]  # fmt: skip
            if names:
                yield f"(assert {either(listed)})"
            return
        for name, column in columns.items():
            values = dict.fromkeys(value for one in dict.fromkeys(column) for value in diagrams.values(one))
            yield f"(assert {either(f'(= {name} {number(value)})' for value in values)})"

    def varying(self, coordinates: Iterable[int]) -> dict[str, Column]:
        """Return the coordinates that depend on the word, by a name without the position."""
        return {f"t{k}": self.state.exact[k].soft for k in sorted(set(coordinates)) if self.fixed(k) is None}

    def steps(self) -> Iterator[Query]:
        """Yield all queries of the network."""
        state = self.state
        tau = self.temperature()
        yield Query("temperature", "temperature", "it is positive", (*places("i"), f"(assert (<= {tau} 0.0))"))
        for own, layer in zip(state.model.layers, state.program.layers, strict=True):
            for plan, head in zip(own.heads, layer.heads, strict=True):
                yield from self.head(plan, head)
            units, items = by_coordinate(state, own.ffn, layer)
            for out, written in units.items():
                for (_, unit), item in zip(written, items[out], strict=True):
                    yield from self.clip(state.model.coordinates[out], unit, state.terms(item.pre))

    # ---- heads ----

    def head(self, plan: AttentionHead, head: Head) -> Iterator[Query]:
        """Yield the queries of one head; none for a uniform head whose mean depends on the word."""
        state, found = self.state, self.state.heads[head.name]
        soft, hard = state.soft(plan.values[0][1], 0, head.name), state.hard(state.terms(head.value), head.name)
        if found is None:
            if state.facts.constant(soft):
                yield from self.mean(plan, state.facts.numbers(soft))
            return
        task, argument = HeadTask(state, plan, head, soft, hard), found.argument
        assert argument is not None
        if head.kind is Kind.NEAREST:
            yield from self.nearest(task, argument)
        elif head.kind in (Kind.LOOKUP, Kind.TABLE):
            yield from self.look_up(task, argument)
        else:
            yield from self.sign(task, argument)
        if argument.g is not None:
            yield from bounds(head.name, argument, found.slope if isinstance(found, CountHead) else 1)

    def mean(self, plan: AttentionHead, values: list[Any]) -> Iterator[Query]:
        """Yield queries that a mean which does not depend on the word is a sum that grows from position to
        position, over the number of positions."""
        out, mask = plan.values[0][0], plan.mask
        read, average = self.define(f"v{out}", by_class(values)), self.fixed(out)
        assert average is not None
        way = -1 if mask is Mask.PAST else 1
        side = Mask.PAST if mask is Mask.PAST else Mask.FUTURE
        sums = self.define(f"s{out}", by_class(self.state.sites.totals(values, side)))
        begin, beyond = ("(= i n)", "(<= (+ i 1.0) n)") if way < 0 else ("(= i 1.0)", "(<= 2.0 i)")
        before = f"({sums} (- i {number(way)}) n (- si) sn)"
        yield Query(plan.name, "sum", "its sum begins with the value read", (
            *places("i"), f"(assert {begin})",
            f"(assert (not (= {self.at(sums, 'i')} {self.at(read, 'i')})))"))  # fmt: skip
        yield Query(plan.name, "sum", "its sum grows by the value read", (
            *places("i"), f"(assert {beyond})",
            f"(assert (not (= {self.at(sums, 'i')} (+ {before} {self.at(read, 'i')}))))"))  # fmt: skip
        whole = self.at(sums, "n" if mask is Mask.NONE else "i")
        yield Query(plan.name, "sum", "its mean is the sum over the number of positions", (
            *places("i"), f"(assert (not (= (* {SIZES[mask]} {self.at(average, 'i')}) {whole})))"))  # fmt: skip

    def nearest(self, task: HeadTask, argument: HeadArgument) -> Iterator[Query]:
        """Yield queries that the logits of positions that lose the tie, and of those beyond the winner, fall behind
        the winner's."""
        state, head, plan = self.state, task.head, task.plan
        assert head.select is not None
        select = state.hard(state.terms(head.select), head.name)
        reading_of(task)  # raises NotProved if the query depends on the word
        columns = self.varying(k for _, key in plan.scores for k, _ in key)
        others, known = {"sel": select, "val": task.hard}, dict[str, str]()
        for name, column in others.items():
            if state.facts.constant(column):
                known[name] = self.define(f"{name}{len(self.defined)}", by_class(state.facts.numbers(column)))
        columns |= {name: column for name, column in others.items() if name not in known}

        def name_at(name: str, place: str) -> str:
            return self.at(known[name], place) if name in known else f"{name}_{place}"

        local = [line for place in ("w", "j") for line in
                 self.rows({f"{name}_{place}": column for name, column in columns.items()})]  # fmt: skip
        # Positions with the right value do no harm, so only wrong values are considered.
        local.append(f"(assert (not (= {name_at('val', 'w')} {name_at('val', 'j')})))")
        seen = {Mask.FUTURE: ("w", "i"), Mask.PAST: ("i", "w"), Mask.NONE: ("1.0", "w")}[head.mask]
        masked = [f"(assert (<= {' '.join(seen).replace('w', place)}))" for place in ("w", "j")]
        common = (*places("i", "w", "j"), *masked, *local)
        if argument.g is None:
            yield Query(head.name, "value", "it reads the same value everywhere", common)
            return
        right = SIDES[head.weighting, head.mask]
        behind, beyond = ("(<= (+ j 1.0) w)", "(<= (+ w 1.0) j)")[:: 1 if right else -1]
        near = "(- w j)" if right else "(- j w)"
        far = "(- j 1.0)" if right else "(- n j)"
        back = far if argument.bound == SHARP else "(- j w)" if right else "(- w j)"
        loss = f"(- {self.logit(plan, 'w')} {self.logit(plan, 'j')})"
        g, selected = number(argument.g), f"(= {name_at('sel', 'w')} 1.0)"
        free = f"(= {name_at('sel', 'j')} 0.0)"
        claim = f"positions {{}} the winner lose at least {argument.g} nats times {{}}"
        yield Query(head.name, "nearest", claim.format("before", near), (
            *common, f"(assert {behind})", f"(assert (or {selected} {free}))",
            f"(assert (< {loss} (* {g} {near})))"))  # fmt: skip
        yield Query(head.name, "nearest", claim.format("beyond", back), (
            *common, f"(assert {beyond})", f"(assert (and {selected} {free}))",
            f"(assert (< {loss} (* {g} {back})))"))  # fmt: skip

    def look_up(self, task: HeadTask, argument: HeadArgument) -> Iterator[Query]:
        """Yield queries that the position whose number is the count wins by g nats times the square of the
        distance."""
        counted = sharpness(task)[0]
        size = SIZES[self.state.means[counted].mask]
        seen, g = SIZES[task.head.mask], number(argument.g or 0)
        name = task.head.name

        def logit(count: str, place: str) -> str:
            return self.logit(task.plan, place, {counted: f"(/ {count} {size})"})

        start = (*places("i", "j", "c"), f"(assert (<= j {seen}))")
        claim = f"l(c) - l(j) is at least {argument.g} (j - c)^2"
        yield Query(name, "look-up", f"{claim} for a count c > 0", (
            *start, f"(assert (<= c {size}))",
            f"(assert (< (- {logit('c', 'c')} {logit('c', 'j')}) (* {g} (- j c) (- j c))))"))  # fmt: skip
        yield Query(name, "look-up", f"l(1) - l(j) is at least {argument.g} (j^2 - 1) for the count 0", (
            *start, "(assert (= c 1.0))",
            f"(assert (< (- {logit('0.0', 'c')} {logit('0.0', 'j')}) (* {g} (- (* j j) 1.0))))"))  # fmt: skip

    def sign(self, task: HeadTask, argument: HeadArgument) -> Iterator[Query]:
        """Yield queries that the tested number is an integer plus a linear form and is not 0, and that positions of
        the wrong parity fall behind."""
        state, name, mask = self.state, task.head.name, task.head.mask
        assert argument.g is not None
        factor, expected, offsets = multiple(task)
        sizes = [value for k in expected for value in state.means[k].sizes] or state.sites.sizes(mask)
        constant = (Ratio.of(offsets[-1]) * Ratio.of(sizes[0])).simplest
        found = line(constant)
        distance = least_distance(constant, expected.values(), name) * factor
        assert found is not None
        query, size = task.plan.scores[0][0], SIZES[next((state.means[k].mask for k in expected), mask)]
        counts, rest = separate(query, expected)
        straight = total([number(factor * found.constant), times(factor * found.of_i, "i"),
                          times(factor * found.of_n, "n")])  # fmt: skip
        yield Query(name, "number", "the term added to the counts is linear in i and n", (
            *places("i"), f"(assert (not (= (* {size} {self.form(rest, 'i')}) {straight})))"))  # fmt: skip
        # One integer stands for all counts and positions: their multiples have a common divisor.
        whole, declared, none = integers([*counts.values(), factor * found.of_i, factor * found.of_n], "z")
        number_of = total([number(factor * found.constant), whole])
        near = f"(< {number(-distance)} {number_of} {number(distance)})"
        yield Query(name, "number", f"the number is at least {distance} away from 0", (
            *declared, f"(assert {either([*none, near])})"))  # fmt: skip
        yield from self.parities(task, argument, (size, distance, {k: f"m{k}" for k in counts}))

    def parities(
        self, task: HeadTask, argument: HeadArgument, of: tuple[str, Fraction, dict[int, str]]
    ) -> Iterator[Query]:
        """Yield queries about the logits of a sign test. `of` has the size over which the number is divided, its
        distance from 0, and names of the means."""
        size, distance, means = of
        name, mask, g = task.head.name, task.head.mask, number(argument.g or 0)
        query = task.plan.scores[0][0]
        counts, rest = separate(query, means)
        queries = total([*(times(c, means[k]) for k, c in counts.items()), *([self.form(rest, "i")] if rest else [])])
        common = [*places("i", "w", "j"), *(f"(declare-const {mean} Real)" for mean in means.values())]
        seen = {Mask.FUTURE: "(<= {} i)", Mask.PAST: "(<= i {})", Mask.NONE: "true"}[mask]
        common += [f"(assert {seen.format(place)})" for place in ("w", "j")] + [f"(assert {TWO[mask]})"]
        sides = (("1.0", "(>= (* {} {}) {})", distance), ("(- 1.0)", "(<= (* {} {}) {})", -distance))
        right, wrong = self.logit(task.plan, "w", means), self.logit(task.plan, "j", means)
        for sign, test, bound in sides:
            own = f"(= sw {sign})"
            which = "positive" if bound > 0 else "negative"
            ask = (*common, f"(assert {test.format(queries, size, number(bound))})")
            if argument.ramp:
                yield Query(name, "sign", f"{which}: its parity's last two have at least {argument.g} (i - 1)^2/i", (
                    *ask, f"(assert (and {own} (<= (- i 1.0) w)))",
                    f"(assert (< {right} (/ (* {g} (- i 1.0) (- i 1.0)) i)))"))  # fmt: skip
                yield Query(name, "sign", f"{which}: positions of the other parity have at most -{argument.g}/i", (
                    *ask, f"(assert (= sj (- {sign})))", f"(assert (> {wrong} (- (/ {g} i))))"))  # fmt: skip
            else:
                yield Query(name, "sign", f"{which}: the wrong parity loses at least {argument.g} nats", (
                    *ask, f"(assert (and {own} (= sj (- {sign}))))",
                    f"(assert (< (- {right} {wrong}) {g}))"))  # fmt: skip

    # ---- clips ----

    def clip(self, out: str, unit: HiddenUnit, form: Terms) -> Iterator[Query]:
        """Yield the query of a clip that reads attended values; none for a clip of exact coordinates alone."""
        state = self.state
        heads = list(dict.fromkeys(k for terms in (unit.form, form) for k, _ in terms if k not in state.exact))
        if heads:
            boolean = all(isinstance(state.attended.get(k), BooleanHead) for k in heads)
            yield self.rounding(unit, form, out, heads) if boolean else self.comparison(unit, out, heads)

    def rounding(self, unit: HiddenUnit, form: Terms, out: str, heads: list[int]) -> Query:
        """Return the query of a clip that reads attended Booleans, each off by as much as its bound allows."""
        state, lines, terms = self.state, list[str](), (unit.form, form)
        exact = dict.fromkeys(k for part in terms for k, _ in part if k not in heads)
        columns = {f"t{k}": state.exact[k].soft for k in exact} | {f"h{k}": state.exact[k].hard for k in exact}
        names = {k: state.attended[k] for k in heads}
        bits = {f"b{k}": head.bits for k, head in names.items() if isinstance(head, BooleanHead)}
        lines += self.rows(columns | bits)
        for k, head in names.items():
            assert isinstance(head, BooleanHead)
            lines.append(f"(declare-const a{k} Real)")
            sites = range(len(head.bits))
            ends = [[Fraction(head.values[0]) + (Fraction(head.values[1]) - head.values[0]) * share for share in shares]
                    for bit in (0, 1) for off in (Fraction(head.deviation(bit, sites)),)
                    for shares in ((abs(bit - off), bit),)]  # fmt: skip
            cases = [f"(and (= b{k} {number(bit)}) (<= {number(min(pair))} a{k} {number(max(pair))}))"
                     for bit, pair in enumerate(ends)]  # fmt: skip
            lines.append(f"(assert {either(cases)})")
        own = total([number(unit.bias), *(times(c, f"{'a' if k in names else 't'}{k}") for k, c in unit.form)])
        expected = total(times(c, f"{'b' if k in names else 'h'}{k}") for k, c in form)
        return Query(f"clip '{out}'", "clip", "it has the specified value, 0 or 1", (
            *lines, f"(assert {wrong_clip(own, expected)})"))  # fmt: skip

    def comparison(self, unit: HiddenUnit, out: str, heads: list[int]) -> Query:
        """Return the query of a clip that compares counts. Numbers looked up are integers, each with its error.
        Means are between 0 and 1, and one of the two where one position is visible."""
        state, lines = self.state, ["(declare-const i Int)", "(declare-const n Int)", "(assert (<= 1 i n))"]
        exact = [k for k, _ in unit.form if k not in heads]
        lines += [f"(declare-const s{place} Real)" for place in ("i", "n")]
        lines += [f"(assert (or (= s{place} 1.0) (= s{place} (- 1.0))))" for place in ("i", "n")]
        columns = self.varying(exact)
        lines += self.rows({f"{name}_i": column for name, column in columns.items()})
        own, expected, steps = list[str](), [number(unit.bias)], list[Rational]()
        constants = {k: name for k in exact if (name := self.fixed(k)) is not None}
        for k, c in unit.form:
            if k in constants:
                expected.append(times(c, f"({constants[k]} (to_real i) (to_real n) si sn)"))
            elif k in exact:
                expected.append(times(c, f"t{k}_i"))
        for k, c in ((k, c) for k, c in unit.form if k in heads):
            source = state.means.get(k) or state.attended.get(k)
            assert isinstance(source, Counted)
            if isinstance(source, CountHead):
                # The largest error of all classes is a bound in each of them.
                off = number(Fraction(float(source.error.max())))
                lines += [f"(declare-const e{k} Real)", f"(assert (<= (- {off}) e{k} {off}))"]
                own.append(times(c, f"e{k}"))
                expected.append(number(c * source.base))
                steps.append(c * source.slope)
            else:
                lines += [f"(declare-const m{k} Real)", f"(assert (<= 0.0 m{k} 1.0))"]
                alone = {Mask.FUTURE: "(= i 1)", Mask.PAST: "(= i n)", Mask.NONE: "(= n 1)"}[source.mask]
                lines.append(f"(assert (=> {alone} (or (= m{k} 0.0) (= m{k} 1.0))))")
                expected.append(times(c, f"m{k}"))
        whole, declared, none = integers(steps, "z")
        wrong = wrong_clip(total([whole, *expected, *own]), total([whole, *expected]))
        return Query(f"clip '{out}'", "clip", "it has the specified value, 0 or 1", (
            *lines, *declared, f"(assert {either([*none, wrong])})"))  # fmt: skip


def integers(coefficients: Iterable[Rational], name: str) -> tuple[str, list[str], list[str]]:
    """Return a sum of integers with these coefficients as a multiple of their common divisor by one integer: the
    term, the declaration of the integer, and formulas that are true if a coefficient is not such a multiple."""
    steps = [Fraction(c) for c in coefficients if c]
    step = common(steps)
    if not step:
        return "0.0", [], []
    parts = [f"(not (is_int (/ {number(c)} {number(step)})))" for c in dict.fromkeys(steps)]
    return times(step, f"(to_real {name})"), [f"(declare-const {name} Int)"], parts


def wrong_clip(own: str, expected: str) -> str:
    """Return a formula that is true if a clip's input (`own`) is not on the side of the threshold where the
    specified input (`expected`) is, or if the specified input is on neither side."""
    cases = ("(< 0.0 wanted 1.0)", "(and (<= wanted 0.0) (< 0.0 own))", "(and (<= 1.0 wanted) (< own 1.0))")
    return f"(let ((own {own}) (wanted {expected})) {either(cases)})"


def places(*names: str) -> tuple[str, ...]:
    """Return declarations of positions in a word of length n, with their signs (-1)^i; the signs at both ends are
    fixed."""
    lines = list[str]()
    for name in dict.fromkeys(("n", *names)):
        sign = f"s{name}"
        lines += [f"(declare-const {name} Real)", f"(declare-const {sign} Real)"]
        lines.append(f"(assert (or (= {sign} 1.0) (= {sign} (- 1.0))))")
        # Reals have no parity, so the signs near both ends are stated.
        lines.append(f"(assert (=> (= {name} 1.0) (= {sign} (- 1.0))))")
        lines.append(f"(assert (=> (= {name} 2.0) (= {sign} 1.0)))")
        if name == "n":
            lines.append("(assert (<= 1.0 n))")
        else:
            lines.append(f"(assert (<= 1.0 {name} n))")
            lines.append(f"(assert (=> (= {name} n) (= {sign} sn)))")
            lines.append(f"(assert (=> (= (+ {name} 1.0) n) (= {sign} (- sn))))")
            lines.append(f"(assert (or (= {name} n) (<= (+ {name} 1.0) n)))")
            lines.append(f"(assert (or (= {name} 1.0) (<= 2.0 {name})))")
    return tuple(lines)


# ---- the bounds in x ----


def bounds(name: str, argument: HeadArgument, slope: Rational) -> Iterator[Query]:
    """Yield queries that the bound in x = e^-g is at most the claimed error. Every bound grows with x, so x is
    replaced by a larger number: one over the first terms of the series of e^g."""
    g = argument.g
    assert g is not None
    error = Fraction(argument.error)
    claim = f"the error is at most {float(error)!r}"
    if not argument.ramp:
        x = [f"(* {' '.join('x' * power)})" for power in range(10)]
        tail, fifth = f"(- 1.0 {x[7]})", f"(- 1.0 {x[5]})"
        middle = f"(/ (+ x (* 2.0 {x[4]}) (/ (* 3.0 {x[9]}) (* {tail} {tail}))) (+ 1.0 x {x[4]}))"
        ends = f"(/ {x[3]} (* {fifth} {fifth}))"
        bound = {
            SHARP: "x",
            LEMMA_6: "(/ (* 2.0 x) (+ 1.0 x))",
            TWICE: "(/ (* 2.0 x) (+ 1.0 (* 2.0 x)))",
            TABLE: f"(let ((t (+ x {x[4]} (/ {x[9]} {tail})))) (/ (* 2.0 t) (+ 1.0 (* 2.0 t))))",
            ALTERNATING: f"(let ((t (+ x (/ {x[9]} {tail})))) (/ (* 2.0 t) (+ 1.0 (* 2.0 t))))",
            NUMBER: f"(* {number(slope if slope > 0 else -slope)} (ite (< {middle} {ends}) {ends} {middle}))",
        }[argument.bound]
        yield Query(name, "bound", claim, (*small("x", g), f"(assert (> {bound} {number(error)}))"))
        return
    last = last_of_ramp(g)
    for i in range(2, last + 1):
        odds = f"(* {number(Fraction(i + 1, 2))} x)"
        lines = small("x", g * Fraction((i - 1) ** 2 + 1, i))
        yield Query(name, "bound", f"{claim} at query {i}",
                    (*lines, f"(assert (> (/ {odds} (+ 1.0 {odds})) {number(error)}))"))  # fmt: skip
    fall = f"(* {number(g)} (- 1.0 (/ 2.0 (* i (+ i 1.0)))))"
    yield Query(name, "bound", f"from query {last} on it falls: (i + 2)/(i + 1) <= 1 + 1/(i + 1) <= e^(1/(i + 1))", (
        "(declare-const i Real)", f"(assert (<= {number(last)} i))",
        f"(assert (< {fall} (/ 1.0 (+ i 1.0))))"))  # fmt: skip


def writer(model: Transformer, program: Program) -> Writer:
    """Return the writer of a network whose first link holds for every length. Raises NotProved if it does not."""
    facts = GeneralFacts(Classes(), model.alphabet)
    state = State(model, program, facts)
    walk(state, EVERY_LENGTH, None)
    return Writer(state)


def smt_text(made: Writer, title: str) -> str:
    """Return all queries of a network as the text of one file; `title` is its heading."""
    queries, names = list(made.steps()), made.state.model.coordinates
    message = [f"; c{k} is the coordinate {visible(name)}" for k, name in enumerate(names)]
    return text_of(queries, title, [*message, *made.defined.values()])
