"""Random evaluation of networks in number formats: sums in any order, products fused or not, exp off by up to two
units.

It shares no code with `hardsim.formats`: numbers of a format are those of numpy's and ml_dtypes' types, and each
result is the nearest among the converted value and its neighbours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erf, log, pi, sqrt
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hardsim.writing.layout import ExportLayout, nearest_float

Floats = NDArray[np.float64]
TYPES: dict[str, Any] = {
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
}
BITS = {4: np.uint32, 2: np.uint16, 1: np.uint8}
_erf = np.vectorize(erf, otypes=[np.float64])
ACTIVATED: dict[str, Callable[[Floats], Floats]] = {
    "gelu": lambda z: z * (1 + _erf(z / sqrt(2))) / 2,
    "gelu_new": lambda z: z * (1 + np.tanh(sqrt(2 / pi) * (z + 0.044715 * z**3))) / 2,
    "silu": lambda z: z / (1 + np.exp(-z)),
}


def nearest(x: Floats, name: str) -> Floats:
    """Round to the nearest numbers of a type, ties to even.

    ml_dtypes may round a float64 twice, so the neighbours of its result are tried too.
    """
    kind = TYPES[name]
    with np.errstate(all="ignore"):
        found = x.astype(kind)
        if name in ("float32", "float16"):  # numpy rounds once
            return found.astype(np.float64)
        code = found.view(BITS[found.itemsize])
        best, gap = found.astype(np.float64), np.abs(found.astype(np.float64) - x)
        odd = (code & 1) == 1
        for step in (1, -1):
            other = (code.astype(np.int64) + step).astype(code.dtype).view(kind).astype(np.float64)
            away = np.abs(other - x)
            closer = np.isfinite(other) & np.isfinite(best) & ((away < gap) | ((away == gap) & odd))
            best, gap, odd = np.where(closer, other, best), np.where(closer, away, gap), np.where(closer, False, odd)
    return best


def to_odd(a: Floats, b: Floats) -> Floats:
    """Return a + b in float64, rounded to odd if inexact; rounding this to a narrower type then rounds only once."""
    with np.errstate(all="ignore"):
        s = a + b
        part = s - a
        rest = (a - (s - part)) + (b - part)
        even = (s.view(np.uint64) & 1) == 0
        moved = np.nextafter(s, np.where(rest > 0, np.inf, -np.inf))
    return np.where(np.isfinite(s) & np.isfinite(rest) & (rest != 0) & even, moved, s)


@dataclass
class RandomEvaluation:
    """One random evaluation of a network, as model.py may compute it; each instance makes other choices."""

    layout: ExportLayout
    form: str
    accumulate: str | None = None
    rng: Random | None = None

    def __post_init__(self) -> None:
        self.rng = self.rng or Random(0)
        self.arrays = {name: self.round(array) for name, array in self.layout.arrays.items()}
        finfo: Any = ml_dtypes.finfo(TYPES[self.form])  # type: ignore[no-untyped-call]  # the library has no types
        self.least, self.eps = float(finfo.smallest_subnormal), float(finfo.eps)
        self.normal = float(finfo.smallest_normal)

    @property
    def random(self) -> Random:
        """The random generator that makes the choices."""
        assert self.rng is not None
        return self.rng

    def round(self, x: Any) -> Floats:
        """Round to the format."""
        return nearest(np.asarray(x, dtype=np.float64), self.form)

    def inner(self, x: Floats) -> Floats:
        """Round to the format in which sums are accumulated."""
        return nearest(x, self.accumulate or self.form)

    # ---- sums ----

    def summed(self, parts: Sequence[tuple[Floats, Floats]]) -> Floats:
        """Sum the products x y in a random order, each product rounded or fused."""
        rng, style = self.random, self.random.choice(["left", "right", "tree", "pairs", "any", "any"])
        left = list(parts)
        if style == "right":
            left.reverse()
        if style in ("any", "tree"):
            rng.shuffle(left)
        if style in ("left", "right", "any"):
            total = self.inner(left[0][0] * left[0][1])
            for x, y in left[1:]:
                product = x * y  # of numbers of the format exact in float64
                product = product if rng.random() < 0.5 else self.inner(product)
                total = self.inner(to_odd(total, product))
            return self.round(total)
        values = [self.inner(x * y) for x, y in left]
        while len(values) > 1:
            at = 0 if style == "pairs" else rng.randrange(len(values) - 1)
            one, other = values.pop(at), values.pop(at)
            values.insert(len(values) if style == "pairs" else rng.randrange(len(values) + 1), self.inner(one + other))
        return self.round(values[0])

    def matmul(self, x: Floats, w: Floats) -> Floats:
        """Multiply x and w over the last axis of x and the last but one of w."""
        return self.summed([(x[..., :, k, None], w[..., None, k, :]) for k in range(x.shape[-1])])

    def total(self, x: Floats) -> Floats:
        """Sum over the last axis."""
        one = np.ones_like(x[..., 0])
        return self.summed([(x[..., k], one) for k in range(x.shape[-1])])[..., None]

    def unit(self, x: Floats) -> Floats:
        """Return the unit in the last place of each number."""
        with np.errstate(divide="ignore"):
            power = 2.0 ** np.floor(np.log2(np.maximum(x, self.normal)))
        return power * self.eps

    def exp(self, t: Floats) -> Floats:
        """Return a value within two units of exp: 1 at 0, at most 1, and 0 where it underflows."""
        rng = np.random.default_rng(self.random.randrange(2**32))
        exact = np.exp(t)
        unit = self.unit(exact)
        off = rng.uniform(-2, 2, size=t.shape) if self.random.random() < 0.5 else rng.choice([-2.0, 2.0], size=t.shape)
        found = np.clip(self.round(np.maximum(exact + off * unit, 0.0)), 0.0, 1.0)
        found = np.where(np.abs(found - exact) <= 2 * unit, found, self.round(exact))
        found = np.where(t < log(self.least) - 2, 0.0, found)
        return np.where(t == 0, 1.0, np.where(np.isnan(t), np.nan, found))

    # ---- the network ----

    def plus(self, x: Floats, bias: str) -> Floats:
        """Add a bias, if the network has one of this name."""
        return self.round(x + self.arrays[bias]) if bias in self.arrays else x

    def product(self, x: Floats, weight: str, bias: str) -> Floats:
        """Return x W + b."""
        return self.plus(self.matmul(x, self.arrays[weight]), bias)

    def outputs(self, tokens: NDArray[Any]) -> Floats:
        """Return the outputs, of shape (words, tokens, outputs)."""
        description, layout = self.layout.description, self.layout
        m = tokens.shape[1]
        n = m - layout.fixed
        embedding = self.arrays["embedding"]
        with np.errstate(all="ignore"):
            if "propositions" in description:
                x = self.round(self.matmul(tokens.astype(np.float64), embedding[:-1]) + embedding[-1])
            else:
                x = embedding[tokens]
            if "positions" in self.arrays:
                x = self.round(x + self.arrays["positions"][:m])
            encoding = np.zeros((m, embedding.shape[1]))
            for place, values in layout.encoded(n):
                encoding[:, place] = [float(Fraction(value)) for value in values]  # type: ignore[arg-type]
            x = self.round(x + self.round(encoding))
            scales = iter(layout.scaled(n))
            for number, layer in enumerate(description["layers"]):
                x = self.layer(f"layers.{number}.", layer, x, scales)
            x = self.norm(description.get("final_norm"), "final_norm.", x)
            return self.product(x, "unembedding", "unembedding_bias")

    def layer(self, prefix: str, description: Any, x: Floats, scales: Any) -> Floats:
        """Run a layer."""
        after = description["norms"] == "after"
        if description["heads"] or f"{prefix}b_o" in self.arrays:
            y = x if after else self.norm(description.get("norm_1"), f"{prefix}norm_1.", x)
            for place, head in enumerate(description["heads"]):
                x = self.round(x + self.head(f"{prefix}heads.{place}.", head, y, next(scales)))
            x = self.plus(x, f"{prefix}b_o")
            x = self.norm(description.get("norm_1"), f"{prefix}norm_1.", x) if after else x
            x = self.multiples(x, *description["rounding"]) if "rounding" in description else x
        if description["mlp"] is not None:
            y = x if after else self.norm(description.get("norm_2"), f"{prefix}norm_2.", x)
            z = self.product(y, f"{prefix}mlp.w_in", f"{prefix}mlp.b_in")
            if description["mlp"] in ACTIVATED:
                hidden = self.round(ACTIVATED[description["mlp"]](z))
            else:
                cap = self.layout.arrays[f"{prefix}mlp.cap"]
                if f"{prefix}mlp.w_cap" in self.arrays:
                    cap = self.round(self.matmul(y, self.arrays[f"{prefix}mlp.w_cap"]) + cap)
                hidden = np.minimum(np.maximum(z, 0), cap)
            x = self.plus(self.round(x + self.matmul(hidden, self.arrays[f"{prefix}mlp.w_out"])), f"{prefix}mlp.b_out")
            x = self.norm(description.get("norm_2"), f"{prefix}norm_2.", x) if after else x
            x = self.multiples(x, *description["rounding"]) if "rounding" in description else x
        return x

    def multiples(self, x: Floats, mode: str, places: int) -> Floats:
        """Round to multiples of 2^-places."""
        scaled = self.round(x * 2.0**places)
        return self.round((np.floor(scaled) if mode == "floor" else np.round(scaled)) / 2.0**places)

    # ---- weightings ----

    def ordered(self, x: Floats) -> Floats:
        """Return partial sums over the last axis, each in an order of its own."""
        return np.concatenate([self.total(x[..., : k + 1]) for k in range(x.shape[-1])], axis=-1)

    def multiplied(self, parts: list[Floats]) -> Floats:
        """Return a product in a random order, each product rounded."""
        values = list(parts)
        while len(values) > 1:
            at = self.random.randrange(len(values) - 1)
            values[at : at + 2] = [self.inner(values[at] * values[at + 1])]
        return self.round(values[0])

    def sigmoid(self, z: Floats) -> Floats:
        """Return a value within four units of 1/(1 + e^-z): at most 1, 1 where e^-z is tiny, 0 or not where the value
        is below the normal numbers."""
        rng = np.random.default_rng(self.random.randrange(2**32))
        exact = 1 / (1 + np.exp(-z))
        found = np.minimum(self.round(exact + rng.choice([-4.0, 0.0, 3.0, 4.0], size=z.shape) * self.unit(exact)), 1.0)
        found = np.where(np.abs(found - exact) <= 4 * self.unit(exact), found, self.round(exact))
        found = np.where((exact < self.normal) & (rng.random(z.shape) < 0.5), 0.0, np.maximum(found, 0.0))
        return np.where(np.exp(-z) <= self.eps / 8, 1.0, np.where(z == -np.inf, 0.0, found))

    def weights(self, head: Any, logits: Floats, seen: Floats) -> Floats:
        """Return the weights of logits, -inf where a key is not seen."""
        name = head.get("weighting", "softmax")
        if name == "geometric":
            order = range(logits.shape[-1])[:: -1 if head["mask"].endswith("future") else 1]
            found, left = np.zeros_like(logits), [np.ones_like(logits[..., 0])]
            for j in order:
                found[..., j] = self.round(self.sigmoid(logits[..., j]) * self.multiplied(left))
                left.append(self.sigmoid(-logits[..., j]))
            return found
        z = np.where(seen, self.round(np.where(seen, logits, 0.0) - logits.max(-1, keepdims=True)), -np.inf)
        if name == "sparsemax":
            found = np.zeros_like(z)
            for row in np.ndindex(z.shape[:-1]):
                if np.isnan(z[row]).any():
                    found[row] = np.nan
                    continue
                held = sorted((float(one) for one in z[row] if one > -np.inf), reverse=True)
                sums = self.ordered(np.array([held]))[0]
                k = sum(
                    float(self.round(1 + self.round(self.round(float(j)) * one))) > total
                    for j, one, total in zip(range(1, len(held) + 1), held, sums, strict=True)
                )
                t = self.round(self.round(sums[k - 1] - 1) / self.round(float(k)))
                found[row] = np.where(z[row] > -np.inf, np.maximum(self.round(z[row] - t), 0.0), 0.0)
            return found
        powers = np.where(seen, self.exp(z), 0.0)
        form = name.partition(":")[2]
        if form.startswith("fixed"):
            powers = np.round(powers * 256) / 256
        elif form not in ("", "fp64"):
            names = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}
            powers = self.round(nearest(powers, names[form]))
        return self.round(powers / self.total(powers))

    def head(self, prefix: str, description: Any, y: Floats, scale: Sequence[Any]) -> Floats:
        """Return the contribution of a head to the residual stream."""
        q, k, v = (self.product(y, f"{prefix}w_{one}", f"{prefix}b_{one}") for one in "qkv")
        factor = self.round(list(map(nearest_float, scale)))
        m = y.shape[1]
        logits = self.round(self.matmul(q, np.swapaxes(k, -1, -2)) * factor[:, None])
        i, j = np.arange(m)[:, None], np.arange(m)[None, :]
        mask = description["mask"]
        seen = {"future": j <= i, "past": j >= i, "strict-future": j < i, "strict-past": j > i}.get(mask, j == j)
        seen = seen | ((j == 0) & self.layout.description["bos"])
        logits = np.where(seen, logits, -np.inf)
        return self.matmul(self.matmul(self.weights(description, logits, seen), v), self.arrays[f"{prefix}w_o"])

    def norm(self, description: Any, prefix: str, x: Floats) -> Floats:
        """Apply a norm; return x if there is none."""
        if description is None:
            return x
        d = self.round(float(x.shape[-1]))
        if description["kind"] == "layer":
            x = self.round(x - self.round(self.total(x) / d))
        square = self.round(self.total(self.round(x * x)) / d)
        epsilon = float(Fraction(description["epsilon"]))
        epsilon = epsilon if self.random.random() < 0.5 else float(self.round(epsilon))
        x = self.round(x / self.round(np.sqrt(self.round(square + epsilon))))
        x = self.round(x * self.arrays[f"{prefix}weight"]) if f"{prefix}weight" in self.arrays else x
        return self.plus(x, f"{prefix}bias")


class FromLeft(RandomEvaluation):
    """An evaluation that sums from the left and rounds each product and partial sum; exp is off by up to two units."""

    def summed(self, parts: Any) -> Any:
        """Sum the products from the left."""
        total = np.zeros(1)
        for x, y in parts:
            total = self.inner(total + self.inner(x * y))
        return self.round(total)

    def multiplied(self, parts: Any) -> Any:
        """Multiply from the left."""
        product = np.ones(1)
        for x in parts:
            product = self.inner(product * x)
        return self.round(product)


class Plainly(FromLeft):
    """An evaluation from the left with exp and sigmoids rounded to nearest, as words are emulated."""

    def sigmoid(self, z: Any) -> Any:
        """Return 1/(1 + e^-z), rounded once."""
        return self.round(1 / (1 + np.exp(-z)))

    def exp(self, t: Any) -> Any:
        """Return exp, rounded once."""
        return self.round(np.exp(t))
