"""Read collections of formulas: files with one formula on each line.

Header lines and definitions at the top apply to all formulas. Blank lines and comments are skipped, including comments
in the syntax of other languages. A line is named FILE:LINE, as in `corpus.txt:7`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

from hardsim.errors import InputError, SourceError, Span
from hardsim.lang.ast import FormulaFile
from hardsim.lang.files import FOREIGN_COMMENT, HEADER, FormulaLayout
from hardsim.lang.frontend import source_of
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.valuations import GivenNames
from hardsim.lazy_dataclass import dataclass

OTHERS = (".srasp", ".cr", ".re", ".dot", ".gv", ".jff", ".spec", ".json", ".onnx", ".safetensors")
"""Suffixes of files that are not collections of formulas."""
_NAMED = re.compile(r"(?P<path>.+):(?P<line>[1-9][0-9]{0,8})", re.DOTALL)
_LABEL = re.compile(r"\s*(\(?\d+[.):,;]|[-*•+](?=\s)|\w+\s*(:=|:(?!=)|=(?=\s*[^\W\d])))")
"""A number, a bullet or a name before a formula, as in lists of formulas."""
_DEFINITION = re.compile(r"(?:let|pred)\s")


@dataclass(frozen=True)
class Corpus:
    """The formulas of a file by line number (from 1), and the header lines that apply to all of them."""

    head: str
    formulas: Mapping[int, str]

    def text(self, number: int) -> tuple[str, int]:
        """Return the text to parse for the formula of a line, and the number of the first line of that text."""
        if not self.head:
            return self.formulas[number], number
        # Empty lines keep the line numbers of the file, which errors cite.
        return self.head + "\n" * (number - 1 - self.head.count("\n")) + self.formulas[number], 1


@lru_cache(4)
def read_corpus(data: bytes, name: str) -> Corpus:
    """Return the formulas of a file. Raises SourceError if the file has no formula, is not UTF-8, or has header lines
    or definitions below a formula."""
    source = source_of(data, name, "a formula on each line", "for example: G(a -> F b)")
    head, formulas = 0, dict[int, str]()
    lines = source.text.split("\n")
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or _is_comment(text):
            continue
        header = HEADER.match(text)
        # an indented line right after the head continues the definition above
        indented = head == number - 1 and head > 0 and line[0].isspace()
        definition = _DEFINITION.match(text) or (header and header["key"] in FormulaLayout.keys)
        if not formulas and (indented or definition):
            head = number
        elif definition:  # applies to all formulas, so none may be read before it
            start = sum(map(len, lines[: number - 1])) + number - 1
            raise SourceError(
                source,
                Span(start, start + len(line)),
                "a header line or definition below the first formula",
                "a formula",
                "with --lines these come first and apply to all formulas; others need a file of their own",
            )
        else:
            formulas[number] = line.rstrip()
    if not formulas:
        raise SourceError(source, Span(0, 1), "no line has a formula", "a formula on each line", "for example: a U b")
    kept = (line if line.strip().startswith("//") or not _is_comment(line.strip()) else "" for line in lines[:head])
    return Corpus("".join(f"{line}\n" for line in kept), formulas)


def _is_comment(text: str) -> bool:
    """Return True if a line is a comment, in hardsim's syntax or that of another tool."""
    return text.startswith(("//", "--")) or FOREIGN_COMMENT.match(text) is not None


def line_of(name: str) -> tuple[str, int] | None:
    """Return the file and the line number of a name such as `corpus.txt:7`; None if the name is itself a file, or if
    the part before its last colon is not a file or has a suffix in OTHERS."""
    found = _NAMED.fullmatch(name)
    if found is None or os.path.lexists(name) or not os.path.isfile(found["path"]):
        return None
    return None if found["path"].endswith(OTHERS) else (found["path"], int(found["line"]))


def read_line(
    data: bytes, name: str, number: int, alphabet: GivenNames, props: GivenNames, dialect: str | None
) -> FormulaFile:
    """Return the formula of a line of a file, parsed as by `parse_text`. Raises InputError if there is no formula on
    that line; SourceError, with the place in the file, if the formula has a mistake."""
    corpus = read_corpus(data, name)
    if number not in corpus.formulas:
        near = min(corpus.formulas, key=lambda line: abs(line - number))
        message = f"{name}:{number}: there is no formula on line {number}"
        raise InputError(message, f"The nearest one is on line {near}.")
    text, first = corpus.text(number)
    try:
        return parse_text(text, name, alphabet, props, dialect, first)
    except SourceError as error:
        label = _LABEL.match(corpus.formulas[number])
        if label is None:
            raise
        hint = f"a line contains only a formula: remove {label[0].strip()}"
        raise SourceError(error.source, error.span, error.message, error.expected, hint) from None
