"""Whether two files say the same of words: of every length where both have an automaton, else of the words tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

from hardsim.checking.campaign import BATCH, BATCH_SYMBOLS, MEMBERS, effort_at, interesting, words_tried
from hardsim.checking.interrupts import held, to_the_report
from hardsim.checking.open import Members, Semantics
from hardsim.checking.result import (
    Answer,
    InputDigest,
    InputKind,
    InputName,
    Length,
    Partial,
    Possible,
    Reach,
    Seed,
    Verdict,
    Word,
    count,
    verdict_summary,
)
from hardsim.checking.words import Effort, count_words, count_words_upto, plan_words, planned_count
from hardsim.errors import Undecided
from hardsim.lang.valuations import Numbering
from hardsim.records import Natural, Record

Report = Callable[[int, int, int], None]
"""Told the length under way, and how many of how many words are done."""


@dataclass(frozen=True, slots=True, repr=False)
class EquivLength(Record):
    """The words tried of one length."""

    n: Length
    words: Natural
    """Words tried."""
    possible: Possible
    exhaustive: bool
    """Whether these are all words of the length."""
    accepted: Natural
    """Words that both accept."""


@dataclass(frozen=True, slots=True, repr=False)
class EquivResult(Record):
    """Two files compared. If the run was interrupted, this stands for the words tried until then."""

    input: InputName
    sha256: InputDigest
    kind: InputKind
    other: InputName
    other_sha256: InputDigest
    other_kind: InputKind
    seed: Seed
    max_n: Length
    """The largest length of which words are tried; two automata are compared at every length."""
    exhaustive_limit: Natural
    """Lengths with so many words or fewer have every word tried."""
    samples: Natural | None
    """Random words per sampled length, for either file; None: 20 up to length 16, 4 beyond."""
    lengths: tuple[EquivLength, ...]
    """The words tried, length by length; none where automata were compared."""
    verdict: Verdict
    """PROVED: the same at every length. CERTIFIED: on the words tried. REFUTED: they differ."""
    reach: Reach
    word: Word | None
    """The shortest word on which they differ, or the shortest found; None: none was found."""
    answer: Answer = None
    """What the first says of that word."""
    other_answer: Answer = None
    """What the other one says of it."""
    partial: Partial = False

    @property
    def summary(self) -> str:
        """The verdict, both inputs and how far it reaches."""
        return verdict_summary(self.verdict, f"{self.input}, {self.other}", self.reach, self.word)

    @property
    def same(self) -> bool:
        """Whether no word was found on which they differ."""
        return self.word is None


@dataclass(frozen=True, slots=True)
class EquivOptions:
    """Which words are tried (see `CheckOptions`)."""

    max_n: int = 8
    exhaustive: int = 2**16
    samples: int | None = None
    seed: int = 0


def compare(left: Semantics, right: Semantics, options: EquivOptions, report: Report | None = None) -> EquivResult:
    """Compare what two files say of words. A KeyboardInterrupt ends it with a result that is marked partial.

    Raises:
        InputError: if their alphabets are different sets.
    """
    right.hold_alphabet(left.name, left.alphabet)
    right = right.over(left.alphabet)
    work = _Automata(left, right) if _automata(left, right) else _Words(left, right, options, report)

    def result(partial: bool) -> EquivResult:
        verdict, reach = work.verdict()
        return EquivResult(
            input=left.name,
            sha256=left.sha256,
            kind=left.kind,
            other=right.name,
            other_sha256=right.sha256,
            other_kind=right.kind,
            seed=options.seed,
            max_n=options.max_n,
            exhaustive_limit=options.exhaustive,
            samples=options.samples,
            lengths=tuple(work.lengths),
            verdict=verdict,
            reach=reach,
            word=work.word,
            answer=None if work.word is None else left.oracle(work.word),
            other_answer=None if work.word is None else right.oracle(work.word),
            partial=partial,
        )

    return to_the_report(work.run, result)


def _automata(left: Semantics, right: Semantics) -> bool:
    return isinstance(left.oracle, Members) and isinstance(right.oracle, Members)


class _Automata:
    """The comparison of two automata."""

    def __init__(self, left: Semantics, right: Semantics) -> None:
        assert isinstance(left.oracle, Members)
        assert isinstance(right.oracle, Members)
        self.left, self.right = left.oracle.automaton, right.oracle.automaton
        self.lengths: list[EquivLength] = []
        self.word: Word | None = None
        self.told: str | None = "nothing was compared"

    def run(self) -> None:
        """Look at all that a word can lead to in both."""
        try:
            self.word, self.told = self.left.difference(self.right), None
        except Undecided as error:
            self.told = str(error)

    def verdict(self) -> tuple[Verdict, str]:
        """What it amounts to."""
        if self.told is not None:
            return Verdict.UNDECIDED, self.told
        if self.word is not None:
            return Verdict.REFUTED, f"they differ on a word of length {len(self.word)}, the shortest"
        states = " and ".join(count(len(one.moves)) for one in (self.left, self.right))
        return Verdict.PROVED, f"they are the same on every word of every length, by their automata of {states} states"


class _Words:
    """The comparison of two oracles on words, the shortest first."""

    def __init__(self, left: Semantics, right: Semantics, options: EquivOptions, report: Report | None) -> None:
        self.sides, self.options, self.report = (left, right), options, report
        self.alphabet = left.alphabet
        self.places = Numbering(left.alphabet)
        self.lengths: list[EquivLength] = []
        self.word: Word | None = None
        self.done = 0
        examples = dict.fromkeys(chain(left.examples, right.examples))
        longer = sorted((word for word in examples if len(word) > options.max_n), key=len)
        self.examples = tuple(examples)
        self.pinned = {n: tuple(words) for n, words in groupby(longer, len)}
        self.total = sum(map(self._planned, range(1, options.max_n + 1))) + len(longer)

    def run(self) -> None:
        """Try the words of one length after the other, until they differ."""
        for n in (*range(1, self.options.max_n + 1), *self.pinned):
            words = self._words(n)
            tried = accepted = 0
            left = iter(words)
            while self.word is None and (some := list(islice(left, max(1, min(BATCH, BATCH_SYMBOLS // n))))):
                one, other = (side.oracle.many(some) for side in self.sides)
                differing = [word for word, a, b in zip(some, one, other, strict=True) if a != b]
                with held():  # a length is noted whole
                    self.word = min(differing, key=self._order, default=None)
                    tried += len(some)
                    accepted += sum(a is True and b is True for a, b in zip(one, other, strict=True))
                    self._note(n, tried, accepted)
                if self.report is not None:
                    self.report(n, self.done + tried, max(self.total, self.done + tried))
            self.done += tried
            if self.word is not None:
                return

    def _note(self, n: int, tried: int, accepted: int) -> None:
        possible = count_words(len(self.alphabet), n)
        if self.lengths and self.lengths[-1].n == n:
            self.lengths.pop()
        self.lengths.append(EquivLength(n, tried, possible, tried == possible, accepted))

    def _effort(self, n: int) -> Effort:
        return effort_at(n, self.options.exhaustive, self.options.samples)

    def _planned(self, n: int) -> int:
        """At most how many words of a length are tried."""
        seeds = len(self.examples) + MEMBERS * len(self.sides)
        most = len(self.sides) * planned_count(len(self.alphabet), n, self._effort(n), seeds)
        return count_words_upto(len(self.alphabet), n, most)

    def _words(self, n: int) -> Iterable[Word]:
        """The words of a length that are tried, in order: all, or those chosen by either side."""
        if n in self.pinned:
            return self.pinned[n]
        chosen: set[Word] = set()
        for side in self.sides:
            seeds = chain.from_iterable(
                interesting(self.examples, one.oracle, n, self.options.seed) for one in self.sides
            )
            plan = plan_words(self.alphabet, n, self._effort(n), self.options.seed, _decided(side), seeds)
            if plan.exhaustive:
                return plan.words
            chosen |= {*plan.words}
        return sorted(chosen, key=self._order)

    def _order(self, word: Word) -> list[int]:
        return [self.places[symbol] for symbol in word]

    def verdict(self) -> tuple[Verdict, str]:
        """What it amounts to: a difference is the shortest where every shorter word was tried."""
        if self.word is not None:
            n = len(self.word)
            shorter = [length for length in self.lengths if length.n < n]
            every = len(shorter) == n - 1 and all(length.exhaustive for length in shorter)
            whole = "the shortest" if every else f"the shortest found: {_left_out(shorter, n)}"
            return Verdict.REFUTED, f"they differ on a word of length {n}, {whole}"
        if not self.lengths:
            return Verdict.UNDECIDED, "no word was tried"
        return Verdict.CERTIFIED, f"they are the same on {words_tried(self.lengths, self.options.max_n)}"


def _left_out(shorter: Sequence[EquivLength], n: int) -> str:
    """How far every word was tried, of the lengths below that of a difference."""
    whole = 0
    for length in shorter:
        if not length.exhaustive or length.n != whole + 1:
            break
        whole = length.n
    return f"every word was tried up to length {whole}" if whole else "of no length every word was tried"


def _decided(side: Semantics) -> Callable[[Word], bool]:
    """Whether a side accepts a word, for the choice of words alone."""
    return lambda word: side.oracle(word) is True
