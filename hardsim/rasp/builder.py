"""Hard-attention transformers put together by name: coordinates, heads, hidden units.

Every coordinate is written once: by the embedding or the position encoding, by one head, or by some hidden units. What
writes it goes into the first layer that can read all its inputs, so independent work shares a layer; heads with the
same mask and score in one layer are one head with several values. Indices appear once, in `build`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from hardsim.lang.arith import parse_arith
from hardsim.net.model import AttentionHead, FeedForward, Layer, Matrix, Transformer
from hardsim.spec.ir import ONE, Affine, Mask, Rational, Weighting

Pair: TypeAlias = tuple[Affine, Affine]
"""One term of a score: a form of the query's coordinates times a form of the key's."""
Unit: TypeAlias = tuple[Rational, Affine]
"""A hidden unit: `weight * relu(form)`."""

HALF = Fraction(1, 2)


@dataclass
class _Head:
    """A head so far; `values` is what each output coordinate receives."""

    name: str
    mask: Mask
    score: tuple[Pair, ...]
    gap: str
    values: dict[str, Affine] = field(default_factory=dict)


@dataclass
class _Layer:
    """A layer so far; `units` are the hidden units of each output coordinate."""

    heads: dict[tuple[Mask, tuple[Pair, ...]], _Head] = field(default_factory=dict)
    units: dict[str, tuple[Unit, ...]] = field(default_factory=dict)


class Builder:
    """A transformer under construction.

    A coordinate is known from a time on: 0 for the embedding, 2l - 1 for what the attention of layer l writes, 2l for
    its feed-forward network.

    Args:
        symbols: the rows of the word embedding; one more follows, for the beginning of the sequence.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = tuple(symbols)
        self._times: dict[str, int] = {ONE: 0}
        self._letters: dict[str, frozenset[str]] = {ONE: frozenset(symbols)}
        self._encodings: dict[str, str] = {}
        self._layers: list[_Layer] = []
        self._units: dict[tuple[Unit, ...], str] = {}
        self._reads: dict[tuple[Mask, tuple[Pair, ...], Affine], str] = {}

    # ---- coordinates ----

    def letter(self, name: str, symbols: Iterable[str]) -> Affine:
        """A coordinate of the word embedding: 1 on these symbols; 0 on the others and at the beginning."""
        self._times[name] = 0
        self._letters[name] = frozenset(symbols)
        return Affine.coordinate(name)

    def encoding(self, text: str) -> Affine:
        """A coordinate of the position encoding: an expression in i and n, which is its name, too."""
        self._times[text] = 0
        self._encodings[text] = text
        return Affine.coordinate(text)

    def time(self, *forms: Affine) -> int:
        """When all of some forms are known."""
        return max((self._times[name] for form in forms for name, _ in form.terms), default=0)

    def _fresh(self, name: str, time: int) -> str:
        """A new coordinate, numbered if the name is taken."""
        number, free = 1, name
        while free in self._times:
            number += 1
            free = f"{name} ({number})"
        self._times[free] = time
        return free

    def _layer(self, number: int) -> _Layer:
        """Layer number 1, 2, ..."""
        while len(self._layers) < number:
            self._layers.append(_Layer())
        return self._layers[number - 1]

    # ---- heads and hidden units ----

    def attend(self, name: str, mask: Mask, score: Iterable[Pair], gap: str, value: Affine) -> Affine:
        """What a head reads: a new coordinate with the attended value. No score: the mean of what the mask allows.

        Args:
            gap: the declared score gap of every row of positions, in i and n (unused by uniform attention).
        """
        terms = _canonical(score)
        if (mask, terms, value) in self._reads:
            return Affine.coordinate(self._reads[mask, terms, value])
        known = self.time(value, *(form for pair in terms for form in pair))
        number = (known + 1) // 2 + 1
        out = self._fresh(name, 2 * number - 1)
        heads = self._layer(number).heads
        head = heads.setdefault((mask, terms), _Head(out, mask, terms, gap))
        head.values[out] = value
        self._reads[mask, terms, value] = out
        return Affine.coordinate(out)

    def hidden(self, name: str, units: Iterable[Unit]) -> Affine:
        """A new coordinate with the sum of some hidden units."""
        wanted = tuple(units)
        if wanted not in self._units:
            number = self.time(*(form for _, form in wanted)) // 2 + 1
            out = self._fresh(name, 2 * number)
            self._layer(number).units[out] = wanted
            self._units[wanted] = out
        return Affine.coordinate(self._units[wanted])

    def thresholds(self, name: str, terms: Iterable[tuple[int, Affine]]) -> Affine:
        """A new coordinate with the sum of `weight * [form >= 1]` over forms whose values are integers.

        Each is a clip pair, `relu(2x - 1/2) - relu(2x - 3/2)`, adjacent and in this order: it is 0 for x <= 1/4, 1 for
        x >= 3/4, so an error of less than 1/4 in x is gone after it (Lemma 9).
        """
        units: list[Unit] = []
        for weight, form in terms:
            double = form.scaled(2)
            units.append((weight, double - Affine.constant(HALF)))
            units.append((-weight, double - Affine.constant(3 * HALF)))
        return self.hidden(name, units)

    # ---- assembly ----

    def prune(self, wanted: Iterable[str]) -> None:
        """Drop every coordinate that none of the wanted ones depends on, with what writes it."""
        live = {ONE, *wanted}
        for layer in reversed(self._layers):
            layer.units = {out: units for out, units in layer.units.items() if out in live}
            live |= {name for units in layer.units.values() for _, form in units for name, _ in form.terms}
            for head in layer.heads.values():
                head.values = {out: form for out, form in head.values.items() if out in live}
            layer.heads = {key: head for key, head in layer.heads.items() if head.values}
            forms = [form for head in layer.heads.values() for pair in head.score for form in pair]
            forms += [form for head in layer.heads.values() for form in head.values.values()]
            live |= {name for form in forms for name, _ in form.terms}
        while self._layers and not self._layers[-1].heads and not self._layers[-1].units:
            self._layers.pop()
        self._times = {name: time for name, time in self._times.items() if name in live}
        self._letters = {name: symbols for name, symbols in self._letters.items() if name in live}
        self._encodings = {name: text for name, text in self._encodings.items() if name in live}

    @property
    def index(self) -> Mapping[str, int]:
        """The index of each coordinate: embedding and encodings first, then what each layer writes, in order."""
        names = sorted(self._times, key=lambda name: self._times[name])
        return {name: number for number, name in enumerate(names)}

    def build(self, output: str) -> Transformer:
        """The transformer; it accepts where coordinate `output` is above 1/2 at the last position.

        Its temperature is 1 and means nothing: hard attention has none.
        """
        index = self.index
        rows = [*({symbol} for symbol in self.symbols), set[str]()]
        embedding: dict[tuple[int, int], Rational] = {
            (number, index[name]): 1
            for number, row in enumerate(rows)
            for name, symbols in self._letters.items()
            if name == ONE or row & symbols
        }
        return Transformer(
            alphabet=self.symbols,
            coordinates=tuple(index),
            embedding=Matrix.of(len(rows), len(index), embedding),
            encodings=tuple((index[name], parse_arith(text)) for name, text in self._encodings.items()),
            layers=tuple(_assembled(layer, index) for layer in self._layers),
            temperature=parse_arith("1"),
            output=index[output],
            bos=True,
            threshold=HALF,
        )


def _canonical(score: Iterable[Pair]) -> tuple[Pair, ...]:
    """The score with one term for each form of the query, and none that is zero."""
    total: dict[Affine, Affine] = {}
    for query, key in score:
        total[query] = total.get(query, Affine()) + key
    return tuple((query, key) for query, key in total.items() if query.terms and key.terms)


def _assembled(layer: _Layer, index: Mapping[str, int]) -> Layer:
    d = len(index)
    heads = tuple(
        AttentionHead(
            name=head.name,
            mask=head.mask,
            w_q=_matrix([query for query, _ in head.score], index),
            w_k=_matrix([key for _, key in head.score], index),
            w_v=Matrix.of(
                d, d, {(index[out], index[name]): c for out, form in head.values.items() for name, c in form.terms}
            ),
            weighting=Weighting.AVERAGE,
            gap=parse_arith(head.gap) if head.score else None,
        )
        for head in layer.heads.values()
    )
    return Layer(heads, _feed_forward(layer, index))


def _matrix(forms: Sequence[Affine], index: Mapping[str, int]) -> Matrix:
    """One row per linear form."""
    entries = {(row, index[name]): value for row, form in enumerate(forms) for name, value in form.terms}
    return Matrix.of(len(forms), len(index), entries)


def _feed_forward(layer: _Layer, index: Mapping[str, int]) -> FeedForward:
    """One row of W_1 per hidden unit; the constant coordinate becomes its bias."""
    w1: dict[tuple[int, int], Rational] = {}
    w2: dict[tuple[int, int], Rational] = {}
    biases: list[Rational] = []
    for out, units in layer.units.items():
        for weight, form in units:
            terms = dict(form.terms)
            w2[index[out], len(biases)] = weight
            biases.append(terms.pop(ONE, 0))
            w1 |= {(len(biases) - 1, index[name]): value for name, value in terms.items()}
    d, m = len(index), len(biases)
    return FeedForward(Matrix.of(m, d, w1), tuple(biases), Matrix.of(d, m, w2), (0,) * d)
