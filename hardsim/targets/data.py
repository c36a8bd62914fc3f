"""Labelled data as a reference: the expected answer of a word is its label, and no other word has one.

A label is read for the network that it is for. A network that accepts words takes a truth (`accept`, `1`, `true`, or
the opposite); a classifier the name or the number of an output; a network that predicts symbols a set of names, of
which one should win; a program its output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from sys import float_info
from typing import Any, TypeVar

from hardsim.errors import InputError, did_you_mean
from hardsim.files import read_bytes
from hardsim.lang.dataset import FOR_SETS, DataCell, DataRow, read_rows, rows_of
from hardsim.lang.spec.meaning import ACCEPTING, END, accepting_name
from hardsim.lang.words import read_words, shown_word
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.base import digest
from hardsim.targets.expected import MOST_LISTED
from hardsim.targets.external import External, judging
from hardsim.targets.result import Word
from hardsim.targets.semantics import about_alphabet
from hardsim.targets.subject import Subject
from hardsim.writing.specification import predicts_tokens

TRUE = ACCEPTING | {"1"}
FALSE = frozenset({"reject", "rejected", "rejects", "false", "no", "negative", "invalid", "bad", "out", "0"})
"""The labels, in lower case, that say that a word is accepted, and that it is not."""
A_TRUTH = "accept or reject, 1 or 0, true or false"
ENDS = frozenset({END, "</s>", "<|endoftext|>", "<|end_of_text|>", "[EOS]", "<end>"})
"""Names of the token that ends texts. A label may use any of them for the only output that has one of these names."""
MOST_DIGITS, LONGEST_EXPONENT = 1000, 5
"""Greatest number of characters of a number in a label, and of its exponent with its sign."""
SOME_NAMES = 3
"""The largest number of files that a name of several lists."""
T = TypeVar("T", Subject, External)
Label = Callable[[DataCell, Word], Any]
"""The function that reads the label of a word. Raises SourceError if the network has no such answer."""


@dataclass(frozen=True)
class Labels:
    """The labels of words; None for any other word."""

    answers: dict[Word, Any]

    def __call__(self, word: Word) -> Any:
        return self.answers.get(word)

    def many(self, words: Sequence[Word]) -> list[Any]:
        """Return the labels of words of one length."""
        return [self.answers.get(word) for word in words]


@dataclass(frozen=True)
class LabelledData:
    """Labelled data, of one file or several. `files` are their names and digests."""

    rows: tuple[DataRow, ...]
    files: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The names of the files."""
        names = [name for name, _ in self.files]
        more = f" and {len(names) - SOME_NAMES} more files" if len(names) > SOME_NAMES else ""
        return ", ".join(names[:SOME_NAMES]) + more

    @property
    def sha256(self) -> str:
        """The digest of the file, or of the digests of all files."""
        digests = [sha256 for _, sha256 in self.files]
        return digests[0] if len(digests) == 1 else digest(" ".join(digests).encode())

    @property
    def alphabet(self) -> tuple[str, ...]:
        """No symbols: words are read over those of the network."""
        return ()

    def judging(self, subject: Subject) -> Subject:
        """Return a subject that is compared with the labels. Raises SourceError, with its place, for a row that it
        cannot have, and for two labels of one word."""
        with about_alphabet(subject.formula):
            words, labels = self._read(subject.alphabet, _of_subject(subject), _non_empty)
        return replace(subject, oracle=labels, against=self.name, rows=words, examples=(), pins=False)

    def deciding(self, external: External) -> External:
        """Return an external network that is compared with the labels, at the end of each word unless it is read at the
        first. Raises SourceError as `judging`."""

        def require(cell: DataCell, word: Word) -> None:
            if external.longest is not None and len(word) > external.longest:
                message = (
                    f"the table of positions ends: words have at most {external.longest:,} symbols, not {len(word):,}"
                )
                raise cell.error(message, "a shorter word", "Leave out the row.")
            if not word and not external.reads_empty:
                hint = "Leave out the row, or name tokens before the word in a specification (input: <bos> *)."
                raise cell.error("the network has no output for the empty word", "at least one symbol", hint)

        label, accepts = _of_network(external, self.rows)
        words, labels = self._read(external.alphabet, label, require)
        shortest = min(1, *map(len, words))
        plain = replace(external, domain=None, prefixes=False, mean=None, shortest=shortest, examples=(), pins=False)
        return replace(judging(plain, labels, self.name, accepts), rows=words)

    def _read(
        self, alphabet: Sequence[str], label: Label, require: Callable[[DataCell, Word], None]
    ) -> tuple[tuple[Word, ...], Labels]:
        words, found, first = list[Word](), dict[Word, Any](), dict[Word, DataCell]()
        for row in self.rows:
            word = row.word.word(alphabet)
            require(row.word, word)
            value = label(row.label, word)
            words.append(word)
            if found.setdefault(word, value) != value:
                before = first[word]
                where = (
                    f"{before.source.name}:{before.line}"
                    if before.source.name != row.label.source.name
                    else f"line {before.line}"
                )
                message = f"the word {shown_word(word, alphabet)} has another label on {where}: {before.text}"
                raise row.label.error(message, "one label for each word", "Correct one of the rows, or leave both out.")
            first.setdefault(word, row.label)
        return tuple(words), Labels(found)


def read_data(path: str) -> LabelledData:
    """Return the labelled data of a file. Raises InputError or SourceError as `read_rows`, and if the file cannot be
    read."""
    data = read_bytes(path, option="--data")
    return LabelledData(tuple(read_rows(data, path)), ((path, digest(data)),))


def data_of(pairs: Iterable[tuple[Any, Any]], name: str) -> LabelledData:
    """Return pairs of a word and its label as labelled data (see `rows_of`). Raises InputError if there are none."""
    rows = tuple(rows_of(pairs, name))
    if not rows:
        raise InputError(f"{name} is empty", "Give pairs of a word and its label.")
    text = repr([(row.word.items, row.word.text, row.label.items, row.label.text) for row in rows])
    return LabelledData(rows, ((name, digest(text.encode("utf-8", "surrogatepass"))),))


def joined(parts: Sequence[LabelledData]) -> LabelledData:
    """Return the data of several files as one. Raises InputError if a file is named twice."""
    files = tuple(file for part in parts for file in part.files)
    for name, times in Counter(name for name, _ in files).items():
        if times > 1:
            raise InputError(f"--data {name} is given twice", "Name each file once.")
    return LabelledData(tuple(row for part in parts for row in part.rows), files)


# ---- labels ----


def _non_empty(cell: DataCell, word: Word) -> None:
    if not word:
        raise cell.error(
            "the empty word is not allowed", "at least one symbol", "words are non-empty: leave out the row"
        )


def _truth(cell: DataCell, word: Word) -> bool:
    text = cell.text.lower()
    if text not in TRUE | FALSE:
        raise cell.error(f"{cell.text!r} does not say if the word is accepted", A_TRUTH)
    return text in TRUE


def _of_subject(subject: Subject) -> Label:
    """Return the reader of labels for hard attention: truths, or the outputs of a program that maps words."""
    if subject.acceptor:
        return _truth
    symbols = () if subject.program.integers else tuple(name for name, _ in subject.program.outputs)
    fixed = subject.blank is None

    def output(cell: DataCell, word: Word) -> tuple[str | int, ...]:
        found: tuple[str | int, ...]
        if subject.program.integers:
            pieces = cell.items or cell.text.split()
            if not all(piece.removeprefix("-").isdecimal() for piece in pieces):
                raise cell.error("this is no list of integers", "integers separated by blanks")
            long = next((piece for piece in pieces if len(piece) > MOST_DIGITS), None)
            if long is not None:
                raise cell.error(f"an integer of {len(long):,} digits", f"integers of at most {MOST_DIGITS} digits")
            found = tuple(map(int, pieces))
        elif cell.items is not None:
            found = cell.items
        else:
            found = (
                tuple(one for part, _ in read_words(cell.source, cell.span, symbols) for one in part)
                if cell.text
                else ()
            )
        if fixed and len(found) != len(word):
            raise cell.error(
                f"the label has {len(found)} symbols and the word {len(word)}", "a symbol for each position"
            )
        return found

    return output


def _of_network(external: External, rows: Sequence[DataRow]) -> tuple[Label, bool]:
    """Return the reader of labels for an external network, and True if its labels are truths."""
    network = external.network
    if network.readout.decide == "value":
        return _number(external), False
    if network.readout.decide == "above":
        return (_truth, True) if len(network.outputs) == 1 else (_names(external), False)
    return _winner(external, rows), False


def _number(external: External) -> Label:
    if len(external.network.outputs) > 1:
        message = f"{external.name} has {len(external.network.outputs)} numbers as outputs, and a label is one number"
        raise InputError(message, "In Python: hardsim.load(DIR).check(against=FUNCTION, words=...).")

    def number(cell: DataCell, word: Word) -> Fraction:
        text = cell.text
        exponent = text.lower().partition("e")[2]
        # A longer exponent would take long to write out, and no output is so large or so small.
        if len(text) > MOST_DIGITS or len(exponent) > LONGEST_EXPONENT:
            raise cell.error("this number has too many digits", "a number within the range of float64")
        try:
            found = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise cell.error(f"{text!r} is no number", "a number such as 3, 0.25 or 1/3") from None
        if abs(found) > Fraction(float_info.max):
            raise cell.error(f"{text} is too large", "a number within the range of float64")
        return found

    return number


def _outputs(external: External) -> list[str]:
    return list(external.rule.possible())


def _names(external: External) -> Label:
    """Return the reader of sets of outputs: the names separated by blanks, or a list."""
    known = dict.fromkeys(_outputs(external))
    ends = [name for name in known if name in ENDS]
    # A tokenizer and a specification may name the end of a word differently; two such outputs are not the same.
    other = dict.fromkeys(ENDS.difference(known), ends[0]) if len(ends) == 1 else {}

    def names(cell: DataCell, word: Word) -> frozenset[str]:
        if cell.items is None and cell.text in known:
            return frozenset({cell.text})
        found = [other.get(name, name) for name in (cell.text.split() if cell.items is None else cell.items)]
        unknown = next((name for name in found if name not in known), None)
        if unknown is not None:
            listed = " ".join(list(known)[:MOST_LISTED]) + " ..." * (len(known) > MOST_LISTED)
            raise cell.error(
                f"{unknown!r} is no output of the network",
                f"of these outputs: {listed} (or the number of one, from 0, in every row)",
                did_you_mean(unknown, known),
            )
        return frozenset(found)

    return names


def _winner(external: External, rows: Sequence[DataRow]) -> Label:
    """Return the reader of labels for an argmax: a name or several, of which one should win. If no label of the data is
    a name, it is the number of an output, from 0, or a truth where one of two outputs says that a word is accepted.
    Raises SourceError where these two differ, and where some labels are names and others are not."""
    outputs, several = _outputs(external), _names(external)
    texts = {row.label.text.lower(): row.label for row in rows}
    numbers = {str(place): str(name) for place, name in enumerate(external.network.outputs) if str(name) in outputs}
    truths = _truths(outputs, external.accepting)
    named = next((cell for cell in texts.values() if cell.text in outputs), None)
    if named is None:
        unclear = [text for text in texts if text in numbers and truths.get(text, numbers[text]) != numbers[text]]
        if unclear:
            text = unclear[0]
            message = f"{text} has two readings: output {text} is {numbers[text]}, and as a truth it is {truths[text]}"
            raise texts[text].error(message, f"the name of an output: {' or '.join(outputs)}")
        kinds = (numbers, f"a number from 0 to {len(numbers) - 1}"), (truths, A_TRUTH)
        for known, _ in kinds:
            if texts.keys() <= known.keys():
                return lambda cell, word: known[cell.text.lower()]
        for known, what in kinds:
            if others := [cell for text, cell in texts.items() if text not in known and cell.text]:
                of = f"{what}, as in other rows, or names in every row: {' or '.join(outputs[:MOST_LISTED])}"
                if len(others) < len(texts):
                    raise others[0].error(f"{others[0].text!r} is no output of the network", of)

    each, sets = external.network.readout.at == "each", predicts_tokens(external.network)

    def winner(cell: DataCell, word: Word) -> Any:
        text = cell.text.lower()
        if each and not (sets and cell.key.lower() in ("", *FOR_SETS)):
            _require_one(cell, word)
        if named is not None and cell.text not in outputs and (text in numbers or text in truths):
            message = f"the label {cell.text} is no name of an output, and line {named.line} has one: {named.text}"
            one = f"names in every row: {' or '.join(outputs[:MOST_LISTED])}"
            raise cell.error(message, one, "Or write the number of an output, from 0, in every row.")
        found = several(cell, word)
        if not found:
            raise cell.error("the label is empty", f"of these outputs: {' '.join(outputs[:MOST_LISTED])}")
        return next(iter(found)) if len(found) == 1 else found

    return winner


def _require_one(cell: DataCell, word: Word) -> None:
    """Raise SourceError if a label may be a list of labels, one for each symbol: rows are judged at the end of the
    word."""
    parts = cell.text.split() if cell.items is None else cell.items
    if len(parts) == len(word) > 1:
        message = f"{len(parts)} labels for {len(word)} symbols: a row is judged at the end of its word alone"
        hint = f"A set of answers has the key {FOR_SETS[0]} in JSON; check(against=FUNCTION) in Python judges each."
        raise cell.error(message, "the label of the last symbol", hint)


def _truths(outputs: Sequence[str], accepting: str | None) -> dict[str, str]:
    """Return the output that each truth names, of two outputs of which one accepts words: `accepting`, or else the one
    whose name says so; nothing of other outputs."""
    yes = accepting or accepting_name(outputs)
    if yes is None or len(outputs) != 2 or yes not in outputs:
        return {}
    no = next(name for name in outputs if name != yes)
    return dict.fromkeys(TRUE, yes) | dict.fromkeys(FALSE, no)
