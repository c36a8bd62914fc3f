"""Differences of the errors of two look-ups of one kind, compared with sums in floats."""

from fractions import Fraction
from math import exp, log

import pytest

from hardsim.measuring.critical import at_beta
from hardsim.proof.formulas.head_argument import number_error, number_errors_apart
from hardsim.proof.formulas.network import prove_network
from hardsim.run.soft import rounded
from tests.support.check import Sites
from tests.support.model import Forward, MpArithmetic, Transformer
from tests.support.subjects import compiled


def errors(rate: Fraction, visible: int, position: int) -> list[float]:
    """Return the error of the value read where `position` should win, for each count at which it should."""
    found = []
    for count in (position, 0) if position == 1 else (position,):
        weights = [exp(-float(rate) * ((j - count) ** 2 - (position - count) ** 2)) for j in range(1, visible + 1)]
        found.append(sum((j - position) * w for j, w in enumerate(weights, start=1)) / sum(weights))
    return found


@pytest.mark.parametrize("visible", [1, 2, 3, 9, 40])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(3, 2), Fraction(1, 10), Fraction(40)])
def test_errors_of_two_look_ups_at_a_distance(visible: int, rate: Fraction) -> None:
    known = [errors(rate, visible, position) for position in range(1, visible + 1)]
    assert max(abs(error) for some in known for error in some) <= number_error(rate, visible)
    for d in range(min(visible, 6)):
        pairs = zip(known, known[d:], strict=False)
        most = max(abs(other - one) for some, others in pairs for one in some for other in others)
        assert most - 1e-12 <= number_errors_apart(rate, visible, d) <= most + 1e-9
    assert number_errors_apart(rate, visible, visible) == 0


def proved(text: str, beta: Fraction, n: int, letters: str = "abc") -> bool:
    """Return True if the network is proved to compute its hard heads on all words of length n."""
    subject = compiled(text, letters=letters, counting="lookup")
    return prove_network(at_beta(subject, beta), subject.program, Sites((n,)))[0].proved


def test_two_counts_of_one_kind_are_proved_where_their_errors_apart_allow() -> None:
    # Two positions, counts 2 and 1: 2x/(1 + x) = 1/4 at x = e^-beta = 1/7; `ab` has them.
    text = "#L[a or b] > #L[b or c]"
    assert proved(text, Fraction(19460, 10000), 2)
    assert not proved(text, Fraction(19459, 10000), 2)
    subject = compiled(text, letters="abc", counting="lookup")
    assert 1.9459 < log(7) < 1.9460

    def answer(beta: Fraction) -> bool | None:
        model: Transformer = at_beta(subject, beta)
        return rounded(Forward(model, MpArithmetic(60)).run(("a", "b")).output(model))

    assert answer(Fraction(19459, 10000)) is not True
    assert answer(Fraction(19460, 10000)) is True


def test_other_sums_of_two_counts_are_not_taken_together() -> None:
    # 2 (x + 2x^4)/(1 + x + x^4) = 1/4 at beta = 1.952: the sum of two counts, and what has another factor.
    for text in ("#L[a or b] + #L[b or c] > 3", "2 * #L[a or b] > #L[b or c] + #L[a] + 1"):
        assert not proved(text, Fraction(1951, 1000), 3)
