"""Draw attention maps: the weights of heads on one word, hard beside soft, as a picture or as an HTML page.

The colours are those of cividis, whose order is visible with any kind of colour vision and in grey print. Cells that a
head does not see are hatched. The same trace gives the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from textwrap import wrap
from typing import Any

from hardsim.errors import InputError
from hardsim.lang.pretty import shortened
from hardsim.lang.words import shown_word
from hardsim.measuring.trace import TraceHead, TraceResult
from hardsim.report.failing_cell import FailingCell, failing_cell
from hardsim.report.map_page import page
from hardsim.report.map_svg import LEFT_ALONE, MARK, MARKED, Axis, Pair, runs, svg
from hardsim.report.plot import DOTS, FORMATS, format_of, picture, require_drawable
from hardsim.visible import visible

PAGE, SVG = ".html", ".svg"
MOST_DRAWN = 24
"""Largest number of heads in one picture."""
LONGEST_SYMBOL = 10
"""Largest number of characters of a symbol on an axis."""
LONGEST_WORD, LONGEST_PURPOSE = 80, 90
"""Largest number of characters of a word above a picture, and of a title that says what a head computes."""
HALF = 0.5
CELL, LEAST_SIDE = 0.16, 2.2
"""Size of a position in inches, and the least side of a map in inches."""
FEW = 24
"""Largest number of positions for which cells have lines between them and symbols are large."""
ALL_NUMBERED, APART = 12, 5
"""Largest number of positions that are all numbered; distance of the numbers if there are more positions."""
LETTER, LINE = 0.068, 0.15
"""Average width of a letter, and height of a line of text, in inches."""
TALLEST = 1.5
"""Largest ratio of height to width of a picture; above it, maps stand side by side."""
UNSEEN = "#e4e4e4"
NUMBER = "#6a6a6a"
"""Colour of the numbers of positions."""
COARSE = 100
"""Resolution (dots per inch) of a .png with many positions."""


def require_map(path: str) -> None:
    """Check, before anything is computed, that a picture with this file name can be drawn. Raises InputError if the
    ending is unknown, or if matplotlib is needed and not installed."""
    if not path.endswith((*FORMATS, PAGE)):
        message = f"--plot {path}: unknown picture format"
        raise InputError(message, "Give a name that ends in .svg, .png, .pdf or .html.")
    if not path.endswith((PAGE, SVG)):
        require_drawable()


def drawn(result: TraceResult, heads: Sequence[TraceHead], path: str) -> str | bytes:
    """Return the maps of some heads as the content of the file `path`, in the format of its ending. Raises InputError
    if there are no heads, or too many for a picture."""
    if not heads:
        raise InputError(f"{result.input} has no heads: there is nothing to draw", "Leave out --plot.")
    if path.endswith(PAGE):
        failing = failing_cell(result)
        return page(result, heads, [_pair(head, failing) for head in heads], _verdict(result), failing)
    if len(heads) > MOST_DRAWN:
        message = f"a picture has room for {MOST_DRAWN} heads, but there are {len(heads)}"
        raise InputError(message, "Choose some with --head, or draw them all as an .html page.")
    return picture_of(result, heads) if path.endswith(SVG) else maps(result, heads, format_of(path))


# ---- pictures ----


def picture_of(result: TraceResult, heads: Sequence[TraceHead]) -> str:
    """Return an SVG with a pair of maps for each head, hard attention and softmax."""
    symbols = [shortened(visible(symbol), LONGEST_SYMBOL) for symbol in result.symbols]
    size, first = len(symbols), result.first
    numbers = {k: str(k + first) for k in range(size) if numbered(k, size, first)}
    failing = failing_cell(result)
    return svg(_lines(result), [_pair(head, failing) for head in heads], Axis(symbols, numbers, size <= FEW))


def _lines(result: TraceResult) -> list[str]:
    """Return what stands above a picture: the input with its word, the answers, and where they go wrong."""
    failing = failing_cell(result)
    word = shortened(visible(shown_word(result.word, result.word)), LONGEST_WORD)
    lines = [f"{shortened(visible(result.input), LONGEST_WORD)}: {word}"]
    lines.append(f"{_verdict(result)}; {visible(result.model.summary)}")
    return lines if failing is None else [*lines, f"{MARKED}: {failing.text}"]


def _verdict(result: TraceResult) -> str:
    answers, soft = result.answers, result.model.weighting
    texts = {True: f"{soft} answers as it should", False: f"{soft} answers wrongly", None: "not compared"}
    return texts[answers.agree] if answers.decided else f"{soft} reaches no answer"


def _title(head: TraceHead) -> str:
    """Return the title of a pair of maps: the layer, the head's name, and what it computes."""
    about = f": {head.purpose}" if head.purpose else ""
    return shortened(visible(f"layer {head.layer}, {head.name}{about}"), LONGEST_PURPOSE)


def _pair(head: TraceHead, failing: FailingCell | None) -> Pair:
    return Pair(_title(head), head.hard, _soft(head), framed_rows(head), _marked(head, failing))


def _soft(head: TraceHead) -> list[list[float | None]]:
    """Return the softmax weights, which are exact or enclosed, as floats for a picture."""
    return [[None if one is None else float(one) for one in row] for row in head.weights]


def _marked(head: TraceHead, failing: FailingCell | None) -> tuple[int, int | None] | None:
    """Return the query, and the key if it is known, at which an answer goes wrong because of this head. If no head is
    known, the query is marked in all heads."""
    if failing is None or failing.head not in (None, head):
        return None
    return failing.query, failing.key


def framed_rows(head: TraceHead) -> list[int]:
    """Return the places of the queries that give less than half of their softmax weight to what hard attention
    reads."""
    found = []
    for place, (row, hard) in enumerate(zip(head.weights, head.hard, strict=True)):
        share = sum(float(one or 0) for one, at in zip(row, hard, strict=True) if at)
        if share < HALF and any(row):
            found.append(place)
    return found


def maps(result: TraceResult, heads: Sequence[TraceHead], form: str) -> bytes:
    """Return a picture with a pair of maps for each head, hard attention and softmax. The pairs are below each other,
    or in several columns if the picture would be too tall. `form` is a key of `FORMATS`."""
    symbols = [shortened(visible(symbol), LONGEST_SYMBOL) for symbol in result.symbols]
    side = max(LEAST_SIDE, CELL * len(symbols))
    width, height = 2 * side + 2.4, side + 1.25
    # The fewest columns for which the picture is not too tall.
    across = next(k for k in count(1) if -(-len(heads) // k) * height <= TALLEST * k * width)
    down = -(-len(heads) // across)

    failing = failing_cell(result)
    lines = _wrapped([*_lines(result), *([LEFT_ALONE] * any(map(framed_rows, heads)))], across * width)

    def pairs(figure: Any) -> None:
        figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)  # labels are cut off at the edge with less
        figure.suptitle("\n".join(lines), parse_math=False, x=0.02, ha="left", fontsize=8.0)
        places = figure.subplots(down, 2 * across, squeeze=False)
        for axes in places.reshape(-1, 2)[len(heads) :].flat:
            axes.remove()
        for (left, right), head in zip(places.reshape(-1, 2), heads, strict=False):
            marked = _marked(head, failing)
            _map(left, head.hard, f"{_title(head)}\nhard", symbols, result.first)
            shown = _map(right, _soft(head), "soft", symbols, result.first)
            for row, several in runs(framed_rows(head)):
                _frame(right, row, None, 1.2, len(symbols), several)
            if marked is not None:
                _frame(left, *marked, 2.4, len(symbols))
                _frame(right, *marked, 2.4, len(symbols))
        figure.colorbar(shown, ax=places[0, -1], label="weight", shrink=0.8)  # all maps have the same colours

    dots = DOTS if len(symbols) <= FEW else COARSE
    settings = {"font.size": 8.0, "hatch.linewidth": 0.3, "figure.dpi": dots}
    room = LINE * len(lines) + 0.4
    return picture((across * width, down * height + room), pairs, form, settings)


def _wrapped(lines: Sequence[str], width: float) -> list[str]:
    """Break lines that are longer than a picture is wide (in inches)."""
    return [part for line in lines for part in wrap(line, max(20, int(width / LETTER)))]


def _frame(axes: Any, row: int, key: int | None, stroke: float, size: int, down: int = 1) -> None:
    """Draw a frame around one cell, or around `down` whole rows if `key` is None."""
    from matplotlib.patches import Rectangle

    start, wide = (0, size) if key is None else (key, 1)
    corner = start - HALF, row - HALF
    axes.add_patch(Rectangle(corner, wide, down, fill=False, edgecolor=MARK, linewidth=stroke, clip_on=False, zorder=3))


def _map(axes: Any, rows: Sequence[Sequence[float | None]], title: str, symbols: Sequence[str], first: int) -> Any:
    """Draw one map on some axes: queries downwards, keys to the right, None for a key that the query does not see."""
    import numpy as np

    whole = np.array([[np.nan if one is None else one for one in row] for row in rows])
    axes.set_facecolor(UNSEEN)
    axes.patch.set_hatch("////")
    axes.patch.set_edgecolor("#b0b0b0")
    shown = axes.imshow(np.ma.masked_invalid(whole), cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
    axes.set_title(title, parse_math=False, loc="left")
    axes.set_xlabel("is read (key)")
    axes.set_ylabel("reads (query)")
    few = len(symbols) <= FEW
    size = 8.0 if few else 7.0
    across = axes.set_xticks(range(len(symbols)), symbols, parse_math=False)
    axes.set_yticks(range(len(symbols)), symbols, parse_math=False)
    for tick, symbol in zip(across, symbols, strict=True):
        tick.label1.set_rotation(90 if len(symbol) > 2 else 0)
    axes.tick_params(bottom=False, left=False, pad=2, labelsize=size)
    _number_positions(axes, [k for k in range(len(symbols)) if numbered(k, len(symbols), first)], first)
    if few:
        _rule(axes, len(symbols))
    return shown


def numbered(k: int, size: int, first: int) -> bool:
    """Return True if the axes show the number of the position with index `k`, where `size` is the number of positions
    and `first` the number of the first one."""
    return size <= ALL_NUMBERED or (k + first) % APART == 0 or k == 0


def _number_positions(axes: Any, places: Sequence[int], first: int) -> None:
    """Write the numbers of positions on the sides of the axes that have no symbols: a symbol may be a digit itself."""
    texts = [str(k + first) for k in places]
    for axis in (axes.xaxis, axes.yaxis):
        axis.remove_overlapping_locs = False  # a position has its symbol and its number
        axis.set_ticks(places, texts, minor=True)
    sides = {"labeltop": True, "labelbottom": False, "labelright": True, "labelleft": False}
    axes.tick_params(which="minor", bottom=False, left=False, pad=2, labelsize=6.0, labelcolor=NUMBER, **sides)


def _rule(axes: Any, count: int) -> None:
    """Draw thin lines between the cells, as a single path, because that makes a small file."""
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
