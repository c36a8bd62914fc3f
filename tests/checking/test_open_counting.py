"""Counting in checks: stored models, the error of a sum of counts, and Lemma 7 beside its half."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

import pytest

from hardsim.checking.campaign import CheckOptions, check_subject
from hardsim.checking.open import read_input, store_text
from hardsim.checking.result import CheckResult, HeadResult, Verdict
from hardsim.checking.subject import ModelOptions, Subject
from hardsim.checking.tally import Tally
from hardsim.errors import HardsimError, InputError
from hardsim.program.model import Kind
from tests.strategies import all_words
from tests.subjects import compiled, evaluations, judge_of

pytestmark = pytest.mark.sweep

HEADER = "alphabet: a b\naccept: aba\npred MID(i, n) = 2*i == n + 1\n"
BOTH = (
    HEADER
    + "let m = 3*#L[a] - 2*#R[b]\n(m > len | MID(#L[a])) & (O MID <-> !PRIME(#[b] + 7)) & (#L[a] + #R[a]) mod 3 = 0\n"
)
PAST = HEADER + "H (2*#L[a] + 1 >= #L[b]) & (O MID | MID(#L[a]))\n"
ONE_KIND = HEADER + "H (2*#L[a] + 1 >= pos) & (MID | #R[b] < 3)\n"
CAUSAL = HEADER + "H (2*#L[a] + 1 >= pos) & (MID | #L[b] < 3)\n"

CASES: list[tuple[str, ModelOptions]] = [
    (BOTH, ModelOptions()),
    (BOTH, ModelOptions("position", single_head=True)),
    (BOTH, ModelOptions(beta=Fraction(6))),
    (PAST, ModelOptions("causal-temperature")),
    (ONE_KIND, ModelOptions("temperature", counting="sign")),
    (CAUSAL, ModelOptions("causal-temperature", counting="sign")),
    (CAUSAL, ModelOptions("causal-position")),
]


def stored(directory: Path, text: str, options: ModelOptions) -> tuple[Subject, Path]:
    source = directory / "formula.ltl"
    source.write_text(text, encoding="utf-8")
    subject = read_input(str(source)).compile(options)
    path = directory / "formula.model.json"
    path.write_text(store_text(subject), encoding="utf-8")
    return subject, path


@pytest.mark.parametrize(("text", "options"), CASES)
def test_a_stored_model_that_counts_gives_identical_results(tmp_path: Path, text: str, options: ModelOptions) -> None:
    direct, path = stored(tmp_path, text, options)
    again = read_input(str(path)).compile(ModelOptions())
    assert again.model == direct.model
    assert again.program == direct.program
    assert again.facts == direct.facts
    assert again.facts.counting is not None
    check = CheckOptions(max_n=6, exhaustive=40, samples=4)
    one, two = check_subject(direct, check), check_subject(again, check)
    assert one.verdict is Verdict.CERTIFIED
    assert replace(two, name=one.name, sha256=one.sha256) == one
    written = {head.kind for head in direct.program.heads}
    assert written & {Kind.LOOKUP, Kind.TABLE, Kind.SIGN, Kind.SIGN_RAMP}


def test_the_predicates_of_a_stored_model_are_those_of_its_formula(tmp_path: Path) -> None:
    """The encoding has their names; what they mean stands in the formula, and a changed meaning changes the network."""
    _, path = stored(tmp_path, HEADER.replace("aba", "aab") + "MID(#L[a] + 0)\n", ModelOptions())
    text = path.read_text(encoding="utf-8")
    assert "MID(i)" in text
    document = json.loads(text)
    changed = document["source"]["text"].replace("2*i == n + 1", "i == n").replace("accept: aab\n", "")
    assert changed != document["source"]["text"]
    document["source"]["text"] = changed
    path.write_text(json.dumps(document), encoding="utf-8")
    subject = read_input(str(path)).compile(ModelOptions())
    for found in evaluations(subject, all_words("ab", 5)):
        assert found.mismatch is None
        assert found.oracle is (found.word.count("a") == len(found.word))


def test_the_way_of_counting_may_be_repeated_and_not_changed(tmp_path: Path) -> None:
    _, path = stored(tmp_path, ONE_KIND, ModelOptions(counting="sign"))
    model = read_input(str(path))
    assert model.compile(ModelOptions(counting="sign")) is model.made
    with pytest.raises(InputError, match="so --counting lookup does not apply"):
        model.compile(ModelOptions(counting="lookup"))


def a_table(document: dict[str, Any]) -> dict[str, Any]:
    heads = [head for layer in document["specification"]["layers"] for head in layer["heads"]]
    found: dict[str, Any] = next(head for head in heads if head["kind"] == "table")
    return found


DAMAGES: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda d: d["source"].update(text=d["source"]["text"].replace("MID", "OTHER")), "unknown name 'MID'"),
    (lambda d: a_table(d).update(kind="guess"), "expected one of uniform, nearest, lookup, table, sign, sign-ramp"),
    (lambda d: a_table(d).update(decay="1/x"), "decay"),
    (lambda d: a_table(d).pop("coefficients"), "'coefficients'"),
    (lambda d: a_table(d).update(coefficients="many"), "coefficients"),
    (lambda d: a_table(d).update(coefficients="3/2"), "coefficients: expected a positive integer"),
    (lambda d: a_table(d).update(coefficients="0"), "coefficients: expected a positive integer"),
    (
        lambda d: d["options"].update(counting="abacus"),
        "at options.counting: expected lookup, as the heads of the specification count",
    ),
    (lambda d: d["model"]["encodings"][14].update(value="MOD(3, 3, i)"), "model.encodings[14].value:1:6"),
    (lambda d: d["model"]["encodings"][14].update(value="PRIME(i + i)"), "model.encodings[14].value:1:1"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_damaged_model_that_counts_is_refused_with_its_place(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object], message: str
) -> None:
    _, path = stored(tmp_path, BOTH, ModelOptions())
    document = json.loads(path.read_text(encoding="utf-8"))
    damage(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(HardsimError) as caught:
        read_input(str(path))
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


# ---- what is measured ----

SUM = "2*#L[a] - #L[b] >= 1"


def checked(text: str, regime: str = "temperature", **options: Any) -> CheckResult:
    return check_subject(compiled(text, regime, **options), CheckOptions(max_n=6))


def read_at(count: int, visible: int, rate: float) -> float:
    """The position that the look-up reads: the softmax mean of j at logits -rate (j - c)^2."""
    weights = [exp(-rate * (j - count) ** 2) for j in range(1, visible + 1)]
    return sum(j * weight for j, weight in enumerate(weights, start=1)) / sum(weights)


RATES: dict[str, Callable[[int, int], float]] = {
    "temperature": lambda i, n: 4 * n / i,
    "position": lambda i, n: 4 * n / i,
    "causal-temperature": lambda i, n: 4 * i,
}


@pytest.mark.parametrize("regime", RATES)
def test_the_error_of_a_sum_is_that_of_its_look_ups(regime: str) -> None:
    """Every word to length 6, every position: 2 e_a - e_b, each e the distance from the count (from 1 for 0)."""
    result = checked(SUM, regime)
    assert result.agreed
    for length in result.lengths:
        n = length.n
        worst = {"sum": 0.0, "a": 0.0, "b": 0.0}
        for word in all_words("ab", n):
            if len(word) < n:
                continue
            for i in range(1, n + 1):
                visible = i if regime == "causal-temperature" else n
                error = {}
                for symbol in "ab":
                    count = word[:i].count(symbol)
                    error[symbol] = read_at(count, visible, RATES[regime](i, n)) - max(count, 1)
                    worst[symbol] = max(worst[symbol], abs(error[symbol]))
                worst["sum"] = max(worst["sum"], abs(2 * error["a"] - error["b"]))
        assert length.sum_error is not None
        assert float(length.sum_error) == pytest.approx(worst["sum"], rel=1e-9, abs=1e-12)
        for head in look_ups(compiled(SUM, regime), length.heads):
            symbol = "a" if "[a]" in head.name or "#L[a]" in head.name else "b"
            assert float(head.error) == pytest.approx(worst[symbol], rel=1e-9, abs=1e-12)


def look_ups(subject: Subject, heads: tuple[HeadResult, ...]) -> list[HeadResult]:
    names = {head.name for head in subject.program.heads if head.kind is Kind.LOOKUP}
    return [head for head in heads if head.name in names]


@pytest.mark.parametrize("regime", RATES)
@pytest.mark.parametrize("text", [SUM, "5*#L[a] - 4*#L[b] > 3 | PRIME(#L[a])", "O (#L[a] = #L[b]) & ODD(#L[b])"])
def test_errors_stay_within_the_theory(text: str, regime: str) -> None:
    subject = compiled(text, regime)
    result = check_subject(subject, CheckOptions(max_n=6))
    for length in result.lengths:
        assert length.sum_error is not None
        assert length.sum_error <= Fraction(1, 4)
        mine = look_ups(subject, length.heads)
        assert mine
        for head in length.heads:
            assert head.error <= head.bound
            if head in mine:
                assert head.paper_bound is not None
                assert abs(head.paper_bound - 2 * head.bound) <= head.bound / 2**100  # both are rounded up
            else:
                assert head.paper_bound is None


def test_a_small_beta_lets_the_error_of_a_sum_beyond_a_quarter() -> None:
    result = checked("5*#L[a] - 5*#L[b] >= 3*#L[Y a]", beta=Fraction(1, 2))
    assert max(length.sum_error or 0 for length in result.lengths) > Fraction(1, 4)
    assert result.verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("text", "options"),
    [("a S b", {}), ("PRIME(#L[a])", {}), ("pos > 2", {}), (SUM, {"counting": "sign"})],
)
def test_without_sums_of_looked_up_counts_there_is_no_such_error(text: str, options: dict[str, Any]) -> None:
    result = checked(text, **options)
    assert {length.sum_error for length in result.lengths} == {None}
    assert all(head.paper_bound is None for length in result.lengths for head in length.heads)


@pytest.mark.parametrize(("regime", "kind"), [("temperature", "sign"), ("causal-position", "sign-ramp")])
def test_the_sign_test_stays_within_its_bound(regime: str, kind: str) -> None:
    subject = compiled(SUM, regime, counting="sign")
    assert kind in {str(head.kind) for head in subject.program.heads}
    for length in check_subject(subject, CheckOptions(max_n=7)).lengths:
        assert all(head.error <= head.bound for head in length.heads)
        assert length.margin is None or length.margin > 0


def test_tallies_of_disjoint_words_merge_to_that_of_all() -> None:
    judge = judge_of(compiled(SUM), "mpmath")
    words = [word for word in all_words("ab", 5) if len(word) == 5]
    whole, left, right = Tally(5), Tally(5), Tally(5)
    for place, word in enumerate(words):
        for tally in (whole, left if place < 20 else right):
            tally.merge(judge.tally([word]), "ab")
    assert left.extremes["sum",] != right.extremes["sum",]
    left.merge(right, "ab")
    assert left == whole
