"""Hard-attention models as subjects: answers, ties, temperatures, what the bounds rest on, the verdict."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any, Literal

import pytest

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.file import read_ahat, read_json
from hardsim.checking.attention import AttentionOptions, AttentionSubject, certain, settled
from hardsim.checking.attention_campaign import check_attention, engine_of, judge, kind_of
from hardsim.checking.attention_open import AttentionInput
from hardsim.checking.attention_plan import constant, plan_length, prepare
from hardsim.checking.attention_result import AttentionMismatch, AttentionResult, Violation, weightier
from hardsim.checking.attention_samples import words_of
from hardsim.checking.attention_tally import ErrorTally
from hardsim.checking.attention_words import SoftJudge, batches
from hardsim.checking.campaign import CheckOptions, Progress
from hardsim.checking.evaluate import accepted_by, evaluate_attention
from hardsim.checking.growth import fit
from hardsim.checking.open import read_input
from hardsim.checking.result import ENGINES, Verdict, Word
from hardsim.checking.sources import ahat_subject
from hardsim.errors import InputError, Undecided
from hardsim.lang.arith import parse_arith
from hardsim.run.soft import SoftModel
from tests.attention_models import HEAD, Document, critical, majority, sided, some_a, with_head, write

HALF = Fraction(1, 2)


def subject_of(directory: Path, document: Document) -> AttentionSubject:
    path = write(directory, document)
    return ahat_subject(read_ahat(read_json(path.read_bytes(), str(path))), str(path), "0" * 64)


def program_of(directory: Path, text: str) -> AttentionSubject:
    path = directory / "program.srasp"
    path.write_text(text, encoding="utf-8")
    given = read_input(str(path))
    assert isinstance(given, AttentionInput)
    return given.subject


def words(n: int, symbols: str = "ab") -> list[tuple[str, ...]]:
    return list(product(symbols, repeat=n))


def check(subject: AttentionSubject, max_n: int, choice: AttentionOptions | None = None) -> AttentionResult:
    return check_attention(subject, CheckOptions(max_n=max_n, engine="ball"), choice or AttentionOptions())


# ---- answers ----


def test_certain_and_settled() -> None:
    assert all(certain(value) for value in (0, 1, HALF))
    assert all(settled(answer) for answer in (True, False, (), ("a", "b")))
    assert not any(settled(answer) for answer in (None, (None,), ("a", None)))


def test_an_acceptor_answers_by_its_threshold(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, majority())
    exact = ExactModel(subject.hard)
    answers = subject.hard_answers(exact, exact.run(words(2)))
    assert answers == [True, None, None, False]
    soft = SoftJudge(subject, subject.soft(parse_arith("1")), subject.hard, "ball")
    assert [soft.answer(word) for word in words(2)] == answers


def test_a_transduction_answers_symbol_by_symbol(tmp_path: Path) -> None:
    """Outputs are the shares of a and of b, exact at an even split too, where neither is above 1/2."""
    document = majority()
    document |= {
        "coordinates": ["1", "a", "b", "found", "other"],
        "embedding": {"a": {"1": "1", "a": "1"}, "b": {"1": "1", "b": "1"}},
        "outputs": {"x": "found", "#": "other"},
        "blank": "#",
    }
    subject = subject_of(tmp_path, with_head(document, w_v={"found": {"a": "1"}, "other": {"b": "1"}}))
    assert not subject.acceptor
    exact = ExactModel(subject.hard)
    expected = [("x", "x"), (None, None), (None, None), ()]  # the blank is dropped
    assert subject.hard_answers(exact, exact.run(words(2))) == expected
    soft = SoftJudge(subject, subject.soft(parse_arith("1")), subject.hard, "ball")
    assert [soft.answer(word) for word in words(2)] == expected
    assert check(subject, 2).verdict is Verdict.UNDECIDED


def test_a_program_is_padded_and_its_blanks_are_dropped(tmp_path: Path) -> None:
    subject = program_of(tmp_path, "alphabet: a b\npad: len + 1\nY(i) := in(i)\n")
    assert (subject.alphabet, subject.blank, subject.prepared(("a", "b"))) == (("a", "b"), "#", ("a", "b", "#"))
    (found,) = evaluate_attention(subject, [("a", "b")], CheckOptions(engine="ball"), AttentionOptions())
    assert found.oracle == found.hard == found.soft == ("a", "b")
    assert found.agree


def test_an_example_must_hold(tmp_path: Path) -> None:
    subject_of(tmp_path, some_a(examples={"accept": ["ab"], "reject": ["b"]}))
    with pytest.raises(InputError, match="at examples: the model does not decide 'ab', which is listed as accepted"):
        subject_of(tmp_path, majority() | {"examples": {"accept": ["ab"]}})


def test_accepted_words(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    options = CheckOptions(engine="ball")
    judges: tuple[Literal["oracle", "hard", "soft"], ...] = ("oracle", "hard", "soft")
    for by in judges:
        found = list(accepted_by(subject, words(3), by, options, AttentionOptions()))
        assert found == [word for word in words(3) if "a" in word]
    soft = list(accepted_by(subject, words(3), "soft", options, AttentionOptions(parse_arith("1"))))
    assert [word for word in found if word.count("a") > 1] == soft


def test_engines() -> None:
    assert [engine_of(name) for name in ENGINES] == list(ENGINES)
    with pytest.raises(InputError, match="engine 'abacus' does not run hard-attention models"):
        engine_of("abacus")


def test_which_words_are_tried(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a(examples={"accept": ["bbbbbbbab"]}))
    options = CheckOptions(max_n=9, exhaustive=8)
    assert words_of(subject, options, 3) == (words(3), True)
    found, whole = words_of(subject, options, 9)
    assert not whole
    assert tuple("bbbbbbbab") in found
    assert len(set(found)) == len(found)


def test_batches_hold_all_words_in_order() -> None:
    assert list(batches(words(3), 4)) == [words(3)]
    # 1024 positions: 2^20 scores, one word at a time.
    assert list(batches(words(1), 1024)) == [[("a",)], [("b",)]]
    assert list(batches([], 3)) == []


# ---- preparation and plans ----


def test_ties_of_one_side_are_broken_and_of_the_mean_are_not(tmp_path: Path) -> None:
    for weighting in ("leftmost", "rightmost", "average"):
        subject = subject_of(tmp_path, sided(weighting))
        found = prepare(subject, {n: words(n, "abc") for n in (1, 2)}, {1: True, 2: True})
        (tie,) = found.ties
        assert (tie.head, tie.n, tie.word, tie.position, tie.count) == (HEAD, 2, ("a", "a"), 1, 2)
        assert found.broken == (() if weighting == "average" else (HEAD,))
        # Scores differ by 1 at length 2, and by nothing at length 1: 1 / (2 (n + 1)) afterwards.
        assert found.facts[2].gap == (1 if weighting == "average" else Fraction(1, 6))
        assert found.facts[1].gap is None


def test_the_plan_of_a_length(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    found = prepare(subject, {3: words(3)}, {3: True})
    plan = plan_length(found, subject, AttentionOptions(), 3)
    # Outputs 0 and 1 are 1/4 from the threshold 3/4; the bound is (n - 1) e^(-1/tau).
    assert (plan.epsilon, plan.assumption, plan.violation) == (Fraction(1, 8), "", None)
    assert plan.theorem <= 1 / log(16) < plan.theorem * Fraction(65, 64)
    assert plan.inverse == (1 / plan.theorem,) * 3
    assert float(plan.bounds.final) == pytest.approx(2 * exp(-1 / plan.theorem), rel=1e-12)
    hotter = plan_length(found, subject, AttentionOptions(parse_arith("1/2"), Fraction(1, 100)), 3)
    assert (hotter.epsilon, hotter.inverse) == (Fraction(1, 100), (Fraction(2),) * 3)
    assert float(hotter.bounds.final) == pytest.approx(2 * exp(-2), rel=1e-12)
    assert hotter.solution is not None
    assert hotter.solution.bounds.final <= Fraction(1, 100)
    with pytest.raises(InputError, match="is 0 at i = 3, n = 3"):
        plan_length(found, subject, AttentionOptions(parse_arith("3-i")), 3)


@pytest.mark.parametrize(
    ("gap", "said"), [(None, "gap and sizes measured on 4 words"), ("1", "the sizes measured on 4 words")]
)
def test_what_the_bounds_rest_on(tmp_path: Path, gap: str | None, said: str) -> None:
    subject = subject_of(tmp_path, some_a() if gap is None else with_head(gap=gap))
    found = prepare(subject, {3: words(3)[:4]}, {3: False})
    assert plan_length(found, subject, AttentionOptions(), 3).assumption == said


def test_a_declared_gap_is_held_against_every_row(tmp_path: Path) -> None:
    # Only at position 1 does it exceed 1.
    subject = subject_of(tmp_path, with_head(gap="2 - [i > 1]"))
    found = prepare(subject, {3: words(3)}, {3: True})
    violation = plan_length(found, subject, AttentionOptions(), 3).violation
    assert violation is not None
    assert [violation.n, violation.measured, violation.claimed] == [3, 1, 2]
    assert violation.what == f"the declared gap of head {HEAD} at position 1"
    assert violation.word is not None
    assert set(violation.word) == {"a", "b"}


def test_a_constant_temperature_is_the_same_at_every_length() -> None:
    tau = constant(Fraction(2, 3))
    assert {tau.evaluate(i=1, n=n) for n in (1, 2, 100)} == {Fraction(2, 3)}
    assert str(tau) == "2/3"


# ---- a whole check ----


def test_errors_are_enclosed_and_below_their_bounds(tmp_path: Path) -> None:
    result = check(subject_of(tmp_path, some_a()), 4)
    assert result.verdict is Verdict.CERTIFIED
    assert "in ball arithmetic" in result.reach
    for length in result.lengths[1:]:
        q = (length.n - 1) * exp(-1 / length.tau[0])
        (layer,), (head,) = length.layers, length.heads
        for error in (length.error, layer.error, layer.attended_error, head.error):
            assert float(error) == pytest.approx(q / (1 + q), rel=1e-9)
        assert length.error <= length.bound <= length.epsilon == Fraction(1, 8)
        assert (head.kind, head.most, head.reach) == ("ties", length.n, Fraction(1))
        assert length.accepted == 2**length.n - 1
    assert {growth.what: growth.lengths for growth in result.growth} == {"gap": (2, 4), "size": (1, 4), "1/tau": (2, 4)}


def test_the_errors_of_several_layers(tmp_path: Path) -> None:
    """The second layer does nothing: what it leaves is off by what the first one was."""
    document = some_a()
    document["layers"].append({"heads": []})
    result = check(subject_of(tmp_path, document), 2)
    first, second = result.lengths[1].layers
    assert (first.kind, second.kind) == ("ties", "no attention")
    assert first.error == second.error == second.attended_error == result.lengths[1].error > 0
    assert first.bound == second.bound


def test_kinds_of_heads(tmp_path: Path) -> None:
    uniform = check(subject_of(tmp_path, majority() | {"threshold": "2/5"}), 2)
    (length_one, length_two) = uniform.lengths
    assert (length_two.heads[0].kind, length_two.layers[0].kind, length_two.gap) == ("uniform", "uniform", None)
    assert length_two.error == length_two.bound == 0
    assert length_one.theorem == 1  # any temperature would do
    assert kind_of(None) == "uniform"


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[Progress] = []
    check_attention(
        subject_of(tmp_path, some_a()), CheckOptions(max_n=3, engine="ball"), AttentionOptions(), told.append
    )
    assert [(state.n, state.done, state.total) for state in told] == [(1, 2, 14), (2, 6, 14), (3, 14, 14)]


def test_a_refuting_word_is_kept_before_an_undecided_one(tmp_path: Path) -> None:
    undecided = AttentionMismatch(("a",), None, None, True)
    wrong = AttentionMismatch(("b",), None, True, False)
    later = AttentionMismatch(("a", "b"), None, False, True)
    assert (undecided.kind, undecided.refutes) == ("hard attention undecided", False)
    assert (wrong.kind, wrong.refutes) == ("soft/hard", True)
    assert AttentionMismatch(("a",), True, None, None).kind == "hard/oracle"
    assert AttentionMismatch(("a",), True, False, True).kind == "soft/hard and hard/oracle"
    for first, second, kept in (
        (None, undecided, undecided), (undecided, wrong, wrong), (wrong, undecided, wrong), (wrong, later, wrong),
        (undecided, None, undecided), (None, None, None),
    ):  # fmt: skip
        assert weightier(first, second) is kept
        tally = ErrorTally(mismatch=first)
        tally.merge(ErrorTally(mismatch=second))
        assert tally.mismatch is kept
    lengths = check(subject_of(tmp_path, some_a()), 1).lengths
    assert judge(lengths, undecided, None, "ball")[0] is Verdict.UNDECIDED
    assert judge(lengths, wrong, None, "ball") == (Verdict.REFUTED, "soft/hard disagree on a word of length 1")
    assert judge(lengths, None, None, "ball")[0] is Verdict.CERTIFIED
    assert judge(lengths, None, None, "mpmath")[0] is Verdict.OBSERVED
    assert judge((), None, None, "ball") == (Verdict.UNDECIDED, "no word was tried")


def test_tallies_add_up() -> None:
    left = ErrorTally(2, 1, 64, 0, 1, errors={(0, 1, 2): (Fraction(1), Fraction(3))})
    left.merge(
        ErrorTally(3, 2, 128, 1, 0, errors={(0, 1, 2): (Fraction(2), Fraction(2)), (1, 0, 2): (Fraction(0), HALF)})
    )
    assert (left.words, left.accepted, left.bits, left.soft_mismatches, left.hard_mismatches) == (5, 3, 128, 1, 1)
    assert list(left.errors[0, 1, 2]) == [2, 3]
    # Coordinate 2 was written last in layer 1.
    assert [left.error(0, 0), left.error(0, 1), left.error(1, 0), left.error(1, 1)] == [0, 3, HALF, HALF]


def test_a_power_law_is_found() -> None:
    found = fit("cube", [(n, Fraction(5, n**3)) for n in range(2, 9)])
    assert found.lengths == (2, 8)
    assert found.exponent == pytest.approx(-3)
    assert found.factor == pytest.approx(5)


def test_right_below_the_critical_temperature_and_wrong_above(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    for n in (2, 3, 4):
        near = Fraction(round(critical(n) * 10**6), 10**6)
        for tau, verdict in (
            (near * Fraction(999, 1000), Verdict.CERTIFIED),
            (near * Fraction(1001, 1000), Verdict.REFUTED),
        ):
            result = check(subject, n, AttentionOptions(parse_arith(str(tau))))
            assert result.verdict is verdict
    assert result.mismatch is not None
    assert (result.mismatch.word.count("a"), len(result.mismatch.word)) == (1, 4)


def given_up(word: str, run: Any) -> Any:
    """Balls that reach no answer on one word."""

    def tried(self: SoftModel, asked: Word, settled: Any) -> Any:
        if "".join(asked) == word:
            raise Undecided(f"the word {word} is undecided")
        return run(self, asked, settled)

    return tried


@pytest.mark.parametrize("engine", ["auto", "ball"])
def test_undecided_words_are_counted_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    subject = subject_of(tmp_path, some_a())
    monkeypatch.setattr(SoftModel, "run", given_up("ab", SoftModel.run))
    monkeypatch.setattr("hardsim.checking.attention_words.float_answers", lambda subject, soft, n: [None] * 2**n)
    sharp, flat = AttentionOptions(parse_arith("1/9")), AttentionOptions(parse_arith("9"))
    options = CheckOptions(max_n=3, engine=engine)
    result = check_attention(subject, options, sharp)
    assert [length.undecided for length in result.lengths] == [0, 1, 0]
    assert (result.verdict, result.mismatch, result.stuck) == (Verdict.UNDECIDED, None, ("a", "b"))
    assert "no answer of the softmax network was reached on 1 of 14 words; the others agree" in result.reach
    refuted = check_attention(subject, options, flat)  # a mismatch on another word outweighs it
    assert (refuted.verdict, refuted.lengths[1].undecided, refuted.stuck) == (Verdict.REFUTED, 1, None)
    monkeypatch.undo()
    monkeypatch.setattr(SoftModel, "run", given_up("ab", SoftModel.run))
    found = evaluate_attention(subject, [("a", "b"), ("b", "a")], replace(options, engine="ball"), sharp)
    assert [(one.decided, one.agree, one.refuted) for one in found] == [(False, None, False), (True, True, False)]


def test_float64_alone_counts_what_it_cannot_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.checking.attention_words.float_answers", lambda subject, soft, n: [None] * 2**n)
    result = check_attention(
        subject_of(tmp_path, some_a()), CheckOptions(max_n=2, engine="float64"), AttentionOptions()
    )
    assert (result.verdict, [length.undecided for length in result.lengths]) == (Verdict.UNDECIDED, [2, 4])


def test_what_mpmath_sees_is_observed(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    result = check_attention(subject, CheckOptions(max_n=3, engine="mpmath"), AttentionOptions(parse_arith("9")))
    assert (result.verdict, result.agreed) == (Verdict.OBSERVED, False)
    assert "not certified" in result.reach
    assert "--engine ball" in result.reach
    exact = AttentionMismatch(("a",), True, False, False)
    assert judge(result.lengths, exact, None, "mpmath")[0] is Verdict.REFUTED
    seen, claimed = (
        Violation("a bound", 1, None, HALF, HALF / 2, observed=True),
        Violation("a gap", 1, None, HALF, HALF),
    )
    assert judge(result.lengths, None, seen, "mpmath")[0] is Verdict.OBSERVED
    assert judge(result.lengths, None, claimed, "mpmath")[0] is Verdict.REFUTED


def test_an_error_that_rounding_alone_may_be_is_not_shown_above_its_bound(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, majority() | {"threshold": "2/5"})
    for one in evaluate_attention(subject, [("a", "a", "b"), ("b",)], CheckOptions(max_n=3), AttentionOptions()):
        assert one.error == one.bound == 0
