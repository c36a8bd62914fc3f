"""Functions of i and n given by their values: tables of encodings, temperatures worked out length by length."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hardsim.errors import OutOfRange
from hardsim.spec.ir import Rational


@dataclass(frozen=True, slots=True)
class PositionTable:
    """A position encoding with the value `values[k]` at position `start + k` and `otherwise` at all others."""

    start: int
    values: tuple[Rational, ...]
    otherwise: Rational = 0

    @property
    def variables(self) -> frozenset[str]:
        """The position alone."""
        return frozenset({"i"})

    def evaluate(self, **given: int) -> Fraction:
        """The value at position i."""
        place = given["i"] - self.start
        return Fraction(self.values[place] if 0 <= place < len(self.values) else self.otherwise)

    def __str__(self) -> str:
        shown = ", ".join(str(value) for value in self.values)
        return f"table from {self.start}: {shown}; otherwise {self.otherwise}"


@dataclass(frozen=True, slots=True)
class LengthTable:
    """A function of the length: `values[n - 1]` at length n; it is not defined beyond."""

    values: tuple[Fraction, ...]
    what: str = "temperature"

    @property
    def variables(self) -> frozenset[str]:
        """The length alone."""
        return frozenset({"n"})

    def evaluate(self, **given: int) -> Fraction:
        """The value at length n.

        Raises:
            OutOfRange: if the table does not reach so far.
        """
        n = given["n"]
        if not 1 <= n <= len(self.values):
            raise OutOfRange(
                f"the {self.what} of this model is known for lengths 1 to {len(self.values)}, not for {n}",
                hint=f"--max-n {len(self.values)} goes as far as that; or compile the model with a larger --max-n, "
                "or give a temperature for all lengths with --tau.",
            )
        return self.values[n - 1]

    def __str__(self) -> str:
        return f"table of lengths 1 to {len(self.values)}"
