"""Print the results of `heads`: where the heads of an external network attend."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.campaign.result import output_text
from hardsim.measuring.head_patterns import NONE, HeadPattern, HeadsResult
from hardsim.records import NOTHING, short
from hardsim.report.screen import Screen, columns
from hardsim.targets.result import count, plural

HEAD_COLUMNS = columns("layer", "<head", "~attends to", "at", "queries", "least\ngap", "least\nweight", "ties")
MOST_LISTED = 8
"""Largest number of tied positions, or of tokens of a class, to list."""


def print_heads(screen: Screen, result: HeadsResult, alphabet: Sequence[str]) -> None:
    """Print a table with a row for each head, then the first tie of each head that has ties."""
    whole = [one for one in result.tried if one.exhaustive]
    reach = f"all up to length {len(whole)}" if whole and len(whole) == whole[-1].n else ""
    longest = f"of length {result.tried[0].n} to {result.tried[-1].n}" if result.tried else ""
    message = ", ".join(filter(None, [f"{plural(result.words, 'word')} {longest}".rstrip(), reach]))
    screen.head(
        result.input,
        [
            ("words", message + ("; interrupted, the other words were not tried" if result.partial else "")),
            ("queries", "positions that see at least two positions; positions count from 0 and include added tokens"),
            ("gap", "between the two largest logits, in nats, where it is certain which is the largest"),
            ("weight", "of the largest logit, together with logits that cannot be told apart from it"),
        ],
    )
    if not result.heads:
        screen.line("  this network has no heads")
    screen.block(HEAD_COLUMNS, [_row(head) for head in result.heads])
    for head in result.heads:
        _print_tie(screen, head, alphabet)
    screen.raw()


def pattern_text(head: HeadPattern) -> str:
    """Return the positions to which a head attends, in words."""
    if head.tokens is None:
        return head.pattern
    return f"{head.pattern}: {_listed(head.tokens, ' ')}"


def _listed(some: Sequence[object], between: str) -> str:
    more = [f"... ({count(len(some))} in all)"] if len(some) > MOST_LISTED else []
    return between.join([*map(str, some[:MOST_LISTED]), *more])


def share_text(head: HeadPattern) -> str:
    """Return the share of the queries at which the pattern of a head holds: "all", or a percentage rounded down,
    so that less than all queries never shows as 100.0%. A head without a pattern has no share."""
    # The share of "none" would be that of a pattern which was rejected.
    if head.pattern == NONE:
        return NOTHING
    return "all" if head.always else f"{1000 * head.holds // head.queries / 10:.1f}%"


def _row(head: HeadPattern) -> list[str | None]:
    return [
        str(head.layer),
        head.name,
        pattern_text(head),
        share_text(head),
        count(head.queries),
        NOTHING if head.gap is None else short(head.gap.value),
        NOTHING if head.weight is None else output_text(head.weight.value),
        count(head.ties),
    ]


def _print_tie(screen: Screen, head: HeadPattern, alphabet: Sequence[str]) -> None:
    if head.tie is None:
        return
    others = head.ties - head.exact_ties
    kinds = [f"{count(head.exact_ties)} of them exact"] if head.exact_ties else []
    kinds += [f"{count(others)} too close for float64 to tell"] if others else []
    screen.raw()
    ties = f"ties at {count(head.ties)} of {count(head.queries)} queries"
    screen.line((f"layer {head.layer}, head {head.name}", "bold"), f": {ties} ({', '.join(kinds)})")
    screen.word(
        f"  first at position {head.tie.query}, between the keys {_listed(head.tie.keys, ', ')}, of the word",
        head.tie.word,
        alphabet,
    )
