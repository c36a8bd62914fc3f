"""What `bound` prints: one block per input, or one row each, and its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardsim.checking.bound_result import BoundHead, BoundLength, BoundResult
from hardsim.report.attention import print_facts, print_violation
from hardsim.report.attention_json import growth_json, tie_json, violation_json
from hardsim.report.check import PARTIAL, style
from hardsim.report.numbers import NOTHING, count, decimal, digits, plural, rational, short, word_text
from hardsim.report.screen import Column, Screen

Json = dict[str, Any]

LENGTH_COLUMNS = (
    Column("n"),
    Column("words tried"),
    Column("least\nscore gap"),
    Column("declared\ngap"),
    Column("largest\nactivation"),
    Column("temperature\nused"),
    Column("largest\nerror"),
    Column("error\nbound"),
    Column("wanted\nerror"),
    Column("Theorem 26's\ntemperature"),
    Column("right\nup to"),
    Column("wrong\nat"),
    Column("bits"),
    Column("Lemma 27\nwidth"),
    Column("wrong on", "left"),
)
HEAD_COLUMNS = (
    Column("head", "left"),
    Column("layer"),
    Column("kind", "left"),
    Column("n"),
    Column("least\nscore gap"),
    Column("declared\ngap"),
    Column("logit\nrange"),
    Column("largest\nerror"),
    Column("error\nbound"),
)
GAP_COLUMNS = (
    Column("input", "left"),
    Column("regime", "left"),
    Column("holds", "left"),
    Column("words tried"),
    Column("to n"),
    Column("least\nscore gap"),
    Column("declared\ngap"),
    Column("tightest head", "left"),
    Column("kind", "left"),
    Column("gap ~ n^"),
)
SUMMARY_COLUMNS = (
    Column("input", "left"),
    Column("regime", "left"),
    Column("verdict", "left"),
    Column("n"),
    Column("least\nscore gap"),
    Column("largest\nerror"),
    Column("error\nbound"),
    Column("Theorem 26's\ntemperature"),
    Column("right\nup to"),
    Column("wrong\nat"),
)


def print_bound(screen: Screen, result: BoundResult, alphabet: Sequence[str], tables: bool) -> None:
    """The block of one result."""
    screen.line((result.name, "bold"))
    screen.line(f"  model    {result.summary}")
    if result.regime is not None:
        screen.line(f"  regime   {result.regime}: temperatures below are multiples of {result.schedule}")
    if tables and result.lengths:
        screen.raw()
        screen.table(LENGTH_COLUMNS, [length_row(length, alphabet) for length in result.lengths])
        if result.lengths[-1].heads:
            screen.raw()
            screen.table(HEAD_COLUMNS, [head_row(result.lengths[-1].n, head) for head in result.lengths[-1].heads])
        screen.raw()
        rests_on = next((length.assumption for length in reversed(result.lengths) if length.assumption), "")
        print_facts(screen, result.ties, result.growth, rests_on, alphabet)
        screen.line(f"  theorem  {result.asymptotics}")
        screen.line(f"  grid     {result.grid}, each tried until one is wrong")
    if result.partial:
        screen.line(PARTIAL)
    screen.line((result.verdict.value, style(result.verdict, result.agreed)), f": {result.reach}")
    if result.violation is not None:
        print_violation(screen, result.violation, alphabet)
    elif result.refuted is not None:
        screen.line("The word, on a line of its own:")
        screen.raw(word_text(result.refuted, alphabet))
        screen.line("  Next: raise --beta or lower --tau, or leave both out.")
    screen.raw()


def length_row(length: BoundLength, alphabet: Sequence[str]) -> list[str]:
    """One row of the table of lengths."""
    tried = f"all {count(length.words)}" if length.exhaustive else f"{count(length.words)} of {count(length.possible)}"
    sharp = length.gap is not None
    return [
        str(length.n),
        tried,
        short(length.gap),
        short(length.declared),
        short(length.size),
        short(length.used),
        short(length.error),
        short(length.bound),
        short(length.epsilon),
        short(length.theorem) if sharp else "any",
        short(length.right) if sharp else "any",
        short(length.wrong),
        NOTHING if length.bits is None else str(length.bits),
        str(length.rounding_width),
        NOTHING if length.word is None else word_text(length.word, alphabet),
    ]


def head_row(n: int, head: BoundHead) -> list[str]:
    """One head at the largest length."""
    return [
        head.name,
        str(head.layer),
        head.kind,
        str(n),
        short(head.gap),
        short(head.declared),
        short(head.reach),
        short(head.error),
        short(head.bound),
    ]


def print_gaps(screen: Screen, results: Sequence[BoundResult]) -> None:
    """The short report: one row per input."""
    screen.table(GAP_COLUMNS, [gap_row(result) for result in results])
    screen.raw()
    failed = sum(result.violation is not None for result in results)
    held = "every declared gap holds" if not failed else f"{failed} with a declared gap that does not hold"
    screen.line(f"{plural(len(results), 'result')}: {held} on the words tried")


def gap_row(result: BoundResult) -> list[str]:
    """The tightest head over all lengths."""
    found = [(head.gap, length.n, head) for length in result.lengths for head in length.heads if head.gap is not None]
    gap, _, head = min(found, key=lambda item: item[:2]) if found else (None, 0, None)
    kinds = {head.kind for length in result.lengths for head in length.heads}
    kind = "ties" if "ties" in kinds else "tieless" if "tieless" in kinds else "uniform" if kinds else "no attention"
    exponent = next((f"{one.exponent:.2f}" for one in result.growth if one.what == "gap"), NOTHING)
    return [
        result.name,
        result.regime or NOTHING,
        "yes" if result.violation is None else "NO",
        count(sum(length.words for length in result.lengths)),
        str(result.lengths[-1].n if result.lengths else 0),
        short(gap),
        short(head.declared) if head is not None else NOTHING,
        head.name if head is not None else NOTHING,
        kind,
        exponent,
    ]


def print_summary(screen: Screen, results: Sequence[BoundResult]) -> None:
    """One row per result, at its largest length."""
    screen.table(SUMMARY_COLUMNS, [summary_row(result) for result in results if result.lengths])


def summary_row(result: BoundResult) -> list[str]:
    """The largest length of one result."""
    last = result.lengths[-1]
    return [
        result.name,
        result.regime or NOTHING,
        result.verdict.value + (" (partial)" if result.partial else ""),
        str(last.n),
        short(last.gap),
        short(last.error),
        short(last.bound),
        short(last.theorem) if last.gap is not None else "any",
        short(last.right) if last.gap is not None else "any",
        short(last.wrong),
    ]


def bound_json(result: BoundResult) -> Json:
    """A whole result of `bound`."""
    return {
        "input": result.name,
        "kind": result.kind,
        "regime": result.regime,
        "schedule": result.schedule,
        "grid": result.grid,
        "summary": result.summary,
        "asymptotics": result.asymptotics,
        "verdict": result.verdict.value,
        "reach": result.reach,
        "partial": result.partial,
        "refuted": None if result.refuted is None else list(result.refuted),
        "violation": None if result.violation is None else violation_json(result.violation),
        "ties": [tie_json(tie) for tie in result.ties],
        "growth": [growth_json(one) for one in result.growth],
        "lengths": [length_json(length) for length in result.lengths],
    }


def length_json(length: BoundLength) -> Json:
    """One length."""
    return {
        "n": length.n,
        "positions": length.positions,
        "words": length.words,
        "possible": digits(length.possible),
        "exhaustive": length.exhaustive,
        "score_gap": rational(length.gap),
        "declared_gap": rational(length.declared),
        "size": rational(length.size),
        "epsilon": rational(length.epsilon),
        "temperature": rational(length.used),
        "theorem": rational(length.theorem),
        "right": rational(length.right),
        "wrong": rational(length.wrong),
        "word": None if length.word is None else list(length.word),
        "error": decimal(length.error),
        "bound": decimal(length.bound),
        "bits": length.bits,
        "rounding_width": length.rounding_width,
        "assumption": length.assumption,
        "heads": [
            {
                "name": head.name,
                "layer": head.layer,
                "kind": head.kind,
                "score_gap": rational(head.gap),
                "declared_gap": rational(head.declared),
                "logit_range": decimal(head.reach),
                "error": decimal(head.error),
                "bound": decimal(head.bound),
            }
            for head in length.heads
        ],
    }
