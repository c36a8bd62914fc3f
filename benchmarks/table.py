"""Render results as Markdown, for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill

from benchmarks.results import Figure, PassCost, Results

BEGIN = "<!-- benchmarks: made by `make bench-docs`, do not edit -->"
END = "<!-- end of benchmarks -->"

PASS_NOTES = {
    "plain numpy": "plain numpy: dense float64 matrices, head by head, without error bounds (in brackets: its right "
    "answers, where some are wrong)",
    "float64 pass": "float64 pass: midpoints and radii, as far as an answer needs them",
    "certified float64": "certified float64: also the errors of all heads against exact hard attention",
    "mpmath": "mpmath and naive mpmath use the same number of digits; balls use as many bits as each word needs",
    "naive mpmath": "float64 passes run batches and prepare their tables of a length before they are timed; the other "
    "passes run one word at a time, without preparation",
    "certified + exact": "certified + exact: exact hard attention, and certified float64 with the errors of all heads "
    "against it, as in a check of words",
    "torch float32": "torch: all heads of a layer stacked, eager, one thread, no error bounds, no hard attention",
}
"""The explanation below a table for each pass, by the pass's name."""
HEADS = ("what", "case", "found", "before", "target", "reached", "× prove", "note")


def render(results: Results) -> str:
    """Render the machine and, for each group, its figures with their targets and the costs of its passes."""
    parts = [describe(results)]
    for group in results.groups:
        figures = [figure for figure in results.figures if figure.group == group]
        passes = [cost for cost in results.passes if cost.group == group]
        if figures or passes:
            parts.append(f"### {group}")
        if figures:
            parts.append(grid(*filled(HEADS, list(map(figure_row, figures)))))
        if passes:
            names = list(dict.fromkeys(cost.name for cost in passes))
            head = ("ms a word", "n", *names)
            parts.append(grid(head, pass_rows(passes, names), right=range(1, len(head))))
            notes = [f"- {PASS_NOTES[name]}" for name in names if name in PASS_NOTES]
            parts.append("\n".join(fill(note, 120, subsequent_indent="  ") for note in notes))
    return "\n\n".join(filter(None, parts)) + "\n"


def summary(results: Results) -> str:
    """Return the table of the page: a row for the figures of a group with the same target, from least to greatest."""
    alike: dict[tuple[str, str], list[Figure]] = {}
    for group in results.groups:
        for figure in results.figures:
            if figure.group == group and figure.target is not None:
                alike.setdefault((group, limit_of(figure)), []).append(figure)
    rows = []
    for (group, limit), figures in alike.items():
        found = sorted(figure.value for figure in figures if figure.value is not None)
        ends = [amount(value, figures[0].unit) for value in dict.fromkeys(found[:1] + found[-1:])]
        missed = sum(not figure.reached for figure in figures)
        what = figures[0].what if len({figure.what for figure in figures}) == 1 else group
        case = figures[0].case if len(figures) == 1 else f"{len(figures)} of {group}"
        rows.append((what, case, " to ".join(ends) or "–", f"{limit} ({missed} missed)" if missed else limit))
    return f"{describe(results)}\n\n{grid(('what', 'case', 'found', 'target'), rows)}\n"


def filled(head: Sequence[str], rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a table without the columns that are empty in every row."""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return tuple(head[place] for place in kept), [tuple(row[place] for place in kept) for row in rows]


def describe(results: Results) -> str:
    """Return one line that says where and when the numbers were measured."""
    machine, versions = results.machine, dict(results.versions)
    python, ours = versions.pop("python"), versions.pop("hardsim")
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    sort = "Quick run (no targets, few words)" if results.quick else "Run"
    return (
        f"{sort} of {results.date}: hardsim {ours}, {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory']}, {machine['system']}, Python {python}, {packages}; one BLAS thread."
    )


def figure_row(figure: Figure) -> tuple[str, ...]:
    """Return a table row: a figure and its target."""
    found = "–" if figure.value is None else amount(figure.value, figure.unit)
    reached = {True: "yes", False: "no", None: ""}[figure.reached]
    before = "" if figure.before is None else amount(figure.before, figure.unit)
    proofs = "" if figure.proofs is None else amount(figure.proofs, "")
    return figure.what, figure.case, found, before, limit_of(figure), reached, proofs, figure.note


def limit_of(figure: Figure) -> str:
    """Return the target of a figure as text, which is empty without a target."""
    target = figure.target
    return "" if target is None else f"{'≥' if target.at_least else '≤'} {amount(target.limit, figure.unit)}"


def amount(value: float, unit: str) -> str:
    """Format a number with its unit: three digits, no decimals from 100 on."""
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def pass_rows(passes: Sequence[PassCost], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return one row for each case and length, with one column for each pass."""
    rows: list[tuple[str, ...]] = []
    for case, n in dict.fromkeys((cost.case, cost.n) for cost in passes):
        costs = {cost.name: cost for cost in passes if (cost.case, cost.n) == (case, n)}
        rows.append((case, str(n), *(_milliseconds(costs[name]) if name in costs else "" for name in names)))
    return rows


def _milliseconds(cost: PassCost) -> str:
    shown = amount(1000 * cost.seconds, "")
    return shown if cost.agreed == cost.words else f"{shown} ({cost.agreed} of {cost.words})"


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
