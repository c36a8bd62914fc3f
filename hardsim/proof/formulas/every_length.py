"""Proof of both links for the words of every length.

The argument is that of `network`, with classes of sites in place of sites and rational functions of position and
length in place of numbers. It needs encodings and a temperature that are rational functions of i, n and powers of
-1 (predicates count as arbitrary Booleans), and heads for which a series in closed form is small enough:

Nearest position. Let w be the position that should be read (the winner) and l the logits. Positions on the side
that loses the tie (for a rightmost head j < w) lose at least g nats a position, whatever their types: l(w) - l(j)
>= g (w - j). With x = e^-g they weigh at most x + x^2 + ... = x/(1 - x), relative to the winner. Those beyond the
winner are not selected, and
 - Lemma 6: if they lose g a position too, the weight off the winner is at most T = 2x/(1 - x), a share T/(1 + T) =
   2x/(1 + x);
 - sharper (ours): if they lose as much as the positions before the first one would, l(w) - l(j) >= g (j - 1) for a
   rightmost head, then they weigh at most x^w + x^(w+1) + ... = x^w/(1 - x), while the w - 1 positions before the
   winner weigh at most (x - x^w)/(1 - x): together x/(1 - x), a share of x. For a leftmost head read the word
   backwards: n - j for j - 1, so that the far end counts.
Where no position is selected the last one wins, and only the positions before it are there: a share of x.

Temperature. The arguments need lower bounds of differences of logits of a query. Each is a number that does not
depend on the temperature, divided by the temperature at the query, so a colder temperature only makes it larger. A
temperature with log, sqrt or exp may therefore be replaced by a rational function that is nowhere colder
(`monotone`).

Rates come from comparing coefficients (`ratios`). Only wrong values are counted, so that winner and loser differ in
their values.

Long words alone (ours). The bounds above hold from n = 1 on, where the words are few and each can be looked at by
itself. If only sizes s > N are required (s is the length, or the position of the query if longer words behave like
their prefixes there), a loss beyond the distance can be used: from `l(w) - l(j) >= g d + k s`, found by comparing
coefficients, the weight at distance d is at most e^(-k (N + 1)) e^(-g d). Distances of positions whose parities are
known (heads of Y and X: one parity is selected) are d = 2, 4, ... or d = 1, 3, ...: sums of x^d are x^2/(1 - x^2)
and x/(1 - x^2). So Y and X have a share of x^2, and a since whose unselected positions alone are wrong has a share
of 0.

Look-up. The logits are `-k (j - c)^2` up to terms that do not depend on j, checked as an identity of rational
functions, and k >= g at every query. With x = e^-g, and since m^2 - 9 = (m - 3)(m + 3) >= 7 (m - 3) for integer m
>= 3,
 - the attended number is off by at most `S/(1 + R)` with S = x + 2x^4 + 3x^9 + ... <= x + 2x^4 + 3x^9/(1 - x^7)^2 and
   R = x + x^4 + x^9 + ... >= x + x^4: half of Lemma 7 and less, since positions on the two sides of c pull in
   opposite directions, so that the worst words have c at one end. More positions there only add distances above the
   mean, and a larger k takes weight from the larger distances, so that no end and the least k are worst. For c = 0
   the weights are x^(m^2 + 2m) at m = 1, 2, ..., relative to that at 1: at most x^3/(1 - x^5)^2, since
   m^2 + 2m >= 5m - 2;
 - a Boolean is off by at most 2t/(1 + 2t), t = x + x^4 + x^9 + ... <= x + x^4 + x^9/(1 - x^7). A predicate with
   period 2 has the same value at even distances as at c, so t has no x^4.

Sign. The query is y = (integer + offset)/m at m positions, so |y| >= distance/m, and even and odd positions have
keys of opposite signs. With keys of one size at all positions the wrong ones lose g = 2 |y| key nats, and of m >= 2
neighbours they are at most twice as many as the right ones: 2x/(1 + 2x). With keys (-1)^j j^2 and query i the best
right position has a logit of at least s (i - 1)^2 and each of the at most (i + 1)/2 wrong ones at most -s, where s
>= g/i: a ratio of at most (i + 1)/2 e^(-g ((i - 1)^2 + 1)/i), which falls with i from i + 1 >= 2/g on.

Sparsemax, and softmax with rounded exponentials. A key whose logit is c or more below the largest one has no weight,
with c = 1 for sparsemax, and e^-c rounded to 0 otherwise (see `sparsemax`). So there is no error if every key with
another value loses at least g >= c nats: all rivals of the nearest position, on either side and
in any order; for a look-up k >= g; for a sign test by its g above, since (i - 1)^2 + 1 >= i for i >= 2.

The second link has the same facts, with positions and lengths as symbols. An integer combination of counts, of i
and of n is at least a threshold: that is one fact, in lowest terms, whatever the numbers are. Where i = 1 or i = n
these values are substituted, so that both sides get the same terms. A predicate of a position, or of a count, is
known by its name and definition alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil
from typing import Any, TypeAlias, assert_never

import numpy as np
from flint import arb

from hardsim.lang.core import Core
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import Mask, Rational
from hardsim.network.store import Users
from hardsim.network.transformer import SoftWeighting, Terms, Transformer
from hardsim.program.hard_attention import Program
from hardsim.proof.formulas.arrays import NOTHING, above, ball, working_precision
from hardsim.proof.formulas.facts import Column, Count, CountPredicate, Facts, Near, clip
from hardsim.proof.formulas.geometric import nearest_everywhere
from hardsim.proof.formulas.head_argument import Argument, Errors, multiple, reading_of
from hardsim.proof.formulas.meaning import threshold
from hardsim.proof.formulas.nearest import NearestReading
from hardsim.proof.formulas.network import one_for_all, prove_meaning, walked
from hardsim.proof.formulas.normed import prove_normed
from hardsim.proof.formulas.rounded import prove_rounded
from hardsim.proof.formulas.sites import LENGTH, QUERY, Classes
from hardsim.proof.formulas.state import BooleanHead, Counted, CountHead, HeadTask, State
from hardsim.proof.shared.ratios import Domain, Ratio, Value, chain, common, line, lower, positive, simplest, upper
from hardsim.proof.shared.result import HeadArgument, Inequality, NotProved, Proof
from hardsim.records import short

OTHER, WINNER = Ratio.variable("j"), Ratio.variable("w")

EXACT = "0"
SHARP = "x"
LEMMA_6 = "2x/(1 + x)"
TWICE = "2x/(1 + 2x)"
TABLE = "2t/(1 + 2t), t = x + x^4 + x^9/(1 - x^7)"
ALTERNATING = "2t/(1 + 2t), t = x + x^9/(1 - x^7)"
NUMBER = "max((x + 2x^4 + 3x^9/(1 - x^7)^2)/(1 + x + x^4), x^3/(1 - x^5)^2)"


def prove_general(
    model: Transformer, program: Program, core: Core | None = None, users: Users | None = None, beyond: int = 0
) -> Proof:
    """Try to prove that a network accepts exactly the words of a formula, for every word of every length. Without a
    core only the first link is tried. `users` has text and meaning of the formula's own predicates.

    With `beyond` the first link is proved only for words longer than that many symbols, assuming that it holds for
    all others.
    """
    if model.normed:
        return prove_normed(model, program, core, (1, 0))
    if model.rounding is not None:
        return prove_rounded(model, program, core, (1, 0))
    classes = Classes(beyond, one_for_all(model, program, None))
    network, heads = walked(model, program, GeneralFacts(classes, model.alphabet), EVERY_LENGTH)
    meaning = None
    if core is not None:
        meaning = prove_meaning(program, core, GeneralFacts(classes, core.alphabet, users or {}))
    # Worst cases are classes here, not words, so they are not reported.
    bare = tuple(replace(head, worst=None) for head in heads)
    return Proof(
        replace(network, cases=(), rounded=False),
        meaning,
        bare,
        predicates=classes.predicates,
        temperatures=classes.temperatures,
    )


# ---- the nearest position ----

Entry: TypeAlias = tuple[tuple[Any, ...], bool, int]
"""Possible view of a position: the key of every row of W_K as a function of i (the position) and n, the truth of
`select`, and the value."""


def nearest(task: HeadTask) -> BooleanHead:
    """Return the Boolean of a head that looks for the nearest selected position, with its argument. Raises
    NotProved if no rate is found."""
    if task.state.model.weighting is SoftWeighting.GEOMETRIC:
        return nearest_everywhere(task)
    reading, _, values = reading_of(task)
    classes, name = task.state.sites, task.head.name
    assert isinstance(classes, Classes)
    # Keys: possible views of a position; values: the parities of the positions that can have them.
    entries: dict[Entry, set[bool]] = {}
    for one, fixed, kinds in zip(classes.classes, zip(*reading.keys, strict=True), reading.kinds, strict=True):
        for kind in reading.types[kinds]:
            key = tuple(simplest(part + own) for part, own in zip(fixed, kind.key, strict=True))
            entries.setdefault((key, kind.selected, kind.value), set()).add(one.even_i)
    # A query that sees one position reads it exactly.
    alone = classes.alone(reading.mask)
    queries = dict.fromkeys(
        query for query, one in zip(zip(*reading.queries, strict=True), alone, strict=True) if not one
    )
    rivals = [_rivals(query, winner, entries) for query, winner in product(queries, entries)]
    before, beyond = ({rival.loss: None for some in rivals for rival in some if rival.beyond is side}
                      for side in (False, True))  # fmt: skip
    cutoff, found, failure = _cutoff(task), list[HeadArgument](), None
    try:
        found.append(
            _argument(reading, before, beyond, name)
            if cutoff is None
            else _exact_argument(task, reading, before, beyond)
        )
    except NotProved as reason:
        failure = reason
    if classes.beyond and before and cutoff is None:
        found += _long(reading, rivals, classes)
    if not found:
        raise failure or AssertionError
    # The bounds hold together, so the smallest one counts.
    argument = min(found, key=lambda one: one.error)
    taken = {value for _, _, value in entries}
    errors = np.array([[argument.error if bit in taken else NOTHING] for bit in (0, 1)])
    return task.boolean(values, errors, argument)


@dataclass(frozen=True)
class Rival:
    """Losing position with another value than the winner: the logit of the winner minus its own (`loss`), its side
    (`beyond` the winner or before it), and the parities of the winner's and of its own position (True: even)."""

    loss: Any
    beyond: bool
    even_winner: bool
    even: bool


def _rivals(query: tuple[Any, ...], winner: Entry, entries: Mapping[Entry, set[bool]]) -> list[Rival]:
    """Return all rivals of a winner; `entries` maps each possible view of a position to the parities of the
    positions that can have it."""
    found: list[Rival] = []
    key, won, value = winner
    for (other, lost, wrong), parities in entries.items():
        if value == wrong or (lost and not won):
            continue
        # Keys of winner and loser are functions of their own positions.
        parts = (factor * (Ratio.of(first).at({"i": WINNER}) - Ratio.of(second).at({"i": OTHER}))
                 for factor, first, second in zip(query, key, other, strict=True))  # fmt: skip
        loss = simplest(sum(parts, Ratio.of(0)))
        # Beyond a selected winner nothing is selected. If the winner is not selected, it is the last position.
        sides = (False, True) if won and not lost else (False,)
        found += [Rival(loss, *rest) for rest in product(sides, sorted(entries[winner]), sorted(parities))]
    return found


def _argument(reading: NearestReading, before: Iterable[Any], beyond: Iterable[Any], name: str) -> HeadArgument:
    """Return the inequalities and the resulting bound, from the differences l(w) - l(j) of all rivals before the
    winner and beyond it. Raises NotProved if there is no positive rate."""
    right = reading.rightmost
    away, far = (WINNER - OTHER, OTHER - 1) if right else (OTHER - WINNER, LENGTH - OTHER)
    near, back, end = ("w - j", "j - w", "j - 1") if right else ("j - w", "w - j", "n - j")
    shape = _shape(reading)
    if not before:
        return HeadArgument(f"{shape}; it reads the same value everywhere", (), None, EXACT, 0.0)
    nothing = f"head {name}: comparing coefficients gives no positive rate, for every length, at which"
    steps = _steps(reading, before, away, near, False)
    if not steps:
        raise NotProved(f"{nothing} positions that lose the tie fall behind the winner", name)
    sharp, two_sided = _steps(reading, beyond, far, end, True), _steps(reading, beyond, -away, back, True)
    faster, slower = (None if more is None else min(step.rate for step in (*steps, *more))
                      for more in (sharp, two_sided))  # fmt: skip
    error = None if faster is None else share(faster, SHARP)
    lemma = None if slower is None else share(slower, LEMMA_6)
    if sharp is not None and error is not None and (lemma is None or error <= lemma):
        return HeadArgument(shape, (*steps, *sharp), faster, SHARP, error, None if lemma is None else LEMMA_6, lemma)
    if two_sided is None or lemma is None:
        raise NotProved(f"{nothing} positions beyond the winner fall behind the winner", name)
    return HeadArgument(shape, (*steps, *two_sided), slower, LEMMA_6, lemma)


def _shape(reading: NearestReading) -> str:
    """Return the position that a head looks for, in words."""
    return f"the {'rightmost' if reading.rightmost else 'leftmost'} selected position, mask '{reading.mask}'"


def _cutoff(task: HeadTask) -> int | None:
    """Return the loss from which on the network's weighting gives a key no weight; None if every key has weight."""
    return task.state.model.weighting.cutoff


def _exact_argument(
    task: HeadTask, reading: NearestReading, before: Iterable[Any], beyond: Iterable[Any]
) -> HeadArgument:
    """Return the inequalities by which no rival has weight. Raises NotProved if some rival is not known to lose the
    cutoff or more to the winner."""
    some = [_steps(reading, losses, Ratio.of(1), "1", side) for losses, side in ((before, False), (beyond, True))]
    steps = None if None in some else tuple(step for part in some for step in part or ())
    g = None if steps is None else min((step.rate for step in steps), default=None)
    if steps != ():
        _require_exact(task, g)
    return HeadArgument(_shape(reading), steps or (), g, EXACT, 0.0, exact=True, cutoff=_cutoff(task) or 0)


def _require_exact(task: HeadTask, g: Fraction | None) -> None:
    """Raise NotProved unless g, the least loss of a wrong key, is at least the cutoff."""
    name, weighting = task.head.name, task.state.model.weighting
    cutoff = weighting.cutoff
    assert cutoff is not None
    if g is None or g < cutoff:
        known = "is not known to be positive" if g is None else f"is only known to be at least {g}"
        raise NotProved(
            f"head {name}: {weighting} is exact if wrong keys lose at least {cutoff} over the temperature, and their "
            f"loss {known} at every length",
            name,
        )


SHARES = (Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
"""Parts of the largest rate per position that are tried, where the rest of a loss counts as a multiple of the size."""


@dataclass(frozen=True)
class _Falling:
    """Positions at the distances first, first + step, ... that lose `rate` nats a position and `more` nats besides."""

    rate: Fraction
    more: Fraction
    first: int
    step: int

    @property
    def weight(self) -> arb:
        """Bound of the total weight of all these positions, relative to the winner."""
        x: arb = ball(-self.rate).exp()
        return ball(-self.more).exp() * x**self.first / (1 - x**self.step)

    @property
    def bound(self) -> str:
        """Bound as text, in x = e^-rate and without the factor e^-more."""
        top = "x" if self.first == 1 else f"x^{self.first}"
        return f"{top}/(1 - x{f'^{self.step}' if self.step > 1 else ''})"


def _long(reading: NearestReading, rivals: Iterable[Sequence[Rival]], classes: Classes) -> list[HeadArgument]:
    """Return the argument for long words alone, if there is one, else an empty list. The rivals before a winner and
    beyond it are summed over their parities, for the winner with the largest sum."""
    right, steps = reading.rightmost, list[Inequality]()
    shape = _shape(reading)
    worst, terms = arb(0), list[_Falling]()

    @cache
    def falling(loss: Any, beyond: bool, first: int, step: int) -> _Falling | None:
        bounds = [_Falling(*pair, first, step) for pair in _losses(reading, classes, loss, beyond)]
        best = min(bounds, key=lambda bound: float(bound.weight), default=None)
        if best is not None:
            less = f" - {best.more}" if best.more else ""
            unit = {True: "j - 1", False: "w - j"} if right else {True: "n - j", False: "j - w"}
            text = f"l(w) - l(j){less} = {loss}{less}"
            steps.append(Inequality(f"all orders{classes.only()}", text, best.rate, unit[beyond]))
        return best

    with working_precision():
        for some in rivals:
            for even in {rival.even_winner for rival in some}:
                here = dict.fromkeys((rival.loss, True, 1, 1) if rival.beyond else
                                     (rival.loss, False, 2 if rival.even is even else 1, 2)
                                     for rival in some if rival.even_winner is even)  # fmt: skip
                found = [falling(*one) for one in here]
                weights = [one.weight for one in found if one is not None]
                if len(weights) < len(found):
                    return []
                total = sum(weights, arb(0))
                if not total <= worst:
                    worst, terms = total.max(worst), [one for one in found if one is not None]
        slowest = min((one.rate for one in terms if not one.more), default=None)
        main = [one for one in terms if not one.more and one.rate == slowest]
        rest = sum((one.weight for one in terms if one not in main), arb(0))
        sums = [*(one.bound for one in main), *([short(above(rest))] if len(main) < len(terms) else [])]
        bound = f"T/(1 + T), T = {' + '.join(sums)}{classes.only()}"
        return [HeadArgument(shape, tuple(dict.fromkeys(steps)), slowest, bound, above(worst / (1 + worst)))]


def _losses(reading: NearestReading, classes: Classes, loss: Any, beyond: bool) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield pairs of a rate > 0 and a number >= 0 of nats such that a loss is at least the rate times the distance
    (from the winner or, beyond it, from the first position) plus that number, at sizes above `classes.beyond`."""
    away = WINNER - OTHER if reading.rightmost else OTHER - WINNER
    unit = away if not beyond else OTHER - 1 if reading.rightmost else LENGTH - OTHER
    value = Ratio.of(loss)
    domains = [domain for _, domain in _orders(reading, beyond, "i" in (value * classes.size).names)]

    def most(number: Value) -> Fraction | None:
        found = [lower(number, domain) for domain in domains]
        bounds = [bound for bound in found if bound is not None]
        return min(bounds) if len(bounds) == len(found) else None

    rate = most(value / unit)
    for part in SHARES if rate is not None and rate > 0 else ():
        # A smaller rate per position leaves more for the multiple of the size.
        kept = part * (rate or 0)
        more = most((value - unit * kept) / classes.size)
        if more is not None and more >= 0:
            yield kept, more * (classes.beyond + 1)


def _steps(
    reading: NearestReading, differences: Iterable[Any], unit: Ratio, text: str, beyond: bool
) -> tuple[Inequality, ...] | None:
    """Return for each difference the inequality `difference >= g unit` with the largest g that its coefficients
    give; None if some g is not positive. `text` is the unit as text."""
    steps: list[Inequality] = []
    for difference in differences:
        value = Ratio.of(difference)
        for order, domain in _orders(reading, beyond, "i" in value.names):
            found = lower(value / unit, domain)
            if found is None or found <= 0:
                return None
            steps.append(Inequality(order, f"l(w) - l(j) = {value}", found, text))
    return tuple(steps)


def _orders(reading: NearestReading, beyond: bool, with_query: bool) -> Iterator[tuple[str, Domain]]:
    """Yield the possible orders of query, loser and winner: as text, and as a domain."""
    first, second = ("j", "w") if reading.rightmost != beyond else ("w", "j")
    pair = [(first, 0), (second, 1)]
    options = [[*pair, ("i", 0)], [(first, 0), ("i", 0), (second, 1)], [("i", 0), *pair]]
    if reading.mask is not Mask.NONE:
        options = options[:1] if reading.mask is Mask.FUTURE else options[2:]
    elif not with_query:
        options = [pair]
    for option in options:
        names, gaps = zip(*option, ("n", 0), strict=True)
        signs = ["1 <= ", *(" < " if gap else " <= " for gap in gaps[1:])]
        yield "".join(sign + name for sign, name in zip(signs, names, strict=True)), chain(names, gaps)


def share(rate: Fraction, bound: str) -> float:
    """Return the value, rounded up, of a bound in x = e^-rate that is a quotient."""
    with working_precision():
        x: arb = ball(-rate).exp()
        return above({SHARP: x, LEMMA_6: 2 * x / (1 + x), TWICE: 2 * x / (1 + 2 * x)}[bound])


MOST_QUERIES = 100_000
"""Largest number of queries that are tried one by one in a sign test with growing keys, before its bound falls."""

SEVERAL = {Mask.FUTURE: "1 < i <= n", Mask.PAST: "1 <= i < n", Mask.NONE: "1 <= i <= n, 1 < n"}
"""Positions, as text, from which several positions are visible, by mask."""


def _rates(
    task: HeadTask, classes: Classes, values: Iterable[Value], factor: Value, text: str, unit: str
) -> tuple[tuple[Inequality, ...], Fraction]:
    """Return lower bounds of functions, by class, times a factor, where several positions are visible: as
    inequalities, one for each function, and the least bound of all. Raises NotProved if a bound is not positive."""
    steps: dict[Value, Inequality] = {}
    for value, one, alone in zip(values, classes.classes, classes.alone(task.head.mask), strict=True):
        if alone:
            continue
        rate = classes.least(Ratio.of(value) * factor, one.domain)
        if rate is None or rate <= 0:
            what = f"head {task.head.name}: comparing coefficients gives no positive rate for every length"
            raise NotProved(what, task.head.name)
        if value not in steps or rate < steps[value].rate:
            steps[value] = Inequality(SEVERAL[task.head.mask] + classes.only(), f"{text} {value}", rate, unit)
    return tuple(steps.values()), min(step.rate for step in steps.values())


# ---- look-ups ----


def look_up_errors(task: HeadTask, rates: list[Any], _: object, sizes: list[Any], slope: Rational | None) -> Errors:
    """Return the error of a look-up, with its argument. Raises NotProved if no rate is found."""
    head, classes = task.head, task.state.sites
    assert isinstance(classes, Classes)
    classes.same(sizes, "the number of positions counted", head.name)
    text = "l(c) - l(j) = k (j - c)^2 with k ="
    steps, rate = _rates(task, classes, map(simplest, rates), 1, text, "(j - c)^2")
    shape = f"the position whose number is the count, mask '{head.mask}'"
    if (cutoff := _cutoff(task)) is not None:
        _require_exact(task, rate)
        return 0.0, HeadArgument(shape, steps, rate, EXACT, 0.0, exact=True, cutoff=cutoff)
    lemma = None
    with working_precision():
        x, g = ball(-rate).exp(), ball(rate)
        if slope is None:
            # At distance 2 a predicate of period 2 has the right value.
            evens = 0 if _alternates(task) else x**4
            t = x + evens + x**9 / (1 - x**7)
            bound, error = TABLE if evens else ALTERNATING, above(2 * t / (1 + 2 * t))
        else:
            size = abs(ball(slope))
            lemma = above(size * 2 * x * (1 + 1 / (2 * g))) if 2 * rate >= 1 else None
            found = (x + 2 * x**4 + 3 * x**9 / (1 - x**7) ** 2) / (1 + x + x**4)
            bound, error = NUMBER, above(size * found.max(x**3 / (1 - x**5) ** 2))
    paper = LEMMA_7 if lemma else None
    return error, HeadArgument(shape, steps, rate, bound, error, paper, lemma)


def numbers_apart(task: HeadTask, rates: list[Any], slope: Rational) -> Callable[[int, int], float]:
    """Return a function of a site and a distance d: a bound of the difference between the errors of two look-ups
    whose winners are d positions apart, for long words alone (ours).

    A number is read too high where more positions stand after the winner than before it, else too low. Two winners
    on the same side of the middle are both read too high, or both too low: the difference is at most the larger
    error. Otherwise at least K = N/2 - d positions stand on either side of both, where N are all but one of the
    visible positions at least: what does not cancel is at most the sum of m x^(m^2) over m > K, for both together
    at most 2 times y/(1 - y)^2 (K + 1) with y = x^(K + 1), since m^2 >= (K + 1) m.
    """
    classes = task.state.sites
    assert isinstance(classes, Classes)
    errors, argument = look_up_errors(task, rates, None, classes.sizes(task.head.mask), slope)
    if _cutoff(task) is not None:
        return lambda site, d: 0.0
    rate = None if argument is None else argument.g
    known = rate is not None and all(size == classes.size for size in classes.sizes(task.head.mask))

    def apart(site: int, d: int) -> float:
        left = classes.beyond // 2 - abs(d)
        if not known or left < 1:
            return math.inf
        with working_precision():
            y = ball(-Fraction(rate or 0) * (left + 1)).exp()
            rest = abs(ball(slope)) * 2 * (left + 1) * y / (1 - y) ** 2
            return max(above(rest), float(errors))

    return apart


def _alternates(task: HeadTask) -> bool:
    """Return True if a look-up reads a predicate of the position with period 2, at every length."""
    known = task.state.facts.predicates
    columns = {known.get(number) for number in task.hard}
    return all(column is not None and column.name == "MOD" and column.params[0] == 2 for column in columns)


# ---- the sign ----


def sign_errors(task: HeadTask, specified: list[Any]) -> Errors:
    """Return the error of a sign test, with its argument. Raises NotProved if no rate is found."""
    state, head, name, classes = task.state, task.head, task.head.name, task.state.sites
    assert isinstance(classes, Classes)
    even = np.array([one.even_i for one in classes.classes])
    if any(even != specified):
        raise NotProved(f"head {name} does not read the parity of positions", name)
    key = _size_of_keys(task, classes, task.plan.scores[0][1], True)
    _size_of_keys(task, classes, state.terms(head.score[0][1]), False)
    factor, expected, offsets = multiple(task)
    sizes = [value for k in expected for value in state.means[k].sizes] or classes.sizes(head.mask)
    size: Ratio = classes.same(sizes, "the number of positions", name)
    distance = min(
        least_distance((offset * size).simplest, expected.values(), name) for offset in map(Ratio.of, offsets)
    )
    growing = "i" in key.names
    # The bound sums over positions up to the query alone.
    if growing and head.mask is not Mask.FUTURE:
        raise NotProved(f"the keys of head {name} grow with the position", name)
    scale = (key / (QUERY * QUERY) * distance if growing else key * 2 * distance) / size * factor
    losses = ((scale * inverse).simplest for inverse in state.inverse)
    text = f"{'s' if growing else 'l(right) - l(wrong)'} >="
    steps, least = _rates(task, classes, losses, QUERY if growing else 1, text, "1/i" if growing else "1")
    if (cutoff := _cutoff(task)) is not None:
        _require_exact(task, least)
        error, bound = 0.0, EXACT
    elif growing:
        # Queries at position 1 see one position and have no error.
        start = max(2, classes.beyond + 1 if classes.size == QUERY else 2)
        error = _ramp(least, start, name)
        bound = f"r/(1 + r), r = max of (i + 1)/2 e^(-g ((i - 1)^2 + 1)/i) over i >= {start}"
    else:
        error, bound = share(least, TWICE), TWICE
    shape = f"the even positions if a number is positive, else the odd ones, mask '{head.mask}'"
    # Where one position is visible its own value is read.
    alone = np.where([~even, even], 0.0, NOTHING)
    return np.where(classes.alone(head.mask), alone, error), HeadArgument(
        shape, steps, least, bound, error, ramp=growing, exact=cutoff is not None, cutoff=cutoff or 0
    )


LEMMA_7 = "2x (1 + 1/(2g))"


def _size_of_keys(task: HeadTask, classes: Classes, terms: Terms, soft: bool) -> Ratio:
    """Return the size of a key that is positive at even positions and negative at odd ones: a function of n, or one
    times i^2. Raises NotProved for another key."""
    sizes, name = [], task.head.name
    for value, one in zip(task.values(terms, soft), classes.classes, strict=True):
        size = Ratio.of(value) if one.even_i else -Ratio.of(value)
        if not positive(size, one.domain):
            raise NotProved(f"the keys of head {name} are not positive where it reads 1 and negative elsewhere", name)
        sizes.append(size)
    found: Ratio = classes.same(sizes, "the key", name)
    # Only these two forms have a bound in closed form.
    if "i" in found.names and "i" in (found / (QUERY * QUERY)).names:
        raise NotProved(f"the keys of head {name} have neither one size at all positions nor one size times i^2", name)
    return found


def least_distance(constant: Value, steps: Iterable[Rational], name: str) -> Fraction:
    """Return the least distance from 0 of integer multiples of steps plus a linear form in i and n. Raises
    NotProved if it is 0 or not known."""
    total = line(constant)
    if total is None:
        raise NotProved(f"the number whose sign head {name} tests is not an integer plus a constant", name)
    step = common([*(Fraction(c) for c in steps), total.of_i, total.of_n])
    distance = min(total.constant % step, -total.constant % step) if step else abs(total.constant)
    if not distance:
        raise NotProved(f"the number whose sign head {name} tests can be 0", name)
    return distance


def last_of_ramp(rate: Fraction, start: int = 2) -> int:
    """Return a query, `start` or later, from which on the bound of a sign test with growing keys falls."""
    return max(start, int(2 / rate) + 1)


def _ramp(rate: Fraction, start: int, name: str) -> float:
    """Return the largest share over all queries from `start` >= 2 on: the bound falls from i + 1 >= 2/rate on,
    since 1 - 2/i^2 >= 1/2."""
    last = last_of_ramp(rate, start)
    if last > MOST_QUERIES:
        raise NotProved(f"head {name} is not sharp enough for a bound over all lengths", name)
    with working_precision():
        ratio = ball(Fraction(0))
        for i in range(start, last + 1):
            ratio = ratio.max(ball(Fraction(i + 1, 2)) * ball(-rate * Fraction((i - 1) ** 2 + 1, i)).exp())
        return above(ratio / (1 + ratio))


# ---- clips that compare counts ----


def margins(
    state: State, counts: Sequence[tuple[Fraction, Counted]], site: int, what: str
) -> Callable[[Any], dict[int, Rational]]:
    """Return the margins of a clip in a class, as `Margins` describes. If only integers are added (numbers looked
    up, and means over one position), the input is a constant plus multiples of a step, unbounded on both sides;
    otherwise it must be on one side of the threshold throughout."""
    assert isinstance(state.sites, Classes)
    one, steps = state.sites.classes[site], list[Fraction]()
    low = high = Fraction(0)
    for factor, source in counts:
        if isinstance(source, CountHead):
            if source.base:
                raise NotProved(f"{what} reads a number that is looked up with an offset")
            steps.append(factor * source.slope)
        elif state.sites.alone(source.mask)[site]:
            steps.append(factor)
        else:
            low, high = low + min(factor, Fraction(0)), high + max(factor, Fraction(0))

    def judge(base: Any) -> dict[int, Rational]:
        value = one.known(base)
        found = line(value)
        # A linear form in integers plus integer multiples of steps is a constant plus multiples of one step.
        step = Fraction(0) if found is None else common([found.of_i, found.of_n, *steps])
        if found is not None and step and low == high:
            over = found.constant + step * ceil((1 - found.constant) / step)
            if over - step > 0:
                raise NotProved(f"the specification gives {what} a value between 0 and 1")
            return {0: step - over, 1: over - 1}
        least, most = lower(value, one.domain), upper(value, one.domain)
        # Means have no lattice here, so the input must stay on one side.
        if not steps and most is not None and most + high <= 0:
            return {0: -most - high}
        if not steps and least is not None and least + low >= 1:
            return {1: least + low - 1}
        raise NotProved(f"{what} is not known to be 0 or 1 for every length")

    return judge


EVERY_LENGTH = Argument(nearest, look_up_errors, numbers_apart, sign_errors, margins)
"""Bounds of heads and clips by classes of sites, for every length."""


# ---- facts ----


class GeneralFacts(Facts):
    """Facts about classes of sites, for every length."""

    sites: Classes

    # ---- columns ----

    def clipped(self, column: Column) -> Column:
        """Return the column of min(max(x, 0), 1), where x is an exact number in every class of sites."""
        return tuple(self._clipped(number, site) for site, number in enumerate(column))

    def _clipped(self, number: int, site: int) -> int:
        """Return the clip of an exact number in one class. A linear form in i and n that is never inside (0, 1)
        becomes a comparison."""

        def bounded(value: Any) -> Rational:
            if not isinstance(value, Ratio):
                return clip(value)
            low, high = self.sites.bounds(value, site)
            if high is not None and high <= 0:
                return 0
            if low is not None and low >= 1:
                return 1
            raise NotProved(f"a clip of {value} is not known to be 0 or 1 where {self.sites.place(site)}")

        try:
            return self.diagrams.map(("clip", site), bounded, number)
        except NotProved:
            value = self.diagrams.value(number) if self.diagrams.constant(number) else None
            if isinstance(value, Ratio):
                with suppress(NotProved):
                    return self.comparison({}, threshold, "")(value, site)
            raise

    def alternating(self, keys: list[Any], values: list[Any], name: str) -> None:
        """Raise NotProved unless a head's values are 1 exactly at even positions, and its keys are positive exactly
        there."""
        for one, key, value in zip(self.sites.classes, keys, values, strict=True):
            if value != one.even_i or not positive(key if one.even_i else -Ratio.of(key), one.domain):
                raise NotProved(f"head {name} does not read the parity of positions")

    def distances(self, op: Near, selected: list[Any]) -> list[int]:
        """Return by class the distance to the nearest selected position: 0 where the position itself is selected or
        at the end, -1 or 1 where all possible neighbours are selected. Raises NotProved for other distances."""
        match op:
            case "S":
                way = -1
            case "U":
                way = 1
            case "E":
                raise NotProved("a head without a mask reads a fixed position")
            case _:
                assert_never(op)
        found = []
        for site, here in enumerate(selected):
            near = self.sites.neighbours(site, way)
            if here == 1 or not near:
                found.append(0)
            elif all(selected[other] == 1 for other in near):
                found.append(way)
            else:
                raise NotProved("a head reads a position other than the query and its neighbours")
        return found

    # ---- predicates of counts ----

    def predicate(self, count_predicate: CountPredicate, count: Count, everything: bool) -> Column:
        """Return the column of a predicate of a count. If all positions are counted, it is a predicate of the
        position or length."""
        (side, what), (text, user) = count, self.users.get(count_predicate.name, ("", None))

        def encoded(of_i: int, of_n: int, offset: int) -> Column:
            column = PredicateColumn(count_predicate.name, count_predicate.params, of_i, of_n, offset, text, user)
            return self.encoded(self.sites.evaluate(column))

        zero = encoded(0, 0, count_predicate.offset)
        if set(what) == {self.diagrams.zero}:
            return zero
        if everything:  # the formula itself counts `true`; other conditions that are always true are looked up
            of_i = {"L": count_predicate.scale, "R": -count_predicate.scale, "": 0}[side]
            extra = count_predicate.scale if side == "R" else 0
            return encoded(of_i, 0 if side == "L" else count_predicate.scale, count_predicate.offset + extra)
        read = encoded(count_predicate.scale, 0, count_predicate.offset)
        return self.table(count, zero, [self.predicates.get(number) for number in read])

    def read_table(self, values: Column, what: str) -> Sequence[Any]:
        """Return the predicate of the position that a look-up reads, by class, in the format of `table`."""
        found = {self.predicates.get(number) for number in values}
        if None in found or len(found) > 1:
            raise NotProved(f"{what} is not a predicate of the position")
        return [self.predicates[number] for number in values]

    def table(self, count: Count, at_zero: Sequence[int], columns: Sequence[Any]) -> Column:
        """Return the column of a predicate of a position, taken at a count. Its value at count 0 is `at_zero`, by
        class."""
        if set(count[1]) == {self.diagrams.zero}:  # the condition is never true, though it is not `false`
            return tuple(at_zero)
        if None in columns:
            raise NotProved("a head looks up values that are not a named predicate")
        if set(count[1]) == {self.diagrams.one}:  # the count is at least 1, so its value at 0 does not matter
            at_zero = self.everywhere(self.diagrams.zero)
        return tuple(self.fact("table", count, *pair) for pair in zip(at_zero, columns, strict=True))
