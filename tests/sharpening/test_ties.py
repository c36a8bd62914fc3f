"""Breaking ties: hard attention stays the same, the new gap is true, and softmax can be made to agree."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from hardsim.network.reader import read_json
from hardsim.network.transformer import Schedule
from hardsim.program.file import read_ahat
from hardsim.run.soft import side
from hardsim.sharpening.measure import LengthFacts
from hardsim.sharpening.theorem26 import DEFAULT_EPSILON, RAMP, break_ties, declared_gaps, solve
from tests.support.attention_models import HEAD, Document, sided, with_head, write
from tests.support.hard_runs import outputs_of
from tests.support.language import parse_arith
from tests.support.model import ExactModel, LengthTable, Program, SoftModel, assemble, measure

LONGEST = 5
ONE = parse_arith("1")
TABLE = LengthTable((Fraction(1),) * LONGEST)
"""A gap of 1 at every length: the scores of `sided` are 0 and 1. The gap may be declared or measured."""
HALF = Fraction(1, 2)


def load(directory: Path, document: Document) -> Program:
    path = write(directory, document)
    return read_ahat(read_json(path.read_bytes(), str(path))).program


def words(n: int) -> list[tuple[str, ...]]:
    return list(product("abc", repeat=n))


def expected(weighting: str, word: tuple[str, ...]) -> bool:
    """Return True if the first or last letter is an a; without letters every position is a maximum, and none is an
    a.
    """
    letters = [symbol for symbol in word if symbol != "c"]
    return bool(letters) and letters[0 if weighting == "leftmost" else -1] == "a"


def facts_of(model: Program, n: int) -> LengthFacts:
    trace = ExactModel(model).run(words(n))
    return measure(model, words(n), trace)


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
@pytest.mark.parametrize("gap", [ONE, TABLE, parse_arith("1/i"), parse_arith("1/n")])
def test_hard_attention_is_unchanged_and_the_new_gap_holds(tmp_path: Path, weighting: str, gap: Schedule) -> None:
    model = load(tmp_path, sided(weighting))
    broken = break_ties(model, {HEAD: gap})
    size = len(model.coordinates)
    assert broken.coordinates[:size] == model.coordinates
    assert broken.coordinates[size] == RAMP
    assert len(broken.coordinates) == size + 2
    for n in range(1, LONGEST + 1):
        for machine in (model, broken):
            exact = ExactModel(machine)
            outputs = outputs_of(exact.program, exact.run(words(n)))
            assert [output > HALF for output in outputs] == [expected(weighting, word) for word in words(n)]
        if n > 1:
            assert max(facts_of(model, n).heads[HEAD].most) == n
        after = facts_of(broken, n).heads[HEAD]
        assert max(after.most) == 1
        for i, found in enumerate(after.gaps, start=1):
            promised = gap.evaluate(i=i, n=n) / (2 * (n + 1))
            assert found is None if n == 1 else found is not None and found >= promised
            # Two tied neighbours attain the gap.
            assert n == 1 or found == promised


def test_coordinates_that_have_the_names_of_what_is_added_are_left_alone(tmp_path: Path) -> None:
    document = sided("leftmost")
    document["coordinates"] = [*document["coordinates"], RAMP, f"tie: gap of {HEAD}"]
    model = load(tmp_path, document)
    broken = break_ties(model, {HEAD: ONE})
    assert len({*broken.coordinates}) == len(broken.coordinates) == len(model.coordinates) + 2
    assert max(facts_of(broken, 3).heads[HEAD].most) == 1


def test_what_is_declared_afterwards(tmp_path: Path) -> None:
    model = load(tmp_path, with_head(sided("leftmost"), gap="1/n"))
    (head,) = break_ties(model, {HEAD: parse_arith("1/n")}).heads
    assert head.gap is not None
    assert head.gap.evaluate(i=1, n=3) == Fraction(1, 3) / 8
    (head,) = break_ties(model, {HEAD: TABLE}).heads
    assert head.gap is None


def test_other_heads_are_left_alone(tmp_path: Path) -> None:
    document = sided("leftmost")
    (layer,) = document["layers"]
    layer["heads"].append(layer["heads"][0] | {"name": "other", "weighting": "rightmost", "gap": "1/2"})
    model = load(tmp_path, document)
    assert break_ties(model, {HEAD: ONE}).heads[1] == model.heads[1]
    found = facts_of(break_ties(model, {HEAD: ONE}), 3)
    assert max(found.heads[HEAD].most) == 1
    assert max(found.heads["other"].most) == 3


def soft_side(soft: SoftModel, word: Sequence[str]) -> bool | None:
    """Return the side of 1/2 on which the softmax output lies; None if open."""
    run = soft.run(word, lambda trace: True)
    return side(run.trace.columns[soft.model.output].values[run.trace.index], HALF)


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
@pytest.mark.parametrize("gap", [ONE, TABLE])
def test_softmax_at_the_theorem_s_temperature_is_right(tmp_path: Path, weighting: str, gap: Schedule) -> None:
    model = break_ties(load(tmp_path, sided(weighting)), {HEAD: gap})
    for n in range(1, LONGEST + 1):
        facts = facts_of(model, n)
        solution = solve(model, facts, DEFAULT_EPSILON, declared_gaps(model, facts))
        soft = SoftModel(assemble(model, LengthTable((solution.tau,) * n)))
        assert [soft_side(soft, word) for word in words(n)] == [expected(weighting, word) for word in words(n)]


def test_without_breaking_them_softmax_shares_its_weight(tmp_path: Path) -> None:
    """The tests above need this: at any temperature the tie of aab has the mean 2/3, that of abb 1/3."""
    model = load(tmp_path, sided("leftmost"))
    soft = SoftModel(assemble(model, LengthTable((Fraction(1, 100),) * 3)))
    assert [soft_side(soft, word) for word in ("aab", "abb")] == [True, False]
    assert expected("leftmost", tuple("abb"))
