"""A softmax model in float64, for a batch of words at once, with rigorous enclosures (midpoint and radius).

For models whose activations are not rounded to Booleans: scores may read what attention wrote. Every number is a
midpoint m and a radius r with |x - m| <= r for the exact x. With u = 2^-53 and gamma_k = k u/(1 - k u):

 - linear forms are those of `enclosure.combine`, and rationals become floats as they do there;
 - logits are shifted by their row's largest midpoint, so that the largest weight is e^0; a logit off by e changes its
   weight by a factor within 1 +- d, d = expm1(e), and numpy's exp is taken to be right to `run.enclosure`'s EXP_ERROR;
 - with weights w_j off by factors 1 + d_j the mean moves by at most `sum w_j |d_j| |v_j - mean| / sum w_j (1 - |d_j|)`;
   scores are never held for more than a chunk of words or queries (`float_model_heads`);
 - relu does not expand; a clip is one monotone function, exactly 0 or 1 where its enclosure is outside (0, 1).

Radii are computed in float64 too, and made larger by `enclosure.outward` to cover their own rounding and what
underflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hardsim.net.model import Transformer
from hardsim.run.enclosure import (
    LARGEST_EXACT,
    Block,
    Booleans,
    Floats,
    U,
    clipped,
    combine,
    floats,
    gamma,
    outward,
    rounded,
)
from hardsim.run.float_model_heads import Enclosed, Scores, Views, attended
from hardsim.run.plan import LayerPlan, Terms, Unit, make_plan
from hardsim.spec.ir import Mask, Rational

__all__ = ["Enclosed", "FloatModel", "FloatTrace"]

CELLS = 1 << 18
"""Positions of a batch, over all words: two megabytes for each column."""


@dataclass
class FloatTrace:
    """What a model did on a batch: the residual stream by coordinate after attention and after each layer, and what
    each head wrote, by name and coordinate.

    `margin` is about the least distance of a value that a clip rounds from its threshold, word by word (infinite where
    nothing is rounded): no bound, but what a search for hard words goes by.
    """

    columns: list[Enclosed]
    layers: list[tuple[list[Enclosed], list[Enclosed]]]
    attended: dict[tuple[str, int], Enclosed]
    margin: Floats

    def bounded(self) -> Booleans:
        """Of which words everything has finite bounds."""
        columns = [column for stages in self.layers for stage in stages for column in stage]
        found = np.ones(len(self.margin), dtype=np.bool_)
        for column in (*columns, *self.attended.values()):
            found &= (np.isfinite(column.mid) & np.isfinite(column.rad)).all(axis=1)
        return found


class FloatModel:
    """A softmax model ready to run batches of words of one length."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.plan = make_plan(model)
        self._rows = model.embedding.rows()
        self._length = 0
        self._tables: list[tuple[Floats, Floats | None]] = []
        """By coordinate, embedding plus encoding by symbol and position, and their radii if there are any."""
        self._inverse: Floats = np.zeros(0)
        self._loose: Floats = np.zeros(0)
        """How far 1/tau may be off, where that is more than a rounding."""
        self._views: dict[Mask, Views] = {}

    def batch_size(self, n: int) -> int:
        """How many words of length n to run at once."""
        return max(1, CELLS // (n + 1))

    def run(self, words: Sequence[Sequence[str]]) -> FloatTrace:
        """Run the model on words of one length."""
        self._prepare(len(words[0]))
        columns = self._embed(words)
        trace = FloatTrace(columns, [], {}, np.full(len(words), np.inf))
        with np.errstate(all="ignore"):
            for layer in self.plan.layers:
                attended = self._attention(layer, columns, trace)
                columns = self._feed_forward(layer, attended, trace)
                trace.layers.append((attended, columns))
        trace.columns = columns
        return trace

    def _prepare(self, n: int) -> None:
        """Encodings, temperatures and masks of a length."""
        if n == self._length:
            return
        self._length = n
        model = self.model
        positions = range(model.first, n + 1)
        encoded: list[list[Rational]] = [[0] * len(positions) for _ in range(model.dimension)]
        for index, encoding in model.encodings:
            old = encoded[index]
            encoded[index] = [a + encoding.evaluate(i=i, n=n) for i, a in zip(positions, old, strict=True)]
        self._tables = [self._table(coordinate, values) for coordinate, values in enumerate(encoded)]
        self._inverse, off = floats([model.inverse_temperature(i, n) for i in positions])
        self._loose = np.where(off <= 2 * U * self._inverse, 0.0, off)
        self._views = {}

    def _table(self, coordinate: int, encoded: Sequence[Rational]) -> tuple[Floats, Floats | None]:
        """Embedding plus encoding of one coordinate, added exactly and rounded once: (symbols, positions)."""
        rows: dict[Rational, tuple[Floats, Floats]] = {}
        for row in self._rows:
            shared = row.get(coordinate, 0)
            if shared not in rows:
                rows[shared] = floats([shared + value for value in encoded])
        mid, rad = (np.stack([rows[row.get(coordinate, 0)][side] for row in self._rows]) for side in (0, 1))
        return mid, rad if rad.any() else None

    def _seen(self, mask: Mask) -> Views:
        """What each query sees."""
        known = self._views.get(mask)
        if known is None:
            known = self._views[mask] = Views(mask, self._length + self.model.bos, self.model.bos)
        return known

    def _embed(self, words: Sequence[Sequence[str]]) -> list[Enclosed]:
        """Embedding plus encoding."""
        index_of = self.model.symbol_index
        symbols = np.array([[index_of[symbol] for symbol in word] for word in words], dtype=np.int64)
        if self.model.bos:
            start = np.full((len(words), 1), len(self.model.alphabet), dtype=np.int64)
            symbols = np.concatenate([start, symbols], axis=1)
        columns: list[Enclosed] = []
        places = np.arange(symbols.shape[1])
        for table, radii in self._tables:
            mid = table[symbols, places]
            columns.append(Enclosed(mid, np.zeros_like(mid) if radii is None else radii[symbols, places]))
        return columns

    # ---- forms ----

    def _form(self, form: Terms, bias: Rational, columns: Sequence[Enclosed]) -> Enclosed:
        """A linear form; exact where a single coordinate is taken once."""
        if len(form) == 1 and form[0][1] == 1 and not bias:
            return columns[form[0][0]]
        start, off = rounded(bias)
        shape = columns[0].mid.shape
        found = combine(
            [(value, Block(columns[index].mid, columns[index].rad)) for index, value in form],
            Block(np.full(shape, start), np.full(shape, off)),
        )
        return Enclosed(found.mid, found.radius)

    # ---- attention ----

    def _attention(self, layer: LayerPlan, columns: list[Enclosed], trace: FloatTrace) -> list[Enclosed]:
        stream = list(columns)
        for head in layer.heads:
            values = [self._form(form, 0, columns) for _, form in head.values]
            if not head.scores:
                found = [self._uniform(value, head.mask) for value in values]
            elif values:
                queries = [self._form(query, 0, columns) for query, _ in head.scores]
                keys = [self._form(key, 0, columns) for _, key in head.scores]
                found = attended(Scores.of(queries, keys, self._inverse, self._loose), values, self._seen(head.mask))
            else:
                found = []
            for (out, _), value, mean in zip(head.values, values, found, strict=True):
                moved = self._alone(mean, value, head.mask)
                trace.attended[head.name, out] = moved
                stream[out] = _sum(stream[out], moved)
        return stream

    def _alone(self, mean: Enclosed, value: Enclosed, mask: Mask) -> Enclosed:
        """A query that sees one position alone takes its value as it is; so do means of nothing but zeros."""
        views = self._seen(mask)
        lone, key = views.lone, views.only
        if len(lone):
            mean.mid[:, lone], mean.rad[:, lone] = value.mid[:, key], value.rad[:, key]
        empty = ~(value.mid.any(axis=1) | value.rad.any(axis=1))
        mean.mid[empty], mean.rad[empty] = 0, 0
        return mean

    def _uniform(self, value: Enclosed, mask: Mask) -> Enclosed:
        views = self._seen(mask)
        mid, size = views.means(value.mid), views.means(np.abs(value.mid))
        rad = views.means(value.rad) if value.rad.any() else np.zeros_like(mid)
        return Enclosed(mid, outward(rad + gamma(views.size + 3) * size))

    # ---- the feed-forward network ----

    def _feed_forward(self, layer: LayerPlan, columns: list[Enclosed], trace: FloatTrace) -> list[Enclosed]:
        parts: dict[int, list[tuple[Rational, Enclosed]]] = {}
        for unit in layer.units:
            inputs = self._form(unit.form, unit.bias, columns)
            if unit.clip and unit.decides:
                trace.margin = np.minimum(trace.margin, (np.maximum(-inputs.mid, inputs.mid - 1) / 2).min(axis=1))
            value = self._activated(unit, inputs)
            for out, weight in unit.outs:
                parts.setdefault(out, []).append((weight, value))
        result = list(columns)
        biases = dict(layer.biases)
        for out in {*parts, *biases}:
            terms = [(1, columns[out]), *parts.get(out, [])]
            if not columns[out].mid.any() and not columns[out].rad.any():
                terms = terms[1:]  # an empty place in the residual stream adds nothing, not even rounding
            forms = tuple((number, weight) for number, (weight, _) in enumerate(terms))
            blank = [Enclosed(np.zeros_like(columns[out].mid), np.zeros_like(columns[out].mid))]
            result[out] = self._exactly(forms, biases.get(out, 0), [value for _, value in terms] or blank)
        return result

    def _exactly(self, form: Terms, bias: Rational, columns: Sequence[Enclosed]) -> Enclosed:
        """A linear form, without a radius where all numbers are integers whose sizes add up to one that is exact."""
        found = self._form(form, bias, columns)
        whole = bias.denominator == 1 and all(weight.denominator == 1 for _, weight in form)
        if not whole or any(columns[index].rad.any() for index, _ in form):
            return found
        size = abs(bias.numerator)
        for index, weight in form:
            mid = columns[index].mid
            largest = np.abs(mid).max()
            if not largest < LARGEST_EXACT or not (mid == np.round(mid)).all():
                return found
            size += abs(weight.numerator) * int(largest)
        return Enclosed(found.mid, np.zeros_like(found.rad)) if size < LARGEST_EXACT else found

    def _activated(self, unit: Unit, value: Enclosed) -> Enclosed:
        low, high = clipped(value.mid, value.rad)
        if not unit.clip:
            return Enclosed(np.maximum(value.mid, 0), np.where(low, 0.0, value.rad))
        return Enclosed(np.clip(value.mid, 0, 1), np.where(low | high, 0.0, value.rad))


def _sum(left: Enclosed, right: Enclosed) -> Enclosed:
    if not left.mid.any() and not left.rad.any():
        return right
    mid = left.mid + right.mid
    return Enclosed(mid, outward(left.rad + right.rad + np.abs(mid) * U))
