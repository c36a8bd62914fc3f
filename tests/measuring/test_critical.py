"""Tests of the critical temperature: brackets contain derived and brute-force values, and each end is what it
claims.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from math import exp, log

import pytest

import hardsim.measuring.critical as critical_module
from hardsim.lang.words import count_words
from hardsim.measuring.critical import FINE, WIDTH, Bracket, CriticalResult, at_beta, critical
from hardsim.proof.formulas.network import prove_network
from hardsim.run.soft import rounded
from tests.support.check import FormulaTarget, ModelOptions, Sites, compile_formula
from tests.support.language import Oracle, parse_text
from tests.support.model import Forward, MpArithmetic
from tests.support.subjects import compiled, general_proof, known


def wrong(subject: FormulaTarget, word: tuple[str, ...], beta: Fraction) -> bool:
    """Return True if the network is wrong on a word, at 60 digits."""
    model = at_beta(subject, beta)
    answer = rounded(Forward(model, MpArithmetic(60)).run(word).output(model))
    return answer is not Oracle(subject.formula).accepts(word)


def critical_of(subject: FormulaTarget, word: tuple[str, ...]) -> Fraction:
    """Find by bisection the largest multiple of 1/10000 at which a word is wrong."""
    low, high = 0, 64_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wrong(subject, word, Fraction(middle, 10_000)) else (low, middle)
    return Fraction(low, 10_000)


def derived(n: int, rate: float = 0.5) -> float:
    """Return the beta at which x + x^2 + ... + x^(n - 1) = 1/3, x = e^(-rate beta): the wrong positions have the
    share 1/4.
    """
    low, high = 0.0, 1.0
    for _ in range(100):
        x = (low + high) / 2
        low, high = (x, high) if sum(x**d for d in range(1, n)) < 1 / 3 else (low, x)
    return -log(low) / rate


def holds(bracket: Bracket, value: float) -> bool:
    """Return True if a bracket, which must have both ends, contains a number."""
    return float(known(bracket.wrong_at)) - 1e-9 <= value <= float(known(bracket.right_at)) + 1e-9


@pytest.fixture(scope="module")
def since() -> CriticalResult:
    return critical(compiled("a S b", letters="abc"), 4)


@pytest.mark.slow
def test_since_comes_to_two_ln_four(since: CriticalResult) -> None:
    assert [row.n for row in since.lengths] == [1, 2, 3, 4, 8, 16]
    for row in since.lengths[1:]:
        assert row.closed
        assert holds(row, derived(known(row.n))), row
    assert derived(2) == pytest.approx(2 * log(3))
    # Both ends grow with n.
    for one, other in zip(since.lengths, since.lengths[1:], strict=False):
        assert (one.right_at or 0) <= (other.right_at or 0)
        assert (one.wrong_at or 0) <= (other.wrong_at or 0)
    assert since.every_length.closed
    assert holds(since.every_length, 2 * log(4))
    assert known(since.every_length.right_at) - Fraction(2 * log(4)) <= FINE
    assert (since.missing, since.inside) == (None, None)
    assert known(known(since.deciding).argument).bound == "x"


def test_the_ends_are_what_they_say(since: CriticalResult) -> None:
    subject = compiled("a S b", letters="abc")
    for row in since.lengths[1:]:
        word, proved = known(row.word), known(row.right_at)
        assert len(word) == row.n
        assert wrong(subject, word, known(row.wrong_at))
        assert not wrong(subject, word, proved)
        model = at_beta(subject, proved)
        assert prove_network(model, subject.program, Sites((known(row.n),), only_last=True))[0].proved
    assert general_proof(subject, at_beta(subject, known(since.every_length.right_at))).proved


@pytest.mark.parametrize(
    ("text", "regime", "longest"),
    [("a S b", "temperature", 3),
     pytest.param("#L[a] > #L[b]", "causal-temperature", 3, marks=pytest.mark.slow),
     *(pytest.param(text, regime, 5, marks=pytest.mark.slow) for text, regime in
       [("a S b", "temperature"), ("Y a", "causal-position"), ("b U a", "position")])],
)  # fmt: skip
@pytest.mark.slow
def test_brackets_contain_the_truth(text: str, regime: str, longest: int) -> None:
    subject = compiled(text, regime)
    for row in critical(subject, longest).lengths[:longest]:
        truth = max(critical_of(subject, word) for word in product("ab", repeat=known(row.n)))
        assert row.exhaustive
        # Words are wrong up to the true critical beta, to 1/10000.
        assert truth <= known(row.right_at)
        if row.wrong_at is None:
            assert truth <= WIDTH
        else:
            assert row.wrong_at <= truth + Fraction(1, 10_000) <= row.wrong_at + 2 * WIDTH


def root(falling: Callable[[float], float]) -> float:
    """Find where a decreasing function of beta is 1/3, the ratio of the weight of the wrong positions to the
    winner's.
    """
    low, high = 0.0, 8.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 1 / 3 else (low, middle)
    return low


@pytest.mark.slow
def test_what_single_lengths_decide_is_closed_by_them() -> None:
    # Over {a, b} each b wins over the positions before it, and an a is unselected. A first b has n (1 + 1/(2n)) beta
    # nats, the a at j has (j/2) beta.
    def wrong_weight(n: int, beta: float) -> float:
        return sum(exp(-beta * (n + 1 / 2 - j / 2)) for j in range(2, n + 1))

    each = [root(partial(wrong_weight, n)) for n in range(2, 30)]
    assert max(each) == each[1]
    result = critical(compiled("a S b"), 1)
    assert result.every_length.closed
    assert holds(result.every_length, each[1])
    assert known(known(result.deciding).worst).n == 3


@pytest.mark.slow
def test_yesterday_comes_to_two_ln_two() -> None:
    # Every other position before the winner is selected: x^2 + x^4 + ... = 1/3.
    result = critical(compiled("Y a", "causal-position"), 1)
    assert result.every_length.closed
    assert holds(result.every_length, 2 * log(2))
    assert "x^2/(1 - x^2)" in known(known(result.deciding).argument).bound


@pytest.mark.slow
def test_what_is_rounded_once_more_leaves_a_bracket_open() -> None:
    # A sign test at the first position is inexact up to ln 6, where two wrong positions of three weigh a third of
    # the right one. The head that fetches its result for the output rounds it once more, so no word is wrong there.
    text = "alphabet: a b\nat: first\n#R[a] >= 2\n"
    subject = compile_formula(parse_text(text), ModelOptions(counting="sign"))
    result = critical(subject, 1)
    assert not result.every_length.closed
    assert "position 1" in known(result.missing)
    inside = known(result.inside)
    assert inside.closed
    assert holds(inside, log(6))
    word, beta = known(inside.word), known(inside.wrong_at)
    trace = Forward(at_beta(subject, beta), MpArithmetic(60)).run(word)
    names = subject.model.coordinates
    clips = {unit.out for layer in subject.program.layers for unit in layer.units}
    values = [value for name in clips for value in trace.columns[names.index(name)].values]
    assert any(0 < value < 1 for value in values)
    assert not wrong(subject, word, beta)


@pytest.mark.slow
def test_far_words_come_close_where_the_rate_is_that_of_the_first_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    # Before a winner at i the j-th position loses (beta/2) i^2 (1/j - 1/i) nats.
    def at(n: int) -> float:
        return root(lambda beta: sum(exp(-beta / 2 * n * n * (1 / j - 1 / n)) for j in range(1, n)))

    monkeypatch.setattr(critical_module, "FARTHEST", (1024,))
    result = critical(compiled("a S b", "causal-temperature", letters="abc"), 1)
    assert known(result.every_length.right_at) - Fraction(2 * log(4)) <= FINE
    found = known(result.every_length.wrong_at)
    assert result.every_length.n == 512
    assert at(512) - float(FINE) <= found <= at(512) < 2 * log(4) - float(WIDTH)
    assert not result.every_length.closed


@pytest.mark.slow
def test_bounded_encodings_have_brackets_for_each_length_only() -> None:
    # The tie-break is beta/(2n) nats a position: x = e^(-beta/(2n)).
    result = critical(compiled("a S b", "none", letters="abc"), 2)
    assert [row.closed for row in result.lengths[:2]] == [True] * 2
    for row in result.lengths[1:2]:
        assert holds(row, derived(known(row.n), 1 / (2 * known(row.n))))
    assert result.every_length.right_at is None
    assert "no positive rate" in known(result.reason)


def test_every_head_has_the_same_beta() -> None:
    subject = compiled("10 * #L[a] > 9 * #L[b]", letters="abc")
    betas = {subject.budget.beta_of(head) for head in subject.program.heads if not head.uniform}
    assert len(betas) == 2
    fixed = compile_formula(subject.formula, ModelOptions(beta=Fraction(7, 2)))
    assert at_beta(subject, Fraction(7, 2)) == fixed.model


def test_an_interrupt_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def interrupted(size: int, n: int) -> int:
        calls.append(n)
        if n == 3:
            raise KeyboardInterrupt
        return count_words(size, n)

    monkeypatch.setattr(critical_module, "count_words", interrupted)
    result = critical(compiled("a S b", letters="abc"), 4)
    assert result.partial
    assert [row.n for row in result.lengths] == [1, 2]
    assert calls == [1, 2, 3]
