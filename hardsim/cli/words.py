"""`hardsim words`: the language up to a length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Annotated

import typer

from hardsim.cli import options as opt
from hardsim.cli.options import By, Request
from hardsim.cli.session import Session, session
from hardsim.errors import InputError

if TYPE_CHECKING:
    from hardsim.checking.open import Input
    from hardsim.checking.result import Word
    from hardsim.checking.subject import Subject

BUDGET = 100_000
"""Words that one request may try unless more are allowed."""

HELP = """Print the accepted words up to a length, one a line, shortest first, then in the order of the alphabet.

FILE is a formula file (.ltl), a compiled model (.json), or a directory of them.

--by says whose answer counts: the formula's semantics (oracle), hard attention (hard), or the softmax network (soft,
whose output must be exactly 1). Several inputs or regimes get a heading each, as a line that starts with '# '.

\b
Examples:
  hardsim words flipflop.ltl --max-n 4
  hardsim words since.ltl --by soft --regime none --max-n 5
  hardsim words formulas/ --max-n 3 --by hard
  hardsim words -e 'H(a -> O b)' --alphabet 'a b' --max-n 3
"""

Judge = Annotated[By, typer.Option("--by", metavar="oracle|hard|soft", help="Whose answer counts.")]


def words(
    files: opt.Files = None,
    max_n: opt.MaxLength = 8,
    by: Judge = By.ORACLE,
    exhaustive: opt.WordBudget = BUDGET,
    regime: opt.Regime = "temperature",
    beta: opt.Beta = None,
    tau: opt.Tau = None,
    at: opt.Position = None,
    single_head: opt.SingleHead = False,
    counting: opt.Counting = None,
    engine: opt.Engine = "auto",
    dps: opt.Digits = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    request = Request(regime, beta, tau, at, single_head, counting)
    several = len(request.options()) > 1
    opt.check_engine(engine)
    with session("words", json) as current:
        given = list(current.read(files, expression, alphabet))
        headings = several or len(given) + len(current.errors) > 1
        work = _Work(current, max_n, by, exhaustive, dps, engine, headings)
        for one in given:
            with current.guard(one.name):
                work.afford(one)
                current.each(one, request, work.print)


class _Work:
    """Prints the accepted words of one subject after the other."""

    def __init__(
        self, current: Session, max_n: int, by: By, budget: int, dps: int | None, engine: str, headings: bool
    ) -> None:
        self.current = current
        self.max_n = max_n
        self.by = by
        self.budget = budget
        self.dps = dps
        self.engine = engine
        self.headings = headings

    def afford(self, given: Input) -> None:
        """Refuse a request that means more words than are allowed.

        Raises:
            InputError: saying how many words it means.
        """
        from hardsim.report.numbers import count, plural

        needed = words_up_to(len(given.file.alphabet), self.max_n)
        if needed > self.budget:
            raise InputError(
                f"{given.name}: lengths 1 to {self.max_n} over "
                f"{plural(len(given.file.alphabet), 'symbol')} are {plural(needed, 'word')}, "
                f"and at most {count(self.budget)} are tried",
                hint=f"Give a smaller --max-n, or allow more: --exhaustive {needed}"
                if needed < opt.LARGEST_COUNT
                else "Give a smaller --max-n.",
            )

    def print(self, subject: Subject) -> None:
        """The accepted words of one subject, as they are found."""
        from hardsim.checking.compare import accepted_words
        from hardsim.report.json import words_json
        from hardsim.report.numbers import word_text

        alphabet, screen = subject.file.alphabet, self.current.screen
        if self.headings:
            screen.raw(f"# {subject.name}, {subject.facts.regime}")
        kept: list[Word] = []
        for word in accepted_words(subject, all_words(alphabet, self.max_n), self.by.value, self.dps, self.engine):
            screen.raw(word_text(word, alphabet))
            if self.current.sink is not None:
                kept.append(word)
        tried = words_up_to(len(alphabet), self.max_n)
        self.current.results.append(words_json(subject.name, subject.facts, self.by.value, self.max_n, tried, kept))


def all_words(alphabet: tuple[str, ...], max_n: int) -> Iterator[Word]:
    """Every word of length 1 to `max_n`, shortest first, then in the order of the alphabet."""
    for n in range(1, max_n + 1):
        yield from product(alphabet, repeat=n)


def words_up_to(size: int, max_n: int) -> int:
    """How many words of length 1 to `max_n` there are over that many symbols."""
    return max_n if size == 1 else (size ** (max_n + 1) - size) // (size - 1)
