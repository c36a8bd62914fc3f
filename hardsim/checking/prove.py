"""A proof for all words, and where there is none a search for a word that refutes.

That a proof fails does not say that the network is wrong: worst cases may not belong to any word. So real words are
tried then: every short word, and the words that the failing worst cases suggest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hardsim.checking.compare import Judge
from hardsim.checking.result import AUTO, Mismatch, ModelFacts, Verdict, Word, span_text
from hardsim.checking.subject import Subject, own_predicates
from hardsim.checking.words import count_words, enumerate_words
from hardsim.lang.desugar import desugar
from hardsim.proof.general import GeneralProof, prove_general
from hardsim.proof.network import Report
from hardsim.proof.prover import prove
from hardsim.proof.result import Case, Proof

LONGEST_SUGGESTED = 24
"""Words that failing worst cases suggest are tried up to so many,"""
FROM_QUERY = 2
"""The place among the words of a worst case of the one that starts at the query."""
LONGEST_TRIED = 512
"""and up to this length: attention to every position from every position."""


@dataclass(frozen=True, slots=True)
class ProveResult:
    """What is known of all words of length `min_n` to `max_n`.

    `heads_only` says that only the first link was asked for: the network does what its heads' specification says.
    `general` is the proof for the words of every length (None where it was not asked for). `tried` is how many words
    were tried in search of a refutation, `mismatch` the one found.
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

    @property
    def every_length(self) -> bool:
        """Whether the verdict is PROVED for the words of every length."""
        return self.general is not None and self.general.proved


def prove_subject(
    subject: Subject,
    max_n: int,
    heads_only: bool = False,
    search: int = 2000,
    all_n: bool = False,
    *,
    min_n: int = 1,
    report: Report | None = None,
) -> ProveResult:
    """Prove a subject for every word of length `min_n` to `max_n`, or look for a word that refutes it among up to
    `search` short words and those that the failed proof suggests. `all_n` asks for a proof for every length besides,
    which rests on other arithmetic. `report` is told how many of how many heads are done.

    Raises:
        InputError: if the temperature is not positive somewhere, or the lengths have too many positions together.
        InvariantError: if the specification's hard attention is not what it declares, on a word that was tried.
    """
    core = None if heads_only else desugar(subject.file)
    users = {} if heads_only else own_predicates(subject.file)
    own = {name: user for name, (_, user) in users.items()}
    proof = prove(subject.model, subject.program, max_n, core, own, min_n, report)
    general = prove_general(subject.model, subject.program, core, users) if all_n else None
    proved = proof.proved or (general is not None and general.proved)
    tried, mismatch = 0, None
    if not proved:
        tried, mismatch = _refute(subject, proof, heads_only, search)
    verdict = Verdict.PROVED if proved else Verdict.UNDECIDED if mismatch is None else Verdict.REFUTED
    return ProveResult(
        name=subject.name,
        sha256=subject.sha256,
        formula=subject.formula,
        model=subject.facts,
        max_n=max_n,
        heads_only=heads_only,
        proof=proof,
        verdict=verdict,
        reach=_reach(proof, general, heads_only, mismatch, tried),
        tried=tried,
        mismatch=mismatch,
        general=general,
        min_n=min_n,
    )


def _reach(proof: Proof, general: GeneralProof | None, heads_only: bool, mismatch: Mismatch | None, tried: int) -> str:
    """What the verdict speaks of, in words."""
    span = f"every word of {span_text(proof.min_n, proof.max_n)}"
    if general is not None and general.proved:
        span = "every word of every length"
    what = "the network accepts exactly what the formula says"
    if heads_only:
        what = "the network does what its heads' specification says (no formula claimed)"
    if proof.proved and general is not None and not general.proved:
        return f"{span}, from the weights: {what}. Not proved for every length: {general.reason}"
    if proof.proved or (general is not None and general.proved):
        return f"{span}, from the weights: {what}"
    if mismatch is not None:
        return f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}, the shortest found"
    searched = f"{tried:,} words were tried and none refutes it"
    if not tried:
        searched = "no word was tried (none that the worst cases suggest is short enough)"
    return (
        f"not proved, which does not say that it is wrong: {searched}. Positions "
        "are given their worst types independently of each other, which no word may do"
    )


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
