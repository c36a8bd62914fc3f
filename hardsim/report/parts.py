"""What a page of `hardsim report` says, as blocks: the same in HTML and in LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

from hardsim.checking.bound import BoundResult
from hardsim.checking.prove import ProofResult
from hardsim.checking.result import CheckResult
from hardsim.lang.valuations import Alphabet, Valuations, alphabet_text
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
"""Symbols of an alphabet that a theorem names."""
CLAIM, PADDED = "On every non-empty word of every length ", ", where n is its length with its padding"
EXACTLY = ": the output is exactly 1 on the words that it accepts, and exactly 0 on all others"


@dataclass(frozen=True)
class Part:
    """All that was found of one input in one regime; `proof` and `bound` are None where there is none of its kind."""

    check: CheckResult
    alphabet: Alphabet
    proof: ProofResult | None = None
    bound: BoundResult | None = None
    definitions: tuple[str, ...] = ()
    """What is defined by the file that was checked: its lines, or its own predicates."""

    @property
    def title(self) -> str:
        """What it is about."""
        return named(self.check.input, self.check.model.regime)

    @property
    def checked(self) -> tuple[Block, ...]:
        """What `check` prints."""
        return blocks_of(print_check, self.check, self.alphabet, True)

    @property
    def bounded(self) -> tuple[Block, ...]:
        """What `bound` prints."""
        return () if self.bound is None else blocks_of(print_bound, self.bound, self.alphabet, True)

    @property
    def verdict(self) -> tuple[Block, ...]:
        """What `prove --all-n` says first."""
        return () if self.proof is None else blocks_of(print_proof_verdict, self.proof, self.alphabet)

    @property
    def theorem(self) -> str:
        """What is proved of every length; empty where nothing is."""
        if self.proof is None or not self.proof.every_length:
            return ""
        claim = self.proof.reach.partition(": ")[2] + PADDED * (self.proof.subject.blank is not None)
        return f"{CLAIM}{claim}{EXACTLY if self.proof.claim == 'formula' else ''}."

    @property
    def network(self) -> tuple[Block, ...]:
        """What the theorem is about."""
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
        """Why it holds."""
        return () if self.proof is None else blocks_of(print_every_length, self.proof)


@dataclass(frozen=True)
class Making:
    """What a report was made from: the command, versions by name, SHA-256 by file; and why what is not in it is not."""

    command: str
    versions: tuple[tuple[str, str], ...]
    hashes: tuple[tuple[str, str], ...]
    failures: tuple[str, ...] = ()
