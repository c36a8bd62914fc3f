"""Apply the steps after attention to affine enclosures, with better ranges of their linear parts.

In an affine form `c + z L + e'`, z lies in a box, so z L is at most the sum of the absolute slopes. Not every z of the
box is attained by a prefix. A `RangeOracle` bounds linear functions over the attained z alone. Each non-linear step
asks it for the ranges of its arguments: the coordinates y that enter a norm, those of the linear map V that follows,
and lambda, the linear part of the mean square (`ranges` has the notation and the argument). The errors of linearizing
these steps shrink with the squares of the ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hardsim.proof.external.affine import ROUND, AffineForm, LinearPart, NormForm, Square
from hardsim.proof.external.logits import AddedMlp
from hardsim.proof.external.ranges import MappedForm, Narrowed, NormedMap, NormScale, Tilt, scale_of, square_of
from hardsim.run.enclosure import ETA, GROW, Floats

RangeOracle = Callable[[Floats], tuple[Floats, Floats]]
"""A function from slopes (N, coordinates of z, functions) to lower and upper bounds, (N, functions), of z times the
slopes. Bounds may be infinite or NaN, which bound nothing."""
Step = Callable[[AffineForm], AffineForm]
"""A norm of the stream or an `AddedMlp`, which use the ranges, or any other step, which is called without them."""


def unknown(slopes: Floats) -> tuple[Floats, Floats]:
    """Return infinite bounds: the oracle without information about prefixes."""
    found = np.full((len(slopes), slopes.shape[2]), np.inf)
    return -found, found


def narrowed(form: AffineForm, oracle: RangeOracle) -> Narrowed:
    """Return the form with ranges of its linear part: the better ones of the box's and of the oracle's."""
    spread = form.spread * GROW
    low, high = oracle(form.slopes)
    low, high = np.fmax(low, -spread), np.fmin(high, spread)
    high = np.maximum(high, low)  # where no prefix is left, any range will do
    middle = (low + high) / 2
    return Narrowed(form, middle, (np.maximum(high - middle, middle - low) + ROUND * np.abs(middle)) * GROW)


def mapped(step: NormedMap, x: AffineForm, oracle: RangeOracle) -> MappedForm:
    """Return the enclosure of a linear map of the norm of x."""
    y = step.entering(x)
    v = narrowed(step.inner(y), oracle)
    if step.norm is None:
        return step.mapped(v, NormScale.one(y))
    near = narrowed(y, oracle)
    return step.mapped(v, scale_of(near, step.norm.epsilon, _tilt(near, oracle)))


def mean_square_of(norm: NormForm, x: AffineForm, oracle: RangeOracle) -> Square:
    """Return the enclosure of the mean square of what enters a norm, plus epsilon."""
    near = narrowed(norm.entering(x), oracle)
    return square_of(near, norm.epsilon, _tilt(near, oracle)).square


def _tilt(y: Narrowed, oracle: RangeOracle) -> Tilt:
    """Return the linear part of the mean square of y, linearized at the middle of y's ranges, with its own range."""
    slopes = (2 / y.middle.shape[1]) * np.einsum("nd,nmd->nm", y.middle, y.form.slopes)
    low, high = oracle(slopes[:, :, None])
    ends = np.abs(slopes).sum(axis=1) * GROW + ETA
    return Tilt(y.middle, slopes, np.fmax(low[:, 0], -ends), np.fmin(high[:, 0], ends))


class NarrowedSteps:
    """The steps of a layer after its attention, to be applied to affine enclosures with a range oracle."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps: list[tuple[NormedMap, AddedMlp | None] | Step] = []
        for step in steps:
            if isinstance(step, NormForm):
                self.steps.append((NormedMap(step, LinearPart(np.eye(len(step.weight)), None)), None))
            elif isinstance(step, AddedMlp):
                self.steps.append((NormedMap(step.norm, step.mlp.entry), step))
            else:
                self.steps.append(step)

    def __call__(self, x: AffineForm, oracle: RangeOracle) -> AffineForm:
        """Return the enclosure of the result of all steps on x."""
        for step in self.steps:
            if not isinstance(step, tuple):
                x = step(x)
                continue
            u = mapped(step[0], x, oracle)
            x = u.form if step[1] is None else step[1].added(x, u.form, u.low, u.high)
        return x
