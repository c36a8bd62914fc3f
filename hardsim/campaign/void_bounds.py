"""Find the error bounds that are void, and the head that failed first.

Under a regime's sharpness the bound of a head (Lemmas 6 and 7, and ours) assumes that the head reads exactly what hard
attention has there. Earlier clips make this true: each rounds what earlier heads wrote to an exact Boolean. Where an
earlier head is so far off that a clip does not give the Boolean of hard attention, the assumption is false for every
later head that depends on this clip, and its bound is void: it claims nothing there.

The bounds of Theorem 26 carry errors from layer to layer, and are never void.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from hardsim.campaign.engines import AFTER, ROUNDING
from hardsim.campaign.result import FirstFailure, Violation
from hardsim.campaign.tally import Tally
from hardsim.network.numbers import Rational
from hardsim.program.hard_attention import Head, Program, ProgramLayer
from hardsim.targets.result import MPMATH, Word

EXCEEDED = "the error bound of"
"""The first words of a violation about an exceeded bound."""


def void_after(program: Program, tally: Tally, engine: str) -> dict[str, FirstFailure]:
    """Return the heads that read a wrong value on a word of this length, by name, each with the head that failed
    first.

    A coordinate is wrong if it certainly differs from that of hard attention on some word of the tally. mpmath
    encloses nothing, so a difference within its rounding does not count.
    """
    tolerance = ROUNDING if engine == MPMATH else Fraction(0)
    if not any(found.reached > 0 for place, found in tally.extremes.items() if place[1:2] == (AFTER,)):
        return {}  # no coordinate is wrong, as usual
    return _Search(program, tally, tolerance).void


class _Search:
    """The search through the heads of a program, layer by layer. `wrong` are the coordinates that differ from hard
    attention's, `void` the heads that read one of them."""

    def __init__(self, program: Program, tally: Tally, tolerance: Fraction) -> None:
        self.tally, self.tolerance = tally, tolerance
        self.wrong: dict[str, FirstFailure] = {}
        self.void: dict[str, FirstFailure] = {}
        self.writers: dict[str, tuple[int, Head]] = {}
        for number, layer in enumerate(program.layers):
            for head in layer.heads:
                self._head(number, head)
            self._units(number, layer)

    def _head(self, number: int, head: Head) -> None:
        # A head that reads a wrong value has a void bound, but its output counts as wrong only once a clip shows it.
        cause = _earliest([self.wrong[name] for name in head.reads if name in self.wrong])
        if cause is not None:
            self.void[head.name] = cause
        for out, _ in head.values:
            self.writers[out] = number, head
            if cause is not None and head.uniform:  # a later head may read a mean as it is
                self.wrong[out] = cause

    def _units(self, number: int, layer: ProgramLayer) -> None:
        outs = dict.fromkeys(out for unit in layer.units for out, _ in unit.outs)
        for out in outs:
            found = self.tally.extremes.get((number, AFTER, out))
            if found is None or found.reached <= self.tolerance:
                continue
            # It is unknown which of several clips is wrong: the operator Y has one for even and one for odd positions.
            terms = [term for unit in layer.units if out in dict(unit.outs) for term in unit.reads]
            names = [name for name, _ in terms]
            causes = [self.wrong[name] for name in names if name in self.wrong]
            heads = [self.writers[name][1].name for name in names if name in self.writers]
            causes += [self.void[head] for head in heads if head in self.void]
            cause = _earliest(causes) or self._own(terms, found.word)
            if cause is not None:
                self.wrong.setdefault(out, cause)

    def _own(self, terms: Iterable[tuple[str, Rational]], word: Word) -> FirstFailure | None:
        """Return the failure of the head with the largest error, times its factor, in clips whose other inputs are
        right; None if no head's error was measured."""
        errors = [
            (abs(Fraction(factor)) * Fraction(self.tally.extremes[head.name, name].reached), -place, head, number)
            for place, (name, factor) in enumerate(terms)
            if name in self.writers
            for number, head in [self.writers[name]]
            if (head.name, name) in self.tally.extremes
        ]
        if not errors:
            return None
        _, _, head, number = max(errors, key=lambda one: one[:2])
        return FirstFailure(head.name, number + 1, self.tally.n, word)


def _earliest(causes: list[FirstFailure]) -> FirstFailure | None:
    """Return the failure in the earliest layer; None if there is none."""
    return min(causes, key=lambda cause: cause.layer, default=None)


def exceeded_bound(
    allowed: Mapping[str, Fraction], void: Mapping[str, FirstFailure], tally: Tally, engine: str
) -> Violation | None:
    """Return a violation by a measured error of what a head writes that exceeds the head's bound, for the first
    such head by name whose bound is not void; None if there is none. The violation is certain unless mpmath
    measured the error."""
    errors, tolerance = tally.errors, ROUNDING if engine == MPMATH else 0
    for place in sorted(place for place in errors if len(place) == 2):
        head, found = place[0], errors[place]
        bound = allowed.get(head)
        if bound is not None and head not in void and found.reached > 0 and found.reached > bound + tolerance:
            word, low = found.word if found.bounds[0] > bound else None, Fraction(found.reached)
            return Violation(f"{EXCEEDED} head {head}", tally.n, word, low, bound, engine == MPMATH)
    return None


def first_failure(by_length: Mapping[int, Mapping[str, FirstFailure]]) -> FirstFailure | None:
    """Return the failure at the shortest length, in the first layer there; None if there is none."""
    for _, void in sorted(by_length.items()):
        if void:
            return _earliest(list(void.values()))
    return None
