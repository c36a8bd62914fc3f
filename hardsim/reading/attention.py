"""Split the joint matrices of attention into heads.

Libraries store the queries, keys and values of all heads side by side. Head h of H owns the h-th of H equal ranges of
columns.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Dense, NetworkHead, RootScale
from hardsim.network.numbers import Mask


@dataclass(frozen=True)
class Projection:
    """A linear map `y W + b`: weight (in, out) and bias (out,); a bias of None is 0."""

    weight: Dense
    bias: Dense | None = None

    def part(self, number: int, count: int) -> Projection:
        """Return the map to the number-th (from 0) of `count` equal ranges of outputs."""
        size = self.weight.shape[1] // count
        columns = slice(number * size, (number + 1) * size)
        return Projection(self.weight[:, columns], None if self.bias is None else self.bias[columns])

    def columns(self, places: NDArray[Any]) -> Projection:
        """Return the map to some of the outputs, in this order."""
        chosen = places.ravel()
        return Projection(self.weight[:, chosen], None if self.bias is None else self.bias[chosen])


def linear(weight: Dense, bias: Dense | None = None) -> Projection:
    """Return the map of an `nn.Linear`, whose weight is stored as (out, in)."""
    return Projection(weight.T, bias)


Maps: TypeAlias = tuple[Projection, Projection, Projection]
"""The maps to queries, keys and values."""


def thirds(joint: Projection) -> Maps:
    """Return the maps to queries, keys and values that stand side by side, each as wide as the others."""
    return joint.part(0, 3), joint.part(1, 3), joint.part(2, 3)


def split_heads(
    layer: int,
    count: int,
    maps: Maps,
    w_o: Dense,
    mask: Mask,
    scale: RootScale,
    groups: int | None = None,
    **parts: Any,
) -> tuple[NetworkHead, ...]:
    """Return the heads of a layer, named `L{layer}H{head}`.

    Args:
        layer: the number of the layer, from 0.
        count: the number of heads.
        maps: from d coordinates to `count` queries, keys and values, side by side. With `groups` there are so many keys
            and values, and each serves the same number of heads, one after another.
        w_o: (count v, d).
        groups: a divisor of `count`; None is `count`.
        parts: further fields of every head, such as `rotary`.
    """
    groups = groups or count
    size = len(w_o) // count
    heads = []
    for head in range(count):
        q = maps[0].part(head, count)
        k, v = (one.part(head * groups // count, groups) for one in maps[1:])
        out = w_o[head * size : (head + 1) * size]
        name = f"L{layer}H{head}"
        heads.append(NetworkHead(name, mask, scale, q.weight, k.weight, v.weight, out, q.bias, k.bias, v.bias, **parts))
    return tuple(heads)
