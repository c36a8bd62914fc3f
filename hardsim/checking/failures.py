"""Words on which the reference or the program fails, kept apart from those that can be judged.

One bad word must not hide what is known of the others: a mismatch that was found stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hardsim.checking.result import Evaluation, Word, WordError
from hardsim.checking.tally import MOST_FAILURES, Tally
from hardsim.errors import InputError

GO_ON = 2000
"""Words that are tried, in whole lengths, after the length at which the reference or the program failed on a word."""
T = TypeVar("T")


def given_up(failed: int, after: int) -> bool:
    """Whether a run ends before its next length: `failed` words have no answer, and `after` words of longer lengths
    were tried since. A run goes on after a failure to see whether other words are wrong, but not for long: whoever
    asked waits for the error if none is."""
    return failed >= MOST_FAILURES or (failed > 0 and after >= GO_ON)


def apart(words: Sequence[Word], answer: Callable[[Sequence[Word]], T]) -> tuple[list[T], list[WordError]]:
    """What is answered on words of one length, in parts, and the words that have no answer.

    All words are asked about together. If that fails the words are halved until the bad ones stand alone, so that the
    parts that are answered stay large.
    """
    try:
        return [answer(words)], []
    except InputError as error:
        if len(words) == 1:
            return [], [WordError.of(words[0], error)]
    middle = len(words) // 2
    first, bad = apart(words[:middle], answer)
    second, worse = apart(words[middle:], answer)
    return first + second, bad + worse


def evaluated_apart(
    words: Sequence[Word], answer: Callable[[Sequence[Word]], list[Evaluation]]
) -> tuple[list[Evaluation], tuple[WordError, ...]]:
    """The answers on words, and the words that have none.

    Raises:
        InputError: the first reason why a word has none, unless another word is a mismatch, which must not be lost.
    """
    parts, bad = apart(words, answer)
    found = [one for part in parts for one in part]
    if bad and all(one.mismatch is None for one in found):
        raise bad[0].error
    return found, tuple(bad)


def tallied(words: Sequence[Word], tally: Callable[[Sequence[Word]], Tally], order: Sequence[str]) -> Tally:
    """A tally of words of one length; the words that have no answer count as failed. `order` is that of the symbols."""
    parts, bad = apart(words, tally)
    total = parts[0] if parts else Tally(len(words[0]))
    for part in parts[1:]:
        total.merge(part, order)
    total.words += len(bad)
    total.failed += len(bad)
    total.failures = (*total.failures, *bad)[:MOST_FAILURES]
    return total
