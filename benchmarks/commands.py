"""Commands as a user runs them: start-up, `hardsim check` and `eval`, checks of every word up to a length, memory."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from math import log
from pathlib import Path
from random import Random
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.runner import HARDSIM, ROOT, Case, FailedError, Target, memory, run, turns
from hardsim.campaign.words import members, sample_words
from hardsim.lang.semantics import Oracle
from hardsim.targets.opening import read_input

FLIPFLOP, SINCE = "formulas/flipflop.ltl", "formulas/since.ltl"
BINARY = "benchmarks/flipflop_bits.ltl"
"""A formula like the flip-flop over two symbols."""
GOOD = {"CERTIFIED", "PROVED"}
PATIENCE = 60.0, 4
"""Seconds, and multiples of its target, after whose sum a command is ended."""
BASELINE = "python -c pass"
MEMORY: Target = "≤", 1024
START: Target = "≤", 0.2
STARTED = ("hardsim --help", "hardsim check --help", "hardsim --version")


def started(rounds: int = 9) -> tuple[Mapping[str, float], str]:
    """Measure commands that compute nothing, and a Python that does nothing."""
    names = {BASELINE: (sys.executable, "-c", "pass")} | {name: (*HARDSIM, *name.split()[1:]) for name in STARTED}
    runs = {name: partial(run, command) for name, command in names.items()}
    return turns(runs, [rounds] * len(runs), perf_counter)[0], ""


def checked(
    what: str, file: str, options: str, words: int, target: float, rounds: int = 1
) -> tuple[Mapping[str, float], str]:
    """Measure the median seconds of `hardsim check`.
    Raises FailedError if it tries fewer than `words` words, or finds one wrong or undecided."""

    def once() -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "result.json"
            command = (*HARDSIM, "check", file, *options.split(), "--require", "certified", "--json", str(path))
            run(command, limit=PATIENCE[0] + PATIENCE[1] * target)
            complain(json.loads(path.read_text(encoding="utf-8"))["results"], words)

    return turns({what: once}, [rounds], perf_counter)[0], ""


def complain(results: Sequence[Any], words: int) -> None:
    """Raise FailedError unless at least `words` words were tried and certified, and all agree."""
    tried = sum(result["words"] for result in results)
    undecided = sum(length["undecided"] for result in results for length in result["lengths"])
    verdicts = sorted({result["verdict"] for result in results})
    if tried < words or undecided or not set(verdicts) <= GOOD:
        raise FailedError(f"{tried:,} words, {undecided:,} undecided, {', '.join(verdicts)}")


def every(what: str, *check: Any) -> tuple[Mapping[str, float], str]:
    """Measure the seconds and the memory of a check of every word up to a length."""
    with memory() as most:
        seconds, note = checked(what, *check)
    return {**seconds, f"memory of {what}": most.total}, note


def shared(rounds: int, limit: float, *command: str) -> tuple[Mapping[str, float], str]:
    """Measure the least seconds of a command with two processes and with one, in turns. Raises FailedError if they
    print different reports."""
    runs = {
        name: partial(run, (*HARDSIM, *command, "--workers", str(workers)), limit=limit)
        for name, workers in ((TWO, 2), (ONE, 1))
    }
    seconds, reports = turns(runs, [rounds] * len(runs), perf_counter, least=True)
    if reports[ONE] != reports[TWO]:
        raise FailedError("the number of processes changes the report")
    return seconds, ""


@contextmanager
def widened() -> Iterator[str]:
    """Make a specification for searches of words to length `SEARCHED`, and yield its path. The network is the shipped
    one of two layers, with random positions beyond its own; every answer is right, so that no search ends early."""
    from safetensors.numpy import load_file, save_file

    with tempfile.TemporaryDirectory() as directory:
        folder, here = Path(directory) / "widened", ROOT / "formulas/networks/flipflop"
        folder.mkdir()
        config = json.loads((here / "config.json").read_text(encoding="utf-8"))
        weights = load_file(here / "model.safetensors")
        (name,) = (name for name in weights if name.endswith("wpe.weight"))
        known = weights[name]
        more = np.random.default_rng(7).normal(0, known.std(), (SEARCHED + 2 - len(known), known.shape[1]))
        save_file(weights | {name: np.concatenate([known, more.astype(known.dtype)])}, folder / "model.safetensors")
        wider = json.dumps(config | {"n_positions": SEARCHED + 2})
        (folder / "config.json").write_text(wider, encoding="utf-8")
        spec = Path(directory) / "widened.spec"
        spec.write_text(ANY_ANSWER, encoding="utf-8")
        yield str(spec)


def searched(rounds: int, limit: float) -> tuple[Mapping[str, float], str]:
    """Measure what `shared` measures on a search of long words."""
    with widened() as spec:
        return shared(rounds, limit, "check", spec, "--max-n", str(SEARCHED))


def apart(rounds: int) -> tuple[Mapping[str, float], str]:
    """Measure the least seconds of two checks at once, which share nothing, and of one after the other. Their ratio is
    that of the machine itself, beside which those of `shared` are to be read."""
    once = partial(run, (*HARDSIM, "check", FLIPFLOP, "--max-n", "256", "--workers", "1"))

    def both() -> str:
        with ThreadPoolExecutor(2) as pool:
            return "".join(pool.map(lambda _: once(), range(2)))

    runs: dict[str, Callable[[], str]] = {ONE: once, TWO: both}
    seconds = turns(runs, [rounds] * 2, perf_counter, least=True)[0]
    return {AT_ONCE: seconds[TWO], IN_TURN: 2 * seconds[ONE]}, ""


def growth(what: str, small: int, large: int, options: Callable[[int], Sequence[str]]) -> tuple[dict[str, float], str]:
    """Measure how the processor time of a check in one process grows with one of its inputs, whose options are given:
    the exponent between two sizes, without the time of a check that has nearly no words, which is of start-up.
    Raises FailedError if a check takes no longer than that one."""
    inputs = {"start": (SINCE, "--max-n", "1"), "small": options(small), "large": options(large)}
    runs = {name: partial(run, (*HARDSIM, "check", *given, "--workers", "1")) for name, given in inputs.items()}
    seconds = turns(runs, [2] * len(runs), lambda: getrusage(RUSAGE_CHILDREN).ru_utime, least=True)[0]
    less, more = (seconds[name] - seconds["start"] for name in ("small", "large"))
    if min(less, more) <= 0:
        raise FailedError("no longer than start-up")
    return {what: log(more / less) / log(large / small)}, ""


def operators(count: int) -> Sequence[str]:
    """Return options of a check whose formula nests so many operators that look back, in turns `S` and `Y`."""
    formula = "a"
    for number in range(count):
        formula = f"({'abc'[number % 3]} S {formula})" if number % 2 else f"(Y {formula} | b)"
    return ("-e", formula, "--alphabet", "a b c", "--max-n", "64")


def symbols(count: int) -> Sequence[str]:
    """Return options of a check over so many symbols, of which the formula names three."""
    return ("-e", "s0 S (s1 | Y s2)", "--alphabet", " ".join(f"s{k}" for k in range(count)), "--max-n", "64")


def propositions(count: int) -> Sequence[str]:
    """Return options of a check whose formula names so many propositions, each with the next one."""
    formula = " & ".join(f"(p{k} S p{(k + 1) % count})" for k in range(count))
    return ("-e", formula, "--props", " ".join(f"p{k}" for k in range(count)), "--max-n", "64")


def evaluated(what: str) -> tuple[Mapping[str, float], str]:
    """Measure the median seconds of `hardsim eval` on two short words."""
    return turns({what: partial(run, (*HARDSIM, "eval", SINCE, "cba", "bac"))}, [5], perf_counter)[0], ""


def long_words(what: str, n: int, count: int) -> tuple[Mapping[str, float], str]:
    """Measure the memory that words of length n take in certified float64."""
    file = read_input(str(ROOT / FLIPFLOP)).file
    seeds = [example.word for example in file.examples]
    pool = members(file.alphabet, n, Oracle(file).accepts, Random(0), seeds, max(4, count // 4))
    words = sample_words(file.alphabet, n, count, 0, pool)
    with memory() as most:
        command = (*HARDSIM, "eval", FLIPFLOP, "--engine", "float64", "-")
        run(command, "".join("".join(word) + "\n" for word in words))
    return {what: most.total}, ""


def held(limit: float, *command: str) -> tuple[Mapping[str, float], str]:
    """Measure the memory of a command with two processes, and of one of them."""
    with memory() as most:
        run((*HARDSIM, *command, "--workers", "2"), limit=limit)
    return {HELD: most.total} | ({OF_WORKER: most.worker} if most.worker else {}), ""


CHECKS = (
    ("checks", FLIPFLOP, "--max-n 64", 2190, 3, 1),
    ("checks", "formulas/induction_head_3hop.ltl", "--max-n 64", 3050, 4, 1),
    ("checks", "formulas/dyck2.srasp", "--max-n 64", 2680, 6, 1),
    ("checks", FLIPFLOP, "--max-n 128", 3320, 7, 1),
    ("checks", FLIPFLOP, "--max-n 256", 5580, 25, 1),
    ("checks", SINCE, "", 1180, 0.6, 5),
    ("checks", "formulas", "--max-n 8", 62_300, 20, 1),
    ("long", FLIPFLOP, "--max-n 1024 --samples 4", 16 * 1024, 180, 1),
)
"""Groups, files, options, least numbers of words (a hundredth fewer than each tried when the targets were set), targets
in seconds, and repetitions. The last tries at least 16 words of each length."""
EVERY = ((BINARY, 16, ("≤", 30.0)), ("formulas/parity.ltl", 17, None))
"""Files over two symbols, the length up to which every word is checked, and the target in seconds."""
EVAL = "eval of two words"
ONE, TWO = "one process", "two processes"
SHARED: tuple[tuple[int, Sequence[str]], ...] = (
    (3, ("check", "formulas", "--max-n", "8")),
    (7, ("check", FLIPFLOP, "--max-n", "256")),
    (3, ("prove", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "formulas").glob("*.ltl"))))),
    (5, ("bound", SINCE, "formulas/majority.ltl", "formulas/dyck1.ltl", "formulas/parity.ltl")),
    (3, ("precision", SINCE, "formulas/majority.ltl", "formulas/dyck1.ltl", "formulas/parity.ltl", "--max-n", "32")),
)
"""Commands whose times with two processes and with one are compared, so many times: short ones more often."""
SEARCHED = 150
"""The length to which words are searched."""
ANY_ANSWER = """network: widened
alphabet: w r i 0 1
tokens: w r i 0 1 <bos> <sep> <eos> <pad>
input: <bos> *
at: last
decide: above -1000
output 0: true
output 1: true
"""
"""A specification under which every answer is right."""
HELD, OF_WORKER = "memory of a command", "memory of a worker"
SHIPPED: tuple[Sequence[str], ...] = (
    ("check", "formulas", "--max-n", "8"),
    ("check", FLIPFLOP, "--max-n", "256"),
    ("check", "formulas/networks/flipflop.spec", "--max-n", "12"),
    ("prove", "formulas/dyck2.srasp", "formulas/since.ltl"),
    ("bound", FLIPFLOP, "--gap", "--max-n", "16"),
    ("precision", SINCE, "formulas/dyck1.ltl", "--max-n", "16"),
)
"""Commands whose memory is measured."""
AT_ONCE, IN_TURN = "two checks at once", "two checks in turn"
GROWTH = "time exponent"
GROWING: tuple[tuple[str, int, int, Callable[[int], Sequence[str]]], ...] = (
    ("length", 64, 512, lambda n: (FLIPFLOP, "--max-n", str(n))),
    ("words per length", 400, 1600, lambda count: (FLIPFLOP, "--max-n", "64", "--samples", str(count))),
    ("operators", 8, 32, operators),
    ("symbols", 16, 256, symbols),
    ("propositions", 4, 16, propositions),
)
"""Inputs that grow, their small and large sizes, and the options of a check of one size."""


def _every(file: str, max_n: int, target: Target | None) -> Case:
    count = 2 ** (max_n + 1) - 2
    what = f"all {count:,} words to length {max_n}, certified"
    options = f"--max-n {max_n} --exhaustive {count} --workers 2"
    rows = ((what, "s", target), (f"memory of {what}", "MiB", MEMORY))
    return Case("exhaustive", file, rows, partial(every, what, file, options, count, 120.0))


def _long(n: int, count: int = 8) -> Case:
    what = f"memory of {count} words of length {n:,}"
    return Case("exhaustive", FLIPFLOP, ((what, "MiB", MEMORY),), partial(long_words, what, n, count))


CASES = (
    Case(
        "start-up",
        "median of 9",
        [(name, "s", START) for name in STARTED] + [(f"{name} / {BASELINE}", "x", None) for name in STARTED],
        started,
    ),
    *(
        Case(
            group,
            file,
            [(what := f"check {options}".strip(), "s", ("≤", target))],
            partial(checked, what, file, options, words, target, rounds),
        )
        for group, file, options, words, target, rounds in CHECKS
    ),
    Case("checks", SINCE, [(EVAL, "s", ("≤", 0.5))], partial(evaluated, EVAL)),
    *(
        Case(
            "workers",
            " ".join(command[:4]),
            [(f"{TWO} / {ONE}", "x", ("≤", 0.58))],
            partial(shared, rounds, 600, *command),
        )
        for rounds, command in SHARED
    ),
    Case(
        "workers",
        f"check flipflop-{SEARCHED}.spec --max-n {SEARCHED}",
        [(f"{TWO} / {ONE}", "x", ("≤", 0.58))],
        partial(searched, 3, 600),
    ),
    Case("workers", f"{FLIPFLOP} --max-n 256", [(f"{AT_ONCE} / {IN_TURN}", "x", None)], partial(apart, 5)),
    *(
        Case(
            "memory",
            " ".join(command),
            [(HELD, "MiB", ("≤", 256)), (OF_WORKER, "MiB", ("≤", 120))],
            partial(held, 600, *command),
        )
        for command in SHIPPED
    ),
    *(
        Case(
            "growth",
            f"{what}, {small:,}–{large:,}",
            [(GROWTH, "", ("≤", 1.3))],
            partial(growth, GROWTH, small, large, options),
        )
        for what, small, large, options in GROWING
    ),
    *(_every(*one) for one in EVERY),
    *map(_long, (1024, 2048)),
)
"""The cases of the groups start-up, checks, workers, memory, growth and long, and of exhaustive those that run
commands."""
