"""The part of a check that depends on the target: how its words are judged, and the results of a length.

There are three ways: an external network is compared with its reference alone; a target with one network for every
length has bounds of its heads; a target with a network for each length is measured first, and Theorem 26 gives the
temperature and the bounds. `judging_of` is the one place that chooses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial

from hardsim.campaign.engines import head_bounds
from hardsim.campaign.judges import HardJudge, NetworkJudge
from hardsim.campaign.obstacles import hard_undecided
from hardsim.campaign.preparation import LengthPlan, Preparation, plan_length
from hardsim.campaign.result import FirstFailure, HardUndecided, LengthCounts, Mismatch, Violation
from hardsim.campaign.rows import budget_length, exceeded, judged_length, theorem_length
from hardsim.campaign.search import LengthSearch, Start
from hardsim.campaign.shrink import shrunk
from hardsim.campaign.tally import Tally, settle_mismatch
from hardsim.campaign.void_bounds import exceeded_bound, void_after
from hardsim.campaign.workers import Job, Shard
from hardsim.targets.base import Target
from hardsim.targets.external import External
from hardsim.targets.result import AUTO, BALL, MPMATH, Word
from hardsim.targets.subject import Subject

Plans = Mapping[int, LengthPlan]
"""The temperatures and bounds of lengths; empty unless Theorem 26 gives them."""


class Judging(ABC):
    """How a check judges the words of a target, with an engine, and decimal digits or None for the default."""

    measured: Subject | None = None
    """The target, if its words are measured before the temperatures are known."""

    def __init__(self, engine: str, dps: int | None) -> None:
        self.engine, self.dps = engine, dps

    @abstractmethod
    def job(self, prepared: Preparation | None = None) -> Job:
        """Return the job that answers a shard with the plan of its length, if there is one, and the tally."""

    @abstractmethod
    def row(self, tally: Tally, plans: Plans) -> LengthCounts | None:
        """Return the row of a length with a word tried; None if it has no row."""

    def unworded(self, longest: int) -> Iterable[int]:
        """Return the lengths below the longest that have a row without a word: no word there has an expected answer."""
        return ()

    @abstractmethod
    def again(self, found: Mismatch, named: bool) -> Mismatch:
        """Return a refuting mismatch as the report shows it; `named`: the user chose the words that were tried."""

    def hard_undecided(self, word: Word) -> HardUndecided | None:
        """Return the reason why hard attention itself decides nothing on a word; None if there is none."""
        return None

    def void(self, tally: Tally) -> dict[str, FirstFailure]:
        """Return, by name, the heads whose bounds are void at a length, each with the head that failed first."""
        return {}

    def violation(self, tally: Tally, plans: Plans) -> Violation | None:
        """Return a claim that a number of the tally refutes: a declared gap, or a bound; None if there is none."""
        return tally.violation


class NetworkJudging(Judging):
    """External networks: words are compared with the reference, and searched where there are too many to try all."""

    def __init__(self, subject: External, engine: str, dps: int | None) -> None:
        super().__init__(engine, dps)
        self.subject = subject

    def job(self, prepared: Preparation | None = None) -> Job:
        """Return the job that answers a shard with None, in place of a plan, and the tally."""
        return Job(network_judge, (self.subject, self.dps, self.engine))

    def row(self, tally: Tally, plans: Plans) -> LengthCounts | None:
        """Return the row of a length with a word tried."""
        return judged_length(self.subject, tally, self.engine)

    def unworded(self, longest: int) -> Iterable[int]:
        """Return the lengths below the longest at which no word has an expected answer."""
        return () if self.subject.domain is None else (n for n in range(1, longest) if not self.subject.possible(n))

    def again(self, found: Mismatch, named: bool) -> Mismatch:
        """Return the mismatch shrunk. Words that the user named are reported as they are."""
        # Reports show no more digits of it than float64 has.
        return found if named or self.engine == MPMATH else shrunk(self.subject, found, self.dps)


class HardJudging(Judging):
    """Targets with hard attention: semantics, hard attention and softmax are compared."""

    def __init__(self, subject: Subject, engine: str, dps: int | None) -> None:
        super().__init__(engine, dps)
        self.subject = subject

    def job(self, prepared: Preparation | None = None) -> Job:
        """Return the job that answers a shard with the plan of its length, if there is one, and the tally."""
        return Job(Judges, (self.subject, prepared, self.dps, self.engine))

    def again(self, found: Mismatch, named: bool) -> Mismatch:
        """Return the mismatch with the first expected value that no output has."""
        return replace(found, no_output=self.subject.no_output(found.oracle))

    def hard_undecided(self, word: Word) -> HardUndecided | None:
        """Return the reason why hard attention itself decides nothing on a word; None if there is none."""
        return hard_undecided(self.subject, word)


class OneNetworkJudging(HardJudging):
    """One network for every length, with bounds of its heads."""

    def __init__(self, subject: Subject, engine: str, dps: int | None) -> None:
        super().__init__(subject, engine, dps)
        self.claimed = cache(partial(head_bounds, subject))
        """The bounds of the heads at a length."""

    def row(self, tally: Tally, plans: Plans) -> LengthCounts | None:
        """Return the row of a length with a word tried."""
        return budget_length(self.subject, tally, self.engine, self.claimed(tally.n), self.void(tally))

    def again(self, found: Mismatch, named: bool) -> Mismatch:
        """Return the mismatch with the digits of balls under `auto`."""
        found = super().again(found, named)
        if self.engine != AUTO:
            return found
        judge = HardJudge(self.subject, self.subject.program, None, self.dps, BALL)
        return settle_mismatch(found, judge.answer)

    def void(self, tally: Tally) -> dict[str, FirstFailure]:
        """Return, by name, the heads whose bounds are void at a length, each with the head that failed first."""
        return void_after(self.subject.program, tally, self.engine) if self.subject.specified else {}

    def violation(self, tally: Tally, plans: Plans) -> Violation | None:
        """Return a claim that a number of the tally refutes: a declared gap, or a bound; None if there is none."""
        # Bounds are about the specification, and an edited network differs from it.
        if tally.violation is not None or not self.subject.specified:
            return tally.violation
        allowed = {name: head.bound for name, head in self.claimed(tally.n).items()}
        return exceeded_bound(allowed, self.void(tally), tally, self.engine)


class TemperatureJudging(HardJudging):
    """A network for each length, with the temperature and the bounds of Theorem 26. If `shared`, softmax runs on a
    share of the words where these bounds decide the others."""

    def __init__(self, subject: Subject, engine: str, dps: int | None, shared: bool) -> None:
        super().__init__(subject, engine, dps)
        self.measured, self.shared = subject, shared

    def job(self, prepared: Preparation | None = None) -> Job:
        """Return the job that answers a shard with the plan of its length, and the tally."""
        return Job(Judges, (self.subject, prepared, self.dps, self.engine, self.shared))

    def row(self, tally: Tally, plans: Plans) -> LengthCounts | None:
        """Return the row of a length with a word tried; None if it has no temperature."""
        plan = plans.get(tally.n)
        return None if plan is None else theorem_length(self.subject, plan, tally)

    def violation(self, tally: Tally, plans: Plans) -> Violation | None:
        """Return a claim that a number of the tally refutes: a declared gap, or a bound; None if there is none."""
        plan = plans.get(tally.n)
        return tally.violation if plan is None else plan.violation or exceeded(plan, tally, self.engine)


def judging_of(target: Target, engine: str, dps: int | None, shared: bool = False) -> Judging:
    """Return how the words of a target are judged; if `shared`, with softmax on a share of the words where error bounds
    decide the others."""
    if isinstance(target, External):
        return NetworkJudging(target, engine, dps)
    assert isinstance(target, Subject)
    if target.one_network:
        return OneNetworkJudging(target, engine, dps)
    return TemperatureJudging(target, engine, dps, shared)


# ---- in any process ----


class Judges:
    """A function object that returns the tally of a shard of any length, in any process. With `prepared` runs it
    makes the plan of the shard's length, and returns this plan with the tally. Otherwise it uses the one network that
    the subject has for every length, and returns None in place of a plan. `shared` is that of `HardJudge`."""

    def __init__(
        self, subject: Subject, prepared: Preparation | None, dps: int | None, engine: str, shared: bool = False
    ) -> None:
        self.subject, self.prepared, self.dps, self.engine = subject, prepared, dps, engine
        self.shared = shared
        self.plan: LengthPlan | None = None
        self.n = 0
        self.judge = None if prepared is not None else HardJudge(subject, subject.program, None, dps, engine)

    def __call__(self, shard: Shard) -> tuple[LengthPlan | None, Tally]:
        if self.prepared is not None and self.n != shard.n:
            self.n, self.plan = shard.n, plan_length(self.prepared, self.subject, shard.n, self.plan)
            self.judge = HardJudge(self.subject, self.prepared.program, self.plan, self.dps, self.engine, self.shared)
        assert self.judge is not None
        return self.plan, self.judge(shard)


def network_judge(subject: External, dps: int | None, engine: str) -> Callable[[Shard], tuple[None, Tally]]:
    """Return the function that tallies the shards of an external network, with None in place of a plan."""
    judge = NetworkJudge(subject, dps, engine)

    def found(shard: Shard) -> tuple[None, Tally]:
        if isinstance(shard.known, Start):
            return None, LengthSearch(subject, judge, shard.n, shard.known).run()
        return None, judge.tally(shard.words)

    return found
