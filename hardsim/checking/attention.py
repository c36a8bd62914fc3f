"""Hard-attention models and programs as subjects of a check: what is asked of them, and how they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.exact import Trace as HardTrace
from hardsim.ahat.harden import with_softmax
from hardsim.checking.result import Word
from hardsim.lang.arith import Arith
from hardsim.net.model import Schedule, Transformer
from hardsim.run.forward import Trace
from hardsim.run.soft import finite_bounds, side

Answer = bool | tuple[str | None, ...] | None
"""Accepted or not, or the symbols of an output; None stands for what a network left undecided."""

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class AttentionOptions:
    """How a hard-attention model becomes a softmax model: at which temperature, or for which error epsilon."""

    tau: Arith | None = None
    epsilon: Fraction | None = None


@dataclass(frozen=True)
class AttentionSubject:
    """A hard-attention model, what judges it if anything does (the semantics of a program), and how it is read.

    `alphabet` is that of the words that are tried; `prepared` makes of such a word the one that the model reads (a
    program pads it). `outputs` are the coordinates of the output symbols of a transduction; empty for acceptors.
    """

    name: str
    sha256: str
    kind: Literal["ltl", "srasp", "ahat"]
    hard: Transformer
    alphabet: tuple[str, ...]
    examples: tuple[tuple[Word, Any], ...] = ()
    title: str = ""
    outputs: tuple[tuple[str, int], ...] = ()
    blank: str | None = None
    """The symbol that is dropped from the output of a padded transduction."""
    prepared: Callable[[Word], Word] = tuple
    oracle: Callable[[Word], Answer] | None = None
    guard: Callable[[Sequence[Word], HardTrace], None] | None = None
    """Raises where the exact run of some words leaves the range that the construction covers."""
    schedule: Schedule | None = None
    """The temperature that a compiled model came with."""
    predicates: tuple[str, ...] = ()
    """Definitions of predicates that the position encodings name."""
    structural: bool = False
    """Whether gaps and ranges are known for all words from how the model was built."""
    rounded: bool = False
    """Whether the softmax model's output must be exactly 1 or exactly 0, as that of a formula's network."""

    @property
    def acceptor(self) -> bool:
        """Whether it accepts or rejects; otherwise it maps words to words."""
        return not self.outputs

    def soft(self, temperature: Schedule) -> Transformer:
        """The softmax model at a temperature."""
        return with_softmax(self.hard, temperature)

    # ---- answers ----

    def hard_answers(self, model: ExactModel, trace: HardTrace) -> list[Answer]:
        """The answers of the exact run, word by word."""
        if self.acceptor:
            return [model.verdict(output) for output in model.outputs(trace)]
        count = trace.columns[0].whole.shape[0]
        first = 1 - self.hard.first
        columns = [(symbol, trace.columns[index]) for symbol, index in self.outputs]
        found: list[Answer] = []
        for word in range(count):
            rows = [(symbol, column.values(word)[first:]) for symbol, column in columns]
            found.append(self._output([[(symbol, row[i]) for symbol, row in rows] for i in range(trace.n)]))
        return found

    def soft_answer(self, trace: Trace[Any]) -> Answer:
        """The answer of a softmax run: on which side of the threshold each output coordinate certainly is."""
        if self.acceptor and self.rounded:
            value = trace.columns[self.hard.output].values[trace.index]
            return bool(value) if isinstance(value, int | Fraction) and value in (0, 1) else None
        if self.acceptor:
            return side(trace.columns[self.hard.output].values[trace.index], self.threshold)
        first = 1 - self.hard.first
        columns = [(symbol, trace.columns[index].values[first:]) for symbol, index in self.outputs]
        return self._output([[(s, column[i]) for s, column in columns] for i in range(len(columns[0][1]))])

    @property
    def threshold(self) -> Fraction:
        """What an output is compared with."""
        return HALF if self.hard.threshold is None else Fraction(self.hard.threshold)

    def _output(self, positions: list[list[tuple[str, Any]]]) -> tuple[str | None, ...]:
        """The symbols of a one-hot output, without blanks; None where it is not certain which one it is."""
        symbols: list[str | None] = []
        for position in positions:
            sides = [(symbol, side(value, self.threshold)) for symbol, value in position]
            chosen = [symbol for symbol, above in sides if above]
            certain = len(chosen) == 1 and all(above is not None for _, above in sides)
            symbols.append(chosen[0] if certain else None)
        return tuple(symbol for symbol in symbols if symbol is None or symbol != self.blank)


def certain(value: Any) -> bool:
    """Whether it is certain that a value is 0, is 1 or is neither."""
    if isinstance(value, int | Fraction):
        return True
    ends = finite_bounds(value)
    return ends is not None and (ends[1] < 0 or ends[0] > 1 or (ends[0] > 0 and ends[1] < 1))


def settled(answer: Answer) -> bool:
    """Whether an answer leaves nothing undecided."""
    return answer is not None and (isinstance(answer, bool) or None not in answer)
