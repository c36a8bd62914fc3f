"""The order of the steps of an external network, written once for any representation of its vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import NetworkLayer, Norm

V = TypeVar("V")
"""The vectors of some positions of a word."""
Step: TypeAlias = Callable[[int, int], None]
"""A function that is called after each layer, with the number of layers that are done and the number of all layers."""


def unwatched(done: int, total: int) -> None:
    """Ignore the progress of a pass."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Functions that are called while an external network runs: `step` after each layer, and `next` after each run (the
    layers that are prepared, those of a word)."""

    step: Step = unwatched
    next: Callable[[], None] = lambda: None


class DensePass(ABC, Generic[V]):
    """The layers of a network on one word. Subclasses say what vectors are and compute the parts; norms are given as
    they are in `layers`, with parameters of the subclass's own kind."""

    @property
    @abstractmethod
    def layers(self) -> tuple[NetworkLayer, ...]:
        """The layers."""

    @abstractmethod
    def at(self, x: V, places: Sequence[int]) -> V:
        """Return the vectors at some of the positions."""

    @abstractmethod
    def summed(self, x: V, added: V) -> V:
        """Return x + added at each position."""

    @abstractmethod
    def normed(self, norm: Norm | None, x: V) -> V:
        """Apply a norm, if there is one."""

    @abstractmethod
    def attended(self, number: int, y: V, beside: V | None, places: Sequence[int]) -> V:
        """Return what the attention step of a layer (from 0) adds at some positions, from the vectors at all positions
        and the encodings that only queries and keys read."""

    @abstractmethod
    def transformed(self, number: int, y: V) -> V:
        """Return what the MLP of a layer (from 0) adds."""

    def streamed(self, x: V, beside: V | None, size: int, places: Sequence[int], step: Step = unwatched) -> V:
        """Return the residual stream after the last layer at some positions, from that of `size` positions before the
        first layer."""
        total = len(self.layers)
        for number in range(total):
            x = self.layer(number, x, beside, places if number + 1 == total else range(size))
            step(number + 1, total)
        return x if total else self.at(x, places)

    def layer(self, number: int, x: V, beside: V | None, places: Sequence[int]) -> V:
        """Return the residual stream after a layer (from 0) at some positions."""
        layer: Any = self.layers[number]
        # Keys and values need all positions, everything else only the requested ones.
        read, x = x, self.at(x, places)
        entered = x
        if layer.attends:
            y = read if layer.post else self.normed(layer.norm_1, read)
            x = self.summed(x, self.normed(layer.out_1, self.attended(number, y, beside, places)))
            x = self.normed(layer.norm_1, x) if layer.post else x
        if layer.mlp is not None:
            entered = entered if layer.parallel else x
            y = entered if layer.post else self.normed(layer.norm_2, entered)
            x = self.summed(x, self.normed(layer.out_2, self.transformed(number, y)))
            x = self.normed(layer.norm_2, x) if layer.post else x
        return x
