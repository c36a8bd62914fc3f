"""From a hard-attention model to a softmax model: what is measured, which temperature follows, what it rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.harden import with_softmax
from hardsim.ahat.measure import LengthFacts
from hardsim.ahat.recursion import Bounds, error_bounds
from hardsim.ahat.temperature import DEFAULT_EPSILON, Solution, declared_gap, declared_gaps, inverses, solve
from hardsim.ahat.ties import break_ties
from hardsim.checking.attention import AttentionOptions, AttentionSubject
from hardsim.checking.attention_result import Tie, Violation
from hardsim.checking.attention_words import measure_words
from hardsim.checking.result import Word
from hardsim.errors import Undecided
from hardsim.net.model import Schedule, Transformer
from hardsim.net.tables import LengthTable
from hardsim.spec.ir import Weighting

SIDES = (Weighting.LEFTMOST, Weighting.RIGHTMOST)


@dataclass(frozen=True)
class LengthPlan:
    """One length: the facts of the hard model, the softmax model's temperature, and the bounds at it.

    `solution` is Theorem 26's for the error `epsilon`; where a temperature is given there need not be one, and
    `unsolved` says why.
    """

    facts: LengthFacts
    model: Transformer
    inverse: tuple[Fraction, ...]
    bounds: Bounds
    solution: Solution | None
    epsilon: Fraction
    assumption: str
    violation: Violation | None
    unsolved: str = ""

    @property
    def theorem(self) -> Fraction:
        """Theorem 26's temperature.

        Raises:
            Undecided: if there is none.
        """
        if self.solution is None:
            raise Undecided(self.unsolved)
        return self.solution.tau


@dataclass(frozen=True)
class Preparation:
    """All lengths: `hard` is the model that softmax simulates, with ties of leftmost and rightmost heads broken, unless
    its file is that of a softmax model."""

    hard: Transformer
    facts: Mapping[int, LengthFacts]
    ties: tuple[Tie, ...]
    broken: tuple[str, ...]
    """The heads whose ties were broken."""


def added(broken: Collection[str]) -> str:
    """That a verdict is about a softmax model with other weights than its file; empty if it has no others."""
    heads = ", ".join(broken)
    return f"; the softmax model has weights added that break the ties of {heads} (Lemma 8)" if heads else ""


def prepare(
    subject: AttentionSubject, words: Mapping[int, Sequence[Word]], exhaustive: Mapping[int, bool]
) -> Preparation:
    """Measure the hard model on the words of each length, and break ties that softmax could not break.

    A file of a softmax model is taken with the weights that it has, ties or not.

    Raises:
        OutOfRange: if a program leaves the range that its construction covers.
    """
    facts = _measure(subject, subject.hard, words, exhaustive)
    hard = subject.hard
    broken = [
        head.name
        for head in subject.hard.heads
        if subject.schedule is None
        and head.weighting in SIDES
        and any(found.heads[head.name].tie is not None for found in facts.values())
    ]
    if broken:
        hard = break_ties(hard, {name: _separation(hard, name, facts) for name in broken})
        after = _measure(subject, hard, words, exhaustive)
    else:
        after = facts
    return Preparation(hard, after, first_ties(facts), tuple(broken))


def _measure(
    subject: AttentionSubject, hard: Transformer, words: Mapping[int, Sequence[Word]], exhaustive: Mapping[int, bool]
) -> dict[int, LengthFacts]:
    exact = ExactModel(hard)
    found: dict[int, LengthFacts] = {}
    for n, some in words.items():
        found[n] = measure_words(subject, exact, some)
        found[n].exhaustive = exhaustive[n]
    return found


def _separation(hard: Transformer, name: str, facts: Mapping[int, LengthFacts]) -> Schedule:
    """By how much the scores of a head differ: what it declares, else what was measured (1 where all were equal)."""
    declared = next(head.gap for head in hard.heads if head.name == name)
    if declared is not None:
        return declared
    longest = max(found.n for found in facts.values())
    values = {found.n: found.heads[name].gap for found in facts.values()}
    return LengthTable(tuple(values.get(n) or Fraction(1) for n in range(1, longest + 1)), f"gap of head {name}")


def first_ties(facts: Mapping[int, LengthFacts]) -> tuple[Tie, ...]:
    """For each head with ties the shortest length at which there is one, with a word."""
    found: list[Tie] = []
    seen: set[str] = set()
    for n in sorted(facts):
        for name, head in facts[n].heads.items():
            if head.tie is not None and name not in seen:
                seen.add(name)
                count, witness = head.tie
                found.append(Tie(name, n, witness.word, witness.position, count))
    return tuple(found)


def plan_length(prepared: Preparation, subject: AttentionSubject, options: AttentionOptions, n: int) -> LengthPlan:
    """The temperature and the bounds at one length.

    Raises:
        InputError: if a declared gap or the temperature is not positive.
        Undecided: if no temperature is given, and none gives the wanted error.
    """
    facts, hard = prepared.facts[n], prepared.hard
    gaps, epsilon = declared_gaps(hard, facts), _epsilon(facts, options)
    schedule = options.tau or subject.schedule
    solution, unsolved = None, ""
    try:
        solution = solve(hard, facts, epsilon, gaps)
    except Undecided as failure:
        if schedule is None:
            raise
        unsolved = _why(prepared) or str(failure)
    if schedule is None:
        assert solution is not None
        model, bounds = with_softmax(hard, constant(solution.tau)), solution.bounds
        inverse = tuple(inverses(model, facts.n))
    else:
        model = with_softmax(hard, schedule)
        inverse = tuple(inverses(model, facts.n))
        bounds = error_bounds(hard, facts, inverse, gaps)
    return LengthPlan(
        facts=facts,
        model=model,
        inverse=inverse,
        bounds=bounds,
        solution=solution,
        epsilon=epsilon,
        assumption=assumption(hard, facts),
        violation=refuted_gap(hard, facts),
        unsolved=unsolved,
    )


def _why(prepared: Preparation) -> str:
    """Why no temperature is low enough: ties that only added weights would break."""
    sided = {head.name for head in prepared.hard.heads if head.weighting in SIDES}
    tie = next((tie for tie in prepared.ties if tie.head in sided), None)
    return (
        ""
        if tie is None
        else (
            f"head {tie.head} has ties from length {tie.n} on, and softmax shares its weight among them at every "
            "temperature; give the hard model alone (leftmost or rightmost as its weighting) to have weights "
            "added that break ties"
        )
    )


def constant(tau: Fraction) -> LengthTable:
    """A temperature for one length, whatever it is."""
    return _Constant((tau,))


@dataclass(frozen=True, slots=True)
class _Constant(LengthTable):
    """The same value at every length."""

    def evaluate(self, **given: int) -> Fraction:
        """The value."""
        return self.values[0]

    def __str__(self) -> str:
        return str(self.values[0])


def _epsilon(facts: LengthFacts, options: AttentionOptions) -> Fraction:
    """The wanted error: half the least distance of an output from the threshold, so that no answer changes."""
    if options.epsilon is not None:
        return options.epsilon
    if not facts.distance:
        return DEFAULT_EPSILON
    return min(DEFAULT_EPSILON, facts.distance / 2)


def assumption(hard: Transformer, facts: LengthFacts) -> str:
    """What the bounds at a length rest on besides Theorem 26; empty if on nothing."""
    if facts.exhaustive:
        return ""
    undeclared = [name for name in facts.heads if next(h.gap for h in hard.heads if h.name == name) is None]
    gap = "the sizes" if not undeclared else "gap and sizes"
    return f"{gap} measured on {facts.words:,} words"


def refuted_gap(hard: Transformer, facts: LengthFacts) -> Violation | None:
    """A row whose score gap is smaller than its head declares."""
    for head in hard.heads:
        found = facts.heads.get(head.name)
        if head.gap is None or found is None:
            continue
        for index, gap in enumerate(found.gaps):
            claimed = declared_gap(hard, head.name, index + hard.first, facts.n)
            if gap is not None and gap < claimed:
                what = f"the declared gap of head {head.name} at position {index + hard.first}"
                word = found.least[1].word if found.least is not None else None
                return Violation(what, facts.n, word, gap, claimed)
    return None
