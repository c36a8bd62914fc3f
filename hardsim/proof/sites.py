"""Where a proof looks: all positions of all lengths at once, as one list of sites."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

from hardsim.net.model import Transformer
from hardsim.spec.columns import PositionFunction, PredicateColumn
from hardsim.spec.ir import Mask, Rational, plain


@dataclass
class Sites:
    """Sites (i, n) for 1 <= i <= n and n in `lengths`, in this order: `i` and `n` by site (numbers; `Classes` has
    all lengths, and rational functions for numbers).

    What happens at a site is a function of the word; a column is a list with one entry per site.
    """

    lengths: tuple[int, ...]
    only_last: bool = False
    """Whether the output is read at the last position even where there is one length."""
    shortest: int = 1
    """Where one length stands for all shorter ones: the shortest that is meant."""
    i: list[Any] = field(default_factory=list)
    n: list[Any] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for n in self.lengths:
            self.starts[n] = len(self.i)
            self.i.extend(range(1, n + 1))
            self.n.extend([n] * n)
        self._known: dict[PositionFunction, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.i)

    def words(self) -> Iterator[tuple[int, int, int]]:
        """Each length n with its first site and the one after its last."""
        for n, start in self.starts.items():
            yield n, start, start + n

    def place(self, site: int) -> str:
        """What is said of a site."""
        return f"position {self.i[site]} of {self.n[site]}"

    def edge(self, which: str) -> list[bool]:
        """Whether a site is the first or last position."""
        return [i == (1 if which == "first" else n) for i, n in zip(self.i, self.n, strict=True)]

    def read_at(self) -> list[int]:
        """The sites at which an output is read: the last position of each length, and where one length stands for
        all (or there is only one) every position."""
        if len(self.lengths) == 1 and not self.only_last:
            return list(range(self.shortest - 1, len(self)))
        return [end - 1 for _, _, end in self.words()]

    def evaluate(self, function: PositionFunction) -> list[Any]:
        """A position function at every site, exactly; equal ones are evaluated once."""
        if isinstance(function, PredicateColumn) and function.user is not None:
            return self._evaluate(function)  # two meanings may have one name and text
        if function not in self._known:
            self._known[function] = self._evaluate(function)
        return self._known[function]

    def _evaluate(self, function: PositionFunction) -> list[Any]:
        return self.tabulate(function.variables, lambda i, n: plain(function.evaluate(i=i, n=n)))

    def tabulate(self, names: Collection[str], value: Callable[[int, int], Rational]) -> list[Rational]:
        """A function of i and n at every site, which depends only on those of them that are named."""
        if "i" in names and "n" in names:
            return [value(i, n) for i, n in zip(self.i, self.n, strict=True)]
        if "i" in names:
            longest = max(self.lengths)
            by_position = [value(i, longest) for i in range(1, longest + 1)]
            return [number for n in self.lengths for number in by_position[:n]]
        if "n" in names:
            return [number for n in self.lengths for number in [value(1, n)] * n]
        return [value(1, max(self.lengths))] * len(self)

    def sizes(self, mask: Mask) -> list[Any]:
        """How many positions are visible from every site."""
        if mask is Mask.NONE:
            return list(self.n)
        if mask is Mask.FUTURE:
            return list(self.i)
        return [len(mask.visible(i, n)) for i, n in zip(self.i, self.n, strict=True)]

    def proportional(self, column: Sequence[Any]) -> bool:
        """Whether a column is a multiple of the position at every length, and never 0."""
        return all(column[start] != 0 and column[start + k] == column[start] * (k + 1)
                   for n, start, _ in self.words() for k in range(n))  # fmt: skip

    def means(self, column: Sequence[Any], mask: Mask) -> list[Any]:
        """The mean over the visible positions, at every site."""
        result: list[Rational] = []
        # Words that begin alike have the same means.
        known: dict[tuple[Rational, int], Rational] = {}

        def quotient(total: Rational, count: int) -> Rational:
            if (total, count) not in known:
                known[total, count] = plain(Fraction(total) / count)
            return known[total, count]

        for n, start, end in self.words():
            part = list(column[start:end])
            if mask is Mask.NONE:
                result.extend([quotient(sum(part), n)] * n)
                continue
            totals = accumulate(part[::-1] if mask is Mask.PAST else part)
            means = [quotient(total, count) for count, total in enumerate(totals, start=1)]
            result.extend(means[::-1] if mask is Mask.PAST else means)
        return result


def independent_of_length(model: Transformer) -> bool:
    """Whether a position's computation is the same in every word that begins alike.

    Then every head is future-masked and nothing is a function of n, so the values at position i of any longer word
    are those at the last position of its prefix of length i: one length proves all shorter ones.
    """
    functions = [model.temperature, *(value for _, value in model.encodings)]
    masks = {head.mask for layer in model.layers for head in layer.heads}
    return masks <= {Mask.FUTURE} and not any("n" in function.variables for function in functions)
