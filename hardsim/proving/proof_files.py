"""Files that are written from a proof, besides the report: a certificate, and the SMT queries of its numerical
steps.
"""

from __future__ import annotations

from typing import Any

from hardsim.errors import Undecided
from hardsim.options.table import Request
from hardsim.program.assemble import assemble
from hardsim.proof.external.result import PrefixProof
from hardsim.proof.formulas.smt import smt_text, writer
from hardsim.proof.programs.smt import program_text, program_writer
from hardsim.proof.shared.result import NoProof, NotProved
from hardsim.proving.external_certificate import external_certificate, external_text
from hardsim.proving.formula_certificate import certificate, certificate_text
from hardsim.proving.program_certificate import program_certificate
from hardsim.proving.prove import ProofResult
from hardsim.proving.verify import lengths_of, span_of
from hardsim.targets.external import External
from hardsim.targets.subject import Subject
from hardsim.verify import LARGEST_FILE, Shown


def written_down(option: str, subject: Subject, request: Request, result: ProofResult) -> tuple[str, str]:
    """Return the text of a file about a proved subject, and a sentence about it with `{}` for the file's name. Raises
    Undecided if the checker does not follow the proof, or queries were asked for and not every length is proved, or a
    step is not of rational functions."""
    if option == "certificate":
        document = program_certificate(result) if result.proof is None else _by_heads(subject, request, result)
        span = "" if result.proof is None else f"{span_of(lengths_of(document))}, "
        message = f"certificate, checked: {{}} ({span}model sha256 {document['digests']['model']})"
        return certificate_text(document), message
    if not result.every_length:
        raise Undecided(f"{subject.name}: not proved for every length, so there are no queries of its steps")
    try:
        text = (
            smt_text(writer(subject.model, subject.program), subject.name)
            if result.proof is not None
            else _of_program(result)
        )
    except NotProved as failure:
        raise Undecided(
            f"{subject.name}: proved, but its steps cannot be written as queries: {failure.reason}"
        ) from None
    return text, f"{text.count('(check-sat)')} queries, none of which has a solution if the proof is right: {{}}"


def external_file(subject: External, proof: PrefixProof, shown: Shown | None = None) -> tuple[str, str]:
    """Return the certificate of an external network as text, and a sentence about it with `{}` for the file's name.
    `shown` is called with the progress. Raises Undecided if nothing is proved, the checker does not follow the proof,
    or the file would be too large."""
    document = external_certificate(subject, proof, shown)
    text = external_text(document)
    if len(text.encode()) > LARGEST_FILE:
        most = f"{LARGEST_FILE // 2**20} MiB"
        raise Undecided(f"{subject.name}: proved, but the certificate would be larger than {most}; --max-n shortens it")
    message = f"certificate, checked: {{}} (network sha256 {document['digests']['network']})"
    return text, message


def _of_program(result: ProofResult) -> str:
    """Return the SMT queries for the proof of a program or hard-attention model."""
    subject, argument = result.subject, result.argument
    if argument is None or argument.tau is None or isinstance(subject.law, NoProof):
        raise NotProved("it is not proved by structure")
    model = assemble(subject.program, argument.tau)
    made = program_writer(model, subject.program, subject.law, argument, subject.exact)
    return program_text(made, subject.name)


def _by_heads(subject: Subject, request: Request, result: ProofResult) -> dict[str, Any]:
    """Return the certificate for every length if the checker follows that proof: it is short, fast to check, and
    claims more than was asked for. Else return one for the lengths that were asked for, unless that would claim less
    than was proved."""
    bounded, general = (
        None if proof is None or proof.meaning is None else proof.meaning.literals
        for proof in (result.proof, result.all_n)
    )
    try:
        return certificate(subject, None, literals=general)
    except Undecided:
        if result.every_length:
            raise
    return certificate(subject, request.max_n, request.min_n, bounded)
