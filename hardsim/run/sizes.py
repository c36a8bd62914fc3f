"""Bounds of the absolute values of coordinates and logits, from the weights alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt

from hardsim.lang.reals import Real, RealNumber, bounds, upper
from hardsim.network.columns import real_value
from hardsim.network.transformer import Terms, Transformer


def magnitudes(model: Transformer, n: int) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
    """Yield, layer by layer, bounds of |coordinate| before and after attention, over all positions and words of
    length n.

    Bounds are propagated coordinate by coordinate: attention is a convex combination, a clip is at most its cap. After
    a norm the sum of squares is at most d, so that a coordinate is at most sqrt(d).
    """
    normalized = [Fraction(isqrt(model.dimension) + 1)] * model.dimension
    size: list[Fraction] = [Fraction(0)] * model.dimension
    for _, column, value in model.embedding.entries:
        size[column] = max(size[column], _size(value))
    for column, encoding in model.encodings:
        size[column] += max(_size(real_value(encoding, i, n)) for i in range(model.first, n + 1))
    for layer in model.layers:
        grown = list(size)
        for head in layer.heads:
            for out, form in head.values:
                grown[out] += reach(form, size)
        if layer.norm_1 is not None:
            grown = normalized
        yield size, grown
        added = [Fraction(0)] * model.dimension
        for unit in layer.ffn.units:
            form, bias = (unit.cap, unit.cap_bias) if unit.clip else (unit.form, unit.bias)
            top = reach(form, grown) + _size(bias)
            for out, weight in unit.outs:
                added[out] += _size(weight) * top
        for out, bias in layer.ffn.biases:
            added[out] += _size(bias)
        size = [old + new for old, new in zip(grown, added, strict=True)] if layer.norm_2 is None else normalized


def reach(form: Terms, size: Sequence[Fraction]) -> Fraction:
    """Return a bound of |form| for a linear form of coordinates with these bounds."""
    return sum((_size(value) * size[column] for column, value in form), Fraction(0))


def largest_inverse(model: Transformer, n: int) -> Fraction:
    """Return the largest 1/tau over the positions of words of length n, or a rational above it."""
    positions = range(model.first, n + 1) if "i" in model.temperature.variables else (n,)
    return max(upper(model.inverse_temperature(i, n)) for i in positions)


def largest_logit(model: Transformer, n: int) -> Fraction:
    """Return a bound of |s_ij / tau| over all heads, positions and words of length n, in nats."""
    scores = (
        sum((reach(q, size) * reach(k, size) for q, k in head.scores), Fraction(0))
        for layer, (size, _) in zip(model.layers, magnitudes(model, n), strict=True)
        for head in layer.heads
    )
    return max(scores, default=Fraction(0)) * largest_inverse(model, n)


def _size(value: RealNumber) -> Fraction:
    """Return a rational that is at least the absolute value."""
    return max(map(abs, bounds(value))) if isinstance(value, Real) else abs(Fraction(value))
