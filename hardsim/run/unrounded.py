"""The output before rounding, which shows how far apart accepted and rejected words really are.

After its last clip the output is 0 or 1. To show the values before the clips, every coordinate at the last position
gets an *unrounded* value (ours). A clip `2x - 1/2` that reads attention has the unrounded value x, or, if its cap is a
literal, the least of both; a Boolean gate takes an order statistic of its inputs' unrounded values. A gate
`clip(sum of k literals - (t - 1))` says that at least t of them are true, so its continuous extension is the t-th
largest: the least for a conjunction, the largest for a disjunction. Coordinates that do not depend on attention keep 0
and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from hardsim.network.numbers import Rational
from hardsim.network.transformer import FeedForward, HiddenUnit, Transformer
from hardsim.run.arithmetic import Value, lift
from hardsim.run.forward import HALF, Forward, Trace

QUARTER = Fraction(1, 4)
L = TypeVar("L")


def unrounded_output(forward: Forward[Any], trace: Trace[Any]) -> Value | None:
    """Return the unrounded value of the output coordinate at the last position, a number of the arithmetic.

    It is at most 1/4 if the network rejects and at least 3/4 if it accepts. The result is None if the output does not
    depend on attention.
    """
    arithmetic, number = forward.arithmetic, forward.arithmetic.number

    def affine(value: Value, factor: Rational, shift: Rational) -> Value:
        return lift(arithmetic, value) * number(factor) + number(shift)

    def level_of(inputs: Sequence[Value], number: int) -> Value:
        return affine(inputs[number], HALF, QUARTER)

    levels: dict[int, Value] = {}
    for layer, inputs in zip(forward.model.layers, trace.inputs, strict=True):
        last = {index: column.values[-1] for index, column in enumerate(trace.columns)}
        level_in = partial(level_of, inputs)
        extend(forward.model, layer.ffn, level_in, levels, last.__getitem__, affine, arithmetic.ranked)
    return levels.get(forward.model.output)


def extend(
    model: Transformer,
    layer: FeedForward,
    level_in: Callable[[int], L],
    levels: dict[int, L],
    read: Callable[[int], L],
    affine: Callable[[L, Rational, Rational], L],
    ranked: Callable[[Sequence[L], int], L],
) -> None:
    """Add the unrounded values of the coordinates that a layer writes to `levels`, by coordinate.

    Args:
        level_in: returns x/2 + 1/4 for the input x of a unit of the layer at the last position, by the unit's number.
        read: returns the value of any other coordinate there.
        affine: returns factor x + shift for a value, a factor and a shift.
        ranked: returns the k-th largest of some values (1: the largest).
    """

    def level_at(index: int) -> L:
        """Return the unrounded value of a coordinate that the layer reads."""
        return levels[index] if index in levels else read(index)

    def level_of(number: int, unit: HiddenUnit) -> L | None:
        """Return the unrounded value of one unit; None if the unit depends only on exact Booleans."""
        if model.rounds(unit):
            level = level_in(number)
            literals = [affine(level_at(index), weight, unit.cap_bias) for index, weight in unit.cap]
            return ranked([level, *literals], 2) if len(literals) == 1 else level
        gate = unit.clip and all(abs(weight) == 1 for _, weight in unit.form)
        if not gate or not any(index in levels for index, _ in unit.form):
            return None
        # The gate's bias is 1 - t plus the number of negated literals, so this is t.
        rank = int(1 - unit.bias + sum(weight == -1 for _, weight in unit.form))
        literals = [affine(level_at(index), weight, int(weight == -1)) for index, weight in unit.form]
        return ranked(literals, rank) if 1 <= rank <= len(literals) else None

    written: dict[int, list[tuple[Rational, L]]] = {}
    for number, unit in enumerate(layer.units):
        level = level_of(number, unit)
        if level is not None:
            for out, weight in unit.outs:
                written.setdefault(out, []).append((weight, level))
    biases = dict(layer.biases)
    for out, parts in written.items():
        weight = parts[0][0]
        if all(other == weight for other, _ in parts):
            levels[out] = affine(ranked([part for _, part in parts], 1), weight, biases.get(out, 0))
