"""Print proofs about external networks: the verdict with its word, and the brackets of the least margins by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hardsim.campaign.explanation import command_line
from hardsim.campaign.result import Mismatch, Verdict, answers_summary
from hardsim.lang.words import written_word
from hardsim.proof.external.result import EVERY_WORD
from hardsim.proving.external import ASSUMED, NetworkProof
from hardsim.records import at_most
from hardsim.report.check import STYLES, model_line, print_headline, titles
from hardsim.report.network import print_brackets
from hardsim.report.screen import Screen
from hardsim.targets.result import plural

TIE = Fraction(1, 10**6)
"""Margins below this are called close to 0."""


def print_network_proof(screen: Screen, result: NetworkProof, alphabet: Sequence[str], tables: bool) -> None:
    """Print the block of a proof about an external network; `tables` adds the brackets of the least margins."""
    print_network_verdict(screen, result, alphabet)
    screen.facts([*titles(result), ("network", model_line(result.model)), ("assumes", ASSUMED)])
    if tables:
        print_brackets(screen, result.prefix_proof)
    screen.raw()


def print_network_verdict(screen: Screen, result: NetworkProof, alphabet: Sequence[str]) -> None:
    """Print the verdict with its reach, the wrong word with the answers, and the next step."""
    proof, mismatch = result.prefix_proof, result.mismatch
    print_headline(screen, result.verdict.value, STYLES[result.verdict], result.input, result.reach)
    if result.confirmed and proof.proved_by != EVERY_WORD:
        many = plural(result.confirmed, "short word")
        screen.line(f"  {many} {'was' if result.confirmed == 1 else 'were'} also run: each answer is as proved")
    if mismatch is not None:
        screen.word("The shortest wrong word" if proof.shortest else "A wrong word", mismatch.word, alphabet)
        screen.line(f"  {answers_summary(ending(mismatch))}; margin at most {at_most(proof.wrong_margin)}")
        screen.line("  More about this word:")
        given = [] if result.against in (None, result.input) else ["--against", result.against]
        screen.raw(command_line("eval", [result.input], written_word(mismatch.word, alphabet), given))
    elif result.verdict is Verdict.UNDECIDED and proof.open_text:
        for one in proof.open[1:4]:
            screen.line(f"  open: {one.summary}")
        if any(one.sampled is not None and abs(one.sampled) < TIE for one in proof.open):
            screen.line(
                "  A margin so close to 0 may be a tie, where no answer is certain: `assume:` leaves such words open."
            )
        screen.line("  Next: `hardsim check` runs and searches words of the lengths that are not proved.")


def ending(found: Mismatch) -> Mismatch:
    """Return a mismatch with the answers at one position, where the answers are lists by position: at the first one
    that is wrong, or else at the last."""
    oracle, soft = found.oracle, found.soft
    if not isinstance(oracle, tuple) or not isinstance(soft, tuple):
        return replace(found, oracle=_last(oracle), soft=_last(soft))
    pairs = list(zip(oracle, soft, strict=False))
    place = next((at for at, (one, other) in enumerate(pairs) if one is not None and one != other), len(pairs) - 1)
    return replace(found, oracle=oracle[place : place + 1], soft=soft[place : place + 1])


def _last(answers: Any) -> Any:
    return answers[-1:] if isinstance(answers, tuple) else answers
