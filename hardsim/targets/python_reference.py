"""Python functions as references: their return values state the expected outputs of a word.

A function is called with one word at a time, in this process. Arrays and tensors become lists and plain numbers here,
and the marker of words or positions that are not judged becomes None, so that no other module knows of either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import field, replace
from numbers import Number
from typing import Any

from hardsim.errors import InputError
from hardsim.lang.valuations import Alphabet
from hardsim.lang.words import has_long_symbols, shown_word
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.expected import by_position, described, is_nan, require_positions, value_text
from hardsim.targets.external import External, judging
from hardsim.targets.result import Answer, Word
from hardsim.targets.subject import Subject

ARRAYS = "A list has one value for each symbol; an array or a tensor of one dimension is read as a list."


@dataclass(frozen=True)
class PythonReference:
    """A reference that calls a Python function of a word (a tuple of symbols) for the expected outputs.

    `marker` is the return value for a word or position that is not judged. With a marker other than None, None is an
    error: a function that forgot to return must not pass for one that leaves a word open.
    """

    function: Callable[[tuple[Any, ...]], Any]
    alphabet: Alphabet
    marker: Any = None
    failures: dict[str, Exception] = field(default_factory=dict, compare=False)
    """The exceptions that the function raised, by the message of the resulting error."""

    def __post_init__(self) -> None:
        if by_position(self.marker) or isinstance(self.marker, Mapping):
            message = f"unjudged must be a single value, not a {type(self.marker).__name__}"
            raise InputError(message, "Give what the function returns where nothing is judged, such as -100.")

    @property
    def name(self) -> str:
        """The name of the function in reports."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return "a function" if name == "<lambda>" else f"the function {name}"

    @property
    def sha256(self) -> str:
        """An empty text: the source text of a function does not determine what the function computes."""
        return ""

    def raised(self, error: InputError) -> Exception | None:
        """Return the exception that the function itself raised and that caused an error; None if it raised none."""
        return self.failures.get(error.message)

    def deciding(self, external: External) -> External:
        """Return the external network, with this function as its reference."""
        # Words have the names of tokens; the function gets the tokens themselves, which may be integers.
        tokens = {str(token): token for token in external.network.tokens}

        def oracle(word: Word) -> Any:
            with _naming(word, external.alphabet):
                raw = self.expected(tuple(tokens[symbol] for symbol in word), word)
                _require_readout(external, raw, word)
            if by_position(raw):  # also if every entry is open: a wrong number of entries is an error even then
                require_positions(raw, word)
            return raw

        return judging(external, oracle, self.name)

    def judging(self, subject: Subject) -> Subject:
        """Return the compiled formula or program, with this function as its oracle."""
        answers = _Answers(subject, self.marker)

        def oracle(word: Word) -> Answer:
            with _naming(word, subject.alphabet):
                return answers.of(word, self.expected(word, word))

        return replace(subject, oracle=oracle, against=self.name, by_function=True)

    def expected(self, tokens: tuple[Any, ...], word: Word) -> Any:
        """Return the expected outputs of a word of these tokens; None if there are none. Raises InputError if the
        function raises an exception, or returns lists in lists, None beside another marker, or a value that cannot be
        read."""
        try:
            found = self.function(tokens)
        except Exception as error:  # any exception of the caller's code
            message = f"the function raised {type(error).__name__}: {error}"
            self.failures[_about(word, self.alphabet, message)] = error
            raise InputError(message, "Correct the function.") from error
        try:
            return self._whole(found)
        except InputError:
            raise
        except Exception as error:  # a method of what was returned, or a value that holds itself
            message = f"the return value cannot be read ({type(error).__name__}: {error})"
            raise InputError(
                message, "Return values of Python, NumPy or PyTorch: docs/python.md lists them."
            ) from error

    def _whole(self, found: Any) -> Any:
        """Convert the return value for a whole word to plain values."""
        raw = self._read(found)
        if by_position(raw):
            return [self._position(one) for one in raw]
        return raw

    def _position(self, value: Any) -> Any:
        raw = self._read(value)
        if by_position(raw):
            raise InputError("a list by position contains a list", ARRAYS)
        return raw

    def _read(self, value: Any) -> Any:
        """Convert a return value of the function to plain Python values."""
        plain = _plain(value)
        if value is self.marker or _same(plain, _plain(self.marker)):
            return None
        if plain is None:
            message = f"the function returned None, but unjudged={described(self.marker)} marks what is not judged"
            raise InputError(message, "Return that value, or leave unjudged= out.")
        if isinstance(plain, Mapping):
            pairs = {_plain(key): self._read(one) for key, one in plain.items()}
            _require_single(pairs)
            return pairs if any(one is not None for one in pairs.values()) else None
        if isinstance(plain, Set):
            members = frozenset(map(_plain, plain))
            _require_single(member for member in members if member is not None)
            if any(one is None or _same(one, _plain(self.marker)) for one in members):
                message = f"{described(self.marker)} marks what is not judged, and cannot be a member of a set"
                raise InputError(message, "Return it alone, or leave it out of the set.")
            return members
        if not by_position(plain):
            _require_single([plain])
        return plain


class _Answers:
    """A reader of a function's answers for a formula or a program, into the form of hard attention's answers."""

    def __init__(self, subject: Subject, marker: Any) -> None:
        self.subject, self.marker, program = subject, marker, subject.program
        self.integers = program.integers
        self.symbols = () if subject.acceptor else tuple(symbol for symbol, _ in program.outputs)

    def of(self, word: Word, raw: Any) -> Answer:
        """Return the expected outputs of a word as an answer: a truth value for a subject that accepts words, a
        sequence for one that maps them. Raises InputError if the function returned no such value."""
        if raw is None:
            return None
        if self.subject.acceptor:
            if not isinstance(raw, bool):
                message = f"{self.subject.name} accepts or rejects a word: {described(raw)} is neither True nor False"
                raise InputError(message, "Return True or False, or None where nothing is judged.")
            return raw
        row = self._row(raw)
        fixed = self.subject.blank is None
        if fixed and len(row) != len(word):
            message = f"for {len(word)} symbols the function returned a list of {len(row)}"
            raise InputError(message, "A list by position has an entry for each symbol, None where nothing is judged.")
        found = tuple(map(self._integer if self.integers else self._symbol, row))
        return None if found and all(one is None for one in found) else found

    def _row(self, raw: Any) -> Sequence[Any]:
        if isinstance(raw, str) and not self.integers:
            # Text for a sequence: symbols of one character need no blanks between them.
            symbols = raw.split() if has_long_symbols(self.symbols) else tuple(raw)
            return [None if _same(symbol, self.marker) else symbol for symbol in symbols]
        if not by_position(raw):
            made = "integers" if self.integers else "symbols"
            message = f"{self.subject.name} maps words to {made}: {described(raw)} is not a list of {made}"
            raise InputError(message, "Return a list with an entry for each symbol, or None where nothing is judged.")
        return raw

    def _symbol(self, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        return value_text(_number(value))

    def _integer(self, value: Any) -> str | int | None:
        """Return an integer, or the text of any other number, since no output is such a number; None where nothing is
        judged."""
        if value is None:
            return None
        text = value_text(_number(value))
        return int(text) if text.lstrip("-").isdecimal() else text


def _require_readout(external: External, raw: Any, word: Word) -> None:
    """Raise InputError if the reference gives outputs at other positions than those where the network is read.

    Three cases: a list by position where the network is read after the word, or has one answer for the word, and text
    with an output for each symbol, since text is the name of one output.
    """
    readout = external.network.readout
    if by_position(raw) and readout.pooled != "last":
        message = "the network has one answer for a word, and a list by position is about the symbols"
        raise InputError(message, "Return one value, or read the network at each symbol: load(..., at='each').")
    if by_position(raw) and readout.at == "last" and readout.after:
        message = (
            f"the network is read at {readout.after[-1]} after the word, and a list by position is about the symbols"
        )
        raise InputError(message, "Return one value, or read the network at each symbol: load(..., at='each').")
    if readout.at == "each" and isinstance(raw, str) and len(raw) == len(word) > 1:
        possible = set(external.rule.possible())
        if raw not in possible and possible.issuperset(raw):
            message = f"{described(raw)} is one text, and not one output for each symbol"
            raise InputError(message, "Return a list of outputs: list(text).")


@contextmanager
def _naming(word: Word, alphabet: Alphabet) -> Iterator[None]:
    """Add the word to the message of each error raised inside."""
    try:
        yield
    except InputError as error:
        raise InputError(_about(word, alphabet, error.message), error.hint) from error


def _require_single(values: Iterable[Any]) -> None:
    """Require texts and numbers that can be compared and written. A value of another class may fail in any way there.
    Raises InputError if a value is neither a text nor a number."""
    for value in values:
        if not isinstance(value, str | Number):
            message = f"a value of type {type(value).__name__} is not an answer: {described(value)}"
            raise InputError(message, f"Give truths, texts or numbers, a set or a mapping of them, or a list. {ARRAYS}")
        bool(value == value), str(value)  # a signalling NaN fails here, and an integer of very many digits


def _about(word: Word, alphabet: Alphabet, message: str) -> str:
    return f"on the word {shown_word(word, alphabet)}: {message}"


def _number(value: Any) -> Any:
    if not isinstance(value, Number) or is_nan(value):
        message = f"{described(value)} is neither a symbol nor a number"
        raise InputError(message, "Return a list with an entry for each symbol, None where nothing is judged.")
    return value


def _plain(value: Any) -> Any:
    """Convert arrays, tensors and their scalars to Python lists and values, and masked entries to None."""
    tolist = getattr(value, "tolist", None)
    return tolist() if callable(tolist) and not isinstance(value, type) else value


def _same(value: Any, marker: Any) -> bool:
    """Return True if a value equals the marker. Numbers are compared by value, a Boolean is not a number, NaN equals
    NaN, and other values are compared within their type."""
    if marker is None or isinstance(marker, bool) or isinstance(value, bool):
        return value is marker
    if isinstance(marker, Number) and isinstance(value, Number):
        return bool(value == marker or (value != value and marker != marker))
    return type(value) is type(marker) and bool(value == marker)
