"""Deliberate mistakes in the rules of ties: the random models must find each of them.

Without this, a test that checks claims on words might pass because no model meets the rule in question.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any

import pytest

from hardsim.proof.programs import lattice, law, rows, shares, types
from hardsim.proof.programs.lattice import (
    Denominator,
    Domains,
    IsolatedZero,
    NumberSpan,
    Share,
    common_step,
    multiple,
    plus,
    positive,
    times,
)
from hardsim.proof.programs.places import Seen, World
from hardsim.proof.programs.rows import Difference, Row, ScoreRows
from hardsim.proof.programs.types import TypedRows
from hardsim.proof.shared.ratios import Ratio, Value
from tests.proof.programs.test_ties import law_of_seed
from tests.support.model import Head, Mask, ProgramLayer, Rational
from tests.support.tied_truth import Wrong

Patch = pytest.MonkeyPatch
MOST = 600
"""Number of models to try before a mistake counts as not found."""
MISTAKES: dict[str, tuple[int, Callable[[Patch], None]]] = {}
"""By name: the seed of a model that finds the mistake, so that no other need be tried, and the mistake."""


def mistake(seed: int) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Register a function that makes a mistake; `seed` is the model that finds it."""

    def known(make: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MISTAKES[make.__name__] = seed, make
        return make

    return known


# ---- rows ----


@mistake(1)
def a_lattice_takes_the_largest_of_its_steps(patch: Patch) -> None:
    def largest(steps: Iterable[Value | None]) -> Value | None:
        some = list(steps)
        known = [step for step in some if step is not None and not isinstance(step, Ratio)]
        return max(known) if known and len(known) == len(some) else common_step(some)

    patch.setattr(rows, "common_step", largest)


@mistake(53)
def keys_of_unknown_order_are_below_the_known_set(patch: Patch) -> None:
    def winners(self: ScoreRows, pairs: Mapping[tuple[int, int], Difference]) -> tuple[int, ...]:
        single = [number for number, group in enumerate(self.groups) if group.single]
        for a in single:
            tied = [a, *(b for b in single if (a, b) in pairs and pairs[a, b].sign == 0)]
            if len(tied) > 1 and not any(d.sign == -1 for (one, _), d in pairs.items() if one == a):
                return tuple(sorted(self.groups[b].places[0] for b in tied))
        return ()

    patch.setattr(ScoreRows, "_winners", winners)


@mistake(26)
def a_query_that_may_be_0_is_away_from_it(patch: Patch) -> None:
    away = shares.away

    def wrong(span: NumberSpan, value: Rational, domains: Domains) -> tuple[Value, ...]:
        return away(span, value, domains) or (() if value else shares.apart_from_zero(span, domains))

    patch.setattr(shares, "away", wrong)


@mistake(72)
def a_query_off_the_lattice_of_0_is_0_or_a_step_away(patch: Patch) -> None:
    def wrong(span: NumberSpan, domains: Domains) -> tuple[Value, ...]:
        share = shares.share_of(span)
        return () if share is None or not share.step else (shares._over(share.step, share.product),)

    patch.setattr(shares, "apart_from_zero", wrong)


@mistake(1)
def the_gap_of_a_product_forgets_the_step_of_the_keys(patch: Patch) -> None:
    product = ScoreRows._product

    def wrong(self: ScoreRows, visible: Value) -> Row | None:
        row = product(self, visible)
        if row is None or row.product is None or not row.product.keys.step:
            return row
        return replace(row, gaps=tuple(shares._over(gap, row.product.keys.step) for gap in row.gaps))

    patch.setattr(ScoreRows, "_product", wrong)


@mistake(1)
def the_sign_of_a_query_makes_any_maximum_unique(patch: Patch) -> None:
    patch.setattr(ScoreRows, "_extreme", lambda self, keys, sign: True)


@mistake(40)
def the_largest_key_alone_makes_the_maximum_unique(patch: Patch) -> None:
    extreme = ScoreRows._extreme
    patch.setattr(ScoreRows, "_extreme", lambda self, keys, sign: extreme(self, keys, 1))


@mistake(1)
def an_extreme_key_may_be_reached_by_others(patch: Patch) -> None:
    def wrong(self: ScoreRows, keys: Mapping[int, NumberSpan], sign: int) -> bool:
        return any(span.exact and order != 2 for order, span in keys.items())

    patch.setattr(ScoreRows, "_extreme", wrong)


# ---- types ----


@mistake(4)
def the_best_type_is_always_present(patch: Patch) -> None:
    patch.setattr(TypedRows, "surest", lambda self, levels: len(levels) - 1)


@mistake(1)
def a_type_has_one_position(patch: Patch) -> None:
    patch.setattr(TypedRows, "single", lambda self, level: True)


@mistake(1)
def the_place_of_the_best_type_is_always_of_it(patch: Patch) -> None:
    patch.setattr(TypedRows, "_elsewhere", lambda self, order, levels: order not in self.seen)


@mistake(1)
def what_a_head_reads_is_a_mean_of_one_type(patch: Patch) -> None:
    attended = types.attended_types

    def wrong(layer: ProgramLayer, number: int, before: Any, rows: Any, *rest: Any) -> Any:
        alone = {
            name: {order: replace(row, unique=True, winner=None) for order, row in some.items()}
            for name, some in rows.items()
        }
        return attended(layer, number, before, alone, *rest)

    patch.setattr(law, "attended_types", wrong)


# ---- denominators ----


@mistake(14)
def no_mask_is_enough_for_a_denominator_everywhere(patch: Patch) -> None:
    patch.setattr(law._Derivation, "_alike", lambda self, head: head.mask is Mask.NONE)


@mistake(1)
def one_query_is_enough_for_a_denominator_everywhere(patch: Patch) -> None:
    alike = law._Derivation._alike
    patch.setattr(law._Derivation, "_alike", lambda self, head: alike(self, replace(head, mask=Mask.NONE)))


@mistake(115)
def queries_of_the_ends_may_differ_from_the_others(patch: Patch) -> None:
    constant = law._Derivation._constant_inputs

    def wrong(self: Any, columns: Any) -> set[str]:
        order = max(place.order for place in self.world.places if place.order < 3)
        return constant(self, {name: {order: spans[order]} for name, spans in columns.items()})

    patch.setattr(law._Derivation, "_constant_inputs", wrong)


@mistake(669)
def what_hidden_units_write_is_the_same_everywhere(patch: Patch) -> None:
    still = law._Derivation._still_constant
    patch.setattr(law._Derivation, "_still_constant", lambda self, layer: still(self, replace(layer, units=())))


@mistake(101)
def what_heads_write_is_the_same_everywhere(patch: Patch) -> None:
    still = law._Derivation._still_constant
    patch.setattr(law._Derivation, "_still_constant", lambda self, layer: still(self, replace(layer, heads=())))


def counted_by(kind: Callable[[Head], object]) -> Callable[..., dict[str, tuple[str, bool]]]:
    """Return a mistake that uses one denominator for all heads of a kind."""
    counted = law._Derivation._counted

    def wrong(self: Any, layer: ProgramLayer) -> dict[str, tuple[str, bool]]:
        found: dict[str, tuple[str, bool]] = counted(self, layer)
        first = {kind(head): found[head.name] for head in reversed(layer.heads) if head.name in found}
        return {head.name: first[kind(head)] for head in layer.heads if head.name in found}

    return wrong


@mistake(7)
def all_heads_of_a_mask_have_one_denominator(patch: Patch) -> None:
    patch.setattr(law._Derivation, "_counted", counted_by(lambda head: head.mask))


@mistake(46)
def all_heads_of_a_score_have_one_denominator(patch: Patch) -> None:
    patch.setattr(law._Derivation, "_counted", counted_by(lambda head: head.score))


@mistake(39)
def what_is_read_elsewhere_keeps_its_denominators(patch: Patch) -> None:
    for room in (shares, law):
        patch.setattr(room, "read_through", lambda span, via: span)


@mistake(1)
def sums_forget_denominators_of_other_heads(patch: Patch) -> None:
    union = shares.union
    patch.setattr(shares, "union", lambda some, domains: (union(some, domains) or ())[:1] or None)


@mistake(13)
def only_one_denominator_counts_in_a_product(patch: Patch) -> None:
    def wrong(self: Share) -> Value:
        return self.denominators[0].most if self.denominators else 1

    patch.setattr(Share, "product", property(wrong))


@mistake(1)
def a_denominator_is_below_the_number_of_visible_positions(patch: Patch) -> None:
    tied = shares.tied_mean

    def wrong(span: NumberSpan, head: Denominator, count: Value, domains: Domains) -> NumberSpan:
        return tied(span, replace(head, most=plus(head.most, -1)), count, domains)

    patch.setattr(law, "tied_mean", wrong)


@mistake(39)
def means_of_means_of_other_denominators_have_a_share(patch: Patch) -> None:
    def everywhere(span: NumberSpan) -> NumberSpan:
        if span.share is None:
            return span
        some = tuple(replace(one, everywhere=True) for one in span.share.denominators)
        return replace(span, share=replace(span.share, denominators=some))

    tied = shares.tied_mean
    patch.setattr(law, "tied_mean", lambda span, *rest: tied(everywhere(span), *rest))


@mistake(39)
def full_means_of_means_of_other_denominators_have_a_share(patch: Patch) -> None:
    def wrong(mean: NumberSpan, span: NumberSpan, count: Value, domains: Domains) -> NumberSpan:
        share = span.share
        return replace(mean, share=None if share is None else replace(share, step=shares._over(share.step, count)))

    patch.setattr(law, "full_mean", wrong)


@mistake(39)
def full_means_keep_their_step(patch: Patch) -> None:
    def wrong(mean: NumberSpan, span: NumberSpan, count: Value, domains: Domains) -> NumberSpan:
        return mean if mean.step is not None else replace(mean, share=span.share)

    patch.setattr(law, "full_mean", wrong)


# ---- lattices of shares ----


@mistake(1)
def sums_take_the_largest_of_their_steps(patch: Patch) -> None:
    def wrong(offset: Value, steps: Iterable[Value | None], denominators: Any, domains: Domains) -> Share | None:
        some, every = list(steps), shares.union(denominators, domains)
        known = [step for step in some if step is not None and not isinstance(step, Ratio)]
        return Share(offset, max(known), every) if known and len(known) == len(some) and every is not None else None

    patch.setattr(shares, "_shared", wrong)


@mistake(1)
def sums_forget_factors(patch: Patch) -> None:
    times_step = lattice.times_step
    patch.setattr(shares, "times_step", lambda step, factor: times_step(step, 1))


@mistake(217)
def offsets_may_differ_from_place_to_place(patch: Patch) -> None:
    def wrong(spans: Sequence[NumberSpan], domains: Domains) -> Share | None:
        some = [share for span in spans if (share := shares.share_of(span)) is not None]
        if len(some) < len(spans):
            return None
        every = chain.from_iterable(share.denominators for share in some)
        return shares._shared(some[0].offset, [share.step for share in some], every, domains)

    patch.setattr(shares, "_common_share", wrong)


@mistake(10)
def offsets_may_differ_from_key_to_key(patch: Patch) -> None:
    def wrong(offset: Value, step: Value, reach: Seen) -> tuple[Value, Value | None]:
        return reach.at(offset, reach.low), reach.at(step, reach.low)

    patch.setattr(shares, "_seen_lattice", wrong)


@mistake(1)
def a_relu_of_a_share_keeps_its_step(patch: Patch) -> None:
    patch.setattr(shares, "_through", lambda share, *values: share and replace(share, offset=0))


@mistake(18)
def a_clip_of_a_share_forgets_1(patch: Patch) -> None:
    through = shares._through
    patch.setattr(shares, "_through", lambda share, *values: through(share, 0))


# ---- isolated zeros ----


@mistake(1)
def zeros_of_both_signs_add_up(patch: Patch) -> None:
    def wrong(zeros: Sequence[tuple[tuple[IsolatedZero, ...], Rational]], sign: int, bias: Rational) -> Any:
        base: Value = bias
        apart: list[Value] = []
        for some, factor in zeros:
            if not some:
                return None
            base = plus(base, times(some[0].base, factor))
            apart += [times(least, abs(Fraction(factor))) for least in some[0].apart]
        return IsolatedZero(base, sign, tuple(apart)) if apart else None

    patch.setattr(shares, "_one_sided", wrong)


@mistake(1)
def a_mean_keeps_the_distance_of_a_zero(patch: Patch) -> None:
    patch.setattr(shares, "_divided", lambda zero, count: zero)


@mistake(1)
def a_relu_keeps_a_zero(patch: Patch) -> None:
    patch.setattr(shares, "_relu_of_zero", lambda zero, domains: zero)


@mistake(1)
def a_relu_of_a_zero_below_0_keeps_its_distance(patch: Patch) -> None:
    relu = shares._relu_of_zero

    def wrong(zero: IsolatedZero, domains: Domains) -> IsolatedZero | None:
        found = relu(zero, domains)
        return None if found is None else replace(found, apart=zero.apart)

    patch.setattr(shares, "_relu_of_zero", wrong)


@mistake(36)
def zeros_of_other_bases_are_one(patch: Patch) -> None:
    def wrong(zeros: Sequence[tuple[IsolatedZero, ...]], sign: int, domains: Domains) -> IsolatedZero | None:
        some = [next((zero for zero in each if zero.sign in (0, sign)), None) for each in zeros]
        known = [zero for zero in some if zero is not None]
        apart = tuple(dict.fromkeys(least for zero in known for least in zero.apart))
        return IsolatedZero(known[0].base, sign, apart) if len(known) == len(some) and apart else None

    patch.setattr(shares, "_common_zero", wrong)


@mistake(1)
def a_zero_forgets_its_denominators(patch: Patch) -> None:
    def wrong(span: NumberSpan, domains: Domains) -> tuple[IsolatedZero, ...]:
        if span.exact:
            return (IsolatedZero(span.offset, 0, ()),)
        share = shares.share_of(span)
        if share is None:
            return span.isolated
        if not positive(share.step, domains):
            return span.isolated
        stored = {zero.sign for zero in span.isolated}
        some = tuple(
            IsolatedZero(end, sign, (share.step,))
            for end, sign in ((span.low, 1), (span.high, -1))
            if sign not in stored and multiple(plus(share.offset, times(end, -1)), share.step)
        )
        return (*span.isolated, *some)

    patch.setattr(shares, "isolated_of", wrong)


# ---- distances ----


def first_rest(steps: Callable[[Value, Value, Fraction], Value]) -> Callable[[Value, Value], Any]:
    """Return a mistake in the distance of an offset from its limit, which `steps` computes."""

    def found(offset: Value, step: Value) -> Any:
        yield offset, step
        limit = shares._limit(offset) if isinstance(offset, Ratio) else None
        if limit:
            yield plus(offset, -limit), steps(offset, step, limit)

    return found


@mistake(7)
def a_mean_of_booleans_against_a_half_has_step_1(patch: Patch) -> None:
    patch.setattr(shares, "splits", first_rest(lambda offset, step, limit: step))


@mistake(7)
def a_share_is_as_far_away_as_its_offset(patch: Patch) -> None:
    away = shares._away_from_share

    def wrong(share: Share, value: Rational, domains: Domains) -> tuple[Value, ...]:
        for rest, _ in shares.splits(plus(share.offset, -value), share.step):
            for sign in (1, -1):
                if positive(times(rest, sign), domains):
                    return (times(rest, sign),)
        return away(share, value, domains)

    patch.setattr(shares, "_away_from_share", wrong)


@mistake(68)
def a_share_is_a_step_away(patch: Patch) -> None:
    away = shares._away_from_share

    def wrong(share: Share, value: Rational, domains: Domains) -> tuple[Value, ...]:
        found = away(share, value, domains)
        return found[1:] if len(found) > 1 else found

    patch.setattr(shares, "_away_from_share", wrong)


@mistake(455)
def an_isolated_zero_is_as_far_away_as_its_base(patch: Patch) -> None:
    away = shares._away_from_zero

    def wrong(zero: IsolatedZero, value: Rational, domains: Domains) -> tuple[Value, ...]:
        return away(zero, value, domains)[:1]

    patch.setattr(shares, "_away_from_zero", wrong)


@mistake(1)
def the_beginning_of_the_sequence_is_not_counted(patch: Patch) -> None:
    count = World.count
    patch.setattr(
        law._Derivation,
        "_read",
        _reading_with(lambda world, query, mask: plus(count(world, query, mask), -int(world.bos and query.order > 0))),
    )


def _reading_with(count: Callable[[Any, Any, Mask], Value]) -> Callable[..., NumberSpan]:
    read = law._Derivation._read

    def wrong(self: Any, *arguments: Any) -> NumberSpan:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(World, "count", count)
            found: NumberSpan = read(self, *arguments)
            return found

    return wrong


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed, make = MISTAKES[name]
    make(monkeypatch)
    for other in (seed, *range(MOST)):
        try:
            law_of_seed(other)
        except Wrong:
            return
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
            continue
    pytest.fail("no model finds the mistake")
