"""The `rel` lines of a program."""

from __future__ import annotations

from hardsim.errors import SourceError, Span
from hardsim.lang.raw import Lexeme
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.layout import Named
from hardsim.lang.srasp.lexer import tokenize
from hardsim.lang.srasp.scope import Scope

_FORM = "{ 'a' 'b', 'c' 'd' }"


def read_relation(scope: Scope, line: Named) -> ast.Relation:
    """The relation of a `rel` line. Raises SourceError for its syntax, foreign symbols and tuples that do not fit."""
    tokens = tokenize(scope.source, line.body, scope.symbols)
    groups = _groups(scope, line, tokens)
    tuples: list[tuple[str, ...]] = []
    for group in groups:
        values = tuple(scope.symbol(token.value, token.span) for token in group)
        place = Span(group[0].span.start, group[-1].span.end)
        if tuples and len(values) != len(tuples[0]):
            message = f"a tuple of {len(values)}, where the first has {len(tuples[0])}"
            hint = "all tuples of a relation have as many symbols; commas stand between tuples only"
            raise SourceError(scope.source, place, message, f"{len(tuples[0])} quoted symbols", hint)
        if values in tuples:
            raise SourceError(scope.source, place, "this tuple stands twice in the relation", "each tuple once")
        tuples.append(values)
    return ast.Relation(line.name, tuple(tuples), span=line.at)


def _groups(scope: Scope, line: Named, tokens: list[Lexeme]) -> list[list[Lexeme]]:
    """The tokens of the tuples, one or more tokens each."""

    def fail(token: Lexeme | None, message: str, expected: str, hint: str = "") -> SourceError:
        end = tokens[-1].span.end if tokens else line.body.start
        span = Span(end, end + 1) if token is None else token.span
        return SourceError(scope.source, span, message, expected, hint)

    if not tokens or tokens[0].kind != "LBRACE":
        raise fail(tokens[0] if tokens else None, f"{line.name} has no set of tuples", _FORM)
    groups: list[list[Lexeme]] = [[]]
    for index, token in enumerate(tokens[1:], start=1):
        if token.kind == "QUOTED":
            groups[-1].append(token)
            continue
        if token.kind not in ("COMMA", "RBRACE"):
            shown = scope.source.text[token.span.start : token.span.end]
            hint = f"the symbol {shown} is written '{shown}'" if shown in scope.symbols else ""
            raise fail(token, f"{shown} is no quoted symbol", "a quoted symbol, a comma or }", hint)
        if not groups[-1]:
            message = "an empty tuple" if len(groups) > 1 or token.kind == "COMMA" else "an empty relation"
            raise fail(token, message, "quoted symbols", "it would always be false")
        if token.kind == "COMMA":
            groups.append([])
        elif index + 1 < len(tokens):
            raise fail(tokens[index + 1], "the relation ends before this", "the end of the line")
        else:
            return groups
    raise fail(None, "this relation is never closed", "}")
