"""Answers of a whole batch against those of its words one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.checking.batch import FloatEngine, float_at_most
from hardsim.checking.compare import Judge
from hardsim.checking.rigorous import AutoEngine
from hardsim.checking.soft import undecided
from hardsim.checking.subject import ModelOptions, Subject, compile_file
from hardsim.checking.tally import Extreme, Tally, extreme
from hardsim.lang.parse import parse_expression
from hardsim.run.enclosure import Integers
from hardsim.run.float64 import BatchTrace
from tests.networks import EXTREME

FORMULAS = ["(a S b) & !(G a)", "Y a | X b", "2 * #L[a] > #R[b] + 1"]


def compiled(text: str, beta: Fraction | None = None) -> Subject:
    return compile_file(parse_expression(text, ["a", "b"]), ModelOptions("temperature", beta))


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("beta", [None, Fraction(1, 2)])
def test_a_tally_of_a_batch_is_that_of_its_words(text: str, beta: Fraction | None) -> None:
    subject, words = compiled(text, beta), list(product("ab", repeat=6))
    judge = Judge(subject, engine="auto")
    whole, parts = Tally(6), Tally(6)
    judge.tally_all(words, whole)
    for word in words:
        judge.tally(word, parts)
    for name in ("words", "accepted", "soft_mismatches", "hard_mismatches", "undecided", "gaps", "stuck"):
        assert getattr(whole, name) == getattr(parts, name), name
    for mine, theirs in [
        (whole.margin, parts.margin),
        (whole.least_accepted, parts.least_accepted),
        (whole.largest_rejected, parts.largest_rejected),
        (whole.sum_error, parts.sum_error),
        *((whole.errors[name], parts.errors[name]) for name in parts.errors),
    ]:
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            # Roundings depend on the batch; what is enclosed does not.
            assert abs(mine.bound - theirs.bound) < 1e-12
    if whole.mismatch is not None:
        assert parts.mismatch is not None
        assert whole.mismatch.word == parts.mismatch.word
    assert (whole.mismatch is None) == (parts.mismatch is None)


def test_what_float64_cannot_tell_is_told_by_balls_alone() -> None:
    subject = compiled("a S b", Fraction(100))
    judge, words = Judge(subject), list(product("ab", repeat=3))
    hard = judge.hard_of_many.run(judge.hard_of_many.symbols(words))
    floats, auto = FloatEngine(subject, judge.plan), AutoEngine(subject, judge.plan, None)
    assert floats.batch(words, hard).alone == {}
    found = auto.batch(words, hard)
    assert found.alone  # 2 e^-50 is below what float64 resolves
    for place in range(len(words)):
        assert found.one(place).decided
        assert found.one(place).engine == ("ball" if place in found.alone else "float64")


def test_no_finite_bound_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = compiled("a S b")
    judge, words = Judge(subject), list(product("ab", repeat=2))
    hard = judge.hard_of_many.run(judge.hard_of_many.symbols(words))
    engine = FloatEngine(subject, judge.plan)
    real = engine.floats.passes

    def lost(some: list[tuple[str, ...]]) -> Iterator[tuple[BatchTrace, Integers]]:
        for trace, rows in real(some):
            low, high = (bound.copy() for bound in trace.output)
            high[0] = np.inf
            yield replace(trace, output=(low, high)), rows

    monkeypatch.setattr(engine.floats, "passes", lost)
    found = engine.batch(words, hard)
    assert found.decided.tolist() == [False, True, True, True]
    assert found.one(0) == undecided("float64", 15)
    tally = Tally(2)
    tally.note_batch(words, np.ones(4, dtype=np.bool_), found)
    assert (tally.undecided, tally.stuck, tally.words) == (1, ("a", "a"), 4)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=8), st.sampled_from([1, -1]))
def test_the_extreme_of_a_batch_bounds_all_and_stands_against_all(pairs: list[tuple[int, int]], sign: int) -> None:
    low = np.array([float(a) for a, _ in pairs])
    high = np.array([float(a + b) for a, b in pairs])
    words = [(str(place),) for place in range(len(pairs))]
    found = extreme(sign, (low, high), words, np.ones(len(pairs), dtype=np.bool_))
    assert found is not None
    joined = Extreme.of(sign, (low[0], high[0]), words[0])
    for place in range(1, len(pairs)):
        joined = joined.join(Extreme.of(sign, (low[place], high[place]), words[place]))
    assert found.bound == joined.bound
    place = int(found.word[0])
    for other in range(len(pairs)):
        beaten = high[other] < low[place] if sign > 0 else low[other] > high[place]
        assert not beaten
    assert extreme(sign, (low, high), words, np.zeros(len(pairs), dtype=np.bool_)) is None
    assert extreme(sign, None, words, np.ones(len(pairs), dtype=np.bool_)) is None


@given(st.fractions())
def test_a_float_at_most_a_number(value: Fraction) -> None:
    found = float_at_most(value)
    assert Fraction(found) <= value < Fraction(float(np.nextafter(found, np.inf)))


@given(EXTREME)
def test_the_largest_float_below_a_number(value: Fraction) -> None:
    found = float_at_most(value)
    above = nextafter(found, np.inf)
    assert found == -np.inf or Fraction(found) <= value
    assert above == np.inf or value < Fraction(above)
