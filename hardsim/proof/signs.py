"""Tests of the sign of a sum of counts, over all words.

The query is y = (integer + offset)/m, the keys are positive at the positions with value 1 and negative at
those with value 0. The weight of the wrong positions falls as |y| grows, so the two values of y next to 0 decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

from hardsim.proof.counts import common, fixed_values, separate
from hardsim.proof.outward import above, ball, working_precision
from hardsim.proof.result import NotProved
from hardsim.proof.running import NOTHING
from hardsim.proof.state import BooleanHead, State
from hardsim.run.plan import HeadPlan
from hardsim.spec.ir import Affine, Head, Mask, Rational

NEGLIGIBLE = 100
"""Nats: positions that lose as much count with a bound of e^-100 each."""


def sign_test(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> BooleanHead:
    """A head that tells whether a number is positive, by the parity of positions.

    Raises:
        NotProved: if the network's query or keys are not those of the specification, up to positive factors.
    """
    import numpy as np

    name = head.name
    if len(plan.scores) != 1 or len(head.score) != 1:
        raise NotProved(f"head {name} has not one product as its score", name)
    own, specified = fixed_values(state, soft, name), fixed_values(state, hard, name)
    pairs = set(zip(specified, own, strict=True))
    values = dict(pairs)
    if not set(values) <= {0, 1} or len(pairs) != len(values):
        raise NotProved(f"head {name} reads values other than 0 and 1", name)
    steps, offsets, factor = _sign_queries(state, plan, head)
    keys = fixed_values(state, state.soft(plan.scores[0][1], 0, f"head {name}"), name)
    wanted = fixed_values(state, state.hard(head.score[0][1], f"head {name}"), name)
    for key, want, bit in zip(keys, wanted, specified, strict=True):
        if not key or not want or (key > 0) != (bit == 1) or (want > 0) != (bit == 1):
            raise NotProved(f"the keys of head {name} are not positive where it reads 1 and negative elsewhere", name)
    worst = np.full((2, len(keys)), NOTHING)
    for site, seen in _seen(state, head.mask, keys):
        signs = {key > 0 for key in seen}
        if len(signs) == 1:
            worst[int(signs.pop()), site] = 0.0
            continue
        for bit, size in ((0, _below(offsets[site], steps[site])), (1, _above(offsets[site], steps[site]))):
            if size is None:
                continue
            if not size:
                raise NotProved(f"the number whose sign head {name} tests can be 0", name)
            worst[bit, site] = wrong_sign(seen, bit, size * factor * state.inverse[site])
    return BooleanHead(
        name, layer, state.specified(name, worst), (values.get(0, 0), values.get(1, 1)), (worst[0], worst[1])
    )


def _sign_queries(state: State, plan: HeadPlan, head: Head) -> tuple[list[Fraction], list[Rational], Fraction]:
    """What the specified y can be at each site, `offset + step * integer`, and the network's query over it."""
    name = head.name
    varying = {coordinate for coordinate in state.means if coordinate not in state.exact}
    own, fixed = separate(state, plan.scores[0][0], varying, name)
    wanted, rest = separate(state, state.soft_terms(head.score[0][0]), varying, name)
    query = fixed_values(state, state.soft(fixed, 0, f"head {name}"), name)
    form = Affine.of((state.model.coordinates[k], c) for k, c in rest)
    offsets = fixed_values(state, state.hard(form, f"head {name}"), name)
    pairs = [(own.get(k, 0), wanted.get(k, 0)) for k in own.keys() | wanted.keys()]
    pairs += list(set(zip(query, offsets, strict=True)))
    factor = next((Fraction(a) / Fraction(b) for a, b in pairs if b), Fraction(0))
    if factor <= 0 or any(a != factor * b for a, b in pairs):
        raise NotProved(f"the query of head {name} is not a positive multiple of the specified one", name)
    steps = [
        common([Fraction(c) / state.means[k].sizes[site] for k, c in wanted.items()]) for site in range(len(offsets))
    ]
    return steps, offsets, factor


def _above(offset: Rational, step: Fraction) -> Fraction | None:
    """The least |y| with y >= 0 among offset + step * integer; None if there is none."""
    if not step:
        return Fraction(offset) if offset >= 0 else None
    return Fraction(offset) % step


def _below(offset: Rational, step: Fraction) -> Fraction | None:
    """The least |y| with y <= 0 among offset + step * integer; None if there is none."""
    return _above(-offset, step)


def _seen(state: State, mask: Mask, keys: list[Rational]) -> Iterator[tuple[int, dict[Rational, int]]]:
    """Each site with how often each key is visible (the dictionary changes from site to site)."""
    for _, start, end in state.sites.words():
        if mask is Mask.NONE:
            total = dict(Counter(keys[start:end]))
            yield from ((site, total) for site in range(start, end))
            continue
        seen: dict[Rational, int] = {}
        for site in range(start, end) if mask is Mask.FUTURE else range(end - 1, start - 1, -1):
            seen[keys[site]] = seen.get(keys[site], 0) + 1
            yield site, seen


def wrong_sign(seen: Mapping[Rational, int], bit: int, size: Fraction) -> float:
    """At most the weight of the positions with the other value, where |y| in nats per unit of key is `size`."""
    from flint import arb

    with working_precision():
        sign = 1 if bit else -1
        best = max(sign * key for key in seen)
        wrong, right = arb(0), arb(0)
        for key, number in seen.items():
            loss = size * (best - sign * key)
            if sign * key < 0:
                wrong += number * ball(-min(loss, Fraction(NEGLIGIBLE))).exp()
            elif loss < NEGLIGIBLE:
                right += number * ball(-loss).exp()
        return above(wrong / (wrong + right))
