"""Formulas with known answers that live beside the project, for every engine that decides words.

The file is third-party material and not part of the project: it is looked for in the directory that
`HARDSIM_CONFORMANCE` names, else in `../shared/conformance` beside the project's root. Where it is absent, `ROWS` is
empty, and nothing is claimed: tests over the rows stand below `if ROWS:` (pytest would report an empty
parametrization as skipped). A sweep over the rows carries the marker `conformance`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from hardsim.lang import ast
from hardsim.lang.parse import parse_expression

Word = tuple[str, ...]

DIRECTORY = Path(os.environ.get("HARDSIM_CONFORMANCE") or Path(__file__).parents[2] / "shared" / "conformance")
FILE = DIRECTORY / "ltlf.jsonl"


@dataclass(frozen=True)
class Row:
    """A formula and its truth at the first and at the last position of every word of length 1 to `max_length`."""

    name: str
    text: str
    tree: Any
    kind: Literal["future", "past", "mixed"]
    alphabet: tuple[str, ...]
    max_length: int
    first: str
    last: str
    accepted_first: int
    accepted_last: int

    @property
    def formula(self) -> ast.Formula:
        """The formula as the parser reads the row's text."""
        return parse_expression(self.text, self.alphabet, name=self.name).formula

    def file(self, at: Literal["first", "last"] = "last") -> ast.FormulaFile:
        """A formula file for the row."""
        return ast.FormulaFile(self.alphabet, self.formula, at=at)

    @property
    def has_future(self) -> bool:
        """Whether a future operator occurs (then no causal model can compute the formula)."""
        return self.kind != "past"

    def expected(self, at: Literal["first", "last"], max_length: int | None = None) -> list[bool]:
        """One truth value per word of `words(max_length)`, in the same order."""
        digits = self.first if at == "first" else self.last
        bits = "".join(f"{int(digit, 16):04b}" for digit in digits)
        count = sum(len(self.alphabet) ** n for n in range(1, self.max_length + 1))
        if len(bits) != (count + 3) // 4 * 4:
            raise ValueError(f"{self.name}: {len(bits)} bits for {count} words")
        wanted = sum(len(self.alphabet) ** n for n in range(1, self._length(max_length) + 1))
        return [bit == "1" for bit in bits[:wanted]]

    def words(self, max_length: int | None = None) -> Iterator[Word]:
        """All words of length 1 to `max_length` (the row's own by default), in the order of the signatures."""
        for n in range(1, self._length(max_length) + 1):
            yield from product(self.alphabet, repeat=n)

    def _length(self, max_length: int | None) -> int:
        return self.max_length if max_length is None else min(max_length, self.max_length)

    def contradictions(
        self, accepts: Callable[[Word], bool], at: Literal["first", "last"], max_length: int | None = None
    ) -> list[Word]:
        """The words, shortest first, about which `accepts` differs from the signature."""
        answers = self.expected(at, max_length)
        return [
            word for word, answer in zip(self.words(max_length), answers, strict=True) if bool(accepts(word)) != answer
        ]


@cache
def _rows() -> tuple[Row, ...]:
    if not FILE.exists():
        return ()
    return tuple(_row(json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip())


def _row(data: dict[str, Any]) -> Row:
    return Row(
        name=data["id"],
        text=data["text"],
        tree=data["ast"],
        kind=data["class"],
        alphabet=tuple(data["alphabet"]),
        max_length=data["maxlen"],
        first=data["sig_first"],
        last=data["sig_last"],
        accepted_first=data["accepted_first"],
        accepted_last=data["accepted_last"],
    )


ROWS: tuple[Row, ...] = _rows()
"""Every row, or none where the file is absent."""

NAMES: tuple[str, ...] = tuple(row.name for row in ROWS)
"""The rows' names, for `pytest.mark.parametrize(..., ids=NAMES)`."""

_NARY: dict[str, ast.NaryOp] = {"and": "&", "or": "|", "xor": "^"}
_ARROW: dict[str, ast.ArrowOp] = {"implies": "->", "iff": "<->"}
_UNARY: dict[str, ast.UnaryOp] = {op: op for op in get_args(ast.UnaryOp)}
_BINARY: dict[str, ast.BinaryOp] = {op: op for op in get_args(ast.BinaryOp)}


def formula_of(tree: Any) -> ast.Formula:
    """The surface syntax of a row's tree: nested lists with the operator first, as in `["U", ["ap", "a"], ...]`.

    Conjunctions directly below conjunctions become one n-ary node, as in the syntax of formula files.
    """
    op, *rest = tree
    if op == "ap":
        return ast.Symbol(rest[0])
    args = [formula_of(part) for part in rest]
    if op in ("true", "false"):
        return ast.Truth(op == "true")
    if op == "not":
        return ast.Not(args[0])
    if op in _NARY:
        return _flat(_NARY[op], args)
    if op in _ARROW:
        return ast.Arrow(_ARROW[op], args[0], args[1])
    if op in _UNARY:
        return ast.Unary(_UNARY[op], args[0])
    return ast.Binary(_BINARY[op], args[0], args[1])


def _flat(op: ast.NaryOp, args: list[ast.Formula]) -> ast.Nary:
    members: list[ast.Formula] = []
    for arg in args:
        members.extend(arg.args if isinstance(arg, ast.Nary) and arg.op == op else [arg])
    return ast.Nary(op, tuple(members))
