"""`hardsim words`: the language up to a length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Annotated

import typer

from hardsim.checking.interrupts import held, interruptible
from hardsim.cli import options as opt
from hardsim.cli.options import By, Request
from hardsim.cli.session import Session, session
from hardsim.cli.streams import say
from hardsim.errors import InputError

if TYPE_CHECKING:
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.open import Input
    from hardsim.checking.result import Word
    from hardsim.checking.subject import Subject

BUDGET = 100_000
"""Words that one request may try unless more are allowed."""

HELP = """Print the accepted words up to a length, one a line, shortest first, then in the order of the alphabet.

FILE is a formula file (.ltl), an S-RASP program (.srasp), a hard-attention model (.ahat.json), a compiled model
(.json), or a directory of them.

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
    epsilon: opt.Epsilon = None,
    engine: opt.Engine = "auto",
    dps: opt.Digits = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    request = Request(regime, beta, tau, at, single_head, counting, epsilon, dps)
    several = len(request.options()) > 1
    opt.check_engine(engine)
    with session("words", json) as current:
        given = list(current.read(files, expression, alphabet, at))
        headings = several or len(given) + len(current.errors) > 1
        work = _Work(current, request, max_n, by, exhaustive, dps, headings, engine)
        for one in given:
            with current.guard(one.name):
                work.afford(one)
                current.each(one, request, work.print, work.print_model)
            if current.interrupted:
                break


class _Work:
    """Prints the accepted words of one subject after the other."""

    def __init__(
        self,
        current: Session,
        request: Request,
        max_n: int,
        by: By,
        budget: int,
        dps: int | None,
        headings: bool,
        engine: str,
    ) -> None:
        self.current = current
        self.request = request
        self.max_n = max_n
        self.by = by
        self.budget = budget
        self.dps = dps
        self.engine = engine
        self.headings = headings

    def afford(self, given: Input | AttentionInput) -> None:
        """Refuse a request that means more words than are allowed.

        Raises:
            InputError: saying how many words it means.
        """
        from hardsim.report.numbers import count, plural

        needed = words_up_to(len(given.alphabet), self.max_n)
        if needed > self.budget:
            raise InputError(
                f"{given.name}: lengths 1 to {self.max_n} over "
                f"{plural(len(given.alphabet), 'symbol')} are {plural(needed, 'word')}, "
                f"and at most {count(self.budget)} are tried",
                hint=f"Give a smaller --max-n, or allow more: --exhaustive {needed}"
                if needed < opt.LARGEST_COUNT
                else "Give a smaller --max-n.",
            )

    def print(self, subject: Subject) -> None:
        """The accepted words of one subject, as they are found."""
        from hardsim.checking.compare import accepted_words
        from hardsim.report.json import words_json

        if self.current.interrupted:
            return
        self.current.precision(subject, self.max_n, self.dps if self.by is By.SOFT else None, self.engine)
        self._observed(subject.name, subject.facts.regime)
        alphabet = subject.file.alphabet
        if self.headings:
            self.current.screen.raw(f"# {subject.name}, {subject.facts.regime}")
        found = accepted_words(subject, all_words(alphabet, self.max_n), self.by.value, self.dps, self.engine)
        with held():
            kept = self._printed(subject.name, found, alphabet)
            tried, partial = self._tried(kept, alphabet), self.current.interrupted
            self.current.results.append(
                words_json(subject.name, subject.facts, self.by.value, self.max_n, tried, kept, partial)
            )

    def _printed(self, name: str, found: Iterable[Word], alphabet: tuple[str, ...]) -> list[Word]:
        """Print words as they are found, until there are no more or it is interrupted; those printed, if they are
        wanted again."""
        from hardsim.report.numbers import word_text

        kept: list[Word] = []
        try:
            with interruptible():
                for word in found:
                    with held():
                        self.current.screen.raw(word_text(word, alphabet))
                        if self.current.sink is not None:
                            kept.append(word)
        except KeyboardInterrupt:
            self.current.screen.flush()
            self.current.interrupted = True
            say(f"interrupted: the words of {name} are those found until now")
        return kept

    def _tried(self, kept: list[Word], alphabet: tuple[str, ...]) -> int:
        """How many words were tried: after an interruption, those up to the last that was found."""
        if not self.current.interrupted:
            return words_up_to(len(alphabet), self.max_n)
        return place_of(kept[-1], alphabet) if kept else 0

    def _observed(self, name: str, regime: str | None) -> None:
        """Say of what mpmath finds that it is not certified."""
        if self.by is By.SOFT and self.engine == "mpmath":
            self.current.remark(name, regime, "OBSERVED: mpmath encloses nothing; --engine ball certifies each answer")

    def print_model(self, given: AttentionInput) -> None:
        """The accepted words of a hard-attention model or program.

        Raises:
            InputError: if it maps words to words.
        """
        from hardsim.checking.attention_campaign import summary
        from hardsim.checking.campaign import CheckOptions
        from hardsim.checking.evaluate import accepted_by
        from hardsim.report.attention_json import model_words_json

        if self.current.interrupted:
            return
        asked = self.by is By.ORACLE and given.oracle is not None
        acceptor = given.oracle is None or isinstance(given.oracle((given.alphabet[0],)), bool)
        if not acceptor or (given.model is not None and not given.model.acceptor):
            raise InputError(
                f"{given.name} maps words to words, so it accepts none", hint="hardsim eval prints its outputs."
            )
        self._observed(given.name, None)
        if self.headings:
            self.current.screen.raw(f"# {given.name}")
        options, choice = CheckOptions(max_n=self.max_n, engine=self.engine), self.request.attention()

        def search() -> Iterator[Word]:
            for n in range(1, self.max_n + 1):
                words = list(product(given.alphabet, repeat=n))
                yield from (
                    (word for word in words if given.oracle is not None and given.oracle(word) is True)
                    if asked
                    else accepted_by(given.subject, words, self.by.value, options, choice)
                )

        with held():
            kept = self._printed(given.name, search(), given.alphabet)
            tried, partial = self._tried(kept, given.alphabet), self.current.interrupted
            line = "semantics alone" if given.model is None else summary(given.model, None)
            self.current.results.append(
                model_words_json(given.name, line, self.by.value, self.max_n, tried, kept, partial)
            )


def all_words(alphabet: tuple[str, ...], max_n: int) -> Iterator[Word]:
    """Every word of length 1 to `max_n`, shortest first, then in the order of the alphabet."""
    for n in range(1, max_n + 1):
        yield from product(alphabet, repeat=n)


def place_of(word: Word, alphabet: tuple[str, ...]) -> int:
    """The place of a word among all words, from 1, shortest first, then in the order of the alphabet."""
    place = 0
    for symbol in word:
        place = place * len(alphabet) + alphabet.index(symbol) + 1
    return place


def words_up_to(size: int, max_n: int) -> int:
    """How many words of length 1 to `max_n` there are over that many symbols."""
    return max_n if size == 1 else (size ** (max_n + 1) - size) // (size - 1)
