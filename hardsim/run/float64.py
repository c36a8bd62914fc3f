"""The forward pass in float64, for all words of a batch at once, with rigorous enclosures.

It reads the same matrices as the generic pass and shares no code with it: every coordinate is a `Block` (see
`enclosure` for the error analysis), every head a `HeadPass`. What is the same for every word of a length is computed
once, in rationals where no softmax is involved.

A clip whose input is certainly at most 0 or at least 1 gives exactly 0 or 1. A first pass over a batch takes it that
all clips do; words in which one does not are run again by themselves, with enclosures between 0 and 1 in its place,
and are undecided if even then it is not certain whether a clip of an attended value saturates, or what the output is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from hardsim.errors import InvariantError
from hardsim.net.model import Transformer
from hardsim.run.enclosure import Block, Integers, bits, combine, fixed
from hardsim.run.float_attention import HeadPass
from hardsim.run.float_rows import take
from hardsim.run.float_stage import BatchTrace, Earlier, Prepared, Stage, is_zero, part_of
from hardsim.run.float_tables import Tables
from hardsim.run.float_trust import distrust
from hardsim.run.plan import Plan, make_plan
from hardsim.run.prefixes import Fork, causal, fork
from hardsim.spec.ir import Rational, plain

__all__ = ["BatchTrace", "FloatForward"]

BATCH = 2**16
"""Symbols of a batch at most: half a megabyte for each array that depends on the word."""
MORE = 4
"""How many times as many words a batch may have that share their prefixes."""
WORK = 2**27
"""Bytes that the columns of a batch may take, about."""


class FloatForward:
    """A network ready to run batches in certified float64. What a length needs is kept until another one comes."""

    def __init__(self, model: Transformer, plan: Plan | None = None) -> None:
        if model.bos or model.threshold is not None or model.reading != "last" or not model.soft:
            raise InvariantError("the certified float64 pass of formulas was given another kind of model")
        self.model = model
        self.plan = plan or make_plan(model)
        self._at: Prepared | None = None
        self._rows = model.embedding.rows()
        coordinates = {column for _, column, _ in model.embedding.entries}
        self._letters = [index for index in coordinates if len({row.get(index, 0) for row in self._rows}) > 1]
        self._causal = causal(model)
        written = sum(len(head.values) for layer in self.plan.layers for head in layer.heads)
        self._bytes = 8 * (2 * model.dimension + 2 * written)

    def batch_size(self, n: int) -> int:
        """How many words of length n to run at once: a number of symbols, less if their columns would take more than
        WORK bytes."""
        return max(1, min(BATCH, WORK // self._bytes) // n)

    def passes(self, words: Sequence[Sequence[str]]) -> Iterator[tuple[BatchTrace, Integers]]:
        """Run words of one length: traces, each with the rows that count and the places of their words in `words`.

        Yields:
            pairs of a trace and an integer array (rows, 2): row in the trace, place in `words`. Every place comes once;
            none does where float64 is not to be trusted in this process.
        """
        if distrust() is not None:
            return
        for start, symbols in self._batches(words):
            trace = self.run(symbols)
            done = np.flatnonzero(trace.decided)
            if len(done):
                yield trace, np.stack([done, done + start], axis=1)
            rest = np.flatnonzero(~trace.decided)
            if len(rest):
                yield self.run(symbols[rest], soft=True), np.stack([np.arange(len(rest)), rest + start], axis=1)

    def _batches(self, words: Sequence[Sequence[str]]) -> Iterator[tuple[int, Integers]]:
        """The place of the first word of each batch, and the words as rows of symbol numbers.

        A causal network takes more words at once if the positions that they do not share are few enough.
        """
        n, index = len(words[0]), self.model.symbol_index
        size = self.batch_size(n)
        start = 0
        while start < len(words):
            many = MORE * size if self._causal else size
            part = words[start : start + many]
            flat = np.fromiter(map(index.__getitem__, chain.from_iterable(part)), np.int64, len(part) * n)
            symbols = flat.reshape(len(part), n)
            if len(part) > size:
                where = self._fork(symbols, False)
                if where is None or len(part) * (n - where.length) > size * n:
                    symbols = symbols[:size]
            yield start, symbols
            start += len(symbols)

    def run(self, symbols: Integers, soft: bool = False) -> BatchTrace:
        """Run words given as rows of symbol numbers, (words, n).

        With `soft` clips that do not saturate are enclosed; without, words with such clips are undecided, and what
        the trace says of them means nothing.
        """
        with np.errstate(all="ignore"):
            at = self._prepare(symbols.shape[1])
            where = self._fork(symbols, soft)
            if where is None:
                return self._stage(at, symbols, None, soft).conclude()
            if not at.warm:
                self._stage(at, symbols[:1], None, soft)
            return self._stage(at, symbols, self._earlier(at, where), soft).conclude()

    def _fork(self, symbols: Integers, soft: bool) -> Fork | None:
        return fork(symbols) if self._causal and not soft else None

    def _earlier(self, at: Prepared, where: Fork) -> Earlier:
        """The run of the distinct prefixes of a batch, by the same rule."""
        deeper = fork(where.prefixes)
        earlier = None if deeper is None else self._earlier(at, deeper)
        return Earlier(self._stage(at, where.prefixes, earlier, False, True), where)

    def _stage(
        self, at: Prepared, symbols: Integers, earlier: Earlier | None, soft: bool, continued: bool = False
    ) -> Stage:
        """Run words, from the fork on where there is one."""
        start = 0 if earlier is None else earlier.fork.length
        columns = self._embed(at, symbols[:, start:], start)
        trace = BatchTrace(len(symbols), symbols.shape[1], columns, np.ones(len(symbols), dtype=np.bool_))
        if earlier is not None:
            rows = earlier.fork.rows
            trace.shared, trace.decided = start, earlier.stage.trace.decided[rows]
            margin = earlier.stage.trace.margin
            if margin is not None:
                trace.margin = take(margin[0], rows), take(margin[1], rows)
        stage = Stage(at, trace, soft, start, earlier, continued, columns)
        for number in range(len(self.plan.layers)):
            stage.attend(number)
            stage.feed_forward(number)
        at.warm |= at.is_whole(start, stage.width)
        return stage

    def _prepare(self, n: int) -> Prepared:
        """Position encodings and temperatures of a length; those of the one before are let go first."""
        if self._at is not None and n == self._at.n:
            return self._at
        self._at = None
        model = self.model
        values: list[list[Rational]] = [[0] * n for _ in range(model.dimension)]
        for index, encoding in model.encodings:
            values[index] = [old + plain(encoding.evaluate(i=i, n=n)) for i, old in enumerate(values[index], start=1)]
        for index in range(model.dimension):
            if index not in self._letters:
                shared = self._rows[0].get(index, 0)
                values[index] = [old + shared for old in values[index]]
        inverse = [model.inverse_temperature(i, n) for i in range(1, n + 1)]
        tables = Tables()
        heads: dict[tuple[int, int], HeadPass] = {}
        for number, layer in enumerate(self.plan.layers):
            for place, head in enumerate(layer.heads):
                if head.scores:
                    heads[number, place] = HeadPass(head, inverse, n, tables)
        self._at = Prepared(self.plan, n, [fixed(column) for column in values], heads)
        return self._at

    def _embed(self, at: Prepared, symbols: Integers, start: int) -> list[Block]:
        columns = [part_of(block, start, start + symbols.shape[1]) for block in at.base]
        for index in self._letters:
            values = [row.get(index, 0) for row in self._rows]
            letter = fixed(values)
            if letter.rad is None and set(values) <= {0, 1} and is_zero(columns[index]):
                columns[index] = bits(letter.mid[0][symbols])
                continue
            rad = None if letter.rad is None else letter.rad[0][symbols]
            block = Block(letter.mid[0][symbols], rad, letter.places, letter.size)
            columns[index] = combine([(1, block)], columns[index])
            columns[index].codes, columns[index].kinds = symbols, len(values)
        return columns
