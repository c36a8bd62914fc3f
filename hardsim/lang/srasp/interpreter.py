"""The oracle of programs: the value of every vector at every position, computed from the definitions alone.

The oracle decides which answers are right, so it shares no code with the networks and proofs that are compared with it:
it simulates no attention scores, and its integers are unbounded. Positions are 1..n, where n is the length after
padding.

    P(i) := expr                             the value of expr at i
    P(i) := side[mask, S(i,j)] V(i,j) : D(i) V(i, j) for the leftmost (rightmost) j of 1..n that the mask allows and
                                             for which S(i, j) is true; D(i) if there is no such j
    P(i) := psum_j[j<=i] V(j)                the sum of V(j) over j = 1..i
    P(i) := mean_j[mask, S(i,j)] V(j) : D(i) the mean of V(j), a rational number, for all j of 1..n that the mask
                                             allows and for which S(i, j) is true; D(i) if there is no such j
    P(i) := mean_j[mask] V(j)                the same with a score that is always true
    P(i) := count_j[mask, S(i,j)]            how many j of 1..n the mask allows and have a true S(i, j)

The definitions are those of Yang, Chiang and Angluin 2024 (B-RASP) and of Strobl, Angluin, Chiang, Rawski and Sabharwal
2024 (B-RASP[pos] and S-RASP); `count_j` and `mean_j` are the `selector_width` and the `aggregate` (of numbers) of
Weiss, Goldberg and Yahav 2021 (RASP).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from operator import add, eq, sub
from typing import Any, Final, NamedTuple, TypeAlias

from hardsim.errors import InputError, WrongExample
from hardsim.lang import ast
from hardsim.lang.arith import COMPARISONS
from hardsim.lang.srasp.padding import padded_word
from hardsim.lang.words import written_output, written_word

Value: TypeAlias = bool | int | str | Fraction
"""A Boolean, an integer, a symbol or a rational number, depending on the sort of the vector."""

_Place: TypeAlias = tuple[int, int]
"""The positions (i, j), from 1; expressions that read i only ignore j, which may be 0."""
_Function: TypeAlias = Callable[["_State", _Place], Any]
"""Computes the value of an expression at a pair of positions."""

_INDEX: Final[Mapping[ast.Index, int]] = {"i": 0, "j": 1}
_MASK: Final[Mapping[ast.Mask, Callable[[int, int], bool]]] = {
    "1": lambda i, j: True,
    "j<i": lambda i, j: j < i,
    "j<=i": lambda i, j: j <= i,
    "j>i": lambda i, j: j > i,
    "j>=i": lambda i, j: j >= i,
}
_BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **COMPARISONS,
    "+": add,
    "-": sub,
    "->": lambda left, right: not left or right,
    "<->": eq,
}
_NARY: Final[Mapping[ast.NaryOp, Callable[[Iterable[bool]], bool]]] = {
    "&": all,
    "|": any,
    "^": lambda values: sum(values) % 2 == 1,
}


class _State(NamedTuple):
    """A padded word, its length, and the vectors computed so far; the value at position i has index i - 1."""

    word: tuple[str, ...]
    n: int
    vectors: dict[str, list[Value]]


class ProgramOracle:
    """Runs a (checked) program by its definition. Construct one oracle and use it for many words. Statements are turned
    into functions once; evaluating a word is one loop over the statements, and for attention a search over j at each i,
    so time is O(statements * n^2)."""

    def __init__(self, program: ast.SraspProgram) -> None:
        self.program = program
        self._tuples = {relation.name: frozenset(relation.tuples) for relation in program.relations}
        self._steps = [(statement.name, self._function(statement.right)) for statement in program.statements]

    def __reduce__(self) -> tuple[type[ProgramOracle], tuple[ast.SraspProgram]]:
        # Functions cannot be pickled, so the program is pickled and they are rebuilt from it.
        return ProgramOracle, (self.program,)

    def run(self, word: Sequence[str]) -> dict[str, list[Value]]:
        """Return the values of every vector at positions 1..n of the padded word: lists of length n, in program order.
        Raises InputError for the empty word, symbols outside the alphabet, and bad padded lengths (see
        `padded_word`)."""
        padded = padded_word(self.program, word)
        state = _State(padded, len(padded), {})
        # vectors depend on earlier vectors only, so one pass in order suffices
        for name, step in self._steps:
            state.vectors[name] = [step(state, (i, 0)) for i in range(1, state.n + 1)]
        return state.vectors

    def accepts(self, word: Sequence[str]) -> bool:
        """Return the value of the Boolean output at position n. Raises InputError as `run` does, and if the program is
        a transduction."""
        if not self.program.is_acceptor:
            what = "an integer" if self._integers else "a symbol"
            raise InputError(f"the output {self.program.output} is {what} vector: the program accepts no words")
        return bool(self.run(word)[self.program.output][-1])

    def output(self, word: Sequence[str]) -> tuple[str | int, ...]:
        """Return the integers of the output vector at positions 1..n, or its symbols, without the blanks if the program
        has padding. Raises InputError as `run` does, and if the program is an acceptor."""
        if self.program.is_acceptor:
            raise InputError(f"the output {self.program.output} is Boolean: the program maps no words")
        values = self.run(word)[self.program.output]
        if self._integers:
            return tuple(int(value) for value in values)
        symbols = tuple(str(symbol) for symbol in values)
        return symbols if self.program.pad is None else tuple(symbol for symbol in symbols if symbol != ast.BLANK)

    @property
    def _integers(self) -> bool:
        return self.program.vectors[self.program.output].sort is ast.Sort.INT

    def _function(self, node: ast.Expression) -> _Function:
        """Turn an expression into a function, with one level of recursion for each level of the tree, now and in
        each call."""
        match node:
            case (
                ast.Truth(constant)
                | ast.Integer(constant)
                | ast.SymbolLiteral(constant)
                | ast.RationalConstant(constant)
            ):
                return lambda state, at: constant
            case ast.HasSymbol(symbol, index):
                here = _INDEX[index]
                return lambda state, at: state.word[at[here] - 1] == symbol
            case ast.InputSymbol(index):
                here = _INDEX[index]
                return lambda state, at: state.word[at[here] - 1]
            case ast.Position(index):
                here = _INDEX[index]
                return lambda state, at: at[here]
            case ast.Length():
                return lambda state, at: state.n
            case ast.Ref(name, index):
                here = _INDEX[index]
                return lambda state, at: state.vectors[name][at[here] - 1]
            case ast.AsInteger(arg):
                truth = self._function(arg)
                return lambda state, at: 1 if truth(state, at) else 0
            case ast.Scale(factor, arg):
                number = self._function(arg)
                return lambda state, at: factor * number(state, at)
            case ast.Not(arg):
                inner = self._function(arg)
                return lambda state, at: not inner(state, at)
            case ast.Nary(op, args):
                combine, parts = _NARY[op], [self._function(arg) for arg in args]
                return lambda state, at: combine(part(state, at) for part in parts)
            case ast.Sum(op, left, right) | ast.Arrow(op, left, right) | ast.Compare(op, left, right):
                apply, first, second = _BINARY[op], self._function(left), self._function(right)
                return lambda state, at: apply(first(state, at), second(state, at))
            case ast.Conditional(test, then, otherwise):
                holds, yes, no = (self._function(part) for part in (test, then, otherwise))
                return lambda state, at: yes(state, at) if holds(state, at) else no(state, at)
            case ast.Member(element, symbols):
                symbol_of = self._function(element)
                return lambda state, at: symbol_of(state, at) in symbols
            case ast.Related(name, args):
                tuples, parts = self._tuples[name], [self._function(arg) for arg in args]
                return lambda state, at: tuple([part(state, at) for part in parts]) in tuples
            case ast.PositionWise() | ast.PrefixSum() | ast.MatchMean() | ast.MatchCount() | ast.Attention():
                return self._whole(node)
            case _:
                raise TypeError(f"not an expression: {type(node).__name__}")

    def _whole(self, node: ast.RightHandSide) -> _Function:
        """Turn a whole right-hand side into a function."""
        match node:
            case ast.PositionWise(expr):
                return self._function(expr)
            case ast.PrefixSum(value):
                term = self._function(value)
                return lambda state, at: sum(term(state, (at[0], j)) for j in range(1, at[0] + 1))
            case ast.MatchMean():
                return self._mean(node)
            case ast.MatchCount(mask, score):
                allowed, selects = _MASK[mask], self._function(score)
                return lambda state, at: sum(
                    1 for j in range(1, state.n + 1) if allowed(at[0], j) and selects(state, (at[0], j))
                )
            case ast.Attention():
                return self._attention(node)

    def _mean(self, right: ast.MatchMean) -> _Function:
        allowed = _MASK[right.mask]
        score, value, default = (self._function(expr) for expr in (right.score, right.value, right.default))

        def mean(state: _State, at: _Place) -> Fraction:
            i = at[0]
            places = [(i, j) for j in range(1, state.n + 1) if allowed(i, j) and score(state, (i, j))]
            if not places:
                return Fraction(default(state, at))
            return Fraction(sum(value(state, place) for place in places), len(places))

        return mean

    def _attention(self, right: ast.Attention) -> _Function:
        allowed, leftmost = _MASK[right.mask], right.side == "leftmost"
        score, value, default = (self._function(expr) for expr in (right.score, right.value, right.default))

        def attend(state: _State, at: _Place) -> Any:
            i = at[0]
            positions = range(1, state.n + 1)
            # a plain search, as the definition says; no scores are computed
            for j in positions if leftmost else reversed(positions):
                if allowed(i, j) and score(state, (i, j)):
                    return value(state, (i, j))
            return default(state, at)

        return attend


def check_program_examples(program: ast.SraspProgram) -> None:
    """Check the `accept:`, `reject:` and `map:` examples of a program against its definition. Raises SourceError at the
    first example, in the order of the text, that the program contradicts, or whose word it cannot pad."""
    oracle = ProgramOracle(program)
    for example in program.examples:
        shown = written_word(example.word, program.alphabet)
        try:
            if isinstance(example, ast.MapExample):
                output = oracle.output(example.word)
                right = output == example.output
                found, expected = (written_output(word, program.alphabet) for word in (output, example.output))
                message = f"the program maps '{shown}' to '{found}', but 'map:' expects '{expected}'"
            else:
                accepted = oracle.accepts(example.word)
                right = accepted == example.accept
                listed, gives = ("accept", "rejects") if example.accept else ("reject", "accepts")
                value = f"({program.output} is {'true' if accepted else 'false'} at the end)"
                message = f"the program {gives} '{shown}', which is listed under '{listed}:' {value}"
        except InputError as error:
            raise WrongExample(program.source, example.span, error.message, hint=error.hint) from None
        if not right:
            raise WrongExample(program.source, example.span, message, hint="Correct the program or the example.")
