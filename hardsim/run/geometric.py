"""Geometric attention: the nearest position first, each with a share of what the nearer ones left.

With z the score over the temperature and P = 1/(1 + e^-z), position j has the weight P_j times the product of 1 - P_k
over the visible positions k that are nearer to the query (Csordas, Irie and Schmidhuber 2022). If e^z is rational, so
are the weights: P = e^z/(1 + e^z).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from hardsim.lang.reals import RealNumber, exponential
from hardsim.run.arithmetic import Arithmetic, T, Value, is_exact, lift

Gate = tuple[Value, Value]
"""P and 1 - P of one position: rationals, or numbers of the arithmetic."""


def gates(arithmetic: Arithmetic[T]) -> Callable[[RealNumber], Gate]:
    """Return the function from z to P and 1 - P, which computes each pair once."""

    @lru_cache(100_000)
    def gate(z: RealNumber) -> Gate:
        power = exponential(z)
        if power is not None:
            return power / (1 + power), 1 / (1 + power)
        return soft_gate(arithmetic, arithmetic.number(z))

    return gate


def soft_gate(arithmetic: Arithmetic[T], z: T) -> Gate:
    """Return P and 1 - P of a number of the arithmetic. Of e^z and e^-z, that which cannot overflow is computed."""
    one, zero = arithmetic.number(1), arithmetic.number(0)
    # A ball around 0 is neither: then e^z is small enough for either form.
    falls = z > zero
    t = arithmetic.exp(z * arithmetic.number(-1)) if falls else arithmetic.exp(z)
    near, far = one / (one + t), t / (one + t)
    return (near, far) if falls else (far, near)


def nearest_first(arithmetic: Arithmetic[T], shares: Iterable[Gate]) -> list[Value]:
    """Return the weights of positions, the nearest first, from their pairs P and 1 - P."""
    left: Value = 1
    found: list[Value] = []
    for share, rest in shares:
        found.append(times(arithmetic, left, share))
        left = times(arithmetic, left, rest)
    return found


def times(arithmetic: Arithmetic[T], left: Value, right: Value) -> Value:
    """Return the product of two values, exact if both are, or one is 0."""
    if is_exact(left) and is_exact(right):
        return left * right
    if (is_exact(left) and not left) or (is_exact(right) and not right):
        return 0
    return lift(arithmetic, left) * lift(arithmetic, right)
