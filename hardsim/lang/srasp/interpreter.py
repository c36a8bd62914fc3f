"""The oracle of programs: every vector at every position, from the definitions alone.

It shares no code with anything that it judges: it simulates no attention scores, and its integers have no bounds.
Positions are 1..n, where n is the length after padding.

    P(i) := expr                             the value of expr at i
    P(i) := side[mask, S(i,j)] V(i,j) : D(i) V(i, j) for the leftmost (rightmost) j of 1..n that the mask allows and
                                             for which S(i, j) is true; D(i) if there is no such j
    P(i) := psum_j[j<=i] V(j)                the sum of V(j) over j = 1..i

The definitions are those of Yang, Chiang and Angluin 2024 (B-RASP) and of Strobl, Angluin, Chiang, Rawski and
Sabharwal 2024 (B-RASP[pos] and S-RASP).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, eq, ge, gt, le, lt, ne, sub
from typing import Any, Final, TypeAlias

from hardsim.errors import InputError, SourceError
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.padding import padded_word, show_word

Value: TypeAlias = bool | int | str
"""A Boolean, an integer or a symbol, as the sort of the vector says."""

_Function: TypeAlias = Callable[["_State", int, int], Any]
"""The value of an expression at positions i and j (j is ignored by what reads i only)."""

_COMPARE: Final[Mapping[ast.CompareOp, Callable[[Any, Any], bool]]] = {
    "<": lt,
    "<=": le,
    "=": eq,
    "!=": ne,
    ">=": ge,
    ">": gt,
}
_SUM: Final[Mapping[ast.SumOp, Callable[[int, int], int]]] = {"+": add, "-": sub}
_MASK: Final[Mapping[ast.Mask, Callable[[int, int], bool]]] = {
    "1": lambda i, j: True,
    "j<i": lambda i, j: j < i,
    "j<=i": lambda i, j: j <= i,
    "j>i": lambda i, j: j > i,
    "j>=i": lambda i, j: j >= i,
}


class _State:
    """A padded word and the vectors that are known so far; the value at position i has index i - 1."""

    def __init__(self, word: tuple[str, ...]) -> None:
        self.word = word
        self.n = len(word)
        self.vectors: dict[str, list[Value]] = {}


class ProgramOracle:
    """Runs a program by its definition. Make one and ask it about many words.

    Statements are turned into functions once; evaluating a word is one loop over the statements, and for attention a
    search over j at each i, so time is O(statements * n^2).

    Args:
        program: a program that parse.py has checked.
    """

    def __init__(self, program: ast.Program) -> None:
        self.program = program
        self._tuples = {relation.name: frozenset(relation.tuples) for relation in program.relations}
        self._steps = [(statement.name, self._statement(statement.right)) for statement in program.statements]

    def __reduce__(self) -> tuple[type[ProgramOracle], tuple[ast.Program]]:
        # Functions cannot be sent to other processes: the program is, and they are made again there.
        return ProgramOracle, (self.program,)

    def run(self, word: Sequence[str]) -> dict[str, list[Value]]:
        """The values of every vector at positions 1..n of the padded word; lists of length n, in program order.

        Raises:
            InputError: for the empty word, foreign symbols, and padded lengths that are none (see padding.py).
        """
        state = _State(padded_word(self.program, word))
        for name, step in self._steps:
            state.vectors[name] = [step(state, i, 0) for i in range(1, state.n + 1)]
        return state.vectors

    def accepts(self, word: Sequence[str]) -> bool:
        """The value of the Boolean output at position n.

        Raises:
            InputError: as `run`, and if the program is a transduction.
        """
        if not self.program.is_acceptor:
            raise InputError(f"the output {self.program.output} is a symbol vector: the program accepts no words")
        return bool(self.run(word)[self.program.output][-1])

    def output(self, word: Sequence[str]) -> tuple[str, ...]:
        """The symbols of the output vector at positions 1..n, without the blanks of a program that pads.

        Raises:
            InputError: as `run`, and if the program is an acceptor.
        """
        if self.program.is_acceptor:
            raise InputError(f"the output {self.program.output} is Boolean: the program maps no words")
        symbols = tuple(str(symbol) for symbol in self.run(word)[self.program.output])
        return symbols if self.program.pad is None else tuple(symbol for symbol in symbols if symbol != ast.BLANK)

    # ---- statements ----

    def _statement(self, right: ast.RightHandSide) -> _Function:
        match right:
            case ast.PositionWise(expr):
                return self._function(expr)
            case ast.PrefixSum(value):
                term = self._function(value)
                return lambda state, i, _: sum(term(state, i, j) for j in range(1, i + 1))
            case ast.Attention():
                return self._attention(right)

    def _attention(self, right: ast.Attention) -> _Function:
        allowed, leftmost = _MASK[right.mask], right.side == "leftmost"
        score, value, default = (self._function(expr) for expr in (right.score, right.value, right.default))

        def attend(state: _State, i: int, _: int) -> Value:
            positions = range(1, state.n + 1)
            for j in positions if leftmost else reversed(positions):
                if allowed(i, j) and score(state, i, j):
                    found: Value = value(state, i, j)
                    return found
            missing: Value = default(state, i, 0)
            return missing

        return attend

    # ---- expressions ----

    def _function(self, node: ast.Expression) -> _Function:
        """An expression as a function; one level of recursion per level of the tree, here and when it is called."""
        match node:
            case ast.Truth(constant) | ast.Integer(constant) | ast.Letter(constant):
                return lambda state, i, j: constant
            case ast.HasSymbol(symbol, "i"):
                return lambda state, i, j: state.word[i - 1] == symbol
            case ast.HasSymbol(symbol):
                return lambda state, i, j: state.word[j - 1] == symbol
            case ast.Input("i"):
                return lambda state, i, j: state.word[i - 1]
            case ast.Input():
                return lambda state, i, j: state.word[j - 1]
            case ast.Position("i"):
                return lambda state, i, j: i
            case ast.Position():
                return lambda state, i, j: j
            case ast.Length():
                return lambda state, i, j: state.n
            case ast.Ref(name, "i"):
                return lambda state, i, j: state.vectors[name][i - 1]
            case ast.Ref(name):
                return lambda state, i, j: state.vectors[name][j - 1]
            case ast.AsInteger() | ast.Sum() | ast.Scale() | ast.Conditional():
                return self._value(node)
            case _:
                return self._truth(node)

    def _value(self, node: ast.AsInteger | ast.Sum | ast.Scale | ast.Conditional) -> _Function:
        match node:
            case ast.AsInteger(arg):
                truth = self._function(arg)
                return lambda state, i, j: 1 if truth(state, i, j) else 0
            case ast.Sum(op, left, right):
                add_up, first, second = _SUM[op], self._function(left), self._function(right)
                return lambda state, i, j: add_up(first(state, i, j), second(state, i, j))
            case ast.Scale(factor, arg):
                number = self._function(arg)
                return lambda state, i, j: factor * number(state, i, j)
            case ast.Conditional(test, then, otherwise):
                holds, yes, no = self._function(test), self._function(then), self._function(otherwise)
                return lambda state, i, j: yes(state, i, j) if holds(state, i, j) else no(state, i, j)

    def _truth(self, node: ast.Not | ast.Nary | ast.Arrow | ast.Compare | ast.Member | ast.Related) -> _Function:
        match node:
            case ast.Not(arg):
                inner = self._function(arg)
                return lambda state, i, j: not inner(state, i, j)
            case ast.Nary(op, args):
                return self._nary(op, [self._function(arg) for arg in args])
            case ast.Arrow(op, left, right):
                first, second = self._function(left), self._function(right)
                if op == "->":
                    return lambda state, i, j: not first(state, i, j) or second(state, i, j)
                return lambda state, i, j: first(state, i, j) == second(state, i, j)
            case ast.Compare(relation, left, right):
                compare, first, second = _COMPARE[relation], self._function(left), self._function(right)
                return lambda state, i, j: compare(first(state, i, j), second(state, i, j))
            case ast.Member(element, symbols):
                symbol = self._function(element)
                return lambda state, i, j: symbol(state, i, j) in symbols
            case ast.Related(name, args):
                tuples, functions = self._tuples[name], [self._function(arg) for arg in args]
                return lambda state, i, j: tuple([function(state, i, j) for function in functions]) in tuples

    def _nary(self, op: ast.NaryOp, functions: list[_Function]) -> _Function:
        if op == "&":
            return lambda state, i, j: all(function(state, i, j) for function in functions)
        if op == "|":
            return lambda state, i, j: any(function(state, i, j) for function in functions)
        return lambda state, i, j: sum(function(state, i, j) for function in functions) % 2 == 1


def check_program_examples(program: ast.Program) -> None:
    """Holds the `accept:`, `reject:` and `map:` examples of a program against its meaning.

    Raises:
        SourceError: at the first example (in the order of the text) that the program contradicts, or whose word it
            cannot pad.
    """
    oracle = ProgramOracle(program)
    for example in program.examples:
        try:
            message = _contradiction(oracle, example)
        except InputError as error:
            raise SourceError(program.source, example.span, error.message, hint=error.hint) from None
        if message:
            raise SourceError(program.source, example.span, message, hint="Correct the program or the example.")


def _contradiction(oracle: ProgramOracle, example: ast.Example) -> str:
    """What a program does with an example if it is not what the example says; empty if it is."""
    program = oracle.program
    shown = show_word(program, example.word)
    if isinstance(example, ast.MapExample):
        output = oracle.output(example.word)
        if output == example.output:
            return ""
        found, wanted = (show_word(program, word) for word in (output, example.output))
        return f"the program maps '{shown}' to '{found}', and 'map:' says '{wanted}'"
    accepted = oracle.accepts(example.word)
    if accepted == example.accept:
        return ""
    listed, gives = ("accept", "rejects") if example.accept else ("reject", "accepts")
    value = "true" if accepted else "false"
    return f"the program {gives} '{shown}', which is listed under '{listed}:' ({program.output} is {value} at the end)"
