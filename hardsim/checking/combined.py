"""A check with a proof before it: what the prover settles for all words, the words tried need not carry.

The words are still run: they give the numbers of the report, and an answer that contradicts a proof would be a defect.
"""

from __future__ import annotations

from dataclasses import replace

from hardsim.checking.attention import AttentionOptions, AttentionSubject
from hardsim.checking.attention_campaign import check_attention
from hardsim.checking.attention_result import AttentionResult
from hardsim.checking.campaign import CheckOptions, Report, check_subject
from hardsim.checking.checkpoint import Memory
from hardsim.checking.execution import Crew
from hardsim.checking.interrupts import held, interruptible
from hardsim.checking.prove import prove_subject
from hardsim.checking.prove_attention import prove_attention
from hardsim.checking.result import AUTO, CheckResult, Verdict
from hardsim.checking.subject import Subject
from hardsim.errors import Contradiction
from hardsim.spec.regimes import REGIMES

LONGEST = 64
"""The length up to which a check asks the prover of formulas, which costs the square of it."""
LONGEST_MODEL = 24
"""The same for programs, in positions of the padded word."""


def check_with_proof(
    subject: Subject,
    options: CheckOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
) -> CheckResult:
    """Check a formula's network, after the prover has been asked about all words of these lengths.

    The prover is asked under engine `auto`, in the regimes that converge, up to length LONGEST.

    Raises:
        InputError: as `check_subject`.
        Contradiction: if a word contradicts a proof.
    """
    asked = options.engine == AUTO and options.max_n <= LONGEST and REGIMES[subject.program.regime].converges
    proof, stopped = None, False
    with held():
        try:
            if asked:
                with interruptible():
                    proof = prove_subject(subject, options.max_n, search=0)
        except KeyboardInterrupt:
            stopped = True
        result = check_subject(subject, options, progress, crew, memory, stopped)
    if proof is None:
        return result
    if proof.verdict is Verdict.PROVED and result.mismatch is not None:
        word = " ".join(result.mismatch.word)
        raise Contradiction(
            f"{subject.name} was proved for every word up to {options.max_n}, but {word} is a mismatch "
            f"({result.mismatch.kind}; regime {result.model.regime}, temperature {result.model.temperature}, beta "
            f"{result.model.beta})"
        )
    if result.partial:
        return replace(result, proof=proof.reach)
    if proof.verdict is not Verdict.PROVED:
        return replace(result, proof="not proved: `hardsim prove` says why")
    words = result.reach if result.verdict is Verdict.UNDECIDED else f"on {result.reach}"
    return replace(result, verdict=Verdict.PROVED, proof=proof.reach, reach=f"{proof.reach}; and {words}")


def check_attention_with_proof(
    subject: AttentionSubject,
    options: CheckOptions,
    choice: AttentionOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
) -> AttentionResult:
    """Check a model, after the prover has been asked where gaps and ranges follow from how a program was compiled.

    Raises:
        InputError: as `check_attention`.
        Contradiction: if a word contradicts a proof.
    """
    asked = options.engine == AUTO and subject.structural and choice.tau is None
    if asked:
        asked = len(subject.prepared((subject.alphabet[0],) * options.max_n)) <= LONGEST_MODEL
    proof, stopped = None, False
    with held():
        try:
            if asked:
                with interruptible():
                    proof = prove_attention(subject, options.max_n, choice, search=0)
        except KeyboardInterrupt:
            stopped = True
        result = check_attention(subject, options, choice, progress, crew, memory, stopped)
    if proof is None or proof.verdict is not Verdict.PROVED or result.partial:
        return result
    if result.verdict is Verdict.REFUTED:
        if result.mismatch is not None and result.mismatch.soft == result.mismatch.hard:
            return result  # hard attention is not what the program says, which the proof does not claim
        word = "a word" if result.mismatch is None else f"the word {' '.join(result.mismatch.word)}"
        raise Contradiction(
            f"{subject.name} was proved for every word up to {options.max_n}, but {word} contradicts it: {result.reach}"
        )
    if result.verdict is not Verdict.CERTIFIED:
        return result
    return replace(result, verdict=Verdict.PROVED, reach=f"{proof.reach}; and {result.reach}")
