"""Several temperatures in one pass of float64: every enclosure contains the value of balls at its temperature."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.run import float_stack
from hardsim.run.ball import BallArithmetic, lower, upper
from hardsim.run.enclosure import Block
from hardsim.run.float64 import BatchTrace, FloatForward
from hardsim.run.float_attention import HeadPass
from hardsim.run.float_stack import StackedHead, run_at
from hardsim.run.forward import Forward
from tests.support.language import parse_arith
from tests.support.model import Transformer, assemble
from tests.support.networks import hostile_transformers, transformers
from tests.support.subjects import compiled, shipped

SLACK = Fraction(1, 10**25)


def assert_encloses(block: Block, row: int, values: Sequence[object]) -> None:
    """Assert that a row of a block contains the values of balls; a radius that is not finite bounds nothing."""
    mids, rads = (part[row if len(part) > 1 else 0] for part in (block.mid, block.radius))
    for mid, rad, value in zip(mids, rads, values, strict=True):
        if np.isfinite([mid, rad]).all():
            slack = SLACK * max(Fraction(1), abs(upper(value)))
            assert Fraction(float(mid)) - Fraction(float(rad)) <= lower(value) + slack
            assert upper(value) <= Fraction(float(mid)) + Fraction(float(rad)) + slack


def assert_right(model: Transformer, words: Sequence[Sequence[str]], taus: Sequence[str]) -> BatchTrace:
    """Run words at all temperatures together, and compare every column and every decision with balls of 256 bits."""
    schedules, forward = [parse_arith(tau) for tau in taus], FloatForward(model)
    trace = run_at(forward, forward.symbols(words), schedules)
    assert trace.words == len(words) * len(taus)
    for number, schedule in enumerate(schedules):
        arithmetic = BallArithmetic(256)
        with arithmetic.precision():
            balls = Forward(replace(model, temperature=schedule), arithmetic)
            for place, word in enumerate(words):
                found, row = balls.run(word), number * len(words) + place
                for name, outs in found.attended.items():
                    for out, column in outs.items():
                        assert_encloses(trace.attended[name][out], row, column.values)
                for index, column in enumerate(found.columns):
                    assert_encloses(trace.columns[index], row, column.values)
                output = found.output(model)
                if model.threshold is None:
                    assert not trace.accepted[row] or output == 1
                    assert not trace.rejected[row] or output == 0
                else:
                    assert not trace.accepted[row] or lower(output) > model.threshold
                    assert not trace.rejected[row] or upper(output) < model.threshold
    return trace


FORMULAS = {
    "(a S b) & ODD(#[a])": "temperature",
    "Y a | (b S Y Y a)": "temperature",
    "O (a & Y b)": "causal-temperature",
    "b S (a & X b)": "position",
    "H a": "none",
}
TAUS = ["1/(40*n)", "1/(4*n)", "1/n", "1", "40", "1/log(4*n)", "1/(1000000*n)"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_cold_and_hot(text: str) -> None:
    """At the hot temperatures no clip is settled, so that later heads read values between 0 and 1."""
    model = compiled(text, FORMULAS[text]).model
    trace = assert_right(model, [tuple(word) for word in product("ab", repeat=4)], TAUS)
    assert trace.accepted.any()
    assert trace.margin is not None
    assert (trace.margin[1] < 0).any()


@pytest.mark.parametrize("name", ["reverse", "hist", "dyck1", "shuffle_dyck2"])
def test_programs_whose_heads_need_other_methods(name: str) -> None:
    subject = shipped(f"{name}.srasp")
    symbols = subject.alphabet
    words = [subject.prepared(tuple(symbols[(i * k) % len(symbols)] for i in range(6))) for k in range(3)]
    assert_right(assemble(subject.program, parse_arith("1")), words, ["1/(50*n^3)", "1/n", "3"])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(transformers(), hostile_transformers()), st.data())
def test_random_networks(model: Transformer, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    words = data.draw(st.lists(st.tuples(*[st.sampled_from(model.alphabet)] * n), min_size=1, max_size=4))
    assert_right(model, words, data.draw(st.lists(st.sampled_from(TAUS), min_size=1, max_size=4)))


def test_decisions_are_those_of_single_temperatures() -> None:
    model = compiled("(a S b) & ODD(#[a])").model
    words, schedules = [tuple(word) for word in product("ab", repeat=6)], [parse_arith(tau) for tau in TAUS]
    forward = FloatForward(model)
    trace = run_at(forward, forward.symbols(words), schedules)
    for number, schedule in enumerate(schedules):
        alone = forward.at_temperature(schedule).run(forward.symbols(words), soft=True, unrounded=False)
        rows = slice(number * len(words), (number + 1) * len(words))
        for together, one in ((trace.decided, alone.decided), (trace.accepted, alone.accepted)):
            assert (together[rows] == one).all()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of temperatures that each head runs by types, and those that it runs row by row, together or
    alone."""
    calls = [0, 0]
    by_types, dense, alone = StackedHead._by_types, StackedHead._dense, HeadPass.attend

    def together(self: StackedHead, *args: object) -> object:
        found = by_types(self, *args)  # type: ignore[arg-type]
        calls[0] += sum(one is not None for one in found)
        return found

    def rows(self: StackedHead, blocks: Sequence[Block], values: Sequence[Block], numbers: Sequence[int]) -> object:
        calls[1] += len(numbers)
        return dense(self, blocks, values, numbers)

    def one(self: HeadPass, *args: object) -> object:
        calls[1] += 1
        return alone(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(StackedHead, "_by_types", together)
    monkeypatch.setattr(StackedHead, "_dense", rows)
    monkeypatch.setattr(HeadPass, "attend", one)
    return calls


def test_cold_temperatures_are_run_by_types_and_hot_ones_where_clips_are_open_row_by_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, model = counted(monkeypatch), compiled("(a S (b S Y Y a)) S (Y a)").model
    words = [tuple(word) for word in product("ab", repeat=4)]
    heads = sum(bool(head.scores) for head in model.heads)
    assert_right(model, words, ["1/(40*n)", "1/(30*n)", "1/(20*n)"])
    assert calls == [3 * heads, 0]
    calls[:] = [0, 0]
    assert_right(model, words, ["1/(40*n)", "1/n", "2/n"])
    assert heads <= calls[0] < 3 * heads
    assert sum(calls) == 3 * heads


def test_long_words_are_run_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_stack, "ONE_BLOCK", 4)
    calls, model = counted(monkeypatch), compiled("Y (a S b)").model
    assert_right(model, [tuple("ababb")], ["1/(40*n)", "1/(30*n)"])
    assert calls[0] == 0
    assert calls[1] > 0


def test_weights_that_underflow_in_the_table_are_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference of a row is a key of the other letter, e^-4000 above every key that has weight."""
    calls, model = counted(monkeypatch), compiled("(a S b)").model
    assert_right(model, [tuple("abbba"), tuple("aaaaa")], ["1/(4*n)", "1/(1000000*n)"])
    assert calls[1] > 0


def test_hot_temperatures_are_run_together_as_they_are_alone() -> None:
    """Means at several hot temperatures in one pass of rows are those of each temperature by itself."""
    model = compiled("(a S b) S (b & Y a)").model
    words, schedules = [tuple(word) for word in product("ab", repeat=5)], [parse_arith(tau) for tau in ("1", "3", "9")]
    forward, values = FloatForward(model), 0
    trace = run_at(forward, forward.symbols(words), schedules)
    for number, schedule in enumerate(schedules):
        alone = forward.at_temperature(schedule).run(forward.symbols(words), soft=True, unrounded=False)
        rows = slice(number * len(words), (number + 1) * len(words))
        for name, outs in alone.attended.items():
            for out, block in outs.items():
                together = trace.attended[name][out]
                if len(together.mid) == 1:  # the same for every word and temperature
                    continue
                mid, one = (np.broadcast_to(part, (len(words), 5)) for part in (together.mid[rows], block.mid))
                rad = np.broadcast_to(block.radius, one.shape) + together.radius[rows]
                assert (np.abs(mid - one) <= rad + 1e-15).all()
                values += int(((mid > 0.05) & (mid < 0.95)).sum())
    assert values > 500
