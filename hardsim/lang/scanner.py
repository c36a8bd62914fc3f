"""What the two lexers share: white space, comments, quotes, numbers, operators, and what starts no token."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.raw import Lexeme
from hardsim.lang.vocabulary import quoted

# The symbol that is a quote may be written ''' as well as '''', because that is what one tries first.
_QUOTED = re.compile(r"'((?:''|[^'\s])+)'|'(')'(?!')")
_DECIMALS = re.compile(r"\.[0-9]*")


def comment_starts(text: str, offset: int) -> bool:
    """Whether a comment starts here: `//` at the beginning of the text or after white space."""
    return text.startswith("//", offset) and (offset == 0 or text[offset - 1].isspace())


class Scanner(ABC):
    """Goes through a region of a text; `symbols` is the alphabet as far as it is known, for hints."""

    def __init__(self, source: Source, region: Span, symbols: Collection[str]) -> None:
        self.source = source
        self.text = source.text
        self.at = region.start
        self.end = region.end
        self.symbols = symbols
        self.tokens: list[Lexeme] = []

    def run(self) -> list[Lexeme]:
        """All tokens."""
        while True:
            self._skip()
            if self.at >= self.end:
                return self.tokens
            self.token()

    @abstractmethod
    def token(self) -> None:
        """Take one token, which starts at `at`."""

    def _skip(self) -> None:
        """White space and comments."""
        while self.at < self.end:
            if self.text[self.at].isspace():
                self.at += 1
            elif comment_starts(self.text, self.at):
                newline = self.text.find("\n", self.at)
                self.at = newline if newline >= 0 else self.end
            else:
                return

    def add(self, kind: str, value: str, end: int) -> None:
        """A token from `at` to an end."""
        self.tokens.append(Lexeme(kind, value, Span(self.at, end)))
        self.at = end

    def error(self, end: int, message: str, expected: str, hint: str = "", start: int | None = None) -> SourceError:
        """An error from `at`, or another start, to an end."""
        return SourceError(self.source, Span(self.at if start is None else start, end), message, expected, hint)

    def quoted_symbol(self, kind: str, start: int) -> None:
        """A quoted symbol at `start`, which may have a prefix before it."""
        match = _QUOTED.match(self.text, start, self.end)
        if match is None:
            hint = f"the symbol that is a quote is written {quoted(chr(39))}" if "'" in self.symbols else ""
            expected = "a symbol without white space and a closing quote, as in '('"
            raise self.error(start + 1, "this quote is never closed", expected, hint, start)
        self.add(kind, (match[1] or match[2]).replace("''", "'"), match.end())

    def number(self, word: str, end: int) -> None:
        """Digits, which must not have decimals behind them."""
        fraction = _DECIMALS.match(self.text, end, self.end)
        if fraction:
            raise self.error(fraction.end(), "not an integer", "an integer", "multiply both sides of the comparison")
        self.add("NUMBER", word, end)

    def operator(self, spellings: Mapping[str, tuple[str, str]]) -> bool:
        """The longest operator that stands here; False if there is none."""
        for size in range(max(map(len, spellings)), 0, -1):
            spelling = self.text[self.at : min(self.at + size, self.end)]
            if spelling in spellings:
                self.add(*spellings[spelling], self.at + len(spelling))
                return True
        return False

    def unknown(self, run: str, look_alikes: Mapping[str, str]) -> SourceError:
        """The error for a character that starts no token; of the run that it begins, what a hint is known for."""
        symbol = max((s for s in self.symbols if self.text.startswith(s, self.at, self.end)), key=len, default="")
        if symbol:
            hint = f"the symbol {symbol} is written {quoted(symbol)}"
            return self.error(self.at + len(symbol), f"unknown operator {symbol}", "an operator or an operand", hint)
        known = next((run[:size] for size in range(len(run), 0, -1) if run[:size] in look_alikes), run[0])
        shown = known if known.isprintable() else f"U+{ord(known):04X}"
        hint = look_alikes.get(known, "")
        return self.error(self.at + len(known), f"unknown operator {shown}", "an operator or an operand", hint)
