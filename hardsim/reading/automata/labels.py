"""The labels of edges: symbols, or formulas over propositions.

Operators, loosest first: a comma or a new line (either side), `<->`, `->`, `^` and `|`, `&`, `!`. As in formulas, `^`
beside `|` and two `->` in a row need brackets. Names are quoted as in `'a b'`; a quote inside is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.trees import CHAINED, MIXED, MIXED_HINT
from hardsim.lang.vocabulary import brief
from hardsim.lazy_dataclass import dataclass
from hardsim.reading.automata.graph import Condition

NOTHING = ("", "ε", "ϵ", "λ", "eps", "epsilon", "lambda")
"""The labels of edges that read nothing."""
DEEPEST = 100
"""Greatest number of brackets and negations around a part of a label."""

_WORDS = {"and": "&", "or": "|", "xor": "^", "not": "!", "iff": "<->", "implies": "->"}
_CONSTANTS = {"true": True, "tt": True, "⊤": True, "false": False, "ff": False, "⊥": False}
RESERVED = frozenset({*_WORDS, *_CONSTANTS, *NOTHING})
"""Names, in lower case, that stand in quotes."""
_SIGNS = (
    ("<->", r"<->|<=>|↔|⇔"),
    ("->", r"->|=>|→|⇒"),
    ("&", r"&&?|∧|/\\"),
    ("|", r"\|\|?|∨|\\/"),
    ("^", r"\^|⊕"),
    ("!", r"[!~¬]"),
    ("(", r"\("),
    (")", r"\)"),
    (",", r"[,;\n]"),
)
_SIGN = "|".join(text for _, text in _SIGNS)
_TOKEN = re.compile(
    rf"(?P<blank>[^\S\n]+)|'(?P<single>(?:''|[^'])+)'|\"(?P<double>[^\"]+)\"|(?P<sign>{_SIGN})"
    rf"|(?P<name>(?:(?!{_SIGN})[^\s'\"])+|['\"])"
)
_BINDING = {",": 0, "<->": 1, "->": 2, "^": 3, "|": 3, "&": 4}
"""How tightly each connective of two operands binds."""
_EXPECTED = "a name, ! or an opening bracket"


@dataclass(frozen=True, slots=True)
class Label:
    """The text of a label, with the offset in the file of each of its characters, and of its end."""

    source: Source
    text: str
    offsets: Sequence[int]

    def error(self, start: int, end: int, message: str, expected: str = "", hint: str = "") -> SourceError:
        """Return an error at a part of the label."""
        return SourceError(self.source, self.span(start, end), message, expected, hint)

    def span(self, start: int, end: int) -> Span:
        """Return the place in the file of a part of the label."""
        first = self.offsets[min(start, len(self.text))]
        return Span(first, max(first + 1, self.offsets[min(end, len(self.text))]))

    @property
    def whole(self) -> str:
        """The text without blanks around it."""
        return self.text.strip()


@dataclass(frozen=True, slots=True)
class Token:
    """A sign or a name of a label. `kind` is a sign, `name` or `end`."""

    kind: str
    text: str
    start: int
    end: int
    quoted: bool = False


def tokens_of(label: Label) -> list[Token]:
    """Return the tokens of a label. A label that is a single character is a name, whatever the character."""
    found: list[Token] = []
    if len(label.whole) == 1:
        start = label.text.index(label.whole)
        found = [Token("name", label.whole, start, start + 1)]
    else:
        for match in _TOKEN.finditer(label.text):
            kind, text = str(match.lastgroup), match[0]
            if kind in ("single", "double"):
                inside = match[kind]
                text = inside.replace("''", "'") if kind == "single" else inside
                found.append(Token("name", text, match.start(), match.end(), quoted=True))
            elif kind == "sign":
                sign = next(sign for sign, spelled in _SIGNS if re.fullmatch(spelled, text))
                # a new line separates two operands, and is a blank elsewhere
                if sign in (")", *_BINDING) and found and found[-1].text == "\n":
                    found.pop()
                if text != "\n" or (found and found[-1].kind in ("name", ")")):
                    found.append(Token(sign, text, match.start(), match.end()))
            elif kind == "name":
                sign = _WORDS.get(text.lower(), "name")
                found.append(Token(sign, text, match.start(), match.end()))
        if found and found[-1].text == "\n":
            found.pop()
    return [*found, Token("end", "", len(label.text), len(label.text))]


def is_formula(tokens: Sequence[Token]) -> bool:
    """Return True if a label has a connective or a constant, so that its names are propositions unless symbols are
    declared."""
    return any(token.kind not in ("name", ",", "end") or _constant(token) is not None for token in tokens)


def _constant(token: Token) -> bool | None:
    """Return the value of a token that is a constant; None for any other token."""
    return None if token.quoted or token.kind != "name" else _CONSTANTS.get(token.text.lower())


def guard_of(label: Label, tokens: Sequence[Token], sets: bool) -> Condition:
    """Return the condition that a label states. Over `sets` of propositions 1 and 0 are constants. Raises SourceError
    at the first token that does not fit."""
    return _Parser(label, tokens, sets).parsed()


class _Parser:
    def __init__(self, label: Label, tokens: Sequence[Token], sets: bool) -> None:
        self.label, self.tokens, self.sets, self.at, self.depth = label, tokens, sets, 0, 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def parsed(self) -> Condition:
        found = self._binary(0)
        if self.token.kind != "end":
            raise self._misfit("an operator, a comma or the end of the label")
        return found

    def _misfit(self, expected: str) -> SourceError:
        token, before = self.token, self.tokens[self.at - 1] if self.at else None
        if token.kind == "end":
            return self.label.error(token.start, token.end, "this label is not complete", expected)
        message, hint = f"{brief(token.text)} does not fit here", ""
        if before is not None and (before.kind, token.kind) == ("name", "name"):
            message = f"there is no operator between {brief(before.text)} and {brief(token.text)}"
            hint = "several symbols are separated by commas; a name with blanks is quoted, as in 'a b'"
        return self.label.error(token.start, token.end, message, expected, hint)

    def _binary(self, loosest: int) -> Condition:
        """Read operands and connectives that bind at least so tightly."""
        found, before = self._unary(), dict[str, Token]()
        while _BINDING.get(self.token.kind, -1) >= loosest:
            token = self.token
            self.at += 1
            if token.kind == "->" and "->" in before:
                hint = "write ... -> (... -> ...) or (... -> ...) -> ..."
                raise self.label.error(token.start, token.end, CHAINED.format("->"), "", hint)
            before[token.kind] = token
            if {"^", "|"} <= before.keys():
                place = before["^"]
                raise self.label.error(place.start, place.end, MIXED, "", MIXED_HINT)
            # but for -> all are associative, so that a long list is one level
            sign, right = token.kind.replace(",", "|"), self._binary(_BINDING[token.kind] + 1)
            flat = found.sign == sign != "->"
            found = Condition(sign, (*(found.args if flat else (found,)), right))
        return found

    @contextmanager
    def _deeper(self, token: Token) -> Iterator[None]:
        """Count one more level of nesting. Raises SourceError at the token beyond the limit."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.label.error(token.start, token.end, f"nesting beyond {DEEPEST} levels", "a shorter label")
        yield
        self.depth -= 1

    def _unary(self) -> Condition:
        token = self.token
        if token.kind not in ("!", "(", "name"):
            raise self._misfit(_EXPECTED)
        self.at += 1
        if token.kind == "name":
            constant = _constant(token)
            if constant is None and self.sets and not token.quoted and token.text in ("0", "1"):
                constant = token.text == "1"
            span = self.label.span(token.start, token.end)
            return Condition(name=token.text, span=span) if constant is None else Condition(truth=constant)
        with self._deeper(token):
            if token.kind == "!":
                return Condition("!", (self._unary(),))
            found = self._binary(0)
            if self.token.kind != ")":
                raise self._misfit("an operator or )")
            self.at += 1
            return found
