"""The attention patterns of an external network's heads (`heads`): where each attends on the words tried, and how
sharply.

A query that sees only one key gives no evidence and is left out. Of every other query the logits (in nats: with their
scale) are known in certified float64 up to a radius rho, so the argmax is certain where the largest logit exceeds every
other by more than 2 rho; elsewhere float64 cannot tell several keys apart, and the query has a tie. A pattern holds at
a query if the argmax is certain and is where the pattern points; `uniform` holds if every weight certainly is within 1
% of 1/m, relatively, of m keys that are seen. The pattern of a head is the one that holds at most queries; of equals
(in short words several patterns point to the same position) the first of `PATTERNS`. A pattern that holds at less than
half of the queries does not count.

Where a pattern points to no position that is seen (the previous one of the first, the nearest of a class where none is)
it points to the first position, or under a mask that hides earlier positions to the last one: heads fall back to these.

A class of tokens is inferred. Say that a head attends to position a at query q. Looking back from q to a, the token at
a was attended and those on the way were passed over. A token is in the class if it is attended more often than it is
passed over; a position that heads fall back to is no evidence that its token was attended. The evidence comes from the
first `REMEMBERED` queries, shortest words first, which at the usual effort are all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import islice
from typing import Annotated, TypeAlias

import numpy as np

from hardsim.campaign.check import CheckOptions, Deciding, Progress, Report, lengths_of, plan_of, requested
from hardsim.campaign.interrupts import to_the_report, uninterrupted
from hardsim.campaign.result import (
    InputDigest,
    LayerNumber,
    Length,
    Partial,
    Possible,
    Seed,
    input_summary,
    word_summary,
)
from hardsim.errors import InputError, Undecided
from hardsim.lang.reals import Real
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Dense, Network, NetworkHead
from hardsim.network.numbers import Mask
from hardsim.options.table import Request
from hardsim.records import Lower, Natural, Record, one_of, short, written
from hardsim.run.dense_balls import DenseBalls, is_large
from hardsim.run.dense_exact import Row
from hardsim.run.dense_float import FLOOR, DenseFloat, visible
from hardsim.run.enclosure import EXP_ERROR, Booleans, Floats, Integers, U, gamma, growth, outward
from hardsim.run.float_trust import distrust
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import InputKind, InputName, ModelFacts, Title, Word, plural

CELLS = 2**19
"""Most numbers in an array of a batch of words: four megabytes."""
REMEMBERED = 2**22
"""Most queries, over all heads, that are kept until classes are inferred from them."""
MOST_PRODUCTS = 100_000
"""Most products of rationals that are computed to find out which logits are equal."""
EVEN = 0.01
"""Largest relative distance of the weights of a uniform head from 1/m."""

UNIFORM, ITSELF, PREVIOUS, FIRST, FIRST_SYMBOL = (
    "uniform",
    "itself",
    "previous position",
    "first position",
    "first symbol",
)
NEXT, LAST = "next position", "last position"
AT_OR_BEFORE, BEFORE, AT_OR_AFTER, AFTER = (
    "nearest at or before",
    "nearest before",
    "nearest at or after",
    "nearest after",
)
NONE = "none"
NEAREST = (AT_OR_BEFORE, BEFORE, AT_OR_AFTER, AFTER)
PATTERNS = (UNIFORM, ITSELF, PREVIOUS, FIRST, FIRST_SYMBOL, NEXT, LAST, *NEAREST, NONE)
"""All patterns, simplest first."""
HIDDEN = {
    Mask.NONE: (),
    Mask.FUTURE: (NEXT, LAST, AT_OR_AFTER, AFTER),
    Mask.PAST: (PREVIOUS, FIRST, AT_OR_BEFORE, BEFORE),
}
"""Patterns that are impossible under each mask."""

PatternName: TypeAlias = Annotated[str, one_of(*PATTERNS)]
Place: TypeAlias = Annotated[Natural, "A position among all tokens that are read, from 0."]


# ---- the result ----


def network_alone(given: Input, request: Request) -> External:
    """Return an external network, read as the request states. Raises InputError if the input is not an external
    network, or an option is for compiled networks."""
    if not given.is_network:
        message = f"{given.name} is {given.what}: the patterns of heads are searched in external networks only"
        raise InputError(message, "Heads of compiled networks are declared: `hardsim show` lists the purpose of each.")
    request.require_stored(given)
    return given.network(request.options()[0])


@dataclass(frozen=True, slots=True, repr=False)
class HeadTie(Record):
    """Query whose largest logits float64 does not tell apart."""

    word: Word
    """First word tried with a tie, among the shortest."""
    query: Place
    keys: tuple[int, ...]
    """Position of the largest logit, and those whose logits are not told apart from it."""

    @property
    def summary(self) -> str:
        """The word, the query and the keys as text."""
        return f"{word_summary(self.word)} at {self.query}: {', '.join(map(str, self.keys))}"


@dataclass(frozen=True, slots=True, repr=False)
class HeadLeast(Record):
    """A least number, with the word and query where it occurs first."""

    value: Lower
    """Lower bound of the least number."""
    word: Word
    """Word where it occurs."""
    query: Place

    @property
    def summary(self) -> str:
        """The number, the word and the query as text."""
        return f"{short(self.value)} on {word_summary(self.word)} at {self.query}"


@dataclass(frozen=True, slots=True, repr=False)
class HeadLength(Record):
    """One head on all words tried of one length."""

    n: Length
    queries: Natural
    """Number of queries that see two keys or more."""
    ties: Natural
    """Number of queries whose argmax is not certain."""
    gap: Lower | None
    """Lower bound of the least difference of the two largest logits, in nats; null: no argmax is certain."""


@dataclass(frozen=True, slots=True, repr=False)
class HeadPattern(Record):
    """Pattern of one head on the words tried."""

    layer: LayerNumber
    name: str
    """Name of the head."""
    mask: Annotated[str, one_of(*(mask.value for mask in Mask))]
    """Keys that are hidden from each query: none, those of the future, or those of the past."""
    pattern: PatternName
    """Pattern of attention; none: no pattern holds at half of the queries."""
    tokens: tuple[str, ...] | None
    """Class of tokens whose nearest is attended; null: the pattern has no class."""
    queries: Natural
    """Number of queries that see two keys or more."""
    holds: Natural
    """Number of queries at which the pattern certainly holds; 0 without a pattern."""
    gap: HeadLeast | None
    """Least difference of the two largest logits, in nats, where the argmax is certain; null: nowhere."""
    weight: HeadLeast | None
    """Least weight of the largest logit, together with all that are not told apart from it; null: no query counts."""
    ties: Natural
    """Number of queries whose argmax is not certain: float64 does not tell several keys apart."""
    exact_ties: Natural
    """Number of these queries whose largest logits certainly are equal, as real numbers. Other ties may be exact or
    not."""
    tie: HeadTie | None
    """First tie; null: there is none."""
    lengths: tuple[HeadLength, ...]
    """Results, one for each length."""

    @property
    @written
    def always(self) -> bool:
        """True if the pattern holds at every query that counts."""
        return self.pattern != NONE and self.holds == self.queries

    @property
    def summary(self) -> str:
        """The pattern, and the number of queries at which it holds, as text."""
        least = "" if self.gap is None else f" gap={short(self.gap.value)}"
        return f"layer={self.layer} head={self.name!r} {self.pattern}: {self.holds} of {self.queries}{least}"


@dataclass(frozen=True, slots=True, repr=False)
class HeadsLength(Record):
    """Words tried of one length."""

    n: Length
    words: Natural
    """Number of words tried."""
    possible: Possible
    exhaustive: bool
    """True if all words of the length were tried."""


@dataclass(frozen=True, slots=True, repr=False)
class HeadsResult(Record):
    """Patterns of the heads of an external network, over the words tried."""

    input: InputName
    sha256: InputDigest
    kind: InputKind
    title: Title
    model: ModelFacts
    """Size of the network: layers, heads, coordinates, parameters."""
    seed: Seed
    words: Natural
    """Number of words tried."""
    partial: Partial
    tried: tuple[HeadsLength, ...]
    """Words tried, one entry for each length."""
    heads: tuple[HeadPattern, ...]
    """All heads, layer by layer."""

    @property
    def summary(self) -> str:
        """The number of heads, of patterns that always hold, and of words, as text."""
        always = sum(head.always for head in self.heads)
        message = f"{plural(len(self.heads), 'head')}, {always} with a pattern that always holds"
        return f"{input_summary(self.input)}: {message}, {plural(self.words, 'word')}{', interrupted' * self.partial}"


# ---- the position that a pattern points to ----


def fallback(mask: Mask, m: int) -> int:
    """Return the position that a head attends to if it finds none that it looks for: the first of m positions, or
    the last of them under a mask that hides earlier positions."""
    return m - 1 if mask is Mask.PAST else 0


def pointed(pattern: str, head: NetworkHead, tokens: Integers, start: int, members: Booleans) -> Integers:
    """Return the position that a pattern points to from each query, (words, m); -1: none. The first symbol of each word
    is at position `start`; `members`, by token id, is True for the tokens of the class."""
    words, m = tokens.shape
    places, nothing = np.arange(m), fallback(head.mask, m)
    seen = visible(head.mask, head.window, places, places)
    if pattern in NEAREST:
        near = nearest(pattern, members[tokens], nothing)
        return near if head.window is None else np.where(seen[places[None, :], near], near, -1)
    found = {
        ITSELF: places,
        PREVIOUS: np.where(places > 0, places - 1, nothing),
        FIRST: np.zeros(m, dtype=np.int64),
        FIRST_SYMBOL: np.full(m, start),
        NEXT: np.where(places < m - 1, places + 1, nothing),
        LAST: np.full(m, m - 1),
    }[pattern]
    # A position that is hidden cannot be attended.
    return np.broadcast_to(np.where(seen[places, found], found, -1), (words, m))


def nearest(pattern: str, here: Booleans, nothing: int) -> Integers:
    """Return for each query the nearest position where `here` (words, m) is True, by the pattern; `nothing` if there is
    none."""
    m = here.shape[1]
    places = np.arange(m)
    if pattern in (AT_OR_BEFORE, BEFORE):
        found = np.maximum.accumulate(np.where(here, places, -1), axis=1)
        if pattern == BEFORE:
            found = np.concatenate([np.full((len(here), 1), -1), found[:, :-1]], axis=1)
        return np.where(found < 0, nothing, found)
    found = np.minimum.accumulate(np.where(here, places, m)[:, ::-1], axis=1)[:, ::-1]
    if pattern == AFTER:
        found = np.concatenate([found[:, 1:], np.full((len(here), 1), m)], axis=1)
    return np.where(found == m, nothing, found)


def evidence(pattern: str, mask: Mask, tokens: Integers, argmax: Integers, size: int) -> Integers:
    """Return, for each of `size` tokens, how often a head attended to it minus how often the head passed over it.

    Tokens of the class whose nearest position the head looks for are attended to and never passed over. `argmax`
    (words, m) is the position attended to from each position, -1 where it is not certain."""
    words, m = tokens.shape
    places = np.arange(m)[None, :]
    back = pattern in (AT_OR_BEFORE, BEFORE)
    beside = pattern in (BEFORE, AFTER)
    gone = (argmax >= 0) & ((argmax <= places - beside) if back else (argmax >= places + beside))
    low = argmax + 1 if back else places + beside
    high = places + (not beside) if back else argmax
    row = np.broadcast_to(np.arange(words)[:, None] * (m + 1), (words, m))
    # Ranges of passed positions as +1 at their start and -1 after their end; the cumulative sum counts them all at
    # once.
    changes = np.zeros(words * (m + 1), dtype=np.int64)
    for ends, sign in ((low, 1), (high, -1)):
        index = (row + np.broadcast_to(ends, (words, m)))[gone]
        changes += sign * np.bincount(index, minlength=len(changes))
    passed = changes.reshape(words, m + 1).cumsum(axis=1)[:, :m]
    attended = np.zeros(words * (m + 1), dtype=np.int64)
    attended += np.bincount((row + argmax)[gone & (argmax != fallback(mask, m))], minlength=len(attended))
    balance = attended.reshape(words, m + 1)[:, :m] - passed
    return np.rint(np.bincount(tokens.ravel(), balance.ravel(), size)).astype(np.int64)


# ---- one head on a batch ----


@dataclass(frozen=True)
class HeadRows:
    """The results for the queries of one head on some words of one length; arrays are (words, m)."""

    argmax: Integers
    """The position with the largest logit."""
    certain: Booleans
    gap: Floats
    """Lower bounds of the difference of the two largest logits."""
    weight: Floats
    """Lower bounds of the weight of all keys that are not told apart from the largest."""
    even: Booleans
    """True where all weights certainly are within EVEN of 1/m, relatively."""
    near: Booleans
    """True for the keys that are not told apart from the largest, (words, m, m)."""


def rows(logits: Floats, slip: Floats, seen: Booleans) -> HeadRows:
    """Return the results for the queries of these logits (words, m, m), which are -inf where no key is seen, and are
    known within `slip` (words, m).

    With w_j = exp(l_j - max l) as computed, (the exponent not below FLOOR, which makes sums larger), and e = growth(2
    slip + 4 u |FLOOR|) + EXP_ERROR, each w_j that is not cut off is off by a share of e, each sum and quotient of m of
    them by 2 e + gamma(m + 4): `loss` below, while e is small.
    """
    m = logits.shape[2]
    argmax = logits.argmax(axis=2)
    top = np.take_along_axis(logits, argmax[:, :, None], 2)
    with np.errstate(all="ignore"):
        # A difference is rounded once, and so is what the radii leave of it.
        less = np.nextafter(np.nextafter(top - logits, -np.inf) - 2 * slip[:, :, None], -np.inf)
        near = seen & ~(less > 0)
        # The argmax is near itself, and must not count as its own rival.
        np.put_along_axis(near, argmax[:, :, None], True, 2)
        np.put_along_axis(less, argmax[:, :, None], np.inf, 2)
        gap = less.min(axis=2)
        # FLOOR avoids the slow underflow of numpy's exp, and only makes sums larger.
        weights = np.where(seen, np.exp(np.maximum(logits - top, FLOOR)), 0.0)
        total = weights.sum(axis=2)
        step = outward(growth(2 * slip + 4 * U * -FLOOR) + EXP_ERROR)
        loss = np.where(step < 0.01, outward(3 * step + gamma(m + 8)), 1.0)
        share = np.where(near, weights, 0.0).sum(axis=2) / total
        # A sum over what is near may be rounded up to the whole.
        weight = np.maximum(np.minimum(share, 1.0) * (1 - loss) - 4 * U, 0.0)
        each = seen.sum(axis=1) / total
        most, least = weights.max(axis=2) * each, np.where(seen, weights, np.inf).min(axis=2) * each
        even = (most * (1 + 2 * loss) <= 1 + EVEN) & (least * (1 - 2 * loss) >= 1 - EVEN) & (loss < 1)
    return HeadRows(argmax, gap > 0, gap, np.where(near.sum(axis=2) == seen.sum(axis=1), 1.0, weight), even, near)


# ---- keys with equal logits ----


class Alike:
    """The search for keys of a head that certainly have the same logit from a query, in three cases. Queries or keys
    are zero: all logits are equal. At the first layer, without a norm before it: keys whose tokens and positions add
    the same terms to the logit, in rationals. At later layers, or where that is too much work: equal tokens at equal
    positions, if every earlier head sees every position, so that equal vectors stay equal."""

    def __init__(self, network: Network, layer: int, head: NetworkHead) -> None:
        self.network, self.layer, self.head = network, layer, head
        readout = network.readout
        named = (*readout.before, *network.symbols, *readout.after)
        self.used = np.array(sorted({network.ids[str(token)] for token in named}), dtype=np.int64)
        """The token ids of all words."""
        self._known: tuple[int, tuple[Integers, Integers] | None] = 0, None
        """A length, and its tables: lengths come in order, and tables are large."""

    def kinds(self, n: int, tokens: Integers) -> Integers | None:
        """Return numbers (words, queries, keys), or with one query for all: equal numbers in a row mean equal logits.
        Return None if nothing is known."""
        network, head, m = self.network, self.head, tokens.shape[1]
        # Scores that depend on distances, and scores of normed or turned zeros, differ between equal vectors.
        if any(part is not None for part in (head.rotary, head.distance, head.norm_q, head.norm_k)):
            return None
        # Zero queries or keys: every logit is the same.
        asks = head.w_q.any() or (head.b_q is not None and head.b_q.any())
        if not (asks and head.w_k.any()):
            return np.zeros((len(tokens), 1, m), dtype=np.int64)
        earlier = [other for one in network.layers[: self.layer] for other in one.heads]
        if any(other.mask is not Mask.NONE or _by_place(other) for other in earlier):
            return None
        here = network.layers[self.layer]
        entered = network.embedding_norm, network.embedding_bias, network.projection
        bare = (here.post or here.norm_1 is None) and all(part is None for part in entered)
        tables = self._tables(n, m) if self.layer == 0 and bare else None
        if tables is not None:
            own, places = tables
            which = np.searchsorted(self.used, tokens)
            queries = np.arange(m)[None, :, None]
            numbers: Integers = own[which[:, :, None], queries, which[:, None, :]] * m
            numbers += places[which[:, :, None], queries, np.arange(m)[None, None, :]]
            return numbers
        some, place = np.unique(tokens, return_inverse=True)
        own, encoding = classes(network.embedding[some])[place.reshape(tokens.shape)], network.encoding(n)
        alike: Integers = own * m + (0 if encoding is None else classes(encoding))
        return alike[:, None, :]

    def _tables(self, n: int, m: int) -> tuple[Integers, Integers] | None:
        """Return the terms that tokens, and that positions, add to the logit, by the query's token and position:
        (tokens, m, tokens) and (tokens, m, m), with equal numbers for equal terms. Return None if that is too much
        work, or not in rationals."""
        if self._known[0] != n:
            self._known = n, self._made(n, m)
        return self._known[1]

    def _made(self, n: int, m: int) -> tuple[Integers, Integers] | None:
        head, size, width = self.head, len(self.used), self.head.w_k.shape[1]
        if (size + m) * max(self.network.dimension * width, (size + m) * width, size * m) > MOST_PRODUCTS:
            return None
        encoding = self.network.encoding(n)
        zeros = np.zeros((m, self.network.dimension))
        used = replace(self.network, embedding=self.network.embedding[self.used]).scaled_embedding
        parts = [used, zeros if encoding is None else encoding]
        # A square root or the like has no exact equality test.
        if any(isinstance(value, Real) for part in parts for value in part.ravel().tolist()):
            return None
        requests = [product(part, head.w_q) for part in parts]
        bias = np.zeros((1, width)) if head.b_q is None else head.b_q[None, :]
        keys = np.concatenate([product(part, head.w_k) for part in parts]).T
        token, place, always = (product(part, keys) for part in (*requests, bias))
        rows = [[token[t] + place[p] + always[0] for p in range(m)] for t in range(size)]
        own = [[classes(row[:size, None]) for row in some] for some in rows]
        return np.array(own), np.array([[classes(row[size:, None]) for row in some] for some in rows])


def _by_place(head: NetworkHead) -> bool:
    """Return True if what a head adds depends on the positions of equal vectors."""
    return head.rotary is not None or head.distance is not None or head.window is not None


def product(left: Dense, right: Dense) -> Dense:
    """Return the product of two matrices in rationals."""
    found = np.full((left.shape[0], right.shape[1]), Fraction(0), dtype=object)
    rows = [[(k, Fraction(value)) for k, value in enumerate(row) if value] for row in right.tolist()]
    for place, k in np.argwhere(left != 0).tolist():
        factor = Fraction(left[place, k])
        for column, value in rows[k]:
            found[place, column] += factor * value
    return found


def classes(vectors: Dense) -> Integers:
    """Return a number for each row; equal rows have equal numbers, and different rows different ones."""
    if vectors.dtype != object:
        return np.unique(vectors, axis=0, return_inverse=True)[1].reshape(-1)
    numbers: dict[tuple[object, ...], int] = {}
    return np.array([numbers.setdefault(tuple(row), len(numbers)) for row in vectors.tolist()], dtype=np.int64)


# ---- tallies ----


@dataclass
class LengthTally:
    """The counts of one head on words of one length."""

    queries: int = 0
    ties: int = 0
    gap: Fraction | None = None


@dataclass
class HeadTally:
    """The counts of one head on all words."""

    layer: int
    head: NetworkHead
    size: int
    """Number of tokens of the vocabulary."""
    patterns: tuple[str, ...]
    lengths: dict[int, LengthTally] = field(default_factory=dict)
    pattern_counts: dict[str, int] = field(default_factory=dict)
    exact: int = 0
    gap: HeadLeast | None = None
    weight: HeadLeast | None = None
    tie: HeadTie | None = None
    seen: dict[str, Integers] = field(default_factory=dict)
    """Evidence for classes, by pattern: for each token, how often it was attended less how often it was passed
    over."""
    members: dict[str, Booleans] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pattern_counts = dict.fromkeys(self.patterns, 0)
        self.seen = {one: np.zeros(self.size, dtype=np.int64) for one in self.patterns if one in NEAREST}

    @property
    def queries(self) -> int:
        """The number of queries that count."""
        return sum(one.queries for one in self.lengths.values())

    def learn(self, tokens: Integers, argmax: Integers) -> None:
        """Add the evidence for classes of some words."""
        for pattern, found in self.seen.items():
            found += evidence(pattern, self.head.mask, tokens, argmax, self.size)

    def infer(self) -> None:
        """Infer the classes from the evidence; a class without tokens does not count."""
        self.members = {pattern: found > 0 for pattern, found in self.seen.items()}

    def require(self, tokens: Integers, argmax: Integers, start: int) -> None:
        """Count the queries at which each pattern holds; the classes are inferred already."""
        nobody = np.zeros(self.size, dtype=np.bool_)
        for pattern in self.patterns:
            members = self.members.get(pattern, nobody)
            # `uniform` is counted in `add`, from the weights.
            if pattern != UNIFORM and (pattern not in NEAREST or members.any()):
                at = pointed(pattern, self.head, tokens, start, members)
                self.pattern_counts[pattern] += int(((argmax == at) & (argmax >= 0)).sum())

    def add(self, n: int, words: Sequence[Word], found: HeadRows, counted: Booleans, alike: Integers | None) -> None:
        """Add the gaps, weights and ties of the queries that are `counted`, (m,)."""
        here = self.lengths.setdefault(n, LengthTally())
        here.queries += len(words) * int(counted.sum())
        sure = found.certain & counted
        gap = least(np.where(sure, found.gap, np.inf), words)
        if gap is not None:
            here.gap = gap.value if here.gap is None else min(here.gap, gap.value)
            self.gap = gap if self.gap is None or gap.value < self.gap.value else self.gap
        weight = least(np.where(counted, found.weight, np.inf), words)
        if weight is not None and (self.weight is None or weight.value < self.weight.value):
            self.weight = weight
        self.pattern_counts[UNIFORM] += int((found.even & counted).sum())
        loose = ~found.certain & counted
        here.ties += int(loose.sum())
        if alike is not None and loose.any():
            low = np.where(found.near, alike, np.iinfo(np.int64).max).min(axis=2)
            high = np.where(found.near, alike, -1).max(axis=2)
            self.exact += int((loose & (low == high)).sum())
        if self.tie is None and loose.any():
            word, query = np.argwhere(loose)[0].tolist()
            keys = np.flatnonzero(found.near[word, query]).tolist()
            self.tie = HeadTie(words[word], query, tuple(keys))

    def result(self, tokens: Sequence[str]) -> HeadPattern:
        """Return the pattern and the numbers of the head."""
        pattern = max(self.patterns, key=lambda one: self.pattern_counts[one])
        queries, holds = self.queries, self.pattern_counts[pattern]
        # A pattern at less than half of the queries describes no head.
        if queries == 0 or 2 * holds < queries:
            pattern, holds = NONE, 0
        chosen = None
        if pattern in NEAREST:
            chosen = tuple(token for token, member in zip(tokens, self.members[pattern], strict=True) if member)
        rows = [HeadLength(n, one.queries, one.ties, one.gap) for n, one in sorted(self.lengths.items())]
        return HeadPattern(
            layer=self.layer + 1,
            name=self.head.name,
            mask=self.head.mask.value,
            pattern=pattern,
            tokens=chosen,
            queries=queries,
            holds=holds,
            gap=self.gap,
            weight=self.weight,
            ties=sum(one.ties for one in self.lengths.values()),
            exact_ties=self.exact,
            tie=self.tie,
            lengths=tuple(rows),
        )


def least(values: Floats, words: Sequence[Word]) -> HeadLeast | None:
    """Return the least of the finite numbers in `values`, (words, m), with its word and position; None if there are
    none."""
    flat = int(values.argmin())
    word, query = divmod(flat, values.shape[1])
    value = float(values[word, query])
    return HeadLeast(Fraction(value), words[word], query) if np.isfinite(value) else None


# ---- all heads ----


def float_logits(logits: Sequence[Row]) -> tuple[Floats, Floats]:
    """Return logits in balls by query and key (None: not visible) as float64, -inf where a key is not visible, and a
    bound of the error of the visible ones of each query. Where a ball is no number, the bound is infinite and the
    logits are 0."""
    mid = np.array([[-np.inf if one is None else float(one.mid()) for one in row] for row in logits])
    off = [[0.0 if one is None else float((one - float(one.mid())).abs_upper()) for one in row] for row in logits]
    rad = outward(np.max(off, axis=1))
    unknown = ~np.isfinite(rad)
    mid[unknown], rad[unknown] = np.where(np.isneginf(mid[unknown]), -np.inf, 0.0), np.inf
    return mid, rad


_Kept: TypeAlias = tuple[Integers, Sequence[Integers]]
"""One batch that is kept until classes are inferred: its tokens, and the argmax of each head."""


class _Heads:
    """The tallies of all heads. After an interruption they are a partial result."""

    def __init__(self, subject: External, options: CheckOptions, progress: Report | None) -> None:
        self.subject, self.options, self.progress = subject, options, progress
        network = subject.network
        self.floats, self.alike = DenseFloat(network), list[Alike]()
        self.balls, self.unbounded = DenseBalls(network, floats=self.floats), None if is_large(network) else False
        self.start, self.tallies = len(network.readout.before), list[HeadTally]()
        for number, layer in enumerate(network.layers):
            for head in layer.heads:
                # Without tokens before the word the first symbol is the first position.
                hidden = (*HIDDEN[head.mask], *([] if self.start else [FIRST_SYMBOL]), NONE)
                usable = tuple(one for one in PATTERNS if one not in hidden)
                self.tallies.append(HeadTally(number, head, len(network.tokens), usable))
                self.alike.append(Alike(network, number, head))
        self.tried: dict[int, HeadsLength] = {}
        self.kept: list[_Kept] | None = []
        self.room = REMEMBERED
        self.total = sum(requested(subject, options, n) for n in lengths_of(subject, options))

    def run(self) -> None:
        """Try every planned word."""
        accepts = Deciding(self.subject)
        for n in lengths_of(self.subject, self.options):
            plan = plan_of(self.subject, self.options, n, accepts)
            self.tried[n] = HeadsLength(n, 0, plan.possible, plan.exhaustive)
            for words in _batches(plan.words, self._size(n)):
                self._batch(n, words)

    def _size(self, n: int) -> int:
        """Return the number of words of length n that are run together."""
        if self.unbounded:
            return 1
        m, network = self.subject.positions(n), self.subject.network
        return max(1, CELLS // (m * max(m, network.dimension)))

    def _batch(self, n: int, words: Sequence[Word]) -> None:
        network = self.subject.network
        tokens = network.read_together(words)
        places = np.arange(tokens.shape[1])
        found: list[tuple[HeadTally, HeadRows, Booleans, Integers | None]] = []
        for tally, alike, (_, head, logits, slip) in zip(
            self.tallies, self.alike, self._logits(n, tokens), strict=True
        ):
            seen = visible(head.mask, head.window, places, places)
            counted = seen.sum(axis=1) > 1
            one = rows(logits, slip, seen)
            # Exact comparisons are slow: they run only where float64 leaves a tie.
            loose = bool((~one.certain & counted).any())
            found.append((tally, one, counted, alike.kinds(n, tokens) if loose else None))
        # An interruption must not count a batch for some heads only.
        with uninterrupted():
            said = []
            for tally, one, counted, kinds in found:
                tally.add(n, words, one, counted, kinds)
                said.append(np.where(one.certain & counted, one.argmax, -1))
            self._remember((tokens, said))
            self.tried[n] = replace(self.tried[n], words=self.tried[n].words + len(words))
        if self.progress is not None:
            self.progress(Progress(n, sum(one.words for one in self.tried.values()), self.total, 0))

    def _logits(self, n: int, tokens: Integers) -> Iterator[tuple[int, NetworkHead, Floats, Floats]]:
        """Yield the logits of each head with bounds of their errors, as `DenseFloat.attention` does. In a large network
        they come from balls if float64 has no bounds for the last head."""
        if self.unbounded is None and self.balls.large:
            *_, (_, _, _, slip) = self.floats.attention(n, tokens)
            self.unbounded = not np.isfinite(slip).all()
        if not self.unbounded:
            yield from self.floats.attention(n, tokens)
            return
        runs = [self.balls.attention(n, word, self.balls.least) for word in tokens.tolist()]
        for parts in zip(*runs, strict=True):
            number, head, _ = parts[0]
            near = [float_logits(logits) for _, _, logits in parts]
            yield number, head, np.stack([mid for mid, _ in near]), np.stack([rad for _, rad in near])

    def _remember(self, batch: _Kept) -> None:
        if self.kept is None:
            self._hold(batch)
            return
        self.kept.append(batch)
        tokens, argmaxes = batch
        self.room -= tokens.size * max(1, len(self.tallies))
        for tally, argmax in zip(self.tallies, argmaxes, strict=True):
            tally.learn(tokens, argmax)
        # Memory is used up: classes are inferred from these queries, and later batches are counted at once.
        if self.room < 0:
            self._settle()

    def _settle(self) -> None:
        """Infer the classes, and count the patterns on the batches kept so far."""
        kept, self.kept = self.kept or [], None
        for tally in self.tallies:
            tally.infer()
        for batch in kept:
            self._hold(batch)

    def _hold(self, batch: _Kept) -> None:
        for tally, argmax in zip(self.tallies, batch[1], strict=True):
            tally.require(batch[0], argmax, self.start)

    def result(self, partial: bool) -> HeadsResult:
        """Return the result over the words tried."""
        if self.kept is not None:
            self._settle()
        subject, network = self.subject, self.subject.network
        tried = tuple(one for one in self.tried.values() if one.words)
        if partial:  # the last length may be cut short
            tried = tuple(replace(one, exhaustive=one.exhaustive and one.words == one.possible) for one in tried)
        return HeadsResult(
            input=subject.name,
            sha256=subject.sha256,
            kind=subject.kind,
            title=subject.title,
            model=subject.facts,
            seed=self.options.seed,
            words=sum(one.words for one in tried),
            partial=partial,
            tried=tried,
            heads=tuple(tally.result(tuple(map(str, network.tokens))) for tally in self.tallies),
        )


def _batches(words: Iterable[Word], size: int) -> Iterator[tuple[Word, ...]]:
    left = iter(words)
    while some := tuple(islice(left, size)):
        yield some


def heads_of(subject: External, options: CheckOptions, progress: Report | None = None) -> HeadsResult:
    """Return the pattern of each head of an external network on the words of length 1 to `options.max_n`, in certified
    float64. A KeyboardInterrupt ends it early with a result that is marked partial. Raises OutOfRange if the table of
    positions ends before the longest word; Undecided if float64 is not to be trusted in this process."""
    subject.require_lengths(options.max_n)
    reason = distrust()
    if reason is not None:
        raise Undecided(reason)
    # With a regular domain only its words are tried. The empty word is left out: it has no queries.
    tried = replace(subject, shortest=1, oracle=None if subject.domain is None else subject.oracle)
    work = _Heads(tried, options, progress)
    return to_the_report(work.run, work.result)
