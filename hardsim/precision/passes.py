"""A pass: a layout evaluated in a number format, step by step as model.py groups it, either emulated or enclosed.

There is one pass for both arithmetics of `arithmetic`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask
from hardsim.precision.arithmetic import ACTIVATIONS, Enclosed, Enclosures
from hardsim.precision.evaluated import UNITS, LayoutValues, Values
from hardsim.precision.weightings import SOFTMAX, multiples, weights
from hardsim.run.float_rows import Views
from hardsim.writing.layout import (
    EMBEDDING,
    EMBEDDING_BIAS,
    POSITIONS,
    PROJECTION,
    PROJECTION_BIAS,
    TRANSFORM,
    UNEMBEDDING,
    UNEMBEDDING_BIAS,
    ExportLayout,
    nearest_float,
)

CAP = ".cap"
"""End of the names of arrays with the upper limits of hidden units: 1 or infinity, which every format represents."""
MOST_TERMS = 2**20
"""Largest number of terms of one matrix product of several words: a product holds about eight floats a term."""


@dataclass
class FormatPass:
    """A layout ready to be evaluated in an arithmetic. The data of one length are kept until another length is
    evaluated."""

    layout: ExportLayout
    arithmetic: Enclosed
    watch: Callable[[Enclosures], object] | None = None
    """A function that receives what each head reads, head by head."""

    def __post_init__(self) -> None:
        self._length = -1
        arrays = self.layout.arrays.items()
        self._arrays = {name: self.arithmetic.number(array) for name, array in arrays if not name.endswith(CAP)}
        self._caps = {name: Enclosures.of(array) for name, array in arrays if name.endswith(CAP)}

    def prepare(self, n: int) -> None:
        """Compute what words of n symbols have in common: encodings, scales and masks."""
        if n == self._length:
            return
        layout, m = self.layout, n + self.layout.fixed
        values = LayoutValues(layout)
        encoding = np.zeros((3, m, layout.dimension))
        for place, one in values.encodings(n):
            encoding[:, :, place] = one.found, one.low, one.high
        self._encoding = self.arithmetic.computed(Values(*encoding)) if layout.encoded_by else None
        self._scales = [self.arithmetic.computed(one.column) for one in values.scales(n)]
        bos = bool(layout.description["bos"])
        heads = [head for layer in layout.description["layers"] for head in layer["heads"]]
        views = {mask: Views(Mask(mask), m, bos) for mask in {head["mask"] for head in heads}}
        seen = {mask: view.visible(np.arange(m)) for mask, view in views.items()}
        # These are m^2 numbers: for most networks they are not needed, and for long words there is no room for them.
        far = any(head.keys() & {"window", "slope"} for head in heads)
        distance = np.abs(np.arange(m)[:, None] - np.arange(m)[None, :]) if far else np.zeros(())
        self._seen = [
            seen[head["mask"]] & (distance < head["window"]) if "window" in head else seen[head["mask"]]
            for head in heads
        ]
        # One product of floats, and so the same on every machine.
        biases = [None if "slope" not in head else -(float(head["slope"]) * distance) for head in heads]
        self._biases = [None if one is None else self.arithmetic.number(one) for one in biases]
        self._turns = [self._turn(head["turns"], m) if "turns" in head else None for head in heads]
        self._length = n

    def _turn(self, turns: dict[str, Any], m: int) -> tuple[Enclosures, Enclosures]:
        """Return the cosines and sines of the angles at m positions, as model.py computes them: an angle is one product
        of floats, and its cosine and sine are within two units in the last place, which the product with an
        amplitude may double, and increase by one."""
        angles = np.arange(m)[:, None] * np.array(list(map(float, turns["frequencies"])))[None, :]
        found, amplitude = [], float(turns.get("amplitude", 1))
        for exact in (np.cos(angles), np.sin(angles)):
            value = exact * amplitude
            off = (2 * UNITS + 1 if amplitude != 1 else UNITS) * np.spacing(np.abs(value))
            found.append(self.arithmetic.computed(Values(value, value - off, value + off)))
        return found[0], found[1]

    def outputs(self, tokens: NDArray[Any]) -> Enclosures:
        """Return the outputs of words of one length, as an array (words, tokens that are read, outputs). `tokens` has
        the words as the network reads them."""
        self.prepare(tokens.shape[1] - self.layout.fixed)
        shapes = [one.low.shape for one in self._arrays.values() if one.low.ndim == 2]
        widest = max(max(one * other for one, other in shapes), tokens.shape[1] * max(map(min, shapes)))
        size = max(1, MOST_TERMS // (tokens.shape[1] * widest))
        parts = [self._outputs(tokens[first : first + size]) for first in range(0, max(1, len(tokens)), size)]
        return Enclosures.joined(parts)

    def _outputs(self, tokens: NDArray[Any]) -> Enclosures:
        """Return the outputs of few words, whose products are in memory at once."""
        description = self.layout.description
        with np.errstate(all="ignore"):
            x, self._beside = self._embedded(tokens)
            head = 0
            for number, layer in enumerate(description["layers"]):
                x = self._layer(f"layers.{number}.", layer, x, head)
                head += len(layer["heads"])
            x = self._norm(description.get("final_norm"), "final_norm.", x)
            if description["at"] == "mean":
                flipped = x.each(lambda ends: np.swapaxes(ends, -1, -2))
                count = self.arithmetic.number(np.array([float(tokens.shape[1])]))
                mean = self.arithmetic.divide(self.arithmetic.total(flipped), count)
                x = mean.each(lambda ends: np.swapaxes(ends, -1, -2))
            if (step := description.get("transform")) is not None:
                x = self._product(x, f"{TRANSFORM}weight", f"{TRANSFORM}bias")
                if step["activation"] is not None:
                    x = self._activated(step["activation"], x, f"{TRANSFORM}cap")
                x = self._norm(step["norm"], f"{TRANSFORM}norm.", x)
            x = self._plus(self.arithmetic.matmul(x, self._arrays[UNEMBEDDING]), UNEMBEDDING_BIAS)
            return self._capped(x, description.get("output_cap"))

    def _capped(self, x: Enclosures, cap: str | None) -> Enclosures:
        """Return C tanh(x / C) for a soft cap C."""
        if cap is None:
            return x
        number = self.arithmetic.scalar(nearest_float(Fraction(cap)))
        return self.arithmetic.multiply(self.arithmetic.activated("tanh", self.arithmetic.divide(x, number)), number)

    def _activated(self, kind: str, z: Enclosures, cap: str) -> Enclosures:
        return self.arithmetic.activated(kind, z) if kind in ACTIVATIONS else self.arithmetic.hidden(z, self._caps[cap])

    def _embedded(self, tokens: NDArray[Any]) -> tuple[Enclosures, Enclosures | None]:
        """Return the residual stream before the first layer, and what queries and keys read besides."""
        arithmetic, embedding = self.arithmetic, self._arrays[EMBEDDING]
        if "propositions" in self.layout.description:
            held = arithmetic.number(tokens.astype(np.float64))
            always = embedding.rows(slice(-1, None))
            x = arithmetic.add(arithmetic.matmul(held, embedding.rows(slice(0, -1))), always)
        else:
            x = embedding.rows(tokens)
        token, apart = x, "positions_at" in self.layout.description
        x = Enclosures.of(np.zeros_like(x.low)) if apart else x
        if POSITIONS in self._arrays:
            x = arithmetic.add(x, self._arrays[POSITIONS].rows(slice(0, tokens.shape[1])))
        x = x if self._encoding is None else arithmetic.add(x, self._encoding)
        x, beside = (token, x) if apart else (x, None)
        norm = self.layout.description.get("embedding_norm")
        x = self._norm(norm, "embedding_norm.", self._plus(x, EMBEDDING_BIAS))
        return self._product(x, PROJECTION, PROJECTION_BIAS) if PROJECTION in self._arrays else x, beside

    def _plus(self, x: Enclosures, bias: str) -> Enclosures:
        return self.arithmetic.add(x, self._arrays[bias]) if bias in self._arrays else x

    def _product(self, x: Enclosures, weight: str, bias: str) -> Enclosures:
        return self._plus(self.arithmetic.matmul(x, self._arrays[weight]), bias)

    def _layer(self, prefix: str, description: dict[str, Any], x: Enclosures, head: int) -> Enclosures:
        after, arithmetic, first = description["norms"] == "after", self.arithmetic, x
        outs = [(description.get(key), f"{prefix}{key}.") for key in ("out_1", "out_2")]
        if description["heads"] or f"{prefix}b_o" in self._arrays:
            norm = description.get("norm_1"), f"{prefix}norm_1."
            y = x if after else self._norm(*norm, x)
            x = x if outs[0][0] is None else Enclosures.of(np.zeros_like(x.low))
            for place, one in enumerate(description["heads"]):
                x = arithmetic.add(x, self._head(f"{prefix}heads.{place}.", one, y, head + place))
            x = self._plus(x, f"{prefix}b_o")
            x = x if outs[0][0] is None else arithmetic.add(first, self._norm(*outs[0], x))
            x = self._rounded(description, self._norm(*norm, x) if after else x)
        if description["mlp"] is not None:
            norm = description.get("norm_2"), f"{prefix}norm_2."
            y = first if "parallel" in description else x
            found = self._hidden(f"{prefix}mlp.", description["mlp"], y if after else self._norm(*norm, y))
            found = arithmetic.matmul(found, self._arrays[f"{prefix}mlp.w_out"])
            if outs[1][0] is None:
                x = self._plus(arithmetic.add(x, found), f"{prefix}mlp.b_out")
            else:
                x = arithmetic.add(x, self._norm(*outs[1], self._plus(found, f"{prefix}mlp.b_out")))
            x = self._rounded(description, self._norm(*norm, x) if after else x)
        return x

    def _rounded(self, description: dict[str, Any], x: Enclosures) -> Enclosures:
        """Round down, or to the nearest (even) multiple of 2^-p, if the network does so."""
        if "rounding" not in description:
            return x
        mode, places = description["rounding"]
        return multiples(self.arithmetic, x, np.floor if mode == "floor" else np.rint, places)

    def _hidden(self, prefix: str, kind: str, y: Enclosures) -> Enclosures:
        """Return the hidden units."""
        z = self._product(y, f"{prefix}w_in", f"{prefix}b_in")
        if f"{prefix}w_cap" in self._arrays:
            # Infinite caps are those of relus.
            found, caps = self.arithmetic.matmul(y, self._arrays[f"{prefix}w_cap"]), self._caps[f"{prefix}cap"].low
            found = self.arithmetic.add(found, self.arithmetic.number(np.where(np.isfinite(caps), caps, 0.0)))
            return self.arithmetic.hidden(z, found.each(lambda ends: np.where(np.isfinite(caps), ends, caps)))
        if f"{prefix}w_gate" not in self._arrays:
            return self._activated(kind, z, f"{prefix}cap")
        gate = self._activated(kind, self._product(y, f"{prefix}w_gate", f"{prefix}b_gate"), f"{prefix}cap")
        return self.arithmetic.multiply(gate, z)

    def _compared(self, prefix: str, side: str, description: dict[str, Any], y: Enclosures, number: int) -> Enclosures:
        """Return the queries ("q") or keys ("k") of a head."""
        arithmetic, turns = self.arithmetic, self._turns[number]
        x = self._product(y, f"{prefix}w_{side}", f"{prefix}b_{side}")
        x = self._norm(description.get(f"norm_{side}"), f"{prefix}norm_{side}.", x)
        if turns is None:
            return x
        (c, s), half = turns, len(description["turns"]["frequencies"])
        both = (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
        one, two = both if description["turns"]["interleaved"] else (slice(half), slice(half, 2 * half))
        a, b = (x.rows((..., part)) for part in (one, two))
        ends = [x.low.copy(), x.high.copy()]
        less = arithmetic.multiply(arithmetic.multiply(b, s), arithmetic.number(np.array([-1.0])))
        for part, found in (
            (one, arithmetic.add(arithmetic.multiply(a, c), less)),
            (two, arithmetic.add(arithmetic.multiply(b, c), arithmetic.multiply(a, s))),
        ):
            ends[0][..., part], ends[1][..., part] = found.low, found.high
        return Enclosures(*ends)

    def _head(self, prefix: str, description: dict[str, Any], y: Enclosures, number: int) -> Enclosures:
        arithmetic = self.arithmetic
        read = y if self._beside is None else arithmetic.add(y, self._beside)
        q, k = (self._compared(prefix, side, description, read, number) for side in "qk")
        v = self._product(y, f"{prefix}w_v", f"{prefix}b_v")
        scores = arithmetic.matmul(q, k.each(lambda ends: np.swapaxes(ends, -1, -2)))
        scores = self._capped(arithmetic.multiply(scores, self._scales[number]), description.get("cap"))
        if (bias := self._biases[number]) is not None:
            scores = arithmetic.add(scores, bias)
        logits = arithmetic.masked(scores, self._seen[number])
        back = description["mask"].endswith("future")
        read = arithmetic.matmul(weights(arithmetic, description.get("weighting", SOFTMAX), logits, back), v)
        if self.watch is not None:
            self.watch(read)
        return arithmetic.matmul(read, self._arrays[f"{prefix}w_o"])

    def _norm(self, description: dict[str, Any] | None, prefix: str, x: Enclosures) -> Enclosures:
        if description is None:
            return x
        arithmetic = self.arithmetic
        d = arithmetic.number(np.array([float(x.low.shape[-1])]))
        if description["kind"] == "layer":
            mean = arithmetic.divide(arithmetic.total(x), d)
            x = arithmetic.add(x, arithmetic.multiply(mean, arithmetic.number(np.array([-1.0]))))
        square = arithmetic.divide(arithmetic.total(arithmetic.square(x)), d)
        epsilon = arithmetic.scalar(nearest_float(Fraction(description["epsilon"])))
        x = arithmetic.divide(x, arithmetic.monotone(np.sqrt, arithmetic.add(square, epsilon), 0))
        if f"{prefix}weight" in self._arrays:
            x = arithmetic.multiply(x, self._arrays[f"{prefix}weight"])
        return self._plus(x, f"{prefix}bias")
