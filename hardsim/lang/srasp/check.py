"""From the tree of a right-hand side to a checked one: names resolved, sorts inferred, every mistake with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from hardsim.errors import SourceError, Span
from hardsim.lang.raw import Raw, excerpt
from hardsim.lang.sorts import MAX_INTEGER
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.ast import Sort
from hardsim.lang.srasp.scope import Scope

_Found: TypeAlias = "Sort | None"
"""The sort of a tree; None for the literals 0 and 1 (and conditionals between them), which become what is needed."""
_ORDER = frozenset({"<", "<=", ">", ">="})
WITH_ARTICLE = {Sort.BOOL: "a Boolean", Sort.INT: "an integer", Sort.SYMBOL: "a symbol"}


class Checker:
    """Checks the expressions of one statement.

    `indices` are the positions that vectors may be read at, `where` says in a message why others may not.
    """

    def __init__(self, scope: Scope, indices: frozenset[str], where: str) -> None:
        self.scope = scope
        self.indices = indices
        self.where = where
        self.found: dict[int, _Found] = {}

    def _error(self, span: Span, message: str, expected: str = "", hint: str = "") -> SourceError:
        return SourceError(self.scope.source, span, message, expected, hint)

    def _text(self, raw: Raw) -> str:
        return excerpt(self.scope.source, raw.whole)

    # ---- sorts ----

    def sort(self, raw: Raw) -> _Found:
        """The sort of a tree, None if it is as yet open. Raises SourceError for vectors that do not exist."""
        if id(raw) not in self.found:
            self.found[id(raw)] = self._sort(raw)
        return self.found[id(raw)]

    def _sort(self, raw: Raw) -> _Found:
        match raw.kind:
            case "number":
                return None if raw.text in ("0", "1") else Sort.INT
            case "quoted":
                return Sort.SYMBOL
            case "sum" | "product" | "sign":
                return Sort.INT
            case "word":
                return self._word(raw).sort
            case "conditional":
                return self.sort(raw.args[1]) or self.sort(raw.args[2])
            case _:
                return Sort.BOOL

    def joined(self, left: Raw, right: Raw, at: Span, what: str) -> Sort:
        """The one sort of two trees; Boolean if both are open. Raises SourceError at `at` if they have two sorts."""
        first, second = self.sort(left), self.sort(right)
        if first is None or second is None or first is second:
            return first or second or Sort.BOOL
        shown = f"{self._text(left)} is {WITH_ARTICLE[first]} and {self._text(right)} is {WITH_ARTICLE[second]}"
        hint = ""
        for raw, sort in ((left, first), (right, second)):
            if sort is Sort.BOOL and Sort.SYMBOL not in (first, second):
                hint = f"as a number a Boolean is written ({self._text(raw)} ? 1 : 0)"
        raise self._error(at, f"{what} have one sort: {shown}", "two expressions of one sort", hint)

    # ---- expressions ----

    def of(self, raw: Raw, wanted: Sort) -> ast.Expression:
        """The expression of a tree that must have a sort. Raises SourceError if it has another."""
        found = self.sort(raw)
        if found is not None and found is not wanted:
            raise self._wrong(raw, found, wanted)
        match raw.kind:
            case "number":
                return self._number(raw, wanted)
            case "quoted":
                return ast.Letter(self.scope.symbol(raw.text, raw.at), span=raw.at)
            case "truth":
                return ast.Truth(raw.text == "true", span=raw.at)
            case "word":
                return self._word(raw)
            case "symbol":
                return ast.HasSymbol(self.scope.symbol(raw.text, raw.at), self._index(raw), span=raw.at)
            case "conditional":
                return self._conditional(raw, wanted)
            case "sum" | "product" | "sign":
                return self._arithmetic(raw)
            case _:
                return self._boolean(raw)

    def _wrong(self, raw: Raw, found: Sort, wanted: Sort) -> SourceError:
        hint = ""
        if wanted is Sort.BOOL:
            hint = "compare it, as in ... > 0" if found is Sort.INT else "compare it, as in ... = 'a'"
        elif found is Sort.BOOL:
            hint = "a Boolean counts 0 or 1 in + - * and psum; elsewhere write (... ? 1 : 0)"
        if wanted is Sort.SYMBOL:
            hint = "a symbol is in(i), a quoted symbol, or a vector of symbols"
        return self._error(
            raw.whole,
            f"{self._text(raw)} is {WITH_ARTICLE[found]}, and {WITH_ARTICLE[wanted]} is needed here",
            WITH_ARTICLE[wanted],
            hint,
        )

    def _number(self, raw: Raw, wanted: Sort) -> ast.Expression:
        if wanted is Sort.SYMBOL:
            hint = f"the symbol {raw.text} is written '{raw.text}'" if raw.text in self.scope.symbols else ""
            raise self._error(raw.at, f"{raw.text} is a number, and a symbol is needed here", "a symbol", hint)
        value = self._value(raw)
        return ast.Integer(value, span=raw.at) if wanted is Sort.INT else ast.Truth(value == 1, span=raw.at)

    def _value(self, raw: Raw) -> int:
        digits = raw.text.lstrip("0") or "0"
        if len(digits) > len(str(MAX_INTEGER)) or int(digits) > MAX_INTEGER:
            raise self._error(raw.at, f"a number larger than 10^{len(str(MAX_INTEGER)) - 1}", "a smaller integer")
        return int(digits)

    def _conditional(self, raw: Raw, wanted: Sort) -> ast.Expression:
        test, then, otherwise = raw.args
        condition = self.of(test, Sort.BOOL)
        self.joined(then, otherwise, raw.at, "the branches of a conditional")
        return ast.Conditional(condition, self.of(then, wanted), self.of(otherwise, wanted), span=raw.at)

    def _boolean(self, raw: Raw) -> ast.Expression:
        """The operators and relations whose value is Boolean."""
        match raw.kind:
            case "not":
                return ast.Not(self.of(raw.args[0], Sort.BOOL), span=raw.at)
            case "nary":
                args = tuple([self.of(arg, Sort.BOOL) for arg in raw.args])
                return ast.Nary(cast(ast.NaryOp, raw.text), args, span=raw.at)
            case "arrow":
                left, right = (self.of(arg, Sort.BOOL) for arg in raw.args)
                return ast.Arrow(cast(ast.ArrowOp, raw.text), left, right, span=raw.at)
            case "compare":
                return self._comparison(raw)
            case "member":
                return self._member(raw)
            case _:
                what = "attention" if raw.kind == "attention" else "psum"
                raise TypeError(f"{what} is no expression")  # the grammar has it at the top only

    def _comparison(self, raw: Raw) -> ast.Expression:
        left, right = raw.args
        op = cast(ast.CompareOp, raw.text)
        if op in _ORDER:
            for arg in raw.args:
                found = self.sort(arg)
                if found in (Sort.BOOL, Sort.SYMBOL):
                    hint = "symbols and Booleans are compared by = and != only"
                    message = f"{op} compares integers, and {self._text(arg)} is {WITH_ARTICLE[found]}"
                    raise self._error(arg.whole, message, "an integer", hint)
            sort = Sort.INT
        else:
            sort = self.joined(left, right, raw.at, f"the two sides of {op}")
        return ast.Compare(op, self.of(left, sort), self.of(right, sort), span=raw.at)

    def _member(self, raw: Raw) -> ast.Expression:
        element, *members = raw.args
        symbols: list[str] = []
        for member in members:
            if member.kind != "quoted":
                hint = f"the symbol {member.text} is written '{member.text}'" if not member.args else ""
                raise self._error(member.whole, f"{self._text(member)} is no quoted symbol", "a quoted symbol", hint)
            symbol = self.scope.symbol(member.text, member.at)
            if symbol in symbols:
                raise self._error(member.at, f"'{symbol}' stands twice in the set", "each symbol once")
            symbols.append(symbol)
        return ast.Member(self.of(element, Sort.SYMBOL), tuple(symbols), span=raw.at)

    # ---- arithmetic ----

    def number(self, raw: Raw) -> ast.Expression:
        """An operand of arithmetic or psum, where a Boolean counts 0 or 1."""
        if self.sort(raw) is Sort.BOOL:
            return ast.AsInteger(self.of(raw, Sort.BOOL), span=raw.at)
        return self.of(raw, Sort.INT)

    def _arithmetic(self, raw: Raw) -> ast.Expression:
        if raw.kind == "sum":
            left, right = (self.number(arg) for arg in raw.args)
            return ast.Sum(cast(ast.SumOp, raw.text), left, right, span=raw.at)
        if raw.kind == "sign":
            arg = self.number(raw.args[0])
            if raw.text == "+":
                return arg
            return (
                ast.Integer(-arg.value, span=raw.at)
                if isinstance(arg, ast.Integer)
                else ast.Scale(-1, arg, span=raw.at)
            )
        left_raw, right_raw = raw.args
        factor = self._constant(left_raw)
        if factor is not None:
            return ast.Scale(self._small(factor, raw.at), self.number(right_raw), span=raw.at)
        factor = self._constant(right_raw)
        if factor is not None:
            return ast.Scale(self._small(factor, raw.at), self.number(left_raw), span=raw.at)
        raise self._error(raw.at, f"a product of two vectors: {self._text(raw)}", "an integer constant on one side")

    def _constant(self, raw: Raw) -> int | None:
        """The value of a tree of integers, None if there is anything else in it."""
        match raw.kind:
            case "number":
                return self._value(raw)
            case "sign":
                value = self._constant(raw.args[0])
                return -value if value is not None and raw.text == "-" else value
            case "sum" | "product":
                left, right = self._constant(raw.args[0]), self._constant(raw.args[1])
                if left is None or right is None:
                    return None
                return left * right if raw.kind == "product" else left + right if raw.text == "+" else left - right
            case _:
                return None

    def _small(self, factor: int, at: Span) -> int:
        if abs(factor) > MAX_INTEGER:
            raise self._error(at, f"a factor larger than 10^{len(str(MAX_INTEGER)) - 1}", "a smaller integer")
        return factor

    # ---- vectors and relations ----

    def _word(self, raw: Raw) -> ast.Expression:
        word = raw.text
        if word in ("i", "j"):
            hint = f"the number of the position is pos({word})"
            raise self._error(raw.at, f"{word} is a position, not a vector", "a vector, as in pos(i)", hint)
        if word in self.scope.relations:
            return self._related(raw, self.scope.relations[word])
        built_in: dict[str, Callable[..., ast.Expression]] = {
            "in": ast.Input,
            "pos": ast.Position,
            "len": ast.Length,
        }
        if word in built_in:
            return built_in[word](self._index(raw), span=raw.at)
        if word not in self.scope.vectors:
            raise self.scope.unknown(word, raw.at, raw.called)
        return ast.Ref(word, self._index(raw), self.scope.vectors[word], span=raw.at)

    def _related(self, raw: Raw, relation: ast.Relation) -> ast.Expression:
        if len(raw.args) != relation.arity:
            given = f"{len(raw.args)} argument{'' if len(raw.args) == 1 else 's'}"
            needed = f"{relation.arity} symbol{'' if relation.arity == 1 else 's'}"
            form = f"{relation.name}({', '.join(['...'] * relation.arity)})"
            raise self._error(raw.whole, f"{relation.name} is a relation of {needed}, with {given} here", form)
        args = tuple([self.of(arg, Sort.SYMBOL) for arg in raw.args])
        return ast.Related(relation.name, args, span=raw.at)

    def _index(self, raw: Raw) -> ast.Index:
        """The position that a vector is read at."""
        name = f"Q_{raw.text}" if raw.kind == "symbol" else raw.text
        index = raw.args[0].text if raw.called and raw.args[0].kind == "word" and not raw.args[0].called else ""
        if raw.called and len(raw.args) != 1:
            message = f"{name} is a vector, with {len(raw.args)} arguments here"
            raise self._error(raw.whole, message, f"one argument, as in {name}(i)")
        if raw.called and index not in ("i", "j"):
            hint = "other positions are reached by attention: its score picks them, its value is read there"
            message = f"a vector is read at i or j, not at {self._text(raw.args[0])}"
            raise self._error(raw.args[0].whole, message, "i or j", hint)
        found = cast(ast.Index, index or "i")
        if found not in self.indices:
            hint = f"an argument left out means (i): write {name}(j)" if not raw.called else ""
            place = raw.args[0].whole if raw.called else raw.at
            raise self._error(
                place, f"{found} has no meaning here: {self.where}", " or ".join(sorted(self.indices)), hint
            )
        return found
