"""The worst cases in words: which local types at which positions attain the bound of a head."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from hardsim.proof.reading import LocalType, NearestReading
from hardsim.proof.result import Case
from hardsim.proof.state import BooleanHead, CountHead, State
from hardsim.spec.ir import Mask


def boolean_case(state: State, head: BooleanHead, site: int, bit: int, error: Fraction, margin: Fraction) -> Case:
    """The worst case of an attended Boolean at a site, where the specified value is `bit`."""
    i, n = state.sites.i[site], state.sites.n[site]
    size = abs(Fraction(head.values[1]) - head.values[0]) * error
    if head.reading is None or head.extremes is None:
        return Case(n, i, Fraction(bit), size, margin, None)
    winner = int(head.extremes[bit].winner[site])
    if not winner:
        return Case(n, i, Fraction(bit), size, margin, None)
    chosen = attaining(state, head.reading, site, winner, bit)
    runs = []
    for _, part in groupby(chosen, key=lambda item: (text(item[1]), item[0] == winner)):
        places = list(part)
        role = " (should win)" if places[0][0] == winner else ""
        runs.append((places[0][0], places[-1][0], text(places[0][1]) + role))
    symbols = [""] * n
    for j, kind in chosen:
        symbols[j - 1] = dict(kind.example).get(None, "")
    return Case(n, i, Fraction(bit), size, margin, winner, tuple(runs), tuple(symbols))


def count_case(state: State, head: CountHead, site: int, margin: Fraction) -> Case:
    """The worst case of a looked-up number at a site."""
    error = Fraction(float(head.error[site]))
    return Case(state.sites.n[site], state.sites.i[site], None, error, margin, None)


def text(kind: LocalType) -> str:
    """A local type for readers."""
    parts = [value if name is None else f"{name} = {value}" for name, value in kind.example]
    own = f"{'selected' if kind.selected else 'not selected'}, value {kind.value}"
    return f"{', '.join(parts)} [{own}]" if parts else f"[{own}]"


def attaining(state: State, reading: NearestReading, site: int, winner: int, bit: int) -> list[tuple[int, LocalType]]:
    """The worst type of every visible position, for the position that should win with value `bit`."""
    i, n = state.sites.i[site], state.sites.n[site]
    start = state.sites.starts[n]
    query = [row[site] for row in reading.queries]

    def logit(kind: LocalType) -> Fraction:
        return sum((Fraction(q * k) for q, k in zip(query, kind.key, strict=True)), Fraction(0))

    def worst(types: Sequence[LocalType]) -> LocalType:
        wrong = [kind for kind in types if kind.value != bit]
        return max(wrong, key=logit) if wrong else min(types, key=logit)

    visible = reading.mask.visible(i, n) if reading.mask is not Mask.NONE else range(1, n + 1)
    last = visible[-1] if reading.rightmost else visible[0]
    kinds = {j: reading.types[reading.kinds[start + j - 1]] for j in visible}
    winners = [kind for kind in kinds[winner] if kind.selected and kind.value == bit]
    lone = not winners or (winner == last and _weaker(winners, kinds[winner], bit))
    result = []
    for j in visible:
        beyond = (j > winner) == reading.rightmost
        types = kinds[j]
        if j == winner:
            own = [kind for kind in types if kind.value == bit and kind.selected is bool(winners)]
            result.append((j, min(own, key=logit)))
        else:
            free = types if not beyond and not lone else [kind for kind in types if not kind.selected]
            result.append((j, worst(free)))
    return result


def _weaker(winners: Sequence[LocalType], types: Sequence[LocalType], bit: int) -> bool:
    """Whether the case of no winner is meant: there is no selected type with this value."""
    return not winners and any(not kind.selected and kind.value == bit for kind in types)
