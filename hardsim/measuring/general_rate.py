"""The theorem's temperature for general heads, those with ties included, in closed form: `gap(n)/(a log(n + 1))`.

The theorem says that there is such a constant a where gaps fall, and sizes grow, no faster than powers of n
(docs/theory.md). Its rate is Omega(gap/log n). The report on a model adds a gap that is a function of n, derived
from the weights, and the least a of a grid at which the error recursion proves every length.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.programs.every_length import PowerBound, argue, argue_with_logarithm, largest_size, least_gap
from hardsim.proof.shared.result import NoProof, NotProved
from hardsim.records import Exact, Record
from hardsim.targets.subject import Subject

RATE = "tau(n) = Omega(gap(n)/log n)"
"""The theorem's rate for general heads, where gap(n) is the least gap of a row, and sizes and 1/gap(n) are at most
powers of n."""


@dataclass(frozen=True, slots=True, repr=False)
class GeneralRate(Record):
    """Temperature that the theorem for general heads (ties included) requires, and temperatures that are proved for
    every length. n is the length with its padding."""

    rate: str
    """Rate of the theorem: it holds for a constant that the theorem does not name."""
    gap: str | None
    """Function of n >= 2 that is at most the score gap of every row of every word; null: no row has two different
    scores, or no such function is known."""
    size: str | None
    """Function of n that is at least every activation between layers; null: no such function is known."""
    constant: Exact | None
    """Least a of the grid such that every length is proved at the temperature gap(n)/(a log(n + 1)); null: no a is
    found, or no row has two different scores."""
    logarithmic: str | None
    """Temperature gap(n)/(a log(n + 1)) with that a, of the theorem's rate; null where there is no a."""
    proved: str | None
    """Temperature at which every length is proved, 1/(C n^(k+1)) if gap(n) falls as n^-k; null: no such proof."""
    reason: str | None
    """Reason why one of the two temperatures, or both, is not proved; null: both are."""


def general_rate(subject: Subject) -> GeneralRate | None:
    """Return the temperature of the theorem for general heads, with the temperatures that are proved for every
    length, of a hard-attention model or a program; None for a subject with a regime, for which the rates are known.

    A temperature that the subject itself has is ignored here; `prove` uses it.
    """
    if subject.one_network:
        return None
    claim = subject.decay_claim
    if isinstance(claim, NoProof):
        return GeneralRate(RATE, None, None, None, None, None, claim.reason)
    try:
        gap, size = least_gap(claim.law), largest_size(claim.law)
    except NotProved as failure:
        return GeneralRate(RATE, None, None, None, None, None, failure.reason)
    found = argue(claim)
    if gap is None:
        return GeneralRate(RATE, None, function_text(size), None, None, found.temperature if found.proved else None,
                           found.reason)  # fmt: skip
    factor, logarithmic = argue_with_logarithm(claim)
    return GeneralRate(
        rate=RATE,
        gap=function_text(gap),
        size=function_text(size),
        # `factor` belongs to n^-k alone; the rate is stated with gap(n) itself, which has a factor of its own.
        constant=None if factor is None else factor * gap.factor,
        logarithmic=None if factor is None else logarithmic.temperature,
        proved=found.temperature if found.proved else None,
        reason=found.reason or logarithmic.reason,
    )


def function_text(bound: PowerBound) -> str:
    """Return the power bound `factor n^power` as an expression."""
    factor, power = Fraction(bound.factor), bound.power
    raised = "n" if abs(power) == 1 else f"n^{abs(power)}"
    if power >= 0 or not factor:
        return str(factor) if not power or not factor else raised if factor == 1 else f"{factor}*{raised}"
    below = raised if factor.denominator == 1 else f"({factor.denominator}*{raised})"
    return f"{factor.numerator}/{below}"
