"""Heads of geometric attention: the error of the Boolean that they read at the nearest selected position (ours).

P of a position is 1/(1 + e^-l), with l its logit (score over temperature), and its weight is P times the product of
1 - P over the nearer positions. Let P be at least 1 - x at selected positions, at most x at the others, and let the
value be 1 at selected positions only (not at all of them), and 0 elsewhere. Of m visible positions let the nearest
selected one, the winner, be behind d < m others. Then

 - if its value is 1, the head reads at least the winner's weight, (1 - x)^(d+1) >= (1 - x)^m, and at most 1;
 - if its value is 0, all nearer values are 0, and the positions beyond it share what it leaves: at most x;
 - if nothing is selected all values are 0, and the head reads 0. So it does where nothing is visible.

The hard head reads the winner, or the last position in its order, which is not selected: 0. So the error is at most
1 - (1 - x)^m <= m x, and x if every position is selected (d = 0).

For every length: the temperature is c/log(E), with E a rational function of i and n, so that e^l >= E^k at selected
positions whose score is at least k c, for an integer k, and x <= 1/(1 + E^k). For another temperature e^l >= 1 + y +
y^2/2 + y^3/6, with y a rational function below l; of a constant one e^l is computed. The error is at most 1/g if
1 + E^k >= g m in every class of sites.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import floor, inf, nextafter, prod
from typing import Any, NoReturn

import numpy as np
from flint import arb

from hardsim.lang.arith import Application, Arith, Expression, Operation
from hardsim.lang.reals import RealNumber, apply, exponential
from hardsim.lang.reals import lower as lowest
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational
from hardsim.program.hard_attention import Weighting
from hardsim.proof.formulas.arrays import NOTHING, ExactNumbers, above, ball, working_precision
from hardsim.proof.formulas.head_argument import Types, local_types, split
from hardsim.proof.formulas.nearest import Extremes, NearestReading
from hardsim.proof.formulas.sites import LENGTH, QUERY, Classes
from hardsim.proof.formulas.state import BooleanHead, HeadTask
from hardsim.proof.shared.ratios import NoRatio, Ratio, Value, lower, positive, ratio_of, simplest
from hardsim.proof.shared.result import HeadArgument, Inequality, NotProved

SIDES = {
    (Weighting.RIGHTMOST, Mask.FUTURE): True,
    (Weighting.RIGHTMOST, Mask.STRICT_FUTURE): True,
    (Weighting.LEFTMOST, Mask.PAST): False,
    (Weighting.LEFTMOST, Mask.STRICT_PAST): False,
}
"""Weightings and masks of heads whose winner is the nearest selected position: True if it is the rightmost one."""
MOST_BITS = 1 << 14
"""Greatest number of bits of the powers of fractions that are computed exactly."""
MOST_POWER = 4
"""Greatest power of E that is used in proofs of every length."""


@dataclass(frozen=True)
class _Views:
    """The possible views of a head's positions: by site, the values of the rows of W_Q, and of the rows of W_K as far
    as they are the same for every word; the number of the set of local types; and the different sets."""

    queries: list[tuple[Any, ...]]
    keys: list[tuple[Any, ...]]
    kinds: tuple[int, ...]
    types: Types
    values: tuple[Rational, Rational]

    def scores(self, query: tuple[Any, ...], sites: Iterable[int]) -> tuple[list[Any], list[Any]]:
        """Return the different scores of positions for one query: of those that are selected, and of the others."""
        found: tuple[list[Any], list[Any]] = [], []
        for key, kinds in dict.fromkeys((self.keys[site], self.kinds[site]) for site in sites):
            for kind in self.types[kinds]:
                parts = zip(query, key, kind.key, strict=True)
                found[not kind.selected].append(sum((q * (fixed + own) for q, fixed, own in parts), Fraction(0)))
        return found

    def has(self, selected: bool, value: int) -> bool:
        """Return True if a position may be selected (or not), with a value."""
        return any(kind.selected is selected and kind.value == value for some in self.types for kind in some)


def _views(task: HeadTask) -> _Views:
    """Return the views of a head's positions. Raises NotProved unless it looks for the nearest selected position, its
    query is the same for every word, and its value is 1 at selected positions alone, and 0 elsewhere."""
    state, head = task.state, task.head
    if head.select is None or (head.weighting, head.mask) not in SIDES:
        raise NotProved(f"head {head.name} is not specified to look for the nearest position on one side", head.name)
    select = state.hard(state.terms(head.select), f"head {head.name}")
    queries = []
    for query, _ in task.plan.scores:
        values, _, varying = split(state, query, f"the query of head {head.name}")
        if varying:
            raise NotProved(f"the query of head {head.name} depends on the word", head.name)
        queries.append(values)
    parts = [split(state, key, f"the key of head {head.name}") for _, key in task.plan.scores]
    columns = [state.facts.combine(varying, 0) for _, _, varying in parts]
    kinds, types, ends = local_types(state, head.name, columns, select, task.hard, task.soft)
    keys = list(zip(*(fixed for fixed, _, _ in parts), strict=True))
    found = _Views(list(zip(*queries, strict=True)), keys, kinds, types, ends)
    if ends[0] or found.has(False, 1):
        what = "a value other than 0" if ends[0] else "1"
        message = f"head {head.name} can read {what} where it selects nothing, and geometric attention reads 0 there"
        raise NotProved(message, head.name)
    return found


def no_counts(task: HeadTask, *_: object) -> NoReturn:
    """Raise NotProved for a head that counts."""
    raise NotProved(f"head {task.head.name} looks up a count, and geometric attention has no means", task.head.name)


# ---- some lengths ----


def nearest_by_site(task: HeadTask) -> BooleanHead:
    """Return the Boolean of a head with its error at every site. Raises NotProved as `_views` does."""
    views, sites, mask = _views(task), task.state.sites, task.head.mask
    wrong, winner = np.full((2, len(sites)), NOTHING), np.zeros((2, len(sites)), dtype=np.int64)
    error = cache(_errors)
    for n, start, end in sites.words():
        scores: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        for site in range(start, end):
            seen, query = mask.visible(sites.i[site], n), views.queries[site]
            if not seen:
                wrong[0, site] = 0.0
                continue
            if query not in scores:
                selected, others = views.scores(query, range(start, end))
                scores[query] = min(selected, default=None), max(others, default=None)
            least, most = scores[query]
            one, zero = error(least, most, task.state.inverse[site], len(seen))
            order = seen if SIDES[task.head.weighting, mask] else seen[::-1]
            if views.has(True, 1):
                wrong[1, site], winner[1, site] = one, order[-1 if most is None else 0]
            if views.has(True, 0) or views.has(False, 0):
                wrong[0, site] = zero if views.has(True, 0) and views.has(True, 1) else 0.0
    # The worst words are shown only if every position may have any of the types.
    if len(set(views.kinds)) > 1:
        winner[:] = 0
    columns = zip(*views.queries, strict=True), zip(*views.keys, strict=True)
    queries, keys = (tuple(ExactNumbers(column) for column in some) for some in columns)
    reading = NearestReading(mask, SIDES[task.head.weighting, mask], queries, keys, views.kinds, views.types)
    extremes = Extremes(wrong[0], winner[0], 0.0), Extremes(wrong[1], winner[1], 0.0)
    return replace(task.boolean(views.values, wrong), reading=reading, extremes=extremes)


def _errors(least: Rational | None, most: Rational | None, inverse: RealNumber, m: int) -> tuple[float, float]:
    """Return upper bounds of the error where a head should read 1, and where it should read 0, among m visible
    positions: selected ones have a score of at least `least` (None: there are none), others of at most `most`."""
    if least is None:
        return 0.0, 0.0
    # Larger scores of selected positions, and smaller ones of others, only help: the least and the largest decide.
    beside = _left(least * inverse)
    if most is None or m == 1:
        return _above(beside), _above(beside)
    passed = _left(-most * inverse)
    short = m * _bits(passed) < MOST_BITS
    if isinstance(beside, Fraction) and isinstance(passed, Fraction) and short:
        return _above(1 - (1 - beside) * (1 - passed) ** (m - 1)), _above(beside)
    with working_precision():
        one, other = (ball(x) if isinstance(x, Fraction) else x for x in (beside, passed))
        return above(1 - (1 - one) * (1 - other) ** (m - 1)), _above(beside)


def _bits(value: Fraction | arb) -> int:
    """Return the number of bits of a denominator; 0 for a ball."""
    return value.denominator.bit_length() if isinstance(value, Fraction) else 0


def _left(logit: RealNumber) -> Fraction | arb:
    """Return 1/(1 + e^logit), exactly if e^logit is a rational of which that is seen."""
    power = exponential(logit)
    if power is not None:
        return 1 / (1 + power)
    with working_precision():
        found: arb = 1 / (1 + ball(logit).exp())
        return found


def _above(value: Fraction | arb) -> float:
    """Return a float that is at least a number: the number itself if it is a float."""
    if not isinstance(value, Fraction):
        return above(value)
    found = float(value)
    return found if Fraction(found) >= value else nextafter(found, inf)


# ---- every length ----


def nearest_everywhere(task: HeadTask) -> BooleanHead:
    """Return the Boolean of a head with its error at every length, and the argument. Raises NotProved as `_views` does,
    and if the scores depend on the position, or no bound of x is found."""
    views, classes, head = _views(task), task.state.sites, task.head
    assert isinstance(classes, Classes)
    selected, others = ([simplest(score) for query in dict.fromkeys(views.queries)
                         for score in views.scores(query, range(len(classes)))[side]] for side in (0, 1))  # fmt: skip
    if not all(isinstance(score, int | Fraction) for score in (*selected, *others)):
        raise NotProved(f"the scores of head {head.name} depend on the position", head.name)
    # One number for both kinds of positions keeps the bound a function of m alone.
    score = min([*selected, *(-score for score in others)])
    if score <= 0:
        message = f"head {head.name}: not all scores of selected positions are positive, and all others negative"
        raise NotProved(message, head.name)
    steps: dict[str, Inequality] = {}
    empty = [one.first if head.mask is Mask.STRICT_FUTURE else head.mask is Mask.STRICT_PAST and one.last
             for one in classes.classes]  # fmt: skip
    for site, one in enumerate(classes.classes):
        if not empty[site] and selected:
            power = 1 + Ratio.of(_growth(task, Fraction(score), site))
            # Without other positions the nearest visible one is selected.
            seen = Ratio.of(1) if not others else _seen(head.mask)
            rate = lower(power / seen, one.domain)
            if rate is None or rate <= 1:
                message = f"head {head.name}: 1 + e^l is not known to be above the number m of visible positions"
                raise NotProved(f"{message} at every length, with e^l >= {power - 1} {one}", head.name)
            text = f"1 + e^l(w) >= {power}"
            if text not in steps or rate < steps[text].rate:
                steps[text] = Inequality("1 <= i <= n", text, rate, "m" if others else "1")
    rate = min((step.rate for step in steps.values()), default=None)
    error = 0.0 if rate is None else _above(1 / rate)
    shape = f"the {'rightmost' if SIDES[head.weighting, head.mask] else 'leftmost'} selected position"
    argument = HeadArgument(f"{shape}, mask '{head.mask}'", tuple(steps.values()), rate, BOUND, error)
    on = [NOTHING if no or not views.has(True, 1) else error for no in empty]
    off = [0.0 if no else error if views.has(True, 0) and views.has(True, 1) else 0.0 if views.has(False, 0) else
           NOTHING for no in empty]  # fmt: skip
    return task.boolean(views.values, np.array([off, on]), argument)


BOUND = "1/g"
"""The error of a head as a formula in g, where 1 + e^l >= g m for the logit l of a selected position."""


def _seen(mask: Mask) -> Ratio:
    """Return the number of visible positions as a function of i and n."""
    found = {Mask.FUTURE: QUERY, Mask.STRICT_FUTURE: QUERY - 1, Mask.PAST: LENGTH - QUERY + 1}
    return found.get(mask, LENGTH - QUERY)


def _growth(task: HeadTask, score: Fraction, site: int) -> Value:
    """Return a rational function that is at most e^(score/temperature) in a class of sites, for a score > 0."""
    classes, temperature = task.state.sites, task.state.model.temperature
    assert isinstance(classes, Classes)
    one, found = classes.classes[site], _logarithm(temperature.tree) if isinstance(temperature, Arith) else None
    try:
        if found is not None:
            factor, tree = found
            base = ratio_of(Arith(tree), one.sign, one.domain)
            if factor > 0 and score >= factor and positive(Ratio.of(base) - 1, one.domain):
                power = prod([Ratio.of(base)] * min(floor(score / factor), MOST_POWER), start=Ratio.of(1))
                return power.simplest
    except NoRatio:
        pass
    if isinstance(temperature, Arith) and not temperature.variables:
        with suppress(ValueError):
            return lowest(apply("exp", task.state.model.inverse_temperature(1, 1) * score))
    # All terms of the series are positive, so the first four are a lower bound.
    y = Ratio.of(task.state.inverse[site]) * score
    return (1 + y + y * y / 2 + y * y * y / 6).simplest


def _logarithm(tree: Expression) -> tuple[Fraction, Expression] | None:
    """Return c and E if an expression is c/log(E) for a number c; None for any other expression."""
    match tree:
        case Operation("/", left, Application("log", arg)) if (c := _constant(left)) is not None:
            return c, arg
        case Operation(
            "/", left, Operation("*", factor, Application("log", arg)) | Operation("*", Application("log", arg), factor)
        ) if (c := _constant(left)) is not None and (d := _constant(factor)):
            return c / d, arg
        case Operation("/", left, right) if (d := _constant(right)) and (found := _logarithm(left)) is not None:
            return found[0] / d, found[1]
        case Operation("*", left, right) | Operation("*", right, left) if (c := _constant(left)) is not None and (
            found := _logarithm(right)
        ) is not None:
            return c * found[0], found[1]
    return None


def _constant(tree: Expression) -> Fraction | None:
    """Return the value of an expression without variables and functions; None for any other expression."""
    found = Arith(tree)
    return None if found.variables or found.irrational else found.evaluate()
