"""Attention maps: what heads attend to on one word, hard beside soft, as a picture or as a page to step through.

The colours are those of cividis, which readers with any kind of colour vision, and grey print, show in order; what a
head does not see is hatched. The same trace gives the same file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from importlib.resources import files
from typing import Any

from hardsim.checking.trace import TraceHead, TraceResult
from hardsim.errors import InputError
from hardsim.lang.pretty import shortened
from hardsim.lang.words import shown_word
from hardsim.records import short
from hardsim.report.plot import DOTS, FORMATS, format_of, hold_drawable, picture
from hardsim.visible import visible

PAGE = ".html"
MOST_DRAWN = 24
"""Heads in one picture."""
LONGEST_SYMBOL, LONGEST_TITLE = 10, 44
"""Characters of a symbol on an axis, and of the title of a map."""
CELL, LEAST_SIDE = 0.16, 2.2
"""Inches that a position takes, and that a map has at least."""
FEW = 24
"""Positions up to which cells have lines between them, and symbols are large."""
UNSEEN = "#e4e4e4"
COARSE = 100
"""Dots to the inch of a .png of many positions."""


def hold_map(path: str) -> None:
    """Refuse what cannot be drawn before anything is computed.

    Raises:
        InputError: for another ending, or if matplotlib is needed and not installed.
    """
    if not path.endswith((*FORMATS, PAGE)):
        raise InputError(f"--plot {path}: not known how to draw that", "Give a name in .svg, .png, .pdf or .html.")
    if not path.endswith(PAGE):
        hold_drawable()


def drawn(result: TraceResult, heads: Sequence[TraceHead], path: str) -> str | bytes:
    """The maps of some heads as the content of a file of that name.

    Raises:
        InputError: if there are none, or too many for a picture.
    """
    if not heads:
        raise InputError(f"{result.input} has no heads: there is nothing to draw", "Leave out --plot.")
    if path.endswith(PAGE):
        return page(result, heads)
    if len(heads) > MOST_DRAWN:
        told = f"a picture has room for {MOST_DRAWN} heads, not for {len(heads)}"
        raise InputError(told, "Name some with --head, or draw them all as an .html page.")
    return maps(result, heads, format_of(path))


# ---- pictures ----


def maps(result: TraceResult, heads: Sequence[TraceHead], form: str) -> bytes:
    """A row for each head: hard attention, softmax."""
    symbols = [shortened(visible(symbol), LONGEST_SYMBOL) for symbol in result.symbols]
    side = max(LEAST_SIDE, CELL * len(symbols))

    def rows(figure: Any) -> None:
        figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)  # labels are cut off at the edge with less
        for row, head in zip(figure.subplots(len(heads), 2, squeeze=False), heads, strict=True):
            about = shortened(visible(head.name), LONGEST_TITLE)
            _map(row[0], head.hard, f"layer {head.layer}, {about}: hard", symbols, result.first)
            weights = [[None if one is None else float(one) for one in line] for line in head.weights]
            figure.colorbar(_map(row[1], weights, "soft", symbols, result.first), ax=row[1], label="weight", shrink=0.8)

    size = (2 * side + 2.4, len(heads) * (side + 0.8) + 0.4)
    dots = DOTS if len(symbols) <= FEW else COARSE
    return picture(size, rows, form, {"font.size": 8.0, "hatch.linewidth": 0.3, "figure.dpi": dots})


def _map(axes: Any, rows: Sequence[Sequence[float | None]], title: str, symbols: Sequence[str], first: int) -> Any:
    """One map: queries down, keys across."""
    import numpy as np

    whole = np.array([[np.nan if one is None else one for one in row] for row in rows])
    axes.set_facecolor(UNSEEN)
    axes.patch.set_hatch("////")
    axes.patch.set_edgecolor("#b0b0b0")
    shown = axes.imshow(np.ma.masked_invalid(whole), cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
    axes.set_title(title, parse_math=False)
    axes.set_xlabel("is read (key)")
    axes.set_ylabel("reads (query)")
    few = len(symbols) <= FEW
    size = 8.0 if few else 7.0
    named = [_below(k, one, first) for k, one in enumerate(symbols)]
    across = axes.set_xticks(range(len(symbols)), named, parse_math=False)
    named = [_beside(k, one, first) for k, one in enumerate(symbols)]
    down = axes.set_yticks(range(len(symbols)), named, parse_math=False)
    for tick, symbol in zip(across, symbols, strict=True):
        tick.label1.set_rotation(90 if len(symbol) > 2 else 0)
    for tick in (*across, *down):
        tick.label1.set_fontsize(size)
    axes.tick_params(length=2 if few else 0, pad=1)
    if few:
        _rule(axes, len(symbols))
    return shown


def _numbered(k: int, first: int) -> bool:
    """Whether the position with that index has its number on the axes."""
    return (k + first) % 5 == 0 or k == 0


def _below(k: int, symbol: str, first: int) -> str:
    return f"{symbol}\n{k + first}" if _numbered(k, first) and len(symbol) <= 2 else symbol


def _beside(k: int, symbol: str, first: int) -> str:
    return f"{k + first}  {symbol}" if _numbered(k, first) else symbol


def _rule(axes: Any, count: int) -> None:
    """Thin lines between the cells: one path, as files are small with it."""
    places = [k + 0.5 for k in range(count - 1)]
    ends, gap = [-0.5, count - 0.5], float("nan")
    axes.plot(
        [*(x for place in places for x in (*ends, gap)), *(x for place in places for x in (place, place, gap))],
        [*(y for place in places for y in (place, place, gap)), *(y for place in places for y in (*ends, gap))],
        color="white",
        linewidth=0.4,
        scalex=False,
        scaley=False,
    )


# ---- the page ----


def page(result: TraceResult, heads: Sequence[TraceHead]) -> str:
    """One file with all that it needs: HTML, style, script and numbers."""
    data = {
        "title": f"{result.input}: {shown_word(result.word, result.word)}",
        "first": result.first,
        "symbols": [visible(symbol) for symbol in result.symbols],
        "heads": [_head(head) for head in heads],
        "values": [
            {
                "layer": value.layer,
                "name": visible(value.coordinate),
                "holds": visible(value.holds),
                "hard": [_number(one) for one in value.hard],
                "soft": [_number(one) for one in value.soft],
                "error": [_number(one) for one in value.error],
            }
            for value in result.values
        ],
    }
    template = files("hardsim.report").joinpath("maps.html").read_text(encoding="utf-8")
    # Inside a script nothing may look like its end, or like the beginning of another one.
    written = json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    return template.replace("/*DATA*/null", written)


def _number(value: Fraction) -> float | str:
    """A number as scripts have them; one that is too large or too small for that as a table shows it."""
    with suppress(OverflowError):
        if (near := float(value)) or not value:
            return near
    return short(value)


def _head(head: TraceHead) -> dict[str, Any]:
    return {
        "layer": head.layer,
        "name": visible(head.name),
        "purpose": visible(head.purpose),
        "hard": head.hard,
        "soft": [[None if one is None else float(one) for one in row] for row in head.weights],
        "reads": [
            {
                "looks": read.looks,
                "weight": _number(read.weight) if read.keys else None,
                "gap": None if read.gap is None else _number(read.gap),
                "error": None if read.error is None else _number(read.error),
            }
            for read in head.reads
        ],
    }
