"""Words, answers, names of kinds and engines, and the facts of a network, which targets and all results share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias, TypeVar, get_args

from hardsim.errors import InputError, OutOfRange
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import SoftWeighting
from hardsim.program.regimes import NAMED
from hardsim.records import (
    Exact,
    Natural,
    Positive,
    Record,
    Unwritten,
    limits,
    one_of,
)

Word: TypeAlias = Annotated[tuple[str, ...], limits(min_length=1), "A word, symbol by symbol."]
AnyWord: TypeAlias = Annotated[tuple[str, ...], "A word, symbol by symbol; for an external network, it may be empty."]
Answer: TypeAlias = bool | tuple[str | int | None, ...] | None
"""An answer for one word: accepted or not, or the symbols or integers of an output. None stands for an undecided
part."""
InputName: TypeAlias = Annotated[str, "Path as given, or <expression>."]
FormulaText: TypeAlias = Annotated[str | None, "A formula's text; null for any other input."]
Title: TypeAlias = Annotated[
    str | None, "The title that a file gives itself, which is not verified; null if it gives none."
]
Opened: TypeAlias = Literal["ltl", "srasp", "ahat", "re", "automaton", "network"]
"""The kinds of inputs that commands open."""
InputKind: TypeAlias = Annotated[
    str,
    one_of(*get_args(Opened)),
    "A formula, a program, a hard-attention model, a regular expression, an automaton, or an external network.",
]
Regime: TypeAlias = Annotated[str, one_of(*NAMED)]
AUTO, FLOAT64, BALL, MPMATH = "auto", "float64", "ball", "mpmath"
RATIONAL = "rational"
"""The arithmetic of a network all of whose values are rationals, whichever engine was asked for."""
ENGINES = (AUTO, FLOAT64, BALL, MPMATH)
"""The names of the arithmetics that can run the softmax network (see `campaign.engines`); `auto` chooses one."""
LONGEST_TOLD = 40
"""Largest number of characters of a word, of a value or of an input's name in a summary."""
MOST_POSSIBLE = 20
"""Largest number of possible outputs that a mismatch lists."""
LARGEST_SHOWN = 10**9
"""Least count that is shown as a power of ten."""


def settled(answer: Answer) -> bool:
    """Return True if no part of an answer is undecided."""
    return answer is not None and (isinstance(answer, bool) or None not in answer)


@dataclass(frozen=True, slots=True, repr=False)
class NoOutput(Record):
    """An expected value that no output of the network has, so that every answer of the network is wrong there."""

    expected: str
    """The expected value, or the set of expected values."""
    position: Natural
    """The position of the symbol at which the value is expected, from 1; 0: before the first symbol."""
    possible: tuple[str, ...]
    """The outputs that the network can give; at most the first MOST_POSSIBLE are listed."""
    count: Natural
    """Number of outputs that the network can give."""

    @staticmethod
    def of(expected: str, position: int, possible: Sequence[str]) -> NoOutput:
        """Return the record for an expected value, listing only the first of the possible outputs."""
        return NoOutput(expected, position, tuple(possible[:MOST_POSSIBLE]), len(possible))

    @property
    def summary(self) -> str:
        """One clause with the expected value, its position and the possible outputs."""
        more = f" ... ({self.count:,} in all)" if self.count > len(self.possible) else ""
        known = f"the possible outputs are {' '.join(self.possible)}{more}" if self.count else "outputs are integers"
        return f"no output is {self.expected}, which is expected at position {self.position}: {known}"


@dataclass(frozen=True, slots=True, repr=False)
class WordError(Record):
    """A word without a result, because the reference or the program failed on it."""

    word: AnyWord | None
    """The word; null: the error concerns no single word."""
    message: str
    """The error message."""
    hint: str = ""
    """Advice on how to correct the error."""
    out_of_range: bool = False
    """True if the word lies outside the range that a construction covers."""

    @staticmethod
    def of(word: Word, error: InputError) -> WordError:
        """Return the record for an error that a word raised."""
        return WordError(word, error.message, error.hint, isinstance(error, OutOfRange))

    @property
    def error(self) -> InputError:
        """The exception that this record stands for: OutOfRange or InputError."""
        return (OutOfRange if self.out_of_range else InputError)(self.message, self.hint)

    @property
    def summary(self) -> str:
        """The error message, which names the word, after `not checked`."""
        return f"not checked: {self.message}"


@dataclass(frozen=True, slots=True, repr=False)
class ModelFacts(Record):
    """The size of the network and how it was compiled. Only a network compiled for a regime has a regime and a
    beta."""

    layers: Natural
    """Number of layers."""
    heads: Natural
    """Number of heads, over all layers."""
    dimension: Positive
    """Number of coordinates of the residual stream."""
    parameters: Natural
    """Number of non-zero parameters."""
    temperature: str
    """The temperature: an expression in n and i, or the statement that it is Theorem 26's."""
    at: Annotated[str, one_of("first", "last", "each", "start", "mean")] = "last"
    """The position at which the answer is read: `first` and `last` count symbols of the word, `start` is the first
    token, `mean` the mean of all positions; the two are settings of external networks only."""
    regime: Regime | None = None
    """The regime that the network was compiled for."""
    beta: Exact | None = None
    """Inverse-temperature constant."""
    single_head: bool = False
    """True if every layer was compiled to have one head."""
    counting: Annotated[str, one_of("lookup", "sign")] | None = None
    """The method that decides comparisons of counts; None: there are no such comparisons."""
    weighting: Annotated[str, one_of(*(one.value for one in SoftWeighting))] = "softmax"
    """The function that makes attention weights of scores."""
    rounding: str | None = None
    """The rounding after each sublayer, as --rounding names it, such as floor:8; null: nothing is rounded."""
    bos: bool = False
    """True if there is a beginning of sequence, position 0."""
    ties_broken: tuple[str, ...] = ()
    """Names of the heads whose ties are broken by added weights."""
    specified: bool = True
    """True if the network equals the one that its specification compiles to; False in a file that was edited."""
    given: Unwritten[tuple[str, ...]] = field(default=(), compare=False)
    """The sharpness options that the user gave, out of beta, tau and epsilon. Advice names no others."""

    @property
    def summary(self) -> str:
        """One line: the number of layers and heads, the regime and beta."""
        size = f"{plural(self.layers, 'layer')}, {plural(self.heads, 'head')}"
        size += "" if self.weighting == "softmax" else f", {SoftWeighting(self.weighting).text}"
        if self.regime is None:
            return size
        size += f", {'' if self.specified else 'the file says '}regime {self.regime}"
        return size if self.beta is None else f"{size}, beta {self.beta}"


def count(value: int) -> str:
    """Format a count with thousands separators; from LARGEST_SHOWN on as a power of ten, rounded down."""
    if abs(value) < LARGEST_SHOWN:
        return f"{value:,}"
    return f"about 10^{Decimal(value).adjusted()}"


def plural(value: int, noun: str) -> str:
    """Return a count with its noun: `1 word`, `2 words`."""
    return f"{count(value)} {noun if value == 1 else noun + 's'}"


T = TypeVar("T")


def apart(words: Sequence[Word], answer: Callable[[Sequence[Word]], T]) -> tuple[list[T], list[WordError]]:
    """Return the answers on words of one length, in parts, and the words that have no answer, each with its error.

    All words are answered together. If that fails, the words are halved until each bad one is alone, so that the
    answered parts stay large.
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
