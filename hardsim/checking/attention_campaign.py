"""A check of a hard-attention model: exact hard attention, its softmax model and, where there is one, the semantics, on
many words; every activation beside the bound of Theorem 26."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import islice
from math import log
from multiprocessing import get_context

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.measure import HeadFacts
from hardsim.ahat.recursion import LayerBounds
from hardsim.checking.attention import AttentionOptions, AttentionSubject
from hardsim.checking.attention_plan import LengthPlan, Preparation, plan_length, prepare
from hardsim.checking.attention_result import (
    AttentionLength,
    AttentionMismatch,
    AttentionResult,
    Growth,
    HeadRow,
    LayerRow,
    Violation,
    weightier,
)
from hardsim.checking.attention_tally import ErrorTally, resolved
from hardsim.checking.attention_words import SoftJudge
from hardsim.checking.campaign import (
    CheckOptions,
    Progress,
    Report,
    effort,
    ignore_interrupts,
    processors,
    without_interrupts,
)
from hardsim.checking.result import Verdict, Word
from hardsim.checking.words import count_words, planned_count
from hardsim.checking.words import plan_length as plan_words
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
    subject: AttentionSubject, options: CheckOptions, choice: AttentionOptions, progress: Report | None = None
) -> AttentionResult:
    """Compare hard attention and softmax (and the semantics of a program) on the words of length 1 to `options.max_n`.

    A KeyboardInterrupt ends it early with a result that is marked partial.

    Raises:
        InputError: if an option does not apply, or a word leaves the range of a program's construction (OutOfRange).
        Undecided: if a word's answer is not settled at the limit of the precision.
    """
    campaign = _Campaign(subject, options, choice, progress)
    partial = False
    try:
        campaign.run()
    except KeyboardInterrupt:
        partial = True
    return campaign.result(partial)


HOW = {
    "auto": "in certified float64 and ball arithmetic",
    "float64": "in certified float64",
    "ball": "in ball arithmetic",
    "mpmath": "in mpmath (no rigorous enclosure; rounding is negligible)",
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


def words_of(subject: AttentionSubject, options: CheckOptions, n: int) -> tuple[list[Word], bool]:
    """The words of one length that are tried, and whether they are all."""
    exact = ExactModel(subject.hard)

    def accepts(word: Word) -> bool:
        if not subject.acceptor:
            return False
        if subject.oracle is not None:
            return subject.oracle(word) is True
        return exact.verdict(exact.outputs(exact.run([subject.prepared(word)]))[0]) is True

    tried = effort(options, n)
    examples = tuple(word for word, _ in subject.examples)
    plan = plan_words(
        subject.alphabet, n, options.exhaustive, tried.samples, options.seed, accepts, examples, tried.structured,
        tried.pairs if subject.acceptor else 0,
    )  # fmt: skip
    return list(plan.words), plan.exhaustive


def attention_workers(subject: AttentionSubject, options: CheckOptions) -> int:
    """How many processes are worth starting: one for a quick check, else one for each available processor."""
    size, total = len(subject.alphabet), 0
    for n in range(1, options.max_n + 1):
        tried = effort(options, n)
        words = planned_count(size, n, options.exhaustive, tried.samples, 0, tried.structured, tried.pairs)
        total += words * (len(subject.prepared((subject.alphabet[0],) * n)) + 1) ** 2
    return 1 if total * max(1, len(subject.hard.heads)) < QUICK else processors()


class _Campaign:
    """What was found, length by length; what is there when it is interrupted is its partial result."""

    def __init__(
        self, subject: AttentionSubject, options: CheckOptions, choice: AttentionOptions, progress: Report | None
    ) -> None:
        self.subject = subject
        self.options = options
        self.choice = choice
        self.progress = progress
        self.engine = engine_of(options.engine)
        self.lengths: list[AttentionLength] = []
        self.mismatch: AttentionMismatch | None = None
        self.violation: Violation | None = None
        self.preparation: Preparation | None = None
        self.done = 0

    def run(self) -> None:
        words: dict[int, list[Word]] = {}
        whole: dict[int, bool] = {}
        for n in range(1, self.options.max_n + 1):
            words[n], whole[n] = words_of(self.subject, self.options, n)
        self.preparation = prepare(self.subject, words, whole)
        total = sum(len(some) for some in words.values())
        with _Pool(self.subject, self.options.workers, self.engine) as pool:
            for n, some in words.items():
                plan = plan_length(self.preparation, self.subject, self.choice, n)
                tally = ErrorTally()
                for part in pool.tallies(plan.model, self.preparation.hard, some):
                    tally.merge(part)
                    self.done += part.words
                    if self.progress is not None:
                        self.progress(Progress(n, self.done, total, tally.soft_mismatches + tally.hard_mismatches))
                self.mismatch = weightier(self.mismatch, tally.mismatch)
                self.violation = self.violation or plan.violation or exceeded(plan, tally, self.preparation.hard)
                possible = count_words(len(self.subject.alphabet), n)
                self.lengths.append(length_result(self.preparation.hard, n, possible, plan, tally))

    def result(self, partial: bool) -> AttentionResult:
        subject, lengths = self.subject, tuple(self.lengths)
        verdict, reach = judge(lengths, self.mismatch, self.violation, self.engine)
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
            reach=reach,
            mismatch=self.mismatch,
            violation=self.violation,
            partial=partial,
        )


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
        theorem=plan.solution.tau,
        epsilon=plan.epsilon,
        error=layers[-1].error if layers else ZERO,
        bound=plan.bounds.final,
        bits=tally.bits,
        assumption=plan.assumption,
        layers=tuple(layers),
        heads=tuple(heads),
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


def exceeded(plan: LengthPlan, tally: ErrorTally, hard: Transformer) -> Violation | None:
    """A coordinate whose error certainly is larger than its bound."""
    for (number, stage, coordinate), (low, _) in sorted(tally.errors.items()):
        layer = plan.bounds.layers[number]
        bound = (layer.attended, layer.final)[stage][coordinate]
        if low > bound:
            what = f"the error bound of coordinate {hard.coordinates[coordinate]} in layer {number + 1}"
            return Violation(what, plan.facts.n, None, low, bound)
    return None


def judge(
    lengths: Sequence[AttentionLength], mismatch: AttentionMismatch | None, violation: Violation | None, engine: str
) -> tuple[Verdict, str]:
    """The verdict and what it speaks of."""
    if mismatch is not None and mismatch.refutes:
        return Verdict.REFUTED, f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}"
    if violation is not None:
        return Verdict.REFUTED, f"{violation.what} does not hold at length {violation.n}"
    if not lengths:
        return Verdict.UNDECIDED, "no word was tried"
    if mismatch is not None:
        return Verdict.UNDECIDED, NO_ANSWER
    words = sum(length.words for length in lengths)
    whole = [length.n for length in lengths if length.exhaustive]
    every = f"all words up to length {whole[-1]}" if whole == list(range(1, len(whole) + 1)) and whole else ""
    rest = f"{sum(x.words for x in lengths if not x.exhaustive):,} words of other lengths up to {lengths[-1].n}"
    parts = [part for part in (every, rest if len(whole) < len(lengths) else "") if part]
    verdict = Verdict.OBSERVED if engine == "mpmath" else Verdict.CERTIFIED
    return verdict, f"{words:,} words, {' and '.join(parts)}: every answer and every error bound, {HOW[engine]}"


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


def growth(lengths: Sequence[AttentionLength]) -> tuple[Growth, ...]:
    """Power laws fitted to gap(n), X(n) and 1/tau(n) where there are three lengths or more."""
    found: list[Growth] = []
    series: Mapping[str, list[tuple[int, Fraction]]] = {
        "gap": [(x.n, x.gap) for x in lengths if x.gap],
        "size": [(x.n, x.size) for x in lengths if x.size],
        "1/tau": [(x.n, 1 / x.theorem) for x in lengths if x.theorem and x.gap],
    }
    for what, points in series.items():
        if len(points) >= 3:
            found.append(fit(what, points))
    return tuple(found)


def fit(what: str, points: Sequence[tuple[int, Fraction]]) -> Growth:
    """Least squares of log value against log n."""
    xs, ys = [log(n) for n, _ in points], [log(value.numerator) - log(value.denominator) for _, value in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread
    return Growth(what, slope, 2.718281828459045 ** (y - slope * x), (points[0][0], points[-1][0]))


# ---- processes ----


class _Pool:
    """Judges words in this process, or in several; the results come in order, so they do not depend on the number."""

    def __init__(self, subject: AttentionSubject, workers: int, engine: Engine) -> None:
        self.subject = subject
        self.engine = engine
        self.pool: ProcessPoolExecutor | None = None
        if workers > 1:
            self.pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=ignore_interrupts)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)

    def tallies(self, model: Transformer, hard: Transformer, words: Sequence[Word]) -> Iterator[ErrorTally]:
        """The tallies of the words, shard by shard."""
        source = iter(words)
        shards = iter(lambda: tuple(islice(source, SHARD)), ())
        if self.pool is None:
            judge = SoftJudge(self.subject, model, hard, self.engine)
            yield from (judge.tally(shard) for shard in shards)
            return
        jobs = []
        for shard in shards:
            with without_interrupts():  # processes start here, and must not take Ctrl-C for themselves
                jobs.append(self.pool.submit(_tally, self.subject, model, hard, self.engine, shard))
        yield from (job.result() for job in jobs)


def _tally(
    subject: AttentionSubject, model: Transformer, hard: Transformer, engine: Engine, words: tuple[Word, ...]
) -> ErrorTally:
    return SoftJudge(subject, model, hard, engine).tally(words)
