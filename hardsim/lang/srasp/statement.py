"""One statement: from its tokens to a checked right-hand side, with the errors of its syntax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from hardsim.errors import SourceError, Span
from hardsim.lang.raw import Lexeme, MisreadError, Raw, excerpt
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.check import WITH_ARTICLE, Checker
from hardsim.lang.srasp.mistake import explain
from hardsim.lang.srasp.scope import Scope

MAX_LEVELS = 100
"""Operators on a path from the root of a right-hand side to a leaf.

A chain of `&`, `|` or `^` is one level; a chain of any other operator has a level for each of its operators. Everything
that walks expressions may therefore do so recursively.
"""

_MASKS: dict[tuple[str, str], ast.Mask] = {
    ("j", "<"): "j<i",
    ("j", "<="): "j<=i",
    ("j", ">"): "j>i",
    ("j", ">="): "j>=i",
    ("i", "<"): "j>i",
    ("i", "<="): "j>=i",
    ("i", ">"): "j<i",
    ("i", ">="): "j<=i",
}
_AT_I = frozenset({"i"})
_AT_J = frozenset({"j"})


def read_right_hand_side(scope: Scope, tokens: Sequence[Lexeme], region: Span) -> ast.RightHandSide:
    """The right-hand side that the tokens of a region of the text make. Raises SourceError."""
    # lark is imported on the first statement only: importing hardsim stays cheap
    from hardsim.lang.srasp.grammar import build
    from hardsim.lang.trees import MisfitError

    try:
        raw = build(tokens)
    except MisreadError as error:
        raise SourceError(scope.source, error.span, error.message, error.expected, error.hint) from None
    except MisfitError as error:
        raise explain(scope, tokens, error.index, region) from None
    _check_depth(scope, raw)
    if raw.kind == "attention":
        return _attention(scope, raw)
    if raw.kind == "psum":
        return _prefix_sum(scope, raw)
    checker = Checker(scope, _AT_I, "j is known in attention and psum only")
    return ast.PositionWise(checker.of(raw, checker.sort(raw) or ast.Sort.BOOL))


def _attention(scope: Scope, raw: Raw) -> ast.Attention:
    mask_raw, score_raw, value_raw, default_raw = raw.args
    mask = _mask(scope, mask_raw)
    inner = Checker(scope, _AT_I | _AT_J, "")
    score = inner.of(score_raw, ast.Sort.BOOL)
    outer = Checker(scope, _AT_I, "the default is for positions i that have no j")
    value_sort, default_sort = inner.sort(value_raw), outer.sort(default_raw)
    sort = value_sort or default_sort or ast.Sort.BOOL
    value = inner.of(value_raw, sort)
    if default_sort is not None and default_sort is not sort:
        message = f"the value is {WITH_ARTICLE[sort]} and the default {WITH_ARTICLE[default_sort]}"
        hint = ""
        if ast.Sort.SYMBOL not in (sort, default_sort):
            hint = "as a number a Boolean is written (... ? 1 : 0)"
        raise SourceError(scope.source, default_raw.whole, message, WITH_ARTICLE[sort], hint)
    side = cast(ast.Side, raw.text)
    return ast.Attention(side, mask, score, value, outer.of(default_raw, sort), span=raw.at)


def _prefix_sum(scope: Scope, raw: Raw) -> ast.PrefixSum:
    mask_raw, value_raw = raw.args
    mask = _mask(scope, mask_raw)
    if mask != "j<=i":
        hint = "for j<i subtract the value at i afterwards; totals from the right are the total minus this"
        message = f"psum adds up j<=i only, not {excerpt(scope.source, mask_raw.whole)}"
        raise SourceError(scope.source, mask_raw.whole, message, "j<=i", hint)
    checker = Checker(scope, _AT_J, "psum adds up vectors at j")
    return ast.PrefixSum(checker.number(value_raw), span=raw.at)


def _mask(scope: Scope, raw: Raw) -> ast.Mask:
    if raw.kind == "number" and raw.text == "1":
        return "1"
    sides = [arg.text for arg in raw.args if arg.kind == "word" and not arg.called]
    if raw.kind == "compare" and sorted(sides) == ["i", "j"] and (sides[0], raw.text) in _MASKS:
        return _MASKS[sides[0], raw.text]
    message = f"{excerpt(scope.source, raw.whole)} is no mask"
    hint = "other conditions on j belong to the score, after the comma"
    raise SourceError(scope.source, raw.whole, message, "1, j<i, j<=i, j>i or j>=i", hint)


def _check_depth(scope: Scope, root: Raw) -> None:
    """Refuse trees that are too deep, with the caret at the first operator that is. No recursion."""
    stack = [(root, 0)]
    while stack:
        node, above = stack.pop()
        if above > MAX_LEVELS:
            hint = "a chain of &, | or ^ is one level; give a part of it a vector of its own"
            raise SourceError(scope.source, node.at, f"nesting beyond {MAX_LEVELS} levels", hint=hint)
        stack.extend((arg, above + 1) for arg in reversed(node.args))
