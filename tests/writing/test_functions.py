"""Functions of positions and lengths as model.py evaluates them, which needs no torch."""

import ast
import json
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hardsim.network.columns import BUILT_IN, real_value
from hardsim.network.transformer import PositionTable
from hardsim.writing.layout import function_json, nearest_float
from tests.lang import test_recorded_expressions as recorded
from tests.support.language import Oracle, SourceError, parse_arith, parse_text
from tests.support.mistakes import raised
from tests.support.model import LengthTable, PredicateColumn
from tests.writing.bare import MODEL, names_of_model
from tests.writing.runs import to_export

NAMES = names_of_model()
value = NAMES["value"]
TEXTS = [text for sort, text, found in recorded.RECORDS if sort == "number" and "text" in found]
PLACES = ((1, 1), (2, 5), (0, 3), (4, 4), (7, 8))


def written(function: Any) -> Any:
    """Return a function as it stands in config.json."""
    return json.loads(json.dumps(function_json(function, {})))


def test_recorded_expressions_are_the_same_rationals() -> None:
    held = 0
    for text in TEXTS:
        function = parse_arith(text)
        for i, n in PLACES:
            try:
                expected = function.evaluate(i=i, n=n)
            except SourceError:
                continue
            assert value(written(function), i, n) == expected, (text, i, n)
            held += 1
    assert held > 800


@pytest.mark.parametrize(
    "text",
    ["log(n + 1)/sqrt(i)", "exp(-i/n)", "sqrt(2*n)^3", "[i^2 < n and not i = 2 or i mod 3 = 1]*log(2)", "2^sqrt(n^2)"],
)
def test_real_functions_are_near(text: str) -> None:
    function = parse_arith(text)
    for i, n in PLACES:
        if i:
            found, expected = float(value(written(function), i, n)), nearest_float(real_value(function, i, n))
            assert abs(found - expected) <= 1e-14 * abs(expected)


@pytest.mark.parametrize("name", BUILT_IN)
def test_predicates(name: str) -> None:
    """Values include multiples of i and n, and negative numbers."""
    for of_i, of_n, offset in product((0, 1, 3, -2), (0, 1, -1), (0, 5, -7)):
        column = PredicateColumn(name, (5, 2) if name == "MOD" else (), of_i, of_n, offset)
        for i, n in ((1, 1), (2, 5), (30, 31), (64, 64)):
            assert value(written(column), i, n) == column.evaluate(i=i, n=n), (str(column), i, n)


DEFINED = """alphabet: a b
pred EDGE(x, n) = x == 007 or   // zeros in front, and several lines
     n mod (x + 1) == 0
   and not x == 3
O (EDGE & a)
"""


def test_a_predicate_of_a_file_in_several_lines(tmp_path: Path) -> None:
    (tmp_path / "odd.ltl").write_text(DEFINED, encoding="utf-8")
    positions = to_export(tmp_path / "odd.ltl").layout.description["positions"]
    (text,) = (one for _, (one,) in positions if "==" in one)
    for i, n in ((1, 1), (7, 20), (3, 8), (5, 12), (6, 12)):
        assert value(text, i, n) == (i == 7 or (n % (i + 1) == 0 and i != 3))
    file = parse_text(DEFINED.encode(), "odd.ltl")
    assert [Oracle(file).accepts(tuple(word), "last") for word in ("bbbbbbabbb", "bba")] == [True, False]


def test_tables() -> None:
    lengths = written(LengthTable((Fraction(1, 3), Fraction(2))))
    assert [value(lengths, 1, n) for n in (1, 2)] == [Fraction(1, 3), 2]
    for n in (0, 3):  # the empty word, which is refused, and lengths beyond the table
        raised(IndexError, value, lengths, 1, n)
    places = written(PositionTable(2, (Fraction(5), Fraction(1, 7)), Fraction(-1)))
    assert [value(places, i, 9) for i in (0, 1, 2, 3, 4)] == [-1, -1, 5, Fraction(1, 7), -1]


@pytest.mark.parametrize("text", ["__import__('os')", "().__class__", "i.real", "lambda: 1", "n := 2", "'a'", "i, n"])
def test_only_expressions_are_evaluated(text: str) -> None:
    """A description may come from anybody: it knows only the names of expressions, and reaches nothing through
    them.
    """
    assert isinstance(raised(Exception, value, text, 1, 1), ValueError | NameError | SyntaxError | AttributeError)


def test_it_is_short_and_needs_nothing_else() -> None:
    text = MODEL.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 320
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in found}
    assert {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) == {"torch"}
