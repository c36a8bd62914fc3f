"""What `hardsim check` prints: one block per input and regime, then a summary if there is more than one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from hardsim.checking.attention_result import AttentionResult
from hardsim.checking.result import AUTO, FLOAT64, CheckResult, HeadResult, LengthResult, Mismatch, ModelFacts, Verdict
from hardsim.report.numbers import NOTHING, count, output_text, plural, short, word_text, yes
from hardsim.report.screen import Column, Screen

STYLES = {
    Verdict.PROVED: "bold green",
    Verdict.CERTIFIED: "bold green",
    Verdict.OBSERVED: "bold green",
    Verdict.REFUTED: "bold red",
    Verdict.UNDECIDED: "bold yellow",
}

AGREE = {True: "yes", False: "NO", None: NOTHING}
"""Whether answers are the same; none where one is missing."""
NOT_DECIDED = "not decided"
NEXT_CERTIFY = "Next: mpmath encloses nothing, so this may be its rounding; --engine ball certifies it or dismisses it."
PARTIAL = "PARTIAL: interrupted; what follows stands for what was done until then"

LENGTH_COLUMNS = (
    Column("n"),
    Column("words tried"),
    Column("accepted"),
    Column("soft/hard\nmismatches"),
    Column("hard/oracle\nmismatches"),
    Column("acceptance\ngap"),
    Column("least\nmargin"),
    Column("least\nscore gap"),
    Column("largest\nerror"),
    Column("error\nbound"),
    Column("digits"),
)
HEAD_COLUMNS = (
    Column("head", "left"),
    Column("layer"),
    Column("largest\nerror"),
    Column("at n"),
    Column("error\nbound"),
    Column("least\nscore gap"),
    Column("at n"),
    Column("declared\ngap"),
    Column("what it does", "left", fold=True),
)
SUM_COLUMNS = (Column("error of\nthe sum"), Column("\nallowed"))
"""Where sums of looked-up counts are compared."""
LEMMA_7 = Column("\nLemma 7")
"""The paper's bound for look-ups of counts; the column before it has half of it."""
SUMMARY_COLUMNS = (
    Column("input", "left"),
    Column("regime", "left"),
    Column("verdict", "left"),
    Column("words tried"),
    Column("mismatches"),
    Column("acceptance\ngap"),
    Column("least\nmargin"),
    Column("least\nscore gap"),
    Column("largest\nerror"),
    Column("error\nbound"),
    Column("digits"),
)


def print_check(screen: Screen, result: CheckResult, alphabet: Sequence[str], tables: bool) -> None:
    """The block of one result; `tables` adds one row per length and one per head."""
    screen.line((result.name, "bold"))
    screen.line(f"  formula  {result.formula}")
    screen.line(f"  model    {model_line(result.model)}")
    if tables and result.lengths:
        screen.raw()
        counted = any(length.sum_error is not None for length in result.lengths)
        screen.table(
            (*LENGTH_COLUMNS, *(SUM_COLUMNS if counted else ())),
            [length_row(length, counted) for length in result.lengths],
        )
        if result.lengths[-1].heads:
            screen.raw()
            looked_up = any(head.paper_bound is not None for head in result.lengths[-1].heads)
            lemma = (LEMMA_7,) if looked_up else ()
            screen.table((*HEAD_COLUMNS[:5], *lemma, *HEAD_COLUMNS[5:]), head_rows(result.lengths, looked_up))
        screen.raw()
    print_verdict(screen, result, alphabet)
    screen.raw()


def style(verdict: Verdict, agreed: bool) -> str:
    """How a verdict is set off: a mismatch that was only observed is no agreement."""
    return STYLES[Verdict.UNDECIDED] if verdict is Verdict.OBSERVED and not agreed else STYLES[verdict]


def model_line(facts: ModelFacts) -> str:
    """The network in numbers, on one line."""
    parts = [
        f"regime {facts.regime}",
        f"temperature {facts.temperature}",
        f"beta {facts.beta}",
        *([f"counting by {facts.counting}"] if facts.counting else []),
        f"read at the {facts.at} position",
        plural(facts.layers, "layer") + (", one head each" if facts.single_head else ""),
        plural(facts.heads, "head"),
        f"dimension {facts.dimension}",
        plural(facts.parameters, "parameter"),
    ]
    return ", ".join(parts)


def length_row(length: LengthResult, counted: bool = False) -> list[str]:
    """One row of the table of lengths; `all` marks the lengths of which every word was tried.

    `counted` adds the error of the sums of looked-up counts and what rounding allows.
    """
    tried = f"all {count(length.words)}" if length.exhaustive else f"{count(length.words)} of {count(length.possible)}"
    return [
        str(length.n),
        tried,
        count(length.accepted),
        count(length.soft_mismatches),
        count(length.hard_mismatches),
        short(length.acceptance_gap),
        short(length.margin),
        short(length.score_gap),
        short(length.error),
        short(length.bound),
        str(length.digits),
        *([short(length.sum_error), "1/4"] if counted else []),
    ]


def head_rows(lengths: Sequence[LengthResult], looked_up: bool = False) -> list[list[str]]:
    """One row per head: its largest error and its least score gap over the lengths, each with its bound there.

    `looked_up` adds Lemma 7 as the paper states it, beside the halved bound.
    """
    rows: list[list[str]] = []
    for position, head in enumerate(lengths[-1].heads):
        found = [(length.n, length.heads[position]) for length in lengths]
        error_n, worst = max(found, key=lambda pair: pair[1].error)
        gaps = [(pair[1].gap, pair[0], pair[1]) for pair in found if pair[1].gap is not None]
        gap, gap_n, tightest = min(gaps, key=lambda item: item[:2]) if gaps else (None, NOTHING, None)
        rows.append(
            [
                head.name,
                str(head.layer),
                short(worst.error),
                str(error_n),
                short(worst.bound),
                *([short(worst.paper_bound)] if looked_up else []),
                short(gap),
                str(gap_n),
                short(tightest.declared_gap if tightest else None),
                purpose(head),
            ]
        )
    return rows


def purpose(head: HeadResult) -> str:
    """What a head computes, with its source."""
    return f"{head.purpose} [{head.theorem}]" if head.theorem else head.purpose


def print_verdict(screen: Screen, result: CheckResult, alphabet: Sequence[str]) -> None:
    """The verdict with its reach; for a mismatch the word on a line of its own, the answers, and the next step."""
    if result.partial:
        screen.line(PARTIAL)
    screen.line((result.verdict.value, style(result.verdict, result.agreed)), f": {result.reach}")
    if result.stuck is not None:
        screen.line("The first of these words, on a line of its own:")
        screen.raw(word_text(result.stuck, alphabet))
        screen.line(f"  {next_arithmetic(result.engine)}")
    if result.mismatch is None:
        return
    screen.line("The shortest mismatching word, on a line of its own:")
    screen.raw(word_text(result.mismatch.word, alphabet))
    screen.line(f"  {answers(result.mismatch)}")
    screen.line(f"  {next_step(result)}")


def answers(mismatch: Mismatch) -> str:
    """What the three say of a mismatching word."""
    exactness = ", neither 0 nor 1" if mismatch.soft is None else ""
    soft = f"{yes(mismatch.soft)} (output {output_text(mismatch.value)}{exactness})"
    return (
        f"oracle: {yes(mismatch.oracle)}; hard attention: {yes(mismatch.hard)}; "
        f"softmax: {soft if mismatch.decided else NOT_DECIDED}"
    )


def next_arithmetic(engine: str) -> str:
    """What a user can do about a word on which no answer was reached."""
    if engine == FLOAT64:
        return f"Next: float64 cannot tell on which side of a threshold a value lies; --engine {AUTO} goes on in balls."
    return (
        "Next: a value lies on a threshold, or closer to it than the limit of ball arithmetic can tell; a slightly "
        "different --beta or --tau moves it."
    )


def next_step(result: CheckResult) -> str:
    """What a user can do about a mismatch."""
    mismatch = result.mismatch
    if mismatch is not None and not mismatch.refutes(result.engine):
        return NEXT_CERTIFY
    if mismatch is None or mismatch.hard is not mismatch.oracle:
        return "Next: hard attention itself disagrees with the formula: that is a defect of hardsim, please report it."
    if result.model.regime == "none":
        return (
            "Next: plain softmax with bounded position encodings must fail (Hahn's limit); the regimes that are proven "
            "right: hardsim check --regime all"
        )
    return (
        "Next: attention is not sharp enough at this beta and temperature; raise --beta or lower --tau, or leave both "
        "out: the defaults are proven sharp enough (with them, this is a defect of hardsim, please report it)."
    )


def print_summary(screen: Screen, results: Sequence[CheckResult | AttentionResult]) -> None:
    """One row per result, and how many there are of each verdict."""
    rows = [summary_row(result) if isinstance(result, CheckResult) else attention_row(result) for result in results]
    screen.table(SUMMARY_COLUMNS, rows)
    screen.raw()
    tally = {verdict: sum(result.verdict is verdict for result in results) for verdict in Verdict}
    parts = [f"{number} {verdict.value}" for verdict, number in tally.items() if number]
    screen.line(f"{plural(len(results), 'result')}: {', '.join(parts)}")


def summary_row(result: CheckResult) -> list[str]:
    """The extremes over all lengths of one result; the bound is that of the length with the largest error."""
    mismatches = sum(length.soft_mismatches + length.hard_mismatches for length in result.lengths)
    worst = max(result.lengths, key=lambda length: length.error, default=None)
    return [
        result.name,
        result.model.regime,
        result.verdict.value + (" (partial)" if result.partial else ""),
        count(result.words),
        count(mismatches),
        short(least(result.lengths, lambda length: length.acceptance_gap)),
        short(least(result.lengths, lambda length: length.margin)),
        short(least(result.lengths, lambda length: length.score_gap)),
        short(worst.error if worst else None),
        short(worst.bound if worst else None),
        str(max((length.digits for length in result.lengths), default=NOTHING)),
    ]


def attention_row(result: AttentionResult) -> list[str]:
    """The same for a hard-attention model or program: its outputs are not rounded, so it has no margins."""
    mismatches = sum(length.soft_mismatches + length.hard_mismatches for length in result.lengths)
    worst = max(result.lengths, key=lambda length: length.error, default=None)
    gaps = [length.gap for length in result.lengths if length.gap is not None]
    bits = max((length.bits for length in result.lengths), default=0)
    return [
        result.name,
        "Theorem 26",
        result.verdict.value + (" (partial)" if result.partial else ""),
        count(result.words),
        count(mismatches),
        NOTHING,
        NOTHING,
        short(min(gaps, default=None)),
        short(worst.error if worst else None),
        short(worst.bound if worst else None),
        str(bits * 301 // 1000) if bits else NOTHING,
    ]


def least(lengths: Sequence[LengthResult], of: Callable[[LengthResult], Fraction | None]) -> Fraction | None:
    """The least of a number over the lengths that have it."""
    return min((value for length in lengths if (value := of(length)) is not None), default=None)
