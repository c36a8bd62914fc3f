"""Write attention maps as an SVG file, without a library for pictures: pairs of maps, hard attention and softmax.

Cells of one colour are a single path, row by row, so that files of many positions stay small. All lengths are in
pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, groupby
from textwrap import wrap
from xml.sax.saxutils import escape, quoteattr

from hardsim.lazy_dataclass import dataclass

COLOURS = ("#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838")
"""Cividis at equal distances from 0 to 1; colours between two are mixed."""
LEVELS = 100
"""Number of steps of the colours."""
CELL, LEAST_CELL, WIDE = 18, 4, 480
"""Side of a cell, its least side, and the side of a map from which cells become smaller."""
FONT, LETTER, LINE = 11, 6.6, 15
"""Size of the font, average width of a letter, and height of a line of text."""
NUMBERS, TITLE, APART, BAR = 22, 16, 16, 70
"""Room for the numbers of positions, for the title of an axis, between maps, and for the scale of colours."""
THICK = 3.0
"""Width of the frame where an answer goes wrong."""
TALLEST = 1.5
"""Largest ratio of height to width of a picture; above it, pairs stand side by side."""
GROUND, TEXT, UNSEEN, HATCH, NUMBER, MARK = "#ffffff", "#000000", "#e4e4e4", "#b0b0b0", "#6a6a6a", "#d1242f"
DARK = {GROUND: "#1e2129", TEXT: "#e6e6e6", UNSEEN: "#31353f", HATCH: "#5a5f69", NUMBER: "#a5a5a5", MARK: "#ff7b72"}
"""Colours besides those of weights, and what stands for each where the reader prefers a dark page. An SVG in an <img>
follows the `color-scheme` of the page around it."""
MARKED = "thick frame"
"""The name, in the title of a picture, of the mark of the place where an answer goes wrong."""
LEFT_ALONE = "framed: less than half of the softmax weight is where hard attention looks"


@dataclass(frozen=True)
class Pair:
    """The maps of one head: rows of weights, None for a key that the query does not see, the numbers of the rows that
    are framed, and the query, with the key or None for all keys, that has a thick frame in both maps."""

    title: str
    hard: Sequence[Sequence[float | None]]
    soft: Sequence[Sequence[float | None]]
    framed: Sequence[int]
    marked: tuple[int, int | None] | None = None


@dataclass(frozen=True)
class Axis:
    """The positions of a map: their symbols, the numbers that are shown, by place, and whether cells have lines
    between them."""

    symbols: Sequence[str]
    numbers: Mapping[int, str]
    ruled: bool

    @property
    def cell(self) -> float:
        """The side of a cell."""
        return max(LEAST_CELL, min(CELL, WIDE / max(1, len(self.symbols))))

    @property
    def side(self) -> float:
        """The side of a map."""
        return self.cell * len(self.symbols)

    @property
    def room(self) -> float:
        """The width of the longest symbol, or the height of the longest one that is turned."""
        return LETTER * max(map(len, self.symbols), default=0) + 6


def svg(title: Sequence[str], pairs: Sequence[Pair], axis: Axis) -> str:
    """Return a picture of pairs of maps, with lines of text above them. The text is shown as it is."""
    map_width, map_height = TITLE + axis.room + axis.side + NUMBERS, NUMBERS + axis.side + axis.room + TITLE
    width = max(2 * map_width + APART, LETTER * max((len(pair.title) for pair in pairs), default=0))
    height = 2 * LINE + map_height + APART
    across = next(k for k in count(1) if -(-len(pairs) // k) * height <= TALLEST * k * width)
    framed = [LEFT_ALONE] * any(pair.framed for pair in pairs)
    title = [part for line in title for part in wrap(line, max(20, int(across * width / LETTER)))]
    top = LINE * (len(title) + len(framed)) + APART
    whole = across * (width + APART) + BAR, top + -(-len(pairs) // across) * height
    parts = [f"<title>{escape(' '.join(title))}</title>", f'<rect width="100%" height="100%" fill="{GROUND}"/>']
    parts += [_text(APART, LINE * (k + 1), line, "start", TEXT) for k, line in enumerate(title)]
    parts += [_text(APART, LINE * (len(title) + 1), line, "start", MARK) for line in framed]
    for number, pair in enumerate(pairs):
        x, y = (number % across) * (width + APART) + APART, top + (number // across) * height
        parts.append(_text(x, y + FONT, pair.title, "start", TEXT))
        for place, (name, rows) in enumerate((("hard", pair.hard), ("soft", pair.soft))):
            left, upper = x + place * (map_width + APART) + TITLE + axis.room, y + 2 * LINE + NUMBERS
            parts += _map(left, upper, name, rows, axis)
            if name == "soft":
                parts += [_frame(left, upper, row, None, 1.5, axis, down) for row, down in runs(pair.framed)]
            parts += [] if pair.marked is None else [_frame(left, upper, *pair.marked, THICK, axis)]
    parts += _scale(whole[0] - BAR + APART, top + 2 * LINE + NUMBERS, max(axis.side, 60))
    w, h = map(_number, whole)
    size = f'width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="DejaVu Sans, sans-serif" font-size="{FONT}">\n'
        '<defs><pattern id="unseen" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<rect width="6" height="6" fill="{UNSEEN}"/><path d="M0 6L6 0" stroke="{HATCH}" stroke-width="0.5"/>'
        f"</pattern></defs>\n{_dark()}\n"
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def _dark() -> str:
    rules = "".join(f'[fill="{old}"]{{fill:{new}}}[stroke="{old}"]{{stroke:{new}}}' for old, new in DARK.items())
    return f"<style>@media screen and (prefers-color-scheme: dark){{{rules}}}</style>"


def colour(weight: float) -> str:
    """Return the colour of a weight between 0 and 1, in one of LEVELS + 1 steps."""
    place = round(min(1.0, max(0.0, weight)) * LEVELS) * (len(COLOURS) - 1) / LEVELS
    low = min(int(place), len(COLOURS) - 2)
    ends = [[int(one[k : k + 2], 16) for k in (1, 3, 5)] for one in COLOURS[low : low + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in zip(*ends, strict=True))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(x: float, y: float, text: str, anchor: str, fill: str, turned: bool = False, size: int = FONT) -> str:
    place = f'x="{_number(x)}" y="{_number(y)}"'
    turn = f' transform="rotate(-90 {_number(x)} {_number(y)})"' if turned else ""
    smaller = "" if size == FONT else f' font-size="{size}"'
    return f"<text {place} text-anchor={quoteattr(anchor)} fill={quoteattr(fill)}{smaller}{turn}>{escape(text)}</text>"


def _map(x: float, y: float, name: str, rows: Sequence[Sequence[float | None]], axis: Axis) -> Iterator[str]:
    """Yield the parts of one map: queries downwards, keys to the right."""
    cell, side = axis.cell, axis.side
    yield _text(x + side / 2, y - NUMBERS + 4, name, "middle", TEXT)
    place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(side)}" height="{_number(side)}"'
    yield f'<rect {place} fill="url(#unseen)"/>'
    runs: dict[str, list[str]] = {}
    for down, row in enumerate(rows):
        start = 0
        for shade, some in groupby(None if one is None else colour(one) for one in row):
            length = len(list(some))
            if shade is not None:
                path = f"M{_number(x + start * cell)} {_number(y + down * cell)}"
                runs.setdefault(shade, []).append(
                    f"{path}h{_number(length * cell)}v{_number(cell)}h-{_number(length * cell)}z"
                )
            start += length
    yield from (f'<path fill="{shade}" d="{"".join(paths)}"/>' for shade, paths in sorted(runs.items()))
    if axis.ruled:
        lines = [_number(k * cell) for k in range(1, len(axis.symbols))]
        across = "".join(f"M{_number(x)} {_number(y + float(k))}h{_number(side)}" for k in lines)
        upright = "".join(f"M{_number(x + float(k))} {_number(y)}v{_number(side)}" for k in lines)
        yield f'<path stroke="{GROUND}" stroke-width="0.4" d="{across}{upright}"/>'
    yield from _labels(x, y, axis)


def _labels(x: float, y: float, axis: Axis) -> Iterator[str]:
    """Yield the symbols of positions on the left and below, their numbers above and on the right, and what the axes
    are."""
    cell, side = axis.cell, axis.side
    for place, symbol in enumerate(axis.symbols):
        middle = (place + 0.5) * cell
        if not axis.ruled and place not in axis.numbers:
            continue  # there is no room for every symbol
        yield _text(x - 4, y + middle + 4, symbol, "end", TEXT)
        turned = len(symbol) > 2
        below = (x + middle + 4, y + side + 4) if turned else (x + middle, y + side + FONT + 1)
        yield _text(*below, symbol, "end" if turned else "middle", TEXT, turned)
    for place, number in axis.numbers.items():
        middle = (place + 0.5) * cell
        yield _text(x + middle, y - 3, number, "middle", NUMBER, size=8)
        yield _text(x + side + 4, y + middle + 3, number, "start", NUMBER, size=8)
    yield _text(x + side / 2, y + side + axis.room + FONT, "is read (key)", "middle", TEXT)
    yield _text(x - axis.room - 4, y + side / 2, "reads (query)", "middle", TEXT, turned=True)


def runs(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first row and the number of rows of each run of neighbouring rows: they share a frame."""
    starts = [row for row in rows if row - 1 not in rows]
    return [(row, next(k for k in count(1) if row + k not in rows)) for row in starts]


def _frame(x: float, y: float, row: int, key: int | None, stroke: float, axis: Axis, down: int = 1) -> str:
    """Return a frame around one cell, or around `down` whole rows if `key` is None."""
    start, wide = (0, len(axis.symbols)) if key is None else (key, 1)
    corner = f'x="{_number(x + start * axis.cell)}" y="{_number(y + row * axis.cell)}"'
    size = f'width="{_number(wide * axis.cell)}" height="{_number(down * axis.cell)}"'
    return f'<rect {corner} {size} fill="none" stroke="{MARK}" stroke-width="{_number(stroke)}"/>'


def _scale(x: float, y: float, height: float) -> Iterator[str]:
    """Yield the scale of colours."""
    step = height / LEVELS
    for k in range(LEVELS):
        place = f'y="{_number(y + height - (k + 1) * step)}" width="12" height="{_number(step + 0.5)}"'
        yield f'<rect x="{_number(x)}" {place} fill="{colour((k + 0.5) / LEVELS)}"/>'
    for tick in range(6):
        yield _text(x + 16, y + height * (1 - tick / 5) + 4, f"{tick / 5:.1f}", "start", TEXT, size=9)
    yield _text(x, y - 6, "weight", "start", TEXT, size=9)
