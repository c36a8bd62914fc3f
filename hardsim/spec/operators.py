"""One function per operator: its heads and clips, with the lemma and the derivation beside it.

Every function returns the heads of one layer and the clips of that layer's FFN that turn their outputs into exact
Booleans. Attended values are Booleans, so a head that attends well enough is within 1/4 of 0 or 1, and
`clip(2x - 1/2)` (Lemma 9, with relu(z) - relu(z - 1) fused to clip(z)) makes it exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hardsim.spec.ir import ONE, Affine, Head, Kind, Mask, Weighting
from hardsim.spec.regimes import PARITY, Regime, expression

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Block:
    """What one operator adds to one layer: heads, and the clips whose sum is the Boolean coordinate."""

    heads: tuple[Head, ...]
    clips: tuple[Affine, ...]


def edge(which: Literal["first", "last"], out: str, theorem: str = "Proposition 11") -> Block:
    """Mark the first or last position (Proposition 11), exactly: the attention is uniform.

    First: future-masked uniform attention over (-1)^(j+1) gives 1 at i = 1 and at most 1/3 in size elsewhere (0 at
    even i, 1/i at odd i), so `3x - 3/2` is 3/2 there and at most -1/2 elsewhere. Last: past-masked over (-1)^j
    gives 1 or -1 at n and at most 1/3 in size elsewhere, so one of `3x - 3/2` and `-3x - 3/2` is 3/2 at n and both
    are at most -1/2 elsewhere. (The paper's `relu(3x/2 - 1/2)` is exact too, with no room to either side for
    rounded arithmetic.)
    """
    raw = f"{out}.mean"
    sign = -1 if which == "first" else 1
    mask = Mask.FUTURE if which == "first" else Mask.PAST
    head = Head(
        name=out,
        mask=mask,
        weighting=Weighting.AVERAGE,
        kind=Kind.UNIFORM,
        value=Affine.of({PARITY: sign}),
        out=raw,
        purpose=f"marks the {which} position",
        theorem=theorem,
    )
    up = Affine.of([(raw, 3), (ONE, -3 * HALF)])
    down = Affine.of([(raw, -3), (ONE, -3 * HALF)])
    return Block((head,), (up,) if which == "first" else (up, down))


def step(op: Literal["Y", "X"], arg: Affine, marker: str, out: str, regime: Regime) -> Block:
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
        head = nearest(side, q, arg, f"{out}.{parity}", regime)
        heads.append(replace(head, purpose=f"the {head.weighting} {parity} position"))
        # This head's output counts at the positions of the other parity: subtract 2 [i has this parity].
        clips.append(Affine.of([(head.out, 2), (ONE, -HALF - 1), (PARITY, -sign), (marker, -2)]))
    return Block(tuple(heads), tuple(clips))


def reach(op: Literal["S", "U"], where: Affine, what: Affine, out: str, regime: Regime) -> Block:
    """Since or until (Theorems 15 and 16): one head at the nearest position where `!left | right` holds, reading
    `right`.

    If no visible position satisfies it the head lands on i itself (the tie-break alone decides, under that side's
    mask), where `right` is false: correct without a special case.
    """
    head = nearest("right" if op == "S" else "left", where, what, f"{out}.read", regime)
    return Block((head,), (Affine.of([(head.out, 2), (ONE, -HALF)]),))


def nearest(side: Literal["left", "right"], q: Affine, value: Affine, out: str, regime: Regime) -> Head:
    """The head that attends to the rightmost j <= i (leftmost j >= i) with q_j = 1 (Lemma 8; scores in `regimes`).

    Its attended value, between 0 and 1, is off by at most 2x/(1 + x) with x = e^(-g), g = beta decay / temperature:
    that is half of Lemma 6's distance, since the value moves by at most the weight that the winner lost.
    """
    return Head(
        name=out,
        mask=Mask.FUTURE if side == "right" else Mask.PAST,
        weighting=Weighting.RIGHTMOST if side == "right" else Weighting.LEFTMOST,
        value=value,
        out=out,
        score=regime.score(q, side),
        select=q,
        decay=expression(regime.decay),
        purpose=f"the {'rightmost' if side == 'right' else 'leftmost'} position with {q}",
        theorem=regime.theorems,
    )


def conjunction(args: list[Affine]) -> Block:
    """All of k exact Booleans: `clip(sum - (k - 1))`, which is 1 iff the sum is k."""
    return Block((), (sum_of(args) + Affine.constant(1 - len(args)),))


def exclusive(left: Affine, right: Affine) -> Block:
    """Exactly one of two exact Booleans: `clip(a - b) + clip(b - a)`."""
    return Block((), (left - right, right - left))


def sum_of(args: list[Affine]) -> Affine:
    """The sum of any number of forms."""
    return Affine.of([term for arg in args for term in arg.terms])
