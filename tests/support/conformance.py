"""Formulas with known answers that live beside the project, for every engine that decides words.

The file is third-party material and not part of the project: it is looked for in the directory that
`HARDSIM_CONFORMANCE` names, else in `../shared/conformance` beside the project's root. Where it is absent, `ROWS` is
empty, and nothing is claimed: tests over the rows stand below `if ROWS:` (pytest would report an empty
parametrization as skipped).
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from hardsim.lang import ast
from tests.support.language import parse_expression
from tests.support.strategies import all_words

Word = tuple[str, ...]
At: TypeAlias = Literal["first", "last"]

DIRECTORY = Path(os.environ.get("HARDSIM_CONFORMANCE") or Path(__file__).parents[3] / "shared" / "conformance")
FILE = DIRECTORY / "ltlf.jsonl"


@dataclass(frozen=True)
class Row:
    """A formula, and its truth at the first and at the last position of every word up to a length."""

    name: str
    data: dict[str, Any]

    def file(self, at: At = "last") -> ast.FormulaFile:
        """Return a formula file for the row, as the parser reads its text."""
        alphabet = tuple(self.data["alphabet"])
        return ast.FormulaFile(alphabet, parse_expression(self.data["text"], alphabet, name=self.name).formula, at=at)

    @property
    def has_future(self) -> bool:
        """Return True if the formula has a future operator; then no causal model can compute it."""
        return bool(self.data["class"] != "past")

    def answers(self, at: At, longest: int | None = None) -> dict[Word, bool]:
        """Return the expected answer for every word of length 1 to `longest` (by default the longest of the row)."""
        words = all_words(self.data["alphabet"], self.data["maxlen"])
        digits = self.data[f"sig_{at}"]
        assert len(digits) == (len(words) + 3) // 4, f"{self.name}: {len(digits)} digits for {len(words)} words"
        bits = "".join(f"{int(digit, 16):04b}" for digit in digits)
        return {
            word: bit == "1" for word, bit in zip(words, bits, strict=False) if longest is None or len(word) <= longest
        }


ROWS = (
    [Row(data["id"], data) for data in map(json.loads, FILE.read_text("utf-8").splitlines())] if FILE.exists() else []
)

_OPERATORS: dict[str, Callable[..., ast.Formula]] = {
    "ap": ast.Symbol,
    "true": lambda: ast.Truth(True),
    "false": lambda: ast.Truth(False),
    "not": ast.Not,
    "and": lambda *args: _flat("&", args),
    "or": lambda *args: _flat("|", args),
    "xor": lambda *args: _flat("^", args),
    "implies": lambda left, right: ast.Arrow("->", left, right),
    "iff": lambda left, right: ast.Arrow("<->", left, right),
}


def formula_of(tree: Any) -> ast.Formula:
    """Return the surface syntax of a row's tree, which is nested lists with the operator first: `["U", ["ap",
    "a"], ...]`.

    Conjunctions directly below conjunctions become one n-ary node, as in the syntax of formula files.
    """
    op, *rest = tree
    args = rest if op == "ap" else [formula_of(part) for part in rest]
    if op in _OPERATORS:
        return _OPERATORS[op](*args)
    return ast.Unary(op, *args) if op in get_args(ast.UnaryOp) else ast.Binary(op, *args)


def _flat(op: ast.NaryOp, args: tuple[ast.Formula, ...]) -> ast.Nary:
    members = (arg.args if isinstance(arg, ast.Nary) and arg.op == op else (arg,) for arg in args)
    return ast.Nary(op, tuple(chain.from_iterable(members)))
