"""The contents of a page of `hardsim report` as blocks, which HTML and LaTeX share."""

from __future__ import annotations

from hardsim.campaign.result import CheckResult
from hardsim.lang.valuations import Alphabet, Valuations, alphabet_text
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.bound import BoundResult
from hardsim.measuring.trace import TraceResult
from hardsim.program.regimes import LAYER_NORM
from hardsim.proving.prove import ProofResult
from hardsim.report.blocks import Block, Blocks, Table, blocks_of
from hardsim.report.bound import print_bound
from hardsim.report.check import model_line, named, print_check, titles
from hardsim.report.prove import print_every_length, print_proof_verdict
from hardsim.report.screen import columns
from hardsim.visible import visible

DECIMALS = "Decimal numbers are shown to three digits; results.json has every known digit."
AGAIN = (
    "Run this command in the directory of this page to make the report again; hardsim replay runs it and compares the "
    "results."
)
LONGEST = 20
"""Largest number of symbols of an alphabet that a theorem names."""
CLAIM, PADDED = "On every non-empty word of every length ", ", where n is its length with its padding"
EXACTLY = ": the output is exactly 1 on the words that it accepts, and exactly 0 on all others"
SIGNED = ": the output is above 0 on the words that it accepts, and below 0 on all others"


@dataclass(frozen=True)
class Part:
    """All results of one input in one regime; `proof` and `bound` are None if there is no such result."""

    check: CheckResult
    alphabet: Alphabet
    proof: ProofResult | None = None
    bound: BoundResult | None = None
    definitions: tuple[str, ...] = ()
    """The lines of the checked file that define something, or its own predicates."""
    wrong: TraceResult | None = None
    """The trace of the word on which the answers differ, if they do on one."""

    @property
    def title(self) -> str:
        """Return the name of the input, with its regime."""
        return named(self.check.input, self.check.model.regime)

    @property
    def checked(self) -> tuple[Block, ...]:
        """Return the blocks that `check` prints."""
        return blocks_of(print_check, self.check, self.alphabet, True)

    @property
    def bounded(self) -> tuple[Block, ...]:
        """Return the blocks that `bound` prints."""
        return () if self.bound is None else blocks_of(print_bound, self.bound, self.alphabet, True)

    @property
    def verdict(self) -> tuple[Block, ...]:
        """Return the blocks of the verdict that `prove --all-n` prints."""
        return () if self.proof is None else blocks_of(print_proof_verdict, self.proof, self.alphabet)

    @property
    def theorem(self) -> str:
        """Return the theorem that is proved about every length, as text; empty if there is none."""
        if self.proof is None or not self.proof.every_length:
            return ""
        claim = self.proof.theorem + PADDED * (self.proof.subject.blank is not None)
        outputs = SIGNED if self.check.model.regime == LAYER_NORM.name else EXACTLY
        return f"{CLAIM}{claim}{outputs if self.proof.claim == 'formula' else ''}."

    @property
    def network(self) -> tuple[Block, ...]:
        """Return the blocks that describe the network of the theorem: formula, alphabet, sizes and definitions."""
        alphabet = self.alphabet
        # What is declared of propositions is a hypothesis of the theorem: it is never left out.
        names = alphabet_text(alphabet, len(alphabet.props) if isinstance(alphabet, Valuations) else LONGEST)
        found = blocks_of(
            Blocks.facts, [*titles(self.check), ("alphabet", names), ("network", model_line(self.check.model))]
        )
        rows = tuple((visible(line),) for line in self.definitions)
        return (*found, Table(tuple(columns("=definitions")), rows)) if rows else found

    @property
    def argument(self) -> tuple[Block, ...]:
        """Return the blocks of the argument for every length."""
        return () if self.proof is None else blocks_of(print_every_length, self.proof)


@dataclass(frozen=True)
class Making:
    """Origin of a report: the command, versions by name, SHA-256 by file, and the errors for what is missing in the
    report."""

    command: str
    versions: tuple[tuple[str, str], ...]
    hashes: tuple[tuple[str, str], ...]
    failures: tuple[str, ...] = ()
