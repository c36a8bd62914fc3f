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

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Literal

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.program.hard_attention import Affine, Head, Kind, Weighting
from hardsim.program.regimes import GEOMETRIC, PARITY, RAMP, Regime, expression

HALF = Fraction(1, 2)
ALWAYS = Affine.constant(1)
"""The condition that every position satisfies."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A hidden unit of an operator: `weight` (1 or -1) times `clip(form)`, where the form is between `least` and `most`
    if all Booleans that it reads are exact (None: no bound). With a `cap` it is the least of the clip and this Boolean.
    """

    form: Affine
    least: Rational | None
    most: Rational | None
    weight: int = 1
    cap: Affine | None = None

    @property
    def reads(self) -> frozenset[str]:
        """The coordinates that the clip reads."""
        return frozenset(name for form in (self.form, self.cap or ALWAYS) for name, _ in form.terms) - {ONE}

    def closed_unless(self, conditions: Sequence[Affine]) -> Clip:
        """Return the clip that is 0 where one of several exact Booleans is false, and unchanged elsewhere: with m the
        least integer above `most`, `form - m (number of false ones)` is below 0 there. Without an upper bound the
        condition b becomes the cap: `relu(z) - relu(z - b)` is 0 if b = 0, and the clip if b = 1 (ours, theory 17D).
        Raises ValueError for several conditions then."""
        if self.most is None:
            (cap,) = conditions
            return replace(self, cap=cap)
        factor = floor(self.most) + 1
        form = self.form
        for condition in conditions:
            form += (condition - Affine.constant(1)).scaled(factor)
        least = None if self.least is None else self.least - factor * len(conditions)
        return Clip(form, least, self.most, self.weight)

    @property
    def opposite(self) -> Clip | None:
        """The clip that is 1 minus this one, `clip(1 - form)`; None for a clip that is subtracted or has a cap."""
        if self.weight != 1 or self.cap is not None:
            return None
        least, most = (None if end is None else 1 - end for end in (self.most, self.least))
        return Clip(Affine.constant(1) - self.form, least, most)


def clip_parameters(form: Affine, cap: Affine | None) -> int:
    """Return the number of weights and biases of a clip of a form z, which is two relus: z and z less the cap (None:
    1)."""
    return len(form.terms) + len((form - (Affine.constant(1) if cap is None else cap)).terms) + 2


@dataclass(frozen=True, slots=True)
class OperatorBlock:
    """The part of one operator in one layer: heads, and clips whose sum is the Boolean coordinate. `opposites` are
    clips whose sum is its negation, if there are other ones than 1 minus a single clip."""

    heads: tuple[Head, ...]
    clips: tuple[Clip, ...]
    opposites: tuple[Clip, ...] = ()

    @property
    def parameters(self) -> int:
        """The number of weights and biases of the clips."""
        return sum(clip_parameters(clip.form, clip.cap) for clip in self.clips)


def edge(which: Literal["first", "last"], regime: Regime) -> OperatorBlock:
    """Mark the first or last position (Proposition 11), exactly: the attention is uniform. In geometric attention it is
    where nothing is beside the position: the negation of `Y true` or `X true` (see `beside`).

    First: future-masked uniform attention over (-1)^(j+1) gives 1 at i = 1 and at most 1/3 in size elsewhere (0 at
    even i, 1/i at odd i), so `3x - 3/2` is 3/2 there and at most -1/2 elsewhere. Last: past-masked over (-1)^j gives
    1 or -1 at n and at most 1/3 in size elsewhere, so one of `3x - 3/2` and `-3x - 3/2` is 3/2 at n and both are at
    most -1/2 elsewhere. (The paper's `relu(3x/2 - 1/2)` is exact too, but leaves no room on either side for rounded
    arithmetic.)
    """
    if regime is GEOMETRIC:
        purpose = f"tells whether a position is {'before' if which == 'first' else 'after'} this one"
        (head,) = beside("Y" if which == "first" else "X", ALWAYS, f"{which}.beside", regime, purpose).heads
        return OperatorBlock((head,), (Clip(Affine.of([(head.out, -2), (ONE, 3 * HALF)]), -HALF, 3 * HALF),))
    raw, first = f"{which}.mean", which == "first"
    value = Affine.of({PARITY: -1 if first else 1})
    head = mean("L" if first else "R", value, raw, f"marks the {which} position", "Proposition 11")
    head = replace(head, name=which)
    up = Affine.of([(raw, 3), (ONE, -3 * HALF)])
    down = Affine.of([(raw, -3), (ONE, -3 * HALF)])
    # x is the mean of numbers of size 1, so it is between -1 and 1.
    clips = tuple(Clip(form, -9 * HALF, 3 * HALF) for form in ((up,) if first else (up, down)))
    return OperatorBlock((head,), clips)


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
    clips: list[Clip] = []
    for parity, sign in (("even", 1), ("odd", -1)):
        q = Affine.of({ONE: HALF, PARITY: sign * HALF})
        purpose = f"{what}, read at the {END[side]} {parity} position"
        head = nearest(side, q, arg, f"{out}.{parity}", regime, purpose, regime.step_theorem)
        heads.append(head)
        # This head's output counts at the positions of the other parity: subtract 2 [i has this parity].
        form = Affine.of([(head.out, 2), (ONE, -HALF - 1), (PARITY, -sign), (marker, -2)])
        clips.append(Clip(form, -9 * HALF, 3 * HALF))
    return OperatorBlock(tuple(heads), tuple(clips))


def beside(op: Literal["Y", "X"], arg: Affine, out: str, regime: Regime, what: str) -> OperatorBlock:
    """Return the block of strong yesterday or next in geometric attention (ours): one head whose strict mask shows the
    positions before (after) the query.

    It selects every position, so the nearest one has the weight 1 - x, and all others together at most x: the error is
    at most x = 1/(1 + e^(1/temperature)). At the first (last) position no position is visible and the head reads 0,
    as Y (X) is false there.
    """
    side: Literal["left", "right"] = "right" if op == "Y" else "left"
    head = nearest(side, ALWAYS, arg, f"{out}.read", regime, what, regime.step_theorem)
    head = replace(head, mask=Mask.STRICT_FUTURE if op == "Y" else Mask.STRICT_PAST)
    return OperatorBlock((head,), (Clip(Affine.of([(head.out, 2), (ONE, -HALF)]), -HALF, 3 * HALF),))


def reach(op: Literal["S", "U"], where: Affine, value: Affine, out: str, regime: Regime, what: str) -> OperatorBlock:
    """Return the block of since or until (Theorems 15 and 16): one head at the nearest position where `!left | right`
    (`where`) holds, which reads `right` (`value`).

    If no visible position satisfies it, the head attends to i itself (only the tie-break decides, under that side's
    mask), where `right` is false: this is correct without a special case.
    """
    head = nearest("right" if op == "S" else "left", where, value, f"{out}.read", regime, what, regime.reach_theorem)
    return OperatorBlock((head,), (Clip(Affine.of([(head.out, 2), (ONE, -HALF)]), -HALF, 3 * HALF),))


def shared(block: OperatorBlock, regime: Regime) -> OperatorBlock:
    """Return the block of a head whose value equals its condition q, without the tie-break (ours, for weightings with a
    cutoff).

    All positions with the largest score carry the same value, and those with another value lose 1 (times beta and the
    scale of the regime). So a weighting that shares the weight among the largest scores, where all others lose its
    cutoff, reads exactly that value, at temperature 1 for every length.
    """
    heads = tuple(
        replace(
            head,
            score=((Affine.coordinate(regime.scale), head.select or head.value),),
            decay=None,
            gap=expression(regime.scale),
            shares=True,
        )
        for head in block.heads
    )
    return replace(block, heads=heads)


def nearest(
    side: Literal["left", "right"], q: Affine, value: Affine, out: str, regime: Regime, purpose: str, theorem: str
) -> Head:
    """Return the head that attends to the rightmost j <= i (leftmost j >= i) with q_j = 1 (Lemma 8; scores in
    `regimes`), for an operator of a theorem.

    Its attended value, between 0 and 1, is off by at most 2x/(1 + x) with x = e^(-g), g = beta decay / temperature:
    this is half of Lemma 6's distance, since the value moves by at most the weight that the winner lost.

    In geometric attention the order of positions breaks ties, and the error is that of `program.budget`. It needs a
    value that is 1 at selected positions alone. If nothing is selected the attended value is then exactly 0, as the
    hard head's, which reads a position that is not selected.
    """
    return Head(
        name=out,
        mask=Mask.FUTURE if side == "right" else Mask.PAST,
        weighting=Weighting.RIGHTMOST if side == "right" else Weighting.LEFTMOST,
        values=((out, value),),
        score=regime.score(q, side),
        select=q,
        decay=None if regime is GEOMETRIC else expression(regime.decay),
        kind=Kind.NEAREST,
        purpose=purpose,
        theorem=theorem,
    )


def conjunction(args: Sequence[Affine]) -> OperatorBlock:
    """Return the conjunction of k exact Booleans: `clip(sum - (k - 1))`, which is 1 iff the sum is k."""
    form = Affine.of([(ONE, 1 - len(args)), *(term for arg in args for term in arg.terms)])
    return OperatorBlock((), (Clip(form, 1 - len(args), 1),))


MOST_CLIPS, MOST_READ = 4, 8
"""Greatest number of clips, and of coordinates that each of them reads, by which a conjunction takes an operator's
place instead of reading its Boolean a layer later. Nested conjunctions and disjunctions would have more and more, and
proofs distinguish the cases of all coordinates that a clip reads."""


def unbounded(block: OperatorBlock) -> bool:
    """Return True if some clip of an operator has no upper bound: that of a comparison of looked-up counts."""
    return any(clip.most is None for clip in block.clips)


def conjunction_in_layer(block: OperatorBlock, negated: bool, others: Sequence[Affine]) -> OperatorBlock | None:
    """Return the conjunction of an operator's Boolean x (or its negation) with Booleans that are exact one layer
    earlier, as clips of the operator's own layer; None if its clips cannot be closed, or are too many.

    Every clip of x is closed where one of the others is false (ours, theory 17D): the sum is then x if they all hold,
    and 0 if not. For the negation of x: its opposite clips are closed; without those, `x & others` is subtracted from
    the conjunction of the others.
    """
    opposites = block.opposites
    if negated and len(block.clips) == 1 and (opposite := block.clips[0].opposite) is not None:
        opposites = (opposite,)
    # A cap is one Boolean, and a clip has one cap.
    if unbounded(block) and (len(others) > 1 or any(clip.cap is not None for clip in block.clips)):
        return None
    if not negated or opposites:
        clips = [clip.closed_unless(others) for clip in (opposites if negated else block.clips)]
    else:
        within = [replace(clip, weight=-clip.weight).closed_unless(others) for clip in block.clips]
        clips = [*conjunction(others).clips, *within]
    large = len(clips) > MOST_CLIPS or any(len(clip.form.terms) > MOST_READ + 1 for clip in clips)
    return None if large else OperatorBlock((), tuple(clips))


def exclusive(left: Affine, right: Affine) -> OperatorBlock:
    """Return the exclusive or of two exact Booleans: `clip(a - b) + clip(b - a)`."""
    return OperatorBlock((), (Clip(left - right, -1, 1), Clip(right - left, -1, 1)))


Side = Literal["L", "R", ""]

SIZES: dict[Side, str] = {"L": "i", "R": "(n - i + 1)", "": "n"}
"""m, the number of positions that a count of each side ranges over."""

MASKS: dict[Side, Mask] = {"L": Mask.FUTURE, "R": Mask.PAST, "": Mask.NONE}

END = {"right": "last", "left": "first"}
"""The word by which a head's purpose names the nearest suitable position on each side."""


@dataclass(frozen=True, slots=True)
class CountForms:
    """The coordinates that hold a count: its mean c/m, the inverse 1/m, and the Boolean `some` (c is positive)."""

    side: Side
    mean: str
    inverse: str
    some: str


def mean(side: Side, value: Affine, out: str, purpose: str, theorem: str) -> Head:
    """Return the head that computes the mean of a form over the positions of a side by uniform attention, which is
    exact, for a construction of a theorem."""
    return Head(
        name=out,
        mask=MASKS[side],
        weighting=Weighting.AVERAGE,
        values=((out, value),),
        kind=Kind.UNIFORM,
        purpose=purpose,
        theorem=theorem,
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
        theorem=f"{regime.count_theorem}, Lemma 7",
    )


def compare(total: Affine, size: int | None = None) -> Clip:
    """Return the clip for `total >= 0`, where `total` is an integer known to within 1/4, and at most `size` in absolute
    value: `total + 1` is at least 1 or at most 0, and `clip(2x - 1/2)` rounds it."""
    most = None if size is None else 2 * size + 2 - HALF
    least = None if size is None else -2 * size + 2 - HALF
    return Clip(total.scaled(2) + Affine.constant(2 - HALF), least, most)


def opposites(clips: Sequence[Clip]) -> tuple[Clip, ...]:
    """Return the clips that are 1 minus each of some clips. Raises ValueError if one of them has none."""
    found = [clip.opposite for clip in clips]
    if None in found:
        raise ValueError("a clip without bounds has no opposite")
    return tuple(clip for clip in found if clip is not None)


def table(head: Head, some: Affine, at_zero: Affine) -> OperatorBlock:
    """Return the block of a predicate of a count: the value that the head read if the count is positive (`some`), and
    the predicate of 0 (`at_zero`, an exact column) if it is 0."""
    read = Clip(Affine.of([(head.out, 2), (ONE, -HALF)]), -HALF, 3 * HALF)
    (other,) = opposites([read])
    zero, one = (Clip(value - some, -1, 1) for value in (at_zero, Affine.constant(1) - at_zero))
    return OperatorBlock((head,), (read.closed_unless([some]), zero), (other.closed_unless([some]), one))


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
    read = Clip(Affine.of([(head.out, 2), (ONE, -HALF)]), -HALF, 3 * HALF)
    # The counts themselves are used where m = 1, and what the head reads elsewhere.
    conditions = (Affine.constant(1) - alone, alone)
    clips, other = (
        tuple(clip.closed_unless([condition]) for clip, condition in zip(some, conditions, strict=True))
        # The checker of certificates bounds the sum of counts and the constant apart, so twice the size is left.
        for some in ((read, compare(exact, size)), opposites((read, compare(exact, 2 * size))))
    )
    return OperatorBlock((head,), clips, other)
