"""Shares and isolated zeros: facts about numbers that a head with ties reads (ours).

The mean of values in `o + s Z` over m tied positions lies in `o + s/m Z`. The integer m differs from word to word;
only `1 <= m <= M` is known. A *share* keeps such denominators by name, so that sums of means over the same
positions have one denominator and not its square. Rules:

 - Sums: offsets add up; a common step serves all terms; a denominator of several terms counts once, with its largest
   power, since one name at one position is one integer.
 - Reading: a denominator that is the same everywhere keeps its name. Any other one belongs to the position where the
   number stood, and is renamed after the head, or the position, that the number came through.
 - Tied means: values with one offset and step, all of whose denominators are the same everywhere, gain the
   denominator of the head. If a denominator differed from key to key, the mean would be on no known lattice.
 - max(x, 0) of a share: a share through 0 with a step that divides the offset too.

A sum of means with different denominators may be on no useful lattice, and yet known to avoid 0 from one side: with
`x = b + z`, `z = 0` or `z >= d`, a mean of V such numbers is b, or at least d/V away from it, whatever its
denominator. This is an *isolated zero*. Sums need one sign; their d is the least of all.

`away` derives from both how far a number stays from a threshold t: if `x - t` is in `w + s/(m_1^e_1 ...) Z` with w
of one sign and `|w| < s/(M_1^e_1 ...)`, then `|x - t| >= min(|w|, s/(M_1^e_1 ...) - |w|)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from hardsim.network.numbers import Rational
from hardsim.proof.programs import lattice
from hardsim.proof.programs.lattice import (
    Denominator,
    DenominatorName,
    Domains,
    IsolatedZero,
    NumberSpan,
    Share,
    common_step,
    content,
    finer_steps,
    greatest,
    multiple,
    nonnegative,
    plus,
    positive,
    remainder,
    times,
    times_step,
)
from hardsim.proof.programs.places import Seen
from hardsim.proof.shared.ratios import NAMES, Ratio, Value, simplest
from hardsim.proof.shared.result import NotProved

SIGNS = (1, -1)


def share_of(span: NumberSpan) -> Share | None:
    """Return the share of a span; a lattice is a share without denominators. None if the span has neither."""
    return Share(span.offset, span.step, ()) if span.step is not None else span.share


def isolated_of(span: NumberSpan, domains: Domains) -> tuple[IsolatedZero, ...]:
    """Return the isolated zeros of a span, at most one of each sign: the stored ones, or else those at its ends. If
    an end b lies in the share, each number of the span is b or at least s/(M ...) away from b."""
    if span.exact:
        return (IsolatedZero(span.offset, 0, ()),)
    share = share_of(span)
    stored = {zero.sign for zero in span.isolated}
    least = None if share is None else _over(share.step, share.product)
    # Without a positive distance an end tells nothing about other numbers.
    if share is None or least is None or not positive(least, domains):
        return span.isolated
    ends = ((span.low, 1), (span.high, -1))
    derived = (
        IsolatedZero(end, sign, (least,))
        for end, sign in ends
        if sign not in stored and multiple(plus(share.offset, _minus(end)), share.step)
    )
    return (*span.isolated, *derived)


def _over(value: Value, divisor: Value) -> Value:
    return value if divisor == 1 else simplest(Ratio.of(value) / divisor)


def _minus(value: Value) -> Value:
    return times(value, -1)


def known(spans: Iterable[NumberSpan]) -> bool:
    """Return True if one of the spans has a share or an isolated zero."""
    return any(span.share is not None or span.isolated for span in spans)


# ---- sums ----


def linear(terms: Iterable[tuple[NumberSpan, Rational]], domains: Domains, bias: Rational = 0) -> NumberSpan:
    """Return the span of a linear combination of numbers at one position, with its share and isolated zeros."""
    some = [(span, factor) for span, factor in terms if factor]
    found = lattice.linear(some, bias)
    if not known(span for span, _ in some) or found.share is not None or found.isolated:
        return found
    # A lattice is better than a share: it has no denominators.
    share = None if found.step is not None else _sum_of_shares(some, domains, bias)
    return replace(found, share=share, isolated=_sum_of_zeros(some, domains, bias))


def _sum_of_shares(terms: Sequence[tuple[NumberSpan, Rational]], domains: Domains, bias: Rational) -> Share | None:
    offset: Value = bias
    steps: list[Value | None] = []
    denominators: list[Denominator] = []
    for span, factor in terms:
        share = share_of(span)
        if share is None:
            return None
        offset = plus(offset, times(share.offset, factor))
        steps.append(times_step(share.step, factor))
        denominators += share.denominators
    return _shared(offset, steps, denominators, domains)


def union(denominators: Iterable[Denominator], domains: Domains) -> tuple[Denominator, ...] | None:
    """Unite denominators: each name once, with its largest power and its largest bound. None if it is not known
    which bound of a name is the largest. (Two bounds of one name differ if, for example, a head read from the first
    position or from another one.)"""
    found: dict[DenominatorName, Denominator] = {}
    for one in denominators:
        known = found.setdefault(one.name, one)
        if one != known:
            try:
                most = greatest([one.most, known.most], domains)
            except NotProved:
                return None
            found[one.name] = replace(one, power=max(one.power, known.power), most=most)
    return tuple(found.values())


def _shared(
    offset: Value, steps: Iterable[Value | None], denominators: Iterable[Denominator], domains: Domains
) -> Share | None:
    """Return a share with a common step of the given ones; None if there is none."""
    step, every = common_step(steps), union(denominators, domains)
    return None if step is None or every is None else Share(offset, step, every)


def _sum_of_zeros(
    terms: Sequence[tuple[NumberSpan, Rational]], domains: Domains, bias: Rational
) -> tuple[IsolatedZero, ...]:
    zeros = [(isolated_of(span, domains), factor) for span, factor in terms]
    return tuple(found for sign in SIGNS if (found := _one_sided(zeros, sign, bias)) is not None)


def _one_sided(
    zeros: Sequence[tuple[tuple[IsolatedZero, ...], Rational]], sign: int, bias: Rational
) -> IsolatedZero | None:
    """Return the isolated zero of a sum, with this sign; None if one term has no isolated zero in that direction."""
    base: Value = bias
    apart: list[Value] = []
    for some, factor in zeros:
        # A negative factor turns the side on which numbers lie.
        own = sign if factor > 0 else -sign
        fitting = next((zero for zero in some if zero.sign in (0, own)), None)
        if fitting is None:
            return None
        base = plus(base, times(fitting.base, factor))
        apart += [times(least, abs(Fraction(factor))) for least in fitting.apart]
    return IsolatedZero(base, sign, tuple(dict.fromkeys(apart))) if apart else None


# ---- one of several ----


def hull(spans: Sequence[NumberSpan], domains: Domains) -> NumberSpan:
    """Return a span that contains every number of several spans, at one position."""
    found = lattice.hull(spans, domains)
    if not known(spans) or found.share is not None or found.isolated:
        return found
    share = None if found.step is not None else _common_share(spans, domains)
    zeros = [isolated_of(span, domains) for span in spans]
    isolated = tuple(zero for sign in SIGNS if (zero := _common_zero(zeros, sign, domains)) is not None)
    return replace(found, share=share, isolated=isolated)


def _common_share(spans: Sequence[NumberSpan], domains: Domains) -> Share | None:
    shares = [share_of(span) for span in spans]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return None
    first = known[0].offset
    apart = [content(plus(share.offset, _minus(first))) for share in known]
    steps = [*(share.step for share in known), *apart]
    return _shared(first, steps, (one for share in known for one in share.denominators), domains)


def _common_zero(zeros: Sequence[tuple[IsolatedZero, ...]], sign: int, domains: Domains) -> IsolatedZero | None:
    """Return one isolated zero that fits several spans; a span with a farther base is that much apart from the
    common base."""
    some = [next((zero for zero in each if zero.sign in (0, sign)), None) for each in zeros]
    known = [zero for zero in some if zero is not None]
    if len(known) < len(some):
        return None
    # Each base is tried as the common one: all others must lie beyond it.
    for first in known:
        apart: dict[Value, None] = {}
        for zero in known:
            beyond = times(plus(zero.base, _minus(first.base)), sign)
            if beyond != 0 and not positive(beyond, domains):
                break
            apart |= dict.fromkeys([beyond] if beyond != 0 else zero.apart)
        else:
            return IsolatedZero(first.base, sign, tuple(apart)) if apart else None
    return None


# ---- hidden units ----


def relu(span: NumberSpan, domains: Domains) -> NumberSpan:
    """Return the span of max(x, 0), with its share and isolated zeros."""
    found = lattice.relu(span, domains)
    if not known([span]) or found is span or found.exact:
        return found
    share = None if found.step is not None else _through(share_of(span), 0)
    zeros = (_relu_of_zero(zero, domains) for zero in isolated_of(span, domains))
    return replace(found, share=share, isolated=tuple(zero for zero in zeros if zero is not None))


def _through(share: Share | None, *values: Rational) -> Share | None:
    """Return a share with offset 0 that contains the given share and the given values; None if there is none."""
    if share is None:
        return None
    step = common_step([share.step, content(share.offset), *map(content, values)])
    return None if step is None else Share(0, step, share.denominators)


def _relu_of_zero(zero: IsolatedZero, domains: Domains) -> IsolatedZero | None:
    """Return the isolated zero of relu(b + e z). If e = 1 and b <= 0 < b + d, it is 0 or at least b + d. If b > 0,
    it is b or apart from b: by z if e = 1, by at least min(z, b) if e = -1."""
    if zero.sign == 1 and nonnegative(_minus(zero.base), domains):
        apart = tuple(plus(least, zero.base) for least in zero.apart)
        return IsolatedZero(0, 1, apart) if all(positive(least, domains) for least in apart) else None
    if not positive(zero.base, domains):
        return None
    apart = zero.apart if zero.sign == 1 else tuple(dict.fromkeys([*zero.apart, zero.base]))
    return replace(zero, apart=apart)


def clip(span: NumberSpan, domains: Domains) -> NumberSpan:
    """Return the span of min(max(x, 0), 1), with its share and isolated zeros."""
    found = lattice.clip(span, domains)
    if not known([span]) or found.step is not None:
        return found
    share = _through(share_of(span), 1)
    return replace(found, share=share, isolated=_clip_of_zeros(span, domains))


def _clip_of_zeros(span: NumberSpan, domains: Domains) -> tuple[IsolatedZero, ...]:
    """Return the isolated zeros of a clip, which is 1 - relu(1 - relu(x))."""
    upper = linear([(relu(span, domains), -1)], domains, 1)
    return linear([(relu(upper, domains), -1)], domains, 1).isolated


# ---- reading ----


def seen_from(span: NumberSpan, reach: Seen, via: str | int) -> NumberSpan:
    """Return the span of a number at any visible key j, seen from the query: a function of j becomes one of i and
    n. `via` renames its denominators (see `read_through`)."""
    low, high, offset, step = reach.least(span.low), reach.greatest(span.high), span.offset, span.step
    if step is not None:
        offset, step = _seen_lattice(offset, step, reach)
    found = NumberSpan(low, high, 0 if step is None else offset, step)
    if step is not None or not (span.step is not None or known([span])):
        return found
    # A lattice that differs from key to key is none for all of them, but zeros stay isolated.
    share = None if span.share is None else _seen_share(span.share, reach)
    some = [zero for zero in isolated_of(span, reach.domains) if "j" not in Ratio.of(zero.base).names]
    zeros = tuple(replace(zero, apart=tuple(map(reach.least, zero.apart))) for zero in some)
    return read_through(replace(found, share=share, isolated=zeros), via)


def _seen_lattice(offset: Value, step: Value, reach: Seen) -> tuple[Value, Value | None]:
    """Return offset and step of one lattice that contains the lattices at all visible j; the step is None if there
    is none."""
    if isinstance(step, Ratio) and "j" in step.names:
        return 0, None
    if not isinstance(offset, Ratio) or "j" not in offset.names:
        return offset, step
    first = reach.at(offset, reach.low)
    return first, common_step([step, content(plus(offset, _minus(first)), frozenset("j"))])


def _seen_share(share: Share, reach: Seen) -> Share | None:
    offset, step = _seen_lattice(share.offset, share.step, reach)
    if step is None:
        return None
    return Share(offset, step, tuple(replace(one, most=reach.greatest(one.most)) for one in share.denominators))


def read_through(span: NumberSpan, via: str | int) -> NumberSpan:
    """Rename the denominators of a number that is read at another position. `via` is the reading head, or the order
    of the place if the number comes from a known place."""
    share = span.share
    if share is None or all(one.everywhere for one in share.denominators):
        return span
    renamed = (one if one.everywhere else replace(one, name=(*one.name, via)) for one in share.denominators)
    return replace(span, share=replace(share, denominators=tuple(renamed)))


def same_everywhere(span: NumberSpan) -> bool:
    """Return True if all denominators of a number, if it has any, are the same at all positions of a word."""
    share = share_of(span)
    return share is None or all(one.everywhere for one in share.denominators)


def tied_mean(span: NumberSpan, head: Denominator, count: Value, domains: Domains) -> NumberSpan:
    """Return the span of the mean over the positions that share the largest score. `span` has the values at all of
    them; `head` is the denominator that counts them, and `count` bounds it."""
    share = share_of(span)
    if share is not None:
        same = all(one.everywhere for one in share.denominators)
        share = Share(share.offset, share.step, (*share.denominators, head)) if same else None
    isolated = tuple(_divided(zero, count) for zero in isolated_of(span, domains))
    return NumberSpan(span.low, span.high, 0, None, None, share, isolated)


def full_mean(mean: NumberSpan, span: NumberSpan, count: Value, domains: Domains) -> NumberSpan:
    """Return the span of the mean over all visible positions. `mean` is its span by the lattice rules, and `span`
    has the values at all positions."""
    share = span.share
    if share is not None:
        same = all(one.everywhere for one in share.denominators)
        share = Share(share.offset, _over(share.step, count), share.denominators) if same else None
    if mean.step is not None:
        return mean
    isolated = tuple(_divided(zero, count) for zero in isolated_of(span, domains))
    return replace(mean, share=share, isolated=isolated)


def _divided(zero: IsolatedZero, count: Value) -> IsolatedZero:
    """Return the isolated zero of a mean of at most `count` numbers that have this isolated zero."""
    return replace(zero, apart=tuple(_over(least, count) for least in zero.apart))


# ---- distances ----


def away(span: NumberSpan, value: Rational, domains: Domains) -> tuple[Value, ...]:
    """Return positive functions whose minimum is at most |x - value|, from the share or an isolated zero of a span;
    () if there are none."""
    share = share_of(span)
    if share is not None:
        found = _away_from_share(share, value, domains)
        if found:
            return found
    some = (_away_from_zero(zero, value, domains) for zero in isolated_of(span, domains))
    return next((found for found in some if found), ())


def splits(offset: Value, step: Value) -> Iterable[tuple[Value, Value]]:
    """Yield ways to write an offset as a multiple of a step plus a rest; each is a pair of the rest and a step that
    divides the given one. A finer step can absorb one part of the offset: its limit for long words, or all terms
    but one."""
    rest = offset if step == 0 else remainder(offset, step)
    yield rest, step
    yield from finer_steps(rest, step)
    if step != 0 and offset != 0:
        limit = _limit(Ratio.of(offset) / step)
        if limit:
            part = times(step, limit)
            # The finer step divides the part that is absorbed.
            finer = common_step([step, content(part)])
            if finer is not None:
                yield plus(offset, _minus(part)), finer


def _away_from_share(share: Share, value: Rational, domains: Domains) -> tuple[Value, ...]:
    found = _split(share, value, domains)
    if found is None:
        return ()
    size = plus(found.offset, -value)
    size = size if positive(size, domains) else _minus(size)
    return (size,) if found.step == 0 else (size, plus(_over(found.step, found.product), _minus(size)))


def _split(share: Share, value: Rational, domains: Domains) -> Share | None:
    """Return the share with a new offset such that the rest from `value` has one sign and is smaller than a step;
    None if there is none."""
    most = share.product
    for rest, step in splits(plus(share.offset, -value), share.step):
        unit = _over(step, most)
        for sign in SIGNS:
            size = times(rest, sign)
            if positive(size, domains) and (step == 0 or positive(plus(unit, _minus(size)), domains)):
                return Share(plus(rest, value), step, share.denominators)
    return None


def shown_away(span: NumberSpan, value: Rational, domains: Domains) -> NumberSpan | None:
    """Return the span with only the share, or only the isolated zero, that bounds its distance from `value` (see
    `away`); None if nothing does."""
    share = share_of(span)
    found = None if share is None else _split(share, value, domains)
    if found is not None:
        return replace(span, share=found, isolated=())
    zeros = isolated_of(span, domains)
    zero = next((zero for zero in zeros if _away_from_zero(zero, value, domains)), None)
    return None if zero is None else replace(span, share=None, isolated=(zero,))


def _away_from_zero(zero: IsolatedZero, value: Rational, domains: Domains) -> tuple[Value, ...]:
    """Return positive functions that bound |x - t| by their minimum, for a number with an isolated zero: b - t
    above t if b > t; else t - b below it, and d - (t - b) above it."""
    # A number that equals its base may be taken from either side.
    signs = SIGNS if not zero.sign else (zero.sign,)
    for sign in signs:
        off = times(plus(zero.base, -value), sign)
        if positive(off, domains):
            return (off,)
        found = (_minus(off), *(plus(least, off) for least in zero.apart))
        if zero.sign and all(positive(one, domains) for one in found):
            return found
    return ()


def _limit(value: Ratio) -> Fraction | None:
    """Return the limit of a function of n as n grows; None if it depends on more than n, or has no finite limit."""
    if value.names - {"n"}:
        return None
    place = NAMES.index("n")
    top, bottom = (
        {power[place]: Fraction(int(c.p), int(c.q)) for power, c in part.to_dict().items()}
        for part in (value.top, value.bottom)
    )
    if max(top, default=0) != max(bottom):
        return None
    return top[max(top)] / bottom[max(bottom)]


def apart_from_zero(span: NumberSpan, domains: Domains) -> tuple[Value, ...]:
    """Return positive functions whose minimum is at most |x| for every x != 0 of a span; () if there are none."""
    share = _through(share_of(span))
    if share is not None and share.step != 0:
        least = _over(share.step, share.product)
        return (least,) if positive(least, domains) else ()
    return next((zero.apart for zero in isolated_of(span, domains) if zero.base == 0 and zero.apart), ())


def shown_apart(span: NumberSpan) -> NumberSpan:
    """Return the span with the share that `apart_from_zero` uses; unchanged if it uses none."""
    share = _through(share_of(span))
    return span if share is None or share.step == 0 else replace(span, share=share)
