"""The comparison of two files (`equiv`): do both give the same answers, or does the second accept what the first one
accepts? At every length where both have an automaton, else on the words tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from operator import ne
from typing import Annotated

from hardsim.campaign.check import BATCH, BATCH_SYMBOLS, MEMBERS, CheckOptions, effort_at, interesting
from hardsim.campaign.interrupts import to_the_report, uninterrupted
from hardsim.campaign.result import (
    InputDigest,
    Length,
    Partial,
    Possible,
    Reach,
    Seed,
    Verdict,
    WordCounts,
    verdict_summary,
)
from hardsim.campaign.verdict import words_tried
from hardsim.campaign.words import Effort, count_words_upto, enumerate_words, plan_words, planned_count
from hardsim.errors import Contradiction, Undecided
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.diagrams import TooManySteps
from hardsim.lang.automata.of_formula import NoAutomaton, parts_of
from hardsim.lang.valuations import Numbering
from hardsim.lang.words import count_words, written_word
from hardsim.lazy_dataclass import dataclass
from hardsim.records import Natural, Record, one_of
from hardsim.targets.result import Answer, InputKind, InputName, Word, count
from hardsim.targets.semantics import Accepts, Semantics

CONFIRMED = 2_000
"""Number of shortest words on which the automaton of a formula is compared with the semantics of the formula."""
SAME, INCLUDED = "same", "included"
"""The relations that a comparison can ask for."""
LONGEST = 100
"""Greatest length of these words, which only an alphabet of one symbol reaches."""
Report = Callable[[int, int, int], None]
"""A callback with the current length, the number of words done, and the number of all words."""


@dataclass(frozen=True, slots=True, repr=False)
class EquivLength(WordCounts):
    """One length of a comparison, with the words tried."""

    n: Length
    words: Natural
    """Number of words tried."""
    possible: Possible
    exhaustive: bool
    accepted: Natural
    """Number of words that both files accept."""


@dataclass(frozen=True, slots=True, repr=False)
class EquivResult(Record):
    """Result of the comparison of two files. After an interruption it covers the words tried until then."""

    input: InputName
    sha256: InputDigest
    kind: InputKind
    other: InputName
    other_sha256: InputDigest
    other_kind: InputKind
    relation: Annotated[str, one_of(SAME, INCLUDED)]
    """The relation that was asked for. same: both files accept the same words. included: every word that the first file
    accepts is accepted by the other."""
    seed: Seed
    max_n: Length
    """Largest length of the words tried; two automata are compared at every length."""
    exhaustive_limit: Natural
    """Largest number of words of a length of which every word is tried."""
    samples: Natural | None
    """Random words per sampled length, for either file; null: 20 up to length 16, 4 beyond."""
    lengths: tuple[EquivLength, ...]
    """Results for the words tried, one for each length; empty where automata were compared."""
    verdict: Verdict
    """PROVED: the relation is true at every length. CERTIFIED: on the words tried. REFUTED: a word shows that it is
    false."""
    reach: Reach
    word: Word | None
    """Shortest word on which the relation fails, or the shortest found; null: no such word was found."""
    answer: Answer = None
    """Answer of the first file on that word; null without such a word."""
    other_answer: Answer = None
    """Answer of the other file on that word; null without such a word."""
    accepts_nothing: bool = False
    """True if automata show that the first file accepts no word and the relation is therefore true: a likely
    mistake."""
    partial: Partial = False

    @property
    def remark(self) -> str | None:
        """A remark on a result that is true because there are no words; None for other results."""
        if not self.accepts_nothing:
            return None
        if self.relation == INCLUDED:
            return f"{self.input} accepts no word, so every file includes it; is that meant?"
        return f"{self.input} and {self.other} are the same, but both accept no word; is that meant?"

    @property
    def summary(self) -> str:
        """The line that names the verdict, both inputs and the reach of the verdict."""
        return verdict_summary(self.verdict, f"{self.input}, {self.other}", self.reach, self.word)

    @property
    def same(self) -> bool:
        """True if no word was found on which the relation fails."""
        return self.word is None

    @property
    def proved(self) -> bool:
        """True if the relation is proved for every word of every length."""
        return self.verdict is Verdict.PROVED


def compare(
    left: Semantics, right: Semantics, options: CheckOptions, report: Report | None = None, included: bool = False
) -> EquivResult:
    """Compare the answers of two files, by automata or on the words that the options choose: are they the same, or, if
    `included`, does the second accept every word that the first one accepts? A KeyboardInterrupt ends the comparison
    with a result that is marked partial. Raises InputError if their alphabets are different sets."""
    right.require_alphabet(left.name, left.alphabet)
    right = right.over(left.alphabet)
    work: _Automata | _Parts | _Words
    try:
        work = _Automata(left, right, included)
    except NoAutomaton as error:
        work = _Words(left, right, options, report, str(error), included)
        if _follows(left, right) and (included or _follows(right, left)):
            work = _Parts(included)

    def result(partial: bool) -> EquivResult:
        verdict, reach = work.verdict()
        return EquivResult(
            input=left.name,
            sha256=left.sha256,
            kind=left.kind,
            other=right.name,
            other_sha256=right.sha256,
            other_kind=right.kind,
            relation=INCLUDED if included else SAME,
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
            accepts_nothing=verdict is Verdict.PROVED and isinstance(work, _Automata) and work.left.empty,
            partial=partial,
        )

    return to_the_report(work.run, result)


class _Automata:
    """The comparison of two automata, which covers every length."""

    def __init__(self, left: Semantics, right: Semantics, included: bool) -> None:
        """Make the automata. Raises NoAutomaton if one of the files has none."""
        self.sides, self.included = (left, right), included
        self.left, self.right = left.automaton, right.automaton
        self.lengths: list[EquivLength] = []
        self.word: Word | None = None
        self.reason: str | None = "nothing was compared"

    def run(self) -> None:
        """Look for a word on which the relation fails, among all pairs of states that a word can lead to. Raises
        Contradiction if an automaton and the semantics of its file answer a short word differently."""
        for side, automaton in zip(self.sides, (self.left, self.right), strict=True):
            confirm(side, automaton)
        try:
            search = self.left.excess if self.included else self.left.difference
            self.word, self.reason = search(self.right), None
        except Undecided as error:
            self.reason = str(error)

    def verdict(self) -> tuple[Verdict, str]:
        """Return the verdict and its reach."""
        if self.reason is not None:
            return Verdict.UNDECIDED, self.reason
        if self.word is not None:
            return Verdict.REFUTED, f"{_failure(self.included, self.word)}, the shortest"
        states = " and ".join(count(len(one.moves)) for one in (self.left, self.right))
        reach = f"every word of every length, by their automata of {states} states"
        return Verdict.PROVED, f"{_agreement(self.included)} {reach}"


class _Parts:
    """The comparison of two conjunctions whose automata are too large, part by part; it was decided before."""

    word: Word | None = None

    def __init__(self, included: bool) -> None:
        self.included = included
        self.lengths: list[EquivLength] = []

    def run(self) -> None:
        """Do nothing: there is no word to look for."""

    def verdict(self) -> tuple[Verdict, str]:
        """Return the verdict and its reach."""
        sides = "the other file follows from a part of the first"
        sides = sides if self.included else "either file follows from a part of the other"
        return Verdict.PROVED, (
            f"{_agreement(self.included)} every word of every length: each part of the conjunction of {sides}, by "
            "their automata"
        )


def _follows(premise: Semantics, conclusion: Semantics) -> bool:
    """Return True if automata show that each part of one conjunction includes some part of another, so that the first
    is true wherever the other is."""
    try:
        given, claimed = list(_parts(premise)), list(_parts(conclusion))
        return all(any(one.excess(part) is None for one in given) for part in claimed) and bool(claimed)
    except (Undecided, TooManySteps):  # a part has no automaton, or one that is too large
        return False


def _parts(side: Semantics) -> Iterator[Automaton]:
    """Yield the automata of the parts of a conjunction, each confirmed; yield nothing for other files, and for
    programs, whose own semantics could not be confirmed by parts. Raises NoAutomaton if a part has none."""
    if not isinstance(side.oracle, Accepts) or side.oracle.file.oracle is not None:
        return
    file = side.oracle.file
    operator, parts = parts_of(file.formula)
    files = [replace(file, formula=part) for part in parts if operator == "&"]
    alone = [replace(side, oracle=Accepts(one)) for one in files]
    automata = [one.automaton for one in alone]
    for one, automaton in zip(alone, automata, strict=True):
        confirm(one, automaton)
        yield automaton


class _Words:
    """The comparison of two oracles on words, the shortest first."""

    def __init__(
        self,
        left: Semantics,
        right: Semantics,
        options: CheckOptions,
        report: Report | None,
        reason: str,
        included: bool,
    ) -> None:
        self.reason, self.included = reason, included
        self.fails: Callable[[Answer, Answer], bool] = _not_included if included else ne
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
        """Try the words of one length after the other, up to the first one on which the relation fails."""
        for n in (*range(1, self.options.max_n + 1), *self.pinned):
            words = self._words(n)
            tried = accepted = 0
            left = iter(words)
            while self.word is None and (some := list(islice(left, max(1, min(BATCH, BATCH_SYMBOLS // n))))):
                one, other = (side.oracle.many(some) for side in self.sides)
                differing = [word for word, a, b in zip(some, one, other, strict=True) if self.fails(a, b)]
                with uninterrupted():  # a length is noted whole
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
        """Return the largest number of words of length n that may be tried."""
        seeds = len(self.examples) + MEMBERS * len(self.sides)
        most = len(self.sides) * planned_count(len(self.alphabet), n, self._effort(n), seeds)
        return count_words_upto(len(self.alphabet), n, most)

    def _words(self, n: int) -> Iterable[Word]:
        """Return the words of length n to try, in the order of the alphabet: all words, or those chosen for either
        file; of a length beyond `max_n`, the examples of the files."""
        if n in self.pinned:
            return self.pinned[n]
        chosen: set[Word] = set()
        # Each side chooses words by its own acceptance, so that both get accepted and rejected words.
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
        """Return the verdict and its reach. A word is called the shortest only if every shorter word was tried."""
        if self.word is not None:
            n = len(self.word)
            shorter = [length for length in self.lengths if length.n < n]
            every = len(shorter) == n - 1 and all(length.exhaustive for length in shorter)
            # The words tried are ordered by length, so only untried shorter words can make a difference not the
            # shortest.
            whole = "the shortest" if every else f"the shortest found: {_left_out(shorter, n)}"
            return Verdict.REFUTED, f"{_failure(self.included, self.word)}, {whole}"
        if not self.lengths:
            return Verdict.UNDECIDED, "no word was tried"
        tried = words_tried(self.lengths, self.options.max_n)
        if not any(length.accepted for length in self.lengths):
            # Agreement says little then, and is easily taken for more.
            tried = f"{tried}, of which {'the first' if self.included else 'each'} accepts none"
        return Verdict.CERTIFIED, f"{_agreement(self.included)} {tried}; longer words are open: {self.reason}"


def _not_included(one: Answer, other: Answer) -> bool:
    return one is True and other is not True


def _failure(included: bool, word: Word) -> str:
    """Return the beginning of a reach: how the relation fails on a word."""
    if included:
        return f"only the first accepts a word of length {len(word)}"
    return f"they differ on a word of length {len(word)}"


def _agreement(included: bool) -> str:
    """Return the beginning of a reach, before the words on which the relation is true."""
    return "the other accepts what the first accepts, on" if included else "they are the same on"


def confirm(side: Semantics, automaton: Automaton) -> None:
    """Compare an automaton with the semantics of its file, which shares no code with it, on the CONFIRMED shortest
    words. Raises Contradiction at the first difference."""
    words = chain.from_iterable(enumerate_words(side.alphabet, n) for n in range(1, LONGEST + 1))
    for _, some in groupby(islice(words, CONFIRMED), len):
        listed = list(some)
        for word, answer in zip(listed, side.oracle.many(listed), strict=True):
            if answer != automaton.accepts(word):
                raise Contradiction(
                    f"{side.name}: its automaton and its semantics differ on {written_word(word, side.alphabet)}"
                )


def _left_out(shorter: Sequence[EquivLength], n: int) -> str:
    """Return a text: the length up to which every word was tried, among the lengths below n."""
    whole = 0
    for length in shorter:
        if not length.exhaustive or length.n != whole + 1:
            break
        whole = length.n
    return f"every word was tried up to length {whole}" if whole else "no length was tried in full"


def _decided(side: Semantics) -> Callable[[Word], bool]:
    """Return the function that returns True if a side accepts a word, for the choice of words only."""
    return lambda word: side.oracle(word) is True
