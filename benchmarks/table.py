"""Render results as Markdown, for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.results import Figure, Results

BEGIN = "<!-- benchmarks: made by `make bench-docs`, do not edit -->"
END = "<!-- end of benchmarks -->"


def render(results: Results) -> str:
    """Render all figures with their targets."""
    rows = [
        (one.group, one.what, one.case, _value(one), limit_of(one) + " (missed)" * (one.reached is False), one.note)
        for one in results.figures
    ]
    return f"{results.about}\n\n{grid(('group', 'what', 'case', 'found', 'target', 'note'), rows)}\n"


def summary(results: Results) -> str:
    """Return the table of the page: a row for the figures of a group with the same target, from least to greatest."""
    alike: dict[tuple[str, str], list[Figure]] = {}
    for figure in results.figures:
        if figure.target is not None:
            alike.setdefault((figure.group, limit_of(figure)), []).append(figure)
    rows = []
    for (group, limit), figures in alike.items():
        found = sorted(figure.value for figure in figures if figure.value is not None)
        ends = [amount(value, figures[0].unit) for value in dict.fromkeys(found[:1] + found[-1:])]
        missed = sum(not figure.reached for figure in figures)
        what = figures[0].what if len({figure.what for figure in figures}) == 1 else group
        case = figures[0].case if len(figures) == 1 else f"{len(figures)} of {group}"
        rows.append((what, case, " to ".join(ends) or "–", f"{limit} ({missed} missed)" if missed else limit))
    return f"{results.about}\n\n{grid(('what', 'case', 'found', 'target'), rows)}\n"


def _value(figure: Figure) -> str:
    return "–" if figure.value is None else amount(figure.value, figure.unit)


def limit_of(figure: Figure) -> str:
    """Return the target of a figure as text, which is empty without a target."""
    target = figure.target
    return "" if target is None else f"{'≥' if target.at_least else '≤'} {amount(target.limit, figure.unit)}"


def amount(value: float, unit: str) -> str:
    """Format a number with its unit: three digits, no decimals from 100 on."""
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def grid(head: Sequence[str], rows: Iterable[tuple[str, ...]], right: Sequence[int] = ()) -> str:
    """Return a Markdown table with aligned columns; `right` has the indices of right-aligned columns."""
    cells = [tuple(head), *rows]
    widths = [max(3, *(len(row[place]) for row in cells)) for place in range(len(head))]
    rule = tuple("-" * (width - 1) + (":" if place in right else "-") for place, width in enumerate(widths))
    lines = [
        " | ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (cells[0], rule, *cells[1:])
    ]
    return "\n".join(f"| {line} |" for line in lines)


def into_page(path: Path, rendered: str, begin: str = BEGIN) -> None:
    """Write rendered results between the two marks of a page.

    Raises:
        ValueError: if a mark is missing.
    """
    before, after = around(path, begin)
    path.write_text(f"{before}{begin}\n\n{rendered}\n{END}{after}", encoding="utf-8")


def around(path: Path, begin: str = BEGIN) -> tuple[str, str]:
    """Return the texts before the first mark of a page and after the second.

    Raises:
        ValueError: if a mark is missing.
    """
    text = path.read_text(encoding="utf-8")
    before, found, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"{path.name} has no lines {begin!r} and {END!r}")
    return before, after
