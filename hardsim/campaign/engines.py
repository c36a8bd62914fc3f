"""The answers of exact hard attention and of the softmax network on words of one length, with the errors between them.

Hard attention runs once on a batch. The network runs in certified float64 on whole batches, or in balls or mpmath word
by word; `auto` is float64, with balls for the words that it cannot decide. Measured numbers are given as lower and
upper bounds, which are equal in mpmath, since it gives no enclosures. Bounds may be floats, which Python compares with
rationals exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import chain, islice
from math import inf, isinf, nextafter
from sys import float_info
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardsim.campaign.distances import WHOLE, RowSelection, Span, far, same
from hardsim.campaign.result import HeadResult
from hardsim.errors import Undecided
from hardsim.hard.batch_hard import BatchHard, BatchHardTrace
from hardsim.hard.exact import ExactModel, HardTrace
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact
from hardsim.network.numbers import ONE
from hardsim.network.transformer import Schedule, Terms, Transformer
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Head, Program
from hardsim.run.arithmetic import Column, Value, is_exact, linear
from hardsim.run.ball import bound_of, lower, upper
from hardsim.run.enclosure import Block, Booleans, Floats, Integers, U, above, below, outward, rounded
from hardsim.run.float64 import BatchTrace, FloatForward
from hardsim.run.float_stack import run_at
from hardsim.run.float_trust import FLOAT_DIGITS, distrust
from hardsim.run.mp import exact
from hardsim.run.soft import LOG_2, SoftModel, SoftTrace
from hardsim.run.unrounded import unrounded_output
from hardsim.targets.result import AUTO, BALL, FLOAT64, MPMATH, Answer, Word, settled
from hardsim.targets.subject import Subject

S = TypeVar("S")
Measured: TypeAlias = Any
"""A measured number: a Fraction or a float (they have no common base class)."""
Bounds: TypeAlias = tuple[Measured, Measured]
Place: TypeAlias = tuple[str] | tuple[str, str] | tuple[int, int, str]
"""The key of a measured number: OUTPUT, UNROUNDED, MARGIN or SUM, or an error, the largest distance from hard attention
over all positions. `(head, coordinate)` is the error of what a head writes; `(layer, 0, coordinate)` that of a
coordinate after a layer's attention, and `(layer, 1, coordinate)` after the layer. Layers count from 0."""
OUTPUT, UNROUNDED, MARGIN, SUM = ("output",), ("unrounded",), ("margin",), ("sum",)
"""Keys of numbers: the output of an acceptor, the output before it is rounded, the margin, and the largest error of the
sums of looked-up counts."""
AFTER = 1
"""The number, in keys of errors, for the values that a layer's hidden units have written."""

ROUNDING = Fraction(1, 2**64)
"""Rounding error that is granted to mpmath, which gives no enclosures, before an error exceeds its bound."""
CELLS = 1 << 20
"""Most scores of one head (words times squares of their positions) in a batch of the exact run, but for SYMBOLS."""
SYMBOLS = 1 << 14
"""Words with no more positions than this together are run together: a part of the scores is held at a time."""
BATCH, NORMED = 4096, 128
"""Most words of a batch, and those of a program with layer norms: its numbers are integers over one unit for the whole
batch, which has the more digits the more different roots there are."""


def batch_size(positions: int, most: int, pairs: int) -> int:
    """Return how many words of so many positions are run together: at most `most`, and as many as have `pairs` pairs of
    positions or SYMBOLS positions."""
    return max(1, min(most, max(pairs // positions**2, SYMBOLS // positions)))


def batches(words: Iterable[Word], positions: int, most: int = BATCH) -> Iterator[list[Word]]:
    """Yield the words of one length in batches of at most `most` words that fit into memory; `positions` is the length
    as read."""
    size, left = batch_size(positions, most, CELLS), iter(words)
    while batch := list(islice(left, size)):
        yield batch


# ---- hard attention ----


@dataclass
class Hard:
    """A run of exact hard attention on words of one length, by a formula's program bit by bit, or by any program.
    `answers` has one for each word. Numbers have the shape (words or 1, positions); `gaps` has, by name of the head,
    the least score gap over all words of each head that has one."""

    trace: BatchHardTrace | HardTrace
    answers: list[Answer]
    gaps: Mapping[str, Fraction]

    @staticmethod
    def of(subject: Subject, program: Program, trace: BatchHardTrace | HardTrace) -> Hard:
        """Return the answers and gaps of a run."""
        if isinstance(trace, BatchHardTrace):
            return Hard(trace, trace.accepted.tolist(), trace.gaps)
        least = {name: rows.least() for layer in trace.layers for name, rows in layer.rows.items()}
        gaps = {name: gap for name, gap in least.items() if gap is not None}
        return Hard(trace, subject.hard_answers(program, trace), gaps)

    def attended(self, head: str, out: str) -> Exact:
        """Return the values that a head wrote to the coordinate `out`. In the program of a formula every coordinate is
        written once."""
        if isinstance(self.trace, BatchHardTrace):
            return self.trace.numbers(out)
        return next(layer.results[head][out] for layer in self.trace.layers if head in layer.results)

    def final(self, name: str) -> Exact:
        """Return the values of a coordinate after the last step of the run."""
        return self.trace.numbers(name) if isinstance(self.trace, BatchHardTrace) else self.trace.columns[name]

    def stages(self) -> Iterator[tuple[int, int, Mapping[str, Exact]]]:
        """Yield the residual stream after each step, as (layer from 0, stage, values): stage 0 is attention, 1 the
        whole layer."""
        for number, layer in enumerate(self.trace.layers if isinstance(self.trace, HardTrace) else ()):
            yield number, 0, layer.attended
            yield number, 1, layer.columns


class HardRunner:
    """Exact hard attention for a subject, ready to run; formulas run bit by bit."""

    def __init__(self, subject: Subject, program: Program | None = None) -> None:
        self.subject = subject
        self.program = program or subject.program
        self._model = subject.hard_model(self.program)
        self.most = NORMED if self.program.normed else BATCH

    def trace(self, prepared: Sequence[Word]) -> HardTrace:
        """Run words of one length with the scores of every row measured."""
        return (self._model if isinstance(self._model, ExactModel) else ExactModel(self.program)).run(prepared)

    def batches(self, prepared: Sequence[Word], positions: int) -> Iterable[Sequence[Word]]:
        """Return words of one length in the batches that are run together: bit by bit all words fit into memory."""
        return [prepared] if isinstance(self._model, BatchHard) else batches(prepared, positions, self.most)

    def run(self, prepared: Sequence[Word]) -> Hard:
        """Return the exact run of words of one length, given in the form that the program reads (`prepared`). Raises
        InvariantError if a formula's head breaks a promise."""
        model = self._model
        trace = model.run(model.symbols(prepared)) if isinstance(model, BatchHard) else model.run(prepared)
        return Hard.of(self.subject, self.program, trace)

    def answer(self, word: Word) -> Answer:
        """Return the answer of hard attention on a word."""
        return self.answers([word])[0]

    def answers(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers of hard attention on words of one length."""
        prepared = [self.subject.prepared(word) for word in words]
        size = len(prepared[0]) + self.program.bos
        return [answer for batch in batches(prepared, size, self.most) for answer in self.run(batch).answers]


# ---- softmax ----


@dataclass(frozen=True, slots=True)
class SoftAnswer:
    """The answer of the network on one word, with measured numbers.

    `decided` is True if `answer` is certain. For a network that rounds, `answer` is True for an output of exactly 1,
    False for 0, and None for any other. `engine` is the arithmetic that found the answer, `digits` its decimal digits.
    """

    decided: bool
    answer: Answer
    engine: str
    digits: int
    numbers: Mapping[Place, Bounds] = field(default_factory=dict)

    def middle(self, place: Place) -> Fraction | None:
        """Return a measured number, or the middle of its bounds; None if the number was not measured."""
        bounds = self.numbers.get(place)
        return None if bounds is None else (Fraction(bounds[0]) + Fraction(bounds[1])) / 2


def undecided(engine: str, digits: int) -> SoftAnswer:
    """Return the result of an engine that could not decide a word."""
    return SoftAnswer(False, None, engine, digits)


@dataclass
class BatchAnswers:
    """The answers of the network on words of one length, with measured numbers by key: bounds of all words.

    `alone` holds, by number of the word, the answers of words that were run one by one in another arithmetic; they
    replace the other entries. `bounded` is True for words that were not run: an error bound decides their answers.
    """

    decided: Booleans
    answers: list[Answer]
    numbers: dict[Place, Span] = field(default_factory=dict)
    alone: dict[int, SoftAnswer] = field(default_factory=dict)
    bounded: Booleans | None = None

    @staticmethod
    def of(count: int) -> BatchAnswers:
        """Return `count` undecided answers."""
        return BatchAnswers(np.zeros(count, dtype=np.bool_), [None] * count)

    def one(self, place: int) -> SoftAnswer:
        """Return the answer on the word number `place`."""
        if place in self.alone:
            return self.alone[place]
        if not self.decided[place]:
            return undecided(FLOAT64, FLOAT_DIGITS)
        numbers = {what: (float(low[place]), float(high[place])) for what, (low, high) in self.numbers.items()}
        return SoftAnswer(True, self.answers[place], FLOAT64, FLOAT_DIGITS, numbers)

    def part(self, place: int) -> BatchAnswers:
        """Return the answers on the word number `place`, as a batch of one."""
        numbers = {what: (low[[place]], high[[place]]) for what, (low, high) in self.numbers.items()}
        alone = {0: self.alone[place]} if place in self.alone else {}
        return BatchAnswers(self.decided[[place]], [self.answers[place]], numbers, alone)

    def put(self, places: Integers, numbers: Mapping[Place, Span]) -> None:
        """Store the bounds of some numbers on the words numbered `places`; on words without bounds they are 0. A word
        one of whose bounds is not finite is not decided."""
        if not numbers:
            return
        spans = np.concatenate(list(chain.from_iterable(numbers.values()))).reshape(len(numbers), 2, len(places))
        whole = np.zeros((len(numbers), 2, len(self.answers)))
        for number, what in enumerate(numbers if self.numbers else ()):
            whole[number] = self.numbers.get(what, 0)
        whole[:, :, places] = spans
        self.numbers |= {what: (low, high) for what, (low, high) in zip(numbers, whole, strict=True)}
        self.decided[places] &= np.isfinite(spans).all(axis=(0, 1))

    def follow(self, answers: Sequence[Answer], run: Integers) -> None:
        """Take the answers of hard attention on all words but those that were `run`, as an error bound permits."""
        self.bounded = np.ones(len(answers), dtype=np.bool_)
        self.bounded[run] = False
        for place in np.flatnonzero(self.bounded).tolist():
            self.decided[place], self.answers[place] = True, answers[place]

    def settle(self, place: int, answer: SoftAnswer) -> None:
        """Replace the answer on the word number `place` by that of another arithmetic."""
        self.alone[place] = answer
        self.decided[place] = answer.decided
        self.answers[place] = answer.answer


class Watched:
    """The list of values whose errors are measured: what every head writes, every clip `2 (sum + 1) - 1/2` of looked-up
    counts, and what hidden units write for later heads. With `streams`, every coordinate is measured after every
    step."""

    def __init__(self, program: Program, network: Transformer, streams: bool) -> None:
        self.index = {name: number for number, name in enumerate(network.coordinates)}
        self.heads = [(head, out) for head in program.heads for out, _ in head.values]
        self.streams = program.coordinates if streams else ()
        self.written: list[frozenset[str]] = []
        """The coordinates that each step writes, two entries for each layer: what its attention writes, then what its
        hidden units and biases write."""
        for layer in program.layers:
            units = (out for unit in layer.units for out, _ in unit.outs)
            heads = (out for head in layer.heads for out, _ in head.values)
            for outs, norm in ((heads, layer.norm_1), ((*units, *(out for out, _ in layer.biases)), layer.norm_2)):
                self.written.append(frozenset(outs if norm is None else program.coordinates))
        # A program under a budget writes each coordinate in one layer: its value at the end is the one that heads read.
        self.read = () if streams else tuple(written_for_heads(program))
        clips = [unit for layer in program.layers for unit in layer.units if unit.counts]
        self.sums = [tuple(pair for pair in clip.pre.terms if pair[0] != ONE) for clip in clips]

    def errors(
        self,
        trace: Any,
        hard: Hard,
        combine: Callable[[Terms], Any],
        distance: Callable[[Any, Exact, bool], S],
        half: Callable[[list[S]], S],
    ) -> dict[Place, S]:
        """Return the errors of a run, of one word or of a batch, by key.

        Args:
            trace: the run of the network.
            hard: the exact run of the same words.
            combine: the function that returns a linear form of the columns at the end of the run.
            distance: the function that returns the largest distance of a column from hard values; its last argument is
                True if the values are a mean.
            half: the function that returns half the largest of some distances.
        """
        found: dict[Place, S] = {}
        for head, out in self.heads:
            column = trace.attended[head.name].get(self.index[out])
            expected = hard.attended(head.name, out)
            found[head.name, out] = distance(combine(()) if column is None else column, expected, head.uniform)
        if self.streams:
            before: Sequence[Any] = ()
            latest: dict[str, S] = {}
            steps = (step for layer in trace.layers for step in layer)
            for (number, stage, hards), soft, written in zip(hard.stages(), steps, self.written, strict=True):
                # The places are the same whatever runs a word: what nothing changed may be the same object, or not.
                for name in self.streams if not before else filter(written.__contains__, self.streams):
                    index = self.index[name]
                    if not before or soft[index] is not before[index]:
                        latest[name] = distance(soft[index], hards[name], False)
                    found[number, stage, name] = latest[name]
                before = soft
        for number, name in self.read:
            found[number, AFTER, name] = distance(trace.columns[self.index[name]], hard.final(name), False)
        forms = [(tuple((self.index[name], value) for name, value in terms), terms) for terms in self.sums]
        sums = [distance(combine(form), hard.trace.sum(terms), False) for form, terms in forms]
        return found | ({SUM: half(sums)} if sums else {})


def written_for_heads(program: Program) -> Iterator[tuple[int, str]]:
    """Yield the coordinates that hidden units write and on which a later head depends, each with its layer (from 0)."""
    # From the last layer backwards: a coordinate is needed if a head after it reads it, or a hidden unit whose output
    # is.
    needed: set[str] = set()
    found: list[tuple[int, str]] = []
    for number, layer in reversed(tuple(enumerate(program.layers))):
        for unit in layer.units:
            outs = [out for out, _ in unit.outs if out in needed]
            found += [(number, out) for out in outs]
            needed.update(name for name, _ in unit.reads if outs)
        needed.update(name for head in layer.heads for name in head.reads)
    yield from dict.fromkeys(reversed(found))


class WordEngine:
    """Balls or mpmath, one word after the other. Balls give rigorous bounds, with as many bits as each word needs;
    mpmath gives its number as both bounds. A network all of whose values are rationals runs exactly in either."""

    def __init__(self, subject: Subject, network: Transformer, watched: Watched, engine: str, dps: int | None) -> None:
        self.subject, self.network, self.watched, self.engine = subject, network, watched, engine
        bits = 0 if dps is None else int(dps / LOG_2) + 1
        self.soft = SoftModel(
            network, "mpmath" if engine == MPMATH else "ball", rounds=subject.exact, least=bits, dps=dps
        )
        if subject.exact:
            self.soft.limit = max(self.soft.limit, 4 * bits)

    def run(self, word: Word, open_: bool = True) -> SoftTrace:
        """Run the network on a word as it is read. If `open_`, the precision is raised until the answer is settled.
        Raises Undecided if the answer is not settled at the largest precision."""
        if self.subject.exact:
            return self.soft.run(word)
        return self.soft.run(word, self.subject.is_settled if open_ else lambda trace: True)

    def decision(self, word: Word, raised: bool = True) -> tuple[bool, Answer]:
        """Return True and the answer on a word as it is read, or False and None if no answer is reached: at any
        precision, or, if not `raised`, at the first."""
        try:
            trace = self.run(word, raised).trace
        except Undecided:
            return False, None
        if not raised and not self.subject.is_settled(trace):
            return False, None
        return True, self.subject.soft_answer(trace)

    def answer(self, word: Word, hard: Hard, place: int) -> SoftAnswer:
        """Return the network's answer on a word as it is read (undecided if it reaches none), with its errors against
        exact hard attention; `place` is the number of the word in the exact run."""
        try:
            # Where hard attention decides nothing no precision would make softmax agree with it.
            found = self.run(word, settled(hard.answers[place]) or self.subject.exact)
        except Undecided:
            return undecided(self.engine, int(self.soft.limit * LOG_2))
        with found.precision():
            try:
                numbers = self._measured(found, hard, place)
            except Undecided:  # some number has no bound at all
                if self.engine == MPMATH:
                    raise
                return undecided(self.engine, found.digits)
            return SoftAnswer(True, self.subject.soft_answer(found.trace), self.engine, found.digits, numbers)

    def _measured(self, found: SoftTrace, hard: Hard, place: int) -> dict[Place, Bounds]:
        trace, ends = found.trace, dict[Place, Value | None]()
        if self.subject.exact:
            ends = {UNROUNDED: unrounded_output(found.forward, trace), MARGIN: trace.least_margin}
        if self.subject.acceptor:
            ends[OUTPUT] = trace.output(self.network)
        return {what: self._ends(value) for what, value in ends.items() if value is not None} | self.watched.errors(
            trace,
            hard,
            lambda form: linear(found.arithmetic, form, trace.columns),
            lambda soft, expected, _: self._distance(soft, expected, place, found),
            lambda sums: (max(low for low, _ in sums) / 2, max(high for _, high in sums) / 2),
        )

    def _ends(self, value: Value) -> Bounds:
        return (exact(value),) * 2 if self.engine == MPMATH else (lower(value), upper(value))

    def _distance(self, column: Column, expected: Exact, place: int, found: SoftTrace) -> Bounds:
        """Return lower and upper bounds of the largest distance of a column from the hard values of the word number
        `place` over all positions."""
        number, unit, numbers = found.arithmetic.number, expected.unit, list[Any]()
        top, below = 0, 1  # the largest distance of rationals: integers are compared, since Fractions are slow
        whole = expected.whole[place if len(expected.whole) > 1 else 0].tolist()
        for value, hard in zip(column.values, whole, strict=True):
            if is_exact(value):
                over = value.denominator * unit
                off = abs(value.numerator * unit - hard * value.denominator)
                if off * below > top * over:
                    top, below = off, over
            else:
                numbers.append(abs(value - (hard if unit == 1 else number(Fraction(hard, unit)))))
        known = Fraction(top, below)
        if not numbers:
            return known, known
        low, high = self._ends(found.arithmetic.ranked(numbers, 1))
        if self.engine == MPMATH and not self.subject.exact:
            # mpmath gives one number for both bounds; an error below its own rounding must not count as beyond a
            # bound.
            low -= ROUNDING
        return max(low, known), max(high, known)


class FloatEngine:
    """Certified float64, a batch at a time. A number without a finite bound leaves its word undecided."""

    def __init__(self, subject: Subject, network: Transformer, watched: Watched) -> None:
        self.subject, self.watched = subject, watched
        self.floats = FloatForward(network)

    def at_temperature(self, temperature: Schedule) -> FloatEngine:
        """Return an engine of the same network at another temperature. Both share the tables that do not depend on the
        temperature."""
        other = FloatEngine(self.subject, self.floats.model, self.watched)
        other.floats = self.floats.at_temperature(temperature)
        return other

    def passes(self, prepared: Sequence[Word], measured: bool = True) -> Iterator[tuple[BatchTrace, Integers]]:
        """Yield traces, each with pairs of a row in the trace and the number of its word; nothing where float64 is not
        to be trusted in this process. If not `measured`, only answers and margins are read in the traces."""
        if distrust() is None and not self.watched.streams and self.subject.exact:
            yield from self.floats.passes(prepared)
        elif distrust() is None:
            places = np.arange(len(prepared))
            symbols = self.floats.symbols(prepared)
            exact = self.subject.exact
            trace = self.floats.run(
                symbols, soft=True, layers=measured, unrounded=measured and exact, margins=exact or not measured
            )
            yield trace, np.stack([places, places], axis=1)

    def batch(self, prepared: Sequence[Word], hard: Hard, run: Integers | None = None) -> BatchAnswers:
        """Return the network's answers on those words of one length whose numbers are in `run` (None: on all words),
        with their errors against exact hard attention on the same words."""
        found = BatchAnswers.of(len(prepared))
        run = np.arange(len(prepared)) if run is None else run
        with np.errstate(all="ignore"):
            for trace, pairs in self.passes([prepared[place] for place in run.tolist()]):
                rows = np.stack([pairs[:, 0], run[pairs[:, 1]]], axis=1)
                answers, sure = self.answers(trace, len(prepared[0]))
                kept = rows[sure[rows[:, 0]]]
                if len(kept):
                    for row, place in kept.tolist():
                        found.answers[place] = answers[row]
                    found.decided[kept[:, 1]] = True
                    # A number without bounds leaves the word to balls, even if its answer is certain.
                    found.put(kept[:, 1], self._measured(trace, kept[:, 0], kept[:, 1], hard))
        return found

    def decisions(self, prepared: Sequence[Word]) -> tuple[list[tuple[bool, Answer]], Floats]:
        """Return for each word (True, answer), or (False, None) if float64 does not decide it; and for each word its
        approximate distance from another answer: -inf where it is not a number, 0 where no run of float64 is to be
        trusted."""
        result: list[tuple[bool, Answer]] = [(False, None)] * len(prepared)
        margins = np.zeros(len(prepared))
        for trace, rows in self.passes(prepared, measured=False):
            answers, sure = self.answers(trace, len(prepared[0]))
            here = self._margins(trace, len(prepared[0]))
            margins[rows[:, 1]] = here[rows[:, 0]]
            for row, place in rows.tolist():
                if sure[row]:
                    result[place] = True, answers[row]
        return result, margins

    def decisions_at(
        self, prepared: Sequence[Word], temperatures: Sequence[Schedule]
    ) -> list[tuple[list[tuple[bool, Answer]], list[float]]]:
        """Return for each temperature the decisions on words of one length, (True, answer) or (False, None), and the
        approximate distances from another answer, as `decisions`."""
        count = len(prepared)
        if distrust() is not None:
            return [([(False, None)] * count, [0.0] * count) for _ in temperatures]
        trace = run_at(self.floats, self.floats.symbols(prepared), temperatures)
        answers, sure = self.answers(trace, len(prepared[0]))
        found = [(True, answer) if one else (False, None) for answer, one in zip(answers, sure.tolist(), strict=True)]
        margins = self._margins(trace, len(prepared[0])).tolist()
        return [(found[at : at + count], margins[at : at + count]) for at in range(0, len(found), count)]

    def answers(self, trace: BatchTrace, n: int) -> tuple[list[Answer], Booleans]:
        """Return the answers on a batch of words of length n, and True for each that is certain."""
        if self.subject.acceptor:
            return _sides(trace.accepted, trace.rejected).tolist(), trace.decided
        first, level = 1 - self.subject.program.first, self.subject.threshold
        if self.subject.program.integers:
            rows = _nearest(trace.columns[self.subject.output], n, first)
            spread = np.broadcast_to(rows, (trace.words, n)).tolist()
            return [tuple(row) for row in spread], np.array([None not in row for row in spread], dtype=np.bool_)
        shape, overs, unders = (trace.words, n), list[Booleans](), list[Booleans]()
        with np.errstate(all="ignore"):
            for _, name in self.subject.program.outputs:
                block = trace.columns[self.subject.index[name]]
                over, under = (np.broadcast_to(side(block, level)[:, first:], shape) for side in (above, below))
                overs.append(over)
                unders.append(under)
        answers = self.subject.symbols(np.stack(overs), np.stack(unders))
        return list(answers), np.array([settled(answer) for answer in answers], dtype=np.bool_)

    def _margins(self, trace: BatchTrace, n: int) -> Floats:
        subject, program = self.subject, self.subject.program
        with np.errstate(all="ignore"):
            margin = np.full(trace.words, np.inf) if trace.margin is None else (trace.margin[0] + trace.margin[1]) / 2
            if not subject.exact:
                place = program.reading_index(n)
                read = slice(place, place + 1) if subject.acceptor else slice(1 - program.first, None)
                outs = [subject.output] if subject.acceptor else [subject.index[name] for name in program.answers]
                level, _ = rounded(subject.threshold)
                for out in outs:
                    mid = trace.columns[out].mid[:, read]
                    away = np.abs(mid - level)
                    if program.integers:
                        # Distance from the middle between two integers over n, where the nearest one changes.
                        away = 1 / (2 * n) - np.abs(mid - np.rint(mid * n) / n)
                    margin = np.minimum(margin, away.min(axis=1))
        return np.where(np.isnan(margin), -np.inf, margin)

    def _measured(self, trace: BatchTrace, rows: Integers, places: Integers, hard: Hard) -> dict[Place, Span]:
        """Return the measured numbers of the words numbered `places`, which are the rows `rows` of the trace: by key,
        lower and upper bounds in the order of these words."""

        soft_rows, hard_rows = RowSelection.of(rows), RowSelection.of(places)
        # Where a head writes a coordinate that was 0, its output and the coordinate are one block.
        known: dict[tuple[int, int], tuple[Block, Exact, Span]] = {}

        def distance(block: Block, expected: Exact, mean: bool) -> Span:
            # Means of uniform heads are often equal as rationals, where float64 would only give a small bound.
            if mean and same(block, soft_rows, expected, hard_rows):
                return np.zeros(len(rows)), np.zeros(len(rows))
            place = id(block), id(expected)
            if place not in known:  # both are kept, so that no other object gets their ids
                known[place] = block, expected, far(block, soft_rows, expected, hard_rows)
            return known[place][2]

        def half(sums: list[Span]) -> Span:
            low, high = (np.max([one[side] for one in sums], axis=0) / 2 for side in (0, 1))
            return low, high

        bounds: dict[Place, Span | None] = {OUTPUT: trace.output} if self.subject.acceptor else {}
        if self.subject.exact:
            bounds |= {UNROUNDED: trace.unrounded, MARGIN: trace.margin}
        found = {what: (span[0][rows], span[1][rows]) for what, span in bounds.items() if span is not None}
        return found | self.watched.errors(trace, hard, trace.combine, distance, half)


def _nearest(block: Block, n: int, first: int) -> NDArray[np.object_]:
    """Return, for each word and position from index `first` on, the integer that n times the column is certainly
    nearest to; None where no integer is certain. The shape is (words or 1, positions less `first`)."""
    with np.errstate(all="ignore"):
        scaled = block.mid[:, first:] * n
        whole = np.rint(scaled)
        # the product and the difference are off by a rounding each, of numbers no larger than |scaled| + 1
        off = np.abs(scaled - whole) + outward(n * block.radius[:, first:] + 4 * U * (np.abs(scaled) + 1))
        sure = np.isfinite(scaled) & (np.abs(scaled) < WHOLE) & (outward(off) < 1 / 2)
        integers = np.where(sure, whole, 0).astype(np.int64)
    return np.where(sure, integers.astype(object), np.array(None))


def _sides(over: Booleans, under: Booleans) -> NDArray[np.object_]:
    """Return True where `over`, False where `under`, and None where neither is true."""
    return np.where(over, True, np.where(under, False, np.array(None)))


class SoftEngine:
    """The softmax network of a subject, at one length or all, in the arithmetic of an `--engine`.

    Args:
        network: the subject's own, or at one length the one that a plan gives.
        program: the program whose exact run errors are measured against.
        budget: the source of the error that theory allows each head. A word is run in balls if float64 cannot decide if
            its errors are within these. None: every coordinate is measured after every step.
    """

    def __init__(
        self,
        subject: Subject,
        network: Transformer,
        program: Program,
        engine: str = AUTO,
        dps: int | None = None,
        budget: Budget | None = None,
    ) -> None:
        if engine == FLOAT64:
            network.require_softmax("--engine float64")
        self.subject, self.network, self.engine = subject, network, engine
        watched = Watched(program, network, streams=budget is None)
        if engine == FLOAT64:
            network.require_plain("certified float64", "Use --engine auto or ball: exact rationals and balls.")
        used = subject.arithmetic(engine)
        self.words = WordEngine(subject, network, watched, BALL if used in (AUTO, FLOAT64) else used, dps)
        floats = used in (AUTO, FLOAT64) and not network.normed and network.rounding is None
        self.floats = FloatEngine(subject, network, watched) if floats else None
        self._program, self._budget, self._dps = program, budget, dps
        self._allowed: dict[int, dict[Place, float]] = {}

    def at_temperature(self, temperature: Schedule) -> SoftEngine:
        """Return an engine of the same network at another temperature. Both share the tables that do not depend on the
        temperature."""
        network = replace(self.network, temperature=temperature)
        other = SoftEngine(self.subject, network, self._program, self.engine, self._dps, self._budget)
        if self.floats is not None:
            other.floats = self.floats.at_temperature(temperature)
        return other

    def batch(self, prepared: Sequence[Word], hard: Hard, run: Integers | None = None) -> BatchAnswers:
        """Return the network's answers on words of one length as they are read. The numbers of the words on which it
        runs are in `run`; on the others an error bound must decide that it answers as hard attention does (None: it
        runs on all words). Raises Undecided if the engine is float64, and this process does not round as its bounds
        assume."""
        run = run if run is not None and len(run) < len(prepared) else np.arange(len(prepared))
        if self.engine == FLOAT64 and (reason := distrust()) is not None:
            raise Undecided(reason)
        if self.floats is None:
            found, left = BatchAnswers.of(len(prepared)), run.tolist()
        else:
            found = self.floats.batch(prepared, hard, run)
            # Balls decide what float64 leaves open, one word at a time.
            left = self._open(found, run, len(prepared[0]))
        for place in left if self.engine != FLOAT64 else ():
            found.settle(place, self.words.answer(prepared[place], hard, place))
        if len(run) < len(prepared):
            found.follow(hard.answers, run)
        return found

    def decisions(self, prepared: Sequence[Word]) -> list[tuple[bool, Answer]]:
        """Return (True, answer) for each word of one length, as it is read, or (False, None) if no answer is reached.
        Float64 goes first, then balls."""
        found, _ = self._in_floats(prepared)
        if self.engine == FLOAT64:
            return found
        return [one if one[0] else self.words.decision(word) for one, word in zip(found, prepared, strict=True)]

    def margins(self, prepared: Sequence[Word], raised: bool) -> tuple[list[tuple[bool, Answer]], list[float]]:
        """Return the decisions on words, and the approximate distance of each from another answer (0 where float64 is
        not used or not to be trusted). For searches: the precision is raised, if `raised`, up to the first word that
        stays without an answer, since others then take all digits to no end, too."""
        found, margins = self._in_floats(prepared)
        for place, word in enumerate(prepared if self.engine != FLOAT64 else ()):
            if not found[place][0]:
                found[place] = self.words.decision(word, raised)
                raised = raised and found[place][0]
        return found, margins

    def decisions_at(
        self, prepared: Sequence[Word], temperatures: Sequence[Schedule]
    ) -> list[tuple[list[tuple[bool, Answer]], list[float]]]:
        """Return for each temperature what float64 decides on words of one length, as they are read: (True, answer), or
        (False, None) for a word that it leaves open; and the approximate distances from another answer."""
        if self.floats is None:
            return [([(False, None)] * len(prepared), [0.0] * len(prepared)) for _ in temperatures]
        return self.floats.decisions_at(prepared, temperatures)

    def _in_floats(self, prepared: Sequence[Word]) -> tuple[list[tuple[bool, Answer]], list[float]]:
        if self.floats is None:
            return [(False, None)] * len(prepared), [0.0] * len(prepared)
        found, margins = self.floats.decisions(prepared)
        return found, margins.tolist()

    def _open(self, found: BatchAnswers, run: Integers, n: int) -> list[int]:
        """Return the numbers of the words, among those that were `run`, that float64 leaves to balls: words without a
        certain answer and, under a budget, for each error of a head for which float64 cannot tell on some words whether
        it exceeds its bound, the one of these words with the largest certain error (the first of several)."""
        sure = run[found.decided[run]]
        left = {*run.tolist()} - {*sure.tolist()}
        if self._budget is not None and n not in self._allowed:
            heads = self._program.heads
            bounds = {name: float_at_most(one) for name, one in allowed_errors(self._budget, heads, n).items()}
            self._allowed[n] = {(head.name, out): bounds[head.name] for head in heads for out, _ in head.values}
        for place, bound in self._allowed.get(n, {}).items():
            if place in found.numbers:
                low, high = (side[sure] for side in found.numbers[place])
                doubtful = np.flatnonzero((low <= bound) & (high > bound))
                if len(doubtful):
                    left.add(int(sure[doubtful[np.argmax(low[doubtful])]]))
        return sorted(left)


def float_at_most(value: Fraction) -> float:
    """Return the largest float that is not above a number: the largest finite one beyond the range of float64, -inf
    below it."""
    near, off = rounded(value)
    if isinf(off):
        return -inf if value < 0 else float_info.max
    return near if Fraction(near) <= value else nextafter(near, -inf)


# ---- errors that theory allows under a budget ----


def allowed_error(budget: Budget, head: Head, n: int) -> Fraction:
    """Return the largest error, rounded up, that theory allows what a head writes at length n."""
    bound = bound_of(budget.error_bound, head, n)
    assert bound is not None
    return bound


def allowed_errors(budget: Budget, heads: Iterable[Head], n: int) -> dict[str, Fraction]:
    """Return `allowed_error` by name of the head. Heads of which a budget reads the same have the same error."""
    return {head.name: error for head, error in _once(budget, heads, lambda head: allowed_error(budget, head, n))}


def head_bounds(subject: Subject, n: int) -> dict[str, HeadResult]:
    """Return, by name of the head, the declaration and bound of every head of a subject with a budget at length n,
    before any word is run: its error is 0."""
    budget, program = subject.budget, subject.program

    def numbers(head: Head) -> tuple[Fraction, Fraction | None, Fraction | None]:
        """Return the allowed error, the least declared gap and the paper's bound of a head."""
        # A single position has no two scores, so no gap.
        declared = head.least_promised(n) if n > 1 else None
        return allowed_error(budget, head, n), declared, bound_of(budget.paper_bound, head, n)

    layers = {head.name: number for number, layer in enumerate(program.layers, start=1) for head in layer.heads}
    return {
        head.name: HeadResult(
            head.name, layers[head.name], head.purpose, head.theorem, Fraction(0), allowed, None, declared, paper
        )
        for head, (allowed, declared, paper) in _once(budget, program.heads, numbers)
    }


def _once(budget: Budget, heads: Iterable[Head], compute: Callable[[Head], S]) -> Iterator[tuple[Head, S]]:
    """Yield each head with its result, which is computed once for all heads of which the budget reads the same."""
    known: dict[Hashable, S] = {}
    for head in heads:
        read = budget.reads(head)
        if read not in known:
            known[read] = compute(head)
        yield head, known[read]
