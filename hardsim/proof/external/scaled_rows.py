"""Lower bounds of rows of outputs that do not divide by a norm: the last layer's MLP on the sphere of normed vectors.

Let x be the residual stream after attention, y what enters the norm before the MLP (x, or x less its mean), sigma the
root of the mean square of y plus epsilon, rho = 1 / sigma, and s = y / sigma, whose length is at most sqrt(d). The MLP
reads h = s W + b, which is *linear* in s. A product form of the norm would add a remainder of second order, which is
most of what such bounds lose; here there is none (ours).

**Quotients.** For a function w of y let F(w) be an upper bound of w.y over all x. Let u be a vector with |u| sqrt(d) <=
1, so that u.y <= sigma, and k with u.y >= k sigma. Then for every number L

    w.s = (w - L u).y rho + L (u.y) rho <= max(F(w - L u) rho) + (L if L >= 0, else k L).

L near w.s at the middle of the cell makes this close; Newton's method makes it closer.

**Rows.** On the ranges of h the activation is between two lines with the same slope. So the vector z after the MLP,
times rho, is linear in s and in rho, with a bounded error. A row `G.z + c sigma_f` (with sigma_f the root for the last
norm, which is not divided out) is bounded from below with `sigma_f >= v.z` for c > 0, for a vector v like u. For each s
that is linear in rho, and for c < 0 it is concave, since sigma_f rho is a norm of a vector that is linear in rho. So it
suffices to bound rows at both ends of rho, with the greatest sigma_f rho there.

Rounding is as in `affine`: sums of at most DEEPEST products, each off by at most ROUND times the sum of its terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND, AffineForm, NormForm, chord
from hardsim.proof.external.logits import AddedMlp, LayerRest, Wants
from hardsim.proof.external.search import worst
from hardsim.proof.shared.result import NotProved
from hardsim.run.enclosure import ETA, GROW, Floats

Support = Callable[[Floats], Floats]
"""A function from directions c, (N, K, v), to upper bounds of c.a, (N, K), over the outputs a of the heads in each of N
cells; a has the outputs of all heads, one after the other."""
PASSES = 3
"""The number of times that F is computed for one quotient."""
SHORT = 1 - 2.0**-30
"""A factor that keeps computed unit vectors shorter than 1."""


class ScaledRows:
    """The rows of what is required of a network, from the residual stream before the attention of its last layer."""

    def __init__(self, rest: LayerRest, reach: Floats) -> None:
        """`reach` bounds the sizes of the coordinates of the heads' outputs, (v,). Raises NotProved unless the layer
        has an MLP without a gate behind a norm, and nothing else follows but a norm of the same kind."""
        step = rest.steps[0] if len(rest.steps) == 1 else None
        plain = isinstance(step, AddedMlp) and step.norm is not None and step.mlp.gate is None and step.out is None
        if not plain or rest.added is not None or rest.beside is not None or not isinstance(step, AddedMlp):
            raise NotProved("the last layer is not an MLP behind a norm")
        assert step.norm is not None
        self.rest, self.norm, self.mlp = rest, step.norm, step.mlp
        # with centring, rows are read from z less its mean: without a last norm they would lack what the mean adds
        if any((one.norm is not None and one.norm.centring) != self.norm.centring for one in rest.wants):
            raise NotProved("the last norm is not of the kind of the one before the MLP")
        self.out = np.concatenate([one.weight for one in rest.out])
        lost = np.concatenate([one.reach for one in rest.out])
        self.far: Floats = reach @ np.abs(self.out) * GROW
        """A bound of the size of what attention adds, without its bias."""
        self.lost: Floats = reach @ lost * (2 * GROW)
        weight, bias = self.norm.weight, self.norm.bias
        self.into: Floats = weight[:, None] * self.mlp.enter.weight
        self.shift: Floats = bias @ self.mlp.enter.weight + self.mlp.enter.bias
        d = len(weight)
        entering = np.sqrt(d) * np.abs(weight) + np.abs(bias)
        off = np.zeros(d) if self.norm.weight_off is None else np.sqrt(d) * self.norm.weight_off
        off = off if self.norm.bias_off is None else off + self.norm.bias_off
        slack = entering @ self.mlp.enter.reach * 4 + off @ self.mlp.enter.absolute + self.mlp.enter.base
        self.slack: Floats = (slack + ROUND * np.abs(self.shift)) * (2 * GROW)
        """The error of `s into + shift`, by hidden unit."""

    def __call__(self, kind: int, stream: AffineForm, near: Floats, most: Support) -> Floats:
        """Return a lower bound of the margin of a kind of requirement in each cell, (N,), where it is above 0. A number
        at or below 0 proves nothing: it is a bound times a norm, or -inf. Cells have the residual stream before
        attention, some outputs of the heads near their middle (N, v), and the support function of these outputs."""
        return self.sloped(kind, stream, near, most)[0]

    def sloped(self, kind: int, stream: AffineForm, near: Floats, most: Support) -> tuple[Floats, Floats]:
        """Return what `__call__` returns, and about how the least row depends on the heads' outputs (N, v)."""
        with np.errstate(all="ignore"):
            region = _Region(self, stream, near, most)
            margins, slopes = _Bounds(self, region, self.rest.wants[kind]).margins()
            return margins, slopes @ self.out.T


class _Region:
    """The vectors y of some cells, with their scale."""

    def __init__(self, rows: ScaledRows, stream: AffineForm, near: Floats, most: Support) -> None:
        self.rows, self.support, self.centring = rows, most, rows.norm.centring
        self.base = rows.rest.biased(stream)
        size = self.base.size + rows.far
        self.size: Floats = size + size.mean(axis=1, keepdims=True) if self.centring else size
        """Bounds of the sizes of the coordinates of x and of y."""
        y = self.base.c + near @ rows.out
        y = y - y.mean(axis=1, keepdims=True) if self.centring else y
        self.d = d = y.shape[1]
        unit, basis, lost = directions(y)
        self.u: Floats = unit * (SHORT / np.sqrt(d))
        self.middle: Floats = unit * np.sqrt(d)
        """The vector s at the middle, up to rounding."""
        ends = self.most(np.concatenate([basis, -basis, -self.u[:, None]], axis=1))
        far = np.maximum(np.abs(ends[:, :d]), np.abs(ends[:, d : 2 * d]))
        epsilon, off = rows.norm.epsilon
        square = (far * far).sum(axis=1) / d / np.maximum(1 - lost, 0.0) + epsilon + off
        high = np.sqrt(square) * GROW
        least = -ends[:, -1]
        low = np.sqrt(np.square(np.maximum(least, 0.0)) + np.maximum(epsilon - off, 0.0)) / GROW
        self.least_rho, self.most_rho = 1 / high / GROW, 1 / low * GROW
        k = np.where(least > 0, least * self.least_rho / GROW, least * self.most_rho * GROW)
        self.k: Floats = k - ROUND * np.abs(k) - ETA

    def most(self, functions: Floats) -> Floats:
        """Return upper bounds of f.y over the cells, (N, K), for functions f, (N, K, d)."""
        f = functions - functions.mean(axis=2, keepdims=True) if self.centring else functions
        base, rows = self.base, self.rows
        found = np.einsum("nkd,nd->nk", f, base.c) + np.abs(f @ base.slopes.transpose(0, 2, 1)).sum(axis=2)
        size = np.abs(functions)
        size = size + size.mean(axis=2, keepdims=True) if self.centring else size
        lost = np.einsum("nkd,nd->nk", size, base.e + rows.lost + 4 * ROUND * self.size) * GROW
        found = found + self.support(f @ rows.out.T)
        return np.asarray(found + (lost + ROUND * np.abs(found)) * GROW + ETA)

    def quotients(self, functions: Floats, passes: int = PASSES) -> Floats:
        """Return upper bounds of w.s over the cells, (N, K), for functions w, (N, K, d)."""
        level = np.einsum("nkd,nd->nk", functions, self.middle)
        cap = np.sqrt((functions * functions).sum(axis=2) * self.d) * GROW
        best, low, high = cap, self.least_rho[:, None], self.most_rho[:, None]
        for number in range(passes):
            part = level[:, :, None] * self.u[:, None]
            above = self.most(functions - part)
            above = above + ROUND * np.einsum("nkd,nd->nk", np.abs(functions) + np.abs(part), self.size)
            bound = np.where(above > 0, above * high, above * low)
            bound = bound + np.where(level > 0, level, level * self.k[:, None])
            bound = bound + ROUND * (np.abs(above) * high + np.abs(level) * (1 + np.abs(self.k[:, None])))
            best = np.fmin(best, bound)
            if number + 1 < passes:
                level = level + above * ((low + high) / 2)
        return np.asarray(best)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of rows: `slope` (N, K, d) and `more` (N, K, d): (slope + rho more).s + rho (`constant` +- `off`).
    `terms` bounds the sum of the sizes of all terms of `more` (N, K)."""

    slope: Floats
    more: Floats
    constant: Floats
    off: Floats
    terms: Floats


class _Bounds:
    """The bounds of the rows of one kind over a region."""

    def __init__(self, rows: ScaledRows, region: _Region, wants: Wants) -> None:
        self.rows, self.region, self.wants = rows, region, wants
        count = len(region.u)
        both = np.concatenate([rows.into.T, -rows.into.T])
        ends = region.quotients(np.broadcast_to(both, (count, *both.shape)))
        width = len(rows.shift)
        lost = rows.slack + ROUND * np.abs(rows.shift)
        high, low = rows.shift + ends[:, :width] + lost, rows.shift - ends[:, width:] - lost
        self.line = chord(rows.mlp.activation, low, np.maximum(high, low))
        line = self.line
        self.at: Floats = line.slope * rows.shift + line.middle
        rounding = ROUND * (np.abs(self.at) + np.abs(line.middle))
        self.off: Floats = (line.off + np.abs(line.slope) * lost + rounding) * GROW
        leave = rows.mlp.leave
        size = np.maximum(np.abs(line.low), np.abs(line.high)) + 2 * np.abs(line.middle)
        self.lost: Floats = (size @ leave.reach * 4 + leave.base) * GROW
        """The error of what the MLP adds, by coordinate of the stream."""
        self.size: Floats = (region.size + size @ leave.absolute + np.abs(leave.bias)) * GROW
        """Bounds of the sizes of the coordinates of z."""

    def _parts(self, functions: Floats) -> _Parts:
        """Return what functions of z have, (N, K, d), times rho; for z less its mean where the norms subtract it."""
        rows, line = self.rows, self.line
        f = functions - functions.mean(axis=2, keepdims=True) if self.region.centring else functions
        leave = rows.mlp.leave
        hidden = f @ leave.weight.T
        by = hidden * line.slope[:, None]
        more, terms = by @ rows.into.T, np.abs(by) @ np.abs(rows.into).sum(axis=0) * GROW
        constant = np.einsum("nkh,nh->nk", hidden, self.at) + f @ np.broadcast_to(leave.bias, f.shape[2:])
        off = np.einsum("nkh,nh->nk", np.abs(hidden), self.off)
        size = np.abs(functions) + np.abs(f)
        size = size + np.abs(functions).mean(axis=2, keepdims=True)
        off = off + np.einsum("nkd,nd->nk", size, self.lost + 8 * ROUND * self.size)
        return _Parts(f, more, constant, (off + ROUND * np.abs(constant)) * GROW + ETA, terms)

    def _least(self, parts: _Parts, passes: int = PASSES) -> Floats:
        """Return lower bounds of functions of z, times rho, at both ends of rho, (2, N, K)."""
        region, found = self.region, []
        for rho in (region.least_rho, region.most_rho):
            by = rho[:, None]
            ends = region.quotients(-(parts.slope + by[:, :, None] * parts.more), passes)
            low = by * (parts.constant - parts.off) - ends
            terms = np.sqrt(region.d) * (np.abs(parts.slope).sum(axis=2) + by * parts.terms) * GROW
            found.append(low - ROUND * (by * (np.abs(parts.constant) + parts.off) + np.abs(ends) + terms))
        return np.stack(found)

    def margins(self) -> tuple[Floats, Floats]:
        """Return lower bounds of the margins; for those below 0, of the rows times rho; and the slopes of these rows
        along s (N, d)."""
        wants, region = self.wants, self.region
        weight = wants.form.weight.T
        functions = np.broadcast_to(weight, (len(region.u), *weight.shape))
        lost = self.size @ wants.form.reach + wants.form.base
        if wants.norm is None:
            parts = self._parts(functions)
            constant = parts.constant + np.broadcast_to(wants.form.bias, weight.shape[:1])
            off = (parts.off + lost + ROUND * np.abs(constant)) * GROW
            low = self._least(replace(parts, constant=constant, off=off)).min(axis=0)
            return _scaled(low, wants, region.most_rho), self._slopes(parts, low)
        unit, scales = self._scale(wants.norm)
        least = wants.constant - wants.off
        v = unit * (SHORT / np.sqrt(region.d))
        parts = self._parts(functions + np.maximum(least, 0.0)[None, :, None] * v[:, None])
        low = self._least(replace(parts, off=(parts.off + lost) * GROW))
        below = np.minimum(least, 0.0) * scales[:, :, None]
        low = (low + below - ROUND * (np.abs(low) + np.abs(below))).min(axis=0)
        return _scaled(low, wants, scales.max(axis=0)), self._slopes(parts, low)

    def _slopes(self, parts: _Parts, low: Floats) -> Floats:
        """Return the slopes of the least rows along s, at the middle of rho."""
        at, row = np.arange(len(low)), worst(low, self.wants.choices)[1]
        rho = (self.region.least_rho + self.region.most_rho)[:, None] / 2
        return np.asarray(np.nan_to_num(parts.slope[at, row] + rho * parts.more[at, row]))

    def _scale(self, norm: NormForm) -> tuple[Floats, Floats]:
        """Return unit vectors along the vector z at the middle, and upper bounds of sigma_f rho at both ends of rho,
        (2, N)."""
        region, rows, line = self.region, self.rows, self.line
        leave, rho = rows.mlp.leave, (region.least_rho + region.most_rho) / 2
        hidden = line.slope * (region.middle @ rows.into) + self.at
        z = region.middle + rho[:, None] * (hidden @ leave.weight + leave.bias)
        z = z - z.mean(axis=1, keepdims=True) if region.centring else z
        unit, basis, lost = directions(z)
        ends = -self._least(self._parts(np.concatenate([basis, -basis], axis=1)), 1)
        far = np.maximum(np.abs(ends[:, :, : region.d]), np.abs(ends[:, :, region.d :]))
        epsilon, off = norm.epsilon
        square = (far * far).sum(axis=2) / region.d / np.maximum(1 - lost, 0.0)
        rho = np.stack([region.least_rho, region.most_rho])
        return unit, np.sqrt(square + np.square(rho) * (epsilon + off)) * GROW


def _scaled(low: Floats, wants: Wants, scale: Floats) -> Floats:
    """Return the margins of rows that were multiplied by at most `scale`, where they are above 0."""
    found, _ = worst(low, wants.choices)
    found = np.where(found > 0, found / scale / GROW, found)
    return np.where(np.isnan(found), -np.inf, found)


def directions(vectors: Floats) -> tuple[Floats, Floats, Floats]:
    """Return vectors of length 1 along some vectors (N, d), and nearly orthonormal bases that begin with them: the rows
    of reflections H, (N, d, d), with bounds of the norms of H^T H - 1."""
    d = vectors.shape[1]
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    some = np.isfinite(length) & (length > 0)
    unit = np.where(some, vectors / np.where(some, length, 1.0), np.eye(d)[0])
    w = unit.copy()
    w[:, 0] += np.where(unit[:, 0] < 0, -1.0, 1.0)
    basis = np.eye(d) - 2 * w[:, :, None] * w[:, None] / (w * w).sum(axis=1)[:, None, None]
    off = basis.transpose(0, 2, 1) @ basis - np.eye(d)
    lost = np.sqrt((off * off).sum(axis=(1, 2))) * GROW + d * ROUND
    return unit, basis, lost
