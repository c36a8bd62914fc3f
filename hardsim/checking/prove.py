"""A proof for all words, and where there is none a search for a word that refutes.

That a proof fails does not say that the network is wrong: worst cases may not belong to any word. So real words are
tried then: every short word, and the words that the failing worst cases suggest. Nor is a proof ever alone: words are
run after it too (`confirm`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from hardsim.checking.compare import Judge
from hardsim.checking.confirm import Confirmation, confirm
from hardsim.checking.result import AUTO, Mismatch, ModelFacts, Verdict, Word, span_text
from hardsim.checking.subject import Subject, own_predicates
from hardsim.checking.words import count_words, enumerate_words
from hardsim.errors import Contradiction
from hardsim.lang.desugar import desugar
from hardsim.proof.general import GeneralProof, prove_general
from hardsim.proof.network import Report
from hardsim.proof.prover import prove
from hardsim.proof.result import Case, LinkProof, Proof

LONGEST_SUGGESTED = 24
"""Words that failing worst cases suggest are tried up to so many,"""
FROM_QUERY = 2
"""The place among the words of a worst case of the one that starts at the query."""
LONGEST_TRIED = 512
"""and up to this length: attention to every position from every position."""
SUGGESTED = 8
"""Words of the worst cases that are run after a proof, those with the least margins."""
ROUNDING = Fraction(1, 2**30)
"""A margin that is missed by less is a matter of how the numerical proof rounds, not of what it found."""


@dataclass(frozen=True, slots=True)
class ProveResult:
    """What is known of all words of length `min_n` to `max_n`.

    `heads_only` says that only the first link was asked for: the network does what its heads' specification says.
    `general` is the proof for the words of every length (None where it was not asked for). `tried` is how many words
    were tried in search of a refutation, `mismatch` the one found; `confirmed` the words that were run after a proof.
    """

    name: str
    sha256: str
    formula: str
    model: ModelFacts
    max_n: int
    heads_only: bool
    proof: Proof
    verdict: Verdict
    reach: str
    tried: int
    mismatch: Mismatch | None
    general: GeneralProof | None = None
    min_n: int = 1
    confirmed: Confirmation | None = None

    @property
    def every_length(self) -> bool:
        """Whether the verdict is PROVED for the words of every length."""
        return self.verdict is Verdict.PROVED and self.general is not None and self.general.proved


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
) -> ProveResult:
    """Prove a subject for every word of length `min_n` to `max_n`, or look for a word that refutes it among up to
    `search` short words and those that the failed proof suggests. `all_n` asks for a proof for every length besides,
    which rests on other arithmetic; where there is none, the lengths to `max_n` are an answer only if they were asked
    for (`bounded`). `report` is told how many of how many heads are done. No word is run after a proof: see
    `confirmed`.

    Raises:
        InputError: if the temperature is not positive somewhere, or the lengths have too many positions together.
        InvariantError: if the specification's hard attention is not what it declares, on a word that was tried.
        Contradiction: if every length is proved, but not the lengths to `max_n`.
    """
    core = None if heads_only else desugar(subject.file)
    users = {} if heads_only else own_predicates(subject.file)
    own = {name: user for name, (_, user) in users.items()}
    proof = prove(subject.model, subject.program, max_n, core, own, min_n, report)
    general = prove_general(subject.model, subject.program, core, users) if all_n else None
    tried, mismatch = 0, None
    if not proof.proved:
        tried, mismatch = _refute(subject, proof, heads_only, search)
    if general is not None and general.proved and not proof.proved:
        _hold_together(subject, proof, mismatch)
    enough = proof.proved and (bounded or general is None or general.proved)
    verdict = Verdict.PROVED if enough else Verdict.UNDECIDED if mismatch is None else Verdict.REFUTED
    return ProveResult(
        name=subject.name,
        sha256=subject.sha256,
        formula=subject.formula,
        model=subject.facts,
        max_n=max_n,
        heads_only=heads_only,
        proof=proof,
        verdict=verdict,
        reach=_reach(proof, general, heads_only, verdict, mismatch, tried),
        tried=tried,
        mismatch=mismatch,
        general=general,
        min_n=min_n,
    )


def confirmed(subject: Subject, result: ProveResult) -> ProveResult:
    """A result with words run after it, if its lengths are proved; a KeyboardInterrupt ends them early.

    Raises:
        Contradiction: naming a word that is not answered as was proved.
    """
    if not result.proof.proved:
        return result
    cases = [head.case for head in result.proof.heads if head.case is not None and head.case.margin is not None]
    words: dict[Word, None] = {}
    for case in sorted(cases, key=lambda case: case.margin or 0):
        words.update(dict.fromkeys(words_of(case, subject.file.alphabet)[:1]))
    longer = [word for word in words if result.min_n <= len(word) <= result.max_n][:SUGGESTED]
    found = confirm(
        subject,
        result.min_n,
        result.max_n,
        longer,
        every_length=result.every_length,
        heads_only=result.heads_only,
    )
    return replace(result, confirmed=found)


def _hold_together(subject: Subject, proof: Proof, mismatch: Mismatch | None) -> None:
    """Hold that the lengths to some N fail to be proved for no better reason than the prover's own limits, where every
    length is proved: its size, its rounding, or a form of networks that the other argument alone knows (there is no
    worst case then).

    Raises:
        Contradiction: if one of the two proofs must be wrong.
    """
    link = _failing(proof)
    span = f"every word of every length was proved, but not {span_text(proof.min_n, proof.max_n)}"
    if mismatch is not None:
        word = " ".join(mismatch.word)
        raise Contradiction(f"{subject.name}: {span}: the word {word} contradicts it ({mismatch.kind})")
    precise = any(case.margin is None or case.margin <= -ROUNDING for case in link.cases)
    if precise and not link.limit and not link.rounded:
        raise Contradiction(f"{subject.name}: {span}: {link.reason}")


def _failing(proof: Proof) -> LinkProof:
    """The first link that a proof lacks."""
    return next(link for link in (proof.network, proof.meaning) if link is not None and not link.holds)


def _reach(
    proof: Proof,
    general: GeneralProof | None,
    heads_only: bool,
    verdict: Verdict,
    mismatch: Mismatch | None,
    tried: int,
) -> str:
    """What the verdict speaks of, in words."""
    if mismatch is not None:
        return f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}, the shortest found"
    if not proof.proved:
        return _why_not(proof, general, tried)
    what = "the network accepts exactly what the formula says"
    if heads_only:
        what = "the network does what its heads' specification says (no formula claimed)"
    span = span_text(proof.min_n, proof.max_n)
    if general is None or general.proved:
        return f"every word of {'every length' if general else span}, from the weights: {what}"
    if verdict is Verdict.PROVED:
        return f"every word of {span}, from the weights: {what}. Not proved for every length: {general.reason}"
    return (
        f"not proved for every length: {general.reason}; every word of {span} is proved. "
        f"Next: --all-n with --max-n {proof.max_n} asks for these lengths too, or leave out --all-n"
    )


def _why_not(proof: Proof, general: GeneralProof | None, tried: int) -> str:
    """Why there is neither a proof nor a word that refutes, and what to do next."""
    link = _failing(proof)
    searched = f"{tried:,} words were tried and none refutes it"
    if not tried:
        searched = "no word was tried (none that the worst cases suggest is short enough)"
    if general is not None and general.proved:
        want = "size" if link.limit else "precision" if link.cases else "generality"
        return (
            "proved for every length by one argument, but not by the other, numerical one for "
            f"{span_text(proof.min_n, proof.max_n)}, for want of {want}: "
            f"{link.reason}; {searched}. Next: a smaller --max-n, or a larger --beta"
        )
    unproved = f"not proved, which does not say that it is wrong: {searched}"
    if link.limit:
        advice = "Next: fewer lengths (--min-n, --max-n); `hardsim check` tries more words"
        return f"{unproved}. {_sentence(link.reason)}. {advice}"
    if not link.cases:
        return f"{unproved}. {_sentence(link.reason)}. Next: `hardsim check` tries more words"
    return (
        f"{unproved}. Positions are given their worst types independently of each other, which no word may do. "
        "Next: `hardsim check` tries more words; a larger --beta leaves more room"
    )


def _sentence(reason: str | None) -> str:
    """A reason as a sentence of its own."""
    return "" if not reason else reason[0].upper() + reason[1:]


def _refute(subject: Subject, proof: Proof, heads_only: bool, search: int) -> tuple[int, Mismatch | None]:
    """Try words, the shortest first; how many, and the first that refutes."""
    judge = Judge(subject, engine=AUTO)
    tried = 0
    for word in _candidates(subject, proof, search):
        tried += 1
        found = judge.evaluate(word)
        wrong = found.decided and (found.soft is not found.hard if heads_only else found.mismatch is not None)
        if wrong:
            return tried, Mismatch(word, found.oracle, found.hard, found.soft, found.value)
    return tried, None


def _candidates(subject: Subject, proof: Proof, search: int) -> Iterator[Word]:
    """Every word of the lengths that are affordable together, then the words of the failing worst cases."""
    alphabet = subject.file.alphabet
    budget, n = search, proof.min_n
    while n <= proof.max_n and count_words(len(alphabet), n) <= budget:
        budget -= count_words(len(alphabet), n)
        yield from enumerate_words(alphabet, n)
        n += 1
    suggested: dict[Word, None] = {}
    for case in sorted(proof.network.cases, key=lambda case: (case.n, case.i)):
        suggested.update(dict.fromkeys(lengthened(words_of(case, alphabet), proof.min_n)))
    longer = [word for word in suggested if n <= len(word) <= min(proof.max_n, LONGEST_TRIED)]
    yield from sorted(longer, key=len)[:LONGEST_SUGGESTED]


def lengthened(words: list[Word], length: int) -> list[Word]:
    """Words with what is too short made so long: the whole word and what stands up to the query at the left, what
    stands from the query on at the right, by the symbol at that end."""
    result = []
    for place, word in enumerate(words):
        more = max(0, length - len(word))
        result.append(word + word[-1:] * more if place == FROM_QUERY else word[:1] * more + word)
    return result


def words_of(case: Case, alphabet: tuple[str, ...]) -> list[Word]:
    """The words that a worst case suggests: its symbols, with the first of the alphabet where it names none; all of
    them, up to the query, and from the query on."""
    if case.symbols is None:
        return []
    word = tuple(symbol or alphabet[0] for symbol in case.symbols)
    return [word, word[: case.i], word[case.i - 1 :]]
