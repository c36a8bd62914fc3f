"""Mutants of networks: no verdict is stronger than the findings of a judge that reads nothing but the JSON
(`judge`).

A file is changed in one place (`mutate`). Then `prove` runs to a length and for every length, and `check` under every
engine. PROVED and CERTIFIED must be true of every short word, and of some beyond length 64; a mismatch must be real;
engines may leave a word open, but not contradict each other. The exit code is never 4.
"""

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hardsim import parse
from hardsim.cli.app import run
from hardsim.lang.srasp.batch_program import BatchProgram
from hardsim.targets.compiled import compile_srasp
from hardsim.targets.stored import store_program
from hardsim.verify import verify
from tests.mutants import programs
from tests.mutants.judge import Answer, Judge, matrix
from tests.mutants.mutate import NETWORK_ONLY, mutant
from tests.support.language import parse_program
from tests.support.program_certificates import wrong_word

Word = tuple[str, ...]
FEW, MUTANTS = 8, int(os.environ.get("MUTANTS", "500"))
"""Numbers of mutants of formulas in `make test`, and of formulas and programs in `make slow` (another number by
MUTANTS).
"""
MANY_PROGRAMS = MUTANTS // 5
"""Number of mutants of programs, which take ten times as long to judge."""
MANY = MUTANTS - MANY_PROGRAMS
SHORT = 4
"""Every word up to this length is judged."""
MOST, FEW_LONG = 32, 4
"""Largest numbers of random words of a program: for each short length, and for each longer length that is proved
alone.
"""
LONG = (65, 66)
"""Lengths from which some words are judged if every length is claimed."""
ENGINES = ("float64", "ball", "auto", "mpmath")


def since(word: Word) -> bool:
    """Return True if there is a b, and only a after the last b."""
    _, found, after = "".join(word).rpartition("b")
    return bool(found) and set(after) <= {"a"}


def majority(word: Word) -> bool:
    return word.count("a") > word.count("b")


def odd(word: Word) -> bool:
    return word.count("a") % 2 == 1


def yesterday(word: Word) -> bool:
    return len(word) > 1 and word[-2] == "a" and word[-1] == "b"


def prime(word: Word) -> bool:
    """Return True if some prime position has an a."""
    return any(symbol == "a" and i > 1 and all(i % d for d in range(2, i)) for i, symbol in enumerate(word, start=1))


BASES: tuple[tuple[str, str, str, Callable[[Word], bool]], ...] = (
    ("a S b", "a b c", "temperature", since),
    ("a S b", "a b c", "position", since),
    ("a S b", "a b c", "causal-temperature", since),
    ("a S b", "a b c", "causal-position", since),
    ("#L[a] > #L[b]", "a b", "temperature", majority),
    ("ODD(#L[a])", "a b", "temperature", odd),
    ("Y a & b", "a b", "temperature", yesterday),
    ("O(a & PRIME(pos))", "a b", "position", prime),
)


@cache
def base(number: int) -> dict[str, Any]:
    """Return a compiled file before any change."""
    formula, alphabet, regime, _ = BASES[number]
    found: dict[str, Any] = json.loads(parse(f"alphabet: {alphabet}\n{formula}\n").compile(regime=regime).to_json())
    return found


def ask(*arguments: str) -> tuple[int, dict[str, Any] | None, str]:
    """Run a command; return its exit code, the only result of its report (None if there is none), and standard
    error.
    """
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([*arguments, "--json", "-"])
    results = json.loads(out.getvalue())["results"] if out.getvalue() else []
    return code, results[0] if results else None, err.getvalue()


def long_words(alphabet: list[str], n: int) -> Iterator[Word]:
    """Yield some words of a length that are hard for heads: a lone symbol at either end of the others."""
    first, second, *_, last = (*alphabet, alphabet[-1])
    yield (first,) * (n - 1) + (second,)
    yield (second,) + (first,) * (n - 1)
    yield (second,) * (n - 2) + (last, first)


class Case:
    """One mutant on disk, with the judge's answers."""

    def __init__(self, number: int, seed: int, folder: Path) -> None:
        self.truth = BASES[number][3]
        self.document, self.change_text = mutant(base(number), seed)
        self.path = folder / f"{number}-{seed}.json"
        self.path.write_text(json.dumps(self.document), encoding="utf-8")
        self.judge = Judge(self.document["model"])
        self.alphabet: list[str] = self.document["model"]["alphabet"]
        self.known: dict[Word, Answer] = {}

    def answer(self, word: Word) -> Answer:
        """Return the judge's answer, computed once for each word."""
        if word not in self.known:
            self.known[word] = self.judge.ask(word)
        return self.known[word]

    def wrong(self, word: Word) -> bool:
        """Return True if the network's answer certainly differs from the formula's."""
        return self.answer(word) not in ("yes" if self.truth(word) else "no", "unknown")

    def first_wrong(self, max_n: int, beyond: bool) -> Word | None:
        """Return the first judged word, up to length `max_n` (and some long ones if `beyond`), on which the
        network is wrong.
        """
        for n in range(1, max_n + 1):
            for word in product(self.alphabet, repeat=n):
                if self.wrong(word):
                    return word
        for n in LONG if beyond else ():
            for word in long_words(self.alphabet, n):
                if self.wrong(word):
                    return word
        return None

    def require(self, arguments: tuple[str, ...]) -> str:
        """Run hardsim and compare its result with the judge; return its verdict, or "" if it refused."""
        code, result, err = ask(*arguments[:1], str(self.path), *arguments[1:])
        context = f"{self.change_text}\n{arguments} {self.path}\n{err}"
        assert code in (0, 1, 2, 3), context
        assert (code == 2) == (result is None), context
        if result is None:
            assert err.strip(), context
            return ""
        verdict: str = result["verdict"]
        assert code != 0 or verdict in ("PROVED", "CERTIFIED", "OBSERVED"), context
        if verdict in ("PROVED", "CERTIFIED"):
            assert code == 0, context
            beyond = (result.get("all_n") or {}).get("proved", False)
            found = self.first_wrong(min(SHORT, result["max_n"]), beyond)
            assert found is None, f"{context}\n{verdict}, but {''.join(found)} is {self.answer(found)}"
        mismatch = result.get("mismatch") or result.get("counterexample")
        if code == 1 and mismatch and verdict == "REFUTED":
            self.require_mismatch(mismatch, context)
        return verdict

    def require_mismatch(self, mismatch: dict[str, Any], context: str) -> None:
        """Require that a reported mismatch is real; the judge cannot check the hard answer here."""
        word = tuple(mismatch["word"])
        context += f"\n{mismatch}"
        assert len(word) <= 12 or mismatch["kind"] != "soft/hard" or self.wrong(word), context
        if len(word) > 12:
            return
        assert mismatch["oracle"] is self.truth(word), context
        # Hard attention that differs from the formula refutes the file even where softmax stays open.
        if mismatch["decided"] or mismatch["kind"] != "hard/oracle":
            message = {True: "yes", False: "no", None: "neither"}[mismatch["soft"]]
            assert self.answer(word) in (message, "unknown"), f"{context}: {self.answer(word)}"
        assert not mismatch["soft"] == mismatch["hard"] == mismatch["oracle"], context


def try_mutant(number: int, seed: int, folder: Path) -> None:
    case = Case(number, seed, folder)
    case.require(("prove", "--max-n", "5"))
    case.require(("prove", "--all-n", "--max-n", "5"))
    verdicts = {engine: case.require(("check", "--max-n", "3", "--engine", engine)) for engine in ENGINES}
    case.path.unlink()
    certain = {verdict for verdict in verdicts.values() if verdict in ("PROVED", "CERTIFIED", "REFUTED")}
    assert not ("REFUTED" in certain and len(certain) > 1), (case.change_text, verdicts)


@pytest.mark.parametrize("number", range(len(BASES)))
def test_the_judge_agrees_with_the_formulas(number: int) -> None:
    judge, (*_, truth) = Judge(base(number)["model"]), BASES[number]
    for n in range(1, SHORT + 1):
        for word in product(judge.alphabet, repeat=n):
            assert judge.ask(word) == ("yes" if truth(word) else "no"), word


# ---- hard-attention files ----

HARD = ("dyck1_uniform", "majority_ties", "tieless_until_7", "ties")
"""Models of version 1, with matrices, in which every head takes the mean of the largest: softmax has the same
weights.
"""
SCHEDULES = ("1/(20*n)", "1/n", "1/1000", "1000", "1/10^302", "2^1400", "1/n^3", "1/(n*(n mod 3 + 1))")


def listed(data: Any, rows: list[str] | None, columns: list[str] | None, width: int) -> dict[str, Any]:
    """Return a matrix of a file of version 1 as a list of entries."""
    found = matrix(data, rows, columns)
    return {
        "shape": [len(found), width],
        "entries": [[i, j, str(value)] for i, row in enumerate(found) for j, value in sorted(row)],
    }


@cache
def hard_base(number: int) -> dict[str, Any]:
    """Return a hard-attention model with every matrix as a list of entries."""
    text = Path(f"tests/version1/{HARD[number]}.ahat.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    names = document["coordinates"]
    rows = [*document["alphabet"], *(["BOS"] if document.get("bos") else [])]
    document["embedding"] = listed(document["embedding"], rows, names, len(names))
    for layer in document["layers"]:
        for head in layer["heads"]:
            for key in ("w_q", "w_k", "w_v"):
                head[key] = listed(head[key], names, names, len(names))
        ffn = layer.setdefault("ffn", {"w1": [], "w2": {}})
        width = len(ffn["w1"])
        ffn |= {"w1": listed(ffn["w1"], None, names, len(names)), "w2": listed(ffn["w2"], names, None, width)}
        ffn.setdefault("b1", ["0"] * width)
        ffn.setdefault("b2", ["0"] * len(names))
    return document


def try_hard_mutant(number: int, seed: int, folder: Path) -> None:
    """Compare softmax at a temperature with hard attention, both computed from the file alone."""
    document, said = mutant({"model": hard_base(number)}, seed, NETWORK_ONLY)
    tau = SCHEDULES[seed % len(SCHEDULES)]
    path = folder / f"{number}-{seed}.ahat.json"
    path.write_text(json.dumps(document["model"]), encoding="utf-8")
    hard, soft = Judge(document["model"], hard=True), Judge(document["model"], tau=tau)

    def holds(word: Word) -> bool | None:
        message = {soft.ask(word), hard.ask(word)}
        return None if "unknown" in message else len(message) == 1

    verdicts = set()
    requested = [("check", "--engine", engine) for engine in ("float64", "ball", "auto", "mpmath")] + [("prove",)]
    for command, *options in requested:
        code, result, err = ask(command, str(path), "--max-n", "3", "--tau", tau, *options)
        context = f"{said}, tau {tau}, {command} {options}\n{err}"
        assert code in (0, 1, 2, 3), context
        if result is None:
            continue
        verdicts.add(result["verdict"])
        if result["verdict"] in ("PROVED", "CERTIFIED"):
            for n in range(1, 4):
                for word in product(hard.alphabet, repeat=n):
                    assert holds(word) is not False, f"{context}\n{result['verdict']}, but {word} is wrong"
        if result["verdict"] == "REFUTED" and result["mismatch"] is None:
            assert result["violation"] is not None, context  # a claim of the file's heads
        elif result["verdict"] == "REFUTED":
            assert holds(tuple(result["mismatch"]["word"])) is not True, f"{context}\n{result['mismatch']}"
    path.unlink()
    assert not ("REFUTED" in verdicts and verdicts & {"PROVED", "CERTIFIED"}), said


# ---- sweeps ----


@pytest.mark.sweep
@pytest.mark.parametrize("number", range(len(BASES)))
def test_no_verdict_about_a_mutant_is_wrong(number: int, tmp_path: Path) -> None:
    for seed in range(number, FEW, len(BASES)):
        try_mutant(number, seed, tmp_path)


def test_no_verdict_about_mutants_that_once_found_a_bug_is_wrong(tmp_path: Path) -> None:
    try_mutant(2, 2902, tmp_path)  # bounds of a margin that are infinite on both sides


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FEW, FEW + MANY, 20))
def test_no_verdict_about_many_mutants_is_wrong(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + 20, FEW + MANY)):
        try_mutant(seed % len(BASES), seed, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("number", range(len(HARD)))
def test_no_verdict_about_a_hard_mutant_is_wrong(number: int, tmp_path: Path) -> None:
    for seed in range(5):
        try_hard_mutant(number, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(HARD)))
def test_no_verdict_about_many_hard_mutants_is_wrong(number: int, tmp_path: Path) -> None:
    for seed in range(5, 300):
        try_hard_mutant(number, seed, tmp_path)


# ---- programs ----

ORDERED = """alphabet: a b
n(i) := psum_j[j <= i] Q_a(j)
last(i) := leftmost_j[1, n(j) >= pos(i)] Q_b(j) : Q_a(i)
low(i) := rightmost_j[j > i, n(j) < 2] Q_a(j) : 1
Y(i) := last(i) | low(i)
"""
COUNTED = """alphabet: a b
same(i) := count_j[j < i, in(j) = in(i)]
twin(i) := rightmost_j[j < i, same(j) = same(i)] in(j) : in(i)
mean(i) := mean_j[j <= i] same(j)
Y(i) := twin(i) = 'a' | mean(i) > 1
"""
PROGRAMS = (
    "ab_plus", "dyck1", "dyck1_depth2", "flipflop", "parity", "dyck2",
    "unmarked_reversal", ORDERED, COUNTED,
)  # fmt: skip
"""Shipped programs that accept, and two of the tests' own: order inside scores, counts, means."""
FEW_PROGRAMS = len(PROGRAMS)
TAUS = ("1/(20*n)", "1/n^3", "1/(64*n^4)", "1/(1000*n^4)", "1/10^9", "1/(64*n^3*(n+1))")


@cache
def program_base(number: int) -> dict[str, Any]:
    """Return a compiled program before any change, for hard attention alone."""
    text = PROGRAMS[number]
    source = text if "\n" in text else Path(f"formulas/{text}.srasp").read_text(encoding="utf-8")
    subject = compile_srasp(parse_program(source, "test"), "test", "")[0]
    found: dict[str, Any] = json.loads(store_program(subject))
    return found


class ProgramCase:
    """One mutant of a program on disk, with the judge's answers."""

    def __init__(self, number: int, seed: int, folder: Path) -> None:
        document = program_base(number)
        changed, self.change_text = programs.mutant(document["program"], seed)
        self.path = folder / f"{number}-{seed}.ahat.json"
        self.path.write_text(json.dumps(document | {"program": changed}), encoding="utf-8")
        self.matrices = programs.matrices(changed)
        self.alphabet: list[str] = changed["alphabet"]
        self.hard = cache(Judge(self.matrices, hard=True).ask)
        self.held: set[tuple[int, str]] = set()

    def require(self, n: int, tau: str, context: str, words: Iterable[Word] = ()) -> None:
        """Require that softmax at a temperature answers as hard attention on words of a proved length n.

        The words are all of that length, or 32 of them if there are more, or the `words` given.
        """
        if not words and (n, tau) in self.held:
            return
        soft = Judge(self.matrices, tau=tau)
        for word in words or self.some(n):
            message = self.hard(word)
            assert message != "unknown", f"{context}\n{word}: hard attention decides nothing"
            assert soft.ask(word) in (message, "unknown"), (
                f"{context}\n{word} at {tau}: {soft.ask(word)}, not {message}"
            )
        if not words:
            self.held.add((n, tau))

    def some(self, n: int) -> list[Word]:
        """Return the words of a length, or MOST of them; few if they are long."""
        if len(self.alphabet) ** n <= MOST and n < SHORT:
            return list(product(self.alphabet, repeat=n))
        rng = Random(n)
        return [tuple(rng.choices(self.alphabet, k=n)) for _ in range(MOST if n < SHORT else FEW_LONG)]

    def ask(self, *arguments: str, certified: bool = False) -> None:
        """Run hardsim and compare its result with the judge; with `certified` also check the certificate that it
        writes.
        """
        target = self.path.with_suffix(".cert")
        expected = ("--certificate", str(target)) if certified else ()
        code, result, err = ask(*arguments[:1], str(self.path), *arguments[1:], *expected)
        context = f"{self.change_text}\n{arguments} {self.path}\n{err}"
        assert code in (0, 1, 2, 3), context
        assert (code == 2) == (result is None), context
        if result is None:
            return
        for length in result["lengths"]:
            if length["proved_by"] and not length["ties_broken"]:
                tau = (
                    arguments[arguments.index("--tau") + 1] if "--tau" in arguments else length["temperature"]["exact"]
                )
                self.require(length["n"], tau, f"{context}\n{length}")
        argument = result["argument"]
        if argument is not None and argument["proved"] and result["verdict"] == "PROVED":
            for n in range(1, SHORT):
                self.require(n, argument["temperature"], context)
            self.require(9, argument["temperature"], context, long_words(self.alphabet, 9))
        if result["verdict"] == "REFUTED" and (mismatch := result["mismatch"]) is not None and "--tau" in arguments:
            soft = Judge(self.matrices, tau=arguments[arguments.index("--tau") + 1])
            word = tuple(mismatch["word"])
            message = soft.ask(word), self.hard(word)
            assert "unknown" in message or message[0] != message[1], f"{context}\n{mismatch}"
        if target.exists():
            document = json.loads(target.read_text(encoding="utf-8"))
            target.unlink()
            assert verify(document) is None, context
            assert wrong_word(document, 2) is None, context


def try_program_mutant(number: int, seed: int, folder: Path, certified: bool = False) -> None:
    """Compare softmax with hard attention, both from the file alone; also check certificates by their own content."""
    case = ProgramCase(number, seed, folder)
    case.ask("prove", "--max-n", "3", certified=certified)
    case.ask("prove", "--max-n", "3", "--tau", TAUS[seed % len(TAUS)])
    case.ask("prove", "--all-n", certified=certified)
    case.path.unlink()


@pytest.mark.sweep
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_judge_agrees_with_the_programs(number: int) -> None:
    program = program_base(number)["program"]
    judge, text = Judge(programs.matrices(program), hard=True), PROGRAMS[number]
    source = text if "\n" in text else Path(f"formulas/{text}.srasp").read_text(encoding="utf-8")
    expected = BatchProgram(parse_program(source, "test"))
    for n in range(1, SHORT):
        words = list(product(program["alphabet"], repeat=n))
        assert [judge.ask(word) for word in words] == ["yes" if one else "no" for one in expected.accepts(words)]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_no_verdict_about_a_mutant_of_a_program_is_wrong(number: int, tmp_path: Path) -> None:
    try_program_mutant(number, number, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FEW_PROGRAMS, FEW_PROGRAMS + MANY_PROGRAMS, 20))
def test_no_verdict_about_many_mutants_of_programs_is_wrong(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + 20, FEW_PROGRAMS + MANY_PROGRAMS)):
        try_program_mutant(seed % len(PROGRAMS), seed, tmp_path, certified=True)
