"""The forward pass in float64, for all words of a batch at once, with rigorous enclosures.

It runs every compiled network: with a beginning of sequence (at index 0 of every word) or without, under any mask,
read at either end, rounded to Booleans or not. It shares the rules of `unrounded` with the generic pass, and no
arithmetic: every coordinate is a `Block` (see `enclosure` for the error analysis), every head a `HeadPass`. Parts
that are the same for every word of a length are computed once, in rationals where no softmax is involved.

A clip whose input is certainly at most 0 or at least 1 gives exactly 0 or 1. For networks that round everything that
attention wrote (`passes`), a first pass over a batch assumes that all clips saturate. Words in which a clip does not
are run again separately, with enclosures between 0 and 1 in its place. They stay undecided if even then it is not
certain whether a clip of an attended value saturates, or what the output is. Other networks (`trace`) are run with
enclosures at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

import numpy as np

from hardsim.errors import InvariantError
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational
from hardsim.network.transformer import Entering, HiddenUnit, Schedule, Terms, Transformer
from hardsim.run.enclosure import (
    ETA,
    GROW,
    Block,
    Booleans,
    Code,
    Floats,
    Integers,
    U,
    above,
    below,
    between,
    bits,
    clipped,
    codes_of,
    combine,
    fixed,
    known,
    least,
    outward,
    rounded,
)
from hardsim.run.float_attention import HeadPass, Tables
from hardsim.run.float_rows import NO_ROWS, Views, exact_sum, mark_lone, mean, stacked, take
from hardsim.run.float_trust import distrust
from hardsim.run.forward import HALF
from hardsim.run.prefixes import Fork, Joined, Kept, Suffix, causal, fork
from hardsim.run.unrounded import QUARTER, extend

BATCH = 2**16
"""The greatest number of symbols in a batch: half a megabyte for each array that depends on the word."""
MORE = 4
"""The factor by which a batch may have more words if they share their prefixes."""
WORK = 2**27
"""The approximate number of bytes that the columns of a batch may take."""

Bounds = tuple[Floats, Floats]
"""Lower and upper bounds of one number, each an array with an entry for each word, (words,)."""
Place = tuple[int | str, ...]
"""The key of a linear form of the network: layer, number, purpose, coordinate."""


@dataclass(slots=True)
class BatchTrace:
    """The results of a network on some words, at n positions (with a beginning of sequence, one more than symbols).

    `columns` is the residual stream after the last layer by coordinate. `attended` is the output of each head, by
    name and coordinate (shape (words or 1, n)). `layers`, if requested, holds the residual stream after attention and
    after each layer.

    By word: `accepted` (the output is certainly 1, or above the threshold), `rejected` (0, or below), and `decided`
    (it is certain which of these holds or, without a threshold, that neither does). `output` bounds the output,
    `margin` the least margin of a rounded value, and `unrounded` the unrounded output, as defined for the generic
    pass (None if there is none). `shared` is the number of positions that were read from the run of each word's
    prefix.
    """

    words: int
    n: int
    decided: Booleans
    accepted: Booleans
    rejected: Booleans
    output: Bounds
    margin: Bounds | None
    unrounded: Bounds | None
    columns: Mapping[int, Block]
    attended: Mapping[str, Mapping[int, Block]]
    layers: Sequence[tuple[Sequence[Block], Sequence[Block]]]
    shared: int

    def combine(self, form: Terms) -> Block:
        """Return a linear form of the final columns."""
        return combine([(value, self.columns[index]) for index, value in form], fixed([0] * self.n))


class FloatForward:
    """A network prepared to run batches in certified float64. Results that depend only on the length are kept until
    the length changes."""

    def __init__(self, model: Transformer) -> None:
        model.require_plain("certified float64", "Use --engine auto or ball: exact rationals and ball arithmetic.")
        model.require_softmax("certified float64")
        self.model = model
        self._at: Prepared | None = None
        self._parts: LengthParts | None = None
        self._causal = causal(model) and model.reading == "last"
        written = sum(len(head.values) for head in model.heads)
        self._bytes = 8 * (2 * model.dimension + 2 * written)

    def at_temperature(self, temperature: Schedule) -> FloatForward:
        """Return the same network with another temperature. It shares the parts of the last length that depend on no
        temperature."""
        other = FloatForward(replace(self.model, temperature=temperature))
        other._parts = self._parts if self._at is None else self._at.parts
        return other

    def parts(self, length: int) -> LengthParts:
        """Return the parts at a length that depend on no temperature; those of the last length are kept."""
        known = self._parts if self._at is None else self._at.parts
        if known is None or known.length != length:
            known = self._parts = LengthParts.of(self.model, length)
        return known

    def batch_size(self, n: int) -> int:
        """Return the number of words of length n to run at once: BATCH symbols, or fewer if the columns would take
        more than WORK bytes."""
        return max(1, min(BATCH, WORK // self._bytes) // (n + self.model.bos))

    def passes(self, words: Sequence[Sequence[str]]) -> Iterator[tuple[BatchTrace, Integers]]:
        """Run words of one length, and yield traces with the rows that are valid and the indices of their words in
        `words`.

        Yields:
            Pairs of a trace and an integer array (rows, 2): row in the trace, index in `words`. Every index comes
                once; nothing is yielded if float64 cannot be trusted in this process.
        """
        if distrust() is not None:
            return
        for start, symbols in self._batches(words):
            trace = self.run(symbols)
            done, rest = np.flatnonzero(trace.decided), np.flatnonzero(~trace.decided)
            if len(done):
                yield trace, np.stack([done, done + start], axis=1)
            # Undecided words are run again by themselves, with enclosures between 0 and 1.
            if len(rest):
                yield self.run(symbols[rest], soft=True), np.stack([np.arange(len(rest)), rest + start], axis=1)

    def _batches(self, words: Sequence[Sequence[str]]) -> Iterator[tuple[int, Integers]]:
        """Yield the index of the first word of each batch, and the words as rows of symbol numbers.

        A causal network takes more words at once if the positions that they do not share are few enough.
        """
        size = self.batch_size(len(words[0]))
        start = 0
        while start < len(words):
            symbols = self.symbols(words[start : start + (MORE * size if self._causal else size)])
            if len(symbols) > size:
                where, n = fork(symbols), symbols.shape[1]
                # Too many positions would be run separately: take a batch of the usual size.
                if where is None or len(symbols) * (n - where.length) > size * n:
                    symbols = symbols[:size]
            yield start, symbols
            start += len(symbols)

    def symbols(self, words: Sequence[Sequence[str]]) -> Integers:
        """Return words of one length as rows of symbol numbers, (words, n). The beginning of the sequence has the
        last number."""
        index = self.model.symbol_index
        symbols = index.rows(words)
        return np.insert(symbols, 0, len(index), axis=1) if self.model.bos else symbols

    def trace(self, words: Sequence[Sequence[str]]) -> BatchTrace:
        """Run words of one length in one batch, with clips enclosed, and with the residual stream of every layer."""
        return self.run(self.symbols(words), soft=True, layers=True)

    def run(
        self,
        symbols: Integers,
        soft: bool = False,
        layers: bool = False,
        unrounded: bool = True,
        margins: bool = True,
    ) -> BatchTrace:
        """Run words given as rows of symbol numbers, (words, n), as `symbols` returns them.

        With `soft`, clips that do not saturate are enclosed. Without it, words with such clips are undecided, and the
        trace's values for them are meaningless. With `layers`, the trace holds the residual stream of every layer;
        without `unrounded`, no unrounded output; and without `margins`, no margins.
        """
        with np.errstate(all="ignore"):
            n = symbols.shape[1] - self.model.bos
            if self._at is None or self._at.length != n:
                self._at = None  # free the old one first: both together could fill the memory
                self._at = Prepared(self.model, n, self._parts)
            at = self._at
            where = fork(symbols) if self._causal and not (soft or layers) else None
            if where is None:
                return Stage(at, symbols, soft=soft, unrounded=unrounded, margins=margins).run(layers).conclude()
            # A run of all positions, of any word, fills the caches that stages take parts of.
            if not at.warm:
                Stage(at, symbols[:1]).run()
            return Stage(at, symbols, where).run().conclude()


@dataclass(frozen=True, slots=True)
class LengthParts:
    """The parts of a network at one length that are the same for every word and every temperature.

    `base` are the encodings (with the part of the embedding that all symbols share), and `letters` what depends on the
    symbol, by coordinate, with the possible values as a row. `views` gives, by mask, the keys that queries see. `found`
    caches blocks that are the same for every word: they are exact, and no softmax is involved in them.
    """

    length: int
    base: Sequence[Block]
    letters: Mapping[int, tuple[Entering, Block]]
    views: Mapping[Mask, Views]
    found: dict[Place, Block]

    @staticmethod
    def of(model: Transformer, length: int) -> LengthParts:
        """Return the parts of a network, with an empty cache."""
        n = length + model.bos
        values, letters = model.entering(length)
        nothing = fixed([0] * n)
        base = [fixed(column) if any(column) else nothing for column in values]
        views = {mask: Views(mask, n, model.bos) for mask in {head.mask for head in model.heads}}
        blocks = {index: (entering, fixed(entering.values)) for index, entering in letters.items()}
        return LengthParts(length, base, blocks, views, {})


class Attending(Protocol):
    """The pass of one head at one length."""

    def attend(self, blocks: Sequence[Block], values: Sequence[Block], step: Suffix = ...) -> list[Block]:
        """Return the attended values of these columns at every query of the step."""


class Prepared:
    """The parts of a network at one length that are the same for every word; n counts positions.

    `base`, `letters`, `views` and `found` are those of `parts`. `heads` are the passes of heads with scores, by layer
    and number. `looks_up` is False if all queries are the same for every word, so that no codes are needed. `warm` is
    True once a run of all positions has filled the cache and the heads' tables.
    """

    def __init__(self, model: Transformer, length: int, parts: LengthParts | None = None) -> None:
        """Prepare position encodings and temperatures of a length. `parts` are those of the same network at another
        temperature; they are made anew if they are of another length."""
        self.model, self.length, self.n = model, length, length + model.bos
        self.reading = model.reading_index(length)
        self.warm = False
        self.parts = parts = parts if parts is not None and parts.length == length else LengthParts.of(model, length)
        self.base, self.letters, self.views, self.found = parts.base, parts.letters, parts.views, parts.found
        self.heads = self._passes()
        queries = {index for head in model.heads for query, _ in head.scores for index, _ in query}
        embedded = {index for index in range(model.dimension) if index not in self.letters}
        self.looks_up = not queries <= model.fixed & embedded

    def _passes(self) -> Mapping[tuple[int, int], Attending]:
        """Return the passes of heads with scores, by layer and number."""
        inverse, tables = self.model.inverse_temperatures(self.length), Tables(self.model.fixed)
        return {
            (number, place): HeadPass(head, inverse, self.views[head.mask], tables)
            for number, layer in enumerate(self.model.layers)
            for place, head in enumerate(layer.heads)
            if head.scores
        }

    def embed(self, symbols: Integers, start: int) -> list[Block]:
        """Return the residual stream before the first layer, for symbols from position `start` on."""
        columns = [part_of(block, start, start + symbols.shape[1]) for block in self.base]
        for index, (entering, letter) in self.letters.items():
            places = entering.places(symbols)
            if letter.boolean and is_zero(columns[index]):
                columns[index] = bits(letter.mid[0][places], ("letter", index))
                continue
            rad = None if letter.rad is None else letter.rad[0][places]
            block = Block(letter.mid[0][places], rad, letter.places, letter.size)
            columns[index] = combine([(1, block)], columns[index])
            name = "symbol" if entering.digits is None else ("propositions", index)
            columns[index].codes = (Code(name, places.astype(np.float64), len(entering.values)),)
        return columns


class Stage:
    """One batch on its way through the layers, from the position where its words fork. Earlier positions are read
    from a stage of the distinct prefixes, made by the same rule. `continued` is True if other words will continue
    this stage."""

    def __init__(
        self,
        at: Prepared,
        symbols: Integers,
        where: Fork | None = None,
        soft: bool = False,
        continued: bool = False,
        unrounded: bool = True,
        margins: bool = True,
    ) -> None:
        self.at, self.soft, self.continued, self.unrounds, self.margins = at, soft, continued, unrounded, margins
        self.words, self.decided = len(symbols), np.ones(len(symbols), dtype=np.bool_)
        self.margin: Bounds | None = None
        self._inside: Bounds | None = None
        """Bounds of twice the least margin at each position, (words or 1, n), until the end of the run."""
        self.start, self.rows = 0, NO_ROWS
        self.before: Stage | None = None
        if where is not None:
            old = self.before = Stage(at, where.prefixes, fork(where.prefixes), continued=True).run()
            self.start, self.rows, self.decided = where.length, where.rows, old.decided[where.rows]
            self.margin = (
                None if old.margin is None else (take(old.margin[0], self.rows), take(old.margin[1], self.rows))
            )
        self.width = symbols.shape[1] - self.start
        self.whole = self.width == at.n
        self.columns = at.embed(symbols[:, self.start :], self.start)
        """The residual stream at the positions of this stage."""
        self.attended: dict[str, dict[int, Block]] = {}
        """The output of each head at the positions of this stage, by name of the head and then by coordinate."""
        self.kept: dict[tuple[int, int], Kept] = {}
        """By (layer, first head of a group), the columns and values that words continuing these will read."""
        self.unrounded: dict[int, Bounds] = {}
        """By coordinate, bounds of the unrounded values at the reading position."""
        self.layers: list[tuple[Sequence[Block], Sequence[Block]]] = []

    def run(self, layers: bool = False) -> Stage:
        """Run all layers."""
        for number in range(len(self.at.model.layers)):
            self._attend(number)
            attended = list(self.columns) if layers else []
            self._feed_forward(number)
            if layers:
                self.layers.append((attended, list(self.columns)))
        self.at.warm |= self.whole
        if self._inside is not None:
            low, high = (least(one) / 2 for one in self._inside)
            old = self.margin
            self.margin = (low, high) if old is None else (np.minimum(old[0], low), np.minimum(old[1], high))
        return self

    # ---- forms ----

    def _form(self, place: Place, form: Terms, bias: Rational = 0) -> Block:
        """Return a linear form plus a bias. `place` is the key under which the form's static part is kept."""
        columns = self.columns
        return self._add(place, bias, [(value, columns[index]) for index, value in form])

    def _add(self, place: Place, bias: Rational, terms: Sequence[tuple[Rational, Block]]) -> Block:
        """Return a sum of blocks plus a bias."""
        same = [(value, block) for value, block in terms if block.static is not None]
        rest = [(value, block) for value, block in terms if block.static is None]
        some = same if len(same) < 2 else [one for one in same if not is_zero(one[1])] or same[:1]
        if len(some) == 1 and some[0][0] == 1 and not bias:
            base = some[0][1]
        else:
            base = self._same_for_all(place, lambda: known(exact_sum(same, self.width, bias)))
        if not rest:
            return base
        if len(rest) == 1 and rest[0][0] == 1 and is_zero(base):
            return rest[0][1]
        found = combine(rest, base)
        if self.at.looks_up:
            found.codes = codes_of(block for _, block in rest)
        return found

    def _same_for_all(self, place: Place, make: Callable[[], Block]) -> Block:
        """Return a block that is the same for every word of a length, at the positions of this stage; `make` makes it
        once."""
        found = self.at.found
        if place not in found:
            if not self.whole:
                raise InvariantError(f"{place} was not found in a run of all positions")
            found[place] = make()
        if self.whole:
            return found[place]
        here = ("from", self.start, self.start + self.width, *place)
        if here not in found:
            found[here] = part_of(found[place], self.start, self.start + self.width)
        return found[here]

    # ---- attention ----

    def _attend(self, number: int) -> None:
        """Run all heads of a layer and add their outputs to the residual stream."""
        layer, found = self.at.model.layers[number], dict[tuple[int, int], Block]()
        forms = {
            (place, out): self._form((number, place, "value", out), form)
            for place, head in enumerate(layer.heads)
            for out, form in head.values
        }
        for group in layer.groups:
            # Values that are the same for every word may be looked up, if they are by themselves.
            moving = {
                place for place in group for out, _ in layer.heads[place].values if forms[place, out].static is None
            }
            for some in ([place for place in group if (place in moving) is side] for side in (False, True)):
                if some:
                    values = {(place, out): forms[place, out] for place in some for out, _ in layer.heads[place].values}
                    found |= self._read_group(number, some[0], values)
        for place, head in enumerate(layer.heads):
            self.attended[head.name] = {out: found[place, out] for out, _ in head.values}
        for count, (place, out) in enumerate(forms):
            terms: list[tuple[Rational, Block]] = [(1, self.columns[out]), (1, found[place, out])]
            self.columns[out] = self._add((number, count, "attended", out), 0, terms)

    def _read_group(
        self, number: int, first: int, values: Mapping[tuple[int, int], Block]
    ) -> dict[tuple[int, int], Block]:
        """Return what the heads of a group write; `first` is the number of one of them. Values and results have as keys
        the number of a head and a coordinate."""
        head, kept = self.at.model.layers[number].heads[first], (number, first)
        step = Suffix(self.start, None if self.before is None else self.before.kept[kept], self.rows)
        forms, views = list(values.values()), self.at.views[head.mask]
        before = step.earlier(forms)
        if head.scores:
            found = self.at.heads[kept].attend(self.columns, forms, step)
        else:
            found = [
                self._mean((number, place, "mean", out), form, views, old, step.rows)
                for (place, out), form, old in zip(values, forms, before, strict=True)
            ]
        mark_lone(found, forms, views, before, step.rows)
        if self.continued:
            self.kept[kept] = step.with_earlier(head, self.columns, forms)
        return dict(zip(values, found, strict=True))

    def _mean(self, place: Place, form: Block, views: Views, old: Block | None, rows: Integers) -> Block:
        if form.static is not None:
            return self._same_for_all(place, lambda: mean(form, views))
        found = mean(form, views, old, rows)
        if found.codes is not None:
            found.codes = tuple(replace(code, name=place) for code in found.codes)
        return found

    # ---- hidden units ----

    def _feed_forward(self, number: int) -> None:
        """Run all hidden units of a layer and add their outputs to the residual stream."""
        model, layer = self.at.model, self.at.model.layers[number].ffn
        rounds = model.rounding_units[number]
        written: dict[int, list[tuple[Rational, Block]]] = {}
        inputs = [
            self._form((number, index, "unit", 0), unit.form, unit.bias) for index, unit in enumerate(layer.units)
        ]
        if self.unrounds:
            rounding = [index for index, one in enumerate(rounds) if one]
            extend(
                model,
                layer,
                self._levels({index: inputs[index] for index in rounding}).__getitem__,
                self.unrounded,
                lambda index: self._read(self.columns[index]),
                affine,
                ranked,
            )
        for index, (unit, z) in enumerate(zip(layer.units, inputs, strict=True)):
            if self.margins and rounds[index]:
                self._note_margin(z)
            value = self._activate((number, index, "activated", 0), unit, z, rounds[index])
            if unit.clip and unit.cap:
                form = self._form((number, index, "cap", 0), unit.cap, unit.cap_bias)
                cap = self._boolean((number, index, "Boolean cap", 0), form)
                value = self._capped((number, index, "capped", 0), z, value, cap)
            for out, weight in unit.outs:
                written.setdefault(out, []).append((weight, value))
        biases = dict(layer.biases)
        for out in sorted(written.keys() | biases.keys()):
            terms = [(1, self.columns[out]), *written.get(out, [])]
            found = self._add((number, out, "written", 0), biases.get(out, 0), terms)
            self.columns[out] = self._boolean((number, out, "Boolean", 0), found)

    def _boolean(self, name: Place, block: Block) -> Block:
        """Return the block, marked as Boolean if all values are 0 or 1. (Values of undecided words are ignored.)"""
        if block.rad is not None or block.static is not None or block.boolean or block.places:
            return block
        values = block.mid
        if not self.soft and values.shape[0] > 1 and not self.decided.all():
            # Undecided words are run again; their values must not hide that the others are Boolean.
            values = np.where(self.decided[:, None], values, 0.0)
        return bits(values, name) if np.all((values == 0) | (values == 1)) else block

    def _activate(self, place: Place, unit: HiddenUnit, z: Block, decides: bool) -> Block:
        if z.static is not None:
            exact = z.static
            return self._same_for_all(place, lambda: known(exact.clip(high=unit.clip)))
        if unit.clip:
            return self._clip(place, z, decides)
        found = between(np.maximum(z.lower, 0.0), np.maximum(z.upper, 0.0), z.places, z.size)
        found.codes = z.codes
        return found

    def _clip(self, place: Place, z: Block, decides: bool) -> Block:
        """Return the clipped block: 0 or 1 where that is certain; elsewhere an enclosure if `soft`, and otherwise the
        word becomes undecided."""
        low, high = clipped(z.mid, z.rad)
        settled = low | high
        every = settled.all()
        if not self.soft or every:
            if not every:
                self.decided &= settled.all(axis=1)
            return bits(high.astype(np.float64), place)
        # Few entries are open: only their ends are computed.
        mid, rad = high.astype(np.float64), np.zeros(settled.shape)
        spots = np.nonzero(~settled)
        part = Block(np.broadcast_to(z.mid, settled.shape)[spots], partly=z.partly)
        part.rad = None if z.rad is None else np.broadcast_to(z.rad, settled.shape)[spots]
        bottom, top = np.clip(part.lower, 0.0, 1.0), np.clip(part.upper, 0.0, 1.0)
        if decides:
            inside = np.ones(len(settled), dtype=np.bool_)
            inside[spots[0][~((bottom > 0) & (top < 1))]] = False
            self.decided &= inside
        ends = between(bottom, top, z.places if z.rad is None or z.partly else 0, 1)
        mid[spots], rad[spots] = ends.mid, ends.radius
        return Block(mid, rad if ends.partly else None, ends.places, ends.size, codes=z.codes, partly=ends.partly)

    def _capped(self, place: Place, z: Block, value: Block, cap: Block) -> Block:
        """Return z+ - (z - cap)+, where `value` is z clipped to [0, 1]. Where the cap is in [0, 1], that is the least
        of `value` and the cap. Elsewhere it is between 0 and the cap."""
        if z.static is not None and cap.static is not None:
            exact, most = z.static, cap.static
            return self._same_for_all(place, lambda: known(exact.clip(cap=most)))
        if value.boolean and cap.boolean:
            return bits(value.mid * cap.mid, place)
        low, high = cap.lower, cap.upper
        inside = (low >= 0) & (high <= 1)
        bottom = np.where(inside, np.minimum(value.lower, low), np.minimum(low, 0.0))
        top = np.where(inside, np.minimum(value.upper, high), np.maximum(high, 0.0))
        size = max(value.size, cap.size)
        return between(bottom, top, max(value.places, cap.places), size)

    def _levels(self, inputs: Mapping[int, Block]) -> dict[int, Bounds]:
        """Return bounds of x/2 + 1/4 for these inputs x at the reading position, by the number of the unit."""
        found: dict[int, Bounds] = {}
        blocks = {index: self._at_reading(block) for index, block in inputs.items()}
        # The ends of all inputs are computed together; where an input has no radius, a radius of 0 is exact.
        for partly in (True, False):
            some = {index: block for index, block in blocks.items() if (block.rad is None or block.partly) is partly}
            if some:
                mid, rad = stacked([*some.values()])
                ends = Block(mid[:, :, 0], rad[:, :, 0], partly=partly)
                low, high = affine((ends.lower, ends.upper), HALF, QUARTER)
                found |= {index: (low[:, place], high[:, place]) for place, index in enumerate(some)}
        return found

    def _note_margin(self, z: Block) -> None:
        """Lower twice the margins to the least max(-z, z - 1) of this unit's inputs. (Halves are exact.)"""
        # In place, which takes two thirds of the time: new arrays would not stay in the cache.
        middle, radius = z.mid - 1, -z.mid
        np.maximum(radius, middle, out=middle)
        np.abs(z.mid, out=radius)
        radius += 1
        radius *= 4 * U
        if z.rad is not None:
            radius = np.add(radius, z.rad, out=radius if len(radius) >= len(z.rad) else None)
        radius *= GROW
        radius += 2 * ETA
        high = middle + radius
        low = np.subtract(middle, radius, out=middle if len(middle) >= len(radius) else None)
        if self._inside is not None:
            low, high = (
                np.minimum(old, end, out=end if len(end) >= len(old) else None)
                for old, end in zip(self._inside, (low, high), strict=True)
            )
        self._inside = low, high

    # ---- the output ----

    def _at_reading(self, block: Block) -> Block:
        """Return a column at the reading position, (words or 1, 1). In stages of prefixes this is their last
        position."""
        place = min(self.at.reading, self.start + self.width - 1) - self.start
        rad = None if block.rad is None else block.rad[:, place, None]
        return Block(block.mid[:, place, None], rad, partly=block.partly)

    def _read(self, block: Block) -> Bounds:
        last = self._at_reading(block)
        return last.lower[:, 0], last.upper[:, 0]

    def conclude(self) -> BatchTrace:
        """Return the trace of all positions, with the output, the answers and the bounds of each word.

        Without a threshold the output must be exactly 1 or 0. In a run that is not `soft`, all clips must be settled.
        """
        model, usable = self.at.model, self.decided | self.soft
        block = self._at_reading(self.columns[model.output])
        block.partly = True  # a radius of 0 is exact
        low, high = block.lower[:, 0], block.upper[:, 0]
        if model.threshold is None:
            exact = low == high
            sure = exact | (high < 0) | ((low > 0) & (high < 1)) | (low > 1)
            decided = self.decided & sure & np.isfinite(low) & np.isfinite(high)
            accepted, rejected = usable & exact & (low == 1), usable & exact & (low == 0)
        else:
            accepted, rejected = (usable & side(block, model.threshold)[:, 0] for side in (above, below))
            decided = accepted | rejected
        found = self.unrounded.get(model.output)
        columns, attended = self._finished()
        return BatchTrace(
            words=self.words,
            n=self.start + self.width,
            decided=decided,
            accepted=accepted,
            rejected=rejected,
            output=self._spread(low, high),
            margin=None if self.margin is None else self._spread(*self.margin),
            unrounded=None if found is None else self._spread(*found),
            columns=columns,
            attended=attended,
            layers=self.layers,
            shared=self.start,
        )

    def _finished(self) -> tuple[Mapping[int, Block], Mapping[str, Mapping[int, Block]]]:
        """Return the columns and the heads' outputs at all positions."""
        columns = dict(enumerate(self.columns))
        if self.before is None:
            return columns, self.attended
        old, wrote = self.before._finished()
        attended = {name: Joined(wrote[name], outs, self.rows) for name, outs in self.attended.items()}
        return Joined(old, columns, self.rows), attended

    def _spread(self, low: Floats, high: Floats) -> Bounds:
        """Return bounds with one entry for each word."""
        if len(low) == len(high) == self.words:
            return low, high
        return np.broadcast_to(low, (self.words,)), np.broadcast_to(high, (self.words,))


def ranked(bounds: Sequence[Bounds], rank: int) -> Bounds:
    """Return bounds of the `rank`-th largest (1: the largest) of numbers with these bounds, word by word."""
    if rank == 1 or rank == len(bounds):
        extreme = np.maximum if rank == 1 else np.minimum  # both give NaN if an input is NaN
        low, high = (reduce(extreme, side) for side in zip(*bounds, strict=True))
        return low, high
    low, high = (np.stack(np.broadcast_arrays(*side)) for side in zip(*bounds, strict=True))
    unknown = np.isnan(low).any(axis=0) | np.isnan(high).any(axis=0)  # sorting would put NaN last, as the largest
    low, high = (np.where(unknown, np.nan, np.sort(side, axis=0)[-rank]) for side in (low, high))
    return low, high


def affine(bounds: Bounds, factor: Rational, shift: Rational) -> Bounds:
    """Return bounds of factor x + shift, rounded outwards unless nothing changes."""
    if factor == 1 and shift == 0:
        return bounds
    (times, times_off), (plus, plus_off) = rounded(factor), rounded(shift)
    low, high = (np.asarray(bound * times + plus) for bound in bounds)
    low, high = (low, high) if factor > 0 else (high, low)
    size = np.maximum(np.abs(bounds[0]), np.abs(bounds[1]))
    slack = size * (4 * U * abs(times)) + 4 * U * abs(plus)
    if times_off or plus_off:
        slack += times_off * size + plus_off
    slack = outward(slack)
    return low - slack, high + slack


def is_zero(block: Block) -> bool:
    """Return True if a column is known to be 0 for every word."""
    return block.static is not None and not block.static.size


def part_of(block: Block, start: int, stop: int) -> Block:
    """Return the positions from `start` up to but not including `stop` of a column that is the same for every word."""
    if start == 0 and stop == block.mid.shape[1]:
        return block
    rad = None if block.rad is None else block.rad[:, start:stop]
    static = None if block.static is None else block.static.part(slice(start, stop))
    return Block(block.mid[:, start:stop], rad, block.places, block.size, static, boolean=block.boolean)
