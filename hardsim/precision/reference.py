"""References for words when a network is evaluated in a number format. A reference gives the expected answers: a
formula, a specification (on the words and at the positions that it judges), or the exact network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.evaluate import evaluate
from hardsim.campaign.words import LanguageWords, enumerate_words
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.export import Export, NetworkExport
from hardsim.proof.shared.result import NoProof
from hardsim.targets.expected import UNKNOWN, Ends, ExpectedOutputs, Judgement, by_position, unjudged
from hardsim.targets.external import External
from hardsim.targets.network_outputs import NetworkEngine
from hardsim.targets.result import AUTO, FLOAT64, Word

Named: TypeAlias = Literal["formula", "specification", "exact network"]
NAMES: Final[tuple[Named, ...]] = ("formula", "specification", "exact network")
JudgedWord: TypeAlias = tuple[Word, Any]
"""A judged word with its expected answer; UNKNOWN if the expected answer is not known."""
SAMPLES = 40
"""The number of random words of a language to try at each length."""


# ---- formulas, and exact networks ----


@dataclass
class Answers:
    """A formula, or else the exact network, as the reference, the source of the expected answers for words: it judges
    every word at each position that is read."""

    made: Export

    @property
    def name(self) -> Named:
        """The name of the reference in reports: the formula or the exact network."""
        return "exact network" if isinstance(self.made.source, NoProof) else "formula"

    def size(self, n: int) -> int:
        """Count the words of a length."""
        return count_words(len(self.made.alphabet), n)

    def words(self, n: int) -> Iterable[Word]:
        """Return all words of a length."""
        return enumerate_words(self.made.alphabet, n)

    def fitted(self, words: Iterable[Word], n: int, rng: Random) -> Iterator[Word]:
        """Yield the given words unchanged."""
        yield from words

    def judged(self, words: Sequence[Word]) -> list[JudgedWord]:
        """Return the words, of one length, each with its expected answer."""
        answers = ((word, answer) for word, answer in zip(words, self.made.answers(words, self._read), strict=True))
        return [(word, UNKNOWN if answer is None else answer) for word, answer in answers]

    def right(self, judged: Sequence[JudgedWord], low: Any, high: Any) -> list[bool]:
        """Return for each word True if all outputs between two bounds certainly give the expected answer. The bounds
        are arrays (words, tokens that are read, outputs)."""
        return [
            answer is not UNKNOWN and bool(self._read(least, most) == answer)
            for (_, answer), least, most in zip(judged, low, high, strict=True)
        ]

    def text_of(self, judged: JudgedWord, outputs: Any) -> tuple[str, str]:
        """Return the expected answer and the answer of wrong outputs, both as text."""
        return _text_of(judged[1]), _text_of(self._read(outputs, outputs))

    def exactly(self, judged: JudgedWord) -> bool:
        """Return True if the exact network answers a word wrongly. Only a formula can show that; without one, return
        False."""
        target = self.made.source
        if isinstance(target, NoProof):
            return False
        layers = self.made.layout.description["layers"]
        # Certified float64 covers neither norms and rounding nor other weightings.
        other = target.program.normed or any("rounding" in one or _weighted(one) for one in layers)
        (one,) = evaluate(target, [judged[0]], CheckOptions(engine=AUTO if other else FLOAT64))
        return one.decided and one.soft != one.hard

    def _read(self, low: Any, high: Any) -> Any:
        """Return the answers that outputs (tokens that are read, outputs) give where a word is judged; None if that
        is not certain."""
        message = self.made.layout.description
        start, stop = len(message["before"]), len(low) - len(message["after"])
        single = {"first": [start], "last": [len(low) - 1], "start": [0], "mean": [0]}
        places = single.get(message["at"], list(range(start, stop)))
        low, high, decide = low[places], high[places], message["decide"]
        rule = decide["rule"]
        if rule == "exact":
            # The network of a formula must give exactly 0 or 1 in the format, so an enclosure with two ends is
            # uncertain.
            return {1.0: True, 0.0: False}.get(float(low[0, 0])) if low[0, 0] == high[0, 0] else None
        if rule == "integer":
            # The integer is stored as its n-th part, so a position's output times n is rounded.
            ends = [(round(a * len(low)), round(b * len(low))) for a, b in zip(low[:, 0], high[:, 0], strict=True)
                    if np.isfinite(a) and np.isfinite(b)]  # fmt: skip
            certain = len(ends) == len(low) and all(a == b for a, b in ends)
            return tuple(a for a, _ in ends) if certain else None
        if rule == "argmax":
            names = [message["outputs"][k] for k in decide["among"]]
            return _largest(low[:, decide["among"]], high[:, decide["among"]], names)
        level = float(Fraction(decide["level"]))
        if rule == "value":
            return _Values(low, high, level)
        above, below = low > level, high < level
        symbols = self.made.symbols(above, below)
        if symbols is not None:
            return None if None in symbols else symbols
        if not (above | below).all():
            return None
        return bool(above[0, 0]) if above.size == 1 else tuple(map(tuple, above.tolist()))


def _weighted(layer: Mapping[str, Any]) -> bool:
    """Return True if a head of a layer has a weighting other than softmax."""
    return any("weighting" in head for head in layer["heads"])


def _largest(low: Any, high: Any, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the output that is certainly the largest, at each position; None if it is uncertain at one of them."""
    found = []
    for least, most in zip(low, high, strict=True):
        best = int(np.argmax(least)) if np.isfinite(least.astype(float)).all() else -1
        if best < 0 or any(most[k] >= least[best] for k in range(len(least)) if k != best):
            return None
        found.append(names[best])
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Values:
    """Numbers that count as right if they are within a tolerance of the exact numbers."""

    low: Any
    high: Any
    level: float

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Values):
            return False
        apart = np.maximum(self.high - other.low, other.high - self.low)
        return bool((apart <= self.level).all())

    def __str__(self) -> str:
        return ", ".join(f"{float(x):.6g}" for x in np.ravel(self.low))


def _text_of(answer: Any) -> str:
    if answer is None:
        return "no answer"
    if isinstance(answer, bool):
        return "accepted" if answer else "rejected"
    return " ".join(map(str, answer)) if isinstance(answer, tuple) else str(answer)


# ---- specifications ----


@dataclass
class Specified(Answers):
    """The specification of an external network as the reference, at the positions that it judges."""

    target: External

    @property
    def name(self) -> Named:
        """The name of the reference in reports."""
        return "specification"

    @cached_property
    def _engine(self) -> NetworkEngine:
        return NetworkEngine(self.target.network)

    def size(self, n: int) -> int:
        """Count the words of a length that may be judged."""
        return self.target.possible(n)

    def words(self, n: int) -> Iterable[Word]:
        """Return all words of a length that may be judged."""
        domain = self.target.domain
        return enumerate_words(self.made.alphabet, n) if domain is None else LanguageWords(domain, n, self.size(n))

    def fitted(self, words: Iterable[Word], n: int, rng: Random) -> Iterator[Word]:
        """Yield words of a length that may be judged, similar to the given words."""
        domain = self.target.domain
        if domain is None:
            yield from words
        elif self.size(n):
            yield from (domain.nearest_word(word, n, rng) for word in words)
            yield from domain.samples(n, SAMPLES, rng)

    def judged(self, words: Sequence[Word]) -> list[JudgedWord]:
        """Return the words (of one length) that are judged, each with its expected answer."""
        raws = self.target.answers(words) or []
        return [(word, raw) for word, raw in zip(words, raws, strict=True) if not unjudged(raw)]

    def right(self, judged_words: Sequence[JudgedWord], low: Any, high: Any) -> list[bool]:
        """Return for each word True if all outputs between two bounds are certainly right where they are judged. The
        bounds are arrays (words, tokens that are read, outputs)."""
        found = [False] * len(judged_words)
        # Answers by position and answers for a whole word are compared at different positions, so each kind has its
        # own batch.
        for listed in (False, True):
            chosen = [number for number, (_, raw) in enumerate(judged_words) if by_position(raw) is listed]
            if chosen:
                places, expected = self._expected([judged_words[number] for number in chosen], listed)
                judged = self._compared(low[chosen][:, places], high[chosen][:, places], expected)
                for number, right in zip(chosen, judged.right.tolist(), strict=True):
                    found[number] = right
        return found

    def text_of(self, judged: JudgedWord, outputs: Any) -> tuple[str, str]:
        """Return the expected answer and the answer of wrong outputs, at the first position where they differ."""
        raw, rule = judged[1], self.target.rule
        listed = by_position(raw)
        places, expected = self._expected([judged], listed)
        for number, (place, one) in enumerate(zip(places, raw if listed else [raw], strict=True)):
            row, here = outputs[place], slice(number, number + 1)
            part = ExpectedOutputs(expected.judged[:, here], expected.numbers[:, here])
            if not self._compared(row[None, None], row[None, None], part).right[0]:
                position = number + self.target.shortest
                where = f" at position {position}" if position else " before the first symbol"
                return f"{rule.text_of(one)}{where * listed}", rule.answer(row, row) or "no answer"
        return "nothing else", "that"

    def exactly(self, judged: JudgedWord) -> bool:
        """Return True if the exact network answers a word wrongly."""
        word, raw = judged
        places, expected = self._expected([judged], by_position(raw))
        # Float64 with error bounds settles most words; only the others need higher precision.
        ends = self._engine.enclosures([word], places)
        if ends is not None:
            found = self._compared(*ends, expected)
            if found.right[0] or found.wrong[0]:
                return bool(found.wrong[0])

        def settled(low: Ends, high: Ends) -> bool:
            compared = self._compared(low, high, expected)
            return bool(compared.right[0] or compared.wrong[0])

        alone = self._engine.alone(word, places, settled)
        return alone is not None and bool(self._compared(alone.low, alone.high, expected).wrong[0])

    def _expected(self, judged: Sequence[JudgedWord], listed: bool) -> tuple[list[int], ExpectedOutputs]:
        words, raws = [word for word, _ in judged], [raw for _, raw in judged]
        mean = self.target.network.readout.pooled == "mean"
        places = [0] if mean else list(self.target.places(len(words[0]), listed))
        return places, self.target.expected(words, raws, listed)

    def _compared(self, low: Any, high: Any, expected: ExpectedOutputs) -> Judgement:
        with np.errstate(all="ignore"):  # NaN and infinities of the format
            return self.target.rule.compare(low, high, expected)


def reference_of(made: Export) -> Answers:
    """Return the reference for a network's words: its formula or its specification if it has one, and else the exact
    network."""
    return Specified(made, made.target) if isinstance(made, NetworkExport) and made.target.searches else Answers(made)
