"""The largest temperature at which softmax is still right, on a stated grid, over words made hard for it.

Rightness is not monotone in the temperature, so every grid temperature is tried, from the theorem's on upwards, until
one is wrong. Where not all words of a length are tried, words are made adversarial: from those with the least margin
(distance of a rounded value from its threshold, or of the output from its own) symbols are changed, and what has a
smaller margin is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.harden import with_softmax
from hardsim.checking.attention import Answer, AttentionSubject, settled
from hardsim.checking.attention_words import SoftJudge, batches
from hardsim.checking.neighbours import changed_once
from hardsim.checking.result import Word
from hardsim.net.model import Schedule, Transformer
from hardsim.run.ball import BallArithmetic
from hardsim.run.forward import Forward
from hardsim.run.plan import make_plan

STEP = Fraction(5, 4)
"""The grid: the first temperature times powers of 5/4."""
GRID = 48
KEPT = 4
ROUNDS = 3
TRIED = 12
"""Neighbours of each kept word that a round tries."""
LEAST_BITS, BIT_STEP, MOST_BITS = 8, 8, 4096


@dataclass(frozen=True, slots=True)
class Found:
    """The last temperature up to which all are right and the first wrong one (factors of the schedule), with a word
    that it gets wrong. Temperatures at which a word has no answer are neither."""

    right: Fraction | None
    wrong: Fraction | None
    word: Word | None


class Hunter:
    """Asks one subject at one length about many temperatures. `make` is the schedule for a factor."""

    def __init__(
        self,
        subject: AttentionSubject,
        hard: Transformer,
        make: Callable[[Fraction], Schedule],
        words: Sequence[Word],
        whole: bool,
        seed: int,
    ) -> None:
        self.subject = subject
        self.hard = hard
        self.make = make
        self.words = list(words)
        self.whole = whole
        self.exact = ExactModel(subject.hard)  # what is wanted is decided before ties were broken
        self.wanted: dict[Word, Answer] = {}
        self.stuck = False
        self.rng = Random(f"{seed}/{len(words[0])}/adversary")
        self._want(self.words)

    def search(self, start: Fraction) -> Found:
        """Try `start` and the grid above it."""
        right: Fraction | None = None
        self.stuck = False
        for power in range(GRID):
            factor = start * STEP**power
            word = self.wrong_word(factor)
            if word is not None:
                return Found(right, factor, word)
            right = right if self.stuck else factor
        return Found(right, None, None)

    def wrong_word(self, factor: Fraction) -> Word | None:
        """A word that softmax certainly answers wrongly at a temperature, if one is found; `stuck` says that some word
        had no answer at this or an earlier temperature."""
        judge = SoftJudge(self.subject, with_softmax(self.hard, self.make(factor)), self.hard, "auto")
        margins = self._margins(judge, self.words)
        if isinstance(margins, tuple):
            return margins
        return None if self.whole else self._attack(judge, margins)

    def _attack(self, judge: SoftJudge, margins: list[tuple[float, Word]]) -> Word | None:
        """Change symbols of the words with the least margins; the words kept stay for the next temperature."""
        known = {word for _, word in margins}
        best = sorted(margins)[:KEPT]
        for _ in range(ROUNDS):
            fresh: dict[Word, None] = {}
            for _, word in best:
                for _ in range(TRIED):
                    other = changed_once(word, self.subject.alphabet, self.rng)
                    if other not in known:
                        fresh[other] = None
            known.update(fresh)
            self._want(list(fresh))
            found = self._margins(judge, list(fresh))
            if isinstance(found, tuple):
                self.words.append(found)
                return found
            better = sorted([*best, *found])[:KEPT]
            if better == best:
                break
            best = better
        self.words.extend(word for _, word in best if word not in self.words)
        return None

    def _want(self, words: Sequence[Word]) -> None:
        """Ask exact hard attention about words of the length."""
        size = len(self.subject.prepared(self.words[0])) + self.hard.bos
        for some in batches([word for word in words if word not in self.wanted], size):
            trace = self.exact.run([self.subject.prepared(word) for word in some])
            self.wanted.update(zip(some, self.subject.hard_answers(self.exact, trace), strict=True))

    def _margins(self, judge: SoftJudge, words: Sequence[Word]) -> list[tuple[float, Word]] | Word:
        """About how safely softmax answers each word that it answers, or a word that it answers wrongly."""
        found: list[tuple[float, Word]] = []
        size = len(self.subject.prepared(self.words[0])) + self.hard.bos
        for some in batches(words, size):
            for word, answer, decided, margin in zip(some, *judge.answers(some), strict=True):
                if not decided or not settled(self.wanted[word]):
                    self.stuck = True
                elif answer != self.wanted[word]:
                    return word
                else:
                    found.append((margin, word))
        return found


def bits_needed(judge: SoftJudge, words: Sequence[Word]) -> int | None:
    """The least working precision, in steps of BIT_STEP bits, at which balls settle every answer; None if some answer
    is not settled with MOST_BITS."""
    plan = make_plan(judge.soft.model)
    bits = LEAST_BITS
    forward, arithmetic = _forward(judge, bits, plan)
    for word in words:
        prepared = judge.subject.prepared(word)
        while not _settles(judge, forward, arithmetic, prepared):
            if bits >= MOST_BITS:
                return None
            bits += BIT_STEP
            forward, arithmetic = _forward(judge, bits, plan)
    return bits


def _settles(judge: SoftJudge, forward: Forward[Any], arithmetic: BallArithmetic, word: Word) -> bool:
    """Whether a precision settles an answer."""
    with arithmetic.precision():
        return judge.is_settled(forward.run(word))


def _forward(judge: SoftJudge, bits: int, plan: Any) -> tuple[Forward[Any], BallArithmetic]:
    arithmetic = BallArithmetic(bits)
    return Forward(judge.soft.model, arithmetic, plan), arithmetic
