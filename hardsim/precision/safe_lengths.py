"""The effect of a number format on a network: the length up to which every evaluation in the format is right, and a
word on which an evaluation is wrong.

For a formula's network, all words of a length are enclosed at once, both what it looks for (`precision.bounds`) and
what it counts (`precision.counts`). For any other network each word is enclosed by itself, at the lengths that have few
words. Beyond the last length that is proved, words that are hard for the network are emulated, until one is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cache
from itertools import chain, groupby, islice, permutations, product
from random import Random
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from hardsim.campaign.check import Deciding
from hardsim.campaign.interrupts import interruptible
from hardsim.campaign.words import drawn, few, members, structured_words
from hardsim.errors import HardsimError, InputError
from hardsim.lang.desugar import desugar
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.export import Export
from hardsim.options.table import Request, unknown
from hardsim.precision.arithmetic import Emulated, Enclosed, Enclosures
from hardsim.precision.bounds import StructureBounds, safe_to
from hardsim.precision.evaluated import COMPUTED, LayoutValues
from hardsim.precision.formats import DOUBLE, FORMATS, NumberFormat
from hardsim.precision.lengths import NotEnclosed
from hardsim.precision.passes import FormatPass
from hardsim.precision.reference import NAMES, Answers, reference_of
from hardsim.precision.structure import Structure, structure_of
from hardsim.proof.shared.result import NoProof, NotProved
from hardsim.records import Natural, Positive, Record, one_of
from hardsim.targets.expected import UNKNOWN
from hardsim.targets.exported import transformer_of
from hardsim.targets.result import InputKind, InputName, ModelFacts, Word
from hardsim.targets.subject import own_predicates
from hardsim.writing.running import encoded_word

ARITHS = tuple(FORMATS)
CALLED = {
    **dict.fromkeys(("float", "fp32", "f32", "single"), "float32"),
    **dict.fromkeys(("bf16",), "bfloat16"),
    **dict.fromkeys(("fp16", "f16", "half"), "float16"),
    **dict.fromkeys(("fp8", "float8", "f8", "e4m3", "float8_e4m3fn"), "float8_e4m3"),
}
"""Names that other tools use for these formats."""
WIDER = ("float64", "double", "fp64", "f64")
ACCUMULATE = "float32"
CELLS = 2**21
"""Largest number of pairs of positions in a batch of words that are run together."""
BESIDE = (0, -1, 1)
"""Offsets from the winning position (where a head should read) at which emulated words have two different symbols."""
MOST_WORDS = 405
"""Largest number of words of one length that are emulated."""
ACCEPTED, CHANGED = 6, 3
"""Number of accepted words of a length in which a symbol is changed, and the largest distance of that symbol from the
winner."""
NEXT, STEPS = 6, 10
"""Number of lengths emulated right after the last that is proved, and number of doublings of the distance after
them."""
BACK = 6
"""Number of bisection steps between the longest length without a wrong word and the first with one."""
EACH = 50
"""Cost of a position besides its heads, in pairs of positions."""
WORK, ENCLOSED, CLOSING = 8e7, 1e7, 1e8
"""Work limits for one format, in pairs of positions, counted for each head and word: for emulation; for enclosure;
and for enclosure of the lengths before one that fails, which is tried only within this limit. Each takes some
seconds."""
SHARPER = (2, 4)
"""Factors by which the inverse-temperature constant is multiplied in search of one that is right where a length is
wrong."""
SHARE = 4
"""One length may take at most one part in SHARE of the remaining work."""
MOST_AFTER = 3
"""Largest number of lengths tried for the run that follows symbols whose numbers are known."""
RUNS = 6
"""Largest number of runs that are made longer, one at a time, in a word that fails in a narrower format."""
ASSUMPTIONS = (
    "operations are grouped as in model.py; round to nearest, ties to even; gradual underflow",
    "sums in any order, accumulated in the format or in float32, of terms that are not 0, with products rounded or "
    "fused; no Strassen, TF32 or bfloat16 passes; in order: from the left, each product and partial sum rounded",
    "softmax subtracts the largest logit of the row; no online or base-2 rescaling; masked entries are left out",
    "exp is within 2 units in the last place, exp(0) is 1, exp of a negative number at most 1, and 0 below e^-2 times "
    "the least number of the format",
    "clips are min(max(z, 0), 1); other activations are within 4u |z|; square roots are rounded once",
    "a result beyond the largest number is infinite, in e4m3 not a number, and never right",
)
RATIONAL = "weights, position encodings and 1/temperature are rationals, rounded to float64, and then to the format"
FLOATING = "weights and rational expressions are rounded to float64, and then to the format; model.py computes {} {}"
STEPS_OF = {
    "sparsemax": "sparsemax sorts the logits of a row, less the largest; its partial sums are sums, the count of "
    "its positive weights is rounded to the format",
    "geometric": "a sigmoid is within 4 units in the last place, at most 1, 1 where e^-z is at most u/4, maybe 0 "
    "below the least normal number; products in any order; in order: from the nearest key on",
    "exponentials": "rounded exponentials are rounded to their own format first",
    "rounding": "numbers are multiplied by 2^p in the format, and rounded to integers exactly",
}
ACCUMULATED = "sums are accumulated in float32 alone, and rounded to the format at their end"
"""The assumptions on which a verdict rests; reports print them."""


@dataclass(frozen=True, slots=True, repr=False)
class FormatRow(Record):
    """A network in one number format."""

    arith: Annotated[str, one_of(*ARITHS)]
    """The format."""
    reference: Annotated[str, one_of(*NAMES)]
    """The reference that gives the right answers: the formula; the specification, on the words and at the
    positions that it judges; or the exact network."""
    safe_to: Natural
    """The greatest length up to which every evaluation is right on every judged word (0: not even for one symbol)."""
    words: Natural | None
    """The number of judged words of these lengths; null if all words of a length were settled at once."""
    safe_by: Annotated[str, one_of("structure", "words")]
    """The proof of `safe_to`: 'structure' if all words of a length were settled at once, 'words' if each was enclosed
    by itself."""
    safe_in_order: Natural
    """The greatest length up to which every evaluation that sums from the left, as the emulated ones do, is right on
    every judged word."""
    fails_at: Positive | None
    """The least length at which an emulated word was found to be wrong; null: none was found."""
    word: Word | None
    """The wrong word; null: none was found."""
    expected: str | None
    """The expected answer for the wrong word, with the first wrong position if the word is judged position by
    position; null: no wrong word was found."""
    found: str | None
    """The answer that the network gives in the format for the wrong word; null: no wrong word was found."""
    exactly: bool
    """True if the exact network answers that word wrongly, too, so that the format is not the cause. Always false if
    the exact network is the reference."""
    layer: Positive | None
    """The first layer whose reading differs from that of the exact network, from 1; null: none was found."""
    head: str | None
    """The head of this layer whose reading differs; null: a hidden unit differs, or nothing was found."""
    closed: bool
    """True if the length after `safe_in_order` is the one that fails, or if all lengths up to the largest are safe
    with sums from the left."""
    open: str | None
    """The reason for a gap between `safe_in_order` and `fails_at`; if there is none, the reason for a gap between
    `safe_to` and `safe_in_order`."""
    mends: tuple[str, ...]
    """Changes that make the failing or first unproved length safe with sums from the left. If words were enclosed one
    by one: changes that make the wrong word right."""


@dataclass(frozen=True, slots=True, repr=False)
class PrecisionResult(Record):
    """The effect of number formats on a network."""

    input: InputName
    kind: InputKind
    regime: Annotated[str | None, "The regime of a formula."]
    model: ModelFacts
    """The network."""
    reference: Annotated[str, one_of(*NAMES)]
    """The reference that gives the right answers, in every row."""
    max_n: Positive
    """The largest length examined: the requested one, or the network's own limit."""
    accumulate: Annotated[str, one_of(ACCUMULATE)] | None
    """The format in which sums are accumulated; null: the format of the row."""
    rows: tuple[FormatRow, ...]
    """One row for each format, the widest format first."""
    assumptions: tuple[str, ...]
    """The assumptions on which the verdicts rest."""
    partial: bool = False
    """True if the run was interrupted."""


Report = Callable[[str, int, int], None]
"""A function that reports progress. Its arguments are a format's name, the length up to which all lengths are proved,
and the largest length."""


# ---- one format ----


@dataclass(frozen=True)
class _Wrong:
    """A word that is wrong in the emulation, with its reference, and both answers as text."""

    word: Word
    right: Any
    expected: str
    found: str


@dataclass
class _InFormat:
    """A network in one format, with the searches for its longest safe length and its shortest wrong word."""

    made: Export
    form: NumberFormat
    accumulate: NumberFormat | None
    max_n: int
    exhaustive: int
    structure: Structure | NoProof
    """The facts that hold for all words of a length at once, or the reason why they do not suffice."""
    seed: int
    report: Callable[[int], None] | None = None
    known: Sequence[Word] = ()
    """Words that are wrong in narrower formats."""
    sharper: Callable[[int], tuple[Fraction, Structure] | None] = lambda _: None
    """A function that returns the network compiled with a multiple of its inverse-temperature constant, given the
    factor."""
    work: float = WORK
    reference: Answers = field(init=False)
    judged: dict[int, int] = field(default_factory=dict)
    """The number of judged words by length, if all words of the length were enclosed one by one."""
    doubtful: list[Word] = field(default_factory=list)
    """Words of the length after the last safe one whose enclosure does not settle the answer."""
    safe_length: int = 0
    """The length up to which all words are proved right at once, at every position."""

    def __post_init__(self) -> None:
        self.reference = reference_of(self.made)
        self.emulated = FormatPass(self.made.layout, Emulated(self.form, self.accumulate))
        longest = self.made.longest
        self.last = self.max_n if longest is None else min(self.max_n, longest)

    def row(self) -> FormatRow:
        """Return the result for this format."""
        safe, by, failure, why = self._safe(0, False)
        in_order, reason = safe, why
        if safe < self.last:
            in_order, _, first, reason = self._safe(safe, True)
            failure = first or failure
        wrong = self._wrong(in_order) if in_order < self.last else None
        if wrong is not None and len(wrong.word) > in_order + 1:
            in_order, reason, wrong = self._closed_in(in_order, reason, wrong)
        closed = in_order == self.last or (wrong is not None and len(wrong.word) == in_order + 1)
        layer, head = (None, None) if failure is None else (failure.layer, failure.head)
        layer = None if layer is None else layer + 1
        if wrong is not None and head is None:
            layer, head = self._first_off(wrong.word)
        return FormatRow(
            arith=self.form.name,
            reference=self.reference.name,
            safe_to=safe,
            words=self._counted(safe) if by == "words" else None,
            safe_by=by,
            safe_in_order=in_order,
            fails_at=None if wrong is None else len(wrong.word),
            word=None if wrong is None else wrong.word,
            expected=None if wrong is None else wrong.expected,
            found=None if wrong is None else wrong.found,
            exactly=wrong is not None and self.reference.exactly((wrong.word, wrong.right)),
            layer=None if safe == self.last else layer,
            head=None if safe == self.last else head,
            closed=closed,
            open=reason if not closed else f"sums in another order: {why}" if safe < in_order else None,
            mends=() if in_order == self.last else tuple(self._mends(in_order + 1, wrong)),
        )

    def _enclosed(self, in_order: bool) -> Enclosed:
        return Enclosed(self.form, self.accumulate, in_order)

    def _tokens(self, words: Sequence[Word]) -> NDArray[Any]:
        return np.array([encoded_word(self.made.layout, word, np.dtype(np.float64)) for word in words])

    def _cost(self, n: int) -> int:
        """Return the cost of one word of length n: pairs of positions, for each head, and EACH for each position."""
        m, heads = n + self.made.layout.fixed, sum(len(x["heads"]) for x in self.made.layout.description["layers"])
        return int(m**2 * heads + EACH * m)

    # ---- safe, word by word ----

    def _safe(self, known: int, in_order: bool) -> tuple[int, str, NotEnclosed | None, str]:
        """Return the length up to which every evaluation is right, given that it is right up to `known`; the way this
        is proved ('structure' or 'words'); the step that fails for all words of the next length at once; and the
        reason why that length is not proved safe."""
        failure, by, safe = None, "words", known
        if isinstance(self.structure, Structure):
            # Word by word, only answers are enclosed. In a causal structure the proof of a length assumes that every
            # position is right at the shorter lengths, so it starts from the length proved at once (`safe_length`).
            start = self.safe_length if self.structure.causal else known
            arithmetic = self._enclosed(in_order)
            self.safe_length, failure = safe_to(self.structure, arithmetic, self.last, self.report, start)
            safe, by = max(known, self.safe_length), "words" if self.safe_length < known else "structure"
        more, why = self._safe_by_words(safe, in_order, self.last, ENCLOSED * max(1, self.exhaustive / 2**16))
        if more > safe:
            safe, by = more, "words"
        if isinstance(self.structure, NoProof):
            why = f"{self.structure.reason}; {why}"
        elif failure is not None and by == "structure":
            why = f"length {safe + 1} is not proved for all words at once ({failure.reason}); {why}"
        return safe, by, failure, why

    def _closed_in(self, safe: int, why: str, wrong: _Wrong) -> tuple[int, str, _Wrong]:
        """Examine the lengths between the last safe and the first failing one word by word, if that takes little
        time. Return the length up to which words are safe, the reason why the next is not, and the first wrong word."""
        between = range(safe + 1, len(wrong.word))
        sizes = list(map(self.reference.size, between))
        if (
            max(sizes) > self.exhaustive
            or sum(k * self._cost(n) for k, n in zip(sizes, between, strict=True)) > CLOSING
        ):
            return safe, why, wrong
        more, reason = self._safe_by_words(safe, True, between[-1], CLOSING)
        if self.doubtful and more < between[-1]:
            self.work = max(self.work, WORK)
            wrong = self._wrong_at(more + 1) or wrong
        return more, reason or why, wrong

    def _safe_by_words(self, safe: int, in_order: bool, last: int, left: float) -> tuple[int, str]:
        """Return the length up to which every word is enclosed with the right answer, at most `last`, given that
        lengths up to `safe` are safe; and the reason why the next is not. `left` is the work that there is time for,
        in pairs of positions."""
        enclosed = FormatPass(self.made.layout, self._enclosed(in_order))
        for n in range(safe + 1, last + 1):
            words = self.reference.size(n)  # may be beyond any float
            if words > self.exhaustive:
                return n - 1, f"length {n} has more than {self.exhaustive:,} words (--exhaustive)"
            left -= words * self._cost(n)
            if left < 0:
                return n - 1, f"the words of length {n} take too long one by one"
            self.doubtful = self._not_enclosed(enclosed, n)
            if self.doubtful:
                return n - 1, f"at length {n} the enclosure of some word is too wide"
            # Not reported: few lengths are done in this way, so they say nothing about the time of the others.
        return last, ""

    def _not_enclosed(self, enclosed: FormatPass, n: int) -> list[Word]:
        """Return words of a length whose enclosure does not settle the right answer: those of the first batch that
        has any; none if every word is settled."""
        words, judged = iter(self.reference.words(n)), 0
        while some := list(islice(words, max(1, CELLS // (n + self.made.layout.fixed) ** 2))):
            judged_words = self.reference.judged(some)
            judged += len(judged_words)
            if not judged_words:
                continue
            found = enclosed.outputs(self._tokens([word for word, _ in judged_words]))
            right = self.reference.right(judged_words, found.low, found.high)
            doubtful = [word for (word, _), certain in zip(judged_words, right, strict=True) if not certain]
            if doubtful:
                return doubtful
        self.judged[n] = judged
        return []

    def _counted(self, last: int) -> int | None:
        """Count the judged words up to a length; None if all words of some length were settled at once."""
        counts = [self.judged.get(n) for n in range(1, last + 1)]
        return None if None in counts else sum(filter(None, counts))

    # ---- wrong, emulated ----

    def _wrong(self, safe: int) -> _Wrong | None:
        """Return a word longer than `safe` that is wrong in the emulation, of the least length found; None if none
        is found."""
        last_right, found = safe, None
        steps = [*range(1, NEXT + 1), *(NEXT * 2**k for k in range(1, STEPS))]
        for n in sorted({*(min(safe + step, self.last) for step in steps), self.last}):
            found = self._wrong_at(n)
            if found is not None:
                break
            last_right = n
        if found is None:
            return None
        # Failing is not monotone in the length, so the bisection finds a short failing length, not always the
        # shortest.
        low, high = last_right, len(found.word)
        for _ in range(BACK):
            if high - low <= 1:
                break
            middle = (low + high) // 2
            nearer = self._wrong_at(middle)
            low, high, found = (low, middle, nearer) if nearer is not None else (middle, high, found)
        return found

    def _wrong_at(self, n: int) -> _Wrong | None:
        cost, least = self._cost(n), self.work * (1 - 1 / SHARE)
        doubtful = (word for word in self.doubtful if len(word) == n)
        known = (longer for word in self.known for longer in _stretched(word, n))
        failure = self._failure(n)
        counted = _counted(failure.runs, n, list(few(self.made.alphabet))[:4]) if failure is not None else ()
        hard = chain(doubtful, counted, known, self._hard(n, failure.place if failure is not None else None))
        candidates = iter(dict.fromkeys(self.reference.fitted(hard, n, Random(self.seed))))
        size, left = max(1, min(27, CELLS // (n + self.made.layout.fixed) ** 2)), MOST_WORDS
        while left > 0 and (some := list(islice(candidates, min(size, left)))):
            judged = [one for one in self.reference.judged(some) if one[1] is not UNKNOWN]
            if not judged:
                continue
            if self.work < max(cost, least):
                return None
            self.work -= cost * len(judged)
            left -= len(judged)
            outputs = self.emulated.outputs(self._tokens([word for word, _ in judged])).low
            for one, right, row in zip(judged, self.reference.right(judged, outputs, outputs), outputs, strict=True):
                if not right:
                    return _Wrong(*one, *self.reference.text_of(one, row))
        return None

    def _failure(self, n: int) -> NotEnclosed | None:
        """Return the step that may be wrong at a length, if the length is analysed for all words at once; otherwise,
        or if no step may be wrong, None."""
        if isinstance(self.structure, Structure):
            try:
                StructureBounds(self.structure, self._enclosed(True)).require(n)
            except NotEnclosed as failure:
                return failure
        return None

    def _hard(self, n: int, place: int | None) -> Iterator[Word]:
        """Yield words of a length that are hard for the network. If a head is known to fail, and next to which winner
        `place`: two different symbols side by side there, in words that are constant before and after them; then
        words of simple shape, and accepted words with one symbol changed near there. Without a place, first words
        whose counts are nearly equal."""
        alphabet, rng = self.made.alphabet, Random(self.seed)
        symbols = list(few(alphabet))[:4]
        if place is None:
            for k in (k for k in (n // 2, n // 2 + 1, n // 2 - 1, 1, n - 1) if 0 <= k <= n):
                for x, y in permutations(symbols, 2):
                    yield (x,) * k + (y,) * (n - k)
                    yield ((x, y) * k + (x,) * n)[:n]
        near = [n - 1, n // 2, 1] if place is None else [place + beside for beside in BESIDE]
        for middle in near:
            for x, y, after, last in product(symbols, repeat=4) if 1 <= middle < n else ():
                if x != y:  # the last symbol may be what asks for the one that was read
                    yield (*((x,) * middle + (y,) + (after,) * (n - 1 - middle))[: n - 1], last)
            for x, y, before, after in product(symbols, repeat=4) if 1 <= middle < n else ():
                if x != y:
                    yield (before,) * (middle - 1) + (x, y) + (after,) * (n - 1 - middle)
        bases = [(x, y) * (n // 2) + (x,) * (n % 2) for x, y in product(symbols, repeat=2)]
        target = self.made.source
        if not isinstance(target, NoProof):
            examples = [word for word, _ in target.examples]
            bases += islice(members(alphabet, n, Deciding(target), rng, examples, ACCEPTED), ACCEPTED)
        yield from bases
        for middle in near:
            for beside in range(-CHANGED, CHANGED + 1):
                at = middle + beside
                for base, symbol in product(bases, symbols) if 0 <= at < n else ():
                    yield (*base[:at], symbol, *base[at + 1 :])
        yield from structured_words(alphabet, n, 40)
        yield from (drawn(alphabet, n, rng) for _ in range(20))

    # ---- the head at fault, and remedies ----

    def _first_off(self, word: Word) -> tuple[int | None, str | None]:
        """Return the layer, from 1, and the name of the first head whose reading differs from the one in float64
        by more than a quarter of what it reads there; (None, None) if no head does."""
        reads: list[list[Enclosures]] = [[], []]
        for number, form in enumerate((self.form, DOUBLE)):
            one = FormatPass(self.made.layout, Emulated(form, self.accumulate), reads[number].append)
            one.outputs(self._tokens([word]))
        layers = self.made.layout.description["layers"]
        names = [(k, head["name"]) for k, layer in enumerate(layers, start=1) for head in layer["heads"]]
        for (layer, name), narrow, wide in zip(names, *reads, strict=True):
            with np.errstate(all="ignore"):
                if not (np.abs(narrow.low - wide.low).max() <= 0.25 * np.abs(wide.low).max()):
                    return layer, name
        return None, None

    def _mends(self, n: int, wrong: _Wrong | None) -> Iterator[str]:
        """Yield changes that make a length safe with sums from the left (the wrong word's length, if there is a
        word). For a network that is enclosed word by word: changes that make that word right."""
        n, structure = n if wrong is None else len(wrong.word), self.structure
        if wrong is None and self._mended(n, None, structure, self._enclosed(True)):
            return  # it is safe, and not known to be
        wide, message = FORMATS[ACCUMULATE], "" if isinstance(structure, Structure) else " for that word"
        inner = self.accumulate
        if (
            inner is None
            and self.form is not wide
            and self._mended(n, wrong, structure, Enclosed(self.form, wide, True))
        ):
            yield f"--accumulate {ACCUMULATE}{message}"
        for sharper in map(self.sharper, SHARPER):
            if sharper is not None and self._mended(n, wrong, sharper[1], self._enclosed(True)):
                yield f"--beta {sharper[0]}"
                break
        for form in reversed(FORMATS.values()):
            if form.digits > self.form.digits and self._mended(n, wrong, structure, Enclosed(form, inner, True)):
                yield f"{form.name}{message}"
                break

    def _mended(self, n: int, wrong: _Wrong | None, structure: Structure | NoProof, arithmetic: Enclosed) -> bool:
        if not isinstance(structure, Structure):
            if wrong is None:
                return False
            emulated = FormatPass(self.made.layout, Emulated(arithmetic.form, arithmetic.accumulate))
            outputs = emulated.outputs(self._tokens([wrong.word])).low
            return self.reference.right([(wrong.word, wrong.right)], outputs, outputs)[0]
        try:
            if structure.causal:  # a length is held given that the shorter ones are
                return safe_to(structure, arithmetic, n)[0] == n
            bounds = StructureBounds(structure, arithmetic)
            bounds.require_exact()
            bounds.require(n)
        except NotEnclosed:
            return False
        return True


def _stretched(word: Word, n: int) -> Iterator[Word]:
    """Yield words of length n that differ from a word in the length of one of its runs, the longest runs first."""
    runs = [list(run) for _, run in groupby(word)]
    for place in sorted(range(len(runs)), key=lambda k: -len(runs[k]))[:RUNS]:
        size = len(runs[place]) + n - len(word)
        if size > 0:
            parts = [*runs[:place], runs[place][:1] * size, *runs[place + 1 :]]
            yield tuple(symbol for part in parts for symbol in part)


def _counted(runs: Sequence[tuple[str, int]], n: int, symbols: Sequence[str]) -> Iterator[Word]:
    """Yield words of length n that begin with the given runs, pairs of a symbol and a length, in every order. A further
    run and a repeated symbol follow; that run is about as long as the first and last given runs differ in length,
    which balances them."""
    rest, apart = n - sum(many for _, many in runs), abs(runs[0][1] - runs[-1][1]) if runs else 0
    if not runs or rest < 0:
        return
    for order in permutations(runs):
        start = tuple(symbol for symbol, many in order for _ in range(many))
        if not rest:
            yield start
        for k in sorted(range(rest + 1), key=lambda k: abs(k - apart))[: MOST_AFTER if rest else 0]:
            for x, y, z in product(symbols, repeat=3):
                yield (*start, *((x,) * k + (y, z) * n)[:rest])


# ---- all formats ----


def structure_known(made: Export) -> Structure | NoProof:
    """Return the facts that hold for all words of a length at once, or the reason why they do not suffice."""
    target = made.source
    if isinstance(target, NoProof):
        return target
    try:
        core = desugar(target.formula)
        return structure_of(transformer_of(target), target.program, made.layout, core, own_predicates(target.formula))
    except NotProved as failure:
        return NoProof(failure.reason)
    except HardsimError as error:
        return NoProof(error.message if hasattr(error, "message") else str(error))


def _sharper(made: Export, factor: int) -> tuple[Fraction, Structure] | None:
    """Return a larger inverse-temperature constant, by a factor, and the facts of the network compiled with it; None
    if these do not suffice for all words of a length."""
    found = made.sharper(factor)
    structure = None if found is None else structure_known(found[1])
    return (found[0], structure) if found is not None and isinstance(structure, Structure) else None


def ariths_of(request: Request) -> tuple[str, ...]:
    """Return the formats that the user asks for. Raises InputError if there is no format of that name, or sums are to
    be accumulated in a format other than float32."""
    if request.dtype is not None and request.dtype not in ARITHS:
        if request.dtype.lower() in WIDER:
            message = f"`hardsim precision` does not cover {request.dtype}: `hardsim check` runs it, with error bounds"
            raise InputError(message, f"The formats are: {', '.join(ARITHS)}.")
        raise unknown("format", request.dtype, ARITHS, called=CALLED)
    if request.accumulate not in (None, ACCUMULATE):
        message = f"sums are accumulated in {ACCUMULATE} or in the format, not in {request.accumulate!r}"
        raise InputError(message, f"Write --accumulate {ACCUMULATE}, or leave it out.")
    return ARITHS if request.dtype is None else (request.dtype,)


def assumptions_of(made: Export, accumulate: bool) -> tuple[str, ...]:
    """Return the assumptions on which a verdict on a network rests."""
    first, *others = ASSUMPTIONS
    computed = LayoutValues(made.layout).floating
    numbers = FLOATING.format(" and ".join(computed), COMPUTED) if computed else RATIONAL
    layers = made.layout.description["layers"]
    used = {head.get("weighting") for layer in layers for head in layer["heads"]}
    used |= {"exponentials" for name in used if name is not None and name.startswith("softmax:")}
    used |= {"rounding" for layer in layers if "rounding" in layer}
    steps = [text for name, text in STEPS_OF.items() if name in used]
    return (first, numbers, *others, *steps, *([ACCUMULATED] if accumulate else []))


def precision_of(
    made: Export,
    name: str,
    ariths: Sequence[str],
    max_n: int,
    exhaustive: int,
    accumulate: bool,
    seed: int = 0,
    report: Report | None = None,
) -> PrecisionResult:
    """Determine the effect of number formats on a network, at lengths up to `max_n`. Where a length has at most
    `exhaustive` words, each of them is enclosed by itself. A KeyboardInterrupt ends it early."""
    target, wide = made.target, FORMATS[ACCUMULATE] if accumulate else None
    rows: list[FormatRow] = []
    partial = False
    try:
        with interruptible():
            structure, sharper = structure_known(made), cache(lambda factor: _sharper(made, factor))
            # The narrowest format comes first: words that are wrong there are candidates for the wider ones.
            for arith in sorted(ariths, key=ARITHS.index, reverse=True):
                message = None if report is None else _progress_of(report, arith, max_n)
                inner = None if wide is None or FORMATS[arith] is wide else wide
                wrong = [row.word for row in rows if row.word is not None]
                given = made, FORMATS[arith], inner, max_n, exhaustive, structure, seed, message, wrong
                rows.insert(0, _InFormat(*given, sharper=sharper).row())
    except KeyboardInterrupt:
        partial = True
    assumptions = assumptions_of(made, accumulate)
    facts, regime = target.facts, target.regime
    wide_name, longest = ACCUMULATE if accumulate else None, made.longest
    max_n = max_n if longest is None else min(max_n, longest)
    right = reference_of(made).name
    return PrecisionResult(name, target.kind, regime, facts, right, max_n, wide_name, tuple(rows), assumptions, partial)


def _progress_of(report: Report, arith: str, max_n: int) -> Callable[[int], None]:
    return lambda n: report(arith, n, max_n)
