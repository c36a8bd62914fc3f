"""Lexical analysis: from the text of a formula, term or program to its tokens."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from hardsim.errors import Source, SourceError, Span
from hardsim.lang import vocabulary
from hardsim.lang.vocabulary import NUMBER, SYMBOL_PREFIX, VECTOR_NAME, WORD, Spellings, brief, spelled, symbol_hint
from hardsim.lazy_dataclass import dataclass

BLANK = re.compile(r"(?:\s|(?<!\S)//[^\n]*)*")
"""White space and comments; a comment begins after white space or at the beginning of the text."""
# The quote symbol is '''' (a doubled quote in quotes); ''' is accepted too, because users try it first.
_QUOTED = re.compile(r"'((?:''|[^'\s])+(?:[ ]+(?:''|[^'\s])+)*)'|'(')'(?!')")
LONGEST_DECIMAL = 20
"""Greatest number of characters of a decimal number that a message rewrites as a fraction."""
_DECIMALS = re.compile(r"\.[0-9]*")
_STRONG = re.compile(r"\s*\[\s*!\s*\]")
"""The suffix `[!]`, which makes X the strong next operator in every dialect."""
# Bounds such as `[0,3]`; the lookahead leaves `[]` (always) and `[` before other text alone.
_BOUNDS = re.compile(r"\s*\[(?=\s*[-+.,:0-9])(?P<inside>[^\[\]()\n]*)(?P<end>\]?)")
# `[2]`, `[0,3]`, `[0:3]` and `[0..3]`, as different tools write bounds.
_NUMBERS = re.compile(r"\s*(?P<least>[0-9]*)\s*(?:(?P<to>,|:|\.\.)\s*(?P<most>[0-9]*)\s*)?")
_DOUBLY_QUOTED = re.compile(r'"([^"\s]+(?:[ ]+[^"\s]+)*)"')
"""A symbol or proposition as Spot, Owl and pylogics quote it, in double quotes; the group is the text inside."""
_BRACED = re.compile(r"\{\s*(\w+)\s*\}")
"""A proposition as reelay writes it, in braces; the group is its name."""
_COUNT = re.compile(r"#\s*([LR]?)\s*\[")
_LATEX = re.compile(r"\\[A-Za-z]+(?:\s*\{\s*(\w+)\s*\})?")
r"""A command of LaTeX, such as `\\land` or `\\mathcal{U}`; the group is the word in braces."""
_STRAY = re.compile(r"[^\w\s()\[\]']+")
_TRIANGLE = re.compile(r"(?P<side>[◀▶])[\ufe0e\ufe0f]?(?P<index>_\w*)?")
"""Attention as drawn in papers (U+25C0, U+25B6); a variation selector for text or emoji style is ignored."""
_TRIANGLES = {"◀": "leftmost", "▶": "rightmost"}
_FRACTION = re.compile(r"[0-9]+\s*/\s*[0-9]+(?!\w)")
_MEMBER = re.compile(r"in(?=\s*\{)")
_NO_SYMBOL = re.compile(r"\s|$|\(\s*[ij]\s*\)")
"""The text after `Q_` that shows a missing symbol: white space, the end, or an index in brackets."""
CLOSING = {"LPAR": ")", "COUNT": "]", "LSQB": "]", "SET": "]", "LBRACE": "}"}
"""The closing bracket for each kind of opening token."""

MAX_INTEGER = 10**18
"""Greatest absolute value of an integer, of a constant part of a term, and of values computed in a `pred`
condition."""
TOO_LARGE = ("a number larger than 10^18", "a smaller integer")
LARGEST_BOUND = 10_000
"""Greatest bound of a bounded temporal operator, in positions."""
LONGEST_GLUED = 1_000
"""Greatest length, in characters, of the rest of a word after glued operators: every such rest is looked up."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token: its terminal in the grammar, its canonical spelling (of `Q_a` and quoted symbols: the symbol) and
    its place."""

    kind: str
    value: str
    span: Span


@dataclass
class Cited:
    """Base class of objects read from a text; their errors cite that text."""

    source: Source

    def error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        """Return an error at a place of the text."""
        return SourceError(self.source, span, message, expected, hint)

    def line_of(self, span: Span) -> int:
        """Return the line number, from 1, of the start of a place."""
        return self.source.line_of(span.start)[0]

    def written(self, span: Span) -> str:
        """Return the text at a place."""
        return self.source.text[span.start : span.end]

    def integer(self, digits: str, span: Span) -> int:
        """Return the integer that the digits at a place denote. Raises SourceError beyond MAX_INTEGER."""
        # Python refuses to convert very long digit strings, so the length is compared first.
        shortened = digits.lstrip("0") or "0"
        if len(shortened) > len(str(MAX_INTEGER)) or int(shortened) > MAX_INTEGER:
            raise self.error(span, *TOO_LARGE)
        return int(shortened)

    def excerpt(self, span: Span, limit: int = 40) -> str:
        """Return the text at a place on one line, shortened in the middle to `limit` characters, for messages."""
        text = " ".join(self.written(Span(span.start, min(span.end, span.start + 10 * limit))).split())
        return text if len(text) <= limit else f"{text[: limit - 11]} ... {text[-6:]}"


def bracket_error(text: Cited, tokens: Sequence[Lexeme], symbols: Collection[str]) -> SourceError | None:
    """Return the error for the first bracket that does not match, or None. `symbols` (the alphabet) serves for
    hints."""
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
    """Splits a region of a text into tokens; `symbols` is the alphabet as far as it is known, for hints."""

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
        """Return all tokens of the region."""
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
        """Return the match of a pattern at the current offset, or None."""
        return pattern.match(self.text, self.at, self.end)

    def add(self, kind: str, value: str, end: int) -> None:
        """Append a token that extends from the current offset to `end`, and move there."""
        self.tokens.append(Lexeme(kind, value, Span(self.at, end)))
        self.at = end

    def wrong(self, end: int, message: str, expected: str, hint: str = "") -> SourceError:
        """Return an error whose place extends from the current offset to `end`."""
        return self.error(Span(self.at, end), message, expected, hint)

    @abstractmethod
    def special(self) -> bool:
        """Read a token that is neither a plain word nor a sign and return True; return False if there is none at the
        current offset."""

    @abstractmethod
    def check_word(self, word: str, end: int) -> None:
        """Raise SourceError if a word may not be used as a name."""

    def quoted_symbol(self, kind: str, start: int) -> None:
        """Read a quoted symbol whose quote is at `start`; the token includes a prefix before the quote."""
        match = _QUOTED.match(self.text, start, self.end)
        if match is None:
            hint = "the quote symbol is written ''''" if "'" in self.symbols else ""
            expected = "a symbol and a closing quote, as in '(' or 'send invoice'"
            raise self.error(Span(start, start + 1), "this quote is never closed", expected, hint)
        self.add(kind, (match[1] or match[2]).replace("''", "'"), match.end())

    def require_closed(self) -> None:
        """Raise SourceError at a double quote that no other one on its line closes, unless it is a symbol itself."""
        after = self.text[self.at + 1 : self.end].partition("\n")[0]
        if self.text[self.at] == '"' and '"' not in (*self.symbols, *after):
            raise self.error(Span(self.at, self.at + 1), "this quote is never closed", "a closing quote on this line")

    def word(self, word: str, end: int) -> None:
        """Read the word at the current offset as a token."""
        if word in self.spellings:
            self.add(*self.spellings[word], end)
            return
        self.check_word(word, end)
        number = NUMBER.fullmatch(word)
        # `1.5` is reported as one decimal number, not as an unknown operator `.`
        fraction = number and _DECIMALS.match(self.text, end, self.end)
        if fraction:
            hint = self.decimal_hint(word + fraction[0])
            raise self.wrong(fraction.end(), "not an integer", "an integer", hint)
        self.add("NUMBER" if number else "WORD", word, end)

    def decimal_hint(self, text: str) -> str:
        """Return the advice for a decimal number, which the language lacks."""
        return "multiply both sides of the comparison"

    def _sign(self) -> None:
        """Read the longest operator at the current offset. Raises SourceError if there is none, with a hint where
        one is known."""
        # `--->` and the like are rejected whole; otherwise `--` and `->` would be read as two operators
        overlong = self.match(vocabulary.OVERLONG)
        for size in range(0 if overlong else max(map(len, self.spellings)), 0, -1):
            spelling = self.text[self.at : min(self.at + size, self.end)]
            if spelling in self.spellings:
                return self.add(*self.spellings[spelling], self.at + len(spelling))
        # No operator: an unquoted symbol such as `(`, a foreign operator, or a stray character, in this order.
        here = [symbol for symbol in self.symbols if self.text.startswith(symbol, self.at, self.end)]
        shown = found = max(here, key=len, default="")
        hint = symbol_hint(found, self.symbols)
        external = overlong or self.match(_LATEX)
        if not found and external:
            shown = found = external[0]
            hint = self.other_syntax_hint(found)
        elif not found:
            stray = self.match(_STRAY)
            run = stray[0] if stray else self.text[self.at]
            sizes = range(min(len(run), max(map(len, self.look_alikes), default=0)), 0, -1)
            found = next((run[:size] for size in sizes if run[:size] in self.look_alikes), run[0])
            shown = found if found.isprintable() else f"U+{ord(found):04X}"
            hint = self.look_alikes.get(found, "")
        raise self.wrong(self.at + len(found), f"unknown operator {shown}", "an operator or an operand", hint)

    def other_syntax_hint(self, text: str) -> str:
        """Return the spelling in our syntax for a LaTeX command or an operator with repeated characters, or ""."""
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
        self.require_closed()
        braced = self.match(_BRACED)
        if braced is None or braced[0] in self.symbols:
            return False
        # `{p}`, reelay's way of writing a proposition: the token is the word without its braces
        self.at = braced.start(1)
        super().add("NUMBER" if NUMBER.fullmatch(braced[1]) else "WORD", braced[1], braced.end(1))
        self.at = braced.end()
        return True

    def add(self, kind: str, value: str, end: int) -> None:
        """Append a token; an operator includes the `[!]` or the bounds after it."""
        if kind in ("UNARY", "BINARY"):
            if value == "X" and (strong := _STRONG.match(self.text, end, self.end)):
                value, end = "X[!]", strong.end()
            # after `!` a bracket cannot be bounds
            elif value != "!" and (bounds := _BOUNDS.match(self.text, end, self.end)):
                value, end = self._bounded(value, bounds), bounds.end()
        super().add(kind, value, end)

    def _bounded(self, operator: str, bounds: re.Match[str]) -> str:
        """Return the spelling of an operator with its bounds, such as `F[0,3]` and `X[2]`. Raises SourceError for
        bad bounds."""
        shown, inside = f"[{' '.join(bounds['inside'].split())}]", _NUMBERS.fullmatch(bounds["inside"])
        place = Span(self.text.index("[", bounds.start()), bounds.end())
        single = operator in vocabulary.SINGLE
        form = f"one number, as in {operator}[3]" if single else f"two numbers, as in {operator}[0,3]"
        if not single and operator not in vocabulary.PAIRED:
            message = f"{operator} cannot have bounds"
            raise self.error(place, message, "", "bounds are allowed after F G O H U S, and after X Y")
        given = (inside["least"] if single else inside["most"]) if inside and bounds["end"] else ""
        if not inside or not given or single is (inside["to"] is not None):
            hint = self._closed(operator, inside, place) if inside and bounds["end"] and not single else ""
            raise self.error(place, f"invalid bounds for {operator}: {shown}", form, hint)
        least, most = (self.integer(number, place) for number in (inside["least"] or "0", given))
        if most > LARGEST_BOUND:
            raise self.error(place, f"a bound larger than {LARGEST_BOUND:,}: {shown}", f"at most {LARGEST_BOUND:,}")
        if least > most:
            raise self.error(place, f"no position is within the bounds {shown}", "the smaller bound first")
        return f"{operator}[{least}]" if single else f"{operator}[{least},{most}]"

    def _closed(self, operator: str, inside: re.Match[str], place: Span) -> str:
        """Return a hint for bounds with only one number, which should be `[0,n]`, `[n,n]` or another formula; ""
        without a number."""
        number = inside["least"]
        if not number or inside["to"] is None:
            return f"write {operator}[0,{number}] or {operator}[{number},{number}]" if number else ""
        form = vocabulary.UNBOUNDED[operator] if number.strip("0") else operator
        return f"without an upper bound, write {form.format(n=number, m=self.integer(number, place) - 1)}"

    def word(self, word: str, end: int) -> None:
        # the file's own names come first, then other tools' spellings, then glued operators
        known = word in self.symbols or word in self.names
        if known or word in vocabulary.RESERVED:
            super().word(word, end)
        elif word in vocabulary.YIELDING:
            self.add(*vocabulary.YIELDING[word], end)
        elif not self._glued(word, end):
            super().word(word, end)

    def _glued(self, word: str, end: int) -> bool:
        """Read prefix operators that are written without spaces, as in `GFa` and `GF (a)`, and return True; return
        False if the word cannot be split so. Raises SourceError if there are two ways to split the word."""
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
            message = f"{brief(word)} can be read as {one} or as {other}"
            raise self.wrong(end, message, "spaces between operators and their operands")
        for piece in found[0] if found else ():
            self.word(piece, self.at + len(piece))
        return bool(found)

    def _is_operand(self, word: str) -> bool:
        """Return True if the word can be the operand after glued prefix operators."""
        kind = (vocabulary.FORMULAS.get(word) or vocabulary.YIELDING.get(word) or ("", ""))[0]
        symbol = word.removeprefix(SYMBOL_PREFIX)
        known = word in self.names or word in self.symbols or (symbol in self.symbols and symbol != word)
        return kind in ("CONSTANT", "PREDICATE") if word in vocabulary.RESERVED else known or kind == "CONSTANT"

    def check_word(self, word: str, end: int) -> None:
        if word in vocabulary.KEYWORDS:
            hint = f"definitions ({word}) come before the formula, each at the beginning of a line"
            if not self.text[: self.at].strip() and self.text[: self.at][-1:] in ("", "\n"):
                # In a file this would be a definition.
                hint = f"a formula without a file (-e) has no definitions ({word}): write it into a file (.ltl)"
            raise self.wrong(end, f"{word!r} is reserved", "a formula", symbol_hint(word, self.symbols) or hint)


class _TermScanner(_FormulaScanner):
    """Tokens of terms in specifications: those of formulas, and division."""

    spellings: ClassVar = {**vocabulary.FORMULAS, **spelled("SLASH", "/")}


class _ProgramScanner(Scanner):
    spellings = vocabulary.PROGRAMS
    look_alikes = vocabulary.PROGRAM_LOOK_ALIKES
    name = VECTOR_NAME

    def decimal_hint(self, text: str) -> str:
        exact = f"write {Fraction(text)}" if len(text) <= LONGEST_DECIMAL else "write a fraction, such as 1/2"
        return f"numbers are exact: {exact} to compare with a mean; between integers, {super().decimal_hint(text)}"

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
        # The caller cut the text into statements at the first `:=`, so any other one is a mistake.
        elif self.text.startswith(":=", self.at):
            raise self.wrong(self.at + 2, "a second := in one statement", "an operator", self.look_alikes[":="])
        else:
            return False
        return True

    def _symbol(self) -> None:
        """Read `Q_a` or `Q_'('`, and also `Q_(` for a symbol that does not begin with a letter or digit."""
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
    """Return the tokens of a region of an `.ltl` file, or with `division` of a term of a specification. The spellings
    of other tools yield to `symbols` (the alphabet) and to `names` (the defined names). Raises SourceError for a
    character that starts no token, a quote that is not closed, a decimal number such as `1.5`, malformed bounds, and
    operators without spaces that can be read in two ways."""
    scanner = _TermScanner if division else _FormulaScanner
    return scanner(source, region, symbols, names).run()


def program_tokens(source: Source, region: Span, symbols: Collection[str]) -> list[Lexeme]:
    """Return the tokens of a region of a program; `symbols` is the alphabet as far as it is known (for `Q_(` and
    hints). Raises SourceError as `formula_tokens` does, and for `Q_` without a symbol."""
    return _ProgramScanner(source, region, symbols).run()


def begins_anew(text: str, start: int, body: int) -> bool:
    """Return True if the token at `start` begins a line after the first line of the body at offset `body`, and is
    indented no more than the body itself."""
    line = text.rfind("\n", 0, start) + 1
    indent = body - text.rfind("\n", 0, body) - 1
    return line > body and not text[line:start].strip() and start - line <= indent
