"""One function per operator: its heads and clips, with the lemma and the derivation beside it.

Every function returns the heads of one layer and the clips of that layer's FFN that turn their outputs into exact
Booleans. Attended values are Booleans, so a head that attends well enough is within 1/4 of 0 or 1, and
`clip(2x - 1/2)` (Lemma 9, with relu(z) - relu(z - 1) fused to clip(z)) makes it exact.

Counts, comparisons of counts and predicates of counts are Theorems 20 to 23. A count c of n positions is first known as
a mean: uniform attention over phi gives c/m exactly, where m is the number of visible positions (i for `#L`, n - i + 1
for `#R`, n for `#`), and over a marker 1/m. Then one of two ways leads on.

Look-up: the score `2j c/m - j^2/m = -(j - c)^2/m + c^2/m` has its maximum at position j = c, at j = 1 if c = 0, and
falls by at least |j - j*|/m (for c = 0: (j^2 - 1)/m >= (j - 1)/m). The head reads j, or a predicate's column at j.
Since c = 0 lands on 1, a Boolean `any` (some visible phi), known a layer before, corrects it.

Sign test (ours): `y = (sum k c + k0 + 1/2)/m` is exact and at least 1/(2m) in size, so the score `y (-1)^j` tells
even positions (if the comparison holds) from odd ones with gap 2|y| >= 1/m, and the head reads [j even]. Where only
one position is visible, the counts themselves are exact (m = 1) and are used instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hardsim.network.numbers import ONE, Mask
from hardsim.program.model import Affine, Head, Kind, Weighting
from hardsim.program.regimes import PARITY, RAMP, Regime, expression

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class OperatorBlock:
    """What one operator adds to one layer: heads, and the clips whose sum is the Boolean coordinate."""

    heads: tuple[Head, ...]
    clips: tuple[Affine, ...]


def edge(which: Literal["first", "last"]) -> OperatorBlock:
    """Mark the first or last position (Proposition 11), exactly: the attention is uniform.

    First: future-masked uniform attention over (-1)^(j+1) gives 1 at i = 1 and at most 1/3 in size elsewhere (0 at
    even i, 1/i at odd i), so `3x - 3/2` is 3/2 there and at most -1/2 elsewhere. Last: past-masked over (-1)^j
    gives 1 or -1 at n and at most 1/3 in size elsewhere, so one of `3x - 3/2` and `-3x - 3/2` is 3/2 at n and both
    are at most -1/2 elsewhere. (The paper's `relu(3x/2 - 1/2)` is exact too, with no room to either side for
    rounded arithmetic.)
    """
    raw, first = f"{which}.mean", which == "first"
    value = Affine.of({PARITY: -1 if first else 1})
    head = mean("L" if first else "R", value, raw, f"marks the {which} position")
    head = replace(head, name=which, theorem="Proposition 11")
    up = Affine.of([(raw, 3), (ONE, -3 * HALF)])
    down = Affine.of([(raw, -3), (ONE, -3 * HALF)])
    return OperatorBlock((head,), (up,) if first else (up, down))


def step(op: Literal["Y", "X"], arg: Affine, marker: str, out: str, regime: Regime, what: str) -> OperatorBlock:
    """Strong yesterday or next (Theorems 12 and 13): two heads, the nearest even position and the nearest odd one.

    Y at i reads arg at the rightmost position <= i of the parity that i has not, which is i - 1; the other head's
    output is shut out by the parity of i. With e = [i even] = (1 + (-1)^i)/2 and the marker f = [i = 1], the clips
    are `2 odd - 1/2 - 2 (1 - e)` and `2 even - 1/2 - 2 e - 2 f`: a clip of the wrong parity is at most 2 - 1/2 - 2
    < 0, and at i = 1 (odd, with no even position to attend to) the second is at most -1/2. f is subtracted from
    both, which is harmless and symmetric. X is the mirror image with the leftmost positions >= i and the marker [i
    = n].
    """
    side: Literal["left", "right"] = "right" if op == "Y" else "left"
    heads: list[Head] = []
    clips: list[Affine] = []
    for parity, sign in (("even", 1), ("odd", -1)):
        q = Affine.of({ONE: HALF, PARITY: sign * HALF})
        heads.append(
            nearest(side, q, arg, f"{out}.{parity}", regime, f"{what}, read at the {END[side]} {parity} position")
        )
        head = heads[-1]
        # This head's output counts at the positions of the other parity: subtract 2 [i has this parity].
        clips.append(Affine.of([(head.out, 2), (ONE, -HALF - 1), (PARITY, -sign), (marker, -2)]))
    return OperatorBlock(tuple(heads), tuple(clips))


def reach(op: Literal["S", "U"], where: Affine, value: Affine, out: str, regime: Regime, what: str) -> OperatorBlock:
    """Since or until (Theorems 15 and 16): one head at the nearest position where `!left | right` holds, reading
    `right`.

    If no visible position satisfies it the head lands on i itself (the tie-break alone decides, under that side's
    mask), where `right` is false: correct without a special case.
    """
    head = nearest("right" if op == "S" else "left", where, value, f"{out}.read", regime, what)
    return OperatorBlock((head,), (Affine.of([(head.out, 2), (ONE, -HALF)]),))


def nearest(side: Literal["left", "right"], q: Affine, value: Affine, out: str, regime: Regime, purpose: str) -> Head:
    """The head that attends to the rightmost j <= i (leftmost j >= i) with q_j = 1 (Lemma 8; scores in `regimes`).

    Its attended value, between 0 and 1, is off by at most 2x/(1 + x) with x = e^(-g), g = beta decay / temperature:
    that is half of Lemma 6's distance, since the value moves by at most the weight that the winner lost.
    """
    return Head(
        name=out,
        mask=Mask.FUTURE if side == "right" else Mask.PAST,
        weighting=Weighting.RIGHTMOST if side == "right" else Weighting.LEFTMOST,
        values=((out, value),),
        score=regime.score(q, side),
        select=q,
        decay=expression(regime.decay),
        kind=Kind.NEAREST,
        purpose=purpose,
        theorem=regime.theorems,
    )


def conjunction(args: list[Affine]) -> OperatorBlock:
    """All of k exact Booleans: `clip(sum - (k - 1))`, which is 1 iff the sum is k."""
    return OperatorBlock((), (Affine.of([(ONE, 1 - len(args)), *(term for arg in args for term in arg.terms)]),))


def exclusive(left: Affine, right: Affine) -> OperatorBlock:
    """Exactly one of two exact Booleans: `clip(a - b) + clip(b - a)`."""
    return OperatorBlock((), (left - right, right - left))


Side = Literal["L", "R", ""]

SIZES: dict[Side, str] = {"L": "i", "R": "(n - i + 1)", "": "n"}
"""m, the number of positions that a count of a side ranges over."""

MASKS: dict[Side, Mask] = {"L": Mask.FUTURE, "R": Mask.PAST, "": Mask.NONE}

END = {"right": "last", "left": "first"}
"""Of the positions on a side that qualify, the nearest one, as users say it."""

THEOREMS = "Theorems 20 to 23"


@dataclass(frozen=True, slots=True)
class CountForms:
    """The coordinates that hold a count: its mean c/m, 1/m, and whether it is positive (a Boolean)."""

    side: Side
    mean: str
    inverse: str
    some: str


def mean(side: Side, value: Affine, out: str, purpose: str) -> Head:
    """The mean of a form over the positions of a side, by uniform attention: exact."""
    return Head(
        name=out,
        mask=MASKS[side],
        weighting=Weighting.AVERAGE,
        values=((out, value),),
        kind=Kind.UNIFORM,
        purpose=purpose,
        theorem=THEOREMS,
    )


def some(side: Side, value: Affine, out: str, regime: Regime, what: str) -> OperatorBlock:
    """Whether a Boolean holds anywhere on a side: the nearest position that satisfies it, like `true S phi`.

    For both sides at once the head is unmasked and finds the rightmost one.
    """
    block = reach("U" if side == "R" else "S", value, value, out, regime, what)
    return replace(block, heads=tuple(replace(head, mask=MASKS[side]) for head in block.heads))


def look_up(forms: CountForms, value: Affine, out: str, regime: Regime, weight: int, kind: Kind, what: str) -> Head:
    """The head at position c (1 if c = 0) of Lemma 7, reading a form there.

    In `position` the keys are n times as large, so that the score is -(n/m)(j - c)^2 at temperature 1.
    """
    linear, square = regime.look_up
    score = (
        (Affine.coordinate(forms.mean), Affine.of({linear: 2})),
        (Affine.coordinate(forms.inverse), Affine.of({square: -1})),
    )
    return Head(
        name=out,
        mask=Mask.FUTURE if regime.causal else Mask.NONE,
        weighting=Weighting.RIGHTMOST,
        values=((out, value),),
        score=score,
        decay=expression(f"{regime.look_up_rate}/{SIZES[forms.side]}"),
        kind=kind,
        weight=weight,
        purpose=f"{what}, read at the position whose number is the count",
        theorem=f"{THEOREMS}, Lemma 7",
    )


def compare(total: Affine) -> Affine:
    """`total >= 0` for an integer known to within 1/4: `total + 1` is at least 1 or at most 0, and `clip(2x - 1/2)`
    rounds it."""
    return total.scaled(2) + Affine.constant(2 - HALF)


def table(read: str, some_form: Affine, at_zero: Affine) -> tuple[Affine, ...]:
    """A predicate of a count: what was read where the count is positive, the predicate of 0 (an exact column) where
    it is 0."""
    positive = Affine.of([(read, 2), (ONE, -HALF - 2)]) + some_form.scaled(2)
    return (positive, at_zero - some_form)


def sign(
    side: Side, y: Affine, exact: Affine, size: int, alone: Affine, out: str, regime: Regime, what: str
) -> OperatorBlock:
    """The sign of y (at least 1/(2m) in size), or where one position is alone, of the exact integer.

    `exact` is `sum k c/m + k0`, which is the integer itself where m = 1, and at most `size` in absolute value
    everywhere; `alone` is the Boolean m = 1.
    """
    head = Head(
        name=f"{out}.sign",
        mask=MASKS[side],
        weighting=Weighting.AVERAGE,
        values=((f"{out}.sign", Affine.of({ONE: HALF, PARITY: HALF})),),
        score=((y, Affine.coordinate(regime.sign_key)),),
        gap=expression(f"{regime.sign_rate}/{SIZES[side]}"),
        kind=Kind.SIGN if regime.sign_key != RAMP else Kind.SIGN_RAMP,
        purpose=f"{what}: the mean of the even positions if it holds, of the odd ones if not",
        theorem="sign test (ours)",
    )
    read = Affine.of([(head.out, 2), (ONE, -HALF)]) - alone.scaled(2)
    # 2 (exact + 1) - 1/2 is at most 2 size + 3/2, so subtracting twice (size + 1) closes it wherever m > 1.
    single = compare(exact) - (Affine.constant(1) - alone).scaled(2 * size + 2)
    return OperatorBlock((head,), (read, single))
