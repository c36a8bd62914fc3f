"""The separation of words on which the reference or the program fails from words that can be judged.

One bad word must not hide the results of the others: a mismatch that was found stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hardsim.campaign.result import Evaluation
from hardsim.campaign.tally import MOST_FAILURES, Tally
from hardsim.targets.result import Word, WordError, apart

GO_ON = 2000
"""The number of words to try (in whole lengths) after the length at which the reference or the program failed."""
T = TypeVar("T")


def given_up(failed: int, after: int) -> bool:
    """Return True if a run ends before its next length: `failed` words have no answer, and `after` words of longer
    lengths were tried since. A run goes on after a failure, to find wrong words, but only briefly: without a wrong
    word, the user is waiting for the error."""
    return failed >= MOST_FAILURES or (failed > 0 and after >= GO_ON)


def evaluated_apart(
    words: Sequence[Word], answer: Callable[[Sequence[Word]], list[Evaluation]]
) -> tuple[list[Evaluation], tuple[WordError, ...]]:
    """Return the answers on words, and the words that have no answer, each with its error. Raises InputError with the
    first reason why a word has none, unless another word is a mismatch, which must not be lost."""
    parts, bad = apart(words, answer)
    found = [one for part in parts for one in part]
    if bad and all(one.mismatch is None for one in found):
        raise bad[0].error
    return found, tuple(bad)


def tallied(words: Sequence[Word], tally: Callable[[Sequence[Word]], Tally], order: Sequence[str]) -> Tally:
    """Return a tally of words of one length; words without an answer count as failed. `order` is the order of the
    symbols."""
    parts, bad = apart(words, tally)
    total = parts[0] if parts else Tally(len(words[0]))
    for part in parts[1:]:
        total.merge(part, order)
    # Failed words count as tried: `failed` says how many of the words have no answer.
    total.words += len(bad)
    total.failed += len(bad)
    total.failures = (*total.failures, *bad)[:MOST_FAILURES]
    return total
