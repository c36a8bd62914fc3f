"""Decision diagrams compared with the functions that they represent."""

from fractions import Fraction
from itertools import product

import pytest

from hardsim.proof.formulas import facts as module
from hardsim.proof.formulas.facts import Diagrams, TooLarge, clip


def test_equal_functions_are_equal_numbers() -> None:
    table = Diagrams()
    a, b, c = (table.variable(name) for name in "abc")
    conjunction = table.map("clip", clip, table.linear([(1, a), (1, b), (1, c)], -2))
    negated = [table.linear([(-1, x)], 1) for x in (a, b, c)]
    # a & b & c = !(!a | !b | !c); a disjunction is the clip of the sum.
    other = table.linear([(-1, table.map("clip", clip, table.linear([(1, x) for x in negated])))], 1)
    assert conjunction == other
    assert set(table.values(conjunction)) == {0, 1}


def test_values_are_those_that_are_taken_together() -> None:
    table = Diagrams()
    a, b = table.variable("a"), table.variable("b")
    either = table.map("clip", clip, table.linear([(1, a), (1, b)]))
    assert set(table.values(table.join([a, b, either]))) == {(x, y, max(x, y)) for x, y in product((0, 1), repeat=2)}


def test_symbols_exclude_each_other() -> None:
    table = Diagrams()
    symbol = table.variable("symbol", (0, 1, 2))
    is_first = table.map("is 0", lambda x: int(x == 0), symbol)
    both = table.join([is_first, table.map("is 1", lambda x: int(x == 1), symbol)])
    assert set(table.values(both)) == {(1, 0), (0, 1), (0, 0)}
    assert table.example(both, (0, 1)) == {"symbol": 1}


def test_rationals_and_integers_are_the_same_values() -> None:
    table = Diagrams()
    a = table.variable("a")
    assert table.linear([(2, table.linear([(Fraction(1, 2), a)], Fraction(1, 2)))], -1) == a


def test_a_function_can_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 20)
    table = Diagrams()
    with pytest.raises(TooLarge):
        table.linear([(2**k, table.variable(k)) for k in range(10)])
