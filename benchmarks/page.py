"""Results as JSON, tables between two marks of a page, and tasks in several processes, for all scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import msgspec

Row = TypeVar("Row")
Found = TypeVar("Found")
ROOT = Path(__file__).resolve().parents[1]
END = "<!-- end of benchmarks -->"


@dataclass(frozen=True)
class Page:
    """A page of the documentation with a table that `make target` renders from the results stored in `results`."""

    target: str
    page: str
    results: str

    @property
    def path(self) -> Path:
        """The file of the page."""
        return ROOT / "docs" / self.page

    def read(self, kind: type[Row]) -> list[Row]:
        """Read the stored results, one record of class `kind` each."""
        return msgspec.json.decode((ROOT / "benchmarks" / self.results).read_bytes(), type=list[kind])  # type: ignore[valid-type]  # the type is an argument

    def store(self, rows: Iterable[Any]) -> None:
        """Store results as JSON, one a line."""
        text = ",\n".join(msgspec.json.encode(row).decode() for row in rows)
        (ROOT / "benchmarks" / self.results).write_text(f"[\n{text}\n]\n", encoding="utf-8")

    def parts(self) -> tuple[str, str, str]:
        """Return the page up to its first mark, the table, and the page from its second mark on.
        Raises ValueError if a mark is missing."""
        begin = f"<!-- benchmarks: made by `make {self.target}`, do not edit -->"
        before, found, rest = self.path.read_text(encoding="utf-8").partition(begin)
        table, end, after = rest.partition(END)
        if not found or not end:
            raise ValueError(f"{self.page} has no lines {begin!r} and {END!r}")
        return before + begin, table.strip(), END + after

    def write(self, rendered: str) -> None:
        """Write a rendered table between the two marks."""
        before, _, after = self.parts()
        self.path.write_text(f"{before}\n\n{rendered.strip()}\n\n{after}", encoding="utf-8")


def each(function: Callable[..., Found], tasks: Iterable[tuple[Any, ...]], processes: int) -> Iterator[Found]:
    """Call a function with the arguments of each task in several processes; yield the results as they come."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(function, *task) for task in tasks]):
            yield done.result()


def amount(value: float, unit: str) -> str:
    """Format a number with its unit: three digits, no decimals from 100 on."""
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), aligned: bool = False) -> str:
    """Return a Markdown table; `right` has the indices of right-aligned columns. Columns are padded with blanks only if
    `aligned`, for a terminal: a page has no use for them."""
    cells = [head, *rows]
    widths = [max(3, *(len(row[place]) for row in cells)) if aligned else 3 for place in range(len(head))]
    rule = ["-" * (width - 1) + ("-:"[place in right]) for place, width in enumerate(widths)]
    lines = (head, rule, *cells[1:])
    if not aligned:
        return "\n".join(f"|{'|'.join(row)}|" for row in lines)
    padded = [f"{{:{'<>'[place in right]}{width}}}" for place, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(padded).format(*row)} |" for row in lines)
