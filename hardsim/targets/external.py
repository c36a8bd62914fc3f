"""The check of external networks against their expected outputs: certified float64 on whole batches, and balls for the
words that float64 cannot decide.

An external network has no hard attention and no semantics of its own. Its expected outputs come from a reference: a
specification, the semantics of a file, or a function. To judge a word is to compare the outputs of the network, which
are known between two ends, with the expected outputs (`expected.Rule`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import inf
from typing import Any

import numpy as np

from hardsim.campaign.engines import FLOAT_DIGITS, MARGIN
from hardsim.campaign.failures import apart, tallied
from hardsim.campaign.result import (
    AUTO,
    BALL,
    FLOAT64,
    MPMATH,
    Answer,
    Evaluation,
    Mismatch,
    ModelFacts,
    NoOutput,
    OutputEnds,
    PlaceOutputs,
    Word,
)
from hardsim.campaign.tally import Extreme, Tally, extreme, first_of
from hardsim.campaign.words import count_words
from hardsim.errors import InputError, OutOfRange, Undecided
from hardsim.lang.regex.automaton import Automaton
from hardsim.lang.words import shown_word
from hardsim.network.dense import Network, Token
from hardsim.run.dense_exact import DenseBalls, DenseForward
from hardsim.run.dense_float import DenseFloat
from hardsim.run.float_trust import distrust
from hardsim.run.mp import MpArithmetic
from hardsim.run.soft import LOG_2, bounds
from hardsim.targets.base import Target
from hardsim.targets.expected import Ends, ExpectedOutputs, Judged, Rule, by_position, require_positions, unjudged

CELLS = 2**20
"""Most numbers (outputs at all positions of some words) that are compared with the expected outputs at once."""
DIGITS_OF_MPMATH = 50
"""Decimal digits of mpmath where no option sets them."""


@dataclass(frozen=True, kw_only=True)
class External(Target):
    """An external network with its reference, if it has one."""

    kind = "network"

    network: Network
    named: bool = True
    """True if its tokens have names; without names they are called by their ids."""
    accepts: bool = False
    """True if the expected output of a word is that it is accepted, or that it is not."""
    domain: Automaton | None = None
    """The regular language of the words that have expected outputs; None: any word may have them."""
    prefixes: bool = False
    """True if the expected output at a position is about the prefix that ends there, and the outputs there depend only
    on that prefix. A word is then judged at its end, since its prefixes are words of their own."""
    shortest: int = 1
    """Length of the shortest words that are judged, 0 or 1: 0 where the tokens before the first symbol are judged too.
    """

    mean: str | None = None
    """Name of the mean in a reference program that the network's number is compared with, in place of the program's
    output. None: the output."""

    @property
    def reference_text(self) -> str:
        """The words of a verdict that name the reference. A mean in place of the program's output is named too."""
        level = self.network.readout.level
        return super().reference_text + ("" if self.mean is None else f", its mean {self.mean}, to within {level}")

    @property
    def acceptor(self) -> bool:
        """True if the expected output of a word is a truth value."""
        return self.accepts

    @property
    def one_network(self) -> bool:
        """True: an external network serves every length."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """The size of the network: numbers of layers, heads, coordinates and parameters."""
        network = self.network
        return ModelFacts(
            layers=len(network.layers),
            heads=len(network.heads),
            dimension=network.dimension,
            parameters=network.parameters,
            temperature="1",
            at=network.readout.at,
            bos=bool(network.readout.before),
        )

    def positions(self, n: int) -> int:
        """Return the number of tokens that are read for a word of n symbols."""
        return self.network.readout.length(n)

    @cached_property
    def rule(self) -> Rule:
        """The comparison of the network's outputs with the expected ones."""
        return Rule(self.network.outputs, self.network.readout)

    def judged(self, words: Sequence[Word]) -> Sequence[Word]:
        """Return the words, of one length, that have expected outputs; with a `domain`, all words given."""
        if self.domain is not None or not words:
            return words
        # Words on which the reference fails stay: judging them reports the failure.
        parts, _ = apart(words, lambda some: list(zip(some, self.oracles(some) or [], strict=True)))
        left = {word for part in parts for word, raw in part if unjudged(raw)}
        return [word for word in words if word not in left]

    def positions_of(self, n: int, raw: Any) -> tuple[int, int]:
        """Return two numbers of positions of a word of n symbols: those that the expected output `raw` judges, and
        those that it leaves open. A single value judges one of the symbols at which the network is read, None judges
        none. If prefixes are words of their own, there is one position."""
        if by_position(raw):
            judged = sum(one is not None for one in raw)
            return judged, len(raw) - judged
        each = self.network.readout.at == "each" and not self.prefixes
        judged = int(raw is not None)
        return judged, (n + 1 - self.shortest if each else 1) - judged

    def places(self, n: int, listed: bool) -> Sequence[int]:
        """Return the positions, from 0 among all tokens that are read, where a word of n symbols is judged. With a list
        by position (`listed`): every symbol, and where the empty word is judged the position before the first.
        Otherwise: where the network is read, or the last symbol if it is read at each."""
        readout = self.network.readout
        start = len(readout.before)
        if listed:
            return range(start - (self.shortest == 0), start + n)
        return readout.places(n) if readout.at != "each" else range(start + n - 1, start + n)

    @cached_property
    def _possible(self) -> list[int]:
        """The numbers of words in the domain by length, from length 0 on, as far as they were counted."""
        return [1]

    def possible(self, n: int) -> int:
        """Return the number of words of length n that may have expected outputs: without a domain all, and 1 for the
        empty word."""
        if self.domain is None or n == 0:
            return count_words(len(self.alphabet), n)
        known = self._possible
        if n >= len(known):
            known[1:] = islice(self.domain.counts(), 2 * n)
        return known[n]

    def expected(self, words: Sequence[Word], raws: Sequence[Any], listed: bool) -> ExpectedOutputs:
        """Return the expected outputs of words at the positions where they are judged.

        Raises:
            InputError: with the word, if a value cannot be an expected output.
        """
        places: list[list[tuple[Judged, Sequence[Fraction]]]] = []
        for word, raw in zip(words, raws, strict=True):
            if listed:
                require_positions(raw, word, self.shortest)
            try:
                places.append([self.rule.place(one) for one in (raw if listed else [raw])])
            except InputError as error:
                message = f"on the word {shown_word(word, self.alphabet)}: {error.message}"
                raise InputError(message, error.hint) from None
        return ExpectedOutputs.at(places)

    def require_lengths(self, max_n: int) -> None:
        """Require that the table of positions has room for words of length `max_n`.

        Raises:
            OutOfRange: if it has not.
        """
        longest = self.network.longest
        if longest is not None and max_n > longest:
            most = max(longest, 0)
            message = f"{self.name}: the table of positions ends: words have at most {most} symbols, not {max_n}"
            raise OutOfRange(
                message,
                f"Give --max-n {longest} or less."
                if longest > 0
                else "Give the network fewer tokens beside the words.",
            )


@dataclass(frozen=True)
class OutputBounds:
    """Lower and upper bounds of the outputs of one word, as arrays (1, positions, outputs), with the arithmetic that
    found them and its decimal digits."""

    low: Ends
    high: Ends
    engine: str
    digits: int


class NetworkEngine:
    """The outputs of a network, in the arithmetic of an `--engine`."""

    def __init__(self, subject: External, engine: str = AUTO, dps: int | None = None) -> None:
        self.subject, self.engine = subject, engine
        network = subject.network
        self.floats = DenseFloat(network) if engine in (AUTO, FLOAT64) else None
        self.digits = dps or DIGITS_OF_MPMATH
        self.observed = DenseForward(network, MpArithmetic(self.digits)) if engine == MPMATH else None
        self.exact = DenseBalls(network, least=0 if dps is None else int(dps / LOG_2) + 1)

    def enclosures(self, words: Sequence[Word], places: Sequence[int]) -> tuple[Ends, Ends] | None:
        """Return float64 lower and upper bounds of the outputs on words of one length, as arrays (words, positions,
        outputs), infinite where float64 gives no information. Return None where float64 is not requested, or not to be
        trusted in this process.

        Raises:
            Undecided: if the engine is float64, and that is not to be trusted.
        """
        if self.floats is None or (reason := distrust()) is not None:
            if self.engine == FLOAT64 and reason is not None:
                raise Undecided(reason)
            return None
        tokens = np.array([self.subject.network.read(word) for word in words], dtype=np.int64)
        with np.errstate(all="ignore"):
            mid, rad = self.floats.run(len(words[0]), tokens, places)
            known = np.isfinite(mid) & np.isfinite(rad)
            near = rad == 0
            low = np.where(near, mid, np.nextafter(mid - rad, -inf))
            high = np.where(near, mid, np.nextafter(mid + rad, inf))
        # An overflow or NaN gives no information: the whole line.
        return np.where(known, low, -inf), np.where(known, high, inf)

    def alone(self, word: Word, places: Sequence[int], settled: Callable[[Ends, Ends], bool]) -> OutputBounds | None:
        """Return bounds of the outputs of one word in rational numbers, from balls with as many bits as make `settled`
        true, or from mpmath, whatever `settled` says. Return None if no number of bits does, or mpmath fails."""
        tokens = self.subject.network.read(word)
        if self.observed is not None:
            try:
                low, high = _ends(self.observed.run(len(word), tokens, places))
            except (Undecided, ZeroDivisionError):  # a norm of zeros with epsilon 0
                return None
            return OutputBounds(low, high, MPMATH, self.digits)
        try:
            rows, bits = self.exact.run(len(word), tokens, places, lambda rows: _settled(rows, settled))
        except Undecided:
            return None
        return OutputBounds(*_ends(rows), BALL, int(bits * LOG_2))


def unbounded(places: int, outputs: int) -> OutputBounds:
    """Return bounds of one word's outputs that allow every number: from -inf to inf, (1, places, outputs)."""
    high = np.full((1, places, outputs), inf)
    return OutputBounds(-high, high, FLOAT64, 0)


def ended(raw: Any) -> Any:
    """Return the expected output at the end of a word: the last entry of a list by position, or the single value
    itself."""
    return raw[-1] if by_position(raw) else raw


def _settled(rows: Sequence[Sequence[Any]], settled: Callable[[Ends, Ends], bool]) -> bool:
    try:
        return settled(*_ends(rows))
    except Undecided:  # something has no bounds yet
        return False


def _ends(rows: Sequence[Sequence[Any]]) -> tuple[Ends, Ends]:
    """Return rational lower and upper bounds, (1, positions, outputs)."""
    low = np.empty((1, len(rows), len(rows[0])), dtype=object)
    high = low.copy()
    for place, row in enumerate(rows):
        for index, value in enumerate(row):
            low[0, place, index], high[0, place, index] = bounds(value)
    return low, high


class NetworkJudge:
    """The judge of an external network: it compares the outputs on words with the expected ones, and tallies the
    results."""

    def __init__(self, subject: External, dps: int | None = None, engine: str = AUTO) -> None:
        self.subject, self.rule = subject, subject.rule
        self.engine = NetworkEngine(subject, engine, dps)

    def tally(self, words: Sequence[Word]) -> Tally:
        """Return the tally of words of one length."""
        return tallied(words, self._tally, self.subject.alphabet)

    def _tally(self, words: Sequence[Word]) -> Tally:
        raws, order = self._raws(words), self.subject.alphabet
        if self.subject.prefixes:
            raws = [ended(raw) for raw in raws]
        total = Tally(len(words[0]))
        for listed in (False, True):
            chosen = [place for place, raw in enumerate(raws) if not unjudged(raw) and by_position(raw) is listed]
            size = self._size(len(words[0]) if listed else 0)
            for start in range(0, len(chosen), size):
                part = chosen[start : start + size]
                found, _ = self._judged([words[place] for place in part], [raws[place] for place in part], listed)
                total.merge(found, order)
        # Until here `words` counts only the judged ones.
        total.unjudged = len(words) - total.words
        total.words = len(words)
        for raw in raws:
            if unjudged(raw):  # the judged ones are counted where they are judged
                total.positions_unjudged += sum(self.subject.positions_of(len(words[0]), raw))
        return total

    def _raws(self, words: Sequence[Word]) -> list[Any]:
        return self.subject.oracles(words) or [None] * len(words)

    def searched(self, words: Sequence[Word]) -> tuple[Tally, list[float], list[tuple[Word, float]]]:
        """Return the results for words that are all judged: a tally, for each word a lower bound of its margin, and for
        each word the prefix (or the word itself) of least margin.

        If prefixes are words of their own, every prefix is judged too: a wrong prefix is a mismatch, even if the whole
        word is right. A word on which the reference fails has an infinite margin.
        """
        known: dict[Word, tuple[float, tuple[Word, float]]] = {word: (inf, (word, inf)) for word in words}

        def tally(some: Sequence[Word]) -> Tally:
            total, margins, least = self._searched(some)
            known.update(zip(some, zip(margins, least, strict=True), strict=True))
            return total

        total = tallied(words, tally, self.subject.alphabet)
        return total, [known[word][0] for word in words], [known[word][1] for word in words]

    def _searched(self, words: Sequence[Word]) -> tuple[Tally, list[float], list[tuple[Word, float]]]:
        raws, total, subject = self._raws(words), Tally(len(words[0])), self.subject
        margins = [inf] * len(words)
        least: list[tuple[Word, float]] = []
        for start in range(0, len(words), self._size(len(words[0]))):
            some = slice(start, start + self._size(len(words[0])))
            if subject.prefixes:
                ends = self.engine.enclosures(words[some], subject.places(len(words[0]), True))
                last = None if ends is None else (ends[0][:, -1:], ends[1][:, -1:])
                part, margins[some] = self._judged(words[some], [ended(raw) for raw in raws[some]], False, last)
                least += self._prefixes(part, margins[some], words[some], raws[some], ends)
                total.merge(part, subject.alphabet)
                continue
            for listed in (False, True):  # a reference may give lists for some words and single values for others
                chosen = [place for place in range(len(words))[some] if by_position(raws[place]) is listed]
                if chosen:
                    part, low = self._judged([words[i] for i in chosen], [raws[i] for i in chosen], listed)
                    total.merge(part, subject.alphabet)
                    for place, margin in zip(chosen, low, strict=True):
                        margins[place] = margin
            least += zip(words[some], margins[some], strict=True)
        return total, margins, least

    def _size(self, places: int) -> int:
        """Return the number of words that are judged at once, with this many positions each."""
        return max(1, CELLS // (len(self.rule.outputs) * (places + 1)))

    def _prefixes(
        self,
        tally: Tally,
        margins: Sequence[float],
        words: Sequence[Word],
        raws: Sequence[Any],
        ends: tuple[Ends, Ends] | None,
    ) -> list[tuple[Word, float]]:
        """Add the first wrong prefix to the tally, as a mismatch: it is not a word of this length, and not counted as
        one. Return for each word the prefix, or the word itself, of least margin."""
        subject, before, whole = self.subject, [raw[:-1] for raw in raws], list(zip(words, margins, strict=True))
        if ends is None or not before[0]:
            return whole
        low, high = ends
        shape = (-1, 1, low.shape[2])
        expected = subject.expected([word[:-1] for word in words], before, True)
        flat = ExpectedOutputs(expected.judged.reshape(shape), expected.numbers.reshape(shape))
        found = self.rule.compare(low[:, :-1].reshape(shape), high[:, :-1].reshape(shape), flat)
        least = found.low.reshape(len(words), -1)
        wrong = found.wrong.reshape(len(words), -1)
        for place in np.flatnonzero(wrong.any(axis=1)).tolist():
            first = int(np.flatnonzero(wrong[place])[0])
            prefix = words[place][: first + subject.shortest]
            part = OutputBounds(
                low[[place], first : first + 1], high[[place], first : first + 1], FLOAT64, FLOAT_DIGITS
            )
            one = self._mismatch(prefix, raws[place][first], part, False)
            tally.mismatch = first_of(tally.mismatch, one, subject.alphabet)
        firsts = least.argmin(axis=1)
        prefixes = [
            (word[: int(first) + subject.shortest], float(row[first]))
            for word, row, first in zip(words, least, firsts, strict=True)
        ]
        return [min(pair, key=lambda one: one[1]) for pair in zip(whole, prefixes, strict=True)]

    def _judged(
        self, words: Sequence[Word], raws: Sequence[Any], listed: bool, ends: tuple[Ends, Ends] | None = None
    ) -> tuple[Tally, list[float]]:
        """Return the tally of words that are all judged, and a lower bound of each word's margin (of no meaning where
        the word stays undecided); `ends` are the lower and upper bounds of their outputs, None if they are not known
        yet."""
        subject, order = self.subject, self.subject.alphabet
        places = subject.places(len(words[0]), listed)
        expected = subject.expected(words, raws, listed)
        tally = Tally(len(words[0]), len(words))
        for raw in raws:
            known, open_ = subject.positions_of(len(words[0]), raw)
            tally.positions_judged += known
            tally.positions_unjudged += open_
        left: Sequence[int] = range(len(words))
        ends = ends or self.engine.enclosures(words, places)
        margins = [-inf] * len(words)
        if ends is not None:
            found = self.rule.compare(*ends, expected)
            margins = found.low.tolist()
            sure = found.right | found.wrong
            tally.digits = FLOAT_DIGITS
            least = extreme(1, (found.low, found.high), words, sure & np.isfinite(found.low))
            if least is not None:
                tally.extremes[MARGIN] = least
            tally.soft_mismatches = int(found.wrong.sum())
            for place in np.flatnonzero(found.wrong).tolist():
                part = OutputBounds(ends[0][[place]], ends[1][[place]], FLOAT64, FLOAT_DIGITS)
                one = self._mismatch(words[place], raws[place], part, listed)
                tally.mismatch = first_of(tally.mismatch, one, order)
            left = np.flatnonzero(~sure).tolist()
        # With --engine float64 no other arithmetic may decide the rest.
        if self.engine.engine == FLOAT64:
            tally.undecided, tally.stuck = len(left), words[left[0]] if left else None
            return tally, margins
        unknown = expected.unknown
        for place in left:
            # More digits do not help where the reference itself is uncertain.
            if unknown[place]:
                tally.undecided += 1
                tally.stuck = tally.stuck or words[place]
                continue
            margins[place] = self._alone(tally, words[place], raws[place], expected.of([place]), listed)
        return tally, margins

    def _alone(self, tally: Tally, word: Word, raw: Any, expected: ExpectedOutputs, listed: bool) -> float:
        """Add one word to the tally, in the arithmetic of single words, and return a lower bound of its margin, or 0 if
        the word stays undecided."""

        def settled(low: Ends, high: Ends) -> bool:
            found = self.rule.compare(low, high, expected)
            return bool(found.right[0] or found.wrong[0])

        places = self.subject.places(len(word), listed)
        found = self.engine.alone(word, places, settled)
        if found is None and expected.never.any():  # wrong whatever the outputs are
            found = unbounded(len(places), len(self.rule.outputs))
        if found is None or not settled(found.low, found.high):
            tally.undecided += 1
            tally.stuck = tally.stuck or word
            return 0.0
        tally.digits = max(tally.digits, found.digits)
        tally.escalated += found.engine == BALL
        compared = self.rule.compare(found.low, found.high, expected)
        low, high = compared.low[0], compared.high[0]
        if -inf < low < inf:  # where nothing can be wrong there is no margin
            margin = Extreme.of(1, (low, high), word)
            before = tally.extremes.get(MARGIN)
            tally.extremes[MARGIN] = margin if before is None else before.join(margin)
        if compared.wrong[0]:
            tally.soft_mismatches += 1
            one = self._mismatch(word, raw, found, listed)
            tally.mismatch = first_of(tally.mismatch, one, self.subject.alphabet)
        return float(low)

    def _mismatch(self, word: Word, raw: Any, found: OutputBounds, listed: bool) -> Mismatch:
        said = [self.rule.answer(low, high) for low, high in zip(found.low[0], found.high[0], strict=True)]
        wishes = [self.rule.text_of(one) for one in (raw if listed else [raw])]
        # An output at a position that is not judged is no part of the mismatch.
        kept = [said[place] if wish is not None else None for place, wish in enumerate(wishes)]
        return Mismatch(
            word,
            _answer(raw, wishes, listed),
            None,
            _answer(raw, kept, listed),
            direct=True,
            no_output=self._no_output(word, raw, listed),
        )

    def _no_output(self, word: Word, raw: Any, listed: bool) -> NoOutput | None:
        """Return the first expected value that no output has, with its position; None if there is no such value."""
        if not listed:
            position = 1 if self.subject.network.readout.at == "first" else len(word)
            return self._unsaid(raw, position)
        found = (self._unsaid(one, place) for place, one in enumerate(raw, start=self.subject.shortest))
        return next(filter(None, found), None)

    def _unsaid(self, raw: Any, position: int) -> NoOutput | None:
        never = self.rule.never(raw)
        if not never:
            return None
        message = self.rule.text_of(frozenset(never) if len(never) > 1 else never[0])
        return NoOutput.of(str(message), position, self.rule.possible())

    # ---- single words ----

    def evaluation(self, word: Word) -> Evaluation:
        """Return everything about one word: its outputs at every symbol, or where the network is read."""
        subject, readout = self.subject, self.subject.network.readout
        raws = subject.oracles([word])
        raw = None if raws is None else raws[0]
        listed = by_position(raw) or (raw is None and readout.at == "each")
        places = subject.places(len(word), listed)
        # One value for the word is shown at each position.
        wishes = list(raw) if by_position(raw) else [raw] * len(places)
        expected = subject.expected([word], [wishes if listed else raw], listed)

        def settled(low: Ends, high: Ends) -> bool:
            compared = self.rule.compare(low, high, expected)
            said = [self.rule.answer(a, b) for a, b in zip(low[0], high[0], strict=True)]
            return bool(compared.wrong[0]) or (bool(compared.right[0]) and None not in said)

        ends, found = self.engine.enclosures([word], places), None
        if ends is not None:
            found = OutputBounds(*ends, FLOAT64, FLOAT_DIGITS)
        if found is None or (not settled(found.low, found.high) and self.engine.engine == AUTO):
            found = self.engine.alone(word, places, settled) or found
        if found is None:
            return Evaluation(word, None, None, None, 0, decided=False)
        compared = self.rule.compare(found.low, found.high, expected)
        named = [str(token) for token in (*readout.before, *word, *readout.after)]
        rows = [
            PlaceOutputs(
                place,
                named[place],
                self.rule.answer(low, high),
                subject.rule.text_of(wish),
                tuple(map(self._ends, subject.network.outputs, low, high)),
            )
            for place, wish, low, high in zip(places, wishes, found.low[0], found.high[0], strict=True)
        ]
        judged = not unjudged(raw)
        right = True if compared.right[0] else False if compared.wrong[0] else None
        said = [row.answer for row in rows]
        return Evaluation(
            word=word,
            oracle=_answer(raw, [row.expected for row in rows], listed) if judged else None,
            hard=None,
            soft=_answer(raw, said, listed),
            digits=found.digits,
            decided=right is not None if judged else None not in said,
            margin=Fraction(compared.low[0]) if judged and -inf < compared.low[0] < inf else None,
            places=tuple(rows),
            right=right if judged else None,
            no_output=self._no_output(word, raw, listed) if right is False else None,
        )

    def _ends(self, output: Token, low: Any, high: Any) -> OutputEnds:
        return OutputEnds(str(output), *(Fraction(end) if -inf < end < inf else None for end in (low, high)))


def _answer(raw: Any, texts: Sequence[str | None], listed: bool) -> Answer:
    """Return the texts of the outputs at some positions (None: uncertain) as one answer, a tuple by position. A single
    truth value stays a truth value. (Where a number is read, a truth value may be expected as 0 or 1, but is never the
    answer.)"""
    if not listed and isinstance(raw, bool | np.bool_) and texts[0] in (None, "True", "False"):
        return {"True": True, "False": False}.get(str(texts[0]))
    return tuple(texts)


def judging(subject: External, oracle: Callable[[Word], Any], name: str, accepts: bool = False) -> External:
    """Return the network with a reference; `name` is the reference in reports, and `accepts` is True if the expected
    output of a word is a truth value."""
    return replace(subject, oracle=oracle, against=name, accepts=accepts)
