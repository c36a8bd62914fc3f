"""Enclosures of the outputs of an external network: in certified float64 on whole batches, in balls or mpmath on single
words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from hardsim.errors import Undecided
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.run.dense_balls import DenseBalls
from hardsim.run.dense_exact import DenseForward
from hardsim.run.dense_pass import Step, unwatched
from hardsim.run.dense_tree import SharedFloat
from hardsim.run.float_trust import distrust
from hardsim.run.mp import MpArithmetic
from hardsim.run.soft import LOG_2, bounds
from hardsim.targets.expected import Ends
from hardsim.targets.result import AUTO, BALL, FLOAT64, MPMATH, Word

DIGITS_OF_MPMATH = 50
"""Decimal digits of mpmath where no option sets them."""


@dataclass(frozen=True)
class OutputBounds:
    """Lower and upper bounds of the outputs of one word, as arrays (1, positions, outputs), with the arithmetic that
    found them and its decimal digits. `arithmetic` says more of an arithmetic that is not float64."""

    low: Ends
    high: Ends
    engine: str
    digits: int
    arithmetic: str | None = None


class NetworkEngine:
    """The outputs of a network, in the arithmetic of an `--engine`. `step` is called after each layer that is prepared
    for float64, and after each layer of a single word."""

    def __init__(self, network: Network, engine: str = AUTO, dps: int | None = None, step: Step = unwatched) -> None:
        self.network, self.engine, self.step = network, engine, step
        self.floats = SharedFloat(network, step) if engine in (AUTO, FLOAT64) else None
        self.digits = dps or DIGITS_OF_MPMATH
        self.observed = DenseForward(network, MpArithmetic(self.digits)) if engine == MPMATH else None
        floats = None if self.floats is None else self.floats.floats
        self.exact = DenseBalls(network, least=0 if dps is None else int(dps / LOG_2) + 1, floats=floats, step=step)

    def enclosures(self, words: Sequence[Word], places: Sequence[int]) -> tuple[Ends, Ends] | None:
        """Return float64 lower and upper bounds of the outputs on words of one length, as arrays (words, positions,
        outputs), infinite where float64 gives no information. Return None where float64 is not requested, or not to be
        trusted in this process. Raises Undecided if the engine is float64, and that is not to be trusted."""
        if self.floats is None or (reason := distrust()) is not None:
            if self.engine == FLOAT64 and reason is not None:
                raise Undecided(reason)
            return None
        tokens = self.network.read_together(words)
        with np.errstate(all="ignore"):
            mid, rad = self.floats.run(len(words[0]), tokens, places)
            known = np.isfinite(mid) & np.isfinite(rad)
            near = rad == 0
            low = np.where(near, mid, np.nextafter(mid - rad, -inf))
            high = np.where(near, mid, np.nextafter(mid + rad, inf))
        # An overflow or NaN gives no information: the whole line.
        return np.where(known, low, -inf), np.where(known, high, inf)

    def alone(self, word: Word, places: Sequence[int], settled: Callable[[Ends, Ends], bool]) -> OutputBounds | None:
        """Return bounds of the outputs of one word in rational numbers, from balls with as many bits as make `settled`
        true, or from mpmath, whatever `settled` says. Return None if no number of bits does, or mpmath fails."""
        tokens = self.network.read(word)
        if self.observed is not None:
            try:
                low, high = _ends(self.observed.run(len(word), tokens, places, self.step))
            except (Undecided, ZeroDivisionError):  # a norm of zeros with epsilon 0
                return None
            return OutputBounds(low, high, MPMATH, self.digits, f"mpmath with {self.digits} digits")
        try:
            rows, bits = self.exact.run(len(word), tokens, places, lambda rows: _settled(rows, settled))
        except Undecided:
            return None
        return OutputBounds(*_ends(rows), BALL, int(bits * LOG_2), self.exact.arithmetic(bits))


def unbounded(places: int, outputs: int) -> OutputBounds:
    """Return bounds of one word's outputs that allow every number: from -inf to inf, (1, places, outputs)."""
    high = np.full((1, places, outputs), inf)
    return OutputBounds(-high, high, FLOAT64, 0)


def _settled(rows: Sequence[Sequence[Any]], settled: Callable[[Ends, Ends], bool]) -> bool:
    try:
        return settled(*_ends(rows))
    except Undecided:  # something has no bounds yet
        return False


def _ends(rows: Sequence[Sequence[Any]]) -> tuple[Ends, Ends]:
    """Return rational lower and upper bounds, (1, positions, outputs)."""
    low = np.empty((1, len(rows), len(rows[0])), dtype=object)
    high = low.copy()
    for place, row in enumerate(rows):
        for index, value in enumerate(row):
            low[0, place, index], high[0, place, index] = bounds(value)
    return low, high
