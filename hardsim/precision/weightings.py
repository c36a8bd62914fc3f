"""Attention weights in an arithmetic, grouped as model.py computes them: softmax, also with rounded exponentials,
sparsemax, and geometric attention.

Logits are arrays (words, queries, keys), minus infinity at the keys that a query does not see. Each function covers
one evaluation (`Emulated`), and every evaluation (`Enclosed`): rounding and order statistics are monotone, so both ends
of an enclosure are computed by the same steps.
"""

from __future__ import annotations

import numpy as np

from hardsim.precision.arithmetic import Enclosed, Enclosures
from hardsim.precision.formats import DOUBLE, FORMATS, NumberFormat

SOFTMAX, SPARSEMAX, GEOMETRIC, FIXED = "softmax", "sparsemax", "geometric", "fixed:"
EXPONENTIALS: dict[str, NumberFormat] = {
    "fp16": FORMATS["float16"], "bf16": FORMATS["bfloat16"], "fp32": FORMATS["float32"], "fp64": DOUBLE,
}  # fmt: skip
"""The formats of rounded exponentials, by their names in config.json."""


def weights(arithmetic: Enclosed, weighting: str, logits: Enclosures, back: bool) -> Enclosures:
    """Return the weights of a weighting that config.json names. With `back` a key farther to the right is nearer."""
    if weighting == GEOMETRIC:
        return geometric(arithmetic, logits, back)
    top = arithmetic.largest(logits)
    if weighting == SPARSEMAX:
        return sparsemax(arithmetic, arithmetic.below(logits, top))
    powers = _to_format(arithmetic, arithmetic.powers(logits, top), weighting.partition(":")[2])
    return arithmetic.divide(powers, arithmetic.total(powers))


def _to_format(arithmetic: Enclosed, powers: Enclosures, form: str) -> Enclosures:
    """Return exponentials rounded to a format (fixed:P: multiples of 2^-P), and then to that of the arithmetic."""
    if form.startswith(FIXED):
        return multiples(arithmetic, powers, np.rint, int(form.removeprefix(FIXED)))
    return powers.each(lambda ends: arithmetic.form.round(EXPONENTIALS[form].round(ends))) if form else powers


def multiples(arithmetic: Enclosed, x: Enclosures, whole: np.ufunc, places: int) -> Enclosures:
    """Return numbers rounded to multiples of 2^-places by a function that rounds to integers."""
    unit = arithmetic.scalar(2.0**places)
    return arithmetic.divide(arithmetic.multiply(x, unit).each(whole), unit)


def sparsemax(arithmetic: Enclosed, z: Enclosures) -> Enclosures:
    """Return max(z - t, 0), where t is (z_1 + ... + z_k - 1)/k in descending order, and k counts the places j with
    1 + j z_j > z_1 + ... + z_j. The largest z of a row is 0. Where k is not known, t is enclosed over every k."""
    left_out, unknown = np.isneginf(z.high), (np.isnan(z.low) | np.isnan(z.high)).any(axis=-1, keepdims=True)
    ranked = z.each(lambda ends: -np.sort(-ends, axis=-1))
    gone = np.isneginf(ranked.high)
    ranked = ranked.each(lambda ends: np.where(gone, 0.0, ends))
    places = np.arange(1, z.low.shape[-1] + 1)
    numbers = arithmetic.number(places.astype(np.float64))
    sums = arithmetic.partial_sums(ranked)
    side = arithmetic.add(arithmetic.multiply(ranked, numbers), arithmetic.scalar(1.0))
    least, most = ((one & ~gone).sum(axis=-1, keepdims=True) for one in arithmetic.above(side, sums))
    levels = arithmetic.divide(arithmetic.add(sums, arithmetic.scalar(-1.0)), numbers)
    held = (places >= least) & (places <= most)
    low = np.where(held, levels.low, np.inf).min(axis=-1, keepdims=True)
    high = np.where(held, levels.high, -np.inf).max(axis=-1, keepdims=True)
    found = arithmetic.add(z.each(lambda ends: np.where(left_out, 0.0, ends)), Enclosures(-high, -low))
    found = found.each(lambda ends: np.where(left_out, 0.0, np.maximum(ends, 0.0)))
    # model.py raises an error where no place counts.
    unknown = unknown | (least < 1) | np.isnan(low) | np.isnan(high)
    return found.each(lambda ends: np.where(unknown, np.nan, ends))


def geometric(arithmetic: Enclosed, z: Enclosures, back: bool) -> Enclosures:
    """Return sigmoid(z_j) times the product of sigmoid(-z_k) over the nearer keys k, from the nearest on."""
    step = -1 if back else 1
    z = z.rows((..., slice(None, None, step)))
    left = arithmetic.partial_products(arithmetic.sigmoid(Enclosures(-z.high, -z.low)))
    before = left.each(lambda ends: np.concatenate([np.ones_like(ends[..., :1]), ends[..., :-1]], axis=-1))
    return arithmetic.multiply(arithmetic.sigmoid(z), before).rows((..., slice(None, None, step)))
