"""The output before rounding: how far apart accepted and rejected words really are.

After its last clip the output is 0 or 1. To see what the clips were given, every coordinate of the last position
gets an *unrounded* value (ours): a clip `2x - 1/2` that reads attention is worth x itself, a Boolean gate takes its
inputs' unrounded values by order statistics. A gate `clip(sum of k literals - (t - 1))` says that at least t of
them are true, so its continuous extension is the t-th largest: the least for a conjunction, the largest for a
disjunction. Coordinates that no attention decides keep 0 and 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hardsim.run.arithmetic import Value
from hardsim.run.forward import Forward, Trace
from hardsim.run.plan import Unit
from hardsim.spec.ir import Rational

HALF = Fraction(1, 2)


def unrounded_output(forward: Forward[Any], trace: Trace[Any]) -> Value | None:
    """The unrounded value of the output coordinate at the last position, a Rational or a number of the arithmetic.

    At most 1/4 where the network rejects and at least 3/4 where it accepts. None if no attention decides the output.
    """
    plan, model = forward.plan, forward.model
    soft: dict[int, Value] = {}
    for layer, inputs in zip(plan.layers, trace.inputs, strict=True):
        written: dict[int, list[tuple[Rational, Value]]] = {}
        for unit, value in zip(layer.units, inputs, strict=True):
            extended = _extend(unit, value, soft, trace, forward)
            if extended is not None:
                for out, weight in unit.outs:
                    written.setdefault(out, []).append((weight, extended))
        biases = dict(layer.biases)
        for out, parts in written.items():
            weight = parts[0][0]
            if all(other == weight for other, _ in parts):
                largest = forward.arithmetic.ranked([part for _, part in parts], 1)
                soft[out] = largest * forward.arithmetic.number(weight) + forward.arithmetic.number(biases.get(out, 0))
    return soft.get(model.output)


def _extend(unit: Unit, value: Value, soft: dict[int, Value], trace: Trace[Any], forward: Forward[Any]) -> Value | None:
    """The unrounded value of one clip, or None where it is a matter of exact Booleans alone."""
    number = forward.arithmetic.number
    if not unit.clip:
        return None
    if unit.decides:
        exact = isinstance(value, int | Fraction)
        return ((number(value) if exact else value) + number(HALF)) * number(HALF)
    if not any(index in soft for index, _ in unit.form) or any(abs(weight) != 1 for _, weight in unit.form):
        return None
    literals = []
    threshold = 1 - unit.bias
    for index, weight in unit.form:
        level = soft.get(index)
        if level is None:
            value = trace.columns[index].values[-1]
            level = number(value) if isinstance(value, int | Fraction) else value
        literals.append(level if weight == 1 else number(1) - level)
        threshold += weight == -1
    rank = int(threshold)
    if not 1 <= rank <= len(literals):
        return None
    return forward.arithmetic.ranked(literals, rank)
