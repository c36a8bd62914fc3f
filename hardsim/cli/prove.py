"""The command `hardsim prove`: prove a network right on all words up to a length, or of every length."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import replace
from functools import partial

from hardsim.campaign.check import check_options_of, check_subject
from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.campaign.result import Verdict
from hardsim.campaign.workers import Crews, crews, processors
from hardsim.cli.activity import still
from hardsim.cli.ahead import Ahead, OnTarget
from hardsim.cli.check import result_text
from hardsim.cli.estimate import LONG, bar, patient, words_bar
from hardsim.cli.pin import pin, require_pinnable, require_placed
from hardsim.cli.session import ResultText, Session, session
from hardsim.cli.streams import note
from hardsim.errors import HardsimError, InputError, Undecided
from hardsim.files import Sink
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import WRITTEN, Request
from hardsim.proof.external.pattern_proof import Share, alone
from hardsim.proof.shared.result import NotProved
from hardsim.proving import prove as proving
from hardsim.proving.external import NetworkProof, prove_network, shared_by
from hardsim.proving.external_certificate import no_certificate
from hardsim.proving.proof_files import external_file, written_down
from hardsim.proving.prove import ALONE, PROOF, UNUSED, ProofPlan, ProofResult, plan_proof, require_provable
from hardsim.proving.rocq.coqc import find_prover
from hardsim.proving.rocq.folder import require_free
from hardsim.proving.rocq.outcome import RocqCheck
from hardsim.proving.rocq.theorem import TheoremPlan, plan_theorem
from hardsim.report.network_proof import print_network_proof, print_network_verdict
from hardsim.report.prove import print_proof, print_proof_verdict, print_proofs
from hardsim.report.unused_options import require_file_made
from hardsim.targets.external import External
from hardsim.targets.subject import Subject

ROCQ = "--rocq"
DEEP = 20.0
"""Seconds after which a proof of several layers says how it goes on."""


def command(request: Request) -> None:
    """Run `hardsim prove` as requested, and print its results."""
    require_provable(request)
    require_pinnable(request)
    if request.rocq is not None:
        require_free(request.rocq, ROCQ)
    with ExitStack() as stack:
        named = {name: getattr(request, name) for name in WRITTEN}
        targets = {
            name: stack.enter_context(Sink(path, f"--{name}")) for name, path in named.items() if path is not None
        }
        current = stack.enter_context(session("prove", request, targets=list(targets.values())))
        if request.rocq is not None:
            current.spare_folder(request.rocq, ROCQ)
        given = list(current.read())
        for one in given:
            require_file_made(request, one)
        tasks = current.tasks(given)
        current.without(*(PROOF if len(tasks) > 1 or (given[0:1] and given[0].is_network) else UNUSED))
        require_placed(request, given)
        # A certificate or SMT file has room for one proof.
        made = [WRITTEN[name] for name in targets] + ["one Rocq theorem"] * (request.rocq is not None)
        if current.several(given) and made:
            raise InputError(f"{made[0]} is about one input, but there are several", "Give one of them.")
        if request.against is not None and not given:
            return  # the error has been reported
        staff = stack.enter_context(crews(request, note, still))
        ahead = Ahead(staff, request, OnTarget(proved), tasks, networks=False, shares=False)
        stack.enter_context(closing(ahead))
        work = _Work(current, current.tables(given), targets, ahead, staff)
        current.all(given, work.prove, work.network)
        if len(current.results) > 1 and not request.quiet:
            print_proofs(current.screen, current.results)
        pin(current, given)


def _deep(subject: External) -> AbstractContextManager[None]:
    """Return a context that says how a proof of several layers goes on, if it takes long."""
    if len(subject.network.layers) < 2:
        return nullcontext()
    return patient(
        f"{subject.name}: short words are run, then lengths are proved from the weights, one by one, and each may take "
        "minutes; with --max-n, one that stays open is divided by patterns of words, which may take an hour",
        DEEP,
    )


def rejection_text(found: RocqCheck | None) -> str:
    """Return the text that a Rocq theorem was rejected, or that Rocq did not answer; empty otherwise."""
    if found is None or found.reason is None:
        return ""
    if found.verdict != "rejected":
        return f"Rocq {found.coqc} did not check the theorem in {found.folder} ({found.reason})"
    return f"Rocq {found.coqc} rejects the theorem in {found.folder} ({found.reason}); the proof by hardsim stands"


def _ending_text(subject: External, result: NetworkProof) -> str:
    """Return the text that a proof does not reach every length that an external network can read; empty if it does, or
    if the network is wrong."""
    longest, proved = subject.longest, result.prefix_proof.proved_to or 0
    if result.verdict is not Verdict.PROVED or (longest is not None and proved >= longest):
        return ""
    end = "which has no table of positions" if longest is None else f"whose positions have room for {longest:,} symbols"
    return f"--all-n was given, but the proof about {subject.name}, {end}, covers words of at most {proved:,} symbols"


def proved(request: Request, subject: Subject) -> ProofResult:
    """Prove one compiled network and run words after the proof, without a word on its progress."""
    return proving.confirmed(plan_proof(subject, request).prove(None))


@dataclass
class _Work:
    """Proves subjects one after the other, and prints each result as soon as it is known."""

    current: Session
    tables: bool
    targets: Mapping[str, Sink]
    ahead: Ahead
    staff: Crews
    failure: HardsimError | None = None
    """The reason why no Rocq theorem was written about a proved subject."""

    def network(self, subject: External) -> None:
        """Prove an external network, prefix by prefix. Where no proof is attempted, try its words and say why."""
        current, alphabet = self.current, subject.alphabet
        if len(current.names) == 1 and (len(subject.network.layers) < 2 or current.request.max_n is None):
            current.without(*ALONE)
        if self.targets and (reason := no_certificate(subject)) is not None:
            raise Undecided(f"{subject.name}: {reason}; leave out --certificate")
        with uninterrupted():
            try:
                with bar(subject.name, "steps", f"{subject.name}: steps of the proof") as shown, _deep(subject):
                    result = prove_network(subject, current.request, shown.show, self._share())
            except NotProved as error:
                self._tried(subject, error.reason)
                return
            except KeyboardInterrupt:
                current.interrupted = True
                current.remark(subject.name, None, "interrupted before a verdict was reached: nothing is claimed")
                return
            message = ResultText(
                result=result,
                full=partial(print_network_proof, result=result, alphabet=alphabet, tables=self.tables),
                brief=partial(print_network_verdict, result=result, alphabet=alphabet),
                word=None if result.mismatch is None else result.mismatch.word,
                alphabet=alphabet,
            )
            undecided, longest = result.verdict is Verdict.UNDECIDED, result.prefix_proof.longest
            left = f"the result of {result.input} is partial: it covers the lengths proved so far" * result.partial
            if longest < result.max_n and undecided is False:
                text = f"the proof runs every word, to {longest:,} symbols here: --max-n {longest + 1} runs longer ones"
                current.remark(subject.name, None, text)
            weaker = _ending_text(subject, result) if current.request.all_n and not undecided else ""
            current.conclude(result.verdict is not Verdict.REFUTED, undecided, left, message, weaker)
        if self.targets and result.partial:
            current.remark(subject.name, None, "the proof was interrupted: no certificate is written")
        elif self.targets and not current.interrupted:
            self._certify(subject, result)

    def _share(self) -> Share:
        """Return the function that shares a long proof among processes, where these have no other work."""
        crew = partial(self.staff.crew, processors)
        return alone if self.ahead.workers > 1 else shared_by(crew)

    def _certify(self, subject: External, result: NetworkProof) -> None:
        """Write the certificate of what is proved of an external network. Raises Undecided if nothing is proved, or the
        checker cannot follow the proof."""
        try:
            with bar(subject.name, "parts", f"{subject.name}: certificate") as shown:
                text, message = external_file(subject, result.prefix_proof, shown.show)
        except KeyboardInterrupt:
            self.current.remark(subject.name, None, "interrupted: no certificate is written")
            raise
        with self.current.printing():
            self.targets["certificate"].write(text)
            if not self.current.request.quiet:
                self.current.screen.line(message.format(self.targets["certificate"].path))

    def _tried(self, subject: External, reason: str) -> None:
        """Try the words of an external network of which nothing is proved, and remark on the reason."""
        current = self.current
        options = check_options_of(current.request, subject)
        current.remark(subject.name, None, f"no proof: {reason}; so its words are tried")
        with words_bar(subject, options) as shown:
            result = check_subject(subject, options, shown.update)
        left = f"the result of {result.input} is partial: it covers the words tried so far" if result.partial else ""
        current.conclude(result.agreed, True, left, result_text(result, subject.alphabet, self.tables))

    def prove(self, subject: Subject) -> None:
        """Prove one subject: a formula by its heads, a hard-attention model or program by its lengths."""
        request, regime = self.current.request, None
        if request.against is not None:
            message = (
                f"{subject.name} was compiled here, and a proof is about what was compiled, not about {request.against}"
            )
            raise InputError(message, "Leave out --against; `hardsim check --against` compares word by word.")
        plan = plan_proof(subject, request)
        self.current.remark(plan.subject.name, None, plan.remark)
        theorem = None if request.rocq is None else plan_theorem(subject, request.rocq, ROCQ)
        if plan.by_heads:
            regime = subject.regime
        result = self._settled(plan, regime, theorem)
        if result is not None and result.verdict is Verdict.PROVED and not self.current.interrupted:
            for name, target in self.targets.items():
                self._write(name, target, subject, result)
        if self.current.lost is not None:
            raise self.current.lost
        if self.failure is not None:
            raise self.failure

    def _settled(self, plan: ProofPlan, regime: str | None, theorem: TheoremPlan | None) -> ProofResult | None:
        """Run a proof and the search for wrong words after it, print the result and note its exit code. Return the
        result, or None if the proof was interrupted: then nothing is claimed."""
        current, subject, unit = self.current, plan.subject, plan.unit
        with uninterrupted():
            try:
                result: ProofResult | None = current.known(self.ahead)
                if result is None:
                    with interruptible(), bar(subject.name, unit, f"{subject.name}: {unit} proved") as shown:
                        found = plan.prove(shown.show)
            except KeyboardInterrupt:
                current.interrupted = True
                current.remark(subject.name, regime, "interrupted before a verdict was reached: nothing is claimed")
                return None
            if result is None:
                with interruptible():
                    result = proving.confirmed(found)
            if theorem is not None and result.verdict is Verdict.PROVED:
                result = self._with_theorem(theorem, result)
            message = ResultText(
                result=result,
                regime=regime,
                full=partial(print_proof, result=result, alphabet=subject.alphabet, tables=self.tables),
                brief=partial(print_proof_verdict, result=result, alphabet=subject.alphabet),
                word=None if result.mismatch is None else result.mismatch.word,
                alphabet=subject.alphabet,
            )
            partly = result.confirmed is not None and result.confirmed.partial
            left = f"{result.input} was proved, but not all words that follow a proof were run" if partly else ""
            if result.rocq is not None and result.rocq.partial:
                left = f"{result.input} was proved and its Rocq theorem written, but Rocq has not checked it"
            with current.printing():
                agreed, undecided = result.verdict is not Verdict.REFUTED, result.verdict is Verdict.UNDECIDED
                current.conclude(agreed, undecided, left, message, weaker=rejection_text(result.rocq))
        return result

    def _with_theorem(self, theorem: TheoremPlan, result: ProofResult) -> ProofResult:
        """Write the Rocq theorem about a proved subject, run Rocq if it is there, and return the result with it. Keep
        the reason if there is no theorem: the proof is printed first."""
        name = result.input
        try:
            files = theorem.files(result.all_n)
            written, prover = theorem.written(files), find_prover()
        except HardsimError as error:
            self.failure = error
            return result
        if prover is None or (result.confirmed is not None and result.confirmed.partial):
            return replace(result, rocq=written)
        note(f"{name}: Rocq {prover.version} ({prover.command[0]}) checks the theorem and its library. Ctrl-C ends it.")
        with bar(name, "files", f"{name}: Rocq") as shown:
            try:
                with interruptible():
                    written = theorem.checked(written, files, prover, shown.show)
            except KeyboardInterrupt:  # it came before Rocq started
                written = written.interrupted(prover.version)
        return replace(result, rocq=written)

    def _write(self, name: str, target: Sink, subject: Subject, result: ProofResult) -> None:
        """Write the certificate, or the SMT queries, of a subject that was proved. Raises Undecided if the certificate
        checker cannot follow the proof."""
        request = self.current.request
        with patient(f"{subject.name}: the {name} takes long; --min-n and --max-n choose fewer lengths", LONG):
            text, message = written_down(name, subject, request, result)
        with self.current.printing():
            target.write(text)
            if not request.quiet:
                self.current.screen.line(message.format(target.path))
