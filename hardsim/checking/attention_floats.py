"""Answers and errors of a batch in certified float64, beside the exact hard run of the same words."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

import numpy as np

from hardsim.ahat.exact import Trace as HardTrace
from hardsim.checking.attention import Answer, AttentionSubject
from hardsim.checking.attention_tally import ErrorTally
from hardsim.errors import Undecided
from hardsim.run.enclosure import Booleans, Floats, Integers, U, outward, quotients, rounded
from hardsim.run.float_model import Enclosed, FloatTrace
from hardsim.spec.integers import Exact

FLOAT_BITS = 53


def float_errors(soft: FloatTrace, hard: HardTrace, words: slice | Integers = slice(None)) -> ErrorTally:
    """Enclosures of the largest error of each coordinate, stage by stage, and of what each head wrote, over some of
    the words.

    Raises:
        Undecided: if some error has no finite bound.
    """
    total = ErrorTally(bits=FLOAT_BITS)
    before: list[Enclosed] = []
    for number, (stages, layer) in enumerate(zip(soft.layers, hard.layers, strict=True)):
        for stage, (found, exact) in enumerate(zip(stages, (layer.attended, layer.columns), strict=True)):
            for coordinate, column in enumerate(found):
                if not before or column is not before[coordinate]:
                    total.errors[number, stage, coordinate] = largest_error(column, exact[coordinate], words)
            before = found
        for name, values in layer.results.items():
            for out, result in values.items():
                total.values[name, out] = largest_error(soft.attended[name, out], result, words)
    return total


def largest_error(soft: Enclosed, hard: Exact, words: slice | Integers = slice(None)) -> tuple[Fraction, Fraction]:
    """An enclosure of the largest distance over some words and all positions.

    Raises:
        Undecided: if there is no finite bound.
    """
    wanted, rounding = quotients(hard.whole[words], hard.unit)
    mid, rad = soft.mid[words], soft.rad[words]
    with np.errstate(all="ignore"):
        distance = np.abs(mid - wanted)
        off = outward(rad + rounding + 4 * U * distance)
        off = np.where((rad == 0) & (rounding == 0) & (distance == 0), 0.0, off)
        low, high = float(np.max(distance - off)), float(np.max(distance + off))
    if not isfinite(low) or not isfinite(high):
        raise Undecided("float64 has no finite bound on an error")
    return Fraction(max(low, 0.0)) * (1 - Fraction(1, 2**50)), Fraction(high) * (1 + Fraction(1, 2**50))


def float_answers(subject: AttentionSubject, soft: FloatTrace, n: int) -> list[Answer]:
    """The answers of a batch; None (or a None among the symbols) where float64 does not settle them."""
    threshold = subject.threshold
    if subject.acceptor:
        column = soft.columns[subject.hard.output]
        place = subject.hard.reading_index(n)
        if subject.rounded:
            exact = (column.rad[:, place] == 0) & ((column.mid[:, place] == 0) | (column.mid[:, place] == 1))
            return [
                bool(value) if settled else None for value, settled in zip(column.mid[:, place], exact, strict=True)
            ]
        return sides(column.mid[:, place], column.rad[:, place], threshold)
    first = 1 - subject.hard.first
    found = [
        (symbol, above(soft.columns[index], threshold, first), below(soft.columns[index], threshold, first))
        for symbol, index in subject.outputs
    ]
    words = soft.columns[0].mid.shape[0]
    answers: list[Answer] = []
    for word in range(words):
        symbols: list[str | None] = []
        for i in range(n):
            chosen = [symbol for symbol, over, _ in found if over[word, i]]
            sure = len(chosen) == 1 and all(over[word, i] or under[word, i] for _, over, under in found)
            symbols.append(chosen[0] if sure else None)
        answers.append(tuple(symbol for symbol in symbols if symbol is None or symbol != subject.blank))
    return answers


def sides(mid: Floats, rad: Floats, threshold: Fraction) -> list[Answer]:
    """On which side of the threshold each value certainly is."""
    column = Enclosed(mid[:, None], rad[:, None])
    over, under = above(column, threshold, 0), below(column, threshold, 0)
    return [
        bool(high) if high or low else None for high, low in zip(over[:, 0].tolist(), under[:, 0].tolist(), strict=True)
    ]


def above(column: Enclosed, threshold: Fraction, first: int) -> Booleans:
    """Where a column certainly is above the threshold, at the positions of the word."""
    level, off = rounded(threshold)
    mid, rad = column.mid[:, first:], column.rad[:, first:]
    with np.errstate(all="ignore"):
        distance = mid - level
        result: Booleans = np.isfinite(mid) & (distance > outward(rad + off + 4 * U * np.abs(distance)))
    return result


def below(column: Enclosed, threshold: Fraction, first: int) -> Booleans:
    """Where a column certainly is below the threshold, at the positions of the word."""
    return above(Enclosed(-column.mid, column.rad), -threshold, first)


def float_margins(subject: AttentionSubject, soft: FloatTrace, n: int) -> list[float]:
    """About how far each word is from another answer: rounded values from their thresholds, outputs from theirs."""
    if subject.rounded:
        return _known(soft.margin)
    outs = [subject.hard.output] if subject.acceptor else [index for _, index in subject.outputs]
    first = subject.hard.reading_index(n) if subject.acceptor else 1 - subject.hard.first
    last = first + 1 if subject.acceptor else None
    level, _ = rounded(subject.threshold)
    with np.errstate(all="ignore"):
        distances = [np.abs(soft.columns[out].mid[:, first:last] - level).min(axis=1) for out in outs]
    return _known(np.minimum.reduce([soft.margin, *distances]))


def _known(margins: Floats) -> list[float]:
    """Margins to sort by: the least where there is none."""
    return [float(margin) for margin in np.where(np.isnan(margins), -np.inf, margins)]
