"""Heads that look for the nearest position, over all words of every length: a rate and a series.

Let w be the position that wins and l the logits. Positions on the side that loses the tie (for a rightmost head j < w)
lose at least g nats a position, whatever they hold: l(w) - l(j) >= g (w - j). With x = e^-g they weigh at most x + x^2
+ ... = x/(1 - x), relative to the winner. Those beyond the winner are not selected, and
 - Lemma 6: if they lose g a position too, the weight off the winner is at most T = 2x/(1 - x), a share T/(1 + T) =
   2x/(1 + x);
 - sharper (ours): if they lose as much as the positions before the first one would, l(w) - l(j) >= g (j - 1) for a
   rightmost head, then they weigh at most x^w + x^(w+1) + ... = x^w/(1 - x), while the w - 1 positions before the
   winner weigh at most (x - x^w)/(1 - x): together x/(1 - x), a share of x. For a leftmost head read the word
   backwards: n - j for j - 1, so that the far end counts.
Where no position is selected the last one wins, and only the positions before it are there: a share of x.

Rates come from comparing coefficients (`ratios`). Only wrong values are counted, so that winner and loser differ in
their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hardsim.proof.heads import SIDES, local_types, scaled_queries, split
from hardsim.proof.outward import above, ball, working_precision
from hardsim.proof.ratios import Domain, Ratio, chain, lower
from hardsim.proof.reading import LocalType
from hardsim.proof.result import NotProved
from hardsim.proof.state import BooleanHead, State
from hardsim.run.plan import HeadPlan
from hardsim.spec.ir import Head, Mask

if TYPE_CHECKING:
    from flint import arb

LENGTH, OTHER, WINNER = (Ratio.variable(name) for name in "njw")

SHARP = "x"
LEMMA_6 = "2x/(1 + x)"


@dataclass(frozen=True, slots=True)
class Step:
    """One inequality: `larger >= rate * unit` at all positions in an order, with what is compared as text."""

    order: str
    larger: str
    rate: Fraction
    unit: str


@dataclass(frozen=True, slots=True)
class HeadArgument:
    """Why a head is right for every length: what it is, the inequalities, the rate g in nats (None where nothing falls
    behind), the bound in x = e^-g as text and as a number (at least), and what the paper's lemma gives, if it
    is another bound that applies."""

    shape: str
    steps: tuple[Step, ...]
    rate: Fraction | None
    bound: str
    error: float
    lemma: str = ""
    lemma_error: float | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a position can hold: the key of every row of W_K as a function of i (the position) and n, without what
    depends on the word, and its type, whose key is such a function too."""

    keys: tuple[Any, ...]
    kind: LocalType


def nearest(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> tuple[
    BooleanHead, HeadArgument]:  # fmt: skip
    """A head that looks for the nearest selected position, with the argument that bounds its error for every length.

    Raises:
        NotProved: where no rate is found.
    """
    import numpy as np

    if head.select is None or (head.weighting, head.mask) not in SIDES:
        raise NotProved(f"head {head.name} is not specified as the nearest position on a side", head.name)
    select = state.hard(head.select, f"head {head.name}")
    queries = scaled_queries(state, plan, head.name)
    keys, columns = [], []
    for _, key in plan.scores:
        values, _, varying = split(state, key, f"the key of head {head.name}")
        keys.append(values)
        columns.append(state.combine(varying, 0))
    kinds, types, values_of = local_types(state, head.name, columns, select, hard, soft)
    entries: dict[tuple[Any, ...], _Entry] = {}
    for site, fixed in enumerate(zip(*keys, strict=True)):
        for kind in types[kinds[site]]:
            entries.setdefault((fixed, kind.key, kind.selected, kind.value), _Entry(fixed, kind))
    forms = list(dict.fromkeys(zip(*queries, strict=True)))
    case = _Case(head.name, head.mask, SIDES[head.weighting, head.mask], tuple(entries.values()), tuple(forms))
    argument = case.argument()
    error = np.full(len(state.sites), argument.error)
    taken = {entry.kind.value for entry in case.entries}
    variable = state.diagrams.variable(("head", head.name))
    bit = variable if len(taken) == 2 else state.diagrams.terminal(taken.pop())
    bits = [bit] * len(state.sites)
    return BooleanHead(head.name, layer, bits, values_of, (error, error)), argument


@dataclass(frozen=True)
class _Case:
    """A head for its argument: `rightmost` says which way it looks, `queries` are rows of W_Q x_i over the
    temperature."""

    name: str
    mask: Mask
    rightmost: bool
    entries: tuple[_Entry, ...]
    queries: tuple[tuple[Any, ...], ...]

    def argument(self) -> HeadArgument:
        """The inequalities and the bound that they give."""
        before, beyond = self._differences(False), self._differences(True)
        away, far = (WINNER - OTHER, OTHER - 1) if self.rightmost else (OTHER - WINNER, LENGTH - OTHER)
        shape = f"the {'rightmost' if self.rightmost else 'leftmost'} selected position, mask '{self.mask}'"
        if not before:
            return HeadArgument(f"{shape}; it reads the same everywhere", (), None, "0", 0.0)
        texts = ("w - j", "j - 1") if self.rightmost else ("j - w", "n - j")
        steps = self._steps(before, away, texts[0], False)
        if not steps:
            raise NotProved(self._nothing("positions that lose the tie"), self.name)
        rate = min(step.rate for step in steps)
        sharp = self._steps(beyond, far, texts[1], True)
        two_sided = self._steps(beyond, -away, " - ".join(reversed(texts[0].split(" - "))), True)
        faster = None if sharp is None else min([rate, *(step.rate for step in sharp)])
        slower = None if two_sided is None else min([rate, *(step.rate for step in two_sided)])
        error = None if faster is None else share(faster, False)
        lemma = None if slower is None else share(slower, True)
        if sharp is not None and error is not None and (lemma is None or error <= lemma):
            return HeadArgument(shape, (*steps, *sharp), faster, SHARP, error, "" if lemma is None else LEMMA_6, lemma)
        if two_sided is None or lemma is None:
            raise NotProved(self._nothing("positions beyond the winner"), self.name)
        return HeadArgument(shape, (*steps, *two_sided), slower, LEMMA_6, lemma)

    def _nothing(self, where: str) -> str:
        return (f"head {self.name}: comparing coefficients gives no positive rate, for every length, at which "
                f"{where} fall behind the winner")  # fmt: skip

    def _differences(self, beyond: bool) -> list[Ratio | int | Fraction]:
        """l(w) - l(j) for all that winner and loser can hold, by query."""
        result: dict[Any, None] = {}
        for query in self.queries:
            for winner in self.entries:
                for loser in self.entries:
                    if winner.kind.value == loser.kind.value:
                        continue
                    # Beyond a selected winner nothing is selected; where none is selected nothing is beyond.
                    if beyond and (loser.kind.selected or not winner.kind.selected):
                        continue
                    # An unselected winner means that nothing is selected.
                    if not beyond and loser.kind.selected and not winner.kind.selected:
                        continue
                    result[self._difference(query, winner, loser).simplest] = None
        return list(result)

    def _difference(self, query: Sequence[Any], winner: _Entry, loser: _Entry) -> Ratio:
        total = Ratio.of(0)
        for factor, first, own, second, others in zip(
            query, winner.keys, winner.kind.key, loser.keys, loser.kind.key, strict=True
        ):
            # What depends on the symbol may depend on the position besides: each is taken at its own.
            won, lost = (Ratio.of(part) + Ratio.of(more) for part, more in ((first, own), (second, others)))
            total = total + Ratio.of(factor) * (won.at({"i": WINNER}) - lost.at({"i": OTHER}))
        return total

    def _steps(self, differences: Iterable[Any], unit: Ratio, text: str, beyond: bool) -> tuple[Step, ...] | None:
        """For each difference the largest positive g with `difference >= g unit` that comparing coefficients gives;
        None if there is none for one of them."""
        steps: list[Step] = []
        for difference in differences:
            value = Ratio.of(difference)
            for order, domain in self._orders(beyond, "i" in value.names):
                found = lower(value * unit.inverse(), domain)
                if found is None or found <= 0:
                    return None
                steps.append(Step(order, f"l(w) - l(j) = {value}", found, text))
        return tuple(steps)

    def _orders(self, beyond: bool, with_query: bool) -> Iterator[tuple[str, Domain]]:
        """The orders in which query, loser and winner can stand: as text, and written with numbers >= 0."""
        first, second = ("j", "w") if self.rightmost != beyond else ("w", "j")
        pair = [(first, 0), (second, 1)]
        if self.mask is Mask.FUTURE:
            options = [[*pair, ("i", 0)]]
        elif self.mask is Mask.PAST:
            options = [[("i", 0), *pair]]
        elif with_query:
            options = [[*pair, ("i", 0)], [(first, 0), ("i", 0), (second, 1)], [("i", 0), *pair]]
        else:
            options = [pair]
        for option in options:
            names = [*(name for name, _ in option), "n"]
            gaps = [*(gap for _, gap in option), 0]
            signs = ["" if not place else " < " if gap else " <= " for place, gap in enumerate(gaps)]
            text = "".join(sign + name for sign, name in zip(signs, names, strict=True))
            yield f"1 <= {text}", chain(names, gaps)


def share(rate: Fraction, both: bool) -> float:
    """At least x, or 2x/(1 + x), for x = e^-rate."""
    with working_precision():
        x: arb = ball(-rate).exp()
        return above(2 * x / (1 + x) if both else x)
