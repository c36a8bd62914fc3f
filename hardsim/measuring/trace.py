"""Traces: one word, position by position, with the value of each coordinate and the attention of each head, for hard
attention beside softmax.

The softmax run is in balls (or in mpmath), so that a trace shows bounds: a lower bound of the weight at the positions
that hard attention selects, and an upper bound of the error of what a head reads. An external network has no hard
run; its trace shows hard attention with its own logits: the mean over those that are not told apart from the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from html import escape
from math import floor
from typing import Annotated, Any

import numpy as np

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.evaluate import judge_of
from hardsim.campaign.explanation import LONGEST_TRACED
from hardsim.campaign.judges import HardJudge, NetworkJudge
from hardsim.campaign.result import Against, Digits, Engine, Evaluation, LayerNumber, answers_summary, word_summary
from hardsim.errors import InputError, Undecided, did_you_mean
from hardsim.hard import hardmax
from hardsim.hard.exact import HardTrace, LayerTrace
from hardsim.lang.ast import BOS
from hardsim.lang.pretty import shortened
from hardsim.lang.valuations import where_held
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational
from hardsim.network.transformer import SoftWeighting, Transformer
from hardsim.program.hard_attention import Head, Program, Weighting
from hardsim.records import NOTHING, Exact, Lower, Measured, Natural, Record, Upper, at_least, at_most, one_of, short
from hardsim.run.arithmetic import Value, is_exact, linear
from hardsim.run.ball import BallArithmetic
from hardsim.run.dense_exact import DenseForward, Row, shares
from hardsim.run.dense_pass import Watch
from hardsim.run.forward import HALF, margin
from hardsim.run.mp import MpArithmetic
from hardsim.run.soft import SoftTrace, bounds
from hardsim.targets.external import External
from hardsim.targets.result import (
    BALL,
    MPMATH,
    AnyWord,
    FormulaText,
    InputKind,
    InputName,
    ModelFacts,
    Title,
    Word,
    settled,
)
from hardsim.targets.subject import Subject
from hardsim.visible import visible

FOREIGN_BITS = 256
"""Bits of the balls for an external network."""
DECIMALS = 10**6
"""The weights in a picture are rounded to one part in DECIMALS."""
LONGEST_LABEL = 28
"""Largest number of characters of a row's label in a table."""
MOST_KEYS = 3
"""Largest number of positions listed where several have the largest score."""
TINY = Fraction(1, 10**9)
"""Errors below this are shown as `<1e-9`, other numbers as 0."""

Position = Annotated[Natural, "A position: from 1; from 0 with a beginning of sequence, and in external networks."]


# ---- the result ----


@dataclass(frozen=True, slots=True, repr=False)
class TraceRead(Record):
    """The attention of one head at one position, and what it reads there."""

    query: Position
    keys: tuple[int, ...]
    """The positions that hard attention selects; none: no position is visible. For an external network, those whose
    logits are not told apart from the largest; average hard attention takes their mean."""
    weight: Lower
    """A lower bound of the total softmax weight at these positions."""
    gap: Lower | None
    """A lower bound of the distance of the largest score from the next one, in units of the score (for an external
    network: of the logits, in nats); 0 where a leftmost or rightmost head has a tie; None where all visible
    positions have the same score."""
    hard: tuple[Exact, ...] = ()
    """The values that hard attention reads, one for each of the head's outputs; none for an external network."""
    soft: tuple[Measured, ...] = ()
    """The values that softmax reads, the middles of their bounds, one for each of the head's outputs."""
    error: Upper | None = None
    """An upper bound of the largest distance between the hard and the soft values, over the outputs; None for an
    external network."""

    @property
    def looks(self) -> str:
        """The positions that hard attention selects, as short text."""
        keys = self.keys
        if len(keys) > MOST_KEYS and keys[-1] - keys[0] == len(keys) - 1:
            return f"{keys[0]}-{keys[-1]}"
        more = f",... ({len(keys)})" if len(keys) > MOST_KEYS else ""
        return ",".join(map(str, keys[:MOST_KEYS])) + more if keys else NOTHING

    @property
    def there(self) -> str:
        """The softmax weight at these positions, rounded down for a narrow column."""
        if not self.keys:
            return NOTHING
        down = floor(self.weight * 1000) / 1000
        return "1" if self.weight == 1 else f">{down}" if down == 0.999 else str(down)

    @property
    def at_least(self) -> str:
        """The softmax weight at these positions, rounded down; a weight close to 1 never looks like 1."""
        if not self.keys:
            return NOTHING
        close = 0 < 1 - self.weight < Fraction(1, 1000)
        return f"1 - {at_most(1 - self.weight)}" if close else at_least(self.weight)


@dataclass(frozen=True, slots=True, repr=False)
class TraceHead(Record):
    """One head on the word."""

    layer: LayerNumber
    name: str
    """The head's name."""
    mask: Annotated[str, one_of(*(mask.value for mask in Mask))]
    """The mask, which hides keys from the head."""
    purpose: str
    """The purpose of the head; empty if it has none."""
    uniform: bool
    """True if at each query all visible keys have the same score."""
    outputs: tuple[str, ...]
    """The coordinates that the head writes; none for an external network."""
    reads: tuple[TraceRead, ...]
    """The attention and readings of the head, position by position."""
    weights: tuple[tuple[Measured | None, ...], ...]
    """The softmax attention weights, a row of all positions for each query, rounded to six decimals; None where a
    position is not visible."""

    @property
    def hard(self) -> list[list[float | None]]:
        """The weights of hard attention, in the same form as `weights`."""
        rows = list[list[float | None]]()
        for read, row in zip(self.reads, self.weights, strict=True):
            first, share = self.reads[0].query, 1 / max(1, len(read.keys))
            looked = [share * (key + first in read.keys) for key in range(len(row))]
            rows.append([None if weight is None else one for weight, one in zip(row, looked, strict=True)])
        return rows

    @property
    def rows(self) -> list[list[str]]:
        """The rows of a table with a column for each position: the selected positions, and the weight there."""
        found = [[f"head {self.name} looks at", *(read.looks for read in self.reads)]]
        return found if self.uniform else [*found, ["  weight there", *(read.there for read in self.reads)]]


@dataclass(frozen=True, slots=True, repr=False)
class TraceValue(Record):
    """The values of one coordinate after a layer that writes it."""

    layer: Natural
    """The layer; 0: the word embedding."""
    coordinate: str
    """The coordinate's name."""
    holds: str
    """The meaning of the coordinate; empty if it has none."""
    hard: tuple[Exact, ...]
    """The values with hard attention, position by position."""
    soft: tuple[Measured, ...]
    """The values with softmax, the middles of their bounds, position by position."""
    error: tuple[Upper, ...]
    """Upper bounds of the distance between the hard and the softmax value, position by position."""
    margin: tuple[Lower, ...] | None
    """Lower bounds of the margin, position by position. For a coordinate to which a clip(2x - 1/2) rounds an attended
    value x: half the distance of the clip's input from the interval between 0 and 1, so in units of x; negative
    inside the interval. For an output that is compared with a threshold: its distance from the threshold. None:
    nothing is rounded here."""

    @property
    def rows(self) -> list[list[str]]:
        """The rows of a table with a column for each position: values, errors and margins of this coordinate."""
        about = shortened(self.holds, LONGEST_LABEL - len(self.coordinate)) if self.holds else ""
        hard = list(map(short, self.hard))
        soft = [short(one if abs(one) > TINY else Fraction(0)) for one in self.soft]
        found = [[f"{self.coordinate}{about and f': {about}'}", *hard]]
        if hard != soft:
            found.append(["  soft", *soft])
        if any(self.error):
            found.append(["  error", *(at_most(one) if one > TINY or not one else "<1e-9" for one in self.error)])
        return found if self.margin is None else [*found, ["  margin", *map(short, self.margin)]]


@dataclass(frozen=True, slots=True, repr=False)
class TraceResult(Record):
    """The result of `trace`: one word on one network, position by position."""

    input: InputName
    kind: InputKind
    formula: FormulaText
    title: Title
    model: ModelFacts
    """The network that was run."""
    engine: Engine
    digits: Digits
    word: AnyWord
    """The word."""
    symbols: tuple[str, ...]
    """The symbol or token at each position, including those before and after the word."""
    first: Natural
    """The number of the first position: 0 or 1."""
    values: tuple[TraceValue, ...]
    """The coordinates that have a meaning, layer by layer; none for an external network."""
    heads: tuple[TraceHead, ...]
    """The heads, layer by layer."""
    answers: Evaluation
    """The answers on the word."""
    against: Against = None

    @property
    def summary(self) -> str:
        """One line: the input, the word and the network."""
        return f"{self.input!r} {word_summary(self.word)}: {self.model.summary}"

    @property
    def layers(self) -> list[int]:
        """The numbers, from 1, of the layers in which something is read or written, in order."""
        return sorted({head.layer for head in self.heads} | {value.layer for value in self.values} - {0})

    def columns(self, layer: int) -> list[str]:
        """Return the column titles of a layer's table: its number, then positions with their symbols on a second
        line."""
        return [f"layer {layer}", *(f"{self.first + place}\n{symbol}" for place, symbol in enumerate(self.symbols))]

    def rows(self, layer: int) -> list[list[str]]:
        """Return the rows of a layer's table: its heads and coordinates, position by position. What a head adds is
        shown where the layer erases it again, as layers with norms do."""
        values = [value for value in self.values if value.layer == layer]
        erased = {value.coordinate for value in values if not any(value.hard)}
        found = list[list[str]]()
        for head in (head for head in self.heads if head.layer == layer):
            found += head.rows
            for out, *read in zip(head.outputs, *(one.hard for one in head.reads), strict=False):
                if out in erased and any(read):
                    found.append([f"  adds to {out}", *map(short, read)])
        return found + [row for value in values for row in value.rows]

    def _repr_html_(self) -> str:
        """Return the trace as HTML tables, for a notebook."""

        def line(cells: list[str], kind: str) -> str:
            message = ("<br>".join(escape(visible(part)) for part in cell.split("\n")) for cell in cells)
            message = (f"&emsp;{one.lstrip()}" if one.startswith(" ") else one for one in message)
            return f"<tr>{''.join(f'<{kind}>{one}</{kind}>' for one in message)}</tr>"

        tables = [
            f"<table>{line(self.columns(layer), 'th')}{''.join(line(row, 'td') for row in self.rows(layer))}</table>"
            for layer in self.layers
        ]
        message = f"{self.summary}; {answers_summary(self.answers)}"
        return f"<div><p><strong>{escape(visible(message))}</strong></p>{''.join(tables)}</div>"

    def chosen(self, names: Sequence[str]) -> tuple[TraceHead, ...]:
        """Return the heads with these names, or all heads if no name is given. Raises InputError if no head has one of
        the names."""
        known = [head.name for head in self.heads]
        for name in names:
            if name not in known:
                near = did_you_mean(name, known)
                message = f"{self.input} has no head {name!r}{near and f'; {near}'}"
                raise InputError(
                    message, f"Its heads are: {', '.join(map(repr, known))}." if known else "It has no heads."
                )
        return tuple(head for head in self.heads if not names or head.name in names)


def require_traceable(positions: int, engine: str) -> None:
    """Refuse a word with too many positions, and an arithmetic that does not run single words. Raises InputError,
    saying what to do."""
    if positions > LONGEST_TRACED:
        message = f"a trace has at most {LONGEST_TRACED} positions, not {positions}: each of them sees every other"
        raise InputError(message, "`hardsim eval` answers on longer words.")
    if engine == "float64":
        raise InputError(
            "a trace cannot run in float64: it runs one word, in balls or in mpmath", "Leave out --engine float64."
        )


def trace_target(
    target: Subject | External, word: Word, engine: str = "auto", dps: int | None = None, watch: Watch | None = None
) -> TraceResult:
    """Trace a word on a compiled or an external network, as `trace_of` or `trace_network` does."""
    if isinstance(target, Subject):
        return trace_of(target, word, engine, dps)
    return trace_network(target, word, engine, dps, watch)


# ---- formulas, programs, models ----


def trace_of(subject: Subject, word: Word, engine: str = "auto", dps: int | None = None) -> TraceResult:
    """Trace a word on a compiled network. Raises InputError if the word is too long, or leaves what the construction
    covers (OutOfRange); Undecided if a number has no bounds at the limit of the arithmetic."""
    prepared = subject.prepared(word)
    require_traceable(len(prepared) + subject.program.bos, engine)
    options = CheckOptions(max_n=len(word), dps=dps, engine=engine)
    judge = judge_of(subject, options, word)
    (answers,) = judge.evaluations([word])
    hard = judge.hard.trace([prepared])
    found = _run(judge, prepared, settled(answers.hard))
    with found.precision():
        both = _Both(judge, hard, found)
        values, heads = tuple(both.values()), tuple(both.heads())
    return TraceResult(
        subject.name, subject.kind, subject.formula_text, subject.file_title, subject.facts,
        MPMATH if engine == MPMATH else BALL, found.digits, tuple(word),
        (*([BOS] * subject.program.bos), *prepared), subject.program.first, values, heads, answers,
        subject.against,
    )  # fmt: skip


def _run(judge: HardJudge, prepared: Word, open_: bool) -> SoftTrace:
    """Return the softmax run of a word, with a settled answer if possible."""
    words = judge.soft.words
    try:
        return words.run(prepared, open_)
    except Undecided:
        # Even where no precision settles the answer, the bounds of the run are worth showing.
        return words.soft.run(prepared, lambda trace: True)


class _Both:
    """The hard and the softmax run of one word."""

    def __init__(self, judge: HardJudge, hard: HardTrace, soft: SoftTrace) -> None:
        self.program: Program = judge.program
        self.network: Transformer = soft.forward.model
        self.hard, self.soft, self.subject = hard, soft, judge.subject
        self.arithmetic = soft.arithmetic
        self.places = range(hard.n + 1 - self.program.first)

    # ---- coordinates ----

    def values(self) -> Iterator[TraceValue]:
        """Yield the values of the coordinates: the letters first, then what each layer writes."""
        program, index = self.program, self.subject.index
        letters = _embedded(program)
        meanings = letters | program.meanings
        entering = self.soft.trace.entering
        for name in letters:
            yield self._value(0, name, meanings[name], self.hard.inputs, entering[index[name]].values, None)
        for number, (layer, found) in enumerate(zip(program.layers, self.hard.layers, strict=True)):
            attended, after = self.soft.trace.layers[number]
            margins = self._margins(number, attended)
            outs = [out for head in layer.heads for out, _ in head.values]
            outs += [out for unit in layer.units for out, _ in unit.outs] + [out for out, _ in layer.biases]
            for name in dict.fromkeys(outs):
                place = index[name]
                column = after[place].values
                near = margins.get(place)
                if number + 1 == len(program.layers) and name in program.answers and program.threshold is not None:
                    level = Fraction(program.threshold)
                    near = [_low(abs(value - self._number(value, level))) for value in column]
                yield self._value(number + 1, name, meanings.get(name, ""), found.columns, column, near)

    def _value(
        self, layer: int, name: str, holds: str, hard: Any, column: Sequence[Value], near: list[Fraction] | None
    ) -> TraceValue:
        expected = [Fraction(hard[name].at(0, place)) for place in self.places]
        ends = [bounds(value) for value in column]
        apart = tuple(_apart(one, end) for one, end in zip(expected, ends, strict=True))
        away = None if near is None else tuple(near)
        return TraceValue(layer, name, holds, tuple(expected), tuple(map(_middle, ends)), apart, away)

    def _margins(self, number: int, attended: Any) -> dict[int, list[Fraction]]:
        """Return, for each coordinate to which a clip rounds an attended value, the margin at every position (see
        `margin`)."""
        found: dict[int, list[Fraction]] = {}
        for unit in self.network.layers[number].ffn.units:
            if self.network.rounds(unit):
                entering = linear(self.arithmetic, unit.form, attended, unit.bias).values
                near = [_low(margin(value, self._number(value, HALF))) for value in entering]
                for out, _ in unit.outs:
                    found[out] = list(map(min, found[out], near)) if out in found else near
        return found

    def _number(self, beside: Value, number: Fraction) -> Value:
        """Return a number in the type that computes with a value: exact, or of the run's arithmetic."""
        return number if is_exact(beside) else self.arithmetic.number(number)

    # ---- heads ----

    def heads(self) -> Iterator[TraceHead]:
        """Yield what the heads read. The weights, and the visible keys, are those of the network, even if the program
        that its file names has others."""
        entering, size, bos = self.hard.inputs, len(self.places), self.program.bos
        rows = {(number, made.name): (made, part) for number, made, part in self.soft.forward.weights(self.soft.trace)}
        for number, (layer, found) in enumerate(zip(self.program.layers, self.hard.layers, strict=True)):
            for head in layer.heads:
                made, shares = rows[number, head.name]
                sees = hardmax.visible(head.mask, size, bos).tolist()
                seen = hardmax.visible(made.mask, size, bos).tolist()
                reads = tuple(
                    self._read(head, found, entering, place, shares[place], sees[place]) for place in self.places
                )
                yield TraceHead(
                    number + 1, head.name, made.mask.value, head.purpose, head.uniform and not made.scores,
                    tuple(out for out, _ in head.values), reads, tuple(map(_rounded, shares, seen)),
                )  # fmt: skip
            entering = found.columns

    def _read(
        self, head: Head, found: LayerTrace, entering: Any, place: int, shares: Sequence[Value], sees: Sequence[bool]
    ) -> TraceRead:
        keys, gap = self._looks(head, found, entering, place, np.flatnonzero(sees).tolist())
        weight = sum((_low(shares[key]) for key in keys), Fraction(0))
        hard, soft, error = list[Fraction](), list[Fraction](), Fraction(0)
        for out, _ in head.values:
            column = self.soft.trace.attended[head.name].get(self.subject.index[out])
            ends = (Fraction(0), Fraction(0)) if column is None else bounds(column.values[place])
            hard.append(Fraction(found.results[head.name][out].at(0, place)))
            soft.append(_middle(ends))
            error = max(error, _apart(hard[-1], ends))
        first = self.program.first
        return TraceRead(
            place + first, tuple(key + first for key in keys), min(max(weight, Fraction(0)), Fraction(1)), gap,
            tuple(hard), tuple(soft), error,
        )  # fmt: skip

    def _looks(
        self, head: Head, found: LayerTrace, entering: Any, place: int, seen: list[int]
    ) -> tuple[list[int], Fraction | None]:
        """Return the positions that hard attention selects at a query, out of the visible ones, and the score gap
        there: 0 where a leftmost or rightmost head has a tie, None where no two scores differ. For geometric attention:
        the nearest position with the largest score, if that is positive, and no tie."""
        size = len(self.places)
        if head.uniform or not seen:
            return seen, None
        rows = found.rows[head.name]
        several = int(np.broadcast_to(rows.maxima, (1, size))[0, place]) > 1
        # A distance below 0 stands for a row without two different scores.
        distance = int(np.broadcast_to(rows.gap, (1, size))[0, place])
        gap = None if distance < 0 else Fraction(distance, rows.units[place])
        winner = int(np.broadcast_to(rows.winners, (1, size))[0, place])

        def score(key: int) -> Fraction:
            return sum((_at(q, entering, place) * _at(k, entering, key) for q, k in head.score), Fraction(0))

        if self.program.weighting is SoftWeighting.GEOMETRIC:
            # Of equal scores the nearest counts, and one that is not positive is hardly weighed.
            return [winner] * (score(winner) > 0), gap
        if not several or head.weighting is not Weighting.AVERAGE:
            return [winner], Fraction(0) if several else gap

        best = score(winner)
        return [key for key in seen if score(key) == best], gap


def _embedded(program: Program) -> dict[str, str]:
    """Return the meaning of each coordinate of the word embedding: the symbols where it is 1, or the values that
    add up in it."""
    parts: dict[str, list[tuple[Rational, str]]] = {}
    for one in program.letters:
        parts.setdefault(one.name, []).append((one.value, where_held(one.symbols, program.alphabet)))
    added = {name: [f"{value} where {where}" for value, where in found] for name, found in parts.items()}
    for encoding in program.encodings:
        if encoding.name in added:
            added[encoding.name].append(f"everywhere {encoding.value}")
    return {
        name: found[0][1] if [value for value, _ in found] == [1] == [len(added[name])] else "; ".join(added[name])
        for name, found in parts.items()
    }


def _at(form: Any, columns: Any, place: int) -> Fraction:
    """Evaluate a linear form of the residual stream at one position."""
    return sum((value * Fraction(columns[name].at(0, place)) for name, value in form.terms), Fraction(0))


def _middle(ends: tuple[Fraction, Fraction]) -> Fraction:
    return (ends[0] + ends[1]) / 2


def _apart(expected: Fraction, ends: tuple[Fraction, Fraction]) -> Fraction:
    """Return an upper bound of the distance between a number and any number between two ends."""
    return max(abs(ends[0] - expected), abs(ends[1] - expected))


def _low(value: Value) -> Fraction:
    return bounds(value)[0]


def _rounded(shares: Sequence[Value], seen: Sequence[bool]) -> tuple[Fraction | None, ...]:
    middles = [_middle(bounds(share)) if known else None for share, known in zip(shares, seen, strict=True)]
    return tuple(None if share is None else Fraction(round(share * DECIMALS), DECIMALS) for share in middles)


# ---- external networks ----


def trace_network(
    subject: External, word: Word, engine: str = "auto", dps: int | None = None, watch: Watch | None = None
) -> TraceResult:
    """Trace a word on an external network: its answers, then its heads. Raises InputError if the word is too long;
    Undecided if a number has no bounds."""
    network, watch = subject.network, watch or Watch()
    tokens = network.read(word)
    require_traceable(len(tokens), engine)
    judge = NetworkJudge(subject, dps, engine, watch.step)
    watch.next()
    answers = judge.evaluation(word)
    watch.next()
    exact = judge.engine.exact
    bits = FOREIGN_BITS if dps is None else max(FOREIGN_BITS, dps * 1000 // 301 + 1)
    bits = exact.least if exact.large and engine != MPMATH else bits
    arithmetic: Any = MpArithmetic(int(bits * 0.301)) if engine == MPMATH else BallArithmetic(bits)
    # mpmath has no bounds, only rounding: logits within half its bits count as equal.
    near = Fraction(1, 2 ** (bits // 2)) if engine == MPMATH else Fraction(0)
    run = (
        DenseForward(network, arithmetic).attention(len(word), tokens, watch.step)
        if engine == MPMATH
        else exact.attention(len(word), tokens, bits, watch.step)
    )
    heads = []
    for number, head, rows in run:
        with arithmetic.precision():
            weights = [shares(arithmetic, row) for row in rows]
            reads = tuple(_looked(query, row, weights[query], near) for query, row in enumerate(rows))
            seen = [[one is not None for one in row] for row in rows]
            whole = tuple(map(_rounded, weights, seen))
            uniform = all(read.gap is None for read in reads)
        heads.append(TraceHead(number + 1, head.name, head.mask.value, "", uniform, (), reads, whole))
    readout = network.readout
    return TraceResult(
        subject.name, subject.kind, None, subject.file_title, subject.facts, MPMATH if engine == MPMATH else BALL,
        int(bits * 0.301), tuple(word), tuple(map(str, (*readout.before, *word, *readout.after))), 0, (), tuple(heads),
        answers, subject.against,
    )  # fmt: skip


def _looked(query: int, logits: Row, shares: Row, near: Fraction) -> TraceRead:
    """Return the keys whose logits are not told apart from the largest, and a lower bound of the distance to the
    next logit."""
    seen = {key: bounds(logit) for key, logit in enumerate(logits) if logit is not None}
    top = max(low for low, _ in seen.values())
    keys = tuple(key for key, (_, high) in seen.items() if high >= top - near)
    others = [high for key, (_, high) in seen.items() if key not in keys]
    weight = sum((_low(shares[key]) for key in keys), Fraction(0)) if others else Fraction(1)
    return TraceRead(query, keys, weight, top - max(others) if others else None)
