"""From the text of an expression to its tokens."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from hardsim.errors import Source, SourceError, Span
from hardsim.lang import vocabulary
from hardsim.lang.vocabulary import NUMBER, SYMBOL_PREFIX, VECTOR_NAME, WORD, Spellings, brief, spelled, symbol_hint

BLANK = re.compile(r"(?:\s|(?<!\S)//[^\n]*)*")
"""White space and comments, which begin after white space or at the beginning of the text."""
# The symbol that is a quote may be written ''' as well as '''', because that is what one tries first.
_QUOTED = re.compile(r"'((?:''|[^'\s])+(?:[ ]+(?:''|[^'\s])+)*)'|'(')'(?!')")
LONGEST_DECIMAL = 20
"""Characters of a decimal number that a message writes as a fraction."""
_DECIMALS = re.compile(r"\.[0-9]*")
_STRONG = re.compile(r"\s*\[\s*!\s*\]")
"""What makes the next operator a strong one, in every dialect."""
_BOUNDS = re.compile(r"\s*\[(?=\s*[-+.,:0-9])(?P<inside>[^\[\]()\n]*)(?P<end>\]?)")
_NUMBERS = re.compile(r"\s*(?P<least>[0-9]*)\s*(?:(?P<to>,|:|\.\.)\s*(?P<most>[0-9]*)\s*)?")
_DOUBLY_QUOTED = re.compile(r'"([^"\s]+(?:[ ]+[^"\s]+)*)"')
"""A symbol or proposition as Spot, Owl and pylogics quote it."""
_BRACED = re.compile(r"\{\s*(\w+)\s*\}")
"""A proposition as reelay writes it."""
_COUNT = re.compile(r"#\s*([LR]?)\s*\[")
_LATEX = re.compile(r"\\[A-Za-z]+(?:\s*\{\s*(\w+)\s*\})?")
"""A command of LaTeX, such as `\\land` or `\\mathcal{U}`."""
_STRAY = re.compile(r"[^\w\s()\[\]']+")
_TRIANGLE = re.compile(r"(?P<side>[◀▶])[\ufe0e\ufe0f]?(?P<index>_\w*)?")
"""Attention as the papers draw it; a selector of the text or emoji form of the triangle means nothing."""
_TRIANGLES = {"◀": "leftmost", "▶": "rightmost"}
_FRACTION = re.compile(r"[0-9]+\s*/\s*[0-9]+(?!\w)")
_MEMBER = re.compile(r"in(?=\s*\{)")
_NO_SYMBOL = re.compile(r"\s|$|\(\s*[ij]\s*\)")
"""What may follow `Q_` if a symbol was forgotten."""
CLOSING = {"LPAR": ")", "COUNT": "]", "LSQB": "]", "SET": "]", "LBRACE": "}"}
"""What closes a bracket that a token opens."""

MAX_INTEGER = 10**18
"""The largest absolute value of an integer, of a constant part of a term, and of what a `pred` condition computes."""
TOO_LARGE = ("a number larger than 10^18", "a smaller integer")
LARGEST_BOUND = 10_000
"""Of bounded operators, in positions."""
LONGEST_GLUED = 1_000
"""Characters of a word that operators may be glued to: each end of a word is looked up."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token: its terminal, its canonical spelling (for `Q_a` and quoted symbols: the symbol) and its place."""

    kind: str
    value: str
    span: Span


@dataclass
class Cited:
    """Something that was read from a text, which its errors cite."""

    source: Source

    def error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        """An error at a place of the text."""
        return SourceError(self.source, span, message, expected, hint)

    def line_of(self, span: Span) -> int:
        """The number of the line of a place, from 1."""
        return self.source.line_of(span.start)[0]

    def written(self, span: Span) -> str:
        """The text at a place."""
        return self.source.text[span.start : span.end]

    def integer(self, digits: str, span: Span) -> int:
        """The integer that digits at a place are. Raises SourceError beyond MAX_INTEGER."""
        shortened = digits.lstrip("0") or "0"
        if len(shortened) > len(str(MAX_INTEGER)) or int(shortened) > MAX_INTEGER:
            raise self.error(span, *TOO_LARGE)
        return int(shortened)

    def excerpt(self, span: Span, limit: int = 40) -> str:
        """The text at a place on one line, shortened in the middle, for use in messages."""
        text = " ".join(self.written(Span(span.start, min(span.end, span.start + 10 * limit))).split())
        return text if len(text) <= limit else f"{text[: limit - 11]} ... {text[-6:]}"


def bracket_error(text: Cited, tokens: Sequence[Lexeme], symbols: Collection[str]) -> SourceError | None:
    """The error for brackets that do not match, if there are such."""
    opened: list[Lexeme] = []

    def wrong(token: Lexeme, message: str, expected: str) -> SourceError:
        return text.error(token.span, message, expected, symbol_hint(token.value, symbols))

    for token in tokens:
        if token.kind in CLOSING:
            opened.append(token)
        elif token.kind in ("RPAR", "RSQB", "RBRACE"):
            if not opened:
                return wrong(token, f"this bracket closes nothing: {token.value}", "an operator or the end")
            opening = opened.pop()
            if token.value != CLOSING[opening.kind]:
                message = f"{token.value} does not close {text.written(opening.span)}"
                return wrong(token, message, CLOSING[opening.kind])
    if not opened:
        return None
    message = f"this bracket is never closed: {text.written(opened[-1].span)}"
    return wrong(opened[-1], message, f"{CLOSING[opened[-1].kind]} further on")


class Scanner(Cited, ABC):
    """Goes through a region of a text; `symbols` is the alphabet as far as it is known, for hints."""

    spellings: ClassVar[Spellings]
    look_alikes: ClassVar[Mapping[str, str]]
    name: ClassVar[re.Pattern[str]] = WORD

    def __init__(self, source: Source, region: Span, symbols: Collection[str]) -> None:
        super().__init__(source)
        self.text = source.text
        self.at = region.start
        self.end = region.end
        self.symbols = symbols
        self.tokens: list[Lexeme] = []

    def run(self) -> list[Lexeme]:
        """All tokens."""
        while (blank := self.match(BLANK)) is not None and blank.end() < self.end:
            self.at = blank.end()
            if self.text[self.at] == "'":
                self.quoted_symbol("QUOTED", self.at)
            elif not self.special():
                word = self.match(self.name) or self.match(WORD)
                if word:
                    self.word(word[0], word.end())
                else:
                    self._sign()
        return self.tokens

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What stands here, if it is of a form."""
        return pattern.match(self.text, self.at, self.end)

    def add(self, kind: str, value: str, end: int) -> None:
        """A token from `at` to an end."""
        self.tokens.append(Lexeme(kind, value, Span(self.at, end)))
        self.at = end

    def wrong(self, end: int, message: str, expected: str, hint: str = "") -> SourceError:
        """An error from `at` to an end."""
        return self.error(Span(self.at, end), message, expected, hint)

    @abstractmethod
    def special(self) -> bool:
        """Take a token that is not simply a word or a sign; False if there is none here."""

    @abstractmethod
    def check_word(self, word: str, end: int) -> None:
        """Refuse words that can be no names."""

    def quoted_symbol(self, kind: str, start: int) -> None:
        """A quoted symbol at `start`, which may have a prefix before it."""
        match = _QUOTED.match(self.text, start, self.end)
        if match is None:
            hint = "the symbol that is a quote is written ''''" if "'" in self.symbols else ""
            expected = "a symbol and a closing quote, as in '(' or 'send invoice'"
            raise self.error(Span(start, start + 1), "this quote is never closed", expected, hint)
        self.add(kind, (match[1] or match[2]).replace("''", "'"), match.end())

    def word(self, word: str, end: int) -> None:
        """Take a word that stands here."""
        if word in self.spellings:
            self.add(*self.spellings[word], end)
            return
        self.check_word(word, end)
        number = NUMBER.fullmatch(word)
        fraction = number and _DECIMALS.match(self.text, end, self.end)
        if fraction:
            hint = self.decimal_hint(word + fraction[0])
            raise self.wrong(fraction.end(), "not an integer", "an integer", hint)
        self.add("NUMBER" if number else "WORD", word, end)

    def decimal_hint(self, text: str) -> str:
        """Return the advice for a decimal number, which the language does not have."""
        return "multiply both sides of the comparison"

    def _sign(self) -> None:
        """The longest operator that stands here. Raises SourceError if there is none, with what a hint is known for."""
        overlong = self.match(vocabulary.OVERLONG)
        for size in range(0 if overlong else max(map(len, self.spellings)), 0, -1):
            spelling = self.text[self.at : min(self.at + size, self.end)]
            if spelling in self.spellings:
                return self.add(*self.spellings[spelling], self.at + len(spelling))
        here = [symbol for symbol in self.symbols if self.text.startswith(symbol, self.at, self.end)]
        shown = found = max(here, key=len, default="")
        hint = symbol_hint(found, self.symbols)
        foreign = overlong or self.match(_LATEX)
        if not found and foreign:
            shown = found = foreign[0]
            hint = self.foreign_hint(found)
        elif not found:
            stray = self.match(_STRAY)
            run = stray[0] if stray else self.text[self.at]
            sizes = range(min(len(run), max(map(len, self.look_alikes), default=0)), 0, -1)
            found = next((run[:size] for size in sizes if run[:size] in self.look_alikes), run[0])
            shown = found if found.isprintable() else f"U+{ord(found):04X}"
            hint = self.look_alikes.get(found, "")
        raise self.wrong(self.at + len(found), f"unknown operator {shown}", "an operator or an operand", hint)

    def foreign_hint(self, text: str) -> str:
        """What is written here for a command of LaTeX, or for an operator that goes on too long."""
        command, _, inner = (part.strip(" }") for part in text.partition("{"))
        letter = inner or command.removeprefix("\\")
        if letter in self.spellings:
            return f"{text} is written {letter}"
        return self.look_alikes.get(command) or self.look_alikes.get(command[0], "")


class _FormulaScanner(Scanner):
    spellings = vocabulary.FORMULAS
    look_alikes = vocabulary.LOOK_ALIKES

    def __init__(self, source: Source, region: Span, symbols: Collection[str], names: Collection[str]) -> None:
        super().__init__(source, region, symbols)
        self.names = names

    def special(self) -> bool:
        if count := self.match(_COUNT):
            self.add("COUNT", count[1], count.end())
            return True
        if quoted := self.match(_DOUBLY_QUOTED):
            self.add("QUOTED", quoted[1], quoted.end())
            return True
        braced = self.match(_BRACED)
        if braced is None or braced[0] in self.symbols:
            return False
        self.at = braced.start(1)
        super().add("NUMBER" if NUMBER.fullmatch(braced[1]) else "WORD", braced[1], braced.end(1))
        self.at = braced.end()
        return True

    def add(self, kind: str, value: str, end: int) -> None:
        """A token with what belongs to an operator: `[!]`, or bounds."""
        if kind in ("UNARY", "BINARY"):
            if value == "X" and (strong := _STRONG.match(self.text, end, self.end)):
                value, end = "X[!]", strong.end()
            elif value != "!" and (bounds := _BOUNDS.match(self.text, end, self.end)):
                value, end = self._bounded(value, bounds), bounds.end()
        super().add(kind, value, end)

    def _bounded(self, operator: str, bounds: re.Match[str]) -> str:
        """The spelling of an operator with its bounds, such as `F[0,3]` and `X[2]`."""
        shown, inside = f"[{' '.join(bounds['inside'].split())}]", _NUMBERS.fullmatch(bounds["inside"])
        place = Span(self.text.index("[", bounds.start()), bounds.end())
        single = operator in vocabulary.SINGLE
        form = f"one number, as in {operator}[3]" if single else f"two numbers, as in {operator}[0,3]"
        if not single and operator not in vocabulary.PAIRED:
            raise self.error(place, f"{operator} has no bounds here", "", "bounds go with F G O H U S, and with X Y")
        given = (inside["least"] if single else inside["most"]) if inside and bounds["end"] else ""
        if not inside or not given or single is (inside["to"] is not None):
            hint = self._closed(operator, inside, place) if inside and bounds["end"] and not single else ""
            raise self.error(place, f"these are no bounds of {operator}: {shown}", form, hint)
        least, most = (self.integer(number, place) for number in (inside["least"] or "0", given))
        if most > LARGEST_BOUND:
            raise self.error(place, f"a bound larger than {LARGEST_BOUND:,}: {shown}", f"at most {LARGEST_BOUND:,}")
        if least > most:
            raise self.error(place, f"no position is within the bounds {shown}", "the smaller bound first")
        return f"{operator}[{least}]" if single else f"{operator}[{least},{most}]"

    def _closed(self, operator: str, inside: re.Match[str], place: Span) -> str:
        """What is written in place of bounds without a second one."""
        number = inside["least"]
        if not number or inside["to"] is None:
            return f"write {operator}[0,{number}] or {operator}[{number},{number}]" if number else ""
        form = vocabulary.UNBOUNDED[operator] if number.strip("0") else operator
        return f"without a second bound it is written {form.format(n=number, m=self.integer(number, place) - 1)}"

    def word(self, word: str, end: int) -> None:
        known = word in self.symbols or word in self.names
        if known or word in vocabulary.RESERVED:
            super().word(word, end)
        elif word in vocabulary.YIELDING:
            self.add(*vocabulary.YIELDING[word], end)
        elif not self._glued(word, end):
            super().word(word, end)

    def _glued(self, word: str, end: int) -> bool:
        """Take prefix operators that are written without spaces, as in `GFa` and `GF (a)`. Raises SourceError if there
        are two ways to read them."""
        pieces: list[str] = []
        found: list[tuple[str, ...]] = []
        at = 0
        while prefix := vocabulary.PREFIXES.match(word, at):
            pieces.append(prefix[0])
            at = prefix.end()
            if at == len(word) or (len(word) - at <= LONGEST_GLUED and self._is_operand(word[at:])):
                found.append((*pieces, *([word[at:]] if at < len(word) else [])))
        if len(found) > 1:
            one, other = (" ".join(parts) for parts in found[:2])
            raise self.wrong(end, f"{brief(word)} is {one} or {other}", "spaces between operators and their operands")
        for piece in found[0] if found else ():
            self.word(piece, self.at + len(piece))
        return bool(found)

    def _is_operand(self, word: str) -> bool:
        """Whether a word is one that an operator may stand before."""
        kind = (vocabulary.FORMULAS.get(word) or vocabulary.YIELDING.get(word) or ("", ""))[0]
        symbol = word.removeprefix(SYMBOL_PREFIX)
        known = word in self.names or word in self.symbols or (symbol in self.symbols and symbol != word)
        return kind in ("CONSTANT", "PREDICATE") if word in vocabulary.RESERVED else known or kind == "CONSTANT"

    def check_word(self, word: str, end: int) -> None:
        if word in vocabulary.KEYWORDS:
            hint = f"definitions ({word}) stand before the formula, each at the beginning of a line"
            raise self.wrong(end, f"{word!r} is reserved", "a formula", symbol_hint(word, self.symbols) or hint)


class _TermScanner(_FormulaScanner):
    """The same with division, for the terms of specifications."""

    spellings: ClassVar = {**vocabulary.FORMULAS, **spelled("SLASH", "/")}


class _ProgramScanner(Scanner):
    spellings = vocabulary.PROGRAMS
    look_alikes = vocabulary.PROGRAM_LOOK_ALIKES
    name = VECTOR_NAME

    def decimal_hint(self, text: str) -> str:
        exact = f"write {Fraction(text)}" if len(text) <= LONGEST_DECIMAL else "write a fraction, such as 1/2,"
        return f"numbers are exact: {exact} beside a mean; between integers {super().decimal_hint(text)}"

    def special(self) -> bool:
        if triangle := self.match(_TRIANGLE):
            if triangle["index"] not in (None, "_j"):
                raise self._other_index(triangle["side"] + triangle["index"], triangle.end())
            self.add("ATTENTION", _TRIANGLES[triangle["side"]], triangle.end())
        elif self.text.startswith(SYMBOL_PREFIX, self.at):
            self._symbol()
        elif fraction := self.match(_FRACTION):
            self.add("FRACTION", fraction[0], fraction.end())
        elif member := self.match(_MEMBER):
            self.add("MEMBER", member[0], member.end())
        elif self.text.startswith(":=", self.at):
            raise self.wrong(self.at + 2, "a second := in one statement", "an operator", self.look_alikes[":="])
        else:
            return False
        return True

    def _symbol(self) -> None:
        """`Q_a`, `Q_'('`, and also `Q_(` for a symbol that begins with no letter or digit."""
        start = self.at + len(SYMBOL_PREFIX)
        if self.text.startswith("'", start):
            self.quoted_symbol("SYMBOL", start)
        elif word := WORD.match(self.text, start, self.end):
            self.add("SYMBOL", word[0], word.end())
        elif _NO_SYMBOL.match(self.text, start, self.end):
            raise self.wrong(start, "Q_ without a symbol", "a symbol, as in Q_a(i) or Q_'('(i)")
        else:
            known = [symbol for symbol in self.symbols if self.text.startswith(symbol, start)]
            symbol = max(known, key=len, default=self.text[start])
            self.add("SYMBOL", symbol, start + len(symbol))

    def check_word(self, word: str, end: int) -> None:
        if word.endswith("_i") and word[:-2] in self.spellings:
            raise self._other_index(word, end)

    def _other_index(self, word: str, end: int) -> SourceError:
        plain = word.split("_")[0]
        return self.wrong(end, f"{word} does not range over j", f"{plain} or {plain}_j")


def formula_tokens(
    source: Source, region: Span, symbols: Collection[str], names: Collection[str] = (), division: bool = False
) -> list[Lexeme]:
    """The tokens of a region of an `.ltl` file, or with `division` of a term of a specification. Spellings of other
    tools yield to `symbols`, the alphabet, and `names`, the defined ones. Raises SourceError for a character that
    starts no token, a quote that is not closed, `1.5`, bounds that are none, and operators without spaces that can be
    read in two ways."""
    scanner = _TermScanner if division else _FormulaScanner
    return scanner(source, region, symbols, names).run()


def program_tokens(source: Source, region: Span, symbols: Collection[str]) -> list[Lexeme]:
    """The tokens of a region of a program; `symbols` is the alphabet as far as it is known (for `Q_(` and hints).
    Raises SourceError as `formula_tokens`, and for `Q_` alone."""
    return _ProgramScanner(source, region, symbols).run()


def begins_anew(text: str, start: int, body: int) -> bool:
    """Return whether a token begins a line after the first line of a body, indented no more than the body itself."""
    line = text.rfind("\n", 0, start) + 1
    indent = body - text.rfind("\n", 0, body) - 1
    return line > body and not text[line:start].strip() and start - line <= indent
