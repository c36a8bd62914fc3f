"""What `prove` prints of hard-attention models and programs, and its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardsim.checking.prove_attention import AttentionProof, LengthProof
from hardsim.report.attention import mismatch_text
from hardsim.report.attention_json import mismatch_json
from hardsim.report.check import STYLES
from hardsim.report.numbers import NOTHING, decimal, rational, short, word_text
from hardsim.report.prove import confirmation_json, print_confirmation
from hardsim.report.screen import Column, Screen

COLUMNS = (
    Column("n"),
    Column("proved by", "left"),
    Column("temperature"),
    Column("error bound\nat the output"),
    Column("distance from\nthe threshold"),
    Column("if not, why", "left", fold=True),
)


def print_attention_proof(screen: Screen, result: AttentionProof, alphabet: Sequence[str], tables: bool) -> None:
    """The block of one result; `tables` adds one row per length."""
    screen.line((result.name, "bold"))
    if result.title:
        screen.line(f"  title    {result.title}")
    if tables and result.lengths:
        screen.raw()
        screen.table(COLUMNS, [row(length) for length in result.lengths])
        screen.raw()
    screen.line((result.verdict.value, STYLES[result.verdict]), f": {result.reach}")
    print_confirmation(screen, result.confirmed, result.min_n)
    if result.mismatch is not None:
        screen.line("The word, on a line of its own:")
        screen.raw(word_text(result.mismatch.word, alphabet))
        screen.line(f"  {mismatch_text(result.mismatch, alphabet)}")
    screen.raw()


def row(length: LengthProof) -> list[str]:
    """One length."""
    return [
        str(length.n),
        length.how or "not proved",
        short(length.tau),
        short(length.bound),
        short(length.distance),
        length.reason or NOTHING,
    ]


def attention_proof_json(result: AttentionProof) -> dict[str, Any]:
    """A whole result of `prove` on a hard-attention model or a program."""
    return {
        "input": result.name,
        "kind": result.kind,
        "title": result.title,
        "min_n": result.min_n,
        "max_n": result.max_n,
        "proved_to": result.proved_to,
        "verdict": result.verdict.value,
        "reach": result.reach,
        "tried": result.tried,
        "mismatch": None if result.mismatch is None else mismatch_json(result.mismatch),
        "confirmed": confirmation_json(result.confirmed),
        "lengths": [
            {
                "n": length.n,
                "proved_by": length.how or None,
                "temperature": rational(length.tau),
                "bound": decimal(length.bound),
                "distance": rational(length.distance),
                "reason": length.reason or None,
            }
            for length in result.lengths
        ],
    }
