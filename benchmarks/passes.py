"""Ways to run the network of a language on the same words: what a check does, its alternatives, and what certainty
costs.

The alternatives to hardsim are batched PyTorch on one thread and plain numpy. hardsim does what a check does with
words: exact hard attention, certified float64 compared with it, the answers and the errors of all heads. Of a program's
words a check runs float64 on a share, if an error bound decides the others; then the facts that this bound rests on are
measured on every word. PyTorch and numpy only give an output for each word, without an error bound or hard
attention."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import product
from random import Random
from typing import Any

import numpy as np

from benchmarks.commands import BINARY, FLIPFLOP
from benchmarks.dense import DensePass, naive
from benchmarks.runner import ROOT, Case, FailedError, Target, turns
from hardsim.campaign.engines import FloatEngine, Hard, HardRunner, Watched, WordEngine, batches
from hardsim.campaign.preparation import LengthPlan, plan_length, prepare_words
from hardsim.campaign.words import members, sample_words
from hardsim.hard.batch_hard import BatchHard
from hardsim.hard.exact import HardTrace
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.program.assemble import assemble
from hardsim.sharpening.measure import measure
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_input
from hardsim.targets.result import BALL, MPMATH, Answer

CHECKED, EVERY = "certified + exact", "certified + exact, float64 on every word"
DENSE, FLOAT32, FLOAT64 = "plain numpy", "torch float32", "torch float64"
CERTIFIED, NAIVE, OWN = "certified float64", "plain mpmath", "hardsim's mpmath"
BALLS = "ball arithmetic"

Answers = Sequence[bool | None]
"""The answers of a pass, one for each word; None where the pass is undecided."""
Run = Callable[[], Answers]

LANGUAGES = {
    "flip-flop": (FLIPFLOP, "temperature"),
    "flip-flop, causal": (FLIPFLOP, "causal-position"),
    "PARITY": ("formulas/parity.ltl", "temperature"),
    "Dyck-2": ("formulas/dyck2.srasp", None),
    "flip-flop program": ("formulas/flipflop.srasp", None),
}
"""The file of each language, and the regime of a formula's network."""
EFFORTS = {16: (256, 8, 4, 3), 64: (64, 6, 1, 2), 256: (16, 4, 1, 1)}
"""For each length the numbers of words for float passes, for balls and mpmath, and for plain mpmath, and how often
plain mpmath is repeated."""
MANY = 512
"""Number of words in an additional batch of length 64. In the smaller batches a third of the time or more is overhead
that does not depend on the number of words."""
LIMITS_AT = 64
"""The length at which the ratios to plain numpy have targets."""


class Work:
    """Words of one length with the network that runs them: about `count` seeded words of length n, accepted and
    rejected ones, the softmax network, and the hard attention that it is compared with.

    The network of a formula is the same for every length, and its output is exactly 0 or 1. The network of a program
    has the temperature of Theorem 26 for these words, and its output is compared with a threshold."""

    def __init__(self, language: str, n: int, count: int) -> None:
        file, regime = LANGUAGES[language]
        subject = read_input(str(ROOT / file)).compile(ModelOptions() if regime is None else ModelOptions(regime))
        oracle = subject.oracle
        assert oracle is not None
        seeds = [word for word, _ in subject.examples]
        pool = members(subject.alphabet, n, lambda word: oracle(word) is True, Random(0), seeds, max(4, count // 4))
        words = sample_words(subject.alphabet, n, count, 0, pool)
        self.plan: LengthPlan | None = None
        if subject.one_network:
            network, program = subject.model, subject.program
        else:  # the network of a program is assembled at the temperature for these words
            found = prepare_words(subject, {n: words}, {n: False}, keep=False)[0]
            self.plan = plan_length(found, subject, n)
            network, program = assemble(found.program, self.plan.schedule), found.program
        self.n, self.subject, self.network, self.program, self.words = n, subject, network, program, words
        self.truth = [oracle(word) is True for word in words]
        # The words, in the batches that a check would run.
        self.parts = list(batches(words, n + network.bos))
        self.threshold = Fraction(1, 2) if network.threshold is None else Fraction(network.threshold)
        self.runner = HardRunner(subject, program)

    @cached_property
    def watched(self) -> Watched:
        """The coordinates of the residual stream where errors are measured."""
        return Watched(self.program, self.network, streams=not self.subject.one_network)

    # ---- ways to run them, each as what prepares it ----

    def plain(self, network: Any) -> Run:
        """Prepare a run in plain floats, of a `DensePass` or `BatchedPass`."""
        symbols = network.numbers(self.words)
        return lambda: [bool(value > float(self.threshold)) for value in network.run(symbols)]

    def torch(self, dtype: str) -> Run:
        """Prepare a run in PyTorch with numbers of type `dtype`."""
        from benchmarks.batched import BatchedPass  # which needs PyTorch

        return self.plain(BatchedPass(self.network, self.n, dtype))

    def certified(self) -> Run:
        """Prepare a run in certified float64 that bounds the errors of all heads against exact hard attention, which
        runs before the clock starts."""
        pairs = [(part, self.runner.run(part)) for part in self.parts]
        floats = FloatEngine(self.subject, self.network, self.watched)
        return lambda: [_sure(one) for part, hard in pairs for one in floats.batch(part, hard).answers]

    def checked(self, every: bool = False) -> Run:
        """Prepare a run of exact hard attention and of certified float64 compared with it, as a check runs words. An
        answer counts where the two agree.

        Where an error bound decides the words of a program, float64 runs on a share of them, and the facts of this
        bound are measured on every word; with `every`, float64 runs on every word. The bound itself is computed once
        for a length, before the clock starts, as the network's tables are."""
        floats, plan = FloatEngine(self.subject, self.network, self.watched), self.plan
        plan = None if every or plan is None or not plan.invisible else plan

        def agreed(part: Sequence[Any], hard: Hard) -> Answers:
            run = None
            if plan is not None:
                assert isinstance(hard.trace, HardTrace)
                measure(self.program, part, hard.trace)
                run = np.flatnonzero(plan.share(len(part)))
            found = floats.batch(part, hard, run)
            if run is not None:
                found.follow(hard.answers, run)
            return [_sure(one) if one == two else None for one, two in zip(found.answers, hard.answers, strict=True)]

        return lambda: [answer for part in self.parts for answer in agreed(part, self.runner.run(part))]

    def one_by_one(self, engine: str, count: int) -> Answers:
        """Run the first `count` words one by one, in balls or in mpmath."""
        single = WordEngine(self.subject, self.network, self.watched, engine, None)
        return [_sure(single.decision(word)[1]) for word in self.words[:count]]

    def naive(self, count: int, digits: int) -> Answers:
        """Run the first `count` words in plain mpmath with `digits` decimal digits."""
        network = naive(self.network, self.n, digits)
        return [bool(network.run(network.numbers([word]))[0] > self.threshold) for word in self.words[:count]]


def _sure(answer: Answer) -> bool | None:
    """Return an acceptor's answer, or None if it is undecided."""
    return answer if isinstance(answer, bool) else None


def costs(
    work: Work, runs: Mapping[str, Run], rounds: Sequence[int], warm: bool = False
) -> tuple[dict[str, float], str]:
    """Time passes in turns, each after a run of its own if `warm`; return the seconds a word of each, and how many
    words plain floats got wrong. Raises FailedError if another pass gives a wrong answer."""
    seconds, answers = turns(runs, rounds, warm=warm)
    notes = []
    for name, found in answers.items():
        truth = work.truth[: len(found)]
        wrong = sum(one is not None and one is not right for one, right in zip(found, truth, strict=True))
        if wrong and name not in (DENSE, FLOAT32, FLOAT64):
            raise FailedError(f"{name} is wrong on {wrong} words")
        notes += [f"{name} wrong on {wrong} of {len(found)}"] * bool(wrong)
        notes += [f"{name} undecided on {found.count(None)} of {len(found)}"] * (None in found)
    return {name: one / len(answers[name]) for name, one in seconds.items()}, "; ".join(notes)


def alternatives(language: str, n: int, count: int, rounds: int = 9) -> tuple[Mapping[str, float], str]:
    """Measure what a check does with `count` words of length n, plain numpy, and PyTorch where it is installed: the
    least of several rounds, of a batch that follows another one of the same pass, as in a check."""
    work = Work(language, n, count)
    runs: dict[str, Run] = {CHECKED: work.checked(), DENSE: work.plain(DensePass(work.network, n))}
    if work.plan is not None:
        runs[EVERY] = work.checked(every=True)
    if find_spec("torch") is None:
        print("torch is not installed: its rows are left out (pip install '.[bench]')", file=sys.stderr)
    else:
        runs |= {FLOAT32: work.torch("float32"), FLOAT64: work.torch("float64")}
    return costs(work, runs, [rounds] * len(runs), warm=True)


def throughput(language: str, n: int) -> tuple[Mapping[str, float], str]:
    """Measure all five passes; plain mpmath computes with as many digits as mpmath needs on the first word."""
    count, single, naive, repeats = EFFORTS[n]
    work = Work(language, n, count)
    digits = WordEngine(work.subject, work.network, work.watched, MPMATH, None).run(work.words[0]).digits
    runs: dict[str, Run] = {DENSE: work.plain(DensePass(work.network, n)), CERTIFIED: work.certified()}
    for run in runs.values():
        run()
    runs |= {name: partial(work.one_by_one, engine, single) for name, engine in ((BALLS, BALL), (OWN, MPMATH))}
    runs[NAIVE] = partial(work.naive, naive, digits)
    return costs(work, runs, (5, 5, 3, 3, repeats))


def long_words(what: str, count: int, n: int) -> tuple[Mapping[str, float], str]:
    """Measure exact hard attention and certified float64 on `count` words of length n, tables included."""
    work = Work("flip-flop", n, count)
    seconds, note = costs(work, {what: lambda: work.checked()()}, [1])
    if note:
        raise FailedError(note)
    return {what: seconds[what] * len(work.words)}, ""


def rates(hard: str, semantics: str, n: int = 16) -> tuple[Mapping[str, float], str]:
    """Measure how many words of length n exact semantics run in a second of processor time: hard attention with its
    gaps, and the formula's semantics, both for all words at once with a bit for each word."""
    given = read_input(str(ROOT / BINARY))
    subject = given.compile(ModelOptions())
    many, oracle = BatchHard(subject.program), BatchOracle(given.file)
    words = list(product(given.alphabet, repeat=n))
    symbols = many.symbols(words)
    runs: dict[str, Callable[[], Any]] = {
        hard: lambda: many.run(symbols).accepted,
        semantics: lambda: oracle.accepts(symbols),
    }
    seconds, answers = turns(runs, [3, 3])
    compare(answers, words, subject.oracle)
    return {name: len(words) / one for name, one in seconds.items()}, ""


def compare(answers: Mapping[str, Any], words: Sequence[Any], oracle: Any) -> None:
    """Compare a few hundred answers of each kind with the definition; raise FailedError if one is wrong."""
    for what, found in answers.items():
        places = range(0, len(words), max(1, len(words) // 256))
        wrong = sum(bool(found[place]) is not oracle(words[place]) for place in places)
        if wrong or len(found) != len(words):
            raise FailedError(f"{what}: wrong on {wrong} words, {len(found)} answers on {len(words)} words")


def _alternative(language: str, n: int, count: int) -> Case:
    rows: list[tuple[str, str, Target | None]] = [
        (f"{CHECKED} / {FLOAT32}", "x", ("≤", 0.5 if LANGUAGES[language][1] else 1.0)),
        *((f"{CHECKED} / {one}", "x", None) for one in (FLOAT64, DENSE)),
        (f"{EVERY} / {FLOAT32}", "x", None),
    ]
    name = f"{language}{f', {count} words' * (count == MANY)}, n = {n}"
    return Case("alternatives", name, rows, partial(alternatives, language, n, count), "s a word")


def _throughput(language: str, n: int) -> Case:
    limits: list[tuple[str, Target]] = [(f"{CERTIFIED} / {DENSE}", ("≤", 3)), (f"{BALLS} / {DENSE}", ("≤", 40))]
    rows = [(what, "x", target if n == LIMITS_AT else None) for what, target in limits]
    rows.append((f"{NAIVE} / {OWN}", "x", ("≥", 10)))
    return Case("throughput", f"{language}, n = {n}", rows, partial(throughput, language, n), "s a word")


LONG = "8 words of length 2,048, certified and exact"
RATES = "exact hard attention, bit-parallel", "the formula's semantics, bit-parallel"
SIZES = (64, 64), (64, MANY), (256, 16)
CASES = (
    Case("checks", FLIPFLOP, [(LONG, "s", ("≤", 10))], partial(long_words, LONG, 8, 2048)),
    *(_alternative(language, *size) for language in LANGUAGES for size in SIZES),
    *(_throughput(language, n) for language in [*LANGUAGES][:4] for n in EFFORTS),
    Case("exhaustive", f"{BINARY}, n = 16", [(one, "words/s", ("≥", 1e6)) for one in RATES], partial(rates, *RATES)),
)
"""The cases of the groups alternatives and throughput, and those of checks and exhaustive that run in this process."""
