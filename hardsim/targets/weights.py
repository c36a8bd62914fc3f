"""The target of weights that hardsim wrote, or that a person wrote in its format: a hard-attention model."""

from __future__ import annotations

from dataclasses import replace

from hardsim.lang.ast import FormulaFile
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.claims import AttentionClaim, HeadsClaim
from hardsim.targets.sharpness import GivenTemperature
from hardsim.targets.subject import Subject


@dataclass(frozen=True, kw_only=True)
class WeightsTarget(Subject):
    """Hard attention by its weights, which are its own specification."""

    kind = "ahat"

    structural: bool = False
    """True if the model was compiled from a formula, and gaps and ranges are known for all words from that."""
    confirmed: bool = True
    """True if purposes, theorems and declared gaps are hardsim's own; False if they are claims of the file."""
    fixed_weights: bool = False
    """True for a softmax model, whose weights are never changed, with or without ties."""
    origin: FormulaFile | None = None
    """The formula that the model was compiled from, construction by construction. The model is not checked against its
    semantics."""

    @property
    def own(self) -> bool:
        """True if hardsim compiled the model from a formula."""
        return self.origin is not None

    def prover(self) -> HeadsClaim | AttentionClaim:
        """Return what can be proved: that the heads do what they should, if they are the constructions of a formula in
        one network for every length."""
        if self.one_network and self.structural and self.origin is not None:
            return HeadsClaim(self, self.origin, heads_only=True)
        return super().prover()

    def without_budget(self) -> WeightsTarget:
        """Return this target in the form of Theorem 26: the scores of each head take in its beta, and the temperature
        is a given function. The network computes the same."""
        if not self.one_network:
            return self
        budget = self.budget
        program, schedule = budget.scaled(self.program), 1 / budget.beta * budget.temperature
        return replace(self, program=program, sharpness=GivenTemperature(schedule), fixed_weights=True)
