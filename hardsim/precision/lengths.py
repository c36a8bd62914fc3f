"""One length in a number format: the numbers that are the same for all its words, and the error that some word may be
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import Rational
from hardsim.precision.arithmetic import Enclosed, Enclosures
from hardsim.precision.evaluated import LayoutValues, Values, nearest
from hardsim.precision.formats import Floats
from hardsim.precision.functions import float_values
from hardsim.precision.structure import Structure
from hardsim.proof.formulas.sites import SiteClass

Runs: TypeAlias = tuple[tuple[str, int], ...]
"""The symbols, each with its number, that the visible positions consist of; () if these are not known."""


@dataclass(eq=False)
class NotEnclosed(Exception):
    """An error: some evaluation at a length may be wrong. It states the reason, the layer and head, the position or
    count that it is about, and the symbols that the query sees."""

    reason: str
    layer: int | None = None
    head: str | None = None
    place: int | None = None
    runs: Runs = ()


def members(one: SiteClass, n: int) -> NDArray[np.bool_]:
    """Return which of the positions 1..n are in a class, as an array of Booleans."""
    i = np.arange(1, n + 1)
    parity = np.full(n, True) if one.first else (i % 2 == 0) == one.even_i
    whole = True if one.first and one.last else (n % 2 == 0) == one.even_n
    found: NDArray[np.bool_] = ((i == 1) == one.first) & ((i == n) == one.last) & parity & whole
    return found


@dataclass(frozen=True)
class OfLength:
    """The data that is the same for every word of length n: `masks` says, for each class, which of the positions 1..n
    are in it; `exact` and `columns` have, by coordinate, position encodings and values computed from them, before and
    after rounding, by position; `scale` is 1/temperature by position."""

    n: int
    masks: Sequence[NDArray[np.bool_]]
    exact: Mapping[int, Floats]
    columns: Mapping[int, Floats]
    scale: Enclosures

    @staticmethod
    def of(structure: Structure, arithmetic: Enclosed, n: int) -> OfLength:
        """Return the data of a length of a structure. Raises NotEnclosed if a number of it is beyond the format."""
        masks = [members(one, n) for one in structure.classes.classes]
        exact, columns = dict[int, Floats](), dict[int, Floats]()
        for place, real, computed in _encodings(structure, n):
            exact[place], columns[place] = real, arithmetic.form.round(computed)
        for place, numbers in structure.static.items():
            exact[place] = np.select(masks, list(map(float, numbers)))
            columns[place] = arithmetic.form.round(exact[place])
        scale = _scales(structure, arithmetic, n) if structure.model.heads else arithmetic.number(np.ones(n))
        # A number beyond the format makes every answer wrong: times 0 it is NaN.
        if not scale.known or not all(np.isfinite(column).all() for column in columns.values()):
            message = (
                "is not known as model.py computes it, or is " if LayoutValues(structure.layout).floating else "is "
            )
            raise NotEnclosed(f"a position encoding, or 1/temperature, {message}beyond the format")
        return OfLength(n, masks, exact, columns, scale)

    def by_class(self, values: Sequence[Rational]) -> Floats:
        """Return the number of each position, given a number for each class of positions."""
        return np.select(self.masks, list(map(float, values)))


def _encodings(structure: Structure, n: int) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield coordinate, nearest floats, and the floats that model.py computes (NaN where machines may differ) of the
    position encodings, by position. Columns of 0 and 1 are left out unless they are in `structure.encoded`."""
    encodings = dict[int, list[Any]]()
    for place, function in structure.model.encodings:
        encodings.setdefault(place, []).append(function)
    computed: dict[int, Values] | None = None
    for place, functions in encodings.items():
        if all(isinstance(function, PredicateColumn) for function in functions) and place not in structure.encoded:
            continue  # 0 and 1, which every format holds
        found = float_values(functions[0], np.arange(1, n + 1), n) if len(functions) == 1 else None
        if found is not None:
            yield place, found, found
            continue
        exact = nearest(dict(structure.layout.encoded(n))[place]).found
        computed = computed or dict(LayoutValues(structure.layout).encodings(n))
        values = computed[place]
        yield place, exact, np.where(values.low == values.high, values.low, np.nan)


def _scales(structure: Structure, arithmetic: Enclosed, n: int) -> Enclosures:
    """Return 1/temperature by position."""
    scale = float_values(structure.model.temperature, np.arange(1, n + 1), n, inverse=True)
    computed = LayoutValues(structure.layout)
    found = arithmetic.computed(computed.scales(n)[0]) if scale is None else arithmetic.number(scale)
    return found.each(lambda ends: np.broadcast_to(ends, (n,)))
