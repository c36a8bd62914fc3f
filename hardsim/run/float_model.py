"""A softmax model in float64, for a batch of words at once, with rigorous enclosures (midpoint and radius).

For models whose activations are not rounded to Booleans: scores may read what attention wrote. Every number is a
midpoint m and a radius r with |x - m| <= r for the exact x. With u = 2^-53 and gamma_k = k u/(1 - k u):

 - sums of k products are off by at most gamma_(k + 2) times the sum of the absolute values, whatever their order, with
   coefficients rounded once (standard model; numpy's matmul may fuse or reorder, which the bound allows);
 - logits are shifted by their row's largest midpoint, so that the largest weight is e^0; a logit off by e changes its
   weight by a factor within 1 +- d, d = expm1(e), and numpy's exp is taken to be right to `run.enclosure`'s EXP_ERROR;
 - with weights w_j off by factors 1 + d_j the mean moves by at most `sum w_j |d_j| |v_j - mean| / sum w_j (1 - |d_j|)`;
 - relu does not expand; a clip is one monotone function, exactly 0 or 1 where its enclosure is outside (0, 1).

Radii are computed in float64 too, and multiplied by 1 + SLACK to cover their own rounding: each is a sum of at most
some thousands of positive terms. Underflow is covered by TINY, far above the least normal number and far below any
radius that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.net.model import Transformer
from hardsim.run.enclosure import EXP_ERROR
from hardsim.run.plan import HeadPlan, LayerPlan, Terms, Unit, make_plan
from hardsim.run.weights import View
from hardsim.spec.ir import Mask, Rational

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

U = 2.0**-53
SLACK = 2.0**-30
TINY = 2.0**-900
CELLS = 1 << 20
"""Scores of a batch: eight megabytes for each array of them."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Numbers of shape (words, positions): midpoints and radii."""

    mid: Floats
    rad: Floats

    def row(self, word: int) -> tuple[Floats, Floats]:
        """Lower and upper ends for one word, rounded outwards."""
        mid, rad = self.mid[word], grown(self.rad[word])
        return mid - rad, mid + rad


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


def gamma(k: int) -> float:
    """k u/(1 - k u), rounded up."""
    return k * U / (1 - k * U) * (1 + 4 * U)


def grown(radius: Floats) -> Floats:
    """A radius that covers the rounding of its own computation."""
    result: Floats = radius * (1 + SLACK) + TINY
    return result


def nearest(value: Rational) -> float:
    """The nearest float64."""
    return float(Fraction(value))


class FloatModel:
    """A softmax model ready to run batches of words of one length."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.plan = make_plan(model)
        self._rows = model.embedding.rows()
        self._length = 0
        self._encoded: list[list[Rational]] = []
        self._inverse: Floats = np.zeros(0)
        self._views: dict[Mask, NDArray[np.bool_]] = {}

    def batch_size(self, n: int) -> int:
        """How many words of length n to run at once."""
        return max(1, CELLS // (n + 1) ** 2)

    def run(self, words: Sequence[Sequence[str]]) -> FloatTrace:
        """Run the model on words of one length."""
        self._prepare(len(words[0]))
        columns = self._embed(words)
        trace = FloatTrace(columns, [], {}, np.full(len(words), np.inf))
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
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
        self._encoded = [[0] * len(positions) for _ in range(model.dimension)]
        for index, encoding in model.encodings:
            old = self._encoded[index]
            self._encoded[index] = [a + encoding.evaluate(i=i, n=n) for i, a in zip(positions, old, strict=True)]
        self._inverse = np.array([nearest(model.inverse_temperature(i, n)) for i in positions])
        self._views = {}

    def _seen(self, mask: Mask) -> NDArray[np.bool_]:
        """Which positions (columns) each query (row) sees, by index."""
        known = self._views.get(mask)
        if known is None:
            size = self._length + self.model.bos
            known = np.zeros((size, size), dtype=np.bool_)
            for query in range(size):
                view = View.of(mask, query, size, self.model.bos)
                known[query, view.low : view.high] = True
                known[query, 0] |= view.start
            self._views[mask] = known
        return known

    def _embed(self, words: Sequence[Sequence[str]]) -> list[Enclosed]:
        """Embedding plus encoding, added exactly and rounded once."""
        index_of = self.model.symbol_index
        symbols = np.array([[index_of[symbol] for symbol in word] for word in words], dtype=np.int64)
        if self.model.bos:
            start = np.full((len(words), 1), len(self.model.alphabet), dtype=np.int64)
            symbols = np.concatenate([start, symbols], axis=1)
        columns: list[Enclosed] = []
        places = np.arange(symbols.shape[1])
        for coordinate, encoded in enumerate(self._encoded):
            table = np.array([[nearest(row.get(coordinate, 0) + value) for value in encoded] for row in self._rows])
            whole = all((row.get(coordinate, 0) + value).denominator == 1 for row in self._rows for value in encoded)
            mid = table[symbols, places]
            columns.append(Enclosed(mid, np.zeros_like(mid) if whole else np.abs(mid) * U + TINY))
        return columns

    # ---- forms ----

    def _form(self, form: Terms, bias: Rational, columns: Sequence[Enclosed]) -> Enclosed:
        """A linear form; exact where a single coordinate is taken once."""
        if len(form) == 1 and form[0][1] == 1 and not bias:
            return columns[form[0][0]]
        mid = np.full_like(columns[0].mid, nearest(bias))
        size = np.abs(mid)
        rad = np.zeros_like(mid)
        for index, coefficient in form:
            factor = nearest(coefficient)
            mid = mid + factor * columns[index].mid
            size = size + abs(factor) * np.abs(columns[index].mid)
            rad = rad + abs(factor) * columns[index].rad
        return Enclosed(mid, grown(rad * (1 + 4 * U) + gamma(len(form) + 3) * size))

    # ---- attention ----

    def _attention(self, layer: LayerPlan, columns: list[Enclosed], trace: FloatTrace) -> list[Enclosed]:
        attended = list(columns)
        for head in layer.heads:
            weights = self._weights(head, columns) if head.scores else None
            for out, form in head.values:
                value = self._form(form, 0, columns)
                moved = self._uniform(value, head.mask) if weights is None else _mean(*weights, value)
                moved = self._alone(moved, value, head.mask)
                trace.attended[head.name, out] = moved
                attended[out] = _sum(attended[out], moved)
        return attended

    def _weights(self, head: HeadPlan, columns: Sequence[Enclosed]) -> tuple[Floats, Floats]:
        """Weights before they are divided by their sum, the largest of a row about 1, and by how much they may be
        off as a fraction of themselves; shape (words, queries, keys)."""
        words, size = columns[0].mid.shape
        score = np.zeros((words, size, size))
        total = np.zeros_like(score)
        off = np.zeros_like(score)
        for query_form, key_form in head.scores:
            query, key = self._form(query_form, 0, columns), self._form(key_form, 0, columns)
            q, k = query.mid[:, :, None], key.mid[:, None, :]
            score += q * k
            total += np.abs(q * k)
            if query.rad.any() or key.rad.any():
                off += np.abs(q) * key.rad[:, None, :] + query.rad[:, :, None] * (np.abs(k) + key.rad[:, None, :])
        beta = self._inverse[None, :, None]
        logit = score * beta
        error = (off + total * gamma(len(head.scores) + 4)) * beta * (1 + 8 * U)
        seen = self._seen(head.mask)
        logit = np.where(seen, logit, -np.inf)
        logit = logit - logit.max(axis=2, keepdims=True)
        error = error + np.abs(np.where(seen, logit, 0)) * 2 * U
        weight = np.where(seen, np.exp(logit), 0.0)
        share = np.minimum(np.expm1(np.minimum(grown(error), 700)) * (1 + SLACK) + 2 * EXP_ERROR, 1e300)
        return weight, np.where(seen, share, 0.0)

    def _alone(self, mean: Enclosed, value: Enclosed, mask: Mask) -> Enclosed:
        """A query that sees one position alone takes its value as it is; so do means of nothing but zeros."""
        seen = self._seen(mask)
        lone = np.flatnonzero(seen.sum(axis=1) == 1)
        if len(lone):
            key = seen[lone].argmax(axis=1)
            mean.mid[:, lone], mean.rad[:, lone] = value.mid[:, key], value.rad[:, key]
        empty = ~(value.mid.any(axis=1) | value.rad.any(axis=1))
        mean.rad[empty] = 0
        return mean

    def _uniform(self, value: Enclosed, mask: Mask) -> Enclosed:
        seen = self._seen(mask).astype(np.float64)
        counts = seen.sum(axis=1)
        mid = value.mid @ seen.T / counts
        size = np.abs(value.mid) @ seen.T / counts
        rad = value.rad @ seen.T / counts
        return Enclosed(mid, grown(rad + gamma(len(counts) + 3) * size))

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
        """A linear form, without a radius where all numbers are small integers."""
        found = self._form(form, bias, columns)
        whole = bias.denominator == 1 and all(weight.denominator == 1 for _, weight in form)
        if not whole or any(columns[index].rad.any() for index, _ in form):
            return found
        if (
            all((columns[index].mid == np.round(columns[index].mid)).all() for index, _ in form)
            and (np.abs(found.mid) < 2**50).all()
        ):
            return Enclosed(found.mid, np.zeros_like(found.rad))
        return found

    def _activated(self, unit: Unit, value: Enclosed) -> Enclosed:
        if not unit.clip:
            low = value.mid + value.rad <= 0
            return Enclosed(np.maximum(value.mid, 0), np.where(low, 0.0, value.rad))
        settled = (value.mid - value.rad >= 1) | (value.mid + value.rad <= 0)
        return Enclosed(np.clip(value.mid, 0, 1), np.where(settled, 0.0, value.rad))


def _sum(left: Enclosed, right: Enclosed) -> Enclosed:
    if not left.mid.any() and not left.rad.any():
        return right
    mid = left.mid + right.mid
    return Enclosed(mid, grown(left.rad + right.rad + np.abs(mid) * U))


def _mean(weight: Floats, share: Floats, value: Enclosed) -> Enclosed:
    """The weighted mean of a column for every query."""
    total = weight.sum(axis=2)
    size = weight.shape[2]
    mid = np.einsum("wqk,wk->wq", weight, value.mid) / total
    reach = np.abs(value.mid).max(axis=1)[:, None]
    rounding = gamma(2 * size + 6) * 2 * reach
    spread = np.abs(value.mid[:, None, :] - mid[:, :, None]) + rounding[:, :, None]
    least = np.einsum("wqk,wqk->wq", weight, 1 - np.minimum(share, 1.0))
    moved = np.einsum("wqk,wqk,wqk->wq", weight, share, spread)
    inside = np.einsum("wqk,wk->wq", weight * (1 + np.minimum(share, 1e6)), value.rad)
    with np.errstate(divide="ignore", invalid="ignore"):
        rad = (moved + inside) / (least * (1 - gamma(size + 3)))
    # A row in which nothing is certain is between the extremes of the values.
    widest = 2 * (reach + value.rad.max(axis=1)[:, None])
    rad = np.where(np.isfinite(rad), np.minimum(rad, widest), widest)
    return Enclosed(mid, grown(rad * (1 + SLACK) + rounding))


def as_floats(whole: NDArray[Any], unit: int) -> tuple[Floats, Floats]:
    """The numbers `whole / unit` as float64, and bounds of their rounding."""
    mid = (whole / unit).astype(np.float64)
    return mid, np.abs(mid) * (4 * U) + TINY
