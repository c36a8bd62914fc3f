"""Expressions that read one position, as values of the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hardsim.lang.srasp import ast
from hardsim.rasp.network import Network
from hardsim.rasp.rewrite import Tuples
from hardsim.rasp.values import Boolean, Letters, Number, Value


class Evaluator:
    """Compiles expressions at i over the vectors known so far; each different one is compiled once.

    Args:
        known: the value of every vector by name, to which the owner adds.
        letters: the one-hot coordinates of the input.
    """

    def __init__(
        self,
        network: Network,
        symbols: Sequence[str],
        tuples: Tuples,
        known: Mapping[str, Value],
        letters: Letters,
    ) -> None:
        self.network = network
        self.symbols = tuple(symbols)
        self.tuples = tuples
        self.known = known
        self.input = letters
        self._done: dict[ast.Expression, Value] = {}

    def value(self, node: ast.Expression, name: str) -> Value:
        """An expression that reads no j; `name` is what its coordinates are called after."""
        if node not in self._done:
            match node.sort:
                case ast.Sort.BOOL:
                    self._done[node] = self._boolean(node, name)
                case ast.Sort.INT:
                    self._done[node] = self._number(node, name)
                case ast.Sort.SYMBOL:
                    self._done[node] = self._letters(node, name)
        return self._done[node]

    def boolean(self, node: ast.Expression, name: str) -> Boolean:
        """A Boolean expression."""
        value = self.value(node, name)
        assert isinstance(value, Boolean)
        return value

    def number(self, node: ast.Expression, name: str) -> Number:
        """An integer expression."""
        value = self.value(node, name)
        assert isinstance(value, Number)
        return value

    def letters(self, node: ast.Expression, name: str) -> Letters:
        """A symbol expression."""
        value = self.value(node, name)
        assert isinstance(value, Letters)
        return value

    # ---- Booleans ----

    def _boolean(self, node: ast.Expression, name: str) -> Boolean:
        network = self.network
        match node:
            case ast.Truth(constant):
                return network.true if constant else network.false
            case ast.HasSymbol(symbol):
                return network.letters(self.input, symbol)
            case ast.Ref(vector):
                value = self.known[vector]
                assert isinstance(value, Boolean)
                return value
            case ast.Not(arg):
                return network.negation(self.boolean(arg, name))
            case ast.Nary(op, args):
                parts = [self.boolean(arg, f"{name}.{number}") for number, arg in enumerate(args, 1)]
                combine = {"&": network.conjunction, "|": network.disjunction, "^": network.parity}[op]
                return combine(parts, name)
            case ast.Arrow(op, left, right):
                return self._arrow(op, self.boolean(left, f"{name}.1"), self.boolean(right, f"{name}.2"), name)
            case ast.Conditional(test, then, otherwise):
                tests, yes, no = (self.boolean(part, f"{name}.{k}") for k, part in enumerate((test, then, otherwise)))
                return network.choice(tests, yes, no, name)
            case ast.Member(arg, symbols):
                value = self.letters(arg, name)
                return network.disjoint([(network.letters(value, symbol),) for symbol in symbols], name)
            case ast.Related(relation, args):
                return self._related(relation, args, name)
            case ast.Compare(op, left, right):
                return self._compare(op, left, right, name)
            case _:
                raise AssertionError(f"{node} is not Boolean")

    def _arrow(self, op: ast.ArrowOp, left: Boolean, right: Boolean, name: str) -> Boolean:
        if op == "->":
            return self.network.disjunction([self.network.negation(left), right], name)
        return self.network.negation(self.network.parity([left, right], name))

    def _compare(self, op: ast.CompareOp, left: ast.Expression, right: ast.Expression, name: str) -> Boolean:
        network = self.network
        if op == "!=":
            return network.negation(self._compare("=", left, right, name))
        if left.sort is ast.Sort.BOOL:
            return self._arrow("<->", self.boolean(left, f"{name}.1"), self.boolean(right, f"{name}.2"), name)
        if left.sort is ast.Sort.SYMBOL:
            return self.same(self.letters(left, f"{name}.1"), self.letters(right, f"{name}.2"), name)
        first, second = self.number(left, f"{name}.1"), self.number(right, f"{name}.2")
        one = network.constant(1)
        match op:
            case "=":
                return network.equal(first, second, name)
            case "<=":
                return network.at_most(first, second, name)
            case ">=":
                return network.at_most(second, first, name)
            case "<":
                return network.at_most(first + one, second, name)
            case ">":
                return network.at_most(second + one, first, name)

    def same(self, left: Letters, right: Letters, name: str) -> Boolean:
        """Whether two symbols are equal."""
        common = [symbol for symbol in left.forms if symbol in right.forms]
        return self.network.disjoint([(left.forms[symbol], right.forms[symbol]) for symbol in common], name)

    def _related(self, relation: str, args: Sequence[ast.Expression], name: str) -> Boolean:
        """The tuples are disjoint; those that differ in the last place only are one case."""
        values = [self.letters(arg, f"{name}.{number}") for number, arg in enumerate(args, 1)]
        lasts: dict[tuple[str, ...], list[str]] = {}
        for entry in sorted(self.tuples[relation]):
            lasts.setdefault(entry[:-1], []).append(entry[-1])
        return self.network.disjoint(list(self._cases(values, lasts, name)), name)

    def _cases(
        self, values: Sequence[Letters], lasts: Mapping[tuple[str, ...], list[str]], name: str
    ) -> Iterator[tuple[Boolean, ...]]:
        network = self.network
        for start, ends in lasts.items():
            firsts = [network.letters(value, symbol) for value, symbol in zip(values, start, strict=False)]
            last = network.disjoint([(network.letters(values[-1], symbol),) for symbol in ends], name)
            yield (*firsts, last)

    # ---- symbols ----

    def _letters(self, node: ast.Expression, name: str) -> Letters:
        network = self.network
        match node:
            case ast.Letter(symbol):
                return Letters({symbol: network.true})
            case ast.Input():
                return self.input
            case ast.Ref(vector):
                value = self.known[vector]
                assert isinstance(value, Letters)
                return value
            case ast.Conditional(test, then, otherwise):
                holds = self.boolean(test, f"{name}?")
                yes, no = self.letters(then, f"{name}.1"), self.letters(otherwise, f"{name}.2")
                return self.selected(holds, yes, no, name)
            case _:
                raise AssertionError(f"{node} is not a symbol")

    def selected(self, test: Boolean, then: Letters, otherwise: Letters, name: str) -> Letters:
        """`test ? then : otherwise` of symbols."""
        network = self.network
        forms = {
            symbol: network.choice(
                test, network.letters(then, symbol), network.letters(otherwise, symbol), f"{name} = {symbol}"
            )
            for symbol in self.symbols
            if symbol in then.forms or symbol in otherwise.forms
        }
        return Letters({symbol: form for symbol, form in forms.items() if form != network.false})

    # ---- integers ----

    def _number(self, node: ast.Expression, name: str) -> Number:
        network = self.network
        match node:
            case ast.Integer(constant):
                return network.constant(constant)
            case ast.Position():
                return network.position
            case ast.Length():
                return network.length
            case ast.Ref(vector):
                value = self.known[vector]
                assert isinstance(value, Number)
                return value
            case ast.AsInteger(arg):
                return network.counted(self.boolean(arg, name), name)
            case ast.Sum(op, left, right):
                other = self.number(right, f"{name}.2")
                return self.number(left, f"{name}.1") + (other if op == "+" else other.scaled(-1))
            case ast.Scale(factor, arg):
                return self.number(arg, name).scaled(factor)
            case ast.Conditional(test, then, otherwise):
                holds = self.boolean(test, f"{name}?")
                yes, no = self.number(then, f"{name}.1"), self.number(otherwise, f"{name}.2")
                return network.selected(holds, yes, no, name)
            case _:
                raise AssertionError(f"{node} is not an integer")
