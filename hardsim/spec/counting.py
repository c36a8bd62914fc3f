"""Counts, comparisons of counts and predicates of counts (Theorems 20 to 23).

A count c of n positions is first known as a mean: uniform attention over phi gives c/m exactly, where m is the
number of visible positions (i for `#L`, n - i + 1 for `#R`, n for `#`), and over a marker 1/m. Then one of two ways
leads on.

Look-up: the score `2j c/m - j^2/m = -(j - c)^2/m + c^2/m` has its maximum at position j = c, at j = 1 if c = 0, and
falls by at least |j - j*|/m (for c = 0: (j^2 - 1)/m >= (j - 1)/m). The head reads j, or a predicate's column at j.
Since c = 0 lands on 1, a Boolean `any` (some visible phi), known a layer before, corrects it.

Sign test (ours): `y = (sum k c + k0 + 1/2)/m` is exact and at least 1/(2m) in size, so the score `y (-1)^j` tells
even positions (if the comparison holds) from odd ones with gap 2|y| >= 1/m, and the head reads [j even]. Where only
one position is visible, the counts themselves are exact (m = 1) and are used instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hardsim.lang.arith import Arith
from hardsim.spec.ir import ONE, Affine, Head, Kind, Mask, Weighting
from hardsim.spec.operators import HALF, Block, nearest
from hardsim.spec.regimes import PARITY, RAMP, Regime, expression

Side = Literal["L", "R", ""]

SIZES: dict[Side, str] = {"L": "i", "R": "(n - i + 1)", "": "n"}
"""m, the number of positions that a count of a side ranges over."""

MASKS: dict[Side, Mask] = {"L": Mask.FUTURE, "R": Mask.PAST, "": Mask.NONE}

THEOREMS = "Theorems 20 to 23"


@dataclass(frozen=True, slots=True)
class CountForms:
    """The coordinates that hold a count: its mean c/m, 1/m, and whether it is positive (a Boolean)."""

    side: Side
    mean: str
    inverse: str
    some: str


def mean(side: Side, value: Affine, out: str, purpose: str) -> Block:
    """The mean of a Boolean over the positions of a side, by uniform attention: exact."""
    head = Head(
        name=out,
        mask=MASKS[side],
        weighting=Weighting.AVERAGE,
        value=value,
        out=out,
        kind=Kind.UNIFORM,
        purpose=purpose,
        theorem=THEOREMS,
    )
    return Block((head,), ())


def some(side: Side, value: Affine, out: str, regime: Regime) -> Block:
    """Whether a Boolean holds anywhere on a side: the nearest position that satisfies it, like `true S phi`.

    For both sides at once the head is unmasked and finds the rightmost one.
    """
    head = nearest("left" if side == "R" else "right", value, value, f"{out}.read", regime)
    head = replace(head, mask=MASKS[side])
    return Block((head,), (Affine.of([(head.out, 2), (ONE, -HALF)]),))


def look_up(forms: CountForms, value: Affine, out: str, regime: Regime, weight: int, kind: Kind) -> Head:
    """The head at position c (1 if c = 0) of Lemma 7, reading a form there.

    In `position` the keys are n times as large, so that the score is -(n/m)(j - c)^2 at temperature 1.
    """
    linear, square = regime.look_up
    size = SIZES[forms.side]
    score = (
        (Affine.coordinate(forms.mean), Affine.of({linear: 2})),
        (Affine.coordinate(forms.inverse), Affine.of({square: -1})),
    )
    return Head(
        name=out,
        mask=Mask.FUTURE if regime.causal else Mask.NONE,
        weighting=Weighting.RIGHTMOST,
        value=value,
        out=out,
        score=score,
        decay=_rate(regime, size),
        kind=kind,
        weight=weight,
        purpose="the position whose number is the count",
        theorem=f"{THEOREMS}, Lemma 7",
    )


def _rate(regime: Regime, size: str) -> Arith:
    return expression(f"{regime.look_up_rate}/{size}")


def compare(total: Affine) -> Affine:
    """`total >= 0` for an integer known to within 1/4: `total + 1` is at least 1 or at most 0, and `clip(2x - 1/2)`
    rounds it."""
    return total.scaled(2) + Affine.constant(2 - HALF)


def table(read: str, some_form: Affine, at_zero: Affine) -> tuple[Affine, ...]:
    """A predicate of a count: what was read where the count is positive, the predicate of 0 (an exact column) where
    it is 0."""
    positive = Affine.of([(read, 2), (ONE, -HALF - 2)]) + some_form.scaled(2)
    return (positive, at_zero - some_form)


def sign(side: Side, y: Affine, exact: Affine, size: int, alone: Affine, out: str, regime: Regime) -> Block:
    """The sign of y (at least 1/(2m) in size), or where one position is alone, of the exact integer.

    `exact` is `sum k c/m + k0`, which is the integer itself where m = 1, and at most `size` in absolute value
    everywhere; `alone` is the Boolean m = 1.
    """
    head = Head(
        name=f"{out}.sign",
        mask=MASKS[side],
        weighting=Weighting.AVERAGE,
        value=Affine.of({ONE: HALF, PARITY: HALF}),
        out=f"{out}.sign",
        score=((y, Affine.coordinate(regime.sign_key)),),
        gap=expression(f"{regime.sign_rate}/{SIZES[side]}"),
        kind=Kind.SIGN if regime.sign_key != RAMP else Kind.SIGN_RAMP,
        purpose="even positions if the comparison holds, odd ones if not",
        theorem="sign test (ours)",
    )
    read = Affine.of([(head.out, 2), (ONE, -HALF)]) - alone.scaled(2)
    # 2 (exact + 1) - 1/2 is at most 2 size + 3/2, so subtracting twice (size + 1) closes it wherever m > 1.
    single = compare(exact) - (Affine.constant(1) - alone).scaled(2 * size + 2)
    return Block((head,), (read, single))
