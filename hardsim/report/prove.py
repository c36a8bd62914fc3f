"""What `hardsim prove` prints: one block per input and regime, then a summary if there is more than one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hardsim.checking.confirm import Confirmation
from hardsim.checking.prove import ProveResult
from hardsim.checking.result import span_text
from hardsim.proof.result import Case, HeadProof, LinkProof
from hardsim.report.argument import general_json, print_argument
from hardsim.report.check import STYLES, answers, model_line
from hardsim.report.json import Json, mismatch_json, model_json
from hardsim.report.numbers import NOTHING, decimal, rational, short, word_text
from hardsim.report.screen import Column, Screen

HEAD_COLUMNS = (
    Column("head", "left"),
    Column("layer"),
    Column("largest\nerror"),
    Column("least\nmargin"),
    Column("at n"),
    Column("at i"),
    Column("should\nread"),
    Column("local types in the worst case", "left", fold=True),
)
SUMMARY_COLUMNS = (
    Column("input", "left"),
    Column("regime", "left"),
    Column("verdict", "left"),
    Column("lengths"),
    Column("least\nmargin"),
)
SHOWN_RUNS = 4
"""Runs of equal types around the winner that a table shows; the JSON document has them all."""
CLAIMS = {True: "proved", False: "not proved"}


def print_proof(screen: Screen, result: ProveResult, alphabet: Sequence[str], tables: bool) -> None:
    """The block of one result; `tables` adds one row per head."""
    screen.line((result.name, "bold"))
    screen.line(f"  formula  {result.formula}")
    screen.line(f"  model    {model_line(result.model)}")
    heads = [head for head in result.proof.heads if not head.exact]
    if tables and heads:
        screen.raw()
        screen.table(HEAD_COLUMNS, [head_row(head) for head in heads])
    if result.general is not None:
        print_argument(screen, result.general, tables)
    screen.raw()
    print_link(screen, 1, result.proof.network)
    if result.proof.meaning is not None:
        print_link(screen, 2, result.proof.meaning)
    if result.proof.network.cases:
        screen.line(f"    the shortest such case: {case_text(result.proof.network.cases[0])}")
    screen.line((result.verdict.value, STYLES[result.verdict]), f": {result.reach}")
    print_confirmation(screen, result.confirmed, result.min_n)
    if result.mismatch is not None:
        screen.line("The shortest refuting word found, on a line of its own:")
        screen.raw(word_text(result.mismatch.word, alphabet))
        screen.line(f"  {answers(result.mismatch)}")
    screen.raw()


def print_confirmation(screen: Screen, found: Confirmation | None, min_n: int) -> None:
    """The words that were run after a proof."""
    if found is None:
        return
    text = f"{found.words:,} words were run besides"
    if not found.words:
        text = "no word was run besides" + ("" if found.partial else ": words of this length take too long")
    if found.words and found.whole:
        text += f", every one of {span_text(min_n, found.whole)}"
    if found.longest > found.whole:
        text += f"{' and some' if found.whole else ', some'} of up to {found.longest:,} symbols"
    if found.words > found.undecided:
        text += ": each is answered as proved"
    if found.undecided:
        text += f"; on {found.undecided:,} of them no answer was reached, which decides nothing"
    if found.partial:
        text += " (interrupted: more were to be run)"
    screen.line(f"  {text}")


def print_link(screen: Screen, number: int, link: LinkProof) -> None:
    """One link of the proof."""
    reason = "" if link.reason is None else f": {link.reason}"
    screen.line(f"  link {number}: {link.claim} -- {CLAIMS[link.holds]}{reason}")


def head_row(head: HeadProof) -> list[str]:
    """A head with its worst case over all words."""
    case = head.case
    if case is None:
        return [head.name, str(head.layer), *([NOTHING] * 5), "no clip reads it"]
    return [
        head.name,
        str(head.layer),
        short(case.error),
        short(case.margin),
        str(case.n),
        str(case.i),
        "count" if case.value is None else short(case.value),
        types_text(case),
    ]


def case_text(case: Case) -> str:
    """A failing worst case on one line."""
    wanted = "a count" if case.value is None else short(case.value)
    types = types_text(case)
    return (
        f"length {case.n}, query {case.i}, should read {wanted}, off by up to {short(case.error)}, margin "
        f"{short(case.margin)}" + (f"; {types}" if case.types else "")
    )


def types_text(case: Case) -> str:
    """The local types that attain a worst case."""
    if not case.types:
        return "any" if case.value is None else NOTHING
    parts = [f"{first}{'' if first == last else f'-{last}'}: {text}" for first, last, text in case.types]
    if len(parts) > SHOWN_RUNS:
        place = next((k for k, (first, _, _) in enumerate(case.types) if first == case.winner), 0)
        start = max(0, min(place - 2, len(parts) - SHOWN_RUNS))
        ends = ["..."] if start + SHOWN_RUNS < len(parts) else []
        parts = [*(["..."] if start else []), *parts[start : start + SHOWN_RUNS], *ends]
    return "; ".join(parts)


def print_proofs(screen: Screen, results: Sequence[ProveResult]) -> None:
    """One row per result."""
    rows = [
        [
            result.name,
            result.model.regime,
            result.verdict.value,
            "every" if result.every_length else _lengths(result),
            short(result.proof.margin),
        ]
        for result in results
    ]
    screen.table(SUMMARY_COLUMNS, rows)


def _lengths(result: ProveResult) -> str:
    return f"{result.min_n}-{result.max_n}" if result.max_n > result.min_n or result.min_n == 1 else str(result.max_n)


# ---- JSON ----


def prove_json(result: ProveResult) -> Json:
    """A whole result of `prove`."""
    links = [result.proof.network, *([result.proof.meaning] if result.proof.meaning else [])]
    return {
        "input": result.name,
        "formula": result.formula,
        "model": model_json(result.model),
        "min_n": result.min_n,
        "max_n": result.max_n,
        "claim": "heads" if result.heads_only else "formula",
        "verdict": result.verdict.value,
        "reach": result.reach,
        "prefix": result.proof.prefix,
        "margin": decimal(result.proof.margin),
        "links": [
            {
                "claim": link.claim,
                "proved": link.holds,
                "reason": link.reason,
                "head": link.head,
                "cases": [case_json(case) for case in link.cases],
            }
            for link in links
        ],
        "heads": [
            {
                "name": head.name,
                "layer": head.layer,
                "purpose": head.purpose,
                "exact": head.exact,
                "worst": None if head.case is None else case_json(head.case),
            }
            for head in result.proof.heads
        ],
        "tried": result.tried,
        "confirmed": confirmation_json(result.confirmed),
        "mismatch": None if result.mismatch is None else mismatch_json(result.mismatch),
        "all_n": None if result.general is None else general_json(result.general),
    }


def confirmation_json(found: Confirmation | None) -> Json | None:
    """The words that were run after a proof."""
    if found is None:
        return None
    return {
        "words": found.words,
        "every_word_to": found.whole,
        "longest": found.longest,
        "undecided": found.undecided,
        "partial": found.partial,
    }


def case_json(case: Case) -> Json:
    """A worst case; `error` is rounded up and `margin` down, so that they stay bounds."""
    return {
        "n": case.n,
        "i": case.i,
        "value": rational(case.value),
        "error": decimal(upwards(case.error)),
        "margin": None if case.margin is None else decimal(-upwards(-case.margin)),
        "winner": case.winner,
        "types": [{"from": first, "to": last, "type": text} for first, last, text in case.types],
    }


def upwards(value: Fraction) -> Fraction:
    """At least the value, and no more digits than are printed."""
    return value + abs(value) / 10**18
