"""Answers and errors of a batch in certified float64, beside the exact hard run of the same words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hardsim.ahat.exact import Trace as HardTrace
from hardsim.checking.attention import Answer, AttentionSubject
from hardsim.checking.attention_tally import ErrorTally
from hardsim.run.float_model import Booleans, Enclosed, Floats, FloatTrace, as_floats, grown
from hardsim.spec.integers import Exact

FLOAT_BITS = 53


def float_errors(soft: FloatTrace, hard: HardTrace) -> ErrorTally:
    """Enclosures of the largest error of each coordinate, stage by stage, and of what each head wrote."""
    total = ErrorTally(bits=FLOAT_BITS)
    before: list[Enclosed] = []
    for number, (stages, layer) in enumerate(zip(soft.layers, hard.layers, strict=True)):
        for stage, (found, exact) in enumerate(zip(stages, (layer.attended, layer.columns), strict=True)):
            for coordinate, column in enumerate(found):
                if not before or column is not before[coordinate]:
                    total.errors[number, stage, coordinate] = largest_error(column, exact[coordinate])
            before = found
        for name, values in layer.results.items():
            for out, result in values.items():
                total.values[name, out] = largest_error(soft.attended[name, out], result)
    return total


def largest_error(soft: Enclosed, hard: Exact) -> tuple[Fraction, Fraction]:
    """An enclosure of the largest distance over all words and positions."""
    wanted, rounding = as_floats(hard.whole, hard.unit)
    distance = np.abs(soft.mid - wanted)
    off = np.where(
        (soft.rad == 0) & (distance == 0) & _whole(wanted), 0.0, grown(soft.rad + rounding + distance * 2.0**-52)
    )
    low, high = float(np.max(distance - off)), float(np.max(distance + off))
    return Fraction(max(low, 0.0)) * (1 - Fraction(1, 2**50)), Fraction(high) * (1 + Fraction(1, 2**50))


def _whole(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Where a float is an integer that float64 holds exactly."""
    result: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (values == np.round(values)) & (np.abs(values) < 2.0**50)
    return result


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
    level, off = float(threshold), abs(float(threshold)) * 2.0**-52
    found: list[Answer] = []
    for m, r in zip(mid, rad, strict=True):
        slack = r * (1 + 2.0**-20) + off + abs(m - level) * 2.0**-50
        found.append(None if not abs(m - level) > slack else bool(m > level))
    return found


def above(column: Enclosed, threshold: Fraction, first: int) -> Booleans:
    """Where a column certainly is above the threshold, at the positions of the word."""
    level, off = float(threshold), abs(float(threshold)) * 2.0**-52
    mid, rad = column.mid[:, first:], grown(column.rad[:, first:])
    result: Booleans = mid - level > rad + off + np.abs(mid - level) * 2.0**-50
    return result


def below(column: Enclosed, threshold: Fraction, first: int) -> Booleans:
    """Where a column certainly is below the threshold, at the positions of the word."""
    return above(Enclosed(-column.mid, column.rad), -threshold, first)


def float_margins(subject: AttentionSubject, soft: FloatTrace, n: int) -> list[float]:
    """About how far each word is from another answer: rounded values from their thresholds, outputs from theirs."""
    if subject.rounded:
        return [float(margin) for margin in soft.margin]
    outs = [subject.hard.output] if subject.acceptor else [index for _, index in subject.outputs]
    first = subject.hard.reading_index(n) if subject.acceptor else 1 - subject.hard.first
    last = first + 1 if subject.acceptor else None
    distances = [np.abs(soft.columns[out].mid[:, first:last] - float(subject.threshold)).min(axis=1) for out in outs]
    least = np.minimum.reduce([soft.margin, *distances])
    return [float(margin) for margin in least]
