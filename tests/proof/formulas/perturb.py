"""Networks with one number changed: a weight, an encoding, a mask, the temperature or beta."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TypeVar

from hardsim.network.columns import PositionFunction
from tests.support.language import parse_arith
from tests.support.model import Layer, Mask, Matrix, PredicateColumn, Rational, Relus, Transformer
from tests.support.networks import put, scaled

FACTORS = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(11, 10), Fraction(2), Fraction(-1))
Item = TypeVar("Item")
STEPS = (Fraction(-1), Fraction(-1, 4), Fraction(1, 10), Fraction(1))


def changed(value: Rational, rng: Random) -> Rational:
    """Return another number, often close to the value."""
    while True:
        other = value * rng.choice(FACTORS) if rng.random() < 0.6 else value + rng.choice(STEPS)
        if other != value:
            return other


def changed_entry(matrix: Matrix, rng: Random) -> Matrix:
    """Change one entry, mostly one that is not 0."""
    entries = {(row, column): value for row, column, value in matrix.entries}
    rows, columns = matrix.shape
    if entries and rng.random() < 0.85:
        place = rng.choice(sorted(entries))
    else:
        place = (rng.randrange(rows), rng.randrange(columns))
    return put(matrix, *place, changed(entries.get(place, 0), rng))


def with_one(items: Sequence[Item], place: int, item: Item) -> tuple[Item, ...]:
    """Return the items with another one at a place."""
    return (*items[:place], item, *items[place + 1 :])


def changed_one(numbers: tuple[Rational, ...], rng: Random) -> tuple[Rational, ...]:
    """Change one of the numbers."""
    place = rng.randrange(len(numbers))
    return with_one(numbers, place, changed(numbers[place], rng))


def _with_layer(model: Transformer, number: int, layer: Layer) -> Transformer:
    return replace(model, layers=with_one(model.layers, number, layer))


def perturbed(model: Transformer, rng: Random) -> tuple[str, Transformer] | None:
    """Return a name of the change and the changed network; None if the network has no part of the kind that was
    drawn.
    """
    places = [(number, index) for number, layer in enumerate(model.layers) for index in range(len(layer.heads))]
    kind = rng.choice(("query", "key", "value", "ffn", "ffn", "bias", "embedding", "encoding", "mask", "tau", "beta"))
    if kind in ("query", "key", "value", "mask") and places:
        number, index = rng.choice(places)
        layer = model.layers[number]
        old = new = layer.heads[index]
        if kind == "mask":
            new = replace(old, mask=rng.choice([mask for mask in Mask if mask is not old.mask and not mask.strict]))
        elif kind == "value":
            new = replace(old, w_v=changed_entry(old.w_v, rng))
        elif old.scores and kind == "query":
            new = replace(old, w_q=changed_entry(old.w_q, rng))
        elif old.scores:
            new = replace(old, w_k=changed_entry(old.w_k, rng))
        layer = replace(layer, heads=with_one(layer.heads, index, new))
        return None if new == old else (kind, _with_layer(model, number, layer))
    if kind in ("ffn", "bias"):
        choices = [number for number, layer in enumerate(model.layers) if layer.ffn.units]
        if not choices:
            return None
        number = rng.choice(choices)
        layer = model.layers[number]
        relus = Relus.of(layer.ffn, model.dimension)
        if kind == "bias" and rng.random() < 0.3:
            relus = relus._replace(b2=changed_one(relus.b2, rng))
        elif kind == "bias":
            relus = relus._replace(b1=changed_one(relus.b1, rng))
        elif rng.random() < 0.5:
            relus = relus._replace(w1=changed_entry(relus.w1, rng))
        else:
            relus = relus._replace(w2=changed_entry(relus.w2, rng))
        return kind, _with_layer(model, number, replace(layer, ffn=relus.layer()))
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
        return kind, replace(model, encodings=with_one(model.encodings, place, (coordinate, other)))
    if kind == "tau":
        text = rng.choice(("({})*2", "({})*3", "({})/2", "({})*11/10", "({})*9/10", "({})*10"))
        return kind, replace(model, temperature=parse_arith(text.format(model.temperature)))
    if kind == "beta":
        factor = rng.choice((Fraction(1, 4), Fraction(1, 2), Fraction(3, 5), Fraction(3, 4), Fraction(2)))
        layers = []
        for layer in model.layers:
            heads = tuple(replace(head, w_q=scaled(head.w_q, factor)) for head in layer.heads)
            layers.append(replace(layer, heads=heads))
        return kind, replace(model, layers=tuple(layers))
    return None
