"""Engines against each other: mpmath inside the enclosures, the same answers and the same figures, and what they may
call it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.checking import rigorous
from hardsim.checking.campaign import CheckOptions, check_subject
from hardsim.checking.compare import Judge, accepted_words, evaluate
from hardsim.checking.figures import DIGITS, rounded_outwards, settle_answer, settle_mismatch
from hardsim.checking.result import ENGINES, CheckResult, Mismatch, Verdict
from hardsim.checking.rigorous import BatchEngine, make_engine
from hardsim.checking.soft import Engine, SoftAnswer, few_digits, undecided
from hardsim.checking.subject import ModelOptions, Subject, compile_file
from hardsim.checking.tally import Extreme, Tally
from hardsim.errors import InvariantError, Undecided, Unsupported
from hardsim.lang.parse import parse_expression
from hardsim.lang.pretty import format_formula
from hardsim.net.model import Layer
from hardsim.run.mp import MpArithmetic, exact
from hardsim.spec.regimes import PROVEN
from tests.counting_strategies import counting_formulas
from tests.networks import context
from tests.strategies import all_words, formulas

ACCURATE = Fraction(1, 10**19)
"""mpmath's attended values are right to 10^-20; sums of counts add a few of them."""
FORMULAS = ["Y a | X b", "(a S b) & !(G a)", "2 * #L[a] > #R[b] + 1", "ODD(#[a])"]


def compiled(text: str, regime: str = "temperature", beta: Fraction | None = None, letters: str = "ab") -> Subject:
    return compile_file(parse_expression(text, list(letters)), ModelOptions(regime, beta))


def regimes(text: str) -> list[str]:
    """The regimes that can do a formula, and `none` if it can."""
    able = []
    for regime in (*PROVEN, "none"):
        try:
            compiled(text, regime)
        except Unsupported:
            continue
        able.append(regime)
    return able


def numbers(answer: SoftAnswer) -> dict[str, Any]:
    """Everything that an engine measured."""
    named = {"output": answer.output, "unrounded": answer.unrounded, "margin": answer.margin, "sum": answer.sum_error}
    return named | answer.errors


def answers(engine: Engine | BatchEngine, words: list[tuple[str, ...]], judge: Judge) -> list[SoftAnswer]:
    """What an engine finds on words of one length."""
    if isinstance(engine, BatchEngine):
        found = engine.batch(words, judge.hard_of_many.run(judge.hard_of_many.symbols(words)))
        return [found.one(place) for place in range(len(words))]
    return engine.answers(words, [judge.hard.run(word) for word in words])


def hold(subject: Subject, words: list[tuple[str, ...]]) -> None:
    """mpmath's numbers lie in the balls, and what balls find meets the float enclosures."""
    judge = Judge(subject)
    found = {name: answers(make_engine(name, subject, judge.plan, None), words, judge) for name in ENGINES}
    for place, second in enumerate(found["mpmath"]):
        for name in ENGINES:
            answer = found[name][place]
            if not answer.decided:
                assert name == "float64"
                continue
            assert answer.answer is second.answer, (name, words[place])
            others = numbers(answer)
            for what, value in numbers(second).items():
                assert (value is None) == (others[what] is None)
                if value is not None:
                    slack = ACCURATE * (1 + abs(value[0]))
                    assert others[what][0] - slack <= value[0] <= others[what][1] + slack, (name, what, words[place])
            if name == "ball":
                assert all(high - low < ACCURATE * 1000 for low, high in filter(None, others.values()))


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("beta", [None, Fraction(1, 2)])
def test_mpmath_lies_in_every_enclosure(text: str, beta: Fraction | None) -> None:
    for regime in regimes(text):
        for n in (1, 4):
            hold(compiled(text, regime, beta), [word for word in all_words("ab", n) if len(word) == n][-8:])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    hold(subject, words)


def figures(result: CheckResult) -> list[Any]:
    """What is counted, which no arithmetic may change."""
    return [
        (one.n, one.words, one.accepted, one.soft_mismatches, one.hard_mismatches, one.score_gap, one.bound)
        for one in result.lengths
    ]


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
        assert abs(result.mismatch.value - exact.mismatch.value) < Fraction(1, 10**12)


def on_the_threshold(step: Fraction) -> Subject:
    """`a S b` with the threshold of its clip moved to what the head reads over `ba`, plus a step."""
    subject = compiled("a S b", letters="abc")
    # Over ba, n = 2 and beta = 4: the logits are 8 (1 + 1/4) and 8 (0 + 1/2), so the value is 1/(1 + e^-6).
    old, context.dps = context.dps, 60
    value = 1 / (1 + context.exp(-6))
    context.dps = old
    bias = -2 * (exact(value) + step)
    (layer,) = subject.model.layers
    moved = Layer(layer.heads, replace(layer.ffn, b1=(bias, bias - 1)))
    return replace(subject, model=replace(subject.model, layers=(moved,)))


def test_auto_goes_on_in_balls_where_float64_cannot_tell() -> None:
    # A step up, the clip gives 0: a mismatch that takes more digits than float64 has.
    close = on_the_threshold(Fraction(1, 10**17))
    word = ("b", "a")
    (floated,) = evaluate(close, [word], engine="float64")
    assert (floated.decided, floated.mismatch) == (False, None)
    (found,) = evaluate(close, [word])
    assert (found.decided, found.soft, found.hard) == (True, False, True)
    assert found.mismatch is not None
    result = check_subject(close, CheckOptions(max_n=2, engine="float64"))
    assert result.verdict is Verdict.REFUTED  # by other words, which the moved threshold makes wrong
    (auto,) = evaluate(close, [word], engine="ball")
    assert auto.soft is False


def test_a_word_that_stays_undecided_leaves_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = compiled("a S b", letters="abc")
    real = rigorous.BallEngine.answers

    def stuck(self: Any, words: Any, hards: Any) -> list[SoftAnswer]:
        return [
            undecided("ball", 2466) if word == tuple("cba") else answer
            for word, answer in zip(words, real(self, words, hards), strict=True)
        ]

    monkeypatch.setattr(rigorous.BallEngine, "answers", stuck)
    result = check_subject(subject, CheckOptions(max_n=3, engine="ball"))
    assert (result.verdict, result.mismatch, result.stuck) == (Verdict.UNDECIDED, None, tuple("cba"))
    assert "was reached on 1 of 39 words" in result.reach
    assert [length.undecided for length in result.lengths] == [0, 0, 1]


def test_a_mismatch_outweighs_an_undecided_word(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = compiled("a S b", beta=Fraction(1, 2), letters="abc")
    real = rigorous.BallEngine.answers

    def stuck(self: Any, words: Any, hards: Any) -> list[SoftAnswer]:
        return [
            undecided("ball", 2466) if len(word) == 1 else real(self, [word], [hard])[0]
            for word, hard in zip(words, hards, strict=True)
        ]

    monkeypatch.setattr(rigorous.BallEngine, "answers", stuck)
    result = check_subject(subject, CheckOptions(max_n=3, engine="ball"))
    assert (result.verdict, result.stuck) == (Verdict.REFUTED, None)


def test_balls_that_meet_their_limit_are_undecided() -> None:
    subject = on_the_threshold(Fraction(1, 10**50))
    engine = make_engine("ball", subject, Judge(subject).plan, None)
    assert isinstance(engine, rigorous.BallEngine)
    judge = Judge(subject)
    word = ("b", "a")
    assert engine.answers([word], [judge.hard.run(word)])[0].decided
    engine.balls.limit = 140  # 10^-50 needs 167 bits
    engine.balls._length = 0
    assert engine.answers([word], [judge.hard.run(word)]) == [undecided("ball", 42)]
    assert engine.decisions([word]) == [(False, None)]


def test_undecided_words_are_neither_accepted_nor_passed_over() -> None:
    close = on_the_threshold(Fraction(1, 10**17))
    with pytest.raises(Undecided, match="the word b a is undecided"):
        list(accepted_words(close, [("b", "a")], "soft", engine="float64"))
    assert list(accepted_words(close, [("b", "a")], "soft")) == []
    right = compiled("a S b")
    for engine in ENGINES:
        assert list(accepted_words(right, all_words("ab", 3), "soft", engine=engine)) == [
            word for word in all_words("ab", 3) if "b" in word
        ]


def test_errors_are_held_against_their_bounds_in_balls_where_floats_cannot() -> None:
    # At beta = 100 the bound is 2 e^-50 / (1 + e^-50) = 4e-22, below what float64 resolves.
    result = check_subject(compiled("a S b", beta=Fraction(100)), CheckOptions(max_n=4))
    assert result.verdict is Verdict.CERTIFIED
    assert "of them in ball arithmetic" in result.reach
    for length in result.lengths:
        assert 0 <= length.error <= length.bound < Fraction(1, 10**21)


def answer_of(output: tuple[Fraction, Fraction], answer: bool | None, decided: bool = True) -> SoftAnswer:
    return SoftAnswer(decided, answer, output, None, None, {}, None, "ball", 38)


def test_rigorous_arithmetics_may_not_contradict_each_other_and_one_without_an_answer_does_not_object() -> None:
    one, near = Fraction(1), Fraction(1, 10**9)
    found = answer_of((one, one), True)
    assert settle_answer(("a",), found, found) == found
    assert settle_answer(("a",), undecided("float64", 15), found) == found
    assert settle_answer(("a",), found, undecided("ball", 2466)) == found
    wide = answer_of((one - near, one + near), None)
    assert settle_answer(("a",), wide, answer_of((one + near / 2, one + near / 2), None)).output[0] == one + near / 2
    for other in (answer_of((one + near, one + near), True), answer_of((one, one), None)):
        with pytest.raises(InvariantError, match="answer differently"):
            settle_answer(("a",), found, other)
    mismatch = Mismatch(("a",), False, False, True, one)
    assert settle_mismatch(mismatch, lambda word: found) == mismatch
    assert settle_mismatch(mismatch, lambda word: undecided("ball", 2466)) == mismatch
    with pytest.raises(InvariantError, match="answer differently"):
        settle_mismatch(mismatch, lambda word: answer_of((one, one), None))


def test_a_wrong_figure_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    real = rigorous.BallEngine.answers

    def off(self: Any, words: Any, hards: Any) -> list[SoftAnswer]:
        shift = Fraction(1, 10**6)
        return [
            replace(one, margin=(one.margin[0] + shift, one.margin[1] + shift))
            for one in real(self, words, hards)
            if one.margin
        ]

    monkeypatch.setattr(rigorous.BallEngine, "answers", off)
    with pytest.raises(InvariantError, match="do not meet"):
        check_subject(compiled("a S b"), CheckOptions(max_n=2))


def test_auto_uses_no_mpmath(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, dps: int) -> None:
        raise AssertionError("mpmath decides nothing")

    monkeypatch.setattr(MpArithmetic, "__init__", broken)
    for beta in (None, Fraction(1, 2)):
        subject = compiled("(a S b) & 2 * #L[a] > #L[b]", beta=beta)
        for engine in ("auto", "float64", "ball"):
            assert check_subject(subject, CheckOptions(max_n=3, engine=engine)).lengths
            assert list(evaluate(subject, [("a", "b")], engine=engine))
            list(accepted_words(subject, [("a", "b")], "soft", engine=engine))


def test_a_mismatch_of_the_hard_heads_is_certain_in_every_engine() -> None:
    subject = compiled("a S b", letters="abc")
    other = replace(subject, file=compiled("b S a", letters="abc").file)
    for engine in ENGINES:
        assert check_subject(other, CheckOptions(max_n=1, engine=engine)).verdict is Verdict.REFUTED


def test_a_word_without_an_answer_disagrees_with_nothing() -> None:
    for oracle in (True, False):
        mismatch = Mismatch(("a",), oracle, True, None, Fraction(0), decided=False)
        assert mismatch.kind == ("" if oracle else "hard/oracle")


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 10**18), st.integers(1, 10**18), st.integers(0, 10**18), st.sampled_from(["<", "=", ">"]))
def test_large_coefficients_agree_in_every_engine_or_are_undecided(left: int, right: int, more: int, sign: str) -> None:
    subject = compiled(f"{left} * #L[a] {sign} {right} * #L[b] + {more}")  # 10^18 is the largest
    for engine in ENGINES:
        result = check_subject(subject, CheckOptions(max_n=3, engine=engine))
        assert result.mismatch is None
        wanted = Verdict.OBSERVED if engine == "mpmath" else Verdict.CERTIFIED
        assert result.verdict in ((wanted, Verdict.UNDECIDED) if engine == "float64" else (wanted,))


def rescaled(subject: Subject, scale: Fraction) -> Subject:
    """The same function: what the head of `a S b` attends to is scaled, and read with the inverse."""
    (layer,) = subject.model.layers
    (head,) = layer.heads
    out = {row for row, _, _ in head.w_v.entries}
    w_v = replace(head.w_v, entries=tuple((row, column, value * scale) for row, column, value in head.w_v.entries))
    w1 = replace(
        layer.ffn.w1,
        entries=tuple(
            (row, column, value / scale if column in out else value) for row, column, value in layer.ffn.w1.entries
        ),
    )
    moved = Layer((replace(head, w_v=w_v),), replace(layer.ffn, w1=w1))
    return replace(subject, model=replace(subject.model, layers=(moved,)))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(-50, 50), st.integers(1, 9), st.sampled_from([None, Fraction(1, 2)]))
def test_rescaled_networks_are_answered_alike_or_not_at_all(power: int, factor: int, beta: Fraction | None) -> None:
    subject = compiled("a S b", beta=beta, letters="abc")
    scaled = rescaled(subject, Fraction(factor) * Fraction(10) ** power)
    words = [word for word in all_words("abc", 3) if len(word) == 3]
    wanted = [one.soft for one in evaluate(subject, words, engine="ball")]
    for engine in ENGINES:
        for one, answer in zip(evaluate(scaled, words, engine=engine), wanted, strict=True):
            assert one.soft is answer if one.decided else engine == "float64"


def test_few_digits_are_taken_with_a_remark() -> None:
    subject = compiled("1000000000 * #L[a] > #L[b]")
    assert few_digits(subject, 3, 15, "ball") is few_digits(subject, 3, 80, "mpmath") is None
    remark = few_digits(subject, 3, 15, "mpmath")
    assert remark is not None
    assert remark.startswith("15 decimal digits are fewer than the ")
    # Ten digits cannot tell 10^9 c - c' from 0 after rounding: whatever is found is observed, not certain.
    assert check_subject(subject, CheckOptions(max_n=3, engine="mpmath", dps=10)).verdict is Verdict.OBSERVED


def test_bounds_are_rounded_outwards() -> None:
    third = Fraction(1, 3)
    assert rounded_outwards(third, 1) == Fraction(int("3" * DIGITS), 10**DIGITS)
    assert rounded_outwards(third, -1) == Fraction(int("3" * DIGITS) + 1, 10**DIGITS)
    assert rounded_outwards(-third, 1) == -rounded_outwards(third, -1)
    assert rounded_outwards(Fraction(1, 4), -1) == Fraction(1, 4)


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
    one, other = Tally(1), Tally(1)
    one.note(("a",), True, undecided("float64", 15))
    other.note(("b",), True, undecided("float64", 15))
    one.merge(other, "ab")
    assert (one.undecided, one.stuck, one.words) == (2, ("a",), 2)
