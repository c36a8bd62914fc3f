"""The languages that are measured, and the ways to run the network of each language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from benchmarks.dense import DensePass
from benchmarks.naive import NaivePass
from benchmarks.timing import Answers, Pass
from hardsim.campaign.engines import FloatEngine, Hard, HardRunner, Watched, WordEngine, batches
from hardsim.campaign.preparation import plan_length, prepare_words
from hardsim.campaign.words import sample_words
from hardsim.network.transformer import Transformer
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Program
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_input
from hardsim.targets.result import BALL, Answer, Word
from hardsim.targets.result import MPMATH as MP
from hardsim.targets.subject import Subject

ROOT = Path(__file__).resolve().parents[1]
SEED = 0

DENSE = "plain numpy"
CERTIFIED = "certified float64"
BALLS = "balls"
MPMATH = "mpmath"
NAIVE = "naive mpmath"
PASSES = (DENSE, CERTIFIED, BALLS, MPMATH, NAIVE)

Run = Callable[[], Answers]


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of words that each pass runs at a length, and how often the pass is repeated.

    `batch` is for the float passes, `single` for balls and mpmath, `naive` for naive mpmath.
    """

    batch: int
    single: int
    naive: int = 1
    repeats: int = 5
    single_repeats: int = 3
    naive_repeats: int = 1


EFFORTS = {16: Effort(256, 8, 4, naive_repeats=3), 64: Effort(64, 6, 1, naive_repeats=2), 256: Effort(16, 4)}


@dataclass(frozen=True, slots=True)
class Case:
    """A language: its name, its file, and the regime of a formula's network (None: the file is a program)."""

    name: str
    file: str
    regime: str | None

    def passes(self, n: int, effort: Effort) -> tuple[list[Pass], list[bool]]:
        """Return the five passes over seeded words of length n, accepted and rejected ones, and the expected answer of
        each word.
        """
        work = self.work(n, effort.batch)
        return five_passes(work, effort), work.truth

    def work(self, n: int, count: int) -> Work:
        """Choose about `count` seeded words of length n, and compile the network that runs them."""
        options = ModelOptions() if self.regime is None else ModelOptions(regime=self.regime)
        return Work.of(read_input(str(ROOT / self.file)).compile(options), n, count)


CASES = (
    Case("flip-flop", "formulas/flipflop.ltl", "temperature"),
    Case("flip-flop, causal", "formulas/flipflop.ltl", "causal-position"),
    Case("PARITY", "formulas/parity.ltl", "temperature"),
    Case("Dyck-2", "formulas/dyck2.srasp", None),
)


@dataclass(frozen=True)
class Work:
    """Words of one length with the network that runs them: accepted and rejected words, the softmax network, and the
    hard attention that it is compared with.

    The network of a formula is the same for every length, and its output is exactly 0 or 1. The network of a program
    has the temperature of Theorem 26 for these words, and its output is compared with a threshold.
    """

    subject: Subject
    network: Transformer
    program: Program
    words: list[Word]
    truth: list[bool]
    parts: list[list[Word]]
    """The words, in the batches that a check would run."""

    @staticmethod
    def of(subject: Subject, n: int, count: int) -> Work:
        """Choose about `count` seeded words of length n for an acceptor, and build its network."""
        oracle = subject.oracle
        assert oracle is not None
        seeds = [word for word, _ in subject.examples]
        words = sample_words(subject.alphabet, n, count, SEED, lambda word: oracle(word) is True, seeds)
        network, program = subject.stored, subject.program
        # A program has no stored network: it is assembled at the temperature for these words.
        if network is None:
            found = prepare_words(subject, {n: words}, {n: False}, keep=False)[0]
            network, program = assemble(found.program, plan_length(found, subject, n).schedule), found.program
        parts = list(batches(words, n + network.bos))
        return Work(subject, network, program, words, [oracle(word) is True for word in words], parts)

    @property
    def n(self) -> int:
        """Length of the words."""
        return len(self.words[0])

    @cached_property
    def threshold(self) -> Fraction:
        """The threshold: the network accepts a word if its output is greater."""
        return Fraction(1, 2) if self.network.threshold is None else Fraction(self.network.threshold)

    @cached_property
    def watched(self) -> Watched:
        """The coordinates of the residual stream where errors are measured."""
        return Watched(self.program, self.network, streams=self.subject.stored is None)

    # ---- ways to run them, each as what prepares it ----

    def dense(self) -> Run:
        """Prepare a run in plain numpy."""
        network = DensePass(self.network, self.n)
        symbols = network.numbers(self.words)
        return lambda: [bool(value > float(self.threshold)) for value in network.run(symbols)]

    def certified(self, hards: Sequence[Hard]) -> Run:
        """Prepare a run in certified float64 that bounds the errors of all heads against exact hard attention.

        `hards` are the results of hard attention, one for each batch; their time is not measured.
        """
        floats, pairs = self._floats(), list(zip(self.parts, hards, strict=True))
        return lambda: [_sure(answer) for part, hard in pairs for answer in floats.batch(part, hard).answers]

    def checked(self) -> Run:
        """Prepare a run of exact hard attention and of certified float64 compared with it, as a check runs words.

        An answer counts where the two agree.
        """
        floats, runner = self._floats(), HardRunner(self.subject, self.program)

        def run() -> Answers:
            answers: Answers = []
            for part in self.parts:
                hard = runner.run(part)
                soft = floats.batch(part, hard).answers
                answers += [_sure(one) if one == two else None for one, two in zip(soft, hard.answers, strict=True)]
            return answers

        return run

    def one_by_one(self, name: str, count: int) -> Run:
        """Prepare a run of the first `count` words one by one, in balls or in mpmath (`name`)."""
        single = WordEngine(self.subject, self.network, self.watched, name, None)
        return lambda: [_sure(single.decision(word)[1]) for word in self.words[:count]]

    def naive(self, count: int, digits: int) -> Run:
        """Prepare a run of the first `count` words in naive mpmath with `digits` decimal digits."""
        network = NaivePass(self.network, self.n, digits)
        return lambda: [bool(network.run(word) > self.threshold) for word in self.words[:count]]

    def _floats(self) -> FloatEngine:
        return FloatEngine(self.subject, self.network, self.watched)


def _sure(answer: Answer) -> bool | None:
    """Return an acceptor's answer, or None if it is undecided."""
    return answer if isinstance(answer, bool) else None


def five_passes(work: Work, effort: Effort) -> list[Pass]:
    """Return all five passes; naive mpmath computes with as many digits as mpmath needs on the first word."""
    batch, single = effort.batch, effort.single
    # Hard attention runs before the clock starts: `certified` measures float64 alone.
    hards = list(map(HardRunner(work.subject, work.program).run, work.parts))
    digits = WordEngine(work.subject, work.network, work.watched, MP, None).run(work.words[0]).digits
    return [
        Pass(DENSE, batch, effort.repeats, work.dense, warm=True, exact=False),
        Pass(CERTIFIED, batch, effort.repeats, lambda: work.certified(hards), warm=True),
        Pass(BALLS, single, effort.single_repeats, lambda: work.one_by_one(BALL, single)),
        Pass(MPMATH, single, effort.single_repeats, lambda: work.one_by_one(MP, single)),
        Pass(NAIVE, effort.naive, effort.naive_repeats, lambda: work.naive(effort.naive, digits)),
    ]
