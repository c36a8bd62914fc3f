"""A check with a proof before it: what the prover settles for all words, the words tried need not carry.

The words are still run: they give the numbers of the report, and an answer that contradicts a proof would be a defect.
"""

from __future__ import annotations

from dataclasses import replace

from hardsim.checking.campaign import CheckOptions, Report, check_subject
from hardsim.checking.checkpoint import Memory
from hardsim.checking.constant import constant_reach
from hardsim.checking.execution import Crew
from hardsim.checking.interrupts import to_the_report
from hardsim.checking.parting import explained
from hardsim.checking.prove import prove_attention, prove_subject
from hardsim.checking.result import AUTO, UNASKED, CheckResult, Verdict
from hardsim.checking.sharpening import DECLARED
from hardsim.checking.subject import Subject, Target
from hardsim.errors import Contradiction

LONGEST = 64
"""The length up to which a check asks the prover, which costs the square of it."""
MOST_POSITIONS = 256
"""Positions of the padded word up to which it asks about a program."""

TOO_LONG = f"a check asks the prover up to length {LONGEST}"
NO_PROOF = "there is no proof for networks that others made yet, so that words alone are certified"


def check_with_proof(
    subject: Target,
    options: CheckOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
) -> CheckResult:
    """Check a network after the prover has tried to settle all words of these lengths.

    The prover is asked under engine `auto`: about what was compiled from formulas, up to length LONGEST; about programs
    and models whose gaps and ranges follow from their weights, up to MOST_POSITIONS too, unless a temperature was
    given.

    A result that agrees has some words to show, a mismatch the place where it begins.

    Raises:
        InputError: as `check_subject`.
        Contradiction: if a word contradicts a proof.
    """
    if not isinstance(subject, Subject):
        result = check_subject(subject, options, progress, crew, memory)
        return replace(result, proof=UNASKED + NO_PROOF) if result.agreed and not result.partial else result
    result = explained(subject, options, _combined(subject, options, progress, crew, memory))
    return replace(result, constant=constant_reach(subject, result))


def _combined(
    subject: Subject, options: CheckOptions, progress: Report | None, crew: Crew | None, memory: Memory | None
) -> CheckResult:
    unasked, proofs = _unasked(subject, options), list[tuple[Verdict, str]]()
    result = to_the_report(
        lambda: None if unasked else proofs.append(_proof(subject, options.max_n)),
        lambda stopped: check_subject(subject, options, progress, crew, memory, stopped),
    )
    if not proofs:
        agreed = unasked and result.agreed and not result.partial
        return replace(result, proof=UNASKED + unasked) if agreed and unasked else result
    verdict, reach = proofs[0]
    if _beyond(result):
        return replace(result, proof=reach if subject.sharpness is not None else result.proof)
    if verdict is Verdict.PROVED and result.verdict is Verdict.REFUTED:
        return _contradicted(subject, options, result)
    if subject.sharpness is None:
        if verdict is not Verdict.PROVED and result.agreed and not result.partial:
            return replace(result, proof="not proved: `hardsim prove` says why")
        if verdict is not Verdict.PROVED or result.partial or result.verdict is not Verdict.CERTIFIED:
            return result
        return replace(result, verdict=Verdict.PROVED, reach=f"{reach}; and {result.reach}")
    if result.partial:
        return replace(result, proof=reach)
    if verdict is not Verdict.PROVED:
        return replace(result, proof="not proved: `hardsim prove` says why")
    words = result.reach if result.verdict is Verdict.UNDECIDED else f"on {result.reach}"
    return replace(result, verdict=Verdict.PROVED, proof=reach, reach=f"{reach}; and {words}")


def _unasked(subject: Subject, options: CheckOptions) -> str | None:
    """Why the prover is not asked; None where it is."""
    if subject.against is not None:
        return f"a proof is about what was compiled, and says nothing of {subject.against}"
    if options.engine != AUTO:
        return f"a check asks the prover under --engine {AUTO}"
    ask = "`hardsim prove` runs every word"
    gaps = f"the weights alone do not settle every length ({ask})"
    if subject.sharpness is not None:
        if subject.formula is None and not subject.structural:
            return gaps
        return TOO_LONG if options.max_n > LONGEST else None
    if not subject.structural and subject.kind == "srasp":
        return f"an integer of the program may leave the range -n to n ({ask})"
    if isinstance(subject.law, str):
        return f"{gaps}: {subject.law}"
    if subject.schedule is not None:
        return "the temperature was given, and a check asks the prover about its own"
    if options.max_n > LONGEST:
        return TOO_LONG
    if len(subject.prepared((subject.alphabet[0],) * options.max_n)) > MOST_POSITIONS:
        return f"a check asks the prover about programs up to {MOST_POSITIONS} positions, with their padding"
    return None


def _proof(subject: Subject, max_n: int) -> tuple[Verdict, str]:
    """What the prover says."""
    if subject.sharpness is not None:
        proved = prove_subject(subject, max_n, heads_only=subject.formula is None, search=0)
        return proved.verdict, proved.reach
    found = prove_attention(subject, max_n, search=0)
    return found.verdict, found.reach


def _beyond(result: CheckResult) -> bool:
    """Whether what keeps a check from agreement is a pinned word that is longer than what a proof speaks of."""
    mismatch, violation = result.mismatch, result.violation
    if mismatch is not None or violation is not None:
        first = [] if mismatch is None else [len(mismatch.word)]
        return min(first if violation is None else [*first, violation.n]) > result.max_n
    return any(length.undecided for length in result.lengths if length.n > result.max_n)


def _contradicted(subject: Subject, options: CheckOptions, result: CheckResult) -> CheckResult:
    """A result in which hard attention is not what a program says, or a gap not what a file declares, which no proof
    claims; Contradiction otherwise."""
    mismatch, violation, facts = result.mismatch, result.violation, result.model
    if subject.sharpness is None and mismatch is not None and mismatch.soft == mismatch.hard:
        return result
    if mismatch is None and violation is not None and violation.what.startswith(DECLARED):
        return result
    word = "a word" if mismatch is None else f"the word {' '.join(mismatch.word)}"
    how = f" (regime {facts.regime}, temperature {facts.temperature}, beta {facts.beta})" if facts.regime else ""
    raise Contradiction(
        f"{subject.name} was proved for every word up to {options.max_n}, but {word} contradicts it: "
        f"{result.reach}{how}"
    )
