"""The critical temperature of a formula: how small beta may be, for one length and for all, between rigorous ends.

beta multiplies the scores of every head, so the temperature constant is 1/beta. At each length one end is proved (the
prover at that beta, for all words of the length), the other refuted by a word (evaluated rigorously at that beta). For
every length the proved end is that of the closed-form argument, the refuted one the largest of all lengths tried. Ends
are multiples of `WIDTH`, found by bisection; rightness need not be monotone in beta, and nothing is claimed between
the ends.

For one head that looks for the nearest position the closed form needs e^-g <= 1/4 (`proof.series`), g = beta/2 in
regimes whose tie-break decides: beta >= 2 ln 4 = 2.7726, where Lemma 6 alone needs 2 ln 7 = 3.892. That no smaller beta
will do is shown by words in which all positions before the winner are wrong: their weight is x + ... + x^(n - 1) =
(x - x^n)/(1 - x), a share that tends to x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from hardsim.checking.interrupts import held, interruptible
from hardsim.checking.prove import words_of
from hardsim.checking.result import ModelFacts, Word
from hardsim.checking.rigorous import AutoEngine
from hardsim.checking.subject import Subject, own_predicates
from hardsim.checking.words import count_words, enumerate_words
from hardsim.lang.desugar import desugar
from hardsim.lang.semantics import Oracle
from hardsim.net.model import AttentionHead, Layer, Matrix, Transformer
from hardsim.proof.general import GeneralHead, GeneralProof, prove_general
from hardsim.proof.network import prove_network
from hardsim.proof.prover import prove_meaning
from hardsim.proof.result import LinkProof
from hardsim.proof.sites import Sites
from hardsim.run.plan import make_plan
from hardsim.spec.ir import Kind, plain

WIDTH = Fraction(1, 1000)
"""How far apart the ends of a closed bracket are."""
LARGEST = Fraction(64)
"""The largest beta tried."""
EVERY_WORD = 256
"""Lengths with so many words have all of them tried."""
LONGER = (2, 4)
"""Lengths tried beyond the longest, as multiples of it."""
LARGEST_LENGTH = 64
FAR = (128, 512)
"""Lengths at which only words are tried, for the bracket of every length."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """How small beta may be: right at `proved` (None: at no beta tried), wrong at `refuted` on `word` (None: on no
    word and at no beta tried). `tried` words were evaluated, all of the length if `exhaustive`."""

    n: int
    proved: Fraction | None
    refuted: Fraction | None
    word: Word | None
    tried: int
    exhaustive: bool

    @property
    def closed(self) -> bool:
        """Whether the ends are next to each other."""
        return self.proved is not None and self.proved - (self.refuted or 0) <= WIDTH


@dataclass(frozen=True, slots=True)
class CriticalResult:
    """The brackets of one formula in one regime. `every` is for all lengths: its word is the one that is wrong at the
    largest beta, its `n` that word's length. `deciding` is the head with the least margin in the proof for every length
    at its beta (None without a proof), `reason` why there is no proof at any beta.

    `used` is the largest beta of the compiled heads, `nearest` whether some head looks for the nearest position, which
    is what Lemma 6 speaks of.
    """

    name: str
    formula: str
    model: ModelFacts
    lengths: tuple[Bracket, ...]
    every: Bracket
    deciding: GeneralHead | None
    reason: str | None
    used: Fraction
    nearest: bool
    partial: bool = False


def critical(subject: Subject, max_n: int, report: Callable[[int, int], None] | None = None) -> CriticalResult:
    """The brackets of lengths 1 to `max_n`, of a few longer ones, and of every length. `report` is told how many of how
    many lengths are done.

    A KeyboardInterrupt ends the search early; what was found is kept and marked partial.

    Raises:
        InputError: if the temperature is not positive somewhere, or the network is another one than the specification
            makes.
    """
    subject.hold_specified("a critical beta")
    search = _Search(subject)
    lengths = [*range(1, max_n + 1), *(factor * max_n for factor in LONGER if factor * max_n <= LARGEST_LENGTH)]
    rows: list[Bracket] = []
    partial = False
    with held():
        try:
            with interruptible():
                for n in dict.fromkeys(lengths):
                    rows.append(search.length(n))
                    if report is not None:
                        report(len(rows), len(lengths))
                every, proof, reason = search.every(rows)
        except KeyboardInterrupt:
            partial = True
            every, proof, reason = reduce(_wider, rows, NOTHING_KNOWN), None, "interrupted before it was asked"
    used = max((subject.budget.beta_of(head) for head in subject.program.heads), default=Fraction(1))
    return CriticalResult(
        name=subject.name,
        formula=subject.formula,
        model=subject.facts,
        lengths=tuple(rows),
        every=every,
        deciding=None if proof is None else _deciding(proof),
        reason=reason,
        used=used,
        nearest=any(head.kind is Kind.NEAREST for head in subject.program.heads),
        partial=partial,
    )


NOTHING_KNOWN = Bracket(0, None, None, None, 0, False)


def _wider(bracket: Bracket, row: Bracket) -> Bracket:
    """The bracket of every length, with the words of one more."""
    tried = bracket.tried + row.tried
    if row.refuted is None or (bracket.refuted is not None and row.refuted <= bracket.refuted):
        return replace(bracket, tried=tried)
    return replace(bracket, n=row.n, refuted=row.refuted, word=row.word, tried=tried)


def _deciding(proof: GeneralProof) -> GeneralHead | None:
    known = [head for head in proof.heads if head.margin is not None]
    return min(known, key=lambda head: head.margin or Fraction(0), default=None)


def at_beta(subject: Subject, beta: Fraction) -> Transformer:
    """The network with the same beta in every head that attends by score: W_Q is scaled."""
    layers = []
    for layer, program in zip(subject.model.layers, subject.program.layers, strict=True):
        factors = [beta / subject.budget.beta_of(head) for head in program.heads]
        heads = tuple(_scaled(head, factor) for head, factor in zip(layer.heads, factors, strict=True))
        layers.append(Layer(heads, layer.ffn))
    return replace(subject.model, layers=tuple(layers))


def _scaled(head: AttentionHead, factor: Fraction) -> AttentionHead:
    rows, columns = head.w_q.shape
    entries = tuple((row, column, plain(value * factor)) for row, column, value in head.w_q.entries)
    return replace(head, w_q=Matrix((rows, columns), entries))


class _Search:
    """Betas are numbers of `WIDTH`."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.alphabet = subject.file.alphabet
        self.oracle = Oracle(subject.file)
        self.core = desugar(subject.file)
        self.own = own_predicates(subject.file)
        self.engines: dict[int, AutoEngine] = {}
        self.best: Word | None = None

    def length(self, n: int) -> Bracket:
        """The bracket of one length."""
        sites = Sites((n,), only_last=True)
        users = {name: user for name, (_, user) in self.own.items()}
        meaning = prove_meaning(self.subject.program, self.core, sites, users)

        def proof(beta: int) -> LinkProof:
            return prove_network(at_beta(self.subject, beta * WIDTH), self.subject.program, sites)[0]

        proved = least(lambda beta: meaning.holds and proof(beta).holds)
        cases = proof((proved or 1) - 1).cases if proved != 1 else ()
        exhaustive = count_words(len(self.alphabet), n) <= EVERY_WORD
        suggested = [word for case in cases for word in words_of(case, self.alphabet)]
        candidates = enumerate_words(self.alphabet, n) if exhaustive else [*suggested, *self._longer(n)]
        words = list(dict.fromkeys(word for word in candidates if len(word) == n))
        refuted, word = self._refute(words, proved or int(LARGEST / WIDTH))
        self.best = word or self.best
        return Bracket(n, None if proved is None else proved * WIDTH, refuted, word, len(words), exhaustive)

    def every(self, rows: Sequence[Bracket]) -> tuple[Bracket, GeneralProof | None, str | None]:
        """The bracket of every length, the proof at its beta, and why there is none."""

        def proof(beta: int) -> GeneralProof:
            return prove_general(at_beta(self.subject, beta * WIDTH), self.subject.program, self.core, self.own)

        proved = least(lambda beta: proof(beta).proved)
        found = proof(int(LARGEST / WIDTH) if proved is None else proved)
        start = replace(NOTHING_KNOWN, proved=None if proved is None else proved * WIDTH)
        bracket = reduce(_wider, rows, start)
        if proved is not None and not bracket.closed:
            for n in FAR:
                bracket = _wider(bracket, self._far(n, bracket.refuted, proved))
        return bracket, None if proved is None else found, found.reason

    def _far(self, n: int, low: Fraction | None, high: int) -> Bracket:
        """A long length, where only the last refuting word is tried, with more of one of its symbols."""
        word = self.best or ()
        longer = [(*word[:place], *(word[place],) * (n - len(word)), *word[place:]) for place in range(len(word))]
        words = list(dict.fromkeys(longer))
        refuted, found = self._refute(words, high, int((low or 0) / WIDTH) + 1)
        self.best = found or self.best
        return Bracket(n, None, refuted, found, len(words), False)

    # ---- words ----

    def _longer(self, n: int) -> Iterator[Word]:
        """The last refuting word with more symbols: one position repeated, or one symbol put in somewhere."""
        word = self.best
        if word is None or len(word) >= n:
            return
        more = n - len(word)
        for place in range(len(word) + 1):
            for symbol in self.alphabet:
                yield (*word[:place], *(symbol,) * more, *word[place:])

    def _wrong(self, words: Sequence[Word], beta: int) -> list[Word]:
        """The words on which the network certainly does not do what the formula says."""
        if beta not in self.engines:
            model = at_beta(self.subject, beta * WIDTH)
            subject = replace(self.subject, model=model)
            self.engines[beta] = AutoEngine(subject, make_plan(model), None)
        answers = self.engines[beta].decisions(words)
        return [word for word, (decided, answer) in zip(words, answers, strict=True)
                if decided and answer is not self.oracle.accepts(word)]  # fmt: skip

    def _refute(self, words: list[Word], high: int, low: int = 1) -> tuple[Fraction | None, Word | None]:
        """The largest beta from `low` to below `high` found at which a word is wrong, and the word."""
        found = self._wrong(words, low) if words and low < high else []
        if not found:
            return None, None
        while high - low > 1:
            middle = (low + high) // 2
            wrong = self._wrong(found, middle)
            if wrong:
                low, found = middle, wrong
            else:
                high = middle
        return low * WIDTH, found[0]


def least(holds: Callable[[int], bool]) -> int | None:
    """The least number of `WIDTH` at which something holds, by bisection from the largest; None if not there."""
    low, high = 0, int(LARGEST / WIDTH)
    if not holds(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
