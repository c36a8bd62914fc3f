"""The languages that are measured, and six ways to run the network of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from benchmarks.dense import DensePass
from benchmarks.naive import NaivePass
from benchmarks.timing import Answers, Pass
from hardsim.checking.attention import Answer, AttentionOptions, AttentionSubject
from hardsim.checking.attention_floats import float_answers, float_errors
from hardsim.checking.attention_open import AttentionInput
from hardsim.checking.attention_plan import plan_length, prepare
from hardsim.checking.attention_words import SoftJudge, batches
from hardsim.checking.batch import FloatEngine
from hardsim.checking.open import Input, read_input
from hardsim.checking.result import Word
from hardsim.checking.subject import ModelOptions, Subject
from hardsim.checking.words import sample_words
from hardsim.lang.semantics import Oracle
from hardsim.net.model import Transformer
from hardsim.run.ball import BallForward
from hardsim.run.float64 import FloatForward
from hardsim.run.float_model import FloatModel
from hardsim.run.forward import Forward
from hardsim.run.mp import MpArithmetic, choose_digits
from hardsim.run.plan import make_plan
from hardsim.run.soft import SoftModel
from hardsim.spec.parallel import ParallelHard

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
        given = read_input(str(ROOT / self.file))
        if self.regime is None:
            assert isinstance(given, AttentionInput)
            return program_passes(given.subject, n, effort)
        assert isinstance(given, Input)
        return formula_passes(given.compile(ModelOptions(regime=self.regime)), n, effort)


CASES = (
    Case("flip-flop", "formulas/flipflop.ltl", "temperature"),
    Case("flip-flop, causal", "formulas/flipflop.ltl", "causal-position"),
    Case("PARITY", "formulas/parity.ltl", "temperature"),
    Case("Dyck-2", "formulas/dyck2.srasp", None),
)


def formula_passes(subject: Subject, n: int, effort: Effort) -> tuple[list[Pass], list[bool]]:
    """A formula's network: its output is exactly 0 or 1."""
    oracle, model, plan = Oracle(subject.file), subject.model, make_plan(subject.model)
    seeds = [example.word for example in subject.file.examples]
    words = sample_words(subject.file.alphabet, n, effort.batch, SEED, oracle.accepts, seeds)
    digits = choose_digits(plan, n, None)
    interpreter = ParallelHard(subject.program)
    hard = interpreter.run(interpreter.symbols(words))

    def float_pass() -> Run:
        forward = FloatForward(model, plan)

        def run() -> Answers:
            found: Answers = [None] * len(words)
            for trace, rows in forward.passes(words):
                for row, place in rows.tolist():
                    found[place] = bool(trace.accepted[row]) if trace.accepted[row] or trace.rejected[row] else None
            return found

        return run

    def certified() -> Run:
        engine = FloatEngine(subject, plan)

        def run() -> Answers:
            found = engine.batch(words, hard)
            known = found.accepted | found.rejected
            return [bool(yes) if sure else None for yes, sure in zip(found.accepted, known, strict=True)]

        return run

    def balls() -> Run:
        forward = BallForward(model, plan)
        return lambda: [forward.run(word).verdict() for word in words[: effort.single]]

    def mpmath() -> Run:
        forward = Forward(model, MpArithmetic(digits), plan)
        return lambda: [forward.run(word).verdict(model) for word in words[: effort.single]]

    truth = [oracle.accepts(word) for word in words]
    return all_passes(model, words, digits, effort, Runs(float_pass, certified, balls, mpmath)), truth


def program_passes(subject: AttentionSubject, n: int, effort: Effort) -> tuple[list[Pass], list[bool]]:
    """A program's network: its output is compared with a threshold. The temperature is Theorem 26's for these words."""
    oracle = subject.oracle
    assert oracle is not None
    seeds = [word for word, _ in subject.examples]
    words = sample_words(subject.alphabet, n, effort.batch, SEED, lambda word: oracle(word) is True, seeds)
    prepared = prepare(subject, {n: words}, {n: False})
    model = plan_length(prepared, subject, AttentionOptions(), n).model
    judge = SoftJudge(subject, model, prepared.hard, "float64")
    parts = list(batches(words, n + model.bos))
    hards = [judge.exact.run(part) for part in parts]

    def float_pass() -> Run:
        floats = FloatModel(model)
        return lambda: [_sure(one) for part in parts for one in float_answers(subject, floats.run(part), n)]

    def certified() -> Run:
        floats = FloatModel(model)

        def run() -> Answers:
            found: Answers = []
            for part, hard in zip(parts, hards, strict=True):
                trace = floats.run(part)
                float_errors(trace, hard)
                found += [_sure(one) for one in float_answers(subject, trace, n)]
            return found

        return run

    def one_by_one(engine: Literal["ball", "mpmath"]) -> Run:
        soft = SoftModel(model, engine)
        return lambda: [
            _sure(subject.soft_answer(soft.run(word, judge.is_settled).trace)) for word in words[: effort.single]
        ]

    runs = Runs(float_pass, certified, lambda: one_by_one("ball"), lambda: one_by_one("mpmath"))
    precision = SoftModel(model, "mpmath").run(words[0], judge.is_settled).arithmetic
    assert isinstance(precision, MpArithmetic)
    return all_passes(model, words, precision.dps, effort, runs), [oracle(word) is True for word in words]


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
