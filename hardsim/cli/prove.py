"""`hardsim prove`: all words at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from hardsim.checking import prove as proving
from hardsim.checking.certificate import certificate, certificate_text
from hardsim.checking.interrupts import held, interruptible
from hardsim.checking.prove import EVERY, ProofResult, longest
from hardsim.checking.result import Verdict
from hardsim.checking.sharpening import without_budget
from hardsim.checking.subject import Subject
from hardsim.cli.estimate import announce_certificate, announce_model_proof, announce_proof, bar
from hardsim.cli.options import ALL, Request
from hardsim.cli.session import Session, session
from hardsim.errors import InputError
from hardsim.files import STDOUT, Sink
from hardsim.report.prove import print_proof, print_proofs
from hardsim.sections import LARGEST


def command(request: Request) -> None:
    """The command."""
    min_n, max_n, path = request.min_n, request.max_n, request.certificate
    if min_n > max_n:
        given_n = "max_n" in request.written
        largest = f"--max-n {max_n}" if given_n else f"the largest, {max_n} unless --max-n says otherwise"
        raise InputError(
            f"--min-n {min_n} is larger than {largest}", f"For length {min_n:,} alone add --max-n {min_n}."
        )
    with (
        nullcontext() if path is None else _target(path, request) as target,
        session("prove", request, target=target) as current,
    ):
        current.without("engine dps workers", "a proof is one process, in rigorous arithmetic of its own")
        if target is not None and current.sink is not None and current.sink.same(target):
            raise InputError(f"--certificate and --json both write {path}", "Name two files.")
        given = list(current.read())
        if current.several(given) and target is not None:
            raise InputError("one certificate is of one input, and there are several", "Give one of them.")
        current.all(given, _Work(current, current.tables(given), target).prove)
        if len(current.found) > 1:
            print_proofs(current.screen, current.found)


def _target(path: str, request: Request) -> Sink:
    """Where the certificate goes, if there can be one."""
    if request.regime == ALL:
        raise InputError("one certificate is of one network: --regime all is several", "Name one regime.")
    if request.heads_only:
        told = "a certificate says that the network computes the formula, and --heads-only claims nothing about it"
        raise InputError(told, "Leave out one of --certificate and --heads-only.")
    if request.max_n > LARGEST:
        hint = f"Use --max-n {LARGEST} or less (the checker's exact arithmetic takes hours beyond), or leave out "
        raise InputError(f"certificates go up to length {LARGEST}, not {request.max_n:,}", hint + "--certificate.")
    if path == STDOUT == request.json:
        raise InputError("--certificate - and --json - both want standard output", "Give one of them a file.")
    return Sink(path, "--certificate")


@dataclass
class _Work:
    """Proves subjects one after the other and prints each as soon as it is done.

    Where a largest length was asked for (`bounded`) and every length too, which is not proved, the proof up to that
    length is an answer. Without it a model is proved as far as can be.
    """

    current: Session
    tables: bool
    target: Sink | None

    @property
    def bounded(self) -> bool:
        """Whether a largest length was asked for."""
        return "max_n" in self.current.request.written

    def prove(self, subject: Subject) -> None:
        """Prove one subject: of a formula by its heads, of a hard-attention model or program by its lengths."""
        request, formula = self.current.request, subject.formula is not None
        min_n, max_n = request.min_n, request.max_n
        if subject.sharpness is not None and (formula or subject.structural):
            announce_proof(subject, min_n, max_n)
            heads_only, bounded = request.heads_only or not formula, self.bounded
            asked = subject, max_n, heads_only, request.search, request.all_n
            proof = partial(proving.prove_subject, *asked, min_n=min_n, bounded=bounded)
            result = self._settled(subject, subject.regime, "heads", lambda told: proof(report=told))
            proved = result is not None and result.verdict is Verdict.PROVED
            if self.target is not None and proved and not self.current.interrupted:
                self._certify(subject, self.target)
            return
        if self.target is not None:
            told = f"{subject.name} is no formula, and certificates are of the networks of formulas"
            raise InputError(told, "Leave out --certificate.")
        plain = without_budget(subject)
        if request.all_n and not self.bounded:
            none = proving.unproved_for_every_length(plain, max_n, min_n)
            self._settled(subject, None, "lengths", lambda _: none)
            return
        reach = self._longest(plain)
        announce_model_proof(plain, min_n, reach)
        attention = partial(proving.prove_attention, plain, reach, request.search, min_n=min_n)
        self._settled(subject, None, "lengths", lambda told: attention(report=told))

    def _settled(
        self,
        subject: Subject,
        regime: str | None,
        unit: str,
        prove: Callable[[Callable[[int, int], None] | None], ProofResult],
    ) -> ProofResult | None:
        """Print what a proof, or the search after it, comes to, and note the exit code that it means; None where it was
        interrupted: then nothing is claimed."""
        current = self.current
        with held():
            try:
                with interruptible(), bar(f"{subject.name}: {unit} proved", unit) as shown:
                    result = prove(None if shown is None else shown.show)
            except KeyboardInterrupt:
                current.interrupted = True
                current.remark(subject.name, regime, "interrupted before there was a verdict: nothing is claimed")
                return None
            with interruptible():
                result = proving.confirmed(result)
            current.found.append(result)
            print_proof(current.screen, result, subject.alphabet, self.tables)
            partly = result.confirmed is not None and result.confirmed.partial
            left = f"{result.input} was proved, but not all words were run that are run after a proof" if partly else ""
            current.conclude(result.verdict is not Verdict.REFUTED, result.verdict is Verdict.UNDECIDED, left)
        return result

    def _longest(self, subject: Subject) -> int:
        """The longest length to prove: what was asked for, else what can be done; said where these differ."""
        min_n, max_n = self.current.request.min_n, self.current.request.max_n
        possible = longest(subject, max_n)
        if possible == max_n:
            return max_n
        limit = f"every word of a length is run for a proof, and length {possible + 1} has more than {EVERY:,}"
        if self.bounded or possible < min_n:
            advice = f" (--max-n {possible} goes as far as there is)" if possible >= min_n else ""
            self.current.remark(subject.name, None, f"{limit}: of that and longer ones there is no proof{advice}")
            return max_n
        self.current.remark(subject.name, None, f"{limit}: proved is up to length {possible}")
        return possible

    def _certify(self, subject: Subject, target: Sink) -> None:
        """Write the certificate of a subject that was proved; Undecided if the checker does not follow the proof."""
        request = self.current.request
        announce_certificate(subject, request.min_n, request.max_n)
        document = certificate(subject, request.max_n, request.min_n)
        target.write(certificate_text(document))
        self.current.screen.line(f"certificate, checked: {target.path} (model sha256 {document['digests']['model']})")
