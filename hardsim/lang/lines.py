"""From tokens to canonical lines: which brackets to remove, where to put spaces, and where to fold a line that is
too long.

Some brackets stay although the grammar does not need them, because a reader might misread the text without them:
between two different logical or temporal operators, as in `(a & b) | c`, around a comparison after a prefix operator,
as in `!(i = j)`, and around a sum beside `mod`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from hardsim.errors import Source, Span
from hardsim.lang.lexer import CLOSING, Lexeme
from hardsim.lang.vocabulary import WORD
from hardsim.lazy_dataclass import dataclass

WIDTH = 100
"""Greatest width of a line, in columns; longer formulas, right-hand sides and lines of examples are folded."""
INDENT = 2
"""Columns by which a continuation line is indented, and again for each bracket that is open there."""
_DEEPEST = 20
"""Greatest number of brackets that indent a line; more would leave no room for its content."""

# Binding strengths, loosest first, by terminal; `!` and unary temporal operators bind as _PREFIX, signs as
# _SIGNED. Operands (_OPERANDS) bind tightest. Brackets around any other token stay.
_LOOSEST, _PREFIX, _COMPARE, _SUM, _SIGNED, _ATOM = 0, 6, 7, 9, 11, 12
_INFIX = {
    "CONDITIONAL": _LOOSEST,
    "COLON": _LOOSEST,
    "ARROW": 1,
    "OR": 2,
    "XOR": 3,
    "AND": 4,
    "BINARY": 5,
    "COMPARE": _COMPARE,
    "MEMBER": _COMPARE,
    "MODULO": 8,
    "SIGN": _SUM,
    "STAR": 10,
    "SLASH": 10,
}
_LOGICAL = range(1, _PREFIX)
_PREFIXES = frozenset({"UNARY", "NOT"})
_FLAT, _LEFT = ("OR", "XOR", "AND"), ("SIGN", "STAR", "SLASH")
"""Operators whose chains are one node (`_FLAT`), and operators that group to the left (`_LEFT`)."""
_CHAINED = "<->"
"""The operator that groups to the right without brackets; chains of `->` and `U` are syntax errors."""
_NAMES = frozenset({"WORD", "PREDICATE", "SYMBOL", "EXTREME"})
_OPERANDS = _NAMES | {"NUMBER", "FRACTION", "QUOTED", "CONSTANT", "TRUTH"}
_WHOLE = frozenset({"ATTENTION", "PSUM", "COUNT_J", "MEAN_J"})
"""Tokens that begin a right-hand side of its own kind."""
_CLOSERS = frozenset({"RPAR", "RSQB", "RBRACE"})
_OPENERS = frozenset(CLOSING)
_EVENT = re.compile(r"\n|//[^\n]*")

Binding: TypeAlias = tuple[int, bool] | None
"""The binding strength of an operator, and True if it is between its operands; None for a token that is no
operator."""


@dataclass(frozen=True, slots=True)
class Spelt:
    """A token, its canonical text, and how it binds."""

    token: Lexeme
    text: str
    binding: Binding


@dataclass(frozen=True, slots=True)
class Style:
    """The rules for printing a language. `spelling` returns the canonical text of a token, given the token and its
    original text. `spaced` returns True if a space separates two adjacent tokens; its other arguments are the terminal
    of the innermost open bracket ("": none) and whether there was white space. `brackets`: remove unneeded brackets;
    `folds`: fold long lines."""

    spelling: Callable[[Lexeme, str], str]
    spaced: Callable[[Spelt, Spelt, str, bool], bool]
    brackets: bool = True
    folds: bool = True


@dataclass(frozen=True, slots=True)
class Piece:
    """A token to print: its text, the number of open brackets around it, the comments and line ends before it (`gap`),
    and whether a space precedes it. `infix` is its binding strength if a line may be folded before it, else None."""

    text: str
    depth: int
    gap: tuple[str, ...]
    spaced: bool
    infix: int | None = None


def printed(source: Source, region: Span, tokens: Sequence[Lexeme], style: Style, head: str = "") -> list[str]:
    """Return the canonical lines for the tokens of a region and the comments between them, after the text `head`
    (maybe "")."""
    return list(_lines(head, _pieces(source, region, tokens, style)))


# ---- brackets ----


@dataclass
class _Group:
    """An open bracket (`opening`: its index among the tokens, -1 for the whole text), with the loosest operators
    seen inside it but outside inner brackets. Only `grouping` brackets may be removed."""

    opening: int
    grouping: bool
    level: int = _ATOM
    operators: set[str] = field(default_factory=set)
    """The operators of the loosest level seen."""

    def meet(self, level: int, operators: set[str]) -> None:
        """Record operators of a level; only those of the loosest level so far are kept."""
        if level < self.level:
            self.level, self.operators = level, set()
        if level == self.level:
            self.operators |= operators


def _bindings(tokens: Sequence[Lexeme]) -> list[Binding]:
    """Return the bindings of all tokens. A sign is between operands if an operand ends before it."""
    found = list[Binding]()
    opened = list[int]()
    ended = False
    for index, token in enumerate(tokens):
        sign = token.kind == "SIGN" and not ended
        infix = (_INFIX[token.kind], True) if token.kind in _INFIX else None
        found.append((_SIGNED, False) if sign else (_PREFIX, False) if token.kind in _PREFIXES else infix)
        ended = token.kind in _OPERANDS or token.kind in _CLOSERS
        if token.kind in _OPENERS:
            opened.append(index)
        elif token.kind in _CLOSERS:
            ended = not _is_form(tokens, opened.pop())
    return found


def _is_form(tokens: Sequence[Lexeme], opening: int) -> bool:
    """Return True if a bracket encloses the arguments (mask, score) of attention, psum, count_j or mean_j."""
    return opening > 0 and tokens[opening - 1].kind in _WHOLE


def unneeded(tokens: Sequence[Lexeme], bindings: Sequence[Binding]) -> set[int]:
    """Return the indices of the round brackets whose removal leaves the tree unchanged."""
    gone: set[int] = set()
    groups = [_Group(-1, False)]
    forms: set[int] = set()
    """Indices of the square brackets that end the arguments of attention, psum, count_j and mean_j."""
    for index, token in enumerate(tokens):
        before = tokens[index - 1].kind if index else ""
        if token.kind in _OPENERS:
            groups.append(_Group(index, token.kind == "LPAR" and before not in _NAMES))
        elif token.kind in _CLOSERS:
            group = groups.pop()
            if _is_form(tokens, group.opening):
                forms.add(index)
            if group.grouping and _can_go(tokens, bindings, group, index, forms):
                gone |= {group.opening, index}
                groups[-1].meet(group.level, group.operators)
        elif binding := bindings[index]:
            groups[-1].meet(binding[0], {token.value})
        # a token such as `[` or `{` that is no operator here: level -1 keeps the brackets around it
        elif token.kind not in _OPERANDS and token.kind != "COMMA":
            groups[-1].meet(-1, {token.value})
    return gone


def _can_go(
    tokens: Sequence[Lexeme], bindings: Sequence[Binding], group: _Group, closing: int, forms: set[int]
) -> bool:
    """Return True if a pair of brackets can be removed, judging by the tokens before and after it."""
    level, left, right = group.level, group.opening - 1, closing + 1
    after = bindings[right] if right < len(tokens) else None
    if level < 0 or (right < len(tokens) and after is None and tokens[right].kind not in {*_CLOSERS, "COMMA"}):
        return False
    if after is not None:
        kind, bound = tokens[right].kind, after[0]
        if level < bound or (level == bound and kind not in (*_FLAT, *_LEFT)) or _differ(level, bound):
            return False
        if kind == "MODULO" and level < _SIGNED:
            return False
    if left < 0 or tokens[left].kind in {*_OPENERS, "COMMA"}:
        return True
    if left in forms:  # the value of attention ends at a colon, others at the end
        return level > _LOOSEST or right == len(tokens)
    before = bindings[left]
    if before is None:
        return False
    bound, infix = before
    kind = tokens[left].kind
    if not infix:
        return level >= bound and not (kind in _PREFIXES and level == _COMPARE)
    if level != bound:
        return level > bound and not _differ(level, bound) and not (kind == "MODULO" and level < _SIGNED)
    chained = tokens[left].value == _CHAINED and group.operators == {_CHAINED} and (after is None or after[0] != level)
    return kind in _FLAT or chained or (kind == "COLON" and after is None)


def _differ(level: int, other: int) -> bool:
    """Return True if two levels are different levels of logical or temporal operators."""
    return level != other and level in _LOGICAL and other in _LOGICAL


# ---- spaces ----


def spaced(first: Spelt, second: Spelt, _inside: str = "", _blank: bool = False) -> bool:
    """Return True if a space separates two adjacent tokens in a formula or a program."""
    before, after = first.token.kind, second.token.kind
    if after == "LPAR" and before in _NAMES:  # a call
        return False
    if "LBRACE" in (before, after) or after == "RBRACE":
        return True
    if before in _OPENERS or after in {"RPAR", "RSQB", "COMMA", "LSQB"}:
        return False
    if first.binding and not first.binding[1]:  # `!a`, `-1`, `H(a)`, but `H a`
        return WORD.search(first.text) is not None and after != "LPAR"
    return True


def _pieces(source: Source, region: Span, tokens: Sequence[Lexeme], style: Style) -> list[Piece]:
    """Return the tokens of a region that are printed, and a last empty piece with the comments after them."""
    bindings = _bindings(tokens)
    gone = unneeded(tokens, bindings) if style.brackets else set[int]()
    found, gap, opened = list[Piece](), list[str](), list[str]()
    at, previous = region.start, None
    for index, token in enumerate(tokens):
        gap += _EVENT.findall(source.text, at, token.span.start)
        at = token.span.end
        if index in gone:
            continue
        closes = token.kind in _CLOSERS
        binding = bindings[index]
        shown = Spelt(token, style.spelling(token, source.text[token.span.start : token.span.end]), binding)
        inside = opened[-1] if opened else ""
        blank = previous is not None and previous.token.span.end < token.span.start
        infix = binding[0] if binding and binding[1] else None
        if previous is not None and previous.token.kind == "COMMA":
            infix = _ATOM
        apart = previous is None or style.spaced(previous, shown, inside, blank)
        found.append(Piece(shown.text, len(opened) - closes, tuple(gap), apart, infix if style.folds else None))
        if closes:
            opened.pop()
        elif token.kind in _OPENERS:
            opened.append(token.kind)
        gap, previous = [], shown
    gap += _EVENT.findall(source.text, at, region.end)
    return [*found, Piece("", 0, tuple(gap), False)]


# ---- lines ----


def _lines(head: str, pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield the lines of a text that may have several, after the text `head` (maybe ""); the last of `pieces` is
    empty."""
    line = [Piece(head, 0, (), False)] if head else []
    first = True  # the first line, and with it all that stands before a formula, is not indented
    for piece in pieces:
        comment, between, ends = _broken(piece.gap)
        if line and (ends or not piece.text):
            yield from _folded(line, first, comment)
            line, first = [], False
        elif comment:
            between = [comment, *between]
        margin = "" if first or not piece.text else _margin(piece)
        yield from ((margin + text).rstrip() for text in between)
        line.append(piece)


def _broken(gap: Sequence[str]) -> tuple[str, list[str], bool]:
    """Split the gap between two tokens: the comment on the first token's line, the lines of comments after it (and an
    empty line where there were any), and whether a line ends in the gap."""
    after, between, ends = "", list[str](), 0
    for event in gap:
        if event == "\n":
            ends += 1
            continue
        if not ends and not between:
            after = event.rstrip()
            continue
        between += [""] * (ends > 1) + [event.rstrip()]
        ends = 0
    return after, between + [""] * (ends > 1), "\n" in gap


def _margin(piece: Piece) -> str:
    return " " * (INDENT * (1 + min(piece.depth, _DEEPEST)))


def _folded(line: Sequence[Piece], first: bool, comment: str) -> Iterator[str]:
    """Yield a line, divided if it is too long: the new lines begin with the loosest operators, and there are as few as
    possible."""
    begin, margin = 0, "" if first else _margin(line[0])
    while (end := _fold(line, begin, margin)) is not None:
        yield margin + _joined(line[begin:end])
        begin, margin = end, _margin(line[end])
    yield margin + _joined(line[begin:]) + (f"  {comment}" if comment else "")


def _fold(line: Sequence[Piece], begin: int, margin: str) -> int | None:
    """Return the index before which to fold the line that begins at index `begin`; None if it fits or cannot be
    folded."""
    width, best = len(margin) + len(line[begin].text), None
    for index in range(begin + 1, len(line)):
        piece = line[index]
        if piece.infix is not None and (width <= WIDTH or best is None):
            # fold at the outermost, then loosest, then last operator that still fits
            best = index if best is None else min(best, index, key=lambda k: (line[k].depth, line[k].infix, -k))
        width += piece.spaced + len(piece.text)
        if width > WIDTH and best is not None:
            return best
    return None


def _joined(pieces: Sequence[Piece]) -> str:
    return "".join(" " * (piece.spaced and index > 0) + piece.text for index, piece in enumerate(pieces))
