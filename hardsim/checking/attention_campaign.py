"""A check of a hard-attention model: exact hard attention, its softmax model and, where there is one, the semantics, on
many words; every activation beside the bound of Theorem 26."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from hardsim.ahat.measure import HeadFacts
from hardsim.ahat.recursion import LayerBounds
from hardsim.checking.attention import AttentionOptions, AttentionSubject
from hardsim.checking.attention_plan import LengthPlan, Preparation, added, plan_length, prepare
from hardsim.checking.attention_result import (
    AttentionLength,
    AttentionMismatch,
    AttentionResult,
    HeadRow,
    LayerRow,
    Violation,
    weightier,
)
from hardsim.checking.attention_samples import requested, words_by_length
from hardsim.checking.attention_tally import ErrorTally, resolved
from hardsim.checking.attention_words import SoftJudge
from hardsim.checking.campaign import CheckOptions, Progress, Report
from hardsim.checking.checkpoint import Memory
from hardsim.checking.execution import Answer as ShardAnswer
from hardsim.checking.execution import Crew, Job, LocalCrew, Shard, processors
from hardsim.checking.growth import growth
from hardsim.checking.interrupts import held, to_the_report
from hardsim.checking.result import CERTIFY, MPMATH, OBSERVED_MISMATCH, Verdict, Word, no_answer
from hardsim.checking.words import count_words
from hardsim.errors import InputError
from hardsim.net.model import Transformer
from hardsim.run.soft import Engine

SHARD = 64
QUICK = 3_000_000
"""Scores that are computed before another process would have started."""
ENGINES: dict[str, Engine] = {"auto": "auto", "float64": "float64", "ball": "ball", "mpmath": "mpmath"}
"""The arithmetics of softmax models."""
ZERO = Fraction(0)
NO_ANSWER = "hard attention itself decides nothing on a word: its output is the threshold"


def check_attention(
    subject: AttentionSubject,
    options: CheckOptions,
    choice: AttentionOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
    stopped: bool = False,
) -> AttentionResult:
    """Compare hard attention and softmax (and the semantics of a program) on the words of length 1 to `options.max_n`.

    Crew and memory are as in `check_subject`. A KeyboardInterrupt ends it early with a result that is marked partial
    (one that came before, `stopped`, at once).

    Raises:
        InputError: if an option does not apply, or a word leaves the range of a program's construction (OutOfRange).
        WorkerFailure: if workers are lost again and again.
    """
    campaign = _Campaign(subject, options, choice, progress, crew or LocalCrew(options.workers), memory or Memory())
    return to_the_report(campaign.run, campaign.result, stopped)


HOW = {
    "auto": "in certified float64 and ball arithmetic",
    "float64": "in certified float64",
    "ball": "in ball arithmetic",
    "mpmath": "in mpmath (no rigorous enclosure)",
}


def engine_of(name: str) -> Engine:
    """The arithmetic that a name of `--engine` means here.

    Raises:
        InputError: if it does not run hard-attention models.
    """
    if name not in ENGINES:
        raise InputError(
            f"engine '{name}' does not run hard-attention models and programs",
            hint=f"Those that do: {', '.join(ENGINES)}.",
        )
    return ENGINES[name]


def attention_workers(subject: AttentionSubject, options: CheckOptions) -> int:
    """How many processes are worth starting: one for a quick check, else one for each available processor."""
    total, heads = 0, max(1, len(subject.hard.heads))
    for n in range(1, options.max_n + 1):
        total += requested(subject, options, n) * (len(subject.prepared((subject.alphabet[0],) * n)) + 1) ** 2
        if total * heads >= QUICK:  # whatever the longer lengths add
            return processors()
    return 1


class _Campaign:
    """What was found, length by length; what is there when it is interrupted is its partial result."""

    def __init__(
        self,
        subject: AttentionSubject,
        options: CheckOptions,
        choice: AttentionOptions,
        progress: Report | None,
        crew: Crew,
        memory: Memory,
    ) -> None:
        self.subject = subject
        self.options = options
        self.choice = choice
        self.progress = progress
        self.crew = crew
        self.memory = memory
        self.engine = engine_of(options.engine)
        known = memory.state or {}
        self.lengths: list[AttentionLength] = known.get("lengths", [])
        self.mismatch: AttentionMismatch | None = known.get("mismatch")
        self.violation: Violation | None = known.get("violation")
        self.stuck: Word | None = known.get("stuck")
        self.tally: ErrorTally = known.get("tally") or ErrorTally()
        """Of the length under way."""
        _hold_resumed(self.lengths, self.tally, options.max_n)
        self.plan: LengthPlan | None = None
        """Of the same length, once it is made."""
        self.preparation: Preparation | None = None
        self.before = self.done = sum(length.words for length in self.lengths) + self.tally.words

    def run(self) -> None:
        words, whole = words_by_length(self.subject, self.options, range(1, self.options.max_n + 1))
        self.preparation = prepare(self.subject, words, whole)
        total = sum(len(some) for some in words.values())
        for n in range(len(self.lengths) + 1, self.options.max_n + 1):
            self._length(self.preparation, n, words[n], total)

    def _length(self, preparation: Preparation, n: int, words: Sequence[Word], total: int) -> None:
        plan = self.plan = plan_length(preparation, self.subject, self.choice, n)
        job = Job(attention_tallier, (self.subject, plan.model, preparation.hard, self.engine))
        source = islice(words, self.tally.words, None)
        shards = (Shard(n, shard) for shard in iter(lambda: tuple(islice(source, SHARD)), ()))
        with closing(self.crew.run(job, shards)) as parts:
            for part in parts:
                with held():
                    self.tally.merge(part)
                    self.done += part.words
                    self.memory.keep(self._state, self.done)
                    if self.progress is not None:
                        undecided = sum(length.undecided for length in self.lengths) + self.tally.undecided
                        self.progress(Progress(n, self.done, total, self._mismatches(), undecided, self.before))
        with held():
            self._finish(preparation, plan)

    def _finish(self, preparation: Preparation, plan: LengthPlan) -> None:
        """The length under way, as far as it is, becomes a result."""
        n, (tally, self.tally), self.plan = len(self.lengths) + 1, (self.tally, ErrorTally()), None
        self.mismatch = weightier(self.mismatch, tally.mismatch)
        self.stuck = self.stuck or tally.stuck
        self.violation = self.violation or plan.violation or exceeded(plan, tally, preparation.hard, self.engine)
        possible = count_words(len(self.subject.alphabet), n)
        row = length_result(preparation.hard, n, possible, plan, tally)
        self.lengths.append(replace(row, exhaustive=row.exhaustive and tally.words == possible))

    def _mismatches(self) -> int:
        found: list[AttentionLength | ErrorTally] = [*self.lengths, self.tally]
        return sum(one.soft_mismatches + one.hard_mismatches for one in found)

    def _state(self) -> dict[str, object]:
        """What another run needs to go on from here."""
        return {
            "lengths": self.lengths,
            "mismatch": self.mismatch,
            "violation": self.violation,
            "stuck": self.stuck,
            "tally": self.tally,
        }

    def result(self, partial: bool) -> AttentionResult:
        if self.preparation is not None and self.plan is not None and self.tally.words:
            self._finish(self.preparation, self.plan)
        self.mismatch = weightier(self.mismatch, self.tally.mismatch)
        subject, lengths = self.subject, tuple(self.lengths)
        verdict, reach = judge(lengths, self.mismatch, self.violation, self.engine)
        broken = () if self.preparation is None else self.preparation.broken
        return AttentionResult(
            name=subject.name,
            sha256=subject.sha256,
            kind=subject.kind,
            title=subject.title,
            summary=summary(subject, self.preparation),
            engine=self.options.engine,
            seed=self.options.seed,
            max_n=self.options.max_n,
            lengths=lengths,
            ties=() if self.preparation is None else self.preparation.ties,
            growth=growth(lengths),
            verdict=verdict,
            reach=reach + added(broken),
            mismatch=self.mismatch,
            violation=self.violation,
            partial=partial,
            stuck=None if self.mismatch is not None else self.stuck,
        )


def _hold_resumed(lengths: Sequence[AttentionLength], tally: ErrorTally, max_n: int) -> None:
    """Hold that an earlier run left lengths from 1 on and a tally of the next one.

    Raises:
        ValueError: if it left something else.
    """
    if [length.n for length in lengths] != list(range(1, len(lengths) + 1)) or len(lengths) > max_n or tally.words < 0:
        raise ValueError("other lengths than those from 1 on")


# ---- what was found ----


def length_result(hard: Transformer, n: int, possible: int, plan: LengthPlan, tally: ErrorTally) -> AttentionLength:
    """One length as data."""
    layers: list[LayerRow] = []
    heads: list[HeadRow] = []
    for number, (layer, facts, bounds) in enumerate(
        zip(hard.layers, plan.facts.layers, plan.bounds.layers, strict=True)
    ):
        kinds = [kind_of(facts.heads.get(head.name)) for head in layer.heads]
        layers.append(
            LayerRow(
                number=number + 1,
                kind="no attention" if not kinds else " and ".join(dict.fromkeys(sorted(kinds))),
                size=facts.size,
                attended_error=tally.error(number, 0, max(bounds.attended, default=ZERO)),
                attended_bound=max(bounds.attended, default=ZERO),
                error=tally.error(number, 1, max(bounds.final, default=ZERO)),
                bound=max(bounds.final, default=ZERO),
            )
        )
        for head, kind in zip(layer.heads, kinds, strict=True):
            heads.append(_head_row(hard, head.name, number + 1, kind, plan, bounds, tally))
    temperatures = [1 / beta for beta in plan.inverse]
    return AttentionLength(
        n=n,
        words=tally.words,
        possible=possible,
        exhaustive=plan.facts.exhaustive,
        accepted=tally.accepted,
        soft_mismatches=tally.soft_mismatches,
        hard_mismatches=tally.hard_mismatches,
        gap=plan.facts.gap,
        size=plan.facts.largest,
        tau=(min(temperatures), max(temperatures)),
        theorem=None if plan.solution is None else plan.solution.tau,
        epsilon=plan.epsilon,
        error=layers[-1].error if layers else ZERO,
        bound=plan.bounds.final,
        bits=tally.bits,
        assumption=plan.assumption,
        layers=tuple(layers),
        heads=tuple(heads),
        undecided=tally.undecided,
    )


def kind_of(facts: HeadFacts | None) -> str:
    """How a head attends on the words seen."""
    if facts is None:
        return "uniform"
    return "tieless" if max(facts.most) == 1 else "ties"


def _head_row(
    hard: Transformer, name: str, layer: int, kind: str, plan: LengthPlan, bounds: LayerBounds, tally: ErrorTally
) -> HeadRow:
    facts = plan.facts.heads.get(name)
    declared = next(head.gap for head in hard.heads if head.name == name)
    positions = range(hard.first, plan.facts.n + 1)
    bound = max((value for (head, _), value in bounds.values.items() if head == name), default=ZERO)
    return HeadRow(
        name=name,
        layer=layer,
        kind=kind,
        gap=None if facts is None else facts.gap,
        declared=None if declared is None else min(declared.evaluate(i=i, n=plan.facts.n) for i in positions),
        most=1 if facts is None else max(facts.most),
        reach=ZERO if facts is None else facts.reach,
        error=resolved([found for (head, _), found in tally.values.items() if head == name], bound),
        bound=bound,
    )


def exceeded(plan: LengthPlan, tally: ErrorTally, hard: Transformer, engine: str) -> Violation | None:
    """A coordinate whose error is larger than its bound, certainly so unless mpmath found it."""
    for (number, stage, coordinate), (low, _) in sorted(tally.errors.items()):
        layer = plan.bounds.layers[number]
        bound = (layer.attended, layer.final)[stage][coordinate]
        if low > bound:
            what = f"the error bound of coordinate {hard.coordinates[coordinate]} in layer {number + 1}"
            return Violation(what, plan.facts.n, None, low, bound, engine == MPMATH)
    return None


def judge(
    lengths: Sequence[AttentionLength], mismatch: AttentionMismatch | None, violation: Violation | None, engine: str
) -> tuple[Verdict, str]:
    """The verdict and what it speaks of: certain contradictions first, then those that mpmath saw."""
    found: list[tuple[bool, str]] = []
    if mismatch is not None and mismatch.refutes:
        found.append((mismatch.certain(engine), f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}"))
    if violation is not None:
        found.append((not violation.observed, f"{violation.what} does not hold at length {violation.n}"))
    if found:
        return contradiction(found)
    if not lengths:
        return Verdict.UNDECIDED, "no word was tried"
    if mismatch is not None:
        return Verdict.UNDECIDED, NO_ANSWER
    words = sum(length.words for length in lengths)
    undecided = sum(length.undecided for length in lengths)
    if undecided:
        return Verdict.UNDECIDED, f"{no_answer(undecided, words)}; the others agree"
    whole = [length.n for length in lengths if length.exhaustive]
    every = f"all words up to length {whole[-1]}" if whole == list(range(1, len(whole) + 1)) and whole else ""
    rest = f"{sum(x.words for x in lengths if not x.exhaustive):,} words of other lengths up to {lengths[-1].n}"
    parts = [part for part in (every, rest if len(whole) < len(lengths) else "") if part]
    verdict = Verdict.OBSERVED if engine == MPMATH else Verdict.CERTIFIED
    return verdict, f"{words:,} words, {' and '.join(parts)}: every answer and every error bound, {HOW[engine]}"


def contradiction(found: Sequence[tuple[bool, str]]) -> tuple[Verdict, str]:
    """The verdict where something contradicts a claim: a certain contradiction (True) before one that mpmath saw."""
    certain, what = max(found, key=lambda one: one[0])
    return (Verdict.REFUTED, what) if certain else (Verdict.OBSERVED, f"{OBSERVED_MISMATCH}: {what}; {CERTIFY}")


def summary(subject: AttentionSubject, preparation: Preparation | None) -> str:
    """The model in one line."""
    hard = subject.hard
    parts = [
        _counted(len(hard.layers), "layer"),
        _counted(len(hard.heads), "head"),
        f"dimension {hard.dimension}",
        _counted(hard.parameters, "parameter"),
    ]
    if hard.bos:
        parts.append("with a beginning of sequence")
    if preparation is not None and preparation.broken:
        parts.append(f"ties broken in {', '.join(preparation.broken)}")
    return ", ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def attention_tallier(subject: AttentionSubject, model: Transformer, hard: Transformer, engine: Engine) -> ShardAnswer:
    """What tallies the words of a shard: a softmax model beside the hard one."""
    judge = SoftJudge(subject, model, hard, engine)
    return lambda shard: judge.tally(shard.words)
