"""Results of the commands `check`, `eval`, `words`, `compile` and `format`: plain data that the reports render.

Every number is exact: an int, or a Fraction (a measured value is the exact rational that the arithmetic's number is).
Units: score gaps and score ranges are in units of the score (before beta and the temperature are applied),
temperatures in units of the score per nat, everything else in units of the activations.

Terms: the oracle is the semantics of the input, or another file that gives the expected answers (`--against`). To
judge a word, or a position of it, is to compare the network's answer there with the expected one. Hard means hard
attention in exact arithmetic, soft means the softmax network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import count as count_from
from itertools import pairwise, takewhile
from math import floor
from typing import Annotated, TypeAlias

from hardsim.lang.pretty import shortened
from hardsim.lang.words import shown_word, written_output
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.result import PrefixProof
from hardsim.proof.shared.result import NoProof, SecondProof
from hardsim.records import (
    EMPTY,
    NOTHING,
    Count,
    Digest,
    Exact,
    Lower,
    Measured,
    Natural,
    Positive,
    Record,
    Unwritten,
    Upper,
    limits,
    one_of,
    rounded,
    short,
    written,
)
from hardsim.targets.base import Target
from hardsim.targets.result import (
    BALL,
    LONGEST_TOLD,
    MPMATH,
    Answer,
    AnyWord,
    FormulaText,
    InputKind,
    InputName,
    ModelFacts,
    NoOutput,
    Title,
    Word,
    WordError,
    plural,
    settled,
)

# ---- types of fields of several classes; a text in a type is its description ----

Length: TypeAlias = Annotated[Positive, "A length of words."]
LayerNumber: TypeAlias = Annotated[Positive, "The layer, from 1."]
Possible: TypeAlias = Annotated[Count, "Number of words of this length that exist."]
Digits: TypeAlias = Annotated[Natural, "Decimal digits of the arithmetic."]
Seed: TypeAlias = Annotated[int, "Seed of the random words."]
InputDigest: TypeAlias = Annotated[Digest, "SHA-256 of the input: a file's bytes, an expression's text."]
Reach: TypeAlias = Annotated[str, "The words that the verdict covers, as text."]
Partial: TypeAlias = Annotated[bool, "True if the run was interrupted."]
Against: TypeAlias = Annotated[
    str | None, "The file of --against, whose semantics is the oracle instead of the input's own; null: no --against."
]
HeadKind: TypeAlias = Annotated[str, one_of("uniform", "tieless", "ties")]
Engine: TypeAlias = Annotated[
    str,
    one_of("auto", "float64", "ball", "mpmath"),
    "The arithmetic of the softmax network. With float64 and ball, gaps and margins are lower bounds and errors upper "
    "bounds.",
]
Assumption: TypeAlias = Annotated[
    str, "An assumption of the bounds besides Theorem 26, such as 'gap and sizes measured on 64 words'; empty: none."
]

# The values of `Mismatch.kind` besides the pairs soft/hard and hard/oracle.
OBSERVED_MISMATCH = "a mismatch in mpmath (no rigorous enclosure), which is not certified"
CERTIFY = f"--engine {BALL} certifies it, or shows that there is none"
UNSETTLED, DIRECT = "hard attention undecided", "soft/oracle"
NOT_DECIDED = "not decided"
MOST_VALUES = 4
"""Largest number of different values of tied positions, and of heads of an output, that a sentence lists."""
LONGEST_VALUE = 12
"""Largest number of characters of an exact value in a sentence; a longer value is rounded."""
SINGLE_ROWS, MOST_ROWS = 8, 12
"""Number of shortest lengths, from 1 on, that have a row each in a table, and largest number of rows of such a
table."""


class Verdict(StrEnum):
    """The verdict of a command: how far its answer reaches. A verdict never claims more than was established."""

    PROVED = "PROVED"
    """Proved for every word up to a length, or of every length."""
    CERTIFIED = "CERTIFIED"
    """Established for the listed words by rigorous arithmetic."""
    OBSERVED = "OBSERVED"
    """Agreement or a mismatch on the listed words, seen in arithmetic that is not rigorous."""
    REFUTED = "REFUTED"
    """Refuted by the printed word, in rigorous arithmetic."""
    UNDECIDED = "UNDECIDED"
    """Nothing was tried, or no answer was reached within a limit."""

    def reaches(self, expected: Verdict) -> bool:
        """Return True if this verdict claims agreement at least as strongly as the verdict `expected`."""
        # REFUTED claims no agreement, so it is not in the order.
        order = (Verdict.UNDECIDED, Verdict.OBSERVED, Verdict.CERTIFIED, Verdict.PROVED)
        return self in order and order.index(self) >= order.index(expected)


def judged_part(answer: Answer, reference: Answer) -> Answer:
    """Return an answer without the positions that the reference leaves open. Return the whole answer if none is open,
    or if the numbers of positions of the two differ."""
    if not isinstance(answer, tuple) or not isinstance(reference, tuple):
        return answer
    if len(answer) != len(reference) or None not in reference:
        return answer
    return tuple(one for one, wish in zip(answer, reference, strict=True) if wish is not None)


@dataclass(frozen=True, slots=True, repr=False)
class Mismatch(Record):
    """The shortest word on which two of the answers differ, or on which hard attention has none."""

    word: AnyWord
    """The word."""
    oracle: Answer
    """The answer of the semantics; None for an input that is its own specification."""
    hard: Answer
    """The answer of hard attention."""
    soft: Answer
    """The answer of softmax. None where the output of a network that rounds to 0 or 1 is neither, or where the output
    of any other network lies on its threshold."""
    output: Measured | None = None
    """An acceptor's softmax output, the middle of its enclosure; None if none was reached or known."""
    decided: bool = True
    """True if the network reached an answer; if not, `soft` means nothing."""
    direct: bool = False
    """True for an external network, which has no hard attention and is compared with the oracle directly."""
    shrunk_from: AnyWord | None = None
    """The word that was found first, from which this simpler one was made; null: this one was found first."""
    no_output: NoOutput | None = None
    """The first expected value that no output has; null: an output has every expected value."""

    @property
    @written
    def kind(
        self,
    ) -> Annotated[str, one_of("soft/hard", "hard/oracle", "soft/hard and hard/oracle", UNSETTLED, DIRECT)]:
        """The pairs of answers that disagree. Where hard attention decides nothing, softmax cannot disagree with
        it."""
        pairs = (("soft/hard", self.soft_differs), ("hard/oracle", self.hard_differs))
        return DIRECT if self.direct else " and ".join(name for name, differs in pairs if differs) or UNSETTLED

    @property
    def soft_differs(self) -> bool:
        """True if softmax answers otherwise than hard attention."""
        soft, hard = (judged_part(one, self.oracle) for one in (self.soft, self.hard))
        return not self.direct and self.decided and settled(hard) and soft != hard

    @property
    def hard_differs(self) -> bool:
        """True if hard attention answers otherwise than the semantics."""
        hard, oracle = (judged_part(one, self.oracle) for one in (self.hard, self.oracle))
        return not self.direct and oracle is not None and oracle != hard

    @property
    def summary(self) -> str:
        """One line: the disagreeing pairs, the word and the answers."""
        first = "" if self.shrunk_from is None else f" (shrunk from {plural(len(self.shrunk_from), 'symbol')})"
        impossible = "" if self.no_output is None else f"; {self.no_output.summary}"
        return f"{self.kind} on {word_summary(self.word)}{first}: {answers_summary(self)}{impossible}"

    @property
    def refutes(self) -> bool:
        """True if two answers differ; False if an answer is merely missing."""
        return self.direct or self.soft_differs or self.hard_differs

    def certain(self, engine: str) -> bool:
        """Return True if a mismatch is certain with an engine. Semantics and hard attention are exact; an mpmath
        result is only observed. An expected value that no output has needs no arithmetic."""
        return self.refutes and (engine != MPMATH or self.hard_differs or self.no_output is not None)


@dataclass(frozen=True, slots=True, repr=False)
class Violation(Record):
    """A claim that a computed number refutes: a declared gap above a measured one, a bound below an error."""

    what: str
    """The claim, and the head or coordinate that it is about."""
    n: Length
    word: Word | None
    """A word that refutes the claim; null: none is known that does so alone."""
    measured: Measured
    """The number that was computed."""
    claimed: Measured
    """The number that was claimed."""
    observed: bool = False
    """True if mpmath computed the number, so that it is observed and not certain."""
    declared: Unwritten[bool] = False
    """True if the claim is a gap that the file declares."""


Void: TypeAlias = Annotated[
    bool,
    "True if the bound beside it is void, so that the error may exceed it: the bound assumes that the head reads what "
    "hard attention reads, and on a word tried it does not, or the network is not the one that its specification "
    "compiles to.",
]
VoidAfter: TypeAlias = Annotated[
    str | None, "The head that failed first, if the bound is void for that reason; null otherwise."
]
Own: TypeAlias = Annotated[
    bool | None,
    "For a failure: true if hardsim compiled the network itself and it is unedited, so that the false claim is a "
    "defect of hardsim; null where nothing failed.",
]


@dataclass(frozen=True, slots=True, repr=False)
class FirstFailure(Record):
    """The head that failed first: its error is so large that a clip which reads it does not give the Boolean of hard
    attention. At the shortest such length it is in the first layer where this happens. Later heads that depend on
    this clip have void bounds."""

    head: str
    """The head's name."""
    layer: LayerNumber
    n: Length
    word: Word
    """A word on which the head fails."""


@dataclass(frozen=True, slots=True, repr=False)
class HeadResult(Record):
    """One head over the words tried of one length: its largest error and its least score gap, each beside its
    bound."""

    name: str
    """The head's name."""
    layer: LayerNumber
    purpose: str
    """The purpose of the head, in the words of its compiler."""
    theorem: str
    """The theorem that the head rests on; empty if there is none."""
    error: Measured
    """Largest absolute error of an attended value, soft minus hard, upper end of its enclosure."""
    bound: Measured
    """The upper bound that theory gives for this error."""
    score_gap: Exact | None
    """Least score gap; None for uniform heads and where no row had two different scores."""
    declared_gap: Exact | None
    """Least declared score gap over the positions; None: no gap is declared."""
    paper_bound: Measured | None = None
    """For look-ups of counts, the bound of Lemma 7 as the paper states it, twice `bound`."""
    kind: HeadKind | None = None
    """The head's attention on the words tried: uniform (every score 0), tieless (one largest score in each row) or
    ties (several in some row); None where rows were not measured."""
    most_maxima: Positive | None = None
    """Largest number of positions that share the largest score of a row; None where `kind` is None."""
    score_range: Exact | None = None
    """Largest distance of two visible scores of a row; None where `kind` is None."""
    void: Void = False
    void_after: VoidAfter = None


@dataclass(frozen=True, slots=True, repr=False)
class LayerResult(Record):
    """One layer under Theorem 26, over the words tried of one length: largest errors, each beside its bound."""

    layer: LayerNumber
    kind: str
    """The kinds of the layer's heads, joined by 'and'; or 'no attention'."""
    size: Exact
    """Largest absolute value of an activation that enters the layer or leaves its attention."""
    attended_error: Measured
    """Largest error of a coordinate after attention."""
    attended_bound: Measured
    """The upper bound that theory gives for the error after attention."""
    error: Measured
    """Largest error of a coordinate after the layer."""
    bound: Measured
    """The upper bound that theory gives for the error after the layer."""


@dataclass(frozen=True, slots=True, repr=False)
class TemperatureRange(Record):
    """The temperatures of all positions, in units of the score per nat, between two rationals. They are next to the
    temperature where that is no rational number."""

    least: Exact
    """The smallest temperature, or a rational below it."""
    largest: Exact
    """The largest temperature, or a rational above it."""

    @property
    def summary(self) -> str:
        """The temperature, or its two ends where positions differ."""
        ends = dict.fromkeys((short(self.least), short(self.largest)))
        return " to ".join(ends)


class WordCounts(Record):
    """A length with the number of its words that were tried."""

    __slots__ = ()
    n: int
    words: int
    possible: int
    exhaustive: bool
    """True if all words of the length were tried."""


class LengthCounts(WordCounts):
    """The results at one length that every kind of target has, of which the verdict is made."""

    __slots__ = ()
    undecided: int
    unjudged: int
    positions_judged: int | None
    positions_unjudged: int | None


@dataclass(frozen=True, slots=True, repr=False)
class LengthResult(LengthCounts):
    """The results for the words tried of one length. Acceptance gap and margin are known for networks that round to 0
    or 1; size, temperature, theorem, epsilon and layers for networks with Theorem 26's temperature."""

    n: Length
    words: Natural
    """Number of words tried."""
    possible: Possible
    exhaustive: bool
    accepted: Natural | None
    """Number of words that the oracle accepts, or hard attention where there is no oracle; None for a transduction."""
    soft_mismatches: Natural
    """Number of words on which softmax differs from hard attention."""
    hard_mismatches: Natural
    """Number of words on which hard attention differs from the oracle."""
    undecided: Natural
    """Number of words on which the network reached no answer; the measured numbers leave these words out."""
    score_gap: Exact | None
    """gap(n): the least score gap of all heads; None: no row had two different scores."""
    error: Measured
    """Largest error of an attended value, or under Theorem 26 of an activation at the end; upper end of its
    enclosure."""
    bound: Measured
    """The upper bound that theory gives for the error."""
    digits: Digits
    heads: tuple[HeadResult, ...]
    """The heads of all layers."""
    acceptance_gap: Measured | None = None
    """Least unrounded output among accepted words minus the largest among rejected ones; None unless both were tried,
    or where no attention decides."""
    margin: Measured | None = None
    """Least distance of an attended value from its threshold; negative: not decided."""
    sum_error: Measured | None = None
    """Largest error of a sum of looked-up counts; rounding corrects up to 1/4. None: no such sum is compared."""
    size: Exact | None = None
    """X(n): the largest absolute value of an activation that enters a layer, leaves its attention or leaves the
    last layer."""
    temperature: TemperatureRange | None = None
    """The temperature used."""
    theorem: Exact | None = None
    """Theorem 26's temperature for an error of at most epsilon."""
    epsilon: Exact | None = None
    """The error that the temperature was chosen for."""
    assumption: Assumption = ""
    sampled: Unwritten[str] = ""
    """The facts that were measured on some words, by the assumption, as text; empty without an assumption."""
    layers: tuple[LayerResult, ...] = ()
    """The layers, in order."""
    void: Void = False
    void_after: VoidAfter = None
    unjudged: Natural = 0
    """Number of words on which the reference, a Python function, leaves every position open; they do not count as
    tried."""
    positions_judged: Natural | None = None
    """Number of positions that the function judges, over all words tried; null: the reference is no function."""
    positions_unjudged: Natural | None = None
    """Number of positions that the function leaves open, over all words; null: the reference is no function."""
    bounded: Natural = 0
    """Number of words tried on which softmax was not run: the error bound decides that it answers as hard attention
    does. The measured errors are those of the other words."""

    @property
    def mismatches(self) -> int:
        """Number of mismatches of both kinds."""
        return self.soft_mismatches + self.hard_mismatches


@dataclass(frozen=True, slots=True, repr=False)
class JudgedLength(LengthCounts):
    """The results for the words tried of one length, on an external network."""

    n: Annotated[Natural, "A length of words; 0 if the output before the first symbol is judged too."]
    words: Natural
    """Number of words judged."""
    unjudged: Natural
    """Number of words on which the reference leaves every position open; they do not count as tried."""
    positions_judged: Natural
    """Number of positions that the reference judges. A word has a position for each symbol where the network is read
    at each symbol or the reference is a list, and one position otherwise."""
    positions_unjudged: Natural
    """Number of positions that the reference leaves open."""
    possible: Possible
    exhaustive: bool
    mismatches: Natural
    """Number of words on which the network is certainly wrong."""
    undecided: Natural
    """Number of words on which it is uncertain if the network is wrong."""
    digits: Digits
    margin: Lower | None
    """A lower bound of the distance of every judged output from a wrong answer, over all words except the undecided
    ones and those on which an expected value is no output; negative: an output is wrong. None: nothing was judged, or
    no margin was found."""
    margin_word: AnyWord | None
    """The first word that may have the least margin; null where `margin` is null."""


@dataclass(frozen=True, slots=True, repr=False)
class TiedPosition(Record):
    """One of the positions that share the largest score of a row."""

    position: Natural
    """The position: 1 is the first symbol, 0 the beginning of the sequence."""
    values: tuple[Exact, ...]
    """The values that the head reads at the position, one for each coordinate that it writes."""


@dataclass(frozen=True, slots=True, repr=False)
class TiedRow(Record):
    """A row of a leftmost or rightmost head whose tied positions carry different values."""

    word: Word
    """The word."""
    position: Natural
    """The query's position: 1 is the first symbol, 0 the beginning of the sequence."""
    tied: Annotated[tuple[TiedPosition, ...], limits(min_length=2)]
    """The positions that share the largest score."""
    other_mean: bool
    """True if the mean of the tied values differs from the value that the head reads, so that no temperature helps."""

    @property
    def carried(self) -> str:
        """The different values of the tied positions, in the order of the positions, as text."""
        found = [values_text(values) for values in dict.fromkeys(one.values for one in self.tied)]
        if len(found) > MOST_VALUES:
            found = [*found[: MOST_VALUES - 1], "others"]
        return f"{', '.join(found[:-1])} and {found[-1]}"


@dataclass(frozen=True, slots=True, repr=False)
class Tie(Record):
    """The first tie of a head: its shortest length, a word, and how softmax simulates the ties of the head. It
    describes the model as given, before weights are added that break ties."""

    head: str
    """The head's name."""
    n: Length
    word: Word
    """The word."""
    position: Natural
    """The query's position: 1 is the first symbol, 0 the beginning of the sequence."""
    count: Annotated[int, limits(ge=2)]
    """Number of positions that share the largest score."""
    simulated: Annotated[str, one_of("average", "one value", "weights added", "not simulated")] = "average"
    """The way softmax simulates the ties. 'average': the head reads the mean, as softmax does. 'one value': the head
    is leftmost or rightmost, and all tied positions carry one value on the words tried, so that it is treated as an
    average head, with its own weights. 'weights added': weights were added that break the ties. 'not simulated':
    neither is the case, and the weights belong to a softmax model, whose weights are never changed."""
    differ: TiedRow | None = None
    """A row whose tied positions carry different values; null for an average head, and where no such row was found."""

    @property
    def note(self) -> str:
        """One clause: how the ties of a leftmost or rightmost head were treated, and why. Empty for an average
        head."""
        if self.simulated == "average":
            return ""
        if self.differ is None:
            message = "all tied positions carry one value: taken as an average head, no weights added"
            return f"head {self.head} ties, {message}"
        done = "weights were added (Lemma 8)" if self.simulated == "weights added" else "no weights were added"
        return f"{self.reason}; {done}"

    @property
    def reason(self) -> str:
        """The reason why a head's own weights do not simulate its ties; empty if they do."""
        if self.differ is None:
            return ""
        why = "so no temperature helps" if self.differ.other_mean else "and not one value"
        row = self.differ
        return f"head {self.head} ties: on `{word_summary(row.word)}` the tied positions carry {row.carried}, {why}"


def values_text(values: Sequence[Fraction]) -> str:
    """Format exact values, several of them in parentheses; a value of more than LONGEST_VALUE characters is
    rounded."""
    shown = [str(value) if len(str(value)) <= LONGEST_VALUE else short(value) for value in values]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


@dataclass(frozen=True, slots=True, repr=False)
class HardUndecided(Record):
    """A word on which hard attention itself decides nothing: an output lies exactly on the threshold or, without a
    threshold, is neither a truth value nor an integer over n."""

    word: Word
    """The word."""
    position: Natural
    """The position of the output: 1 is the first symbol, 0 the beginning of the sequence."""
    output: str
    """The coordinate of the output."""
    value: Exact
    """The output's value."""
    threshold: Exact | None
    """The threshold, which the output equals; null: the output must be 0 or 1, or an integer over n."""
    each: bool
    """True if outputs are read at every position."""
    heads: tuple[str, ...]
    """Names of the last heads on which the output depends, all of them in one layer."""

    @property
    def summary(self) -> str:
        """One sentence that names the word, the output and the heads it depends on."""
        where = f"on `{word_summary(self.word)}`" + (f" at position {self.position}" if self.each else "")
        value = values_text([self.value])
        is_at = f"exactly the threshold {value}" if self.threshold is not None else f"{value}, which is no valid answer"
        few = ", ".join(self.heads[:MOST_VALUES]) + ", ..." * (len(self.heads) > MOST_VALUES)
        who = f" (read by head{'s' * (len(self.heads) > 1)} {few})" if few else ""
        message = f"{is_at}, so softmax has no answer to agree with"
        return f"hard attention itself decides nothing {where}: its output{who} is {message}"


FirstUndecided: TypeAlias = Annotated[
    HardUndecided | None,
    "The first word on which hard attention itself decides nothing, for example because its output equals the "
    "threshold; null: there is none among the words tried.",
]


@dataclass(frozen=True, slots=True, repr=False)
class Growth(Record):
    """A power law factor n^exponent fitted to values at several lengths; for people, not for proofs."""

    what: str
    """The name of the fitted quantity."""
    exponent: float
    """The exponent, to four decimals."""
    factor: float
    """The factor."""
    from_n: Length
    to_n: Length


@dataclass(frozen=True, slots=True, repr=False)
class LeastMargin(Record):
    """The least margin of an external network over all words judged."""

    margin: Lower
    """A lower bound of the least distance of a judged output from a wrong answer; negative: an output is wrong."""
    n: Annotated[Natural, "The length of the word; the shortest, if several have it."]
    word: AnyWord
    """The first word that may have this margin."""

    @property
    def summary(self) -> str:
        """One line: the margin, the length and the word."""
        return f"{short(self.margin)} at length {self.n:,}, on {word_summary(self.word)}"


@dataclass(frozen=True, slots=True, repr=False)
class Mapped(Record):
    """A word and its output."""

    word: Word
    """The word."""
    output: tuple[str | int, ...]
    """The symbols, or integers, of the output."""


@dataclass(frozen=True, slots=True, repr=False)
class Shown(Record):
    """A few short words with their answers (by the oracle, or by hard attention where there is none), to illustrate
    what was decided. Words of a transduction are neither accepted nor rejected."""

    accepted: tuple[Word, ...] = ()
    """At most three accepted words."""
    rejected: tuple[Word, ...] = ()
    """At most three rejected words."""
    outputs: tuple[Mapped, ...] = ()
    """At most three words of a transduction, with their outputs."""

    @property
    def summary(self) -> str:
        """One line: the words with their answers."""
        message = [
            f"{label} {', '.join(map(word_summary, words))}"
            for label, words in (("accepted", self.accepted), ("rejected", self.rejected))
            if words
        ]
        message += [
            f"{word_summary(one.word)} -> {answer_text(one.output, (*one.word, *map(str, one.output)))}"
            for one in self.outputs
        ]
        return "; ".join(message)


@dataclass(frozen=True, slots=True, repr=False)
class Parting(Record):
    """The place where softmax departs from hard attention on a word: the head whose error makes the first differing
    clip differ, or the head with the largest error where no clip differs."""

    layer: LayerNumber
    head: str
    """The head's name."""
    purpose: str
    """The purpose of the head, in the words of its compiler."""
    position: Natural
    """The query's position: 1 is the first symbol, 0 the beginning of the sequence."""
    hard: Measured
    """The value that the head reads at this position with hard attention."""
    soft: Measured
    """The value that the head reads at this position with softmax: the middle of its enclosure."""
    allowed: Measured | None
    """The largest error that the clip which reads this value rounds away if the other heads are right; None where no
    clip differs."""

    @property
    def summary(self) -> str:
        """One line: the layer, the position, the head, and the values it reads."""
        return f"layer {self.layer}, position {self.position}, head {self.head}: {self.reads}"

    @property
    def reads(self) -> str:
        """One clause: the value that softmax reads beside the right one, and the error that is rounded away."""
        hard, soft = short(self.hard), short(self.soft)
        off = f"it reads {soft} instead of {hard}, off by {short(abs(self.soft - self.hard))}"
        return f"{off}; up to {short(self.allowed)} is rounded away" if self.allowed else off


@dataclass(frozen=True, slots=True, repr=False)
class ConstantReach(Record):
    """The lengths up to which a network with a constant temperature and bounded encodings is right."""

    beta: Exact
    """The inverse-temperature constant."""
    right_to: Natural
    """Every word of at most this many symbols is right; 0: some word of one symbol is wrong or unknown."""
    proved: bool
    """True if this is proved; otherwise all these words were tried."""
    wrong_at: Length | None
    """The length of the shortest wrong word found; null: none was found."""
    limited: bool | None
    """True: no constant beta is right at every length, which is proved (Hahn's limit); null: not known."""
    farther_n: Length | None = None
    """A length at or beyond that of the shortest wrong word; null where `farther_beta` is null."""
    farther_beta: Exact | None = None
    """A larger beta at which every word up to length `farther_n` is proved right; null: none was found."""
    vanishing: bool = True
    """True: each weight of a row of n positions is at most a constant over n, as softmax has it; only then Hahn's limit
    applies."""
    layer_norm: bool = False
    """True: regime `layer-norm`, at temperature 1, has a construction for the formula, right at every length."""

    @property
    def summary(self) -> str:
        """Sentences that state how far this beta reaches, and what is known of larger ones."""
        reached = f"every word to length {self.right_to} is right ({'proved' if self.proved else 'all were tried'})"
        if not self.right_to:
            reached = "not every word of length 1 is known to be right"
        if self.wrong_at is not None:
            reached += f", and one of length {self.wrong_at} is wrong"
        parts = [f"At beta {short(self.beta)}, with a constant temperature, {reached}."]
        if self.farther_beta is not None:
            parts.append(f"Beta {short(self.farther_beta)} is proved to reach length {self.farther_n}.")
        limit = "no constant beta reaches every length (Hahn's limit)."
        if self.vanishing and not self.limited:
            parts.append(f"If an earlier symbol can decide the answer at every length, {limit}")
        elif self.vanishing:
            parts.append(limit[0].upper() + limit[1:])
        if self.layer_norm:
            parts.append("At temperature 1 --regime layer-norm is right at every length.")
        return " ".join(parts)


@dataclass(frozen=True, slots=True, repr=False)
class Accuracy(Record):
    """The answers of a network on the rows of labelled data, or on independent draws of a distribution. A word that is
    repeated counts as often as it is given."""

    unit: Annotated[str, one_of("row", "draw")]
    """The unit of all counts: a row of labelled data, or a draw."""
    total: Natural
    """Number of rows or draws."""
    distinct: Natural
    """Number of different words among them."""
    right: Natural
    """Number of rows or draws with the expected answer, with certainty unless the engine is mpmath."""
    wrong: Natural
    """Number of rows or draws with another answer than the expected one."""
    undecided: Natural
    """Number of rows or draws on which the network reached no answer."""
    unjudged: Natural
    """Number of draws without an expected answer."""
    wrong_words: tuple[Mismatch, ...]
    """The first wrong words, at most ten: shortest first, and those of one length in the order in which they are given.
    """
    distribution: str | None = None
    """The distribution of the draws; null for rows of data."""
    seed: Seed | None = None
    """Seed of the draws; null for rows of data."""
    at_least: Lower | None = None
    """Clopper-Pearson lower bound of the probability that a word of the distribution with an expected answer is
    answered right, where undecided draws count as wrong; null for rows of data, and where no draw is certified."""
    confidence: Exact | None = None
    """The confidence of `at_least`, 39/40; null where there is no such bound."""

    @property
    @written
    def share(self) -> Lower | None:
        """The share of right answers among the rows or draws with an expected answer; null if there are none."""
        judged = self.total - self.unjudged
        return Fraction(self.right, judged) if judged else None

    @property
    def summary(self) -> str:
        """One line: the number of rows or draws that are right, the others, and the bound for a distribution."""
        judged, rest = self.total - self.unjudged, list[str]()
        if self.wrong:
            rest.append(f"{self.wrong:,} wrong")
        if self.undecided:
            rest.append(f"{self.undecided:,} undecided")
        if self.unjudged:
            rest.append(f"{self.unjudged:,} more without an expected answer")
        unit = plural(judged, "labelled row" if self.unit == "row" else "independent draw")
        if self.unit == "row" and self.distinct < self.total:
            unit += f" ({plural(self.distinct, 'different word')})"
        few = f"all {unit}" if self.right == judged and judged > 1 else f"{self.right:,} of {unit}"
        share = "" if self.share in (None, 1) else f" ({percent(self.share)})"
        return "; ".join(filter(None, (", ".join([f"right on {few}{share}", *rest]), self.bound)))

    @property
    def bound(self) -> str:
        """The bound for the distribution, as text; empty if there is none."""
        if self.at_least is None or self.confidence is None:
            return ""
        sure = percent(self.confidence)
        # Draws without an expected answer are no trials: the rest are drawn from the distribution given an answer.
        which = "the distribution" + ("'s words with an expected answer" if self.unjudged else "")
        return f"right on at least {percent(self.at_least)} of {which} with confidence {sure}"


def percent(share: Fraction) -> str:
    """Return a share between 0 and 1 in percent, rounded down to two decimals, or to more where it is near to 0 or 1:
    two digits of what it lacks to either are shown."""
    value, places = 100 * share, 2
    if near := min(value, 100 - value):
        places = max(places, 1 - rounded(near, 2).adjusted())
    return f"{Decimal(floor(value * 10**places)).scaleb(-places).normalize():f} %"


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult(Record):
    """The result of checking one input (a formula: in one regime). If the run was interrupted, its numbers cover the
    words tried until then."""

    input: InputName
    sha256: InputDigest
    kind: InputKind
    formula: FormulaText
    title: Title
    model: ModelFacts
    """The network that was checked."""
    engine: Engine
    seed: Seed
    max_n: Length
    exhaustive_limit: Natural
    """Largest number of words of a length for which every word of that length is tried."""
    samples: Natural | None
    """Number of random words per sampled length; None: 20 up to length 16, 4 beyond. For an external network, the
    number of all words per searched length; None: 400."""
    lengths: tuple[LengthResult, ...]
    """The results length by length; those of an external network are in `judged`."""
    verdict: Verdict
    """The verdict on all words tried. OBSERVED stands for agreement or a mismatch in mpmath, which is not certified:
    `mismatch` and `violation` tell the two apart."""
    reach: Reach
    mismatch: Mismatch | None
    """The shortest mismatching word, the first in the order of the alphabet among the shortest."""
    violation: Violation | None = None
    """A claim that a computed number refutes."""
    ties: tuple[Tie, ...] = ()
    """The ties found, one entry for each head that has any."""
    hard_undecided: FirstUndecided = None
    growth: tuple[Growth, ...] = ()
    """Fitted power laws."""
    partial: Partial = False
    undecided_word: AnyWord | None = None
    """The first word on which the network reached no answer."""
    proof: str | None = None
    """The prover's result for all words, or why it was not run; None where the answers do not agree."""
    unproved: Unwritten[NoProof | None] = None
    """The reason why there is no proof, if `proof` says that."""
    second: SecondProof | None = None
    """Second proof, by automata, that the hard heads of a formula compute it, for every length; None where the first
    proof of this was not attempted or did not succeed."""
    prefix_proof: PrefixProof | None = None
    """Proof about an external network; null for any other input, and where no proof was attempted."""
    shown: Shown | None = None
    """A few short words with their answers; None where the answers do not agree."""
    parting: Parting | None = None
    """The place where softmax departs from hard attention on the word of `mismatch`, if it does."""
    command: str | None = None
    """The command line that shows more of the word of `mismatch`, quoted for a shell."""
    against: Against = None
    judged: tuple[JudgedLength, ...] = ()
    """The results for an external network, length by length."""
    shorter_left: Unwritten[bool] = False
    """True if an external network is wrong on the word of `mismatch`, and not all shorter words were tried."""
    failed_first: FirstFailure | None = None
    """The head that failed first, if a bound is void because of one."""
    own: Own = None
    constant: ConstantReach | None = None
    """The lengths up to which a formula's network at a constant temperature is right; null for any other input."""
    errors: tuple[WordError, ...] = ()
    """The first words without a result, because the reference or the program failed on them. A check without a
    mismatch raises the first of these errors instead."""
    accuracy: Accuracy | None = None
    """The accuracy on labelled data or independent draws; null for other words, after an interruption, and where words
    have no result."""
    labelled: Unwritten[bool] = False
    """True if the expected answers are labels of data."""
    needs_rows: Unwritten[bool] = False
    """True if commands without these labels refuse the input."""

    @property
    def summary(self) -> str:
        """One line: the verdict, the input, how far the verdict reaches, and the refuting word."""
        return verdict_summary(self.verdict, self.input, self.reach, self.mismatch.word if self.mismatch else None)

    @property
    def agreed(self) -> bool:
        """True if no claim was refuted and no two answers differ."""
        return self.violation is None and (self.mismatch is None or not self.mismatch.refutes)

    @property
    def counts(self) -> tuple[LengthCounts, ...]:
        """The results length by length, of any kind of target."""
        return (*self.lengths, *self.judged)

    @property
    @written
    def words(self) -> Natural:
        """Number of words tried."""
        return sum(length.words for length in self.counts)

    @property
    @written
    def positions_judged(self) -> Natural | None:
        """Number of positions that the reference judges, over all words tried; null where none are counted."""
        return self._positions("positions_judged")

    @property
    @written
    def positions_unjudged(self) -> Natural | None:
        """Number of positions that the reference leaves open, over all words; null where none are counted."""
        return self._positions("positions_unjudged")

    def _positions(self, name: str) -> int | None:
        found = [getattr(one, name) for one in self.counts]
        counted = [value for value in found if value is not None]
        return sum(counted) if counted else None

    @property
    @written
    def least_margin(self) -> LeastMargin | None:
        """The least margin of an external network; null for any other input, and where no margin is known."""
        known = [(one.margin, one.n, one.margin_word) for one in self.judged if one.margin is not None]
        margin, n, word = min(known, key=lambda one: one[:2], default=(None, 0, None))
        return None if margin is None or word is None else LeastMargin(margin, n, word)

    @property
    @written
    def first_wrong(self) -> Natural | None:
        """The least length at which an external network was found wrong; null: at none."""
        return len(self.mismatch.word) if self.mismatch is not None and self.mismatch.direct else None


@dataclass(frozen=True, slots=True, repr=False)
class OutputEnds(Record):
    """One output of the network at one position, enclosed between two numbers."""

    output: str
    """The output's name."""
    low: Lower | None
    """A lower bound of the output; None where none was found."""
    high: Upper | None
    """An upper bound of the output; None where none was found."""


@dataclass(frozen=True, slots=True, repr=False)
class PlaceOutputs(Record):
    """The outputs of an external network after one token."""

    position: Natural
    """The token's position among all tokens that the network reads, from 0."""
    token: str
    """The token."""
    answer: str | None
    """The answer that the outputs certainly give; None where it is uncertain."""
    expected: str | None
    """The expected answer; None where there is none."""
    outputs: tuple[OutputEnds, ...]
    """The outputs of the network at this position."""


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Record):
    """One word: the answers, and what was measured of the network on it. Output, unrounded and margin are known for
    networks that round to 0 or 1, error and bound for networks with Theorem 26's temperature."""

    word: AnyWord
    """The word; empty only for an external network that reads tokens around it."""
    oracle: Answer
    """The answer of the semantics; None for an input that is its own specification."""
    hard: Answer
    """The answer of hard attention."""
    soft: Answer
    """The answer of softmax; None also where no answer was reached."""
    digits: Digits
    decided: bool = True
    """True if the network reached an answer; if not, nothing was measured."""
    output: Measured | None = None
    """An acceptor's softmax output, the middle of its enclosure; None if none was reached or known."""
    unrounded: Measured | None = None
    """The output before its last rounding; None if no attention decides it."""
    margin: Measured | None = None
    """Least distance of an attended value from its threshold; negative: not decided. For an external network, a
    lower bound of the least distance of a judged output from a wrong answer; negative: an output is wrong."""
    error: Measured | None = None
    """Largest error at the end, upper end of its enclosure, or the bound if it lies in the enclosure."""
    bound: Measured | None = None
    """The bound that theory gives for the error."""
    places: tuple[PlaceOutputs, ...] = ()
    """The outputs of an external network, at each position where it is read."""
    right: bool | None = None
    """True if the external network gives the expected answer; None where there is no expected answer, or where it is
    undecided."""
    no_output: NoOutput | None = None
    """The first expected value that no output has; null: an output has every expected value."""
    hard_undecided: HardUndecided | None = None
    """The reason why hard attention itself decides nothing. Null: it decides the word, or a position's outputs do not
    name exactly one symbol."""
    arithmetic: str | None = None
    """The arithmetic of an external network's outputs, with its bits or digits; null: float64, or another model."""

    @property
    def summary(self) -> str:
        """One line: the word and the answers."""
        return f"{word_summary(self.word)}: {answers_summary(self)}"

    @property
    def mismatch(self) -> Mismatch | None:
        """The mismatch, if two of the answers differ; otherwise None."""
        if self.places:
            wrong = Mismatch(
                self.word, self.oracle, None, self.soft, self.output, self.decided, True, None, self.no_output
            )
            return wrong if self.right is False else None
        found = Mismatch(
            self.word, self.oracle, self.hard, self.soft, self.output, self.decided, no_output=self.no_output
        )
        return found if found.refutes else None

    @property
    @written
    def agree(self) -> bool | None:
        """True if all answers are the same, False if two differ; None where an answer is missing and no two differ."""
        if self.mismatch is not None:
            return False
        # The places are those of an external network: it has no hard attention to compare with.
        if self.places:
            return self.right
        return True if self.decided and settled(self.hard) else None


@dataclass(frozen=True, slots=True, repr=False)
class EvalResult(Record):
    """The result of `eval`: words run on one network."""

    input: InputName
    kind: InputKind
    model: ModelFacts
    """The network that was run."""
    engine: Engine
    words: tuple[Evaluation, ...]
    """The words, in the order given."""
    partial: Partial = False
    against: Against = None
    errors: tuple[WordError, ...] = ()
    """The words without an answer, because the reference or the program failed on them. They are not among `words`."""

    @staticmethod
    def of(
        subject: Target, engine: str, words: Sequence[Evaluation], errors: Sequence[WordError], partial: bool = False
    ) -> EvalResult:
        """Return the result for words run on a subject."""
        facts, against, found, bad = subject.facts, subject.against, tuple(words), tuple(errors)
        return EvalResult(subject.name, subject.kind, facts, engine, found, partial, against, bad)

    @property
    def summary(self) -> str:
        """One line: the number of words, and on how many of them the answers agree, differ or are undecided."""
        counted = [sum(word.agree is agree for word in self.words) for agree in (True, False)]
        counted.append(sum(word.agree is None and not (word.places and word.decided) for word in self.words))
        parts = [plural(len(self.words), "word"), f"{counted[0]} {'agrees' if counted[0] == 1 else 'agree'}"]
        parts.append(f"{counted[1]} {'mismatch' if counted[1] == 1 else 'mismatches'}")
        parts += [f"{counted[2]} undecided"] * bool(counted[2]) + ["interrupted"] * self.partial
        parts += [f"{len(self.errors)} without an answer"] * bool(self.errors)
        return f"{input_summary(self.input)}: {', '.join(parts)}"

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, place: int) -> Evaluation:
        return self.words[place]


@dataclass(frozen=True, slots=True, repr=False)
class OracleAnswer(Record):
    """A word and the answer of the semantics."""

    word: Word
    """The word."""
    oracle: Answer
    """True or False for an acceptor; the output word for a transduction."""


@dataclass(frozen=True, slots=True, repr=False)
class OracleResult(Record):
    """The answers of an input that has a semantics and no network: a regular expression, or a program without a
    construction."""

    input: InputName
    kind: InputKind
    words: tuple[OracleAnswer, ...]
    """The words, in the order given."""

    @property
    def summary(self) -> str:
        """One line: the input and the number of words."""
        return f"{input_summary(self.input)}: {plural(len(self.words), 'word')}, semantics alone"


@dataclass(frozen=True, slots=True, repr=False)
class WordsResult(Record):
    """The result of `words`: the accepted words up to a length, in length-lexicographic order."""

    input: InputName
    kind: InputKind
    model: ModelFacts | None
    """The network; None for a program without a construction, which has a semantics alone."""
    by: Annotated[str, one_of("oracle", "hard", "soft")]
    """The source of the answers; a model without semantics of its own is its own oracle."""
    max_n: Length
    tried: Natural
    """Number of words tried; after an interruption, up to the last accepted word found. Where words are listed
    from an automaton, only the accepted words count as tried."""
    accepted: tuple[Word, ...]
    """The accepted words."""
    partial: Partial = False

    @property
    def summary(self) -> str:
        """One line: the number of words, the greatest length, and the source of the answers."""
        found = f"{plural(len(self.accepted), 'word')} to length {self.max_n}, by {self.by}"
        return f"{input_summary(self.input)}: {found}{', interrupted' * self.partial}"

    def __iter__(self) -> Iterator[Word]:
        return iter(self.accepted)

    def __len__(self) -> int:
        return len(self.accepted)

    def __getitem__(self, place: int) -> Word:
        return self.accepted[place]


@dataclass(frozen=True, slots=True, repr=False)
class FormatResult(Record):
    """The result of `format`: a file and its canonical form."""

    input: InputName
    canonical: bool
    """True if the file was in its canonical form."""
    line: int | None
    """The first line that differs in the canonical form, from 1; null: none differs."""
    written: bool
    """True if the file was rewritten."""
    text: str
    """The canonical form."""
    diff: tuple[str, ...] = ()
    """The lines of a unified diff from the file to its canonical form; none if they are the same."""


@dataclass(frozen=True, slots=True, repr=False)
class CompileResult(Record):
    """The result of `compile`: a network or a hard-attention model that was written."""

    input: InputName
    kind: InputKind
    model: ModelFacts
    """The network."""
    output: str
    """The path of the written file as given, or - for standard output."""
    sha256: Digest
    """SHA-256 of the written file."""
    ties: tuple[Tie, ...] = ()
    """The ties found, one entry for each head that has any, if words were run for Theorem 26's temperature."""


@dataclass(frozen=True, slots=True, repr=False)
class NewResult(Record):
    """The result of `new`: a specification that was written for a network, with a line to complete."""

    input: InputName
    kind: InputKind
    output: str
    """The path of the specification, or - for standard output."""
    sha256: Digest
    """SHA-256 of the specification."""
    line: Positive
    """The number of the line to complete."""
    key: str
    """The key of this line."""


def no_answer(undecided: int, words: int) -> str:
    """Return the sentence that gives the number of words tried without an answer."""
    return f"no answer of the softmax network was reached on {undecided:,} of {words:,} words"


def undecided_word(word: Word) -> str:
    """Return the sentence that explains why a word is neither accepted nor rejected."""
    return f"the word {' '.join(word)} is undecided: a value lies on its threshold, or too close to it for this engine"


def span_text(min_n: int, max_n: int) -> str:
    """Return a range of lengths as text: `length 4,096`, or `length 1 to 64`."""
    return f"length {numbers_text(min_n, max_n)}"


def numbers_text(first: int, last: int) -> str:
    """Return a range of numbers as text: `4,096`, or `1 to 64`."""
    return f"{first:,}" + (f" to {last:,}" if last > first else "")


def printed_lengths(max_n: int, every: bool = False) -> tuple[range, ...]:
    """Return the lengths that each row of a table stands for, from 1 to `max_n`: a row each for 1 to 8, then a row up
    to each power of two and up to `max_n`. If there are more than MOST_ROWS rows, the first ones are merged. With
    `every`, each length has a row."""
    if every:
        return tuple(range(n, n + 1) for n in range(1, max_n + 1))
    doubled = (SINGLE_ROWS << k for k in count_from(1))
    ends = [*range(1, min(SINGLE_ROWS, max_n) + 1), *takewhile(lambda end: end < max_n, doubled)]
    kept = [*(end for end in ends if end < max_n), max_n][-MOST_ROWS:]
    return tuple(range(before + 1, end + 1) for before, end in pairwise([0, *kept]))


def output_text(value: Fraction) -> str:
    """Format a network's output so that a value close to 0 or 1, but not exactly there, never looks like 0 or 1."""
    # Near 0, `short` keeps significant digits; near 1 it would round to 1.
    if value != 1 and abs(1 - value) < Fraction(1, 1000):
        return f"1 {'-' if value < 1 else '+'} {short(abs(1 - value))}"
    return short(value)


def answer_text(answer: Answer, alphabet: Sequence[str]) -> str:
    """Return the text of an answer in a table: accept, reject or the output word. An undecided part is `undecided`,
    or `?` in a word."""
    if isinstance(answer, tuple):
        return written_output(["?" if symbol is None else symbol for symbol in answer], alphabet) or EMPTY
    return "undecided" if answer is None else "accept" if answer else "reject"


def judged_text(answer: Answer) -> str:
    """Return the text of an external network's answer, or of the expected one, position by position where there
    are several."""
    if not isinstance(answer, tuple):
        return answer_text(answer, ())
    return " ".join(NOTHING if one is None else str(one) for one in answer)


def word_summary(word: Word) -> str:
    """Return a word for a summary: its beginning, if it is long."""
    text = shown_word(word, word)
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}... ({len(word):,} symbols)"


def input_summary(name: str) -> str:
    """Return the name of an input for a summary: its end, if it is long."""
    return name if len(name) <= LONGEST_TOLD else f"...{name[-LONGEST_TOLD:]}"


def verdict_summary(verdict: str, name: str, reach: str, word: Word | None = None) -> str:
    """Return one line: the verdict, the input, how far the verdict reaches, and the word that refutes it, if any."""
    return f"{verdict} {input_summary(name)}: {reach}" + ("" if word is None else f": {word_summary(word)}")


def answers_summary(found: Mismatch | Evaluation) -> str:
    """Return the answers of oracle, hard attention and softmax as text; for an external network the expected answer
    and its own."""
    if (found.direct if isinstance(found, Mismatch) else bool(found.places)) and found.decided:
        expected = "" if found.oracle is None else f"expected {judged_text(found.oracle)}, "
        return f"{expected}the network gives {judged_text(found.soft)}"
    description = {"oracle": found.oracle, "hard": found.hard, "soft": found.soft}
    texts = {who: _text_of(answer) for who, answer in description.items() if answer is not None or who != "oracle"}
    if not found.decided:
        texts["soft"] = NOT_DECIDED
    elif found.output is not None and found.output not in (0, 1):
        texts["soft"] += f" (output {output_text(found.output)})"
    return ", ".join(f"{who} {text}" for who, text in texts.items())


def _text_of(answer: Answer) -> str:
    if isinstance(answer, tuple) and answer:
        if any(isinstance(part, int) for part in answer):
            return shortened(answer_text(answer, ()), LONGEST_TOLD)
        return word_summary(tuple("?" if symbol is None else str(symbol) for symbol in answer))
    return answer_text(answer, ())
