"""Proofs for all words: of formulas' networks from their weights, and of hard-attention models and programs.

For a model, the claim is that softmax answers as hard attention does; the error recursion of Theorem 26 proves it.
The facts that it needs of the hard model come from the structure of a compiled program none of whose integers can
leave its range (`proof.programs.law`), or from exact hard attention on every word of a length, where these are few.
Ties of leftmost and rightmost heads are broken only in the network that hardsim makes of a hard-attention model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from itertools import islice, product, takewhile
from math import log10
from typing import Annotated, Literal

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.evaluate import evaluate
from hardsim.campaign.explanation import parting_of, shown_words
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.obstacles import Obstacles, hard_undecided, known_ties, merged_ties, obstacles
from hardsim.campaign.preparation import plan_length, prepare_words, tied
from hardsim.campaign.result import (
    FirstUndecided,
    Length,
    Mismatch,
    Parting,
    Reach,
    Shown,
    Tie,
    Verdict,
    span_text,
    verdict_summary,
)
from hardsim.campaign.tally import Tally
from hardsim.campaign.verdict import NO_ANSWER
from hardsim.campaign.words import count_words_upto, enumerate_words
from hardsim.errors import Contradiction, InputError, Undecided
from hardsim.lang.arith import Arith
from hardsim.lang.desugar import desugar
from hardsim.lang.reals import upper
from hardsim.lang.valuations import Alphabet
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import SoftWeighting, Transformer
from hardsim.options.table import Request, require_one_regime
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Program
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proof.formulas.network import Report, prove
from hardsim.proof.programs.every_length import ProgramArgument
from hardsim.proof.shared.result import HeadProof, LinkProof, NoProof, Proof, SecondProof, WorstCase
from hardsim.proving.confirmation import Confirmation, confirm
from hardsim.proving.rocq.outcome import RocqCheck
from hardsim.proving.rounded_words import limit_of, wrong_when_rounded
from hardsim.records import Exact, Lower, Measured, Natural, Record, Unwritten, one_of, written
from hardsim.sharpening.measure import LengthFacts
from hardsim.sharpening.theorem26 import DEFAULT_EPSILON, Bounds, Gaps, declared_gaps, error_bounds, inverses, solve
from hardsim.targets.claims import AttentionClaim, HeadsClaim
from hardsim.targets.result import Word, settled
from hardsim.targets.sharpness import GivenTemperature
from hardsim.targets.subject import HALF, Subject, SubjectRecord, own_predicates

PROOF = "engine dps", "a proof is in rigorous arithmetic of its own"
"""Options that do not apply to proofs, and the reason."""
UNUSED = "engine dps workers", "a proof is one process, in rigorous arithmetic of its own"
"""Options that do not apply to one proof, and the reason."""
ALONE = "workers", "a proof is one process, unless the network has several layers and --max-n is given"
"""The option without effect on the proof of one network that has one layer or no --max-n, and the reason."""
LONGEST_SUGGESTED = 24
"""Largest number of words tried that failing worst cases suggest."""
LONGEST_TRIED = 1024
"""Greatest length of these words; the cost grows with the square, as each position attends to every position."""
SHORT = 5
"""Greatest length that is examined by itself after a proof for every length, and whose words may be run."""
TOGETHER = 64
"""Number of words run together."""
SUGGESTED = 8
"""Number of words of the worst cases that are run after a proof, those with the least margins."""
ROUNDING = Fraction(1, 2**30)
"""A margin that is missed by less than this is missed by the rounding of the numerical proof, not by the network."""
EVERY = 20_000
"""Largest number of words of a length that are run one by one where structure proves nothing."""
FEW = 1_000
"""Largest number of words of a length that are tried where a given temperature has no proof for every length."""
LOOKED = 32
"""Lengths up to this one need a positive temperature before a proof for every length is tried."""
MANY_DIGITS = 12
"""Most digits of a number of words in a reason; a larger number is shown as a power."""
FROM_HEADS = (
    "the network accepts exactly what the formula says",
    "the network does what its heads' specification says (no formula claimed)",
)
"""The claims on every word of proofs by heads: one with the formula, and one of the heads alone."""
EVERY_WORD = "every word of every length: "
AMISS = "hard attention differs from the program"


@dataclass(frozen=True, slots=True, repr=False)
class LengthProof(Record):
    """The proof of one length."""

    n: Length
    proved_by: Annotated[str, one_of("structure", "every word")] | None
    """The method of the proof; None where there is no proof."""
    temperature: Exact | None = None
    """The least temperature of the positions, or a rational next to it, below it, if it is no rational number."""
    bound: Measured | None = None
    """The upper bound of the largest error of an output; null: there is none."""
    distance: Exact | None = None
    """A lower bound of the distance of every hard output from the threshold."""
    reason: str | None = None
    """The reason why there is no proof; null where there is one."""
    ties_broken: tuple[str, ...] = ()
    """The heads whose ties softmax breaks with weights that are added to the model's."""
    ties: Unwritten[tuple[Tie, ...]] = field(default=(), compare=False)
    """The ties of this length, where every word was run."""
    network: Unwritten[Transformer | None] = field(default=None, compare=False)
    """The softmax network that was proved."""


@dataclass(frozen=True, repr=False)
class ProofResult(SubjectRecord):
    """The result of `prove` for all words of length `min_n` to `max_n`. A formula in one regime is proved by its
    heads; a hard-attention model or a program is proved length by length, and the claim is that softmax answers as
    hard attention."""

    subject: Unwritten[Subject]
    """The subject that the result is about."""
    min_n: Length
    max_n: Length
    verdict: Annotated[Verdict, one_of("PROVED", "REFUTED", "UNDECIDED")]
    """The verdict on the claim."""
    reach: Reach
    tried: Natural = 0
    """Number of words tried in search of a refutation."""
    mismatch: Mismatch | None = None
    """The word that refutes the claim, or on which hard attention decides nothing; null: there is none."""
    parting: Parting | None = None
    """For a formula, the place where softmax departs from hard attention on that word."""
    proof: Unwritten[Proof | None] = None
    """For a formula, the proof by lengths."""
    all_n: Proof | None = None
    """The proof for every length, if it was asked for. If it is proved, PROVED covers every length, else the lengths
    min_n to max_n, which were asked for too."""
    second: SecondProof | None = None
    """Second proof, by automata, that the hard heads of a formula compute it, for every length; null where the first
    proof of this was not asked for or did not succeed."""
    heads_only: bool = False
    """True if the claim is only that the network does what the specification of its heads states, not that it
    computes the formula."""
    lengths: tuple[LengthProof, ...] = ()
    """For a model or a program, the proofs of the single lengths."""
    argument: ProgramArgument | None = None
    """For a model or a program, the argument for every length, if it was asked for."""
    theorem: Unwritten[str] = ""
    """The claim on every word that is proved for every length, as text; empty without such a proof."""
    confirmed: Confirmation | None = None
    """The words that were run after a proof; None where no length was proved, or one is refuted."""
    shown: Shown | None = None
    """A few short words, after a proof; None where all are long."""
    hard_undecided: FirstUndecided = None
    ties: tuple[Tie, ...] = ()
    """One tie for each head of a model that ties on the words that were run."""
    rocq: RocqCheck | None = None
    """The Rocq theorem about a formula, if it was asked for and every length is proved."""

    @property
    def word(self) -> Word | None:
        """The word that is shown beside the verdict: one that refutes it, or one on which hard attention decides
        nothing."""
        if self.mismatch is not None:
            return self.mismatch.word
        return None if self.hard_undecided is None else self.hard_undecided.word

    @property
    @written
    def claim(self) -> Annotated[str, one_of("formula", "heads", "hard attention")]:
        """The claim: that the network computes the formula, that it does what the specification of its heads states,
        or that it answers as hard attention does."""
        return "hard attention" if self.proof is None else "heads" if self.heads_only else "formula"

    @property
    @written
    def prefix(self) -> bool | None:
        """True if nothing depends on the length, so that the longest length stands for all; null for any other input
        than a formula."""
        return None if self.proof is None else self.proof.prefix

    @property
    @written
    def margin(self) -> Lower | None:
        """The least margin of all heads of a formula."""
        return None if self.proof is None else self.proof.margin

    @property
    @written
    def links(self) -> tuple[LinkProof, ...]:
        """The links of the proof of a formula."""
        return () if self.proof is None else self.proof.links

    @property
    @written
    def heads(self) -> tuple[HeadProof, ...]:
        """The heads of a formula's network."""
        return () if self.proof is None else self.proof.heads

    @property
    def summary(self) -> str:
        """One line: the verdict, the input, how far the verdict reaches, and the refuting word."""
        return verdict_summary(self.verdict, self.input, self.reach, self.mismatch.word if self.mismatch else None)

    @property
    def unproved(self) -> NoProof | None:
        """The reason why the claim is not proved; None if it is."""
        if self.verdict is Verdict.PROVED:
            return None
        failing = (f"at length {length.n}, {length.reason}" for length in self.lengths if not length.proved_by)
        reason = next(failing, None) if self.proof is None else self.proof.reason
        return NoProof(reason or self.reach)

    @property
    def every_length(self) -> bool:
        """True if the verdict is PROVED for the words of every length."""
        argument = self.all_n or self.argument
        return self.verdict is Verdict.PROVED and argument is not None and argument.proved

    @property
    @written
    def proved_to(self) -> Natural | None:
        """For a model, the length up to which every length from `min_n` on is proved (0: not even `min_n`); null
        for formulas."""
        if self.proof is not None:
            return None
        proved = takewhile(lambda length: length.proved_by, self.lengths)
        return max((length.n for length in proved), default=0)


# ---- request and plan ----


def require_provable(request: Request) -> None:
    """Refuse lengths in the wrong order, and output files for several networks at once. Raises InputError, saying what
    to change."""
    min_n, max_n = request.min_n, request.max_n
    if min_n > max_n:
        largest = f"--max-n {max_n}" if bounded(request) else f"the largest, {max_n} unless --max-n says otherwise"
        raise InputError(
            f"--min-n {min_n} is larger than {largest}", f"For length {min_n:,} alone add --max-n {min_n}."
        )
    if request.smt is not None:
        require_one_regime(request, "one file of queries is about one network")
        if not request.all_n:
            message = "--smt writes the steps of a proof for every length, and needs --all-n, which asks for that proof"
            raise InputError(message, "Add --all-n, or leave out --smt.")
    if request.certificate is not None:
        require_one_regime(request, "one certificate is about one network")
    from hardsim.proving.rocq.theorem import require_theorem  # a check needs no theorem

    require_theorem(request)


def bounded(request: Request) -> bool:
    """Return True if the user gave a largest length. Then a proof up to it is an answer, even if every length was
    asked for too and is not proved. Otherwise a model is proved as far as possible."""
    return "max_n" in request.written


@dataclass(frozen=True)
class ProofPlan:
    """The plan of a proof of a subject, up to length `max_n`. `prove` runs it and reports progress: how many of how
    many units (heads or lengths) are done. `remark` is the reason why the plan covers fewer lengths than requested."""

    subject: Subject
    unit: Literal["heads", "lengths"]
    max_n: int
    prove: Callable[[Report | None], ProofResult]
    remark: str | None = None

    @property
    def by_heads(self) -> bool:
        """True if one proof covers all lengths, head by head."""
        return self.unit == "heads"


def plan_proof(subject: Subject, request: Request) -> ProofPlan:
    """Plan the proof of a subject: by its heads, or by its lengths. Raises InputError if SMT queries were asked for and
    there can be none."""
    min_n, max_n, claim = request.min_n, request.max_n, subject.prover()
    if request.smt is not None and subject.program.weighting is not SoftWeighting.SOFTMAX:
        message = (
            f"{subject.name}: --smt writes the steps of proofs about softmax, not {subject.program.weighting.text}"
        )
        raise InputError(message, "Leave out --smt; --certificate writes a proof that `hardsim verify` checks.")
    if isinstance(claim, HeadsClaim):
        if claim.heads_only and request.smt is not None:
            message = f"{subject.name} is no formula, and --smt writes queries of proofs by heads only for formulas"
            raise InputError(message, "Leave out --smt.")
        arguments = subject, max_n, request.heads_only, request.search, request.all_n
        by_heads = partial(prove_subject, *arguments, min_n=min_n, bounded=bounded(request))
        return ProofPlan(subject, "heads", max_n, lambda report: by_heads(report=report))
    plain = subject.without_budget()
    if request.all_n and not bounded(request):
        return ProofPlan(plain, "lengths", 0, lambda _: prove_every_length(plain, max_n, min_n))
    reach, remark = max_n, None
    possible = longest(plain, max_n)
    # Where every word is run, one length too many decides the rest: no longer length can be proved either.
    if possible < max_n:
        limit = f"a length is proved by running all its words, and length {possible + 1} has more than {EVERY:,}"
        if bounded(request) or possible < min_n:
            advice = f" (--max-n {possible} is the largest that can be proved)" if possible >= min_n else ""
            remark = f"{limit}: this length and longer ones have no proof{advice}"
        else:
            reach, remark = possible, f"{limit}: lengths up to {possible} are examined"
    by_lengths = partial(prove_attention, plain, reach, request.search, min_n=min_n, all_n=request.all_n)
    return ProofPlan(plain, "lengths", reach, lambda report: by_lengths(report=report), remark)


def prover_of(claim: HeadsClaim | AttentionClaim) -> Callable[..., ProofResult]:
    """Return the function that proves a claim about its target, up to a length."""
    table: dict[type, Callable[..., ProofResult]] = {HeadsClaim: prove_subject, AttentionClaim: prove_attention}
    return table[type(claim)]


# ---- after a proof ----


def confirmed(result: ProofResult) -> ProofResult:
    """Return a result with words run after its proof, of the proved lengths. A KeyboardInterrupt ends the run early.
    The result is REFUTED if hard attention differs from the program on one of the words, which a proof by structure
    does not exclude. Raises Contradiction, naming a word whose answer is not the proved one."""
    subject, proof = result.subject, result.proof
    if proof is not None:
        if not proof.proved:
            return result
        # The words of the worst cases with the least margins are the most likely to show a false proof.
        cases = [head.worst for head in proof.heads if head.worst is not None and head.worst.margin is not None]
        ordered = sorted(cases, key=lambda case: case.margin or 0)
        words = dict.fromkeys(word for case in ordered for word in words_of(case, subject.alphabet)[:1])
        span, every = (result.min_n, result.max_n), result.every_length
        some = [word for word in words if span[0] <= len(word) <= span[1]][:SUGGESTED]
        found, _ = confirm(subject, *span, some, every_length=every, heads_only=result.heads_only)
        return replace(result, confirmed=found, shown=shown_words(subject, *span))
    networks = {length.n: length.network for length in result.lengths if length.network is not None}
    if result.verdict is Verdict.REFUTED or not networks:
        return result
    found, wrong = confirm(subject, min(networks), max(networks), networks=networks)
    if wrong is None:
        return replace(result, confirmed=found, shown=shown_words(subject, min(networks), max(networks)))
    if any(length.n == len(wrong.word) and length.proved_by != "structure" for length in result.lengths):
        raise Contradiction(f"{subject.name}: hard attention was found to be the program on {' '.join(wrong.word)}")
    reach = f"{wrong.kind} disagree on a word of length {len(wrong.word)}"
    return replace(result, verdict=Verdict.REFUTED, reach=reach, mismatch=wrong)


# ---- formulas ----


def prove_subject(
    subject: Subject,
    max_n: int,
    heads_only: bool = False,
    search: int = 2000,
    all_n: bool = False,
    *,
    min_n: int = 1,
    bounded: bool = True,
    report: Report | None = None,
) -> ProofResult:
    """Prove a subject by its heads for every word of length `min_n` to `max_n`, or look for a word that refutes it
    among up to `search` short words and those that the failed proof suggests. With `all_n`, prove every length as well,
    in other arithmetic; if that fails, the lengths to `max_n` are an answer only if they were asked for (`bounded`).
    `report` is called with the number of heads done and of all heads. No word is run after a proof: see `confirmed`.
    Raises InputError if the temperature is not positive somewhere, or the lengths have too many positions together;
    InvariantError if the specification's hard attention is not what it declares, on a word that was tried;
    Contradiction if every length is proved, but not the lengths to `max_n`, or if automata contradict the proof that
    the heads compute the formula."""
    claim = subject.prover()
    assert isinstance(claim, HeadsClaim)
    heads_only = heads_only or claim.heads_only
    core = None if heads_only else desugar(claim.formula)
    users = {} if heads_only else own_predicates(claim.formula)
    proof = prove(subject.model, subject.program, max_n, core, users, min_n, report)
    general = prove_general(subject.model, subject.program, core, users) if all_n else None
    links = [one.meaning for one in (proof, general) if one is not None and one.meaning is not None]
    second = None
    if any(link.proved for link in links):
        from hardsim.proof.formulas.by_automata import second_proof

        second = second_proof(subject.name, subject.program, claim.formula)
    enough = proof.proved and (bounded or general is None or general.proved)
    tried, mismatch = (0, None) if enough else _refute(subject, proof, heads_only, search, all_n)
    if general is not None and general.proved and not proof.proved:
        _require_together(subject, proof, mismatch)
    verdict = Verdict.PROVED if enough else Verdict.UNDECIDED if mismatch is None else Verdict.REFUTED
    if mismatch is not None:
        reach = f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}, the shortest found"
    else:
        reach = _reach(proof, general, heads_only, enough) if proof.proved else _why_not(claim, proof, general, tried)
    limit = limit_of(subject)
    if verdict is not Verdict.PROVED and limit is not None and limit.head is not None:
        reach = f"{reach}. {limit.text[:1].upper()}{limit.text[1:]}"
    theorem = FROM_HEADS[heads_only] if general is not None and general.proved else ""
    parting = None if mismatch is None else parting_of(subject, mismatch, CheckOptions(max_n=len(mismatch.word)))
    return ProofResult(subject, min_n, max_n, verdict, reach, tried, mismatch, parting, proof, general, second,
                       heads_only, theorem=theorem)  # fmt: skip


def _require_together(subject: Subject, proof: Proof, mismatch: Mismatch | None) -> None:
    """Raise Contradiction if one of two proofs must be wrong: every length is proved, and the lengths to some N
    are not.

    The two are compatible if the second fails because of the prover's own limits: its size, its rounding, or a form
    of networks that only the other argument knows (there is no worst case then).
    """
    link = proof.failing
    assert link is not None
    span = f"every word of every length was proved, but not {span_text(*proof.span)}"
    if mismatch is not None:
        word = " ".join(mismatch.word)
        raise Contradiction(f"{subject.name}: {span}: the word {word} contradicts it ({mismatch.kind})")
    precise = any(case.margin is None or case.margin <= -ROUNDING for case in link.cases)
    if precise and not link.limit and not link.rounded:
        raise Contradiction(f"{subject.name}: {span}: {link.reason}")


def _reach(proof: Proof, general: Proof | None, heads_only: bool, enough: bool) -> str:
    """Return the sentence that states what is proved."""
    what, span = FROM_HEADS[heads_only], span_text(*proof.span)
    if general is None or general.proved:
        return f"every word of {'every length' if general else span}, from the weights: {what}"
    if enough:
        return f"every word of {span}, from the weights: {what}. Not proved for every length: {general.reason}"
    return (
        f"not proved for every length: {general.reason}; every word of {span} is proved. "
        f"Next: --all-n with --max-n {proof.span[1]} proves these lengths, and so does leaving out --all-n"
    )


def _why_not(claim: HeadsClaim, proof: Proof, general: Proof | None, tried: int) -> str:
    """Return the reason why there is neither a proof nor a word that refutes, and the next step to try."""
    subject: Subject = claim.target
    stored = not claim.heads_only and subject.name.endswith(".json")
    beta = f"{'the formula compiled with ' if stored else ''}--beta above {subject.budget.beta}"
    link = proof.failing
    assert link is not None
    searched = f"{tried:,} words were tried and none refutes it"
    if not tried:
        searched = "no word was tried (none that the worst cases suggest is short enough)"
    if general is not None and general.proved:
        lacking = "size" if link.limit else "precision" if link.cases else "generality"
        return (
            "proved for every length by one argument, but the other, numerical argument fails for "
            f"{span_text(*proof.span)} for lack of {lacking}: "
            f"{link.reason}; {searched}. Next: --max-n below {proof.span[1]}, or {beta}"
        )
    unproved = f"not proved, which does not say that it is wrong: {searched}"
    if link.cases and not link.limit:
        return (
            f"{unproved}. The proof takes the worst type at each position independently, and perhaps no word has all "
            f"of them. Next: `hardsim check` tries more words; {beta} leaves more room"
        )
    fewer = "fewer lengths (--min-n, --max-n); " if link.limit else ""
    reason = link.reason or ""
    return f"{unproved}. {reason[:1].upper()}{reason[1:]}. Next: {fewer}`hardsim check` tries more words"


def _refute(subject: Subject, proof: Proof, heads_only: bool, search: int, all_n: bool) -> tuple[int, Mismatch | None]:
    """Try words, the shortest first. Return how many were tried, and the first mismatch that refutes."""
    tried, candidates = 0, _candidates(subject, proof, search, all_n)
    while some := list(islice(candidates, TOGETHER)):
        for found in evaluate(subject, some, CheckOptions()):
            tried += 1
            # A proof of heads alone claims nothing of the formula, so only a difference from hard attention refutes
            # it.
            if found.decided and found.mismatch is not None and (found.soft != found.hard or not heads_only):
                return tried, found.mismatch
    return tried, None


def _candidates(subject: Subject, proof: Proof, search: int, all_n: bool) -> Iterator[Word]:
    """Yield every word of the shortest lengths that have at most `search` words together, then at most
    LONGEST_SUGGESTED longer words that the failing worst cases or the rounding suggest, the shortest first. With
    `all_n` rounding suggests words beyond the lengths of the proof, and if these lengths are proved there are no
    others."""
    alphabet = subject.alphabet
    budget, n = search, proof.span[1] + 1 if proof.proved else proof.span[0]
    while n <= proof.span[1] and count_words(len(alphabet), n) <= budget:
        budget -= count_words(len(alphabet), n)
        yield from enumerate_words(alphabet, n)
        n += 1
    cases = sorted(proof.network.cases, key=lambda case: (case.n, case.i))
    suggested = dict.fromkeys(word for case in cases for word in words_of(case, alphabet, proof.span[0]))
    longer = [word for word in suggested if n <= len(word) <= min(proof.span[1], LONGEST_TRIED)]
    yield from sorted(longer, key=len)[:LONGEST_SUGGESTED]
    rounded = wrong_when_rounded(subject, LONGEST_TRIED if all_n else min(proof.span[1], LONGEST_TRIED))
    yield from (word for word in islice(rounded, LONGEST_SUGGESTED) if len(word) >= n)


def words_of(case: WorstCase, alphabet: Alphabet, least: int = 0) -> list[Word]:
    """Return the words that a worst case suggests: all its symbols, those up to the query, and those from the query
    on. Where the case names no symbol, the first of the alphabet stands. Words of fewer than `least` symbols are
    filled up by repeating the first symbol, or the last one in the words from the query on."""
    if case.symbols is None:
        return []
    word = tuple(symbol or alphabet[0] for symbol in case.symbols)
    begun = [some[:1] * (least - len(some)) + some for some in (word, word[: case.i])]
    rest = word[case.i - 1 :]
    return [*begun, rest + rest[-1:] * (least - len(rest))]


# ---- hard-attention models and programs ----


def longest(subject: Subject, max_n: int, every: int = EVERY) -> int:
    """Return the greatest length up to `max_n` for which there may be a proof: `max_n` where structure suffices, else
    the greatest length with at most `every` words (0: none)."""
    size = len(subject.alphabet)
    if subject.by_structure or size == 1:
        return max_n
    return max(takewhile(lambda n: affordable(subject, n, every), range(1, max_n + 1)), default=0)


def affordable(subject: Subject, n: int, every: int) -> bool:
    """Return True if a length has at most `every` words, so that each may be run."""
    return count_words(len(subject.alphabet), n) <= every


def prove_every_length(subject: Subject, max_n: int, min_n: int = 1) -> ProofResult:
    """Prove every length of a model or program, and examine the short lengths one by one. If a given temperature has no
    proof, try the words of short lengths. Raises InputError if the temperature is not positive at a length up to
    LOOKED."""
    _require_positive(subject)
    argument = subject.argument
    if not argument.proved:
        tried, mismatch = _refute_short(subject)
        if mismatch is not None:
            reach = f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}"
            return ProofResult(subject, min_n, max_n, Verdict.REFUTED, reach, tried, mismatch, argument=argument)
        found = _searched(subject)
        searched = f"; {tried:,} short words were tried and none refutes it" if tried else ""
        reach = f"not proved for every length: {found.reason(argument.reason)}{searched}. Next: {found.advice}"
        return ProofResult(
            subject, min_n, max_n, Verdict.UNDECIDED, reach, tried, argument=argument,
            hard_undecided=found.undecided, ties=found.ties,
        )  # fmt: skip
    sharp = subject if argument.tau is None else replace(subject, sharpness=GivenTemperature(argument.tau))
    start = argument.start or 1
    lengths = tuple(prove_length(sharp, n, 0)[0] for n in range(1, max(start, SHORT)))
    ties = known_ties(subject)
    theorem = _theorem(subject, argument, ties)
    return ProofResult(
        subject, min_n, max_n, Verdict.PROVED, f"{EVERY_WORD}{theorem}", lengths=lengths, argument=argument,
        theorem=theorem, ties=ties,
    )  # fmt: skip


def _searched(subject: Subject) -> Obstacles:
    """Search short words for the reason why there is no proof for every length. A program is not searched:
    its short words say nothing about longer ones."""
    return Obstacles() if subject.constructed else obstacles(subject)


def _require_positive(subject: Subject) -> None:
    """Raise InputError if a given temperature is not positive at some short length."""
    if subject.given_temperature:
        model = assemble(subject.program, subject.schedule)
        for n in range(1, LOOKED + 1):
            model.inverse_temperatures(subject.positions(n) - subject.program.bos)


def _refute_short(subject: Subject) -> tuple[int, Mismatch | None]:
    """Try all words of length 1 to SHORT at a given temperature, while a length has at most FEW words. Return
    their number, and a mismatch that refutes or None."""
    tried = 0
    for n in range(1, SHORT + 1) if subject.given_temperature else ():
        if not affordable(subject, n, FEW):
            break
        tried += count_words(len(subject.alphabet), n)
        mismatch = _run_length(subject, n).mismatch
        if mismatch is not None and mismatch.refutes:
            return tried, mismatch
    return tried, None


def _theorem(subject: Subject, argument: ProgramArgument, ties: Sequence[Tie]) -> str:
    """Return the claim on every word that a proof of every length from structure shows."""
    claim = f"{subject.program.weighting.text} answers as hard attention does{subject.rests_on}"
    return f"{claim}, at the temperature {argument.temperature}{tied(ties)}"


def prove_attention(
    subject: Subject,
    max_n: int,
    search: int = 2000,
    every: int = EVERY,
    *,
    min_n: int = 1,
    all_n: bool = False,
    report: Report | None = None,
) -> ProofResult:
    """Prove every length from `min_n` to `max_n`, and every longer one if asked for. Where a length is not proved at
    a given temperature, try up to `search` words. `report` is called with the number of lengths done and of all
    lengths. Raise InputError if the temperature is not positive, or a word leaves the range of a program
    (OutOfRange)."""
    lengths: list[LengthProof] = []
    tried, mismatch = 0, None
    for n in range(min_n, max_n + 1):
        found, wrong = prove_length(subject, n, every, lengths[-1].temperature if lengths else None)
        lengths.append(found)
        mismatch = mismatch or wrong
        left = search - tried
        cheap = count_words_upto(len(subject.alphabet), n, left + 1) <= left
        if not found.proved_by and mismatch is None and subject.given_temperature and cheap:
            tally = _run_length(subject, n)
            mismatch = tally.mismatch
            lengths[-1] = _by_words(subject, found, tally)
            tried += 0 if lengths[-1].proved_by else count_words(len(subject.alphabet), n)
        if mismatch is not None or (n > longest(subject, n, every) and (not subject.given_temperature or not cheap)):
            break  # of longer ones there is neither a proof nor a refutation
        if report is not None:
            report(len(lengths), max_n - min_n + 1)
    known = known_ties(subject) if any(length.proved_by == "structure" for length in lengths) else ()
    ties = merged_ties((known, *(length.ties for length in lengths)))
    verdict, reach = _conclude(subject, lengths, (min_n, max_n), tried, mismatch, ties)
    argument, searched, theorem = subject.argument if all_n else None, Obstacles(), ""
    if argument is not None and verdict is Verdict.PROVED:
        if argument.proved:
            theorem = _theorem(subject, argument, known)
            reach = f"{EVERY_WORD}{theorem}"
        else:
            searched = _searched(subject)
            reach = f"{reach}. Not proved for every length: {searched.reason(argument.reason)}"
    undecided = searched.undecided
    if undecided is None and mismatch is not None and not settled(mismatch.hard):
        undecided = hard_undecided(subject, mismatch.word)
    return ProofResult(
        subject, min_n, max_n, verdict, reach, tried, mismatch, lengths=tuple(lengths), argument=argument,
        theorem=theorem, hard_undecided=undecided, ties=merged_ties((searched.ties, ties)),
    )  # fmt: skip


def prove_length(
    subject: Subject, n: int, every: int, near: Fraction | None = None
) -> tuple[LengthProof, Mismatch | None]:
    """Return the proof of one length, and a mismatch if hard attention differs from the program on a word. The search
    for a temperature begins `near` the given one."""
    derived, known = None, known_by_structure(subject, n)
    if known is not None:
        derived = settled_length(subject, known, near)
        if derived.proved_by or subject.constructed:
            return derived, None
    if not affordable(subject, n, every):
        return derived or LengthProof(n, None, reason=_too_many(subject, n)), None
    found = known_by_words(subject, n)
    return found if isinstance(found, tuple) else (settled_length(subject, found, near), None)


@dataclass(frozen=True, slots=True)
class KnownLength:
    """The facts of hard attention on all words of a length, at any temperature: the program that softmax simulates,
    its facts and gaps, how they were found, and the heads whose ties it breaks."""

    n: int
    program: Program
    facts: LengthFacts
    gaps: Gaps
    how: str
    broken: tuple[str, ...] = ()
    ties: tuple[Tie, ...] = ()


def known_by_structure(subject: Subject, n: int) -> KnownLength | None:
    """Return the facts of hard attention on the words of one length from the weights; None if the weights do not
    give them."""
    if not subject.by_structure or isinstance(subject.law, NoProof):
        return None
    facts = subject.law.facts(len(subject.prepared((subject.alphabet[0],) * n)))
    gaps = {name: head.gaps for name, head in facts.heads.items()}
    return KnownLength(n, subject.program, facts, gaps, "structure")


def known_by_words(subject: Subject, n: int) -> KnownLength | tuple[LengthProof, Mismatch | None]:
    """Return the facts of hard attention on the words of one length, from running them all. If that fails, return the
    reason why no temperature is proved, with a mismatch if hard attention differs from the program on a word."""
    words: tuple[Word, ...] = tuple(product(subject.alphabet, repeat=n))
    found, _, answers = prepare_words(subject, {n: words}, {n: True}, keep=False)
    oracles = subject.answers(words) or [None] * len(words)
    for word, oracle, answer in zip(words, oracles, answers[n], strict=True):
        if not settled(answer) or (subject.oracle is not None and oracle != answer):
            wrong = Mismatch(word, oracle, answer, answer)
            return LengthProof(n, None, reason=AMISS if wrong.refutes else _undecided(subject, word)), wrong
    broken = found.violations.get(n)
    if broken is not None:
        return LengthProof(n, None, reason=f"{broken.what} does not hold"), None
    facts = found.facts[n]
    gaps = declared_gaps(found.program, facts)
    return KnownLength(n, found.program, facts, gaps, "every word", found.broken, found.ties)


def _undecided(subject: Subject, word: Word) -> str:
    """Return the reason why a length is not proved: hard attention does not decide this word."""
    found = hard_undecided(subject, word)
    return NO_ANSWER if found is None else found.summary


def settled_length(subject: Subject, known: KnownLength, near: Fraction | None = None) -> LengthProof:
    """Return the proof that softmax answers as hard attention does at the subject's temperature, or at one found
    `near` the given one. It succeeds if the bound at the outputs is below their distance from the threshold, or 0
    where outputs must be 0 or 1."""
    return replace(_settle(subject, known, near), ties_broken=known.broken, ties=known.ties)


def _settle(subject: Subject, known: KnownLength, near: Fraction | None) -> LengthProof:
    n, program, facts, gaps, how = known.n, known.program, known.facts, known.gaps, known.how
    distance = HALF if subject.exact else facts.distance or Fraction(0)
    if not distance:
        return LengthProof(n, None, reason="an output may lie on the threshold")
    # The law and its temperature belong to the subject's own program, not to one with weights added that break ties.
    schedule = subject.temperature if program is subject.program or subject.given_temperature else None
    try:
        if schedule is None:
            epsilon = subject.sharpness.epsilon or min(DEFAULT_EPSILON, distance / 2)
            solution = solve(program, facts, epsilon, gaps, near)
            bounds, tau = solution.bounds, solution.tau
        else:
            inverse = inverses(assemble(program, schedule), facts.n)
            bounds, tau = error_bounds(program, facts, inverse, gaps), 1 / max(map(upper, inverse))
    except Undecided as failure:
        return LengthProof(n, None, reason=str(failure))
    bound = output_bound(subject, bounds)
    if bound == 0 or (bound < distance and not subject.exact):
        return LengthProof(n, how, tau, bound, distance, network=assemble(program, schedule or Arith.of(tau)))
    reason = "the bound of the output's error is not smaller than its distance from the threshold"
    if program.normed:
        reason = "bounds of errors do not cover layer norms"
    return LengthProof(n, None, tau, bound, distance, reason)


def output_bound(subject: Subject, bounds: Bounds) -> Fraction:
    """Return the largest bound of the error of an output coordinate at the end; 0 without layers."""
    outs = subject.program.answers
    return max(bounds.layers[-1].final[out] for out in outs) if bounds.layers else Fraction(0)


def _run_length(subject: Subject, n: int) -> Tally:
    """Return the tally of all words of one length, run at the given temperature. It has a mismatch where softmax is
    wrong in the network that was to be proved. Words at which softmax lies on the threshold itself, so that no
    precision settles them, refute nothing."""
    words = tuple(product(subject.alphabet, repeat=n))
    found, runs, _ = prepare_words(subject, {n: words}, {n: True})
    judge = HardJudge(subject, found.program, plan_length(found, subject, n))
    return judge.tally(words, [run for shard in runs[n] for run in shard.known])


def _by_words(subject: Subject, found: LengthProof, tally: Tally) -> LengthProof:
    """Return the proof of a length of a network with layer norms, of which all words were run: in rationals or in
    balls, so that they need no bound of errors. Return `found` where that proves nothing."""
    left = tally.mismatch or tally.undecided or tally.unjudged or tally.failed or tally.violation
    if not subject.program.normed or left or found.distance is None:
        return found
    return replace(found, proved_by="every word", bound=None, reason=None)


def _too_many(subject: Subject, n: int) -> str:
    """Return the reason why nothing is known of a length with more words than are run."""
    size = len(subject.alphabet)
    possible = f"{size}^{n}" if n * log10(size) > MANY_DIGITS else f"{count_words(size, n):,}"
    return subject.too_many_text(possible)


def _conclude(
    subject: Subject,
    lengths: list[LengthProof],
    span: tuple[int, int],
    tried: int,
    mismatch: Mismatch | None,
    ties: Sequence[Tie],
) -> tuple[Verdict, str]:
    if mismatch is not None and mismatch.refutes:
        where = f"on a word of length {len(mismatch.word)}"
        return Verdict.REFUTED, f"{mismatch.kind} disagree {where}{tied(lengths[-1].ties)}"
    first = next((length for length in lengths if not length.proved_by), None)
    if first is None:
        claim = f"{subject.program.weighting.text} answers as hard attention does{tied(ties)}"
        how = {length.proved_by for length in lengths} if subject.constructed else set()
        if how == {"every word"}:
            claim += ", and hard attention as the program says"
        elif how:
            claim += subject.rests_on
        return Verdict.PROVED, f"every word of {span_text(*span)}: {claim}"
    before, after = "", ". Next:"
    if first.n > span[0]:
        upto = f"to length {first.n - 1}" if span[0] == 1 else f"for {span_text(span[0], first.n - 1)}"
        least = f"--min-n {span[0]} " if span[0] > 1 else ""
        before, after = f"proved {upto}; ", f". Next: {least}--max-n {first.n - 1} is proved, and"
    searched = f" ({tried:,} words tried, none refutes)" if tried else ""
    after = "" if mismatch is not None else f"{after} `hardsim check` tries words of any length"
    return Verdict.UNDECIDED, f"{before}not at length {first.n}: {first.reason}{searched}{after}"
