"""What `check` prints (a block per input and regime, and a summary where there are several), and `eval`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from hardsim.checking.bound import BoundResult
from hardsim.checking.result import (
    AUTO,
    FLOAT64,
    NOT_DECIDED,
    Answer,
    CheckResult,
    Evaluation,
    LengthResult,
    Mismatch,
    ModelFacts,
    Verdict,
    Violation,
    Word,
)
from hardsim.lang.words import written_word
from hardsim.report.numbers import NOTHING, answer_text, count, output_text, plural, short, tried_text
from hardsim.report.screen import Field, Screen, columns

STYLES = dict.fromkeys(Verdict, "bold green") | {Verdict.REFUTED: "bold red", Verdict.UNDECIDED: "bold yellow"}
AGREE = {True: "yes", False: "NO", None: NOTHING}
"""Whether answers are the same; none where one is missing."""
NEXT_CERTIFY = "Next: mpmath encloses nothing, so this may be its rounding; --engine ball certifies it or dismisses it."

LENGTH_COLUMNS = columns(
    "n", "words tried", "accepted", "soft/hard\nmismatches", "hard/oracle\nmismatches", "acceptance\ngap",
    "least\nmargin", "least\nscore gap", "largest\nactivation", "temperature", "wanted\nerror", "largest\nerror",
    "error\nbound", "digits", "error of\nthe sum", "\nallowed",
)  # fmt: skip
LAYER_COLUMNS = columns(
    "layer", "<attention", "at n", "error after\nattention", "\nbound", "error after\nthe layer", "\nbound",
)  # fmt: skip
HEAD_COLUMNS = columns(
    "<head", "layer", "<kind", "largest\nerror", "at n", "error\nbound", "\nLemma 7", "least\nscore gap", "at n",
    "declared\ngap", "most\nmaxima", Field("what it does", "left", fold=True),
)  # fmt: skip
"""Lemma 7 is the paper's bound for look-ups of counts; the column before it has half of it."""
SUMMARY_COLUMNS = columns(
    "<input", "<regime", "<verdict", "words tried", "mismatches", "acceptance\ngap", "least\nmargin",
    "least\nscore gap", "largest\nerror", "error\nbound", "digits",
)  # fmt: skip


def print_check(screen: Screen, result: CheckResult, alphabet: Sequence[str], tables: bool) -> None:
    """The block of one result; `tables` adds rows for lengths, layers and heads."""
    lengths = result.lengths
    screen.head(result.input, [*titles(result), ("model", model_line(result.model))])
    if tables and lengths:
        screen.block(LENGTH_COLUMNS, [length_row(length, result) for length in lengths])
        screen.block(LAYER_COLUMNS, [layer_row(lengths, index) for index in range(len(lengths[-1].layers))])
        screen.block(HEAD_COLUMNS, [head_row(lengths, index) for index in range(len(lengths[-1].heads))])
        screen.raw()
        rests_on = assumptions(lengths) if result.model.regime is None else None
        print_facts(screen, result, rests_on, alphabet)
    print_verdict(screen, result, alphabet)
    screen.raw()


def print_reach(screen: Screen, result: CheckResult | BoundResult) -> None:
    """A verdict and how far it reaches; a mismatch that was only observed is no agreement."""
    if result.partial:
        screen.line("PARTIAL: interrupted; what follows stands for what was done until then")
    found = result.verdict
    style = STYLES[Verdict.UNDECIDED if found is Verdict.OBSERVED and not result.agreed else found]
    screen.line((found.value, style), f": {result.reach}")


class Titled(Protocol):
    """What has a title."""

    @property
    def formula(self) -> str | None:
        """A formula's text."""

    @property
    def title(self) -> str | None:
        """What a file says of itself."""


def titles(result: Titled) -> list[tuple[str, str | None]]:
    """A formula's text, or what a file says of itself."""
    return [("formula", result.formula or None), ("title", result.title or None)]


def model_line(facts: ModelFacts) -> str:
    """The network in numbers, on one line, after what a regime decides of it."""
    parts = []
    if facts.regime is not None:
        parts += [f"regime {facts.regime}", f"temperature {facts.temperature}", f"beta {facts.beta}"]
        parts += [f"counting by {facts.counting}"] if facts.counting else []
        parts += [f"read at the {facts.at} position"]
    parts += [plural(facts.layers, "layer") + (", one head each" if facts.single_head else "")]
    parts += [plural(facts.heads, "head"), f"dimension {facts.dimension}", plural(facts.parameters, "parameter")]
    parts += ["with a beginning of sequence"] if facts.bos else []
    parts += [f"ties broken in {', '.join(facts.ties_broken)}"] if facts.ties_broken else []
    return ", ".join(parts)


# ---- tables ----


def length_row(length: LengthResult, result: CheckResult) -> list[str | None]:
    """One row of the table of lengths; with a regime the network rounds, so that a gap and a margin are expected."""
    return [
        str(length.n),
        tried_text(length.words, length.possible, length.exhaustive),
        NOTHING if length.accepted is None else count(length.accepted),
        count(length.soft_mismatches),
        NOTHING if result.kind == "ahat" else count(length.hard_mismatches),
        *map(known if result.model.regime is None else short, (length.acceptance_gap, length.margin)),
        *(short(length.score_gap), known(length.size), temperature_text(length), known(length.epsilon)),
        *(short(length.error), short(length.bound), str(length.digits)),
        *((None, None) if length.sum_error is None else (short(length.sum_error), "1/4")),
    ]


def known(value: Fraction | None) -> str | None:
    """A number for a table, None where there is none."""
    return None if value is None else short(value)


def temperature_text(length: LengthResult) -> str | None:
    """The temperature over the positions; None where a regime has it."""
    if length.temperature is None:
        return None
    low, high = length.temperature.least, length.temperature.largest
    return short(high) if low == high else f"{short(low)} to {short(high)}"


def layer_row(lengths: Sequence[LengthResult], index: int) -> list[str]:
    """A layer at the length where its error is largest."""
    n, row = max(((length.n, length.layers[index]) for length in lengths), key=lambda item: item[1].error)
    numbers = map(short, (row.attended_error, row.attended_bound, row.error, row.bound))
    return [str(row.layer), lengths[-1].layers[index].kind, str(n), *numbers]


def head_row(lengths: Sequence[LengthResult], index: int) -> list[str | None]:
    """A head over all lengths: its largest error and its least score gap, each with its bound there."""
    found = [(length.n, length.heads[index]) for length in lengths]
    error_n, worst = max(found, key=lambda item: item[1].error)
    gaps = [(head.score_gap, n, head) for n, head in found if head.score_gap is not None]
    gap, gap_n, tightest = min(gaps, key=lambda item: item[:2]) if gaps else (None, NOTHING, None)
    last = found[-1][1]
    most = max((head.most_maxima for _, head in found if head.most_maxima is not None), default=None)
    purpose = f"{last.purpose} [{last.theorem}]" if last.theorem else last.purpose
    return [
        *(last.name, str(last.layer), "ties" if any(head.kind == "ties" for _, head in found) else last.kind),
        *(short(worst.error), str(error_n), short(worst.bound), known(worst.paper_bound)),
        *(short(gap), str(gap_n), short(tightest.declared_gap if tightest else None)),
        None if most is None else NOTHING if last.kind == "uniform" else str(most),
        purpose or None,
    ]


def print_facts(
    screen: Screen, result: CheckResult | BoundResult, rests_on: str | None, alphabet: Sequence[str]
) -> None:
    """Ties (of the model as it was given: the tables are about the one with weights that break them), fitted growth,
    and what the bounds of Theorem 26 rest on besides it (None: it gives none)."""
    for tie in result.ties:
        given = "without the added weights " if tie.head in result.model.ties_broken else ""
        until = f"is tieless up to length {tie.n - 1}: at" if tie.n > 1 else "has ties: at"
        screen.line(
            f"  {given}head {tie.head} {until} length {tie.n}, position {tie.position} has {tie.count} positions with "
            "the largest score, in the word"
        )
        screen.raw(written_word(tie.word, alphabet))
    growth = result.growth
    if growth:
        fits = ", ".join(f"{one.what} ~ n^{one.exponent:.2f}" for one in growth)
        screen.line(f"  growth   {fits} (fitted to lengths {growth[0].from_n} to {growth[0].to_n})")
    if rests_on is not None:
        every = "gap and sizes of all words of each length: no assumption"
        screen.line(f"  bounds   Theorem 26, with {rests_on or every}")


def assumptions(lengths: Sequence[LengthResult]) -> str:
    """What the bounds of the lengths rest on, if on anything."""
    found = [length for length in lengths if length.assumption]
    if not found:
        return ""
    span = f"length {found[0].n}" if len(found) == 1 else f"lengths {found[0].n} to {found[-1].n}"
    return f"{found[0].assumption.split(' measured')[0]} measured on samples at {span} (an assumption)"


# ---- the verdict ----


def print_verdict(screen: Screen, result: CheckResult, alphabet: Sequence[str]) -> None:
    """The verdict with its reach; for a mismatch the word on a line of its own, the answers, and the next step."""
    print_reach(screen, result)
    if result.undecided_word is not None:
        screen.word("The first of these words", result.undecided_word, alphabet)
        screen.line(f"  {next_arithmetic(result.engine)}")
    mismatch = result.mismatch
    if mismatch is not None:
        screen.word("The shortest mismatching word" if mismatch.refutes else "The word", mismatch.word, alphabet)
        screen.line(f"  {answers(mismatch, alphabet, rounds=result.model.regime is not None)}")
        if result.violation is None:
            screen.line(f"  {next_step(result, mismatch)}")
    if result.violation is not None:
        # Also beside a mismatch: a gap that is too large makes softmax too soft.
        screen.line(f"{result.violation.what} does not hold at length {result.violation.n}")
        print_violation(screen, result.violation, alphabet)


def answers(mismatch: Mismatch, alphabet: Sequence[str] = (), rounds: bool = True) -> str:
    """What each says of a mismatching word; `rounds`: a network whose output shall be exactly 0 or 1."""
    soft = answer_text(mismatch.soft, alphabet)
    if mismatch.output is not None:
        exactness = ", neither 0 nor 1" if rounds and mismatch.soft is None else ""
        soft += f" (output {output_text(mismatch.output)}{exactness})"
    oracle = "" if mismatch.oracle is None else f"oracle: {answer_text(mismatch.oracle, alphabet)}; "
    return (
        f"{oracle}hard attention: {answer_text(mismatch.hard, alphabet)}; "
        f"softmax: {soft if mismatch.decided else NOT_DECIDED}"
    )


def print_violation(screen: Screen, violation: Violation, alphabet: Sequence[str]) -> None:
    """A claim that a number refutes."""
    screen.line(f"  claimed {short(violation.claimed)}, measured {short(violation.measured)}")
    if violation.word is not None:
        screen.word("The word", violation.word, alphabet)
    if "declared" in violation.what:
        screen.line("  Next: correct the gap that the model declares, or leave it out: it is measured then.")
    else:
        screen.line("  Next: if all words of the length were tried this is a defect of hardsim, please report it.")


def next_arithmetic(engine: str) -> str:
    """What a user can do about a word on which no answer was reached."""
    if engine == FLOAT64:
        return f"Next: float64 cannot tell on which side of a threshold a value lies; --engine {AUTO} goes on in balls."
    return (
        "Next: a value lies on a threshold, or closer to it than the limit of ball arithmetic can tell; a slightly "
        "different --beta or --tau moves it."
    )


def next_step(result: CheckResult, mismatch: Mismatch) -> str:
    """What a user can do about a mismatch."""
    if mismatch.refutes and not mismatch.certain(result.engine):
        return NEXT_CERTIFY
    if not result.model.specified:
        return "Next: the network is not the one that its specification makes; compile the formula again to compare."
    if "hard/oracle" in mismatch.kind:
        what = "formula" if result.kind == "ltl" else "program"
        return f"Next: hard attention itself disagrees with the {what}: that is a defect of hardsim, please report it."
    if not mismatch.refutes:
        return "Next: move the threshold of the model away from its outputs."
    if result.model.regime == "none":
        return (
            "Next: plain softmax with bounded position encodings must fail (Hahn's limit); the regimes that are proven "
            "right: hardsim check --regime all"
        )
    if result.model.regime is not None:
        return (
            "Next: attention is not sharp enough at this beta and temperature; raise --beta or lower --tau, or leave "
            "both out: the defaults are proven sharp enough (with them, this is a defect of hardsim, please report it)."
        )
    sharper = (
        "Next: softmax is not sharp enough: lower --tau, or leave it out, and a temperature in the file as well: the "
        "temperature of Theorem 26 is."
    )
    tied = [tie.head for tie in result.ties if tie.head not in result.model.ties_broken]
    if not tied:
        return sharper
    return (
        f"{sharper} Softmax shares its weight among equal scores at every temperature, so if one of {', '.join(tied)} "
        "is a leftmost or rightmost head, no temperature helps: take it out of the file, and weights are added that "
        "break the ties."
    )


# ---- the summary ----


def print_summary(screen: Screen, results: Sequence[CheckResult]) -> None:
    """One row per result, and how many there are of each verdict."""
    screen.table(SUMMARY_COLUMNS, [summary_row(result) for result in results])
    screen.raw()
    tally = {verdict: sum(result.verdict is verdict for result in results) for verdict in Verdict}
    parts = [f"{number} {verdict.value}" for verdict, number in tally.items() if number]
    screen.line(f"{plural(len(results), 'result')}: {', '.join(parts)}")


def summary_row(result: CheckResult) -> list[str]:
    """The extremes over all lengths of one result; the bound is that of the length with the largest error."""
    lengths = result.lengths
    worst = max(lengths, key=lambda length: length.error, default=None)
    least = [
        min((value for length in lengths if (value := getattr(length, name)) is not None), default=None)
        for name in ("acceptance_gap", "margin", "score_gap")
    ]
    return [
        *(result.input, result.model.regime or "Theorem 26", verdict_text(result.verdict, result.partial)),
        *map(count, (result.words, sum(length.mismatches for length in lengths))),
        *map(short, (*least, *((worst.error, worst.bound) if worst else (None, None)))),
        str(max((length.digits for length in lengths), default=0) or NOTHING),
    ]


def verdict_text(verdict: Verdict, partial: bool) -> str:
    """A verdict for a table."""
    return verdict.value + (" (partial)" if partial else "")


# ---- single words: one row each, the word last, so that it is never cut ----

EVALUATION_COLUMNS = columns(
    "<agree", "<oracle", "<hard", "<soft", "output", "unrounded", "margin", "error", "bound", "digits", "<word",
)  # fmt: skip


def print_evaluations(screen: Screen, evaluations: Sequence[Evaluation], alphabet: Sequence[str]) -> None:
    """The table of one model's words."""
    screen.table(EVALUATION_COLUMNS, [evaluation_row(found, alphabet) for found in evaluations])


def evaluation_row(found: Evaluation, alphabet: Sequence[str]) -> list[str | None]:
    """One word: whether all agree, what each says, what was measured, precision; a network that rounds has no bound."""
    rounds = found.bound is None
    return [
        AGREE[found.agree],
        NOTHING if found.oracle is None else answer_text(found.oracle, alphabet),
        answer_text(found.hard, alphabet),
        answer_text(found.soft, alphabet) if found.decided else NOT_DECIDED,
        output_text(found.output) if found.output is not None else NOTHING if rounds else None,
        *map(short if rounds else known, (found.unrounded, found.margin)),
        known(found.error) if rounds else short(found.error),
        *(known(found.bound), str(found.digits), written_word(found.word, alphabet)),
    ]


def print_oracle_words(screen: Screen, answers: Sequence[tuple[Word, Answer]], alphabet: Sequence[str]) -> None:
    """What the semantics of a program says, where it has no model."""
    rows = [[answer_text(answer, alphabet), written_word(word, alphabet)] for word, answer in answers]
    screen.table(columns("<oracle", "<word"), rows)
