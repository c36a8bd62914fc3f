"""A compiled program: the model, and how to read every vector of the program from its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardsim.ahat.exact import Trace
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.padding import padded_word
from hardsim.net.model import Transformer
from hardsim.rasp.ranges import Guard, Measure, check_ranges


@dataclass(frozen=True, slots=True)
class Readout:
    """How to read a vector from the columns at the end of a run.

    A Boolean is `measures[""]`, true above 1/2; an integer is `measures[""]`; a symbol is the one with the largest
    measure (1, the others have 0). Booleans and symbols are forms of the columns, integers n times such forms.
    """

    sort: ast.Sort
    measures: Mapping[str, Measure]

    def values(self, trace: Trace, word: int) -> list[bool | int | str]:
        """The vector at positions 1..n of one word of the batch."""
        columns = {key: measure.column(trace) for key, measure in self.measures.items()}
        positions = range(1, trace.n + 1)
        if self.sort is ast.Sort.SYMBOL:
            return [max(columns, key=lambda symbol: columns[symbol].at(word, i)) for i in positions]
        values = [columns[""].at(word, i) for i in positions]
        if self.sort is ast.Sort.BOOL:
            return [2 * value > 1 for value in values]
        return [round(value) for value in values]


@dataclass(frozen=True)
class Compiled:
    """A program as a hard-attention transformer with a beginning of sequence.

    `outputs` gives for a transduction the coordinate of each symbol, to be read at positions 1..n, where the symbol is
    the one whose coordinate is above 1/2; an acceptor has none, and its Boolean is `model.output` at position n.
    """

    program: ast.Program
    model: Transformer
    outputs: tuple[tuple[str, int], ...]
    vectors: Mapping[str, Readout]
    guards: tuple[Guard, ...]
    warnings: tuple[str, ...]

    def padded(self, word: Sequence[str]) -> tuple[str, ...]:
        """The word that the model reads.

        Raises:
            InputError: as `padded_word`.
        """
        return padded_word(self.program, word)

    def check_ranges(self, words: Sequence[Sequence[str]], trace: Trace) -> None:
        """Hold the integers of a run to [-n, n]; `words` are those of the batch.

        Raises:
            OutOfRange: for the first of them, by word, vector (in program order) and position.
        """
        check_ranges(self.guards, words, trace)
