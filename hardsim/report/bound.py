"""Print the results of `bound`: a block for each input, or a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hardsim.campaign.result import Verdict, printed_lengths
from hardsim.lang.words import written_word
from hardsim.measuring.bound import BoundHead, BoundLength, BoundResult
from hardsim.measuring.general_rate import RATE as THEOREM
from hardsim.measuring.general_rate import GeneralRate
from hardsim.records import NOTHING, short
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
)
from hardsim.report.screen import Screen, columns, tried_text
from hardsim.targets.result import count

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
