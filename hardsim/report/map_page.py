"""Write attention maps as an HTML page: one file with markup, style, script and numbers, which reads nothing else.

The header, the overview of all heads and the table of outputs are markup, so that they can be read without the script.
The script draws the maps from the numbers. All text of the user is escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from html import escape
from importlib.resources import files
from typing import Any

from hardsim.campaign.result import answers_summary, output_text
from hardsim.lang.pretty import shortened
from hardsim.lang.words import shown_word
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.trace import TraceHead, TraceResult
from hardsim.records import at_most, short
from hardsim.report.failing_cell import FailingCell, output_value, read_place, wrong_places
from hardsim.report.map_svg import COLOURS, LEFT_ALONE, MARKED, Pair
from hardsim.targets.result import Answer
from hardsim.visible import visible

PLACE = re.compile(r"<!--(\w+)-->|/\*(DATA)\*/null")
"""The places of the template that are filled."""
LONGEST_ANSWERS, LONGEST_FORMULA = 160, 600
"""Largest number of characters of the answers in the header, and of a title or a formula."""
SIGNS = {True: ("right", "\u2713"), False: ("wrong", "\u2717"), None: ("open", "?")}
"""Class and sign of a verdict, by whether the answers agree."""


def page(
    result: TraceResult, heads: Sequence[TraceHead], pairs: Sequence[Pair], verdict: str, failing: FailingCell | None
) -> str:
    """Return the page. `pairs` are the maps of `heads`, and `verdict` is a sentence about the answers. The head in
    which an answer goes wrong is selected first."""
    start = next((k for k, pair in enumerate(pairs) if pair.marked), 0)
    data = {
        "start": start,
        "first": result.first,
        "weighting": result.model.weighting,
        "colours": COLOURS,
        "symbols": [visible(symbol) for symbol in result.symbols],
        "heads": [_head(head, pair) for head, pair in zip(heads, pairs, strict=True)],
        "values": [
            {
                "layer": value.layer,
                "name": visible(value.coordinate),
                "holds": visible(value.holds),
                "hard": [_number(one) for one in value.hard],
                "soft": [_number(one) for one in value.soft],
                "error": list(map(at_most, value.error)),
            }
            for value in result.values
        ],
    }
    parts = {
        "TITLE": _text(_title(result)),
        "HEADER": "\n".join(_header(result, verdict, failing)),
        "OVERVIEW": "\n".join(_overview(heads, pairs, start, failing)),
        "WEIGHTING": _text(result.model.weighting),
        "SCALE": _scale(any(pair.framed for pair in pairs), any(pair.marked for pair in pairs)),
        "OUTPUT": "\n".join(_outputs(result)),
        # Inside a script nothing may look like its end, or like the beginning of another one.
        "DATA": json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c"),
    }
    template = files("hardsim.report").joinpath("maps.html").read_text(encoding="utf-8")
    # All places in one pass: no text of the user is taken for a place.
    return PLACE.sub(lambda found: parts[found[1] or found[2]], template)


def _text(given: str) -> str:
    return escape(visible(given))


def _title(result: TraceResult) -> str:
    return f"{result.input}: {shown_word(result.word, result.word)}"


def _header(result: TraceResult, verdict: str, failing: FailingCell | None) -> Iterator[str]:
    kind, sign = SIGNS[result.answers.agree if result.answers.decided else None]
    yield f"<h1>{_text(_title(result))}</h1>"
    answers = _text(shortened(answers_summary(result.answers), LONGEST_ANSWERS))
    yield f'<p><span class="verdict {kind}">{sign} {_text(verdict)}</span>: {answers}</p>'
    if failing is not None:
        yield f'<p class="wrong" id="failing">{MARKED}: {_text(failing.text)}</p>'
    for about in (result.title, result.formula):
        if about:
            yield f"<p>{_text(shortened(about, LONGEST_FORMULA))}</p>"
    yield f'<p class="dim">{_text(result.model.summary)}</p>'


def _overview(
    heads: Sequence[TraceHead], pairs: Sequence[Pair], start: int, failing: FailingCell | None
) -> Iterator[str]:
    """Yield a group for each layer, with a button for each head."""
    yield "<h2>All heads</h2>"
    for layer in sorted({head.layer for head in heads}):
        yield f'<h3>layer {layer}</h3><div class="heads" role="group" aria-label="layer {layer}">'
        for k, (head, pair) in enumerate(zip(heads, pairs, strict=True)):
            if head.layer == layer:
                yield _button(k, head, pair, k == start, failing is not None and failing.head is head)
        yield "</div>"


def _button(k: int, head: TraceHead, pair: Pair, chosen: bool, fails: bool) -> str:
    label = escape(f"{pair.title}{'; goes wrong here' * fails}")
    about = f'type="button" class="head" data-head="{k}" aria-pressed="{str(chosen).lower()}" aria-label="{label}"'
    thumbs = '<span class="thumbs"><canvas></canvas><canvas></canvas></span>'
    mark = '<span class="fails">\u2717 goes wrong here</span>' * fails
    purpose = f"<span>{_text(head.purpose)}</span>" if head.purpose else ""
    return f'<button {about}>{thumbs}<span class="name">{_text(head.name)}</span>{purpose}{mark}</button>'


def _scale(framed: bool, marked: bool) -> str:
    """Return the legend of the maps: the colours, and the signs that occur."""
    little = f'<span><span class="box"></span> {LEFT_ALONE}</span>' * framed
    thick = f'<span><span class="box thick"></span> {MARKED}: where the answer goes wrong</span>' * marked
    bar = '<span>weight 0 <span class="bar" id="bar"></span> 1</span>'
    unseen = '<span><span class="unseen"></span> not seen</span>'
    return f'<div class="scale">{bar}{unseen}{little}{thick}<span>rows read columns</span></div>'


# ---- the outputs ----

ACROSS = 12
"""Largest number of positions beside each other in a table of outputs."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table of outputs: a cell for each position, empty where there is no output."""

    name: str
    cells: Sequence[str]
    judged: bool = False
    """True for the answers of the network, among which wrong ones are marked."""


def _outputs(result: TraceResult) -> Iterator[str]:
    """Yield the tables of outputs, of at most ACROSS positions each, since paper does not scroll; nothing if no outputs
    are known."""
    caption, rows = _output_rows(result)
    if not rows:
        return
    wrong = set(wrong_places(result)) if result.answers.agree is False or not result.answers.decided else set()
    read = read_place(result)
    yield '<section class="wide" id="output" tabindex="0" role="region" aria-label="output">'
    for start in range(0, len(result.symbols), ACROSS):
        places = range(start, min(start + ACROSS, len(result.symbols)))
        yield f"<table>{f'<caption>{caption}</caption>' * (not start)}"
        yield '<thead><tr><th scope="col">position</th>'
        for k in places:
            kind = ' class="read"' if k == read else ""
            yield f'<th scope="col"{kind}>{k + result.first}<br>{_text(result.symbols[k])}</th>'
        yield "</tr></thead><tbody>"
        for row in rows:
            yield f'<tr><th scope="row">{_text(row.name)}</th>'
            for k in places:
                bad = ' class="bad"' if row.judged and k in wrong else ""
                yield f"<td{bad}>{_text(row.cells[k])}</td>"
            yield "</tr>"
        yield "</tbody></table>"
    yield "</section>"


def _output_rows(result: TraceResult) -> tuple[str, list[_Row]]:
    """Return the caption and the rows of the table of outputs."""
    answers, soft, size = result.answers, result.model.weighting, len(result.symbols)
    if answers.places:
        given = {one.position - result.first: (one.expected, one.answer) for one in answers.places}
        expected, found = (
            ["" if k not in given else given[k][side] or "\u2013" for k in range(size)] for side in range(2)
        )
        rows = [_Row("expected", expected)] * any(one.expected is not None for one in answers.places)
        return "outputs of the network", [*rows, _Row("network", found, judged=True)]
    value = output_value(result)
    if value is not None:
        name = f"{value.coordinate}: {value.holds}" if value.holds else value.coordinate
        caption = f"output: {_text(name)}, read at position {(read_place(result) or 0) + result.first}"
        rows = [
            _Row("hard attention", list(map(short, value.hard))),
            _Row(soft, list(map(output_text, value.soft)), judged=True),
            _Row("error at most", list(map(at_most, value.error))),
        ]
        return caption, rows + ([] if value.margin is None else [_Row("margin", list(map(short, value.margin)))])
    named: list[tuple[str, Answer]] = [("semantics", answers.oracle), ("hard attention", answers.hard)]
    rows = [
        _Row(name, _spread(answer, size), judged=name == soft)
        for name, answer in (*named, (soft, answers.soft))
        if isinstance(answer, tuple) and len(answer) == len(result.word)
    ]
    return "output word", rows


def _spread(answer: Sequence[object], size: int) -> list[str]:
    """Return the parts of an output word at the positions of the word; what stands before the word has none."""
    return [*[""] * (size - len(answer)), *("?" if one is None else str(one) for one in answer)]


# ---- the numbers ----


def _number(value: Fraction) -> float | str:
    """Return a number as a float for a script, or as the text that a table shows if it is out of the range of
    floats."""
    with suppress(OverflowError):
        if (near := float(value)) or not value:
            return near
    return short(value)


def _head(head: TraceHead, pair: Pair) -> dict[str, Any]:
    return {
        "layer": head.layer,
        "name": visible(head.name),
        "title": pair.title,
        "hard": pair.hard,
        "soft": pair.soft,
        "framed": pair.framed,
        "marked": pair.marked,
        "reads": [
            {
                "looks": read.looks,
                "weight": read.at_least,
                "gap": None if read.gap is None else _number(read.gap),
                "error": None if read.error is None else at_most(read.error),
            }
            for read in head.reads
        ],
    }
