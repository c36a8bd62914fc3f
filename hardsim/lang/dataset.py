"""Labelled data: files with a word and its label in each row, as text separated by tabs or commas, or as lines of JSON.

Only the cells are found here, each with its place. What a word and a label are depends on the network that they are
for: `DataCell.word` reads a word over its symbols, and `targets.data` reads a label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.lang.frontend import source_of
from hardsim.lang.json_text import parse_json
from hardsim.lang.words import check_word, read_words
from hardsim.lazy_dataclass import dataclass

WORDS = ("word", "words", "text", "input", "sequence", "string", "sentence", "prefix", "tokens")
LABELS = ("label", "labels", "output", "target", "class", "answer", "expected", "accept", "allowed", "next")
"""Names, in lower case, of the columns and keys of words and of labels."""
FOR_SETS = ("allowed", "next")
"""The keys of which a list is a set of answers, one of which should be given."""
NUMBERED = "input_ids"
"""The key under which tokenizers store numbers of tokens, special ones among them: these are no words."""
TAB, COMMA, JSON_LINES = "\t", ",", "JSON"
FORMS = {".tsv": TAB, ".tab": TAB, ".txt": TAB, ".csv": COMMA, ".jsonl": JSON_LINES, ".ndjson": JSON_LINES}
"""How the cells of a row are written, by the suffix of the file."""
NAMED = f"Name the columns in the first row: one of {', '.join(WORDS)}, and one of {', '.join(LABELS)}."
BY_NAME = f'{NUMBERED} are numbers of tokens: give symbols by name and no special tokens, as "tokens": ["a", "b"].'
ENDING = "The ending of the name chooses what separates cells: commas in .csv, tabs in .tsv and .txt."
EXAMPLES = {
    TAB: "a word, a tab and a label",
    COMMA: "a word, a comma and a label",
    JSON_LINES: 'an object such as {"word": "ab", "label": 1}, or a list such as ["ab", 1]',
}


@dataclass(frozen=True, slots=True)
class DataCell:
    """A value of a row: text at a place, or the `items` of a list at this place; `key` is that of a member of JSON."""

    source: Source
    span: Span
    items: tuple[str, ...] | None = None
    key: str = ""

    @property
    def text(self) -> str:
        """The text, without white space around it; of a list, its items separated by blanks."""
        found = self.source.text[self.span.start : self.span.end] if self.items is None else " ".join(self.items)
        return found.strip()

    @property
    def line(self) -> int:
        """The line of the place, from 1."""
        return self.source.line_of(self.span.start)[0]

    def error(self, message: str, expected: str = "", hint: str = "") -> SourceError:
        """Return an error at this place."""
        return SourceError(self.source, self.span, message, expected, hint)

    def word(self, alphabet: Sequence[str]) -> tuple[str, ...]:
        """Return the word of this cell, which may be empty: in the notation of words, or symbol by symbol in a list.
        Raises SourceError, with the place, for a symbol that is not in the alphabet."""
        if not self.text:
            return ()
        if self.items is None:
            return tuple(symbol for word, _ in read_words(self.source, self.span, alphabet) for symbol in word)
        try:
            return check_word(self.items, alphabet)
        except InputError as error:
            raise self.error(error.message, error.hint) from None


@dataclass(frozen=True, slots=True)
class DataRow:
    """A row of labelled data."""

    word: DataCell
    label: DataCell


def form_of(path: str) -> str:
    """Return how the cells of a file are written, by its suffix. Raises InputError for any other suffix."""
    for suffix, form in FORMS.items():
        if path.lower().endswith(suffix):
            return form
    message = f"{path}: labelled data is a file of words and labels, and this suffix is none of {', '.join(FORMS)}"
    raise InputError(message, "Write a word and a label on each line, separated by a tab, in a file NAME.tsv.")


def read_rows(data: bytes, path: str) -> list[DataRow]:
    """Return the rows of a file. Blank lines are skipped. If the first row names a column of words and one of labels,
    these are read, and otherwise each row has exactly two cells. Raises SourceError with the place of a mistake, or if
    there is no row; InputError for a file of another format."""
    form = form_of(path)
    source = source_of(data, path, EXAMPLES[form], "Each row is a word and its label.")
    rows = list(_objects(source) if form == JSON_LINES else _table(source, form))
    if not rows:
        raise SourceError(source, Span(0, 1), "there is no row below the names of the columns", EXAMPLES[form])
    return rows


def _lines(source: Source) -> Iterator[Span]:
    """Yield the places of the lines that are not blank."""
    start = 0
    while start <= len(source.text):
        end = source.text.find("\n", start)
        end = len(source.text) if end < 0 else end
        # A line of a tab alone is a row: the empty word, and no label.
        if source.text[start:end].strip(" "):
            yield Span(start, end)
        start = end + 1


# ---- text with separators ----


def _table(source: Source, separator: str) -> Iterator[DataRow]:
    columns: tuple[int, int] | None = None
    for number, line in enumerate(_lines(source)):
        cells = list(_quoted_cells(source, line) if separator == COMMA else _cells(source, line, separator))
        if number == 0 and (columns := _named(cells)) is not None:
            continue
        if columns is None and len(cells) != 2:
            message = f"this row has {len(cells)} cell{'s' * (len(cells) > 1)}"
            other = COMMA if separator == TAB else TAB
            hint = ENDING if len(cells) == 1 and other in source.text[line.start : line.end] else ""
            raise SourceError(source, line, message, EXAMPLES[separator], NAMED if len(cells) > 2 else hint)
        word, label = columns or (0, 1)
        if max(word, label) >= len(cells):
            message = f"this row has only {len(cells)} cell{'s' * (len(cells) > 1)}"
            raise SourceError(source, line, message, "a cell for each column that the first row names")
        yield DataRow(cells[word], cells[label])


def _named(cells: Sequence[DataCell]) -> tuple[int, int] | None:
    """Return the columns of words and labels that a first row names; None if it is a row of data."""
    names = [cell.text.lower() for cell in cells]
    found = [[place for place, name in enumerate(names) if name in known] for known in (WORDS, LABELS)]
    return (found[0][0], found[1][0]) if all(len(places) == 1 for places in found) else None


def _cells(source: Source, line: Span, separator: str) -> Iterator[DataCell]:
    start = line.start
    while (end := source.text.find(separator, start, line.end)) >= 0:
        yield DataCell(source, Span(start, end))
        start = end + 1
    yield DataCell(source, Span(start, line.end))


def _quoted_cells(source: Source, line: Span) -> Iterator[DataCell]:
    """Yield the cells of a row of CSV (RFC 4180). A cell in double quotes may have commas and doubled quotes. It ends
    on its line, since words have no line breaks."""
    text, start = source.text, line.start
    while True:
        if not text.startswith('"', start, line.end):
            end = text.find(COMMA, start, line.end)
            end = line.end if end < 0 else end
            yield DataCell(source, Span(start, end))
        else:
            close = text.find('"', start + 1, line.end)
            while close >= 0 and text.startswith('""', close, line.end):
                close = text.find('"', close + 2, line.end)
            if close < 0:
                raise SourceError(
                    source, Span(start, start + 1), "no quote closes this cell", 'a closing " on this line'
                )
            end, inside = close + 1, Span(start + 1, close)
            if end < line.end and text[end] != COMMA:
                raise SourceError(
                    source, Span(end, end + 1), "text after a quoted cell", "a comma or the end of the line"
                )
            plain = '""' not in text[inside.start : inside.end]
            yield DataCell(source, inside) if plain else _written(source, inside)
        if end >= line.end:
            return
        start = end + 1


def _written(source: Source, inside: Span) -> DataCell:
    """Return a cell with doubled quotes as a text of its own."""
    text = source.text[inside.start : inside.end].replace('""', '"')
    return DataCell(Source(source.name, text, source.line_of(inside.start)[0]), Span(0, len(text)))


# ---- lines of JSON ----


def _objects(source: Source) -> Iterator[DataRow]:
    hint = f"Each line is {EXAMPLES[JSON_LINES]}."
    for line in _lines(source):
        try:
            # Numbers stay as they are written.
            found = parse_json(source, line, hint, parse_int=str, parse_float=str, object_pairs_hook=_members)
        except KeyError as error:
            raise SourceError(source, line, f"the key {error} occurs twice", EXAMPLES[JSON_LINES]) from None
        if isinstance(found, list) and len(found) == 2:
            yield DataRow(*(_value(source, line, "", value) for value in found))
            continue
        members = found if isinstance(found, dict) else {}
        keys = [[key for key in members if key.lower() in known] for known in (WORDS, LABELS)]
        if any(len(some) != 1 for some in keys):
            message = "this line has no word with a label"
            raise SourceError(
                source, line, message, EXAMPLES[JSON_LINES], BY_NAME if NUMBERED in members else NAMED_KEYS
            )
        yield DataRow(*(_value(source, line, key, found[key]) for (key,) in keys))


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object of JSON. Raises KeyError for a key that occurs twice: which value counts would be
    a guess."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KeyError(key)
        found[key] = value
    return found


NAMED_KEYS = f"Give an object one of the keys {', '.join(WORDS)}, and one of {', '.join(LABELS)}."


def _value(source: Source, line: Span, key: str, value: Any) -> DataCell:
    """Return a value of a line of JSON as a cell, at its place if that is found, else at the whole line."""
    if isinstance(value, list) and all(isinstance(one, str | bool) for one in value):
        return DataCell(source, line, tuple(map(_scalar, value)), key)
    if not isinstance(value, str | bool):
        kinds = ((type(None), "null"), (dict, "an object"), (list, "a list of other values"))
        what = next((text for kind, text in kinds if isinstance(value, kind)), "not a finite number")
        raise SourceError(
            source, line, f"a value of this row is {what}", "text, a number, true, false, or a list of them"
        )
    text = _scalar(value)
    after = (
        source.text.find(json.dumps(key, ensure_ascii=False), line.start, line.end) + len(key) if key else line.start
    )
    place = source.text.find(text, max(after, line.start), line.end)
    if place >= 0 and text:
        return DataCell(source, Span(place, place + len(text)))
    return DataCell(Source(source.name, text, source.line_of(line.start)[0]), Span(0, len(text)))


def _scalar(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


# ---- pairs of values ----


def rows_of(pairs: Iterable[tuple[Any, Any]], name: str) -> list[DataRow]:
    """Return the rows of pairs of a word and a label: words are text or sequences of symbols, labels text, numbers,
    truths, or collections of these. `name` is the source in errors, whose lines count the pairs."""
    return [
        DataRow(_plain(word, name, place), _plain(label, name, place)) for place, (word, label) in enumerate(pairs, 1)
    ]


def _plain(value: Any, name: str, place: int) -> DataCell:
    items: tuple[str, ...] | None = None
    if isinstance(value, Iterable) and not isinstance(value, str):
        items = tuple(map(_text, value))
    text = _text(value) if items is None else " ".join(items)
    return DataCell(Source(name, text, place), Span(0, max(1, len(text)) if items is not None else len(text)), items)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
