"""Softmax with rounded exponentials, for the checker: the loss from which on a key has no weight.

The weights of a row are in proportion to the numbers e^(l - the largest l), each rounded to the nearest number of a
format, the least of which is 2^-p. Below 2^-(p + 1) a number is rounded to 0. So a key whose logit is c or more below
the largest one has no weight if e^-c < 2^-(p + 1), that is e^c > 2^(p + 1). Keys with the largest logit have equal
weights, as e^0 = 1 is a number of every format. Other keys do not matter to a proof by this cutoff.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import Any

LEAST = {
    "softmax:fixed:8": 8,
    "softmax:fp16": 24,
    "softmax:bf16": 133,
    "softmax:fp32": 149,
    "softmax:fp64": 1074,
}
"""The p of each format: eight binary places, or the subnormal numbers of binary16, bfloat16, binary32 and binary64."""
E = sum((Fraction(1, factorial(k)) for k in range(12)), Fraction(0))
"""The first terms of the series of e, which are below e."""


def cutoff_of(weighting: Any) -> int:
    """Return an integer c for which a weighting gives a key no weight that loses c or more; 0 if every key has
    weight."""
    if weighting not in LEAST:
        return int(weighting == "sparsemax")
    c = 1
    power = E
    while power <= 2 ** (LEAST[weighting] + 1):
        c, power = c + 1, power * E
    return c
