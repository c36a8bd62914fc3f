"""Tests of results and tallies as JSON: they are read back unchanged, and wrong data is refused."""

import json
from fractions import Fraction
from types import GenericAlias
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.campaign.checkpoint import from_json, to_json
from hardsim.campaign.tally import Extreme
from tests.campaign.test_checkpoint import since
from tests.support.check import CheckOptions, CheckResult, Mismatch, Tally, Verdict, check_subject
from tests.support.subjects import shipped

LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    bool: st.booleans(),
    str: st.text(),
    int: st.integers(),
    float: st.floats(allow_nan=False),
    Fraction: st.fractions(),
    Verdict: st.sampled_from(Verdict),
    Any: st.fractions() | st.floats(allow_nan=False),
    bool | tuple[str | None, ...] | None: st.none() | st.booleans() | st.lists(st.none() | st.text()).map(tuple),
}
TYPES = st.recursive(
    st.sampled_from(list(LEAVES)),
    lambda inner: st.one_of(
        inner.map(lambda kind: GenericAlias(list, (kind,))),
        inner.map(lambda kind: GenericAlias(tuple, (kind, ...))),
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: GenericAlias(tuple, tuple(kinds))),
    ),
    max_leaves=4,
)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a type."""
    parts = get_args(kind)
    if kind in LEAVES:
        return LEAVES[kind]
    if get_origin(kind) is list:
        return st.lists(values(parts[0]), max_size=3)
    if parts[-1] is Ellipsis:
        return st.lists(values(parts[0]), max_size=3).map(tuple)
    return st.tuples(*map(values, parts))


def back(value: Any, kind: Any) -> Any:
    """Return a value after it was written as JSON and read back."""
    return from_json(to_json(value), kind, "runs")


@pytest.mark.slow
@given(TYPES.flatmap(lambda kind: st.tuples(st.just(kind), values(kind))))
def test_values_come_back_as_they_were(pair: tuple[Any, Any]) -> None:
    kind, value = pair
    assert same(back(value, kind), value)


def same(left: Any, right: Any) -> bool:
    """Return True if two values are equal and have the same types; 1 differs from True, 0.0 from -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    return left.hex() == right.hex() if isinstance(left, float) else bool(left == right)


def test_numbers_with_many_digits_come_back() -> None:
    # Python refuses to read or write decimal numbers of more than 4300 digits.
    tally = Tally(3, words=2**20000, accepted=-(2**70))
    assert back(tally, Tally) == tally
    for value in (Fraction(3**20000, 2**70000 + 1), Fraction(-(7**9000), 5)):
        assert back(value, Fraction) == value


def test_what_is_no_result_has_no_place() -> None:
    for value in (object(), [1j], len):
        with pytest.raises(TypeError, match="no place in a checkpoint"):
            to_json(value)


NUMBER = {"numerator": "0x1", "denominator": "0x3"}
RIGHT = Mismatch(("a",), True, False, None, Fraction(1, 3))
MISMATCH = json.loads(to_json(RIGHT))
REFUSED: list[tuple[Any, Any]] = [
    (Fraction, {}),
    (Fraction, NUMBER | {"denominator": "0x0"}),
    (Fraction, NUMBER | {"numerator": "one"}),
    (Fraction, NUMBER | {"numerator": 1}),
    (Fraction, 3),
    (float, "x"),
    (int, "x"),
    (int, True),
    (int, {"integer": "ten"}),
    (bool, "true"),
    (tuple[int, ...], 5),
    (tuple[int, int], [1]),
    (dict[Any, int], {"items": [1]}),
    (dict[Any, int], {"items": [[[[1]], 2]]}),
    (Verdict, "SURE"),
    (Mismatch, ["a"]),
    (Mismatch, {"word": ["a"]}),
    (Mismatch, MISMATCH | {"word": "a"}),
    (Mismatch, MISMATCH | {"oracle": 3}),
    (Mismatch, MISMATCH | {"output": 1.5}),
]


@pytest.mark.parametrize(("kind", "data"), REFUSED)
def test_what_stands_for_no_value_is_refused(kind: Any, data: Any) -> None:
    assert from_json(json.dumps(MISMATCH), Mismatch, "runs") == RIGHT
    with pytest.raises(ValueError, match=r"."):
        from_json(json.dumps(data), kind, "runs")


def test_an_error_names_the_run_and_the_field() -> None:
    with pytest.raises(ValueError, match=r"^since: .*\$\.word`"):
        from_json(json.dumps(MISMATCH | {"word": "a"}), Mismatch, "since")


def test_tallies_and_results_come_back() -> None:
    tally = Tally(3, words=2, gaps={"h": Fraction(1, 3)}, stuck=("a", "b"))
    for what in (("margin",), ("h", "x"), (0, 1, "x")):
        tally.extremes[what] = Extreme(1, 0.1, (0.1, Fraction(1, 7)), ("a",), Fraction(1, 7))
    tally.mismatch = Mismatch(("b",), True, False, None, Fraction(2, 3))
    assert back([tally], list[Tally]) == [tally]
    for result in (
        check_subject(since(), CheckOptions(max_n=4)),
        check_subject(since(beta=Fraction(1, 2)), CheckOptions(max_n=4)),
        check_subject(shipped("ties.ahat.json"), CheckOptions(max_n=3)),
        check_subject(shipped("dyck1.srasp"), CheckOptions(max_n=3)),
    ):
        assert back(result, CheckResult) == result
