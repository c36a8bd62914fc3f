"""What a check found: plain data that the reports render.

Every number is exact: an int, or a Fraction (measured values are the exact rationals that the arithmetic's numbers
are). Units: gaps and reach of scores are in units of the score (before beta and the temperature), temperatures in units
of the score per nat, everything else in units of the activations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import count as count_from
from itertools import pairwise, takewhile
from typing import Annotated, Literal, TypeAlias, get_args

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.pretty import shortened
from hardsim.lang.words import shown_word, written_output
from hardsim.program.regimes import REGIMES
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
    short,
    written,
)

# ---- what fields of several classes hold; a text in a type describes it ----

Word: TypeAlias = Annotated[tuple[str, ...], limits(min_length=1), "A word, symbol by symbol."]
AnyWord: TypeAlias = Annotated[
    tuple[str, ...], "A word, symbol by symbol; of a network that others made also the empty one."
]
Answer: TypeAlias = bool | tuple[str | int | None, ...] | None
"""Accepted or not, or the symbols or integers of an output; None stands for what is left undecided."""
Length: TypeAlias = Annotated[Positive, "A length of words."]
LayerNumber: TypeAlias = Annotated[Positive, "The layer, from 1."]
Possible: TypeAlias = Annotated[Count, "How many words of this length there are."]
Digits: TypeAlias = Annotated[Natural, "Decimal digits of the arithmetic."]
Seed: TypeAlias = Annotated[int, "Seed of the random words."]
InputName: TypeAlias = Annotated[str, "Path as given, or <expression>."]
InputDigest: TypeAlias = Annotated[Digest, "SHA-256 of the input: a file's bytes, an expression's text."]
FormulaText: TypeAlias = Annotated[str | None, "A formula's text; null for anything else."]
Title: TypeAlias = Annotated[str | None, "The unconfirmed title of a file that is no formula; null for a formula."]
Reach: TypeAlias = Annotated[str, "How far the verdict reaches, in words."]
Partial: TypeAlias = Annotated[bool, "Whether the run was interrupted."]
Opened: TypeAlias = Literal["ltl", "srasp", "ahat", "re", "network"]
"""The kinds of inputs that are opened."""
InputKind: TypeAlias = Annotated[
    str,
    one_of(*get_args(Opened)),
    "A formula, a program, a hard-attention model, a regular expression, or a network that others made.",
]
Against: TypeAlias = Annotated[
    str | None, "The file of --against, whose semantics is the oracle in place of the input's own; null: none."
]
HeadKind: TypeAlias = Annotated[str, one_of("uniform", "tieless", "ties")]
Engine: TypeAlias = Annotated[
    str,
    one_of("auto", "float64", "ball", "mpmath"),
    "The arithmetic of the softmax network. With float64 and ball, gaps and margins are lower bounds and errors upper "
    "bounds.",
]
Regime: TypeAlias = Annotated[str, one_of(*REGIMES)]
Assumption: TypeAlias = Annotated[
    str, "What bounds rest on besides Theorem 26, as 'gap and sizes measured on 64 words'; empty if on nothing."
]

AUTO, FLOAT64, BALL, MPMATH = "auto", "float64", "ball", "mpmath"
ENGINES = (AUTO, FLOAT64, BALL, MPMATH)
"""The arithmetics in which the softmax network can be run (see `checking.engines`)."""
OBSERVED_MISMATCH = "a mismatch in mpmath (no rigorous enclosure), which is not certified"
CERTIFY = f"--engine {BALL} certifies it, or shows that there is none"
UNSETTLED, DIRECT = "hard attention undecided", "soft/oracle"
NOT_DECIDED = "not decided"
UNASKED = "not asked: "
"""How a text begins that says why the prover was not asked."""
MOST_VALUES = 4
"""Different values of tied positions, and heads of an output, that a sentence lists."""
LONGEST_VALUE = 12
"""Characters of an exact value in a sentence; a longer one is rounded."""
LONGEST_TOLD = 40
"""Characters of a word, of a value or of the name of an input in a summary."""
SINGLE_ROWS, MOST_ROWS = 8, 12
"""Lengths that have a row of their own in a table, and the most rows of a table of lengths."""
MOST_POSSIBLE = 20
"""Possible outputs that a mismatch lists."""
LARGEST_SHOWN = 10**9
"""Counts from here on are shown as a power of ten."""


def settled(answer: Answer) -> bool:
    """Whether an answer leaves nothing undecided."""
    return answer is not None and (isinstance(answer, bool) or None not in answer)


class Verdict(StrEnum):
    """How far an answer reaches; never a stronger word than was earned."""

    PROVED = "PROVED"
    """Every word up to a length, or of every length."""
    CERTIFIED = "CERTIFIED"
    """The words listed, by rigorous arithmetic."""
    OBSERVED = "OBSERVED"
    """The words listed, agreement or a mismatch, with no rigorous arithmetic."""
    REFUTED = "REFUTED"
    """By the word that is printed, with rigorous arithmetic."""
    UNDECIDED = "UNDECIDED"
    """Nothing was tried, or no answer was reached within a limit."""

    def reaches(self, wanted: Verdict) -> bool:
        """Whether it says at least as much as another verdict of agreement."""
        order = (Verdict.UNDECIDED, Verdict.OBSERVED, Verdict.CERTIFIED, Verdict.PROVED)
        return self in order and order.index(self) >= order.index(wanted)


def judged_part(answer: Answer, reference: Answer) -> Answer:
    """Return an answer without the positions that the reference leaves open. Return the whole answer if none is
    open, or if its number of positions differs."""
    if not isinstance(answer, tuple) or not isinstance(reference, tuple):
        return answer
    if len(answer) != len(reference) or None not in reference:
        return answer
    return tuple(one for one, wish in zip(answer, reference, strict=True) if wish is not None)


@dataclass(frozen=True, slots=True, repr=False)
class NoOutput(Record):
    """An expected value that no output has, so that every answer of the network is wrong there."""

    wanted: str
    """The value, or the set of values."""
    position: Natural
    """The position of the symbol at which the value is expected, from 1; 0: before the first symbol."""
    possible: tuple[str, ...]
    """The outputs that the network can give; at most the first MOST_POSSIBLE are listed."""
    count: Natural
    """The number of outputs that the network can give."""

    @staticmethod
    def of(wanted: str, position: int, possible: Sequence[str]) -> NoOutput:
        """Return the record, with the first outputs listed."""
        return NoOutput(wanted, position, tuple(possible[:MOST_POSSIBLE]), len(possible))

    @property
    def summary(self) -> str:
        """The expected value, its position and the possible outputs."""
        more = f" ... ({self.count:,} in all)" if self.count > len(self.possible) else ""
        known = f"the possible outputs are {' '.join(self.possible)}{more}" if self.count else "outputs are integers"
        return f"no output is {self.wanted}, which is wanted at position {self.position}: {known}"


@dataclass(frozen=True, slots=True, repr=False)
class WordError(Record):
    """A word without a result, because the reference or the program failed on it."""

    word: AnyWord | None
    """The word; null: the error concerns no single word."""
    message: str
    """The error."""
    hint: str = ""
    """Advice on how to correct it."""
    out_of_range: bool = False
    """True if the word leaves the range that a construction covers."""

    @staticmethod
    def of(word: Word, error: InputError) -> WordError:
        """Return the record for an error about a word."""
        return WordError(word, error.message, error.hint, isinstance(error, OutOfRange))

    @property
    def error(self) -> InputError:
        """Return the error that this record stands for."""
        return (OutOfRange if self.out_of_range else InputError)(self.message, self.hint)

    @property
    def summary(self) -> str:
        """The message of the error, which names the word."""
        return f"not checked: {self.message}"


@dataclass(frozen=True, slots=True, repr=False)
class Mismatch(Record):
    """The shortest word on which two of the answers differ, or on which hard attention has none."""

    word: AnyWord
    """The word."""
    oracle: Answer
    """What the semantics says; None for what is its own specification."""
    hard: Answer
    """What hard attention says."""
    soft: Answer
    """What softmax says; None where the output of a network that rounds to 0 or 1 is neither, or any other lies on its
    threshold."""
    output: Measured | None = None
    """An acceptor's output; None if none was reached or known."""
    decided: bool = True
    """Whether an answer of the network was reached; if not, `soft` means nothing."""
    direct: bool = False
    """Whether the network, which others made, has no hard attention and is held against the oracle itself."""
    shrunk_from: AnyWord | None = None
    """The word that was found first, where a simpler one was made of it; null: this one."""
    no_output: NoOutput | None = None
    """The first expected value that no output has; null: an output has every expected value."""

    @property
    @written
    def kind(
        self,
    ) -> Annotated[str, one_of("soft/hard", "hard/oracle", "soft/hard and hard/oracle", UNSETTLED, DIRECT)]:
        """Which pair disagrees; where hard attention decides nothing, softmax cannot disagree with it."""
        if self.direct:
            return DIRECT
        soft, hard, oracle = (judged_part(one, self.oracle) for one in (self.soft, self.hard, self.oracle))
        pairs = [
            ("soft/hard", self.decided and settled(hard) and soft != hard),
            ("hard/oracle", oracle is not None and oracle != hard),
        ]
        return " and ".join(name for name, differs in pairs if differs) or UNSETTLED

    @property
    def summary(self) -> str:
        """Which answers differ on which word."""
        first = "" if self.shrunk_from is None else f" (shrunk from {plural(len(self.shrunk_from), 'symbol')})"
        impossible = "" if self.no_output is None else f"; {self.no_output.summary}"
        return f"{self.kind} on {word_summary(self.word)}{first}: {answers_summary(self)}{impossible}"

    @property
    def refutes(self) -> bool:
        """Whether two answers differ, rather than one being missing."""
        return self.kind != UNSETTLED

    def certain(self, engine: str) -> bool:
        """Return whether a mismatch is certain. Semantics and hard attention are exact; an mpmath result is only
        observed. An expected value that no output has needs no arithmetic."""
        return self.refutes and (engine != MPMATH or "hard/oracle" in self.kind or self.no_output is not None)


@dataclass(frozen=True, slots=True, repr=False)
class Violation(Record):
    """A claim that a computed number refutes: a declared gap above a measured one, a bound below an error."""

    what: str
    """What was claimed, of which head or coordinate."""
    n: Length
    word: Word | None
    """A word that shows it."""
    measured: Measured
    """The number that was found."""
    claimed: Measured
    """The number that was claimed."""
    observed: bool = False
    """True if mpmath computed the number, so that it is observed and not certain."""


Void: TypeAlias = Annotated[
    bool,
    "True if the bound beside it is void, so that the error may exceed it: the bound assumes that the head reads what "
    "hard attention reads, and on a word tried it does not, or the network is not the one that its specification "
    "makes.",
]
VoidAfter: TypeAlias = Annotated[
    str | None, "The head that failed first, if the bound is void for that reason; null otherwise."
]
Own: TypeAlias = Annotated[
    bool | None,
    "For a failure: true if hardsim made the network itself and finds it unedited, so that the false claim is a "
    "defect of hardsim; null where nothing failed.",
]


@dataclass(frozen=True, slots=True, repr=False)
class FirstFailure(Record):
    """The head that failed first: its error is so large that a clip which reads it does not give the Boolean of hard
    attention. At the shortest such length it is in the first layer where this happens. Later heads that depend on this
    clip have void bounds."""

    head: str
    """The head's name."""
    layer: LayerNumber
    n: Length
    word: Word
    """A word on which it fails."""


@dataclass(frozen=True, slots=True, repr=False)
class HeadResult(Record):
    """One head over the words tried of one length: its largest error and its least score gap, each beside its bound."""

    name: str
    """The head's name."""
    layer: LayerNumber
    purpose: str
    """What the head is for, as its compiler says."""
    theorem: str
    """The theorem that it rests on, if any."""
    error: Measured
    """Largest error of an attended value, soft minus hard, upper end of its enclosure."""
    bound: Measured
    """What theory allows."""
    score_gap: Exact | None
    """Least score gap; None for uniform heads and where no row had two different scores."""
    declared_gap: Exact | None
    """The least over the positions of what is declared; None: nothing."""
    paper_bound: Measured | None = None
    """For look-ups of counts Lemma 7 as the paper states it, twice `bound`."""
    kind: HeadKind | None = None
    """How it attended on the words tried: every score 0, always one largest score, or several; None where rows were not
    measured."""
    most_maxima: Positive | None = None
    """Most positions with the largest score; None where `kind` is."""
    score_range: Exact | None = None
    """Largest distance of two visible scores of a row; None where `kind` is."""
    void: Void = False
    void_after: VoidAfter = None


@dataclass(frozen=True, slots=True, repr=False)
class LayerResult(Record):
    """One layer under Theorem 26, over the words tried of one length: largest errors, each beside its bound."""

    layer: LayerNumber
    kind: str
    """The kinds of its heads, joined by 'and'; or 'no attention'."""
    size: Exact
    """Largest activation that enters it or leaves its attention."""
    attended_error: Measured
    """Largest error after attention."""
    attended_bound: Measured
    """What theory allows after attention."""
    error: Measured
    """Largest error after the layer."""
    bound: Measured
    """What theory allows after the layer."""


@dataclass(frozen=True, slots=True, repr=False)
class TemperatureRange(Record):
    """The temperature over the positions, in units of the score per nat. Of one that is no rational number these are
    rationals next to it."""

    least: Exact
    """The smallest, or a rational below it."""
    largest: Exact
    """The largest, or a rational above it."""

    @property
    def summary(self) -> str:
        """One temperature, or both ends."""
        ends = dict.fromkeys((short(self.least), short(self.largest)))
        return " to ".join(ends)


@dataclass(frozen=True, slots=True, repr=False)
class LengthResult(Record):
    """All words tried of one length. Acceptance gap and margin are of networks that round to 0 or 1; size, temperature,
    theorem, epsilon and layers are of those that have Theorem 26's temperature."""

    n: Length
    words: Natural
    """Words tried."""
    possible: Possible
    exhaustive: bool
    """Whether these are all words of the length."""
    accepted: Natural | None
    """Words accepted by the oracle, or by hard attention where there is none; None for a transduction."""
    soft_mismatches: Natural
    """Words on which softmax differs from hard attention."""
    hard_mismatches: Natural
    """Words on which hard attention differs from the oracle."""
    undecided: Natural
    """Words on which no answer of the network was reached; no measured number covers them."""
    score_gap: Exact | None
    """gap(n): the least of all heads."""
    error: Measured
    """Largest error of an attended value, or under Theorem 26 of an activation at the end; upper end of its
    enclosure."""
    bound: Measured
    """What theory promises of the error."""
    digits: Digits
    heads: tuple[HeadResult, ...]
    """The heads of all layers."""
    acceptance_gap: Measured | None = None
    """Least unrounded output among accepted words minus the largest among rejected ones; None unless both were tried,
    or where no attention decides."""
    margin: Measured | None = None
    """Least distance of an attended value from its threshold; negative: not decided."""
    sum_error: Measured | None = None
    """Largest error of a sum of looked-up counts, which rounding corrects up to 1/4; None: none is compared."""
    size: Exact | None = None
    """X(n): the largest activation between layers."""
    temperature: TemperatureRange | None = None
    """The temperature used."""
    theorem: Exact | None = None
    """Theorem 26's temperature for an error of at most epsilon."""
    epsilon: Exact | None = None
    """The wanted error."""
    assumption: Assumption = ""
    layers: tuple[LayerResult, ...] = ()
    """The layers, one by one."""
    void: Void = False
    void_after: VoidAfter = None
    unjudged: Natural = 0
    """Words on which the reference, a Python function, leaves every position open; they do not count as tried."""
    positions_judged: Natural | None = None
    """Positions that the function judges, on all words tried; null: no function is the reference."""
    positions_unjudged: Natural | None = None
    """Positions that it leaves open, on all words."""

    @property
    def mismatches(self) -> int:
        """Mismatches of both kinds."""
        return self.soft_mismatches + self.hard_mismatches


@dataclass(frozen=True, slots=True, repr=False)
class JudgedLength(Record):
    """All words tried of one length, on a network that others made."""

    n: Annotated[Natural, "A length of words; 0 where what is read before every word is judged too."]
    words: Natural
    """Words judged."""
    unjudged: Natural
    """Words on which the reference leaves every position open; they do not count as tried."""
    positions_judged: Natural
    """Positions that the reference judges. A word has a position for each symbol where the network is read at each or
    the reference is a list, and one otherwise."""
    positions_unjudged: Natural
    """Positions that the reference leaves open."""
    possible: Possible
    exhaustive: bool
    """Whether these are all words of the length."""
    mismatches: Natural
    """Words on which the network certainly is wrong."""
    undecided: Natural
    """Words on which it is not certain whether it is."""
    digits: Digits
    margin: Lower | None
    """At most the least distance of a judged output from a wrong answer, on all words but the undecided ones and those
    on which a wanted value is no output; negative: one is wrong. None: nothing was judged, or no margin was found."""
    margin_word: AnyWord | None
    """The first word that may have the least margin."""


@dataclass(frozen=True, slots=True, repr=False)
class TiedPosition(Record):
    """One of the positions that share the largest score of a row."""

    position: Natural
    """The position; 0 is the beginning of the sequence."""
    values: tuple[Exact, ...]
    """The values that the head reads there, one for each coordinate that it writes."""


@dataclass(frozen=True, slots=True, repr=False)
class TiedRow(Record):
    """A row of a leftmost or rightmost head whose tied positions carry different values."""

    word: Word
    """The word."""
    position: Natural
    """The query; 0 is the beginning of the sequence."""
    tied: Annotated[tuple[TiedPosition, ...], limits(min_length=2)]
    """The positions that share the largest score."""
    other_mean: bool
    """True if the mean of their values differs from the value that the head reads, so that no temperature helps."""

    @property
    def carried(self) -> str:
        """The different values, in the order of their positions."""
        found = [values_text(values) for values in dict.fromkeys(one.values for one in self.tied)]
        if len(found) > MOST_VALUES:
            found = [*found[: MOST_VALUES - 1], "others"]
        return f"{', '.join(found[:-1])} and {found[-1]}"


@dataclass(frozen=True, slots=True, repr=False)
class Tie(Record):
    """The first tie of a head: its shortest length, a word, and how softmax simulates the ties of the head. It
    describes the model as given, before weights are added that break ties.
    """

    head: str
    """The head's name."""
    n: Length
    word: Word
    """The word."""
    position: Natural
    """The query; 0 is the beginning of the sequence."""
    count: Annotated[int, limits(ge=2)]
    """Positions with the largest score."""
    simulated: Annotated[str, one_of("average", "one value", "weights added", "not simulated")] = "average"
    """How softmax simulates the ties. 'average': the head reads the mean, as softmax does. 'one value': the head is
    leftmost or rightmost, and all tied positions carry one value on the words tried, so that it is taken as an average
    head, with its own weights. 'weights added': weights were added that break the ties. 'not simulated': neither holds,
    and the weights are those of a softmax model, which are taken as they are."""
    differ: TiedRow | None = None
    """A row whose tied positions carry different values; null for an average head, and where there is none."""

    @property
    def note(self) -> str:
        """One clause: how the ties of a leftmost or rightmost head were treated, and why. Empty for an average head."""
        if self.simulated == "average":
            return ""
        if self.differ is None:
            told = "all tied positions carry one value: taken as an average head, no weights added"
            return f"head {self.head} ties, {told}"
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
    """Format exact values; long ones are shortened."""
    shown = [str(value) if len(str(value)) <= LONGEST_VALUE else short(value) for value in values]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


@dataclass(frozen=True, slots=True, repr=False)
class HardUndecided(Record):
    """A word on which hard attention itself decides nothing: an output lies exactly on the threshold or, without a
    threshold, is neither a truth value nor an integer over n.
    """

    word: Word
    """The word."""
    position: Natural
    """The position of the output; 0 is the beginning of the sequence."""
    output: str
    """The coordinate of the output."""
    value: Exact
    """The output."""
    threshold: Exact | None
    """The threshold, which the output equals; null: the output must be 0 or 1, or an integer over n."""
    each: bool
    """True if outputs are read at every position."""
    heads: tuple[str, ...]
    """The last heads on which the output depends."""

    @property
    def summary(self) -> str:
        """One sentence, with the word and the heads."""
        where = f"on `{word_summary(self.word)}`" + (f" at position {self.position}" if self.each else "")
        value = values_text([self.value])
        is_at = f"exactly the threshold {value}" if self.threshold is not None else f"{value}, which means nothing"
        few = ", ".join(self.heads[:MOST_VALUES]) + ", ..." * (len(self.heads) > MOST_VALUES)
        who = f" (read by head{'s' * (len(self.heads) > 1)} {few})" if few else ""
        told = f"{is_at}, so softmax has no answer to agree with"
        return f"hard attention itself decides nothing {where}: its output{who} is {told}"


FirstUndecided: TypeAlias = Annotated[
    HardUndecided | None,
    "The first word on which hard attention itself decides nothing, as where its output is the threshold; null: there "
    "is none among the words tried.",
]


@dataclass(frozen=True, slots=True, repr=False)
class Growth(Record):
    """A power law factor n^exponent fitted to values at several lengths; for people, not for proofs."""

    what: str
    """What is fitted."""
    exponent: float
    """The exponent, to four decimals."""
    factor: float
    """The factor."""
    from_n: Length
    to_n: Length


@dataclass(frozen=True, slots=True, repr=False)
class LeastMargin(Record):
    """The least margin of a network that others made, of all words judged."""

    margin: Lower
    """At most the least distance of a judged output from a wrong answer; negative: one is wrong."""
    n: Annotated[Natural, "The length of the word; the shortest, if several have it."]
    word: AnyWord
    """The first word that may have it."""

    @property
    def summary(self) -> str:
        """The margin, and where it is."""
        return f"{short(self.margin)} at length {self.n:,}, on {word_summary(self.word)}"


@dataclass(frozen=True, slots=True, repr=False)
class MarginTrend(Record):
    """How the least margin of a network that others made falls with the length of the words tried: the power law
    constant n^rate or the line constant + rate n, whichever has the smaller sum of squared errors of the margin. It is
    fitted to the lengths from 1 on at which nothing is wrong; where it stays for some lengths and falls then, to the
    last three or more of them, from where it falls. For people: an extrapolation, and no bound."""

    law: Annotated[str, one_of("power", "line")]
    """Which of the two."""
    constant: float
    """The factor of the power law, or the line at 0."""
    rate: float
    """The exponent, to four decimals, or the slope of the line."""
    from_n: Length
    to_n: Length
    level: Measured | None = None
    """What it falls to at `at_n`: 0, or for a power law, which has no zero, a tenth of the least margin it was fitted
    to. Null: it does not fall, or comes there within the lengths tried, or not in any length that is ever tried; or
    something was found wrong, whatever the law says."""
    at_n: Length | None = None
    """Near which length, if it goes on so."""

    @property
    def fit(self) -> str:
        """The law; a number alone where it is the same to three digits at all lengths and leads nowhere."""
        size, sign = short(abs(self.rate)), "-" if self.rate < 0 else "+"
        power = f"{short(self.constant)} n^{self.rate:.2f}"
        law = power if self.law == "power" else f"{short(self.constant)} {sign} {size} n"
        ends = (
            {short(self._at(n)) for n in (self.from_n, self.to_n)} if abs(self.rate) < 1 and self.at_n is None else ()
        )
        law = next(iter(ends)) if len(ends) == 1 else law
        return f"margin ~ {law} (fitted to lengths {self.from_n:,} to {self.to_n:,}; an extrapolation, not a bound)"

    def _at(self, n: int) -> float:
        return self.constant * float(n) ** self.rate if self.law == "power" else self.constant + self.rate * n

    @property
    def summary(self) -> str:
        """The law, and where it leads."""
        told = self.fit
        if self.at_n is None or self.level is None:
            return told if self.rate < 0 else f"{told}: it does not fall"
        down = f"falls to {short(self.level)}, a tenth of the least," if self.level else "reaches 0"
        return f"{told}: {down} near n = {self.at_n:,} if it goes on so"


@dataclass(frozen=True, slots=True, repr=False)
class Mapped(Record):
    """A word and what it is mapped to."""

    word: Word
    """The word."""
    output: tuple[str | int, ...]
    """The symbols, or integers, of the output."""


@dataclass(frozen=True, slots=True, repr=False)
class Shown(Record):
    """A few short words and what is said of them (by the oracle, or by hard attention where there is none), so that one
    sees what a verdict is about. Words of a transduction are neither accepted nor rejected."""

    accepted: tuple[Word, ...] = ()
    """At most three accepted words."""
    rejected: tuple[Word, ...] = ()
    """At most three rejected words."""
    outputs: tuple[Mapped, ...] = ()
    """At most three words of a transduction, with their outputs."""

    @property
    def summary(self) -> str:
        """The words, with what is said of them."""
        told = [
            f"{label} {', '.join(map(word_summary, words))}"
            for label, words in (("accepted", self.accepted), ("rejected", self.rejected))
            if words
        ]
        told += [
            f"{word_summary(one.word)} -> {answer_text(one.output, (*one.word, *map(str, one.output)))}"
            for one in self.outputs
        ]
        return "; ".join(told)


@dataclass(frozen=True, slots=True, repr=False)
class Parting(Record):
    """Where softmax leaves hard attention on a word: the head whose error makes the first clip differ that does, or
    that with the largest error where no clip does."""

    layer: LayerNumber
    head: str
    """The head's name."""
    purpose: str
    """What the head is for, as its compiler says."""
    position: Natural
    """The query; 0 is the beginning of the sequence."""
    hard: Measured
    """What hard attention reads there."""
    soft: Measured
    """What softmax reads there, the middle of its enclosure."""
    allowed: Measured | None
    """The largest error that the clip which reads it rounds away, the other heads being right; None where no clip
    differs."""

    @property
    def summary(self) -> str:
        """The head, where it is, and what it reads."""
        return f"layer {self.layer}, position {self.position}, head {self.head}: {self.reads}"

    @property
    def reads(self) -> str:
        """What softmax reads, beside what is right."""
        hard, soft = short(self.hard), short(self.soft)
        off = f"where {hard} is right it reads {soft}, off by {short(abs(self.soft - self.hard))}"
        return f"{off}; {short(self.allowed)} is rounded away" if self.allowed else off


@dataclass(frozen=True, slots=True, repr=False)
class ModelFacts(Record):
    """The network in numbers. Only what was compiled for a regime has one, and a beta."""

    layers: Natural
    """How many layers."""
    heads: Natural
    """How many heads, over all layers."""
    dimension: Positive
    """Coordinates of the residual stream."""
    parameters: Natural
    """Non-zero parameters."""
    temperature: str
    """An expression in n and i, or that it is Theorem 26's."""
    at: Annotated[str, one_of("first", "last", "each")] = "last"
    """The position at which the answer is read."""
    regime: Regime | None = None
    """The regime that it was compiled for."""
    beta: Exact | None = None
    """Inverse-temperature constant."""
    single_head: bool = False
    """Whether every layer was compiled to have one head."""
    counting: Annotated[str, one_of("lookup", "sign")] | None = None
    """How comparisons of counts are decided; None: none."""
    bos: bool = False
    """Whether there is a beginning of sequence, position 0."""
    ties_broken: tuple[str, ...] = ()
    """Heads whose ties are broken by added weights."""
    specified: bool = True
    """Whether the network is the one that its specification makes; false in a file that was edited."""
    given: Unwritten[tuple[str, ...]] = field(default=(), compare=False)
    """The options that were given of those that decide how sharp attention is: beta, tau, epsilon. Advice names no
    others."""

    @property
    def summary(self) -> str:
        """Its size, and what it was compiled for."""
        size = f"{plural(self.layers, 'layer')}, {plural(self.heads, 'head')}"
        if self.regime is None:
            return size
        return f"{size}, {'' if self.specified else 'the file says '}regime {self.regime}, beta {self.beta}"


@dataclass(frozen=True, slots=True, repr=False)
class ConstantReach(Record):
    """The lengths to which a network with a constant temperature and bounded encodings is right."""

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
    """A length beyond the shortest wrong word, if one was found."""
    farther_beta: Exact | None = None
    """A beta at which every word up to that length is proved right; null: none was found."""

    @property
    def summary(self) -> str:
        """State how far this beta reaches, and what is known of larger ones."""
        reached = f"every word to length {self.right_to} is right ({'proved' if self.proved else 'all were tried'})"
        if not self.right_to:
            reached = "not every word of length 1 is known to be right"
        if self.wrong_at is not None:
            reached += f", and one of length {self.wrong_at} is wrong"
        parts = [f"At beta {short(self.beta)}, with a constant temperature, {reached}."]
        if self.farther_beta is not None:
            parts.append(f"Beta {short(self.farther_beta)} is proved to reach length {self.farther_n}.")
        limit = "no constant beta reaches every length (Hahn's limit)."
        if not self.limited:
            parts.append(f"If an earlier symbol can decide the answer at every length, {limit}")
        else:
            parts.append(limit[0].upper() + limit[1:])
        return " ".join(parts)


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult(Record):
    """One input checked, a formula in one regime. If the run was interrupted, its numbers stand for the words tried
    until then."""

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
    """Lengths with so many words or fewer have every word tried."""
    samples: Natural | None
    """Random words per sampled length; None: 20 up to length 16, 4 beyond. Of networks that others made all words per
    searched length; None: 400."""
    lengths: tuple[LengthResult, ...]
    """What was found, length by length; of a network that others made `judged` has it."""
    verdict: Verdict
    """How far the answer reaches; OBSERVED is what mpmath found, agreement or a mismatch, which is not certified:
    `mismatch` and `violation` say which."""
    reach: Reach
    mismatch: Mismatch | None
    """The shortest mismatching word, the first in the order of the alphabet among the shortest."""
    violation: Violation | None = None
    """A claim that does not hold."""
    ties: tuple[Tie, ...] = ()
    """One for each head that has ties."""
    hard_undecided: FirstUndecided = None
    growth: tuple[Growth, ...] = ()
    """Fitted power laws."""
    partial: Partial = False
    undecided_word: AnyWord | None = None
    """The first word on which no answer of the network was reached."""
    proof: str | None = None
    """What the prover said of all words, or why it was not asked; None where nothing agrees."""
    shown: Shown | None = None
    """A few short words; None where nothing agrees."""
    parting: Parting | None = None
    """Where softmax leaves hard attention on the word of `mismatch`, if it does."""
    command: str | None = None
    """The command line that shows more of the word of `mismatch`, quoted for a shell."""
    against: Against = None
    judged: tuple[JudgedLength, ...] = ()
    """What was found of a network that others made, length by length."""
    trend: MarginTrend | None = None
    """How its least margin falls with the length; null for anything else, and where less than three margins are known
    that say nothing is wrong."""
    failed_first: FirstFailure | None = None
    """The head that failed first, if a bound is void because of one."""
    own: Own = None
    constant: ConstantReach | None = None
    """The lengths to which a formula's network at a constant temperature is right; null for anything else."""
    errors: tuple[WordError, ...] = ()
    """The first words of which nothing is known, since the reference or the program failed on them. A check without a
    mismatch ends with the first of these errors instead."""

    @property
    def summary(self) -> str:
        """The verdict, the input and how far it reaches."""
        return verdict_summary(self.verdict, self.input, self.reach, self.mismatch.word if self.mismatch else None)

    @property
    def agreed(self) -> bool:
        """Whether nothing was found that contradicts a claim."""
        return self.violation is None and (self.mismatch is None or not self.mismatch.refutes)

    @property
    @written
    def words(self) -> Natural:
        """Words tried."""
        return sum(length.words for length in self.lengths) + sum(length.words for length in self.judged)

    @property
    @written
    def positions_judged(self) -> Natural | None:
        """Count the positions that the reference judges, on all words tried; null where none are counted."""
        return self._positions("positions_judged")

    @property
    @written
    def positions_unjudged(self) -> Natural | None:
        """Count the positions that the reference leaves open, on all words; null where none are counted."""
        return self._positions("positions_unjudged")

    def _positions(self, name: str) -> int | None:
        found = [getattr(one, name) for one in (*self.lengths, *self.judged)]
        counted = [value for value in found if value is not None]
        return sum(counted) if counted else None

    @property
    @written
    def least_margin(self) -> LeastMargin | None:
        """The least margin of a network that others made; null for anything else, and where none is known."""
        known = [(one.margin, one.n, one.margin_word) for one in self.judged if one.margin is not None]
        margin, n, word = min(known, key=lambda one: one[:2], default=(None, 0, None))
        return None if margin is None or word is None else LeastMargin(margin, n, word)

    @property
    @written
    def first_wrong(self) -> Natural | None:
        """The least length at which a network that others made was found wrong; null: at none."""
        return len(self.mismatch.word) if self.mismatch is not None and self.mismatch.direct else None


@dataclass(frozen=True, slots=True, repr=False)
class OutputEnds(Record):
    """One output at one place, between two ends."""

    output: str
    """Its name."""
    low: Lower | None
    """A number that it is not below; None where none was found."""
    high: Upper | None
    """A number that it is not above."""


@dataclass(frozen=True, slots=True, repr=False)
class PlaceOutputs(Record):
    """What a network that others made says after one token."""

    position: Natural
    """Of all tokens that are read, from 0."""
    token: str
    """The token."""
    answer: str | None
    """What its outputs certainly say; None where they do not."""
    wanted: str | None
    """What is wanted; None where nothing is."""
    outputs: tuple[OutputEnds, ...]
    """All outputs."""


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Record):
    """One word: the answers, and what was measured of the network on it. Output, unrounded and margin are of networks
    that round to 0 or 1, error and bound of those that have Theorem 26's temperature."""

    word: Word
    """The word."""
    oracle: Answer
    """What the semantics says; None for what is its own specification."""
    hard: Answer
    """What hard attention says."""
    soft: Answer
    """What softmax says; None too where no answer was reached."""
    digits: Digits
    decided: bool = True
    """Whether an answer of the network was reached; if not, nothing was measured."""
    output: Measured | None = None
    """The network's output."""
    unrounded: Measured | None = None
    """The output before its last rounding; None if no attention decides it."""
    margin: Measured | None = None
    """Least distance of an attended value from its threshold."""
    error: Measured | None = None
    """Largest error at the end, upper end of its enclosure, or the bound if that lies in it."""
    bound: Measured | None = None
    """What theory promises of the error."""
    places: tuple[PlaceOutputs, ...] = ()
    """The outputs of a network that others made, at each place where it is read."""
    right: bool | None = None
    """Whether such a network says what is wanted; None where nothing is, or it is not decided."""
    no_output: NoOutput | None = None
    """The first expected value that no output has; null: an output has every expected value."""
    hard_undecided: HardUndecided | None = None
    """Why hard attention itself decides nothing; null: it decides the word, or its outputs name no one symbol."""

    @property
    def summary(self) -> str:
        """The word and the answers."""
        return f"{word_summary(self.word)}: {answers_summary(self)}"

    @property
    def mismatch(self) -> Mismatch | None:
        """The mismatch, if two of the answers differ."""
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
        """Whether all answers are the same; None where one is missing and no two differ."""
        if self.mismatch is not None:
            return False
        if self.places:
            return self.right
        return True if self.decided and settled(self.hard) else None


@dataclass(frozen=True, slots=True, repr=False)
class EvalResult(Record):
    """Words on one model."""

    input: InputName
    kind: InputKind
    model: ModelFacts
    """The network that was asked."""
    engine: Engine
    words: tuple[Evaluation, ...]
    """The words, in the order given."""
    partial: Partial = False
    against: Against = None
    errors: tuple[WordError, ...] = ()
    """The words without an answer, which are not among `words`, since the reference or the program failed on them."""

    @property
    def summary(self) -> str:
        """How many words, and on how many of them the answers agree."""
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
    """A word and what the semantics says of it."""

    word: Word
    """The word."""
    oracle: Answer
    """Whether it is accepted, or what it is mapped to."""


@dataclass(frozen=True, slots=True, repr=False)
class OracleResult(Record):
    """Words on what has a semantics and no network: a regular expression, or a program without a construction."""

    input: InputName
    kind: InputKind
    words: tuple[OracleAnswer, ...]
    """The words, in the order given."""

    @property
    def summary(self) -> str:
        """How many words."""
        return f"{input_summary(self.input)}: {plural(len(self.words), 'word')}, semantics alone"


@dataclass(frozen=True, slots=True, repr=False)
class WordsResult(Record):
    """The accepted words up to a length, in length-lexicographic order."""

    input: InputName
    kind: InputKind
    model: ModelFacts | None
    """The network; None for a program without a construction, whose semantics alone was asked."""
    by: Annotated[str, one_of("oracle", "hard", "soft")]
    """Whose answer counts; a model without semantics of its own is its own oracle."""
    max_n: Length
    tried: Natural
    """Words tried; after an interruption, up to the last that was found. Of a regular expression no others are."""
    accepted: tuple[Word, ...]
    """The words."""
    partial: Partial = False

    @property
    def summary(self) -> str:
        """How many words, to which length, by whom."""
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
    """A file and its canonical form."""

    input: InputName
    canonical: bool
    """Whether the file was in its canonical form."""
    line: int | None
    """The first line that is another in the canonical form, from 1; null: none is."""
    written: bool
    """Whether the file was rewritten."""
    text: str
    """The canonical form."""
    diff: tuple[str, ...] = ()
    """The lines of a unified diff from the file to its canonical form; none if they are the same."""


@dataclass(frozen=True, slots=True, repr=False)
class CompileResult(Record):
    """A network or a hard-attention model that was written."""

    input: InputName
    kind: InputKind
    model: ModelFacts
    """The network."""
    output: str
    """Path as given, or -."""
    sha256: Digest
    """SHA-256 of what was written."""
    ties: tuple[Tie, ...] = ()
    """One for each head that has ties, where words were run for Theorem 26's temperature."""


def no_answer(undecided: int, words: int) -> str:
    """How many of the words tried have no answer."""
    return f"no answer of the softmax network was reached on {undecided:,} of {words:,} words"


def undecided_word(word: Word) -> str:
    """Why a word of a language is not told."""
    return f"the word {' '.join(word)} is undecided: a value lies on its threshold, or too close to it for this engine"


def span_text(min_n: int, max_n: int) -> str:
    """Lengths in words: `length 4,096`, or `length 1 to 64`."""
    return f"length {min_n:,}" + (f" to {max_n:,}" if max_n > min_n else "")


def printed_lengths(max_n: int, every: bool = False) -> tuple[range, ...]:
    """The lengths that each row of a table stands for, from 1 to `max_n`: 1 to 8 each alone, then those up to each
    power of two and up to the last, the first rows made one where there are more than MOST_ROWS; `every`: one each."""
    if every:
        return tuple(range(n, n + 1) for n in range(1, max_n + 1))
    doubled = (SINGLE_ROWS << k for k in count_from(1))
    ends = [*range(1, min(SINGLE_ROWS, max_n) + 1), *takewhile(lambda end: end < max_n, doubled)]
    kept = [*(end for end in ends if end < max_n), max_n][-MOST_ROWS:]
    return tuple(range(before + 1, end + 1) for before, end in pairwise([0, *kept]))


def count(value: int) -> str:
    """A count with thousands separators; beyond a thousand million as a power of ten, rounded down."""
    if abs(value) < LARGEST_SHOWN:
        return f"{value:,}"
    return f"about 10^{Decimal(value).adjusted()}"


def plural(value: int, noun: str) -> str:
    """`1 word`, `2 words`."""
    return f"{count(value)} {noun if value == 1 else noun + 's'}"


def output_text(value: Fraction) -> str:
    """A network's output; one that is close to 0 or 1 but not exactly there never looks as if it were."""
    if value != 1 and abs(1 - value) < Fraction(1, 1000):
        return f"1 {'-' if value < 1 else '+'} {short(abs(1 - value))}"
    return short(value)


def answer_text(answer: Answer, alphabet: Sequence[str]) -> str:
    """An answer for a table: accept or reject, or the output word; `undecided`, or `?` in a word, is what is left
    undecided."""
    if isinstance(answer, tuple):
        return written_output(["?" if symbol is None else symbol for symbol in answer], alphabet) or EMPTY
    return "undecided" if answer is None else "accept" if answer else "reject"


def judged_text(answer: Answer) -> str:
    """What is wanted of a network that others made, or what it says, by position where there are several."""
    if not isinstance(answer, tuple):
        return answer_text(answer, ())
    return " ".join(NOTHING if one is None else str(one) for one in answer)


def word_summary(word: Word) -> str:
    """A word in a summary: its beginning, if it is long."""
    text = shown_word(word, word)
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}... ({len(word):,} symbols)"


def input_summary(name: str) -> str:
    """The name of an input in a summary: its end, if it is long."""
    return name if len(name) <= LONGEST_TOLD else f"...{name[-LONGEST_TOLD:]}"


def verdict_summary(verdict: str, name: str, reach: str, word: Word | None = None) -> str:
    """The verdict, the input, how far it reaches, and the word that refutes it."""
    return f"{verdict} {input_summary(name)}: {reach}" + ("" if word is None else f": {word_summary(word)}")


def answers_summary(found: Mismatch | Evaluation) -> str:
    """What each says of a word."""
    if (found.direct if isinstance(found, Mismatch) else bool(found.places)) and found.decided:
        wanted = "" if found.oracle is None else f"wanted {judged_text(found.oracle)}, "
        return f"{wanted}the network says {judged_text(found.soft)}"
    told = {"oracle": found.oracle, "hard": found.hard, "soft": found.soft}
    texts = {who: _told(answer) for who, answer in told.items() if answer is not None or who != "oracle"}
    if not found.decided:
        texts["soft"] = NOT_DECIDED
    elif found.output is not None and found.output not in (0, 1):
        texts["soft"] += f" (output {output_text(found.output)})"
    return ", ".join(f"{who} {text}" for who, text in texts.items())


def _told(answer: Answer) -> str:
    if isinstance(answer, tuple) and answer:
        if any(isinstance(part, int) for part in answer):
            return shortened(answer_text(answer, ()), LONGEST_TOLD)
        return word_summary(tuple("?" if symbol is None else str(symbol) for symbol in answer))
    return answer_text(answer, ())
