"""From the text of an expression to its tokens: white space, comments, quotes and words."""

from __future__ import annotations

import re
from collections.abc import Collection

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.raw import Lexeme
from hardsim.lang.scanner import Scanner
from hardsim.lang.vocabulary import (
    CONSTANTS,
    KEYWORDS,
    LOOK_ALIKES,
    NUMBER,
    PREDICATES,
    SIGN_OPERATORS,
    WORD,
    WORD_OPERATORS,
    quoted,
)

_STRONG_NEXT = re.compile(r"X\s*\[\s*!\s*\]")
_COUNT = re.compile(r"#\s*([LR]?)\s*\[")
_STRAY = re.compile(r"[^\w\s()\[\]']+")


def tokenize(source: Source, region: Span, symbols: Collection[str]) -> list[Lexeme]:
    """The tokens of a region of the text. `symbols`, the alphabet, is used for hints only.

    Raises SourceError for a character that starts no token, a quote that is not closed, and `1.5`.
    """
    lexer = _Lexer(source, region, symbols)
    return lexer.run()


class _Lexer(Scanner):
    def token(self) -> None:
        char = self.text[self.at]
        if char == "'":
            self.quoted_symbol("QUOTED", self.at)
        elif WORD.match(char):
            self._word()
        else:
            self._sign()

    def _word(self) -> None:
        match = WORD.match(self.text, self.at, self.end)
        word = match[0] if match else self.text[self.at]
        end = self.at + len(word)
        if word == "X" and (strong := _STRONG_NEXT.match(self.text, self.at, self.end)):
            self.add("UNARY", "X", strong.end())
        elif word in WORD_OPERATORS:
            self.add(*WORD_OPERATORS[word], end)
        elif word in CONSTANTS:
            self.add("CONSTANT", word, end)
        elif word in PREDICATES:
            self.add("PREDICATE", word, end)
        elif word in KEYWORDS:
            raise self._keyword(word, end)
        elif NUMBER.fullmatch(word):
            self.number(word, end)
        else:
            self.add("WORD", word, end)

    def _keyword(self, word: str, end: int) -> SourceError:
        hint = f"definitions ({word}) stand before the formula, each at the beginning of a line"
        if word in self.symbols:
            hint = f"the symbol {word} is written {quoted(word)}"
        return self.error(end, f"{word!r} is reserved", "a formula", hint)

    def _sign(self) -> None:
        count = _COUNT.match(self.text, self.at, self.end)
        if count:
            self.add("COUNT", count[1], count.end())
        elif not self.operator(SIGN_OPERATORS):
            run = _STRAY.match(self.text, self.at, self.end)
            raise self.unknown(run[0] if run else self.text[self.at], LOOK_ALIKES)
