"""Theorem 26: how far the softmax model can be from the hard-attention model, layer by layer, and which temperature
makes that small enough.

The steps are Lemmas 30 to 34, taken coordinate by coordinate instead of with one norm for all (ours; each step is the
triangle inequality on the rows of the matrix that the lemma bounds by a norm, so that no coordinate's bound is larger
than the lemma's):

 - scores: with query forms of size at most Q off by at most q, key forms of size K off by k, a product is off by
   at most Q k + K q + q k; eta is their sum over the rows of W_Q and W_K;
 - weights: the bound of `theory.perturbation.weight_distance` with this eta, query by query;
 - attention: a value form off by v and between `low` and `high` in the hard model moves by at most v + D min(size,
   (high - low)/2), D the distance of the weights: the differences of weights sum to 0, so the middle of the values
   may be subtracted;
 - the feed-forward network: relu does not expand, and a pair relu(z) - relu(z - 1) whose input is off by e gives the
   very same number if every hard z is at most -e or at least 1 + e, and moves by at most min(e, 1) otherwise.

All bounds are exact rationals rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hardsim.ahat.exact import visible_sums
from hardsim.ahat.measure import HeadFacts, LayerFacts, LengthFacts
from hardsim.net.model import AttentionHead, FeedForward, Matrix, Transformer
from hardsim.spec.ir import Weighting
from hardsim.theory.outward import round_up
from hardsim.theory.perturbation import FARTHEST, weight_distance

ZERO = Fraction(0)

Gaps = Mapping[str, Sequence[Fraction | None]]
"""The score gap of each head by query index."""


@dataclass(frozen=True)
class LayerBounds:
    """Bounds of |soft - hard| by coordinate after attention and after the layer; by head, of the distance of its
    weights in the 1-norm and (`etas`) of its scores' error."""

    attended: tuple[Fraction, ...]
    final: tuple[Fraction, ...]
    distances: dict[str, Fraction]
    etas: dict[str, Fraction]
    values: dict[tuple[str, int], Fraction]
    """By head and output coordinate: of the attended value's error."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of every layer."""

    layers: tuple[LayerBounds, ...]

    @property
    def final(self) -> Fraction:
        """Of the largest error of a coordinate at the end."""
        return max(self.layers[-1].final, default=ZERO) if self.layers else ZERO


def error_bounds(model: Transformer, facts: LengthFacts, inverse: Sequence[Fraction], gaps: Gaps) -> Bounds:
    """The recursion at one length.

    Args:
        facts: what the hard model did; the bounds hold for the words that it was measured on (and for all words of the
            length if these were all).
        inverse: 1/tau by query index.
        gaps: by head that is not uniform, the score gap that each query is known to have.
    """
    errors = [ZERO] * model.dimension
    found: list[LayerBounds] = []
    for layer, seen in zip(model.layers, facts.layers, strict=True):
        distances: dict[str, Fraction] = {}
        etas: dict[str, Fraction] = {}
        values: dict[tuple[str, int], Fraction] = {}
        attended = list(errors)
        for head in layer.heads:
            if head.name in seen.heads:
                rows = seen.heads[head.name]
                etas[head.name] = _score_error(head, rows, errors)
                distances[head.name] = _distance(model, head, rows, gaps[head.name], etas[head.name], inverse)
            for out, moved in _value_errors(head, seen, errors, distances.get(head.name, ZERO)).items():
                values[head.name, out] = moved
                attended[out] += moved
        errors = _feed_forward(layer.ffn, seen, attended)
        found.append(LayerBounds(tuple(attended), tuple(errors), distances, etas, values))
    return Bounds(tuple(found))


def _reach(form: Mapping[int, Fraction | int], errors: Sequence[Fraction]) -> Fraction:
    """By how much a linear form is off."""
    return sum((abs(Fraction(value)) * errors[index] for index, value in form.items()), ZERO)


def _score_error(head: AttentionHead, rows: HeadFacts, errors: Sequence[Fraction]) -> Fraction:
    total = ZERO
    pairs = zip(head.w_q.rows(), head.w_k.rows(), rows.sizes, strict=True)
    for query, key, (query_size, key_size) in pairs:
        q, k = _reach(query, errors), _reach(key, errors)
        total += query_size * k + key_size * q + q * k
    return round_up(total)


def _distance(
    model: Transformer,
    head: AttentionHead,
    rows: HeadFacts,
    gaps: Sequence[Fraction | None],
    eta: Fraction,
    inverse: Sequence[Fraction],
) -> Fraction:
    """The largest distance of hard and soft weights over the queries.

    Softmax shares its weight among tied maxima as average hardmax does: to the leftmost or rightmost of them it need
    not come any nearer than two weightings always are.
    """
    if head.weighting in (Weighting.LEFTMOST, Weighting.RIGHTMOST) and max(rows.most) > 1:
        return FARTHEST
    seen = visible_sums(head.mask, np.ones(len(inverse), dtype=np.int64), model.bos)
    known: dict[tuple[int, int, int, Fraction | None, Fraction], Fraction] = {}
    for query, beta in enumerate(inverse):
        key = int(seen[query]), rows.fewest[query], rows.most[query], gaps[query], beta
        if key not in known:
            known[key] = row_distance(*key, eta)
    return max(known.values())


def row_distance(
    positions: int, fewest: int, most: int, gap: Fraction | None, inverse: Fraction, eta: Fraction
) -> Fraction:
    """THEORY's general hardmax bound for rows with `fewest` to `most` maxima among the visible positions.

    Its first term falls as the number of maxima m grows, its second does not depend on it once m > 1.
    """
    rest = ZERO if gap is None else weight_distance(positions, fewest, gap, eta, 1 / inverse)
    if most == 1:
        return rest
    # All positions that share the maximum: only the second term is left.
    shared = weight_distance(most, most, Fraction(1), eta, 1 / inverse)
    return min(Fraction(2), rest if fewest > 1 and gap is not None else rest + shared)


def _value_errors(
    head: AttentionHead, seen: LayerFacts, errors: Sequence[Fraction], distance: Fraction
) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for out, form in enumerate(head.w_v.rows()):
        if form:
            low, high = seen.values[head.name, out]
            size = min(max(abs(low), abs(high)), (high - low) / 2)
            found[out] = round_up(_reach(form, errors) + distance * size)
    return found


def _feed_forward(ffn: FeedForward, seen: LayerFacts, attended: Sequence[Fraction]) -> list[Fraction]:
    forms = ffn.w1.rows()
    outs = columns_of(ffn.w2)
    paired = clip_pairs(ffn)
    errors = list(attended)
    for unit, form in enumerate(forms):
        if unit in paired.values():
            continue  # its partner speaks for both
        moved = _reach(form, attended)
        if unit in paired:
            moved = ZERO if moved <= seen.margins[unit] else min(moved, Fraction(1))
        elif seen.tops[unit] + moved <= 0:
            moved = ZERO  # never active, in neither model
        for out, weight in outs[unit].items():
            errors[out] += abs(Fraction(weight)) * moved
    return [round_up(error) for error in errors]


def columns_of(matrix: Matrix) -> list[dict[int, Fraction | int]]:
    """The non-zero entries of every column, by row."""
    columns: list[dict[int, Fraction | int]] = [{} for _ in range(matrix.shape[1])]
    for row, column, value in matrix.entries:
        columns[column][row] = value
    return columns


def clip_pairs(ffn: FeedForward) -> dict[int, int]:
    """The hidden units relu(z), with the unit relu(z - 1) that takes away as much: together a clip to [0, 1]."""
    forms = [tuple(sorted(form.items())) for form in ffn.w1.rows()]
    outs = [tuple(sorted(column.items())) for column in columns_of(ffn.w2)]
    places: dict[object, list[int]] = {}
    for unit, form in enumerate(forms):
        places.setdefault((form, ffn.b1[unit], outs[unit]), []).append(unit)
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for unit, form in enumerate(forms):
        mirrored = tuple((out, -weight) for out, weight in outs[unit])
        partners = [other for other in places.get((form, ffn.b1[unit] - 1, mirrored), []) if other not in used]
        if unit not in used and outs[unit] and partners and partners[0] != unit:
            pairs[unit] = partners[0]
            used |= {unit, partners[0]}
    return pairs
