"""Number formats, and the rounding of float64 arrays to them.

A format has `digits` binary digits, normal numbers from `least` on, and numbers up to `largest`. Rounding is to
nearest, ties to even, with subnormal numbers: fl(x) = x (1 + d) + e with |d| at most u = 2^-digits and |e| at most
half the least subnormal number. A result beyond the largest number becomes infinity (in e4m3, which has none, not a
number).

Numbers of a format are stored as float64. An operation on them is done in float64 and rounded again, and that equals
the operation rounded once: sums, differences, products, quotients and square roots of numbers of p digits are rounded
innocuously through p' >= 2p + 2 digits (Figueroa 1995), and 53 >= 2 * 24 + 2.
"""

from __future__ import annotations

from math import log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class NumberFormat:
    """A binary format."""

    name: str
    digits: int
    least_exponent: int
    """Exponent of the least normal number, which is 2 to this power."""
    largest: float
    infinite: bool = True
    """True if the format has infinity."""

    @property
    def unit(self) -> float:
        """The unit roundoff u, half a unit in the last place of 1."""
        return float(2.0**-self.digits)

    @property
    def least(self) -> float:
        """The least subnormal number."""
        return float(2.0 ** (self.least_exponent - self.digits + 1))

    @property
    def vanishing(self) -> float:
        """The exponential of a number below this one, in nats, is 0: it is e^2 times less than the least subnormal
        number."""
        return log(self.least) - 2

    def round(self, x: Floats) -> Floats:
        """Round numbers to the nearest ones of the format."""
        if self.name == "float64":
            return x
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.name == "float32":
                return x.astype(np.float32).astype(np.float64)
            if self.name == "float16":
                return x.astype(np.float16).astype(np.float64)
            # Round off the last bits of a float64, ties to even; a carry goes into the exponent, as it should.
            bits, cut = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64), np.uint64(53 - self.digits)
            one = np.uint64(1)
            kept = bits + ((bits >> cut) & one) + ((one << (cut - one)) - one)
            found = ((kept >> cut) << cut).view(np.float64).reshape(np.shape(x))
            small = np.abs(x) < 2.0**self.least_exponent
            if small.any():  # multiples of the least number
                found = np.where(small, np.rint(x / self.least) * self.least, found)
            found = np.where(np.isfinite(x), found, x)
            beyond = np.abs(found) > self.largest
            if beyond.any():
                found = np.where(beyond, np.copysign(np.inf, found) if self.infinite else np.nan, found)
        return found

    def spacing(self, x: Floats) -> Floats:
        """Return the unit in the last place of numbers."""
        _, exponents = np.frexp(x)
        found: Floats = np.ldexp(1.0, np.maximum(exponents, self.least_exponent + 1) - self.digits)
        return found


FORMATS: dict[str, NumberFormat] = {
    one.name: one
    for one in (
        NumberFormat("float32", 24, -126, float(np.finfo(np.float32).max)),
        NumberFormat("bfloat16", 8, -126, float((2 - 2.0**-7) * 2.0**127)),
        NumberFormat("float16", 11, -14, 65504.0),
        NumberFormat("float8_e4m3", 4, -6, 448.0, infinite=False),
    )
}
"""The formats by name, the widest first. The last one is the Open Compute Project's format without infinity,
e4m3fn."""
DOUBLE = NumberFormat("float64", 53, -1022, float(np.finfo(np.float64).max))
"""The format that stands for exact numbers where formats are compared; nothing is rounded to it."""
