"""Words after a proof: certified runs, compared with the statement that was proved for every word.

They make no proof stronger. They are run because a prover can be wrong: a word whose answer contradicts the proof would
reveal that. They are chosen by length so that they cost little beside the proof. The cost of a length is mostly that of
the tables that its words share, and for long words that of the attention of every position to every other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile

from hardsim.campaign.check import SHORT, CheckOptions, Deciding, words_of
from hardsim.campaign.engines import HardRunner, SoftEngine
from hardsim.campaign.result import Mismatch, Partial
from hardsim.campaign.words import enumerate_words
from hardsim.errors import Contradiction
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import SoftWeighting, Transformer
from hardsim.records import Natural, Record
from hardsim.targets.result import Answer, Word, plural
from hardsim.targets.subject import Subject

MOST = 1000
"""Most words that are run after one proof."""
WHOLE = 600
"""Most words, of all first lengths together, of which every word is run; they count among MOST."""
FIRST = 4
"""Number of first lengths that go before long ones."""
TABLES = 5_000
"""Most cost of the tables of all lengths: heads and layers times (length + SETUP), about a quarter of a second."""
SETUP = 18
PAIRS = 5_000_000
"""Most cost of the words of one long length: heads and layers times pairs of positions, about a quarter of a second
too."""
IN_BALLS = 256
"""Most symbols, over all lengths, of words that float64 leaves undecided and that are then run in balls."""
ALONE, LONGEST_ALONE = 64, 256
"""Cost of a word that no batch in float64 has, relative to one in a batch, and the most symbols of such words on
average."""
WHOLE_ALONE = 62
"""WHOLE for such words: those over two symbols to length 5. Each takes some milliseconds in rationals."""
COORDINATES = 16
"""Number of coordinates that cost as much as a head or layer. They count for a network with a temperature for each
length, all of whose coordinates are computed."""
SAMPLED = CheckOptions(exhaustive=0)
"""Options that choose the words of a length with too many: as `check` does."""


@dataclass(frozen=True, slots=True, repr=False)
class Confirmation(Record):
    """Words that were run after a proof, certified. No word contradicts the proof; otherwise there would be no
    result."""

    words: Natural = 0
    """Number of words run."""
    every_word_to: Natural = 0
    """Every word of the lengths from min_n to this one was run; 0: of no length."""
    longest: Natural = 0
    """Length of the longest word run; 0: no word was run."""
    undecided: Natural = 0
    """Number of these words without an answer, which neither confirm nor contradict the proof."""
    partial: Partial = False

    @property
    def summary(self) -> str:
        """A text: the number of words, their lengths, and the number without an answer."""
        every = f", every word asked for up to length {self.every_word_to}" if self.every_word_to else ""
        message = (
            f"{plural(self.words, 'word')} run{every}, the longest of length {self.longest}, {self.undecided} undecided"
        )
        return f"{message}{', interrupted' * self.partial}"


def first_lengths(size: int, min_n: int, max_n: int, most: int = WHOLE) -> list[int]:
    """Return the lengths from `min_n` on that have at most `most` words together over an alphabet of `size` symbols."""
    lengths = range(min_n, max_n + 1)
    totals = zip(lengths, accumulate(count_words(size, n) for n in lengths), strict=True)
    return [n for n, words in takewhile(lambda total: total[1] <= most, totals)]


def affordable(expected: Sequence[int], weight: int) -> list[int]:
    """Return, in ascending order, the first of the `expected` lengths and each later one that the remaining work
    limit still covers: `TABLES` for a network with `weight` heads and layers."""
    chosen: list[int] = []
    left = TABLES
    for n in dict.fromkeys(expected):
        cost = max(1, weight) * (n + SETUP)
        # A shorter length further on may still be affordable.
        if not chosen or cost <= left:
            chosen.append(n)
            left -= cost
    return sorted(chosen)


def confirm(
    subject: Subject,
    min_n: int,
    max_n: int,
    suggested: Sequence[Word] = (),
    *,
    networks: Mapping[int, Transformer] | None = None,
    every_length: bool = False,
    heads_only: bool = False,
) -> tuple[Confirmation, Mismatch | None]:
    """Run words of the lengths `min_n` to `max_n` after a proof about all of them: every word of the first lengths, the
    `suggested` words, and words chosen as by `check` of the last length and of some lengths between.

    Return the counts and a mismatch (or None). The network of a formula must answer as its semantics, or (`heads_only`)
    as hard attention; after a proof for `every_length` two longer lengths are tried too. For a program or model the
    `networks` that were proved are given by length; they must answer as hard attention, and the mismatch is the first
    word on which hard attention differs from the program. A KeyboardInterrupt ends the run early. Raises Contradiction
    with the word, if an answer contradicts the proof."""
    run = _Words(subject, networks, heads_only)
    whole = first_lengths(len(subject.alphabet), min_n, max_n, WHOLE_ALONE if run.alone else WHOLE)
    between = [2**power for power in range(max_n.bit_length()) if min_n < 2**power < max_n]
    if networks is not None:  # not every length between the first and the last need be proved
        whole = list(takewhile(networks.__contains__, whole))
        between = [n for n in between if n in networks]
    beyond = (max_n + 1, 2 * max_n) if every_length else ()
    own = [len(word) for word in suggested]
    # In order of importance: `affordable` takes lengths until the budget is spent.
    lengths = [*whole[:FIRST], *(() if whole else (min_n,)), max_n, *beyond, *own, *whole[FIRST:], *between]
    found = Confirmation()
    try:
        for n in affordable(lengths, run.weight):
            some = [word for word in suggested if len(word) == n]
            words = list(enumerate_words(subject.alphabet, n)) if n in whole else run.sample(n, some)
            # All words of the first lengths of a formula are within the budget by the choice of `whole`.
            if networks is not None or n not in whole:
                words = words[: min(MOST - found.words, run.room(n))]
            undecided = run.require(n, words) if words else 0
            every, longest = n if n in whole else found.every_word_to, n if words else found.longest
            found = Confirmation(found.words + len(words), every, longest, found.undecided + undecided)
    except KeyboardInterrupt:
        found = replace(found, partial=True)
    return found, run.wrong


class _Words:
    """The runs of words after a proof; `balls` is the number of symbols of undecided words that may still be run in
    balls."""

    def __init__(self, subject: Subject, networks: Mapping[int, Transformer] | None, heads_only: bool) -> None:
        self.subject, self.networks, self.heads_only = subject, networks, heads_only or networks is not None
        program = subject.program
        self.hard, self.accepts = HardRunner(subject), Deciding(subject)
        self.soft, wide = None, len(program.coordinates) // COORDINATES
        if networks is None:
            # One network for every length is set up once.
            wide, self.soft = 0, SoftEngine(subject, subject.model, program, budget=subject.budget)
        self.weight = (len(program.heads) + len(program.layers)) * (2 if heads_only else 1) + wide
        # Without float64 every word is run by itself.
        self.alone = subject.program.weighting is not SoftWeighting.SOFTMAX or subject.scoreless
        self.each, self.balls = (ALONE, MOST * LONGEST_ALONE) if self.alone else (1, IN_BALLS)
        self.wrong: Mismatch | None = None

    def room(self, n: int) -> int:
        """Return the number of words of length n that PAIRS covers."""
        positions = len(self.subject.prepared((self.subject.alphabet[0],) * n)) + self.subject.program.bos
        return PAIRS // (max(1, self.weight) * self.each * positions**2)

    def sample(self, n: int, suggested: Sequence[Word]) -> list[Word]:
        """Return words of length n: the `suggested` ones and words chosen as by `check`, with accepted ones among them
        where acceptance is quick to compute. The list is empty if no word is affordable."""
        if not self.room(n):
            return []
        soon = self.networks is None or (self.subject.oracle is not None and n <= SHORT)
        chosen = words_of(self.subject, SAMPLED, n, self.accepts if soon else lambda word: False)
        return list(dict.fromkeys([*suggested, *chosen.words]))

    def require(self, n: int, words: list[Word]) -> int:
        """Run the words of length n and return the number without an answer. Raises Contradiction with the word, if an
        answer contradicts the proof."""
        subject, undecided = self.subject, 0
        expected = self._expected(words)
        network = subject.model if self.networks is None else self.networks[n]
        soft = self.soft or SoftEngine(subject, network, subject.program)
        prepared = [subject.prepared(word) for word in words]
        found: Sequence[tuple[bool, Answer]] = [(False, None)] * len(words)
        if soft.floats is not None:  # networks with norms, and those that run in rationals, have none
            found, _ = soft.floats.decisions(prepared)
        for word, read, right, (decided, answer) in zip(words, prepared, expected, found, strict=True):
            # Balls are slow: only few undecided words are run again.
            if not decided and len(word) <= self.balls:
                self.balls -= len(word)
                decided, answer = soft.words.decision(read)
            undecided += not decided
            if decided and answer != right:
                raise Contradiction(self._text(word, right, answer, str(network.temperature)))
        return undecided

    def _expected(self, words: list[Word]) -> list[Answer]:
        """Return the answers that softmax must give, in the order of the words: those of the semantics, or of hard
        attention."""
        if not self.heads_only and (expected := self.subject.answers(words)) is not None:
            return expected
        answers = self.hard.answers(words)
        oracle = self.subject.oracle
        # A proof about a program compares softmax with hard attention only; hard attention may still differ from the
        # semantics.
        if self.networks is not None and oracle is not None and self.wrong is None:
            judged = ((word, oracle(word), answer) for word, answer in zip(words, answers, strict=True))
            self.wrong = next((Mismatch(word, right, own, own) for word, right, own in judged if right != own), None)
        return answers

    def _text(self, word: Word, right: Answer, answer: Answer, temperature: str) -> str:
        """Return the message for an answer that contradicts a proof, with everything that identifies the network."""
        expected, facts = "hard attention" if self.heads_only else "oracle", self.subject.facts
        how = f"temperature {temperature}"
        if facts.regime is not None:
            how = f"regime {facts.regime}, temperature {facts.temperature}, beta {facts.beta}, read at the {facts.at}"
            how += " position"
        return (
            f"{self.subject.name} was proved for words of length {len(word)}, but the word {' '.join(word)} "
            f"contradicts it: {expected}: {_answer_text(right)}; softmax: "
            f"{_answer_text(answer, self.subject.exact)} ({how})"
        )


def _answer_text(answer: Answer, exact: bool = False) -> str:
    """Return an answer as text: accept, reject or neither, or the outputs in order, ? for an uncertain one."""
    if isinstance(answer, tuple):
        return " ".join("?" if symbol is None else str(symbol) for symbol in answer) or "the empty word"
    neither = "neither 0 nor 1" if exact else "neither, exactly on the threshold"
    return {True: "accept", False: "reject", None: neither}[answer]
