"""Matrices as JSON: sparse entries, dense rows, or rows by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hardsim.net.model import Matrix
from hardsim.net.reader import Reader
from hardsim.spec.ir import Rational

LARGEST = 1_000_000


@dataclass(frozen=True)
class Names:
    """The names of rows or columns, in order."""

    names: tuple[str, ...]

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each name."""
        return {name: number for number, name in enumerate(self.names)}


def matrix_json(matrix: Matrix) -> dict[str, Any]:
    """The sparse form."""
    return {
        "shape": list(matrix.shape),
        "entries": [[row, column, str(value)] for row, column, value in matrix.entries],
    }


def read_matrix(data: Reader, rows: Names | int | None, columns: Names | int) -> Matrix:
    """A matrix in any of the forms; `rows` may be left open.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    height = len(rows.names) if isinstance(rows, Names) else rows
    width = len(columns.names) if isinstance(columns, Names) else columns
    if isinstance(data.value, dict) and "entries" in data.value and "shape" in data.value:
        return _sparse(data, height, width)
    entries: dict[tuple[int, int], Rational] = {}
    if isinstance(data.value, dict):
        if not isinstance(rows, Names):
            raise data.error("an array of rows, or an object with shape and entries")
        for name in data.value:
            if name not in rows.index:
                raise data.error(f"rows named {', '.join(rows.names)} (not {name!r})")
            for column, value in _row(data.field(name), columns, width).items():
                entries[rows.index[name], column] = value
        return Matrix.of(len(rows.names), width, entries)
    count = 0
    for row, item in enumerate(data.items(height)):
        count += 1
        for column, value in _row(item, columns, width).items():
            entries[row, column] = value
    return Matrix.of(count, width, entries)


def _row(data: Reader, columns: Names | int, width: int) -> dict[int, Rational]:
    """One row: an array of rationals, or an object from column names to rationals."""
    if not isinstance(data.value, dict):
        return {column: item.rational() for column, item in enumerate(data.items(width))}
    if not isinstance(columns, Names):
        raise data.error(f"an array of {width} rationals")
    for name in data.value:
        if name not in columns.index:
            raise data.error(f"coordinates of the model (not {name!r})")
    return {columns.index[name]: data.field(name).rational() for name in data.value}


def _sparse(data: Reader, height: int | None, width: int) -> Matrix:
    data.only("shape", "entries")
    rows, columns = (item.integer(0, LARGEST) for item in data.field("shape").items(2))
    if columns != width or (height is not None and rows != height):
        raise data.field("shape").error(f"[{'any' if height is None else height}, {width}]")
    entries: dict[tuple[int, int], Rational] = {}
    for item in data.field("entries").items():
        row, column, value = item.items(3)
        place = row.integer(0, rows - 1), column.integer(0, columns - 1)
        if place in entries:
            raise item.error("each entry once")
        entries[place] = value.rational()
    return Matrix.of(rows, columns, entries)
