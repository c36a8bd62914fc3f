"""An external network on one word in balls, with as many bits as an answer needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from hardsim.errors import Undecided
from hardsim.lang.reals import precisions
from hardsim.network.dense import Network, NetworkHead, arrays_of
from hardsim.run.ball import BallArithmetic
from hardsim.run.dense_exact import DenseForward, Row
from hardsim.run.dense_fixed import FixedForward
from hardsim.run.dense_float import DenseFloat, is_sparse
from hardsim.run.dense_pass import Step, unwatched
from hardsim.run.float_trust import arithmetic_fault

BITS, LIMIT_BITS = 96, 4096
"""The bits of the first attempt, and the bits at which a word is left undecided."""
LARGE = 2**18
"""The number of weights from which a dense network is run in fixed-point numbers."""
LARGE_BITS, LARGE_LIMIT_BITS = 128, 960
"""Bits of the first attempt and of the last for large networks, where radii grow more and a pass takes long. With more
bits than these, the last place would be below the numbers of float64."""


def is_large(network: Network) -> bool:
    """Return True if balls are vectors in fixed-point numbers (`dense_fixed`), in place of a ball for each number.

    These are faster from thousands of weights on. Single balls are sharper in sparse networks, and only they find that
    a number is exactly 0, which matters in small networks made by hand.
    """
    count = sum(array.size for array in arrays_of(network.layers))
    return count >= LARGE and not is_sparse(network) and arithmetic_fault() is None


class DenseBalls:
    """A network run in balls with as many bits as an answer needs: the first attempt has the larger of 96 and
    `least`, and the number doubles until the answer is settled, up to `limit`, or four times `least` if that is more.
    A large network begins with 128 bits and ends with 960; with more than 240 as `least` it is
    run as a small one.

    `floats` is the network in float64, if there is one already. `step` is called after each layer of a pass.
    """

    def __init__(
        self,
        network: Network,
        limit: int = LIMIT_BITS,
        least: int = 0,
        floats: DenseFloat | None = None,
        step: Step = unwatched,
    ) -> None:
        self.network, self.step, self._floats = network, step, floats
        self.large = 4 * least <= LARGE_LIMIT_BITS and is_large(network)
        self.least = max(least, LARGE_BITS if self.large else BITS)
        self.limit = max(min(limit, LARGE_LIMIT_BITS) if self.large else limit, 4 * least)
        self._passes: dict[int, DenseForward | FixedForward] = {}

    def run(
        self, n: int, tokens: Sequence[int], places: Sequence[int], settled: Callable[[list[Row]], bool]
    ) -> tuple[list[Row], int]:
        """Return the outputs, by position in `places` and output, and the number of bits used. `settled` is called with
        these outputs, at the precision of the pass. Raises Undecided if `settled` is still False at the limit."""
        for bits in precisions(min(self.least, self.limit), self.limit):
            forward = self._pass(bits)
            rows = forward.run(n, tokens, places, self.step)
            with forward.arithmetic.precision():
                if settled(rows):
                    return rows, bits
        raise Undecided(self._message(tokens))

    def attention(
        self, n: int, tokens: Sequence[int], bits: int, step: Step = unwatched
    ) -> Iterator[tuple[int, NetworkHead, list[Row]]]:
        """Yield for each head the number of its layer (from 0), the head, and by query the logits of all keys in balls
        of these bits; None for a key that is not visible. `step` is called after each layer of the pass."""
        return self._pass(bits).attention(n, tokens, step)

    def arithmetic(self, bits: int) -> str:
        """Return the name of the arithmetic with some bits."""
        if not self.large:
            return f"balls of {bits} bits"
        return f"balls of vectors, in fixed-point numbers with {bits} bits behind the point"

    def prepare(self) -> None:
        """Prepare the float64 matrices of a large network now, in place of at its first word."""
        if self.large:
            self._prepared  # noqa: B018  # computed once

    @cached_property
    def _prepared(self) -> DenseFloat:
        return self._floats or DenseFloat(self.network, step=self.step)

    def _pass(self, bits: int) -> DenseForward | FixedForward:
        if bits not in self._passes:
            if self.large:
                self._passes[bits] = FixedForward(self._prepared, bits)
            else:
                self._passes[bits] = DenseForward(self.network, BallArithmetic(bits))
        return self._passes[bits]

    def _message(self, tokens: Sequence[int]) -> str:
        named = [str(self.network.tokens[token]) for token in tokens]
        shown = " ".join(named[:40]) + (f" ... ({len(named)} tokens)" if len(named) > 40 else "")
        return (
            f"{shown} is undecided: with {self.limit:,} bits, the limit of the ball arithmetic, it is not certain what "
            "the outputs say. Some value lies on its threshold, or two outputs are equal"
        )
