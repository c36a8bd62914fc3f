"""Resolve `+` and `.` between two operands of a regular expression, which tools read in two ways.

In formal-language papers, JFLAP and FAdo `a+b` is a union; in programming it is one or more a, then b. `a.b` has a
symbol in the middle in programming, and none in pyformlang and in papers. Either sign is refused between two operands
unless the header chooses, with `plus:` or `dot:`. Elsewhere both groups read the signs alike: no one writes a union or
a concatenation without a second operand, and a `.` that is repeated or doubled is a symbol.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from hardsim.errors import SourceError
from hardsim.lang.files import Layout
from hardsim.lang.lexer import Cited, Lexeme
from hardsim.lang.valuations import Alphabet
from hardsim.lang.vocabulary import brief, symbol_hint
from hardsim.lang.words import has_long_symbols
from hardsim.lazy_dataclass import dataclass

PLUS, DOT = "plus", "dot"
CHOICES = {PLUS: ("union", "repeat"), DOT: ("any", "concatenation")}
"""The header keys `plus` and `dot`, with their allowed values."""
ENDS_OPERAND = frozenset({"SYMBOL", "ANY", "EMPTY", "RPAR", "RSQB"})
STARTS_OPERAND = frozenset({"SYMBOL", "ANY", "EMPTY", "LPAR", "SET", "NOT"})
_OPENS = {"RPAR": "LPAR", "RSQB": "SET"}
_COMMENT = re.compile(r"(?<!\S)//[^\n]*")
_LONGEST = 60
"""Greatest number of characters inside the brackets around a sign for a hint to repeat all of them; otherwise the
hint repeats the two operands of the sign, if they then have at most twice as many."""

_Edit: TypeAlias = tuple[int, int, str]
"""A replacement in a text: the offsets of its start and of its (exclusive) end, and the new text."""


@dataclass(frozen=True, slots=True)
class Notation:
    """The meaning of `+` and `.` between two operands; None if the header does not choose."""

    plus: str | None = None
    dot: str | None = None


def notation_of(layout: Layout) -> Notation:
    """Read the `plus:` and `dot:` lines of a header. Raises SourceError for a value that is not in CHOICES."""
    for key, choices in CHOICES.items():
        line = layout.header(key)
        if line is not None and line.text not in choices:
            message = f"{key}: cannot be {brief(line.text)}" if line.text else f"{key}: has no value"
            raise layout.error(line.body, message, " or ".join(choices))
    return Notation(layout.value(PLUS) or None, layout.value(DOT) or None)


def resolved(text: Cited, tokens: Sequence[Lexeme], notation: Notation, symbols: Alphabet) -> list[Lexeme]:
    """Return the tokens of an expression, with each PLUS replaced by a REPEAT or an OR, and without dots that only
    concatenate. Raises SourceError at a sign that tools read in two ways if the header does not choose, or at a sign
    that does not fit the choice of the header."""
    signs = _Signs(text, list(tokens), notation, symbols)
    signs.resolve_pluses()
    signs.resolve_dots()
    return signs.tokens


class _Signs:
    def __init__(self, text: Cited, tokens: list[Lexeme], notation: Notation, symbols: Alphabet) -> None:
        self.text, self.tokens, self.notation, self.symbols = text, tokens, notation, symbols
        self.inside_sets, inside = set[int](), False
        """The indices of the tokens inside a set such as [ab]."""
        for index, token in enumerate(tokens):
            if inside:
                self.inside_sets.add(index)
            inside = token.kind == "SET" or (inside and token.kind != "RSQB")

    # ---- + ----

    def resolve_pluses(self) -> None:
        """Turn each PLUS token into a repetition or a union."""
        for index, token in enumerate(self.tokens):
            if token.kind == "PLUS":
                self.tokens[index] = replace(token, kind="REPEAT", value="1,")
                if index not in self.inside_sets:  # inside a set any repetition is an error later
                    self._resolve_plus(index, token)

    def _resolve_plus(self, index: int, token: Lexeme) -> None:
        chosen, infix = self.notation.plus, self._starts(index + 1)
        if chosen == "union" and not infix:
            message = "a + without a second operand, although the header says plus: union"
            raise self.text.error(token.span, message, "an operand after +", "one or more times is written {1,}")
        if chosen == "union":
            self.tokens[index] = replace(token, kind="OR", value="|")
        if chosen is not None or not self._ends(index - 1):
            return
        if infix:
            raise self._ambiguous_plus(index)
        if self.tokens[index - 1].span.end < token.span.start:
            hint = "union is written |; a repetition follows its operand without a blank"
            expected = "a symbol, a repetition, |, & or the end"
            raise self.text.error(token.span, "a blank before +", expected, symbol_hint("+", self.symbols) or hint)

    def _ambiguous_plus(self, index: int) -> SourceError:
        """Return the error for a + between two operands; its hint shows the spelling of each reading."""
        first, last = self._neighbours(index)
        places = [at for at in range(first, last + 1) if self._is_infix_plus(at)]
        union: list[_Edit] = [(*self._place(at), "|") for at in places]
        repeat = [edit for at in places for edit in self._bracketed(at)]
        either, many = (self._edited(first, last, edits) for edits in (union, repeat))
        if len(many) > 2 * _LONGEST:
            either, many = "e|f", "(e+)f"
        hint = f"write `{either}` for union or `{many}` for one or more, or choose in the header: "
        hint += "plus: union or plus: repeat"
        return self.text.error(
            self.tokens[index].span,
            "this + is union in formal-language papers, and one or more in programming",
            "|, or brackets around what is repeated",
            self._with_symbol("+", hint),
        )

    def _is_infix_plus(self, index: int) -> bool:
        written = self.text.written(self.tokens[index].span)
        return written == "+" and self._ends(index - 1) and self._starts(index + 1) and index not in self.inside_sets

    def _bracketed(self, index: int) -> list[_Edit]:
        """Return edits that put a + and the operand that it repeats in brackets."""
        start, compound = self._operand_start(index - 1)
        at = self.tokens[start].span.start
        after = (self.tokens[index - 1].span.end, self.tokens[index].span.end)
        return [(at, at, "((" if compound else "("), (*after, ")+)" if compound else "+)")]

    # ---- . ----

    def resolve_dots(self) -> None:
        """Remove the dots that concatenate two operands, if the header says that they do."""
        dots = [at for at, token in enumerate(self.tokens) if token.kind == "ANY" and at not in self.inside_sets]
        between = [at for at in dots if self._joins(at)]
        alone = next((at for at in dots if at not in between), None)
        if self.notation.dot == "concatenation":
            if alone is not None:
                hint = "any symbol is written as a set that lists all of them, as in [ab]"
                message = "a . that does not join two operands, although the header says dot: concatenation"
                raise self.text.error(self.tokens[alone].span, message, "an operand on both sides", hint)
            self.tokens = [token for at, token in enumerate(self.tokens) if at not in between]
        elif self.notation.dot is None and between and alone is None:  # a dot that joins nothing is a symbol
            raise self._ambiguous_dot(between[0])

    def _joins(self, index: int) -> bool:
        """Return True if a dot is between two operands that are not dots."""
        apart = all(self.tokens[at].kind != "ANY" for at in (index - 1, index + 1) if 0 <= at < len(self.tokens))
        return apart and self._ends(index - 1) and self._starts(index + 1)

    def _ambiguous_dot(self, index: int) -> SourceError:
        first, last = self._neighbours(index)
        places = [at for at in range(first, last + 1) if self.tokens[at].kind == "ANY" and self._joins(at)]
        gap = " " if has_long_symbols(self.symbols) else ""
        any_one: list[_Edit] = [(*self._place(at), "(.)") for at in places]
        joined: list[_Edit] = [(*self._place(at), gap) for at in places]
        one, none = (self._edited(first, last, edits) for edits in (any_one, joined))
        if len(one) > 2 * _LONGEST:
            one, none = "e(.)f", f"e{gap}f"
        hint = f"write `{one}` for any symbol or `{none}` for concatenation, or choose in the header: "
        hint += "dot: any or dot: concatenation"
        return self.text.error(
            self.tokens[index].span,
            "this . is any symbol in programming, and concatenation in formal-language papers",
            "(.), or operands side by side",
            self._with_symbol(".", hint),
        )

    # ---- operands beside a sign ----

    def _ends(self, index: int) -> bool:
        """Return True if the token at an index ends an operand (perhaps a repeated one)."""
        return index >= 0 and self.tokens[index].kind in ENDS_OPERAND | {"REPEAT"}

    def _starts(self, index: int) -> bool:
        """Return True if the token at an index starts an operand."""
        return index < len(self.tokens) and self.tokens[index].kind in STARTS_OPERAND

    def _place(self, index: int) -> tuple[int, int]:
        return self.tokens[index].span.start, self.tokens[index].span.end

    def _operand_start(self, index: int) -> tuple[int, bool]:
        """Return the index of the first token of the operand that ends at an index, and True if that operand is
        repeated or complemented."""
        compound = False
        while self.tokens[index].kind == "REPEAT" and index > 0:
            index, compound = index - 1, True
        depth = self._closes(index)
        while depth > 0 and index > 0:
            index -= 1
            depth += self._closes(index)
        if index > 0 and self.tokens[index - 1].kind == "NOT":
            return index - 1, True
        return index, compound

    def _neighbours(self, index: int) -> tuple[int, int]:
        """Return the indices of the first and the last token inside the innermost brackets around a sign; in a long
        text, those of the sign's two operands only."""
        first, last, depth = index, index, 0
        while first > 0 and (depth or self.tokens[first - 1].kind not in _OPENS.values()):
            first -= 1
            depth += self._closes(first)
        while last + 1 < len(self.tokens) and (depth or self.tokens[last + 1].kind not in _OPENS):
            last += 1
            depth -= self._closes(last)
        if self.tokens[last].span.end - self.tokens[first].span.start <= _LONGEST:
            return first, last
        return self._operand_start(index - 1)[0], self._operand_end(index + 1)

    def _closes(self, index: int) -> int:
        """Return 1 for a closing bracket, -1 for an opening one, and 0 for other tokens."""
        kind = self.tokens[index].kind
        return (kind in _OPENS) - (kind in _OPENS.values())

    def _operand_end(self, index: int) -> int:
        """Return the index of the last token of the operand that starts at an index."""
        depth = 0
        for at in range(index, len(self.tokens)):
            depth -= self._closes(at)
            if depth == 0 and self.tokens[at].kind != "NOT":
                return at
        return len(self.tokens) - 1

    def _edited(self, first: int, last: int, edits: Sequence[_Edit]) -> str:
        """Return the text from one token to another, with edits applied."""
        whole, parts = self.text.source.text, list[str]()
        at, end = self.tokens[first].span.start, self.tokens[last].span.end
        for start, stop, written in sorted(edits, key=lambda edit: edit[:2]):
            parts += [whole[at:start], written]
            at = stop
        return " ".join(_COMMENT.sub("", "".join([*parts, whole[at:end]])).split())

    def _with_symbol(self, sign: str, hint: str) -> str:
        """Return a hint, preceded by the spelling of the sign as a symbol if the alphabet has it."""
        return "; ".join(filter(None, [symbol_hint(sign, self.symbols), hint]))
