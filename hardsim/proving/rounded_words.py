"""Words on which rounding makes a network wrong (ours).

The least length at which that can happen is known (`sharpening.rounded_lengths`). Words that reach it are short words
made so long by symbols that are repeated: these change no sum, or are positions that a head looks for and that carry
the other value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from hardsim.campaign.engines import SoftEngine
from hardsim.hard.exact import ExactModel
from hardsim.network.transformer import SoftWeighting
from hardsim.sharpening.rounded_lengths import RoundedLimit, rounded_limit
from hardsim.targets.result import Word
from hardsim.targets.subject import Subject

MOST_SYMBOLS = 3
"""Greatest number of symbols that are repeated, and that stand before or after them: the first ones of the alphabet."""
MOST_RUN = 4
"""Greatest number of words of a length that are run in rationals, which is slow, where exponentials are rounded."""


def limit_of(subject: Subject) -> RoundedLimit | None:
    """Return the length from which on rounding makes the network of a subject wrong, as far as it is known."""
    return rounded_limit(subject.program, subject.budget) if subject.one_network else None


def wrong_when_rounded(subject: Subject, longest: int) -> Iterator[Word]:
    """Yield words of at most `longest` symbols that the network probably answers wrongly because of rounding, the
    shortest first. With rounded sums it certainly does, as hard attention does."""
    limit = limit_of(subject)
    if limit is None:
        return
    likely = _wrong_sums(subject) if limit.head is None else _wrong_exponentials(subject)
    # The sum of a padded word may have the wrong parity at the least length.
    for n in range(limit.n, min(limit.n + 2, longest) + 1):
        yield from likely(_padded(subject, n, 3 if limit.head is None else 2))


def _padded(subject: Subject, n: int, most: int) -> list[Word]:
    """Return words of length n that repeat up to `most` symbols, with up to two others at an end."""
    symbols = subject.alphabet[:MOST_SYMBOLS]
    begun = [word for size in (0, 1, 2) for word in product(symbols, repeat=size)]
    filled = [word for size in range(1, most + 1) for word in product(symbols, repeat=size)]
    words = []
    for base, repeated in product(begun, filled):
        if len(base) <= n:
            filling = (repeated * n)[: n - len(base)]
            words += [base + filling, filling + base]
    return list(dict.fromkeys(words))


def _wrong_sums(subject: Subject) -> Callable[[Sequence[Word]], Iterator[Word]]:
    """Return a filter of words of one length that hard attention with rounding answers wrongly."""

    def likely(words: Sequence[Word]) -> Iterator[Word]:
        # All at once, since this is many times as fast as the comparison of every answer.
        found = subject.hard_answers(subject.program, ExactModel(subject.program).run(words))
        expected = subject.answers(words) or found
        yield from (word for word, one, other in zip(words, found, expected, strict=True) if one != other)

    return likely


def _wrong_exponentials(subject: Subject) -> Callable[[Sequence[Word]], Iterator[Word]]:
    """Return a filter of words of one length that softmax without rounding answers wrongly, in float64. It is close to
    softmax with rounding; the words are run again with it."""
    plain = replace(subject.program, weighting=SoftWeighting.SOFTMAX)
    network = replace(subject.model, weighting=SoftWeighting.SOFTMAX)
    engine = SoftEngine(replace(subject, program=plain), network, plain).floats

    def likely(words: Sequence[Word]) -> Iterator[Word]:
        expected = subject.answers(words)
        if engine is None or expected is None:
            return
        found, _ = engine.decisions([subject.prepared(word) for word in words])
        wrong = [
            word for word, (known, one), other in zip(words, found, expected, strict=True) if known and one != other
        ]
        yield from wrong[:MOST_RUN]

    return likely
