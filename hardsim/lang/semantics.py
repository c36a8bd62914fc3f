"""The oracle: the truth of a formula at every position of a word, computed from the definitions alone.

The oracle decides which answers are right, so it shares no code with the networks and proofs that are compared with it.
It evaluates the surface syntax, reduces no operator to another except where that is the definition (duals, weak until),
and simulates no attention. Positions are 1..n; a *column* is the list of the values of one subformula (bools) or term
(integers) at positions 1..n.

    X  phi at i    i < n  and phi at i+1         WX phi at i    i = n  or  phi at i+1
    Y  phi at i    i > 1  and phi at i-1         WY phi at i    i = 1  or  phi at i-1
    F  phi at i    some j >= i with phi          G  phi at i    phi at all j >= i
    O  phi at i    some j <= i with phi          H  phi at i    phi at all j <= i
    phi U psi      some j >= i with psi at j and phi at all k in [i, j)
    phi S psi      some j <= i with psi at j and phi at all k in (j, i]
    phi R psi      not (not phi U not psi)       phi T psi      not (not phi S not psi)
    phi W psi      (phi U psi) or (G phi)        phi M psi      psi U (phi and psi)
    F[l,u] phi at i, G, phi U[l,u] psi           the same with j in [i+l, i+u]; X[k] is k times X
    O[l,u] phi at i, H, phi S[l,u] psi           the same with j in [i-u, i-l]; Y[k] is k times Y
    #L[phi]        how many j <= i have phi;  #R: j >= i;  #: all j

The definitions are those of linear temporal logic on finite words (De Giacomo and Vardi 2013 for the future
operators; Kamp 1968 for since), with reflexive `U` and `S`. Counts are those of Yang, Strobl, Chiang and Angluin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from operator import add, and_, eq, mul, ne, neg, or_, pos, sub
from typing import Final, Literal, TypeAlias

from hardsim.errors import InputError, SourceError, WrongExample
from hardsim.lang import ast
from hardsim.lang.arith import COMPARISONS
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.predicate import BUILT_IN, NumericalPredicate, user_predicates
from hardsim.lang.valuations import Valuations, listed
from hardsim.lang.words import written_word

Column: TypeAlias = Sequence[int]
"""The values of a subformula (bools) or term at positions 1..n, position i at index i - 1."""

_Columns: TypeAlias = list[Column]
_Step: TypeAlias = Callable[[Sequence[str], _Columns], Column]
_Key: TypeAlias = tuple[object, ...]


def _once(phi: Column) -> Column:
    return list(accumulate(phi, or_))


def _historically(phi: Column) -> Column:
    return list(accumulate(phi, and_))


def _backwards(column: Column) -> Column:
    return column[::-1]


def _always(phi: Column) -> Column:
    return _backwards(_historically(_backwards(phi)))


def _not(phi: Column) -> Column:
    return [not value for value in phi]


def _since(phi: Column, psi: Column) -> Column:
    """Return the column of `phi S psi`: the latest witness j <= i of psi is the best one, and it works iff phi holds at
    all k in (j, i]."""
    truth = []
    latest_witness = latest_failure = 0
    for i, (left, right) in enumerate(zip(phi, psi, strict=True), start=1):
        if right:
            latest_witness = i
        if not left:
            latest_failure = i
        truth.append(0 < latest_witness >= latest_failure)
    return truth


def _until(phi: Column, psi: Column) -> Column:
    """Return the column of `phi U psi`, which is since read from right to left: some j >= i with psi, and phi at all k
    in [i, j)."""
    return _backwards(_since(_backwards(phi), _backwards(psi)))


def _pointwise(operation: Callable[[int, int], int], left: Column, right: Column) -> Column:
    return list(map(operation, left, right))


_UNARY: Final[Mapping[ast.UnaryOp, Callable[[Column], Column]]] = {
    "X": lambda phi: [*phi[1:], False],
    "WX": lambda phi: [*phi[1:], True],
    "Y": lambda phi: [False, *phi[:-1]],
    "WY": lambda phi: [True, *phi[:-1]],
    "O": _once,
    "H": _historically,
    "F": lambda phi: _backwards(_once(_backwards(phi))),
    "G": _always,
}
_BINARY: Final[Mapping[ast.BinaryOp, Callable[[Column, Column], Column]]] = {
    "U": _until,
    "R": lambda phi, psi: _not(_until(_not(phi), _not(psi))),
    "W": lambda phi, psi: _pointwise(or_, _until(phi, psi), _always(phi)),
    "M": lambda phi, psi: _until(psi, _pointwise(and_, phi, psi)),
    "S": _since,
    "T": lambda phi, psi: _not(_since(_not(phi), _not(psi))),
}


def _within(least: int, most: int, phi: Column, psi: Column) -> Column:
    """Return the column of bounded until: some j in [i + least, i + most] with psi at j and phi at all k in [i, j)."""
    n, truth = len(phi), []
    for i in range(n):
        failure = next((k for k in range(i, min(i + most, n)) if not phi[k]), n)  # any witness is at most here
        truth.append(any(psi[j] for j in range(i + least, min(i + most, failure, n - 1) + 1)))
    return truth


def _bounded(op: str, least: int, most: int) -> Callable[[list[Column]], Column]:
    """Return the function from operand columns to the column of an operator with bounds. Operators of the past are
    evaluated from right to left; G, H, WX and WY are duals."""

    def ahead(args: list[Column]) -> Column:
        return _within(least, most, args[0] if len(args) > 1 else [True] * len(args[0]), args[-1])

    def dual(args: list[Column]) -> Column:
        return _not(ahead([_not(arg) for arg in args]))

    # `X[k]` has one operand and least = most = k, so `_within` covers it
    meaning = dual if op in ("G", "H", "WX", "WY") else ahead
    if op in ("O", "H", "S", "Y", "WY"):
        return lambda args: _backwards(meaning([_backwards(arg) for arg in args]))
    return meaning


_NARY: Final[Mapping[ast.NaryOp, Callable[[int, int], int]]] = {"&": and_, "|": or_, "^": ne}
_ARROW: Final[Mapping[ast.ArrowOp, Callable[[int, int], int]]] = {
    "->": lambda left, right: not left or right,
    "<->": eq,
}


_COUNT: Final[Mapping[ast.CountSide, Callable[[Column], Column]]] = {
    "L": lambda phi: list(accumulate(phi, add)),
    "R": lambda phi: _backwards(list(accumulate(_backwards(phi), add))),
    "": lambda phi: [sum(phi)] * len(phi),
}


class Oracle:
    """Decides words by the definition of a file's formula. Construct one oracle and use it for many words.

    The formula is flattened once into a list of steps, each of which computes one column from earlier ones. A `let` is
    one column however often its name is used, and so is any subformula that occurs twice. Evaluating a word is one loop
    over the steps, so nesting costs no recursion and time is O(steps * n).

    `predicates` maps the names that the file defines by `pred` to their meanings; by default the file's definitions are
    used. Raises SourceError for a name without a definition or a predicate that is not in `predicates`; when a word is
    evaluated, also where a condition of a `pred` line has no value (see hardsim/lang/predicate.py).
    """

    def __init__(self, file: ast.FormulaFile, predicates: Mapping[str, NumericalPredicate] | None = None) -> None:
        self.file = file
        own = user_predicates(file) if predicates is None else predicates
        self._predicates: Mapping[str, NumericalPredicate] = {**BUILT_IN, **own}
        self._known: set[str] = set()
        self._steps: list[_Step] = []
        self._numbers: dict[_Key, int] = {}
        self._names: dict[str, int] = {}
        for let in file.lets:
            self._names[let.name] = walked(self._column(let.body))
        self._root = walked(self._column(file.formula))

    def truth(self, word: Sequence[str]) -> list[bool]:
        """Return the truth value of the formula at positions 1..n of a word (a sequence of n symbols), shape (n,).
        Raises InputError for the empty word, which has no position, and for a symbol that is not in the alphabet."""
        if not word:
            raise InputError("the empty word has no position to read the formula at", "Words have one symbol or more.")
        # Looking up symbols of a large alphabet of sets is slow, so those seen before are remembered.
        if not self._known.issuperset(word):
            external = next((symbol for symbol in word if symbol not in self.file.alphabet), None)
            self._known.update(word if external is None else ())
        if not self._known.issuperset(word):
            known = listed(self.file.alphabet)
            raise InputError(f"the symbol '{external}' is not in the alphabet", f"The alphabet is: {known}")
        columns: _Columns = []
        for step in self._steps:
            columns.append(step(word, columns))
        return [bool(value) for value in columns[self._root]]

    def accepts(self, word: Sequence[str], at: Literal["first", "last"] | None = None) -> bool:
        """Return the truth value at position 1 (`first`) or n (`last`); by default at the position that the file
        states."""
        return self.truth(word)[0 if (at or self.file.at) == "first" else -1]

    def _emit(self, key: _Key, step: _Step) -> int:
        """Return the number of the column that `key` describes; `step` is added to compute it if there is no such
        column yet."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._steps)
            self._steps.append(step)
        return number

    def _map(self, key: str, function: Callable[[Column], Column], arg: int) -> int:
        return self._emit((key, arg), lambda word, columns: function(columns[arg]))

    def _zip(self, key: str, function: Callable[[Column, Column], Column], left: int, right: int) -> int:
        return self._emit((key, left, right), lambda word, columns: function(columns[left], columns[right]))

    def _pointwise(self, key: str, operation: Callable[[int, int], int], left: int, right: int) -> int:
        return self._zip(key, lambda first, second: _pointwise(operation, first, second), left, right)

    def _column(self, node: ast.Node) -> Walk[int]:
        """Return the number of the column of a formula or term, adding steps as needed."""
        match node:
            case ast.Symbol(name) if isinstance(self.file.alphabet, Valuations):
                holds = ("holds", name)  # a position has a set of propositions, written {p,q}
                return self._emit(holds, lambda word, columns: [name in held[1:-1].split(",") for held in word])
            case ast.Symbol(name):
                return self._emit(("symbol", name), lambda word, columns: [symbol == name for symbol in word])
            case ast.Truth(value):
                return self._emit(("truth", value), lambda word, columns: [value] * len(word))
            case ast.Marker("first"):
                return self._emit(("first",), lambda word, columns: [i == 0 for i in range(len(word))])
            case ast.Marker():
                return self._emit(("last",), lambda word, columns: [i == len(word) - 1 for i in range(len(word))])
            case ast.Ref(name):
                if name not in self._names:
                    raise SourceError(self.file.source, node.span, f"the name '{name}' has no definition before it")
                return self._names[name]
            case ast.Not(arg):
                return self._map("!", _not, (yield self._column(arg)))
            case ast.Nary(op, args):
                result: int = yield self._column(args[0])
                for arg in args[1:]:
                    result = self._pointwise(op, _NARY[op], result, (yield self._column(arg)))
                return result
            case ast.Arrow(op, left, right):
                return self._pointwise(op, _ARROW[op], (yield self._column(left)), (yield self._column(right)))
            case ast.Unary(op, arg):
                return self._map(op, _UNARY[op], (yield self._column(arg)))
            case ast.Binary(op, left, right):
                return self._zip(op, _BINARY[op], (yield self._column(left)), (yield self._column(right)))
            case ast.Bounded(op, least, most, args):
                numbers, meaning = (yield each(map(self._column, args))), _bounded(op, least, most)
                key = (op, least, most, *numbers)
                return self._emit(key, lambda word, columns: meaning([columns[k] for k in numbers]))
            case _:
                return self._arithmetic(node)

    def _arithmetic(self, node: ast.Node) -> Walk[int]:
        """Return the number of the column of a comparison, congruence or numerical predicate, or of a term."""
        match node:
            case ast.Compare(op, left, right):
                return self._pointwise(op, COMPARISONS[op], (yield self._column(left)), (yield self._column(right)))
            case ast.Congruent(term, modulus, residue):
                value = yield self._column(term)  # `%` is in [0, modulus), also for negative values
                key = ("mod", modulus, residue, value)
                return self._emit(key, lambda word, columns: [x % modulus == residue for x in columns[value]])
            case ast.Predicate():
                return self._predicate(node)
            case ast.Integer(value):
                return self._emit(("integer", value), lambda word, columns: [value] * len(word))
            case ast.Position():
                return self._emit(("pos",), lambda word, columns: range(1, len(word) + 1))
            case ast.Length():
                return self._emit(("len",), lambda word, columns: [len(word)] * len(word))
            case ast.Count(side, arg):
                return self._map(f"#{side}", _COUNT[side], (yield self._column(arg)))
            case ast.Sum(op, left, right):
                operation: Callable[[int, int], int] = add if op == "+" else sub
                return self._pointwise(
                    f"binary {op}", operation, (yield self._column(left)), (yield self._column(right))
                )
            case ast.Signed(op, arg):
                sign: Callable[[int], int] = neg if op == "-" else pos
                return self._map(f"unary {op}", lambda term: [sign(value) for value in term], (yield self._column(arg)))
            case ast.Product(left, right):
                return self._pointwise("*", mul, (yield self._column(left)), (yield self._column(right)))
            case _:
                raise TypeError(f"not a formula or term: {type(node).__name__}")

    def _predicate(self, node: ast.Predicate) -> Walk[int]:
        """Return the number of the column of a numerical predicate of the position, or of a term, which may be 0
        or negative."""
        term = node.term or ast.Position()
        if node.name == "MOD":
            return self._column(ast.Congruent(term, *node.params))
        value = yield self._column(term)
        holds = self._predicates.get(node.name)
        if holds is None:
            known = "EVEN, ODD, MOD(m, r), PRIME, SQUARE, POW2, or a name defined by a `pred` line"
            raise SourceError(self.file.source, node.span, f"unknown numerical predicate '{node.name}'", known)
        key = ("predicate", node.name, value)
        return self._emit(key, lambda word, columns: [bool(holds(x, len(word))) for x in columns[value]])


def check_examples(
    file: ast.FormulaFile,
    predicates: Mapping[str, NumericalPredicate] | None = None,
    at: Literal["first", "last"] | None = None,
) -> None:
    """Check the `accept:` and `reject:` words of a file against its formula, read at position `at` (by default the
    file's). Raises SourceError at the first word, in the order of the text, that the formula contradicts."""
    oracle, what = (file.oracle, "program") if file.oracle else (Oracle(file, predicates), "formula")
    where = at or file.at
    for example in sorted(file.examples, key=lambda example: example.span.start):
        if oracle.accepts(example.word, where) == example.accept:
            continue
        listed, gives = ("accept", "rejects") if example.accept else ("reject", "accepts")
        position = 1 if where == "first" else len(example.word)
        raise WrongExample(
            file.source,
            example.span,
            f"the {what} {gives} '{written_word(example.word, file.alphabet)}', which is listed under '{listed}:' "
            f"(it is {'false' if example.accept else 'true'} at position {position}, the {where})",
            hint=f"Correct the {what} or the example"
            + ("; `at: first` or `at: last` says where the formula is read." if what == "formula" else "."),
        )
