"""Graphs in Graphviz's DOT language (graphviz.org/doc/info/lang.html): nodes and edges with their attributes.

`drawn.py` reads them as automata. Of the language everything is read but HTML strings; ports are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.automata.automaton import MAX_STATES
from hardsim.lang.vocabulary import brief
from hardsim.lazy_dataclass import dataclass
from hardsim.reading.automata.labels import Label

MOST_EDGES = 2_000_000
"""Greatest number of edges of a graph."""
DEEPEST = 50
"""Greatest number of subgraphs inside each other."""
BEGINS = re.compile(
    r"(?:\s|//[^\n]*+|#[^\n]*+|/\*(?s:.*?)\*/)*+(?i:strict\s+)?(?i:di)?(?i:graph)\b"
    r"\s*+([^\W\d]\w*+|-?[\d.]++|\"(\\.|[^\"\\])*+\")?\s*+\{"
)
"""The beginning of a DOT file."""
SMALL = "a small file: digraph { init -> 1; 1 -> 2 [label=a]; 2 [shape=doublecircle]; }"
"""A hint with a whole file."""
_TOKEN = re.compile(
    r"(?P<skip>[\s\ufeff]+|//[^\n]*|/\*(?s:.*?)\*/|\#[^\n]*)|(?P<arrow>->|--)|(?P<sign>[{}\[\];,=:+])"
    r"|(?P<id>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))|\"(?P<string>(?:\\(?s:.)|[^\"\\])*+)\"|(?P<html><)",
    re.MULTILINE,
)
_BROKEN = {"n": "\n", "l": "\n", "r": "\n"}
_STATEMENT = "a node, an edge or }"
_KEYWORDS = ("strict", "graph", "digraph", "subgraph", "node", "edge")


@dataclass(frozen=True, slots=True)
class DotText:
    """A name or a value of a DOT file; `raw` are the places of its parts, without their quotes."""

    source: Source
    span: Span
    raw: tuple[Span, ...]
    quoted: bool

    @property
    def text(self) -> str:
        """The text as a name: a backslash only protects a quote or a backslash."""
        return self._read(lines=False).text

    @property
    def label(self) -> Label:
        """The text as a label, in which the escapes for line ends have their meaning."""
        return self._read(lines=True)

    def _read(self, lines: bool) -> Label:
        chars, offsets = list[str](), list[int]()
        for part in self.raw:
            at = part.start
            while at < part.end:
                char, width = self.source.text[at], 1
                if self.quoted and char == "\\" and at + 1 < part.end:
                    after = self.source.text[at + 1]
                    if after in '"\\\n' or lines:
                        char, width = _BROKEN.get(after, after) if lines else after, 2
                        char = "" if after == "\n" else char
                if char:
                    chars.append(char)
                    offsets.append(at)
                at += width
        return Label(self.source, "".join(chars), [*offsets, self.raw[-1].end])


@dataclass(frozen=True, slots=True)
class DotNode:
    """A node with its attributes, and the place where it is first named."""

    name: str
    attributes: Mapping[str, DotText]
    span: Span


@dataclass(frozen=True, slots=True)
class DotEdge:
    """An edge between two nodes, given by their numbers, with its attributes and its place."""

    source: int
    target: int
    attributes: Mapping[str, DotText]
    span: Span


@dataclass
class DotGraph:
    """A directed graph: its nodes and edges in the order of the file, its own attributes, and the place where it
    begins."""

    source: Source
    span: Span
    name: str = ""
    nodes: list[DotNode] = field(default_factory=list)
    edges: list[DotEdge] = field(default_factory=list)
    attributes: dict[str, DotText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Part:
    """A token of a DOT file: a sign, a name, or the end."""

    kind: str
    span: Span
    text: DotText | None = None


@dataclass
class _Scope:
    """The defaults of nodes and edges inside one pair of braces."""

    node: dict[str, DotText]
    edge: dict[str, DotText]


def read_dot(source: Source) -> DotGraph:
    """Return the graph of a DOT file. Raises SourceError at the first mistake."""
    return _Reader(source).graph()


def _parts(source: Source) -> Iterator[_Part]:
    """Yield the tokens of a DOT file, and its end for ever."""
    text, at = source.text, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _stray(source, at)
        kind, at = str(match.lastgroup), match.end()
        span = Span(*match.span())
        if kind == "html":
            message = "a text in angle brackets is HTML, which is not read"
            raise SourceError(source, span, message, "a text in double quotes", 'write the label as "..."')
        if kind == "string":
            yield _Part("id", span, DotText(source, span, (Span(*match.span(kind)),), quoted=True))
        elif kind == "id":
            yield _Part("id", span, DotText(source, span, (span,), quoted=False))
        elif kind != "skip":
            yield _Part(match[0], span)
    while True:
        yield _Part("end", Span(len(text), len(text) + 1))


def _stray(source: Source, at: int) -> SourceError:
    char, place = source.text[at], Span(at, at + 1)
    if char == '"':
        return SourceError(source, place, "this text is never closed", "a closing double quote further on")
    if source.text.startswith("/*", at):
        return SourceError(source, Span(at, at + 2), "this comment is never closed", "*/ further on")
    hint = f'a name with other signs than letters, digits and _ is quoted, as in "{char}"' if char.isprintable() else ""
    return SourceError(source, place, f"{brief(char)} does not fit here", _STATEMENT, hint)


class _Reader:
    """Reads a graph token by token; `part` is the next token."""

    def __init__(self, source: Source) -> None:
        self.source, self._tokens = source, _parts(source)
        self.part = next(self._tokens)
        self.numbers: dict[str, int] = {}
        self.found = DotGraph(source, Span(0, 1))
        self.depth = 0

    def _next(self) -> _Part:
        before, self.part = self.part, next(self._tokens)
        return before

    def _error(self, message: str, expected: str = "", hint: str = "", span: Span | None = None) -> SourceError:
        return SourceError(self.source, span or self.part.span, message, expected, hint)

    def _misfit(self, expected: str, hint: str = "") -> SourceError:
        written = self.source.text[self.part.span.start : self.part.span.end]
        shown = "the file ends here" if self.part.kind == "end" else f"{brief(written)} does not fit here"
        return self._error(shown, expected, hint)

    def _keyword(self) -> str:
        """Return the keyword that comes next, in lower case; "" if none does."""
        text = self.part.text
        word = "" if text is None or text.quoted else text.text.lower()
        return word if word in _KEYWORDS else ""

    def _take(self, kind: str, hint: str = "") -> _Part:
        if self.part.kind != kind:
            raise self._misfit("a text in double quotes" if kind == "id" else kind, hint)
        return self._next()

    def graph(self) -> DotGraph:
        """Read the whole file."""
        begin = self.part.span
        if self._keyword() == "strict":
            self._next()
        if self._keyword() == "graph":
            hint = "write digraph, and -> between the two nodes of an edge"
            raise self._error("this graph is not directed", "digraph", hint)
        if self._keyword() != "digraph":
            raise self._misfit("digraph", SMALL)
        self._next()
        name = self._name() if self.part.kind == "id" else None
        self.found.span, self.found.name = begin, "" if name is None else name.text
        self._block(_Scope({}, {}))
        if self.part.kind != "end":
            raise self._misfit("the end of the file", "a file has one graph")
        return self.found

    def _name(self) -> DotText:
        """Read a name: an identifier, or texts joined by +."""
        found = self._take("id").text
        assert found is not None
        while found.quoted and self.part.kind == "+":
            self._next()
            more = self._take("id").text
            assert more is not None
            if not more.quoted:
                raise self._error("+ joins texts in double quotes", "a text in double quotes", span=more.span)
            found = DotText(self.source, Span(found.span.start, more.span.end), (*found.raw, *more.raw), quoted=True)
        return found

    def _block(self, scope: _Scope) -> list[int]:
        """Read statements in braces; return the numbers of the nodes that are named in them."""
        opening = self._take("{")
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._error(f"more than {DEEPEST} subgraphs inside each other", span=opening.span)
        named: dict[int, None] = {}
        while self.part.kind != "}":
            if self.part.kind == "end":
                raise self._error("the file ends before this brace is closed", "} further on", span=opening.span)
            named |= dict.fromkeys(self._statement(scope))
            if self.part.kind == ";":
                self._next()
        self._next()
        self.depth -= 1
        return [*named]

    def _statement(self, scope: _Scope) -> list[int]:
        """Read one statement; return the numbers of the nodes in it."""
        word = self._keyword()
        if word in ("node", "edge", "graph"):
            self._next()
            if self.part.kind != "[":
                raise self._misfit("[", f'a node of this name is quoted: "{word}"')
            own = self.found.attributes if self.depth == 1 else {}
            {"node": scope.node, "edge": scope.edge, "graph": own}[word].update(self._attributes())
            return []
        first = self._end(scope)
        if self.part.kind == "=" and isinstance(first, DotText):
            self._next()
            value = self._value()
            if self.depth == 1:
                self.found.attributes[first.text.lower()] = value
            return []
        if self.part.kind in ("->", "--"):
            return self._edges(first, scope)
        own = self._attributes()
        return first if isinstance(first, list) else [self._node(first, scope, own)]

    def _edges(self, first: DotText | list[int], scope: _Scope) -> list[int]:
        """Read the rest of a statement of edges; return the numbers of its nodes."""
        ends, arrows = [first], list[Span]()
        while self.part.kind in ("->", "--"):
            if self.part.kind == "--":
                raise self._error("-- is an edge without direction", "->", "an edge from one state to the next is ->")
            arrows.append(self._next().span)
            ends.append(self._end(scope, "a node, to which the edge leads"))
        attributes = scope.edge | self._attributes()
        groups = [one if isinstance(one, list) else [self._node(one, scope, {})] for one in ends]
        for here, after, span in zip(groups, groups[1:], arrows, strict=False):
            if len(self.found.edges) + len(here) * len(after) > MOST_EDGES:
                raise self._error(f"the graph has more than {MOST_EDGES:,} edges, the limit", span=span)
            self.found.edges += [DotEdge(one, two, attributes, span) for one in here for two in after]
        return [number for group in groups for number in group]

    def _end(self, scope: _Scope, expected: str = _STATEMENT) -> DotText | list[int]:
        """Read a node's name, or a subgraph, of which the nodes are returned."""
        word = self._keyword()
        if word == "subgraph" or self.part.kind == "{":
            if word:
                self._next()
                if self.part.kind == "id":
                    self._name()
            return self._block(_Scope(dict(scope.node), dict(scope.edge)))
        if self.part.kind != "id" or word:
            raise self._misfit(expected)
        found = self._name()
        while self.part.kind == ":":  # a port
            self._next()
            if self.part.kind != "id":
                raise self._misfit("the name of a port")
            self._name()
        return found

    def _node(self, name: DotText, scope: _Scope, own: Mapping[str, DotText]) -> int:
        """Return the number of a node, which gets the defaults when it is first named."""
        text = name.text
        if text not in self.numbers:
            if len(self.numbers) > MAX_STATES:
                raise self._error(f"the graph has more than {MAX_STATES:,} nodes, the limit", span=name.span)
            self.numbers[text] = len(self.numbers)
            self.found.nodes.append(DotNode(text, dict(scope.node), name.span))
        number = self.numbers[text]
        if own:
            before = self.found.nodes[number]
            self.found.nodes[number] = DotNode(text, {**before.attributes, **own}, before.span)
        return number

    def _value(self) -> DotText:
        if self.part.kind != "id":
            raise self._misfit("a value", "a value with other signs than letters, digits and _ is quoted")
        return self._name()

    def _attributes(self) -> dict[str, DotText]:
        """Read any number of lists of attributes in square brackets."""
        found = dict[str, DotText]()
        while self.part.kind == "[":
            opening = self._next()
            while self.part.kind != "]":
                if self.part.kind == "end":
                    raise self._error("the file ends before this bracket is closed", "] further on", span=opening.span)
                if self.part.kind != "id":
                    raise self._misfit("an attribute such as label=a, or ]")
                key = self._name()
                self._take("=", "an attribute has a value, as in label=a")
                found[key.text.lower()] = self._value()
                if self.part.kind in (",", ";"):
                    self._next()
            self._next()
        return found
