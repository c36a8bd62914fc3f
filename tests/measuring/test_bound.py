"""Tests of the bound report: the grid, words made hard, bits, Lemma 27, growth."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path

import pytest
from mpmath import e, workdps

from hardsim.campaign.engines import HardRunner, SoftEngine
from hardsim.measuring.bound import (
    ASYMPTOTICS,
    BIT_STEP,
    GRID,
    STEP,
    BoundOptions,
    BoundResult,
    Hunter,
    bits_needed,
    bound_report,
    bound_subject,
    growths,
)
from hardsim.theory.rounding import least_width
from tests.support.attention_models import Document, critical, some_a, with_head
from tests.support.check import CheckOptions, Progress, Subject, Verdict
from tests.support.language import parse_arith
from tests.support.model import assemble
from tests.support.subjects import compiled, known, subject_of

OPTIONS = CheckOptions(max_n=4, exhaustive=256, engine="ball")


def report(subject: Subject, max_n: int = 4, expected: BoundOptions | None = None) -> BoundResult:
    return bound_report(bound_subject(subject), replace(OPTIONS, max_n=max_n), expected or BoundOptions())


def hunter(subject: Subject, words: list[tuple[str, ...]], whole: bool) -> Hunter:
    expected = dict(zip(words, HardRunner(subject).answers(words), strict=True))
    return Hunter(subject, subject.program, lambda factor: parse_arith(str(factor)), expected, whole, seed=0)


def words(n: int) -> list[tuple[str, ...]]:
    return list(product("ab", repeat=n))


def test_the_grid_brackets_the_critical_temperature(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    for start in (Fraction(1, 10), Fraction(1, 7), Fraction(2, 5)):
        for n in (2, 3, 4):
            found = hunter(subject, words(n), True).search(start)
            right, wrong = known(found.right), known(found.wrong)
            assert right < critical(n) <= wrong
            assert wrong == right * STEP
            power = right / start
            while power > 1:
                power /= STEP
            assert power == 1
            assert known(found.word).count("a") == 1


def test_a_start_that_is_wrong_already(tmp_path: Path) -> None:
    found = hunter(subject_of(tmp_path, some_a()), words(2), True).search(Fraction(2))
    assert [found.right, found.wrong, found.word] == [None, 2, ("a", "b")]


def test_a_temperature_that_is_never_wrong(tmp_path: Path) -> None:
    """With a threshold below 1/n the word with one a is accepted at any temperature."""
    found = hunter(subject_of(tmp_path, some_a(threshold="1/4")), words(3), True).search(Fraction(1))
    assert (found.right, found.wrong, found.word) == (STEP ** (GRID - 1), None, None)


def test_words_are_made_hard_where_not_all_are_tried(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    # Words of length 4 with one a are wrong above 1/ln 9, those with two a's above 1/ln 3.
    between = Fraction(6, 10)
    assert critical(4) < between < critical(2)
    start = [tuple("aaaa")]
    assert hunter(subject, start, True).wrong_word(between) is None
    assert known(hunter(subject, start, False).wrong_word(between)).count("a") == 1
    assert hunter(subject, start, False).wrong_word(critical_below(4)) is None


def test_changed_words_move_the_bracket_down(tmp_path: Path) -> None:
    """The given word is right at every temperature; words with one a are not above the critical one."""
    found = hunter(subject_of(tmp_path, some_a()), [tuple("aaaa")], False).search(Fraction(1, 7))
    assert known(found.right) < critical(4) <= known(found.wrong) == known(found.right) * STEP
    assert known(found.word).count("a") == 1


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("text", ["Y (a S b)", "ODD(#[a]) & (a S b)", "O (a & Y b)"])
def test_temperatures_tried_together_bracket_as_one_after_another(
    text: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, start = compiled(text), Fraction(1, 40)
    together = hunter(subject, words(5)[::3], whole)
    found = together.search(start)
    assert found.wrong is not None
    monkeypatch.setattr("hardsim.measuring.bound.CELLS", 0)
    alone = hunter(subject, words(5)[::3], whole)
    assert alone.search(start) == found
    assert (alone.tries, alone.words, alone.stuck) == (together.tries, together.words, together.stuck)


def critical_below(n: int) -> Fraction:
    return Fraction(round(critical(n) * 999), 1000)


def test_what_is_found_hard_stays(tmp_path: Path) -> None:
    searcher = hunter(subject_of(tmp_path, some_a()), [tuple("aaaa")], False)
    assert searcher.wrong_word(critical_below(4)) is None
    assert searcher.words[0] == tuple("aaaa")
    # The least margins are those of the words with one a.
    assert any(word.count("a") == 1 for word in searcher.words)
    assert len(set(searcher.words)) == len(searcher.words)
    searcher.whole = True
    assert searcher.wrong_word(Fraction(6, 10)) is not None


def soft_at(subject: Subject, tau: str) -> SoftEngine:
    return SoftEngine(subject, assemble(subject.program, parse_arith(tau)), subject.program, "ball")


def test_a_search_raises_the_precision_up_to_the_first_word_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At temperature 1 the outputs of ab and ba are e/(1 + e), and the threshold is 40 digits of it."""
    with workdps(60):
        close = f"{int(10**40 * e / (1 + e))}/{10**40}"
    soft = soft_at(subject_of(tmp_path, some_a(threshold=close)), "1")
    pair, sure = [("a", "b"), ("b", "a")], ("b", "b")
    assert soft.decisions(pair) == [(True, True)] * 2
    assert soft.margins(pair, True)[0] == [(True, True)] * 2
    assert soft.margins([*pair, sure], False)[0] == [(False, None), (False, None), (True, False)]
    monkeypatch.setattr(soft.words.soft, "limit", 64)
    tried, decision = list[tuple[tuple[str, ...], bool]](), soft.words.decision

    def spied(word: tuple[str, ...], raised: bool = True) -> tuple[bool, object]:
        tried.append((word, raised))
        return decision(word, raised)

    monkeypatch.setattr(soft.words, "decision", spied)
    assert soft.margins([sure, *pair], True)[0] == [(True, False), (False, None), (False, None)]
    assert tried == [(sure, True), (pair[0], True), (pair[1], False)]
    tried.clear()
    assert soft.decisions(pair) == [(False, None)] * 2
    assert tried == [(word, True) for word in pair]


def test_the_bits_that_settle_every_answer(tmp_path: Path) -> None:
    assert bits_needed(soft_at(subject_of(tmp_path, some_a()), "1/9"), words(2)) == 8
    # At tau = 1 the output of ab is e/(1 + e) = 0.73105857863000487925...: the digits that are left out are 4.9e-15,
    # between 2^-48 and 2^-47, and a ball of p bits is about 2^-p wide.
    close = subject_of(tmp_path, some_a(threshold="73105857863/100000000000"))
    bits = known(bits_needed(soft_at(close, "1"), words(2)))
    assert bits % BIT_STEP == 0
    assert 47 <= bits <= 47 + 2 * BIT_STEP
    assert bits_needed(soft_at(close, "1"), [("b", "b")]) == 8


def test_bits_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.measuring.bound.MOST_BITS", 32)
    close = subject_of(tmp_path, some_a(threshold="73105857863/100000000000"))
    assert bits_needed(soft_at(close, "1"), words(2)) is None


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_lemma_27_is_applied_to_the_bits_of_n(tmp_path: Path, layers: int) -> None:
    document: Document = some_a()
    document["layers"] += [{"heads": []}] * (layers - 1)
    found = report(subject_of(tmp_path, document), 9, BoundOptions(gap=True)).lengths
    assert [length.rounding_width for length in found] == [least_width(n.bit_length(), layers) for n in range(1, 10)]
    # (2m)^L >= 2^b
    for length in found:
        m, b = length.rounding_width, length.n.bit_length()
        assert (2 * m) ** layers >= 2**b
        assert m == 1 or (2 * m - 2) ** layers < 2**b


def test_a_position_0_counts_for_nothing_in_lemma_27(tmp_path: Path) -> None:
    document = some_a(bos=True)
    document["embedding"]["BOS"] = {"1": "1"}
    found = report(subject_of(tmp_path, document), 4, BoundOptions(gap=True)).lengths
    assert [length.rounding_width for length in found] == [1, 2, 2, 4]


def test_only_gaps(tmp_path: Path) -> None:
    result = report(subject_of(tmp_path, with_head(gap="1")), 3, BoundOptions(gap=True))
    assert result.verdict is Verdict.CERTIFIED
    assert result.reach == "every declared gap holds on 14 words up to length 3"
    for length in result.lengths:
        assert [length.right, length.wrong, length.word, length.bits, length.error] == [None, None, None, 0, 0]
        assert [length.score_gap, length.declared_gap] == [None if length.n == 1 else 1, 1]


def test_without_a_search(tmp_path: Path) -> None:
    result = report(subject_of(tmp_path, some_a()), 2, BoundOptions(search=False))
    assert (result.lengths[1].right, result.lengths[1].wrong) == (None, None)
    assert result.lengths[1].error > 0


def test_growth_is_fitted_without_its_logarithm(tmp_path: Path) -> None:
    lengths = report(subject_of(tmp_path, with_head(gap="1")), 6).lengths
    found = {growth.what: growth for growth in growths(lengths)}
    assert found["gap"].exponent == pytest.approx(0)
    # 1/tau = ln(8 (n - 1)), to one part in 64, over ln n: falls slowly.
    points = [(log(n), log(log(8 * (n - 1)) / log(n))) for n in range(2, 7)]
    x, y = (sum(column) / len(points) for column in zip(*points, strict=True))
    slope = sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
    assert found["1/(tau log n) of the theorem"].exponent == pytest.approx(slope, abs=0.05)
    assert growths(lengths[:2]) == ()


def test_progress_and_interruption(tmp_path: Path) -> None:
    message: list[Progress] = []

    def stop(state: Progress) -> None:
        message.append(state)
        if (state.n, state.done) == (2, 18):
            raise KeyboardInterrupt

    result = bound_report(bound_subject(subject_of(tmp_path, some_a())), OPTIONS, BoundOptions(), stop)
    # A word counts half when hard attention has run, and half when its report is done.
    halves = [(1, 1), (2, 3), (3, 7), (4, 15), (1, 16), (2, 18)]
    assert [(state.n, state.done, state.total) for state in message] == [(n, done, 30) for n, done in halves]
    assert result.partial
    assert [length.n for length in result.lengths] == [1, 2]


@pytest.mark.parametrize("regime", ["temperature", "position", "causal-temperature", "causal-position"])
@pytest.mark.parametrize("text", ["a S b", "#L[a] > #L[b]", "Y a"])
def test_the_network_of_a_formula_is_what_is_reported_on(regime: str, text: str) -> None:
    """With the scores scaled by each head's own beta, softmax at 1/beta of the schedule is the compiled network."""
    subject = compiled(text, regime)
    target = bound_subject(subject)
    tau = parse_arith(f"({known(target.used)})*({target.schedule})")
    network = assemble(target.subject.program, tau)
    for mine, theirs in zip(network.heads, subject.model.heads, strict=True):
        for n, i in ((5, 2), (5, 5)):
            factor = network.inverse_temperature(i, n) / subject.model.inverse_temperature(i, n)
            assert {(row, column): value * factor for row, column, value in mine.w_q.entries} == {
                (row, column): value for row, column, value in theirs.w_q.entries
            }
        assert mine.w_k == theirs.w_k
    assert target.asymptotics == ASYMPTOTICS[regime]
    result = bound_report(target, CheckOptions(max_n=3, engine="ball"), BoundOptions(search=False))
    assert result.verdict is Verdict.CERTIFIED
    assert all(length.error <= length.bound for length in result.lengths)
