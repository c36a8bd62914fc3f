"""Words that a check is given in place of words of its own choice, and the accuracy of a network on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from hardsim.campaign.confidence import CONFIDENCE, lower_bound
from hardsim.campaign.result import Accuracy
from hardsim.campaign.tally import MOST_WRONG, UNDECIDED, UNJUDGED, WRONG, Tally
from hardsim.errors import InvariantError
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.shared.result import NoProof
from hardsim.targets.result import Word

Unit: TypeAlias = Literal["chosen", "row", "draw"]
CHOSEN: Unit = "chosen"
ROW: Unit = "row"
DRAW: Unit = "draw"
GIVEN = NoProof("only the given words are run, and a proof is about all words")


@dataclass(frozen=True)
class GivenWords:
    """The only words that a check tries: chosen by the caller, rows of labelled data, or independent draws of a
    distribution. Rows and draws may repeat; a repeated word is run once, and counts as often as it is given."""

    by_length: Mapping[int, tuple[Word, ...]]
    """The words by length, each once, in the order in which they are given."""
    times: Mapping[Word, int]
    """The number of times that each word is given."""
    unit: Unit = CHOSEN
    distribution: str = ""
    """The distribution of draws, as text."""

    @staticmethod
    def of(words: Iterable[Word], unit: Unit = CHOSEN, distribution: str = "") -> GivenWords:
        """Return given words, by length."""
        times, by_length = Counter(words), dict[int, list[Word]]()
        for word in times:  # in the order of their first occurrences
            by_length.setdefault(len(word), []).append(word)
        return GivenWords({n: tuple(by_length[n]) for n in sorted(by_length)}, times, unit, distribution)

    @property
    def longest(self) -> int:
        """The length of the longest word, at least 1."""
        return max(1, *self.by_length)


def accuracy_of(given: GivenWords, tallies: Sequence[Tally], seed: int, certified: bool) -> Accuracy | None:
    """Return how many of the rows or draws are right; None for words that the caller chose. `tallies` are of all of
    them. `certified`: the answers are rigorous; only then do draws get the Clopper-Pearson bound.

    Draws without an expected answer are left out of the bound: whether a word has one does not depend on the network,
    so the others are independent draws among the words that have one."""
    if given.unit == CHOSEN:
        return None
    total = sum(given.times.values())
    if sum(tally.words for tally in tallies) != len(given.times):
        raise InvariantError("not every given word was run once")
    wrong, undecided, unjudged = (
        sum(given.times[word] for tally in tallies for word in tally.outcomes.get(outcome, ()))
        for outcome in (WRONG, UNDECIDED, UNJUDGED)
    )
    right, judged = total - wrong - undecided - unjudged, total - unjudged
    drawn = given.unit == DRAW
    return Accuracy(
        unit=given.unit,
        total=total,
        distinct=len(given.times),
        right=right,
        wrong=wrong,
        undecided=undecided,
        unjudged=unjudged,
        wrong_words=tuple(one for tally in tallies for one in tally.wrong_words)[:MOST_WRONG],
        distribution=given.distribution if drawn else None,
        seed=seed if drawn else None,
        at_least=lower_bound(right, judged) if drawn and certified and judged else None,
        confidence=CONFIDENCE if drawn and certified and judged else None,
    )
