"""One expression of a file: from its region of the text to a formula or term, with the errors of its syntax."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.errors import SourceError, Span
from hardsim.lang import ast
from hardsim.lang.lexer import tokenize
from hardsim.lang.nesting import check_brackets, check_depth
from hardsim.lang.raw import Lexeme, MisreadError, Raw
from hardsim.lang.scope import Definition, Scope
from hardsim.lang.sorts import Sorter, sort_of
from hardsim.lang.vocabulary import quoted

_OPERAND = "a symbol, a name, a constant, a unary operator, a count or an opening bracket"
_ENDS_OPERAND = frozenset({"WORD", "NUMBER", "QUOTED", "CONSTANT", "PREDICATE", "RPAR", "RSQB"})
_STARTS_OPERAND = frozenset({"WORD", "NUMBER", "QUOTED", "CONSTANT", "PREDICATE", "LPAR", "COUNT", "UNARY"})
_TERM_OPERATORS = frozenset({"COMPARE", "MODULO", "SIGN", "STAR"})


def read_formula(scope: Scope, region: Span) -> ast.Formula:
    """The formula in a region of the text. Raises SourceError."""
    raw = _read(scope, region, whole_file=True)
    check_depth(scope.source, raw, scope.depths)
    return Sorter(scope).formula(raw)


def read_definition(scope: Scope, region: Span) -> tuple[ast.Node, Definition]:
    """The body of a `let`, and what the rest of the file must know about it. Raises SourceError."""
    raw = _read(scope, region)
    depth = check_depth(scope.source, raw, scope.depths)
    if sort_of(raw, scope) == "term":
        term, constant = Sorter(scope).term(raw)
        return term, Definition("term", depth, constant)
    return Sorter(scope).formula(raw), Definition("formula", depth, None, digit=raw.kind == "number")


def _read(scope: Scope, region: Span, whole_file: bool = False) -> Raw:
    """`whole_file`: the region is all that is left of the file, so that another operand is a second formula."""
    # lark is imported on the first expression only: importing hardsim stays cheap
    from hardsim.lang.grammar import build
    from hardsim.lang.trees import MisfitError

    tokens = tokenize(scope.source, region, scope.symbols)
    check_brackets(scope.source, tokens, scope.alphabet)
    try:
        return build(tokens)
    except MisreadError as error:
        raise SourceError(scope.source, error.span, error.message, error.expected, error.hint) from None
    except MisfitError as error:
        raise _Mistake(scope, tokens, error.index, region, whole_file).error() from None


class _Mistake:
    """Explains why the token of an index does not fit after the ones before it."""

    def __init__(self, scope: Scope, tokens: Sequence[Lexeme], index: int, region: Span, whole_file: bool) -> None:
        self.scope = scope
        self.before = tokens[index - 1] if index > 0 else None
        self.token = tokens[index] if index < len(tokens) else None
        self.region = region
        self.whole_file = whole_file

    def _text(self, token: Lexeme) -> str:
        return self.scope.source.text[token.span.start : token.span.end]

    def error(self) -> SourceError:
        if self.before is not None and self.token is not None and self.before.kind in _ENDS_OPERAND:
            return self._operator_missing(self.before, self.token)
        return self._operand_missing()

    def _make(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.scope.source, span, message, expected, hint or self._reserved_hint())

    def _reserved_hint(self) -> str:
        """A reserved word (or sign) next to the mistake may have been meant as a symbol of the alphabet."""
        for token in (self.token, self.before):
            if token is None or token.kind in ("QUOTED", "WORD", "NUMBER"):
                continue
            text = self._text(token)
            if text in self.scope.symbols:
                return f"the symbol {text} is written {quoted(text)}"
        return ""

    def _operand_missing(self) -> SourceError:
        before, token = self.before, self.token
        if token is None:
            place = before.span.end if before else self.region.start
            message = f"missing operand after {self._text(before)}" if before else "missing formula"
            return self._make(Span(place, place + 1), message, _OPERAND)
        if before is not None and before.kind in _TERM_OPERATORS and token.kind == "UNARY":
            message = f"{self._text(token)} makes a formula, and a number is needed after {self._text(before)}"
            return self._make(token.span, message, "a number")
        if before is not None and token.kind in ("RPAR", "RSQB"):
            empty = before.kind in ("LPAR", "COUNT")
            message = "nothing between the brackets" if empty else f"missing operand after {self._text(before)}"
            return self._make(token.span, message, _OPERAND)
        hint = "unequal is written !=" if self._text(token) == "<>" else ""
        return self._make(token.span, f"missing operand before {self._text(token)}", _OPERAND, hint)

    def _operator_missing(self, before: Lexeme, token: Lexeme) -> SourceError:
        if before.kind == "WORD" and not self.scope.knows(before.value, before.span):
            return self.scope.unknown(before.value, before.span)
        shown = self._text(token)
        if token.kind == "COMMA":
            return self._make(token.span, "a comma separates the arguments of a predicate only", "an operator")
        if self._text(token) == "<>":
            hint = "<> is eventually (F); unequal is written !="
            return self._make(token.span, f"missing operator before {shown}", "an operator", hint)
        if token.kind in _STARTS_OPERAND and self._begins_anew(token):
            hint = "a file has one formula: join the two with & or |, or name the first with let"
            return self._make(token.span, "a second formula begins here", "an operator or the end of the file", hint)
        if token.kind == "WORD" and not self.scope.knows(token.value, token.span):
            return self._make(token.span, f"unknown operator {shown}", "an operator", self.scope.hint(token.value))
        return self._make(token.span, f"missing operator before {shown}", "an operator or the end of the formula")

    def _begins_anew(self, token: Lexeme) -> bool:
        """Whether a token begins a line after the formula, indented no more than the formula itself."""
        if not self.whole_file:
            return False
        text = self.scope.source.text
        start = text.rfind("\n", 0, token.span.start) + 1
        indent = self.region.start - text.rfind("\n", 0, self.region.start) - 1
        before = text[start : token.span.start]
        return start > self.region.start and not before.strip() and len(before) <= indent
