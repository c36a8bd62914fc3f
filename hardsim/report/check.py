"""Print the results of `check`, a block for each input and regime or a row for each of several, and those of `eval`.

Here the oracle is the meaning of the formula (or of the file given by `--against`), hard is exact hard attention, and
soft is the softmax network. A word is judged if an expected answer is known for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from os.path import basename
from typing import TYPE_CHECKING

from rich.cells import cell_len

from hardsim.campaign.explanation import LONGEST_TRACED, command_line
from hardsim.campaign.result import (
    NOT_DECIDED,
    CheckResult,
    Evaluation,
    HardUndecided,
    HeadResult,
    LengthResult,
    Mismatch,
    Parting,
    Shown,
    TemperatureRange,
    Verdict,
    Violation,
    answer_text,
    judged_text,
    output_text,
    printed_lengths,
    values_text,
)
from hardsim.lang.pretty import shortened
from hardsim.lang.words import shown_word, written_word
from hardsim.network.rounding import RoundingMode
from hardsim.network.transformer import SoftWeighting
from hardsim.options.table import ALL
from hardsim.program.regimes import DEFAULT_REGIME, NAMED
from hardsim.records import NOTHING, short
from hardsim.report.network import least, print_brackets, print_judged, print_margins
from hardsim.report.screen import GAP, Screen, columns, tried_text
from hardsim.targets.result import AUTO, FLOAT64, Answer, ModelFacts, Word, count, plural
from hardsim.targets.subject import SubjectRecord
from hardsim.visible import visible

if TYPE_CHECKING:  # these modules take time to start, and a check needs neither
    from hardsim.measuring.bound import BoundHead, BoundLength, BoundResult
    from hardsim.measuring.critical import CriticalResult

STYLES = dict.fromkeys(Verdict, "bold green") | {Verdict.REFUTED: "bold red", Verdict.UNDECIDED: "bold yellow"}
AGREE = {True: "yes", False: "NO", None: NOTHING}
"""Table cell for "all answers agree": yes, NO, or nothing if an answer is missing."""
NEXT_CLAIMS = (
    "the bound is computed from what the file declares for its heads (gap, decay, kind, beta): correct these values, "
    "or compile the formula again."
)
"""Advice on an exceeded error bound of a file that was edited or that hardsim did not write."""
NEXT_CERTIFY = (
    "Next: mpmath gives no error bounds, so this may be a rounding error; --engine ball certifies it or refutes it."
)

LENGTH_COLUMNS = columns(
    "n", "words\ntried", "accepted", "mismatches", "least\nmargin", "least\nscore gap", "temperature",
    "largest\nerror", "error\nbound",
)  # fmt: skip
HEAD_COLUMNS = columns("<head", "layer", "<kind", "largest\nerror", "error\nbound", "least\nscore gap", "~computes")
WRONG_COLUMNS = columns("=word", "~answers")
ROW_HEADERS = ("words", "score gap", "error")
NETWORK_HEADERS = ("words", "margin")
"""Headers of the numbers in a list of external networks only."""
VERDICT_WIDTH, ROW_WIDTHS = max(map(len, Verdict)), (7, 9, 7)
MOST_TIED = 4
"""Largest number of tied positions to list."""
MOST_NAMED = 3
"""Largest number of heads with void bounds to list by name."""
LONGEST_PURPOSE = 120
"""Largest number of characters of a head's purpose that a report shows."""
VOID = "void"
"""Table cell in place of a void bound."""
FILE_SAYS = "file says"
"""Label of the title that a file gives itself."""
MARK = "> "
"""Mark before the name of the head at which softmax leaves hard attention."""


def print_check(
    screen: Screen, result: CheckResult, alphabet: Sequence[str], tables: bool, all_lengths: bool = False
) -> None:
    """Print the block of one result. `tables` adds rows for lengths (`all_lengths`: a row for each) and for heads."""
    print_verdict(screen, result, alphabet)
    screen.facts([*titles(result), ("network", model_line(result.model))])
    if result.accuracy is not None and result.accuracy.distribution is not None:
        screen.facts([("draws", f"{result.accuracy.distribution}; seed {result.seed}")])
    print_shown(screen, result.shown, alphabet)
    if result.constant is not None and result.mismatch is None:
        screen.facts([("beta", result.constant.summary)])
    if (left := result.positions_unjudged) and not result.labelled:  # a label is about one position
        judged = plural(result.positions_judged or 0, "position")
        screen.facts([("judged", f"{judged}, {count(left)} left open by the reference")])
    lengths = result.lengths
    print_margins(screen, result, alphabet)
    if tables and result.judged:
        print_judged(screen, result.judged, alphabet, all_lengths)
    whole = {one.n for one in result.judged if one.exhaustive}
    # Where every word was tried, the least margin is known.
    if tables and result.prefix_proof is not None and any(one.n not in whole for one in result.prefix_proof.margins):
        print_brackets(screen, result.prefix_proof, result.judged, all_lengths)
    if tables and lengths:
        # Lengths above max_n come from pinned words only, and are kept out of the groups of tried lengths.
        longer = [length for length in lengths if length.n > result.max_n]
        spans = grouped(lengths[: len(lengths) - len(longer)], all_lengths)
        spans += [[length] for length in longer] if all_lengths else [longer] * bool(longer)
        rows = [row_of(some) for some in spans]
        screen.block(LENGTH_COLUMNS, [length_row(span, row) for span, row in rows])
        print_heads(screen, result)
        print_void(screen, result, alphabet, [head for length in lengths for head in length.heads])
        rests_on = assumptions(lengths) if result.model.regime is None else None
        if result.ties or result.growth or rests_on is not None:
            screen.raw()
        print_facts(screen, result, rests_on, alphabet)
    screen.raw()


def print_shown(screen: Screen, shown: Shown | None, alphabet: Sequence[str]) -> None:
    """Print a few accepted and rejected words, or words with their outputs, as samples of what the verdict covers."""
    if shown is None:
        return
    for label, words in (("accepted", shown.accepted), ("rejected", shown.rejected)):
        if words:
            screen.words(label, [written_word(word, alphabet) for word in words])
        elif not shown.outputs:
            screen.facts([(label, "none of the shortest words")])
    pairs = [f"{written_word(one.word, alphabet)} -> {answer_text(one.output, alphabet)}" for one in shown.outputs]
    if pairs:
        screen.words("outputs", pairs)


def print_reach(screen: Screen, result: CheckResult | BoundResult) -> None:
    """Print the verdict, the input, and how far the verdict reaches. A mismatch that was only OBSERVED is not shown in
    green."""
    found = result.verdict
    style = STYLES[Verdict.UNDECIDED if found is Verdict.OBSERVED and not result.agreed else found]
    print_headline(screen, found.value, style, named(result.input, result.model.regime), result.reach)
    if result.partial:
        screen.line("  PARTIAL: interrupted; this covers only what was done before the interruption")


def print_headline(screen: Screen, verdict: str, style: str, name: str, reach: str) -> None:
    """Print the first lines of a report: the verdict and the name of the input, then how far the verdict reaches."""
    screen.line((verdict, style), "  ", (name, "bold"), folds=False)
    screen.line(f"  {reach}", hang=2)


def named(name: str, regime: str | None) -> str:
    """Return the name of an input, with the regime added unless it is the default regime."""
    return name if regime in (None, DEFAULT_REGIME) else f"{name}, regime {regime}"


def titles(result: CheckResult | CriticalResult | SubjectRecord) -> list[tuple[str, str | None]]:
    """Return the labelled text of a formula, and the labelled title of a file. A title is an unconfirmed claim of the
    file."""
    return [("formula", result.formula or None), (FILE_SAYS, result.title or None)]


def model_line(facts: ModelFacts) -> str:
    """Return the facts of a network on one line: regime, temperature and beta, then sizes."""
    parts = []
    if facts.regime is not None and not facts.specified:
        beta = "" if facts.beta is None else f" and beta {facts.beta}"
        parts += [f"temperature {facts.temperature}", f"the file says regime {facts.regime}{beta}"]
    elif facts.regime is not None:
        parts += [f"regime {facts.regime}", f"temperature {facts.temperature}"]
        parts += [] if facts.beta is None else [f"beta {facts.beta}"]
    elif facts.beta is not None:
        parts += [f"temperature {facts.temperature}", f"beta {facts.beta}", "not a hardsim regime"]
    if facts.beta is not None or facts.regime is not None:
        parts += [f"counting by {facts.counting}"] if facts.counting else []
        parts += [f"read at the {facts.at} position"]
    parts += [plural(facts.layers, "layer") + (", one head each" if facts.single_head else "")]
    parts += [plural(facts.heads, "head"), f"dimension {facts.dimension}", plural(facts.parameters, "parameter")]
    parts += [] if facts.weighting == "softmax" else [SoftWeighting(facts.weighting).text]
    parts += [] if facts.rounding is None else [f"rounding {facts.rounding}"]
    parts += ["with a beginning of sequence"] if facts.bos else []
    parts += [f"ties broken in {', '.join(facts.ties_broken)}"] if facts.ties_broken else []
    return ", ".join(parts)


# ---- tables ----


def grouped(lengths: Sequence[LengthResult], every: bool = False) -> list[list[LengthResult]]:
    """Return the lengths grouped by table row; `every`: a row for each length."""
    spans = printed_lengths(lengths[-1].n, every)
    return [some for span in spans if (some := [length for length in lengths if length.n in span])]


def row_of(lengths: Sequence[LengthResult]) -> tuple[str, LengthResult]:
    """Merge several lengths into one table row, and return the span of lengths with the row. Counts are added up,
    numbers are the least or the largest, and the bound is that of the length with the largest error."""
    last = lengths[-1]
    if len(lengths) == 1:
        return str(last.n), last
    # Error and bound are from one length, so that the row compares numbers that belong together.
    worst = max(lengths, key=lambda length: (length.error, length.void))
    ranges = [length.temperature for length in lengths if length.temperature is not None]
    return f"{lengths[0].n}-{last.n}", replace(
        last,
        words=sum(length.words for length in lengths),
        possible=sum(length.possible for length in lengths),
        exhaustive=all(length.exhaustive for length in lengths),
        accepted=None if last.accepted is None else sum(length.accepted or 0 for length in lengths),
        soft_mismatches=sum(length.soft_mismatches for length in lengths),
        hard_mismatches=sum(length.hard_mismatches for length in lengths),
        margin=least(length.margin for length in lengths),
        score_gap=least(length.score_gap for length in lengths),
        error=worst.error,
        bound=worst.bound,
        void=worst.void,
        void_after=worst.void_after,
        temperature=TemperatureRange(min(one.least for one in ranges), max(one.largest for one in ranges))
        if ranges
        else None,
    )


def length_row(span: str, length: LengthResult) -> list[str | None]:
    """Return the table row of a span of lengths. A row without a temperature belongs to a network that rounds, so it
    always has a margin column."""
    return [
        span,
        tried_text(length.words, length.exhaustive),
        None if length.accepted is None else count(length.accepted),
        count(length.mismatches),
        short(length.margin) if length.temperature is None else known(length.margin),
        short(length.score_gap),
        temperature_text(length),
        *(short(length.error), bound_text(length)),
    ]


def bound_text(row: LengthResult | HeadResult | BoundLength | BoundHead) -> str:
    """Return a bound as text for a table; a void bound has no number, because it claims nothing."""
    return VOID if row.void else short(row.bound)


def known(value: Fraction | None) -> str | None:
    """Return a number as text for a table, or None if there is no number."""
    return None if value is None else short(value)


def temperature_text(length: LengthResult) -> str | None:
    """Return the range of the temperature over the positions as text, or None if the regime determines the
    temperature."""
    if length.temperature is None:
        return None
    low, high = length.temperature.least, length.temperature.largest
    first, last = short(low), short(high)
    return last if first == last else f"{first} to {last}"


def print_heads(screen: Screen, result: CheckResult) -> None:
    """Print a row for each head, with a mark at the head where softmax leaves hard attention."""
    lengths = result.lengths
    guilty = None if result.parting is None else result.parting.head
    names = [head.name for head in lengths[-1].heads]
    rows = [head_row(lengths, index, names[index] == guilty) for index in range(len(names))]
    if rows:
        screen.raw()
        screen.table(HEAD_COLUMNS, rows, ["bold red" if name == guilty else None for name in names])


def head_row(lengths: Sequence[LengthResult], index: int, guilty: bool = False) -> list[str | None]:
    """Return the table row of one head over all lengths: its largest error with the bound at that length, and its least
    score gap. `index` is the place of the head in each length's list; `guilty` marks the head."""
    found = [length.heads[index] for length in lengths]
    worst, last = max(found, key=lambda head: (head.error, head.void)), found[-1]
    return [
        *(MARK * guilty + last.name, str(last.layer)),
        "ties" if any(head.kind == "ties" for head in found) else last.kind,
        *(short(worst.error), bound_text(worst), short(least(head.score_gap for head in found))),
        shortened(last.purpose, LONGEST_PURPOSE) or None,
    ]


def print_void(
    screen: Screen, result: CheckResult | BoundResult, alphabet: Sequence[str], heads: Iterable[HeadResult | BoundHead]
) -> None:
    """Print which heads have void error bounds, and why: an earlier head failed, or the network differs from its
    specification."""
    names = dict.fromkeys(head.name for head in heads if head.void)
    first = result.failed_first
    if not names:
        return
    screen.raw()
    if first is None:
        message = "the error bounds are for the heads that the specification gives; the heads of this network differ"
        screen.facts([(VOID, message)])
        return
    few = ", ".join(names) if len(names) <= MOST_NAMED else plural(len(names), "head")
    message = (
        f"the error bound of {few}, because a bound assumes that earlier heads are right. At length {first.n} head "
        f"{first.head} in layer {first.layer} failed first, on the word"
    )
    screen.facts([(VOID, message)])
    screen.raw(written_word(first.word, alphabet))


def print_facts(
    screen: Screen, result: CheckResult | BoundResult, rests_on: str | None, alphabet: Sequence[str]
) -> None:
    """Print tied positions, fitted growth, and the assumption `rests_on` of the bounds of Theorem 26 (None: print no
    line about bounds). Ties are those of the given model, while the tables are about the model with weights that break
    the ties."""
    for tie in result.ties:
        # The tables describe the model after ties were broken; this line describes the one in the file.
        given = "without the added weights " if tie.head in result.model.ties_broken else ""
        until = f"is tieless up to length {tie.n - 1}: at" if tie.n > 1 else "has ties: at"
        screen.line(
            f"  {given}head {tie.head} {until} length {tie.n}, position {tie.position} has {tie.count} positions with "
            "the largest score, in the word"
        )
        screen.raw(written_word(tie.word, alphabet))
        if tie.differ is not None:
            few = [f"{values_text(one.values)} (position {one.position})" for one in tie.differ.tied[:MOST_TIED]]
            tied = ", ".join(few) + ", ..." * (len(tie.differ.tied) > MOST_TIED)
            screen.line(f"    the tied positions carry {tied} at position {tie.differ.position} of the word")
            screen.raw(written_word(tie.differ.word, alphabet))
    growth = result.growth
    if growth:
        fits = ", ".join(f"{one.what} ~ n^{one.exponent:.2f}" for one in growth)
        screen.facts([("growth", f"{fits} (fitted to lengths {growth[0].from_n} to {growth[0].to_n})")])
    if rests_on is not None:
        if result.model.weighting == "geometric":
            text = "1 - (1 - x)^m for m visible positions, x = 1/(1 + e^(beta/tau)); x where all are selected"
            if result.model.regime is None:
                text = "twice the largest value that a head reads; better ones are known for compiled formulas only"
            screen.facts([("bounds", text)])
            return
        every = "gap and sizes measured on all words of each length: no assumption is needed"
        screen.facts([("bounds", f"Theorem 26, with {rests_on or every}")])


def assumptions(lengths: Sequence[LengthResult]) -> str:
    """Return the assumptions on which the bounds of the lengths rest, as text; empty if there are none."""
    found = [length for length in lengths if length.sampled]
    if not found:
        return ""
    span = f"length {found[0].n}" if len(found) == 1 else f"lengths {found[0].n} to {found[-1].n}"
    return f"{found[0].sampled} measured on samples at {span} (an assumption)"


# ---- the verdict ----


def print_verdict(screen: Screen, result: CheckResult, alphabet: Sequence[str]) -> None:
    """Print the verdict with its reach. For a failure, also print the failing word on a line of its own, the answers,
    the place where they differ, the next step, and a command that shows more."""
    print_reach(screen, result)
    if result.verdict is Verdict.CERTIFIED and result.unproved is not None:
        screen.line(f"  not PROVED: {result.unproved.reason}", hang=2)
    if result.undecided_word is not None:
        screen.word("The first of these words", result.undecided_word, alphabet)
        screen.line(f"  {next_arithmetic(result.engine, result.kind == 'network')}")
        if result.kind != "network":
            screen.line("  The largest errors in the tables are those of the other words.")
    mismatch = result.mismatch
    if mismatch is not None:
        among = " found" if result.shorter_left else ""
        label = f"The shortest mismatching word{among}" if mismatch.refutes else "The word"
        screen.word(label, mismatch.word, alphabet)
        screen.line(f"  {answers(mismatch, result.model, alphabet, rounds=result.model.regime is not None)}")
        if mismatch.no_output is not None:
            screen.line(f"  {mismatch.no_output.summary}", hang=2)
        print_parting(screen, result.parting, mismatch, result.model)
        if result.constant is not None:
            screen.line(f"  {result.constant.summary}")
        step = None if result.violation is not None else next_step(result, mismatch)
        if step is not None:
            screen.line(f"  {step}")
        command = result.command if not mismatch.direct else network_command(result, mismatch, alphabet)
        if command is not None:
            screen.line("  More about this word:")
            screen.raw(command)
    print_wrong_words(screen, result, alphabet)
    if mismatch is None or mismatch.refutes:  # else the verdict says it
        print_hard_undecided(screen, result.hard_undecided)
    for failed in result.errors:
        screen.line(f"  {failed.summary}", hang=2)
    if result.violation is not None:
        # Also beside a mismatch: a gap that is too large makes softmax too soft.
        screen.line(f"{result.violation.what} does not hold at length {result.violation.n}")
        print_violation(screen, result, result.violation, alphabet)


def print_wrong_words(screen: Screen, result: CheckResult, alphabet: Sequence[str]) -> None:
    """Print the first wrong words of labelled data or draws, if there are several."""
    accuracy, rounds = result.accuracy, result.model.regime is not None
    if accuracy is not None and len(accuracy.wrong_words) > 1:
        found = accuracy.wrong_words
        screen.line(f"The first {len(found)} wrong words:")
        rows = [[shown_word(one.word, alphabet), answers(one, result.model, alphabet, rounds)] for one in found]
        screen.table(WRONG_COLUMNS, rows)


def print_hard_undecided(screen: Screen, found: HardUndecided | None) -> None:
    """Print a summary of a word on which hard attention itself decides nothing; print nothing for None."""
    if found is not None:
        screen.line(f"  {found.summary}", hang=2)


def print_parting(screen: Screen, found: Parting | None, mismatch: Mismatch, model: ModelFacts) -> None:
    """Print the head and position where softmax, or another weighting, leaves hard attention on a mismatching word."""
    if found is not None:
        purpose = f" ({shortened(found.purpose, LONGEST_PURPOSE)})" if found.purpose else ""
        if not model.specified:
            purpose += ", as the specification has it"
        where = f"in layer {found.layer}, position {found.position}, head {found.head}{purpose}"
        screen.line(f"  {SoftWeighting(model.weighting).text} leaves hard attention {where}: {found.reads}")
    elif mismatch.hard_differs:
        screen.line("  no head or position to blame: the oracle does not compute in the steps of hard attention")


def answers(mismatch: Mismatch, model: ModelFacts, alphabet: Sequence[str] = (), rounds: bool = True) -> str:
    """Return the answers on a mismatching word: of oracle, hard attention and softmax (or the model's other weighting),
    or the expected and the given one.

    `rounds`: the output of the network should be exactly 0 or 1.
    """
    if mismatch.direct:
        return f"expected: {judged_text(mismatch.oracle)}; network: {judged_text(mismatch.soft)}"
    soft = answer_text(mismatch.soft, alphabet)
    if mismatch.output is not None:
        exactness = ", neither 0 nor 1" if rounds and mismatch.soft is None else ""
        soft += f" (output {output_text(mismatch.output)}{exactness})"
    oracle = "" if mismatch.oracle is None else f"oracle: {answer_text(mismatch.oracle, alphabet)}; "
    return (
        f"{oracle}hard attention: {answer_text(mismatch.hard, alphabet)}; "
        f"{SoftWeighting(model.weighting).text}: {soft if mismatch.decided else NOT_DECIDED}"
    )


def print_violation(
    screen: Screen, result: CheckResult | BoundResult, violation: Violation, alphabet: Sequence[str]
) -> None:
    """Print a claim that a measured number refutes, with the word and the next step."""
    screen.line(f"  claimed {short(violation.claimed)}, measured {short(violation.measured)}")
    if violation.word is not None:
        screen.word("The word", violation.word, alphabet)
    if violation.observed:
        screen.line(f"  {NEXT_CERTIFY}")
    elif result.own:
        screen.line(
            "  Next: hardsim made this network and nobody edited it: this is a defect of hardsim, please report it."
        )
    elif violation.declared:
        screen.line("  Next: correct the gap that the model declares, or remove it so that it is measured.")
    else:
        screen.line(f"  Next: {NEXT_CLAIMS}")


def next_arithmetic(engine: str, external: bool = False) -> str:
    """Return advice on a word for which no answer was reached. `external`: the network is an external one."""
    if engine == FLOAT64:
        return (
            f"float64 cannot tell on which side of a threshold a value lies. Next: --engine {AUTO} continues in ball "
            "arithmetic."
        )
    if external:
        return (
            "Two outputs are equal, or one is on its threshold, or they are too close for ball arithmetic to separate. "
            "Next: `assume:` in a specification leaves such words open."
        )
    return (
        "A value lies on a threshold, or too close to it for ball arithmetic to separate. Next: a slightly different "
        "temperature moves the value."
    )


def next_step(result: CheckResult, mismatch: Mismatch) -> str | None:
    """Return advice on a mismatch, or None if the command that shows more about the word is advice enough."""
    if mismatch.refutes and not mismatch.certain(result.engine):
        return NEXT_CERTIFY
    if mismatch.direct:
        return None
    if result.against is not None and mismatch.hard_differs:
        return f"Next: the compiled {result.input} and {result.against} disagree: correct one of them."
    if not mismatch.refutes and result.model.specified:
        return "Next: move the threshold of the model away from its outputs."
    what = "formula" if result.kind == "ltl" else "program"
    return next_in_network(result.model, mismatch, what, bool(result.own), is_stored(result.input)) or _sharper(result)


def network_command(result: CheckResult, mismatch: Mismatch, alphabet: Sequence[str]) -> str | None:
    """Return the command line that shows the outputs of an external network on a mismatching word; None if there is no
    such command, because only `check` takes labelled data, and without it the input is refused."""
    if result.needs_rows:
        return None
    own = result.labelled or result.against in (None, result.input)
    against = [] if own else ["--against", str(result.against)]
    # Tokens added before and after the word usually still fit into the limit of a trace.
    traced = len(mismatch.word) < LONGEST_TRACED
    engine = [] if result.engine == AUTO or (traced and result.engine == FLOAT64) else ["--engine", result.engine]
    text = written_word(mismatch.word, alphabet)
    return command_line("trace" if traced else "eval", [result.input], text, [*against, *engine])


def is_stored(name: str) -> bool:
    """Return True if the name of an input ends in .json, as that of a compiled network does."""
    return name.endswith(".json")


def next_in_network(model: ModelFacts, mismatch: Mismatch, what: str, own: bool, stored: bool) -> str | None:
    """Return advice on a mismatch of a network that was compiled from a formula or program (`what`), or that differs
    from its specification's. Return None if softmax alone is at fault and no regime explains why. `own`: hardsim made
    the network itself and finds it unedited; `stored`: it was read from a file, so no option changes it."""
    if not model.specified:
        return (
            "Next: the network is not the one that its specification compiles to; compile the formula again to compare."
        )
    if mismatch.hard_differs and (how := rounded_up(model)):
        return f"Next: {how}"
    if mismatch.hard_differs and own:
        return f"Next: hard attention itself disagrees with the {what}: this is a defect of hardsim, please report it."
    if mismatch.hard_differs:
        return (
            f"Next: hard attention itself disagrees with the {what}: the heads in the file are not those that hardsim "
            f"compiles from it; compile the {what} again."
        )
    if model.regime is None:
        return None
    if model.regime in ("none", "rounded"):
        if stored:
            return (
                f"Next: compile the formula again with {larger_beta(model)}, or in another regime (proved right at "
                "every length)."
            )
        return (
            f"Next: {larger_beta(model)} reaches farther; --regime all runs the regimes that are proved right at every "
            "length."
        )
    return f"Next: attention is not sharp enough at this beta and temperature; {sharper(model, stored)}"


def rounded_up(model: ModelFacts) -> str:
    """Return advice for a network whose rounding makes small negative sums 0; "" for any other network."""
    if model.rounding is None or not model.rounding.startswith(RoundingMode.NEAREST):
        return ""
    return (
        "rounding to the nearest multiple makes small negative sums 0; round down (--rounding floor:P), or subtract "
        "half a unit before (--rounding biased:P)."
    )


def larger_beta(model: ModelFacts) -> str:
    """Return the advice to give the option `--beta` a larger number."""
    return "a larger --beta" if "beta" in model.given else f"--beta above {model.beta}"


def sharper(model: ModelFacts, stored: bool = False) -> str:
    """Return advice on how to make attention sharper. It names only options that were given. `stored`: the network was
    read from a file."""
    changes = {"beta": "raise --beta", "tau": "lower --tau", "epsilon": "lower --epsilon"}
    message = " or ".join(changes[name] for name in model.given)
    if model.regime is not None:
        return f"{message or 'compile the formula again'}: the defaults are proved sharp enough."
    if not message:
        again = "remove the temperature from the file, and the temperature of Theorem 26 is used" if stored else ""
        return f"{again or 'give a lower temperature with --tau'}."
    return f"{message}: the default temperature is sharp enough."


def _sharper(result: CheckResult) -> str:
    """Return advice for a softmax network that differs from hard attention at its temperature."""
    tied = next((tie for tie in result.ties if tie.simulated == "not simulated"), None)
    if tied is not None:
        return f"Next: {tied.reason}. Remove the temperature from the file: weights that break the ties are then added."
    stored = is_stored(result.input)
    soft = SoftWeighting(result.model.weighting).text
    return f"Next: {soft} is not sharp enough at this temperature; {sharper(result.model, stored)}"


# ---- several inputs ----


def failing(result: CheckResult) -> bool:
    """Return True if a result is a failure, or says nothing: it comes last, in full."""
    return not result.agreed or result.verdict is Verdict.UNDECIDED or result.partial


class Listing:
    """Prints a row for each of several results as they come, and at the end the whole verdict of each failed one: the
    failures stand last, where a long list leaves them in sight.

    `names` are the names of the inputs, from which the width of a column follows, and `regime` the one that was asked
    for, which names have behind them (None: none). `networks`: all inputs are external networks.
    """

    def __init__(self, screen: Screen, names: Sequence[str], regime: str | None = None, networks: bool = False) -> None:
        self.screen, self.headed = screen, False
        self.failed: list[tuple[CheckResult, Sequence[str]]] = []
        longest = {None: 0, DEFAULT_REGIME: 0, ALL: max(map(len, NAMED))}.get(regime, len(regime or ""))
        suffix = longest + len(", regime ") if longest else 0
        widths = [
            VERDICT_WIDTH,
            max((cell_len(visible(screen.called(name))) for name in names), default=0) + suffix,
            *ROW_WIDTHS,
        ]
        self.headers = NETWORK_HEADERS if networks else ROW_HEADERS
        kept = 2 + len(self.headers)
        # Drop columns of numbers from the right until a row fits; verdict and input always stay.
        while kept > 2 and sum(widths[:kept]) + GAP * (kept - 1) > screen.width:
            kept -= 1
        self.widths = widths[:kept]

    def add(self, result: CheckResult, alphabet: Sequence[str], known: bool = False) -> None:
        """Print the row of one result. `known`: its failure was printed before, so a row is enough."""
        if not known and failing(result):
            self.failed.append((result, alphabet))
        if not self.headed:
            self.screen.line((self._line(["verdict", "input", *self.headers]), "bold"), folds=False)
        self.headed = True
        cells = [result.verdict.value, *(network_row if self.headers is NETWORK_HEADERS else summary_row)(result)]
        # The verdict is printed apart from the rest, because it alone is coloured.
        rest = self._line(cells)[self.widths[0] :] + bounded_text(result)
        self.screen.line((f"{cells[0]:<{self.widths[0]}}", STYLES[result.verdict]), rest, folds=False)

    def brief(self, result: CheckResult, alphabet: Sequence[str]) -> None:
        """Print the verdict of one result, at the end if it failed."""
        if failing(result):
            self.failed.append((result, alphabet))
        else:
            print_verdict(self.screen, result, alphabet)

    def end(self) -> None:
        """Print the whole verdict of each failed result."""
        for result, alphabet in self.failed:
            if self.headed:
                self.screen.raw()
            print_verdict(self.screen, result, alphabet)
        self.failed = []

    def _line(self, cells: Sequence[str]) -> str:
        line, end = "", 0
        for place, (cell, width) in enumerate(zip(cells, self.widths, strict=False)):
            text, end = visible(self.screen.called(cell)), end + width
            # A cell that is wider than its column takes room from the next one, whose end stays in place.
            space = " " * (end - cell_len(line) - cell_len(text))
            line += (text + space if place < 2 else space + text) + " " * GAP
            end += GAP
        return line.rstrip()


def print_list(screen: Screen, results: Sequence[CheckResult]) -> None:
    """Print a row for each of several results."""
    names, networks = [result.input for result in results], all(result.kind == "network" for result in results)
    found = Listing(screen, names, ALL if any(result.model.regime for result in results) else None, networks)
    for result in results:
        found.add(result, (), known=True)


def print_unproved(screen: Screen, results: Sequence[CheckResult]) -> None:
    """Print the reasons why results are CERTIFIED and not PROVED, each reason once with the inputs that it concerns."""
    reasons: dict[str, list[str]] = {}
    for result in results:
        if result.verdict is Verdict.CERTIFIED and result.unproved is not None:
            name = named(basename(result.input), result.model.regime)
            reasons.setdefault(result.unproved.reason, []).append(name)
    if reasons:
        screen.raw()
    for reason, names in reasons.items():
        screen.line(f"{len(names)} CERTIFIED and not PROVED: {reason}")
        screen.line(f"  {', '.join(names)}", hang=2)


def summary_row(result: CheckResult) -> list[str]:
    """Return the table row of one result: input, number of words, least score gap and largest error over all
    lengths."""
    lengths = result.lengths
    return [
        named(result.input, result.model.regime),
        count(result.words),
        short(least(length.score_gap for length in lengths)),
        short(max((length.error for length in lengths), default=None)),
    ]


def bounded_text(result: CheckResult) -> str:
    """Return, for the end of a table row, how many words softmax was not run on; "" if there are none."""
    bounded = sum(length.bounded for length in result.lengths)
    return f"  ({bounded:,} by a bound)" if bounded else ""


def network_row(result: CheckResult) -> list[str]:
    """Return the table row of an external network: input, number of words and least margin."""
    found = result.least_margin
    return [result.input, count(result.words), NOTHING if found is None else short(found.margin)]


# ---- single words: one row each, the word last, so that it is never cut ----

EVALUATION_COLUMNS = columns(
    "<agree", "<oracle", "<hard", "<soft", "output", "unrounded", "margin", "error", "bound", "digits", "=word",
)  # fmt: skip


def print_evaluations(screen: Screen, evaluations: Sequence[Evaluation], alphabet: Sequence[str]) -> None:
    """Print the table of words of one model."""
    for found in evaluations:
        print_hard_undecided(screen, found.hard_undecided)
    screen.table(EVALUATION_COLUMNS, [evaluation_row(found, alphabet) for found in evaluations])


def evaluation_row(found: Evaluation, alphabet: Sequence[str]) -> list[str | None]:
    """Return the table row of one word: whether all answers agree, each answer, measured numbers, and digits. A network
    that rounds has no error bound."""
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
    """Print the answers of the semantics of a program that has no model."""
    rows = [[answer_text(answer, alphabet), written_word(word, alphabet)] for word, answer in answers]
    screen.table(columns("<oracle", "=word"), rows)
