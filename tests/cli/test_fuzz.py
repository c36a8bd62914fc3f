"""Tests with hostile texts, as formulas, programs, values of options and words: never exit code 4, a traceback, or an
endless run.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.fuzz import PIECES, Case, mutated, raw, require_tame, run_limited
from tests.support.language import formulas_directory

PROGRAMS = ("flipflop.srasp", "sort.srasp", "parity.srasp")
EXPRESSIONS = ("flipflop.re", "dwyer_response.re")
NAMES = (*(f"{name}.ltl" for name in ("since", "equal", "mod3", "first_half", "dyck1")), *PROGRAMS, *EXPRESSIONS)
VALUES = {
    "--tau": ("1/(2*n)", "1/n^5000", "i mod n", "(-1)^n", "2^90000", "[i = n]"),
    "--beta": ("4", "7/2", "3.9", "1" + "0" * 400, "1/" + "7" * 400),
    "--epsilon": ("1/4", "0.01", "1/" + "7" * 400),
    "--alphabet": ("a b c", "0 1", "if fi", "a , b"),
    "-e": ("a S b", "#[a] = #[b]", "pos = len", "MOD(3, 1)", "O (a & Y b)"),
    "--at": ("first", "last"),
    "--regime": ("temperature", "position", "all", "none"),
    "--counting": ("lookup", "sign"),
    "--engine": ("auto", "float64", "ball", "mpmath"),
    "--dps": ("30", "100000", "0"),
    "--max-n": ("2", "1", "0"),
    "--require": ("proved", "certified"),
}


def text_cases(random: Random) -> Iterator[Case]:
    """Yield commands on mutated formulas and programs."""
    texts = {name: (formulas_directory() / name).read_text(encoding="utf-8") for name in NAMES}
    while True:
        name = random.choice(NAMES)
        file = f"x{Path(name).suffix}"
        command = random.choice((("show", file), ("words", file, "--max-n", "2"), ("check", file, "--max-n", "2")))
        yield Case(command, ((file, mutated(texts[name], random)),))


def option_cases(random: Random) -> Iterator[Case]:
    """Yield commands with mutated values of options, without large numbers: such runs are long by request."""
    pieces = [piece for piece in PIECES if "\0" not in piece and not piece.startswith("-")]
    while True:
        option = random.choice(list(VALUES))
        value = mutated(random.choice(VALUES[option]), random, pieces).replace("\0", "")
        given = {"-e": "a S b", "--alphabet": "a b c"} | {option: value}
        if option in ("--max-n", "--dps") and len(value.strip()) > 1:
            value = given[option] = value.strip()[:1]
        command = "prove" if option == "--require" else "check"
        rest = [] if option in ("--max-n", "--require") else ["--max-n", "2"]
        yield Case((command, *(f"{key}={text}" if key != "-e" else f"-e{text}" for key, text in given.items()), *rest))


def word_cases(random: Random) -> Iterator[Case]:
    """Yield commands on mutated words, on standard input and as arguments."""
    formula = "alphabet: a b c\na S b\n"
    while True:
        text = mutated("ab\nba\nc a b\n", random)
        if random.randrange(2):
            yield Case(("eval", "x.ltl", "-"), (("x.ltl", formula),), text)
        else:
            yield Case(("eval", "x.ltl", "--", *text.replace("\0", "").split("\n")), (("x.ltl", formula),))


SOURCES = {"texts": text_cases, "options": option_cases, "words": word_cases}


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("source", list(SOURCES))
def test_hostile_texts_are_tame(hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.chdir(tmp_path)
    for case in islice(SOURCES[source](Random(source)), 40):
        for name, text in case.files:
            Path(name).write_bytes(raw(text))
        outcome = hardsim(*case.arguments, stdin=raw(case.stdin))
        require_tame(case, outcome.code, outcome.err)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("source", list(SOURCES))
def test_hostile_texts_are_tame_within_limits(source: str, seed: int) -> None:
    run_limited(list(islice(SOURCES[source](Random(f"{source} {seed}")), 30)))
