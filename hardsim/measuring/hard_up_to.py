"""The largest temperature at which a weighting with a cutoff has exactly the weights of hard attention, at one length.

In a row with m largest scores and a gap below them, that is the case for sparsemax exactly up to the temperature m
times the gap (`run.sparsemax`), and with rounded exponentials up to the gap over the cutoff (an integer: the exact
bound is up to 1 nat less). The least such number of all rows is exact: it comes from exact hard attention, not from a
search. At higher temperatures some row has other weights, but answers may still be right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice

import numpy as np

from hardsim.campaign.engines import HardRunner, batches
from hardsim.campaign.result import Length
from hardsim.campaign.words import enumerate_words, sample_words
from hardsim.lang.arith import Arith
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import SoftWeighting
from hardsim.program.hard_attention import Program
from hardsim.records import Exact, Natural, Record
from hardsim.targets.result import Word
from hardsim.targets.subject import Subject

EVERY, SAMPLED, SEED = 4096, 256, 0
"""Most words of a length of which all are run, else the number of random words, and the seed of their choice."""


@dataclass(frozen=True, slots=True, repr=False)
class HardUpTo(Record):
    """The largest temperature of one length at which weights are known to be exact, and a row that decides it."""

    n: Length
    constant: Exact | None
    """Largest temperature as a multiple of the schedule; null where no row has two different scores."""
    temperature: Exact | None
    """Largest temperature; null without `constant`, and if the schedule depends on the position of the query."""
    words: Natural
    """Number of words that were run."""
    exhaustive: bool
    """True if these are all words of the length, so that no larger temperature is exact on every word, and every
    smaller one is."""
    proved: bool
    """True if every word of the length is proved right at this temperature."""
    word: Word | None
    """Word of the row."""
    head: str | None
    """Head of the row."""
    query: Natural | None
    """Position of its query."""


@dataclass(frozen=True, slots=True)
class _Least:
    """The least m gap over the schedule so far, and its row."""

    value: Fraction
    word: Word
    head: str
    query: int


def hard_up_to(
    subject: Subject, program: Program, schedule: Arith, n: int, proved: Callable[[Fraction], bool]
) -> HardUpTo:
    """Return the largest temperature of length n for the scores of a program, as a multiple of the schedule. `proved`
    returns True for a multiple at which every word is proved right."""
    size = count_words(len(subject.alphabet), n)
    words = list(islice(enumerate_words(subject.alphabet, n), EVERY)) if size <= EVERY else []
    words = words or sample_words(subject.alphabet, n, SAMPLED, SEED)
    runner, least = HardRunner(subject, program), None
    positions = subject.positions(n)
    for some in batches(words, positions):
        least = _least(runner, program, schedule, some, least)
    if least is None:
        return HardUpTo(n, None, None, len(words), len(words) == size, False, None, None, None)
    padded = positions - program.bos
    tau = None if "i" in schedule.variables else least.value * schedule.evaluate(n=padded)
    exhaustive = len(words) == size
    return HardUpTo(
        n, least.value, tau, len(words), exhaustive, proved(least.value), least.word, least.head, least.query
    )


def _least(
    runner: HardRunner, program: Program, schedule: Arith, words: Sequence[Word], least: _Least | None
) -> _Least | None:
    prepared = [runner.subject.prepared(word) for word in words]
    trace = runner.trace(prepared)
    n = len(prepared[0])
    for layer in trace.layers:
        for name, rows in layer.rows.items():
            reached = rows.maxima * rows.gap if program.weighting is SoftWeighting.SPARSEMAX else rows.gap
            for place, unit in enumerate(rows.units):
                column = reached[:, place]
                known = np.flatnonzero(rows.gap[:, place] >= 0)
                if not len(known):
                    continue
                worst = int(known[np.argmin(column[known])])
                query = place + program.first
                # The maxima are in the number already.
                value = Fraction(program.weighting.exact_up_to(1, Fraction(int(column[worst]), unit)))
                value /= schedule.evaluate(i=query, n=n)
                if least is None or value < least.value:
                    # Rows that are the same for all words are stored once.
                    least = _Least(value, words[worst], name, query)
    return least
