"""From the outputs of the heads to rows of outputs: the rest of a one-layer network on affine enclosures.

The outputs of a head lie in a box: coordinates y_k = b_k.a along the rows b_k of a basis B, with |y_k - mid_k| <=
rad_k. B is any float matrix that is nearly orthogonal: with E = B^T B - 1 enclosed, a = B^T y - E a, and the length of
a is at most that of the longest value. With z_k = (y_k - mid_k) / rad_k all boxes are affine enclosures (`affine`).

The last norm is not divided out: with sigma the root of the mean square, a row of outputs `norm(y) A + b` is above 0
exactly if `((y - mean) * weight) A + sigma (bias A + b)` is, and the root is enclosed by its chord.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network, NetworkLayer, Norm
from hardsim.proof.external.affine import (
    ROUND,
    AffineForm,
    CapForm,
    LinearPart,
    MlpForm,
    NormForm,
    Square,
    TransformForm,
    mean_square,
    root,
)
from hardsim.proof.external.columns import Columns, PrefixClasses
from hardsim.proof.external.demands import Requirement
from hardsim.proof.external.ranges import FirstMlp, FunctionRanges
from hardsim.run.dense_float import enclosed, lengths
from hardsim.run.enclosure import ETA, GROW, Floats, gamma, rounded


@dataclass(frozen=True, slots=True)
class Basis:
    """The coordinates of one head's outputs: the rows of `axes`, with `lost`, a bound of the length of E a."""

    axes: Floats
    lost: float

    @classmethod
    def of(cls, values: Floats, reach: float) -> Basis:
        """Return principal axes of some values (rows); `reach` bounds the length of any value."""
        width = values.shape[1]
        near = values - values.mean(axis=0) if len(values) else np.eye(width)
        square = near.T @ near
        # any axes serve: those of numbers that overflow are the coordinates
        axes = np.linalg.eigh(square)[1].T[::-1] if np.isfinite(square).all() else np.eye(width)
        found = axes.T @ axes - np.eye(width)
        off = float(np.sqrt((found * found).sum())) * GROW + gamma(width + 8) * width * 2
        return cls(np.ascontiguousarray(axes), off * reach * GROW)


@dataclass(frozen=True, slots=True)
class RowForms:
    """Enclosures of the rows of what is required, with a bound of sigma: row values are those of the form over it."""

    form: AffineForm
    sigma: Floats


class Wants:
    """The rows of a `Requirement` as linear forms of the last vectors, with the last norm that is not divided out."""

    def __init__(self, network: Network, required: Requirement, last: Norm | None) -> None:
        factors, levels, self.choices = required.rows(len(network.outputs))
        # A soft cap is a step of its own, after which outputs are what is read.
        capped = network.output_cap is not None
        u, u_off = (np.eye(len(network.outputs)), None) if capped else enclosed(network.unembedding)
        d = len(u)
        near, off = rounded(network.readout.level)
        weight, weight_off = u @ factors, (0.0 if u_off is None else u_off @ np.abs(factors)) + _lost(u, factors)
        constant, spread = near * levels, off * np.abs(levels) + ROUND * np.abs(near * levels)
        if network.unembedding_bias is not None and not capped:
            b, b_off = enclosed(network.unembedding_bias)
            constant = constant + b @ factors
            spread = spread + _lost(b, factors) + (0.0 if b_off is None else b_off @ np.abs(factors))
        self.norm = None if last is None else NormForm(last, d)
        if self.norm is None:
            self.form = LinearPart(weight, weight_off, constant, spread)
            return
        norm = self.norm
        grown, scale_off = np.abs(norm.weight), 0.0 if norm.weight_off is None else norm.weight_off
        radius = grown[:, None] * weight_off + (np.abs(weight) + weight_off) * np.reshape(scale_off, (-1, 1))
        self.form = LinearPart(norm.weight[:, None] * weight, (radius + ROUND * grown[:, None] * np.abs(weight)) * GROW)
        shift, shift_off = norm.bias, 0.0 if norm.bias_off is None else norm.bias_off
        self.constant: Floats = constant + shift @ weight
        size = np.abs(shift) @ np.abs(weight)
        lost = np.broadcast_to(shift_off, shift.shape) @ (np.abs(weight) + weight_off) + np.abs(shift) @ weight_off
        self.off: Floats = (spread + lost + ROUND * (size + np.abs(constant))) * GROW + ETA

    def __call__(self, x: AffineForm, count: int, below: bool = False, square: Square | None = None) -> RowForms:
        """Return the enclosures of all rows, with the first `count` coordinates of z; with `below` only lower bounds of
        the rows, which may be greater. `square` encloses the mean square of what enters the last norm, if it is
        known."""
        if self.norm is None:
            return RowForms(self.form(x).first(count), np.ones(len(x.c)))
        y = self.norm.entering(x)
        form, sigma = self.form(y), root(mean_square(y, self.norm.epsilon) if square is None else square)
        by, off = self.constant, sigma.off[:, None]
        size = (np.abs(sigma.mid) + np.abs(sigma.slopes).sum(axis=1) + sigma.off)[:, None]
        e = form.e + np.abs(by) * off + size * (self.off + ROUND * np.abs(by)) + ROUND * form.size
        slopes = form.slopes + sigma.slopes[:, :, None] * by
        found = AffineForm(form.c + sigma.mid[:, None] * by, slopes, e * GROW)
        found = found.first(count)
        return RowForms(self._below(y, form, found) if below else found, sigma.high)

    def _below(self, y: AffineForm, form: AffineForm, found: AffineForm) -> AffineForm:
        """Return lower bounds of rows `form + constant sigma`: the greater ones of those of `found` and, where the
        constant is above 0, of those with w.y for sigma, for w along the middle of y with a length of 1 / sqrt(d) at
        most. By the inequality of Cauchy and Schwarz `w.y <= sqrt(mean(y^2)) <= sigma`."""
        d = y.c.shape[1]
        w = y.c * ((1 - ROUND) / np.sqrt(np.maximum((y.c * y.c).sum(axis=1, keepdims=True) * d, ETA)))
        by = np.maximum(self.constant - self.off, 0.0) * (1 - ROUND)
        c, slopes = (w * y.c).sum(axis=1)[:, None], np.einsum("nd,nmd->nm", w, y.slopes)[:, :, None]
        lost = (np.abs(w) * (y.e + 4 * ROUND * y.size)).sum(axis=1)[:, None] * GROW + ETA
        e = (form.e + by * lost + ROUND * (form.size + by * np.abs(w * y.size).sum(axis=1)[:, None])) * GROW
        tried = AffineForm(form.c + c * by, form.slopes + slopes * by, e).first(found.slopes.shape[1])
        better = (by > 0) & ~(found.c - found.e >= tried.c - tried.e)
        return AffineForm(
            np.where(better, tried.c, found.c),
            np.where(better[:, None], tried.slopes, found.slopes),
            np.where(better, tried.e, found.e),
        )


def _lost(array: Floats, factors: Floats) -> Floats:
    """Return a bound of the rounding of a product with factors 0, 1 and -1."""
    return np.asarray(ROUND * (np.abs(array) @ np.abs(factors)) + ETA)


class AddedMlp:
    """A step `x + mlp(x)` with the norms around the MLP, for affine enclosures."""

    def __init__(self, layer: NetworkLayer, d: int) -> None:
        assert layer.mlp is not None
        self.mlp = MlpForm(layer.mlp)
        self.norm = None if layer.norm_2 is None or layer.post else NormForm(layer.norm_2, d)
        self.out = None if layer.out_2 is None else NormForm(layer.out_2, d)

    def __call__(self, x: AffineForm) -> AffineForm:
        """Return the enclosure of x and what the MLP adds."""
        return self.added(x, self.mlp.entry(x if self.norm is None else self.norm(x)))

    def added(
        self, x: AffineForm, entered: AffineForm, least: Floats | float = -np.inf, most: Floats | float = np.inf
    ) -> AffineForm:
        """Return the enclosure of x and what the MLP adds where its entry gives `entered`, which is between `least` and
        `most`."""
        added = self.mlp.added(entered, least, most)
        return x.plus(added if self.out is None else self.out(added))


class LayerRest:
    """A layer after its heads, with what follows it: all of the rest of a network whose only layer it is."""

    def __init__(
        self, network: Network, bases: list[Basis], kinds: tuple[Requirement, ...], divided: bool = False
    ) -> None:
        """`divided`: the last norm is divided out, since another layer follows."""
        self.bases = bases
        (layer,) = network.layers
        d = network.dimension
        self.out = [LinearPart.of(head.w_o, None) for head in layer.heads]
        self.bias, self.bias_off = (np.zeros(d), None) if layer.b_o is None else enclosed(layer.b_o)
        self.added = None if layer.out_1 is None else NormForm(layer.out_1, d)
        """The norm of what attention adds."""
        parts: list[Norm | AddedMlp | Callable[[AffineForm], AffineForm] | None] = []
        mlp = None if layer.mlp is None else AddedMlp(layer, d)
        self.beside = mlp if layer.parallel else None
        mlp = None if layer.parallel else mlp
        """The MLP of a parallel layer. In the first layer what it adds is known, and part of what attention is added
        to."""
        if layer.post:
            parts += [layer.norm_1 if layer.attends else None]
            parts += [] if mlp is None else [mlp, layer.norm_2]
        else:
            parts += [mlp]
        parts.append(network.final)
        if (transform := network.transform) is not None:
            parts += [TransformForm(transform), transform.norm]
        if network.output_cap is not None:
            parts.append(CapForm(network.unembedding, network.unembedding_bias, network.output_cap))
        kept = [part for part in parts if part is not None]
        last = None
        if kept and not divided and isinstance(kept[-1], Norm):
            last, kept = kept[-1], kept[:-1]
        width, self.steps = d, list[Callable[[AffineForm], AffineForm]]()
        for part in kept:
            width = len(transform.weight.T) if transform is not None and isinstance(part, TransformForm) else width
            self.steps.append(NormForm(part, width) if isinstance(part, Norm) else part)
        self.wants = [Wants(network, required, last) for required in kinds]

    def attended(self, x: AffineForm, middles: Floats, radii: Floats, start: int = 0) -> AffineForm:
        """Return the enclosure of x and what attention adds, for boxes of the heads' outputs (N, coordinates of all
        heads); these are coordinates of z from `start` on."""
        total, place = self.before(x), 0
        for basis, out in zip(self.bases, self.out, strict=True):
            here = slice(place, place + len(basis.axes))
            place = here.stop
            slopes = np.zeros((len(x.c), start + middles.shape[1], len(basis.axes)))
            slopes[:, start + here.start : start + here.stop] = radii[:, here, None] * basis.axes
            inner = middles[:, here] @ basis.axes
            size = (np.abs(middles[:, here]) + radii[:, here]) @ np.abs(basis.axes)
            total = total.plus(out(AffineForm(inner, slopes, (basis.lost + ROUND * size) * GROW)))
        return self.joined(x, total)

    def before(self, x: AffineForm) -> AffineForm:
        """Return what the heads' outputs are added to: the vectors x with the bias of attention, or that bias alone
        where a norm of what attention adds comes first."""
        return self.biased(x if self.added is None else AffineForm(0 * x.c, 0 * x.slopes, 0 * x.e))

    def joined(self, x: AffineForm, total: AffineForm) -> AffineForm:
        """Return the enclosure of x and what attention adds, from what `before` gives with the heads' outputs."""
        return total if self.added is None else x.plus(self.added(total))

    def biased(self, x: AffineForm) -> AffineForm:
        """Return the enclosure of x and the bias of attention."""
        c = x.c + self.bias
        e = x.e + ROUND * (np.abs(c) + np.abs(self.bias)) + (0.0 if self.bias_off is None else self.bias_off)
        return AffineForm(c, x.slopes, e)

    def after(self, x: AffineForm, start: int = 0) -> AffineForm:
        """Return the enclosure of the last vectors, before the last norm: what the steps make of x from a step on."""
        for step in self.steps[start:]:
            x = step(x)
        return x


class Rest(LayerRest):
    """A one-layer network after its heads."""

    def __init__(
        self, columns: Columns, bases: list[Basis], kinds: tuple[Requirement, ...], divided: bool = False
    ) -> None:
        super().__init__(columns.network, bases, kinds, divided)
        self.columns = columns
        turned = [basis.axes @ out.weight for basis, out in zip(bases, self.out, strict=True)]
        first = self.steps[0] if self.steps and bases and self.added is None else None
        plain = isinstance(first, AddedMlp) and first.mlp.gate is None and first.out is None
        self.first_mlp = (
            FirstMlp(first.norm, first.mlp, np.concatenate(turned)) if plain and isinstance(first, AddedMlp) else None
        )
        """The first step with the ranges of functions, where it is an MLP without a gate."""

    def entered(self, classes: PrefixClasses, middles: Floats, radii: Floats) -> AffineForm:
        """Return the enclosure of the residual stream after attention, for boxes of the heads' outputs (classes,
        coordinates of all heads)."""
        return self.attended(self.embedded(classes, middles.shape[1]), middles, radii)

    def embedded(self, classes: PrefixClasses, count: int) -> AffineForm:
        """Return the enclosure of the residual stream before attention, with `count` coordinates of z."""
        rows, places = self.columns.query(classes)
        x, d = self.columns.base, len(self.bias)
        slopes = np.zeros((len(rows), count, d))
        return AffineForm(x.mid[rows, places], slopes, np.repeat(x.length[rows, places], d, axis=1))

    def rows(
        self, kind: int, classes: PrefixClasses, middles: Floats, radii: Floats, ranges: FunctionRanges | None = None
    ) -> RowForms:
        """Return the enclosures of the rows that are required of classes of one kind, over boxes; with `ranges`, for
        the outputs of heads at which the functions of `first_mlp` are in these ranges."""
        with np.errstate(all="ignore"):
            x = self.entered(classes, middles, radii)
            if ranges is None or self.first_mlp is None:
                x = self.after(x)
            else:
                x = self.after(self.first_mlp(x, middles, radii, ranges), 1)
            return self.wants[kind](x, middles.shape[1], ranges is not None)


def longest_axis(bases: list[Basis]) -> Floats:
    """Return a bound of the length of each axis, over all heads."""
    found = [lengths(basis.axes)[:, 0] for basis in bases]
    return np.concatenate(found) if found else np.zeros(0)
