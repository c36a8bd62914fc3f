"""Hints for the checker: what each coordinate holds, and what each head and hidden unit is for.

A hint needs no proof: the checker of the library decides from the matrices whether it is right. They come from the
certificate of the network, which says what each coordinate and head means. A hint also names the nodes by which the
checker distinguishes cases, which are few: a false choice makes it fail or take long, but never accept.

Errors in hints are rational bounds of what softmax adds to a head's ideal value, from a lower bound of the exponential
function: the sum of the first terms of its series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import Mask
from hardsim.network.transformer import AttentionHead, FeedForward, Terms, Transformer
from hardsim.proving.rocq.network import column_condition, encoding_of
from hardsim.proving.rocq.nodes import Entry, NodeTable, count_text, no_instance
from hardsim.proving.rocq.syntax import listed, literal, rational, truth

HALF = Fraction(1, 2)
TERMS = 40
"""Number of terms of the exponential series. The checker adds up as many itself."""
BITS = 20
"""Errors are rounded up to multiples of 2^-BITS, which keeps the checker's numbers small."""
SCALES: Mapping[str, str] = {
    "temperature": "ByLength", "position": "ByLength", "causal-temperature": "BySquare",
    "causal-position": "ByPosition",
}  # fmt: skip
"""The form of the scores by which a head looks for the nearest position, in each regime."""
MOST_CASES = 40
"""Largest number of operands that are added to the nodes for cases."""
MASK_SIDES: Mapping[Mask, str] = {Mask.FUTURE: "Before", Mask.PAST: "After", Mask.NONE: "Everywhere"}
DIVISORS: Mapping[Mask, str] = {Mask.FUTURE: "ByI", Mask.PAST: "ByM", Mask.NONE: "ByN"}
"""The number by which a mean over the visible positions divides: i, n + 1 - i, or n."""


def exponential_below(exponent: Fraction) -> Fraction:
    """Return a lower bound of e^exponent, for an exponent that is not negative: the first terms of the series."""
    total, term = Fraction(0), Fraction(1)
    for number in range(1, TERMS + 1):
        total, term = total + term, term * exponent / number
    return total


def rounded_up(value: Fraction) -> Fraction:
    """Return the least multiple of 2^-BITS that is not less than a number."""
    return Fraction(-((-value.numerator << BITS) // value.denominator), 1 << BITS)


@dataclass(frozen=True, slots=True)
class Holding:
    """The content of a coordinate: the text of the value, the nodes by which cases about it are distinguished, and the
    node `first` or `last` if a clip of it is that node."""

    text: str
    cases: tuple[int, ...] = ()
    edge: int | None = None


def distinct(*groups: Iterable[int]) -> list[int]:
    """Return the numbers of all groups, each once, in their order."""
    return list(dict.fromkeys(number for group in groups for number in group))


class Hints:
    """Makes the hints of a network, layer by layer. `meaning` is the part `meaning` of its certificate: the literal of
    each coordinate, and what is known of each head. Nodes that the hints need are added to `table`."""

    def __init__(self, model: Transformer, table: NodeTable, meaning: Mapping[str, Any], regime: str) -> None:
        self.model, self.table, self.names = model, table, model.coordinates
        self.coordinates: Mapping[str, Any] = meaning["coordinates"]
        self.kinds: Mapping[str, Any] = meaning["heads"]
        self.scale = SCALES[regime]
        # What the first clip of a coordinate writes; with one head a layer it may be in a later layer.
        units = [unit for layer in model.layers for unit in layer.ffn.units]
        self.readers = {place: out for unit in reversed(units) for place, _ in unit.reads for out, _ in unit.outs[:1]}
        self.state = [self._first(place, name) for place, name in enumerate(self.names)]
        for place, function in model.encodings:
            self.state[place] = self._encoded(function)

    def texts(self) -> tuple[str, list[str]]:
        """Return what the coordinates hold in the input, and the hints of each layer. Raises Undecided if a head or a
        unit has no hint."""
        start = listed(held.text for held in self.state)
        return start, [self._layer(layer.heads, layer.ffn) for layer in self.model.layers]

    # ---- the input ----

    def _first(self, place: int, name: str) -> Holding:
        """Return what a coordinate holds in the input, apart from encodings."""
        values = [row.get(place, 0) for row in self.model.embedding.rows()]
        if isinstance(self.model.alphabet, Valuations):
            # The last row is added everywhere: without others the coordinate is a constant.
            constant = values[-1] if not any(values[:-1]) else None
        else:
            constant = values[0] if len({*values}) == 1 else None
        if constant is not None:
            return Holding(f"VConst {rational(constant)}")
        if name not in self.coordinates:
            raise no_instance(f"the meaning of coordinate {name} is not known")
        return _equal(*self.coordinates[name])

    def _encoded(self, function: Any) -> Holding:
        """Return what a coordinate holds that is a position encoding."""
        if isinstance(function, PredicateColumn):
            entry = Entry.of("NHolds", column_condition(function, self.table.users))
            return _equal(self.table.number(entry), False)
        product = encoding_of(function, self.table.users)
        alternates = not isinstance(product, str) and product.alternates
        return Holding(f"VNumber {product}", (self.table.even,) if alternates else ())

    # ---- layers ----

    def _layer(self, heads: Sequence[AttentionHead], ffn: FeedForward) -> str:
        """Return the hints of a layer. All its heads read the state before it; its units read what they write too."""
        made = [self._head(head) for head in heads]
        for place, held, _ in made:
            self.state[place] = held
        rows: dict[int, list[int]] = {out: [] for out, _ in ffn.biases}
        for unit in ffn.units:
            for out, _ in unit.outs:
                rows.setdefault(out, []).extend(place for place, _ in unit.reads)
        # In the order in which units are written, then those that only have a bias.
        outs = distinct((out for unit in ffn.units for out, _ in unit.outs), rows)
        units = [self._unit(out, rows[out]) for out in outs]
        for out, (node, negated), _ in units:
            self.state[out] = _equal(node, negated)
        head_hints = listed(f"\n     {text}" for _, _, text in made)
        unit_hints = listed(f"\n     {text}" for _, _, text in units)
        return f"LayerHint {head_hints}\n     {unit_hints}"

    def _unit(self, out: int, read: Sequence[int]) -> tuple[int, tuple[int, bool], str]:
        """Return the hint for a coordinate that hidden units write from the coordinates `read`: its place, the literal
        that it becomes, and the text of the hint."""
        node, negated = self._becomes(out, read)
        cases = distinct(*(self.state[place].cases for place in read))
        cases = distinct(cases, [node])
        return out, (node, negated), f"Unit {out} {literal(node, negated)} {self._listed(cases)}"

    def _becomes(self, out: int, read: Sequence[int]) -> tuple[int, bool]:
        name = self.names[out]
        if name in self.coordinates:
            node, negated = self.coordinates[name]
            return node, negated
        if name == "single":  # the only position: first and last
            edges = [self.table.first, self.table.last]
            both = Entry.of("NAnd", listed(literal(edge, False) for edge in edges), operands=edges)
            return self.table.number(both), False
        edge = next((held.edge for held in (self.state[place] for place in read) if held.edge is not None), None)
        if edge is None:
            raise no_instance(f"the meaning of coordinate {name} is not known")
        return edge, False

    def _listed(self, cases: Sequence[int]) -> str:
        """Return the list of nodes for cases. After a conjunction or exclusive or come its operands, up to MOST_CASES:
        they settle cases that contradict each other."""
        found = list(cases)
        for node in found:  # which grows
            entry = self.table.entries[node]
            if entry.constructor in ("NAnd", "NXor") and len(found) <= len(cases) + MOST_CASES:
                found += [operand for operand in entry.operands if operand not in found]
        return listed(map(str, found))

    def _cases(self, *forms: Terms) -> list[int]:
        return distinct(*(self.state[place].cases for form in forms for place, _ in form))

    # ---- heads ----

    def _head(self, head: AttentionHead) -> tuple[int, Holding, str]:
        """Return the hint for a head: the coordinate that it writes, what that then holds, and the text."""
        if len(head.values) != 1:
            raise no_instance(f"head {head.name} writes {len(head.values)} coordinates")
        ((out, row),) = head.values
        kind = self.kinds.get(head.name)
        cases = self._cases(*(key for _, key in head.scores), row)
        if kind is None or kind["kind"] == "mean":
            purpose, held = self._mean(head, out, row, kind)
        elif kind["kind"] == "nearest":
            node = self._decided(out)
            reached = self._reached(head, node, kind)
            purpose, held, more = self._nearest(head, reached, kind)
            # That both nodes have the same truth follows from the operands.
            held = held if node == reached else replace(held, cases=(*held.cases, *more))
            # The parity of a step decides first: it leaves few cases of the rest.
            parity = [self.table.even] if purpose.startswith("Step") else []
            cases = distinct(parity, cases, more)
        elif kind["kind"] in ("number", "table"):
            purpose, held = self._look_up(head, out, kind)
        else:
            purpose, held = self._sign(head, kind["what"][0])
        return out, held, f"Hint {out} ({purpose}) {self._listed(cases)}"

    def _mean(self, head: AttentionHead, out: int, row: Terms, kind: Mapping[str, Any] | None) -> tuple[str, Holding]:
        """Return the purpose of a head that takes a mean, and what it writes: 1 over the number of positions, the mean
        of (-1)^j, from which a clip finds the first or last position, or a count over the number of positions."""
        divisor, side = DIVISORS[head.mask], MASK_SIDES[head.mask]
        if self.names[out].startswith("1/"):
            node = kind["what"][0] if kind is not None else next(iter(self.state[row[0][0]].cases), None)
            if node is None:
                raise no_instance(f"head {head.name} takes the mean of {self.names[row[0][0]]}")
            return f"Reciprocal {node}", Holding(f"VRatio None {divisor}")
        if kind is not None:
            what = literal(*kind["what"])
            return f"Mean {what}", Holding(f"VRatio (Some ({side}, {what})) {divisor}")
        negative = truth(row[0][1] < 0)
        edge = self.table.first if side == "Before" else self.table.last
        return f"Mark {negative}", Holding(f"VMark {side} {negative}", (edge, self.table.even), edge)

    def _decided(self, out: int) -> int:
        """Return the node that the first clip of a coordinate decides."""
        reader = self.names[self.readers[out]] if out in self.readers else ""
        if reader not in self.coordinates:
            raise no_instance(f"what is read from coordinate {self.names[out]} is not known")
        return int(self.coordinates[reader][0])

    def _parts(self, node: int) -> list[int]:
        """Return a node, and the operands of conjunctions and exclusive ors from there on."""
        parts = [node]
        for part in parts:  # which grows
            if self.table.entries[part].constructor in ("NAnd", "NXor"):
                parts += [operand for operand in self.table.entries[part].operands if operand not in parts]
        return parts

    def _reached(self, head: AttentionHead, node: int, kind: Mapping[str, Any]) -> int:
        """Return the node that a head computes which reads the nearest position: the node that its clip decides, or
        one of its operands, if the clip decides a conjunction; or, if that is a simpler node with the same truth, such
        as a set of letters, the operator with the operand that the head reads."""
        after = MASK_SIDES[head.mask] == "After"
        parity = kind["where"] is not None and kind["where"][0] == self.table.even
        step, reach = ("NNext", "NUntil") if after else ("NPrev", "NSince")
        ends = f" {literal(*kind['what'])}" if kind["what"] is not None else ""
        counted = f"({MASK_SIDES[head.mask]},{ends})"
        always = kind["where"] == kind["what"]
        entries = self.table.entries

        def fit(number: int) -> int:
            """0: another operator. Better: one of this kind, that looks for such positions, that reads this literal."""
            entry = entries[number]
            if entry.constructor == "NAtLeast":
                # Several counts may be operands of one conjunction: the one of this side and literal comes first.
                return 1 + int(counted in entry.text) if always and not parity else 0
            if entry.constructor != (step if parity else reach):
                return 0
            # Where the head looks for what it reads, the left operand is true.
            looks = parity or always == (entry.operands[0] == self.table.true)
            # Literals with the same truth may be different nodes, so neither is required.
            return 1 + int(looks) + 2 * int(entry.text.endswith(ends))

        found: int = max(self._parts(node), key=fit)
        found = found if fit(found) else max(range(len(entries)), key=fit)
        if not fit(found):
            raise no_instance(f"the operator that head {head.name} computes is not known")
        return found

    def _nearest(self, head: AttentionHead, node: int, kind: Mapping[str, Any]) -> tuple[str, Holding, list[int]]:
        """Return the purpose of a head that reads the nearest position of some kind, what it writes, and more nodes for
        cases. `node` is what the clip that reads it decides."""
        entry = self.table.entries[node]
        beta = Fraction(head.scores[0][0][0][1])
        # Another position has at most e^(-beta/2) times the weight of the nearest one.
        error = rational(rounded_up(1 / exponential_below(beta / 2)))
        numbers = f"{self.scale} {rational(beta)} {error}"
        if entry.constructor in ("NPrev", "NNext"):
            even = truth(not kind["where"][1])
            edge = self.table.first if entry.constructor == "NPrev" else self.table.last
            held = Holding(f"VStep {even} {node} {error}", (self.table.even, edge, node))
            return f"Step {node} {even} {numbers}", held, [*entry.operands]
        return f"Reach {node} {numbers}", Holding(f"VNear ({node}, false) {error}", (node,)), [*entry.operands]

    def _sign(self, head: AttentionHead, node: int) -> tuple[str, Holding]:
        """Return the purpose of a head that finds the sign of a sum of counts, for the inequality `node`, and what it
        writes: the truth of the node, unless a single position is visible."""
        ((query, ((key, _), *_)), *_) = head.scores
        reciprocal = [place for place, _ in query if self.state[place].text.startswith("VRatio None")]
        if len(reciprocal) != 1:
            raise no_instance(f"the scores of head {head.name} are not those of a sign test")
        values = {place: Fraction(value) for place, value in query}
        beta = _beta_of_sign(values, reciprocal[0], self.table.entries[node].constant)
        encoding = encoding_of(dict(self.model.encodings)[key], self.table.users)
        ramp = not isinstance(encoding, str) and encoding.of_i == 2
        # With keys that grow as j^2, the neighbour of the last position takes a part of the gap.
        rate = beta * Fraction(5, 6) if ramp else beta
        error = rational(rounded_up(2 / exponential_below(rate)))
        edges = {"Before": (self.table.first,), "After": (self.table.last,)}
        side = MASK_SIDES[head.mask]
        single = edges.get(side, (self.table.first, self.table.last))
        return f"SignTest {node} {rational(beta)} {error}", Holding(f"VSign {side} {node} {error}", (*single, node))

    def _look_up(self, head: AttentionHead, out: int, kind: Mapping[str, Any]) -> tuple[str, Holding]:
        """Return the purpose of a head that attends to the position whose number is a count, and what it writes: that
        number, or the truth of a predicate there."""
        ((lit,), ((_, side),)) = kind["count"]
        count, some = count_text(side, *lit), kind["some"][0]
        (((_, of_query), *_), ((_, of_key), *_)) = head.scores[0]
        # The logit of key j is beta times a factor of at least 1 times 2 c j - j^2, where c is the count.
        beta = Fraction(of_query) * Fraction(of_key) / 2
        growth = exponential_below(beta)
        if kind["kind"] == "number":
            error = rational(rounded_up(growth / (growth - 1) ** 2))
            return f"LookupCount {count} {rational(beta)} {error}", Holding(f"VCount {count} {error}", (some,))
        error = rational(rounded_up(2 / (growth - 1)))
        parts = self._parts(self._decided(out))
        fits = [part for part in parts if self.table.entries[part].text.endswith(f" {count}")]
        node = next((part for part in fits if self.table.entries[part].constructor == "NNumeric"), parts[0])
        held = Holding(f"VTable ({node}, false) {count} {error}", (some, node))
        return f"LookupTruth {count} {node} {rational(beta)} {error}", held


def _beta_of_sign(query: Mapping[int, Fraction], reciprocal: int, constant: int) -> Fraction:
    """Return beta of a sign test, from its query beta (t + 1/2) / m: m is the number of positions, t the left side of
    the inequality t >= 0, and `constant` is what t has besides counts."""
    return query[reciprocal] / (constant + HALF)


def _equal(node: int, negated: bool) -> Holding:
    """Return that a coordinate is equal to a literal."""
    return Holding(f"VLit {literal(node, negated)}", (node,))
