"""Theorem 26 solved for the temperature: the largest tau at which the recursion still promises the wanted error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hardsim.ahat.measure import LengthFacts
from hardsim.ahat.recursion import Bounds, Gaps, error_bounds
from hardsim.errors import InputError, Undecided
from hardsim.net.model import Transformer

DEFAULT_EPSILON = Fraction(1, 4)
"""The error that a threshold of 1/2 between outputs 0 and 1 forgives twice over."""
STEPS = 64
"""The mantissa of the temperature is found to one part in so many."""
HALVINGS = 400


@dataclass(frozen=True)
class Solution:
    """The temperature of one length, and what the recursion promises at it.

    `tau` is a dyadic rational k 2^-m with STEPS <= k < 2 STEPS: the bound exceeds epsilon at (k + 1) 2^-m. It is 1 if
    every head is uniform, since then any temperature gives the hard model itself.
    """

    tau: Fraction
    bounds: Bounds
    epsilon: Fraction


def declared_gaps(model: Transformer, facts: LengthFacts) -> dict[str, list[Fraction | None]]:
    """The score gap of every query: the declared one where the model declares it, else the measured one."""
    positions = range(model.first, facts.n + 1)
    gaps: dict[str, list[Fraction | None]] = {}
    for head in model.heads:
        measured = facts.heads.get(head.name)
        if measured is None:
            continue
        gaps[head.name] = list(measured.gaps)
        if head.gap is not None:
            declared = [declared_gap(model, head.name, i, facts.n) for i in positions]
            gaps[head.name] = [None if old is None else new for old, new in zip(measured.gaps, declared, strict=True)]
    return gaps


def declared_gap(model: Transformer, name: str, i: int, n: int) -> Fraction:
    """What a head declares at query i of n.

    Raises:
        InputError: if that is not positive.
    """
    gap = next(head.gap for head in model.heads if head.name == name)
    value = Fraction(1) if gap is None else gap.evaluate(i=i, n=n)
    if value <= 0:
        raise InputError(
            f"head {name}: the declared gap {gap} is {value} at i = {i}, n = {n}", hint="A score gap is positive."
        )
    return value


def solve(model: Transformer, facts: LengthFacts, epsilon: Fraction, gaps: Gaps) -> Solution:
    """The largest temperature, to a mantissa of STEPS, at which the error bound at the end is at most epsilon.

    Halves the temperature from the least gap on until the bound holds; then refines. The bound grows with the
    temperature, since the distance of the weights does.

    Raises:
        Undecided: if it does not hold after HALVINGS halvings.
    """
    known = [gap for row in gaps.values() for gap in row if gap is not None]
    positions = facts.n + 1 - model.first

    def at(tau: Fraction) -> Bounds:
        return error_bounds(model, facts, [1 / tau] * positions, gaps)

    if not known:
        bounds = at(Fraction(1))
        if bounds.final <= epsilon:
            return Solution(Fraction(1), bounds, epsilon)
    start = power_of_two(min(known, default=Fraction(1)))
    tau = start * 2
    bounds = at(tau)
    while bounds.final > epsilon:
        tau /= 2
        if tau < start / 2**HALVINGS:
            raise Undecided(
                f"no temperature down to {float(tau):.3g} gives an error of at most {epsilon} at length {facts.n}; "
                "ask for a larger --epsilon"
            )
        bounds = at(tau)
    low, high = STEPS, 2 * STEPS
    unit = tau / STEPS
    while high - low > 1:
        middle = (low + high) // 2
        found = at(middle * unit)
        if found.final <= epsilon:
            low, bounds = middle, found
        else:
            high = middle
    return Solution(low * unit, bounds, epsilon)


def power_of_two(value: Fraction) -> Fraction:
    """The largest power of two that is at most a positive number."""
    power = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
    return power if power <= value else power / 2


def inverses(model: Transformer, n: int) -> Sequence[Fraction]:
    """1/tau of a softmax model by query index."""
    return [model.inverse_temperature(i, n) for i in range(model.first, n + 1)]
