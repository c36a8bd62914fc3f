"""One function per operator: its heads and clips, with the lemma and the derivation beside them.

Every function returns the heads of one layer and the clips of that layer's feed-forward layer that turn the heads'
outputs into exact Booleans. Attended values are Booleans, so a head that attends well enough is within 1/4 of 0 or 1,
and `clip(2x - 1/2)` (Lemma 9, where it is relu(z) - relu(z - 1)) makes it exact.

Counts, comparisons of counts and predicates of counts are Theorems 20 to 23. A count c among m visible positions (m
is i for `#L`, n - i + 1 for `#R`, n for `#`) is first computed as a mean: uniform attention over phi gives c/m
exactly, and over a marker 1/m. Then there are two methods.

Look-up: the score `2j c/m - j^2/m = -(j - c)^2/m + c^2/m` has its maximum at position j = c, or at j = 1 if c = 0,
and falls by at least |j - j*|/m (for c = 0: (j^2 - 1)/m >= (j - 1)/m). The head reads j, or a predicate's column at
j. Since c = 0 also leads to position 1, the Boolean `some` (some visible phi), known one layer earlier, corrects the
value.

Sign test (ours): `y = (sum k c + k0 + 1/2)/m` is exact and at least 1/(2m) in size, so the score `y (-1)^j` prefers
even positions if the comparison holds and odd ones if not, with gap 2|y| >= 1/m, and the head reads [j even]. If only
one position is visible, the counts themselves are exact (m = 1) and are used instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hardsim.network.numbers import ONE, Mask
from hardsim.program.hard_attention import Affine, Head, Kind, Weighting
from hardsim.program.regimes import PARITY, RAMP, Regime, expression

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class OperatorBlock:
    """The part of one operator in one layer: heads, and clips whose sum is the Boolean coordinate."""

    heads: tuple[Head, ...]
    clips: tuple[Affine, ...]


def edge(which: Literal["first", "last"]) -> OperatorBlock:
    """Mark the first or last position (Proposition 11), exactly: the attention is uniform.

    First: future-masked uniform attention over (-1)^(j+1) gives 1 at i = 1 and at most 1/3 in size elsewhere (0 at
    even i, 1/i at odd i), so `3x - 3/2` is 3/2 there and at most -1/2 elsewhere. Last: past-masked over (-1)^j gives
    1 or -1 at n and at most 1/3 in size elsewhere, so one of `3x - 3/2` and `-3x - 3/2` is 3/2 at n and both are at
    most -1/2 elsewhere. (The paper's `relu(3x/2 - 1/2)` is exact too, but leaves no room on either side for rounded
    arithmetic.)
    """
    raw, first = f"{which}.mean", which == "first"
    value = Affine.of({PARITY: -1 if first else 1})
    head = mean("L" if first else "R", value, raw, f"marks the {which} position")
    head = replace(head, name=which, theorem="Proposition 11")
    up = Affine.of([(raw, 3), (ONE, -3 * HALF)])
    down = Affine.of([(raw, -3), (ONE, -3 * HALF)])
    return OperatorBlock((head,), (up,) if first else (up, down))


def step(op: Literal["Y", "X"], arg: Affine, marker: str, out: str, regime: Regime, what: str) -> OperatorBlock:
    """Return the block of strong yesterday or next (Theorems 12 and 13): two heads, at the nearest even position and at
    the nearest odd one.

    Y at i reads arg at the rightmost position <= i of the parity that i does not have, which is i - 1; the parity of
    i suppresses the other head's output. With e = [i even] = (1 + (-1)^i)/2 and the marker f = [i = 1], the clips are
    `2 odd - 1/2 - 2 (1 - e)` and `2 even - 1/2 - 2 e - 2 f`: a clip of the wrong parity is at most 2 - 1/2 - 2 < 0,
    and at i = 1 (odd, with no even position to attend to) the second is at most -1/2. f is subtracted from both,
    which changes nothing and keeps them symmetric. X is the mirror image, with the leftmost positions >= i and the
    marker [i = n].
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
    """Return the block of since or until (Theorems 15 and 16): one head at the nearest position where `!left | right`
    (`where`) holds, which reads `right` (`value`).

    If no visible position satisfies it, the head attends to i itself (only the tie-break decides, under that side's
    mask), where `right` is false: this is correct without a special case.
    """
    head = nearest("right" if op == "S" else "left", where, value, f"{out}.read", regime, what)
    return OperatorBlock((head,), (Affine.of([(head.out, 2), (ONE, -HALF)]),))


def nearest(side: Literal["left", "right"], q: Affine, value: Affine, out: str, regime: Regime, purpose: str) -> Head:
    """Return the head that attends to the rightmost j <= i (leftmost j >= i) with q_j = 1 (Lemma 8; scores in
    `regimes`).

    Its attended value, between 0 and 1, is off by at most 2x/(1 + x) with x = e^(-g), g = beta decay / temperature:
    this is half of Lemma 6's distance, since the value moves by at most the weight that the winner lost.
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
    """Return the conjunction of k exact Booleans: `clip(sum - (k - 1))`, which is 1 iff the sum is k."""
    return OperatorBlock((), (Affine.of([(ONE, 1 - len(args)), *(term for arg in args for term in arg.terms)]),))


def exclusive(left: Affine, right: Affine) -> OperatorBlock:
    """Return the exclusive or of two exact Booleans: `clip(a - b) + clip(b - a)`."""
    return OperatorBlock((), (left - right, right - left))


Side = Literal["L", "R", ""]

SIZES: dict[Side, str] = {"L": "i", "R": "(n - i + 1)", "": "n"}
"""m, the number of positions that a count of each side ranges over."""

MASKS: dict[Side, Mask] = {"L": Mask.FUTURE, "R": Mask.PAST, "": Mask.NONE}

END = {"right": "last", "left": "first"}
"""The word by which a head's purpose names the nearest suitable position on each side."""

THEOREMS = "Theorems 20 to 23"


@dataclass(frozen=True, slots=True)
class CountForms:
    """The coordinates that hold a count: its mean c/m, the inverse 1/m, and the Boolean `some` (c is positive)."""

    side: Side
    mean: str
    inverse: str
    some: str


def mean(side: Side, value: Affine, out: str, purpose: str) -> Head:
    """Return the head that computes the mean of a form over the positions of a side by uniform attention, which is
    exact."""
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
    """Return the block of the Boolean that phi (`value`) holds at some position of a side: its head finds the nearest
    such position, as for `true S phi`.

    For both sides at once the head is unmasked and finds the rightmost such position.
    """
    block = reach("U" if side == "R" else "S", value, value, out, regime, what)
    return replace(block, heads=tuple(replace(head, mask=MASKS[side]) for head in block.heads))


def look_up(forms: CountForms, value: Affine, out: str, regime: Regime, weight: int, kind: Kind, what: str) -> Head:
    """Return the head at position c (1 if c = 0) of Lemma 7, which reads a form there.

    In the regime `position` the keys are n times as large, so that the score is -(n/m)(j - c)^2 at temperature 1.
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
    """Return the clip input for `total >= 0`, where `total` is an integer known to within 1/4: `total + 1` is at
    least 1 or at most 0, and `clip(2x - 1/2)` rounds it."""
    return total.scaled(2) + Affine.constant(2 - HALF)


def table(read: str, some_form: Affine, at_zero: Affine) -> tuple[Affine, ...]:
    """Return the clip inputs for a predicate of a count: the value that the head read if the count is positive, and
    the predicate of 0 (`at_zero`, an exact column) if it is 0."""
    positive = Affine.of([(read, 2), (ONE, -HALF - 2)]) + some_form.scaled(2)
    return (positive, at_zero - some_form)


def sign(
    side: Side, y: Affine, exact: Affine, size: int, alone: Affine, out: str, regime: Regime, what: str
) -> OperatorBlock:
    """Return the block for the sign of y (at least 1/(2m) in size), or of the exact integer if only one position is
    visible.

    `exact` is `sum k c/m + k0`, which is the integer itself if m = 1, and at most `size` in absolute value
    everywhere. `alone` is the Boolean m = 1.
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
