"""Words on which softmax cannot do what hard attention does, at any temperature: outputs that lie exactly on the
threshold, and leftmost or rightmost heads whose tied positions carry different values.

If a proof for every length fails, such a word explains why, where a short one is found. Words are run in exact
arithmetic. All words are tried while they are few, then words of longer lengths whose symbols are in order: a head
without positions in its scores and values reads the same from every order of the symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb

from hardsim.campaign.engines import HardRunner
from hardsim.campaign.preparation import prepare_words
from hardsim.campaign.result import HardUndecided, Tie, word_summary
from hardsim.campaign.words import enumerate_words
from hardsim.lang.valuations import Alphabet
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.shared.result import NoProof
from hardsim.targets.result import Word
from hardsim.targets.subject import SIDES, Subject

TRIED, IN_ORDER = 2_000, 3_000
"""Largest numbers of words tried, over all lengths together: first of all words of the short lengths, then of
words with their symbols in order."""
LONGEST = 24
"""Length of the longest of these words."""


@dataclass(frozen=True)
class Obstacles:
    """Results of running short words: the first word on which hard attention decides nothing, and the first tie of each
    head that has one."""

    undecided: HardUndecided | None = None
    ties: tuple[Tie, ...] = ()

    def reason(self, proof: str | None) -> str:
        """Return the reason why a model's own weights are not proved to simulate it. A tie whose positions carry
        different values comes first, then a word on the threshold, then the other ties; the last two stand beside the
        prover's reason (`proof`)."""
        differ = next((tie.reason for tie in self.ties if tie.reason), "")
        if differ:
            return f"{differ}; weights that break ties (Lemma 8) are added only where the words of a length are run"
        if self.undecided is not None:
            return "; ".join(filter(None, (self.undecided.summary, proof)))
        ties = (f"head {tie.head} ties from length {tie.n} on, as on `{word_summary(tie.word)}`" for tie in self.ties)
        return "; ".join(filter(None, [proof, *ties]))

    @property
    def advice(self) -> str:
        """The next step to try. If a word lies on the threshold, no shorter length and no other temperature helps."""
        if self.undecided is not None and self.undecided.threshold is not None:
            return "move the threshold, or add an offset to the output, so that no word lies on it"
        return "leave out --all-n; --max-n names the longest length"


def obstacles(subject: Subject) -> Obstacles:
    """Search short words of a hard-attention model for reasons why softmax cannot simulate it. Stop at the first
    length with a word that hard attention leaves undecided, or with a tie whose positions carry different values."""
    ties: tuple[Tie, ...] = ()
    for words in _searched(subject.alphabet):
        n = len(words[0])
        prepared, _, _ = prepare_words(subject, {n: words}, {n: False}, keep=False, tolerant=True)
        ties = merged_ties((ties, prepared.ties))
        undecided = None if prepared.undecided is None else hard_undecided(subject, prepared.undecided)
        if undecided is not None or any(tie.differ is not None for tie in ties):
            return Obstacles(undecided, ties)
    return Obstacles(None, ties)


def known_ties(subject: Subject) -> tuple[Tie, ...]:
    """Return the first tie, on short words, of each leftmost or rightmost head whose maximum is not known to be
    unique. The search stops at the first length with an undecided word or with a tie whose positions carry
    different values. Empty if there is no law or the subject is an S-RASP program. Used for a model that is
    proved from its weights."""
    law = subject.law
    # Programs are proved from their structure, not their weights.
    if isinstance(law, NoProof) or subject.constructed:
        return ()
    layers = [layer.heads for world in (law.one, law.more) for layer in world.layers]
    several = {
        head.name
        for head in subject.program.heads
        if head.weighting in SIDES
        and any(not row.unique for heads in layers if head.name in heads for row in heads[head.name].rows.values())
    }
    return tuple(tie for tie in obstacles(subject).ties if tie.head in several) if several else ()


def merged_ties(found: Iterable[Iterable[Tie]]) -> tuple[Tie, ...]:
    """Merge the ties found at several lengths, shortest first, into one per head: its first tie, with its first row
    whose tied positions carry different values."""
    kept: dict[str, Tie] = {}
    for tie in (tie for some in found for tie in some):
        known = kept.setdefault(tie.head, tie)
        if known.differ is None and tie.differ is not None:
            kept[tie.head] = replace(known, simulated=tie.simulated, differ=tie.differ)
    return tuple(kept.values())


def _searched(alphabet: Alphabet) -> Iterator[list[Word]]:
    """Yield the words of one length at a time, the shortest length first: all words while they are few, then those
    whose symbols are in order."""
    left, ordered, size = TRIED, IN_ORDER, len(alphabet)
    for n in range(1, LONGEST + 1):
        left -= count_words(size, n)
        if left >= 0:
            yield list(enumerate_words(alphabet, n))
            # Words in one order of the alphabet are multisets of symbols: there are C(n + size - 1, n) of them.
            continue
        ordered -= comb(n + size - 1, n)
        if ordered < 0:
            return
        yield list(combinations_with_replacement(tuple(alphabet), n))


def hard_undecided(subject: Subject, word: Word) -> HardUndecided | None:
    """Return the first output of a word that decides nothing. Return None if every output decides, or if the cause is
    that the outputs of a position name no symbol, or several."""
    program, prepared = subject.program, subject.prepared(word)
    trace = HardRunner(subject).trace([prepared])
    n, place = trace.n, program.reading_index(trace.n)
    places = range(1 - program.first, n + 1 - program.first) if program.maps else [place]
    threshold = None if program.integers else subject.threshold if program.maps else program.threshold
    for place in places:
        for name in program.answers:
            value = Fraction(trace.columns[name].at(0, place))
            if threshold is not None:
                decides = value != threshold
            else:
                # Without a threshold an integer is stored as its n-th part, a truth value as 0 or 1.
                decides = (value * n).denominator == 1 if program.integers else value in (0, 1)
            if not decides:
                level = None if threshold is None else Fraction(threshold)
                heads = program.last_heads(name)
                return HardUndecided(tuple(word), place + program.first, name, value, level, program.maps, heads)
    return None
