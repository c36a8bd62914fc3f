"""Which format an automaton has, and its automaton."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from hardsim.errors import InputError
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.lettered import AutomatonTooLarge
from hardsim.lang.frontend import normalised, source_of
from hardsim.lang.unread_files import DECLARES, mentions_table, unread_format_error
from hardsim.lang.valuations import Alphabet, GivenNames
from hardsim.lazy_dataclass import dataclass
from hardsim.network.reader import Reader, read_json
from hardsim.reading.automata.dot import BEGINS
from hardsim.reading.automata.drawn import AutomatonText, read_drawn
from hardsim.reading.automata.jflap import read_jflap
from hardsim.reading.automata.tables import ADVICE, read_table

Drawn: TypeAlias = Literal["dot", "jff"]
"""The formats of automata that are no JSON."""
SUFFIXES: dict[str, Drawn] = {".dot": "dot", ".gv": "dot", ".jff": "jff"}
"""The suffixes of files of these formats."""
NAMES = {"dot": "a DOT graph (Graphviz)", "jff": "a file of JFLAP"}
_JFLAP = re.compile(r"\s*+(?:<\?[^>]*+>\s*+|<!--.*?-->\s*+)*+<structure>", re.DOTALL)
_DECLARES = re.compile(r'["\s\[;{,](?:alphabet|props)"?\s*=')
_LOOKED_AT = 4096
"""Number of bytes from which the format of a file without a known suffix is recognised."""


@dataclass(frozen=True, slots=True)
class OpenedAutomaton:
    """The automaton of a file, with the text of the file and remarks for the user."""

    automaton: Automaton
    alphabet: Alphabet
    notes: tuple[str, ...]
    text: str


def drawn_format(place: str, data: bytes) -> Drawn | None:
    """Return the format of a file whose beginning or suffix shows that it is an automaton in DOT or of JFLAP; None for
    any other file."""
    head = data[:_LOOKED_AT].decode("utf-8", "replace").removeprefix("\ufeff")
    if _JFLAP.match(head):
        return "jff"
    if BEGINS.match(head):
        return "dot"
    suffix = next((one for one in SUFFIXES if place.lower().endswith(one)), None)
    # under one of these suffixes there may still be another format, or a formula
    if suffix is None or DECLARES.search(normalised(head)):
        return None
    return None if SUFFIXES[suffix] == "dot" and unread_format_error(place, "", data, sure=True) else SUFFIXES[suffix]


def declares_alphabet(form: Drawn, data: bytes) -> bool:
    """Return True if an automaton declares its alphabet."""
    return form == "dot" and _DECLARES.search(data.decode("utf-8", "replace")) is not None


def open_drawn(
    data: bytes, name: str, form: Drawn, alphabet: GivenNames, props: GivenNames, beside: Alphabet | None
) -> OpenedAutomaton:
    """Read an automaton in DOT or of JFLAP from the bytes of a file. Raises SourceError at the first mistake, and
    InputError if the automaton is too large."""
    read = read_drawn if form == "dot" else read_jflap
    with _known_format():
        source = source_of(data, name, NAMES[form], "docs/languages.md describes such files")
        return _opened(read(source, alphabet, props, beside), name, source.text)


def read_table_json(data: bytes, name: str) -> Reader:
    """Parse JSON that may be an automaton, in which keys may be empty. Raises InputError if it is no JSON, or an object
    has a key twice; if the text has the keys of an automaton, the error says that its format is known."""
    if not mentions_table(data):
        return read_json(data, name, settings=True)
    with _known_format():
        return read_json(data, name, ADVICE, settings=True)


def open_table(document: Reader, text: str) -> OpenedAutomaton:
    """Read an automaton in JSON. Raises InputError with the place of the first mistake, or if the automaton is too
    large."""
    document = Reader(document.value, document.name, document.path, ADVICE)
    with _known_format():
        return _opened(read_table(document), document.name, text)


@contextmanager
def _known_format() -> Iterator[None]:
    """Mark an InputError of the block as one about a file whose format is known."""
    try:
        yield
    except InputError as error:
        error.known_format = True
        raise


def _opened(read: AutomatonText, name: str, text: str) -> OpenedAutomaton:
    try:
        automaton = read.graph.automaton(read.alphabet)
    except AutomatonTooLarge as error:
        hint = "An automaton that remembers less of a word has fewer states."
        raise InputError(f"{name}: this automaton is too large: {error}", hint) from None
    notes = read.notes
    if automaton.empty and read.graph.accepting:
        notes = (*notes, "the automaton accepts no word (words are non-empty)")
    return OpenedAutomaton(automaton, read.alphabet, notes, text)
