"""Heads with exact weights at every site: without an error, or with no bound (ours; numeric proofs of `network`).

Sparsemax gives no weight to a key whose logit is c = 1 or more below that of another key: weights are max(l - t, 0) and
add up to 1, so t is at least the largest logit less 1. Softmax with rounded exponentials gives none to a key that is c
below the largest one, if e^-c is rounded to 0: rounding is monotone. This c is the `cutoff` of the weighting. So a head
reads exactly the value of the key that it looks for, for every word, if each key with another value loses at least c to
it. Keys with the same value do not matter, nor do
several largest keys that all have this value. Logits are rationals, and everything here is exact: an error is 0, or as
large as the values allow.

The nearest selected position. In the order in which the last one wins, let w be the winner. Positions before it may
have any type, those after it only types that are not selected; if none is selected the last visible position wins, and
no type is selected. Positions choose their types independently, so the largest logit of a wrong value before w and
after w, and the least one of a right winner at w, decide for all words.

Rounded exponentials have a bound where the cutoff is not reached, too (ours). Let l be the least logit of the winner w,
and x_j <= l the largest one of a wrong value at j. The largest logit M of a row is at least l, so M is that of a right
value, or x_j = l = M. A key of a wrong value weighs at most RN(e^(x_j - M)) <= RN(e^(x_j - l)), as rounding is
monotone, and M weighs 1. With W for the sum of RN(e^(x_j - l)), the share of wrong values is at most W/(W + 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from hardsim.lang.reals import Real, lower
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational
from hardsim.network.rounding import ExponentialFormat
from hardsim.network.transformer import SoftWeighting
from hardsim.proof.formulas.arrays import NOTHING, Array
from hardsim.proof.formulas.head_argument import Errors
from hardsim.proof.formulas.nearest import Extremes, LocalType, NearestReading
from hardsim.proof.formulas.sites import Sites
from hardsim.proof.formulas.state import HeadTask
from hardsim.proof.shared.result import NotProved
from hardsim.run.rounded_softmax import rounded_exponential

IRRATIONAL = "this weighting is proved in rationals, and a score over the temperature is none"


@dataclass(frozen=True)
class _Ends:
    """The logits of one position by wanted value b, in units of 1/`_Row.one`: the least one of a winner with value b,
    selected and not, and the largest one of another value, of any type and of types that are not selected. `None`
    stands for no such type. `blocks` is True if every type is selected."""

    winner: tuple[int | None, int | None]
    last: tuple[int | None, int | None]
    wrong: tuple[int | None, int | None]
    behind: tuple[int | None, int | None]
    blocks: bool

    @staticmethod
    def of(kinds: Sequence[tuple[LocalType, int]]) -> _Ends:
        """Return the ends of a position with these types and logits."""

        def least(selected: bool, value: int) -> int | None:
            return min((x for kind, x in kinds if kind.selected is selected and kind.value == value), default=None)

        def most(value: int, some: Iterable[tuple[LocalType, int]]) -> int | None:
            return max((x for kind, x in some if kind.value != value), default=None)

        loose = [pair for pair in kinds if not pair[0].selected]
        return _Ends(
            (least(True, 0), least(True, 1)),
            (least(False, 0), least(False, 1)),
            (most(0, kinds), most(1, kinds)),
            (most(0, loose), most(1, loose)),
            not loose,
        )


def sparse_worst_case(sites: Sites, reading: NearestReading, weighting: SoftWeighting) -> tuple[Extremes, Extremes]:
    """Return the worst cases of a head that looks for the nearest position, where the specified value is 0 and where it
    is 1: a bound of the share of wrong values for all words. Under sparsemax it is 0 or 1. Raises NotProved if a logit
    is no rational."""
    wrong, winners = np.full((2, len(sites)), NOTHING), np.zeros((2, len(sites)), dtype=np.int64)
    queries = list(zip(*reading.queries, strict=True))
    if any(isinstance(part, Real) for query in dict.fromkeys(queries) for part in query):
        raise NotProved(IRRATIONAL)
    rows: dict[tuple[int, tuple[Rational, ...]], tuple[list[_Ends], int]] = {}
    form, cutoff = weighting.exponentials, weighting.cutoff or 0
    judged: dict[int, list[tuple[float, int] | None]] = {}
    for site, query in enumerate(queries):
        n, i = sites.n[site], sites.i[site]
        if (n, query) not in rows:
            rows = {(n, query): _ends(sites, reading, n, query)}  # sites of a length follow each other
            judged.clear()
        ends, one = rows[n, query]
        seen = [j - 1 for j in reading.mask.visible(i, n)]
        order = seen if reading.rightmost else seen[::-1]
        for value in (0, 1):
            if form is None:
                found = _judged([ends[j] for j in order], value, one * cutoff)
            else:
                if value not in judged:
                    line = ends if reading.rightmost else ends[::-1]
                    judged[value] = _rounded_shares(line, value, one, form)
                found = judged[value][len(order) - 1]
            if found is not None:
                wrong[value, site], winners[value, site] = found[0], order[found[1]] + 1
    return Extremes(wrong[0], winners[0], 0.0), Extremes(wrong[1], winners[1], 0.0)


def _ends(sites: Sites, reading: NearestReading, n: int, query: tuple[Rational, ...]) -> tuple[list[_Ends], int]:
    """Return the ends of every position of a length for one query, and the number of units in a nat."""
    start, logits = sites.starts[n], list[list[tuple[LocalType, Fraction]]]()
    for j in range(n):
        base = sum((q * Fraction(key[start + j]) for q, key in zip(query, reading.keys, strict=True)), Fraction(0))
        kinds = reading.types[reading.kinds[start + j]]
        logits.append([
            (kind, base + sum((q * Fraction(own) for q, own in zip(query, kind.key, strict=True)), Fraction(0)))
            for kind in kinds
        ])  # fmt: skip
    one = math.lcm(*(x.denominator for some in logits for _, x in some))
    return [_Ends.of([(kind, int(x * one)) for kind, x in some]) for some in logits], one


def _judged(order: Sequence[_Ends], value: int, cutoff: int) -> tuple[float, int] | None:
    """Return the bound of the share of wrong values where the winner has this value, and the winner's place in the
    order of the visible positions; the cutoff is in the units of the logits. Return None if no word has such a
    winner."""
    before = [None, *accumulate((ends.wrong[value] for ends in order), _larger)]
    last, found = len(order) - 1, None
    behind: int | None = None
    loose = True  # no position after w has selected types alone
    for w in range(last, -1, -1):
        ends = order[w]
        logit, rival = ends.winner[value], _larger(before[w], behind)
        if loose and logit is not None:
            if rival is not None and logit - rival < cutoff:
                return 1.0, w
            found = (0.0, w) if found is None else found
        behind, loose = _larger(behind, ends.behind[value]), loose and not ends.blocks
    if loose and (logit := order[last].last[value]) is not None:
        # None is selected, so the last one wins.
        rest: int | None = None
        for ends in order[:last]:
            rest = _larger(rest, ends.behind[value])
        if rest is not None and logit - rest < cutoff:
            return 1.0, last
        found = (0.0, last) if found is None else found
    return found


def _rounded_shares(
    line: Sequence[_Ends], value: int, one: int, form: ExponentialFormat
) -> list[tuple[float, int] | None]:
    """Return for the first one, two, ... positions of a line, in which the last selected one wins, the bound of the
    share of wrong values under rounded exponentials, and the winner's place; None where no word has such a winner."""
    unit, found = 1 << form.places, list[tuple[float, int] | None]()

    def weight(logit: int, rival: int | None) -> int | None:
        """Return the weight of a rival of a winner; None if it may have the larger logit."""
        if rival is None:
            return 0
        return None if rival > logit else rounded_exponential(logit - rival, one, form)

    def together(logit: int, rivals: Iterable[int | None]) -> int | None:
        weights = [weight(logit, rival) for rival in rivals]
        return None if None in weights else sum(one for one in weights if one is not None)

    winners: dict[int, tuple[int, int | None]] = {}  # by place: logit, and the weight of its rivals
    for k, ends in enumerate(line):
        rival = ends.behind[value]
        kept = {} if ends.blocks else winners  # no winner stands before a position that is selected whatever its type
        winners = {}
        for w, (logit, total) in kept.items():
            more = weight(logit, rival)
            winners[w] = logit, None if total is None or more is None else total + more
        if (own := ends.winner[value]) is not None:
            winners[k] = own, together(own, (other.wrong[value] for other in line[:k]))
        totals = [(total, w) for w, (_, total) in winners.items()]
        # If none is selected the last one wins.
        if (own := ends.last[value]) is not None and not any(other.blocks for other in line[:k]):
            totals.append((together(own, (other.behind[value] for other in line[:k])), k))
        shares = [
            (1.0 if total is None else math.nextafter(total / (total + unit), 2) if total else 0.0, w)
            for total, w in totals
        ]
        found.append(max(shares, default=None))
    return found


def _larger(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else max(left, right)


def sparse_look_up(task: HeadTask, rates: list[Any], _: object, sizes: list[Any], slope: Rational | None) -> Errors:
    """Return the errors of a look-up at every site, whose other keys lose at least the rate: 0 where the rate is at
    least the cutoff."""
    cutoff = task.state.model.weighting.cutoff
    assert cutoff is not None
    visible = task.state.sites.sizes(task.head.mask)
    exact = np.array([lower(rate) >= cutoff or seen == 1 for rate, seen in zip(rates, visible, strict=True)])
    if slope is not None:
        # A number between the first and the last visible position is read in any case.
        return np.where(exact, 0.0, np.array(visible, dtype=float) * math.ceil(abs(Fraction(slope)))), None
    found = np.full((2, len(rates)), NOTHING)
    values = [int(value) for value in task.fixed(task.hard)]
    for _n, start, end in task.state.sites.words():
        for site in range(start, end):
            # The counts 0 and 1 look up position 1.
            for value in set(values[start : start + max(sizes[site], 1)]):
                found[value, site] = 0.0 if exact[site] else 1.0
    return found, None


def sparse_apart(task: HeadTask, rates: list[Any], slope: Rational) -> Callable[[int, int], float]:
    """Return a function of a site and a distance that bounds the difference of two look-ups' errors: 0 where there is
    no error."""
    errors, _ = sparse_look_up(task, rates, None, [], slope)
    single: Array = np.broadcast_to(errors, len(rates))
    return lambda site, d: 0.0 if not single[site] else math.inf


def sparse_wrong_sign(seen: Mapping[Rational, int], bit: int, size: Fraction, cutoff: int) -> float:
    """Return a bound of the share of the positions with the other value than `bit` in a sign test (see `wrong_sign`):
    0 if all of them lose at least the cutoff to the best position, and 1 otherwise."""
    sign = 1 if bit else -1
    best = max(sign * key for key in seen)
    fine = all(size * (best - sign * key) >= cutoff for key in seen if sign * key < 0)
    return 0.0 if fine else 1.0
