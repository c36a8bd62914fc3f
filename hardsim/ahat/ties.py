"""Leftmost and rightmost hardmax with ties as tieless hardmax: Lemma 8's tie-breaking term, added to the scores.

With g(n) a bound of the gap between the largest and the next smaller score of a row, the score gets the term
`+- g(n) i / (2 (n + 1))` of the key position i. Positions differ by at most n, so it moves scores against each other by
less than g(n)/2: what was no maximum stays at least g(n)/2 below, and of several maxima the rightmost (leftmost) is
ahead of the others by at least g(n)/(2 (n + 1)), which is the new gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hardsim.lang.arith import Arith, parse_arith
from hardsim.net.model import AttentionHead, FeedForward, Layer, Matrix, Schedule, Transformer
from hardsim.spec.ir import Rational, Weighting

RAMP = "tie: i/(2*(n+1))"
"""The name of the key coordinate of the tie-breaking term."""


def break_ties(model: Transformer, gaps: Mapping[str, Schedule]) -> Transformer:
    """The same model with tieless scores in the named heads; `gaps` says for each by how much its scores differ.

    One coordinate for the ramp and one for each head's gap are added; everything else stays as it is.
    """
    names = [RAMP, *(f"tie: gap of {name}" for name in gaps)]
    places = {name: model.dimension + 1 + number for number, name in enumerate(gaps)}
    width = model.dimension + len(names)
    ramp = parse_arith("i/(2*(n+1))")
    encodings = (*model.encodings, (model.dimension, ramp), *((places[name], gap) for name, gap in gaps.items()))
    return replace(
        model,
        coordinates=(*model.coordinates, *names),
        embedding=_wider(model.embedding, width),
        encodings=encodings,
        layers=tuple(_layer(layer, width, model.dimension, places, gaps) for layer in model.layers),
    )


def _layer(layer: Layer, width: int, ramp: int, places: Mapping[str, int], gaps: Mapping[str, Schedule]) -> Layer:
    ffn = layer.ffn
    return Layer(
        tuple(_head(head, width, ramp, places.get(head.name), gaps.get(head.name)) for head in layer.heads),
        FeedForward(_wider(ffn.w1, width), ffn.b1, _taller(ffn.w2, width), (*ffn.b2, *[0] * (width - len(ffn.b2)))),
    )


def _head(head: AttentionHead, width: int, ramp: int, place: int | None, gap: Schedule | None) -> AttentionHead:
    w_q, w_k = _wider(head.w_q, width), _wider(head.w_k, width)
    w_v = _taller(_wider(head.w_v, width), width)
    if place is None:
        return replace(head, w_q=w_q, w_k=w_k, w_v=w_v)
    rows = head.w_q.shape[0]
    sign = -1 if head.weighting is Weighting.LEFTMOST else 1
    return replace(
        head,
        w_q=_with_row(w_q, rows, place, 1),
        w_k=_with_row(w_k, rows, ramp, sign),
        w_v=w_v,
        gap=parse_arith(f"({gap})/(2*(n+1))") if isinstance(gap, Arith) else None,
    )


def _wider(matrix: Matrix, columns: int) -> Matrix:
    return Matrix((matrix.shape[0], columns), matrix.entries)


def _taller(matrix: Matrix, rows: int) -> Matrix:
    return Matrix((rows, matrix.shape[1]), matrix.entries)


def _with_row(matrix: Matrix, row: int, column: int, value: Rational) -> Matrix:
    return Matrix((row + 1, matrix.shape[1]), (*matrix.entries, (row, column, value)))
