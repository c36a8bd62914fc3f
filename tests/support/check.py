"""Names of hardsim that many tests use: targets, checks, measurements and proofs.

A name that moves in hardsim moves here only.
"""

from hardsim.campaign.check import CheckOptions as CheckOptions
from hardsim.campaign.check import Progress as Progress
from hardsim.campaign.check import check_subject as check_subject
from hardsim.campaign.result import CheckResult as CheckResult
from hardsim.campaign.result import Mismatch as Mismatch
from hardsim.campaign.result import Verdict as Verdict
from hardsim.campaign.tally import Tally as Tally
from hardsim.measuring.export import Export as Export
from hardsim.measuring.export import export_of as export_of
from hardsim.proof.formulas.network import prove as prove
from hardsim.proof.formulas.sites import Sites as Sites
from hardsim.proof.programs.law import law_of as law_of
from hardsim.proof.shared.result import NotProved as NotProved
from hardsim.proving.proof_before_words import check_with_proof as check_with_proof
from hardsim.proving.prove import prove_attention as prove_attention
from hardsim.proving.prove import prove_subject as prove_subject
from hardsim.targets.base import ModelOptions as ModelOptions
from hardsim.targets.compiled import compile_formula as compile_formula
from hardsim.targets.external import External as External
from hardsim.targets.formula import FormulaTarget as FormulaTarget
from hardsim.targets.opening import read_expression as read_expression
from hardsim.targets.opening import read_input as read_input
from hardsim.targets.result import Word as Word
from hardsim.targets.subject import Subject as Subject
