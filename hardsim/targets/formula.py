"""The target of a formula: its network for every length, compiled in a regime or read from a file."""

from __future__ import annotations

from hardsim.hard.batch_hard import BatchHard
from hardsim.hard.exact import ExactModel
from hardsim.lang.ast import FormulaFile
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import Defined
from hardsim.program.hard_attention import Program
from hardsim.targets.claims import AttentionClaim, HeadsClaim
from hardsim.targets.subject import Subject


@dataclass(frozen=True, kw_only=True)
class FormulaTarget(Subject):
    """The network of a formula. A compiled formula that was read from a file has the network of the file, which may
    differ from what the formula compiles to."""

    kind = "ltl"
    of_formula = True

    formula: FormulaFile
    """The formula that the network was compiled from; its `at` is the position at which this target is read."""
    confirmed: bool = True
    """True if purposes, theorems and declared gaps are hardsim's own; False if they are claims of a file."""

    @property
    def formula_text(self) -> str:
        """The formula's text."""
        return self.title

    @property
    def file_title(self) -> str | None:
        """The first line of the formula's file, if it is a comment; None without one."""
        return self.formula.title or None

    def hard_model(self, program: Program) -> ExactModel | BatchHard:
        """Return exact hard attention, which runs bit by bit if it has sums of Booleans alone."""
        return ExactModel(program) if program.normed or program.rounding else BatchHard(program)

    def prover(self) -> HeadsClaim | AttentionClaim:
        """Return what can be proved: by heads, which are constructions, that the network computes the formula."""
        return HeadsClaim(self, self.formula) if self.one_network else super().prover()

    @property
    def own(self) -> bool:
        """True if the network is what hardsim compiles the formula to. A file was compared with that when it was
        read."""
        return self.confirmed and self.specified

    @property
    def reading(self) -> str:
        """The position at which the answer is read: the formula's own."""
        return self.formula.at

    @property
    def defined(self) -> Defined:
        """The predicates that the formula defines, by name."""
        return {item.name: item for item in self.formula.predicates}
