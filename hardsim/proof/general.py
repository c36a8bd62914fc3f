"""Both links of a proof for the words of every length.

The argument is that of `network` and `prover`, with classes of sites in the place of sites and rational functions of
position and length in the place of numbers. What it needs besides: encodings and a temperature that are rational
functions of i, n and powers of -1 (predicates count as Booleans of which nothing is known), and heads for which a
series in closed form is small enough (`series`, `series_counts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

from hardsim.lang.core import Core
from hardsim.net.model import Transformer
from hardsim.proof import series, series_counts
from hardsim.proof.classes import Classes, Free
from hardsim.proof.clips import Which
from hardsim.proof.counts import common
from hardsim.proof.diagrams import TooLarge, clip
from hardsim.proof.general_meaning import Definitions, prove_general_meaning
from hardsim.proof.network import CLAIM, walk
from hardsim.proof.ratios import Domain, Line, Ratio, Value, line, lower, upper
from hardsim.proof.result import LinkProof, NotProved
from hardsim.proof.series import HeadArgument
from hardsim.proof.state import Attended, CountHead, State
from hardsim.run.plan import HeadPlan
from hardsim.spec.ir import HardProgram, Head, Kind, Mask, Rational

Tell = Callable[[State, HeadPlan, Head, int, list[int], list[int]], tuple[Attended, HeadArgument]]

TELL: Mapping[Kind, Tell] = {
    Kind.NEAREST: series.nearest,
    Kind.LOOKUP: series_counts.look_up,
    Kind.TABLE: series_counts.look_up,
    Kind.SIGN: series_counts.sign_test,
    Kind.SIGN_RAMP: series_counts.sign_test,
}
"""How the heads that attend by scores are argued for, by kind."""


@dataclass(frozen=True)
class GeneralHead:
    """A head with the argument that bounds its error for every length. `argument` is None for uniform heads, which are
    exact; `margin` is the least distance of the input of a clip that reads it from the threshold, 0 or 1, that it must
    have passed (None where no clip reads it), `clips` are those inputs."""

    name: str
    layer: int
    purpose: str
    argument: HeadArgument | None
    margin: Fraction | None
    clips: tuple[str, ...]


@dataclass(frozen=True)
class GeneralProof:
    """What was proved of a network for the words of every length; the links are those of `Proof`."""

    network: LinkProof
    meaning: LinkProof | None
    heads: tuple[GeneralHead, ...]
    predicates: tuple[str, ...]
    """The predicates of positions and lengths that count as free Booleans."""

    @property
    def proved(self) -> bool:
        """Whether every link that was asked for holds."""
        return self.network.holds and (self.meaning is None or self.meaning.holds)

    @property
    def margin(self) -> Fraction | None:
        """The least margin of all heads."""
        return min((head.margin for head in self.heads if head.margin is not None), default=None)

    @property
    def reason(self) -> str | None:
        """Why there is no proof."""
        return next((link.reason for link in (self.network, self.meaning) if link and not link.holds), None)


def prove_general(
    model: Transformer, program: HardProgram, core: Core | None = None, definitions: Definitions | None = None
) -> GeneralProof:
    """Try to prove that a network accepts exactly the words of a formula, for every word of every length.

    Without a core only the first link is tried. `definitions` has text and meaning of the formula's own predicates.
    """
    arguments: dict[str, HeadArgument] = {}

    def read(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> Attended:
        found, arguments[head.name] = TELL[head.kind](state, plan, head, layer, soft, hard)
        return found

    classes = Classes()
    state: State | None = None
    try:
        state = GeneralState(model, program, classes)
        walk(state, read, counted)
        link = LinkProof(CLAIM)
    except NotProved as failure:
        link = LinkProof(CLAIM, failure.reason, failure.head)
    except (TooLarge, RecursionError):
        link = LinkProof(CLAIM, "the formula's Boolean functions are too large for this prover", limit=True)
    except OverflowError:
        link = LinkProof(CLAIM, "a weight or an encoding is too large for this prover", limit=True)
    meaning = None if core is None else prove_general_meaning(program, core, classes, definitions or {})
    return GeneralProof(link, meaning, _heads(state, program, arguments), classes.predicates)


def _heads(state: State | None, program: HardProgram, arguments: Mapping[str, HeadArgument]) -> tuple[GeneralHead, ...]:
    """What is known of each head that the proof got to."""
    result = []
    for number, layer in enumerate(program.layers, start=1):
        for head in layer.heads:
            if state is not None and head.name in state.heads:
                attended = state.heads[head.name]
                margin = attended.worst.margin if attended and attended.worst else None
                clips = tuple(dict.fromkeys(str(item.pre) for part in program.layers for item in part.clips
                                            if head.out in dict(item.pre.terms)))  # fmt: skip
                result.append(GeneralHead(head.name, number, head.purpose, arguments.get(head.name), margin, clips))
    return tuple(result)


class GeneralState(State):
    """What is known of every coordinate in every class of sites."""

    sites: Classes

    def column(self, values: Sequence[Any]) -> list[int]:
        """An encoding by class: numbers and rational functions, or a free Boolean."""
        return [self.diagrams.variable(("predicate", value)) if isinstance(value, Free)
                else self.diagrams.terminal(value) for value in values]  # fmt: skip

    @cached_property
    def inverse(self) -> list[Any]:
        """The inverse temperature in every class."""
        return list(self.sites.inverse(self.model.temperature))

    def clipped(self, column: list[int]) -> list[int]:
        """The clip of an exact number in every class."""
        return [self._clipped(number, site) for site, number in enumerate(column)]

    def _clipped(self, number: int, site: int) -> int:
        """The clip of an exact number in a class; a line in i and n that is never inside (0, 1) is a Boolean of its
        own."""
        domain = self.sites.classes[site].domain

        def bounded(value: Any) -> Rational:
            if not isinstance(value, Ratio):
                return clip(value)
            low, high = lower(value, domain), upper(value, domain)
            if high is not None and high <= 0:
                return 0
            if low is not None and low >= 1:
                return 1
            raise NotProved(f"a clip of {value} is not decided where {self.sites.place(site)}")

        value = self.diagrams.value(number) if self.diagrams.constant(number) else None
        try:
            return self.diagrams.map(("clip", site), bounded, number)
        except NotProved:
            found = line(value) if isinstance(value, Ratio) else None
            if found is None or _inside(found, ()):
                raise
            return self.diagrams.variable(("clip of", value))


def _lattice(found: Line, steps: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """What a line in integers, plus integer multiples of steps, can be: constant + step * integer."""
    return found.constant, common([found.of_i, found.of_n, *steps])


def _inside(found: Line, steps: Sequence[Fraction]) -> bool:
    """Whether such a number can lie inside (0, 1)."""
    constant, step = _lattice(found, steps)
    if not step:
        return 0 < constant < 1
    above = constant + step * ceil((1 - constant) / step)
    return above - step > 0


# ---- clips that compare counts ----


def counted(
    state: State, rest: list[int], inputs: Sequence[tuple[int, Rational]], which: Which, what: str
) -> list[int]:
    """A clip of exact inputs, looked-up numbers and means, in every class.

    Where only integers are added (numbers looked up, and means over one position), the input is a constant plus
    multiples of a step, on both sides without end; otherwise it must be on one side of the threshold throughout.
    """
    assert isinstance(state, GeneralState)
    variable = state.diagrams.variable(("clip", which))
    result = []
    for site, number in enumerate(rest):
        steps, low, high, error = _inputs(state, inputs, site, what)
        taken: set[int] = set()
        for base in state.diagrams.values(number):
            one = state.sites.classes[site]
            margins = _sides(one.known(base), one.domain, steps, (low, high), what)
            taken |= margins.keys()
            _note(state, inputs, site, min(margins.values()) - error, what)
        result.append(variable if len(taken) == 2 else state.diagrams.terminal(taken.pop()))
    return result


def _sides(
    value: Value, domain: Domain, steps: Sequence[Fraction], span: tuple[Fraction, Fraction], what: str
) -> dict[int, Fraction]:
    """How far a clip's input is at least from the threshold, on each side that it can be on: a value, plus integer
    multiples of steps, plus something within a span."""
    found = line(value)
    constant, step = (Fraction(0), Fraction(0)) if found is None else _lattice(found, steps)
    if found is not None and step and span[0] == span[1]:
        over = constant + step * ceil((1 - constant) / step)
        if over - step > 0:
            raise NotProved(f"{what} is specified to be neither 0 nor 1 somewhere")
        return {0: step - over, 1: over - 1}
    low, high = lower(value, domain), upper(value, domain)
    if not steps and high is not None and high + span[1] <= 0:
        return {0: -high - span[1]}
    if not steps and low is not None and low + span[0] >= 1:
        return {1: low + span[0] - 1}
    raise NotProved(f"{what} is not known to be 0 or 1 for every length")


def _inputs(
    state: GeneralState, inputs: Sequence[tuple[int, Rational]], site: int, what: str
) -> tuple[list[Fraction], Fraction, Fraction, Fraction]:
    """The steps of the integers, the range of what is none, and how far the sum can be off."""
    one = state.sites.classes[site]
    steps: list[Fraction] = []
    low = high = error = Fraction(0)
    for coordinate, coefficient in inputs:
        factor = Fraction(coefficient)
        head = state.attended.get(coordinate)
        if coordinate in state.means:
            mask: Mask = state.means[coordinate].mask
            if series_counts.ALONE[mask](one):
                steps.append(factor)
            else:
                low, high = low + min(factor, Fraction(0)), high + max(factor, Fraction(0))
        elif isinstance(head, CountHead):
            if head.base:
                raise NotProved(f"{what} reads a number that is looked up with an offset")
            steps.append(factor * head.slope)
            error += abs(factor) * Fraction(float(head.error[site]))
        else:
            raise NotProved(f"{what} reads '{state.model.coordinates[coordinate]}' together with counts")
    return steps, low, high, error


def _note(state: State, inputs: Sequence[tuple[int, Rational]], site: int, margin: Fraction, what: str) -> None:
    """Note the margin of the heads that are read; fail where it is negative."""
    from hardsim.proof.worst import count_case

    heads = [head for k, _ in inputs if isinstance(head := state.attended.get(k), CountHead)]
    for head in heads:
        if head.worst is None or head.worst.margin is None or margin < head.worst.margin:
            head.worst = count_case(state, head, site, margin)
    if margin < 0:
        raise NotProved(
            f"the errors of the counts can add up so far that {what} is wrong", heads[0].name if heads else None
        )
