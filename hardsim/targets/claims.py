"""Claims that can be proved of a target: `Target.prover` returns one, and `proving.prove.prover_of` the function that
proves it."""

from __future__ import annotations

from typing import Any, TypeAlias

from hardsim.lang.ast import FormulaFile
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.shared.result import NoProof

WORDS_RUN = "`hardsim prove` runs every word"


@dataclass(frozen=True, slots=True)
class HeadsClaim:
    """The claim that the one network for every length does what the specification of its heads states, and with that
    computes the formula."""

    target: Any
    """The target, which has hard attention (`targets.subject.Subject`)."""
    formula: FormulaFile
    """The formula that the network was compiled from, construction by construction."""
    heads_only: bool = False
    """True if nothing is claimed of the formula."""


@dataclass(frozen=True, slots=True)
class AttentionClaim:
    """The claim that softmax answers as hard attention does, at one temperature for every length or at one for each."""

    target: Any
    """The target, which has hard attention (`targets.subject.Subject`)."""

    @property
    def by_words(self) -> NoProof | None:
        """The reason why a proof runs every word of a length; None if it needs no words."""
        if not self.target.in_range:
            return NoProof(f"an integer of the program may leave the range -n to n ({WORDS_RUN})")
        gaps = f"the weights alone do not settle every length ({WORDS_RUN})"
        if self.target.one_network:
            return NoProof(gaps)
        law = self.target.law
        return NoProof(f"{gaps}: {law.reason}") if isinstance(law, NoProof) else None


@dataclass(frozen=True, slots=True)
class PrefixClaim:
    """The claim that an external network answers as its reference says after every judged prefix."""

    target: Any
    """The network with its reference (`targets.external.External`)."""


Claim: TypeAlias = HeadsClaim | AttentionClaim | PrefixClaim
