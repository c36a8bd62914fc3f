"""What `check` and `eval` print of hard-attention models and programs, and their JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardsim.checking.attention import Answer
from hardsim.checking.attention_result import (
    AttentionLength,
    AttentionMismatch,
    AttentionResult,
    Growth,
    Tie,
    Violation,
)
from hardsim.checking.evaluate import AttentionEvaluation
from hardsim.report.check import AGREE, NEXT_CERTIFY, NOT_DECIDED, PARTIAL, next_arithmetic, style
from hardsim.report.numbers import NOTHING, count, short, word_text, yes
from hardsim.report.screen import Column, Screen

Json = dict[str, Any]

LENGTH_COLUMNS = (
    Column("n"),
    Column("words tried"),
    Column("accepted"),
    Column("soft/hard\nmismatches"),
    Column("hard/oracle\nmismatches"),
    Column("least\nscore gap"),
    Column("largest\nactivation"),
    Column("temperature"),
    Column("wanted\nerror"),
    Column("largest\nerror"),
    Column("error\nbound"),
    Column("bits"),
)
LAYER_COLUMNS = (
    Column("layer"),
    Column("attention", "left"),
    Column("at n"),
    Column("error after\nattention"),
    Column("\nbound"),
    Column("error after\nthe layer"),
    Column("\nbound"),
)
HEAD_COLUMNS = (
    Column("head", "left"),
    Column("layer"),
    Column("kind", "left"),
    Column("least\nscore gap"),
    Column("at n"),
    Column("declared\ngap"),
    Column("most\nmaxima"),
    Column("largest\nerror"),
    Column("at n"),
    Column("error\nbound"),
)
EVALUATION_COLUMNS = (
    Column("agree", "left"),
    Column("oracle", "left"),
    Column("hard", "left"),
    Column("soft", "left"),
    Column("error"),
    Column("bound"),
    Column("bits"),
    Column("word", "left"),
)


def answer_text(answer: Answer, alphabet: Sequence[str]) -> str:
    """An answer for a table: accept or reject, or the output word, with `?` for what is undecided."""
    if isinstance(answer, tuple):
        return word_text(["?" if symbol is None else symbol for symbol in answer], alphabet) or "(empty)"
    return yes(answer)


def print_attention(screen: Screen, result: AttentionResult, alphabet: Sequence[str], tables: bool) -> None:
    """The block of one result; `tables` adds rows for lengths, layers and heads."""
    screen.line((result.name, "bold"))
    if result.title:
        screen.line(f"  title    {result.title}")
    screen.line(f"  model    {result.summary}")
    if tables and result.lengths:
        screen.raw()
        screen.table(LENGTH_COLUMNS, [length_row(length, result.kind) for length in result.lengths])
        last = result.lengths[-1]
        if last.layers:
            screen.raw()
            screen.table(LAYER_COLUMNS, [layer_row(result.lengths, index) for index in range(len(last.layers))])
        if last.heads:
            screen.raw()
            screen.table(HEAD_COLUMNS, [head_row(result.lengths, index) for index in range(len(last.heads))])
        screen.raw()
        print_facts(screen, result.ties, result.growth, assumptions(result.lengths), alphabet)
    print_verdict(screen, result, alphabet)
    screen.raw()


def print_facts(
    screen: Screen, ties: Sequence[Tie], growth: Sequence[Growth], rests_on: str, alphabet: Sequence[str]
) -> None:
    """Ties, fitted growth, and what the bounds rest on."""
    for tie in ties:
        screen.line(
            f"  head {tie.head} is tieless up to length {tie.n - 1}: at length {tie.n}, position {tie.position} has "
            f"{tie.count} positions with the largest score, in the word"
            if tie.n > 1
            else f"  head {tie.head} has ties: at length 1, position {tie.position} has {tie.count} positions with the "
            "largest score, in the word"
        )
        screen.raw(word_text(tie.word, alphabet))
    if growth:
        fits = ", ".join(f"{one.what} ~ n^{one.exponent:.2f}" for one in growth)
        screen.line(f"  growth   {fits} (fitted to lengths {growth[0].lengths[0]} to {growth[0].lengths[1]})")
    if rests_on:
        screen.line(f"  bounds   Theorem 26, with {rests_on}")
    else:
        screen.line("  bounds   Theorem 26, with gap and sizes of all words of each length: no assumption")


def assumptions(lengths: Sequence[AttentionLength]) -> str:
    """What the bounds of the lengths rest on, if on anything."""
    found = [length for length in lengths if length.assumption]
    if not found:
        return ""
    span = f"length {found[0].n}" if len(found) == 1 else f"lengths {found[0].n} to {found[-1].n}"
    return f"{found[0].assumption.split(' measured')[0]} measured on samples at {span} (an assumption)"


def length_row(length: AttentionLength, kind: str) -> list[str]:
    """One row of the table of lengths."""
    tried = f"all {count(length.words)}" if length.exhaustive else f"{count(length.words)} of {count(length.possible)}"
    low, high = length.tau
    return [
        str(length.n),
        tried,
        count(length.accepted),
        count(length.soft_mismatches),
        NOTHING if kind == "ahat" else count(length.hard_mismatches),
        short(length.gap),
        short(length.size),
        short(high) if low == high else f"{short(low)} to {short(high)}",
        short(length.epsilon),
        short(length.error),
        short(length.bound),
        str(length.bits),
    ]


def layer_row(lengths: Sequence[AttentionLength], index: int) -> list[str]:
    """A layer at the length where its error is largest."""
    n, row = max(((length.n, length.layers[index]) for length in lengths), key=lambda item: item[1].error)
    return [
        str(row.number),
        lengths[-1].layers[index].kind,
        str(n),
        short(row.attended_error),
        short(row.attended_bound),
        short(row.error),
        short(row.bound),
    ]


def head_row(lengths: Sequence[AttentionLength], index: int) -> list[str]:
    """A head over all lengths: its least gap and its largest error, each with its bound there."""
    found = [(length.n, length.heads[index]) for length in lengths]
    gaps = [(row.gap, n, row) for n, row in found if row.gap is not None]
    gap, gap_n, tightest = min(gaps, key=lambda item: item[:2]) if gaps else (None, NOTHING, None)
    error_n, worst = max(found, key=lambda item: item[1].error)
    last = found[-1][1]
    kinds = {row.kind for _, row in found}
    return [
        last.name,
        str(last.layer),
        "ties" if "ties" in kinds else last.kind,
        short(gap),
        str(gap_n),
        short(tightest.declared if tightest else None),
        str(max(row.most for _, row in found)) if last.kind != "uniform" else NOTHING,
        short(worst.error),
        str(error_n),
        short(worst.bound),
    ]


def print_verdict(screen: Screen, result: AttentionResult, alphabet: Sequence[str]) -> None:
    """The verdict with its reach; a mismatching word on a line of its own; the next step."""
    if result.partial:
        screen.line(PARTIAL)
    screen.line((result.verdict.value, style(result.verdict, result.agreed)), f": {result.reach}")
    if result.stuck is not None:
        screen.line("The first of these words, on a line of its own:")
        screen.raw(word_text(result.stuck, alphabet))
        screen.line(f"  {next_arithmetic(result.engine)}")
    if result.mismatch is not None:
        screen.line("The word, on a line of its own:")
        screen.raw(word_text(result.mismatch.word, alphabet))
        screen.line(f"  {mismatch_text(result.mismatch, alphabet)}")
        if result.violation is None:
            screen.line(f"  {next_step(result.mismatch, result.engine, tied=bool(result.ties))}")
    if result.violation is not None:
        # Also beside a mismatch: a gap that is too large makes softmax too soft.
        screen.line(f"{result.violation.what} does not hold at length {result.violation.n}")
        print_violation(screen, result.violation, alphabet)


def print_violation(screen: Screen, violation: Violation, alphabet: Sequence[str]) -> None:
    """A claim that a number refutes."""
    screen.line(f"  claimed {short(violation.claimed)}, measured {short(violation.measured)}")
    if violation.word is not None:
        screen.line("The word, on a line of its own:")
        screen.raw(word_text(violation.word, alphabet))
    if "declared" in violation.what:
        screen.line("  Next: correct the gap that the model declares, or leave it out: it is measured then.")
    else:
        screen.line("  Next: if all words of the length were tried this is a defect of hardsim, please report it.")


def mismatch_text(mismatch: AttentionMismatch, alphabet: Sequence[str]) -> str:
    """What each says of the word."""
    oracle = "" if mismatch.oracle is None else f"oracle: {answer_text(mismatch.oracle, alphabet)}; "
    return (
        f"{oracle}hard attention: {answer_text(mismatch.hard, alphabet)}; softmax: "
        f"{answer_text(mismatch.soft, alphabet) if mismatch.decided else NOT_DECIDED}"
    )


def next_step(mismatch: AttentionMismatch, engine: str, tied: bool = False) -> str:
    """What a user can do about it; `tied` where some head has several largest scores."""
    if mismatch.refutes and not mismatch.certain(engine):
        return NEXT_CERTIFY
    if mismatch.oracle is not None and mismatch.oracle != mismatch.hard:
        return "Next: hard attention disagrees with the program: that is a defect of hardsim, please report it."
    if not mismatch.refutes:
        return "Next: move the threshold of the model away from its outputs."
    if tied:
        return (
            "Next: softmax is not sharp enough, or shares its weight among ties, as no leftmost or rightmost head "
            "does: lower --tau, or give the hard model alone."
        )
    return "Next: softmax is not sharp enough: lower --tau, or leave it out: Theorem 26's temperature is."


# ---- eval ----


def print_oracle_words(
    screen: Screen, answers: Sequence[tuple[Sequence[str], Answer]], alphabet: Sequence[str]
) -> None:
    """What the semantics of a program says, where it has no model."""
    rows = [[answer_text(answer, alphabet), word_text(word, alphabet)] for word, answer in answers]
    screen.table((Column("oracle", "left"), Column("word", "left")), rows)


def print_attention_words(screen: Screen, found: Sequence[AttentionEvaluation], alphabet: Sequence[str]) -> None:
    """One row per word, the word last."""
    rows = [
        [
            AGREE[one.agree],
            NOTHING if one.oracle is None else answer_text(one.oracle, alphabet),
            answer_text(one.hard, alphabet),
            answer_text(one.soft, alphabet) if one.decided else NOT_DECIDED,
            short(one.error) if one.decided else NOTHING,
            short(one.bound),
            str(one.bits),
            word_text(one.word, alphabet),
        ]
        for one in found
    ]
    screen.table(EVALUATION_COLUMNS, rows)
