"""Which words a hard-attention model or program is measured and tried on."""

from __future__ import annotations

from collections.abc import Iterable

from hardsim.ahat.exact import ExactModel
from hardsim.checking.attention import AttentionSubject
from hardsim.checking.campaign import CheckOptions, effort
from hardsim.checking.result import Word
from hardsim.checking.words import plan_length as plan_words
from hardsim.checking.words import planned_count
from hardsim.errors import InputError

MOST_SYMBOLS = 5 * 10**7
"""Of all words that a model or program is measured on: each takes eight bytes, and a word sixty more."""


def words_of(subject: AttentionSubject, options: CheckOptions, n: int) -> tuple[list[Word], bool]:
    """The words of one length that are tried, and whether they are all."""
    exact = ExactModel(subject.hard)

    def accepts(word: Word) -> bool:
        if not subject.acceptor:
            return False
        if subject.oracle is not None:
            return subject.oracle(word) is True
        return exact.verdict(exact.outputs(exact.run([subject.prepared(word)]))[0]) is True

    tried = effort(options, n)
    examples = tuple(word for word, _ in subject.examples)
    plan = plan_words(
        subject.alphabet, n, options.exhaustive, tried.samples, options.seed, accepts, examples, tried.structured,
        tried.pairs if subject.acceptor else 0,
    )  # fmt: skip
    return list(plan.words), plan.exhaustive


def words_by_length(
    subject: AttentionSubject, options: CheckOptions, lengths: Iterable[int]
) -> tuple[dict[int, list[Word]], dict[int, bool]]:
    """The words of these lengths that are tried, and whether they are all of the length.

    Raises:
        InputError: if they are too many to be held at once.
    """
    chosen = list(lengths)
    hold_affordable(subject, options, chosen)
    found = {n: words_of(subject, options, n) for n in chosen}
    return {n: words for n, (words, _) in found.items()}, {n: whole for n, (_, whole) in found.items()}


def hold_affordable(subject: AttentionSubject, options: CheckOptions, lengths: Iterable[int]) -> None:
    """Refuse a request that does not fit in memory: a model is measured on all words before the first is run.

    Raises:
        InputError: saying what fits.
    """
    symbols = 0
    for n in lengths:
        symbols += n * requested(subject, options, n)
        if symbols > MOST_SYMBOLS:
            raise InputError(
                f"{subject.name}: the words up to length {n:,} alone have more than {MOST_SYMBOLS:,} symbols, the most "
                "that is measured at once",
                hint="Give a smaller --max-n, --exhaustive or --samples.",
            )


def requested(subject: AttentionSubject, options: CheckOptions, n: int) -> int:
    """How many words of a length are tried at most."""
    tried = effort(options, n)
    seeds = sum(len(word) == n for word, _ in subject.examples)
    pairs = tried.pairs if subject.acceptor else 0
    return planned_count(len(subject.alphabet), n, options.exhaustive, tried.samples, seeds, tried.structured, pairs)
