"""Checks of every word up to a length, the memory of checks, and the speed of hard attention in words per second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from time import process_time

from benchmarks.cases import ROOT, SEED
from benchmarks.checks import Check
from benchmarks.commands import HARDSIM, run
from benchmarks.results import Figure, Results, Target
from hardsim.campaign.words import sample_words
from hardsim.hard.batch_hard import BatchHard
from hardsim.hard.lanes import Booleans
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.lang.semantics import Oracle
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_input

GROUP = "exhaustive"
BINARY = "benchmarks/flipflop_bits.ltl"
"""A formula like the flip-flop over two symbols."""
LENGTH = 16
WORDS = 2 ** (LENGTH + 1) - 2
"""The number of binary words of lengths 1 to 16: 131,070."""
MEMORY = Target(1024)
LONG = (1024, 2048)
LONG_WORDS = 8
RATE = Target(1_000_000, at_least=True)


def every(file: str, max_n: int, words: int, workers: int = 2) -> Check:
    """Return a check of every word up to length `max_n`; there are `words` of them."""
    options = ("--max-n", str(max_n), "--exhaustive", str(words), "--workers", str(workers))
    return Check(file, options, words)


ALL_BINARY = every(BINARY, LENGTH, WORDS)
LARGE = every("formulas/parity.ltl", LENGTH + 1, 2 ** (LENGTH + 2) - 2)


def measure() -> Results:
    """Measure exhaustive checks, the memory of long words, and the rates."""
    found = Results()
    found.figures += exhaustive(ALL_BINARY, LENGTH, Target(30))
    found.figures += exhaustive(LARGE, LENGTH + 1, None)
    found.figures += [long_words(n) for n in LONG]
    found.figures += rates()
    return found


def exhaustive(check: Check, max_n: int, target: Target | None) -> list[Figure]:
    """Measure the seconds and the memory of a check of every word up to length `max_n`."""
    done, wrong = check.run(memory=True)
    words = f"all {check.words:,} words to length {max_n}"
    return [
        Figure(GROUP, f"{words}, certified", check.file, None if wrong else done.seconds, "s", target, wrong),
        Figure(GROUP, f"memory of {words}", check.file, None if wrong else done.peak, "MiB", MEMORY, wrong),
    ]


def long_words(n: int) -> Figure:
    """Measure the memory that words of length n take in certified float64."""
    file = read_input(str(ROOT / "formulas/flipflop.ltl")).file
    seeds = [example.word for example in file.examples]
    words = sample_words(file.alphabet, n, LONG_WORDS, SEED, Oracle(file).accepts, seeds)
    text = "".join("".join(word) + "\n" for word in words)
    done = run((*HARDSIM, "eval", "formulas/flipflop.ltl", "--engine", "float64", "-"), text, memory=True)
    what, case = f"memory of {LONG_WORDS} words of length {n:,}", "formulas/flipflop.ltl"
    if done.code:
        return Figure(GROUP, what, case, None, "MiB", MEMORY, f"failed: {done.complaint}")
    return Figure(GROUP, what, case, done.peak, "MiB", MEMORY, f"{done.seconds:.1f} s")


def rates() -> list[Figure]:
    """Measure how many words of length 16 exact semantics run in a second of processor time: hard attention with its
    gaps, and the formula's semantics, both for all words at once with a bit for each word.
    """
    subject = read_input(str(ROOT / BINARY)).compile(ModelOptions())
    many, oracle = BatchHard(subject.program), BatchOracle(subject.file)
    words = list(product(subject.file.alphabet, repeat=LENGTH))
    symbols = many.symbols(words)
    return [
        rate("exact hard attention, bit-parallel", lambda: many.run(symbols).accepted, words),
        rate("the formula's semantics, bit-parallel", lambda: oracle.accepts(symbols), words),
    ]


def rate(what: str, accepts: Callable[[], Sequence[bool] | Booleans], words: Sequence[tuple[str, ...]]) -> Figure:
    """Measure how many words a second `accepts` runs; it runs all of `words`, and the best of three runs counts.

    A few hundred of its answers are compared with the definition.

    Raises:
        RuntimeError: if an answer is wrong.
    """
    oracle = Oracle(read_input(str(ROOT / BINARY)).file)
    best = float("inf")
    for _ in range(3):
        began = process_time()
        answers = accepts()
        best = min(best, process_time() - began)
    step = max(1, len(words) // 256)
    wrong = sum(bool(answers[place]) is not oracle.accepts(words[place]) for place in range(0, len(words), step))
    if wrong or len(answers) != len(words):
        raise RuntimeError(f"{what}: wrong on {wrong} words, {len(answers)} answers on {len(words)} words")
    return Figure(GROUP, what, f"{BINARY}, n = {LENGTH}", len(words) / best, "words/s", RATE)
