"""The JSON document of `--json`: one document for each run of a command, with all results."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, TypeAlias

from hardsim.campaign.result import (
    CheckResult,
    CompileResult,
    EvalResult,
    FormatResult,
    NewResult,
    OracleResult,
    WordsResult,
)
from hardsim.examples import ExampleResult
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.bound import BoundResult
from hardsim.measuring.classify import ClassifyResult
from hardsim.measuring.critical import CriticalResult
from hardsim.measuring.equiv import EquivResult
from hardsim.measuring.export import ExportResult
from hardsim.measuring.head_patterns import HeadsResult
from hardsim.measuring.norm_reach import NormReach
from hardsim.measuring.trace import TraceResult
from hardsim.precision.safe_lengths import PrecisionResult
from hardsim.proving.external import NetworkProof
from hardsim.proving.prove import ProofResult
from hardsim.proving.rocq_comparison import RocqResult
from hardsim.proving.verify import VerifyResult
from hardsim.records import Record, one_of
from hardsim.report.automaton import AutomatonReport, WrittenAutomaton
from hardsim.report.model_report import ModelReport
from hardsim.report.network import NetworkReport
from hardsim.report.notices import Failure, InputRead, Note, NotRun
from hardsim.report.serve import ServeResult
from hardsim.report.summary import RunSummary
from hardsim.version import __version__

SCHEMA_VERSION = 5

Result: TypeAlias = (
    CheckResult
    | ProofResult
    | NetworkProof
    | VerifyResult
    | RocqResult
    | EvalResult
    | OracleResult
    | WordsResult
    | EquivResult
    | ClassifyResult
    | ModelReport
    | AutomatonReport
    | WrittenAutomaton
    | NetworkReport
    | NewResult
    | CompileResult
    | ExportResult
    | PrecisionResult
    | ExampleResult
    | FormatResult
    | BoundResult
    | CriticalResult
    | NormReach
    | HeadsResult
    | TraceResult
    | ServeResult
)
RESULTS: dict[str, tuple[type[Record], ...]] = {
    "check": (CheckResult,),
    "prove": (ProofResult, NetworkProof, CheckResult),
    "verify": (VerifyResult, RocqResult),
    "eval": (EvalResult, OracleResult),
    "words": (WordsResult,),
    "equiv": (EquivResult,),
    "classify": (ClassifyResult,),
    "show": (ModelReport, AutomatonReport, WrittenAutomaton, NetworkReport),
    "heads": (HeadsResult,),
    "trace": (TraceResult,),
    "new": (NewResult,),
    "compile": (CompileResult,),
    "export": (ExportResult,),
    "precision": (PrecisionResult,),
    "examples": (ExampleResult,),
    "bound": (BoundResult, CriticalResult, NormReach),
    "fmt": (FormatResult,),
    "report": (CheckResult, ProofResult, BoundResult),
    "serve": (ServeResult,),
}
"""Types of the results of each command."""
RANDOM = ("check", "bound", "export", "precision", "equiv", "heads", "report")
"""Commands with random choices, whose documents have a seed."""


@dataclass(frozen=True, slots=True, repr=False)
class Document(Record):
    """One document per run. There are no timestamps: the same request gives the same document. Integers and measured
    numbers are JSON numbers, the latter with at most 20 significant digits; exact rationals, and counts that may exceed
    2^53, are objects with the number and all its digits as text. Infinities are the strings "inf" and "-inf". What does
    not apply is null. Words are arrays of symbols."""

    schema_version: Annotated[int, one_of(SCHEMA_VERSION)] = field(default=SCHEMA_VERSION, kw_only=True)
    """Version of this document format."""
    version: str = field(default=__version__, kw_only=True)
    """Version of hardsim."""
    command: str
    """Name of the command that was run."""
    seed: int | None
    """Seed of the random words; null for commands without random choices."""
    exit_code: Annotated[int, one_of(0, 1, 2, 3, 4, 130)]
    """The exit code of the run."""
    inputs: tuple[InputRead, ...] = ()
    """Files and expressions that were read, in order."""
    results: tuple[Result, ...] = ()
    """Results, in order."""
    notes: tuple[Note, ...] = ()
    """Remarks, which are also on standard error."""
    errors: tuple[Failure, ...] = ()
    """Errors, each with the input that it concerns."""
    not_run: tuple[NotRun, ...] = ()
    """Inputs without a result because the run was interrupted or stopped."""
    stopped: bool = False
    """True if --fail-fast ended the run at a failure."""
    counts: RunSummary = field(default_factory=lambda: RunSummary(0, 0))
    """The number of inputs, and the number without a result."""
