"""The line structure of `.ltl` files: header, definitions, formula."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.scanner import comment_starts
from hardsim.lang.vocabulary import HEADER_KEYS, NAME, brief

_REPEATED = frozenset({"accept", "reject"})
_PROGRAM_KEYS = frozenset({"map", "pad", "output", "rel"})
_HEADER = re.compile(r"(?P<key>[^\W\d][\w-]*)[^\S\n]*:(?P<value>[^\n]*)")
_DEFINITION = re.compile(r"(?P<key>let|pred)(?=\s|$)")
_LET = re.compile(r"let\s*(?P<name>[^\s=]*)\s*(?P<equals>=(?!=))?")
_PRED = re.compile(r"pred\s*(?P<name>[^\s=()]*)\s*(?P<params>\((?P<inside>[^()=\n]*)\))?\s*(?P<equals>=(?!=))?")


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """A `key: value` line; `value` is the value's place without the white space around it."""

    key: str
    at: Span
    value: Span


@dataclass(frozen=True, slots=True)
class DefinitionLine:
    """A `let` or `pred` with its continuation lines; `params` are the argument names of a `pred`."""

    kind: Literal["let", "pred"]
    name: str
    at: Span
    body: Span
    params: tuple[str, ...] = ()


@dataclass
class Layout:
    """The parts of a file, by place. `first` is the first thing that is no comment, `formula` is None if missing."""

    source: Source
    headers: list[HeaderLine] = field(default_factory=list)
    definitions: list[DefinitionLine] = field(default_factory=list)
    formula: Span | None = None
    title: str = ""
    first: Span | None = None

    def header(self, key: str) -> HeaderLine | None:
        """The (first) line of a key."""
        return next((line for line in self.headers if line.key == key), None)

    def value(self, line: HeaderLine) -> str:
        """The text of a header line after its key."""
        return self.source.text[line.value.start : line.value.end]

    @property
    def end(self) -> Span:
        """The place just after the last line that is not blank."""
        last = len(self.source.text.rstrip())
        return Span(last, last + 1)


def normalised(text: str) -> str:
    """The text without a byte order mark and with `\\n` as the only line end; spans are offsets in this."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _common_prefix(first: str, last: str) -> int:
    """The length of the longest common prefix; that of a sorted list is that of its first and last text."""
    pairs = zip(first, last, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(last)))


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is neither blank nor a comment, without the indentation that all lines share."""

    span: Span
    text: str
    indented: bool


def content_lines(source: Source) -> tuple[str, list[Line]]:
    """The title (the text of a comment in the first line that is not blank) and the lines with content, in order."""
    spans = [Span(*match.span()) for match in re.finditer(r"[^\n]*\S[^\n]*", source.text)]
    texts = [source.text[span.start : span.end] for span in spans]
    indents = sorted(text[: len(text) - len(text.lstrip())] for text in texts)
    shared = _common_prefix(indents[0], indents[-1]) if indents else 0
    title = ""
    lines: list[Line] = []
    for index, (span, text) in enumerate(zip(spans, texts, strict=True)):
        body = text.lstrip()
        if comment_starts(body, 0):
            title = body[2:].strip() if index == 0 else title
            continue
        start = span.start + shared
        end = span.start + len(text.rstrip())
        lines.append(Line(Span(start, end), source.text[start:end], text[shared].isspace()))
    return title, lines


def lay_out(source: Source) -> Layout:
    """Divide a file into header lines, definitions and formula.

    Raises SourceError for lines out of order, unknown or repeated keys and malformed definitions.
    """
    return _Reader(source).run()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.layout = Layout(source)
        self.pending: tuple[Line, Span] | None = None
        """A definition that may still be continued: its first line and the place of its text so far."""
        self.after_header = False

    def _error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.source, span, message, expected, hint)

    def run(self) -> Layout:
        self.layout.title, lines = content_lines(self.source)
        for line in lines:
            if self.layout.first is None:
                self.layout.first = line.span
            self._line(line)
        self._finish_definition()
        return self.layout

    def _line(self, line: Line) -> None:
        if self.layout.formula is not None:
            self._after_formula(line)
        elif line.indented and self.pending is not None:
            first, span = self.pending
            self.pending = (first, Span(span.start, line.span.end))
        elif header := _HEADER.match(line.text.lstrip()):
            self._header(line, header)
        elif line.indented and self.after_header:
            hint = "a header line cannot be continued: repeat its key, and begin the formula without a space"
            raise self._error(line.span, "an indented line after a header line", "a line without indentation", hint)
        elif _DEFINITION.match(line.text):
            self._finish_definition()
            self.pending = (line, line.span)
            self.after_header = False
        else:
            self._finish_definition()
            self.layout.formula = line.span

    def _after_formula(self, line: Line) -> None:
        """A further line of the formula, unless it is clearly something that belongs above it."""
        formula = self.layout.formula or line.span
        text = line.text.lstrip()
        header = _HEADER.match(text)
        if header and header["key"] in HEADER_KEYS:
            hint = f"move the line above the formula (line {self.source.line_of(formula.start)[0]})"
            raise self._error(line.span, "header lines stand before the formula", "the end of the file", hint)
        if not line.indented and _DEFINITION.match(text):
            hint = f"move the line above the formula (line {self.source.line_of(formula.start)[0]})"
            raise self._error(line.span, "definitions stand before the formula", "the end of the file", hint)
        self.layout.formula = Span(formula.start, line.span.end)

    def _header(self, line: Line, match: re.Match[str]) -> None:
        offset = line.span.end - len(line.text.lstrip())
        key, at = match["key"], Span(offset, offset + match.end("key"))
        if self.layout.definitions or self.pending is not None:
            hint = "move the line above the definitions"
            raise self._error(at, "header lines stand before the definitions", "let, pred or the formula", hint)
        if key not in HEADER_KEYS:
            close = get_close_matches(key.lower(), HEADER_KEYS, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}:?" if close else ""
            if key in _PROGRAM_KEYS:
                hint = f"{key}: belongs to programs (.srasp files)"
            keys = " ".join(f"{name}:" for name in HEADER_KEYS)
            raise self._error(at, f"unknown header key {brief(key)}", keys, hint)
        before = self.layout.header(key)
        if before is not None and key not in _REPEATED:
            hint = f"remove one of the two lines (the first is line {self.source.line_of(before.at.start)[0]})"
            raise self._error(at, f"duplicate header line {key}:", f"one {key}: line", hint)
        start = offset + match.start("value")
        value = match["value"]
        inner = Span(start + len(value) - len(value.lstrip()), start + len(value.rstrip()))
        self.layout.headers.append(HeaderLine(key, at, inner if value.strip() else Span(start, start)))
        self.after_header = True

    def _finish_definition(self) -> None:
        if self.pending is None:
            return
        line, span = self.pending
        self.pending = None
        read = self._let if line.text.startswith("let") else self._pred
        self.layout.definitions.append(read(span))

    def _let(self, span: Span) -> DefinitionLine:
        match = _LET.match(self.source.text, span.start, span.end)
        assert match is not None  # every part but the keyword is optional
        form = "let NAME = formula or term"
        at = self._name(match, form)
        if not match["equals"]:
            hint = "functions of the position are defined with pred" if "(" in match["name"] else ""
            raise self._error(self._next(match, span), f"missing = after let {match['name']}", form, hint)
        if not NAME.fullmatch(match["name"]):
            expected = "a letter, then letters, digits and underscores"
            hint = "functions of the position are defined with pred" if "(" in match["name"] else ""
            raise self._error(at, f"{brief(match['name'])} is not a name", expected, hint)
        return DefinitionLine("let", match["name"], at, self._body(match, span, form))

    def _pred(self, span: Span) -> DefinitionLine:
        match = _PRED.match(self.source.text, span.start, span.end)
        assert match is not None  # every part but the keyword is optional
        form = "pred NAME(i, n) = condition"
        at = self._name(match, form)
        if not NAME.fullmatch(match["name"]):
            expected = "a letter, then letters, digits and underscores"
            raise self._error(at, f"{brief(match['name'])} is not a name", expected)
        names = tuple(part.strip() for part in (match["inside"] or "").split(","))
        if len(names) != 2 or names[0] == names[1] or not all(map(NAME.fullmatch, names)):
            place = Span(*match.span("params")) if match["params"] else self._next(match, span, after="name")
            message = "a predicate has two different arguments, the position and the length"
            raise self._error(place, message, form)
        if not match["equals"]:
            raise self._error(self._next(match, span), f"missing = after pred {match['name']}(...)", form)
        return DefinitionLine("pred", match["name"], at, self._body(match, span, form), names)

    def _name(self, match: re.Match[str], form: str) -> Span:
        if not match["name"]:
            raise self._error(Span(match.end("name"), match.end("name") + 1), "missing name", form)
        return Span(*match.span("name"))

    def _next(self, match: re.Match[str], span: Span, after: str = "") -> Span:
        """The place where a definition stops fitting."""
        end = match.end(after) if after else match.end()
        return Span(end, end + 1) if end < span.end else Span(span.end, span.end + 1)

    def _body(self, match: re.Match[str], span: Span, form: str) -> Span:
        text = self.source.text
        start = match.end()
        while start < span.end and (text[start].isspace() or comment_starts(text, start)):
            newline = text.find("\n", start)
            start = start + 1 if text[start].isspace() else newline if newline >= 0 else span.end
        if start >= span.end:
            raise self._error(Span(match.end("equals"), match.end("equals") + 1), "nothing stands after =", form)
        return Span(start, span.end)
