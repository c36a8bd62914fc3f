"""Parsing `.spec` files into lines: header lines, and the lines that state what an output of a network should be.

Formulas inside the lines are parsed in `meaning`, because their alphabet may be known only from the network.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import ClassVar

from hardsim.errors import SourceError, Span, did_you_mean
from hardsim.lang.files import HEADER, FileLine, Layout
from hardsim.lang.frontend import source_of
from hardsim.lang.regex.notation import CHOICES, notation_of
from hardsim.lang.vocabulary import brief
from hardsim.lazy_dataclass import dataclass

OUTPUT, VALUE = "output", "value"
"""The keys of lines about a named output: its truth value (OUTPUT), or its number (VALUE)."""
FORM = {OUTPUT: "output NAME: FORMULA", VALUE: "value NAME: TERM"}
LANGUAGE, ACCEPT = "language", "accept"
"""The keys of the words that a network should accept, and of the output that says that it accepts."""
FILE = "@"
"""The sign before the path of a file that is the reference of an output."""
_NAMED = re.compile(r"(?P<key>output|value)[^\S\n]+(?P<name>\S+):(?=\s|$)(?P<value>[^\n]*)")
"""A line about a named output. Names may contain colons: the name ends at the last colon with white space after it."""
_UNNAMED = re.compile(r"(?P<key>output|value)(?=[\s:=]|$)")
_EQUALS = re.compile(r"(?P<key>output|value)[^\S\n]+(?P<name>\S+?)[^\S\n]*(?P<equals>=)(?![=>])")
_COMMENT = re.compile(r"(?<=\s)//")
_LISTS = frozenset({"alphabet", "tokens", "input", "source"})
"""Keys whose value may contain `//`, as a token or as text."""
_ELSEWHERE = {
    "props": "the tokens of a network are symbols: alphabet: a b",
    **dict.fromkeys(("reject", "map", "pad", "dialect", "one-of", "at-most-one"), "specifications have no such line"),
    "against": "write a formula as output NAME: FORMULA, and name a program with program:",
    **dict.fromkeys(("formula", "ltl"), "write accepted words as a line `language: FORMULA` or `language: @FILE.ltl`"),
    **dict.fromkeys(("re", "regex", "expression"), "write accepted words as a line `language: /EXPRESSION/`"),
    **dict.fromkeys(("reference", "spec"), "write accepted words as a line `language: /EXPRESSION/`, FORMULA or @FILE"),
    **dict.fromkeys(("model", "net", "weights", "checkpoint"), "write `network: PATH`"),
    "max-n": "set the greatest length on the command line, with --max-n",
    OUTPUT: f"write {FORM[OUTPUT]}, where NAME is the network's name for the output",
    VALUE: f"write {FORM[VALUE]}, where NAME is the network's name for the output",
}


@dataclass
class SpecLayout(Layout):
    """The parts of a `.spec` file: `outputs` and `values` are the lines about named outputs, each with the place of the
    name. Raises SourceError for a line of any other form, and for unknown or repeated keys."""

    keys = (
        "network", "alphabet", "tokens", "input", "at", "decide", "assume", "output NAME", "value NAME", "program",
        "next", LANGUAGE, ACCEPT, "source", *CHOICES,
    )  # fmt: skip
    hints: ClassVar = _ELSEWHERE
    document: ClassVar = "docs/specifications.md describes each line"
    outputs: list[FileLine] = field(default_factory=list)
    values: list[FileLine] = field(default_factory=list)

    def _line(self, line: Span, text: str, indented: bool) -> None:
        start = line.end - len(text)
        if indented:
            hint = "a line cannot be continued: write all of it in one, without a space before it"
            raise self.error(line, "an indented line", "a line without indentation", hint)
        # before HEADER, which would split a name at its first colon
        if named := _NAMED.match(text):
            self._add_named(start, named)
        elif _UNNAMED.match(text) and not HEADER.match(text):
            raise self._unnamed(start, text)
        elif header := HEADER.match(text):
            self._add_header(start, header)
            added = self.headers[-1]
            if added.name not in _LISTS:
                self._require_alone(added.body)
        else:
            raise self._colon(line, text) or self._stray(line, text)

    def _add_named(self, start: int, match: re.Match[str]) -> None:
        """Add a line about a named output. Raises SourceError if the output has such a line already."""
        lines = self.outputs if match["key"] == OUTPUT else self.values
        at, text = Span(start + match.start("name"), start + match.end("name")), match["value"].strip()
        before = next((line for line in lines if line.name == match["name"]), None)
        if before is not None:
            message = f"a second line {match['key']} {brief(match['name'])}"
            hint = f"remove one of the two (the first is line {self.line_of(before.at)})"
            raise self.error(at, message, "one line for each output", hint)
        begin = start + match.start("value") + len(match["value"]) - len(match["value"].lstrip())
        begin = begin if text else at.end + 1
        body = Span(begin, begin + max(1, len(text)))
        self._require_alone(body)
        lines.append(FileLine(match["name"], at, body, text))

    def _require_alone(self, body: Span) -> None:
        """Raise SourceError if a comment follows a value on the same line."""
        if comment := _COMMENT.search(self.source.text, body.start + 1, body.end):
            hint = "put a comment on a line of its own, which begins with //"
            raise self.error(Span(*comment.span()), "a comment cannot follow a value here", "the end of the line", hint)

    def _unnamed(self, start: int, text: str) -> SourceError:
        """Return the error for a line about an output without a name, or without the colon after it."""
        if equals := _EQUALS.match(text):
            hint = f"write {equals['key']} {equals['name']}: {text[equals.end() :].strip()}".rstrip()
            place = Span(start + equals.start("equals"), start + equals.end("equals"))
            return self.error(place, "the name of an output ends with a colon", f"{equals['name']}:", hint)
        key = text.split(None, 1)[0]
        hint = "put white space after the colon, and none inside the name"
        return self.error(Span(start, start + len(text)), f"{key} without a name and a colon", FORM[key], hint)

    def _stray(self, line: Span, text: str) -> SourceError:
        """Return the error for a line of a form that no specification has."""
        word = text.split(None, 1)[0].rstrip(":")
        known = [*FORM, *(key for key in self.keys if key.partition(" ")[0] not in FORM)]
        hint = did_you_mean(word, known, lambda key: FORM.get(key, f"{key}:"))
        expected = f"a key and a colon, {FORM[OUTPUT]}, or a comment that begins with //"
        return self.error(line, "this line does not belong in a specification", expected, hint)


def references(layout: SpecLayout) -> list[FileLine]:
    """Return the lines whose value is the path of a file that is a reference: `@FILE`."""
    lines = [*layout.outputs, *filter(None, [layout.header(LANGUAGE)])]
    return [line for line in lines if line.text.startswith(FILE)]


def read_spec(text: str | bytes, name: str) -> SpecLayout:
    """Return the lines of a `.spec` file; `name` is the file name in errors. Raises SourceError at the first mistake:
    in a line, lines that exclude each other, or no line about the outputs."""
    hint = "a small file: network: net, then output NAME: F a"
    layout = SpecLayout(source_of(text, name, "a line about the expected outputs", hint))
    whole = layout.header("next")
    language, accept = layout.header(LANGUAGE), layout.header(ACCEPT)
    if accept is not None and language is None:
        message = f"{ACCEPT}: names the output that says that a word is accepted, and no line says which words are"
        raise layout.error(accept.at, message, f"a line {LANGUAGE}: /EXPRESSION/, FORMULA or {FILE}FILE beside it")
    if language is not None:
        beside = next(filter(None, [*layout.outputs, *layout.values, layout.header("program"), whole]), None)
        if beside is not None:
            hint = f"remove it, or remove {LANGUAGE}: (line {layout.line_of(language.at)})"
            message = f"{LANGUAGE}: defines all outputs, so this line cannot be used with it"
            raise layout.error(beside.at, message, "", hint)
    elif whole is not None:
        others = [layout.header("assume"), *layout.outputs, *layout.values, layout.header("program")]
        beside = next((line for line in others if line is not None), None)
        if beside is not None:
            message = "next: defines assume: and all outputs, so this line cannot be used with it"
            hint = f"remove it, or remove next: (line {layout.line_of(whole.at)}) and write a line for each output"
            raise layout.error(beside.at, message, "", hint)
    elif layout.outputs and layout.values:
        message = "lines value and output in one specification: its outputs are numbers or truth values, not both"
        raise layout.error(layout.values[0].at, message, "lines of one kind only")
    elif not layout.outputs and not layout.values and layout.header("program") is None:
        expected = f"{FORM[OUTPUT]}, {FORM[VALUE]}, {LANGUAGE}: /EXPRESSION/, program: FILE.srasp or next: /EXPRESSION/"
        raise layout.error(layout.end, "no line states what the outputs should be", expected)
    notation_of(layout)
    stray = next(filter(None, map(layout.header, CHOICES)), None)
    texts = [layout.value("assume"), layout.value(LANGUAGE), *(line.text for line in layout.outputs)]
    if stray is not None and whole is None and not any(text.startswith("/") for text in texts):
        message = f"{stray.name}: applies to regular expressions, and there is none here"
        raise layout.error(stray.at, message, "next: /EXPRESSION/, say", "remove the line")
    return layout
