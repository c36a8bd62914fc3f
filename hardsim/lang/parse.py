"""Reading `.ltl` files, expressions and words: the entrance to the language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from hardsim.errors import Source, SourceError, Span
from hardsim.files import LARGEST_TEXT, read_bytes
from hardsim.lang.ast import Example, Formula, FormulaFile, Let, UserPredicate
from hardsim.lang.condition import WORD_OPERATORS as CONDITION_WORDS
from hardsim.lang.expression import read_definition, read_formula
from hardsim.lang.files import DefinitionLine, Layout, lay_out, normalised
from hardsim.lang.predicate import compile_predicate
from hardsim.lang.scope import Scope
from hardsim.lang.vocabulary import RESERVED, brief
from hardsim.lang.walk import looks_ahead_only
from hardsim.lang.words import check_alphabet, parse_word, read_alphabet, read_words

__all__ = ["FUTURE_NOTE", "load", "parse_expression", "parse_text", "parse_word"]

FUTURE_NOTE = (
    "every operator of this formula looks ahead, and it is read at the last position, where F a means a; "
    "for LTLf write at: first"
)


def load(path: Path | str) -> FormulaFile:
    """Read and parse a `.ltl` file.

    Raises InputError if there is no such file or it cannot be read, SourceError for what is wrong inside it.
    """
    return parse_bytes(read_bytes(path, LARGEST_TEXT), str(path))


def parse_bytes(data: bytes, name: str) -> FormulaFile:
    """Parse the bytes of a `.ltl` file; `name` is what errors cite.

    Raises SourceError for what is wrong inside it.
    """
    return parse_text(decoded(data, name), name)


def parse_text(text: str, name: str = "<text>", alphabet: Sequence[str] | str | None = None) -> FormulaFile:
    """Parse the text of a whole file; `name` is what errors cite, `alphabet` is used if the text has no such line.

    Raises SourceError with the place of the first mistake (InputError for a bad `alphabet`).
    Spans are offsets in the text with a byte order mark removed and `\\n` line ends, which is the result's `source`.
    """
    source = Source(name, normalised(text))
    if not source.text.strip():
        expected = "an alphabet: line and a formula"
        raise SourceError(source, Span(0, 1), "the file is empty", expected, "a small file: alphabet: a b, then F a")
    layout = lay_out(source)
    symbols = _alphabet(layout, None if alphabet is None else check_alphabet(alphabet))
    at = _at(layout)
    examples = tuple(_examples(layout, symbols))
    scope, lets = _definitions(layout, symbols)
    if layout.formula is None:
        raise SourceError(source, layout.end, "missing formula", "a formula after the header and the definitions")
    formula = read_formula(scope, layout.formula)
    origin = layout.header("source")
    return FormulaFile(
        alphabet=symbols,
        formula=formula,
        lets=lets,
        predicates=tuple(scope.predicates.values()),
        at=at or "last",
        origin=layout.value(origin) if origin else "",
        title=layout.title,
        examples=examples,
        notes=() if at else _notes(formula, lets),
        source=source,
        placed=at is not None,
    )


def parse_expression(text: str, alphabet: Sequence[str] | str, name: str = "<expression>") -> FormulaFile:
    """Parse a formula alone; the alphabet is given as symbols, or as one text with spaces between the symbols.

    Raises SourceError with the place of the first mistake, InputError for a bad alphabet.
    """
    source = Source(name, normalised(text))
    symbols = check_alphabet(alphabet)
    if not source.text.strip():
        raise SourceError(source, Span(0, 1), "missing formula", "a formula, such as F a")
    scope = Scope(source, symbols)
    start = len(source.text) - len(source.text.lstrip())
    formula = read_formula(scope, Span(start, len(source.text)))
    return FormulaFile(alphabet=symbols, formula=formula, notes=_notes(formula, ()), source=source)


def decoded(data: bytes, name: str) -> str:
    """The text of a file in UTF-8; `name` is what the SourceError for anything else cites."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = normalised(data[: error.start].decode("utf-8"))
        rest = data[error.start :].split(b"\n", 1)[0].decode("utf-8", errors="replace").rstrip("\r")
        message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        hint = "save the file as UTF-8"
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            hint += " (it looks like UTF-16)"
        span = Span(len(good), len(good) + 1)
        raise SourceError(Source(name, good + rest), span, message, "text in UTF-8", hint) from None


def _alphabet(layout: Layout, given: tuple[str, ...] | None) -> tuple[str, ...]:
    line = layout.header("alphabet")
    if line is None:
        if given is None:
            place = layout.first or layout.end
            expected = "a line with all symbols, as in alphabet: a b"
            raise SourceError(layout.source, place, "missing alphabet", expected, "add it at the top of the file")
        return given
    own = read_alphabet(layout.source, line.value)
    if given is not None and given != own:
        message = f"the alphabet is also given as {' '.join(given)}"
        raise SourceError(layout.source, line.value, message, hint="give the alphabet in one of the two places only")
    return own


def _at(layout: Layout) -> Literal["last", "first"] | None:
    """The position of the `at:` line, None without one."""
    line = layout.header("at")
    if line is None:
        return None
    value = layout.value(line)
    if value == "first":
        return "first"
    if value == "last":
        return "last"
    place = line.value if value else Span(line.value.start, line.value.start + 1)
    message = f"a formula is not read at {brief(value)}" if value else "at: says no position"
    raise SourceError(layout.source, place, message, "last or first", "last is the default; first is LTLf's convention")


def _examples(layout: Layout, alphabet: tuple[str, ...]) -> list[Example]:
    examples = []
    for line in layout.headers:
        if line.key in ("accept", "reject"):
            words = read_words(layout.source, line.value, alphabet)
            examples += [Example(word, line.key == "accept", span=span) for word, span in words]
    return examples


def _definitions(layout: Layout, alphabet: tuple[str, ...]) -> tuple[Scope, tuple[Let, ...]]:
    """Read the definitions in order; the scope has all of them at the end."""
    places: dict[str, Span] = {}
    for line in layout.definitions:
        places.setdefault(line.name, line.at)
    bodies = {line.name: line.body for line in layout.definitions if line.kind == "let"}
    scope = Scope(layout.source, alphabet, later=places, bodies=bodies)
    lets = []
    for line in layout.definitions:
        _check_name(scope, line)
        if line.kind == "pred":
            text = _without_comments(layout.source, line.body)
            predicate = UserPredicate(line.name, line.params, text, span=line.body)
            _check_arguments(layout.source, line)
            compile_predicate(layout.source, predicate)  # for its errors, in the order of the text
            scope.predicates[line.name] = predicate
            continue
        scope.current = line.name
        body, definition = read_definition(scope, line.body)
        scope.lets[line.name] = definition
        lets.append(Let(line.name, body, span=line.at))
    scope.current = ""
    return scope, tuple(lets)


def _check_name(scope: Scope, line: DefinitionLine) -> None:
    name = line.name

    def refuse(message: str, hint: str = "choose another name") -> SourceError:
        return SourceError(scope.source, line.at, message, "a new name", hint)

    if name in RESERVED:
        raise refuse(f"{name} is reserved: operators, constants and predicates are never names")
    if name in scope.symbols:
        raise refuse(f"{name} is a symbol of the alphabet")
    if name.startswith("Q_"):
        raise refuse(f"{name} is reserved: Q_ begins the name of a symbol")
    if name in scope.lets or name in scope.predicates:
        raise refuse(f"duplicate definition of {name}", f"it is defined in line {scope.line_of(scope.later[name])}")


def _check_arguments(source: Source, line: DefinitionLine) -> None:
    """Refuse arguments of a `pred` line that are operators in its condition."""
    for name in line.params:
        if name in CONDITION_WORDS:
            match = re.compile(rf"\b{name}\b").search(source.text, line.at.end, line.body.start)
            place = Span(*match.span()) if match else line.at
            message = f"{name} is an operator: it cannot be an argument"
            raise SourceError(source, place, message, "a new name", "choose another name, such as i")


def _without_comments(source: Source, span: Span) -> str:
    """The text of a span with comments blanked out, so that offsets in it stay true."""
    text = re.sub(r"(?m)(?<=\s)//.*", lambda match: " " * len(match[0]), source.text[span.start : span.end])
    return text.rstrip()


def _notes(formula: Formula, lets: tuple[Let, ...]) -> tuple[str, ...]:
    return (FUTURE_NOTE,) if looks_ahead_only(formula, lets) else ()
