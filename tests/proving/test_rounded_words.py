"""Words that rounding to the nearest multiple answers wrongly, found from its unit."""

import pytest

from hardsim.lang.semantics import Oracle
from hardsim.proving.rounded_words import nearest_length, wrong_when_rounded
from tests.compiling.from_ltl.test_rounded import target_of
from tests.support.model import ExactModel


@pytest.mark.parametrize("text", ["#L[a] >= 1", "#L[a] >= #L[b]", "!(#[a] <= 2*#[b])", "#L[#L[a] >= #L[b]] >= #L[b]"])
def test_words_are_found_at_the_computed_length(text: str) -> None:
    target = target_of(text, "nearest:5")
    assert nearest_length(target.program) == 31
    word = next(wrong_when_rounded(target, 64))
    assert 31 <= len(word) <= 33
    assert target.formula is not None
    column = ExactModel(target.program).run([word]).columns[target.program.output]
    assert column.values(0)[-1] != Oracle(target.formula).accepts(word)
    assert not list(wrong_when_rounded(target, 30))


def test_other_roundings_have_no_such_words() -> None:
    for rounding in ("floor:2", "biased:2"):
        target = target_of("#L[a] >= 1", rounding)
        assert not list(wrong_when_rounded(target, 16))
    assert nearest_length(target_of("#L[a] >= 1", "floor:2").program) is None
