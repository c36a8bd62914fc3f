"""A check with a proof before it: the prover tries to settle all words, then some words are run.

The words are run even after a proof: they give the numbers of the report, and an answer that contradicts a proof would
reveal a defect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hardsim.campaign.check import CheckOptions, Report, check_subject
from hardsim.campaign.checkpoint import Memory
from hardsim.campaign.explanation import explained
from hardsim.campaign.given import CHOSEN, GIVEN
from hardsim.campaign.interrupts import to_the_report
from hardsim.campaign.result import CheckResult, Verdict
from hardsim.campaign.workers import Crew
from hardsim.errors import Contradiction
from hardsim.proof.shared.result import NoProof
from hardsim.targets.base import Target
from hardsim.targets.claims import AttentionClaim, HeadsClaim, PrefixClaim
from hardsim.targets.result import AUTO
from hardsim.targets.subject import Subject

if TYPE_CHECKING:
    from hardsim.proving.prove import ProofResult

LONGEST = 64
"""The largest length up to which a check asks the prover: its cost grows with the square of the length."""
MOST_POSITIONS = 256
"""Most positions of the padded word for which a check asks the prover about a program."""

TOO_LONG = NoProof(f"a check asks the prover only up to length {LONGEST}")
TOO_WIDE = NoProof(f"a check asks the prover about programs only up to {MOST_POSITIONS} positions, padding included")


def check_with_proof(
    subject: Target,
    options: CheckOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
) -> CheckResult:
    """Check a network after the prover has tried to settle all words of these lengths.

    The prover is asked under engine `auto`: about networks compiled from formulas, up to length LONGEST; about programs
    and models whose gaps and ranges follow from their weights, unless a temperature was given, up to MOST_POSITIONS as
    well; about external networks, at every length (`proving.external`).

    A result without a contradiction gets example words, and a mismatch the place where it begins. Raises InputError as
    for `check_subject`; Contradiction if a word contradicts a proof."""
    claim = subject.prover()
    if isinstance(claim, NoProof):
        return _without_proof(check_subject(subject, options, progress, crew, memory), replace(claim, attempted=False))
    if isinstance(claim, PrefixClaim):
        from hardsim.proving.external import check_network  # as much code as all else that a check needs

        return check_network(claim.target, options, progress, crew, memory)
    result = explained(claim.target, options, _combined(claim, options, progress, crew, memory))
    if not isinstance(claim, HeadsClaim) or claim.target.budget.temperature.variables:
        return result
    from hardsim.proving.constant import constant_reach

    return replace(result, constant=constant_reach(claim, result))


def _combined(
    claim: HeadsClaim | AttentionClaim,
    options: CheckOptions,
    progress: Report | None,
    crew: Crew | None,
    memory: Memory | None,
) -> CheckResult:
    subject: Subject = claim.target
    by_heads, refusals, proofs = isinstance(claim, HeadsClaim), list[NoProof](), list["ProofResult"]()

    def ask() -> None:
        # The reason may take long to find, so it is sought where Ctrl-C is answered.
        unasked = _unasked(claim, options)
        if unasked is None:
            from hardsim.proving.prove import prover_of

            proofs.append(prover_of(claim)(subject, options.max_n, search=0))
        else:
            refusals.append(unasked)

    result = to_the_report(ask, lambda stopped: check_subject(subject, options, progress, crew, memory, stopped))
    if not proofs:
        return _without_proof(result, replace(refusals[0], attempted=False)) if refusals else result
    reach, why = proofs[0].reach, proofs[0].unproved
    result = replace(result, second=proofs[0].second)
    # A proof is about lengths up to `max_n`: what happens on longer pinned words does not contradict it.
    if _beyond(result):
        return replace(result, proof=reach if by_heads else result.proof)
    if why is None and result.verdict is Verdict.REFUTED:
        return _contradicted(claim, options, result)
    if by_heads and result.partial:
        return replace(result, proof=reach)
    if why is not None:
        return _without_proof(result, why, by_heads)
    if by_heads:
        # Undecided words leave the proof as it is: the reach of a proof is about all words.
        words = result.reach if result.verdict is Verdict.UNDECIDED else f"on {result.reach}"
        return replace(result, verdict=Verdict.PROVED, proof=reach, reach=f"{reach}; and {words}")
    if result.partial or result.verdict is not Verdict.CERTIFIED:
        return result
    return replace(result, verdict=Verdict.PROVED, reach=f"{reach}; and {result.reach}")


def _without_proof(result: CheckResult, why: NoProof, always: bool = False) -> CheckResult:
    """Return a result with the reason why there is no proof; only a complete result in which the answers agree, unless
    `always`."""
    if not always and (result.partial or not result.agreed):
        return result
    return replace(result, proof=why.summary, unproved=why)


def _unasked(claim: HeadsClaim | AttentionClaim, options: CheckOptions) -> NoProof | None:
    """Return the reason why the prover is not asked; None if it is asked."""
    subject: Subject = claim.target
    if subject.against is not None:
        return NoProof(f"a proof is about the compiled network, and says nothing of {subject.against}")
    if options.words is not None and options.words.unit != CHOSEN:
        return GIVEN
    if options.engine != AUTO:
        return NoProof(f"a check asks the prover only with --engine {AUTO}")
    if isinstance(claim, AttentionClaim):
        if claim.by_words is not None:
            return claim.by_words
        if subject.given_temperature:
            return NoProof("a check asks the prover only about the temperature that hardsim chooses, and one was given")
    if options.max_n > LONGEST:
        return TOO_LONG
    return TOO_WIDE if len(subject.prepared((subject.alphabet[0],) * options.max_n)) > MOST_POSITIONS else None


def _beyond(result: CheckResult) -> bool:
    """Return True if only a pinned word keeps the check from agreement, longer than the lengths that the proof
    covers."""
    mismatch, violation = result.mismatch, result.violation
    # Without a contradiction an undecided word is what keeps the check from agreement.
    if mismatch is not None or violation is not None:
        first = [] if mismatch is None else [len(mismatch.word)]
        return min(first if violation is None else [*first, violation.n]) > result.max_n
    return any(length.undecided for length in result.lengths if length.n > result.max_n)


def _contradicted(claim: HeadsClaim | AttentionClaim, options: CheckOptions, result: CheckResult) -> CheckResult:
    """Return the result if it contradicts no proof: hard attention differs from the program, or a gap from the file's
    declaration, and no proof claims these. Raise Contradiction otherwise."""
    mismatch, violation, facts = result.mismatch, result.violation, result.model
    if isinstance(claim, AttentionClaim) and mismatch is not None and mismatch.soft == mismatch.hard:
        return result
    if mismatch is None and violation is not None and violation.declared:
        return result
    word = "a word" if mismatch is None else f"the word {' '.join(mismatch.word)}"
    how = f" (regime {facts.regime}, temperature {facts.temperature}, beta {facts.beta})" if facts.regime else ""
    raise Contradiction(
        f"{claim.target.name} was proved for every word up to {options.max_n}, but {word} contradicts it: "
        f"{result.reach}{how}"
    )
