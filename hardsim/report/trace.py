"""Print the results of `trace`: one word, position by position."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.lang.words import shown_word
from hardsim.measuring.trace import TraceHead, TraceResult
from hardsim.records import NOTHING, at_most, short
from hardsim.report.check import model_line, print_evaluations
from hardsim.report.network import print_outputs
from hardsim.report.screen import Field, Screen, columns

DETAILS = columns("position", "<symbol", "<looks at", "weight\nthere", "score\ngap", "~hard", "~soft", "error")


def print_trace(screen: Screen, result: TraceResult, names: Sequence[str], alphabet: Sequence[str]) -> None:
    """Print the word through all layers, or, for the heads in `names`, what each head reads at each position."""
    # An external network has no hard attention to compare with.
    external = result.kind == "network"
    soft = result.model.weighting.partition(":")[0]  # the line of the network names its exponentials
    looked = f"{soft} weight at the positions where hard attention looks, at least"
    message = "softmax weight at the largest logits, at least; logits that cannot be told apart count as equal"
    facts = [
        ("word", shown_word(result.word, alphabet)),
        ("network", model_line(result.model)),
        ("weight", message if external else looked),
    ]
    error = f"difference between the values of {soft} and hard attention, at most"
    screen.head(result.input, facts if external else [*facts, ("error", error)])
    if names:
        for head in result.chosen(names):
            _print_head(screen, result, head)
    else:
        for layer in result.layers:
            first, *places = result.columns(layer)
            screen.block([Field(first, "left"), *map(Field, places)], result.rows(layer))
    if external:
        print_outputs(screen, [result.answers], alphabet)
    else:
        screen.raw()
        print_evaluations(screen, [result.answers], alphabet)
        screen.raw()


def _print_head(screen: Screen, result: TraceResult, head: TraceHead) -> None:
    """Print a table of one head, with a row for each position."""
    screen.raw()
    purpose = f": {head.purpose}" if head.purpose else ""
    screen.line((f"layer {head.layer}, head {head.name}", "bold"), purpose)
    if len(head.outputs) > 1:
        screen.line(f"  reads {', '.join(head.outputs)}", hang=2)
    rows = [
        [
            str(read.query),
            result.symbols[read.query - result.first],
            read.looks,
            read.at_least,
            NOTHING if read.gap is None else short(read.gap),
            ", ".join(map(short, read.hard)) or None,
            ", ".join(map(short, read.soft)) or None,
            None if read.error is None else at_most(read.error),
        ]
        for read in head.reads
    ]
    screen.table(DETAILS, rows)
