"""From the text of an expression to its tokens: white space, comments, quotes and words."""

from __future__ import annotations

import re
from collections.abc import Collection

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.raw import Lexeme
from hardsim.lang.vocabulary import (
    CONSTANTS,
    KEYWORDS,
    LOOK_ALIKES,
    NUMBER,
    PREDICATES,
    SIGN_OPERATORS,
    WORD,
    WORD_OPERATORS,
    TokenKind,
    quoted,
)

_LONGEST = max(map(len, SIGN_OPERATORS))
# The symbol that is a quote may be written ''' as well as '''', because that is what one tries first.
_QUOTED = re.compile(r"'((?:''|[^'\s])+)'|'(')'(?!')")
_STRONG_NEXT = re.compile(r"X\s*\[\s*!\s*\]")
_COUNT = re.compile(r"#\s*([LR]?)\s*\[")
_STRAY = re.compile(r"[^\w\s()\[\]']+")


def comment_starts(text: str, offset: int) -> bool:
    """Whether a comment starts here: `//` at the beginning of the text or after white space."""
    return text.startswith("//", offset) and (offset == 0 or text[offset - 1].isspace())


def tokenize(source: Source, region: Span, symbols: Collection[str]) -> list[Lexeme]:
    """The tokens of a region of the text. `symbols`, the alphabet, is used for hints only.

    Raises SourceError for a character that starts no token, a quote that is not closed, and `1.5`.
    """
    lexer = _Lexer(source, region, symbols)
    return lexer.run()


class _Lexer:
    def __init__(self, source: Source, region: Span, symbols: Collection[str]) -> None:
        self.source = source
        self.text = source.text
        self.at = region.start
        self.end = region.end
        self.symbols = symbols
        self.tokens: list[Lexeme] = []

    def run(self) -> list[Lexeme]:
        while True:
            self._skip()
            if self.at >= self.end:
                return self.tokens
            char = self.text[self.at]
            if char == "'":
                self._quoted()
            elif WORD.match(char):
                self._word()
            else:
                self._sign()

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

    def _add(self, kind: TokenKind, value: str, end: int) -> None:
        self.tokens.append(Lexeme(kind, value, Span(self.at, end)))
        self.at = end

    def _error(self, end: int, message: str, expected: str, hint: str = "") -> SourceError:
        return SourceError(self.source, Span(self.at, end), message, expected, hint)

    def _quoted(self) -> None:
        match = _QUOTED.match(self.text, self.at, self.end)
        if match is None:
            hint = f"the symbol that is a quote is written {quoted(chr(39))}" if "'" in self.symbols else ""
            expected = "a symbol without white space and a closing quote, as in '('"
            raise self._error(self.at + 1, "this quote is never closed", expected, hint)
        self._add("QUOTED", (match[1] or match[2]).replace("''", "'"), match.end())

    def _word(self) -> None:
        match = WORD.match(self.text, self.at, self.end)
        word = match[0] if match else self.text[self.at]
        end = self.at + len(word)
        if word == "X" and (strong := _STRONG_NEXT.match(self.text, self.at, self.end)):
            self._add("UNARY", "X", strong.end())
        elif word in WORD_OPERATORS:
            self._add(*WORD_OPERATORS[word], end)
        elif word in CONSTANTS:
            self._add("CONSTANT", word, end)
        elif word in PREDICATES:
            self._add("PREDICATE", word, end)
        elif word in KEYWORDS:
            raise self._keyword(word, end)
        elif NUMBER.fullmatch(word):
            self._number(word, end)
        else:
            self._add("WORD", word, end)

    def _keyword(self, word: str, end: int) -> SourceError:
        hint = f"definitions ({word}) stand before the formula, each at the beginning of a line"
        if word in self.symbols:
            hint = f"the symbol {word} is written {quoted(word)}"
        return self._error(end, f"{word!r} is reserved", "a formula", hint)

    def _number(self, word: str, end: int) -> None:
        fraction = re.compile(r"\.[0-9]*").match(self.text, end, self.end)
        if fraction:
            raise self._error(fraction.end(), "not an integer", "an integer", "multiply both sides of the comparison")
        self._add("NUMBER", word, end)

    def _sign(self) -> None:
        count = _COUNT.match(self.text, self.at, self.end)
        if count:
            self._add("COUNT", count[1], count.end())
            return
        for size in range(_LONGEST, 0, -1):
            spelling = self.text[self.at : min(self.at + size, self.end)]
            if spelling in SIGN_OPERATORS:
                self._add(*SIGN_OPERATORS[spelling], self.at + len(spelling))
                return
        raise self._unknown()

    def _unknown(self) -> SourceError:
        """The error for a character that starts no token; a longer run is named if a hint is known for it."""
        match = _STRAY.match(self.text, self.at, self.end)
        run = match[0] if match else self.text[self.at]
        symbol = max((s for s in self.symbols if self.text.startswith(s, self.at)), key=len, default="")
        if symbol:
            hint = f"the symbol {symbol} is written {quoted(symbol)}"
            return self._error(self.at + len(symbol), f"unknown operator {symbol}", "an operator or an operand", hint)
        known = next((run[:size] for size in range(len(run), 0, -1) if run[:size] in LOOK_ALIKES), run[0])
        shown = known if known.isprintable() else f"U+{ord(known):04X}"
        hint = LOOK_ALIKES.get(known, "")
        return self._error(self.at + len(known), f"unknown operator {shown}", "an operator or an operand", hint)
