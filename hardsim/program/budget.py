"""The sharpness of heads: beta, the temperature, and the error that the theory allows.

For a head with `s_j <= s_j* - decay |j - j*|` the logits beta s / tau fall by g = beta decay / tau nats a position.
In every regime but `none`, g >= beta/2 at every position of every length, and the attended error 2x/(1 + x), x =
e^-g, is at most 1/4 iff x <= 1/7: beta >= 2 ln 7 = 3.892.

Sparsemax gives exactly the hard weights iff every score that is not the largest loses at least 1/m nats to the m
largest ones: with tau for the temperature and a gap of the scores, tau <= m gap (Martins and Astudillo 2016, and
ours). So a head whose logits fall by g >= 1 nats a position has no error. In every regime but `none` that holds from
beta = 2 on. Softmax with rounded exponentials has the hard weights if every other score loses c nats, where e^-c is
rounded to 0 (`SoftWeighting.cutoff`).

Geometric attention has the score 1 at selected positions and -1 at others (ours). With x = 1/(1 + e^(beta/tau)), a
selected position takes the share 1 - x of what nearer ones left, and any other x. The nearest selected one, behind d
others, has the weight (1 - x)^(d+1), and all beyond it together at most x. So of m visible positions the error is at
most 1 - (1 - x)^m <= m x: less than 1/4 at e^(1/tau) = 4n, where x = 1/(4n + 1). A head that selects every position
has the error x, which is 1/4 at e^(1/tau) = 3.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hardsim.errors import InputError
from hardsim.lang.arith import Arith
from hardsim.lang.reals import exponential, lower
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import SoftWeighting
from hardsim.program.hard_attention import Affine, Head, Kind, Program
from hardsim.program.regimes import (
    GEOMETRIC,
    LAYER_NORM,
    MEANS,
    REGIMES,
    ROUNDED_EXPONENTIALS,
    STEPS,
    Regime,
    regime_with,
)
from hardsim.theory import lemmas
from hardsim.theory.lemmas import NumberContext

DEFAULT_BETA = Fraction(4)
"""The least integer that is at least 2 ln 7 (exp(2) = 7.389 > 7)."""
GEOMETRIC_BETA = Fraction(1)
"""The beta of geometric attention, whose temperature has all of the sharpness."""
ALWAYS = Affine.constant(1)
"""The condition of a head that selects every position."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The inverse-temperature constant beta of the heads and the temperature of the network."""

    beta: Fraction
    temperature: Arith
    fixed: bool = False
    """True if the user gave beta, which then holds for every head."""
    weighting: SoftWeighting = SoftWeighting.SOFTMAX

    def scaled(self, program: Program) -> Program:
        """Return the program with the scores (and gaps) of each head multiplied by its own beta over this budget's, so
        that softmax at 1/beta of the budget's temperature is the compiled network."""

        def head(old: Head) -> Head:
            factor = Fraction(1) if old.uniform else self.beta_of(old) / self.beta
            if factor == 1:
                return old
            score = tuple((query.scaled(factor), key) for query, key in old.score)
            promise = None if old.promise is None else factor * old.promise
            return replace(old, score=score, decay=None, gap=promise)

        layers = tuple(replace(layer, heads=tuple(map(head, layer.heads))) for layer in program.layers)
        return replace(program, layers=layers)

    def beta_of(self, head: Head) -> Fraction:
        """Return the beta of one head. Uniform heads need none (1); a look-up needs more if a comparison sums many of
        them."""
        if head.uniform:
            return Fraction(1)
        exact = self.weighting.cutoff is not None  # a sum of many look-ups has no error, as each has none
        if self.fixed or exact or head.kind is not Kind.LOOKUP:
            return self.beta
        return max(self.beta, look_up_beta(head.weight))

    def reads(self, head: Head) -> tuple[Hashable, ...]:
        """Return what the errors of a head depend on."""
        return self.beta_of(head), head.promise, head.kind, head.select == ALWAYS

    def rate(self, head: Head, i: int, n: int) -> Fraction | None:
        """Return g of a head at query i of a word of length n, in nats per position; a rational just below g if g is
        irrational. None for uniform heads, which are exact."""
        if head.promise is None:
            return None
        return lower(self.beta_of(head) * head.promise.evaluate(i=i, n=n) / self.temperature.real(i=i, n=n))

    def error_bound(self, head: Head, n: int, context: NumberContext) -> Any:
        """Return the largest attended error that the theory allows the head at any position of a word of length n."""
        if self.weighting is SoftWeighting.GEOMETRIC:
            variables = self.temperature.variables
            found = [1 / self.temperature.real(i=i, n=n) for i in (range(1, n + 1) if "i" in variables else (n,))]
            hottest = min(found, key=lower) * self.beta_of(head)
            power = exponential(hottest)
            known = lemmas.exponential(lower(hottest), context) if power is None else lemmas.number(power, context)
            return lemmas.nearest_first_error(known, 1 if head.select == ALWAYS else n, context)
        rate = self.least_rate(head, n)
        if rate is None:
            return context.mpf(0)
        if self.weighting.cutoff is not None:
            # Where it need not be exact, any weights may be expected: the attended value lies between the values.
            return context.mpf(0 if rate >= self.weighting.cutoff else n if head.kind is Kind.LOOKUP else 1)
        if head.kind is Kind.SIGN_RAMP:
            return lemmas.ramp_sign_error(self.beta_of(head), n, context)
        bound = {Kind.LOOKUP: lemmas.halved_look_up_error, Kind.TABLE: lemmas.table_error, Kind.SIGN: lemmas.sign_error}
        return bound.get(head.kind or Kind.NEAREST, lemmas.attended_error)(rate, context)

    def paper_bound(self, head: Head, n: int, context: NumberContext) -> Any:
        """Return Lemma 7's bound as the paper states it, twice our bound, for look-ups of counts; None for other
        heads."""
        rate = self.least_rate(head, n)
        if rate is None or head.kind is not Kind.LOOKUP or self.weighting is not SoftWeighting.SOFTMAX:
            return None
        return lemmas.look_up_error(rate, context)

    def least_rate(self, head: Head, n: int) -> Fraction | None:
        """Return the least g of a head over the queries of a word of length n; None for uniform heads."""
        names = self.temperature.variables | (head.promise.variables if head.promise else frozenset())
        # Without i the rate is the same at every query, so one query is enough.
        positions = range(1, n + 1) if "i" in names else (n,)
        return min((rate for i in positions if (rate := self.rate(head, i, n)) is not None), default=None)


def choose(program: Program, beta: Fraction | None = None, tau: Arith | None = None) -> Budget:
    """Return the budget of a program: the regime's temperature and the default beta of the program's weighting, unless
    `beta` or `tau` is given. Raises InputError if beta is not positive, if tau is given but the regime fixes the
    temperature, or if tau depends on a variable that the regime does not have."""
    weighting = program.weighting
    regime = regime_with(program.regime, weighting)
    default = default_beta(weighting, regime)
    if beta is not None and regime in MEANS:
        message = f"heads of regime '{regime.name}' have no scores, so --beta does not apply"
        limit = "--norm-epsilon is the number" if regime is LAYER_NORM else "--rounding is the option"
        raise InputError(message, f"Leave out --beta; {limit} that limits this regime.")
    if beta is not None and beta <= 0:
        raise InputError(f"beta must be positive, not {beta}", hint=f"The default is {default}.")
    if tau is not None and regime.variable is None:
        able = ", ".join(name for name, other in REGIMES.items() if other.variable)
        raise InputError(
            f"regime '{regime.name}' is plain softmax: its temperature is 1 by definition, so --tau does not apply",
            hint=f"Use {'--beta here, or ' * (regime not in MEANS)}--tau in one of the regimes {able}.",
        )
    if tau is not None and (external := sorted(tau.variables - {regime.variable})):
        reason = "does not know n" if external == ["n"] else "has one temperature for the whole word"
        raise InputError(
            f"the temperature {tau} depends on {external[0]}, but regime '{regime.name}' {reason}",
            hint=f"Write it with {regime.variable}, such as {regime.temperature}.",
        )
    steps = regime is GEOMETRIC and all(head.select == ALWAYS for head in program.heads)
    own = STEPS if steps else regime.temperature
    return Budget(beta or default, tau or own, fixed=beta is not None, weighting=weighting)


def default_beta(weighting: SoftWeighting, regime: Regime) -> Fraction:
    """Return the default beta of a weighting in a regime. With a cutoff it is the least one with which weights are
    exactly the hard ones: logits fall by beta/2 a position. In regime `rounded` only heads with scores 0 and 1 are."""
    if weighting.cutoff is not None:
        return Fraction(weighting.cutoff * (1 if regime is ROUNDED_EXPONENTIALS else 2))
    return GEOMETRIC_BETA if weighting is SoftWeighting.GEOMETRIC else DEFAULT_BETA


@lru_cache(maxsize=1024)
def look_up_beta(weight: int) -> Fraction:
    """Return the least integer beta with `weight * 2 e^-beta (1 + 1/(2 beta)) <= 1/4`.

    Then a sum of look-ups whose |coefficients| add up to `weight` is right to within 1/4: Lemma 7 at g >= beta,
    decided with 2.7182818 < e.
    """
    beta = 1
    while weight * 8 * (1 + Fraction(1, 2 * beta)) > Fraction(27182818, 10**7) ** beta:
        beta += 1
    return Fraction(beta)
