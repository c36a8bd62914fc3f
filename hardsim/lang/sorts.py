"""From the trees of the grammar to formulas and terms: what is a symbol, a name or a number, and what fits where."""

from __future__ import annotations

from typing import cast

from hardsim.errors import SourceError, Span
from hardsim.lang import ast
from hardsim.lang.raw import Raw, excerpt
from hardsim.lang.scope import Scope, Sort
from hardsim.lang.vocabulary import PREDICATES, brief

MAX_INTEGER = 10**18
"""The largest absolute value of an integer, or of a constant part of a term."""

_TERM_KINDS = frozenset({"sum", "sign", "product", "count"})
_OPERATOR_HINTS = {
    "=": "= compares numbers; equivalence is written <->",
    "!=": "!= compares numbers; of two formulas exactly one holds: ^",
    "<=": "<= compares numbers; implication is written ->",
    "mod": "write (t) mod m = r, with a term t",
}


def sort_of(raw: Raw, scope: Scope) -> Sort:
    """The sort of the body of a `let`. A lone number is a symbol if the alphabet has it."""
    if raw.kind in _TERM_KINDS:
        return "term"
    if raw.kind == "number":
        return "formula" if raw.text in scope.symbols else "term"
    if raw.kind == "constant":
        return "term" if raw.text in ("pos", "len") else "formula"
    if raw.kind == "word" and not raw.called and raw.text in scope.lets:
        return scope.lets[raw.text].sort
    return "formula"


class Sorter:
    """Builds the surface syntax of one expression; every method raises SourceError."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def _error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.scope.source, span, message, expected, hint)

    def _shown(self, raw: Raw) -> str:
        return excerpt(self.scope.source, raw.whole)

    # ---- formulas ----

    def formula(self, raw: Raw) -> ast.Formula:
        """A formula of the surface syntax."""
        match raw.kind:
            case "word" | "number" | "quoted":
                return self._atom(raw)
            case "constant" if raw.text in ("true", "false"):
                return ast.Truth(raw.text == "true", span=raw.at)
            case "constant" if raw.text == "first" or raw.text == "last":
                return ast.Marker("first" if raw.text == "first" else "last", span=raw.at)
            case "unary":
                arg = self.formula(raw.args[0])
                if raw.text == "!":
                    return ast.Not(arg, span=raw.at)
                return ast.Unary(cast(ast.UnaryOp, raw.text), arg, span=raw.at)
            case "nary":
                return ast.Nary(cast(ast.NaryOp, raw.text), tuple(map(self.formula, raw.args)), span=raw.at)
            case "binary":
                left, right = map(self.formula, raw.args)
                return ast.Binary(cast(ast.BinaryOp, raw.text), left, right, span=raw.at)
            case "arrow":
                left, right = map(self.formula, raw.args)
                return ast.Arrow(cast(ast.ArrowOp, raw.text), left, right, span=raw.at)
            case "compare":
                return self._compare(raw)
            case "predicate":
                return self._predicate(raw)
            case "mod":
                raise self._error(raw.at, "mod without a remainder", "(t) mod m = r", "add = and the remainder")
        raise self._needs_formula(raw)

    def _needs_formula(self, raw: Raw) -> SourceError:
        hint = f"compare it with a number, as in {self._shown(raw)} > 0"
        return self._error(
            raw.whole, f"{self._shown(raw)} is a number, and a formula is needed here", "a formula", hint
        )

    def _atom(self, raw: Raw) -> ast.Formula:
        word, scope = raw.text, self.scope
        if raw.kind == "word" and (raw.called or word in scope.predicates):
            return self._own_predicate(raw)
        if raw.kind == "word" and word in scope.lets:
            if scope.lets[word].sort == "term":
                raise self._needs_formula(raw)
            return ast.Ref(word, span=raw.at)
        symbol = word if raw.kind != "word" and word in scope.symbols else None
        if raw.kind == "word":
            symbol = scope.symbol_of(word, raw.at)
        if symbol is not None:
            return ast.Symbol(symbol, span=raw.at)
        if raw.kind == "number":
            alphabet = " ".join(scope.alphabet)
            truth = {"0": "0 is never a truth value: write false", "1": "1 is never a truth value: write true"}
            hint = truth.get(word, "a number is a formula only if it is a symbol of the alphabet")
            raise self._error(
                raw.at, f"unknown symbol {brief(word)}", f"a symbol of the alphabet ({alphabet}) or a formula", hint
            )
        raise scope.unknown(word, raw.at, "symbol" if raw.kind == "quoted" else "symbol or name")

    def _compare(self, raw: Raw) -> ast.Formula:
        left, right = raw.args
        if left.kind == "mod":
            return self._remainder(raw, left, right)
        hint = _OPERATOR_HINTS.get(raw.text, "")
        left_term, right_term = self._term(left, hint)[0], self._term(right, hint)[0]
        return ast.Compare(cast(ast.CompareOp, raw.text), left_term, right_term, span=raw.at)

    def _remainder(self, raw: Raw, left: Raw, right: Raw) -> ast.Congruent:
        term, modulus = left.args
        if raw.text != "=":
            hint = f"write !({self._shown(left)} = {self._shown(right)})" if raw.text == "!=" else ""
            raise self._error(raw.at, f"{raw.text} after mod", "=", hint)
        tested, _ = self._term(term, _OPERATOR_HINTS["mod"])
        return ast.Congruent(tested, *self._modulus(modulus, right), span=left.at)

    def _modulus(self, modulus: Raw, residue: Raw) -> tuple[int, int]:
        """The checked pair m >= 1, 0 <= r < m."""
        m = self._constant(modulus, "the modulus")
        r = self._constant(residue, "the remainder")
        if m < 1:
            raise self._error(modulus.whole, f"the modulus is {m}", "a modulus of at least 1")
        if not 0 <= r < m:
            raise self._error(residue.whole, f"the remainder {r} never occurs", f"a remainder from 0 to {m - 1}")
        return m, r

    def _constant(self, raw: Raw, what: str) -> int:
        _, value = self._term(raw, f"{what} is an integer")
        if value is None:
            raise self._error(raw.whole, f"{what} is not a constant: {self._shown(raw)}", "an integer")
        return value

    # ---- predicates ----

    def _predicate(self, raw: Raw) -> ast.Formula:
        least, most = PREDICATES[raw.text]
        forms = "MOD(m, r) or MOD(m, r, t)" if raw.text == "MOD" else f"{raw.text} or {raw.text}(t)"
        self._arity(raw, least, most, forms)
        if raw.text != "MOD":
            term = self._term(raw.args[0])[0] if raw.args else None
            return ast.Predicate(raw.text, (), term, span=raw.at)
        modulus = self._modulus(raw.args[0], raw.args[1])
        if len(raw.args) == 2:
            return ast.Predicate("MOD", modulus, None, span=raw.at)
        return ast.Congruent(self._term(raw.args[2])[0], *modulus, span=raw.at)

    def _own_predicate(self, raw: Raw) -> ast.Predicate:
        scope = self.scope
        if raw.text not in scope.predicates:
            if raw.text in scope.lets or scope.symbol_of(raw.text, raw.at) is not None:
                raise self._error(
                    raw.at, f"{raw.text} takes no argument", hint=f"put an operator between {raw.text} and ("
                )
            raise scope.unknown(raw.text, raw.at, "predicate or operator")
        self._arity(raw, 0, 1, f"{raw.text} or {raw.text}(t)")
        return ast.Predicate(raw.text, (), self._term(raw.args[0])[0] if raw.args else None, span=raw.at)

    def _arity(self, raw: Raw, least: int, most: int, forms: str) -> None:
        given = len(raw.args)
        if not least <= given <= most:
            shown = f"{given} argument{'' if given == 1 else 's'}"
            raise self._error(raw.whole, f"wrong number of arguments: {raw.text} with {shown}", forms)

    # ---- terms ----

    def term(self, raw: Raw) -> tuple[ast.Term, int | None]:
        """The term, and its value if it is an integer constant (has no pos, len or count)."""
        return self._term(raw)

    def _term(self, raw: Raw, hint: str = "") -> tuple[ast.Term, int | None]:
        """`hint` says what to do if this is a formula."""
        match raw.kind:
            case "number":
                value = self._integer(raw)
                return ast.Integer(value, span=raw.at), value
            case "constant" if raw.text == "pos":
                return ast.Position(span=raw.at), None
            case "constant" if raw.text == "len":
                return ast.Length(span=raw.at), None
            case "word" if not raw.called and raw.text in self.scope.lets:
                known = self.scope.lets[raw.text]
                if known.sort == "formula":
                    raise self._needs_term(raw, hint)
                return ast.Ref(raw.text, span=raw.at), known.constant
            case "count":
                return ast.Count(cast(ast.Side, raw.text), self.formula(raw.args[0]), span=raw.at), None
            case "sign":
                arg, value_of_arg = self._term(raw.args[0], hint)
                negated = value_of_arg if raw.text == "+" or value_of_arg is None else -value_of_arg
                return ast.Signed("-" if raw.text == "-" else "+", arg, span=raw.at), negated
            case "sum" | "product":
                return self._operation(raw, hint)
            case "mod":
                raise self._error(
                    raw.at, "mod stands left of = and a remainder only", "a number", "write (t) mod m = r"
                )
        raise self._needs_term(raw, hint)

    def _needs_term(self, raw: Raw, hint: str) -> SourceError:
        if raw.kind == "word" and not self.scope.knows(raw.text, raw.at):
            return self.scope.unknown(raw.text, raw.at)
        message = f"{self._shown(raw)} is a formula, and a number is needed here"
        if raw.kind == "word" and raw.text in self.scope.lets and self.scope.lets[raw.text].digit:
            hint = f"let {raw.text} names a symbol of the alphabet; for the integer write it with a sign, as in +1"
        return self._error(raw.whole, message, "a number", hint or "#L[phi] counts the positions where phi holds")

    def _operation(self, raw: Raw, hint: str) -> tuple[ast.Term, int | None]:
        (left, a), (right, b) = (self._term(arg, hint) for arg in raw.args)
        if raw.kind == "sum":
            value = None if a is None or b is None else a + b if raw.text == "+" else a - b
            self._in_range(value, raw)
            return ast.Sum("+" if raw.text == "+" else "-", left, right, span=raw.at), value
        if a is None and b is None:
            message = f"a product of two terms that are no integers: {self._shown(raw)}"
            hint = "terms are linear: one side of * must be an integer"
            raise self._error(raw.at, message, "an integer on one side of *", hint)
        product = None if a is None or b is None else a * b
        self._in_range(product, raw)
        return ast.Product(left, right, span=raw.at), product

    def _integer(self, raw: Raw) -> int:
        digits = raw.text.lstrip("0") or "0"
        if len(digits) > len(str(MAX_INTEGER)) or int(digits) > MAX_INTEGER:
            raise self._error(raw.at, f"a number larger than 10^{len(str(MAX_INTEGER)) - 1}", "a smaller integer")
        return int(digits)

    def _in_range(self, value: int | None, raw: Raw) -> None:
        if value is not None and abs(value) > MAX_INTEGER:
            raise self._error(raw.at, f"a number larger than 10^{len(str(MAX_INTEGER)) - 1}", "a smaller integer")
