"""The line structure of files: header lines, the definitions and formula of `.ltl` files, the statements of
`.srasp` files."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from hardsim.errors import SourceError, Span, did_you_mean
from hardsim.lang import vocabulary
from hardsim.lang.lexer import BLANK, Cited
from hardsim.lang.vocabulary import HEADER_KEYS, NAME, brief
from hardsim.lazy_dataclass import dataclass

REPEATED = frozenset({"accept", "reject", "map", "one-of", "at-most-one"})
"""Header keys that may occur on several lines of a file."""
FOREIGN_COMMENT = re.compile(r"#(?!\s*[LR]?\s*\[|\w+\s*[-+*<>=!])|[%;]|/\*|\(\*")
"""Beginnings of comments in other languages, at places where no formula or statement begins; `#[` begins a count."""
REGEX_KEYS = {
    key: f"{key}: belongs to regular expressions (.re files) and specifications (.spec files)"
    for key in ("plus", "dot")
}
"""Hints for header keys that choose the meaning of `+` and `.` in regular expressions."""
HEADER = re.compile(r"(?P<key>[^\W\d][\w-]*)[^\S\n]*:(?P<value>[^\n]*)")
_DEFINITION = re.compile(r"(?P<key>let|pred)(?=\s|$)")
_LET = re.compile(r"let\s*(?P<name>[^\s=]*)\s*(?P<equals>=(?!=))?")
_PRED = re.compile(r"pred\s*(?P<name>[^\s=()]*)\s*(?P<params>\((?P<inside>[^()=\n]*)\))?\s*(?P<equals>=(?!=))?")
_STATEMENT = re.compile(r"(?P<name>[^\s:=()]+)\s*(?P<argument>\([^()\n]*\))?\s*:=")
_ASSIGNMENT = re.compile(r"(?P<name>[^\s:=()]+)\s*(?P<argument>\([^()\n]*\))?\s*(?P<equals>=)")
_DECLARATION = re.compile(r"Q_\S(?!.*:=).*")
_RELATION = re.compile(r"rel(?=\s|$)")
_RELATION_HEAD = re.compile(r"rel\s*(?P<name>[^\s={]*)\s*(?P<equals>=(?!=))?")
_FORMULA_LINE = re.compile(r"(?:let|pred)\s")


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line that begins with a name. A header line: `body` is the place of its value, `text` the value without white
    space around it. A `let`, `pred`, relation or statement: `body` is the place of its right-hand side, including
    continuation lines. `params` are the argument names of a `pred`, else empty."""

    name: str
    at: Span
    body: Span
    text: str = ""
    params: tuple[str, ...] = ()


@dataclass
class Layout(Cited, ABC):
    """The parts of a file by place, for formulas and programs alike; `first` is the first line that is neither blank
    nor a comment (None without one). `keys` are the header keys of the language; `hints` are advice for some keys of
    other languages."""

    keys: ClassVar[Sequence[str]]
    hints: ClassVar[Mapping[str, str]]
    document: ClassVar[str] = "docs/languages.md describes header lines"
    """Advice for a key that is near to none."""
    title: str = ""
    first: Span | None = None
    headers: list[FileLine] = field(default_factory=list)
    _pending: Span | None = None
    """The place, so far, of a definition or statement that the next line may continue."""
    _after_header: bool = False

    def __post_init__(self) -> None:
        for line in self._content():
            text = self.written(line)
            self._require_readable(line, text.lstrip())
            self._line(line, text.lstrip(), text[0].isspace())
        self._finish()

    @abstractmethod
    def _line(self, line: Span, text: str, indented: bool) -> None:
        """Process a line: its place without the indentation shared by all lines, and its text without any
        indentation."""

    def _take(self, span: Span) -> None:
        """Process a definition or statement together with its continuation lines; some languages have none."""

    def _require_readable(self, line: Span, text: str) -> None:
        """Raise SourceError if the line is a comment in the syntax of another language."""
        if comment := FOREIGN_COMMENT.match(text):
            at = Span(line.end - len(text), line.end - len(text) + len(comment[0]))
            message = f"{comment[0]} does not begin a comment here"
            raise self.error(at, message, "//", "a comment begins with //, on each line")

    def _colon(self, line: Span, text: str) -> SourceError | None:
        """Return the error for a header line with `=` in place of the colon; None if the line is something else."""
        key, equals, value = (part.strip() for part in text.partition("="))
        if key not in self.keys or not equals or value[:1] in ("=", ">"):
            return None
        at = line.end - len(text) + text.index("=")
        message, hint = "a header line has a colon", f"write {key}: {value}".rstrip()
        return self.error(Span(at, at + 1), message, f"{key}:", hint)

    def _finish(self) -> None:
        """Process the definition or statement that was waiting for continuation lines, if there is one."""
        if self._pending is not None:
            span, self._pending = self._pending, None
            self._take(span)

    def header(self, key: str) -> FileLine | None:
        """Return the first header line with the given key, or None."""
        return next((line for line in self.headers if line.name == key), None)

    def value(self, key: str) -> str:
        """Return the value of the header line with the given key; "" without such a line."""
        line = self.header(key)
        return line.text if line else ""

    @property
    def end(self) -> Span:
        """The place just after the last line that is not blank."""
        last = len(self.source.text.rstrip())
        return Span(last, last + 1)

    def _content(self) -> list[Span]:
        """Return the lines that are neither blank nor comments, in order, without the indentation that all lines share.
        A comment in the first line that is not blank becomes the title."""
        spans = [Span(*match.span()) for match in re.finditer(r"[^\n]*\S[^\n]*", self.source.text)]
        texts = [self.written(span) for span in spans]
        indents = [line[: len(line) - len(line.lstrip())] for line in texts]
        columns = enumerate(zip(*indents, strict=False))
        # the longest common prefix of all indentations, character by character
        shared = next((k for k, column in columns if len(set(column)) > 1), min(map(len, indents), default=0))
        comments = [text.lstrip().startswith("//") for text in texts]
        if comments and comments[0]:
            self.title = texts[0].lstrip()[2:].strip()
        lines = [
            Span(span.start + shared, span.start + len(text.rstrip()))
            for span, text, comment in zip(spans, texts, comments, strict=True)
            if not comment
        ]
        self.first = lines[0] if lines else None
        return lines

    def _add_header(self, start: int, match: re.Match[str]) -> None:
        """Add the header line at the offset `start`. Raises SourceError for an unknown key, and for a key that may
        not be repeated."""
        key, at = match["key"], Span(start, start + match.end("key"))
        if key not in self.keys:
            hint = self.hints.get(key) or did_you_mean(key, self.keys, "{}:".format) or self.document
            raise self.error(at, f"unknown header key {brief(key)}", " ".join(f"{name}:" for name in self.keys), hint)
        before = self.header(key)
        if before is not None and key not in REPEATED:
            hint = f"remove one of the two lines (the first is line {self.line_of(before.at)})"
            raise self.error(at, f"duplicate header line {key}:", f"one {key}: line", hint)
        text, begin = match["value"].strip(), start + match.start("value")
        # an empty value gets a place of one character, so that an error can point at it
        begin += len(match["value"]) - len(match["value"].lstrip()) if text else 0
        self.headers.append(FileLine(key, at, Span(begin, begin + max(1, len(text))), text))


@dataclass
class FormulaLayout(Layout):
    """The parts of an `.ltl` file; `formula` is None if missing. Raises SourceError for lines out of order, unknown or
    repeated keys and malformed definitions."""

    keys = HEADER_KEYS
    hints: ClassVar = {
        **{key: f"{key}: belongs to programs (.srasp files)" for key in ("map", "pad", "output", "rel")},
        **REGEX_KEYS,
    }
    definitions: list[FileLine] = field(default_factory=list)
    formula: Span | None = None

    def _line(self, line: Span, text: str, indented: bool) -> None:
        header, start = HEADER.match(text), line.end - len(text)
        definition = not indented and _DEFINITION.match(text)
        if self.formula is not None:  # the formula continues, unless the line clearly belongs above it
            what = "definitions" if definition else ""
            what = "header lines" if header and header["key"] in HEADER_KEYS else what
            if what:
                hint = f"move the line above the formula (line {self.line_of(self.formula)})"
                raise self.error(line, f"{what} must come before the formula", "the end of the file", hint)
            self.formula = Span(self.formula.start, line.end)
        elif indented and self._pending is not None:
            self._pending = Span(self._pending.start, line.end)
        elif header:
            if self.definitions or self._pending is not None:
                at, expected = Span(start, start + header.end("key")), "let, pred or the formula"
                hint = "move the line above the definitions"
                raise self.error(at, "header lines must come before the definitions", expected, hint)
            self._add_header(start, header)
            self._after_header = True
        elif indented and self._after_header:
            message = "an indented line after a header line"
            hint = "a header line cannot be continued: repeat its key, and begin the formula without a space"
            raise self.error(line, message, "a line without indentation", hint)
        else:
            self._finish()
            if definition:
                self._pending, self._after_header = line, False
            else:
                wrong = self._colon(line, text)
                if wrong is not None and text.split("=")[0].strip() not in [one.name for one in self.definitions]:
                    raise wrong
                self.formula = line

    def _take(self, span: Span) -> None:
        text = self.source.text
        is_let = text.startswith("let", span.start)
        match = (_LET if is_let else _PRED).match(text, span.start, span.end)
        assert match is not None  # every part but the keyword is optional
        form = "let NAME = formula or term" if is_let else "pred NAME(i, n) = condition"
        name, at, end = match["name"], Span(*match.span("name")), min(match.end(), span.end)
        if not name:
            keyword = text[span.start : at.start].strip()
            hint = vocabulary.symbol_hint(keyword, self.value("alphabet").split())
            raise self.error(Span(at.end, at.end + 1), "missing name", form, hint)
        hint = "functions of the position are defined with pred" if is_let and "(" in name else ""
        if is_let and not match["equals"]:
            raise self.error(Span(end, end + 1), f"missing = after let {name}", form, hint)
        if not NAME.fullmatch(name):
            expected = "a letter, then letters, digits and underscores"
            raise self.error(at, f"{brief(name)} is not a name", expected, hint)
        params = () if is_let else self._params(match, form, end)
        start = BLANK.match(text, match.end(), span.end)
        if start is None or start.end() == span.end:
            raise self.error(Span(match.end(), match.end() + 1), "nothing follows =", form)
        self.definitions.append(FileLine(name, at, Span(start.end(), span.end), params=params))

    def _params(self, match: re.Match[str], form: str, end: int) -> tuple[str, ...]:
        """Return the two argument names of a `pred` line. Raises SourceError if they are not two different names, or if
        = is missing."""
        names = tuple(part.strip() for part in (match["inside"] or "").split(","))
        if len(names) != 2 or names[0] == names[1] or not all(map(NAME.fullmatch, names)):
            place = Span(*match.span("params")) if match["params"] else Span(match.end("name"), match.end("name") + 1)
            message = "a predicate has two different arguments, the position and the length"
            raise self.error(place, message, form)
        if not match["equals"]:
            raise self.error(Span(end, end + 1), f"missing = after pred {match['name']}(...)", form)
        return names


@dataclass
class ProgramLayout(Layout):
    """The parts of a program; a declaration is a line with `Q_a(i)` only. Raises SourceError for a line of any other
    form, unknown or repeated keys, malformed and reserved names, and a name that is defined twice."""

    keys = ("alphabet", "source", "output", "assume", "pad", "accept", "reject", "map")
    hints: ClassVar = {
        **{key: f"{key}: belongs to formulas (.ltl files)" for key in ("props", "one-of", "at-most-one")},
        "at": "at: belongs to formulas (.ltl files): a program accepts if its output is true at the last position",
        "dialect": "dialect: belongs to formulas (.ltl files), which have a next operator",
        "rel": "a relation is written rel NAME = { 'a' 'b', 'c' 'd' }",
        **REGEX_KEYS,
    }
    declarations: list[Span] = field(default_factory=list)
    relations: list[FileLine] = field(default_factory=list)
    statements: list[FileLine] = field(default_factory=list)
    _named: dict[str, Span] = field(default_factory=dict)

    def _line(self, line: Span, text: str, indented: bool) -> None:
        place = Span(line.end - len(text), line.end)
        begins = _STATEMENT.match(text) is not None
        # A line with `:=` begins a statement even if it is indented.
        if indented and self._pending is not None and not begins:
            self._pending = Span(self._pending.start, line.end)
            return
        self._finish()
        header = HEADER.match(text)
        # `a := b` also matches the pattern of header lines, with the key `a` and a value that begins with =
        if header and (begins or header["value"].startswith("=")):
            header = None
        if begins or _RELATION.match(text):
            self._pending = place
        elif _DECLARATION.match(text):
            self.declarations.append(place)
        elif header:
            self._add_header(place.start, header)
        else:
            raise self._stray(place, text, indented)
        self._after_header = header is not None

    def _stray(self, place: Span, text: str, indented: bool) -> SourceError:
        """Return the error for a line of a form that no program has."""
        expected = "NAME(i) := ..., rel NAME = { ... }, a declaration Q_a(i) or a header line"
        if indented and self._after_header:
            hint = "a header line cannot be continued: repeat its key"
            return self.error(place, "an indented line after a header line", expected, hint)
        if colon := self._colon(place, text):
            return colon
        if assignment := _ASSIGNMENT.match(text):
            at = Span(place.start + assignment.start("equals"), place.start + assignment.end("equals"))
            return self.error(at, f"{assignment['name']} is defined with =", ":=", "write := instead")
        hint = "indent a line to continue the one above" if self.statements else ""
        if _FORMULA_LINE.match(text):
            hint = "let and pred belong to formulas (.ltl files)"
        elif ":=" in text:
            hint = "write one name, perhaps with (i), before :="
        elif any(text == name or text.startswith(f"{name}(") for name in self._named):
            hint = f"name the output by a header line, output: {text.split('(')[0]}"
        return self.error(place, "this line is not a statement", expected, hint)

    def _take(self, span: Span) -> None:
        if statement := _STATEMENT.match(self.source.text, span.start, span.end):
            name, at, argument = statement["name"], Span(*statement.span("name")), statement["argument"]
            self._take_name(name, at, "vector")
            if argument is not None and argument[1:-1].strip() != "i":
                message = f"a vector is defined at i, not at {argument[1:-1].strip() or 'nothing'}"
                raise self.error(Span(*statement.span("argument")), message, f"{name}(i) := ...")
            self.statements.append(FileLine(name, at, Span(statement.end(), span.end)))
            return
        match = _RELATION_HEAD.match(self.source.text, span.start, span.end)
        assert match is not None  # every part but the keyword is optional
        form = "rel NAME = { 'a' 'b', 'c' 'd' }"
        name, at, after = match["name"], Span(*match.span("name")), Span(match.end("name"), match.end("name") + 1)
        if not name:
            raise self.error(after, "missing name", form)
        self._take_name(name if match["equals"] else name.rstrip(":"), at, "relation")
        if not match["equals"]:
            raise self.error(after, f"missing = after rel {name}", form)
        self.relations.append(FileLine(name, at, Span(match.end(), span.end)))

    def _take_name(self, name: str, at: Span, what: str) -> None:
        """Record the name of a new vector or relation. Raises SourceError if the name is reserved, malformed or
        already defined."""
        new, hint = f"a new name for a {what}", "choose another name"
        if name in vocabulary.PROGRAM_RESERVED:
            message = f"{name} is reserved"
            if name in vocabulary.INDICES or name == "in":
                message += ": i and j are positions, in is the input and membership in a set"
            elif name in vocabulary.PROGRAM_VECTORS:
                message += ": it is a built-in vector"
        elif name.startswith(vocabulary.SYMBOL_PREFIX):
            message = f"{brief(name)} is reserved: Q_ begins the vector of a symbol"
            hint = "Q_a(i) is true where the symbol a is at i; a line with Q_a(i) alone declares the symbol"
        elif not vocabulary.VECTOR_NAME.fullmatch(name):
            message, hint = f"{brief(name)} is not a name", ""
            new = "a letter, then letters, digits and underscores, and perhaps _? at the end"
        elif name in self._named:
            message = f"{name} is defined twice"
            hint = f"it is defined in line {self.line_of(self._named[name])}; a vector cannot change"
        else:
            self._named[name] = at
            return
        raise self.error(at, message, new, hint)
