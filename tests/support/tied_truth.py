"""Hard attention word by word from a program's forms alone, and a check of everything that was derived about every
word.

Numbers are python-flint's rationals in arrays of shape (words, positions), positions from 1 on, or from 0 with a
beginning of sequence. Nothing of the interpreter (`hardsim.hard`) or of the prover is used but the claims themselves;
the judge of the mutants evaluates encodings. `require` is strict: every span, also its denominators, must be true of
the actual numbers of maxima of the heads that it names.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from hardsim.proof.programs.lattice import DenominatorName, IsolatedZero, NumberSpan, Share
from hardsim.proof.programs.law import HeadLaw, Law, LayerLaw, ProgramLaw
from hardsim.proof.programs.rows import Row
from hardsim.proof.programs.types import Source, TypedColumns
from hardsim.proof.shared.ratios import NAMES, Ratio, Value
from tests.mutants.judge import evaluate
from tests.support.model import Affine, Head, Mask, Program, ProgramLayer, Weighting

Word = tuple[str, ...]
Numbers = NDArray[Any]
"""Rationals of python-flint, in an array of objects."""
Columns = dict[str, Numbers]
NOTHING: Any = fmpq(0)
WHOLE: Any = fmpq(1)


def exact(value: Fraction | int) -> Any:
    """Convert a rational to python-flint (typed Any, since numpy's stubs do not know its type)."""
    return fmpq(value.numerator, value.denominator)


# ---- hard attention ----


@dataclass
class HeadTruth:
    """The run of a head: for each word and query the maxima among the keys, their number, the gap to the next score (0
    if there is none), and the visible keys; the values read and results written, by output; its forms by pair.
    """

    best: NDArray[np.bool_]
    count: NDArray[np.int64]
    gap: Numbers
    values: Columns
    reads: Columns
    forms: list[tuple[Numbers, Numbers]]
    visible: NDArray[np.bool_]


@dataclass
class LayerTruth:
    """The run of a layer: the columns before it, after its heads and after it; its heads; inputs and outputs of its
    hidden units.
    """

    entering: Columns
    attended: Columns = field(default_factory=dict)
    leaving: Columns = field(default_factory=dict)
    heads: dict[str, HeadTruth] = field(default_factory=dict)
    units: list[tuple[Numbers, Numbers]] = field(default_factory=list)


@cache
def visible(mask: Mask, n: int, bos: bool) -> NDArray[np.bool_]:
    """Return the keys that each query sees, by the definition of the mask; every query sees the beginning of
    sequence.
    """
    sees: dict[Mask, Callable[[int, int], bool]] = {
        Mask.NONE: lambda i, j: True,
        Mask.FUTURE: operator.ge,
        Mask.PAST: operator.le,
        Mask.STRICT_FUTURE: operator.gt,
        Mask.STRICT_PAST: operator.lt,
    }
    places = range(0 if bos else 1, n + 1)
    return np.array([[j == 0 or sees[mask](i, j) for j in places] for i in places])


def of_form(form: Affine, columns: Columns) -> Numbers:
    """Evaluate a linear form."""
    total: Numbers = columns["1"] * NOTHING
    for name, value in form.terms:
        total = total + columns[name] * exact(value)
    return total


def attend(head: Head, columns: Columns, seen: NDArray[np.bool_]) -> HeadTruth:
    """Run one head."""
    forms = [(of_form(query, columns), of_form(key, columns)) for query, key in head.score]
    words, places = columns["1"].shape
    scores: Numbers = np.full((words, places, places), NOTHING, dtype=object)
    for query, key in forms:
        scores = scores + query[:, :, None] * key[:, None, :]
    low = scores.min() - WHOLE
    scores = np.where(seen, scores, low)
    top = scores.max(axis=2)
    best = (scores == top[:, :, None]) & seen
    count = best.sum(axis=2)
    below = np.where(best, low, scores).max(axis=2)
    gap = np.where(below == low, NOTHING, top - below)
    weights = best
    if head.weighting is not Weighting.AVERAGE:
        places_ = np.arange(places) if head.weighting is Weighting.RIGHTMOST else np.arange(places)[::-1]
        chosen = np.where(best, places_, -1).argmax(axis=2)
        weights = np.arange(places) == chosen[:, :, None]
    many = np.vectorize(fmpq, otypes=[object])(weights.sum(axis=2))
    values = {out: of_form(form, columns) for out, form in head.values}
    reads = {out: np.where(weights, value[:, None, :], NOTHING).sum(axis=2) / many for out, value in values.items()}
    return HeadTruth(best, count, gap, values, reads, forms, seen)


def run(program: Program, words: Sequence[Word]) -> list[LayerTruth]:
    """Run every layer on words of one length."""
    n = len(words[0])
    places = range(0 if program.bos else 1, n + 1)
    shape = len(words), len(places)
    columns: Columns = {name: np.full(shape, NOTHING, dtype=object) for name in ("1", *program.coordinates)}
    columns["1"] += WHOLE
    for letter in program.letters:
        held = [[(word[i - 1] if i else "BOS") in letter.symbols for i in places] for word in words]
        columns[letter.name] = columns[letter.name] + np.where(held, exact(letter.value), NOTHING)
    for encoding in program.encodings:
        row = [exact(evaluate(str(encoding.value), i=i, n=n)) for i in places]
        columns[encoding.name] = columns[encoding.name] + np.array(row, dtype=object)
    found: list[LayerTruth] = []
    for layer in program.layers:
        found.append(_layer(layer, columns, n, program.bos))
        columns = found[-1].leaving
    return found


def _layer(layer: ProgramLayer, columns: Columns, n: int, bos: bool) -> LayerTruth:
    found = LayerTruth(columns, dict(columns))
    for head in layer.heads:
        one = found.heads[head.name] = attend(head, columns, visible(head.mask, n, bos))
        for out, read in one.reads.items():
            found.attended[out] = found.attended[out] + read
    found.leaving = dict(found.attended)
    for unit in layer.units:
        pre = of_form(unit.pre, found.attended)
        post = np.where(pre > NOTHING, pre, NOTHING)
        if unit.clip:
            post = np.where(post > WHOLE, WHOLE, post)
        found.units.append((pre, post))
        for out, weight in unit.outs:
            found.leaving[out] = found.leaving[out] + post * exact(weight)
    for out, bias in layer.biases:
        found.leaving[out] = found.leaving[out] + exact(bias)
    return found


# ---- claims ----


class Wrong(AssertionError):
    """Error: a claim is not true."""


def number(value: Value, i: int, n: int) -> Any:
    """Evaluate a function at position i of length n."""
    if not isinstance(value, Ratio):
        return exact(value)
    assert not value.names - {"i", "n"}, value
    places = [i if name == "i" and name in value.names else n if name == "n" else 0 for name in NAMES]
    return value.top(*places) / value.bottom(*places)


def whole(value: fmpq) -> bool:
    """Return True if a rational is an integer."""
    return bool(value.q == 1)


class TiedModelRun:
    """Checks of the claims about one program on the words of one length."""

    def __init__(self, program: Program, law: Law, truth: list[LayerTruth], words: Sequence[Word]) -> None:
        self.program, self.law, self.truth, self.words = program, law, truth, words
        self.n, self.first = len(words[0]), 0 if program.bos else 1
        self.places = range(self.first, self.n + 1)
        self.layer_of = {head: depth for depth, layer in enumerate(truth) for head in layer.heads}
        self.weightings = {head.name: head.weighting for head in program.heads}
        self.done: set[tuple[int, int]] = set()
        self.typed: set[tuple[int, str, int]] = set()

    def order(self, i: int) -> int:
        """Return the number of the kind of position i: 0 beginning of sequence, 1 first, 2 between, 3 last."""
        return 0 if not i else 1 if i == 1 else 3 if i == self.n else 2

    def fail(self, what: str, i: int, w: int | None = None) -> None:
        """Raise Wrong with the false claim, the position and the word."""
        word = "" if w is None else "".join(self.words[w])
        raise Wrong(f"{what} at {i} of {self.n} {word}")

    # ---- denominators ----

    def maxima(self, head: str, i: int) -> NDArray[np.int64]:
        """Return the number of maxima in the row of a position, by word."""
        return self.truth[self.layer_of[head]].heads[head].count[:, i - self.first]

    def denominator(self, name: DenominatorName, w: int, i: int) -> int:
        """Return the number that a name stands for at position i of word w; for a value read elsewhere, the number
        there.
        """
        head, *through = name
        assert isinstance(head, str)
        for step in reversed(through):
            if isinstance(step, int):
                i = {0: 0, 1: 1, 3: self.n}[step]
            else:
                best = self.truth[self.layer_of[step]].heads[step].best[w, i - self.first].nonzero()[0]
                if len(best) > 1 and self.weightings[step] is Weighting.AVERAGE:
                    self.fail(f"{name}: {step} has several maxima", i, w)
                i = int(best[-1 if self.weightings[step] is Weighting.RIGHTMOST else 0]) + self.first
        return int(self.maxima(head, i)[w])

    def share(self, what: str, share: Share, column: Numbers, i: int) -> None:
        """Require that every number of a column is in a share, with the actual denominators."""
        offset, step = number(share.offset, i, self.n), number(share.step, i, self.n)
        most = [number(one.most, i, self.n) for one in share.denominators]
        for one in share.denominators:
            if one.everywhere:
                head = str(one.name[0])
                counts = self.truth[self.layer_of[head]].heads[head].count
                if (counts != counts[:, :1]).any():
                    self.fail(f"{what}: {one.name} is not everywhere", i)
        for w, value in enumerate(column):
            rest = value - offset
            for one, limit in zip(share.denominators, most, strict=True):
                m = self.denominator(one.name, w, i)
                if m > limit and len(one.name) == 1:
                    self.fail(f"{what}: {one.name} is {m}, above {limit}", i, w)
                # If the head that is read has no claimed share, only a lattice, the denominator is not needed.
                rest *= m**one.power if m <= limit else 1
            if rest != 0 and (step == 0 or not whole(rest / step)):
                self.fail(f"{what}: {value} is not in the share {share}", i, w)

    def isolated(self, what: str, known: IsolatedZero, values: Iterable[fmpq], i: int) -> None:
        """Require that each number equals the base of an isolated zero or keeps the distance from it."""
        base = number(known.base, i, self.n)
        apart = [number(one, i, self.n) for one in known.apart]
        for value in values:
            z = (value - base) * known.sign if known.sign else value - base
            if z != 0 and (not known.sign or not apart or z < min(apart)):
                self.fail(f"{what}: {value} against {known}", i)

    def span(self, what: str, spans: Mapping[int, NumberSpan], column: Numbers) -> None:
        """Require that the numbers of a column lie in the spans of their positions."""
        lowest, highest = column.min(axis=0), column.max(axis=0)
        for at, i in enumerate(self.places):
            span = spans[self.order(i)]
            low, high = number(span.low, i, self.n), number(span.high, i, self.n)
            if lowest[at] < low or highest[at] > high:
                self.fail(f"{what}: {lowest[at]} to {highest[at]} is outside [{low}, {high}]", i)
            if lowest[at] == highest[at] and (span.share is None or not span.share.denominators):
                own = column[:1, at]
            else:
                own = column[:, at]
            if span.step is not None:
                offset, step = number(span.offset, i, self.n), number(span.step, i, self.n)
                if any(v != offset and (step == 0 or not whole((v - offset) / step)) for v in own):
                    self.fail(f"{what}: not in {offset} + {step} Z", i)
            if span.most is not None:
                most = number(span.most, i, self.n)
                if any(v <= 0 or not whole(1 / v) or 1 / v > most for v in own):
                    self.fail(f"{what}: no reciprocals up to {most}", i)
            if span.share is not None:
                self.share(what, span.share, own, i)
            for zero in span.isolated:
                self.isolated(what, zero, own, i)

    def types(self, what: str, types: TypedColumns, columns: Columns) -> None:
        """Require the joint values of coordinates to be in their tables: at each position and word some choice of the
        one source of several coordinates must give all of them.
        """
        for at, i in enumerate(self.places):
            by_source: dict[Source, list[tuple[str, tuple[Value, ...]]]] = {}
            for name, tables in types.tables.items():
                table = tables[self.order(i)]
                if table is not None and table.sources and (at, name, id(table)) not in self.typed:
                    self.typed.add((at, name, id(table)))
                    source = table.sources[0] if len(table.sources) == 1 else (name,)
                    by_source.setdefault(source, []).append((name, table.values))
            for source, some in by_source.items():
                choices = [
                    tuple(number(value, i, self.n) for value in values)
                    for values in zip(*(values for _, values in some), strict=True)
                ]
                for w, found in enumerate(zip(*(columns[name][:, at] for name, _ in some), strict=True)):
                    if found not in choices:
                        self.fail(f"{what}: {[name for name, _ in some]} by {source} are {found}", i, w)

    # ---- rows ----

    def row(self, what: str, row: Row, head: HeadTruth, at: int) -> None:
        """Require the claims about one row of a head."""
        i, n = at + self.first, self.n
        count, gaps, best = head.count[:, at], head.gap[:, at], head.best[:, at]
        seen = int(head.visible[at].sum())
        if number(row.visible, i, n) != seen:
            self.fail(f"{what}: {seen} are visible", i)
        apart = [gap for gap in gaps if gap != 0]
        if apart and (row.equal or not row.gaps):
            self.fail(f"{what}: scores differ", i)
        claimed = min((number(gap, i, n) for gap in row.gaps), default=NOTHING)
        if apart and min(apart) < claimed:
            self.fail(f"{what}: a gap of {min(apart)}, not {claimed}", i, int((gaps == min(apart)).argmax()))
        if row.unique and count.max() > 1:
            self.fail(f"{what}: several maxima", i, int(count.argmax()))
        ends = {0: 0, 1: 1, 2: -1, 3: n}
        if row.winner is not None and not (best[:, ends[row.winner] - self.first] & (count == 1)).all():
            self.fail(f"{what}: the winner is not at {row.winner}", i)
        if row.first and not best[:, 0].all():
            self.fail(f"{what}: BOS is no maximum", i)
        if row.winners:
            expected = np.zeros(best.shape[1], dtype=bool)
            expected[[ends[order] - self.first for order in row.winners]] = True
            if (best != expected).any():
                self.fail(f"{what}: the maxima are not {row.winners}", i)
        if row.product is not None:
            ((query, key),) = head.forms
            own = query[:, at : at + 1]
            spans = {self.order(i): row.product.query}
            self.one(f"{what}: the query", spans[self.order(i)], own[:, 0], i)
            away = [number(one, i, n) for one in row.product.away]
            if away and min(abs(q) for q in own[:, 0]) < min(away):
                self.fail(f"{what}: the query is nearer to 0 than {min(away)}", i)
            for j in head.visible[at].nonzero()[0]:
                self.one(f"{what}: the keys", row.product.keys, key[:, j], i)

    def one(self, what: str, span: NumberSpan, own: Numbers, i: int) -> None:
        """Require that numbers at one position lie in one span."""
        places, self.places = self.places, range(i, i + 1)
        try:
            self.span(what, {self.order(i): span}, own[:, None])
        finally:
            self.places = places

    def require(self) -> None:
        """Require everything that is claimed."""
        for depth, (layer, truth) in enumerate(zip(self.law.layers, self.truth, strict=True)):
            self._layer(f"layer {depth + 1}", layer, truth)
        self._numbers()

    def _layer(self, what: str, layer: LayerLaw, truth: LayerTruth) -> None:
        for kind in ("entering", "attended", "leaving"):
            column, known = getattr(truth, kind), getattr(layer, kind)
            for name, spans in known.items():
                key = id(spans), id(column[name])
                if key not in self.done:
                    self.done.add(key)
                    self.span(f"{what} {kind} {name}", spans, column[name])
        self.types(what, layer.types, truth.entering)
        for (head, out), spans in layer.reads.items():
            self.span(f"{what} {head} reads {out}", spans, truth.heads[head].reads[out])
        for (pre, post), (before, after) in zip(layer.units, truth.units, strict=True):
            self.span(f"{what} unit reads", pre, before)
            self.span(f"{what} unit gives", post, after)
        for name, law in layer.heads.items():
            self._head(f"{what} {name}", law, truth.heads[name])

    def _head(self, what: str, law: HeadLaw, truth: HeadTruth) -> None:
        for at, i in enumerate(self.places):
            self.row(what, law.rows[self.order(i)], truth, at)

    # ---- numbers of one length ----

    def _numbers(self) -> None:
        """Require the numbers that `facts` derives from functions: gaps, maxima, values, margins, tops, sizes,
        distance.
        """
        facts = ProgramLaw(self.law, self.law).facts(self.n)
        for layer, truth in zip(facts.layers, self.truth, strict=True):
            for name, head in layer.heads.items():
                own = truth.heads[name]
                for at, i in enumerate(self.places):
                    if own.count[:, at].min() < head.fewest[at] or own.count[:, at].max() > head.most[at]:
                        self.fail(f"{name}: from {head.fewest[at]} to {head.most[at]} maxima", i)
                    gap = head.gaps[at]
                    least = min((g for g in own.gap[:, at] if g != 0), default=None)
                    if least is not None and (gap is None or least < exact(gap)):
                        self.fail(f"{name}: a gap of {least}, not {gap}", i)
                for (query, key), (q, k) in zip(head.sizes, own.forms, strict=True):
                    if abs(q).max() > exact(query) or abs(k).max() > exact(key):
                        self.fail(f"{name}: a query or key is above {query} or {key}", 0)
            for (name, out), (low, high) in layer.values.items():
                found = truth.heads[name].values[out]
                if found.min() < exact(low) or found.max() > exact(high):
                    self.fail(f"{name} reads {out} outside [{low}, {high}]", 0)
            for margin, top, (pre, _) in zip(layer.margins, layer.tops, truth.units, strict=True):
                outside = np.maximum(-pre, pre - WHOLE).min()
                if outside < exact(margin) or pre.max() > exact(top):
                    self.fail(f"a unit's margin is {outside}, not {margin}", 0)
        self._distance(facts.distance)

    def _distance(self, claimed: Fraction | None) -> None:
        if claimed is None or self.program.threshold is None:
            return
        places = [1 - self.first if self.program.reading == "first" else -1]
        if self.program.maps:
            places = list(range(1 - self.first, len(self.places)))
        threshold = exact(Fraction(self.program.threshold))
        for out in self.program.answers:
            for at in places:
                off = abs(self.truth[-1].leaving[out][:, at] - threshold)
                if min(off) < exact(claimed):
                    self.fail(f"the output is {min(off)} from the threshold, not {claimed}", at, int(off.argmin()))


def require(program: Program, law: ProgramLaw, words: Iterable[Word]) -> None:
    """Require the claims about a program on words, which are sorted by length.

    Raises:
        Wrong: with the false claim, the position and the word.
    """
    by_length: dict[int, list[Word]] = {}
    for word in words:
        by_length.setdefault(len(word), []).append(word)
    for n, some in by_length.items():
        TiedModelRun(program, law.one if n == 1 else law.more, run(program, some), some).require()


def all_words(alphabet: Sequence[str], longest: int) -> list[Word]:
    """Return every word of up to `longest` symbols."""
    return [word for n in range(1, longest + 1) for word in product(alphabet, repeat=n)]


def longer_words(alphabet: Sequence[str], random: Random, many: int) -> list[Word]:
    """Return words of one length from 6 to 12: runs of letters, whose shares meet thresholds, and random letters."""
    n = random.randint(6, 12)
    found: list[Word] = []
    for _ in range(many):
        if random.random() < 0.5:
            found.append(tuple(random.choices(alphabet, k=n)))
            continue
        ends = sorted(random.randint(0, n) for _ in alphabet[1:])
        sizes = [high - low for low, high in zip([0, *ends], [*ends, n], strict=True)]
        runs = [
            symbol
            for symbol, size in zip(random.sample(alphabet, len(alphabet)), sizes, strict=True)
            for _ in range(size)
        ]
        found.append(tuple(runs if random.random() < 0.7 else random.sample(runs, n)))
    return found


# ---- soft attention ----

NEAR = 1e-7
"""Distance from a threshold below which an output in float64 decides nothing."""


def soft_outputs(program: Program, words: Sequence[Word], tau: Fraction) -> NDArray[np.float64]:
    """Return the output of the same weights with softmax at a temperature, at the reading position, in float64."""
    n = len(words[0])
    hard = run(program, words)
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in hard[0].entering.items()}

    def form(of: Affine) -> NDArray[np.float64]:
        total = np.zeros_like(columns["1"])
        for name, value in of.terms:
            total = total + columns[name] * float(value)
        return total

    for layer in program.layers:
        new = dict(columns)
        for head in layer.heads:
            seen = visible(head.mask, n, program.bos)
            scores = np.zeros((*columns["1"].shape, columns["1"].shape[1]))
            for query, key in head.score:
                scores = scores + form(query)[:, :, None] * form(key)[:, None, :]
            scores = np.where(seen, scores, -np.inf)
            weights = np.exp((scores - scores.max(axis=2, keepdims=True)) / float(tau))
            weights /= weights.sum(axis=2, keepdims=True)
            for out, value in head.values:
                new[out] = new[out] + (weights * form(value)[:, None, :]).sum(axis=2)
        columns = dict(new)
        for unit in layer.units:
            post = np.clip(form(unit.pre), 0, 1 if unit.clip else None)
            for out, weight in unit.outs:
                new[out] = new[out] + post * float(weight)
        for out, bias in layer.biases:
            new[out] = new[out] + float(bias)
        columns = new
    at = (0 if program.bos is False else 1) if program.reading == "first" else -1
    found: NDArray[np.float64] = columns[program.output][:, at]
    return found
