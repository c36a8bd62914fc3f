"""A head that looks for the nearest selected position, as its worst case over all words needs it; and that case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardsim.spec.ir import Mask, Rational

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from hardsim.proof.outward import Array


Example = tuple[tuple[str | None, str], ...]
"""What holds at a position: coordinates and their values, and the symbol, which has no name."""


@dataclass(frozen=True, slots=True)
class LocalType:
    """What a head can find at a position: the part of its key that depends on the word (one number for each row of
    W_K), whether the position is selected, its value (0 or 1), and an assignment that leads to it."""

    key: tuple[Rational, ...]
    selected: bool
    value: int
    example: Example = ()


@dataclass(frozen=True)
class NearestReading:
    """A head as its worst case needs it, at all sites.

    `queries[r]` is row r of W_Q x_i times the inverse temperature at i, `keys[r]` the part of row r of W_K x_j that
    is the same for every word, `kinds` the number of the set of local types at j, into `types`.
    """

    mask: Mask
    rightmost: bool
    queries: tuple[tuple[Rational, ...], ...]
    keys: tuple[tuple[Rational, ...], ...]
    kinds: tuple[int, ...]
    types: tuple[tuple[LocalType, ...], ...]


@dataclass(frozen=True)
class Extremes:
    """For every site an upper bound of the weight of wrong values, over all words in which the head should give the
    other value, and the position that wins in the worst of them (0: no word does that; the bound is then minus
    infinity). `rounding` is how far a logit can be off in nats, which the bounds make up for."""

    wrong: Array
    winner: NDArray[int64]
    rounding: float
