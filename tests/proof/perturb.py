"""Networks with one number changed: a weight, an encoding, a mask, the temperature or beta."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

from hardsim.lang.arith import parse_arith
from hardsim.network.columns import PositionFunction, PredicateColumn
from hardsim.network.model import AttentionHead, Layer, Matrix, Transformer
from hardsim.network.numbers import Mask, Rational

FACTORS = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(11, 10), Fraction(2), Fraction(-1))
STEPS = (Fraction(-1), Fraction(-1, 4), Fraction(1, 10), Fraction(1))


def changed(value: Rational, rng: Random) -> Rational:
    """Another number, often close."""
    while True:
        other = value * rng.choice(FACTORS) if rng.random() < 0.6 else value + rng.choice(STEPS)
        if other != value:
            return other


def changed_entry(matrix: Matrix, rng: Random) -> Matrix:
    """One entry changed, mostly one that is not 0."""
    entries: dict[tuple[int, int], Rational] = {(row, column): value for row, column, value in matrix.entries}
    rows, columns = matrix.shape
    if entries and rng.random() < 0.85:
        place = rng.choice(sorted(entries))
    else:
        place = (rng.randrange(rows), rng.randrange(columns))
    entries[place] = changed(entries.get(place, 0), rng)
    return Matrix.of(rows, columns, entries)


def changed_one(numbers: tuple[Rational, ...], rng: Random) -> tuple[Rational, ...]:
    """One number changed."""
    place = rng.randrange(len(numbers))
    return tuple(changed(value, rng) if index == place else value for index, value in enumerate(numbers))


def _with_head(
    model: Transformer, layer: int, head: int, change: Callable[[AttentionHead], AttentionHead]
) -> Transformer:
    old = model.layers[layer]
    heads = tuple(change(item) if index == head else item for index, item in enumerate(old.heads))
    return _with_layer(model, layer, replace(old, heads=heads))


def _with_layer(model: Transformer, number: int, layer: Layer) -> Transformer:
    return replace(model, layers=tuple(layer if index == number else old for index, old in enumerate(model.layers)))


def perturbed(model: Transformer, rng: Random) -> tuple[str, Transformer] | None:
    """What was changed, and the changed network; None where there is nothing of that kind."""
    places = [(number, index) for number, layer in enumerate(model.layers) for index in range(len(layer.heads))]
    kind = rng.choice(("query", "key", "value", "ffn", "ffn", "bias", "embedding", "encoding", "mask", "tau", "beta"))
    if kind in ("query", "key", "value", "mask") and places:
        number, index = rng.choice(places)

        def change(head: AttentionHead) -> AttentionHead:
            if kind == "mask":
                return replace(
                    head, mask=rng.choice([mask for mask in Mask if mask is not head.mask and not mask.strict])
                )
            if kind == "value":
                return replace(head, w_v=changed_entry(head.w_v, rng))
            if not head.scores:
                return head
            if kind == "query":
                return replace(head, w_q=changed_entry(head.w_q, rng))
            return replace(head, w_k=changed_entry(head.w_k, rng))

        result = _with_head(model, number, index, change)
        return None if result == model else (kind, result)
    if kind in ("ffn", "bias"):
        choices = [number for number, layer in enumerate(model.layers) if layer.ffn.b1]
        if not choices:
            return None
        number = rng.choice(choices)
        layer = model.layers[number]
        ffn = layer.ffn
        if kind == "bias" and rng.random() < 0.3:
            ffn = replace(ffn, b2=changed_one(ffn.b2, rng))
        elif kind == "bias":
            ffn = replace(ffn, b1=changed_one(ffn.b1, rng))
        elif rng.random() < 0.5:
            ffn = replace(ffn, w1=changed_entry(ffn.w1, rng))
        else:
            ffn = replace(ffn, w2=changed_entry(ffn.w2, rng))
        return kind, _with_layer(model, number, replace(layer, ffn=ffn))
    if kind == "embedding":
        return kind, replace(model, embedding=changed_entry(model.embedding, rng))
    if kind == "encoding" and model.encodings:
        place = rng.randrange(len(model.encodings))
        coordinate, value = model.encodings[place]
        other: PositionFunction
        if isinstance(value, PredicateColumn):
            other = replace(value, offset=value.offset + 1)
        else:
            text = rng.choice(("({})*11/10", "({})*9/10", "({})+1/10", "({})*i/(i+1)", "-({})", "({})^2"))
            other = parse_arith(text.format(value))
        encodings = tuple((coordinate, other) if index == place else item for index, item in enumerate(model.encodings))
        return kind, replace(model, encodings=encodings)
    if kind == "tau":
        text = rng.choice(("({})*2", "({})*3", "({})/2", "({})*11/10", "({})*9/10", "({})*10"))
        return kind, replace(model, temperature=parse_arith(text.format(model.temperature)))
    if kind == "beta":
        factor = rng.choice((Fraction(1, 4), Fraction(1, 2), Fraction(3, 5), Fraction(3, 4), Fraction(2)))
        layers = []
        for layer in model.layers:
            heads = [
                replace(head, w_q=Matrix.of(*head.w_q.shape, {(r, c): v * factor for r, c, v in head.w_q.entries}))
                for head in layer.heads
            ]
            layers.append(replace(layer, heads=tuple(heads)))
        return kind, replace(model, layers=tuple(layers))
    return None
