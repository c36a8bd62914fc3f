"""Write the HTML page of `hardsim report`, which needs no other file, no network and no script.

All text from a file goes through `text`, which makes it visible and escapes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from hardsim.measuring.bound import BoundResult
from hardsim.measuring.trace import TraceResult
from hardsim.report.blocks import Block, Copied, Fact, Line, Table
from hardsim.report.maps import MOST_DRAWN, framed_rows, picture_of
from hardsim.report.parts import AGAIN, DECIMALS, Making, Part
from hardsim.report.plot import draw
from hardsim.report.screen import MATHS
from hardsim.visible import visible

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b }
h2 { border-top: 2px solid #1b1b1b; padding-top: .6rem; margin-top: 2.5rem; overflow-wrap: anywhere }
p { margin: .3rem 0 } ul { margin: .1rem 0 .5rem } dt { color: #555 } dd { margin: 0 0 .3rem 1.5rem }
code, pre, .maths { font-family: ui-monospace, monospace; font-size: .92em; overflow-wrap: anywhere }
code, pre { white-space: pre-wrap }
pre { background: #f3f3f3; padding: .4rem .7rem; margin: .3rem 0 }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .8rem 0; border-top: 2px solid; border-bottom: 2px solid }
th { border-bottom: 1px solid; vertical-align: bottom; font-weight: 600 }
td { vertical-align: top }
th, td { padding: .15rem .6rem; text-align: right } .left { text-align: left }
.theorem { border-left: 4px solid #0072b2; padding: .2rem 1rem; margin: 1rem 0; background: #f2f7fb }
.proof { padding-left: 1rem } .proof::after { content: "\\220e"; display: block; text-align: right }
.green { color: #00694b } .red { color: #a4000f } .yellow { color: #7a5500 }
td code { white-space: pre; overflow-wrap: normal }
svg:not(.maps) { width: 100%; height: auto }
@media print { body { max-width: none } .wide { overflow: visible } .maps { max-width: 100%; height: auto } }
@media screen and (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #141414 } h2 { border-color: #e6e6e6 } dt { color: #a8a8a8 }
  pre { background: #262626 } a { color: #7ab8ff } svg:not(.maps) { background: #fff } .theorem { background: #17222c }
  .green { color: #4ac26b } .red { color: #ff7b72 } .yellow { color: #d4a72c }
}
"""
HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
"""
RELATIONS = {"&lt;=": "≤", "&gt;=": "≥"}


def render(parts: Sequence[Part], origin: Making, drawable: bool) -> str:
    """Return the page. `drawable`: matplotlib is there to draw the pictures."""
    title = f"hardsim report: {parts[0].check.input}" if len(parts) == 1 else "hardsim report"
    body = [f"<h1>{text(title)}</h1>", f"<p>{text(DECIMALS)}</p>"]
    # Several parts need a table of contents.
    if len(parts) > 1:
        items = (
            f'<li><a href="#part{k}">{text(part.title)}</a>: {part.check.verdict}</li>' for k, part in enumerate(parts)
        )
        body.append(f"<ul>{''.join(items)}</ul>")
    for number, part in enumerate(parts):
        body += [f'<h2 id="part{number}">{text(part.title)}</h2>', blocks(part.checked)]
        body += [] if part.wrong is None else ["<h3>The word on which answers differ</h3>", _maps(part.wrong, number)]
        body += _every_length(part)
        if part.bound is not None:
            body += ["<h3>Gaps, temperatures and errors</h3>", blocks(part.bounded)]
            body += [_picture(part.bound, number)] if drawable and part.bound.lengths else []
    body += [f"<h2>Not done</h2>{blocks(map(Copied, origin.failures))}"] if origin.failures else []
    body += ["<h2>How it was made</h2>", f"<p>{text(AGAIN)}</p>", f"<pre>{text(origin.command)}</pre>"]
    for head, rows in (("version of", origin.versions), ("SHA-256 of", origin.hashes)):
        cells = (
            f'<tr><td class="left">{text(a)}</td><td class="left"><code>{text(b)}</code></td></tr>' for a, b in rows
        )
        body.append(f'<table><tr><th class="left">{head}</th><th></th></tr>{"".join(cells)}</table>')
    whole = "\n".join(body)
    return f"{HEAD}<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{whole}\n</body>\n</html>\n"


def text(given: str) -> str:
    """Return a text as HTML that shows its characters."""
    return escape(visible(given))


def blocks(found: Iterable[Block]) -> str:
    """Return blocks as HTML; consecutive facts and consecutive indented lines become lists."""
    parts = list[str]()
    for kind, some in groupby(found, _kind):
        inner, around = [_block(one) for one in some], {"item": "ul", "Fact": "dl"}.get(kind)
        parts += [f"<{around}>{''.join(inner)}</{around}>"] if around else inner
    return "\n".join(parts)


def _kind(block: Block) -> str:
    if isinstance(block, Line):
        return "item" if block.depth > 1 else "line"
    return type(block).__name__


def _block(block: Block) -> str:
    match block:
        case Line(parts, depth):
            tag = "li" if depth > 1 else "p"
            return f"<{tag}>{''.join(_styled(*part) for part in parts)}</{tag}>"
        case Copied(word):
            return f"<pre>{text(word)}</pre>"
        case Fact(label, said, words):
            inner = " &ensp; ".join(f"<code>{text(word)}</code>" for word in words) or text(said)
            return f"<dt>{text(label)}</dt><dd>{inner}</dd>"
        case Table(columns, rows):
            left = [' class="left"' * (column.align == "left") for column in columns]
            # Wide tables scroll by themselves, so that the page keeps its width.
            names = [column.header.replace("\n", " ") for column in columns]
            heads = "".join(f"<th{how}>{text(head)}</th>" for how, head in zip(left, names, strict=True))
            cells = (_cells(left, row, [column.copied for column in columns]) for row in rows)
            return (
                f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(cells)}</tbody></table></div>'
            )


def _cells(left: Sequence[str], row: Sequence[str], copied: Sequence[bool]) -> str:
    cells = (
        f"<td{how}>{f'<code>{text(cell)}</code>' if code else text(cell)}</td>"
        for how, cell, code in zip(left, row, copied, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _styled(line_text: str, style: str) -> str:
    inner = text(line_text)
    if style == MATHS:
        return f'<span class="maths">{re.sub("&[lg]t;=", lambda found: RELATIONS[found[0]], inner)}</span>'
    return f'<b class="{style.removeprefix("bold").strip()}">{inner}</b>' if style else inner


def _every_length(part: Part) -> Iterator[str]:
    if part.proof is None:
        return
    yield "<h3>Every length</h3>"
    yield blocks(part.verdict)
    if part.theorem:
        yield f'<div class="theorem"><p><b>Theorem.</b> {text(part.theorem)}</p>{blocks(part.network)}</div>'
        yield f'<div class="proof"><p><b>Proof.</b></p>{blocks(part.argument)}</div>'


def _picture(result: BoundResult, number: int) -> str:
    return _inner(draw([result]).decode("utf-8"), f"part{number}-")


def _maps(result: TraceResult, number: int) -> str:
    """Return the attention maps of a word, first those of heads where softmax leaves hard attention, as many as a
    picture may have. They are not enlarged."""
    framed = [head for head in result.heads if framed_rows(head)]
    chosen = (framed or list(result.heads))[:MOST_DRAWN]
    inner = _inner(picture_of(result, chosen), f"word{number}-")
    return '<div class="wide">' + inner.replace("<svg ", '<svg class="maps" ', 1) + "</div>"


def _inner(drawn: str, prefix: str) -> str:
    """Return a picture as a part of a page. Its identifiers get a prefix, because all pictures of a page share one name
    space."""
    return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{prefix}", drawn[drawn.index("<svg") :])
