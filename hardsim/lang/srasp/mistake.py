"""Why the tokens of a right-hand side are no right-hand side."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.errors import SourceError, Span
from hardsim.lang.raw import Lexeme
from hardsim.lang.srasp.scope import Scope
from hardsim.lang.vocabulary import quoted

_OPERAND = "a vector, a number, a quoted symbol, !, - or an opening bracket"
_ENDS_OPERAND = frozenset({"WORD", "SYMBOL", "NUMBER", "QUOTED", "TRUTH", "RPAR", "RBRACE"})
_STARTS_OPERAND = frozenset({"WORD", "SYMBOL", "NUMBER", "QUOTED", "TRUTH", "LPAR", "NOT"})
_CLOSING = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}
_WHOLE = frozenset({"ATTENTION", "PSUM"})
_FORM = {"ATTENTION": "{}[mask, score] value : default", "PSUM": "psum_j[j<=i] value"}


def explain(scope: Scope, tokens: Sequence[Lexeme], index: int, region: Span) -> SourceError:
    """The error for the token of an index, which does not fit after the ones before it; `len(tokens)` is the end."""
    return _bracket_error(scope, tokens) or _Mistake(scope, tokens, index, region).error()


def _bracket_error(scope: Scope, tokens: Sequence[Lexeme]) -> SourceError | None:
    """The error for brackets that do not match, if there are such."""
    opened: list[Lexeme] = []

    def quote(token: Lexeme) -> str:
        return f"the symbol {token.value} is written {quoted(token.value)}" if token.value in scope.symbols else ""

    for token in tokens:
        if token.kind in _CLOSING:
            opened.append(token)
        elif token.kind in ("RPAR", "RSQB", "RBRACE"):
            if not opened:
                message = f"this bracket closes nothing: {token.value}"
                return SourceError(scope.source, token.span, message, "an operator or the end", quote(token))
            opening = opened.pop()
            wanted = _CLOSING[opening.kind]
            if token.value != wanted:
                message = f"{token.value} does not close {opening.value}"
                return SourceError(scope.source, token.span, message, wanted, quote(token))
    if not opened:
        return None
    message = f"this bracket is never closed: {opened[-1].value}"
    expected = f"{_CLOSING[opened[-1].kind]} further on"
    return SourceError(scope.source, opened[-1].span, message, expected, quote(opened[-1]))


class _Mistake:
    def __init__(self, scope: Scope, tokens: Sequence[Lexeme], index: int, region: Span) -> None:
        self.scope = scope
        self.tokens = tokens
        self.index = index
        self.before = tokens[index - 1] if index > 0 else None
        self.token = tokens[index] if index < len(tokens) else None
        self.region = region
        self.form = self._form()

    def _form(self) -> str:
        """How the attention or psum of this statement is written; empty for other statements."""
        first = self.tokens[0] if self.tokens else None
        return _FORM[first.kind].format(first.value) if first is not None and first.kind in _WHOLE else ""

    def _shown(self, token: Lexeme) -> str:
        return self.scope.source.text[token.span.start : token.span.end]

    def _make(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.scope.source, span, message, expected, hint)

    @property
    def _inside(self) -> Lexeme | None:
        """The innermost bracket that is open before the mistake."""
        opened: list[Lexeme] = []
        for token in self.tokens[: self.index]:
            if token.kind in _CLOSING:
                opened.append(token)
            elif token.kind in ("RPAR", "RSQB", "RBRACE"):
                opened.pop()
        return opened[-1] if opened else None

    def error(self) -> SourceError:
        before, token = self.before, self.token
        if token is None:
            return self._at_end()
        if token.kind in _WHOLE and self.index > 0:
            hint = "give it a statement of its own, and use that vector here"
            what = "attention" if token.kind == "ATTENTION" else "psum"
            expected = _OPERAND if before is not None and before.kind not in _ENDS_OPERAND else "an operator"
            return self._make(token.span, f"{what} is a whole right-hand side: it cannot be nested", expected, hint)
        if before is not None and before.kind in _WHOLE:
            return self._make(token.span, f"missing [ after {self._shown(before)}", self.form)
        if before is not None and before.kind in _ENDS_OPERAND:
            return self._after_operand(before, token)
        return self._before_operand(before, token)

    def _at_end(self) -> SourceError:
        last = self.tokens[-1] if self.tokens else None
        if last is None:
            place = Span(self.region.start, self.region.start + 1)
            return self._make(place, "nothing stands after :=", f"attention, psum or {_OPERAND}")
        place = Span(last.span.end, last.span.end + 1)
        if last.kind in _WHOLE:
            return self._make(place, f"missing [ after {self._shown(last)}", self.form)
        if last.kind not in _ENDS_OPERAND:
            what = "value" if last.kind == "RSQB" else "operand"
            if last.kind == "COLON" and self._open_questions() < 0:
                what = "default"
            return self._make(place, f"missing {what} after {self._shown(last)}", _OPERAND)
        if self._open_questions() > 0:
            return self._make(place, "a conditional without an alternative", ": and a value", "P(i) ? a : b")
        hint = "the default is the value where no j fits"
        return self._make(place, "attention without a default", ": and a default", hint)

    def _open_questions(self) -> int:
        """Conditionals that lack their `:` (negative: the default's `:` is there)."""
        kinds = [token.kind for token in self.tokens[: self.index]]
        return kinds.count("QUESTION") - kinds.count("COLON")

    def _after_operand(self, before: Lexeme, token: Lexeme) -> SourceError:
        shown, inside = self._shown(token), self._inside
        first = self.tokens[0].kind
        if inside is not None and inside.kind == "LSQB" and token.kind in ("RSQB", "COMMA"):
            if first == "ATTENTION" and token.kind == "RSQB":
                hint = "a score that is always true is written 1"
                return self._make(token.span, "attention without a score", ", and a score", hint)
            if first == "PSUM":
                return self._make(token.span, "psum has a mask and no score", "]", self.form)
            return self._make(token.span, "attention has one mask and one score", "]", "join conditions with &")
        if inside is not None and inside.kind == "LBRACE" and token.kind in _STARTS_OPERAND:
            return self._make(token.span, f"missing comma before {shown}", ", or }", "as in { 'a', 'b' }")
        if token.kind == "COLON":
            what = "psum has no default" if first == "PSUM" else "this : belongs to no conditional and no attention"
            return self._make(token.span, what, "an operator or the end", self.form or "P(i) ? a : b")
        if token.kind == "COMMA":
            return self._make(token.span, "a comma separates arguments, and mask and score, only", "an operator")
        if token.kind in ("LSQB", "LBRACE"):
            hint = "membership is written in(i) in { 'a', 'b' }" if token.kind == "LBRACE" else ""
            return self._make(token.span, f"{shown} has no meaning here", "an operator or the end", hint)
        if token.kind == "MEMBER":
            return self._make(token.span, "in cannot be chained", "an operator that is no comparison")
        if (token.kind, token.value) == ("WORD", "in"):
            return self._make(Span(token.span.end, token.span.end + 1), "in is followed by a set", "{ 'a', 'b' }")
        if token.kind == "LPAR" and before.kind in ("QUOTED", "NUMBER", "TRUTH"):
            return self._make(token.span, f"{self._shown(before)} takes no argument", "an operator or the end")
        hint = "indent only lines that continue the statement above" if self._on_new_line(token) else ""
        expected = "an operator or the end of the statement"
        return self._make(token.span, f"missing operator before {shown}", expected, hint)

    def _on_new_line(self, token: Lexeme) -> bool:
        text = self.scope.source.text
        return not text[text.rfind("\n", 0, token.span.start) + 1 : token.span.start].strip()

    def _before_operand(self, before: Lexeme | None, token: Lexeme) -> SourceError:
        shown = self._shown(token)
        if before is not None and token.kind == "NOT":
            message = f"{shown} after {self._shown(before)} needs brackets"
            return self._make(token.span, message, _OPERAND, f"write {self._shown(before)} ({shown}...)")
        if before is not None and token.kind in ("RPAR", "RSQB", "RBRACE"):
            if before.kind == "LPAR":
                return self._make(token.span, "nothing between the brackets", _OPERAND)
            return self._make(token.span, f"missing operand after {self._shown(before)}", _OPERAND)
        if token.kind == "LSQB":
            return self._make(token.span, "[ stands after leftmost, rightmost and psum only", _OPERAND)
        if token.kind == "LBRACE":
            return self._make(token.span, "a set stands after in only", _OPERAND, "as in in(i) in { 'a', 'b' }")
        hint = "the input is in(i): write in(i) in { 'a', 'b' }" if token.kind == "MEMBER" else ""
        return self._make(token.span, f"missing operand before {shown}", _OPERAND, hint)
