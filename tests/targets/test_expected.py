"""Tests of outputs in intervals compared with the expected outputs."""

from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from hardsim.targets.expected import ExpectedOutputs, Rule, require_positions, unjudged
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Readout

ABC = ("a", "b", "c")
HALF = Fraction(1, 2)


def compared(rule: Rule, raw: Any, ends: list[tuple[Any, Any]], exact: bool) -> tuple[bool, bool, Any, Any]:
    """Compare one word's outputs at one position; return right, wrong, and the bounds of the margin."""
    judged, numbers = rule.place(raw)
    expected = ExpectedOutputs(judged[None, None, :], np.array([[numbers]], dtype=object))
    low, high = ([pair[side] for pair in ends] for side in (0, 1))
    kind = object if exact else np.float64
    found = rule.compare(np.array([[low]], dtype=kind), np.array([[high]], dtype=kind), expected)
    return bool(found.right[0]), bool(found.wrong[0]), found.low[0], found.high[0]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("raw", "ends", "right", "wrong", "margin"),
    [
        ("a", [(2, 3), (0, 1), (0, 1)], True, False, (1, 3)),
        ("a", [(2, 3), (0, 2), (0, 1)], False, False, (0, 3)),  # a tie is possible
        ("a", [(1, 1), (1, 1), (0, 0)], False, False, (0, 0)),  # the tie is certain, and decides nothing
        ("b", [(2, 3), (0, 1), (0, 1)], False, True, (-3, -1)),
        ({"a", "b"}, [(2, 3), (2, 3), (0, 1)], True, False, (1, 3)),  # either may win
        ({"b", "c"}, [(2, 3), (0, 1), (0, 3)], False, False, (-3, 1)),
        (None, [(2, 3), (0, 1), (0, 1)], True, False, (inf, inf)),
    ],
)
def test_argmax(raw: Any, ends: Any, right: bool, wrong: bool, margin: Any, exact: bool) -> None:
    found = compared(Rule(ABC, Readout(decide="argmax")), raw, ends, exact)
    assert found[:2] == (right, wrong)
    assert np.allclose(np.array(found[2:], dtype=float), margin, rtol=0, atol=1e-12)


def test_an_argmax_among_some_outputs() -> None:
    rule = Rule(ABC, Readout(decide="argmax", among=("a", "b")))
    ends = [(1, 1), (0, 0), (9, 9)]
    assert compared(rule, "a", ends, True)[:2] == (True, False)
    assert rule.answer(*zip(*ends, strict=True)) == "a"
    assert rule.never("c") == ("c",)  # c takes no part, so that no answer is c
    assert compared(rule, "c", ends, True) == (False, True, -inf, -inf)


def test_outputs_that_are_equal_in_python_are_two() -> None:
    rule = Rule((1, True, "x"), Readout(decide="argmax", among=(1, "x")))
    assert rule.answer([0, 9, 1], [0, 9, 1]) == "x"
    assert rule.never(True) == (True,)
    both = Rule((True, 1), Readout(decide="argmax"))
    assert [both.place(raw)[0].tolist().index(1) for raw in (np.bool_(True), np.int64(1))] == [0, 1]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("decide", "raw", "never"),
    [
        ("argmax", "d", {"d"}),
        ("argmax", 99, {99}),
        ("argmax", {"d", "e"}, {"d", "e"}),
        ("argmax", {"a", "d"}, set()),  # a can win
        ("above", {"a", "d"}, {"d"}),  # the set of those above is exact
        ("above", {"a"}, set()),
        ("above", set(), set()),
        ("argmax", None, set()),
    ],
)
def test_a_value_that_no_output_has_is_wrong_whatever_the_outputs_are(
    decide: Any, raw: Any, never: set[Any], exact: bool
) -> None:
    rule = Rule(ABC, Readout(decide=decide))
    assert set(rule.never(raw)) == never
    if never:
        for ends in ([(1, 1), (-1, -1), (-1, -1)], [(-inf, inf)] * 3):
            assert compared(rule, raw, ends, exact) == (False, True, -inf, -inf)
    else:
        assert compared(rule, raw, [(1, 1), (-1, -1), (-1, -1)], exact)[1] is (raw == set())


def test_what_may_win_in_any_case_is_right_however_large() -> None:
    ends = [(Fraction(10**400), Fraction(10**400)), (Fraction(0), Fraction(0)), (Fraction(0), Fraction(0))]
    assert compared(Rule(ABC, Readout(decide="argmax")), set(ABC), ends, True) == (True, False, inf, inf)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("raw", "ends", "right", "wrong", "margin"),
    [
        (True, (1, 2), True, False, (HALF, 3 * HALF)),
        (False, (1, 2), False, True, (-3 * HALF, -HALF)),
        (True, (0, 1), False, False, (-HALF, HALF)),
        (True, (HALF, HALF), False, True, (0, 0)),  # a value exactly at the level is not above it
        (False, (HALF, HALF), True, False, (0, 0)),
        (np.bool_(True), (1, 1), True, False, (HALF, HALF)),
    ],
)
def test_above(raw: Any, ends: Any, right: bool, wrong: bool, margin: Any, exact: bool) -> None:
    found = compared(Rule(("x",), Readout(level=HALF)), raw, [ends], exact)
    assert found[:2] == (right, wrong)
    assert np.allclose(np.array(found[2:], dtype=float), np.array(margin, dtype=float), rtol=0, atol=1e-12)


def test_a_level_that_is_no_float_lies_between_two() -> None:
    """1/10 is less than the float 0.1: a value of exactly that float is above it."""
    rule, near = Rule(("x",), Readout(level=Fraction(1, 10))), 0.1
    assert Fraction(near) > Fraction(1, 10)
    assert compared(rule, True, [(Fraction(near),) * 2], exact=True)[:2] == (True, False)
    # In float64 the level is known to within a rounding: nothing is claimed.
    assert compared(rule, True, [(near, near)], exact=False)[:2] == (False, False)


@pytest.mark.parametrize(
    ("raw", "right"), [({"a", "b"}, True), ({"a"}, False), ({"a": True, "c": False}, True), ({"b": False}, False)]
)
def test_several_outputs_above(raw: Any, right: bool) -> None:
    ends = [(1, 1), (1, 1), (-1, -1)]
    assert compared(Rule(ABC, Readout()), raw, ends, True)[:2] == (right, not right)


def test_an_output_that_a_mapping_leaves_open_is_not_judged() -> None:
    assert compared(Rule(ABC, Readout()), {"a": None, "b": True}, [(-1, -1), (1, 1), (-1, -1)], True)[0]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("raw", "ends", "right", "wrong"),
    [
        (1, (1, 1), True, False),
        (0.5, (1, 1), True, False),  # exactly as far as allowed
        (Fraction(2, 5), (1, 1), False, True),
        (1, (0, 1), False, False),
        (True, (Fraction(3, 4), Fraction(5, 4)), True, False),  # a truth is 1
        (np.float64(2.0), (1, 1), False, True),
    ],
)
def test_numbers(raw: Any, ends: Any, right: bool, wrong: bool, exact: bool) -> None:
    found = compared(Rule(("x",), Readout(decide="value", level=HALF)), raw, [ends], exact)
    if exact or found[0] or found[1]:
        assert found[:2] == (right, wrong)
    assert found[2] <= HALF - max(abs(Fraction(raw) - Fraction(end)) for end in ends) <= found[3]


@pytest.mark.parametrize("decide", ["above", "argmax", "value"])
def test_unbounded_outputs_decide_nothing(decide: Any) -> None:
    rule = Rule(("x", "y"), Readout(decide=decide, level=Fraction(1)))
    raw = {"x": 1} if decide == "value" else {"x"}
    assert compared(rule, raw, [(-inf, inf), (0, 0)], exact=False)[:2] == (False, False)


def test_tokens_are_those_of_python() -> None:
    rule = Rule((False, True), Readout(decide="argmax"))
    assert rule.place(True)[0].tolist() == [0, 1]
    assert rule.place(0)[0].tolist() == [1, 0]  # 0 and False are equal in Python
    numbers = Rule((1, 2, 3), Readout(decide="argmax"))
    assert numbers.place(2.0)[0].tolist() == [0, 1, 0]
    assert numbers.place("2")[0].tolist() == [0, 1, 0]
    both = Rule((1, True, "1"), Readout(decide="argmax"))
    assert [both.place(raw)[0].tolist().index(1) for raw in (1, True, "1")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("readout", "raw", "message"),
    [
        (Readout(decide="argmax"), ["a"], "a value of type list is no output: ['a']"),
        (Readout(decide="argmax"), {"a": True}, "a value of type dict is no output: {'a': True}"),
        (Readout(decide="argmax"), nan, "NaN is no output"),
        (Readout(), {"d": True}, "'d' is no output of the network"),
        (Readout(decide="value"), {"a": nan}, "a number is expected, not nan"),
        (Readout(decide="argmax"), set(), "no output may win"),
        (Readout(), True, "the network has 3 outputs, and True does not say for which"),
        (Readout(decide="value"), 1, "the network has 3 outputs, and 1 does not say for which"),
        (Readout(decide="value"), {"a": inf}, "a number is expected, not inf"),
        (Readout(decide="value"), {"a": "1"}, "a number is expected, not '1'"),
        (Readout(), {"a": 1}, "a truth is expected of an output with a level, not 1"),
    ],
)
def test_what_cannot_be_wanted(readout: Readout, raw: Any, message: str) -> None:
    assert raised(InputError, lambda: Rule(ABC, readout).place(raw)).message == message


def test_lists_by_position() -> None:
    assert [unjudged(raw) for raw in (None, [None, None], [None, "a"], "a", False, 0)] == [True, True] + [False] * 4
    message = raised(InputError, lambda: require_positions(["a"], ("a", "b"))).message
    assert message == "for the word ab of 2 symbols the reference gives a list of 1"


def test_answers_in_text() -> None:
    argmax, above, value = (Rule(ABC, Readout(decide=decide)) for decide in ("argmax", "above", "value"))
    assert argmax.answer((0, 2, 1), (1, 3, 2)) is None
    assert argmax.answer((0, 2, 1), (1, 3, 1)) == "b"
    assert above.answer((-1, 1, 2), (0, 2, 3)) == "{b c}"
    assert above.answer((-1, 1, 2), (1, 2, 3)) is None
    assert value.answer((0, 1, -inf), (1, 1, inf)) == "{a=0.5 b=1 c=?}"
    assert Rule(("x",), Readout()).answer((1,), (1,)) == "True"
    assert [above.text_of(raw) for raw in (None, True, "a", {"b", "a"}, {"a": 1}, 0.5)] == [
        None, "True", "a", "{a b}", "{a=1}", "0.5",
    ]  # fmt: skip


def test_expected_outputs_are_listed_in_their_order() -> None:
    assert Rule(("b", "<eos>", "a"), Readout()).text_of({"a", "<eos>", "b"}) == "{b <eos> a}"


@pytest.mark.parametrize(
    ("within", "expected", "says"),
    [
        (Fraction(1, 200), "1", "1"),
        (Fraction(1, 10**9), "1", "0.9999999938"),
        (Fraction(0), "1", "0.9999999938"),
        (Fraction(10), "1", "1"),
    ],
)
def test_a_number_that_is_off_is_shown_with_the_digits_that_matter(within: Fraction, expected: str, says: str) -> None:
    rule = Rule(("x",), Readout(decide="value", level=within))
    assert (rule.text_of(Fraction(1)), rule.answer((0.9999999938,), (0.9999999938,))) == (expected, says)


def test_each_object_is_placed_once_and_equal_objects_need_not_be_one() -> None:
    rule, asked = Rule(ABC, Readout(decide="argmax")), list[Any]()

    def place(raw: Any) -> Any:
        asked.append(raw)
        return rule.place(raw)

    first, equal = frozenset("ab"), frozenset("ab")
    raws = [first, None, equal, first, "c", None]
    found = ExpectedOutputs.of_values(raws, place)
    assert asked == [first, None, equal, "c"]
    assert found.judged.tolist() == [[rule.place(raw)[0].tolist()] for raw in raws]
    assert found.shaped(2).judged.tolist() == [[row[0] for row in found.judged.tolist()[k : k + 3]] for k in (0, 3)]
