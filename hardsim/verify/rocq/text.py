"""Rocq text as tokens, and terms as trees.

Only the sublanguage of generated instances is read: names, natural numbers, integers such as `3%Z` and `(-1)%Z`,
rationals such as `(-1 # 2)`, lists, tuples, and applications of a name. Comments are skipped as coqc skips them: they
nest, and a string inside one hides the ends of comments. Everything else raises `BadRocq` with its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NoReturn, TypeAlias

MOST_DIGITS = 4000
"""Most digits of a number."""
_SPACE = " \t\r\n"
_TOKEN = re.compile(
    rf"(?P<space>[{_SPACE}]+)|(?P<comment>\(\*)|(?P<name>[A-Za-z_][A-Za-z0-9_']*)|(?P<number>[0-9]+)"
    rf"|(?P<stop>\.(?=[{_SPACE}]|\Z))|(?P<sign>:=|[()\[\];,:#%-])"
)
_IN_COMMENT = re.compile(r'\(\*|\*\)|"')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_GLUED = re.compile(r"[A-Za-z0-9_']")


class BadRocq(Exception):
    """A text is not in the sublanguage of instances. `start` and `end` are the place, `expected` is what would have
    been read there."""

    def __init__(self, start: int, end: int, message: str, expected: str = "") -> None:
        super().__init__(message)
        self.start, self.end, self.message, self.expected = start, end, message, expected


@dataclass(frozen=True, slots=True)
class RocqToken:
    """A token of kind name, number, sign, stop (the end of a sentence) or end (of the text), with its place."""

    kind: str
    text: str
    start: int
    end: int

    def refuse(self, message: str, expected: str = "") -> NoReturn:
        """Raise BadRocq at this token."""
        raise BadRocq(self.start, max(self.end, self.start + 1), message, expected)

    @property
    def shown(self) -> str:
        """The token for a message."""
        return "the end of the file" if self.kind == "end" else f"`{self.text[:40]}`"


def tokens_of(text: str) -> list[RocqToken]:
    """Return the tokens of a text; the last one has kind end. Raises BadRocq at the first character that begins none
    of them, at a control character, and at a comment that does not end."""
    if control := _CONTROL.search(text):
        raise BadRocq(*control.span(), "a control character")
    found, at = list[RocqToken](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = "a period inside a sentence" if text[at] == "." else "no text of a generated instance"
            raise BadRocq(at, at + 1, what)
        kind = str(match.lastgroup)
        if kind == "comment":
            at = _end_of_comment(text, at)
            continue
        at = match.end()
        if kind == "number" and _GLUED.match(text, at):
            raise BadRocq(match.start(), at + 1, "a number with letters", "decimal digits")
        if kind != "space":
            found.append(RocqToken(kind, match[0], match.start(), at))
    return [*found, RocqToken("end", "", len(text), len(text))]


def _end_of_comment(text: str, start: int) -> int:
    """Return the offset after the comment that begins at `start`."""
    depth, at = 1, start + 2
    while depth:
        mark = _IN_COMMENT.search(text, at)
        if mark is None:
            raise BadRocq(start, start + 2, "this comment does not end")
        at = mark.end()
        if mark[0] != '"':
            depth += 1 if mark[0] == "(*" else -1
            continue
        # In a string `""` is a quote, which two strings side by side read as well.
        at = text.find('"', at) + 1
        if not at:
            raise BadRocq(*mark.span(), "this string in a comment does not end")
    return at


# ---- terms ----

TreeKind: TypeAlias = Literal["name", "natural", "integer", "ratio", "list", "tuple", "application"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RocqTree:
    """A term with its place in the text. The value is a name, a number, or the name that an application applies;
    `parts` are the members of a list or tuple, or the arguments of an application."""

    kind: TreeKind
    start: int
    end: int
    value: str | int | Fraction = ""
    parts: tuple[RocqTree, ...] = ()

    def refuse(self, message: str, expected: str = "") -> NoReturn:
        """Raise BadRocq at this term."""
        raise BadRocq(self.start, self.end, message, expected)


@dataclass(slots=True)
class _Open:
    """A bracket that is open (None: the whole term): members that are complete, and parts of the present one."""

    bracket: RocqToken | None
    members: list[RocqTree]
    present: list[RocqTree]


class TermReader:
    """Reads one term from tokens, by a stack of open brackets: terms may be nested to any depth."""

    def __init__(self, tokens: Sequence[RocqToken], at: int) -> None:
        """Begin at the token of number `at`."""
        self.tokens, self.at = tokens, at
        self.open = [_Open(None, [], [])]

    def read(self) -> tuple[RocqTree, int]:
        """Return the term up to the end of its sentence, and the number of the token there. Raises BadRocq."""
        while True:
            token = self.tokens[self.at]
            if token.kind in ("stop", "end"):
                if len(self.open) > 1 or token.kind == "end":
                    token.refuse(f"{token.shown} inside a term", "the rest of the term")
                return self._member(token), self.at
            if not self._number(token):
                self._other(token)

    def _next(self, *texts: str) -> bool:
        """Return True if these tokens follow; `0` stands for a number."""
        for at, text in enumerate(texts, self.at):
            one = self.tokens[min(at, len(self.tokens) - 1)]
            if one.kind != "number" if text == "0" else one.text != text:
                return False
        return True

    def _number(self, token: RocqToken) -> bool:
        """Read a number in any of its forms; return False if there is none."""
        if token.kind != "number" and token.text != "(":
            return False
        negative = self._next("(", "-")
        skip = 1 + negative
        digits = self.at + skip if token.text == "(" else self.at
        if token.kind == "number":
            whole = 3 if self._next("0", "%", "Z") else 1
            self._add("integer" if whole == 3 else "natural", whole, _value(token))
        elif self._next(*("(", "-")[:skip], "0", "#", "0", ")"):
            below = _value(self.tokens[digits + 2])
            if not below:
                self.tokens[digits + 2].refuse("a denominator of 0", "a positive number")
            ratio = Fraction(_value(self.tokens[digits]), below)
            self._add("ratio", skip + 4, -ratio if negative else ratio)
        elif self._next(*("(", "-")[:skip], "0", ")", "%", "Z"):
            value = _value(self.tokens[digits])
            self._add("integer", skip + 4, -value if negative else value)
        else:
            return False
        return True

    def _add(self, kind: TreeKind, tokens: int, value: str | int | Fraction) -> None:
        start, end = self.tokens[self.at].start, self.tokens[self.at + tokens - 1].end
        self.open[-1].present.append(RocqTree(kind, start, end, value))
        self.at += tokens

    def _other(self, token: RocqToken) -> None:
        bracket = self.open[-1].bracket
        if token.kind == "name":
            self._add("name", 1, token.text)
            return
        if token.text in ("(", "["):
            self.open.append(_Open(token, [], []))
        elif bracket is not None and token.text == {"(": ",", "[": ";"}[bracket.text]:
            self.open[-1].members.append(self._member(token))
            self.open[-1].present = []
        elif bracket is not None and token.text == {"(": ")", "[": "]"}[bracket.text]:
            self._close(bracket, token)
        else:
            token.refuse(f"{token.shown} has no meaning here", "a constructor, a number, a list or a tuple")
        self.at += 1

    def _member(self, after: RocqToken) -> RocqTree:
        """Return the member that ends before a token."""
        present = self.open[-1].present
        if not present:
            after.refuse(f"nothing before {after.shown}", "a term")
        head, *rest = present
        if not rest:
            return head
        if head.kind != "name":
            head.refuse("only a constructor has arguments", "a constructor")
        return RocqTree("application", head.start, rest[-1].end, head.value, tuple(rest))

    def _close(self, bracket: RocqToken, token: RocqToken) -> None:
        """Close a bracket, and add its content to the bracket around it."""
        inner = self.open[-1]
        empty = bracket.text == "[" and not inner.members and not inner.present
        members = [] if empty else [*inner.members, self._member(token)]
        self.open.pop()
        place = bracket.start, token.end
        if bracket.text == "[":
            found = RocqTree("list", *place, parts=tuple(members))
        elif inner.members:
            found = RocqTree("tuple", *place, parts=tuple(members))
        else:
            found = members[0]
        self.open[-1].present.append(found)


def _value(token: RocqToken) -> int:
    if len(token.text) > MOST_DIGITS:
        token.refuse(f"a number of {len(token.text):,} digits", f"at most {MOST_DIGITS:,} digits")
    if token.text != "0" and token.text.startswith("0"):
        token.refuse("a number that begins with 0", "decimal digits")
    return int(token.text)
