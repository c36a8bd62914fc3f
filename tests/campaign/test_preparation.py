"""Tests of hard-attention models as subjects: answers, ties, temperatures, the basis of the bounds, the verdict."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any, Literal

import pytest

from hardsim.campaign.check import words_of
from hardsim.campaign.engines import FloatEngine, HardRunner, SoftEngine, batches
from hardsim.campaign.evaluate import accepted_words
from hardsim.campaign.growth import fit
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.preparation import Preparation, packed, plan_length, prepare_words, unpacked
from hardsim.campaign.result import Violation
from hardsim.campaign.rows import kind_of
from hardsim.campaign.tally import Extreme, first_of
from hardsim.campaign.verdict import judge
from hardsim.campaign.workers import LocalCrew
from hardsim.targets.result import settled
from tests.support.attention_models import HEAD, critical, majority, sided, some_a, some_a_by_words, with_head
from tests.support.check import (
    CheckOptions,
    CheckResult,
    Mismatch,
    Progress,
    Subject,
    Tally,
    Verdict,
    Word,
    check_subject,
)
from tests.support.language import InputError, Undecided, parse_arith
from tests.support.model import ExactModel, SoftModel, assemble
from tests.support.subjects import at_temperature, evaluations, known, program_of, shipped, subject_of

HALF = Fraction(1, 2)


def words(n: int, symbols: str = "ab") -> list[tuple[str, ...]]:
    return list(product(symbols, repeat=n))


def check(subject: Subject, max_n: int, engine: str = "ball") -> CheckResult:
    return check_subject(subject, CheckOptions(max_n=max_n, engine=engine))


def prepared(subject: Subject, some: dict[int, list[Word]], whole: bool = True) -> Preparation:
    return prepare_words(subject, some, dict.fromkeys(some, whole))[0]


def soft_answers(subject: Subject, tau: str, some: list[Word]) -> list[Any]:
    """Return softmax's answers at a temperature, in balls, on words as they are read."""
    soft = SoftEngine(subject, assemble(subject.program, parse_arith(tau)), subject.program, "ball")
    return [answer for _, answer in soft.decisions(some)]


# ---- answers ----


def test_what_is_settled() -> None:
    assert all(settled(answer) for answer in (True, False, (), ("a", "b")))
    assert not any(settled(answer) for answer in (None, (None,), ("a", None)))


def test_an_acceptor_answers_by_its_threshold(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, majority())
    answers = HardRunner(subject).answers(words(2))
    assert answers == [True, None, None, False]
    assert soft_answers(subject, "1", words(2)) == answers


def test_a_transduction_answers_symbol_by_symbol(tmp_path: Path) -> None:
    """The outputs are the shares of a and of b; at an even split they are exactly 1/2, and neither is above it."""
    document = majority()
    document |= {
        "coordinates": ["1", "a", "b", "found", "other"],
        "embedding": {"a": {"1": "1", "a": "1"}, "b": {"1": "1", "b": "1"}},
        "outputs": {"x": "found", "#": "other"},
        "blank": "#",
    }
    subject = subject_of(tmp_path, with_head(document, w_v={"found": {"a": "1"}, "other": {"b": "1"}}))
    assert not subject.acceptor
    expected = [("x", "x"), (None, None), (None, None), ()]  # the blank is dropped
    assert HardRunner(subject).answers(words(2)) == expected
    assert soft_answers(subject, "1", words(2)) == expected
    assert check(subject, 2).verdict is Verdict.UNDECIDED


def test_a_program_is_padded_and_its_blanks_are_dropped(tmp_path: Path) -> None:
    subject = program_of(tmp_path, "alphabet: a b\npad: len + 1\nY(i) := in(i)\n")
    assert (subject.alphabet, subject.blank, subject.prepared(("a", "b"))) == (("a", "b"), "#", ("a", "b", "#"))
    (found,) = evaluations(subject, [("a", "b")], "ball")
    assert found.oracle == found.hard == found.soft == ("a", "b")
    assert found.agree


def test_an_example_must_hold(tmp_path: Path) -> None:
    subject_of(tmp_path, some_a(examples={"accept": ["ab"], "reject": ["b"]}))
    with pytest.raises(InputError, match=r"not decide 'ab' \(the output is the threshold itself, 1/2\), which"):
        subject_of(tmp_path, majority() | {"examples": {"accept": ["ab"]}})


def test_accepted_words(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    options = CheckOptions(engine="ball")
    judges: tuple[Literal["oracle", "hard", "soft"], ...] = ("oracle", "hard", "soft")
    for by in judges:
        found = list(accepted_words(subject, words(3), by, options))
        assert found == [word for word in words(3) if "a" in word]
    soft = list(accepted_words(at_temperature(subject, "1"), words(3), "soft", options))
    assert [word for word in found if word.count("a") > 1] == soft


def test_which_words_are_tried(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a(examples={"accept": ["bbbbbbbab"]}))
    options = CheckOptions(max_n=9, exhaustive=8)
    plan = words_of(subject, options, 3)
    assert (list(plan.words), plan.exhaustive) == (words(3), True)
    plan = words_of(subject, options, 9)
    found = list(plan.words)
    assert not plan.exhaustive
    assert tuple("bbbbbbbab") in found
    assert len(set(found)) == len(found)


def test_batches_hold_all_words_in_order() -> None:
    assert list(batches(words(3), 4)) == [words(3)]
    # 2^14 positions: one word at a time.
    assert list(batches(words(1), 1 << 14)) == [[("a",)], [("b",)]]
    assert list(map(len, batches(words(7), 300))) == [54, 54, 20]
    assert list(batches([], 3)) == []


def test_programs_with_layer_norms_have_small_batches_with_the_same_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, every = shipped("parity_layer_norm.ahat.json"), list(product(("0", "1"), repeat=8))

    def found() -> tuple[Any, int, Tally]:
        preparation, runs, answers = prepare_words(subject, {8: every}, {8: True})
        known = [run for shard in runs[8] for run in shard.known]
        judge = HardJudge(subject, preparation.program, plan_length(preparation, subject, 8))
        assert answers[8] == [word.count("1") % 2 == 1 for word in every]
        return preparation.facts, len(known), judge.tally(every, known)

    facts, pieces, tally = found()
    assert (HardRunner(subject).most, pieces) == (128, 2)
    monkeypatch.setattr("hardsim.campaign.engines.NORMED", 256)
    assert found() == (facts, 1, tally)


# ---- preparation and plans ----


def test_ties_of_one_side_are_broken_and_of_the_mean_are_not(tmp_path: Path) -> None:
    for weighting in ("leftmost", "rightmost", "average"):
        subject = subject_of(tmp_path, sided(weighting))
        found = prepared(subject, {n: words(n, "abc") for n in (1, 2)})
        (tie,) = found.ties
        assert (tie.head, tie.n, tie.word, tie.position, tie.count) == (HEAD, 2, ("a", "a"), 1, 2)
        assert found.broken == (() if weighting == "average" else (HEAD,))
        # Scores differ by 1 at length 2, and not at length 1; with broken ties the gap is 1 / (2 (n + 1)).
        assert found.facts[2].gap == (1 if weighting == "average" else Fraction(1, 6))
        assert found.facts[1].gap is None


def test_the_plan_of_a_length(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a_by_words())
    found = prepared(subject, {3: words(3)})
    plan = plan_length(found, subject, 3)
    # Outputs 0 and 1 are 1/4 from the threshold 3/4; the bound is (n - 1) e^(-1/tau).
    assert (plan.epsilon, plan.assumption, plan.violation) == (Fraction(1, 8), "", None)
    assert plan.theorem <= 1 / log(16) < plan.theorem * Fraction(65, 64)
    assert plan.inverse == (1 / plan.theorem,) * 3
    assert float(plan.bounds.final) == pytest.approx(2 * exp(-1 / plan.theorem), rel=1e-12)
    hotter = plan_length(found, at_temperature(subject, "1/2", Fraction(1, 100)), 3)
    assert (hotter.epsilon, hotter.inverse) == (Fraction(1, 100), (Fraction(2),) * 3)
    assert float(hotter.bounds.final) == pytest.approx(2 * exp(-2), rel=1e-12)
    assert known(hotter.solution).bounds.final <= Fraction(1, 100)
    with pytest.raises(InputError, match="is 0 at i = 3, n = 3"):
        plan_length(found, at_temperature(subject, "3-i"), 3)


@pytest.mark.parametrize(
    ("gap", "said"), [(None, "gap and sizes measured on 4 words"), ("1", "the sizes measured on 4 words")]
)
def test_what_the_bounds_rest_on(tmp_path: Path, gap: str | None, said: str) -> None:
    subject = subject_of(tmp_path, some_a() if gap is None else with_head(gap=gap))
    found = prepared(subject, {3: words(3)[:4]}, whole=False)
    assert plan_length(found, subject, 3).assumption == said


def test_a_declared_gap_is_compared_with_every_row(tmp_path: Path) -> None:
    # The declared gap exceeds 1 only at position 1.
    subject = subject_of(tmp_path, with_head(gap="2 - [i > 1]"))
    violation = plan_length(prepared(subject, {3: words(3)}), subject, 3).violation
    assert violation is not None
    assert [violation.n, violation.measured, violation.claimed] == [3, 1, 2]
    assert violation.what == f"the declared gap of head {HEAD} at position 1"
    assert set(known(violation.word)) == {"a", "b"}


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
@pytest.mark.parametrize("gap", [None, "1/3", "1", "3/2", "20", "1 + 19*[n = 4]"])
def test_a_false_gap_breaks_no_tie_towards_another_position(tmp_path: Path, weighting: str, gap: str | None) -> None:
    # Scores are 1000 more at odd positions, and 1 more at an a: the least gap is 1, from length 3 on. The value is 1/4
    # more at position 1, so that tied positions carry different values.
    document = with_head(some_a(threshold="1/2"), weighting=weighting, w_q=[{"1": "1000"}, {"1": "1"}],
                         w_k=[{"odd": "1"}, {"a": "1"}], w_v={"found": {"a": "1", "start": "1"}},
                         **{} if gap is None else {"gap": gap})  # fmt: skip
    document |= {
        "coordinates": ["1", "a", "odd", "start", "found"],
        "encodings": [{"coordinate": "odd", "value": "(1 - (-1)^i)/2"}, {"coordinate": "start", "value": "[i = 1]/4"}],
    }
    subject = subject_of(tmp_path, document)

    def accepted(word: Word) -> bool:
        odd = range(0, len(word), 2)
        best = [place for place in odd if word[place] == "a"] or list(odd)
        return word[best[0 if weighting == "leftmost" else -1]] == "a"

    every = {n: words(n) for n in (1, 2, 3, 4)}
    found = prepared(subject, every)
    hard = ExactModel(found.program)
    assert found.broken == (HEAD,)
    for some in every.values():
        assert subject.hard_answers(found.program, hard.run(some)) == list(map(accepted, some))
    assert list(found.violations) == {None: [], "3/2": [3, 4], "20": [3, 4], "1 + 19*[n = 4]": [4]}.get(gap, [])
    result = check_subject(subject, CheckOptions(max_n=4))
    assert (result.verdict, result.mismatch) == (Verdict.REFUTED if found.violations else Verdict.CERTIFIED, None)
    if result.violation is not None:
        assert gap is not None
        assert result.violation.claimed == parse_arith(gap).evaluate(n=result.violation.n)
        assert result.violation.measured == 1
    assert all(one.hard == one.soft == accepted(one.word) for one in evaluations(subject, every[4]))


def test_a_decay_leaves_no_tie(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    (layer,) = subject.program.layers
    (head,) = layer.heads
    program = replace(subject.program, layers=(replace(layer, heads=(replace(head, decay=parse_arith("1/2")),)),))
    # Scores are 1 at an a and 0 at a b: at length 2 both rows of aa have a tie.
    found = prepared(replace(subject, program=program), {n: words(n) for n in (1, 2)})
    assert list(found.violations) == [2]
    violation = found.violations[2]
    assert [violation.measured, violation.claimed] == [0, Fraction(1, 2)]
    assert violation.word in {("a", "a"), ("b", "b")}


# ---- a whole check ----


def test_errors_are_enclosed_and_below_their_bounds(tmp_path: Path) -> None:
    result = check(subject_of(tmp_path, some_a_by_words()), 4)
    assert result.verdict is Verdict.CERTIFIED
    assert "in ball arithmetic" in result.reach
    for length in result.lengths[1:]:
        q = (length.n - 1) * exp(-1 / float(known(length.temperature).least))
        (layer,), (head,) = length.layers, length.heads
        for error in (length.error, layer.error, layer.attended_error, head.error):
            assert float(error) == pytest.approx(q / (1 + q), rel=1e-9)
        assert length.error <= length.bound <= known(length.epsilon) == Fraction(1, 8)
        assert (head.kind, head.most_maxima, head.score_range) == ("ties", length.n, Fraction(1))
        assert length.accepted == 2**length.n - 1
    assert {growth.what: (growth.from_n, growth.to_n) for growth in result.growth} == {
        "gap": (2, 4),
        "size": (1, 4),
        "1/tau": (2, 4),
    }


def test_the_errors_of_several_layers(tmp_path: Path) -> None:
    """The second layer does nothing: its error is that of the first one."""
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
    assert (length_two.heads[0].kind, length_two.layers[0].kind, length_two.score_gap) == ("uniform", "uniform", None)
    assert length_two.error == length_two.bound == 0
    assert length_one.theorem == 1  # any temperature is right
    assert kind_of(None) == "uniform"


def test_progress_is_reported(tmp_path: Path) -> None:
    message: list[Progress] = []
    check_subject(subject_of(tmp_path, some_a()), CheckOptions(max_n=3, engine="ball"), message.append)
    # A word counts half when hard attention has run, and half when softmax has answered.
    halves = [(1, 1), (2, 3), (3, 7), (1, 8), (2, 10), (3, 14)]
    assert [(state.n, state.done, state.total) for state in message] == [(n, done, 14) for n, done in halves]


def test_a_refuting_word_is_kept_before_an_undecided_one(tmp_path: Path) -> None:
    undecided = Mismatch(("a",), None, None, True)
    wrong = Mismatch(("b",), None, True, False)
    later = Mismatch(("a", "b"), None, False, True)
    assert (undecided.kind, undecided.refutes) == ("hard attention undecided", False)
    assert (wrong.kind, wrong.refutes) == ("soft/hard", True)
    assert Mismatch(("a",), True, None, None).kind == "hard/oracle"
    assert Mismatch(("a",), True, False, True).kind == "soft/hard and hard/oracle"
    for first, second, kept in (
        (None, undecided, undecided), (undecided, wrong, wrong), (wrong, undecided, wrong), (wrong, later, wrong),
        (undecided, None, undecided), (None, None, None),
    ):  # fmt: skip
        assert first_of(first, second, "ab") is kept
        tally = Tally(1, mismatch=first)
        tally.merge(Tally(1, mismatch=second), "ab")
        assert tally.mismatch is kept
    lengths = check(subject_of(tmp_path, some_a()), 1).lengths
    assert judge(lengths, undecided, None, "ball")[0] is Verdict.UNDECIDED
    assert judge(lengths, wrong, None, "ball") == (
        Verdict.REFUTED,
        "soft/hard disagree on a word of length 1, the shortest mismatch found",
    )
    assert judge(lengths, None, None, "ball")[0] is Verdict.CERTIFIED
    assert judge(lengths, None, None, "mpmath")[0] is Verdict.OBSERVED
    assert judge((), None, None, "ball") == (Verdict.UNDECIDED, "no word was tried")


def test_tallies_add_up() -> None:
    def error(low: int | Fraction, high: int | Fraction) -> Extreme:
        return Extreme.of(-1, (Fraction(low), Fraction(high)), ("a",))

    left = Tally(1, 2, 1, 0, 1, digits=20, extremes={(0, 1, "x"): error(1, 3)})
    other = Tally(1, 3, 2, 1, 0, digits=40, extremes={(0, 1, "x"): error(2, 2), (1, 0, "x"): error(0, HALF)})
    left.merge(other, "ab")
    assert (left.words, left.accepted, left.digits, left.soft_mismatches, left.hard_mismatches) == (5, 3, 40, 1, 1)
    # A word certainly reaches 2, and no word exceeds 3.
    assert (left.errors[0, 1, "x"].reached, left.errors[0, 1, "x"].bound) == (2, 3)
    assert left.errors[1, 0, "x"].bound == HALF


def test_a_power_law_is_found() -> None:
    found = fit("cube", [(n, Fraction(5, n**3)) for n in range(2, 9)])
    assert (found.from_n, found.to_n) == (2, 8)
    assert found.exponent == pytest.approx(-3)
    assert found.factor == pytest.approx(5)


def test_right_below_the_critical_temperature_and_wrong_above(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    for n in (2, 3, 4):
        near = Fraction(round(critical(n) * 10**6), 10**6)
        for thousandths, verdict in ((999, Verdict.CERTIFIED), (1001, Verdict.REFUTED)):
            result = check(at_temperature(subject, str(near * Fraction(thousandths, 1000))), n)
            assert result.verdict is verdict
    assert (known(result.mismatch).word.count("a"), len(known(result.mismatch).word)) == (1, 4)


def given_up(word: str, run: Any) -> Any:
    """Return a run of balls that reaches no answer on one word."""

    def tried(self: SoftModel, requested: Word, settled: Any) -> Any:
        if "".join(requested) == word:
            raise Undecided(f"the word {word} is undecided")
        return run(self, requested, settled)

    return tried


@pytest.mark.parametrize("engine", ["auto", "ball"])
def test_undecided_words_are_counted_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    subject = subject_of(tmp_path, some_a())
    monkeypatch.setattr(SoftModel, "run", given_up("ab", SoftModel.run))
    monkeypatch.setattr(FloatEngine, "passes", lambda self, some: iter(()))
    sharp, flat = at_temperature(subject, "1/9"), at_temperature(subject, "9")
    options = CheckOptions(max_n=3, engine=engine)
    result = check_subject(sharp, options)
    assert [length.undecided for length in result.lengths] == [0, 1, 0]
    assert (result.verdict, result.mismatch, result.undecided_word) == (Verdict.UNDECIDED, None, ("a", "b"))
    assert "no answer of the softmax network was reached on 1 of 14 words; the others agree" in result.reach
    refuted = check_subject(flat, options)  # a mismatch on another word outweighs it
    assert (refuted.verdict, refuted.lengths[1].undecided, refuted.undecided_word) == (Verdict.REFUTED, 1, None)
    monkeypatch.undo()
    monkeypatch.setattr(SoftModel, "run", given_up("ab", SoftModel.run))
    found = evaluations(sharp, [("a", "b"), ("b", "a")], "ball")
    assert [(one.decided, one.agree, one.mismatch) for one in found] == [(False, None, None), (True, True, None)]


def test_float64_alone_counts_what_it_cannot_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FloatEngine, "passes", lambda self, some: iter(()))
    result = check(subject_of(tmp_path, some_a()), 2, "float64")
    assert (result.verdict, [length.undecided for length in result.lengths]) == (Verdict.UNDECIDED, [2, 4])


def test_what_mpmath_sees_is_observed(tmp_path: Path) -> None:
    result = check(at_temperature(subject_of(tmp_path, some_a()), "9"), 3, "mpmath")
    assert (result.verdict, result.agreed) == (Verdict.OBSERVED, False)
    assert "not certified" in result.reach
    assert "--engine ball" in result.reach
    exact = Mismatch(("a",), True, False, False)
    assert judge(result.lengths, exact, None, "mpmath")[0] is Verdict.REFUTED
    seen = Violation("a bound", 1, None, HALF, HALF / 2, observed=True)
    assert judge(result.lengths, None, seen, "mpmath")[0] is Verdict.OBSERVED
    claimed = Violation("a gap", 1, None, HALF, HALF)
    assert judge(result.lengths, None, claimed, "mpmath")[0] is Verdict.REFUTED


def test_an_error_that_rounding_alone_may_be_is_not_shown_above_its_bound(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, majority() | {"threshold": "2/5"})
    for one in evaluations(subject, [("a", "a", "b"), ("b",)], "auto"):
        assert one.error == one.bound == 0


# ---- exact hard attention, once ----


@pytest.mark.parametrize(
    ("name", "max_n"), [("dyck1.srasp", 4), ("ab_plus.srasp", 4), ("flipflop.ahat.json", 3), ("ties.ahat.json", 4)]
)
def test_exact_hard_attention_runs_once_on_every_word(name: str, max_n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ties are broken another program runs, so exact hard attention runs twice."""
    ran: list[tuple[Any, Word]] = []
    real = ExactModel.run

    def counted(self: ExactModel, some: Any) -> Any:
        ran.extend((id(self.program), tuple(word)) for word in some)
        return real(self, some)

    subject = shipped(name)
    monkeypatch.setattr(ExactModel, "run", counted)
    result = check_subject(subject, CheckOptions(max_n=max_n, exhaustive=1024))
    assert len(ran) == len(set(ran)) == result.words * (2 if result.model.ties_broken else 1)


@pytest.mark.slow
def test_what_workers_measure_is_what_this_process_would(tmp_path: Path) -> None:
    subject = program_of(tmp_path, "alphabet: a b\npad: len + 1\nY(i) := in(i)\n")
    options, message = CheckOptions(max_n=5, exhaustive=100), list[Progress]()
    with LocalCrew(2) as crew:
        shared = check_subject(subject, options, message.append, crew)
    assert shared == check_subject(subject, options)
    assert (message[-1].done, message[-1].total) == (62, 62)
    assert any(state.done < state.total // 2 for state in message), "progress covers measuring, too"


@pytest.mark.parametrize("name", ["dyck1.srasp", "flipflop.ahat.json", "no_repeats.ahat.json"])
def test_a_packed_run_unpacks_to_the_same_columns(name: str) -> None:
    subject = shipped(name)
    some = [subject.prepared(word) for word in words_of(subject, CheckOptions(exhaustive=30, samples=20), 4).words]
    trace = ExactModel(subject.program).run(some)
    again = unpacked(packed(trace))
    assert again.n == trace.n
    pairs = [(trace.inputs, again.inputs)]
    for one, other in zip(trace.layers, again.layers, strict=True):
        pairs += [(one.attended, other.attended), (one.columns, other.columns)]
        assert one.results.keys() == other.results.keys()
        pairs += [(one.results[head], other.results[head]) for head in one.results]
    for mine, theirs in pairs:
        assert mine.keys() == theirs.keys()
        for key in mine:
            for place in range(len(some)):
                row = place if mine[key].whole.shape[0] > 1 else 0
                assert mine[key].values(row) == theirs[key].values(place)
    assert subject.hard_answers(subject.program, again) == subject.hard_answers(subject.program, trace)


def test_a_tally_of_packed_runs_is_that_of_runs(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, some_a())
    found, runs, answers = prepare_words(subject, {3: words(3)}, {3: True})
    one = HardJudge(subject, found.program, plan_length(found, subject, 3))
    known = [run for shard in runs[3] for run in shard.known]
    from_packed, plain = one.tally(words(3), known), one.tally(words(3))
    assert from_packed == replace(plain, gaps=from_packed.gaps)  # packed runs do not keep the rows of scores
    assert answers[3] == HardRunner(subject).answers(words(3))
