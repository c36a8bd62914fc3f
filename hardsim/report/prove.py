"""Print the results of `hardsim prove`: one block per input and regime, then a summary if there is more than one.

The argument for every length is printed in a form that can be checked by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hardsim.campaign.explanation import command_for
from hardsim.campaign.result import CheckResult, Verdict, span_text
from hardsim.proof.programs.every_length import HeadDecay, ProgramArgument
from hardsim.proof.shared.result import HeadArgument, HeadProof, Proof, WorstCase
from hardsim.proving.confirmation import Confirmation
from hardsim.proving.external import NetworkProof
from hardsim.proving.prove import LengthProof, ProofResult
from hardsim.proving.rocq.outcome import RocqCheck
from hardsim.records import NOTHING, at_least, at_most, short
from hardsim.report.check import (
    STYLES,
    answers,
    is_stored,
    model_line,
    named,
    next_in_network,
    print_headline,
    print_parting,
    print_shown,
    titles,
)
from hardsim.report.screen import MATHS, Screen, columns

METHOD = (
    "Every length: `i` is the query, `w` the position that should win, `j` another one, `c` a count; `l` are logits in "
    "nats.",
    "An inequality is checked with positions written as sums of numbers `>= 0` (for `1 <= j < w <= i <= n`: "
    "`j = 1 + a`, `w = j + 1 + b`, `i = w + c`, `n = i + d`): the coefficients of (left - right) times the denominator "
    "are all `>= 0`.",
)
PRODUCT = "1/g"
"""The bound of a head of geometric attention, as `proof.formulas.geometric` states it."""
GEOMETRIC_METHOD = (
    "Geometric attention: `l(w)` is the logit of a selected position, and that of others is at most `-l(w)`. With "
    "`x = 1/(1 + e^l(w))`, the nearest selected one of `m` visible positions has a weight of at least `(1 - x)^m`, and "
    "where its value is 0 the others weigh at most `x` in all."
)
"""Text printed above an argument about geometric attention, after the others."""
PROGRAM_METHOD = (
    "Every length: `n` is the length with its padding. After each layer every coordinate is off by at most `E(n) = "
    "A n^p e^(-r n)`. The scores of a head are then off by `eta`, a multiple of `E` of the layer before. Where "
    "`eta/tau <= 1/2` and `gap/tau >= r n`, its weights are off by at most `2 e n e^(-r n)`, without the `e` if "
    "`eta = 0`.",
    "An inequality `F n^s e^(-r n) <= M` is checked at `n = N0 >= s/r`; from there on its left side falls. A clip is "
    "exact if its input is off by at most `M`, the distance of its hard inputs from where it is not constant. Lengths "
    "below `N0` were checked one by one, at the same temperature.",
)
"""Text printed above every argument about a program, with formulas between backquotes."""
EXACT_METHOD = (
    "Every length: `n` is the length with its padding. The weights of a row are exactly those of hard attention if its "
    "gap over the temperature is at least the cutoff of the weighting (1 for sparsemax; else where exponentials are "
    "rounded to 0), ties included, so no layer has an error. Lengths below `N0` were checked one by one, at the same "
    "temperature."
)
"""Text printed above an argument about a weighting with a cutoff in place of the others."""
TIES_METHOD = "Weights of a head are off by `eta/tau` more where several positions may have its largest score."
"""Text added if an argument has heads with ties and errors before them."""
POWERS_METHOD = (
    "Where `gap/tau >= s L`, `L = log(n + 1)`, weights are off by at most `2 e n (n + 1)^-s`, so that errors fall as "
    "powers of `n`: `E(n) = A n^p` with `p < 0`. An inequality of powers that holds at `N0` holds at all larger `n`."
)
"""Text added if an argument has an error that falls only as a power of n."""
HEAD_COLUMNS = columns(
    "<head", "layer", "largest\nerror", "least\nmargin", "at n", "at i", "should\nread",
    "~local types in the worst case",
)  # fmt: skip
SUMMARY_COLUMNS = columns("<input", "<verdict", "lengths", "least\nmargin")
LENGTH_COLUMNS = columns(
    "n", "<proved by", "temperature", "error\nbound", "distance from\nthe threshold",
    "~if not, why",
)  # fmt: skip
SHOWN_RUNS = 4
"""Largest number of runs of equal types around the winner that a table shows; the JSON document has all."""


def print_proof(screen: Screen, result: ProofResult, alphabet: Sequence[str], tables: bool) -> None:
    """Print the block of one result. `tables` adds a row per head (formula) or per length (model or program)."""
    subject = result.subject
    print_proof_verdict(screen, result, alphabet)
    screen.facts([*titles(result), ("network", None if result.proof is None else model_line(subject.facts))])
    print_shown(screen, result.shown, alphabet)
    if result.proof is not None:
        _print_links(screen, result.proof, result.all_n, tables)
        if result.second is not None and result.second.made:
            screen.line(f"  link 2 a second time, by automata, for every length -- {result.second.summary}")
    if result.argument is not None and result.argument.proved and tables:
        print_program_argument(screen, result.argument)
    if tables and result.lengths:
        screen.block(LENGTH_COLUMNS, [length_row(length) for length in result.lengths])
    screen.raw()


def print_proof_verdict(screen: Screen, result: ProofResult, alphabet: Sequence[str]) -> None:
    """Print the verdict with its reach; for a failure, also the word, the answers and the next step."""
    subject = result.subject
    name = named(result.input, subject.facts.regime)
    verdict = result.verdict.value
    if result.rocq is not None and result.rocq.verdict == "checked":
        verdict = f"{verdict}, checked by Rocq {result.rocq.coqc}"
    print_headline(screen, verdict, STYLES[result.verdict], name, result.reach)
    print_confirmation(screen, result.confirmed, result.min_n)
    print_theorem(screen, result.rocq)
    mismatch = result.mismatch
    if mismatch is not None:
        what = "The word" if result.proof is None else "The shortest refuting word found"
        screen.word(what, mismatch.word, alphabet)
        facts = subject.facts
        screen.line(f"  {answers(mismatch, facts, alphabet, rounds=result.proof is not None)}")
        print_parting(screen, result.parting, mismatch, facts)
        what = "formula" if result.proof is not None else "program"
        step = next_in_network(facts, mismatch, what, subject.own, is_stored(subject.name))
        if step is not None:
            screen.line(f"  {step}")
    elif result.hard_undecided is not None:
        screen.word("The word", result.hard_undecided.word, alphabet)
    word = result.word
    if word is not None:
        screen.line("  More about this word:")
        screen.raw(command_for(subject, word))


def _print_links(screen: Screen, proof: Proof, general: Proof | None, tables: bool) -> None:
    """Print the heads with their worst cases, the argument for every length, and the state of each link of the
    proof."""
    if tables:
        # Exact heads have no error to list.
        screen.block(HEAD_COLUMNS, [head_row(head) for head in proof.heads if not head.exact])
    if general is not None:
        print_argument(screen, general, tables)
    screen.raw()
    for number, link in enumerate(proof.links, start=1):
        reason = "" if link.reason is None else f": {link.reason}"
        screen.line(f"  link {number}: {link.claim} -- {'proved' if link.proved else 'not proved'}{reason}")
        if link is proof.network and link.cases:
            case = link.cases[0]
            expected = "a count" if case.value is None else short(case.value)
            where = f"length {case.n}, query {case.i}, should read {expected}, off by up to {at_most(case.error)}"
            types = f"; {types_text(case)}" if case.types else ""
            screen.line(f"    the shortest such case: {where}, margin {at_least(case.margin)}{types}")


def print_confirmation(screen: Screen, found: Confirmation | None, min_n: int) -> None:
    """Print how many words were run after a proof, and with which result."""
    if found is None:
        return
    text = f"{found.words:,} words were also run"
    if not found.words:
        text = "no word was run" + ("" if found.partial else ": words of this length take too long")
    if found.words and found.every_word_to:
        text += f", every one of {span_text(min_n, found.every_word_to)}"
    if found.longest > found.every_word_to:
        # Words that the proof's worst cases suggest may be longer than the lengths tried in full.
        text += f"{' and some' if found.every_word_to else ', some'} of up to {found.longest:,} symbols"
    if found.words > found.undecided:
        text += ": each answer is as proved"
    if found.undecided:
        text += f"; on {found.undecided:,} of them no answer was reached, which decides nothing"
    if found.partial:
        text += " (interrupted: not all planned words were run)"
    screen.line(f"  {text}")


def print_theorem(screen: Screen, theorem: RocqCheck | None) -> None:
    """Print where a Rocq theorem is, and what Rocq said of it."""
    if theorem is None:
        return
    screen.line(f"  Rocq theorem {theorem.instance} in {theorem.folder}: {theorem_text(theorem)}")
    if theorem.axioms:
        screen.line(f"    axioms: {', '.join(theorem.axioms)}")


def theorem_text(theorem: RocqCheck) -> str:
    """Return the state of a Rocq theorem in words."""
    if theorem.verdict == "checked":
        return f"checked in {short(theorem.seconds)} seconds; `make` there checks it again"
    if theorem.verdict == "rejected":
        return f"rejected by Rocq {theorem.coqc}: {theorem.reason}. The proof by hardsim stands"
    if theorem.coqc is None:
        return "not checked, as neither coqc nor rocq is on the path; `make` there checks it"
    if theorem.reason is not None:
        return f"not checked by Rocq {theorem.coqc}: {theorem.reason}"
    return "not checked, as Rocq was interrupted; `make` there checks it"


def head_row(head: HeadProof) -> list[str]:
    """Return the table row of a head with its worst case over all words."""
    case = head.worst
    if case is None:
        return [head.name, str(head.layer), *([NOTHING] * 5), "no clip reads it"]
    expected = "count" if case.value is None else short(case.value)
    numbers = [at_most(case.error), at_least(case.margin), str(case.n), str(case.i)]
    return [head.name, str(head.layer), *numbers, expected, types_text(case)]


def length_row(length: LengthProof) -> list[str]:
    """Return the table row of one length of a model or program."""
    numbers = short(length.temperature), at_most(length.bound), at_least(length.distance)
    return [str(length.n), length.proved_by or "not proved", *numbers, length.reason or NOTHING]


def types_text(case: WorstCase) -> str:
    """Return the local types that attain a worst case, as text: runs of positions with their type."""
    if not case.types:
        return "any" if case.value is None else NOTHING
    parts = [f"{run.first}{'' if run.first == run.last else f'-{run.last}'}: {run.type}" for run in case.types]
    if len(parts) > SHOWN_RUNS:
        # The winner decides the worst case, so its neighbourhood is shown.
        place = next((k for k, run in enumerate(case.types) if run.first == case.winner), 0)
        start = max(0, min(place - 2, len(parts) - SHOWN_RUNS))
        ends = ["..."] if start + SHOWN_RUNS < len(parts) else []
        parts = [*(["..."] if start else []), *parts[start : start + SHOWN_RUNS], *ends]
    return "; ".join(parts)


def print_proofs(screen: Screen, results: Sequence[ProofResult | NetworkProof | CheckResult]) -> None:
    """Print a row for each result, if there are at least two. Only proofs by heads have a least margin."""
    if len(results) > 1:
        screen.table(SUMMARY_COLUMNS, [_summary_row(result) for result in results])


def _summary_row(result: ProofResult | NetworkProof | CheckResult) -> list[str | None]:
    """Return the row of one result: its input, its verdict, its lengths, and the least margin of its heads. The lengths
    are those that are proved, or else those that were asked for; of an external network without a proof, those of the
    words tried."""
    name, margin = result.input, None
    if isinstance(result, NetworkProof):
        proved = result.prefix_proof.proved_to if result.verdict is Verdict.PROVED else None
        lengths = _lengths_text(result.subject.shortest, result.max_n if proved is None else proved)
    elif isinstance(result, CheckResult):
        tried = [length.n for length in result.judged]
        lengths = _lengths_text(min(tried), max(tried)) if tried else NOTHING
    else:
        name = named(name, result.subject.regime)
        lengths = "every" if result.every_length else _lengths_text(result.min_n, result.max_n)
        margin = None if result.proof is None else at_least(result.proof.margin)
    return [name, result.verdict.value, lengths, margin]


def _lengths_text(first: int, last: int) -> str:
    """Return the lengths from `first` to `last` as a cell of a table."""
    return str(last) if first == last > 1 else f"{first}-{last}"


# ---- the argument for every length ----


def prose(text: str) -> list[tuple[str, str]]:
    """Return the parts of a text with their styles: parts between backquotes are formulas. Names chosen by a user must
    not be in the text, because they may contain backquotes."""
    return [(part, MATHS if place % 2 else "") for place, part in enumerate(text.split("`"))]


def print_every_length(screen: Screen, result: ProofResult) -> None:
    """Print only the argument for every length, with the lengths that it checks one by one."""
    if result.all_n is not None:
        print_argument(screen, result.all_n, tables=True)
    elif result.argument is not None:
        print_program_argument(screen, result.argument)
        screen.block(LENGTH_COLUMNS, [length_row(length) for length in result.lengths])


def print_argument(screen: Screen, proof: Proof, tables: bool) -> None:
    """Print the argument for every length, with equal heads together. Without `tables` print only whether each link is
    proved."""
    screen.raw()
    if tables:
        bounds = {head.argument.bound for head in proof.heads if head.argument is not None}
        for text in (*METHOD, *((GEOMETRIC_METHOD,) if PRODUCT in bounds else ())) if bounds else ():
            screen.line(*prose(f"  {text}"))
        for heads in alike(proof):
            _print_heads(screen, heads)
        if proof.predicates:
            screen.line(f"  treated as Booleans with unknown values: {'; '.join(proof.predicates)}")
        if proof.temperatures:
            screen.line(
                f"  logits l are computed at an upper bound of the temperature: {'; '.join(proof.temperatures)}"
            )
    for number, link in enumerate(proof.links, start=1):
        reason = "proved" if link.proved else f"not proved: {link.reason}"
        screen.line(f"  every length, link {number}: {link.claim} -- {reason}")


def print_program_argument(screen: Screen, argument: ProgramArgument) -> None:
    """Print the argument for every length of a program, with heads of the same gap together."""
    screen.raw()
    # The method is described only as far as this argument uses it.
    tied = any(head.factor and not head.unique for head in argument.heads)
    slow = any(head.logarithms is not None for head in argument.heads)
    exact = any(head.least is not None for head in argument.heads)
    method = [EXACT_METHOD] if exact else PROGRAM_METHOD
    for text in (*method, *([TIES_METHOD] if tied else []), *([POWERS_METHOD] if slow else [])):
        screen.line(*prose(f"  {text}"))
    sizes = f"`N0 = {argument.start}`; sizes are at most `{argument.size}`"
    screen.line(*prose(f"  `tau = {argument.temperature}`; {sizes}"))
    if argument.inverse:
        below, above, *logarithmic = argument.inverse
        lowers = " and ".join(f"`1/tau >= {one}`" for one in (below, *logarithmic))
        screen.line(*prose(f"  for `gap/tau`: {lowers}; for `eta/tau`: `1/tau <= {above}`"))
    # Heads with the same numbers share their lines, which keeps the argument short enough to check.
    groups: dict[tuple[object, ...], list[HeadDecay]] = {}
    for head in argument.heads:
        groups.setdefault(
            (head.layer, head.rules, head.gap, head.rate, head.logarithms, head.factor, head.power, head.least), []
        ).append(head)
    for layer in argument.layers:
        for head, *others in (heads for heads in groups.values() if heads[0].layer == layer.layer):
            names = ", ".join(one.name for one in (head, *others))
            screen.line(f"  layer {layer.layer}, {'heads' if others else 'head'} {names}: {'; '.join(head.rules)}")
            over = [] if head.rate is None else [multiple_of(head.rate, "n")]
            over += [] if head.logarithms is None else [multiple_of(head.logarithms, "L")]
            over += [] if head.least is None else [str(head.least)]
            if over:
                found = f"`gap/tau >= {over[0]}`" if len(over) == 1 else f"`gap/tau >= {over[0]}` or `>= {over[1]}`"
                least = head.gap[0] if len(head.gap) == 1 else f"min({', '.join(head.gap)})"
                screen.line(*prose(f"    `gap >= {least}`, so {found}"))
            if head.factor:
                eta = f"eta <= {decaying(head.factor, head.power)} E(n)"
                screen.line(*prose(f"    `{eta}` of layer {layer.layer - 1}"))
        error = "0" if layer.rate is None else decaying(layer.factor, layer.power, layer.rate)
        screen.line(*prose(f"  after layer {layer.layer}: `E(n) = {error}`"))
    for check in argument.checks:
        left = f"{decaying(check.factor, check.power, check.rate)} <= {check.limit}"
        screen.line(f"  {check.what}: ", (left, MATHS), f" (at n = {argument.start}: {at_most(check.value)})")


def multiple_of(factor: Fraction, unit: str) -> str:
    """Return the product of a factor and a unit (such as n) as text."""
    return unit if factor == 1 else f"{factor} {unit}" if factor.denominator == 1 else f"({factor}) {unit}"


def decaying(factor: Fraction, power: int, rate: Fraction | None = None) -> str:
    """Return `factor n^power e^(-rate n)` as text."""
    rest = [f"n^{power}" if power != 1 else "n"] * (power != 0)
    rest += [f"e^(-{multiple_of(rate, 'n')})"] if rate else []
    alone = factor == 1 and bool(rest)
    return " ".join([*([] if alone else [str(factor) if factor.denominator == 1 else f"({factor})"]), *rest])


def alike(proof: Proof) -> list[list[HeadProof]]:
    """Return the heads that have an error, grouped by their argument."""
    groups: dict[HeadArgument, list[HeadProof]] = {}
    for head in proof.heads:
        if head.argument is not None:
            groups.setdefault(head.argument, []).append(head)
    return list(groups.values())


def _print_heads(screen: Screen, heads: list[HeadProof]) -> None:
    argument = heads[0].argument
    assert argument is not None
    names = ", ".join(head.name for head in heads)
    screen.line(f"  {'heads' if len(heads) > 1 else 'head'} {names}: {argument.shape}")
    for step in argument.inequalities:
        screen.line(*prose(f"    for `{step.order}`: `{step.larger} >= {times(step.rate, step.unit)}`"))
    if argument.exact:
        least = "" if argument.g is None else f"with `g = {argument.g} >= {argument.cutoff}` "
        screen.line(*prose(f"    so {least}wrong positions have no weight: there is no error"))
    elif argument.bound == PRODUCT:
        bound = f"`{argument.bound} <= {at_most(argument.error)}`"
        screen.line(*prose(f"    so with `g = {argument.g}` the error is at most {bound}"))
    elif argument.g is not None:
        bound = f"`{argument.bound} <= {at_most(argument.error)}`"
        lemma = f"; the paper's `{argument.lemma}` is about {short(argument.lemma_error)}" if argument.lemma else ""
        screen.line(*prose(f"    so with `g = {argument.g}` and `x = e^-g` the error is at most {bound}{lemma}"))
    for head in heads:
        for clip in head.clips:
            screen.line(f"    read by clip({clip})")
        if head.margin is not None:
            beyond = at_least(head.margin)
            message = f"is at most -{beyond} or at least 1 + {beyond}"
            if not head.margin:
                message = "is at most 0 or at least 1"
            if head.margin < 0:
                message = f"may lie up to {at_most(-head.margin)} inside [0, 1]"
            screen.line(f"    whose input {message}")


def times(rate: Fraction, unit: str) -> str:
    """Return the product of a rate and its unit as text."""
    factor = str(rate) if rate.denominator == 1 else f"({rate})"
    return factor if unit == "1" else f"{factor} ({unit})"
