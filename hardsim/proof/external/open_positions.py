"""The queries, keys and values of two-layer networks over patterns of words, as affine functions of the open symbols.

Over a pattern (`patterns`) a head of the first layer reads a = the sum of w_i(s_i) v_i(s_i) by D, the sum of the
w_i(s_i). For any vector A

    a - A = the sum over positions i of x_i(s_i) / D,    x_i(s) = w_i(s) (v_i(s) - A).

At an open position with two symbols x_i(s_i) is m_i + y_i g_i for y_i = -1 or 1, the same for every query and key
behind that position; with three symbols it is m_i + y_i g_i + y_i' g_i' for (y_i, y_i') = (0, 1), (1, -1) or (-1, -1).
Positions with more symbols go to the remainder. In the boxes of `patterns` each coordinate has its own range, so keys
that depend on the same few symbols lose what they share; here the coordinates of z *are* those symbols, but for D
(ours): with low <= 1 / D <= high, z_i = y_i / (D high), which is in [-1, 1] and at most `apart` = 1 - low / high away
from y_i.

Rounding: sums of at most DEEPEST products, each off by at most ROUND times the sum of the sizes of its terms.
"""

from __future__ import annotations

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND, AffineForm
from hardsim.proof.external.class_ranges import Entries
from hardsim.proof.external.patterns import OPEN, ClassPatterns, HeadChoices
from hardsim.proof.external.second_layer import HeadForms
from hardsim.run.enclosure import ETA, GROW, Booleans, Floats, Integers


@dataclass(frozen=True, slots=True)
class OpenCells:
    """The enclosures over some patterns: the residual stream after the first layer, and the queries, keys and values of
    each head of the second one, with the coordinates z of the layout; and `apart` (patterns,)."""

    stream: AffineForm
    heads: list[HeadForms]
    apart: Floats


class OpenLayout:
    """The coordinates y of the symbols at open positions, for all forms of the words of one length."""

    def __init__(self, allowed: Booleans, given: Integers) -> None:
        """`allowed`: the symbols that words have at each position, (positions, symbols); `given`: positions that no
        pattern leaves open."""
        self.symbols: dict[int, Integers] = {}
        """The symbols at each position that has coordinates."""
        self.start: dict[int, int] = {}
        """The first coordinate of each of these positions."""
        of = list[int]()
        for place in sorted(set(range(len(allowed))) - set(given.tolist())):
            symbols = np.flatnonzero(allowed[place])
            if 2 <= len(symbols) <= 3:
                self.symbols[place], self.start[place] = symbols, len(of)
                of += [place] * (len(symbols) - 1)
        self.of: Integers = np.array(of, dtype=np.int64)
        """The position of each coordinate."""

    @property
    def count(self) -> int:
        """The number of coordinates."""
        return len(self.of)

    def vectors(self, place: int, x: Floats) -> tuple[Floats, Floats]:
        """Return m (N, d) and the g (N, coordinates, d) of a position, from x by symbol, (N, symbols, d)."""
        if x.shape[1] == 2:
            return (x[:, 0] + x[:, 1]) / 2, (x[:, 1] - x[:, 0])[:, None] / 2
        even = (x[:, 1] + x[:, 2]) / 2
        return (x[:, 0] + even) / 2, np.stack([(x[:, 1] - x[:, 2]) / 2, (x[:, 0] - even) / 2], axis=1)


class OpenForms:
    """The enclosures over the patterns of one length and last symbol."""

    def __init__(self, entries: Entries, patterns: ClassPatterns, layout: OpenLayout) -> None:
        self.entries, self.patterns, self.layout = entries, patterns, layout
        self.count = layout.count

    def _choices(self, patterns: Integers) -> list[tuple[int, Integers, Integers, bool]]:
        """Return the rows with the same symbols at a position, for each position: the position, rows and symbols, and
        whether it is open with coordinates."""
        found, layout = [], self.layout.symbols
        for i in range(self.patterns.free):
            for one in np.unique(patterns[:, i]).tolist():
                open_ = one == OPEN and i in layout
                if open_:
                    symbols = layout[i]
                else:
                    symbols = np.flatnonzero(self.patterns.allowed[i]) if one == OPEN else np.array([one])
                found.append((i, np.flatnonzero(patterns[:, i] == one), symbols, open_))
        return found

    def __call__(self, patterns: Integers) -> OpenCells:
        """Return the enclosures over patterns (N, free)."""
        entries, first = self.entries, self.entries.first
        of = np.full(len(patterns), self.patterns.row)
        x = first.rest.embedded(entries.classes.at(of), self.count)
        total, apart = first.rest.before(x), np.zeros(len(patterns))
        for head, basis, out in zip(self.patterns.heads, first.bases, first.rest.out, strict=True):
            read, off = self._read(head, patterns)
            apart = np.maximum(apart, off)
            e = (read.e @ np.abs(basis.axes) + basis.lost + ROUND * read.size @ np.abs(basis.axes)) * GROW
            total = total.plus(out(AffineForm(read.c @ basis.axes, read.slopes @ basis.axes, e)))
        stream = first.rest.after(first.rest.joined(x, total))
        y = stream if entries.entry.norm is None else entries.entry.norm(stream)
        places = np.full(len(patterns), first.columns.start - 1 + self.patterns.length)
        kept = np.arange(self.count)
        return OpenCells(stream.first(self.count), [head(y, kept, places) for head in entries.entry.heads], apart)

    def _read(self, head: HeadChoices, patterns: Integers) -> tuple[AffineForm, Floats]:
        """Return what a head of the first layer reads, along its basis, and `apart`."""
        count, width = len(patterns), head.values.shape[2]
        weights = (head.low + head.high) / 2
        apart = (head.high - head.low) * (0.5 * GROW) + ROUND * weights
        fixed = (head.fixed_low + head.fixed_high) / 2
        # sums of weights, and of weights times values, with the mean over the symbols of open positions
        total = np.full(count, fixed.sum())
        vectors = np.tile(fixed @ head.fixed, (count, 1))
        least, most = (np.full(count, one.sum()) for one in (head.fixed_low, head.fixed_high))
        choices = self._choices(patterns)
        for i, some, symbols, _ in choices:
            w = weights[i, symbols]
            total[some] += w.mean()
            vectors[some] += (w @ head.values[i, symbols]) / len(symbols)
            least[some] += head.low[i, symbols].min()
            most[some] += head.high[i, symbols].max()
        centre = vectors / total[:, None]
        far = np.abs(head.fixed[None] - centre[:, None])
        lost = (head.fixed_high[:, None] * far * (4 * ROUND) + (head.fixed_high - fixed)[:, None] * far).sum(axis=1)
        mean = (fixed[:, None] * (head.fixed[None] - centre[:, None])).sum(axis=1)
        slopes, wide = np.zeros((count, self.count, width)), np.zeros((count, width))
        for i, some, symbols, open_ in choices:
            away = head.values[i, symbols] - centre[some, None]
            x = weights[i, symbols, None] * away
            middle = x.mean(axis=1)
            if open_:
                start = self.layout.start[i]
                middle, made = self.layout.vectors(i, x)
                slopes[some, start : start + made.shape[1]] = made
            elif len(symbols) > 1:
                wide[some] += np.abs(x - middle[:, None]).max(axis=1)
            mean[some] += middle
            lost[some] += (apart[i, symbols, None] * np.abs(away)).max(axis=1) + 4 * ROUND * np.abs(x).max(axis=1)
        least, most = least * (1 - ROUND), most * (1 + ROUND)
        low, high = 1 / most, 1 / least
        near = (low + high)[:, None] / 2
        reach = np.abs(mean) + np.abs(slopes).sum(axis=1) + wide
        half = (high - low)[:, None] / 2
        off = (half + near) * (wide + lost) + half * np.abs(mean) + 8 * ROUND * (np.abs(centre) + near * reach)
        off = (off + head.off) * (GROW * GROW) + ETA
        return AffineForm(centre + near * mean, high[:, None, None] * slopes, off), (1 - low / high) * GROW + ROUND
