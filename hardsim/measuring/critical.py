"""The critical temperature (`--critical`): how small beta may be for one length and for all lengths, between rigorous
ends.

At each length one end is proved (the prover at that beta, for all words of the length), the other refuted by a word.
For every length the proved end combines two arguments: lengths up to `ONE_BY_ONE` are proved one by one, longer ones by
the closed form (`proof.formulas.every_length`); the refuted end is the largest of all lengths tried. Ends are found by
bisection among multiples of `WIDTH`, for every length of `FINE`; a bracket is closed if it is no wider than `WIDTH`. A
smaller beta may be right where a larger one is wrong: nothing is claimed for betas between the ends or below them.

For one head that looks for the nearest position the closed form needs e^-g <= 1/4 (`proof.formulas.every_length`), g =
beta/2 in regimes whose tie-break decides: beta >= 2 ln 4 = 2.7726, where Lemma 6 alone needs 2 ln 7 = 3.892. Words in
which all positions before the winner are wrong show that no smaller beta is enough: the weight of these positions is x
+ ... + x^(n - 1) = (x - x^n)/(1 - x), a share that tends to x. In `causal-temperature` g has that value only at the
first positions of long words, l(w) - l(j) = (beta/2) i^2 (w - j)/(j w), and only words of thousands of symbols come
close.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import groupby, islice, permutations, product
from math import log

from hardsim.campaign.engines import AFTER, Hard, HardRunner, SoftEngine
from hardsim.campaign.interrupts import to_the_report
from hardsim.campaign.result import Length, Partial, input_summary, word_summary
from hardsim.campaign.words import enumerate_words, sample_words
from hardsim.errors import InputError
from hardsim.lang.arith import Arith
from hardsim.lang.desugar import desugar
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.hard_up_to import HardUpTo, hard_up_to
from hardsim.network.numbers import plain
from hardsim.network.transformer import AttentionHead, SoftWeighting, Transformer
from hardsim.options.table import Request
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Kind, Program
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proof.formulas.facts import Facts
from hardsim.proof.formulas.network import one_for_all, prove_meaning, prove_network
from hardsim.proof.formulas.sites import Sites
from hardsim.proof.shared.result import HeadProof, LinkProof, Proof, WorstCase
from hardsim.proving.prove import EVERY, affordable, known_by_structure, known_by_words, settled_length, words_of
from hardsim.records import NOTHING, Exact, Natural, Record, rounded, written
from hardsim.targets.claims import HeadsClaim
from hardsim.targets.result import Answer, FormulaText, InputKind, InputName, ModelFacts, Title, Word, settled
from hardsim.targets.sharpness import FOUND, GivenTemperature, OneNetwork
from hardsim.targets.subject import Subject, own_predicates

WIDTH, LARGEST = Fraction(1, 1000), Fraction(64)
"""Largest distance between the ends of a closed bracket, and largest beta tried."""
FINE = WIDTH / 10
"""The two ends of the bracket for every length are multiples of this number."""
ONE_BY_ONE = 28
"""Largest length that is proved by itself in the proof for every length."""
EVERY_WORD = 256
"""Most words that a length may have for all of them to be tried."""
LONGER, LARGEST_LENGTH = (2, 4), 64
"""Factors of the longest length that give longer lengths to try, and the largest length that they may give."""
LONGEST_EXACT = 8
"""Largest length of the words that are tried of a network that runs in rationals."""
FAR = (128, 512)
"""Lengths beyond the others at which words are tried for the bracket of every length."""
FARTHEST = (2048, 8192, 16384)
"""Still longer lengths, at which one word is tried, at the one beta where it would close the bracket: longer words come
closer."""
MOST_SYMBOLS, MOST_RUNS = 4, 4
"""Most symbols (the first of the alphabet) from which words of two runs are made, and most runs of a worst case that
are shown."""
SAMPLED, SEED = 64, 0
"""Number of random words of one length that are tried for a program where not all are, and the seed of their choice."""
UNUSED = (
    "dps engine workers backend scheduler exhaustive samples seed epsilon all_lengths",
    "the least beta is found by the prover, in one process and in arithmetic of its own",
)
"""Options that do not apply to a search for the least beta, and the reason."""
REFUSED = ("gap", "plot", "beta", "norm_epsilon")
"""Options that have meanings of their own in a bound report, and do not go with such a search."""


@dataclass(frozen=True, slots=True, repr=False)
class Bracket(Record):
    """Two betas around the least one that works: all words are right at one, and a word is wrong at the other."""

    n: Length | None
    """Length of the words of the bracket. In the bracket for every length: the length of `word`, null without a
    word."""
    right_at: Exact | None
    """Least beta found at which every word is proved right; null: none up to 64."""
    wrong_at: Exact | None
    """Largest beta found at which `word` is wrong; null: no word tried is wrong at any beta tried."""
    word: Word | None
    """Word that is wrong at `wrong_at`; null without `wrong_at`."""
    tried: Natural
    """Number of words that were tried; in the bracket for every length, of all lengths together."""
    exhaustive: bool
    """True if every word of the length was tried; false in the bracket for every length."""

    @property
    def summary(self) -> str:
        """The two ends as text: the beta proved right, and the beta at which a word is wrong."""
        right = "no beta proved right" if self.right_at is None else f"right at beta {beta_text(self.right_at)}"
        if self.wrong_at is None or self.word is None:
            return f"{right}, no word found wrong"
        return f"{right}, wrong at {beta_text(self.wrong_at)} on {word_summary(self.word)}"

    @property
    @written
    def closed(self) -> bool:
        """True if the ends are no farther apart than the width 1/1000; 0 stands for a missing `wrong_at`. False without
        `right_at`."""
        return self.right_at is not None and self.right_at - (self.wrong_at or 0) <= WIDTH

    @property
    @written
    def temperature_constant(self) -> Exact | None:
        """1/right_at: the factor of the temperature at which every word is proved right; null without `right_at`."""
        return 1 / self.right_at if self.right_at else None


@dataclass(frozen=True, slots=True, repr=False)
class CriticalResult(Record):
    """Brackets of beta for one formula in one regime, or for one program at a schedule over beta."""

    input: InputName
    kind: InputKind
    formula: FormulaText
    title: Title
    model: ModelFacts
    """Network at the beta that it was compiled with."""
    schedule: str | None
    """Temperature that is divided by beta; null for a formula: the W_Q of its heads is multiplied by beta."""
    lengths: tuple[Bracket, ...]
    """Brackets of single lengths, in ascending order."""
    every_length: Bracket
    """Bracket for every length; n and word belong to the word that is wrong at the largest beta."""
    deciding: HeadProof | None
    """Head with the least margin in the proof for every length, at its beta; null without a proof."""
    reason: str | None
    """Reason why there is no proof for every length at any beta; null with a proof."""
    missing: str | None
    """Words that would have to exist to close an open bracket for every length; null if it is closed or has no proof.
    """
    inside: Bracket | None
    """For an open bracket: a bracket for the stronger requirement of the proof, that every Boolean inside the network
    is exact; null if no word tried gives a larger wrong beta than the words with a wrong output."""
    beta_used: Exact
    """Largest beta of the compiled heads; 1 for a program or model."""
    nearest: bool
    """True if a head looks for the nearest position, which is the case of Lemma 6."""
    partial: Partial = False
    hard_up_to: tuple[HardUpTo, ...] = ()
    """For sparsemax and rounded exponentials: the largest temperature of each length at which all weights are those of
    hard attention; empty for softmax."""

    @property
    def proved(self) -> bool:
        """True if a beta is proved right: for a formula one for every length, for a program one for each length."""
        if self.formula is None:
            return all(bracket.right_at is not None for bracket in self.lengths)
        return self.every_length.right_at is not None

    @property
    def summary(self) -> str:
        """The bracket for every length as text, with the input."""
        found = f"every length {self.every_length.summary}"
        return f"{input_summary(self.input)}: {found}{', interrupted' * self.partial}"

    @property
    @written
    def width(self) -> Exact:
        """Largest distance between the ends of a closed bracket."""
        return WIDTH

    @property
    @written
    def lemma_6(self) -> float | None:
        """2 ln 7, the beta that Lemma 6 of the paper needs, if a head looks for the nearest position by softmax; else
        null."""
        return 2 * log(7) if self.nearest and self.model.weighting == "softmax" else None


def require_critical(request: Request) -> None:
    """Raise InputError if an option does not go with a search for the least beta (`--critical`)."""
    for option in REFUSED if request.critical else ():
        if getattr(request, option) not in (None, False):
            named = f"--{option.replace('_', '-')}"
            raise InputError(f"--critical looks for the least beta, so {named} does not apply", f"Leave {named} out.")


def critical(subject: Subject, max_n: int, report: Callable[[int, int], None] | None = None) -> CriticalResult:
    """Return the brackets of lengths 1 to `max_n`, of a few longer ones, and of every length. `report` is called with
    the number of lengths done and of all lengths.

    A KeyboardInterrupt ends the search early; the brackets so far are kept, and the result is marked partial. Raises
    InputError if the subject is not a formula, no temperature was given, and its own is not a function of the length;
    if the temperature is not positive somewhere; or if a formula's network is not the one that the specification
    gives."""
    hint = "Choose another regime; without --critical, `hardsim bound` shows what is known of this network."
    subject.program.require_plain("--critical, which looks for the least beta of heads that have scores,", hint)
    search = _search(subject)
    lengths = search.lengths(max_n)
    rows: list[Bracket] = []
    exact: list[HardUpTo] = []
    whole: list[EveryLengthBracket] = []

    def work() -> None:
        for n in dict.fromkeys(lengths):
            rows.append(search.length(n))
            if subject.program.weighting.cutoff is not None:
                exact.append(search.hard_up_to(n))
            if report is not None:
                report(len(rows), len(lengths))
        whole.append(search.every(rows))

    def result(partial: bool) -> CriticalResult:
        # The proof for every length comes last, so an interrupted search has only the words.
        interrupted = EveryLengthBracket(
            reduce(_wider, rows, NOTHING_KNOWN), None, "interrupted before the search for all lengths"
        )
        found = interrupted if partial else whole[0]
        return CriticalResult(
            input=subject.name,
            kind=subject.kind,
            formula=subject.formula_text,
            title=subject.file_title,
            model=subject.facts,
            schedule=search.scaled,
            lengths=tuple(rows),
            every_length=found.bracket,
            deciding=found.deciding,
            reason=found.reason,
            missing=found.missing,
            inside=found.inside,
            beta_used=search.used,
            nearest=any(head.kind is Kind.NEAREST for head in subject.program.heads),
            partial=partial,
            hard_up_to=tuple(exact),
        )

    return to_the_report(work, result)


def _search(subject: Subject) -> _Search:
    """Return the search for a subject's brackets. It raises as `critical` does."""
    claim = subject.prover()
    if isinstance(claim, HeadsClaim) and not claim.heads_only:
        subject.require_specified("a critical beta")
        return _FormulaSearch(claim)
    plain = subject.without_budget()
    if not plain.given_temperature:
        # An error of one's own (epsilon) would give a temperature for each length, and no function to divide by beta.
        plain = replace(plain, sharpness=FOUND)
    schedule = plain.temperature
    if not isinstance(schedule, Arith):
        why = f"it has a {schedule}" if schedule is not None else f"it has none of its own: {plain.argument.reason}"
        message = f"{subject.name}: --critical needs a temperature that is a function of the length, and {why}"
        raise InputError(message, "Give one with --tau, such as --tau '1/(64*n^3*log(n+1))': it is divided by beta.")
    return _ProgramSearch(plain, schedule)


NOTHING_KNOWN = Bracket(None, None, None, None, 0, False)


@dataclass(frozen=True, slots=True)
class EveryLengthBracket:
    """The results for every length: the bracket, the head with the least margin, the reason why there is no proof, and
    for an open bracket the words that would close it, and the bracket for exact Booleans inside the network."""

    bracket: Bracket
    deciding: HeadProof | None
    reason: str | None
    missing: str | None = None
    inside: Bracket | None = None


def _wider(bracket: Bracket, row: Bracket) -> Bracket:
    """Return the bracket of every length, extended by the words of the bracket `row` of one length: the larger
    `wrong_at` with its word, and the sum of the words tried."""
    tried = bracket.tried + row.tried
    # The largest wrong beta of all lengths is a lower end for every length.
    if row.wrong_at is None or (bracket.wrong_at is not None and row.wrong_at <= bracket.wrong_at):
        return replace(bracket, tried=tried)
    return replace(bracket, n=row.n, wrong_at=row.wrong_at, word=row.word, tried=tried)


def at_beta(subject: Subject, beta: Fraction) -> Transformer:
    """Return the network with the same beta in every head that attends by score: W_Q is scaled."""

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
    """The search for brackets of beta for one subject. `used` is the largest beta of the heads of its network (1 for a
    program or model), `schedule` the temperature for beta 1, `scaled` the temperature that is divided by beta, as text
    (None for a formula, whose W_Q is multiplied)."""

    longer: tuple[int, ...] = ()
    """Factors of the longest length that give longer lengths, up to LARGEST_LENGTH."""

    def __init__(self, subject: Subject, used: Fraction, schedule: Arith, scaled: str | None = None) -> None:
        self.subject, self.used, self.schedule, self.scaled = subject, used, schedule, scaled
        self.program: Program = subject.program
        self.alphabet = subject.alphabet
        self.hard = HardRunner(subject)
        self.engines: dict[tuple[Fraction, bool], SoftEngine] = {}
        self.best: Word = ()

    def lengths(self, max_n: int) -> list[int]:
        """Return the lengths that get a bracket of their own: 1 to `max_n`, and some longer ones."""
        return [*range(1, max_n + 1), *(factor * max_n for factor in self.longer if factor * max_n <= LARGEST_LENGTH)]

    @abstractmethod
    def prover(self, n: int) -> tuple[Callable[[Fraction], bool], Callable[[Fraction], list[Word]]]:
        """Return two functions of beta for length n: the first returns True if every word is proved right, the second
        returns words that may be wrong, to try if not all words are tried."""

    @abstractmethod
    def every(self, rows: Sequence[Bracket]) -> EveryLengthBracket:
        """Return the results for every length; `rows` are the brackets of the lengths."""

    @abstractmethod
    def _wrong(self, words: Sequence[Word], beta: Fraction) -> list[Word]:
        """Return the words on which the network certainly gives a wrong answer at a beta."""

    def hard_up_to(self, n: int) -> HardUpTo:
        """Return the largest temperature of length n, divided by the temperature that beta 1 gives, up to which all
        weights are those of hard attention."""
        proved, _ = self.prover(n)
        return hard_up_to(self.subject, self.program, self.schedule, n, lambda constant: proved(1 / constant))

    def length(self, n: int) -> Bracket:
        """Return the bracket of length n."""
        holds, suggested = self.prover(n)
        proved = least(holds)
        exhaustive = count_words(len(self.alphabet), n) <= EVERY_WORD
        # The best wrong word of shorter lengths often stays wrong with one of its runs made longer.
        longer = self._stretched(n, [self.alphabet] * (len(self.best) + 1)) if 0 < len(self.best) < n else []
        if exhaustive:
            candidates: Iterable[Word] = enumerate_words(self.alphabet, n)
        else:
            # If the least multiple of the width is proved, there is no smaller beta to refute.
            candidates = [*(suggested((proved or WIDTH) - WIDTH) if proved != WIDTH else ()), *longer]
        words = list(dict.fromkeys(word for word in candidates if len(word) == n))
        refuted, word = self._refute(words, LARGEST if proved is None else proved, WIDTH, WIDTH)
        return Bracket(n, proved, refuted, word, len(words), exhaustive)

    def _stretched(self, n: int, symbols: Sequence[Sequence[str]]) -> list[Word]:
        """Return words of length n made from the last wrong word: all missing symbols are copies of one symbol,
        inserted at one place. `symbols` lists the symbols to try for each place, from that before the first symbol on.
        """
        best, more = self.best, n - len(self.best)
        places = enumerate(symbols)
        return [(*best[:place], *(symbol,) * more, *best[place:]) for place, some in places for symbol in some]

    def _refute(
        self, words: list[Word], high: Fraction, low: Fraction, unit: Fraction
    ) -> tuple[Fraction | None, Word | None]:
        """Return the largest beta found at which a word is wrong, and the word: a multiple of `unit` from `low` to
        below `high`. Return (None, None) if no word is wrong at `low`."""
        found = self._wrong(words, low) if words and low < high else []
        if not found:
            return None, None

        # `found` are the words that are wrong at the lower end, so a wrong word is known when the bisection ends.
        def right(beta: Fraction) -> bool:
            nonlocal found
            wrong = self._wrong(found, beta)
            found = wrong or found
            return not wrong

        refuted, _ = bisected(low, high, right, unit)
        self.best = found[0]
        return refuted, found[0]


class _FormulaSearch(_Search):
    """The search for a formula, whose network is proved from its weights."""

    longer = LONGER

    def __init__(self, claim: HeadsClaim) -> None:
        subject: Subject = claim.target
        used = max(map(subject.budget.beta_of, subject.program.heads), default=Fraction(1))
        super().__init__(subject, used, subject.budget.temperature)
        self.core = desugar(claim.formula)
        self.own = own_predicates(claim.formula)
        self.inexact = False
        self.prefix = one_for_all(subject.model, subject.program, None)

    # ---- proofs ----

    def by_length(self, beta: Fraction, sites: Sites) -> tuple[LinkProof, tuple[HeadProof, ...]]:
        """Return the first link of the proof (network against program) at the positions of `sites`, and the proofs of
        the heads."""
        return prove_network(at_beta(self.subject, beta), self.subject.program, sites)

    def long(self, beta: Fraction) -> Proof:
        """Return the first link of the proof for all words longer than ONE_BY_ONE."""
        return prove_general(at_beta(self.subject, beta), self.subject.program, beyond=ONE_BY_ONE)

    def prover(self, n: int) -> tuple[Callable[[Fraction], bool], Callable[[Fraction], list[Word]]]:
        """Return the proof by the heads as a function of beta, and the words of the heads' worst cases as another."""
        sites = Sites((n,), only_last=True)
        meaning = prove_meaning(self.subject.program, self.core, Facts(sites, self.core.alphabet, self.own))

        def suggested(beta: Fraction) -> list[Word]:
            return [word for case in self.by_length(beta, sites)[0].cases for word in words_of(case, self.alphabet)]

        return lambda beta: meaning.proved and self.by_length(beta, sites)[0].proved, suggested

    def every(self, rows: Sequence[Bracket]) -> EveryLengthBracket:
        """Return the results for every length: the bracket, the head that decides it, the reason why there is no proof,
        and the words that would close an open bracket."""
        # One length stands for all shorter ones if a word runs as its prefixes do (no head looks at later positions).
        lengths = (ONE_BY_ONE,) if self.prefix else tuple(range(1, ONE_BY_ONE + 1))
        sites = Sites(lengths, only_last=not self.prefix)
        bracket = reduce(_wider, rows, NOTHING_KNOWN)
        meaning = prove_general(self.subject.model, self.subject.program, self.core, self.own).meaning
        assert meaning is not None

        def failing(beta: Fraction) -> LinkProof | None:
            return next((link for link in (meaning, self.long(beta).network, self.by_length(beta, sites)[0])
                         if not link.proved), None)  # fmt: skip

        # The search starts above the largest beta that is known to be wrong.
        proved = least(lambda beta: failing(beta) is None, FINE, bracket.wrong_at or Fraction(0))
        if proved is None:
            last = failing(LARGEST)
            return EveryLengthBracket(bracket, None, None if last is None else last.reason)
        bracket = replace(bracket, right_at=proved)
        deciding = _tightest(self.long(proved).heads, self.by_length(proved, sites)[1])
        if bracket.closed:
            return EveryLengthBracket(bracket, deciding, None)
        below = self.by_length(proved - WIDTH, sites)[0]
        words = self._candidates(below.cases)
        if self.subject.program.weighting.cutoff is not None:
            # Longer words come no closer (a short row already has the least gap over tau), and are run one by one.
            words = [some for some in words if len(some[0]) <= LONGEST_EXACT]
        bracket = reduce(self._tried, words, bracket)
        bracket = self._far(bracket) if self.subject.program.weighting is SoftWeighting.SOFTMAX else bracket
        if bracket.closed:
            return EveryLengthBracket(bracket, deciding, None)
        # From here on engines measure errors inside the network, not only answers.
        self.inexact = True
        inside = reduce(self._tried, reversed(words), bracket)
        found = None if inside.wrong_at == bracket.wrong_at else inside
        missing = self._missing(self.long(proved - WIDTH).network if below.proved else below)
        return EveryLengthBracket(bracket, deciding, None, missing, found)

    # ---- words ----

    def _candidates(self, cases: Sequence[WorstCase]) -> list[list[Word]]:
        """Return lists of words, each of one length, the shortest first: the words of the worst cases, and words of
        length 2 to ONE_BY_ONE of one symbol followed by another."""
        by_length: dict[int, dict[Word, None]] = {}
        for word in (word for case in cases for word in words_of(case, self.alphabet)):
            by_length.setdefault(len(word), {})[word] = None
        # Two runs of equal symbols: all positions before the winner are alike, the worst case of the module docstring.
        for n, (first, other) in product(
            range(2, ONE_BY_ONE + 1), permutations(islice(self.alphabet, MOST_SYMBOLS), 2)
        ):
            by_length.setdefault(n, {}).update(dict.fromkeys((first,) * k + (other,) * (n - k) for k in range(n)))
        return [list(by_length[n]) for n in sorted(by_length)]

    def _tried(self, bracket: Bracket, words: list[Word], once: bool = False) -> Bracket:
        """Return the bracket of every length after some words of one length were tried at betas where no word is known
        to be wrong. With `once` they are only tried at a beta where they would close the bracket."""
        assert bracket.right_at is not None
        if bracket.closed:
            return bracket
        low = bracket.right_at - WIDTH if once else (bracket.wrong_at or 0) + FINE
        refuted, word = self._refute(words, low + FINE if once else bracket.right_at, low, FINE)
        return _wider(bracket, Bracket(len(words[0]), None, refuted, word, len(words), False))

    def _far(self, bracket: Bracket) -> Bracket:
        """Return the bracket after longer and longer words were tried that contain the best wrong word, while they come
        closer."""
        for n in FAR + FARTHEST:
            words = list(
                dict.fromkeys(self._stretched(n, [(symbol,) for symbol in self.best]))
            )  # at each place copies of the symbol there
            if bracket.closed or not words or len(self.best) > n:
                break
            if n in FARTHEST:
                # One word alone is tried: that in which the longest run is longer.
                words = [max(words, key=lambda word: max(len(list(run)) for _, run in groupby(word)))]
            found = self._tried(bracket, words, n in FARTHEST)
            if n in FAR and found.wrong_at == bracket.wrong_at:
                break
            bracket = found
        return bracket

    def _wrong(self, words: Sequence[Word], beta: Fraction) -> list[Word]:
        """Return the words with an answer other than the formula's; once `inexact` is set, the words on which a
        coordinate that hidden units write certainly differs from hard attention."""
        # An engine prepares its network once; bisection comes back to the same betas for other words.
        if (beta, self.inexact) not in self.engines:
            model = at_beta(self.subject, beta)
            subject = replace(self.subject, sharpness=OneNetwork(self.subject.budget, model))
            budget = None if self.inexact else subject.budget
            self.engines[beta, self.inexact] = SoftEngine(subject, model, subject.program, budget=budget)
        engine = self.engines[beta, self.inexact]
        if self.inexact:
            hard = Hard.of(self.subject, self.subject.program, self.hard.trace(words))
            found = engine.batch(words, hard)
            errors = [low > 0 for place, (low, _) in found.numbers.items() if len(place) == 3 and place[1] == AFTER]
            return [
                word
                for word, *some in zip(words, found.decided, *errors, strict=True)
                # The first entry tells whether the word is decided, the others are its errors.
                if all(some[:1]) and any(some[1:])
            ]
        return _differing(words, engine.decisions(words), self.subject.answers(words) or [])

    # ---- why it is open ----

    def _missing(self, below: LinkProof) -> str:
        """Return a text for the words that would close a bracket, from the first failure below the proved end."""
        if not below.cases:
            return f"words longer than {ONE_BY_ONE} on which {below.reason}"
        case = below.cases[0]
        runs = "; ".join(f"{run.first}-{run.last}: {run.type}" for run in case.types[:MOST_RUNS])
        where = f"a word of length {case.n} on which, at position {case.i}, {below.reason}"
        return where + (f" (positions {runs}{'; ...' * (len(case.types) > MOST_RUNS)})" if runs else "")


def _tightest(long: Sequence[HeadProof], by_length: Sequence[HeadProof]) -> HeadProof | None:
    """Return the head with the least margin; None if no head has one. A head at a single length goes before the heads
    at long lengths only if its margin is smaller by more than one percent."""

    def least_of(heads: Sequence[HeadProof]) -> HeadProof | None:
        known = (head for head in heads if head.margin is not None)
        return min(known, key=lambda head: head.margin or Fraction(0), default=None)

    first, other = least_of(long), least_of(by_length)
    if first is None or other is None or first.margin is None or other.margin is None:
        return first or other
    return other if other.margin < first.margin * Fraction(99, 100) else first


class _ProgramSearch(_Search):
    """The search for brackets of beta for a program or a hard-attention model, whose temperature is the schedule
    divided by beta. Softmax is right at a beta if it answers as hard attention does, which is proved by the recursion
    of Theorem 26."""

    def __init__(self, subject: Subject, schedule: Arith) -> None:
        super().__init__(subject, Fraction(1), schedule, str(schedule))

    def prover(self, n: int) -> tuple[Callable[[Fraction], bool], Callable[[Fraction], list[Word]]]:
        """Return the proof by the recursion as a function of beta, and SAMPLED random words, whatever beta is, as
        another."""
        known = known_by_structure(self.subject, n)
        if known is None and affordable(self.subject, n, EVERY):
            found = known_by_words(self.subject, n)
            known = None if isinstance(found, tuple) else found
        # Softmax simulates this program, whose ties are broken if there are any.
        self.program = self.subject.program if known is None else known.program
        self.engines.clear()

        def proved(beta: Fraction) -> bool:
            subject = replace(self.subject, sharpness=GivenTemperature(self.at(beta)))
            return known is not None and settled_length(subject, known).proved_by is not None

        return proved, lambda _: sample_words(self.alphabet, n, SAMPLED, SEED)

    def at(self, beta: Fraction) -> Arith:
        """Return the schedule divided by beta."""
        return self.schedule / beta

    def every(self, rows: Sequence[Bracket]) -> EveryLengthBracket:
        """Return the bracket of the lengths `rows` together: for programs and models there is none of every length."""
        reason = "for programs and hard-attention models each length is treated by itself"
        return EveryLengthBracket(reduce(_wider, rows, NOTHING_KNOWN), None, reason)

    def _wrong(self, words: Sequence[Word], beta: Fraction) -> list[Word]:
        """Return the words on which the network certainly answers otherwise than hard attention."""
        if (beta, False) not in self.engines:
            model = assemble(self.program, self.at(beta))
            self.engines[beta, False] = SoftEngine(self.subject, model, self.program)
        prepared = [self.subject.prepared(word) for word in words]
        return _differing(words, self.engines[beta, False].decisions(prepared), self.hard.answers(words))


def _differing(words: Sequence[Word], answers: Sequence[tuple[bool, Answer]], expected: Sequence[Answer]) -> list[Word]:
    """Return the words with an answer that is certain and not the expected one. A word whose expected answer is open is
    left out."""
    return [word for word, (decided, answer), right in zip(words, answers, expected, strict=True)
            if decided and settled(right) and answer != right]  # fmt: skip


def bisected(
    low: Fraction, high: Fraction, holds: Callable[[Fraction], bool], unit: Fraction = WIDTH
) -> tuple[Fraction, Fraction]:
    """Return two neighbours among the multiples of `unit` from `low` to `high`: `holds` is False at the first and True
    at the second. It is assumed to be False at `low` and True at `high`."""
    while high - low > unit:
        middle = (low + high) / 2 // unit * unit
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def least(holds: Callable[[Fraction], bool], unit: Fraction = WIDTH, low: Fraction = Fraction(0)) -> Fraction | None:
    """Return the least multiple of `unit` above `low` at which `holds` is found True; None if it is False at the
    largest beta.

    Without `low` the search bisects from the largest beta; above a known `low` its steps double until `holds` is True.
    """
    # Near a known wrong beta the least right one is close, so small steps come first.
    step = unit if low else LARGEST
    while not holds(low + step):
        if low + step == LARGEST:
            return None
        step = min(2 * step, LARGEST - low)
    return bisected(low + (step / 2 // unit * unit if unit < step < LARGEST else 0), low + step, holds, unit)[1]


def beta_text(value: Fraction | None) -> str:
    """Return a beta, which is a multiple of the grid's step, as text with all its digits."""
    return NOTHING if value is None else f"{rounded(value, 12):f}"
