"""SMT-LIB 2 queries that sums of coordinates lie in their spans, for programs and hard-attention models (see
`programs.smt`): in their bounds, lattices, shares and isolated zeros.

A *share* is queried like a lattice, by identities of polynomials. That its denominators are, by name, those of its
parts is checked while the query is written, since it is no numerical fact. An *isolated zero* of a part is assumed
as a choice: the number is its base, or at least as far from it as one of the functions. The same holds for an end
of a span on a lattice: numbers are at least one step, divided by the largest product of denominators, away from it.
The query then checks that the sum has its isolated zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hardsim.network.numbers import Rational
from hardsim.proof.programs.lattice import (
    Domains,
    IsolatedZero,
    NumberSpan,
    Share,
    common_step,
    content,
    plus,
    positive,
)
from hardsim.proof.programs.lattice import times as product
from hardsim.proof.programs.shares import isolated_of, share_of, shown_away
from hardsim.proof.programs.smt_rows import FractionTerm, added, differ, less, steps_of, whole
from hardsim.proof.shared.ratios import Ratio, Value, simplest
from hardsim.proof.shared.smt import both, either, number, ratio, times, total

Part = tuple[Rational, NumberSpan]
"""Part of a sum: a factor, and the span of the number that it multiplies."""


def ends(parts: Iterable[Part], bias: Rational = 0) -> tuple[FractionTerm, FractionTerm]:
    """Return the least and the largest value of a linear form, from the ends of its parts."""
    low, high = [FractionTerm.of(bias)], [FractionTerm.of(bias)]
    for c, span in parts:
        below, above = (span.low, span.high) if c > 0 else (span.high, span.low)
        low.append(FractionTerm.of(c) * FractionTerm.of(below))
        high.append(FractionTerm.of(c) * FractionTerm.of(above))
    return added(low), added(high)


def beyond(span: NumberSpan, parts: Sequence[Part], bias: Rational = 0) -> list[str]:
    """Return formulas that are true if a linear form leaves the bounds of a span."""
    low, high = ends(parts, bias)
    least, largest = FractionTerm.of(span.low), FractionTerm.of(span.high)
    found = [] if low == least else less(low, least).below_0
    return found + ([] if high == largest else less(largest, high).below_0)


def off_lattice(span: NumberSpan, parts: Sequence[Part], bias: Rational = 0) -> list[str]:
    """Return formulas that are true if a linear form leaves the lattice of a span."""
    if span.step is None:
        return []
    wrong = ["true" for c, part in parts if c and part.step is None]
    offset: Value = bias
    texts = [FractionTerm.of(bias)]
    for c, part in parts:
        offset = plus(offset, product(part.offset, c))
        texts.append(FractionTerm.of(c) * FractionTerm.of(part.offset))
        if part.step is not None and part.step != 0:
            text, none = whole(product(part.step, c), span.step)
            wrong += [*none, *differ([(FractionTerm.of(c) * FractionTerm.of(part.step), text)])]
    text, none = whole(plus(offset, product(span.offset, -1)), span.step)
    return [*wrong, *none, *differ([(added(texts), added([FractionTerm.of(span.offset), text]))])]


def outside(span: NumberSpan, parts: Sequence[Part], bias: Rational = 0) -> list[str]:
    """Return formulas that are true if a linear form leaves a span: its bounds, lattice or share."""
    if len(parts) == 1 and parts[0] == (1, span) and not bias:
        return []
    share = [] if span.share is None else off_share(span.share, parts, bias)
    # Only a mean that `ReadQueries.share` checks is 1/m; a sum is not.
    most = ["true"] if span.most is not None else []
    return [*beyond(span, parts, bias), *off_lattice(span, parts, bias), *share, *most]


def number_in(name: str, span: NumberSpan) -> list[str]:
    """Return declarations of a number of a span, with its lattice if that is the same everywhere."""
    lines = [f"(declare-const {name} Real)"]
    lines.append(f"(assert (and (<= {ratio(span.low)} {name}) (<= {name} {ratio(span.high)})))")
    if span.step is None or isinstance(span.step, Ratio) or isinstance(span.offset, Ratio):
        return lines
    where = total([number(span.offset), *([times(span.step, f"(to_real {name}z)")] if span.step else [])])
    return [f"(declare-const {name}z Int)", *lines, f"(assert (= {name} {where}))"]


# ---- shares ----


def off_share(share: Share, parts: Sequence[Part], bias: Rational = 0) -> list[str]:
    """Return formulas that are true if a linear form leaves a share."""
    powers = {one.name: one.power for one in share.denominators}
    some = list[Part]()
    for c, span in parts:
        own = share_of(span)
        if own is None or any(one.power > powers.get(one.name, 0) for one in own.denominators):
            # A part without a share, or with another denominator, takes the sum off the share.
            return ["true"]
        some.append((c, NumberSpan(0, 0, own.offset, own.step)))
    return off_lattice(NumberSpan(0, 0, share.offset, share.step), some, bias)


def least_step(share: Share) -> Value:
    """Return the least difference of two numbers of a share that differ."""
    found: Value = simplest(Ratio.of(share.step) / share.product)
    return found


# ---- isolated zeros ----


def beside(zero: IsolatedZero, scale: Value = 1) -> list[str]:
    """Return the ends of the nearest possible numbers other than the base of an isolated zero, as terms; the
    distances are multiplied by `scale`."""
    return [ratio(plus(zero.base, product(product(one, scale), zero.sign))) for one in zero.apart]


def granted(zero: IsolatedZero, name: str) -> str:
    """Return an assertion that a number is the base of an isolated zero, or beyond one of its distances."""
    far = (f"(<= {end} {name})" if zero.sign > 0 else f"(<= {name} {end})" for end in beside(zero))
    return f"(assert {either((f'(= {name} {ratio(zero.base)})', *far))})"


def between(zero: IsolatedZero, name: str, scale: Value = 1) -> list[str]:
    """Return formulas that are true if a number is on the wrong side of an isolated zero's base, or too near to it."""
    base = ratio(zero.base)
    if not zero.sign:
        return [f"(not (= {name} {base}))"]
    pairs = [(name, end) if zero.sign > 0 else (end, name) for end in (base, *beside(zero, scale))]
    # The base itself bounds the number from one side; the other ends only count off the base.
    (one, other), *rest = pairs
    return [f"(< {one} {other})", both((f"(not (= {name} {base}))", *(f"(< {a} {b})" for a, b in rest)))]


def number_of(name: str, span: NumberSpan, domains: Domains) -> tuple[list[str], list[str]]:
    """Return declarations of a number of a span with its isolated zeros, and formulas that are true if an end of
    the span is no isolated zero of its share."""
    lines, wrong, share = number_in(name, span), list[str](), share_of(span)
    for zero in isolated_of(span, domains) if not span.exact else ():
        lines.append(granted(zero, name))
        if zero not in span.isolated and share is not None:
            wrong += off_share(Share(zero.base, share.step, share.denominators), [(1, span)])
    return lines, wrong


def number_through(name: str, span: NumberSpan, goal: Rational, domains: Domains) -> tuple[list[str], list[str]]:
    """Return an assertion that a number of a share is a given one (`goal`) or apart from it, and formulas that are
    true if the step used does not serve both."""
    share = share_of(span)
    step = None if share is None else common_step([share.step, content(plus(share.offset, -goal))])
    if share is None or step is None or step == 0:
        return [], []
    finer = Share(goal, step, share.denominators)
    zeros = [IsolatedZero(goal, sign, (least_step(finer),)) for sign in (1, -1)]
    # A distance that may be 0 would assume nothing.
    if not positive(zeros[0].apart[0], domains):
        return [], []
    some = [f"(= {name} {number(goal)})", f"(<= {beside(zeros[0])[0]} {name})", f"(<= {name} {beside(zeros[1])[0]})"]
    return [f"(assert {either(some)})"], off_share(finer, [(1, span)])


def off_zeros(
    span: NumberSpan, parts: Sequence[Part], domains: Domains, bias: Rational = 0, scale: Value = 1
) -> tuple[list[str], list[str]]:
    """Return declarations of the parts of a sum, and formulas that are true if the sum lacks the isolated zeros of
    a span. For a value of a mean, distances are multiplied by `scale`."""
    if not span.isolated or (scale == 1 and len(parts) == 1 and parts[0] == (1, span) and not bias):
        return [], []
    lines, wrong, terms = list[str](), list[str](), list[str]()
    for k, (c, part) in enumerate(parts):
        own, none = number_of(f"x{k}", part, domains)
        lines += own
        wrong += none
        terms.append(times(c, f"x{k}"))
    lines.append(f"(define-fun x () Real {total([*terms, *([number(bias)] if bias else [])])})")
    for zero in span.isolated:
        own, none = on_lattice(zero, parts, bias, scale)
        lines += own
        wrong += none
    return lines, [*wrong, *(one for zero in span.isolated for one in between(zero, "x", scale))]


def on_lattice(zero: IsolatedZero, parts: Sequence[Part], bias: Rational, scale: Value) -> tuple[list[str], list[str]]:
    """Return assertions that a sum on a lattice through a base is that base or apart from it, and formulas that are
    true if it is not on that lattice. Positions, for example, differ by integers."""
    if not any(isinstance(span.offset, Ratio) and "j" in span.offset.names for _, span in parts):
        return [], []
    denominators = {one.name: one for _, span in parts for one in (share_of(span) or Share(0, 0, ())).denominators}
    lines, wrong = list[str](), list[str]()
    for least in zero.apart:
        share = Share(zero.base, 1, tuple(denominators.values()))
        finer = replace(share, step=product(product(least, scale), share.product))
        none = off_share(finer, parts, bias)
        if "true" not in none:
            far = [beside(replace(zero, sign=sign, apart=(least,)), scale)[0] for sign in (1, -1)]
            some = [f"(= x {ratio(zero.base)})", f"(<= {far[0]} x)", f"(<= x {far[1]})"]
            lines.append(f"(assert {either(some)})")
            wrong += none
    return lines, wrong


# ---- distances ----


def number_away(name: str, span: NumberSpan, value: Rational, domains: Domains) -> tuple[list[str], list[str]]:
    """Return declarations of a number of a span, with the share or the isolated zero that keeps it away from a
    value, and formulas that are true if the span does not have these."""
    numbers = span.step and not isinstance(span.step, Ratio) and not isinstance(span.offset, Ratio)
    shown = None if numbers or span.exact else shown_away(span, value, domains)
    if shown is None:
        return number_in(name, span), []
    if shown.share is None:
        return number_of(name, span, domains)
    lines = [*number_in(name, NumberSpan(span.low, span.high)), *steps_of(f"{name}d", least_step(shown.share))]
    lines.append(f"(assert (= {name} (+ {ratio(shown.share.offset)} {name}d)))")
    return lines, off_share(shown.share, [(1, span)])


# ---- in words ----


def zero(span: NumberSpan) -> bool:
    """Return True if the span is the number 0."""
    return bool(span.exact and span.offset == 0)


def span_text(span: NumberSpan) -> str:
    """Return a span as text for claims."""
    if span.exact:
        return str(span.offset)
    lattice = "" if span.step is None else f", in {span.offset} + {span.step} Z"
    if span.share is not None:
        names = " ".join(f"{'.'.join(map(str, one.name))}^{one.power}" for one in span.share.denominators)
        lattice += f", in {span.share.offset} + {span.share.step} Z over the counts {names}"
    return f"from {span.low} to {span.high}{lattice}{'' if span.most is None else f', 1/m for m up to {span.most}'}"


def zeros_text(span: NumberSpan) -> str:
    """Return the isolated zeros of a span as text for claims."""
    some = (
        f"{zero.base} or {'above' if zero.sign > 0 else 'below'} it by {' or '.join(map(str, zero.apart))}"
        for zero in span.isolated
    )
    return "; ".join(some)
