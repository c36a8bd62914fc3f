"""Tests that engines agree: mpmath's numbers lie inside the enclosures, answers and figures are the same, verdicts name
the right arithmetic, and a batch has the answers of its words one by one.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import e, nextafter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.campaign.distances import RowSelection, Span, float_quotients
from hardsim.campaign.engines import (
    OUTPUT,
    BatchAnswers,
    HardRunner,
    Place,
    SoftAnswer,
    SoftEngine,
    WordEngine,
    allowed_error,
    float_at_most,
    undecided,
)
from hardsim.campaign.evaluate import accepted_words
from hardsim.campaign.tally import DIGITS, Extreme, extreme, rounded_outwards, settle_answer, settle_mismatch
from hardsim.network.integers import quotient
from hardsim.run.enclosure import Integers, quotients
from hardsim.run.float64 import BatchTrace
from hardsim.run.mp import exact
from hardsim.targets.result import ENGINES
from tests.support.check import (
    CheckOptions,
    CheckResult,
    Mismatch,
    ModelOptions,
    Subject,
    Tally,
    Verdict,
    Word,
    check_subject,
    read_input,
)
from tests.support.counting_strategies import counting_formulas
from tests.support.language import InvariantError, Undecided, Unsupported, format_formula, parse_arith
from tests.support.model import PROVEN, FeedForward, Layer, MpArithmetic
from tests.support.networks import EXTREME, context, scaled
from tests.support.strategies import all_words, formulas
from tests.support.subjects import compiled, evaluations, judge_of, known, stated_to_be, with_network

ACCURATE = Fraction(1, 10**19)
"""The accuracy required of mpmath: its attended values are right to 10^-20, and sums of counts add a few of them."""
FORMULAS = ["Y a | X b", "(a S b) & !(G a)", "2 * #L[a] > #R[b] + 1", "ODD(#[a])"]


def regimes(text: str) -> list[str]:
    """List the regimes that have a construction for a formula, including `none`."""
    able = []
    for regime in (*PROVEN, "none"):
        try:
            compiled(text, regime)
        except Unsupported:
            continue
        able.append(regime)
    return able


def numbers(answer: SoftAnswer) -> dict[str, Any]:
    """Return all numbers that an engine measured, by name."""
    return {" ".join(map(str, place)): bounds for place, bounds in answer.numbers.items()}


def require(subject: Subject, words: list[tuple[str, ...]]) -> None:
    """Require that mpmath's numbers lie in the balls, and that the balls meet the float enclosures."""
    hard, found = judge_of(subject).hard.run(words), dict[str, list[SoftAnswer]]()
    for name in ENGINES:
        batch = judge_of(subject, name).soft.batch(words, hard)
        found[name] = [batch.one(place) for place in range(len(words))]
    for place, second in enumerate(found["mpmath"]):
        for name in ENGINES:
            answer = found[name][place]
            if not answer.decided:
                assert name == "float64"
                continue
            assert answer.answer is second.answer, (name, words[place])
            others = numbers(answer)
            assert numbers(second).keys() == others.keys()
            for what, value in numbers(second).items():
                slack = ACCURATE * (1 + abs(value[0]))
                assert others[what][0] - slack <= value[0] <= others[what][1] + slack, (name, what, words[place])
            if name == "ball":
                assert all(high - low < ACCURATE * 1000 for low, high in others.values())


@pytest.mark.sweep
@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("beta", [None, Fraction(1, 2)])
def test_mpmath_lies_in_every_enclosure(text: str, beta: Fraction | None) -> None:
    for regime in regimes(text):
        for n in (1, 4):
            require(compiled(text, regime, beta), list(product("ab", repeat=n))[-8:])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(formulas("ab", 3), counting_formulas("ab")),
    st.sampled_from(["temperature", "position", "none"]),
    st.sampled_from([None, Fraction(1), Fraction(3)]),
    st.integers(1, 6).flatmap(lambda n: st.lists(st.tuples(*[st.sampled_from("ab")] * n), min_size=1, max_size=3)),
)
def test_mpmath_lies_in_every_enclosure_of_random_formulas(
    formula: Any, regime: str, beta: Fraction | None, words: list[tuple[str, ...]]
) -> None:
    try:
        subject = compiled(format_formula(formula), regime, beta)
    except Unsupported:
        return
    require(subject, words)


def figures(result: CheckResult) -> list[Any]:
    """Return the counts of a result, which must not depend on the arithmetic."""
    return [
        (one.n, one.words, one.accepted, one.soft_mismatches, one.hard_mismatches, one.score_gap, one.bound)
        for one in result.lengths
    ]


@pytest.mark.sweep
@pytest.mark.parametrize("text", FORMULAS)
def test_every_engine_reports_the_same_figures(text: str) -> None:
    results = {
        name: check_subject(compiled(text), CheckOptions(max_n=5, engine=name, exhaustive=40)) for name in ENGINES
    }
    exact = results["mpmath"]
    assert exact.verdict is Verdict.OBSERVED
    for name, result in results.items():
        if name == "mpmath":
            continue
        assert result.verdict is Verdict.CERTIFIED
        assert figures(result) == figures(exact)
        for mine, theirs in zip(result.lengths, exact.lengths, strict=True):
            near = Fraction(1, 10**11)
            for what in ("acceptance_gap", "margin"):
                low, value = getattr(mine, what), getattr(theirs, what)
                assert (low is None) == (value is None)
                if value is not None:
                    assert value - near <= low <= value + (ACCURATE if name != "auto" else near)
            for one, other in zip(mine.heads, theirs.heads, strict=True):
                assert other.error - (ACCURATE if name != "auto" else near) <= one.error <= other.error + near


@pytest.mark.parametrize("regime", [*PROVEN, "none"])
def test_too_flat_attention_is_refuted_by_the_same_word_in_every_engine(regime: str) -> None:
    subject = compiled("a S b", regime, Fraction(1, 2), "abc")
    found = {name: check_subject(subject, CheckOptions(max_n=4, engine=name)) for name in ENGINES}
    exact = found["mpmath"]
    assert exact.mismatch is not None
    for name, result in found.items():
        assert result.verdict is (Verdict.OBSERVED if name == "mpmath" else Verdict.REFUTED)
        assert not result.agreed
        assert ("not certified" in result.reach) is ("--engine ball" in result.reach) is (name == "mpmath")
        assert figures(result) == figures(exact)
        assert result.mismatch is not None
        assert result.mismatch.word == exact.mismatch.word
        assert abs(known(result.mismatch.output) - known(exact.mismatch.output)) < Fraction(1, 10**12)


def on_the_threshold(step: Fraction) -> Subject:
    """Compile `a S b` and move the threshold of its clip to the value that the head reads over `ba`, plus a step."""
    subject = compiled("a S b", letters="abc")
    # Over ba, n = 2 and beta = 4: the logits are 8 (1 + 1/4) and 8 (0 + 1/2), so the value is 1/(1 + e^-6).
    old, context.dps = context.dps, 60
    value = 1 / (1 + context.exp(-6))
    context.dps = old
    bias = -2 * (exact(value) + step)
    (layer,) = subject.model.layers
    (clip,) = layer.ffn.units
    moved = Layer(layer.heads, FeedForward((replace(clip, bias=bias),)))
    return with_network(subject, replace(subject.model, layers=(moved,)))


def test_auto_goes_on_in_balls_where_float64_cannot_tell() -> None:
    # With the threshold a step higher, the clip gives 0: a mismatch that takes more digits than float64 has.
    close = on_the_threshold(Fraction(1, 10**17))
    word = ("b", "a")
    (floated,) = evaluations(close, [word], "float64")
    assert (floated.decided, floated.mismatch) == (False, None)
    (found,) = evaluations(close, [word], "auto")
    assert (found.decided, found.soft, found.hard) == (True, False, True)
    assert found.mismatch is not None
    result = check_subject(close, CheckOptions(max_n=2, engine="float64"))
    assert result.verdict is Verdict.REFUTED  # on other words, which the moved threshold makes wrong
    (auto,) = evaluations(close, [word], "ball")
    assert auto.soft is False


def stuck_at(monkeypatch: pytest.MonkeyPatch, stuck: Callable[[Word], bool]) -> None:
    """Make balls reach no answer on words for which `stuck` is true."""
    real = WordEngine.answer

    def answer(self: WordEngine, word: Word, hard: Any, place: int) -> SoftAnswer:
        return undecided("ball", 2466) if stuck(word) else real(self, word, hard, place)

    monkeypatch.setattr(WordEngine, "answer", answer)


def test_words_in_balls_hide_no_error_of_words_in_float64(tmp_path: Path) -> None:
    """An error measured in float64 is kept although balls measure other words.

    The unit writes 0. Float64 knows that this changes nothing, balls do not: if errors were measured after the unit in
    balls alone, those of the other words would be forgotten. On abbb the head reads e/(e + 3) instead of 1. The
    threshold is so near 1/2 that float64 cannot distinguish the mean of aabb from it.
    """
    head = {"name": "some a", "mask": "none", "weighting": "average", "score": [[{"1": "1"}, {"a": "1"}]]}
    majority = {"name": "maj", "mask": "none", "weighting": "average", "score": [], "values": {"maj": {"a": "1"}}}
    program = {
        "alphabet": ["a", "b"],
        "coordinates": ["1", "a", "found", "maj"],
        "letters": [{"name": "a", "symbols": ["a"]}],
        "layers": [
            {
                "heads": [{**head, "values": {"found": {"a": "1"}}}, majority],
                "units": [{"outs": {"found": "1"}, "pre": {"1": "-1"}, "clip": True}],
                "biases": {},
            }
        ],
        "encodings": [],
        "output": "maj",
        "threshold": str(Fraction(1, 2) + Fraction(1, 10**20)),
        "reading": "last",
    }
    document = {"format": "hardsim-ahat", "schema_version": 2, "title": "", "source": "", "notes": []}
    path = tmp_path / "some.ahat.json"
    path.write_text(json.dumps({**document, "examples": {"accept": [], "reject": []}, "program": program}))
    subject = read_input(str(path)).compile(ModelOptions(tau=parse_arith("1")))
    floated = check_subject(subject, CheckOptions(max_n=4, engine="float64"))
    assert floated.lengths[-1].undecided == 6  # the words with two of each
    found = check_subject(subject, CheckOptions(max_n=4))
    assert float(found.lengths[-1].error) == pytest.approx(3 / (e + 3), rel=1e-9)


def test_a_word_that_stays_undecided_leaves_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck_at(monkeypatch, lambda word: word == tuple("cba"))
    result = check_subject(compiled("a S b", letters="abc"), CheckOptions(max_n=3, engine="ball"))
    assert (result.verdict, result.mismatch, result.undecided_word) == (Verdict.UNDECIDED, None, tuple("cba"))
    assert "was reached on 1 of 39 words" in result.reach
    assert [length.undecided for length in result.lengths] == [0, 0, 1]


def test_a_mismatch_outweighs_an_undecided_word(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck_at(monkeypatch, lambda word: len(word) == 1)
    subject = compiled("a S b", beta=Fraction(1, 2), letters="abc")
    result = check_subject(subject, CheckOptions(max_n=3, engine="ball"))
    assert (result.verdict, result.undecided_word) == (Verdict.REFUTED, None)


def test_balls_that_meet_their_limit_are_undecided() -> None:
    judge = judge_of(on_the_threshold(Fraction(1, 10**50)), "ball")
    engine, word = judge.soft.words, ("b", "a")
    hard = judge.hard.run([word])
    assert engine.answer(word, hard, 0).decided
    engine.soft.limit = 140  # 10^-50 needs 167 bits
    engine.soft._length = 0
    assert engine.answer(word, hard, 0) == undecided("ball", 42)
    assert judge.soft.decisions([word]) == [(False, None)]


def test_undecided_words_are_neither_accepted_nor_passed_over() -> None:
    close = on_the_threshold(Fraction(1, 10**17))
    with pytest.raises(Undecided, match="the word b a is undecided"):
        list(accepted_words(close, [("b", "a")], "soft", CheckOptions(engine="float64")))
    assert list(accepted_words(close, [("b", "a")], "soft", CheckOptions())) == []
    right = compiled("a S b")
    for engine in ENGINES:
        assert list(accepted_words(right, all_words("ab", 3), "soft", CheckOptions(engine=engine))) == [
            word for word in all_words("ab", 3) if "b" in word
        ]


def test_errors_are_compared_with_their_bounds_in_balls_where_floats_cannot() -> None:
    # At beta = 100 the bound is 2 e^-50 / (1 + e^-50) = 4e-22, below what float64 resolves.
    result = check_subject(compiled("a S b", beta=Fraction(100)), CheckOptions(max_n=4))
    assert result.verdict is Verdict.CERTIFIED
    assert "of them in ball arithmetic" in result.reach
    for length in result.lengths:
        assert 0 <= length.error <= length.bound < Fraction(1, 10**21)


def test_one_word_for_each_error_beyond_floats_is_run_in_balls() -> None:
    """Many words have an error of which float64 cannot tell whether it exceeds its bound: the worst of a length is run
    in balls, where that is certain."""
    subject = compiled("a S b", beta=Fraction(100))
    (head,) = subject.program.heads
    place = head.name, head.values[0][0]
    for n in range(2, 6):
        words = [word for word in all_words("ab", n) if len(word) == n]
        engine = SoftEngine(subject, subject.model, subject.program, budget=subject.budget)
        found = engine.batch(words, HardRunner(subject).run(words))
        ((worst, alone),) = found.alone.items()
        low, high = found.numbers[place]
        bound = allowed_error(subject.budget, head, n)
        doubtful = np.array([one <= bound < other for one, other in zip(low.tolist(), high.tolist(), strict=True)])
        assert found.decided.all()
        assert doubtful.sum() > 1
        assert low[worst] == low[doubtful].max()
        assert 0 < alone.numbers[place][1] <= bound


def answer_of(output: tuple[Fraction, Fraction], answer: bool | None, decided: bool = True) -> SoftAnswer:
    return SoftAnswer(decided, answer, "ball", 38, {OUTPUT: output})


def test_rigorous_arithmetics_may_not_contradict_each_other_and_one_without_an_answer_does_not_object() -> None:
    one, near = Fraction(1), Fraction(1, 10**9)
    found = answer_of((one, one), True)
    assert settle_answer(("a",), found, found) == found
    assert settle_answer(("a",), undecided("float64", 15), found) == found
    assert settle_answer(("a",), found, undecided("ball", 2466)) == found
    wide = answer_of((one - near, one + near), None)
    half = one + near / 2, one + near / 2
    assert settle_answer(("a",), wide, answer_of(half, None)).numbers[OUTPUT] == half
    for other in (answer_of((one + near, one + near), True), answer_of((one, one), None)):
        with pytest.raises(InvariantError, match="answer differently"):
            settle_answer(("a",), found, other)
    mismatch = Mismatch(("a",), False, False, True, one)
    assert settle_mismatch(mismatch, lambda word: found) == mismatch
    assert settle_mismatch(mismatch, lambda word: undecided("ball", 2466)) == mismatch
    with pytest.raises(InvariantError, match="answer differently"):
        settle_mismatch(mismatch, lambda word: answer_of((one, one), None))


def test_a_wrong_figure_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    real = WordEngine.answer

    def off(self: WordEngine, word: Word, hard: Any, place: int) -> SoftAnswer:
        return replace(real(self, word, hard, place), answer=True)

    monkeypatch.setattr(WordEngine, "answer", off)
    with pytest.raises(InvariantError, match="float64 and balls answer differently"):
        check_subject(compiled("a S b", regime="none", letters="abc"), CheckOptions(max_n=3))


def test_auto_uses_no_mpmath(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, dps: int) -> None:
        raise AssertionError("mpmath decides nothing")

    monkeypatch.setattr(MpArithmetic, "__init__", broken)
    for beta in (None, Fraction(1, 2)):
        subject = compiled("(a S b) & 2 * #L[a] > #L[b]", beta=beta)
        for engine in ("auto", "float64", "ball"):
            assert check_subject(subject, CheckOptions(max_n=3, engine=engine)).lengths
            assert evaluations(subject, [("a", "b")], engine)
            list(accepted_words(subject, [("a", "b")], "soft", CheckOptions(engine=engine)))


def test_a_mismatch_of_the_hard_heads_is_certain_in_every_engine() -> None:
    other = stated_to_be(compiled("a S b", letters="abc"), "b S a")
    for engine in ENGINES:
        assert check_subject(other, CheckOptions(max_n=1, engine=engine)).verdict is Verdict.REFUTED


def test_a_word_without_an_answer_disagrees_with_nothing() -> None:
    for oracle in (True, False):
        mismatch = Mismatch(("a",), oracle, True, None, Fraction(0), decided=False)
        assert mismatch.refutes is not oracle
        assert oracle or mismatch.kind == "hard/oracle"


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 10**18), st.integers(1, 10**18), st.integers(0, 10**18), st.sampled_from(["<", "=", ">"]))
def test_large_coefficients_agree_in_every_engine_or_are_undecided(left: int, right: int, more: int, sign: str) -> None:
    subject = compiled(f"{left} * #L[a] {sign} {right} * #L[b] + {more}")  # 10^18 is the largest
    for engine in ENGINES:
        result = check_subject(subject, CheckOptions(max_n=3, engine=engine))
        assert result.mismatch is None
        expected = Verdict.OBSERVED if engine == "mpmath" else Verdict.CERTIFIED
        assert result.verdict in ((expected, Verdict.UNDECIDED) if engine == "float64" else (expected,))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_network_is_answered_by_its_own_output(engine: str) -> None:
    # The stored network reads its answer from the coordinate of b, unlike the formula's program.
    subject = compiled("a S b", letters="abc")
    subject = with_network(subject, replace(subject.model, output=subject.index["[b]"]))
    words = list(product("abc", repeat=3))
    for word, one in zip(words, evaluations(subject, words, engine), strict=True):
        assert one.soft is (word[-1] == "b")


def rescaled(subject: Subject, scale: Fraction) -> Subject:
    """Compile the same function with rescaled values: the output of the head of `a S b` is scaled, and read with the
    inverse.
    """
    (layer,) = subject.model.layers
    (head,) = layer.heads
    out = {row for row, _, _ in head.w_v.entries}
    units = tuple(
        replace(unit, form=tuple((k, value / scale if k in out else value) for k, value in unit.form))
        for unit in layer.ffn.units
    )
    moved = replace(layer.ffn, units=units)
    head = replace(head, w_v=scaled(head.w_v, scale))
    return with_network(subject, replace(subject.model, layers=(Layer((head,), moved),)))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(-50, 50), st.integers(1, 9), st.sampled_from([None, Fraction(1, 2)]))
def test_rescaled_networks_are_answered_alike_or_not_at_all(power: int, factor: int, beta: Fraction | None) -> None:
    subject = compiled("a S b", beta=beta, letters="abc")
    scaled = rescaled(subject, Fraction(factor) * Fraction(10) ** power)
    words = list(product("abc", repeat=3))
    expected = [one.soft for one in evaluations(subject, words, "ball")]
    for engine in ENGINES:
        for one, answer in zip(evaluations(scaled, words, engine), expected, strict=True):
            assert one.soft is answer if one.decided else engine == "float64"


def test_few_digits_are_taken_with_a_remark() -> None:
    subject = compiled("1000000000 * #L[a] > #L[b]")
    assert subject.few_digits(3, 15, "ball") is subject.few_digits(3, 80, "mpmath") is None
    remark = subject.few_digits(3, 15, "mpmath")
    assert known(remark).startswith("15 decimal digits are fewer than the ")
    # Ten digits cannot distinguish 10^9 c - c' from 0 after rounding: every result is observed, not certified.
    assert check_subject(subject, CheckOptions(max_n=3, engine="mpmath", dps=10)).verdict is Verdict.OBSERVED


def test_bounds_are_rounded_outwards() -> None:
    third = Fraction(1, 3)
    for digits in DIGITS.values():
        assert rounded_outwards(third, 1, digits) == Fraction(int("3" * digits), 10**digits)
        assert rounded_outwards(third, -1, digits) == Fraction(int("3" * digits) + 1, 10**digits)
        assert rounded_outwards(-third, 1, digits) == -rounded_outwards(third, -1, digits)
        assert rounded_outwards(Fraction(1, 4), -1, digits) == Fraction(1, 4)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=6), st.integers(0, 6))
def test_extremes_bound_all_words_and_name_one_that_may_attain_them(pairs: list[tuple[int, int]], cut: int) -> None:
    for sign in (1, -1):
        extremes = [Extreme.of(sign, (low, low + width), (str(k),)) for k, (low, width) in enumerate(pairs)]
        whole = extremes[0]
        for one in extremes[1:]:
            whole = whole.join(one)
        ends = [low if sign > 0 else low + width for low, width in pairs]
        assert whole.bound == (min(ends) if sign > 0 else max(ends))
        if all(width == 0 for _, width in pairs):
            assert int(whole.word[0]) == ends.index(whole.bound)
        assert whole.bounds == (pairs[int(whole.word[0])][0], sum(pairs[int(whole.word[0])]))


def test_tallies_keep_the_first_stuck_word() -> None:
    one, other = (Tally.of([(symbol,)], [True], [True], BatchAnswers.of(1), "ab") for symbol in "ab")
    one.merge(other, "ab")
    assert (one.undecided, one.stuck, one.words) == (2, ("a",), 2)


# ---- batches ----


@pytest.mark.sweep
@pytest.mark.parametrize("text", ["(a S b) & !(G a)", "Y a | X b", "2 * #L[a] > #R[b] + 1"])
@pytest.mark.parametrize("beta", [None, Fraction(1, 2)])
def test_a_tally_of_a_batch_is_that_of_its_words(text: str, beta: Fraction | None) -> None:
    judge, words = judge_of(compiled(text, beta=beta)), list(product("ab", repeat=6))
    whole, parts = judge.tally(words), Tally(6)
    for word in words:
        parts.merge(judge.tally([word]), "ab")
    for name in ("words", "accepted", "soft_mismatches", "hard_mismatches", "undecided", "gaps", "stuck"):
        assert getattr(whole, name) == getattr(parts, name), name
    assert whole.extremes.keys() == parts.extremes.keys()
    for what, mine in whole.extremes.items():
        # Roundings depend on the batch; the enclosed value does not.
        assert abs(mine.bound - parts.extremes[what].bound) < 1e-12
    if whole.mismatch is not None:
        assert whole.mismatch.word == known(parts.mismatch).word
    assert (whole.mismatch is None) == (parts.mismatch is None)


def test_what_float64_cannot_decide_is_decided_by_balls_alone() -> None:
    judge, words = judge_of(compiled("a S b", beta=Fraction(100))), list(product("ab", repeat=3))
    hard = judge.hard.run(words)
    assert known(judge.soft.floats).batch(words, hard).alone == {}
    found = judge.soft.batch(words, hard)
    assert found.alone  # 2 e^-50 is below what float64 resolves
    for place in range(len(words)):
        assert found.one(place).decided
        assert found.one(place).engine == ("ball" if place in found.alone else "float64")


def test_no_finite_bound_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, words = judge_of(compiled("a S b")), list(product("ab", repeat=2))
    hard, engine = judge.hard.run(words), judge.soft.floats
    assert engine is not None
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
    tally = Tally.of(words, None, hard.answers, found, "ab")
    assert (tally.undecided, tally.stuck, tally.words) == (1, ("a", "a"), 4)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=8), st.sampled_from([1, -1]))
def test_the_extreme_of_a_batch_bounds_all_and_stands_against_all(pairs: list[tuple[int, int]], sign: int) -> None:
    low = np.array([float(a) for a, _ in pairs])
    high = np.array([float(a + b) for a, b in pairs])
    words = [(str(place),) for place in range(len(pairs))]
    found = extreme(sign, (low, high), words, np.ones(len(pairs), dtype=np.bool_))
    joined = Extreme.of(sign, (low[0], high[0]), words[0])
    for place in range(1, len(pairs)):
        joined = joined.join(Extreme.of(sign, (low[place], high[place]), words[place]))
    assert known(found).bound == joined.bound
    place = int(known(found).word[0])
    for other in range(len(pairs)):
        beaten = high[other] < low[place] if sign > 0 else low[other] > high[place]
        assert not beaten
    assert extreme(sign, (low, high), words, np.zeros(len(pairs), dtype=np.bool_)) is None


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


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True))
def test_selections_are_the_rows(numbers: list[int]) -> None:
    rows = np.array(sorted(numbers))
    array, selection = np.arange(62).reshape(31, 2), RowSelection.of(rows)
    assert np.array_equal(selection.of_array(array), array[rows])
    regular = len(set(np.diff(rows).tolist())) < 2
    assert (selection.count, isinstance(selection.rows, slice)) == (len(rows), regular)
    assert selection.of_array(array[:1]).tolist() == [[0, 1]]
    assert selection.of_array(np.broadcast_to(array[:1], (31, 2))).tolist() == [[0, 1]]


def test_exact_numbers_of_a_ratio_become_the_floats_of_their_numerators() -> None:
    """Means of 1 to 60 numbers: the quotient of machine integers is the one of Python's, and as sure to be exact."""
    totals = np.array([[min(i, 3 * word) for i in range(1, 61)] for word in range(5)])
    means = quotient(totals, np.arange(1, 61)[None], 1)
    assert means.ratio is not None
    rows = RowSelection.of(np.array([1, 3]))
    whole = means.whole[[1, 3]]
    for found, expected in zip(float_quotients(means, rows), quotients(whole, means.unit), strict=True):
        assert np.array_equal(found, expected)
    # Totals that floats do not hold are divided as Python's integers.
    large = replace(means, ratio=(totals * 2**53 + 1, np.arange(1, 61) * 2**53))
    for found, expected in zip(float_quotients(large, rows), quotients(whole, means.unit), strict=True):
        assert np.array_equal(found, expected)


def test_bounds_are_stored_by_word_and_a_word_without_finite_ones_is_undecided() -> None:
    found = BatchAnswers.of(4)
    found.decided[:] = True
    found.put(np.array([0, 2]), {OUTPUT: (np.array([1.0, 2.0]), np.array([3.0, 4.0]))})
    other: dict[Place, Span] = {
        OUTPUT: (np.array([5.0]), np.array([6.0])),
        ("head", "x"): (np.array([0.5]), np.array([np.inf])),
    }
    found.put(np.array([1]), other)
    found.put(np.array([3]), {})
    assert [part.tolist() for part in found.numbers[OUTPUT]] == [[1, 5, 2, 0], [3, 6, 4, 0]]
    assert [part.tolist() for part in found.numbers["head", "x"]] == [[0, 0.5, 0, 0], [0, np.inf, 0, 0]]
    assert found.decided.tolist() == [True, False, True, True]
