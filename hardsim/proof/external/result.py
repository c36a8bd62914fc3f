"""The record of what is proved of an external network: to which length its answers are right, and a wrong prefix."""

from __future__ import annotations

from typing import Annotated

from hardsim.lazy_dataclass import dataclass
from hardsim.records import Lower, Natural, Record, Upper, about, at_least, at_most, one_of

STRUCTURE, EVERY_WORD = "structure", "every word"
"""The methods of a proof: from the weights, for all words of a class together, or by running every word."""


def symbols(count: int) -> str:
    """Return a number of symbols as text."""
    return f"{count:,} symbol{'s' * (count != 1)}"


@dataclass(frozen=True, slots=True, repr=False)
class ProvedMargin(Record):
    """Bounds of the least margin of all judged prefixes, or words, of one length that is proved. The margin after a
    prefix is the distance of the judged outputs from a wrong answer; that of a word is the least at all positions where
    the word is judged."""

    n: Natural
    """Length of the prefixes, in symbols."""
    low: Lower | None
    """Lower bound of the least margin, which is positive; null: only the sign is known."""
    high: Upper | None
    """Upper bound of the margin after some prefix, and so of the least margin; null: no prefix was run."""


@dataclass(frozen=True, slots=True, repr=False)
class OpenPrefixes(Record):
    """A class of prefixes that are neither proved nor known to be wrong: those of one length and one last symbol, among
    others."""

    length: Natural
    """Length of the prefixes, in symbols."""
    symbol: str | None
    """Their last symbol; null where tokens after the word are read, so that the last symbol is free, or where there is
    no symbol."""
    bound: Lower | None
    """Lower bound of their margins, 0 or less; null: there is none."""
    sampled: Upper | None
    """Least upper bound of the margin after a prefix that was run; null: none was run."""

    @property
    def summary(self) -> str:
        """Length, last symbol, bound and the least margin that was found, on one line."""
        last = "" if self.symbol is None else f" that end with {self.symbol}"
        bound = "no bound of their margins" if self.bound is None else f"margins are at least {at_least(self.bound)}"
        found = "" if self.sampled is None else f", the least found is {at_most(self.sampled)}"
        return f"prefixes of {symbols(self.length)}{last}: {bound}{found}"


@dataclass(frozen=True, slots=True, repr=False)
class PassedState(Record):
    """A position inside words, with a state of the machine of the specification there."""

    position: Natural
    """The number of symbols before the state."""
    word: tuple[str, ...]
    """A shortest word that leads to the state."""


@dataclass(frozen=True, slots=True, repr=False)
class WordsPart(Record):
    """A part of the words that was proved by itself: those that pass through the states of its checkpoints."""

    checkpoints: tuple[PassedState, ...]
    """The checkpoints; none: all words."""
    first: Natural
    """Least length of prefixes that were proved for the whole part."""
    last: Natural
    """Greatest length of these prefixes."""
    classes: Natural
    """Number of classes of prefixes that were proved."""
    cells: Natural
    """Greatest number of cells of one class of the first layer."""
    ranges: bool
    """true: each norm and MLP is enclosed with the exact ranges of its linear part in each cell; without these a class
    stayed open."""


@dataclass(frozen=True, slots=True, repr=False)
class PatternsPart(Record):
    """Prefixes of one length and last symbol that were proved by patterns, which give the symbols at some positions."""

    length: Natural
    """Length of the prefixes, in symbols."""
    symbol: str
    """Their last symbol."""
    histories: Annotated[str, one_of("one history", "independent histories")]
    """How keys are bounded: for the same words as the query, or each for all words; the latter, where it suffices for
    most sampled patterns with narrow queries."""
    patterns: Natural
    """Number of patterns that the words were divided into at first."""
    divided: Natural
    """Number of patterns into which those were divided that stayed open."""


@dataclass(frozen=True, slots=True, repr=False)
class LayerSplits(Record):
    """Divisions in the proof of a network of two layers. Prefixes are divided by checkpoints where a class stayed open
    without them. After that exact ranges are used, with more and more cells."""

    run_to: Natural | None
    """Length up to which every prefix was run; longer ones are proved from the weights. null: none was run."""
    classes: Natural
    """Number of classes of prefixes at all positions: length, state before the last symbol, and that symbol."""
    cells: Natural
    """Number of cells of the first layer, which are so fine that the second layer's scores and values vary little."""
    boxes: Natural
    """Number of boxes of the second layer's heads that were bounded: more than one for a cell where the first bound
    left it open."""
    parts: tuple[WordsPart, ...]
    """The parts of the words, in the order of their proofs."""
    patterns: tuple[PatternsPart, ...] = ()
    """The parts that were proved by patterns: where boxes of the first layer are too wide."""


@dataclass(frozen=True, slots=True, repr=False)
class PrefixProof(Record):
    """Proof about an external network after all prefixes of all words that the reference judges. A network that
    is read at the last position is judged after the whole word, which is its own longest prefix."""

    longest: Natural
    """Length of the longest prefixes that were asked for, in symbols."""
    proved_to: Natural | None
    """Length up to which the answer is proved to be right after every judged prefix, of which there may be none; null:
    not even after the empty one."""
    prefixes: Natural
    """Number of judged prefixes up to that length."""
    judged: Annotated[str, one_of("prefixes", "words")]
    """Object of the judgements: each prefix of a word that the reference judges, or the whole word alone."""
    proved_by: Annotated[str, one_of(STRUCTURE, EVERY_WORD)]
    """Method of the proof."""
    wrong: tuple[str, ...] | None
    """A prefix after which the network is certainly wrong; null: none was found."""
    wrong_margin: Upper | None
    """Upper bound of the margin there, which is 0 or less; null: no such prefix."""
    shortest: bool
    """True if all shorter prefixes are proved, so that `wrong` is a shortest one."""
    open: tuple[OpenPrefixes, ...]
    """Classes of the least length that is not decided; none where every length is decided that was asked for."""
    reason: str | None
    """Reason why the proof ends before the lengths that were asked for; null: none, or the open classes say so."""
    partial: bool
    """True if the proof was interrupted."""
    margins: tuple[ProvedMargin, ...]
    """Bounds of the least margin, for each proved length with judged prefixes."""
    splits: LayerSplits | None = None
    """Divisions in a proof from the weights of two layers; null: another proof."""

    @property
    def complete(self) -> bool:
        """True if every length that was asked for is proved, and something is judged there."""
        return self.proved_to is not None and self.proved_to >= self.longest and self.prefixes > 0

    @property
    def how(self) -> str:
        """The method of the proof, for a sentence."""
        if self.proved_by == EVERY_WORD:
            return "by running every word"
        run = None if self.splits is None else self.splits.run_to
        return "from the weights" + ("" if run is None else f" (to {symbols(run)} by running every word)")

    @property
    def proved_text(self) -> str:
        """A sentence on what is proved; empty where nothing is."""
        if self.proved_to is None or not self.prefixes:
            return ""
        some = f"all {self.prefixes:,} judged {self.judged}"
        if self.prefixes >= 10**12:
            some = f"all judged {self.judged} ({about(self.prefixes)})"
        elif self.prefixes == 1:
            some = f"the only judged {self._one}"
        return f"right {self._place} {some} of at most {symbols(self.proved_to)}, {self.how}"

    @property
    def _one(self) -> str:
        return {"prefixes": "prefix", "words": "word"}[self.judged]

    @property
    def _place(self) -> str:
        return {"prefixes": "after", "words": "on"}[self.judged]

    @property
    def wrong_text(self) -> str:
        """A sentence on the wrong prefix; empty where none was found."""
        if self.wrong is None:
            return ""
        known = "the shortest" if self.shortest else "the shortest found"
        where = (
            f"{self._place} a {self._one} of {symbols(len(self.wrong))}" if self.wrong else "before the first symbol"
        )
        return f"wrong {where}, {known}"

    @property
    def open_text(self) -> str:
        """A sentence on what is not decided; empty if every requested length is decided."""
        if not self.open:
            return self.reason or ""
        first, more = self.open[0], len(self.open) - 1
        kind = "class" if more == 1 else "classes"
        found = f"open: {first.summary}" + (f"; and {more:,} more {kind}" if more else "")
        return found if self.reason is None else f"{found}: {self.reason}"

    @property
    def summary(self) -> str:
        """One line: what is proved, what is wrong and what is open."""
        parts = self.proved_text, self.wrong_text, "" if self.wrong and self.shortest else self.open_text
        return "; ".join(filter(None, parts)) or (
            f"nothing is judged: the reference requires nothing of {self.judged} of at most {symbols(self.longest)}"
        )
