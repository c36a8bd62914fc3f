"""The rows of a report: the results of a check at one length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hardsim.campaign.engines import (
    MARGIN,
    SUM,
    Measured,
    Place,
)
from hardsim.campaign.preparation import (
    LengthPlan,
)
from hardsim.campaign.result import (
    FirstFailure,
    HeadResult,
    JudgedLength,
    LayerResult,
    LengthResult,
    TemperatureRange,
    Violation,
)
from hardsim.campaign.tally import COUNTS, Tally, settle
from hardsim.lang.reals import lower, upper
from hardsim.lang.words import count_words
from hardsim.sharpening.measure import HeadFacts
from hardsim.targets.external import External
from hardsim.targets.result import MPMATH
from hardsim.targets.subject import Subject

ZERO = Fraction(0)


def budget_length(
    subject: Subject,
    tally: Tally,
    engine: str,
    claimed: Mapping[str, HeadResult],
    void: Mapping[str, FirstFailure],
) -> LengthResult:
    """Return the report's row for one length of a network with a budget, with the errors beside the bounds that are
    `claimed` of its heads (`head_bounds`), of which some are `void` (`void_after`)."""
    gap, numbers = settle(tally, engine)
    errors, reached = dict.fromkeys(claimed, ZERO), tally.reached
    for place, error in numbers.items():
        if len(place) == 2 and place[0] in errors:  # the largest over the coordinates that a head writes
            errors[place[0]] = max(errors[place[0]], error)
    heads = tuple(
        replace(
            head,
            error=within(reached.get(head.name, 0), errors[head.name], head.bound),
            score_gap=tally.gaps.get(head.name),
            void=not subject.specified or head.name in void,
            void_after=void[head.name].head if head.name in void else None,
        )
        for head in claimed.values()
    )
    worst = max(heads, key=lambda head: (head.error, head.void), default=None)
    return LengthResult(
        **_counts(subject, tally),
        score_gap=min((head.score_gap for head in heads if head.score_gap is not None), default=None),
        error=max((head.error for head in heads), default=ZERO),
        bound=max((head.bound for head in heads), default=ZERO),
        digits=tally.digits,
        heads=heads,
        acceptance_gap=gap,
        margin=numbers.get(MARGIN),
        sum_error=numbers.get(SUM),
        void=worst is not None and worst.void,
        void_after=None if worst is None else worst.void_after,
    )


def judged_length(subject: External, tally: Tally, engine: str) -> JudgedLength:
    """Return the report's row for one length of an external network."""
    _, numbers = settle(tally, engine)
    margin, possible = tally.extremes.get(MARGIN), subject.possible(tally.n)
    known = tally.words - tally.failed
    # With a domain, `possible` counts only words with expected outputs.
    tried = known if subject.domain is None else known - tally.unjudged
    return JudgedLength(
        n=tally.n,
        words=known - tally.unjudged,
        unjudged=tally.unjudged,
        positions_judged=tally.positions_judged,
        positions_unjudged=tally.positions_unjudged,
        possible=possible,
        exhaustive=tried == possible,
        mismatches=tally.soft_mismatches,
        undecided=tally.undecided,
        digits=tally.digits,
        margin=numbers.get(MARGIN),
        margin_word=None if margin is None else margin.word,
    )


def _counts(subject: Subject, tally: Tally) -> dict[str, Any]:
    possible = count_words(len(subject.alphabet), tally.n)
    counts = {name: getattr(tally, name) for name in COUNTS}
    if not subject.acceptor:
        counts["accepted"] = None
    known = tally.words - tally.failed
    counts |= {"n": tally.n, "words": known - tally.unjudged, "possible": possible, "exhaustive": known == possible}
    # Only a function may leave words open, so other reports have no such counts.
    if subject.by_function:
        for name in ("unjudged", "positions_judged", "positions_unjudged"):
            counts[name] = getattr(tally, name)
    return counts


def theorem_length(subject: Subject, plan: LengthPlan, tally: Tally) -> LengthResult:
    """Return the report's row for one length, with the errors beside the bounds of Theorem 26."""
    facts, bounds, program = plan.facts, plan.bounds, plan.program
    layers: list[LayerResult] = []
    heads: list[HeadResult] = []
    latest, errors = dict[str, Place](), tally.errors
    for number, (layer, seen, allowed) in enumerate(zip(program.layers, facts.layers, bounds.layers, strict=True)):
        steps: list[Fraction] = []
        for stage, limit in enumerate((allowed.attended, allowed.final)):
            # A step reports only coordinates that it changed; the others keep the error of the latest step that did.
            latest |= {place[2]: place for place in errors if place[:2] == (number, stage) and len(place) == 3}
            steps += [_largest(tally, latest.values(), limit), max(limit.values(), default=ZERO)]
        kinds = sorted(kind_of(seen.heads.get(head.name)) for head in layer.heads)
        kind = " and ".join(dict.fromkeys(kinds)) or "no attention"
        layers.append(LayerResult(number + 1, kind, seen.size, *steps))
        for head in layer.heads:
            rows, limit = seen.heads.get(head.name), {out: allowed.values[head.name, out] for out, _ in head.values}
            heads.append(
                HeadResult(
                    name=head.name,
                    layer=number + 1,
                    purpose=head.purpose,
                    theorem=head.theorem,
                    error=_largest(tally, [(head.name, out) for out in limit], limit),
                    bound=max(limit.values(), default=ZERO),
                    score_gap=None if rows is None else rows.gap,
                    declared_gap=head.least_promised(facts.n, program.first),
                    kind=kind_of(rows),
                    most_maxima=1 if rows is None else max(rows.most),
                    score_range=ZERO if rows is None else rows.reach,
                )
            )
    least, largest = min(map(lower, plan.inverse)), max(map(upper, plan.inverse))
    return LengthResult(
        **_counts(subject, tally),
        score_gap=facts.gap,
        error=layers[-1].error if layers else ZERO,
        bound=bounds.final,
        digits=tally.digits,
        heads=tuple(heads),
        size=facts.largest,
        temperature=TemperatureRange(1 / largest, 1 / least),
        theorem=None if plan.solution is None else plan.solution.tau,
        epsilon=plan.epsilon,
        assumption=plan.assumption,
        sampled=plan.sampled,
        layers=tuple(layers),
        bounded=tally.bounded,
    )


def _largest(tally: Tally, places: Iterable[Place], limit: Mapping[str, Fraction]) -> Fraction:
    """Return the largest of the errors at `places`: the upper end of its enclosure, or the largest bound if that lies
    between the error that some word is known to reach and this end."""
    found = [tally.extremes[place] for place in places if place in tally.extremes]
    bound, high = max(limit.values(), default=ZERO), Fraction(max((error.bound for error in found), default=ZERO))
    return bound if max((error.reached for error in found), default=ZERO) <= bound < high else high


def within(reached: Measured, error: Fraction, bound: Fraction) -> Fraction:
    """Return the largest error of a head, or its bound if that lies between the error that some word has `reached` and
    this one.

    Both are proved limits of the error. A bound that some word attains would otherwise be below the end of an
    enclosure.
    """
    return bound if bound < error and reached <= bound else error


def kind_of(facts: HeadFacts | None) -> str:
    """Return the kind of attention of a head on the words seen: uniform (no `facts`), tieless (one largest score in
    every row) or ties."""
    if facts is None:
        return "uniform"
    return "tieless" if max(facts.most) == 1 else "ties"


def exceeded(plan: LengthPlan, tally: Tally, engine: str) -> Violation | None:
    """Return the error bound of a coordinate that a measured error exceeds, as a violation: the first by layer, step
    and name; None if there is none. This is certain unless mpmath computed the error."""
    errors = tally.errors
    for place in sorted(place for place in errors if len(place) == 3):
        (number, stage, name), error = place, errors[place]
        layer = plan.bounds.layers[number]
        bound = (layer.attended, layer.final)[stage][name]
        # A word attains `reached`; the upper end of an enclosure may exceed the bound without a contradiction.
        if error.reached > bound:
            what = f"the error bound of coordinate {name} in layer {number + 1}"
            return Violation(what, plan.facts.n, None, Fraction(error.reached), bound, engine == MPMATH)
    return None
