"""Tests of counts for all words of a length at once: claims hold for the words, and where they end a word is wrong."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.precision.arithmetic import Enclosed
from hardsim.precision.bounds import StructureBounds, safe_to
from hardsim.precision.counts import _means, cases
from hardsim.precision.formats import FORMATS
from hardsim.precision.lengths import NotEnclosed
from hardsim.precision.safe_lengths import _counted, precision_of, structure_known
from hardsim.precision.structure import COUNTS, Structure
from hardsim.proof.shared.result import NoProof
from hardsim.writing.running import encoded_word
from tests.support.check import Export, ModelOptions, Subject, export_of, read_expression, read_input
from tests.support.format_evaluation import FromLeft, Plainly, RandomEvaluation, nearest
from tests.support.language import HardsimError
from tests.support.subjects import FORMULAS

COUNTING = ("majority", "equal", "dyck1", "an_bn", "mod3", "first_half", "tomita_5")
REGIMES = ("temperature", "position", "causal-temperature", "causal-position")
PAIRS = [(name, regime) for name in COUNTING for regime in REGIMES]


def opened(name: str, regime: str) -> tuple[Export, Structure]:
    """Return a shipped formula's export and its structure; skip the test if the regime has no construction."""
    try:
        made = export_of(read_input(str(FORMULAS / f"{name}.ltl")), ModelOptions(regime=regime), 64)
    except HardsimError as error:  # a regime without look-ups of predicates
        pytest.skip(str(error))
    found = structure_known(made)
    assert isinstance(found, Structure), found
    return made, found


def wrong_words(made: Export, evaluation: RandomEvaluation, words: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the words of one length on which an evaluation differs from the formula."""
    assert isinstance(made.target, Subject)
    expected = made.target.answers(words)
    assert expected is not None
    found = []
    for word, right in zip(words, expected, strict=True):
        tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64))])
        output = evaluation.outputs(tokens)[0, -1, 0]
        if not (output > 0.5 if right else output < 0.5):
            found.append(word)
    return found


def words_of(alphabet: tuple[str, ...], n: int, rng: Random, most: int) -> list[tuple[str, ...]]:
    """Return all words of a length, or random ones and ones with two runs, so that every pair of counts can occur."""
    if len(alphabet) ** n <= most:
        return list(product(alphabet, repeat=n))
    found = [tuple(rng.choices(alphabet, k=n)) for _ in range(most // 2)]
    for _ in range(most - len(found)):
        x, y = rng.sample(alphabet, 2)
        k = rng.randrange(n + 1)
        found.append((x,) * k + (y,) * (n - k))
    return found


# ---- which counts occur together ----


@given(st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=5, unique=True), st.integers(1, 4))
def test_every_sum_of_vectors_is_a_case(vectors: list[tuple[int, ...]], size: int) -> None:
    found = cases(np.array([7]), np.array([size]), dict.fromkeys(vectors))
    sums = {tuple(map(sum, zip(*some, strict=True))) for some in product(vectors, repeat=size)}
    assert sums <= set(map(tuple, found.counts.tolist()))
    assert set(found.i.tolist()) == {7}


@given(st.lists(st.tuples(*[st.integers(0, 1)] * 2), min_size=1, max_size=4, unique=True), st.integers(1, 5))
def test_of_two_booleans_there_are_no_other_cases(vectors: list[tuple[int, ...]], size: int) -> None:
    found = cases(np.array([1]), np.array([size]), dict.fromkeys(vectors))
    sums = {tuple(map(sum, zip(*some, strict=True))) for some in product(vectors, repeat=size)}
    assert set(map(tuple, found.counts.tolist())) == sums
    assert len(found.counts) == len(sums)


def test_positions_keep_their_own_cases() -> None:
    found = cases(np.array([1, 2]), np.array([1, 2]), {(0,): None, (1,): None})
    assert list(zip(found.i.tolist(), found.counts[:, 0].tolist(), strict=True)) == [
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
        (2, 2),
    ]


def test_more_cases_than_can_be_looked_at_are_refused_before_they_are_made() -> None:
    """Three symbols at each of 4,096 positions give about 4096^3/6 pairs of counts."""
    i = np.arange(1, 4097)
    with pytest.raises(OverflowError):
        cases(i, i, dict.fromkeys([(0, 0), (0, 1), (1, 0)]))
    _, structure = opened("shuffle_dyck", "temperature")
    with pytest.raises(NotEnclosed, match="too many"):
        StructureBounds(structure, Enclosed(FORMATS["float32"], None, True)).require(1024)


@pytest.mark.parametrize("name", list(FORMATS))
def test_means_are_those_of_a_word(name: str) -> None:
    """The mean does not depend on where the ones are: 1/m added from the left, as a word's softmax and sum compute
    it.
    """
    table, rng = _means(Enclosed(FORMATS[name]), 64), Random(1)
    for m in (1, 2, 3, 7, 20, 64):
        bits = [rng.randrange(2) for _ in range(m)]
        total = found = np.zeros(1)
        for _ in range(m):
            total = nearest(total + 1.0, name)
        share = nearest(1 / total, name)
        for bit in bits:
            found = nearest(found + nearest(share * bit, name), name)
        assert table[m, sum(bits)] == found[0]


# ---- claims hold ----


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("float8_e4m3", "float16")]


@pytest.mark.sweep(every=32)
@pytest.mark.parametrize("form", ["bfloat16", *SLOW])
@pytest.mark.parametrize(("name", "regime"), PAIRS)
def test_no_word_is_wrong_at_lengths_that_are_claimed(name: str, regime: str, form: str) -> None:
    made, structure = opened(name, regime)
    rng, alphabet = Random(0), tuple(made.alphabet)
    for in_order, kinds in ((True, (FromLeft, Plainly)), (False, (RandomEvaluation,))):
        safe, _ = safe_to(structure, Enclosed(FORMATS[form], None, in_order), 24)
        for n in {1, 2, 3, safe // 2, safe - 1, safe}:
            if 1 <= n <= safe:
                words = words_of(alphabet, n, rng, 12)
                for kind in kinds:
                    assert wrong_words(made, kind(made.layout, form, rng=Random(n)), words) == []


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    ("name", "regime", "form"),
    [
        ("majority", "causal-position", "float8_e4m3"),
        ("majority", "causal-temperature", "float8_e4m3"),
        ("dyck1", "causal-temperature", "float16"),
        ("equal", "causal-position", "float8_e4m3"),
        ("mod3", "causal-temperature", "float8_e4m3"),
    ],
)
def test_where_it_ends_a_word_is_wrong(name: str, regime: str, form: str) -> None:
    """An independent evaluation finds the word wrong, too."""
    made, structure = opened(name, regime)
    (row,) = precision_of(made, name, [form], 64, 64, False).rows
    assert row.closed
    assert row.word is not None
    assert row.safe_in_order == safe_to(structure, Enclosed(FORMATS[form], None, True), 64)[0] == len(row.word) - 1
    assert wrong_words(made, Plainly(made.layout, form), [row.word]) == [row.word]


def test_what_matters_at_the_end_is_computed_at_the_end_alone() -> None:
    """The counts of a majority matter at the last position, those of Dyck words everywhere."""
    for name, end in (("majority", True), ("dyck1", False)):
        _, structure = opened(name, "temperature")
        assert all((out in structure.at_the_end) == end for out in structure.reads)


@pytest.mark.slow
def test_look_ups_that_are_alike_may_matter_at_different_positions() -> None:
    """One count is compared everywhere, the other at the last position: they must not share rows."""
    for text in ("H(#L[a] <= 2) & #L[b] >= 2", "H(#L[b] <= 3) & #L[a] = 3"):
        made = export_of(read_expression(text, "a b"), ModelOptions(), 64)
        structure = structure_known(made)
        assert isinstance(structure, Structure)
        ends = [read.outs <= structure.at_the_end for read in structure.reads.values()]
        assert sorted(ends) == [False, True]
        safe, _ = safe_to(structure, Enclosed(FORMATS["bfloat16"], None, True), 12)
        assert safe >= 6
        for n in range(1, 7):
            words = list(product("ab", repeat=n))
            assert wrong_words(made, FromLeft(made.layout, "bfloat16", rng=Random(n)), words) == []


# ---- nothing is claimed ----


def test_counts_of_both_sides_are_not_known_together() -> None:
    made = export_of(read_input(str(FORMULAS / "parity_no_predicate.ltl")), ModelOptions(), 64)
    assert structure_known(made) == NoProof(COUNTS)


def test_a_look_up_of_what_is_the_same_for_every_word_is_left_to_words() -> None:
    made = export_of(read_expression("#L[first] + #L[a] = 2", "a b"), ModelOptions(), 64)
    assert structure_known(made) == NoProof("head #L[first].read looks up a count that is the same for every word")


def test_a_length_with_a_wrong_word_names_counts() -> None:
    """In float16 the 26 opened brackets are read as another number: see `test_where_it_ends_a_word_is_wrong`."""
    _, structure = opened("dyck1", "causal-temperature")
    bounds = StructureBounds(structure, Enclosed(FORMATS["float16"], None, True))
    with pytest.raises(NotEnclosed, match="the clip that writes 'count3' may be other than 1") as failure:
        bounds.require(26)
    assert (failure.value.head, failure.value.runs) == ("#L[)].read", (("(", 26),))


def test_words_begin_with_the_symbols_that_were_named() -> None:
    found = list(_counted((("a", 2), ("b", 3)), 8, ("a", "b")))
    assert all(len(word) == 8 and sorted(word[:5]) == list("aabbb") for word in found)
    assert ("a", "a", "b", "b", "b", "a", "b", "a") in found
    assert list(_counted((("a", 2), ("b", 3)), 5, ("a",))) == [tuple("aabbb"), tuple("bbbaa")]
    assert list(_counted((("a", 2),), 1, ("a",))) == list(_counted((), 3, ("a",))) == []
