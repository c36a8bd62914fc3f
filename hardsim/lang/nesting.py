"""Limits on nesting, checked without recursion: everything after this may walk trees recursively."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.raw import Lexeme, Raw

MAX_LEVELS = 200
"""Operators on a path from the root to a leaf after expanding `let`; and, separately, brackets inside each other.

A chain of `&`, `|` or `^` is one level; a chain of any other operator has a level for each of its operators.
"""

_HINT = "a chain of &, | or ^ is one level; the levels of a definition count where its name is used"


def check_brackets(source: Source, tokens: Sequence[Lexeme], symbols: Sequence[str]) -> None:
    """Refuse brackets that do not match, and more than MAX_LEVELS inside each other."""
    opened: list[Lexeme] = []
    for token in tokens:
        if token.kind in ("LPAR", "COUNT"):
            opened.append(token)
            if len(opened) > MAX_LEVELS:
                message = f"brackets nested beyond {MAX_LEVELS} levels"
                raise SourceError(source, token.span, message, hint="leave out brackets that are not needed")
        elif token.kind in ("RPAR", "RSQB"):
            if not opened:
                message = f"this bracket closes nothing: {token.value}"
                raise SourceError(source, token.span, message, "an operator or the end", _quote_hint(token, symbols))
            opening = opened.pop()
            wanted = ")" if opening.kind == "LPAR" else "]"
            if token.value != wanted:
                shown = source.text[opening.span.start : opening.span.end]
                message = f"{token.value} does not close {shown}"
                raise SourceError(source, token.span, message, f"{wanted}", _quote_hint(token, symbols))
    if opened:
        opening = opened[-1]
        shown = source.text[opening.span.start : opening.span.end]
        wanted = ")" if opening.kind == "LPAR" else "]"
        message = f"this bracket is never closed: {shown}"
        raise SourceError(source, opening.span, message, f"{wanted} further on", _quote_hint(opening, symbols))


def _quote_hint(token: Lexeme, symbols: Sequence[str]) -> str:
    return f"the symbol {token.value} is written '{token.value}'" if token.value in symbols else ""


def check_depth(source: Source, root: Raw, known: Mapping[str, int]) -> int:
    """The depth of a tree after expansion, where `known` has the depth of every earlier `let`.

    Raises SourceError, with the caret at the operator or the name that is one level too many, beyond MAX_LEVELS.
    """
    depth: dict[int, int] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if not node.args:
            depth[id(node)] = known.get(node.text, 0) if node.kind == "word" else 0
        elif ready:
            depth[id(node)] = 1 + max(depth[id(arg)] for arg in node.args)
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in node.args)
    if depth[id(root)] > MAX_LEVELS:
        raise _too_deep(source, root, depth)
    return depth[id(root)]


def _too_deep(source: Source, root: Raw, depth: Mapping[int, int]) -> SourceError:
    node, above = root, 0
    while node.args and above < MAX_LEVELS:
        above += 1
        # the first operand in reading order that reaches too deep
        node = next(arg for arg in node.args if above + depth[id(arg)] > MAX_LEVELS)
    message = f"nesting beyond {MAX_LEVELS} levels"
    if node.kind == "word" and not node.args:
        levels = depth[id(node)]
        message += f": {node.text} has {levels} levels, and {above} more are around it"
    return SourceError(source, Span(node.at.start, node.at.end), message, hint=_HINT)
