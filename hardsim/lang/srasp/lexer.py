"""From the text of a statement or relation to its tokens: white space, comments, quotes, names and triangles."""

from __future__ import annotations

import re
from collections.abc import Collection

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.lexer import comment_starts
from hardsim.lang.srasp.raw import Lexeme
from hardsim.lang.srasp.vocabulary import (
    LOOK_ALIKES,
    NAME,
    SIGNS,
    SYMBOL_PREFIX,
    TRIANGLE,
    TRIANGLES,
    WORDS,
    TokenKind,
)
from hardsim.lang.vocabulary import NUMBER, WORD, quoted

_LONGEST = max(map(len, SIGNS))
# The symbol that is a quote may be written ''' as well as '''', because that is what one tries first.
_QUOTED = re.compile(r"'((?:''|[^'\s])+)'|'(')'(?!')")
_MEMBER = re.compile(r"in(?=\s*\{)")
_NO_SYMBOL = re.compile(r"\s|$|\(\s*[ij]\s*\)")
"""What may follow `Q_` if a symbol was forgotten."""


def tokenize(source: Source, region: Span, symbols: Collection[str]) -> list[Lexeme]:
    """The tokens of a region of the text. `symbols` is the alphabet as far as it is known (for `Q_(` and hints).

    Raises SourceError for a character that starts no token, a quote that is not closed, `1.5` and `Q_` alone.
    """
    return _Lexer(source, region, symbols).run()


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
                self._quoted("QUOTED", self.at)
            elif char in TRIANGLES:
                self._triangle()
            elif self.text.startswith(SYMBOL_PREFIX, self.at):
                self._symbol()
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

    def _error(self, end: int, message: str, expected: str, hint: str = "", start: int | None = None) -> SourceError:
        return SourceError(self.source, Span(self.at if start is None else start, end), message, expected, hint)

    def _quoted(self, kind: TokenKind, start: int) -> None:
        """A quoted symbol at `start`, which may have `Q_` before it."""
        match = _QUOTED.match(self.text, start, self.end)
        if match is None:
            hint = f"the symbol that is a quote is written {quoted(chr(39))}" if "'" in self.symbols else ""
            expected = "a symbol without white space and a closing quote, as in '('"
            raise self._error(start + 1, "this quote is never closed", expected, hint, start)
        self._add(kind, (match[1] or match[2]).replace("''", "'"), match.end())

    def _triangle(self) -> None:
        match = TRIANGLE.match(self.text, self.at, self.end)
        assert match is not None  # it starts with one of the two characters
        if match["index"] not in (None, "_j"):
            raise self._other_index(match["side"] + match["index"], match.end())
        self._add("ATTENTION", TRIANGLES[match["side"]], match.end())

    def _other_index(self, word: str, end: int) -> SourceError:
        plain = word.split("_")[0]
        return self._error(end, f"{word} does not range over j", f"{plain} or {plain}_j")

    def _symbol(self) -> None:
        """`Q_a`, `Q_'('`, and also `Q_(` for a symbol that begins with no letter or digit."""
        start = self.at + len(SYMBOL_PREFIX)
        if self.text.startswith("'", start):
            self._quoted("SYMBOL", start)
            return
        word = WORD.match(self.text, start, self.end)
        if word:
            self._add("SYMBOL", word[0], word.end())
            return
        if _NO_SYMBOL.match(self.text, start, self.end):
            raise self._error(start, "Q_ without a symbol", "a symbol, as in Q_a(i) or Q_'('(i)")
        known = [symbol for symbol in self.symbols if self.text.startswith(symbol, start)]
        symbol = max(known, key=len, default=self.text[start])
        self._add("SYMBOL", symbol, start + len(symbol))

    def _word(self) -> None:
        name = NAME.match(self.text, self.at, self.end)
        plain = WORD.match(self.text, self.at, self.end)
        word = name[0] if name else plain[0] if plain else self.text[self.at]
        end = self.at + len(word)
        if word in WORDS:
            self._add(*WORDS[word], end)
        elif word.endswith("_i") and word[:-2] in WORDS:
            raise self._other_index(word, end)
        elif _MEMBER.match(self.text, self.at, self.end):
            self._add("MEMBER", word, end)
        elif NUMBER.fullmatch(word):
            self._number(word, end)
        else:
            self._add("WORD", word, end)

    def _number(self, word: str, end: int) -> None:
        fraction = re.compile(r"\.[0-9]*").match(self.text, end, self.end)
        if fraction:
            raise self._error(fraction.end(), "not an integer", "an integer", "multiply both sides of the comparison")
        self._add("NUMBER", word, end)

    def _sign(self) -> None:
        if self.text.startswith(":=", self.at):
            raise self._error(self.at + 2, "a second := in one statement", "an operator", LOOK_ALIKES[":="])
        for size in range(_LONGEST, 0, -1):
            spelling = self.text[self.at : min(self.at + size, self.end)]
            if spelling in SIGNS:
                self._add(*SIGNS[spelling], self.at + len(spelling))
                return
        raise self._unknown()

    def _unknown(self) -> SourceError:
        """The error for a character that starts no token."""
        rest = self.text[self.at : self.end]
        symbol = max((s for s in self.symbols if rest.startswith(s)), key=len, default="")
        if symbol:
            hint = f"the symbol {symbol} is written {quoted(symbol)}"
            return self._error(self.at + len(symbol), f"unknown operator {symbol}", "an operator or an operand", hint)
        known = next((rest[:size] for size in (2, 1) if rest[:size] in LOOK_ALIKES), rest[0])
        shown = known if known.isprintable() else f"U+{ord(known):04X}"
        hint = LOOK_ALIKES.get(known, "")
        return self._error(self.at + len(known), f"unknown operator {shown}", "an operator or an operand", hint)
