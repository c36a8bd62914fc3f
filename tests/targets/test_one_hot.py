"""Answers with several outputs, from arrays, against the definition word by word."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.campaign.engines import HardRunner, SoftEngine
from hardsim.network.integers import Exact
from hardsim.run.arithmetic import Column
from tests.support.subjects import compiled, shipped

SIDES = st.sampled_from([True, False, None])


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(SIDES, SIDES), min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_symbol_of_the_one_output_above_the_threshold(words: list[list[tuple[bool | None, bool | None]]]) -> None:
    """An output whose side is open makes its position uncertain, also where another output is above."""
    subject = shipped("reverse.srasp")
    names = [symbol for symbol, _ in subject.program.outputs]
    assert len(names) >= 2
    sides = np.array([[[*pair, *[False] * (len(names) - 2)] for pair in word] for word in words], dtype=object)
    sides = np.moveaxis(sides, 2, 0)
    found = subject.symbols(sides == np.array(True), sides == np.array(False))
    for word, row in zip(words, found, strict=True):
        expected = [None if None in pair or sum(map(bool, pair)) != 1 else names[pair.index(True)] for pair in word]
        assert row == tuple(symbol for symbol in expected if symbol is None or symbol != subject.blank)


@pytest.mark.parametrize("name", ["reverse", "sort_unique", "map_duplicate"])
def test_answers_of_hard_attention_are_those_of_its_columns(name: str) -> None:
    subject = shipped(f"{name}.srasp")
    letters = subject.alphabet
    words = [tuple(letters[i * k % len(letters)] for i in range(5)) for k in range(1, 5)]
    runner = HardRunner(subject)
    prepared = [subject.prepared(word) for word in words]
    trace, first = runner.trace(prepared), 1 - subject.program.first
    for place, answer in enumerate(runner.answers(words)):
        rows = {symbol: trace.columns[out].values(place)[first:] for symbol, out in subject.program.outputs}
        expected = []
        for position in range(len(prepared[place])):
            above = [symbol for symbol, row in rows.items() if row[position] > subject.threshold]
            known = all(row[position] != Fraction(subject.threshold) for row in rows.values())
            expected.append(above[0] if known and len(above) == 1 else None)
        assert answer == tuple(symbol for symbol in expected if symbol is None or symbol != subject.blank)


@given(
    st.lists(st.tuples(st.fractions(-3, 3, max_denominator=9), st.booleans(), st.integers(-9, 9)), min_size=1),
    st.integers(1, 12),
)
def test_the_largest_distance_from_hard_values(values: list[tuple[Fraction, bool, int]], unit: int) -> None:
    """Values are rationals, or balls of them; hard values are integers over one unit."""
    subject = compiled("a S b")
    engine = SoftEngine(subject, subject.model, subject.program, "ball").words
    found = engine.run(("a", "b"))
    with found.precision():
        column = Column([found.arithmetic.number(value) if soft else value for value, soft, _ in values], False)
        whole = np.array([[0] * len(values), [hard for _, _, hard in values]])
        low, high = engine._distance(column, Exact(whole, unit, 9), 1, found)
    expected = max(abs(value - Fraction(hard, unit)) for value, _, hard in values)
    assert low <= expected <= high
    assert high - low < Fraction(1, 2**80)
    assert low == high or any(soft for _, soft, _ in values)
