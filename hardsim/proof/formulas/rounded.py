"""Proof, for every length, that a network of means and rounded values computes a formula (ours).

It reads the matrices alone. Between layers every coordinate is a constant, or 0 or 1 by the truth of a literal of the
core; all other coordinates must not be read. With u = 2^-p for the unit of rounding:

- **Means.** A head without scores reads a linear form of these, with the value B at position 0. Over m positions its
  mean is y = (sum of a #[f] + B)/m, and m is 1 more than the number of symbols that it sees. So y >= c is a comparison
  of counts, for any number c: sum of a #[f] + B - c (#[true] + 1) >= 0.
- **Rounding** makes a multiple k u of y. Rounded down, k >= t iff y >= t u. Rounded to the nearest multiple, of two to
  the even one, k >= t iff y >= (t - 1/2) u; for an odd t that is y > (t - 1/2) u. Each is a comparison of counts, so
  that a rounded network is a counting formula, whatever its rounding is: no length enters the proof.
- **Hidden units** clip a form of literals and of at most one k: clip(s k + d) with integers s and d, for each choice of
  the literals. It is the truth of a comparison k >= t, or constant if k cannot reach t. What is added to a coordinate
  must make 0 or 1 of it.

Then each coordinate is compared with the nodes of the core (`comparisons`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import TypeAlias

from hardsim.lang.core import Core, Lit
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.rounding import Rounding, RoundingMode
from hardsim.network.transformer import AttentionHead, HiddenUnit, Layer, Transformer
from hardsim.program.hard_attention import Program
from hardsim.proof.formulas.comparisons import Compared, Truths, canonical, link_of, proof_of_means, side_of
from hardsim.proof.shared.result import NotProved, Proof

MEANING = "every coordinate that is read is a constant or a truth value, and the output is the formula's"
MOST_COMPARED = 4
"""Greatest number of comparisons that the hidden units of one coordinate make."""
HALF = Fraction(1, 2)
Known: TypeAlias = Lit | Fraction | None
"""A coordinate at the positions of symbols: 1 or 0 by a literal, or a constant; None: it must not be read."""
Term: TypeAlias = Fraction | tuple[Fraction, Compared, bool]
"""A hidden unit's part of a coordinate: a number, or a weight that counts where a comparison has this truth."""


@dataclass(frozen=True, slots=True)
class RoundedMean:
    """The mean of a linear form over the positions of a side, before it is rounded: counts and the value at position 0.
    `most` bounds its size."""

    side: str
    counts: Mapping[int | None, Fraction]
    start: Fraction
    most: Fraction

    def at_least(self, t: int, rounding: Rounding) -> tuple[Compared, bool] | bool:
        """Return the comparison "the rounded mean is at least t units" with its polarity; its truth if no word changes
        it."""
        unit = Fraction(rounding.unit)
        if t <= floor(-self.most / unit):
            return True
        if t > ceil(self.most / unit):
            return False
        nearest = rounding.mode is RoundingMode.NEAREST
        level = (t - HALF) * unit if nearest else t * unit
        # A number in the middle goes to the even multiple.
        strict = nearest and t % 2 == 1
        counts = dict(self.counts)
        counts[None] = counts.get(None, Fraction(0)) - level
        kept, start = {node: value for node, value in counts.items() if value}, self.start - level
        if not kept:
            return start > 0 if strict else start >= 0
        return canonical(self.side, kept, start, strict)


def prove_rounded(model: Transformer, program: Program, core: Core | None, span: tuple[int, int]) -> Proof:
    """Try to prove that a network with rounding accepts exactly the words of a formula, for every word of every length;
    without a core, only that its heads take the means of the specification. `span` are the lengths that the result
    names."""
    meaning = None if core is None else link_of(MEANING, lambda: _Walk(model, core).prove())
    return proof_of_means(model, program, span, meaning)


class _Walk(Truths):
    """The walk through the layers of a network.

    `row` are the coordinates at the positions of symbols, `start` those at position 0 (None: not known), and `means`
    the coordinates that hold a mean between attention and the hidden units."""

    def __init__(self, model: Transformer, core: Core) -> None:
        super().__init__(model, core)
        assert model.rounding is not None
        self.rounding = model.rounding
        self.row: list[Known] = []
        self.start: list[Fraction | None] = []
        self.means: dict[int, RoundedMean] = {}

    def prove(self) -> None:
        """Raise NotProved, with the layer and the coordinate, unless the output is 1 exactly at the words of the
        formula, and 0 at all others."""
        model = self.model
        if not model.bos or model.threshold is not None or model.reading != "last":
            raise NotProved("rounding is proved for a beginning of sequence, outputs 0 and 1, and the last position")
        if isinstance(model.alphabet, Valuations):
            raise NotProved("rounding is proved for an alphabet of symbols")
        self._embed()
        for number, layer in enumerate(model.layers, start=1):
            try:
                self._attend(layer)
                self._feed(layer)
            except NotProved as failure:
                raise NotProved(f"layer {number}: {failure.reason}", failure.head) from None
            self.learn()
        found = self.row[model.output]
        truth = bool(found) if isinstance(found, Fraction) and found in (0, 1) else found
        if not isinstance(truth, bool | Lit) or not self.is_root(truth):
            raise NotProved(f"the output {self.name(model.output)} is not known to be the formula")

    def _embed(self) -> None:
        rows, letters = self.model.embedding.dense(), self.sets()
        self.start = [Fraction(value) for value in rows[-1]]
        for place in range(self.model.dimension):
            column = [Fraction(row[place]) for row in rows[:-1]]
            held = frozenset(symbol for symbol, value in zip(self.model.alphabet, column, strict=True) if value)
            if len(set(column)) == 1:
                self.row.append(column[0])
            elif set(column) == {0, 1} and held in letters:
                self.row.append(letters[held])
            else:
                raise NotProved(f"the embedding of {self.name(place)} is no literal of the formula")

    # ---- attention ----

    def _attend(self, layer: Layer) -> None:
        self.means, start = {}, list(self.start)
        for head in layer.heads:
            for place, mean, alone in self._means(head):
                if place in self.means:
                    raise NotProved(f"two heads add to {self.name(place)}", head.name)
                own, first = self.row[place], self.start[place]
                if not isinstance(own, Fraction) or own != first:
                    raise NotProved(f"{self.name(place)} is no constant where a head adds to it", head.name)
                # A constant is added to the mean: it is a mean of itself.
                counts = dict(mean.counts)
                counts[None] = counts.get(None, Fraction(0)) + own
                self.means[place] = RoundedMean(mean.side, counts, mean.start + own, mean.most + abs(own))
                start[place] = None if alone is None else alone + own
        # Literals are 0 or 1, which no rounding changes.
        self.start = [None if value is None else Fraction(self.rounding.of(value)) for value in start]
        self.row = [Fraction(self.rounding.of(value)) if isinstance(value, Fraction) else value for value in self.row]

    def _means(self, head: AttentionHead) -> Iterator[tuple[int, RoundedMean, Fraction | None]]:
        """Yield each coordinate that a head writes, its mean at the positions of symbols, and that at position 0 (None:
        not known), which sees itself alone or every position."""
        side = side_of(head)
        for place, terms in head.values:
            counts, start = dict[int | None, Fraction](), Fraction(0)
            for read, weight in terms:
                value, first = self.row[read], self.start[read]
                if value is None or first is None:
                    raise NotProved(f"{self.name(read)} is not known where the head reads it", head.name)
                start += first * weight
                if isinstance(value, Fraction):
                    counts[None] = counts.get(None, Fraction(0)) + value * weight
                    continue
                if value.negated:
                    counts[None] = counts.get(None, Fraction(0)) + weight
                counts[value.node] = counts.get(value.node, Fraction(0)) + (-weight if value.negated else weight)
            # What a symbol adds lies between these: a negated literal is 1 less the literal, so constants may cancel.
            constant, weights = counts.get(None, Fraction(0)), [one for node, one in counts.items() if node is not None]
            low, high = (constant + sum(keep(one, Fraction(0)) for one in weights) for keep in (min, max))
            most = max(abs(low), abs(high), abs(start))
            yield place, RoundedMean(side, counts, start, most), start if side == "L" else None

    # ---- hidden units ----

    def _feed(self, layer: Layer) -> None:
        writers: dict[int, list[tuple[HiddenUnit, Fraction]]] = {}
        for unit in layer.ffn.units:
            for place, weight in unit.outs:
                writers.setdefault(place, []).append((unit, Fraction(weight)))
        biases = {place: Fraction(value) for place, value in layer.ffn.biases}
        row, start = list(self.row), list(self.start)
        # A rounded mean is a Boolean only after a hidden unit: the next layers must not read it.
        for place in self.means:
            row[place] = None
        for place in sorted({*writers, *biases}):
            units, bias = writers.get(place, []), biases.get(place, Fraction(0))
            row[place] = self._written(place, units, bias)
            start[place] = self._written_at_start(place, units, bias)
        self.row, self.start = row, start

    def _written(self, place: int, units: Sequence[tuple[HiddenUnit, Fraction]], bias: Fraction) -> Known:
        """Return a coordinate at the positions of symbols after the hidden units."""
        own = self.row[place]
        if own is None or place in self.means:
            raise NotProved(f"hidden units add to {self.name(place)}, which is not known there")
        lits = {read for unit, _ in units for place, _ in unit.form if isinstance(read := self.row[place], Lit)}
        lits |= {own} if isinstance(own, Lit) else set()
        # A literal and its negation have one node.
        plain = sorted({Lit(lit.node) for lit in lits})
        made = [
            (held, bias + self._value(own, choice), [self._term(unit, weight, choice) for unit, weight in units])
            for held, choice in self.choices(place, plain)
        ]
        compared = {term[1] for *_, terms in made for term in terms if not isinstance(term, Fraction)}
        if len(compared) > MOST_COMPARED:
            raise NotProved(f"{self.name(place)} is made of more than {MOST_COMPARED} comparisons")
        table: list[tuple[Mapping[int, bool], Mapping[Compared, bool], Fraction]] = []
        # All truths of the comparisons are tried, also those that no word has together.
        for values in product((False, True), repeat=len(compared)):
            truths = dict(zip(compared, values, strict=True))
            for held, base, terms in made:
                total = base + sum((_counted(term, truths) for term in terms), Fraction(0))
                table.append((held, truths, Fraction(self.rounding.of(total))))
        totals = {total for *_, total in table}
        if len(totals) == 1 and not totals <= {0, 1}:
            return totals.pop()
        if not totals <= {0, 1}:
            raise NotProved(f"{self.name(place)} is neither 0 nor 1 for some words")
        try:
            found = self.identified(place, [(held, truths, bool(total)) for held, truths, total in table])
        except NotProved as failure:
            if self.rounding.mode is RoundingMode.FLOOR:
                raise
            # A sum of -1/2 over n + 1 positions is at least -2^-(p+1) from there on.
            far = f"to the nearest, a sum of -1/2 is rounded to 0 from n = {max(1, 2**self.rounding.bits - 1):,} on"
            raise NotProved(f"{failure.reason} ({far})") from None
        return found if isinstance(found, Lit) else Fraction(found)

    def _value(self, known: Known, choice: Mapping[Lit, bool]) -> Fraction:
        assert known is not None
        return known if isinstance(known, Fraction) else Fraction(choice[Lit(known.node)] != known.negated)

    def _term(self, unit: HiddenUnit, weight: Fraction, choice: Mapping[Lit, bool]) -> Term:
        """Return what a hidden unit adds, for one choice of literals."""
        constant, means = Fraction(unit.bias), []
        for place, value in unit.form:
            if place in self.means:
                means.append((place, Fraction(value)))
            elif self.row[place] is None:
                raise NotProved(f"a hidden unit reads {self.name(place)}, which is not known there")
            else:
                constant += Fraction(value) * self._value(self.row[place], choice)
        if not means:
            return weight * _active(unit, constant)
        if len(means) > 1 or not unit.clip:
            raise NotProved("a hidden unit reads two comparisons of one layer, or is no clip")
        ((place, value),) = means
        return self._clipped(self.means[place], value * Fraction(self.rounding.unit), constant, weight)

    def _clipped(self, mean: RoundedMean, s: Fraction, d: Fraction, weight: Fraction) -> Term:
        """Return weight * clip(s k + d) for the integer k that a mean is rounded to."""
        if s.denominator > 1 or d.denominator > 1:
            raise NotProved("a hidden unit may be neither 0 nor 1 where it reads a comparison")
        # s k + d >= 1: k >= (1 - d)/s, or for a negative s, k <= (d - 1)/|s|, which is not k >= floor of that + 1.
        t = ceil((1 - d) / s) if s > 0 else floor((d - 1) / -s) + 1
        found = mean.at_least(t, self.rounding)
        if isinstance(found, bool):
            return weight if found == (s > 0) else Fraction(0)
        return weight, found[0], found[1] == (s > 0)

    def _written_at_start(
        self, place: int, units: Sequence[tuple[HiddenUnit, Fraction]], bias: Fraction
    ) -> Fraction | None:
        """Return a coordinate at position 0 after the hidden units; None if it may depend on the word."""
        own = self.start[place]
        if own is None:
            return None
        total = own + bias
        for unit, weight in units:
            ends = [Fraction(unit.bias), Fraction(unit.bias)]
            for read, value in unit.form:
                first, mean = self.start[read], self.means.get(read)
                if first is None and mean is None:
                    return None
                # A rounded mean is at most a unit beyond the size of the mean.
                far = abs(Fraction(value)) * (mean.most + Fraction(self.rounding.unit)) if mean and first is None else 0
                ends = [ends[0] + (first or 0) * value - far, ends[1] + (first or 0) * value + far]
            low, high = (_active(unit, end) for end in ends)
            if low != high:
                return None
            total += weight * low
        return Fraction(self.rounding.of(total))


def _counted(term: Term, truths: Mapping[Compared, bool]) -> Fraction:
    """Return what a hidden unit adds, given the truths of comparisons."""
    if isinstance(term, Fraction):
        return term
    weight, compared, polarity = term
    return weight if truths[compared] == polarity else Fraction(0)


def _active(unit: HiddenUnit, value: Fraction) -> Fraction:
    """Return the value of a hidden unit."""
    return min(max(value, Fraction(0)), Fraction(1)) if unit.clip else max(value, Fraction(0))
