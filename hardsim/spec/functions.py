"""Linear forms and clips of Booleans as Boolean functions, tabulated once for a length and applied to lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from hardsim.lang.lanes import FULL, Booleans, Lanes, count_lanes
from hardsim.spec.integers import Exact
from hardsim.spec.ir import Affine

MOST_BITS = 6
"""Booleans of which a function is tabulated: 2^6 rows."""


def combinations(names: Sequence[str]) -> Iterator[dict[str, int]]:
    """Every assignment of truth values to names, the last one changing fastest."""
    for values in product((0, 1), repeat=len(names)):
        yield dict(zip(names, values, strict=True))


def minterms(columns: Sequence[Lanes], shape: tuple[int, ...]) -> list[Lanes]:
    """Where each combination of truth values of some columns holds, in the order of `combinations`."""
    found = [np.full(shape, FULL)]
    for column in columns:
        found = [part for old in found for part in (old & ~column, old & column)]
    return found


@dataclass(frozen=True, slots=True)
class BitFunction:
    """A function of the position and some Booleans: where it is 1 (as masks of lanes) and where it is neither 0 nor 1,
    by combination and position, (2^bits, n)."""

    bits: tuple[str, ...]
    ones: Lanes
    others: Booleans

    @staticmethod
    def of(
        forms: Sequence[tuple[Affine, int]],
        bias: int,
        clip: bool,
        bits: Sequence[str],
        fixed: Mapping[str, Exact],
        n: int,
    ) -> BitFunction:
        """The sum of weight times form (first clipped to [0, 1] if asked), plus a bias.

        `fixed` holds the coordinates that are the same for every word, (1, n).
        """
        known = {name: column.values(0) for name, column in fixed.items()}
        # Positions at which the fixed parts are the same share the function: markers and parities have few values.
        places: dict[tuple[Fraction, ...], list[int]] = {}
        fixed_parts = [_sums(form, known, n) for form, _ in forms]
        for i in range(n):
            places.setdefault(tuple(column[i] for column in fixed_parts), []).append(i)
        weights = [weight for _, weight in forms]
        ones, others = np.zeros((2 ** len(bits), n), dtype=np.uint64), np.zeros((2 ** len(bits), n), dtype=np.bool_)
        for row, held in enumerate(combinations(bits)):
            moves = [sum((c * held[name] for name, c in form.terms if name in held), Fraction(0)) for form, _ in forms]
            for base, some in places.items():
                values = [start + move for start, move in zip(base, moves, strict=True)]
                if clip:
                    values = [min(max(value, Fraction(0)), Fraction(1)) for value in values]
                total = bias + sum((w * value for w, value in zip(weights, values, strict=True)), Fraction(0))
                ones[row, some] = FULL if total == 1 else 0
                others[row, some] = total not in (0, 1)
        return BitFunction(tuple(bits), ones, others)

    def apply(self, columns: Sequence[Lanes], words: int) -> Lanes | None:
        """The function of these columns, (n, lanes) each; None if it is other than 0 and 1 in some word."""
        shape = self.ones.shape[1], count_lanes(words)
        result = np.zeros(shape, dtype=np.uint64)
        for part, ones, others in zip(minterms(columns, shape), self.ones, self.others, strict=True):
            result |= part & ones[:, None]
            if others.any() and part[others].any():
                return None
        return result


def _sums(form: Affine, known: Mapping[str, Sequence[Fraction]], n: int) -> list[Fraction]:
    """What of a form is the same for every word, by position."""
    terms = [(known[name], c) for name, c in form.terms if name in known]
    return [sum((c * column[i] for column, c in terms), Fraction(0)) for i in range(n)]
