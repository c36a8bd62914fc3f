"""Print the results of `bound`: a block for each input, or a row for each; with `--critical`, brackets of beta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby

from hardsim.campaign.result import Verdict, printed_lengths
from hardsim.lang.words import written_word
from hardsim.measuring.bound import BoundHead, BoundLength, BoundResult
from hardsim.measuring.critical import LARGEST, WIDTH, Bracket, CriticalResult, beta_text
from hardsim.measuring.general_rate import RATE as THEOREM
from hardsim.measuring.general_rate import GeneralRate
from hardsim.measuring.hard_up_to import HardUpTo
from hardsim.network.transformer import SoftWeighting
from hardsim.proof.shared.result import HeadProof
from hardsim.records import NOTHING, at_most, short
from hardsim.report.check import (
    bound_text,
    is_stored,
    larger_beta,
    model_line,
    named,
    print_facts,
    print_hard_undecided,
    print_reach,
    print_violation,
    print_void,
    rounded_up,
    sharper,
    titles,
)
from hardsim.report.prove import PRODUCT
from hardsim.report.screen import Screen, columns, tried_text
from hardsim.targets.result import Word, count

LENGTH_COLUMNS = columns(
    "n", "words\ntried", "least\nscore gap", "largest\nerror", "error\nbound", "Theorem 26's\ntemperature",
    "right\nup to", "wrong\nat", "=wrong on",
)  # fmt: skip
HEAD_COLUMNS = columns(
    "<head", "layer", "<kind", "n", "least\nscore gap", "declared\ngap", "logit\nrange", "largest\nerror",
    "error\nbound",
)  # fmt: skip
GAP_COLUMNS = columns(
    "<input", "<holds", "words\ntried", "to n", "least\nscore gap", "declared\ngap",
)  # fmt: skip
ANY = "any"
"""Table cell for a temperature without an upper limit: no row of attention has two different scores."""
RATE_COLUMNS = columns(
    "<input", "<gap(n)\nat least", "a", "<proved at\ngap(n)/(a log(n+1))",
    "<proved at\n1/(C n^(k+1))",
)  # fmt: skip
RATE = (
    "Every length: gap(n) is derived from the weights; n >= 2 is the length with its padding. For general heads, ties "
    f"included, the theorem gives a temperature of rate {THEOREM}, without a constant. Two temperatures are tried for "
    "every length: gap(n)/(a log(n+1)), which has that rate, with the least a of a grid; and, if gap(n) falls as "
    "n^-k, 1/(C n^(k+1)), at which errors fall exponentially."
)
"""Text printed above the table of rates."""
SUMMARY_COLUMNS = columns(
    "<input", "<verdict", "n", "least\nscore gap", "largest\nerror", "right\nup to", "wrong\nat",
)  # fmt: skip


def print_bound(
    screen: Screen, result: BoundResult, alphabet: Sequence[str], tables: bool, all_lengths: bool = False
) -> None:
    """Print the block of one result. `tables` adds rows for some lengths (`all_lengths`: for each) and rows for the
    heads."""
    # The regime's temperature is the unit of the table, so it stands beside its name.
    regime = result.regime and f"{result.regime}: temperatures below are multiples of {result.schedule}"
    # The facts of a network below come without regime and beta: the report varies the temperature.
    print_bound_verdict(screen, result, alphabet)
    screen.facts([("network", model_line(replace(result.model, regime=None, beta=None))), ("regime", regime)])
    if tables and result.lengths:
        last = result.lengths[-1]
        # A table shows the largest length of each span, not a merged row: bounds depend on the length.
        ends = [span[-1] for span in printed_lengths(last.n, all_lengths)]
        rows = [length_row(length, alphabet) for length in result.lengths if length.n in ends]
        screen.block(LENGTH_COLUMNS, rows)
        screen.block(HEAD_COLUMNS, [head_row(last.n, head) for head in last.heads])
        print_void(screen, result, alphabet, [head for length in result.lengths for head in length.heads])
        screen.raw()
        rests_on = next((length.assumption for length in reversed(result.lengths) if length.assumption), "")
        print_facts(screen, result, rests_on, alphabet)
        grid = f"{result.grid}, each tried until one is wrong"
        screen.facts([("theorem", result.asymptotics), *rate_facts(result.general), ("grid", grid)])
    screen.raw()


def rate_facts(rate: GeneralRate | None) -> list[tuple[str, str | None]]:
    """Return labelled facts about every length, for a model or a program: a lower bound of the score gap, and the
    temperatures at which every length is proved. Return no facts if `rate` is None."""
    if rate is None:
        return []
    proved = [] if rate.proved is None else [rate.proved if rate.gap is not None else "any temperature"]
    if rate.logarithmic is not None:
        proved.append(f"{rate.logarithmic} = gap(n)/({rate.constant} log(n + 1)), of the theorem's rate {rate.rate}")
    message = "; ".join(proved) if proved else f"nothing: {rate.reason}"
    of_gap = None if rate.gap is None else f"gap(n) >= {rate.gap} from n = 2 on"
    return [("gap", of_gap), ("proved", f"every length: {message}")]


def print_bound_verdict(screen: Screen, result: BoundResult, alphabet: Sequence[str]) -> None:
    """Print the verdict with its reach; for a failure, also the failing word or claim and the next step."""
    print_reach(screen, result)
    if result.violation is not None:
        print_violation(screen, result, result.violation, alphabet)
    elif result.refuted is not None:
        screen.word("The word", result.refuted, alphabet)
        how = sharper(result.model, is_stored(result.input))
        if advice := rounded_up(result.model):
            how = advice
        elif is_stored(result.input) and result.kind == "ltl":
            how = "compile the formula again; `hardsim check` shows more about this word."
        elif result.regime in ("none", "rounded"):
            how = f"{larger_beta(result.model)} reaches longer words; `hardsim check` shows how far this beta reaches."
        screen.line(f"  Next: {how}")
    if result.verdict is not Verdict.UNDECIDED:  # else the verdict says it
        print_hard_undecided(screen, result.hard_undecided)


def length_row(length: BoundLength, alphabet: Sequence[str]) -> list[str]:
    """Return the table row of one length."""
    # Without a gap every temperature is right, except in geometric attention, which finds a wrong one or a right one.
    sharp = length.score_gap is not None or length.right is not None or length.wrong is not None
    return [
        str(length.n),
        tried_text(length.words, length.exhaustive),
        *map(short, (length.score_gap, length.error)),
        bound_text(length),
        *(map(short, (length.theorem, length.right)) if sharp else ("any", "any")),
        short(length.wrong),
        NOTHING if length.word is None else written_word(length.word, alphabet),
    ]


def head_row(n: int, head: BoundHead) -> list[str]:
    """Return the table row of one head at length `n`, the largest length."""
    numbers = map(short, (head.score_gap, head.declared_gap, head.logit_range, head.error))
    return [head.name, str(head.layer), head.kind or "", str(n), *numbers, bound_text(head)]


def print_gaps(screen: Screen, results: Sequence[BoundResult]) -> None:
    """Print the table of `bound --gap`, with a row for each result, if there are results."""
    if results:
        screen.table(GAP_COLUMNS, [gap_row(result) for result in results])
        screen.raw()
        _print_rates(screen, results)


def _print_rates(screen: Screen, results: Sequence[BoundResult]) -> None:
    """Print the rates at which temperatures are proved for every length, for results without a regime (models and
    programs)."""
    rated = [(result, result.general) for result in results if result.general is not None]
    if not rated:
        return
    screen.line(RATE)
    known = [(result, rate) for result, rate in rated if rate.proved is not None or rate.gap is not None]
    if known:
        screen.raw()
        screen.table(RATE_COLUMNS, [rate_row(result, rate) for result, rate in known])
    for result, rate in rated:
        if rate.reason is not None:
            none = rate.proved is None and rate.logarithmic is None
            missing = "no temperature is proved" if none else "one temperature is not proved"
            screen.line(f"{named(result.input, result.regime)}: {missing}: {rate.reason}")
    screen.raw()


def rate_row(result: BoundResult, rate: GeneralRate) -> list[str]:
    """Return the table row of one result: its gap, and the temperatures that are proved for every length."""
    name = named(result.input, result.regime)
    if rate.gap is None:
        return [name, "no gap", NOTHING, ANY, ANY]
    constant = NOTHING if rate.constant is None else str(rate.constant)
    return [name, rate.gap, constant, rate.logarithmic or NOTHING, rate.proved or NOTHING]


def gaps_counted(results: Sequence[BoundResult]) -> str:
    """Return a summary: every declared gap holds on the words tried, or the number of networks for which one fails."""
    false = sum(result.violation is not None for result in results)
    held = "every declared gap holds" if not false else f"{false} with a declared gap that does not hold"
    return f"{held} on the words tried"


def gap_row(result: BoundResult) -> list[str]:
    """Return the table row of one result in `bound --gap`: the head with the least score gap over all lengths."""
    heads = [head for length in result.lengths for head in length.heads]
    tightest = min(
        (head for head in heads if head.score_gap is not None), key=lambda head: head.score_gap or 0, default=None
    )
    # All rows of all heads may have one score only; then there is no gap to show.
    gaps = (None, None) if tightest is None else (tightest.score_gap, tightest.declared_gap)
    return [
        *(named(result.input, result.regime), "yes" if result.violation is None else "NO"),
        count(sum(length.words for length in result.lengths)),
        str(result.lengths[-1].n if result.lengths else 0),
        *map(short, gaps),
    ]


def print_summary(screen: Screen, results: Sequence[BoundResult]) -> None:
    """Print a table with a row for each result, at the largest length of the result."""
    screen.table(SUMMARY_COLUMNS, [summary_row(result) for result in results if result.lengths])


def summary_row(result: BoundResult) -> list[str]:
    """Return the table row of one result, at its largest length."""
    last = result.lengths[-1]
    return [
        named(result.input, result.regime),
        result.verdict + " (partial)" * result.partial,
        str(last.n),
        *map(short, (last.score_gap, last.error)),
        "any" if last.score_gap is None and last.right is None else short(last.right),
        short(last.wrong),
    ]


# ---- the least beta ----

CRITICAL_COLUMNS = columns(
    "n", "wrong\nat beta", "right\nat beta", "temperature\nconstant", "<bracket", "words tried", "=wrong on",
)  # fmt: skip
EXACT_COLUMNS = columns(
    "n", "largest\ntemperature", "over the\nschedule", "words\ntried", "<proved\nright", "<row that decides"
)
CRITICALS_COLUMNS = columns("<input", "wrong\nat beta", "right at\nevery length", "<bracket", "beta\nused")
LONGEST = 40
"""Largest number of symbols of a word that a table shows in full; a longer word is shown as runs."""


def print_critical(screen: Screen, result: CriticalResult, alphabet: Sequence[str], tables: bool) -> None:
    """Print the block of one `bound --critical` result: brackets by length, then conclusions for every length."""
    screen.head(result.input, [*titles(result), ("model", model_line(result.model))])
    if tables:
        screen.raw()
        screen.table(CRITICAL_COLUMNS, [bracket_row(bracket, alphabet) for bracket in result.lengths])
        if result.hard_up_to:
            screen.raw()
            weighting = SoftWeighting(result.model.weighting)
            # The cutoff of a format is an integer: there the exact bound is a little higher.
            least = "the largest" if weighting is SoftWeighting.SPARSEMAX else "a"
            screen.line(f"  {least} temperature up to which {weighting.text} has all weights of hard attention:")
            screen.table(EXACT_COLUMNS, [exact_row(row, alphabet) for row in result.hard_up_to])
    screen.raw()
    print_conclusions(screen, result, alphabet)
    screen.raw()


def print_conclusions(screen: Screen, result: CriticalResult, alphabet: Sequence[str]) -> None:
    """Print the conclusions for every length, and the word that is wrong at the largest beta."""
    for text in conclusions(result):
        screen.line(f"  {text}")
    if result.every_length.word is not None:
        screen.word("The word that is wrong at the largest beta", result.every_length.word, alphabet)


def bracket_row(bracket: Bracket, alphabet: Sequence[str]) -> list[str]:
    """Return the table row of one length: the two ends of the bracket of beta, and the wrong word."""
    return [
        str(bracket.n),
        *map(beta_text, (bracket.wrong_at, bracket.right_at)),
        short(bracket.temperature_constant),
        "closed" if bracket.closed else "open",
        f"all {count(bracket.tried)}" if bracket.exhaustive else count(bracket.tried),
        NOTHING if bracket.word is None else brief(bracket.word, alphabet),
    ]


def exact_row(row: HardUpTo, alphabet: Sequence[str]) -> list[str]:
    """Return the table row of one length: the largest temperature at which all weights are exact."""
    exact = (NOTHING if number is None else str(number) for number in (row.temperature, row.constant))
    tried = f"all {count(row.words)}" if row.exhaustive else count(row.words)
    where = NOTHING if row.word is None else f"{row.head} at {row.query} of {brief(row.word, alphabet)}"
    return [str(row.n), *exact, tried, "all words" if row.proved else NOTHING, where]


def conclusions(result: CriticalResult) -> list[str]:
    """Return lines that state what is known for every length, how it was found, and the constants in use beside it."""
    every = result.every_length
    lines = []
    if result.partial:
        lines.append("every length: no proof was tried, because the search was interrupted")
    elif result.formula is None:
        lines.append(f"every length: no proof was tried: {result.reason}")
    elif every.right_at is None:
        lines.append(f"every length: not proved at any beta up to {beta_text(LARGEST)}: {result.reason}")
    else:
        lines.append(
            f"every length: right at beta {beta_text(every.right_at)}, temperature constant {short(1 / every.right_at)}"
        )
        lines += [] if result.deciding is None else [f"  decided by head {decided(result.deciding, every.right_at)}"]
    if every.wrong_at is None:
        lines.append("no wrong word was found at any beta tried")
    else:
        lines.append(f"wrong at beta {beta_text(every.wrong_at)} on a word of length {every.n}")
    if every.closed:
        lines.append(f"the bracket is closed: a wrong word was found within {beta_text(WIDTH)} of the proved beta")
    elif every.right_at is not None:
        lines.append(
            f"the bracket is open: none of the {count(every.tried)} words tried is wrong that close to the proved beta "
            "(there may be no such word)"
        )
        lines.append(f"  this would close it: {result.missing}")
        inside = result.inside
        if inside is not None:
            close = (
                "the bracket for the Booleans inside the network is closed" if inside.closed else
                "the Booleans inside the network come closer"
            )  # fmt: skip
            lines.append(
                f"  {close}: one is inexact at beta {beta_text(inside.wrong_at)} on a word of length {inside.n}"
            )
            lines.append("  but is rounded again where it is read, so the output is right on the words tried")
    paper = f"; Lemma 6 needs 2 ln 7 = {result.lemma_6:.4f}" if result.lemma_6 else ""
    # Programs have a temperature that beta divides; formulas have the regime's.
    over = "" if result.schedule is None else f", which divides the temperature {result.schedule}"
    lines.append(f"beta in use: {beta_text(result.beta_used)}{over}{paper}")
    if result.partial:
        lines.append("interrupted: some lengths are missing")
    return lines


def decided(head: HeadProof, beta: Fraction) -> str:
    """Return a text that names the head with the least margin in a proof for every length at `beta`, and bounds its
    error."""
    if head.argument is None:
        return head.name if head.worst is None else f"{head.name}, at {head.worst.summary}"
    argument = head.argument
    if argument.bound == PRODUCT:
        return f"{head.name}: its error is at most {argument.bound} = {at_most(argument.error)}"
    rate = "" if argument.g is None else f" with g = {argument.g / beta} beta, x = e^-g"
    return f"{head.name}: its error is at most {argument.bound}{rate}"


def brief(word: Word, alphabet: Sequence[str]) -> str:
    """Return a word as text; a long word is written as runs, such as `a*40 b`."""
    if len(word) <= LONGEST:
        return written_word(word, alphabet)
    runs = [(symbol, len(list(part))) for symbol, part in groupby(word)]
    return " ".join(symbol if size == 1 else f"{symbol}*{size}" for symbol, size in runs)


def print_criticals(screen: Screen, results: Sequence[CriticalResult]) -> None:
    """Print a table with a row for each `bound --critical` result."""
    rows = []
    for result in results:
        every = result.every_length
        bracket = [beta_text(every.wrong_at), beta_text(every.right_at), "closed" if every.closed else "open"]
        rows.append([named(result.input, result.model.regime), *bracket, beta_text(result.beta_used)])
    screen.table(CRITICALS_COLUMNS, rows)
