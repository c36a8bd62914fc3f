"""From the text of a statement or relation to its tokens: white space, comments, quotes, names and triangles."""

from __future__ import annotations

import re
from collections.abc import Collection

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.raw import Lexeme
from hardsim.lang.scanner import Scanner
from hardsim.lang.srasp.vocabulary import (
    LOOK_ALIKES,
    NAME,
    SIGNS,
    SYMBOL_PREFIX,
    TRIANGLE,
    TRIANGLES,
    WORDS,
)
from hardsim.lang.vocabulary import NUMBER, WORD

_MEMBER = re.compile(r"in(?=\s*\{)")
_NO_SYMBOL = re.compile(r"\s|$|\(\s*[ij]\s*\)")
"""What may follow `Q_` if a symbol was forgotten."""


def tokenize(source: Source, region: Span, symbols: Collection[str]) -> list[Lexeme]:
    """The tokens of a region of the text. `symbols` is the alphabet as far as it is known (for `Q_(` and hints).

    Raises SourceError for a character that starts no token, a quote that is not closed, `1.5` and `Q_` alone.
    """
    return _Lexer(source, region, symbols).run()


class _Lexer(Scanner):
    def token(self) -> None:
        char = self.text[self.at]
        if char == "'":
            self.quoted_symbol("QUOTED", self.at)
        elif char in TRIANGLES:
            self._triangle()
        elif self.text.startswith(SYMBOL_PREFIX, self.at):
            self._symbol()
        elif WORD.match(char):
            self._word()
        else:
            self._sign()

    def _triangle(self) -> None:
        match = TRIANGLE.match(self.text, self.at, self.end)
        assert match is not None  # it starts with one of the two characters
        if match["index"] not in (None, "_j"):
            raise self._other_index(match["side"] + match["index"], match.end())
        self.add("ATTENTION", TRIANGLES[match["side"]], match.end())

    def _other_index(self, word: str, end: int) -> SourceError:
        plain = word.split("_")[0]
        return self.error(end, f"{word} does not range over j", f"{plain} or {plain}_j")

    def _symbol(self) -> None:
        """`Q_a`, `Q_'('`, and also `Q_(` for a symbol that begins with no letter or digit."""
        start = self.at + len(SYMBOL_PREFIX)
        if self.text.startswith("'", start):
            self.quoted_symbol("SYMBOL", start)
            return
        word = WORD.match(self.text, start, self.end)
        if word:
            self.add("SYMBOL", word[0], word.end())
            return
        if _NO_SYMBOL.match(self.text, start, self.end):
            raise self.error(start, "Q_ without a symbol", "a symbol, as in Q_a(i) or Q_'('(i)")
        known = [symbol for symbol in self.symbols if self.text.startswith(symbol, start)]
        symbol = max(known, key=len, default=self.text[start])
        self.add("SYMBOL", symbol, start + len(symbol))

    def _word(self) -> None:
        name = NAME.match(self.text, self.at, self.end)
        plain = WORD.match(self.text, self.at, self.end)
        word = name[0] if name else plain[0] if plain else self.text[self.at]
        end = self.at + len(word)
        if word in WORDS:
            self.add(*WORDS[word], end)
        elif word.endswith("_i") and word[:-2] in WORDS:
            raise self._other_index(word, end)
        elif _MEMBER.match(self.text, self.at, self.end):
            self.add("MEMBER", word, end)
        elif NUMBER.fullmatch(word):
            self.number(word, end)
        else:
            self.add("WORD", word, end)

    def _sign(self) -> None:
        if self.text.startswith(":=", self.at):
            raise self.error(self.at + 2, "a second := in one statement", "an operator", LOOK_ALIKES[":="])
        if not self.operator(SIGNS):
            raise self.unknown(self.text[self.at : min(self.at + 2, self.end)], LOOK_ALIKES)
