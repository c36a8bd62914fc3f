"""The syntax and sorts of `pred` conditions: from the text to a program for a stack machine.

The language is described in predicate.py, which runs the programs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from hardsim.errors import Source, SourceError, Span

MAX_VALUE = 10**18
"""The largest absolute value of an integer, written or computed."""
MAX_NESTING = 200
"""Brackets, signs, `not` and right sides of `**` inside each other."""
WORD_OPERATORS: Final = frozenset({"and", "or", "not", "div", "mod"})
"""Words that cannot be the names of arguments."""

_Sort: TypeAlias = Literal["number", "condition"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?)|(?P<word>[^\W\d]\w*)|(?P<sign>\*\*|[<>=!]=|[-+*<>=()≤≥≠])|(?P<other>\S))"
)
_SPELLINGS: Final[Mapping[str, str]] = {"=": "==", "≤": "<=", "≥": ">=", "≠": "!="}
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER = range(1, 9)
_LEVEL: Final[Mapping[str, int]] = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARE),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "div", "mod"), _PRODUCT),
    "**": _POWER,
}
_HINTS: Final[Mapping[str, str]] = {
    "/": "integer division, rounded down, is written div",
    "%": "the remainder is written mod",
    "^": "a power is written **",
    "&": "and is written and",
    "|": "or is written or",
    "!": "not is written not",
    "~": "not is written not",
    "¬": "not is written not",
    "∧": "and is written and",
    "∨": "or is written or",
    "×": "a product is written *",
    "·": "a product is written *",
    "−": "minus is written -",
    "[": "brackets are round: ( )",
    "]": "brackets are round: ( )",
    "#": "a condition has no counts: apply the predicate to one, as in NAME(#L[a])",
    ",": "a condition has no calls and no other predicates",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program: push a constant or an argument, jump (`and`, `or`), or apply an operator to the top.

    `operand` is the constant, the index of the argument, or the step to jump to.
    """

    op: str
    span: Span
    operand: int = 0


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class _Part:
    """What has been read of a condition: `op` is the operator at its top, unless it is an atom or in brackets."""

    sort: _Sort
    whole: Span
    op: _Token | None = None


def read_condition(source: Source, start: int, text: str, arguments: tuple[str, ...]) -> tuple[Step, ...]:
    """The program of a condition.

    Args:
        source: what errors cite.
        start: the place of `text` in the source.
        text: the condition; comments in it are blank.
        arguments: the names that it may use.

    Raises:
        SourceError: with the place of the first mistake in the source.
    """
    return _Reader(source, start, text, arguments).run()


@dataclass(frozen=True, slots=True)
class _Pending:
    """An operator, sign or bracket that still waits for what is right of it; `jump` is the step of an `and`, `or`."""

    token: _Token
    kind: Literal["infix", "prefix", "bracket"]
    level: int
    jump: int = 0

    @property
    def nests(self) -> bool:
        """Whether it can stand inside another of its kind without end."""
        return self.kind != "infix" or self.level == _POWER


class _Reader:
    """Operator precedence with a stack instead of recursion; the last token is `end`.

    The steps of the program are in the order of evaluation, so there is no tree. `parts` are the operands so far
    that no operator has taken, `pending` what stands between and before them.
    """

    def __init__(self, source: Source, start: int, text: str, arguments: tuple[str, ...]) -> None:
        self.source = source
        self.start = start
        self.text = text
        self.arguments = arguments
        self.operand = f"an integer, {' or '.join(arguments)}, or an opening bracket"
        self.program: list[Step] = []
        self.parts: list[_Part] = []
        self.pending: list[_Pending] = []
        self.nesting = 0

    def run(self) -> tuple[Step, ...]:
        tokens = self._tokens()
        if len(tokens) == 1:
            raise self._error(tokens[0].span, "the condition is empty", self.operand)
        before: _Token | None = None
        complete = False
        for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
            if not complete:
                complete = self._begin(token, before, after)
            elif token.text == ")":
                self._close(token)
            elif token.kind == "sign" and token.text in _LEVEL:
                self._infix(token)
                complete = False
            elif token.kind != "end":
                raise self._operator_missing(token, before)
            before = token
        self._reduce(_OR)
        if self.pending:
            raise self._error(self.pending[-1].token.span, "this bracket is never closed: (", ") further on")
        self._need(self.parts[0], "condition")
        return tuple(self.program)

    def _error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.source, span, message, expected, hint)

    # ---- tokens ----

    def _tokens(self) -> list[_Token]:
        tokens = []
        for match in _TOKEN.finditer(self.text):
            kind = match.lastgroup or "other"
            text = match[kind]
            span = Span(self.start + match.start(kind), self.start + match.end(kind))
            if kind == "other":
                shown = text if text.isprintable() else f"U+{ord(text):04X}"
                hint = _HINTS.get(text, "")
                raise self._error(span, f"unknown operator {shown}", "an operator or an operand", hint)
            if kind == "word" and text in WORD_OPERATORS:
                kind = "sign"
            tokens.append(_Token(kind, _SPELLINGS.get(text, text), span))
        end = self.start + len(self.text.rstrip())
        return [*tokens, _Token("end", "", Span(end, end + 1))]

    def _written(self, span: Span) -> str:
        """The text of a place as the user wrote it, in one line and not too long."""
        text = " ".join(self.text[span.start - self.start : span.end - self.start].split())
        return text if len(text) <= 40 else f"{text[:37]}..."

    # ---- expressions ----

    def _begin(self, token: _Token, before: _Token | None, after: _Token) -> bool:
        """Take a token where an operand is expected; whether it is a whole one."""
        if token.kind == "number":
            self.program.append(Step("constant", token.span, self._integer(token)))
        elif token.kind == "word":
            if token.text not in self.arguments:
                raise self._unknown(token, after)
            self.program.append(Step("argument", token.span, self.arguments.index(token.text)))
        elif token.text == "(":
            self._push(_Pending(token, "bracket", 0))
            return False
        elif token.text in ("-", "+", "not"):
            self._push(_Pending(token, "prefix", _NOT if token.text == "not" else _SIGN))
            return False
        else:
            raise self._operand_missing(token, before)
        self.parts.append(_Part("number", token.span))
        return True

    def _infix(self, token: _Token) -> None:
        own = _LEVEL[token.text]
        self._reduce(own + 1 if own == _POWER else own)
        left = self.parts[-1]
        if own == _COMPARE and left.op is not None and _LEVEL.get(left.op.text) == _COMPARE:
            hint = "join two comparisons with and, as in 1 < i and i < n"
            raise self._error(token.span, "comparisons do not chain", "and, or, or the end", hint)
        self._need(left, "condition" if own <= _AND else "number")
        self._push(_Pending(token, "infix", own, jump=len(self.program)))
        if own <= _AND:
            self.program.append(Step(token.text, token.span))  # the place to jump to is not known yet

    def _close(self, token: _Token) -> None:
        self._reduce(_OR)
        if not self.pending:
            raise self._error(token.span, "this bracket closes nothing: )", "an operator or the end")
        opening = self._pop()
        part = self.parts.pop()
        self.parts.append(_Part(part.sort, Span(opening.token.span.start, token.span.end)))

    def _push(self, pending: _Pending) -> None:
        self.nesting += pending.nests
        if self.nesting > MAX_NESTING:
            hint = "leave out brackets and signs that are not needed"
            raise self._error(pending.token.span, f"nesting beyond {MAX_NESTING} levels", hint=hint)
        self.pending.append(pending)

    def _pop(self) -> _Pending:
        pending = self.pending.pop()
        self.nesting -= pending.nests
        return pending

    def _reduce(self, level: int) -> None:
        """Apply the pending operators, back to the last open bracket, that bind at least as tightly as `level`."""
        while self.pending and self.pending[-1].kind != "bracket" and self.pending[-1].level >= level:
            pending = self._pop()
            right = self.parts.pop()
            self.parts.append(self._applied(pending, right))

    def _applied(self, pending: _Pending, right: _Part) -> _Part:
        token = pending.token
        logical = pending.level <= _NOT
        self._need(right, "condition" if logical else "number")
        if pending.kind == "prefix":
            if token.text != "+":
                self.program.append(Step("not" if logical else "negate", token.span))
            return _Part(right.sort, Span(token.span.start, right.whole.end))
        left = self.parts.pop()
        if logical:
            self.program[pending.jump] = Step(token.text, token.span, len(self.program))
        else:
            self._check_mod(left, token, right)
            self.program.append(Step(token.text, token.span))
        sort: _Sort = "condition" if pending.level <= _COMPARE else "number"
        return _Part(sort, Span(left.whole.start, right.whole.end), token)

    def _check_mod(self, left: _Part, token: _Token, right: _Part) -> None:
        """In formulas `mod` binds less tightly than `+ - *`: no condition may mean something else there."""
        op = token.text
        if op in ("+", "-", "*", "div") and left.op is not None and left.op.text == "mod":
            raise self._mixed(left.op, op, f"(i mod m) {op} k or i mod (m {op} k)")
        if op in ("+", "-") and right.op is not None and right.op.text == "mod":
            raise self._mixed(right.op, op, f"i {op} (k mod m) or (i {op} k) mod m")

    def _mixed(self, mod: _Token, op: str, ways: str) -> SourceError:
        return self._error(mod.span, f"mod beside {op} without brackets", "brackets", f"write {ways}")

    # ---- mistakes ----

    def _need(self, part: _Part, sort: _Sort) -> None:
        if part.sort == sort:
            return
        hint = "compare it with something, as in i mod 2 == 0" if sort == "condition" else ""
        if sort == "condition" and re.compile(r"[^\S\n]+//").match(self.source.text, part.whole.end):
            hint = "// begins a comment; integer division is written div"
        message = f"{self._written(part.whole)} is a {part.sort}, and a {sort} is needed here"
        raise self._error(part.whole, message, f"a {sort}", hint)

    def _integer(self, token: _Token) -> int:
        if "." in token.text:
            raise self._error(token.span, "not an integer", "an integer", "multiply both sides of the comparison")
        digits = token.text.lstrip("0") or "0"
        if len(digits) > len(str(MAX_VALUE)) or int(digits) > MAX_VALUE:
            raise self._error(token.span, "a number larger than 10^18", "a smaller integer")
        return int(digits)

    def _operand_missing(self, token: _Token, before: _Token | None) -> SourceError:
        if before is None:
            return self._error(token.span, f"missing operand before {self._written(token.span)}", self.operand)
        if before.text == "(" and token.text == ")":
            return self._error(token.span, "nothing between the brackets", self.operand)
        return self._error(token.span, f"missing operand after {self._written(before.span)}", self.operand)

    def _unknown(self, token: _Token, after: _Token) -> SourceError:
        names = [*WORD_OPERATORS, *self.arguments]
        meant = next((name for name in sorted(names) if name.casefold() == token.text.casefold()), "")
        hint = f"did you mean {meant}?" if meant else ""
        if after.text == "(":
            hint = "a condition has no calls and no other predicates"
        return self._error(token.span, f"unknown name {token.text!r}", self.operand, hint)

    def _operator_missing(self, token: _Token, before: _Token | None) -> SourceError:
        shown = self._written(token.span)
        touches = before is not None and before.span.end == token.span.start
        hint = f"a product is written *: {self._written(before.span)}*{shown}" if before and touches else ""
        return self._error(token.span, f"missing operator before {shown}", "an operator or the end", hint)
