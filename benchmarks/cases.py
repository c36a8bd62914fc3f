"""The languages that are measured, and six ways to run the network of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.dense import DensePass
from benchmarks.naive import NaivePass
from benchmarks.timing import Answers, Pass
from hardsim.checking.engines import FloatEngine, HardRunner, Watched, WordEngine, batches
from hardsim.checking.open import read_input
from hardsim.checking.result import BALL, Answer, Word
from hardsim.checking.result import MPMATH as MP
from hardsim.checking.sharpening import plan_length, prepare_words
from hardsim.checking.subject import ModelOptions, Subject
from hardsim.checking.words import sample_words
from hardsim.network.model import Transformer
from hardsim.program.assemble import assemble

ROOT = Path(__file__).resolve().parents[1]
SEED = 0

DENSE = "plain numpy"
FLOAT = "float64 pass"
CERTIFIED = "certified float64"
BALLS = "balls"
MPMATH = "mpmath"
NAIVE = "naive mpmath"
PASSES = (DENSE, FLOAT, CERTIFIED, BALLS, MPMATH, NAIVE)

Run = Callable[[], Answers]


@dataclass(frozen=True, slots=True)
class Effort:
    """How many words each pass gets at a length (float passes; balls and mpmath; naive), and how often it is run."""

    batch: int
    single: int
    naive: int = 1
    repeats: int = 5
    single_repeats: int = 3
    naive_repeats: int = 1


EFFORTS = {16: Effort(256, 8, 4, naive_repeats=3), 64: Effort(64, 6, 1, naive_repeats=2), 256: Effort(16, 4)}
QUICK = Effort(12, 4, 1, repeats=1, single_repeats=1)


@dataclass(frozen=True, slots=True)
class Case:
    """A language: its name, its file, and the regime of a formula's network (None: a program)."""

    name: str
    file: str
    regime: str | None

    def passes(self, n: int, effort: Effort) -> tuple[list[Pass], list[bool]]:
        """The six passes over seeded words of length n, accepted and rejected ones, and what is right of each word."""
        options = ModelOptions() if self.regime is None else ModelOptions(regime=self.regime)
        return network_passes(read_input(str(ROOT / self.file)).compile(options), n, effort)


CASES = (
    Case("flip-flop", "formulas/flipflop.ltl", "temperature"),
    Case("flip-flop, causal", "formulas/flipflop.ltl", "causal-position"),
    Case("PARITY", "formulas/parity.ltl", "temperature"),
    Case("Dyck-2", "formulas/dyck2.srasp", None),
)


def network_passes(subject: Subject, n: int, effort: Effort) -> tuple[list[Pass], list[bool]]:
    """The softmax network of a subject: of a formula the one for every length, whose output is exactly 0 or 1, of a
    program that at Theorem 26's temperature for these words, whose output is compared with a threshold."""
    oracle = subject.oracle
    assert oracle is not None
    seeds = [word for word, _ in subject.examples]
    words = sample_words(subject.alphabet, n, effort.batch, SEED, lambda word: oracle(word) is True, seeds)
    network, program = subject.stored, subject.program
    parts = [list(words)]
    if network is None:
        found = prepare_words(subject, {n: words}, {n: False}, keep=False)[0]
        network, program = assemble(found.program, plan_length(found, subject, n).schedule), found.program
        parts = list(batches(words, n + network.bos))
    runner = HardRunner(subject, program)
    watched = Watched(program, network, streams=subject.stored is None)
    hards = [runner.run(part) for part in parts]

    def engine() -> FloatEngine:
        return FloatEngine(subject, network, watched)

    def float_pass() -> Run:
        floats = engine()

        def run() -> Answers:
            answers: Answers = []
            for part in parts:
                here: Answers = [None] * len(part)
                for trace, rows in floats.passes(part):
                    known, _ = floats.answers(trace, n)
                    for row, place in rows.tolist():
                        here[place] = _sure(known[row])
                answers += here
            return answers

        return run

    def certified() -> Run:
        floats = engine()
        pairs = list(zip(parts, hards, strict=True))
        return lambda: [_sure(answer) for part, hard in pairs for answer in floats.batch(part, hard).answers]

    def one_by_one(name: str) -> Run:
        single = WordEngine(subject, network, watched, name, None)
        return lambda: [_sure(single.decision(word)[1]) for word in words[: effort.single]]

    runs = Runs(float_pass, certified, lambda: one_by_one(BALL), lambda: one_by_one(MP))
    digits = WordEngine(subject, network, watched, MP, None).run(words[0]).digits
    return all_passes(network, words, digits, effort, runs), [oracle(word) is True for word in words]


def _sure(answer: Answer) -> bool | None:
    """An acceptor's answer."""
    return answer if isinstance(answer, bool) else None


@dataclass(frozen=True, slots=True)
class Runs:
    """Four of the project's own ways to run a network, each as what prepares it."""

    float_pass: Callable[[], Run]
    certified: Callable[[], Run]
    balls: Callable[[], Run]
    mpmath: Callable[[], Run]


def all_passes(model: Transformer, words: list[Word], digits: int, effort: Effort, runs: Runs) -> list[Pass]:
    """The six passes; the naive one has as many decimal digits as mpmath is given."""
    n = len(words[0])
    threshold = Fraction(1, 2) if model.threshold is None else Fraction(model.threshold)

    def dense() -> Run:
        network = DensePass(model, n)
        symbols = network.numbers(words)
        return lambda: [bool(value > float(threshold)) for value in network.run(symbols)]

    def naive() -> Run:
        network = NaivePass(model, n, digits)
        return lambda: [bool(network.run(word) > threshold) for word in words[: effort.naive]]

    batch, single = effort.batch, effort.single
    return [
        Pass(DENSE, batch, effort.repeats, dense, warm=True, exact=False),
        Pass(FLOAT, batch, effort.repeats, runs.float_pass, warm=True),
        Pass(CERTIFIED, batch, effort.repeats, runs.certified, warm=True),
        Pass(BALLS, single, effort.single_repeats, runs.balls),
        Pass(MPMATH, single, effort.single_repeats, runs.mpmath),
        Pass(NAIVE, effort.naive, effort.naive_repeats, naive),
    ]
