"""Exact hard attention on single words, by `ExactModel`, with a check of the gaps that heads declare."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hardsim.compiling.from_ltl.lower import lower
from hardsim.hard.exact import HardTrace, require_promises
from hardsim.hard.hardmax import Rows
from tests.support.language import desugar, parse_expression
from tests.support.model import REGIMES, ExactModel, Head, Program, Weighting


@dataclass(frozen=True)
class HardRun:
    """The run of a program on one word of length n.

    `columns` has the final value of every coordinate at every position, `winners` the attended position of each row of
    each hard head, `gaps` the least score gap of each head over the rows with more than one visible position (0 for a
    leftmost or rightmost head whose maximum is not unique).
    """

    accepted: bool
    columns: dict[str, list[Fraction]]
    winners: dict[str, list[int]]
    gaps: dict[str, Fraction]


def since(regime: str = "temperature") -> Program:
    """Return the program of a S b over three letters, which has one hard head."""
    return lower(desugar(parse_expression("a S b", ["a", "b", "c"])), REGIMES[regime])


def with_head(program: Program, **changes: Any) -> Program:
    """Return the program with attributes of its only head changed."""
    layer = program.layers[0]
    return replace(program, layers=(replace(layer, heads=(replace(layer.heads[0], **changes),)),))


def hard_run(program: Program, word: Sequence[str]) -> HardRun:
    """Run a program on one word."""
    return hard_runs(program, [word])[0]


def hard_runs(program: Program, words: Sequence[Sequence[str]]) -> list[HardRun]:
    """Run a program on words of one length."""
    trace = ExactModel(program).run(words)
    require_promises(program, trace)
    rows = {name: found for layer in trace.layers for name, found in layer.rows.items()}
    heads = {head.name: head for head in program.heads}
    return [
        HardRun(
            accepted=program.verdict(output) is True,
            columns={name: list(map(Fraction, column.values(word))) for name, column in trace.columns.items()},
            winners={
                name: [int(place) + program.first for place in found.winners[word]]
                for name, found in rows.items()
                if heads[name].weighting is not Weighting.AVERAGE
            },
            gaps={
                name: gap for name, found in rows.items() if (gap := least_gap(heads[name], found, word)) is not None
            },
        )
        for word, output in enumerate(outputs_of(program, trace))
    ]


def least_gap(head: Head, rows: Rows, word: int) -> Fraction | None:
    """Return the least score gap of a head on one word; None if no row has a gap."""
    gaps = rows.gap[word]
    if head.weighting is not Weighting.AVERAGE:
        gaps = np.where(rows.maxima[word] > 1, 0, gaps)
    known = [Fraction(int(gap), unit) for gap, unit in zip(gaps, rows.units, strict=True) if gap >= 0]
    return min(known, default=None)


def outputs_of(program: Program, trace: HardTrace) -> list[Fraction]:
    """Return the output coordinate at the reading position, by word."""
    column, place = trace.columns[program.output], program.reading_index(trace.n)
    return [column.at(word, place) for word in range(column.whole.shape[0])]
