"""Proof for every length of a hard-attention program at once: softmax answers as hard attention does, at a
temperature that is a function of the length (see the page Theory, "Schedules that are tried"; ours).

The argument is the error recursion of Theorem 26 (`sharpening.theorem26`, Lemmas 30 to 34) with functions in place
of numbers. After each layer coordinate c is off by at most `A_c E(n)`, where `E(n) = n^p e^(-r n)` is the same for
all of them: it falls exponentially if r > 0, and as a power if r = 0 and p < 0 (`Fading`). For n from some N0 on, f
= 1/tau:

 - scores: query forms of size at most Q n^a that are off by q E, key forms by k E and of size K n^b, give
   `eta <= (Q k n^a + K q n^b + q k) E`, since E <= 1 from N0 on;
 - weights: with `f eta <= 1/2`, a row whose gap is at least g is off by at most `2 n e^(2 f eta - f g) <= 2 e n
   e^(-rate n)`, where `f g >= rate n` (without the factor e if eta = 0): at most n of its positions have no largest
   score. Where f g only grows as the logarithm does, `f g >= s log(n + 1)`, it is at most `2 e n (n + 1)^-s`. Where
   several may have it, `2 tanh(f eta/2) <= f eta` is added (`theory.perturbation.weight_distance`);
 - attention: the value that a head reads is off by the error of the values, plus the distance of the weights times
   the size of the values (or half of their range, which is smaller if the range is not about 0);
 - hidden units: a relu does not expand; a clip whose hard inputs z all have `max(-z, z - 1) >= m n^-s` forgets an
   error that is at most that, and does not expand otherwise.

Terms `B n^b e^(-s n)` with b <= p and s >= r are at most `B n^p e^(-r n)`, so each layer has the largest power and
the smallest rate of its terms. If the smallest rate is 0, the layer has the largest power of the terms of that
rate, and for other terms `n^(b - p) e^(-s n)` is at most its value at N0, if it falls from there on. Every
inequality has the form `F n^s e^(-r n) <= M`: its left side falls where n r >= s, so it is checked at such an N0
and holds ever after.

Sparsemax has no errors at all where `f g >= 1` in every row (`run.sparsemax`), and softmax with rounded exponentials
where `f g` is at least the cutoff (`SoftWeighting.cutoff`), so that the temperature may be the gap
itself: f = 1/(M n^-k) for gaps of at least M n^-k.

Only bounds of f are used, rational functions of n: lower ones for `f g` (one of them in n and log(n + 1)), the
upper one for `f eta`; where tau has log, sqrt or exp these come from `monotone`. Below N0 the recursion itself is
run, length by length, at the same temperature. All numbers are exact rationals or rounded up; sizes, gaps and
margins are those of `proof.programs.law`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import reduce
from math import floor
from operator import mul

from hardsim.kept import Keeping, cached, kept
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.reals import RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE as CONSTANT
from hardsim.network.transformer import Schedule
from hardsim.program.hard_attention import Affine, Head, Program, ProgramLayer, Unit, Weighting
from hardsim.proof.programs.lattice import times
from hardsim.proof.programs.law import HeadLaw, Law, LayerLaw, OfN, ProgramLaw, number
from hardsim.proof.programs.places import A, N
from hardsim.proof.shared.monotone import colder, hotter, rounded
from hardsim.proof.shared.ratios import LARGEST_DEGREE, LOG, NoRatio, Ratio, Value, lower, ratio_of, simplest, upper
from hardsim.proof.shared.result import NotProved
from hardsim.records import Exact, Natural, Positive, Record, Unwritten, Upper, written
from hardsim.sharpening.theorem26 import error_bounds
from hardsim.theory.outward import exp_above, round_up

ZERO = Fraction(0)
EULER = Fraction(87, 32)
"""Upper bound of e: 2.71875."""
STARTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32)
"""Lengths N0 that are tried as the first one of the induction; shorter lengths are checked one by one."""
GRID = (*(Fraction(1) + Fraction(k, 4) for k in range(4)), *(Fraction(k * 2**e) for e in range(47) for k in (2, 3)))
"""Numbers C that are tried, in this order: 1, 5/4, 3/2, 7/4, 2, 3, 4, 6, 8, 12, 16, 24, ..., 2^47, 3 2^46."""
DIGITS = 16
"""Bits to which the factors of a layer are rounded up."""


# ---- the argument, as data ----


@dataclass(frozen=True, slots=True, repr=False)
class DecayCheck(Record):
    """A checked inequality `factor n^power e^(-rate n) <= limit` for n >= start. `value` is the left side at the start,
    from where it falls since rate n >= power."""

    what: str
    """Purpose of the inequality, as text."""
    factor: Exact
    """Factor of the left side."""
    power: int
    """Power of n on the left side."""
    rate: Exact
    """Rate at which the left side falls, in nats a position; 0: it falls as a power of n."""
    limit: Exact
    """Right side of the inequality."""
    value: Upper
    """Left side at the start, rounded up."""


@dataclass(frozen=True, slots=True, repr=False)
class HeadDecay(Record):
    """Reason why the weights of a head come near those of hard attention."""

    name: str
    """Name of the head."""
    layer: Positive
    """Layer of the head, from 1."""
    rules: tuple[str, ...]
    """Rules that give the gap, and that the maximum is unique."""
    gap: tuple[str, ...]
    """Functions of n, as texts; the least of them is at most the gap of every row."""
    unique: bool
    """True if no row has two maxima."""
    rate: Exact | None
    """Factor of n in a lower bound of gap over temperature, for all rows except those of `logarithms`; None if
    there are no others, or all visible scores are equal."""
    factor: Exact
    """Factor of the error of the scores, which is at most `factor n^power` times E of the layer before."""
    power: Natural
    """Power of n in the error of the scores."""
    logarithms: Exact | None = None
    """Factor of log(n + 1) in a lower bound of gap over temperature, for rows where that quotient grows only like
    the logarithm; None if there are no such rows."""
    least: Exact | None = None
    """For weightings with a cutoff: lower bound of gap over temperature, at least the cutoff, so that the weights are
    those of hard attention; None if all visible scores are equal, and for softmax."""


@dataclass(frozen=True, slots=True, repr=False)
class LayerDecay(Record):
    """Error after a layer: every coordinate is off by at most `factor n^power e^(-rate n)`; without a rate there is
    no error."""

    layer: Positive
    """Number of the layer, from 1."""
    factor: Exact
    """Factor of the error bound."""
    power: int
    """Power of n in the error bound."""
    rate: Exact | None
    """Rate at which the bound falls, in nats a position; 0: it falls as a power of n; null: there is no error."""


@dataclass(frozen=True, slots=True, repr=False)
class ProgramArgument(Record):
    """Argument for every length of a program, or the reason why there is none."""

    tau: Unwritten[Schedule | None]
    """Temperature as a function of n, the length with its padding; None if no temperature was tried."""
    start: Positive | None = None
    """Length N0 from which on the functions bound the error; shorter lengths were checked one by one."""
    size: str = ""
    """Bound of the absolute value of every coordinate between layers for n >= 2, as text: a number, or `B n^b`."""
    heads: tuple[HeadDecay, ...] = ()
    """Heads that are not uniform."""
    layers: tuple[LayerDecay, ...] = ()
    """Errors after each layer."""
    checks: tuple[DecayCheck, ...] = ()
    """Inequalities that hold from the start on."""
    inverse: tuple[str, ...] = ()
    """Functions of n below and above one over the temperature, if that is no rational function; a third one, of n
    and log(n + 1), is another lower bound."""
    reason: str | None = None
    """Reason why there is no argument; None if there is one."""

    @property
    @written
    def proved(self) -> bool:
        """True if every length is proved."""
        return self.reason is None

    @property
    @written
    def temperature(self) -> str | None:
        """Temperature as a function of n, the length with its padding; None if no temperature was tried."""
        return None if self.tau is None else str(self.tau)

    @property
    def summary(self) -> str:
        """`proved` with the temperature, or `not proved` with the reason."""
        at = "" if self.temperature is None else f" at temperature {self.temperature}"
        return f"proved{at}" if self.reason is None else f"not proved: {self.reason}"


# ---- functions of n ----


@cached(1 << 14)
def above(value: Value) -> tuple[Fraction, int]:
    """Return B >= 0 and the least b >= 0 such that a function of n is known to be at most B n^b for n >= 2. Raises
    NotProved if there are none with b < `LARGEST_DEGREE`."""
    for power in range(LARGEST_DEGREE):
        found = upper(Ratio.of(value) / _power(power), _from(2))
        if found is not None:
            return max(found, ZERO), power
    raise NotProved(f"{value} is not bounded by a power of n")


@cached(1 << 14)
def below(value: Value) -> tuple[Fraction, int] | None:
    """Return M > 0 and the least m >= 0 such that a function of n is known to be at least M n^-m for n >= 2; None
    if there are none with m < `LARGEST_DEGREE`."""
    for power in range(LARGEST_DEGREE):
        found = lower(Ratio.of(value) * _power(power), _from(2))
        if found is not None and found > 0:
            return found, power
    return None


@cached(1 << 14)
def rate_of(sharp: Value, gap: Value, start: int, unit: Value = N) -> Fraction | None:
    """Return a lower bound of f gap/unit for n >= start, where `sharp` is a lower bound of f and `unit` is n unless
    given; None if no positive one is known."""
    found = lower(Ratio.of(sharp) * gap / unit, _from(start))
    return found if found is not None and found > 0 else None


def _power(power: int) -> Ratio:
    result = Ratio.of(1)
    for _ in range(power):
        result = result * N
    return result


@cached(256)
def _from(start: int) -> dict[str, Ratio]:
    """Return substitutions for lengths n >= start and their logarithms: n = start + a and log(n + 1) = log(start +
    1) + b, with a, b >= 0."""
    return {"n": start + A, LOG: Ratio.variable("b") + rounded("log", Fraction(start + 1), -1)}


def _most(values: OfN) -> PowerBound:
    """Return B and b such that the largest of several functions is at most B n^b."""
    found = [above(value) for value in values]
    return PowerBound(max((factor for factor, _ in found), default=ZERO), max((power for _, power in found), default=0))


def least_of(values: OfN) -> PowerBound | None:
    """Return M and -m such that the least of several functions is at least M n^-m; None if one is not known to be
    positive, or there are none."""
    found = [below(value) for value in values]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or not known:
        return None
    return PowerBound(min(factor for factor, _ in known), -max(power for _, power in known))


def _unsigned(form: object) -> int:
    raise NoRatio("a power of -1 in it changes its sign")


@dataclass(frozen=True)
class InverseTemperature:
    """f = 1/tau. `least` and `most` are functions of n below and above f, from length 1 on. If these are not equal to
    f, `tau` is the temperature itself, and `logarithmic` a lower bound of f in n and log(n + 1), if there is one."""

    least: Value
    most: Value
    tau: Arith | None = None
    logarithmic: Value | None = None

    @classmethod
    def known(cls, value: Value) -> InverseTemperature:
        """Return the inverse temperature f = `value`, a rational function of n that is known exactly."""
        return cls(value, value)

    @classmethod
    def of(cls, tau: Arith) -> InverseTemperature:
        """Return the inverse of a temperature. Raises NoRatio if no rational functions of n are found that equal or
        enclose it."""
        plain = {"n": 1 + A}
        if not tau.irrational:
            return cls.known(simplest(Ratio.of(1) / ratio_of(tau, _unsigned, plain)))
        least, most = (simplest(Ratio.of(1) / side(tau, _unsigned, plain)) for side in (hotter, colder))
        try:
            logarithmic = simplest(Ratio.of(1) / hotter(tau, _unsigned, _from(1)))
        except NoRatio:
            logarithmic = None
        return cls(least, most, tau, logarithmic)

    def at(self, n: int) -> RealNumber:
        """Return f at a length."""
        return number(self.least, 0, n) if self.tau is None else 1 / self.tau.real(n=n)

    @property
    def ends(self) -> tuple[str, ...]:
        """Bounds of f as texts; () if f is known exactly."""
        if self.tau is None:
            return ()
        return (str(self.least), str(self.most), *(() if self.logarithmic is None else (str(self.logarithmic),)))

    def rate(self, gap: Value, start: int) -> Fraction | None:
        """Return a lower bound of f gap/n for n >= start; None if no positive one is known."""
        found = [rate_of(sharp, gap, start) for sharp in (self.least, self.logarithmic) if sharp is not None]
        return max((rate for rate in found if rate is not None), default=None)

    def logarithms(self, gap: Value, start: int) -> Fraction | None:
        """Return a lower bound of f gap/log(n + 1) for n >= start; None if no positive one is known."""
        return None if self.logarithmic is None else rate_of(self.logarithmic, gap, start, Ratio.variable(LOG))


# ---- the induction ----


@dataclass(frozen=True, slots=True)
class Fading:
    """Function `n^power e^(-rate n)`, rate >= 0, that describes how errors fall. With rate 0 it is a power of n."""

    power: int
    rate: Fraction

    def grown(self, power: int) -> Fading:
        """Return this function times a power of n."""
        return Fading(self.power + power, self.rate)

    def falls(self, start: int) -> bool:
        """Return True if the function falls from a length on: the derivative of its logarithm is power/n - rate."""
        return self.rate * start >= self.power

    def at(self, n: int) -> Fraction:
        """Return an upper bound of the value at length n."""
        return Fraction(n) ** self.power * (exp_above(-self.rate * n) if self.rate else 1)

    @staticmethod
    def slowest(some: Iterable[Fading]) -> Fading | None:
        """Return a function that falls no faster than any of the given ones, up to a constant; None if none are
        given. Functions with a positive rate do not raise the power of one with rate 0."""
        known = list(some)
        rate = min((one.rate for one in known), default=None)
        if rate is None:
            return None
        return Fading(max(one.power for one in known if rate or not one.rate), rate)

    def over(self, slow: Fading, start: int) -> Fraction:
        """Return an upper bound, for n >= start, of the quotient by `slow`. Raises NotProved if the quotient is not
        known to fall."""
        if self.power <= slow.power and self.rate >= slow.rate:
            return Fraction(1)
        apart = Fading(self.power - slow.power, self.rate - slow.rate)
        if not apart.falls(start):
            raise NotProved(f"{self} is not known to fall as {slow} does from n = {start} on")
        return apart.at(start)

    def __str__(self) -> str:
        power = {0: "1", 1: "n"}.get(self.power, f"n^{self.power}")
        return f"{power} e^(-{float(self.rate):.3g} n)" if self.rate else power


@dataclass(frozen=True)
class Decay:
    """Errors of all coordinates: `A_c E(n)` for coordinate c. Without an E all errors are 0."""

    factors: dict[str, Fraction]
    fading: Fading | None = None

    @property
    def power(self) -> int:
        """Power of n in E."""
        return 0 if self.fading is None else self.fading.power

    @property
    def rate(self) -> Fraction | None:
        """Rate of E; None if all errors are 0."""
        return None if self.fading is None else self.fading.rate

    def slowed(self, fading: Fading | None, start: int) -> dict[str, Fraction]:
        """Return the factors of the same errors in terms of another E, which falls no faster, for n >= start."""
        if self.fading is None or fading is None:
            return dict(self.factors)
        share = self.fading.over(fading, start)
        return {name: factor * share for name, factor in self.factors.items()}

    def of(self, form: Affine) -> Fraction:
        """Return the error of a linear form, over E."""
        return sum((abs(Fraction(value)) * self.factors[name] for name, value in form.terms), ZERO)


@dataclass(frozen=True, slots=True)
class PowerBound:
    """Bound `factor n^power` of a size at every n >= 2; with `middle`, of the distance from `middle n^power`."""

    factor: Fraction
    power: int
    middle: Fraction = ZERO


@dataclass(frozen=True, slots=True)
class WeightStep:
    """Step from scores to weights for one head. `sizes` bounds query and key by row of W_Q and W_K, and `eta` the
    error of the scores over E = n^p e^(-r n). `over` bounds eta/tau, the error of the scores over the
    temperature, over e^(-r n) alone: its power includes p. `rate` is such that gap/tau >= rate n in all rows
    where such a bound is known (None: there are no such rows). `terms` bound the error of the weights; each is
    a factor times a `Fading`."""

    sizes: tuple[tuple[PowerBound, PowerBound], ...]
    eta: PowerBound
    over: PowerBound
    rate: Fraction | None
    terms: tuple[tuple[Fraction, Fading], ...]


@dataclass(frozen=True, slots=True)
class LayerStep:
    """Step of one layer: the errors before it, after its attention and after it. `weights` has the steps of the
    heads that are not uniform, `reaches` the sizes of the values by head and coordinate. `margins` has an entry for
    each hidden unit: M and -m for a clip that forgets its error, because its hard input is at least M n^-m away
    from where the clip is not constant; None for other units."""

    before: Decay
    attended: Decay
    after: Decay
    weights: dict[str, WeightStep]
    reaches: dict[tuple[str, str], PowerBound]
    margins: tuple[PowerBound | None, ...]


@dataclass
class Induction:
    """Induction over the layers at one temperature, for all lengths from `start` on."""

    program: Program
    law: Law
    sharp: InverseTemperature
    start: int
    heads: list[HeadDecay] = field(default_factory=list)
    layers: list[LayerDecay] = field(default_factory=list)
    checks: list[DecayCheck] = field(default_factory=list)
    steps: list[LayerStep] = field(default_factory=list)
    output: PowerBound | None = None
    """Bound M and -m such that an output has the right meaning if it is off by at most M n^-m, half of its distance
    from the threshold; None if outputs are exact."""

    def run(self) -> Decay:
        """Return the errors after the last layer. Raises NotProved if the induction fails."""
        error = Decay({CONSTANT: ZERO} | dict.fromkeys(self.program.coordinates, ZERO))
        for depth, (layer, known) in enumerate(zip(self.program.layers, self.law.layers, strict=True), 1):
            error = self._layer(depth, layer, known, error)
            largest = max(error.factors.values(), default=ZERO)
            self.layers.append(LayerDecay(depth, largest, error.power if largest else 0, error.rate))
        return error

    def falls(self, what: str, factor: Fraction, fading: Fading | None, limit: Fraction) -> bool:
        """Return True if `factor` times a fading function is at most `limit` for n >= start. Such an inequality is
        recorded in `checks`."""
        if not factor:
            return True
        assert fading is not None
        if not fading.falls(self.start):
            return False
        value = factor * fading.at(self.start)
        if value > limit:
            return False
        self.checks.append(DecayCheck(what, factor, fading.power, fading.rate, limit, value))
        return True

    def require(self, what: str, factor: Fraction, fading: Fading | None, limit: Fraction) -> None:
        """Raise NotProved, naming `what`, unless `factor` times a fading function is at most `limit` for n >=
        start; record the inequality."""
        if not self.falls(what, factor, fading, limit):
            left = f"{fading}" if factor == 1 else f"{float(factor):.3g} {fading}"
            raise NotProved(f"{what}: cannot show {left} <= {float(limit):.3g} for every n >= {self.start}")

    def _layer(self, depth: int, layer: ProgramLayer, known: LayerLaw, error: Decay) -> Decay:
        own = dict.fromkeys(error.factors, ZERO)
        terms: list[tuple[str, Fraction, Fading]] = []
        weights: dict[str, WeightStep] = {}
        reaches: dict[tuple[str, str], PowerBound] = {}
        for head in layer.heads:
            if not head.uniform:
                weights[head.name] = self._weights(depth, head, known.heads[head.name], error)
            off = () if head.uniform else weights[head.name].terms
            for out, form in head.values:
                own[out] += error.of(form)
                size = reaches[head.name, out] = _reach(*known.values[head.name, out])
                terms += [(out, factor * size.factor, fading.grown(size.power))
                          for factor, fading in off if factor * size.factor]  # fmt: skip
        before = Decay({name: factor + own[name] for name, factor in error.factors.items()}, error.fading)
        slowest = Fading.slowest([fading for *_, fading in terms] + ([] if error.fading is None else [error.fading]))
        attended = Decay(before.slowed(slowest, self.start), slowest)
        for out, factor, fading in terms:
            assert slowest is not None
            attended.factors[out] += factor * fading.over(slowest, self.start)
        final = dict(attended.factors)
        margins: list[PowerBound | None] = []
        for unit, margin in zip(layer.units, known.margins, strict=True):
            moved = attended.of(unit.pre)
            found = self._forgotten(depth, unit, moved, attended, margin) if unit.clip and moved else None
            margins.append(found)
            for out, weight in unit.outs:
                final[out] += abs(Fraction(weight)) * (moved if found is None else ZERO)
        # Rounding keeps the numbers of later layers short.
        final = {name: round_up(factor, DIGITS) for name, factor in final.items()}
        after = Decay(final, slowest if any(final.values()) else None)
        self.steps.append(LayerStep(error, attended, after, weights, reaches, tuple(margins)))
        return after

    def _forgotten(self, depth: int, unit: Unit, moved: Fraction, error: Decay, margin: OfN) -> PowerBound | None:
        """Return the margin within which a clip gives exactly the hard model's output, if its error stays within;
        None for another clip."""
        found = least_of(margin)
        what = f"the clip of {' and '.join(out for out, _ in unit.outs)} in layer {depth}"
        fading = None if error.fading is None or found is None else error.fading.grown(-found.power)
        if found is None or not self.falls(what, moved, fading, found.factor):
            return None
        return found

    def _weights(self, depth: int, head: Head, known: HeadLaw, error: Decay) -> WeightStep:
        """Return the bound of a head's weights. Raises NotProved if there is none."""
        factor, power = ZERO, 0
        sizes: list[tuple[PowerBound, PowerBound]] = []
        for (query, key), (q_size, k_size) in zip(head.score, known.sizes, strict=True):
            q, k = error.of(query), error.of(key)
            large, wide = _most(q_size), _most(k_size)
            sizes.append((large, wide))
            factor += large.factor * k + wide.factor * q + q * k
            power = max([power, *([large.power] if k else []), *([wide.power] if q else [])])
            # E <= 1 turns the product of two errors, q k E^2, into q k E.
            if q and k:
                self.require(f"E of head {head.name}", Fraction(1), error.fading, Fraction(1))
        factor = round_up(factor, DIGITS)
        # An upper bound of f makes eta/tau larger, so it is safe here; gaps use lower bounds.
        most, steep = above(self.sharp.most)
        over = factor * most
        grown = None if error.fading is None else error.fading.grown(power + steep)
        if factor:
            self.require(f"eta/tau of head {head.name}", over, grown, Fraction(1, 2))
        cutoff = self.program.weighting.cutoff
        rate, logarithms, gaps = self._rate(head, known) if cutoff is None else (None, None, ())
        unique = all(row.unique for row in known.rows.values())
        if head.weighting is not Weighting.AVERAGE and not all(row.one_value(head) for row in known.rows.values()):
            raise NotProved(f"head {head.name} may have ties, which softmax does not break")
        rules = tuple(dict.fromkeys(rule for row in known.rows.values() for rule in row.rules))
        if cutoff is not None:
            # No layer before has an error, so the scores have none.
            gaps, over_tau = self._quotient(head, known, cutoff)
            self.heads.append(HeadDecay(head.name, depth, rules, gaps, unique, None, ZERO, 0, least=over_tau))
            return WeightStep(tuple(sizes), PowerBound(ZERO, 0), PowerBound(ZERO, 0), None, ())
        self.heads.append(HeadDecay(head.name, depth, rules, gaps, unique, rate, factor, power, logarithms))
        # The factor e covers e^(2 f eta) with f eta <= 1/2.
        leak = 2 * EULER if factor else Fraction(2)
        result = [] if rate is None else [(leak, Fading(1, rate))]
        if logarithms is not None:
            # (n + 1)^-s is at most n^-s for the integer part of s; the factor of the rest is largest at the start.
            whole = floor(logarithms)
            rest = exp_above((whole - logarithms) * rounded("log", Fraction(self.start + 1), -1))
            result.append((leak * min(rest, Fraction(1)), Fading(1 - whole, ZERO)))
        if not unique and factor:
            assert grown is not None
            result.append((over, grown))
        exponent = power + steep + error.power
        return WeightStep(tuple(sizes), PowerBound(factor, power), PowerBound(over, exponent), rate, tuple(result))

    def _quotient(self, head: Head, known: HeadLaw, cutoff: int) -> tuple[tuple[str, ...], Fraction | None]:
        """Return the gaps of a head, as texts, and the least lower bound of gap/tau. Raises NotProved if it is not at
        least the cutoff."""
        found: dict[Value, Fraction] = {}
        for place in self.law.world.places:
            for value in map(place.least, known.rows[place.order].gaps):
                ratio = lower(Ratio.of(self.sharp.least) * value, _from(self.start))
                if ratio is None or ratio < cutoff:
                    known_ratio = "not known to be positive" if ratio is None else f"only known to be at least {ratio}"
                    raise NotProved(
                        f"head {head.name}: {self.program.weighting} is exact if the gap over the temperature is at "
                        f"least {cutoff}, and for the gap {value} it is {known_ratio}"
                    )
                found[value] = ratio
        return tuple(map(str, _least_of([*found], _from(self.start)))), min(found.values(), default=None)

    def _rate(self, head: Head, known: HeadLaw) -> tuple[Fraction | None, Fraction | None, tuple[str, ...]]:
        """Return lower bounds of gap/tau for the rows of a head: over n, for the rows where such a bound is known, and
        over log(n + 1) for the others. Also return the gaps, as texts, that attain these bounds. Raises NotProved if a
        row has neither bound."""
        fast: dict[Value, Fraction] = {}
        slow: dict[Value, Fraction] = {}
        for place in self.law.world.places:
            for gap in known.rows[place.order].gaps:
                value = place.least(gap)
                rate, logarithms = self.sharp.rate(value, self.start), self.sharp.logarithms(value, self.start)
                if rate is not None:
                    fast[value] = rate
                elif logarithms is not None:
                    slow[value] = logarithms
                else:
                    raise NotProved(f"head {head.name}: the gap {value} over the temperature does not grow as n or "
                                    "log(n + 1) does")  # fmt: skip
        least = [min(found.values(), default=None) for found in (fast, slow)]
        gaps = map(str, _least_of([*fast, *slow], _from(self.start)))
        return least[0], least[1], tuple(gaps)


def _least_of(values: Sequence[Value], domain: dict[str, Ratio]) -> list[Value]:
    """Return the functions without those that are known to be at least another one."""
    kept: list[Value] = []
    for value in values:
        if not any(_over(value, other, domain) for other in kept):
            kept = [*(other for other in kept if not _over(other, value, domain)), value]
    return kept


def _over(value: Value, other: Value, domain: dict[str, Ratio]) -> bool:
    least = lower(Ratio.of(value) - other, domain)
    return least is not None and least >= 0


def _reach(low: OfN, high: OfN) -> PowerBound:
    """Return S and s such that numbers between two functions are at most S n^s in size, or at most that far from
    the middle of the two."""
    under, over = _most(tuple(times(value, -1) for value in low)), _most(high)
    size, power = max(under.factor, over.factor), max(under.power, over.power)
    sides = [upper(Ratio.of(value) / _power(power), _from(2)) for value in (*high, *(times(v, -1) for v in low))]
    tops, bottoms = sides[: len(high)], sides[len(high) :]
    top, bottom = max(t for t in tops if t is not None), max(b for b in bottoms if b is not None)
    # A range that is not about 0 has a smaller half than its largest number.
    half = (top + bottom) / 2
    return PowerBound(half, power, (top - bottom) / 2) if half < size else PowerBound(size, power)


# ---- the temperature ----


@dataclass(frozen=True)
class DecayClaim(Keeping):
    """Claim about a program: every output is nearer to the hard output than that is to the threshold, or equal to
    it (`exact`). `lengths` gives the lengths below a given one that words can have, with their padding."""

    program: Program
    law: ProgramLaw
    exact: bool
    lengths: Callable[[int], Sequence[int]]

    @kept
    def holds(self, sharp: InverseTemperature, n: int) -> bool:
        """Return True if the claim is proved for one length, by the recursion with numbers."""
        facts = self.law.facts(n)
        gaps = {name: head.gaps for name, head in facts.heads.items()}
        inverse = [sharp.at(n)] * (n + 1 - self.program.first)
        bounds = error_bounds(self.program, facts, inverse, gaps)
        final = bounds.layers[-1].final if bounds.layers else {}
        off = max((final.get(out, ZERO) for out in self.program.answers), default=ZERO)
        return not off or (not self.exact and facts.distance is not None and off < facts.distance)

    def from_on(self, sharp: InverseTemperature, start: int) -> Induction:
        """Return the induction from a length on. Raises NotProved if it fails."""
        found = Induction(self.program, self.law.more, sharp, start)
        error = found.run()
        off = max((error.factors[out] for out in self.program.answers), default=ZERO)
        if off:
            known = least_of(self.law.more.distance or ())
            if self.exact or known is None:
                raise NotProved("an output has an error that no clip removes")
            # Half of the distance, so that softmax is on the same side and still away from the threshold.
            found.output = PowerBound(known.factor / 2, known.power)
            fading = None if error.fading is None else error.fading.grown(-known.power)
            found.require("the error of the output against its distance", off, fading, known.factor / 2)
        return found

    def argument(self, sharp: InverseTemperature, tau: Arith) -> ProgramArgument:
        """Return the argument at one temperature, or the reason why there is none."""
        reason = ""
        try:
            size = largest_size(self.law)
        except NotProved as failure:
            return ProgramArgument(tau, reason=f"a coordinate is not bounded: {failure.reason}")
        shown = f"{size.factor} n^{size.power}" if size.power else str(size.factor)
        for start in STARTS:
            try:
                found = self.from_on(sharp, start)
            except NotProved as failure:
                reason = failure.reason
                continue
            # Below the start functions prove nothing, so the recursion runs with numbers.
            wrong = next((n for n in self.lengths(start) if not self.holds(sharp, n)), None)
            if wrong is not None:
                reason = f"at length {wrong} the error bound of the output is not below its distance from the threshold"
                break
            return ProgramArgument(
                tau, start, shown, tuple(found.heads), tuple(found.layers), tuple(found.checks), sharp.ends
            )
        return ProgramArgument(tau, reason=f"at the temperature {tau}: {reason}")


def argue(claim: DecayClaim, tau: Arith | None = None) -> ProgramArgument:
    """Return the argument for every length: at the given temperature, or else at `1/(C n^(k + 1))`, where every
    gap is at least a constant times n^-k. C is the first number of `GRID` at which the argument goes through. For
    weightings with a cutoff it is at `1/(C n^k)`, where 1/C is that constant over the cutoff. If no row has a gap, the
    temperature is 1."""
    if tau is not None:
        return _given(claim, tau)
    try:
        gap = least_gap(claim.law)
    except NotProved as failure:
        return ProgramArgument(None, reason=failure.reason)
    if gap is None:
        return claim.argument(InverseTemperature.known(1), Arith.of(1))
    if (cutoff := claim.program.weighting.cutoff) is not None:
        # At length 1, which has a law of its own, the gap may be smaller.
        return _searched(claim, -gap.power, constants=(cutoff / gap.factor, *GRID))[1]
    return _searched(claim, 1 - gap.power)[1]


def argue_with_logarithm(claim: DecayClaim) -> tuple[Fraction | None, ProgramArgument]:
    """Return the argument at `1/(C n^k log(n + 1))`, the theorem's rate, and its C. C is None if no number of
    `GRID` works, or no row has a gap."""
    try:
        gap = least_gap(claim.law)
    except NotProved as failure:
        return None, ProgramArgument(None, reason=failure.reason)
    if gap is None:
        return None, ProgramArgument(None, reason="no row has two different scores")
    return _searched(claim, -gap.power, parse_arith("log(n+1)"))


def _searched(
    claim: DecayClaim, power: int, *more: Arith, constants: Sequence[Fraction] = GRID
) -> tuple[Fraction | None, ProgramArgument]:
    """Return the argument at `1/(C n^power more)`, and the first C of the `constants` at which it goes through (None if
    none does)."""
    found, n = ProgramArgument(None, reason="no temperature was tried"), parse_arith("n")
    for constant in constants:
        factors = [Arith.of(constant)] * (constant != 1) + [n if power == 1 else n**power] * (power > 0)
        tau = 1 / reduce(mul, parts) if (parts := [*factors, *more]) else Arith.of(1)
        sharp = InverseTemperature.of(tau)
        # A temperature that fails at a short length is not worth the induction.
        if all(claim.holds(sharp, short) for short in claim.lengths(4)):
            found = claim.argument(sharp, tau)
            if found.proved:
                return constant, found
    return None, found


def _given(claim: DecayClaim, tau: Arith) -> ProgramArgument:
    """Return the argument at a given temperature, a function of n, or the reason why there is none."""
    if "i" in tau.variables:
        return ProgramArgument(tau, reason=f"the temperature {tau} is not a function of n alone")
    try:
        sharp = InverseTemperature.of(tau)
        if not tau.irrational and (below(sharp.least) is None or tau.evaluate(n=1) <= 0):
            return ProgramArgument(tau, reason=f"the temperature {tau} is not known to be positive")
        return claim.argument(sharp, tau)
    except NoRatio as failure:
        return ProgramArgument(tau, reason=f"the temperature {tau} has no bounds at every length: {failure}")
    except NotProved as failure:
        return ProgramArgument(tau, reason=failure.reason)


def least_gap(law: ProgramLaw) -> PowerBound | None:
    """Return M and -k such that every gap is at least M n^-k for n >= 2, with the least k; None if no row has a gap.
    Raises NotProved if a gap is not known to be positive at every length."""
    found: list[tuple[Fraction, int]] = []
    for layer in law.more.layers:
        for name, head in layer.heads.items():
            for place in law.more.world.places:
                for gap in head.rows[place.order].gaps:
                    own = below(place.least(gap))
                    if own is None:
                        raise NotProved(f"head {name}: the gap {gap} is not known to be positive at every length")
                    found.append(own)
    if not found:
        return None
    return PowerBound(min(factor for factor, _ in found), -max(power for _, power in found))


def largest_size(law: ProgramLaw) -> PowerBound:
    """Return B and b such that every coordinate between layers is at most B n^b in absolute value for n >= 2. Raises
    NotProved if no such bound is known."""
    return _most((*law.more.size, *(one for layer in law.more.layers for one in layer.size)))
