"""The critical temperature of a formula: how small beta may be, for one length and for all, between rigorous ends.

At each length one end is proved (the prover at that beta, for all words of the length), the other refuted by a word.
For every length the proved end is that of the closed-form argument, the refuted one the largest of all lengths tried.
Ends are multiples of `WIDTH`, found by bisection; rightness need not be monotone in beta: nothing is claimed between.

For one head that looks for the nearest position the closed form needs e^-g <= 1/4 (`proof.general`), g = beta/2 in
regimes whose tie-break decides: beta >= 2 ln 4 = 2.7726, where Lemma 6 alone needs 2 ln 7 = 3.892. That no smaller beta
will do is shown by words in which all positions before the winner are wrong: their weight is x + ... + x^(n - 1) =
(x - x^n)/(1 - x), a share that tends to x.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import log

from hardsim.checking.engines import HardRunner, SoftEngine
from hardsim.checking.interrupts import to_the_report
from hardsim.checking.options import Request
from hardsim.checking.prove import EVERY, KnownLength, known_of, settled_length, words_of
from hardsim.checking.result import (
    Answer,
    FormulaText,
    InputKind,
    InputName,
    Length,
    ModelFacts,
    Partial,
    Title,
    Word,
    input_summary,
    settled,
    word_summary,
)
from hardsim.checking.sharpening import without_budget
from hardsim.checking.subject import Subject, own_predicates
from hardsim.checking.words import count_words, enumerate_words, sample_words
from hardsim.errors import InputError
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.desugar import desugar
from hardsim.network.model import AttentionHead, Schedule, Transformer
from hardsim.network.numbers import plain
from hardsim.program.assemble import assemble
from hardsim.program.model import Kind, Program
from hardsim.proof.facts import Facts
from hardsim.proof.general import prove_general
from hardsim.proof.network import prove_meaning, prove_network
from hardsim.proof.result import HeadProof, LinkProof, Proof
from hardsim.proof.sites import Sites
from hardsim.records import NOTHING, Exact, Natural, Record, rounded, written

WIDTH, LARGEST = Fraction(1, 1000), Fraction(64)
"""How far apart the ends of a closed bracket are, and the largest beta tried."""
MOST = int(LARGEST / WIDTH)
EVERY_WORD = 256
"""Lengths with so many words have all of them tried."""
LONGER, LARGEST_LENGTH = (2, 4), 64
"""Lengths tried beyond the longest, as multiples of it, up to this one."""
FAR = (128, 512)
"""Lengths at which only words are tried, for the bracket of every length."""
SAMPLED, SEED = 64, 0
"""Words of a program that are tried where not all are, and what draws them."""
UNUSED = (
    "dps engine workers backend samples seed epsilon",
    "the least beta is found by the prover, in one process and in arithmetic of its own",
)
"""Options that do not apply, and why."""


@dataclass(frozen=True, slots=True, repr=False)
class Bracket(Record):
    """How small beta may be: all words are right at one beta, and a word is wrong at another."""

    n: Length | None
    """For every length, that of `word`; None where there is none."""
    right_at: Exact | None
    """A beta at which every word is proved right; None: none up to 64."""
    wrong_at: Exact | None
    """A beta at which `word` is wrong; None: no word tried is wrong at any beta tried."""
    word: Word | None
    """A word that is wrong at `wrong_at`."""
    tried: Natural
    """Words that were evaluated."""
    exhaustive: bool
    """Whether every word of the length was tried."""

    @property
    def summary(self) -> str:
        """At which beta it is right, and at which a word is wrong."""
        right = "no beta proved right" if self.right_at is None else f"right at beta {beta_text(self.right_at)}"
        if self.wrong_at is None or self.word is None:
            return f"{right}, no word found wrong"
        return f"{right}, wrong at {beta_text(self.wrong_at)} on {word_summary(self.word)}"

    @property
    @written
    def closed(self) -> bool:
        """Whether the ends are next to each other."""
        return self.right_at is not None and self.right_at - (self.wrong_at or 0) <= WIDTH

    @property
    @written
    def temperature_constant(self) -> Exact | None:
        """1/right_at."""
        return 1 / self.right_at if self.right_at else None


@dataclass(frozen=True, slots=True, repr=False)
class CriticalResult(Record):
    """How small beta may be for one formula in one regime, or for one program at a schedule over beta."""

    input: InputName
    kind: InputKind
    formula: FormulaText
    title: Title
    model: ModelFacts
    """The network at the beta that it was compiled with."""
    lengths: tuple[Bracket, ...]
    """Each length by itself."""
    every_length: Bracket
    """For every length; n and word are of the word that is wrong at the largest beta."""
    deciding: HeadProof | None
    """The head with the least margin in the proof for every length, at its beta; None without a proof."""
    reason: str | None
    """Why there is no proof for every length at any beta."""
    beta_used: Exact
    """The largest beta of the compiled heads."""
    nearest: bool
    """Whether some head looks for the nearest position, which is what Lemma 6 speaks of."""
    partial: Partial = False

    @property
    def summary(self) -> str:
        """The bracket for every length."""
        found = f"every length {self.every_length.summary}"
        return f"{input_summary(self.input)}: {found}{', interrupted' * self.partial}"

    @property
    def proved(self) -> bool:
        """Whether a beta is proved right: of a formula one for every length, of a program one for each length."""
        if self.formula is None:
            return all(bracket.right_at is not None for bracket in self.lengths)
        return self.every_length.right_at is not None

    @property
    @written
    def width(self) -> Exact:
        """How far apart the ends of a closed bracket are."""
        return WIDTH

    @property
    @written
    def lemma_6(self) -> float | None:
        """2 ln 7, what the paper's Lemma 6 needs, where a head looks for the nearest position."""
        return 2 * log(7) if self.nearest else None


def hold_critical(request: Request) -> None:
    """Refuse what does not go with a search for the least beta.

    Raises:
        InputError: naming the option.
    """
    for option in ("gap", "plot", "beta") if request.critical else ():
        if getattr(request, option) not in (None, False):
            told = f"--critical looks for the least beta, so --{option} does not apply"
            raise InputError(told, f"Leave --{option} out.")


def critical(subject: Subject, max_n: int, report: Callable[[int, int], None] | None = None) -> CriticalResult:
    """The brackets of lengths 1 to `max_n`, of a few longer ones, and of every length. `report` is told how many of how
    many lengths are done.

    A KeyboardInterrupt ends the search early; what was found is kept and marked partial.

    Raises:
        InputError: if it is no formula and has no schedule, the temperature is not positive somewhere, or a formula's
            network is another one than the specification makes.
    """
    search = _search(subject)
    lengths = search.lengths(max_n)
    rows: list[Bracket] = []
    whole: list[tuple[Bracket, Proof | None, str | None]] = []

    def work() -> None:
        for n in dict.fromkeys(lengths):
            rows.append(search.length(n))
            if report is not None:
                report(len(rows), len(lengths))
        whole.append(search.every(rows))

    def result(partial: bool) -> CriticalResult:
        interrupted = reduce(_wider, rows, NOTHING_KNOWN), None, "interrupted before it was asked"
        every, proof, reason = interrupted if partial else whole[0]
        known = [] if proof is None else [head for head in proof.heads if head.margin is not None]
        return CriticalResult(
            input=subject.name,
            kind=subject.kind,
            formula=subject.formula_text,
            title=subject.file_title,
            model=subject.facts,
            lengths=tuple(rows),
            every_length=every,
            deciding=min(known, key=lambda head: head.margin or Fraction(0), default=None),
            reason=reason,
            beta_used=search.used,
            nearest=any(head.kind is Kind.NEAREST for head in subject.program.heads),
            partial=partial,
        )

    return to_the_report(work, result)


def _search(subject: Subject) -> _Search:
    """What brackets a subject's beta. Raises as `critical`."""
    if subject.formula is not None:
        subject.hold_specified("a critical beta")
        return _FormulaSearch(subject)
    plain = without_budget(subject)
    if not isinstance(plain.schedule, Arith):
        told = f"{subject.name} is no formula: --critical brackets the beta of a schedule, and it has none of its own"
        raise InputError(told, "Give a temperature with --tau, such as --tau '1/(64*n^3*log(n+1))': it is over beta.")
    return _ProgramSearch(plain, plain.schedule)


NOTHING_KNOWN = Bracket(None, None, None, None, 0, False)


def _wider(bracket: Bracket, row: Bracket) -> Bracket:
    """The bracket of every length, with the words of one more."""
    tried = bracket.tried + row.tried
    if row.wrong_at is None or (bracket.wrong_at is not None and row.wrong_at <= bracket.wrong_at):
        return replace(bracket, tried=tried)
    return replace(bracket, n=row.n, wrong_at=row.wrong_at, word=row.word, tried=tried)


def at_beta(subject: Subject, beta: Fraction) -> Transformer:
    """The network with the same beta in every head that attends by score: W_Q is scaled."""

    def scaled(head: AttentionHead, used: Fraction) -> AttentionHead:
        entries = tuple((row, column, plain(value * beta / used)) for row, column, value in head.w_q.entries)
        return replace(head, w_q=replace(head.w_q, entries=entries))

    used = {head.name: subject.budget.beta_of(head) for head in subject.program.heads}
    return replace(
        subject.model,
        layers=tuple(
            replace(layer, heads=tuple(scaled(head, used[head.name]) for head in layer.heads))
            for layer in subject.model.layers
        ),
    )


class _Search(ABC):
    """Betas are numbers of `WIDTH`."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.alphabet = subject.alphabet
        self.engines: dict[int, SoftEngine] = {}
        self.best: Word = ()

    @abstractmethod
    def prover(self, n: int) -> tuple[Callable[[int], bool], Callable[[int], list[Word]]]:
        """At one length, whether every word is proved right at a beta, and words that may be wrong at one, if not all
        are tried."""

    @abstractmethod
    def every(self, rows: Sequence[Bracket]) -> tuple[Bracket, Proof | None, str | None]:
        """The bracket of every length, the proof at its beta, and why there is none."""

    def lengths(self, max_n: int) -> list[int]:
        """The lengths that are looked at one by one."""
        return list(range(1, max_n + 1))

    @property
    def used(self) -> Fraction:
        """The beta in use."""
        return Fraction(1)

    @abstractmethod
    def engine(self, beta: int) -> SoftEngine:
        """The network at a beta."""

    @abstractmethod
    def meant(self, words: Sequence[Word]) -> Sequence[Answer]:
        """What it should answer."""

    def length(self, n: int) -> Bracket:
        """The bracket of one length."""
        holds, suggest = self.prover(n)
        proved = least(holds)
        exhaustive = count_words(len(self.alphabet), n) <= EVERY_WORD
        longer = self._stretched(n, [self.alphabet] * (len(self.best) + 1)) if 0 < len(self.best) < n else []
        if exhaustive:
            candidates: Iterable[Word] = enumerate_words(self.alphabet, n)
        else:
            candidates = [*(suggest((proved or 1) - 1) if proved != 1 else ()), *longer]
        words = list(dict.fromkeys(word for word in candidates if len(word) == n))
        refuted, word = self._refute(words, proved or MOST)
        return Bracket(n, None if proved is None else proved * WIDTH, refuted, word, len(words), exhaustive)

    # ---- words ----

    def _stretched(self, n: int, symbols: Sequence[Sequence[str]]) -> list[Word]:
        """The last refuting word with so many of a symbol of each place put in there that it has length n."""
        best, more = self.best, n - len(self.best)
        places = enumerate(symbols)
        return [(*best[:place], *(symbol,) * more, *best[place:]) for place, some in places for symbol in some]

    def _wrong(self, words: Sequence[Word], beta: int) -> list[Word]:
        """The words on which the network certainly does not answer as it should."""
        if beta not in self.engines:
            self.engines[beta] = self.engine(beta)
        prepared = [self.subject.prepared(word) for word in words]
        answers, meant = self.engines[beta].decisions(prepared), self.meant(words)
        return [word for word, (decided, answer), right in zip(words, answers, meant, strict=True)
                if decided and settled(right) and answer != right]  # fmt: skip

    def _refute(self, words: list[Word], high: int, low: int = 1) -> tuple[Fraction | None, Word | None]:
        """The largest beta from `low` to below `high` found at which a word is wrong, and the word."""
        found = self._wrong(words, low) if words and low < high else []
        if not found:
            return None, None

        def right(beta: int) -> bool:
            nonlocal found
            wrong = self._wrong(found, beta)
            found = wrong or found
            return not wrong

        refuted, _ = bisected(low, high, right)
        self.best = found[0]
        return refuted * WIDTH, found[0]


class _FormulaSearch(_Search):
    """Of a formula, whose network is proved from its weights."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.core = desugar(subject.file)
        self.own = own_predicates(subject.file)

    def prover(self, n: int) -> tuple[Callable[[int], bool], Callable[[int], list[Word]]]:
        """By the heads; words of their worst cases."""
        sites = Sites((n,), only_last=True)
        meaning = prove_meaning(self.subject.program, self.core, Facts(sites, self.core.alphabet, self.own))

        def proof(beta: int) -> LinkProof:
            return prove_network(at_beta(self.subject, beta * WIDTH), self.subject.program, sites)[0]

        def suggested(beta: int) -> list[Word]:
            return [word for case in proof(beta).cases for word in words_of(case, self.alphabet)]

        return lambda beta: meaning.proved and proof(beta).proved, suggested

    def every(self, rows: Sequence[Bracket]) -> tuple[Bracket, Proof | None, str | None]:
        """By the argument in closed form, and by words of a few longer lengths."""

        def proof(beta: int) -> Proof:
            return prove_general(at_beta(self.subject, beta * WIDTH), self.subject.program, self.core, self.own)

        proved = least(lambda beta: proof(beta).proved)
        found = proof(MOST if proved is None else proved)
        bracket = reduce(_wider, rows, replace(NOTHING_KNOWN, right_at=None if proved is None else proved * WIDTH))
        if proved is None:
            return bracket, None, found.reason
        for n in () if bracket.closed else FAR:
            more = self._stretched(n, [(symbol,) for symbol in self.best])  # of one of its symbols
            words = list(dict.fromkeys(more))
            refuted, word = self._refute(words, proved, int((bracket.wrong_at or 0) / WIDTH) + 1)
            bracket = _wider(bracket, Bracket(n, None, refuted, word, len(words), False))
        return bracket, found, found.reason

    def lengths(self, max_n: int) -> list[int]:
        """And a few longer ones."""
        return [*range(1, max_n + 1), *(factor * max_n for factor in LONGER if factor * max_n <= LARGEST_LENGTH)]

    @property
    def used(self) -> Fraction:
        """The largest of the heads."""
        return max(map(self.subject.budget.beta_of, self.subject.program.heads), default=Fraction(1))

    def engine(self, beta: int) -> SoftEngine:
        """With every W_Q scaled."""
        model = at_beta(self.subject, beta * WIDTH)
        subject = replace(self.subject, stored=model)
        return SoftEngine(subject, model, subject.program, budget=subject.budget)

    def meant(self, words: Sequence[Word]) -> Sequence[Answer]:
        """What the formula says."""
        return self.subject.oracles(words) or []


class _ProgramSearch(_Search):
    """Of a program or a hard-attention model at a schedule over beta: softmax is right where it answers as hard
    attention does, which is proved by the recursion of Theorem 26."""

    def __init__(self, subject: Subject, schedule: Schedule) -> None:
        super().__init__(subject)
        self.schedule, self.hard = schedule, HardRunner(subject)
        self.program: Program = subject.program

    def prover(self, n: int) -> tuple[Callable[[int], bool], Callable[[int], list[Word]]]:
        """By the recursion; words at random."""
        found = known_of(self.subject, n, EVERY)
        known = found if isinstance(found, KnownLength) else None
        # Softmax simulates this program, whose ties are broken if there are any.
        self.program = self.subject.program if known is None else known.program
        self.engines.clear()

        def proved(beta: int) -> bool:
            subject = replace(self.subject, schedule=self.at(beta))
            return known is not None and settled_length(subject, known).proved_by is not None

        return proved, lambda _: sample_words(self.alphabet, n, SAMPLED, SEED)

    def at(self, beta: int) -> Schedule:
        """The schedule over a beta."""
        return parse_arith(f"({self.schedule})/({beta * WIDTH})")

    def every(self, rows: Sequence[Bracket]) -> tuple[Bracket, Proof | None, str | None]:
        """Nothing but the words of the lengths tried."""
        return (
            reduce(_wider, rows, NOTHING_KNOWN),
            None,
            "programs and hard-attention models are proved length by length",
        )

    def engine(self, beta: int) -> SoftEngine:
        """At the schedule over beta."""
        return SoftEngine(self.subject, assemble(self.program, self.at(beta)), self.program)

    def meant(self, words: Sequence[Word]) -> Sequence[Answer]:
        """What hard attention answers."""
        return self.hard.answers(words)


def bisected(low: int, high: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """Neighbours between two numbers, of which something does not hold at the first and holds at the second."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def least(holds: Callable[[int], bool]) -> int | None:
    """The least number of `WIDTH` at which something holds, by bisection from the largest; None if not there."""
    return bisected(0, MOST, holds)[1] if holds(MOST) else None


def beta_text(value: Fraction | None) -> str:
    """A multiple of the width, with all its digits."""
    return NOTHING if value is None else f"{rounded(value, 12):f}"
