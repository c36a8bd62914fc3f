"""Truths of a network of means as functions of the symbol and of comparisons, each stored as its table.

*Atoms* are comparisons of counts, written with coprime integers, so that equal ones are written alike. Equal functions
have equal tables, so nothing has to be told which part of the formula a coordinate holds: the function of the output is
compared with that of the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor, gcd, lcm
from typing import Any

from hardsim.verify.arithmetic import require
from hardsim.verify.sections import (
    FORMAT,
    FORMULA,
    LABELS,
    ROW,
    SYMBOLS,
    Shape,
    integer,
    keys,
    many,
    named,
    one_of,
    rational,
    such,
    text,
)

MOST_ATOMS, LARGEST_TABLE = 10, 1 << 16
"""Most atoms of a function, and most entries of its table."""
MEANS_SECTIONS = ("claim", "min_n", "max_n", "labels", "formula", "model")
"""Sections of a certificate of a network of means, each with its digest."""
MEANS_HEAD = keys(name=text, mask=one_of("future", "none"), values=named(ROW))
Function = tuple[tuple[int, ...], tuple[bool, ...]]
"""Atoms, and the truth for each symbol (first) and each choice of the atoms."""
Signs = tuple[int, Function | None]
"""1 or -1 times the sign of a function (None: a constant); 0 for a value that is 0."""
Linear = dict[Function | None, Fraction]


def means_certificate(claim: str, layer: Shape, **parts: Shape) -> Shape:
    """Return the shape of a certificate of a network of means, which has further parts beside its layers."""
    return keys(
        format=one_of(FORMAT),
        schema_version=integer,
        claim=one_of(claim),
        min_n=integer,
        max_n=such(lambda data: data is None, "null"),
        labels=LABELS,
        formula=keys(**SYMBOLS, **FORMULA),
        model=keys(
            **SYMBOLS,
            coordinates=many(text, 1),
            embedding=named(many(rational, 2)),
            temperature=one_of("1"),
            **parts,
            layers=many(layer),
            output=text,
        ),
        digests=keys(**dict.fromkeys(MEANS_SECTIONS, text)),
    )


def divisor(counts: Linear) -> Fraction:
    """Return the greatest common divisor of the coefficients; 0 of none."""
    over = lcm(*(value.denominator for value in counts.values()))
    return Fraction(gcd(*(int(value * over) for value in counts.values())), over)


class CountFunctions:
    """The functions of a certificate of a network of means. The constructor raises Rejected if the alphabets of formula
    and network differ, or names are repeated."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        formula, self.model = document["formula"], document["model"]
        self.symbols: list[str] = formula["alphabet"]
        self.names: list[str] = self.model["coordinates"]
        fine = document["min_n"] == 1 and len({*self.symbols}) == len(self.symbols)
        require(fine, "min_n should be 1, and symbols must differ")
        require(self.model["alphabet"] == self.symbols, "model.alphabet differs from formula.alphabet")
        require(len({*self.names}) == len(self.names), "model.coordinates: names must differ")
        require(self.model["output"] in self.names, "model.output: no coordinate has this name")
        self.atoms: dict[Any, int] = {}
        self.root = self._root(formula)

    # ---- functions ----

    def function(
        self, parts: Sequence[Function], join: Callable[[int, dict[int, bool]], bool], new: Sequence[int] = ()
    ) -> Signs:
        """Return the sign of a function of the symbol and of the atoms of some functions, and of the atoms `new`."""
        atoms = sorted({*new, *(atom for own, _ in parts for atom in own)})
        table = {(k, tuple(choice.values())): join(k, choice) for k, choice in self.cases(atoms)}
        for place in reversed(range(len(atoms))):
            flipped = {(k, c): table[k, (*c[:place], not c[place], *c[place + 1 :])] for k, c in table}
            if flipped == table:  # the function does not depend on this atom
                table = {(k, (*c[:place], *c[place + 1 :])): value for (k, c), value in table.items()}
                del atoms[place]
        values = tuple(table.values())
        if len({*values}) == 1:
            return (1 if values[0] else -1), None
        # Of a function and its negation, the one that is true first stands for both.
        return (1 if values[0] else -1), (tuple(atoms), tuple(value == values[0] for value in values))

    def cases(self, atoms: Sequence[int]) -> Iterator[tuple[int, dict[int, bool]]]:
        """Yield every symbol with every choice of some atoms."""
        require(len(atoms) <= MOST_ATOMS, "too large: a function of too many comparisons")
        require(len(self.symbols) << len(atoms) <= LARGEST_TABLE, "too large: the table of a function")
        for k in self.places:
            for values in product((False, True), repeat=len(atoms)):
                yield k, dict(zip(atoms, values, strict=True))

    @property
    def places(self) -> range:
        """The numbers of the symbols."""
        return range(len(self.symbols))

    def holds(self, function: Function | None, symbol: int, choice: Mapping[int, bool]) -> bool:
        """Return the truth of a function at a symbol for a choice of its atoms."""
        if function is None:
            return True
        index = symbol
        for atom in function[0]:
            index = 2 * index + choice[atom]
        return function[1][index]

    def atom(self, side: str, counts: Linear, start: Fraction, strict: bool = True) -> tuple[int, bool]:
        """Return the number of the comparison `sum of counts + start > 0`, or `>= 0` unless `strict`, and its
        polarity."""
        step = divisor(counts)
        order = sorted(counts, key=lambda function: ((), ()) if function is None else function)
        sign = 1 if counts[order[0]] > 0 else -1
        bound = floor(-start / step) + 1 if strict else ceil(-start / step)
        key = (side, tuple((one, sign * counts[one] / step) for one in order), bound if sign > 0 else 1 - bound)
        return self.atoms.setdefault(key, len(self.atoms)), sign > 0

    # ---- the formula ----

    def _root(self, formula: Mapping[str, Any]) -> Signs:
        found: list[Signs] = []
        for k, (op, args, *rest) in enumerate(formula["nodes"]):
            require(all(0 <= node < k for node, _ in args), f"formula.nodes[{k}]: operands stand before their node")
            parts = [(found[node][0] * (-1 if negated else 1), found[node][1]) for node, negated in args]
            found.append(self._node(k, op, parts, rest))
        node, negated = formula["root"]
        require(0 <= node < len(found), "formula.root: there is no such node")
        sign, function = found[node]
        return (-sign if negated else sign), function

    def _node(self, k: int, op: str, parts: list[Signs], rest: list[Any]) -> Signs:
        functions = [function for _, function in parts if function is not None]
        if op == "letters":
            require({*rest} <= {*self.symbols}, f"formula.nodes[{k}]: symbols must be of the alphabet")
            return self.function([], lambda symbol, _: self.symbols[symbol] in rest)
        if op in ("and", "xor"):

            def join(symbol: int, choice: dict[int, bool]) -> bool:
                truths = [self.holds(function, symbol, choice) == (sign > 0) for sign, function in parts]
                return all(truths) if op == "and" else truths[0] != truths[1]

            return self.function(functions, join)
        side, terms, constant = "", [], 0
        if op == "at least":
            sides = {one for _, one in rest[0]}
            require(
                len(sides) == 1 and not sides & {"R"}, f"formula.nodes[{k}]: counts of one kind, #L or #, are needed"
            )
            (side,) = sides
            terms, constant = [value for value, _ in rest[0]], rest[1]
        else:
            require(op == "S" and parts[0] == (1, None), f"formula.nodes[{k}]: there is no rule for {op} here")
            side, terms, constant, parts = "L", [1], -1, parts[1:]
        counts: Linear = {}
        for value, (sign, function) in zip(terms, parts, strict=True):
            if function is None:
                counts[None] = counts.get(None, Fraction(0)) + value * (sign > 0)
            else:
                counts[function] = counts.get(function, Fraction(0)) + sign * value
                counts[None] = counts.get(None, Fraction(0)) + value * (sign < 0)
        counts = {function: value for function, value in counts.items() if value}
        if not counts:
            return (1 if constant >= 0 else -1), None
        atom, polarity = self.atom(side, counts, constant + Fraction(1, 2))
        return self.function([], lambda _, choice: choice[atom] == polarity, [atom])
