"""The line structure of `.srasp` files: header lines, relations, declared symbols and statements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.files import HeaderLine, Line, content_lines
from hardsim.lang.srasp.vocabulary import BUILT_IN, HEADER_KEYS, INDICES, NAME, REPEATED_KEYS, RESERVED, SYMBOL_PREFIX
from hardsim.lang.vocabulary import brief

_HEADER = re.compile(r"(?P<key>[^\W\d][\w-]*)[^\S\n]*:(?!=)(?P<value>[^\n]*)")
_STATEMENT = re.compile(r"(?P<name>[^\s:=()]+)\s*(?P<argument>\([^()\n]*\))?\s*:=")
_ASSIGNMENT = re.compile(r"(?P<name>[^\s:=()]+)\s*(?P<argument>\([^()\n]*\))?\s*(?P<equals>=)")
_DECLARATION = re.compile(r"Q_\S(?!.*:=).*")
_RELATION = re.compile(r"rel(?=\s|$)")
_RELATION_HEAD = re.compile(r"rel\s*(?P<name>[^\s={]*)\s*(?P<equals>=(?!=))?")
_FORMULA_LINE = re.compile(r"(?:let|pred)\s")


@dataclass(frozen=True, slots=True)
class Named:
    """A relation or statement: its name and the text after the `=` or `:=`."""

    name: str
    at: Span
    body: Span


@dataclass
class Layout:
    """The parts of a file, by place; `first` is the first thing that is no comment."""

    source: Source
    title: str = ""
    first: Span | None = None
    headers: list[HeaderLine] = field(default_factory=list)
    declarations: list[Span] = field(default_factory=list)
    relations: list[Named] = field(default_factory=list)
    statements: list[Named] = field(default_factory=list)

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


def lay_out(source: Source) -> Layout:
    """Divide a program into its lines.

    Raises SourceError for a line that is none of them, unknown or repeated keys, malformed and reserved names, and a
    name that is defined twice.
    """
    return _Reader(source).run()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.layout = Layout(source)
        self.pending: Span | None = None
        """A statement or relation that may still be continued: the place of its text so far."""
        self.named: dict[str, Span] = {}
        self.after_header = False

    def _error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.source, span, message, expected, hint)

    def run(self) -> Layout:
        self.layout.title, lines = content_lines(self.source)
        self.layout.first = lines[0].span if lines else None
        for line in lines:
            self._line(line)
        self._finish()
        return self.layout

    def _line(self, line: Line) -> None:
        text = line.text.lstrip()
        place = Span(line.span.end - len(text), line.span.end)
        begins = _STATEMENT.match(text) is not None
        if line.indented and self.pending is not None and not begins:
            self.pending = Span(self.pending.start, line.span.end)
            return
        self._finish()
        if begins or _RELATION.match(text):
            self.pending = place
        elif _DECLARATION.match(text):
            self.layout.declarations.append(place)
        elif header := _HEADER.match(text):
            self._header(place, header)
        else:
            raise self._stray(line, place, text)
        self.after_header = not begins and bool(_HEADER.match(text))

    def _stray(self, line: Line, place: Span, text: str) -> SourceError:
        """The error for a line that is nothing a program has."""
        expected = "NAME(i) := ..., rel NAME = { ... }, a declaration Q_a(i) or a header line"
        if line.indented and self.after_header:
            hint = "a header line cannot be continued: repeat its key"
            return self._error(place, "an indented line after a header line", expected, hint)
        if assignment := _ASSIGNMENT.match(text):
            at = Span(place.start + assignment.start("equals"), place.start + assignment.end("equals"))
            return self._error(at, f"{assignment['name']} is defined with =", ":=", "write := instead")
        hint = "indent a line to continue the one above" if self.layout.statements else ""
        if _FORMULA_LINE.match(text):
            hint = "let and pred belong to formulas (.ltl files)"
        elif ":=" in text:
            hint = "one name, perhaps with (i), stands before :="
        elif any(text == name or text.startswith(f"{name}(") for name in self.named):
            hint = f"the output is named by a header line: output: {text.split('(')[0]}"
        return self._error(place, "this line is no statement", expected, hint)

    # ---- header lines ----

    def _header(self, place: Span, match: re.Match[str]) -> None:
        key, at = match["key"], Span(place.start, place.start + match.end("key"))
        if key not in HEADER_KEYS:
            raise self._unknown_key(key, at)
        before = self.layout.header(key)
        if before is not None and key not in REPEATED_KEYS:
            hint = f"remove one of the two lines (the first is line {self.source.line_of(before.at.start)[0]})"
            raise self._error(at, f"duplicate header line {key}:", f"one {key}: line", hint)
        start = place.start + match.start("value")
        value = match["value"]
        inner = Span(start + len(value) - len(value.lstrip()), start + len(value.rstrip()))
        self.layout.headers.append(HeaderLine(key, at, inner if value.strip() else Span(start, start)))

    def _unknown_key(self, key: str, at: Span) -> SourceError:
        close = get_close_matches(key.lower(), HEADER_KEYS, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}:?" if close else ""
        if key == "at":
            hint = "at: belongs to formulas (.ltl files): a program accepts if its output is true at the last position"
        elif key == "rel":
            hint = "a relation is written rel NAME = { 'a' 'b', 'c' 'd' }"
        keys = " ".join(f"{name}:" for name in HEADER_KEYS)
        return self._error(at, f"unknown header key {brief(key)}", keys, hint)

    # ---- relations and statements ----

    def _finish(self) -> None:
        if self.pending is None:
            return
        span, self.pending = self.pending, None
        text = self.source.text
        statement = _STATEMENT.match(text, span.start, span.end)
        if statement is None:
            self._relation(span)
            return
        at = Span(*statement.span("name"))
        self._name(statement["name"], at, "vector")
        argument = statement["argument"]
        if argument is not None and argument[1:-1].strip() != "i":
            place = Span(*statement.span("argument"))
            message = f"a vector is defined at i, not at {argument[1:-1].strip() or 'nothing'}"
            raise self._error(place, message, f"{statement['name']}(i) := ...")
        self._begin(self.layout.statements, statement["name"], at, Span(statement.end(), span.end))

    def _relation(self, span: Span) -> None:
        match = _RELATION_HEAD.match(self.source.text, span.start, span.end)
        assert match is not None  # every part but the keyword is optional
        form = "rel NAME = { 'a' 'b', 'c' 'd' }"
        if not match["name"]:
            raise self._error(Span(match.end("name"), match.end("name") + 1), "missing name", form)
        at = Span(*match.span("name"))
        if not match["equals"]:
            self._name(match["name"].rstrip(":"), at, "relation")
            end = match.end("name")
            raise self._error(Span(end, end + 1), f"missing = after rel {match['name']}", form)
        self._name(match["name"], at, "relation")
        self._begin(self.layout.relations, match["name"], at, Span(match.end(), span.end))

    def _begin(self, named: list[Named], name: str, at: Span, body: Span) -> None:
        self.named[name] = at
        named.append(Named(name, at, body))

    def _name(self, name: str, at: Span, what: str) -> None:
        """Refuse what cannot name a new vector or relation."""
        new = f"a new name for a {what}"
        if name in INDICES or name == "in":
            message = f"{name} is reserved: i and j are positions, in is the input and membership in a set"
            raise self._error(at, message, new, "choose another name")
        if name in BUILT_IN:
            raise self._error(at, f"{name} is reserved: it is a built-in vector", new, "choose another name")
        if name in RESERVED:
            raise self._error(at, f"{name} is reserved", new, "choose another name")
        if name.startswith(SYMBOL_PREFIX):
            hint = "Q_a(i) says that the symbol a stands at i; a bare line Q_a(i) declares the symbol"
            raise self._error(at, f"{brief(name)} is reserved: Q_ begins the vector of a symbol", new, hint)
        if not NAME.fullmatch(name):
            expected = "a letter, then letters, digits and underscores, and perhaps _? at the end"
            raise self._error(at, f"{brief(name)} is not a name", expected)
        if name in self.named:
            line = self.source.line_of(self.named[name].start)[0]
            hint = f"it is defined in line {line}; vectors never change"
            raise self._error(at, f"{name} is defined twice", new, hint)
