"""The Rocq theorem about a proved formula: planned before the proof, written after it, and checked if Rocq is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import monotonic

from hardsim.errors import Contradiction, InputError, SourceError, Undecided
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import Request, require_one_regime
from hardsim.proof.shared.result import Proof
from hardsim.proving.rocq.coqc import Prover, Ticking, run_prover
from hardsim.proving.rocq.folder import SUFFIX, folder_files, modules, require_free, write_folder
from hardsim.proving.rocq.instance import TheoremText, instance_text, statement_of
from hardsim.proving.rocq.outcome import RocqCheck
from hardsim.proving.rocq.syntax import not_covered
from hardsim.proving.rocq_comparison import compare_text, shipped_library
from hardsim.targets.formula import FormulaTarget
from hardsim.targets.stored import store_text
from hardsim.targets.subject import Subject


@dataclass(frozen=True, slots=True)
class TheoremPlan:
    """A theorem that is to be written: its folder, as an absolute path and as given, and its statement. `option` is
    named in errors."""

    target: Path
    folder: str
    option: str
    subject: Subject
    statement: TheoremText

    def files(self, proof: Proof | None) -> dict[str, str]:
        """Return the texts of all files by name, after the formula was proved for every length. Raises Undecided if it
        was not (`proof` is None or failed), or if the proof cannot be written as hints."""
        if proof is None or not proof.proved:
            raise Undecided(f"{self.subject.name}: not proved for every length, so there is no Rocq theorem")
        text = instance_text(self.subject, self.statement, modules(), proof)
        self._read_back(text)
        return folder_files(self.statement.module, text)

    def _read_back(self, text: str) -> None:
        """Compare an instance with the subject's model, as `hardsim verify --rocq` does. Raises Contradiction if it
        states another network or formula."""
        if not isinstance(self.subject, FormulaTarget):
            return
        name = f"{self.statement.module}{SUFFIX}"
        try:
            reason, _ = compare_text(text, json.loads(store_text(self.subject)), name, shipped_library())
        except SourceError as error:
            reason = str(error)
        if reason is not None:
            raise Contradiction(f"{self.subject.name}: {name} does not state the network and its formula: {reason}")

    def written(self, files: Mapping[str, str]) -> RocqCheck:
        """Write the files, and return them as a theorem that was not checked. Raises InputError if that fails."""
        write_folder(self.target, self.option, files)
        return RocqCheck(self.folder, tuple(files), f"{self.statement.module}{SUFFIX}", "not checked")

    def checked(self, written: RocqCheck, files: Mapping[str, str], prover: Prover, shown: Ticking) -> RocqCheck:
        """Run Rocq on the files that were written, and return what it says; `shown` gets the progress. A
        KeyboardInterrupt ends it, and the result says so."""
        started = monotonic()
        sources = {name: text for name, text in files.items() if name.endswith(SUFFIX)}
        try:
            found = run_prover(prover, sources, shown)
        except KeyboardInterrupt:
            return written.interrupted(prover.version)
        seconds = Fraction(round(1000 * (monotonic() - started)), 1000)
        verdict = "not checked" if found.ended else "checked" if found.reason is None else "rejected"
        return replace(
            written, verdict=verdict, coqc=prover.version, reason=found.reason, axioms=found.axioms, seconds=seconds
        )


def require_theorem(request: Request) -> None:
    """Refuse options with which no theorem can be written, before any input is read. Raises InputError, naming the
    option."""
    if request.rocq is None:
        return
    require_one_regime(request, "one Rocq theorem is about one network")
    if not request.all_n:
        message = "--rocq writes a theorem about every length, and needs --all-n, which asks for that proof"
        raise InputError(message, "Add --all-n, or leave out --rocq.")
    if request.heads_only:
        message = "--rocq writes a theorem that the network computes the formula, and --heads-only claims no formula"
        raise InputError(message, "Leave out one of them.")
    if request.tau is not None:
        raise not_covered("temperatures other than those of the regimes (--tau)")


def plan_theorem(subject: Subject, folder: str, option: str) -> TheoremPlan:
    """Return the plan of a theorem about a subject in a folder. Raises InputError if the library does not cover the
    subject, naming the part, or if the folder has other files."""
    statement = statement_of(subject, modules())
    return TheoremPlan(require_free(folder, option, statement.module), folder, option, subject, statement)
