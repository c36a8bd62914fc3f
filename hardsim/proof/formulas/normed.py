"""Proof, for every length, that a network of means and layer norms computes a formula (ours).

It reads the matrices alone. Between layers every coordinate is 0, or x or -x with one x > 0 for the whole row, the
same x at all positions, and its sign is the truth of a literal of the core or a constant. Every step below commutes
with a positive factor, so that x = 1 may be assumed:

- **Means.** A head without scores reads a linear form of such signs. Its mean over m positions is
  `(sum of a #[f] + B)/m` with the value B at position 0. With g the greatest common divisor of the coefficients,
  the sum is g times an integer plus B: its size is at least the distance rho of B from the multiples of g.
- **Hidden units** without biases are relus of forms in signs, one such mean y, and t = 1/m (means without counts). For
  each choice of the literals and of the sign of y, a form is linear in t and |y|, and these lie in the quadrilateral
  0 <= t <= 1, rho t <= |y| <= Y. Its corners decide the sign of the form: where it has both signs, there is no proof.
  The sum of what is added to a coordinate must then be -k t, 0 or k t, for every choice with the same k > 0.
- **A norm** with epsilon 0 divides by the root of the mean square of the row, which is k t times a number that depends
  on the numbers of coordinates only. It subtracts the mean, which is 0 if as many coordinates have a literal as have
  its negation. So the next layer begins as above.

With an epsilon above 0 a norm makes a row with values +-a, over s, the root of the number of coordinates per live one,
a row of values +-r s with r = (1 + epsilon/a^2)^(-1/2) >= 1 - epsilon/(2 a^2). So rows differ in size. The sum of a
mean is off by at most F times the sum of 1 - r over its positions, F the largest value of the form that it reads. All
of the above then holds with rho less by that, with t' = r_0 t for t, r_0 that of position 0, and with constants times
any number of [r, 1], up to a length where the corners still decide every relu.

The sign of y is the truth of a comparison. A sign that depends on it and on literals is compared with every node of the
core, for all choices of the symbol and of the comparisons that decide the literals, also those that no word has. If
these choices are too many, the literals are chosen freely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import TypeAlias

from hardsim.lang.core import Core, Lit
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask
from hardsim.network.transformer import AttentionHead, HiddenUnit, Layer, Terms, Transformer
from hardsim.program.hard_attention import Program
from hardsim.proof.formulas.comparisons import Compared, Truths, canonical, divisor, link_of, proof_of_means, side_of
from hardsim.proof.shared.result import NotProved, Proof

MEANING = "every live value is a positive multiple of a truth value, and the output's is the formula's"
FARTHEST = 10**6
"""Greatest length to which a network with an epsilon above 0 is proved."""
Sign: TypeAlias = tuple[int, Lit | None]
"""The sign of a coordinate at the positions of symbols: 1 or -1 times that of a literal (None: a constant); (0, None):
the coordinate is 0."""
ZERO: Sign = (0, None)
Form: TypeAlias = dict[Lit | None, Fraction]
"""A linear form: coefficients of the signs of literals that are not negated, and of the constant 1 (None)."""


@dataclass(frozen=True, slots=True)
class MeanValue:
    """The mean of a form over all positions of a side: `form` at the positions of symbols, `start` at position 0."""

    side: str
    form: tuple[tuple[Lit | None, Fraction], ...]
    start: Fraction

    @property
    def counts(self) -> dict[int | None, Fraction]:
        """The coefficients of counts: the sign of f is 2 [f] - 1."""
        found: dict[int | None, Fraction] = {}
        for lit, value in self.form:
            if lit is None:
                found[None] = found.get(None, Fraction(0)) + value
            else:
                found[lit.node] = found.get(lit.node, Fraction(0)) + 2 * value
                found[None] = found.get(None, Fraction(0)) - value
        return {node: value for node, value in found.items() if value}

    @property
    def least(self) -> Fraction:
        """rho: the mean is at least this over the number of positions, in size."""
        step = divisor(self.counts.values())
        rest = self.start % step if step else abs(self.start)
        return min(rest, step - rest) if step else rest

    @property
    def most(self) -> Fraction:
        """Y: the mean is at most this, in size, as a mean of such numbers."""
        return max(sum((abs(value) for _, value in self.form), Fraction(0)), abs(self.start))

    def compared(self) -> tuple[Compared, bool]:
        """Return the comparison that is true where the mean is above 0, and True; or its negation, and False."""
        return canonical(self.side, self.counts, self.start)


@dataclass
class _Row:
    """A row between layers: the sign of each coordinate at the positions of symbols, and its value at
    position 0, over the common size."""

    signs: list[Sign]
    start: list[Fraction]
    lost: Fraction = Fraction(0)
    """c such that 1 - rho is at most c m^2 at every position, with m the number of positions of its means."""
    lost_start: Fraction = Fraction(0)
    """A bound of 1 - rho at position 0."""
    of_all: bool = False
    """True if m is the number of all positions, False if it is that of those up to its own."""


@dataclass
class _Sum:
    """A linear form of a row after attention: signs and constants, t, and multiples of one mean."""

    form: Form = field(default_factory=dict)
    t: Fraction = Fraction(0)
    mean: MeanValue | None = None
    factor: Fraction = Fraction(0)

    def add(self, other: _Sum, weight: Fraction) -> None:
        for lit, value in other.form.items():
            self.form[lit] = self.form.get(lit, Fraction(0)) + weight * value
        self.t += weight * other.t
        if other.mean is None or not weight * other.factor:
            return
        if self.mean is None or not self.factor:
            self.mean, self.factor = other.mean, weight * other.factor
            return
        ratio = _ratio(self.mean, other.mean)
        if ratio is None:
            raise NotProved("a hidden unit reads two comparisons of one layer")
        self.factor += weight * other.factor * ratio


def _ratio(mean: MeanValue, other: MeanValue) -> Fraction | None:
    """Return the factor by which `other` is a multiple of `mean`; None if it is none."""
    if mean == other:
        return Fraction(1)
    if mean.side != other.side or not mean.start:
        return None
    ratio = other.start / mean.start
    same = {lit: value * ratio for lit, value in mean.form} == dict(other.form)
    return ratio if same and ratio else None


def prove_normed(model: Transformer, program: Program, core: Core | None, span: tuple[int, int]) -> Proof:
    """Try to prove that a network with layer norms accepts exactly the words of a formula, for every word of every
    length; without a core, only that its heads take the means of the specification. `span` are the lengths that the
    result names."""
    meaning = None if core is None else link_of(MEANING, lambda: _Invariant(model, core, span[1] or None).prove())
    return proof_of_means(model, program, span, meaning)


def proved_to(model: Transformer, core: Core) -> int | None:
    """Return the greatest length to which the prover shows that a network with layer norms is right, at most
    FARTHEST; None if it does so for every length. Raises NotProved if it does not for length 1."""

    def holds(n: int | None) -> bool:
        try:
            _Invariant(model, core, n).prove()
        except NotProved:
            return False
        return True

    if holds(None):
        return None
    _Invariant(model, core, 1).prove()
    low, high = 1, 2
    while high <= FARTHEST and holds(high):
        low, high = high, 2 * high
    high = min(high, FARTHEST + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


class _Invariant(Truths):
    """The walk through the layers of a network."""

    def __init__(self, model: Transformer, core: Core, longest: int | None = None) -> None:
        super().__init__(model, core)
        self.longest = longest
        self.row = _Row([], [])
        """The row that enters the layer."""

    def prove(self) -> None:
        """Raise NotProved, with the layer and the coordinate, unless the output is above the threshold exactly at the
        words of the formula."""
        model = self.model
        if not model.bos or model.threshold != 0 or model.reading != "last" or isinstance(model.alphabet, Valuations):
            raise NotProved("layer norms are proved for a beginning of sequence, threshold 0 and the last position")
        if model.encodings:
            raise NotProved("layer norms are proved without position encodings")
        row = self._embedded()
        for number, layer in enumerate(model.layers, start=1):
            try:
                row = self._layer(layer, row, number == len(model.layers))
            except NotProved as failure:
                raise NotProved(f"layer {number}: {failure.reason}", failure.head) from None
            self.learn()
        sign, lit = row.signs[model.output]
        found = sign > 0 if lit is None else Lit(lit.node, lit.negated != (sign < 0))
        if not sign or not self.is_root(found):
            raise NotProved(f"the output {self.name(model.output)} is not known to be the formula")

    # ---- the embedding ----

    def _embedded(self) -> _Row:
        rows = self.model.embedding.dense()
        symbols = self.model.alphabet
        sizes = {abs(Fraction(value)) for row in rows for value in row if value}
        if len(sizes) != 1:
            raise NotProved("the numbers of the embedding are not all of one size")
        (size,) = sizes
        live = sum(any(row[place] for row in rows) for place in range(self.model.dimension))
        if size * size * live != self.model.dimension and any(layer.norm_2 for layer in self.model.layers[:-1]):
            raise NotProved("the embedding has another size than a norm gives")
        letters = self.sets()
        signs: list[Sign] = []
        for place in range(self.model.dimension):
            column = [Fraction(row[place]) / size for row in rows[:-1]]
            positive = frozenset(symbol for symbol, value in zip(symbols, column, strict=True) if value > 0)
            if not any(column):
                signs.append(ZERO)
            elif len(set(column)) == 1:
                signs.append((int(column[0]), None))
            elif all(column) and positive in letters:
                signs.append((1, letters[positive]))
            else:
                raise NotProved(f"the embedding of {self.name(place)} is no literal of the formula")
        start: list[Fraction] = [Fraction(value) / size for value in rows[-1]]
        self._centred(signs, start)
        return _Row([_plain(sign) for sign in signs], start)

    def _centred(self, signs: Sequence[Sign], start: Sequence[Fraction]) -> None:
        """Require that the mean of a row is 0, and that rows of symbols and position 0 have as many values that are
        not 0, so that a norm makes them of one size."""
        counted = Counter(map(_plain, signs))
        for (sign, lit), count in counted.items():
            if sign and counted[-sign, lit] != count:
                raise NotProved("coordinates and their negations do not cancel, so that a norm would shift the row")
        if sum(start):
            raise NotProved("coordinates at position 0 do not cancel, so that a norm would shift the row")
        if any((value == 0) != (sign == 0) for (sign, _), value in zip(signs, start, strict=True)):
            raise NotProved("position 0 and the others differ in which coordinates are 0")

    # ---- attention ----

    def _layer(self, layer: Layer, row: _Row, last: bool) -> _Row:
        if layer.norm_1 is not None:
            raise NotProved("a norm between attention and the hidden units has no proof")
        if layer.norm_2 is None and not last:
            raise NotProved("it has no norm after the hidden units")
        if layer.ffn.biases or any(unit.bias or unit.clip for unit in layer.ffn.units):
            raise NotProved("a hidden unit has a bias or is a clip, which a norm's factor does not pass")
        self.row = row
        sums, start = self._attended(layer, row)
        (signs, size), (at_start, size_start) = self._added(layer, sums), self._added_at_start(layer, start)
        self._centred(signs, at_start)
        found = _Row(signs, at_start)
        if layer.norm_2 and not last:
            self._lose(layer, found, size, size_start)
        return found

    def _lose(
        self, layer: Layer, found: _Row, size: tuple[Fraction, Fraction], start: tuple[Fraction, Fraction]
    ) -> None:
        """Bound what a norm with an epsilon above 0 takes from the sizes of rows of these sizes before it."""
        if self.longest is None:
            raise NotProved(f"epsilon {layer.norm_2} makes rows of different sizes, so not every length is proved")
        assert layer.norm_2 is not None
        found.of_all = any(head.mask is Mask.NONE for head in layer.heads)
        most, least_start = Fraction(self.longest + 1), 1 - self.row.lost_start
        least = 1 - self._worst(self.row)
        if min(least, least_start) <= 0:
            raise NotProved(f"epsilon {layer.norm_2} is too large for this length")
        half = layer.norm_2 / 2
        found.lost = half / (size[1] * least_start) ** 2 if size[1] else half / (size[0] * least) ** 2
        own = start[0] * least_start if start[0] else start[1] * least_start / most
        found.lost_start = half / own**2

    def _worst(self, row: _Row) -> Fraction:
        """Return a bound of 1 - rho at all positions of symbols."""
        return row.lost * ((self.longest or 0) + 1) ** 2

    def _error(self, mean: MeanValue) -> Fraction:
        """Return a bound of the error of the sum of a mean at the last position, since rows have lost some size."""
        n, row = self.longest or 0, self.row
        squares = n * (n + 1) ** 2 if row.of_all else (n + 1) * (n + 2) * (2 * n + 3) // 6 - 1
        most = sum((abs(value) for _, value in mean.form), Fraction(0))
        return most * row.lost * squares + abs(mean.start) * row.lost_start

    def _attended(self, layer: Layer, row: _Row) -> tuple[list[_Sum], list[_Sum]]:
        """Return every coordinate after attention, at the positions of symbols and at position 0."""
        sums = [_Sum({lit: Fraction(sign)} if sign else {}) for sign, lit in row.signs]
        start = [_Sum({None: value}) for value in row.start]
        kinds = {mean.side for head in layer.heads for _, mean in self._means(head, row) if not mean.counts}
        if len(kinds) > 1:
            raise NotProved("means of 1 over positions of two kinds")
        unit = next(iter(kinds), "L")
        for head in layer.heads:
            for place, mean in self._means(head, row):
                if row.signs[place] != ZERO or sums[place].mean is not None or sums[place].t:
                    raise NotProved(f"{self.name(place)} is not 0 where a head adds to it", head.name)
                # Over fewer positions 1/m is no less than t, so rho t <= |y| holds for means up to a position as well.
                if mean.counts and not mean.side and unit:
                    raise NotProved("a mean of all positions is compared with a mean over fewer", head.name)
                found = _Sum(t=mean.start) if not mean.counts else _Sum(mean=mean, factor=Fraction(1))
                sums[place].add(found, Fraction(1))
                # Position 0 sees itself alone, or every position.
                alone = _Sum({None: mean.start}) if mean.side == "L" else found
                start[place].add(alone, Fraction(1))
        return sums, start

    def _means(self, head: AttentionHead, row: _Row) -> Iterator[tuple[int, MeanValue]]:
        side = side_of(head)
        for place, terms in head.values:
            form, start = dict[Lit | None, Fraction](), Fraction(0)
            for read, value in terms:
                sign, lit = row.signs[read]
                if lit is not None and lit.negated:
                    sign, lit = -sign, Lit(lit.node)
                if sign:
                    form[lit] = form.get(lit, Fraction(0)) + sign * Fraction(value)
                start += row.start[read] * Fraction(value)
            kept = tuple(sorted(((lit, value) for lit, value in form.items() if value), key=lambda one: str(one[0])))
            yield place, MeanValue(side, kept, start)

    # ---- hidden units ----

    def _writers(self, layer: Layer) -> dict[int, list[tuple[HiddenUnit, Fraction]]]:
        found: dict[int, list[tuple[HiddenUnit, Fraction]]] = {}
        for unit in layer.ffn.units:
            for place, weight in unit.outs:
                found.setdefault(place, []).append((unit, Fraction(weight)))
        return found

    def _added(self, layer: Layer, sums: Sequence[_Sum]) -> tuple[list[Sign], tuple[Fraction, Fraction]]:
        """Return the sign of each coordinate at the positions of symbols, after the hidden units, and their size."""
        writers, sizes, signs = self._writers(layer), set[tuple[Fraction, Fraction]](), list[Sign]()
        for place, entering in enumerate(sums):
            total, units = entering, writers.get(place, [])
            forms = [(_combined(unit.form, sums), weight) for unit, weight in units]
            mean = _common([total, *(form for form, _ in forms)])
            lits = sorted({lit for one in (total, *(form for form, _ in forms)) for lit in one.form if lit is not None})
            table: list[tuple[Mapping[int, bool], bool | None, int]] = []
            for held, choice in self.choices(place, lits):
                for positive in (None,) if mean is None else (False, True):
                    size, sign = self._result(place, total, forms, choice, mean, positive)
                    table.append((held, positive, sign))
                    sizes |= {size} if sign else set()
            signs.append(_plain(self._identified(place, mean, table)))
        if len(sizes) != 1:
            raise NotProved("the values after the hidden units are not all of one size")
        return signs, sizes.pop()

    def _added_at_start(self, layer: Layer, start: Sequence[_Sum]) -> tuple[list[Fraction], tuple[Fraction, Fraction]]:
        """Return the value of each coordinate at position 0, over the common size, after the hidden units."""
        writers, sizes, values = self._writers(layer), set[tuple[Fraction, Fraction]](), list[Fraction]()
        for place, entering in enumerate(start):
            forms = [(_combined(unit.form, start), weight) for unit, weight in writers.get(place, [])]
            mean, signs = _common([entering, *(form for form, _ in forms)]), set[int]()
            for positive in (None,) if mean is None else (False, True):
                size, sign = self._result(place, entering, forms, {}, mean, positive)
                signs.add(sign)
                sizes |= {size} if sign else set()
            if len(signs) > 1:
                raise NotProved(f"{self.name(place)} depends on the word at position 0")
            values.append(Fraction(signs.pop()))
        if len(sizes) != 1:
            raise NotProved("the values at position 0 are not all of one size")
        return values, sizes.pop()

    def _identified(
        self, place: int, mean: MeanValue | None, table: Sequence[tuple[Mapping[int, bool], bool | None, int]]
    ) -> Sign:
        """Return the literal whose sign a table has, a constant or a node of the core. A row of the table has truths of
        nodes, whether the mean is above 0, and the sign."""
        if any(not sign for *_, sign in table):
            if any(sign for *_, sign in table):
                raise NotProved(f"{self.name(place)} is 0 for some words only")
            return ZERO
        atom = None if mean is None else mean.compared()
        rows = [
            (held, {} if atom is None else {atom[0]: positive == atom[1]}, sign > 0) for held, positive, sign in table
        ]
        found = self.identified(place, rows)
        return (1, found) if isinstance(found, Lit) else (1 if found else -1, None)

    def _result(
        self,
        place: int,
        entering: _Sum,
        forms: Sequence[tuple[_Sum, Fraction]],
        choice: Mapping[Lit, bool],
        mean: MeanValue | None,
        positive: bool | None,
    ) -> tuple[tuple[Fraction, Fraction], int]:
        """Return the size (a constant and a multiple of t) and the sign of a coordinate, for one choice of literals and
        of the sign of the mean."""
        total = list(_linear(entering, choice, mean, positive))
        corners = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(0))]
        if mean is not None:
            least = mean.least - self._error(mean)
            if least < 0:
                raise NotProved(f"a sum may be off by more than its distance {mean.least} from 0")
            corners = [corners[0], (Fraction(0), mean.most), (Fraction(1), least), (Fraction(1), mean.most)]
        sizes = {Fraction(1), 1 - max(self._worst(self.row), self.row.lost_start)}
        for form, weight in forms:
            constant, t, y = _linear(form, choice, mean, positive)
            ends = [constant * rho + t * a + y * b for a, b in corners for rho in sizes]
            if min(ends) < 0 < max(ends):
                raise NotProved(f"a relu that {self.name(place)} is made of may be on both sides of 0")
            if max(ends) > 0:
                total = [old + weight * new for old, new in zip(total, (constant, t, y), strict=True)]
        constant, t, y = total
        if y or (constant and t):
            raise NotProved(f"{self.name(place)} is not known to be a multiple of a truth value")
        return (abs(constant), abs(t)), (constant + t > 0) - (constant + t < 0)


def _plain(sign: Sign) -> Sign:
    """Return a sign with a literal that is not negated."""
    value, lit = sign
    return (-value, Lit(lit.node)) if lit is not None and lit.negated else sign


def _combined(terms: Terms, sums: Sequence[_Sum]) -> _Sum:
    found = _Sum()
    for place, value in terms:
        found.add(sums[place], Fraction(value))
    return found


def _common(sums: Sequence[_Sum]) -> MeanValue | None:
    """Return the one comparison that some forms read, up to factors; None if they read none. Raises NotProved for
    several."""
    found: MeanValue | None = None
    for one in sums:
        if one.mean is None or not one.factor:
            continue
        if found is None:
            found = one.mean
        elif _ratio(found, one.mean) is None:
            raise NotProved("the hidden units of one coordinate read two comparisons of one layer")
    return found


def _linear(
    form: _Sum, choice: Mapping[Lit, bool], mean: MeanValue | None, positive: bool | None
) -> tuple[Fraction, Fraction, Fraction]:
    """Return a form as constant + t-part + multiple of |mean|, for a choice of literals and of the mean's sign."""
    constant = sum((value * (1 if lit is None or choice[lit] else -1) for lit, value in form.form.items()), Fraction(0))
    factor = Fraction(0)
    if form.mean is not None and form.factor:
        assert mean is not None
        ratio = _ratio(mean, form.mean)
        assert ratio is not None
        factor = form.factor * ratio * (1 if positive else -1)
    return constant, form.t, factor
