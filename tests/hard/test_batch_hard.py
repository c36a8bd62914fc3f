"""The interpreter of formulas' programs on bits, compared with the one of all programs, coordinate by coordinate."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hardsim.compiling.from_ltl.lower import lower
from hardsim.hard import batch_hard
from hardsim.hard.batch_hard import BatchHard, BitFunction, minterms
from hardsim.lang import ast
from hardsim.lang.predicate import user_predicates
from hardsim.network.integers import Exact
from hardsim.program.regimes import expression
from tests.support.counting_strategies import ALL_SIDES, counting_formulas
from tests.support.hard_runs import hard_runs, since, with_head
from tests.support.language import InputError, InvariantError, Unsupported, desugar, parse_expression
from tests.support.model import REGIMES, Affine, Program, ProgramLayer, Unit, Weighting
from tests.support.sources import load
from tests.support.strategies import formulas

FORMULAS = sorted((Path(__file__).resolve().parents[2] / "formulas").glob("*.ltl"))


def require(program: Program, words: Sequence[Sequence[str]]) -> None:
    """Assert that both interpreters agree on every coordinate at every position, on the answers and on the least
    gaps.
    """
    model = BatchHard(program)
    # Earlier runs, of this length and of another, must leave nothing that changes a later one.
    for some in (words, [[*word, word[0]] for word in words[:1]], words, words):
        trace = model.run(model.symbols(some))
    gaps: dict[str, Fraction] = {}
    for place, found in enumerate(hard_runs(program, words)):
        assert bool(trace.accepted[place]) is found.accepted
        for name, gap in found.gaps.items():
            gaps[name] = min(gap, gaps.get(name, gap))
        for name, column in found.columns.items():
            known = trace.numbers(name)
            assert known.values(place if known.whole.shape[0] > 1 else 0) == column
    assert trace.gaps == gaps


def some_words(alphabet: Sequence[str], n: int, most: int = 40) -> list[tuple[str, ...]]:
    """Return all words of a length, or `most` random ones."""
    if len(alphabet) ** n <= most:
        return list(product(alphabet, repeat=n))
    random = Random(n)
    return [tuple(random.choices(alphabet, k=n)) for _ in range(most)]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if "hop" in path.stem else (), id=path.stem) for path in FORMULAS],
)
def test_shipped_formulas_in_every_regime(path: Path) -> None:
    file = load(path)
    own = {item.name: (item.text, user_predicates(file)[item.name]) for item in file.predicates}
    tried = 0
    for regime in REGIMES.values():
        try:
            program = lower(desugar(file), regime, False, None, own)
        except Unsupported:
            continue
        for n in (1, 6):
            require(program, some_words(file.alphabet, n, 20))
        random = Random(f"{path.stem} {regime.name}")
        for n in random.sample(range(7, 41), 2):
            require(program, [tuple(random.choices(file.alphabet, k=n)) for _ in range(3)])
        tried += 1
    assert tried


@pytest.mark.sweep
@pytest.mark.parametrize("regime", sorted(REGIMES))
@pytest.mark.parametrize("text", ["Y a S (b & X b)", "a U b"])
def test_long_words(regime: str, text: str) -> None:
    """Seventy words exceed one lane of bits, and so many positions exceed one run."""
    if REGIMES[regime].causal:
        text = text.replace("X", "Y").replace("U", "S")
    program = lower(desugar(parse_expression(text, ["a", "b"])), REGIMES[regime])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_hard, "CELLS", 1)
        require(program, some_words("ab", 65, 70))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(REGIMES)), st.booleans(), st.integers(1, 6), st.data())
def test_random_formulas(regime: str, single: bool, n: int, data: st.DataObject) -> None:
    formula = data.draw(formulas("ab", 4, future=not REGIMES[regime].causal))
    program = lower(desugar(ast.FormulaFile(("a", "b"), formula)), REGIMES[regime], single)
    require(program, some_words("ab", n))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.sampled_from(sorted(REGIMES)), st.sampled_from([None, "sign"]), st.integers(1, 6), st.data())
def test_random_counting_formulas(regime: str, counting: Any, n: int, data: st.DataObject) -> None:
    sides = ("L",) if REGIMES[regime].causal or counting == "sign" else ALL_SIDES
    formula = data.draw(counting_formulas("ab", sides=sides))
    try:
        program = lower(desugar(ast.FormulaFile(("a", "b"), formula)), REGIMES[regime], False, counting)
    except Unsupported:
        assume(False)
        raise
    require(program, some_words("ab", n))


def run(program: Program, words: Sequence[str]) -> batch_hard.BatchHardTrace:
    model = BatchHard(program)
    return model.run(model.symbols(words))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"decay": expression("2/n")},
            r"at position 2 of 2 the score gap is 1/4, less than the declared 1 \(the maximum is at position 2\)",
        ),
        ({"score": ((Affine.coordinate("1"), Affine.constant(1)),)}, "the score gap is 0, less than"),
        ({"weighting": Weighting.LEFTMOST, "decay": None}, "leftmost position that it looks for is 1"),
    ],
)
@pytest.mark.parametrize("how", ["bits", "numbers", "exact"])
def test_broken_promises_are_errors(
    changes: dict[str, Any], message: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "numbers":
        monkeypatch.setattr(batch_hard, "MOST_BITS", -1)
    with pytest.raises(InvariantError, match=message):
        (hard_runs if how == "exact" else run)(with_head(since(), **changes), ["bb"])


@pytest.mark.parametrize("how", ["bits", "numbers"])
def test_one_word_of_many_breaks_a_promise(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For abb the gap of the last row is 1/6; for aba the rows have the gaps 7/6 and (1 + 1/3) - 1/2."""
    if how == "numbers":
        monkeypatch.setattr(batch_hard, "MOST_BITS", -1)
    program = with_head(since(), decay=expression("i/(2*n)"))
    assert list(run(program, ["aba"] * 90).gaps.values()) == [Fraction(5, 6)]
    with pytest.raises(InvariantError, match="at position 3 of 3 the score gap is 1/6, less than the declared 1/2"):
        run(program, ["aba"] * 77 + ["abb"] + ["aba"] * 22)
    # The regime's own promise is kept; the least gap comes from the one word.
    assert list(run(since(), ["aba"] * 77 + ["abb"] + ["aba"] * 22).gaps.values()) == [Fraction(1, 6)]


def test_a_gap_that_is_none_is_refused_each_time() -> None:
    """The declared gap is 0 at every length; a length that was refused must not count as checked the next time."""
    model = BatchHard(with_head(since(), decay=expression("n-n")))
    for _ in range(2):
        with pytest.raises(InputError, match="the declared gap n-n is 0 at i = 1, n = 2"):
            model.run(model.symbols(["ab"]))


def test_a_defect_of_one_interpreter_alone_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_hard, "require_promises", lambda program, trace: None)
    with pytest.raises(InvariantError, match="on the word b b the two exact interpreters differ"):
        run(with_head(since(), decay=expression("2/n")), ["bb"])


def test_the_same_by_bits_and_by_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    program = lower(desugar(parse_expression("Y (a S b) | X G a", ["a", "b"])), REGIMES["position"])
    words = ["".join(word) for word in product("ab", repeat=6)]
    by_bits = run(program, words)
    monkeypatch.setattr(batch_hard, "MOST_BITS", -1)
    by_numbers = run(program, words)
    assert (by_bits.accepted == by_numbers.accepted).all()
    assert by_bits.gaps == by_numbers.gaps
    kinds = {type(by_bits.columns[head.out]) is type(by_numbers.columns[head.out]) for head in program.heads}
    assert kinds == {True, False}  # markers are numbers in both, the others are not


def test_values_between_0_and_1_stay_numbers() -> None:
    # clip(a/2) is 1/2 where the letter is a: no bit can represent it, so the next layer reads it exactly.
    half = ProgramLayer((), (Unit((("half", 1),), Affine.of({"a": Fraction(1, 2)})),))
    twice = ProgramLayer((), (Unit((("out", 1),), Affine.of({"half": 2})),))
    base = since()
    letter = replace(base.letters[0], name="a", symbols=frozenset("a"))
    trace = run(replace(base, letters=(letter,), layers=(half, twice), output="out"), ["ab", "ba"])
    assert trace.numbers("half").values(0) == [Fraction(1, 2), 0]
    assert trace.accepted.tolist() == [False, True]


def test_a_function_of_bits_is_tabulated_where_it_is_boolean() -> None:
    forms = [(Affine.of({"x": 1, "y": 1, "1": -1}), 1)]
    fixed = {"1": Exact.row([1, 1], 1)}
    both = BitFunction.of(forms, 0, True, ["x", "y"], fixed, 2)
    x, y = np.array([[0b1100], [0b1100]], dtype=np.uint64), np.array([[0b1010], [0b1010]], dtype=np.uint64)
    found = both.apply([x, y], (2, 1))
    assert found is not None
    assert found.tolist() == [[0b1000], [0b1000]]
    plain = BitFunction.of(forms, 0, False, ["x", "y"], fixed, 2)  # without the clip it is -1 where both are 0
    assert plain.apply([x, y], (2, 1)) is None
    assert [part[0, 0] & np.uint64(15) for part in minterms([x, y], (2, 1))] == [0b0001, 0b0010, 0b0100, 0b1000]
