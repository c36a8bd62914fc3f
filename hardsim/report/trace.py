"""What is printed of a word, position by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor

from hardsim.checking.trace import TraceHead, TraceRead, TraceResult, TraceValue
from hardsim.lang.pretty import shortened
from hardsim.lang.words import shown_word
from hardsim.records import short
from hardsim.report.check import model_line, print_evaluations
from hardsim.report.network import print_outputs
from hardsim.report.numbers import NOTHING, output_text
from hardsim.report.screen import Field, Screen, columns

LONGEST_LABEL = 28
"""Characters of what a row is about."""
MOST_KEYS = 3
"""Positions that are listed where several have the largest score."""
ZERO, TINY = Fraction(0), Fraction(1, 10**9)
"""Below the second a number is shown as less than it, or as 0."""
DETAILS = columns("position", "<symbol", "<looks at", "weight\nthere", "score\ngap", "~hard", "~soft", "error")


def print_trace(screen: Screen, result: TraceResult, names: Sequence[str], alphabet: Sequence[str]) -> None:
    """The word through the layers; or position by position what some heads read."""
    screen.head(
        result.input,
        [
            ("word", shown_word(result.word, alphabet)),
            ("network", model_line(result.model)),
            ("weight", "of softmax where hard attention looks, at least"),
            ("error", "of softmax against hard attention, at most"),
        ],
    )
    if names:
        for head in result.chosen(names):
            _print_head(screen, result, head)
    else:
        for layer in range(1, result.model.layers + 1):
            _print_layer(screen, result, layer)
    screen.raw()
    if result.kind == "network":
        print_outputs(screen, [result.answers], alphabet)
    else:
        print_evaluations(screen, [result.answers], alphabet)
        screen.raw()


def _print_layer(screen: Screen, result: TraceResult, layer: int) -> None:
    """Rows for heads and coordinates, columns for positions."""
    rows = [row for head in result.heads if head.layer == layer for row in _looks(head)]
    for value in result.values:
        if value.layer == layer:
            rows += _holds(value)
    fields = [Field(f"layer {layer}", "left")]
    fields += [Field(f"{result.first + place}\n{symbol}") for place, symbol in enumerate(result.symbols)]
    screen.block(fields, rows)


def _looks(head: TraceHead) -> Iterator[list[str]]:
    """Where a head looks, and how hard."""
    yield [f"head {head.name} looks at", *(looked_text(read) for read in head.reads)]
    if not head.uniform:
        yield ["  weight there", *(_least(read.weight) if read.keys else NOTHING for read in head.reads)]


def _holds(value: TraceValue) -> Iterator[list[str]]:
    """What a coordinate holds."""
    about = shortened(value.holds, LONGEST_LABEL - len(value.coordinate)) if value.holds else ""
    hard, soft = [short(one) for one in value.hard], [short(one if abs(one) > TINY else ZERO) for one in value.soft]
    yield [f"{value.coordinate}{about and f': {about}'}", *hard]
    if hard != soft:
        yield ["  soft", *soft]
    if any(value.error):
        yield ["  error", *(short(one) if one > TINY or not one else "<1e-9" for one in value.error)]
    if value.margin is not None:
        yield ["  margin", *map(short, value.margin)]


def looked_text(read: TraceRead) -> str:
    """The positions at which hard attention looks."""
    keys = read.keys
    if len(keys) > MOST_KEYS and keys[-1] - keys[0] == len(keys) - 1:
        return f"{keys[0]}-{keys[-1]}"
    more = f",... ({len(keys)})" if len(keys) > MOST_KEYS else ""
    return ",".join(map(str, keys[:MOST_KEYS])) + more if keys else NOTHING


def _least(weight: Fraction) -> str:
    """A weight in a narrow column, rounded down."""
    down = floor(weight * 1000) / 1000
    return "1" if weight == 1 else f">{down}" if down == 0.999 else str(down)


def _print_head(screen: Screen, result: TraceResult, head: TraceHead) -> None:
    """One head, position by position."""
    screen.raw()
    purpose = f": {head.purpose}" if head.purpose else ""
    screen.line((f"layer {head.layer}, head {head.name}", "bold"), purpose)
    if len(head.outputs) > 1:
        screen.line(f"  reads {', '.join(head.outputs)}", hang=2)
    rows = [
        [
            str(read.query),
            result.symbols[read.query - result.first],
            looked_text(read),
            output_text(read.weight) if read.keys else NOTHING,
            NOTHING if read.gap is None else short(read.gap),
            ", ".join(map(short, read.hard)) or None,
            ", ".join(map(short, read.soft)) or None,
            None if read.error is None else short(read.error),
        ]
        for read in head.reads
    ]
    screen.table(DETAILS, rows)
