"""Automata of JFLAP (jflap.org): XML files with a `structure` of the type `fa`.

A document type, and with it every entity, is refused before it is read. JFLAP reads the text of a transition character
by character, so a longer text is a sequence of symbols, unless it is a symbol of a given alphabet.
"""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise
from typing import Final
from xml.parsers import expat

from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.lang.automata.automaton import MAX_STATES
from hardsim.lang.valuations import Alphabet, GivenNames, Valuations, listed
from hardsim.lang.vocabulary import brief
from hardsim.lang.words import LARGEST_ALPHABET, check_alphabet, unprintable
from hardsim.lazy_dataclass import dataclass
from hardsim.reading.automata.drawn import AutomatonText
from hardsim.reading.automata.graph import Condition, Edge, StateGraph

DEEPEST: Final = 50
"""Greatest number of XML elements inside each other."""
MOST_ELEMENTS: Final = 1_000_000
"""Greatest number of XML elements of a file."""
MOST_TEXT: Final = 1_000
"""Greatest number of characters of one transition."""
_TYPES = {
    "pda": "a pushdown automaton",
    "turing": "a Turing machine",
    "mealy": "a Mealy machine",
    "moore": "a Moore machine",
    "grammar": "a grammar",
    "re": "a regular expression",
    "pumping": "a pumping lemma",
    "lsystem": "an L-system",
}
_FILE = "an automaton of JFLAP: <structure><type>fa</type><automaton> ... </automaton></structure>"


@dataclass
class _Element:
    """An XML element: its name, attributes, text, parts, and its place."""

    name: str
    attributes: dict[str, str]
    at: int
    """The offset of its first byte."""
    text: str = ""
    parts: list[_Element] = field(default_factory=list)

    def first(self, name: str) -> _Element | None:
        """Return the first part with a name; None if there is none."""
        return next((one for one in self.parts if one.name == name), None)


def read_jflap(
    source: Source, alphabet: GivenNames, props: GivenNames, beside: Alphabet | None = None
) -> AutomatonText:
    """Read a finite automaton of JFLAP. `alphabet` is given outside the file; if none is given, words are over the
    alphabet `beside`, or over the symbols of the file. Raises SourceError at the first mistake."""
    return _Reader(source, _given(alphabet, props, beside)).automaton()


def _given(alphabet: GivenNames, props: GivenNames, beside: Alphabet | None) -> tuple[str, ...] | None:
    if isinstance(alphabet, Valuations) or (alphabet is None and props is not None and props != "auto"):
        message = "the transitions of JFLAP read symbols, and propositions are given"
        raise InputError(message, "Give the symbols by --alphabet, or write the automaton in DOT: docs/languages.md.")
    if alphabet is not None:
        return check_alphabet(alphabet)
    return beside if isinstance(beside, tuple) else None


class _Tree:
    """Builds the tree of an XML text by the parser of the standard library, without document types and entities."""

    def __init__(self, source: Source) -> None:
        self.source, self.data = source, source.text.encode()
        self.root = _Element("", {}, 0)
        self.stack, self.count = [self.root], 0
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda _: self.stack.pop()
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refused

    def read(self) -> _Element:
        """Return the outermost element. Raises SourceError if the text is no XML, or has a document type."""
        try:
            self.parser.Parse(self.data, True)
        except expat.ExpatError as error:
            message = expat.errors.messages.get(error.code, "syntax error")
            at = self.place(max(0, self.parser.ErrorByteIndex))
            raise SourceError(self.source, at, f"not XML: {message}", _FILE, "save it again with JFLAP") from None
        return self.root.parts[0]

    def place(self, byte: int) -> Span:
        """Return the place of a byte in the text."""
        at = len(self.data[:byte].decode("utf-8", "replace"))
        return Span(at, at + 1)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        at = self.parser.CurrentByteIndex
        if len(self.stack) > DEEPEST or self.count > MOST_ELEMENTS:
            limit = (
                f"more than {MOST_ELEMENTS:,} elements"
                if self.count > MOST_ELEMENTS
                else (f"more than {DEEPEST} elements inside each other")
            )
            raise SourceError(self.source, self.place(at), f"this file has {limit}, the limit", _FILE)
        found = _Element(name, attributes, at)
        self.stack[-1].parts.append(found)
        self.stack.append(found)

    def _text(self, text: str) -> None:
        if not self.stack[-1].parts:
            self.stack[-1].text += text

    def _refused(self, *_: object) -> None:
        at = self.place(max(0, self.data.rfind(b"<!DOCTYPE", 0, self.parser.CurrentByteIndex + 9)))
        message = "a document type and its entities are not read, since they can fill the memory"
        raise SourceError(self.source, at, message, _FILE, "remove the lines from <!DOCTYPE to its end")


class _Reader:
    def __init__(self, source: Source, given: tuple[str, ...] | None) -> None:
        self.source, self.given = source, given
        self.tree = _Tree(source)
        self.states: dict[str, int] = {}
        self.extra = 0
        """Number of states between the characters of a transition."""
        self.edges: list[Edge] = []
        self.numbers: dict[str, int] = {}
        self.several: dict[str, None] = {}
        """The texts of several characters that were read one by one."""

    def _error(self, place: _Element, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.source, self.tree.place(place.at), message, expected, hint)

    def automaton(self) -> AutomatonText:
        """Read the file."""
        root = self.tree.read()
        if root.name != "structure":
            raise self._error(root, f"<{brief(root.name)}> is not JFLAP's", _FILE)
        kind = root.first("type")
        if kind is None:
            raise self._error(root, "this structure has no type", _FILE)
        named = kind.text.strip()
        if named != "fa":
            what = _TYPES.get(named, f"a structure of the type {brief(named)}")
            hint = "in an .re file: docs/languages.md" if named == "re" else "convert it with JFLAP if it is regular"
            raise self._error(kind, f"this is {what}, and only finite automata are read", "<type>fa</type>", hint)
        # version 4 had no element `automaton`
        body = root.first("automaton") or root
        starts, accepting = self._read_states(body)
        for one in body.parts:
            if one.name == "transition":
                self._transition(one)
        known = self._alphabet(root)
        notes = ["no state accepts: no state is final"] * (not accepting)
        if self.several:
            shown = listed([*self.several], 6)
            notes.append(f"read character by character, as JFLAP does: {shown}; --alphabet makes such texts symbols")
        guards = tuple(Condition(name=name) for name in self.numbers)
        graph = StateGraph(len(self.states) + self.extra, starts, accepting, guards, tuple(self.edges))
        return AutomatonText(graph, known, tuple(notes))

    def _read_states(self, body: _Element) -> tuple[frozenset[int], frozenset[int]]:
        starts, accepting = set[int](), set[int]()
        for one in body.parts:
            if one.name not in ("state", "block"):
                continue
            name = one.attributes.get("id")
            if name is None or name in self.states:
                message = "this state has no id" if name is None else f"the id {brief(name)} occurs twice"
                raise self._error(one, message, "a state with an id of its own")
            if len(self.states) == MAX_STATES:
                raise self._error(one, f"more than {MAX_STATES:,} states, the limit")
            number = self.states[name] = len(self.states)
            if one.first("initial") is not None:
                starts.add(number)
            if one.first("final") is not None:
                accepting.add(number)
        if not starts:
            hint = "make a state initial in JFLAP, and save the file"
            raise self._error(body, "no state is initial", "a state with <initial/>", hint)
        return frozenset(starts), frozenset(accepting)

    def _end(self, transition: _Element, name: str) -> int:
        found = transition.first(name)
        if found is None:
            raise self._error(transition, f"this transition has no <{name}>", f"<{name}>ID</{name}>")
        text = found.text.strip()
        if text not in self.states:
            raise self._error(found, f"no state has the id {brief(text)}", f"ids: {listed([*self.states], 12)}")
        return self.states[text]

    def _transition(self, one: _Element) -> None:
        source, target = self._end(one, "from"), self._end(one, "to")
        read = one.first("read")
        text = "" if read is None else read.text.strip()
        if len(text) > MOST_TEXT:
            raise self._error(read or one, f"this transition reads more than {MOST_TEXT:,} characters")
        if not text:
            self.edges.append((source, None, target))
            return
        symbols = [text] if self.given is not None and text in self.given else [*text]
        if len(symbols) > 1:
            self.several[text] = None
        for symbol in symbols:
            bad = "a blank" if symbol.isspace() else unprintable(symbol)
            if bad:
                raise self._error(read or one, f"{bad} is not a symbol", "symbols that can be printed")
            if self.given is not None and symbol not in self.given:
                message, hint = f"{brief(symbol)} is not a symbol of the alphabet", "give all symbols by --alphabet"
                raise self._error(read or one, message, listed(self.given, 20), hint)
        places = [source, *(self._between() for _ in symbols[1:]), target]
        for (here, after), symbol in zip(pairwise(places), symbols, strict=True):
            self.edges.append((here, self.numbers.setdefault(symbol, len(self.numbers)), after))

    def _between(self) -> int:
        self.extra += 1
        return len(self.states) + self.extra - 1

    def _alphabet(self, root: _Element) -> tuple[str, ...]:
        if self.given is not None:
            return self.given
        if not self.numbers:
            hint = "give the symbols by --alphabet"
            raise self._error(root, "no transition reads a symbol", "a transition with <read>a</read>", hint)
        if len(self.numbers) > LARGEST_ALPHABET:
            raise self._error(root, f"more than {LARGEST_ALPHABET:,} symbols, the limit")
        return tuple(self.numbers)
